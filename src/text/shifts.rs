//! Where places of a text lie after an edit.

use super::Splice;

/// Which way a place goes when text is put in exactly there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stick {
    /// It stays before that text: right for the end of something.
    Before,
    /// It goes behind that text: right for the beginning of something.
    After,
}

/// The splices of an edit, ready to map many places: O(log n) each.
#[derive(Debug, Clone)]
pub struct Shifts<'a> {
    /// In rising order, each with the byte of the new text at which its own text begins.
    splices: Vec<(&'a Splice, usize)>,
}

impl<'a> Shifts<'a> {
    /// Of splices that refer to the same text (in bytes of it) and do not overlap, in any order.
    pub fn new(splices: &'a [Splice]) -> Shifts<'a> {
        let mut order: Vec<&Splice> = splices.iter().collect();
        order.sort_by_key(|splice| (splice.range.start, splice.range.end));
        let (mut old, mut new) = (0, 0);
        let placed = order
            .into_iter()
            .map(|splice| {
                let start: usize = new + splice.range.start.saturating_sub(old);
                (old, new) = (splice.range.end, start + splice.text.len());
                (splice, start)
            })
            .collect();
        Shifts { splices: placed }
    }

    /// Where a byte of the text before lies in the text after. One in replaced bytes goes as far into the replacement
    /// as it was into them, at most to its end, and to a character boundary.
    pub fn map(&self, byte: usize, stick: Stick) -> usize {
        let count = self.splices.partition_point(|(splice, _)| match stick {
            Stick::Before => splice.range.start < byte,
            Stick::After => splice.range.start <= byte,
        });
        let Some((splice, new)) = count.checked_sub(1).map(|last| self.splices[last]) else {
            return byte;
        };
        if byte >= splice.range.end {
            return new + splice.text.len() + (byte - splice.range.end);
        }
        let mut into = (byte - splice.range.start).min(splice.text.len());
        while !splice.text.is_char_boundary(into) {
            into -= 1;
        }
        new + into
    }

    /// Where a stretch of bytes lies in the text after. What is put in right before or right behind it is not part of
    /// it; an empty stretch goes behind what is put in there.
    pub fn map_range(&self, bytes: std::ops::Range<usize>) -> std::ops::Range<usize> {
        let start = self.map(bytes.start, Stick::After);
        let end = if bytes.is_empty() { start } else { self.map(bytes.end, Stick::Before) };
        start..end.max(start)
    }

    /// The stretches of the text after that the edit put in, in their order; empty where it only took away.
    pub fn new_ranges(&self) -> impl Iterator<Item = std::ops::Range<usize>> + '_ {
        self.splices.iter().map(|&(splice, new)| new..new + splice.text.len())
    }

    /// Whether a byte of the text after lies in text that the edit put in, its last end not included.
    pub fn put_in(&self, byte: usize) -> bool {
        let count = self.splices.partition_point(|&(_, new)| new <= byte);
        // Of several that begin there only the last can have any length before the byte; the others are empty.
        count.checked_sub(1).is_some_and(|last| {
            let (splice, new) = self.splices[last];
            byte < new + splice.text.len()
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::{LineBreaks, Text};

    fn splice(range: std::ops::Range<usize>, text: &str) -> Splice {
        Splice { range, text: text.to_owned() }
    }

    #[test]
    fn places_move_with_the_text_around_them() {
        // "0123456789" -> "01AB45678CD9": 2..4 replaced, CD put in at 9.
        let splices = [splice(9..9, "CD"), splice(2..4, "AB")];
        let shifts = Shifts::new(&splices);
        let after: Vec<usize> = (0..=10).map(|byte| shifts.map(byte, Stick::After)).collect();
        assert_eq!(after, [0, 1, 2, 3, 4, 5, 6, 7, 8, 11, 12]);
        assert_eq!(shifts.map(9, Stick::Before), 9);
        assert_eq!(shifts.map_range(8..9), 8..9);
        assert_eq!(shifts.map_range(9..10), 11..12);
        assert_eq!(shifts.map_range(9..9), 11..11);
        let inside: Vec<usize> = (0..=12).filter(|&byte| shifts.put_in(byte)).collect();
        assert_eq!(inside, [2, 3, 9, 10]);
        assert_eq!(shifts.new_ranges().collect::<Vec<_>>(), [2..4, 9..11]);
    }

    #[test]
    fn a_place_in_replaced_text_stays_as_far_into_it() {
        let splices = [splice(2..8, "ab€")];
        let shifts = Shifts::new(&splices);
        let mapped: Vec<usize> = (2..=8).map(|byte| shifts.map(byte, Stick::After)).collect();
        assert_eq!(mapped, [2, 3, 4, 4, 4, 7, 7], "never inside the euro sign");
    }

    proptest! {
        /// What was not touched is found again, byte for byte, and order is kept.
        #[test]
        fn untouched_text_is_found_again(
            text in "[a-c\n]{0,40}",
            cuts in proptest::collection::vec((0usize..40, 0usize..6, "[x-z]{0,4}"), 0..6),
        ) {
            let mut splices: Vec<Splice> = Vec::new();
            let mut cuts = cuts;
            cuts.sort();
            let mut at = 0;
            for (gap, length, new) in cuts {
                let start = (at + gap % 9).min(text.len());
                let end = (start + length).min(text.len());
                splices.push(splice(start..end, &new));
                at = end + 1;
                if at > text.len() { break; }
            }
            let after = Text::new(&text, LineBreaks::Lf).spliced(&splices).to_string();
            let shifts = Shifts::new(&splices);
            let touched = |byte: usize| splices.iter().any(|splice| splice.range.contains(&byte));
            let mut last = 0;
            for byte in 0..text.len() {
                let to = shifts.map(byte, Stick::After);
                prop_assert!(to >= last && to <= after.len());
                last = to;
                if !touched(byte) {
                    prop_assert_eq!(&after[to..=to], &text[byte..=byte]);
                    prop_assert!(!shifts.put_in(to));
                }
            }
            let new_bytes = (0..after.len()).filter(|&byte| shifts.put_in(byte)).count();
            prop_assert_eq!(new_bytes, splices.iter().map(|splice| splice.text.len()).sum::<usize>());
        }
    }
}
