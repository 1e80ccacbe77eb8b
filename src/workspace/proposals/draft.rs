//! What a session proposes for one file: the text that it stands on, and the changes over it. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use serde::{Deserialize, Serialize};
use similar::{Algorithm, DiffOp, capture_diff_slices};

use crate::text::{Splice, Text, diff};
use crate::workspace::checkpoints::{By, Ledger, Left, Mark, MarkId, revert, stretches};
use crate::workspace::commit::{Fate, LineSpan, git_mode};
use crate::workspace::paths::Target;

use super::stack::Standing;

/// The hunk that stands for the file itself: that it is made, deleted or moved. The others are marks, from 1 on.
pub(super) const FATE: MarkId = 0;

/// The hunk that stands for the right to run the file. No mark gets so high.
pub(super) const MODE: MarkId = MarkId::MAX;

/// A proposal for one file.
///
/// Without all of its marks, its text is the text that it stands on, to the byte: whatever is accepted or rejected, the
/// user's own words are never touched.
#[derive(Debug, Clone)]
pub struct Draft {
    /// Its number among those of its session: the first part of the names of its hunks.
    pub(super) number: u64,
    /// The file that would be changed.
    pub(super) real: Target,
    /// What that file held when this was last looked at; `None`: it is to be made.
    pub(super) base: Option<Text>,
    /// What is to become of the file.
    pub(super) fate: Fate,
    /// Who wants it made, deleted or moved.
    pub(super) fated: Option<By>,
    /// Whether it is to be one that can be run, where it is to be another thing than it is.
    pub(super) mode: Option<Moded>,
    /// The proposed text, and who proposes which lines of it.
    pub(super) ledger: Ledger,
    /// The text that it stands on was in an open document and not on the disk.
    pub(super) unsaved: bool,
    /// It was so before a restart, and the document has not been opened again.
    pub(super) awaits: bool,
}

/// That a file is to be given the right to be run, or to lose it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Moded {
    /// Whether it can be run then.
    pub(super) runs: bool,
    /// Who wants that.
    pub(super) by: By,
}

/// What a call wants of one file.
pub(super) struct Wanted<'a> {
    /// In bytes of the proposed text.
    pub(super) splices: &'a [Splice],
    /// What is to become of the file.
    pub(super) fate: &'a Fate,
    /// Whether it is to be one that can be run; `None`: as it is.
    pub(super) runs: Option<bool>,
}

/// Some hunks of a draft.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pick {
    /// The marks.
    pub marks: BTreeSet<MarkId>,
    /// What becomes of the file itself.
    pub fate: bool,
    /// Whether it can be run.
    pub mode: bool,
}

/// A hunk, for a person to judge.
#[derive(Debug, Clone, PartialEq)]
pub struct Hunk {
    /// Its name in its session, for instance `p1.2`.
    pub id: String,
    /// The call that proposes it.
    pub by: By,
    /// What would become of the file itself; `None`: lines of its text. Of a mode, `old` and `new` are as git names it.
    pub fate: Option<Becomes>,
    /// The lines of the real text that it would replace.
    pub before: LineSpan,
    /// Its lines in the proposed text.
    pub after: LineSpan,
    /// What the real text has there.
    pub old: String,
    /// What is proposed instead.
    pub new: String,
}

/// What would become of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Becomes {
    /// It would be made.
    Created,
    /// It would be deleted.
    Deleted,
    /// It would be moved.
    Moved,
    /// It would be given the right to be run, or lose it.
    Mode,
}

/// A hunk that went stale.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stale {
    /// The call that proposed it.
    pub by: By,
    /// What happened to it, as a phrase.
    pub why: String,
}

/// A draft over another real text.
#[derive(Debug, Clone)]
pub struct Rebased {
    /// What is left of it; `None`: nothing.
    pub draft: Option<Draft>,
    /// What of it went stale.
    pub stale: Vec<Stale>,
    /// Its hunks have new names, and it needs a new number.
    pub renamed: bool,
}

