//! What the front knows, and everything that changes by a notification: at once, in order, without waiting.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio_util::task::TaskTracker;
use tracing::{debug, info, warn};

use crate::editor::{FileChangeKind, FileChanged, Origin};
use crate::workspace::documents::Counting;
use crate::workspace::{Key, Roots, Snapshot, paths};

use super::ServeOptions;
use super::convert::{self, Client, TrustedFolders};
use super::lifecycle::{Gone, Parent};
use super::messages::Reading;
use super::outbox::{Given, Outbox};
use super::protocol;
use super::rooms::Rooms;
use super::settings::{Layers, Scope, Watched};
use super::sync::Asked;

/// How far the conversation with the editor has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Phase {
    /// Before `initialize`.
    #[default]
    Fresh,
    /// Open for everything.
    Open,
    /// After `shutdown`.
    ShutDown,
}

/// The state of one connection.
pub(super) struct Front {
    /// What stands behind it.
    pub rooms: Rooms,
    /// Our own messages to the editor.
    pub outbox: Outbox,
    /// The end.
    pub gone: Gone,
    /// The requests that run.
    pub tasks: TaskTracker,
    /// Comes before the names of our commands.
    pub command_prefix: String,
    repeatable: bool,
    /// The user's own settings file, where there is to be one.
    pub own: Option<Watched>,
    state: Mutex<State>,
    introduced: watch::Sender<Option<Introduced>>,
}

/// The editor has introduced itself.
#[derive(Debug, Clone, Copy)]
struct Introduced {
    parent: Option<Parent>,
}

#[derive(Default)]
pub(super) struct State {
    phase: Phase,
    /// The resyncs that have no answer yet.
    pub asked: Asked,
    /// The folders in the editor's order, by its spelling.
    pub folders: Vec<(String, PathBuf)>,
    /// Trusted folders that do not come from the editor's list of open ones.
    pub trusted: Vec<PathBuf>,
    /// Whether every folder that is open is trusted.
    pub trust_open: bool,
    /// What says which settings are in force.
    pub layers: Layers,
}

impl Front {
    /// A connection that has not begun.
    pub(super) fn new(rooms: Rooms, outbox: Outbox, gone: Gone, options: ServeOptions) -> Front {
        let front = Front {
            rooms,
            outbox,
            gone,
            tasks: TaskTracker::new(),
            command_prefix: options.command_prefix,
            repeatable: options.repeatable,
            own: options.own_file.map(Watched::new),
            state: Mutex::default(),
            introduced: watch::Sender::new(None),
        };
        for folder in &options.trusted {
            front.set_trust(folder, true);
        }
        front.state().trusted = options.trusted;
        front
    }

    /// Waits until the editor has introduced itself; gives its process, if it can be watched.
    pub(super) async fn introduced(&self) -> Option<Parent> {
        let mut introduced = self.introduced.subscribe();
        // The sender is ours, so that this cannot fail.
        let introduced = introduced.wait_for(Option::is_some).await.ok().and_then(|introduced| *introduced);
        introduced.and_then(|introduced| introduced.parent)
    }

    /// How far the conversation is.
    pub(super) fn phase(&self) -> Phase {
        self.state().phase
    }

    /// `initialize`: everything that later messages depend on is in place when this returns.
    pub(super) fn initialize(&self, params: &Value) {
        if self.phase() != Phase::Fresh {
            return;
        }
        let client = Client::read(params);
        let parent = Parent::see(client.process_id);
        info!(name = client.name, encoding = ?client.encoding, "an editor");
        let workspace = &self.rooms.workspace;
        let counting = Counting { encoding: client.encoding, breaks: client.abilities.line_breaks };
        workspace.documents.count_as(counting);
        self.outbox.met(client.clone());
        {
            let mut state = self.state();
            state.phase = Phase::Open;
            state.trust_open = client.trusted == TrustedFolders::All;
            if let TrustedFolders::Listed(uris) = &client.trusted {
                let folders: Vec<PathBuf> = uris.iter().filter_map(|uri| self.folder(uri)).collect();
                for folder in &folders {
                    self.set_trust(folder, true);
                }
                state.trusted.extend(folders);
            }
        }
        self.change_folders(&client.folders, &[]);
        if client.options.is_object() {
            self.configure(&client.options, Scope::User);
        }
        self.rooms.context.met(client.name.as_deref());
        self.introduced.send_replace(Some(Introduced { parent }));
    }

