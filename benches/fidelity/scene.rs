//! A place in a file and an edit of it, as a table of lines with one column for each view of it.

use super::corpus::{Corpus, File, Language, squeeze};
use super::edits;
use super::random::Random;

/// What the edit does with a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Leaves it.
    Keep,
    /// Puts another in its stead.
    Change,
    /// Takes it away.
    Drop,
    /// Makes it.
    Add,
}

/// One line in each view; `None` where the view lacks it.
#[derive(Debug, Clone)]
pub(super) struct Row {
    /// What the edit does with it.
    pub(super) step: Step,
    /// In the file as it is.
    pub(super) file: Option<String>,
    /// In old.
    pub(super) old: Option<String>,
    /// In new.
    pub(super) new: Option<String>,
    /// In the file as it should be.
    pub(super) want: Option<String>,
}

impl Row {
    /// The row of a step that nothing has disturbed yet.
    pub(super) fn new(step: Step, before: Option<&str>, after: Option<&str>) -> Row {
        let (before, after) = (before.map(str::to_owned), after.map(str::to_owned));
        Row { step, file: before.clone(), old: before, new: after.clone(), want: after }
    }

    /// A line that only the model knows.
    pub(super) fn imagined(line: &str) -> Row {
        let line = Some(line.to_owned());
        Row { step: Step::Keep, file: None, old: line.clone(), new: line, want: None }
    }

    /// Puts a line into old, and into new where new has it unchanged.
    pub(super) fn say(&mut self, line: &str) {
        self.old = Some(line.to_owned());
        if self.step == Step::Keep {
            self.new = Some(line.to_owned());
        }
    }

    /// The line of the file, if the edit keeps it and it is no blank one.
    pub(super) fn kept(&self) -> Option<&str> {
        self.file.as_deref().filter(|line| self.step == Step::Keep && !line.trim().is_empty())
    }
}

/// A place in a file and an edit of it.
#[derive(Debug, Clone)]
pub(super) struct Scene {
    /// The file's name.
    pub(super) name: String,
    /// What it is written in.
    pub(super) language: Language,
    /// The columns of one step of indentation, if they can be told.
    pub(super) unit: Option<usize>,
    /// The lines before the place.
    pub(super) before: Vec<String>,
    /// The place.
    pub(super) rows: Vec<Row>,
    /// The lines after it.
    pub(super) after: Vec<String>,
    /// Whether old and new end with a line end.
    pub(super) ended: bool,
    /// Whether the file does.
    pub(super) file_ended: bool,
}

impl Scene {
    fn file(&self, view: impl Fn(&Row) -> Option<&str>) -> String {
        let before = self.before.iter().map(String::as_str);
        let place = self.rows.iter().filter_map(view);
        let lines: Vec<&str> = before.chain(place).chain(self.after.iter().map(String::as_str)).collect();
        let mut text = lines.join("\n");
        if self.file_ended {
            text.push('\n');
        }
        text
    }

    fn side(&self, view: impl Fn(&Row) -> Option<&str>) -> String {
        let lines: Vec<&str> = self.rows.iter().filter_map(view).collect();
        let mut text = lines.join("\n");
        if self.ended {
            text.push('\n');
        }
        text
    }

    /// The file as it is.
    pub(super) fn text(&self) -> String {
        self.file(|row| row.file.as_deref())
    }

    /// The file as it should be.
    pub(super) fn want(&self) -> String {
        self.file(|row| row.want.as_deref())
    }

    /// What the model says is there.
    pub(super) fn old_side(&self) -> String {
        self.side(|row| row.old.as_deref())
    }

    /// What the model says should be there.
    pub(super) fn new_side(&self) -> String {
        self.side(|row| row.new.as_deref())
    }

