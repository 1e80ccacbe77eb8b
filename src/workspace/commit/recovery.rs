//! What is left of sets that a crash interrupted: found in the journal, and taken back, closed files at once and
//! documents when the editor has opened them again. What cannot be taken back is left alone, kept and told.
//!
//! Taking back, and not finishing, because nobody was ever told that such a set is done, and because a buffer that was
//! lost with its editor cannot get the rest of it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use crate::editor::{FileChangeKind, FileChanged, Loudness, News, Origin};
use crate::text::Text;
use crate::workspace::documents::DocEvent;
use crate::workspace::paths::{Key, Target, uri_of_path};
use crate::workspace::{Refusal, RefusalKind};

use super::journal::{self, Held, Orphan, Own, Record};
use super::reverse::{Known, Reverse};
use super::set::{Step, take_back};
use super::{Desk, Fate, FileChange, apart, in_turn};

/// At most so many names are told.
const NAMES: usize = 8;

/// The journal as this run uses it, and what it found there. Clones share it.
#[derive(Clone, Default)]
pub(in crate::workspace) struct Recovery {
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    state: Mutex<State>,
    /// The place in the journal that this run takes with its first set.
    own: Mutex<Option<Own>>,
    settled: Notify,
}

#[derive(Default)]
struct State {
    /// What is being worked on.
    busy: usize,
    pending: Vec<Pending>,
    /// Where documents go that the editor has opened again, once somebody listens.
    opened: Option<mpsc::UnboundedSender<Key>>,
    news: Vec<String>,
}

/// A set whose documents have not all been opened again yet.
struct Pending {
    orphan: Orphan,
    outcome: Outcome,
}

/// What has become of a set.
#[derive(Default)]
struct Outcome {
    /// All names of the set.
    names: Vec<String>,
    /// How many files and documents were changed to take it back.
    changed: usize,
    /// What could not be taken back, and why.
    conflicts: BTreeMap<String, String>,
    /// Where the former texts of those are.
    kept: Vec<PathBuf>,
}

impl Recovery {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.inner.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn done(&self) {
        self.lock().busy -= 1;
        self.inner.settled.notify_waiters();
    }

    /// Waits until nothing is being worked on.
    pub(in crate::workspace) async fn settled(&self) {
        loop {
            let settled = self.inner.settled.notified();
            if self.lock().busy == 0 {
                return;
            }
            settled.await;
        }
    }

    /// Takes what is to be told.
    pub(in crate::workspace) fn take_news(&self) -> Vec<String> {
        std::mem::take(&mut self.lock().news)
    }

    /// See [`crate::workspace::Workspace::recover`].
    pub(in crate::workspace) fn look(self, desk: Desk) {
        let Some(state_dir) = desk.state_dir.clone() else { return };
        if tokio::runtime::Handle::try_current().is_err() {
            return;
        }
        self.lock().busy += 1;
        tokio::spawn(async move {
            let (worker, known) = (desk.clone(), self.known());
            let found = apart(move || Ok(found(&worker, &state_dir, &known))).await.unwrap_or_default();
            for pending in found {
                self.enter(&desk, pending);
            }
            self.reopened(&desk);
            self.done();
        });
    }

    /// Writes down what a set is about to do; gives the file. Blocking.
    pub(super) fn begin(&self, desk: &Desk, state_dir: &Path, record: &Record) -> std::io::Result<PathBuf> {
        let mut own = self.inner.own.lock().unwrap_or_else(PoisonError::into_inner);
        let place = match own.take() {
            Some(place) => place,
            None => Own::take(&desk.ports.disk, &*desk.ports.random, state_dir)?,
        };
        own.insert(place).begin(record)
    }

    /// The files of the journal that are being dealt with.
    fn known(&self) -> Vec<PathBuf> {
        self.lock().pending.iter().map(|pending| pending.orphan.path.clone()).collect()
    }

