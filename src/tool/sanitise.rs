//! Schemas as they are handed out to models: without references, bounded, and in the few forms that every API takes. Pure.
//!
//! What validates before validates after: a schema is only ever loosened, and only where it must be cut because it is
//! recursive or too large, or where it requires what it nowhere declares. What is data in a schema (enumerations,
//! constants, defaults, examples, and what a property happens to be called) is never looked into.

mod fold;
#[cfg(test)]
mod tests;
mod walk;

use jsonschema::{Draft, Validator};
use serde_json::{Map, Value};

use walk::{Dialect, Walk};

/// A schema that is longer (bytes, as compact JSON) is not taken, and none becomes much longer by what it refers to.
pub const MAX_SCHEMA_BYTES: usize = 256 * 1024;

/// A schema is gone through so often at most; two or three times are enough for any that people write.
const MOST_PASSES: usize = 16;

/// A schema that can be handed out.
#[derive(Debug, Clone, PartialEq)]
pub struct Sanitised {
    /// An object schema without references.
    pub schema: Value,
    /// Whether nothing had to be cut: then the schema says all that the original says.
    pub whole: bool,
}

/// Why a schema cannot be used, in words that go on from "its schema".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unfit(pub String);

/// A schema of a tool's arguments, ready to be handed out. The error is a schema that is no valid JSON Schema, is not of
/// an object, or is too long.
pub fn sanitise(schema: &Value) -> Result<Sanitised, Unfit> {
    if !schema.is_object() {
        return Err(Unfit("is not a JSON object".to_owned()));
    }
    let bytes = schema.to_string().len();
    if bytes > MAX_SCHEMA_BYTES {
        return Err(Unfit(format!("is {bytes} bytes long; at most {MAX_SCHEMA_BYTES} are taken")));
    }
    let (_, draft) = compiled(schema)?;
    let dialect = match draft {
        Draft::Draft4 => Dialect::Four,
        Draft::Draft6 | Draft::Draft7 => Dialect::Seven,
        _ => Dialect::Modern,
    };
    let mut made = pass(schema, dialect)?;
    // What one pass folds or prunes can open the way for more.
    for _ in 0..MOST_PASSES {
        let again = pass(&made.schema, Dialect::Modern)?;
        let done = again.schema == made.schema;
        made = Sanitised { schema: again.schema, whole: made.whole && again.whole };
        if done {
            break;
        }
    }
    Ok(made)
}

fn pass(schema: &Value, dialect: Dialect) -> Result<Sanitised, Unfit> {
    let mut walk = Walk::new(schema, dialect);
    let Value::Object(mut root) = walk.root() else {
        return Err(Unfit("is not a JSON object".to_owned()));
    };
    let object = match root.get("type") {
        None => true,
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "object"),
        Some(kind) => kind == "object",
    };
    if !object {
        let kind = root.get("type").cloned().unwrap_or_default();
        return Err(Unfit(format!("is of type {kind} at its root; expected \"object\"")));
    }
    if root.get("type").is_none_or(|kind| kind != "object") {
        // Arguments are an object, so that this takes nothing away.
        let rest = std::mem::take(&mut root);
        root.insert("type".to_owned(), "object".into());
        root.extend(rest.into_iter().filter(|(key, _)| key != "type"));
    }
    walk::complete(&mut root);
    walk::prune_root(&mut root);
    Ok(Sanitised { schema: Value::Object(root), whole: walk.whole() })
}

/// The validator of a schema as it came, and the version of JSON Schema it is written in: the one it names, else the
/// newest that it is valid in.
pub fn compiled(schema: &Value) -> Result<(Validator, Draft), Unfit> {
    let named = schema.get("$schema").is_some();
    let declared = Draft::default().detect(schema);
    // A dialect that nobody knows says nothing; the library panics where it is told to use it.
    let known = named && !matches!(declared, Draft::Unknown);
    let drafts = if known { vec![declared] } else { vec![Draft::Draft202012, Draft::Draft7, Draft::Draft4] };
    let mut first = None;
    for draft in drafts {
        match jsonschema::options().with_draft(draft).build(schema) {
            Ok(validator) => return Ok((validator, draft)),
            Err(fault) => {
                let path = fault.instance_path().as_str();
                let place = if path.is_empty() { String::new() } else { format!(" at {path}") };
                first.get_or_insert(format!("is no valid JSON Schema{place}: {}", shortened(&fault.to_string())));
            }
        }
    }
    Err(Unfit(first.unwrap_or_default()))
}

/// A message that may quote a whole schema, bounded.
fn shortened(text: &str) -> String {
    const CHARS: usize = 200;
    let mut short: String = text.chars().take(CHARS).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

/// The same schema with `change` done to each of its parts that is an object, the innermost first.
pub fn each_part(schema: &Value, change: &mut dyn FnMut(&mut Map<String, Value>)) -> Value {
    let Value::Object(fields) = schema else { return schema.clone() };
    let mut out = Map::new();
    for (key, value) in fields {
        let name = key.as_str();
        let made = match value {
            part if walk::SINGLE.contains(&name) || walk::UNEVALUATED.contains(&name) => each_part(part, change),
            Value::Array(parts) if walk::LISTS.contains(&name) => {
                parts.iter().map(|part| each_part(part, change)).collect()
            }
            Value::Object(parts) if walk::NAMED.contains(&name) => {
                let parts = parts.iter().map(|(name, part)| (name.clone(), each_part(part, change)));
                Value::Object(parts.collect())
            }
            data => data.clone(),
        };
        out.insert(key.clone(), made);
    }
    change(&mut out);
    Value::Object(out)
}

/// The plainest schema: an object without declared fields, of which none is taken.
pub fn nothing() -> Value {
    let mut schema = Map::new();
    schema.insert("type".to_owned(), "object".into());
    schema.insert("properties".to_owned(), Value::Object(Map::new()));
    schema.insert("additionalProperties".to_owned(), Value::Bool(false));
    Value::Object(schema)
}
