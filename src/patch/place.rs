//! Where the hunks of a file go: each at one place, in their order.
//!
//! All hunks are placed as far up as they can be, and then as far down as they can be. Where the two agree no other
//! placing exists; where they do not, both places of the first hunk that differs are named.

use std::ops::Range;

use super::anchors::{self, Scope};
use super::explain;
use super::file::{File, Run};
use super::{Fault, Hunk, Numbers, Side};
use crate::replace::LineRule;

/// The place of a hunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Placed {
    /// Its first line, 0-based; of a hunk that only adds the line it is put before.
    pub(super) start: usize,
    /// How many lines of the text it stands for.
    pub(super) len: usize,
    /// By which rule its lines are those of the text.
    pub(super) rule: LineRule,
}

/// A hunk and what is looked for.
pub(super) struct Wanted<'p> {
    pub(super) hunk: &'p Hunk,
    /// Its lines of the text before.
    pub(super) old: Vec<&'p str>,
    /// How many of them, at its beginning and end, only say where it is.
    lead: usize,
    trail: usize,
}

/// How a hunk is looked for.
enum Search<'p> {
    /// It only adds, at one of these lines.
    Points(Vec<usize>),
    /// Its lines, beginning in one of these ranges.
    Lines(Run<'p>, Vec<Range<usize>>),
}

impl<'p> Wanted<'p> {
    fn of(hunk: &'p Hunk) -> Wanted<'p> {
        let context = |line: &&super::HunkLine| line.side == Side::Context;
        Wanted {
            hunk,
            old: hunk.before().map(|line| line.text.as_str()).collect(),
            lead: hunk.lines.iter().take_while(context).count(),
            trail: hunk.lines.iter().rev().take_while(context).count(),
        }
    }

    /// The line behind what it changes, where it begins at `start`.
    fn changed_to(&self, start: usize) -> usize {
        start + self.old.len() - self.trail
    }
}

/// Places all hunks of a file.
pub(super) fn place(file: &File<'_>, hunks: &[Hunk]) -> Result<Vec<Placed>, Fault> {
    let wanted: Vec<Wanted<'_>> = hunks.iter().map(Wanted::of).collect();
    if let Some(placed) = by_numbers(file, &wanted) {
        return Ok(placed);
    }
    let (mut placed, mut searches): (Vec<Placed>, Vec<Search<'_>>) = (Vec::new(), Vec::new());
    let mut free = Free::default();
    for (at, one) in wanted.iter().enumerate() {
        let from = free.start(one);
        let found = upmost(file, one, from, &placed).map_err(|fault| told(file, &wanted, at, fault))?;
        let Some((start, rule, search)) = found else {
            let above = placed.last().map(|before: &Placed| before.start);
            let fault = match elsewhere(file, one, from) {
                Some(start) => explain::out_of_order(file, start, above),
                None => explain::not_found(file, one),
            };
            return Err(told(file, &wanted, at, fault));
        };
        placed.push(Placed { start, len: one.old.len(), rule });
        searches.push(search);
        free = Free::below(one, start);
    }
    let mut below = (file.count(), file.count());
    let mut other = None;
    for (at, one) in wanted.iter().enumerate().rev() {
        let last = downmost(file, one, &searches[at], below).unwrap_or(placed[at].start);
        if last != placed[at].start {
            other = Some((at, last));
        }
        below = (last, last + one.lead);
    }
    if file.tired() {
        return Err(told(file, &wanted, 0, explain::repetitive()));
    }
    match other {
        None => Ok(placed),
        Some((at, last)) => {
            let fault = explain::ambiguous(file, &wanted[at], placed[at], last);
            Err(told(file, &wanted, at, fault))
        }
    }
}

/// What a hunk leaves to the next one: lines that only say where they are may be shared, but neither may change what
/// the other says to stay.
#[derive(Default)]
struct Free {
    /// The line behind the last that it changes.
    changed_to: usize,
    /// The line behind its last.
    end: usize,
}

impl Free {
    fn below(one: &Wanted<'_>, start: usize) -> Free {
        Free { changed_to: one.changed_to(start), end: start + one.old.len() }
    }

    /// Where the next hunk may begin.
    fn start(&self, next: &Wanted<'_>) -> usize {
        self.changed_to.max(self.end.saturating_sub(next.lead))
    }
}

fn told(file: &File<'_>, wanted: &[Wanted<'_>], at: usize, fault: Fault) -> Fault {
    if file.tired() {
        return explain::of_hunk(wanted[at].hunk, at, wanted.len(), explain::repetitive());
    }
    explain::of_hunk(wanted[at].hunk, at, wanted.len(), fault)
}

/// The uppermost place of a hunk from a line on, by the strictest rule that has one. Where a stricter rule has one above,
/// among the hunks before it (`placed`), that is what is meant, and it is out of order.
fn upmost<'p>(
    file: &File<'_>,
    one: &Wanted<'p>,
    from: usize,
    placed: &[Placed],
) -> Result<Option<(usize, LineRule, Search<'p>)>, Fault> {
    let scope = anchors::scope(file, one.hunk)?;
    let count = file.count();
    if one.old.is_empty() {
        let points = points(file, one.hunk, &scope).ok_or_else(|| explain::nowhere(one.hunk))?;
        let first = points.iter().copied().find(|&point| point >= from);
        return Ok(first.map(|first| (first, LineRule::Exact, Search::Points(points))));
    }
    let end = (count + 1).saturating_sub(one.old.len());
    let within = if one.hunk.ends() { end.saturating_sub(1)..end } else { 0..end };
    let inner = scope.inner.iter().map(|range| cut(range, &within)).collect::<Vec<_>>();
    let mut regions = vec![inner];
    if !one.hunk.anchors.is_empty() {
        regions.push(vec![cut(&scope.outer, &within)]);
    }
    let mut out_of_order = None;
    for region in regions {
        for rule in LineRule::ALL {
            let Some(run) = file.run(&one.old, rule) else { continue };
            let starts = region.iter().map(|range| range.start.max(from)..range.end);
            if let Some(first) = starts.filter_map(|range| file.first(&run, &range)).min() {
                if let Some(start) = out_of_order {
                    return Err(explain::out_of_order(file, start, placed.last().map(|before| before.start)));
                }
                return Ok(Some((first, rule, Search::Lines(run, region))));
            }
            let above = region.iter().map(|range| range.start..range.end.min(from));
            out_of_order = out_of_order.or_else(|| above.filter_map(|range| beside(file, &run, range, placed)).min());
        }
    }
    Ok(None)
}

