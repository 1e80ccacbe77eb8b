//! Looking at a kept output again: lines of it, lines that match, its ends, or what it is like. Always within a budget,
//! and always with the place to go on from, so that no line is ever out of reach. Pure.

mod pattern;

use std::fmt::Write as _;

use super::failures::looks_failed;
use super::{line_count, lines, trimmed};

pub use pattern::Pattern;

/// Kept free in the budget (bytes) for the remark after the lines.
const REMARK: usize = 260;

/// A line that matches is shown up to so many bytes, round the match.
const MATCH_BYTES: usize = 500;

/// Of those, so many before the match.
const BEFORE_MATCH: usize = 100;

/// A summary shows so many lines of each end, and so many that look like failures.
const SUMMARY_ENDS: usize = 5;
const SUMMARY_FAILURES: usize = 30;

/// A line in a summary is shown up to so many bytes.
const SUMMARY_LINE: usize = 200;

/// What is wanted of an output.
#[derive(Debug, Clone)]
pub struct Ask {
    /// Which view.
    pub mode: Mode,
    /// The first line (1-based).
    pub offset: usize,
    /// The first character of that line (1-based).
    pub column: usize,
    /// At most so many lines; with a pattern, so many lines that match.
    pub limit: usize,
    /// Only lines that match.
    pub pattern: Option<Pattern>,
    /// So many lines round each that matches.
    pub context: usize,
}

/// A view of an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// Lines from a place on.
    #[default]
    Window,
    /// The first lines.
    Head,
    /// The last lines.
    Tail,
    /// How long it is, what looks like a failure, both ends.
    Summary,
}

/// What was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Looked {
    /// The lines, without words of ours.
    pub text: String,
    /// What is shown and where it goes on, in words.
    pub remark: String,
    /// Where it goes on; `None` at the end.
    pub next: Option<Next>,
    /// How many lines the output has.
    pub total_lines: usize,
}

/// The first place that was not shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Next {
    /// Its line (1-based).
    pub offset: usize,
    /// Its character in that line (1-based).
    pub column: usize,
}

impl Looked {
    /// The lines and the remark.
    pub fn told(&self) -> String {
        let end = if self.text.is_empty() || self.text.ends_with('\n') { "" } else { "\n" };
        format!("{}{end}({})", self.text, self.remark)
    }
}

/// Looks at an output; what [`Looked::told`] gives has at most `budget` bytes where that is at least 400.
pub fn look(text: &str, ask: &Ask, budget: usize) -> Looked {
    let room = budget.saturating_sub(REMARK).max(budget / 2).max(1);
    match (&ask.pattern, ask.mode) {
        (_, Mode::Summary) => summary(text, room),
        (Some(pattern), _) => matching(text, pattern, ask, room),
        (None, Mode::Window) => window(text, ask.offset, ask.column, ask.limit, room),
        (None, Mode::Head) => window(text, 1, 1, ask.limit, room),
        (None, Mode::Tail) => tail(text, ask.limit, room),
    }
}

fn past_the_end(offset: usize, total: usize) -> Looked {
    let remark = format!("line {offset} is past the end; the output has {}", counted(total, "line"));
    Looked { text: String::new(), remark, next: None, total_lines: total }
}

fn window(text: &str, offset: usize, column: usize, limit: usize, room: usize) -> Looked {
    let total = line_count(text);
    let (offset, column) = (offset.max(1), column.max(1));
    if offset > total {
        return past_the_end(offset, total);
    }
    let (mut out, mut next, mut last) = (String::new(), None, offset);
    for (at, whole) in lines(text).enumerate().skip(offset - 1).take(limit.max(1)) {
        let number = at + 1;
        let from = if number == offset { column } else { 1 };
        let line = &whole[whole.char_indices().nth(from - 1).map_or(whole.len(), |(byte, _)| byte)..];
        if out.len() + line.len() <= room {
            out.push_str(line);
            last = number;
            continue;
        }
        if number > offset {
            next = Some(Next { offset: number, column: 1 });
            break;
        }
        // At least one character, or nobody would ever come further.
        let first = line.chars().next().map_or(0, char::len_utf8);
        let mut shown = &line[..line.floor_char_boundary(room.max(first))];
        if trimmed(&line[shown.len()..]).is_empty() {
            // Only its end is left, which belongs to it: who puts the pieces together gets the whole.
            shown = line;
        }
        out.push_str(shown);
        if shown.len() < line.len() {
            next = Some(Next { offset: number, column: from + shown.chars().count() });
        }
        break;
    }
    if next.is_none() && last < total {
        next = Some(Next { offset: last + 1, column: 1 });
    }
    let mut remark = match last {
        last if last == offset => format!("line {offset} of {total}"),
        last => format!("lines {offset}-{last} of {total}"),
    };
    if column > 1 {
        let _ = write!(remark, ", from its character {column}");
    }
    remark.push_str(&going_on(next));
    Looked { text: out, remark, next, total_lines: total }
}