    /// The 0-based lines of the wanted file whose end may be either where line ends are mixed: those that new makes, and,
    /// where old does not reach to the end of its last line, those from that on and the last one.
    pub(super) fn made(&self) -> Vec<usize> {
        let last_of = |view: fn(&Row) -> bool| self.rows.iter().rposition(view).filter(|_| !self.ended);
        let last = last_of(|row| row.old.is_some()).min(last_of(|row| row.want.is_some()));
        let wanted = self.rows.iter().enumerate().filter(|(_, row)| row.want.is_some()).enumerate();
        wanted
            .filter(|(_, (row, of))| of.step != Step::Keep || last.is_some_and(|last| *row >= last))
            .map(|(at, _)| self.before.len() + at)
            .collect()
    }

    /// The columns of white space that all non-blank lines of old and new have in common.
    pub(super) fn common_indent(&self) -> usize {
        let lines = self.rows.iter().flat_map(|row| [row.old.as_deref(), row.new.as_deref()]).flatten();
        lines.filter(|line| !line.trim().is_empty()).map(indent).min().unwrap_or(0)
    }

    /// Applies a change to every line of old and new that is not blank.
    pub(super) fn each_side(&mut self, change: impl Fn(&str) -> String) {
        for row in &mut self.rows {
            for line in [&mut row.old, &mut row.new].into_iter().flatten() {
                if !line.trim().is_empty() {
                    *line = change(line);
                }
            }
        }
    }

    /// Applies a change to every line of the file, as it is and as it should be.
    pub(super) fn each_of_file(&mut self, change: impl Fn(&str) -> String) {
        for line in self.before.iter_mut().chain(&mut self.after) {
            *line = change(line);
        }
        for row in &mut self.rows {
            for line in [&mut row.file, &mut row.want].into_iter().flatten() {
                *line = change(line);
            }
        }
    }

    /// Applies a change to everything everywhere.
    pub(super) fn everywhere(&mut self, change: impl Fn(&str) -> String) {
        self.each_side(&change);
        self.each_of_file(change);
    }

    /// The rows that the edit keeps, that are not blank and say something; with `inner`, neither the first nor the
    /// last; with `calm`, those between two rows that it keeps.
    pub(super) fn kept_rows(&self, inner: bool, calm: bool) -> Vec<usize> {
        let keep = |at: Option<usize>| at.and_then(|at| self.rows.get(at)).is_some_and(|row| row.step == Step::Keep);
        (0..self.rows.len())
            .filter(|at| self.rows[*at].kept().is_some_and(|line| solid(line) >= 4))
            .filter(|at| !inner || (*at > 0 && at + 1 < self.rows.len()))
            .filter(|at| !calm || (keep(at.checked_sub(1)) && keep(Some(at + 1))))
            .collect()
    }

    /// The lines of the place that are not blank.
    pub(super) fn said(&self) -> usize {
        self.rows.iter().filter(|row| row.file.as_deref().is_some_and(|line| !line.trim().is_empty())).count()
    }

    /// Whether all lines of old and new stand on steps of so many columns, and one of old on a step at all.
    pub(super) fn on_steps(&self, unit: usize) -> bool {
        let lines = self.rows.iter().flat_map(|row| [row.old.as_deref(), row.new.as_deref()]).flatten();
        let stands = lines.filter(|line| !line.trim().is_empty()).all(|line| indent(line).is_multiple_of(unit));
        stands && self.rows.iter().filter_map(|row| row.old.as_deref()).any(|line| indent(line) > 0)
    }

    /// Whether another place of the file is so like this one that a careful person who knows a few lines of old to be
    /// wrong could take it for the one that is meant.
    pub(super) fn has_twin(&self) -> bool {
        let place: Vec<Vec<u32>> = self.rows.iter().filter_map(|row| row.file.as_deref()).map(pairs).collect();
        [&self.before, &self.after].into_iter().any(|lines| likeness(&place, lines) > 0.66)
    }
}

