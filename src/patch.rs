//! Patches: the `*** Begin Patch` format and unified diffs, parsed into one model and placed in a text. Pure.
//!
//! A patch is read whole before anything is done with it. Its hunks are placed by their lines and by nothing else: each
//! needs one place, in the order of the hunks; line numbers decide only where every one of a file is exactly right.

mod anchors;
mod apply;
mod envelope;
mod explain;
mod file;
mod git;
mod names;
mod numbers;
mod place;
mod source;
#[cfg(test)]
mod tests;
mod unified;

pub use apply::{Applied, PlacedHunk, apply};

use source::Source;

/// What a patch does with one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePatch {
    /// The file, as the patch names it; where it is moved or copied, the one it comes from.
    pub path: String,
    /// What happens to it.
    pub kind: Kind,
    /// Where the result goes, if that is elsewhere.
    pub move_to: Option<String>,
    /// The changes of its text, in the order of the text. For a new file: one, that only adds, or none.
    pub hunks: Vec<Hunk>,
    /// The mode that the file is to get, as git names it: `100644` or `100755`.
    pub mode: Option<String>,
    /// Where the patch begins to speak of it: 1-based line of the patch.
    pub line: usize,
}

/// What happens to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It is made.
    Add,
    /// It is deleted.
    Delete,
    /// Its text is changed.
    Update,
    /// It stays, and a copy of it with changes is made at `move_to`.
    Copy,
}

/// Some lines that belong together.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hunk {
    /// Where it begins: 1-based line of the patch.
    pub line: usize,
    /// Lines of the text above it (`@@ class A`), each below the one before: where it begins, and what it says.
    pub anchors: Vec<(usize, String)>,
    /// What the header of a unified diff says.
    pub numbers: Option<Numbers>,
    /// The last line of it is the last one of the text (`*** End of File`).
    pub at_end: bool,
    /// Where its lines begin: 1-based line of the patch.
    pub first: usize,
    /// Its lines.
    pub lines: Vec<HunkLine>,
}

/// The header of a hunk: `@@ -start,count +start,count @@ heading`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Numbers {
    /// First line of the text before, 1-based; for a count of 0 the line before the place.
    pub old_start: usize,
    /// How many lines before.
    pub old_count: usize,
    /// First line of the text after, 1-based; for a count of 0 the line before the place.
    pub new_start: usize,
    /// How many lines after.
    pub new_count: usize,
    /// The text behind the numbers: most often the function that the hunk is in.
    pub heading: String,
}

/// One line of a hunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HunkLine {
    /// Which texts have it.
    pub side: Side,
    /// The line without its end.
    pub text: String,
    /// Whether the text ends with it, without a line end.
    pub bare: bool,
    /// Whether it ended with CRLF where the patch itself does not.
    pub crlf: bool,
}

/// Which texts have a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Both.
    Context,
    /// The text before.
    Removed,
    /// The text after.
    Added,
}

impl FilePatch {
    /// Whether the patch makes the file one that can be run, or none; `None`: as it is.
    pub fn executable(&self) -> Option<bool> {
        match (self.kind, self.mode.as_deref()?) {
            (Kind::Delete, _) => None,
            (_, "100755") => Some(true),
            (Kind::Add, _) => None,
            (Kind::Update | Kind::Copy, _) => Some(false),
        }
    }
}

impl Hunk {
    /// The lines of the text before.
    fn before(&self) -> impl Iterator<Item = &HunkLine> {
        self.lines.iter().filter(|line| line.side != Side::Added)
    }

    /// The lines of the text after.
    fn after(&self) -> impl Iterator<Item = &HunkLine> {
        self.lines.iter().filter(|line| line.side != Side::Removed)
    }

    /// Where one of its lines (0-based) is in the patch, 0-based; marks that a line has no end are lines of their own.
    fn line_of(&self, at: usize) -> usize {
        self.first - 1 + at + self.lines.iter().take(at).filter(|line| line.bare).count()
    }

    /// Whether it can only be at the end of a text.
    fn ends(&self) -> bool {
        self.at_end || self.lines.iter().any(|line| line.bare)
    }
}

/// Why a patch cannot be applied, for the model: what arrived, what was expected, what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// What kind of reason.
    pub kind: FaultKind,
    /// The words.
    pub message: String,
    /// 1-based lines: of the patch for one that cannot be read, else of the text.
    pub lines: Vec<usize>,
}

/// The kinds of [`Fault`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FaultKind {
    /// It is no patch, or none that can be read.
    Unreadable,
    /// A hunk is not in the text.
    NotFound,
    /// A hunk fits two places or more.
    Ambiguous,
    /// The text is otherwise than the patch says.
    Conflict,
    /// There is nothing to change.
    Identical,
}

/// A patch longer than this (bytes) is refused.
pub const MAX_PATCH_BYTES: usize = 64 << 20;

/// Reads a patch of either format. Never gives an empty list.
pub fn parse(text: &str) -> Result<Vec<FilePatch>, Fault> {
    if text.len() > MAX_PATCH_BYTES {
        let message = format!(
            "The patch is {} bytes long; at most {MAX_PATCH_BYTES} are taken. Split it, or use the write tool.",
            text.len()
        );
        return Err(Fault { kind: FaultKind::Unreadable, message, lines: Vec::new() });
    }
    let source = Source::of(text)?;
    if source.envelope { envelope::parse(&source) } else { unified::parse(&source) }
}