fn going_on(next: Option<Next>) -> String {
    match next {
        None => ", the end".to_owned(),
        Some(Next { offset, column: 1 }) => format!("; go on with offset {offset}"),
        Some(Next { offset, column }) => format!("; the line goes on: offset {offset}, column {column}"),
    }
}

fn tail(text: &str, limit: usize, room: usize) -> Looked {
    let total = line_count(text);
    let (mut start, mut first) = (text.len(), total + 1);
    for line in lines(text).rev().take(limit.max(1)) {
        if text.len() - start + line.len() > room {
            break;
        }
        (start, first) = (start - line.len(), first - 1);
    }
    let (remark, shown) = if first > total {
        let line = lines(text).next_back().unwrap_or_default();
        let from = line.ceil_char_boundary(line.len() - room.min(line.len()));
        let column = line[..from].chars().count() + 1;
        (
            format!("the end of line {total} of {total}, from its character {column}; it begins at offset {total}"),
            &line[from..],
        )
    } else {
        let before = if first > 1 {
            let offset = first.saturating_sub(limit.max(1)).max(1);
            format!("; before them: offset {offset}, limit {}", first - offset)
        } else {
            String::new()
        };
        let range = if first == total { format!("line {first}") } else { format!("lines {first}-{total}") };
        (format!("{range} of {total}, the end{before}"), &text[start..])
    };
    Looked { text: shown.to_owned(), remark, next: None, total_lines: total }
}

/// A line that matches: its index, and where it begins (bytes).
#[derive(Debug, Clone, Copy)]
struct Match {
    row: usize,
    start: usize,
}

/// The lines that match from a line on: the first ones, how many there are, and the last.
struct Matches {
    first: Vec<Match>,
    count: usize,
    last: Option<usize>,
}

fn matches(text: &str, pattern: &Pattern, from: usize, most: usize) -> Matches {
    let (mut found, mut start) = (Matches { first: Vec::new(), count: 0, last: None }, 0);
    for (row, line) in lines(text).enumerate() {
        if row >= from && pattern.find(trimmed(line)).is_some() {
            if found.first.len() < most {
                found.first.push(Match { row, start });
            }
            (found.count, found.last) = (found.count + 1, Some(row));
        }
        start += line.len();
    }
    found
}

/// The lines from so many before a match on, each with its index.
fn from_before(text: &str, at: Match, count: usize) -> impl Iterator<Item = (usize, &str)> {
    let (mut row, mut start) = (at.row, at.start);
    for _ in 0..count.min(at.row) {
        let before = start.saturating_sub(1);
        start = memchr::memrchr(b'\n', &text.as_bytes()[..before]).map_or(0, |at| at + 1);
        row -= 1;
    }
    (row..).zip(lines(&text[start..]).map(trimmed))
}

