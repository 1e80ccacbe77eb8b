//! What was found as text, within a budget: what is said to be shown is shown. Pure.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::workspace::search::{Ended, Found, Kind, Line, Mode, Part};

/// Kept free in the budget (bytes) for the remarks at the end.
const REMARKS: usize = 1500;

/// A file with something in it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct File {
    /// Its name for the model.
    pub shown: String,
    /// Its URI.
    pub uri: Option<String>,
    /// Whether it is shown as the editor has it, which is not what is on the disk.
    pub unsaved: bool,
}

/// All that is to be shown.
#[derive(Debug)]
pub(super) struct Report<'a> {
    pub found: &'a Found,
    /// Of each part of what was found.
    pub files: &'a [File],
    pub mode: Mode,
    /// So many results were passed over.
    pub skip: usize,
    /// Whether lines bear their numbers.
    pub numbers: bool,
    /// What was searched for, and where, for messages.
    pub pattern: &'a str,
    pub place: &'a str,
    /// Remarks on the search.
    pub words: Vec<String>,
}

/// The text for the model, and the same as data.
pub(super) struct Rendered {
    pub text: String,
    pub data: Value,
}

impl Report<'_> {
    pub(super) fn render(&self, budget: usize) -> Rendered {
        let room = budget.saturating_sub(REMARKS).max(200);
        let mut page = Page { text: String::new(), matches: Vec::new(), shown: 0, room, full: false };
        for (part, file) in self.found.parts.iter().zip(self.files) {
            match self.mode {
                Mode::Lines => self.lines(&mut page, part, file),
                Mode::Files | Mode::Count => self.file(&mut page, part, file),
            }
            if page.full {
                break;
            }
        }
        let total = self.units();
        let end = self.skip as u64 + page.shown as u64;
        let next = (end < total && page.shown > 0).then_some(end + 1);
        let at_least = self.found.ended.is_some();
        let mut text = page.text;
        let summary = self.summary(page.shown, next, page.full);
        if text.is_empty() {
            text = summary;
        } else {
            let _ = write!(text, "\n({summary})");
        }
        for word in self.remarks() {
            let _ = write!(text, "\n({word})");
        }
        let found = self.found;
        let data = json!({
            "matches": page.matches,
            "totalFiles": found.files,
            "totalLines": if self.mode == Mode::Files { Value::Null } else { json!(found.matched) },
            "atLeast": at_least,
            "searchedFiles": found.searched,
            "binaryFiles": found.binary,
            "secretFiles": found.secret,
            "unreadable": found.faulty,
            "nextOffset": next,
        });
        Rendered { text, data }
    }

    /// How many results there are to page through.
    fn units(&self) -> u64 {
        match self.mode {
            Mode::Lines => self.found.showable,
            Mode::Files | Mode::Count => self.found.files,
        }
    }

    fn summary(&self, shown: usize, next: Option<u64>, full: bool) -> String {
        let found = self.found;
        let least = if found.ended.is_some() { "at least " } else { "" };
        let searched = counted(found.searched, "file");
        if found.files == 0 {
            return format!("No match for {:?} in {}; {least}{searched} searched.", self.pattern, self.place);
        }
        if shown == 0 {
            return format!("There are only {least}{} results; offset {} is past them.", self.units(), self.skip + 1);
        }
        let mut out = match self.mode {
            Mode::Files => format!("{least}{} with a match", counted(found.files, "file")),
            Mode::Lines | Mode::Count => {
                format!("{least}{} in {}", counted(found.matched, "matching line"), counted(found.files, "file"))
            }
        };
        let _ = write!(out, "; {searched} searched");
        if let Some(next) = next {
            let (first, last) = (self.skip + 1, self.skip + shown);
            let why = if full { ", there is no room for more in one answer" } else { "" };
            let _ = write!(out, "; shown: {first}-{last}{why}; go on with offset {next}");
        }
        out
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if self.found.binary > 0 {
            remarks.push(format!("left out: {}", counted(self.found.binary, "binary file")));
        }
        if self.found.secret > 0 {
            remarks.push(format!(
                "{} with a match may hold secrets and not shown; name one as `path` to ask for it",
                counted(self.found.secret, "file")
            ));
        }
        remarks.extend(self.words.iter().cloned());
        remarks
    }

    fn lines(&self, page: &mut Page, part: &Part, file: &File) {
        let heading = format!("{}{}\n", file.shown, if file.unsaved { " (unsaved)" } else { "" });
        let mut block = if page.text.is_empty() { heading } else { format!("\n{heading}") };
        let wanted = part.first..part.first + part.count;
        // How many matches came before the line.
        let (mut passed, mut last, mut any) = (0, None, false);
        for line in &part.hits.lines {
            let show = match line.kind {
                Kind::Match => wanted.contains(&passed),
                // Between two matches it belongs to both.
                Kind::Context => wanted.contains(&passed) || passed > 0 && wanted.contains(&(passed - 1)),
            };
            if line.kind == Kind::Match {
                passed += 1;
            }
            if !show {
                continue;
            }
            if last.is_some_and(|last| last + 1 < line.number)
                && part.hits.lines.iter().any(|line| line.kind == Kind::Context)
            {
                block.push_str("--\n");
            }
            last = Some(line.number);
            self.line(&mut block, line);
            if page.text.len() + block.len() > page.room && page.shown > 0 {
                page.full = true;
                return;
            }
            page.text.push_str(&block);
            block.clear();
            if line.kind == Kind::Match {
                any = true;
                page.shown += 1;
                page.matches.push(json!({
                    "path": file.shown, "uri": file.uri, "line": line.number, "column": line.column, "text": line.text,
                    "unsaved": file.unsaved,
                }));
            }
        }
        let hidden = part.hits.matched.saturating_sub((part.first + part.count) as u64);
        if any && hidden > 0 && (part.first + part.count) == part.hits.capacity() {
            let _ = writeln!(page.text, "({hidden} more in this file; raise `max_per_file` or search it alone)");
        }
    }

    fn line(&self, out: &mut String, line: &Line) {
        let mark = if line.kind == Kind::Match { ':' } else { '-' };
        if self.numbers {
            let _ = write!(out, "{}{mark}", line.number);
        }
        let (before, after) = (if line.cut_before { "…" } else { "" }, if line.cut_after { "…" } else { "" });
        let _ = write!(out, "{before}{}{after}", line.text);
        if line.cut_before || line.cut_after {
            let _ = match line.kind {
                Kind::Match => write!(out, " (cut; the match is at column {})", line.column),
                Kind::Context => write!(out, " (cut)"),
            };
        }
        out.push('\n');
    }

    fn file(&self, page: &mut Page, part: &Part, file: &File) {
        let mut line = file.shown.clone();
        if self.mode == Mode::Count {
            let _ = write!(line, ":{}", part.hits.matched);
        }
        line.push_str(if file.unsaved { " (unsaved)\n" } else { "\n" });
        if page.text.len() + line.len() > page.room && page.shown > 0 {
            page.full = true;
            return;
        }
        page.text.push_str(&line);
        page.shown += 1;
        let lines = if self.mode == Mode::Count { json!(part.hits.matched) } else { Value::Null };
        page.matches.push(json!({ "path": file.shown, "uri": file.uri, "lines": lines, "unsaved": file.unsaved }));
    }
}

struct Page {
    text: String,
    matches: Vec<Value>,
    /// How many results are on it.
    shown: usize,
    room: usize,
    full: bool,
}

/// `1 file`, `2 files`.
pub(in crate::tools) fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Whether counts are lower bounds.
pub(in crate::tools) fn least(ended: Option<Ended>) -> &'static str {
    if ended.is_some() { "at least " } else { "" }
}
