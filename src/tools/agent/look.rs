//! Looking at agents that there are, and ending them.

use serde_json::{Value, json};

use super::begin::not_so;
use super::run::{source, tail};
use super::{Arguments, GENERAL, unfit};
use crate::editor::JobState;
use crate::sessions::agents::{Agent, AgentState, Agents, KEPT_BYTES};
use crate::tool::{Content, Context, ErrorKind, Outcome, ToolError};

/// The agent of a name.
fn named(task: &str, agents: &Agents) -> Result<Agent, ToolError> {
    agents.named(task).cloned().ok_or_else(|| {
        let known: Vec<String> = agents.all().iter().map(Agent::id).collect();
        let there =
            if known.is_empty() { "there are none".to_owned() } else { format!("there are {}", known.join(", ")) };
        let message = format!("There is no agent \"{task}\" in this session; {there}.");
        ToolError::new(ErrorKind::NotFound, message)
    })
}

/// The agent to go on with.
pub(super) fn resumable(arguments: &Arguments, context: &Context) -> Result<Agent, ToolError> {
    let agent = named(arguments.task(), &context.session.agents())?;
    if let Some(error) = not_so(&agent) {
        return Err(error);
    }
    if agent.agent_type != arguments.agent_type() {
        let (id, is) = (agent.id(), &agent.agent_type);
        let words = if is == GENERAL {
            format!("Agent {id} has no special type; leave `agent_type` out, or start another agent.")
        } else {
            format!("Agent {id} is of the type \"{is}\"; say so to go on with it: agent_type \"{is}\".")
        };
        return Err(unfit(words));
    }
    Ok(agent)
}

/// How an agent is doing, and what it has said.
pub(super) fn status(task: &str, context: &Context) -> Result<Outcome, ToolError> {
    let session = &context.session;
    let agent = named(task, &session.agents())?;
    let said = if agent.state == AgentState::Running {
        let output = context.jobs.output(&session.id, &agent.job, 0);
        output.map(|output| tail(&output.text, KEPT_BYTES).to_owned()).unwrap_or_default()
    } else {
        agent.output.clone()
    };
    let mut words = line(&agent);
    if agent.state != AgentState::Running && session.outputs().find(&agent.job).is_some() {
        words = format!("{words}\nAll that it said is kept: id \"{}\", for the `output` tool.", agent.job);
    }
    let structured = Some(data(&agent));
    if said.trim().is_empty() {
        let content = vec![Content::text(format!("{words}\nIt has said nothing yet."))];
        return Ok(Outcome { content, structured, ..Outcome::default() });
    }
    let external = Some(source(&agent));
    Ok(Outcome { content: vec![Content::text(said)], structured, external, beside: vec![words], ..Outcome::default() })
}

/// Ends an agent.
pub(super) fn cancel(task: &str, context: &Context) -> Result<Outcome, ToolError> {
    let session = &context.session;
    let agent = named(task, &session.agents())?;
    let words = match context.jobs.stop(&session.id, &agent.job) {
        Some(true) if agent.state == AgentState::Running => {
            format!(
                "Agent {} is told to stop; its end is told with a later result. What it has changed stays.",
                agent.id()
            )
        }
        _ => format!("Agent {} does not run any more ({}).", agent.id(), agent.state.words()),
    };
    Ok(Outcome { content: vec![Content::text(words)], structured: Some(data(&agent)), ..Outcome::default() })
}

/// All agents of the session.
pub(super) fn list(context: &Context) -> Outcome {
    let agents = context.session.agents();
    let jobs = context.jobs.list(&context.session.id);
    let stops = |agent: &Agent| {
        agent.state == AgentState::Running
            && jobs.iter().any(|job| job.id == agent.job && job.state != JobState::Running)
    };
    let lines: Vec<String> = agents
        .all()
        .iter()
        .map(|agent| if stops(agent) { format!("{} (about to end)", line(agent)) } else { line(agent) })
        .collect();
    let words = if lines.is_empty() { "This session has started no agents.".to_owned() } else { lines.join("\n") };
    let all: Vec<Value> = agents.all().iter().map(data).collect();
    Outcome { content: vec![Content::text(words)], structured: Some(json!({ "agents": all })), ..Outcome::default() }
}

fn line(agent: &Agent) -> String {
    let detail = agent.detail.as_ref().map(|detail| format!(" ({detail})")).unwrap_or_default();
    let (id, kind, state) = (agent.id(), &agent.agent_type, agent.state.words());
    format!("{id} [{kind}] {state}{detail}: {}", agent.description)
}

fn data(agent: &Agent) -> Value {
    json!({
        "taskId": agent.id(),
        "jobId": agent.job,
        "agentType": agent.agent_type,
        "description": agent.description,
        "state": agent.state,
        "detail": agent.detail,
    })
}
