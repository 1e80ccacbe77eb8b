//! Text as plain data: ropes with exact positions, splices, line ends, hashes, diffs. Pure: no I/O, clock or runtime.
//!
//! A [`Text`] is a rope plus what is needed to answer "which byte is line 7, character 12" the way one particular
//! editor counts. Everything else in the crate passes byte offsets and [`Splice`]s around and converts at the edge.

pub mod diff;
pub mod line_ends;
#[cfg(test)]
pub(crate) mod model;
pub mod percent;
pub mod position;
mod rope;
mod shifts;
pub mod similarity;

pub use line_ends::{LineEnd, LineEnds};
pub use position::{Clamp, Encoding, LineBreaks, Position, Range, TextEdit};
pub use rope::Text;
pub use shifts::{Shifts, Stick};

use sha2::{Digest as _, Sha256};

/// One replacement in a text: the bytes `range` give way to `text`. Offsets are bytes into the UTF-8 text, 0-based.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Splice {
    /// The bytes that go. Always on character boundaries of the text it is meant for.
    pub range: std::ops::Range<usize>,
    /// What takes their place.
    pub text: String,
}

impl Splice {
    /// Where a byte offset of the text before lies in the text after. An offset inside the replaced bytes, or at
    /// their end, goes to the end of the new text; one at their start stays.
    pub fn map(&self, byte: usize) -> usize {
        if byte <= self.range.start {
            byte
        } else if byte >= self.range.end {
            byte - (self.range.end - self.range.start) + self.text.len()
        } else {
            self.range.start + self.text.len()
        }
    }

    /// The splice that undoes this one, given the text it was applied to.
    #[must_use]
    pub fn inverse(&self, before: &Text) -> Splice {
        Splice { range: self.range.start..self.range.start + self.text.len(), text: before.slice(self.range.clone()) }
    }
}

/// The byte order mark as UTF-8 text; it is never part of a hash and never inside an edit.
pub const BOM: char = '\u{feff}';

/// SHA-256, in lower-case hex, of the UTF-8 text without its byte order mark: the `hash` of the protocol.
pub fn hash(text: &str) -> String {
    hash_bytes(text.strip_prefix(BOM).unwrap_or(text).as_bytes())
}

/// SHA-256, in lower-case hex, of bytes as they are: what tells whether a file is still the one that was read.
pub fn hash_bytes(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_leaves_the_bom_out() {
        assert_eq!(hash("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(hash("\u{feff}abc"), hash("abc"));
    }

    #[test]
    fn offsets_move_through_a_splice() {
        let splice = Splice { range: 3..5, text: "wxyz".into() };
        for (before, after) in [(0, 0), (3, 3), (4, 7), (5, 7), (9, 11)] {
            assert_eq!(splice.map(before), after, "{before}");
        }
    }
}
