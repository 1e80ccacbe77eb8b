//! How a change gets into a document or file, or is refused: the only way anything is ever written.
//!
//! An open document is changed by the editor: we ask for an edit of exactly the version we computed against and believe
//! only the change notifications that follow (the *echo*). A closed file is changed on the disk, as one step.

use std::sync::Arc;

use crate::text::{Splice, Text};

use super::Refusal;
use super::paths::Target;

/// A pure function from a text to the change of it, so that it can be asked again when the text moved on.
pub trait Rewrite: Send + Sync + 'static {
    /// The change of `before` (absent: there is no such file), or why there is none. Must not depend on anything else.
    fn rewrite(&self, before: Option<&Text>) -> Result<Rewritten, Refusal>;
}

/// A change of one text.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Rewritten {
    /// What is replaced, in bytes of the text before, rising, not overlapping. For an absent file: one splice of 0..0.
    pub splices: Vec<Splice>,
    /// The same change as the model asked for it.
    pub hunks: Vec<Hunk>,
    /// Remarks for the model.
    pub notes: Vec<String>,
}

/// One place of a change and how it was found.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub struct Hunk {
    /// The strategy of the cascade, or `write`, `patch`.
    pub strategy: String,
    /// How alike the place and the text asked for are, 0 to 1; 1 is exact.
    pub similarity: f64,
    /// The lines before the change.
    pub before: LineSpan,
    /// The lines after it.
    pub after: LineSpan,
}

/// Some lines of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub struct LineSpan {
    /// The first line, 1-based.
    pub start: usize,
    /// How many lines; 0 means a place before `start`.
    pub count: usize,
}

/// A change of one file or document, as a tool asks for it.
#[derive(Clone)]
pub struct FileChange {
    /// Which file.
    pub target: Target,
    /// What to do with its text.
    pub rewrite: Arc<dyn Rewrite>,
    /// What the editor may call it in its undo list.
    pub label: String,
}

/// A change that was computed and not made.
#[derive(Debug, Clone, PartialEq)]
pub struct Preview {
    /// The text before; absent for a file that would be made.
    pub before: Option<Text>,
    /// The text after.
    pub after: Text,
    /// The change.
    pub rewritten: Rewritten,
    /// A unified diff of the two.
    pub unified_diff: String,
}

/// A change that was made.
#[derive(Debug, Clone)]
pub struct Committed {
    /// Which file or document.
    pub target: Target,
    /// The text it was computed against.
    pub before: Option<Text>,
    /// The text after the change, and before anything the user typed on.
    pub after: Text,
    /// What changed, in bytes of `before`.
    pub splices: Vec<Splice>,
    /// The editor's version that the change was computed against; `None` on the disk.
    pub version_before: Option<i32>,
    /// The editor's version that completed it; `None` on the disk.
    pub version_after: Option<i32>,
    /// Whether the change is in a buffer only.
    pub unsaved: bool,
    /// The places.
    pub hunks: Vec<Hunk>,
    /// Remarks for the model: rebases, line ends the editor changed, what the user typed meanwhile.
    pub notes: Vec<String>,
    /// The change as a unified diff.
    pub unified_diff: String,
}

/// One queue for each document.
#[derive(Default)]
pub struct Queues {}
