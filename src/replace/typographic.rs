//! `typographic`: equal once curly quotes, dashes, no-break spaces and the like are plain.

use super::haystack::{Flat, Haystack};
use super::search::{COUNTED, overlapping};
use super::tokens::plain;
use super::{Finding, Fit, Pair, Place};

/// A text with its look-alikes plain, and the way back.
pub(super) struct Plain {
    text: String,
    /// After each look-alike: the offset in `text`, and in the original.
    shifts: Vec<(usize, usize)>,
}

/// Places wherever in a line, as for an exact text.
pub(super) fn find<'a>(haystack: &Haystack<'_>, pair: &Pair<'a>, all: bool) -> Finding<'a> {
    let (flat, text, flat_old) = (haystack.flat(), haystack.plain(), Flat::of(&pair.old));
    let plain_old = Plain::of(&flat_old.text);
    if text.is_none() && plain_old.is_none() {
        return Finding::none(pair);
    }
    let old = plain_old.as_ref().map_or(&*flat_old.text, |plain| &plain.text);
    if old.trim().is_empty() {
        return Finding::none(pair);
    }
    let body = text.map_or(&*flat.text, |plain| &plain.text);
    let original = |at: usize| text.map_or(Some(at), |plain| plain.original(at));
    let (mut free, mut places) = (0, Vec::new());
    for start in overlapping(body.as_bytes(), old.as_bytes()) {
        let end = start + old.len();
        if all && start < free {
            continue;
        }
        // A place may not begin or end inside what one character of the text became.
        let (Some(first), Some(last)) = (original(start), original(end)) else { continue };
        places.push(Place { range: flat.original(first..last), fit: Fit::Woven { whole: false } });
        free = end;
        if !all && places.len() >= COUNTED {
            break;
        }
    }
    Finding { pair: pair.clone(), places }
}

impl Plain {
    /// The plain form of a text; `None` when it has no look-alikes.
    pub(super) fn of(text: &str) -> Option<Plain> {
        let mut plain_text = Plain { text: String::new(), shifts: Vec::new() };
        let (mut kept, mut at) = (0, 0);
        // Look-alikes are beyond ASCII: the rest is passed over in large steps.
        while let Some(next) = beyond_ascii(text.as_bytes(), at) {
            let Some(c) = text[next..].chars().next() else { break };
            at = next + c.len_utf8();
            let Some(becomes) = plain(c).or_else(|| spacing(c).then_some(" ")) else { continue };
            if plain_text.shifts.is_empty() {
                plain_text.text.reserve_exact(text.len());
            }
            plain_text.text.push_str(&text[kept..next]);
            // Recorded at its beginning too, so that offsets inside of it can be told.
            plain_text.shifts.push((plain_text.text.len(), next));
            plain_text.text.push_str(becomes);
            plain_text.shifts.push((plain_text.text.len(), at));
            kept = at;
        }
        plain_text.text.push_str(if plain_text.shifts.is_empty() { "" } else { &text[kept..] });
        (!plain_text.shifts.is_empty()).then_some(plain_text)
    }

    /// The text.
    pub(super) fn text(&self) -> &str {
        &self.text
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

/// Where the first character from an offset on is that is not ASCII.
fn beyond_ascii(bytes: &[u8], from: usize) -> Option<usize> {
    let (blocks, _) = bytes[from..].as_chunks::<64>();
    let skipped = blocks.iter().take_while(|block| block.is_ascii()).count() * 64;
    bytes[from + skipped..].iter().position(|byte| !byte.is_ascii()).map(|at| from + skipped + at)
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
        assert!(Plain::of("é x").is_none());
        let plain = Plain::of("“é…”x").unwrap();
        assert_eq!(plain.text, "\"é...\"x");
        assert_eq!([0, 1, 3, 6, 7, 8].map(|at| plain.original(at)), [0, 3, 5, 8, 11, 12].map(Some));
        assert_eq!([4, 5].map(|at| plain.original(at)), [None, None]);
    }
}
