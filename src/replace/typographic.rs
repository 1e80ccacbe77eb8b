//! `typographic`: equal once curly quotes, dashes, no-break spaces and the like are plain.

use memchr::memmem::Finder;

use super::haystack::{Flat, Haystack};
use super::search::COUNTED;
use super::tokens::plain;
use super::{Finding, Fit, Pair, Place};

/// A text with its look-alikes plain, and the way back.
struct Plain {
    text: String,
    /// After each look-alike: the offset in `text`, and in the original.
    shifts: Vec<(usize, usize)>,
}

/// Places wherever in a line, as for an exact text.
pub(super) fn find<'a>(haystack: &Haystack<'_>, pair: &Pair<'a>, all: bool) -> Finding<'a> {
    let flat = haystack.flat();
    let (text, old) = (Plain::of(&flat.text), Plain::of(&Flat::of(&pair.old).text));
    if (text.shifts.is_empty() && old.shifts.is_empty()) || old.text.trim().is_empty() {
        return Finding::none(pair);
    }
    let finder = Finder::new(&old.text);
    let (mut from, mut places) = (0, Vec::new());
    while let Some(found) = text.text.as_bytes().get(from..).and_then(|rest| finder.find(rest)) {
        let (start, end) = (from + found, from + found + old.text.len());
        from = start + 1;
        // A place may not begin or end inside what one character of the text became.
        let (Some(first), Some(last)) = (text.original(start), text.original(end)) else { continue };
        places.push(Place { range: flat.original(first..last), fit: Fit::Woven { whole: false } });
        if all {
            from = end;
        } else if places.len() >= COUNTED {
            break;
        }
    }
    Finding { pair: pair.clone(), places }
}

impl Plain {
    fn of(text: &str) -> Plain {
        let mut plain_text = Plain { text: String::with_capacity(text.len()), shifts: Vec::new() };
        for (at, c) in text.char_indices() {
            let becomes = plain(c).or_else(|| (c.is_whitespace() && spacing(c)).then_some(" "));
            match becomes {
                None => plain_text.text.push(c),
                Some(becomes) => {
                    // Recorded at its beginning too, so that offsets inside of it can be told.
                    plain_text.shifts.push((plain_text.text.len(), at));
                    plain_text.text.push_str(becomes);
                    plain_text.shifts.push((plain_text.text.len(), at + c.len_utf8()));
                }
            }
        }
        plain_text
    }

    /// The offset in the original; `None` inside a look-alike.
    fn original(&self, at: usize) -> Option<usize> {
        let next = self.shifts.partition_point(|&(plain, _)| plain <= at);
        let Some(&(plain, original)) = next.checked_sub(1).and_then(|last| self.shifts.get(last)) else {
            return Some(at);
        };
        // An odd number of records before it: the last one opens a look-alike that is not closed yet.
        if next % 2 == 1 && plain != at { None } else { Some(original + (at - plain)) }
    }
}

/// White space that is drawn as a space and is none.
fn spacing(c: char) -> bool {
    matches!(c, '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_lead_back() {
        let plain = Plain::of("“é…”x");
        assert_eq!(plain.text, "\"é...\"x");
        assert_eq!([0, 1, 3, 6, 7, 8].map(|at| plain.original(at)), [0, 3, 5, 8, 11, 12].map(Some));
        assert_eq!([4, 5].map(|at| plain.original(at)), [None, None]);
    }
}
