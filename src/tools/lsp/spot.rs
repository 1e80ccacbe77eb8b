//! From a line and a piece of text, a column or a name to the byte that is meant. Pure.

use crate::text::Text;
use crate::tool::{ErrorKind, ToolError};

use super::Arguments;

/// At most so many places are named in a message.
const NAMED: usize = 10;

/// A place, or the places a name may mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Spot {
    /// This byte.
    At(usize),
    /// The file has the name at these bytes; which of them is meant may be known by what the file defines.
    Several(Vec<usize>),
}

/// The place that the arguments name in a text.
pub(super) fn spot(text: &Text, arguments: &Arguments, shown: &str) -> Result<Spot, ToolError> {
    let said =
        |text: &Option<String>| text.as_deref().map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned);
    let (piece, symbol) = (said(&arguments.text), said(&arguments.symbol));
    let Some(line) = arguments.line else {
        let wanted = symbol.as_ref().or(piece.as_ref());
        let Some(wanted) = wanted else { return Err(wrong("No place was given: give `line` and `text`.".to_owned())) };
        let found = occurrences(&text.to_string(), wanted, symbol.is_some());
        return match (found.len(), arguments.occurrence) {
            (0, _) => Err(ToolError::new(
                ErrorKind::NotFound,
                format!("{shown} does not have {wanted:?}. Look for it with `grep`, or give `line` and `text`."),
            )),
            (1, None) => Ok(Spot::At(found[0])),
            (count, Some(which)) => found.get(which.saturating_sub(1)).map(|at| Spot::At(*at)).ok_or_else(|| {
                let times = if count == 1 { "once".to_owned() } else { format!("{count} times") };
                wrong(format!("{shown} has {wanted:?} {times}; there is no occurrence {which}."))
            }),
            (_, None) if symbol.is_some() => Ok(Spot::Several(found)),
            (_, None) => Err(ambiguous(text, wanted, &found, shown)),
        };
    };
    let lines = text.line_count();
    if line == 0 || line > lines {
        return Err(wrong(format!("{shown} has {lines} lines; there is no line {line}.")));
    }
    let start = text.line_start(line - 1);
    let content = text.line(line - 1);
    if let Some(wanted) = piece.as_ref().or(symbol.as_ref()) {
        let found = occurrences(&content, wanted, piece.is_none());
        return match (found.as_slice(), arguments.occurrence) {
            ([], _) => Err(elsewhere(text, line, wanted, piece.is_none(), shown)),
            ([only], None | Some(1)) => Ok(Spot::At(start + only)),
            (several, Some(which)) => {
                several.get(which.saturating_sub(1)).map(|at| Spot::At(start + at)).ok_or_else(|| {
                    wrong(format!(
                        "Line {line} of {shown} has {wanted:?} {} times; there is no occurrence {which}.",
                        several.len()
                    ))
                })
            }
            (several, None) => {
                let columns: Vec<String> =
                    several.iter().map(|at| (content[..*at].chars().count() + 1).to_string()).collect();
                Err(ToolError::new(
                    ErrorKind::Ambiguous,
                    format!(
                        "Line {line} of {shown} has {wanted:?} {} times, at columns {}: give `occurrence`, or a longer \
                         `text`.",
                        several.len(),
                        columns.join(", ")
                    ),
                ))
            }
        };
    }
    let Some(column) = arguments.column else {
        return Err(wrong(format!(
            "Only `line` was given; line {line} of {shown} is {:?}. Give `text`, a piece of it that begins with what is \
             meant, or `column`.",
            content.trim()
        )));
    };
    let count = content.chars().count();
    if column == 0 || column > count + 1 {
        return Err(wrong(format!("Line {line} of {shown} has {count} characters; there is no column {column}.")));
    }
    let before: usize = content.chars().take(column - 1).map(char::len_utf8).sum();
    Ok(Spot::At(start + before))
}

/// Where a text has a piece, in bytes; a word only where it is one.
fn occurrences(text: &str, piece: &str, word: bool) -> Vec<usize> {
    let part = |char: char| char.is_alphanumeric() || char == '_' || char == '$';
    let (first, last) = (piece.starts_with(part), piece.ends_with(part));
    let fits = |at: &usize| {
        let (before, after) = (text[..*at].chars().next_back(), text[at + piece.len()..].chars().next());
        !word || !(first && before.is_some_and(part) || last && after.is_some_and(part))
    };
    text.match_indices(piece).map(|(at, _)| at).filter(fits).collect()
}

