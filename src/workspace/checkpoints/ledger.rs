//! The marks of one text. Pure.

use std::collections::BTreeSet;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::left::left;
use super::revert::revert;
use crate::text::{LineBreaks, Shifts, Splice, Stick, Text, diff};

/// Names a mark among those of one text; rising in the order in which they were made.
pub type MarkId = u64;

/// At most so many undos of a text can be undone in their turn.
const UNDOS: usize = 50;

/// Who made a change.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct By {
    /// The session.
    pub session: String,
    /// Its turn, where the caller names turns.
    pub turn: Option<String>,
    /// The call.
    pub call: String,
    /// A person accepted it before it was made, so that it waits for nobody's judgement; it can be undone all the same.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub accepted: bool,
}

/// Lines that a call changed and nobody has judged yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// Its name.
    pub id: MarkId,
    /// Who made it.
    pub by: By,
    /// Where its lines are now, in bytes of the text; for a mark under another one, in bytes of that one's `before`.
    pub at: Range<usize>,
    /// What stood there before the call.
    pub before: String,
    /// What the call left there.
    pub after: String,
    /// The user has changed something among its lines since.
    pub touched: bool,
    /// The later mark whose call changed these lines once more.
    pub under: Option<MarkId>,
}

/// An undo, kept so that it can be undone.
#[derive(Debug, Clone)]
struct Undone {
    id: u64,
    /// The marks that it took away.
    gone: BTreeSet<MarkId>,
    marks: Vec<Mark>,
    before: Text,
    after: Text,
    /// The first mark that did not exist yet.
    next: MarkId,
}

/// How an undo is kept over a restart.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct KeptUndo {
    id: u64,
    gone: BTreeSet<MarkId>,
    marks: Vec<Mark>,
    before: String,
    after: String,
    next: MarkId,
}

/// The marks on one text.
#[derive(Debug, Clone)]
pub struct Ledger {
    text: Text,
    marks: Vec<Mark>,
    next: MarkId,
    undone: Vec<Undone>,
    undos: u64,
}

/// What stays of a mark that was to be undone, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Left {
    /// The user has changed the very lines: so many stretches of the mark stay.
    User(MarkId, usize),
    /// The call of another mark has changed the lines since; that one has to be undone first.
    Under(MarkId, By),
}

/// What an undo would do.
#[derive(Debug, Clone)]
pub struct Undo {
    /// The text afterwards.
    pub text: Text,
    /// The marks that would be gone; where an undo is undone, those of it that would be there again.
    pub undone: BTreeSet<MarkId>,
    /// What would stay.
    pub left: Vec<Left>,
    after: Ledger,
}

/// How a ledger is kept over a restart.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in crate::workspace) struct Kept {
    text: String,
    marks: Vec<Mark>,
    next: MarkId,
    undone: Vec<KeptUndo>,
    undos: u64,
}

impl Kept {
    /// Without what would undo undos.
    pub(super) fn without_undos(&mut self) {
        self.undone.clear();
    }
}

impl Ledger {
    /// No marks on a text.
    pub fn new(text: Text) -> Ledger {
        Ledger { text, marks: Vec::new(), next: 1, undone: Vec::new(), undos: 0 }
    }

    /// What is kept of it.
    pub(in crate::workspace) fn kept(&self) -> Kept {
        let Ledger { text, marks, next, undone, undos } = self;
        let keep = |undo: &Undone| KeptUndo {
            id: undo.id,
            gone: undo.gone.clone(),
            marks: undo.marks.clone(),
            before: undo.before.to_string(),
            after: undo.after.to_string(),
            next: undo.next,
        };
        let undone = undone.iter().map(keep).collect();
        Kept { text: text.to_string(), marks: marks.clone(), next: *next, undone, undos: *undos }
    }

