//! The cascade as a whole: tables, the numbered cases of `fixtures/replace`, and what must hold for any input.

mod related;

use proptest::prelude::*;

use super::*;

/// The text after, or the kind of the miss.
fn edit(before: &str, old: &str, new: &str, all: bool) -> Result<(String, Found), Miss> {
    let found = find(before, &Request { old, new, all })?;
    let mut after = before.to_owned();
    for splice in found.splices.iter().rev() {
        after.replace_range(splice.range.clone(), &splice.text);
    }
    Ok((after, found))
}

fn numbered(count: usize, head: &str, tail: &str) -> String {
    (0..count).fold(String::new(), |text, at| text + head + &at.to_string() + " " + tail + "\n")
}

/// So much of a text that a failure stays readable.
fn brief(text: &str) -> String {
    text.chars().take(400).collect()
}

#[track_caller]
fn check(strategy: &str, before: &str, old: &str, new: &str, after: &str) {
    match edit(before, old, new, false) {
        Ok((text, found)) => {
            assert_eq!(text, after, "\nby {} {before:?}\n{old:?}\n{new:?}", found.strategy);
            assert_eq!(found.strategy, strategy, "{before:?} {old:?} {new:?}");
        }
        Err(miss) => panic!("{:?}: {}\n{:?}\n{old:?}\n{new:?}", miss.kind, miss.explanation, brief(before)),
    }
}

#[track_caller]
fn check_all(before: &str, old: &str, new: &str, after: &str, near: usize) {
    let (text, found) = edit(before, old, new, true).unwrap_or_else(|miss| panic!("{before:?} {old:?}: {miss:?}"));
    assert_eq!((text.as_str(), found.near), (after, near), "{before:?} {old:?} {new:?} by {}", found.strategy);
}

#[track_caller]
fn check_miss(kind: MissKind, before: &str, old: &str, new: &str) -> Miss {
    match edit(before, old, new, false) {
        Ok((text, found)) => {
            panic!("{} gave {:?}\n{:?}\n{:?}", found.strategy, brief(&text), brief(before), brief(old))
        }
        Err(miss) => {
            assert_eq!(
                miss.kind,
                kind,
                "{}\n{:?}\n{:?}\n{:?}",
                miss.explanation,
                brief(before),
                brief(old),
                brief(new)
            );
            miss
        }
    }
}

#[test]
fn simple_takes_new_as_it_is() {
    let check = |before, old, new, after| check("simple", before, old, new, after);
    check("foo\nbar\nbaz", "bar", "qux", "foo\nqux\nbaz");
    check("cost: 5\n", "5", "$&$1\\1", "cost: $&$1\\1\n");
    check("hello world", "hello", "hi", "hi world");
    check("naïve 日本 😀\n", "日本 😀", "é", "naïve é\n");
    check("a\n", "a", "a\\n\\\"", "a\\n\\\"\n");
    check("  a\n", "a", "  b  ", "    b  \n");
    check("a\0b\n", "\0", "", "ab\n");
    check("x\n\n\n", "x\n", "", "\n\n");
}

#[test]
fn simple_brings_line_ends_to_those_of_the_place() {
    let check = |before, old, new, after| check("simple", before, old, new, after);
    check("a\r\nb\r\nc\r\n", "a\nb\n", "x\ny\n", "x\r\ny\r\nc\r\n");
    check("a\r\nb\nc\nd\r\n", "b\nc", "B\nC", "a\r\nB\nC\nd\r\n");
    check("hello\r\nworld", "hello\nworld", "hi\nearth", "hi\r\nearth");
    check("a\nb\n", "a\r\nb", "x\r\ny\r\nz", "x\ny\nz\n");
    check("one", "one", "1\r\n2\n", "1\r\n2\n");
    // Mixed: a line that stays keeps its end, a new one takes the first of the place.
    check("a\r\nb\nc\r\n", "a\nb\nc\n", "a\nnew\nb\nC\n", "a\r\nnew\r\nb\nC\r\n");
    check("a\nb c\r\nd\r\n", "b c", "b\nc", "a\nb\r\nc\r\nd\r\n");
    // A span that begins with a line end takes the whole of it.
    check("a\r\nb\r\n", "\nb", "", "a\r\n");
    check("a\rb\n", "a\rb", "c", "c\n");
    check("a\r\nb", "\n", " ", "a b");
}

