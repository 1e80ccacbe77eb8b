//! Who is listed, found, left out and refused.

use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};

use super::entry::{proper, requirement};
use super::*;
use crate::dispatch::dialects::Dialect;
use crate::sessions::policy::ToolSwitches;
use crate::tool::{Access, Capability, Content, Context, Outcome, Plan, Tool, Traits};
use crate::tools;

/// A tool of a test.
struct Made {
    name: &'static str,
    schema: Value,
    deferred: bool,
}

#[async_trait]
impl AnyTool for Made {
    fn traits(&self) -> Traits<'_> {
        Traits {
            name: self.name,
            title: "A tool of a test",
            capabilities: &[Capability::ReadsFiles],
            parallel: true,
            deferred: self.deferred,
            free_form: None,
            deadline: Duration::from_secs(1),
            aliases: &[],
            names: &[],
        }
    }

    fn description(&self) -> String {
        format!("Does what {} does.", self.name)
    }

    fn schema(&self) -> Value {
        self.schema.clone()
    }

    fn access(&self, _: &Value) -> Access {
        Access::default()
    }

    fn validate(&self, _: &Value) -> Result<(), ToolError> {
        Ok(())
    }

    async fn plan(&self, _: &Value, _: &Context) -> Result<Plan, ToolError> {
        Ok(Plan::Run)
    }

    async fn run(&self, _: Value, _: &Context) -> Result<Outcome, ToolError> {
        Ok(Outcome { content: vec![Content::text("done")], ..Outcome::default() })
    }
}

/// The session asks for these tools only.
fn narrow(session: &Session, enable: Option<&[&str]>, disable: &[&str]) {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let tools = ToolSwitches { enable: enable.map(owned), disable: owned(disable) };
    session.want(|wanted| wanted.asked.tools = Some(tools));
}

fn made(name: &'static str, deferred: bool) -> Arc<dyn AnyTool> {
    Arc::new(Made { name, schema: json!({ "type": "object", "properties": { "a": { "type": "string" } } }), deferred })
}

fn broken(name: &'static str) -> Arc<dyn AnyTool> {
    Arc::new(Made { name, schema: json!({ "type": "string" }), deferred: false })
}

fn built_in() -> Registry {
    Registry::built_in()
}

fn entries() -> Vec<Arc<Entry>> {
    built_in().listed(&Session::new("s"), true)
}

fn names(registry: &Registry, session: &Session, include_deferred: bool) -> Vec<String> {
    registry.listed(session, include_deferred).iter().map(|entry| entry.traits().name.to_owned()).collect()
}

#[test]
fn every_tool_has_a_rule_that_agrees_with_its_capabilities() {
    for entry in entries() {
        let traits = entry.traits();
        assert_ne!(entry.rule, Rule::Unknown, "{}", traits.name);
        // What ends plan mode is a person's word, whatever the tool can do by itself; an agent is asked about like a write, and
        // what it then does is judged for itself.
        if !matches!(entry.rule, Rule::Plan | Rule::Agent) {
            assert_eq!(entry.rule.requirement(), requirement(&traits), "{}", traits.name);
        }
    }
}

#[test]
fn every_property_has_a_type_and_a_description() {
    fn check(path: &str, schema: &Value) {
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            let path = format!("{path}.{name}");
            let kind = &property["type"];
            let typed = kind.is_string() || kind.is_array() || property["oneOf"].is_array();
            assert!(typed, "{path} has no type: {property}");
            assert!(property["description"].is_string(), "{path} has no description");
            assert!(property.get("$ref").is_none(), "{path}");
            check(&path, property);
            check(&path, &property["items"]);
        }
    }
    for entry in entries() {
        assert!(!entry.tool.description().is_empty());
        assert_eq!(entry.schema()["type"], "object");
        assert_eq!(entry.schema()["additionalProperties"], false);
        check(entry.traits().name, entry.schema());
    }
}

/// So that nothing has to be worked out at the start: see [`Entry::built_in`].
#[test]
fn every_built_in_tool_would_be_taken_as_it_is() {
    for entry in entries() {
        let name = entry.traits().name;
        let looked_at = Entry::new(Arc::clone(&entry.tool), entry.rule).unwrap();
        assert_eq!(entry.schema(), looked_at.schema(), "{name}");
        assert_eq!(serde_json::to_value(entry.info()).unwrap(), serde_json::to_value(looked_at.info()).unwrap());
        assert!(looked_at.is_whole(), "{name}");
        assert_eq!(entry.ready(None), looked_at.ready(None), "{name}");
    }
}

