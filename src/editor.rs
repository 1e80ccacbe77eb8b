//! The port to the editor: what we may ask of it and tell it. The front implements it over the wire; tests fake it.
//!
//! The editor owns its buffers. Nothing here changes a document of ours: an edit that was asked for counts only when
//! the editor's own change notification has shown it.

mod absent;
mod agents;
mod asking;
mod mcp;
mod session_news;
mod texts;

pub use absent::Absent;
pub use agents::{AgentStatus, RunAgentParams, RunAgentResult};
pub use asking::{AskAnswer, AskOption, AskParams, AskQuestion, AskResult, AskSelected};
pub use mcp::{ElicitAction, ElicitAnswer, ElicitMode, ElicitParams, SampleAnswer, SampleParams};
pub use session_news::{ModeChanged, Todo, TodoPriority, TodoStatus, TodosChanged};
pub use texts::{FormatParams, FormatResult, SaveFailure, SaveParams, SaveResult};

use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::text::{LineBreaks, TextEdit};

/// What the editor said it can do for us: `capabilities.experimental.ropewalk`, and the standard capabilities that
/// matter to us. All absent means a plain LSP client.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[expect(clippy::struct_excessive_bools, reason = "the protocol has them as independent booleans")]
pub struct Abilities {
    /// Answers `ropewalk/approve`.
    pub approve: bool,
    /// Answers `ropewalk/ask`.
    pub ask: bool,
    /// Answers `ropewalk/runAgent`.
    pub run_agent: bool,
    /// Answers `ropewalk/runTool`.
    pub run_tool: bool,
    /// Answers `ropewalk/save`.
    pub save: bool,
    /// Answers `ropewalk/format`.
    pub format: bool,
    /// Answers `ropewalk/resync`.
    pub resync: bool,
    /// Answers `ropewalk/elicit`.
    pub elicit: bool,
    /// Answers `ropewalk/sample`.
    pub sample: bool,
    /// Forwards diagnostics, and answers `ropewalk/pullDiagnostics`.
    pub diagnostics: bool,
    /// Can show images to the model.
    pub images: bool,
    /// Wants `ropewalk/toolEvent` and the other events.
    pub events: bool,
    /// Which characters end a line for it.
    pub line_breaks: LineBreaks,
    /// How it shows changes for review.
    pub review: Review,
    /// It registers our commands by itself, so that we must not advertise them.
    pub owns_commands: bool,
}

/// How a client shows changes for review.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Review {
    /// By code lenses.
    Lens,
    /// Not at all, or by its own means.
    #[default]
    None,
}

/// One edit of one open document, computed against exactly one version of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApplyEdit {
    /// The document, spelled as the editor spells it.
    pub uri: String,
    /// The version the edit was computed against.
    pub version: i32,
    /// Replacements in rising order that do not overlap, in the negotiated encoding and line count.
    pub edits: Vec<TextEdit>,
    /// What the editor may call the change in its undo list.
    pub label: String,
}

/// The editor's answer to an edit. It is not believed; the echo is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditReply {
    /// Whether the editor says that it applied the edit.
    pub applied: bool,
    /// Why not, in its words.
    pub reason: Option<String>,
}

/// The text of a document as the editor has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Resync {
    /// The editor's version.
    pub version: i32,
    /// The whole text.
    pub text: String,
    /// Whether halves of surrogate pairs were in it, for each of which U+FFFD stands in `text`. The editor does not say
    /// so: it is what reading its answer showed.
    #[serde(skip)]
    pub mended: bool,
}

/// A question about calls that need a person's consent: `ropewalk/approve`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApproveParams {
    /// The session whose calls they are.
    pub session_id: String,
    /// The calls, in order.
    pub calls: Vec<ApproveCall>,
}

/// One call that needs consent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApproveCall {
    /// Names the call in the answer.
    pub call_id: String,
    /// The tool.
    pub name: String,
    /// Its arguments as they will be used.
    pub arguments: Value,
    /// Every file, command or host the call reaches, resolved.
    pub targets: Vec<String>,
    /// The change as a unified diff, if the call makes one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// Why it is asked.
    pub reason: String,
    /// How much can go wrong.
    pub risk: Risk,
    /// The rule that, among the user's `permissions.allow`, would let this call and what it covers pass; absent where one
    /// rule cannot say it, or none would help.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggested_rule: Option<String>,
}

/// How much can go wrong in a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Risk {
    /// Nothing changes.
    Low,
    /// Something changes that can be undone.
    Medium,
    /// Something leaves the machine, runs, or cannot be undone.
    High,
}

/// The answer to [`ApproveParams`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ApproveResult {
    /// One decision for each call; a call that is missing is denied.
    pub decisions: Vec<ApproveDecision>,
}

/// The decision on one call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApproveDecision {
    /// Which call.
    pub call_id: String,
    /// What was decided.
    pub decision: Consent,
    /// Other arguments to use instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Value>,
    /// Words for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<String>,
}

