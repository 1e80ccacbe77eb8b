//! `agent`: hands a task to another agent, which works in a session of its own: one that the editor runs, or a command of
//! the user's.
//!
//! Each run is a job, so that panes see it and stop it. A call that waits ends its agent when it is cancelled. What an agent
//! says is another model's text, and is marked as such.

mod begin;
mod command;
mod fill;
mod look;
mod run;

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::Settings;
use crate::editor::Abilities;
use crate::tool::{Access, Capability, Context, ErrorKind, Outcome, Tool, ToolError, Traits};

/// The type of an agent whose call names none.
const GENERAL: &str = "general";

/// A prompt has at most so many bytes: as an argument it has to fit what the system lets one have.
const PROMPT_BYTES: usize = 100_000;

/// No agent works longer.
const LONGEST: Duration = Duration::from_hours(6);

/// Hands a task to another agent, which works on it by itself, with tools like yours, and then answers. It sees nothing of
/// this conversation: the prompt has to say all that it needs. Without `background` you wait for its answer; with it, you go
/// on at once and are told with a later result when it has ended. `status` shows what one has said, `resume` gives one that
/// has ended more to do, `cancel` ends one, `list` shows all. It may do no more than you may.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// What to do.
    #[serde(default)]
    pub action: Action,
    /// start: the task in a few words, for the person who reads along.
    #[schemars(example = &"Find where sessions are closed")]
    pub description: Option<String>,
    /// start, resume: what it is to do, and what it needs to know.
    #[schemars(example = &"Find every place where a session is closed, and say which files they are in and what they do.")]
    pub prompt: Option<String>,
    /// start: which agent, where there are several; resume: the type that it was started with.
    #[schemars(example = &"general")]
    pub agent_type: Option<String>,
    /// start, resume: go on at once.
    #[serde(default)]
    pub background: bool,
    /// status, resume, cancel: the agent, as `start` named it.
    #[schemars(example = &"a1")]
    pub task_id: Option<String>,
}

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Action {
    /// Hand a task to a new agent.
    #[default]
    Start,
    /// Show how one is doing, and what it has said.
    Status,
    /// Give one that has ended more to do.
    Resume,
    /// End one.
    Cancel,
    /// Show all agents.
    List,
}

impl Arguments {
    fn task(&self) -> &str {
        self.task_id.as_deref().unwrap_or_default().trim()
    }

    fn agent_type(&self) -> &str {
        self.agent_type.as_deref().map(str::trim).filter(|name| !name.is_empty()).unwrap_or(GENERAL)
    }

    fn prompt(&self) -> &str {
        self.prompt.as_deref().unwrap_or_default()
    }

    fn starts(&self) -> bool {
        matches!(self.action, Action::Start | Action::Resume)
    }
}

/// The tool.
#[derive(Default)]
pub struct AgentTool {
    /// So many agents run, of all sessions.
    running: Arc<AtomicUsize>,
}

#[async_trait]
impl Tool for AgentTool {
    type Arguments = Arguments;

