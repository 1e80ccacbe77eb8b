//! What is known of a document's problems after an edit, per source; and how it is told. Pure.

mod conclusion;
mod render;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use conclusion::{Conclusion, conclusion};
pub use render::{render, render_within};

use super::problems::{Delta, Located, SYNTAX, clean, told};
use crate::syntax::Check;
use crate::text::{Encoding, Range, Text};

/// What is known after some edits.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct DiagnosticsReport {
    /// The edited documents, in the order of the edits.
    pub documents: Vec<DocumentReport>,
    /// Other files in which errors appeared; at most five.
    pub other_files: Vec<FileReport>,
    /// In how many more files errors appeared.
    #[serde(skip_serializing_if = "is_zero")]
    pub other_files_cut: usize,
}

impl DiagnosticsReport {
    /// Puts the other files in order and keeps the first `most`; the others are counted. What only takes back what was
    /// told before is always kept.
    pub(super) fn bound_other_files(&mut self, most: usize) {
        self.other_files.sort_by(|a, b| (&a.uri, &a.source).cmp(&(&b.uri, &b.source)));
        let mut kept = 0;
        let before = self.other_files.len();
        self.other_files.retain(|file| {
            kept += usize::from(!file.new.is_empty());
            file.new.is_empty() || kept <= most
        });
        self.other_files_cut += before - self.other_files.len();
    }
}

/// What is known of one document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DocumentReport {
    /// The document.
    pub uri: String,
    /// The version the report is about; null for a file on the disk.
    pub version: Option<i32>,
    /// One entry a source, sorted by id.
    pub sources: Vec<SourceReport>,
    /// In a batch: the later call that edited the document too, whose result has what is known; then `sources` is empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report_in: Option<String>,
}

/// New errors in a file that was not edited.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileReport {
    /// The file.
    pub uri: String,
    /// Who says so.
    pub source: String,
    /// The errors that appeared.
    pub new: Vec<Problem>,
    /// How many more appeared that are not listed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cut: usize,
    /// Told late: the URIs of the documents whose edit was followed by this. It takes the place of what was told late of
    /// this file and source before; an empty `new` takes that back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edited: Vec<String>,
}

/// What one source says of one document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SourceReport {
    /// The source: the server's name, `syntax`, or the name the editor gave.
    pub id: String,
    /// How much is known.
    pub verdict: Verdict,
    /// How long was waited for it (ms).
    pub waited_ms: u64,
    /// Whether there was something to compare with.
    pub baseline: Baseline,
    /// What appeared with the edit, worst first. Always empty without a baseline.
    pub new: Vec<Problem>,
    /// What is there, worst first, when there was no baseline to tell new from old.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub present: Vec<Problem>,
    /// How many went away with the edit.
    pub resolved: usize,
    /// How many were there before and still are.
    pub unchanged: usize,
    /// How many of the unchanged ones are errors.
    #[serde(default)]
    pub unchanged_errors: usize,
    /// How many of `new` (or `present`) are not listed.
    pub cut: usize,
    /// How many more diagnostics it sent that nobody could read, so that nobody knows how bad they are.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unread: usize,
    /// Words: the end of a crashed server's stderr, why it was not started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// At most so many characters of [`SourceReport::detail`] are kept.
const DETAIL_LIMIT: usize = 600;

impl SourceReport {
    /// A source that says nothing about the text, or nothing yet. Its baseline is [`Baseline::None`].
    pub fn new(id: impl Into<String>, verdict: Verdict) -> SourceReport {
        SourceReport {
            id: id.into(),
            verdict,
            waited_ms: 0,
            baseline: Baseline::None,
            new: Vec::new(),
            present: Vec::new(),
            resolved: 0,
            unchanged: 0,
            unchanged_errors: 0,
            cut: 0,
            unread: 0,
            detail: None,
        }
    }

    /// With what it says of `text`: at most `max` problems, in the positions of `encoding`.
    #[must_use]
    pub fn with_delta(
        mut self,
        baseline: Baseline,
        delta: &Delta,
        text: &Text,
        encoding: Encoding,
        max: usize,
    ) -> SourceReport {
        let (new, new_cut) = told(&delta.new, text, encoding, max);
        let (present, present_cut) = told(&delta.present, text, encoding, max);
        self.baseline = baseline;
        self.cut = new_cut + present_cut;
        (self.new, self.present) = (new, present);
        self.resolved = delta.resolved.len();
        self.unchanged = delta.unchanged.len();
        self.unchanged_errors = delta.unchanged.iter().filter(|problem| problem.severity == Severity::Error).count();
        self
    }

    /// With how long was waited for it (ms).
    #[must_use]
    pub fn with_waited(mut self, waited_ms: u64) -> SourceReport {
        self.waited_ms = waited_ms;
        self
    }

    /// With words, cleaned and bounded; blank ones are none.
    #[must_use]
    pub fn with_detail(mut self, detail: &str) -> SourceReport {
        self.detail = Some(clean(detail, DETAIL_LIMIT)).filter(|detail| !detail.trim().is_empty());
        self
    }

    /// What the embedded check says of `text`. `baseline` tells whether it was given a text before.
    pub fn of_check(check: &Check, baseline: Baseline, text: &Text, encoding: Encoding, max: usize) -> SourceReport {
        match check {
            Check::NotChecked { reason } => SourceReport::new(SYNTAX, Verdict::NoServer).with_detail(reason),
            Check::Faults(faults) => {
                let list: Vec<Located> = faults.new.iter().map(Located::from).collect();
                let delta = match baseline {
                    Baseline::Known => Delta { new: list, ..Delta::default() },
                    Baseline::None => Delta { present: list, ..Delta::default() },
                };
                let report = SourceReport::new(SYNTAX, Verdict::Fresh);
                SourceReport {
                    resolved: faults.resolved,
                    unchanged: faults.unchanged,
                    unchanged_errors: faults.unchanged,
                    ..report.with_delta(baseline, &delta, text, encoding, max)
                }
            }
        }
    }
}

/// Whether a source had spoken about the text before the edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Baseline {
    /// It had: new, resolved and unchanged can be told apart.
    Known,
    /// It had not: what is there is `present`.
    None,
}

/// How much is known of a source's opinion on the text after the edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Verdict {
    /// It has checked exactly this text.
    Fresh,
    /// It has not answered in time; its answer rides the next result.
    Pending,
    /// What it said is about an older text.
    Stale,
    /// It checks files on the disk, and this text is not there.
    NeedsSave,
    /// It has never said anything about this document.
    NeverReported,
    /// Its process died.
    Crashed,
    /// No server is known, found or allowed for this language.
    NoServer,
    /// It would run the project's code, and the folder is not trusted.
    Untrusted,
    /// The user typed on before it answered.
    Superseded,
}

impl Verdict {
    /// Whether what the source says later of this text is still told.
    pub fn owes(self) -> bool {
        match self {
            Verdict::Pending | Verdict::Stale | Verdict::NeedsSave | Verdict::NeverReported | Verdict::Crashed => true,
            Verdict::Fresh | Verdict::NoServer | Verdict::Untrusted | Verdict::Superseded => false,
        }
    }
}

/// One diagnostic.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    /// Where, 0-based, in the negotiated counting of the editor.
    pub range: Range,
    /// How bad.
    pub severity: Severity,
    /// The tool that found it, as the server names it (a server can speak for several).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Its code, as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// What it says; bounded, lines ended by LF, no other control characters.
    pub message: String,
}

/// How bad a problem is; the worst compares least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// It will not work.
    Error,
    /// It may not work.
    Warning,
    /// Worth knowing.
    Information,
    /// Could be nicer.
    Hint,
}