#[test]
fn what_a_tool_declares_names_what_it_has() {
    for entry in entries() {
        let traits = entry.traits();
        assert!(!traits.title.is_empty() && !traits.deadline.is_zero(), "{}", traits.name);
        if let Some(parameter) = traits.free_form {
            assert_eq!(entry.schema()["properties"][parameter]["type"], "string", "{}", traits.name);
        }
        let info = entry.info();
        assert_eq!(info.annotations.read_only_hint, traits.read_only(), "{}", traits.name);
        assert!(!info.parallel || info.annotations.read_only_hint, "{}", traits.name);
    }
    assert_eq!(tools::read::Read::TRAITS.name, "read");
}

/// The parameters of a schema, those inside its items too.
fn named_within<'a>(schema: &'a Value, into: &mut BTreeSet<&'a str>) {
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        into.insert(name);
        named_within(property, into);
        named_within(&property["items"], into);
    }
}

#[test]
fn names_and_aliases_mean_one_thing() {
    let mut seen = BTreeSet::new();
    for entry in entries() {
        let traits = entry.traits();
        for name in entry.names() {
            assert!(seen.insert(likeness(name)), "{name} names two tools");
        }
        let mut parameters = BTreeSet::new();
        named_within(entry.schema(), &mut parameters);
        for (other, real) in traits.aliases {
            assert!(parameters.contains(*real), "{}: {other} -> {real}", traits.name);
            assert!(!parameters.contains(*other), "{}: {other} is a parameter", traits.name);
        }
    }
}

#[test]
fn every_dialect_gives_the_same_bytes_each_time() {
    for dialect in [
        Dialect::Plain,
        Dialect::Anthropic,
        Dialect::Openai,
        Dialect::OpenaiStrict,
        Dialect::Gemini,
        Dialect::Vscode,
        Dialect::Mcp,
    ] {
        let list = || {
            let params = ListToolsParams { dialect, ..ListToolsParams::default() };
            serde_json::to_string(&*built_in().list(&Session::new("s"), &params)).unwrap()
        };
        assert_eq!(list(), list(), "{dialect:?}");
        assert!(list().contains("read"), "{dialect:?}");
    }
}

#[test]
fn a_list_is_made_once_and_again_when_something_changed() {
    let registry = built_in();
    let (session, other) = (Session::new("s"), Session::new("t"));
    let params = ListToolsParams::default();
    let first = registry.list(&session, &params);
    assert!(Arc::ptr_eq(&first, &registry.list(&session, &params)));
    assert!(Arc::ptr_eq(&first, &registry.list(&other, &params)), "sessions that may do the same share a list");
    registry.join(made("own", false), Rule::Unknown).unwrap();
    let second = registry.list(&session, &params);
    assert_eq!(second.len(), first.len() + 1);
    narrow(&session, None, &["own"]);
    assert_eq!(registry.list(&session, &params), first);
    assert_eq!(registry.list(&other, &params), second);
    assert!(registry.leave("own") && !registry.leave("own"));
    assert_eq!(registry.list(&other, &params), first);
}

#[test]
fn what_was_listed_stays_in_its_place() {
    let natives = [made("b_deferred", true), made("zeta", false), made("alpha", false)];
    let registry = Registry::new(natives.into_iter().map(|tool| (tool, Rule::Read)));
    let session = Session::new("s");
    for (name, deferred) in [("own", false), ("own_deferred", true), ("a_deferred", true), ("beta", false)] {
        registry.join(made(name, deferred), Rule::Unknown).unwrap();
    }
    let head = ["alpha", "zeta", "beta", "own"];
    assert_eq!(names(&registry, &session, false), head);
    let everything = ["alpha", "zeta", "beta", "own", "b_deferred", "a_deferred", "own_deferred"];
    assert_eq!(names(&registry, &session, true), everything);
    let mut before = serde_json::to_string(&*registry.list(&session, &ListToolsParams::default())).unwrap();
    for name in ["own_deferred", "b_deferred"] {
        assert!(session.activate(name));
        let after = serde_json::to_string(&*registry.list(&session, &ListToolsParams::default())).unwrap();
        let kept = before.strip_suffix(']').unwrap();
        assert!(after.starts_with(kept) && after.contains(name), "{after}");
        before = after;
    }
    assert_eq!(names(&registry, &session, false), ["alpha", "zeta", "beta", "own", "own_deferred", "b_deferred"]);
    assert_eq!(names(&registry, &session, true), everything);
    assert_eq!(names(&registry, &Session::new("another"), false), head);
    // One that has left is in no list, and in its place when it comes back.
    registry.leave("own_deferred");
    assert_eq!(names(&registry, &session, false), ["alpha", "zeta", "beta", "own", "b_deferred"]);
    let catalog = registry.catalog(&session);
    let deferred: Vec<(&str, bool)> = catalog.iter().map(|tool| (tool.name.as_str(), tool.deferred)).collect();
    let expected = [
        ("a_deferred", true),
        ("alpha", false),
        ("b_deferred", false),
        ("beta", false),
        ("own", false),
        ("zeta", false),
    ];
    assert_eq!(deferred, expected);
}

