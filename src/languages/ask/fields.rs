//! The protocol's smallest pieces, read from JSON of any shape.

use serde_json::Value;

use crate::text::{Position, Range};

/// A number that fits; beyond what fits counts as the end.
fn number(value: &Value) -> Option<u32> {
    value.as_u64().map(|number| u32::try_from(number).unwrap_or(u32::MAX))
}

/// `Position`
pub(super) fn position(value: &Value) -> Option<Position> {
    Some(Position { line: number(value.get("line")?)?, character: number(value.get("character")?)? })
}

/// `Range`; a reversed one is none.
pub(super) fn range(value: &Value) -> Option<Range> {
    let range = Range { start: position(value.get("start")?)?, end: position(value.get("end")?)? };
    (range.start <= range.end).then_some(range)
}

/// A text that is there and says something.
pub(super) fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned)
}

/// `SymbolKind` in words.
pub(super) fn kind(value: &Value) -> &'static str {
    const KINDS: [&str; 26] = [
        "file",
        "module",
        "namespace",
        "package",
        "class",
        "method",
        "property",
        "field",
        "constructor",
        "enum",
        "interface",
        "function",
        "variable",
        "constant",
        "string",
        "number",
        "boolean",
        "array",
        "object",
        "key",
        "null",
        "enum member",
        "struct",
        "event",
        "operator",
        "type parameter",
    ];
    let at = value.as_u64().and_then(|kind| usize::try_from(kind).ok()?.checked_sub(1));
    at.and_then(|at| KINDS.get(at)).copied().unwrap_or("symbol")
}
