//! `mcp`: what servers have besides tools: what they are for, their resources, and their prompts.

use std::fmt::Write as _;
use std::sync::{Arc, Weak};
use std::time::Duration;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::link::{Link, Trouble};
use super::lists::List;
use super::server::{Server, State};
use super::tool::{caller, failed, unavailable, vouched};
use super::{Mcp, clean, content};
use crate::permissions::{Rule, visible};
use crate::sessions::Session;
use crate::tool::{
    Access, AnyTool, Capability, Content, Context, ErrorKind, Outcome, Plan, ToolError, Traits, Vouched,
};

/// Its name.
pub(super) const NAME: &str = "mcp";

/// Calls have their time counted by signs of life.
const DEADLINE: Duration = Duration::from_hours(2);

/// What a server says that it is for is shown up to so many bytes.
const INSTRUCTIONS: usize = 4000;

/// A word of a server's in a list is shown up to so many bytes.
const WORD: usize = 400;

/// At most so many names are said in an error.
const NAMES: usize = 30;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Action {
    Servers,
    Resources,
    Templates,
    Read,
    Prompts,
    Prompt,
}

#[derive(Debug, Clone, Deserialize)]
struct Arguments {
    action: Action,
    #[serde(default)]
    server: Option<String>,
    #[serde(default)]
    uri: Option<String>,
    #[serde(default)]
    name: Option<String>,
    #[serde(default, rename = "arguments")]
    filled: Map<String, Value>,
}

/// The tool.
pub(super) struct Asks {
    mcp: Weak<Mcp>,
    deferred: bool,
    /// The names of the servers, sorted.
    servers: Vec<String>,
}

impl Asks {
    /// The tool for these servers.
    pub(super) fn new(mcp: Weak<Mcp>, servers: Vec<String>, deferred: bool) -> Asks {
        Asks { mcp, deferred, servers }
    }

    /// The rule for its calls.
    pub(super) const RULE: Rule = Rule::Mcp { reads: true, trusted: false };

    /// What tells it from another.
    pub(super) fn identity(&self) -> String {
        format!("{} {:?}", self.deferred, self.servers)
    }

    fn server(&self, arguments: &Arguments) -> Result<Arc<Server>, ToolError> {
        let servers = self.mcp.upgrade().map(|mcp| mcp.servers()).unwrap_or_default();
        let named = arguments.server.as_deref();
        let known: Vec<&str> = servers.iter().map(|server| server.spec.name.as_str()).take(NAMES).collect();
        let found = match (named, servers.as_slice()) {
            (Some(named), all) => all.iter().find(|server| server.spec.name == named),
            (None, [one]) => Some(one),
            (None, _) => None,
        };
        found.cloned().ok_or_else(|| {
            let asked = named.map_or_else(|| "`server` is missing".to_owned(), |name| format!("no server {name:?}"));
            let kind = if named.is_some() { ErrorKind::NotFound } else { ErrorKind::InvalidArguments };
            ToolError::new(kind, format!("`mcp`: {asked}. There are: {}.", known.join(", ")))
        })
    }
}

fn read(arguments: &Value) -> Result<Arguments, ToolError> {
    serde_json::from_value(arguments.clone()).map_err(|error| {
        let words = format!("The arguments of `mcp` do not fit: {error}. Give an `action`, for example \"servers\".");
        ToolError::new(ErrorKind::InvalidArguments, words)
    })
}

