//! Our own methods: their names, who sends them, and the schemas of what they carry. One table; the rest derives from it.
//!
//! What a method carries is declared once, in the room that the data belongs to; what only passes through the front is
//! declared here. Changes are additive within a major version, and the hash of the table is quoted in the documentation.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::config::Settings;
use crate::dispatch::review::{ChangesParams, ChangesResult, KeepResult, ListChangesParams, UndoParams, UndoResult};
use crate::dispatch::{AcceptParams, AcceptResult, RejectParams, RejectResult};
use crate::dispatch::{
    BatchParams, BatchResult, CallParams, CallResult, ListToolsParams, ListedTool, OutputParams, OutputText,
    PreviewResult, RegisterToolsParams, RegisterToolsResult, ToolInputParams, UnregisterToolsParams,
    UnregisterToolsResult,
};
use crate::editor::{
    ApprovalsChanged, ApproveParams, ApproveResult, AskParams, AskResult, ChangesChanged, ElicitAnswer, ElicitParams,
    FileChanged, FormatParams, FormatResult, JobInfo, JobsChanged, ModeChanged, Resync, RunAgentParams, RunAgentResult,
    RunToolParams, RunToolResult, SampleAnswer, SampleParams, SaveParams, SaveResult, TodosChanged, ToolEvent,
    ToolsChanged,
};
use crate::jobs::JobOutput;
use crate::languages::{DiagnosticsReport, Forwarded, ProgressKind, SourceName};
use crate::sessions::policy::Effective;
use crate::sessions::requests::{
    CloseResult, DidShowParams, DidShowResult, EndTurnParams, ForgetParams, ForgetResult, GrantsParams, GrantsResult,
    SessionParams, SessionRef, SetModeParams, Status, TodosParams, TodosResult,
};
use crate::text::Range;

