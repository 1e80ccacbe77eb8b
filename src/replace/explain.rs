//! The words of a miss: what is there instead, where, and what to do. Bounded whatever the texts are.

mod shown;

use std::borrow::Cow;
use std::fmt::Write as _;
use std::ops::Range;

use super::haystack::Haystack;
use super::lines::{Lines, blank};
use super::merge::Clash;
use super::nearest::nearest;
use super::search::COUNTED;
use super::{Fit, Miss, MissKind, Pair, Place, Request, STRATEGIES, Strategy, first_of};
use shown::{MARKS, marked, same_but_for_blanks, same_but_for_shape, shown, shown_apart, shown_at};

/// So many places are described at most.
const PLACES: usize = 8;

/// So many lines of a diff are shown at most.
const DIFF: usize = 40;

/// So many line numbers are given at most as data.
const NUMBERS: usize = 100;

/// A new text is looked for in the file if it has as many letters and digits: a shorter one is everywhere.
const TELLING: usize = 8;

/// A line that tells two places apart is looked for this far from them (lines).
const REACH: isize = 60;

/// Old and new are the same.
pub(super) fn identical() -> Miss {
    miss(
        MissKind::Identical,
        "old_string and new_string are the same, so there is nothing to change. Send the text as it should become in \
         new_string.",
        vec![],
    )
}

/// The places already read as new has them.
pub(super) fn done(haystack: &Haystack<'_>, places: &[Place]) -> Miss {
    let lines = place_lines(haystack, places);
    let text = format!(
        "The text at {} already reads as new_string has it (white space aside), so there is nothing to change.",
        list(&lines)
    );
    miss(MissKind::Identical, text, lines)
}

/// New is there already, and old is not, to the byte.
pub(super) fn present(haystack: &Haystack<'_>, places: &[Place]) -> Miss {
    let lines = place_lines(haystack, places);
    let text = format!(
        "old_string is not in the text as you sent it, and the lines of new_string are there already, at {}: the edit may \
         have been made before. If another place is meant, send its lines exactly as they are there as old_string.",
        list(&lines)
    );
    miss(MissKind::Identical, text, lines)
}

/// Old is empty and the file is not.
pub(super) fn empty_old() -> Miss {
    miss(
        MissKind::EmptyOld,
        "old_string is empty, which only fits a file that does not exist yet or is empty; this one has text. To \
         insert, send a line next to the place as old_string and the same line with the addition as new_string; to \
         replace everything, use the write tool.",
        vec![],
    )
}

/// Something is left out.
pub(super) fn elision(side: &str, line: &str) -> Miss {
    let text = format!(
        "{side} leaves something out: its line `{}` stands for text that it does not contain, and the file has no such \
         line. Nothing was changed. Send the complete lines, or several smaller edits that each hold only the lines \
         that change and a few around them.",
        shown(line)
    );
    miss(MissKind::Elision, text, vec![])
}

/// Two places or more.
pub(super) fn ambiguous(haystack: &Haystack<'_>, strategy: &Strategy, places: &[Place]) -> Miss {
    let (lines, table) = (place_lines(haystack, places), haystack.lines());
    let exactly = places.iter().all(|place| matches!(place.fit, Fit::Exact));
    let mut text = format!(
        "old_string fits {} places{}, so nothing was changed:",
        if places.len() >= COUNTED { format!("{COUNTED} or more") } else { places.len().to_string() },
        if exactly { String::new() } else { format!(" (none exactly; by {})", strategy.name) }
    );
    for (at, (line, place)) in lines.iter().zip(places).enumerate().take(PLACES) {
        let (content, start) = (table.content(line - 1), table.range(line - 1).start);
        let into = (place.range.start - start).min(content.len());
        let shared = lines.iter().enumerate().any(|(other, of)| other != at && of == line);
        let column = if shared { format!(", column {}", content[..into].chars().count() + 1) } else { String::new() };
        let skipped = content.len() - content.trim_start().len();
        let _ = write!(
            text,
            "\n  line {line}{column}: `{}`",
            shown_at(content.trim(), into.saturating_sub(skipped).min(content.trim().len()))
        );
        match telling(table, &lines, at) {
            _ if shared => {}
            Some(0) => {}
            Some(offset) => {
                let other = (line - 1).saturating_add_signed(offset);
                let (way, far) = (if offset < 0 { "above" } else { "below" }, offset.unsigned_abs());
                let _ = write!(text, " ({far} {way}, line {}: `{}`)", other + 1, shown(table.content(other).trim()));
            }
            None => text.push_str(" (nothing near it tells it apart)"),
        }
    }
    if lines.len() > PLACES {
        let _ = write!(text, "\n  and {} more", lines.len() - PLACES);
    }
    text.push_str("\nAdd lines around it that only the right place has, to old_string and to new_string");
    text.push_str(if strategy.all { ",\nor set replace_all to change every one." } else { "." });
    miss(MissKind::Ambiguous, text, lines)
}

