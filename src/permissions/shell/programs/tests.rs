//! The rows of `fixtures/shell/programs.txt`, and what must hold for any words.

use std::path::PathBuf;

use super::super::Scene;
use super::super::effects::{Effects, Invocation, Verdict, Word};
use super::*;

const FIXTURE: &str = include_str!("../../../../fixtures/shell/programs.txt");

fn scene() -> Scene {
    Scene {
        workdir: PathBuf::from("/work/project"),
        roots: vec![PathBuf::from("/work/project")],
        home: Some(PathBuf::from("/home/me")),
    }
}

/// Words as the fixture writes them: separated by spaces, in quotes where they hold some; with a `$` outside single quotes
/// they are unknown.
fn words(line: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let (mut text, mut begun, mut unknown, mut quote) = (String::new(), false, false, None);
    for c in line.chars() {
        match (quote, c) {
            (None, ' ') => {
                if std::mem::take(&mut begun) {
                    let text = std::mem::take(&mut text);
                    words.push(if unknown { Word::Unknown(text) } else { Word::Known(text) });
                    unknown = false;
                }
            }
            (None, '\'' | '"') => (quote, begun) = (Some(c), true),
            (Some(open), c) if c == open => quote = None,
            (open, c) => {
                begun = true;
                unknown |= c == '$' && open != Some('\'');
                text.push(c);
            }
        }
    }
    if begun {
        words.push(if unknown { Word::Unknown(text) } else { Word::Known(text) });
    }
    words
}

fn judged(given: &str, args: &[Word], fed: bool) -> Effects {
    let program = given.rsplit('/').next().unwrap_or(given);
    effects(&Invocation { program, given, args, fed, scene: &scene() })
}

fn told(line: &str) -> Effects {
    let (line, fed) = match line.strip_suffix(" <fed") {
        Some(line) => (line, true),
        None => (line, false),
    };
    let words = words(line);
    let (given, args) = words.split_first().unwrap();
    judged(options::shown(given), args, fed)
}

/// The rows: verdict, line, a part of a reason.
fn rows() -> Vec<(Verdict, &'static str, Option<&'static str>)> {
    let rows: Vec<_> = FIXTURE
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| {
            let [verdict, command, reason] = line.split(" | ").collect::<Vec<_>>()[..] else {
                panic!("three columns: {line}");
            };
            let verdict = match verdict.trim() {
                "reads" => Verdict::ReadOnly,
                "writes" => Verdict::WorkspaceWrite,
                "asks" => Verdict::NeedsApproval,
                "destroys" => Verdict::Destructive,
                other => panic!("{other}: {line}"),
            };
            (verdict, command.trim(), (reason.trim() != "-").then_some(reason.trim()))
        })
        .collect();
    assert!(rows.len() >= 400, "{}", rows.len());
    assert!(rows.iter().filter(|(verdict, ..)| *verdict == Verdict::ReadOnly).count() >= 120);
    rows
}

#[test]
fn the_fixture() {
    let mut faults = Vec::new();
    for (verdict, line, reason) in rows() {
        let told = told(line);
        let fits = reason.is_none_or(|part| told.reasons.iter().any(|reason| reason.contains(part)));
        if told.verdict != verdict || !fits || told.verdict > Verdict::ReadOnly && told.reasons.is_empty() {
            faults.push(format!("{line}\n    {verdict:?} {reason:?}\n    {:?} {:?}", told.verdict, told.reasons));
        }
    }
    assert!(faults.is_empty(), "{} of the rows:\n{}", faults.len(), faults.join("\n"));
}
