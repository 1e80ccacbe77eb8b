//! `whitespaceNormalized`: equal once every run of white space, line ends too, is one space.
//!
//! A one-line old may match inside a line, between words, if it does not say that the line begins or ends there; a
//! longer one takes whole lines.

use std::ops::Range;

use memchr::memmem::Finder;

use super::align::blanks_aside;
use super::haystack::Haystack;
use super::lines::Lines;
use super::{Finding, Fit, Pair, Place};
use crate::text::similarity;

/// Distinct places; overlapping ones too, unless all are wanted.
pub(super) fn find<'a>(haystack: &Haystack<'_>, pair: &Pair<'a>, all: bool) -> Finding<'a> {
    let old: String = similarity::collapsed(&pair.old).collect();
    if old.is_empty() {
        return Finding::none(pair);
    }
    let inside = !pair.old.trim().contains('\n');
    let lead = &pair.old[..pair.old.len() - pair.old.trim_start().len()];
    let trail = &pair.old[pair.old.trim_end().len()..];
    let broken = |white: &str| white.contains('\n');
    let table = Lines::of(&pair.old);
    let contents: Vec<&str> = table.contents().collect();
    let squeezed = haystack.squeezed();
    let finder = Finder::new(&old);
    let (mut from, mut places, mut doubtful) = (0, Vec::new(), false);
    while let Some(found) = squeezed.text.as_bytes().get(from..).and_then(|rest| finder.find(rest)) {
        let (start, end) = (from + found, from + found + old.len());
        from = start + 1;
        let range = squeezed.original(start)..squeezed.original(end);
        let (head, tail) = (&haystack.body[..range.start], &haystack.body[range.end..]);
        let (opens, closes) = (rest_of_line(head, true), rest_of_line(tail, false));
        let whole = opens.trim().is_empty() && closes.trim().is_empty();
        // A line end at an end of old says that a line ends there.
        let ended = (opens.trim().is_empty() || !broken(lead)) && (closes.trim().is_empty() || !broken(trail));
        let fits = whole || (inside && (ended || !all) && !splits_word(head, &old, tail));
        if !fits {
            continue;
        }
        doubtful = !whole && !ended;
        places.push(if whole {
            whole_lines(haystack, range.start - opens.len()..range.end + closes.len(), &table, &contents)
        } else {
            Place { range, fit: Fit::Woven { whole: false } }
        });
        if all {
            from = end;
        } else if places.len() >= super::search::COUNTED {
            break;
        }
    }
    if doubtful && places.len() == 1 {
        // It makes another place ambiguous, and is not good enough on its own.
        return Finding::none(pair);
    }
    Finding { pair: pair.clone(), places }
}

/// A place of whole lines. Where only blank lines and the white space inside of lines differ they are merged line by
/// line, else word by word.
fn whole_lines(haystack: &Haystack<'_>, range: Range<usize>, old: &Lines<'_>, contents: &[&str]) -> Place {
    let lines = haystack.lines();
    let found = lines.at(range.start)..lines.at(range.end.max(1) - 1) + 1;
    let here: Vec<&str> = found.clone().map(|line| lines.content(line)).collect();
    let partners = blanks_aside(contents, &here).filter(|partners| {
        let collapsed = |a: &str, b: &str| similarity::collapsed(a).eq(similarity::collapsed(b));
        contents.iter().zip(partners).all(|(line, partner)| partner.is_none_or(|at| collapsed(line, here[at])))
    });
    let mut place = Place::of_lines(haystack, found, old, partners.clone());
    if partners.is_none() {
        place.fit = Fit::Woven { whole: true };
    }
    place
}

/// What is before (`back`) or after a place on its own line.
fn rest_of_line(text: &str, back: bool) -> &str {
    if back {
        &text[text.rfind('\n').map_or(0, |at| at + 1)..]
    } else {
        let line = &text[..text.find('\n').unwrap_or(text.len())];
        line.strip_suffix('\r').filter(|_| text.len() > line.len()).unwrap_or(line)
    }
}

/// Whether a place would begin or end inside a word.
fn splits_word(head: &str, old: &str, tail: &str) -> bool {
    let word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    (word(head.chars().next_back()) && word(old.chars().next()))
        || (word(old.chars().next_back()) && word(tail.chars().next()))
}
