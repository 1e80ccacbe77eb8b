//! All that is known of documents, servers and their diagnostics, and what to do next: events in, effects out. Pure: no
//! I/O, no runtime; the time comes with the event.
//!
//! Everything that happens is put on one queue, in the order in which it happens: changes of documents, reads and edits
//! by tools, what servers say, what the editor forwards. So "the baseline is what was known before the edit left" and
//! "this was published after that text was sent" are facts of that order, and nobody holds a lock while anybody waits.

mod asks;
mod documents;
mod format;
mod hear;
mod late;
mod limits;
mod on_save;
mod once;
mod report;
mod roots;
mod servers;
mod unmet;
mod wait;
mod workspace;

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::time::Instant;

use self::asks::Pending;
pub(super) use self::asks::{AskId, Offer};
use self::documents::Doc;
use self::hear::{News, Said};
use self::late::{Aftermath, Late};
use self::servers::Running;
use self::wait::Waiting;
use super::client::{Command, Root, STATUS, ServerEvent};
use super::format::Ask;
use super::known::{self, Server};
use super::problems::Located;
use super::settle::{Habits, Noise, Rev};
use super::sources::{Forwarded, ProgressKind, SourceName};
use super::verdict::DiagnosticsReport;
use super::{Edited, Wait};
use crate::config::Settings;
use crate::editor::FileChanged;
use crate::text::{Encoding, Text};
use crate::workspace::documents::DocEvent;
use crate::workspace::{Key, Target};

/// Names a server among all that were ever started.
pub(super) type ServerId = usize;

/// Names a wait.
pub(super) type WaitId = u64;

/// Something that happened.
pub(super) enum Event {
    /// A document of the editor's changed.
    Document(Box<DocEvent>),
    /// A tool looked at a document or file, or is about to edit it (then `base` takes what is known now).
    Look { target: Target, language_id: Option<String>, text: Text, base: Option<Arc<OnceLock<Base>>> },
    /// The editor forwarded diagnostics.
    Forwarded(Forwarded),
    /// The editor named the sources it has for a document.
    EditorSources { uri: String, sources: Vec<SourceName> },
    /// The editor forwarded the progress of a source.
    Progress { source: String, token: String, kind: ProgressKind },
    /// We made, changed or removed a file.
    File(FileChanged),
    /// A file was read again: its text, if it is one.
    Reread { key: Key, text: String },
    /// A server was looked for.
    Found { key: Key, kind: String, finding: Finding },
    /// A server said something; `run` counts its starts.
    Server { id: ServerId, run: u32, event: ServerEvent },
    /// Somebody waits.
    Wait { id: WaitId, request: Request },
    /// Somebody does not want to wait any longer.
    EndWait(WaitId),
    /// Somebody wants a document formatted, by its server of this number (from 0).
    Format { key: Key, nth: usize, ask: Ask },
    /// Somebody wants to ask the servers of a document; `thorough`: about more than that document.
    Ask { id: AskId, key: Key, thorough: bool },
    /// The settings or the folders changed.
    Configure { settings: Arc<Settings>, folders: Vec<PathBuf>, pinned: bool },
    /// Trust in some folder changed; `trusted` tells which of the roots in use are trusted now.
    Trust { trusted: Vec<PathBuf> },
    /// Everything shall end, within this time.
    Shutdown(Duration),
}

/// Something to do.
#[derive(Debug)]
pub(super) enum Effect {
    /// Look for a server of one kind for a document; the answer is [`Event::Found`].
    Find { key: Key, kind: String, candidates: Vec<Arc<Server>>, folder: Option<PathBuf> },
    /// Read a file again; the answer is [`Event::Reread`].
    Reread { key: Key },
    /// Start a server.
    Start { id: ServerId, run: u32, server: Arc<Server>, command: Vec<String>, root: Option<Root> },
    /// Tell a server something.
    Tell { id: ServerId, command: Command },
    /// Answer a wait.
    Finish { id: WaitId, report: DiagnosticsReport },
    /// Say who can be asked.
    Offer { id: AskId, offer: Offer },
    /// Something was said after its wait was over.
    Late(DiagnosticsReport),
    /// Ask the editor for what its servers say of a document.
    AskEditor { uri: String },
}