/// No place.
pub(super) fn not_found(haystack: &Haystack<'_>, request: &Request<'_>) -> Miss {
    let already = already(haystack, request).map(|line| {
        format!("\nnew_string is in the text already, at line {line}: the change may have been made before.")
    });
    let already = already.unwrap_or_default();
    let Some(near) = nearest(haystack, request.old) else {
        let text = format!(
            "old_string is not in the text, and nothing there is much like it. Read the file, and copy the lines to \
             change from it exactly.{already}"
        );
        return miss(MissKind::NotFound, text, vec![]);
    };
    let lines: Vec<usize> = (near.lines.start + 1..=near.lines.end).collect();
    let diff = diff(haystack.lines(), &near.lines, &near.old, &near.partners);
    let copy = if lines.len() == 1 { "it is" } else { "they are" };
    let text = format!(
        "old_string is not in the text. The closest is {} ({} % alike; - is what you sent, + is what is there):\n{}{already}\n\
         Copy {} as {copy} there into old_string, or read the file again if you expected something else.",
        span(&near.lines),
        percent(near.similarity),
        diff.text(),
        span(&near.lines),
    );
    miss(MissKind::NotFound, text, lines)
}

/// The 1-based line where the new text already is, if it says enough to be told from chance.
fn already(haystack: &Haystack<'_>, request: &Request<'_>) -> Option<usize> {
    request.new.chars().filter(|c| c.is_alphanumeric()).nth(TELLING - 1)?;
    let (old, new) = (Cow::Borrowed(request.new), Cow::Borrowed(request.old));
    let exact = &STRATEGIES[..STRATEGIES.iter().position(|strategy| strategy.name == "blockAnchor")?];
    let found = first_of(exact, haystack, &Pair { old, new }, false);
    found.places.first().map(|place| haystack.lines().at(place.range.start) + 1)
}

/// The place is not as old has it where new changes it.
pub(super) fn conflict(
    haystack: &Haystack<'_>,
    strategy: &Strategy,
    pair: &Pair<'_>,
    place: &Place,
    clash: &Clash,
) -> Miss {
    let table = haystack.lines();
    let from = table.at(place.range.start);
    let here = from..table.at(place.range.end.max(place.range.start + 1) - 1) + 1;
    let old: Vec<&str> = Lines::of(&pair.old).contents().collect();
    let partners = match &place.fit {
        Fit::Lines { partners: Some(partners), .. } => partners.clone(),
        _ => (0..old.len()).map(|line| Some(line).filter(|&line| line < here.len())).collect(),
    };
    let at =
        if clash.line < here.end { format!("At line {}", clash.line + 1) } else { format!("After line {}", here.end) };
    let told =
        |line: Option<&str>, none: &str| line.map_or(none.to_owned(), |line| format!("`{}`", shown(line.trim())));
    let why = if clash.doubt {
        format!(
            "it has other lines than old_string, and new_string changes something where it is not known which of them \
             is meant, so nothing was changed. {at}:\n  old_string has {}\n",
            told(clash.old.as_deref(), "its end")
        )
    } else {
        format!(
            "there new_string changes what is not as old_string has it, so nothing was changed. {at}:\n  old_string \
             has {}\n  the text has {}\n  new_string has {}\n",
            told(clash.old.as_deref(), "nothing there"),
            told(clash.place.as_deref(), "no such line"),
            told(clash.new.as_deref(), "it taken out"),
        )
    };
    let text = format!(
        "The closest place is {} (by {}), but {why}(- is what you sent, + is what is there):\n{}\nSend old_string with \
         the lines as they are there, and new_string as they should become.",
        span(&here),
        strategy.name,
        diff(table, &here, &old, &partners).text()
    );
    miss(MissKind::Conflict, text, (from + 1..=here.end).collect())
}

/// What was asked for (`-`) against some lines of the text (`+`), with the numbers of those; trimmed, equal lines are
/// shown once.
fn diff(table: &Lines<'_>, lines: &Range<usize>, old: &[&str], partners: &[Option<usize>]) -> Diff {
    let here = |at: usize| table.content(lines.start + at);
    let row = |sign: char, at: usize, text: String| Row { sign, number: Some(lines.start + at + 1), text };
    let (mut rows, mut blanks, mut shapes) = (Vec::new(), Vec::new(), Vec::new());
    let mut next = 0;
    for (line, partner) in old.iter().zip(partners) {
        let Some(at) = *partner else {
            rows.push(Row { sign: '-', number: None, text: shown(line) });
            continue;
        };
        rows.extend((next..at).map(|at| row('+', at, shown(here(at)))));
        if here(at).trim() == line.trim() {
            rows.push(row(' ', at, shown(here(at))));
        } else {
            let (asked, there) = shown_apart(line, here(at));
            rows.extend([Row { sign: '-', number: None, text: asked }, row('+', at, there)]);
            if same_but_for_blanks(line, here(at)) {
                blanks.push(lines.start + at + 1);
            } else if same_but_for_shape(line, here(at)) {
                shapes.push(lines.start + at + 1);
            }
        }
        next = at + 1;
    }
    rows.extend((next..lines.len()).map(|at| row('+', at, shown(here(at)))));
    Diff { rows, last: lines.end, blanks, shapes }
}

