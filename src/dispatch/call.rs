//! A call and its result, exactly as they go over the wire.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use super::dialects::Dialect;
pub use crate::permissions::{DecisionKind, Requirement};

use crate::languages::{DiagnosticsReport, Wait};
use crate::outputs::OutputKind;
use crate::sessions::policy::Apply;
use crate::tool::{Capability, Content, ErrorKind};
use crate::workspace::{Committed, Fate, Hunk};

/// `ropewalk/callTool`
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CallParams {
    /// The session; absent: the default one.
    pub session_id: Option<String>,
    /// The turn of the model the call belongs to.
    pub turn_id: Option<String>,
    /// The caller's name for the call; absent: one is given.
    pub call_id: Option<String>,
    /// The tool.
    pub name: String,
    /// The arguments: an object, or the raw text the model wrote.
    pub arguments: Option<Value>,
    /// The model's output limit cut the call off.
    pub truncated: bool,
    /// The `previewId` of a preview a person consented to.
    pub approved_by: Option<String>,
    /// Where progress is reported (LSP `workDoneToken`).
    pub work_done_token: Option<Value>,
    /// At most so many bytes of text in the answer, below the settings' limit.
    pub max_bytes: Option<usize>,
    /// What becomes of its changes: `propose` lets a person accept or reject them, also where the session makes its
    /// changes at once; `now` does not make them at once where the session proposes.
    pub apply: Option<Apply>,
    /// How long to wait for diagnostics.
    pub diagnostics: Wait,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It did what it should.
    Ok,
    /// It failed; `error` says how.
    Error,
    /// A person or a rule said no.
    Denied,
    /// It was cancelled.
    Cancelled,
    /// Something newer took its place.
    Superseded,
}

/// How much of a change was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AppliedPart {
    /// Nothing.
    None,
    /// Part of it.
    Some,
    /// All of it.
    All,
}

/// What happened to one file or document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EditResult {
    /// Which one.
    pub uri: String,
    /// The editor's version the edit was computed against; null on the disk.
    pub version_before: Option<i32>,
    /// The editor's version that completed it; null on the disk.
    pub version_after: Option<i32>,
    /// Whether the edit is in a buffer and not on the disk.
    pub unsaved: bool,
    /// The places.
    pub hunks: Vec<Hunk>,
    /// The change.
    pub unified_diff: String,
    /// Where it is only proposed: the names of its hunks, for `accept` and `reject`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hunk_ids: Vec<String>,
    /// Whether the file is deleted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deleted: bool,
    /// Where the file was moved to; absent when it stays where it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved_to: Option<String>,
}

impl EditResult {
    /// What was done to a file.
    pub(super) fn of(committed: &Committed) -> EditResult {
        EditResult {
            uri: committed.target.uri.clone(),
            version_before: committed.version_before,
            version_after: committed.version_after,
            unsaved: committed.unsaved,
            hunks: committed.hunks.clone(),
            unified_diff: committed.unified_diff.clone(),
            deleted: committed.fate == Fate::Deleted,
            moved_to: moved_to(&committed.fate),
            hunk_ids: Vec::new(),
        }
    }
}

/// Where a file is moved to, if it is.
pub(super) fn moved_to(fate: &Fate) -> Option<String> {
    match fate {
        Fate::Moved { to } => Some(to.uri.clone()),
        Fate::Stays | Fate::Deleted => None,
    }
}

/// What went wrong.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CallError {
    /// What kind.
    pub kind: ErrorKind,
    /// The details as data: candidates, lines, faults.
    #[serde(default)]
    pub data: Value,
}

/// Where the whole of a cut output is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OutputInfo {
    /// Its name for the `output` method.
    pub id: String,
    /// Its length in bytes.
    pub total_bytes: usize,
    /// Whether `content` has less.
    pub truncated: bool,
    /// What sort of text it is, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<OutputKind>,
    /// Parts of this result, other than `content`, that are too long to be sent whole.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
}

/// A part of a result that is not sent whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LeftOut {
    /// Which one, for instance `edits[0].unifiedDiff`. A diff or a list is cut at its end; `structuredContent` is absent.
    pub field: String,
    /// How many bytes of it are left out (of what is no text: as JSON).
    pub bytes: usize,
    /// The output that has all of it, for the `output` method; absent when none has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
}

