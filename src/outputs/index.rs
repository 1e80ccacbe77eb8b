//! Where lines and characters of a long text are: marks every so many bytes, made while the text comes, so that any place
//! of it is found by reading a short piece. Pure.

/// From one mark to the next (bytes), to the next beginning of a character.
const STEP: u64 = 256 * 1024;

/// A place in a text, the beginning of a character.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Mark {
    /// So many bytes are before it.
    pub byte: u64,
    /// So many line ends.
    pub lines: usize,
    /// So many characters.
    pub chars: u64,
}

/// How long a text is, and marks in it: about 100 bytes of memory for a MiB of text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Index {
    step: u64,
    marks: Vec<Mark>,
    end: Mark,
    /// Whether the last line has its end.
    ended: bool,
}

impl Default for Index {
    fn default() -> Index {
        Index::every(STEP)
    }
}

impl Index {
    /// The index of a text.
    pub fn of(text: &str) -> Index {
        let mut index = Index::default();
        index.push(text);
        index
    }

    /// Of nothing yet, with marks every so many bytes.
    pub(super) fn every(step: u64) -> Index {
        Index { step, marks: Vec::new(), end: Mark::default(), ended: true }
    }

    /// Some more of the text.
    pub(super) fn push(&mut self, text: &str) {
        let mut rest = text;
        while !rest.is_empty() {
            let to_mark = (self.last().byte + self.step).saturating_sub(self.end.byte);
            let wanted = usize::try_from(to_mark).unwrap_or(usize::MAX).clamp(1, rest.len());
            let (piece, after) = rest.split_at(rest.ceil_char_boundary(wanted));
            self.end.byte += piece.len() as u64;
            self.end.lines += memchr::memchr_iter(b'\n', piece.as_bytes()).count();
            self.end.chars += piece.chars().count() as u64;
            if self.end.byte >= self.last().byte + self.step {
                self.marks.push(self.end);
            }
            rest = after;
        }
        self.ended = text.as_bytes().last().map_or(self.ended, |last| *last == b'\n');
    }

    /// Another text that comes behind this one.
    pub(super) fn append(&mut self, other: &Index) {
        let Mark { byte, lines, chars } = self.end;
        let moved = |mark: &Mark| Mark { byte: mark.byte + byte, lines: mark.lines + lines, chars: mark.chars + chars };
        // Where the other begins is a mark too: else two of them could be further apart than they may be.
        self.marks.push(self.end);
        self.marks.extend(other.marks.iter().map(moved));
        self.end = moved(&other.end);
        if other.end.byte > 0 {
            self.ended = other.ended;
        }
    }

    /// The length of the text (bytes).
    pub fn bytes(&self) -> u64 {
        self.end.byte
    }

    /// How many line ends it has.
    pub(super) fn line_ends(&self) -> usize {
        self.end.lines
    }

    /// How many lines it has, as people count: the empty one after a final line end is none.
    pub fn line_count(&self) -> usize {
        self.end.lines + usize::from(!self.ended)
    }

    /// Whether the last line has its end, or there is none.
    pub(super) fn ends_line(&self) -> bool {
        self.ended
    }

    fn last(&self) -> Mark {
        self.marks.last().copied().unwrap_or_default()
    }

    /// The last mark of those, from the first on, for which this holds; else the beginning. It must hold for no mark behind one
    /// for which it does not.
    pub(super) fn last_where(&self, holds: impl Fn(&Mark) -> bool) -> Mark {
        let at = self.marks.partition_point(holds);
        at.checked_sub(1).and_then(|at| self.marks.get(at)).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn mark(text: &str, byte: usize) -> Mark {
        let before = &text[..byte];
        Mark { byte: byte as u64, lines: before.matches('\n').count(), chars: before.chars().count() as u64 }
    }

    #[test]
    fn marks_are_not_far_apart() {
        let index = Index::of(&"0123456\n".repeat(100_000));
        assert_eq!((index.bytes(), index.line_count(), index.marks.len()), (800_000, 100_000, 3));
        assert_eq!(index.last_where(|mark| mark.lines < 40_000).byte, STEP);
        assert_eq!(index.last_where(|mark| mark.lines < 5), Mark::default());
    }

    #[test]
    fn lines_are_counted_as_people_do() {
        for (text, lines, ended) in
            [("", 0, true), ("\n", 1, true), ("a", 1, false), ("a\r\n", 1, true), ("a\n\nb", 3, false)]
        {
            let index = Index::of(text);
            assert_eq!((index.line_count(), index.ends_line()), (lines, ended), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn every_mark_is_true_however_the_text_comes(
            pieces in prop::collection::vec("[a\né😀\r]{0,20}", 0..20), apart in 0usize..20, step in 1u64..12,
        ) {
            let apart = apart.min(pieces.len());
            let (mut index, mut other) = (Index::every(step), Index::every(step));
            pieces[..apart].iter().for_each(|piece| index.push(piece));
            pieces[apart..].iter().for_each(|piece| other.push(piece));
            index.append(&other);
            let text = pieces.concat();
            prop_assert_eq!(index.end, mark(&text, text.len()));
            prop_assert_eq!(index.line_count(), super::super::line_count(&text));
            let mut before = 0;
            for found in &index.marks {
                prop_assert_eq!(*found, mark(&text, usize::try_from(found.byte).unwrap()));
                prop_assert!(found.byte - before <= step + 3);
                before = found.byte;
            }
            prop_assert!(index.end.byte - before <= step + 3);
        }
    }
}
