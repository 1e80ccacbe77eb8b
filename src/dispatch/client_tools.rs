//! The client's own tools: they join the slot like any other and run in the editor.
//!
//! What they are is the client's word alone, so that all that is not declared counts as the worst: such a tool runs alone
//! and a person is asked about each of its calls, unless it is declared to change nothing.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::editor::{AskError, News, RunToolParams, RunToolResult, ToolsChanged};
use crate::permissions::Rule;
use crate::tool::{Access, AnyTool, Capability, Content, Context, ErrorKind, Outcome, Plan, ToolError, Traits};

use super::Dispatch;
use super::catalog::Joined;
use super::execute::late;

/// How long a call may run where the tool does not say.
const DEADLINE: Duration = Duration::from_mins(2);

/// How long a call may run at most, whatever the tool says.
const LONGEST: Duration = Duration::from_hours(1);

/// At most so many tools of the client's own.
const MOST: usize = 1_000;

/// Why a client that cannot run tools has none.
const UNABLE: &str = "the client did not declare `runTool`, so that nothing could run its tools";

/// A description may be so long (bytes).
const DESCRIPTION_BYTES: usize = 32 * 1024;

/// `ropewalk/registerTools`
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct RegisterToolsParams {
    /// The tools. One that cannot be read costs only itself.
    #[schemars(with = "Vec<ToolDefinition>")]
    pub tools: Vec<Value>,
}

/// A tool of the client's own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolDefinition {
    /// Its name: 1 to 64 of a-z, A-Z, 0-9, _ and -.
    pub name: String,
    /// Its name for people; absent: its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it is for, for the model.
    pub description: String,
    /// JSON Schema of its arguments: an object.
    pub input_schema: Value,
    /// JSON Schema of its structured answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// What it does to the world, in MCP's words. Only `readOnlyHint: true` loosens anything.
    #[serde(default)]
    pub annotations: DeclaredAnnotations,
    /// What it can do; absent: anything, or only reading where it is declared to change nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<Vec<Capability>>,
    /// Whether it may run beside its neighbours. Counts only for a tool that changes nothing.
    #[serde(default)]
    pub parallel: bool,
    /// Whether it is listed only once it has been called.
    #[serde(default)]
    pub deferred: bool,
    /// How long a call may run (ms), at most an hour; absent: 120,000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
}

/// What a tool is declared to do, in MCP's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[expect(clippy::struct_field_names, reason = "the protocol's names")]
pub struct DeclaredAnnotations {
    /// It changes nothing.
    pub read_only_hint: bool,
    /// It may destroy something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destructive_hint: Option<bool>,
    /// Twice is as good as once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotent_hint: Option<bool>,
    /// It reaches beyond this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_world_hint: Option<bool>,
}

/// The answer to `ropewalk/registerTools`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct RegisterToolsResult {
    /// What became of each, in the order in which they came.
    pub tools: Vec<Registered>,
}

/// What became of one tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Registered {
    /// Its name, as it came.
    pub name: String,
    /// What became of it.
    pub status: Registration,
    /// Why it is not to be called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The name under which the list says that it is unavailable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listed_as: Option<String>,
}

/// What became of a tool that wanted to join.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Registration {
    /// It can be called.
    Registered,
    /// Its name or schema is broken: it is there, and its calls say why they do not run.
    Unavailable,
    /// It is not there.
    Refused,
}

/// `ropewalk/unregisterTools`
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct UnregisterToolsParams {
    /// The tools, by the names they were registered with.
    pub names: Vec<String>,
}

/// The answer to `ropewalk/unregisterTools`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct UnregisterToolsResult {
    /// Those that are gone.
    pub removed: Vec<String>,
    /// Those that were not there.
    pub unknown: Vec<String>,
}

