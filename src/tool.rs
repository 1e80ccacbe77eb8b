//! The slot: what a tool is, what it gets, what it gives back.
//!
//! A tool declares data (capabilities, access, schema) and does one thing. Everything that holds for all tools
//! (names, arguments, approval, order, deadlines, budgets, diagnostics) is in `dispatch`, once.

mod door;
mod erased;
mod kept;
mod progress;
pub mod sanitise;
mod slot;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

pub use door::{Closed, Door, Invitation, SOCKET_VARIABLE, TOKEN_VARIABLE};
pub use erased::{Erased, erase, plain_schema};
pub use progress::{Progress, Told};
pub use slot::{Listed, NestedCall, NestedResult, Slot};

use crate::config::Settings;
use crate::editor::Abilities;
use crate::jobs::Jobs;
use crate::languages::Languages;
use crate::outputs::{Long, OutputKind, SpillPlace};
use crate::permissions::{Footing, Trust};
use crate::process::Programs;
use crate::sessions::Session;
use crate::workspace::{FileChange, Refusal, RefusalKind, Workspace};

/// What a tool can do to the world. Approval and annotations derive from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Capability {
    /// Reads files or documents.
    ReadsFiles,
    /// Changes files or documents.
    WritesFiles,
    /// Runs programs.
    ExecutesCode,
    /// Talks to other machines.
    Network,
}

/// What one call reaches, computed from its arguments before it runs. Names as the model gave them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Access {
    /// Files or documents it reads.
    pub reads: Vec<String>,
    /// Files or documents it changes.
    pub writes: Vec<String>,
    /// Command lines it runs.
    pub commands: Vec<String>,
    /// Hosts it talks to.
    pub hosts: Vec<String>,
    /// Memories of the workspace folder that it changes, as `type/name`.
    pub memories: Vec<String>,
}

/// The deadline of a call that waits for a person: none. Only cancelling it, or the end of the editor, ends it early.
pub const NO_DEADLINE: Duration = Duration::MAX;

/// A tool's own data about itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Traits<'a> {
    /// Its name on the wire.
    pub name: &'a str,
    /// Its name for people.
    pub title: &'a str,
    /// What it can do.
    pub capabilities: &'a [Capability],
    /// Whether neighbours that are parallel too may run beside it.
    pub parallel: bool,
    /// Whether it is listed only once it has been searched for or called.
    pub deferred: bool,
    /// The parameter that takes the whole of what a model wrote when that is no JSON object: a patch, a command.
    pub free_form: Option<&'a str>,
    /// How long a call may run, its approval and diagnostics aside; [`NO_DEADLINE`]: for ever.
    pub deadline: Duration,
    /// Other names of its parameters: (other, real).
    pub aliases: &'a [(&'a str, &'a str)],
    /// Other names of the tool.
    pub names: &'a [&'a str],
}

impl Traits<'_> {
    /// Whether its calls change nothing and run nothing.
    pub fn read_only(&self) -> bool {
        !self
            .capabilities
            .iter()
            .any(|capability| matches!(capability, Capability::WritesFiles | Capability::ExecutesCode))
    }
}

/// What a tool gets.
#[derive(Clone)]
pub struct Context {
    /// The session of the call.
    pub session: Arc<Session>,
    /// Files and documents.
    pub workspace: Arc<Workspace>,
    /// Diagnostics.
    pub languages: Arc<Languages>,
    /// Fires when the call is cancelled.
    pub cancel: CancellationToken,
    /// At most so many bytes of text of the answer reach the model; what is beyond is cut out of its middle.
    pub budget: usize,
    /// The way back into the slot, for tools that know of other tools.
    pub slot: Arc<dyn Slot>,
    /// Where a running call says what it puts out and how far it has come.
    pub progress: Progress,
    /// Work that goes on when the call has ended.
    pub jobs: Arc<Jobs>,
    /// Programs to find and to start.
    pub programs: Arc<dyn Programs>,
    /// Where an output goes that becomes long; `None`: there is no such place.
    pub spill: Option<SpillPlace>,
    /// The caller's name for the call: what it shows is forgotten by that name.
    pub call: Arc<str>,
    /// The trust that it was judged by, for what it starts.
    pub footing: Footing,
    /// Which folders are trusted: nothing of another one is obeyed.
    pub trust: Arc<Trust>,
}

/// One piece of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum Content {
    /// Text for the model.
    #[serde(rename_all = "camelCase")]
    Text {
        /// The text.
        text: String,
    },
    /// A picture for the model.
    #[serde(rename_all = "camelCase")]
    Image {
        /// Base64.
        data: String,
        /// For instance `image/png`.
        mime_type: String,
    },
}

