//! Streams as files, read by window: the same as the text held in memory would give.

use proptest::prelude::*;

use super::*;

const NEVER: &dyn Fn() -> bool = &|| false;

fn wanted(first: usize, lines: usize, column: usize, chars: usize, bytes: usize) -> Wanted {
    Wanted { first, lines, column, chars, bytes }
}

fn texts(stretch: &Stretch) -> Vec<(&str, usize)> {
    stretch.pieces.iter().map(|piece| (piece.text.as_str(), piece.chars)).collect()
}

/// Gives its bytes a few at a time, as a slow disk might.
struct Few<'a>(&'a [u8], usize);

impl Read for Few<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let len = self.1.min(self.0.len()).min(into.len());
        into[..len].copy_from_slice(&self.0[..len]);
        self.0 = &self.0[len..];
        Ok(len)
    }
}

#[test]
fn lines_are_found_by_their_numbers() {
    let bytes = "one\r\ntwo\n\nfo\u{e9}r\rx".as_bytes();
    for (ask, pieces, total) in [
        (wanted(0, 9, 0, 9, 99), vec![("one", 3), ("two", 3), ("", 0), ("fo\u{e9}r\rx", 6)], Some(4)),
        (wanted(1, 1, 0, 9, 99), vec![("two", 3)], None),
        (wanted(3, 1, 2, 2, 99), vec![("\u{e9}r", 6)], Some(4)),
        (wanted(3, 1, 6, 2, 99), vec![("", 6)], Some(4)),
        (wanted(4, 1, 0, 2, 99), vec![], Some(4)),
        // No room for a second line; of the first at least one character.
        (wanted(0, 9, 0, 9, 4), vec![("one", 3)], None),
        (wanted(3, 1, 2, 9, 0), vec![("\u{e9}", 6)], Some(4)),
    ] {
        let found = scan(bytes, ask, NEVER).unwrap();
        assert_eq!((texts(&found), found.total), (pieces, total), "{ask:?}");
    }
}

#[test]
fn what_is_not_utf_8_is_told_and_shown() {
    let latin = scan(&b"caf\xe9 \x80\x80\x80\n"[..], wanted(0, 9, 0, 99, 99), NEVER).unwrap();
    assert_eq!(texts(&latin), [("caf\u{e9} \u{20ac}\u{20ac}\u{20ac}", 8)]);
    assert_eq!(latin.note.as_deref(), Some("It is not UTF-8, and shown as Windows-1252."));
    let marked = scan(&b"\xef\xbb\xbfa\n"[..], wanted(0, 9, 0, 9, 9), NEVER).unwrap();
    assert_eq!((texts(&marked), marked.ended), (vec![("a", 1)], true));
    let binary = scan(&b"a\n\0\n"[..], wanted(1, 1, 0, 9, 9), NEVER).unwrap_err();
    assert_eq!(binary.to_string(), "it is binary, there is a NUL byte in it");
}

#[test]
fn a_scan_ends_when_nobody_wants_it_any_more() {
    let error = scan(io::repeat(b'x'), wanted(1, 1, 0, 9, 9), &|| true).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::Interrupted);
}

proptest! {
    /// Whatever the pieces in which the bytes come.
    #[test]
    fn a_stream_gives_what_the_text_gives(
        text in "([a\u{e9}\u{1f600}\r]{0,6}\r?\n?){0,8}", few in 1usize..6,
        first in 0usize..6, lines in 1usize..6, column in 0usize..4, chars in 1usize..8,
    ) {
        let found = scan(Few(text.as_bytes(), few), wanted(first, lines, column, chars, usize::MAX), NEVER).unwrap();
        let whole = crate::text::Text::new(&text, crate::text::LineBreaks::Lf);
        let ends = whole.line_start(whole.line_count() - 1) == whole.len();
        let total = whole.line_count() - usize::from(ends);
        let expected: Vec<Piece> = (first..total.min(first + lines)).map(|line| {
            let line = whole.line(line);
            let text: String = line.chars().skip(column).take(chars).collect();
            Piece { taken: text.chars().count(), chars: line.chars().count(), text }
        }).collect();
        prop_assert_eq!(&found.pieces, &expected);
        if let Some(told) = found.total {
            prop_assert_eq!((told, found.ended), (total, total == 0 || ends));
        } else {
            prop_assert!(first + lines < total + 1);
        }
    }
}