impl Dispatch {
    /// Tools of the client's own join, in the order of such requests and beside the reader. Whatever comes later sees them,
    /// whether the answer is awaited or not. Must be called on the runtime.
    pub fn register_tools(self: &Arc<Self>, params: RegisterToolsParams) -> BoxFuture<'static, RegisterToolsResult> {
        self.in_turn(move |dispatch| dispatch.registered(params))
    }

    /// Tools of the client's own leave, in the same order. Calls of theirs that run go on; those that wait do not run.
    pub fn unregister_tools(
        self: &Arc<Self>,
        params: UnregisterToolsParams,
    ) -> BoxFuture<'static, UnregisterToolsResult> {
        self.in_turn(move |dispatch| dispatch.unregistered(&params))
    }

    /// Does something in the order in which tools join and leave, whether anybody waits for the answer or not.
    pub(super) fn in_turn<T: Default + Send + 'static>(
        self: &Arc<Self>,
        act: impl FnOnce(&Dispatch) -> T + Send + 'static,
    ) -> BoxFuture<'static, T> {
        let (turn, me) = (self.joining.turn(), Arc::clone(self));
        let acting = tokio::spawn(async move {
            turn.comes().await;
            let acting = tokio::task::spawn_blocking(move || {
                let answer = act(&me);
                drop(turn);
                answer
            });
            acting.await.unwrap_or_default()
        });
        async move { acting.await.unwrap_or_default() }.boxed()
    }

    fn registered(&self, params: RegisterToolsParams) -> RegisterToolsResult {
        let able = self.workspace.editor.abilities().run_tool;
        let named = |given: &Value| given["name"].as_str().unwrap_or_default().to_owned();
        let names: Vec<String> = params.tools.iter().map(named).collect();
        let read: Vec<Result<ClientTool, String>> =
            params.tools.into_iter().map(|given| if able { read(given) } else { Err(UNABLE.to_owned()) }).collect();
        let (mut fit, mut became) = (Vec::new(), Vec::new());
        for tool in read {
            became.push(tool.map(|tool| {
                let rule = tool.rule();
                fit.push((Arc::new(tool) as Arc<dyn AnyTool>, rule));
            }));
        }
        let mut joined = self.tools.join_all(fit, MOST).into_iter();
        let told = |(name, read): (String, Result<(), String>)| {
            let mut told = Registered { name, status: Registration::Refused, reason: None, listed_as: None };
            match read.and_then(|()| joined.next().unwrap_or_else(|| Err(String::new()))) {
                Ok(Joined::Usable) => told.status = Registration::Registered,
                Ok(Joined::Unfit { listed_as, why }) => {
                    told.status = Registration::Unavailable;
                    (told.reason, told.listed_as) = (Some(why), listed_as);
                }
                Err(why) => told.reason = Some(why),
            }
            told
        };
        let tools: Vec<Registered> = names.into_iter().zip(became).map(told).collect();
        if tools.iter().any(|told| told.status != Registration::Refused) {
            self.workspace.editor.tell(News::Tools(ToolsChanged::default()));
        }
        RegisterToolsResult { tools }
    }

    fn unregistered(&self, params: &UnregisterToolsParams) -> UnregisterToolsResult {
        let removed = self.tools.leave_all(&params.names);
        let mut left: BTreeSet<&String> = removed.iter().collect();
        let unknown = params.names.iter().filter(|name| !left.remove(name)).cloned().collect();
        if !removed.is_empty() {
            self.workspace.editor.tell(News::Tools(ToolsChanged::default()));
        }
        UnregisterToolsResult { removed, unknown }
    }
}

/// A tool as its client defines it, or why it cannot be one.
fn read(given: Value) -> Result<ClientTool, String> {
    let definition: ToolDefinition =
        serde_json::from_value(given).map_err(|fault| format!("its definition cannot be read: {fault}"))?;
    if definition.description.len() > DESCRIPTION_BYTES {
        let bytes = definition.description.len();
        return Err(format!("its description is {bytes} bytes long; at most {DESCRIPTION_BYTES} are taken"));
    }
    Ok(ClientTool::new(definition))
}

/// A tool that runs in the editor.
struct ClientTool {
    definition: ToolDefinition,
    capabilities: Vec<Capability>,
}

