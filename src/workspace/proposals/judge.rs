//! A person accepts or rejects what is proposed.

use std::sync::Arc;

use crate::text::{Splice, Text, diff};
use crate::workspace::checkpoints::By;
use crate::workspace::commit::{Committed, Fate, FileChange, Rewrite, Rewritten, git_mode};
use crate::workspace::paths::Target;
use crate::workspace::{Refusal, RefusalKind, Workspace};

use super::draft::{Draft, MODE, Pick};
use super::layer::{mode, refresh_all};
use super::shares::Shares;
use super::stack::{Doubt, Selector, Stack};

/// Of what the person wrote instead, at most so many bytes of diff are told to the model.
const MAX_DIFF: usize = 2000;

/// Of what the person says, the model is told at most so many bytes.
const MAX_FEEDBACK: usize = 4000;

/// Some hunks of one file on their way into it. Until it is told how that ended, nothing else happens to them.
pub struct Accepting {
    /// The change of the real file.
    pub change: FileChange,
    draft: Draft,
    pick: Pick,
    shares: Shares,
    /// What the person changed in the proposal, as a diff.
    edited: Option<String>,
    busy: Busy,
}

/// Holds a draft still.
struct Busy {
    workspace: Workspace,
    session: String,
    /// Of which stack.
    born: u64,
    number: u64,
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.workspace.proposals.with_same(&self.session, self.born, |stack| stack.end(self.number));
    }
}

/// What was rejected.
#[derive(Debug, Clone, PartialEq)]
pub struct Rejected {
    /// The file.
    pub target: Target,
    /// The names of the hunks that are gone.
    pub hunks: Vec<String>,
    /// The calls whose lines stand on the hunks that could not go.
    pub left: Vec<By>,
}

/// A proposal as the change of a real text, wherever that has moved on to.
struct Accepted {
    draft: Draft,
    pick: Pick,
}

impl Rewrite for Accepted {
    fn executable(&self) -> Option<bool> {
        self.draft.runs(&self.pick)
    }

    fn rewrite(&self, before: Option<&Text>) -> Result<Rewritten, Refusal> {
        let rebased = self.draft.rebased(before);
        let draft = match rebased.draft {
            Some(draft) if rebased.stale.is_empty() && !rebased.renamed => draft,
            _ => return Err(stale(&self.draft.place().shown)),
        };
        let (text, fate) = draft.accepted(&self.pick);
        let splices = match before {
            None => vec![Splice { range: 0..0, text: text.to_string() }],
            Some(before) if fate == Fate::Deleted => vec![Splice { range: 0..before.len(), text: String::new() }],
            Some(before) => diff::splices(&before.to_string(), &text.to_string()),
        };
        Ok(Rewritten { splices, ..Rewritten::default() })
    }
}

fn stale(shown: &str) -> Refusal {
    let words = format!(
        "What was proposed for {shown} does not fit any more: the text there was changed in the meantime. Nothing was \
         changed; look at what is proposed now."
    );
    Refusal::new(RefusalKind::Stale, words)
}

/// Works out the changes that accepting some hunks comes to. Blocking.
pub(in crate::workspace) fn accepting(
    workspace: &Workspace,
    session: &str,
    selector: &Selector,
    edited: Option<&str>,
) -> Result<Vec<Accepting>, Refusal> {
    refresh_all(workspace, session);
    let accepting = held(workspace, session, selector, edited)?;
    // Those that are held are let go with the refusal.
    match accepting.iter().find_map(|one| one.homeless(workspace)) {
        Some(refusal) => Err(refusal),
        None => Ok(accepting),
    }
}

