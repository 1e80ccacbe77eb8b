//! The lines of a patch without what is wrapped round it: Markdown fences, a heredoc, the head of a commit.

use super::{Fault, FaultKind, names};

/// A patch as lines.
pub(super) struct Source<'a> {
    /// All lines, without their ends.
    lines: Vec<&'a str>,
    /// The first line of the patch, 0-based.
    pub(super) start: usize,
    /// The line behind its last one, 0-based.
    pub(super) end: usize,
    /// Whether it is of the `*** Begin Patch` format.
    pub(super) envelope: bool,
    /// Whether its own lines end with CRLF.
    crlf: bool,
}

/// What of a line is shown (characters).
const SHOWN: usize = 120;

/// What is shown before a difference in a line that is longer than that (characters).
const BEFORE: usize = 40;

/// A fault of one line (0-based): what came, what was expected, and what to do.
pub(super) fn fault(line: usize, what: impl AsRef<str>) -> Fault {
    let message = format!("The patch was not applied, nothing was changed. Line {} of it: {}", line + 1, what.as_ref());
    Fault { kind: FaultKind::Unreadable, message, lines: vec![line + 1] }
}

/// As much of a line as a message holds, from a little before where it first differs from another one.
pub(super) fn shown_beside(line: &str, other: &str) -> String {
    let same = line.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
    let lead = line[..line.floor_char_boundary(same)].char_indices().rev().nth(BEFORE);
    match lead {
        // All that differs is in what is shown anyway.
        Some((at, _)) if line.len().max(other.len()) > SHOWN && at > 0 => format!("\u{2026}{}", shown(&line[at..])),
        _ => shown(line),
    }
}

/// As much of a line as a message holds.
pub(super) fn shown(line: &str) -> String {
    let plain = |c: char| if c.is_control() && c != '\t' { '\u{fffd}' } else { c };
    match line.char_indices().nth(SHOWN) {
        Some((at, _)) => line[..at].chars().map(plain).chain(['\u{2026}']).collect(),
        None => line.chars().map(plain).collect(),
    }
}

impl<'a> Source<'a> {
    /// Finds the patch in a text.
    pub(super) fn of(text: &'a str) -> Result<Source<'a>, Fault> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut lines: Vec<&str> = text.split('\n').collect();
        if lines.last() == Some(&"") {
            lines.pop();
        }
        let mut source = Source { end: lines.len(), lines, start: 0, envelope: false, crlf: false };
        if (0..source.end).all(|at| source.line(at).trim().is_empty()) {
            let what = "the patch is empty. Send a patch that begins with `*** Begin Patch`, or a unified diff.";
            return Err(Fault {
                kind: FaultKind::Unreadable,
                message: format!("Nothing to apply: {what}"),
                lines: vec![],
            });
        }
        let wrapping = source.lead()?;
        source.crlf = source.lines[source.start].ends_with('\r');
        source.trail(&wrapping);
        Ok(source)
    }

