//! What a text proves about an edit when it is not exactly the text hoped for: that the edit is not in it, that it is
//! in it together with something else, or neither. Pure.
//!
//! Wrong answers cost an edit made twice, or one told as missing that is there; so each answer needs a proof, and
//! whatever has none is [`End::Unclear`].

use std::ops::Range;

use crate::text::{LineEnd, Splice, Text, diff};

use super::echo::Sent;

/// What is known of a text at the end of the wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// The edit is not in it: it may be computed anew and sent again.
    NotThere,
    /// The edit is in it, and other changes that do not touch it.
    Merged,
    /// Neither can be shown.
    Unclear,
}

/// Where a content change happened, in bytes of the text before it, and how long it left that place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    range: Range<usize>,
    len: usize,
}

impl Change {
    /// The place of a change, as small as it can be known: what its old and new text have in common at their ends is
    /// left out, and what it may just as well have inserted or removed beside it is left in.
    pub(super) fn of(splice: &Splice, removed: &str) -> Change {
        let (old, new) = smaller(removed, &splice.text);
        Change { range: splice.range.start + old.start..splice.range.start + old.end, len: new.len() }
    }

    /// Moves splices of the text before to the text after; `false` when the change touches one of them.
    pub(super) fn carry(&self, splices: &mut [Splice]) -> bool {
        let (start, end) = (self.range.start, self.range.end);
        for splice in splices {
            let place = &mut splice.range;
            // Two insertions at one place: the other one stays behind ours, as if it had come later.
            let same_point = self.range.is_empty() && *place == self.range;
            if end <= place.start && !same_point {
                *place = place.start - (end - start) + self.len..place.end - (end - start) + self.len;
            } else if start < place.end {
                return false;
            }
        }
        true
    }
}

/// The ranges of `old` and `new` that differ; where that is a mere insertion or removal that could as well have
/// happened a little before or after, all of those places.
fn smaller(old: &str, new: &str) -> (Range<usize>, Range<usize>) {
    if old.is_empty() || new.is_empty() {
        return (0..old.len(), 0..new.len());
    }
    let (prefix, suffix) = diff::common_ends(old, new);
    let (olds, news) = (prefix..old.len() - suffix, prefix..new.len() - suffix);
    let (left, right) = match (olds.is_empty(), news.is_empty()) {
        (true, false) => slide(new.as_bytes(), &news),
        (false, true) => slide(old.as_bytes(), &olds),
        _ => (0, 0),
    };
    (olds.start - left..olds.end + right, news.start - left..news.end + right)
}

/// How many bytes the stretch `range` of a text could be further left and right with the same text around it.
fn slide(text: &[u8], range: &Range<usize>) -> (usize, usize) {
    let (before, stretch, after) = (&text[..range.start], &text[..range.end], &text[range.end..]);
    let left = before.iter().rev().zip(stretch.iter().rev()).take_while(|(a, b)| a == b).count();
    let right = after.iter().zip(&text[range.start..]).take_while(|(a, b)| a == b).count();
    (left, right)
}

/// A stretch that changed: in bytes of the first text, and of the newest.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Region {
    old: Range<usize>,
    new: Range<usize>,
}

/// How often each byte occurs; line ends, which editors change by themselves, are not counted.
#[derive(Debug, Clone)]
struct Counts([u64; 256]);

impl Default for Counts {
    fn default() -> Self {
        Counts([0; 256])
    }
}

impl Counts {
    fn add(&mut self, text: &str) {
        for byte in text.bytes().filter(|byte| !matches!(byte, b'\r' | b'\n')) {
            self.0[usize::from(byte)] += 1;
        }
    }

    /// Whether there are at least as many of each byte as `more` has beyond `less`.
    fn cover(&self, more: &Counts, less: &Counts) -> bool {
        self.0.iter().zip(more.0.iter().zip(&less.0)).all(|(have, (more, less))| *have >= more.saturating_sub(*less))
    }
}

/// All that the content changes since the edit have shown.
#[derive(Debug, Default)]
pub(super) struct Evidence {
    regions: Vec<Region>,
    inserted: Counts,
    removed: Counts,
    /// What single changes inserted.
    pieces: Vec<String>,
}

