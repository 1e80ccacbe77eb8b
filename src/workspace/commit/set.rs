//! Several changes as one: computed and checked first, then made, all of them or none.
//!
//! The turns of all documents are taken in the order of their keys, so that no two sets wait for each other. What is open
//! is changed first, for an editor refuses more often than a disk, and what was not begun need not be taken back.

mod compose;
mod perform;
mod plan;
mod steps;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use tracing::{error, warn};

use crate::editor::{FileChangeKind, FileChanged, News, Origin};
use crate::text::Text;
use crate::workspace::paths::Key;
use crate::workspace::{Refusal, RefusalKind};

use super::journal::{self, Held, Record};
use super::queues::Turn;
use super::reverse::{Known, Reverse};
use super::{Committed, Desk, Fate, FileChange, Preview, apart, deliver, in_own_task, in_turn, open, shape, words};

pub(in crate::workspace) use compose::compose;
pub(super) use perform::take_back;
pub(super) use steps::Step;

use perform::Failed;
use plan::{Item, Plan, plan};

/// So often a set is computed anew when documents were opened or closed meanwhile.
const TRIES: usize = 3;

/// Why a set was not made, and what of it could not be taken back.
#[derive(Debug, Clone)]
pub struct SetRefused {
    /// Why.
    pub refusal: Refusal,
    /// What is there all the same.
    pub left: Vec<Committed>,
    /// Which of the changes it was (0-based), where the change itself does not fit what is there by now: nothing was
    /// begun then, and without it the others may be made. `None`: something went wrong on the way.
    pub misfit: Option<usize>,
}

impl From<Refusal> for SetRefused {
    fn from(refusal: Refusal) -> SetRefused {
        SetRefused { refusal, left: Vec::new(), misfit: None }
    }
}

/// What several changes would do now, each of them; they are composed already.
pub(in crate::workspace) async fn preview_set(desk: &Desk, changes: &[FileChange]) -> Result<Vec<Preview>, Refusal> {
    if let [change] = changes
        && plain(change)
    {
        return Ok(vec![super::preview(desk, change).await?]);
    }
    let (desk, changes) = (desk.clone(), changes.to_vec());
    apart(move || {
        let previews = plan(&desk, changes).map_err(|(_, refusal)| refusal)?.items.into_iter().map(|item| {
            let unified_diff = diff(&item);
            Preview { before: item.before, after: item.shaped.after, rewritten: item.shaped.rewritten, unified_diff }
        });
        Ok(previews.collect())
    })
    .await
}

/// Whether a change is one of a text and of nothing else.
fn plain(change: &FileChange) -> bool {
    change.fate == Fate::Stays && change.rewrite.executable().is_none()
}

/// The change as a unified diff, with what becomes of the file itself.
fn diff(item: &Item) -> String {
    let shown = &item.change.target.shown;
    let empty = Text::new("", item.shaped.after.breaks());
    let diff = shape::unified(shown, item.before.as_ref().unwrap_or(&empty), &item.shaped.after);
    with_fate(&item.change, item.executable, diff)
}

/// The mode of a file that can be run, or of one that cannot, as git names it.
pub fn git_mode(runs: bool) -> &'static str {
    if runs { "100755" } else { "100644" }
}

/// A diff, and before it what becomes of the file itself; of a mode, which it had and which it gets.
pub(super) fn with_fate(change: &FileChange, executable: Option<(bool, bool)>, diff: String) -> String {
    let shown = &change.target.shown;
    let diff = match executable.filter(|_| change.fate != Fate::Deleted) {
        Some((was, is)) => format!("old mode {} of {shown}\nnew mode {}\n{diff}", git_mode(was), git_mode(is)),
        None => diff,
    };
    match &change.fate {
        Fate::Stays => diff,
        Fate::Deleted => format!("deleted file {shown}\n{diff}"),
        Fate::Moved { to } => format!("rename from {shown}\nrename to {}\n{diff}", to.shown),
    }
}

