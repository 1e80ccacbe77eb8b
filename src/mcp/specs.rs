//! Which servers there are: the user's settings, and the files of folders that are trusted. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use super::expand::{Lookup, expand};
use crate::config::{McpCommand, McpServer, McpSettings, McpTools};

/// The files of a folder that name servers, in the order in which they count.
pub(super) const FILES: [&str; 3] = [".mcp.json", ".cursor/mcp.json", ".vscode/mcp.json"];

/// A file is at most so long (bytes).
pub(super) const LONGEST_FILE: u64 = 1024 * 1024;

/// At most so many servers are taken.
const MOST: usize = 64;

/// A server's own name is at most so long (characters).
const LONGEST_NAME: usize = 100;

/// A call may take so long without a sign of life at least, and at most (ms).
const TIMEOUTS: std::ops::RangeInclusive<u64> = 100..=3_600_000;

/// Who named a server.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Origin {
    /// The user's settings.
    User,
    /// A file of a trusted folder.
    Project {
        /// The folder, canonical.
        folder: PathBuf,
        /// The file's path from there.
        file: &'static str,
    },
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::User => f.write_str("the user's settings"),
            Origin::Project { folder, file } => write!(f, "{}", folder.join(file).display()),
        }
    }
}

/// How a server is reached.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Way {
    /// A program that is started, over its standard streams.
    Program {
        /// The program, as it was named.
        program: String,
        /// Its arguments.
        args: Vec<String>,
        /// Variables on top of the scrubbed environment.
        env: BTreeMap<String, String>,
        /// Where it runs; absent: where we do.
        dir: Option<PathBuf>,
    },
    /// Streamable HTTP.
    Http {
        /// Where.
        url: String,
        /// Headers of every request.
        headers: BTreeMap<String, String>,
    },
}

impl fmt::Debug for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Values of variables and headers are secrets more often than not.
        match self {
            Way::Program { program, args, .. } => write!(f, "{program} {args:?}"),
            Way::Http { url, .. } => f.write_str(url),
        }
    }
}

/// A server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Spec {
    /// Its name.
    pub name: String,
    /// Who named it.
    pub origin: Origin,
    /// How it is reached.
    pub way: Way,
    /// The same in words, as it was written and with the names of its variables or headers: what a person consents to.
    pub shown: String,
    /// How long a call may take without a sign of life.
    pub timeout: Duration,
    /// Which of its tools there are.
    pub tools: McpTools,
    /// Whether the user trusts it.
    pub trusted: bool,
    /// Whether its tools are listed only once they were found or called.
    pub deferred: bool,
}

/// A server, or a file, that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Broken {
    /// The server; absent: the whole of what names it.
    pub name: Option<String>,
    /// Who named it.
    pub origin: Origin,
    /// Why.
    pub why: String,
}

/// What a folder's file holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    /// The folder, canonical.
    pub folder: PathBuf,
    /// The file's path from there.
    pub file: &'static str,
    /// Its text, or why it could not be read.
    pub text: Result<String, String>,
}

impl Spec {
    /// Whether it may lead to a machine that is not on the public internet: the user named it, or it is this machine by
    /// its own name, which a person has seen.
    pub(super) fn reaches_local(&self) -> bool {
        let Way::Http { url, .. } = &self.way else { return false };
        let host = url::Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default();
        self.origin == Origin::User || matches!(host.as_str(), "localhost" | "127.0.0.1" | "[::1]")
    }
}

/// What the servers are worked out from.
pub(super) struct Sources<'a> {
    /// The settings.
    pub settings: &'a McpSettings,
    /// The files of trusted folders.
    pub files: &'a [Found],
    /// The first workspace folder.
    pub folder: Option<&'a Path>,
    /// Variables for the user's own servers.
    pub user: Lookup<'a>,
    /// Variables for a project's.
    pub project: Lookup<'a>,
}

/// All servers, sorted by name, and what is wrong with others.
pub(super) fn specs(sources: &Sources<'_>) -> (Vec<Spec>, Vec<Broken>) {
    let (mut specs, mut broken) = (Vec::new(), Vec::new());
    let mut seen = BTreeSet::new();
    let mut take = |name: &str, value: &Value, origin: &Origin, specs: &mut Vec<Spec>, broken: &mut Vec<Broken>| {
        let fault = |why: String| Broken { name: Some(name.to_owned()), origin: origin.clone(), why };
        if !seen.insert(name.to_owned()) {
            return broken.push(fault("there is a server of this name already".to_owned()));
        }
        match one(name, value, origin, sources) {
            Ok(Some(_)) if specs.len() >= MOST => broken.push(fault(format!("there are {MOST} servers already"))),
            Ok(Some(spec)) => specs.push(spec),
            Ok(None) => {}
            Err(why) => broken.push(fault(why)),
        }
    };
    for (name, value) in &sources.settings.servers {
        take(name, value, &Origin::User, &mut specs, &mut broken);
    }
    for found in sources.files.iter().filter(|_| sources.settings.project) {
        let origin = Origin::Project { folder: found.folder.clone(), file: found.file };
        match found.text.as_deref().map_err(Clone::clone).and_then(named) {
            Ok(servers) => {
                for (name, value) in servers {
                    take(&name, &value, &origin, &mut specs, &mut broken);
                }
            }
            Err(why) => broken.push(Broken { name: None, origin, why }),
        }
    }
    specs.sort_by(|a, b| a.name.cmp(&b.name));
    (specs, broken)
}

