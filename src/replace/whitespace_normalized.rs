//! `whitespaceNormalized`: equal once every run of white space, line ends too, is one space.
//!
//! A one-line old may match inside a line, between words, if it does not say that the line begins or ends there; a
//! longer one takes whole lines.

use std::ops::Range;

use super::align::blanks_aside;
use super::haystack::Haystack;
use super::lines::{Lines, indentation, trim};
use super::search::{COUNTED, overlapping};
use super::{Finding, Fit, Pair, Place};
use crate::text::similarity;

/// So many of the longest words of old are looked for, to find the places by a rare one.
const TRIED: usize = 4;

/// A word that is in the text more often than this is not rare.
const RARE: usize = 64;

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
    let mut margins = Margins { haystack, line: usize::MAX, text: 0..0 };
    let (mut places, mut doubtful) = (Vec::new(), false);
    let mut free = 0;
    // Says whether there is room for more.
    let mut take = |range: Range<usize>| {
        if all && range.start < free {
            return true;
        }
        let (head, tail) = (&haystack.body[..range.start], &haystack.body[range.end..]);
        let opens = margins.of(range.start).start == range.start;
        let closes = margins.of(range.end - 1).end == range.end;
        let whole = opens && closes;
        // A line end at an end of old says that a line ends there.
        let ended = (opens || !broken(lead)) && (closes || !broken(trail));
        let fits = whole || (inside && (ended || !all) && !splits_word(head, &old, tail));
        if !fits {
            return true;
        }
        doubtful = !whole && !ended;
        free = range.end;
        places.push(if whole {
            let lines = haystack.lines();
            let lines = lines.at(range.start)..lines.at(range.end - 1) + 1;
            whole_lines(haystack, lines, &table, &contents)
        } else {
            Place { range, fit: Fit::Woven { whole: false } }
        });
        all || places.len() < COUNTED
    };
    if let Some((at, found)) = rare_word(haystack.body, &old) {
        let (before, after) = (&old[..at], &old[at..]);
        for start in found {
            let back = follow(haystack.body[..start].chars().rev(), before.chars().rev());
            let on = follow(haystack.body[start..].chars(), after.chars());
            if let (Some(back), Some(on)) = (back, on)
                && !take(start - back..start + on)
            {
                break;
            }
        }
    } else {
        let squeezed = haystack.squeezed();
        for start in overlapping(squeezed.text.as_bytes(), old.as_bytes()) {
            if !take(squeezed.original(start)..squeezed.original(start + old.len())) {
                break;
            }
        }
    }
    if doubtful && places.len() == 1 {
        // It makes another place ambiguous, and is not good enough on its own.
        return Finding::none(pair);
    }
    Finding { pair: pair.clone(), places }
}

/// One of the longest words of a collapsed text that is in the body a few times at most: where it begins in the text,
/// and each of its places, overlapping ones too.
fn rare_word(body: &str, text: &str) -> Option<(usize, Vec<usize>)> {
    let mut words: Vec<(usize, &str)> = Vec::new();
    let mut at = 0;
    for word in text.split(' ') {
        words.push((at, word));
        at += word.len() + 1;
    }
    words.sort_by_key(|(_, word)| std::cmp::Reverse(word.len()));
    words.into_iter().take(TRIED).find_map(|(at, word)| {
        let found: Vec<usize> = overlapping(body.as_bytes(), word.as_bytes()).take(RARE + 1).collect();
        (found.len() <= RARE).then_some((at, found))
    })
}

/// How many bytes of a text stand for a collapsed one that it begins with, if it does.
fn follow(text: impl Iterator<Item = char>, collapsed: impl Iterator<Item = char>) -> Option<usize> {
    let mut text = text.peekable();
    let mut bytes = 0;
    for c in collapsed {
        let next = text.next()?;
        bytes += next.len_utf8();
        if c != ' ' {
            if next != c {
                return None;
            }
            continue;
        }
        if !next.is_whitespace() {
            return None;
        }
        while let Some(more) = text.next_if(|c| c.is_whitespace()) {
            bytes += more.len_utf8();
        }
    }
    Some(bytes)
}

/// What of a line is within the white space at its ends; that of the last line asked for is remembered, for a long line
/// may hold many places.
struct Margins<'h, 't> {
    haystack: &'h Haystack<'t>,
    line: usize,
    text: Range<usize>,
}

impl Margins<'_, '_> {
    /// The bytes of the body, for the line that holds a byte.
    fn of(&mut self, byte: usize) -> Range<usize> {
        let lines = self.haystack.lines();
        if !(lines.range(self.line.min(lines.count() - 1)).contains(&byte) && self.line < lines.count()) {
            self.line = lines.at(byte);
            let content = lines.content(self.line);
            let start = lines.range(self.line).start + indentation(content).len();
            self.text = start..start + trim(content).len();
        }
        self.text.clone()
    }
}

/// A place of whole lines. Where only blank lines and the white space inside of lines differ they are merged line by
/// line, else word by word.
fn whole_lines(haystack: &Haystack<'_>, found: Range<usize>, old: &Lines<'_>, contents: &[&str]) -> Place {
    let lines = haystack.lines();
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

/// Whether a place would begin or end inside a word.
fn splits_word(head: &str, old: &str, tail: &str) -> bool {
    let word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    (word(head.chars().next_back()) && word(old.chars().next()))
        || (word(old.chars().next_back()) && word(tail.chars().next()))
}