#[test]
fn a_byte_order_mark_is_in_no_place() {
    check("simple", "\u{feff}first\nsecond\n", "first\nsecond", "F\nS", "\u{feff}F\nS\n");
    check("indentationFlexible", "\u{feff}  first\n  second\n", "first\nsecond\n", "F\nS\n", "\u{feff}  F\n  S\n");
    check("lineTrimmed", "\u{feff}first  \nsecond\n", "first\nsecond\n", "first\nS\n", "\u{feff}first  \nS\n");
    check("simple", "\u{feff}", "", "x\n", "\u{feff}x\n");
}

#[test]
fn indentation_is_the_places() {
    let check = |before, old, new, after| check("indentationFlexible", before, old, new, after);
    check("  if x {\n    y()\n  }\nz\n", "if x {\n  y()\n}", "if x {\n  w()\n}", "  if x {\n    w()\n  }\nz\n");
    check("  a\n  b\nc\n", "a\nb\n", "A\nB\n", "  A\n  B\nc\n");
    check(
        "class A:\n        def f(self):\n            return 1\n",
        "def f(self):\n    return 1\n",
        "def f(self):\n    x = 2\n    return x\n",
        "class A:\n        def f(self):\n            x = 2\n            return x\n",
    );
    check(
        "\t\tfunc foo() {\n\t\t\treturn 1\n\t\t}",
        "func foo() {\n\treturn 1\n}",
        "func bar() {\n\treturn 2\n}",
        "\t\tfunc bar() {\n\t\t\treturn 2\n\t\t}",
    );
    // Tabs and spaces.
    check(
        "\tif x {\n\t\ty()\n\t}\n",
        "    if x {\n        y()\n    }\n",
        "    if x {\n        if y {\n            z()\n        }\n    }\n",
        "\tif x {\n\t\tif y {\n\t\t\tz()\n\t\t}\n\t}\n",
    );
    check(
        "    if x:\n        y()\n",
        "\tif x:\n\t\ty()\n",
        "\tif x:\n\t\ty()\n\t\tz()\n",
        "    if x:\n        y()\n        z()\n",
    );
    check(
        "  if x:\n    y()\n",
        "\tif x:\n\t\ty()\n",
        "\tif x:\n\t\tfor z:\n\t\t\ty()\n",
        "  if x:\n    for z:\n      y()\n",
    );
    // A line wrapped in a block goes deeper from where it was.
    check(
        "        a()\n        b()\n",
        "a()\nb()\n",
        "if x:\n    a()\nb()\n",
        "        if x:\n            a()\n        b()\n",
    );
    // The depth in common may be less or more than the place's.
    check("a:\n  b\n", "    a:\n      b\n", "    a:\n      c\n", "a:\n  c\n");
    // Blank lines have no indentation to compare, and keep their own.
    check("  a\n\n  b\n", "a\n  \nb\n", "a\n  \nc\n", "  a\n\n  c\n");
}

#[test]
fn trimmed_lines_keep_their_own_depth() {
    let check = |before, old, new, after| check("lineTrimmed", before, old, new, after);
    // Another width of indentation.
    check(
        "def f():\n    if x:\n        y()\n    z()\n",
        "def f():\n  if x:\n    y()\n  z()\n",
        "def f():\n  if x:\n    y()\n    w()\n  else:\n    v()\n  z()\n",
        "def f():\n    if x:\n        y()\n        w()\n    else:\n        v()\n    z()\n",
    );
    check("a {\n\tb(); \n}\n", "a {\n\tb();\n}\n", "a {\n\tb();\n\tc();\n}\n", "a {\n\tb(); \n\tc();\n}\n");
    // The first line lost its indentation, the others kept theirs, and something else keeps it from being exact.
    check(
        "class A:\n    def f(self):\n        return 1 \n    x = 2\n",
        "def f(self):\n        return 1\n    x = 2",
        "def f(self):\n        y = 1\n        return y\n    x = 3",
        "class A:\n    def f(self):\n        y = 1\n        return y \n    x = 3\n",
    );
    // White space that the model put at the ends of lines does not get in.
    check("a();\nb();\n", "a();  \nb();\n", "a();  \nc();  \nb();\n", "a();\nc();\nb();\n");
    check("a\u{a0}\r\nb\r\n", "a\nb\n", "a\nc\nb\n", "a\u{a0}\r\nc\r\nb\r\n");
}

