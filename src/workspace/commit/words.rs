//! What the model is told when a change could not be made: what happened, whether anything changed, what to do next.

use std::fmt::Write as _;
use std::io;
use std::path::Path;

use tracing::error;

use crate::text::Text;
use crate::workspace::{Refusal, RefusalKind};

use super::shape;

/// At most so much of a diff is put into a message: lines, and bytes.
const DIFF_LINES: usize = 40;
const DIFF_BYTES: usize = 3000;

/// A refusal that shows how the text changed meanwhile.
pub(super) fn moved_on(kind: RefusalKind, shown: &str, words: &str, old: &Text, new: &Text) -> Refusal {
    let diff = bounded(&shape::unified(shown, old, new));
    let mut message = words.to_owned();
    if !diff.is_empty() {
        let _ = write!(message, "\nWhat changed in {shown} meanwhile:\n{diff}");
    }
    Refusal { kind, message, data: Some(serde_json::json!({ "changed": diff })) }
}

/// The beginning of a diff, cut between lines.
pub(super) fn bounded(diff: &str) -> String {
    let (mut end, mut lines) = (0, 0);
    for line in diff.split_inclusive('\n') {
        if lines == DIFF_LINES || end + line.len() > DIFF_BYTES {
            let left = diff[end..].lines().count();
            return format!("{}... ({left} more lines of the diff)\n", &diff[..end]);
        }
        (end, lines) = (end + line.len(), lines + 1);
    }
    diff.to_owned()
}

/// What is made is written down still, and could not be removed.
pub(super) fn journal_stays(journal: &Path, error: &io::Error) -> String {
    error!(%error, journal = %journal.display(), "a file of the journal stays, and its change would be taken back at the next start");
    format!(
        "The journal of this change could not be removed ({error}), so it may be taken back when the editor is started \
         again; tell the user"
    )
}

/// An error of the operating system.
pub(super) fn system(shown: &str, doing: &str, error: &io::Error) -> Refusal {
    let kind = match error.kind() {
        io::ErrorKind::NotFound => RefusalKind::NotFound,
        _ => RefusalKind::Failed,
    };
    Refusal::new(kind, format!("{shown} could not be {doing}: {error}. Nothing was changed."))
}

/// The editor changed line ends or the final one by itself; `None` when it did not.
pub(super) fn altered(expected: &Text, found: &Text) -> Option<String> {
    if expected == found || !expected.same_lines(found) {
        return None;
    }
    let final_end = |text: &Text| text.slice(text.len().saturating_sub(1)..text.len()) == "\n";
    let mut parts = Vec::new();
    match (final_end(expected), final_end(found)) {
        (false, true) => parts.push("added a newline at the end of the file"),
        (true, false) => parts.push("removed the newline at the end of the file"),
        _ => {}
    }
    if expected.line_ends().crlf != found.line_ends().crlf {
        parts.push("changed line ends to its own kind");
    }
    Some(format!("The editor {} by itself.", parts.join(" and ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::LineBreaks;

    #[test]
    fn what_the_editor_altered() {
        for (expected, found, words) in [
            ("a\nb\n", "a\nb\n", None),
            ("a\nb\n", "a\nc\n", None),
            ("a\nb", "a\nb\n", Some("The editor added a newline at the end of the file by itself.")),
            ("a\nb\n", "a\nb", Some("The editor removed the newline at the end of the file by itself.")),
            ("a\nb\n", "a\r\nb\n", Some("The editor changed line ends to its own kind by itself.")),
        ] {
            let found = altered(&Text::new(expected, LineBreaks::Lf), &Text::new(found, LineBreaks::Lf));
            assert_eq!(found.as_deref(), words, "{expected:?}");
        }
    }

    #[test]
    fn diffs_in_messages_are_bounded() {
        let long = (0..100).fold(String::new(), |long, line| long + &format!("+{line}\n"));
        let cut = bounded(&long);
        assert!(cut.ends_with("+39\n... (60 more lines of the diff)\n"), "{cut}");
        assert_eq!(bounded("+1\n"), "+1\n");
        assert!(bounded(&"é".repeat(DIFF_BYTES)).starts_with("... (1 more"));
    }
}
