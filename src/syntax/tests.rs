//! Checks of the embedded check: each grammar, the comparison with the text before, and hostile input.

#![expect(
    clippy::needless_raw_string_hashes,
    clippy::needless_pass_by_value,
    clippy::format_collect,
    reason = "expect_test writes its strings so, and tables read better with values"
)]

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;
use crate::text::diff;

const ALL: [Language; 12] = [
    Language::Bash,
    Language::C,
    Language::Cpp,
    Language::Go,
    Language::JavaScript,
    Language::Json,
    Language::JsonWithComments,
    Language::Python,
    Language::Rust,
    Language::Toml,
    Language::Tsx,
    Language::TypeScript,
];

/// The faults that the edit from one text to another brought.
fn edited(language: Language, before: &str, after: &str) -> Faults {
    match check(Some(language), Some(before), &diff::splices(before, after), after) {
        Check::Faults(faults) => faults,
        Check::NotChecked { reason } => panic!("not checked: {reason}"),
    }
}

fn shown(language: Language, text: &str) -> String {
    match check(Some(language), None, &[], text) {
        Check::NotChecked { reason } => reason,
        Check::Faults(faults) => faults
            .new
            .iter()
            .map(|fault| {
                let line = text[..fault.bytes.start].matches('\n').count() + 1;
                let column = fault.bytes.start - text[..fault.bytes.start].rfind('\n').map_or(0, |at| at + 1) + 1;
                format!("{line}:{column} {}\n", fault.message)
            })
            .collect(),
    }
}

#[track_caller]
fn messages(language: Language, text: &str, expected: Expect) {
    expected.assert_eq(&shown(language, text));
}

/// A text without faults, and the same text broken in one place and in another one.
struct Case {
    language: Language,
    good: &'static str,
    broken: &'static str,
    broken_elsewhere: &'static str,
    broken_twice: &'static str,
}

