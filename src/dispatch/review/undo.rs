//! Undoing what agents changed, and undoing that: all files of it together or none, but for those in which the person
//! has done something that an undo would take away.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use tokio_util::sync::CancellationToken;

use crate::dispatch::Dispatch;
use crate::tool::{ErrorKind, ToolError};
use crate::workspace::checkpoints::{Became, Change, Did, Drawn, Kind, Left, MarkId, Pending, Redrawn, Selection};
use crate::workspace::commit::{Landed, SetRefused};
use crate::workspace::{Committed, Fate, FileChange, Key, Refusal, RefusalKind, Target};

use super::back::{Back, What, anew, bare};
use super::told::{ChangesParams, Outcome, UndoEdit, UndoParams, UndoResult, UndoneHunk};
use super::verdicts::Verdict;

/// So often an undo is worked out anew when texts become ones that it does not fit.
const TRIES: usize = 3;

const TIRED: &str = "It changed again and again meanwhile; try once more.";

/// The name of an undo.
pub(super) fn name(number: u64) -> String {
    format!("u{number}")
}

fn number(name: &str) -> Option<u64> {
    name.strip_prefix('u')?.parse().ok()
}

/// What was undone, and what stays.
type Landing = (BTreeSet<MarkId>, Vec<Left>);

/// What came of an undo in one file.
#[derive(Default)]
struct Came {
    undone: BTreeSet<MarkId>,
    left: Vec<Left>,
    /// What stays of the file itself, and why.
    stays: Option<String>,
    /// Nothing was done at all, and why.
    refused: Option<String>,
    edit: Option<UndoEdit>,
}

impl Came {
    fn refused(why: &str) -> Came {
        Came { refused: Some(why.to_owned()), ..Came::default() }
    }
}

/// One file of an undo.
struct Part {
    drawn: Drawn,
    /// Why the file, which the call made, cannot be deleted.
    file_stays: Option<String>,
    came: Option<Came>,
}

/// What is said of a file that was made, and is open with changes that are not saved.
const EMPTIED: &str = "The file stays, for it is open with changes that are not saved; what was written into it is gone from \
                       the buffer. Close it without saving, and delete the file.";

/// What an undo would do with a file.
enum Way {
    /// Nothing, and why.
    Settled(Came),
    /// Nothing, for the file is as it was before: it counts as undone once the others are.
    Gone,
    /// This change.
    Change(Box<Doing>, Option<String>),
}

/// A change of one file, as part of an undo.
struct Doing {
    change: FileChange,
    did: Did,
}

/// What hears of the change of a file (by its number) in the moment in which it is made.
type Heard = dyn Fn(usize, &Committed) + Send + Sync;

/// Why an undo was not made.
struct Halt {
    refusal: Refusal,
    /// The file, by its number, that does not fit what is there by now; nothing was begun.
    misfit: Option<usize>,
    /// What is there all the same.
    edits: BTreeMap<usize, Option<UndoEdit>>,
}

impl Dispatch {
    /// Takes changes back out of their files, wherever they are by now, or takes that back.
    pub async fn undo_changes(&self, params: UndoParams) -> Result<UndoResult, ToolError> {
        let UndoParams { choice, undo_id } = params;
        if let Some(undo) = &undo_id {
            if choice != ChangesParams::default() {
                let words =
                    "undoId came with a choice of changes; expected one of them: undoId alone undoes that undo.";
                return Err(ToolError::new(ErrorKind::InvalidArguments, words));
            }
            return self.redo_changes(undo).await;
        }
        let selection = self.selected(&choice).await?;
        let checkpoints = &self.workspace.checkpoints;
        let drawn = checkpoints.draw(&selection);
        let mut result = UndoResult::default();
        for (target, hunks) in checkpoints.missing(&selection) {
            let left = |hunk_id| UndoneHunk {
                hunk_id,
                uri: target.uri.clone(),
                outcome: Outcome::Left,
                why: Some(format!("{} is not there any more; nothing was changed.", target.shown)),
            };
            result.hunks.extend(hunks.into_iter().map(left));
        }
        if drawn.is_empty() {
            return Ok(result);
        }
        let number = checkpoints.number_undo();
        let part = |drawn| Part { drawn, file_stays: None, came: None };
        let mut parts: Vec<Part> = drawn.into_iter().map(part).collect();
        self.undo_all(&mut parts, number).await;
        for Part { drawn, came, .. } in parts {
            let came = came.unwrap_or_else(|| Came::refused(TIRED));
            if !came.undone.is_empty() {
                result.undo_id = Some(name(number));
            }
            for hunk in &drawn.hunks {
                let told = told(hunk, &came);
                if told.outcome != Outcome::Left {
                    let verdicts = &self.review.verdicts;
                    let verdict = if told.outcome == Outcome::Partly { Verdict::Partly } else { Verdict::Undone };
                    verdicts.judged(&hunk.by.session, &hunk.hunk, verdict, &super::place(hunk));
                }
                result.hunks.push(told);
            }
            result.edits.extend(came.edit);
        }
        self.told_undo(&result);
        Ok(result)
    }

