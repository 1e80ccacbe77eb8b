//! What may be said of a document as a whole, once every source has had its say.

use super::{DocumentReport, Problem, Severity, SourceReport, Verdict};
use crate::languages::problems::SYNTAX;

/// What is known of the errors of one document. Anything but [`Conclusion::Errors`] holds for exactly the text after
/// the edit; errors that are known are told even while other sources have not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conclusion {
    /// There are errors that came with the edit, or of which nobody knows whether they did.
    Errors {
        /// How many are listed that came with the edit.
        new: usize,
        /// How many are listed of which nobody knows whether they came with it.
        present: usize,
    },
    /// Everything that checks has checked this text. The edit brought no errors; these are older.
    OldErrors {
        /// How many.
        unchanged: usize,
    },
    /// Everything that checks has checked this text, and there are no errors in it.
    NoErrors,
    /// Nothing that checks has checked this text, or something that may still find errors has not.
    Unknown,
}

/// Whether a source is more than the embedded check, which sees no types, names or missing files.
pub(super) fn checks(source: &SourceReport) -> bool {
    source.id != SYNTAX
}

/// Whether a source could still say that there are errors, or could have said so before it failed.
pub(super) fn open(source: &SourceReport) -> bool {
    match source.verdict {
        Verdict::Pending | Verdict::Stale | Verdict::Crashed | Verdict::NeedsSave | Verdict::Superseded => true,
        Verdict::Fresh | Verdict::NeverReported | Verdict::NoServer | Verdict::Untrusted => false,
    }
}

pub(super) fn errors(problems: &[Problem]) -> usize {
    problems.iter().filter(|problem| problem.severity == Severity::Error).count()
}

/// Judges what the sources say of a document: "no errors" only when a server or the editor (not `syntax` alone) has
/// checked exactly this text, all that it said could be read, and none is pending, stale, crashed, in need of a save or
/// superseded.
pub fn conclusion(document: &DocumentReport) -> Conclusion {
    let fresh = || document.sources.iter().filter(|source| source.verdict == Verdict::Fresh);
    let new: usize = fresh().map(|source| errors(&source.new)).sum();
    let present: usize = fresh().map(|source| errors(&source.present)).sum();
    let unchanged: usize = fresh().map(|source| source.unchanged_errors).sum();
    if new + present > 0 {
        Conclusion::Errors { new, present }
    } else if !fresh().any(checks) || document.sources.iter().any(open) || fresh().any(hides) {
        Conclusion::Unknown
    } else if unchanged > 0 {
        Conclusion::OldErrors { unchanged }
    } else {
        Conclusion::NoErrors
    }
}

/// Whether there may be errors in what a source said that are not listed: nobody could read some of it, or nothing is
/// listed of what there is. (Otherwise the worst are listed.)
fn hides(source: &SourceReport) -> bool {
    source.unread > 0 || source.cut > 0 && source.new.is_empty() && source.present.is_empty()
}