/// What came of looking for a server.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Finding {
    /// There is one.
    Found {
        /// Which.
        server: Arc<Server>,
        /// Its program, as a full path, and arguments.
        command: Vec<String>,
        /// The folder it serves.
        root: Option<Root>,
    },
    /// There is one, and it must not run in a folder that is not trusted.
    Untrusted {
        name: String,
        /// Why, in words that go behind its name and a colon.
        detail: String,
    },
    /// There is none, for this reason.
    Absent {
        name: String,
        detail: String,
        /// Whether it would be of use if it were installed.
        missing: bool,
    },
}

/// What each source last said of a document before an edit, in bytes of the text then.
#[derive(Debug, Clone)]
pub(super) struct Base {
    rev: Rev,
    text: Text,
    sets: BTreeMap<SourceKey, (Rev, Arc<[Located]>)>,
    /// How much had been heard of other files.
    news: u64,
}

/// One document of a wait.
pub(super) struct Asked {
    pub(super) target: Target,
    pub(super) base: Option<Arc<OnceLock<Base>>>,
    /// The edit; without one it is asked about the text as it is.
    pub(super) edited: Option<Edited>,
    /// Without an edit: at least this version of the editor's.
    pub(super) min_version: Option<i32>,
}

/// A wait as it is asked for.
pub(super) struct Request {
    pub(super) documents: Vec<Asked>,
    pub(super) wait: Wait,
    /// How positions are told.
    pub(super) encoding: Encoding,
}

/// Who speaks of a document.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum SourceKey {
    /// A server of ours.
    Own(ServerId),
    /// What a server of ours publishes although it can be asked: checks that run when a file is saved.
    OnSave(ServerId),
    /// A source of the editor's, by its id.
    Editor(String),
    /// What such a source publishes although the editor can ask it.
    EditorOnSave(String),
}

impl SourceKey {
    fn is_the_editors(&self) -> bool {
        matches!(self, SourceKey::Editor(_) | SourceKey::EditorOnSave(_))
    }

    /// Whether it is a check of what is on the disk.
    fn reads_the_disk(&self) -> bool {
        matches!(self, SourceKey::OnSave(_) | SourceKey::EditorOnSave(_))
    }
}

/// A source of the editor's.
struct EditorSource {
    name: String,
    habits: Habits,
    on_save: Habits,
    work: Work,
    /// The editor has asked it, and it has answered.
    pulls: bool,
    /// It publishes all the same.
    pushes_too: bool,
}

/// So many open progress tokens of a source are remembered.
const TOKENS: usize = 256;

/// The progress tokens of a source.
#[derive(Debug, Default)]
struct Work {
    open: BTreeMap<String, Instant>,
    ended: Option<Instant>,
}

impl Work {
    fn take(&mut self, token: String, begin: bool, now: Instant) {
        if begin {
            // One that never ends what it begins must not grow without bound; the token that is there counts the same.
            if self.open.len() < TOKENS {
                self.open.insert(token, now);
            }
        } else if self.open.remove(&token).is_some() {
            self.ended = Some(now);
        }
    }

    /// Whether the project is still being loaded.
    fn loading(&self) -> bool {
        self.open.contains_key(STATUS)
    }

    fn noise(&self) -> Noise {
        Noise { open_since: self.open.values().max().copied(), ended: self.ended }
    }
}