/// What was asked for against what is there.
struct Diff {
    rows: Vec<Row>,
    /// The highest line number.
    last: usize,
    /// The 1-based lines that differ in what is not seen only, ...
    blanks: Vec<usize>,
    /// ... or in case and look-alikes only.
    shapes: Vec<usize>,
}

impl Diff {
    /// The rows, and what is to be known about them.
    fn text(&self) -> String {
        let mut text = table_of(&self.rows, self.last);
        for (lines, what) in [
            (&self.blanks, "white space and invisible characters"),
            (&self.shapes, "upper and lower case or look-alikes"),
        ] {
            if !lines.is_empty() {
                let list = list(lines);
                let _ = write!(text, "\nOnly {what} differ in {list}.");
            }
        }
        if marked(&text) {
            let _ = write!(text, "\n{MARKS}");
        }
        text
    }
}

fn miss(kind: MissKind, explanation: impl Into<String>, mut lines: Vec<usize>) -> Miss {
    lines.truncate(NUMBERS);
    Miss { kind, explanation: explanation.into(), lines }
}

/// The 1-based lines that places begin on.
fn place_lines(haystack: &Haystack<'_>, places: &[Place]) -> Vec<usize> {
    places.iter().map(|place| haystack.lines().at(place.range.start) + 1).collect()
}

/// How far from a place (lines, negative above) the nearest line is that no other place has at the same distance; 0 when
/// the places' own lines tell it.
fn telling(table: &Lines<'_>, places: &[usize], which: usize) -> Option<isize> {
    let own = places[which] - 1;
    let at = |line: usize, offset: isize| {
        line.checked_add_signed(offset).filter(|&line| line < table.count()).map(|line| table.content(line).trim())
    };
    let apart = |offset: isize| {
        let Some(mine) = at(own, offset).filter(|text| !blank(text)) else { return false };
        let others = places.iter().enumerate().filter(|&(other, _)| other != which);
        others.into_iter().all(|(_, &line)| at(line - 1, offset) != Some(mine))
    };
    // Among very many places only the nearest lines are tried: the work stays bounded.
    let reach = if places.len() > 100 { 4 } else { REACH };
    std::iter::once(0).chain((1..=reach).flat_map(|far| [-far, far])).find(|&offset| apart(offset))
}

/// A line of a diff.
struct Row {
    sign: char,
    number: Option<usize>,
    text: String,
}

/// The rows with their line numbers; what is too much, and long stretches without a difference, give way to `…`.
fn table_of(rows: &[Row], last: usize) -> String {
    let width = last.to_string().len();
    let near = |at: usize| rows[at.saturating_sub(2)..(at + 3).min(rows.len())].iter().any(|row| row.sign != ' ');
    let (mut text, mut count, mut skipped) = (String::new(), 0, false);
    for (at, row) in rows.iter().enumerate() {
        if count >= DIFF || (rows.len() > DIFF / 2 && !near(at)) {
            skipped = true;
            continue;
        }
        if std::mem::take(&mut skipped) {
            let _ = writeln!(text, "{:>width$}   …", "");
        }
        let number = row.number.map(|number| number.to_string()).unwrap_or_default();
        let _ = writeln!(text, "{number:>width$} {} {}", row.sign, row.text);
        count += 1;
    }
    if skipped {
        let _ = writeln!(text, "{:>width$}   …", "");
    }
    text.truncate(text.trim_end_matches('\n').len());
    text
}

fn span(lines: &Range<usize>) -> String {
    if lines.len() == 1 { format!("line {}", lines.end) } else { format!("lines {}-{}", lines.start + 1, lines.end) }
}

fn list(lines: &[usize]) -> String {
    let shown: Vec<String> = lines.iter().take(PLACES).map(ToString::to_string).collect();
    let more = if lines.len() > PLACES { " ..." } else { "" };
    format!("line{} {}{more}", if lines.len() == 1 { "" } else { "s" }, shown.join(", "))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of 1, in whole hundredths")]
fn percent(share: f64) -> usize {
    (share.clamp(0.0, 1.0) * 100.0).floor() as usize
}

#[cfg(test)]
mod tests;
