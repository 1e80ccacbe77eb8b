//! Some lines of a text within a budget, and how to go on from there: what is told to be shown is shown. Pure.

use std::fmt::Write as _;
use std::ops::Range;

use crate::text::Text;

/// A line is shown up to so many characters.
pub(super) const LINE_CHARS: usize = 2000;

/// Kept free in the budget (bytes) for the remarks after the lines.
const REMARKS: usize = 600;

/// So many lines, when the call does not say.
pub(super) fn default_limit() -> usize {
    2000
}

/// Lines of a text that are shown.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Window {
    /// How many lines the text has; the empty one after a final line end is none.
    pub total: usize,
    /// The first line asked for, 0-based.
    pub first: usize,
    /// The lines.
    pub shown: Vec<Shown>,
    /// The first character asked for, 0-based.
    column: usize,
    /// Whether the last line of the text has a line end.
    ended: bool,
    /// Whether the budget ended the window, and not the limit.
    full: bool,
}

/// One line.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Shown {
    /// What is shown of it.
    text: String,
    /// Its length in characters.
    chars: usize,
    /// Whether all of it is shown.
    whole: bool,
}

impl Window {
    /// `offset` and `column` are 1-based. `budget`: bytes of the whole rendering.
    pub(super) fn of(text: &Text, offset: usize, limit: usize, column: usize, budget: usize) -> Window {
        let total = total(text);
        let (first, column) = (offset.saturating_sub(1), column.saturating_sub(1));
        let ended = total == 0 || text.line_start(text.line_count() - 1) == text.len() && text.line_count() > total;
        let room = budget.saturating_sub(REMARKS);
        let mut window = Window { total, first, shown: Vec::new(), column, ended, full: false };
        let mut used = 0;
        for line in first..total.min(first.saturating_add(limit)) {
            let shown = Shown::of(&text.line(line), column);
            let width = (line + 1).to_string().len() + 2;
            if used + width + shown.text.len() > room {
                window.full = true;
                if window.shown.is_empty() {
                    // At least something of the first line, or the next call would not come further.
                    window.shown.push(shown.cut(room.saturating_sub(width)));
                }
                break;
            }
            used += width + shown.text.len();
            window.shown.push(shown);
        }
        window
    }

    fn end(&self) -> usize {
        self.first + self.shown.len()
    }

    /// The 1-based line to go on with; `None` at the end.
    pub(super) fn next_offset(&self) -> Option<usize> {
        (self.end() < self.total && !self.shown.is_empty()).then(|| self.end() + 1)
    }

    /// Runs of lines (0-based) that are shown from end to end.
    pub(super) fn whole_lines(&self) -> Vec<Range<usize>> {
        let mut runs: Vec<Range<usize>> = Vec::new();
        for (line, _) in self.shown.iter().enumerate().filter(|(_, shown)| shown.whole) {
            let line = self.first + line;
            match runs.last_mut() {
                Some(run) if run.end == line => run.end = line + 1,
                _ => runs.push(line..line + 1),
            }
        }
        runs
    }

    /// The lines with their numbers, and where they are in the whole.
    pub(super) fn render(&self, name: &str) -> String {
        if self.total == 0 {
            return format!("{name} is empty.");
        }
        if self.shown.is_empty() {
            return format!("Line {} is past the end of {name}, which has {}.", self.first + 1, counted(self.total));
        }
        let mut out = String::new();
        for (at, shown) in self.shown.iter().enumerate() {
            let _ = writeln!(out, "{}\t{}", self.first + at + 1, shown.text);
        }
        for remark in self.remarks() {
            let _ = write!(out, "\n({remark})");
        }
        out
    }

    /// The lines as they are, and where they are in the whole.
    pub(super) fn render_plain(&self, what: &str) -> String {
        if self.shown.is_empty() {
            return format!("Entry {} is past the end of the {} {what}.", self.first + 1, self.total);
        }
        let lines: Vec<&str> = self.shown.iter().map(|shown| shown.text.as_str()).collect();
        let mut out = lines.join("\n");
        let _ = match self.next_offset() {
            Some(next) => {
                let range = format!("{}-{}", self.first + 1, self.end());
                write!(out, "\n\n({what} {range} of {}; go on with offset {next})", self.total)
            }
            None => write!(out, "\n\n({what}: {})", self.total),
        };
        out
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        let range = format!("{}-{}", self.first + 1, self.end());
        if let Some(next) = self.next_offset() {
            let why = if self.full { "; there is no room for more in one answer" } else { "" };
            remarks.push(format!("lines {range} of {}{why}; go on with offset {next}", self.total));
        } else {
            let end = if self.ended { "" } else { ", without a line end after the last" };
            let lines = if self.first == 0 { String::new() } else { format!("lines {range} of {}; ", self.total) };
            remarks.push(format!("{lines}end of file, {}{end}", counted(self.total)));
        }
        if self.column > 0 {
            remarks.push(format!("each line from its character {}", self.column + 1));
        }
        let cut: Vec<(usize, &Shown)> =
            self.shown.iter().enumerate().filter(|(_, shown)| shown.next_column(self.column).is_some()).collect();
        if let Some((at, shown)) = cut.first()
            && let Some(next) = shown.next_column(self.column)
        {
            let line = self.first + at + 1;
            let others =
                if cut.len() > 1 { format!(", and {} more lines like it", cut.len() - 1) } else { String::new() };
            remarks.push(format!(
                "line {line} has {} characters and is cut{others}; see the rest of it with offset {line}, limit 1, column \
                 {next}",
                shown.chars
            ));
        }
        remarks
    }
}