fn matching(text: &str, pattern: &Pattern, ask: &Ask, room: usize) -> Looked {
    let total = line_count(text);
    let offset = ask.offset.max(1);
    if offset > total {
        return past_the_end(offset, total);
    }
    // Each that is shown takes three bytes at least.
    let found = matches(text, pattern, offset - 1, ask.limit.clamp(1, room / 3 + 2));
    let (mut out, mut shown, mut long) = (String::new(), None::<usize>, None);
    let mut next = None;
    'matches: for &at in &found.first {
        let from = at.row.saturating_sub(ask.context).max(shown.map_or(offset - 1, |shown| shown + 1));
        let end = at.row.saturating_add(ask.context).saturating_add(1).min(total);
        let rows = from_before(text, at, at.row.saturating_sub(from));
        for (row, whole) in rows.skip_while(|(row, _)| *row < from).take_while(|(row, _)| *row < end) {
            let apart = ask.context > 0 && shown.is_some_and(|shown| shown + 1 < row);
            let (excerpt, column) = excerpt(whole, pattern);
            let line = format!("{}{}: {excerpt}\n", if apart { "--\n" } else { "" }, row + 1);
            if out.len() + line.len() > room {
                if shown.is_none() {
                    out.push_str(&line[..line.floor_char_boundary(room)]);
                    long.get_or_insert((row + 1, 1));
                    shown = Some(row);
                }
                next = Some(shown.map_or(row, |shown| shown + 1));
                break 'matches;
            }
            out.push_str(&line);
            shown = Some(row);
            if let Some(column) = column {
                long.get_or_insert((row + 1, column));
            }
        }
    }
    // What was not shown is gone on with from the line after the last one shown, if anything there matches.
    let from = next.or(shown.map(|shown| shown + 1)).unwrap_or(total);
    let next = found.last.is_some_and(|last| last >= from).then_some(Next { offset: from + 1, column: 1 });
    let range = if offset > 1 { format!(" from line {offset} on") } else { String::new() };
    let mut remark = match found.count {
        1 => format!("1 line of {total} matches{range}"),
        count => format!("{count} lines of {total} match{range}"),
    };
    if pattern.fell_back {
        remark.push_str("; the pattern is no regular expression and was taken literally");
    }
    if let Some((line, column)) = long {
        let _ = write!(remark, "; long lines are cut, line {line} is here: offset {line}, column {column}, limit 1");
    }
    remark.push_str(&match next {
        Some(_) => going_on(next),
        None => String::new(),
    });
    Looked { text: out, remark, next, total_lines: total }
}

/// A line round what matches in it, and where that begins (character, 1-based) if it is not the whole line.
fn excerpt(line: &str, pattern: &Pattern) -> (String, Option<usize>) {
    if line.len() <= MATCH_BYTES {
        return (line.to_owned(), None);
    }
    let at = pattern.find(line).unwrap_or_default();
    let start = line.floor_char_boundary(at.saturating_sub(BEFORE_MATCH));
    let end = line.floor_char_boundary(start + MATCH_BYTES);
    let (before, after) = (if start > 0 { "…" } else { "" }, if end < line.len() { "…" } else { "" });
    (format!("{before}{}{after}", &line[start..end]), Some(line[..start].chars().count() + 1))
}

fn summary(text: &str, room: usize) -> Looked {
    let total = line_count(text);
    let row = |(at, line): (usize, &str)| {
        let line = trimmed(line);
        format!("{}: {}\n", at + 1, &line[..line.floor_char_boundary(SUMMARY_LINE)])
    };
    let (mut failed, mut failures) = (0, Vec::new());
    for (at, line) in lines(text).enumerate().filter(|(_, line)| looks_failed(trimmed(line))) {
        failed += 1;
        if failures.len() < SUMMARY_FAILURES {
            failures.push(row((at, line)));
        }
    }
    let beginning: Vec<String> = lines(text).enumerate().take(SUMMARY_ENDS).map(row).collect();
    let last = total.saturating_sub(SUMMARY_ENDS).max(SUMMARY_ENDS.min(total));
    let mut end: Vec<&str> = lines(text).rev().take(total - last).collect();
    end.reverse();
    let end = end.into_iter().enumerate().map(|(at, line)| row((last + at, line))).collect();
    let sections = [("the beginning", beginning), ("the end", end), ("lines that look like failures", failures)];
    let mut out = String::new();
    let mut told = 0;
    for (title, rows) in sections.iter().filter(|(_, rows)| !rows.is_empty()) {
        let mut section = format!("{title}:\n");
        for line in rows {
            if out.len() + section.len() + line.len() > room {
                break;
            }
            section.push_str(line);
            told += usize::from(title.starts_with("lines"));
        }
        if out.len() + section.len() <= room {
            out.push_str(&section);
        }
    }
    let mut remark = format!("{}, {} bytes", counted(total, "line"), text.len());
    match failed {
        0 => remark.push_str("; no line looks like a failure"),
        count if count > told => {
            let _ = write!(remark, "; {count} lines look like failures, {told} are shown");
        }
        _ => {}
    }
    Looked { text: out, remark, next: None, total_lines: total }
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

#[cfg(test)]
mod tests;
