//! Some lines of a text within a budget, and how to go on from there: what is told to be shown is shown, and whoever
//! follows the hints to the end is shown everything once. Pure.

use std::fmt::Write as _;
use std::ops::Range;

use crate::text::Text;
use crate::workspace::large::{Piece, Stretch, Wanted};

/// Of several lines, each is shown up to so many characters; one alone as far as there is room.
pub(super) const LINE_CHARS: usize = 2000;

/// Kept free in the budget (bytes) for the remarks after the lines.
pub(super) const REMARKS: usize = 600;

/// The same where there is plenty: what else the result has to tell (late diagnostics, notes) then never cuts the lines.
const REMARKS_AMPLE: usize = 1000;

/// A budget (bytes) from which on there is plenty.
const AMPLE: usize = 8000;

/// Kept free for each line that is cut, beyond its number: what the remarks say of it.
const CUT: usize = 40;

/// So many lines, when the call does not say.
pub(super) fn default_limit() -> usize {
    2000
}

/// Which lines are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ask {
    /// The first line, 1-based.
    pub offset: usize,
    /// At most so many.
    pub limit: usize,
    /// The first character of each, 1-based.
    pub column: usize,
    /// Bytes of the whole rendering.
    pub budget: usize,
}

/// Lines of a text that are shown.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Window {
    /// How many lines the text has; the empty one after a final line end is none. `None`: more than are shown.
    pub total: Option<usize>,
    /// The first line asked for, 0-based.
    pub first: usize,
    /// The lines.
    pub shown: Vec<Shown>,
    /// The first character asked for, 0-based.
    column: usize,
    /// At most so many lines were asked for.
    limit: usize,
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
    /// How many of its characters that is.
    taken: usize,
    /// Its length in characters.
    chars: usize,
    /// The first character of it that is shown, 0-based.
    from: usize,
}

/// A line of which more can be seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Cut {
    /// Which one, 1-based.
    pub line: usize,
    /// Its length in characters.
    pub chars: usize,
    /// The first character that is not shown, 1-based.
    pub next_column: usize,
}

impl Ask {
    fn room(self) -> usize {
        self.budget.saturating_sub(if self.budget < AMPLE { REMARKS } else { REMARKS_AMPLE })
    }

    /// At most so many characters of a line are shown.
    fn chars(self) -> usize {
        if self.limit == 1 { self.room().max(1) } else { LINE_CHARS }
    }

    /// The same for a text that has to be streamed.
    pub(super) fn wanted(self) -> Wanted {
        Wanted {
            first: self.offset.saturating_sub(1),
            lines: self.limit,
            column: self.column.saturating_sub(1),
            chars: self.chars(),
            // The numbers of the lines take some of it.
            bytes: self.room().saturating_sub(self.offset.to_string().len() + 2),
        }
    }
}

impl Window {
    /// Lines of a text.
    pub(super) fn of(text: &Text, ask: Ask) -> Window {
        let total = total(text);
        let ended = total == 0 || text.line_count() > total;
        let first = ask.offset.saturating_sub(1);
        let lines = text.lines_from(first).take(total.saturating_sub(first).min(ask.limit));
        let (column, chars) = (ask.column.saturating_sub(1), ask.chars());
        Window::filled(lines.map(|line| Shown::of(&line, column, chars)), Some(total), ended, ask)
    }

    /// Lines of a text that was streamed.
    pub(super) fn of_stretch(stretch: Stretch, ask: Ask) -> Window {
        let Stretch { pieces, total, ended, .. } = stretch;
        let from = ask.column.saturating_sub(1);
        let shown = pieces.into_iter().map(|Piece { text, taken, chars }| Shown { text, taken, chars, from });
        Window::filled(shown, total, ended, ask)
    }

    fn filled(lines: impl Iterator<Item = Shown>, total: Option<usize>, ended: bool, ask: Ask) -> Window {
        let first = ask.offset.saturating_sub(1);
        let (shown, column, limit) = (Vec::new(), ask.column.saturating_sub(1), ask.limit);
        let mut window = Window { total, first, shown, column, limit, ended, full: false };
        let (room, mut used) = (ask.room(), 0);
        for (at, shown) in lines.enumerate() {
            let width = (first + at + 1).to_string().len() + 2;
            let remark = if shown.next_column().is_some() && at > 0 { CUT } else { 0 };
            if used + width + shown.text.len() + remark > room {
                window.full = true;
                if window.shown.is_empty() {
                    // At least something of the first line, or the next call would not come further.
                    window.shown.push(shown.cut(room.saturating_sub(width)));
                }
                break;
            }
            used += width + shown.text.len() + remark;
            window.shown.push(shown);
        }
        window
    }

    fn end(&self) -> usize {
        self.first + self.shown.len()
    }

    /// Whether only a part of one line was asked for.
    fn within_line(&self) -> bool {
        self.column > 0 && self.limit == 1
    }

    /// The 1-based line to go on with; `None` at the end, and where the rest of one line was asked for.
    pub(super) fn next_offset(&self) -> Option<usize> {
        let more = self.total.is_none_or(|total| self.end() < total);
        (more && !self.shown.is_empty() && !self.within_line()).then(|| self.end() + 1)
    }

    /// The lines of which more can be seen.
    pub(super) fn cut(&self) -> Vec<Cut> {
        let cut = |(at, shown): (usize, &Shown)| {
            let next_column = shown.next_column()?;
            Some(Cut { line: self.first + at + 1, chars: shown.chars, next_column })
        };
        self.shown.iter().enumerate().filter_map(cut).collect()
    }

