//! What a text proves about an edit when it is not exactly the text hoped for: that the edit is not in it, that it is
//! in it together with something else, or neither. Pure.
//!
//! Wrong answers cost an edit made twice, or one told as missing that is there; so each answer needs a proof, and
//! whatever has none is [`End::Unclear`].

use std::collections::HashSet;
use std::ops::Range;

use crate::text::{LineEnd, Splice, Text, diff};

use super::carry::{Change, Regions, slide};
use super::sent::Sent;

/// At most so much work (bytes, times texts searched for) goes into looking for parts of the edit in what came.
const SEARCHED: usize = 1 << 24;

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
#[derive(Debug, Clone)]
pub(super) struct Evidence {
    /// What the edit brings, and what it takes away.
    gained: Counts,
    lost: Counts,
    regions: Regions,
    inserted: Counts,
    removed: Counts,
    /// What single changes inserted.
    pieces: Vec<String>,
}

impl Evidence {
    /// No changes yet.
    pub(super) fn new(sent: &Sent) -> Evidence {
        let (mut gained, mut lost) = (Counts::default(), Counts::default());
        for splice in &sent.splices {
            gained.add(&splice.text);
            lost.add(&sent.before.slice(splice.range.clone()));
        }
        Evidence {
            gained,
            lost,
            regions: Regions::new(sent.before.len()),
            inserted: Counts::default(),
            removed: Counts::default(),
            pieces: Vec::new(),
        }
    }

    /// One change more.
    pub(super) fn add(&mut self, splice: &Splice, removed: &str, change: &Change) {
        let (prefix, suffix) = diff::common_ends(removed, &splice.text);
        let inserted = &splice.text[prefix..splice.text.len() - suffix];
        self.inserted.add(inserted);
        self.removed.add(&removed[prefix..removed.len() - suffix]);
        if !inserted.trim().is_empty() {
            self.pieces.push(LineEnd::Lf.apply(inserted));
        }
        self.regions.add(change);
    }

    /// Whether what the edit brings has never come, or what it removes has never gone: then it cannot have been applied
    /// anywhere. Costs next to nothing.
    pub(super) fn never_came(&self) -> bool {
        !self.inserted.cover(&self.gained, &self.lost) || !self.removed.cover(&self.lost, &self.gained)
    }

    /// What `now` proves about the edit; `refused`: the editor has said that it did not apply it.
    pub(super) fn judge(&self, sent: &Sent, now: &Text, refused: bool) -> End {
        if self.never_came() {
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
        let merged = !undone && untouched(&expected, &now, after_places(&before, &expected, &splices));
        let done = splices.iter().any(|splice| since_before.may_hold(&Balance::of(&splice.text, old(splice))));
        let apart = (refused || !done) && untouched(&before, &now, places(&before, &expected, &splices));
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
        let places = Stretches::new(places(&sent.before.to_string(), &sent.expected.to_string(), &sent.splices));
        !self.regions.iter().any(|region| places.touch(&region.old))
    }

    /// Whether single changes brought each of the edit's new texts, somewhere. Where there is too much to look through,
    /// they may have.
    fn may_hold(&self, splices: &[Splice]) -> bool {
        let whole: HashSet<&str> = self.pieces.iter().map(|piece| piece.trim()).collect();
        let wanted: HashSet<&str> = splices.iter().map(|splice| splice.text.trim()).collect();
        let parts: Vec<&str> = wanted.into_iter().filter(|text| !text.is_empty() && !whole.contains(text)).collect();
        let length: usize = whole.iter().map(|piece| piece.len()).sum();
        parts.len().saturating_mul(length) > SEARCHED
            || parts.iter().all(|text| whole.iter().any(|piece| piece.contains(text)))
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

/// Stretches of a text, in which others can be found fast.
struct Stretches(Vec<Range<usize>>);

impl Stretches {
    /// In any order; those that touch become one, which touches whatever one of them did.
    fn new(mut ranges: Vec<Range<usize>>) -> Stretches {
        ranges.sort_by_key(|range| range.start);
        let mut apart: Vec<Range<usize>> = Vec::with_capacity(ranges.len());
        for range in ranges {
            match apart.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => apart.push(range),
            }
        }
        Stretches(apart)
    }

    /// Whether a range overlaps one of them or meets its end.
    fn touch(&self, range: &Range<usize>) -> bool {
        let first = self.0.partition_point(|stretch| stretch.end < range.start);
        self.0.get(first).is_some_and(|stretch| stretch.start <= range.end)
    }
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
fn untouched(from: &str, to: &str, kept: Vec<Range<usize>>) -> bool {
    let kept = Stretches::new(kept);
    let changes = diff::splices(from, to);
    !places(from, to, &changes).iter().any(|change| kept.touch(change))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{Encoding, LineBreaks};

    #[test]
    fn what_a_text_proves() {
        /// The edit replaces `old` by `new`; `steps` are whole texts, as the editor went through them.
        fn check(before: &str, (old, new): (&str, &str), steps: &[&str], [unsaid, refused]: [End; 2]) {
            let text = Text::new(before, LineBreaks::Lf);
            let splices = diff::splices(before, &before.replacen(old, new, 1));
            let sent = Sent::new(&text, splices, Encoding::Utf8).unwrap();
            let (mut evidence, mut now) = (Evidence::new(&sent), before.to_owned());
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

    #[test]
    fn stretches_touch_what_one_of_them_touches() {
        let stretches = Stretches::new(vec![7..9, 2..4, 4..5, 3..3]);
        let touched: Vec<usize> = (0..12).filter(|&at| stretches.touch(&(at..at))).collect();
        assert_eq!(touched, [2, 3, 4, 5, 7, 8, 9]);
        assert!(stretches.touch(&(0..2)) && stretches.touch(&(6..12)) && !stretches.touch(&(0..1)));
    }
}
