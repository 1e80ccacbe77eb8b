//! What a call of the tool reaches, and which calls do not fit.

use super::*;
use crate::permissions::{DecisionKind, Mode, Policy, Reach, Rule, judge};
use serde_json::Value;

fn arguments(given: Value) -> Arguments {
    serde_json::from_value(given).unwrap()
}

fn judged(access: &Access, mode: Mode) -> DecisionKind {
    let reach = Reach { commands: access.commands.clone(), ..Reach::default() };
    judge("monitor", Rule::of("monitor"), &reach, &Policy { mode, ceiling: mode, ..Policy::default() }).decision
}

#[test]
fn only_what_runs_or_is_written_is_asked_about() {
    let input = "input-of-monitor j1";
    for (given, commands) in [
        (json!({ "command": "npm run dev", "id": "j1" }), vec!["npm run dev"]),
        (json!({ "action": "read", "id": "j1", "command": "x" }), vec![]),
        (json!({ "action": "stop", "id": "j1" }), vec![]),
        (json!({ "action": "list" }), vec![]),
        (json!({ "action": "write", "id": " j1 ", "text": "rm -rf x" }), vec!["rm -rf x\n", input]),
        (json!({ "action": "write", "id": "j1", "text": "y", "newline": false }), vec!["y", input]),
        (json!({ "action": "write", "id": "j1", "text": "y\n" }), vec!["y\n", input]),
        (json!({ "action": "write", "id": "j1", "close_stdin": true }), vec![]),
        (json!({ "action": "write", "id": "j1", "text": "", "close_stdin": true }), vec![]),
    ] {
        let access = Monitor.access(&arguments(given.clone()));
        assert_eq!(access.commands, commands, "{given}");
        let (asked, planned) = if commands.is_empty() {
            (DecisionKind::Allow, DecisionKind::Allow)
        } else {
            (DecisionKind::Ask, DecisionKind::Deny)
        };
        let decisions = [Mode::Build, Mode::Review, Mode::Plan, Mode::Explore].map(|mode| judged(&access, mode));
        assert_eq!(decisions, [asked, asked, planned, planned], "{given}");
    }
    // Consent to one text, or to a command that begins so, says nothing about another monitor.
    assert_eq!(crate::permissions::arity::shared(input), None);
    let reads = |given| Monitor.access(&arguments(given)).reads;
    assert_eq!(reads(json!({ "command": "x", "workdir": "sub" })), ["sub"]);
    assert_eq!(reads(json!({ "action": "list", "workdir": "sub" })), [""; 0]);
}

#[test]
fn what_does_not_fit_is_refused_with_what_to_do() {
    for (given, words) in [
        (json!({}), "`command` is missing"),
        (json!({ "command": " " }), "`command` is missing"),
        (json!({ "id": "j1" }), "action \"read\""),
        (json!({ "action": "read" }), "`id` is missing"),
        (json!({ "action": "stop", "id": "" }), "`id` is missing"),
        (json!({ "action": "write", "id": "j1" }), "give `text`"),
        (json!({ "action": "read", "id": "j1", "pattern": "(" }), "no regular expression"),
    ] {
        let error = Monitor.validate(&arguments(given.clone())).unwrap_err();
        assert!(error.kind == ErrorKind::InvalidArguments && error.message.contains(words), "{given}: {error}");
    }
    for given in [
        json!({ "command": "ls" }),
        json!({ "action": "list" }),
        json!({ "action": "read", "id": "j1", "pattern": "" }),
    ] {
        assert_eq!(Monitor.validate(&arguments(given.clone())), Ok(()), "{given}");
    }
}

#[test]
fn timeouts_are_bounded_and_none_is_none() {
    for (given, timeout, told) in [
        (json!({ "command": "x" }), Some(TIMEOUT), false),
        (json!({ "command": "x", "timeout": 5 }), Some(5), false),
        (json!({ "command": "x", "timeout": 0 }), None, false),
        (json!({ "command": "x", "timeout": LONGEST_TIMEOUT }), Some(LONGEST_TIMEOUT), false),
        (json!({ "command": "x", "timeout": LONGEST_TIMEOUT + 1 }), Some(LONGEST_TIMEOUT), true),
    ] {
        let (found, remark) = arguments(given.clone()).timeout();
        assert_eq!((found, remark.is_some()), (timeout, told), "{given}");
    }
}
