//! The ladder of arguments as plain data: for the fuzz targets, which see the crate from outside. Pure.

use serde_json::{Map, Value};

use super::{arguments, coerce};

/// Arguments as one object.
#[derive(Debug, Clone, PartialEq)]
pub struct Taken {
    /// The object.
    pub value: Map<String, Value>,
    /// What was mended to get it.
    pub repairs: Vec<String>,
    /// Whether structure was invented that the text does not have.
    pub invented: bool,
}

/// Takes an object, or text that holds one; `free_form` is the parameter that takes a text which is none. The error is
/// what the model is told.
pub fn taken(free_form: Option<&str>, arguments: &Value) -> Result<Taken, String> {
    let parsed = arguments::parse("fuzzed", free_form, Some(arguments)).map_err(|refused| refused.message)?;
    Ok(Taken { value: parsed.value, repairs: parsed.repairs, invented: parsed.invented.is_some() })
}

/// What is certain of arguments of which this much has come.
pub fn beginning(text: &str) -> Option<Value> {
    arguments::beginning(text)
}

/// Arguments, and what was done to them; or what the model is told.
pub type Coerced = Result<(Map<String, Value>, Vec<String>), String>;

/// Arguments brought to the types of a schema. `None`: it is no schema.
pub fn coerced(schema: &Value, aliases: &[(&str, &str)], given: Map<String, Value>) -> Option<Coerced> {
    let whole = jsonschema::validator_for(schema).ok()?;
    Some(coerce::coerce(schema, &whole, aliases, given).map(|coerced| (coerced.value, coerced.repairs)))
}