/// `ropewalk/listTools`
pub const LIST_TOOLS: &str = "ropewalk/listTools";
/// `ropewalk/callTool`
pub const CALL_TOOL: &str = "ropewalk/callTool";
/// `ropewalk/previewCall`
pub const PREVIEW_CALL: &str = "ropewalk/previewCall";
/// `ropewalk/cancel`
pub const CANCEL: &str = "ropewalk/cancel";
/// `ropewalk/documentText`
pub const DOCUMENT_TEXT: &str = "ropewalk/documentText";
/// `ropewalk/settle`
pub const SETTLE: &str = "ropewalk/settle";
/// `ropewalk/diagnostics`
pub const DIAGNOSTICS: &str = "ropewalk/diagnostics";
/// `ropewalk/output`
pub const OUTPUT: &str = "ropewalk/output";
/// `ropewalk/didChangeDiagnostics`
pub const DID_CHANGE_DIAGNOSTICS: &str = "ropewalk/didChangeDiagnostics";
/// `ropewalk/didChangeDiagnosticSources`
pub const DID_CHANGE_DIAGNOSTIC_SOURCES: &str = "ropewalk/didChangeDiagnosticSources";
/// `ropewalk/diagnosticProgress`
pub const DIAGNOSTIC_PROGRESS: &str = "ropewalk/diagnosticProgress";
/// `ropewalk/didChangeContext`
pub const DID_CHANGE_CONTEXT: &str = "ropewalk/didChangeContext";
/// `ropewalk/didChangeTrust`
pub const DID_CHANGE_TRUST: &str = "ropewalk/didChangeTrust";
/// `ropewalk/accept`
pub const ACCEPT: &str = "ropewalk/accept";
/// `ropewalk/reject`
pub const REJECT: &str = "ropewalk/reject";
/// `ropewalk/changesChanged`
pub const CHANGES_CHANGED: &str = "ropewalk/changesChanged";
/// `ropewalk/approve`
pub const APPROVE: &str = "ropewalk/approve";
/// `ropewalk/ask`
pub const ASK: &str = "ropewalk/ask";
/// `ropewalk/approvalsChanged`
pub const APPROVALS_CHANGED: &str = "ropewalk/approvalsChanged";
/// `ropewalk/callTools`
pub const CALL_TOOLS: &str = "ropewalk/callTools";
/// `ropewalk/jobOutput`
pub const JOB_OUTPUT: &str = "ropewalk/jobOutput";
/// `ropewalk/jobs`
pub const JOBS: &str = "ropewalk/jobs";
/// `ropewalk/jobsChanged`
pub const JOBS_CHANGED: &str = "ropewalk/jobsChanged";
/// `ropewalk/stopJob`
pub const STOP_JOB: &str = "ropewalk/stopJob";
/// `ropewalk/resync`
pub const RESYNC: &str = "ropewalk/resync";
/// `ropewalk/format`
pub const FORMAT: &str = "ropewalk/format";
/// `ropewalk/save`
pub const SAVE: &str = "ropewalk/save";
/// `ropewalk/pullDiagnostics`
pub const PULL_DIAGNOSTICS: &str = "ropewalk/pullDiagnostics";
/// `ropewalk/toolEvent`
pub const TOOL_EVENT: &str = "ropewalk/toolEvent";
/// `ropewalk/toolInput`
pub const TOOL_INPUT: &str = "ropewalk/toolInput";
/// `ropewalk/filesChanged`
pub const FILES_CHANGED: &str = "ropewalk/filesChanged";
/// `ropewalk/openSession`
pub const OPEN_SESSION: &str = "ropewalk/openSession";
/// `ropewalk/updateSession`
pub const UPDATE_SESSION: &str = "ropewalk/updateSession";
/// `ropewalk/closeSession`
pub const CLOSE_SESSION: &str = "ropewalk/closeSession";
/// `ropewalk/resetSession`
pub const RESET_SESSION: &str = "ropewalk/resetSession";
/// `ropewalk/endTurn`
pub const END_TURN: &str = "ropewalk/endTurn";
/// `ropewalk/setMode`
pub const SET_MODE: &str = "ropewalk/setMode";
/// `ropewalk/forget`
pub const FORGET: &str = "ropewalk/forget";
/// `ropewalk/didShow`
pub const DID_SHOW: &str = "ropewalk/didShow";
/// `ropewalk/grants`
pub const GRANTS: &str = "ropewalk/grants";
/// `ropewalk/todos`
pub const TODOS: &str = "ropewalk/todos";
/// `ropewalk/status`
pub const STATUS: &str = "ropewalk/status";
/// `ropewalk/todosChanged`
pub const TODOS_CHANGED: &str = "ropewalk/todosChanged";
/// `ropewalk/modeChanged`
pub const MODE_CHANGED: &str = "ropewalk/modeChanged";

/// `ropewalk/registerTools`
pub const REGISTER_TOOLS: &str = "ropewalk/registerTools";
/// `ropewalk/unregisterTools`
pub const UNREGISTER_TOOLS: &str = "ropewalk/unregisterTools";
/// `ropewalk/runAgent`
pub const RUN_AGENT: &str = "ropewalk/runAgent";
/// `ropewalk/runTool`
pub const RUN_TOOL: &str = "ropewalk/runTool";
/// `ropewalk/elicit`
pub const ELICIT: &str = "ropewalk/elicit";
/// `ropewalk/sample`
pub const SAMPLE: &str = "ropewalk/sample";
/// `ropewalk/toolsChanged`
pub const TOOLS_CHANGED: &str = "ropewalk/toolsChanged";

/// `ropewalk/changes`
pub const CHANGES: &str = "ropewalk/changes";
/// `ropewalk/keep`
pub const KEEP: &str = "ropewalk/keep";
/// `ropewalk/undo`
pub const UNDO: &str = "ropewalk/undo";

/// `ropewalk/lateDiagnostics`
pub const LATE_DIAGNOSTICS: &str = "ropewalk/lateDiagnostics";

