//! Settings from JSON, key by key: a key that is unknown or whose value is wrong is told and its default stays.

use serde_json::{Map, Value};

use super::{Mode, ServerSettings, Settings};

/// Keys of the settings object that are not settings: the front reads them.
const ELSEWHERE: &[&str] = &["trusted"];

/// The tables whose keys are names of the user's own.
const SERVERS: &str = "diagnostics.servers";
const AGENTS: &str = "agents";

/// Commands by language, taken as a whole.
const FORMATTERS: &str = "formatter.commands";

/// MCP servers by name, taken as a whole: the room that starts them reads each by itself.
const MCP_SERVERS: &str = "mcp.servers";

/// The settings of which nothing may be lost: see [`super::PermissionSettings::broken`].
const PERMISSIONS: &str = "permissions";

/// The settings that hold lists of machines, of which nothing may be lost either.
const WEB: &str = "web";

/// Of these, those that hold nothing back.
const WEB_WAYS: &[&str] = &["web.local", "web.proxy", "web.search"];

/// Lists of rules in them.
const RULES: &[&str] = &["allow", "ask", "deny"];

/// The hooks: where they cannot be read, that itself is a setting.
const HOOKS: &str = "hooks";

/// A key joins at most so many names by dots.
const MAX_NAMES: usize = 16;

/// Settings have at most so many levels, of dotted keys and of objects and arrays in one another.
const MAX_DEPTH: usize = 64;

/// A remark shows so many characters of a key that is too long.
const SHOWN_CHARS: usize = 80;

/// A key that was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// Which one: names joined by dots.
    pub key: String,
    /// Why, in words for the person who wrote it.
    pub message: String,
}

impl Settings {
    /// The settings that `value` (an object, nested or with dotted keys) makes of the defaults, and a remark on each
    /// key that was not taken.
    pub fn parse(value: &Value) -> (Settings, Vec<Remark>) {
        Settings::default().overlaid(value)
    }

    /// These settings with those of `value` over them, and a remark on each key that was not taken. What these hold back
    /// stays, whatever `value` says: ask and deny rules, hooks, and what could not be read of them.
    pub fn overlaid(&self, value: &Value) -> (Settings, Vec<Remark>) {
        let mut remarks = Vec::new();
        let fields = match value {
            Value::Null => return (self.clone(), remarks),
            Value::Object(fields) => fields,
            other => {
                remarks.push(Remark { key: String::new(), message: format!("expected an object, got {other}") });
                return (self.clone(), remarks);
            }
        };
        let fields = bounded("", fields, 0, &mut remarks);
        let mut overlay = Overlay { settings: self.clone(), remarks, astray: Vec::new() };
        let nested = nest(&fields);
        overlay.object("", &nested);
        let (mut settings, remarks) = overlay.finished();
        settings.hooks.broken = remarks.iter().any(|remark| remark.key.split('.').next() == Some(HOOKS));
        settings.permissions.keep(&self.permissions);
        settings.hooks.keep(&self.hooks);
        (settings, remarks)
    }
}

/// Dotted keys as nested objects.
fn nest(fields: &Map<String, Value>) -> Map<String, Value> {
    let mut out = Map::new();
    for (key, value) in fields {
        put(&mut out, key, value);
    }
    out
}

/// What lies within [`MAX_NAMES`] and [`MAX_DEPTH`], and a remark on each key that does not. It descends no deeper than
/// that itself, so that what comes after it may recurse. `depth`: the levels above `fields`.
fn bounded(path: &str, fields: &Map<String, Value>, depth: usize, remarks: &mut Vec<Remark>) -> Map<String, Value> {
    let mut out = Map::new();
    for (key, value) in fields {
        let names = key.split('.').count();
        let full = if path.is_empty() { excerpt(key) } else { format!("{path}.{}", excerpt(key)) };
        if names > MAX_NAMES {
            let message = format!("it joins {names} names by dots; at most {MAX_NAMES} are taken");
            remarks.push(Remark { key: full, message });
            continue;
        }
        let below = depth + names;
        match value {
            Value::Object(fields) if below < MAX_DEPTH => {
                out.insert(key.clone(), Value::Object(bounded(&full, fields, below, remarks)));
            }
            value if deeper(value, MAX_DEPTH.saturating_sub(below)) => {
                let message = format!("it is nested too deeply; at most {MAX_DEPTH} levels are taken");
                remarks.push(Remark { key: full, message });
            }
            value => {
                out.insert(key.clone(), value.clone());
            }
        }
    }
    out
}

