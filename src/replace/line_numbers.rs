//! `lineNumbers`: every line of old that is not blank bears a rising line number, as a listing shows them.

use std::borrow::Cow;

use super::haystack::Haystack;
use super::lines::{Lines, blank};
use super::{Finding, Fit, Pair, Place, above, first_of};

/// What stands between a line number and the line, the longer of two that begin alike first.
const SEPARATORS: [&str; 8] = ["\t", ": ", " | ", " │ ", "│", "→", ":", "|"];

/// The strategies above, on the pair without its numbers. Old is whole lines then, and so is the place.
pub(super) fn find<'a>(haystack: &Haystack<'_>, pair: &Pair<'a>, all: bool) -> Finding<'a> {
    let lines = Lines::of(&pair.old);
    let Some(separator) = SEPARATORS.into_iter().find(|separator| numbered(&lines, separator)) else {
        return Finding::none(pair);
    };
    let new = Lines::of(&pair.new);
    // Numbers of new are a listing's if it has lines of old just as they are there, or all of its lines are numbered; a
    // number that the text itself has is none.
    let listed = numbered(&new, separator)
        || new.contents().any(|line| split(line, separator).is_some() && lines.contents().any(|old| old == line));
    let stripped = Pair {
        old: Cow::Owned(without(&pair.old, separator)),
        new: if listed { Cow::Owned(without(&pair.new, separator)) } else { pair.new.clone() },
    };
    let mut finding = first_of(above("lineNumbers"), haystack, &stripped, all);
    let whole = |place: &Place| {
        let (head, tail) = (&haystack.body[..place.range.start], &haystack.body[place.range.end..]);
        let head = &head[head.rfind('\n').map_or(0, |at| at + 1)..];
        let ends =
            haystack.body[place.range.clone()].ends_with('\n') || blank(&tail[..tail.find('\n').unwrap_or(tail.len())]);
        blank(head) && ends
    };
    finding.places.retain(|place| !matches!(place.fit, Fit::Exact | Fit::Woven { whole: false }) || whole(place));
    finding
}

/// Whether each line that is not blank has a number, each a higher one than the one before, and the numbers stand before
/// something.
fn numbered(lines: &Lines<'_>, separator: &str) -> bool {
    let mut before = None;
    let mut any = false;
    for line in lines.contents().filter(|line| !blank(line)) {
        let Some((number, content)) = split(line, separator) else { return false };
        if before.is_some_and(|before| number <= before) {
            return false;
        }
        (before, any) = (Some(number), any || !blank(content));
    }
    any
}

/// A text without the numbers its lines have; a line without one stays as it is.
fn without(text: &str, separator: &str) -> String {
    text.split_inclusive('\n').map(|line| split(line, separator).map_or(line, |(_, rest)| rest)).collect()
}

/// The number of a line, and the line. A line that is empty but for its number may have lost the end of a separator.
fn split<'l>(line: &'l str, separator: &str) -> Option<(u64, &'l str)> {
    let digits = line.trim_start_matches(' ');
    let rest = digits.trim_start_matches(|c: char| c.is_ascii_digit());
    let number = digits[..digits.len() - rest.len()].parse().ok()?;
    let content = rest.strip_prefix(separator).or_else(|| {
        let short = separator.trim_end();
        rest.strip_prefix(short)
            .filter(|rest| !short.is_empty() && blank(rest))
            .or((short.is_empty() && blank(rest)).then_some(rest))
    })?;
    Some((number, content))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_told_from_text() {
        fn check(text: &str, expected: Option<&str>) {
            let lines = Lines::of(text);
            let found = SEPARATORS.into_iter().find(|separator| numbered(&lines, separator));
            assert_eq!(found.map(|separator| without(text, separator)).as_deref(), expected, "{text:?}");
        }
        check("1\ta\n2\t  b\n", Some("a\n  b\n"));
        check("    9: a\n   10:   b", Some("a\n  b"));
        check("7│a\n\n9│b\n", Some("a\n\nb\n"));
        check("7→a\n8→\n9→b\n", Some("a\n\nb\n"));
        check("7: a\n8:\n9: b\n", Some("a\n\nb\n"));
        check("66 | a\n67 |\n68 |   b\n", Some("a\n\n  b\n"));
        check("9|a\n10|  b\n", Some("a\n  b\n"));
        check("2: a\n1: b\n", None);
        check("1: a\nb\n", None);
        check("a\n", None);
        check("\n", None);
        // Numbers, and nothing they stand before.
        check("36\n40\n", None);
    }
}
