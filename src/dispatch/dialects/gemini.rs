//! Gemini's schemas, a subset of `OpenAPI` 3.0: one type in upper case, `nullable`, enumerations of texts only, no
//! references and no word on other fields.

use serde_json::{Map, Value, json};

use super::{limits, remark};

/// What it takes as it stands.
const TAKEN: &[&str] = &[
    "description",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "pattern",
    "required",
    "title",
];

/// Enumerations are told in words up to so many values.
const TOLD_OPTIONS: usize = 50;

/// A part of a schema.
pub(super) fn part(schema: &Value) -> Value {
    let empty = Map::new();
    let fields = schema.as_object().unwrap_or(&empty);
    let mut out = Map::new();
    for key in TAKEN {
        if let Some(value) = fields.get(*key) {
            out.insert((*key).to_owned(), value.clone());
        }
    }
    if let Some(limits) = limits(fields, TAKEN) {
        remark(&mut out, &limits);
    }
    let branches = ["anyOf", "oneOf"].iter().find_map(|key| fields.get(*key)?.as_array());
    let kinds: Vec<&str> = match fields.get("type") {
        Some(Value::String(kind)) => vec![kind],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let mut nullable = kinds.contains(&"null");
    let kinds: Vec<&str> = kinds.into_iter().filter(|kind| *kind != "null").collect();
    if let (true, Some(branches)) = (!fields.contains_key("properties"), branches) {
        let (null, others): (Vec<&Value>, Vec<&Value>) = branches.iter().partition(|branch| branch["type"] == "null");
        nullable |= !null.is_empty();
        match others.as_slice() {
            [] => typed(&mut out, "string", fields),
            [only] => {
                if let Value::Object(only) = part(only) {
                    for (key, value) in only {
                        out.entry(key).or_insert(value);
                    }
                }
            }
            several => {
                out.insert("anyOf".to_owned(), several.iter().map(|branch| part(branch)).collect());
            }
        }
    } else {
        match kinds.as_slice() {
            // Without a type there is none that is right; text can hold anything.
            [] => typed(&mut out, if fields.contains_key("properties") { "object" } else { "string" }, fields),
            [kind] => typed(&mut out, kind, fields),
            several => {
                let branch = |kind: &&str| {
                    let mut branch = Map::new();
                    typed(&mut branch, kind, fields);
                    Value::Object(branch)
                };
                let branches: Vec<Value> = several.iter().map(branch).collect();
                out.insert("anyOf".to_owned(), Value::Array(branches));
            }
        }
    }
    if nullable {
        out.insert("nullable".to_owned(), json!(true));
    }
    Value::Object(out)
}

/// Says of which type a part is, with what belongs to that type.
fn typed(out: &mut Map<String, Value>, kind: &str, fields: &Map<String, Value>) {
    let options = match (fields.get("const"), fields.get("enum")) {
        (Some(constant), _) => vec![constant.clone()],
        (None, Some(Value::Array(options))) => options.iter().filter(|option| !option.is_null()).cloned().collect(),
        _ => Vec::new(),
    };
    let mut kind = kind;
    match kind {
        "object" => {
            let properties = fields.get("properties").and_then(Value::as_object).filter(|all| !all.is_empty());
            if let Some(properties) = properties {
                let parts = properties.iter().map(|(name, schema)| (name.clone(), part(schema)));
                let parts: Map<String, Value> = parts.collect();
                if let Some(Value::Array(required)) = out.get_mut("required") {
                    required.retain(|name| name.as_str().is_some_and(|name| parts.contains_key(name)));
                }
                out.insert("properties".to_owned(), Value::Object(parts));
            } else {
                // It refuses an object of which no field is declared; JSON in a text is taken for what it holds.
                kind = "string";
                out.retain(|key, _| !matches!(key.as_str(), "required" | "minProperties" | "maxProperties"));
                remark(out, "a JSON object, as text");
            }
        }
        "array" => {
            let items = match (fields.get("items"), fields.get("prefixItems")) {
                (_, Some(Value::Array(first))) if !first.is_empty() => {
                    let mut parts: Vec<Value> = Vec::new();
                    for one in first.iter().map(part) {
                        if !parts.contains(&one) {
                            parts.push(one);
                        }
                    }
                    if parts.len() == 1 { parts.remove(0) } else { json!({ "anyOf": parts }) }
                }
                (Some(items @ Value::Object(_)), _) => part(items),
                _ => json!({ "type": "STRING" }),
            };
            out.insert("items".to_owned(), items);
        }
        _ => {}
    }
    let mut wrapped = Map::new();
    wrapped.insert("type".to_owned(), kind.to_uppercase().into());
    wrapped.extend(std::mem::take(out));
    *out = wrapped;
    if options.is_empty() {
        return;
    }
    if kind == "string" && options.iter().all(Value::is_string) {
        out.insert("enum".to_owned(), Value::Array(options));
    } else {
        let told: Vec<String> = options.iter().take(TOLD_OPTIONS).map(Value::to_string).collect();
        remark(out, &format!("one of {}", told.join(", ")));
    }
}
