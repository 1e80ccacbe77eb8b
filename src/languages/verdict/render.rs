//! The words in which a report is told: read by models after every edit, and by people.
//!
//! One paragraph a document. Its first line is the conclusion, with the sources that have checked this very text; then
//! come the problems, worst first whoever found them; then one line for each source that still owes an answer. Clean is
//! one line. The text depends on nothing but the report, and in it on neither `waitedMs` nor anything else that differs
//! from run to run.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::conclusion::{checks, conclusion};
use super::{
    Baseline, Conclusion, DiagnosticsReport, DocumentReport, FileReport, Problem, Severity, SourceReport, Verdict,
};
use crate::languages::problems::{SYNTAX, clean};

/// At most so many other files are told.
const OTHER_FILES: usize = 5;

/// At most so many errors of each other file are told.
const ERRORS_PER_FILE: usize = 5;

/// What a model reads of a report; lines ended by LF, none after the last, no other control characters. Empty if the
/// report is. Files are named by their whole paths.
pub fn render(report: &DiagnosticsReport) -> String {
    render_within(report, &[])
}

/// The same, with files in these folders (absolute paths) named by their path from there.
pub fn render_within(report: &DiagnosticsReport, folders: &[PathBuf]) -> String {
    let mut out = Lines { text: String::new(), folders };
    for document in &report.documents {
        render_document(document, &mut out);
    }
    for file in report.other_files.iter().take(OTHER_FILES) {
        render_other(file, &mut out);
    }
    let more = report.other_files.len().saturating_sub(OTHER_FILES) + report.other_files_cut;
    if more > 0 {
        out.push(0, &format!("the edit introduced errors in {} not listed", count(more, "more file")));
    }
    out.text
}

/// Lines under way, indented by two spaces a level.
struct Lines<'a> {
    text: String,
    folders: &'a [PathBuf],
}

impl Lines<'_> {
    /// How a document is named.
    fn name(&self, uri: &str) -> String {
        let path = path_of(uri);
        let inside = self.folders.iter().find_map(|folder| Path::new(&path).strip_prefix(folder).ok()?.to_str());
        inside.filter(|inside| !inside.is_empty()).map_or_else(|| path.clone(), str::to_owned)
    }

    /// Adds what may be several lines; those after the first stand two levels deeper, so that nothing that is quoted can
    /// pass for a line of ours.
    fn push(&mut self, level: usize, content: &str) {
        let content = clean(content, usize::MAX);
        for (index, line) in content.lines().filter(|line| !line.trim().is_empty()).enumerate() {
            if !self.text.is_empty() {
                self.text.push('\n');
            }
            let level = if index == 0 { level } else { level + 2 };
            self.text.extend(std::iter::repeat_n("  ", level));
            self.text.push_str(if index == 0 { line.trim() } else { line.trim_end() });
        }
    }
}

fn render_document(document: &DocumentReport, out: &mut Lines<'_>) {
    if let Some(call) = &document.report_in {
        let name = out.name(&document.uri);
        out.push(0, &format!("{name}: its diagnostics are in the result of the later call {}", one_line(call)));
        return;
    }
    let told = Told::of(document);
    let mut head = format!("{}: {}", out.name(&document.uri), told.headline(document));
    let checked = document.sources.iter().any(|source| source.verdict == Verdict::Fresh && checks(source));
    let credits: Vec<String> = document.sources.iter().filter_map(|source| credit(source, checked)).collect();
    if !credits.is_empty() {
        let _ = write!(head, " [{}]", credits.join("; "));
    }
    out.push(0, &head);
    for found in &told.new {
        found.push("", out);
    }
    for found in &told.present {
        found.push(if told.new.is_empty() { "" } else { ", may be old" }, out);
    }
    for source in document.sources.iter().filter(|source| source.cut > 0) {
        out.push(1, &format!("{} more from {} not listed", source.cut, one_line(&source.id)));
    }
    for source in document.sources.iter().filter(|source| source.unread > 0) {
        out.push(1, &format!("{} more from {} could not be read", source.unread, one_line(&source.id)));
    }
    // That the embedded check cannot read the text is only worth a line where nobody else is named.
    let alone = !document.sources.iter().any(checks);
    for source in document.sources.iter().filter(|source| alone || checks(source)) {
        if let Some(line) = remark(source, checked) {
            out.push(1, &line);
        }
    }
    for found in &told.older {
        found.push(", about an older text", out);
    }
}

/// A problem and the id of the source that says so.
#[derive(Debug, Clone, Copy)]
struct Found<'a> {
    problem: &'a Problem,
    id: &'a str,
}

