//! `lsp_edit`: makes an edit that a server asked for while a command of its own ran. Never listed; `lsp` calls it, so
//! that such an edit is shown, judged and made like every other.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::languages::ask::Seen;
use crate::languages::ask::edits::Edits;
use crate::tool::{Access, Capability, Context, ErrorKind, Outcome, Plan, Tool, ToolError, Traits};

use super::lsp::change::{Purpose, changes};
use super::lsp::desk::Stop;

/// The name of the tool.
pub(super) const NAME: &str = "lsp_edit";

/// Edits that wait to be made, by name.
#[derive(Clone, Default)]
pub struct Collected(Arc<Mutex<Kept>>);

#[derive(Default)]
struct Kept {
    /// How many there ever were.
    count: u64,
    waiting: BTreeMap<String, Arc<Waiting>>,
}

/// An edit that waits to be made.
pub(super) struct Waiting {
    pub(super) label: String,
    pub(super) edits: Edits,
    pub(super) seen: Seen,
}

impl Collected {
    /// Keeps an edit; its name.
    pub(super) fn put(&self, waiting: Waiting) -> String {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.count += 1;
        let id = format!("e{}", all.count);
        all.waiting.insert(id.clone(), Arc::new(waiting));
        id
    }

    /// Drops an edit.
    pub(super) fn take(&self, id: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).waiting.remove(id);
    }

    fn get(&self, id: &str) -> Option<Arc<Waiting>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).waiting.get(id).cloned()
    }
}

/// Makes the edit that a language server asked for while `lsp` ran a command of it. Only `lsp` calls this.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Which edit.
    pub edit: String,
}

/// The tool.
pub struct LspEdit {
    collected: Collected,
}

impl LspEdit {
    /// The tool, which makes the edits of `collected`.
    pub fn new(collected: Collected) -> LspEdit {
        LspEdit { collected }
    }
}

#[async_trait]
impl Tool for LspEdit {
    type Arguments = Arguments;

    const TRAITS: Traits<'static> = Traits {
        name: NAME,
        title: "Make a language server's edit",
        capabilities: &[Capability::ReadsFiles, Capability::WritesFiles],
        parallel: false,
        deferred: false,
        free_form: None,
        deadline: Duration::from_mins(1),
        aliases: &[],
        names: &[],
    };

    const HIDDEN: bool = true;

    fn access(&self, _: &Arguments) -> Access {
        // The files are those of the plan, which are judged with it.
        Access::default()
    }

    async fn plan(&self, arguments: &Arguments, context: &Context) -> Result<Plan, ToolError> {
        let Some(waiting) = self.collected.get(&arguments.edit) else {
            let message = format!("No edit of a language server waits under the name {:?}.", arguments.edit);
            return Err(ToolError::new(ErrorKind::NotFound, message));
        };
        let purpose = Purpose { label: waiting.label.clone(), strategy: "codeAction", notes: Vec::new(), names: None };
        match changes(&waiting.edits, &waiting.seen, &context.workspace, &purpose).await {
            Ok(changes) if changes.is_empty() => Ok(Plan::Run),
            Ok(changes) => Ok(Plan::Change(changes)),
            Err(Stop::Failed(error)) => Err(error),
            Err(Stop::Moved) => Err(ToolError::new(
                ErrorKind::Conflict,
                "A text changed while the server's command ran, so that its edit does not fit any more; it was not made.",
            )),
        }
    }

    async fn run(&self, _: Arguments, _: &Context) -> Result<Outcome, ToolError> {
        Ok(Outcome { content: vec![crate::tool::Content::text("The edit changes nothing.")], ..Outcome::default() })
    }
}
