//! The language servers we know, as data; and how settings change that. Pure.

mod names;
mod table;

use std::collections::BTreeMap;

use serde_json::Value;

pub use self::names::{language, language_of};
use self::table::KNOWN;
use crate::config::DiagnosticsSettings;

/// A server as it may be started: a row of the table with the settings applied, or one of the user's own.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "they are independent facts of a table")]
pub struct Server {
    /// Its name, which is also the id of its diagnostics.
    pub name: String,
    /// Two servers of one kind never serve the same root.
    pub kind: String,
    /// Program and arguments.
    pub command: Vec<String>,
    /// Whether the command comes from the settings.
    pub configured: bool,
    /// Language ids it serves.
    pub languages: Vec<String>,
    /// Files that mark a root.
    pub markers: Vec<String>,
    /// Without a marker in the folder it is of no use.
    pub only_with_marker: bool,
    /// It runs the project's code, or does outside of the project what its files say: it needs a trusted folder.
    pub runs_project_code: bool,
    /// One process serves several roots, as workspace folders, if it says that it can.
    pub shares_process: bool,
    /// It knows documents that are files only.
    pub only_files: bool,
    /// The least major version its `--version` must print.
    pub least_major: Option<u32>,
    /// It is typescript-language-server, which can be asked in a way of its own.
    pub tsserver: bool,
    /// It tells by `experimental/serverStatus` when it has loaded the project.
    pub tells_status: bool,
    /// It also runs a check that reads the disk when a file is saved; this is in the token of that check's progress.
    pub checks_on_save: Option<String>,
    /// Variables on top of the scrubbed environment.
    pub env: BTreeMap<String, String>,
    /// `initializationOptions`, with placeholders.
    pub options: Value,
    /// Its configuration by section, with placeholders.
    pub settings: Value,
    /// Settings on top in a folder that is not trusted; null: none.
    pub untrusted: Value,
    /// Answers to requests of its own invention.
    pub answers: BTreeMap<String, Value>,
    /// How long to wait for it after an edit (ms), whatever its state.
    pub deadline_ms: Option<u64>,
    /// The most resident memory it may take with all that it started (bytes); `None`: any.
    pub max_memory: Option<u64>,
    /// Programs that do its checking, without which it is of no use.
    pub needs: Vec<String>,
    /// How to get it.
    pub get: String,
}

/// All servers that may be started, in the order of preference within each kind: the user's own, then the table.
pub fn servers(settings: &DiagnosticsSettings) -> Vec<Server> {
    let own = settings.servers.iter().filter(|(name, _)| KNOWN.iter().all(|known| known.name != name.as_str()));
    let own = own.filter(|(_, of)| !of.command.is_empty() && !of.languages.is_empty()).map(|(name, _)| Server {
        name: name.clone(),
        kind: name.clone(),
        command: Vec::new(),
        configured: true,
        languages: Vec::new(),
        markers: Vec::new(),
        only_with_marker: false,
        // Nothing is known of it, so it is taken for one that does.
        runs_project_code: true,
        shares_process: false,
        only_files: false,
        least_major: None,
        tsserver: false,
        tells_status: false,
        checks_on_save: None,
        env: BTreeMap::new(),
        options: Value::Null,
        settings: Value::Null,
        untrusted: Value::Null,
        answers: BTreeMap::new(),
        deadline_ms: None,
        max_memory: None,
        needs: Vec::new(),
        get: String::from("it is configured as `diagnostics.servers`; its program must be installed"),
    });
    let mut all: Vec<Server> = own.chain(KNOWN.iter().map(table::Known::server)).collect();
    let bytes = |mib: u64| (mib > 0).then(|| mib.saturating_mul(1024 * 1024));
    all.retain_mut(|server| {
        server.max_memory = bytes(settings.server_memory_mib);
        let Some(given) = settings.servers.get(&server.name) else { return true };
        if !given.command.is_empty() {
            server.command.clone_from(&given.command);
            server.configured = true;
        }
        if !given.languages.is_empty() {
            server.languages = given.languages.iter().map(|id| language(id).to_owned()).collect();
        }
        if !given.markers.is_empty() {
            server.markers.clone_from(&given.markers);
        }
        if let Some(mib) = given.memory_mib {
            server.max_memory = bytes(mib);
        }
        server.env.clone_from(&given.env);
        server.deadline_ms = given.deadline_ms;
        if let Some(options) = &given.initialization_options {
            server.options = options.clone();
        }
        if let Some(settings) = &given.settings {
            server.settings = settings.clone();
        }
        given.enabled != Some(false)
    });
    all
}

impl Server {
    /// The server as it may run in a folder that is not trusted, given an interpreter outside of it; `None`: it may not.
    pub fn restricted(&self, python: Option<&str>) -> Option<Server> {
        if self.runs_project_code {
            return None;
        }
        let mut server = self.clone();
        let Value::Object(pinned) = replaced(&self.untrusted, "${python}", python)? else { return Some(server) };
        if !server.settings.is_object() {
            server.settings = Value::Object(serde_json::Map::new());
        }
        for (section, pinned) in pinned {
            match (&mut server.settings[&section], pinned) {
                (Value::Object(settings), Value::Object(pinned)) => settings.extend(pinned),
                (place, pinned) => *place = pinned,
            }
        }
        Some(server)
    }
}