    /// As it was kept; `None` where that does not fit together.
    pub(in crate::workspace) fn of(kept: Kept, breaks: LineBreaks) -> Option<Ledger> {
        let Kept { text, marks, next, undone, undos } = kept;
        let text = Text::new(&text, breaks);
        if !fit(&marks, &text, next) {
            return None;
        }
        let whole = |undo: KeptUndo| {
            let KeptUndo { id, gone, marks, before, after, next } = undo;
            let (before, after) = (Text::new(&before, breaks), Text::new(&after, breaks));
            fit(&marks, &before, next).then_some(Undone { id, gone, marks, before, after, next })
        };
        let undone = undone.into_iter().filter_map(whole).collect();
        Some(Ledger { text, marks, next, undone, undos })
    }

    /// The text as of the last change that was told.
    pub fn text(&self) -> &Text {
        &self.text
    }

    /// The marks in the order in which they were made.
    pub fn marks(&self) -> &[Mark] {
        &self.marks
    }

    /// Whether nothing can be kept, undone or restored here.
    pub fn is_empty(&self) -> bool {
        self.marks.is_empty() && self.undone.is_empty()
    }

    /// The user, or anybody but an agent, changed the text. `splices` refer to the text of the ledger, rise and do not
    /// overlap.
    pub fn user(&mut self, splices: &[Splice]) {
        let splices: Vec<Splice> = splices.iter().flat_map(|splice| self.refined(splice)).collect();
        if splices.is_empty() {
            return;
        }
        let shifts = Shifts::new(&splices);
        let text = self.text.spliced(&splices);
        let mut gone = Vec::new();
        for mark in self.marks.iter_mut().filter(|mark| mark.under.is_none()) {
            let at = mark.at.clone();
            let around = shifts.map(at.start, Stick::Before)..shifts.map(at.end, Stick::After);
            let back = around.len() == mark.before.len() && text.slice(around) == mark.before;
            let whole = |splice: &Splice| splice.range.start <= at.start && at.end <= splice.range.end;
            let wiped = !at.is_empty() && splices.iter().any(whole);
            // The lines are gone as a whole, or are again what they were: nothing of the call is left.
            if wiped || taken_back(&self.text, &text, mark) || (back && at_or_in(&splices, &at)) {
                gone.push(mark.id);
            } else {
                mark.touched |= splices.iter().any(|splice| touches(&splice.range, &at));
                mark.at = place(&at, &splices, &shifts);
            }
        }
        self.text = text;
        for id in gone {
            self.forget(id);
        }
    }

    /// The smallest changes that do the same.
    fn refined(&self, splice: &Splice) -> Vec<Splice> {
        let Splice { range, text } = splice;
        let here =
            |inner: Splice| Splice { range: inner.range.start + range.start..inner.range.end + range.start, ..inner };
        diff::splices(&self.text.slice(range.clone()), text).into_iter().map(here).collect()
    }

    /// The text is another by now, and nobody saw how: the smallest change that leads there is taken for the user's.
    pub fn resynced(&mut self, text: &Text) {
        let splices = diff::splices(&self.text.to_string(), &text.to_string());
        self.user(&splices);
        // The same text, counted as the other one is.
        self.text = text.clone();
    }

    /// A call changed the text. `splices` refer to the text of the ledger, rise and do not overlap. The marks it left.
    pub fn agent(&mut self, splices: &[Splice], by: &By) -> Vec<MarkId> {
        let after = self.text.spliced(splices);
        let shifts = Shifts::new(splices);
        let groups = self.groups(splices);
        let mut made = Vec::new();
        for mark in self.marks.iter_mut().filter(|mark| mark.under.is_none()) {
            if let Some(group) = groups.iter().position(|group| covers(group, &mark.at)) {
                let id = self.next + group as u64;
                let start = groups[group].start;
                mark.under = Some(id);
                mark.at = mark.at.start - start..mark.at.end - start;
            } else {
                mark.at = shifts.map_range(mark.at.clone());
            }
        }
        for group in groups {
            let at = shifts.map(group.start, Stick::Before)..shifts.map(group.end, Stick::After);
            let id = self.next;
            self.next += 1;
            made.push(id);
            self.marks.push(Mark {
                id,
                by: by.clone(),
                before: self.text.slice(group),
                after: after.slice(at.clone()),
                at,
                touched: false,
                under: None,
            });
        }
        self.text = after;
        made
    }

