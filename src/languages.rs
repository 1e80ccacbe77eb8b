//! Language servers, their diagnostics, and what is known of them: verdicts that never say "clean" without knowing it.
//!
//! [`Languages`] puts everything that happens on one queue and decides nothing; `hub` decides and does nothing;
//! `supervisor` and `client` do what it decides. Reading order: `known` (the servers), `settle` (when is an answer about
//! the text), `hub` (documents, servers, waits), `problems` and `verdict` (what is told), `ask` (everything else that a
//! server of ours knows).

pub mod ask;
mod client;
mod format;
mod hub;
pub mod known;
pub mod problems;
mod run;
pub mod settle;
pub mod sources;
mod supervisor;
pub mod verdict;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio_util::sync::{CancellationToken, DropGuard};

pub use format::{Formatted, applied};
pub use known::language_of;
pub use sources::{Delivery, Forwarded, ProgressKind, SourceName, StampedBy};
pub use verdict::DiagnosticsReport;

use self::hub::{AskId, Asked, Base, Census, Event, Hub, Request, ServerId, WaitId};
use self::problems::SYNTAX;
use self::run::{Queue, Runner, Servers};
use self::supervisor::Supervisor;
use self::verdict::{Baseline, DocumentReport, SourceReport};
use crate::config::Settings;
use crate::editor::{Editor, FileChanged};
use crate::permissions::Trust;
use crate::ports::Ports;
use crate::rpc::Unsent;
use crate::syntax;
use crate::text::{Splice, Text, diff};
use crate::workspace::{Documents, Roots, Target};

/// A document just before an edit, with what each source last said of it.
#[derive(Debug, Clone)]
pub struct Prepared {
    language_id: Option<String>,
    text: Text,
    base: Arc<OnceLock<Base>>,
}

impl Prepared {
    /// The language id the editor gave the document, and its text before the edit.
    pub fn before(&self) -> (Option<&str>, &Text) {
        (self.language_id.as_deref(), &self.text)
    }

    /// The same document before another edit that followed this one, of this text. What its sources last said stays what
    /// they said before the first.
    #[must_use]
    pub fn then(&self, text: Text) -> Prepared {
        Prepared { text, ..self.clone() }
    }
}

/// An edit that landed, whose diagnostics are wanted.
#[derive(Debug, Clone)]
pub struct Edited {
    /// Which document or file.
    pub target: Target,
    /// The editor's version that completed the edit; `None` on the disk.
    pub version: Option<i32>,
    /// What changed, in bytes of the text before.
    pub splices: Vec<Splice>,
    /// The text after the edit.
    pub after: Text,
}

/// How long to wait for diagnostics, and for whose.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Wait {
    /// Whether to wait at all.
    pub wait: WaitMode,
    /// At most so long (ms), instead of the settings' budgets.
    pub deadline_ms: Option<u64>,
    /// Only for these sources, by their names; of the others it is told what is there.
    pub sources: Option<Vec<String>>,
}

/// Whether to wait for diagnostics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WaitMode {
    /// Do not wait; what is there at once is told.
    None,
    /// As long as the budgets allow.
    #[default]
    Auto,
    /// Until every source has answered, or the deadline.
    Fresh,
}

/// A language server as `doctor` tells of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerStatus {
    /// Its name.
    pub name: String,
    /// The language ids it serves.
    pub languages: Vec<String>,
    /// It runs the project's code, so that it starts in trusted folders only.
    pub runs_project_code: bool,
    /// Its program outside of any project, or why there is none and how to get it.
    pub program: Result<PathBuf, String>,
    /// The folders it was started in, and how it is doing there.
    pub running: Vec<(Option<PathBuf>, String)>,
}

/// At most so many faults of the embedded check are told: behind the first, most of them follow from it.
const FAULTS_TOLD: usize = 5;

/// All sources of diagnostics.
pub struct Languages {
    ports: Ports,
    documents: Arc<Documents>,
    queue: Queue,
    /// The other end of the queue, until somebody reads it.
    idle: Mutex<Option<Runner>>,
    settings: Mutex<Arc<Settings>>,
    shared: Arc<Shared>,
    servers: Arc<dyn Servers>,
    waits: AtomicU64,
    over: CancellationToken,
    _end: DropGuard,
}

