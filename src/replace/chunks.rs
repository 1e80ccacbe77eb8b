//! An exact text looked for in a text that is in pieces, without making one piece of them.

use std::ops::Range;

use memchr::memmem::Finder;
use ropey::RopeSlice;

use super::haystack::Flat;
use crate::text::LineEnd;

/// At least so many bytes are looked at in one go: pieces are short, and each look has a cost of its own.
const BLOCK: usize = 64 * 1024;

/// What there is of an exact text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Exact {
    /// Nothing.
    None,
    /// One place: its bytes in the text.
    One(Range<usize>),
    /// Two or more, overlapping ones too.
    Several,
}

/// Looks for `old`, which is not empty, in the pieces of a text, line ends aside. A match, and a CRLF, may begin in one
/// piece and end in another. Memory is linear in `old`, whatever the text is.
pub(super) fn exact<'t>(pieces: impl Iterator<Item = &'t str>, old: &str) -> Exact {
    let old = Flat::of(old);
    scan(pieces, old.text.as_bytes(), BLOCK)
}

/// Whether a text that is on one line is anywhere in the pieces.
pub(super) fn contains<'t>(pieces: impl Iterator<Item = &'t str>, line: &str) -> bool {
    scan(pieces, line.as_bytes(), BLOCK) != Exact::None
}

/// How the line that holds a byte ends; `None` for one that the text ends in.
pub(super) fn line_end(text: RopeSlice<'_>, byte: usize) -> Option<LineEnd> {
    let line = text.byte_to_line(byte);
    if line + 1 >= text.len_lines() {
        return None;
    }
    let lf = text.line_to_byte(line + 1) - 1;
    let cr = lf > text.line_to_byte(line) && text.byte(lf - 1) == b'\r';
    Some(if cr { LineEnd::Crlf } else { LineEnd::Lf })
}

fn scan<'t>(pieces: impl Iterator<Item = &'t str>, old: &[u8], block: usize) -> Exact {
    let finder = Finder::new(old);
    let mut window = Window::default();
    let mut found: Option<Range<usize>> = None;
    // The window keeps the last bytes of the block before, so its blocks are several times as long.
    let block = block.max(4 * old.len());
    let mut pieces = pieces.peekable();
    while let Some(piece) = pieces.next() {
        window.push(piece.as_bytes());
        let last = pieces.peek().is_none();
        if last {
            window.close();
        }
        if window.bytes.len() < block && !last {
            continue;
        }
        let mut from = 0;
        while let Some(at) = window.bytes.get(from..).and_then(|rest| finder.find(rest)) {
            if found.is_some() {
                return Exact::Several;
            }
            found = Some(window.original(from + at..from + at + old.len()));
            from += at + 1;
        }
        window.keep(old.len().saturating_sub(1));
    }
    found.map_or(Exact::None, Exact::One)
}

/// A stretch of the text with LF for every line end, and the way back.
#[derive(Default)]
struct Window {
    bytes: Vec<u8>,
    /// Where in the flat text the stretch begins.
    start: usize,
    /// How many CRs are missing before the stretch.
    before: usize,
    /// Where CRs are missing in it: offsets in the flat text of the LFs they stood before, rising.
    dropped: Vec<usize>,
    /// The last piece ended with a CR, and it is not known yet whether an LF follows.
    open: bool,
}

impl Window {
    fn push(&mut self, piece: &[u8]) {
        if piece.is_empty() {
            return;
        }
        if std::mem::take(&mut self.open) {
            self.cr(piece[0]);
        }
        let mut from = 0;
        for cr in memchr::memchr_iter(b'\r', piece) {
            self.bytes.extend_from_slice(&piece[from..cr]);
            from = cr + 1;
            match piece.get(cr + 1) {
                Some(&next) => self.cr(next),
                None => self.open = true,
            }
        }
        self.bytes.extend_from_slice(&piece[from..]);
    }

    /// A CR, given the byte after it.
    fn cr(&mut self, next: u8) {
        if next == b'\n' {
            self.dropped.push(self.start + self.bytes.len());
        } else {
            self.bytes.push(b'\r');
        }
    }

    /// The text ends here.
    fn close(&mut self) {
        if std::mem::take(&mut self.open) {
            self.bytes.push(b'\r');
        }
    }

    /// Forgets all but the last `count` bytes.
    fn keep(&mut self, count: usize) {
        let gone = self.bytes.len().saturating_sub(count);
        self.bytes.drain(..gone);
        self.start += gone;
        let known = self.dropped.partition_point(|&lf| lf < self.start);
        self.dropped.drain(..known);
        self.before += known;
    }

    /// The bytes of the text that a range of the stretch stands for, as [`Flat::original`] has them.
    fn original(&self, range: Range<usize>) -> Range<usize> {
        let back = |at: usize| {
            let flat = self.start + at;
            flat + self.before + self.dropped.partition_point(|&lf| lf < flat)
        };
        back(range.start)..back(range.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A text cut at any of its characters.
    fn cut<'t>(text: &'t str, cuts: &[usize]) -> Vec<&'t str> {
        let mut at: Vec<usize> = cuts.iter().map(|cut| text.floor_char_boundary(cut % (text.len() + 1))).collect();
        at.extend([0, text.len()]);
        at.sort_unstable();
        at.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect()
    }

    #[test]
    fn matches_across_pieces() {
        let check = |pieces: &[&str], old: &str, expected: Exact| {
            assert_eq!(exact(pieces.iter().copied(), old), expected, "{pieces:?} {old:?}");
        };
        check(&["ab", "cd"], "bc", Exact::One(1..3));
        check(&["a\r", "\nb"], "a\nb", Exact::One(0..4));
        check(&["a\r", "\nb"], "\n", Exact::One(1..3));
        check(&["a\r", "b\r"], "b\r", Exact::One(2..4));
        check(&["aa", "a"], "aa", Exact::Several);
        check(&["a", ""], "b", Exact::None);
        check(&[], "b", Exact::None);
    }

    proptest! {
        /// The same as in one piece, whatever the pieces and the blocks are.
        #[test]
        fn pieces_make_no_difference(
            text in "[abé\r\n]{0,40}", old in "[abé\r\n]{1,4}", cuts in proptest::collection::vec(0usize..60, 0..8),
            block in 1usize..16,
        ) {
            let flat = Flat::of(&text);
            let old = Flat::of(&old).text;
            let fits = |at: &usize| flat.text.as_bytes()[*at..].starts_with(old.as_bytes());
            let places: Vec<usize> = (0..flat.text.len()).filter(fits).collect();
            let expected = match places[..] {
                [] => Exact::None,
                [at] => Exact::One(flat.original(at..at + old.len())),
                _ => Exact::Several,
            };
            prop_assert_eq!(scan(cut(&text, &cuts).into_iter(), old.as_bytes(), block), expected);
        }
    }
}
