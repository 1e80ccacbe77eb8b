//! Tools as different APIs take them: pure projections of what is known of a tool. What a dialect cannot say is left out
//! and never made up; arguments are always checked against our own schema.

mod gemini;
mod strict;
#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::tool::sanitise::each_part;

use super::call::{ListedTool, ToolInfo};

/// For which API tools are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Dialect {
    /// None: all that is known of each tool.
    #[default]
    Plain,
    /// Anthropic's Messages API: `{ name, description, input_schema }`.
    Anthropic,
    /// `OpenAI`'s chat completions: `{ type: "function", function: { name, description, parameters } }`.
    Openai,
    /// The same with `strict: true` for each tool whose schema allows it.
    OpenaiStrict,
    /// Gemini's function declarations: `{ name, description, parameters }`, in its subset of `OpenAPI`.
    Gemini,
    /// VS Code's `LanguageModelToolInformation`: `{ name, description, inputSchema, tags }`.
    Vscode,
    /// MCP's `tools/list`: `{ name, title, description, inputSchema, outputSchema?, annotations }`.
    Mcp,
}

/// A tool in a dialect.
pub(super) fn shaped(tool: ToolInfo, dialect: Dialect) -> ListedTool {
    let shaped = match dialect {
        Dialect::Plain => return ListedTool::Plain(Box::new(tool)),
        Dialect::Anthropic => {
            let (schema, remark) = flat(&tool.input_schema);
            let (schema, unnamed) = plainly_named(&schema);
            json!({ "name": tool.name, "description": tool.description + &remark + &unnamed, "input_schema": schema })
        }
        Dialect::Openai => function(tool, None, None),
        Dialect::OpenaiStrict => {
            let strict = strict::strict(&tool.input_schema);
            function(tool, Some(strict.is_some()), strict)
        }
        Dialect::Gemini => gemini(tool),
        Dialect::Vscode => json!({
            "name": tool.name,
            "description": tool.description,
            "inputSchema": tool.input_schema,
            "tags": tool.capabilities,
        }),
        Dialect::Mcp => {
            let mut shaped = json!({
                "name": tool.name,
                "title": tool.title,
                "description": tool.description,
                "inputSchema": tool.input_schema,
                "annotations": tool.annotations,
            });
            // MCP has only structured answers that are objects.
            if let Some(output) = tool.output_schema.filter(|schema| schema["type"] == "object") {
                shaped["outputSchema"] = output;
            }
            shaped
        }
    };
    match shaped {
        Value::Object(shaped) => ListedTool::Shaped(shaped),
        _ => ListedTool::Shaped(Map::new()),
    }
}

/// `strict`: whether it is said that the mode is strict; `parameters`: what is said of the arguments then.
fn function(tool: ToolInfo, strict: Option<bool>, parameters: Option<Value>) -> Value {
    let (schema, remark) = flat(&tool.input_schema);
    let mut function = json!({ "name": tool.name, "description": tool.description + &remark });
    function["parameters"] = parameters.unwrap_or_else(|| each_part(&schema, &mut itemised));
    if let Some(strict) = strict {
        function["strict"] = Value::Bool(strict);
    }
    json!({ "type": "function", "function": function })
}

/// `OpenAI` refuses a list that does not say of what.
fn itemised(part: &mut Map<String, Value>) {
    let list = match part.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "array"),
        Some(kind) => kind == "array",
        None => false,
    };
    if list && !part.contains_key("items") {
        part.insert("items".to_owned(), Value::Object(Map::new()));
    }
}

fn gemini(tool: ToolInfo) -> Value {
    let (schema, remark) = flat(&tool.input_schema);
    let mut declaration = json!({ "name": tool.name, "description": tool.description + &remark });
    // It refuses an object without properties, so that a tool without parameters has no schema.
    if schema["properties"].as_object().is_some_and(|properties| !properties.is_empty()) {
        declaration["parameters"] = gemini::part(&schema);
    }
    declaration
}

