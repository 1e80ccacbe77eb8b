//! The words for hunks that cannot be placed: where they differ from the text, with its line numbers and what it says.

use std::fmt::Write as _;

use super::file::File;
use super::place::{Placed, Wanted};
use super::source::{shown, shown_beside};
use super::{Fault, FaultKind, Hunk};
use crate::replace::LineRule;

/// So many lines of a diff are shown at most.
const DIFF: usize = 40;

/// So many lines of a hunk are compared with the text for its closest region.
const COMPARED: usize = 200;

fn fault(kind: FaultKind, message: impl Into<String>, lines: Vec<usize>) -> Fault {
    Fault { kind, message: message.into(), lines }
}

/// Says which hunk a fault is of.
pub(super) fn of_hunk(hunk: &Hunk, at: usize, count: usize, fault: Fault) -> Fault {
    let which = if count == 1 { "its hunk".to_owned() } else { format!("hunk {} of {count}", at + 1) };
    Fault { message: format!("{which} (line {} of the patch) {}", hunk.line, fault.message), ..fault }
}

/// The lines of a hunk are not in the text.
pub(super) fn not_found(file: &File<'_>, wanted: &Wanted<'_>) -> Fault {
    let mut words = "is not in the text".to_owned();
    if file.count() == 0 {
        words.push_str(", which is empty. To fill it, send a hunk that only adds lines.");
        return fault(FaultKind::NotFound, words, vec![]);
    }
    let new: Vec<&str> = wanted.hunk.after().map(|line| line.text.as_str()).collect();
    let whole = 0..file.count() + 1;
    let exact = |lines: &[&str]| file.first(&file.run(lines, LineRule::TrailingSpace)?, &whole);
    if wanted.hunk.ends()
        && let Some(at) = exact(&wanted.old)
    {
        let _ = write!(
            words,
            " at its end, where it says to be: its lines are at line {}, and the text has {} lines. Leave the mark of the \
             end out if that place is meant.",
            at + 1,
            file.count()
        );
        return fault(FaultKind::NotFound, words, vec![at + 1]);
    }
    words.push('.');
    let (mut lines, mut applied) = (Vec::new(), false);
    if new.iter().any(|line| line.trim().len() > 3)
        && let Some(at) = exact(&new)
    {
        let _ = write!(
            words,
            " What it would leave is there already, at line {}: if it was applied before, leave it out.",
            at + 1
        );
        lines.push(at + 1);
        applied = true;
    }
    let old = &wanted.old[wanted.old.iter().take_while(|line| line.trim().is_empty()).count()..];
    let old = &old[..old.len().min(COMPARED)];
    match file.known().nearest(old) {
        Some(near) => {
            let (first, last) = (near.lines.start + 1, near.lines.end);
            lines.push(first);
            let pairs = pairs(old.len().min(near.partners.len()), &near.lines, &near.partners);
            let differ = |&(old_at, line): &(Option<usize>, Option<usize>)| match (old_at, line) {
                (Some(at), Some(line)) => !same(old[at], file.lines.content(line)),
                _ => true,
            };
            let place = if first == last { format!("line {first}") } else { format!("lines {first}-{last}") };
            let _ = write!(words, " The closest is {place}");
            if let Some(&(old_at, line)) = pairs.iter().find(|pair| differ(pair)) {
                words.push_str("; the first difference: ");
                let has = |line: usize| format!("line {} is `{}`", line + 1, shown(file.lines.content(line)));
                let wants = |at: usize| format!("`{}`", shown(old[at]));
                match (old_at, line) {
                    (Some(at), Some(line)) => {
                        let (is, wanted) = (file.lines.content(line), old[at]);
                        let (is, wanted) = (shown_beside(is, wanted), shown_beside(wanted, is));
                        let _ = write!(words, "line {} is `{is}`, and the patch has `{wanted}`", line + 1);
                    }
                    (Some(at), None) => {
                        let _ = write!(words, "the patch has {}, which is not there", wants(at));
                    }
                    (None, Some(line)) => {
                        let _ = write!(words, "{}, which the patch has not", has(line));
                    }
                    (None, None) => {}
                }
            }
            words.push_str(". With `-` what the patch has, with `+` what the text has:");
            diff(file, old, &pairs, &mut words);
            let applied = if applied { "If not, send" } else { "Send" };
            let _ = write!(words, "\n{applied} the hunk again with the lines as the text has them.");
        }
        None => words.push_str(" Nothing in the text is like it. Read the file, and send its lines as they are there."),
    }
    fault(FaultKind::NotFound, words, lines)
}

/// Whether two lines are shown as one.
fn same(a: &str, b: &str) -> bool {
    LineRule::TrailingSpace.equal(a, b)
}

/// Lines of a hunk beside lines of the text, in order.
fn pairs(
    count: usize,
    lines: &std::ops::Range<usize>,
    partners: &[Option<usize>],
) -> Vec<(Option<usize>, Option<usize>)> {
    let (mut pairs, mut next) = (Vec::new(), lines.start);
    for (at, partner) in partners.iter().enumerate().take(count) {
        let line = partner.map(|partner| lines.start + partner);
        if let Some(line) = line {
            pairs.extend((next..line).map(|between| (None, Some(between))));
            next = line + 1;
        }
        pairs.push((Some(at), line));
    }
    pairs.extend((next..lines.end).map(|line| (None, Some(line))));
    pairs
}

