//! What the methods about sessions carry, exactly as it goes over the wire.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::Mode;
use crate::editor::Todo;
use crate::text::Range;

use super::consents::Remembered;
use super::policy::Asked;
use super::store::StoreState;
use super::todos::TodoCounts;

/// Something that is asked about a session.
#[derive(Debug, Clone, PartialEq)]
pub enum SessionRequest {
    /// `ropewalk/openSession`, `ropewalk/updateSession`
    Open(SessionParams),
    /// `ropewalk/closeSession`
    Close(SessionRef),
    /// `ropewalk/endTurn`
    EndTurn(EndTurnParams),
    /// `ropewalk/setMode`
    SetMode(SetModeParams),
    /// `ropewalk/forget`
    Forget(ForgetParams),
    /// `ropewalk/didShow`
    DidShow(DidShowParams),
    /// `ropewalk/grants`
    Grants(GrantsParams),
    /// `ropewalk/todos`
    Todos(TodosParams),
    /// `ropewalk/status`
    Status(SessionRef),
    /// `ropewalk/resetSession`
    Reset(SessionRef),
}

impl SessionRequest {
    /// The session and the turn that it names.
    pub fn names(&self) -> (Option<&str>, Option<&str>) {
        let (session, turn) = match self {
            SessionRequest::Open(params) => (&params.session_id, None),
            SessionRequest::Close(params) | SessionRequest::Status(params) | SessionRequest::Reset(params) => {
                (&params.session_id, None)
            }
            SessionRequest::EndTurn(params) => (&params.session_id, Some(params.turn_id.as_str())),
            SessionRequest::SetMode(params) => (&params.session_id, None),
            SessionRequest::Forget(params) => (&params.session_id, None),
            SessionRequest::DidShow(params) => (&params.session_id, None),
            SessionRequest::Grants(params) => (&params.session_id, None),
            SessionRequest::Todos(params) => (&params.session_id, None),
        };
        (session.as_deref(), turn)
    }
}

/// A session by its name.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SessionRef {
    /// The session; absent: the default one.
    pub session_id: Option<String>,
}

/// `ropewalk/openSession`, `ropewalk/updateSession`
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SessionParams {
    /// The session; absent: the default one.
    pub session_id: Option<String>,
    /// What it asks for.
    #[serde(flatten)]
    pub asked: Asked,
}

/// The answer to `ropewalk/closeSession` and `ropewalk/resetSession`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CloseResult {
    /// How many calls were told to stop. Each still answers with its one result.
    pub cancelled: usize,
}

/// `ropewalk/endTurn`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EndTurnParams {
    /// The session; absent: the default one.
    #[serde(default)]
    pub session_id: Option<String>,
    /// The turn of the model that is over.
    pub turn_id: String,
}

/// `ropewalk/setMode`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SetModeParams {
    /// The session; absent: the default one.
    #[serde(default)]
    pub session_id: Option<String>,
    /// The mode that the person chose.
    pub mode: Mode,
}

/// `ropewalk/forget`
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ForgetParams {
    /// The session; absent: the default one.
    pub session_id: Option<String>,
    /// Calls whose results left the model's context.
    pub call_ids: Vec<String>,
    /// Documents or files whose text left it: URIs or paths, however they are spelled.
    pub uris: Vec<String>,
}

/// The answer to `ropewalk/forget`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ForgetResult {
    /// How many texts are no longer called seen, or not as much of them.
    pub forgotten: usize,
}

/// `ropewalk/didShow`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DidShowParams {
    /// The session; absent: the default one.
    #[serde(default)]
    pub session_id: Option<String>,
    /// The open document.
    pub uri: String,
    /// The editor's version of what was shown.
    pub version: i32,
    /// What of it was shown; absent: all. Only whole lines count.
    #[serde(default)]
    pub range: Option<Range>,
}

/// The answer to `ropewalk/didShow`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DidShowResult {
    /// Whether it counts as seen.
    pub seen: bool,
    /// Why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// `ropewalk/grants`
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct GrantsParams {
    /// The session; absent: the default one.
    pub session_id: Option<String>,
    /// Takes these back, by `id`.
    pub revoke: Vec<String>,
    /// Takes all back.
    pub revoke_all: bool,
}

/// The answer to `ropewalk/grants`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GrantsResult {
    /// What is left: first what counts for good, then what counts in this session; each the oldest first.
    pub grants: Vec<Remembered>,
}

/// `ropewalk/todos`
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct TodosParams {
    /// The session; absent: the default one.
    pub session_id: Option<String>,
    /// A list that takes the place of the one that is there.
    pub todos: Option<Vec<Todo>>,
}

/// The answer to `ropewalk/todos`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TodosResult {
    /// The list.
    pub todos: Vec<Todo>,
}

/// The answer to `ropewalk/status`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// The session.
    pub session_id: String,
    /// Its mode.
    pub mode: Mode,
    /// Its calls that have not ended, as `call tool`, sorted.
    pub open_calls: Vec<String>,
    /// Its task list, counted.
    pub todos: TodoCounts,
    /// How much of its outputs is kept in memory (bytes).
    pub output_bytes: usize,
    /// What the guards hold against it.
    pub guards: Vec<TurnStatus>,
    /// Where it is kept.
    pub store: StoreState,
    /// The MCP servers, sorted by name; then what names some and cannot be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mcp: Vec<McpStatus>,
}

/// How an MCP server does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpStatus {
    /// Its name; absent: all of what `from` names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Who named it: the user's settings, or a file.
    pub from: String,
    /// `idle` (nobody has needed it), `asked` (a person has yet to say whether it may start), `refused`, `starting`, `ready`,
    /// `failed`, or `broken` (its settings cannot be read).
    pub state: String,
    /// Why, or what is odd about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// How many tools it has.
    pub tools: usize,
}

/// What the guards hold against a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnStatus {
    /// The turn; absent: the calls that name none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    /// Tools that failed, and how often in a row, sorted by name.
    pub failures: Vec<ToolFailures>,
}

/// A tool that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolFailures {
    /// The tool.
    pub name: String,
    /// How often in a row.
    pub in_a_row: u32,
    /// Whether it is stopped for this turn.
    pub halted: bool,
}