#[test]
fn a_tool_that_cannot_be_used_says_so_and_hides_no_good_one() {
    let registry = built_in();
    let session = Session::new("s");
    let joined = |name| match registry.join(broken(name), Rule::Read) {
        Ok(Joined::Unfit { listed_as, why }) => (listed_as, why),
        other => panic!("{name}: {other:?}"),
    };
    let why = "its schema is of type \"string\" at its root; expected \"object\"";
    assert_eq!(joined("own"), (Some("own".to_owned()), why.to_owned()));
    let (listed_as, why) = joined("my own tool\u{202e}");
    assert_eq!(listed_as.as_deref(), Some("my_own_tool_"));
    assert!(why.contains("\\u{202e}") && why.ends_with("is not 1 to 64 of a-z, A-Z, 0-9, _ and -"), "{why}");
    // Neither by its name, nor by one like it.
    assert!(registry.join(broken("read"), Rule::Read).unwrap_err().contains("built-in"));
    assert!(registry.join(made("readFile", false), Rule::Read).unwrap_err().contains("`read_file` is another name"));
    assert!(registry.join(made("Read", false), Rule::Read).unwrap_err().contains("`read` is a built-in tool"));
    assert!(registry.join(broken("own"), Rule::Read).unwrap_err().contains("already"));
    assert_eq!(registry.find(&session, "read").unwrap().rule, Rule::Read);

    let entry = registry.find(&session, "own").unwrap();
    let info = entry.info();
    assert!(info.unavailable.is_some() && info.description.starts_with("Not available: its schema"), "{info:?}");
    assert!(!entry.shared() && entry.rule == Rule::Unknown);
    let refused = entry.ready(Some(&json!({ "a": "b" }))).unwrap_err();
    assert_eq!(refused.kind, ErrorKind::Unavailable);
    assert!(refused.message.contains("its root; expected"), "{}", refused.message);
    assert!(registry.catalog(&session).iter().all(|tool| tool.name != "own"));

    // A good tool comes after the bad one whose stand-in has its name: the stand-in makes way.
    registry.join(broken("my!tool"), Rule::Read).unwrap();
    assert!(registry.find(&session, "my_tool").unwrap().unavailable().is_some());
    assert_eq!(registry.join(made("my_tool", false), Rule::Read), Ok(Joined::Usable));
    assert!(registry.find(&session, "my_tool").unwrap().unavailable().is_none());
    assert!(registry.find(&session, "my_tool_2").unwrap().unavailable().is_some());
}

#[test]
fn a_broken_built_in_tool_makes_way_too() {
    let tools = [broken("Read"), made("read", false)];
    let registry = Registry::new(tools.into_iter().map(|tool| (tool, Rule::Read)));
    let session = Session::new("s");
    assert_eq!(names(&registry, &session, false), ["Read_2", "read"]);
    assert!(registry.find(&session, "Read").unwrap().unavailable().is_none());
}

#[test]
fn a_tool_that_is_turned_off_says_so_and_becomes_no_other() {
    let registry = built_in();
    registry.join(made("write_plan", false), Rule::Read).unwrap();
    let session = Session::new("s");
    narrow(&session, None, &["write"]);
    for asked in ["write", "Write", "write_file", "WriteTool"] {
        let error = registry.find(&session, asked).map(|entry| entry.traits().name.to_owned()).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Unavailable, "{asked}");
        assert!(error.message.starts_with("`write` is turned off in this session."), "{}", error.message);
    }
    assert!(!names(&registry, &session, true).contains(&"write".to_owned()));
    narrow(&session, Some(&["read_file"]), &[]);
    assert_eq!(names(&registry, &session, true), ["read"]);
    assert_eq!(registry.catalog(&session).len(), 1);
}