/// A name that a file has in several places.
pub(super) fn ambiguous(text: &Text, wanted: &str, found: &[usize], shown: &str) -> ToolError {
    ToolError::new(
        ErrorKind::Ambiguous,
        format!(
            "{shown} has {wanted:?} {} times, on lines {}: give `line` and `text` of the one you mean.",
            found.len(),
            numbers(text, found)
        ),
    )
}

fn elsewhere(text: &Text, line: usize, wanted: &str, word: bool, shown: &str) -> ToolError {
    let found = occurrences(&text.to_string(), wanted, word);
    let where_else = if found.is_empty() {
        format!("{shown} does not have it at all")
    } else {
        format!("it is on lines {}", numbers(text, &found))
    };
    ToolError::new(
        ErrorKind::NotFound,
        format!(
            "Line {line} of {shown} does not have {wanted:?}; it is {:?}. {where_else}.",
            text.line(line - 1).trim()
        ),
    )
}

fn numbers(text: &Text, found: &[usize]) -> String {
    let mut lines: Vec<usize> = found.iter().map(|at| text.line_of(*at) + 1).collect();
    lines.dedup();
    let more = lines.len().saturating_sub(NAMED);
    let named: Vec<String> = lines.iter().take(NAMED).map(ToString::to_string).collect();
    if more > 0 { format!("{} and {more} more", named.join(", ")) } else { named.join(", ") }
}

fn wrong(message: String) -> ToolError {
    ToolError::new(ErrorKind::InvalidArguments, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::LineBreaks;
    use serde_json::{Value, json};

    const TEXT: &str = "let a = b(a);\n\tlet é = \"ab\"; a2 = é\nlast a\n";

    fn found(mut given: Value) -> Result<Spot, ToolError> {
        given["operation"] = json!("hover");
        let arguments = serde_json::from_value(given).unwrap();
        spot(&Text::new(TEXT, LineBreaks::Lf), &arguments, "f")
    }

    #[test]
    fn places() {
        #[expect(clippy::needless_pass_by_value, reason = "reads as a table")]
        fn check(given: Value, expected: &str) {
            let told = match found(given.clone()) {
                Ok(Spot::At(at)) => TEXT[at..].chars().take(6).collect(),
                Ok(Spot::Several(several)) => format!("{several:?}"),
                Err(error) => error.message,
            };
            assert_eq!(told, expected, "{given}");
        }
        check(json!({ "line": 1, "text": "b(" }), "b(a);\n");
        check(json!({ "line": 1, "text": " a)" }), "a);\n\tl");
        check(json!({ "line": 1, "symbol": "a", "occurrence": 2 }), "a);\n\tl");
        check(
            json!({ "line": 1, "symbol": "a" }),
            "Line 1 of f has \"a\" 2 times, at columns 5, 11: give `occurrence`, or a longer `text`.",
        );
        check(json!({ "line": 2, "column": 6 }), "é = \"a");
        check(json!({ "line": 2, "column": 19 }), "= é\nla");
        check(json!({ "line": 2, "column": 90 }), "Line 2 of f has 21 characters; there is no column 90.");
        check(json!({ "line": 9, "column": 1 }), "f has 4 lines; there is no line 9.");
        check(json!({ "symbol": "a2" }), "a2 = é");
        check(json!({ "symbol": "a" }), "[4, 10, 43]");
        check(json!({ "symbol": "a", "occurrence": 3 }), "a\n");
        check(json!({ "symbol": "ab" }), "ab\"; a");
        check(json!({ "symbol": "ab", "occurrence": 1 }), "ab\"; a");
        check(json!({ "symbol": "ab", "occurrence": 2 }), "f has \"ab\" once; there is no occurrence 2.");
        check(json!({ "text": "b(a" }), "b(a);\n");
        check(json!({ "symbol": "zz" }), "f does not have \"zz\". Look for it with `grep`, or give `line` and `text`.");
        check(
            json!({ "line": 3, "text": "b(" }),
            "Line 3 of f does not have \"b(\"; it is \"last a\". it is on lines 1.",
        );
        check(
            json!({ "text": "a" }),
            "f has \"a\" 6 times, on lines 1, 2, 3: give `line` and `text` of the one you mean.",
        );
    }
}
