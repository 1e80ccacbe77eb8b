//! Diagnostics of an old text, moved to where their places are in the new one.

use super::Located;
use crate::text::{Shifts, Splice};

/// `problems` of the text before, at their places in the text after `splices` (bytes of the text before; they must not
/// overlap). As many, in the same order.
///
/// Text put in before a place, even right before it, pushes it on; text put in right behind it leaves it alone. A place
/// in text that was replaced goes as far into the replacement as it was into the replaced, at most to its end: it is a
/// candidate, so that the same message there counts as unchanged.
pub fn moved(problems: &[Located], splices: &[Splice]) -> Vec<Located> {
    let shifts = Shifts::new(splices);
    let moved = |problem: &Located| Located { bytes: shifts.map_range(problem.bytes.clone()), ..problem.clone() };
    problems.iter().map(moved).collect()
}
