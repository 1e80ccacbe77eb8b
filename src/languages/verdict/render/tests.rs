//! What a report reads like, verdict by verdict.

#![expect(
    clippy::needless_raw_string_hashes,
    clippy::needless_pass_by_value,
    reason = "expect_test writes its strings so, and tables read better with values"
)]

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;
use crate::languages::verdict::Baseline;
use crate::text::{Position, Range};

fn problem(line: u32, severity: Severity, source: &str, code: &str, message: &str) -> Problem {
    let start = Position::new(line, 4);
    Problem {
        range: Range { start, end: Position::new(line, 9) },
        severity,
        source: (!source.is_empty()).then(|| source.to_owned()),
        code: (!code.is_empty()).then(|| code.to_owned()),
        message: message.to_owned(),
    }
}

fn fresh(id: &str) -> SourceReport {
    SourceReport { baseline: Baseline::Known, ..SourceReport::new(id, Verdict::Fresh) }.with_waited(123)
}

fn with_new(id: &str, new: Vec<Problem>) -> SourceReport {
    SourceReport { new, ..fresh(id) }
}

fn document(sources: Vec<SourceReport>) -> DocumentReport {
    DocumentReport { uri: "file:///repo/my%20app.py".to_owned(), version: Some(7), sources, report_in: None }
}

#[track_caller]
fn check(sources: Vec<SourceReport>, expected: Expect) {
    let report = DiagnosticsReport { documents: vec![document(sources)], ..DiagnosticsReport::default() };
    expected.assert_eq(&render(&report));
}

fn undefined(line: u32) -> Problem {
    problem(line, Severity::Error, "", "reportUndefinedVariable", "\"total\" is not defined")
}

fn unused() -> Problem {
    problem(0, Severity::Warning, "Ruff", "F401", "`os` imported but unused")
}

#[test]
fn clean_is_one_line() {
    check(
        vec![fresh("basedpyright"), fresh("ruff"), fresh("syntax")],
        expect!["/repo/my app.py: no errors [basedpyright; ruff]"],
    );
    let mended = SourceReport { resolved: 2, ..fresh("basedpyright") };
    let warned = SourceReport { unchanged: 3, ..fresh("ruff") };
    check(
        vec![mended, warned, fresh("syntax")],
        expect!["/repo/my app.py: no errors [basedpyright: 2 resolved; ruff: 3 unchanged]"],
    );
    // A language that one server knows and another does not, or may not.
    check(
        vec![
            SourceReport::new("mypy", Verdict::NoServer),
            SourceReport::new("pylsp", Verdict::Untrusted),
            fresh("ruff"),
        ],
        expect!["/repo/my app.py: no errors [ruff]"],
    );
    let first = SourceReport::new("ruff", Verdict::Fresh);
    check(vec![first], expect!["/repo/my app.py: no errors [ruff]"]);
}