/// What a person answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Consent {
    /// This call.
    Once,
    /// Calls like it in this session.
    Session,
    /// Calls like it from now on.
    Always,
    /// No.
    Deny,
}

/// A call of a tool of the editor's own: `ropewalk/runTool`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunToolParams {
    /// The session of the call.
    pub session_id: String,
    /// The call.
    pub call_id: String,
    /// The tool, as it was registered.
    pub name: String,
    /// Arguments that fit its schema.
    pub arguments: Value,
}

/// The answer to [`RunToolParams`].
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RunToolResult {
    /// The complete answer for the model: `{ type: "text", text }` and `{ type: "image", data, mimeType }`.
    pub content: Vec<Value>,
    /// The same as data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<Value>,
    /// Whether it failed; `content` says how.
    pub is_error: bool,
}

/// Why a question to the editor got no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AskError {
    /// The editor did not declare that it can answer.
    #[error("the editor does not support this")]
    Unsupported,
    /// It answered with an error.
    #[error("the editor answered with an error: {0}")]
    Refused(String),
    /// It did not answer in time.
    #[error("the editor did not answer in time")]
    Timeout,
    /// The connection is gone.
    #[error("the editor is gone")]
    Gone,
}

/// A file that was made, changed or removed on the disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileChanged {
    /// The file.
    pub uri: String,
    /// What happened.
    #[serde(rename = "type")]
    pub kind: FileChangeKind,
    /// Who did it.
    pub by: Origin,
}

/// What happened to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FileChangeKind {
    /// It is new.
    Created,
    /// Its content changed.
    Changed,
    /// It is gone.
    Deleted,
}

/// Who made a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// A tool call.
    Agent,
    /// The person.
    User,
    /// A formatter: the editor's when it saves, or one that ran after a tool call.
    Editor,
}

/// A stage in the life of a call, for front ends: `ropewalk/toolEvent`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolEvent {
    /// The session.
    pub session_id: String,
    /// The call.
    pub call_id: String,
    /// What happened.
    pub kind: ToolEventKind,
    /// The tool, on `start`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Words or data that go with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<Value>,
}

/// The stages a front end hears of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ToolEventKind {
    /// The call began to run.
    Start,
    /// The edit as it streams in; never applied.
    Preview,
    /// Output of a running call.
    Output,
    /// The call ended; `detail` is its result.
    Complete,
}

/// How loud a log line for the person is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loudness {
    /// Something is broken.
    Error,
    /// Something is odd.
    Warning,
    /// Something happened.
    Info,
}

/// How many calls of a session wait for a person: for their consent, or for their answer to a question.
/// `ropewalk/approvalsChanged`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalsChanged {
    /// The session.
    pub session_id: String,
    /// How many calls wait now.
    pub waiting: usize,
}

/// How a piece of background work is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum JobState {
    /// It runs.
    Running,
    /// It came to its end.
    Exited,
    /// It failed.
    Failed,
    /// It was stopped.
    Stopped,
}

/// A piece of background work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobInfo {
    /// Names it in its session: `j1`, `j2` and so on.
    pub id: String,
    /// What it is, for people.
    pub label: String,
    /// How it is doing.
    pub state: JobState,
    /// How it ended, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// How much it has put out so far (bytes), also what is not kept any more.
    pub output_bytes: u64,
    /// Of that, from its beginning, so much is not kept any more (bytes).
    pub dropped_bytes: u64,
}

/// The jobs of a session changed: `ropewalk/jobsChanged`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobsChanged {
    /// The session.
    pub session_id: String,
    /// All its jobs, in the order in which they were started.
    pub jobs: Vec<JobInfo>,
}

/// What becomes of a piece of work that a client gave a `workDoneToken` for: `$/progress`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum WorkDone {
    /// It began.
    Begin {
        /// What it is.
        title: String,
        /// Whether `window/workDoneProgress/cancel` would end it: never, `$/cancelRequest` does.
        cancellable: bool,
    },
    /// It goes on.
    Report {
        /// What it does.
        #[serde(skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        /// How far it is, from 0 to 100.
        #[serde(skip_serializing_if = "Option::is_none")]
        percentage: Option<u32>,
    },
    /// It ended.
    End {
        /// How.
        message: String,
    },
}

/// What we tell the editor without expecting an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum News {
    /// `ropewalk/toolEvent`
    Tool(ToolEvent),
    /// `ropewalk/approvalsChanged`
    Approvals(ApprovalsChanged),
    /// `ropewalk/jobsChanged`
    Jobs(JobsChanged),
    /// `$/progress` for a token of the client's
    Progress(Value, WorkDone),
    /// `ropewalk/filesChanged`
    Files(Vec<FileChanged>),
    /// `window/logMessage`
    Log(Loudness, String),
    /// `window/showMessage`
    Show(Loudness, String),
    /// `ropewalk/todosChanged`
    Todos(TodosChanged),
    /// `ropewalk/modeChanged`
    Mode(ModeChanged),
    /// `ropewalk/changesChanged`, and `workspace/codeLens/refresh` where lenses show them
    Changes(ChangesChanged),
    /// `ropewalk/toolsChanged`
    Tools(ToolsChanged),
    /// `ropewalk/lateDiagnostics`, as a report of diagnostics in JSON
    LateDiagnostics(Value),
}

