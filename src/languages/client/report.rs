//! What a server sends as a report of diagnostics: what is one, and what is none. Pure.
//!
//! What is no report says nothing, least of all that there are no problems: it comes out of here as an error with words
//! for people and models. Nothing here indexes into what it takes: a message of any shape is read without a panic.

use serde_json::{Map, Value};

/// `textDocument/publishDiagnostics`
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Published {
    /// The document as the server spells it.
    pub(super) uri: String,
    /// The version on it; one that is no number of ours, but is there, is a number that no text of ours has.
    pub(super) version: Option<i32>,
    /// The diagnostics as they came, or why there are none to read.
    pub(super) items: Result<Vec<Value>, String>,
}

/// A version that fits no text.
const NO_TEXT: i32 = -1;

/// The answer to `textDocument/diagnostic`.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Report {
    /// All diagnostics.
    Full {
        /// Names this answer in the next question.
        result_id: Option<String>,
        /// As they came.
        items: Vec<Value>,
    },
    /// The same as that of the id in the question.
    Unchanged {
        /// Names this answer in the next question.
        result_id: Option<String>,
    },
}

/// An answer, with what it says of other documents.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Answer {
    /// What it says of the document.
    pub(super) report: Report,
    /// Full reports of other documents, by URI.
    pub(super) related: Vec<(String, Vec<Value>)>,
    /// For the operator: reports of other documents that are none.
    pub(super) remarks: Vec<String>,
}

/// Reads a publication; the error says why nobody can tell what it is about.
pub(super) fn published(params: Value) -> Result<Published, String> {
    let Value::Object(mut fields) = params else { return Err(format!("it is {}, not an object", kind(&params))) };
    let items = items(&mut fields);
    let version = match fields.remove("version") {
        None | Some(Value::Null) => None,
        Some(version) => Some(number(&version).unwrap_or(NO_TEXT)),
    };
    match fields.remove("uri") {
        Some(Value::String(uri)) => Ok(Published { uri, version, items }),
        Some(other) => Err(format!("`uri` is {}, not a text", kind(&other))),
        None => Err("it has no `uri`".to_owned()),
    }
}

/// Reads an answer; the error says why it is no report.
pub(super) fn answer(answer: Value) -> Result<Answer, String> {
    let Value::Object(mut fields) = answer else { return Err(format!("it is {}, not an object", kind(&answer))) };
    let mut remarks = Vec::new();
    let related = match fields.remove("relatedDocuments") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Object(related)) => related
            .into_iter()
            .filter_map(|(uri, report)| match self::report(report) {
                Ok(Report::Full { items, .. }) => Some((uri, items)),
                // It is the same as what was said before, which is known or of no interest.
                Ok(Report::Unchanged { .. }) => None,
                Err(why) => {
                    remarks.push(format!("{uri}: {why}"));
                    None
                }
            })
            .collect(),
        Some(other) => {
            remarks.push(format!("`relatedDocuments` is {}, not an object", kind(&other)));
            Vec::new()
        }
    };
    Ok(Answer { report: report(Value::Object(fields))?, related, remarks })
}

pub(super) fn report(report: Value) -> Result<Report, String> {
    let Value::Object(mut fields) = report else { return Err(format!("it is {}, not an object", kind(&report))) };
    let result_id = match fields.remove("resultId") {
        Some(Value::String(id)) => Some(id),
        _ => None,
    };
    match fields.remove("kind") {
        Some(Value::String(kind)) if kind == "full" => {
            Ok(Report::Full { result_id, items: items_of(&mut fields, "items")? })
        }
        Some(Value::String(kind)) if kind == "unchanged" => Ok(Report::Unchanged { result_id }),
        Some(Value::String(_)) => Err("its `kind` is neither `full` nor `unchanged`".to_owned()),
        Some(other) => Err(format!("its `kind` is {}, neither `full` nor `unchanged`", kind(&other))),
        None => Err("it has no `kind`".to_owned()),
    }
}

fn items(fields: &mut Map<String, Value>) -> Result<Vec<Value>, String> {
    items_of(fields, "diagnostics")
}

/// The list in a field; no list is not an empty one.
fn items_of(fields: &mut Map<String, Value>, name: &str) -> Result<Vec<Value>, String> {
    match fields.remove(name) {
        Some(Value::Array(items)) => Ok(items),
        Some(other) => Err(format!("its `{name}` is {}, not a list", kind(&other))),
        None => Err(format!("it has no `{name}`")),
    }
}

/// A version, however it is written.
fn number(value: &Value) -> Option<i32> {
    let whole = value.as_i64().or_else(|| value.as_str()?.trim().parse().ok());
    // Some encoders write every number as a fraction.
    let whole = whole.or_else(|| value.as_f64().filter(|number| number.fract() == 0.0).map(saturated));
    whole.and_then(|number| i32::try_from(number).ok())
}

#[expect(clippy::cast_possible_truncation, reason = "the cast saturates, and such a number is no version")]
fn saturated(number: f64) -> i64 {
    number as i64
}

