//! Deferred tools: the first call that fits activates one and runs; one that does not fit is answered with the schema,
//! which the model has not seen, and with what it probably meant.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use crate::editor::{News, ToolsChanged};
use crate::sessions::Session;
use crate::tool::{ErrorKind, ToolError};

use super::catalog::{Entry, Ready, undiscovered};
use super::names::{distance, snake};
use super::{Dispatch, arguments};

/// A longer schema (bytes) is shown by the names and types of its fields alone.
const SHOWN_SCHEMA: usize = 6_000;

/// At most so many fields are named in one list.
const SHOWN_FIELDS: usize = 40;

/// A name that is at most so many edits away is probably the one that was meant.
const NEAR: usize = 3;

/// Names that different tools have for the same thing.
const ALIKE: &[&[&str]] = &[
    &["old_string", "old_str", "old_text", "old", "search", "find"],
    &["new_string", "new_str", "new_text", "new", "replace", "replacement", "replace_with"],
    &["file_path", "filepath", "path", "file", "filename", "file_name", "uri"],
    &["directory", "dir", "folder", "path", "cwd", "workdir"],
    &["command", "cmd", "script", "shell_command"],
    &["query", "q", "pattern", "search", "text", "search_query", "keywords"],
    &["content", "contents", "text", "body", "data"],
    &["url", "uri", "link", "href", "address"],
    &["limit", "max_results", "count", "n", "max", "top_k"],
    &["id", "identifier", "number", "key"],
    &["name", "title", "label"],
    &["description", "body", "summary", "details"],
];

/// The arguments, or what is wrong with them: of a tool that the session has not called yet with all that a model needs to
/// call it rightly.
pub(super) fn known(
    session: &Session,
    entry: &Entry,
    given: Option<&Value>,
    ready: Result<Ready, ToolError>,
) -> Result<Ready, ToolError> {
    ready.map_err(|error| {
        if error.kind == ErrorKind::InvalidArguments && undiscovered(session, entry) {
            introduced(entry.traits().name, entry.schema(), given, &error)
        } else {
            error
        }
    })
}

impl Dispatch {
    /// A call of a tool is about to run: from now on the tool is in the session's list.
    pub(super) fn activate(&self, session: &Session, entry: &Entry) {
        if undiscovered(session, entry) && session.activate(entry.traits().name) {
            let changed = ToolsChanged { session_id: Some(session.id.clone()) };
            self.workspace.editor.tell(News::Tools(changed));
        }
    }
}

/// What a model that guessed the arguments needs to know.
fn introduced(tool: &str, schema: &Value, given: Option<&Value>, error: &ToolError) -> ToolError {
    let empty = Map::new();
    let properties = schema["properties"].as_object().unwrap_or(&empty);
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let received: Vec<String> = match arguments::parse(tool, None, given) {
        Ok(parsed) => parsed.value.keys().cloned().collect(),
        Err(_) => Vec::new(),
    };
    let missing: Vec<&str> =
        required.iter().copied().filter(|name| !received.iter().any(|given| given == name)).collect();
    let open = !matches!(schema.get("additionalProperties"), None | Some(Value::Bool(false)));
    let unexpected: Vec<&str> =
        received.iter().map(String::as_str).filter(|name| !properties.contains_key(*name) && !open).collect();
    let free: Vec<&str> = missing
        .iter()
        .copied()
        .chain(properties.keys().map(String::as_str).filter(|name| !required.contains(name)))
        .filter(|name| !received.iter().any(|given| given == name))
        .collect();
    let corrections = corrections(&unexpected, &free);

    let expected: Vec<String> = properties
        .iter()
        .map(|(name, part)| {
            let kind = kind(part);
            if required.contains(&name.as_str()) {
                format!("{name} ({kind}, required)")
            } else {
                format!("{name} ({kind})")
            }
        })
        .collect();
    let mut message = format!(
        "`{tool}` was not run: its arguments do not fit, and its schema was not in the list of tools.\n\
         Expected: {}\nReceived: {}\n",
        list(&expected),
        list(&received)
    );
    for (label, names) in [("Missing", &missing), ("Unexpected", &unexpected)] {
        if !names.is_empty() {
            let _ = writeln!(message, "{label}: {}", list(names));
        }
    }
    if !corrections.is_empty() {
        let told: Vec<String> = corrections.iter().map(|(from, to)| format!("{from} -> {to}")).collect();
        let _ = writeln!(message, "Likely corrections: {}", told.join(", "));
    }
    message.push_str(&error.message);
    let text = schema.to_string();
    if text.len() <= SHOWN_SCHEMA {
        let _ = write!(message, "\nIts schema: {text}");
    }
    message.push_str("\nSend the call again with arguments that fit; it runs then.");
    let mut told = ToolError::new(ErrorKind::InvalidArguments, message);
    let mut data = json!({
        "reason": "deferredToolFirstUse",
        "expected": properties.keys().collect::<Vec<_>>(),
        "received": received,
        "missing": missing,
        "unexpected": unexpected,
        "corrections": corrections.iter().map(|(from, to)| json!({ "from": from, "to": to })).collect::<Vec<_>>(),
        "schema": schema,
    });
    if let Some(faults) = error.data.as_ref().and_then(|data| data.get("faults")) {
        data["faults"] = faults.clone();
    }
    told.data = Some(data);
    told
}