/// What is learned of a source, to learn more.
fn habits_mut<'a>(
    running: &'a mut [Running],
    editors: &'a mut BTreeMap<String, EditorSource>,
    source: &SourceKey,
) -> Option<&'a mut Habits> {
    match source {
        SourceKey::Own(id) => running.get_mut(*id).map(|running| &mut running.habits),
        SourceKey::OnSave(id) => running.get_mut(*id).map(|running| &mut running.on_save),
        SourceKey::Editor(id) => editors.get_mut(id).map(|source| &mut source.habits),
        SourceKey::EditorOnSave(id) => editors.get_mut(id).map(|source| &mut source.on_save),
    }
}

/// A server as `doctor` tells of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Census {
    pub(super) name: String,
    pub(super) root: Option<PathBuf>,
    pub(super) state: String,
}

/// The state of it all.
pub(super) struct Hub {
    settings: Arc<Settings>,
    folders: Vec<PathBuf>,
    table: Vec<Arc<Server>>,
    /// Whether nothing may be learned.
    pinned: bool,
    docs: BTreeMap<Key, Doc>,
    running: Vec<Running>,
    editors: BTreeMap<String, EditorSource>,
    waits: BTreeMap<WaitId, Waiting>,
    late: Vec<Late>,
    aftermaths: Vec<Aftermath>,
    /// Documents to be formatted, see [`Event::Format`].
    formats: Vec<(Key, usize, Ask)>,
    asks: Vec<Pending>,
    /// The errors each source last told of each file, by the file's URI.
    said: BTreeMap<(SourceKey, String), Said>,
    /// How that changed, newest last.
    news: VecDeque<News>,
    heard: u64,
    looks: u64,
    over: bool,
    effects: Vec<Effect>,
}

impl Hub {
    /// Nothing is open, nothing runs.
    pub(super) fn new(settings: Arc<Settings>, pinned: bool) -> Hub {
        let mut hub = Hub {
            settings: Arc::new(Settings::default()),
            folders: Vec::new(),
            table: Vec::new(),
            pinned,
            docs: BTreeMap::new(),
            running: Vec::new(),
            editors: BTreeMap::new(),
            waits: BTreeMap::new(),
            late: Vec::new(),
            aftermaths: Vec::new(),
            formats: Vec::new(),
            asks: Vec::new(),
            said: BTreeMap::new(),
            news: VecDeque::new(),
            heard: 0,
            looks: 0,
            over: false,
            effects: Vec::new(),
        };
        hub.configure(settings, Vec::new());
        hub
    }

    /// Takes one event; what to do, in order.
    pub(super) fn handle(&mut self, event: Event, now: Instant) -> Vec<Effect> {
        match event {
            Event::Document(event) => self.document(*event, now),
            Event::Look { target, language_id, text, base } => {
                // Where there is nothing yet and a tool is about to write, there will be a new file.
                let unborn = base.is_some()
                    && text.is_empty()
                    && self.docs.get(&target.key).is_none_or(|doc| doc.unborn && doc.open.is_none());
                self.look(&target, language_id.as_deref(), &text, now);
                if let Some(doc) = self.docs.get_mut(&target.key).filter(|_| unborn) {
                    doc.unborn = true;
                }
                if let (Some(base), Some(known)) = (base, self.base(&target.key, now)) {
                    let _ = base.set(known);
                }
            }
            Event::Forwarded(forwarded) => self.forwarded(forwarded, now),
            Event::EditorSources { uri, sources } => self.editor_sources(&uri, sources, now),
            Event::Progress { source, token, kind } => self.editor_progress(&source, token, kind, now),
            Event::File(change) => self.file(&change, now),
            Event::Reread { key, text } => self.reread(&key, &text, now),
            Event::Found { key, kind, finding } => self.found(&key, kind, finding, now),
            Event::Server { id, run, event } => self.server(id, run, event, now),
            Event::Wait { id, request } => self.wait(id, request, now),
            Event::EndWait(id) => self.end_wait(id, now),
            Event::Format { key, nth, ask } => self.formats.push((key, nth, ask)),
            Event::Ask { id, key, thorough } => self.wants_servers(id, key, thorough, now),
            Event::Configure { settings, folders, pinned } => {
                self.pinned = pinned;
                self.configure(settings, folders);
                self.leave_folders();
            }
            Event::Trust { trusted } => self.trust(&trusted, now),
            Event::Shutdown(grace) => self.shutdown(grace),
        }
        self.tick(now)
    }

