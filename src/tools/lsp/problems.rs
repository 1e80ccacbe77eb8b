//! `diagnostics`: what every source says of a file as it is, or of all that were looked at.

use serde_json::json;

use crate::languages::problems::SYNTAX;
use crate::languages::verdict::{Baseline, SourceReport, render_within};
use crate::languages::{Wait, WaitMode};
use crate::syntax::{self, Language};
use crate::tool::{Content, Context, Outcome, ToolError};
use crate::workspace::Source;

use super::Arguments;

/// At most so many faults of the embedded check are told: behind the first, most of them follow from it.
const FAULTS_TOLD: usize = 5;

pub(super) async fn diagnostics(arguments: &Arguments, context: &Context) -> Result<Outcome, ToolError> {
    let wait = Wait { wait: WaitMode::Auto, ..Wait::default() };
    let folders = context.workspace.roots().folders;
    let report = if let Some(file_path) = &arguments.file_path {
        let target = context.workspace.resolve(file_path)?;
        let view = context.workspace.view(&target).await?;
        let (language, version) = match &view.source {
            Source::Open { snapshot, .. } => (Some(snapshot.language_id.clone()), Some(snapshot.version)),
            Source::Disk { .. } => (None, None),
        };
        context.languages.look(&view.target, language.as_deref(), &view.text);
        let mut report = context.languages.report(Some(&target), version, &wait, &context.cancel).await;
        let (text, uri) = (view.text.clone(), target.uri.clone());
        let check = tokio::task::spawn_blocking(move || {
            syntax::check(Language::of(language.as_deref(), &uri), None, &[], &text.to_string())
        });
        let encoding = context.workspace.documents.counting().encoding;
        if let (Ok(check), Some(document)) = (check.await, report.documents.first_mut())
            && document.sources.iter().all(|source| source.id != SYNTAX)
        {
            let source = SourceReport::of_check(&check, Baseline::None, &view.text, encoding, FAULTS_TOLD);
            document.sources.push(source);
            document.sources.sort_by(|a, b| a.id.cmp(&b.id));
        }
        report
    } else {
        context.languages.report(None, None, &wait, &context.cancel).await
    };
    let mut text = render_within(&report, &folders);
    if text.is_empty() {
        "No file was looked at yet, so that nothing is known; name one as `file_path`.".clone_into(&mut text);
    }
    let structured = Some(json!({ "operation": "diagnostics", "report": report }));
    Ok(Outcome { content: vec![Content::text(text)], structured, ..Outcome::default() })
}
