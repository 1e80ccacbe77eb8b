//! Our own servers: which documents they serve, and what becomes of them.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::documents::Place;
use super::workspace::AllFiles;
use super::{Census, Effect, Finding, Hub, ServerId, SourceKey, Work};
use crate::editor::{FileChangeKind, FileChanged};
use crate::languages::client::{Command, Root, STATUS, ServerEvent};
use crate::languages::known::Server;
use crate::languages::settle::Habits;
use crate::languages::sources::{ProgressKind, SourceName};
use crate::languages::supervisor::{Restarts, uri_of};
use crate::text::Encoding;
use crate::workspace::Key;

/// After so long it is looked again for a server that was not there.
const LOOK_AGAIN: Duration = Duration::from_secs(30);

/// How long a server that nobody needs any more may take to go.
const GRACE: Duration = Duration::from_secs(2);

/// How a server is doing.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Phase {
    /// It was started and is not initialised yet.
    Starting,
    /// It serves.
    Ready,
    /// It ended by itself.
    Down {
        why: String,
        stderr: String,
        /// When it is started again; `None`: it ended too often.
        retry: Option<Instant>,
    },
    /// We ended it.
    Stopped,
}

/// A server that was started.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "they are independent facts")]
pub(super) struct Running {
    pub(super) id: ServerId,
    pub(super) server: Arc<Server>,
    command: Vec<String>,
    root: Option<Root>,
    pub(super) phase: Phase,
    /// Counts its starts, so that words of an earlier process are not taken for its own.
    run: u32,
    restarts: Restarts,
    pub(super) habits: Habits,
    pub(super) on_save: Habits,
    pub(super) work: Work,
    pub(super) encoding: Encoding,
    /// It takes changes of open documents; otherwise it knows only what is on the disk.
    pub(super) changes: bool,
    /// It can be asked.
    pub(super) pulls: bool,
    /// It publishes although it can be asked.
    pub(super) pushes_too: bool,
    /// It has said something since it was started.
    pub(super) spoke: bool,
    /// What it says of all files.
    pub(super) all_files: AllFiles,
    /// What it last published of, and when.
    pub(super) published: Option<(String, Instant)>,
    docs: BTreeSet<Key>,
    /// Documents that it answered for while it was loading the project; they are asked about again.
    pub(super) again: BTreeSet<Key>,
}

impl Running {
    pub(super) fn census(&self) -> Census {
        let state = match &self.phase {
            Phase::Starting => "starting".to_owned(),
            Phase::Ready => "running".to_owned(),
            Phase::Down { why, .. } => why.clone(),
            Phase::Stopped => "stopped".to_owned(),
        };
        Census { name: self.server.name.clone(), root: self.root_path(), state }
    }

    pub(super) fn root_path(&self) -> Option<PathBuf> {
        self.root.as_ref().map(|root| root.path.clone())
    }

    fn up(&self) -> bool {
        matches!(self.phase, Phase::Starting | Phase::Ready)
    }
}

/// How a server of ours knows a document.
fn server_uri(key: &Key) -> Option<String> {
    match key {
        Key::File(path) => uri_of(path),
        Key::Unnamed(uri) => Some(uri.clone()),
    }
}

impl Hub {
    pub(super) fn tell(&mut self, id: ServerId, command: Command) {
        if self.running.get(id).is_some_and(Running::up) {
            self.effects.push(Effect::Tell { id, command });
        }
    }

    /// Sees to it that a document has the servers it shall have, and no others.
    pub(super) fn serve(&mut self, key: &Key, now: Instant) {
        if !self.serves(key) {
            self.withdraw(key);
            return;
        }
        let folder = self.folder_of(key);
        let Some(doc) = self.docs.get_mut(key) else { return };
        let named = matches!(key, Key::Unnamed(_));
        let fits = |server: &&Arc<Server>| server.languages.contains(&doc.language) && !(named && server.only_files);
        let mut kinds: Vec<(String, Vec<Arc<Server>>)> = Vec::new();
        for server in self.table.iter().filter(fits) {
            match kinds.iter_mut().find(|(kind, _)| *kind == server.kind) {
                Some((_, candidates)) => candidates.push(Arc::clone(server)),
                None => kinds.push((server.kind.clone(), vec![Arc::clone(server)])),
            }
        }
        let mut again = Vec::new();
        for (kind, candidates) in kinds {
            let look = match doc.places.get(&kind) {
                None => true,
                Some(Place::Absent { since, .. }) => now - *since >= LOOK_AGAIN,
                Some(Place::At(id)) => {
                    again.push(*id);
                    false
                }
                Some(Place::Looking | Place::Untrusted { .. }) => false,
            };
            if look {
                doc.places.insert(kind.clone(), Place::Looking);
                self.effects.push(Effect::Find { key: key.clone(), kind, candidates, folder: folder.clone() });
            }
        }
        for id in again {
            let running = &mut self.running[id];
            let given_up = matches!(running.phase, Phase::Down { retry: None, .. });
            if given_up && running.restarts.forgiven(now) {
                running.restarts = Restarts::default();
                self.start(id);
            }
        }
    }

