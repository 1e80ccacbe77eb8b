//! What a session sees: its proposals over the documents and files. Blocking: files are read here.

use crate::text::{Splice, Text};
use crate::workspace::checkpoints::By;
use crate::workspace::commit::{self, Fate, FileChange, Hunk, Preview};
use crate::workspace::paths::{Key, Target};
use crate::workspace::view::{self, Source, View};
use crate::workspace::{Refusal, RefusalKind, Workspace};

use super::stack::{Over, Proposed, Stack, Standing, bare};

/// What is said of a text that is only proposed.
const PROPOSED: &str = "This is the text with your own proposed changes, which are not applied: nobody else sees them";

/// A change that landed in a session's proposals.
#[derive(Debug, Clone)]
pub struct Laid {
    /// The file, where the session sees it before.
    pub target: Target,
    /// What is to become of it.
    pub fate: Fate,
    /// What is really there.
    pub real: Option<Text>,
    /// What the session saw there.
    pub before: Option<Text>,
    /// What it sees now; empty for a deletion.
    pub after: Text,
    /// From the one to the other, in bytes of `before`.
    pub splices: Vec<Splice>,
    /// The places.
    pub hunks: Vec<Hunk>,
    /// Remarks for the model.
    pub notes: Vec<String>,
    /// Where it changes that: whether it could be run before as the session sees it, and could be then.
    pub executable: Option<(bool, bool)>,
    /// The change as a unified diff.
    pub unified_diff: String,
    /// The editor's version of the real document, if it is open.
    pub version: Option<i32>,
    /// The language of the real document, if it is open.
    pub language: Option<String>,
    /// The names of its hunks.
    pub ids: Vec<String>,
}

/// A real text as it is now; `None`: there is none.
fn real(workspace: &Workspace, target: &Target) -> Result<Option<View>, Refusal> {
    match view::now(workspace, target) {
        Ok(view) => Ok(Some(view)),
        Err(refusal) if refusal.kind == RefusalKind::NotFound => Ok(None),
        Err(refusal) => Err(refusal),
    }
}

/// How it is there.
fn standing(workspace: &Workspace, target: &Target, real: Option<&View>) -> Standing {
    let (open, unsaved) = match real.map(|view| &view.source) {
        Some(Source::Open { unsaved, .. }) => (true, *unsaved),
        Some(Source::Disk { .. } | Source::Proposed { .. }) | None => (false, false),
    };
    Standing { open, unsaved, runs: real.is_some() && runs_with(mode(workspace, target)) }
}

/// The permission bits of a file on the disk; `None`: it is not there, or cannot be looked at.
pub(super) fn mode(workspace: &Workspace, target: &Target) -> Option<u32> {
    let Key::File(path) = &target.key else { return None };
    workspace.ports.disk.metadata(path).ok().map(|found| found.mode)
}

/// Whether a file with these permission bits can be run; one that is not there cannot.
fn runs_with(mode: Option<u32>) -> bool {
    mode.is_some_and(|mode| mode & 0o111 != 0)
}

/// Whether a file can be run, as a session sees it. Blocking.
pub(in crate::workspace) fn runs(workspace: &Workspace, session: &str, target: &Target) -> bool {
    let (file, known) = workspace.proposals.with(session, |stack| stack.file_and_mode(target));
    known.unwrap_or_else(|| runs_with(mode(workspace, &file)))
}

/// Moves what a session proposes for a real file to what the file is now, and gives that.
fn refresh(workspace: &Workspace, session: &str, target: &Target) -> Result<Option<View>, Refusal> {
    let (real, changed) = workspace.proposals.in_turn(session, || {
        let real = real(workspace, target)?;
        let text = real.as_ref().map(|view| bare(&view.text));
        let standing = standing(workspace, target, real.as_ref());
        let changed = workspace.proposals.with(session, |stack| stack.rebase(&target.key, text.as_ref(), standing));
        Ok::<_, Refusal>((real, changed))
    })?;
    if changed {
        workspace.tell_proposals([target.uri.clone()]);
    }
    Ok(real)
}

/// Moves all that a session proposes to what its files are now. A file that cannot be read stays as it was.
pub(in crate::workspace) fn refresh_all(workspace: &Workspace, session: &str) {
    for target in workspace.proposals.with(session, |stack| stack.files()) {
        if let Err(refusal) = refresh(workspace, session, &target) {
            tracing::debug!(%refusal, uri = target.uri, "the file of a proposal cannot be read");
        }
    }
}