impl ClientTool {
    fn new(definition: ToolDefinition) -> ClientTool {
        let capabilities = capabilities(&definition);
        ClientTool { definition, capabilities }
    }

    /// Only what is declared to change nothing, and is not said to reach beyond this machine, runs without asking. What a
    /// client passes on from a server of others (`mcp__...`) is that server's word, which counts for nothing.
    fn rule(&self) -> Rule {
        let quiet = self.capabilities.iter().all(|capability| *capability == Capability::ReadsFiles);
        let passed_on = self.definition.name.get(..5).is_some_and(|begin| begin.eq_ignore_ascii_case("mcp__"));
        if self.definition.annotations.read_only_hint && quiet && !passed_on { Rule::Read } else { Rule::Unknown }
    }
}

/// What a tool can do, as far as its client has said; what it has not said counts as said.
fn capabilities(definition: &ToolDefinition) -> Vec<Capability> {
    let DeclaredAnnotations { read_only_hint, open_world_hint, .. } = definition.annotations;
    let mut capabilities = match &definition.capabilities {
        Some(declared) => declared.clone(),
        None if read_only_hint => vec![Capability::ReadsFiles],
        None => vec![Capability::ReadsFiles, Capability::WritesFiles, Capability::ExecutesCode, Capability::Network],
    };
    if !read_only_hint
        && !capabilities.iter().any(|can| matches!(can, Capability::WritesFiles | Capability::ExecutesCode))
    {
        capabilities.push(Capability::WritesFiles);
    }
    if open_world_hint == Some(true) {
        capabilities.push(Capability::Network);
    }
    capabilities.sort_unstable();
    capabilities.dedup();
    capabilities
}

#[async_trait]
impl AnyTool for ClientTool {
    fn traits(&self) -> Traits<'_> {
        let deadline = self.definition.deadline_ms.map_or(DEADLINE, Duration::from_millis);
        Traits {
            name: &self.definition.name,
            title: self.definition.title.as_deref().unwrap_or(&self.definition.name),
            capabilities: &self.capabilities,
            parallel: self.definition.parallel,
            deferred: self.definition.deferred,
            free_form: None,
            deadline: deadline.min(LONGEST),
            aliases: &[],
            names: &[],
        }
    }

    fn elsewhere(&self) -> bool {
        true
    }

    fn description(&self) -> String {
        self.definition.description.clone()
    }

    fn schema(&self) -> Value {
        self.definition.input_schema.clone()
    }

    fn output_schema(&self) -> Option<Value> {
        self.definition.output_schema.clone()
    }

    fn access(&self, _: &Value) -> Access {
        Access::default()
    }

    fn validate(&self, _: &Value) -> Result<(), ToolError> {
        Ok(())
    }

    async fn plan(&self, _: &Value, _: &Context) -> Result<Plan, ToolError> {
        Ok(Plan::Run)
    }

    async fn run(&self, arguments: Value, context: &Context) -> Result<Outcome, ToolError> {
        let name = &self.definition.name;
        let deadline = self.traits().deadline;
        let params = RunToolParams {
            session_id: context.session.id.clone(),
            call_id: context.call.to_string(),
            name: name.clone(),
            arguments,
        };
        let answer = context.workspace.editor.run_tool(params, deadline).await;
        outcome(name, deadline, answer)
    }
}

/// What the editor's answer, or its silence, is to the model.
fn outcome(name: &str, deadline: Duration, answer: Result<RunToolResult, AskError>) -> Result<Outcome, ToolError> {
    let answer = answer.map_err(|error| match error {
        AskError::Timeout => late(name, deadline),
        AskError::Gone | AskError::Unsupported => {
            ToolError::new(ErrorKind::Unavailable, format!("`{name}` runs in the editor, and {error}."))
        }
        AskError::Refused(_) => ToolError::new(ErrorKind::Failed, format!("`{name}` did not run: {error}.")),
    })?;
    let content: Vec<Content> = answer.content.into_iter().map(readable).collect();
    if !answer.is_error {
        return Ok(Outcome { content, structured: answer.structured_content, ..Outcome::default() });
    }
    let words: Vec<String> = content.into_iter().filter_map(words).collect();
    let message = if words.is_empty() { format!("`{name}` failed and did not say why.") } else { words.join("\n") };
    Err(ToolError { kind: ErrorKind::Failed, message, data: answer.structured_content, transient: false })
}

