//! `output`: looks at the whole output of an earlier call, of which the call's own result may have shown a part.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::outputs::{Ask, Mode, Pattern, external, look, open, unknown};
use crate::tool::{Access, Content, Context, ErrorKind, Outcome, Tool, ToolError, Traits, ViewOf};

/// So many lines, when the call does not say.
const LIMIT: usize = 200;

/// Of the budget, one part in so many is left for what else the result has to tell.
const LEFT: usize = 10;

/// Shows more of the output of an earlier call whose result was cut: lines of it, lines that match a pattern, its ends, or a
/// summary. A result that was cut names its output and the lines that are missing. The output is as it was then; a file
/// may have changed since.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The output, as the result that was cut names it; or the id of the call that made it.
    #[schemars(example = &"o3")]
    pub id: String,
    /// The first line to show; 1 is the first line of the output.
    #[serde(default = "first")]
    #[schemars(range(min = 1))]
    pub offset: usize,
    /// The first character of that line to show; 1 is its first. For a line that is too long to be shown at once.
    #[serde(default = "first")]
    #[schemars(range(min = 1))]
    pub column: usize,
    /// At most so many lines; with `pattern`, so many lines that match.
    #[serde(default = "limit")]
    #[schemars(range(min = 1))]
    pub limit: usize,
    /// Show only lines that match this regular expression, each with its number.
    #[schemars(example = "^error")]
    pub pattern: Option<String>,
    /// Take the pattern as plain text.
    #[serde(default)]
    pub literal: bool,
    /// With `pattern`: so many lines before and after each line that matches.
    #[serde(default)]
    pub context: usize,
    /// `window` shows lines from `offset` on, `head` the first lines, `tail` the last ones, `summary` how long the output is,
    /// what looks like a failure, and both ends.
    #[serde(default)]
    pub mode: View,
}

/// Which part of an output is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum View {
    /// Lines from `offset` on.
    #[default]
    Window,
    /// The first lines.
    Head,
    /// The last lines.
    Tail,
    /// How long it is, what looks like a failure, both ends.
    Summary,
}

fn first() -> usize {
    1
}

fn limit() -> usize {
    LIMIT
}

/// The tool.
pub struct Output;

#[async_trait]
impl Tool for Output {
    type Arguments = Arguments;

    const TRAITS: Traits<'static> = Traits {
        name: "output",
        title: "Look at an earlier output",
        capabilities: &[],
        parallel: true,
        deferred: false,
        free_form: None,
        deadline: Duration::from_secs(30),
        aliases: &[
            ("ref", "id"),
            ("output_id", "id"),
            ("call_id", "id"),
            ("tool_call_id", "id"),
            ("tool_use_id", "id"),
            ("handle", "id"),
            ("start_line", "offset"),
            ("line_count", "limit"),
            ("max_matches", "limit"),
            ("query", "pattern"),
            ("context_lines", "context"),
        ],
        names: &["retrieve_tool_result", "handle_read", "tool_output", "get_output", "read_output"],
    };

    fn access(&self, _: &Arguments) -> Access {
        Access::default()
    }

    fn validate(&self, arguments: &Arguments) -> Result<(), ToolError> {
        if arguments.id.trim().is_empty() {
            return Err(ToolError::new(
                ErrorKind::InvalidArguments,
                "`id` is empty; give the name of an output, as a result that was cut tells it, for example \"o3\".",
            ));
        }
        Ok(())
    }

    async fn run(&self, arguments: Arguments, context: &Context) -> Result<Outcome, ToolError> {
        let id = arguments.id.trim();
        let found = context.session.outputs().find(id);
        let Some(found) = found else {
            let known = context.session.outputs().all();
            return Err(ToolError::new(ErrorKind::NotFound, unknown(id, &known)));
        };
        let tags = found.kept.external.as_deref().map_or(0, external::overhead);
        let room = context.budget.saturating_sub(tags);
        let room = room - room / LEFT;
        let (disk, kept) = (Arc::clone(&context.workspace.ports.disk), found.kept.clone());
        // It ends with the call, however that ends.
        let cancel = context.cancel.child_token();
        let _ends = cancel.clone().drop_guard();
        let stop = cancel.clone();
        let looking = tokio::task::spawn_blocking(move || {
            let mut source = open(&*disk, &found)?;
            let looked = look(&mut source, &arguments.ask(), room, &|| stop.is_cancelled())?;
            let whole = looked.next.is_none() && looked.text.len() as u64 >= source.bytes();
            std::io::Result::Ok((looked, whole))
        });
        let failed = |what: String| {
            ToolError::new(
                ErrorKind::Failed,
                format!(
                    "The output {} could not be read again: {what}. Run the tool again to get its output.",
                    kept.id
                ),
            )
        };
        let (mut looked, whole) = looking.await.map_err(|error| failed(error.to_string()))?.map_err(|error| {
            if cancel.is_cancelled() {
                return ToolError::new(ErrorKind::Cancelled, "Cancelled while the output was looked at.".to_owned());
            }
            failed(error.to_string())
        })?;
        looked.remark = format!("output {}: {}", kept.id, looked.remark);
        Ok(Outcome {
            content: vec![Content::text(looked.told())],
            structured: Some(json!({
                "id": kept.id,
                "callId": kept.call_id,
                "totalLines": looked.total_lines,
                "totalBytes": kept.bytes,
                "nextOffset": looked.next.map(|next| next.offset),
                "nextColumn": looked.next.map(|next| next.column).filter(|column| *column > 1),
            })),
            kind: kept.kind,
            external: kept.external,
            beside: Vec::new(),
            failed: None,
            long: None,
            view_of: Some(ViewOf { id: kept.id, total_bytes: kept.bytes, truncated: !whole }),
        })
    }
}

impl Arguments {
    fn ask(&self) -> Ask {
        let pattern = self.pattern.as_deref().filter(|pattern| !pattern.is_empty());
        Ask {
            mode: match self.mode {
                View::Window => Mode::Window,
                View::Head => Mode::Head,
                View::Tail => Mode::Tail,
                View::Summary => Mode::Summary,
            },
            offset: self.offset,
            column: self.column,
            limit: self.limit,
            pattern: pattern.map(|pattern| Pattern::new(pattern, self.literal)),
            context: self.context,
        }
    }
}
