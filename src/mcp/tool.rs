//! A server's tool as one of ours: its name, its words cleaned, its schema whole, and what consent to it is bound to.

use std::sync::{Arc, Weak};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Map, Value, json};

use super::desk::Caller;
use super::link::Trouble;
use super::server::Server;
use super::{clean, content};
use crate::permissions::{Rule, visible};
use crate::sessions::Session;
use crate::sessions::consents::Scope;
use crate::tool::{
    Access, AnyTool, Capability, Content, Context, ErrorKind, Outcome, Plan, ToolError, Traits, Vouched,
};

/// A call has its time counted here, by signs of life; it is over after this in any case.
const DEADLINE: Duration = Duration::from_hours(2);

/// A description is at most so long (bytes).
const DESCRIPTION: usize = 4000;

/// One of a parameter is at most so long (bytes).
const PARAMETER: usize = 1000;

/// A title is at most so long (bytes).
const TITLE: usize = 100;

/// A server's own name of a tool is at most so long (bytes).
const NAME: usize = 512;

/// So many hex digits of a hash are shown, and compared.
const DIGITS: usize = 16;

/// Schemas, of what a tool takes and answers, with more bytes than this are not taken.
const SCHEMA: usize = 256 * 1024;

/// A tool as a server declares it, cleaned.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Declared {
    /// Its name, as the server has it.
    pub own: String,
    /// Its name for people.
    pub title: String,
    /// What it is for.
    pub description: String,
    /// JSON Schema of its arguments.
    pub schema: Value,
    /// JSON Schema of its structured answer.
    pub output: Option<Value>,
    /// Whether it is declared to change nothing.
    pub reads: bool,
    /// What it is, by the parts that a change of can be told: what consent is bound to.
    pub identity: String,
}

impl Declared {
    /// A tool, from what a server lists; the error says why it is none.
    pub(super) fn read(item: &Value) -> Result<Declared, String> {
        let own = item["name"].as_str().filter(|name| !name.is_empty()).ok_or("it has no name")?;
        let shown = clean::line(own, TITLE);
        if own.len() > NAME {
            return Err(format!("the name {shown} is longer than {NAME} bytes"));
        }
        let mut schema = item["inputSchema"].clone();
        if schema.to_string().len() > SCHEMA {
            return Err(format!("the schema of {shown} is longer than {SCHEMA} bytes"));
        }
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (title, description) = (text(&item["title"]), text(&item["description"]));
        let (annotations, output) = (&item["annotations"], item.get("outputSchema").filter(|value| value.is_object()));
        if output.is_some_and(|output| output.to_string().len() > SCHEMA) {
            return Err(format!("the schema of what {shown} answers is longer than {SCHEMA} bytes"));
        }
        let hash = |value: &Value| crate::text::hash(&canonical(value).to_string())[..DIGITS].to_owned();
        let identity = format!(
            "tool {own}: description {}, parameters {}, annotations {}",
            hash(&json!([title, description])),
            hash(&json!([schema, output])),
            hash(annotations)
        );
        clean::schema(&mut schema, PARAMETER);
        let mut output = output.cloned();
        if let Some(output) = &mut output {
            clean::schema(output, PARAMETER);
        }
        let title = [title, text(&annotations["title"])].into_iter().find(|title| !title.trim().is_empty());
        Ok(Declared {
            own: own.to_owned(),
            title: title.map_or_else(|| shown.clone(), |title| clean::line(&title, TITLE)),
            description: clean::words(&description, DESCRIPTION),
            schema,
            output,
            reads: annotations["readOnlyHint"] == Value::Bool(true),
            identity,
        })
    }
}

/// The same value with the fields of every object sorted.
fn canonical(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(canonical).collect(),
        Value::Object(fields) => {
            let mut fields: Vec<(&String, &Value)> = fields.iter().collect();
            fields.sort_by_key(|(key, _)| key.as_str());
            Value::Object(fields.into_iter().map(|(key, value)| (key.clone(), canonical(value))).collect())
        }
        other => other.clone(),
    }
}