    /// The editor sent `shutdown`.
    pub(super) fn shut_down(&self) {
        let mut state = self.state();
        if state.phase == Phase::Open {
            state.phase = Phase::ShutDown;
            self.gone.shutdown();
        }
    }

    /// Applies a notification. Nothing it may contain does any harm; what cannot be read is told to the log. Answers
    /// whether the method is one of these. How it was read matters only where a text is kept.
    pub(super) fn notified(self: &Arc<Self>, method: &str, params: Value, reading: Reading) -> bool {
        match method {
            "textDocument/didOpen" => self.when_open(method, || self.opened(&params, reading)),
            "textDocument/didChange" => self.when_open(method, || self.changed(&params, reading)),
            "textDocument/didSave" => self.when_open(method, || {
                self.saved(&params, reading);
                let uri = params["textDocument"]["uri"].as_str().unwrap_or_default();
                Arc::clone(&self.rooms.calls).file_changed(uri);
            }),
            "textDocument/didClose" => self.when_open(method, || self.closed(&params)),
            "workspace/didChangeConfiguration" => self.reconfigured(&params),
            "workspace/didChangeWorkspaceFolders" => {
                let (added, removed) = convert::changed_folders(&params);
                self.change_folders(&added, &removed);
            }
            "workspace/didChangeWatchedFiles" => self.files_changed(&params),
            protocol::DID_CHANGE_DIAGNOSTICS => {
                self.when_read(method, params, |read| self.rooms.sources.forwarded(read));
            }
            protocol::DID_CHANGE_DIAGNOSTIC_SOURCES => {
                self.when_read(method, params, |read: protocol::DidChangeDiagnosticSourcesParams| {
                    self.rooms.sources.editor_sources(&read.uri, read.sources);
                });
            }
            protocol::DIAGNOSTIC_PROGRESS => {
                self.when_read(method, params, |read: protocol::DiagnosticProgressParams| {
                    // Numbers and strings are different tokens: as JSON they stay so.
                    self.rooms.sources.progress(&read.source_id, &read.token.to_string(), read.kind);
                });
            }
            protocol::TOOL_INPUT => self.when_read(method, params, |read| self.rooms.calls.tool_input(read)),
            protocol::DID_CHANGE_CONTEXT => self.when_read(method, params, |read| self.rooms.context.set(read)),
            protocol::DID_CHANGE_TRUST => self.when_read(method, params, |read| self.trust_changed(&read)),
            _ => return false,
        }
        true
    }

    /// An open document, by the editor's spelling.
    pub(super) fn open_document(&self, uri: &str) -> Option<Snapshot> {
        let documents = &self.rooms.workspace.documents;
        documents.get(&documents.key_of(uri)?)
    }

    fn when_read<T: DeserializeOwned>(&self, method: &str, params: Value, apply: impl FnOnce(T)) {
        self.when_open(method, || match serde_json::from_value(params) {
            Ok(read) => apply(read),
            Err(fault) => warn!(method, %fault, "a notification that cannot be read"),
        });
    }

    fn when_open(&self, method: &str, apply: impl FnOnce()) {
        if self.phase() == Phase::Open {
            apply();
        } else {
            warn!(method, "a notification out of its time");
        }
    }

