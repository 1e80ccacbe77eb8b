//! The files as the user sees them: the editor's buffers over the disk; and the one way to change them.

pub mod checkpoints;
pub mod codec;
pub mod commit;
pub mod documents;
pub mod large;
pub mod paths;
pub mod probe;
pub mod search;
pub mod view;

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use tokio_util::sync::CancellationToken;

pub use commit::{Committed, Fate, FileChange, Hunk, LineSpan, Preview, Rewrite, Rewritten, SetRefused};
pub use documents::{Documents, Snapshot};
pub use paths::{Key, Roots, Target};
pub use probe::Probe;
pub use view::{Source, View};

use checkpoints::Checkpoints;

use crate::config::Settings;
use crate::editor::Editor;
use crate::ports::Ports;
use crate::text::Text;

/// Why a file could not be read, found or changed: words for the model that say what arrived, what was expected and
/// what to do next. Nothing was changed unless the kind says [`RefusalKind::Unknown`].
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// What kind of reason.
    pub kind: RefusalKind,
    /// The reason.
    pub message: String,
    /// The same as data: candidates, line numbers.
    pub data: Option<serde_json::Value>,
}

/// The kinds of [`Refusal`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RefusalKind {
    /// The arguments make no sense.
    InvalidArguments,
    /// Two or more places, or files, fit.
    Ambiguous,
    /// No such file, or no such text in it.
    NotFound,
    /// The file changed since it was read, or was never read.
    Stale,
    /// The text moved on while we were at it, or the editor refused.
    Conflict,
    /// The edit was sent and nobody can say whether it landed.
    Unknown,
    /// Cancelled before anything was sent.
    Cancelled,
    /// Something needed is not there.
    Unavailable,
    /// The operating system or something else failed.
    Failed,
}

impl Refusal {
    /// A refusal without data.
    pub fn new(kind: RefusalKind, message: impl Into<String>) -> Refusal {
        Refusal { kind, message: message.into(), data: None }
    }
}

/// Files and documents as one.
pub struct Workspace {
    /// The world.
    pub ports: Ports,
    /// The editor.
    pub editor: Arc<dyn Editor>,
    /// The mirror.
    pub documents: Arc<Documents>,
    /// What agents changed and nobody has judged yet.
    pub checkpoints: Arc<Checkpoints>,
    roots: RwLock<Roots>,
    settings: RwLock<Arc<Settings>>,
    queues: commit::Queues,
    recovery: commit::Recovery,
    state_dir: RwLock<Option<PathBuf>>,
}

impl Workspace {
    /// A workspace without folders.
    pub fn new(ports: Ports, editor: Arc<dyn Editor>, documents: Arc<Documents>) -> Workspace {
        let checkpoints = Arc::new(Checkpoints::default());
        let heard = Arc::clone(&checkpoints);
        documents.listen(Box::new(move |event| heard.heard(event)));
        Workspace {
            ports,
            editor,
            documents,
            checkpoints,
            roots: RwLock::default(),
            settings: RwLock::default(),
            queues: commit::Queues::default(),
            recovery: commit::Recovery::default(),
            state_dir: RwLock::default(),
        }
    }

