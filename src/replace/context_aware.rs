//! `contextAware`: the lines that are not blank equal once trimmed, in order; runs of blank lines may differ a little.

use super::align::blanks_aside;
use super::haystack::Haystack;
use super::keys::trimmed_key;
use super::lines::{Lines, blank};
use super::search::{confirmed, occurrences};
use super::trimmed_boundary::trimmed;
use super::{Finding, Pair, Place};

/// By so many lines a run of blank lines may differ; held by the table below.
const BLANK: usize = 2;

/// Old has at least so many lines, and so many that are not blank.
const LINES: (usize, usize) = (3, 2);

/// Runs of lines as old has them, blank ones aside.
pub(super) fn find<'a>(haystack: &Haystack<'_>, pair: &Pair<'a>, all: bool) -> Finding<'a> {
    let pair = trimmed(pair).unwrap_or_else(|| pair.clone());
    let old = Lines::of(&pair.old);
    let contents: Vec<&str> = old.contents().collect();
    let text: Vec<usize> = (0..old.count()).filter(|&line| !blank(old.content(line))).collect();
    if old.count() < LINES.0 || text.len() < LINES.1 {
        return Finding::none(&pair);
    }
    let lines = haystack.lines();
    let here = &haystack.solid().lines;
    let run: Vec<u64> = text.iter().map(|&line| trimmed_key(old.content(line))).collect();
    let fits = |at: usize| {
        let gap = |lines: &[usize], at: usize| lines[at + 1] - lines[at] - 1;
        (0..text.len()).all(|i| old.content(text[i]).trim() == lines.content(here[at + i]).trim())
            && (0..text.len() - 1).all(|i| gap(&text, i).abs_diff(gap(here, at + i)) <= BLANK)
    };
    let places = confirmed(occurrences(&haystack.solid().keys, &run), text.len(), all, fits)
        .into_iter()
        .map(|at| {
            let found = here[at]..here[at + text.len() - 1] + 1;
            let place: Vec<&str> = found.clone().map(|line| lines.content(line)).collect();
            Place::of_lines(haystack, found, &old, blanks_aside(&contents, &place))
        })
        .collect();
    Finding { places, pair: pair.clone() }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;
    use crate::replace::whitespace_normalized;
    use proptest::prelude::*;

    proptest! {
        /// Where its lines are equal once trimmed, so are their words, and `whitespaceNormalized`, which comes before, has
        /// found the place: no answer bears the name of this strategy. It stays for what the order of the strategies says.
        #[test]
        fn a_stricter_one_has_always_found_it(
            lines in proptest::collection::vec("[ \t\u{a0}]{0,2}([ab]|a b)?[ \r]?", 1..12),
            from in 0usize..10, count in 1usize..8, blanks in proptest::collection::vec(0usize..3, 8), all in any::<bool>(),
        ) {
            let text: String = lines.iter().flat_map(|line| [line, "\n"]).collect();
            let gaps: Vec<String> = blanks.into_iter().map(|blanks| "\n".repeat(blanks + 1)).collect();
            let taken = lines.iter().skip(from % lines.len()).take(count).zip(&gaps);
            let old: String = taken.flat_map(|(line, gap)| [" ", line.trim(), gap]).collect();
            let haystack = Haystack::new(&text);
            let pair = Pair { old: Cow::Borrowed(&old), new: Cow::Borrowed("x\n") };
            let found = find(&haystack, &pair, all).places.len();
            let stricter = whitespace_normalized::find(&haystack, &pair, all).places.len();
            prop_assert!(found == 0 || stricter > 0, "{:?} {:?}", text, old);
        }
    }

    #[test]
    fn blank_lines_may_differ_a_little() {
        fn check(text: &str, old: &str, expected: &[&str]) {
            let haystack = Haystack::new(text);
            let pair = Pair { old: Cow::Borrowed(old), new: Cow::Borrowed("x\n") };
            let found = find(&haystack, &pair, false).places;
            let found: Vec<&str> = found.into_iter().map(|place| &text[place.range]).collect();
            assert_eq!(found, expected, "{text:?} {old:?}");
        }
        check("a\n\n\nb\n  c\n", "a\nb\nc\n", &["a\n\n\nb\n  c\n"]);
        check("a\n\n\n\nb\nc\n", "a\nb\nc\n", &[]);
        check("a\nb\n", "a\n\nb", &["a\nb"]);
        check("x\na\nb\n", "\n\na\n\nb\n\n", &["a\nb\n"]);
        check("a\nb\n", "a\nb\n", &[]);
        check("a\n\nb\nc\na\nb\n\nc\n", "a\nb\nc\n", &["a\n\nb\nc\n", "a\nb\n\nc\n"]);
        // A blank line of old stands for no other line.
        check("a\nkeep\nb\n", "a\n\nb\n", &[]);
    }
}
