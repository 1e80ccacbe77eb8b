//! The syntax gate: a change may not break a text that follows its grammar, or is told to. Every changing tool passes it,
//! for it stands round the rewrites that a plan gives, and looks again whenever they are computed anew.

use std::sync::Arc;

use serde_json::json;

use crate::config::SyntaxGate;
use crate::languages::problems::SYNTAX;
use crate::languages::verdict::Verdict;
use crate::languages::{DiagnosticsReport, Edited, Prepared};
use crate::syntax::{Language, Regression, regression};
use crate::text::Text;
use crate::workspace::commit::Rewrite;
use crate::workspace::{FileChange, Refusal, RefusalKind, Rewritten, Workspace};

use super::change::Told;

/// In the data of a refusal: the gate's.
const BREAKS: &str = "syntax";

/// A rewrite that is refused where it would break its text.
struct Gated {
    rewrite: Arc<dyn Rewrite>,
    language: Language,
    shown: String,
}

impl Rewrite for Gated {
    fn executable(&self) -> Option<bool> {
        self.rewrite.executable()
    }

    fn rewrite(&self, before: Option<&Text>) -> Result<Rewritten, Refusal> {
        let rewritten = self.rewrite.rewrite(before)?;
        let Some(before) = before else { return Ok(rewritten) };
        let after = before.spliced(&rewritten.splices);
        match regression(Some(self.language), &before.to_string(), &after.to_string()) {
            None => Ok(rewritten),
            Some(broken) => Err(refusal(&self.shown, &broken)),
        }
    }
}

/// Puts the gate round a change, where it is to refuse.
pub(super) fn gated(workspace: &Workspace, change: FileChange) -> FileChange {
    if workspace.settings().syntax_gate != SyntaxGate::Refuse {
        return change;
    }
    let open = workspace.documents.get(&change.target.key);
    let id = open.as_ref().map(|document| document.language_id.as_str());
    let Some(language) = Language::of(id, &change.target.uri) else { return change };
    let shown = change.target.shown.clone();
    FileChange { rewrite: Arc::new(Gated { rewrite: change.rewrite, language, shown }), ..change }
}

fn refusal(shown: &str, broken: &Regression) -> Refusal {
    let message = format!(
        "{shown} was not changed: it is whole {} now and would not be after this change. There would be an error in {}\n\
         Mend the new text and make the change again; changes that only fit together go into one call.",
        broken.language.name(),
        broken.told()
    );
    let data = json!({
        "reason": BREAKS,
        "line": broken.line,
        "column": broken.column,
        "message": broken.message,
    });
    Refusal { data: Some(data), ..Refusal::new(RefusalKind::Failed, message) }
}

/// Changes that were made, each with its place among them, that nobody has held against their grammar: the report of
/// the diagnostics does not tell, where it should be told.
pub(super) fn unchecked(
    gate: SyntaxGate,
    made: &[(Prepared, Edited)],
    report: Option<&DiagnosticsReport>,
) -> Vec<(usize, Made)> {
    if gate != SyntaxGate::Warn {
        return Vec::new();
    }
    let checked = |uri: &str| {
        let documents = report.iter().flat_map(|report| &report.documents).filter(|document| document.uri == uri);
        documents.into_iter().any(|document| {
            let syntax = document.sources.iter().find(|source| source.id == SYNTAX);
            document.report_in.is_some() || syntax.is_some_and(|source| source.verdict == Verdict::Fresh)
        })
    };
    let unchecked = |(at, (prepared, edited)): (usize, &(Prepared, Edited))| {
        let (language, before) = prepared.before();
        let language = Language::of(language, &edited.target.uri)?;
        let made = Made { language, before: before.clone(), after: edited.after.clone() };
        (!checked(&edited.target.uri)).then_some((at, made))
    };
    made.iter().enumerate().filter_map(unchecked).collect()
}

/// A change that was made.
pub(super) struct Made {
    language: Language,
    before: Text,
    after: Text,
}

impl Made {
    /// What it broke. Takes its time.
    pub(super) fn broke(&self) -> Option<Regression> {
        regression(Some(self.language), &self.before.to_string(), &self.after.to_string())
    }
}

/// Adds what was broken to what is said of the changes.
pub(super) fn tell(told: &mut [Told], broken: &[(usize, Regression)]) {
    for (at, broken) in broken {
        if let Some(told) = told.get_mut(*at) {
            let language = broken.language.name();
            let note = format!(
                "\nNote: it was whole {language} before and is not any more. There is an error in {}",
                broken.told()
            );
            told.words.push_str(&note);
        }
    }
}
