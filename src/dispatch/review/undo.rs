//! Undoing what agents changed, and undoing that.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use tokio_util::sync::CancellationToken;

use crate::dispatch::Dispatch;
use crate::dispatch::follow::hunks;
use crate::editor::Origin;
use crate::text::{BOM, Splice, Text, diff};
use crate::tool::{ErrorKind, ToolError};
use crate::workspace::checkpoints::{Became, Change, Checkpoints, Did, Drawn, Kind, Left, MarkId, Pending, Redrawn};
use crate::workspace::commit::{Landed, Rewrite};
use crate::workspace::{Committed, Fate, FileChange, Refusal, RefusalKind, Rewritten, Target};

use super::told::{ChangesParams, Outcome, UndoEdit, UndoParams, UndoResult, UndoneHunk};
use super::verdicts::Verdict;

/// So often an undo is worked out anew when the text becomes one that it does not fit.
const TRIES: usize = 3;

/// In the data of a refusal: the text became another one, so that the file itself is to be dealt with otherwise.
const ANEW: &str = "anew";

/// The name of an undo.
pub(super) fn name(number: u64) -> String {
    format!("u{number}")
}

fn number(name: &str) -> Option<u64> {
    name.strip_prefix('u')?.parse().ok()
}

/// What an undo does to one text, whatever it is by then.
struct Back {
    checkpoints: Arc<Checkpoints>,
    page: u64,
    what: What,
    did: Did,
    shown: String,
}

enum What {
    /// These are undone.
    Undo(BTreeSet<MarkId>),
    /// This undo is undone; of a file that it had made again, the hash of its text.
    Redo(u64, Option<String>),
}

impl Back {
    /// The text afterwards.
    fn text(&self, now: Option<&Text>) -> Result<Option<Text>, Refusal> {
        match &self.what {
            What::Undo(which) => Ok(self.checkpoints.undo_of(self.page, now, which).map(|undo| undo.text)),
            What::Redo(undo, _) => match self.checkpoints.redo_of(self.page, now, *undo) {
                None => Ok(now.cloned().or_else(|| self.checkpoints.text_of(self.page))),
                Some(Ok(undo)) => Ok(Some(undo.text)),
                Some(Err(by)) => Err(conflict(format!(
                    "The call {} of session {} has changed the same lines of {} since; undo that first.",
                    by.call, by.session, self.shown
                ))),
            },
        }
    }

    /// Whether the file is made again by this.
    fn makes(&self) -> bool {
        matches!((&self.what, &self.did), (What::Undo(_), Did::Created) | (What::Redo(..), Did::Deleted))
    }

    /// Whether the file is deleted by this.
    fn deletes(&self) -> bool {
        matches!((&self.what, &self.did), (What::Undo(_), Did::Deleted) | (What::Redo(..), Did::Created))
    }
}

impl Rewrite for Back {
    fn rewrite(&self, before: Option<&Text>) -> Result<Rewritten, Refusal> {
        let had = self.checkpoints.text_of(self.page).unwrap_or_else(|| Text::new("", crate::text::LineBreaks::Lf));
        let Some(before) = before else {
            if !self.makes() {
                let words = format!("{} is not there any more; nothing was changed.", self.shown);
                return Err(Refusal::new(RefusalKind::NotFound, words));
            }
            let text = self.text(None)?.map(|text| text.to_string()).unwrap_or_default();
            let text = text.strip_prefix(BOM).unwrap_or(&text).to_owned();
            let hunks = hunks("undo", "", &text);
            return Ok(Rewritten { splices: vec![Splice { range: 0..0, text }], hunks, notes: Vec::new() });
        };
        let old = before.to_string();
        // A buffer that the editor still has of a deleted file is that file; any other text is somebody else's.
        if self.makes() && old != bare(&had.to_string()) {
            return Err(conflict(format!("There is another {} by now; nothing was changed.", self.shown)));
        }
        if let What::Redo(_, Some(made)) = &self.what
            && crate::text::hash(&old) != *made
        {
            return Err(conflict(format!("{} was changed since it was made again; it stays.", self.shown)));
        }
        if self.deletes() && matches!(self.what, What::Redo(..)) {
            return Ok(self.rewritten(&old, ""));
        }
        // The change is computed without a byte order mark; the ledger has the text as the editor has it.
        let marked = had.slice(0..BOM.len_utf8().min(had.len())).starts_with(BOM);
        let now =
            if marked { before.spliced(&[Splice { range: 0..0, text: BOM.to_string() }]) } else { before.clone() };
        let after = self.text(Some(&now))?.map_or_else(|| old.clone(), |text| bare(&text.to_string()).to_owned());
        if self.deletes() && !after.is_empty() {
            let data = Some(ANEW.into());
            return Err(Refusal { data, ..conflict(format!("{} has text in it that is not the call's.", self.shown)) });
        }
        Ok(self.rewritten(&old, &after))
    }

