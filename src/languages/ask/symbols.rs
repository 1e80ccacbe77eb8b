//! What a document or a project defines: nested `DocumentSymbol`s, flat `SymbolInformation`, `WorkspaceSymbol`. Pure.

use serde_json::Value;

use super::fields;
use super::places::{Location, location};
use crate::text::{Position, Range};

/// Symbols nested deeper than this are left out: no text is meant that way.
const DEEPEST: usize = 64;

/// Something that has a name.
#[derive(Debug, Clone, PartialEq)]
pub struct Symbol {
    /// Its name.
    pub name: String,
    /// What it is, in words.
    pub kind: &'static str,
    /// More of it, for instance a signature.
    pub detail: Option<String>,
    /// What it is in, by name.
    pub container: Option<String>,
    /// How many symbols are round it.
    pub depth: usize,
    /// Where its name is (of one that came flat: where it begins). The URI is empty in the document that was asked about.
    pub place: Location,
    /// All of it.
    pub whole: Range,
    raw: Value,
}

impl Symbol {
    /// Whether it is not known where in its file it is.
    pub(super) fn unplaced(&self) -> bool {
        !self.raw.is_null()
    }

    /// As it came, to be asked about.
    pub(super) fn raw(&self) -> &Value {
        &self.raw
    }
}

/// The symbols of a document, nested or flat, in the order of the text.
pub(super) fn of_document(answer: &Value) -> Vec<Symbol> {
    let mut symbols = Vec::new();
    for item in answer.as_array().into_iter().flatten() {
        if item.get("location").is_some() {
            symbols.extend(one(item));
        } else {
            nested(item, None, 0, &mut symbols);
        }
    }
    // Flat ones come in any order; nested ones stay in theirs, which the sort keeps.
    symbols.sort_by_key(|symbol: &Symbol| (symbol.whole.start, std::cmp::Reverse(symbol.whole.end)));
    symbols
}

/// The symbols of a project, in the server's order.
pub(super) fn of_workspace(answer: &Value) -> Vec<Symbol> {
    answer.as_array().into_iter().flatten().filter_map(one).collect()
}

/// A `SymbolInformation` or `WorkspaceSymbol`.
pub(super) fn one(item: &Value) -> Option<Symbol> {
    let name = fields::text(item.get("name")?)?;
    let at = item.get("location")?;
    let (place, raw) = if let Some(place) = location(at) {
        (place, Value::Null)
    } else {
        let start = Position::default();
        let uri = at.get("uri")?.as_str()?.to_owned();
        (Location { uri, range: Range { start, end: start } }, item.clone())
    };
    Some(Symbol {
        name,
        kind: fields::kind(&item["kind"]),
        detail: None,
        container: item.get("containerName").and_then(fields::text),
        depth: 0,
        whole: place.range,
        place,
        raw,
    })
}

fn nested(item: &Value, container: Option<&str>, depth: usize, symbols: &mut Vec<Symbol>) {
    let Some(name) = item.get("name").and_then(fields::text) else { return };
    let whole = item.get("range").and_then(fields::range);
    let range = item.get("selectionRange").and_then(fields::range).or(whole);
    if let Some(range) = range {
        symbols.push(Symbol {
            name: name.clone(),
            kind: fields::kind(&item["kind"]),
            detail: item.get("detail").and_then(fields::text),
            container: container.map(str::to_owned),
            depth,
            place: Location { uri: String::new(), range },
            whole: whole.unwrap_or(range),
            raw: Value::Null,
        });
    }
    if depth < DEEPEST {
        for child in item["children"].as_array().into_iter().flatten() {
            nested(child, Some(&name), depth + 1, symbols);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn range(from: u32, to: u32) -> Value {
        json!({ "start": { "line": from, "character": 0 }, "end": { "line": to, "character": 1 } })
    }

    fn told(symbols: &[Symbol]) -> Vec<String> {
        let told = |symbol: &Symbol| {
            let container = symbol.container.as_deref().unwrap_or("-");
            let at = symbol.place.range.start.line;
            format!("{}{} {} in {container} at {at}", "  ".repeat(symbol.depth), symbol.kind, symbol.name)
        };
        symbols.iter().map(told).collect()
    }

    #[test]
    fn nested_ones() {
        let answer = json!([
            { "name": "A", "kind": 5, "range": range(0, 9), "selectionRange": range(1, 1), "children": [
                { "name": "f", "kind": 6, "detail": "()", "range": range(2, 4), "selectionRange": range(2, 2) },
                { "kind": 6 },
            ] },
            { "name": "g", "kind": 12, "range": range(10, 11), "selectionRange": range(10, 10) },
        ]);
        let found = of_document(&answer);
        assert_eq!(told(&found), ["class A in - at 1", "  method f in A at 2", "function g in - at 10"]);
        assert_eq!(found[1].detail.as_deref(), Some("()"));
    }

    #[test]
    fn flat_ones_come_in_the_order_of_the_text() {
        let flat = |name: &str, line: u32| {
            json!({ "name": name, "kind": 99, "containerName": "C",
                "location": { "uri": "file:///a", "range": range(line, line) } })
        };
        let found = of_document(&json!([flat("z", 7), flat("a", 3), 4, { "name": "no place", "kind": 1 }]));
        assert_eq!(told(&found), ["symbol a in C at 3", "symbol z in C at 7"]);
        assert_eq!(of_document(&Value::Null), []);
    }

    #[test]
    fn of_a_project_some_have_no_place_yet() {
        let found = of_workspace(&json!([
            { "name": "a", "kind": 12, "location": { "uri": "file:///a" }, "data": 1 },
            { "name": "b", "kind": 12, "location": { "uri": "file:///b", "range": range(2, 2) } },
            { "name": "", "kind": 12, "location": { "uri": "file:///b", "range": range(2, 2) } },
        ]));
        assert_eq!(told(&found), ["function a in - at 0", "function b in - at 2"]);
        assert!(found[0].unplaced() && !found[1].unplaced());
        assert_eq!(found[0].raw()["data"], 1);
    }
}