    /// A formatter changed what a call had made: that is the call's as well, and not one more change of the same lines.
    /// `splices` as for [`Ledger::agent`]. The marks that are new by it.
    pub fn folded(&mut self, splices: &[Splice], by: &By) -> Vec<MarkId> {
        let made = self.agent(splices, by);
        made.into_iter().filter(|id| !self.fold(*id)).collect()
    }

    /// Makes one of a mark and those of the same call right under it; answers whether there were any.
    fn fold(&mut self, id: MarkId) -> bool {
        let Some(at) = self.marks.iter().position(|mark| mark.id == id) else { return false };
        let mut top = self.marks[at].clone();
        let mut under: Vec<Mark> = self.marks.iter().filter(|mark| mark.under == Some(id)).cloned().collect();
        under.sort_by_key(|mark| (mark.at.start, mark.at.end));
        // What the user put in among the lines of a mark is in no `before` of it, so that it stays a layer of its own.
        if under.is_empty() || under.iter().any(|mark| mark.by != top.by || mark.touched) {
            return false;
        }
        let Some(name) = under.iter().map(|mark| mark.id).max() else { return false };
        let mut before = String::with_capacity(top.before.len());
        let mut copied = 0;
        let mut moved = Vec::new();
        for mark in &under {
            before.push_str(&top.before[copied..mark.at.start]);
            moved.push((mark.id, before.len()));
            before.push_str(&mark.before);
            copied = mark.at.end;
        }
        before.push_str(&top.before[copied..]);
        self.marks.retain(|mark| mark.id != id && mark.under != Some(id));
        for mark in &mut self.marks {
            if let Some((_, by)) = moved.iter().find(|(old, _)| mark.under == Some(*old)) {
                mark.under = Some(name);
                mark.at = mark.at.start + by..mark.at.end + by;
            }
        }
        top.id = name;
        top.before = before;
        self.marks.push(top);
        self.marks.sort_by_key(|mark| mark.id);
        true
    }

    /// A name that no mark has or gets, for what happens to the file itself.
    pub(super) fn named(&mut self) -> MarkId {
        self.next += 1;
        self.next - 1
    }

    /// The whole lines that splices change, rising and apart, each with all of every mark that it meets.
    fn groups(&self, splices: &[Splice]) -> Vec<Range<usize>> {
        let mut groups: Vec<Range<usize>> = Vec::new();
        for splice in splices {
            add(&mut groups, self.lines_of(splice));
        }
        loop {
            let mut grown = groups.clone();
            for mark in self.marks.iter().filter(|mark| mark.under.is_none()) {
                if groups.iter().any(|group| concerns(group, &mark.at)) {
                    add(&mut grown, mark.at.clone());
                }
            }
            if grown == groups {
                return groups;
            }
            groups = grown;
        }
    }

    /// The whole lines that a splice changes; an empty stretch where it only puts lines in.
    fn lines_of(&self, splice: &Splice) -> Range<usize> {
        let text = &self.text;
        let starts_line = |byte: usize| text.line_start(text.line_of(byte)) == byte;
        let Range { start, end } = splice.range;
        let whole = splice.text.is_empty() || splice.text.ends_with('\n');
        if starts_line(start) && (starts_line(end) || end == text.len()) && whole {
            return start..end;
        }
        let from = text.line_start(text.line_of(start));
        let to = if starts_line(end) && end > start && whole { end } else { self.line_after(end) };
        from..to.max(end)
    }

