//! `question`: asks the person, and waits for their answer for as long as it takes.

mod understood;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::editor::{AskError, AskOption, AskParams, AskQuestion, AskResult};
use crate::tool::{Access, Content, Context, ErrorKind, NO_DEADLINE, Outcome, Tool, ToolError, Traits};

use understood::{Understood, understand};

/// At most so many questions are asked at once.
const MOST_QUESTIONS: usize = 10;

/// A question has at most so many options.
const MOST_OPTIONS: usize = 20;

/// All texts of a call have at most so many bytes together.
const MOST_BYTES: usize = 32 * 1024;

/// Asks the person one question or several, and waits for the answers. Use it where only they can decide and a wrong
/// guess would cost much: what they want, which of several ways, what is not written down anywhere. Do not use it for what
/// you can find out yourself, nor to ask whether a call may be made. If you recommend an option, put it first and say so in
/// its label.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The questions, asked together: 1 to 10.
    #[serde(default)]
    #[schemars(example = [Item::example()])]
    pub questions: Vec<Item>,
    /// In place of `questions`: a single question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// What there is to choose from for `question`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<Choice>,
}

/// One question, as models write it.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Item {
    /// What is asked: a whole sentence.
    #[serde(default, alias = "text", alias = "prompt", alias = "title", skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// A very short title, at most 30 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
    /// What there is to choose from; none: the person writes the answer.
    #[serde(default, alias = "choices", skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<Choice>,
    /// Whether more than one option may be chosen.
    #[serde(default, alias = "multiSelect", alias = "multi_select", skip_serializing_if = "Option::is_none")]
    pub multiple: Option<bool>,
    /// Whether the person may write an answer of their own instead; true unless you say otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom: Option<bool>,
}

/// Something to choose, as models write it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Choice {
    /// Only its label.
    Label(String),
    /// With what it means.
    Described {
        /// One to five words.
        #[serde(default, alias = "name", alias = "value", alias = "title", skip_serializing_if = "Option::is_none")]
        label: Option<String>,
        /// What choosing it means.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        description: Option<String>,
    },
}

impl Item {
    fn example() -> Item {
        let choice = |label: &str, description: &str| Choice::Described {
            label: Some(label.to_owned()),
            description: Some(description.to_owned()),
        };
        Item {
            question: Some("Which database shall the service use?".to_owned()),
            header: Some("Database".to_owned()),
            options: vec![
                choice("PostgreSQL (recommended)", "What the other services have."),
                choice("SQLite", "Nothing to run."),
            ],
            multiple: Some(false),
            custom: None,
        }
    }
}

/// The tool.
pub struct Question;

#[async_trait]
impl Tool for Question {
    type Arguments = Arguments;

    const TRAITS: Traits<'static> = Traits {
        name: "question",
        title: "Ask the person",
        capabilities: &[],
        // What the answer is may matter to whatever comes after it.
        parallel: false,
        deferred: false,
        free_form: None,
        deadline: NO_DEADLINE,
        aliases: &[("prompt", "question"), ("choices", "options")],
        names: &["ask", "ask_user", "ask_user_question", "request_user_input", "ask_followup_question"],
    };

    fn access(&self, _: &Arguments) -> Access {
        Access::default()
    }

    fn validate(&self, arguments: &Arguments) -> Result<(), ToolError> {
        asked(arguments).map(drop)
    }

    async fn run(&self, arguments: Arguments, context: &Context) -> Result<Outcome, ToolError> {
        let questions = asked(&arguments)?;
        let editor = &context.workspace.editor;
        if !editor.can_ask() {
            return Err(unanswered(&AskError::Unsupported));
        }
        let params = AskParams {
            session_id: context.session.id.clone(),
            call_id: context.call.to_string(),
            questions: questions.clone(),
        };
        context.progress.report(None, Some("waits for the person's answer"));
        let result = editor.ask_person(params).await.map_err(|error| unanswered(&error))?;
        told(&questions, &result)
    }
}