/// Whether a value has more than so many levels of arrays and objects; it is not looked at any deeper.
fn deeper(value: &Value, levels: usize) -> bool {
    match value {
        Value::Array(_) | Value::Object(_) if levels == 0 => true,
        Value::Array(items) => items.iter().any(|item| deeper(item, levels - 1)),
        Value::Object(fields) => fields.values().any(|field| deeper(field, levels - 1)),
        _ => false,
    }
}

/// The beginning of a key, for a remark.
fn excerpt(key: &str) -> String {
    let mut shown: String = key.chars().take(SHOWN_CHARS).collect();
    if shown.len() < key.len() {
        shown.push('…');
    }
    shown
}

fn put(out: &mut Map<String, Value>, key: &str, value: &Value) {
    if let Some((first, rest)) = key.split_once('.') {
        let inner = out.entry(first).or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(inner) = inner {
            put(inner, rest, value);
            return;
        }
    }
    match (out.get_mut(key), value) {
        (Some(Value::Object(there)), Value::Object(fields)) => {
            for (key, value) in fields {
                put(there, key, value);
            }
        }
        // Said twice, once with dots: no rule gives way to another.
        (Some(Value::Array(there)), Value::Array(more)) if RULES.contains(&key) => {
            let new: Vec<Value> = more.iter().filter(|rule| !there.contains(rule)).cloned().collect();
            there.extend(new);
        }
        (_, Value::Object(fields)) => {
            out.insert(key.to_owned(), Value::Object(fields.clone()));
        }
        _ => {
            out.insert(key.to_owned(), value.clone());
        }
    }
}

struct Overlay {
    settings: Settings,
    remarks: Vec<Remark>,
    /// Keys that are no settings and look as if rules were meant by them.
    astray: Vec<String>,
}

impl Overlay {
    fn object(&mut self, path: &str, fields: &Map<String, Value>) {
        for (key, value) in fields {
            let full = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            if path.is_empty() && ELSEWHERE.contains(&key.as_str()) {
                continue;
            }
            let here = self.tree().pointer(&pointer(&full)).cloned();
            let named = path == SERVERS || path == AGENTS;
            match (here, value) {
                (None, Value::Object(fields)) if named => {
                    self.set(&full, Value::Object(Map::new()));
                    self.object(&full, fields);
                }
                (None, Value::Null) => {}
                (None, _) if named => self.remark(full, format!("expected an object, got {value}")),
                (None, _) => {
                    if speaks_of_rules(key, value) {
                        self.astray.push(full.clone());
                    }
                    let known = self.known(path);
                    self.remark(full, format!("there is no such setting; here are: {}", known.join(", ")));
                }
                (Some(Value::Object(_)), Value::Object(fields)) if !opaque(&full) => self.object(&full, fields),
                (Some(Value::Object(_)), Value::Null) if full == HOOKS => {}
                (Some(Value::Object(_)), other) if !opaque(&full) => {
                    self.remark(full, format!("expected an object, got {other}"));
                }
                (Some(_), value) if is_rules(&full) => self.rules(&full, value),
                (Some(_), value) => self.set(&full, value.clone()),
            }
        }
    }

    /// A list of rules: those that are there are taken, whatever else stands between them.
    fn rules(&mut self, path: &str, value: &Value) {
        let all = match value {
            Value::Array(all) => all.clone(),
            Value::Null => Vec::new(),
            other => vec![other.clone()],
        };
        for other in all.iter().filter(|rule| !rule.is_string()) {
            let example = if path.starts_with(WEB) { "example.org" } else { "write(src/**)" };
            self.remark(path.to_owned(), format!("{other} is no rule; expected a text like \"{example}\""));
        }
        self.set(path, all.into_iter().filter(Value::is_string).collect());
    }