impl Pick {
    /// What is in both.
    pub(super) fn both(&self, other: &Pick) -> Pick {
        let marks = self.marks.intersection(&other.marks).copied().collect();
        Pick { marks, fate: self.fate && other.fate, mode: self.mode && other.mode }
    }

    /// The numbers of its hunks.
    fn hunks(&self) -> BTreeSet<MarkId> {
        let file = self.fate.then_some(FATE).into_iter().chain(self.mode.then_some(MODE));
        self.marks.iter().copied().chain(file).collect()
    }
}

impl Draft {
    /// Nothing proposed yet, over what a file holds.
    pub(super) fn new(number: u64, real: Target, base: Option<Text>, empty: Text) -> Draft {
        let ledger = Ledger::new(base.clone().unwrap_or(empty));
        let (fate, fated, mode) = (Fate::Stays, None, None);
        Draft { number, real, base, fate, fated, mode, ledger, unsaved: false, awaits: false }
    }

    /// How the text is there that it stands on.
    pub(super) fn stands(&mut self, standing: Standing) {
        self.unsaved = standing.unsaved;
        self.awaits &= !standing.open;
    }

    /// The file can be run, or cannot: where that is what was proposed, it is proposed no more. Whether it was.
    pub(super) fn settle_mode(&mut self, runs: bool) -> bool {
        self.mode.take_if(|mode| mode.runs == runs).is_some()
    }

    /// The text that the session sees; `None`: it proposes that there be none.
    pub fn text(&self) -> Option<&Text> {
        (self.fate != Fate::Deleted).then(|| self.ledger.text())
    }

    /// Where the session sees it.
    pub fn place(&self) -> &Target {
        match &self.fate {
            Fate::Moved { to } => to,
            Fate::Stays | Fate::Deleted => &self.real,
        }
    }

    /// Whether something is to become of the file itself.
    fn has_fate(&self) -> bool {
        self.base.is_none() || self.fate != Fate::Stays
    }

    /// Whether nothing is proposed.
    pub(super) fn is_empty(&self) -> bool {
        !self.has_fate() && self.mode.is_none() && self.ledger.marks().is_empty()
    }

    /// The text that it stands on; an empty one for a file that is to be made.
    fn under(&self) -> Text {
        self.base.clone().unwrap_or_else(|| Text::new("", self.ledger.text().breaks()))
    }

    /// How many bytes of text it holds.
    pub(super) fn bytes(&self) -> usize {
        let marks: usize = self.ledger.marks().iter().map(|mark| mark.before.len() + mark.after.len()).sum();
        self.base.as_ref().map_or(0, Text::len) + self.ledger.text().len() + marks
    }

    /// A call proposes a change of the file, which can really be run or not (`standing`).
    pub(super) fn propose(&mut self, wanted: &Wanted<'_>, standing: Standing, by: &By) {
        let Wanted { splices, fate, runs } = wanted;
        self.stands(standing);
        if **fate == Fate::Deleted {
            self.mode = None;
        } else if let Some(runs) = *runs {
            self.mode = (runs != standing.runs).then(|| Moded { runs, by: by.clone() });
        }
        self.propose_text(splices, fate, by);
    }

    /// The same of its text, and of what becomes of it.
    fn propose_text(&mut self, splices: &[Splice], fate: &Fate, by: &By) {
        if self.base.is_none() && self.fated.is_none() {
            self.fated = Some(by.clone());
        }
        match fate {
            Fate::Stays if self.fate == Fate::Deleted => {
                // Deleted and made anew: the file stays, and has another text.
                let text: String = splices.iter().map(|splice| splice.text.as_str()).collect();
                self.ledger.agent(&diff::splices(&self.ledger.text().to_string(), &text), by);
                self.fate = Fate::Stays;
                self.fated = self.base.is_none().then(|| by.clone());
                return;
            }
            Fate::Stays => {}
            Fate::Deleted => {
                self.fate = Fate::Deleted;
                self.fated = Some(by.clone());
                return;
            }
            // A file that is to be made is to be made there.
            Fate::Moved { to } if self.base.is_none() => self.real = to.clone(),
            Fate::Moved { to } => {
                self.fate = if to.key == self.real.key { Fate::Stays } else { fate.clone() };
                self.fated = (self.fate != Fate::Stays).then(|| by.clone());
            }
        }
        if !splices.is_empty() {
            self.ledger.agent(splices, by);
        }
    }

