//! The call hierarchy. Pure.

use serde_json::Value;

use super::Direction;
use super::fields;
use super::places::Location;
use crate::text::Range;

/// Something that calls or is called.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// Its name.
    pub name: String,
    /// What it is, in words.
    pub kind: &'static str,
    /// More of it.
    pub detail: Option<String>,
    /// Where its name is.
    pub place: Location,
    raw: Value,
}

impl Item {
    /// As it came, to be asked about.
    pub(super) fn raw(&self) -> &Value {
        &self.raw
    }
}

/// One that calls, or is called, and where.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The other end.
    pub item: Item,
    /// Where the calls are: of an incoming call, in the file of `item`; of an outgoing one, in the file that was asked about.
    pub sites: Vec<Range>,
}

/// `CallHierarchyItem[]`
pub(super) fn items(answer: &Value) -> Vec<Item> {
    answer.as_array().into_iter().flatten().filter_map(item).collect()
}

fn item(value: &Value) -> Option<Item> {
    let uri = value.get("uri")?.as_str()?.to_owned();
    let range = ["selectionRange", "range"].iter().find_map(|name| fields::range(value.get(name)?))?;
    Some(Item {
        name: fields::text(value.get("name")?)?,
        kind: fields::kind(&value["kind"]),
        detail: value.get("detail").and_then(fields::text),
        place: Location { uri, range },
        raw: value.clone(),
    })
}

/// `CallHierarchyIncomingCall[]` or `CallHierarchyOutgoingCall[]`
pub(super) fn calls(answer: &Value, direction: Direction) -> Vec<Call> {
    let end = match direction {
        Direction::Incoming => "from",
        Direction::Outgoing => "to",
    };
    let call = |value: &Value| {
        let item = item(value.get(end)?)?;
        let sites = value["fromRanges"].as_array().into_iter().flatten().filter_map(fields::range).collect();
        Some(Call { item, sites })
    };
    answer.as_array().into_iter().flatten().filter_map(call).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn both_ways() {
        let range =
            |line: u32| json!({ "start": { "line": line, "character": 0 }, "end": { "line": line, "character": 3 } });
        let item = |name: &str| {
            json!({ "name": name, "kind": 12, "uri": "file:///a", "range": range(0), "selectionRange": range(1),
                "data": { "id": 1 } })
        };
        let found = items(&json!([item("f"), { "name": "no place" }, null]));
        assert_eq!((found.len(), found[0].name.as_str(), found[0].place.range.start.line), (1, "f", 1));
        assert_eq!(found[0].raw()["data"]["id"], 1);
        let incoming = calls(&json!([{ "from": item("g"), "fromRanges": [range(4), 7] }]), Direction::Incoming);
        assert_eq!((incoming[0].item.name.as_str(), incoming[0].sites.len()), ("g", 1));
        let outgoing = calls(&json!([{ "to": item("h") }, { "from": item("x") }]), Direction::Outgoing);
        assert_eq!((outgoing.len(), outgoing[0].sites.len()), (1, 0));
        assert_eq!(calls(&Value::Null, Direction::Incoming), []);
    }
}
