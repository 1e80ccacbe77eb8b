//! Files that are not UTF-8: whether a pattern can tell, how one is noticed while it is read, and its text as `read`
//! shows it. Pure, but for the readers it wraps.

use std::io::{self, Read};
use std::sync::LazyLock;

use regex_syntax::hir::{Class, Hir, HirKind, Look};

use super::{Case, Query};
use crate::workspace::codec;

/// So many bytes are read at once.
const CHUNK: usize = 64 * 1024;

/// What bytes that are not UTF-8 are shown as.
static SHOWN: LazyLock<Vec<char>> =
    LazyLock::new(|| (0x80..=0xff_u8).flat_map(|byte| codec::patched(&[byte]).chars().collect::<Vec<_>>()).collect());

/// Whether a pattern may fit the text of a file that is not UTF-8 where it does not fit its bytes. Nearly all patterns of
/// plain ASCII do not; for those no file is looked at twice. A pattern of bytes (`(?-u)\xe9`) means the bytes.
pub(super) fn depends(query: &Query) -> bool {
    let pattern = if query.literal { regex_syntax::escape(&query.pattern) } else { query.pattern.clone() };
    let mut parser = regex_syntax::ParserBuilder::new();
    parser.utf8(false).multi_line(true).case_insensitive(query.case != Case::Sensitive);
    parser.build().parse(&pattern).is_ok_and(|hir| hir.properties().is_utf8() && (query.word || may_fit(&hir)))
}