    const TRAITS: Traits<'static> = Traits {
        name: "agent",
        title: "Hand a task to an agent",
        capabilities: &[Capability::ReadsFiles, Capability::WritesFiles, Capability::ExecutesCode],
        parallel: false,
        deferred: false,
        // What is no JSON may have been meant for an agent that there is already.
        free_form: None,
        deadline: Duration::from_secs(LONGEST.as_secs() + 60),
        aliases: &[
            ("task", "prompt"),
            ("instructions", "prompt"),
            ("subagent_type", "agent_type"),
            ("type", "agent_type"),
            ("run_in_background", "background"),
            ("id", "task_id"),
            ("agent_id", "task_id"),
        ],
        names: &["task", "subagent", "spawn_agent", "run_agent", "agent_open", "delegate"],
    };

    /// The time it takes to end a command by force, and to hear of it.
    const WINDS_DOWN: Duration = Duration::from_secs(5);

    fn lacks(&self, settings: &Settings, editor: &Abilities) -> Option<&'static str> {
        let none = settings.agents.is_empty() && !editor.run_agent;
        none.then_some("this editor runs no agents, and the user's settings name none (`agents`)")
    }

    /// What it starts is named, so that rules can be about it; what the agent reaches is judged when it calls our tools.
    fn access(&self, arguments: &Arguments) -> Access {
        let named = arguments.starts().then(|| arguments.agent_type().to_owned());
        Access { commands: named.into_iter().collect(), ..Access::default() }
    }

    fn validate(&self, arguments: &Arguments) -> Result<(), ToolError> {
        let (prompt, task) = (arguments.prompt(), arguments.task());
        let missing = |what: &str| {
            let words = format!(
                "`task_id` is missing; say which agent to {what}, as `start` named it, for example \"a1\". Action \"list\" \
                 shows all."
            );
            Err(unfit(words))
        };
        match arguments.action {
            Action::Start if !task.is_empty() => Err(unfit(format!(
                "There is a `task_id` ({task}), and the action is \"start\", which makes a new agent. To go on with {task} use \
                 action \"resume\", to see how it is doing \"status\"; for a new agent leave `task_id` out."
            ))),
            Action::Status if task.is_empty() => missing("look at"),
            Action::Cancel if task.is_empty() => missing("end"),
            Action::Resume if task.is_empty() => missing("go on with"),
            Action::Start | Action::Resume if prompt.trim().is_empty() => {
                Err(unfit("`prompt` is missing; say what the agent is to do, and all that it needs to know for that."))
            }
            Action::Start | Action::Resume if prompt.contains('\0') => {
                Err(unfit("`prompt` has a NUL character in it; leave it out."))
            }
            Action::Start | Action::Resume if prompt.len() > PROMPT_BYTES => Err(unfit(format!(
                "`prompt` has {} bytes; at most {PROMPT_BYTES} are taken. Put what is long into a file, and name that.",
                prompt.len()
            ))),
            _ => Ok(()),
        }
    }

    async fn run(&self, arguments: Arguments, context: &Context) -> Result<Outcome, ToolError> {
        match arguments.action {
            Action::Start | Action::Resume => begin::begin(&arguments, &self.running, context).await,
            Action::Status => look::status(arguments.task(), context),
            Action::Cancel => look::cancel(arguments.task(), context),
            Action::List => Ok(look::list(context)),
        }
    }
}

fn unfit(words: impl Into<String>) -> ToolError {
    ToolError::new(ErrorKind::InvalidArguments, words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn arguments(value: Value) -> Arguments {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn what_is_missing_is_named() {
        for (value, words) in [
            (json!({ "prompt": "look" }), None),
            (json!({}), Some("`prompt` is missing")),
            (json!({ "prompt": " \n" }), Some("`prompt` is missing")),
            (json!({ "prompt": "a\0b" }), Some("NUL")),
            (json!({ "prompt": "x".repeat(PROMPT_BYTES + 1) }), Some("100001 bytes")),
            (json!({ "prompt": "look", "task_id": "a1" }), Some("action \"resume\"")),
            (json!({ "action": "status" }), Some("`task_id` is missing")),
            (json!({ "action": "cancel", "task_id": " " }), Some("`task_id` is missing")),
            (json!({ "action": "resume", "prompt": "more" }), Some("`task_id` is missing")),
            (json!({ "action": "resume", "task_id": "a1" }), Some("`prompt` is missing")),
            (json!({ "action": "list" }), None),
        ] {
            let told = AgentTool::default().validate(&arguments(value.clone())).map_err(|error| error.message);
            match (&told, words) {
                (Ok(()), None) => {}
                (Err(told), Some(words)) if told.contains(words) => {}
                _ => panic!("{value}: {told:?}"),
            }
        }
    }

    #[test]
    fn it_is_of_use_where_somebody_runs_agents() {
        let (named, _) = Settings::parse(&json!({ "agents": { "mine": { "command": ["mine"] } } }));
        for (settings, run_agent, of_use) in [
            (Settings::default(), false, false),
            (Settings::default(), true, true),
            (named.clone(), false, true),
            (named, true, true),
        ] {
            let editor = Abilities { run_agent, ..Abilities::default() };
            let lacks = AgentTool::default().lacks(&settings, &editor);
            assert_eq!(lacks.is_none(), of_use, "{:?} {run_agent}", settings.agents);
        }
    }

    #[test]
    fn only_what_starts_one_reaches_anything() {
        for (value, named) in [
            (json!({ "prompt": "look" }), Some("general")),
            (json!({ "prompt": "look", "agent_type": " codex " }), Some("codex")),
            (json!({ "action": "resume", "task_id": "a1", "prompt": "more", "agent_type": "" }), Some("general")),
            (json!({ "action": "status", "task_id": "a1" }), None),
            (json!({ "action": "cancel", "task_id": "a1" }), None),
            (json!({ "action": "list" }), None),
        ] {
            let access = AgentTool::default().access(&arguments(value.clone()));
            assert_eq!(access.commands.first().map(String::as_str), named, "{value}");
        }
    }
}