impl Shown {
    fn of(line: &str, column: usize) -> Shown {
        let text: String = line.chars().skip(column).take(LINE_CHARS).collect();
        Shown { whole: text.len() == line.len(), chars: line.chars().count(), text }
    }

    /// Less of it: at most `bytes`, and at least one character.
    fn cut(mut self, bytes: usize) -> Shown {
        let first = self.text.chars().next().map_or(0, char::len_utf8);
        let mut end = bytes.max(first).min(self.text.len());
        while !self.text.is_char_boundary(end) {
            end -= 1;
        }
        if end < self.text.len() {
            self.text.truncate(end);
            self.whole = false;
        }
        self
    }

    /// The 1-based character to go on with; `None` when its end is shown.
    fn next_column(&self, column: usize) -> Option<usize> {
        let end = column + self.text.chars().count();
        (end < self.chars).then_some(end + 1)
    }
}

/// How many lines a text has, as people count: the empty one after a final line end is none.
fn total(text: &Text) -> usize {
    let count = text.line_count();
    count - usize::from(text.line_start(count - 1) == text.len())
}

fn counted(lines: usize) -> String {
    if lines == 1 { "1 line".to_owned() } else { format!("{lines} lines") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::LineBreaks;
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    fn text(text: &str) -> Text {
        Text::new(text, LineBreaks::Lf)
    }

    #[track_caller]
    fn check(content: &str, offset: usize, limit: usize, budget: usize, expected: &Expect) {
        let window = Window::of(&text(content), offset, limit, 1, budget);
        let rendered = window.render("a.txt");
        let rendered: String = rendered
            .lines()
            .map(|line| if line.len() > 80 { format!("{}...\n", &line[..60]) } else { format!("{line}\n") })
            .collect();
        expected.assert_eq(&rendered);
    }

    #[test]
    fn windows() {
        check(
            "one\ntwo\n",
            1,
            2000,
            30_000,
            &expect![[r"
            1	one
            2	two

            (end of file, 2 lines)
        "]],
        );
        check(
            "one\r\ntwo",
            1,
            2000,
            30_000,
            &expect![[r"
            1	one
            2	two

            (end of file, 2 lines, without a line end after the last)
        "]],
        );
        check(
            "",
            1,
            2000,
            30_000,
            &expect![[r"
            a.txt is empty.
        "]],
        );
        check(
            "\n",
            1,
            2000,
            30_000,
            &expect![[r"
            1	

            (end of file, 1 line)
        "]],
        );
        check(
            "1\n2\n3\n4\n5\n",
            2,
            3,
            30_000,
            &expect![[r"
            2	2
            3	3
            4	4

            (lines 2-4 of 5; go on with offset 5)
        "]],
        );
        check(
            "1\n2\n3\n4\n5\n",
            4,
            3,
            30_000,
            &expect![[r"
            4	4
            5	5

            (lines 4-5 of 5; end of file, 5 lines)
        "]],
        );
        check(
            "1\n2\n3\n",
            900,
            3,
            30_000,
            &expect![[r"
            Line 900 is past the end of a.txt, which has 3 lines.
        "]],
        );
        check(
            "1234567890\n1234567890\n1234567890\n",
            1,
            3,
            REMARKS + 30,
            &expect![[r"
            1	1234567890
            2	1234567890

            (lines 1-2 of 3; there is no room for more in one answer; go on with offset 3)
        "]],
        );
    }

    #[test]
    fn long_lines_can_be_seen_whole() {
        let line: String = (0..5000).map(|at| char::from(b'a' + u8::try_from(at % 26).unwrap())).collect();
        let text = text(&format!("x\n{line}\ny\n{line}\n"));
        let (mut column, mut seen) = (1, String::new());
        loop {
            let window = Window::of(&text, 2, 1, column, 30_000);
            seen += &window.shown[0].text;
            match window.shown[0].next_column(column - 1) {
                Some(next) => column = next,
                None => break,
            }
        }
        assert_eq!(seen, line);
        let whole = Window::of(&text, 1, 2000, 1, 30_000);
        assert_eq!(whole.whole_lines(), [0..1, 2..3]);
        expect![[r"
            end of file, 4 lines
            line 2 has 5000 characters and is cut, and 1 more lines like it; see the rest of it with offset 2, limit 1, column 2001"]].assert_eq(&whole.remarks().join("\n"));
    }

    proptest! {
        #[test]
        fn windows_one_after_the_other_show_everything(
            content in "([a-zé😀]{0,60}\n?){0,40}", limit in 1usize..10, budget in REMARKS..REMARKS + 200,
        ) {
            let text = text(&content);
            let (mut offset, mut seen, mut rounds) = (1, Vec::new(), 0);
            loop {
                let window = Window::of(&text, offset, limit, 1, budget);
                let rendered = window.render("a.txt");
                // A character that is wider than the room is shown all the same.
                prop_assert!(rendered.len() <= budget + 16, "{} > {budget}", rendered.len());
                for (at, shown) in window.shown.iter().enumerate() {
                    let line = offset + at;
                    let row = format!("{line}\t{}\n", shown.text);
                    prop_assert!(rendered.contains(&row));
                    seen.push((line, shown.whole));
                }
                match window.next_offset() {
                    Some(next) => {
                        prop_assert!(next > offset);
                        offset = next;
                    }
                    None => break,
                }
                rounds += 1;
                prop_assert!(rounds < 1000);
            }
            let total = total(&text);
            prop_assert_eq!(seen.iter().map(|(line, _)| *line).collect::<Vec<_>>(), (1..=total).collect::<Vec<_>>());
        }
    }
}