    /// All of it.
    pub fn all(&self) -> Pick {
        let marks = self.ledger.marks().iter().map(|mark| mark.id).collect();
        Pick { marks, fate: self.has_fate(), mode: self.mode.is_some() }
    }

    /// What one call proposes.
    pub fn of_call(&self, call: &str) -> Pick {
        let marks = self.ledger.marks().iter().filter(|mark| mark.by.call == call).map(|mark| mark.id).collect();
        let fate = self.has_fate() && self.fated.as_ref().is_some_and(|by| by.call == call);
        Pick { marks, fate, mode: self.mode.as_ref().is_some_and(|mode| mode.by.call == call) }
    }

    /// One hunk; nothing if there is none of this number.
    pub fn one(&self, hunk: MarkId) -> Pick {
        let marks = self.ledger.marks().iter().map(|mark| mark.id).filter(|id| *id == hunk).collect();
        Pick { marks, fate: hunk == FATE && self.has_fate(), mode: hunk == MODE && self.mode.is_some() }
    }

    /// What is accepted with a pick: a file is made with the lines and the mode that its maker gave it.
    pub(super) fn completed(&self, pick: &Pick) -> Pick {
        let mut pick = pick.clone();
        if self.base.is_none() && pick != Pick::default() {
            pick.fate = true;
            if let Some(by) = &self.fated {
                let made = self.of_call(&by.call);
                pick.marks.extend(made.marks);
                pick.mode |= made.mode;
            }
        }
        pick
    }

    /// Whether the real file is to be one that can be run when these hunks are accepted; `None`: as it is.
    pub(super) fn runs(&self, pick: &Pick) -> Option<bool> {
        self.mode.as_ref().filter(|_| self.completed(pick).mode).map(|mode| mode.runs)
    }

    /// The real text, were some hunks accepted; and all the marks that are in it.
    pub(super) fn with(&self, pick: &Pick) -> (Text, BTreeSet<MarkId>) {
        let others: BTreeSet<MarkId> = self.all().marks.difference(&pick.marks).copied().collect();
        let undo = self.ledger.undo(&others);
        let accepted = self.all().marks.difference(&undo.undone).copied().collect();
        (undo.text, accepted)
    }

    /// What the real file is to hold, and what is to become of it, when these hunks are accepted.
    pub fn accepted(&self, pick: &Pick) -> (Text, Fate) {
        let pick = self.completed(pick);
        let fate = if pick.fate { self.fate.clone() } else { Fate::Stays };
        if fate == Fate::Deleted {
            return (Text::new("", self.ledger.text().breaks()), fate);
        }
        (self.with(&pick).0, fate)
    }

    /// Whether a real text that grew out of the one it stands on has these hunks in it.
    pub(super) fn is_in(&self, pick: &Pick, real: &Text) -> bool {
        let (accepted, fate) = self.accepted(pick);
        let Some(base) = self.base.as_ref().filter(|_| fate == Fate::Stays) else { return false };
        let (base, accepted, real) = (base.to_string(), accepted.to_string(), real.to_string());
        let out = revert(&base, &accepted, &real);
        let adds = || stretches(&accepted, &base, &base).iter().any(|stretch| !stretch.at.is_empty());
        // Where lines only go away, what tells is that they cannot any more.
        out.left == 0 && out.taken > 0 && (adds() || revert(&accepted, &base, &real).left > 0)
    }

    /// What is still proposed once these hunks were accepted and the real file holds `now`; the names of the hunks that
    /// are in it.
    pub(super) fn after(mut self, pick: &Pick) -> (Option<Draft>, BTreeSet<MarkId>) {
        let pick = self.completed(pick);
        if pick.fate && self.fate == Fate::Deleted {
            return (None, self.all().hunks());
        }
        let (text, mut accepted) = self.with(&pick);
        self.ledger.keep(&accepted);
        self.base = Some(text);
        if pick.fate {
            accepted.insert(FATE);
            if let Fate::Moved { to } = std::mem::take(&mut self.fate) {
                self.real = to;
            }
            self.fated = None;
        }
        if pick.mode && self.mode.take().is_some() {
            accepted.insert(MODE);
        }
        ((!self.is_empty()).then_some(self), accepted)
    }

