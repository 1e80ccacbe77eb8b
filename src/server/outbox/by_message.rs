//! Consent and answers by messages with buttons, for editors that can show nothing better.

use serde_json::{Value, json};

use super::Outbox;
use crate::editor::{
    ApproveCall, ApproveDecision, ApproveParams, ApproveResult, AskAnswer, AskError, AskParams, AskQuestion, AskResult,
    AskSelected, Consent,
};
use crate::permissions::visible;

const ALLOW_ONCE: &str = "Allow once";
const ALLOW_SESSION: &str = "Allow in this session";
const DENY: &str = "Deny";

/// A call in words for a person; everything it reaches is named, and what cannot be seen is shown escaped.
pub(crate) fn question(call: &ApproveCall) -> String {
    let mut lines = vec![format!("Allow {}? {}", visible(&call.name), visible(&call.reason))];
    lines.extend(call.targets.iter().map(|target| format!("  {}", visible(target))));
    lines.extend(call.diff.iter().flat_map(|diff| diff.lines()).map(visible));
    lines.join("\n")
}

/// The decision that a button means; a message that was closed is none, so that the call is denied and may be asked
/// about again.
fn consent(answer: &Value) -> Option<Consent> {
    match answer.get("title").and_then(Value::as_str) {
        Some(ALLOW_ONCE) => Some(Consent::Once),
        Some(ALLOW_SESSION) => Some(Consent::Session),
        Some(DENY) => Some(Consent::Deny),
        _ => None,
    }
}

/// A question in words for a person, with what its options mean.
fn asked(asked: &AskQuestion) -> String {
    let header = asked.header.iter().map(|header| visible(header));
    let meant = asked.options.iter().filter_map(|option| {
        let description = option.description.as_deref()?;
        Some(format!("  {}: {}", visible(&option.label), lines(description).join("\n  ")))
    });
    header.chain(lines(&asked.question)).chain(meant).collect::<Vec<_>>().join("\n")
}

fn lines(text: &str) -> Vec<String> {
    text.lines().map(visible).collect()
}

/// The option that a button means; a message that was closed is no answer. A button that is none of ours stands for itself.
fn chosen(asked: &AskQuestion, answer: &Value) -> Option<AskAnswer> {
    let title = answer.get("title").and_then(Value::as_str).or_else(|| answer.as_str())?;
    let option = asked.options.iter().find(|option| visible(&option.label) == title);
    let label = option.map_or(title, |option| &option.label).to_owned();
    Some(AskAnswer { selected: vec![AskSelected::Label(label)], text: None })
}

impl Outbox {
    /// Questions by messages with buttons, one after the other: one option each, and no text. What was answered stays
    /// answered, whatever becomes of the questions behind it.
    pub(super) async fn ask_by_message(&self, params: AskParams) -> Result<AskResult, AskError> {
        let mut result = AskResult::default();
        let mut answered = false;
        for (at, question) in params.questions.iter().enumerate() {
            result.answers.push(None);
            if question.options.is_empty() {
                let why = "it wants a text, and this editor can only show buttons";
                result.unasked.insert(at, why.to_owned());
                continue;
            }
            let actions: Vec<Value> =
                question.options.iter().map(|option| json!({ "title": visible(&option.label) })).collect();
            let message = json!({ "type": 3, "message": asked(question), "actions": actions });
            match self.ask("window/showMessageRequest", message, None).await {
                Ok(answer) => {
                    answered = true;
                    result.answers[at] = chosen(question, &answer);
                }
                Err(error) if answered => {
                    result.unasked.insert(at, error.to_string());
                }
                Err(error) => return Err(error),
            }
        }
        Ok(result)
    }

    /// Consent by a message with buttons, one call after the other.
    pub(super) async fn approve_by_message(&self, params: ApproveParams) -> Result<ApproveResult, AskError> {
        let mut decisions = Vec::with_capacity(params.calls.len());
        for call in &params.calls {
            let question = json!({
                "type": 2,
                "message": question(call),
                "actions": [{ "title": ALLOW_ONCE }, { "title": ALLOW_SESSION }, { "title": DENY }],
            });
            let answer = self.ask("window/showMessageRequest", question, None).await?;
            decisions.extend(consent(&answer).map(|decision| ApproveDecision {
                call_id: call.call_id.clone(),
                decision,
                arguments: None,
                feedback: None,
            }));
        }
        Ok(ApproveResult { decisions })
    }
}
