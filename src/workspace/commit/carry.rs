//! Places of a text that are carried through the content changes that follow, at a cost that does not depend on how
//! many places there are. Pure.
//!
//! Editors change a text in one direction, mostly: top down, bottom up, or where the user types. So places before the
//! newest change are kept as distances from the beginning of the text and those behind it as distances from its end;
//! a change moves none of them, and only the border between the two follows it.

use std::ops::Range;

use crate::text::{Splice, diff};

/// Where a content change happened, in bytes of the text before it, and how long it left that place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) range: Range<usize>,
    pub(super) len: usize,
}

impl Change {
    /// The place of a change, as small as it can be known: what its old and new text have in common at their ends is
    /// left out, and what it may just as well have inserted or removed beside it is left in.
    pub(super) fn of(splice: &Splice, removed: &str) -> Change {
        let (old, new) = smaller(removed, &splice.text);
        Change { range: splice.range.start + old.start..splice.range.start + old.end, len: new.len() }
    }

    /// Whether a place lies behind the change and thus moves with it.
    fn before(&self, place: &Range<usize>) -> bool {
        // Two insertions at one place: the other one stays behind ours, as if it had come later.
        let same_point = self.range.is_empty() && *place == self.range;
        self.range.end <= place.start && !same_point
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
pub(super) fn slide(text: &[u8], range: &Range<usize>) -> (usize, usize) {
    let (before, stretch, after) = (&text[..range.start], &text[..range.end], &text[range.end..]);
    let left = before.iter().rev().zip(stretch.iter().rev()).take_while(|(a, b)| a == b).count();
    let right = after.iter().zip(&text[range.start..]).take_while(|(a, b)| a == b).count();
    (left, right)
}

/// A range as distances from the end of a text of `len` bytes, or back again.
fn flipped(len: usize, place: &Range<usize>) -> Range<usize> {
    len - place.start..len - place.end
}

/// The places of splices, on their way through changes that do not touch them.
#[derive(Debug, Clone)]
pub(super) struct Carried {
    /// Rising and apart; from `border` on as distances from the end of the text.
    places: Vec<Range<usize>>,
    border: usize,
    /// Length of the text now, in bytes.
    len: usize,
    /// How many places were looked at so far.
    looked: usize,
}

impl Carried {
    /// The places of rising splices of a text of `len` bytes.
    pub(super) fn new(splices: &[Splice], len: usize) -> Carried {
        let places: Vec<_> = splices.iter().map(|splice| splice.range.clone()).collect();
        Carried { border: places.len(), places, len, looked: 0 }
    }

    /// Moves the places from the text before a change to the text after it; `false`, and nothing more to be had from
    /// this, when the change touches one of them.
    pub(super) fn carry(&mut self, change: &Change) -> bool {
        self.looked += 1;
        while let Some(last) = self.border.checked_sub(1).filter(|&last| change.before(&self.places[last])) {
            self.places[last] = flipped(self.len, &self.places[last]);
            self.border = last;
            self.looked += 1;
        }
        while let Some(next) = self.places.get(self.border) {
            let place = flipped(self.len, next);
            if change.before(&place) {
                break;
            }
            self.places[self.border] = place;
            self.border += 1;
            self.looked += 1;
        }
        if self.border.checked_sub(1).is_some_and(|last| change.range.start < self.places[last].end) {
            return false;
        }
        self.len = self.len - change.range.len() + change.len;
        true
    }

    /// `splices`, which these places were of, where they belong now.
    pub(super) fn apply(&self, splices: &[Splice]) -> Vec<Splice> {
        let (near, far) = self.places.split_at(self.border);
        let places = near.iter().cloned().chain(far.iter().map(|place| flipped(self.len, place)));
        splices.iter().zip(places).map(|(splice, range)| Splice { range, text: splice.text.clone() }).collect()
    }

    /// How many places were looked at in all: the measure of the work done.
    pub(super) fn looked(&self) -> usize {
        self.looked
    }
}

/// A stretch that changed: in bytes of the first text, and of the newest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Region {
    pub(super) old: Range<usize>,
    pub(super) new: Range<usize>,
}

/// All stretches that changed since a first text.
#[derive(Debug, Clone)]
pub(super) struct Regions {
    /// Those before the newest change, rising.
    near: Vec<Region>,
    /// Those behind it, falling, `new` as distances from the end of the text.
    far: Vec<Region>,
    /// Length of the newest text, in bytes.
    len: usize,
}

impl Regions {
    /// None yet, in a text of `len` bytes.
    pub(super) fn new(len: usize) -> Regions {
        Regions { near: Vec::new(), far: Vec::new(), len }
    }

    fn flip(&self, region: Region) -> Region {
        Region { new: flipped(self.len, &region.new), ..region }
    }