#[test]
fn what_the_edit_brought_comes_first() {
    let pyright = SourceReport {
        resolved: 1,
        unchanged: 3,
        unchanged_errors: 1,
        ..with_new(
            "basedpyright",
            vec![
                problem(
                    11,
                    Severity::Error,
                    "basedpyright",
                    "reportAttributeAccessIssue",
                    "Cannot access attribute \"foo\" for class \"Bar\"\n  Attribute \"foo\" is unknown",
                ),
                undefined(13),
            ],
        )
    };
    check(
        vec![pyright, with_new("ruff", vec![unused()]), fresh("syntax")],
        expect![[r#"
            /repo/my app.py: the edit introduced 2 errors, 1 warning [basedpyright: 1 resolved, 3 unchanged, of them 1 error; ruff]
              12:5 error [basedpyright reportAttributeAccessIssue] Cannot access attribute "foo" for class "Bar"
                    Attribute "foo" is unknown
              14:5 error [basedpyright reportUndefinedVariable] "total" is not defined
              1:5 warning [Ruff F401] `os` imported but unused"#]],
    );
}

#[test]
fn only_a_warning() {
    check(
        vec![with_new("ruff", vec![unused()])],
        expect![[r#"
            /repo/my app.py: no errors; the edit introduced 1 warning [ruff]
              1:5 warning [Ruff F401] `os` imported but unused"#]],
    );
    let present = SourceReport { present: vec![unused()], ..SourceReport::new("ruff", Verdict::Fresh) };
    check(
        vec![present],
        expect![[r#"
            /repo/my app.py: no errors; 1 warning present (no baseline: may be old) [ruff]
              1:5 warning [Ruff F401] `os` imported but unused"#]],
    );
}

#[test]
fn errors_from_before_the_edit() {
    let old = SourceReport { unchanged: 3, unchanged_errors: 2, resolved: 1, ..fresh("basedpyright") };
    check(
        vec![old, fresh("ruff")],
        expect![
            "/repo/my app.py: no new errors, 2 errors from before the edit [basedpyright: 1 resolved, 3 unchanged, of them 2 errors; ruff]"
        ],
    );
    let only = SourceReport { unchanged: 1, unchanged_errors: 1, ..fresh("basedpyright") };
    check(
        vec![only],
        expect!["/repo/my app.py: no new errors, 1 error from before the edit [basedpyright: 1 unchanged error]"],
    );
}

#[test]
fn without_a_baseline() {
    let present = SourceReport { present: vec![undefined(3)], cut: 4, ..SourceReport::new("pyright", Verdict::Fresh) };
    check(
        vec![present.clone()],
        expect![[r#"
            /repo/my app.py: 1 error and 4 more present (no baseline: may be old) [pyright]
              4:5 error [pyright reportUndefinedVariable] "total" is not defined
              4 more from pyright not listed"#]],
    );
    check(
        vec![present, with_new("ruff", vec![unused()])],
        expect![[r#"
            /repo/my app.py: the edit introduced 1 warning; 1 error and 4 more present (no baseline: may be old) [pyright; ruff]
              1:5 warning [Ruff F401] `os` imported but unused
              4:5 error [pyright reportUndefinedVariable, may be old] "total" is not defined
              4 more from pyright not listed"#]],
    );
}

#[test]
fn what_is_cut_is_told() {
    let many = SourceReport { cut: 15, ..with_new("clangd", (0..3).map(undefined).collect()) };
    check(
        vec![many],
        expect![[r#"
            /repo/my app.py: the edit introduced 3 errors and 15 more [clangd]
              1:5 error [clangd reportUndefinedVariable] "total" is not defined
              2:5 error [clangd reportUndefinedVariable] "total" is not defined
              3:5 error [clangd reportUndefinedVariable] "total" is not defined
              15 more from clangd not listed"#]],
    );
    let all = SourceReport { cut: 15, ..fresh("clangd") };
    check(
        vec![all],
        expect![[r#"
            /repo/my app.py: not fully checked [clangd]
              15 more from clangd not listed"#]],
    );
}

#[test]
fn only_the_embedded_check() {
    check(vec![fresh("syntax")], expect!["/repo/my app.py: syntax ok (not type-checked)"]);
    check(
        vec![SourceReport::new("pyright", Verdict::NoServer).with_detail("not found on PATH"), fresh("syntax")],
        expect![[r#"
            /repo/my app.py: syntax ok (not type-checked)
              pyright: not running (not found on PATH)"#]],
    );
    check(
        vec![SourceReport::new("rust-analyzer", Verdict::Untrusted), fresh("syntax")],
        expect![[r#"
            /repo/my app.py: syntax ok (not type-checked)
              rust-analyzer: not started, the folder is not trusted"#]],
    );
    let fault = problem(2, Severity::Error, "syntax", "", "missing `)`");
    check(
        vec![with_new("syntax", vec![fault])],
        expect![[r#"
            /repo/my app.py: the edit introduced 1 error [syntax: not type-checked]
              3:5 error [syntax] missing `)`"#]],
    );
    check(
        vec![SourceReport { unchanged: 2, unchanged_errors: 2, resolved: 1, ..fresh("syntax") }],
        expect!["/repo/my app.py: syntax no worse than before, 1 resolved, 2 unchanged errors (not type-checked)"],
    );
    check(
        vec![SourceReport::new("syntax", Verdict::NoServer).with_detail("it is larger than 2 MiB")],
        expect![[r#"
            /repo/my app.py: not checked
              syntax: not checked (it is larger than 2 MiB)"#]],
    );
    let nobody = SourceReport::new("language server", Verdict::NoServer).with_detail("none is known for `plaintext`");
    check(
        vec![
            nobody,
            SourceReport::new("syntax", Verdict::NoServer).with_detail("there is no grammar for this language"),
        ],
        expect![[r#"
            /repo/my app.py: not checked
              language server: not running (none is known for `plaintext`)"#]],
    );
    check(vec![], expect!["/repo/my app.py: not checked"]);
}

#[test]
fn what_is_not_known() {
    check(
        vec![SourceReport::new("basedpyright", Verdict::Pending), fresh("ruff"), fresh("syntax")],
        expect![[r#"
            /repo/my app.py: not fully checked yet; nothing new so far [ruff]
              basedpyright: pending, what it says later comes with a later result"#]],
    );
    check(
        vec![SourceReport::new("basedpyright", Verdict::Pending), fresh("syntax")],
        expect![[r#"
            /repo/my app.py: not checked yet; syntax ok (not type-checked)
              basedpyright: pending, what it says later comes with a later result"#]],
    );
    check(
        vec![SourceReport::new("clippy", Verdict::NeedsSave), fresh("rust-analyzer")],
        expect![[r#"
            /repo/my app.py: not fully checked; nothing new so far [rust-analyzer]
              clippy: needs a save, it checks only what is on the disk"#]],
    );
    check(
        vec![SourceReport::new("clangd", Verdict::Superseded), fresh("syntax")],
        expect![[r#"
            /repo/my app.py: not checked; syntax ok (not type-checked)
              clangd: superseded, the user typed on before it answered"#]],
    );
    check(
        vec![SourceReport::new("eslint", Verdict::NeverReported), fresh("syntax")],
        expect![[r#"
            /repo/my app.py: not checked; syntax ok (not type-checked)
              eslint: silent, it has not reported on this file so far"#]],
    );
    check(
        vec![
            SourceReport::new("gopls", Verdict::Crashed).with_detail("panic: nil map\n\ngoroutine 1 [running]:\n"),
            fresh("syntax"),
        ],
        expect![[r#"
            /repo/my app.py: not checked; syntax ok (not type-checked)
              gopls: crashed:
                  panic: nil map
                  goroutine 1 [running]:"#]],
    );
    let stale = SourceReport { new: vec![undefined(4)], ..SourceReport::new("pylsp", Verdict::Stale) };
    check(
        vec![stale, with_new("ruff", vec![unused()])],
        expect![[r#"
            /repo/my app.py: not fully checked; the edit introduced 1 warning [ruff]
              1:5 warning [Ruff F401] `os` imported but unused
              pylsp: stale, what it last said is about an older text
              5:5 error [pylsp reportUndefinedVariable, about an older text] "total" is not defined"#]],
    );
}

#[test]
fn errors_are_told_while_others_are_silent() {
    check(
        vec![SourceReport::new("basedpyright", Verdict::Pending), with_new("ruff", vec![undefined(1)])],
        expect![[r#"
            /repo/my app.py: the edit introduced 1 error [ruff]
              2:5 error [ruff reportUndefinedVariable] "total" is not defined
              basedpyright: pending, what it says later comes with a later result"#]],
    );
}

#[test]
fn several_documents_and_other_files() {
    let other = |name: &str, errors: u32| FileReport {
        uri: name.to_owned(),
        source: "tsc".to_owned(),
        new: (0..errors)
            .map(|line| problem(line, Severity::Error, "ts", "2304", "Cannot find name 'total'."))
            .collect(),
        cut: if errors > 5 { 3 } else { 0 },
        edited: Vec::new(),
    };
    let mut other_files = vec![other("file:///repo/b.ts", 1), other("untitled:Untitled-1", 7)];
    other_files.extend((0..5).map(|index| other(&format!("file:///repo/{index}.ts"), 1)));
    let mut second = document(vec![fresh("tsc")]);
    second.uri = "untitled:a%20b".to_owned();
    let report =
        DiagnosticsReport { documents: vec![document(vec![fresh("tsc")]), second], other_files, other_files_cut: 4 };
    expect![[r#"
        /repo/my app.py: no errors [tsc]
        untitled:a%20b: no errors [tsc]
        /repo/b.ts: the edit introduced 1 error there [tsc]
          1:5 error [ts 2304] Cannot find name 'total'.
        untitled:Untitled-1: the edit introduced 7 errors and 3 more there [tsc]
          1:5 error [ts 2304] Cannot find name 'total'.
          2:5 error [ts 2304] Cannot find name 'total'.
          3:5 error [ts 2304] Cannot find name 'total'.
          4:5 error [ts 2304] Cannot find name 'total'.
          5:5 error [ts 2304] Cannot find name 'total'.
          5 more not listed
        /repo/0.ts: the edit introduced 1 error there [tsc]
          1:5 error [ts 2304] Cannot find name 'total'.
        /repo/1.ts: the edit introduced 1 error there [tsc]
          1:5 error [ts 2304] Cannot find name 'total'.
        /repo/2.ts: the edit introduced 1 error there [tsc]
          1:5 error [ts 2304] Cannot find name 'total'.
        the edit introduced errors in 6 more files not listed"#]]
    .assert_eq(&render(&report));
    assert_eq!(render(&DiagnosticsReport::default()), "");
}

#[test]
fn a_message_cannot_pass_for_our_words() {
    let forged =
        problem(0, Severity::Warning, "x", "", "odd\n\n/repo/my app.py: no errors (rustc)\r\n  1:1 error\u{1b}[2J");
    let mut document = document(vec![with_new("x\ny", vec![forged])]);
    document.uri = "file:///repo/a%0Ab.py".to_owned();
    let report = DiagnosticsReport { documents: vec![document], ..DiagnosticsReport::default() };
    expect![[r#"
        file:///repo/a%0Ab.py: no errors; the edit introduced 1 warning [x y]
          1:5 warning [x] odd
              /repo/my app.py: no errors (rustc)
                1:1 error"#]]
    .assert_eq(&render(&report));
}

#[test]
fn paths() {
    for (uri, path) in [
        ("file:///a/b%20c", "/a/b c"),
        ("file:///a/%C3%A9%", "/a/é%"),
        ("file:///a/%ff", "file:///a/%ff"),
        ("file:///a/%0a", "file:///a/%0a"),
        ("file:///a/%+f", "/a/%+f"),
        ("file://host/a", "file://host/a"),
        ("file://", "file://"),
        ("untitled:a%20b", "untitled:a%20b"),
    ] {
        assert_eq!(path_of(uri), path);
    }
}

fn any_problem() -> impl Strategy<Value = Problem> {
    let severity =
        prop_oneof![Just(Severity::Error), Just(Severity::Warning), Just(Severity::Information), Just(Severity::Hint)];
    (any::<u32>(), severity, any::<Option<String>>(), any::<Option<String>>(), any::<String>()).prop_map(
        |(line, severity, source, code, message)| Problem {
            range: Range { start: Position::new(line, line), end: Position::new(line, u32::MAX) },
            severity,
            source,
            code,
            message,
        },
    )
}

fn any_source() -> impl Strategy<Value = SourceReport> {
    let verdict = prop_oneof![
        Just(Verdict::Fresh),
        Just(Verdict::Fresh),
        Just(Verdict::Pending),
        Just(Verdict::Stale),
        Just(Verdict::NeedsSave),
        Just(Verdict::NeverReported),
        Just(Verdict::Crashed),
        Just(Verdict::NoServer),
        Just(Verdict::Untrusted),
        Just(Verdict::Superseded)
    ];
    let id = prop_oneof![Just("syntax".to_owned()), Just("ruff".to_owned()), any::<String>()];
    let problems = || proptest::collection::vec(any_problem(), 0..3);
    let numbers = (any::<u64>(), 0usize..3, 0usize..3, 0usize..3, 0usize..3, 0usize..2);
    (id, verdict, problems(), problems(), numbers, any::<Option<String>>()).prop_map(
        |(id, verdict, new, present, (waited_ms, resolved, unchanged, unchanged_errors, cut, unread), detail)| {
            SourceReport {
                id,
                verdict,
                waited_ms,
                baseline: if present.is_empty() { Baseline::Known } else { Baseline::None },
                new,
                present,
                resolved,
                unchanged,
                unchanged_errors,
                cut,
                unread,
                detail,
            }
        },
    )
}

proptest! {
    /// Whatever a report holds: no panic, no control characters but LF, nothing that differs from run to run.
    #[test]
    fn a_report_is_always_told_in_plain_lines(
        uri in any::<String>(),
        sources in proptest::collection::vec(any_source(), 0..4),
        others in proptest::collection::vec((any::<String>(), any::<String>(), any_problem()), 0..8),
    ) {
        let other_files = others
            .into_iter()
            .map(|(uri, source, problem)| FileReport {
                uri,
                source,
                new: vec![problem],
                cut: 0,
                edited: Vec::new(),
            })
            .collect();
        let documents = vec![DocumentReport { uri, version: None, sources, report_in: None }];
        let report = DiagnosticsReport { documents, other_files, ..DiagnosticsReport::default() };
        let text = render(&report);
        prop_assert!(text.chars().all(|char| char == '\n' || !char.is_control()), "{text:?}");
        prop_assert!(!text.ends_with('\n') && !text.contains("\n\n"));
        let mut later = report;
        for source in &mut later.documents[0].sources {
            source.waited_ms = source.waited_ms.wrapping_add(1);
        }
        prop_assert_eq!(text, render(&later));
    }

    /// "No errors" is said if, and only if, a source that checks has checked, none may still object, and no error is known.
    #[test]
    fn no_errors_is_said_only_when_it_is_known(mut sources in proptest::collection::vec(any_source(), 0..4)) {
        let words = |text: &str| text.replace("no errors", "").replace("no new errors", "");
        for source in &mut sources {
            source.id = words(&source.id);
            source.detail = None;
            for problem in source.new.iter_mut().chain(&mut source.present) {
                (problem.source, problem.code, problem.message) = (None, None, "x".to_owned());
            }
        }
        let settled = |source: &SourceReport| {
            matches!(source.verdict, Verdict::Fresh | Verdict::NoServer | Verdict::Untrusted | Verdict::NeverReported)
        };
        let fresh = |source: &&SourceReport| source.verdict == Verdict::Fresh;
        let checked = sources.iter().filter(fresh).any(|source| source.id != "syntax") && sources.iter().all(settled);
        let errors = |list: &[Problem]| list.iter().any(|problem| problem.severity == Severity::Error);
        let known = sources.iter().filter(fresh).any(|source| errors(&source.new) || errors(&source.present));
        let hidden = sources.iter().filter(fresh).any(|source| {
            source.unread > 0 || source.cut > 0 && source.new.is_empty() && source.present.is_empty()
        });
        let old = sources.iter().filter(fresh).any(|source| source.unchanged_errors > 0);
        let text = render(&DiagnosticsReport { documents: vec![document(sources)], ..DiagnosticsReport::default() });
        prop_assert_eq!(text.contains("no errors"), checked && !known && !hidden && !old, "{}", text);
        prop_assert_eq!(text.contains("no new errors"), checked && !known && !hidden && old, "{}", text);
    }
}
