//! `OpenAI`'s strict mode: every object closed, every field required, and only the keywords that it takes. A field that may
//! be absent may be null instead; null for such a field is taken as absent.

use serde_json::{Map, Value, json};

use super::{limits, remark};

/// The mode takes no schema that is nested deeper,
const DEEPEST: usize = 10;
/// has more properties in all,
const MOST_PROPERTIES: usize = 5_000;
/// or more values in its enumerations.
const MOST_OPTIONS: usize = 1_000;

/// What would be lost if it were only left out: which of several shapes a value has.
const SHAPING: &[&str] = &["allOf", "patternProperties", "prefixItems"];

/// The schema for strict mode; `None` where it cannot be had.
pub(super) fn strict(schema: &Value) -> Option<Value> {
    let fields = schema.as_object()?;
    if ["anyOf", "oneOf", "enum", "const"].iter().any(|key| fields.contains_key(*key)) {
        return None;
    }
    let mut size = Size::default();
    let strict = size.object(fields, 0)?;
    (size.properties <= MOST_PROPERTIES && size.options <= MOST_OPTIONS).then_some(Value::Object(strict))
}

#[derive(Default)]
struct Size {
    properties: usize,
    options: usize,
}

impl Size {
    fn part(&mut self, part: &Value, depth: usize) -> Option<Map<String, Value>> {
        let fields = part.as_object()?;
        if depth > DEEPEST || SHAPING.iter().any(|key| fields.contains_key(*key)) {
            return None;
        }
        let mut out = Map::new();
        let branches = fields.get("anyOf").or_else(|| fields.get("oneOf"));
        if let Some(branches) = branches {
            let both = fields.contains_key("anyOf") && fields.contains_key("oneOf");
            if both || fields.contains_key("properties") || fields.contains_key("items") {
                return None;
            }
            let branches: Option<Vec<Value>> =
                branches.as_array()?.iter().map(|branch| Some(Value::Object(self.part(branch, depth + 1)?))).collect();
            out.insert("anyOf".to_owned(), Value::Array(branches?));
        } else {
            let options = match (fields.get("const"), fields.get("enum")) {
                (Some(constant), _) => Some(vec![constant.clone()]),
                (None, Some(options)) => Some(options.as_array()?.clone()),
                (None, None) => None,
            };
            let kinds: Vec<&str> = match fields.get("type")? {
                Value::String(kind) => vec![kind],
                Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
                _ => return None,
            };
            out.insert("type".to_owned(), fields.get("type")?.clone());
            if let Some(options) = options {
                if options.iter().any(|option| option.is_object() || option.is_array()) {
                    return None;
                }
                self.options += options.len();
                out.insert("enum".to_owned(), Value::Array(options));
            }
            if kinds.contains(&"object") {
                let closed = fields.get("additionalProperties") == Some(&Value::Bool(false));
                let declared = fields.get("properties").and_then(Value::as_object).is_some_and(|all| !all.is_empty());
                if !closed && !declared {
                    return None;
                }
                let object = self.object(fields, depth)?;
                out.extend(object.into_iter().filter(|(key, _)| key != "type" && key != "description"));
            }
            if kinds.contains(&"array") {
                out.insert("items".to_owned(), Value::Object(self.part(fields.get("items")?, depth + 1)?));
            }
        }
        if let Some(description) = fields.get("description") {
            out.insert("description".to_owned(), description.clone());
        }
        if let Some(limits) = limits(fields, &[]) {
            remark(&mut out, &limits);
        }
        Some(out)
    }

    /// An object of which all fields are known.
    fn object(&mut self, fields: &Map<String, Value>, depth: usize) -> Option<Map<String, Value>> {
        let open = !matches!(fields.get("additionalProperties"), None | Some(Value::Bool(false)));
        if open || SHAPING.iter().any(|key| fields.contains_key(*key)) {
            return None;
        }
        let needed = |name: &str| {
            fields.get("required").and_then(Value::as_array).is_some_and(|names| names.iter().any(|need| need == name))
        };
        let mut properties = Map::new();
        for (name, part) in fields.get("properties").and_then(Value::as_object).into_iter().flatten() {
            self.properties += 1;
            let mut part = self.part(part, depth + 1)?;
            if !needed(name) {
                or_null(&mut part);
            }
            properties.insert(name.clone(), Value::Object(part));
        }
        let mut out = Map::new();
        out.insert("type".to_owned(), json!("object"));
        if let Some(description) = fields.get("description") {
            out.insert("description".to_owned(), description.clone());
        }
        out.insert("required".to_owned(), properties.keys().cloned().collect());
        out.insert("properties".to_owned(), Value::Object(properties));
        out.insert("additionalProperties".to_owned(), json!(false));
        Some(out)
    }
}

/// A field that may be absent may be null.
fn or_null(part: &mut Map<String, Value>) {
    let null = json!("null");
    match part.get_mut("type") {
        Some(Value::Array(kinds)) if !kinds.contains(&null) => kinds.push(null),
        Some(kind) if kind.is_string() && *kind != null => *kind = Value::Array(vec![kind.take(), null]),
        _ => {}
    }
    if let Some(Value::Array(options)) = part.get_mut("enum")
        && !options.contains(&Value::Null)
    {
        options.push(Value::Null);
    }
    if let Some(Value::Array(branches)) = part.get_mut("anyOf") {
        let null = json!({ "type": "null" });
        if !branches.contains(&null) {
            branches.push(null);
        }
    }
}
