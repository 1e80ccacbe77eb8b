//! The part of what was found that will be shown: the first so many in the order of places, however many there are. Each
//! thread keeps its own first ones, and no more, so that memory is bounded. Pure.

use super::{Line, Place};

/// What was found in one file.
#[derive(Debug, Clone, PartialEq)]
pub struct Hits {
    /// Where.
    pub place: Place,
    /// How many of its lines match; 1 when only that was asked.
    pub matched: u64,
    /// The first of them, with those around them.
    pub lines: Vec<Line>,
    /// How much it takes of what may be shown.
    pub(super) weight: usize,
}

/// Hits in no order, of which only the first are needed.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// So much weight is needed from the beginning.
    need: usize,
    hits: Vec<Hits>,
    weight: usize,
    /// What comes after it is not needed.
    bound: Option<Place>,
    /// Of all hits, kept or not.
    pub files: u64,
    /// Of all hits, kept or not.
    pub matched: u64,
    /// The weight of all hits, kept or not.
    pub total: u64,
}

impl Hits {
    /// How many of its matching lines may be shown, on one page or several.
    pub fn capacity(&self) -> usize {
        self.weight
    }
}

impl Kept {
    pub(super) fn new(need: usize) -> Kept {
        Kept { need, ..Kept::default() }
    }

    /// Whether lines of a place may be needed.
    pub(super) fn wants(&self, place: &Place) -> bool {
        self.need > 0 && self.bound.as_ref().is_none_or(|bound| place <= bound)
    }

    pub(super) fn push(&mut self, hits: Hits) {
        self.files += 1;
        self.matched += hits.matched;
        self.total += hits.weight as u64;
        if !self.wants(&hits.place) {
            return;
        }
        self.weight += hits.weight;
        self.hits.push(hits);
        // Not at every hit, so that sorting costs little.
        if self.weight > self.need.saturating_mul(2) && self.hits.len() > 1 {
            self.prune();
        }
    }

    /// Those of another one too.
    pub(super) fn absorb(&mut self, other: Kept) {
        self.files += other.files;
        self.matched += other.matched;
        self.total += other.total;
        self.weight += other.weight;
        self.hits.extend(other.hits);
    }

    fn prune(&mut self) {
        self.hits.sort_by(|a, b| a.place.cmp(&b.place));
        let mut sum = 0;
        let enough = self.hits.iter().position(|hits| {
            sum += hits.weight;
            sum >= self.need
        });
        if let Some(last) = enough {
            self.hits.truncate(last + 1);
            self.weight = sum;
            self.bound = self.hits.last().map(|hits| hits.place.clone());
        }
    }

    /// What is needed of it, in order, from the `skip`th unit of weight (0 is the first).
    pub(super) fn part(mut self, skip: usize, limit: usize) -> Vec<Part> {
        self.hits.sort_by(|a, b| a.place.cmp(&b.place));
        let (mut parts, mut passed, end) = (Vec::new(), 0, skip.saturating_add(limit));
        for hits in self.hits {
            let (from, to) = (passed, passed + hits.weight);
            passed = to;
            if to > skip && from < end {
                parts.push(Part { first: skip.saturating_sub(from), count: to.min(end) - from.max(skip), hits });
            }
        }
        parts
    }
}

/// Some of the matches of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// The file.
    pub hits: Hits,
    /// The first match to show, 0-based.
    pub first: usize,
    /// How many to show.
    pub count: usize,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::path::PathBuf;

    fn hits(name: u16, weight: usize) -> Hits {
        let place = Place { base: 0, path: PathBuf::from(format!("/{name:05}")) };
        Hits { place, matched: weight as u64, lines: Vec::new(), weight }
    }

    proptest! {
        #[test]
        fn the_first_are_kept_whatever_the_order(
            found in prop::collection::vec((0u16..500, 1usize..6, 0usize..3), 0..120),
            skip in 0usize..40, limit in 1usize..40,
        ) {
            let mut naive = std::collections::BTreeMap::new();
            let mut threads = [Kept::new(skip + limit), Kept::new(skip + limit), Kept::new(skip + limit)];
            for (name, weight, thread) in found {
                if let std::collections::btree_map::Entry::Vacant(new) = naive.entry(name) {
                    new.insert(weight);
                    threads[thread].push(hits(name, weight));
                }
            }
            let mut all = Kept::new(skip + limit);
            for kept in threads {
                prop_assert!(kept.weight <= 2 * (skip + limit) + 6);
                all.absorb(kept);
            }
            prop_assert_eq!((all.files, all.matched), (naive.len() as u64, naive.values().sum::<usize>() as u64));
            let units = naive.iter().flat_map(|(name, weight)| (0..*weight).map(|unit| (hits(*name, 1).place, unit)));
            let expected: Vec<(Place, usize)> = units.skip(skip).take(limit).collect();
            let parts = all.part(skip, limit);
            let shown: Vec<(Place, usize)> = parts
                .iter()
                .flat_map(|part| (part.first..part.first + part.count).map(|unit| (part.hits.place.clone(), unit)))
                .collect();
            prop_assert_eq!(shown, expected);
        }
    }
}