/// A tool of a server.
pub(super) struct McpTool {
    name: String,
    declared: Declared,
    capabilities: Vec<Capability>,
    server: Weak<Server>,
    /// What consent is bound to: the server, and the tool.
    bound: Vec<String>,
    trusted: bool,
    deferred: bool,
    source: String,
}

impl McpTool {
    /// A tool under a name of ours.
    pub(super) fn new(name: String, declared: Declared, server: &Arc<Server>) -> McpTool {
        let spec = &server.spec;
        let capabilities = match (declared.reads, spec.trusted) {
            (true, _) => vec![Capability::ReadsFiles, Capability::Network],
            (false, true) => vec![Capability::ReadsFiles, Capability::WritesFiles, Capability::Network],
            (false, false) => {
                use Capability::{ExecutesCode, Network, ReadsFiles, WritesFiles};
                vec![ReadsFiles, WritesFiles, ExecutesCode, Network]
            }
        };
        McpTool {
            bound: vec![visible(&spec.identity()), visible(&declared.identity)],
            trusted: spec.trusted,
            deferred: spec.deferred,
            source: server.source(),
            server: Arc::downgrade(server),
            name,
            declared,
            capabilities,
        }
    }

    /// The rule for its calls, where nothing has changed.
    pub(super) fn rule(&self) -> Rule {
        Rule::Mcp { reads: self.declared.reads, trusted: self.trusted }
    }

    /// What tells it from another of the same name.
    pub(super) fn identity(&self) -> String {
        format!("{:?} {} {} {}", self.bound, self.trusted, self.deferred, self.declared.title)
    }
}

/// What a person allowed of a tool before, by what that was bound to: the newest, unless it is the same.
fn allowed_otherwise(session: &Session, tool: &str, bound: &[String]) -> Option<(bool, Vec<String>)> {
    let remembered = session.remembered();
    let of_tool = remembered.iter().filter(|one| one.tool == tool && one.scope != Scope::Deny);
    let mut last = None;
    for one in of_tool {
        if bound.iter().all(|line| one.targets.contains(line)) {
            return Some((true, Vec::new()));
        }
        last = Some((false, one.targets.clone()));
    }
    last
}

/// What is not as it was when it was allowed, in words.
fn changes(before: &[String], now: &[String]) -> String {
    let gone: Vec<&String> = before.iter().filter(|line| !now.contains(line)).collect();
    let new: Vec<&String> = now.iter().filter(|line| !before.contains(line)).collect();
    let list = |lines: &[&String]| lines.iter().map(|line| line.as_str()).collect::<Vec<_>>().join("; ");
    format!("it is not what was allowed before: that was {}, and now it is {}", list(&gone), list(&new))
}

/// Whether calls run without asking, where the server is trusted or not. What a trusted server has when it is first
/// called is what it is trusted for.
pub(super) fn vouched(session: &Session, name: &str, bound: &[String], trusted: bool) -> Vouched {
    match allowed_otherwise(session, name, bound) {
        Some((false, before)) => Vouched::Changed(changes(&before, bound)),
        Some((true, _)) if trusted => Vouched::Yes,
        None if trusted => {
            session.grant(&format!("trusted MCP tool {name} {bound:?}"), true, name, bound);
            Vouched::Yes
        }
        Some((true, _)) | None => Vouched::No,
    }
}

