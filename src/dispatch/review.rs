//! A person's review of what agents changed: what there is, keeping and undoing it, and that the models hear of it.
//!
//! The core is [`crate::workspace::checkpoints`]. Here are the ways into it: each change is told to it in the turn of its
//! document, files are looked at before something is said of them, and an undo is a change like any other.

mod back;
mod told;
mod undo;
mod verdicts;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OnceCell, oneshot};
use tracing::warn;

pub use told::{
    ChangedFile, ChangesParams, ChangesResult, HunkInfo, HunkKind, KeepResult, ListChangesParams, Maker, Outcome,
    UndoEdit, UndoInfo, UndoParams, UndoResult, UndoneHunk,
};
pub use verdicts::{Verdict, Verdicts};

use crate::editor::{ChangesChanged, News, Origin};
use crate::sessions::Shelf;
use crate::tool::{ErrorKind, ToolError};
use crate::workspace::checkpoints::{Became, By, Change, Kind, Pending, Selection};
use crate::workspace::commit::{Landed, git_mode};
use crate::workspace::{Committed, FileChange, RefusalKind};

use super::change::{Made, span};
use super::{Call, Dispatch};

/// How long what was kept is waited for; then it goes on without, and keeps nothing.
const PATIENCE: Duration = Duration::from_secs(5);

/// What changed is kept this far apart. The whole of a file's changes is written down each time, which takes longer the more
/// there are, so that an agent which makes many edits would pay with each for all those before it.
const BETWEEN: Duration = Duration::from_millis(250);

/// What the parts of a workspace folder are kept under.
const SHELF: &str = "changes";

/// The part of what models are yet to be told; the others are those of the checkpoints.
const VERDICTS: &str = "verdicts";

/// What a review needs beside the checkpoints themselves.
#[derive(Default)]
pub(super) struct Review {
    /// What models are to be told.
    pub verdicts: Arc<Verdicts>,
    ready: OnceCell<()>,
    shelf: Arc<Mutex<Option<Shelf>>>,
    saving: Arc<Saving>,
}

/// How keeping stands.
#[derive(Default)]
struct Saving {
    /// Something changed that nobody has begun to keep.
    due: AtomicBool,
    /// Somebody keeps what is due, or waits until it may.
    busy: AtomicBool,
}

/// What keeps changes over a restart.
struct Saver {
    shelf: Arc<Mutex<Option<Shelf>>>,
    saving: Arc<Saving>,
    workspace: Arc<crate::workspace::Workspace>,
    verdicts: Arc<Verdicts>,
}

impl Saver {
    /// Keeps what changed, beside everything else: at once, or when it was kept long enough ago.
    fn soon(&self) {
        if self.shelf.lock().unwrap_or_else(PoisonError::into_inner).is_none() {
            return;
        }
        self.saving.due.store(true, Ordering::Release);
        if self.saving.busy.swap(true, Ordering::AcqRel) {
            return;
        }
        let (shelf, saving) = (Arc::clone(&self.shelf), Arc::clone(&self.saving));
        let (workspace, verdicts) = (Arc::clone(&self.workspace), Arc::clone(&self.verdicts));
        tokio::spawn(async move {
            loop {
                while saving.due.swap(false, Ordering::AcqRel) {
                    let (shelf, verdicts) = (Arc::clone(&shelf), Arc::clone(&verdicts));
                    let files = Arc::clone(&workspace);
                    let kept = tokio::task::spawn_blocking(move || keep(&shelf, &files, &verdicts));
                    if let Err(error) = kept.await {
                        warn!(%error, "changes could not be kept");
                    }
                    workspace.ports.clock.sleep(BETWEEN).await;
                }
                saving.busy.store(false, Ordering::Release);
                // What became due in between found somebody busy.
                if !saving.due.load(Ordering::Acquire) || saving.busy.swap(true, Ordering::AcqRel) {
                    return;
                }
            }
        });
    }
}

impl Call<'_> {
    /// Who makes the changes of the call.
    pub(super) fn by(&self) -> By {
        let made = || By {
            session: self.context.session.id.clone(),
            turn: self.params.turn_id.clone(),
            call: self.id.to_owned(),
            accepted: false,
        };
        self.maker.clone().unwrap_or_else(made)
    }
}

impl Dispatch {
    /// Comes back once what was kept of earlier runs is here.
    pub(super) async fn review_ready(&self) {
        self.review.ready.get_or_init(|| self.restore_review()).await;
    }

