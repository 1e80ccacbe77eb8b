//! Lines with what is found in them, by a small table of programs of their own: what the grammar and the wrappers do
//! does not depend on what the programs do.

mod bounds;
mod commands;
mod consents;
mod lines;
mod wrapping;

use super::effects::{Effects, Invocation, Runs, Verdict, Word};
use super::{Analysis, Scene, walk};

/// A user in one of two workspace folders.
pub(super) fn scene() -> Scene {
    Scene { workdir: "/w".into(), roots: vec!["/w".into(), "/v".into()], home: Some("/home/u".into()) }
}

/// Some programs, judged as roughly as the tests need it.
pub(super) fn table(invocation: &Invocation<'_>) -> Effects {
    let Invocation { program, args, .. } = *invocation;
    let operands: Vec<Word> = args.iter().filter(|arg| !arg.text().starts_with('-')).cloned().collect();
    let mut effects = Effects::harmless();
    let mut asks = |verdict: Verdict, why: &str| {
        effects.verdict = verdict;
        effects.reasons.push(format!("`{program}` {why}"));
    };
    match program {
        "ls" | "echo" | "pwd" | "grep" | "wc" | "date" | "printf" | "sort" | "jq" | "seq" | "diff" | "sleep"
        | "which" | "basename" => {}
        "cat" | "head" | "tail" => effects.reads = operands,
        "touch" | "mkdir" => effects.writes = operands,
        "cp" => effects.writes.extend(operands.last().cloned()),
        "rm" => {
            asks(Verdict::NeedsApproval, "deletes");
            effects.writes = operands;
        }
        "curl" => {
            asks(Verdict::NeedsApproval, "fetches");
            effects.network = true;
        }
        "git" => match args.first().map(Word::text) {
            Some("status" | "log" | "diff" | "--version") => {}
            Some("clean") => asks(Verdict::Destructive, "clean deletes"),
            _ => asks(Verdict::NeedsApproval, "changes the repository"),
        },
        "mkfs" | "shutdown" | "dd" => asks(Verdict::Destructive, "destroys"),
        "docker" if args.first().map(Word::text) == Some("exec") => {
            asks(Verdict::NeedsApproval, "runs in a container");
            effects.runs.push(Runs::Words { words: args[2..].to_vec(), more: false, elsewhere: true });
        }
        "cargo" | "npm" | "make" | "python" | "python3" | "perl" | "node" => {
            asks(Verdict::NeedsApproval, "runs the project's code");
        }
        _ => asks(Verdict::NeedsApproval, "is not known"),
    }
    effects
}

pub(super) fn analyse(line: &str) -> Analysis {
    walk::analyse(line, &scene(), table)
}

/// The verdict as the rows write it.
pub(super) fn verdict(analysis: &Analysis) -> &'static str {
    match (analysis.verdict, &analysis.unclear) {
        (Verdict::ReadOnly, _) => "reads",
        (Verdict::WorkspaceWrite, _) => "writes",
        (Verdict::NeedsApproval, None) => "asks",
        (Verdict::NeedsApproval, Some(_)) => "unclear",
        (Verdict::Destructive, _) => "destroys",
    }
}

/// The rows `verdict | line | a piece of the first reason`; `⏎` stands for a line end, `-` for no reason.
pub(super) fn rows() -> Vec<(&'static str, String, &'static str)> {
    let rows = include_str!("../../../fixtures/shell/grammar.txt").lines();
    let rows = rows.filter(|row| !row.is_empty() && !row.starts_with('#'));
    let parsed = rows.map(|row| {
        let (verdict, rest) = row.split_once(" | ").unwrap_or_else(|| panic!("{row}"));
        let (line, reason) = rest.rsplit_once(" | ").unwrap_or_else(|| panic!("{row}"));
        (verdict.trim(), line.trim().replace('⏎', "\n"), reason.trim())
    });
    parsed.collect()
}

#[test]
fn every_row_has_its_verdict() {
    let rows = rows();
    let mut wrong = Vec::new();
    for (expected, line, reason) in &rows {
        let analysis = analyse(line);
        let reasons = analysis.reasons.join("; ");
        let told = if *reason == "-" { reasons.is_empty() } else { reasons.contains(reason) };
        if verdict(&analysis) != *expected || !told {
            wrong.push(format!("{expected} | {line} | {reason}\n    {} | {reasons}", verdict(&analysis)));
        }
    }
    assert!(wrong.is_empty(), "{} of {} rows:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
    assert!(rows.len() >= 300, "{}", rows.len());
}
