//! Tables and properties of proposals for one file.

use proptest::prelude::*;

use super::*;
use crate::text::LineBreaks;
use crate::workspace::paths::Key;

fn text(text: &str) -> Text {
    Text::new(text, LineBreaks::Lf)
}

fn target(path: &str) -> Target {
    Target {
        key: Key::File(path.into()),
        uri: format!("file://{path}"),
        shown: path.trim_start_matches('/').to_owned(),
        paths: vec![path.into()],
        inside: true,
    }
}

fn by(call: &str) -> By {
    By { session: "s".into(), turn: None, call: call.into(), accepted: false }
}

/// A call proposes a change of the text, and what becomes of the file.
fn propose(draft: &mut Draft, splices: &[Splice], fate: &Fate, call: &str) {
    draft.propose(&Wanted { splices, fate, runs: None }, Standing::default(), &by(call));
}

/// A call proposes that the file, which cannot be run, can be or not.
fn propose_mode(draft: &mut Draft, runs: bool, call: &str) {
    draft.propose(&Wanted { splices: &[], fate: &Fate::Stays, runs: Some(runs) }, Standing::default(), &by(call));
}

/// Proposals over a text: each call leads from the text as it is to the next one.
fn draft(base: Option<&str>, calls: &[(&str, &str)]) -> Draft {
    let mut draft = Draft::new(1, target("/a"), base.map(text), text(""));
    for (call, after) in calls {
        let now = draft.ledger.text().to_string();
        propose(&mut draft, &diff::splices(&now, after), &Fate::Stays, call);
    }
    draft
}

fn shown(draft: &Draft) -> Vec<String> {
    let hunk = |hunk: &Hunk| {
        let what = hunk
            .fate
            .map_or_else(|| format!("{:?} -> {:?}", hunk.old, hunk.new), |fate| format!("{fate:?}").to_lowercase());
        format!("{} {} {}+{}: {what}", hunk.id, hunk.by.call, hunk.before.start, hunk.after.start)
    };
    draft.hunks().iter().map(hunk).collect()
}

