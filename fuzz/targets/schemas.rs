//! The sanitiser of schemas: what validated does so afterwards, and what is handed out is a schema.

use super::parts::texts;
use ropewalk::tool::sanitise::{MAX_SCHEMA_BYTES, sanitise};
use serde_json::Value;

/// A schema, and up to six values to hold against it.
pub fn schemas(data: &[u8]) {
    let parts = texts::<7>(data);
    let Ok(schema) = serde_json::from_str::<Value>(&parts[0]) else { return };
    let once = match sanitise(&schema) {
        Ok(once) => once,
        Err(unfit) => return assert!(!unfit.0.is_empty()),
    };
    let shown = once.schema.to_string();
    assert!(shown.len() <= 2 * MAX_SCHEMA_BYTES, "{} bytes of {}", shown.len(), parts[0].len());
    assert_eq!(once.schema["type"], "object", "{shown}");
    let again = sanitise(&once.schema).unwrap_or_else(|unfit| panic!("{unfit}: {shown}"));
    assert_eq!(again.schema, once.schema, "twice is once");
    // One that is none stays none, and is refused where it is compiled.
    let Ok(before) = jsonschema::validator_for(&schema) else { return };
    let after =
        jsonschema::validator_for(&once.schema).unwrap_or_else(|_| panic!("{schema} became no schema: {shown}"));
    let values = parts[1..].iter().filter_map(|text| serde_json::from_str::<Value>(text).ok());
    for value in values.filter(Value::is_object) {
        assert!(!before.is_valid(&value) || after.is_valid(&value), "{value} is refused: {schema} became {shown}");
    }
}