/// The most that a window of lines has in common with a place, of 1.
pub(super) fn likeness(place: &[Vec<u32>], lines: &[String]) -> f64 {
    let lines: Vec<Vec<u32>> = lines.iter().map(|line| pairs(line)).collect();
    let mut most = 0.0f64;
    for start in 0..(lines.len() + 1).saturating_sub(place.len().min(lines.len())) {
        let (mut shared, mut all) = (0, 0);
        for (at, line) in place.iter().enumerate() {
            // A line too few or too many must not hide a twin: the best of three neighbours counts.
            let near = [(start + at).checked_sub(1), Some(start + at), Some(start + at + 1)];
            let best = near.into_iter().flatten().filter_map(|at| lines.get(at)).map(|other| common(line, other)).max();
            shared += best.unwrap_or(0);
            all += line.len();
        }
        most = most.max(ratio(shared, all));
    }
    most
}

fn ratio(part: usize, whole: usize) -> f64 {
    let narrow = |n: usize| f64::from(u32::try_from(n).unwrap_or(u32::MAX));
    if whole == 0 { 1.0 } else { narrow(part) / narrow(whole) }
}

/// The pairs of neighbouring characters of a line, white space aside, sorted.
pub(super) fn pairs(line: &str) -> Vec<u32> {
    let chars: Vec<u32> = line.chars().filter(|c| !c.is_whitespace()).map(u32::from).collect();
    let mut found: Vec<u32> = chars.windows(2).map(|two| two[0].wrapping_mul(65_599) ^ two[1]).collect();
    found.sort_unstable();
    found
}

fn common(a: &[u32], b: &[u32]) -> usize {
    let (mut i, mut j, mut count) = (0, 0, 0);
    while i < a.len() && j < b.len() {
        match a[i].cmp(&b[j]) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => {
                i += 1;
                j += 1;
                count += 1;
            }
        }
    }
    count
}

/// Bytes of white space before a line.
pub(super) fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches([' ', '\t']).len()
}

/// Letters and digits of a line.
pub(super) fn solid(line: &str) -> usize {
    line.chars().filter(|c| c.is_alphanumeric()).count()
}

/// Draws a place of so many lines whose text, white space aside, is nowhere else in its file, and an edit of it.
pub(super) fn draw(random: &mut Random, corpus: &Corpus, least: usize, most: usize) -> Option<Scene> {
    let file = random.pick(&corpus.files)?;
    draw_in(random, file, least, most)
}

/// As [`draw`], of one file.
pub(super) fn draw_in(random: &mut Random, file: &File, least: usize, most: usize) -> Option<Scene> {
    let (start, count) = region(random, file, least, most)?;
    let place = &file.lines[start..start + count];
    let rows = edits::edit(random, place, file)?;
    // A last blank line of new without an end could as well be the end of the line before it.
    let blank = rows.iter().filter_map(|row| row.new.as_deref()).next_back().is_none_or(|line| line.trim().is_empty());
    Some(Scene {
        name: file.name.clone(),
        language: file.language,
        unit: file.unit(),
        before: file.lines[..start].to_vec(),
        rows,
        after: file.lines[start + count..].to_vec(),
        ended: random.percent(40) || blank,
        file_ended: true,
    })
}

/// A place that begins and ends with lines that say something and is there once.
pub(super) fn region(random: &mut Random, file: &File, least: usize, most: usize) -> Option<(usize, usize)> {
    let wish = match random.below(10) {
        0..3 => random.within(1, 3),
        3..8 => random.within(4, 10),
        _ => random.within(11, 25),
    };
    let count = wish.clamp(least, most);
    let start = random.below(file.lines.len().checked_sub(count)?);
    let place = &file.lines[start..start + count];
    let (first, last) = (place.first()?, place.last()?);
    if first.trim().is_empty() || last.trim().is_empty() || place.iter().map(|line| solid(line)).sum::<usize>() < 6 {
        return None;
    }
    let squeezed = squeeze(&place.concat());
    once(&file.squeezed, &squeezed).then_some((start, count))
}

/// Whether a text is in another exactly once; overlapping places count.
pub(super) fn once(text: &str, part: &str) -> bool {
    let Some(first) = text.find(part) else { return false };
    let step = text[first..].chars().next().map_or(1, char::len_utf8);
    !text[first + step..].contains(part)
}
