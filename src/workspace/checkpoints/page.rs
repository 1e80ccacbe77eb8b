//! One file or document: the ledger of its text, what became of the file itself, and what was told of it since. Pure.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use super::{By, Ledger, Mark, MarkId};
use crate::text::{Splice, Text};
use crate::workspace::commit::{Committed, Fate, LineSpan};
use crate::workspace::documents::{DocEvent, Step};
use crate::workspace::{Key, Snapshot, Target};

/// At most so many notifications of a document are put aside; past that its text is compared as a whole.
pub(super) const ASIDE: usize = 512;

/// So many notifications stay aside when the others are taken in: a change that is under way may still be told to be
/// among them.
const RECENT: usize = 32;

/// At most so many undos of a file can be undone in their turn.
const UNDOS: usize = 50;

/// A change that a call, or a person's undo, made of one file.
#[derive(Debug, Clone)]
pub struct Change {
    /// Which file or document; of one that was moved, where it was.
    pub target: Target,
    /// What became of the file itself.
    pub fate: Fate,
    /// The text before; absent where there was none.
    pub before: Option<Text>,
    /// The text after the change, and before anything the user typed on.
    pub after: Text,
    /// From the one to the other, in bytes of `before`; rising, not overlapping.
    pub splices: Vec<Splice>,
    /// The editor's versions before it and after it; `None` on the disk.
    pub versions: Option<(i32, i32)>,
    /// Of a file that was given or lost the right to be run, or was deleted and had it: whether it had it before, and
    /// has it now.
    pub executable: Option<(bool, bool)>,
}

impl Change {
    /// What a commit did.
    pub fn of(committed: &Committed) -> Change {
        Change {
            target: committed.target.clone(),
            fate: committed.fate.clone(),
            before: committed.before.clone(),
            after: committed.after.clone(),
            splices: committed.splices.clone(),
            versions: committed.version_before.zip(committed.version_after),
            executable: committed.executable,
        }
    }

    /// Where the file is after it.
    pub(super) fn place(&self) -> &Target {
        match &self.fate {
            Fate::Moved { to } => to,
            Fate::Stays | Fate::Deleted => &self.target,
        }
    }
}

/// Which changes are meant: all that fit everything that is given.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Selection {
    /// Those of one session.
    pub session: Option<String>,
    /// Those of one turn.
    pub turn: Option<String>,
    /// Those of one call.
    pub call: Option<String>,
    /// Those in one file or document.
    pub key: Option<Key>,
    /// This one hunk.
    pub hunk: Option<String>,
}

/// What became of a file itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Became {
    /// It was made.
    Created,
    /// It was deleted.
    Deleted,
    /// It was moved.
    Moved {
        /// From where.
        from: Target,
    },
    /// It was given the right to be run, or lost it.
    Executable {
        /// Which of the two.
        now: bool,
    },
}

/// What became of a file by a call, and nobody has judged yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fated {
    /// Its name, among those of the marks; that of the mark of its text where a file was made.
    pub(super) id: MarkId,
    pub(super) by: By,
    pub(super) became: Became,
}

/// What a hunk is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// Lines were changed.
    Changed,
    /// Something became of the file.
    File(Became),
}

/// A hunk that nobody has judged yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pending {
    /// Its name, the same for as long as it is there.
    pub hunk: String,
    /// The file or document.
    pub target: Target,
    /// Who made it.
    pub by: By,
    /// What it is.
    pub kind: Kind,
    /// What stood there before.
    pub before: String,
    /// What the call left there.
    pub after: String,
    /// What is there now.
    pub now: String,
    /// Its lines now; for one under a later change, those of that change.
    pub lines: LineSpan,
    /// The user has changed something among its lines since.
    pub touched: bool,
    /// Who changed the lines once more since, where somebody did.
    pub under: Option<By>,
}

/// An undo by a person, of everything in one file that it was about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Undone {
    /// Its number, the same in all files that it was about.
    pub(super) undo: u64,
    /// That of the ledger's own undo, where lines were undone.
    pub(super) ledger: Option<u64>,
    /// What was undone of what became of the file.
    pub(super) fates: Vec<Fated>,
    /// What that did.
    pub(super) did: Did,
    /// The hash of the text with which the file was made again, where it was.
    pub(super) made: Option<String>,
}

/// What an undo did to a file itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Did {
    /// Nothing, or only to its text.
    Text,
    /// It was deleted.
    Deleted,
    /// It was made again.
    Created,
    /// It was moved back from here.
    Moved {
        /// Where it had been moved to.
        from: Target,
    },
    /// Nothing was to be done: it was not there before and is not there now.
    Nothing,
}