/// Anthropic refuses the whole request for one field whose name it does not take. Such fields are told in words instead.
fn plainly_named(schema: &Value) -> (Value, String) {
    let plain = |name: &str| {
        let taken = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
        (1..=64).contains(&name.len()) && name.bytes().all(taken)
    };
    let mut told = Vec::new();
    let schema = each_part(schema, &mut |part| {
        if let Some(Value::Object(properties)) = part.get_mut("properties") {
            let odd: Vec<String> = properties.keys().filter(|name| !plain(name)).cloned().collect();
            told.extend(odd.iter().filter_map(|name| Some(format!("{name:?}: {}", properties.shift_remove(name)?))));
        }
        if let Some(Value::Array(required)) = part.get_mut("required") {
            required.retain(|name| name.as_str().is_some_and(plain));
        }
    });
    let told = if told.is_empty() { String::new() } else { format!("\nIt also takes {}.", told.join(", ")) };
    (schema, told)
}

/// A schema whose root is one plain object, as these APIs want it: the fields of its alternatives are fields of its own.
/// And in words which of them are needed together, where the root can no longer say so.
fn flat(schema: &Value) -> (Value, String) {
    const APART: &[&str] = &["allOf", "anyOf", "const", "else", "enum", "if", "not", "oneOf", "then"];
    let Value::Object(fields) = schema else { return (schema.clone(), String::new()) };
    if !APART.iter().any(|key| fields.contains_key(*key)) {
        return (schema.clone(), String::new());
    }
    let mut out = fields.clone();
    let mut remark = String::new();
    let mut properties = fields.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    let mut required = fields.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    for key in ["allOf", "anyOf", "oneOf"] {
        let Some(Value::Array(branches)) = fields.get(key) else { continue };
        let mut needed = Vec::new();
        for branch in branches {
            let (branch, _) = flat(branch);
            for (name, part) in branch["properties"].as_object().into_iter().flatten() {
                properties.entry(name.clone()).or_insert_with(|| part.clone());
            }
            let names = branch["required"].as_array().cloned().unwrap_or_default();
            if key == "allOf" {
                let new: Vec<Value> = names.into_iter().filter(|name| !required.contains(name)).collect();
                required.extend(new);
            } else {
                needed.push(names.iter().filter_map(Value::as_str).map(|name| format!("`{name}`")).collect::<Vec<_>>());
            }
        }
        if !needed.is_empty() && needed.iter().all(|names| !names.is_empty()) {
            let ways: Vec<String> = needed.iter().map(|names| names.join(" with ")).collect();
            let which = if key == "oneOf" { "Give exactly one of these" } else { "Give at least one of these" };
            remark = format!("{remark}\n{which}: {}.", ways.join("; "));
        }
    }
    out.retain(|key, _| !APART.contains(&key.as_str()));
    out.insert("properties".to_owned(), Value::Object(properties));
    if !required.is_empty() {
        out.insert("required".to_owned(), Value::Array(required));
    }
    (Value::Object(out), remark)
}

/// Adds words to the description of a part.
fn remark(out: &mut Map<String, Value>, words: &str) {
    let described = match out.get("description").and_then(Value::as_str) {
        Some(description) if !description.is_empty() => format!("{description} ({words})"),
        _ => words.to_owned(),
    };
    out.insert("description".to_owned(), described.into());
}

/// The limits of a part that a dialect does not take, in words: they still hold.
fn limits(part: &Map<String, Value>, taken: &[&str]) -> Option<String> {
    const LIMITS: &[&str] = &[
        "exclusiveMaximum",
        "exclusiveMinimum",
        "format",
        "maxItems",
        "maxLength",
        "maxProperties",
        "maximum",
        "minItems",
        "minLength",
        "minProperties",
        "minimum",
        "multipleOf",
        "pattern",
        "uniqueItems",
    ];
    let told = LIMITS.iter().filter(|key| !taken.contains(key)).filter_map(|key| Some((key, part.get(*key)?)));
    let told: Vec<String> = told.map(|(key, limit)| format!("{key}: {limit}")).collect();
    (!told.is_empty()).then(|| told.join(", "))
}
