//! The words about a sequence of edits: what each of them did, or which one failed and what the others have to do with
//! it. Pure, and bounded whatever the texts are.

use std::fmt::Write as _;

use serde_json::json;

use crate::replace::{Miss, MissKind};
use crate::text::Text;
use crate::workspace::{Hunk, LineSpan, Refusal};

use super::{Change, Made, Sequence, Step, find, kind};

/// So many edits, or lines of one, are told one by one.
const TOLD: usize = 20;

/// The edits before a failed one are made again to see which of them is to blame, unless that takes looking through
/// more than so many bytes.
const REPLAYED: usize = 32 << 20;

impl Sequence {
    /// What to say of the edits that were made.
    pub(super) fn notes(&self, made: &Made, hunks: &[Hunk]) -> Vec<String> {
        let mut notes = Vec::new();
        for (at, (by, places, near)) in made.ways.iter().enumerate() {
            let mut said = Vec::new();
            if self.numbered && at < TOLD {
                said.push(where_made(&made.changes, hunks, at, by.strategy, *places));
            } else if !self.numbered && self.steps[at].all {
                said.push(format!("Replaced {places} place{}.", if *places == 1 { "" } else { "s" }));
            }
            if by.strategy != "simple" && at < TOLD {
                said.push(format!(
                    "old_string was not there exactly; it was found by {} ({:.0} % alike, white space aside), and only \
                     what new_string changes of it was changed.",
                    by.strategy,
                    (by.similarity * 100.0).floor()
                ));
            }
            if *near > 0 {
                let (places, they) = if *near == 1 { ("place", "differs") } else { ("places", "differ") };
                said.push(format!(
                    "{near} more {places} {they} from old_string in white space or the like and stayed as before."
                ));
            }
            if self.numbered && !said.is_empty() {
                notes.push(format!("edit {}: {}", at + 1, said.join(" ")));
            } else {
                notes.extend(said);
            }
        }
        if self.numbered && made.ways.len() > TOLD {
            notes.push(format!("all {} edits were made; the first {TOLD} are told", made.ways.len()));
        }
        notes
    }

    /// Why an edit failed, and that none was made.
    pub(super) fn refuse(&self, text: &Text, made: &Made, miss: &Miss) -> Refusal {
        let failed = made.ways.len();
        if !self.numbered {
            return Refusal {
                kind: kind(miss),
                message: format!("{}: {}", self.path, miss.explanation),
                data: (!miss.lines.is_empty()).then(|| json!({ "lines": miss.lines })),
            };
        }
        let before = &*text.to_string();
        let mut message = format!(
            "{}: edit {} of {} does not fit, so none of the edits was made. {}",
            self.path,
            failed + 1,
            self.steps.len(),
            miss.explanation
        );
        let longer = |change: &Change| breaks(&before[change.splice.range.clone()]) != breaks(&change.splice.text);
        if !miss.lines.is_empty() && made.changes.iter().any(longer) {
            let _ = write!(message, "\nThe line numbers are those of the text as {} would leave it.", first(failed));
        }
        for hint in self.hints(text, before, made, miss) {
            let _ = write!(message, "\n{hint}");
        }
        if failed > 0 {
            let _ = write!(message, "\n{}", matched(before, made));
        }
        let mut data = json!({ "edit": failed + 1 });
        if !miss.lines.is_empty() {
            data["lines"] = json!(miss.lines);
        }
        Refusal { kind: kind(miss), message, data: Some(data) }
    }

    /// What other edits have to do with a miss.
    fn hints(&self, text: &Text, before: &str, made: &Made, miss: &Miss) -> Vec<String> {
        let failed = made.ways.len();
        let Some(step) = self.steps.get(failed).filter(|step| !step.old.trim().is_empty()) else { return vec![] };
        if matches!(miss.kind, MissKind::Elision | MissKind::EmptyOld) || step.old == step.new {
            return vec![];
        }
        let mut hints = Vec::new();
        if let Some((breaker, line)) = self.breaker(text, step, failed) {
            let number = breaker + 1;
            hints.push(match miss.kind {
                MissKind::Ambiguous => format!(
                    "Before edit {number} it fits one place only, line {line}: edit {number} makes another. Put this edit \
                     before edit {number}, or add lines to old_string that only the right place has."
                ),
                MissKind::Identical => {
                    format!("Edit {number} already makes this change at line {line}. Leave one of the two out.")
                }
                _ => format!(
                    "Before edit {number} it fits at line {line}, and edit {number} changes that text. Send old_string as \
                     it is after edit {number}, or make one edit of the two."
                ),
            });
        }
        if miss.kind == MissKind::Ambiguous {
            hints.extend(put_in(before, made, &miss.lines));
        }
        let later = self.steps.iter().enumerate().skip(failed + 1).find(|(_, later)| later.new.contains(&step.old));
        if let Some((later, _)) = later.filter(|_| miss.kind == MissKind::NotFound) {
            let number = later + 1;
            hints.push(format!("Edit {number}, which comes later, puts that text in: send edit {number} first."));
        }
        hints
    }