#[async_trait]
impl AnyTool for Asks {
    fn traits(&self) -> Traits<'_> {
        Traits {
            name: NAME,
            title: "MCP servers",
            capabilities: &[Capability::ReadsFiles, Capability::Network],
            parallel: true,
            deferred: self.deferred,
            free_form: None,
            deadline: DEADLINE,
            aliases: &[("server_name", "server"), ("serverName", "server"), ("prompt", "name"), ("args", "arguments")],
            names: &["mcp_resources", "list_mcp_resources", "read_mcp_resource", "mcp_read_resource", "mcp_get_prompt"],
        }
    }

    fn elsewhere(&self) -> bool {
        true
    }

    fn description(&self) -> String {
        let servers: Vec<String> = self.servers.iter().map(|name| clean::line(name, WORD)).collect();
        format!(
            "Looks at what MCP servers have besides tools. Actions: `servers` (which there are, how they do, what they \
             say they are for), `resources` and `templates` (what can be read), `read` (a resource by its `uri`), \
             `prompts`, `prompt` (one by its `name`, filled in with `arguments`). Their tools are found by \
             `tool_search` and called by their names `mcp__server__tool`. Servers: {}.",
            servers.join(", ")
        )
    }

    fn schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "action": {
                    "type": "string",
                    "enum": ["servers", "resources", "templates", "read", "prompts", "prompt"],
                    "description": "What to do."
                },
                "server": {
                    "type": "string",
                    "description": "Which server; may be left out where there is one, and for `servers`."
                },
                "uri": { "type": "string", "description": "The resource, for `read`." },
                "name": { "type": "string", "description": "The prompt, for `prompt`." },
                "arguments": {
                    "type": "object",
                    "additionalProperties": { "type": "string" },
                    "description": "What the prompt is filled in with."
                }
            },
            "required": ["action"],
            "additionalProperties": false
        })
    }

    fn access(&self, _: &Value) -> Access {
        Access::default()
    }

    fn validate(&self, arguments: &Value) -> Result<(), ToolError> {
        let arguments = read(arguments)?;
        let missing = |what: &str, action: &str| {
            let words = format!("`mcp` with action \"{action}\" needs `{what}`.");
            Err(ToolError::new(ErrorKind::InvalidArguments, words))
        };
        match arguments.action {
            Action::Read if arguments.uri.is_none() => missing("uri", "read"),
            Action::Prompt if arguments.name.is_none() => missing("name", "prompt"),
            _ => Ok(()),
        }
    }

    fn bound_to(&self, arguments: &Value) -> Vec<String> {
        let Ok(arguments) = read(arguments) else { return Vec::new() };
        let server = self.server(&arguments).ok().filter(|_| arguments.action != Action::Servers);
        server.map(|server| visible(&server.spec.identity())).into_iter().collect()
    }

    fn vouched(&self, arguments: &Value, session: &Session) -> Vouched {
        let Ok(arguments) = read(arguments) else { return Vouched::No };
        if arguments.action == Action::Servers {
            return Vouched::Yes;
        }
        let Ok(server) = self.server(&arguments) else { return Vouched::No };
        let name = format!("{NAME} {}", server.spec.name);
        vouched(session, &name, &[visible(&server.spec.identity())], server.spec.trusted)
    }

    async fn plan(&self, _: &Value, _: &Context) -> Result<Plan, ToolError> {
        Ok(Plan::Run)
    }

    async fn run(&self, mut arguments: Value, context: &Context) -> Result<Outcome, ToolError> {
        clean::arguments(&mut arguments);
        let arguments = read(&arguments)?;
        if arguments.action == Action::Servers {
            let mcp = self.mcp.upgrade();
            return Ok(told(&mcp.map(|mcp| mcp.servers()).unwrap_or_default()));
        }
        let server = self.server(&arguments)?;
        let source = server.source();
        let link = server.link().await.map_err(|why| unavailable(NAME, &source, &why))?;
        let images = context.workspace.editor.abilities().images;
        let answer = asked(&link, arguments, &source, images, context).await;
        answer.map_err(|trouble| failed(NAME, &source, &trouble))
    }
}