/// The same, held from now on, wherever the files are.
fn held(
    workspace: &Workspace,
    session: &str,
    selector: &Selector,
    edited: Option<&str>,
) -> Result<Vec<Accepting>, Refusal> {
    workspace.proposals.in_turn(session, || {
        workspace.proposals.with(session, |stack| {
            let picked = stack.select(selector)?;
            if edited.is_some() && picked.len() > 1 {
                let words = "`editedText` is for one file, and more than one is meant; accept them one by one.";
                return Err(Refusal::new(RefusalKind::InvalidArguments, words));
            }
            let mut accepting = Vec::new();
            for (number, pick) in picked {
                let Some(draft) = stack.draft(number).cloned() else { continue };
                let shares = Shares { draft: draft.clone(), pick: pick.clone(), edited: edited.is_some() };
                let (draft, pick, edited) = match edited {
                    None => (draft, pick, None),
                    Some(text) => with_text(&draft, &pick, selector, text)?,
                };
                let (_, fate) = draft.accepted(&pick);
                let change = FileChange {
                    target: draft.real.clone(),
                    rewrite: Arc::new(Accepted { draft: draft.clone(), pick: pick.clone() }),
                    label: format!("accept {}", draft.real.shown),
                    fate,
                };
                accepting.push((number, draft, pick, shares, edited, change));
            }
            let hold = |(number, draft, pick, shares, edited, change)| {
                stack.begin(number);
                let (workspace, session, born) = (workspace.clone(), session.to_owned(), stack.born);
                Accepting { change, draft, pick, shares, edited, busy: Busy { workspace, session, born, number } }
            };
            Ok(accepting.into_iter().map(hold).collect())
        })
    })
}

/// A draft with the person's own text in it, and what they changed.
fn with_text(
    draft: &Draft,
    pick: &Pick,
    selector: &Selector,
    text: &str,
) -> Result<(Draft, Pick, Option<String>), Refusal> {
    let shown = &draft.place().shown;
    if draft.text().is_none() {
        let words = format!("{shown} is proposed to be deleted, so that there is no text to be edited.");
        return Err(Refusal::new(RefusalKind::InvalidArguments, words));
    }
    let hunk = match (&selector.hunk, pick.fate, pick.marks.first()) {
        (Some(_), false, Some(mark)) => Some(*mark),
        (None, _, _) if selector.call.is_none() => None,
        _ => {
            let words = "`editedText` goes with the `uri` of a file, for its whole text, or with the `hunkId` of a hunk of \
                         lines, for these.";
            return Err(Refusal::new(RefusalKind::InvalidArguments, words));
        }
    };
    let Some((edited, pick)) = draft.edited(hunk, text) else {
        let words = format!("A later call has changed these lines of {shown} once more; edit the hunk of that one.");
        return Err(Refusal::new(RefusalKind::Conflict, words));
    };
    let before = draft.text().map(Text::to_string).unwrap_or_default();
    let after = edited.text().map(Text::to_string).unwrap_or_default();
    let changed = (before != after).then(|| diff::unified(shown, &before, &after));
    Ok((edited, pick, changed))
}

/// These hunks are in the real file now. Their names, also where the session was closed or began anew meanwhile. Blocking.
pub fn accepted(accepting: Accepting, committed: &Committed) -> Vec<String> {
    let words = accepting.words();
    let Accepting { draft, pick, busy, .. } = accepting;
    let workspace = busy.workspace.clone();
    let settle = |stack: &mut Stack| {
        let names = stack.accepted(&draft, &pick, committed.before.as_ref());
        stack.tell(words);
        names
    };
    let proposals = &workspace.proposals;
    let names = proposals.in_turn(&busy.session, || proposals.with_same(&busy.session, busy.born, settle));
    names.unwrap_or_else(|| {
        let (_, applied) = draft.clone().after(&pick);
        applied.into_iter().map(|hunk| draft.name(hunk)).collect()
    })
}

