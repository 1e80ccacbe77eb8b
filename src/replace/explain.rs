//! The words of a miss: what is there instead, where, and what to do. Bounded whatever the texts are.

use std::fmt::Write as _;
use std::ops::Range;

use super::haystack::Haystack;
use super::lines::{Lines, blank};
use super::merge::Clash;
use super::nearest::nearest;
use super::search::COUNTED;
use super::{Fit, Miss, MissKind, Pair, Place, Strategy};

/// So many places are described at most.
const PLACES: usize = 8;

/// So many lines of a diff are shown at most.
const DIFF: usize = 40;

/// So many characters of a line are shown at most.
const WIDTH: usize = 160;

/// A line that tells two places apart is looked for this far from them (lines).
const REACH: usize = 60;

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
    let lines = place_lines(haystack, places);
    let exactly = places.iter().all(|place| matches!(place.fit, Fit::Exact));
    let mut text = format!(
        "old_string fits {} places{}, so nothing was changed:",
        if places.len() >= COUNTED { format!("{COUNTED} or more") } else { places.len().to_string() },
        if exactly { String::new() } else { format!(" (none exactly; by {})", strategy.name) }
    );
    for (at, line) in lines.iter().enumerate().take(PLACES) {
        let table = haystack.lines();
        let _ = write!(text, "\n  line {line}: `{}`", shown(table.content(line - 1).trim()));
        match telling(table, &lines, at) {
            Some(other) => {
                let (way, far) =
                    if other < line - 1 { ("above", line - 1 - other) } else { ("below", other + 1 - line) };
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
pub(super) fn not_found(haystack: &Haystack<'_>, old: &str) -> Miss {
    let Some(near) = nearest(haystack, old) else {
        return miss(
            MissKind::NotFound,
            "old_string is not in the text, and nothing there is much like it. Read the file, and copy the lines to \
             change from it exactly.",
            vec![],
        );
    };
    let lines: Vec<usize> = (near.lines.start + 1..=near.lines.end).collect();
    let text = format!(
        "old_string is not in the text. The closest is {} ({} % alike; - is what you sent, + is what is there):\n{}\n\
         Send the lines as they are there, or read the file again if you expected something else.",
        span(&near.lines),
        percent(near.similarity),
        diff(haystack.lines(), &near.lines, &near.old, &near.partners)
    );
    miss(MissKind::NotFound, text, lines)
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
    let text = format!(
        "The closest place is {} (by {}), but new_string changes line {}, where the text is not as old_string has it: \
         `{}`. Nothing was changed (- is what you sent, + is what is there):\n{}\nSend old_string with the lines as \
         they are there, and new_string as they should become.",
        span(&here),
        strategy.name,
        clash.line + 1,
        shown(clash.old.trim()),
        diff(table, &here, &old, &partners)
    );
    miss(MissKind::Conflict, text, (from + 1..=here.end).collect())
}

/// What was asked for (`-`) against some lines of the text (`+`), with the numbers of those; trimmed, equal lines are
/// shown once.
fn diff(table: &Lines<'_>, lines: &Range<usize>, old: &[&str], partners: &[Option<usize>]) -> String {
    let here = |at: usize| table.content(lines.start + at);
    let row = |sign: char, at: usize| Row { sign, number: Some(lines.start + at + 1), text: shown(here(at)) };
    let mut rows = Vec::new();
    let mut next = 0;
    for (line, partner) in old.iter().zip(partners) {
        let asked = Row { sign: '-', number: None, text: shown(line) };
        let Some(at) = *partner else {
            rows.push(asked);
            continue;
        };
        rows.extend((next..at).map(|at| row('+', at)));
        if here(at).trim() == line.trim() {
            rows.push(row(' ', at));
        } else {
            rows.extend([asked, row('+', at)]);
        }
        next = at + 1;
    }
    rows.extend((next..lines.len()).map(|at| row('+', at)));
    table_of(&rows, lines.end)
}

fn miss(kind: MissKind, explanation: impl Into<String>, lines: Vec<usize>) -> Miss {
    Miss { kind, explanation: explanation.into(), lines }
}

/// The 1-based lines that places begin on.
fn place_lines(haystack: &Haystack<'_>, places: &[Place]) -> Vec<usize> {
    places.iter().map(|place| haystack.lines().at(place.range.start) + 1).collect()
}

/// A line (0-based) near a place that is not at the same distance from any other: the nearest one above, else below.
fn telling(table: &Lines<'_>, places: &[usize], which: usize) -> Option<usize> {
    let own = places[which] - 1;
    let at = |line: usize, offset: isize| {
        line.checked_add_signed(offset).filter(|&line| line < table.count()).map(|line| table.content(line).trim())
    };
    let apart = |offset: isize| {
        let mine = at(own, offset).filter(|text| !blank(text))?;
        let unique = places
            .iter()
            .enumerate()
            .filter(|&(other, _)| other != which)
            .all(|(_, &line)| at(line - 1, offset) != Some(mine));
        unique.then(|| own.checked_add_signed(offset)).flatten()
    };
    let reach = isize::try_from(REACH).unwrap_or(isize::MAX);
    // Among very many places only the nearest lines are tried: the work stays bounded.
    let reach = if places.len() > 100 { 4 } else { reach };
    (1..=reach).find_map(|far| apart(-far)).or_else(|| (1..=reach).find_map(apart))
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

/// A line, cut where it is too long.
fn shown(line: &str) -> String {
    match line.char_indices().nth(WIDTH) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    }
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
