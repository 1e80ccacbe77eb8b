//! What of an undo cannot come back. Pure.

use std::collections::BTreeSet;
use std::ops::Range;

use super::revert::stretches;
use super::{Mark, MarkId};
use crate::text::Text;

/// Of the marks (those of the text `before` an undo) that are `gone` by it, those of which something cannot come back in
/// the text as it is `now`, for the very lines are others there than they were right `after` it: in how many places, and
/// whether that is all of the mark.
pub(super) fn left(
    marks: &[Mark],
    gone: &BTreeSet<MarkId>,
    (before, after, now): (&Text, &Text, &str),
) -> Vec<(MarkId, usize, bool)> {
    let tops: Vec<&Mark> = marks.iter().filter(|mark| mark.under.is_none() && gone.contains(&mark.id)).collect();
    let places: Vec<Range<usize>> = tops.iter().map(|mark| mark.at.clone()).collect();
    let mut counts = vec![(0, 0); tops.len()];
    for stretch in stretches(&before.to_string(), &after.to_string(), now) {
        for at in stretch.among(&places) {
            let (left, taken) = &mut counts[at];
            *if stretch.left { left } else { taken } += 1;
        }
    }
    let of_top = |mark: &Mark| {
        let mut top = mark;
        while let Some(over) = top.under.and_then(|over| marks.iter().find(|mark| mark.id == over)) {
            top = over;
        }
        let (left, taken) = tops.iter().position(|mark| mark.id == top.id).map(|at| counts[at])?;
        (left > 0).then_some((mark.id, left, taken == 0))
    };
    marks.iter().filter(|mark| gone.contains(&mark.id)).filter_map(of_top).collect()
}
