//! The pages of all files that agents changed, fed with what happens to documents. No I/O: texts come from outside.
//!
//! What the editor tells is put aside, in its order, and looked at only when somebody asks or a call has changed the
//! text once more, so that typing costs next to nothing here.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::page::{Became, Change, Did, Fated, Page, Pending, Selection, Undone};
use super::{By, Ledger, Left, MarkId, Undo, kept};
use crate::text::Text;
use crate::workspace::documents::DocEvent;
use crate::workspace::{Fate, Key, Snapshot, Target};

/// At most so many files are remembered; the one that was changed longest ago gives way.
const PAGES: usize = 1000;

/// So many events wait to be put aside; past that only the last of each file does, as a text as a whole.
const WAITING: usize = 1024;

/// All that agents changed and nobody has judged yet.
#[derive(Debug, Default)]
pub struct Checkpoints {
    inner: Mutex<Book>,
    /// Apart, so that whoever types never waits for what is worked out over the pages. Taken after `inner`, if both.
    inbox: Mutex<Inbox>,
}

/// What was heard and not put aside yet.
#[derive(Debug, Default)]
struct Inbox {
    /// The pages of files that are there, by key.
    live: BTreeMap<Key, u64>,
    events: VecDeque<(u64, DocEvent)>,
}

impl Inbox {
    fn put(&mut self, page: u64, event: &DocEvent) {
        if self.events.len() >= WAITING {
            let mut last: BTreeMap<u64, DocEvent> = BTreeMap::new();
            for (page, event) in self.events.drain(..) {
                last.insert(page, event);
            }
            self.events.extend(last.into_iter().map(|(page, event)| match event {
                DocEvent::Changed { after, .. } => (page, DocEvent::Resynced(after)),
                event => (page, event),
            }));
        }
        self.events.push_back((page, event.clone()));
    }
}

#[derive(Debug, Default)]
pub(super) struct Book {
    pub(super) pages: BTreeMap<u64, Page>,
    /// The pages of files that are there, by key.
    live: BTreeMap<Key, u64>,
    /// Files whose names others took, by the call that did it: it may be about to move them as well.
    ousted: Vec<(By, Page)>,
    pub(super) last: u64,
    pub(super) stamp: u64,
    pub(super) undos: u64,
    /// What is kept of which page, and how long it is (bytes).
    pub(super) kept: BTreeMap<u64, (String, usize)>,
}

/// What is to be undone in one file.
#[derive(Debug, Clone)]
pub struct Drawn {
    /// Names the file here.
    pub page: u64,
    /// The file or document.
    pub target: Target,
    /// The lines, and what became of the file, by their names in it.
    pub which: BTreeSet<MarkId>,
    /// What became of the file, of those.
    pub became: Vec<Became>,
    /// Whether the file is not there, since it was deleted.
    pub gone: bool,
    /// Whether it could be run when it was last known to be or not to be.
    pub executable: bool,
    /// All that is selected, as it is.
    pub hunks: Vec<Pending>,
}

/// What is to be brought back in one file, since its undo is undone.
#[derive(Debug, Clone)]
pub struct Redrawn {
    /// Names the file here.
    pub page: u64,
    /// The file or document.
    pub target: Target,
    /// What the undo did to the file itself.
    pub did: Did,
    /// The hash of the text with which the undo made the file again, where it did.
    pub made: Option<String>,
    /// Whether the file is to be one that can be run again, or none; absent where the undo had nothing to do with that.
    pub executable: Option<bool>,
    /// The names of the hunks that it was about.
    pub hunks: Vec<String>,
}