/// The text under a name as a session sees it.
pub(in crate::workspace) fn view(workspace: &Workspace, session: &str, target: &Target) -> Result<View, Refusal> {
    let concerned = workspace.proposals.with(session, |stack| stack.concerning(&target.key).cloned());
    let Some(file) = concerned else { return view::now(workspace, target) };
    let under = refresh(workspace, session, &file)?;
    match workspace.proposals.with(session, |stack| stack.over(&target.key)) {
        Over::Nothing => view::now(workspace, target),
        Over::Hidden(to) => Err(hidden(target, to.as_ref())),
        Over::Text(text) => {
            let note = match under.as_ref().and_then(|view| view.note.as_deref()) {
                Some(note) => format!("{PROPOSED}. {note}"),
                None => PROPOSED.to_owned(),
            };
            let source = Source::Proposed { real: under.map(Box::new) };
            Ok(View { target: target.clone(), text, source, note: Some(note) })
        }
    }
}

fn hidden(target: &Target, to: Option<&Target>) -> Refusal {
    let shown = &target.shown;
    let message = match to {
        Some(to) => format!("{shown} is not there for you: you proposed to move it to {}.", to.shown),
        None => format!("{shown} is not there for you: you proposed to delete it."),
    };
    Refusal::new(RefusalKind::NotFound, message)
}

/// What a search of a session has over the documents: texts, and names of what it is not to see.
pub(in crate::workspace) fn searched(workspace: &Workspace, session: &str) -> (Vec<(Key, Text)>, Vec<Key>) {
    refresh_all(workspace, session);
    workspace.proposals.with(session, |stack| {
        let (mut texts, mut hidden) = (Vec::new(), Vec::new());
        for target in stack.names() {
            match stack.over(&target.key) {
                Over::Text(text) => texts.push((target.key.clone(), text)),
                Over::Hidden(_) => hidden.push(target.key.clone()),
                Over::Nothing => {}
            }
        }
        (texts, hidden)
    })
}

/// What changes would do to what a session sees, one after the other.
pub(in crate::workspace) fn preview(
    workspace: &Workspace,
    session: &str,
    changes: &[FileChange],
) -> Result<Vec<Preview>, Refusal> {
    let each = |change: &FileChange| {
        if let Fate::Moved { to } = &change.fate {
            free(workspace, session, change, to)?;
        }
        let before = match view(workspace, session, &change.target) {
            Ok(view) => Some(bare(&view.text)),
            Err(refusal) if refusal.kind == RefusalKind::NotFound && change.fate == Fate::Stays => None,
            Err(refusal) => return Err(refusal),
        };
        let (file, known) = workspace.proposals.with(session, |stack| stack.file_and_mode(&change.target));
        Ok(previewed(workspace, (&file, known), before, change)?.0)
    };
    changes.iter().map(each).collect()
}

/// What a change would make of what a session sees (`before`), and of the right to run it; `known`: as which the session
/// sees that, where it proposes something about it. `file` is the one that would really be changed.
fn previewed(
    workspace: &Workspace,
    (file, known): (&Target, Option<bool>),
    before: Option<Text>,
    change: &FileChange,
) -> Result<(Preview, Option<(bool, bool)>), Refusal> {
    let wanted = change.rewrite.executable().filter(|_| change.fate != Fate::Deleted);
    let found = wanted.and_then(|_| mode(workspace, file));
    // A mode is that of a file: a document without one has none, and gets none.
    let nowhere = wanted.filter(|_| found.is_none() && workspace.documents.get(&file.key).is_some());
    let was = known.unwrap_or_else(|| runs_with(found));
    let becomes = wanted.filter(|wanted| nowhere.is_none() && *wanted != was).map(|wanted| (was, wanted));
    let mut preview = commit::preview_over(before, workspace.documents.counting().breaks, change, becomes)?;
    if let Some(runs) = nowhere {
        let (shown, mode) = (&change.target.shown, commit::git_mode(runs));
        let why = "the document is not on the disk yet";
        if preview.before.is_some() && preview.rewritten.splices.is_empty() && change.fate == Fate::Stays {
            let words = format!(
                "The mode {mode} of {shown} cannot be proposed: {why}, and nothing else of it would change. Nothing was \
                 proposed. Leave that file out, or ask the user to save it first."
            );
            return Err(Refusal::new(RefusalKind::Unavailable, words));
        }
        preview.rewritten.notes.push(format!("The mode {mode} is not proposed: {why}"));
    }
    Ok((preview, becomes))
}