    /// What is still proposed without some hunks; the names of those that went, and those that cannot go alone, for
    /// the lines of another one stand on them.
    pub(super) fn without(mut self, pick: &Pick) -> (Option<Draft>, BTreeSet<MarkId>, Vec<By>) {
        let all = self.all();
        // Without its file, nothing of a new one is left.
        if (pick.fate && self.base.is_none()) || all == all.both(pick) {
            return (None, all.hunks(), Vec::new());
        }
        let undo = self.ledger.undo(&pick.marks);
        let mut gone = undo.undone.clone();
        let left = undo.left.iter().filter_map(|left| match left {
            Left::Under(_, by) => Some(by.clone()),
            Left::User(..) => None,
        });
        let left = left.collect();
        if !undo.undone.is_empty() {
            self.ledger.undone(undo);
            self.ledger.forget_undos();
        }
        if pick.fate {
            gone.insert(FATE);
            self.fate = Fate::Stays;
            self.fated = None;
        }
        if pick.mode && self.mode.take().is_some() {
            gone.insert(MODE);
        }
        ((!self.is_empty()).then_some(self), gone, left)
    }

    /// Puts another text in the place of what is proposed: of all of it, or of the lines of one hunk. `None`: there is no
    /// such hunk, or other hunks have changed its lines once more.
    pub fn edited(&self, hunk: Option<MarkId>, text: &str) -> Option<(Draft, Pick)> {
        let mut draft = self.clone();
        let now = draft.ledger.text().to_string();
        let Some(hunk) = hunk else {
            let others = self.fated.iter().chain(self.mode.iter().map(|mode| &mode.by));
            let by = self.ledger.marks().iter().rev().map(|mark| &mark.by).chain(others).next()?.clone();
            draft.ledger.agent(&diff::splices(&now, text), &by);
            let all = draft.all();
            return Some((draft, all));
        };
        let mark = self.ledger.marks().iter().find(|mark| mark.id == hunk && mark.under.is_none())?.clone();
        let mut text = text.to_owned();
        if mark.at.end < now.len() && !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        let made = if self.ledger.text().slice(mark.at.clone()) == text {
            Vec::new()
        } else {
            draft.ledger.agent(&[Splice { range: mark.at.clone(), text }], &mark.by)
        };
        let marks = made.into_iter().chain([hunk]).collect();
        Some((draft, Pick { marks, ..Pick::default() }))
    }

    /// The same proposal over what the real file holds now. What the user wrote stays; where they changed the very lines,
    /// the proposal for these is dropped.
    pub fn rebased(&self, real: Option<&Text>) -> Rebased {
        let gone = |why: &str| Rebased { draft: None, stale: self.whole(why), renamed: false };
        let quiet = Rebased { draft: None, stale: Vec::new(), renamed: false };
        match (&self.base, real) {
            (None, None) => Rebased { draft: Some(self.clone()), ..quiet },
            (Some(base), Some(real)) if base.rope() == real.rope() => Rebased { draft: Some(self.clone()), ..quiet },
            (None, Some(real)) if self.ledger.text().rope() == real.rope() && self.fate == Fate::Stays => {
                let base = Some(real.clone());
                let made = Draft { base, fated: None, ledger: Ledger::new(real.clone()), ..self.clone() };
                Rebased { draft: (!made.is_empty()).then_some(made), ..quiet }
            }
            (None, Some(_)) => gone("there is a file of that name by now"),
            (Some(_), None) if self.fate == Fate::Deleted => quiet,
            (Some(_), None) => gone("the file is gone"),
            (Some(_), Some(_)) if self.fate == Fate::Deleted => gone("the file was changed since"),
            (Some(base), Some(real)) => self.over(base, real),
        }
    }

