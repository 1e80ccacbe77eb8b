//! The files as the user sees them: the editor's buffers over the disk; and the one way to change them.

pub mod checkpoints;
pub mod codec;
pub mod commit;
pub mod documents;
pub mod large;
pub mod paths;
pub mod probe;
pub mod proposals;
pub mod search;
pub mod view;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use tokio_util::sync::CancellationToken;

pub use commit::{Committed, Fate, FileChange, Hunk, LineSpan, Preview, Rewrite, Rewritten, SetRefused};
pub use documents::{Documents, Snapshot};
pub use paths::{Key, Roots, Target};
pub use probe::Probe;
pub use proposals::{Laid, Proposals};
pub use view::{Source, View};

use checkpoints::{By, Checkpoints};
use proposals::{Accepting, PendingFile, Rejected, Selector};

use crate::config::Settings;
use crate::editor::{ChangesChanged, Editor, News};
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

/// In the data of a refusal: the change has to be worked out anew.
const OUTDATED: &str = "outdated";

impl Refusal {
    /// A refusal without data.
    pub fn new(kind: RefusalKind, message: impl Into<String>) -> Refusal {
        Refusal { kind, message: message.into(), data: None }
    }

    /// A conflict with a text that moved on, of a change that was worked out for exactly one text: worked out anew, it
    /// may well fit.
    pub fn outdated(message: impl Into<String>) -> Refusal {
        let data = Some(serde_json::json!({ "reason": OUTDATED }));
        Refusal { data, ..Refusal::new(RefusalKind::Conflict, message) }
    }

    /// Whether it is one of those.
    pub fn is_outdated(&self) -> bool {
        self.data.as_ref().is_some_and(|data| data["reason"] == OUTDATED)
    }
}

/// Files and documents as one. A copy is a handle on the same.
#[derive(Clone)]
pub struct Workspace {
    /// The world.
    pub ports: Ports,
    /// The editor.
    pub editor: Arc<dyn Editor>,
    /// The mirror.
    pub documents: Arc<Documents>,
    /// What agents changed and nobody has judged yet.
    pub checkpoints: Arc<Checkpoints>,
    /// What sessions propose.
    pub proposals: Arc<Proposals>,
    layer: Option<Layer>,
    roots: Arc<RwLock<Roots>>,
    settings: Arc<RwLock<Arc<Settings>>>,
    queues: commit::Queues,
    recovery: commit::Recovery,
    state_dir: Arc<RwLock<Option<PathBuf>>>,
}

