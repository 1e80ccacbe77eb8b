//! How a change gets into a document or file, or is refused: the only way anything is ever written.
//!
//! An open document is changed by the editor: we ask for an edit of exactly the version we computed against and believe
//! only the change notifications that follow (the *echo*). A closed file is changed on the disk, as one step.

mod carry;
mod closed;
mod deliver;
mod echo;
mod evidence;
mod journal;
mod late;
mod open;
mod queues;
mod recovery;
mod reverse;
mod sent;
mod set;
mod shape;
#[cfg(test)]
mod tests;
mod words;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::config::Settings;
use crate::editor::{Editor, Origin, Resync};
use crate::ports::{Clock, Ports};
use crate::text::{BOM, LineBreaks, Splice, Text};

pub use queues::Queues;
pub use set::{SetRefused, git_mode};

pub(super) use recovery::Recovery;
pub(super) use set::{commit_set, compose, preview_set};

use super::checkpoints::Checkpoints;
use super::codec;
use super::documents::{Documents, Snapshot};
use super::paths::{Key, Target};
use super::view::MAX_FILE_BYTES;
use super::{Refusal, RefusalKind};

/// A pure function from a text to the change of it, so that it can be asked again when the text moved on.
pub trait Rewrite: Send + Sync + 'static {
    /// The change of `before` (absent: there is no such file), or why there is none. Must not depend on anything else.
    fn rewrite(&self, before: Option<&Text>) -> Result<Rewritten, Refusal>;

    /// Whether the file is to be one that can be run afterwards; `None`: as it is.
    fn executable(&self) -> Option<bool> {
        None
    }

    /// Who makes the change, for those who hear of files that changed.
    fn origin(&self) -> Origin {
        Origin::Agent
    }
}

/// A change of one text.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Rewritten {
    /// What is replaced, in bytes of the text before, rising, not overlapping. For an absent file: one splice of 0..0.
    pub splices: Vec<Splice>,
    /// The same change as the model asked for it.
    pub hunks: Vec<Hunk>,
    /// Remarks for the model.
    pub notes: Vec<String>,
}

/// One place of a change and how it was found.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub struct Hunk {
    /// The strategy of the cascade, or `write`, `patch`.
    pub strategy: String,
    /// How alike the place and the text asked for are, 0 to 1; 1 is exact.
    pub similarity: f64,
    /// The lines before the change.
    pub before: LineSpan,
    /// The lines after it.
    pub after: LineSpan,
}

/// Some lines of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub struct LineSpan {
    /// The first line, 1-based.
    pub start: usize,
    /// How many lines; 0 means a place before `start`.
    pub count: usize,
}

/// A change of one file or document, as a tool asks for it.
#[derive(Clone)]
pub struct FileChange {
    /// Which file.
    pub target: Target,
    /// What to do with its text.
    pub rewrite: Arc<dyn Rewrite>,
    /// What the editor may call it in its undo list.
    pub label: String,
    /// What becomes of the file itself.
    pub fate: Fate,
}

/// What becomes of a file beside the change of its text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Fate {
    /// It stays where it is, or is made there.
    #[default]
    Stays,
    /// It is deleted; the rewrite must leave an empty text.
    Deleted,
    /// It is moved, with the change of its text, to where no file is yet.
    Moved {
        /// Where to.
        to: Target,
    },
}

/// A change that was computed and not made.
#[derive(Debug, Clone, PartialEq)]
pub struct Preview {
    /// The text before; absent for a file that would be made.
    pub before: Option<Text>,
    /// The text after.
    pub after: Text,
    /// The change.
    pub rewritten: Rewritten,
    /// A unified diff of the two.
    pub unified_diff: String,
}

/// A change that was made.
#[derive(Debug, Clone)]
pub struct Committed {
    /// Which file or document.
    pub target: Target,
    /// What became of the file itself.
    pub fate: Fate,
    /// The text it was computed against.
    pub before: Option<Text>,
    /// The text after the change, and before anything the user typed on.
    pub after: Text,
    /// What changed, in bytes of `before`.
    pub splices: Vec<Splice>,
    /// The editor's version that the change was computed against; `None` on the disk.
    pub version_before: Option<i32>,
    /// The editor's version that completed it; `None` on the disk.
    pub version_after: Option<i32>,
    /// Whether the change is in a buffer only.
    pub unsaved: bool,
    /// Whether it was seen only when its call had been told already that nobody knows of it.
    pub late: bool,
    /// Of a file that was given or lost the right to be run, or was deleted and had it: whether it had it before, and
    /// has it now.
    pub executable: Option<(bool, bool)>,
    /// The places.
    pub hunks: Vec<Hunk>,
    /// Remarks for the model: rebases, line ends the editor changed, what the user typed meanwhile.
    pub notes: Vec<String>,
    /// The change as a unified diff.
    pub unified_diff: String,
}