    /// Where the line behind the one of `byte` begins.
    fn line_after(&self, byte: usize) -> usize {
        let line = self.text.line_of(byte) + 1;
        if line < self.text.line_count() { self.text.line_start(line) } else { self.text.len() }
    }

    /// A person is content with these marks; with them, with what lies under them. The text does not change.
    pub fn keep(&mut self, which: &BTreeSet<MarkId>) -> BTreeSet<MarkId> {
        let kept: BTreeSet<MarkId> =
            self.marks.iter().filter(|mark| which.contains(&mark.id)).map(|mark| mark.id).collect();
        for id in &kept {
            self.forget(*id);
        }
        kept
    }

    /// What undoing these marks would do, the newest first.
    pub fn undo(&self, which: &BTreeSet<MarkId>) -> Undo {
        let mut after = self.clone();
        let (mut undone, mut left) = (BTreeSet::new(), Vec::new());
        for id in which.iter().rev() {
            after.undo_one(*id, &mut undone, &mut left);
        }
        left.reverse();
        if !undone.is_empty() {
            after.undos += 1;
            after.undone.push(Undone {
                id: after.undos,
                gone: undone.clone(),
                marks: self.marks.clone(),
                before: self.text.clone(),
                after: after.text.clone(),
                next: self.next,
            });
            let surplus = after.undone.len().saturating_sub(UNDOS);
            after.undone.drain(..surplus);
        }
        Undo { text: after.text.clone(), undone, left, after }
    }

    /// The undo was made: its text is the text now. Its number, by which it can be undone.
    pub fn undone(&mut self, undo: Undo) -> u64 {
        *self = undo.after;
        self.undos
    }

    /// No undo can be undone any more.
    pub fn forget_undos(&mut self) {
        self.undone.clear();
    }

    fn undo_one(&mut self, id: MarkId, undone: &mut BTreeSet<MarkId>, left: &mut Vec<Left>) {
        let Some(mut mark) = self.marks.iter().find(|mark| mark.id == id).cloned() else { return };
        if let Some(over) = mark.under {
            if let Some(over) = self.marks.iter().find(|mark| mark.id == over) {
                left.push(Left::Under(id, over.by.clone()));
            }
            return;
        }
        if mark.at.is_empty() {
            // Lines that come back do not come back within a line of the user's.
            let here = self.text.line_start(self.text.line_of(mark.at.start));
            let at = if here == mark.at.start { here } else { self.line_after(mark.at.start) };
            mark.at = at..at;
        }
        let now = self.text.slice(mark.at.clone());
        let reverted = revert(&mark.before, &mark.after, &now);
        if reverted.left > 0 {
            left.push(Left::User(id, reverted.left));
        }
        if reverted.taken == 0 && reverted.left > 0 {
            return;
        }
        let joined = self.joined(&mark.at, &reverted.text);
        let freed = diff::splices(&mark.before, &joined);
        let inner = Shifts::new(&freed);
        let Range { start, end } = mark.at;
        self.marks.retain(|other| other.id != id);
        for other in &mut self.marks {
            if other.under == Some(id) {
                let at = inner.map_range(other.at.clone());
                other.under = None;
                other.touched |= reverted.left > 0 || now != mark.after;
                other.at = at.start + start..at.end + start;
            } else if other.under.is_none() && other.at.start >= end {
                let moved = |byte: usize| byte - end + start + joined.len();
                other.at = moved(other.at.start)..moved(other.at.end);
            }
        }
        self.text.splice(&Splice { range: start..end, text: joined });
        undone.insert(id);
    }

    /// A text for a place, with the line end that keeps the line behind the place a line of its own.
    fn joined(&self, at: &Range<usize>, text: &str) -> String {
        let behind = at.end < self.text.len();
        let open = !text.is_empty() && !text.ends_with('\n');
        let glued = at.is_empty() && at.start > self.text.line_start(self.text.line_of(at.start)) && !text.is_empty();
        let before = if glued { "\n" } else { "" };
        format!("{before}{text}{}", if behind && open { "\n" } else { "" })
    }

