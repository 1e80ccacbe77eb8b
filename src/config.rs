//! Settings as plain structs with their defaults. What the editor sends is checked key by key: a wrong value is told and
//! its default used, never the whole dropped.

mod agents;
mod bridge;
mod formatter;
mod hooks;
mod json;
mod mcp;
mod output;
mod own;
mod parse;
mod permissions;
mod scope;
mod shell;
mod skills;
mod web;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use agents::{AgentSettings, PromptOn};
pub use bridge::BridgeSettings;
pub use formatter::{FormatterMode, FormatterSettings};
pub use hooks::{Hook, HookSettings, OnFailure};
pub use json::{Once, object};
pub use mcp::{McpCommand, McpServer, McpSettings, McpTools};
pub use own::{Own, OwnFile, OwnWatch};
pub use parse::Remark;
pub use permissions::{GuardSettings, Mode, PermissionSettings};
pub use scope::{USER_ONLY, UserOnly};
pub use shell::ShellSettings;
pub use skills::SkillSettings;
pub use web::{SearchEngine, WebSearchSettings, WebSettings};

/// All settings. Durations are in milliseconds, sizes in bytes.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Settings {
    /// Agents that are commands, by name.
    pub agents: BTreeMap<String, AgentSettings>,
    /// How edits of open documents are confirmed.
    pub commit: CommitSettings,
    /// What `write` does with a file it never saw, or that changed since.
    pub freshness: Freshness,
    /// What is done with a change after which a file that followed its language's grammar no longer does.
    pub syntax_gate: SyntaxGate,
    /// How files are read.
    pub read: ReadSettings,
    /// Diagnostics after edits.
    pub diagnostics: DiagnosticsSettings,
    /// The formatter after changes.
    pub formatter: FormatterSettings,
    /// How much a model is shown.
    pub output: OutputSettings,
    /// How many calls run at once.
    pub parallel: ParallelSettings,
    /// What may be done without asking.
    pub permissions: PermissionSettings,
    /// Guards against going round in circles.
    pub guards: GuardSettings,
    /// Commands that run before and after calls.
    pub hooks: HookSettings,
    /// MCP servers.
    pub mcp: McpSettings,
    /// Which files searches see.
    pub search: SearchSettings,
    /// Commands that agents run.
    pub bash: ShellSettings,
    /// Other programs that join this sidecar.
    pub bridge: BridgeSettings,
    /// Whether documents with unsaved text are saved, by the editor, before `bash` runs a command.
    pub save_before_bash: bool,
    /// Skills that models may load.
    pub skills: SkillSettings,
    /// The web.
    pub web: WebSettings,
}

impl Settings {
    /// These settings as an editor gives them that has merged a project's into the user's: nothing is taken from them that
    /// would run something, let something pass, or take a guard away that the user has.
    #[must_use]
    pub fn within(self, user: &Settings) -> Settings {
        let Settings { mut diagnostics, mut search, .. } = self;
        if user.diagnostics.own_servers == OwnServers::Off {
            diagnostics.own_servers = OwnServers::Off;
        }
        diagnostics.max_per_file = diagnostics.max_per_file.min(user.diagnostics.max_per_file);
        diagnostics.max_servers = capped(diagnostics.max_servers, user.diagnostics.max_servers);
        diagnostics.server_memory_mib = capped(diagnostics.server_memory_mib, user.diagnostics.server_memory_mib);
        search.secrets &= user.search.secrets;
        let on = |merged: bool, user: bool| merged || user;
        let guards = GuardSettings {
            repeats: on(self.guards.repeats, user.guards.repeats),
            failures: on(self.guards.failures, user.guards.failures),
            undone: on(self.guards.undone, user.guards.undone),
        };
        search.time_limit_ms = search.time_limit_ms.min(user.search.time_limit_ms);
        let mut within = Settings {
            freshness: self.freshness.stricter(user.freshness),
            syntax_gate: self.syntax_gate.stricter(user.syntax_gate),
            formatter: self.formatter.within(&user.formatter),
            mcp: self.mcp.within(&user.mcp),
            output: self.output.within(&user.output),
            parallel: self.parallel.within(&user.parallel),
            bash: self.bash.within(&user.bash),
            skills: self.skills.within(&user.skills),
            web: self.web.within(&user.web),
            bridge: self.bridge.within(&user.bridge),
            permissions: self.permissions.within(&user.permissions),
            diagnostics,
            search,
            guards,
            ..self
        };
        within.take_users_own(user);
        within
    }
}