/// What a commit needs, to hand around and to leave behind in a task that outlives the call.
#[derive(Clone)]
pub(super) struct Desk {
    pub(super) ports: Ports,
    pub(super) editor: Arc<dyn Editor>,
    pub(super) documents: Arc<Documents>,
    pub(super) settings: Arc<Settings>,
    pub(super) queues: Queues,
    /// Where copies of files are put aside while they are overwritten; beside them when there is no such place.
    pub(super) state_dir: Option<PathBuf>,
    /// What protects sets against a crash, and what is left of earlier runs.
    pub(super) recovery: Recovery,
    /// The workspace folders.
    pub(super) folders: Vec<PathBuf>,
    /// Hears of what was made.
    pub(super) landed: Option<Landed>,
    /// Hear of what was made and taken back again.
    pub(super) checkpoints: Arc<Checkpoints>,
}

/// Hears of a change that was made, while its document's turn is still held: in the order of the changes, and before
/// anybody else can make another one. Must be quick.
pub type Landed = Arc<dyn Fn(&Committed) + Send + Sync>;

impl Desk {
    /// Tells of what was made.
    fn landed<'a>(&self, committed: impl IntoIterator<Item = &'a Committed>) {
        if let Some(landed) = &self.landed {
            committed.into_iter().for_each(|committed| landed(committed));
        }
    }

    fn clock(&self) -> &dyn Clock {
        &*self.ports.clock
    }

    /// Asks the editor for its text and puts the answer into the mirror; whether there was one.
    async fn resync(&self, document: &Snapshot) -> bool {
        if !self.editor.abilities().resync {
            return false;
        }
        let deadline = Duration::from_millis(self.settings.commit.echo_ms);
        match self.editor.resync(&document.uri, deadline).await {
            Ok(answer) => {
                let Resync { version, text, mended } = answer;
                if mended {
                    self.documents.resynced_mended(&document.key, version, &text);
                } else {
                    self.documents.resynced(&document.key, version, &text);
                }
                true
            }
            Err(error) => {
                tracing::warn!(uri = document.uri, %error, "the editor did not tell its text");
                false
            }
        }
    }

    /// The text of the file of a document, if it is `expected` (line ends and the final one aside, also those of editors
    /// that end lines by CRs in the file and by LFs in what they sync).
    pub(super) async fn saved_as(&self, key: &Key, expected: &Text) -> Option<Text> {
        let Key::File(path) = key else { return None };
        let (disk, path, expected) = (Arc::clone(&self.ports.disk), path.clone(), expected.clone());
        let compare = move || {
            if disk.metadata(&path).ok()?.len > MAX_FILE_BYTES {
                return None;
            }
            let mut text = codec::decode(&disk.read(&path).ok()?).ok()?.text;
            if !text.contains('\n') && !expected.to_string().contains('\r') {
                text = text.replace('\r', "\n");
            }
            let text = Text::new(&text, expected.breaks());
            let mark = if expected.slice(0..BOM.len_utf8()).starts_with(BOM) { BOM.len_utf8() } else { 0 };
            let bare = expected.spliced(&[Splice { range: 0..mark, text: String::new() }]);
            text.same_lines(&bare).then_some(text)
        };
        tokio::task::spawn_blocking(compare).await.ok()?
    }
}