impl Content {
    /// Text.
    pub fn text(text: impl Into<String>) -> Content {
        Content::Text { text: text.into() }
    }
}

/// What a call that changes nothing gives back.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Outcome {
    /// The complete answer for the model.
    pub content: Vec<Content>,
    /// The same as data, for front ends.
    pub structured: Option<Value>,
    /// What sort of text it is, where the tool knows; else it is told from the command line the call runs.
    pub kind: Option<OutputKind>,
    /// Where the text comes from, if that is another machine: it is marked as such for the model. The text of a tool
    /// that talks to others is marked even where this is missing.
    pub external: Option<String>,
    /// Words of ours that stand behind the text: no part of it, and outside of the marks of text from elsewhere.
    pub beside: Vec<String>,
    /// The text is a view of an output that is kept already: it is not kept again.
    pub view_of: Option<ViewOf>,
    /// The call failed all the same, and how; `content` is its words, kept and cut as any output.
    pub failed: Option<Failed>,
    /// The text is in a file already, which is kept as it is. Then `content` has no text.
    pub long: Option<Long>,
}

/// How a call failed that has an output all the same.
#[derive(Debug, Clone, PartialEq)]
pub struct Failed {
    /// What kind.
    pub kind: ErrorKind,
    /// The details as data.
    pub data: Option<Value>,
}

/// Which output a text is a view of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViewOf {
    /// Its name.
    pub id: String,
    /// Its length in bytes.
    pub total_bytes: usize,
    /// Whether the view is less than all of it.
    pub truncated: bool,
}

/// What a call is about to do.
pub enum Plan {
    /// Run [`Tool::run`].
    Run,
    /// Make these changes, in order; dispatch previews, asks and commits.
    Change(Vec<FileChange>),
}

/// Why a call failed: `error.kind` of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ErrorKind {
    /// No tool of that name.
    UnknownTool,
    /// The arguments do not fit.
    InvalidArguments,
    /// The call was cut off by the model's output limit.
    Truncated,
    /// Two or more places fit.
    Ambiguous,
    /// No such file or text.
    NotFound,
    /// Changed since it was read, or never read.
    Stale,
    /// The text moved on, or the editor refused.
    Conflict,
    /// Sent, and nobody can say whether it landed.
    Unknown,
    /// A person or a rule said no.
    Denied,
    /// Cancelled.
    Cancelled,
    /// Took too long.
    Timeout,
    /// Something needed is not there.
    Unavailable,
    /// It failed.
    Failed,
}

/// A failure for the model to act on: what arrived, what was expected, what to do next.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct ToolError {
    /// What kind.
    pub kind: ErrorKind,
    /// The words.
    pub message: String,
    /// The same as data.
    pub data: Option<Value>,
    /// Whether the same call may well succeed a moment later. Counts with [`ErrorKind::Unavailable`] only.
    pub transient: bool,
}

impl ToolError {
    /// A failure without data.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> ToolError {
        ToolError { kind, message: message.into(), data: None, transient: false }
    }

    /// Something that is not there at the moment, and may be a moment later.
    pub fn transient(message: impl Into<String>) -> ToolError {
        ToolError { transient: true, ..ToolError::new(ErrorKind::Unavailable, message) }
    }
}

impl From<Refusal> for ToolError {
    fn from(refusal: Refusal) -> ToolError {
        let kind = match refusal.kind {
            RefusalKind::InvalidArguments => ErrorKind::InvalidArguments,
            RefusalKind::Ambiguous => ErrorKind::Ambiguous,
            RefusalKind::NotFound => ErrorKind::NotFound,
            RefusalKind::Stale => ErrorKind::Stale,
            RefusalKind::Conflict => ErrorKind::Conflict,
            RefusalKind::Unknown => ErrorKind::Unknown,
            RefusalKind::Cancelled => ErrorKind::Cancelled,
            RefusalKind::Unavailable => ErrorKind::Unavailable,
            RefusalKind::Failed => ErrorKind::Failed,
        };
        ToolError { data: refusal.data, ..ToolError::new(kind, refusal.message) }
    }
}

