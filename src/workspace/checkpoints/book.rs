//! The ledgers of all texts that agents changed, fed with what happens to documents. No I/O: texts come from outside.
//!
//! What the editor tells is put aside, in its order, and looked at only when somebody asks or a call has changed the
//! text once more, so that typing costs next to nothing here.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{By, Ledger, Mark, MarkId};
use crate::text::{Text, diff};
use crate::workspace::commit::LineSpan;
use crate::workspace::documents::{DocEvent, Step};
use crate::workspace::{Key, Target};

/// At most so many notifications of a document are put aside; past that its text is compared as a whole.
const ASIDE: usize = 512;

/// A change that a call made of one text.
#[derive(Debug, Clone)]
pub struct Change {
    /// Which file or document.
    pub target: Target,
    /// The text before; absent where there was none.
    pub before: Option<Text>,
    /// The text after the change, and before anything the user typed on.
    pub after: Text,
    /// The editor's versions before it and after it; `None` on the disk.
    pub versions: Option<(i32, i32)>,
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

/// A hunk that nobody has judged yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pending {
    /// Its name, the same for as long as it is there.
    pub hunk: String,
    /// The file or document.
    pub target: Target,
    /// The mark: who made it, what stood there before, what the call left.
    pub mark: Mark,
    /// What is there now.
    pub now: String,
    /// Its lines now; for one under a later change, those of that change.
    pub lines: LineSpan,
    /// Who changed the lines once more since, where somebody did.
    pub under: Option<By>,
}

/// All ledgers.
#[derive(Debug, Default)]
pub struct Checkpoints {
    inner: Mutex<Book>,
}

#[derive(Debug, Default)]
struct Book {
    pages: BTreeMap<Key, Page>,
    last: u64,
}

#[derive(Debug)]
struct Page {
    number: u64,
    target: Target,
    ledger: Ledger,
    aside: VecDeque<Seen>,
}

/// What the editor told of a document.
#[derive(Debug)]
struct Seen {
    version: i32,
    /// The steps; none where the whole text is another.
    steps: Option<Arc<[Step]>>,
    after: Text,
}

impl Checkpoints {
    fn lock(&self) -> MutexGuard<'_, Book> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something happened to a document. Only puts it aside.
    pub fn heard(&self, event: &DocEvent) {
        let snapshot = event.snapshot();
        let mut book = self.lock();
        let Some(page) = book.pages.get_mut(&snapshot.key) else { return };
        let steps = match event {
            DocEvent::Changed { steps, .. } => Some(Arc::clone(steps)),
            DocEvent::Opened(_) | DocEvent::Resynced(_) => None,
            DocEvent::Saved(_) | DocEvent::Closed(_) => return,
        };
        if page.aside.len() >= ASIDE {
            page.aside.clear();
            page.aside.push_back(Seen { version: snapshot.version, steps: None, after: snapshot.text.clone() });
        } else {
            page.aside.push_back(Seen { version: snapshot.version, steps, after: snapshot.text.clone() });
        }
    }

    /// A call changed a text. The names of the hunks it left.
    pub fn made(&self, change: &Change, by: &By) -> Vec<String> {
        let mut book = self.lock();
        let page = book.page(change);
        page.advance(change);
        let old = page.ledger.text().to_string();
        let splices = diff::splices(&old, &change.after.to_string());
        let ids = page.ledger.agent(&splices, by);
        page.landed(change);
        let number = page.number;
        ids.into_iter().map(|id| name(number, id)).collect()
    }

    /// The keys of all texts with something to keep or undo.
    pub fn keys(&self) -> Vec<Key> {
        let book = self.lock();
        book.pages.iter().filter(|(_, page)| !page.ledger.is_empty()).map(|(key, _)| key.clone()).collect()
    }

