//! Agents that are commands: programs of the user's own that work on a task for a session. They come from the user's
//! settings only, never from a project's.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An agent runs so long (ms) where nothing else is said.
const TIMEOUT_MS: u64 = 1_800_000;

/// An agent that is a command. In its arguments and its environment these stand for what they name, as it is, no shell
/// between: `{prompt}`, `{thread}` (when it is resumed: its own name of the conversation), `{session}` (its session here),
/// `{workspace}` (the folder it runs in), `{mcp}` (the program that serves our tools, to be called with `mcp --connect`)
/// and `{socket}` (where that joins).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentSettings {
    /// What it is good for, for the model that chooses.
    pub description: Option<String>,
    /// Program and arguments. The program is a full path, or found on the `PATH`.
    pub command: Vec<String>,
    /// The same to go on with an earlier conversation; empty: it begins a new one, and is told what it said before.
    pub resume_command: Vec<String>,
    /// A regular expression whose first group finds, in what it prints, its own name of the conversation.
    pub thread_pattern: Option<String>,
    /// Environment variables it gets on top.
    pub env: BTreeMap<String, String>,
    /// Names of variables of the environment that it gets although they look like secrets.
    pub keep_environment: Vec<String>,
    /// How it gets its prompt; absent: as an argument where one has `{prompt}` in it, else by its standard input.
    pub prompt_on: Option<PromptOn>,
    /// Whether it joins its session here to use our tools. It is not run where it cannot.
    pub joins: bool,
    /// Whether by itself it only reads, so that what it changes goes through our tools: the user's word for it. Without
    /// that it is not run where nothing may be changed, or where changes are only proposed.
    pub read_only: bool,
    /// Folders it may write to besides, where commands are confined (`bash.sandbox`).
    pub writable: Vec<String>,
    /// It is stopped after so long (ms).
    pub timeout_ms: u64,
}

impl Default for AgentSettings {
    fn default() -> Self {
        AgentSettings {
            description: None,
            command: Vec::new(),
            resume_command: Vec::new(),
            thread_pattern: None,
            env: BTreeMap::new(),
            keep_environment: Vec::new(),
            prompt_on: None,
            joins: true,
            read_only: false,
            writable: Vec::new(),
            timeout_ms: TIMEOUT_MS,
        }
    }
}

/// How an agent gets its prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum PromptOn {
    /// As an argument: where `{prompt}` stands, else behind all others.
    Argument,
    /// By its standard input.
    Stdin,
}

impl AgentSettings {
    /// How it gets its prompt with these arguments.
    pub fn prompt_on(&self, command: &[String]) -> PromptOn {
        let named = || command.iter().any(|argument| argument.contains("{prompt}"));
        self.prompt_on.unwrap_or_else(|| if named() { PromptOn::Argument } else { PromptOn::Stdin })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Settings;
    use serde_json::json;

    #[test]
    fn an_agent_is_read_key_by_key() {
        let (settings, remarks) = Settings::parse(&json!({
            "agents": {
                "codex": { "command": ["codex", "exec", "{prompt}"], "env": { "A": "b" }, "promptOn": "argument" },
                "other": { "command": ["other"], "timeoutMs": 5, "joins": "no", "shell": true },
            },
            "agents.third.command": ["third", "-p", "{prompt}"],
            "agents.none": 7,
        }));
        let told: Vec<&str> = remarks.iter().map(|remark| remark.key.as_str()).collect();
        assert_eq!(told, ["agents.other.joins", "agents.other.shell", "agents.none"]);
        let names: Vec<&str> = settings.agents.keys().map(String::as_str).collect();
        assert_eq!(names, ["codex", "other", "third"]);
        assert_eq!((settings.agents["codex"].env["A"].as_str(), settings.agents["codex"].timeout_ms), ("b", 1_800_000));
        assert_eq!((settings.agents["other"].timeout_ms, settings.agents["other"].joins), (5, true));
        let on = ["codex", "other", "third"].map(|name| {
            let agent = &settings.agents[name];
            agent.prompt_on(&agent.command)
        });
        assert_eq!(on, [PromptOn::Argument, PromptOn::Stdin, PromptOn::Argument]);
    }

    #[test]
    fn a_project_names_no_agents() {
        let (user, _) = Settings::parse(&json!({ "agents": { "mine": { "command": ["mine"] } } }));
        let (merged, _) = Settings::parse(&json!({ "agents": { "mine": { "command": ["theirs"] }, "more": {} } }));
        assert_eq!(merged.within(&user).agents, user.agents);
    }
}
