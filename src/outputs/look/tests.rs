//! Checks of the views of an output.

use expect_test::{Expect, expect};
use proptest::prelude::*;

use std::sync::Arc;

use super::*;
use crate::outputs::line_count;

/// Pieces and marks that are smaller than the texts here.
const SMALL: Sizes = Sizes { chunk: 7, piece: 40, overlap: 8, lead: 4 };

/// What a text in memory looks like, with pieces of both sizes.
fn look(text: &str, ask: &Ask, budget: usize) -> Looked {
    let mut source = Source::of(Arc::from(text));
    look_with(&mut source, ask, budget, &|| false, SIZES).unwrap()
}

fn window(text: &str, offset: usize, column: usize, limit: usize, room: usize) -> Looked {
    let mut source = Source::of(Arc::from(text));
    super::window(&mut source.scan(SMALL, &|| false), offset, column, limit, room).unwrap()
}

fn ask() -> Ask {
    Ask { mode: Mode::Window, offset: 1, column: 1, limit: 200, pattern: None, context: 0 }
}

fn rows(count: usize) -> String {
    (1..=count).fold(String::new(), |text, row| text + &format!("l{row}\n"))
}

#[track_caller]
fn check(text: &str, ask: &Ask, expected: &Expect) {
    expected.assert_eq(&(look(text, ask, 4000).told() + "\n"));
}

