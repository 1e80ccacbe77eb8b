//! `Location`, lists of them, and `LocationLink`s. Pure.

use serde_json::Value;

use super::fields;
use crate::text::Range;

/// A place in some file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Location {
    /// The file, as the server spells it.
    pub uri: String,
    /// Where, as the server counts.
    pub range: Range,
}

/// Places in whatever form they come; what is none is left out.
pub(super) fn locations(answer: &Value) -> Vec<Location> {
    match answer {
        Value::Array(several) => several.iter().filter_map(location).collect(),
        one => location(one).into_iter().collect(),
    }
}

/// One place: of a link, that of the name in what it leads to.
pub(super) fn location(value: &Value) -> Option<Location> {
    let link = value.get("targetUri").and_then(Value::as_str);
    let uri = link.or_else(|| value.get("uri").and_then(Value::as_str))?.to_owned();
    let names = if link.is_some() { ["targetSelectionRange", "targetRange"] } else { ["range", "range"] };
    let range = names.iter().find_map(|name| fields::range(value.get(name)?))?;
    Some(Location { uri, range })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_form() {
        fn check(answer: &Value, expected: &[(&str, u32)]) {
            let found = locations(answer);
            let found: Vec<(&str, u32)> =
                found.iter().map(|place| (place.uri.as_str(), place.range.start.line)).collect();
            assert_eq!(found, expected, "{answer}");
        }
        let range =
            |line: u32| json!({ "start": { "line": line, "character": 0 }, "end": { "line": line, "character": 3 } });
        let plain = json!({ "uri": "file:///a", "range": range(1) });
        let link = json!({ "targetUri": "file:///b", "targetRange": range(2), "targetSelectionRange": range(3) });
        check(&plain, &[("file:///a", 1)]);
        check(&json!([plain, plain]), &[("file:///a", 1), ("file:///a", 1)]);
        check(&json!([link]), &[("file:///b", 3)]);
        check(&json!({ "targetUri": "file:///b", "targetRange": range(2) }), &[("file:///b", 2)]);
        check(&json!([plain, 7, { "uri": "file:///c" }, null]), &[("file:///a", 1)]);
        let reversed = json!({ "start": { "line": 2, "character": 0 }, "end": { "line": 1, "character": 0 } });
        check(&json!({ "uri": "file:///a", "range": reversed }), &[]);
        check(&Value::Null, &[]);
        check(&json!([]), &[]);
    }
}
