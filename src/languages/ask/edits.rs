//! `TextEdit[]` and `WorkspaceEdit`: read strictly, for half of an edit is a wrong one. Pure.

use std::collections::BTreeSet;

use serde_json::Value;

use super::fields;
use crate::text::TextEdit;

/// Edits of one text, as the server counts; all are about the text before them.
pub type TextEdits = Vec<TextEdit>;

/// A change of several files, as a server asks for it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Edits {
    /// What to do, in order.
    pub operations: Vec<Operation>,
    /// What the server wants a person to look at first, in its words.
    pub confirm: Vec<String>,
}

/// One step of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation {
    /// Edit a text.
    Edit {
        /// The file, as the server spells it.
        uri: String,
        /// The version the edits are for, where that is said.
        version: Option<i64>,
        /// The edits.
        edits: TextEdits,
    },
    /// Make a file.
    Create {
        /// Which.
        uri: String,
        /// One that is there is emptied.
        overwrite: bool,
        /// One that is there is left alone.
        ignore_if_exists: bool,
    },
    /// Move a file or folder.
    Rename {
        /// From where.
        from: String,
        /// To where.
        to: String,
        /// What is there is replaced.
        overwrite: bool,
        /// If something is there, nothing is done.
        ignore_if_exists: bool,
    },
    /// Delete a file or folder.
    Delete {
        /// Which.
        uri: String,
        /// It may be missing.
        ignore_if_not_exists: bool,
    },
}

/// `TextEdit[] | null`; the error says what is none.
pub(super) fn text_edits(value: &Value) -> Result<TextEdits, String> {
    match value {
        Value::Null => Ok(Vec::new()),
        Value::Array(edits) => edits.iter().map(text_edit).collect(),
        _ => Err("it is no list of text edits".to_owned()),
    }
}

fn text_edit(value: &Value) -> Result<TextEdit, String> {
    let range = value.get("range").and_then(fields::range);
    let text = value.get("newText").and_then(Value::as_str);
    match (range, text) {
        _ if value["insertTextFormat"] == 2 => Err("it has a snippet in it".to_owned()),
        (Some(range), Some(text)) => Ok(TextEdit { range, new_text: text.to_owned() }),
        (None, _) => Err("a text edit has no range".to_owned()),
        (_, None) => Err("a text edit has no text".to_owned()),
    }
}

/// `WorkspaceEdit | null`; `None` where it changes nothing.
pub(super) fn workspace_edit(value: &Value) -> Result<Option<Edits>, String> {
    let Value::Object(parts) = value else {
        return if value.is_null() { Ok(None) } else { Err("it is no object".to_owned()) };
    };
    let mut edits = Edits::default();
    let mut wanted = BTreeSet::new();
    match (parts.get("documentChanges"), parts.get("changes")) {
        (Some(Value::Array(changes)), _) => {
            for change in changes {
                edits.operations.push(operation(change)?);
                confirmations(change, &mut wanted);
            }
        }
        (None | Some(Value::Null), Some(Value::Object(changes))) => {
            let mut files: Vec<(&String, &Value)> = changes.iter().collect();
            files.sort_by_key(|(uri, _)| *uri);
            for (uri, list) in files {
                let operation = Operation::Edit { uri: uri.clone(), version: None, edits: text_edits(list)? };
                edits.operations.push(operation);
                for edit in list.as_array().into_iter().flatten() {
                    annotation(edit, &mut wanted);
                }
            }
        }
        (None | Some(Value::Null), None | Some(Value::Null)) => {}
        _ => return Err("its changes have a shape that nobody knows".to_owned()),
    }
    let annotations = parts.get("changeAnnotations").unwrap_or(&Value::Null);
    for id in wanted {
        let Some(annotation) = annotations.get(&id) else { continue };
        if annotation["needsConfirmation"] == true {
            let label = annotation.get("label").and_then(fields::text).unwrap_or(id);
            let more = annotation.get("description").and_then(fields::text);
            edits.confirm.push(more.map_or_else(|| label.clone(), |more| format!("{label} ({more})")));
        }
    }
    edits.operations.retain(|operation| !matches!(operation, Operation::Edit { edits, .. } if edits.is_empty()));
    Ok((!edits.operations.is_empty()).then_some(edits))
}

fn operation(change: &Value) -> Result<Operation, String> {
    let uri = |name: &str| {
        change.get(name).and_then(Value::as_str).map(str::to_owned).ok_or_else(|| format!("a change has no `{name}`"))
    };
    let option = |name: &str| change["options"][name] == true;
    match change.get("kind").and_then(Value::as_str) {
        Some("create") => Ok(Operation::Create {
            uri: uri("uri")?,
            overwrite: option("overwrite"),
            ignore_if_exists: option("ignoreIfExists"),
        }),
        Some("rename") => Ok(Operation::Rename {
            from: uri("oldUri")?,
            to: uri("newUri")?,
            overwrite: option("overwrite"),
            ignore_if_exists: option("ignoreIfExists"),
        }),
        Some("delete") => Ok(Operation::Delete { uri: uri("uri")?, ignore_if_not_exists: option("ignoreIfNotExists") }),
        Some(other) => Err(format!("a change is of the kind {other:?}, which nobody knows")),
        None => {
            let document = change.get("textDocument").unwrap_or(&Value::Null);
            let uri = document.get("uri").and_then(Value::as_str).ok_or("a change names no document")?;
            let edits = text_edits(change.get("edits").unwrap_or(&Value::Bool(false)))?;
            Ok(Operation::Edit { uri: uri.to_owned(), version: document["version"].as_i64(), edits })
        }
    }
}