/// The lower of two limits of which 0 is none at all.
fn capped<T: Ord + Default>(one: T, other: T) -> T {
    let none = T::default();
    if one == none || other == none { one.max(other) } else { one.min(other) }
}

/// Which files `ls`, `glob`, `grep` and `file_search` see. An open document is always seen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own for the person who sets it")]
pub struct SearchSettings {
    /// Whether hidden files (names that begin with a dot) are seen. `.git` never is.
    pub hidden: bool,
    /// Whether what `.gitignore`, git's excludes and `.ignore` name is left out.
    pub respect_ignore_files: bool,
    /// Whether git's rules hold only inside git repositories.
    pub require_git: bool,
    /// Whether symbolic links are followed, to places inside the workspace folders only.
    pub follow_links: bool,
    /// Whether the text of files that may hold secrets is searched too when they are not named.
    pub secrets: bool,
    /// Left out besides: globs as in `.gitignore`, relative to the workspace folder. What a call names itself is searched.
    pub exclude: Vec<String>,
    /// Threads of one search; 0: as many as the machine runs at once, at most 8.
    pub threads: usize,
    /// A search ends after so long (ms) with what it has found until then.
    pub time_limit_ms: u64,
}

impl Default for SearchSettings {
    fn default() -> Self {
        SearchSettings {
            hidden: false,
            respect_ignore_files: true,
            require_git: true,
            follow_links: false,
            secrets: false,
            exclude: Vec::new(),
            threads: 0,
            time_limit_ms: 20_000,
        }
    }
}

/// How edits of open documents are confirmed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CommitSettings {
    /// How long the editor may take to show an edit it was sent (ms).
    pub echo_ms: u64,
    /// How often an edit is computed anew because the text moved on.
    pub rebases: u32,
}

impl Default for CommitSettings {
    fn default() -> Self {
        CommitSettings { echo_ms: 2000, rebases: 3 }
    }
}

/// What `write` does with an existing file that this session never saw, or that changed since.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Freshness {
    /// Refuses, and says how to go on.
    #[default]
    Refuse,
    /// Writes, and says so.
    Warn,
    /// Writes.
    Off,
}

impl Freshness {
    fn stricter(self, other: Freshness) -> Freshness {
        match (self, other) {
            (Freshness::Refuse, _) | (_, Freshness::Refuse) => Freshness::Refuse,
            (Freshness::Warn, _) | (_, Freshness::Warn) => Freshness::Warn,
            _ => Freshness::Off,
        }
    }
}

/// What is done with a change after which a text that had no syntax errors has some, whichever tool makes it. New and
/// empty files pass, and so do files that were broken before or whose language has no grammar here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SyntaxGate {
    /// It is refused before anything is changed.
    Refuse,
    /// It is made, and the answer tells the error (once: where the diagnostics tell it, nothing else does).
    #[default]
    Warn,
    /// It is made.
    Off,
}

impl SyntaxGate {
    fn stricter(self, other: SyntaxGate) -> SyntaxGate {
        match (self, other) {
            (SyntaxGate::Refuse, _) | (_, SyntaxGate::Refuse) => SyntaxGate::Refuse,
            (SyntaxGate::Warn, _) | (_, SyntaxGate::Warn) => SyntaxGate::Warn,
            _ => SyntaxGate::Off,
        }
    }
}

/// How files are read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ReadSettings {
    /// Whether lines that an earlier call of the session showed, and that are unchanged and not forgotten, are not shown
    /// again but said to be so.
    pub unchanged: bool,
}

impl Default for ReadSettings {
    fn default() -> Self {
        ReadSettings { unchanged: true }
    }
}

