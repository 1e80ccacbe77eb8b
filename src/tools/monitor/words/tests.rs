//! What a model is told, word for word.

use super::*;
use crate::jobs::Seen;
use expect_test::{Expect, expect};

fn job(state: JobState, detail: Option<&str>) -> JobInfo {
    JobInfo {
        id: "j1".to_owned(),
        label: "npm run dev".to_owned(),
        state,
        detail: detail.map(str::to_owned),
        output_bytes: 0,
        dropped_bytes: 0,
    }
}

fn line(number: u64, stream: Stream, text: &str) -> Line {
    Line { number, stream, text: text.to_owned(), cut: 0 }
}

#[test]
fn a_monitor_has_a_name_of_one_line() {
    let long = "x".repeat(NAME + 1);
    for (description, command, expected) in [
        (Some(" the server\n of the app "), "npm run dev", "the server of the app".to_owned()),
        (Some("  "), "npm \t run\ndev", "npm run dev".to_owned()),
        (None, &*"x".repeat(NAME), "x".repeat(NAME)),
        (None, &long, format!("{}...", "x".repeat(NAME))),
        (Some(&*"é".repeat(DESCRIPTION + 9)), "x", format!("{}...", "é".repeat(DESCRIPTION))),
    ] {
        assert_eq!(label(description, command), expected);
    }
}

#[test]
fn readings_are_told() {
    let check = |job: JobInfo, seen: Seen, numbered: bool, expected: Expect| {
        expected.assert_eq(&read(&Reading { job, seen }, numbered));
    };
    let two = vec![line(40, Stream::Out, "ready"), line(41, Stream::Err, "warning")];
    let seen = Seen { from: 2, lines: two, next: 42, dropped: 38, total: 50, ..Seen::default() };
    check(
        job(JobState::Running, None),
        seen,
        false,
        expect![[r"
        Monitor j1 (npm run dev) runs. Lines 40-41 of 50:
        | ready
        ! warning
        (38 lines from 2 on not kept any more; 8 lines from 42 on not shown yet; next: since 42)"]],
    );
    let one = Seen { lines: vec![line(3, Stream::Out, "ready")], next: 5, unmatched: 4, total: 5, ..Seen::default() };
    check(
        job(JobState::Exited, Some("exit code 0")),
        one.clone(),
        true,
        expect![[r"
        Monitor j1 (npm run dev) ended: exit code 0. 1 line of 5:
        3 | ready
        (4 lines without a match left out; next: since 5)"]],
    );
    check(
        job(JobState::Stopped, Some("by signal 15")),
        one,
        false,
        expect![[r"
        Monitor j1 (npm run dev) was stopped: by signal 15. Line 3 of 5:
        | ready
        (4 lines without a match left out; next: since 5)"]],
    );
    let none = Seen { open: vec![(Stream::Out, "Password:".to_owned())], ..Seen::default() };
    check(
        job(JobState::Running, None),
        none,
        false,
        expect![[r"
        Monitor j1 (npm run dev) runs. It has put out no line yet.
        (not ended yet)
        | Password:
        (next: since 0)"]],
    );
    let none = Seen { from: 7, next: 7, total: 7, ..Seen::default() };
    check(
        job(JobState::Running, None),
        none.clone(),
        false,
        expect![[r"
        Monitor j1 (npm run dev) runs. There are no lines from 7 on.
        (next: since 7)"]],
    );
    check(
        job(JobState::Failed, None),
        none,
        true,
        expect![[r"
        Monitor j1 (npm run dev) failed. None of its lines from 7 on match.
        (next: since 7)"]],
    );
}

#[test]
fn lists_are_told() {
    let info = |dropped| MonitorInfo { job: job(JobState::Running, None), lines: 1200, unread: 3, dropped };
    assert_eq!(list(&[]), "There are no monitors in this session.");
    expect![[r"
        j1 (npm run dev) runs; 1200 lines, 3 unread
        j1 (npm run dev) runs; 1200 lines, 3 unread, the first 200 not kept any more"]]
    .assert_eq(&list(&[info(0), info(200)]));
}
