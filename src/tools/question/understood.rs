//! What an answer means for its question. Nothing that a person said is left out, also where it does not fit. Pure.

use crate::editor::{AskAnswer, AskQuestion, AskSelected};

/// What was answered to one question.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Understood {
    /// The labels of the options that were chosen, in the order of the options.
    pub selected: Vec<String>,
    /// What the person wrote.
    pub text: Option<String>,
    /// What came besides and fits nothing, in words.
    pub odd: Vec<String>,
}

impl Understood {
    /// Whether it says anything.
    pub(super) fn answered(&self) -> bool {
        !self.selected.is_empty() || self.text.is_some() || !self.odd.is_empty()
    }

    /// The answer in lines.
    pub(super) fn lines(&self) -> Vec<String> {
        let selected = self.selected.iter().map(|label| format!("- {label}"));
        let text = self.text.iter().map(|text| format!("In their own words: {}", text.replace('\n', "\n   ")));
        selected.chain(text).chain(self.odd.iter().map(|odd| format!("({odd})"))).collect()
    }
}

/// What an answer means. A label counts without regard to case and to white space around it where none fits exactly; one that
/// is no option is what the person wrote, where they may write.
pub(super) fn understand(question: &AskQuestion, answer: Option<&AskAnswer>) -> Understood {
    let Some(answer) = answer else { return Understood::default() };
    let options = &question.options;
    let place = |label: &str| {
        let alike = || {
            let label = label.trim().to_lowercase();
            options.iter().position(|option| option.label.trim().to_lowercase() == label)
        };
        options.iter().position(|option| option.label == label).or_else(alike)
    };
    let (mut chosen, mut written, mut odd) = (Vec::new(), Vec::new(), Vec::new());
    for selected in &answer.selected {
        match selected {
            AskSelected::Index(index) => match usize::try_from(*index).ok().filter(|at| *at < options.len()) {
                Some(at) => chosen.push(at),
                None => odd.push(format!("option {index} was chosen, counted from 0, and there are {}", options.len())),
            },
            AskSelected::Label(label) => match place(label) {
                Some(at) => chosen.push(at),
                None if label.trim().is_empty() => {}
                None if question.custom => written.push(label.trim().to_owned()),
                None => odd.push(format!("the answer {label:?} is none of the options")),
            },
        }
    }
    chosen.sort_unstable();
    chosen.dedup();
    if chosen.len() > 1 && !question.multiple {
        odd.push(format!("{} options were chosen where one was asked for", chosen.len()));
    }
    if let Some(text) = answer.text.as_deref().map(str::trim).filter(|text| !text.is_empty()) {
        written.push(text.to_owned());
    }
    let selected = chosen.into_iter().map(|at| options[at].label.clone()).collect();
    Understood { selected, text: (!written.is_empty()).then(|| written.join("\n")), odd }
}