/// A tool, typed. Its argument struct's doc comment is its description, the fields' are the parameters'.
#[async_trait]
pub trait Tool: Send + Sync + 'static {
    /// Its arguments.
    type Arguments: DeserializeOwned + Serialize + JsonSchema + Send + Sync + 'static;

    /// Its data about itself.
    const TRAITS: Traits<'static>;

    /// Whether it is kept out of every list; it can be called all the same, by its exact name.
    const HIDDEN: bool = false;

    /// A call that is cancelled may go on for so long, to end what it began and to give what it has.
    const WINDS_DOWN: Duration = Duration::ZERO;

    /// What its description says besides, of the world as it was when [`Tool::look_again`] last looked.
    fn adds(&self) -> String {
        String::new()
    }

    /// Looks again at what [`Tool::adds`] tells; answers whether it tells something else now. Blocking.
    fn look_again(&self, workspace: &Workspace, trust: &Trust) -> bool {
        let _ = (workspace, trust);
        false
    }

    /// Whether what [`Tool::adds`] tells may be another thing once the file of this name (a path or URI) has changed.
    fn looks_at(&self, name: &str) -> bool {
        let _ = name;
        false
    }

    /// What the call reaches.
    fn access(&self, arguments: &Self::Arguments) -> Access;

    /// What the call reaches where that depends on the settings, too.
    fn access_in(&self, arguments: &Self::Arguments, settings: &Settings) -> Access {
        let _ = settings;
        self.access(arguments)
    }

    /// What is missing for it to be of any use with these settings and in this editor, as the end of a sentence: then it is
    /// in no list and cannot be called, and whoever calls it all the same is told that.
    fn lacks(&self, settings: &Settings, editor: &Abilities) -> Option<&'static str> {
        let _ = (settings, editor);
        None
    }

    /// What the schema cannot say. Errors are for the model.
    fn validate(&self, arguments: &Self::Arguments) -> Result<(), ToolError> {
        let _ = arguments;
        Ok(())
    }

    /// What the call is about to do. Changes nothing; asked again when an approval took its time.
    async fn plan(&self, arguments: &Self::Arguments, context: &Context) -> Result<Plan, ToolError> {
        let _ = (arguments, context);
        Ok(Plan::Run)
    }

    /// Does it. Only called when the plan is [`Plan::Run`].
    async fn run(&self, arguments: Self::Arguments, context: &Context) -> Result<Outcome, ToolError>;
}

/// Whether somebody vouches for what a call does, so that nobody is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Vouched {
    /// Nobody does.
    No,
    /// Somebody did, for something else than what there is now: what that was, in words for a person.
    Changed(String),
    /// Somebody does.
    Yes,
}

/// A tool whose argument type is forgotten: what the table, MCP servers and the editor's own tools have in common.
#[async_trait]
pub trait AnyTool: Send + Sync + 'static {
    /// Its data about itself.
    fn traits(&self) -> Traits<'_>;
    /// See [`Tool::HIDDEN`].
    fn hidden(&self) -> bool {
        false
    }
    /// See [`Tool::WINDS_DOWN`].
    fn winds_down(&self) -> Duration {
        Duration::ZERO
    }
    /// Whether it runs in somebody else's process: what it does there is only that one's word.
    fn elsewhere(&self) -> bool {
        false
    }
    /// What it is for, for the model.
    fn description(&self) -> String;
    /// Looks again at what its description tells of the world; answers whether it tells something else now. Blocking.
    fn look_again(&self, workspace: &Workspace, trust: &Trust) -> bool {
        let _ = (workspace, trust);
        false
    }
    /// Whether its description may be another one once the file of this name (a path or URI) has changed.
    fn looks_at(&self, name: &str) -> bool {
        let _ = name;
        false
    }
    /// JSON Schema of its arguments: one object, a type on every property.
    fn schema(&self) -> Value;
    /// JSON Schema of its structured answer, if it declares one.
    fn output_schema(&self) -> Option<Value> {
        None
    }
    /// What consent to a call is bound to besides what it reaches, in lines for a person: who runs it, and what it is there.
    fn bound_to(&self, arguments: &Value) -> Vec<String> {
        let _ = arguments;
        Vec::new()
    }
    /// Whether somebody vouches for a call in a session. Counts for tools of MCP servers.
    fn vouched(&self, arguments: &Value, session: &Session) -> Vouched {
        let _ = (arguments, session);
        Vouched::No
    }
    /// See [`Tool::access`]; arguments that do not fit reach nothing.
    fn access(&self, arguments: &Value) -> Access;
    /// See [`Tool::access_in`].
    fn access_in(&self, arguments: &Value, settings: &Settings) -> Access {
        let _ = settings;
        self.access(arguments)
    }
    /// See [`Tool::lacks`].
    fn lacks(&self, settings: &Settings, editor: &Abilities) -> Option<&'static str> {
        let _ = (settings, editor);
        None
    }
    /// See [`Tool::validate`].
    fn validate(&self, arguments: &Value) -> Result<(), ToolError>;
    /// See [`Tool::plan`].
    async fn plan(&self, arguments: &Value, context: &Context) -> Result<Plan, ToolError>;
    /// See [`Tool::run`].
    async fn run(&self, arguments: Value, context: &Context) -> Result<Outcome, ToolError>;
}