/// Drops hunks. Blocking.
pub(in crate::workspace) fn reject(
    workspace: &Workspace,
    session: &str,
    selector: &Selector,
    feedback: Option<&str>,
) -> Result<Vec<Rejected>, Refusal> {
    refresh_all(workspace, session);
    let rejected = workspace.proposals.in_turn(session, || {
        workspace.proposals.with(session, |stack| {
            let mut rejected = Vec::new();
            for (number, pick) in stack.select(selector)? {
                let Some(draft) = stack.draft(number).cloned() else { continue };
                let (hunks, left) = stack.reject(number, &pick);
                if !hunks.is_empty() {
                    stack.tell(format!("a person rejected {} {}", told(&draft, &pick), draft.place().shown));
                }
                rejected.push(Rejected { target: draft.real.clone(), hunks, left });
            }
            if let Some(feedback) = feedback.map(str::trim).filter(|feedback| !feedback.is_empty()) {
                stack.tell(format!("the person said of that: {}", cut(feedback, MAX_FEEDBACK)));
            }
            Ok::<_, Refusal>(rejected)
        })
    })?;
    workspace.tell_proposals(rejected.iter().map(|rejected| rejected.target.uri.clone()));
    Ok(rejected)
}

/// What some hunks are, in words that go before the name of the file.
fn told(draft: &Draft, pick: &Pick) -> String {
    let all = *pick == draft.all();
    let calls: std::collections::BTreeSet<&str> = draft.makers(pick).into_iter().map(|by| by.call.as_str()).collect();
    let calls: Vec<&str> = calls.into_iter().collect();
    let word = if calls.len() == 1 { "call" } else { "calls" };
    let by = format!("{word} {}", calls.join(", "));
    if pick.fate {
        let fate = match (&draft.fate, &draft.base) {
            (Fate::Deleted, _) => "the deletion that",
            (Fate::Moved { .. }, _) => "the move that",
            (Fate::Stays, _) => "the new file that",
        };
        return format!("{fate} {by} proposed:");
    }
    if let Some(mode) = draft.mode.as_ref().filter(|_| pick.mode && pick.marks.is_empty()) {
        return format!("the mode {} that {by} proposed for", git_mode(mode.runs));
    }
    let part = if all { "all that" } else { "a part of what" };
    format!("{part} {by} proposed for")
}

/// The beginning of a text, at most so many bytes.
fn cut(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    format!("{} [{} bytes more]", &text[..text.floor_char_boundary(max)], text.len() - text.floor_char_boundary(max))
}

impl Accepting {
    /// Why the mode that is in it cannot be set, where its file is not on the disk any more. Blocking.
    fn homeless(&self, workspace: &Workspace) -> Option<Refusal> {
        let runs = self.draft.base.as_ref().and_then(|_| self.draft.runs(&self.pick))?;
        if mode(workspace, &self.draft.real).is_some() {
            return None;
        }
        let words = format!(
            "The mode {} of {} cannot be set: the document is not on the disk. Nothing was changed; save it first, or \
             reject {} and accept the rest.",
            git_mode(runs),
            self.draft.real.shown,
            self.draft.name(MODE)
        );
        Some(Refusal::new(RefusalKind::Unavailable, words))
    }

    /// What the model is told of it.
    fn words(&self) -> String {
        let (what, shown) = (told(&self.draft, &self.pick), &self.draft.place().shown);
        let how = self.edited.as_ref().map_or_else(String::new, |diff| {
            format!(", with changes of the person's, which are:\n{}", cut(diff.trim_end(), MAX_DIFF))
        });
        format!("a person accepted {what} {shown}; it is applied now{how}")
    }

    /// Nobody knows whether it came into the file: once it is seen there, it is accepted.
    pub fn in_doubt(&self) {
        let (draft, pick, edited) = (self.draft.clone(), self.pick.clone(), self.edited.is_some());
        let doubt = Doubt { draft, pick, edited, words: self.words() };
        self.busy.workspace.proposals.with_same(&self.busy.session, self.busy.born, |stack| stack.doubt(doubt));
    }

    /// Of which file.
    pub fn target(&self) -> &Target {
        &self.change.target
    }

    /// The text that it was worked out for; `None`: the file is to be made.
    pub fn base(&self) -> Option<&Text> {
        self.draft.base.as_ref()
    }

    /// Which call has which share in it.
    pub fn shares(&self) -> Shares {
        self.shares.clone()
    }

    /// The first of the calls that proposed it.
    pub fn by(&self) -> Option<&By> {
        self.draft.makers(&self.pick).into_iter().next()
    }
}
