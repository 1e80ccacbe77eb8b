//! Edits as people and models make them, on the lines of one place.

use super::corpus::{File, Language};
use super::random::Random;
use super::scene::{Row, Step, indent, solid};

/// Makes an edit of the lines of a place; `None` where the drawn one does not suit them.
pub(super) fn edit(random: &mut Random, place: &[String], file: &File) -> Option<Vec<Row>> {
    let mut rows: Vec<Row> =
        place.iter().map(|line| Row::new(Step::Keep, Some(line.as_str()), Some(line.as_str()))).collect();
    let times = if place.len() > 5 && random.percent(25) { 2 } else { 1 };
    for _ in 0..times {
        match random.below(16) {
            0..5 => change_token(random, &mut rows, file)?,
            5..7 => extend_call(random, &mut rows)?,
            7..10 => add_lines(random, &mut rows, file)?,
            10 => drop_line(random, &mut rows)?,
            11..13 => replace_line(random, &mut rows, file)?,
            13 => wrap(random, &mut rows, file)?,
            _ => rename(random, &mut rows)?,
        }
    }
    let says = |line: Option<&String>| line.is_some_and(|line| !line.trim().is_empty());
    let changed = rows.iter().any(|row| row.step != Step::Keep);
    (changed && rows.iter().any(|row| says(row.new.as_ref()))).then_some(rows)
}

/// The words of a line with their places, in bytes.
pub(super) fn words(line: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut start = None;
    for (at, c) in line.char_indices().chain([(line.len(), ' ')]) {
        let inside = c.is_alphanumeric() || c == '_';
        match start {
            None if inside => start = Some(at),
            Some(from) if !inside => {
                found.push((from, &line[from..at]));
                start = None;
            }
            _ => {}
        }
    }
    found
}

/// Whether a word is a name and not a number.
pub(super) fn is_name(word: &str) -> bool {
    word.len() >= 3 && word.chars().next().is_some_and(|c| c.is_alphabetic() || c == '_')
}

/// A line with one word of it changed.
pub(super) fn other_word(random: &mut Random, line: &str, file: Option<&File>) -> Option<String> {
    let all = words(line);
    let (at, word) = *random.pick(&all)?;
    let to = if word.chars().all(|c| c.is_ascii_digit()) {
        format!("{}", word.parse::<u32>().ok()?.checked_add(1)?)
    } else if is_name(word) {
        let there = file.and_then(|file| random.pick(&file.lines)).and_then(|line| {
            let all = words(line);
            random.pick(&all).map(|(_, word)| (*word).to_owned())
        });
        match there {
            Some(there) if is_name(&there) && there != word => there,
            _ if random.percent(50) => format!("{word}_{}", random.pick(&["new", "all", "cached", "raw"])?),
            _ => format!("{}{word}", random.pick(&["old_", "my_", "base_"])?),
        }
    } else {
        return None;
    };
    Some(format!("{}{to}{}", &line[..at], &line[at + word.len()..]))
}

/// The rows that the edit has not touched and that say something.
fn free(rows: &[Row]) -> Vec<usize> {
    (0..rows.len()).filter(|at| rows[*at].kept().is_some_and(|line| solid(line) > 0)).collect()
}

fn change_at(rows: &mut [Row], at: usize, line: &str) {
    let before = rows[at].file.clone();
    rows[at] = Row::new(Step::Change, before.as_deref(), Some(line));
}

fn change_token(random: &mut Random, rows: &mut [Row], file: &File) -> Option<()> {
    let at = *random.pick(&free(rows))?;
    let line = other_word(random, rows[at].file.as_deref()?, Some(file))?;
    change_at(rows, at, &line);
    Some(())
}

fn extend_call(random: &mut Random, rows: &mut [Row]) -> Option<()> {
    let calls: Vec<usize> = free(rows)
        .into_iter()
        .filter(|at| rows[*at].file.as_deref().is_some_and(|line| line.contains('(') && line.contains(')')))
        .collect();
    let at = *random.pick(&calls)?;
    let line = rows[at].file.clone()?;
    let close = line.rfind(')')?;
    let comma = if line[..close].ends_with('(') { "" } else { ", " };
    let argument = random.pick(&["timeout", "strict", "0", "options"])?;
    change_at(rows, at, &format!("{}{comma}{argument}{}", &line[..close], &line[close..]));
    Some(())
}