#[test]
fn windows() {
    check(
        "l1\nl2\nl3\nl4\nl5",
        &Ask { offset: 2, limit: 2, ..ask() },
        &expect![[r"
        l2
        l3
        (lines 2-3 of 5; go on with offset 4)
    "]],
    );
    check(
        "l1\nl2",
        &ask(),
        &expect![[r"
        l1
        l2
        (lines 1-2 of 2, the end)
    "]],
    );
    check(
        &rows(500),
        &Ask { offset: 498, limit: 3, ..ask() },
        &expect![[r"
        l498
        l499
        l500
        (lines 498-500 of 500, the end)
    "]],
    );
    check(
        "a\n",
        &Ask { offset: 7, ..ask() },
        &expect![[r"
        (line 7 is past the end; the output has 1 line)
    "]],
    );
    check(
        "a\nbcdef\ng\n",
        &Ask { offset: 2, column: 4, limit: 1, ..ask() },
        &expect![[r"
        ef
        (line 2 of 3, from its character 4; go on with offset 3)
    "]],
    );
}

#[test]
fn ends() {
    check(
        &rows(9),
        &Ask { mode: Mode::Head, limit: 2, offset: 5, ..ask() },
        &expect![[r"
        l1
        l2
        (lines 1-2 of 9; go on with offset 3)
    "]],
    );
    check(
        &rows(9),
        &Ask { mode: Mode::Tail, limit: 2, ..ask() },
        &expect![[r"
        l8
        l9
        (lines 8-9 of 9, the end; before them: offset 6, limit 2)
    "]],
    );
    check(
        "a\nb",
        &Ask { mode: Mode::Tail, ..ask() },
        &expect![[r"
        a
        b
        (lines 1-2 of 2, the end)
    "]],
    );
    let long = look(&format!("x\n{}end", "é".repeat(5000)), &Ask { mode: Mode::Tail, ..ask() }, 400);
    assert!(long.text.ends_with("éend") && long.told().len() <= 400, "{}", long.told());
    assert_eq!(long.remark, "the end of line 2 of 2, from its character 4903; it begins at offset 2");
}

#[test]
fn matches() {
    let pattern = |text: &str, literal| Some(Pattern::new(text, literal));
    let text = "ok\nERROR: boom\nfine: ERROR\nERROR: bang\n";
    check(
        text,
        &Ask { pattern: pattern("^ERROR", false), ..ask() },
        &expect![[r"
        2: ERROR: boom
        4: ERROR: bang
        (2 lines of 4 match)
    "]],
    );
    let hits = "a\nHIT\nb\nc\nd\ne\nHIT\nf";
    check(
        hits,
        &Ask { pattern: pattern("HIT", false), context: 1, ..ask() },
        &expect![[r"
        1: a
        2: HIT
        3: b
        --
        6: e
        7: HIT
        8: f
        (2 lines of 8 match)
    "]],
    );
    check(
        hits,
        &Ask { pattern: pattern("HIT", false), ..ask() },
        &expect![[r"
        2: HIT
        7: HIT
        (2 lines of 8 match)
    "]],
    );
    check(
        hits,
        &Ask { pattern: pattern("HIT", false), limit: 1, context: 2, ..ask() },
        &expect![[r"
        1: a
        2: HIT
        3: b
        4: c
        (2 lines of 8 match; go on with offset 5)
    "]],
    );
    check(
        hits,
        &Ask { pattern: pattern("HIT", false), offset: 5, context: 2, ..ask() },
        &expect![[r"
        5: d
        6: e
        7: HIT
        8: f
        (1 line of 8 matches from line 5 on)
    "]],
    );
    check(
        text,
        &Ask { pattern: pattern("[", false), ..ask() },
        &expect![[r"
        (0 lines of 4 match; the pattern is no regular expression and was taken literally)
    "]],
    );
    check(
        "a.c\nabc",
        &Ask { pattern: pattern("a.c", true), ..ask() },
        &expect![[r"
        1: a.c
        (1 line of 2 matches)
    "]],
    );
    // An expression that would grow without bound is none.
    assert!(Pattern::new("(a{1000}){1000}", false).fell_back);
}

#[test]
fn a_long_line_is_shown_round_its_match() {
    let text = format!("{}HIT{}\nHIT\n", "é".repeat(1000), "x".repeat(1000));
    let looked = look(&text, &Ask { pattern: Some(Pattern::new("HIT", false)), ..ask() }, 4000);
    let first = looked.text.lines().next().unwrap();
    assert!(first.starts_with("1: …é") && first.contains("éHITx") && first.ends_with("x…"), "{first}");
    let remark = "2 lines of 2 match; long lines are cut, line 1 is here: offset 1, column 951, limit 1";
    assert_eq!(looked.remark, remark);
    let there = look(&text, &Ask { offset: 1, column: 951, limit: 1, ..ask() }, 4000);
    assert!(there.text.starts_with(&format!("{}HIT", "é".repeat(50))));
}

#[test]
fn summaries() {
    let mut all: Vec<String> = (1..=40).map(|row| format!("step {row}")).collect();
    all[20] = "error: it broke".into();
    check(
        &all.join("\n"),
        &Ask { mode: Mode::Summary, ..ask() },
        &expect![[r"
            the beginning:
            1: step 1
            2: step 2
            3: step 3
            4: step 4
            5: step 5
            the end:
            36: step 36
            37: step 37
            38: step 38
            39: step 39
            40: step 40
            lines that look like failures:
            21: error: it broke
            (40 lines, 318 bytes)
        "]],
    );
    check(
        "a\nb\n",
        &Ask { mode: Mode::Summary, ..ask() },
        &expect![[r"
        the beginning:
        1: a
        2: b
        (2 lines, 4 bytes; no line looks like a failure)
    "]],
    );
    let failing = look(&"error\n".repeat(100), &Ask { mode: Mode::Summary, ..ask() }, 4000);
    assert_eq!(failing.remark, "100 lines, 600 bytes; 100 lines look like failures, 30 are shown");
}

proptest! {
    #[test]
    fn windows_one_after_the_other_show_everything(
        text in "([a-zé😀\r]{0,40}\n?){1,30}([a-z]{600})?\n?([a-zé]{0,9}\n){0,5}", limit in 1usize..9, budget in 400usize..700,
    ) {
        let (mut next, mut seen, mut rounds) = (Next { offset: 1, column: 1 }, String::new(), 0);
        if line_count(&text) == 0 {
            return Ok(());
        }
        loop {
            let asked = Ask { offset: next.offset, column: next.column, limit, ..ask() };
            let looked = look(&text, &asked, budget);
            prop_assert!(looked.told().len() <= budget, "{} > {budget}", looked.told().len());
            seen.push_str(&looked.text);
            match looked.next {
                Some(further) => {
                    prop_assert!((further.offset, further.column) > (next.offset, next.column));
                    next = further;
                }
                None => break,
            }
            rounds += 1;
            prop_assert!(rounds < 2000);
        }
        // Only a line end that had no room after its line may be missing.
        let plain = |text: &str| text.lines().collect::<String>();
        prop_assert_eq!(plain(&seen).replace('\r', ""), plain(&text).replace('\r', ""));
    }

    #[test]
    fn searches_one_after_the_other_find_everything(
        rows in prop::collection::vec("(HIT)?[a-zé]{0,30}|HIT[x]{600}", 1..60),
        limit in 1usize..9, context in 0usize..3, budget in 400usize..700,
    ) {
        let text = rows.join("\n") + "\n";
        let (mut offset, mut seen) = (1, Vec::new());
        for _ in 0..200 {
            let asked = Ask { offset, limit, context, pattern: Some(Pattern::new("HIT", false)), ..ask() };
            let looked = look(&text, &asked, budget);
            prop_assert!(looked.told().len() <= budget + 100, "{} > {budget}", looked.told().len());
            for line in looked.text.lines().filter(|line| *line != "--") {
                let number: usize = line.split(':').next().unwrap().parse().unwrap();
                seen.push(number);
            }
            match looked.next {
                Some(next) => {
                    prop_assert!(next.offset > offset);
                    offset = next.offset;
                }
                None => break,
            }
        }
        let rising = seen.windows(2).all(|pair| pair[0] < pair[1]);
        prop_assert!(rising, "{seen:?}");
        for (at, _) in rows.iter().enumerate().filter(|(_, row)| row.contains("HIT")) {
            prop_assert!(seen.contains(&(at + 1)), "line {} of {seen:?}", at + 1);
        }
    }

    #[test]
    fn every_view_keeps_to_its_budget(text in "([a-z ]{0,60}(error)?\n){1,60}", tail in any::<bool>(), budget in 400usize..900) {
        let mode = if tail { Mode::Tail } else { Mode::Summary };
        let looked = look(&text, &Ask { mode, ..ask() }, budget);
        prop_assert!(looked.told().len() <= budget);
    }
}

proptest! {
    #[test]
    fn whoever_goes_on_to_the_end_gets_every_byte_once(
        text in "[ab\u{e9}\u{1f600}\r\n]{0,80}",
        rooms in proptest::collection::vec(1usize..12, 1..8),
        limits in proptest::collection::vec(1usize..5, 1..4),
    ) {
        let (mut whole, mut at, mut pages) = (String::new(), Some(Next { offset: 1, column: 1 }), 0);
        while let Some(next) = at.take().filter(|_| !text.is_empty()) {
            let looked = window(&text, next.offset, next.column, limits[pages % limits.len()], rooms[pages % rooms.len()]);
            prop_assert!(!looked.text.is_empty(), "{next:?}");
            whole.push_str(&looked.text);
            at = looked.next;
            pages += 1;
            prop_assert!(pages < 1000);
        }
        prop_assert_eq!(whole, text);
    }
}