    fn told_undo(&self, result: &UndoResult) {
        let changed = result.hunks.iter().filter(|hunk| hunk.outcome != Outcome::Left).map(|hunk| hunk.uri.clone());
        let edited = result.edits.iter().map(|edit| edit.uri.clone());
        self.changes_changed(changed.chain(edited).collect());
    }

    /// Undoes what it can of all files at once. A file that does not fit because of what the person did stays as it is,
    /// and the others go on without it; whatever else goes wrong leaves all of them as they were.
    async fn undo_all(&self, parts: &mut [Part], number: u64) {
        let mut tries = 0;
        while tries < TRIES {
            let (mut doings, mut stays, mut gone) = (Vec::new(), BTreeMap::new(), Vec::new());
            for (at, part) in parts.iter_mut().enumerate().filter(|(_, part)| part.came.is_none()) {
                match self.way(part) {
                    Way::Settled(came) => part.came = Some(came),
                    Way::Gone => gone.push(at),
                    Way::Change(doing, stay) => {
                        doings.push((at, *doing));
                        stays.insert(at, stay);
                    }
                }
            }
            let dids: BTreeMap<usize, Did> = doings.iter().map(|(at, doing)| (*at, doing.did.clone())).collect();
            let landings: Arc<Mutex<BTreeMap<usize, Landing>>> = Arc::default();
            let heard: Arc<Heard> = {
                let (book, landings, dids) =
                    (Arc::clone(&self.workspace.checkpoints), Arc::clone(&landings), dids.clone());
                let drawn: BTreeMap<usize, Drawn> = dids.keys().map(|at| (*at, parts[*at].drawn.clone())).collect();
                Arc::new(move |at, committed| {
                    let (Some(drawn), Some(did)) = (drawn.get(&at), dids.get(&at)) else { return };
                    let undone = book.undone(drawn, Some(&Change::of(committed)), did.clone(), number);
                    landings.lock().unwrap_or_else(PoisonError::into_inner).insert(at, undone);
                })
            };
            let done = self.land(doings, heard).await;
            let (edits, halt) = match done {
                Ok(edits) => (edits, None),
                Err(Halt { edits, refusal, misfit }) => (edits, Some((refusal, misfit))),
            };
            let mut landings = std::mem::take(&mut *landings.lock().unwrap_or_else(PoisonError::into_inner));
            let stuck = !edits.is_empty();
            for (at, edit) in edits {
                let (undone, left) = landings.remove(&at).unwrap_or_default();
                let stays = stays.remove(&at).flatten();
                parts[at].came = Some(Came { undone, left, stays, edit, refused: None });
            }
            let Some((refusal, misfit)) = halt else {
                for at in gone {
                    let drawn = &parts[at].drawn;
                    let (undone, left) = self.workspace.checkpoints.undone(drawn, None, Did::Nothing, number);
                    parts[at].came = Some(Came { undone, left, ..Came::default() });
                }
                return;
            };
            let alone = (dids.len() == 1).then(|| dids.keys().next().copied()).flatten();
            match misfit.or(alone) {
                _ if stuck => {}
                _ if anew(&refusal) => {
                    tries += 1;
                    continue;
                }
                // What is open with changes that are not saved is not deleted, for a buffer would be left that makes it
                // anew. Nothing in it is the person's, so that the buffer can be emptied of what the call wrote. A file
                // that cannot be deleted for any other reason stays as it is: an empty one would be no undo.
                Some(at)
                    if dids.get(&at) == Some(&Did::Deleted)
                        && refusal.kind == RefusalKind::Conflict
                        && self.open_unsaved(&parts[at]).await =>
                {
                    parts[at].file_stays = Some(EMPTIED.to_owned());
                    continue;
                }
                Some(at) if misfit.is_some() && of_the_person(&refusal) => {
                    parts[at].came = Some(Came::refused(&refusal.message));
                    continue;
                }
                _ => {}
            }
            for part in parts.iter_mut().filter(|part| part.came.is_none()) {
                part.came = Some(Came::refused(&refusal.message));
            }
            return;
        }
    }

