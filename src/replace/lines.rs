//! A text as a table of lines. A line ends at LF; a CR before it belongs to the end, any other CR to the content.

use std::ops::Range;

use crate::text::LineEnd;

/// Where the lines of a text are. A text that ends with a line end has no empty line after it; an empty text has none.
#[derive(Debug, Clone)]
pub struct Lines<'a> {
    text: &'a str,
    /// Byte offsets where lines start, and the length of the text at the end.
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    /// The lines of a text.
    pub fn of(text: &'a str) -> Lines<'a> {
        // Counted first, so that the table is made once, and no larger than it must be.
        let mut starts = Vec::with_capacity(memchr::memchr_iter(b'\n', text.as_bytes()).count() + 2);
        starts.push(0);
        starts.extend(memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1));
        if starts.last() != Some(&text.len()) {
            starts.push(text.len());
        }
        Lines { text, starts }
    }

    /// How many.
    pub fn count(&self) -> usize {
        self.starts.len() - 1
    }

    /// The bytes of a line (0-based) with its end.
    pub fn range(&self, line: usize) -> Range<usize> {
        self.starts[line]..self.starts[line + 1]
    }

    /// The bytes of the lines `lines`, the last one's end included.
    pub fn span(&self, lines: &Range<usize>) -> Range<usize> {
        self.starts[lines.start]..self.starts[lines.end]
    }

    /// A line without its end.
    pub fn content(&self, line: usize) -> &'a str {
        let whole = &self.text[self.range(line)];
        whole.strip_suffix('\n').map_or(whole, |cut| cut.strip_suffix('\r').unwrap_or(cut))
    }

    /// How a line ends; `None` only for the last line of a text without a final line end.
    pub fn end(&self, line: usize) -> Option<LineEnd> {
        let whole = &self.text[self.range(line)];
        let cut = whole.strip_suffix('\n')?;
        Some(if cut.ends_with('\r') { LineEnd::Crlf } else { LineEnd::Lf })
    }

    /// All contents in order.
    pub fn contents(&self) -> impl Iterator<Item = &'a str> + '_ {
        (0..self.count()).map(|line| self.content(line))
    }

    /// Whether the last line has an end. An empty text counts as ended.
    pub fn ended(&self) -> bool {
        self.text.is_empty() || self.text.ends_with('\n')
    }

    /// The line (0-based) that holds a byte offset; the last one for the end of the text.
    pub fn at(&self, byte: usize) -> usize {
        self.starts.partition_point(|&start| start <= byte).saturating_sub(1).min(self.count().saturating_sub(1))
    }
}

/// The white space a line begins with.
pub(super) fn indentation(line: &str) -> &str {
    let bytes = line.as_bytes();
    let first = bytes.iter().position(|&byte| !white(byte)).unwrap_or(bytes.len());
    // White space beyond ASCII is rare, and decoded only where there may be some.
    let first = if bytes.get(first).is_some_and(u8::is_ascii) { first } else { line.len() - line.trim_start().len() };
    &line[..first]
}

/// A line without white space at its ends: `str::trim`, faster where the ends are ASCII.
pub(super) fn trim(line: &str) -> &str {
    let bytes = line.as_bytes();
    let (first, last) = (bytes.iter().position(|&byte| !white(byte)), bytes.iter().rposition(|&byte| !white(byte)));
    match (first, last) {
        (Some(first), Some(last)) if bytes[first].is_ascii() && bytes[last].is_ascii() => &line[first..=last],
        _ => line.trim(),
    }
}

/// Whether there is nothing but white space.
pub(super) fn blank(line: &str) -> bool {
    match line.bytes().find(|&byte| !white(byte)) {
        None => true,
        Some(byte) => !byte.is_ascii() && line.trim_start().is_empty(),
    }
}

/// The white space of ASCII, as `char::is_whitespace` has it.
fn white(byte: u8) -> bool {
    matches!(byte, b'\t'..=b'\r' | b' ')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lines_and_their_ends() {
        fn check(text: &str, expected: &[(&str, Option<LineEnd>)]) {
            let lines = Lines::of(text);
            let found: Vec<_> = (0..lines.count()).map(|line| (lines.content(line), lines.end(line))).collect();
            assert_eq!(found, expected, "{text:?}");
        }
        check("", &[]);
        check("\n", &[("", Some(LineEnd::Lf))]);
        check(
            "a\r\nb\n\nc",
            &[("a", Some(LineEnd::Crlf)), ("b", Some(LineEnd::Lf)), ("", Some(LineEnd::Lf)), ("c", None)],
        );
        check("a\rb\r\r\n", &[("a\rb\r", Some(LineEnd::Crlf))]);
        check("a\u{2028}b\u{b}\n", &[("a\u{2028}b\u{b}", Some(LineEnd::Lf))]);
    }

    #[test]
    fn the_line_of_a_byte() {
        let lines = Lines::of("ab\nc\n");
        assert_eq!([0, 2, 3, 4, 5].map(|byte| lines.at(byte)), [0, 0, 1, 1, 1]);
        assert_eq!(Lines::of("").at(0), 0);
    }

    proptest! {
        #[test]
        fn white_space_is_that_of_the_standard_library(line in "[ab é\t\r\u{b}\u{c}\u{1c}\u{85}\u{a0}\u{3000}]{0,6}") {
            prop_assert_eq!(trim(&line), line.trim());
            prop_assert_eq!(indentation(&line), &line[..line.len() - line.trim_start().len()]);
            prop_assert_eq!(blank(&line), line.trim().is_empty());
        }
    }
}