    /// A set whose closed files are dealt with.
    fn enter(&self, desk: &Desk, pending: Pending) {
        if pending.orphan.record.documents.is_empty() {
            self.tell(desk, &pending.outcome);
            return;
        }
        let listens = {
            let mut state = self.lock();
            state.pending.push(pending);
            state.opened.is_some()
        };
        if !listens {
            self.listen(desk);
        }
    }

    /// From now on documents that are opened again are looked at.
    fn listen(&self, desk: &Desk) {
        let (sender, mut opened) = mpsc::unbounded_channel();
        self.lock().opened = Some(sender);
        let recovery = Arc::downgrade(&self.inner);
        desk.documents.listen(Box::new(move |event| {
            if let (DocEvent::Opened(document), Some(inner)) = (event, recovery.upgrade()) {
                Recovery { inner }.opened(&document.key);
            }
        }));
        let (recovery, desk) = (self.clone(), desk.clone());
        tokio::spawn(async move {
            while let Some(key) = opened.recv().await {
                recovery.settle(&desk, &key).await;
                recovery.done();
            }
        });
    }

    fn opened(&self, key: &Key) {
        let mut state = self.lock();
        let waited_for = state.pending.iter().flat_map(|pending| &pending.orphan.record.documents);
        if !waited_for.into_iter().any(|held| held.key == *key) {
            return;
        }
        if state.opened.as_ref().is_some_and(|opened| opened.send(key.clone()).is_ok()) {
            state.busy += 1;
        }
    }

    /// Documents that were opened again before anybody listened.
    fn reopened(&self, desk: &Desk) {
        for key in self.waited_for() {
            if desk.documents.get(&key).is_some() {
                self.opened(&key);
            }
        }
    }

    fn waited_for(&self) -> Vec<Key> {
        let state = self.lock();
        let held = state.pending.iter().flat_map(|pending| &pending.orphan.record.documents);
        held.map(|held| held.key.clone()).collect()
    }

    /// A document is about to be changed: what is left of an interrupted set in it goes first.
    pub(super) async fn before(&self, desk: &Desk, key: &Key) {
        if self.waited_for().contains(key) {
            self.settle(desk, key).await;
        }
    }

    /// See [`crate::workspace::Workspace::rest`].
    pub(in crate::workspace) async fn rest(&self, desk: &Desk) {
        for key in self.waited_for() {
            if desk.documents.get(&key).is_none() {
                self.settle(desk, &key).await;
            }
        }
        let own = self.inner.own.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(own) = own {
            // Whoever had to finish a set has; the files of one that did not are found without the lock, too.
            let left = move || {
                own.leave();
                Ok(())
            };
            let _ = apart(left).await;
        }
    }

    /// Takes the edits of interrupted sets back out of a document; out of a file, where it was saved with exactly that.
    async fn settle(&self, desk: &Desk, key: &Key) {
        loop {
            let next = {
                let state = self.lock();
                state.pending.iter().find_map(|pending| {
                    let held = pending.orphan.record.documents.iter().find(|held| held.key == *key)?;
                    Some((pending.orphan.path.clone(), held.clone()))
                })
            };
            let Some((path, held)) = next else { return };
            let undone = undo(desk, &held).await;
            let kept = if undone.is_err() {
                kept(desk, vec![(held.shown.clone(), held.before.clone().into())]).await
            } else {
                None
            };
            let Some(mut pending) = self.take(&path, &held) else { continue };
            match undone {
                Ok(changed) => pending.outcome.changed += usize::from(changed),
                Err(why) => {
                    pending.outcome.conflicts.insert(held.shown.clone(), why);
                    pending.outcome.kept.extend(kept);
                }
            }
            let (disk, path, record) = (Arc::clone(&desk.ports.disk), path.clone(), pending.orphan.record.clone());
            let noted = apart(move || Ok(note(&*disk, &path, &record))).await;
            if let Ok(Err(error)) = noted {
                warn!(%error, "the journal could not be brought up to date");
            }
            self.enter(desk, pending);
        }
    }