    /// Whether the file of a part, which nothing was tried with but to delete it, is open with changes that are not saved.
    async fn open_unsaved(&self, part: &Part) -> bool {
        let key = &part.drawn.target.key;
        let open = self.workspace.documents.get(key).filter(|_| part.file_stays.is_none());
        match open {
            Some(document) => !self.workspace.on_disk(key, &document.text).await,
            None => false,
        }
    }

    /// What an undo would do with one file, as far as is known.
    fn way(&self, part: &Part) -> Way {
        let Part { drawn, file_stays, .. } = part;
        let Some(planned) = self.workspace.checkpoints.undo_of(drawn.page, None, &drawn.which) else {
            return Way::Settled(Came::refused("It is no change any more."));
        };
        let empty = bare(&planned.text.to_string()).is_empty();
        let created = drawn.became.contains(&Became::Created);
        let from = drawn.became.iter().find_map(|became| match became {
            Became::Moved { from } => Some(from.clone()),
            Became::Created | Became::Deleted | Became::Executable { .. } => None,
        });
        // What it was before the first of them.
        let set = drawn.became.iter().find_map(|became| match became {
            Became::Executable { now } => Some(!now),
            _ => None,
        });
        let (target, fate, did) = if drawn.gone {
            if !drawn.became.contains(&Became::Deleted) {
                return Way::Settled(Came::refused("The file was deleted since by another call; undo that first."));
            }
            if created && empty {
                return Way::Gone;
            }
            (from.unwrap_or_else(|| drawn.target.clone()), Fate::Stays, Did::Created)
        } else if created && empty && planned.left.is_empty() && file_stays.is_none() {
            (drawn.target.clone(), Fate::Deleted, Did::Deleted)
        } else if let Some(to) = from {
            let did = Did::Moved { from: drawn.target.clone() };
            (drawn.target.clone(), Fate::Moved { to }, did)
        } else if planned.undone.is_empty() && !planned.left.is_empty() && set.is_none() {
            return Way::Settled(Came { left: planned.left, ..Came::default() });
        } else {
            (drawn.target.clone(), Fate::Stays, Did::Text)
        };
        let stays = (created && did == Did::Text)
            .then(|| file_stays.clone().unwrap_or_else(|| "The file stays: there is text of yours in it.".to_owned()));
        let what = What::Undo(drawn.which.clone());
        let executable = match did {
            Did::Deleted | Did::Nothing => None,
            Did::Created => set.or(drawn.executable.then_some(true)),
            Did::Text | Did::Moved { .. } => set,
        };
        let doing = self.doing(drawn.page, what, (did, executable), (target, fate), "Undo an agent's change");
        Way::Change(Box::new(doing), stays)
    }

    fn doing(
        &self,
        page: u64,
        what: What,
        (did, executable): (Did, Option<bool>),
        (target, fate): (Target, Fate),
        label: &str,
    ) -> Doing {
        let (checkpoints, shown) = (Arc::clone(&self.workspace.checkpoints), target.shown.clone());
        let rewrite = Arc::new(Back { checkpoints, page, what, did: did.clone(), executable, shown });
        Doing { change: FileChange { target, rewrite, label: label.to_owned(), fate }, did }
    }