/// Diagnostics after edits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct DiagnosticsSettings {
    /// Whether we start language servers of our own.
    pub own_servers: OwnServers,
    /// Wait for a server that has answered for this document before (ms).
    pub known_ms: u64,
    /// Wait for a warm server on a new document (ms).
    pub new_ms: u64,
    /// Wait for a server that is still starting (ms).
    pub cold_ms: u64,
    /// Quiet time after an unversioned push, until it is learned (ms).
    pub quiet_ms: u64,
    /// At most so many diagnostics a file are told.
    pub max_per_file: usize,
    /// A server whose documents no tool looked at, changed or asked about for so long is ended (ms); 0: never.
    pub server_idle_ms: u64,
    /// The most resident memory one server may take, with all that it started (MiB); above it is started anew. 0: any.
    pub server_memory_mib: u64,
    /// So many servers run at once; for one more, that which was not used for longest is ended. 0: any number.
    pub max_servers: usize,
    /// Servers by name: overrides of the table, and servers of the user's own.
    pub servers: BTreeMap<String, ServerSettings>,
}

impl Default for DiagnosticsSettings {
    fn default() -> Self {
        DiagnosticsSettings {
            own_servers: OwnServers::Auto,
            known_ms: 700,
            new_ms: 3000,
            cold_ms: 8000,
            quiet_ms: 250,
            max_per_file: 20,
            server_idle_ms: 30 * 60 * 1000,
            server_memory_mib: 4096,
            max_servers: 16,
            servers: BTreeMap::new(),
        }
    }
}

/// Whether we start language servers of our own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OwnServers {
    /// In trusted roots (or, in others, those that run nothing of the project), where the editor has none for a language.
    #[default]
    Auto,
    /// Also beside the editor's.
    On,
    /// Never.
    Off,
}

/// One language server.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ServerSettings {
    /// Program and arguments; empty: as in the table.
    pub command: Vec<String>,
    /// Language ids it serves; empty: as in the table.
    pub languages: Vec<String>,
    /// `false`: never start it.
    pub enabled: Option<bool>,
    /// Environment variables it gets on top.
    pub env: BTreeMap<String, String>,
    /// Its `initializationOptions`.
    pub initialization_options: Option<serde_json::Value>,
    /// What it gets when it asks for its configuration.
    pub settings: Option<serde_json::Value>,
    /// How long to wait for it after an edit (ms), whatever its state.
    pub deadline_ms: Option<u64>,
    /// Files that mark a folder as its root; empty: as in the table.
    pub markers: Vec<String>,
    /// The most resident memory it may take, with all that it started (MiB), instead of what holds for all; 0: any.
    pub memory_mib: Option<u64>,
}

/// How much a model is shown of a call's output. Bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct OutputSettings {
    /// At most so much of one output.
    pub max_bytes: usize,
    /// Of that, from its beginning.
    pub head_bytes: usize,
    /// Of that, from its end.
    pub tail_bytes: usize,
    /// At most so much of one output goes to a front end.
    pub display_bytes: usize,
    /// At most so much of all outputs of a session is kept in memory; one alone may be longer.
    pub kept_bytes: usize,
    /// At most so much of one output goes to the disk as it comes; of a longer one the middle is dropped, and that is told. At
    /// least 16 MiB.
    pub spill_bytes: usize,
    /// At most so much of all outputs of a session is kept on the disk; one alone may be longer.
    pub disk_bytes: usize,
    /// Whether reports and searches that are too long are first made shorter by what is known of their kind: equal lines
    /// in a row become one, and of a report the failures and both ends stay.
    pub compress: bool,
}

impl Default for OutputSettings {
    fn default() -> Self {
        OutputSettings {
            max_bytes: 30_000,
            head_bytes: 22_000,
            tail_bytes: 8_000,
            display_bytes: 500_000,
            kept_bytes: 16 * 1024 * 1024,
            spill_bytes: 1 << 30,
            disk_bytes: 2 << 30,
            compress: false,
        }
    }
}

/// How many calls run at once. Only calls that change nothing and are neighbours in their session ever do; the first of
/// these always runs, whatever else does, so that no session waits for another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ParallelSettings {
    /// At most so many of one session; 0 is taken for 1.
    pub per_session: usize,
    /// At most so many of all sessions together run beside the first of their session.
    pub beside: usize,
}

impl ParallelSettings {
    /// These settings where nobody can tell the user's from a project's: no limit is higher than the user's.
    #[must_use]
    pub fn within(&self, user: &ParallelSettings) -> ParallelSettings {
        ParallelSettings { per_session: self.per_session.min(user.per_session), beside: self.beside.min(user.beside) }
    }
}

impl Default for ParallelSettings {
    fn default() -> Self {
        ParallelSettings { per_session: 8, beside: 32 }
    }
}
