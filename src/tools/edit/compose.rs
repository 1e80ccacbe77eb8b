//! Several edits, each on the result of the one before, as one set of changes of the text before all of them. Pure.

use std::ops::Range;

use crate::text::{Splice, Text};

/// How an edit found its places.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct By {
    /// Which edit, 0-based.
    pub(crate) edit: usize,
    /// The strategy that found its places.
    pub(crate) strategy: &'static str,
    /// How alike old and those places are; 1 is exact.
    pub(crate) similarity: f64,
}

/// A stretch of the text before all edits that was replaced.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Change {
    /// Its bytes in the text before all edits, and what is there now.
    pub(crate) splice: Splice,
    /// The edits that had a part in it, rising.
    pub(crate) by: Vec<By>,
}

/// The changes that edits made so far, and one more edit: `splices` are in bytes of `now`, the text with `changes` made.
/// All rise and do not overlap, and so do the results. Changes that overlap become one; those that only touch stay two,
/// unless one of them is empty in `now`, where their order would be lost.
pub(crate) fn compose(changes: Vec<Change>, now: &Text, splices: &[Splice], by: By) -> Vec<Change> {
    let mut out = Vec::with_capacity(changes.len() + splices.len());
    let (mut old, mut new) = (changes.into_iter().peekable(), splices.iter().peekable());
    // How many bytes the changes before the group made the text longer.
    let mut shift = 0isize;
    while old.peek().is_some() || new.peek().is_some() {
        let mut group = Group { bytes: 0..0, open: false, old: Vec::new(), new: Vec::new(), longer: 0 };
        loop {
            let first = old.peek().map(|change| placed(change, shift + group.longer));
            let second = new.peek().map(|splice| splice.range.clone());
            let (bytes, from_old) = match (first, second) {
                (Some(first), Some(second)) if (first.start, first.end) <= (second.start, second.end) => (first, true),
                (Some(first), None) => (first, true),
                (_, Some(second)) => (second, false),
                (None, None) => break,
            };
            if !group.takes(&bytes) {
                break;
            }
            if from_old {
                let Some(change) = old.next() else { break };
                group.longer += longer(&change.splice);
                group.old.push(change);
            } else {
                let Some(splice) = new.next() else { break };
                group.new.push(splice);
            }
        }
        shift = group.close(now, shift, by, &mut out);
    }
    out
}

/// How many bytes longer a splice makes a text.
fn longer(splice: &Splice) -> isize {
    splice.text.len().cast_signed() - splice.range.len().cast_signed()
}

/// The bytes of a change in the text after it, where those before it made the text `shift` bytes longer.
fn placed(change: &Change, shift: isize) -> Range<usize> {
    let start = change.splice.range.start.saturating_add_signed(shift);
    start..start + change.splice.text.len()
}

/// Changes that hang together.
struct Group<'a> {
    /// Their bytes in the text between.
    bytes: Range<usize>,
    /// Whether one of them is empty and at the end of `bytes`.
    open: bool,
    old: Vec<Change>,
    new: Vec<&'a Splice>,
    /// How many bytes longer the old ones made the text.
    longer: isize,
}

