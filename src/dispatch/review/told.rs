//! What the methods of a review carry, exactly as it goes over the wire.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::dispatch::proposals::ProposedFile;
use crate::workspace::LineSpan;
use crate::workspace::checkpoints::{Became, By, Kind, Pending};

/// Which changes are meant: `ropewalk/keep`, and those below. All that fit everything that is given; without
/// anything, all there are.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ChangesParams {
    /// Those of this session; absent: of every session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Those of this turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    /// Those of this call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    /// Those in this document or file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    /// This one, as `ropewalk/changes` names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hunk_id: Option<String>,
}

/// What to list: `ropewalk/changes`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ListChangesParams {
    /// Which changes.
    #[serde(flatten)]
    pub choice: ChangesParams,
    /// Also those that a person accepted before they were made, and that can be undone still.
    pub include_accepted: bool,
}

/// What to undo: `ropewalk/undo`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct UndoParams {
    /// Which changes.
    #[serde(flatten)]
    pub choice: ChangesParams,
    /// Undoes this undo instead; nothing else may be given then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undo_id: Option<String>,
}

/// The answer to [`ListChangesParams`]: what nobody has judged yet.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ChangesResult {
    /// The files with such changes, by name.
    pub files: Vec<ChangedFile>,
    /// What is proposed and not made: the files that would be changed, by name, each once for every session that
    /// proposes something for it.
    pub proposals: Vec<ProposedFile>,
    /// The undos that can be undone, the oldest first, whatever was asked for.
    pub undos: Vec<UndoInfo>,
}

/// A document or file with changes that nobody has judged yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangedFile {
    /// Its URI; the editor's spelling where it is open.
    pub uri: String,
    /// The editor's version that the lines are of; null where it is not open.
    pub version: Option<i32>,
    /// The hunks, by their places.
    pub hunks: Vec<HunkInfo>,
}

/// A change that nobody has judged yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HunkInfo {
    /// Names it, for as long as it is there.
    pub hunk_id: String,
    /// What it is.
    pub kind: HunkKind,
    /// The session that made it.
    pub session_id: String,
    /// Its turn, where the caller named one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    /// The call that made it.
    pub call_id: String,
    /// Where it is now. Of one that a later call changed once more, the lines of that change.
    pub lines: LineSpan,
    /// What stood there before; of a deleted file, its text.
    pub before: String,
    /// What the call left there.
    pub after: String,
    /// What is there now, with what the person has put in.
    pub now: String,
    /// Whether the person has changed something among its lines.
    pub touched: bool,
    /// A person accepted it before it was made.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub accepted: bool,
    /// The call that changed the same lines once more: it has to be undone first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub under: Option<Maker>,
    /// Of a file that was moved, where it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved_from: Option<String>,
}

/// What a change is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum HunkKind {
    /// Lines of a file.
    Changed,
    /// A file was made, with these lines.
    Created,
    /// A file was deleted.
    Deleted,
    /// A file was moved.
    Moved,
    /// A file was given the right to be run, or lost it.
    Mode,
}

/// Who made a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Maker {
    /// The session.
    pub session_id: String,
    /// The call.
    pub call_id: String,
}

impl From<&By> for Maker {
    fn from(by: &By) -> Maker {
        Maker { session_id: by.session.clone(), call_id: by.call.clone() }
    }
}

/// An undo that can be undone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UndoInfo {
    /// Names it.
    pub undo_id: String,
    /// The files that it was about.
    pub uris: Vec<String>,
}

/// The answer to `ropewalk/keep`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct KeepResult {
    /// The hunks that are kept, and are no changes any more; with one, those that lie under it.
    pub kept: Vec<String>,
}

/// The answer to `ropewalk/undo`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct UndoResult {
    /// Names what was done, so that it can be undone in its turn; absent where nothing was, and after the undo of an undo.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undo_id: Option<String>,
    /// What became of each hunk that was meant. Empty: none was.
    pub hunks: Vec<UndoneHunk>,
    /// The files that were changed.
    pub edits: Vec<UndoEdit>,
}

/// What became of a hunk that was to be undone, or brought back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UndoneHunk {
    /// The hunk.
    pub hunk_id: String,
    /// Its document or file.
    pub uri: String,
    /// What became of it.
    pub outcome: Outcome,
    /// Why something stays, in words for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// What became of a hunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// It is undone; what the person had put in among its lines is there.
    Undone,
    /// It is undone, or a change again, but for what the person had changed of it.
    Partly,
    /// It is as it was.
    Left,
    /// It is a change again: its undo was undone.
    Restored,
}

/// A file that an undo changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UndoEdit {
    /// The file; of one that was moved back, where it is now.
    pub uri: String,
    /// The editor's version after it; null on the disk.
    pub version_after: Option<i32>,
    /// Whether it is in the editor's buffer only.
    pub unsaved: bool,
    /// Whether the file was deleted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deleted: bool,
    /// The change as a unified diff.
    pub unified_diff: String,
}

/// The hunks of files, as they are told. `version` gives that of an open document.
pub(super) fn files(pending: Vec<Pending>, version: impl Fn(&Pending) -> Option<i32>) -> Vec<ChangedFile> {
    let mut files: Vec<ChangedFile> = Vec::new();
    for one in pending {
        let uri = one.target.uri.clone();
        if files.last().is_none_or(|file| file.uri != uri) {
            files.push(ChangedFile { uri, version: version(&one), hunks: Vec::new() });
        }
        if let Some(file) = files.last_mut() {
            file.hunks.push(hunk(one));
        }
    }
    files
}

fn hunk(pending: Pending) -> HunkInfo {
    let (kind, moved_from) = match pending.kind {
        Kind::Changed => (HunkKind::Changed, None),
        Kind::File(Became::Created) => (HunkKind::Created, None),
        Kind::File(Became::Deleted) => (HunkKind::Deleted, None),
        Kind::File(Became::Moved { from }) => (HunkKind::Moved, Some(from.uri)),
        Kind::File(Became::Executable { .. }) => (HunkKind::Mode, None),
    };
    HunkInfo {
        hunk_id: pending.hunk,
        kind,
        accepted: pending.by.accepted,
        session_id: pending.by.session,
        turn_id: pending.by.turn,
        call_id: pending.by.call,
        lines: pending.lines,
        before: pending.before,
        after: pending.after,
        now: pending.now,
        touched: pending.touched,
        under: pending.under.as_ref().map(Maker::from),
        moved_from,
    }
}
