//! The book, driven by documents that really change.

use std::sync::Arc;

use super::super::page::{ASIDE, Kind};
use super::*;
use crate::text::{LineBreaks, Range, TextEdit, diff};
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
        let change = change(&self.target, before, Text::new(after, LineBreaks::Lf), (version, self.version()));
        let names = self.book.made(&change, &by(call));
        self.book.sync(&self.documents.get(&self.target.key).unwrap());
        names
    }

    fn pending(&self) -> Vec<(String, usize, String)> {
        let pending = self.book.pending(&Selection::default());
        pending.into_iter().map(|one| (one.hunk, one.lines.start, one.now)).collect()
    }

    fn undo(&self, selection: &Selection) -> Option<u64> {
        let drawn = self.book.draw(selection).pop()?;
        let undo = self.book.undo_of(drawn.page, Some(&self.text()), &drawn.which).unwrap();
        let (before, version) = (self.text(), self.version());
        let after = undo.text.to_string();
        self.tell(&[&after]);
        let change = change(&self.target, before, undo.text, (version, self.version()));
        let number = self.book.number_undo();
        let (undone, _) = self.book.undone(&drawn, Some(&change), Did::Text, number);
        (!undone.is_empty()).then_some(number)
    }
}

fn change(target: &Target, before: Text, after: Text, versions: (i32, i32)) -> Change {
    let splices = diff::splices(&before.to_string(), &after.to_string());
    Change {
        target: target.clone(),
        fate: Fate::Stays,
        before: Some(before),
        after,
        splices,
        versions: Some(versions),
        executable: None,
    }
}