/// How long the stages took, in ms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Timing {
    /// Waiting for its turn.
    pub queued_ms: u64,
    /// Waiting for a person.
    pub approval_ms: u64,
    /// Running.
    pub run_ms: u64,
    /// Being applied by the editor or written.
    pub apply_ms: u64,
    /// Waiting for diagnostics.
    pub diagnostics_ms: u64,
}

/// The one result of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CallResult {
    /// The call.
    pub call_id: String,
    /// The tool that ran, by its real name.
    pub name: String,
    /// How it ended.
    pub status: Status,
    /// Whether the model should take it for an error.
    pub is_error: bool,
    /// The complete answer for the model.
    pub content: Vec<Content>,
    /// The same as data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<Value>,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<CallError>,
    /// How much of a change was made; absent for calls that change nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applied: Option<AppliedPart>,
    /// Nothing was applied: `edits` is what the call proposes, for a person to accept or reject.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub proposed: bool,
    /// What was changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edits: Option<Vec<EditResult>>,
    /// What is known of problems afterwards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diagnostics: Option<DiagnosticsReport>,
    /// Where the whole output is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<OutputInfo>,
    /// How long the stages took.
    pub timing: Timing,
}

/// `ropewalk/listTools`
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ListToolsParams {
    /// The session; absent: the default one.
    pub session_id: Option<String>,
    /// Also the deferred tools that the session has not called yet.
    pub include_deferred: bool,
    /// For which API the tools are wanted.
    pub dialect: Dialect,
}

/// A tool in a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ListedTool {
    /// With all that is known of it: the dialect `plain`.
    Plain(Box<ToolInfo>),
    /// As another dialect has it.
    Shaped(Map<String, Value>),
}

/// A tool as a client sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolInfo {
    /// Its name.
    pub name: String,
    /// Its name for people.
    pub title: String,
    /// What it is for.
    pub description: String,
    /// JSON Schema of its arguments.
    pub input_schema: Value,
    /// JSON Schema of its structured answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// MCP's annotations.
    pub annotations: Annotations,
    /// What it can do.
    pub capabilities: Vec<Capability>,
    /// Whether a person is asked, in general.
    pub approval: Requirement,
    /// Whether neighbours may run beside it.
    pub parallel: bool,
    /// Whether it is listed only once it has been called, or asked for by `includeDeferred`.
    pub deferred: bool,
    /// Why it cannot be called: its name or schema is broken, and this only stands in for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unavailable: Option<String>,
}

/// MCP's hints, derived from the capabilities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "the protocol has them as four booleans")]
pub struct Annotations {
    /// It changes nothing.
    pub read_only_hint: bool,
    /// It may destroy something.
    pub destructive_hint: bool,
    /// Twice is as good as once.
    pub idempotent_hint: bool,
    /// It reaches beyond this machine.
    pub open_world_hint: bool,
}

/// `ropewalk/previewCall`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PreviewResult {
    /// What `approvedBy` takes.
    pub preview_id: String,
    /// The tool, by its real name.
    pub name: String,
    /// The arguments as they would be used.
    pub arguments: Value,
    /// What was mended in them.
    pub repairs: Vec<String>,
    /// Whether mending invented structure.
    pub synthesized: bool,
    /// Whether the call could run.
    pub valid: bool,
    /// Why not.
    pub problems: Vec<String>,
    /// What it would reach, resolved.
    pub access: AccessInfo,
    /// The change as a unified diff.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// Whether it would be asked about.
    pub approval: ApprovalInfo,
}

/// What a call would reach.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct AccessInfo {
    /// URIs it reads.
    pub reads: Vec<String>,
    /// URIs it changes.
    pub writes: Vec<String>,
    /// Command lines it runs.
    pub commands: Vec<String>,
    /// Hosts it talks to.
    pub hosts: Vec<String>,
}

/// Whether a call would be asked about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalInfo {
    /// In general.
    pub requirement: Requirement,
    /// This call.
    pub decision: DecisionKind,
    /// Why.
    pub reason: String,
    /// How much can go wrong.
    pub risk: crate::editor::Risk,
}