/// Refuses a move to where the session sees a file, or proposed that one goes away.
fn free(workspace: &Workspace, session: &str, change: &FileChange, to: &Target) -> Result<(), Refusal> {
    if to.key == change.target.key {
        return Ok(());
    }
    let taken = match workspace.proposals.with(session, |stack| stack.concerning(&to.key).cloned()) {
        // Back to where it really is.
        Some(file) if file.key == to.key => {
            !workspace.proposals.with(session, |stack| stack.concerning(&change.target.key) == Some(&file))
        }
        Some(_) => true,
        None => match view::now(workspace, to) {
            Err(refusal) if refusal.kind == RefusalKind::NotFound => false,
            Ok(_) | Err(_) => true,
        },
    };
    if !taken {
        return Ok(());
    }
    let words = format!(
        "{} cannot be moved to {}: something is there, or is proposed to go from there first. Nothing was proposed.",
        change.target.shown, to.shown
    );
    Err(Refusal::new(RefusalKind::Conflict, words))
}

/// Puts changes into what a session proposes, all of them or none; none where the session is not `current` any more when
/// they are there.
pub(in crate::workspace) fn lay(
    workspace: &Workspace,
    session: &str,
    by: &By,
    changes: &[FileChange],
    current: &(dyn Fn() -> bool + Send + Sync),
) -> Result<Vec<Laid>, Refusal> {
    for change in changes {
        if let Some(file) = workspace.proposals.with(session, |stack| stack.concerning(&change.target.key).cloned()) {
            refresh(workspace, session, &file)?;
        }
    }
    let laid = workspace.proposals.in_turn(session, || {
        let mut stack = workspace.proposals.with(session, |stack| stack.clone());
        let laid = changes.iter().map(|change| laid(workspace, session, &mut stack, by, change));
        let laid = laid.collect::<Result<Vec<_>, _>>()?;
        // Asked while nobody can drop what is proposed: a session that ends later drops this, too.
        if !workspace.proposals.with(session, |there| current() && there.become_as(stack)) {
            let words = "The session was closed or began anew meanwhile; nothing is proposed.";
            return Err(Refusal::new(RefusalKind::Cancelled, words));
        }
        Ok::<_, Refusal>(laid)
    })?;
    workspace.tell_proposals(changes.iter().map(|change| change.target.uri.clone()));
    Ok(laid)
}

fn laid(
    workspace: &Workspace,
    session: &str,
    stack: &mut Stack,
    by: &By,
    change: &FileChange,
) -> Result<Laid, Refusal> {
    let (target, breaks) = (&change.target, workspace.documents.counting().breaks);
    if let Fate::Moved { to } = &change.fate {
        free(workspace, session, change, to)?;
    }
    let (file, known) = stack.file_and_mode(target);
    let under = real(workspace, &file)?;
    let real = under.as_ref().map(|view| bare(&view.text));
    let before = match stack.over(&target.key) {
        Over::Nothing => real.clone(),
        Over::Text(text) => Some(text),
        Over::Hidden(_) => None,
    };
    if before.is_none() && change.fate != Fate::Stays {
        return Err(hidden(target, None));
    }
    let (preview, executable) = previewed(workspace, (&file, known), before.clone(), change)?;
    let Preview { after, rewritten, unified_diff, .. } = preview;
    let standing = standing(workspace, &file, under.as_ref());
    let proposed = Proposed {
        target,
        fate: &change.fate,
        runs: executable.map(|(_, runs)| runs),
        real: real.as_ref(),
        splices: &rewritten.splices,
        empty: Text::new("", breaks),
        standing,
    };
    let ids = stack.propose(&proposed, by)?;
    Ok(Laid {
        target: target.clone(),
        fate: change.fate.clone(),
        real,
        before,
        after,
        splices: rewritten.splices,
        hunks: rewritten.hunks,
        notes: rewritten.notes,
        executable,
        unified_diff,
        version: under.as_ref().and_then(View::version),
        language: under.as_ref().and_then(View::language).map(str::to_owned),
        ids,
    })
}

#[cfg(test)]
#[path = "layer_tests.rs"]
mod tests;