    /// The workspace folder a document is in: the innermost; the first for a document without a file.
    fn folder_of(&self, key: &Key) -> Option<PathBuf> {
        match key {
            Key::File(path) => {
                let around = self.folders.iter().filter(|folder| path.starts_with(folder));
                around.max_by_key(|folder| folder.components().count()).cloned()
            }
            Key::Unnamed(_) => self.folders.first().cloned(),
        }
    }

    /// Takes a document from all servers of ours.
    pub(super) fn withdraw(&mut self, key: &Key) {
        let Some(doc) = self.docs.get_mut(key) else { return };
        let ids: Vec<ServerId> = doc.servers().collect();
        doc.places.clear();
        doc.tracks.retain(|source, _| source.is_the_editors());
        for id in ids {
            self.tell(id, Command::Close(key.clone()));
            self.let_go(id, key);
        }
    }

    /// A server lost a document. Editing goes on elsewhere: it is kept, since starting is what takes long.
    pub(super) fn let_go(&mut self, id: ServerId, key: &Key) {
        if let Some(running) = self.running.get_mut(id) {
            running.docs.remove(key);
        }
    }

    /// A server was looked for.
    pub(super) fn found(&mut self, key: &Key, kind: String, finding: Finding, now: Instant) {
        let Some(doc) = self.docs.get_mut(key) else { return };
        if doc.places.get(&kind) != Some(&Place::Looking) {
            return;
        }
        let place = match finding {
            Finding::Untrusted { name } => Place::Untrusted { name },
            Finding::Absent { name, detail, missing } => Place::Absent { name, detail, missing, since: now },
            Finding::Found { server, command, root } => {
                // Whatever was found for another document of the same root serves this one too: never two of a kind.
                let same = |running: &&Running| {
                    running.server.kind == kind && running.root == root && running.phase != Phase::Stopped
                };
                let id = match self.running.iter().find(same) {
                    Some(running) => running.id,
                    None => self.add(server, command, root),
                };
                self.running[id].docs.insert(key.clone());
                if let Some(doc) = self.docs.get_mut(key) {
                    doc.places.insert(kind, Place::At(id));
                }
                self.open_at(id, key);
                self.ask_about_all(key, true);
                return;
            }
        };
        doc.places.insert(kind, place);
    }

    fn add(&mut self, server: Arc<Server>, command: Vec<String>, root: Option<Root>) -> ServerId {
        let id = self.running.len();
        let habits = Habits::new(self.quiet(), self.pinned);
        self.running.push(Running {
            id,
            server,
            command,
            root,
            phase: Phase::Stopped,
            run: 0,
            restarts: Restarts::default(),
            on_save: habits.clone(),
            habits,
            work: Work::default(),
            encoding: Encoding::default(),
            changes: true,
            pulls: false,
            pushes_too: false,
            spoke: false,
            all_files: AllFiles::default(),
            published: None,
            docs: BTreeSet::new(),
            again: BTreeSet::new(),
        });
        self.start(id);
        id
    }

    /// Starts a server, for the first time or again, and gives it its documents.
    fn start(&mut self, id: ServerId) {
        let running = &mut self.running[id];
        running.phase = Phase::Starting;
        running.run += 1;
        running.spoke = false;
        running.work = Work::default();
        running.all_files = AllFiles::default();
        self.effects.push(Effect::Start {
            id,
            run: running.run,
            server: Arc::clone(&running.server),
            command: running.command.clone(),
            root: running.root.clone(),
        });
        for key in running.docs.clone() {
            self.open_at(id, &key);
        }
    }