    /// Makes the changes of an undo, all or none of them; of each file, by its number, what was made (if anything).
    async fn land(
        &self,
        mut doings: Vec<(usize, Doing)>,
        heard: Arc<Heard>,
    ) -> Result<BTreeMap<usize, Option<UndoEdit>>, Halt> {
        if doings.is_empty() {
            return Ok(BTreeMap::new());
        }
        // A name is given up before another file is made under it.
        doings.sort_by_key(|(_, doing)| doing.change.fate == Fate::Stays);
        let name = |key: &Key, fate: &Fate| (key.clone(), *fate == Fate::Stays);
        let files: BTreeMap<(Key, bool), usize> =
            doings.iter().map(|(at, doing)| (name(&doing.change.target.key, &doing.change.fate), *at)).collect();
        let landed: Landed = {
            let files = files.clone();
            Arc::new(move |committed| {
                if let Some(at) = files.get(&name(&committed.target.key, &committed.fate)) {
                    heard(*at, committed);
                }
            })
        };
        let numbers: Vec<usize> = doings.iter().map(|(at, _)| *at).collect();
        let changes: Vec<FileChange> = doings.into_iter().map(|(_, doing)| doing.change).collect();
        let done = self.workspace.commit_set_then(&changes, &CancellationToken::new(), landed).await;
        let (made, refused) = match done {
            Ok(made) => (made, None),
            Err(SetRefused { refusal, left, misfit }) => (left, Some((refusal, misfit))),
        };
        let mut edits = BTreeMap::new();
        for committed in made {
            self.world.changed();
            if committed.version_after.is_none() {
                self.tell_servers(&committed);
            }
            if let Some(at) = files.get(&name(&committed.target.key, &committed.fate)) {
                edits.insert(*at, edit(committed));
            }
        }
        match refused {
            None => Ok(edits),
            Some((refusal, misfit)) => {
                Err(Halt { refusal, misfit: misfit.and_then(|at| numbers.get(at).copied()), edits })
            }
        }
    }

    /// Undoes an undo.
    async fn redo_changes(&self, undo: &str) -> Result<UndoResult, ToolError> {
        self.review_ready().await;
        let checkpoints = &self.workspace.checkpoints;
        let redrawn = number(undo).map(|number| (number, checkpoints.redraw(number)));
        let Some((number, redrawn)) = redrawn.filter(|(_, redrawn)| !redrawn.is_empty()) else {
            let words = format!(
                "There is no undo {undo:?}: it was undone already, or is too old; ropewalk/changes lists those there are."
            );
            return Err(ToolError::new(ErrorKind::InvalidArguments, words));
        };
        let mut result = UndoResult::default();
        let came = self.redo_all(&redrawn, number).await;
        for (one, came) in redrawn.iter().zip(came) {
            for hunk_id in &one.hunks {
                let (outcome, why) = match &came {
                    Ok((landing, _)) => restored(hunk_id, landing),
                    Err(why) => (Outcome::Left, Some(why.clone())),
                };
                result.hunks.push(UndoneHunk { hunk_id: hunk_id.clone(), uri: one.target.uri.clone(), outcome, why });
            }
            result.edits.extend(came.ok().and_then(|(_, edit)| edit));
        }
        let restored = result.hunks.iter().filter(|hunk| hunk.outcome != Outcome::Left);
        for hunk in restored {
            let selection = Selection { hunk: Some(hunk.hunk_id.clone()), ..Default::default() };
            for pending in checkpoints.pending(&selection) {
                let verdicts = &self.review.verdicts;
                verdicts.judged(&pending.by.session, &pending.hunk, Verdict::Restored, &super::place(&pending));
            }
        }
        self.told_undo(&result);
        Ok(result)
    }

    /// Brings back what an undo took away, as [`Dispatch::undo_all`] undoes: what came of each file.
    async fn redo_all(&self, redrawn: &[Redrawn], number: u64) -> Vec<Result<(Landing, Option<UndoEdit>), String>> {
        let checkpoints = &self.workspace.checkpoints;
        for one in redrawn.iter().filter(|one| !matches!(one.did, Did::Nothing | Did::Deleted)) {
            self.look_at(one.page, &one.target).await;
        }
        let pages: Vec<u64> = redrawn.iter().map(|one| one.page).collect();
        let landings: Arc<Mutex<BTreeMap<usize, Landing>>> = Arc::default();
        let heard: Arc<Heard> = {
            let (book, pages, landings) = (Arc::clone(checkpoints), pages.clone(), Arc::clone(&landings));
            Arc::new(move |at, committed| {
                let restored = book.redone(pages[at], Some(&Change::of(committed)), number);
                landings.lock().unwrap_or_else(PoisonError::into_inner).insert(at, restored);
            })
        };
        let mut came: Vec<Option<Result<_, String>>> = redrawn.iter().map(|_| None).collect();
        loop {
            let open = redrawn.iter().enumerate().filter(|(at, _)| came[*at].is_none());
            let doings = open.filter_map(|(at, one)| {
                let fate = match &one.did {
                    Did::Nothing => return None,
                    Did::Text | Did::Deleted => Fate::Stays,
                    Did::Created => Fate::Deleted,
                    Did::Moved { from } => Fate::Moved { to: from.clone() },
                };
                let what = What::Redo(number, one.made.clone());
                let place = (one.target.clone(), fate);
                let did = (one.did.clone(), one.executable);
                Some((at, self.doing(one.page, what, did, place, "Bring an agent's change back")))
            });
            let done = self.land(doings.collect(), Arc::clone(&heard)).await;
            let (edits, halt) = match done {
                Ok(edits) => (edits, None),
                Err(Halt { edits, refusal, misfit }) => (edits, Some((refusal, misfit))),
            };
            let stuck = !edits.is_empty();
            for (at, edit) in edits {
                let landing = landings.lock().unwrap_or_else(PoisonError::into_inner).remove(&at).unwrap_or_default();
                came[at] = Some(Ok((landing, edit)));
            }
            match halt {
                None => {
                    for (at, one) in came.iter_mut().enumerate().filter(|(_, one)| one.is_none()) {
                        *one = Some(Ok((checkpoints.redone(pages[at], None, number), None)));
                    }
                }
                Some((refusal, Some(at))) if !stuck && of_the_person(&refusal) => {
                    came[at] = Some(Err(refusal.message));
                    continue;
                }
                Some((refusal, _)) => {
                    for one in came.iter_mut().filter(|one| one.is_none()) {
                        *one = Some(Err(refusal.message.clone()));
                    }
                }
            }
            return came.into_iter().flatten().collect();
        }
    }
}

