//! Shorter by what is known of the text: equal lines in a row become one, and of a report its ends and its failures stay.
//! Pure.

use super::failures::{continues, looks_failed};
use super::{OutputKind, lines, trimmed};

/// A run of more equal lines than so many becomes one line and a remark.
const RUN: usize = 2;

/// Of a report, so many lines of its beginning stay.
const HEAD: usize = 40;

/// Of a report, so many lines of its end stay.
const TAIL: usize = 60;

/// Of what goes on with one failure, so many lines stay.
const CONTINUED: usize = 20;

/// An output made shorter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compressed {
    /// What is left of it, with remarks on what is not.
    pub text: String,
    /// For each line of the text, the line of the whole (both 1-based; the first entry is line 1's).
    pub lines: Vec<usize>,
}

impl Compressed {
    /// The line of the whole that a line of the text (1-based) is, or stands for.
    pub fn line_of(&self, line: usize) -> usize {
        self.lines.get(line.saturating_sub(1)).or(self.lines.last()).copied().unwrap_or(1)
    }
}

/// One line that stays, with how often it was there in a row.
struct Run<'a> {
    first: usize,
    line: &'a str,
    count: usize,
}

/// The output, shorter; `None` when its kind forbids that, or when it would not be. `id` is the name under which the
/// whole is kept.
pub fn compressed(text: &str, kind: OutputKind, id: &str) -> Option<Compressed> {
    if kind == OutputKind::Source {
        return None;
    }
    let runs = runs(text);
    let kept = if kind == OutputKind::Log { report(&runs) } else { vec![true; runs.len()] };
    let (mut out, mut told, mut at) = (Compressed { text: String::new(), lines: Vec::new() }, false, 0);
    while at < runs.len() {
        let run = &runs[at];
        if kept[at] {
            out.push(run.line, run.first);
            match run.count {
                count if count > RUN => {
                    out.push(&format!("  [previous line repeated {} more times]\n", count - 1), run.first + 1);
                }
                count => {
                    for again in 1..count {
                        out.push(run.line, run.first + again);
                    }
                }
            }
            at += 1;
            continue;
        }
        let end = (at..runs.len()).find(|&next| kept[next]).unwrap_or(runs.len());
        let last = &runs[end - 1];
        let (first, last) = (run.first, last.first + last.count - 1);
        let how =
            if told { String::new() } else { format!("; the `output` tool shows them: id \"{id}\", offset {first}") };
        let range = if first == last { format!("line {first}") } else { format!("lines {first}-{last}") };
        out.push(&format!("[{range} left out{how}]\n"), first);
        told = true;
        at = end;
    }
    (out.text.len() < text.len()).then_some(out)
}

impl Compressed {
    fn push(&mut self, line: &str, number: usize) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        self.text.push_str(line);
        self.lines.push(number);
    }
}

fn runs(text: &str) -> Vec<Run<'_>> {
    let mut runs: Vec<Run<'_>> = Vec::new();
    for (at, line) in lines(text).enumerate() {
        match runs.last_mut() {
            Some(run) if trimmed(run.line) == trimmed(line) => run.count += 1,
            _ => runs.push(Run { first: at + 1, line, count: 1 }),
        }
    }
    runs
}

/// Which lines of a report stay: its ends, what looks like a failure, and what goes on with one.
fn report(runs: &[Run<'_>]) -> Vec<bool> {
    let mut kept = vec![false; runs.len()];
    let mut going_on = 0;
    for (at, run) in runs.iter().enumerate() {
        let line = trimmed(run.line);
        if looks_failed(line) {
            going_on = CONTINUED;
        } else if going_on > 0 && continues(line) {
            going_on -= 1;
        } else {
            going_on = 0;
            kept[at] = at < HEAD || at + TAIL >= runs.len();
            continue;
        }
        kept[at] = true;
    }
    // A remark on a single line is no shorter than the line, as a rule.
    for at in 1..kept.len().saturating_sub(1) {
        if kept[at - 1] && kept[at + 1] && runs[at].count == 1 && runs[at].line.len() < 40 {
            kept[at] = true;
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use proptest::prelude::*;

    #[test]
    fn equal_lines_in_a_row_become_one() {
        let text = format!("a\nb\nb\n{}end", "waiting for the server\n".repeat(50));
        let short = compressed(&text, OutputKind::Search, "o1").unwrap();
        expect![[r"
            a
            b
            b
            waiting for the server
              [previous line repeated 49 more times]
            end"]]
        .assert_eq(&short.text);
        assert_eq!(short.lines, [1, 2, 3, 4, 5, 54]);
        assert_eq!(compressed(&text, OutputKind::Source, "o1"), None);
        assert_eq!(compressed(&text, OutputKind::Other, "o1").unwrap().text, short.text);
        assert_eq!(compressed("a\nb\nb\n", OutputKind::Log, "o1"), None);
    }

    #[test]
    fn of_a_report_the_failures_and_what_goes_on_with_them_stay() {
        let mut rows: Vec<String> = (1..=300).map(|row| format!("Compiling crate number {row} of many")).collect();
        rows[150] = "error[E0308]: mismatched types".into();
        rows[151] = "  --> src/main.rs:3:5".into();
        rows[152] = "3 |     let x: u8 = \"\";".into();
        rows[200] = "test result: ok. 3 passed; 0 failed".into();
        let short = compressed(&(rows.join("\n") + "\n"), OutputKind::Log, "o9").unwrap();
        let middle: Vec<&str> = short.text.lines().skip(39).take(7).collect();
        expect![[r#"
            Compiling crate number 40 of many
            [lines 41-150 left out; the `output` tool shows them: id "o9", offset 41]
            error[E0308]: mismatched types
              --> src/main.rs:3:5
            3 |     let x: u8 = "";
            [lines 154-240 left out]
            Compiling crate number 241 of many"#]]
        .assert_eq(&middle.join("\n"));
        assert_eq!((short.text.lines().count(), short.line_of(42), short.line_of(46)), (105, 151, 241));
        // Nothing but a report loses lines.
        assert_eq!(compressed(&(rows.join("\n") + "\n"), OutputKind::Other, "o9"), None);
    }

    proptest! {
        #[test]
        fn it_is_shorter_and_every_line_that_stays_is_where_it_is_said_to_be(
            rows in prop::collection::vec("[ab]{0,2}|error|  x|ok ok ok", 0..300), log in any::<bool>(),
        ) {
            let text = rows.join("\n");
            let kind = if log { OutputKind::Log } else { OutputKind::Other };
            if let Some(short) = compressed(&text, kind, "o1") {
                prop_assert!(short.text.len() < text.len());
                prop_assert_eq!(short.text.lines().count(), short.lines.len());
                for (line, number) in short.text.lines().zip(&short.lines) {
                    prop_assert!(line.contains('[') || rows[number - 1] == line, "{line:?} {number}");
                }
                for row in rows.iter().filter(|row| *row == "error") {
                    prop_assert!(short.text.contains(row.as_str()));
                }
            }
        }
    }
}