/// The command that runs a tool call through `workspace/executeCommand`, without its prefix.
pub const CALL_COMMAND: &str = "call";
/// The command that keeps changes, without its prefix; its one argument is as for [`KEEP`].
pub const KEEP_COMMAND: &str = "keep";
/// The command that undoes changes, without its prefix; its one argument is as for [`UNDO`].
pub const UNDO_COMMAND: &str = "undo";
/// The command that applies what is proposed, without its prefix; its one argument is as for [`ACCEPT`].
pub const ACCEPT_COMMAND: &str = "accept";
/// The command that drops what is proposed, without its prefix; its one argument is as for [`REJECT`].
pub const REJECT_COMMAND: &str = "reject";
/// All commands, without their prefix.
pub const COMMANDS: [&str; 5] = [ACCEPT_COMMAND, CALL_COMMAND, KEEP_COMMAND, REJECT_COMMAND, UNDO_COMMAND];

/// Who sends a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Direction {
    /// The editor, to us.
    ToSidecar,
    /// We, to the editor.
    ToEditor,
}

/// Whether a method is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Kind {
    /// It is.
    Request,
    /// It is not; from the editor it is applied in the order of arrival.
    Notification,
}

/// The schema of a type, made by the generator of the whole table.
type Shape = fn(&mut SchemaGenerator) -> Schema;

/// One of our own methods.
#[derive(Debug, Clone, Copy)]
pub struct Method {
    /// Its name on the wire.
    pub name: &'static str,
    /// Who sends it.
    pub direction: Direction,
    /// Whether it is answered.
    pub kind: Kind,
    params: Shape,
    result: Option<Shape>,
}

fn shape<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

const fn request<P: JsonSchema, R: JsonSchema>(name: &'static str, direction: Direction) -> Method {
    Method { name, direction, kind: Kind::Request, params: shape::<P>, result: Some(shape::<R>) }
}

const fn notification<P: JsonSchema>(name: &'static str, direction: Direction) -> Method {
    Method { name, direction, kind: Kind::Notification, params: shape::<P>, result: None }
}