    /// What came of it all. What could not be read of the permissions is remembered in them.
    fn finished(mut self) -> (Settings, Vec<Remark>) {
        if self.settings.permissions.mode == Mode::Danger {
            let message = "only a person sets this mode, for one session".to_owned();
            self.remark(format!("{PERMISSIONS}.mode"), message);
            self.settings.permissions.mode = Mode::default();
        }
        let astray = std::mem::take(&mut self.astray);
        let lost = |remark: &&Remark| {
            let key = remark.key.as_str();
            let below =
                |group: &str| key.strip_prefix(group).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
            below(PERMISSIONS) || below(WEB) && !WEB_WAYS.iter().any(|way| below(way)) || astray.contains(&remark.key)
        };
        self.settings.permissions.broken = self
            .remarks
            .iter()
            .filter(lost)
            .map(|remark| format!("setting {}: {}", remark.key, remark.message))
            .collect();
        (self.settings, self.remarks)
    }

    fn tree(&self) -> Value {
        let mut tree = serde_json::to_value(&self.settings).unwrap_or_default();
        // A server's fields that are not set are there as null, so that each key of it is known.
        if let Some(Value::Object(servers)) = tree.pointer_mut(&pointer(SERVERS)) {
            for (_, server) in servers.iter_mut() {
                if let (Value::Object(server), Ok(Value::Object(all))) =
                    (server, serde_json::to_value(ServerSettings::default()))
                {
                    for (key, value) in all {
                        server.entry(key).or_insert(value);
                    }
                }
            }
        }
        tree
    }

    fn known(&self, path: &str) -> Vec<String> {
        let tree = self.tree();
        let at = if path.is_empty() { Some(&tree) } else { tree.pointer(&pointer(path)) };
        at.and_then(Value::as_object).map(|fields| fields.keys().cloned().collect()).unwrap_or_default()
    }

    /// Puts one value in, if the settings still are settings with it.
    fn set(&mut self, path: &str, value: Value) {
        let mut tree = self.tree();
        let (parent, key) = path.rsplit_once('.').unwrap_or(("", path));
        let at = if parent.is_empty() { Some(&mut tree) } else { tree.pointer_mut(&pointer(parent)) };
        let Some(Value::Object(fields)) = at else { return };
        let shown = value.to_string();
        fields.insert(key.to_owned(), value);
        match serde_json::from_value(tree) {
            Ok(settings) => self.settings = settings,
            Err(error) => self.remark(path.to_owned(), format!("{shown} does not fit: {error}")),
        }
    }

    fn remark(&mut self, key: String, message: String) {
        self.remarks.push(Remark { key, message });
    }
}

/// Whether a value is taken as it is, whatever keys are in it: what a server is given, and formatters by language.
fn opaque(path: &str) -> bool {
    path == FORMATTERS
        || path.strip_prefix(AGENTS).is_some_and(|rest| rest.rsplit_once('.').is_some_and(|(_, key)| key == "env"))
        || path == MCP_SERVERS
        || path.strip_prefix(SERVERS).is_some_and(|rest| {
            [".env", ".initializationOptions", ".settings"].iter().any(|end| rest.ends_with(end)) && rest.len() > 1
        })
}

/// Whether a key that is no setting, or one below it, is called as what holds rules back is, or nearly so.
fn speaks_of_rules(key: &str, value: &Value) -> bool {
    let named = ["ask", "deny", "permission", PERMISSIONS].iter().any(|name| name.eq_ignore_ascii_case(key));
    named || value.as_object().is_some_and(|fields| fields.iter().any(|(key, value)| speaks_of_rules(key, value)))
}

/// Whether a setting is a list of rules.
fn is_rules(path: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(group, list)| [PERMISSIONS, WEB].contains(&group) && RULES.contains(&list))
}

