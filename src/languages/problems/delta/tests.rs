//! What counts as new, resolved and unchanged.

#![expect(
    clippy::needless_raw_string_hashes,
    clippy::needless_pass_by_value,
    clippy::format_collect,
    reason = "expect_test writes its strings so, and tables read better with values"
)]

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;
use crate::languages::problems::{RawProblem, locate, moved, told};
use crate::text::{Encoding, LineBreaks, Position, Range, Splice, Text, diff};

/// A problem at a byte, three bytes long: `byte [severity] message`.
fn problem(line: &str) -> Located {
    let (byte, rest) = line.split_once(' ').unwrap();
    let (severity, message) = match rest.split_once(' ') {
        Some(("W", message)) => (Severity::Warning, message),
        _ => (Severity::Error, rest),
    };
    let start: usize = byte.parse().unwrap();
    Located { bytes: start..start + 3, severity, source: None, code: None, message: message.to_owned() }
}

fn problems(text: &str) -> Vec<Located> {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).map(problem).collect()
}

fn shown(delta: &Delta) -> String {
    let list = |sign: char, list: &[Located]| -> String {
        list.iter().map(|problem| format!("{sign} {} {}\n", problem.bytes.start, problem.message)).collect()
    };
    list('+', &delta.new) + &list('?', &delta.present) + &list('-', &delta.resolved) + &list('=', &delta.unchanged)
}

#[track_caller]
fn check(baseline: &str, now: &str, expected: Expect) {
    expected.assert_eq(&shown(&delta(Some(&problems(baseline)), &problems(now))));
}

