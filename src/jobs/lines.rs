//! The output of a monitor as lines: the newest in a bounded ring, addressed from the beginning of all output, with what
//! its session has been told of them. Pure.

use std::collections::VecDeque;

use regex::Regex;

use crate::outputs::{PlainLine, PlainLines};
use crate::process::Stream;

/// At most so many lines are kept.
pub const KEPT_LINES: usize = 1000;

/// At most so many bytes of lines are kept.
pub const KEPT_BYTES: usize = 256 * 1024;

/// A line keeps at most so many bytes; how much more there was is counted.
pub const LINE_BYTES: usize = 8 * 1024;

/// What shows a line takes at most so many bytes besides its text, its line end included.
const MARK_BYTES: usize = 12;

/// A line of output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Its number; the first line of all is 0.
    pub number: u64,
    /// Where it was written to.
    pub stream: Stream,
    /// Its text, without control sequences and line end; at most [`LINE_BYTES`].
    pub text: String,
    /// So many characters at its end were too many and are not kept.
    pub cut: u64,
}

/// What is wanted of the lines.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// The first line; `None`: the first that the session has not been shown.
    pub since: Option<u64>,
    /// At most so many lines.
    pub limit: usize,
    /// At most so many bytes of them and their marks, though never no line at all where there is one.
    pub bytes: usize,
    /// Only lines that match.
    pub pattern: Option<Regex>,
}

/// What there was of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Seen {
    /// The number of the line with which it begins.
    pub from: u64,
    /// The lines, in order.
    pub lines: Vec<Line>,
    /// The number of the first line that was not looked at.
    pub next: u64,
    /// So many lines from `from` to `next` are not kept any more.
    pub dropped: u64,
    /// So many of them do not match the pattern.
    pub unmatched: u64,
    /// How many lines there ever were.
    pub total: u64,
    /// What is there of lines that have not ended.
    pub open: Vec<(Stream, String)>,
}

/// What rides the next result of the session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Ride {
    /// The number of the first line that was not told.
    pub from: u64,
    /// How many there are from there.
    pub count: u64,
    /// The newest of them, in order.
    pub lines: Vec<Line>,
}

/// Looks out for a line as it comes, which may be gone from the ring before anybody has looked.
#[derive(Debug)]
struct Watch {
    number: u64,
    from: u64,
    pattern: Regex,
    found: Option<Line>,
}

/// The lines of one monitor.
#[derive(Debug)]
pub(super) struct Lines {
    kept: VecDeque<Line>,
    bytes: usize,
    total: u64,
    open: [PlainLines; 2],
    /// The session was told of all lines before this one: shown them, or how many there are.
    told: u64,
    /// The session was shown all lines before this one that are kept, or asked for later ones.
    shown: u64,
    watches: Vec<Watch>,
    watched: u64,
}

impl Default for Lines {
    fn default() -> Lines {
        let open = [PlainLines::new(LINE_BYTES), PlainLines::new(LINE_BYTES)];
        Lines { kept: VecDeque::new(), bytes: 0, total: 0, open, told: 0, shown: 0, watches: Vec::new(), watched: 0 }
    }
}

impl Lines {
    /// Takes some output.
    pub(super) fn push(&mut self, stream: Stream, bytes: &[u8]) {
        let mut ended = Vec::new();
        self.open[place(stream)].push(bytes, &mut |line| ended.push(line));
        for line in ended {
            self.take(stream, line);
        }
    }

    /// There will be no more: what has no line end is a line too.
    pub(super) fn end(&mut self) {
        for stream in [Stream::Out, Stream::Err] {
            if let Some(line) = self.open[place(stream)].finish() {
                self.take(stream, line);
            }
        }
    }

    fn take(&mut self, stream: Stream, PlainLine { text, cut }: PlainLine) {
        let line = Line { number: self.total, stream, text, cut };
        self.total += 1;
        for watch in &mut self.watches {
            if watch.found.is_none() && watch.from <= line.number && watch.pattern.is_match(&line.text) {
                watch.found = Some(line.clone());
            }
        }
        self.bytes += line.text.len();
        self.kept.push_back(line);
        while self.kept.len() > KEPT_LINES || self.bytes > KEPT_BYTES {
            let Some(old) = self.kept.pop_front() else { break };
            self.bytes -= old.text.len();
        }
    }