fn pointer(path: &str) -> String {
    path.split('.').flat_map(|key| ["/".to_owned(), key.replace('~', "~0").replace('/', "~1")]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{FormatterMode, FormatterSettings, Freshness, OwnServers, PermissionSettings};
    use expect_test::expect;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn what_fits_is_taken() {
        let (settings, remarks) = Settings::parse(&json!({
            "commit": { "echoMs": 500 },
            "commit.rebases": 1,
            "freshness": "warn",
            "trusted": true,
            "diagnostics": {
                "ownServers": "off",
                "servers": {
                    "ruff": { "enabled": false },
                    "mine": { "command": ["mine", "--stdio"], "env": { "A": "b" }, "settings": { "x": { "y": 1 } } },
                },
            },
        }));
        assert_eq!(remarks, []);
        assert_eq!((settings.commit.echo_ms, settings.commit.rebases), (500, 1));
        assert_eq!(settings.freshness, Freshness::Warn);
        assert_eq!(settings.diagnostics.own_servers, OwnServers::Off);
        assert_eq!(settings.diagnostics.servers["ruff"].enabled, Some(false));
        let mine = &settings.diagnostics.servers["mine"];
        assert_eq!((mine.command.len(), mine.env["A"].as_str()), (2, "b"));
        assert_eq!(mine.settings, Some(json!({ "x": { "y": 1 } })));
        assert_eq!(Settings::parse(&Value::Null), (Settings::default(), vec![]));
    }

    #[test]
    fn what_does_not_fit_is_told_and_the_rest_kept() {
        let (settings, remarks) = Settings::parse(&json!({
            "commit": { "echoMs": "soon", "rebases": 7, "colour": "red" },
            "freshness": "maybe",
            "output": 3,
            "diagnostics": { "knownMs": -1, "quietMs": 100, "servers": { "ruff": { "comand": [] , "deadlineMs": 9 }, "x": 1 } },
            "nothing": {},
        }));
        let told: Vec<String> = remarks.iter().map(|remark| format!("{}: {}", remark.key, remark.message)).collect();
        expect![[r#"
            commit.echoMs: "soon" does not fit: invalid type: string "soon", expected u64
            commit.colour: there is no such setting; here are: echoMs, rebases
            freshness: "maybe" does not fit: unknown variant `maybe`, expected one of `refuse`, `warn`, `off`
            output: expected an object, got 3
            diagnostics.knownMs: -1 does not fit: invalid value: integer `-1`, expected u64
            diagnostics.servers.ruff.comand: there is no such setting; here are: command, languages, enabled, env, initializationOptions, settings, deadlineMs, markers, memoryMib
            diagnostics.servers.x: expected an object, got 1
            nothing: there is no such setting; here are: agents, commit, freshness, syntaxGate, read, diagnostics, formatter, output, parallel, permissions, guards, hooks, mcp, search, bash, bridge, saveBeforeBash, skills, web"#]].assert_eq(&told.join("\n"));
        assert_eq!((settings.commit.echo_ms, settings.commit.rebases), (2000, 7));
        assert_eq!((settings.diagnostics.known_ms, settings.diagnostics.quiet_ms), (700, 100));
        assert_eq!(settings.diagnostics.servers["ruff"].deadline_ms, Some(9));
        let (default, remarks) = Settings::parse(&json!([]));
        assert_eq!((default, remarks.len()), (Settings::default(), 1));
    }

    #[test]
    fn formatters_are_named_by_language() {
        let (settings, remarks) = Settings::parse(&json!({
            "formatter": { "mode": "onWrite", "commands": { "python": ["black", "-"], "go": [] }, "timeoutMs": 9 },
        }));
        assert_eq!((remarks, settings.formatter.mode), (vec![], FormatterMode::OnWrite));
        assert_eq!((settings.formatter.commands["python"].len(), settings.formatter.timeout_ms), (2, 9));
        for broken in [json!({ "commands": { "go": "gofmt" } }), json!({ "mode": "always" }), json!({ "command": {} })]
        {
            let (settings, remarks) = Settings::parse(&json!({ "formatter": broken }));
            assert_eq!((settings.formatter, remarks.len()), (FormatterSettings::default(), 1), "{broken}");
        }
    }

    #[test]
    fn no_rule_is_lost_under_another_key() {
        for (value, rules, broken) in [
            (json!({ "permissions": { "deny": ["a"] }, "permissions.deny": ["b"] }), vec!["a", "b"], 0),
            (json!({ "permissions.deny": ["b"], "permissions": { "deny": [] } }), vec!["b"], 0),
            (json!({ "Permissions": { "deny": ["a"] } }), vec![], 1),
            (json!({ "permission": { "deny": ["a"] } }), vec![], 1),
            (json!({ "ropewalk.permissions.deny": ["a"] }), vec![], 1),
            (json!({ "deny": ["a"] }), vec![], 1),
            (json!({ "theme": { "name": "deny" } }), vec![], 0),
        ] {
            let (settings, remarks) = Settings::parse(&value);
            let Settings { permissions, .. } = settings;
            assert_eq!(
                (permissions.deny, permissions.broken.len()),
                (rules.into_iter().map(str::to_owned).collect(), broken),
                "{value}: {remarks:?}"
            );
        }
    }

    #[test]
    fn no_rule_is_lost_beside_what_cannot_be_read() {
        let deny = |value: Value| {
            let settings = Settings::parse(&json!({ "permissions": value })).0.permissions;
            (settings.deny, settings.broken.len())
        };
        for (value, rules, broken) in [
            (json!({ "deny": ["read(a)", "write"] }), vec!["read(a)", "write"], 0),
            (json!({ "deny": "read(a)" }), vec!["read(a)"], 0),
            (json!({ "deny": ["read(a)", 7, null, "write"] }), vec!["read(a)", "write"], 2),
            (json!({ "deny": { "read": "a" } }), vec![], 1),
            (json!({ "denied": ["read(a)"] }), vec![], 1),
            (json!({ "deny": ["write"], "mode": "careful" }), vec!["write"], 1),
            (json!(["deny"]), vec![], 1),
            (json!({ "deny": null }), vec![], 0),
        ] {
            assert_eq!(deny(value.clone()), (rules.into_iter().map(str::to_owned).collect(), broken), "{value}");
        }
        for (web, hosts, broken) in [
            (json!({ "deny": ["a.org", 7], "local": 3 }), vec!["a.org"], 1),
            (json!({ "deny": "a.org", "search": { "engine": "other" } }), vec!["a.org"], 0),
            (json!({ "denied": ["a.org"] }), vec![], 1),
            (json!(7), vec![], 1),
        ] {
            let settings = Settings::parse(&json!({ "web": web })).0;
            assert_eq!((settings.web.deny, settings.permissions.broken.len()), {
                (hosts.into_iter().map(str::to_owned).collect(), broken)
            });
        }
        let (danger, remarks) = Settings::parse(&json!({ "permissions.mode": "danger" }));
        assert_eq!((danger.permissions.mode, remarks.len()), (Mode::Build, 1));
    }

    #[test]
    fn hooks_that_cannot_be_read_are_not_simply_gone() {
        let good = json!({ "tool": "write", "command": ["guard"], "timeoutMs": 5, "onFailure": "allow" });
        let (settings, remarks) = Settings::parse(&json!({ "hooks": { "before": [good], "after": [] } }));
        assert_eq!((remarks, settings.hooks.broken), (vec![], false));
        assert_eq!(settings.hooks.before[0].timeout_ms, 5);
        for broken in [
            json!({ "hooks": { "before": [good, { "tool": "write" }] } }),
            json!({ "hooks": { "before": [{ "command": ["guard"], "onfailure": "allow" }] } }),
            json!({ "hooks": { "befor": [good] } }),
            json!({ "hooks.before": { "0": good } }),
            json!({ "hooks": [] }),
        ] {
            let (settings, remarks) = Settings::parse(&broken);
            assert_eq!((remarks.len(), settings.hooks.broken), (1, true), "{broken}");
        }
        for fine in [json!({ "hooks": null }), json!({ "hooks": {} }), json!({ "freshness": "maybe" })] {
            assert!(!Settings::parse(&fine).0.hooks.broken, "{fine}");
        }
    }

    /// An object of objects, `levels` deep.
    fn nested(levels: usize) -> Value {
        (0..levels).fold(json!(1), |inner, _| json!({ "a": inner }))
    }

    #[test]
    fn keys_of_many_names_and_deep_values_are_refused_before_anything_recurses() {
        let many = format!("a{}", ".a".repeat(20_000));
        let server = |settings: Value| json!({ "diagnostics": { "servers": { "x": { "settings": settings } } } });
        let array = (0..100).fold(json!([]), |inner, _| json!([inner]));
        let dotted = (0..20).fold(json!(1), |inner, _| json!({ "a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a": inner }));
        for deep in [
            json!({ many.clone(): 1 }),
            server(json!({ many: 1 })),
            server(nested(120)),
            server(json!({ "list": array })),
            server(dotted),
        ] {
            let mut with = deep.clone();
            with["freshness"] = json!("warn");
            let (settings, remarks) = Settings::parse(&with);
            assert_eq!((settings.freshness, remarks.len()), (Freshness::Warn, 1), "{remarks:?}");
            assert!(remarks[0].message.contains("at most") && remarks[0].key.len() < 1000, "{remarks:?}");
        }
        // What people write is far below that.
        let (settings, remarks) = Settings::parse(&server(nested(40)));
        assert_eq!((settings.diagnostics.servers["x"].settings.clone(), remarks), (Some(nested(40)), vec![]));
    }

    #[test]
    fn what_is_laid_over_takes_away_nothing_that_holds_back() {
        let hook = |program: &str| json!({ "tool": "write", "command": [program] });
        let (user, _) = Settings::parse(&json!({
            "freshness": "off",
            "permissions": { "mode": "review", "allow": ["write(a)"], "ask": ["write(b)"], "deny": ["read(c)"], "x": 1 },
            "hooks": { "before": [hook("guard")], "befor": [] },
        }));
        assert_eq!((user.permissions.broken.len(), user.hooks.broken), (1, true));
        let over = json!({
            "permissions": { "mode": "build", "allow": [], "ask": [], "deny": ["read(d)"] },
            "hooks": { "before": [hook("other"), hook("guard")] },
        });
        let (settings, remarks) = user.overlaid(&over);
        let PermissionSettings { mode, allow, ask, deny, broken, .. } = settings.permissions;
        assert_eq!((mode, allow, ask), (Mode::Build, vec![], vec!["write(b)".to_owned()]));
        assert_eq!(
            (deny, broken, remarks),
            (vec!["read(c)".into(), "read(d)".into()], user.permissions.broken, vec![])
        );
        let before: Vec<&str> = settings.hooks.before.iter().map(super::super::Hook::shown).collect();
        assert_eq!((before, settings.hooks.broken), (vec!["guard", "other"], true));
        assert_eq!(settings.freshness, Freshness::Off);
    }

    /// Something that an editor may send as permissions, sane or not.
    fn sent() -> impl Strategy<Value = Value> {
        let rules = prop_oneof![
            Just(json!([])),
            Just(json!(null)),
            Just(json!("write(x)")),
            Just(json!(["write(x)", "read(y)"])),
            Just(json!([7])),
            Just(json!({})),
        ];
        let key = prop_oneof![Just("deny"), Just("ask"), Just("allow"), Just("mode"), Just("Deny"), Just("deni")];
        let inner = prop::collection::btree_map(key, rules, 0..4).prop_map(|all| json!(all));
        prop_oneof![
            inner.clone().prop_map(|permissions| json!({ "permissions": permissions })),
            inner.prop_map(|fields| {
                let dotted = fields.as_object().unwrap().iter();
                dotted.map(|(key, value)| (format!("permissions.{key}"), value.clone())).collect::<Map<_, _>>().into()
            }),
            Just(json!(null)),
            Just(json!({ "permissions": null, "hooks": null })),
        ]
    }

    proptest! {
        #[test]
        fn no_layer_loses_a_rule_that_holds_back(user in sent(), editor in sent(), merged in sent()) {
            let user = Settings::parse(&user).0;
            let over = user.overlaid(&editor).0;
            let within = user.overlaid(&merged).0.within(&over);
            for settings in [&over, &within] {
                let (had, has) = (&user.permissions, &settings.permissions);
                prop_assert!(had.deny.iter().all(|rule| has.deny.contains(rule)));
                prop_assert!(had.ask.iter().all(|rule| has.ask.contains(rule)));
                prop_assert!(had.broken.iter().all(|why| has.broken.contains(why)));
            }
        }

        #[test]
        fn settings_survive_their_own_json(echo in any::<u64>(), head in any::<u32>(), on in any::<bool>()) {
            let mut settings = Settings::default();
            settings.commit.echo_ms = echo;
            settings.output.head_bytes = head as usize;
            settings.diagnostics.servers.insert("a".into(), ServerSettings { enabled: Some(on), ..Default::default() });
            let (parsed, remarks) = Settings::parse(&serde_json::to_value(&settings).unwrap());
            prop_assert_eq!((parsed, remarks), (settings, vec![]));
        }
    }
}