    fn origin(&self) -> Origin {
        Origin::User
    }
}

impl Back {
    fn rewritten(&self, old: &str, new: &str) -> Rewritten {
        let name = if matches!(self.what, What::Undo(_)) { "undo" } else { "redo" };
        Rewritten { splices: diff::splices(old, new), hunks: hunks(name, old, new), notes: Vec::new() }
    }
}

fn bare(text: &str) -> &str {
    text.strip_prefix(BOM).unwrap_or(text)
}

fn conflict(words: String) -> Refusal {
    Refusal::new(RefusalKind::Conflict, words)
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
        if drawn.is_empty() {
            return Ok(result);
        }
        let number = checkpoints.number_undo();
        for one in drawn {
            let came = self.undo_in(&one, number).await;
            if !came.undone.is_empty() {
                result.undo_id = Some(name(number));
            }
            for hunk in &one.hunks {
                let told = told(hunk, &came);
                if told.outcome != Outcome::Left {
                    let verdicts = &self.review.verdicts;
                    verdicts.judged(&hunk.by.session, Verdict::Undone, &super::place(hunk));
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

    async fn undo_in(&self, drawn: &Drawn, number: u64) -> Came {
        let checkpoints = &self.workspace.checkpoints;
        let mut file_stays: Option<String> = None;
        for _ in 0..TRIES {
            let refused = |why: &str| Came { refused: Some(why.to_owned()), ..Came::default() };
            let Some(planned) = checkpoints.undo_of(drawn.page, None, &drawn.which) else {
                return refused("It is no change any more.");
            };
            let empty = bare(&planned.text.to_string()).is_empty();
            let created = drawn.became.contains(&Became::Created);
            let from = drawn.became.iter().find_map(|became| match became {
                Became::Moved { from } => Some(from.clone()),
                Became::Created | Became::Deleted => None,
            });
            let (target, fate, did) = if drawn.gone {
                if !drawn.became.contains(&Became::Deleted) {
                    return refused("The file was deleted since by another call; undo that first.");
                }
                if created && empty {
                    let (undone, left) = checkpoints.undone(drawn, None, Did::Nothing, number);
                    return Came { undone, left, ..Came::default() };
                }
                (from.unwrap_or_else(|| drawn.target.clone()), Fate::Stays, Did::Created)
            } else if created && empty && planned.left.is_empty() && file_stays.is_none() {
                (drawn.target.clone(), Fate::Deleted, Did::Deleted)
            } else if let Some(to) = from {
                let did = Did::Moved { from: drawn.target.clone() };
                (drawn.target.clone(), Fate::Moved { to }, did)
            } else if planned.undone.is_empty() && !planned.left.is_empty() {
                return Came { left: planned.left, ..Came::default() };
            } else {
                (drawn.target.clone(), Fate::Stays, Did::Text)
            };
            let stays = (created && did == Did::Text).then(|| {
                file_stays.clone().unwrap_or_else(|| "The file stays: there is text of yours in it.".to_owned())
            });
            let back = self.back(drawn.page, What::Undo(drawn.which.clone()), &did, &target);
            let came: Arc<Mutex<Option<Landing>>> = Arc::default();
            let landed: Landed = {
                let (came, book, drawn, did) = (Arc::clone(&came), Arc::clone(checkpoints), drawn.clone(), did.clone());
                Arc::new(move |committed| {
                    let undone = book.undone(&drawn, Some(&Change::of(committed)), did.clone(), number);
                    *came.lock().unwrap_or_else(PoisonError::into_inner) = Some(undone);
                })
            };
            let change = FileChange { target, rewrite: Arc::new(back), label: "Undo an agent's change".into(), fate };
            match self.land(change, landed).await {
                Ok(edit) => {
                    let came = came.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or_default();
                    return Came { undone: came.0, left: came.1, stays, edit: Some(edit), ..Came::default() };
                }
                Err(refusal) if refusal.data.as_ref().is_some_and(|data| data == ANEW) => {}
                // A file that cannot be deleted can still be emptied of what the call wrote.
                Err(refusal) if did == Did::Deleted && file_stays.is_none() => {
                    file_stays = Some(format!("The file stays: {}", refusal.message));
                }
                Err(refusal) => return refused(&refusal.message),
            }
        }
        Came { refused: Some("It changed again and again meanwhile; try once more.".into()), ..Came::default() }
    }

    fn back(&self, page: u64, what: What, did: &Did, target: &Target) -> Back {
        let checkpoints = Arc::clone(&self.workspace.checkpoints);
        Back { checkpoints, page, what, did: did.clone(), shown: target.shown.clone() }
    }

    /// Makes the change of an undo.
    async fn land(&self, change: FileChange, landed: Landed) -> Result<UndoEdit, Refusal> {
        let done = self.workspace.commit_set_then(&[change], &CancellationToken::new(), landed).await;
        let done = done.map_err(|refused| refused.refusal)?;
        self.world.changed();
        let Some(committed) = done.into_iter().next() else {
            return Err(Refusal::new(RefusalKind::Failed, "Nothing was changed."));
        };
        if committed.version_after.is_none() {
            self.tell_servers(&committed);
        }
        let Committed { target, fate, version_after, unsaved, unified_diff, .. } = committed;
        let deleted = fate == Fate::Deleted;
        let uri = if let Fate::Moved { to } = fate { to.uri } else { target.uri };
        Ok(UndoEdit { uri, version_after, unsaved, deleted, unified_diff })
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
        for one in redrawn {
            let refused = match self.redo_in(&one, number).await {
                Ok(edit) => {
                    result.edits.extend(edit);
                    None
                }
                Err(refusal) => Some(refusal.message),
            };
            let outcome = if refused.is_none() { Outcome::Restored } else { Outcome::Left };
            for hunk_id in &one.hunks {
                let uri = one.target.uri.clone();
                result.hunks.push(UndoneHunk { hunk_id: hunk_id.clone(), uri, outcome, why: refused.clone() });
            }
        }
        let restored = result.hunks.iter().filter(|hunk| hunk.outcome == Outcome::Restored);
        for hunk in restored {
            let selection =
                crate::workspace::checkpoints::Selection { hunk: Some(hunk.hunk_id.clone()), ..Default::default() };
            for pending in checkpoints.pending(&selection) {
                let verdicts = &self.review.verdicts;
                verdicts.judged(&pending.by.session, Verdict::Restored, &super::place(&pending));
            }
        }
        self.told_undo(&result);
        Ok(result)
    }

    async fn redo_in(&self, redrawn: &Redrawn, number: u64) -> Result<Option<UndoEdit>, Refusal> {
        let checkpoints = &self.workspace.checkpoints;
        let fate = match &redrawn.did {
            Did::Nothing => {
                checkpoints.redone(redrawn.page, None, number);
                return Ok(None);
            }
            Did::Text | Did::Deleted => Fate::Stays,
            Did::Created => Fate::Deleted,
            Did::Moved { from } => Fate::Moved { to: from.clone() },
        };
        if redrawn.did != Did::Deleted {
            self.look_at(redrawn.page, &redrawn.target).await;
        }
        let what = What::Redo(number, redrawn.made.clone());
        let back = self.back(redrawn.page, what, &redrawn.did, &redrawn.target);
        let landed: Landed = {
            let (book, page) = (Arc::clone(checkpoints), redrawn.page);
            Arc::new(move |committed| book.redone(page, Some(&Change::of(committed)), number))
        };
        let label = "Bring an agent's change back".to_owned();
        let change = FileChange { target: redrawn.target.clone(), rewrite: Arc::new(back), label, fate };
        self.land(change, landed).await.map(Some)
    }
}

/// What became of a hunk, for a person.
fn told(hunk: &Pending, came: &Came) -> UndoneHunk {
    let id = hunk.hunk.rsplit('.').next().and_then(|id| id.parse::<MarkId>().ok()).unwrap_or_default();
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
            let places = if *count == 1 { "1 place".to_owned() } else { format!("{count} places") };
            why = Some(format!("You have changed the same lines: {places} of it stays as you left it."));
        }
        None if hunk.kind == Kind::File(Became::Created) && came.stays.is_some() => {
            outcome = Outcome::Partly;
            why.clone_from(&came.stays);
        }
        None => {}
    }
    UndoneHunk { hunk_id: hunk.hunk.clone(), uri: hunk.target.uri.clone(), outcome, why }
}
