//! One run of an agent, as a job: from its start to its end, and what is remembered of that however it comes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::oneshot;
use tokio::task::JoinError;

use super::LONGEST;
use super::command::{self, Checked};
use crate::editor::{AgentStatus, AskError, RunAgentParams};
use crate::jobs;
use crate::outputs::{Gather, Gathered, NewOutput};
use crate::process::Running;
use crate::sessions::Session;
use crate::sessions::agents::{Agent, AgentState};
use crate::tool::{Context, Door, Invitation};

/// So many agents run at once, of all sessions.
const AT_ONCE: usize = 16;

/// How an agent is run.
pub(super) enum Way {
    /// By the editor.
    Editor(RunAgentParams),
    /// It is a command, which has been started.
    Command(Box<Checked>, Running),
}

/// How a run ended.
pub(super) struct End {
    pub state: AgentState,
    /// In words.
    pub detail: String,
    /// What it said.
    pub said: Gathered,
    /// The end of that.
    tail: String,
    thread: Option<String>,
}

impl End {
    /// With what was gathered of its words; `said`: the end of them.
    pub(super) async fn of(
        state: AgentState,
        detail: String,
        said: &str,
        thread: Option<String>,
        gather: Gather,
    ) -> End {
        match tokio::task::spawn_blocking(move || gather.finish()).await {
            Ok(gathered) => End { state, detail, said: gathered, tail: said.to_owned(), thread },
            Err(error) => broke_down(&error),
        }
    }
}

/// The failure of what keeps an output.
pub(super) fn broke_down(error: &JoinError) -> End {
    let detail = format!("keeping what it said broke down ({error})");
    End { state: AgentState::Failed, detail, said: Gathered::Text(String::new()), tail: String::new(), thread: None }
}

/// At most so many last bytes of a text.
pub(super) fn tail(text: &str, most: usize) -> &str {
    let mut at = text.len().saturating_sub(most);
    while !text.is_char_boundary(at) {
        at += 1;
    }
    &text[at..]
}

/// The place of an agent among all that run.
pub(super) struct Place(Arc<AtomicUsize>);

