//! How outcomes are told: to a person, as lines of JSON, and as the XML of `JUnit`. Pure; nothing in it differs from run to run.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::expect::visible;
use super::play::{Cut, Outcome, Played, Trouble};
use super::script::{Fault, Line};

/// A trouble in words, of several lines where there is much to say.
fn words(trouble: &Trouble) -> String {
    match trouble {
        Trouble::Missed(misses) => {
            let each = misses.iter().map(|miss| {
                let found = miss.found.replace('\n', "\n          ");
                let mut text = format!("{}\n  expected: {}\n  there is: {found}", miss.what, miss.expected);
                if let Some(fix) = &miss.fix {
                    let _ = write!(text, "\n  see:      {fix}");
                }
                text
            });
            each.collect::<Vec<_>>().join("\n")
        }
        Trouble::FailOn(why) | Trouble::Unallowed(why) | Trouble::Broken(why) => why.clone(),
        Trouble::Cut(Cut::Deadline) => "the deadline came".to_owned(),
        Trouble::Cut(Cut::Signal(_)) => "it was told to end".to_owned(),
    }
}

fn kind(trouble: &Trouble) -> &'static str {
    match trouble {
        Trouble::Missed(_) => "expectation",
        Trouble::FailOn(_) => "failOn",
        Trouble::Unallowed(_) => "unallowed",
        Trouble::Broken(_) => "broken",
        Trouble::Cut(Cut::Deadline) => "deadline",
        Trouble::Cut(Cut::Signal(_)) => "interrupted",
    }
}

/// A step for a person: a line, and more where something is wrong.
pub fn human(script: &str, outcome: &Outcome) -> String {
    let mark = if outcome.is_ok() { "ok  " } else { "FAIL" };
    let name = outcome.name.as_ref().map(|name| format!("{name}: ")).unwrap_or_default();
    let summary = if outcome.summary.is_empty() { String::new() } else { format!(" -> {}", outcome.summary) };
    let mut text = format!("{mark} {:>4}  {name}{}{summary}\n", outcome.line, outcome.what);
    for trouble in &outcome.troubles {
        let _ = writeln!(text, "       {script}:{}: {}", outcome.line, words(trouble).replace('\n', "\n       "));
    }
    if let Some(content) = outcome.content().filter(|_| !outcome.is_ok()) {
        let _ = writeln!(text, "       the answer was: {}", content.trim_end().replace('\n', "\n         "));
    }
    visible(&text)
}

/// A script for a person, when it is over.
pub fn human_end(script: &str, played: &Played) -> String {
    let failed = played.outcomes.iter().filter(|outcome| !outcome.is_ok()).count();
    let done = played.outcomes.len();
    let skipped = if played.skipped == 0 { String::new() } else { format!(", {} not tried", played.skipped) };
    format!("{} {script}: {done} steps, {failed} failed{skipped}\n", if failed == 0 { "ok  " } else { "FAIL" })
}

/// A step as a value.
pub fn json(script: &str, outcome: &Outcome) -> Value {
    let troubles = outcome.troubles.iter().map(|trouble| match trouble {
        Trouble::Missed(misses) => {
            let misses = misses.iter().map(
                |miss| json!({ "what": miss.what, "expected": miss.expected, "found": miss.found, "fix": miss.fix }),
            );
            json!({ "kind": kind(trouble), "misses": misses.collect::<Vec<_>>() })
        }
        _ => json!({ "kind": kind(trouble), "message": words(trouble) }),
    });
    let mut event = json!({
        "event": "step", "script": script, "line": outcome.line, "step": outcome.what, "ok": outcome.is_ok(),
        "summary": outcome.summary, "troubles": troubles.collect::<Vec<_>>(),
        "results": outcome.results.iter().cloned().collect::<serde_json::Map<_, _>>(),
    });
    if let Some(name) = &outcome.name {
        event["name"] = json!(name);
    }
    event
}

/// The end of a script as a value.
pub fn json_end(script: &str, played: &Played) -> Value {
    let failed = played.outcomes.iter().filter(|outcome| !outcome.is_ok()).count();
    json!({
        "event": "script", "script": script, "ok": played.code == 0, "code": played.code,
        "steps": played.outcomes.len(), "failed": failed, "skipped": played.skipped,
    })
}

/// The faults of a script for a person.
pub fn human_faults(script: &str, faults: &[Fault]) -> String {
    faults.iter().fold(String::new(), |mut text, fault| {
        let _ = writeln!(text, "{script}:{}: {}", fault.line, fault.why);
        text
    })
}

/// Scripts as the XML of `JUnit`: each is a suite, each step with a name begins a case, and what is before the first of them (or
/// all, where there is none) is a case named after the script.
pub fn junit(scripts: &[(String, Vec<Line>, Played)]) -> String {
    let (mut tests, mut failures, mut errors) = (0, 0, 0);
    let mut suites = String::new();
    for (script, lines, played) in scripts {
        let cases = cases(script, lines, played);
        let count = |wanted: Kind| cases.iter().filter(|case| case.kind == Some(wanted)).count();
        let (failed, wrong, skipped) = (count(Kind::Failure), count(Kind::Error), count(Kind::Skipped));
        let _ = writeln!(
            suites,
            "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{failed}\" errors=\"{wrong}\" skipped=\"{skipped}\">",
            escaped(script),
            cases.len(),
        );
        for case in &cases {
            let head = format!("    <testcase classname=\"{}\" name=\"{}\"", escaped(script), escaped(&case.name));
            let _ = match case.kind {
                None => writeln!(suites, "{head}/>"),
                Some(Kind::Skipped) => writeln!(suites, "{head}><skipped/></testcase>"),
                Some(kind) => {
                    let tag = if kind == Kind::Failure { "failure" } else { "error" };
                    let first = case.text.lines().next().unwrap_or_default();
                    let (first, text) = (escaped(first), escaped(&case.text));
                    writeln!(suites, "{head}><{tag} message=\"{first}\">{text}</{tag}></testcase>")
                }
            };
        }
        suites.push_str("  </testsuite>\n");
        (tests, failures, errors) = (tests + cases.len(), failures + failed, errors + wrong);
    }
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"ropewalk run\" tests=\"{tests}\" \
         failures=\"{failures}\" errors=\"{errors}\">\n{suites}</testsuites>\n"
    )
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Failure,
    Error,
    Skipped,
}

struct Case {
    name: String,
    kind: Option<Kind>,
    text: String,
}

fn cases(script: &str, lines: &[Line], played: &Played) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let outcome = played.outcomes.get(at);
        if line.name.is_some() || cases.is_empty() {
            let name = line.name.clone().unwrap_or_else(|| script.to_owned());
            let kind = outcome.is_none().then_some(Kind::Skipped);
            cases.push(Case { name, kind, text: String::new() });
        }
        let (Some(case), Some(outcome)) = (cases.last_mut(), outcome) else { continue };
        for trouble in &outcome.troubles {
            let kind = match trouble {
                Trouble::Broken(_) | Trouble::Cut(_) => Kind::Error,
                Trouble::Missed(_) | Trouble::FailOn(_) | Trouble::Unallowed(_) => Kind::Failure,
            };
            case.kind = Some(case.kind.unwrap_or(kind));
            let _ = writeln!(case.text, "{script}:{}: {}: {}", outcome.line, outcome.what, words(trouble));
        }
    }
    cases
}

/// A text as XML takes it; what XML has no way to say is left out.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(c),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => {}
            c => out.push(c),
        }
    }
    out
}
