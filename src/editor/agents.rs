//! Agents that the editor runs for a session: `ropewalk/runAgent`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An agent to run: `ropewalk/runAgent`. It works in a session of its own, whose calls are held to what the session that
/// started it may do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunAgentParams {
    /// The session of the agent: the one that its calls belong to.
    pub session_id: String,
    /// The session that started it.
    pub parent_session_id: String,
    /// The job of that session which it runs as.
    pub job_id: String,
    /// Names it in that session, for the model: `a1`.
    pub task_id: String,
    /// What it is to do, in a few words, for people.
    pub description: String,
    /// What it is to do.
    pub prompt: String,
    /// Of which type it is to be; the editor knows which there are.
    pub agent_type: String,
    /// How many agents it is within, itself counted: 1 to 5.
    pub depth: usize,
    /// It goes on with what it did in its session before; an editor that kept nothing of that begins anew.
    #[serde(default)]
    pub resume: bool,
    /// On `resume`: the end of what it said last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_output: Option<String>,
}

/// The answer to [`RunAgentParams`], once the agent has ended.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RunAgentResult {
    /// What it says in the end, whole.
    pub output: String,
    /// How it ended.
    pub status: AgentStatus,
}

/// How an agent ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum AgentStatus {
    /// It did what it could.
    #[default]
    Completed,
    /// It failed; `output` says how.
    Failed,
    /// A person stopped it.
    Cancelled,
}