/// Where lines begin, of `starts`, that no hunk placed before has taken.
fn beside(file: &File<'_>, run: &Run<'_>, mut starts: Range<usize>, placed: &[Placed]) -> Option<usize> {
    while let Some(start) = file.first(run, &starts) {
        let end = start + run.count();
        let next = placed.partition_point(|one| one.start < end);
        if placed[..next].last().is_none_or(|one| one.start + one.len <= start) {
            return Some(start);
        }
        starts.start = start + 1;
    }
    None
}

/// Where a hunk that only adds may go; `None` if it does not say.
fn points(file: &File<'_>, hunk: &Hunk, scope: &Scope) -> Option<Vec<usize>> {
    if hunk.ends() || file.count() == 0 {
        return Some(vec![file.count()]);
    }
    (!hunk.anchors.is_empty()).then(|| scope.below.clone())
}

/// The lowest place of a hunk above the next, which begins at one line and changes those from another on.
fn downmost(file: &File<'_>, one: &Wanted<'_>, search: &Search<'_>, (next, changes): (usize, usize)) -> Option<usize> {
    let end = ((next + one.trail).min(changes) + 1).saturating_sub(one.old.len());
    match search {
        Search::Points(points) => points.iter().copied().rfind(|&point| point < end),
        Search::Lines(run, region) => {
            region.iter().filter_map(|range| file.last(run, &(range.start..range.end.min(end)))).max()
        }
    }
}

fn cut(range: &Range<usize>, within: &Range<usize>) -> Range<usize> {
    range.start.max(within.start)..range.end.min(within.end)
}

/// Where lines are that are not where the order of the hunks allows them.
fn elsewhere(file: &File<'_>, one: &Wanted<'_>, from: usize) -> Option<usize> {
    if one.old.is_empty() || from == 0 {
        return None;
    }
    LineRule::ALL.into_iter().find_map(|rule| file.first(&file.run(&one.old, rule)?, &(0..from)))
}

/// The places that the line numbers say, if every one of them is exactly right: the lines are there to the byte, and the
/// counts and the numbers after agree with the lines of the hunks. Who wrote them had this very text.
fn by_numbers(file: &File<'_>, wanted: &[Wanted<'_>]) -> Option<Vec<Placed>> {
    let (mut free, mut shift, mut placed) = (Free::default(), 0isize, Vec::with_capacity(wanted.len()));
    for one in wanted {
        let numbers = one.hunk.numbers.as_ref()?;
        let news = one.hunk.after().count();
        let start = first(numbers.old_start, numbers.old_count)?;
        let right = numbers.old_count == one.old.len()
            && numbers.new_count == news
            && first(numbers.new_start, numbers.new_count)? == start.saturating_add_signed(shift)
            && start >= free.start(one)
            && file.has(&one.old, start)
            && one.hunk.anchors.is_empty()
            && (!one.hunk.ends() || start + one.old.len() == file.count());
        if !right {
            return None;
        }
        placed.push(Placed { start, len: one.old.len(), rule: LineRule::Exact });
        free = Free::below(one, start);
        shift += news.cast_signed() - one.old.len().cast_signed();
    }
    // Numbers alone prove nothing of a place between two lines: something else must have been right.
    let proven = file.count() == 0 || wanted.iter().any(|one| !one.old.is_empty());
    let sure = wanted.iter().zip(&placed).all(|(one, placed)| {
        !one.old.is_empty()
            || proven
            || one.hunk.numbers.as_ref().is_some_and(|numbers| heads(file, numbers, placed.start))
    });
    sure.then_some(placed)
}

/// The 0-based line that a number and count of a header mean.
fn first(start: usize, count: usize) -> Option<usize> {
    if count == 0 { Some(start) } else { start.checked_sub(1) }
}

/// Whether the heading of a hunk is one line of the text, in whose block a place is.
fn heads(file: &File<'_>, numbers: &Numbers, place: usize) -> bool {
    if numbers.heading.is_empty() {
        return false;
    }
    let found = anchors::lines_of(file, &numbers.heading, &(0..file.count()));
    let [only] = found[..] else { return false };
    let block = anchors::block(file, only);
    only < place && place <= block.end
}
