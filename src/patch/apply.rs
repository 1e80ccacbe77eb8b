//! A patch of one file as splices of its text.
//!
//! Lines that stay are in no splice and so keep their bytes. New lines end as the lines that they replace, or as those
//! around them. Whether the text ends with a line end changes only where the patch says so.

use std::ops::Range;

use super::explain;
use super::file::File;
use super::place::{Placed, place};
use super::{Fault, FaultKind, FilePatch, Hunk, HunkLine, Kind, Side};
use crate::replace::LineRule;
use crate::text::{LineEnd, Splice, diff, similarity};

/// A patch of one file, placed.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Applied {
    /// What is replaced, in bytes of the text before, rising, not overlapping.
    pub splices: Vec<Splice>,
    /// Where its hunks are, in their order.
    pub hunks: Vec<PlacedHunk>,
}

/// Where a hunk is.
#[derive(Debug, Clone, PartialEq)]
pub struct PlacedHunk {
    /// `patch` where its lines are in the text to the byte, else the strategy of the cascade that forgives what differs.
    pub strategy: &'static str,
    /// How alike its lines and those of the text are; 1 is exact, white space aside.
    pub similarity: f64,
    /// The lines it replaces: the first, 1-based, and how many; of none the one before which it adds.
    pub before: (usize, usize),
    /// The lines that replace them, in the text after.
    pub after: (usize, usize),
}

/// The strategy of a hunk that is there to the byte.
const EXACT: &str = "patch";

/// Applies the patch of a file to its text (absent: there is no such file), which begins with no byte order mark. Either
/// all of it fits or nothing is given. For [`Kind::Add`] the text before is replaced whatever it is; for [`Kind::Delete`]
/// what is given leaves nothing.
pub fn apply(before: Option<&str>, patch: &FilePatch) -> Result<Applied, Fault> {
    let text = before.unwrap_or_default();
    match patch.kind {
        Kind::Add => Ok(added(text, patch)),
        Kind::Delete => deleted(text, patch),
        Kind::Update | Kind::Copy => {
            // What is said to be empty before may as well not be there.
            let makes = |hunk: &Hunk| {
                hunk.before().next().is_none() && hunk.numbers.as_ref().is_some_and(|numbers| numbers.old_start == 0)
            };
            if before.is_none() && !(patch.hunks.len() == 1 && makes(&patch.hunks[0])) {
                let message = "there is no such file. Check the path; to make it, use `*** Add File: path`, or \
                               `--- /dev/null` above `+++ b/path`.";
                return Err(Fault { kind: FaultKind::NotFound, message: message.to_owned(), lines: vec![] });
            }
            let applied = updated(text, &patch.hunks)?;
            if applied.splices.is_empty() && patch.move_to.is_none() && patch.mode.is_none() {
                return Err(explain::identical());
            }
            Ok(applied)
        }
    }
}

fn added(text: &str, patch: &FilePatch) -> Applied {
    let lines = patch.hunks.iter().flat_map(|hunk| &hunk.lines);
    let mut new = String::new();
    let mut count = 0;
    for line in lines {
        new.push_str(&line.text);
        new.push_str(if line.bare { "" } else { end_of(line) });
        count += 1;
    }
    let before = (1, text.split_inclusive('\n').count());
    let hunk = PlacedHunk { strategy: EXACT, similarity: 1.0, before, after: (1, count) };
    Applied { splices: vec![Splice { range: 0..text.len(), text: new }], hunks: vec![hunk] }
}

fn end_of(line: &HunkLine) -> &'static str {
    if line.crlf { LineEnd::Crlf.as_str() } else { LineEnd::Lf.as_str() }
}

