//! How often the cascade puts realistic inexact edits right.
//!
//! Real source files, edits as people make them, and pairs of old and new as models get them wrong; written from what
//! the cascade promises and not from how it works. Run it with
//! `cargo bench --bench fidelity -- --seed 1 --cases 2400 [--kind K] [--show N] [--check]`.

mod content;
mod corpus;
mod edits;
mod kinds;
mod random;
mod refusals;
mod report;
mod scene;
mod score;
mod sources;
mod spacing;
mod spelling;
mod tally;
mod whole;

use std::io::Write as _;
use std::process::ExitCode;

use kinds::{KINDS, make};
use report::Ran;
use score::Verdict;
use tally::Tally;

/// What the command line asks for.
struct Asked {
    seed: u64,
    cases: usize,
    kind: Option<String>,
    show: usize,
    check: bool,
}

fn asked() -> Result<Asked, String> {
    let mut asked = Asked { seed: 1, cases: 2_400, kind: None, show: 0, check: false };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| format!("{argument} needs a value"));
        let number = |text: String| text.parse::<u64>().map_err(|error| format!("{text}: {error}"));
        let small = |text: String| text.parse::<usize>().map_err(|error| format!("{text}: {error}"));
        match argument.as_str() {
            "--seed" => asked.seed = number(value()?)?,
            "--cases" => asked.cases = small(value()?)?,
            "--kind" => asked.kind = Some(value()?),
            "--show" => asked.show = small(value()?)?,
            "--check" => asked.check = true,
            // Cargo says it to every bench.
            "--bench" => {}
            other => return Err(format!("{other}: unknown; --seed N --cases N --kind K --show N --check")),
        }
    }
    Ok(asked)
}

fn main() -> ExitCode {
    let mut out = std::io::stdout().lock();
    let asked = match asked() {
        Ok(asked) => asked,
        Err(error) => {
            let _ = writeln!(out, "{error}");
            return ExitCode::from(2);
        }
    };
    let kinds: Vec<_> =
        KINDS.iter().filter(|(name, _)| asked.kind.as_deref().is_none_or(|kind| kind == *name)).collect();
    if kinds.is_empty() {
        let names: Vec<&str> = KINDS.iter().map(|(name, _)| *name).collect();
        let _ = writeln!(out, "no such kind; there are: {}", names.join(" "));
        return ExitCode::from(2);
    }
    let corpus = sources::corpus();
    for note in &corpus.notes {
        let _ = writeln!(out, "{note}");
    }
    if corpus.files.is_empty() {
        let _ = writeln!(out, "no source files to make cases from");
        return ExitCode::from(2);
    }
    let mut tally = Tally::default();
    let mut shown = 0;
    for index in 0..asked.cases {
        let (kind, draw) = *kinds[index % kinds.len()];
        let number = index / kinds.len();
        let Some(case) = make(kind, draw, asked.seed, number, &corpus) else {
            tally.lacks(kind);
            continue;
        };
        let ran = Ran { kind, number, outcome: score::run(&case), case };
        if ran.outcome.verdict != Verdict::Right && shown < asked.show {
            shown += 1;
            let _ = writeln!(out, "{}", ran.in_full());
        }
        tally.add(&ran);
    }
    let _ = write!(out, "{}", tally.table(&kinds.iter().map(|(name, _)| *name).collect::<Vec<_>>()));
    if asked.check && !tally.passes() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
