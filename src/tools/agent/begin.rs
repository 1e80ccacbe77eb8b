//! Starting an agent, or going on with one: what has to be so before, its session, and the words on it.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use serde_json::json;
use tokio::sync::oneshot;

use super::command::{self, Checked, Task};
use super::run::{End, Invited, Place, Tended, Way, run, source};
use super::{Action, Arguments, GENERAL, unfit};
use crate::editor::RunAgentParams;
use crate::outputs::Gathered;
use crate::process;
use crate::sessions::agents::{Agent, AgentState};
use crate::sessions::kin::{self, MAX_DEPTH, MAX_NAME_BYTES};
use crate::sessions::policy::Apply;
use crate::tool::{Content, Context, ErrorKind, Failed, Outcome, ToolError};

/// So many agents of one session run at once.
const RUNNING: usize = 5;

/// A label for people has at most so many characters.
const LABEL: usize = 60;

/// Longer than the number of any agent, with what stands before it.
const SUFFIX: usize = 24;

/// Starts one, or goes on with one: waits for its end, or not.
pub(super) async fn begin(
    arguments: &Arguments,
    running: &Arc<AtomicUsize>,
    context: &Context,
) -> Result<Outcome, ToolError> {
    let session = &context.session;
    let known = match arguments.action {
        Action::Resume => Some(super::look::resumable(arguments, context)?),
        _ => None,
    };
    let depth = kin::depth(&session.id) + 1;
    let place = room(depth, running, context)?;
    let name = arguments.agent_type();
    let checked = way(name, context)?;
    let number = known.as_ref().map_or_else(|| session.next_agent(), |agent| agent.number);
    let child = context.slot.agent_session(session, number, known.is_none()).await;
    let child = child.ok_or_else(|| ToolError::new(ErrorKind::Unavailable, "No agent can be started from here."))?;
    let description = description(arguments, known.as_ref());
    let proposes = context.workspace.proposes();
    child.want(|wanted| {
        wanted.asked.label = Some(description.clone());
        if proposes {
            wanted.asked.apply = Some(Apply::Propose);
        }
    });
    let agent = Agent {
        number,
        description,
        agent_type: name.to_owned(),
        command: checked.is_some(),
        state: AgentState::Running,
        job: String::new(),
        detail: None,
        output: known.as_ref().map(|agent| agent.output.clone()).unwrap_or_default(),
        thread: known.as_ref().and_then(|agent| agent.thread.clone()),
        untold: false,
    };
    let mut tended =
        Tended { agent: None, epoch: session.epoch(), child, invited: None, context: context.clone(), _place: place };
    let (mut way, anew) = match checked {
        None => (Way::Editor(for_editor(arguments, &agent, known.as_ref(), &tended, depth)), false),
        Some(checked) => launched(arguments, checked, &agent, known.as_ref(), &mut tended).await?,
    };
    let label = label(&format!("agent {}: {}", agent.id(), agent.description));
    let (waits, end) = if arguments.background { (None, None) } else { Some(oneshot::channel()).unzip() };
    let (go, gone) = oneshot::channel::<Agent>();
    let job = context.jobs.start(session, &label, move |job| async move {
        // It has its place in what is remembered before anything can become of it.
        let agent = gone.await.map_err(|_| "it was not started".to_owned())?;
        if let Way::Editor(params) = &mut way {
            params.job_id = job.id();
        }
        tended.agent = Some(agent);
        run(tended, way, job, waits).await
    });
    let agent = Agent { job: job.clone(), ..agent };
    session.put_agent(agent.clone());
    if go.send(agent.clone()).is_err() {
        return Err(ToolError::new(ErrorKind::Failed, "The agent was not started: its job ended at once."));
    }
    match end {
        None => Ok(in_background(&agent, anew)),
        Some(end) => waited(&agent, end, anew, context).await,
    }
}

/// What the editor is asked to run.
fn for_editor(
    arguments: &Arguments,
    agent: &Agent,
    known: Option<&Agent>,
    tended: &Tended,
    depth: usize,
) -> RunAgentParams {
    let previous = known.map(|agent| agent.output.clone()).filter(|output| !output.is_empty());
    RunAgentParams {
        session_id: tended.child.id.clone(),
        parent_session_id: tended.context.session.id.clone(),
        // The job names itself.
        job_id: String::new(),
        task_id: agent.id(),
        description: agent.description.clone(),
        prompt: arguments.prompt().to_owned(),
        agent_type: agent.agent_type.clone(),
        depth,
        resume: known.is_some(),
        previous_output: previous,
    }
}