    /// Takes a set out of those that wait, less one document.
    fn take(&self, path: &Path, held: &Held) -> Option<Pending> {
        let mut state = self.lock();
        let at = state
            .pending
            .iter()
            .position(|pending| pending.orphan.path == path && pending.orphan.record.documents.contains(held))?;
        let mut pending = state.pending.remove(at);
        pending.orphan.record.documents.retain(|other| other != held);
        Some(pending)
    }

    /// Tells what became of a set.
    fn tell(&self, desk: &Desk, outcome: &Outcome) {
        let Some(words) = outcome.words() else { return };
        if outcome.conflicts.is_empty() {
            info!(words, "a set that was interrupted");
        } else {
            error!(words, "a set that was interrupted could not be taken back as a whole");
            desk.editor.tell(News::Log(Loudness::Error, words.clone()));
        }
        self.lock().news.push(words);
    }
}

impl Outcome {
    /// What is told; `None` when nothing of the set was there.
    fn words(&self) -> Option<String> {
        let listed = |names: Vec<&str>| {
            let more = names.len().saturating_sub(NAMES);
            let listed = names.iter().take(NAMES).copied().collect::<Vec<_>>().join(", ");
            if more > 0 { format!("{listed} and {more} more") } else { listed }
        };
        let all = listed(self.names.iter().map(String::as_str).collect());
        let count = match self.names.len() {
            1 => "one file".to_owned(),
            many => format!("{many} files"),
        };
        if self.conflicts.is_empty() {
            let (has, again) = if self.names.len() == 1 {
                ("it has its former text", "Read it again before you change it")
            } else {
                ("they have their former texts", "Read them again before you change them")
            };
            return (self.changed > 0).then(|| {
                format!(
                    "A change of {count} that was interrupted when this program last ended was taken back as a whole; \
                     {has} ({all}). {again}."
                )
            });
        }
        let conflicts: Vec<String> = self.conflicts.iter().map(|(name, why)| format!("{name}: {why}")).collect();
        let mut kept: Vec<String> = self.kept.iter().map(|path| path.display().to_string()).collect();
        kept.sort();
        let kept = if kept.is_empty() { String::new() } else { format!(" Former texts are in {}.", kept.join(", ")) };
        Some(format!(
            "A change of {count} ({all}) was interrupted when this program last ended, and could not be taken back \
             as a whole. Left as they are: {}. The others have their former texts.{kept} Read the files again and tell \
             the user.",
            listed(conflicts.iter().map(String::as_str).collect())
        ))
    }
}

/// Takes back what interrupted sets did to closed files; what is left of each set are its documents. Blocking.
fn found(desk: &Desk, state_dir: &Path, known: &[PathBuf]) -> Vec<Pending> {
    let disk = &*desk.ports.disk;
    let orphans = match journal::orphans(disk, state_dir, &desk.folders) {
        Ok(orphans) => orphans,
        Err(error) => {
            error!(%error, "the journal of earlier runs could not be read");
            Vec::new()
        }
    };
    let orphans = orphans.into_iter().filter(|orphan| !known.contains(&orphan.path));
    orphans.map(|orphan| closed_back(desk, state_dir, orphan)).collect()
}

fn closed_back(desk: &Desk, state_dir: &Path, mut orphan: Orphan) -> Pending {
    let disk = &*desk.ports.disk;
    let record = &mut orphan.record;
    let mut outcome = Outcome { names: record.names(), ..Outcome::default() };
    let taken = take_back(disk, &record.steps);
    outcome.changed = taken.changed;
    let shown = |path: &Path| {
        let inside = desk.folders.iter().find_map(|folder| path.strip_prefix(folder).ok());
        inside.unwrap_or(path).display().to_string()
    };
    for (path, why) in &taken.failed {
        // The journal stays, and whoever comes next tries again.
        let why = format!("{why} (tried again at the next start)");
        outcome.conflicts.insert(shown(path), why);
    }
    let mut texts = Vec::new();
    for path in &taken.foreign {
        let name = shown(path);
        for step in record.steps.iter().filter(|step| step.paths().contains(&path.as_path())) {
            if let Step::Delete { old, .. } | Step::Rename { old, .. } | Step::Write { old, .. } = step {
                texts.push((name.clone(), old.clone()));
            }
        }
        outcome.conflicts.insert(name, "somebody else changed it since".to_owned());
    }
    if !texts.is_empty() {
        match journal::keep(disk, state_dir, &texts) {
            Ok(path) => outcome.kept.push(path),
            Err(error) => {
                error!(%error, "former texts could not be kept apart; the journal stays");
                return Pending { orphan: Orphan { record: Record::default(), ..orphan }, outcome };
            }
        }
    }
    tell_files(desk, &record.steps, taken.changed > 0);
    if taken.failed.is_empty() {
        record.steps.clear();
        if let Err(error) = note(disk, &orphan.path, record) {
            error!(%error, path = %orphan.path.display(), "the journal could not be brought up to date");
        }
    } else {
        record.documents.clear();
    }
    Pending { orphan, outcome }
}

