//! Looking at a kept output again: lines of it, lines that match, its ends, or what it is like. Always within a budget,
//! and always with the place to go on from, so that no line is ever out of reach. What is read of it goes through a
//! [`Scan`], so that memory is bounded however long it is.

mod matching;
mod pattern;
mod summary;

use std::fmt::Write as _;
use std::io;

use super::scan::{SIZES, Scan, Sizes};
use super::spill::Source;
use super::{lines, trimmed};

pub use pattern::Pattern;

/// Kept free in the budget (bytes) for the remark after the lines.
const REMARK: usize = 260;

/// At most so many bytes are shown at once, whatever the budget.
const MOST_SHOWN: usize = 4 << 20;

/// So many bytes more than may be shown are read: a character and the end of a line.
const SLACK: usize = 16;

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

/// Looks at an output; what [`Looked::told`] gives has at most `budget` bytes where that is at least 400. `stop` is asked now
/// and then whether nobody wants to know any more; that, and a file that cannot be read or is not what was written, is an
/// error. Blocking.
pub fn look(source: &mut Source, ask: &Ask, budget: usize, stop: &dyn Fn() -> bool) -> io::Result<Looked> {
    look_with(source, ask, budget, stop, SIZES)
}

fn look_with(
    source: &mut Source,
    ask: &Ask,
    budget: usize,
    stop: &dyn Fn() -> bool,
    sizes: Sizes,
) -> io::Result<Looked> {
    let room = budget.saturating_sub(REMARK).max(budget / 2).clamp(1, MOST_SHOWN);
    let mut scan = source.scan(sizes, stop);
    match (&ask.pattern, ask.mode) {
        (_, Mode::Summary) => summary::summary(&mut scan, room),
        (Some(pattern), _) => matching::matching(&mut scan, pattern, ask, room),
        (None, Mode::Window) => window(&mut scan, ask.offset, ask.column, ask.limit, room),
        (None, Mode::Head) => window(&mut scan, 1, 1, ask.limit, room),
        (None, Mode::Tail) => tail(&mut scan, ask.limit, room),
    }
}

fn past_the_end(offset: usize, total: usize) -> Looked {
    let remark = format!("line {offset} is past the end; the output has {}", counted(total, "line"));
    Looked { text: String::new(), remark, next: None, total_lines: total }
}

fn window(scan: &mut Scan<'_>, offset: usize, column: usize, limit: usize, room: usize) -> io::Result<Looked> {
    let total = scan.index().line_count();
    let (offset, column) = (offset.max(1), column.max(1));
    if offset > total {
        return Ok(past_the_end(offset, total));
    }
    let line = scan.line_start(offset - 1)?;
    // Of a line that has not so many characters, nothing is shown, and the next ones are.
    let (at, first, limit) = match scan.column(line, column)? {
        Ok(at) => (at, offset, limit.max(1)),
        Err(next) => (next, offset + 1, limit.max(1) - 1),
    };
    // A line that is not whole in this is too long for the room.
    let read = scan.text(at, room + SLACK)?;
    let (mut out, mut next, mut last) = (String::new(), None, offset);
    for (number, line) in (first..).zip(lines(read)).take(limit) {
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
        let one = line.chars().next().map_or(0, char::len_utf8);
        let mut shown = &line[..line.floor_char_boundary(room.max(one))];
        if trimmed(&line[shown.len()..]).is_empty() {
            // Only its end is left, which belongs to it: who puts the pieces together gets the whole.
            shown = line;
        }
        out.push_str(shown);
        if shown.len() < line.len() {
            next = Some(Next { offset: number, column: column + shown.chars().count() });
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
    Ok(Looked { text: out, remark, next, total_lines: total })
}

fn going_on(next: Option<Next>) -> String {
    match next {
        None => ", the end".to_owned(),
        Some(Next { offset, column: 1 }) => format!("; go on with offset {offset}"),
        Some(Next { offset, column }) => format!("; the line goes on: offset {offset}, column {column}"),
    }
}

fn tail(scan: &mut Scan<'_>, limit: usize, room: usize) -> io::Result<Looked> {
    let (total, end) = (scan.index().line_count(), scan.index().bytes());
    // If its first line is not whole, all of it is too long for the room.
    let read = scan.tail(room + SLACK)?;
    let (mut start, mut first) = (read.len(), total + 1);
    for line in lines(read).rev().take(limit.max(1)) {
        if read.len() - start + line.len() > room {
            break;
        }
        (start, first) = (start - line.len(), first - 1);
    }
    if first <= total {
        let before = if first > 1 {
            let offset = first.saturating_sub(limit.max(1)).max(1);
            format!("; before them: offset {offset}, limit {}", first - offset)
        } else {
            String::new()
        };
        let range = if first == total { format!("line {first}") } else { format!("lines {first}-{total}") };
        let (text, remark) = (read[start..].to_owned(), format!("{range} of {total}, the end{before}"));
        return Ok(Looked { text, remark, next: None, total_lines: total });
    }
    let line = lines(read).next_back().unwrap_or_default();
    let text = line[line.ceil_char_boundary(line.len() - room.min(line.len()))..].to_owned();
    let line = scan.line_start(total.saturating_sub(1))?;
    let column = scan.chars_before(end - text.len() as u64)? - line.chars + 1;
    let remark =
        format!("the end of line {total} of {total}, from its character {column}; it begins at offset {total}");
    Ok(Looked { text, remark, next: None, total_lines: total })
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

#[cfg(test)]
mod tests;
