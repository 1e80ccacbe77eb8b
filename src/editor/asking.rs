//! Questions that a model has for the person: what is asked, and what an editor's answer says.
//!
//! A person has answered once and does not do so twice, so that every answer that says anything is understood, also where
//! it has another shape than it should.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Questions for the person: `ropewalk/ask`. There is no deadline; a question that nobody waits for any more is taken back by
/// `$/cancelRequest`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AskParams {
    /// The session whose model asks.
    pub session_id: String,
    /// The call that asks.
    pub call_id: String,
    /// The questions, in order: at least one.
    pub questions: Vec<AskQuestion>,
}

/// One question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AskQuestion {
    /// What is asked.
    pub question: String,
    /// A few words for a title or a tab.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
    /// What there is to choose from; their labels differ. May be empty: then the answer is free text.
    pub options: Vec<AskOption>,
    /// Whether more than one option may be chosen.
    pub multiple: bool,
    /// Whether the person may write an answer of their own.
    pub custom: bool,
}

/// Something to choose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AskOption {
    /// Its name.
    pub label: String,
    /// What choosing it means.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// The answer to [`AskParams`].
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct AskResult {
    /// One answer for each question, in their order; null, or none: that question was not answered.
    pub answers: Vec<Option<AskAnswer>>,
    /// The person closed the questions. What they had answered by then still counts.
    pub cancelled: bool,
    /// Why questions (by their 0-based place) have no answer, where it was not the person who gave none. Never on the wire.
    #[serde(skip)]
    pub unasked: BTreeMap<usize, String>,
}

/// The answer to one question.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct AskAnswer {
    /// The options that were chosen, each by its 0-based place or by its label.
    pub selected: Vec<AskSelected>,
    /// What the person wrote.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// An option that was chosen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum AskSelected {
    /// By its place (0-based).
    Index(u64),
    /// By its label.
    Label(String),
}

impl AskResult {
    /// What an editor answered, also in a shape that is only like the one that it should have: an answer alone, answers
    /// without the object round them, labels and places without the object round those. Null means that the person closed
    /// the questions. The error is what came, in words, where nothing of that fits.
    pub fn read(value: &Value) -> Result<AskResult, String> {
        let cancelled = value["cancelled"] == true;
        let answers = match value {
            Value::Null => return Ok(AskResult { cancelled: true, ..AskResult::default() }),
            Value::Array(items) => items.iter().map(answer).collect(),
            Value::String(_) | Value::Number(_) => vec![answer(value)],
            Value::Object(fields) => match fields.get("answers") {
                Some(Value::Array(items)) => items.iter().map(answer).collect(),
                Some(Value::Null) | None if cancelled => Vec::new(),
                Some(Value::Null) | None if fields.contains_key("selected") || fields.contains_key("text") => {
                    vec![answer(value)]
                }
                Some(Value::Null) | None => return Err(misshapen(value)),
                Some(other) => vec![answer(other)],
            },
            Value::Bool(_) => return Err(misshapen(value)),
        };
        Ok(AskResult { answers, cancelled, unasked: BTreeMap::new() })
    }
}

/// What came instead of an answer. All of it, for a person may have written it.
fn misshapen(value: &Value) -> String {
    format!("its answer is not of the form {{\"answers\": [...]}}, but {value}")
}

/// The answer to one question.
fn answer(value: &Value) -> Option<AskAnswer> {
    let alone = |selected| Some(AskAnswer { selected, text: None });
    match value {
        Value::Null => None,
        Value::Object(fields) => {
            let selected = match fields.get("selected") {
                None | Some(Value::Null) => Vec::new(),
                Some(Value::Array(items)) => items.iter().map(chosen).collect(),
                Some(one) => vec![chosen(one)],
            };
            let text = match fields.get("text") {
                None | Some(Value::Null) => None,
                Some(Value::String(text)) => Some(text.clone()),
                Some(other) => Some(other.to_string()),
            };
            if !fields.contains_key("selected") && !fields.contains_key("text") && !fields.is_empty() {
                return alone(vec![chosen(value)]);
            }
            Some(AskAnswer { selected, text })
        }
        Value::Array(items) => alone(items.iter().map(chosen).collect()),
        one => alone(vec![chosen(one)]),
    }
}

