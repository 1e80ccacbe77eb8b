//! The faults of a text held against those of the text before the edit.

use std::ops::Range;

use super::faults::Found;
use super::{Fault, FaultKind, Faults};
use crate::text::{Shifts, Splice, Stick};

/// A fault of the text before, at its place in the text after.
struct Moved {
    start: usize,
    opener: Option<usize>,
    region: Range<usize>,
    kind: FaultKind,
}

/// Which faults of the text after the edit the text before lacks.
///
/// First those that begin at the same place, moved through the edit, and are of one kind are the same, and those about
/// the same opening bracket. A parser that recovers
/// from one and the same break may, after an edit beside it, give up at another place; so of the others, two alike
/// whose stretches of broken text overlap are taken for one, each for at most one, unless the fault stands in text that
/// the edit put in. Hence a break that is there already is not told again, but one more in the same stretch is.
///
/// Both lists are short (see `FAULT_LIMIT`), so nothing is indexed.
pub(super) fn compare(before: &[Found], splices: &[Splice], after: Vec<Found>) -> Faults {
    let shifts = Shifts::new(splices);
    let mut old: Vec<Moved> = before
        .iter()
        .map(|found| Moved {
            start: shifts.map(found.fault.bytes.start, Stick::After),
            opener: found.opener.map(|opener| shifts.map(opener, Stick::After)),
            region: shifts.map_range(found.region.clone()),
            kind: found.fault.kind,
        })
        .collect();
    let mut rest = after;
    rest.retain(|found| {
        let same = |moved: &Moved| match (moved.opener, found.opener) {
            (Some(opener), Some(other)) => opener == other,
            _ => moved.start == found.fault.bytes.start && moved.kind == found.fault.kind,
        };
        take(&mut old, |list| list.iter().position(same)).is_none()
    });
    let new: Vec<Fault> = rest
        .into_iter()
        .filter(|found| {
            let start = found.fault.bytes.start;
            let nearest = |list: &[Moved]| {
                let alike = |moved: &Moved| {
                    (moved.kind, moved.opener.is_some()) == (found.fault.kind, found.opener.is_some())
                        && touch(&moved.region, &found.region)
                };
                let candidates = list.iter().enumerate().filter(|(_, moved)| alike(moved));
                candidates.min_by_key(|(_, moved)| moved.start.abs_diff(start)).map(|(index, _)| index)
            };
            shifts.put_in(start) || take(&mut old, nearest).is_none()
        })
        .map(|found| found.fault)
        .collect();
    Faults { new, resolved: old.len(), unchanged: before.len() - old.len() }
}

/// Takes out the one that was found, if one was.
fn take(list: &mut Vec<Moved>, find: impl FnOnce(&[Moved]) -> Option<usize>) -> Option<Moved> {
    find(list).map(|index| list.remove(index))
}

fn touch(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start <= b.end && b.start <= a.end
}