impl Group<'_> {
    /// Takes in some bytes if they hang together with the group; whether they do.
    fn takes(&mut self, bytes: &Range<usize>) -> bool {
        if self.old.is_empty() && self.new.is_empty() {
            (self.bytes, self.open) = (bytes.clone(), bytes.is_empty());
            return true;
        }
        let touches = bytes.start == self.bytes.end && (self.open || bytes.is_empty());
        if bytes.start >= self.bytes.end && !touches {
            return false;
        }
        self.open = match bytes.end.cmp(&self.bytes.end) {
            std::cmp::Ordering::Less => self.open,
            std::cmp::Ordering::Equal => self.open || bytes.is_empty(),
            std::cmp::Ordering::Greater => false,
        };
        self.bytes.end = self.bytes.end.max(bytes.end);
        true
    }

    /// Makes the changes of the group; gives the shift behind it.
    fn close(self, now: &Text, shift: isize, by: By, out: &mut Vec<Change>) -> isize {
        let after = shift + self.longer;
        if self.new.is_empty() {
            out.extend(self.old);
            return after;
        }
        if self.old.is_empty() {
            out.extend(self.new.into_iter().map(|splice| {
                let range =
                    splice.range.start.saturating_add_signed(-shift)..splice.range.end.saturating_add_signed(-shift);
                Change { splice: Splice { range, text: splice.text.clone() }, by: vec![by] }
            }));
            return after;
        }
        let range = self.bytes.start.saturating_add_signed(-shift)..self.bytes.end.saturating_add_signed(-after);
        let (mut text, mut at) = (String::new(), self.bytes.start);
        for splice in self.new {
            text.push_str(&now.slice(at..splice.range.start));
            text.push_str(&splice.text);
            at = splice.range.end;
        }
        text.push_str(&now.slice(at..self.bytes.end));
        let mut all: Vec<By> = self.old.into_iter().flat_map(|change| change.by).collect();
        all.push(by);
        all.sort_by_key(|by| by.edit);
        all.dedup_by_key(|by| by.edit);
        out.push(Change { splice: Splice { range, text }, by: all });
        after
    }
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::LineBreaks;

    fn rope(text: &str) -> Text {
        Text::new(text, LineBreaks::Lf)
    }

    /// A text with splices made that rise and do not overlap.
    pub(in crate::tools) fn applied<'a>(text: &str, splices: impl IntoIterator<Item = &'a Splice>) -> String {
        let (mut out, mut at) = (String::with_capacity(text.len()), 0);
        for splice in splices {
            out.push_str(&text[at..splice.range.start]);
            out.push_str(&splice.text);
            at = splice.range.end;
        }
        out.push_str(&text[at..]);
        out
    }

    fn by(edit: usize) -> By {
        By { edit, strategy: "simple", similarity: 1.0 }
    }

    fn composed(text: &str, edits: &[&[(Range<usize>, &str)]]) -> (String, Vec<Change>) {
        let (mut now, mut changes) = (text.to_owned(), Vec::new());
        for (edit, splices) in edits.iter().enumerate() {
            let splices: Vec<Splice> =
                splices.iter().map(|(range, text)| Splice { range: range.clone(), text: (*text).to_owned() }).collect();
            changes = compose(changes, &rope(&now), &splices, by(edit));
            now = applied(&now, &splices);
        }
        (now, changes)
    }

    #[test]
    fn what_overlaps_becomes_one_and_the_rest_stays_apart() {
        #[track_caller]
        fn check(edits: &[&[(Range<usize>, &str)]], expected: &[(Range<usize>, &str, &[usize])]) {
            let (_, changes) = composed("0123456789", edits);
            let edits: Vec<Vec<usize>> =
                changes.iter().map(|change| change.by.iter().map(|by| by.edit).collect()).collect();
            let found: Vec<_> = changes
                .iter()
                .zip(&edits)
                .map(|(change, edits)| (change.splice.range.clone(), change.splice.text.as_str(), edits.as_slice()))
                .collect();
            assert_eq!(found, expected);
        }
        check(&[&[(2..4, "ab")], &[(6..7, "c")]], &[(2..4, "ab", &[0]), (6..7, "c", &[1])]);
        check(&[&[(6..7, "xyz")], &[(2..4, "")]], &[(2..4, "", &[1]), (6..7, "xyz", &[0])]);
        check(&[&[(2..2, "abc")], &[(8..9, "c")]], &[(2..2, "abc", &[0]), (5..6, "c", &[1])]);
        // Inside, around, over the border, between two.
        check(&[&[(2..3, "abc")], &[(3..4, "X")]], &[(2..3, "aXc", &[0, 1])]);
        check(&[&[(2..3, "abc")], &[(1..6, "X")]], &[(1..4, "X", &[0, 1])]);
        check(&[&[(2..3, "abc")], &[(4..6, "X")]], &[(2..4, "abX", &[0, 1])]);
        check(&[&[(1..2, "a"), (4..5, "b")], &[(1..5, "X")]], &[(1..5, "X", &[0, 1])]);
        check(&[&[(1..2, "a")], &[(4..5, "b")], &[(1..5, "X")]], &[(1..5, "X", &[0, 1, 2])]);
        // What only touches stays apart, unless something is empty there.
        check(&[&[(2..3, "a")], &[(3..4, "b")]], &[(2..3, "a", &[0]), (3..4, "b", &[1])]);
        check(&[&[(2..4, "")], &[(2..3, "b")]], &[(2..5, "b", &[0, 1])]);
        check(&[&[(2..4, "")], &[(2..2, "b")]], &[(2..4, "b", &[0, 1])]);
        check(&[&[(2..3, "ab")], &[(4..4, "c")]], &[(2..3, "abc", &[0, 1])]);
    }

    proptest! {
        /// The changes of the first text give what the edits gave one after the other, and touch nothing else.
        #[test]
        fn the_changes_are_those_of_the_edits(
            text in "[a-c\n]{0,20}",
            edits in prop::collection::vec(prop::collection::vec((0usize..8, 0usize..4, "[x-zé]{0,3}"), 0..4), 0..6),
        ) {
            let (mut now, mut changes) = (text.clone(), Vec::new());
            for (edit, cuts) in edits.iter().enumerate() {
                let (mut splices, mut at) = (Vec::new(), 0);
                for (gap, length, new) in cuts {
                    let floor = |byte: usize| (0..=byte.min(now.len())).rev().find(|&b| now.is_char_boundary(b)).unwrap();
                    let start = floor(at + gap).max(at);
                    let end = floor(start + length).max(start);
                    splices.push(Splice { range: start..end, text: new.clone() });
                    at = end;
                }
                changes = compose(changes, &rope(&now), &splices, by(edit));
                now = applied(&now, &splices);
            }
            prop_assert_eq!(applied(&text, changes.iter().map(|change| &change.splice)), now);
            prop_assert!(changes.windows(2).all(|pair| pair[0].splice.range.end <= pair[1].splice.range.start));
            prop_assert!(changes.iter().all(|change| change.by.is_sorted_by(|a, b| a.edit < b.edit)));
        }
    }
}