    fn over(&self, base: &Text, real: &Text) -> Rebased {
        let (before, proposed, now) = (base.to_string(), self.ledger.text().to_string(), real.to_string());
        let merged = revert(&proposed, &before, &now);
        let mut draft = Draft { base: Some(real.clone()), ..self.clone() };
        draft.ledger.resynced(&Text::new(&merged.text, real.breaks()));
        let stale = if merged.left > 0 { self.stale(&proposed, &before, &now) } else { BTreeMap::new() };
        let dead: BTreeSet<MarkId> = stale.iter().filter(|(_, whole)| **whole).map(|(id, _)| *id).collect();
        draft.ledger.keep(&dead);
        let renamed = !draft.fits();
        if renamed {
            draft.rebuild();
        }
        let told = |(id, whole): (&MarkId, &bool)| {
            let mark = self.ledger.marks().iter().find(|mark| mark.id == *id)?;
            let why = if *whole {
                "these very lines were changed since, by the user or another session, and are as they are"
            } else {
                "some of these very lines were changed since, by the user or another session, and are as they are; the rest is \
                 still proposed"
            };
            Some(Stale { by: mark.by.clone(), why: why.to_owned() })
        };
        let stale = stale.iter().filter_map(told).collect();
        Rebased { draft: (!draft.is_empty()).then_some(draft), stale, renamed }
    }

    /// The marks that do not fit where the user has changed the text from `before` to `now`; whether nothing of one does.
    fn stale(&self, proposed: &str, before: &str, now: &str) -> BTreeMap<MarkId, bool> {
        let tops: Vec<&Mark> = self.ledger.marks().iter().filter(|mark| mark.under.is_none()).collect();
        let places: Vec<Range<usize>> = tops.iter().map(|mark| mark.at.clone()).collect();
        let mut fits = vec![(false, false); tops.len()];
        for stretch in stretches(proposed, before, now) {
            for at in stretch.among(&places) {
                let (left, taken) = &mut fits[at];
                *if stretch.left { left } else { taken } = true;
            }
        }
        let stale = tops.iter().zip(fits).filter(|(_, (left, _))| *left);
        stale.map(|(mark, (_, taken))| (mark.id, !taken)).collect()
    }

    /// Whether the text without all marks is the one that it stands on.
    fn fits(&self) -> bool {
        let undo = self.ledger.undo(&self.all().marks);
        undo.text.rope() == self.under().rope()
    }

    /// Makes the marks anew from what differs between the two texts, each by whoever proposed something there last.
    fn rebuild(&mut self) {
        let (under, old) = (self.under(), self.ledger.clone());
        let (before, after) = (under.to_string(), old.text().to_string());
        let mut ledger = Ledger::new(under);
        let last = old.marks().last().map(|mark| mark.by.clone()).or_else(|| self.fated.clone());
        let (olds, news) = (diff::lines(&before), diff::lines(&after));
        let bytes = |lines: &[&str], range: Range<usize>| -> Range<usize> {
            let start: usize = lines[..range.start].iter().map(|line| line.len()).sum();
            start..start + lines[range].iter().map(|line| line.len()).sum::<usize>()
        };
        // From the end, so that each splice is in bytes of the text as it is then.
        for op in capture_diff_slices(Algorithm::Myers, &olds, &news).iter().rev() {
            if matches!(op, DiffOp::Equal { .. }) {
                continue;
            }
            let (range, place) = (bytes(&olds, op.old_range()), bytes(&news, op.new_range()));
            let meets = |mark: &&Mark| mark.at.start <= place.end && place.start <= mark.at.end;
            let owner = old.marks().iter().rev().filter(|mark| mark.under.is_none()).find(meets);
            let Some(by) = owner.map(|mark| mark.by.clone()).or_else(|| last.clone()) else { continue };
            ledger.agent(&[Splice { range, text: after[place].to_owned() }], &by);
        }
        self.ledger = ledger;
    }

    /// All of it is stale, call by call.
    fn whole(&self, why: &str) -> Vec<Stale> {
        self.makers(&self.all()).into_iter().map(|by| Stale { by: by.clone(), why: why.to_owned() }).collect()
    }

