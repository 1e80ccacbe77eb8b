//! A case and what came of it in full, for people.

use std::fmt::Write as _;

use similar::TextDiff;

use super::score::{Case, Outcome};

/// A case that was run.
pub(super) struct Ran {
    /// Its kind.
    pub(super) kind: &'static str,
    /// Its number within the kind.
    pub(super) number: usize,
    /// The case.
    pub(super) case: Case,
    /// What came of it.
    pub(super) outcome: Outcome,
}

impl Ran {
    /// All of it, for people.
    pub(super) fn in_full(&self) -> String {
        let case = &self.case;
        let mut out = String::new();
        let verdict = self.outcome.verdict;
        let _ = writeln!(out, "==== {} #{}: {verdict:?} by {}", self.kind, self.number, self.outcome.by);
        let _ = writeln!(out, "{}:{}{}", case.file, case.line, if case.all { " (every place)" } else { "" });
        for (name, text) in [("old", &case.old), ("new", &case.new)] {
            let _ = writeln!(out, "-- {name}\n{}", visible(text));
        }
        match case.accept.first() {
            Some(want) => {
                let _ = writeln!(out, "-- expected\n{}", diff(&case.text, want));
            }
            None => {
                let _ = writeln!(out, "-- expected: a refusal\n-- there\n{}", around(&case.text, case.line));
            }
        }
        let _ = match &self.outcome.got {
            Ok(got) => writeln!(out, "-- got\n{}", diff(&case.text, got)),
            Err(told) => writeln!(out, "-- refused\n{told}"),
        };
        out
    }
}

fn diff(before: &str, after: &str) -> String {
    visible(&TextDiff::from_lines(before, after).unified_diff().context_radius(2).to_string())
}

/// The lines about a 1-based line.
fn around(text: &str, line: usize) -> String {
    let lines: Vec<&str> = text.lines().skip(line.saturating_sub(3)).take(20).collect();
    visible(&lines.join("\n"))
}

/// A text with what cannot be seen made visible: tabs, CR, no-break spaces, space at the ends of lines.
fn visible(text: &str) -> String {
    let lines = text.split('\n').map(|line| {
        let kept = line.trim_end_matches([' ', '\t', '\r']).len();
        let end = line[kept..].replace(' ', "·").replace('\r', "␍");
        format!("{}{end}", &line[..kept]).replace('\t', "⇥").replace('\u{a0}', "⍽")
    });
    lines.collect::<Vec<_>>().join("\n")
}