#[test]
fn what_had_to_be_cut_still_holds() {
    let schema = json!({
        "type": "object",
        "properties": { "tree": { "$ref": "#/$defs/node" } },
        "$defs": { "node": {
            "type": "object",
            "properties": { "kid": { "$ref": "#/$defs/node" }, "name": { "type": "string" } },
            "required": ["name"],
        } },
    });
    let tool: Arc<dyn AnyTool> = Arc::new(Made { name: "grow", schema, deferred: false });
    let entry = Entry::new(tool, Rule::Read).unwrap();
    assert!(!entry.schema().to_string().contains("$ref"));
    let ready = |name: Value| {
        let tree = json!({ "name": "a", "kid": { "name": "b", "kid": { "name": name } } });
        entry.ready(Some(&json!({ "tree": tree })))
    };
    assert!(ready(json!("c")).is_ok());
    assert_eq!(ready(json!(3)).unwrap_err().kind, ErrorKind::InvalidArguments);
}

#[test]
fn proper_names() {
    for (name, expected) in [
        ("a", true),
        ("mcp__server__do-it", true),
        ("", false),
        ("a b", false),
        ("é", false),
        ("a.b", false),
        (&"x".repeat(64), true),
        (&"x".repeat(65), false),
    ] {
        assert_eq!(proper(name), expected, "{name}");
    }
}

/// Whether arguments fit a schema, as calls find out.
fn fits(schema: Value, arguments: &Value) -> bool {
    let tool = Arc::new(Made { name: "odd", schema, deferred: false });
    Entry::new(tool, Rule::Read).unwrap().ready(Some(arguments)).is_ok()
}

#[test]
fn no_schema_goes_round_for_ever() {
    let deep = (0..100).fold(json!({}), |inner, _| json!({ "a": inner }));
    for (schema, fit) in [
        (json!({ "type": "object", "allOf": [{ "$ref": "#" }, { "$ref": "#" }] }), true),
        (json!({ "type": "object", "properties": { "a": { "$ref": "#" } } }), true),
        (json!({ "type": "object", "properties": { "a": { "$ref": "#", "type": "string" } } }), false),
        (json!({ "type": "object", "if": { "$ref": "#" }, "then": { "$ref": "#" } }), true),
        (json!({ "type": "object", "dependentSchemas": { "a": { "$ref": "#" } } }), true),
        (json!({ "type": "object", "anyOf": [{ "$dynamicRef": "#" }] }), true),
    ] {
        assert_eq!(fits(schema.clone(), &deep), fit, "{schema}");
    }
}

#[test]
fn choices_within_choices_do_not_multiply() {
    // Each of six levels has three ways, and none of them fits: without a bound that is 3^6 times the work of one.
    let mut part = json!({ "type": "integer" });
    let mut value = json!("x");
    for _ in 0..6 {
        let way = |n: i32| {
            json!({
                "type": "object", "properties": { "a": part, "n": { "const": n } }, "required": ["a", "n"],
            })
        };
        part = json!({ "anyOf": [way(1), way(2), way(3)] });
        value = json!({ "a": value });
    }
    assert!(!fits(json!({ "type": "object", "properties": { "p": part } }), &json!({ "p": value })));
}

#[test]
fn many_items_are_mended_and_told_in_one_go() {
    let items = json!({ "type": "object", "properties": { "x": { "type": "integer" } } });
    let schema = json!({ "type": "object", "properties": { "p": { "type": "array", "items": items } } });
    let many = |x: &str| json!({ "p": vec![json!({ "x": x }); 20_000] });
    let entry = Entry::new(Arc::new(Made { name: "odd", schema, deferred: false }), Rule::Read).unwrap();
    let ready = entry.ready(Some(&many("7"))).unwrap();
    assert_eq!((&ready.arguments["p"][19_999]["x"], ready.repairs.len()), (&json!(7), 20_000));
    let fault = entry.ready(Some(&many("no"))).unwrap_err();
    assert!(fault.message.contains("- and 19990 more"), "{}", fault.message);
    assert_eq!(fault.data.unwrap()["faults"].as_array().unwrap().len(), 100);
}

#[test]
fn names_of_every_odd_form_are_told_bounded_and_visibly() {
    let registry = built_in();
    let session = Session::new("s");
    for (asked, told) in [
        ("r\u{435}ad".to_owned(), "There is no tool `r\u{435}ad`. Did you mean `read`?"),
        ("re\u{200b}ad".to_owned(), "There is no tool `re\\u{200b}ad`. Did you mean `read`?"),
        ("qu\nux".to_owned(), "There is no tool `qu\\u{a}ux`. The tools are:"),
        ("x".repeat(1 << 20), "There is no tool `xxxx"),
        (String::new(), "The call names no tool. The tools are:"),
        ("_tool".to_owned(), "There is no tool `_tool`."),
        ("../read".to_owned(), "There is no tool `../read`. Did you mean `read`?"),
    ] {
        let message = registry.find(&session, &asked).err().unwrap().message;
        assert!(message.starts_with(told) && message.len() < 2_000, "{} {message}", asked.len());
    }
}