/// What is left of a set, or that nothing is. Blocking.
fn note(disk: &dyn crate::ports::Disk, path: &Path, record: &Record) -> std::io::Result<()> {
    if record.documents.is_empty() && record.steps.is_empty() {
        journal::end(disk, path)?;
        journal::tidy(disk, path);
        return Ok(());
    }
    disk.replace(path, &record.encode()?, 0o600, &mut || true)
}

fn tell_files(desk: &Desk, steps: &[Step], changed: bool) {
    let mut paths: Vec<&Path> = steps.iter().flat_map(Step::paths).collect();
    paths.sort();
    paths.dedup();
    let told = paths.into_iter().map(|path| {
        let there = desk.ports.disk.link_metadata(path).is_ok();
        let kind = if there { FileChangeKind::Changed } else { FileChangeKind::Deleted };
        FileChanged { uri: uri_of_path(path), kind, by: Origin::Agent }
    });
    let told: Vec<FileChanged> = told.collect();
    if changed && !told.is_empty() {
        desk.editor.tell(News::Files(told));
    }
}

/// Keeps former texts apart; where.
async fn kept(desk: &Desk, texts: Vec<(String, Vec<u8>)>) -> Option<PathBuf> {
    let (disk, state_dir) = (Arc::clone(&desk.ports.disk), desk.state_dir.clone()?);
    let kept = apart(move || Ok(journal::keep(&*disk, &state_dir, &texts))).await.ok()?;
    kept.inspect_err(|error| error!(%error, "former texts could not be kept apart")).ok()
}

/// Takes the edit of an interrupted set back out of a document or file; whether there was any of it.
async fn undo(desk: &Desk, held: &Held) -> Result<bool, String> {
    let breaks = desk.documents.counting().breaks;
    let open = desk.documents.get(&held.key);
    let known = if open.is_some() { Known::Unknown } else { Known::Exact };
    let change = back(held, open.map(|document| document.uri), breaks, known);
    let never = CancellationToken::new();
    let turn = desk.queues.enter(&held.key, &never).await.map_err(|refusal| refusal.message)?;
    match in_turn(desk, &turn, &change, &never).await {
        Ok(committed) => Ok(!committed.splices.is_empty()),
        // It was never saved, and is gone with its buffer.
        Err(Refusal { kind: RefusalKind::NotFound, .. }) => Ok(false),
        Err(refusal) => Err(refusal.message),
    }
}

fn back(held: &Held, uri: Option<String>, breaks: crate::text::LineBreaks, known: Known) -> FileChange {
    let (before, after) = (Text::new(&held.before, breaks), Text::new(&held.after, breaks));
    let paths = match &held.key {
        Key::File(path) => vec![path.clone()],
        Key::Unnamed(_) => Vec::new(),
    };
    let uri = uri.unwrap_or_else(|| held.uri.clone());
    FileChange {
        target: Target { key: held.key.clone(), uri, shown: held.shown.clone(), paths, inside: true },
        rewrite: Arc::new(Reverse::new(&before, &after, known)),
        label: "Take back an interrupted change".to_owned(),
        fate: Fate::Stays,
    }
}