/// What the reader of the queue leaves for others.
#[derive(Default)]
struct Shared {
    waits: Mutex<HashMap<WaitId, oneshot::Sender<DiagnosticsReport>>>,
    asks: Mutex<HashMap<AskId, ask::Offered>>,
    late: Mutex<Vec<DiagnosticsReport>>,
    /// What the embedded check said of the documents of which more will be told, by URI, with the version.
    checks: Mutex<HashMap<String, (Option<i32>, SourceReport)>>,
    census: Mutex<Vec<Census>>,
    /// What is on its way to each server, with its name.
    unsent: Mutex<HashMap<ServerId, (String, Unsent)>>,
    clients: tokio_util::task::TaskTracker,
}

impl Shared {
    /// Of so many documents what the embedded check said is kept.
    const CHECKS: usize = 1024;

    /// Keeps what the embedded check said of a document, if more will be told of it.
    fn keep_check(&self, document: &DocumentReport) {
        let mut checks = lock(&self.checks);
        checks.remove(&document.uri);
        let check = document.sources.iter().find(|source| source.id == SYNTAX);
        if let Some(check) = check.filter(|_| document.sources.iter().any(|source| source.verdict.owes()))
            && checks.len() < Shared::CHECKS
        {
            checks.insert(document.uri.clone(), (document.version, check.clone()));
        }
    }