    /// The folders.
    pub fn roots(&self) -> Roots {
        self.roots.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces the folders.
    pub fn set_roots(&self, roots: Roots) {
        *self.roots.write().unwrap_or_else(PoisonError::into_inner) = roots;
    }

    /// The settings in force.
    pub fn settings(&self) -> Arc<Settings> {
        Arc::clone(&self.settings.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces the settings.
    pub fn set_settings(&self, settings: Arc<Settings>) {
        *self.settings.write().unwrap_or_else(PoisonError::into_inner) = settings;
    }

    /// The key of a URI that the editor uses: that of its open document, else what the disk says it is; `None` for
    /// documents that are virtual to us.
    pub fn key_of(&self, uri: &str) -> Option<Key> {
        self.documents.key_of(uri).or_else(|| paths::key_of_uri(&*self.ports.disk, uri))
    }

    /// What a name in a tool call means.
    pub fn resolve(&self, file_path: &str) -> Result<Target, Refusal> {
        paths::resolve(&*self.ports.disk, &self.roots(), &self.documents, file_path)
    }

    /// The text of a file or document as the user sees it; [`RefusalKind::NotFound`] when there is none.
    pub async fn view(&self, target: &Target) -> Result<View, Refusal> {
        view::view(self, target).await
    }

    /// What a name leads to, before it is read.
    pub async fn probe(&self, target: &Target) -> Result<Probe, Refusal> {
        probe::probe(self, target).await
    }

    /// Some lines of a file that is too long to be viewed (more than [`view::MAX_FILE_BYTES`]).
    pub async fn lines_of_large(&self, target: &Target, wanted: large::Wanted) -> Result<large::Stretch, Refusal> {
        large::lines(self, target, wanted).await
    }

    /// Whether a file holds exactly this text (a byte order mark aside).
    pub async fn on_disk(&self, key: &Key, text: &Text) -> bool {
        let Key::File(path) = key else { return false };
        let (disk, path, text) = (Arc::clone(&self.ports.disk), path.clone(), text.clone());
        tokio::task::spawn_blocking(move || view::same_on_disk(&*disk, &path, &text)).await.unwrap_or(false)
    }

    /// Whether a file holds this text as an editor may have saved it: line ends and the final one aside.
    pub async fn saved_as(&self, key: &Key, text: &Text) -> bool {
        self.desk().saved_as(key, text).await.is_some()
    }

    /// What a change would do now. Changes nothing.
    pub async fn preview(&self, change: &FileChange) -> Result<Preview, Refusal> {
        commit::preview(&self.desk(), change).await
    }

    /// Makes a change. Waits its turn in the document's queue; once the edit has been sent to the editor, `cancel` has
    /// no effect any more.
    pub async fn commit(&self, change: &FileChange, cancel: &CancellationToken) -> Result<Committed, Refusal> {
        commit::commit(self.desk(), change.clone(), cancel).await
    }

    /// Several changes, in order, as one change a file: those that follow one another on one file are composed.
    pub fn compose(&self, changes: &[FileChange]) -> Result<Vec<FileChange>, Refusal> {
        commit::compose(changes)
    }

    /// What changes that are made together would do now, each of them; they are composed already. Changes nothing.
    pub async fn preview_set(&self, changes: &[FileChange]) -> Result<Vec<Preview>, Refusal> {
        commit::preview_set(&self.desk(), changes).await
    }

    /// Makes several changes, all of them or none. They are composed, computed and checked first, and then made, in the
    /// turns of all their documents; where one fails, the others are taken back. Until the first of them is sent or
    /// written, `cancel` cancels all, and afterwards it has no effect.
    pub async fn commit_set(
        &self,
        changes: &[FileChange],
        cancel: &CancellationToken,
    ) -> Result<Vec<Committed>, SetRefused> {
        commit::commit_set(self.desk(), changes.to_vec(), cancel).await
    }

    /// The same, and `landed` hears of each change that was made (and of what could not be taken back of a set that
    /// failed) in the turn of its document: in the order in which changes of a text are made, whoever makes them.
    pub async fn commit_set_then(
        &self,
        changes: &[FileChange],
        cancel: &CancellationToken,
        landed: commit::Landed,
    ) -> Result<Vec<Committed>, SetRefused> {
        let desk = commit::Desk { landed: Some(landed), ..self.desk() };
        commit::commit_set(desk, changes.to_vec(), cancel).await
    }

    /// Looks for changes of several files in the workspace folders that a crash interrupted, and takes them back: closed
    /// files at once, documents when the editor has opened them again. Does not wait for that.
    pub fn recover(&self) {
        self.recovery.clone().look(self.desk());
    }

    /// Waits until what a crash interrupted has been taken back, as far as it can be yet.
    pub async fn recovered(&self) {
        self.recovery.settled().await;
    }

    /// Takes what is to be told of changes that a crash interrupted.
    pub fn recovery_news(&self) -> Vec<String> {
        self.recovery.take_news()
    }

    /// The end of the run: documents that were never opened again are what their files are.
    pub async fn rest(&self) {
        self.recovery.rest(&self.desk()).await;
    }

    /// Takes what became known of earlier edits of a document after their calls were answered: that one landed after
    /// all, or was refused. (The next commit of the document takes it too, into its notes.)
    pub fn late_news(&self, key: &Key) -> Vec<String> {
        self.queues.take_late(key)
    }

    /// Where copies of files are put aside while they are overwritten in place (files with several names or another
    /// owner). Without such a place they are put beside the file.
    pub fn set_state_dir(&self, state_dir: Option<PathBuf>) {
        *self.state_dir.write().unwrap_or_else(PoisonError::into_inner) = state_dir;
    }

    fn desk(&self) -> commit::Desk {
        commit::Desk {
            ports: self.ports.clone(),
            editor: Arc::clone(&self.editor),
            documents: Arc::clone(&self.documents),
            settings: self.settings(),
            queues: self.queues.clone(),
            recovery: self.recovery.clone(),
            folders: self.roots().folders,
            landed: None,
            state_dir: self.state_dir.read().unwrap_or_else(PoisonError::into_inner).clone(),
        }
    }
}