#[test]
fn messages_are_compared_as_a_multiset() {
    check("", "", expect![[""]]);
    check(
        "10 a\n20 b",
        "20 b\n30 c",
        expect![[r#"
        + 30 c
        - 10 a
        = 20 b
    "#]],
    );
    check(
        "10 a",
        "10 a\n10 a",
        expect![[r#"
        + 10 a
        = 10 a
    "#]],
    );
    check(
        "10 a\n20 a\n30 a",
        "20 a",
        expect![[r#"
        - 10 a
        - 30 a
        = 20 a
    "#]],
    );
    check(
        "10 a",
        "10 W a",
        expect![[r#"
        + 10 a
        - 10 a
    "#]],
    );
    check(
        "10 a  b\n20 c",
        "10 a b\n20 C",
        expect![[r#"
        + 20 C
        - 20 c
        = 10 a b
    "#]],
    );
}

#[test]
fn the_nearest_are_the_same() {
    // One more of the same kind above: the old one is the one that stayed.
    check(
        "100 a",
        "50 a\n100 a",
        expect![[r#"
        + 50 a
        = 100 a
    "#]],
    );
    check(
        "100 a\n200 a",
        "160 a",
        expect![[r#"
        - 100 a
        = 160 a
    "#]],
    );
    check(
        "100 a\n200 a",
        "90 a\n150 a\n260 a",
        expect![[r#"
        + 260 a
        = 90 a
        = 150 a
    "#]],
    );
    check(
        "100 a",
        "98 a\n103 a",
        expect![[r#"
        + 103 a
        = 98 a
    "#]],
    );
}

#[test]
fn without_a_baseline_nothing_is_new() {
    expect![[r#"
        ? 10 b
        ? 20 a
    "#]]
    .assert_eq(&shown(&delta(None, &problems("20 a\n10 b"))));
}

#[test]
fn numbers_of_places_may_shift_in_their_place() {
    check(
        "40 'x' already declared on line 12",
        "40 'x' already declared on line 15",
        expect![[r#"
        = 40 'x' already declared on line 15
    "#]],
    );
    // Elsewhere it is another declaration.
    check(
        "40 'x' already declared on line 12",
        "90 'x' already declared on line 15",
        expect![[r#"
        + 90 'x' already declared on line 15
        - 40 'x' already declared on line 12
    "#]],
    );
    // An exact one is preferred, wherever it is.
    check(
        "40 see line 3\n50 see line 4",
        "40 see line 4\n50 see line 3",
        expect![[r#"
        = 40 see line 4
        = 50 see line 3
    "#]],
    );
    // These numbers are what is said.
    check(
        "40 expected 2 arguments, found 3",
        "40 expected 2 arguments, found 4",
        expect![[r#"
        + 40 expected 2 arguments, found 4
        - 40 expected 2 arguments, found 3
    "#]],
    );
    check(
        "40 line too long (81 > 80)",
        "40 line too long (95 > 80)",
        expect![[r#"
        + 40 line too long (95 > 80)
        - 40 line too long (81 > 80)
    "#]],
    );
}

#[test]
fn which_numbers_name_places() {
    for (message, without) in [
        ("declared on line 12", "declared on line #"),
        ("Lines 3-5 and 7, column 2 of 9", "Lines #-# and #, column # of 9"),
        ("from line: 3 to 4", "from line: # to #"),
        ("at /tmp/a.go:12:5: here", "at /tmp/a.go:#:#: here"),
        ("{closure@src/main.rs:12:5: 12:8}", "{closure@src/main.rs:#:#: #:#}"),
        ("(line 3, col 4)", "(line #, col #)"),
        ("ratio 1:2", "ratio 1:2"),
        ("port localhost:80", "port localhost:80"),
        ("127.0.0.1:80", "127.0.0.1:80"),
        ("online 5", "online 5"),
        ("line5 is undefined", "line5 is undefined"),
        ("array of 3 lines, 4 wanted", "array of 3 lines, # wanted"),
        ("`i32` is not `u64`", "`i32` is not `u64`"),
        ("line 0x12", "line 0x12"),
        ("é line 5 é", "é line # é"),
        ("", ""),
    ] {
        assert_eq!(without_places(message), without);
    }
}

/// The whole way: what a server said of the text before, an edit, and what it says of the text after.
#[test]
fn lines_put_in_above_an_old_error_make_nothing_new() {
    let before = Text::new("import os\nx = y\nz = y\n", LineBreaks::Lf);
    let after = Text::new("import os\nimport sys\n\nx = y\nz = y\n", LineBreaks::Lf);
    let undefined = |line: u32| RawProblem {
        range: Range { start: Position::new(line, 4), end: Position::new(line, 5) },
        severity: Severity::Error,
        source: None,
        code: None,
        message: "undefined name 'y'".to_owned(),
    };
    let located = |lines: &[u32], text: &Text| -> Vec<Located> {
        lines.iter().map(|&line| locate(&undefined(line), text, Encoding::Utf16)).collect()
    };
    let splices = diff::splices(&before.to_string(), &after.to_string());
    let baseline = moved(&located(&[1, 2], &before), &splices);
    let delta = delta(Some(&baseline), &located(&[3, 4], &after));
    assert_eq!((delta.new.len(), delta.resolved.len(), delta.unchanged.len()), (0, 0, 2));
}

#[test]
fn a_place_is_clamped_into_the_text() {
    let text = Text::new("ab\r\né😀\n", LineBreaks::Lf);
    for (start, end, bytes) in [
        ((0, 1), (0, 2), 1..2),
        ((0, 9), (1, 0), 2..4),
        ((1, 1), (1, 2), 6..6),
        ((1, 0), (1, 3), 4..10),
        ((7, 0), (u32::MAX, u32::MAX), 11..11),
    ] {
        let range = Range { start: Position::new(start.0, start.1), end: Position::new(end.0, end.1) };
        let raw = RawProblem { range, severity: Severity::Hint, source: None, code: None, message: "m".to_owned() };
        assert_eq!(locate(&raw, &text, Encoding::Utf16).bytes, bytes, "{start:?}");
    }
}

#[test]
fn the_worst_are_told_first_and_what_is_cut_is_counted() {
    let text = Text::new(&"0123456789\n".repeat(10), LineBreaks::Lf);
    let list = problems("40 W late\n10 W early\n90 worst\n50 bad");
    let (told, cut) = told(&list, &text, Encoding::Utf16, 3);
    let lines: Vec<String> =
        told.iter().map(|problem| format!("{} {}", problem.range.start.line, problem.message)).collect();
    assert_eq!((lines, cut), (vec!["4 bad".to_owned(), "8 worst".to_owned(), "0 early".to_owned()], 1));
}

#[test]
fn many_of_a_kind_are_paired_quickly() {
    let list = |shift: usize| -> Vec<Located> {
        (0..20_000).map(|index| problem(&format!("{} same", index * 7 + shift))).collect()
    };
    let delta = delta(Some(&list(0)), &list(3));
    assert_eq!((delta.new.len(), delta.unchanged.len()), (0, 20_000));
}

fn any_problems(length: usize) -> impl Strategy<Value = Vec<Located>> {
    let one = (0..length, 0usize..6, 0usize..2, 0usize..5).prop_map(|(start, size, severity, message)| Located {
        bytes: start..start + size,
        severity: [Severity::Error, Severity::Warning][severity],
        source: None,
        code: None,
        message: ["a", "b", "on line 3", "on line 4", "b "][message].to_owned(),
    });
    proptest::collection::vec(one, 0..12)
}

fn counted<'a>(lists: impl IntoIterator<Item = &'a Located>) -> Vec<String> {
    let mut all: Vec<String> = lists.into_iter().map(|problem| format!("{problem:?}")).collect();
    all.sort();
    all
}

proptest! {
    #[test]
    fn nothing_is_lost_and_nothing_is_made_up(baseline in any_problems(60), now in any_problems(60)) {
        let delta = delta(Some(&baseline), &now);
        prop_assert_eq!(counted(&now), counted(delta.new.iter().chain(&delta.unchanged)));
        prop_assert_eq!(baseline.len(), delta.resolved.len() + delta.unchanged.len());
        prop_assert!(delta.present.is_empty());
        let gone = counted(&baseline);
        prop_assert!(counted(&delta.resolved).iter().all(|problem| gone.contains(problem)));
        // What is new has no equal left among what is resolved.
        let key = |problem: &Located| (problem.severity, collapse(&problem.message));
        prop_assert!(delta.new.iter().all(|new| delta.resolved.iter().all(|old| key(old) != key(new))));
    }

    #[test]
    fn the_same_again_is_unchanged(list in any_problems(60)) {
        let same = delta(Some(&list), &list);
        prop_assert!(same.new.is_empty() && same.resolved.is_empty());
        let first = delta(None, &list);
        prop_assert_eq!(counted(&list), counted(&first.present));
        prop_assert!(first.new.is_empty() && first.unchanged.is_empty() && first.resolved.is_empty());
    }

    /// A baseline moved through an edit has as many problems, all in the new text, in the old order of their starts.
    #[test]
    fn moving_keeps_every_problem(
        before in "[ab\n]{1,60}",
        after in "[ab\n]{0,60}",
        list in any_problems(60),
    ) {
        let list: Vec<Located> = list.into_iter().filter(|problem| problem.bytes.end <= before.len()).collect();
        let splices: Vec<Splice> = diff::splices(&before, &after);
        let moved = moved(&list, &splices);
        prop_assert_eq!(moved.len(), list.len());
        for (old, new) in list.iter().zip(&moved) {
            prop_assert!(new.bytes.start <= new.bytes.end && new.bytes.end <= after.len(), "{old:?} {new:?}");
            prop_assert_eq!(&old.message, &new.message);
        }
        for (a, old) in moved.iter().zip(&list) {
            for (b, other) in moved.iter().zip(&list) {
                prop_assert!(old.bytes.start > other.bytes.start || a.bytes.start <= b.bytes.start);
            }
        }
    }

    #[test]
    fn what_is_told_keeps_to_its_limit(list in any_problems(40), max in 0usize..15) {
        let text = Text::new(&"abcdefg\n".repeat(8), LineBreaks::Lf);
        let (told, cut) = told(&list, &text, Encoding::Utf16, max);
        prop_assert!(told.len() <= max);
        prop_assert_eq!(told.len() + cut, list.len());
        let order = |problem: &crate::languages::verdict::Problem| (problem.severity, problem.range.start);
        prop_assert!(told.windows(2).all(|pair| order(&pair[0]) <= order(&pair[1])));
        let errors = list.iter().filter(|problem| problem.severity == Severity::Error).count();
        let listed = told.iter().filter(|problem| problem.severity == Severity::Error).count();
        prop_assert_eq!(listed, errors.min(max), "errors are cut last");
    }
}