impl Evidence {
    /// One change more.
    pub(super) fn add(&mut self, splice: &Splice, removed: &str, change: &Change) {
        let (prefix, suffix) = diff::common_ends(removed, &splice.text);
        let inserted = &splice.text[prefix..splice.text.len() - suffix];
        self.inserted.add(inserted);
        self.removed.add(&removed[prefix..removed.len() - suffix]);
        if !inserted.trim().is_empty() {
            self.pieces.push(LineEnd::Lf.apply(inserted));
        }
        self.region(change);
    }

    /// Adds a change to the regions, joining those it touches.
    fn region(&mut self, change: &Change) {
        let Range { start, end } = change.range;
        let first = self.regions.partition_point(|region| region.new.end < start);
        let last = self.regions.partition_point(|region| region.new.start <= end);
        let back = |regions: &[Region], byte: usize| match regions.last() {
            Some(before) => byte - before.new.end + before.old.end,
            None => byte,
        };
        let mut joined = match &self.regions[first..last] {
            [] => {
                let old = back(&self.regions[..first], start);
                Region { old: old..old + (end - start), new: start..end }
            }
            [head, .., tail] | [head @ tail] => {
                let (mut old, mut new) = (head.old.start..tail.old.end, head.new.start..tail.new.end);
                if start < new.start {
                    (old.start, new.start) = (old.start - (new.start - start), start);
                }
                if end > new.end {
                    (old.end, new.end) = (old.end + (end - new.end), end);
                }
                Region { old, new }
            }
        };
        joined.new.end = joined.new.end - (end - start) + change.len;
        for later in &mut self.regions[last..] {
            later.new = later.new.start - (end - start) + change.len..later.new.end - (end - start) + change.len;
        }
        self.regions.splice(first..last, [joined]);
    }

    /// What `now` proves about the edit; `refused`: the editor has said that it did not apply it.
    pub(super) fn judge(&self, sent: &Sent, now: &Text, refused: bool) -> End {
        let (mut gained, mut lost) = (Counts::default(), Counts::default());
        for splice in &sent.splices {
            gained.add(&splice.text);
            lost.add(&sent.before.slice(splice.range.clone()));
        }
        // What the edit brings has never come, or what it removes has never gone: it cannot have been applied anywhere.
        if !self.inserted.cover(&gained, &lost) || !self.removed.cover(&lost, &gained) {
            return End::NotThere;
        }
        let before = plain(&sent.before);
        let (splices, expected) = plain_splices(sent, &before);
        let now = plain(now);
        // A comparison of texts can take one `x` for another; so it counts only where the numbers of characters, too,
        // leave no other way.
        let (since_expected, since_before) = (Balance::of(&now, &expected), Balance::of(&now, &before));
        let old = |splice: &Splice| &before[splice.range.clone()];
        let undone = splices.iter().any(|splice| since_expected.may_hold(&Balance::of(old(splice), &splice.text)));
        let merged = !undone && untouched(&expected, &now, &after_places(&before, &expected, &splices));
        let done = splices.iter().any(|splice| since_before.may_hold(&Balance::of(&splice.text, old(splice))));
        let apart = (refused || !done) && untouched(&before, &now, &places(&before, &expected, &splices));
        let there_not = apart || self.untouched(sent);
        match (merged, there_not) {
            (true, false) => End::Merged,
            // It is not at its place, but may have come to another one together with what was typed.
            (false, true) if refused || !self.may_hold(&splices) => End::NotThere,
            _ => End::Unclear,
        }
    }

    /// Whether no change came near the places of the edit.
    fn untouched(&self, sent: &Sent) -> bool {
        let places = places(&sent.before.to_string(), &sent.expected.to_string(), &sent.splices);
        !self.regions.iter().any(|region| places.iter().any(|place| touch(&region.old, place)))
    }

    /// Whether single changes brought each of the edit's new texts, somewhere.
    fn may_hold(&self, splices: &[Splice]) -> bool {
        splices.iter().all(|splice| {
            let text = splice.text.trim();
            text.is_empty() || self.pieces.iter().any(|piece| piece.contains(text))
        })
    }
}

/// How many more of each byte one text has than another.
struct Balance([i64; 256]);

impl Balance {
    fn of(more: &str, less: &str) -> Balance {
        let mut counts = [0; 256];
        more.bytes().for_each(|byte| counts[usize::from(byte)] += 1);
        less.bytes().for_each(|byte| counts[usize::from(byte)] -= 1);
        Balance(counts)
    }

    /// Whether, by numbers alone, a change with this balance may include one with the `other`, whatever else it did.
    fn may_hold(&self, other: &Balance) -> bool {
        self.0.iter().zip(other.0).all(|(&found, wanted)| match wanted {
            0 => true,
            1.. => found >= wanted,
            _ => found <= wanted,
        })
    }
}

