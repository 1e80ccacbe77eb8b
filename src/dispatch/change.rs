//! Makes the changes of a call, tells what was done, and brings the diagnostics that follow.

use std::collections::{HashMap, VecDeque};
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;

use futures_util::FutureExt as _;
use tracing::error;

use crate::editor::{FileChangeKind, FileChanged, Origin};
use crate::languages::verdict::render_within;
use crate::languages::{DiagnosticsReport, Edited, Prepared, WaitMode};
use crate::text::{self, LineBreaks, Text};
use crate::tool::{ErrorKind, ToolError};
use crate::workspace::paths::{path_of_uri, uri_of_path};
use crate::workspace::search::visible;
use crate::workspace::{
    Committed, Fate, FileChange, Hunk, Key, LineSpan, Preview, Refusal, RefusalKind, SetRefused, Target,
};

use super::call::EditResult;
use super::gate;
use super::propose::needs_new_consent;
use super::{Call, Dispatch};

/// Of a call's budget, a diff takes at most one part in so many.
pub(super) const DIFF_SHARE: usize = 2;

/// What is said of a change that is not on the disk, and what becomes of it when the document is saved after all.
const UNSAVED: &str = " The change is in the editor's buffer and not saved to the disk.";
const SAVED: &str = " The change is saved to the disk.";

/// In the data of a refusal: it was our deadline that cancelled the commit.
const TIMEOUT: &str = "timeout";

/// The changes of a call as far as they were made.
#[derive(Default)]
pub(super) struct Made {
    pub edits: Vec<EditResult>,
    /// Words for the model, one entry a file.
    pub told: Vec<Told>,
    pub settling: Vec<(Prepared, Edited)>,
    /// What is known of problems afterwards; `None` when that could not be found out.
    pub report: Option<DiagnosticsReport>,
    /// Each text that was changed: its hash before, if there was one, and after.
    pub texts: Vec<(Key, Option<String>, String)>,
    /// Nothing was made: it is only proposed.
    pub proposed: bool,
    /// For each of `settling` its place in `told`: of what is deleted nothing is waited for.
    pub(super) places: Vec<usize>,
}

/// What is said of the change of one file.
pub(super) struct Told {
    pub words: String,
    /// The whole diff, where it tells the model something new.
    pub diff: String,
    /// Of the diff the model is shown at most so many bytes; the rest is in the stored output.
    pub share: usize,
}

impl Told {
    /// Adds a remark.
    pub(super) fn note(&mut self, note: &str) {
        self.words.push_str("\nNote: ");
        self.words.push_str(note);
        if !note.ends_with('.') {
            self.words.push('.');
        }
    }

    /// The change is on the disk by now.
    pub(super) fn saved(&mut self) {
        self.words = self.words.replacen(UNSAVED, SAVED, 1);
    }
}

/// Why the changes of a call were not all made.
pub(super) enum Stopped {
    /// Nothing was made, for the text moved on: what would be made now has to be worked out, and the person asked about it
    /// if it is not what they consented to. The failure, if that has been done often enough.
    Again(ToolError),
    /// One failed, and the others were taken back; what could not be is told.
    Failed(ToolError),
}

impl Dispatch {
    /// Makes the changes, all of them or none.
    pub(super) async fn make(
        &self,
        call: &mut Call<'_>,
        changes: &[(FileChange, Preview)],
        made: &mut Made,
    ) -> Result<(), Stopped> {
        let clock = self.workspace.ports.clock.clone();
        let started = clock.now();
        let result = self.make_all(call, changes, made).await;
        self.follow_up(call, made).await;
        call.timing.apply_ms += super::millis(clock.now() - started);
        result
    }