/// Whether one of the characters of [`SHOWN`] makes a difference to an expression.
fn may_fit(hir: &Hir) -> bool {
    match hir.kind() {
        HirKind::Literal(literal) => !literal.0.is_ascii(),
        HirKind::Empty | HirKind::Class(Class::Bytes(_)) => false,
        HirKind::Class(Class::Unicode(class)) => {
            let ranges = class.ranges();
            SHOWN.iter().any(|c| ranges.iter().any(|range| (range.start()..=range.end()).contains(c)))
        }
        HirKind::Look(look) => matches!(
            look,
            Look::WordUnicode
                | Look::WordUnicodeNegate
                | Look::WordStartUnicode
                | Look::WordEndUnicode
                | Look::WordStartHalfUnicode
                | Look::WordEndHalfUnicode
        ),
        HirKind::Repetition(repetition) => may_fit(&repetition.sub),
        HirKind::Capture(capture) => may_fit(&capture.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => parts.iter().any(may_fit),
    }
}

/// Whether bytes begin with a mark of UTF-16, which the engine decodes by itself.
pub(super) fn utf16(head: &[u8]) -> bool {
    head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff")
}

/// Notices, piece by piece, that bytes are not UTF-8.
#[derive(Debug, Default)]
pub(super) struct Sentinel {
    /// The beginning of a character whose end has not come yet.
    open: [u8; 4],
    len: usize,
}

impl Sentinel {
    /// Whether all is UTF-8 so far.
    pub(super) fn passes(&mut self, mut bytes: &[u8]) -> bool {
        while self.len > 0
            && let Some((first, rest)) = bytes.split_first()
        {
            self.open[self.len] = *first;
            self.len += 1;
            bytes = rest;
            match std::str::from_utf8(&self.open[..self.len]) {
                Ok(_) => self.len = 0,
                Err(error) if error.error_len().is_some() => return false,
                Err(_) => {}
            }
        }
        // Most text is ASCII, of which this costs next to nothing.
        if bytes.is_ascii() {
            return true;
        }
        match std::str::from_utf8(bytes) {
            Ok(_) => true,
            Err(error) if error.error_len().is_some() => false,
            Err(error) => {
                let rest = &bytes[error.valid_up_to()..];
                self.open[..rest.len()].copy_from_slice(rest);
                self.len = rest.len();
                true
            }
        }
    }

    /// Whether all was UTF-8, when nothing more comes.
    pub(super) fn ends(&self) -> bool {
        self.len == 0
    }
}

/// The text of a file that is not UTF-8, as `read` shows it.
pub(super) struct AsShown<R> {
    /// Where the bytes come from.
    pub inner: R,
    raw: Vec<u8>,
    text: String,
    /// So much of the text was given away.
    given: usize,
}

impl<R: Read> AsShown<R> {
    pub(super) fn new(inner: R) -> AsShown<R> {
        AsShown { inner, raw: Vec::new(), text: String::new(), given: 0 }
    }

    fn refill(&mut self) -> io::Result<()> {
        self.given = 0;
        self.text.clear();
        while self.text.is_empty() {
            let held = self.raw.len();
            self.raw.resize(held + CHUNK, 0);
            let read = self.inner.read(&mut self.raw[held..]);
            self.raw.truncate(held + read.as_ref().copied().unwrap_or_default());
            let ended = read? == 0;
            let whole = if ended { self.raw.len() } else { self.raw.len() - unfinished(&self.raw) };
            self.text = codec::patched(&self.raw[..whole]);
            self.raw.drain(..whole);
            if ended {
                break;
            }
        }
        Ok(())
    }
}

/// How many bytes at the end may be the beginning of a character.
fn unfinished(bytes: &[u8]) -> usize {
    let begins = |len: &usize| {
        let tail = &bytes[bytes.len() - len..];
        std::str::from_utf8(tail).is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
    };
    (1..=bytes.len().min(3)).find(begins).unwrap_or_default()
}

impl<R: Read> Read for AsShown<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.given == self.text.len() {
            self.refill()?;
        }
        let rest = &self.text.as_bytes()[self.given..];
        let len = rest.len().min(into.len());
        into[..len].copy_from_slice(&rest[..len]);
        self.given += len;
        Ok(len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Gives its bytes in pieces of these lengths.
    struct Pieces<'a>(&'a [u8], std::iter::Cycle<std::slice::Iter<'a, usize>>);

    impl Read for Pieces<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let len = self.1.next().copied().unwrap_or(1).min(self.0.len()).min(into.len());
            into[..len].copy_from_slice(&self.0[..len]);
            self.0 = &self.0[len..];
            Ok(len)
        }
    }

    #[test]
    fn only_patterns_that_can_tell_depend_on_it() {
        let query = |pattern: &str| super::super::tests::query(pattern);
        for (pattern, expected) in [
            ("fn main", false),
            (r"^\s{2}return$", true),
            ("[a-z]+_[0-9]", false),
            ("(?-u)caf\\xe9", false),
            ("(?-u:\\b)x", false),
            ("café", true),
            ("caf.", true),
            ("[^a]", true),
            (r"\bcaf", true),
            (r"(a|\w)+", true),
            ("日本", true),
            ("[α-ω]", false),
            ("(", false),
        ] {
            assert_eq!(depends(&query(pattern)), expected, "{pattern}");
        }
        assert!(!depends(&Query { literal: true, ..query("a.b") }));
        assert!(depends(&Query { literal: true, word: true, ..query("a.b") }));
        // The Kelvin sign is a k, but no byte is shown as one.
        assert!(!depends(&Query { case: Case::Insensitive, ..query("kill") }));
    }

    proptest! {
        #[test]
        fn pieces_are_as_the_whole(
            parts in prop::collection::vec(prop_oneof![
                "[a\u{e9}\u{20ac}\u{1f600}]{0,3}".prop_map(String::into_bytes),
                prop::collection::vec(any::<u8>(), 0..3),
            ], 0..8),
            lengths in prop::collection::vec(1usize..5, 1..4),
        ) {
            let bytes = parts.concat();
            let mut text = String::new();
            AsShown::new(Pieces(&bytes, lengths.iter().cycle())).read_to_string(&mut text).unwrap();
            prop_assert_eq!(&text, &codec::patched(&bytes));
            let mut sentinel = Sentinel::default();
            let mut passed = true;
            let mut left = &bytes[..];
            for len in lengths.iter().cycle() {
                let (piece, rest) = left.split_at((*len).min(left.len()));
                passed = passed && sentinel.passes(piece);
                left = rest;
                if left.is_empty() {
                    break;
                }
            }
            prop_assert_eq!(passed && sentinel.ends(), std::str::from_utf8(&bytes).is_ok());
        }
    }
}
