//! `lineTrimmed`: each line equal once trimmed.

use super::haystack::{Haystack, trimmed_key};
use super::lines::{Lines, blank};
use super::search::{confirmed, occurrences};
use super::{Finding, Pair, Place};

/// Runs of as many lines as old has.
pub(super) fn find<'a>(haystack: &Haystack<'_>, pair: &Pair<'a>, all: bool) -> Option<Finding<'a>> {
    let old = Lines::of(&pair.old);
    if old.contents().all(blank) {
        return None;
    }
    let run: Vec<u64> = old.contents().map(trimmed_key).collect();
    let equal = |line: usize, at: usize| old.content(line).trim() == haystack.lines().content(at).trim();
    // Keys are hashes; whether the lines are equal only the lines themselves say.
    let fits = |at: usize| (0..old.count()).all(|line| equal(line, at + line));
    let places = confirmed(occurrences(haystack.trimmed(), &run), old.count(), all, fits)
        .into_iter()
        .map(|at| Place::of_lines(haystack, at..at + old.count(), &old, None))
        .collect();
    Some(Finding { pair: pair.clone(), places })
}