    async fn restore_review(&self) {
        let folders = self.workspace.roots().folders;
        let root = folders.first().map(|folder| folder.to_string_lossy().into_owned()).unwrap_or_default();
        let (sender, restored) = oneshot::channel();
        let shelf = self.sessions.shelf(SHELF, &root, move |parts| drop(sender.send(parts)));
        let Some(shelf) = shelf else { return };
        let mut parts = tokio::select! {
            biased;
            parts = restored => parts.unwrap_or_default(),
            () = self.workspace.ports.clock.sleep(PATIENCE) => {
                warn!("what was kept of changes did not come");
                return;
            }
        };
        if let Some(value) = parts.remove(VERDICTS) {
            self.review.verdicts.restore(value);
        }
        let workspace = Arc::clone(&self.workspace);
        let restored = tokio::task::spawn_blocking(move || {
            workspace.checkpoints.restore(parts, |uri| workspace.resolve(uri).ok());
        });
        if let Err(error) = restored.await {
            warn!(%error, "what was kept of changes could not be taken in");
            return;
        }
        *self.review.shelf.lock().unwrap_or_else(PoisonError::into_inner) = Some(shelf);
    }

    /// What the person said of a session's changes and its model was not told yet.
    pub(super) async fn judged(&self, session: &str) -> Option<String> {
        self.review_ready().await;
        let words = self.review.verdicts.take(session)?;
        self.saver().soon();
        Some(words)
    }

    /// A session was dropped.
    pub(super) fn forget_verdicts(&self, session: &str) {
        self.review.verdicts.forget(session);
        self.saver().soon();
    }

    /// Hears of the changes of a call in the moment in which they are made.
    pub(super) fn attributed(&self, call: &Call<'_>, changes: &[FileChange]) -> Landed {
        let (checkpoints, documents) = (Arc::clone(&self.workspace.checkpoints), Arc::clone(&self.workspace.documents));
        let (by, late) = (call.by(), self.heard_late());
        let folded = changes.iter().all(|change| change.rewrite.origin() == Origin::Editor);
        Arc::new(move |committed| {
            let change = Change::of(committed);
            if folded {
                checkpoints.folded(&change, &by);
            } else {
                checkpoints.made(&change, &by);
            }
            // Nobody listened for a document that had no changes before.
            if let Some(snapshot) = documents.get(&committed.target.key) {
                checkpoints.sync(&snapshot);
            }
            late(committed);
        })
    }