/// A file or document that agents changed.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "they are independent of one another")]
pub(super) struct Page {
    pub(super) number: u64,
    pub(super) target: Target,
    pub(super) ledger: Ledger,
    pub(super) fates: Vec<Fated>,
    pub(super) undos: Vec<Undone>,
    /// The file is not there, by an agent's change or an undo: the ledger's text is what it had.
    pub(super) gone: bool,
    /// It was looked for and not found.
    pub(super) missing: bool,
    /// Whether it could be run when a change last had to do with that: then it can be when it is made again.
    pub(super) executable: bool,
    /// Rises with each change of any page by an agent or a person's word.
    pub(super) stamp: u64,
    /// It is not kept as it is.
    pub(super) dirty: bool,
    /// Whether the document is open, as far as was heard.
    open: bool,
    /// The document, by epoch and version, when it was last heard of.
    heard: Option<(u64, i32)>,
    aside: VecDeque<Seen>,
    /// The ledger with so many of those that are aside taken in.
    ahead: Option<(usize, Ledger)>,
}

/// What the editor told of a document.
#[derive(Debug)]
struct Seen {
    version: i32,
    /// The text before and the steps; none where the whole text is another.
    steps: Option<(Text, Arc<[Step]>)>,
    after: Text,
}

impl Seen {
    /// Whether this is the text that a change was computed against.
    fn fits(&self, change: &Change) -> bool {
        change.before.as_ref().is_some_and(|before| before.rope() == self.after.rope())
    }
}

impl Page {
    pub(super) fn new(number: u64, target: Target, ledger: Ledger, open: bool) -> Page {
        Page {
            number,
            target,
            ledger,
            fates: Vec::new(),
            undos: Vec::new(),
            gone: false,
            missing: false,
            executable: false,
            stamp: 0,
            dirty: false,
            open,
            heard: None,
            aside: VecDeque::new(),
            ahead: None,
        }
    }

    /// Whether nothing can be kept, undone or restored here.
    pub(super) fn is_empty(&self) -> bool {
        self.ledger.marks().is_empty() && self.fates.is_empty() && self.undos.is_empty()
    }

    /// Whether the last that became of the file is that this call moved it to where it is.
    pub(super) fn came_by(&self, by: &By) -> bool {
        self.fates.last().is_some_and(|fate| fate.by == *by && matches!(fate.became, Became::Moved { .. }))
    }

    pub(super) fn name(&self, id: MarkId) -> String {
        format!("{}.{id}", self.number)
    }

    /// Something happened to its document. Only puts it aside.
    pub(super) fn heard(&mut self, event: &DocEvent) {
        // A buffer that is left of a deleted or moved file says nothing of that file's text.
        let snapshot = event.snapshot();
        if self.gone || snapshot.key != self.target.key {
            return;
        }
        let steps = match event {
            DocEvent::Changed { before, steps, .. } => Some((before.text.clone(), Arc::clone(steps))),
            DocEvent::Opened(_) | DocEvent::Resynced(_) => None,
            DocEvent::Closed(_) => {
                self.open = false;
                return;
            }
            DocEvent::Saved(_) => return,
        };
        self.open = true;
        self.heard = Some((snapshot.epoch, snapshot.version));
        let (version, after) = (snapshot.version, snapshot.text.clone());
        if self.aside.len() >= ASIDE {
            self.aside.clear();
            self.ahead = None;
            self.aside.push_back(Seen { version, steps: None, after });
        } else {
            self.aside.push_back(Seen { version, steps, after });
        }
    }

    /// What was told of the versions after the first and up to the second was a change of ours that came to nothing:
    /// what is left of it, if anything, is what the user typed meanwhile.
    pub(super) fn taken_back(&mut self, (before, after): (i32, i32)) {
        let within = |seen: &Seen| before < seen.version && seen.version <= after;
        let Some(first) = self.aside.iter().position(within) else { return };
        let count = self.aside.iter().skip(first).take_while(|seen| within(seen)).count();
        // What came before it may be taken in already, but not this.
        if self.ahead.as_ref().is_some_and(|(taken, _)| *taken > first) {
            self.ahead = None;
        }
        let last = self.aside.drain(first..first + count).next_back();
        if let Some(last) = last {
            self.aside.insert(first, Seen { steps: None, ..last });
        }
    }

    /// The document is this one, or a newer one.
    pub(super) fn sync_open(&mut self, snapshot: &Snapshot) {
        if self.heard.is_none_or(|heard| heard < (snapshot.epoch, snapshot.version)) {
            self.heard = Some((snapshot.epoch, snapshot.version));
            self.open = true;
            self.aside.push_back(Seen { version: snapshot.version, steps: None, after: snapshot.text.clone() });
        }
        self.missing = false;
    }

    /// Of a closed file nobody tells how it changed: its text is this one, or there is none.
    pub(super) fn sync_closed(&mut self, text: Option<&Text>) {
        if self.open || self.gone {
            return;
        }
        self.missing = text.is_none();
        if let Some(text) = text {
            self.settle();
            be(&mut self.ledger, text);
        }
    }