const CASES: [Case; 11] = [
    Case {
        language: Language::Rust,
        good: "fn f() {\n    let x = g(1);\n}\n\nfn h() -> u8 {\n    2\n}\n",
        broken: "fn f() {\n    let x = g(1;\n}\n\nfn h() -> u8 {\n    2\n}\n",
        broken_elsewhere: "fn f() {\n    let x = g(1);\n}\n\nfn h() -> u8 {\n    = 2\n}\n",
        broken_twice: "fn f() {\n    let x = g(1;\n}\n\nfn h() -> u8 {\n    = 2\n}\n",
    },
    Case {
        language: Language::Python,
        good: "def f():\n    return [1, 2]\n\n\ndef h(a):\n    pass\n",
        broken: "def f():\n    return [1, 2\n\n\ndef h(a):\n    pass\n",
        broken_elsewhere: "def f():\n    return [1, 2]\n\n\ndef h(a:\n    pass\n",
        broken_twice: "def f():\n    return = 1\n\n\ndef h(a:\n    pass\n",
    },
    Case {
        language: Language::JavaScript,
        good: "function f() {\n  return <b>{g(1)}</b>;\n}\nconst a = { b: 1, c: 2 };\n",
        broken: "function f() {\n  return <b>{g(1}</b>;\n}\nconst a = { b: 1, c: 2 };\n",
        broken_elsewhere: "function f() {\n  return <b>{g(1)}</b>;\n}\nconst a = { b: 1 c: 2 };\n",
        broken_twice: "function f() {\n  return <b>{g(1}</b>;\n}\nconst a = { b: 1 c: 2 };\n",
    },
    Case {
        language: Language::TypeScript,
        good: "function f(a: number): void {\n  g(a);\n}\nlet x: string = 'a';\n",
        broken: "function f(a: number): void {\n  g(a;\n}\nlet x: string = 'a';\n",
        broken_elsewhere: "function f(a: number): void {\n  g(a);\n}\nlet x: = 'a';\n",
        broken_twice: "function f(a: number): void {\n  g(a;\n}\nlet x: = 'a';\n",
    },
    Case {
        language: Language::Tsx,
        good: "function F(a: number) {\n  return <p>{a}</p>;\n}\nlet x: string = h(1);\n",
        broken: "function F(a: ) {\n  return <p>{a}</p>;\n}\nlet x: string = h(1);\n",
        broken_elsewhere: "function F(a: number) {\n  return <p>{a}</p>;\n}\nlet x: string = h(1;\n",
        broken_twice: "function F(a: ) {\n  return <p>{a}</p>;\n}\nlet x: string = h(1;\n",
    },
    Case {
        language: Language::Go,
        good: "package a\n\nfunc f() {\n\tx := g(1)\n}\n\nfunc h() int {\n\treturn 2\n}\n",
        broken: "package a\n\nfunc f() {\n\tx := g(1\n}\n\nfunc h() int {\n\treturn 2\n}\n",
        broken_elsewhere: "package a\n\nfunc f() {\n\tx := g(1)\n}\n\nfunc h() int {\n\treturn = 2\n}\n",
        broken_twice: "package a\n\nfunc f() {\n\tx := \n}\n\nfunc h() int {\n\treturn = 2\n}\n",
    },
    Case {
        language: Language::C,
        good: "int f(void) {\n  return g(1);\n}\n\nint h(void) {\n  return 2;\n}\n",
        broken: "int f(void) {\n  return g(1;\n}\n\nint h(void) {\n  return 2;\n}\n",
        broken_elsewhere: "int f(void) {\n  return g(1);\n}\n\nint h(void) {\n  return 2\n}\n",
        broken_twice: "int f(void) {\n  return g(1;\n}\n\nint h(void) {\n  return 2\n}\n",
    },
    Case {
        language: Language::Cpp,
        good: "class A { int x; };\n\nint h() {\n  std::vector<int> v{1, 2};\n  return v[0];\n}\n",
        broken: "class A { int x; };\n\nint h() {\n  std::vector<int> v{1, 2};\n  return v[0;\n}\n",
        broken_elsewhere: "class A { int = x; };\n\nint h() {\n  std::vector<int> v{1, 2};\n  return v[0];\n}\n",
        broken_twice: "class A { int = x; };\n\nint h() {\n  std::vector<int> v{1, 2};\n  return v[0;\n}\n",
    },
    Case {
        language: Language::Json,
        good: "{\n  \"a\": [1, 2],\n  \"b\": { \"c\": null }\n}\n",
        broken: "{\n  \"a\": [1, 2,],\n  \"b\": { \"c\": null }\n}\n",
        broken_elsewhere: "{\n  \"a\": [1, 2],\n  \"b\": { \"c\":  }\n}\n",
        broken_twice: "{\n  \"a\": [1, 2,],\n  \"b\": { \"c\":  }\n}\n",
    },
    Case {
        language: Language::Bash,
        good: "f() {\n  echo \"$(ls)\"\n}\n\nfor x in a b; do\n  echo $x\ndone\n",
        broken: "f() {\n  echo \"$(ls)\"\n}\n\nfor x in a b; do\n  echo $x\n",
        broken_elsewhere: "f() {\n  echo $((1 +\n}\n\nfor x in a b; do\n  echo $x\ndone\n",
        broken_twice: "f() {\n  echo $((1 +\n}\n\nfor x in a b; do\n  echo $x\n",
    },
    Case {
        language: Language::Toml,
        good: "[a]\nb = [1, 2]\n\n[c]\nd = \"e\"\n",
        broken: "[a]\nb = [1 2]\n\n[c]\nd = \"e\"\n",
        broken_elsewhere: "[a]\nb = [1, 2]\n\n[c]\nd = \n",
        broken_twice: "[a]\nb = [1 2]\n\n[c]\nd = \n",
    },
];