#[async_trait]
impl AnyTool for McpTool {
    fn traits(&self) -> Traits<'_> {
        Traits {
            name: &self.name,
            title: &self.declared.title,
            capabilities: &self.capabilities,
            parallel: self.declared.reads,
            deferred: self.deferred,
            free_form: None,
            deadline: DEADLINE,
            aliases: &[],
            names: &[],
        }
    }

    fn elsewhere(&self) -> bool {
        true
    }

    fn description(&self) -> String {
        let Declared { description, .. } = &self.declared;
        if description.is_empty() {
            format!("A tool of the {}, which does not say what it does.", self.source)
        } else {
            format!("{description}\n(A tool of the {}.)", self.source)
        }
    }

    fn schema(&self) -> Value {
        self.declared.schema.clone()
    }

    fn output_schema(&self) -> Option<Value> {
        self.declared.output.clone()
    }

    fn access(&self, _: &Value) -> Access {
        Access::default()
    }

    fn validate(&self, _: &Value) -> Result<(), ToolError> {
        Ok(())
    }

    fn bound_to(&self, _: &Value) -> Vec<String> {
        self.bound.clone()
    }

    fn vouched(&self, _: &Value, session: &Session) -> Vouched {
        vouched(session, &self.name, &self.bound, self.trusted)
    }

    async fn plan(&self, _: &Value, _: &Context) -> Result<Plan, ToolError> {
        Ok(Plan::Run)
    }

    async fn run(&self, mut arguments: Value, context: &Context) -> Result<Outcome, ToolError> {
        let dropped = clean::arguments(&mut arguments);
        let arguments = match arguments {
            Value::Object(fields) => fields,
            _ => Map::new(),
        };
        let server = self.server.upgrade().ok_or_else(|| {
            let words = format!("the {} is not among the settings any more", self.source);
            ToolError::new(ErrorKind::Unavailable, format!("`{}` did not run: {words}.", self.name))
        })?;
        let link = server.link().await.map_err(|why| unavailable(&self.name, &self.source, &why))?;
        // What was consented to is what runs.
        if !server.declares(&self.declared) {
            return Err(ToolError::new(
                ErrorKind::Conflict,
                format!(
                    "`{}` did not run: the {} has changed it meanwhile. Look at its description again (`tool_search`), \
                     and call it anew if it still fits.",
                    self.name, self.source
                ),
            ));
        }
        let answer = link.call(&self.declared.own, arguments, caller(context)).await;
        let answer = answer.map_err(|trouble| failed(&self.name, &self.source, &trouble))?;
        let images = context.workspace.editor.abilities().images;
        let mut outcome = content::outcome(&self.source, &answer, images);
        if dropped > 0 {
            let words = format!("({dropped} characters that nobody sees were left out of the arguments.)");
            outcome.content.push(Content::text(words));
        }
        Ok(outcome)
    }
}

/// Whose call it is.
pub(super) fn caller(context: &Context) -> Caller {
    Caller { session: context.session.id.clone(), call: context.call.to_string(), progress: context.progress.clone() }
}

/// A call that found no server.
pub(super) fn unavailable(tool: &str, source: &str, why: &str) -> ToolError {
    let words = format!("`{tool}` did not run: the {source} is not there ({why}). Go on without it, or say so.");
    ToolError::new(ErrorKind::Unavailable, words)
}