    /// Runs of lines (0-based) that are shown from end to end.
    pub(super) fn whole_lines(&self) -> Vec<Range<usize>> {
        let mut runs: Vec<Range<usize>> = Vec::new();
        for (line, _) in self.shown.iter().enumerate().filter(|(_, shown)| shown.whole()) {
            let line = self.first + line;
            match runs.last_mut() {
                Some(run) if run.end == line => run.end = line + 1,
                _ => runs.push(line..line + 1),
            }
        }
        runs
    }

    /// The lines with their numbers, each ended by LF.
    pub(super) fn rows(&self) -> String {
        let mut out = String::new();
        for (at, shown) in self.shown.iter().enumerate() {
            let _ = writeln!(out, "{}\t{}", self.first + at + 1, shown.text);
        }
        out
    }

    /// The lines with their numbers, and where they are in the whole.
    pub(super) fn render(&self, name: &str) -> String {
        if self.total == Some(0) {
            return format!("{name} is empty.");
        }
        if self.shown.is_empty() {
            let total = counted(self.total.unwrap_or_default());
            return format!("Line {} is past the end of {name}, which has {total}.", self.first + 1);
        }
        let mut out = self.rows();
        for remark in self.remarks() {
            let _ = write!(out, "\n({remark})");
        }
        out
    }

    /// The lines as they are, and where they are in the whole.
    pub(super) fn render_plain(&self, what: &str) -> String {
        let total = self.total.unwrap_or_default();
        if self.shown.is_empty() {
            return format!("Entry {} is past the end of the {total} {what}.", self.first + 1);
        }
        let lines: Vec<&str> = self.shown.iter().map(|shown| shown.text.as_str()).collect();
        let mut out = lines.join("\n");
        let range = format!("{}-{}", self.first + 1, self.end());
        let _ = match self.next_offset() {
            Some(next) => write!(out, "\n\n({what} {range} of {total}; go on with offset {next})"),
            None if self.first > 0 => write!(out, "\n\n({what} {range} of {total})"),
            None => write!(out, "\n\n({what}: {total})"),
        };
        out
    }

    /// Which lines are shown, of how many: `lines 2-4 of 5`.
    pub(super) fn told(&self) -> String {
        let lines = match (self.first + 1, self.end()) {
            (first, last) if first == last => format!("line {first}"),
            (first, last) => format!("lines {first}-{last}"),
        };
        match self.total {
            Some(total) => format!("{lines} of {total}"),
            None => format!("{lines} of more"),
        }
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        let cut = self.cut();
        if self.within_line() {
            let shown = &self.shown[0];
            let end = if cut.is_empty() { "; the line ends here" } else { "" };
            let (from, to) = (shown.from + 1, shown.from + shown.taken);
            remarks.push(if shown.taken == 0 {
                format!("line {} has only {} characters", self.first + 1, shown.chars)
            } else {
                format!("{}, characters {from}-{to} of {}{end}", self.told(), shown.chars)
            });
        } else {
            if let Some(next) = self.next_offset() {
                let why = if self.full { "; there is no room for more in one answer" } else { "" };
                let column = if self.column > 0 { format!(", column {}", self.column + 1) } else { String::new() };
                remarks.push(format!("{}{why}; go on with offset {next}{column}", self.told()));
            } else {
                let end = if self.ended { "" } else { ", without a line end after the last" };
                let lines = if self.first == 0 { String::new() } else { format!("{}; ", self.told()) };
                remarks.push(format!("{lines}end of file, {}{end}", counted(self.total.unwrap_or_default())));
            }
            if self.column > 0 {
                remarks.push(format!("each line from its character {}", self.column + 1));
            }
        }
        if let Some(Cut { line, next_column, .. }) = cut.first() {
            let all: Vec<String> =
                cut.iter().map(|cut| format!("line {} (of {} characters)", cut.line, cut.chars)).collect();
            let rest = if cut.len() > 1 { "see the rest of each by itself, of the first" } else { "see the rest" };
            remarks.push(format!(
                "cut after character {}: {}; {rest} with offset {line}, limit 1, column {next_column}",
                next_column - 1,
                all.join(", ")
            ));
        }
        remarks
    }
}

impl Shown {
    fn of(line: &str, column: usize, chars: usize) -> Shown {
        let text: String = line.chars().skip(column).take(chars).collect();
        Shown { taken: text.chars().count(), chars: line.chars().count(), from: column, text }
    }

    fn whole(&self) -> bool {
        self.taken == self.chars
    }

    /// Less of it: at most `bytes`, and at least one character.
    fn cut(mut self, bytes: usize) -> Shown {
        let first = self.text.chars().next().map_or(0, char::len_utf8);
        let end = self.text.floor_char_boundary(bytes.max(first));
        if end < self.text.len() {
            self.text.truncate(end);
            self.taken = self.text.chars().count();
        }
        self
    }

    /// The 1-based character to go on with.
    fn next_column(&self) -> Option<usize> {
        let next = self.from + self.taken;
        (self.taken > 0 && next < self.chars).then_some(next + 1)
    }
}

/// How many lines a text has; the empty one after a final line end is none.
fn total(text: &Text) -> usize {
    let last_is_empty = text.line_start(text.line_count() - 1) == text.len();
    text.line_count() - usize::from(last_is_empty)
}

fn counted(lines: usize) -> String {
    if lines == 1 { "1 line".to_owned() } else { format!("{lines} lines") }
}

#[cfg(test)]
mod tests;
