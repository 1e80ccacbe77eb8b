//! What new says may be there already: an edit that is sent again must not be made again.
//!
//! Where old is not in the text to the byte and new is, line by line, whatever resembles old is more likely what the edit
//! left than what it was meant for.

use memchr::memmem;

use super::haystack::Haystack;
use super::keys::trimmed_key;
use super::lines::{Lines, blank};
use super::search::{confirmed, occurrences};
use super::{Fit, Pair, Place};

/// New has at least so many lines that are not blank: a single one may be anywhere (fixtures 217 and 218).
const LINES: usize = 2;

/// The places where all lines of new stand already, blank ones at its ends and white space at theirs aside; none when
/// these lines are in old as well, and so prove nothing.
pub(super) fn places(haystack: &Haystack<'_>, pair: &Pair<'_>) -> Vec<Place> {
    let (old, new) = (Lines::of(&pair.old), Lines::of(&pair.new));
    let wanted: Vec<&str> = inner(&new);
    if wanted.iter().filter(|line| !blank(line)).count() < LINES {
        return Vec::new();
    }
    let longest = wanted.iter().map(|line| line.trim()).max_by_key(|line| line.len()).unwrap_or_default();
    if memmem::find(haystack.body.as_bytes(), longest.as_bytes()).is_none() {
        return Vec::new();
    }
    let run: Vec<u64> = wanted.iter().map(|line| trimmed_key(line)).collect();
    let olds: Vec<u64> = old.contents().map(trimmed_key).collect();
    if !occurrences(&olds, &run).is_empty() {
        return Vec::new();
    }
    let fits = |at: usize| {
        wanted.iter().enumerate().all(|(line, new)| new.trim() == haystack.lines().content(at + line).trim())
    };
    confirmed(occurrences(haystack.trimmed(), &run), run.len(), false, fits)
        .into_iter()
        .map(|at| {
            let lines = at..at + run.len();
            Place { range: haystack.lines().span(&lines), fit: Fit::Lines { lines, partners: None } }
        })
        .collect()
}

/// The lines between the blank ones at both ends.
fn inner<'a>(lines: &Lines<'a>) -> Vec<&'a str> {
    let mut inner: Vec<&str> = lines.contents().skip_while(|line| blank(line)).collect();
    while inner.last().is_some_and(|line| blank(line)) {
        inner.pop();
    }
    inner
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;

    #[test]
    fn where_new_stands() {
        fn check(text: &str, old: &str, new: &str, expected: &[&str]) {
            let haystack = Haystack::new(text);
            let found = places(&haystack, &Pair { old: Cow::Borrowed(old), new: Cow::Borrowed(new) });
            let found: Vec<&str> = found.into_iter().map(|place| &text[place.range]).collect();
            assert_eq!(found, expected, "{text:?} {old:?} {new:?}");
        }
        check("a\n  if x:\n    b\nc\n", "b\n", "\nif x:\n  b\n", &["  if x:\n    b\n"]);
        check("a\nb\na\nb\n", "a", "a\nb", &["a\nb\n", "a\nb\n"]);
        // One line may be anywhere, and lines that stay say nothing.
        check("a\nb\n", "a", "b\n", &[]);
        check("x\na\nb\n", "X\na\nb\n", "a\nb\n", &[]);
    }
}