    fn open_at(&mut self, id: ServerId, key: &Key) {
        let (Some(doc), Some(uri)) = (self.docs.get(key), server_uri(key)) else { return };
        let now = doc.now();
        let (rev, text, language_id) = (now.rev, now.text.clone(), doc.language.clone());
        self.tell(id, Command::Open { key: key.clone(), uri, language_id, rev, text });
    }

    /// A server of ours said something.
    pub(super) fn server(&mut self, id: ServerId, run: u32, event: ServerEvent, now: Instant) {
        let Some(running) = self.running.get_mut(id).filter(|running| running.run == run) else { return };
        match event {
            ServerEvent::Ready { encoding, changes } => {
                if running.phase == Phase::Starting {
                    (running.phase, running.encoding, running.changes) = (Phase::Ready, encoding, changes);
                    if running.server.tells_status {
                        running.work.take(STATUS.to_owned(), true, now);
                    }
                }
            }
            ServerEvent::Pulls(pulls) => running.pulls = pulls,
            ServerEvent::Progress { token, begin } => {
                let begun = running.work.open.get(&token).copied();
                let check = running.server.checks_on_save.as_ref().is_some_and(|name| token.contains(name));
                running.work.take(token, begin, now);
                if let Some(begun) = begun.filter(|_| check && !begin) {
                    self.checked_the_disk(&SourceKey::OnSave(id), begun, now);
                }
                let running = &mut self.running[id];
                if !running.work.loading() {
                    for key in std::mem::take(&mut running.again) {
                        self.tell(id, Command::Pull(key));
                    }
                }
            }
            ServerEvent::Ended { why, stderr } => {
                let docs = running.docs.clone();
                running.work = Work::default();
                running.again.clear();
                running.spoke = false;
                if running.phase != Phase::Stopped {
                    let retry = running.restarts.ended(now).map(|delay| now + delay);
                    tracing::warn!(server = running.server.name, why, "a language server ended");
                    running.phase = Phase::Down { why, stderr, retry };
                }
                for key in docs {
                    let Some(doc) = self.docs.get_mut(&key) else { continue };
                    for source in [SourceKey::Own(id), SourceKey::OnSave(id)] {
                        if let Some(track) = doc.tracks.get_mut(&source) {
                            track.closed();
                        }
                    }
                }
            }
            ServerEvent::Sent { key, rev } => {
                let Some(doc) = self.docs.get_mut(&key) else { return };
                let noise = running.work.noise();
                doc.tracks.entry(SourceKey::Own(id)).or_default().sent(rev, now, &mut running.habits, noise);
            }
            ServerEvent::Published { uri, version, items } => self.published(id, &uri, version, items, now),
            ServerEvent::Pulled { key, rev, items, related, had } => {
                self.pulled(id, &key, rev, &items, related, &had, now);
            }
            ServerEvent::WorkspaceAsked => self.asked_about_all(id, now),
            ServerEvent::Workspace { reports, whole } => self.said_of_all(id, &reports, whole),
            ServerEvent::PullFailed { key, rev, why } => self.pull_failed(id, &key, rev, &why),
        }
    }

    pub(super) fn restart_due(&mut self, now: Instant) {
        let due: Vec<ServerId> = self
            .running
            .iter()
            .filter(|running| retry(running).is_some_and(|at| at <= now))
            .map(|running| running.id)
            .collect();
        for id in due {
            if self.over || self.running[id].docs.is_empty() {
                self.running[id].phase = Phase::Stopped;
            } else {
                self.start(id);
            }
        }
    }

    pub(super) fn next_restart(&self) -> Option<Instant> {
        self.running.iter().filter_map(retry).min()
    }

    /// Ends a server; its documents are served by nobody then.
    fn stop(&mut self, id: ServerId, grace: Duration) {
        self.tell(id, Command::Shutdown(grace));
        let running = &mut self.running[id];
        running.phase = Phase::Stopped;
        for key in std::mem::take(&mut running.docs) {
            let Some(doc) = self.docs.get_mut(&key) else { continue };
            doc.places.retain(|_, place| *place != Place::At(id));
            doc.tracks.remove(&SourceKey::Own(id));
            doc.tracks.remove(&SourceKey::OnSave(id));
        }
    }