/// A call that a server did not answer as it should.
pub(super) fn failed(tool: &str, source: &str, trouble: &Trouble) -> ToolError {
    match trouble {
        Trouble::Refused(words) => {
            ToolError::new(ErrorKind::Failed, format!("The {source} answered `{tool}` with an error: {words}"))
        }
        Trouble::Late(after) => ToolError::new(
            ErrorKind::Timeout,
            format!(
                "The {source} gave no sign of life for {} s, and `{tool}` was given up; what it did until then is not \
                 known. Do not simply call it again.",
                after.as_secs_f64()
            ),
        ),
        Trouble::Lost(words) => ToolError::new(
            ErrorKind::Unavailable,
            format!(
                "There is no answer of the {source} to `{tool}` ({words}); what it did is not known. Do not simply call it \
                 again."
            ),
        ),
        Trouble::Gone(words) => ToolError::new(
            ErrorKind::Unavailable,
            format!(
                "The {source} went away while `{tool}` ran ({words}); what it did until then is not known. It is \
                 started again with the next call."
            ),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn echo() -> Value {
        json!({
            "name": "echo", "description": "Says it\u{200b} again.\u{7}",
            "inputSchema": {
                "type": "object", "properties": { "text": { "type": "string", "description": "x\u{200b}" } },
            },
        })
    }

    #[test]
    fn what_a_server_lists() {
        let read = Declared::read(&echo()).unwrap();
        assert_eq!((read.own.as_str(), read.title.as_str(), read.reads), ("echo", "echo", false));
        assert_eq!(read.description, "Says it again.");
        assert_eq!(read.schema["properties"]["text"]["description"], "x");
        for (hint, reads) in [(json!(true), true), (json!("true"), false), (json!(1), false), (json!(false), false)] {
            let mut item = echo();
            item["annotations"] = json!({ "readOnlyHint": hint, "title": "Echo" });
            let read = Declared::read(&item).unwrap();
            assert_eq!((read.reads, read.title.as_str()), (reads, "Echo"));
        }
        let mut item = echo();
        item["description"] = json!("x".repeat(1_000_000));
        assert!(Declared::read(&item).unwrap().description.len() < DESCRIPTION + 100);
        item["inputSchema"]["x"] = json!("x".repeat(SCHEMA));
        let mut answers = echo();
        answers["outputSchema"] = json!({ "type": "object", "description": "x\u{200b}" });
        assert_eq!(Declared::read(&answers).unwrap().output.unwrap()["description"], "x");
        answers["outputSchema"]["x"] = json!("x".repeat(SCHEMA));
        let named = json!({ "name": "x".repeat(NAME + 1), "inputSchema": { "type": "object" } });
        for item in [json!({}), json!({ "name": 1 }), json!(1), item, answers, named] {
            assert!(Declared::read(&item).is_err());
        }
    }

    #[test]
    fn what_changes_shows_in_what_it_is() {
        let identity = |change: fn(&mut Value)| {
            let mut item = echo();
            change(&mut item);
            Declared::read(&item).unwrap().identity
        };
        let same = identity(|_| {});
        // The order of fields is no change.
        assert_eq!(
            same,
            identity(|item| item["inputSchema"] = json!({
                "properties": { "text": { "description": "x\u{200b}", "type": "string" } }, "type": "object",
            }))
        );
        let parts = |identity: String| {
            let (one, other) = (same.split(", "), identity);
            one.zip(other.split(", ")).map(|(a, b)| a == b).collect::<Vec<_>>()
        };
        for (change, kept) in [
            ((|item| item["description"] = json!("Says it again.")) as fn(&mut Value), [false, true, true]),
            (|item| item["inputSchema"]["required"] = json!(["text"]), [true, false, true]),
            (|item| item["annotations"] = json!({ "readOnlyHint": true }), [true, true, false]),
        ] {
            assert_eq!(parts(identity(change)), kept);
        }
    }

    #[test]
    fn trust_is_for_what_was_there_first() {
        let session = Session::new("s");
        let bound = |tool: &str| vec!["MCP server s: x".to_owned(), tool.to_owned()];
        let vouched = |tool: &str, trusted| super::vouched(&session, "mcp__s__t", &bound(tool), trusted);
        assert_eq!(vouched("one", false), Vouched::No);
        assert_eq!((vouched("one", true), vouched("one", true)), (Vouched::Yes, Vouched::Yes));
        let Vouched::Changed(words) = vouched("two", true) else { panic!("a change passed") };
        assert_eq!(words, "it is not what was allowed before: that was one, and now it is two");
        assert!(matches!(vouched("two", false), Vouched::Changed(_)));
        // A person's yes to the new one is one for good.
        session.grant("like", true, "mcp__s__t", &bound("two"));
        assert_eq!(vouched("two", true), Vouched::Yes);
    }
}
