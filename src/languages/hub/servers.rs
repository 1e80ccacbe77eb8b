//! Our own servers: which documents they serve, and what becomes of them.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::documents::Place;
use super::workspace::AllFiles;
use super::{Census, Effect, Finding, Hub, ServerId, SourceKey, Work};
use crate::editor::{FileChangeKind, FileChanged, Origin};
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
pub(super) const GRACE: Duration = Duration::from_secs(2);

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
    pub(super) command: Vec<String>,
    /// The folder it was started in.
    pub(super) root: Option<Root>,
    /// Further folders that it serves.
    pub(super) more: Vec<Root>,
    /// Whether it takes further folders; until it has said so, it is taken for one that does.
    pub(super) takes_folders: bool,
    pub(super) phase: Phase,
    /// Counts its starts, so that words of an earlier process are not taken for its own.
    pub(super) run: u32,
    pub(super) restarts: Restarts,
    /// When a tool last looked at, changed or asked about a document of its.
    pub(super) used: Instant,
    /// When the process of one that took too much memory will have gone.
    pub(super) gone_at: Instant,
    /// It was ended, and its process may still be there.
    leaving: bool,
    /// It is started again when that process is gone.
    comes_back: bool,
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
    pub(super) docs: BTreeSet<Key>,
    /// Documents that it answered for while it was loading the project; they are asked about again.
    pub(super) again: BTreeSet<Key>,
}

impl Running {
    /// One for each folder that it serves.
    pub(super) fn census(&self) -> Vec<Census> {
        let state = match &self.phase {
            Phase::Starting => "starting".to_owned(),
            Phase::Ready => "running".to_owned(),
            Phase::Down { why, .. } => why.clone(),
            Phase::Stopped => "stopped".to_owned(),
        };
        let of = |root: Option<&Root>| Census {
            name: self.server.name.clone(),
            root: root.map(|root| root.path.clone()),
            state: state.clone(),
        };
        std::iter::once(of(self.root.as_ref())).chain(self.more.iter().map(|root| of(Some(root)))).collect()
    }

    /// The folders that it serves.
    pub(super) fn roots(&self) -> impl Iterator<Item = &Root> {
        self.root.iter().chain(&self.more)
    }

