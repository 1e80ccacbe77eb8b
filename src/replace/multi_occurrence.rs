//! `multiOccurrence`: the one window of the text that is far more alike than any other, or the one that has every line
//! of old.

use std::ops::Range;

use super::align::{compare, partners};
use super::block_anchor::{anchors, slack};
use super::haystack::Haystack;
use super::lines::{Lines, blank};
use super::nearest::{elsewhere, starts};
use super::{Finding, Pair, Place};

/// The window is at least this alike: fixtures 208 and 209 are on either side.
const WINDOW: f64 = 0.8;

/// Or so much, if it has every line of old as it is: what makes it less alike is then only what old left out
/// (fixtures 215 and 216).
const COMPLETE: f64 = 0.5;

/// Each pair of lines of it is at least this alike: fixtures 210 and 211.
const LINE: f64 = 0.6;

/// It is ahead of the best other window that does not overlap it by at least this: fixtures 213 and 214.
const LEAD: f64 = 0.1;

/// Old has at least so many lines that are not blank: fixture 212.
const LINES: usize = 3;

/// So many windows are compared at most; if the votes for one more are not far behind, none is taken.
const WINDOWS: usize = 32;

/// The best window, if no other comes near.
pub(super) fn find<'a>(haystack: &Haystack<'_>, pair: &Pair<'a>, _all: bool) -> Finding<'a> {
    let table = Lines::of(&pair.old);
    let old: Vec<&str> = table.contents().collect();
    if old.iter().filter(|line| !blank(line)).count() < LINES {
        return Finding::none(pair);
    }
    let votes = starts(haystack, &old);
    if votes.get(WINDOWS).is_some_and(|next| next.0 * 2 >= votes[0].0) {
        return Finding::none(pair);
    }
    let slack = slack(old.len());
    let mut windows: Vec<Window> =
        votes.into_iter().take(WINDOWS).filter_map(|(_, start)| window(haystack, &old, start, slack)).collect();
    // The one that agrees with most of old is meant, if any is; that another is more alike (because old left out a line
    // of the first) only makes it doubtful.
    windows.sort_by(|a, b| {
        let alike = b.similarity.total_cmp(&a.similarity);
        b.agreement.cmp(&a.agreement).then(alike).then(a.lines.start.cmp(&b.lines.start))
    });
    let Some(best) = windows.first() else { return Finding::none(pair) };
    let near = windows.iter().any(|other| {
        let apart = other.lines.end <= best.lines.start || other.lines.start >= best.lines.end;
        // One that agrees with as much of old may be meant, whatever else it has (fixture 226).
        apart && (best.similarity - other.similarity < LEAD || other.agreement >= best.agreement)
    });
    let floor = if best.complete { COMPLETE } else { WINDOW };
    if near || best.similarity < floor || old.len().abs_diff(best.lines.len()) > slack {
        return Finding::none(pair);
    }
    if elsewhere(haystack, &old, &best.lines, &best.partners) {
        return Finding::none(pair);
    }
    let place = Place::of_lines(haystack, best.lines.clone(), &table, Some(best.partners.clone()));
    Finding { pair: pair.clone(), places: vec![place] }
}

struct Window {
    lines: Range<usize>,
    partners: Vec<Option<usize>>,
    similarity: f64,
    agreement: usize,
    /// Whether it has every line of old, and no other line that could be one of them.
    complete: bool,
}

/// The window round a start: from the first to the last line that pairs with one of old.
fn window(haystack: &Haystack<'_>, old: &[&str], start: isize, slack: usize) -> Option<Window> {
    let lines = haystack.lines();
    let from = usize::try_from(start.saturating_sub_unsigned(slack).max(0)).ok()?;
    let to = usize::try_from(start.saturating_add_unsigned(old.len() + slack)).ok()?.min(lines.count());
    let here: Vec<&str> = (from.min(to)..to).map(|line| lines.content(line)).collect();
    let found = partners(old, &here, LINE);
    let (first, last) = (found.iter().flatten().min().copied()?, found.iter().flatten().max().copied()?);
    let partners: Vec<Option<usize>> = found.iter().map(|partner| partner.map(|at| at - first)).collect();
    let compared = compare(old, &here[first..=last], &partners);
    let (similarity, agreement) = (compared.cost.similarity(), compared.agreement);
    let complete = complete(old, &here[first..=last], &partners);
    Some(Window { lines: from + first..from + last + 1, partners, similarity, agreement, complete })
}

/// Whether each line of old that is not blank is in the window as it is, white space at its ends aside, and no line is
/// left that equals one of old's: of two it would not be known which one old means.
fn complete(old: &[&str], window: &[&str], partners: &[Option<usize>]) -> bool {
    let mut left = vec![true; window.len()];
    for (line, partner) in old.iter().zip(partners) {
        match partner {
            Some(at) if window[*at].trim() == line.trim() => left[*at] = false,
            None if blank(line) => {}
            _ => return false,
        }
    }
    let spare = |(line, left): (&&str, bool)| left && !blank(line) && old.iter().any(|old| old.trim() == line.trim());
    old.iter().filter(|line| anchors(line)).count() > 1 && !window.iter().zip(left).any(spare)
}
