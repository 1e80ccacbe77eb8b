//! What we tell the editor without expecting an answer, as messages. Pure.

use serde_json::{Value, json};

use crate::editor::{Loudness, News};
use crate::server::protocol::{self, FilesChangedParams};

/// The method and params of some news; `None` where the editor does not want to hear of it (`events`).
pub(super) fn message(news: News, events: bool) -> Option<(&'static str, Value)> {
    let event = match news {
        // Whoever gives a token wants to hear of it.
        News::Progress(token, value) => return Some(("$/progress", json!({ "token": token, "value": value }))),
        News::Log(loudness, words) => return Some(("window/logMessage", message_of(loudness, &words))),
        News::Show(loudness, words) => return Some(("window/showMessage", message_of(loudness, &words))),
        _ if !events => return None,
        News::Tool(event) => (protocol::TOOL_EVENT, json!(event)),
        News::Files(changes) => (protocol::FILES_CHANGED, json!(FilesChangedParams { changes })),
        News::Approvals(changed) => (protocol::APPROVALS_CHANGED, json!(changed)),
        News::Jobs(changed) => (protocol::JOBS_CHANGED, json!(changed)),
        News::Changes(changed) => (protocol::CHANGES_CHANGED, json!(changed)),
        News::Tools(changed) => (protocol::TOOLS_CHANGED, json!(changed)),
        News::LateDiagnostics(report) => (protocol::LATE_DIAGNOSTICS, report),
        News::Todos(changed) => (protocol::TODOS_CHANGED, json!(changed)),
        News::Mode(changed) => (protocol::MODE_CHANGED, json!(changed)),
    };
    Some(event)
}

fn message_of(loudness: Loudness, words: &str) -> Value {
    let kind = match loudness {
        Loudness::Error => 1,
        Loudness::Warning => 2,
        Loudness::Info => 3,
    };
    json!({ "type": kind, "message": words })
}