#[test]
fn line_ends_of_spans_come_and_go_as_in_old() {
    let check = |before, old, new, after| check("indentationFlexible", before, old, new, after);
    // The last line has no end: none is made, none is needed.
    check("x\n  a", "a\n", "b\n", "x\n  b");
    check("x\n  a", "a\n", "b\nc\n", "x\n  b\n  c");
    check("  a\n  b\nx\n", "a\nb\n", "", "x\n");
    // No stray blank line and no lost line end when old and new end differently.
    check("x\n  a\n  b\ny\n", "a\nb", "c\nd\n", "x\n  c\n  d\ny\n");
    check("x\n  a\n  b\ny\n", "a\nb\n", "c\nd", "x\n  c\n  d\ny\n");
    check("x\r\n  a\r\n  b\r\ny", "a\nb\n", "a\nc\nd\n", "x\r\n  a\r\n  c\r\n  d\r\ny");
    // Mixed line ends: a changed line keeps its own, a new one takes the first of the place.
    check("  a\r\n  b\n  c\r\n", "a\nb\nc\n", "a\nb!\nnew\nc\n", "  a\r\n  b!\n  new\r\n  c\r\n");
}

#[test]
fn places_that_are_not_one_end_the_cascade() {
    let miss = check_miss(MissKind::Ambiguous, "foo bar foo", "foo", "X");
    assert_eq!(miss.lines, [1, 1]);
    check_miss(MissKind::Ambiguous, "foo\nbar\nfoo\n", "foo", "X");
    check_miss(MissKind::Ambiguous, "aaa", "aa", "b");
    check_miss(MissKind::Ambiguous, "x\nx\nx", "x", "y");
    check_miss(MissKind::Ambiguous, "aa bb aa", "aa", "x");
    // One place is exact but for its depth, another equal but for its shape: the strictest that finds any decides.
    let (before, after) = ("    a\n      b\n-\n    a\n    b\n", "    a\n      c\n-\n    a\n    b\n");
    check("indentationFlexible", before, "a\n  b\n", "a\n  c\n", after);
    check_miss(MissKind::Ambiguous, "  a\n  b\n-\n\ta\n\tb\n", "a\nb\n", "a\nc\n");
    // Overlapping places are two.
    check_miss(MissKind::Ambiguous, "  a\n  a\n  a\n", "a\na\n", "b\n");
    check_miss(MissKind::Ambiguous, "  foo;\n    foo;\n", "\tfoo;", "bar;");
    // An exact place wins over any number of inexact ones.
    check(
        "simple",
        "  a\n  b\n    a\n    b\n",
        "  a\n  b\n  ",
        "  c\n  ",
        "  c\n      a\n    b\n".replacen("    ", "  ", 1).as_str(),
    );
}

#[test]
fn requests_that_ask_for_nothing_are_told_so() {
    check_miss(MissKind::Identical, "a\n", "a", "a");
    check_miss(MissKind::Identical, "a\r\n", "a\r\n", "a\n");
    check_miss(MissKind::Identical, "", "", "");
    check_miss(MissKind::EmptyOld, "a\n", "", "b");
    check_miss(MissKind::EmptyOld, "\n", "", "b");
    check_miss(MissKind::NotFound, "", "a", "b");
    check_miss(MissKind::NotFound, "a\nb\n", "  \n\t\n", "b");
    check_miss(MissKind::Elision, "a\nb\n", "a\n# ... existing code ...\n", "c\n# ... existing code ...\n");
    check_miss(MissKind::Elision, "a\nb\n", "a\n", "c\n// … rest unchanged\n");
    check("simple", "a\n# ... rest ...\n", "a\n# ... rest ...\n", "b\n# ... rest ...\n", "b\n# ... rest ...\n");
    // The place already is as new would have it.
    check_miss(MissKind::Identical, "    a\n    b\n", "a\n  b\n", "a\nb\n");
}

#[test]
fn all_places_of_the_first_strategy_that_has_one() {
    check_all("foo\nbar\nfoo\n", "foo", "X", "X\nbar\nX\n", 0);
    check_all("aaaa", "aa", "b", "bb", 0);
    check_all("aaa", "a", "b", "bbb", 0);
    check_all("x\nx\nx", "x", "y", "y\ny\ny", 0);
    check_all("  a\n  b\n-\n    a\n    b\n", "a\nb\n", "a\nc\n", "  a\n  c\n-\n    a\n    c\n", 0);
    // The exact ones go; the one of another depth stays, and is told.
    check_all("a\nb\n-\n  a\n  b\n-\na\nb\n", "a\nb\n", "c\n", "c\n-\n  a\n  b\n-\nc\n", 1);
    check_all("a\r\nb\na\r\n", "a\n", "x\ny\n", "x\r\ny\r\nb\nx\r\ny\r\n", 0);
}