fn confirmations(change: &Value, wanted: &mut BTreeSet<String>) {
    annotation(change, wanted);
    for edit in change["edits"].as_array().into_iter().flatten() {
        annotation(edit, wanted);
    }
}

fn annotation(value: &Value, wanted: &mut BTreeSet<String>) {
    wanted.extend(value.get("annotationId").and_then(Value::as_str).map(str::to_owned));
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use serde_json::json;

    fn edit(line: u32, text: &str) -> Value {
        json!({ "range": { "start": { "line": line, "character": 0 }, "end": { "line": line, "character": 1 } },
            "newText": text })
    }

    #[expect(clippy::needless_pass_by_value, reason = "reads as a table")]
    fn check(value: Value, expected: Expect) {
        let told = match workspace_edit(&value) {
            Err(why) => why,
            Ok(None) => "nothing".to_owned(),
            Ok(Some(edits)) => {
                let mut lines: Vec<String> = edits
                    .operations
                    .iter()
                    .map(|operation| match operation {
                        Operation::Edit { uri, version, edits } => format!("{uri} {version:?} {}", edits.len()),
                        other => format!("{other:?}"),
                    })
                    .collect();
                lines.extend(edits.confirm.iter().map(|label| format!("confirm {label}")));
                lines.join("\n")
            }
        };
        expected.assert_eq(&told);
    }

    #[test]
    fn changes_by_file() {
        check(
            json!({ "changes": { "file:///b": [edit(0, "x")], "file:///a": [edit(1, "y"), edit(2, "z")] } }),
            expect![[r"
            file:///a None 2
            file:///b None 1"]],
        );
        check(json!({ "changes": {} }), expect!["nothing"]);
        check(json!({ "changes": { "file:///a": [] } }), expect!["nothing"]);
        check(json!({}), expect!["nothing"]);
        check(Value::Null, expect!["nothing"]);
    }

    #[test]
    fn document_changes_and_resource_operations() {
        let text = json!({ "textDocument": { "uri": "file:///a", "version": 101 }, "edits": [edit(0, "x")] });
        check(
            json!({ "documentChanges": [
                { "kind": "create", "uri": "file:///n", "options": { "ignoreIfExists": true } },
                text,
                { "kind": "rename", "oldUri": "file:///a", "newUri": "file:///b" },
                { "kind": "delete", "uri": "file:///c" },
            ], "changes": { "file:///a": [edit(9, "not this")] } }),
            expect![[r#"
                Create { uri: "file:///n", overwrite: false, ignore_if_exists: true }
                file:///a Some(101) 1
                Rename { from: "file:///a", to: "file:///b", overwrite: false, ignore_if_exists: false }
                Delete { uri: "file:///c", ignore_if_not_exists: false }"#]],
        );
    }

    #[test]
    fn annotations_that_want_a_person() {
        let mut marked = edit(0, "x");
        marked["annotationId"] = json!("1");
        let change = json!({ "textDocument": { "uri": "file:///a", "version": null }, "edits": [marked] });
        check(
            json!({ "documentChanges": [change], "changeAnnotations": {
                "1": { "label": "In comments", "description": "may be wrong", "needsConfirmation": true },
                "2": { "label": "Not used", "needsConfirmation": true } } }),
            expect![[r"
                file:///a None 1
                confirm In comments (may be wrong)"]],
        );
    }

    #[test]
    fn half_an_edit_is_none() {
        check(
            json!({ "documentChanges": [{ "kind": "copy", "uri": "file:///a" }] }),
            expect![[r#"a change is of the kind "copy", which nobody knows"#]],
        );
        check(json!({ "documentChanges": [{ "edits": [] }] }), expect!["a change names no document"]);
        check(
            json!({ "documentChanges": [{ "textDocument": { "uri": "file:///a" } }] }),
            expect!["it is no list of text edits"],
        );
        check(
            json!({ "changes": { "file:///a": [edit(0, "x"), { "newText": "y" }] } }),
            expect!["a text edit has no range"],
        );
        check(json!({ "changes": [] }), expect!["its changes have a shape that nobody knows"]);
        check(json!([]), expect!["it is no object"]);
        let mut snippet = edit(0, "$0");
        snippet["insertTextFormat"] = json!(2);
        check(json!({ "changes": { "file:///a": [snippet] } }), expect!["it has a snippet in it"]);
    }
}
