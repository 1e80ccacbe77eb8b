//! Language servers, their diagnostics, and what is known of them: verdicts that never say "clean" without knowing it.

pub mod problems;
pub mod verdict;

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

pub use verdict::DiagnosticsReport;

use crate::editor::{Editor, FileChanged};
use crate::permissions::Trust;
use crate::ports::Ports;
use crate::text::{Splice, Text};
use crate::workspace::{Documents, Target};

/// A document just before an edit, with what each source last said of it.
#[derive(Debug, Clone)]
pub struct Prepared {}

/// An edit that landed, whose diagnostics are wanted.
#[derive(Debug, Clone)]
pub struct Edited {
    /// Which document or file.
    pub target: Target,
    /// The editor's version that completed the edit; `None` on the disk.
    pub version: Option<i32>,
    /// What changed, in bytes of the text before.
    pub splices: Vec<Splice>,
    /// The text after the edit.
    pub after: Text,
}

/// How long to wait for diagnostics, and for whose.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Wait {
    /// Whether to wait at all.
    pub wait: WaitMode,
    /// At most so long (ms), instead of the settings' budgets.
    pub deadline_ms: Option<u64>,
    /// Only for these sources.
    pub sources: Option<Vec<String>>,
}

/// Whether to wait for diagnostics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WaitMode {
    /// Do not wait; what is there at once is told.
    None,
    /// As long as the budgets allow.
    #[default]
    Auto,
    /// Until every source has answered, or the deadline.
    Fresh,
}

/// All sources of diagnostics.
pub struct Languages {}

impl Languages {
    /// Follows `documents` from now on. Starts nothing until a document is looked at.
    pub fn new(ports: Ports, editor: Arc<dyn Editor>, documents: &Arc<Documents>, trust: Arc<Trust>) -> Arc<Languages> {
        let _ = (ports, editor, documents, trust);
        todo!()
    }

    /// A document or file was read or is about to be edited: its servers are started and told of it, in the background.
    pub fn look(&self, target: &Target, language_id: Option<&str>, text: &Text) {
        let _ = (target, language_id, text);
        todo!()
    }

    /// Like [`Languages::look`], and remembers what each source last said, as the baseline of an edit about to leave.
    pub fn prepare(&self, target: &Target, language_id: Option<&str>, text: &Text) -> Prepared {
        let _ = (target, language_id, text);
        todo!()
    }

    /// Waits once for the diagnostics of all these edits and judges them. Holds no lock; ends early on `cancel`.
    pub async fn settle(
        &self,
        edits: Vec<(Prepared, Edited)>,
        wait: &Wait,
        cancel: &CancellationToken,
    ) -> DiagnosticsReport {
        let _ = (edits, wait, cancel);
        todo!()
    }

    /// A file was made, changed or removed on the disk by us.
    pub fn file_changed(&self, change: &FileChanged) {
        let _ = change;
        todo!()
    }

    /// Ends every server, politely first.
    pub async fn shutdown(&self, grace: Duration) {
        let _ = grace;
        todo!()
    }
}