    /// Adds what the embedded check said of the same text.
    fn add_checks(&self, report: &mut DiagnosticsReport) {
        let checks = lock(&self.checks);
        for document in &mut report.documents {
            let check = checks.get(&document.uri).filter(|(version, _)| *version == document.version);
            document.sources.extend(check.map(|(_, check)| check.clone()));
            document.sources.sort_by(|a, b| a.id.cmp(&b.id));
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Languages {
    /// Follows `documents` from now on. Starts no server until a document is looked at.
    pub fn new(ports: Ports, editor: Arc<dyn Editor>, documents: &Arc<Documents>, trust: Arc<Trust>) -> Arc<Languages> {
        let servers = Arc::new(Supervisor::new(ports.clone(), trust));
        Languages::with(ports, editor, documents, servers)
    }

    fn with(
        ports: Ports,
        editor: Arc<dyn Editor>,
        documents: &Arc<Documents>,
        servers: Arc<dyn Servers>,
    ) -> Arc<Languages> {
        let (queue, events) = Queue::new();
        let listener = queue.clone();
        documents.listen(Box::new(move |event| {
            listener.send(Event::Document(Box::new(event.clone())));
        }));
        let shared = Arc::new(Shared::default());
        let over = CancellationToken::new();
        let settings = Arc::new(Settings::default());
        let runner = Runner {
            hub: Hub::new(Arc::clone(&settings), false),
            events,
            queue: queue.clone(),
            clock: Arc::clone(&ports.clock),
            editor,
            servers: Arc::clone(&servers),
            shared: Arc::clone(&shared),
            over: over.clone(),
        };
        let languages = Arc::new(Languages {
            ports,
            documents: Arc::clone(documents),
            queue,
            idle: Mutex::new(Some(runner)),
            settings: Mutex::new(settings),
            shared,
            servers,
            waits: AtomicU64::new(0),
            _end: over.clone().drop_guard(),
            over,
        });
        languages.wake();
        languages
    }

    /// Sees to it that the queue is read, as soon as there is a runtime to do it.
    fn wake(&self) {
        if tokio::runtime::Handle::try_current().is_ok()
            && let Some(runner) = lock(&self.idle).take()
        {
            tokio::spawn(runner.run());
        }
    }

    fn put(&self, event: Event) {
        self.wake();
        self.queue.send(event);
    }

    /// The settings and the folders, at the start and whenever they change. `repeatable`: nothing is learned, so that
    /// the same run gives the same report (to be said before the first document is looked at).
    pub fn configure(&self, settings: Arc<Settings>, roots: &Roots, repeatable: bool) {
        *lock(&self.settings) = Arc::clone(&settings);
        self.put(Event::Configure { settings, folders: roots.folders.clone(), pinned: repeatable });
    }

    /// Trust in some folder changed: what must not run any more is ended, what may run is looked for.
    pub fn trust_changed(&self) {
        self.put(Event::Trust { trusted: Vec::new() });
    }

    /// A document or file was read or is about to be edited: its servers are started and told of it, in the background.
    pub fn look(&self, target: &Target, language_id: Option<&str>, text: &Text) {
        let language_id = language_id.map(str::to_owned);
        self.put(Event::Look { target: target.clone(), language_id, text: text.clone(), base: None });
    }

    /// Like [`Languages::look`], and remembers what each source last said, as the baseline of an edit about to leave.
    pub fn prepare(&self, target: &Target, language_id: Option<&str>, text: &Text) -> Prepared {
        let base = Arc::new(OnceLock::new());
        let language_id = language_id.map(str::to_owned);
        self.put(Event::Look {
            target: target.clone(),
            language_id: language_id.clone(),
            text: text.clone(),
            base: Some(Arc::clone(&base)),
        });
        Prepared { language_id, text: text.clone(), base }
    }

    /// Waits once for the diagnostics of all these edits and judges them. Holds no lock; ends early on `cancel`.
    pub async fn settle(
        &self,
        edits: Vec<(Prepared, Edited)>,
        wait: &Wait,
        cancel: &CancellationToken,
    ) -> DiagnosticsReport {
        let checks = self.checks(&edits, wait);
        let documents = edits
            .into_iter()
            .map(|(prepared, edited)| Asked {
                target: edited.target.clone(),
                base: Some(prepared.base),
                edited: Some(edited),
                min_version: None,
            })
            .collect();
        let (mut report, checks) = tokio::join!(self.wait(documents, wait, cancel), checks);
        for (document, check) in report.documents.iter_mut().zip(checks) {
            document.sources.extend(check);
            document.sources.sort_by(|a, b| a.id.cmp(&b.id));
            self.shared.keep_check(document);
        }
        report
    }

    /// What is known of a document as it is (of all that were looked at: `None`), at least in the editor's version
    /// `min_version`: for `ropewalk/diagnostics`. There is no baseline, so problems are `present`.
    pub async fn report(
        &self,
        target: Option<&Target>,
        min_version: Option<i32>,
        wait: &Wait,
        cancel: &CancellationToken,
    ) -> DiagnosticsReport {
        let targets: Vec<Target> = match target {
            Some(target) => vec![target.clone()],
            None => self
                .documents
                .all()
                .into_iter()
                .map(|document| Target {
                    shown: document.uri.clone(),
                    key: document.key,
                    uri: document.uri,
                    paths: Vec::new(),
                    inside: true,
                })
                .collect(),
        };
        let documents =
            targets.into_iter().map(|target| Asked { target, base: None, edited: None, min_version }).collect();
        self.wait(documents, wait, cancel).await
    }

    /// What sources said after a wait for them was over, since the last time this was asked, in the order in which it was
    /// said: the report of a document is complete and takes the place of the one before it.
    pub fn late(&self) -> Option<DiagnosticsReport> {
        let mut all = std::mem::take(&mut *lock(&self.shared.late)).into_iter();
        let first = all.next()?;
        Some(all.fold(first, |mut sum, mut next| {
            sum.documents.append(&mut next.documents);
            sum.other_files.append(&mut next.other_files);
            sum.other_files_cut = sum.other_files_cut.max(next.other_files_cut);
            sum
        }))
    }

    /// The editor forwarded diagnostics: `ropewalk/didChangeDiagnostics`.
    pub fn forwarded(&self, forwarded: Forwarded) {
        self.put(Event::Forwarded(forwarded));
    }

    /// The editor named its sources for a document: `ropewalk/didChangeDiagnosticSources`.
    pub fn editor_sources(&self, uri: &str, sources: Vec<SourceName>) {
        self.put(Event::EditorSources { uri: uri.to_owned(), sources });
    }

    /// The editor forwarded the progress of a source: `ropewalk/diagnosticProgress`. `token` is the server's.
    pub fn progress(&self, source_id: &str, token: &str, kind: ProgressKind) {
        self.put(Event::Progress { source: source_id.to_owned(), token: token.to_owned(), kind });
    }

    /// The waits that have not ended, and the servers to which something is on its way that is not written yet (one that
    /// starts is told nothing before it has started); in words, sorted.
    pub fn open_work(&self) -> Vec<String> {
        let mut open: Vec<String> =
            lock(&self.shared.waits).keys().map(|wait| format!("diagnostics {wait:?}")).collect();
        if self.queue.unsent.count() > 0 {
            open.push("news for language servers".to_owned());
        }
        let unsent = lock(&self.shared.unsent);
        let servers = unsent.values().filter(|(_, unsent)| unsent.count() > 0);
        open.extend(servers.map(|(name, _)| format!("messages to {name}")));
        open.sort();
        open
    }

    /// A file was made, changed or removed on the disk.
    pub fn file_changed(&self, change: &FileChanged) {
        self.put(Event::File(change.clone()));
    }

    /// Every server that is known, with where it is found or how to get it, and where it runs.
    pub async fn status(&self) -> Vec<ServerStatus> {
        let settings = Arc::clone(&*lock(&self.settings));
        // What was put on the queue before has taken effect when this is answered.
        self.wait(Vec::new(), &Wait::default(), &CancellationToken::new()).await;
        let census = lock(&self.shared.census).clone();
        let mut all = Vec::new();
        for server in known::servers(&settings.diagnostics) {
            let running = census.iter().filter(|one| one.name == server.name);
            all.push(ServerStatus {
                program: self.servers.locate(&server).await,
                running: running.map(|one| (one.root.clone(), one.state.clone())).collect(),
                name: server.name,
                languages: server.languages,
                runs_project_code: server.runs_project_code,
            });
        }
        all
    }

    /// Ends every server, politely first; those that are not gone after `grace` are killed. Nothing starts afterwards.
    pub async fn shutdown(&self, grace: Duration) {
        self.put(Event::Shutdown(grace));
        self.wait(Vec::new(), &Wait::default(), &CancellationToken::new()).await;
        self.shared.clients.close();
        // A polite end takes at most `grace` for the answer, and as long again for the process to go.
        tokio::select! {
            () = self.shared.clients.wait() => {}
            () = self.ports.clock.sleep(grace * 3) => {}
        }
        self.over.cancel();
    }

    async fn wait(&self, documents: Vec<Asked>, wait: &Wait, cancel: &CancellationToken) -> DiagnosticsReport {
        let id = self.waits.fetch_add(1, Ordering::Relaxed);
        let (sender, mut answer) = oneshot::channel();
        lock(&self.shared.waits).insert(id, sender);
        let waiting = Ending { languages: self, id };
        let encoding = self.documents.counting().encoding;
        self.put(Event::Wait { id, request: Request { documents, wait: wait.clone(), encoding } });
        let report = tokio::select! {
            report = &mut answer => report,
            () = cancel.cancelled() => {
                self.put(Event::EndWait(id));
                tokio::select! {
                    report = answer => report,
                    () = self.over.cancelled() => Ok(DiagnosticsReport::default()),
                }
            }
            () = self.over.cancelled() => Ok(DiagnosticsReport::default()),
        };
        drop(waiting);
        report.unwrap_or_default()
    }

    /// The embedded check of each edited document, in the order in which documents first occur.
    fn checks(
        &self,
        edits: &[(Prepared, Edited)],
        wait: &Wait,
    ) -> impl Future<Output = Vec<Option<SourceReport>>> + Send + use<> {
        let mut pairs: Vec<(&Prepared, &Edited)> = Vec::new();
        let mut places = HashMap::with_capacity(edits.len());
        for (prepared, edited) in edits {
            let place = *places.entry(&edited.target.key).or_insert(pairs.len());
            match pairs.get_mut(place) {
                Some(pair) => pair.1 = edited,
                None => pairs.push((prepared, edited)),
            }
        }
        let wanted = wait.sources.as_ref().is_none_or(|sources| sources.iter().any(|source| source == SYNTAX));
        let encoding = self.documents.counting().encoding;
        let max = lock(&self.settings).diagnostics.max_per_file.min(FAULTS_TOLD);
        let jobs: Vec<_> = pairs
            .into_iter()
            .map(|(prepared, edited)| {
                let language = syntax::Language::of(prepared.language_id.as_deref(), &edited.target.uri);
                let (before, after) = (prepared.text.clone(), edited.after.clone());
                wanted.then_some(move || {
                    let (old, new) = (before.to_string(), after.to_string());
                    let check = syntax::check(language, Some(&old), &diff::splices(&old, &new), &new);
                    SourceReport::of_check(&check, Baseline::Known, &after, encoding, max)
                })
            })
            .collect();
        async move {
            let mut reports = Vec::new();
            for job in jobs {
                reports.push(match job {
                    Some(job) => tokio::task::spawn_blocking(job).await.ok(),
                    None => None,
                });
            }
            reports
        }
    }
}

/// Takes a wait off the list when nobody waits any more.
struct Ending<'a> {
    languages: &'a Languages,
    id: WaitId,
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        if lock(&self.languages.shared.waits).remove(&self.id).is_some() {
            self.languages.put(Event::EndWait(self.id));
        }
    }
}

#[cfg(test)]
mod tests;
