//! What a person's word on proposals carries, exactly as it goes over the wire.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::dispatch::call::EditResult;
use crate::dispatch::review::{ChangesParams, HunkKind};
use crate::languages::{DiagnosticsReport, Wait};
use crate::tool::ErrorKind;
use crate::workspace::LineSpan;
use crate::workspace::proposals::{Becomes, Hunk, PendingFile};

/// `ropewalk/accept`: what is absent does not restrict; one of `hunkId`, `callId` and `uri` must be there.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AcceptParams {
    /// The session that proposed it; absent: the default one.
    pub session_id: Option<String>,
    /// One hunk, by its name in the session, for instance `p1.2`.
    pub hunk_id: Option<String>,
    /// All that a call proposed.
    pub call_id: Option<String>,
    /// All that is proposed for a file.
    pub uri: Option<String>,
    /// What is to be applied instead: with `uri` the whole text of the file, with `hunkId` the lines of the hunk.
    pub edited_text: Option<String>,
    /// How long to wait for diagnostics of what is applied.
    pub diagnostics: Wait,
}

/// `ropewalk/reject`: as [`AcceptParams`].
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RejectParams {
    /// The session that proposed it; absent: the default one.
    pub session_id: Option<String>,
    /// One hunk, by its name in the session, for instance `p1.2`.
    pub hunk_id: Option<String>,
    /// All that a call proposed.
    pub call_id: Option<String>,
    /// All that is proposed for a file.
    pub uri: Option<String>,
    /// What the model is told of the reason.
    pub feedback: Option<String>,
}

/// The answer to `ropewalk/accept`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AcceptResult {
    /// What is applied now, file by file: all that was named, or nothing.
    pub accepted: Vec<AcceptedFile>,
    /// What a formatter, or the editor on saving, made of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub followed: Vec<EditResult>,
    /// Remarks for the person: what was formatted, or could not be saved.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// What is known of problems afterwards; what comes later is told to the model with its next result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diagnostics: Option<DiagnosticsReport>,
    /// Why nothing was applied, or not all of it could be taken back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<Refused>,
}

/// A file with accepted hunks in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AcceptedFile {
    /// The names of the hunks that are applied; also of those that others stood on.
    pub hunk_ids: Vec<String>,
    /// The names under which `ropewalk/undo` takes them back, as `hunkId`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub change_ids: Vec<String>,
    /// What happened to the file.
    pub edit: EditResult,
}

/// Why a person's decision could not be followed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Refused {
    /// What kind of reason.
    pub kind: ErrorKind,
    /// The reason, for the person.
    pub message: String,
}

/// The answer to `ropewalk/reject`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RejectResult {
    /// What is not proposed any more, file by file.
    pub rejected: Vec<RejectedFile>,
    /// Why nothing was rejected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<Refused>,
}

/// A file of which hunks were rejected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RejectedFile {
    /// The file.
    pub uri: String,
    /// The names of the hunks that are gone.
    pub hunk_ids: Vec<String>,
    /// The calls that changed lines of named hunks once more: those stay until these calls are rejected.
    pub stand_under: Vec<String>,
}

/// A file for which a session proposes changes, in `ropewalk/changes`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProposedFile {
    /// The file that would be changed.
    pub uri: String,
    /// The editor's version that the lines are of; null where it is not open.
    pub version: Option<i32>,
    /// The session that proposes it.
    pub session_id: String,
    /// Where the file would be moved to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved_to: Option<String>,
    /// What is proposed, in the order of the text.
    pub hunks: Vec<ProposedHunk>,
}

/// A change that is proposed and not made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProposedHunk {
    /// Its name in its session, for `ropewalk/accept` and `ropewalk/reject`.
    pub hunk_id: String,
    /// What it is.
    pub kind: HunkKind,
    /// The turn of the call, where the caller named one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    /// The call that proposes it.
    pub call_id: String,
    /// The lines of the text as it is that it would replace.
    pub lines: LineSpan,
    /// Its lines in the proposed text.
    pub proposed_lines: LineSpan,
    /// What stands there; of a mode, the one that the file has, as git names it: `100644` or `100755`.
    pub before: String,
    /// What would stand there instead; of a mode, the one that it would get.
    pub after: String,
}

/// What sessions propose, as it is told: as far as it is of this turn, this call and of this name. `version` gives that of
/// an open document.
pub(in crate::dispatch) fn proposed(
    pending: Vec<PendingFile>,
    choice: &ChangesParams,
    version: impl Fn(&str) -> Option<i32>,
) -> Vec<ProposedFile> {
    let fits = |wanted: &Option<String>, found: Option<&str>| wanted.is_none() || wanted.as_deref() == found;
    let meant = |hunk: &Hunk| {
        fits(&choice.turn_id, hunk.by.turn.as_deref())
            && fits(&choice.call_id, Some(&hunk.by.call))
            && fits(&choice.hunk_id, Some(&hunk.id))
    };
    let file = |file: PendingFile| ProposedFile {
        version: version(&file.uri),
        hunks: file.hunks.into_iter().filter(meant).map(ProposedHunk::from).collect(),
        uri: file.uri,
        session_id: file.session,
        moved_to: file.moved_to,
    };
    let mut files: Vec<ProposedFile> = pending.into_iter().map(file).filter(|file| !file.hunks.is_empty()).collect();
    files.sort_by(|a, b| (&a.uri, &a.session_id).cmp(&(&b.uri, &b.session_id)));
    files
}

impl From<Hunk> for ProposedHunk {
    fn from(hunk: Hunk) -> ProposedHunk {
        ProposedHunk {
            kind: match hunk.fate {
                None => HunkKind::Changed,
                Some(Becomes::Created) => HunkKind::Created,
                Some(Becomes::Deleted) => HunkKind::Deleted,
                Some(Becomes::Moved) => HunkKind::Moved,
                Some(Becomes::Mode) => HunkKind::Mode,
            },
            hunk_id: hunk.id,
            turn_id: hunk.by.turn,
            call_id: hunk.by.call,
            lines: hunk.before,
            proposed_lines: hunk.after,
            before: hunk.old,
            after: hunk.new,
        }
    }
}
