//! What follows the changes of a call before the next call starts: they are formatted, then saved. Both only add to what
//! was done: that they failed is a note, and undoes nothing.

use std::collections::HashMap;

use similar::{Algorithm, DiffOp, capture_diff_slices};

use crate::languages::Edited;
use crate::text::{Splice, Text, diff};
use crate::workspace::{Hunk, Key, LineSpan, Target};

use super::call::EditResult;
use super::change::{self, DIFF_SHARE, Made, Told};
use super::{Call, Dispatch};

/// At most so many places of a change are named.
const TOLD: usize = 8;

/// A change that a formatter made of what a call had made of a text.
pub(super) struct Followed {
    pub target: Target,
    pub before: Text,
    pub after: Text,
    /// From the one text to the other, in bytes of the one before.
    pub splices: Vec<Splice>,
    pub version_before: Option<i32>,
    pub version_after: Option<i32>,
    pub unsaved: bool,
    pub hunks: Vec<Hunk>,
    pub unified_diff: String,
    /// What is said of it.
    pub words: String,
    /// Remarks on it.
    pub notes: Vec<String>,
}

impl Dispatch {
    /// Formats and saves what was changed.
    pub(super) async fn follow_up(&self, call: &Call<'_>, made: &mut Made) {
        if !made.settling.is_empty() {
            self.format(call, made).await;
            self.save(call, made).await;
        }
    }

    /// Takes up what a formatter made of the text behind the change of this number. It is told; who knew the text before
    /// knows the one after it; and diagnostics are awaited for that.
    pub(super) fn followed(&self, call: &Call<'_>, made: &mut Made, at: usize, followed: Followed) {
        let session = &call.context.session;
        let key = &followed.target.key;
        let (before, after) = (change::hash(&followed.before), change::hash(&followed.after));
        if session.seen(key).as_ref() == Some(&before) && session.unseen(key).is_empty() {
            session.changed(key, &after, Some(&call.context.call));
        }
        // The call led from the text before it to the formatted one.
        match made.texts.iter_mut().rev().find(|(changed, _, now)| changed == key && *now == before) {
            Some((_, _, now)) => *now = after,
            None => made.texts.push((key.clone(), Some(before), after)),
        }
        self.world.changed();
        let share = call.budget.max / DIFF_SHARE / (made.edits.len() + 1);
        let diff = followed.unified_diff.trim_end_matches('\n').to_owned();
        let mut told = Told { words: followed.words, diff, share };
        for note in &followed.notes {
            told.note(note);
        }
        made.told.push(told);
        made.edits.push(EditResult {
            uri: followed.target.uri.clone(),
            version_before: followed.version_before,
            version_after: followed.version_after,
            unsaved: followed.unsaved,
            hunks: followed.hunks,
            unified_diff: followed.unified_diff,
            deleted: false,
            moved_to: None,
            hunk_ids: Vec::new(),
        });
        made.places.push(made.told.len() - 1);
        let prepared = made.settling[at].0.then(followed.before);
        let edited = Edited {
            target: followed.target,
            version: followed.version_after,
            splices: followed.splices,
            after: followed.after,
        };
        made.settling.push((prepared, edited));
    }
}

impl Made {
    /// The number of the last change of each text, in the order in which they were first changed.
    pub(super) fn last_of_each(&self) -> Vec<usize> {
        let mut places: HashMap<&Key, usize> = HashMap::with_capacity(self.settling.len());
        let mut last = Vec::new();
        for (at, (_, edited)) in self.settling.iter().enumerate() {
            let place = *places.entry(&edited.target.key).or_insert(last.len());
            match last.get_mut(place) {
                Some(found) => *found = at,
                None => last.push(at),
            }
        }
        last
    }

    /// Adds a remark to what is said of the change of this number.
    pub(super) fn note(&mut self, at: usize, note: &str) {
        if let Some(told) = self.places.get(at).and_then(|&place| self.told.get_mut(place)) {
            told.note(note);
        }
    }
}

/// Where two texts differ, in lines. Takes its time.
pub(super) fn hunks(strategy: &str, before: &str, after: &str) -> Vec<Hunk> {
    let span = |lines: std::ops::Range<usize>| LineSpan { start: lines.start + 1, count: lines.len() };
    let (old, new) = (diff::lines(before), diff::lines(after));
    capture_diff_slices(Algorithm::Myers, &old, &new)
        .iter()
        .filter(|op| !matches!(op, DiffOp::Equal { .. }))
        .map(|op| Hunk {
            strategy: strategy.to_owned(),
            similarity: 1.0,
            before: span(op.old_range()),
            after: span(op.new_range()),
        })
        .collect()
}

/// The places of a change, in words.
pub(super) fn places(hunks: &[Hunk]) -> String {
    let shown = hunks.iter().take(TOLD);
    let mut told: Vec<String> =
        shown.map(|hunk| format!("{} became {}", change::span(hunk.before), change::span(hunk.after))).collect();
    if hunks.len() > TOLD {
        told.push(format!("and {} more places", hunks.len() - TOLD));
    }
    told.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_told_in_lines() {
        for (before, after, told) in [
            ("a\nb\n", "a\nb\n", ""),
            ("a=1\nb\nc\n", "a = 1\nb\nc\n", "line 1 became line 1"),
            ("a\n\n\n\nb\n", "a\n\nb\n", "lines 3-4 became nothing at line 3"),
            ("a\nb", "a\nb\n", "line 2 became line 2"),
            ("a\nb\n", "a\nx\ny\nb\n", "nothing at line 2 became lines 2-3"),
        ] {
            assert_eq!(places(&hunks("format", before, after)), told, "{before:?} {after:?}");
        }
        let (before, after): (String, String) =
            (0..24).map(|at| (format!("{at}\n"), format!("{at}{}\n", at % 2))).unzip();
        assert!(places(&hunks("format", &before, &after)).len() < 600);
        let before: String =
            (0..20).flat_map(|at| [at.to_string(), "=\nkeep ".into(), at.to_string(), "\n".into()]).collect();
        let told = places(&hunks("format", &before, &before.replace('=', " =")));
        assert!(told.ends_with("line 15 became line 15, and 12 more places"), "{told}");
    }
}