/// A statement that fits below a line.
fn statement(random: &mut Random, file: &File) -> Option<String> {
    let name = random.pick(&["count", "result", "state", "limit", "entry", "cursor"])?;
    let number = random.below(90) + 10;
    Some(match (file.language, random.below(3)) {
        (Language::Python | Language::JavaScript, 1) => format!("log_{name}({number})"),
        (Language::Python, 0) => format!("{name}_total = {number}"),
        (Language::Python, _) => format!("# the {name} is {number} here"),
        (Language::JavaScript, 0) => format!("const {name}Total = {number}"),
        (Language::Rust, 0) => format!("let {name}_total = {number};"),
        (Language::Rust, 1) => format!("log_{name}({number});"),
        (_, _) => format!("// the {name} is {number} here"),
    })
}

fn add_lines(random: &mut Random, rows: &mut Vec<Row>, file: &File) -> Option<()> {
    let at = random.below(rows.len() + 1);
    // Its depth is that of the line above it (below it, at the top), as it would be in a list of statements.
    let beside = if at > 0 { at - 1 } else { 0 };
    let line = rows.get(beside)?.want.clone().filter(|line| !line.trim().is_empty())?;
    let depth = line[..indent(&line)].to_owned();
    for offset in 0..if random.percent(60) { 1 } else { random.within(2, 5) } {
        let made = format!("{depth}{}", statement(random, file)?);
        rows.insert(at + offset, Row::new(Step::Add, None, Some(&made)));
    }
    Some(())
}

fn drop_line(random: &mut Random, rows: &mut [Row]) -> Option<()> {
    let at = *random.pick(&free(rows))?;
    let before = rows[at].file.clone();
    rows[at] = Row::new(Step::Drop, before.as_deref(), None);
    Some(())
}

fn replace_line(random: &mut Random, rows: &mut [Row], file: &File) -> Option<()> {
    let at = *random.pick(&free(rows))?;
    let line = rows[at].file.clone()?;
    let made = format!("{}{}", &line[..indent(&line)], statement(random, file)?);
    change_at(rows, at, &made);
    Some(())
}

fn wrap(random: &mut Random, rows: &mut Vec<Row>, file: &File) -> Option<()> {
    let unit = file.unit()?;
    let candidates = free(rows);
    let from = *random.pick(&candidates)?;
    let until = candidates.iter().copied().find(|at| *at >= from + random.below(4)).unwrap_or(from);
    let head = rows[from].file.clone()?;
    let depth = indent(&head);
    if rows[from..=until].iter().any(|row| {
        row.step != Step::Keep
            || row.file.as_deref().is_some_and(|line| !line.trim().is_empty() && indent(line) < depth)
    }) {
        return None;
    }
    for at in from..=until {
        let line = rows[at].file.clone()?;
        if !line.trim().is_empty() {
            change_at(rows, at, &format!("{}{line}", " ".repeat(unit)));
        }
    }
    let (open, close) = match file.language {
        Language::Python => ("if enabled:", ""),
        Language::JavaScript => ("if (enabled) {", "}"),
        Language::Rust => ("if enabled {", "}"),
    };
    if !close.is_empty() {
        let line = format!("{}{close}", &head[..depth]);
        rows.insert(until + 1, Row::new(Step::Add, None, Some(&line)));
    }
    rows.insert(from, Row::new(Step::Add, None, Some(&format!("{}{open}", &head[..depth]))));
    Some(())
}

fn rename(random: &mut Random, rows: &mut [Row]) -> Option<()> {
    let at = *random.pick(&free(rows))?;
    let line = rows[at].file.clone()?;
    let names: Vec<&str> = words(&line).into_iter().map(|(_, word)| word).filter(|word| is_name(word)).collect();
    let from = *random.pick(&names)?;
    let to = format!("{from}{}", random.pick(&["_id", "2", "_ref", "Value"])?);
    for at in free(rows) {
        let line = rows[at].file.clone()?;
        let renamed = replace_word(&line, from, &to);
        if renamed != line {
            change_at(rows, at, &renamed);
        }
    }
    Some(())
}

/// A line with each occurrence of a whole word replaced.
pub(super) fn replace_word(line: &str, from: &str, to: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut end = 0;
    for (at, word) in words(line) {
        if word == from {
            out.push_str(&line[end..at]);
            out.push_str(to);
            end = at + word.len();
        }
    }
    out.push_str(&line[end..]);
    out
}