#[test]
fn a_miss_shows_the_closest_region() {
    let before = "fn one() {\n    let a = 1;\n    call(a, b);\n    done(a);\n}\n\nfn two() {\n    other();\n}\n";
    let miss = check_miss(
        MissKind::NotFound,
        before,
        "    let a = 1;\n    call(a, c);\n    surplus();\n    done(a);\n",
        "x\n",
    );
    expect_test::expect![[r"
        old_string is not in the text. The closest is lines 2-4 (71 % alike; - is what you sent, + is what is there):
        2       let a = 1;
          -     call(a, c);
        3 +     call(a, b);
          -     surplus();
        4       done(a);
        Copy lines 2-4 as they are there into old_string, or read the file again if you expected something else."]]
    .assert_eq(&miss.explanation);
    assert_eq!(miss.lines, [2, 3, 4]);
    // A wrong first line and a word in common are enough.
    let miss = check_miss(MissKind::NotFound, before, "fn tow() {\n    othre();\n}\n", "x\n");
    assert!(miss.explanation.contains("fn two() {"), "{}", miss.explanation);
    let miss = check_miss(MissKind::NotFound, before, "SELECT 1 FROM nowhere", "x\n");
    assert!(miss.explanation.contains("nothing there is much like it"), "{}", miss.explanation);
}

#[test]
fn an_ambiguity_names_its_places() {
    let before = "def a():\n    x = 1\n    return x\n\ndef b():\n    x = 1\n    return x\n";
    let miss = check_miss(MissKind::Ambiguous, before, "    x = 1\n", "    x = 2\n");
    expect_test::expect![[r"
        old_string fits 2 places, so nothing was changed:
          line 2: `x = 1` (1 above, line 1: `def a():`)
          line 6: `x = 1` (1 above, line 5: `def b():`)
        Add lines around it that only the right place has, to old_string and to new_string,
        or set replace_all to change every one."]]
    .assert_eq(&miss.explanation);
    assert_eq!(miss.lines, [2, 6]);
}

#[test]
fn what_is_told_is_bounded() {
    let line = format!("{}\n", "x".repeat(5_000));
    let before = line.repeat(3_000);
    let miss = check_miss(MissKind::Ambiguous, &before, &line, "y\n");
    assert!(miss.explanation.len() < 8_000, "{}", miss.explanation.len());
    let old: String = numbered(2_000, "line number ", &"z".repeat(300));
    let before = old.replace("line number 7", "another 7");
    let miss = check_miss(MissKind::Conflict, &before, &format!("{old}and one\n"), "y\n");
    assert!(miss.explanation.len() < 10_000, "{}", miss.explanation.len());
}

#[test]
fn hostile_texts_are_searched_in_linear_time() {
    // Were any of these quadratic, the test would not end within anyone's patience.
    let braces = "}\n".repeat(100_000);
    check_miss(MissKind::NotFound, &braces, &format!("{}x\n", "}\n".repeat(5_000)), "y\n");
    check_miss(MissKind::Ambiguous, &braces, &"  }\n".repeat(5_000), "y\n");
    check_miss(MissKind::NotFound, &"a".repeat(2_000_000), &format!("{}b", "a".repeat(10_000)), "y");
    let distinct: String = numbered(100_000, "    call_", "(value);");
    check_miss(MissKind::NotFound, &distinct, "if nothing {\n    like_this();\n}\n", "y\n");
}

/// The cases of `fixtures/replace`; the format is in its README.
#[test]
#[expect(clippy::disallowed_methods, reason = "cases are files, and a test may read them as they are")]
fn fixtures() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/replace");
    let mut cases: Vec<_> =
        std::fs::read_dir(&root).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect();
    cases.sort();
    assert!(cases.len() >= 220, "only {} cases in {}", cases.len(), root.display());
    let mut wrong = Vec::new();
    for (at, case) in cases.iter().enumerate() {
        let name = case.file_name().unwrap().to_string_lossy().into_owned();
        assert!(name.starts_with(&format!("{:03}_", at + 1)), "{name} is number {}", at + 1);
        let read = |file: &str| std::fs::read_to_string(case.join(file)).ok();
        let need = |file: &str| read(file).unwrap_or_else(|| panic!("{name} has no file {file}"));
        let result = edit(&need("before"), &need("old"), &need("new"), read("all").is_some());
        let strategy = read("strategy");
        let near = read("near").map(|near| near.trim_end().parse::<usize>().unwrap());
        let problem = match (result, read("after"), read("miss")) {
            (Ok((text, found)), Some(after), None) => {
                if text != after {
                    Some(format!("by {}:\n{text}", found.strategy))
                } else if strategy.as_ref().is_some_and(|strategy| strategy.trim_end() != found.strategy) {
                    Some(format!("right, but by {}", found.strategy))
                } else if near.is_some_and(|near| near != found.near) {
                    Some(format!("right, but {} near variants are told", found.near))
                } else {
                    None
                }
            }
            (Err(miss), None, Some(expected)) => {
                let mut lines = expected.lines();
                if lines.next() == Some(format!("{:?}", miss.kind).as_str()) {
                    lines
                        .find(|line| !miss.explanation.contains(line))
                        .map(|line| format!("{line:?} is not said in: {}", miss.explanation))
                } else {
                    Some(format!("{:?}: {}", miss.kind, miss.explanation))
                }
            }
            (Ok((text, found)), None, Some(_)) => Some(format!("by {}, where none was right:\n{text}", found.strategy)),
            (Err(miss), Some(_), None) => Some(format!("{:?}: {}", miss.kind, miss.explanation)),
            (_, after, _) => {
                panic!("{name} needs {}", if after.is_some() { "after or miss, not both" } else { "after or miss" })
            }
        };
        wrong.extend(problem.map(|problem| format!("{name}: {problem}")));
    }
    assert!(wrong.is_empty(), "{} of {} cases:\n\n{}", wrong.len(), cases.len(), wrong.join("\n\n"));
}

/// Small texts full of what is hard: line ends of both kinds, indentation, repeats, quotes.
fn text() -> impl Strategy_<Value = String> {
    proptest::collection::vec(
        prop_oneof![
            "a", "b", "if x:", "}", "  ", "    ", "\t", "\n", "\n", "\r\n", "\r", "é", "\u{feff}", "“", "\"", " ",
            "\\n", "12: "
        ],
        0..24,
    )
    .prop_map(|parts| parts.concat())
}

use proptest::strategy::Strategy as Strategy_;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn an_exact_unique_text_always_wins(before in text(), from in 0usize..60, len in 1usize..20, new in text()) {
        // Without CRs, where "line ends aside" makes no difference.
        let (before, new) = (before.replace('\r', ""), new.replace('\r', ""));
        let body = before.strip_prefix('\u{feff}').unwrap_or(&before);
        let old: String = body.chars().skip(from % (body.chars().count() + 1)).take(len).collect();
        prop_assume!(!old.is_empty() && old != new);
        let places = (0..body.len()).filter(|&at| body.is_char_boundary(at) && body[at..].starts_with(&old)).count();
        prop_assume!(places == 1);
        let (after, found) = edit(&before, &old, &new, false).unwrap();
        prop_assert_eq!(found.strategy, "simple");
        prop_assert!(found.similarity >= 1.0);
        let at = before.len() - body.len() + body.find(&old).unwrap();
        prop_assert_eq!(after, format!("{}{new}{}", &before[..at], &before[at + old.len()..]));
    }

    #[test]
    fn all_exact_places_are_those_of_the_standard_library(
        before in text(), from in 0usize..40, len in 1usize..4, new in text(),
    ) {
        let (before, new) = (before.replace(['\r', '\u{feff}'], ""), new.replace('\r', ""));
        let old: String = before.chars().skip(from % (before.chars().count() + 1)).take(len).collect();
        prop_assume!(!old.is_empty() && old != new);
        let (after, found) = edit(&before, &old, &new, true).unwrap();
        prop_assert_eq!(found.strategy, "simple");
        prop_assert_eq!(after, before.replace(&old, &new));
    }

    #[test]
    fn line_ends_make_no_difference_to_what_is_found(before in text(), old in text(), new in text()) {
        let plain = |text: &str| text.replace('\r', "");
        let (before, old, new) = (plain(&before), plain(&old), plain(&new));
        prop_assume!(before.contains('\n'));
        let lf = edit(&before, &old, &new, false);
        let crlf = edit(&before.replace('\n', "\r\n"), &old, &new, false);
        match (lf, crlf) {
            (Ok((lf, _)), Ok((crlf, _))) => prop_assert_eq!(lf.replace('\n', "\r\n"), crlf),
            (Err(lf), Err(crlf)) => prop_assert_eq!(lf.kind, crlf.kind),
            (lf, crlf) => prop_assert!(false, "{:?} {:?}", lf, crlf),
        }
    }

    #[test]
    fn two_identical_places_are_never_one(before in text(), old in text(), new in text(), between in text()) {
        prop_assume!(old.trim().len() > 1);
        let twice = format!("{before}\n{old}\n{between}\n{old}\n{before}");
        if let Ok((after, found)) = edit(&twice, &old, &new, false) {
            prop_assert!(false, "{} gave {:?}", found.strategy, after);
        }
    }

    /// In ropes of several chunks, too: a stretch before, between or after makes the text longer than one.
    #[test]
    fn a_rope_gives_the_same_as_its_text(
        before in text(), old in text(), new in text(), all in any::<bool>(), own in any::<bool>(),
        from in 0usize..60, len in 1usize..20, padding in 0usize..3, filler in prop_oneof!["x\r\n", "é\n", "y"],
    ) {
        let old = if own { before.chars().skip(from % (before.chars().count() + 1)).take(len).collect() } else { old };
        let middle = before.floor_char_boundary(before.len() / 2);
        let stretch = filler.repeat(700 * padding);
        let before = format!("{}{stretch}{}", &before[..middle], &before[middle..]);
        let request = Request { old: &old, new: &new, all };
        let rope = Text::new(&before, crate::text::LineBreaks::Lf);
        prop_assert_eq!(find_in(&rope, &request), find(&before, &request));
    }

    #[test]
    fn whatever_is_found_is_sound(before in text(), old in text(), new in text(), all in any::<bool>()) {
        let Ok((_, found)) = edit(&before, &old, &new, all) else { return Ok(()) };
        let mark = before.len() - before.strip_prefix('\u{feff}').unwrap_or(&before).len();
        let mut end = mark;
        for splice in &found.splices {
            prop_assert!(splice.range.start >= end && splice.range.end <= before.len());
            prop_assert!(before.is_char_boundary(splice.range.start) && before.is_char_boundary(splice.range.end));
            prop_assert!(before[splice.range.clone()] != splice.text);
            end = splice.range.end;
        }
        prop_assert!(!found.splices.is_empty() && (all || found.splices.len() == 1));
        prop_assert!((0.0..=1.0).contains(&found.similarity));
    }

    /// Old as the model dedents, indents or decorates it: the result is what the exact edit gives.
    #[test]
    fn an_inexact_edit_is_the_exact_one(
        lines in proptest::collection::vec("[a-d]{1,4}", 3..8), from in 0usize..6, count in 2usize..4,
        depth in 0usize..3, more in 0usize..3, trailing in any::<bool>(), drop in any::<bool>(), crlf in any::<bool>(),
    ) {
        let lines: Vec<String> = lines.iter().enumerate().map(|(at, word)| format!("{word}_{at}")).collect();
        let (from, depth) = (from.min(lines.len() - 2), depth * 4);
        let to = (from + count).min(lines.len());
        let indented = |lines: &[String], depth: usize, tail: &str| -> String {
            lines.iter().flat_map(|line| [" ".repeat(depth), line.clone(), format!("{tail}\n")]).collect()
        };
        let mut changed = lines[from..to].to_vec();
        if drop { changed.remove(0); } else { changed[0] = "new one".into(); changed.insert(1, "new two".into()); }
        let before = indented(&lines, depth, "");
        let exact = edit(&before, &indented(&lines[from..to], depth, ""), &indented(&changed, depth, ""), false);
        let tail = if trailing { "  " } else { "" };
        let (old, new) = (indented(&lines[from..to], more * 2, tail), indented(&changed, more * 2, tail));
        let ends = |text: &str| if crlf { text.replace('\n', "\r\n") } else { text.to_owned() };
        let inexact = edit(&ends(&before), &old, &new, false);
        match (exact, inexact) {
            (Ok((exact, _)), Ok((inexact, found))) => prop_assert_eq!(ends(&exact), inexact, "{}", found.strategy),
            (exact, inexact) => prop_assert!(false, "{:?} {:?}", exact, inexact),
        }
    }
}
