//! What each method carries, in words: made from the schemas, so that the pages cannot say anything else.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::Value;

/// Who sends a method and what it carries, for its section.
pub fn of_method(schemas: &Value, method: &Value) -> String {
    let (from, to) = match method["direction"].as_str() {
        Some("toSidecar") => ("editor", "sidecar"),
        _ => ("sidecar", "editor"),
    };
    let kind = if method["kind"] == "request" { "Request" } else { "Notification" };
    let mut out = format!("*{kind}, {from} to {to}.*\n\n{}", carried(schemas, "Params", &method["params"]));
    if let Some(result) = method.get("result") {
        let _ = write!(out, "\n{}", carried(schemas, "Result", result));
    }
    out
}

fn carried(schemas: &Value, what: &str, schema: &Value) -> String {
    if schema["type"] == "null" {
        return format!("**{what}.** Null.\n");
    }
    let named = resolved(schemas, schema);
    let fields = fields(named, "types.md");
    if fields.is_empty() { format!("**{what}.** None.\n") } else { format!("**{what}.**\n\n{fields}") }
}

/// The definition that a schema refers to, or itself.
fn resolved<'a>(schemas: &'a Value, schema: &'a Value) -> &'a Value {
    schema["$ref"].as_str().map_or(schema, |name| &schemas["$defs"][name.trim_start_matches("#/$defs/")])
}

/// One line for each field of an object.
fn fields(schema: &Value, types: &str) -> String {
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let mut out = String::new();
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let needed = required.contains(&name.as_str());
        let kind = kind(field, types);
        // What may be left out may be null as well.
        let kind = if needed { kind.as_str() } else { kind.trim_end_matches(" or null") };
        let _ = writeln!(out, "- `{name}{}` ({kind}): {}", if needed { "" } else { "?" }, words(field));
    }
    out
}

/// A schema's description, in one line.
fn words(schema: &Value) -> String {
    let text = schema["description"].as_str().unwrap_or_default().replace("[`", "`").replace("`]", "`");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What kind of value a schema is of; `types` is the page that has the named ones.
fn kind(schema: &Value, types: &str) -> String {
    if let Some(name) = schema["$ref"].as_str() {
        let name = name.trim_start_matches("#/$defs/");
        return format!("[{name}]({types}#{})", name.to_lowercase());
    }
    if let Some(constant) = schema.get("const") {
        return format!("`{constant}`");
    }
    let any = schema["anyOf"].as_array().or_else(|| schema["oneOf"].as_array());
    if let Some(any) = any {
        return any.iter().map(|one| kind(one, types)).collect::<Vec<_>>().join(" or ");
    }
    let names: Vec<&str> = match &schema["type"] {
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        Value::String(name) => vec![name],
        _ => return "JSON".to_owned(),
    };
    let each = names.into_iter().map(|name| match name {
        "array" => match kind(&schema["items"], types) {
            several if several.contains(" or ") => format!("({several})[]"),
            one => format!("{one}[]"),
        },
        "object" if schema["additionalProperties"].is_object() => {
            format!("map of {}", kind(&schema["additionalProperties"], types))
        }
        other => other.to_owned(),
    });
    each.collect::<Vec<_>>().join(" or ")
}

/// The names of the types that fields of a schema are of.
fn named_in(schema: &Value, found: &mut BTreeSet<String>) {
    match schema {
        Value::Object(parts) => {
            if let Some(name) = schema["$ref"].as_str() {
                found.insert(name.trim_start_matches("#/$defs/").to_owned());
            }
            parts.values().for_each(|part| named_in(part, found));
        }
        Value::Array(items) => items.iter().for_each(|item| named_in(item, found)),
        _ => {}
    }
}

/// The page of the types that methods carry, without the settings.
pub fn types(schemas: &Value) -> String {
    let mut all = BTreeSet::new();
    for method in schemas["methods"].as_array().into_iter().flatten() {
        for part in ["params", "result"] {
            named_in(&resolved(schemas, &method[part])["properties"], &mut all);
        }
    }
    loop {
        let mut more = all.clone();
        for name in &all {
            named_in(&schemas["$defs"][name], &mut more);
        }
        if more.len() == all.len() {
            break;
        }
        all = more;
    }
    let mut out = "# Types\n\nWhat the methods of [PROTOCOL.md](../PROTOCOL.md) carry, by name. A field with `?` may be left out.\n".to_owned();
    for name in all {
        let schema = &schemas["$defs"][&name];
        let _ = write!(out, "\n## {name}\n\n{}\n", words(schema));
        let said = variants(schema);
        if !said.is_empty() {
            let _ = write!(out, "\n{said}");
        }
    }
    out
}

/// The fields of an object, the values of an enumeration, the cases of a choice.
fn variants(schema: &Value) -> String {
    if schema["properties"].is_object() {
        return fields(schema, "");
    }
    let mut out = String::new();
    for value in schema["enum"].as_array().into_iter().flatten() {
        let _ = writeln!(out, "- `{value}`");
    }
    let cases = schema["oneOf"].as_array().or_else(|| schema["anyOf"].as_array());
    for case in cases.into_iter().flatten() {
        let inner: Vec<String> = case["properties"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, field)| format!("`{name}` ({})", kind(field, "")))
            .collect();
        let values: Vec<String> =
            case["enum"].as_array().into_iter().flatten().map(|value| format!("`{value}`")).collect();
        let shape = match (inner.is_empty(), values.is_empty()) {
            (false, _) => format!("an object of {}", inner.join(", ")),
            (_, false) => values.join(", "),
            _ => kind(case, ""),
        };
        let said = words(case);
        let _ = if said.is_empty() { writeln!(out, "- {shape}") } else { writeln!(out, "- {shape}: {said}") };
    }
    out
}