/// The questions in the one form that is asked.
fn asked(arguments: &Arguments) -> Result<Vec<AskQuestion>, ToolError> {
    let single = arguments.question.as_ref().map(|question| Item {
        question: Some(question.clone()),
        options: arguments.options.clone(),
        ..Item::default()
    });
    let items: Vec<Item> = match (single, arguments.questions.as_slice()) {
        (Some(single), []) => vec![single],
        (None, items) if arguments.options.is_empty() => items.to_vec(),
        (None, _) => return Err(unfit("`options` belong to a `question`; those of `questions` are in each of them.")),
        (Some(_), _) => return Err(unfit("there is both `question` and `questions`; give one of them.")),
    };
    if items.is_empty() || items.len() > MOST_QUESTIONS {
        return Err(unfit(&format!("{} questions were given; 1 to {MOST_QUESTIONS} are asked at once.", items.len())));
    }
    let mut bytes = 0;
    let mut questions = Vec::with_capacity(items.len());
    for (index, item) in items.into_iter().enumerate() {
        let number = index + 1;
        let question = plain(item.question.as_deref());
        let question = question.ok_or_else(|| unfit(&format!("question {number} has no text (`question`).")))?;
        if item.options.len() > MOST_OPTIONS {
            let count = item.options.len();
            return Err(unfit(&format!("question {number} has {count} options; at most {MOST_OPTIONS} are shown.")));
        }
        let (mut options, mut labels) = (Vec::with_capacity(item.options.len()), BTreeSet::new());
        for (at, choice) in item.options.into_iter().enumerate() {
            let option = option(choice)
                .ok_or_else(|| unfit(&format!("option {} of question {number} has no `label`.", at + 1)))?;
            if !labels.insert(option.label.to_lowercase()) {
                let label = option.label;
                return Err(unfit(&format!("two options of question {number} have the label {label:?}.")));
            }
            bytes += option.label.len() + option.description.as_ref().map_or(0, String::len);
            options.push(option);
        }
        let header = plain(item.header.as_deref());
        bytes += question.len() + header.as_ref().map_or(0, String::len);
        // A question without options can only be answered in words.
        let custom = options.is_empty() || item.custom.unwrap_or(true);
        let multiple = item.multiple.unwrap_or(false) && options.len() > 1;
        questions.push(AskQuestion { question, header, options, multiple, custom });
    }
    if bytes > MOST_BYTES {
        return Err(unfit(&format!(
            "the texts have {bytes} bytes; at most {MOST_BYTES} are shown to a person at once."
        )));
    }
    Ok(questions)
}

fn option(choice: Choice) -> Option<AskOption> {
    match choice {
        Choice::Label(label) => Some(AskOption { label: plain(Some(&label))?, description: None }),
        Choice::Described { label, description } => {
            let (label, description) = (plain(label.as_deref()), plain(description.as_deref()));
            match (label, description) {
                (Some(label), description) => Some(AskOption { label, description }),
                (None, Some(description)) => Some(AskOption { label: description, description: None }),
                (None, None) => None,
            }
        }
    }
}

/// A text without what stands around it; `None`: there is none.
fn plain(text: Option<&str>) -> Option<String> {
    text.map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned)
}

fn unfit(why: &str) -> ToolError {
    ToolError::new(
        ErrorKind::InvalidArguments,
        format!(
            "Nobody was asked: {why} For example {{\"questions\":[{{\"question\":\"Which one?\",\"options\":[\"This\",\
             \"That\"]}}]}}."
        ),
    )
}

fn unanswered(error: &AskError) -> ToolError {
    let (kind, why) = match error {
        AskError::Unsupported => {
            (ErrorKind::Unavailable, "nobody can be asked here: this editor shows no questions".to_owned())
        }
        AskError::Gone => (ErrorKind::Unavailable, "the editor is gone".to_owned()),
        AskError::Timeout | AskError::Refused(_) => (ErrorKind::Failed, error.to_string()),
    };
    ToolError::new(
        kind,
        format!(
            "The question was not answered: {why}. Go on without the answer: take the choice that is easiest to undo, and say \
             that you did; or end your turn with the question in words."
        ),
    )
}

/// What the person answered, for the model.
fn told(questions: &[AskQuestion], result: &AskResult) -> Result<Outcome, ToolError> {
    let understood: Vec<Understood> = questions
        .iter()
        .enumerate()
        .map(|(at, question)| understand(question, result.answers.get(at).and_then(Option::as_ref)))
        .collect();
    if !result.unasked.is_empty() && result.unasked.len() == questions.len() {
        let why = result.unasked.values().next().cloned().unwrap_or_default();
        return Err(unanswered(&AskError::Refused(why)));
    }
    let answered = understood.iter().filter(|one| one.answered()).count();
    let mut text = match (answered, result.cancelled) {
        (0, true) => "The person closed the question without an answer.".to_owned(),
        (0, false) => "The person gave no answer.".to_owned(),
        (_, true) => "The person answered, and closed the question before its end.".to_owned(),
        (_, false) => "The person answered.".to_owned(),
    };
    for (at, (question, one)) in questions.iter().zip(&understood).enumerate() {
        let _ = write!(text, "\n{}. {}", at + 1, question.question.replace('\n', "\n   "));
        for line in one.lines() {
            let _ = write!(text, "\n   {line}");
        }
        if !one.answered() {
            let why = result.unasked.get(&at).map(|why| format!(": {why}")).unwrap_or_default();
            let _ = write!(text, "\n   (no answer{why})");
        }
    }
    for extra in result.answers.iter().skip(questions.len()).flatten() {
        let _ = write!(text, "\nThe editor also sent an answer to no question: {}", json!(extra));
    }
    if answered < questions.len() {
        text.push_str("\nGo on without what was not answered, or ask anew where it cannot be done without.");
    }
    let answers: Vec<_> = questions
        .iter()
        .zip(&understood)
        .map(|(question, one)| {
            json!({
                "question": question.question,
                "answered": one.answered(),
                "selected": one.selected,
                "text": one.text,
            })
        })
        .collect();
    Ok(Outcome {
        content: vec![Content::text(text)],
        structured: Some(json!({ "answers": answers, "cancelled": result.cancelled })),
        ..Outcome::default()
    })
}

#[cfg(test)]
mod tests;
