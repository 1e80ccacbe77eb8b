//! Refusals of arguments that could not be read, or only by invention: with the schema, and a call that is right. Pure.

use serde_json::{Value, json};

use crate::tool::{ErrorKind, ToolError};

use super::arguments::Invented;
use super::validate;

/// A longer schema (bytes) is not told with a refusal; it is in the list of tools.
const TOLD_SCHEMA_BYTES: usize = 4000;

/// The refusal of a call that could only be read by inventing structure, by a tool that changes something.
pub(super) fn invented(tool: &str, invented: &Invented) -> ToolError {
    let mut refusal = ToolError::new(
        ErrorKind::InvalidArguments,
        format!(
            "`{tool}` was not run: its arguments are not whole JSON. To read them one would have to guess ({}), and \
             nothing is guessed for a call that can change something. The text ends with {:?}. Send the whole call again; \
             if the arguments are long, split the work into several smaller calls.",
            invented.what.join("; "),
            invented.end,
        ),
    );
    refusal.data = Some(json!({ "synthesized": true, "invented": invented.what, "end": invented.end }));
    refusal
}

/// Whether a refusal is one of [`invented`].
pub(super) fn was_invented(refusal: &ToolError) -> bool {
    refusal.data.as_ref().is_some_and(|data| data["synthesized"] == true)
}

/// The same refusal with what makes the next call right.
pub(super) fn helped(mut refusal: ToolError, schema: &Value) -> ToolError {
    use std::fmt::Write as _;
    if let Some(example) = validate::right(schema) {
        let _ = write!(refusal.message, "\nA call that fits: {example}");
    }
    let schema = schema.to_string();
    if schema.len() <= TOLD_SCHEMA_BYTES {
        let _ = write!(refusal.message, "\nThe schema: {schema}");
    }
    refusal
}

/// What a call is told of repairs that a model should know of: those that invented something.
pub(super) fn told(repairs: &[String]) -> String {
    format!(
        "(The arguments were not whole JSON and were read so: {}. If something is missing in the answer, send the whole \
         call again.)",
        repairs.join("; ")
    )
}