/// One option; what is no place and no label stands for itself.
fn chosen(value: &Value) -> AskSelected {
    // A whole float is how some clients write every number.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole, not negative, and small")]
    let whole = |float: f64| (float >= 0.0 && float.fract() == 0.0 && float < 1e9).then_some(float as u64);
    match value {
        Value::Number(number) => match number.as_u64().or_else(|| number.as_f64().and_then(whole)) {
            Some(index) => AskSelected::Index(index),
            None => AskSelected::Label(number.to_string()),
        },
        Value::String(label) => AskSelected::Label(label.clone()),
        Value::Object(fields) => match fields.get("label").and_then(Value::as_str) {
            Some(label) => AskSelected::Label(label.to_owned()),
            None => AskSelected::Label(value.to_string()),
        },
        other => AskSelected::Label(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn by(label: &str) -> AskSelected {
        AskSelected::Label(label.to_owned())
    }

    fn one(selected: &[AskSelected], text: Option<&str>) -> Vec<Option<AskAnswer>> {
        vec![Some(AskAnswer { selected: selected.to_vec(), text: text.map(str::to_owned) })]
    }

    #[test]
    fn every_answer_that_says_something_is_understood() {
        let index = AskSelected::Index;
        for (value, answers, cancelled) in [
            (json!(null), vec![], true),
            (json!({ "cancelled": true }), vec![], true),
            (json!({ "answers": [{ "selected": ["A"] }], "cancelled": true }), one(&[by("A")], None), true),
            (json!({ "answers": [] }), vec![], false),
            (json!({ "answers": [null] }), vec![None], false),
            (json!({ "answers": [{ "selected": [0, "B"] }] }), one(&[index(0), by("B")], None), false),
            (json!({ "answers": [{ "selected": [1.0] }] }), one(&[index(1)], None), false),
            (json!({ "answers": [{ "selected": [-1] }] }), one(&[by("-1")], None), false),
            (json!({ "answers": [{ "text": "mine" }] }), one(&[], Some("mine")), false),
            (json!({ "answers": [{ "text": 7, "selected": null }] }), one(&[], Some("7")), false),
            (json!({ "answers": [{}] }), one(&[], None), false),
            (json!({ "answers": ["A"] }), one(&[by("A")], None), false),
            (json!({ "answers": [["A", 2]] }), one(&[by("A"), index(2)], None), false),
            (json!({ "answers": [{ "selected": "A" }] }), one(&[by("A")], None), false),
            (json!({ "answers": [{ "selected": [{ "label": "A" }] }] }), one(&[by("A")], None), false),
            (json!({ "answers": [{ "label": "A" }] }), one(&[by("A")], None), false),
            (json!({ "answers": [{ "value": "A" }] }), one(&[by(r#"{"value":"A"}"#)], None), false),
            (json!({ "answers": "A" }), one(&[by("A")], None), false),
            (json!({ "selected": [0], "text": "x" }), one(&[index(0)], Some("x")), false),
            (json!(["A"]), one(&[by("A")], None), false),
            (json!("A"), one(&[by("A")], None), false),
            (json!(0), one(&[index(0)], None), false),
            (json!({ "answers": [true] }), one(&[by("true")], None), false),
        ] {
            let read = AskResult::read(&value);
            assert_eq!(read, Ok(AskResult { answers, cancelled, unasked: BTreeMap::new() }), "{value}");
        }
    }

    #[test]
    fn what_says_nothing_is_told_as_it_came() {
        for value in [json!(true), json!({}), json!({ "reply": "A" }), json!({ "answers": null })] {
            let told = AskResult::read(&value).unwrap_err();
            assert!(told.contains(&value.to_string()), "{told}");
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let result = AskResult {
            answers: vec![None, Some(AskAnswer { selected: vec![by("A"), AskSelected::Index(1)], text: None })],
            cancelled: false,
            unasked: BTreeMap::new(),
        };
        assert_eq!(AskResult::read(&json!(result)), Ok(result));
    }
}