#[test]
fn an_edit_that_breaks_and_one_that_mends() {
    for Case { language, good, broken, broken_elsewhere, broken_twice } in CASES {
        let counts = |before: &str, after: &str| {
            let faults = edited(language, before, after);
            (faults.new.len(), faults.resolved, faults.unchanged)
        };
        assert_eq!(counts(good, good), (0, 0, 0), "{language:?}");
        for bad in [broken, broken_elsewhere] {
            let (new, resolved, unchanged) = counts(good, bad);
            assert!(new > 0 && resolved == 0 && unchanged == 0, "{language:?} {bad}: {new} {resolved} {unchanged}");
            assert_eq!(counts(bad, good), (0, new, 0), "{language:?} {bad}");
            assert_eq!(counts(bad, bad), (0, 0, new), "{language:?} {bad}");
        }
        let faults = edited(language, broken_elsewhere, broken_twice);
        assert!(!faults.new.is_empty() && faults.unchanged > 0, "{language:?}: {faults:?}");
        // Whatever is put in above or below the break that is there makes nothing new.
        let line = match language {
            Language::Json => "\n",
            Language::Rust | Language::JavaScript | Language::TypeScript | Language::Tsx | Language::Go => "// more\n",
            Language::C | Language::Cpp => "/* more */\n",
            _ => "# more\n",
        };
        for bad in [broken, broken_elsewhere, broken_twice] {
            let first = bad.find('\n').unwrap_or_default() + 1;
            for after in [format!("{}{line}{}", &bad[..first], &bad[first..]), format!("{bad}{line}")] {
                let faults = edited(language, bad, &after);
                assert!(faults.new.is_empty() && faults.resolved == 0, "{language:?} {after}: {faults:?}");
            }
        }
    }
}

