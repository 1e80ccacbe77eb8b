//! Which lines of an output look like failures, and which lines belong to them. Pure.

use std::sync::LazyLock;

use regex::Regex;

/// Words that failures are told with, in lower case.
const FAILURES: &[&str] = &[
    "error",
    "fail",
    "fatal",
    "panic",
    "exception",
    "traceback",
    "abort",
    "segmentation fault",
    "core dumped",
    "killed",
    "not ok",
    "assert",
    "undefined reference",
    "cannot find",
    "permission denied",
    "timed out",
];

/// Marks of failures.
const MARKS: &[&str] = &["✗", "✖", "❌"];

/// Ways to say that there was none.
const SUCCESSES: &[&str] =
    &["0 error", "no error", "0 fail", "no fail", "without error", "errors: 0", "failed: 0", "failures: 0", "0 warn"];

/// Beginnings of lines that go on with what the line before them began, besides those that are indented.
const CONTINUATIONS: &[&str] = &["note:", "help:", "caused by", "hint:", "|", "-->", "e  ", "> ", "^", "~"];

/// Whether a line looks like a failure.
pub(super) fn looks_failed(line: &str) -> bool {
    if MARKS.iter().any(|mark| line.contains(mark)) {
        return true;
    }
    let mut line = line.to_lowercase();
    for success in SUCCESSES {
        // `10 errors` must not read as `0 error`.
        if let Some(at) = line.find(success)
            && !line[..at].ends_with(|before: char| before.is_ascii_digit() || before == '.')
        {
            line = line.replacen(success, "", 1);
        }
    }
    FAILURES.iter().any(|word| line.contains(word))
}

/// Where the first line may be that looks like a failure (a byte offset in it); `None`: no line does. Quick, for long texts.
pub(super) fn may_have_failed(text: &str) -> Option<usize> {
    static WORDS: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let words = FAILURES.iter().chain(MARKS).map(|word| regex::escape(word)).collect::<Vec<_>>().join("|");
        Regex::new(&format!("(?i){words}")).ok()
    });
    match &*WORDS {
        Some(words) => words.find(text).map(|found| found.start()),
        None => None,
    }
}

/// Whether a line goes on with what a failure before it began: it is indented, or starts as explanations do, or is a
/// quoted line of source with its number.
pub(super) fn continues(line: &str) -> bool {
    if line.trim().is_empty() {
        return false;
    }
    if line.starts_with([' ', '\t']) {
        return true;
    }
    let unnumbered = line.trim_start_matches(|c: char| c.is_ascii_digit());
    if unnumbered.len() < line.len() && unnumbered.trim_start().starts_with('|') {
        return true;
    }
    let start: String = line.chars().take(12).collect::<String>().to_lowercase();
    CONTINUATIONS.iter().any(|continuation| start.starts_with(continuation))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_told_apart() {
        for line in [
            "error: x",
            "10 errors",
            "FAILED",
            "thread 'main' panicked at",
            "not ok 3",
            "✗ it works",
            "1.0 failed",
            "0 errors, 3 failures",
            "npm ERR! error code 1",
            "Traceback (most recent call last):",
        ] {
            assert!(looks_failed(line) && may_have_failed(line).is_some(), "{line}");
        }
        for line in ["0 errors", "ok", "No failures", "test result: ok. 3 passed; 0 failed", "all good", ""] {
            assert!(!looks_failed(line), "{line}");
        }
    }

    #[test]
    fn what_goes_on() {
        for line in
            ["  --> src/a.rs:1", "\tat main", "12 |     let x", "note: see", "Caused by: y", "E   assert 1 == 2"]
        {
            assert!(continues(line), "{line}");
        }
        for line in ["", "   ", "ok", "12 passed", "test a ... ok", "Compiling x"] {
            assert!(!continues(line), "{line}");
        }
    }
}