/// Starts a command. Also whether it begins another conversation though it was to go on with one.
async fn launched(
    arguments: &Arguments,
    checked: Checked,
    agent: &Agent,
    known: Option<&Agent>,
    tended: &mut Tended,
) -> Result<(Way, bool), ToolError> {
    let name = agent.agent_type.as_str();
    tended.invited = invited(name, &checked, tended).await?;
    let goes_on = known.is_some() && checked.goes_on(agent.thread.as_deref());
    let prompt = match known {
        Some(before) if !goes_on => again(before, arguments.prompt()),
        _ => arguments.prompt().to_owned(),
    };
    let program = process::own_program();
    let task = Task {
        prompt: &prompt,
        thread: agent.thread.as_deref(),
        session: &tended.child.id,
        invitation: tended.invited.as_ref().map(|invited| &invited.invitation),
        program: program.as_deref(),
    };
    let command = checked.command(&task, goes_on);
    if tended.context.cancel.is_cancelled() {
        return Err(ToolError::new(ErrorKind::Cancelled, "The call was cancelled before the agent was started."));
    }
    let started = command::started(name, &command, &tended.context)?;
    Ok((Way::Command(Box::new(checked), started), known.is_some() && !goes_on))
}

/// Whether there is room for one more.
fn room(depth: usize, running: &Arc<AtomicUsize>, context: &Context) -> Result<Place, ToolError> {
    let session = &context.session;
    let none = |words: String| ToolError::new(ErrorKind::Unavailable, words);
    if depth > MAX_DEPTH {
        return Err(none(format!(
            "Agents are within agents {MAX_DEPTH} deep already, and no deeper: no agent was started. Do it yourself."
        )));
    }
    if session.id.len() + SUFFIX > MAX_NAME_BYTES {
        return Err(none("The name of this session is too long for it to have agents. Do it yourself.".to_owned()));
    }
    let agents = session.agents();
    let at_work: Vec<String> =
        agents.all().iter().filter(|agent| agent.state == AgentState::Running).map(Agent::id).collect();
    if at_work.len() >= RUNNING {
        return Err(none(format!(
            "{} agents of this session run ({}), and no more than {RUNNING} may. None was started; wait for one to end, or \
             end one by action \"cancel\".",
            at_work.len(),
            at_work.join(", ")
        )));
    }
    Place::take(running).map_err(|running| {
        none(format!(
            "{running} agents run in all sessions, and no more may. None was started; try again when one has ended."
        ))
    })
}

/// Who runs an agent of a type: a command of the user's of that name, or else the editor (`None`).
fn way(name: &str, context: &Context) -> Result<Option<Checked>, ToolError> {
    let settings = context.workspace.settings();
    if let Some(agent) = settings.agents.get(name) {
        return command::checked(name, agent, context).map(Some);
    }
    if context.workspace.editor.abilities().run_agent {
        return Ok(None);
    }
    let known: Vec<String> = settings
        .agents
        .iter()
        .map(|(name, agent)| match &agent.description {
            Some(what) => format!("\"{name}\" ({what})"),
            None => format!("\"{name}\""),
        })
        .collect();
    let words = if known.is_empty() {
        "There are no agents here: this editor runs none, and the user's settings name none (`agents`). Do it yourself."
            .to_owned()
    } else if name == GENERAL {
        format!("Say which agent: `agent_type` is one of {}. None was started.", known.join(", "))
    } else {
        format!("There is no agent \"{name}\"; there are {}. None was started.", known.join(", "))
    };
    let kind = if known.is_empty() { ErrorKind::Unavailable } else { ErrorKind::InvalidArguments };
    Err(ToolError::new(kind, words))
}

/// Opens the door for a command.
async fn invited(name: &str, checked: &Checked, tended: &Tended) -> Result<Option<Invited>, ToolError> {
    if !checked.settings.joins {
        return Ok(None);
    }
    let door = tended.context.slot.door();
    match door.invite(&tended.child.id).await {
        Ok(invitation) => Ok(Some(Invited { door, invitation })),
        Err(error) => Err(ToolError {
            message: format!("Agent \"{name}\" was not started, for it could not use our tools. {}", error.message),
            ..error
        }),
    }
}

fn description(arguments: &Arguments, known: Option<&Agent>) -> String {
    let given = arguments.description.as_deref().map(str::trim).filter(|given| !given.is_empty());
    match (given, known) {
        (Some(given), _) => label(given),
        (None, Some(known)) => known.description.clone(),
        (None, None) => label(arguments.prompt().trim()),
    }
}

/// The first line of a text, not too long.
fn label(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let short: String = line.chars().filter(|c| !c.is_control()).take(LABEL).collect();
    if short.len() < text.len() { format!("{short}…") } else { short }
}