/// A piece of an answer; one that is none is told, so that nothing is lost unseen.
fn readable(piece: Value) -> Content {
    let kind = piece["type"].as_str().unwrap_or("unknown").chars().take(40).collect::<String>();
    serde_json::from_value(piece)
        .unwrap_or_else(|_| Content::text(format!("(a piece of type {kind:?} that cannot be shown)")))
}

fn words(piece: Content) -> Option<String> {
    match piece {
        Content::Text { text } => Some(text),
        Content::Image { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_an_answer_means() {
        let failed = |content: Value| {
            Ok(RunToolResult {
                content: content.as_array().unwrap().clone(),
                is_error: true,
                ..RunToolResult::default()
            })
        };
        for (answer, kind, words) in [
            (Err(AskError::Gone), ErrorKind::Unavailable, "`own` runs in the editor, and the editor is gone."),
            (
                Err(AskError::Unsupported),
                ErrorKind::Unavailable,
                "`own` runs in the editor, and the editor does not support this.",
            ),
            (
                Err(AskError::Timeout),
                ErrorKind::Timeout,
                "`own` took longer than 7 s and was stopped. Try a narrower scope.",
            ),
            (
                Err(AskError::Refused("no".to_owned())),
                ErrorKind::Failed,
                "`own` did not run: the editor answered with an error: no.",
            ),
            (failed(json!([])), ErrorKind::Failed, "`own` failed and did not say why."),
            (
                failed(json!([{ "type": "text", "text": "a" }, { "type": "text", "text": "b" }])),
                ErrorKind::Failed,
                "a\nb",
            ),
            (failed(json!([{ "text": "a" }])), ErrorKind::Failed, "(a piece of type \"unknown\" that cannot be shown)"),
        ] {
            let error = outcome("own", Duration::from_secs(7), answer).unwrap_err();
            assert_eq!((error.kind, error.message.as_str()), (kind, words));
        }
    }

    #[test]
    fn what_is_not_said_counts_as_the_worst() {
        use Capability::{ExecutesCode, Network, ReadsFiles, WritesFiles};
        for (declared, capabilities, rule) in [
            (json!({}), &[ReadsFiles, WritesFiles, ExecutesCode, Network][..], Rule::Unknown),
            (json!({ "annotations": { "readOnlyHint": true } }), &[ReadsFiles][..], Rule::Read),
            (
                json!({ "annotations": { "readOnlyHint": false } }),
                &[ReadsFiles, WritesFiles, ExecutesCode, Network],
                Rule::Unknown,
            ),
            (
                json!({ "name": "Mcp__server__look", "annotations": { "readOnlyHint": true } }),
                &[ReadsFiles],
                Rule::Unknown,
            ),
            (json!({ "capabilities": [] }), &[WritesFiles], Rule::Unknown),
            (json!({ "capabilities": ["network"] }), &[WritesFiles, Network], Rule::Unknown),
            (json!({ "annotations": { "readOnlyHint": true }, "capabilities": [] }), &[], Rule::Read),
            (
                json!({ "annotations": { "readOnlyHint": true }, "capabilities": ["writesFiles"] }),
                &[WritesFiles],
                Rule::Unknown,
            ),
            (
                json!({ "annotations": { "readOnlyHint": true, "openWorldHint": true } }),
                &[ReadsFiles, Network],
                Rule::Unknown,
            ),
        ] {
            let mut definition =
                json!({ "name": "own", "description": "Does it.", "inputSchema": {}, "parallel": true });
            definition.as_object_mut().unwrap().extend(declared.as_object().unwrap().clone());
            let tool = ClientTool::new(serde_json::from_value(definition).unwrap());
            assert_eq!((tool.traits().capabilities, tool.rule()), (capabilities, rule), "{declared}");
        }
    }
}
