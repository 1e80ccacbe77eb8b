//! The ladder of arguments: from what a model wrote to one JSON object. Repaired only where the text can mean but one
//! thing; where structure had to be invented for that, it is said, and who may take it is not decided here. Pure.
//!
//! A text that merely looks like a call, somewhere in what a model says, never comes here: calls come as calls.

mod prefix;
mod rungs;
mod scan;

use serde_json::{Map, Value};

use crate::tool::{ErrorKind, ToolError};

pub(super) use prefix::beginning;
#[cfg(test)]
pub(super) use prefix::tests::any_json;
pub(super) use scan::Scan;

use rungs::Balanced;

/// Longer text (bytes) is parsed as it is or not at all.
const REPAIRED_BYTES: usize = 1024 * 1024;

/// An error shows so many characters on either side of the place where parsing stopped.
const EXCERPT_CHARS: usize = 40;

/// Arguments as one object.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Parsed {
    /// The object.
    pub value: Map<String, Value>,
    /// What was mended to get it.
    pub repairs: Vec<String>,
    /// Structure was invented that the text does not have: what is there may be a part of what was meant.
    pub invented: Option<Invented>,
}

/// Structure that the text does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Invented {
    /// What was closed or left out, in words.
    pub what: Vec<String>,
    /// The end of the text.
    pub end: String,
}

/// The refusal of a call whose arguments were cut off by the output limit. That is never mended, for nobody knows what
/// is missing.
pub(super) fn truncated(tool: &str) -> ToolError {
    ToolError::new(
        ErrorKind::Truncated,
        format!(
            "`{tool}` was not run: its arguments were cut off by the output limit, and a fragment is never completed \
             by guessing. Send the whole call again; if the arguments are long, split the work into several smaller \
             calls."
        ),
    )
}

/// Takes an object, or text that holds one. `free_form` is the parameter of the tool, if it has one, that takes a text
/// which is no JSON object: as it is, byte for byte. (A fence round such a text is part of it: whether it belongs to
/// its format, the tool knows.)
pub(super) fn parse(tool: &str, free_form: Option<&str>, arguments: Option<&Value>) -> Result<Parsed, ToolError> {
    match arguments {
        None | Some(Value::Null) => Ok(Parsed::default()),
        Some(Value::Object(fields)) => Ok(Parsed { value: fields.clone(), ..Parsed::default() }),
        Some(Value::String(text)) => parse_text(tool, free_form, text),
        Some(other) => Err(no_object(tool, other)),
    }
}

/// One way to mend a text; `None` when it changes nothing.
type Rung = fn(&str) -> Option<String>;

/// What came of a text.
enum Read {
    /// JSON, and what was mended for it.
    Value(Value, Vec<String>),
    /// JSON by invented structure.
    Guess(Value, Vec<String>, Vec<String>),
}

fn parse_text(tool: &str, free_form: Option<&str>, text: &str) -> Result<Parsed, ToolError> {
    if text.trim().is_empty() {
        return Ok(Parsed::default());
    }
    let raw = |parameter: &str| {
        let value = std::iter::once((parameter.to_owned(), Value::String(text.to_owned()))).collect();
        Ok(Parsed { value, repairs: vec![format!("took the text as `{parameter}`")], invented: None })
    };
    // Only what begins as an object is mended into one: a patch or a command may hold anything.
    let mends = free_form.is_none() || begins_object(text);
    let other = match read(text, mends) {
        Ok(Read::Value(value, repairs)) => match object(value, repairs) {
            Ok(parsed) => return Ok(parsed),
            Err(other) => no_object(tool, &other),
        },
        Ok(Read::Guess(Value::Object(value), repairs, what)) => {
            let count = text.chars().count();
            let end = text.chars().skip(count.saturating_sub(EXCERPT_CHARS)).collect();
            return Ok(Parsed { value, repairs, invented: Some(Invented { what, end }) });
        }
        Ok(Read::Guess(other, ..)) => no_object(tool, &other),
        Err(error) if mends => return Err(broken(tool, text, &error)),
        Err(error) => broken(tool, text, &error),
    };
    free_form.map_or(Err(other), raw)
}

