//! `multi_edit`: several edits of one file, each on the result of the one before, all or none.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::tool::{Access, Capability, Context, ErrorKind, Outcome, Plan, Tool, ToolError, Traits};
use crate::workspace::{Fate, FileChange};

use super::edit::sequence::{Sequence, Step};

/// Makes several edits of one file at once, in the editor's unsaved buffer where the file is open: all of them or none,
/// as one change that one undo takes back. Use it instead of several calls of `edit` on the same file. The edits are
/// made in the order given, each on the result of the ones before: where an earlier edit changed a text, `old_string` must
/// be what it is after that. Each finds its place as `edit` does. If the first `old_string` is empty, a new file is made
/// of its `new_string`, and the later edits are made in it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The file: an absolute path, one relative to the workspace folder, or the URI of an open document.
    #[schemars(example = "src/main.rs")]
    pub file_path: String,
    /// The edits, in the order in which they are made.
    #[schemars(length(min = 1))]
    pub edits: Vec<Item>,
}

/// One edit.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Item {
    /// The text to replace, as it is in the file after the edits before this one, without line numbers.
    #[schemars(example = "fn main() {}")]
    pub old_string: String,
    /// What to put in its place. Must differ from `old_string`.
    #[schemars(example = "fn main() { run() }")]
    pub new_string: String,
    /// Whether to replace every place that fits, not just one.
    #[serde(default)]
    pub replace_all: bool,
}

/// The tool.
pub struct MultiEdit;

#[async_trait]
impl Tool for MultiEdit {
    type Arguments = Arguments;

    const TRAITS: Traits<'static> = Traits {
        name: "multi_edit",
        title: "Edit a file in several places",
        capabilities: &[Capability::ReadsFiles, Capability::WritesFiles],
        parallel: false,
        deferred: false,
        free_form: None,
        deadline: Duration::from_mins(1),
        aliases: &[
            ("filePath", "file_path"),
            ("path", "file_path"),
            ("file", "file_path"),
            ("filename", "file_path"),
            ("uri", "file_path"),
            ("changes", "edits"),
            ("replacements", "edits"),
            ("oldString", "old_string"),
            ("search", "old_string"),
            ("newString", "new_string"),
            ("replace", "new_string"),
            ("replaceAll", "replace_all"),
        ],
        names: &["multi_edit_file", "multi_str_replace"],
    };

    fn access(&self, arguments: &Arguments) -> Access {
        let file = vec![arguments.file_path.clone()];
        Access { reads: file.clone(), writes: file, ..Access::default() }
    }

    fn validate(&self, arguments: &Arguments) -> Result<(), ToolError> {
        super::named(&arguments.file_path)
    }

    async fn plan(&self, arguments: &Arguments, context: &Context) -> Result<Plan, ToolError> {
        let target = context.workspace.resolve(&arguments.file_path)?;
        let steps = arguments.edits.iter().map(Step::from).collect();
        Ok(Plan::Change(vec![FileChange {
            target,
            rewrite: Arc::new(Sequence::several(&arguments.file_path, steps)),
            label: format!("edit {}", arguments.file_path),
            fate: Fate::Stays,
        }]))
    }

    async fn run(&self, _arguments: Arguments, _context: &Context) -> Result<Outcome, ToolError> {
        Err(ToolError::new(ErrorKind::Failed, "multi_edit makes its change by its plan, and is never run on its own."))
    }
}

impl From<&Item> for Step {
    fn from(item: &Item) -> Step {
        Step { old: item.old_string.clone(), new: item.new_string.clone(), all: item.replace_all }
    }
}