    /// The edit (0-based) before which the failed one fits for the last time, and the 1-based line where.
    fn breaker(&self, before: &Text, step: &Step, failed: usize) -> Option<(usize, usize)> {
        if before.len().saturating_mul(failed) > REPLAYED {
            return None;
        }
        let (mut again, mut last) = (Made::default(), None);
        for (at, earlier) in self.steps[..failed].iter().enumerate() {
            let now = again.now(before);
            if let Ok(found) = find(now, step) {
                let start = found.splices.first().map_or(0, |splice| splice.range.start);
                last = Some((at, now.rope().byte_to_line(start) + 1));
            }
            let found = find(now, earlier).ok()?;
            again.make(before, &found);
        }
        last
    }
}

/// Where an edit's result is in the text after all of them.
fn where_made(changes: &[Change], hunks: &[Hunk], edit: usize, strategy: &str, places: usize) -> String {
    let own: Vec<(&Change, &Hunk)> =
        changes.iter().zip(hunks).filter(|(change, _)| change.by.iter().any(|by| by.edit == edit)).collect();
    let Some((_, hunk)) = own.first() else {
        return format!("found by {strategy}, and undone by other edits.");
    };
    let mut said = if places > 1 {
        format!("{places} places by {strategy}, the first at {}", span(hunk.after))
    } else {
        format!("by {strategy}, at {}", span(hunk.after))
    };
    let mut others: Vec<usize> = own
        .iter()
        .flat_map(|(change, _)| &change.by)
        .map(|by| by.edit + 1)
        .filter(|&other| other != edit + 1)
        .collect();
    others.sort_unstable();
    others.dedup();
    if !others.is_empty() {
        let _ = write!(said, ", together with edit{} {}", if others.len() == 1 { "" } else { "s" }, list(&others));
    }
    said.push('.');
    said
}

fn span(span: LineSpan) -> String {
    match span.count {
        0 => format!("line {} (nothing is left there)", span.start),
        1 => format!("line {}", span.start),
        count => format!("lines {}-{}", span.start, span.start + count - 1),
    }
}

/// Which of the edits before a failed one had found what, in lines of the text before all of them.
fn matched(before: &str, made: &Made) -> String {
    let mut said = Vec::new();
    for (by, places, _) in made.ways.iter().take(TOLD) {
        let own = made.changes.iter().find(|change| change.by.iter().any(|other| other.edit == by.edit));
        let line = own.map_or(1, |change| breaks(&before[..change.splice.range.start]) + 1);
        let more = if *places > 1 { format!(" and {} more places", places - 1) } else { String::new() };
        said.push(format!("edit {} at line {line}{more} (by {})", by.edit + 1, by.strategy));
    }
    if made.ways.len() > TOLD {
        said.push(format!("and {} more", made.ways.len() - TOLD));
    }
    format!("Had matched, in lines of the file as it is: {}.", said.join(", "))
}

/// Of some places, given by their 1-based lines in the text so far, those that earlier edits put in.
fn put_in(before: &str, made: &Made, lines: &[usize]) -> Vec<String> {
    let (mut said, mut shift) = (Vec::new(), 0isize);
    let (mut line, mut at) = (1usize, 0);
    for change in &made.changes {
        line += breaks(&before[at..change.splice.range.start]);
        at = change.splice.range.start;
        let start = line.saturating_add_signed(shift);
        let added = breaks(&change.splice.text);
        // A line end at the end of the new text belongs to its last line.
        let end = start + if change.splice.text.ends_with('\n') { added.saturating_sub(1) } else { added };
        shift += added.cast_signed() - breaks(&before[change.splice.range.clone()]).cast_signed();
        let by: Vec<usize> = change.by.iter().map(|by| by.edit + 1).collect();
        for &place in lines.iter().filter(|&&place| (start..=end).contains(&place) && !change.splice.text.is_empty()) {
            if said.len() < TOLD / 4 {
                let plural = if by.len() == 1 { "edit" } else { "edits" };
                said.push(format!("The place at line {place} is where {plural} {} put text in.", list(&by)));
            }
        }
    }
    said
}

fn first(count: usize) -> String {
    if count == 1 { "edit 1".to_owned() } else { format!("edits 1-{count}") }
}

fn list(numbers: &[usize]) -> String {
    let shown: Vec<String> = numbers.iter().take(TOLD).map(ToString::to_string).collect();
    match shown.split_last() {
        Some((last, rest)) if !rest.is_empty() && numbers.len() <= TOLD => format!("{} and {last}", rest.join(", ")),
        _ if numbers.len() > TOLD => format!("{} and more", shown.join(", ")),
        _ => shown.concat(),
    }
}

fn breaks(text: &str) -> usize {
    memchr::memchr_iter(b'\n', text.as_bytes()).count()
}