/// Every method of ours, sorted by name.
pub const METHODS: &[Method] = &[
    request::<AcceptParams, AcceptResult>(ACCEPT, Direction::ToSidecar),
    notification::<ApprovalsChanged>(APPROVALS_CHANGED, Direction::ToEditor),
    request::<ApproveParams, ApproveResult>(APPROVE, Direction::ToEditor),
    request::<AskParams, AskResult>(ASK, Direction::ToEditor),
    request::<CallParams, CallResult>(CALL_TOOL, Direction::ToSidecar),
    request::<BatchParams, BatchResult>(CALL_TOOLS, Direction::ToSidecar),
    request::<CancelParams, CancelResult>(CANCEL, Direction::ToSidecar),
    request::<ListChangesParams, ChangesResult>(CHANGES, Direction::ToSidecar),
    notification::<ChangesChanged>(CHANGES_CHANGED, Direction::ToEditor),
    request::<SessionRef, CloseResult>(CLOSE_SESSION, Direction::ToSidecar),
    notification::<DiagnosticProgressParams>(DIAGNOSTIC_PROGRESS, Direction::ToSidecar),
    request::<DiagnosticsParams, DiagnosticsReport>(DIAGNOSTICS, Direction::ToSidecar),
    notification::<DidChangeContextParams>(DID_CHANGE_CONTEXT, Direction::ToSidecar),
    notification::<DidChangeDiagnosticSourcesParams>(DID_CHANGE_DIAGNOSTIC_SOURCES, Direction::ToSidecar),
    notification::<Forwarded>(DID_CHANGE_DIAGNOSTICS, Direction::ToSidecar),
    notification::<DidChangeTrustParams>(DID_CHANGE_TRUST, Direction::ToSidecar),
    request::<DidShowParams, DidShowResult>(DID_SHOW, Direction::ToSidecar),
    request::<DocumentTextParams, DocumentText>(DOCUMENT_TEXT, Direction::ToSidecar),
    request::<ElicitParams, ElicitAnswer>(ELICIT, Direction::ToEditor),
    request::<EndTurnParams, ()>(END_TURN, Direction::ToSidecar),
    notification::<FilesChangedParams>(FILES_CHANGED, Direction::ToEditor),
    request::<ForgetParams, ForgetResult>(FORGET, Direction::ToSidecar),
    request::<FormatParams, FormatResult>(FORMAT, Direction::ToEditor),
    request::<GrantsParams, GrantsResult>(GRANTS, Direction::ToSidecar),
    request::<JobOutputParams, JobOutput>(JOB_OUTPUT, Direction::ToSidecar),
    request::<JobsParams, JobsResult>(JOBS, Direction::ToSidecar),
    notification::<JobsChanged>(JOBS_CHANGED, Direction::ToEditor),
    request::<ChangesParams, KeepResult>(KEEP, Direction::ToSidecar),
    notification::<DiagnosticsReport>(LATE_DIAGNOSTICS, Direction::ToEditor),
    request::<ListToolsParams, ListToolsResult>(LIST_TOOLS, Direction::ToSidecar),
    notification::<ModeChanged>(MODE_CHANGED, Direction::ToEditor),
    request::<SessionParams, Effective>(OPEN_SESSION, Direction::ToSidecar),
    request::<OutputParams, OutputText>(OUTPUT, Direction::ToSidecar),
    request::<CallParams, PreviewResult>(PREVIEW_CALL, Direction::ToSidecar),
    request::<DocumentParams, ()>(PULL_DIAGNOSTICS, Direction::ToEditor),
    request::<RegisterToolsParams, RegisterToolsResult>(REGISTER_TOOLS, Direction::ToSidecar),
    request::<RejectParams, RejectResult>(REJECT, Direction::ToSidecar),
    request::<SessionRef, CloseResult>(RESET_SESSION, Direction::ToSidecar),
    request::<DocumentParams, Resync>(RESYNC, Direction::ToEditor),
    request::<RunAgentParams, RunAgentResult>(RUN_AGENT, Direction::ToEditor),
    request::<RunToolParams, RunToolResult>(RUN_TOOL, Direction::ToEditor),
    request::<SampleParams, SampleAnswer>(SAMPLE, Direction::ToEditor),
    request::<SaveParams, SaveResult>(SAVE, Direction::ToEditor),
    request::<SetModeParams, Effective>(SET_MODE, Direction::ToSidecar),
    request::<SettleParams, SettleResult>(SETTLE, Direction::ToSidecar),
    request::<SessionRef, Status>(STATUS, Direction::ToSidecar),
    request::<StopJobParams, StopJobResult>(STOP_JOB, Direction::ToSidecar),
    request::<TodosParams, TodosResult>(TODOS, Direction::ToSidecar),
    notification::<TodosChanged>(TODOS_CHANGED, Direction::ToEditor),
    notification::<ToolEvent>(TOOL_EVENT, Direction::ToEditor),
    notification::<ToolInputParams>(TOOL_INPUT, Direction::ToSidecar),
    notification::<ToolsChanged>(TOOLS_CHANGED, Direction::ToEditor),
    request::<UndoParams, UndoResult>(UNDO, Direction::ToSidecar),
    request::<UnregisterToolsParams, UnregisterToolsResult>(UNREGISTER_TOOLS, Direction::ToSidecar),
    request::<SessionParams, Effective>(UPDATE_SESSION, Direction::ToSidecar),
];

/// The methods that the editor may send us, for `capabilities.experimental.ropewalk.methods`.
pub fn accepted() -> Vec<&'static str> {
    METHODS.iter().filter(|method| method.direction == Direction::ToSidecar).map(|method| method.name).collect()
}

