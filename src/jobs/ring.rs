//! The newest output of a job, in a bounded ring, addressed from the beginning of all output. Pure.

use std::collections::VecDeque;

use crate::outputs::unfinished;

/// At most so many bytes are kept.
const KEPT: usize = 256 * 1024;

/// What is kept of an output.
#[derive(Debug, Clone, Default)]
pub(super) struct Ring {
    kept: VecDeque<u8>,
    dropped: u64,
}

impl Ring {
    /// Puts some bytes at the end; the oldest make room.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let over = (self.kept.len() + bytes.len()).saturating_sub(KEPT);
        let old = over.min(self.kept.len());
        self.kept.drain(..old);
        self.kept.extend(&bytes[over - old..]);
        self.dropped += over as u64;
    }

    /// How many bytes there ever were.
    pub(super) fn total(&self) -> u64 {
        self.dropped + self.kept.len() as u64
    }

    /// How many bytes from the beginning are not kept any more.
    pub(super) fn dropped(&self) -> u64 {
        self.dropped
    }

    /// The text from an offset on, how many bytes from there are missing, and where the text ends. A character whose end
    /// has not come yet is left for the next time.
    pub(super) fn since(&self, cursor: u64) -> (String, u64, u64) {
        let from = cursor.clamp(self.dropped, self.total());
        let at = usize::try_from(from - self.dropped).unwrap_or(usize::MAX);
        let bytes: Vec<u8> = self.kept.iter().skip(at).copied().collect();
        let whole = bytes.len() - unfinished(&bytes);
        let text = String::from_utf8_lossy(&bytes[..whole]).into_owned();
        (text, from.saturating_sub(cursor), from + whole as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn old_bytes_make_room_and_are_counted() {
        let mut ring = Ring::default();
        ring.push(&vec![b'a'; KEPT - 1]);
        ring.push(b"bcd");
        assert_eq!((ring.total(), ring.dropped()), (KEPT as u64 + 2, 2));
        let (text, missing, cursor) = ring.since(0);
        assert_eq!((text.len(), missing, cursor), (KEPT, 2, KEPT as u64 + 2));
        assert_eq!(ring.since(cursor - 2), ("cd".to_owned(), 0, cursor));
        assert_eq!(ring.since(cursor + 9), (String::new(), 0, cursor));
        ring.push(&vec![b'x'; 3 * KEPT]);
        assert_eq!((ring.total(), ring.kept.len()), (4 * KEPT as u64 + 2, KEPT));
    }

    proptest! {
        #[test]
        fn read_piece_by_piece_it_is_the_same_text(text in "[aé€😀]{0,60}", cuts in proptest::collection::vec(1usize..7, 0..40)) {
            let mut ring = Ring::default();
            let (mut read, mut cursor, mut rest) = (String::new(), 0, text.as_bytes());
            for cut in cuts.into_iter().chain([usize::MAX]) {
                let (piece, after) = rest.split_at(cut.min(rest.len()));
                ring.push(piece);
                rest = after;
                let (more, missing, next) = ring.since(cursor);
                prop_assert_eq!(missing, 0);
                read.push_str(&more);
                cursor = next;
            }
            prop_assert_eq!(read, text);
        }
    }
}
