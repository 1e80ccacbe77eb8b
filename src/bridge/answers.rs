//! Our results in MCP's words, and how far a call has come. Pure.

use rmcp::model::{CallToolResult, ContentBlock, MetaObject, Tool};
use serde_json::{Value, json};

use crate::dispatch::{CallResult, ListedTool};
use crate::editor::WorkDone;
use crate::tool::Content;

/// A result. All that the model needs is in its content; what is besides is for programs.
pub(super) fn answer(result: CallResult) -> CallToolResult {
    let content = result.content.into_iter().map(|part| match part {
        Content::Text { text } => ContentBlock::text(text),
        Content::Image { data, mime_type } => ContentBlock::image(data, mime_type),
    });
    let content = content.collect();
    let mut answer = if result.is_error { CallToolResult::error(content) } else { CallToolResult::success(content) };
    // MCP has only structured answers that are objects.
    answer.structured_content = result.structured_content.filter(Value::is_object);
    let mut meta = json!({ "ropewalk/status": result.status });
    if let Some(error) = &result.error {
        meta["ropewalk/error"] = json!(error.kind);
    }
    if let Some(applied) = &result.applied {
        meta["ropewalk/applied"] = json!(applied);
    }
    answer.meta = serde_json::from_value::<MetaObject>(meta).ok();
    answer
}

/// A call that was not begun, in words for the model.
pub(super) fn not_begun(why: &str) -> CallToolResult {
    let mut answer = CallToolResult::error(vec![ContentBlock::text(why)]);
    answer.meta = serde_json::from_value::<MetaObject>(json!({ "ropewalk/status": "denied" })).ok();
    answer
}

/// A tool of the dialect `mcp`. What its structured answers look like is not promised: an answer that is too long comes
/// without, and clients take a promise that is not kept for a broken server.
pub(super) fn tool(listed: &ListedTool) -> Option<Tool> {
    let ListedTool::Shaped(fields) = listed else { return None };
    let mut tool: Tool = serde_json::from_value(Value::Object(fields.clone())).ok()?;
    tool.output_schema = None;
    Some(tool)
}

/// How far a call has come, as MCP wants it: each number is greater than the one before.
#[derive(Debug, Default)]
pub(super) struct Steps {
    last: Option<f64>,
    percent: bool,
}

/// One step.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Step {
    /// How far.
    pub progress: f64,
    /// Of how much, if that is known.
    pub total: Option<f64>,
    /// What it does.
    pub message: Option<String>,
}

/// How little a step is that is none.
const LITTLE: f64 = 0.001;

impl Steps {
    /// The step that a report means, if it is one.
    pub(super) fn step(&mut self, done: WorkDone) -> Option<Step> {
        match done {
            WorkDone::Begin { title, .. } => Some(self.on(None, Some(title))),
            WorkDone::Report { message, percentage } => Some(self.on(percentage, message)),
            WorkDone::End { .. } => None,
        }
    }

    /// The call is still under way.
    pub(super) fn beat(&mut self) -> Step {
        self.on(None, None)
    }

    fn on(&mut self, percentage: Option<u32>, message: Option<String>) -> Step {
        self.percent |= percentage.is_some();
        let little = if self.percent { LITTLE } else { 1.0 };
        let next = self.last.map_or(0.0, |last| last + little);
        let progress = percentage.map_or(next, |percentage| f64::from(percentage).max(next));
        self.last = Some(progress);
        Step { progress, total: self.percent.then_some(100.0_f64.max(progress)), message }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dispatch::Status;
    use crate::dispatch::call::{AppliedPart, CallError, Timing};
    use crate::tool::ErrorKind;
    use proptest::prelude::*;

    fn result(is_error: bool) -> CallResult {
        CallResult {
            call_id: "c1".into(),
            name: "read".into(),
            status: if is_error { Status::Denied } else { Status::Ok },
            is_error,
            content: vec![
                Content::text("words"),
                Content::Image { data: "aGk=".into(), mime_type: "image/png".into() },
            ],
            structured_content: Some(json!({ "a": 1 })),
            error: is_error.then(|| CallError { kind: ErrorKind::Denied, data: Value::Null }),
            applied: is_error.then_some(AppliedPart::None),
            proposed: false,
            edits: None,
            diagnostics: None,
            output: None,
            timing: Timing::default(),
        }
    }

    #[test]
    fn results() {
        let told = |result| serde_json::to_value(answer(result)).unwrap();
        let content = json!([
            { "type": "text", "text": "words" },
            { "type": "image", "data": "aGk=", "mimeType": "image/png" },
        ]);
        let fine = told(result(false));
        assert_eq!((&fine["content"], &fine["isError"]), (&content, &json!(false)));
        assert_eq!(
            (&fine["structuredContent"], &fine["_meta"]),
            (&json!({ "a": 1 }), &json!({ "ropewalk/status": "ok" }))
        );
        let failed = told(result(true));
        assert_eq!((&failed["content"], &failed["isError"]), (&content, &json!(true)));
        let meta = json!({ "ropewalk/status": "denied", "ropewalk/error": "denied", "ropewalk/applied": "none" });
        assert_eq!(failed["_meta"], meta);
        let listed = told(CallResult { structured_content: Some(json!([1])), ..result(false) });
        assert_eq!(listed.get("structuredContent"), None, "a list is no object");
    }

    #[test]
    fn tools_promise_nothing_of_their_structured_answers() {
        let Value::Object(fields) = json!({
            "name": "look", "title": "Look", "description": "Looks.", "inputSchema": { "type": "object" },
            "outputSchema": { "type": "object" }, "annotations": { "readOnlyHint": true },
        }) else {
            unreachable!()
        };
        let tool = serde_json::to_value(tool(&ListedTool::Shaped(fields)).unwrap()).unwrap();
        assert_eq!(tool["annotations"], json!({ "readOnlyHint": true }));
        assert_eq!((tool.get("outputSchema"), &tool["title"]), (None, &json!("Look")));
    }

    #[test]
    fn steps_say_what_is_known() {
        let mut steps = Steps::default();
        let begin = WorkDone::Begin { title: "Search".into(), cancellable: false };
        let first = Step { progress: 0.0, total: None, message: Some("Search".into()) };
        assert_eq!(steps.step(begin), Some(first));
        assert_eq!(steps.beat(), Step { progress: 1.0, total: None, message: None });
        let half = WorkDone::Report { message: None, percentage: Some(50) };
        assert_eq!(steps.step(half), Some(Step { progress: 50.0, total: Some(100.0), message: None }));
        assert_eq!(steps.step(WorkDone::End { message: "done".into() }), None);
    }

    proptest! {
        #[test]
        fn each_step_goes_on(reports in proptest::collection::vec(proptest::option::of(0u32..=100), 1..50)) {
            let mut steps = Steps::default();
            let mut last = -1.0;
            for percentage in reports {
                let step = steps.step(WorkDone::Report { message: None, percentage }).unwrap();
                prop_assert!(step.progress > last && step.total.is_none_or(|total| total >= step.progress));
                last = step.progress;
            }
        }
    }
}
