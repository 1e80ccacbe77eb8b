//! The end of a stream of text: the last whole lines that fit a limit. Pure.

use std::collections::VecDeque;

/// Keeps the last bytes of what is pushed.
#[derive(Debug)]
pub(super) struct Tail {
    bytes: VecDeque<u8>,
    limit: usize,
    cut: bool,
}

impl Tail {
    /// Keeps at most `limit` bytes.
    pub(super) fn new(limit: usize) -> Tail {
        Tail { bytes: VecDeque::new(), limit, cut: false }
    }

    /// Adds bytes at the end.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
        if let Some(surplus @ 1..) = self.bytes.len().checked_sub(self.limit) {
            self.bytes.drain(..surplus);
            self.cut = true;
        }
    }

    /// What is kept, from its first whole line on, invalid UTF-8 replaced. A single line longer than the limit is kept
    /// as far as it fits.
    pub(super) fn text(&self) -> String {
        let bytes: Vec<u8> = self.bytes.iter().copied().collect();
        let start = match memchr::memchr(b'\n', &bytes) {
            Some(at) if self.cut && at + 1 < bytes.len() => at + 1,
            _ => 0,
        };
        String::from_utf8_lossy(&bytes[start..]).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_lines_from_the_end() {
        fn check(pieces: &[&str], expected: &str) {
            let mut tail = Tail::new(8);
            for piece in pieces {
                tail.push(piece.as_bytes());
            }
            assert_eq!(tail.text(), expected, "{pieces:?}");
        }
        check(&[], "");
        check(&["ab\n"], "ab\n");
        check(&["one\n", "two\n"], "one\ntwo\n");
        check(&["one\n", "two\n", "x"], "two\nx");
        check(&["0123456789"], "23456789");
        check(&["0123456789\n"], "3456789\n");
        check(&["one two three\nend\n"], "end\n");
    }
}