    /// Tells of a change that landed when its call had ended. Of the others the end of the call tells.
    pub(super) fn heard_late(&self) -> impl Fn(&Committed) + Send + Sync + 'static {
        let (editor, saving) = (Arc::clone(&self.workspace.editor), self.saver());
        move |committed| {
            if committed.late {
                editor.tell(News::Changes(ChangesChanged { uris: vec![committed.target.uri.clone()] }));
                saving.soon();
            }
        }
    }

    fn saver(&self) -> Saver {
        let (shelf, workspace) = (Arc::clone(&self.review.shelf), Arc::clone(&self.workspace));
        let verdicts = Arc::clone(&self.review.verdicts);
        Saver { shelf, saving: Arc::clone(&self.review.saving), workspace, verdicts }
    }

    /// A call ended that made changes: front ends hear of it, once for all of them.
    pub(super) fn reviewable(&self, made: &Made) {
        let uris = made.edits.iter().map(|edit| edit.moved_to.as_ref().unwrap_or(&edit.uri).clone());
        self.changes_changed(uris.collect());
    }

    /// The changes of some files are others now.
    pub(super) fn changes_changed(&self, uris: BTreeSet<String>) {
        if uris.is_empty() {
            return;
        }
        self.workspace.editor.tell(News::Changes(ChangesChanged { uris: uris.into_iter().collect() }));
        self.saver().soon();
    }

    /// Hands everything to the store that is to outlive the program. For the end.
    pub fn keep_review(&self) {
        keep(&self.review.shelf, &self.workspace, &self.review.verdicts);
    }

    /// What nobody has judged yet: what was changed, and what is proposed.
    pub async fn changes(&self, params: ListChangesParams) -> Result<ChangesResult, ToolError> {
        let ListChangesParams { choice, include_accepted } = params;
        let selection = self.selected(&choice).await?;
        let proposals = self.proposed(&choice).await?;
        let checkpoints = &self.workspace.checkpoints;
        let mut pending = checkpoints.pending(&selection);
        pending.retain(|one| include_accepted || !one.by.accepted);
        let documents = &self.workspace.documents;
        let version = |one: &Pending| documents.get(&one.target.key).map(|document| document.version);
        let undos = checkpoints.undos().into_iter().map(|(number, targets)| UndoInfo {
            undo_id: undo::name(number),
            uris: targets.into_iter().map(|target| target.uri).collect(),
        });
        Ok(ChangesResult { undos: undos.collect(), files: told::files(pending, version), proposals })
    }

    /// A person is content with changes: they are no changes any more.
    pub async fn keep_changes(&self, params: ChangesParams) -> Result<KeepResult, ToolError> {
        let selection = self.selected(&params).await?;
        let kept = self.workspace.checkpoints.keep(&selection);
        // Of what a person accepted, the model has been told that.
        for one in kept.iter().filter(|one| !one.by.accepted) {
            let verdict = if one.touched { Verdict::Changed } else { Verdict::Kept };
            self.review.verdicts.judged(&one.by.session, &one.hunk, verdict, &place(one));
        }
        self.changes_changed(kept.iter().map(|one| one.target.uri.clone()).collect());
        Ok(KeepResult { kept: kept.into_iter().map(|one| one.hunk).collect() })
    }

    /// Which changes are meant, once the files with them have been looked at.
    async fn selected(&self, params: &ChangesParams) -> Result<Selection, ToolError> {
        self.review_ready().await;
        let ChangesParams { session_id, turn_id, call_id, uri, hunk_id } = params.clone();
        let key = match uri {
            None => None,
            Some(uri) => Some(self.workspace.key_of(&uri).ok_or_else(|| {
                let words = format!("{uri:?} is neither a file nor a document that is open; expected the URI of one.");
                ToolError::new(ErrorKind::InvalidArguments, words)
            })?),
        };
        let selection = Selection { session: session_id, turn: turn_id, call: call_id, key, hunk: hunk_id };
        for (page, target) in self.workspace.checkpoints.places(&selection) {
            self.look_at(page, &target).await;
        }
        Ok(selection)
    }

    /// Brings the checkpoints of a file to what it is now.
    async fn look_at(&self, page: u64, target: &crate::workspace::Target) {
        let checkpoints = &self.workspace.checkpoints;
        if let Some(snapshot) = self.workspace.documents.get(&target.key) {
            return checkpoints.sync_open(page, &snapshot);
        }
        match self.workspace.view(target).await {
            Ok(view) => match view.source {
                // It was opened in this moment.
                crate::workspace::Source::Open { snapshot, .. } => checkpoints.sync_open(page, &snapshot),
                crate::workspace::Source::Disk { .. } => checkpoints.sync_closed(page, Some(&view.text)),
                // Only a session's own eyes see what it proposes.
                crate::workspace::Source::Proposed { .. } => {}
            },
            Err(refusal) if refusal.kind == RefusalKind::NotFound => checkpoints.sync_closed(page, None),
            Err(refusal) => warn!(uri = target.uri, %refusal, "a file with changes cannot be looked at"),
        }
    }
}

fn keep(shelf: &Mutex<Option<Shelf>>, workspace: &crate::workspace::Workspace, verdicts: &Verdicts) {
    // Held until all is handed over, so that what is newer comes behind what is older.
    let shelf = shelf.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(shelf) = &*shelf else { return };
    let verdicts = verdicts.to_keep().map(|value| (VERDICTS.to_owned(), (!value.is_null()).then_some(value)));
    for (part, value) in workspace.checkpoints.to_keep().into_iter().chain(verdicts) {
        match value {
            Some(value) => shelf.save(&part, &value),
            None => shelf.remove(&part),
        }
    }
}

/// A change in words: where it is.
fn place(pending: &Pending) -> String {
    let shown = &pending.target.shown;
    match &pending.kind {
        Kind::Changed => format!("{shown} {}", span(pending.lines)),
        Kind::File(Became::Created) => format!("the creation of {shown}"),
        Kind::File(Became::Deleted) => format!("the deletion of {shown}"),
        Kind::File(Became::Moved { from }) => format!("the move of {} to {shown}", from.shown),
        Kind::File(Became::Executable { now }) => {
            format!("the mode of {shown} ({})", git_mode(*now))
        }
    }
}
