//! Runs of lines found by their keys, in time linear in the text whatever the text and the run are.

use memchr::memmem::Finder;

use super::haystack::Haystack;
use super::lines::{Lines, blank};
use super::{Finding, Pair, Place};

/// Runs of as many lines as old has, found by the keys of their lines and confirmed line by line (number in old, old's
/// line, the text's line): keys are hashes, and only the lines themselves say that they are equal.
pub(super) fn line_runs<'a>(
    haystack: &Haystack<'_>,
    pair: &Pair<'a>,
    all: bool,
    keys: &[u64],
    key: fn(&str) -> u64,
    equal: impl Fn(usize, &str, &str) -> bool,
) -> Finding<'a> {
    let old = Lines::of(&pair.old);
    if old.contents().all(blank) {
        return Finding::none(pair);
    }
    let run: Vec<u64> = old.contents().map(key).collect();
    runs_at(haystack, pair, all, occurrences(keys, &run), equal)
}

/// Those of the runs that begin at rising `starts` which are confirmed line by line, as for [`line_runs`].
pub(super) fn runs_at<'a>(
    haystack: &Haystack<'_>,
    pair: &Pair<'a>,
    all: bool,
    starts: Vec<usize>,
    equal: impl Fn(usize, &str, &str) -> bool,
) -> Finding<'a> {
    let old = Lines::of(&pair.old);
    let fits =
        |at: usize| (0..old.count()).all(|line| equal(line, old.content(line), haystack.lines().content(at + line)));
    let places = confirmed(starts, old.count(), all, fits)
        .into_iter()
        .map(|at| Place::of_lines(haystack, at..at + old.count(), &old, None))
        .collect();
    Finding { pair: pair.clone(), places }
}

/// Whether so many candidates of so many lines each may be looked at one by one in a text of `lines` lines: that costs
/// no more than a scan of it.
pub(super) fn few(candidates: usize, each: usize, lines: usize) -> bool {
    candidates.saturating_mul(each) <= lines.max(1_000)
}

/// So many places are counted at most where one is wanted; more are as ambiguous as these.
pub(super) const COUNTED: usize = 1_000;

/// Of places that begin at rising `starts` and are `len` long, those that `fits` confirms. With `all` only the leftmost
/// that do not overlap, else at most [`COUNTED`]: what is confirmed is bounded either way.
pub(super) fn confirmed(
    starts: impl IntoIterator<Item = usize>,
    len: usize,
    all: bool,
    fits: impl Fn(usize) -> bool,
) -> Vec<usize> {
    let mut free = 0;
    let places = starts.into_iter().filter(|&start| {
        let takes = !(all && start < free) && fits(start);
        if takes {
            free = start + len;
        }
        takes
    });
    places.take(if all { usize::MAX } else { COUNTED }).collect()
}

/// Where a sequence of keys occurs in another, overlapping occurrences included; rising.
pub(super) fn occurrences(text: &[u64], run: &[u64]) -> Vec<usize> {
    if run.is_empty() || run.len() > text.len() {
        return Vec::new();
    }
    let mut scan = Scan { run, borders: borders(run), at: 0, matched: 0 };
    std::iter::from_fn(|| scan.next_in(text)).collect()
}

/// So many places are looked for with the fastest search, which has to begin anew after each: where they are many, and
/// long, that would be quadratic.
const FAST: usize = 32;

/// Where a text occurs in another, overlapping occurrences included; rising. In time linear in both.
pub(super) fn overlapping<'t>(text: &'t [u8], old: &'t [u8]) -> impl Iterator<Item = usize> + 't {
    let finder = Finder::new(old);
    let (mut from, mut count) = (0, 0);
    let mut scan: Option<Scan<'t, u8>> = None;
    std::iter::from_fn(move || {
        if let Some(scan) = &mut scan {
            return scan.next_in(text);
        }
        let at = from + finder.find(text.get(from..)?)?;
        (from, count) = (at + 1, count + 1);
        if count == FAST && !old.is_empty() {
            scan = Some(Scan { run: old, borders: borders(old), at: from, matched: 0 });
        }
        Some(at)
    })
}

/// A search by the algorithm of Knuth, Morris and Pratt: a text of a hundred thousand equal lines costs no more than
/// any other.
struct Scan<'r, T> {
    /// What is looked for; not empty.
    run: &'r [T],
    borders: Vec<usize>,
    /// What is looked at next.
    at: usize,
    /// So much of the run ends there.
    matched: usize,
}

impl<T: PartialEq> Scan<'_, T> {
    /// Where the run begins next.
    fn next_in(&mut self, text: &[T]) -> Option<usize> {
        let run = self.run;
        while let Some(item) = text.get(self.at) {
            while self.matched > 0 && (self.matched == run.len() || run[self.matched] != *item) {
                self.matched = self.borders[self.matched - 1];
            }
            self.matched += usize::from(run[self.matched] == *item);
            self.at += 1;
            if self.matched == run.len() {
                return Some(self.at - run.len());
            }
        }
        None
    }
}

/// For each prefix of the run, the length of the longest proper prefix of it that it also ends with.
fn borders<T: PartialEq>(run: &[T]) -> Vec<usize> {
    let mut borders = vec![0; run.len()];
    let mut matched = 0;
    for at in 1..run.len() {
        while matched > 0 && run[matched] != run[at] {
            matched = borders[matched - 1];
        }
        if run[matched] == run[at] {
            matched += 1;
        }
        borders[at] = matched;
    }
    borders
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_same_as_comparing_each_window(
            text in proptest::collection::vec(0u64..3, 0..40), run in proptest::collection::vec(0u64..3, 1..6),
        ) {
            let plain: Vec<usize> =
                (0..text.len()).filter(|&at| text[at..].starts_with(&run)).collect();
            prop_assert_eq!(occurrences(&text, &run), plain);
        }

        #[test]
        fn overlapping_texts_too(text in "[ab]{0,200}", old in "[ab]{1,3}") {
            let plain: Vec<usize> = (0..text.len()).filter(|&at| text[at..].starts_with(&old)).collect();
            prop_assert_eq!(overlapping(text.as_bytes(), old.as_bytes()).collect::<Vec<_>>(), plain);
        }
    }
}