/// Which declared field each unexpected one probably means: each at most once, the likeliest first.
fn corrections(unexpected: &[&str], free: &[&str]) -> Vec<(String, String)> {
    // By how far the names are apart: the same words, a slip of the pen, another word for the same thing.
    let mut likely: Vec<(usize, usize, usize)> = Vec::new();
    for (given, name) in unexpected.iter().enumerate() {
        let name = snake(name);
        for (meant, field) in free.iter().enumerate() {
            let field = snake(field);
            let apart = distance(&name, &field);
            let together = name.replace('_', "") == field.replace('_', "");
            let near = apart <= NEAR && apart * 2 < field.chars().count();
            let alike = ALIKE.iter().any(|group| group.contains(&name.as_str()) && group.contains(&field.as_str()));
            let rank = match (together, near, alike) {
                (true, ..) => 0,
                (_, true, _) => apart,
                (_, _, true) => NEAR + 1,
                _ => continue,
            };
            likely.push((rank, given, meant));
        }
    }
    likely.sort_unstable();
    let (mut given_used, mut meant_used) = (Vec::new(), Vec::new());
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    for (_, given, meant) in likely {
        if !given_used.contains(&given) && !meant_used.contains(&meant) {
            given_used.push(given);
            meant_used.push(meant);
            pairs.push((given, meant));
        }
    }
    pairs.sort_unstable();
    let name = |names: &[&str], index: usize| names.get(index).copied().unwrap_or_default().to_owned();
    pairs.into_iter().map(|(given, meant)| (name(unexpected, given), name(free, meant))).collect()
}

fn kind(part: &Value) -> String {
    match &part["type"] {
        Value::String(kind) => kind.clone(),
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or "),
        _ => "any".to_owned(),
    }
}

fn list<S: AsRef<str>>(names: &[S]) -> String {
    if names.is_empty() {
        return "nothing".to_owned();
    }
    let shown: Vec<String> =
        names.iter().take(SHOWN_FIELDS).map(|name| crate::permissions::visible(name.as_ref())).collect();
    let rest = names.len().saturating_sub(SHOWN_FIELDS);
    if rest > 0 { format!("{} and {rest} more", shown.join(", ")) } else { shown.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn what_was_probably_meant() {
        for (unexpected, free, expected) in [
            (
                &["old_string", "new_string"][..],
                &["search", "replace"][..],
                "old_string -> search, new_string -> replace",
            ),
            (&["old_str"], &["search", "query"], "old_str -> search"),
            (&["titel", "body"], &["title", "description"], "titel -> title, body -> description"),
            (&["fileName", "file"], &["file_name", "path"], "fileName -> file_name, file -> path"),
            (&["id"], &["q"], ""),
            (&["a", "b"], &["c", "d"], ""),
            (&["lable", "labels"], &["labels2"], "labels -> labels2"),
            (&[], &["a"], ""),
        ] {
            let pairs: Vec<String> =
                corrections(unexpected, free).iter().map(|(from, to)| format!("{from} -> {to}")).collect();
            assert_eq!(pairs.join(", "), expected, "{unexpected:?}");
        }
    }

    #[test]
    fn a_guess_is_answered_with_the_schema() {
        let schema = json!({
            "type": "object",
            "properties": { "search": { "type": "string" }, "replace": { "type": ["string", "null"] }, "all": {} },
            "required": ["search"],
            "additionalProperties": false,
        });
        let fault = ToolError::new(ErrorKind::InvalidArguments, "The arguments of `swap` do not fit: ...");
        let given = json!("{\"old_string\": \"a\", \"all\": true}");
        let told = introduced("swap", &schema, Some(&given), &fault);
        expect![[r#"
            `swap` was not run: its arguments do not fit, and its schema was not in the list of tools.
            Expected: search (string, required), replace (string or null), all (any)
            Received: old_string, all
            Missing: search
            Unexpected: old_string
            Likely corrections: old_string -> search
            The arguments of `swap` do not fit: ...
            Its schema: {"type":"object","properties":{"search":{"type":"string"},"replace":{"type":["string","null"]},"all":{}},"required":["search"],"additionalProperties":false}
            Send the call again with arguments that fit; it runs then."#]]
        .assert_eq(&told.message);
        assert_eq!(told.data.unwrap()["corrections"], json!([{ "from": "old_string", "to": "search" }]));
        let nothing = introduced("swap", &schema, Some(&json!([1])), &fault);
        assert!(nothing.message.contains("Received: nothing\nMissing: search\n"), "{}", nothing.message);
    }
}