/// What a thing is, for messages.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a truth value",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn what_is_no_report_is_no_empty_one() {
        fn check(value: &Value, expected: Result<&str, &str>) {
            let found = answer(value.clone()).map(|answer| format!("{:?}", answer.report));
            assert_eq!(found.as_deref().map_err(String::as_str), expected, "{value}");
        }
        check(&json!({ "kind": "full", "items": [] }), Ok("Full { result_id: None, items: [] }"));
        check(
            &json!({ "kind": "full", "resultId": "r", "items": [] }),
            Ok(r#"Full { result_id: Some("r"), items: [] }"#),
        );
        check(&json!({ "kind": "unchanged", "resultId": "r" }), Ok(r#"Unchanged { result_id: Some("r") }"#));
        check(&json!({ "kind": "unchanged", "resultId": 7 }), Ok("Unchanged { result_id: None }"));
        check(&json!(null), Err("it is null, not an object"));
        check(&json!([]), Err("it is a list, not an object"));
        check(&json!("x"), Err("it is a text, not an object"));
        check(&json!({}), Err("it has no `kind`"));
        check(&json!({ "items": [] }), Err("it has no `kind`"));
        check(&json!({ "kind": 1, "items": [] }), Err("its `kind` is a number, neither `full` nor `unchanged`"));
        check(&json!({ "kind": "half", "items": [] }), Err("its `kind` is neither `full` nor `unchanged`"));
        check(&json!({ "kind": "full" }), Err("it has no `items`"));
        check(&json!({ "kind": "full", "items": null }), Err("its `items` is null, not a list"));
        check(&json!({ "kind": "full", "items": "none" }), Err("its `items` is a text, not a list"));
    }

    #[test]
    fn of_other_documents_only_whole_reports_are_taken() {
        let related = json!({
            "u:a": { "kind": "full", "items": [1] },
            "u:b": { "kind": "unchanged", "resultId": "r" },
            "u:c": { "kind": "full" },
            "u:d": null,
        });
        let found = answer(json!({ "kind": "full", "items": [], "relatedDocuments": related })).unwrap();
        assert_eq!(found.related, [("u:a".to_owned(), vec![json!(1)])]);
        assert_eq!(found.remarks, ["u:c: it has no `items`", "u:d: it is null, not an object"]);
        let found = answer(json!({ "kind": "full", "items": [], "relatedDocuments": [1] })).unwrap();
        assert_eq!(found.remarks, ["`relatedDocuments` is a list, not an object"]);
    }

    #[test]
    fn publications_are_read_as_far_as_they_go() {
        fn check(value: &Value, expected: &str) {
            let found = match published(value.clone()) {
                Err(why) => why,
                Ok(Published { version, items, .. }) => format!("{version:?} {items:?}"),
            };
            assert_eq!(found, expected, "{value}");
        }
        check(&json!({ "uri": "u:a", "version": 3, "diagnostics": [] }), "Some(3) Ok([])");
        check(&json!({ "uri": "u:a", "diagnostics": [] }), "None Ok([])");
        check(&json!({ "uri": "u:a", "version": null, "diagnostics": [] }), "None Ok([])");
        // A version that is there and odd is not the same as none.
        check(&json!({ "uri": "u:a", "version": "3", "diagnostics": [] }), "Some(3) Ok([])");
        check(&json!({ "uri": "u:a", "version": 3.0, "diagnostics": [] }), "Some(3) Ok([])");
        check(&json!({ "uri": "u:a", "version": 3.5, "diagnostics": [] }), "Some(-1) Ok([])");
        check(&json!({ "uri": "u:a", "version": 1e300, "diagnostics": [] }), "Some(-1) Ok([])");
        check(&json!({ "uri": "u:a", "version": [3], "diagnostics": [] }), "Some(-1) Ok([])");
        check(&json!({ "uri": "u:a" }), r#"None Err("it has no `diagnostics`")"#);
        check(&json!({ "uri": "u:a", "diagnostics": null }), r#"None Err("its `diagnostics` is null, not a list")"#);
        check(
            &json!({ "uri": "u:a", "diagnostics": { "a": 1 } }),
            r#"None Err("its `diagnostics` is an object, not a list")"#,
        );
        check(&json!({ "diagnostics": [] }), "it has no `uri`");
        check(&json!({ "uri": 1, "diagnostics": [] }), "`uri` is a number, not a text");
        check(&json!(["u:a", 3]), "it is a list, not an object");
        check(&json!(null), "it is null, not an object");
    }

    /// JSON with the protocol's own names in it.
    pub(in crate::languages::client) fn any_json() -> impl Strategy<Value = Value> {
        let names = "uri|version|diagnostics|kind|items|resultId|relatedDocuments|value|token|registrations|id|method";
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "full|unchanged|begin|end|file:///w/a|[a-z]{0,3}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 5, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(names, inner, 0..5).prop_map(|map| map.into_iter().collect()),
            ]
        })
    }

    proptest! {
        #[test]
        fn only_a_list_is_a_list_and_nothing_panics(value in any_json()) {
            if let Ok(Answer { report: Report::Full { items, .. }, .. }) = answer(value.clone()) {
                prop_assert_eq!(value.get("items"), Some(&Value::from(items)));
                prop_assert_eq!(value.get("kind"), Some(&Value::from("full")));
            }
            if let Ok(Published { items: Ok(items), .. }) = published(value.clone()) {
                prop_assert_eq!(value.get("diagnostics"), Some(&Value::from(items)));
            }
        }
    }
}