/// `value` with `name` in its strings replaced; `None` when it occurs and there is nothing to put there.
fn replaced(value: &Value, name: &str, by: Option<&str>) -> Option<Value> {
    Some(match value {
        Value::String(text) if text.contains(name) => Value::String(text.replace(name, by?)),
        Value::Object(map) => Value::Object(
            map.iter()
                .map(|(key, value)| Some((key.clone(), replaced(value, name, by)?)))
                .collect::<Option<serde_json::Map<_, _>>>()?,
        ),
        Value::Array(list) => {
            Value::Array(list.iter().map(|value| replaced(value, name, by)).collect::<Option<Vec<_>>>()?)
        }
        other => other.clone(),
    })
}

/// `value` with `${root}` and `${rootUri}` in its strings replaced.
pub fn filled(value: &Value, root: &str, root_uri: &str) -> Value {
    match value {
        Value::String(text) => Value::String(text.replace("${root}", root).replace("${rootUri}", root_uri)),
        Value::Array(items) => items.iter().map(|item| filled(item, root, root_uri)).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(name, field)| (name.clone(), filled(field, root, root_uri))).collect()
        }
        other => other.clone(),
    }
}

/// What a server gets for one section of its configuration: the section itself if it is there, else what lies at its
/// dotted path, else (for no section) everything, else null.
pub fn section(settings: &Value, section: Option<&str>) -> Value {
    let name = section.unwrap_or_default();
    if let Some(found) = settings.get(name) {
        return found.clone();
    }
    if name.is_empty() {
        return settings.clone();
    }
    name.split('.').try_fold(settings, |at, part| at.get(part)).cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ServerSettings;
    use serde_json::json;

    #[test]
    fn in_an_untrusted_folder_no_interpreter_of_the_project_is_asked() {
        let all = servers(&DiagnosticsSettings::default());
        let named = |name: &str| all.iter().find(|server| server.name == name).unwrap();
        let pinned = named("basedpyright").restricted(Some("/usr/bin/python3")).unwrap();
        assert_eq!(pinned.settings["python"], json!({ "pythonPath": "/usr/bin/python3" }));
        assert_eq!(pinned.settings["python.analysis"], named("basedpyright").settings["python.analysis"]);
        // Without an interpreter to pin, and where pinning does not help, it does not start.
        assert_eq!(named("pyright").restricted(None), None);
        assert_eq!(named("rust-analyzer").restricted(Some("/usr/bin/python3")), None);
        assert_eq!(named("ruff").restricted(None).as_ref(), Some(named("ruff")));
    }

    #[test]
    fn settings_override_add_and_remove() {
        let mut settings = DiagnosticsSettings::default();
        let given = |command: &[&str], languages: &[&str]| ServerSettings {
            command: command.iter().map(|word| (*word).to_owned()).collect(),
            languages: languages.iter().map(|word| (*word).to_owned()).collect(),
            ..ServerSettings::default()
        };
        settings.servers.insert("ruff".into(), given(&["/opt/ruff", "server"], &[]));
        settings.servers.insert("pyright".into(), ServerSettings { enabled: Some(false), ..Default::default() });
        settings.servers.insert("mine".into(), given(&["mine"], &["sh", "toml"]));
        settings.servers.insert(
            "gopls".into(),
            ServerSettings { markers: vec!["BUILD".into()], memory_mib: Some(0), ..Default::default() },
        );
        settings.servers.insert("broken".into(), given(&[], &["toml"]));
        let servers = servers(&settings);
        let named = |name: &str| servers.iter().find(|server| server.name == name);
        assert_eq!(named("ruff").unwrap().command, ["/opt/ruff", "server"]);
        assert_eq!(named("ruff").unwrap().languages, ["python"]);
        assert!(named("pyright").is_none() && named("broken").is_none());
        assert_eq!(named("mine").unwrap().languages, ["shellscript", "toml"]);
        assert!(named("mine").unwrap().runs_project_code, "nothing is known of it");
        assert_eq!(named("gopls").unwrap().markers, ["BUILD"]);
        assert_eq!((named("gopls").unwrap().max_memory, named("ruff").unwrap().max_memory), (None, Some(4 << 30)));
        assert_eq!(servers.len(), KNOWN.len());
    }

    #[test]
    fn sections_are_found_by_name_path_or_as_a_whole() {
        let settings = json!({ "python.analysis": { "mode": 1 }, "a": { "b": 2 } });
        assert_eq!(section(&settings, Some("python.analysis")), json!({ "mode": 1 }));
        assert_eq!(section(&settings, Some("a.b")), json!(2));
        assert_eq!(section(&settings, Some("a.c")), Value::Null);
        assert_eq!(section(&settings, None), settings);
        assert_eq!(section(&json!({ "": { "validate": "on" } }), Some("")), json!({ "validate": "on" }));
    }

    #[test]
    fn placeholders_are_filled_wherever_they_stand() {
        let value = json!({ "a": ["${rootUri}", 1], "b": { "c": "${root}/x" } });
        assert_eq!(filled(&value, "/w", "file:///w"), json!({ "a": ["file:///w", 1], "b": { "c": "/w/x" } }));
    }
}