fn touch(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start <= b.end && b.start <= a.end
}

/// A text as far as editors leave it alone: LFs, without the final one.
fn plain(text: &Text) -> String {
    let mut plain = LineEnd::Lf.apply(&text.to_string());
    if plain.ends_with('\n') {
        plain.pop();
    }
    plain
}

/// The edit in terms of the plain text, and the plain text with it.
fn plain_splices(sent: &Sent, before: &str) -> (Vec<Splice>, String) {
    let original = sent.before.to_string();
    let bytes = original.as_bytes();
    let (mut seen, mut crlfs) = (0, 0);
    let mut offset = |byte: usize| {
        crlfs += memchr::memchr_iter(b'\n', &bytes[seen..byte])
            .filter(|at| (seen + at).checked_sub(1).is_some_and(|cr| bytes[cr] == b'\r'))
            .count();
        seen = byte;
        (byte - crlfs).min(before.len())
    };
    let splices = sent
        .splices
        .iter()
        .map(|splice| {
            let range = offset(splice.range.start)..offset(splice.range.end);
            Splice { range, text: LineEnd::Lf.apply(&splice.text) }
        })
        .collect();
    (splices, plain(&sent.expected))
}

/// Where in `before` the edit happens, including where it might as well have happened with the same result.
fn places(before: &str, after: &str, splices: &[Splice]) -> Vec<Range<usize>> {
    spots(before, after, splices).into_iter().map(|(old, _)| old).collect()
}

/// The same in `after`.
fn after_places(before: &str, after: &str, splices: &[Splice]) -> Vec<Range<usize>> {
    spots(before, after, splices).into_iter().map(|(_, new)| new).collect()
}

fn spots(before: &str, after: &str, splices: &[Splice]) -> Vec<(Range<usize>, Range<usize>)> {
    let mut spots = Vec::with_capacity(splices.len());
    let (mut grown, mut shrunk) = (0, 0);
    for splice in splices {
        let old = splice.range.clone();
        let start = (old.start + grown - shrunk).min(after.len());
        let new = start..(start + splice.text.len()).min(after.len());
        let (left, right) = match (old.is_empty(), new.is_empty()) {
            (true, false) => slide(after.as_bytes(), &new),
            (false, true) => slide(before.as_bytes(), &old),
            _ => (0, 0),
        };
        grown += splice.text.len();
        shrunk += old.len();
        spots.push((old.start.saturating_sub(left)..old.end + right, new.start.saturating_sub(left)..new.end + right));
    }
    spots
}