/// What `ropewalk schema` prints: every method with the JSON Schemas of its params and result, and that of the settings,
/// byte for byte the same each time: methods by name, keys sorted, shared types under `$defs`.
pub fn schemas() -> Value {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let methods: Vec<Value> = METHODS
        .iter()
        .map(|method| {
            let mut entry = json!({
                "name": method.name,
                "direction": method.direction,
                "kind": method.kind,
                "params": (method.params)(&mut generator),
            });
            if let (Some(result), Some(entry)) = (method.result, entry.as_object_mut()) {
                entry.insert("result".to_owned(), result(&mut generator).to_value());
            }
            entry
        })
        .collect();
    sorted(json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "methods": methods,
        "settings": generator.subschema_for::<Settings>(),
        "$defs": generator.take_definitions(true),
    }))
}

/// SHA-256, in lower-case hex, of [`schemas`] as compact JSON.
pub fn schema_hash() -> String {
    crate::text::hash(&schemas().to_string())
}

/// The same value with the keys of every object sorted.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(object) => {
            let mut entries: Vec<(String, Value)> =
                object.into_iter().map(|(key, value)| (key, sorted(value))).collect();
            entries.sort_by(|a, b| a.0.cmp(&b.0));
            Value::Object(entries.into_iter().collect::<Map<_, _>>())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        other => other,
    }
}

/// The answer to `ropewalk/listTools`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ListToolsResult {
    /// The tools: the built-in ones by name, then the client's own by name, then the deferred ones that the session has
    /// called, in the order of their first calls.
    pub tools: Vec<ListedTool>,
}

/// `ropewalk/cancel`: the calls that fit all that is given; without anything, every call of the default session.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CancelParams {
    /// The session; absent: the default one.
    pub session_id: Option<String>,
    /// Only this call.
    pub call_id: Option<String>,
    /// Only the calls of this turn.
    pub turn_id: Option<String>,
}

/// The answer to `ropewalk/cancel`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CancelResult {
    /// How many calls were told to stop. Each still answers with its one result.
    pub cancelled: usize,
}

/// `ropewalk/jobs`
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct JobsParams {
    /// The session; absent: the default one.
    pub session_id: Option<String>,
}

/// The answer to `ropewalk/jobs`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobsResult {
    /// The jobs of the session, in the order in which they were started; of those that ended, the newest 32.
    pub jobs: Vec<JobInfo>,
}

/// `ropewalk/jobOutput`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobOutputParams {
    /// The session; absent: the default one.
    #[serde(default)]
    pub session_id: Option<String>,
    /// The job.
    pub id: String,
    /// Only what came after this (bytes from the beginning of its output): the `cursor` of the answer before.
    #[serde(default)]
    pub cursor: u64,
}

/// `ropewalk/stopJob`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StopJobParams {
    /// The session; absent: the default one.
    #[serde(default)]
    pub session_id: Option<String>,
    /// The job.
    pub id: String,
}

/// The answer to `ropewalk/stopJob`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StopJobResult {
    /// Whether it was told to stop by this; `false`: it had ended, or was told before.
    pub stopped: bool,
}

/// One document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DocumentParams {
    /// The document, spelled as the editor spells it.
    pub uri: String,
}

/// `ropewalk/documentText`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DocumentTextParams {
    /// The document or file.
    pub uri: String,
    /// The session whose view it is, with what it proposes; absent: without anybody's proposals.
    #[serde(default)]
    pub session_id: Option<String>,
}

/// A document as we have it: the answer to `ropewalk/documentText`. Of an open document it is the text at the moment
/// the request arrived.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DocumentText {
    /// The editor's version; null when it is not open.
    pub version: Option<i32>,
    /// The whole text.
    pub text: String,
    /// SHA-256, lower-case hex, of the UTF-8 text without its byte order mark.
    pub hash: String,
    /// Whether it differs from the file on the disk.
    pub unsaved: bool,
}

/// `ropewalk/settle`
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SettleParams {
    /// At most so long (ms); absent: 10,000.
    pub deadline_ms: Option<u64>,
}

