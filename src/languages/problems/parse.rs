//! LSP diagnostics from JSON, one by one: servers and editors send odd ones, and one odd one must not cost the rest.

use serde_json::{Map, Value};

use super::RawProblem;
use super::message::{MESSAGE_LIMIT, clean, clean_name};
use crate::languages::verdict::Severity;
use crate::text::{Position, Range};

/// At most so many remarks are made one by one; the rest are counted in one more.
const REMARK_LIMIT: usize = 5;

/// How much of a thing that is no diagnostic a remark shows, in characters.
const REMARK_EXCERPT: usize = 80;

/// What a list of diagnostics held.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Parsed {
    /// The diagnostics, in their order, mended where necessary.
    pub problems: Vec<RawProblem>,
    /// How many were no diagnostics at all: nobody knows how bad those are.
    pub unread: usize,
    /// For the operator: what they were, a few words each.
    pub remarks: Vec<String>,
}

/// Reads diagnostics. What is odd in one is mended:
///
/// - no severity, or an unknown one: an error, so that nothing is hidden;
/// - a position's number that is negative, fractional, huge, text or absent: the nearest whole number the wire allows, 0
///   if there is none; no range: the beginning of the text; no end: the start; a reversed range: turned round;
/// - a code or source that is a number, an object with a `value`, or something else: as text;
/// - a message that is no text: its `value` (marked-up content), else as JSON; none: the code, or words that say so.
///
/// What nobody needs (`codeDescription`, `tags`, `data`, `relatedInformation`) is not looked at, so it cannot be wrong.
/// Only what is no object is hopeless, counted in [`Parsed::unread`] and told in [`Parsed::remarks`].
pub fn parse(diagnostics: &[Value]) -> Parsed {
    let mut parsed = Parsed::default();
    for (index, value) in diagnostics.iter().enumerate() {
        if let Value::Object(fields) = value {
            parsed.problems.push(problem(fields));
        } else {
            parsed.unread += 1;
            if parsed.unread <= REMARK_LIMIT {
                let (at, of) = (index + 1, diagnostics.len());
                let excerpt = clean(&value.to_string(), REMARK_EXCERPT);
                parsed.remarks.push(format!("diagnostic {at} of {of} is no object and was left out: {excerpt}"));
            }
        }
    }
    if parsed.unread > REMARK_LIMIT {
        parsed.remarks.push(format!("{} more are no objects and were left out", parsed.unread - REMARK_LIMIT));
    }
    parsed
}

fn problem(fields: &Map<String, Value>) -> RawProblem {
    let code = fields.get("code").and_then(name);
    RawProblem {
        range: range(fields.get("range")),
        severity: severity(fields.get("severity")),
        source: fields.get("source").and_then(name),
        message: message(fields.get("message"), code.as_deref()),
        code,
    }
}

fn severity(value: Option<&Value>) -> Severity {
    let number = match value {
        Some(Value::String(text)) => match text.trim().to_ascii_lowercase().as_str() {
            "warning" | "warn" => Some(2),
            "information" | "info" => Some(3),
            "hint" => Some(4),
            other => other.parse().ok(),
        },
        other => other.and_then(Value::as_f64).map(whole),
    };
    match number {
        Some(2) => Severity::Warning,
        Some(3) => Severity::Information,
        Some(4) => Severity::Hint,
        _ => Severity::Error,
    }
}

fn range(value: Option<&Value>) -> Range {
    let part = |name: &str| value.and_then(|range| range.get(name)).map(position);
    let start = part("start").unwrap_or_default();
    let end = part("end").unwrap_or(start);
    Range { start: start.min(end), end: start.max(end) }
}

fn position(value: &Value) -> Position {
    Position { line: count(value.get("line")), character: count(value.get("character")) }
}

fn count(value: Option<&Value>) -> u32 {
    match value {
        Some(Value::String(text)) => text.trim().parse().map_or(0, whole),
        Some(number) => number.as_f64().map_or(0, whole),
        None => 0,
    }
}

/// The nearest number the wire allows at or below a number.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates, which is the point")]
fn whole(number: f64) -> u32 {
    number as u32
}

/// A code or a source as text.
fn name(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => clean_name(text),
        Value::Number(number) => match number.as_f64() {
            // Some encoders write every number as a fraction, and 2304.0 is the code 2304.
            Some(float) if number.is_f64() && float.fract() == 0.0 => clean_name(&format!("{float:.0}")),
            _ => clean_name(&number.to_string()),
        },
        Value::Object(fields) if fields.contains_key("value") => match &fields["value"] {
            // Not looked into any further: JSON can be nested deeper than a stack.
            Value::Object(_) | Value::Array(_) => clean_name(&value.to_string()),
            plain => name(plain),
        },
        other => clean_name(&other.to_string()),
    }
}

fn message(value: Option<&Value>, code: Option<&str>) -> String {
    let text = match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => clean(text, MESSAGE_LIMIT),
        Some(other) => match other.get("value") {
            Some(Value::String(text)) => clean(text, MESSAGE_LIMIT),
            _ => clean(&other.to_string(), MESSAGE_LIMIT),
        },
    };
    match (text.trim().is_empty(), code) {
        (false, _) => text,
        (true, Some(code)) => format!("(no message; code {code})"),
        (true, None) => "(no message)".to_owned(),
    }
}

#[cfg(test)]
mod tests;