    /// The text of a file is this one now: of a closed file nobody tells how it changed.
    pub fn sync(&self, key: &Key, text: &Text) {
        if let Some(page) = self.lock().pages.get_mut(key) {
            page.catch_up();
            page.be(text);
        }
    }

    /// What nobody has judged yet, by path and place.
    pub fn pending(&self, selection: &Selection) -> Vec<Pending> {
        let mut book = self.lock();
        let mut out = Vec::new();
        for (key, page) in &mut book.pages {
            page.catch_up();
            let ids = page.selected(key, selection);
            let hunks = page.ledger.marks().iter().filter(|mark| ids.contains(&mark.id));
            out.extend(hunks.map(|mark| page.pending(mark)));
        }
        out.sort_by(|a, b| {
            let place = |pending: &Pending| (pending.lines.start, pending.mark.id);
            (&a.target.shown, place(a)).cmp(&(&b.target.shown, place(b)))
        });
        out
    }

    /// The person is content with these. The names of those that are gone with it.
    pub fn keep(&self, selection: &Selection) -> Vec<String> {
        let mut book = self.lock();
        let mut out = Vec::new();
        for (key, page) in &mut book.pages {
            page.catch_up();
            let ids = page.selected(key, selection);
            let number = page.number;
            out.extend(page.ledger.keep(&ids).into_iter().map(|id| name(number, id)));
        }
        out
    }

    /// The ledger of a text and which of its marks are selected, to work out what undoing them would do.
    pub fn undoing(&self, selection: &Selection) -> Vec<(Target, Ledger, BTreeSet<MarkId>)> {
        let mut book = self.lock();
        let mut out = Vec::new();
        for (key, page) in &mut book.pages {
            page.catch_up();
            let ids = page.selected(key, selection);
            if !ids.is_empty() {
                out.push((page.target.clone(), page.ledger.clone(), ids));
            }
        }
        out
    }

    /// An undo of marks has landed as `change`. The number of the undo, by which it can be undone.
    pub fn undone(&self, change: &Change, which: &BTreeSet<MarkId>) -> Option<u64> {
        self.settled(change, |ledger| Some(ledger.undo(which)))
    }

    /// The undo of an undo has landed as `change`.
    pub fn redone(&self, change: &Change, undo: u64) -> Option<u64> {
        self.settled(change, |ledger| ledger.redo(undo)?.ok())
    }

    fn settled(&self, change: &Change, plan: impl FnOnce(&Ledger) -> Option<super::Undo>) -> Option<u64> {
        let mut book = self.lock();
        let page = book.pages.get_mut(&change.target.key)?;
        page.advance(change);
        let number = plan(&page.ledger).map(|undo| page.ledger.undone(undo));
        page.landed(change);
        number
    }
}

impl Book {
    fn page(&mut self, change: &Change) -> &mut Page {
        let last = &mut self.last;
        self.pages.entry(change.target.key.clone()).or_insert_with(|| {
            *last += 1;
            let before = change.before.clone().unwrap_or_else(|| Text::new("", change.after.breaks()));
            Page { number: *last, target: change.target.clone(), ledger: Ledger::new(before), aside: VecDeque::new() }
        })
    }
}

impl Page {
    /// Takes in all that was put aside.
    fn catch_up(&mut self) {
        while let Some(seen) = self.aside.pop_front() {
            self.take(&seen);
        }
    }

    fn take(&mut self, seen: &Seen) {
        for step in seen.steps.iter().flat_map(|steps| steps.iter()) {
            self.ledger.user(std::slice::from_ref(&step.splice));
        }
        self.be(&seen.after);
    }

    /// The text is this one, however it came to be.
    fn be(&mut self, text: &Text) {
        if self.ledger.text().rope() != text.rope() {
            self.ledger.resynced(text);
        }
    }

