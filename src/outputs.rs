//! Budgets for what a model is shown, and the store of what was cut. Pure.

mod store;

pub use store::Store;

use std::fmt::Write as _;

/// How much of one output is shown. Bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// At most so much in all, the remarks on what was cut included.
    pub max: usize,
    /// Of that, from the end; the rest is from the beginning.
    pub tail: usize,
}

/// An output as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    /// What is shown.
    pub text: String,
    /// Whether that is less than all.
    pub truncated: bool,
}

/// Of the budget, at most one part in so many goes to lines from the middle.
const MIDDLE_SHARE: usize = 10;

/// A line from the middle is shown up to so many bytes.
const MIDDLE_LINE: usize = 200;

/// The remarks on what was cut are never longer (bytes), the name of the output aside.
const REMARK: usize = 240;

impl Budget {
    /// The settings' budget, lowered to `wanted` where the caller asks for less; the parts keep their proportion.
    pub fn new(settings: &crate::config::OutputSettings, wanted: Option<usize>) -> Budget {
        let max = wanted.map_or(settings.max_bytes, |wanted| wanted.min(settings.max_bytes));
        let parts = settings.head_bytes.saturating_add(settings.tail_bytes).max(1);
        let tail = usize::try_from(max as u128 * settings.tail_bytes as u128 / parts as u128).unwrap_or(max);
        Budget { max, tail }
    }

    /// Cuts the middle out of a text that is too long: what is left of beginning and end are whole lines where there
    /// are any, lines of the middle that look like failures are kept, and how much is gone is told. `id` is the name
    /// under which the whole is kept.
    pub fn cut(self, text: &str, id: &str) -> Cut {
        if text.len() <= self.max {
            return Cut { text: text.to_owned(), truncated: false };
        }
        let remarks = REMARK + id.len();
        let room = self.max.saturating_sub(remarks);
        let tail_room = self.tail.min(room);
        let lines_room = (self.max / MIDDLE_SHARE).min(room - tail_room);
        let head = head_end(text, room - tail_room - lines_room);
        let tail = tail_start(text, tail_room).max(head);
        let (failures, left_out) = failures(&text[head..tail], lines_room);
        let gone = tail - head;
        let mut out = String::with_capacity(self.max);
        out.push_str(&text[..head]);
        if !out.is_empty() && !out.ends_with('\n') {
            out.push('\n');
        }
        let _ = writeln!(out, "[{gone} of {} bytes left out here; the whole is kept as output {id}]", text.len());
        if !failures.is_empty() {
            out.push_str("[lines of the part left out that look like failures]\n");
            out.push_str(&failures);
            if left_out > 0 {
                let _ = writeln!(out, "[and {left_out} more such lines]");
            }
            out.push_str("[the end]\n");
        }
        out.push_str(&text[tail..]);
        if out.len() > self.max {
            // Only when there is hardly any room: then the remark itself is what is cut.
            out.truncate(floor(&out, self.max));
        }
        Cut { text: out, truncated: true }
    }
}

/// The beginning of a text, at most `max` bytes: whole lines, else whole characters, with a remark on what is gone.
pub fn head(text: &str, max: usize, what: &str) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    let end = head_end(text, max);
    let lines = text[end..].lines().count();
    format!("{}\n[{lines} more lines of the {what} left out]", text[..end].trim_end_matches('\n'))
}

/// The character boundary at or before a byte offset.
fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Where a beginning of at most `max` bytes ends: after a line, or if the first line is longer, after a character.
fn head_end(text: &str, max: usize) -> usize {
    let end = floor(text, max);
    memchr::memrchr(b'\n', &text.as_bytes()[..end]).map_or(end, |at| at + 1)
}

/// Where an end of at most `max` bytes starts: with a line, or if the last line that says something is longer, with a
/// character of it.
fn tail_start(text: &str, max: usize) -> usize {
    let mut start = text.len() - max.min(text.len());
    while !text.is_char_boundary(start) {
        start += 1;
    }
    let at_line = start == 0 || text.as_bytes()[start - 1] == b'\n';
    match memchr::memchr(b'\n', &text.as_bytes()[start..]) {
        Some(at) if !at_line && !text[start + at + 1..].trim().is_empty() => start + at + 1,
        _ => start,
    }
}

