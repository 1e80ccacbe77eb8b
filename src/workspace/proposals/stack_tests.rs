//! Tables of what a session proposes for several files.

use super::super::kept::Kept;
use super::*;
use crate::text::LineBreaks;

fn text(text: &str) -> Text {
    Text::new(text, LineBreaks::Lf)
}

fn target(name: &str) -> Target {
    Target {
        key: key(name),
        uri: format!("file:///{name}"),
        shown: name.to_owned(),
        paths: vec![format!("/{name}").into()],
        inside: true,
    }
}

fn key(name: &str) -> Key {
    Key::File(format!("/{name}").into())
}

fn by(call: &str) -> By {
    By { session: "s".into(), turn: Some("t".into()), call: call.into() }
}

/// A call proposes that a file begins with a new line.
fn put(stack: &mut Stack, call: &str, name: &str, line: &str, fate: &Fate) -> Result<Vec<String>, Refusal> {
    let real = text("one\ntwo\n");
    let splices = if line.is_empty() { vec![] } else { vec![Splice { range: 0..0, text: format!("{line}\n") }] };
    let (target, real) = (target(name), (!name.starts_with("new")).then_some(&real));
    let change = Proposed { target: &target, fate, real, splices: &splices, empty: text("") };
    stack.propose(&change, &by(call))
}

fn seen(stack: &Stack, name: &str) -> String {
    match stack.over(&key(name)) {
        Over::Nothing => "as it is".to_owned(),
        Over::Hidden(None) => "gone".to_owned(),
        Over::Hidden(Some(to)) => format!("moved to {}", to.shown),
        Over::Text(text) => text.to_string(),
    }
}

fn stack() -> Stack {
    let mut stack = Stack::default();
    put(&mut stack, "c1", "a", "zero", &Fate::Stays).unwrap();
    put(&mut stack, "c1", "new", "zero", &Fate::Stays).unwrap();
    put(&mut stack, "c2", "b", "", &Fate::Deleted).unwrap();
    put(&mut stack, "c3", "c", "zero", &Fate::Moved { to: target("d") }).unwrap();
    stack
}

#[test]
fn each_name_shows_what_is_proposed_under_it() {
    let stack = stack();
    for (name, expected) in [
        ("a", "zero\none\ntwo\n"),
        ("new", "zero\n"),
        ("b", "gone"),
        ("c", "moved to d"),
        ("d", "zero\none\ntwo\n"),
        ("e", "as it is"),
    ] {
        assert_eq!(seen(&stack, name), expected, "{name}");
    }
    let mut names: Vec<&str> = stack.names().map(|target| target.shown.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["a", "b", "c", "d", "new"]);
}

#[test]
fn what_follows_builds_on_it() {
    let mut stack = stack();
    assert_eq!(put(&mut stack, "c4", "d", "more", &Fate::Stays).unwrap(), ["p4.2"]);
    assert_eq!(seen(&stack, "d"), "more\nzero\none\ntwo\n");
    assert!(put(&mut stack, "c4", "c", "x", &Fate::Stays).is_err());
    put(&mut stack, "c4", "b", "again", &Fate::Stays).unwrap();
    assert_eq!(seen(&stack, "b"), "again\n");
    put(&mut stack, "c4", "new", "", &Fate::Moved { to: target("new2") }).unwrap();
    assert_eq!((seen(&stack, "new"), seen(&stack, "new2")), ("as it is".into(), "zero\n".into()));
    put(&mut stack, "c4", "new2", "", &Fate::Deleted).unwrap();
    assert_eq!(seen(&stack, "new2"), "as it is");
}

#[test]
fn hunks_are_chosen_by_all_that_is_named() {
    let stack = stack();
    let chosen = |hunk: Option<&str>, call: Option<&str>, name: Option<&str>| {
        let selector = Selector { hunk: hunk.map(str::to_owned), call: call.map(str::to_owned), key: name.map(key) };
        let picked = stack.select(&selector).unwrap_or_default();
        picked.into_iter().map(|(number, pick)| format!("{number}:{}{:?}", pick.fate, pick.marks)).collect::<Vec<_>>()
    };
    assert_eq!(chosen(None, Some("c1"), None), ["1:false{1}", "2:true{1}"]);
    assert_eq!(chosen(None, None, Some("d")), ["4:true{1}"]);
    assert_eq!(chosen(None, None, Some("c")), ["4:true{1}"]);
    assert_eq!(chosen(Some("p4.0"), None, None), ["4:true{}"]);
    assert_eq!(chosen(Some("p4.1"), Some("c3"), None), ["4:false{1}"]);
    for (hunk, call, name) in [
        (Some("p9.1"), None, None),
        (Some("p1.0"), None, None),
        (Some("p4.1"), Some("c1"), None),
        (None, None, Some("e")),
    ] {
        assert!(chosen(hunk, call, name).is_empty(), "{hunk:?} {call:?} {name:?}");
    }
}

#[test]
fn nothing_else_happens_to_what_is_being_accepted() {
    let mut stack = stack();
    stack.begin(1);
    assert!(put(&mut stack, "c4", "a", "x", &Fate::Stays).is_err());
    assert!(stack.select(&Selector { key: Some(key("a")), ..Selector::default() }).is_err());
    assert!(!stack.rebase(&key("a"), Some(&text("zero\none\ntwo\n"))));
    let draft = stack.draft(1).unwrap().clone();
    assert_eq!(stack.accepted(&draft, &draft.all(), Some(&text("one\ntwo\n"))), ["p1.1"]);
    assert_eq!(seen(&stack, "a"), "as it is");
}

#[test]
fn news_are_told_once_and_bounded() {
    let mut stack = stack();
    for number in 0..MAX_NEWS + 2 {
        stack.tell(format!("{number}"));
    }
    let told = stack.take_news();
    assert_eq!(
        (told.len(), told[0].as_str(), told[1].as_str()),
        (MAX_NEWS + 1, "2 older pieces of news about what you proposed are left out", "2")
    );
    assert!(stack.take_news().is_empty());
}

#[test]
fn a_restart_loses_nothing() {
    let stack = stack();
    let json = serde_json::to_value(Kept::of(&stack)).unwrap();
    let mut back = serde_json::from_value::<Kept>(json).unwrap().stack(LineBreaks::Lf);
    for name in ["a", "b", "c", "d", "new"] {
        assert_eq!(seen(&back, name), seen(&stack, name), "{name}");
    }
    let hunks = |stack: &Stack| stack.pending().into_iter().flat_map(|(_, hunks)| hunks).collect::<Vec<_>>();
    assert_eq!(hunks(&back), hunks(&stack));
    assert_eq!(put(&mut back, "c9", "z", "x", &Fate::Stays).unwrap(), ["p5.1"]);
}
