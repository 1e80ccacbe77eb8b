//! The rungs of the ladder: each mends one kind of fault in a text that should be JSON, and says `None` where there is
//! nothing of its kind. Pure.

use super::scan::Scan;

/// The inside of a code fence, if the text is one.
pub(super) fn unfence(text: &str) -> Option<String> {
    let inside = text.trim().strip_prefix("```")?.strip_suffix("```")?;
    let (language, body) = inside.split_once('\n')?;
    language.trim().chars().all(char::is_alphanumeric).then(|| body.trim().to_owned())
}

/// Control characters inside strings as the escapes that JSON wants; the strings keep their meaning.
pub(super) fn escape_controls(text: &str) -> Option<String> {
    use std::fmt::Write as _;
    let mut out = String::with_capacity(text.len() + 16);
    let mut scan = Scan::default();
    for character in text.chars() {
        let after_backslash = scan.inside_escape();
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
pub(super) fn drop_trailing_commas(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut scan = Scan::default();
    // Where in `out` a comma stands that follows a value and that only white space has followed so far.
    let mut comma = None;
    let mut before = '{';
    for character in text.chars() {
        let outside = !scan.inside();
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

/// A text whose brackets and strings match, and what was invented for that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Balanced {
    /// The text.
    pub text: String,
    /// What was closed or left out, in words.
    pub invented: Vec<String>,
}

/// Closes what the end of the text leaves open, innermost first, and leaves out closers of what is not open. Nothing
/// can be said of a text that ends inside an escape, for half of a character means nothing.
pub(super) fn balance(text: &str) -> Option<Balanced> {
    let mut out = String::with_capacity(text.len() + 8);
    let mut scan = Scan::default();
    let mut open: Vec<char> = Vec::new();
    let mut surplus = 0_usize;
    for character in text.chars() {
        let outside = !scan.inside();
        scan.step(character);
        if outside {
            match character {
                '{' => open.push('}'),
                '[' => open.push(']'),
                '}' | ']' if open.last() == Some(&character) => {
                    open.pop();
                }
                '}' | ']' => {
                    surplus += 1;
                    continue;
                }
                _ => {}
            }
        }
        out.push(character);
    }
    if scan.inside_escape() {
        return None;
    }
    let mut invented = Vec::new();
    if surplus > 0 {
        invented.push(format!("left out {surplus} closing bracket{} too many", if surplus == 1 { "" } else { "s" }));
    }
    let mut closed: Vec<&str> = Vec::new();
    if scan.inside() {
        out.push('"');
        closed.push("a string");
    }
    for closer in open.iter().rev() {
        out.push(*closer);
        closed.push(if *closer == ']' { "an array" } else { "an object" });
    }
    if !closed.is_empty() {
        invented.push(format!("closed what the text left open: {}", closed.join(", ")));
    }
    (!invented.is_empty()).then_some(Balanced { text: out, invented })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_open_is_closed_from_the_inside() {
        #[track_caller]
        fn check(text: &str, expected: Option<&str>) {
            assert_eq!(balance(text).map(|balanced| balanced.text).as_deref(), expected, "{text}");
        }
        check(r#"{"a": 1}"#, None);
        check(r#"{"a": [{"b": "c"#, Some(r#"{"a": [{"b": "c"}]}"#));
        check(r#"{"a": "[{"#, Some(r#"{"a": "[{"}"#));
        check(r#"{"a": "\\"#, Some(r#"{"a": "\\"}"#));
        check(r#"{"a": "\"#, None);
        check(r#"{"a": "\u12"#, None);
        check(r#"{"a": "\u1234"#, Some(r#"{"a": "\u1234"}"#));
        check(r#"{"a": "\ud83d"#, None);
        check(r#"{"a": "\ud83d\ude00"#, Some(r#"{"a": "\ud83d\ude00"}"#));
        check(r#"{"a": 1}}"#, Some(r#"{"a": 1}"#));
        check(r#"{"a": [1}"#, Some(r#"{"a": [1]}"#));
        check(r#"{"a": "}]"}]}"#, Some(r#"{"a": "}]"}"#));
        check("plain", None);
        check("", None);
    }
}
