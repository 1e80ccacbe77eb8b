//! The lines that splices touch, as the protocol counts them: they end at LF, whatever the editor counts. Pure.

use crate::text::{Splice, Text};
use crate::workspace::LineSpan;

/// Where splices of a text are, in lines before and after all of them. They rise and do not overlap.
pub(crate) fn spans<'a>(before: &Text, splices: impl Iterator<Item = &'a Splice>) -> Vec<(LineSpan, LineSpan)> {
    let mut shift = 0isize;
    splices
        .map(|splice| {
            let start = before.rope().byte_to_line(splice.range.start) + 1;
            let (old, new) = extents(before, splice);
            let moved = start.saturating_add_signed(shift);
            shift += new.cast_signed() - old.cast_signed();
            (LineSpan { start, count: old }, LineSpan { start: moved, count: new })
        })
        .collect()
}

/// How many lines a splice touches, before and after it. One of whole lines touches those; one that begins or ends
/// inside a line touches that line too.
fn extents(before: &Text, splice: &Splice) -> (usize, usize) {
    let rope = before.rope();
    let (start, end) = (splice.range.start, splice.range.end);
    // Whether a line ends just before an offset.
    let ended = |byte: usize| byte > 0 && rope.byte(byte - 1) == b'\n';
    let last = end == before.len();
    let (old_empty, new_empty) = (start == end, splice.text.is_empty());
    let (old_ended, new_ended) = (!old_empty && ended(end), splice.text.ends_with('\n'));
    let closed = |ended: bool, empty: bool| empty || ended || last;
    let whole = (start == 0 || ended(start)) && closed(old_ended, old_empty) && closed(new_ended, new_empty);
    let count = |ends: usize, ended: bool, empty: bool| {
        let none_after = ended && (whole || last) || whole && empty;
        ends + usize::from(!none_after)
    };
    let old = rope.byte_to_line(end) - rope.byte_to_line(start);
    let new = memchr::memchr_iter(b'\n', splice.text.as_bytes()).count();
    (count(old, old_ended, old_empty), count(new, new_ended, new_empty))
}