/// The servers that a file names, under `mcpServers` or `servers`, sorted.
fn named(text: &str) -> Result<BTreeMap<String, Value>, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| format!("it is no JSON: {error}"))?;
    let mut servers = BTreeMap::new();
    let mut any = false;
    for key in ["servers", "mcpServers"] {
        match value.get(key) {
            None | Some(Value::Null) => {}
            Some(Value::Object(fields)) => {
                any = true;
                servers.extend(fields.iter().map(|(name, server)| (name.clone(), server.clone())));
            }
            Some(_) => return Err(format!("its `{key}` is no object")),
        }
    }
    if any { Ok(servers) } else { Err("it has neither `mcpServers` nor `servers`".to_owned()) }
}

/// One server; `None`: it is turned off.
fn one(name: &str, value: &Value, origin: &Origin, sources: &Sources<'_>) -> Result<Option<Spec>, String> {
    if name.trim().is_empty() || name.chars().count() > LONGEST_NAME || name.chars().any(char::is_control) {
        return Err(format!("its name is not 1 to {LONGEST_NAME} characters that can be shown"));
    }
    let server: McpServer =
        serde_json::from_value(value.clone()).map_err(|error| format!("it cannot be read: {error}"))?;
    if server.enabled == Some(false) || server.disabled == Some(true) {
        return Ok(None);
    }
    let project = *origin != Origin::User;
    let folder = match origin {
        Origin::User => sources.folder,
        Origin::Project { folder, .. } => Some(folder.as_path()),
    };
    let lookup = |variable: &str| match variable {
        "workspaceFolder" => Ok(folder.map(|folder| folder.to_string_lossy().into_owned())),
        "userHome" => (sources.user)("HOME"),
        variable if project => (sources.project)(variable),
        variable => (sources.user)(variable),
    };
    let fill = |text: &str| expand(text, &lookup);
    let fill_all = |texts: &BTreeMap<String, String>| {
        texts.iter().map(|(key, text)| Ok((key.clone(), fill(text)?))).collect::<Result<BTreeMap<_, _>, String>>()
    };
    let (way, shown) = match (&server.command, &server.url) {
        (Some(_), Some(_)) => return Err("it has both a `command` and a `url`; give one".to_owned()),
        (None, None) => return Err("it has neither a `command` nor a `url`".to_owned()),
        (Some(command), None) => {
            let mut words = match command {
                McpCommand::Program(program) => vec![program.clone()],
                McpCommand::Words(words) => words.clone(),
            };
            words.extend(server.args.iter().cloned());
            let mut shown = words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
            let filled = words.iter().map(|word| fill(word)).collect::<Result<Vec<_>, _>>()?;
            let mut filled = filled.into_iter();
            let program = filled.next().filter(|program| !program.trim().is_empty());
            let program = program.ok_or_else(|| "its `command` is empty".to_owned())?;
            let dir = match &server.cwd {
                Some(cwd) => {
                    let _ = write!(shown, " in {}", quoted(cwd));
                    let cwd = PathBuf::from(fill(cwd)?);
                    Some(folder.map_or_else(|| cwd.clone(), |folder| folder.join(&cwd)))
                }
                None => folder.map(Path::to_owned),
            };
            shown.push_str(&names(" with the variables ", &server.env));
            let env = fill_all(&server.env)?;
            (Way::Program { program, args: filled.collect(), env, dir }, shown)
        }
        (None, Some(url)) => {
            let shown = format!("{}{}", quoted(url), names(" with the headers ", &server.headers));
            let url = fill(url)?;
            let scheme = url.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
            if !matches!(scheme.as_deref(), Some("http" | "https")) {
                return Err(format!("its `url` {url:?} does not begin with http:// or https://"));
            }
            (Way::Http { url, headers: fill_all(&server.headers)? }, shown)
        }
    };
    let timeout = server.timeout_ms.unwrap_or(sources.settings.timeout_ms);
    Ok(Some(Spec {
        name: name.to_owned(),
        origin: origin.clone(),
        way,
        shown,
        timeout: Duration::from_millis(timeout.clamp(*TIMEOUTS.start(), *TIMEOUTS.end())),
        tools: server.tools,
        trusted: server.trusted && !project,
        deferred: server.deferred.unwrap_or(sources.settings.deferred),
    }))
}

/// The names of variables or headers, in words; nothing where there are none.
fn names(before: &str, texts: &BTreeMap<String, String>) -> String {
    if texts.is_empty() {
        return String::new();
    }
    format!("{before}{}", texts.keys().map(|key| quoted(key)).collect::<Vec<_>>().join(", "))
}