/// Whose proposals a handle shows.
#[derive(Debug, Clone)]
struct Layer {
    session: Arc<str>,
    /// Changes through this handle are to be proposed.
    proposes: bool,
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
            proposals: Arc::default(),
            layer: None,
            roots: Arc::default(),
            settings: Arc::default(),
            queues: commit::Queues::default(),
            recovery: commit::Recovery::default(),
            state_dir: Arc::default(),
        }
    }

    /// A handle through which everything looks as one session sees it: what it proposes lies over the rest. `proposes`:
    /// what is changed through it is to be proposed.
    #[must_use]
    pub fn of_session(&self, session: &str, proposes: bool) -> Workspace {
        Workspace { layer: Some(Layer { session: Arc::from(session), proposes }), ..self.clone() }
    }

    /// The session as which this handle sees.
    pub fn session(&self) -> Option<&str> {
        self.layer.as_ref().map(|layer| &*layer.session)
    }

    /// Whether changes through this handle are to be proposed.
    pub fn proposes(&self) -> bool {
        self.layer.as_ref().is_some_and(|layer| layer.proposes)
    }

    /// Whether changes touch what the session of this handle proposes, so that they can only be proposed too.
    pub fn touches_proposals<'a>(&self, changes: impl IntoIterator<Item = &'a FileChange>) -> bool {
        let keys = changes.into_iter().flat_map(|change| match &change.fate {
            Fate::Moved { to } => vec![&change.target.key, &to.key],
            Fate::Stays | Fate::Deleted => vec![&change.target.key],
        });
        self.session().is_some_and(|session| self.proposals.touch(session, keys))
    }

    /// Tells the editor that what is proposed for files is another thing now.
    pub(crate) fn tell_proposals(&self, uris: impl IntoIterator<Item = String>) {
        let uris: BTreeSet<String> = uris.into_iter().collect();
        self.editor.tell(News::Changes(ChangesChanged { uris: uris.into_iter().collect() }));
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

    /// What a name in a tool call means. A file that the session of this handle proposes to make is there for it.
    pub fn resolve(&self, file_path: &str) -> Result<Target, Refusal> {
        let proposed = |key: &Key| self.session().is_some_and(|session| self.proposals.make(session, key));
        paths::resolve_with(&*self.ports.disk, &self.roots(), &self.documents, &proposed, file_path)
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
        if self.touches_proposals([change]) {
            let previews = self.preview_set(std::slice::from_ref(change)).await?;
            return previews.into_iter().next().ok_or_else(|| Refusal::new(RefusalKind::Failed, "Nothing to look at."));
        }
        commit::preview(&self.desk(), change).await
    }

    /// Makes a change. Waits its turn in the document's queue; once the edit has been sent to the editor, `cancel` has
    /// no effect any more.
    pub async fn commit(&self, change: &FileChange, cancel: &CancellationToken) -> Result<Committed, Refusal> {
        commit::commit(self.desk(), change.clone(), cancel).await
    }

    /// Whether a file can be run, as the session of this handle sees it. Blocking: the disk is looked at.
    pub fn runs(&self, target: &Target) -> bool {
        proposals::layer::runs(self, self.session().unwrap_or_default(), target)
    }

    /// Puts changes into what the session of this handle proposes, all of them or none; none where it is not `current`
    /// any more by then.
    pub async fn lay(
        &self,
        by: &By,
        changes: &[FileChange],
        current: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Result<Vec<Laid>, Refusal> {
        let Some(session) = self.session() else {
            return Err(Refusal::new(RefusalKind::Failed, "Without a session nothing can be proposed."));
        };
        let (me, session, by, changes) = (self.clone(), session.to_owned(), by.clone(), changes.to_vec());
        commit::apart(move || proposals::layer::lay(&me, &session, &by, &changes, &current)).await
    }

    /// What accepting some of what the session of this handle proposes comes to. `edited`: the person's own text for it.
    pub async fn accepting(&self, selector: &Selector, edited: Option<String>) -> Result<Vec<Accepting>, Refusal> {
        let (me, selector) = (self.clone(), selector.clone());
        commit::apart(move || {
            let session = me.session().unwrap_or_default();
            proposals::judge::accepting(&me, session, &selector, edited.as_deref())
        })
        .await
    }

    /// What sessions propose (all of them: `None`), for one file or all of them, over what the files are now.
    pub async fn pending(&self, session: Option<&str>, key: Option<Key>) -> Vec<PendingFile> {
        let (me, session) = (self.clone(), session.map(str::to_owned));
        let look = commit::apart(move || {
            for name in me.proposals.sessions() {
                if session.as_ref().is_none_or(|session| *session == name) {
                    proposals::layer::refresh_all(&me, &name);
                }
            }
            Ok(me.proposals.pending(session.as_deref(), key.as_ref()))
        });
        look.await.unwrap_or_default()
    }

    /// Drops some of what the session of this handle proposes.
    pub async fn reject(&self, selector: &Selector, feedback: Option<&str>) -> Result<Vec<Rejected>, Refusal> {
        let (me, selector, feedback) = (self.clone(), selector.clone(), feedback.map(str::to_owned));
        commit::apart(move || {
            let session = me.session().unwrap_or_default();
            proposals::judge::reject(&me, session, &selector, feedback.as_deref())
        })
        .await
    }

    /// Several changes, in order, as one change a file: those that follow one another on one file are composed.
    pub fn compose(&self, changes: &[FileChange]) -> Result<Vec<FileChange>, Refusal> {
        commit::compose(changes)
    }

    /// What changes that are made together would do now, each of them; they are composed already. Changes nothing.
    pub async fn preview_set(&self, changes: &[FileChange]) -> Result<Vec<Preview>, Refusal> {
        if let Some(session) = self.session().filter(|_| self.touches_proposals(changes)) {
            let (me, session, changes) = (self.clone(), session.to_owned(), changes.to_vec());
            return commit::apart(move || proposals::layer::preview(&me, &session, &changes)).await;
        }
        commit::preview_set(&self.desk(), changes).await
    }

    /// Makes several changes, all of them or none; they are composed already. They are computed and checked first, and then
    /// made, in the turns of all their documents; where one fails, the others are taken back. Until the first of them is sent or
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
        let state_dir = state_dir.map(|folder| self.ports.disk.canonicalize(&folder).unwrap_or(folder));
        *self.state_dir.write().unwrap_or_else(PoisonError::into_inner) = state_dir;
    }

    /// That place, canonical where it was there when it was named.
    pub fn state_dir(&self) -> Option<PathBuf> {
        self.state_dir.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn desk(&self) -> commit::Desk {
        commit::Desk {
            checkpoints: Arc::clone(&self.checkpoints),
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