fn deleted(text: &str, patch: &FilePatch) -> Result<Applied, Fault> {
    if !patch.hunks.is_empty() {
        let applied = updated(text, &patch.hunks)?;
        let (mut left, mut at) = (String::new(), 0);
        for splice in &applied.splices {
            left.push_str(&text[at..splice.range.start]);
            left.push_str(&splice.text);
            at = splice.range.end;
        }
        left.push_str(&text[at..]);
        if !left.is_empty() {
            return Err(explain::more_than_deleted(&left, left.lines().count()));
        }
    }
    let lines = text.split_inclusive('\n').count();
    let hunk = PlacedHunk { strategy: EXACT, similarity: 1.0, before: (1, lines), after: (1, 0) };
    let splices = if text.is_empty() { vec![] } else { vec![Splice { range: 0..text.len(), text: String::new() }] };
    Ok(Applied { splices, hunks: vec![hunk] })
}

fn updated(text: &str, hunks: &[Hunk]) -> Result<Applied, Fault> {
    let file = File::of(text, hunks.iter().map(|hunk| hunk.lines.len()).sum());
    let placed = place(&file, hunks)?;
    let (mut applied, mut shift) = (Applied::default(), 0isize);
    for (at, (hunk, placed)) in hunks.iter().zip(&placed).enumerate() {
        let filled = match placed.rule {
            LineRule::Exact | LineRule::TrailingSpace => Some(verbatim(&file, hunk, placed)),
            LineRule::WhiteSpace | LineRule::LookAlikes => merged(&file, hunk, placed),
        };
        let Some(splices) = filled else {
            return Err(explain::of_hunk(hunk, at, hunks.len(), explain::clash(&file, placed)));
        };
        for splice in splices {
            push(&mut applied.splices, splice)
                .ok_or_else(|| explain::of_hunk(hunk, at, hunks.len(), explain::clash(&file, placed)))?;
        }
        applied.hunks.push(told(&file, hunk, placed, &mut shift));
    }
    applied.splices.retain(|splice| text[splice.range.clone()] != splice.text);
    Ok(applied)
}

/// Adds a splice behind the others, joined to the last where they touch; `None` where they overlap.
fn push(splices: &mut Vec<Splice>, splice: Splice) -> Option<()> {
    match splices.last_mut() {
        Some(last) if last.range.end > splice.range.start => return None,
        Some(last) if last.range.end == splice.range.start => {
            last.range.end = splice.range.end;
            last.text.push_str(&splice.text);
        }
        _ => splices.push(splice),
    }
    Some(())
}

/// The lines of a hunk that change.
fn told(file: &File<'_>, hunk: &Hunk, placed: &Placed, shift: &mut isize) -> PlacedHunk {
    let context = |line: &&HunkLine| line.side == Side::Context;
    let lead = hunk.lines.iter().take_while(context).count();
    let trail = hunk.lines.iter().rev().take_while(context).count();
    let news = hunk.after().count();
    let start = placed.start + lead + 1;
    let after = start.saturating_add_signed(*shift);
    *shift += news.cast_signed() - placed.len.cast_signed();
    let mut cost = similarity::Cost::default();
    if placed.rule != LineRule::Exact {
        for (at, line) in hunk.before().enumerate() {
            cost += similarity::cost(&line.text, file.lines.content(placed.start + at));
        }
    }
    PlacedHunk {
        strategy: placed.rule.strategy().unwrap_or(EXACT),
        similarity: if placed.rule == LineRule::Exact { 1.0 } else { cost.similarity() },
        before: (start, placed.len - lead - trail),
        after: (after, news - lead - trail),
    }
}

/// The bytes of some lines, with their ends.
fn span(file: &File<'_>, lines: &Range<usize>) -> Range<usize> {
    if lines.start == file.count() { file.text.len()..file.text.len() } else { file.lines.span(lines) }
}

