//! Which call gets which lines of what was accepted.

use super::super::draft::Wanted;
use super::super::stack::Standing;
use super::*;
use crate::text::LineBreaks;
use crate::workspace::checkpoints::{Checkpoints, Selection};
use crate::workspace::{Key, Target};

const BASE: &str = "one\ntwo\nthree\nfour\nfive\n";

fn text(text: &str) -> Text {
    Text::new(text, LineBreaks::Lf)
}

fn target(name: &str) -> Target {
    Target {
        key: Key::File(format!("/{name}").into()),
        uri: format!("file:///{name}"),
        shown: name.to_owned(),
        paths: vec![format!("/{name}").into()],
        inside: true,
    }
}

fn by(call: &str) -> By {
    By { session: "s".into(), turn: Some("t".into()), call: call.into(), accepted: false }
}

/// What calls make of a text, one after the other.
fn draft(base: Option<&str>, calls: &[(&str, &str)], fate: &Fate) -> Draft {
    let mut draft = Draft::new(1, target("a"), base.map(text), text(""));
    for (call, after) in calls {
        let now = draft.text().map(Text::to_string).unwrap_or_default();
        let wanted = Wanted { splices: &diff::splices(&now, after), fate, runs: None };
        draft.propose(&wanted, Standing::default(), &by(call));
    }
    draft
}

/// What landed: `pick` of a draft over `before`, at a version each.
fn committed(draft: &Draft, pick: &Pick, before: Option<&str>, after: Option<&str>) -> Committed {
    let (accepted, fate) = draft.accepted(pick);
    let after = after.map_or(accepted, text);
    let old = before.unwrap_or_default();
    Committed {
        target: target("a"),
        fate,
        before: before.map(text),
        splices: diff::splices(old, &after.to_string()),
        after,
        version_before: Some(4),
        version_after: Some(5),
        unsaved: true,
        late: false,
        executable: draft.runs(pick).map(|runs| (!runs, runs)),
        hunks: Vec::new(),
        notes: Vec::new(),
        unified_diff: String::new(),
    }
}

fn shares(draft: &Draft, pick: Pick, before: Option<&str>, after: Option<&str>) -> Vec<(Change, By)> {
    let committed = committed(draft, &pick, before, after);
    Shares { draft: draft.clone(), pick, edited: after.is_some() }.of(&committed)
}

fn told(shares: &[(Change, By)]) -> String {
    let each = |(change, by): &(Change, By)| {
        let before =
            change.before.as_ref().map_or_else(|| "nothing".to_owned(), |text| format!("{:?}", text.to_string()));
        let fate = match &change.fate {
            Fate::Stays => String::new(),
            Fate::Deleted => " deleted".to_owned(),
            Fate::Moved { to } => format!(" to {}", to.shown),
        };
        assert!(by.accepted);
        format!("{}: {before} -> {:?}{fate} {:?}\n", by.call, change.after.to_string(), change.versions.unwrap())
    };
    shares.iter().map(each).collect()
}

