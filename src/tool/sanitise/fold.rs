//! Forms that say in a roundabout way what can be said plainly: a union with null, a choice of one. Each is changed only
//! where exactly the same values fit afterwards.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::walk::UNEVALUATED;

/// Keywords that no value can break.
pub(super) const ANNOTATIONS: &[&str] =
    &["$comment", "default", "deprecated", "description", "examples", "readOnly", "title", "writeOnly"];

/// Keywords that mean something only together: what is on one side must not be torn apart by the other.
const TOGETHER: &[&[&str]] = &[
    &["properties", "patternProperties", "additionalProperties"],
    &["prefixItems", "items"],
    &["contains", "minContains", "maxContains"],
    &["if", "then", "else"],
];

/// Keywords that constrain values of one type and let every other pass, null among them.
const GUARDED: &[&str] = &[
    "additionalProperties",
    "contains",
    "dependentRequired",
    "dependentSchemas",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "items",
    "maxContains",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minContains",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "pattern",
    "patternProperties",
    "prefixItems",
    "properties",
    "propertyNames",
    "required",
    "uniqueItems",
];

/// The types, in the order in which several are named.
const KINDS: &[&str] = &["string", "integer", "number", "boolean", "array", "object", "null"];

/// Folds what can be folded.
pub(super) fn fold(out: &mut Map<String, Value>) {
    if let Some(Value::Array(kinds)) = out.get("type")
        && let [only] = kinds.as_slice()
    {
        let only = only.clone();
        out.insert("type".to_owned(), only);
    }
    while ["allOf", "anyOf", "oneOf"].iter().any(|key| fold_one(out, key)) {}
}

fn fold_one(out: &mut Map<String, Value>, key: &str) -> bool {
    let Some(Value::Array(members)) = out.get(key) else { return false };
    let member = match members.as_slice() {
        [Value::Bool(true)] => Map::new(),
        [Value::Object(only)] => only.clone(),
        [one, other] if key != "allOf" => {
            let (null, other) = if is_null(one) { (one, other) } else { (other, one) };
            let (true, Value::Object(other)) = (is_null(null), other) else { return false };
            let Some(widened) = or_null(other, key == "oneOf") else { return false };
            widened
        }
        _ => return false,
    };
    let mut rest = out.clone();
    rest.shift_remove(key);
    let Some(merged) = merge(&rest, &member) else { return false };
    *out = merged;
    true
}

/// Whether a part takes null and nothing else.
fn is_null(part: &Value) -> bool {
    let Value::Object(fields) = part else { return false };
    let kind = |key: &String| !ANNOTATIONS.contains(&key.as_str());
    let mut said = fields.iter().filter(|(key, _)| kind(key));
    match (said.next(), said.next()) {
        (Some((key, value)), None) => match key.as_str() {
            "type" => value == "null" || *value == serde_json::json!(["null"]),
            "const" => value.is_null(),
            "enum" => *value == serde_json::json!([null]),
            _ => false,
        },
        (Some((one, first)), Some((other, second))) => {
            let both = [(one.as_str(), first), (other.as_str(), second)];
            said.next().is_none()
                && both.contains(&("type", &Value::from("null")))
                && (both.contains(&("const", &Value::Null)) || both.contains(&("enum", &serde_json::json!([null]))))
        }
        _ => false,
    }
}

/// A part that takes null besides; `None` where that cannot be said plainly. `exclusive`: null must not fit already.
fn or_null(part: &Map<String, Value>, exclusive: bool) -> Option<Map<String, Value>> {
    let plain = |key: &String| {
        let key = key.as_str();
        matches!(key, "type" | "enum" | "const") || GUARDED.contains(&key) || ANNOTATIONS.contains(&key)
    };
    if !part.keys().all(plain) {
        return None;
    }
    let mut kinds = match part.get("type")? {
        Value::String(kind) => vec![Value::from(kind.as_str())],
        Value::Array(kinds) => kinds.clone(),
        _ => return None,
    };
    if kinds.iter().any(|kind| kind == "null") {
        if exclusive {
            return None;
        }
    } else {
        kinds.push("null".into());
    }
    let mut out = part.clone();
    out.insert("type".to_owned(), Value::Array(kinds));
    let mut options = match (part.get("const"), part.get("enum")) {
        (None, None) => return Some(out),
        (Some(constant), None) => vec![constant.clone()],
        (None, Some(Value::Array(options))) => options.clone(),
        _ => return None,
    };
    if !options.contains(&Value::Null) {
        options.push(Value::Null);
    }
    out.shift_remove("const");
    out.insert("enum".to_owned(), Value::Array(options));
    Some(out)
}

/// Both parts in one, if one can say what both say.
pub(super) fn merge(outer: &Map<String, Value>, inner: &Map<String, Value>) -> Option<Map<String, Value>> {
    if UNEVALUATED.iter().any(|key| outer.contains_key(*key) || inner.contains_key(*key)) {
        return None;
    }
    let has = |fields: &Map<String, Value>, group: &[&str]| group.iter().any(|key| fields.contains_key(*key));
    let same = |group: &[&str]| group.iter().all(|key| outer.get(*key) == inner.get(*key));
    let plain = |fields: &Map<String, Value>| !has(fields, &["patternProperties", "additionalProperties"]);
    for group in TOGETHER {
        let apart = !has(outer, group) || !has(inner, group) || same(group);
        if !(apart || group.contains(&"properties") && plain(outer) && plain(inner)) {
            return None;
        }
    }
    let mut out = outer.clone();
    for (key, value) in inner {
        let Some(there) = out.get_mut(key) else {
            out.insert(key.clone(), value.clone());
            continue;
        };
        if there == value {
            continue;
        }
        match (key.as_str(), there, value) {
            ("description", Value::String(there), Value::String(more)) => {
                if !there.contains(more.as_str()) {
                    there.push('\n');
                    there.push_str(more);
                }
            }
            (annotation, _, _) if ANNOTATIONS.contains(&annotation) => {}
            ("required", Value::Array(there), Value::Array(more)) => {
                let new: Vec<Value> = more.iter().filter(|name| !there.contains(name)).cloned().collect();
                there.extend(new);
            }
            ("allOf", Value::Array(there), Value::Array(more)) => there.extend(more.iter().cloned()),
            ("properties", Value::Object(there), Value::Object(more)) => {
                for (name, part) in more {
                    if there.get(name).is_some_and(|there| there != part) {
                        return None;
                    }
                    there.insert(name.clone(), part.clone());
                }
            }
            _ => return None,
        }
    }
    Some(out)
}

/// Says of which type the values are, where each is named.
pub(super) fn derive_type(out: &mut Map<String, Value>) {
    if out.contains_key("type") {
        return;
    }
    let values: Vec<&Value> = match (out.get("const"), out.get("enum")) {
        (Some(constant), None) => vec![constant],
        (None, Some(Value::Array(options))) if !options.is_empty() => options.iter().collect(),
        _ => return,
    };
    let mut kinds: BTreeSet<&str> = values.into_iter().map(kind).collect();
    if kinds.contains("number") {
        kinds.remove("integer");
    }
    let mut kinds: Vec<Value> =
        KINDS.iter().filter(|kind| kinds.contains(*kind)).map(|kind| Value::from(*kind)).collect();
    let kind = if kinds.len() == 1 { kinds.remove(0) } else { Value::Array(kinds) };
    let rest = std::mem::take(out);
    out.insert("type".to_owned(), kind);
    out.extend(rest);
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