impl Checkpoints {
    /// The pages, with all that was heard put aside.
    pub(super) fn lock(&self) -> MutexGuard<'_, Book> {
        // Nothing that panics runs under it but pure code, which leaves at worst one page behind its text.
        let mut book = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let events = std::mem::take(&mut self.inbox().events);
        for (number, event) in events {
            if let Some(page) = book.pages.get_mut(&number) {
                page.heard(&event);
            }
        }
        book
    }

    fn inbox(&self) -> MutexGuard<'_, Inbox> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something happened to a document. Only puts it aside, and waits for nothing that takes its time.
    pub fn heard(&self, event: &DocEvent) {
        let mut inbox = self.inbox();
        if let Some(page) = inbox.live.get(&event.snapshot().key).copied() {
            inbox.put(page, event);
        }
    }

    /// Brings the list of pages by key up to date.
    fn index(&self, book: &mut Book) {
        book.tidy();
        let live = book.pages.iter().filter(|(_, page)| !page.gone);
        book.live = live.map(|(number, page)| (page.target.key.clone(), *number)).collect();
        self.inbox().live.clone_from(&book.live);
    }

    /// Brings the list up to date for one page, that was of `before` if it was there. What became of the others was
    /// seen to when it did.
    fn index_one(&self, book: &mut Book, number: u64, before: &Key) {
        let forgotten = book.tidy();
        let now = book.pages.get(&number).filter(|page| !page.gone).map(|page| page.target.key.clone());
        let mut inbox = self.inbox();
        let (live, heard) = (&mut book.live, &mut inbox.live);
        for (number, key) in forgotten.iter().map(|(number, key)| (*number, key)).chain([(number, before)]) {
            if live.get(key) == Some(&number) {
                live.remove(key);
                heard.remove(key);
            }
        }
        if let Some(key) = now {
            live.insert(key.clone(), number);
            heard.insert(key, number);
        }
    }

    /// A call changed a file. The names of the hunks it left.
    pub fn made(&self, change: &Change, by: &By) -> Vec<String> {
        self.changed(change, by, false)
    }

    /// A formatter changed what a call had made of a file: that is the call's as well. The names of the hunks that are
    /// new by it.
    pub fn folded(&self, change: &Change, by: &By) -> Vec<String> {
        self.changed(change, by, true)
    }

    fn changed(&self, change: &Change, by: &By, folded: bool) -> Vec<String> {
        let mut book = self.lock();
        book.ousted.retain(|(other, _)| other.session != by.session || other.call == by.call);
        let number = book.page(change, by);
        let stamp = book.stamped();
        if let Some(at) = book.live.get(&change.place().key).copied().filter(|at| *at != number) {
            // A file came to where another one is not any more; in a ring of names that one is on its way, too.
            let page = book.pages.remove(&at);
            book.ousted.extend(page.map(|page| (by.clone(), page)));
        }
        let Some(page) = book.pages.get_mut(&number) else { return Vec::new() };
        page.stamp = stamp;
        page.dirty = true;
        let before = page.target.key.clone();
        let ids = page.made(change, by, folded);
        let names = ids.into_iter().map(|id| page.name(id)).collect();
        self.index_one(&mut book, number, &before);
        #[cfg(test)]
        book.check();
        names
    }

    /// A change of ours of an open document was made and taken back again, between these two of the editor's versions:
    /// none of it is the user's.
    pub fn taken_back(&self, key: &Key, versions: Option<(i32, i32)>) {
        let mut book = self.lock();
        let number = book.live.get(key).copied();
        if let Some((page, versions)) = number.and_then(|number| book.pages.get_mut(&number)).zip(versions) {
            page.taken_back(versions);
        }
    }

    /// The files of what is selected that have to be looked at: no editor tells how a closed one changes.
    pub fn places(&self, selection: &Selection) -> Vec<(u64, Target)> {
        let mut book = self.lock();
        let pages = book.pages.iter_mut().filter(|(_, page)| !page.gone && !page.is_empty());
        pages
            .filter_map(|(number, page)| {
                let meant = !page.selected(selection).is_empty();
                meant.then(|| (*number, page.target.clone()))
            })
            .collect()
    }

    /// The document of a page is this one, or a newer one.
    pub fn sync_open(&self, page: u64, snapshot: &Snapshot) {
        if let Some(page) = self.lock().pages.get_mut(&page).filter(|page| page.target.key == snapshot.key) {
            page.sync_open(snapshot);
        }
    }

    /// The same by key: for a page that has just come to be, and may have missed something.
    pub fn sync(&self, snapshot: &Snapshot) {
        let number = self.lock().live.get(&snapshot.key).copied();
        if let Some(number) = number {
            self.sync_open(number, snapshot);
        }
    }

    /// The file of a page has this text, or is not there. Means nothing while its document is open.
    pub fn sync_closed(&self, page: u64, text: Option<&Text>) {
        if let Some(page) = self.lock().pages.get_mut(&page) {
            page.sync_closed(text);
        }
    }

    /// What nobody has judged yet, by path and place.
    pub fn pending(&self, selection: &Selection) -> Vec<Pending> {
        let mut book = self.lock();
        let mut out: Vec<Pending> = book.pages.values_mut().flat_map(|page| page.pending(selection)).collect();
        // A stable sort: within a file the order is there already.
        out.sort_by(|a, b| a.target.shown.cmp(&b.target.shown));
        out
    }

    /// The undos that can be undone, the oldest first: each with the files that it was about.
    pub fn undos(&self) -> BTreeMap<u64, Vec<Target>> {
        let mut out: BTreeMap<u64, Vec<Target>> = BTreeMap::new();
        for page in self.lock().pages.values() {
            for undone in &page.undos {
                out.entry(undone.undo).or_default().push(page.target.clone());
            }
        }
        out
    }

    /// The person is content with these. Those that are gone with it.
    pub fn keep(&self, selection: &Selection) -> Vec<Pending> {
        let mut book = self.lock();
        let stamp = book.stamped();
        let mut out = Vec::new();
        for page in book.pages.values_mut() {
            let ids = page.selected(selection);
            if ids.is_empty() || page.missing {
                continue;
            }
            let before = page.pending(&Selection::default());
            page.keep(&ids);
            page.stamp = stamp;
            page.dirty = true;
            let after: BTreeSet<String> =
                page.pending(&Selection::default()).into_iter().map(|pending| pending.hunk).collect();
            out.extend(before.into_iter().filter(|pending| !after.contains(&pending.hunk)));
        }
        self.index(&mut book);
        out
    }

    /// The files of what is selected that are not there any more, by nobody's change that is known here, with the names of
    /// the hunks.
    pub fn missing(&self, selection: &Selection) -> Vec<(Target, Vec<String>)> {
        let mut book = self.lock();
        let missing = book.pages.values_mut().filter(|page| page.missing).filter_map(|page| {
            let hunks: Vec<String> = page.selected(selection).into_iter().map(|id| page.name(id)).collect();
            (!hunks.is_empty()).then(|| (page.target.clone(), hunks))
        });
        missing.collect()
    }

    /// What is to be undone, file by file. Changes nothing.
    pub fn draw(&self, selection: &Selection) -> Vec<Drawn> {
        let mut book = self.lock();
        let mut out = Vec::new();
        for (number, page) in &mut book.pages {
            let which = page.selected(selection);
            if which.is_empty() || page.missing {
                continue;
            }
            let fates = page.fates.iter().filter(|fate| which.contains(&fate.id));
            let became = fates.map(|fate| fate.became.clone()).collect();
            let hunks = page.pending(selection);
            let (target, gone, executable) = (page.target.clone(), page.gone, page.executable);
            out.push(Drawn { page: *number, target, which, became, gone, executable, hunks });
        }
        out
    }

    /// What undoing these would make of the text of a file: of this one, or of the one that it has, or had when it was
    /// deleted.
    pub fn undo_of(&self, page: u64, text: Option<&Text>, which: &BTreeSet<MarkId>) -> Option<Undo> {
        Some(self.ledger_at(page, text)?.undo(which))
    }

    /// What undoing an undo would make of it; an error names the call that has changed what it would bring back.
    pub fn redo_of(&self, page: u64, text: Option<&Text>, undo: u64) -> Option<Result<Undo, By>> {
        let number = self.lock().pages.get(&page)?.undos.iter().find(|undone| undone.undo == undo)?.ledger?;
        self.ledger_at(page, text)?.redo(number)
    }

    /// The text of a file as of all that was told; of one that is not there, the one that it had.
    pub fn text_of(&self, page: u64) -> Option<Text> {
        Some(self.lock().pages.get_mut(&page)?.current().text().clone())
    }

    fn ledger_at(&self, page: u64, text: Option<&Text>) -> Option<Ledger> {
        let mut ledger = self.lock().pages.get_mut(&page)?.current().clone();
        if let Some(text) = text.filter(|text| text.rope() != ledger.text().rope()) {
            ledger.resynced(text);
        }
        Some(ledger)
    }

    /// The number of a new undo.
    pub fn number_undo(&self) -> u64 {
        let mut book = self.lock();
        book.undos += 1;
        book.undos
    }

    /// An undo has landed, as `change` where something was to be changed. What was undone, and what stays.
    pub fn undone(&self, drawn: &Drawn, change: Option<&Change>, did: Did, undo: u64) -> (BTreeSet<MarkId>, Vec<Left>) {
        let mut book = self.lock();
        let stamp = book.stamped();
        let Some(page) = book.pages.get_mut(&drawn.page) else { return Default::default() };
        // Of a file that is made again, the text before is the one that it had when it was deleted.
        if let Some(change) = change.filter(|_| did != Did::Created) {
            page.advance(change);
        } else {
            page.current();
        }
        let planned = page.ledger.undo(&drawn.which);
        let (mut undone, left) = (planned.undone.clone(), planned.left.clone());
        let ledger = (!planned.undone.is_empty()).then(|| page.ledger.undone(planned));
        let stays: BTreeSet<MarkId> = left
            .iter()
            .filter_map(|left| match left {
                Left::Under(id, _) => Some(*id),
                Left::User(id, _) => (!undone.contains(id)).then_some(*id),
            })
            .collect();
        let fates: Vec<Fated> =
            page.fates.extract_if(.., |fate| drawn.which.contains(&fate.id) && !stays.contains(&fate.id)).collect();
        undone.extend(fates.iter().map(|fate| fate.id));
        if let Some(change) = change {
            page.runs(change);
        }
        match (change, &did) {
            (Some(change), Did::Created) => {
                page.gone = false;
                page.elsewhere(change.place().clone());
                if page.ledger.text().rope() != change.after.rope() {
                    page.ledger.resynced(&change.after);
                }
            }
            (Some(change), _) => page.landed(change),
            (None, _) => {}
        }
        match &did {
            Did::Deleted | Did::Nothing => page.gone = true,
            Did::Moved { .. } => {
                if let Some(change) = change {
                    page.elsewhere(change.place().clone());
                }
            }
            Did::Text | Did::Created => {}
        }
        page.stamp = stamp;
        page.dirty = true;
        if !undone.is_empty() {
            let made = change.filter(|_| did == Did::Created).map(|change| change.after.to_string());
            let made = made.map(|text| crate::text::hash(&text));
            page.remember(Undone { undo, ledger, fates, did, made });
        }
        self.index(&mut book);
        (undone, left)
    }

    /// What is to be brought back where an undo is undone, file by file. Empty when there is no such undo any more.
    pub fn redraw(&self, undo: u64) -> Vec<Redrawn> {
        let book = self.lock();
        let mut out = Vec::new();
        for (number, page) in &book.pages {
            for undone in page.undos.iter().filter(|undone| undone.undo == undo) {
                let marks = undone.ledger.map(|number| page.ledger.undone_by(number)).unwrap_or_default();
                let ids: BTreeSet<MarkId> = marks.into_iter().chain(undone.fates.iter().map(|fate| fate.id)).collect();
                let hunks = ids.into_iter().map(|id| page.name(id)).collect();
                let (target, did, made) = (page.target.clone(), undone.did.clone(), undone.made.clone());
                let set = undone.fates.iter().rev().find_map(|fate| match fate.became {
                    Became::Executable { now } => Some(now),
                    _ => None,
                });
                let executable = set.or((did == Did::Deleted && page.executable).then_some(true));
                out.push(Redrawn { page: *number, target, did, made, executable, hunks });
            }
        }
        out
    }

    /// The undo of an undo has landed, as `change` where something was to be changed. Of what lines came back, and what
    /// stays as the user has it.
    pub fn redone(&self, page: u64, change: Option<&Change>, undo: u64) -> (BTreeSet<MarkId>, Vec<Left>) {
        let mut book = self.lock();
        let stamp = book.stamped();
        let mut came = (BTreeSet::new(), Vec::new());
        let Some(page) = book.pages.get_mut(&page) else { return came };
        let Some(at) = page.undos.iter().position(|undone| undone.undo == undo) else { return came };
        let Undone { ledger, fates, did, .. } = page.undos.remove(at);
        if let Some(change) = change {
            page.runs(change);
        }
        if let Some(change) = change.filter(|_| did != Did::Created) {
            page.advance(change);
        }
        if let Some(Ok(redo)) = ledger.and_then(|number| page.ledger.redo(number)) {
            came = (redo.undone.clone(), redo.left.clone());
            page.ledger.undone(redo);
        }
        if let Some(change) = change.filter(|_| did != Did::Created) {
            page.landed(change);
        }
        page.fates.extend(fates);
        page.fates.sort_by_key(|fate| fate.id);
        match &did {
            Did::Created | Did::Nothing => page.gone = true,
            Did::Deleted => {
                page.gone = false;
                page.elsewhere(page.target.clone());
            }
            Did::Moved { from } => page.elsewhere(from.clone()),
            Did::Text => {}
        }
        page.stamp = stamp;
        page.dirty = true;
        self.index(&mut book);
        came
    }

    /// What is to be kept from now on and what no longer, by the names of its parts: all that changed since this was
    /// last asked.
    pub fn to_keep(&self) -> Vec<(String, Option<serde_json::Value>)> {
        kept::to_keep(&mut self.lock())
    }

    /// What was kept is here, by the names of its parts. `resolve` finds what a URI means.
    pub fn restore(&self, parts: BTreeMap<String, serde_json::Value>, resolve: impl Fn(&str) -> Option<Target>) {
        let mut book = self.lock();
        kept::restore(&mut book, parts, resolve);
        self.index(&mut book);
    }
}

