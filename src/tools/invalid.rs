//! `invalid`: where a host sends a call that it could not read itself. It tells the model what was wrong. It is never in
//! the list of tools, and a call that reaches us unreadable needs no such detour: it fails under its own name.

use std::fmt::Write as _;
use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::tool::{Access, Context, ErrorKind, Outcome, Tool, ToolError, Traits};

/// Arguments that came are shown up to so many characters.
const SHOWN_CHARS: usize = 400;

/// A longer schema (bytes) is not told.
const TOLD_SCHEMA_BYTES: usize = 4000;

/// Tells why a tool call could not be read. Not for models: hosts send calls here that they could not read.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The tool that was meant.
    #[schemars(example = &"read")]
    pub tool: String,
    /// What was wrong with the call.
    #[serde(default)]
    #[schemars(example = "expected value at line 1 column 15")]
    pub error: String,
    /// The arguments as they came.
    #[serde(default)]
    #[schemars(example = "{\"file_path\": ")]
    pub arguments: String,
}

/// The tool.
pub struct Invalid;

#[async_trait]
impl Tool for Invalid {
    type Arguments = Arguments;

    const TRAITS: Traits<'static> = Traits {
        name: "invalid",
        title: "An unreadable call",
        capabilities: &[],
        parallel: true,
        deferred: false,
        free_form: None,
        deadline: Duration::from_secs(5),
        aliases: &[
            ("original_name", "tool"),
            ("name", "tool"),
            ("message", "error"),
            ("original_args", "arguments"),
            ("args", "arguments"),
        ],
        names: &[],
    };

    const HIDDEN: bool = true;

    fn access(&self, _: &Arguments) -> Access {
        Access::default()
    }

    async fn run(&self, arguments: Arguments, context: &Context) -> Result<Outcome, ToolError> {
        let Arguments { tool, error, arguments } = arguments;
        let mut message = format!("The call of `{tool}` was not run: its arguments could not be read.");
        if !error.is_empty() {
            let _ = write!(message, " {}", error.trim_end());
        }
        if !arguments.is_empty() {
            let mut shown: String = arguments.chars().take(SHOWN_CHARS).collect();
            if shown.len() < arguments.len() {
                shown.push('…');
            }
            let _ = write!(message, "\nThey came as: {shown}");
        }
        message.push_str("\nSend the call again with its arguments as one valid JSON object.");
        let listed = context.slot.catalog(&context.session).into_iter().find(|listed| listed.name == tool);
        if let Some(schema) = listed.map(|listed| listed.schema.to_string())
            && schema.len() <= TOLD_SCHEMA_BYTES
        {
            let _ = write!(message, " The schema: {schema}");
        }
        let mut failed = ToolError::new(ErrorKind::InvalidArguments, message);
        failed.data = Some(json!({ "tool": tool, "error": error }));
        Err(failed)
    }
}