    /// How many lines there ever were.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// How many lines from the beginning are not kept any more.
    pub(super) fn dropped(&self) -> u64 {
        self.total - self.kept.len() as u64
    }

    /// How many lines the session has not been shown.
    pub(super) fn unread(&self) -> u64 {
        self.total - self.shown
    }

    /// Where a look would begin.
    pub(super) fn from(&self, wanted: &Wanted) -> u64 {
        wanted.since.unwrap_or(self.shown).min(self.total)
    }

    /// Looks at lines; they count as shown, and all that there is by now as told.
    pub(super) fn look(&mut self, wanted: &Wanted, watch: Option<u64>) -> Seen {
        let from = self.from(wanted);
        let first = self.dropped();
        let found = watch.and_then(|number| self.watches.iter().find(|watch| watch.number == number)?.found.clone());
        let gone = found.filter(|line| line.number < first);
        let mut seen = Seen { from, next: from, total: self.total, open: self.open_lines(), ..Seen::default() };
        if from < first {
            seen.next = first;
            seen.dropped = first - from - u64::from(gone.is_some());
        }
        let mut room = wanted.bytes;
        for line in gone.iter().chain(self.kept.iter().filter(|line| line.number >= from)) {
            if line.number >= first && wanted.pattern.as_ref().is_some_and(|pattern| !pattern.is_match(&line.text)) {
                seen.unmatched += 1;
            } else {
                let bytes = line.text.len().saturating_add(MARK_BYTES);
                let full = seen.lines.len() >= wanted.limit.max(1) || bytes > room;
                if full && !seen.lines.is_empty() {
                    break;
                }
                room = room.saturating_sub(bytes);
                seen.lines.push(line.clone());
            }
            seen.next = seen.next.max(line.number + 1);
        }
        self.shown = self.shown.max(seen.next);
        self.told = self.total;
        seen
    }

    /// Looks out for a line that matches, those from `from` on that are there already included.
    pub(super) fn watch(&mut self, from: u64, pattern: &Regex) -> u64 {
        self.watched += 1;
        let matches = |line: &&Line| line.number >= from && pattern.is_match(&line.text);
        let found = self.kept.iter().find(matches).cloned();
        self.watches.push(Watch { number: self.watched, from, pattern: pattern.clone(), found });
        self.watched
    }

    /// Whether such a line has come, or one that has not ended looks like it.
    pub(super) fn found(&self, number: u64) -> bool {
        let Some(watch) = self.watches.iter().find(|watch| watch.number == number) else { return true };
        watch.found.is_some() || self.open_lines().iter().any(|(_, open)| watch.pattern.is_match(open))
    }

    /// Looks out for it no more.
    pub(super) fn unwatch(&mut self, number: u64) {
        self.watches.retain(|watch| watch.number != number);
    }

    /// What the session has not been told yet; with that it has. `whole` says whether all of a line is shown there.
    pub(super) fn ride(&mut self, limit: usize, bytes: usize, whole: impl Fn(&Line) -> bool) -> Option<Ride> {
        let (from, count) = (self.told, self.total - self.told);
        if count == 0 {
            return None;
        }
        let (mut lines, mut room) = (Vec::new(), bytes);
        for line in self.kept.iter().rev().take_while(|line| line.number >= from).take(limit) {
            if line.text.len() > room && !lines.is_empty() {
                break;
            }
            room = room.saturating_sub(line.text.len());
            lines.push(line.clone());
        }
        lines.reverse();
        self.told = self.total;
        if self.shown == from && lines.len() as u64 == count && lines.iter().all(whole) {
            self.shown = self.total;
        }
        Some(Ride { from, count, lines })
    }

    fn open_lines(&self) -> Vec<(Stream, String)> {
        let streams = [Stream::Out, Stream::Err].map(|stream| (stream, self.open[place(stream)].open()));
        streams.into_iter().filter(|(_, text)| !text.is_empty()).collect()
    }
}

fn place(stream: Stream) -> usize {
    match stream {
        Stream::Out => 0,
        Stream::Err => 1,
    }
}

#[cfg(test)]
mod tests;