    async fn make_all(
        &self,
        call: &Call<'_>,
        changes: &[(FileChange, Preview)],
        made: &mut Made,
    ) -> Result<(), Stopped> {
        let prepared: Vec<(Key, Prepared)> =
            changes.iter().map(|(change, before)| self.prepared(change, before)).collect();
        let take = |committed: Vec<Committed>, made: &mut Made| {
            // Of a name that one change gives up and another takes, the changes are in their order.
            let mut by_key: HashMap<Key, VecDeque<Prepared>> = HashMap::with_capacity(prepared.len());
            for (key, prepared) in prepared {
                by_key.entry(key).or_default().push_back(prepared);
            }
            for committed in committed {
                let next = by_key.get_mut(&committed.target.key).and_then(VecDeque::pop_front);
                if let Some(prepared) = next {
                    self.made(call, prepared, committed, made);
                }
            }
        };
        let all: Vec<FileChange> = changes.iter().map(|(change, _)| change.clone()).collect();
        match self.commit(call, &all).await {
            Ok(committed) => {
                take(committed, made);
                Ok(())
            }
            Err(SetRefused { refusal, left, .. })
                if (needs_new_consent(&refusal) || refusal.is_outdated()) && left.is_empty() =>
            {
                Err(Stopped::Again(failure(refusal)))
            }
            Err(SetRefused { refusal, left, .. }) => {
                take(left, made);
                Err(Stopped::Failed(failure(refusal)))
            }
        }
    }

    /// A file just before its change, by its key; where it is moved, at its new place.
    fn prepared(&self, change: &FileChange, preview: &Preview) -> (Key, Prepared) {
        let open = self.workspace.documents.get(&change.target.key);
        let language = open.as_ref().map(|document| document.language_id.as_str());
        let empty = Text::new("", LineBreaks::default());
        let before = open.as_ref().map(|document| &document.text).or(preview.before.as_ref()).unwrap_or(&empty);
        let prepared = self.languages.prepare(place(&change.target, &change.fate), language, before);
        (change.target.key.clone(), prepared)
    }

    /// The commit of all changes. Past the deadline it is cancelled, which has no effect any more once the first edit
    /// has been sent.
    pub(super) async fn commit(&self, call: &Call<'_>, changes: &[FileChange]) -> Result<Vec<Committed>, SetRefused> {
        let cancel = call.context.cancel.child_token();
        let limits = call.limits();
        self.review_ready().await;
        let landed = self.attributed(call, changes);
        let commit = AssertUnwindSafe(self.workspace.commit_set_then(changes, &cancel, landed)).catch_unwind();
        tokio::pin!(commit);
        let done = tokio::select! {
            biased;
            done = &mut commit => done,
            () = limits.clock.sleep(limits.deadline) => {
                cancel.cancel();
                commit.await
            }
        };
        match done {
            Ok(Err(SetRefused { refusal, left, misfit }))
                if refusal.kind == RefusalKind::Cancelled && !call.context.cancel.is_cancelled() =>
            {
                let late = super::execute::late(limits.tool, limits.deadline);
                let data = Some(TIMEOUT.into());
                Err(SetRefused { refusal: Refusal { kind: refusal.kind, message: late.message, data }, left, misfit })
            }
            Ok(done) => done,
            Err(_) => {
                error!(tool = limits.tool, "a commit panicked");
                let shown: Vec<&str> = changes.iter().map(|change| change.target.shown.as_str()).collect();
                let shown = shown.join(", ");
                let words = format!(
                    "Changing {shown} broke down half-way; it is not known whether the edit landed. Read it again before \
                     anything else."
                );
                Err(Refusal::new(RefusalKind::Unknown, words).into())
            }
        }
    }