/// Makes several changes, all of them or none. They are composed already: once more, a name that one of them gives up and
/// another takes would be taken for the same file.
pub(in crate::workspace) async fn commit_set(
    desk: Desk,
    changes: Vec<FileChange>,
    cancel: &CancellationToken,
) -> Result<Vec<Committed>, SetRefused> {
    if let [change] = changes.as_slice()
        && plain(change)
    {
        return Ok(vec![super::commit(desk, change.clone(), cancel).await?]);
    }
    let made = in_own_task(cancel, move |cancel| async move {
        let keys = keys(&changes);
        for key in &keys {
            desk.recovery.before(&desk, key).await;
        }
        let mut turns = BTreeMap::new();
        for key in keys {
            let turn = desk.queues.enter(&key, &cancel).await?;
            turns.insert(key, turn);
        }
        for _ in 0..TRIES {
            match (Set { desk: &desk, turns: &turns, cancel: &cancel }).make(&changes).await {
                Ok(done) => {
                    desk.landed(leaving_first(&done));
                    return Ok(done);
                }
                Err(Stopped::Opened) => {}
                Err(Stopped::For(refused)) => {
                    desk.landed(leaving_first(&refused.left));
                    return Err(refused);
                }
            }
        }
        let words =
            "Documents were opened and closed again and again while they were being changed; nothing was changed.";
        Err(Refusal::new(RefusalKind::Conflict, words).into())
    });
    let Some(made) = made.await else {
        return Err(Refusal::new(RefusalKind::Cancelled, "Cancelled: the program is ending.").into());
    };
    made
}

/// The keys of all files and documents that are touched, in their order.
fn keys(changes: &[FileChange]) -> BTreeSet<Key> {
    changes.iter().flat_map(ends).collect()
}

/// The keys that a change touches: where its file is, and where it goes.
fn ends(change: &FileChange) -> Vec<Key> {
    match &change.fate {
        Fate::Moved { to } => vec![change.target.key.clone(), to.key.clone()],
        Fate::Stays | Fate::Deleted => vec![change.target.key.clone()],
    }
}

/// Changes in such an order that a name is given up before another file takes it; in a ring of names that cannot be.
fn leaving_first(done: &[Committed]) -> Vec<&Committed> {
    fn takes(one: &Committed) -> Option<&Key> {
        match &one.fate {
            Fate::Moved { to } => Some(&to.key),
            Fate::Stays => Some(&one.target.key),
            Fate::Deleted => None,
        }
    }
    let mut leaving: HashMap<&Key, usize> = HashMap::new();
    for one in done.iter().filter(|one| one.fate != Fate::Stays) {
        *leaving.entry(&one.target.key).or_default() += 1;
    }
    let mut waiting: HashMap<&Key, Vec<usize>> = HashMap::new();
    let (mut left, mut free) = (BTreeSet::new(), BTreeSet::new());
    for (at, one) in done.iter().enumerate() {
        left.insert(at);
        match takes(one).filter(|key| leaving.contains_key(key)) {
            Some(key) => waiting.entry(key).or_default().push(at),
            None => drop(free.insert(at)),
        }
    }
    let mut order = Vec::with_capacity(done.len());
    while let Some(at) = free.first().or(left.first()).copied() {
        free.remove(&at);
        left.remove(&at);
        let next = &done[at];
        order.push(next);
        let given_up = (next.fate != Fate::Stays).then_some(&next.target.key);
        if let Some(count) = given_up.and_then(|key| leaving.get_mut(key)) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                let freed = waiting.remove(&next.target.key).unwrap_or_default();
                free.extend(freed.into_iter().filter(|at| left.contains(at)));
            }
        }
    }
    order
}

/// Why one try did not make the set.
enum Stopped {
    /// A document was opened or closed meanwhile; everything is as it was.
    Opened,
    /// Something else.
    For(SetRefused),
}

/// A set on its way, in the turns of all its documents.
struct Set<'a> {
    desk: &'a Desk,
    turns: &'a BTreeMap<Key, Turn>,
    cancel: &'a CancellationToken,
}