    /// Brings the ledger to the text that a change was computed against, and leaves out the notifications of the change
    /// itself.
    fn advance(&mut self, change: &Change) {
        if let Some((before, _)) = change.versions {
            // A document that was opened again counts from the start: what belongs together is what comes last.
            let end = self.aside.iter().rposition(|seen| seen.version <= before && seen.fits(change));
            for seen in self.aside.drain(..end.map_or(0, |last| last + 1)).collect::<Vec<_>>() {
                self.take(&seen);
            }
        }
        match &change.before {
            Some(before) => self.be(before),
            None => self.be(&Text::new("", change.after.breaks())),
        }
    }

    /// The change is in the ledger; what the user typed in the same notification comes behind it.
    fn landed(&mut self, change: &Change) {
        self.be(&change.after);
        let Some((_, after)) = change.versions else { return };
        let echo = self.aside.iter().take_while(|seen| seen.version <= after).count();
        let last = self.aside.drain(..echo).next_back();
        if let Some(last) = last {
            self.be(&last.after);
        }
    }

    fn selected(&self, key: &Key, selection: &Selection) -> BTreeSet<MarkId> {
        let Selection { session, turn, call, key: file, hunk } = selection;
        let fits = |wanted: &Option<String>, found: Option<&str>| wanted.is_none() || wanted.as_deref() == found;
        if file.as_ref().is_some_and(|file| file != key) {
            return BTreeSet::new();
        }
        let marks = self.ledger.marks().iter().filter(|mark| {
            fits(session, Some(&mark.by.session))
                && fits(turn, mark.by.turn.as_deref())
                && fits(call, Some(&mark.by.call))
                && fits(hunk, Some(&name(self.number, mark.id)))
        });
        marks.map(|mark| mark.id).collect()
    }

    fn pending(&self, mark: &Mark) -> Pending {
        let mut top = mark;
        while let Some(over) = top.under.and_then(|over| self.ledger.marks().iter().find(|mark| mark.id == over)) {
            top = over;
        }
        let text = self.ledger.text();
        let now = text.slice(top.at.clone());
        let lines = LineSpan { start: text.line_of(top.at.start) + 1, count: diff::lines(&now).len() };
        let under = (top.id != mark.id).then(|| top.by.clone());
        Pending { hunk: name(self.number, mark.id), target: self.target.clone(), mark: mark.clone(), now, lines, under }
    }
}

impl Seen {
    /// Whether this is the text that a change was computed against.
    fn fits(&self, change: &Change) -> bool {
        change.before.as_ref().is_some_and(|before| before.rope() == self.after.rope())
    }
}

