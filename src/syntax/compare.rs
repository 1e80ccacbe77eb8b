//! The faults of a text held against those of the text before the edit.

use std::fmt::Write as _;
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

impl Moved {
    fn new(found: &Found, shifts: &Shifts<'_>) -> Moved {
        Moved {
            start: shifts.map(found.fault.bytes.start, Stick::After),
            opener: found.opener.map(|opener| shifts.map(opener, Stick::After)),
            region: shifts.map_range(found.region.clone()),
            kind: found.fault.kind,
        }
    }

    /// Whether a fault of the text after is certainly the same.
    fn is(&self, found: &Found) -> bool {
        match (self.opener, found.opener) {
            (Some(opener), Some(other)) => opener == other,
            _ => self.start == found.fault.bytes.start && self.kind == found.fault.kind,
        }
    }

    /// Whether a fault of the text after may be the same, told another way.
    fn may_be(&self, found: &Found) -> bool {
        (self.kind, self.opener.is_some()) == (found.fault.kind, found.opener.is_some())
            && touch(&self.region, &found.region)
    }
}

/// Which faults of the text after the edit the text before lacks.
///
/// First those that begin at the same place, moved through the edit, and are of one kind are the same, and those about
/// the same opening bracket. A parser that recovers from one and the same break may, after an edit beside it, give up at
/// another place. So of the others, two alike whose stretches of broken text overlap are taken for one, each for at most
/// one, unless the fault stands in text that the edit put in; and what follows from a bracket that was open before is no
/// news, unless it is in a line that the edit touched. Hence a break that is there already is not told again, but one
/// more in the same stretch is.
///
/// Both lists are short (see `FAULT_LIMIT`), so nothing is indexed.
pub(super) fn compare(before: &[Found], splices: &[Splice], after: &[Found], text: &str) -> Faults {
    let shifts = Shifts::new(splices);
    let moved: Vec<Moved> = before.iter().map(|found| Moved::new(found, &shifts)).collect();
    // Which of the faults before and after have their partner.
    let (mut old, mut kept) = (vec![false; before.len()], vec![false; after.len()]);
    for (index, found) in after.iter().enumerate() {
        let partner = (0..moved.len()).find(|&at| !old[at] && moved[at].is(found));
        if let Some(at) = partner {
            (old[at], kept[index]) = (true, true);
        }
    }
    for (index, found) in after.iter().enumerate().filter(|(_, found)| !shifts.put_in(found.fault.bytes.start)) {
        let distance = |&at: &usize| moved[at].start.abs_diff(found.fault.bytes.start);
        let partner = (0..moved.len()).filter(|&at| !old[at] && moved[at].may_be(found)).min_by_key(distance);
        if let Some(at) = partner.filter(|_| !kept[index]) {
            (old[at], kept[index]) = (true, true);
        }
    }
    let edited = |found: &Found| {
        let line = line_of(text, found.fault.bytes.start);
        shifts.new_ranges().any(|new| touch(&new, &line))
    };
    let follows_old = |index: usize| {
        let old = (0..index).any(|cause| kept[cause] && after[index].follows(&after[cause]));
        old && !edited(&after[index])
    };
    let follows: Vec<bool> = (0..after.len()).map(|index| !kept[index] && follows_old(index)).collect();
    Faults {
        new: leading(after, |index| !kept[index] && !follows[index]),
        resolved: leading(before, |index| !old[index]).len(),
        unchanged: leading(after, |index| kept[index]).len(),
    }
}

/// The faults with these indices, in their order, without those that follow from another of them: what is broken behind
/// a bracket that is not closed mostly is so for that reason. The fault they follow from says how many they are.
pub(super) fn leading(found: &[Found], chosen: impl Fn(usize) -> bool) -> Vec<Fault> {
    let mut causes: Vec<(&Found, usize)> = Vec::new();
    for found in (0..found.len()).filter(|&index| chosen(index)).map(|index| &found[index]) {
        match causes.iter_mut().rev().find(|(cause, _)| found.follows(cause)) {
            Some((_, followers)) => *followers += 1,
            None => causes.push((found, 0)),
        }
    }
    let told = |(found, followers): (&Found, usize)| {
        let mut fault = found.fault.clone();
        if followers > 0 {
            let plural = if followers == 1 { "" } else { "s" };
            let _ = write!(fault.message, ", and {followers} more fault{plural} behind it");
        }
        fault
    };
    causes.into_iter().map(told).collect()
}

/// The line around a byte, without its end.
fn line_of(text: &str, byte: usize) -> Range<usize> {
    let bytes = text.as_bytes();
    let byte = byte.min(bytes.len());
    let start = memchr::memrchr(b'\n', &bytes[..byte]).map_or(0, |at| at + 1);
    start..memchr::memchr(b'\n', &bytes[byte..]).map_or(bytes.len(), |at| byte + at)
}

fn touch(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start <= b.end && b.start <= a.end
}
