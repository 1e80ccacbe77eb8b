//! Settings of MCP servers: which there are, and how they are spoken to.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A call to a server may take so long without a sign of life, where nothing else is set (ms).
const TIMEOUT_MS: u64 = 30_000;

/// MCP servers, whose tools join ours.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct McpSettings {
    /// The user's servers by name. One that cannot be read is told and costs only itself.
    #[schemars(with = "BTreeMap<String, McpServer>")]
    pub servers: BTreeMap<String, Value>,
    /// Whether servers are also taken from the files of trusted folders (`.mcp.json`, `.cursor/mcp.json`,
    /// `.vscode/mcp.json`), each asked about before it is first started.
    pub project: bool,
    /// Whether their tools are listed only once they were found or called.
    pub deferred: bool,
    /// How long a call may take without a sign of life (ms).
    pub timeout_ms: u64,
    /// Variables of the environment that a project's file may use in `${NAME}`, besides those that every child gets.
    pub environment: Vec<String>,
}

impl Default for McpSettings {
    fn default() -> McpSettings {
        McpSettings {
            servers: BTreeMap::new(),
            project: true,
            deferred: true,
            timeout_ms: TIMEOUT_MS,
            environment: Vec::new(),
        }
    }
}

/// One MCP server: a program, or a URL.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct McpServer {
    /// The program to start, with or without its arguments.
    pub command: Option<McpCommand>,
    /// Arguments of the program.
    pub args: Vec<String>,
    /// Variables that it gets on top of a scrubbed environment. `${NAME}` and `${NAME:-default}` are filled in here, in
    /// `args`, `url` and `headers`.
    pub env: BTreeMap<String, String>,
    /// Where it runs; absent: in the folder whose file names it; of the user's settings: in the first workspace folder if
    /// that is trusted, else at home.
    pub cwd: Option<String>,
    /// Where it is spoken to by streamable HTTP.
    #[serde(alias = "httpUrl", alias = "serverUrl")]
    pub url: Option<String>,
    /// Headers that go with every request.
    pub headers: BTreeMap<String, String>,
    /// `false`: it is never started.
    pub enabled: Option<bool>,
    /// The same the other way round, as some files have it.
    pub disabled: Option<bool>,
    /// How long a call may take without a sign of life (ms), instead of what holds for all.
    #[serde(alias = "timeout")]
    pub timeout_ms: Option<u64>,
    /// Which of its tools there are.
    pub tools: McpTools,
    /// Whether its tools run without asking, for as long as they are what they were. Counts in the user's settings
    /// only.
    pub trusted: bool,
    /// Whether its tools are listed only once they were found or called, instead of what holds for all.
    pub deferred: Option<bool>,
}

/// A program: a text, or the program and its arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum McpCommand {
    /// The program alone.
    Program(String),
    /// The program and its first arguments.
    Words(Vec<String>),
}

/// Which tools of a server there are, by the names that it gives them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct McpTools {
    /// Only these; absent: all.
    pub enable: Option<Vec<String>>,
    /// Not these.
    pub disable: Vec<String>,
}

impl McpTools {
    /// Whether a tool is there.
    pub fn allows(&self, tool: &str) -> bool {
        let named = |names: &Vec<String>| names.iter().any(|name| name == tool);
        self.enable.as_ref().is_none_or(named) && !named(&self.disable)
    }
}

impl McpSettings {
    /// These settings where nobody can tell the user's from a project's: no server but the user's, each as the user has
    /// it but that it may be turned off or not trusted.
    #[must_use]
    pub fn within(&self, user: &McpSettings) -> McpSettings {
        let mut servers = user.servers.clone();
        for (name, server) in &mut servers {
            let (Some(merged), Some(server)) = (self.servers.get(name), server.as_object_mut()) else { continue };
            if merged["enabled"] == Value::Bool(false) || merged["disabled"] == Value::Bool(true) {
                server.insert("enabled".to_owned(), false.into());
            }
            if merged["trusted"] != Value::Bool(true) {
                server.remove("trusted");
            }
        }
        McpSettings {
            servers,
            project: self.project && user.project,
            deferred: self.deferred,
            timeout_ms: self.timeout_ms.min(user.timeout_ms),
            environment: self.environment.iter().filter(|name| user.environment.contains(name)).cloned().collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn settings(value: Value) -> McpSettings {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn a_project_adds_no_server_and_only_tightens() {
        let user = settings(json!({
            "servers": { "a": { "command": "a", "trusted": true }, "b": { "command": "b", "trusted": true } },
            "environment": ["X"],
        }));
        let merged = settings(json!({
            "servers": {
                "a": { "command": "evil", "trusted": true, "enabled": false },
                "b": { "command": "evil" },
                "c": { "command": "evil" },
            },
            "project": false, "timeoutMs": 99_000, "environment": ["X", "Y"],
        }));
        let within = merged.within(&user);
        assert_eq!(
            json!(within.servers),
            json!({ "a": { "command": "a", "trusted": true, "enabled": false }, "b": { "command": "b" } })
        );
        assert_eq!((within.project, within.timeout_ms, within.environment), (false, 30_000, vec!["X".to_owned()]));
    }

    #[test]
    fn which_tools_there_are() {
        let tools = |enable: Option<&[&str]>, disable: &[&str]| McpTools {
            enable: enable.map(|names| names.iter().map(|&name| name.to_owned()).collect()),
            disable: disable.iter().map(|&name| name.to_owned()).collect(),
        };
        for (tools, allowed) in [
            (tools(None, &[]), [true, true]),
            (tools(None, &["a"]), [false, true]),
            (tools(Some(&["a"]), &[]), [true, false]),
            (tools(Some(&["a"]), &["a"]), [false, false]),
            (tools(Some(&[]), &[]), [false, false]),
        ] {
            assert_eq!(["a", "b"].map(|tool| tools.allows(tool)), allowed, "{tools:?}");
        }
    }
}