/// The answer to `ropewalk/settle`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SettleResult {
    /// Whether nothing was open any more.
    pub settled: bool,
    /// What was still open at the deadline, in words, sorted.
    pub open: Vec<String>,
}

/// `ropewalk/diagnostics`
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct DiagnosticsParams {
    /// The document; absent: every open document.
    pub uri: Option<String>,
    /// Not before the document has this version.
    pub min_version: Option<i32>,
    /// At most so long (ms), instead of the settings' budgets.
    pub deadline_ms: Option<u64>,
}

/// `ropewalk/filesChanged`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FilesChangedParams {
    /// What changed on the disk.
    pub changes: Vec<FileChanged>,
}

/// `ropewalk/didChangeDiagnosticSources`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DidChangeDiagnosticSourcesParams {
    /// The document.
    pub uri: String,
    /// All sources that the editor has for it.
    pub sources: Vec<SourceName>,
}

/// `ropewalk/diagnosticProgress`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DiagnosticProgressParams {
    /// Which source works.
    pub source_id: String,
    /// Names the piece of work: a number or a string.
    pub token: Value,
    /// What happened to it.
    pub kind: ProgressKind,
}

/// `ropewalk/didChangeContext`: what the user looks at.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct DidChangeContextParams {
    /// The document with the focus, if there is one.
    pub uri: Option<String>,
    /// The selections in it, in the negotiated counting.
    pub selections: Vec<Range>,
    /// The lines of it that are on the screen.
    pub visible_range: Option<Range>,
    /// The documents that have a window or tab.
    pub open_editors: Vec<String>,
}

/// `ropewalk/didChangeTrust`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DidChangeTrustParams {
    /// URI of the folder.
    pub root: String,
    /// Whether what it contains may be run.
    pub trusted: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::languages::{Delivery, StampedBy};

    #[test]
    fn the_table_is_sorted_and_each_method_is_there_once() {
        let names: Vec<&str> = METHODS.iter().map(|method| method.name).collect();
        let mut expected = names.clone();
        expected.sort_unstable();
        expected.dedup();
        assert_eq!(names, expected);
        assert!(names.iter().all(|name| name.starts_with("ropewalk/")));
    }

    #[test]
    fn the_schemas_are_the_same_each_time_and_every_reference_resolves() {
        let schemas = schemas();
        assert_eq!(schemas.to_string(), super::schemas().to_string());
        let text = schemas.to_string();
        let mut references = text.split("\"$ref\":\"#/$defs/").skip(1);
        assert!(references.all(|rest| {
            let name = rest.split('"').next().unwrap();
            schemas["$defs"].get(name).is_some()
        }));
        let requests = schemas["methods"].as_array().unwrap().iter().filter(|method| method["kind"] == "request");
        assert!(requests.clone().count() > 5 && requests.clone().all(|method| method.get("result").is_some()));
    }

    #[test]
    fn every_schema_is_a_valid_one() {
        let schemas = schemas();
        for method in schemas["methods"].as_array().unwrap() {
            for part in ["params", "result"] {
                let Some(part) = method.get(part) else { continue };
                let mut whole = part.clone();
                whole["$defs"] = schemas["$defs"].clone();
                jsonschema::validator_for(&whole).unwrap_or_else(|fault| panic!("{}: {fault}", method["name"]));
            }
        }
    }

    #[test]
    fn sparse_notifications_are_read() {
        let sparse = json!({ "uri": "file:///a", "source": { "id": "x", "name": "y" }, "diagnostics": [] });
        let read: Forwarded = serde_json::from_value(sparse).unwrap();
        assert_eq!((read.version, read.stamp, read.kind), (None, StampedBy::Receipt, Delivery::Push));
        let read: DidChangeContextParams = serde_json::from_value(json!({})).unwrap();
        assert_eq!(read, DidChangeContextParams::default());
    }
}