async fn asked(
    link: &Link,
    arguments: Arguments,
    source: &str,
    images: bool,
    context: &Context,
) -> Result<Outcome, Trouble> {
    let (uri, name) = (arguments.uri.unwrap_or_default(), arguments.name.unwrap_or_default());
    let has = link.capabilities();
    let resources = has["resources"].is_object();
    Ok(match arguments.action {
        Action::Servers => Outcome::default(),
        Action::Resources if resources => listed(source, &link.resources().await?, &["uri", "name", "mimeType"]),
        Action::Templates if resources => {
            listed(source, &link.templates().await?, &["uriTemplate", "name", "mimeType"])
        }
        Action::Read => content::resource(source, &link.read(&uri, caller(context)).await?, images),
        Action::Prompts if has["prompts"].is_object() => listed(source, &link.prompts().await?, &["name", "title"]),
        Action::Resources | Action::Templates | Action::Prompts => listed(source, &List::default(), &[]),
        Action::Prompt => {
            content::prompt(source, &link.prompt(&name, arguments.filled, caller(context)).await?, images)
        }
    })
}

/// A list, one item a line, sorted.
fn listed(source: &str, list: &List, keys: &[&str]) -> Outcome {
    let line = |item: &Value| {
        let mut words: Vec<String> =
            keys.iter().filter_map(|key| item[*key].as_str()).map(|word| clean::line(word, WORD)).collect();
        let arguments = item["arguments"].as_array().map(Vec::as_slice).unwrap_or_default();
        for argument in arguments {
            let name = clean::line(argument["name"].as_str().unwrap_or_default(), WORD);
            let needed = argument["required"] == Value::Bool(true);
            words.push(if needed { format!("<{name}>") } else { format!("[{name}]") });
        }
        let about = item["description"].as_str().map(|about| clean::line(about, WORD)).unwrap_or_default();
        if about.is_empty() { words.join(" ") } else { format!("{}: {about}", words.join(" ")) }
    };
    let mut lines: Vec<String> = list.items.iter().map(line).collect();
    lines.sort_unstable();
    if lines.is_empty() {
        lines.push("(none)".to_owned());
    }
    lines.extend(list.cut.as_ref().map(|cut| format!("({cut})")));
    Outcome {
        content: vec![Content::text(lines.join("\n"))],
        structured: Some(json!({ "items": list.items, "cut": list.cut })),
        external: Some(source.to_owned()),
        ..Outcome::default()
    }
}

/// The servers, how they do, and what they say that they are for.
fn told(servers: &[Arc<Server>]) -> Outcome {
    let mut text = String::new();
    for server in servers {
        let (state, detail) = server.told();
        let _ = write!(text, "{}: {state}", clean::line(&server.spec.name, WORD));
        if let Some(detail) = detail {
            let _ = write!(text, " ({detail})");
        }
        let _ = writeln!(text, ", {} tools", server.declared().len());
        if let State::Ready(link) = server.state()
            && let Some(words) = link.instructions(INSTRUCTIONS)
        {
            let _ = writeln!(text, "  It says of itself:\n  {}", words.replace('\n', "\n  "));
        }
    }
    if text.is_empty() {
        text.push_str("There are no MCP servers.");
    }
    let content = vec![Content::text(text.trim_end())];
    Outcome { content, external: Some("MCP servers".to_owned()), ..Outcome::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn lists_are_sorted_and_told_whole() {
        let list = List {
            items: vec![
                json!({
                    "name": "b", "description": "x\ny",
                    "arguments": [{ "name": "n", "required": true }, { "name": "o" }],
                }),
                json!({ "name": "a\u{1b}", "title": "A" }),
            ],
            cut: Some("there are more than 2".to_owned()),
        };
        let Content::Text { text } = &listed("s", &list, &["name", "title"]).content[0] else { panic!() };
        expect![[r"
            a A
            b <n> [o]: x y
            (there are more than 2)"]]
        .assert_eq(text);
    }

    #[test]
    fn what_is_needed_is_said() {
        let asks = Asks::new(Weak::new(), vec![], true);
        for (arguments, fits) in [
            (json!({ "action": "servers" }), true),
            (json!({ "action": "read" }), false),
            (json!({ "action": "prompt" }), false),
            (json!({ "action": "read", "uri": "a" }), true),
            (json!({ "action": "nothing" }), false),
            (json!({}), false),
        ] {
            assert_eq!(asks.validate(&arguments).is_ok(), fits, "{arguments}");
        }
    }
}
