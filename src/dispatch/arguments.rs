//! The ladder of arguments: from what a model wrote to one JSON object, repaired only where the text can mean but one
//! thing. Pure.

use serde_json::{Map, Value};

use crate::tool::{ErrorKind, ToolError};

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
}

/// Takes an object, or text that holds one. `truncated`: the caller says that the model was cut off; that is never
/// mended, for nobody knows what is missing.
pub(super) fn parse(tool: &str, arguments: Option<&Value>, truncated: bool) -> Result<Parsed, ToolError> {
    if truncated {
        return Err(ToolError::new(
            ErrorKind::Truncated,
            format!(
                "`{tool}` was not run: its arguments were cut off by the output limit, and a fragment is never \
                 completed by guessing. Send the whole call again; if the arguments are long, split the work into \
                 several smaller calls."
            ),
        ));
    }
    match arguments {
        None | Some(Value::Null) => Ok(Parsed::default()),
        Some(Value::Object(fields)) => Ok(Parsed { value: fields.clone(), repairs: Vec::new() }),
        Some(Value::String(text)) => parse_text(tool, text),
        Some(other) => Err(no_object(tool, other)),
    }
}

/// One way to mend a text; `None` when it changes nothing.
type Rung = fn(&str) -> Option<String>;

fn parse_text(tool: &str, text: &str) -> Result<Parsed, ToolError> {
    if text.trim().is_empty() {
        return Ok(Parsed::default());
    }
    let strict = match serde_json::from_str::<Value>(text) {
        Ok(value) => return object(tool, value, Vec::new()),
        Err(error) => error,
    };
    if text.len() > REPAIRED_BYTES {
        return Err(broken(tool, text, &strict));
    }
    let mut repairs = Vec::new();
    let mut mended = text.to_owned();
    let rungs: [(&str, Rung); 3] = [
        ("took the arguments out of a code fence", unfence),
        ("escaped control characters inside strings", escape_controls),
        ("removed trailing commas", drop_trailing_commas),
    ];
    for (repair, rung) in rungs {
        let Some(next) = rung(&mended) else { continue };
        mended = next;
        repairs.push(repair.to_owned());
        if let Ok(value) = serde_json::from_str(&mended) {
            return object(tool, value, repairs);
        }
    }
    Err(broken(tool, text, &strict))
}