/// A word as it is, or in quotes where it would not be seen where it ends.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./:@=+~%^&?${},".contains(c);
    if !word.is_empty() && word.chars().all(plain) { word.to_owned() } else { format!("{word:?}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use serde_json::json;

    fn found(settings: Value, files: &[(&'static str, &str)]) -> String {
        let settings: McpSettings = serde_json::from_value(settings).unwrap();
        let folder = PathBuf::from("/w");
        let files: Vec<Found> = files
            .iter()
            .map(|(file, text)| Found { folder: folder.clone(), file, text: Ok((*text).to_owned()) })
            .collect();
        let user = |name: &str| Ok((name == "TOKEN").then(|| "s3cret".to_owned()));
        let project = |name: &str| {
            if name == "TOKEN" { Err("the variable TOKEN is not for projects".to_owned()) } else { Ok(None) }
        };
        let (specs, broken) = super::specs(&Sources {
            settings: &settings,
            files: &files,
            folder: Some(&folder),
            user: &user,
            project: &project,
        });
        let mut out = String::new();
        for Spec { name, origin, way, shown, timeout, trusted, deferred, .. } in specs {
            out.extend([format!("{name} ({origin}): {shown} -> {way:?}, {timeout:?}, {trusted}, {deferred}\n")]);
        }
        for Broken { name, origin, why } in broken {
            out.extend([format!("! {} ({origin}): {why}\n", name.as_deref().unwrap_or("-"))]);
        }
        out
    }

    fn check(settings: Value, files: &[(&'static str, &str)], expected: &Expect) {
        expected.assert_eq(&found(settings, files));
    }

    #[test]
    fn the_users() {
        check(
            json!({ "timeoutMs": 5, "deferred": false, "servers": {
                "b": { "command": "npx", "args": ["-y", "a b", "${TOKEN}"], "env": { "KEY": "${TOKEN}" },
                    "trusted": true },
                "a": { "command": ["uvx", "x"], "cwd": "sub", "timeout": 1000, "deferred": true },
                "h": { "type": "http", "url": "http://localhost:1/mcp",
                    "headers": { "Authorization": "Bearer ${TOKEN}" } },
                "off": { "command": "x", "enabled": false }, "off2": { "command": "x", "disabled": true },
                "both": { "command": "x", "url": "http://x" }, "none": {}, "odd": { "command": 1 }, "bare": 1,
                "file": { "url": "file:///etc/passwd" }, "gone": { "command": "x", "args": ["${NOPE}"] },
                "empty": { "command": "" },
            } }),
            &[],
            &expect![[r#"
                a (the user's settings): uvx x in sub -> uvx ["x"], 1s, false, true
                b (the user's settings): npx -y "a b" ${TOKEN} with the variables KEY -> npx ["-y", "a b", "s3cret"], 100ms, true, false
                h (the user's settings): http://localhost:1/mcp with the headers Authorization -> http://localhost:1/mcp, 100ms, false, false
                ! bare (the user's settings): it cannot be read: invalid type: integer `1`, expected struct McpServer
                ! both (the user's settings): it has both a `command` and a `url`; give one
                ! empty (the user's settings): its `command` is empty
                ! file (the user's settings): its `url` "file:///etc/passwd" does not begin with http:// or https://
                ! gone (the user's settings): the variable NOPE of `${NOPE}` is not set
                ! none (the user's settings): it has neither a `command` nor a `url`
                ! odd (the user's settings): it cannot be read: data did not match any variant of untagged enum McpCommand
            "#]],
        );
    }

    #[test]
    fn a_projects_after_the_users() {
        check(
            json!({ "servers": { "a": { "command": "mine" } } }),
            &[
                (
                    ".mcp.json",
                    r#"{ "mcpServers": { "a": { "command": "theirs" },
                        "p": { "command": "x", "args": ["${workspaceFolder}/s", "${TOKEN:-}"], "trusted": true },
                        "t": { "command": "x", "env": { "T": "${TOKEN}" } } } }"#,
                ),
                (
                    ".vscode/mcp.json",
                    r#"{ "inputs": [], "servers": { "v": { "type": "http", "url": "https://x.org" } } }"#,
                ),
                (".cursor/mcp.json", "{"),
            ],
            &expect![[r#"
                a (the user's settings): mine -> mine [], 30s, false, true
                p (/w/.mcp.json): x ${workspaceFolder}/s ${TOKEN:-} -> x ["/w/s", ""], 30s, false, true
                v (/w/.vscode/mcp.json): https://x.org -> https://x.org, 30s, false, true
                ! a (/w/.mcp.json): there is a server of this name already
                ! t (/w/.mcp.json): the variable TOKEN is not for projects
                ! - (/w/.cursor/mcp.json): it is no JSON: EOF while parsing an object at line 1 column 1
            "#]],
        );
        check(json!({ "project": false }), &[(".mcp.json", "{")], &expect![[""]]);
        check(
            json!({}),
            &[(".mcp.json", "{}"), (".vscode/mcp.json", r#"{"servers": 1}"#)],
            &expect![[r"
                ! - (/w/.mcp.json): it has neither `mcpServers` nor `servers`
                ! - (/w/.vscode/mcp.json): its `servers` is no object
            "]],
        );
    }
}