/// The lines that look like failures, as many as there is room for, and how many there was no room for.
fn failures(text: &str, max: usize) -> (String, usize) {
    let mut out = String::new();
    let mut left_out = 0;
    for line in text.lines().filter(|line| looks_failed(line)) {
        let shown = &line[..floor(line, MIDDLE_LINE)];
        if left_out > 0 || out.len() + shown.len() + 1 > max {
            left_out += 1;
            continue;
        }
        out.push_str(shown);
        out.push('\n');
    }
    (out, left_out)
}

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

/// Ways to say that there was none.
const SUCCESSES: &[&str] =
    &["0 error", "no error", "0 fail", "no fail", "without error", "errors: 0", "failed: 0", "failures: 0", "0 warn"];

fn looks_failed(line: &str) -> bool {
    if line.contains(['✗', '✖', '❌']) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::OutputSettings;
    use expect_test::expect;
    use proptest::prelude::*;

    #[test]
    fn a_budget_keeps_its_proportion() {
        for (wanted, max, tail) in
            [(None, 30_000, 8000), (Some(50_000), 30_000, 8000), (Some(3000), 3000, 800), (Some(0), 0, 0)]
        {
            assert_eq!(Budget::new(&OutputSettings::default(), wanted), Budget { max, tail });
        }
    }

    #[test]
    fn the_middle_goes() {
        let lines: Vec<String> = (1..=60).map(|line| format!("line {line}")).collect();
        let mut text = lines.join("\n") + "\n";
        text.insert_str(250, "\nerror[E0308]: mismatched types\ntest result: 0 failed\n10 errors\n");
        let cut = Budget { max: 450, tail: 60 }.cut(&text, "o1");
        expect![[r"
            line 1
            line 2
            line 3
            line 4
            line 5
            line 6
            line 7
            line 8
            line 9
            line 10
            line 11
            line 12
            line 13
            line 14
            [376 of 535 bytes left out here; the whole is kept as output o1]
            [lines of the part left out that look like failures]
            error[E0308]: mismatched types
            10 errors
            [the end]
            line 54
            line 55
            line 56
            line 57
            line 58
            line 59
            line 60
        "]]
        .assert_eq(&cut.text);
        assert!(cut.truncated);
    }

    #[test]
    fn what_fits_stays() {
        let text = "x".repeat(30_000);
        let budget = Budget::new(&OutputSettings::default(), None);
        assert_eq!(budget.cut(&text, "o1"), Cut { text, truncated: false });
    }

    #[test]
    fn failures_are_told_apart() {
        for line in
            ["error: x", "10 errors", "FAILED", "thread 'main' panicked at", "not ok 3", "✗ it works", "1.0 failed"]
        {
            assert!(looks_failed(line), "{line}");
        }
        for line in ["0 errors", "ok", "No failures", "test result: ok. 3 passed; 0 failed", "all good"] {
            assert!(!looks_failed(line), "{line}");
        }
    }

    #[test]
    fn a_bounded_beginning() {
        assert_eq!(head("a\nb\nc\n", 10, "diff"), "a\nb\nc\n");
        assert_eq!(head("a\nb\nc\nd\n", 5, "diff"), "a\nb\n[2 more lines of the diff left out]");
        assert_eq!(head("ééé", 3, "line"), "é\n[1 more lines of the line left out]");
    }

    #[test]
    fn the_end_says_something() {
        let text = format!("{}\nlast {}\n\n", "first\n".repeat(200), "x".repeat(300));
        let cut = Budget { max: 900, tail: 100 }.cut(&text, "o1");
        assert!(cut.text.ends_with(&format!("{}\n\n", "x".repeat(98))), "{}", cut.text);
    }

    proptest! {
        #[test]
        fn a_cut_keeps_to_its_budget(text in "([a-zé😀 ]{0,30}(error)?\n?){0,80}", max in 0usize..2000, tail in 0usize..600) {
            let cut = Budget { max, tail: tail.min(max) }.cut(&text, "o12");
            prop_assert!(cut.text.len() <= max || !cut.truncated);
            prop_assert_eq!(cut.truncated, text.len() > max);
            if cut.truncated && max > 800 {
                // What is shown from the end is really the end.
                let last: String = text.trim_end().chars().rev().take(3).collect();
                let shown: String = cut.text.trim_end().chars().rev().take(3).collect();
                prop_assert!(tail < 40 || last == shown, "{:?} {:?}", last, shown);
            }
        }
    }
}
