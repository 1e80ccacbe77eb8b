//! Runs of lines found by their keys, in time linear in the text whatever the text and the run are.

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
    let fits =
        |at: usize| (0..old.count()).all(|line| equal(line, old.content(line), haystack.lines().content(at + line)));
    let places = confirmed(occurrences(keys, &run), old.count(), all, fits)
        .into_iter()
        .map(|at| Place::of_lines(haystack, at..at + old.count(), &old, None))
        .collect();
    Finding { pair: pair.clone(), places }
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
///
/// Knuth, Morris and Pratt: a text of a hundred thousand equal lines costs no more than any other.
pub(super) fn occurrences(text: &[u64], run: &[u64]) -> Vec<usize> {
    if run.is_empty() || run.len() > text.len() {
        return Vec::new();
    }
    let borders = borders(run);
    let (mut found, mut matched) = (Vec::new(), 0);
    for (at, key) in text.iter().enumerate() {
        while matched > 0 && (matched == run.len() || run[matched] != *key) {
            matched = borders[matched - 1];
        }
        if run[matched] == *key {
            matched += 1;
        }
        if matched == run.len() {
            found.push(at + 1 - run.len());
        }
    }
    found
}

/// For each prefix of the run, the length of the longest proper prefix of it that it also ends with.
fn borders(run: &[u64]) -> Vec<usize> {
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
    }
}
