//! What a model is told of monitors. Pure.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::editor::{JobInfo, JobState};
use crate::jobs::{LINE_BYTES, Line, MonitorInfo, Reading, marked};
use crate::process::Stream;

/// So many characters of a command name a monitor that has no description.
const NAME: usize = 60;

/// A description is cut to so many characters.
const DESCRIPTION: usize = 200;

/// The name of a monitor for people: one line.
pub(super) fn label(description: Option<&str>, command: &str) -> String {
    let given = description.map(one_line).filter(|words| !words.is_empty());
    let (words, most) = match given {
        Some(words) => (words, DESCRIPTION),
        None => (one_line(command), NAME),
    };
    match words.char_indices().nth(most) {
        Some((end, _)) => format!("{}...", words[..end].trim_end()),
        None => words,
    }
}

fn one_line(text: &str) -> String {
    let shown = |c: char| if c.is_control() { ' ' } else { c };
    text.chars().map(shown).collect::<String>().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// How a monitor is doing: `runs`, `ended: exit code 0`.
pub(super) fn state(job: &JobInfo) -> String {
    let how = match job.state {
        JobState::Running => return "runs".to_owned(),
        JobState::Exited => "ended",
        JobState::Failed => "failed",
        JobState::Stopped => "was stopped",
    };
    job.detail.as_ref().map_or_else(|| how.to_owned(), |words| format!("{how}: {words}"))
}

/// The monitors of a session, one line each.
pub(super) fn list(monitors: &[MonitorInfo]) -> String {
    if monitors.is_empty() {
        return "There are no monitors in this session.".to_owned();
    }
    let mut out = String::new();
    for monitor in monitors {
        let MonitorInfo { job, lines, unread, dropped } = monitor;
        let _ = write!(out, "{} ({}) {}; {}, {unread} unread", job.id, job.label, state(job), counted(*lines));
        if *dropped > 0 {
            let _ = write!(out, ", the first {dropped} not kept any more");
        }
        out.push('\n');
    }
    out.truncate(out.len() - 1);
    out
}

/// The same as data.
pub(super) fn listed(monitors: &[MonitorInfo]) -> Value {
    let rows = monitors.iter().map(|monitor| {
        let MonitorInfo { job, lines, unread, dropped } = monitor;
        json!({
            "id": job.id, "label": job.label, "state": job.state, "detail": job.detail,
            "lines": lines, "unread": unread, "dropped": dropped,
        })
    });
    json!({ "monitors": rows.collect::<Vec<_>>() })
}

/// Names of monitors, for a message that says which there are.
pub(super) fn names(monitors: &[MonitorInfo]) -> String {
    monitors.iter().map(|monitor| format!("{} ({})", monitor.job.id, monitor.job.label)).collect::<Vec<_>>().join(", ")
}

/// What was read. `numbered`: each line with its number, for what is not all of them.
pub(super) fn read(reading: &Reading, numbered: bool) -> String {
    let Reading { job, seen } = reading;
    let mut out = format!("Monitor {} ({}) {}.", job.id, job.label, state(job));
    let new = match (&seen.lines[..], numbered) {
        ([], true) => format!(" None of its lines from {} on match.", seen.from),
        ([], false) if seen.total == 0 => " It has put out no line yet.".to_owned(),
        ([], false) => format!(" There are no lines from {} on.", seen.from),
        (lines, true) => format!(" {} of {}:", counted(lines.len() as u64), seen.total),
        ([one], false) => format!(" Line {} of {}:", one.number, seen.total),
        ([first, .., last], false) => format!(" Lines {}-{} of {}:", first.number, last.number, seen.total),
    };
    out.push_str(&new);
    for line in &seen.lines {
        out.push('\n');
        if numbered {
            let _ = write!(out, "{} ", line.number);
        }
        out.push_str(&marked(line, LINE_BYTES));
    }
    for (stream, text) in &seen.open {
        let open = Line { number: seen.total, stream: *stream, text: text.clone(), cut: 0 };
        let _ = write!(out, "\n(not ended yet)\n{}", marked(&open, LINE_BYTES));
    }
    let mut remarks = Vec::new();
    if seen.dropped > 0 {
        remarks.push(format!("{} from {} on not kept any more", counted(seen.dropped), seen.from));
    }
    if seen.unmatched > 0 {
        remarks.push(format!("{} without a match left out", counted(seen.unmatched)));
    }
    if seen.next < seen.total {
        remarks.push(format!("{} from {} on not shown yet", counted(seen.total - seen.next), seen.next));
    }
    remarks.push(format!("next: since {}", seen.next));
    let _ = write!(out, "\n({})", remarks.join("; "));
    out
}

/// The same as data.
pub(super) fn data(reading: &Reading) -> Value {
    let Reading { job, seen } = reading;
    let row = |line: &Line| {
        let stream = match line.stream {
            Stream::Out => "stdout",
            Stream::Err => "stderr",
        };
        json!({ "number": line.number, "stream": stream, "text": line.text })
    };
    json!({
        "id": job.id, "label": job.label, "state": job.state, "detail": job.detail,
        "from": seen.from, "next": seen.next, "total": seen.total, "dropped": seen.dropped, "unmatched": seen.unmatched,
        "lines": seen.lines.iter().map(row).collect::<Vec<_>>(),
    })
}

fn counted(lines: u64) -> String {
    if lines == 1 { "1 line".to_owned() } else { format!("{lines} lines") }
}

#[cfg(test)]
mod tests;
