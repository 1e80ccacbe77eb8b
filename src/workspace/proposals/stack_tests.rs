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
    By { session: "s".into(), turn: Some("t".into()), call: call.into(), accepted: false }
}

/// A call proposes that a file begins with a new line.
fn put(stack: &mut Stack, call: &str, name: &str, line: &str, fate: &Fate) -> Result<Vec<String>, Refusal> {
    let real = text("one\ntwo\n");
    let splices = if line.is_empty() { vec![] } else { vec![Splice { range: 0..0, text: format!("{line}\n") }] };
    let (target, real) = (target(name), (!name.starts_with("new")).then_some(&real));
    let (target, splices, empty, standing) = (&target, &splices, text(""), Standing::default());
    stack.propose(&Proposed { target, fate, runs: None, real, splices, empty, standing }, &by(call))
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
    assert!(!stack.rebase(&key("a"), Some(&text("zero\none\ntwo\n")), Standing::default()));
    let draft = stack.draft(1).unwrap().clone();
    assert_eq!(stack.accepted(&draft, &draft.all(), Some(&text("one\ntwo\n"))), ["p1.1"]);
    assert_eq!(seen(&stack, "a"), "as it is");
}

#[test]
fn what_was_in_doubt_is_accepted_once_it_is_seen() {
    // A line is put in, one is another, one goes; then the editor shows it late, with what the user typed before and after.
    for (line, landed) in
        [("one\nnew\ntwo\nthree\n", true), ("one\n2\nthree\n", true), ("one\nthree\n", true), ("", false)]
    {
        let mut stack = Stack::default();
        let typed = "zero\none\ntwo\nthree\n";
        let base = text("one\ntwo\nthree\n");
        let proposed = if landed { line } else { "one\nnew\ntwo\nthree\n" };
        let propose = |stack: &mut Stack, call: &str, to: &str| {
            let Over::Text(now) = stack.over(&key("a")) else { return propose_over(stack, call, &base, to) };
            propose_over(stack, call, &now, to);
        };
        propose(&mut stack, "c1", proposed);
        let number = stack.drafts[0].number;
        let (draft, pick) = (stack.drafts[0].clone(), stack.drafts[0].all());
        stack.doubt(Doubt { draft, pick, edited: false, words: "it is there".into() });
        stack.rebase(&key("a"), Some(&text(typed)), Standing::default());
        assert_eq!((stack.drafts.len(), stack.take_news()), (1, Vec::new()), "{line:?}");
        // What is proposed meanwhile stays proposed.
        let more = seen(&stack, "a").replace("three", "3");
        propose(&mut stack, "c2", &more);
        let real = if landed { format!("zero\n{proposed}four\n") } else { format!("{typed}four\n") };
        stack.rebase(&key("a"), Some(&text(&real)), Standing::default());
        let news = stack.take_news();
        assert_eq!(news, if landed { vec!["it is there".to_owned()] } else { Vec::new() }, "{line:?}");
        assert_eq!(stack.drafts[0].hunks().len(), if landed { 1 } else { 2 }, "{line:?}");
        assert_eq!(stack.drafts[0].number, number);
        let expected = format!("zero\n{proposed}four\n").replace("three", "3");
        assert_eq!(seen(&stack, "a"), expected, "{line:?}");
    }
}

fn propose_over(stack: &mut Stack, call: &str, now: &Text, to: &str) {
    let splices = crate::text::diff::splices(&now.to_string(), to);
    let (target, empty, fate) = (target("a"), text(""), Fate::Stays);
    let real = stack.drafts.first().and_then(|draft| draft.base.clone()).unwrap_or_else(|| now.clone());
    let standing = Standing::default();
    let (target, fate, real, splices) = (&target, &fate, Some(&real), &splices);
    let proposed = Proposed { target, fate, runs: None, real, splices, empty, standing };
    stack.propose(&proposed, &by(call)).unwrap();
}

