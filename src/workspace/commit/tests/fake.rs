//! An editor for tests: it owns its buffers, drives the mirror as a real one does, and treats each edit as it is told.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::config::Settings;
use crate::editor::{Abilities, ApplyEdit, AskError, EditReply, Editor, News, Resync};
use crate::ports::{Disk, MemoryDisk, Ports, Seeded, SystemClock};
use crate::text::{LineEnd, Splice, Text};
use crate::workspace::commit::{Committed, Fate, FileChange, Hunk, LineSpan, Rewrite, Rewritten};
use crate::workspace::documents::{ContentChange, Counting, Documents};
use crate::workspace::paths::{Key, Target};
use crate::workspace::{Refusal, RefusalKind, Workspace};

pub(super) type Answer = Result<EditReply, AskError>;
type Script = Box<dyn FnOnce(Arc<Fake>, ApplyEdit) -> BoxFuture<'static, Answer> + Send>;

pub(super) const YES: Answer = Ok(EditReply { applied: true, reason: None });
pub(super) const NO: Answer = Ok(EditReply { applied: false, reason: None });

/// The one document most tests are about.
pub(super) const PATH: &str = "/w/a.txt";

/// How an edit that is applied shows in notifications.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Show {
    /// All edits in one notification, the last one in the text first.
    Once,
    /// A notification for each, the last one first.
    Each,
    /// A notification for each, the first one first.
    EachForward,
    /// The whole text.
    Whole,
}

struct State {
    text: Text,
    version: i32,
    open: bool,
    /// Notifications are held back while this is set.
    held: Option<Vec<ContentChange>>,
    scripts: VecDeque<Script>,
    edits: Vec<ApplyEdit>,
    told: Vec<News>,
    resync: bool,
}

pub(super) struct Fake {
    me: Weak<Fake>,
    pub(super) documents: Arc<Documents>,
    counting: Counting,
    key: Key,
    state: Mutex<State>,
}