    pub(super) fn up(&self) -> bool {
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
            running.used = now;
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
            Finding::Untrusted { name, detail } => Place::Untrusted { name, detail },
            Finding::Absent { name, detail, missing } => Place::Absent { name, detail, missing, since: now },
            Finding::Found { server, command, root } => match self.server_for(&kind, server, command, root, key, now) {
                Ok(id) => {
                    self.running[id].docs.insert(key.clone());
                    self.running[id].used = now;
                    if let Some(doc) = self.docs.get_mut(key) {
                        doc.places.insert(kind, Place::At(id));
                    }
                    self.open_at(id, key);
                    self.ask_about_all(key, true);
                    return;
                }
                Err(place) => place,
            },
        };
        if let Some(doc) = self.docs.get_mut(key) {
            doc.places.insert(kind, place);
        }
    }

    /// The server for a root, be it that it runs already, takes one more folder, or is started now.
    fn server_for(
        &mut self,
        kind: &str,
        server: Arc<Server>,
        command: Vec<String>,
        root: Option<Root>,
        key: &Key,
        now: Instant,
    ) -> Result<ServerId, Place> {
        // Whatever was found for another document of the same root serves this one too: never two of a kind.
        let same = |running: &&Running| {
            let here = running.root == root || root.as_ref().is_some_and(|root| running.more.contains(root));
            running.server.kind == kind && here && running.phase != Phase::Stopped
        };
        if let Some(running) = self.running.iter().find(same) {
            return Ok(running.id);
        }
        if let Some(id) = self.joined(&server, &command, root.as_ref()) {
            return Ok(id);
        }
        self.make_room(&server.name, key, now)?;
        let ended = |running: &&Running| {
            running.phase == Phase::Stopped
                && (&running.server, &running.command, &running.root) == (&server, &command, &root)
        };
        let id = match self.running.iter().find(ended) {
            Some(running) => running.id,
            None => self.add(server, command, root, now),
        };
        if self.running[id].leaving {
            self.running[id].comes_back = true;
        } else {
            self.start(id);
        }
        Ok(id)
    }

    fn add(&mut self, server: Arc<Server>, command: Vec<String>, root: Option<Root>, now: Instant) -> ServerId {
        let id = self.running.len();
        let habits = Habits::new(self.quiet(), self.pinned);
        self.running.push(Running {
            id,
            server,
            command,
            root,
            more: Vec::new(),
            takes_folders: true,
            phase: Phase::Stopped,
            run: 0,
            restarts: Restarts::default(),
            used: now,
            gone_at: now,
            leaving: false,
            comes_back: false,
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
        let (docs, more) = (running.docs.clone(), running.more.clone());
        if !more.is_empty() {
            self.tell(id, Command::Folders { added: more, removed: Vec::new() });
        }
        for key in docs {
            self.open_at(id, &key);
        }
    }

    pub(super) fn open_at(&mut self, id: ServerId, key: &Key) {
        let Some(doc) = self.docs.get(key).filter(|doc| !doc.unborn) else { return };
        let Some(uri) = server_uri(key) else { return };
        let now = doc.now();
        let (rev, text, language_id) = (now.rev, now.text.clone(), doc.language.clone());
        self.tell(id, Command::Open { key: key.clone(), uri, language_id, rev, text });
    }

    /// A server of ours said something.
    pub(super) fn server(&mut self, id: ServerId, run: u32, event: ServerEvent, now: Instant) {
        let Some(running) = self.running.get_mut(id).filter(|running| running.run == run) else { return };
        match event {
            ServerEvent::Ready { encoding, changes, folders } => {
                if running.phase == Phase::Starting {
                    running.takes_folders = folders;
                    (running.phase, running.encoding, running.changes) = (Phase::Ready, encoding, changes);
                    if running.server.tells_status {
                        running.work.take(STATUS.to_owned(), true, now);
                    }
                    if !folders {
                        self.split(id, now);
                    }
                }
            }
            ServerEvent::Memory(bytes) => self.weighed(id, bytes, now),
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
                running.leaving = false;
                if running.phase != Phase::Stopped {
                    let retry = running.restarts.ended(now).map(|delay| now + delay);
                    tracing::warn!(server = running.server.name, why, "a language server ended");
                    running.phase = Phase::Down { why, stderr, retry };
                }
                let back = std::mem::take(&mut running.comes_back) && !running.docs.is_empty();
                self.lost(id);
                if back && !self.over {
                    self.start(id);
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

    /// What a server knew is gone with its process.
    pub(super) fn lost(&mut self, id: ServerId) {
        let running = &mut self.running[id];
        running.work = Work::default();
        running.again.clear();
        running.spoke = false;
        for key in running.docs.clone() {
            let Some(doc) = self.docs.get_mut(&key) else { continue };
            for source in [SourceKey::Own(id), SourceKey::OnSave(id)] {
                if let Some(track) = doc.tracks.get_mut(&source) {
                    track.closed();
                }
            }
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
    pub(super) fn stop(&mut self, id: ServerId, grace: Duration) {
        self.tell(id, Command::Shutdown(grace));
        let running = &mut self.running[id];
        running.leaving |= running.up();
        running.more.clear();
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
            let trusted = running.root.is_some() && running.roots().all(|root| trusted.contains(&root.path));
            running.phase != Phase::Stopped && running.server.runs_project_code && !trusted
        };
        let ids: Vec<ServerId> = self.running.iter().filter(must_go).map(|running| running.id).collect();
        for id in ids {
            self.stop(id, GRACE);
        }
        // One that could not be started, because its program was another one by now, may be now.
        let down: Vec<ServerId> =
            self.running.iter().filter(|running| matches!(running.phase, Phase::Down { .. })).map(|of| of.id).collect();
        for id in if self.over { Vec::new() } else { down } {
            let running = &mut self.running[id];
            running.restarts = Restarts::default();
            // Never beside a process that still goes; and what no document needs, the clock puts aside.
            let at = now.max(running.gone_at);
            if let Phase::Down { retry, .. } = &mut running.phase {
                *retry = Some(at);
            }
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
        // What we write ourselves is known; what others do to a file that servers have from us is read again.
        if let Some(key) = self.key_of(&change.uri).filter(|_| change.by == Origin::User && kind != 3)
            && self.docs.get(&key).is_some_and(|doc| doc.open.is_none() && !doc.unborn)
        {
            self.effects.push(Effect::Reread { key });
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