    fn made(&self, call: &Call<'_>, prepared: Prepared, committed: Committed, made: &mut Made) {
        let session = &call.context.session;
        let key = &place(&committed.target, &committed.fate).key;
        if committed.fate == Fate::Deleted {
            session.forget(key);
        } else if *key != committed.target.key {
            session.moved(&committed.target.key, key);
        }
        let (before, after) = (committed.before.as_ref().map(hash), hash(&committed.after));
        let seen = session.seen(key);
        let whole = committed.before.is_none() || committed.hunks.iter().all(|hunk| hunk.strategy == "write");
        let mut notes = committed.notes.clone();
        made.texts.push((key.clone(), before.clone(), after.clone()));
        self.world.changed();
        if committed.fate == Fate::Deleted {
            // Nothing of it is left to be known.
        } else if whole && (committed.fate == Fate::Stays || !committed.hunks.is_empty()) {
            session.saw(key, &after, Some(&call.context.call));
        } else if seen.is_some() && seen == before && session.unseen(key).is_empty() {
            session.changed(key, &after, Some(&call.context.call));
        } else if seen.is_some() && seen != before {
            notes.push("it had changed since you last read it; the edit was made in the text as it is now".to_owned());
        }
        if committed.version_after.is_none() {
            self.tell_servers(&committed);
        }
        let budget = call.budget.max / DIFF_SHARE / (made.edits.len() + 1);
        made.told.push(told(&committed, &notes, budget));
        made.edits.push(EditResult::of(&committed));
        if committed.fate == Fate::Deleted {
            return;
        }
        made.places.push(made.told.len() - 1);
        made.settling.push((
            prepared,
            Edited {
                target: place(&committed.target, &committed.fate).clone(),
                version: committed.version_after,
                splices: committed.splices,
                after: committed.after,
            },
        ));
    }

    /// Tells our language servers what became of a file on the disk.
    pub(super) fn tell_servers(&self, committed: &Committed) {
        // They know a file by where it is, and not by a link to it that the call named.
        let tell = |target: &Target, kind| {
            let uri = match &target.key {
                Key::File(path) => uri_of_path(path),
                Key::Unnamed(_) => target.uri.clone(),
            };
            self.languages.file_changed(&FileChanged { uri, kind, by: Origin::Agent });
        };
        match &committed.fate {
            Fate::Stays if committed.before.is_none() => tell(&committed.target, FileChangeKind::Created),
            Fate::Stays => tell(&committed.target, FileChangeKind::Changed),
            Fate::Deleted => tell(&committed.target, FileChangeKind::Deleted),
            Fate::Moved { to } => {
                tell(&committed.target, FileChangeKind::Deleted);
                tell(to, FileChangeKind::Created);
            }
        }
    }

    /// Waits for the diagnostics of what was made. No turn is held meanwhile.
    pub(super) async fn settle(&self, call: &mut Call<'_>, made: &mut Made) {
        let (settling, places) = (std::mem::take(&mut made.settling), std::mem::take(&mut made.places));
        let clock = self.workspace.ports.clock.clone();
        let started = clock.now();
        let wait = call.params.diagnostics.clone();
        let cancel = &call.context.cancel;
        let together = call.member.filter(|_| !settling.is_empty() && wait.wait != WaitMode::None);
        let edits = settling.clone();
        made.report = if let Some(member) = together {
            member.settled(settling, &wait, cancel).await
        } else {
            let settled = self.languages.settle(settling, &wait, cancel);
            super::execute::contained("diagnostics", settled).await.ok()
        };
        call.timing.diagnostics_ms += super::millis(clock.now() - started);
        let unchecked = gate::unchecked(self.workspace.settings().syntax_gate, &edits, made.report.as_ref());
        if unchecked.is_empty() {
            return;
        }
        let look = move || {
            unchecked.into_iter().filter_map(|(at, made)| Some((*places.get(at)?, made.broke()?))).collect::<Vec<_>>()
        };
        match tokio::task::spawn_blocking(look).await {
            Ok(broken) => gate::tell(&mut made.told, &broken),
            Err(error) => error!(%error, "the syntax gate broke down"),
        }
    }
}

/// Where a file is after its change.
pub(super) fn place<'a>(target: &'a Target, fate: &'a Fate) -> &'a Target {
    match fate {
        Fate::Stays | Fate::Deleted => target,
        Fate::Moved { to } => to,
    }
}

fn failure(refusal: Refusal) -> ToolError {
    let late = refusal.data.as_ref().is_some_and(|data| data == TIMEOUT);
    let error = ToolError::from(refusal);
    if late { ToolError::new(ErrorKind::Timeout, error.message) } else { error }
}

/// The protocol's `hash` of a text.
pub(super) fn hash(text: &Text) -> String {
    text::hash(&text.to_string())
}

/// The words about diagnostics; without a report nothing is known, and that is said.
pub(super) fn told_diagnostics(report: Option<&DiagnosticsReport>, folders: &[PathBuf]) -> String {
    match report {
        Some(report) => render_within(report, folders),
        None => "Diagnostics: not known, collecting them broke down.".to_owned(),
    }
}

