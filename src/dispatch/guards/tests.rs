//! The state machine, table by table.

use serde_json::json;

use super::*;

fn key() -> Key {
    Key::Unnamed("untitled:1".to_owned())
}

#[test]
fn the_same_look_at_the_same_world() {
    // What happened before, as (key, world); then how often `a` counts as made in world 1.
    for (before, count) in [
        (vec![], 0),
        (vec![("a", 1)], 1),
        (vec![("a", 1), ("a", 1)], 2),
        (vec![("a", 1), ("b", 1), ("a", 1)], 2),
        // O3: something was written between.
        (vec![("a", 0), ("a", 0)], 0),
        (vec![("a", 0), ("a", 0), ("a", 1)], 1),
        (vec![("a", 1), ("a", 1), ("a", 2), ("a", 1)], 1),
    ] {
        let mut turn = Turn::default();
        for (key, world) in &before {
            turn.made(key, *world);
        }
        assert_eq!(turn.repeats("a", 1), count, "{before:?}");
    }
}

#[test]
fn failures_in_a_row() {
    let mut turn = Turn::default();
    let mut ends = |tool: &str, end: End, times: u32| (0..times).map(|_| turn.ended(tool, end)).last();
    assert_eq!(ends("edit", End::Bad, 2), Some(2));
    assert_eq!(ends("edit", End::Neither, 3), Some(2));
    assert_eq!(ends("read", End::Bad, 1), Some(1));
    assert_eq!(ends("edit", End::Good, 1), Some(0));
    assert_eq!(ends("edit", End::Bad, 8), Some(8));
    assert!(turn.halted("edit") && !turn.halted("read"));
    turn.ended("edit", End::Good);
    assert!(!turn.halted("edit"));
}

#[test]
fn what_is_told_of_failures() {
    let on = GuardSettings::default();
    let off = GuardSettings { failures: false, undone: false, ..on };
    for (settings, end, in_a_row, undone, notes) in [
        (on, End::Bad, 2, 0, 0),
        (on, End::Bad, 3, 0, 1),
        (on, End::Bad, 4, 0, 0),
        (on, End::Bad, 8, 0, 1),
        (on, End::Bad, 9, 0, 1),
        (on, End::Neither, 8, 0, 0),
        (on, End::Good, 0, 2, 1),
        (off, End::Bad, 8, 1, 0),
    ] {
        assert_eq!(told("edit", settings, end, in_a_row, undone).len(), notes, "{end:?} {in_a_row} {undone}");
    }
}

#[test]
fn which_ends_count() {
    for (error, expected) in [
        (None, End::Good),
        (Some(ErrorKind::Denied), End::Neither),
        (Some(ErrorKind::Cancelled), End::Neither),
        (Some(ErrorKind::Truncated), End::Neither),
        (Some(ErrorKind::InvalidArguments), End::Bad),
        (Some(ErrorKind::NotFound), End::Bad),
        (Some(ErrorKind::Timeout), End::Bad),
    ] {
        assert_eq!(end(error), expected, "{error:?}");
    }
}

#[test]
fn edits_that_undo_each_other() {
    let other = Key::Unnamed("untitled:2".to_owned());
    let count = |edits: &[(&Key, &str, &str)]| {
        let mut turn = Turn::default();
        edits.iter().filter(|(key, before, after)| turn.undoes(key, Some(before), Some(after))).count()
    };
    let key = key();
    assert_eq!(count(&[(&key, "x", "y"), (&key, "y", "x")]), 1);
    assert_eq!(count(&[(&key, "x", "y"), (&key, "y", "x"), (&key, "x", "y")]), 2);
    assert_eq!(count(&[(&key, "x", "y"), (&other, "y", "x")]), 0);
    assert_eq!(count(&[(&key, "x", "x"), (&key, "x", "x")]), 0);
    let texts: Vec<String> = (0..=40).map(|number| number.to_string()).collect();
    let forward: Vec<(&Key, &str, &str)> =
        texts.windows(2).map(|pair| (&key, pair[0].as_str(), pair[1].as_str())).collect();
    assert_eq!(count(&forward), 0);
    // What is older than the last thirty is forgotten.
    let mut old = vec![(&key, "x", "y")];
    old.extend(&forward[..EDITS]);
    old.push((&key, "y", "x"));
    assert_eq!(count(&old), 0);
    let cycles: Vec<(&Key, &str, &str)> = (0..8).flat_map(|_| [(&key, "x", "y"), (&key, "y", "x")]).collect();
    assert_eq!(count(&cycles), 15);
    // A file that is made, and made again as it was not there.
    let mut turn = Turn::default();
    assert!(!turn.undoes(&key, None, Some("x")));
    assert!(turn.undoes(&key, Some("x"), None));
}

#[test]
fn the_order_of_keys_does_not_count_and_types_do() {
    let text = |value: Value| canonical(&value).to_string();
    assert_eq!(text(json!({ "a": 1, "b": { "c": 2, "d": [3] } })), text(json!({ "b": { "d": [3], "c": 2 }, "a": 1 })));
    assert_ne!(text(json!({ "a": 1 })), text(json!({ "a": "1" })));
    assert_ne!(text(json!({ "a": [1, 2] })), text(json!({ "a": [2, 1] })));
}

#[test]
fn memory_is_bounded_and_turns_end() {
    let guards = Guards::default();
    for number in 0..CALLS + 10 {
        guards.within("s", Some("t"), |turn| turn.made(&number.to_string(), 1));
        guards.within("s", Some("t"), |turn| turn.ended(&format!("tool{number}"), End::Bad));
    }
    guards.within("s", Some("t"), |turn| {
        assert_eq!((turn.made.values.len(), turn.made.order.len(), turn.failures.len()), (CALLS, CALLS, TOOLS));
        assert_eq!((turn.repeats("0", 1), turn.repeats("500", 1)), (0, 1));
    });
    guards.end_turn("s", "t");
    assert_eq!(guards.status("s"), []);
    for number in 0..TURNS + 3 {
        guards.within("s", Some(&number.to_string()), |turn| turn.ended("edit", End::Bad));
    }
    assert_eq!(guards.status("s").len(), TURNS);
    guards.forget("s");
    assert_eq!(guards.status("s"), []);
}

#[test]
fn a_long_reason_is_cut_between_characters() {
    assert_eq!(beginning("short"), "short");
    let long = beginning(&"é".repeat(WHY));
    assert!(long.len() <= WHY && long.chars().all(|c| c == 'é'));
}