    fn change_folders(&self, added: &[String], removed: &[String]) {
        let folders = {
            let mut state = self.state();
            for uri in removed {
                let Some(at) = state.folders.iter().position(|(spelled, _)| spelled == uri) else { continue };
                let (_, folder) = state.folders.remove(at);
                if state.trust_open && !state.named(&folder) {
                    self.forget_trust(&folder);
                }
            }
            for uri in added {
                let Some(folder) = self.folder(uri) else {
                    warn!(uri, "a workspace folder that is not a folder here");
                    continue;
                };
                if state.folders.iter().any(|(_, known)| *known == folder) {
                    continue;
                }
                if state.trust_open {
                    self.set_trust(&folder, true);
                }
                state.folders.push((uri.clone(), folder));
            }
            state.folders.iter().map(|(_, folder)| folder.clone()).collect()
        };
        self.rooms.workspace.set_roots(Roots { folders });
        self.rooms.workspace.recover();
        self.tell_sources();
    }

    fn files_changed(&self, params: &Value) {
        self.rooms.calls.world_changed();
        for (uri, kind) in convert::watched_files(params) {
            let kind = match kind {
                1 => FileChangeKind::Created,
                2 => FileChangeKind::Changed,
                3 => FileChangeKind::Deleted,
                other => {
                    warn!(uri, other, "an unknown kind of file change");
                    continue;
                }
            };
            Arc::clone(&self.rooms.calls).file_changed(&uri);
            if uri.ends_with("mcp.json") {
                self.rooms.calls.configured();
            }
            self.rooms.sources.file_changed(&FileChanged { uri, kind, by: Origin::User });
        }
    }

    fn trust_changed(&self, change: &protocol::DidChangeTrustParams) {
        let Some(folder) = self.folder(&change.root) else {
            warn!(root = change.root, "trust in something that is not a folder here");
            return;
        };
        let mut state = self.state();
        state.trusted.retain(|known| *known != folder);
        state.layers.said(&folder, change.trusted);
        if change.trusted {
            state.trusted.push(folder.clone());
        }
        self.set_trust(&folder, change.trusted);
    }

    fn reconfigured(self: &Arc<Self>, params: &Value) {
        self.look_again();
        let settings = &params["settings"]["ropewalk"];
        if settings.is_object() {
            self.configure(settings, Scope::User);
        } else if self.outbox.client().configuration {
            let front = Arc::clone(self);
            let question = json!({ "items": [{ "section": "ropewalk" }] });
            let then = move |answer: Result<Given, _>| match answer {
                Ok(Given { value, .. }) if value[0].is_object() => front.configure(&value[0], Scope::Merged),
                Ok(Given { value: answer, .. }) => debug!(%answer, "the editor has no settings for us"),
                Err(error) => warn!(%error, "no answer to workspace/configuration"),
            };
            self.outbox.ask_inline("workspace/configuration", question, Box::new(then));
        }
    }

    /// What descriptions of tools tell of folders, trust and settings is looked at anew.
    fn describe_again(&self) {
        Arc::clone(&self.rooms.calls).look_again();
    }

    /// The language servers hear of new settings and folders, and so do descriptions of tools.
    pub(super) fn tell_sources(&self) {
        self.describe_again();
        let workspace = &self.rooms.workspace;
        self.rooms.sources.configure(workspace.settings(), &workspace.roots(), self.repeatable);
        self.rooms.context.configured();
        self.rooms.calls.configured();
    }

    /// Trusts a folder, or no longer.
    pub(super) fn set_trust(&self, folder: &Path, trusted: bool) {
        info!(folder = %folder.display(), trusted, "trust");
        self.rooms.trust.set(folder, trusted);
        self.rooms.sources.trust_changed();
        self.describe_again();
        if !trusted {
            self.rooms.calls.trust_ended(folder);
        }
        self.rooms.calls.configured();
    }

    /// What a folder was trusted for is so no more.
    pub(super) fn forget_trust(&self, folder: &Path) {
        info!(folder = %folder.display(), "trust ends");
        self.rooms.trust.forget(folder);
        self.rooms.sources.trust_changed();
        self.describe_again();
        self.rooms.calls.trust_ended(folder);
        self.rooms.calls.configured();
    }

    fn folder(&self, uri: &str) -> Option<PathBuf> {
        match paths::key_of_uri(&*self.rooms.workspace.ports.disk, uri) {
            Some(Key::File(path)) => Some(path),
            _ => None,
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