#[test]
fn each_call_has_its_lines() {
    let calls = [("c1", "ONE\ntwo\nthree\nfour\nfive\n"), ("c2", "ONE\ntwo\nthree\nfour\nFIVE\n")];
    let draft = draft(Some(BASE), &calls, &Fate::Stays);
    expect_test::expect![[r#"
        c1: "one\ntwo\nthree\nfour\nfive\n" -> "ONE\ntwo\nthree\nfour\nfive\n" (4, 4)
        c2: "ONE\ntwo\nthree\nfour\nfive\n" -> "ONE\ntwo\nthree\nfour\nFIVE\n" (4, 5)
    "#]]
    .assert_eq(&told(&shares(&draft, draft.all(), Some(BASE), None)));
    // One of them, after typing.
    let typed = format!("typed\n{BASE}");
    expect_test::expect![[r#"
        c2: "typed\none\ntwo\nthree\nfour\nfive\n" -> "one\ntwo\nthree\nfour\nFIVE\n" (4, 5)
    "#]]
    .assert_eq(&told(&shares(&draft, draft.of_call("c2"), Some(&typed), None)));
}

#[test]
fn what_becomes_of_the_file_is_its_callers() {
    let made = draft(None, &[("c1", "one\n"), ("c2", "one\ntwo\n")], &Fate::Stays);
    expect_test::expect![[r#"
        c1: nothing -> "one\n" (4, 4)
        c2: "one\n" -> "one\ntwo\n" (4, 5)
    "#]]
    .assert_eq(&told(&shares(&made, made.all(), None, None)));
    let mut moved = draft(Some(BASE), &[("c1", "ONE\ntwo\nthree\nfour\nfive\n")], &Fate::Stays);
    let wanted = Wanted { splices: &[], fate: &Fate::Moved { to: target("b") }, runs: None };
    moved.propose(&wanted, Standing::default(), &by("c2"));
    expect_test::expect![[r#"
        c1: "one\ntwo\nthree\nfour\nfive\n" -> "ONE\ntwo\nthree\nfour\nfive\n" (4, 4)
        c2: "ONE\ntwo\nthree\nfour\nfive\n" -> "ONE\ntwo\nthree\nfour\nfive\n" to b (4, 5)
    "#]]
    .assert_eq(&told(&shares(&moved, moved.all(), Some(BASE), None)));
    let gone = draft(Some(BASE), &[("c1", "ONE\n")], &Fate::Deleted);
    assert_eq!(
        told(&shares(&gone, gone.all(), Some(BASE), None)),
        "c1: \"one\\ntwo\\nthree\\nfour\\nfive\\n\" -> \"\" deleted (4, 5)\n"
    );
}

#[test]
fn what_the_person_edited_is_nobodys_but_theirs() {
    let draft = draft(Some("one\ntwo\n"), &[("c1", "one\nzwei\n")], &Fate::Stays);
    let shares = shares(&draft, draft.all(), Some("one\ntwo\n"), Some("one\ndeux\n"));
    assert_eq!(told(&shares), "c1: \"one\\ntwo\\n\" -> \"one\\nzwei\\n\" (4, 5)\n");
    // And so an undo of the call leaves it there.
    let checkpoints = Checkpoints::default();
    for (change, by) in &shares {
        checkpoints.made(&Change { versions: None, ..change.clone() }, by);
    }
    let page = checkpoints.draw(&Selection::default()).remove(0).page;
    checkpoints.sync_closed(page, Some(&text("one\ndeux\n")));
    let drawn = checkpoints.draw(&Selection { call: Some("c1".into()), ..Selection::default() }).remove(0);
    let undo = checkpoints.undo_of(page, None, &drawn.which).unwrap();
    assert!(undo.text.to_string().contains("deux"), "{}", undo.text);
}

#[test]
fn a_byte_order_mark_stays_where_it_is() {
    let draft = draft(Some("one\ntwo\n"), &[("c1", "uno\ntwo\n"), ("c2", "uno\ndue\n")], &Fate::Stays);
    let (before, after) = ("\u{feff}one\ntwo\n", "\u{feff}uno\ndue\n");
    let committed = committed(&draft, &draft.all(), Some(before), Some(after));
    let shares = Shares { draft: draft.clone(), pick: draft.all(), edited: false }.of(&committed);
    let first = &shares[0].0;
    assert_eq!((shares.len(), first.after.to_string()), (2, "\u{feff}uno\ntwo\n".to_owned()));
    assert_eq!(first.before.as_ref().unwrap().spliced(&first.splices).to_string(), first.after.to_string());
}

#[test]
fn a_mode_is_of_the_call_that_proposed_it() {
    let moded = |base: Option<&str>, calls: &[(&str, &str)], call: &str| {
        let mut draft = draft(base, calls, &Fate::Stays);
        let wanted = Wanted { splices: &[], fate: &Fate::Stays, runs: Some(true) };
        draft.propose(&wanted, Standing::default(), &by(call));
        shares(&draft, draft.all(), base, None)
    };
    let each = |(change, by): &(Change, By)| (by.call.clone(), change.executable.is_some(), change.splices.len());
    for (base, calls, call, expected) in [
        (Some(BASE), &[][..], "c2", vec![("c2", true, 0)]),
        (Some(BASE), &[("c1", "one\n")], "c2", vec![("c2", true, 0), ("c1", false, 1)]),
        (None, &[("c1", "x\n"), ("c2", "x\ny\n")], "c1", vec![("c1", true, 1), ("c2", false, 1)]),
        (None, &[("c1", "x\n"), ("c2", "x\ny\n")], "c2", vec![("c1", false, 1), ("c2", true, 0), ("c2", false, 1)]),
    ] {
        let shares = moded(base, calls, call);
        let found: Vec<_> = shares.iter().map(each).collect();
        let expected: Vec<_> = expected.into_iter().map(|(by, mode, count)| (by.to_owned(), mode, count)).collect();
        assert_eq!(found, expected, "{calls:?} {call}");
        // Each begins where the one before it ends, and what the editor tells is the last one's.
        for pair in shares.windows(2) {
            assert_eq!(pair[1].0.before.as_ref().map(Text::to_string), Some(pair[0].0.after.to_string()));
            assert_eq!(pair[0].0.versions, Some((4, 4)));
        }
        assert_eq!(shares.last().unwrap().0.versions, Some((4, 5)));
    }
}