impl Found<'_> {
    /// `line:column severity [who code] message`, both 1-based.
    fn push(&self, mark: &str, out: &mut Lines<'_>) {
        let Problem { range, severity, source, code, message } = self.problem;
        let (line, column) = (u64::from(range.start.line) + 1, u64::from(range.start.character) + 1);
        let who = one_line(source.as_deref().unwrap_or(self.id));
        let code = code.as_deref().map(|code| format!(" {}", one_line(code))).unwrap_or_default();
        out.push(1, &format!("{line}:{column} {} [{who}{code}{mark}] {message}", word(*severity)));
    }
}

/// The problems of a document, worst first and then by place, whoever found them.
struct Told<'a> {
    new: Vec<Found<'a>>,
    present: Vec<Found<'a>>,
    /// Those of sources that have not checked this very text.
    older: Vec<Found<'a>>,
}

impl<'a> Told<'a> {
    fn of(document: &'a DocumentReport) -> Told<'a> {
        let sorted = |pick: &dyn Fn(&'a SourceReport) -> &'a [Problem], fresh: bool| {
            let sources = document.sources.iter().filter(|source| (source.verdict == Verdict::Fresh) == fresh);
            let mut list: Vec<Found<'a>> = sources
                .flat_map(|source| pick(source).iter().map(|problem| Found { problem, id: &source.id }))
                .collect();
            list.sort_by_key(|found| (found.problem.severity, found.problem.range, found.id));
            list
        };
        let mut older = sorted(&|source| &source.new, false);
        older.extend(sorted(&|source| &source.present, false));
        Told { new: sorted(&|source| &source.new, true), present: sorted(&|source| &source.present, true), older }
    }

    /// The conclusion in words. "No errors" is among them only if that is known.
    fn headline(&self, document: &DocumentReport) -> String {
        let mut parts = Vec::new();
        match conclusion(document) {
            Conclusion::NoErrors => parts.push("no errors".to_owned()),
            Conclusion::OldErrors { unchanged } => {
                parts.push(format!("no new errors, {} from before the edit", count(unchanged, "error")));
            }
            Conclusion::Errors { .. } => {}
            Conclusion::Unknown => parts.push(self.unknown(document)),
        }
        // What is not listed counts too.
        let more = |baseline| match document
            .sources
            .iter()
            .filter(|source| source.verdict == Verdict::Fresh && source.baseline == baseline)
            .map(|source| source.cut)
            .sum::<usize>()
        {
            0 => String::new(),
            cut => format!(" and {cut} more"),
        };
        if !self.new.is_empty() {
            parts.push(format!("the edit introduced {}{}", tally(&self.new), more(Baseline::Known)));
        }
        if !self.present.is_empty() {
            let tally = tally(&self.present);
            parts.push(format!("{tally}{} present (no baseline: may be old)", more(Baseline::None)));
        }
        parts.join("; ")
    }

    fn unknown(&self, document: &DocumentReport) -> String {
        let mut fresh = document.sources.iter().filter(|source| source.verdict == Verdict::Fresh);
        let yet = if document.sources.iter().any(|source| source.verdict == Verdict::Pending) { " yet" } else { "" };
        if fresh.clone().any(checks) {
            let silent = self.new.is_empty() && self.present.is_empty() && fresh.all(|source| source.cut == 0);
            return format!("not fully checked{yet}{}", if silent { "; nothing new so far" } else { "" });
        }
        let Some(syntax) = fresh.find(|source| source.id == SYNTAX) else {
            return format!("not checked{yet}");
        };
        let mut words = if syntax.unchanged > 0 { "syntax no worse than before" } else { "syntax ok" }.to_owned();
        for note in notes(syntax) {
            let _ = write!(words, ", {note}");
        }
        let waiting = |source: &SourceReport| !matches!(source.verdict, Verdict::NoServer | Verdict::Untrusted);
        let others = document.sources.iter().filter(|source| checks(source)).any(waiting);
        if others {
            format!("not checked{yet}; {words} (not type-checked)")
        } else {
            format!("{words} (not type-checked)")
        }
    }
}

/// What a source says of the problems that were there before the edit.
fn notes(source: &SourceReport) -> Vec<String> {
    let mut notes = Vec::new();
    if source.resolved > 0 {
        notes.push(format!("{} resolved", source.resolved));
    }
    match (source.unchanged, source.unchanged_errors) {
        (0, _) => {}
        (unchanged, 0) => notes.push(format!("{unchanged} unchanged")),
        (unchanged, errors) if errors >= unchanged => notes.push(count(unchanged, "unchanged error")),
        (unchanged, errors) => notes.push(format!("{unchanged} unchanged, of them {}", count(errors, "error"))),
    }
    notes
}

/// A source that has checked this very text, and what it says beside the problems that are listed.
///
/// The embedded check is only worth naming if it has something to say that the headline has not: where others have
/// `checked` the text, they say better that it is well.
fn credit(source: &SourceReport, checked: bool) -> Option<String> {
    if source.verdict != Verdict::Fresh {
        return None;
    }
    let mut notes = notes(source);
    if !checks(source) {
        match (checked, source.new.is_empty() && source.present.is_empty()) {
            (false, true) => return None,
            (false, false) => notes.insert(0, "not type-checked".to_owned()),
            (true, _) if notes.is_empty() => return None,
            (true, _) => {}
        }
    }
    let id = one_line(&source.id);
    Some(if notes.is_empty() { id } else { format!("{id}: {}", notes.join(", ")) })
}

/// What is to be said of a source that has not checked this very text. That some server is not there at all is only
/// worth a line if no other has `checked` it.
fn remark(source: &SourceReport, checked: bool) -> Option<String> {
    let (state, reason) = match source.verdict {
        Verdict::Fresh => return None,
        Verdict::NeverReported | Verdict::NoServer | Verdict::Untrusted if checked => return None,
        Verdict::Pending => ("pending", "what it says later comes with a later result"),
        Verdict::Stale => ("stale", "what it last said is about an older text"),
        Verdict::NeedsSave => ("needs a save", "it checks only what is on the disk"),
        Verdict::NeverReported => ("silent", "it has not reported on this file so far"),
        Verdict::Crashed => ("crashed", ""),
        Verdict::NoServer if checks(source) => ("not running", ""),
        Verdict::NoServer => ("not checked", ""),
        Verdict::Untrusted => ("not started", "the folder is not trusted"),
        Verdict::Superseded => ("superseded", "the user typed on before it answered"),
    };
    let mut line = format!("{}: {state}", one_line(&source.id));
    match source.detail.as_deref().map(str::trim).unwrap_or_default() {
        "" if reason.is_empty() => {}
        "" => line.extend([", ", reason]),
        detail if detail.contains('\n') => line.extend([":\n", detail]),
        detail => line.extend([" (", detail, ")"]),
    }
    Some(line)
}

fn render_other(file: &FileReport, out: &mut Lines<'_>) {
    let mut list: Vec<Found<'_>> = file.new.iter().map(|problem| Found { problem, id: &file.source }).collect();
    list.sort_by_key(|found| (found.problem.severity, found.problem.range));
    let (path, who) = (out.name(&file.uri), one_line(&file.source));
    let unlisted = if file.cut > 0 { format!(" and {} more", file.cut) } else { String::new() };
    out.push(0, &format!("{path}: the edit introduced {}{unlisted} there [{who}]", tally(&list)));
    for found in list.iter().take(ERRORS_PER_FILE) {
        found.push("", out);
    }
    let more = list.len().saturating_sub(ERRORS_PER_FILE) + file.cut;
    if more > 0 {
        out.push(1, &format!("{more} more not listed"));
    }
}

/// How many of each severity: "2 errors, 1 warning".
fn tally(list: &[Found<'_>]) -> String {
    let parts: Vec<String> = [Severity::Error, Severity::Warning, Severity::Information, Severity::Hint]
        .into_iter()
        .map(|severity| (list.iter().filter(|found| found.problem.severity == severity).count(), severity))
        .filter(|&(number, _)| number > 0)
        .map(|(number, severity)| count(number, word(severity)))
        .collect();
    if parts.is_empty() { "nothing".to_owned() } else { parts.join(", ") }
}

/// A name as one line.
fn one_line(name: &str) -> String {
    clean(name, usize::MAX).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Information => "note",
        Severity::Hint => "hint",
    }
}

fn count(number: usize, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}

/// The path of a `file:` URI; any other URI, and one whose path cannot be shown as it is, stays a URI.
fn path_of(uri: &str) -> String {
    let path = uri.strip_prefix("file://").filter(|path| path.starts_with('/')).and_then(decoded);
    path.filter(|path| !path.chars().any(char::is_control)).unwrap_or_else(|| uri.to_owned())
}

/// A text with its percent escapes undone, if that gives UTF-8.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let hex = (byte == b'%').then(|| after.get(..2)).flatten();
        let hex = hex.filter(|hex| hex.iter().all(u8::is_ascii_hexdigit));
        if let Some(value) = hex.and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok()) {
            bytes.push(value);
            rest = &after[2..];
        } else {
            bytes.push(byte);
            rest = after;
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests;
