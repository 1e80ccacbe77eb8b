//! The agents that a session started: what is remembered of each, so that it can be asked about, and gone on with, also
//! after a restart. Running them is the tool's business.

use serde::{Deserialize, Serialize};

use super::Session;

/// The part of a session that they are kept in.
const PART: &str = "agents";

/// So many that do not run any more are remembered.
const REMEMBERED: usize = 32;

/// Of what an agent said last, so many bytes of its end are kept.
pub const KEPT_BYTES: usize = 16 * 1024;

/// How an agent is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AgentState {
    /// It works.
    Running,
    /// It came to its end.
    Ended,
    /// It failed.
    Failed,
    /// It was stopped.
    Stopped,
    /// Its session, or we, ended while it worked.
    Lost,
}

impl AgentState {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            AgentState::Running => "running",
            AgentState::Ended => "ended",
            AgentState::Failed => "failed",
            AgentState::Stopped => "stopped",
            AgentState::Lost => "lost",
        }
    }
}

/// One agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Agent {
    /// Names it in its session: 1 is `a1`.
    pub number: u64,
    /// What it is to do, in a few words.
    pub description: String,
    /// Of which type it is: a command of the user's, or whatever the editor makes of it.
    pub agent_type: String,
    /// Whether it is a command.
    pub command: bool,
    /// How it is doing.
    pub state: AgentState,
    /// The job that it runs as, or ran as last.
    pub job: String,
    /// How it ended, in words.
    #[serde(default)]
    pub detail: Option<String>,
    /// The end of what it said last; at most [`KEPT_BYTES`].
    #[serde(default)]
    pub output: String,
    /// Its own name of the conversation.
    #[serde(default)]
    pub thread: Option<String>,
    /// That it was lost is still to be told.
    #[serde(default)]
    pub untold: bool,
}

impl Agent {
    /// Its name in its session.
    pub fn id(&self) -> String {
        format!("a{}", self.number)
    }

    /// Remembers what it said: the end of it.
    pub fn said(&mut self, output: &str) {
        let mut at = output.len().saturating_sub(KEPT_BYTES);
        while !output.is_char_boundary(at) {
            at += 1;
        }
        output[at..].clone_into(&mut self.output);
    }
}

/// The agents of a session.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Agents {
    /// So many were started.
    started: u64,
    all: Vec<Agent>,
}

impl Agents {
    /// All that are remembered, in the order in which they were started.
    pub fn all(&self) -> &[Agent] {
        &self.all
    }

    /// The one of a name.
    pub fn named(&self, id: &str) -> Option<&Agent> {
        self.all.iter().find(|agent| agent.id() == id.trim())
    }

    /// The number of the next one.
    fn next(&mut self) -> u64 {
        self.started += 1;
        self.started
    }

    /// Takes one in, or what became of it.
    fn put(&mut self, agent: Agent) {
        match self.all.iter_mut().find(|known| known.number == agent.number) {
            Some(known) => *known = agent,
            None => self.all.push(agent),
        }
        let over =
            self.all.iter().filter(|agent| agent.state != AgentState::Running).count().saturating_sub(REMEMBERED);
        let mut gone = 0;
        self.all.retain(|agent| {
            let goes = gone < over && agent.state != AgentState::Running;
            gone += usize::from(goes);
            !goes
        });
    }

    /// Those that were at work are not any more.
    fn lose(&mut self) {
        for agent in self.all.iter_mut().filter(|agent| agent.state == AgentState::Running) {
            agent.state = AgentState::Lost;
            agent.untold = true;
        }
    }

    /// What is still to be told, once.
    fn told(&mut self) -> Vec<String> {
        self.all
            .iter_mut()
            .filter_map(|agent| {
                std::mem::take(&mut agent.untold).then_some(())?;
                Some(format!(
                    "agent {id} ({}) was lost: its session, or Ropewalk, ended while it worked. What it had changed by then \
                     is there. `agent` with action \"resume\" and task_id \"{id}\" goes on with it",
                    agent.description,
                    id = agent.id()
                ))
            })
            .collect()
    }
}

impl Session {
    /// Its agents.
    pub fn agents(&self) -> Agents {
        self.part(PART).unwrap_or_default()
    }

    /// The number for one more agent.
    pub fn next_agent(&self) -> u64 {
        self.change_part(PART, Agents::next)
    }

    /// An agent was started, or something became of it.
    pub fn put_agent(&self, agent: Agent) {
        self.change_part(PART, |agents: &mut Agents| agents.put(agent));
    }

    /// What is still to be told of agents, once.
    pub fn agents_told(&self) -> Vec<String> {
        if !self.agents().all.iter().any(|agent| agent.untold) {
            return Vec::new();
        }
        self.change_part(PART, Agents::told)
    }

    /// What was kept is here: the agents that were at work then are not any more.
    pub(super) fn agents_lost(&self) {
        if !self.agents().all.is_empty() {
            self.change_part(PART, Agents::lose);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(number: u64, state: AgentState) -> Agent {
        Agent {
            number,
            description: "look".to_owned(),
            agent_type: "general".to_owned(),
            command: false,
            state,
            job: format!("j{number}"),
            detail: None,
            output: String::new(),
            thread: None,
            untold: false,
        }
    }

    #[test]
    fn what_was_at_work_is_told_as_lost_once() {
        let session = Session::new("s");
        for state in [AgentState::Ended, AgentState::Running] {
            let number = session.next_agent();
            session.put_agent(agent(number, state));
        }
        assert_eq!(session.agents_told(), Vec::<String>::new());
        session.agents_lost();
        let told = session.agents_told();
        assert!(told.len() == 1 && told[0].starts_with("agent a2 (look) was lost"), "{told:?}");
        assert_eq!(session.agents_told(), Vec::<String>::new());
        let states: Vec<_> = session.agents().all().iter().map(|agent| agent.state).collect();
        assert_eq!((states, session.next_agent()), (vec![AgentState::Ended, AgentState::Lost], 3));
    }

    #[test]
    fn those_at_work_are_remembered_and_so_many_others() {
        let mut agents = Agents::default();
        agents.put(agent(1, AgentState::Running));
        for number in 2..=40 {
            agents.put(agent(number, AgentState::Ended));
        }
        assert_eq!((agents.all.len(), agents.all[0].number, agents.all[1].number), (REMEMBERED + 1, 1, 9));
        assert!(agents.named(" a40 ").is_some() && agents.named("a2").is_none() && agents.named("40").is_none());
    }

    #[test]
    fn the_end_of_what_it_said_is_kept() {
        let mut agent = agent(1, AgentState::Ended);
        let long = "é".repeat(KEPT_BYTES);
        agent.said(&format!("x{long}"));
        assert_eq!(agent.output, "é".repeat(KEPT_BYTES / 2));
        agent.said("short");
        assert_eq!(agent.output, "short");
    }
}
