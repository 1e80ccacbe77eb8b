//! `diagnostics`: what every source says of a file as it is, or of all that were looked at.

use serde_json::json;

use crate::languages::problems::SYNTAX;
use crate::languages::verdict::{Baseline, DocumentReport, SourceReport, render_within};
use crate::languages::{Wait, WaitMode};
use crate::permissions::visible;
use crate::syntax::{self, Language};
use crate::tool::{Content, Context, Outcome, ToolError};
use crate::workspace::View;

use super::Arguments;

/// At most so many faults of the embedded check are told: behind the first, most of them follow from it.
const FAULTS_TOLD: usize = 5;

pub(super) async fn diagnostics(arguments: &Arguments, context: &Context) -> Result<Outcome, ToolError> {
    let wait = Wait { wait: WaitMode::Auto, ..Wait::default() };
    let mut proposed = None;
    let folders = context.workspace.roots().folders;
    let report = if let Some(file_path) = &arguments.file_path {
        let target = context.workspace.resolve(file_path)?;
        let view = context.workspace.view(&target).await?;
        let (language, version) = (view.language().map(str::to_owned), view.real().and_then(View::version));
        crate::tools::show(context, &view);
        let mut report = context.languages.report(Some(&target), version, &wait, &context.cancel).await;
        let (text, uri) = (view.text.clone(), target.uri.clone());
        let check = tokio::task::spawn_blocking(move || {
            syntax::check(Language::of(language.as_deref(), &uri), None, &[], &text.to_string())
        });
        let encoding = context.workspace.documents.counting().encoding;
        if view.proposed() {
            let entry = DocumentReport { uri: target.uri.clone(), version, sources: Vec::new(), report_in: None };
            if report.documents.is_empty() {
                report.documents.push(entry);
            }
            report.documents[0].sources.retain(|source| source.id != SYNTAX);
            proposed = Some(format!(
                "You propose changes of {}, which only the syntax check has seen; what others say is about the text without \
                 them.\n",
                visible(&target.shown)
            ));
        }
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
    if let Some(proposed) = proposed {
        text.insert_str(0, &proposed);
    }
    let structured = Some(json!({ "operation": "diagnostics", "report": report }));
    Ok(Outcome { content: vec![Content::text(text)], structured, ..Outcome::default() })
}
