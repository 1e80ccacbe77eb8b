//! From how a call ended to its one result: the whole text kept, what the model gets bounded.

use std::path::PathBuf;

use serde_json::Value;

use crate::languages::DiagnosticsReport;
use crate::outputs::Budget;
use crate::sessions::Session;
use crate::tool::{Content, ErrorKind, Outcome, ToolError};

use super::call::{CallError, CallResult, OutputInfo, Status, Timing};
use super::change::{Made, told_diagnostics, told_late};

/// How a call ended well.
pub(super) enum Done {
    /// It ran.
    Ran(Outcome),
    /// It made its changes, which are in [`Made`].
    Changed,
}

/// How a call ended, and what it had changed by then.
pub(super) struct Ending {
    pub done: Result<Done, ToolError>,
    pub made: Option<Made>,
    /// Late diagnostics of earlier edits.
    pub news: Option<DiagnosticsReport>,
    /// What else the model is told: what the person said with their consent, background work that has ended.
    pub words: Vec<String>,
}

/// Names of a call.
pub(super) struct Named {
    pub call_id: String,
    /// The tool's.
    pub name: String,
    /// The call's number in its session.
    pub number: u64,
    /// Files in these folders are named by their path from there.
    pub folders: Vec<PathBuf>,
}

/// The result. Text is joined into one piece and cut to the budget; the whole goes into the session's store.
pub(super) fn shape(ending: Ending, named: Named, session: &Session, budget: Budget, timing: Timing) -> CallResult {
    let Ending { done, made, news, words } = ending;
    let failed = done.as_ref().err().cloned();
    let (mut text, mut others, mut structured) = (Vec::new(), Vec::new(), None);
    match done {
        Ok(Done::Ran(outcome)) => {
            structured = outcome.structured;
            for content in outcome.content {
                match content {
                    Content::Text { text: piece } => text.push(piece),
                    image @ Content::Image { .. } => others.push(image),
                }
            }
        }
        Ok(Done::Changed) => {}
        Err(error) => text.push(error.message),
    }
    let applied = made.as_ref().and_then(|made| super::applied(made, failed.as_ref()));
    let (mut edits, mut diagnostics) = (None, None);
    if let Some(made) = made {
        if failed.is_some() && !made.edits.is_empty() {
            text.push("What was done before that:".to_owned());
        }
        text.extend(made.told);
        if !made.edits.is_empty() {
            text.push(told_diagnostics(made.report.as_ref(), &named.folders));
            edits = Some(made.edits);
            diagnostics = made.report;
        }
    }
    if let Some(mut news) = news {
        text.push(told_late(&news, &named.folders));
        // What the call's own edits brought comes first.
        diagnostics.get_or_insert_default().documents.append(&mut news.documents);
    }
    text.extend(words);
    text.retain(|piece| !piece.is_empty());
    let (piece, output) = bounded(&text.join("\n"), named.number, session, budget);
    let mut content: Vec<Content> = piece.map(Content::text).into_iter().collect();
    content.append(&mut others);
    CallResult {
        call_id: named.call_id,
        name: named.name,
        status: status(failed.as_ref()),
        is_error: failed.is_some(),
        content,
        structured_content: structured,
        error: failed.map(|error| CallError { kind: error.kind, data: error.data.unwrap_or(Value::Null) }),
        applied,
        edits,
        diagnostics,
        output,
        timing,
    }
}

fn bounded(text: &str, number: u64, session: &Session, budget: Budget) -> (Option<String>, Option<OutputInfo>) {
    if text.is_empty() {
        return (None, None);
    }
    let id = format!("o{number}");
    session.outputs().put(&id, text);
    let cut = budget.cut(text, &id);
    (Some(cut.text), Some(OutputInfo { id, total_bytes: text.len(), truncated: cut.truncated }))
}

fn status(failed: Option<&ToolError>) -> Status {
    match failed.map(|error| error.kind) {
        None => Status::Ok,
        Some(ErrorKind::Denied) => Status::Denied,
        Some(ErrorKind::Cancelled) => Status::Cancelled,
        Some(_) => Status::Error,
    }
}