/// Makes a change, in its turn. The work runs in a task of its own, so that a caller who stops listening after the edit
/// was sent does not leave it unwatched; one who stops before cancels it.
pub(super) async fn commit(desk: Desk, change: FileChange, cancel: &CancellationToken) -> Result<Committed, Refusal> {
    if change.fate != Fate::Stays || change.rewrite.executable().is_some() {
        // It takes more than one step on the disk.
        let done = Box::pin(commit_set(desk, vec![change], cancel)).await.map_err(|refused| refused.refusal)?;
        return done.into_iter().next().ok_or_else(|| Refusal::new(RefusalKind::Failed, "Nothing was changed."));
    }
    in_own_task(cancel, move |cancel| async move {
        desk.recovery.before(&desk, &change.target.key).await;
        let turn = desk.queues.enter(&change.target.key, &cancel).await?;
        let done = in_turn(&desk, &turn, &change, &cancel).await;
        desk.landed(&done);
        done
    })
    .await
    .unwrap_or_else(|| Err(Refusal::new(RefusalKind::Cancelled, "Cancelled: the program is ending.")))
}

/// Runs work that is cancelled, as far as it can be, when nobody waits for it any more, and goes on otherwise. `None`:
/// the program is ending.
async fn in_own_task<T: Send + 'static, F: Future<Output = T> + Send + 'static>(
    cancel: &CancellationToken,
    work: impl FnOnce(CancellationToken) -> F,
) -> Option<T> {
    let cancel = cancel.child_token();
    let _stop = cancel.clone().drop_guard();
    match tokio::spawn(work(cancel)).await {
        Ok(result) => Some(result),
        Err(failed) => match failed.try_into_panic() {
            // A panic in a rewrite belongs to the call that brought it.
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => None,
        },
    }
}

/// Makes a change of one text in the turn of its document.
async fn in_turn(
    desk: &Desk,
    turn: &queues::Turn,
    change: &FileChange,
    cancel: &CancellationToken,
) -> Result<Committed, Refusal> {
    let key = &change.target.key;
    // A file can be opened while it is being written: then its document is the one to change, once more from the start.
    for _ in 0..3 {
        let done = match desk.documents.watch(key) {
            Some((now, events)) => Some(open::commit(desk, turn, deliver::Watch { now, events }, change, cancel).await),
            None => closed::commit(desk, change).await.transpose(),
        };
        if let Some(mut done) = done {
            if let Ok(committed) = &mut done {
                committed.notes.extend(desk.queues.take_late(key));
            }
            return done;
        }
    }
    Err(Refusal::new(
        RefusalKind::Conflict,
        format!(
            "{} was opened and closed again and again while it was being changed; nothing was changed.",
            change.target.shown
        ),
    ))
}

/// What a change would do now.
pub(super) async fn preview(desk: &Desk, change: &FileChange) -> Result<Preview, Refusal> {
    let (before, shaped) = match desk.documents.get(&change.target.key) {
        Some(document) => {
            let shaped = shape_apart(&document.text, &change.rewrite).await?;
            (Some(document.text), shaped)
        }
        None => closed::preview(desk, change).await?,
    };
    let shown = change.target.shown.clone();
    apart(move || {
        let empty = Text::new("", shaped.after.breaks());
        let unified_diff = shape::unified(&shown, before.as_ref().unwrap_or(&empty), &shaped.after);
        Ok(Preview { before, after: shaped.after, rewritten: shaped.rewritten, unified_diff })
    })
    .await
}

/// What a change would do to a text that is not there yet, and to the right to run it (before it, and then; absent where it
/// leaves that). Blocking. The text has no byte order mark.
pub(super) fn preview_over(
    before: Option<Text>,
    breaks: LineBreaks,
    change: &FileChange,
    executable: Option<(bool, bool)>,
) -> Result<Preview, Refusal> {
    let shape::Shaped { rewritten, after } = match &before {
        Some(before) => shape::shape(before, &*change.rewrite)?,
        None => shape::shape_new(&*change.rewrite, breaks)?,
    };
    let empty = Text::new("", breaks);
    let diff = shape::unified(&change.target.shown, before.as_ref().unwrap_or(&empty), &after);
    let unified_diff = set::with_fate(change, executable, diff);
    Ok(Preview { before, after, rewritten, unified_diff })
}

/// Runs a rewrite where it may take its time.
async fn shape_apart(before: &Text, rewrite: &Arc<dyn Rewrite>) -> Result<shape::Shaped, Refusal> {
    let (before, rewrite) = (before.clone(), Arc::clone(rewrite));
    apart(move || shape::shape(&before, &*rewrite)).await
}

/// Runs blocking work; a panic in it goes on in the caller.
pub(super) async fn apart<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Refusal> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(failed) => match failed.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(Refusal::new(RefusalKind::Cancelled, "Cancelled: the program is ending.")),
        },
    }
}