#[test]
fn faults_say_what_stands_there() {
    messages(
        Language::Rust,
        "fn f() {\n    let x = ;\n    g(1;\n    x.;\n}\n",
        expect![[r#"
        2:11 unexpected `=`
        3:8 missing `)`
        4:7 missing a field identifier
    "#]],
    );
    messages(
        Language::Rust,
        "fn f() {\n    let x = 1;\n\nfn g() {}\n",
        expect![[r#"
        1:8 unclosed `{`
    "#]],
    );
    messages(
        Language::Rust,
        "fn f() {}\n}\n",
        expect![[r#"
        2:1 unexpected `}`
    "#]],
    );
    messages(
        Language::Rust,
        "struct A { a: u32 b: u32 }\n",
        expect![[r#"
        1:19 invalid syntax: `b: u32`
    "#]],
    );
    messages(
        Language::Rust,
        "fn f<'a>() { \"abc }\n",
        expect![[r#"
        1:14 unclosed `"`
    "#]],
    );
    messages(
        Language::Python,
        "if x\n    y\n",
        expect![[r#"
        1:1 invalid syntax: `if x y`
    "#]],
    );
    messages(
        Language::Python,
        "x = [1,\ny = f'abc\n",
        expect![[r#"
        1:5 unclosed `[`
        2:5 unclosed `f'`
    "#]],
    );
    messages(
        Language::JavaScript,
        "const e = <div><p></div>;\n",
        expect![[r#"
        1:11 unclosed `<div>`
    "#]],
    );
    messages(
        Language::JavaScript,
        "function f() {\n  if (x) {\n    y();\n}\n",
        expect![[r#"
        4:2 missing `}` for the `{` of line 1
    "#]],
    );
    messages(
        Language::Cpp,
        "class A { int x }\nint y;\n",
        expect![[r#"
        1:17 unexpected `}`
    "#]],
    );
    messages(
        Language::Json,
        "{\"a\": 1,}",
        expect![[r#"
        1:8 unexpected `,`
    "#]],
    );
    messages(
        Language::Json,
        "{a: 1, \"b\": }",
        expect![[r#"
        1:2 unexpected `a`
        1:6 unexpected `,`
    "#]],
    );
    messages(
        Language::Json,
        "[1, 2\n",
        expect![[r#"
        1:6 missing `]`
    "#]],
    );
    messages(
        Language::Bash,
        "if true; then\n  for x in a; do\n    echo \"$x\n",
        expect![[r#"
        1:1 unclosed `if`
        2:15 unclosed `do`
        3:10 unclosed `"`
    "#]],
    );
    messages(
        Language::Toml,
        "a = [1, 2\nb = 3\n",
        expect![[r#"
        1:5 unclosed `[`
    "#]],
    );
    messages(
        Language::Go,
        "package a\nfunc f() {\n\tx := \n}\n",
        expect![[r#"
        3:6 missing an identifier
    "#]],
    );
    messages(
        Language::Rust,
        "fn f() { \u{200b}\u{0} }\n",
        expect![[r#"
        1:10 unexpected `\u{200b}\0`
    "#]],
    );
    messages(
        Language::Toml,
        &format!("a = {}\n", "b ".repeat(100)),
        expect![[r#"
        1:1 invalid syntax: `a = b b b b b b b b b b b b b b b b b b b…`
    "#]],
    );
}

#[test]
fn what_follows_from_an_unclosed_bracket_is_counted_with_it() {
    let good = "class A:\n    def f(self):\n        return g(1)\n\n    def h(self, b: str) -> int:\n        return b\n";
    let bad = good.replace("g(1)", "g(1");
    messages(
        Language::Python,
        &bad,
        expect![[r#"
        3:17 unclosed `(`, and 3 more faults behind it
    "#]],
    );
    assert_eq!(edited(Language::Python, good, &bad).new.len(), 1);
    assert_eq!(edited(Language::Python, &bad, good).resolved, 1);
    // A break of its own behind an old one is new.
    let worse = bad.replace("return b", "return [b");
    let faults = edited(Language::Python, &bad, &worse);
    assert_eq!((faults.new.len(), faults.unchanged), (1, 1), "{faults:?}");
}

#[test]
fn json_for_editors_may_have_comments_and_trailing_commas() {
    let text = "// c\n{\n  /* d */ \"a\": [1, 2,], // e,\n}\n";
    messages(Language::JsonWithComments, text, expect![[""]]);
    messages(Language::Json, "// c\n{ \"a\": 1 }\n", expect![[""]]);
    messages(
        Language::JsonWithComments,
        "{ \"a\": 1,, }\n",
        expect![[r#"
        1:9 invalid syntax: `,,`
    "#]],
    );
}

#[test]
fn a_break_inside_an_old_break_is_new() {
    // The first brace is never closed, so that the parser gives the whole file up; one more brace is one more fault.
    let before = "fn f() {\n    if a {\n\nfn g() {\n    h();\n}\n";
    let after = "fn f() {\n    if a {\n\nfn g() {\n    h(;\n}\n";
    let faults = edited(Language::Rust, before, after);
    assert_eq!(faults.new.len(), 1, "{faults:?}");
    assert_eq!(faults.unchanged, edited(Language::Rust, before, before).unchanged);
    let removed = "fn f() {\n    if a {\n\nfn g() {\n    h();\n";
    assert_eq!(edited(Language::Rust, before, removed).new.len(), 1);
}

#[test]
fn the_text_that_was_put_in_is_to_blame_for_its_own_faults() {
    let before = "def f():\n    x = = 1\n";
    let after = "def f():\n    y = [2, = 1\n";
    let faults = edited(Language::Python, before, after);
    assert!(!faults.new.is_empty(), "{faults:?}");
}

#[test]
fn what_cannot_be_checked_says_why() {
    let reason = |language: Option<Language>, text: &str| match check(language, None, &[], text) {
        Check::NotChecked { reason } => reason,
        Check::Faults(faults) => format!("{} faults", faults.new.len()),
    };
    expect!["there is no grammar for this language"].assert_eq(&reason(None, "x"));
    let large = "a = 1\n".repeat(900_000);
    assert!(large.len() > 5_000_000);
    for language in ALL {
        expect!["it is larger than 2 MiB"].assert_eq(&reason(Some(language), &large));
    }
    let garbage = "fn ) ".repeat(5_000);
    let check = check(Some(Language::Rust), Some(&garbage), &[], &garbage);
    let Check::NotChecked { reason } = check else { panic!("{check:?}") };
    expect!["the text before the edit had more than 1000 syntax errors as Rust"].assert_eq(&reason);
}

/// A hundred thousand brackets, one inside the other; on a thread with the stack of a runtime's.
#[test]
fn depth_costs_no_stack_and_little_time() {
    let check = |language: Language, text: &str| match check(Some(language), Some(""), &diff::splices("", text), text) {
        Check::Faults(faults) => assert!(faults.new.len() <= faults::FAULT_LIMIT),
        Check::NotChecked { reason } => assert_eq!(reason, "it takes too long to parse"),
    };
    let deep = move || {
        for language in ALL {
            for bracket in ["(", "[", "}"] {
                check(language, &bracket.repeat(100_000));
            }
        }
        // Bash's scanner looks far ahead.
        for odd in [")", "$(", "`", "\0", "{"] {
            check(Language::Bash, &odd.repeat(100_000));
        }
        for language in [Language::Json, Language::Python] {
            check(language, &format!("{}{}", "[".repeat(100_000), "]".repeat(100_000)));
        }
    };
    std::thread::Builder::new().stack_size(512 << 10).spawn(deep).unwrap().join().unwrap();
}

#[test]
fn nul_bytes_and_a_byte_order_mark_do_no_harm() {
    for language in ALL {
        let _ = check(Some(language), None, &[], "\0");
        let _ = check(Some(language), None, &[], &"a\0b\0\n".repeat(1000));
    }
    messages(Language::Rust, "\u{feff}fn f() {}\r\n", expect![[""]]);
    messages(Language::Python, "\u{feff}x = 1\r\nif x:\r\n    y = 2\r\n", expect![[""]]);
    messages(Language::Json, "\u{feff}{}", expect![[""]]);
}

/// Our own sources: put in a comment after any line that ends a statement, and nothing is new.
#[test]
fn harmless_edits_of_real_texts_make_nothing_new() {
    for text in [include_str!("../syntax.rs"), include_str!("faults.rs"), include_str!("language.rs")] {
        assert_eq!(edited(Language::Rust, text, text), Faults::default());
        let ends = text.match_indices(";\n").map(|(at, _)| at + 2).step_by(5);
        for at in ends {
            let after = format!("{}// {{ more (\n{}", &text[..at], &text[at..]);
            let faults = edited(Language::Rust, text, &after);
            assert!(faults.new.is_empty(), "{at}: {faults:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Any text in any language: no panic, faults inside the text and in order, and the text against itself has no news.
    #[test]
    fn any_text_can_be_checked(
        language in proptest::sample::select(ALL.to_vec()),
        pieces in proptest::collection::vec(prop_oneof![
            any::<String>(),
            "[(){}\\[\\]<>\"'`;,=: \n\t$#/a-c0-2]{0,20}",
            Just("fn f() {\n".to_owned()),
            Just("if x:\n    y\n".to_owned()),
            Just("<a>".to_owned()),
            Just("\0\u{feff}😀".to_owned()),
        ], 0..12),
        cut in any::<prop::sample::Index>(),
    ) {
        let text = pieces.concat();
        if let Check::Faults(faults) = check(Some(language), None, &[], &text) {
            for fault in &faults.new {
                prop_assert!(text.get(fault.bytes.clone()).is_some(), "{fault:?}");
                prop_assert_eq!(fault.kind == FaultKind::Missing, fault.bytes.is_empty());
                prop_assert!(!fault.message.chars().any(char::is_control));
                prop_assert!(fault.message.chars().count() < 600);
            }
            prop_assert!(faults.new.windows(2).all(|pair| pair[0].bytes.start <= pair[1].bytes.start));
            let same = edited(language, &text, &text);
            prop_assert_eq!((same.new.len(), same.resolved, same.unchanged), (0, 0, faults.new.len()));
            let mut half = cut.index(text.len() + 1);
            while !text.is_char_boundary(half) { half -= 1; }
            let (before, after) = (&text[..half], &text[..]);
            let then = edited(language, before, before).unchanged;
            let now = edited(language, before, after);
            // What follows from a fault of another list is there by itself.
            prop_assert!(now.new.len() + now.unchanged >= faults.new.len());
            if then == 0 {
                prop_assert_eq!((now.new, now.resolved, now.unchanged), (faults.new, 0, 0));
            }
        }
    }
}