impl Set<'_> {
    async fn make(&self, changes: &[FileChange]) -> Result<Vec<Committed>, Stopped> {
        let (desk, all) = (self.desk.clone(), changes.to_vec());
        let planned = apart(move || Ok(plan(&desk, all))).await.map_err(whole)?;
        let plan = Arc::new(
            planned
                .map_err(|(at, refusal)| Stopped::For(SetRefused { refusal, left: Vec::new(), misfit: Some(at) }))?,
        );
        let journal = self.begin(&plan).await.map_err(whole)?;
        if self.cancel.is_cancelled() {
            let words = "Cancelled before anything was changed.";
            self.end(journal.as_ref()).await;
            return Err(whole(Refusal::new(RefusalKind::Cancelled, words)));
        }
        let mut open = BTreeMap::new();
        let mut stopped = None;
        for (at, item) in plan.items.iter().enumerate().filter(|(_, item)| item.document.is_some()) {
            // Once the first edit may have been sent, all the others go after it.
            let cancel = if open.is_empty() { self.cancel.clone() } else { CancellationToken::new() };
            match self.edit(&item.change, &cancel).await {
                Ok(Some(committed)) => drop(open.insert(at, committed)),
                Ok(None) => stopped = Some((0, Failed::Opened)),
                Err(refusal) => stopped = Some((0, Failed::Because(refusal))),
            }
            if stopped.is_some() {
                break;
            }
        }
        if stopped.is_none() {
            let (desk, worker, journalled) = (self.desk.clone(), Arc::clone(&plan), journal.is_some());
            let done = apart(move || Ok(perform::perform(&desk, &worker, journalled))).await;
            stopped = match done {
                Ok(Ok(())) => None,
                Ok(Err(stopped)) => Some(stopped),
                Err(refusal) => Some((plan.steps.len(), Failed::Because(refusal))),
            };
        }
        let Some((steps, why)) = stopped else {
            let kept = self.end(journal.as_ref()).await;
            let mut done = self.done(&plan, open).await;
            if let (Some(words), Some(last)) = (kept, done.last_mut()) {
                last.notes.push(words);
            }
            return Ok(done);
        };
        Err(self.roll_back(&plan, open, steps, why, journal).await)
    }

    /// The edit of one document; `None` when it is not open any more.
    async fn edit(&self, change: &FileChange, cancel: &CancellationToken) -> Result<Option<Committed>, Refusal> {
        let key = &change.target.key;
        let (Some((now, events)), Some(turn)) = (self.desk.documents.watch(key), self.turns.get(key)) else {
            return Ok(None);
        };
        let mut committed = open::commit(self.desk, turn, deliver::Watch { now, events }, change, cancel).await?;
        committed.notes.extend(self.desk.queues.take_late(key));
        Ok(Some(committed))
    }

    /// Writes down what is about to be done, where there is a place for it.
    async fn begin(&self, plan: &Arc<Plan>) -> Result<Option<PathBuf>, Refusal> {
        let Some(state_dir) = self.desk.state_dir.clone() else { return Ok(None) };
        let (desk, plan) = (self.desk.clone(), Arc::clone(plan));
        let written = apart(move || {
            let documents = plan.items.iter().filter_map(|item| {
                let document = item.document.as_ref()?;
                Some(Held {
                    key: document.key.clone(),
                    uri: document.uri.clone(),
                    shown: item.change.target.shown.clone(),
                    before: document.text.to_string(),
                    after: item.shaped.after.to_string(),
                })
            });
            let documents = documents.filter(|held| held.before != held.after).collect();
            let record = Record { folders: desk.folders.clone(), steps: plan.steps.clone(), documents };
            if record.steps.is_empty() && record.documents.is_empty() {
                return Ok(Ok(None));
            }
            Ok(desk.recovery.begin(&desk, &state_dir, &record).map(Some))
        });
        written.await?.map_err(|error| {
            error!(%error, "a set cannot be written down");
            Refusal::new(
                RefusalKind::Failed,
                format!(
                    "What protects a change of several files against a crash cannot be written ({error}). Nothing was \
                     changed. Change the files one by one, and tell the user."
                ),
            )
        })
    }

    /// The set is complete, or taken back. What to tell when the journal stays and would undo it.
    async fn end(&self, journal: Option<&PathBuf>) -> Option<String> {
        let (disk, path) = (Arc::clone(&self.desk.ports.disk), journal?.clone());
        let ended = apart(move || Ok(journal::end(&*disk, &path))).await.ok()?;
        let error = ended.err()?;
        Some(words::journal_stays(journal?, &error))
    }

    /// Takes back what was made, and tells what could not be.
    async fn roll_back(
        &self,
        plan: &Arc<Plan>,
        open: BTreeMap<usize, Committed>,
        steps: usize,
        why: Failed,
        journal: Option<PathBuf>,
    ) -> Stopped {
        let (disk, worker) = (Arc::clone(&self.desk.ports.disk), Arc::clone(plan));
        let taken = apart(move || Ok(take_back(&*disk, &worker.steps[..steps]))).await;
        let taken = taken.unwrap_or_else(|refusal| {
            let lost = plan.steps[..steps].iter().flat_map(Step::paths);
            perform::TakenBack {
                failed: lost.map(|path| (path.to_owned(), refusal.message.clone())).collect(),
                ..perform::TakenBack::default()
            }
        });
        // Of two changes that touch one name the first counts.
        let closed = plan.items.iter().enumerate().rev().filter(|(_, item)| item.document.is_none());
        let owners: HashMap<Key, usize> =
            closed.flat_map(|(at, item)| ends(&item.change).into_iter().map(move |key| (key, at))).collect();
        let mut reasons: BTreeMap<usize, String> = BTreeMap::new();
        for path in taken.foreign.iter().chain(taken.failed.keys()) {
            let why = taken.failed.get(path).map_or("somebody else changed it meanwhile", String::as_str);
            let owner = owners.get(&Key::File(path.clone())).copied();
            reasons.entry(owner.unwrap_or(0)).or_insert_with(|| why.to_owned());
        }
        let mut left: BTreeMap<usize, Committed> = BTreeMap::new();
        for (at, committed) in open.into_iter().rev() {
            if let Err(refusal) = self.undo(&plan.items[at].change, &committed).await {
                reasons.insert(at, refusal.message);
                left.insert(at, committed);
            }
        }
        for at in reasons.keys() {
            if plan.items[*at].document.is_none() {
                left.insert(*at, of_disk(&plan.items[*at]));
            }
        }
        let kept = if left.is_empty() { None } else { self.keep(&left).await };
        self.end(journal.as_ref()).await;
        self.tell(plan, left.values());
        let refusal = match why {
            Failed::Opened if left.is_empty() => return Stopped::Opened,
            Failed::Opened => Refusal::new(RefusalKind::Conflict, "A document was opened or closed meanwhile."),
            Failed::Because(refusal) => refusal,
        };
        Stopped::For(SetRefused {
            refusal: told(refusal, plan, &left, &reasons, kept),
            left: left.into_values().collect(),
            misfit: None,
        })
    }

    /// Takes one edit back out of its document, wherever it is by now.
    async fn undo(&self, change: &FileChange, committed: &Committed) -> Result<(), Refusal> {
        let Some(turn) = self.turns.get(&change.target.key) else { return Ok(()) };
        let Some(before) = &committed.before else { return Ok(()) };
        if committed.splices.is_empty() {
            return Ok(());
        }
        // Closed since, its file has the edit only if it was saved with it.
        let open = self.desk.documents.get(&change.target.key).is_some();
        let known = if open { Known::Landed } else { Known::Unknown };
        let rewrite = Arc::new(Reverse::new(before, &committed.after, known));
        let back = FileChange { rewrite, label: format!("Undo: {}", change.label), ..change.clone() };
        match in_turn(self.desk, turn, &back, &CancellationToken::new()).await {
            Ok(done) => {
                let versions = committed.version_before.zip(done.version_after);
                self.desk.checkpoints.taken_back(&change.target.key, versions);
                Ok(())
            }
            // It was never saved, and is gone with its buffer.
            Err(refusal) if !open && refusal.kind == RefusalKind::NotFound => Ok(()),
            Err(refusal) => Err(refusal),
        }
    }

    /// Puts the former texts of what could not be taken back where a person finds them.
    async fn keep(&self, left: &BTreeMap<usize, Committed>) -> Option<PathBuf> {
        let (disk, state_dir) = (Arc::clone(&self.desk.ports.disk), self.desk.state_dir.clone()?);
        let text = |committed: &Committed| {
            let before = committed.before.as_ref()?;
            Some((committed.target.shown.clone(), before.to_string().into_bytes()))
        };
        let texts: Vec<(String, Vec<u8>)> = left.values().filter_map(text).collect();
        let kept = apart(move || Ok(journal::keep(&*disk, &state_dir, &texts))).await.ok()?;
        kept.inspect_err(|error| warn!(%error, "former texts could not be kept apart")).ok()
    }

    /// What was made, in the order of the changes.
    async fn done(&self, plan: &Arc<Plan>, mut open: BTreeMap<usize, Committed>) -> Vec<Committed> {
        let worker = Arc::clone(plan);
        let closed = move || {
            let items = worker.items.iter().map(|item| item.document.is_none().then(|| of_disk(item)));
            Ok(items.collect::<Vec<_>>())
        };
        let closed = apart(closed).await.unwrap_or_else(|_| vec![None; plan.items.len()]);
        let opened = |(at, mut committed): (usize, Committed)| {
            let item = &plan.items[at];
            committed.notes.extend(item.notes.iter().cloned());
            if let Some((was, is)) = item.executable {
                committed.executable = Some((was, is));
                committed.notes.retain(|note| note != open::ALREADY_SO);
                let diff = std::mem::take(&mut committed.unified_diff);
                committed.unified_diff = with_fate(&item.change, item.executable, diff);
            }
            committed
        };
        let done: Vec<Committed> = closed
            .into_iter()
            .enumerate()
            .filter_map(|(at, closed)| closed.or_else(|| open.remove_entry(&at).map(opened)))
            .collect();
        self.tell(plan, done.iter());
        done
    }

    /// Tells the editor what became of files.
    fn tell<'a>(&self, plan: &Plan, committed: impl Iterator<Item = &'a Committed>) {
        let mut told = Vec::new();
        // Of two changes under one name the first counts.
        let items = plan.items.iter().rev();
        let origins: HashMap<&Key, Origin> =
            items.map(|item| (&item.change.target.key, item.change.rewrite.origin())).collect();
        for committed in committed.filter(|committed| committed.version_before.is_none()) {
            let by = origins.get(&committed.target.key).copied().unwrap_or(Origin::Agent);
            let mut tell = |uri: &str, kind| told.push(FileChanged { uri: uri.to_owned(), kind, by });
            match &committed.fate {
                Fate::Deleted => tell(&committed.target.uri, FileChangeKind::Deleted),
                Fate::Moved { to } => {
                    tell(&committed.target.uri, FileChangeKind::Deleted);
                    tell(&to.uri, FileChangeKind::Created);
                }
                Fate::Stays if committed.before.is_none() => tell(&committed.target.uri, FileChangeKind::Created),
                Fate::Stays if committed.splices.is_empty() => {}
                Fate::Stays => tell(&committed.target.uri, FileChangeKind::Changed),
            }
        }
        if !told.is_empty() {
            self.desk.editor.tell(News::Files(told));
        }
    }
}