/// There are other changes to review now: `ropewalk/changesChanged`. Typing alone never causes it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ChangesChanged {
    /// The documents and files whose changes are others now, sorted.
    pub uris: Vec<String>,
}

/// The list of tools is another one now: `ropewalk/toolsChanged`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ToolsChanged {
    /// Only that of this session; absent: that of every session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
}

/// Hears news in the moment it is told, and must only put it on a queue. Answers whether it was for the ear alone.
pub type Ear = Box<dyn Fn(&News) -> bool + Send + Sync>;

/// What we may ask of the editor. Each question has a deadline of its own, except those a person answers. What an editor
/// is not made for is [`AskError::Unsupported`].
#[async_trait]
pub trait Editor: Send + Sync + 'static {
    /// What it declared.
    fn abilities(&self) -> Abilities {
        Abilities::default()
    }
    /// Asks for an edit of an open document.
    async fn apply_edit(&self, edit: ApplyEdit, deadline: Duration) -> Result<EditReply, AskError> {
        let _ = (edit, deadline);
        Err(AskError::Unsupported)
    }
    /// Asks for the text of a document as it is now.
    async fn resync(&self, uri: &str, deadline: Duration) -> Result<Resync, AskError> {
        let _ = (uri, deadline);
        Err(AskError::Unsupported)
    }
    /// Whether there is a way to ask a person for consent.
    fn can_approve(&self) -> bool {
        self.abilities().approve
    }
    /// Asks a person for consent, by `ropewalk/approve` or, where only that is declared, a message with buttons.
    async fn approve(&self, params: ApproveParams) -> Result<ApproveResult, AskError> {
        let _ = params;
        Err(AskError::Unsupported)
    }
    /// Whether there is a way to ask a person anything.
    fn can_ask(&self) -> bool {
        self.abilities().ask
    }
    /// Asks a person, by `ropewalk/ask` or, where only that is declared, by messages with buttons. Questions that are no
    /// longer waited for are taken back.
    async fn ask_person(&self, params: AskParams) -> Result<AskResult, AskError> {
        let _ = params;
        Err(AskError::Unsupported)
    }
    /// Asks for the diagnostics of a document, raw; they come as ordinary forwarded diagnostics.
    async fn pull_diagnostics(&self, uri: &str, deadline: Duration) -> Result<(), AskError> {
        let _ = (uri, deadline);
        Err(AskError::Unsupported)
    }
    /// From now on this ear hears all that is told, before the editor does. Only the first one counts; where nothing is
    /// told to anybody, it hears nothing.
    fn overhear(&self, ear: Ear) {
        drop(ear);
    }
    /// Tells it something, in order, without waiting.
    fn tell(&self, news: News);
    /// Whether much of what it was told is still unread. What can be told later, and together, waits then: nothing that is
    /// told bounds the queue of what it has not read.
    fn is_behind(&self) -> bool {
        false
    }
    /// Asks how its formatter would change a document of this version; `None`: it has no formatter for it.
    async fn format(&self, uri: &str, version: i32, deadline: Duration) -> Result<Option<Vec<TextEdit>>, AskError> {
        let _ = (uri, version, deadline);
        Err(AskError::Unsupported)
    }
    /// Asks it to save documents. What it answers is not believed; the disk is looked at.
    async fn save(&self, uris: &[String], deadline: Duration) -> Result<SaveResult, AskError> {
        let _ = (uris, deadline);
        Err(AskError::Unsupported)
    }
    /// Asks it to run a tool of its own. A call that is no longer waited for is taken back.
    async fn run_tool(&self, params: RunToolParams, deadline: Duration) -> Result<RunToolResult, AskError> {
        let _ = (params, deadline);
        Err(AskError::Unsupported)
    }
    /// Asks it to run an agent to its end. One that is no longer waited for is taken back.
    async fn run_agent(&self, params: RunAgentParams, deadline: Duration) -> Result<RunAgentResult, AskError> {
        let _ = (params, deadline);
        Err(AskError::Unsupported)
    }
    /// Passes on what an MCP server asks a person for. A question that is no longer waited for is taken back.
    async fn elicit(&self, params: ElicitParams) -> Result<ElicitAnswer, AskError> {
        let _ = params;
        Err(AskError::Unsupported)
    }
    /// Passes on what an MCP server asks a model for. A question that is no longer waited for is taken back.
    async fn sample(&self, params: SampleParams) -> Result<SampleAnswer, AskError> {
        let _ = params;
        Err(AskError::Unsupported)
    }
}