/// What a hunk changes, line by line: removed lines go, added ones come as they are.
fn verbatim(file: &File<'_>, hunk: &Hunk, placed: &Placed) -> Vec<Splice> {
    let (mut splices, mut at) = (Vec::new(), placed.start);
    let (mut removed, mut added): (usize, Vec<&HunkLine>) = (0, Vec::new());
    let mut flush = |at: &mut usize, removed: &mut usize, added: &mut Vec<&HunkLine>| {
        if *removed > 0 || !added.is_empty() {
            splices.push(group(file, hunk, &(*at..*at + *removed), added));
        }
        *at += *removed;
        *removed = 0;
        added.clear();
    };
    for line in &hunk.lines {
        match line.side {
            Side::Removed => removed += 1,
            Side::Added => added.push(line),
            Side::Context => {
                flush(&mut at, &mut removed, &mut added);
                at += 1;
            }
        }
    }
    flush(&mut at, &mut removed, &mut added);
    splices
}

/// The lines `gone` replaced by `added`.
fn group(file: &File<'_>, hunk: &Hunk, gone: &Range<usize>, added: &[&HunkLine]) -> Splice {
    let range = span(file, gone);
    let mut text = String::new();
    let Some(last) = added.last() else { return Splice { range, text } };
    let at_end = gone.end == file.count();
    let closed = !at_end || closed(file, hunk, last);
    if at_end && gone.is_empty() && !file.lines.ended() {
        text.push_str(usual_end(file, gone.start, last).as_str());
    }
    let usual = usual_end(file, gone.start, last);
    for (number, line) in added.iter().enumerate() {
        let own = (gone.start + number < gone.end).then(|| file.lines.end(gone.start + number)).flatten();
        text.push_str(&line.text);
        if number + 1 < added.len() || closed {
            text.push_str(own.unwrap_or(usual).as_str());
        }
    }
    Splice { range, text }
}

/// Whether the text, whose last line a hunk replaces by `last` or puts it below, ends with a line end afterwards.
fn closed(file: &File<'_>, hunk: &Hunk, last: &HunkLine) -> bool {
    if last.bare {
        return false;
    }
    // What was said to have none, and has no such mark any more, gets one.
    hunk.before().any(|line| line.bare) || file.lines.ended()
}

/// The end of a new line that replaces none: that of the line before, or behind, or what the text has most.
fn usual_end(file: &File<'_>, at: usize, line: &HunkLine) -> LineEnd {
    let ends = file.ends();
    if ends.first.is_none() {
        return if line.crlf { LineEnd::Crlf } else { LineEnd::Lf };
    }
    let of = |line: Option<usize>| line.filter(|&line| line < file.count()).and_then(|line| file.lines.end(line));
    of(at.checked_sub(1)).or_else(|| of(Some(at))).unwrap_or_else(|| ends.prevailing())
}

/// What a hunk changes in lines that differ from it in more than white space at their ends, by the merge of the
/// cascade; `None` where that would be a guess.
fn merged(file: &File<'_>, hunk: &Hunk, placed: &Placed) -> Option<Vec<Splice>> {
    let joined = |lines: &mut dyn Iterator<Item = &HunkLine>| {
        let mut text = String::new();
        for line in lines {
            text.push_str(&line.text);
            text.push('\n');
        }
        text
    };
    let lines = placed.start..placed.start + placed.len;
    let mut splice = file.known().merged(&lines, &joined(&mut hunk.before()), &joined(&mut hunk.after()))?;
    if lines.end == file.count()
        && let Some(last) = hunk.after().last().filter(|line| line.side == Side::Added)
    {
        let bare = splice.text.strip_suffix('\n').map(|text| text.strip_suffix('\r').unwrap_or(text).len());
        match (closed(file, hunk, last), bare) {
            (false, Some(bare)) => splice.text.truncate(bare),
            (true, None) => splice.text.push_str(usual_end(file, lines.start, last).as_str()),
            _ => {}
        }
    }
    let start = splice.range.start;
    let fine = diff::splices(&file.text[splice.range], &splice.text);
    Some(
        fine.into_iter()
            .map(|part| Splice { range: part.range.start + start..part.range.end + start, text: part.text })
            .collect(),
    )
}