    /// Does what is due by now.
    pub(super) fn tick(&mut self, now: Instant) -> Vec<Effect> {
        self.restart_due(now);
        self.end_idle(now);
        self.ask_formatters();
        self.judge_waits(now);
        self.judge_late(now);
        self.judge_asks(now);
        std::mem::take(&mut self.effects)
    }

    /// When [`Hub::tick`] is to be called next if nothing happens before.
    pub(super) fn next_tick(&self, now: Instant) -> Option<Instant> {
        [self.next_restart(), self.next_idle(), self.next_judgement(now), self.next_late(now), self.next_ask(now)]
            .into_iter()
            .flatten()
            .min()
    }

    /// The servers that were started, in that order.
    pub(super) fn census(&self) -> Vec<Census> {
        self.running.iter().flat_map(Running::census).collect()
    }

    /// The roots that servers run in.
    pub(super) fn roots(&self) -> Vec<PathBuf> {
        let mut roots: Vec<PathBuf> =
            self.running.iter().flat_map(Running::roots).map(|root| root.path.clone()).collect();
        roots.sort();
        roots.dedup();
        roots
    }

    fn configure(&mut self, settings: Arc<Settings>, folders: Vec<PathBuf>) {
        if self.table.is_empty() || settings.diagnostics != self.settings.diagnostics {
            let table = known::servers(&settings.diagnostics).into_iter().map(Arc::new).collect();
            let before = std::mem::replace(&mut self.table, table);
            self.end_changed(&before);
            // Where nothing was found, something may be found now.
            self.docs.values_mut().for_each(Doc::look_again);
        }
        if folders != self.folders {
            self.docs.values_mut().for_each(Doc::look_again);
        }
        (self.settings, self.folders) = (settings, folders);
    }

    fn quiet(&self) -> Duration {
        Duration::from_millis(self.settings.diagnostics.quiet_ms)
    }

    fn noise(&self, source: &SourceKey) -> Noise {
        match source {
            SourceKey::Own(id) | SourceKey::OnSave(id) => {
                self.running.get(*id).map(|running| running.work.noise()).unwrap_or_default()
            }
            SourceKey::Editor(id) | SourceKey::EditorOnSave(id) => {
                self.editors.get(id).map(|source| source.work.noise()).unwrap_or_default()
            }
        }
    }

    fn habits(&self, source: &SourceKey) -> Option<&Habits> {
        match source {
            SourceKey::Own(id) => self.running.get(*id).map(|running| &running.habits),
            SourceKey::OnSave(id) => self.running.get(*id).map(|running| &running.on_save),
            SourceKey::Editor(id) => self.editors.get(id).map(|source| &source.habits),
            SourceKey::EditorOnSave(id) => self.editors.get(id).map(|source| &source.on_save),
        }
    }

    /// The name of a source in reports.
    fn id_of(&self, source: &SourceKey) -> String {
        match source {
            SourceKey::Own(id) => self.running.get(*id).map(|running| running.server.name.clone()).unwrap_or_default(),
            SourceKey::OnSave(id) => {
                let name = self.running.get(*id).map(|running| running.server.name.as_str()).unwrap_or_default();
                format!("{name} on save")
            }
            SourceKey::Editor(id) => self.editors.get(id).map_or_else(|| id.clone(), |source| source.name.clone()),
            SourceKey::EditorOnSave(id) => {
                let name = self.editors.get(id).map_or(id.as_str(), |source| source.name.as_str());
                format!("{name} on save")
            }
        }
    }
}
