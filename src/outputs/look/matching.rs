//! The lines of a kept output that match, with those round them.

use std::fmt::Write as _;
use std::io;
use std::ops::ControlFlow;

use super::super::scan::{Piece, Scan};
use super::super::trimmed;
use super::{Ask, Looked, Next, Pattern, going_on, past_the_end};

/// A line is shown up to so many bytes, round what matches in it.
const MATCH_BYTES: usize = 500;

/// Of those, so many before the match.
const BEFORE_MATCH: u64 = 100;

/// A line that matches: its index, and where it begins and the match in it (bytes).
#[derive(Debug, Clone, Copy)]
struct Match {
    row: usize,
    line: u64,
    at: u64,
}

/// The lines that match from a line on: the first ones, how many there are, and the last.
struct Matches {
    first: Vec<Match>,
    count: usize,
    last: Option<usize>,
}

pub(super) fn matching(scan: &mut Scan<'_>, pattern: &Pattern, ask: &Ask, room: usize) -> io::Result<Looked> {
    let total = scan.index().line_count();
    let offset = ask.offset.max(1);
    if offset > total {
        return Ok(past_the_end(offset, total));
    }
    // Each that is shown takes three bytes at least.
    let found = matches(scan, pattern, offset - 1, ask.limit.clamp(1, room / 3 + 2))?;
    let (mut out, mut shown, mut long) = (String::new(), None::<usize>, None);
    let (mut next, mut following) = (None, None);
    'matches: for &at in &found.first {
        let from = at.row.saturating_sub(ask.context).max(shown.map_or(offset - 1, |shown| shown + 1));
        let end = at.row.saturating_add(ask.context).saturating_add(1).min(total);
        for row in from..end {
            let (line, here) = match following {
                _ if row == at.row => (at.line, Some(at.at)),
                Some((following, line)) if following == row => (line, None),
                _ => (scan.line_start(row)?.byte, None),
            };
            let Excerpt { text, column, next: behind } = excerpt(scan, line, here, pattern)?;
            following = behind.map(|behind| (row + 1, behind));
            let apart = ask.context > 0 && shown.is_some_and(|shown| shown + 1 < row);
            let line = format!("{}{}: {text}\n", if apart { "--\n" } else { "" }, row + 1);
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
    Ok(Looked { text: out, remark, next, total_lines: total })
}

fn matches(scan: &mut Scan<'_>, pattern: &Pattern, from: usize, most: usize) -> io::Result<Matches> {
    let start = scan.line_start(from)?.byte;
    let (mut found, mut row, mut here) = (Matches { first: Vec::new(), count: 0, last: None }, from, None);
    scan.lines(start, &mut |piece| {
        if here.is_none() {
            here = find(pattern, piece);
        }
        if piece.last {
            if let Some(at) = here.take() {
                if found.first.len() < most {
                    found.first.push(Match { row, line: piece.line, at });
                }
                (found.count, found.last) = (found.count + 1, Some(row));
            }
            row += 1;
        }
        ControlFlow::Continue(())
    })?;
    Ok(found)
}

/// Where a piece of a line matches, in the line (bytes).
fn find(pattern: &Pattern, piece: Piece<'_>) -> Option<u64> {
    let found = pattern.find(piece.text, piece.lead)?;
    // At its end the piece is not what the line is there. What matches only up to there is looked at in the next piece,
    // if that has all of it.
    let open = !piece.last && found.end == piece.text.len() && found.start >= piece.again;
    (!open).then_some(piece.at + found.start as u64)
}

/// A line round what matches in it.
struct Excerpt {
    text: String,
    /// Where it begins (character, 1-based) if it is not the whole line.
    column: Option<usize>,
    /// Where the next line begins, where that is known.
    next: Option<u64>,
}

/// The line that begins there. `at`: where it matches, if that is known.
fn excerpt(scan: &mut Scan<'_>, line: u64, at: Option<u64>, pattern: &Pattern) -> io::Result<Excerpt> {
    if let Start::Whole(text, next) = beginning(scan, line, MATCH_BYTES)? {
        return Ok(Excerpt { text, column: None, next: Some(next) });
    }
    let mut at = at;
    if at.is_none() {
        scan.lines(line, &mut |piece| {
            at = find(pattern, piece);
            if piece.last || at.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
    }
    let start = scan.char_start((line + at.unwrap_or_default()).saturating_sub(BEFORE_MATCH).max(line))?;
    let (shown, after) = match beginning(scan, start, MATCH_BYTES)? {
        Start::Whole(text, _) => (text, ""),
        Start::Some(text) => (text, "…"),
    };
    let before = if start > line { "…" } else { "" };
    let column = scan.chars_before(start)? - scan.chars_before(line)? + 1;
    let column = Some(usize::try_from(column).unwrap_or(usize::MAX));
    Ok(Excerpt { text: format!("{before}{shown}{after}"), column, next: None })
}

/// What a line has from a place on.
pub(super) enum Start {
    /// All of it, without its end, and where the next line begins.
    Whole(String, u64),
    /// The first part of it.
    Some(String),
}

/// At most so many bytes of what a line has from there on.
pub(super) fn beginning(scan: &mut Scan<'_>, at: u64, most: usize) -> io::Result<Start> {
    let end = scan.index().bytes();
    // With both bytes of its end, and the rest of a character.
    let text = scan.text(at, most + 4)?;
    let ends = match memchr::memchr(b'\n', text.as_bytes()) {
        None if at + text.len() as u64 == end => Some(text.len()),
        found => found.map(|at| at + 1),
    };
    let shown = trimmed(&text[..ends.unwrap_or(text.len())]);
    if let Some(ends) = ends.filter(|_| shown.len() <= most) {
        return Ok(Start::Whole(shown.to_owned(), at + ends as u64));
    }
    Ok(Start::Some(text[..text.floor_char_boundary(most)].to_owned()))
}