    /// The ledger as of all that was told.
    pub(super) fn current(&mut self) -> &Ledger {
        if self.aside.len() > 2 * RECENT {
            let mut ledger = self.ledger.clone();
            for seen in self.aside.drain(..self.aside.len() - RECENT) {
                take(&mut ledger, &seen);
            }
            self.ledger = ledger;
            self.ahead = None;
        }
        if self.aside.is_empty() {
            return &self.ledger;
        }
        let (taken, mut ledger) = self.ahead.take().unwrap_or_else(|| (0, self.ledger.clone()));
        for seen in self.aside.iter().skip(taken) {
            take(&mut ledger, seen);
        }
        &self.ahead.insert((self.aside.len(), ledger)).1
    }

    /// Takes in all that was put aside.
    fn settle(&mut self) {
        self.current();
        if let Some((_, ledger)) = self.ahead.take() {
            self.ledger = ledger;
        }
        self.aside.clear();
    }

    /// Brings the ledger to the text that a change was computed against, and leaves out the notifications of the change
    /// itself.
    pub(super) fn advance(&mut self, change: &Change) {
        self.ahead = None;
        if let Some((before, _)) = change.versions {
            // A document that was opened again counts from the start: what belongs together is what comes last.
            let end = self.aside.iter().rposition(|seen| seen.version <= before && seen.fits(change));
            for seen in self.aside.drain(..end.map_or(0, |last| last + 1)).collect::<Vec<_>>() {
                take(&mut self.ledger, &seen);
            }
        }
        match &change.before {
            Some(before) => be(&mut self.ledger, before),
            None => be(&mut self.ledger, &Text::new("", change.after.breaks())),
        }
    }

    /// The change is in the ledger; what the user typed in the same notification comes behind it.
    pub(super) fn landed(&mut self, change: &Change) {
        be(&mut self.ledger, &change.after);
        self.ahead = None;
        let Some((_, after)) = change.versions else { return };
        let echo = self.aside.iter().take_while(|seen| seen.version <= after).count();
        if let Some(last) = self.aside.drain(..echo).next_back() {
            be(&mut self.ledger, &last.after);
        }
    }

    /// What a change says of the right to run the file.
    pub(super) fn runs(&mut self, change: &Change) {
        if let Some((was, is)) = change.executable {
            self.executable = if change.fate == Fate::Deleted { was } else { is };
        }
    }

    /// A call changed the file, or a formatter (`folded`) what it had made of it. The names of the hunks that are new.
    pub(super) fn made(&mut self, change: &Change, by: &By, folded: bool) -> Vec<MarkId> {
        // Deleted and made anew, the file has changed.
        let anew = self.gone && change.before.is_none() && self.fates.iter().any(|fate| fate.became == Became::Deleted);
        let created = change.before.is_none() && !anew;
        let mut splices = change.splices.clone();
        if anew {
            self.ahead = None;
            splices = crate::text::diff::splices(&self.ledger.text().to_string(), &change.after.to_string());
        } else {
            self.advance(change);
        }
        if change.before.is_none() || change.fate != Fate::Deleted {
            self.gone = false;
            self.fates.retain(|fate| fate.became != Became::Deleted);
        }
        self.missing = false;
        let mut ids = Vec::new();
        if change.fate != Fate::Deleted {
            ids = if folded { self.ledger.folded(&splices, by) } else { self.ledger.agent(&splices, by) };
            self.landed(change);
        }
        self.runs(change);
        if let Some((_, now)) = change.executable.filter(|_| change.fate != Fate::Deleted && !created) {
            let id = self.ledger.named();
            ids.push(id);
            self.fates.push(Fated { id, by: by.clone(), became: Became::Executable { now } });
        }
        let became = match &change.fate {
            Fate::Stays if created => Became::Created,
            Fate::Stays => return ids,
            Fate::Deleted => {
                self.gone = true;
                self.aside.clear();
                Became::Deleted
            }
            Fate::Moved { to } => {
                let from = std::mem::replace(&mut self.target, to.clone());
                self.open = false;
                self.heard = None;
                Became::Moved { from }
            }
        };
        let id = match (&became, ids.first()) {
            (Became::Created, Some(first)) => *first,
            _ => self.ledger.named(),
        };
        if !ids.contains(&id) {
            ids.push(id);
        }
        self.fates.push(Fated { id, by: by.clone(), became });
        ids
    }