#[test]
fn a_mode_is_a_hunk_of_its_own() {
    let mut both = draft(Some("a\nb\n"), &[("c1", "a\nB\n")]);
    propose_mode(&mut both, true, "c2");
    assert_eq!(shown(&both), ["p1.mode c2 1+1: mode", r#"p1.1 c1 2+2: "b\n" -> "B\n""#]);
    assert_eq!((both.named("p1.mode"), both.named("p1.1"), both.named("p2.mode")), (Some(MODE), Some(1), None));
    let (mode, line) = (both.of_call("c2"), both.of_call("c1"));
    assert_eq!((both.runs(&mode), both.runs(&line), both.runs(&both.all())), (Some(true), None, Some(true)));
    assert_eq!(both.accepted(&mode).0.to_string(), "a\nb\n");
    // Accepted or rejected alone, the rest stays proposed; with the rest, nothing does.
    let rejected = |pick: &Pick| {
        let (rest, gone, _) = both.clone().without(pick);
        (rest, gone)
    };
    for (rest, gone) in [both.clone().after(&mode), rejected(&mode)] {
        assert_eq!((shown(&rest.unwrap()), gone), (vec![shown(&both)[1].clone()], [MODE].into()));
    }
    for (rest, gone) in [both.clone().after(&line), rejected(&line)] {
        assert_eq!((shown(&rest.unwrap()), gone), (vec![shown(&both)[0].clone()], [1].into()));
    }
    let (rest, gone) = both.clone().after(&both.all());
    assert!(rest.is_none() && gone == [MODE, 1].into(), "{gone:?}");
    assert!(both.clone().without(&both.all()).0.is_none());
    // The user types elsewhere, and the mode stays proposed; without the file it does not.
    let typed = both.rebased(Some(&text("a\nb\nc\n"))).draft.unwrap();
    assert_eq!(typed.runs(&typed.all()), Some(true));
    assert_eq!(both.rebased(None).stale.len(), 2);
    // As it is already, and back: nothing is proposed.
    propose_mode(&mut both, false, "c3");
    assert_eq!(both.runs(&both.all()), None);
    let mut only = draft(Some("a\n"), &[]);
    propose_mode(&mut only, true, "c1");
    assert!(!only.is_empty() && only.settle_mode(true) && only.is_empty());
    // With the file goes what it was to be.
    propose_mode(&mut only, true, "c1");
    propose(&mut only, &[], &Fate::Deleted, "c2");
    assert_eq!((shown(&only), only.runs(&only.all())), (vec!["p1.0 c2 1+1: deleted".to_owned()], None));
}

#[test]
fn a_new_file_comes_with_the_mode_that_its_maker_gave_it() {
    for (call, alone) in [("c1", Some(true)), ("c2", None)] {
        let mut new = draft(None, &[("c1", "x\n")]);
        propose_mode(&mut new, true, call);
        assert_eq!(shown(&new)[1], format!("p1.mode {call} 1+1: mode"));
        assert_eq!(new.runs(&new.one(1)), alone, "{call}");
        // Nothing can be the mode of no file.
        assert_eq!(
            (new.accepted(&new.one(MODE)).0.to_string().as_str(), new.runs(&new.one(MODE))),
            ("x\n", Some(true))
        );
        // A user who makes that very file is left with the mode to judge.
        let there = new.rebased(Some(&text("x\n"))).draft.unwrap();
        assert_eq!(shown(&there), [format!("p1.mode {call} 1+1: mode")]);
    }
}

#[test]
fn hunks_are_named_and_placed() {
    let two = draft(Some("a\nb\nc\nd\n"), &[("c1", "a\nB\nB2\nc\nd\n"), ("c2", "a\nB\nB2\nc\nD\n")]);
    assert_eq!(shown(&two), [r#"p1.1 c1 2+2: "b\n" -> "B\nB2\n""#, r#"p1.2 c2 4+5: "d\n" -> "D\n""#]);
    let again = draft(Some("a\nb\nc\n"), &[("c1", "a\nB\nc\n"), ("c2", "a\nBB\nc\n")]);
    assert_eq!(shown(&again), [r#"p1.2 c2 2+2: "b\n" -> "BB\n""#]);
    let new = draft(None, &[("c1", "x\ny\n")]);
    assert_eq!(shown(&new), ["p1.0 c1 1+1: created", r#"p1.1 c1 1+1: "" -> "x\ny\n""#]);
    let mut gone = draft(Some("a\n"), &[]);
    propose(&mut gone, &[], &Fate::Deleted, "c3");
    assert_eq!((shown(&gone), gone.text().is_none()), (vec!["p1.0 c3 1+1: deleted".to_owned()], true));
}

#[test]
fn some_are_accepted_and_the_rest_stays() {
    let check = |base: &str, calls: &[(&str, &str)], call: &str, accepted: &str, rest: &[&str]| {
        let draft = draft(Some(base), calls);
        let pick = draft.of_call(call);
        assert_eq!(draft.accepted(&pick).0.to_string(), accepted);
        let proposed = draft.text().unwrap().to_string();
        let (left, _) = draft.after(&pick);
        assert_eq!(left.as_ref().map(shown).unwrap_or_default(), rest);
        if let Some(left) = left {
            assert_eq!(left.text().unwrap().to_string(), proposed);
            assert_eq!(left.accepted(&left.all()).0.to_string(), proposed);
        }
    };
    let calls = [("c1", "a\nB\nc\nd\n"), ("c2", "a\nB\nc\nD\n")];
    check("a\nb\nc\nd\n", &calls, "c1", "a\nB\nc\nd\n", &[r#"p1.2 c2 4+4: "d\n" -> "D\n""#]);
    check("a\nb\nc\nd\n", &calls, "c2", "a\nb\nc\nD\n", &[r#"p1.1 c1 2+2: "b\n" -> "B\n""#]);
    // What stands on other lines takes these along; what lies under others goes alone.
    let again = [("c1", "a\nB\nc\n"), ("c2", "a\nBB\nc\n")];
    check("a\nb\nc\n", &again, "c2", "a\nBB\nc\n", &[]);
    check("", &[("c1", "x\n")], "c1", "x\n", &[]);
}

#[test]
fn some_are_rejected_and_the_rest_stays() {
    let calls = [("c1", "a\nB\nc\nd\n"), ("c2", "a\nB\nc\nD\n")];
    let both = draft(Some("a\nb\nc\nd\n"), &calls);
    let (rest, gone, left) = both.clone().without(&both.of_call("c1"));
    assert_eq!((rest.unwrap().text().unwrap().to_string(), left), ("a\nb\nc\nD\n".to_owned(), vec![]));
    assert_eq!(gone, BTreeSet::from([1]));
    assert!(both.clone().without(&both.all()).0.is_none());
    let under = draft(Some("a\nb\n"), &[("c1", "a\nB\n"), ("c2", "a\nBB\n")]);
    let (rest, gone, left) = under.clone().without(&under.of_call("c1"));
    assert_eq!((rest.unwrap().text().unwrap().to_string(), left), ("a\nBB\n".to_owned(), vec![by("c2")]));
    assert!(gone.is_empty());
    let new = draft(None, &[("c1", "x\n"), ("c2", "x\ny\n")]);
    assert!(new.clone().without(&new.one(FATE)).0.is_none());
    let mut moved = draft(Some("a\n"), &[("c1", "b\n")]);
    propose(&mut moved, &[], &Fate::Moved { to: target("/b") }, "c2");
    let (rest, ..) = moved.clone().without(&moved.one(FATE));
    assert_eq!(rest.map(|rest| (rest.fate, rest.ledger.text().to_string())), Some((Fate::Stays, "b\n".to_owned())));
    let (rest, _) = moved.clone().after(&moved.one(FATE));
    let rest = rest.unwrap();
    assert_eq!((rest.real.shown.as_str(), shown(&rest)), ("b", vec![r#"p1.1 c1 1+1: "a\n" -> "b\n""#.to_owned()]));
}

#[test]
fn a_new_file_is_accepted_with_the_lines_of_its_maker() {
    let new = draft(None, &[("c1", "x\n"), ("c2", "x\ny\n")]);
    assert_eq!(new.accepted(&new.of_call("c1")).0.to_string(), "x\n");
    assert_eq!(new.accepted(&new.one(FATE)).0.to_string(), "x\n");
    let (rest, accepted) = new.clone().after(&new.of_call("c1"));
    assert!(accepted.contains(&FATE));
    assert_eq!(rest.map(|rest| rest.text().unwrap().to_string()), Some("x\ny\n".to_owned()));
}

#[test]
fn a_proposal_moves_with_what_the_user_types_or_goes_stale() {
    let check = |base: Option<&str>, after: &str, real: Option<&str>, expected: Option<&str>, stale: usize| {
        let rebased = draft(base, &[("c1", after)]).rebased(real.map(text).as_ref());
        let now = rebased.draft.as_ref().map(|draft| draft.text().unwrap().to_string());
        assert_eq!((now.as_deref(), rebased.stale.len()), (expected, stale), "{base:?} {after:?} {real:?}");
        if let (Some(draft), Some(real)) = (rebased.draft, real) {
            assert_eq!(draft.accepted(&Pick::default()).0.to_string(), real);
        }
    };
    check(Some("a\nb\nc\n"), "a\nB\nc\n", Some("0\na\nb\nc\n"), Some("0\na\nB\nc\n"), 0);
    check(Some("a\nb\nc\n"), "a\nB\nc\n", Some("a\nb\nc\nd\n"), Some("a\nB\nc\nd\n"), 0);
    check(Some("a\nb\nc\n"), "a\nB\nc\n", Some("a\nuser\nc\n"), None, 1);
    check(Some("a\nb\nc\nd\n"), "A\nb\nc\nD\n", Some("a\nb\nc\nuser\n"), Some("A\nb\nc\nuser\n"), 1);
    // The user did the same.
    check(Some("a\nb\nc\nd\n"), "A\nb\nc\nD\n", Some("a\nb\nc\nD\n"), Some("A\nb\nc\nD\n"), 1);
    check(Some("a\n"), "b\n", None, None, 1);
    check(None, "b\n", None, Some("b\n"), 0);
    check(None, "b\n", Some("user\n"), None, 1);
    check(None, "b\n", Some("b\n"), None, 0);
    let mut gone = draft(Some("a\n"), &[]);
    propose(&mut gone, &[], &Fate::Deleted, "c1");
    assert_eq!(gone.rebased(Some(&text("user\n"))).stale.len(), 1);
    assert!(gone.rebased(None).stale.is_empty());
}

#[test]
fn a_person_may_write_it_otherwise() {
    let two = draft(Some("a\nb\nc\nd\n"), &[("c1", "a\nB\nc\nd\n"), ("c2", "a\nB\nc\nD\n")]);
    let (edited, pick) = two.edited(Some(1), "mine").unwrap();
    assert_eq!(edited.accepted(&pick).0.to_string(), "a\nmine\nc\nd\n");
    let (rest, _) = edited.after(&pick);
    assert_eq!(rest.unwrap().text().unwrap().to_string(), "a\nmine\nc\nD\n");
    let (edited, pick) = two.edited(None, "quite\nanother\n").unwrap();
    assert_eq!(edited.accepted(&pick).0.to_string(), "quite\nanother\n");
    assert!(edited.after(&pick).0.is_none());
    let (same, pick) = two.edited(Some(2), "D\n").unwrap();
    assert_eq!(same.accepted(&pick).0.to_string(), "a\nb\nc\nD\n");
    assert!(two.edited(Some(9), "x").is_none());
}

/// Lines, each a word of its own; those that a call puts in begin with a small letter, the user's with a capital one.
fn lines_of(words: &[String]) -> String {
    words.iter().flat_map(|word| [word.as_str(), "\n"]).collect()
}

/// What is done to a list of lines: at a place, so many go and so many come.
type Change = (usize, usize, usize);

fn changes() -> impl Strategy<Value = Vec<Change>> {
    prop::collection::vec((0..30usize, 0..3usize, 0..3usize), 1..5)
}

fn changed(lines: &mut Vec<String>, changes: &[Change], mut word: impl FnMut() -> String) {
    for (at, less, more) in changes {
        let at = at % (lines.len() + 1);
        let end = (at + less).min(lines.len());
        lines.splice(at..end, (0..*more).map(|_| word()));
    }
}

proptest! {
    #[test]
    fn whatever_is_accepted_or_rejected_no_word_of_the_user_is_lost(
        calls in prop::collection::vec(changes(), 1..4),
        typed in prop::collection::vec(changes(), 0..4),
        mask in any::<u8>(),
    ) {
        let base: Vec<String> = (0..12).map(|line| format!("base{line}")).collect();
        let mut draft = draft(Some(&lines_of(&base)), &[]);
        let mut count = 0;
        for (number, call) in calls.iter().enumerate() {
            let now = draft.ledger.text().to_string();
            let mut lines: Vec<String> = now.lines().map(str::to_owned).collect();
            changed(&mut lines, call, || { count += 1; format!("agent{count}") });
            propose(&mut draft, &diff::splices(&now, &lines_of(&lines)), &Fate::Stays, &format!("c{number}"));
        }
        let mut real = base;
        for step in &typed {
            changed(&mut real, step, || { count += 1; format!("User{count}") });
            let now = text(&lines_of(&real));
            match draft.rebased(Some(&now)).draft {
                Some(moved) => draft = moved,
                None => return Ok(()),
            }
            prop_assert_eq!(draft.accepted(&Pick::default()).0.to_string(), now.to_string());
        }
        let marks: Vec<MarkId> = draft.all().marks.into_iter().collect();
        let some = marks.iter().enumerate().filter(|(at, _)| mask >> (at % 8) & 1 == 1).map(|(_, id)| *id);
        let pick = Pick { marks: some.collect(), ..Pick::default() };
        let accepted = draft.accepted(&pick).0.to_string();
        for word in real.iter().filter(|word| word.starts_with("User")) {
            prop_assert!(accepted.lines().any(|line| line == word), "{word} is lost in {accepted:?}");
            prop_assert!(draft.text().unwrap().to_string().lines().any(|line| line == word));
        }
        let proposed = draft.text().unwrap().to_string();
        prop_assert_eq!(draft.accepted(&draft.all()).0.to_string(), &proposed[..]);
        // One after the other, in any order: the same in the end.
        if let (Some(rest), _) = draft.clone().after(&pick) {
            prop_assert_eq!(rest.accepted(&Pick::default()).0.to_string(), accepted);
            prop_assert_eq!(rest.accepted(&rest.all()).0.to_string(), &proposed[..]);
        }
        if let (Some(rest), ..) = draft.without(&pick) {
            prop_assert_eq!(rest.accepted(&Pick::default()).0.to_string(), lines_of(&real));
        }
    }

    #[test]
    fn typing_elsewhere_and_proposals_meet(gaps in prop::collection::vec(any::<(bool, bool, bool)>(), 1..8)) {
        // Blocks of lines that nobody changes between the lines that the agent or the user does.
        let (mut base, mut agent, mut user, mut both) = (vec![], vec![], vec![], vec![]);
        for (number, (proposes, types, deletes)) in gaps.iter().enumerate() {
            let still = format!("still{number}");
            let line = format!("line{number}");
            let new = format!("new{number}");
            for lines in [&mut base, &mut agent, &mut user, &mut both] {
                lines.push(still.clone());
            }
            base.push(line.clone());
            let put = |lines: &mut Vec<String>, changed: bool| {
                if !changed {
                    lines.push(line.clone());
                } else if !deletes {
                    lines.push(new.clone());
                }
            };
            put(&mut agent, *proposes);
            put(&mut user, *types && !*proposes);
            put(&mut both, *proposes || *types);
            let behind = format!("behind{number}");
            for lines in [&mut base, &mut agent, &mut user, &mut both] {
                lines.push(behind.clone());
            }
        }
        let draft = draft(Some(&lines_of(&base)), &[("c1", &lines_of(&agent))]);
        let rebased = draft.rebased(Some(&text(&lines_of(&user))));
        prop_assert!(rebased.stale.is_empty());
        if let Some(draft) = rebased.draft {
            prop_assert_eq!(draft.accepted(&draft.all()).0.to_string(), lines_of(&both));
            prop_assert_eq!(draft.accepted(&Pick::default()).0.to_string(), lines_of(&user));
        } else {
            prop_assert_eq!(lines_of(&agent), lines_of(&base));
        }
    }
}