/// Whether a file that does not fit is as it is by somebody's doing, and not for want of a right or a disk.
fn of_the_person(refusal: &Refusal) -> bool {
    matches!(refusal.kind, RefusalKind::Conflict | RefusalKind::NotFound)
}

/// What an undo made of a file, for a person.
fn edit(committed: Committed) -> Option<UndoEdit> {
    let Committed { target, fate, before, splices, executable, version_after, unsaved, unified_diff, .. } = committed;
    if fate == Fate::Stays && before.is_some() && splices.is_empty() && executable.is_none() {
        return None;
    }
    let deleted = fate == Fate::Deleted;
    let uri = if let Fate::Moved { to } = fate { to.uri } else { target.uri };
    Some(UndoEdit { uri, version_after, unsaved, deleted, unified_diff })
}

/// The name of a hunk in its file.
fn id(hunk: &str) -> MarkId {
    hunk.rsplit('.').next().and_then(|id| id.parse().ok()).unwrap_or_default()
}

/// Why something stays in so many places.
fn yours(count: usize) -> String {
    let places = if count == 1 { "1 place".to_owned() } else { format!("{count} places") };
    format!("You have changed the same lines: {places} of it stays as you left it.")
}

/// What became of a hunk that was to be brought back, and why not all of it was.
fn restored(hunk: &str, (came, left): &Landing) -> (Outcome, Option<String>) {
    let id = id(hunk);
    let left = left.iter().find_map(|left| match left {
        Left::User(mark, count) => (*mark == id).then_some(*count),
        Left::Under(..) => None,
    });
    match left {
        None => (Outcome::Restored, None),
        Some(count) if came.contains(&id) => (Outcome::Partly, Some(yours(count))),
        Some(count) => (Outcome::Left, Some(yours(count))),
    }
}

/// What became of a hunk, for a person.
fn told(hunk: &Pending, came: &Came) -> UndoneHunk {
    let id = id(&hunk.hunk);
    let (mut outcome, mut why) = (Outcome::Undone, None);
    if let Some(refused) = &came.refused {
        (outcome, why) = (Outcome::Left, Some(refused.clone()));
    }
    let left = came.left.iter().find(|left| match left {
        Left::User(mark, _) | Left::Under(mark, _) => *mark == id,
    });
    match left {
        Some(Left::Under(_, by)) => {
            outcome = Outcome::Left;
            why = Some(format!(
                "The call {} of session {} changed the same lines once more; undo that first.",
                by.call, by.session
            ));
        }
        Some(Left::User(_, count)) => {
            outcome = if came.undone.contains(&id) { Outcome::Partly } else { Outcome::Left };
            why = Some(yours(*count));
        }
        None if hunk.kind == Kind::File(Became::Created) && came.stays.is_some() => {
            outcome = Outcome::Partly;
            why.clone_from(&came.stays);
        }
        None => {}
    }
    UndoneHunk { hunk_id: hunk.hunk.clone(), uri: hunk.target.uri.clone(), outcome, why }
}