    /// The marks and what became of the file that are selected.
    pub(super) fn selected(&mut self, selection: &Selection) -> BTreeSet<MarkId> {
        let Selection { session, turn, call, key, hunk } = selection;
        if key.as_ref().is_some_and(|key| *key != self.target.key) {
            return BTreeSet::new();
        }
        let fits = |wanted: &Option<String>, found: Option<&str>| wanted.is_none() || wanted.as_deref() == found;
        let number = self.number;
        let fits = |id: MarkId, by: &By| {
            fits(session, Some(&by.session))
                && fits(turn, by.turn.as_deref())
                && fits(call, Some(&by.call))
                && hunk.as_ref().is_none_or(|hunk| *hunk == format!("{number}.{id}"))
        };
        let fates = self.fates.iter().map(|fate| (fate.id, fate.by.clone())).collect::<Vec<_>>();
        let marks = self.current().marks().iter().map(|mark| (mark.id, mark.by.clone()));
        marks.chain(fates).filter(|(id, by)| fits(*id, by)).map(|(id, _)| id).collect()
    }

    /// What of the selected is there to be seen, by its place.
    pub(super) fn pending(&mut self, selection: &Selection) -> Vec<Pending> {
        if self.missing {
            return Vec::new();
        }
        let ids = self.selected(selection);
        let (target, number, gone) = (self.target.clone(), self.number, self.gone);
        let mut fates = self.fates.clone();
        fates.retain(|fate| ids.contains(&fate.id) && gone == (fate.became == Became::Deleted));
        let name = |id: MarkId| format!("{number}.{id}");
        let ledger = self.current();
        let mut out = Vec::new();
        for mark in ledger.marks().iter().filter(|mark| !gone && ids.contains(&mark.id)) {
            let kind = match fates.iter().position(|fate| fate.id == mark.id) {
                Some(at) => Kind::File(fates.remove(at).became),
                None => Kind::Changed,
            };
            out.push(of_mark(ledger, mark, kind, target.clone(), name(mark.id)));
        }
        for fate in fates {
            let before = if gone { ledger.text().to_string() } else { String::new() };
            out.push(Pending {
                hunk: name(fate.id),
                target: target.clone(),
                by: fate.by,
                kind: Kind::File(fate.became),
                before,
                after: String::new(),
                now: String::new(),
                lines: LineSpan { start: 1, count: 0 },
                touched: false,
                under: None,
            });
        }
        out.sort_by_key(|pending| pending.lines.start);
        out
    }

    /// The person is content with these.
    pub(super) fn keep(&mut self, ids: &BTreeSet<MarkId>) {
        let marks = |ledger: &Ledger| ledger.marks().iter().map(|mark| mark.id).collect::<BTreeSet<_>>();
        let before = marks(&self.ledger);
        self.ledger.keep(ids);
        self.ahead = None;
        // With a mark goes what lies under it: the making of the file, too.
        let after = marks(&self.ledger);
        let gone = |id: &MarkId| ids.contains(id) || (before.contains(id) && !after.contains(id));
        self.fates.retain(|fate| !gone(&fate.id));
    }

    /// Remembers an undo, so that it can be undone.
    pub(super) fn remember(&mut self, undone: Undone) {
        self.undos.push(undone);
        let surplus = self.undos.len().saturating_sub(UNDOS);
        self.undos.drain(..surplus);
    }

    /// The document is another one from now on: the file was deleted, made again or moved.
    pub(super) fn elsewhere(&mut self, target: Target) {
        self.target = target;
        self.open = false;
        self.heard = None;
        self.aside.clear();
        self.ahead = None;
    }
}

/// Takes in what the editor told.
fn take(ledger: &mut Ledger, seen: &Seen) {
    if let Some((before, steps)) = &seen.steps
        && ledger.text().rope() == before.rope()
    {
        for step in steps.iter() {
            ledger.user(std::slice::from_ref(&step.splice));
        }
    }
    be(ledger, &seen.after);
}

/// The text is this one, however it came to be.
fn be(ledger: &mut Ledger, text: &Text) {
    if ledger.text().rope() != text.rope() {
        ledger.resynced(text);
    }
}

fn of_mark(ledger: &Ledger, mark: &Mark, kind: Kind, target: Target, hunk: String) -> Pending {
    let mut top = mark;
    while let Some(over) = top.under.and_then(|over| ledger.marks().iter().find(|mark| mark.id == over)) {
        top = over;
    }
    let text = ledger.text();
    let now = text.slice(top.at.clone());
    let start = text.line_of(top.at.start);
    let last = text.line_of(top.at.end);
    let whole = top.at.is_empty() || text.line_start(last) == top.at.end;
    let count = last - start + usize::from(!whole);
    Pending {
        hunk,
        target,
        by: mark.by.clone(),
        kind,
        before: mark.before.clone(),
        after: mark.after.clone(),
        now,
        lines: LineSpan { start: start + 1, count },
        touched: mark.touched,
        under: (top.id != mark.id).then(|| top.by.clone()),
    }
}