fn by(call: &str) -> By {
    By { session: "s".into(), turn: None, call: call.into(), accepted: false }
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
    let kept = |name: &str| desk.book.keep(&hunk(name)).into_iter().map(|one| one.hunk).collect::<Vec<_>>();
    assert_eq!(kept("1.1"), ["1.1"]);
    desk.undo(&Selection { session: Some("s".into()), ..Selection::default() });
    assert_eq!(desk.now(), "a\nB\nc\nd\ne\n");
    assert_eq!(kept("1.1"), Vec::<String>::new());
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

#[test]
fn asking_while_an_edit_is_on_its_way_does_not_make_it_the_users() {
    let desk = Desk::open("a\nb\nc\n");
    desk.agent("A", "A\nb\nc\n", None);
    let (before, version) = (desk.text(), desk.version());
    desk.tell(&["A\nb\nC\n"]);
    // The echo has come, and nobody knows yet that it is one.
    assert_eq!(desk.pending().len(), 1);
    desk.tell(&["A\nb\nC\nuser\n"]);
    assert_eq!(desk.pending().len(), 1);
    let after = Text::new("A\nb\nC\n", LineBreaks::Lf);
    desk.book.made(&change(&desk.target, before, after, (version, version + 1)), &by("B"));
    assert_eq!(desk.pending(), [("1.1".into(), 1, "A\n".into()), ("1.2".into(), 3, "C\n".into())]);
    desk.undo(&call("B"));
    assert_eq!(desk.now(), "A\nb\nc\nuser\n");
}

#[test]
fn what_a_formatter_adds_is_the_calls() {
    let desk = Desk::open("a=1\nb\nc=3\n");
    desk.agent("A", "a=2\nb\nc=3\n", None);
    let (before, version) = (desk.text(), desk.version());
    desk.tell(&["a = 2\nb\nc = 3\n"]);
    let after = desk.text();
    desk.book.folded(&change(&desk.target, before, after, (version, version + 1)), &by("A"));
    assert_eq!(desk.pending(), [("1.1".into(), 1, "a = 2\n".into()), ("1.3".into(), 3, "c = 3\n".into())]);
    desk.undo(&call("A"));
    assert_eq!(desk.now(), "a=1\nb\nc=3\n");
}

fn file(path: &str) -> Target {
    Target {
        key: Key::File(path.into()),
        uri: format!("file://{path}"),
        shown: path.trim_start_matches('/').into(),
        paths: vec![path.into()],
        inside: true,
    }
}

/// A change on the disk.
fn on_disk(path: &str, fate: Fate, before: Option<&str>, after: &str) -> Change {
    let text = |text: &str| Text::new(text, LineBreaks::Lf);
    Change {
        target: file(path),
        fate,
        before: before.map(text),
        after: text(after),
        splices: diff::splices(before.unwrap_or_default(), after),
        versions: None,
        executable: None,
    }
}

fn told(book: &Checkpoints) -> Vec<String> {
    let pending = book.pending(&Selection::default());
    pending.into_iter().map(|one| format!("{} {} {:?} {:?}", one.hunk, one.target.shown, one.kind, one.now)).collect()
}

#[test]
fn files_that_swap_names_take_their_changes_along() {
    for known in [true, false] {
        let book = Checkpoints::default();
        book.made(&on_disk("/a", Fate::Stays, Some("a\n"), "A\n"), &by("A"));
        if known {
            book.made(&on_disk("/b", Fate::Stays, Some("b\n"), "B\n"), &by("B"));
        }
        let swap = |from: &str, to: &str, text: &str| {
            book.made(&on_disk(from, Fate::Moved { to: file(to) }, Some(text), text), &by("S"));
        };
        swap("/a", "/b", "A\n");
        swap("/b", "/a", "B\n");
        let moved = |from: &str| Kind::File(Became::Moved { from: file(from) });
        let mut there: Vec<(String, Kind)> =
            book.pending(&Selection::default()).into_iter().map(|one| (one.target.shown, one.kind)).collect();
        let mut expected = vec![("a".to_owned(), moved("/b")), ("b".to_owned(), moved("/a"))];
        expected.push(("b".to_owned(), Kind::Changed));
        if known {
            expected.push(("a".to_owned(), Kind::Changed));
        }
        let order = |one: &(String, Kind)| format!("{one:?}");
        there.sort_by_key(order);
        expected.sort_by_key(order);
        assert_eq!(there, expected, "{known}");
    }
}

#[test]
fn files_are_made_moved_and_deleted_and_all_of_it_is_undone() {
    let book = Checkpoints::default();
    book.made(&on_disk("/new", Fate::Stays, None, "n\n"), &by("A"));
    book.made(&on_disk("/old", Fate::Moved { to: file("/to") }, Some("a\nb\n"), "a\nB\n"), &by("B"));
    book.made(&on_disk("/gone", Fate::Deleted, Some("g\n"), ""), &by("C"));
    let from = format!("File(Moved {{ from: {:?} }})", file("/old"));
    let all = told(&book);
    assert_eq!(
        all,
        [
            "3.1 gone File(Deleted) \"\"".to_owned(),
            "1.1 new File(Created) \"n\\n\"".to_owned(),
            format!("2.2 to {from} \"\""),
            "2.1 to Changed \"B\\n\"".to_owned(),
        ]
    );
    let undo = |call_name: &str, change: Option<&Change>, did: Did| {
        let drawn = book.draw(&call(call_name)).pop().unwrap();
        let number = book.number_undo();
        let (undone, left) = book.undone(&drawn, change, did, number);
        assert!(!undone.is_empty() && left.is_empty(), "{call_name}");
        number
    };
    // The text of each, as an undo of everything would have it.
    let texts: Vec<String> = book
        .draw(&Selection::default())
        .iter()
        .map(|drawn| book.undo_of(drawn.page, None, &drawn.which).unwrap().text.to_string())
        .collect();
    assert_eq!(texts, ["", "a\nb\n", "g\n"]);
    let created = undo("A", Some(&on_disk("/new", Fate::Deleted, Some("n\n"), "")), Did::Deleted);
    let back = on_disk("/to", Fate::Moved { to: file("/old") }, Some("a\nB\n"), "a\nb\n");
    let moved = undo("B", Some(&back), Did::Moved { from: file("/to") });
    let deleted = undo("C", Some(&on_disk("/gone", Fate::Stays, None, "g\n")), Did::Created);
    assert_eq!(told(&book), Vec::<String>::new());
    assert_eq!(book.redraw(deleted)[0].made, Some(crate::text::hash("g\n")));
    // All of it is kept, and known again afterwards.
    let parts: BTreeMap<String, serde_json::Value> =
        book.to_keep().into_iter().map(|(part, value)| (part, value.unwrap())).collect();
    assert_eq!(parts.len(), 3);
    let book = Checkpoints::default();
    book.restore(parts, |uri| Some(file(uri.strip_prefix("file://").unwrap())));
    let text = Text::new("", LineBreaks::Lf);
    let redone = book.redo_of(book.redraw(created)[0].page, Some(&text), created).unwrap().unwrap();
    assert_eq!(redone.text.to_string(), "n\n");
    book.redone(book.redraw(created)[0].page, Some(&on_disk("/new", Fate::Stays, None, "n\n")), created);
    let again = on_disk("/old", Fate::Moved { to: file("/to") }, Some("a\nb\n"), "a\nB\n");
    book.redone(book.redraw(moved)[0].page, Some(&again), moved);
    book.redone(book.redraw(deleted)[0].page, Some(&on_disk("/gone", Fate::Deleted, Some("g\n"), "")), deleted);
    assert_eq!(told(&book), all);
    assert!(book.undos().is_empty());
}

#[test]
fn a_file_that_is_deleted_and_made_again_has_changed() {
    let book = Checkpoints::default();
    book.made(&on_disk("/a", Fate::Deleted, Some("one\ntwo\n"), ""), &by("A"));
    book.made(&on_disk("/a", Fate::Stays, None, "one\n2\n"), &by("B"));
    assert_eq!(told(&book), ["1.2 a Changed \"2\\n\""]);
    let drawn = book.draw(&Selection::default()).pop().unwrap();
    assert_eq!(book.undo_of(drawn.page, None, &drawn.which).unwrap().text.to_string(), "one\ntwo\n");
}

#[test]
fn a_closed_file_is_followed_from_what_it_was_to_what_it_is() {
    let book = Checkpoints::default();
    book.made(&on_disk("/a", Fate::Stays, Some("a\nb\nc\n"), "a\nB\nc\n"), &by("A"));
    let page = book.places(&Selection::default())[0].0;
    book.sync_closed(page, Some(&Text::new("0\na\nB\nc\n", LineBreaks::Lf)));
    assert_eq!(book.pending(&Selection::default())[0].lines.start, 3);
    book.sync_closed(page, None);
    assert_eq!(told(&book), Vec::<String>::new(), "the file is not there");
    assert!(book.draw(&Selection::default()).is_empty());
    book.sync_closed(page, Some(&Text::new("a\nB\nc\n", LineBreaks::Lf)));
    assert_eq!(told(&book), ["1.1 a Changed \"B\\n\""]);
}

#[test]
fn what_is_kept_is_bounded_and_broken_parts_cost_only_themselves() {
    let book = Checkpoints::default();
    let long = "x".repeat(900 << 10);
    for number in 0..30 {
        let path = format!("/{number}");
        book.made(&on_disk(&path, Fate::Stays, Some(&long), &format!("{long}{number}")), &by("A"));
        book.to_keep();
    }
    // Each has its text, and its line before and after: too much for one.
    assert!(book.lock().kept.is_empty());
    let long = format!("{}\n", "y".repeat(99)).repeat(5000);
    for number in 0..50 {
        let path = format!("/kept{number}");
        book.made(&on_disk(&path, Fate::Stays, Some(&long), &format!("{long}{number}")), &by("A"));
        book.to_keep();
    }
    let kept = book.lock().kept.clone();
    let all: usize = kept.values().map(|(_, len)| len).sum();
    assert!(all <= 16 << 20 && kept.len() > 20, "{all} {}", kept.len());
    assert!(!kept.contains_key(&31) && kept.contains_key(&80), "the oldest gave way");
    let book = Checkpoints::default();
    let parts = BTreeMap::from([("a".to_owned(), serde_json::json!({ "number": 1 }))]);
    book.restore(parts, |uri| Some(file(uri)));
    assert_eq!(told(&book), Vec::<String>::new());
}