fn name(page: u64, mark: MarkId) -> String {
    format!("{page}.{mark}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{LineBreaks, Range, TextEdit};
    use crate::workspace::Documents;
    use crate::workspace::documents::ContentChange;

    struct Desk {
        documents: Documents,
        book: Arc<Checkpoints>,
        target: Target,
    }

    impl Desk {
        fn open(text: &str) -> Desk {
            let documents = Documents::new();
            let book = Arc::new(Checkpoints::default());
            let heard = Arc::clone(&book);
            documents.listen(Box::new(move |event| heard.heard(event)));
            let key = Key::Unnamed("untitled:a".into());
            documents.open(key.clone(), "untitled:a", "text", 1, text);
            let target = Target { key, uri: "untitled:a".into(), shown: "a".into(), paths: Vec::new(), inside: true };
            Desk { documents, book, target }
        }

        fn text(&self) -> Text {
            self.documents.get(&self.target.key).unwrap().text
        }

        fn now(&self) -> String {
            self.text().to_string()
        }

        fn version(&self) -> i32 {
            self.documents.get(&self.target.key).unwrap().version
        }

        /// The editor tells of a change that makes the text another one, as one notification.
        fn tell(&self, texts: &[&str]) {
            let mut text = self.text();
            let mut changes = Vec::new();
            for wanted in texts {
                let splices = diff::splices(&text.to_string(), wanted);
                for splice in splices.iter().rev() {
                    let TextEdit { range, new_text }: TextEdit = text.edit_of(splice, crate::text::Encoding::Utf16);
                    let range: Range = range;
                    changes.push(ContentChange { range: Some(range), text: new_text });
                }
                text = text.spliced(&splices);
            }
            self.documents.change(&self.target.key, self.version() + 1, changes);
        }

        /// A call's edit lands; `typed` is what the user made of the text in the same notification.
        fn agent(&self, call: &str, after: &str, typed: Option<&str>) -> Vec<String> {
            let (before, version) = (self.text(), self.version());
            let texts: Vec<&str> = std::iter::once(after).chain(typed).collect();
            self.tell(&texts);
            let change = Change {
                target: self.target.clone(),
                before: Some(before),
                after: Text::new(after, LineBreaks::Lf),
                versions: Some((version, self.version())),
            };
            let by = By { session: "s".into(), turn: None, call: call.into() };
            self.book.made(&change, &by)
        }

        fn undo(&self, selection: &Selection) -> Option<u64> {
            let (_, ledger, which) = self.book.undoing(selection).pop()?;
            let undo = ledger.undo(&which);
            let (before, version) = (self.text(), self.version());
            let after = undo.text.to_string();
            self.tell(&[&after]);
            let change = Change {
                target: self.target.clone(),
                before: Some(before),
                after: undo.text,
                versions: Some((version, self.version())),
            };
            self.book.undone(&change, &which)
        }
    }

    fn call(name: &str) -> Selection {
        Selection { call: Some(name.into()), ..Selection::default() }
    }

    #[test]
    fn typing_and_calls_interleave() {
        let desk = Desk::open("a\nb\nc\n");
        assert_eq!(desk.agent("A", "a\nB\nc\n", None), ["1.1"]);
        desk.tell(&["a\nB\nc\nuser\n"]);
        desk.tell(&["top\na\nB\nc\nuser\n"]);
        assert_eq!(desk.agent("B", "top\na\nB\nC\nuser\n", Some("top\na\nB\nC\nuser2\n")), ["1.2"]);
        let pending = desk.book.pending(&Selection::default());
        let told: Vec<_> = pending.iter().map(|one| (one.hunk.as_str(), one.lines.start, one.now.as_str())).collect();
        assert_eq!(told, [("1.1", 3, "B\n"), ("1.2", 4, "C\n")]);
        assert_eq!(desk.undo(&call("A")), Some(1));
        assert_eq!(desk.now(), "top\na\nb\nC\nuser2\n");
        assert_eq!(desk.undo(&call("B")), Some(2));
        assert_eq!(desk.now(), "top\na\nb\nc\nuser2\n");
        assert!(desk.book.pending(&Selection::default()).is_empty());
    }

    #[test]
    fn kept_hunks_are_gone_and_others_stay() {
        let desk = Desk::open("a\nb\nc\nd\ne\n");
        desk.agent("A", "a\nB\nc\nD\ne\n", None);
        let hunk = |name: &str| Selection { hunk: Some(name.into()), ..Selection::default() };
        assert_eq!(desk.book.keep(&hunk("1.1")), ["1.1"]);
        desk.undo(&Selection { session: Some("s".into()), ..Selection::default() });
        assert_eq!(desk.now(), "a\nB\nc\nd\ne\n");
        assert_eq!(desk.book.keep(&hunk("1.1")), Vec::<String>::new());
        assert!(desk.undo(&Selection { session: Some("other".into()), ..Selection::default() }).is_none());
    }

    #[test]
    fn too_much_typing_is_compared_as_a_whole() {
        let desk = Desk::open("a\nb\n");
        desk.agent("A", "a\nB\n", None);
        for number in 0..ASIDE * 2 + 3 {
            desk.tell(&[&format!("a {number}\nB\n")]);
        }
        desk.undo(&call("A"));
        assert_eq!(desk.now(), format!("a {}\nb\n", ASIDE * 2 + 2));
    }
}
