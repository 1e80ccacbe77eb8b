//! Runs one case and judges what came of it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use ropewalk::replace::{Request, find};

/// One edit as a model would send it, and what is right.
#[derive(Debug, Clone)]
pub(super) struct Case {
    /// The file's name.
    pub(super) file: String,
    /// The 1-based line at which the place begins.
    pub(super) line: usize,
    /// The file as it is.
    pub(super) text: String,
    /// What the model says is there.
    pub(super) old: String,
    /// What it says should be there.
    pub(super) new: String,
    /// Whether every place is meant.
    pub(super) all: bool,
    /// The results that are right, the best first; none where only a refusal is.
    pub(super) accept: Vec<String>,
    /// Whether a refusal is right too.
    pub(super) may_refuse: bool,
    /// The 0-based lines of the results that may end with CRLF or LF alike.
    pub(super) loose_ends: Vec<usize>,
    /// The bytes of the text before the place and after it, which no edit may touch.
    pub(super) outside: (usize, usize),
}

/// What came of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Verdict {
    /// As it should be, to the byte, or refused where that is right.
    Right,
    /// At the right place; only white space inside it is otherwise.
    Placed,
    /// Refused, where a careful person could have told what is meant.
    Refused,
    /// Edited elsewhere or otherwise, or edited where only a refusal is right.
    Wrong,
}

/// A case that was run.
#[derive(Debug)]
pub(super) struct Outcome {
    /// What came of it.
    pub(super) verdict: Verdict,
    /// The strategy that found the place, or the kind of the refusal.
    pub(super) by: String,
    /// The text after it, or the explanation of the refusal.
    pub(super) got: Result<String, String>,
}

/// Runs a case.
pub(super) fn run(case: &Case) -> Outcome {
    let request = Request { old: &case.old, new: &case.new, all: case.all };
    let Ok(answer) = catch_unwind(AssertUnwindSafe(|| find(&case.text, &request))) else {
        return Outcome { verdict: Verdict::Wrong, by: "panic".to_owned(), got: Err("it panicked".to_owned()) };
    };
    match answer {
        Err(miss) => {
            let right = case.accept.is_empty() || case.may_refuse;
            let verdict = if right { Verdict::Right } else { Verdict::Refused };
            Outcome { verdict, by: format!("{:?}", miss.kind), got: Err(miss.explanation) }
        }
        Ok(found) => {
            let mut got = String::with_capacity(case.text.len() + case.new.len());
            let mut end = 0;
            for splice in &found.splices {
                let (Some(kept), Some(_)) =
                    (case.text.get(end..splice.range.start), case.text.get(splice.range.clone()))
                else {
                    let got = Err(format!("splices that overlap or cut characters: {:?}", found.splices));
                    return Outcome { verdict: Verdict::Wrong, by: found.strategy.to_owned(), got };
                };
                got.push_str(kept);
                got.push_str(&splice.text);
                end = splice.range.end;
            }
            got.push_str(&case.text[end..]);
            Outcome { verdict: judge(case, &got), by: found.strategy.to_owned(), got: Ok(got) }
        }
    }
}

fn judge(case: &Case, got: &str) -> Verdict {
    if case.accept.iter().any(|want| want == got || same_but_ends(want, got, &case.loose_ends)) {
        return Verdict::Right;
    }
    let (before, after) = case.outside;
    let untouched = got.len() >= before + after
        && got.as_bytes()[..before] == case.text.as_bytes()[..before]
        && got.as_bytes()[got.len() - after..] == case.text.as_bytes()[case.text.len() - after..];
    let solid = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
    let got = solid(got);
    if untouched && case.accept.iter().any(|want| solid(want) == got) { Verdict::Placed } else { Verdict::Wrong }
}

/// Whether two texts are the same but for the ends of some lines.
fn same_but_ends(want: &str, got: &str, loose: &[usize]) -> bool {
    if loose.is_empty() {
        return false;
    }
    let (want, got): (Vec<&str>, Vec<&str>) = (want.split('\n').collect(), got.split('\n').collect());
    let bare = |line: &str| line.strip_suffix('\r').unwrap_or(line).to_owned();
    want.len() == got.len()
        && want.iter().zip(&got).enumerate().all(|(at, (a, b))| a == b || (loose.contains(&at) && bare(a) == bare(b)))
}