    /// The numbers of the undos that can be undone, rising.
    pub fn undos(&self) -> Vec<u64> {
        self.undone.iter().map(|undone| undone.id).collect()
    }

    /// The marks that an undo took away, as far as it is known.
    pub(super) fn undone_by(&self, undo: u64) -> Vec<MarkId> {
        let kept = self.undone.iter().find(|undone| undone.id == undo);
        kept.map(|undone| undone.gone.iter().copied().collect()).unwrap_or_default()
    }

    /// What undoing an undo would do: of what would be brought back, and what would stay as the user has it. An error names
    /// the call that has changed what it would bring back.
    pub fn redo(&self, undo: u64) -> Option<Result<Undo, By>> {
        let kept = self.undone.iter().find(|undone| undone.id == undo)?;
        let mut after = self.clone();
        after.undone.retain(|undone| undone.id != undo);
        let mut back = Ledger { marks: kept.marks.clone(), ..Ledger::new(kept.before.clone()) };
        let now = self.text.to_string();
        let reverted = revert(&kept.before.to_string(), &kept.after.to_string(), &now);
        let text = Text::new(&reverted.text, self.text.breaks());
        back.resynced(&text);
        back.only(&kept.gone, &self.marks);
        let left = left(&kept.marks, &kept.gone, (&kept.before, &kept.after, &now));
        let newer = self.marks.iter().filter(|mark| mark.id >= kept.next);
        let changes = diff::splices(&now, &reverted.text);
        let changed = |mark: &&Mark| changes.iter().any(|splice| touches(&splice.range, &mark.at));
        if let Some(mark) = newer.filter(|mark| mark.under.is_none()).find(changed) {
            return Some(Err(mark.by.clone()));
        }
        let mut moved = self.clone();
        moved.user(&changes);
        let newer = |back: &Ledger| -> Vec<Mark> {
            let known: BTreeSet<MarkId> = back.marks.iter().map(|mark| mark.id).collect();
            moved.marks.iter().filter(|mark| !known.contains(&mark.id)).cloned().collect()
        };
        let others = newer(&back);
        let meets = |mark: &&Mark| {
            others.iter().find(|new| new.under.is_none() && mark.under.is_none() && touches(&new.at, &mark.at))
        };
        if let Some(clash) = back.marks.iter().find_map(|mark| meets(&mark)) {
            return Some(Err(clash.by.clone()));
        }
        // Of what stays as the user has it, nothing is there that could be judged.
        left.iter().filter(|(.., all)| *all).for_each(|(id, ..)| back.forget(*id));
        let restored = back.marks.iter().map(|mark| mark.id).filter(|id| kept.gone.contains(id)).collect();
        let others = newer(&back);
        after.marks = back.marks.into_iter().chain(others).collect();
        after.text = text.clone();
        let left = left.into_iter().map(|(id, count, _)| Left::User(id, count)).collect();
        Some(Ok(Undo { text, undone: restored, left, after }))
    }

    /// Leaves the marks that an undo took away and those that are there now: what was kept or undone since does not come
    /// back.
    fn only(&mut self, gone: &BTreeSet<MarkId>, now: &[Mark]) {
        let stays = |id: MarkId| gone.contains(&id) || now.iter().any(|mark| mark.id == id);
        let lost: Vec<MarkId> = self.marks.iter().map(|mark| mark.id).filter(|id| !stays(*id)).collect();
        for id in lost {
            self.forget(id);
        }
    }

    /// Removes a mark; those under it go with it.
    fn forget(&mut self, id: MarkId) {
        self.marks.retain(|mark| mark.id != id);
        let under: Vec<MarkId> = self.marks.iter().filter(|mark| mark.under == Some(id)).map(|mark| mark.id).collect();
        for id in under {
            self.forget(id);
        }
    }
}

