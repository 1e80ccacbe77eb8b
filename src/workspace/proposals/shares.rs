//! Which call has which share in what a person accepted: so that it can be undone call by call. Pure.

use std::collections::BTreeSet;

use crate::text::{BOM, Splice, Text, diff};
use crate::workspace::checkpoints::{By, Change, MarkId};
use crate::workspace::commit::{Committed, Fate};

use super::draft::{Draft, Pick};
use super::stack::bare;

/// Accepted hunks of one file, as their calls proposed them.
#[derive(Debug, Clone)]
pub struct Shares {
    pub(super) draft: Draft,
    pub(super) pick: Pick,
    /// The person has put another text in the place of it, which is theirs.
    pub(super) edited: bool,
}

impl Shares {
    /// The change that was made, as one change a call, in the order in which they were proposed: each begins where the one
    /// before it ends. Where a person has edited the text, the last one ends before that.
    pub fn of(&self, committed: &Committed) -> Vec<(Change, By)> {
        let whole = Change::of(committed);
        let under = committed.before.as_ref().map(bare);
        let draft = self.draft.rebased(under.as_ref()).draft.unwrap_or_else(|| self.draft.clone());
        let pick = draft.completed(&self.pick);
        let fated = draft.fated.as_ref().filter(|_| pick.fate).map(accepted);
        if whole.fate == Fate::Deleted {
            return fated.map(|by| (whole, by)).into_iter().collect();
        }
        let marked = committed.after.slice(0..BOM.len_utf8().min(committed.after.len())).starts_with(BOM);
        let as_there = |text: Text| {
            if marked { text.spliced(&[Splice { range: 0..0, text: BOM.to_string() }]) } else { text }
        };
        let mut calls: Vec<By> = fated.iter().filter(|_| draft.base.is_none()).cloned().collect();
        for mark in draft.ledger.marks().iter().filter(|mark| pick.marks.contains(&mark.id)) {
            let by = accepted(&mark.by);
            if !calls.contains(&by) {
                calls.push(by);
            }
        }
        let mut so_far = BTreeSet::<MarkId>::new();
        let mut texts: Vec<(By, Text)> = Vec::new();
        for by in calls {
            so_far.extend(draft.of_call(&by.call).marks.intersection(&pick.marks));
            let (text, _) = draft.with(&Pick { marks: so_far.clone(), ..Pick::default() });
            texts.push((by, as_there(text)));
        }
        if let Some((_, last)) = texts.last_mut().filter(|_| !self.edited) {
            *last = whole.after.clone();
        }
        let mut before = whole.before.clone();
        let mut shares: Vec<(Change, By)> = Vec::new();
        for (by, after) in texts {
            let old = before.as_ref().map(Text::to_string).unwrap_or_default();
            let splices = diff::splices(&old, &after.to_string());
            if before.is_none() || !splices.is_empty() {
                let (fate, was) = (Fate::Stays, before.replace(after.clone()));
                let change = Change { fate, before: was, after, splices, executable: None, ..whole.clone() };
                shares.push((change, by));
            }
        }
        if let (Fate::Moved { .. }, Some(by), Some(text)) = (&whole.fate, fated, before) {
            let (before, splices) = (Some(text.clone()), Vec::new());
            let moved = Change { before, after: text, splices, executable: None, ..whole.clone() };
            shares.push((moved, by));
        }
        if whole.executable.is_some() {
            share_mode(&mut shares, &whole, draft.mode.as_ref().map(|mode| accepted(&mode.by)));
        }
        // What the editor tells of the change belongs to the last of them.
        let last = shares.len().saturating_sub(1);
        for (change, _) in &mut shares[..last] {
            change.versions = whole.versions.map(|(before, _)| (before, before));
        }
        shares
    }
}

/// Gives the mode that the file was given to whoever proposed it. A file that is made comes with the mode that its maker
/// gave it; else it is a share of its own, before the others, of which the last one has what the editor tells.
fn share_mode(shares: &mut Vec<(Change, By)>, whole: &Change, by: Option<By>) {
    let Change { executable, .. } = *whole;
    let made = shares.first_mut().filter(|(first, _)| first.before.is_none());
    let at = match (made, by) {
        (Some((first, maker)), by) if by.as_ref().is_none_or(|by| by == maker) => {
            first.executable = executable;
            return;
        }
        (made, Some(by)) => {
            let text = made.as_ref().map(|(first, _)| first.after.clone()).or_else(|| whole.before.clone());
            text.map(|text| (usize::from(made.is_some()), text, by))
        }
        (_, None) => None,
    };
    if let Some((at, text, by)) = at {
        let (fate, before, splices) = (Fate::Stays, Some(text.clone()), Vec::new());
        shares.insert(at, (Change { fate, before, after: text, splices, executable, ..whole.clone() }, by));
    }
}

/// Who made something that a person accepted.
fn accepted(by: &By) -> By {
    By { accepted: true, ..by.clone() }
}

#[cfg(test)]
#[path = "shares_tests.rs"]
mod tests;