fn diff(file: &File<'_>, old: &[&str], pairs: &[(Option<usize>, Option<usize>)], words: &mut String) {
    let width = file.count().to_string().len();
    let mut left = DIFF;
    let mut put = |number: Option<usize>, mark: char, text: &str| {
        if left > 0 {
            let number = number.map(|line| (line + 1).to_string()).unwrap_or_default();
            let _ = write!(words, "\n{number:>width$} {mark}{text}");
        }
        left = left.saturating_sub(1);
        left
    };
    let mut rest = 0;
    for &(at, line) in pairs {
        let left = match (at, line) {
            (Some(at), Some(line)) if same(old[at], file.lines.content(line)) => {
                put(Some(line), ' ', &shown(file.lines.content(line)))
            }
            (at, line) => {
                let is = line.map(|line| file.lines.content(line));
                let wanted = at.map(|at| old[at]);
                let first = wanted.map(|wanted| put(None, '-', &shown_beside(wanted, is.unwrap_or_default())));
                let second = is.map(|is| put(line, '+', &shown_beside(is, wanted.unwrap_or_default())));
                second.or(first).unwrap_or(DIFF)
            }
        };
        rest += usize::from(left == 0);
    }
    if rest > 1 {
        let _ = write!(words, "\n{:>width$} \u{2026}", "");
    }
}

/// A hunk fits two places.
pub(super) fn ambiguous(file: &File<'_>, wanted: &Wanted<'_>, first: Placed, other: usize) -> Fault {
    // The hunk may be found further down in between; two suffice to say that there are several.
    let (first, other) = (first.start.min(other), first.start.max(other));
    let line = |at: usize| {
        let text = if at < file.count() { shown(file.lines.content(at).trim()) } else { "the end".to_owned() };
        format!("line {} (`{text}`)", at + 1)
    };
    let mut words = if wanted.old.is_empty() {
        format!("could add its lines before {} and before {}.", line(first), line(other))
    } else {
        format!("fits at {} and at {}.", line(first), line(other))
    };
    words.push_str(
        " Add lines round it that only the right place has, or put the line of its class or function above it as \
         `@@ <that line>`.",
    );
    if wanted.hunk.numbers.is_some() {
        words.push_str(" (The line numbers of the patch are not exactly right for this text, so they decide nothing.)");
    }
    fault(FaultKind::Ambiguous, words, vec![first + 1, other + 1])
}

/// A hunk is above the one before it.
pub(super) fn out_of_order(file: &File<'_>, start: usize, above: Option<usize>) -> Fault {
    let before = above.map_or(String::new(), |line| format!(", and the hunk before it is at line {}", line + 1));
    fault(
        FaultKind::Conflict,
        format!(
            "is at line {} (`{}`){before}. Hunks come in the order of the text, each below the last: put it above \
             that one.",
            start + 1,
            shown(file.lines.content(start).trim())
        ),
        vec![start + 1],
    )
}

/// An anchor is not in the text.
pub(super) fn no_anchor(file: &File<'_>, line: usize, text: &str, from: usize) -> Fault {
    let mut words = format!("says `@@ {}` (line {} of the patch)", shown(text), line + 1);
    let mut lines = Vec::new();
    if from > 0 {
        let _ = write!(words, ", and below line {from} of the text no line reads so.");
    } else {
        words.push_str(", and no line of the text reads so.");
    }
    if let Some(near) = file.known().nearest(&[text]) {
        let at = near.lines.start;
        let _ = write!(words, " The closest is line {}: `{}`.", at + 1, shown(file.lines.content(at)));
        lines.push(at + 1);
    }
    words.push_str(" Write a whole line of the text behind `@@`, or `@@` alone and more lines of context.");
    fault(FaultKind::NotFound, words, lines)
}

/// A hunk only adds, and does not say where.
pub(super) fn nowhere(hunk: &Hunk) -> Fault {
    let numbers = if hunk.numbers.is_some() {
        " Its line numbers alone are not trusted: nothing else shows that they are those of this text."
    } else {
        ""
    };
    fault(
        FaultKind::NotFound,
        format!(
            "only adds lines and does not say where.{numbers} Put the line above the place into it (with a space before \
             it), or behind `@@`, or `*** End of File` below it to add at the end."
        ),
        vec![],
    )
}

/// The text cannot be searched in bounded time.
pub(super) fn repetitive() -> Fault {
    fault(
        FaultKind::Ambiguous,
        "was not looked for to the end: text and patch repeat the same lines too often. Send fewer hunks with more \
         distinct lines, or write the file anew.",
        vec![],
    )
}

/// A hunk that fits by a loose rule changes what the text has otherwise.
pub(super) fn clash(file: &File<'_>, placed: &Placed) -> Fault {
    fault(
        FaultKind::Conflict,
        format!(
            "is at line {}, but the text differs there in just what the hunk changes (`{}`). Send the lines exactly as the \
             text has them.",
            placed.start + 1,
            shown(file.lines.content(placed.start))
        ),
        vec![placed.start + 1],
    )
}

/// Nothing would change.
pub(super) fn identical() -> Fault {
    fault(
        FaultKind::Identical,
        "the text already is as the patch would have it, so there is nothing to change.",
        vec![],
    )
}

/// A file that is deleted has more than the patch deletes.
pub(super) fn more_than_deleted(left: &str, lines: usize) -> Fault {
    let first = left.lines().find(|line| !line.trim().is_empty()).or(left.lines().next()).unwrap_or_default();
    fault(
        FaultKind::Conflict,
        format!(
            "the patch deletes the file, and {} not in the patch: `{}`. Read the file, and send all of its lines \
             with `-`, or `*** Delete File: path` without any.",
            if lines == 1 {
                "a line of it is".to_owned()
            } else {
                format!("{lines} lines of it are, the first of them,")
            },
            shown(first)
        ),
        vec![],
    )
}