#[test]
fn a_mode_outlives_a_restart_and_is_judged_by_its_name() {
    let mut stack = Stack::default();
    let (target, real, standing) = (target("a"), text("one\n"), Standing::default());
    let moded = |stack: &mut Stack, runs: bool| {
        let proposed = Proposed {
            target: &target,
            fate: &Fate::Stays,
            runs: Some(runs),
            real: Some(&real),
            splices: &[],
            empty: text(""),
            standing,
        };
        stack.propose(&proposed, &by("c1")).unwrap()
    };
    assert_eq!(moded(&mut stack, true), ["p1.mode"]);
    let json = serde_json::to_value(Kept::of(&stack)).unwrap();
    let mut again = serde_json::from_value::<Kept>(json).unwrap().stack(LineBreaks::Lf);
    assert_eq!(again.file_and_mode(&target), (target.clone(), Some(true)));
    let named = |hunk: &str| Selector { hunk: Some(hunk.to_owned()), ..Selector::default() };
    assert!(again.select(&named("p1.0")).is_err() && again.select(&named("p1.1")).is_err());
    let picked = again.select(&named("p1.mode")).unwrap();
    let (number, pick) = &picked[0];
    // While it is on its way into the file, a look at this leaves it there for the one who put it there.
    let draft = again.draft(*number).unwrap().clone();
    again.begin(*number);
    let runs = Standing { runs: true, ..standing };
    assert!(!again.rebase(&key("a"), Some(&real), runs));
    assert_eq!(again.accepted(&draft, pick, Some(&real)), ["p1.mode"]);
    assert!(again.drafts.is_empty());
    // Seen there by itself, it is proposed no more, and so is nothing of the file.
    moded(&mut again, true);
    assert!(again.rebase(&key("a"), Some(&real), runs) && again.drafts.is_empty());
    // As it is already: nothing is proposed.
    assert_eq!(moded(&mut again, false), [""; 0]);
    assert!(again.drafts.is_empty());
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
fn a_copy_takes_the_place_of_its_own_stack_only() {
    let mut first = Stack::newborn(1, 0);
    let mut copy = first.clone();
    put(&mut copy, "c1", "a", "zero", &Fate::Stays).unwrap();
    let mut next = Stack::newborn(2, 1);
    assert!(!next.become_as(copy.clone()));
    assert_eq!(seen(&next, "a"), "as it is");
    assert!(first.become_as(copy));
    assert_eq!(seen(&first, "a"), "zero\none\ntwo\n");
    // Numbers go on.
    assert_eq!(put(&mut next, "c1", "a", "zero", &Fate::Stays).unwrap(), ["p2.1"]);
}

#[test]
fn what_a_document_had_before_a_restart_is_waited_for() {
    let mut stack = Stack::newborn(1, 0);
    let (target, real) = (target("a"), text("mine\n"));
    let splices = [Splice { range: 0..4, text: "theirs".into() }];
    let standing = Standing { open: true, unsaved: true, runs: false };
    let change = Proposed {
        target: &target,
        fate: &Fate::Stays,
        runs: None,
        real: Some(&real),
        splices: &splices,
        empty: text(""),
        standing,
    };
    stack.propose(&change, &by("c1")).unwrap();
    let kept = |stack: &Stack| {
        let json = serde_json::to_value(Kept::of(stack)).unwrap();
        serde_json::from_value::<Kept>(json).unwrap().stack(LineBreaks::Lf)
    };
    let (closed, open) = (Standing::default(), Standing { open: true, unsaved: false, runs: false });
    for (looks, expected, news) in [
        // The file never had it; the editor opens the document again as it was.
        (vec![(Some("saved\n"), closed), (None, closed), (Some("mine\n"), standing)], "theirs\n", 0),
        // Or with another text: then that is what counts, and from then on also of the file.
        (vec![(Some("saved\n"), closed), (Some("saved\n"), open)], "as it is", 1),
        (vec![(Some("mine\n"), open), (Some("saved\n"), closed)], "as it is", 1),
        // What fits is no reason to wait.
        (vec![(Some("more\nmine\n"), closed)], "more\ntheirs\n", 0),
    ] {
        let mut back = kept(&stack);
        for (real, standing) in &looks {
            back.rebase(&key("a"), real.map(text).as_ref(), *standing);
        }
        assert_eq!((seen(&back, "a").as_str(), back.take_news().len()), (expected, news), "{looks:?}");
    }
    // Of what was on the disk, the disk tells.
    stack.rebase(&key("a"), Some(&real), Standing { open: true, unsaved: false, runs: false });
    let mut back = kept(&stack);
    assert!(back.rebase(&key("a"), Some(&text("saved\n")), closed));
    assert_eq!((seen(&back, "a").as_str(), back.take_news().len()), ("as it is", 1));
}

#[test]
fn what_is_too_much_for_a_restart_is_told_and_costs_nothing_else() {
    let mut stack = Stack::newborn(1, 0);
    put(&mut stack, "c1", "a", "zero", &Fate::Stays).unwrap();
    put(&mut stack, "c1", "b", &"x".repeat(5 << 20), &Fate::Stays).unwrap();
    put(&mut stack, "c1", "c", "zero", &Fate::Stays).unwrap();
    stack.tell("a person rejected something".into());
    let mut back = Kept::of(&stack).stack(LineBreaks::Lf);
    let seen = ["a", "b", "c"].map(|name| seen(&back, name) == "as it is");
    assert_eq!(seen, [false, true, false]);
    let told = back.take_news();
    assert_eq!(told[0], "a person rejected something");
    assert_eq!(told[1], "what you proposed for b was too much to be kept over a restart, and is gone");
    assert_eq!(put(&mut back, "c2", "d", "x", &Fate::Stays).unwrap(), ["p4.1"]);
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
