//! Windows: what they show, and that following their hints shows everything once.

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;
use crate::text::LineBreaks;

fn text(text: &str) -> Text {
    Text::new(text, LineBreaks::Lf)
}

fn ask(offset: usize, limit: usize, column: usize, budget: usize) -> Ask {
    Ask { offset, limit, column, budget }
}

#[track_caller]
fn check(content: &str, offset: usize, limit: usize, budget: usize, expected: &Expect) {
    let window = Window::of(&text(content), ask(offset, limit, 1, budget));
    let rendered = window.render("a.txt");
    let rendered: String = rendered
        .lines()
        .map(|line| if line.len() > 80 { format!("{}...\n", &line[..60]) } else { format!("{line}\n") })
        .collect();
    expected.assert_eq(&rendered);
}

#[test]
fn windows() {
    check(
        "one\ntwo\n",
        1,
        2000,
        30_000,
        &expect![[r"
        1	one
        2	two

        (end of file, 2 lines)
    "]],
    );
    check(
        "one\r\ntwo",
        1,
        2000,
        30_000,
        &expect![[r"
        1	one
        2	two

        (end of file, 2 lines, without a line end after the last)
    "]],
    );
    check(
        "",
        1,
        2000,
        30_000,
        &expect![[r"
        a.txt is empty.
    "]],
    );
    check(
        "\n",
        1,
        2000,
        30_000,
        &expect![[r"
        1	

        (end of file, 1 line)
    "]],
    );
    check(
        "1\n2\n3\n4\n5\n",
        2,
        3,
        30_000,
        &expect![[r"
        2	2
        3	3
        4	4

        (lines 2-4 of 5; go on with offset 5)
    "]],
    );
    check(
        "1\n2\n3\n4\n5\n",
        4,
        3,
        30_000,
        &expect![[r"
        4	4
        5	5

        (lines 4-5 of 5; end of file, 5 lines)
    "]],
    );
    check(
        "1\n2\n3\n",
        900,
        3,
        30_000,
        &expect![[r"
        Line 900 is past the end of a.txt, which has 3 lines.
    "]],
    );
    check(
        "1234567890\n1234567890\n1234567890\n",
        1,
        3,
        REMARKS + 30,
        &expect![[r"
        1	1234567890
        2	1234567890

        (lines 1-2 of 3; there is no room for more in one answer; go on with offset 3)
    "]],
    );
}

#[test]
fn long_lines_are_cut_and_can_be_seen_whole() {
    let line: String = (0..50_000).map(|at| char::from(b'a' + u8::try_from(at % 26).unwrap())).collect();
    let text = text(&format!("x\n{line}\ny\n{line}\n"));
    let window = Window::of(&text, ask(1, 2000, 1, 30_000));
    assert_eq!(window.whole_lines(), [0..1, 2..3]);
    expect![[r"
        end of file, 4 lines
        cut after character 2000: line 2 (of 50000 characters), line 4 (of 50000 characters); see the rest of each by itself, of the first with offset 2, limit 1, column 2001"]]
    .assert_eq(&window.remarks().join("\n"));
    // One line alone takes all the room there is.
    let window = Window::of(&text, ask(2, 1, 2001, 30_000));
    expect![[r"
        line 2 of 4, characters 2001-30997 of 50000
        cut after character 30997: line 2 (of 50000 characters); see the rest with offset 2, limit 1, column 30998"]]
    .assert_eq(&window.remarks().join("\n"));
    let window = Window::of(&text, ask(2, 1, 30_998, 30_000));
    expect!["line 2 of 4, characters 30998-50000 of 50000; the line ends here"].assert_eq(&window.remarks().join("\n"));
    let window = Window::of(&text, ask(1, 1, 7, 30_000));
    expect!["line 1 has only 1 characters"].assert_eq(&window.remarks().join("\n"));
    let window = Window::of(&text, ask(1, 3, 7, 30_000));
    expect![[r"
        lines 1-3 of 4; go on with offset 4, column 7
        each line from its character 7
        cut after character 2006: line 2 (of 50000 characters); see the rest with offset 2, limit 1, column 2007"]]
    .assert_eq(&window.remarks().join("\n"));
}

/// The lines of a rendering, given how many there are: numbers are left out.
fn shown(rendered: &str, window: &Window) -> Vec<String> {
    let mut rest = rendered;
    let mut lines = Vec::new();
    for (at, shown) in window.shown.iter().enumerate() {
        let row = format!("{}\t{}\n", window.first + at + 1, shown.text);
        rest = rest.strip_prefix(row.as_str()).expect("the row that is told to be shown");
        lines.push(shown.text.clone());
    }
    lines
}

/// Follows every hint from the first line on, through the windows that `read` gives.
fn follow(limit: usize, budget: usize, read: impl Fn(Ask) -> Window) -> Result<Vec<String>, TestCaseError> {
    let mut lines: Vec<String> = Vec::new();
    let mut offset = 1;
    loop {
        let window = read(ask(offset, limit, 1, budget));
        let rendered = window.render("a.txt");
        // A character that is wider than the room is shown all the same.
        prop_assert!(rendered.len() <= budget + 16, "{} > {budget}: {rendered}", rendered.len());
        lines.extend(shown(&rendered, &window));
        for cut in window.cut() {
            let mut next = Some(cut.next_column);
            while let Some(column) = next {
                let told = format!("line {} (of {} characters)", cut.line, cut.chars);
                prop_assert!(rendered.contains(&told));
                let rest = read(ask(cut.line, 1, column, budget));
                prop_assert_eq!(rest.next_offset(), None);
                let more = shown(&rest.render("a.txt"), &rest);
                prop_assert!(!more[0].is_empty());
                lines[cut.line - 1].push_str(&more[0]);
                next = rest.cut().first().map(|cut| cut.next_column);
            }
        }
        match window.next_offset() {
            Some(next) => {
                let told = format!("; go on with offset {next})");
                prop_assert!(next > offset && rendered.contains(&told));
                offset = next;
            }
            None => return Ok(lines),
        }
    }
}

fn expected(text: &Text) -> Vec<String> {
    (0..total(text)).map(|line| text.line(line)).collect()
}

proptest! {
    #[test]
    fn following_the_hints_shows_everything_once(
        content in "([a-z\u{e9}\u{1f600}\r]{0,90}\r?\n?){0,40}", limit in 1usize..10, budget in REMARKS..REMARKS + 200,
    ) {
        let text = text(&content);
        prop_assert_eq!(follow(limit, budget, |ask| Window::of(&text, ask))?, expected(&text));
    }

    #[test]
    fn long_lines_too(
        lengths in prop::collection::vec(0usize..9000, 1..6), limit in 1usize..9, budget in 900usize..12_000,
    ) {
        let content: Vec<String> = lengths.iter().map(|length| "a\u{e9}bcdefghijk".chars().cycle().take(*length).collect()).collect();
        let text = text(&content.join("\n"));
        prop_assert_eq!(follow(limit, budget, |ask| Window::of(&text, ask))?, expected(&text));
    }

    /// The last hint of a stream may lead to nothing, for its end is not looked for; it never skips.
    #[test]
    fn streams_too(
        content in "([a-z\u{e9}\u{1f600}]{0,90}\r?\n?){0,20}", limit in 1usize..10, budget in REMARKS..REMARKS + 200,
    ) {
        let of = |ask: Ask| {
            let found = crate::workspace::large::scan(content.as_bytes(), ask.wanted(), &|| false);
            Window::of_stretch(found.unwrap(), ask)
        };
        prop_assert_eq!(follow(limit, budget, of)?, expected(&text(&content)));
    }
}