impl Fake {
    fn new(documents: Arc<Documents>, counting: Counting) -> Arc<Fake> {
        let state = State {
            text: Text::new("", counting.breaks),
            version: 0,
            open: false,
            held: None,
            scripts: VecDeque::new(),
            edits: Vec::new(),
            told: Vec::new(),
            resync: false,
        };
        Arc::new_cyclic(|me| Fake {
            me: me.clone(),
            documents,
            counting,
            key: Key::File(PATH.into()),
            state: Mutex::new(state),
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// Opens the document, or opens it again.
    pub(super) fn open(&self, text: &str, version: i32) {
        {
            let mut state = self.lock();
            (state.text, state.version, state.open) = (Text::new(text, self.counting.breaks), version, true);
        }
        self.documents.open(self.key.clone(), "file:///w/a.txt", "plaintext", version, text);
    }

    pub(super) fn close(&self) {
        self.lock().open = false;
        self.documents.close(&self.key);
    }

    pub(super) fn text(&self) -> String {
        self.lock().text.to_string()
    }

    pub(super) fn version(&self) -> i32 {
        self.lock().version
    }

    /// Every edit that was asked for so far.
    pub(super) fn edits(&self) -> Vec<ApplyEdit> {
        self.lock().edits.clone()
    }

    pub(super) fn told(&self) -> Vec<News> {
        self.lock().told.clone()
    }

    /// From now on it answers `resync`.
    pub(super) fn can_resync(&self) {
        self.lock().resync = true;
    }

    /// How the next edit without a script is treated.
    pub(super) fn next<F>(&self, script: impl FnOnce(Arc<Fake>, ApplyEdit) -> F + Send + 'static)
    where
        F: Future<Output = Answer> + Send + 'static,
    {
        self.lock().scripts.push_back(Box::new(move |fake, edit| Box::pin(script(fake, edit))));
    }

    /// The user replaces `old`, which is in the text once, by `new`.
    pub(super) fn types(&self, old: &str, new: &str) {
        let text = self.text();
        assert_eq!(text.matches(old).count(), 1, "{old:?} in {text:?}");
        let at = text.find(old).unwrap();
        self.splice(&Splice { range: at..at + old.len(), text: new.to_owned() });
    }

    /// The user changes the buffer; the notification goes out, or waits for the others.
    pub(super) fn splice(&self, splice: &Splice) {
        let mut state = self.lock();
        let edit = state.text.edit_of(splice, self.counting.encoding);
        state.text.splice(splice);
        let change = ContentChange { range: Some(edit.range), text: edit.new_text };
        self.notify(&mut state, vec![change]);
    }

    /// Holds notifications back, as a debouncing editor does.
    pub(super) fn hold(&self) {
        self.lock().held.get_or_insert_with(Vec::new);
    }

    /// Sends what was held back as one notification.
    pub(super) fn flush(&self) {
        let mut state = self.lock();
        if let Some(held) = state.held.take().filter(|held| !held.is_empty()) {
            self.notify(&mut state, held);
        }
    }

    /// Sends what was held back as one replacement of everything that differs, as an editor that compares texts does.
    pub(super) fn flush_as_one(&self) {
        let mut state = self.lock();
        if state.held.take().is_some_and(|held| !held.is_empty()) {
            let old = self.documents.get(&self.key).unwrap().text;
            let (olds, news) = (old.to_string(), state.text.to_string());
            let (prefix, suffix) = crate::text::diff::common_ends(&olds, &news);
            let splice =
                Splice { range: prefix..olds.len() - suffix, text: news[prefix..news.len() - suffix].to_owned() };
            let edit = old.edit_of(&old.widen(&splice), self.counting.encoding);
            self.notify(&mut state, vec![ContentChange { range: Some(edit.range), text: edit.new_text }]);
        }
    }

    fn notify(&self, state: &mut State, changes: Vec<ContentChange>) {
        if let Some(held) = &mut state.held {
            held.extend(changes);
        } else {
            state.version += 1;
            self.documents.change(&self.key, state.version, changes);
        }
    }

    /// Loses what was held back.
    pub(super) fn lose(&self) {
        let mut state = self.lock();
        state.held = None;
        state.version += 1;
    }

    /// How many changes are held back.
    pub(super) fn unflushed(&self) -> usize {
        self.lock().held.as_ref().map_or(0, Vec::len)
    }

    /// Versions skip numbers.
    pub(super) fn skip(&self, versions: i32) {
        self.lock().version += versions;
    }

    /// Applies an edit to the buffer as it is now, whatever version the edit is meant for.
    pub(super) fn apply(&self, edit: &ApplyEdit, show: Show) {
        self.apply_with(edit, show, None, false);
    }

    /// The same, for an editor that has line ends of its own, or restores the final newline.
    pub(super) fn apply_with(&self, edit: &ApplyEdit, show: Show, eol: Option<LineEnd>, final_newline: bool) {
        let mut state = self.lock();
        let mut splices: Vec<Splice> =
            edit.edits.iter().map(|edit| state.text.splice_of(edit, self.counting.encoding).0).collect();
        for splice in &mut splices {
            if let Some(eol) = eol {
                splice.text = eol.apply(&splice.text);
            }
        }
        let mut changes = Vec::new();
        if show == Show::EachForward {
            let mut shift = 0isize;
            for mut splice in splices {
                let len = splice.range.len();
                splice.range = splice.range.start.strict_add_signed(shift)..splice.range.end.strict_add_signed(shift);
                shift += splice.text.len().cast_signed() - len.cast_signed();
                changes.push(Self::put(&mut state.text, &splice, self.counting));
            }
        } else {
            for splice in splices.iter().rev() {
                changes.push(Self::put(&mut state.text, splice, self.counting));
            }
        }
        if final_newline && !state.text.to_string().ends_with('\n') {
            let end = Splice { range: state.text.len()..state.text.len(), text: "\n".into() };
            changes.push(Self::put(&mut state.text, &end, self.counting));
        }
        match show {
            Show::Once => self.notify(&mut state, changes),
            Show::Each | Show::EachForward => {
                for change in changes {
                    self.notify(&mut state, vec![change]);
                }
            }
            Show::Whole => {
                let text = state.text.to_string();
                self.notify(&mut state, vec![ContentChange { range: None, text }]);
            }
        }
    }

    fn put(text: &mut Text, splice: &Splice, counting: Counting) -> ContentChange {
        let edit = text.edit_of(&text.widen(splice), counting.encoding);
        text.splice(splice);
        ContentChange { range: Some(edit.range), text: edit.new_text }
    }

    /// What an editor should do: checks the version, applies, and says so.
    pub(super) fn well(&self, edit: &ApplyEdit, show: Show) -> Answer {
        if edit.version != self.version() {
            return NO;
        }
        self.apply(edit, show);
        YES
    }
}

#[async_trait]
impl Editor for Fake {
    fn abilities(&self) -> Abilities {
        Abilities { resync: self.lock().resync, ..Abilities::default() }
    }

    async fn apply_edit(&self, edit: ApplyEdit, deadline: Duration) -> Answer {
        let script = {
            let mut state = self.lock();
            state.edits.push(edit.clone());
            state.scripts.pop_front()
        };
        match script {
            None => self.well(&edit, Show::Once),
            Some(script) => {
                let answer = script(self.me.upgrade().unwrap(), edit);
                tokio::time::timeout(deadline, answer).await.unwrap_or(Err(AskError::Timeout))
            }
        }
    }

    async fn resync(&self, _: &str, _: Duration) -> Result<Resync, AskError> {
        if !self.lock().resync {
            return Err(AskError::Unsupported);
        }
        // What is held back goes out first: the answer is about a version that was told.
        self.flush();
        let state = self.lock();
        Ok(Resync { version: state.version, text: state.text.to_string(), mended: false })
    }

    fn tell(&self, news: News) {
        self.lock().told.push(news);
    }
}

/// Replaces the only place of a text; empty `old` means a file that is not there.
pub(in crate::workspace::commit) struct Replace(
    pub(in crate::workspace::commit) String,
    pub(in crate::workspace::commit) String,
);

impl Rewrite for Replace {
    fn rewrite(&self, before: Option<&Text>) -> Result<Rewritten, Refusal> {
        let Replace(old, new) = self;
        let text = before.map(ToString::to_string).unwrap_or_default();
        let places: Vec<usize> = text.match_indices(old.as_str()).map(|(at, _)| at).collect();
        let at = match *places {
            [at] => at,
            [] => return Err(Refusal::new(RefusalKind::NotFound, format!("There is no {old:?}."))),
            _ => return Err(Refusal::new(RefusalKind::Ambiguous, format!("There are many {old:?}."))),
        };
        let line = text[..at].matches('\n').count() + 1;
        let span = |text: &str| LineSpan { start: line, count: text.lines().count() };
        let hunk = Hunk { strategy: "simple".into(), similarity: 1.0, before: span(old), after: span(new) };
        Ok(Rewritten {
            splices: vec![Splice { range: at..at + old.len(), text: new.clone() }],
            hunks: vec![hunk],
            notes: Vec::new(),
        })
    }
}

/// A workspace over a fake editor and a disk.
pub(super) struct Bench<D = MemoryDisk> {
    pub(super) workspace: Arc<Workspace>,
    pub(super) editor: Arc<Fake>,
    pub(super) disk: Arc<D>,
}

impl Bench {
    /// With the document open.
    pub(super) fn open(text: &str) -> Bench {
        Bench::counting(text, Counting::default())
    }

    pub(super) fn counting(text: &str, counting: Counting) -> Bench {
        let bench = Bench::over(MemoryDisk::new().with_file(PATH, "on the disk\n"), counting);
        bench.editor.open(text, 1);
        bench
    }
}

impl<D: Disk> Bench<D> {
    pub(super) fn over(disk: D, counting: Counting) -> Bench<D> {
        let documents = Arc::new(Documents::new());
        documents.count_as(counting);
        let editor = Fake::new(Arc::clone(&documents), counting);
        let disk = Arc::new(disk);
        let ports = Ports {
            disk: Arc::clone(&disk) as Arc<dyn Disk>,
            clock: Arc::new(SystemClock),
            random: Arc::new(Seeded::new(1)),
        };
        let workspace = Arc::new(Workspace::new(ports, Arc::clone(&editor) as Arc<dyn Editor>, documents));
        workspace.set_settings(Arc::new(Settings::default()));
        Bench { workspace, editor, disk }
    }

    pub(super) async fn replace(&self, old: &str, new: &str) -> Result<Committed, Refusal> {
        self.replace_in(PATH, old, new).await
    }

    pub(super) async fn replace_in(&self, path: impl AsRef<Path>, old: &str, new: &str) -> Result<Committed, Refusal> {
        let change = change(path, Replace(old.into(), new.into()));
        self.workspace.commit(&change, &CancellationToken::new()).await
    }
}

pub(in crate::workspace::commit) fn change(path: impl AsRef<Path>, rewrite: impl Rewrite) -> FileChange {
    let path = path.as_ref();
    FileChange {
        target: Target {
            key: Key::File(path.to_owned()),
            uri: format!("file://{}", path.display()),
            shown: path.file_name().unwrap().to_string_lossy().into_owned(),
            paths: vec![path.to_owned()],
            inside: true,
        },
        rewrite: Arc::new(rewrite),
        label: "Edit".into(),
        fate: Fate::Stays,
    }
}

pub(super) async fn pause(ms: u64) {
    tokio::time::sleep(Duration::from_millis(ms)).await;
}