impl Book {
    fn stamped(&mut self) -> u64 {
        self.stamp += 1;
        self.stamp
    }

    /// The page of a change; a new one where there is none.
    fn page(&mut self, change: &Change, by: &By) -> u64 {
        let key = &change.target.key;
        let gone = || self.pages.iter().rev().find(|(_, page)| page.gone && page.target.key == *key);
        let live = self.live.get(key).copied();
        let came = |number: u64| self.pages.get(&number).is_some_and(|page| page.came_by(by));
        if live.is_some_and(came) && change.fate != Fate::Stays {
            // No call moves a file twice: it is another one, whose name this one has by now.
            let meant = |(other, page): &(By, Page)| other == by && page.target.key == *key;
            if let Some(at) = self.ousted.iter().position(meant) {
                let (_, page) = self.ousted.remove(at);
                let number = page.number;
                self.pages.insert(number, page);
                return number;
            }
        } else if let Some(number) = live.or_else(|| gone().map(|(number, _)| *number)) {
            return number;
        }
        self.last += 1;
        let before = change.before.clone().unwrap_or_else(|| Text::new("", change.after.breaks()));
        let page = Page::new(self.last, change.target.clone(), Ledger::new(before), change.versions.is_some());
        self.pages.insert(self.last, page);
        self.last
    }

    /// Forgets what has nothing in it any more, and what is too much. The numbers and keys of the pages that are gone.
    fn tidy(&mut self) -> Vec<(u64, Key)> {
        let empty = self.pages.extract_if(.., |_, page| page.is_empty());
        let mut forgotten: Vec<(u64, Key)> = empty.map(|(number, page)| (number, page.target.key)).collect();
        while self.pages.len() > PAGES {
            let oldest = self.pages.iter().min_by_key(|(_, page)| page.stamp);
            let Some(number) = oldest.map(|(number, _)| *number) else { break };
            if let Some(page) = self.pages.remove(&number) {
                tracing::warn!(uri = page.target.uri, "too many files to review; this one cannot be undone any more");
                forgotten.push((number, page.target.key));
            }
        }
        forgotten
    }

    /// The list of pages by key is what it would be if it were made anew.
    #[cfg(test)]
    fn check(&self) {
        let live = self.pages.iter().filter(|(_, page)| !page.gone);
        let live: BTreeMap<Key, u64> = live.map(|(number, page)| (page.target.key.clone(), *number)).collect();
        assert_eq!(live, self.live);
    }
}

#[cfg(test)]
#[path = "book_tests.rs"]
mod tests;