/// The prompt for an agent that remembers nothing of what it did.
fn again(before: &Agent, prompt: &str) -> String {
    let said = if before.output.is_empty() { "(nothing is known of that)" } else { before.output.trim_end() };
    format!(
        "You worked on this before, in a conversation that is over: {}\n\nThe end of what you said then, between the \
         lines:\n---\n{said}\n---\n\nNow: {prompt}",
        before.description
    )
}

/// What a model is told to do for more.
fn more(agent: &Agent) -> String {
    let of_type =
        if agent.agent_type == GENERAL { String::new() } else { format!(", agent_type \"{}\"", agent.agent_type) };
    format!("`agent` with action \"resume\", task_id \"{}\"{of_type} gives it more to do", agent.id())
}

const ANEW: &str =
    "It could not go on with its own conversation, and began another one with the end of what it said before.";

fn data(agent: &Agent) -> serde_json::Value {
    json!({ "taskId": agent.id(), "jobId": agent.job, "agentType": agent.agent_type })
}

fn in_background(agent: &Agent, anew: bool) -> Outcome {
    let mut words = format!(
        "Agent {id} ({}) works on it in the background, as job {job}. You are told with a later result when it has ended; the \
         `output` tool then shows what it said: id \"{job}\". Action \"status\", task_id \"{id}\" shows it at any time.",
        agent.agent_type,
        id = agent.id(),
        job = agent.job
    );
    if anew {
        words = format!("{words} {ANEW}");
    }
    Outcome { content: vec![Content::text(words)], structured: Some(data(agent)), ..Outcome::default() }
}

/// Ends the job of a call that is over before its agent.
struct Waiting<'a>(&'a Agent, &'a Context);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.1.jobs.stop(&self.1.session.id, &self.0.job);
    }
}

/// Waits for the end of an agent; the call is cancelled: ends it.
async fn waited(
    agent: &Agent,
    mut end: oneshot::Receiver<End>,
    anew: bool,
    context: &Context,
) -> Result<Outcome, ToolError> {
    let waiting = Waiting(agent, context);
    let ended = tokio::select! {
        biased;
        ended = &mut end => ended,
        () = context.cancel.cancelled() => {
            context.jobs.stop(&context.session.id, &agent.job);
            end.await
        }
    };
    drop(waiting);
    let Ok(End { state, detail, said, .. }) = ended else {
        let words = format!("Agent {} was ended by force, and nothing is known of what it said.", agent.id());
        return Err(ToolError::new(ErrorKind::Failed, words));
    };
    let kind = match state {
        AgentState::Ended => None,
        AgentState::Stopped => Some(ErrorKind::Cancelled),
        AgentState::Running | AgentState::Failed | AgentState::Lost => Some(ErrorKind::Failed),
    };
    let nothing = matches!(&said, Gathered::Text(text) if text.is_empty());
    let how = match state {
        AgentState::Ended => format!("Agent {} has ended", agent.id()),
        _ => format!("Agent {} {} ({detail})", agent.id(), state.words()),
    };
    let said_nothing = if nothing { ", and said nothing" } else { "" };
    let mut beside = vec![format!("{how}{said_nothing}; {}.", more(agent))];
    beside.extend(anew.then(|| ANEW.to_owned()));
    let mut structured = data(agent);
    structured["state"] = json!(state);
    let failed = kind.map(|kind| Failed { kind, data: Some(structured.clone()) });
    let (content, external, long) = match said {
        Gathered::Text(_) if nothing => (vec![Content::text(std::mem::take(&mut beside).join("\n"))], None, None),
        Gathered::Text(text) => (vec![Content::text(text)], Some(source(agent)), None),
        Gathered::Long(long) => (Vec::new(), Some(source(agent)), Some(long)),
    };
    Ok(Outcome { content, structured: Some(structured), failed, external, long, beside, ..Outcome::default() })
}

/// The refusal to go on with one.
pub(super) fn not_so(agent: &Agent) -> Option<ToolError> {
    (agent.state == AgentState::Running).then(|| {
        unfit(format!(
            "Agent {id} ({}) still works on what it was given. Wait for its end, which you are told of, or end it by action \
             \"cancel\".",
            agent.description,
            id = agent.id()
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_short_and_on_one_line() {
        assert_eq!(label("Find it"), "Find it");
        assert_eq!(label("Find it\nand more"), "Find it…");
        assert_eq!(label(&"é".repeat(LABEL + 1)), format!("{}…", "é".repeat(LABEL)));
        assert_eq!(label(&"é".repeat(LABEL)), "é".repeat(LABEL));
    }
}