/// The words about diagnostics that came after the result of the edit they are about.
pub(super) fn told_late(news: &DiagnosticsReport, folders: &[PathBuf]) -> String {
    format!("Since then, about earlier edits:\n{}", render_within(news, folders))
}

/// The words about background work that has ended, given one line for each.
pub(super) fn told_jobs(news: &[String]) -> Option<String> {
    (!news.is_empty()).then(|| format!("Since then: {}.", news.join("; ")))
}

/// What was done to one file, in words and as a diff.
fn told(committed: &Committed, notes: &[String], share: usize) -> Told {
    let shown = &committed.target.shown;
    let mut out = match (&committed.fate, &committed.before) {
        (Fate::Stays, None) => {
            let size = counted(lines(&committed.after), "line");
            match led(&committed.target) {
                None => format!("Created {shown} ({size})."),
                Some((named, path)) => format!("Created {path} ({size}), where {named} leads."),
            }
        }
        (Fate::Stays, Some(_)) if committed.splices.is_empty() && committed.executable.is_some() => {
            format!("Changed the mode of {shown}.")
        }
        (Fate::Stays, Some(_)) => format!("Changed {shown}: {}.", told_hunks(&committed.hunks)),
        (Fate::Deleted, before) => {
            format!("Deleted {shown} ({}).", counted(before.as_ref().map_or(0, lines), "line"))
        }
        (Fate::Moved { to }, _) if committed.splices.is_empty() => format!("Moved {shown} to {}.", to.shown),
        (Fate::Moved { to }, _) => {
            format!("Moved {shown} to {} and changed it: {}.", to.shown, told_hunks(&committed.hunks))
        }
    };
    if committed.unsaved {
        out.push_str(UNSAVED);
    }
    match committed.executable.filter(|_| committed.fate != Fate::Deleted) {
        Some((_, true)) => out.push_str(" It can be run now (mode 100755)."),
        Some((_, false)) => out.push_str(" It cannot be run any more (mode 100644)."),
        None => {}
    }
    // Of a new file the diff is the content that the model sent.
    let news = match &committed.fate {
        Fate::Stays => committed.before.is_some(),
        Fate::Deleted => false,
        Fate::Moved { .. } => !committed.splices.is_empty(),
    };
    let diff = if news { committed.unified_diff.trim_end_matches('\n') } else { "" };
    let mut told = Told { words: out, diff: diff.to_owned(), share };
    for note in notes {
        told.note(note);
    }
    told
}

/// The path that was named, and the one that it leads to, where they are not the same.
fn led(target: &Target) -> Option<(String, String)> {
    let Key::File(path) = &target.key else { return None };
    let named = path_of_uri(&target.uri)?;
    (named != *path).then(|| (visible(&named), visible(path)))
}

pub(super) fn told_hunks(hunks: &[Hunk]) -> String {
    const TOLD: usize = 8;
    let mut told: Vec<String> = hunks
        .iter()
        .take(TOLD)
        .map(|hunk| {
            let how = if hunk.similarity < 1.0 {
                format!("{}, {:.0} % alike", hunk.strategy, hunk.similarity * 100.0)
            } else {
                hunk.strategy.clone()
            };
            format!("{} became {} ({how})", span(hunk.before), span(hunk.after))
        })
        .collect();
    if hunks.len() > TOLD {
        told.push(format!("and {} more places", hunks.len() - TOLD));
    }
    told.join(", ")
}

/// Some lines, in words.
pub(super) fn span(span: LineSpan) -> String {
    match span.count {
        0 => format!("nothing at line {}", span.start),
        1 => format!("line {}", span.start),
        count => format!("lines {}-{}", span.start, span.start + count - 1),
    }
}

/// How many lines a text has, as people count: the empty one after a final line end is none.
pub(crate) fn lines(text: &Text) -> usize {
    let last_is_empty = text.line_start(text.line_count() - 1) == text.len();
    text.line_count() - usize::from(last_is_empty)
}

pub(super) fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
