//! The words in which a report is told: read by models after every edit, and by people.
//!
//! One paragraph a document. Its first line is the conclusion, with the sources that have checked this very text; then
//! the problems, worst first whoever found them; then one line for each source of which something is left to say. Clean
//! is one line. The text depends on nothing but the report, and on neither `waitedMs` nor anything else that differs
//! from run to run.

use std::borrow::Cow;

use super::conclusion::{checks, errors, open};
use super::{
    Baseline, Conclusion, DiagnosticsReport, DocumentReport, FileReport, Problem, Severity, SourceReport, Verdict,
    conclusion,
};
use crate::languages::problems::{MESSAGE_LIMIT, NAME_LIMIT, clean, SYNTAX};

/// At most so many other files are told.
const OTHER_FILES: usize = 5;

/// At most so many characters of a path or of a source's detail.
const TEXT_LIMIT: usize = 1000;

/// What a model reads of a report; lines ended by LF, none after the last, no other control characters. Empty if the
/// report is.
pub fn render(report: &DiagnosticsReport) -> String {
    let mut out = Lines::default();
    for document in &report.documents {
        render_document(document, &mut out);
    }
    render_others(&report.other_files, &mut out);
    out.text
}

/// Lines under way, indented by two spaces a level.
#[derive(Default)]
struct Lines {
    text: String,
}

impl Lines {
    /// Adds a line; where the content has line ends, the lines after the first stand two levels deeper, so that nothing
    /// that is quoted can pass for a line of ours.
    fn push(&mut self, level: usize, content: &str) {
        for (index, line) in clean(content, usize::MAX).lines().enumerate() {
            if !self.text.is_empty() {
                self.text.push('\n');
            }
            let level = if index == 0 { level } else { level + 2 };
            let line = line.trim_end();
            if !line.is_empty() {
                self.text.extend(std::iter::repeat_n("  ", level));
                self.text.push_str(line);
            }
        }
    }
}

fn render_document(document: &DocumentReport, out: &mut Lines) {
    let path = path_of(&document.uri);
    let conclusion = conclusion(document);
    let mut head = format!("{path}: {}", headline(document, conclusion));
    let by: Vec<String> = document.sources.iter().filter(|source| speaks(source, document)).map(credit).collect();
    if !by.is_empty() {
        head.push_str(&format!(" ({})", by.join(", ")));
    }
    out.push(0, &head);
    problems(document, out);
    for source in &document.sources {
        if let Some(line) = remark(source, document, conclusion) {
            out.push(1, &line);
        }
    }
}

/// The conclusion in words. The words "no errors" are there only if that is known.
fn headline(document: &DocumentReport, conclusion: Conclusion) -> String {
    match conclusion {
        Conclusion::NoErrors => "no errors".to_owned(),
        Conclusion::OldErrors { unchanged } => {
            format!("no new errors; {} from before the edit", count(unchanged, "error"))
        }
        Conclusion::Errors { new: 0, present } => {
            format!("{} present (no baseline: may be old)", count(present, "error"))
        }
        Conclusion::Errors { new, present: 0 } => format!("the edit introduced {}", count(new, "error")),
        Conclusion::Errors { new, present } => {
            format!("the edit introduced {}; {present} more present (no baseline: may be old)", count(new, "error"))
        }
        Conclusion::Unknown => {
            let fresh = |source: &&SourceReport| source.verdict == Verdict::Fresh;
            let syntax = document.sources.iter().filter(fresh).any(|source| source.id == SYNTAX);
            let checked = document.sources.iter().filter(fresh).any(checks);
            match (checked, syntax) {
                (true, _) => "not fully checked yet".to_owned(),
                (false, true) if document.sources.iter().all(|source| source.id == SYNTAX) => {
                    "syntax ok (not type-checked)".to_owned()
                }
                _ => "not checked yet".to_owned(),
            }
        }
    }
}