/// Whether a change of `changed` concerns the lines `at`: text that is put in right before or behind them does not.
fn touches(changed: &Range<usize>, at: &Range<usize>) -> bool {
    match (changed.is_empty(), at.is_empty()) {
        (true, true) => false,
        (true, false) => at.start < changed.start && changed.start < at.end,
        (false, true) => changed.start < at.start && at.start < changed.end,
        (false, false) => changed.start < at.end && at.start < changed.end,
    }
}

/// Whether a call that changes `group` changes lines of a mark once more. Of lines that are gone, the place is all that
/// there is, so that what happens beside it happens there.
fn concerns(group: &Range<usize>, at: &Range<usize>) -> bool {
    touches(group, at) || (at.is_empty() && group.start <= at.start && at.end <= group.end)
}

fn covers(group: &Range<usize>, at: &Range<usize>) -> bool {
    concerns(group, at) && group.start <= at.start && at.end <= group.end
}

/// Where lines are after splices: with all that splices within them put there, without what only meets their edge.
fn place(at: &Range<usize>, splices: &[Splice], shifts: &Shifts<'_>) -> Range<usize> {
    if at.is_empty() {
        let here = shifts.map(at.start, Stick::Before);
        return here..here;
    }
    let within = |splice: &&Splice| at.start <= splice.range.start && splice.range.end <= at.end;
    let inside: Vec<&Splice> = splices.iter().filter(within).filter(|splice| !edge(splice, at)).collect();
    let mut now = shifts.map_range(at.clone());
    if let Some(first) = inside.first().filter(|splice| splice.range.start == at.start) {
        now.start = shifts.map(first.range.start, Stick::Before);
    }
    if let Some(last) = inside.last().filter(|splice| splice.range.end == at.end) {
        let start = shifts.map(last.range.start, Stick::Before);
        now.end = now.end.max(start + last.text.len());
    }
    now
}

/// Whether a splice only puts something in at an edge of a place.
fn edge(splice: &Splice, at: &Range<usize>) -> bool {
    splice.range.is_empty() && (splice.range.start == at.start || splice.range.end == at.end)
}

/// Joins a stretch to rising, separate ones.
fn add(groups: &mut Vec<Range<usize>>, stretch: Range<usize>) {
    let meets = |a: &Range<usize>, b: &Range<usize>| a.start <= b.end && b.start <= a.end;
    let mut whole = stretch;
    groups.retain(|group| {
        let joins = meets(group, &whole);
        if joins {
            whole = whole.start.min(group.start)..whole.end.max(group.end);
        }
        !joins
    });
    let at = groups.partition_point(|group| group.start < whole.start);
    groups.insert(at, whole);
}

/// Whether splices change something within a place, or put something in at its edges.
fn at_or_in(splices: &[Splice], at: &Range<usize>) -> bool {
    splices.iter().any(|splice| splice.range.start <= at.end && at.start <= splice.range.end)
}

/// Whether a change of the text is just that a mark was taken back, wherever the editor says that it happened.
fn taken_back(before: &Text, after: &Text, mark: &Mark) -> bool {
    before.len() - mark.at.len() + mark.before.len() == after.len()
        && before.spliced(&[Splice { range: mark.at.clone(), text: mark.before.clone() }]).rope() == after.rope()
}

/// Whether marks are marks of a text.
fn fit(marks: &[Mark], text: &Text, next: MarkId) -> bool {
    let boundary = |byte: usize| byte <= text.len() && text.floor(byte) == byte;
    marks.iter().all(|mark| {
        let place = match mark.under {
            None => mark.at.start <= mark.at.end && boundary(mark.at.start) && boundary(mark.at.end),
            Some(over) => marks
                .iter()
                .any(|other| other.id == over && over > mark.id && other.before.get(mark.at.clone()).is_some()),
        };
        mark.id < next && place
    })
}

#[cfg(test)]
#[path = "ledger_tests.rs"]
mod tests;