/// The rungs, one after the other, until the text is JSON. The error is that of the text as it came.
fn read(text: &str, mends: bool) -> Result<Read, serde_json::Error> {
    let strict = match serde_json::from_str(text) {
        Ok(value) => return Ok(Read::Value(value, Vec::new())),
        Err(error) => error,
    };
    if text.len() > REPAIRED_BYTES || !mends {
        return Err(strict);
    }
    let mut repairs = Vec::new();
    let mut mended = text.to_owned();
    let rungs: [(&str, Rung); 3] = [
        ("took the arguments out of a code fence", rungs::unfence),
        ("escaped control characters inside strings", rungs::escape_controls),
        ("removed trailing commas", rungs::drop_trailing_commas),
    ];
    for (repair, rung) in rungs {
        let Some(next) = rung(&mended) else { continue };
        mended = next;
        repairs.push(repair.to_owned());
        if let Ok(value) = serde_json::from_str(&mended) {
            return Ok(Read::Value(value, repairs));
        }
    }
    let Some(Balanced { text: balanced, invented }) = rungs::balance(&mended) else { return Err(strict) };
    // What is closed may have ended with a comma.
    let balanced = rungs::drop_trailing_commas(&balanced).unwrap_or(balanced);
    let Ok(value) = serde_json::from_str(&balanced) else { return Err(strict) };
    repairs.extend(invented.iter().cloned());
    Ok(Read::Guess(value, repairs, invented))
}

/// Whether a text is an attempt at a JSON object, perhaps in a fence: a brace, and a name with a colon after it, as far as
/// they are there.
pub(super) fn begins_object(text: &str) -> bool {
    let text = text.trim_start();
    let text = match text.strip_prefix("```").and_then(|fenced| fenced.split_once('\n')) {
        Some((_, inside)) => inside.trim_start(),
        None => text,
    };
    let Some(rest) = text.strip_prefix('{') else { return false };
    let rest = rest.trim_start();
    let after = match rest.chars().next() {
        None | Some('}') => return true,
        Some(quote @ ('"' | '\'')) => match rest[1..].find(quote) {
            Some(end) => &rest[end + 2..],
            None => return true,
        },
        Some(first) if first.is_alphabetic() || first == '_' => {
            rest.trim_start_matches(|character: char| character.is_alphanumeric() || character == '_')
        }
        Some(_) => return false,
    };
    let after = after.trim_start();
    after.is_empty() || after.starts_with(':')
}

/// An object, or a string that holds one: arguments that were encoded twice. The error is what came instead.
fn object(value: Value, mut repairs: Vec<String>) -> Result<Parsed, Value> {
    match value {
        Value::Object(value) => Ok(Parsed { value, repairs, invented: None }),
        Value::String(inner) => match read(&inner, true) {
            Ok(Read::Value(Value::Object(value), more)) => {
                repairs.push("decoded arguments that were encoded twice".to_owned());
                repairs.extend(more);
                Ok(Parsed { value, repairs, invented: None })
            }
            _ => Err(Value::String(inner)),
        },
        other => Err(other),
    }
}

fn no_object(tool: &str, value: &Value) -> ToolError {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    };
    ToolError::new(
        ErrorKind::InvalidArguments,
        format!(
            "The arguments of `{tool}` came as {kind}; expected one JSON object, for example {{\"name\": \"value\"}}."
        ),
    )
}

fn broken(tool: &str, text: &str, error: &serde_json::Error) -> ToolError {
    let at = if error.is_eof() { text.len() } else { offset(text, error.line(), error.column()) };
    let before: String = text[..at].chars().rev().take(EXCERPT_CHARS).collect();
    let before: String = before.chars().rev().collect();
    let after: String = text[at..].chars().take(EXCERPT_CHARS).collect();
    let hint = if error.is_eof() {
        "The text ends in the middle of the JSON; nothing is completed by guessing. Send the whole call again, and if \
         it is long, split it."
    } else {
        "Send the call again as one valid JSON object: names and strings in double quotes, `\\n`, `\\\"` and `\\\\` \
         inside strings."
    };
    let mut failed = ToolError::new(
        ErrorKind::InvalidArguments,
        format!("The arguments of `{tool}` are not valid JSON: {error}, here: {before:?} ⟂ {after:?}. {hint}"),
    );
    failed.data = Some(serde_json::json!({ "line": error.line(), "column": error.column() }));
    failed
}

/// The byte offset of `serde_json`'s 1-based line and column (bytes), moved back to a character boundary.
fn offset(text: &str, line: usize, column: usize) -> usize {
    let start: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let mut at = (start + column.saturating_sub(1)).min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests;