    /// Adds a change, joining it to the regions that it touches.
    pub(super) fn add(&mut self, change: &Change) {
        let Range { start, end } = change.range;
        while let Some(region) = self.near.pop_if(|region| region.new.end >= start) {
            let region = self.flip(region);
            self.far.push(region);
        }
        let mut joined: Option<Region> = None;
        while let Some(region) = self.far.pop() {
            let region = self.flip(region);
            if region.new.end < start {
                self.near.push(region);
            } else if region.new.start <= end {
                joined = Some(match joined {
                    None => region,
                    Some(head) => Region { old: head.old.start..region.old.end, new: head.new.start..region.new.end },
                });
            } else {
                let region = self.flip(region);
                self.far.push(region);
                break;
            }
        }
        let mut region = joined.unwrap_or_else(|| {
            let old = self.near.last().map_or(start, |before| start - before.new.end + before.old.end);
            Region { old: old..old + (end - start), new: start..end }
        });
        if start < region.new.start {
            (region.old.start, region.new.start) = (region.old.start - (region.new.start - start), start);
        }
        if end > region.new.end {
            (region.old.end, region.new.end) = (region.old.end + (end - region.new.end), end);
        }
        region.new.end = region.new.end - (end - start) + change.len;
        self.len = self.len - (end - start) + change.len;
        self.near.push(region);
    }

    /// The regions, rising.
    pub(super) fn iter(&self) -> impl Iterator<Item = Region> + '_ {
        self.near.iter().cloned().chain(self.far.iter().rev().map(|region| self.flip(region.clone())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
            let splices = [Splice { range: place.clone(), text: String::new() }];
            let mut carried = Carried::new(&splices, 9);
            let whole = carried.carry(&Change { range: range.clone(), len });
            let found = &carried.apply(&splices)[0].range;
            assert_eq!(whole.then_some([found.start, found.end]), expected, "{range:?} {len} {place:?}");
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

    fn changes() -> impl Strategy<Value = Vec<(usize, usize, String)>> {
        prop::collection::vec((0usize..24, 0usize..4, "[x-z]{0,3}"), 0..12)
    }

    proptest! {
        /// Outside the regions, the first and the newest text are the same, byte for byte.
        #[test]
        fn regions_hold_all_changes(text in "[a-c]{0,20}", changes in changes()) {
            let mut now = text.clone();
            let mut regions = Regions::new(now.len());
            for (start, len, new) in changes {
                let start = start.min(now.len());
                let end = (start + len).min(now.len());
                let splice = Splice { range: start..end, text: new };
                let removed = now[start..end].to_owned();
                regions.add(&Change::of(&splice, &removed));
                now.replace_range(start..end, &splice.text);
            }
            let (mut rebuilt, mut at, mut last) = (String::new(), 0, None);
            for region in regions.iter() {
                rebuilt.push_str(&text[at..region.old.start]);
                prop_assert_eq!(rebuilt.len(), region.new.start);
                prop_assert!(last.is_none_or(|last| last < region.new.start), "regions that touch are one");
                rebuilt.push_str(&now[region.new.clone()]);
                (at, last) = (region.old.end, Some(region.new.end));
            }
            rebuilt.push_str(&text[at..]);
            prop_assert_eq!(rebuilt, now);
        }

        /// Many places move as each of them would alone, by the plain rule.
        #[test]
        fn places_move_as_each_would_alone(
            cuts in prop::collection::vec((1usize..4, 0usize..3), 0..6),
            changes in prop::collection::vec((0usize..24, 0usize..3, 0usize..4), 0..12),
        ) {
            let mut len = 24;
            let mut at = 0;
            let splices: Vec<Splice> = cuts.iter().map(|&(gap, size)| {
                let start = at + gap;
                at = start + size;
                Splice { range: start..at, text: String::new() }
            }).filter(|splice| splice.range.end <= 24).collect();
            let mut carried = Carried::new(&splices, len);
            let mut plain: Vec<Range<usize>> = splices.iter().map(|splice| splice.range.clone()).collect();
            for (start, size, new) in changes {
                let start = start.min(len);
                let change = Change { range: start..(start + size).min(len), len: new };
                let mut whole = true;
                for place in &mut plain {
                    let same_point = change.range.is_empty() && *place == change.range;
                    if change.range.end <= place.start && !same_point {
                        *place = place.start - change.range.len() + new..place.end - change.range.len() + new;
                    } else if change.range.start < place.end {
                        whole = false;
                    }
                }
                prop_assert_eq!(carried.carry(&change), whole);
                if !whole {
                    return Ok(());
                }
                len = len - change.range.len() + new;
                let found: Vec<_> = carried.apply(&splices).into_iter().map(|splice| splice.range).collect();
                prop_assert_eq!(&found, &plain);
            }
        }
    }
}
