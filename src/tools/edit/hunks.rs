//! The lines that splices touch, as the protocol counts them. Pure.

use crate::text::Splice;
use crate::workspace::LineSpan;

/// Where splices of a text are, in lines before and after all of them. They rise and do not overlap.
pub(super) fn spans<'a>(before: &str, splices: impl Iterator<Item = &'a Splice>) -> Vec<(LineSpan, LineSpan)> {
    let mut lines = LineCounter { text: before, at: 0, line: 1 };
    let mut shift = 0isize;
    splices
        .map(|splice| {
            let start = lines.line_of(splice.range.start);
            let (old, new) = extents(before, splice);
            let moved = start.saturating_add_signed(shift);
            shift += new.cast_signed() - old.cast_signed();
            (LineSpan { start, count: old }, LineSpan { start: moved, count: new })
        })
        .collect()
}

/// How many lines a splice touches, before and after it. One of whole lines touches those; one that begins or ends
/// inside a line touches that line too.
fn extents(before: &str, splice: &Splice) -> (usize, usize) {
    let (head, old, tail) = (&before[..splice.range.start], &before[splice.range.clone()], &before[splice.range.end..]);
    let closed = |text: &str| text.is_empty() || text.ends_with('\n') || tail.is_empty();
    let whole = (head.is_empty() || head.ends_with('\n')) && closed(old) && closed(&splice.text);
    let count = |text: &str| {
        let ended = memchr::memchr_iter(b'\n', text.as_bytes()).count();
        let none_after = text.ends_with('\n') && (whole || tail.is_empty()) || whole && text.is_empty();
        ended + usize::from(!none_after)
    };
    (count(old), count(&splice.text))
}

/// Counts lines up to rising offsets in one scan.
struct LineCounter<'a> {
    text: &'a str,
    at: usize,
    line: usize,
}

impl LineCounter<'_> {
    /// The 1-based line of a byte offset not below the last one asked for.
    fn line_of(&mut self, byte: usize) -> usize {
        self.line += memchr::memchr_iter(b'\n', &self.text.as_bytes()[self.at..byte]).count();
        self.at = byte;
        self.line
    }
}