impl Place {
    /// One more, if there is room; the error is how many run.
    pub(super) fn take(running: &Arc<AtomicUsize>) -> Result<Place, usize> {
        let more = |running: usize| (running < AT_ONCE).then_some(running + 1);
        let taken = running.fetch_update(Ordering::AcqRel, Ordering::Acquire, more);
        taken.map(|_| Place(Arc::clone(running)))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// A door that stands open for an agent.
pub(super) struct Invited {
    pub door: Arc<dyn Door>,
    pub invitation: Invitation,
}

impl Drop for Invited {
    fn drop(&mut self) {
        self.door.withdraw(&self.invitation);
    }
}

/// What is there for an agent for as long as it runs, and is put in order however that ends.
pub(super) struct Tended {
    /// What is remembered of it; taken when it has ended properly.
    pub agent: Option<Agent>,
    /// Of its session, when it was started: of one that was closed since nothing is remembered.
    pub epoch: u64,
    /// Holds its session open.
    pub child: Arc<Session>,
    pub invited: Option<Invited>,
    pub context: Context,
    pub _place: Place,
}

impl Tended {
    /// Its session is the one that it was started in, and not a later one of the same name.
    fn is_current(&self) -> bool {
        self.context.session.epoch() == self.epoch
    }

    fn remember(&self, agent: Agent) {
        if self.is_current() {
            self.context.session.put_agent(agent);
        }
    }

    fn ended(&mut self, end: &End) {
        if let Some(mut agent) = self.agent.take() {
            agent.state = end.state;
            agent.detail = Some(end.detail.clone());
            agent.said(&end.tail);
            agent.thread = end.thread.clone().or(agent.thread);
            self.remember(agent);
        }
    }
}

impl Tended {
    /// First nobody comes in any more, then what is under way ends.
    fn close(&mut self) {
        drop(self.invited.take());
        self.context.slot.agent_ended(&self.child.id);
    }
}

impl Drop for Tended {
    fn drop(&mut self) {
        self.close();
        if let Some(mut agent) = self.agent.take() {
            agent.state = AgentState::Stopped;
            agent.detail = Some("it did not end in time when it was stopped".to_owned());
            self.remember(agent);
        }
    }
}

/// Runs an agent to its end. `waits`: the call that waits for it.
pub(super) async fn run(
    mut tended: Tended,
    way: Way,
    job: jobs::Running,
    waits: Option<oneshot::Sender<End>>,
) -> Result<String, String> {
    job.awaited(waits.is_some());
    let progress = waits.is_some().then(|| tended.context.progress.clone());
    let gather = Gather::new(tended.context.spill.clone(), &tended.context.session.id);
    let end = match way {
        Way::Editor(params) => by_editor(&tended, params, &job, gather).await,
        Way::Command(checked, running) => {
            job.runs_in(checked.folder(), &checked.footing);
            let clock = Arc::clone(&tended.context.workspace.ports.clock);
            command::follow(running, &checked, &job, progress.as_ref(), gather, &*clock).await
        }
    };
    let name = tended.agent.as_ref().map(Agent::id).unwrap_or_default();
    let source = tended.agent.as_ref().map(source).unwrap_or_default();
    tended.close();
    if job.ends_with_us() || end.state == AgentState::Lost {
        // It stays remembered as at work, so that it is told of as lost when its session is back.
        tended.agent = None;
    } else {
        tended.ended(&end);
    }
    let good = end.state == AgentState::Ended;
    let mut words = format!("agent {name} {}: {}", end.state.words(), end.detail);
    job.ended(&words);
    // Whoever waited may have gone; then it is told as any other job.
    let left = match waits {
        Some(waits) => waits.send(end).err(),
        None => Some(end),
    };
    if let Some(end) = left {
        job.awaited(false);
        if tended.is_current() {
            if keep(end.said, &job.id(), source, &tended.context) {
                words = format!("{words}; what it said is kept: id \"{}\"", job.id());
                job.ended(&words);
            }
        } else {
            tended.context.discard(end.said);
        }
    }
    if good { Ok(words) } else { Err(words) }
}

/// Where the words of an agent come from, for the marks round them.
pub(super) fn source(agent: &Agent) -> String {
    format!("agent {} ({})", agent.id(), agent.agent_type)
}

async fn by_editor(tended: &Tended, params: RunAgentParams, job: &jobs::Running, mut gather: Gather) -> End {
    let editor = &tended.context.workspace.editor;
    let answer = tokio::select! {
        biased;
        answer = editor.run_agent(params, LONGEST) => Some(answer),
        () = job.stop.cancelled() => None,
    };
    let (state, detail, said) = match answer {
        None => (AgentState::Stopped, "it was stopped".to_owned(), String::new()),
        Some(Ok(answer)) => {
            let (state, words) = match answer.status {
                AgentStatus::Completed => (AgentState::Ended, "it is done"),
                AgentStatus::Failed => (AgentState::Failed, "it says that it failed"),
                AgentStatus::Cancelled => (AgentState::Stopped, "it was stopped in the editor"),
            };
            (state, words.to_owned(), answer.output)
        }
        Some(Err(AskError::Unsupported)) => (AgentState::Failed, "the editor runs no agents".to_owned(), String::new()),
        Some(Err(AskError::Timeout)) => (AgentState::Failed, "its time was over".to_owned(), String::new()),
        Some(Err(error @ AskError::Refused(_))) => (AgentState::Failed, error.to_string(), String::new()),
        Some(Err(error @ AskError::Gone)) => (AgentState::Lost, error.to_string(), String::new()),
    };
    job.output(said.as_bytes());
    gather.push(&said);
    End::of(state, detail, &said, None, gather).await
}

/// Keeps what an agent said under the name of its job. Answers whether there was anything.
fn keep(said: Gathered, id: &str, source: String, context: &Context) -> bool {
    if matches!(&said, Gathered::Text(text) if text.is_empty()) {
        return false;
    }
    let new = NewOutput {
        id: id.to_owned(),
        call_id: context.call.to_string(),
        tool: "agent".to_owned(),
        text: Arc::from(""),
        external: Some(source),
        kind: None,
    };
    context.keep(said, new);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_for_so_many() {
        let running = Arc::new(AtomicUsize::new(0));
        let mut places: Vec<Place> = (0..AT_ONCE).filter_map(|_| Place::take(&running).ok()).collect();
        assert_eq!((places.len(), Place::take(&running).err()), (AT_ONCE, Some(AT_ONCE)));
        places.pop();
        assert!(Place::take(&running).is_ok());
        drop(places);
        assert_eq!(running.load(Ordering::Acquire), 0);
    }

    #[test]
    fn tails_are_cut_between_characters() {
        assert_eq!((tail("aéb", 2), tail("aéb", 3), tail("aéb", 9), tail("", 3)), ("b", "éb", "aéb", ""));
    }
}
