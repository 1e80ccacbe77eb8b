//! Diagnostics of an old text, moved to where their places are in the new one.

use super::Located;
use crate::text::Splice;

/// `problems` of the text before, at their places in the text after `splices` (bytes of the text before; they must not
/// overlap). As many, in the same order.
///
/// Text put in before a place, even right before it, pushes it on; text put in right behind it leaves it alone. A place
/// in text that was replaced goes as far into the replacement as it was into the replaced, at most to its end: it is a
/// candidate, so that the same message there counts as unchanged.
pub fn moved(problems: &[Located], splices: &[Splice]) -> Vec<Located> {
    let shifts = Shifts::new(splices);
    problems
        .iter()
        .map(|problem| {
            let (start, end) = (problem.bytes.start, problem.bytes.end);
            let new_start = shifts.map(start, Side::After);
            // An empty place has no end of its own that could stay behind.
            let new_end = if start == end { new_start } else { shifts.map(end, Side::Before) };
            Located { bytes: new_start..new_end.max(new_start), ..problem.clone() }
        })
        .collect()
}

/// On which side of text that is put in exactly at a byte the byte ends up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Before,
    After,
}

/// The splices in rising order, each with where its new text begins.
struct Shifts<'a> {
    splices: Vec<(&'a Splice, usize)>,
}

impl<'a> Shifts<'a> {
    fn new(splices: &'a [Splice]) -> Shifts<'a> {
        let mut order: Vec<&Splice> = splices.iter().collect();
        order.sort_by_key(|splice| (splice.range.start, splice.range.end));
        let (mut old, mut new) = (0, 0);
        let placed = order
            .into_iter()
            .map(|splice| {
                let start = new + splice.range.start.saturating_sub(old);
                (old, new) = (splice.range.end, start + splice.text.len());
                (splice, start)
            })
            .collect();
        Shifts { splices: placed }
    }

    fn map(&self, byte: usize, side: Side) -> usize {
        // The last splice that begins before the byte, or at it.
        let count = self.splices.partition_point(|(splice, _)| match side {
            Side::Before => splice.range.start < byte,
            Side::After => splice.range.start <= byte,
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
}