    /// A line (0-based) without its end, whichever that is.
    pub(super) fn line(&self, at: usize) -> &'a str {
        let line = self.lines[at];
        line.strip_suffix('\r').unwrap_or(line)
    }

    /// A line, if it is part of the patch.
    pub(super) fn get(&self, at: usize) -> Option<&'a str> {
        (at < self.end).then(|| self.line(at))
    }

    /// Whether a line ends with CRLF in a patch whose own lines do not.
    pub(super) fn ends_crlf(&self, at: usize) -> bool {
        !self.crlf && self.lines[at].ends_with('\r')
    }

    /// Goes to where the patch begins; gives what closes what was opened before it.
    fn lead(&mut self) -> Result<Vec<String>, Fault> {
        let mut closes = Vec::new();
        let mut commit = false;
        for at in 0..self.end {
            let line = self.line(at);
            let plain = line.trim();
            if plain == "*** Begin Patch" {
                (self.start, self.envelope) = (at, true);
                return Ok(closes);
            }
            if self.unified_at(at) {
                self.start = at;
                return Ok(closes);
            }
            if plain.is_empty() || commit {
                continue;
            }
            if let Some(fence) = fence(plain) {
                closes.push(fence);
            } else if let Some(tag) = heredoc(plain) {
                closes.push(tag);
            } else if commit_head(line) {
                commit = true;
            } else if names::section(plain).is_some() {
                return Err(fault(
                    at,
                    format!("`{}` came before any `*** Begin Patch`; put that line first.", shown(plain)),
                ));
            } else if plain.starts_with("@@") {
                return Err(fault(
                    at,
                    "a hunk (`@@`) came before any file was named. Put `*** Begin Patch` and `*** Update File: path` \
                     before it, or the lines `--- a/path` and `+++ b/path`.",
                ));
            } else {
                let more = if self.has_patch_below(at) { " Send only the patch, without words before it." } else { "" };
                return Err(fault(
                    at,
                    format!(
                        "`{}` is no part of a patch. A patch begins with `*** Begin Patch`, or with `diff --git a/path \
                         b/path`, or with `--- a/path` and `+++ b/path` on the next line.{more}",
                        shown(plain)
                    ),
                ));
            }
        }
        Err(fault(
            self.end.saturating_sub(1),
            "the text ended and no patch had begun. A patch begins with `*** Begin Patch`, or with `--- a/path` and \
             `+++ b/path` on the next line.",
        ))
    }

    fn has_patch_below(&self, at: usize) -> bool {
        (at..self.end).any(|at| self.line(at).trim() == "*** Begin Patch" || self.unified_at(at))
    }

    /// Whether a unified diff speaks of a file from this line on.
    pub(super) fn unified_at(&self, at: usize) -> bool {
        let line = self.line(at);
        line.starts_with("diff --git ")
            || (line.starts_with("--- ") && self.get(at + 1).is_some_and(|next| next.starts_with("+++ ")))
            || (line.starts_with("Index: ") && self.get(at + 1).is_some_and(|next| next.starts_with("====")))
    }

    /// Takes what closes the wrapping off the end, and the signature of a mailed patch.
    fn trail(&mut self, closes: &[String]) {
        let mut left: Vec<&String> = closes.iter().collect();
        loop {
            let kept = self.end;
            while self.end > self.start + 1 && self.line(self.end - 1).is_empty() {
                self.end -= 1;
            }
            if self.end <= self.start + 1 {
                return;
            }
            let last = self.line(self.end - 1).trim_end();
            if let Some(at) = left.iter().position(|close| close.as_str() == last) {
                left.remove(at);
                self.end -= 1;
            } else if self.end >= self.start + 3
                && self.line(self.end - 2) == "-- "
                && last.starts_with(|c: char| c.is_ascii_digit())
            {
                self.end -= 2;
            } else {
                // Blank lines at the end may belong to the last hunk.
                self.end = kept;
                return;
            }
        }
    }
}

/// What closes the fence that a line opens.
fn fence(line: &str) -> Option<String> {
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = line.chars().take_while(|&c| c == mark).count();
    (length >= 3 && !line[length..].contains(mark)).then(|| line[..length].to_owned())
}

/// What closes the heredoc that a command line opens.
fn heredoc(line: &str) -> Option<String> {
    let (command, tag) = line.split_once("<<")?;
    let known = ["apply_patch", "applypatch", "patch", "git apply", "cat"];
    if !known.iter().any(|name| command.contains(name)) {
        return None;
    }
    let tag = tag.trim_start_matches('-').trim_start();
    let tag: String =
        tag.trim_start_matches(['\'', '"', '\\']).chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    (!tag.is_empty()).then_some(tag)
}

/// Whether a line begins what git puts before the patch of a commit.
pub(super) fn commit_head(line: &str) -> bool {
    let hash = |rest: &str| {
        let hash = rest.split(' ').next().unwrap_or_default();
        hash.len() >= 7 && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    ["commit ", "From "].iter().any(|word| line.strip_prefix(word).is_some_and(hash))
}