    /// Trust changed: what must not run any more ends, what may run now is looked for.
    pub(super) fn trust(&mut self, trusted: &[PathBuf], now: Instant) {
        let must_go = |running: &&Running| {
            let trusted = running.root.as_ref().is_some_and(|root| trusted.contains(&root.path));
            running.phase != Phase::Stopped && running.server.runs_project_code && !trusted
        };
        let ids: Vec<ServerId> = self.running.iter().filter(must_go).map(|running| running.id).collect();
        for id in ids {
            self.stop(id, GRACE);
        }
        self.docs.values_mut().for_each(super::Doc::look_again);
        let wanted: Vec<Key> = self.docs.iter().filter(|(_, doc)| doc.wanted).map(|(key, _)| key.clone()).collect();
        for key in &wanted {
            self.serve(key, now);
        }
    }

    /// The editor named its sources for a document; where it has some, ours keep away.
    pub(super) fn editor_sources(&mut self, uri: &str, sources: Vec<SourceName>, now: Instant) {
        let Some(key) = self.key_of(uri) else { return };
        for source in &sources {
            self.editor_source(&source.id, &source.name);
        }
        let Some(doc) = self.docs.get_mut(&key) else { return };
        let gone = |source: &SourceKey| match source {
            SourceKey::Editor(id) | SourceKey::EditorOnSave(id) => sources.iter().all(|named| named.id != *id),
            _ => false,
        };
        doc.tracks.retain(|source, _| !gone(source));
        let rev = doc.now().rev;
        for source in &sources {
            let Some(editor) = self.editors.get_mut(&source.id) else { continue };
            let track = doc.tracks.entry(SourceKey::Editor(source.id.clone())).or_default();
            if track.newest().is_none() {
                track.sent(rev, now, &mut editor.habits, editor.work.noise());
            }
        }
        doc.named = sources;
        let language = doc.language.clone();
        let same = self.docs.iter().filter(|(_, doc)| doc.language == language).map(|(key, _)| key.clone());
        for key in same.collect::<Vec<_>>() {
            if !self.serves(&key) {
                self.withdraw(&key);
            }
        }
        let idle = |running: &&Running| running.docs.is_empty() && running.server.languages.contains(&language);
        let idle: Vec<ServerId> =
            self.running.iter().filter(|running| running.up()).filter(idle).map(|running| running.id).collect();
        for id in idle {
            self.stop(id, GRACE);
        }
    }

    pub(super) fn editor_progress(&mut self, source: &str, token: String, kind: ProgressKind, now: Instant) {
        let check = self.check_on_save_of(source).is_some_and(|name| token.contains(name));
        let editor = self.editor_source(source, source);
        let begun = editor.work.open.get(&token).copied();
        match kind {
            ProgressKind::Begin => editor.work.take(token, true, now),
            ProgressKind::End => {
                editor.work.take(token, false, now);
                if let Some(begun) = begun.filter(|_| check) {
                    self.checked_the_disk(&SourceKey::EditorOnSave(source.to_owned()), begun, now);
                }
            }
            ProgressKind::Report => {}
        }
    }

    /// We changed a file on the disk: every server that wants to know hears of it.
    pub(super) fn file(&mut self, change: &FileChanged, now: Instant) {
        let kind = match change.kind {
            FileChangeKind::Created => 1,
            FileChangeKind::Changed => 2,
            FileChangeKind::Deleted => 3,
        };
        // Servers know files by their real paths.
        let uri = self.key_of(&change.uri).and_then(|key| server_uri(&key)).unwrap_or_else(|| change.uri.clone());
        if let Some(key) = self.key_of(&change.uri).filter(|_| change.kind == FileChangeKind::Deleted)
            && self.docs.get(&key).is_some_and(|doc| doc.open.is_none())
        {
            self.closed(&key, now);
        }
        let ids: Vec<ServerId> = self.running.iter().filter(|running| running.up()).map(|running| running.id).collect();
        for id in ids {
            self.tell(id, Command::Watched(vec![(uri.clone(), kind)]));
        }
    }

    pub(super) fn shutdown(&mut self, grace: Duration) {
        self.over = true;
        for id in 0..self.running.len() {
            self.stop(id, grace);
        }
        self.late.clear();
        self.aftermaths.clear();
    }
}

fn retry(running: &Running) -> Option<Instant> {
    match running.phase {
        Phase::Down { retry, .. } => retry,
        _ => None,
    }
}