fn whole(refusal: Refusal) -> Stopped {
    Stopped::For(refusal.into())
}

/// The outcome of a change on the disk.
fn of_disk(item: &Item) -> Committed {
    let FileChange { target, fate, .. } = &item.change;
    let mut notes = item.shaped.rewritten.notes.clone();
    notes.extend(item.notes.iter().cloned());
    if item.left_open {
        notes.push(format!(
            "The editor still has {} open; its buffer was left as it is, and saving it would make the file anew",
            target.shown
        ));
    }
    let same = item.before.is_some() && item.shaped.rewritten.splices.is_empty() && item.executable.is_none();
    if *fate == Fate::Stays && same {
        notes.push("The file was already so; nothing was changed.".to_owned());
    }
    Committed {
        target: target.clone(),
        fate: fate.clone(),
        before: item.before.clone(),
        after: item.shaped.after.clone(),
        splices: item.shaped.rewritten.splices.clone(),
        version_before: None,
        version_after: None,
        unsaved: false,
        late: false,
        executable: item.executable,
        hunks: item.shaped.rewritten.hunks.clone(),
        notes,
        unified_diff: diff(item),
    }
}

/// The refusal of a set: why, that it counts for all of it, and what is there all the same.
fn told(
    refusal: Refusal,
    plan: &Plan,
    left: &BTreeMap<usize, Committed>,
    reasons: &BTreeMap<usize, String>,
    kept: Option<PathBuf>,
) -> Refusal {
    let count = plan.items.len();
    let mut message = refusal.message;
    if count < 2 && left.is_empty() {
        return Refusal { message, ..refusal };
    }
    if left.is_empty() {
        let unknown = if refusal.kind == RefusalKind::Unknown { " beside it" } else { "" };
        message
            .extend([format!("\nThe {count} files are changed together or not at all: nothing{unknown} was changed.")]);
        return Refusal { message, ..refusal };
    }
    message
        .extend([format!("\nThe {count} files are changed together or not at all, but this could not be taken back:")]);
    for at in left.keys() {
        let why = reasons.get(at).map_or("", String::as_str);
        message.extend([format!("\n- {}: {why}", plan.items[*at].change.target.shown)]);
    }
    if let Some(kept) = kept {
        message.extend([format!("\nFormer texts are in {}.", kept.display())]);
    }
    message.push_str("\nRead these files again before anything else.");
    Refusal { message, ..refusal }
}