/// An object, or a string that holds one: arguments that were encoded twice.
fn object(tool: &str, value: Value, mut repairs: Vec<String>) -> Result<Parsed, ToolError> {
    match value {
        Value::Object(value) => Ok(Parsed { value, repairs }),
        Value::String(inner) => match serde_json::from_str(&inner) {
            Ok(Value::Object(value)) => {
                repairs.push("decoded arguments that were encoded twice".to_owned());
                Ok(Parsed { value, repairs })
            }
            _ => Err(no_object(tool, &Value::String(inner))),
        },
        other => Err(no_object(tool, &other)),
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
    let at = offset(text, error.line(), error.column());
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

/// The inside of a code fence, if the text is one.
fn unfence(text: &str) -> Option<String> {
    let inside = text.trim().strip_prefix("```")?.strip_suffix("```")?;
    let (language, body) = inside.split_once('\n')?;
    language.trim().chars().all(char::is_alphanumeric).then(|| body.trim().to_owned())
}

/// Whether a scan stands inside a JSON string.
#[derive(Default)]
struct Scan {
    inside: bool,
    escaped: bool,
}

impl Scan {
    /// Takes the next character; answers whether it is content of a string (its quotes are not).
    fn step(&mut self, character: char) -> bool {
        if !self.inside {
            self.inside = character == '"';
            return false;
        }
        if self.escaped {
            self.escaped = false;
            return true;
        }
        match character {
            '\\' => self.escaped = true,
            '"' => {
                self.inside = false;
                return false;
            }
            _ => {}
        }
        true
    }
}

/// Control characters inside strings as the escapes that JSON wants; the strings keep their meaning.
fn escape_controls(text: &str) -> Option<String> {
    use std::fmt::Write as _;
    let mut out = String::with_capacity(text.len() + 16);
    let mut scan = Scan::default();
    for character in text.chars() {
        let after_backslash = scan.escaped;
        if !(scan.step(character) && character < ' ') || after_backslash {
            out.push(character);
            continue;
        }
        match character {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            other => {
                let _ = write!(out, "\\u{:04x}", u32::from(other));
            }
        }
    }
    (out != text).then_some(out)
}

/// The text without commas that stand, outside strings, before a closing bracket.
fn drop_trailing_commas(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut scan = Scan::default();
    // Where in `out` a comma stands that follows a value and that only white space has followed so far.
    let mut comma = None;
    let mut before = '{';
    for character in text.chars() {
        let outside = !scan.inside;
        scan.step(character);
        if outside {
            match character {
                ',' => comma = (!matches!(before, '{' | '[' | ',' | ':')).then_some(out.len()),
                '}' | ']' => {
                    if let Some(at) = comma.take() {
                        out.remove(at);
                    }
                }
                _ if character.is_ascii_whitespace() => {}
                _ => comma = None,
            }
            if !character.is_ascii_whitespace() {
                before = character;
            }
        }
        out.push(character);
    }
    (out.len() != text.len()).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use serde_json::json;

    #[test]
    fn what_is_taken() {
        #[track_caller]
        fn check(arguments: &Value, expected: Value, repairs: usize) {
            let parsed = parse("read", Some(arguments), false).unwrap();
            assert_eq!((Value::Object(parsed.value), parsed.repairs.len()), (expected, repairs), "{arguments}");
        }
        check(&json!({"a": 1}), json!({"a": 1}), 0);
        check(&Value::Null, json!({}), 0);
        check(&json!(""), json!({}), 0);
        check(&json!(r#"{"a": "x,}"}"#), json!({"a": "x,}"}), 0);
        check(&json!("```json\n{\"a\": 1}\n```"), json!({"a": 1}), 1);
        check(&json!("```\n{\"a\": \"```\"}\n```"), json!({"a": "```"}), 1);
        check(&json!("{\"a\": \"one\ntwo\t\u{b}\"}"), json!({"a": "one\ntwo\t\u{b}"}), 1);
        check(&json!(r#"{"a": [1, 2 , ], "b": {"c": ",]",} , }"#), json!({"a": [1, 2], "b": {"c": ",]"}}), 1);
        check(&json!(r#"{"a": "q\",}",}"#), json!({"a": "q\",}"}), 1);
        check(&json!("```json\n{\"a\": \"x\ny\",}\n```"), json!({"a": "x\ny"}), 3);
        check(&json!(r#""{\"a\": 1}""#), json!({"a": 1}), 1);
        assert_eq!(parse("read", None, false), Ok(Parsed::default()));
    }

    #[test]
    fn what_is_refused() {
        let mut told = String::new();
        for arguments in [
            json!([1]),
            json!("[1]"),
            json!(r#"{"a": "cut of"#),
            json!(r#"{"a": [1, 2"#),
            json!(r#"{"a": 1}}"#),
            json!("{'a': 1}"),
            json!("{\"a\": \"x\\\ny\"}"),
            json!("{,}"),
            json!("é{"),
            json!("\"just text\""),
        ] {
            let failed = parse("edit", Some(&arguments), false).unwrap_err();
            assert_eq!(failed.kind, ErrorKind::InvalidArguments, "{arguments}");
            told += &failed.message;
            told.push('\n');
        }
        expect![[r#"
            The arguments of `edit` came as an array; expected one JSON object, for example {"name": "value"}.
            The arguments of `edit` came as an array; expected one JSON object, for example {"name": "value"}.
            The arguments of `edit` are not valid JSON: EOF while parsing a string at line 1 column 13, here: "{\"a\": \"cut o" ⟂ "f". The text ends in the middle of the JSON; nothing is completed by guessing. Send the whole call again, and if it is long, split it.
            The arguments of `edit` are not valid JSON: EOF while parsing a list at line 1 column 11, here: "{\"a\": [1, " ⟂ "2". The text ends in the middle of the JSON; nothing is completed by guessing. Send the whole call again, and if it is long, split it.
            The arguments of `edit` are not valid JSON: trailing characters at line 1 column 9, here: "{\"a\": 1}" ⟂ "}". Send the call again as one valid JSON object: names and strings in double quotes, `\n`, `\"` and `\\` inside strings.
            The arguments of `edit` are not valid JSON: key must be a string at line 1 column 2, here: "{" ⟂ "'a': 1}". Send the call again as one valid JSON object: names and strings in double quotes, `\n`, `\"` and `\\` inside strings.
            The arguments of `edit` are not valid JSON: invalid escape at line 2 column 0, here: "{\"a\": \"x\\\n" ⟂ "y\"}". Send the call again as one valid JSON object: names and strings in double quotes, `\n`, `\"` and `\\` inside strings.
            The arguments of `edit` are not valid JSON: key must be a string at line 1 column 2, here: "{" ⟂ ",}". Send the call again as one valid JSON object: names and strings in double quotes, `\n`, `\"` and `\\` inside strings.
            The arguments of `edit` are not valid JSON: expected value at line 1 column 1, here: "" ⟂ "é{". Send the call again as one valid JSON object: names and strings in double quotes, `\n`, `\"` and `\\` inside strings.
            The arguments of `edit` came as a string; expected one JSON object, for example {"name": "value"}.
        "#]].assert_eq(&told);
    }

    #[test]
    fn what_was_cut_off_is_refused_even_if_it_parses() {
        for arguments in [json!({"a": 1}), json!(r#"{"a": 1}"#), json!(r#"{"a": "#)] {
            let failed = parse("write", Some(&arguments), true).unwrap_err();
            assert_eq!(failed.kind, ErrorKind::Truncated);
        }
    }

    #[test]
    fn megabytes_are_parsed_and_not_repaired() {
        let long = "x".repeat(REPAIRED_BYTES);
        assert!(parse("write", Some(&json!(format!("{{\"a\": \"{long}\"}}"))), false).is_ok());
        assert!(parse("write", Some(&json!(format!("{{\"a\": \"{long}\",}}"))), false).is_err());
    }
}