/// Whether `to` can be had from `from` by changes that touch none of these places of `from`.
fn untouched(from: &str, to: &str, kept: &[Range<usize>]) -> bool {
    let changes = diff::splices(from, to);
    let changed = places(from, to, &changes);
    !changed.iter().any(|change| kept.iter().any(|place| touch(change, place)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{Encoding, LineBreaks};
    use proptest::prelude::*;

    #[test]
    fn a_change_is_as_small_as_it_can_be_known() {
        fn check(old: &str, new: &str, range: Range<usize>, len: usize) {
            let change = Change::of(&Splice { range: 0..old.len(), text: new.into() }, old);
            assert_eq!(change, Change { range, len }, "{old:?} -> {new:?}");
        }
        check("abc", "aXc", 1..2, 1);
        check("abc", "abXc", 2..2, 1);
        check("", "abc", 0..0, 3);
        // Which of the three was added nobody can know.
        check("-\n}\n}\n.", "-\n}\n}\n}\n.", 1..6, 7);
        check("aab", "ab", 0..2, 1);
    }

    #[test]
    fn splices_move_with_changes_beside_them() {
        fn check(range: Range<usize>, len: usize, place: Range<usize>, expected: Option<[usize; 2]>) {
            let mut splices = [Splice { range: place.clone(), text: String::new() }];
            let carried = Change { range: range.clone(), len }.carry(&mut splices);
            assert_eq!(
                carried.then(|| [splices[0].range.start, splices[0].range.end]),
                expected,
                "{range:?} {len} {place:?}"
            );
        }
        check(0..0, 2, 3..5, Some([5, 7]));
        check(0..2, 0, 3..5, Some([1, 3]));
        check(3..3, 1, 3..5, Some([4, 6]));
        check(5..5, 1, 3..5, Some([3, 5]));
        check(4..4, 1, 3..5, None);
        check(3..4, 0, 3..5, None);
        check(3..3, 1, 3..3, Some([3, 3]));
        check(2..3, 4, 3..3, Some([6, 6]));
        check(2..4, 4, 3..3, None);
    }

    #[test]
    fn what_a_text_proves() {
        /// The edit replaces `old` by `new`; `steps` are whole texts, as the editor went through them.
        fn check(before: &str, (old, new): (&str, &str), steps: &[&str], [unsaid, refused]: [End; 2]) {
            let text = Text::new(before, LineBreaks::Lf);
            let splices = diff::splices(before, &before.replacen(old, new, 1));
            let sent = Sent::new(&text, splices, Encoding::Utf8).unwrap();
            let (mut evidence, mut now) = (Evidence::default(), before.to_owned());
            for step in steps {
                let splice = Splice { range: 0..now.len(), text: (*step).to_owned() };
                evidence.add(&splice, &now, &Change::of(&splice, &now));
                now = (*step).to_owned();
            }
            let now = Text::new(&now, LineBreaks::Lf);
            assert_eq!(
                [evidence.judge(&sent, &now, false), evidence.judge(&sent, &now, true)],
                [unsaid, refused],
                "{before:?} {old:?} -> {new:?} {steps:?}"
            );
        }
        use End::{Merged, NotThere, Unclear};
        // Typing above, below, and within the place, none of it what the edit would have brought.
        check("a\nfoo\nz\n", ("foo", "bar"), &["a\nfoo\nzz\n"], [NotThere, NotThere]);
        check("a\nfoo\nz\n", ("foo", "bar"), &["c\na\nfoo\nz\n", "c\na\nfxoo\nz\n"], [NotThere, NotThere]);
        // Together with typing in one change.
        check("a\nfoo\nz\n", ("foo", "bar"), &["1\na\nbar\nz2\n"], [Merged, Merged]);
        check("a\r\nfoo\r\nz", ("foo\r\n", "foo\r\nbar\r\n"), &["1\r\na\r\nfoo\r\nbar\r\nz\r\n"], [Merged, Merged]);
        // The user typed what the edit would have brought, elsewhere; only a refusal tells the two apart.
        check("a\nfoo\nz\n", ("foo\n", "foo\nbar\n"), &["bar\na\nfoo\nz\n"], [Unclear, NotThere]);
        // An insertion typed into, or next to: it may be the edit's or the user's.
        check("a\nfoo\nz\n", ("foo\n", "foo\nbar\n"), &["a\nfoo\nbar\nbar\nz\n"], [Unclear, Unclear]);
        // One more of several equal lines: which of them is new does not matter, unless the user was among them.
        check("}\n}\nz\n", ("z", "}\nz"), &["}\n}\n}\nz2\n"], [Merged, Merged]);
        check("}\n}\nz\n", ("z", "}\nz"), &["}\n}\n}\n}\nz2\n"], [Unclear, Unclear]);
        // A deletion that a comparison of texts could believe in.
        check("xLx\n\nxKx\n", ("xKx\n", ""), &["1xL2x\n\nxKx3\n\n"], [Unclear, Unclear]);
        // Nothing but a line end.
        check("a\nz\n", ("a\n", "a\n\n"), &["a\nz1\n"], [Unclear, NotThere]);
    }

    proptest! {
        /// Outside the regions, the first and the newest text are the same, byte for byte.
        #[test]
        fn regions_hold_all_changes(
            text in "[a-c]{0,12}",
            changes in prop::collection::vec((0usize..14, 0usize..4, "[x-z]{0,3}"), 0..8),
        ) {
            let mut now = text.clone();
            let mut evidence = Evidence::default();
            for (start, len, new) in changes {
                let start = start.min(now.len());
                let end = (start + len).min(now.len());
                let splice = Splice { range: start..end, text: new };
                let removed = now[start..end].to_owned();
                evidence.add(&splice, &removed, &Change::of(&splice, &removed));
                now.replace_range(start..end, &splice.text);
            }
            let (mut rebuilt, mut at) = (String::new(), 0);
            for region in &evidence.regions {
                rebuilt.push_str(&text[at..region.old.start]);
                prop_assert_eq!(rebuilt.len(), region.new.start);
                rebuilt.push_str(&now[region.new.clone()]);
                at = region.old.end;
            }
            rebuilt.push_str(&text[at..]);
            prop_assert_eq!(rebuilt, now);
        }
    }
}