    /// Who proposed these hunks; those of lines first, in the order in which they were proposed.
    pub(super) fn makers(&self, pick: &Pick) -> Vec<&By> {
        let lines = self.ledger.marks().iter().filter(|mark| pick.marks.contains(&mark.id)).map(|mark| &mark.by);
        let fated = self.fated.iter().filter(|_| pick.fate);
        let moded = self.mode.iter().filter(|_| pick.mode).map(|mode| &mode.by);
        let mut seen = BTreeSet::new();
        lines.chain(fated).chain(moded).filter(|by| seen.insert(*by)).collect()
    }

    /// The name of a hunk of it.
    pub(super) fn name(&self, hunk: MarkId) -> String {
        if hunk == MODE { format!("p{}.mode", self.number) } else { format!("p{}.{hunk}", self.number) }
    }

    /// The hunk of a name; `None`: it is not one of this draft's.
    pub(super) fn named(&self, name: &str) -> Option<MarkId> {
        let last = name.rsplit('.').next()?;
        let hunk = if last == "mode" { MODE } else { last.parse().ok()? };
        // `p1.+2` is a number, but the name of nothing.
        (self.name(hunk) == name).then_some(hunk)
    }

    /// Its hunks, in the order of the text; what becomes of the file itself first. Lines that a later call changed once
    /// more are in the hunk of that one.
    pub fn hunks(&self) -> Vec<Hunk> {
        let mut hunks = Vec::new();
        if let Some(by) = self.fated.as_ref().filter(|_| self.has_fate()) {
            let fate = match &self.fate {
                Fate::Stays => Becomes::Created,
                Fate::Deleted => Becomes::Deleted,
                Fate::Moved { .. } => Becomes::Moved,
            };
            hunks.push(self.of_file(FATE, by, fate, (String::new(), String::new())));
        }
        if let Some(Moded { runs, by }) = &self.mode {
            let words = (git_mode(!runs).to_owned(), git_mode(*runs).to_owned());
            hunks.push(self.of_file(MODE, by, Becomes::Mode, words));
        }
        let mut tops: Vec<&Mark> = self.ledger.marks().iter().filter(|mark| mark.under.is_none()).collect();
        tops.sort_by_key(|mark| (mark.at.start, mark.id));
        // Lines before a mark that other marks added or took.
        let mut shift = 0isize;
        for mark in tops {
            let text = self.ledger.text();
            let new = text.slice(mark.at.clone());
            let (olds, news) = (diff::lines(&self.oldest(mark)).len(), diff::lines(&new).len());
            let start = text.line_of(mark.at.start) + 1;
            hunks.push(Hunk {
                id: self.name(mark.id),
                by: mark.by.clone(),
                fate: None,
                before: LineSpan { start: start.saturating_add_signed(-shift).max(1), count: olds },
                after: LineSpan { start, count: news },
                old: self.oldest(mark),
                new,
            });
            shift += isize::try_from(news).unwrap_or(0) - isize::try_from(olds).unwrap_or(0);
        }
        hunks
    }

    /// A hunk of the file itself.
    fn of_file(&self, hunk: MarkId, by: &By, fate: Becomes, (old, new): (String, String)) -> Hunk {
        let none = LineSpan { start: 1, count: 0 };
        Hunk { id: self.name(hunk), by: by.clone(), fate: Some(fate), before: none, after: none, old, new }
    }

    /// What stood in the place of a mark before it and all that lies under it.
    fn oldest(&self, mark: &Mark) -> String {
        let mut text = mark.before.clone();
        let mut under: Vec<&Mark> = self.ledger.marks().iter().filter(|other| other.under == Some(mark.id)).collect();
        under.sort_by_key(|other| std::cmp::Reverse((other.at.start, other.id)));
        for other in under {
            if text.get(other.at.clone()).is_some() {
                text.replace_range(other.at.clone(), &self.oldest(other));
            }
        }
        text
    }
}

#[cfg(test)]
#[path = "draft_tests.rs"]
mod tests;
