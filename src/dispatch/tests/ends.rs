//! What is left of a call when its session is closed or begins anew, and what the next call finds of one before it.

use std::sync::Arc;

use serde_json::json;
use tokio::sync::Notify;

use super::kit::{Desk, FakeTool, decided_with, params, said, text};
use crate::dispatch::{BatchParams, CallParams, Status};
use crate::editor::Consent;
use crate::languages::Wait;
use crate::permissions::Rule;
use crate::ports::MemoryDisk;
use crate::sessions::requests::{SessionRef, SessionRequest};
use crate::tool::{ErrorKind, ToolError};

fn edit(old: &str, new: &str) -> CallParams {
    let arguments = json!({ "file_path": "a.txt", "old_string": old, "new_string": new });
    CallParams { turn_id: Some("t".to_owned()), ..params("edit", arguments) }
}

#[tokio::test]
async fn the_next_call_is_judged_by_a_change_whose_diagnostics_are_still_waited_for() {
    let desk = Desk::new(MemoryDisk::new().with_file("/w/a.txt", "one\n"));
    // In a batch the first waits with its diagnostics for the second, which waits for none.
    let first = CallParams { diagnostics: Wait::default(), ..edit("one", "two") };
    let calls = vec![first, edit("two", "one")];
    let batch = desk.dispatch.admit_batch(BatchParams { calls, ..BatchParams::default() });
    let results = desk.dispatch.run_batch(batch).await.results;
    assert!(results.iter().all(|result| result.status == Status::Ok), "{results:?}");
    assert!(!text(&results[0]).contains("undoes") && text(&results[1]).contains("undoes"), "{}", text(&results[1]));
}

#[tokio::test]
async fn what_failed_is_remembered_with_the_arguments_that_failed() {
    let desk = Desk::new(MemoryDisk::new().with_file("/w/a.txt", "one\n").with_file("/out/b.txt", "two\n"));
    let outside = || {
        let arguments = json!({ "file_path": "/out/b.txt", "old_string": "two", "new_string": "2" });
        CallParams { turn_id: Some("t".to_owned()), ..params("edit", arguments) }
    };
    // The person gives arguments that do not fit.
    let theirs = json!({ "file_path": "/out/b.txt", "old_string": "missing", "new_string": "2" });
    desk.answer(move |params| decided_with(params, Consent::Once, Some(&theirs), None));
    assert_eq!(desk.call_with(outside()).await.error.unwrap().kind, ErrorKind::NotFound);
    desk.answer(|params| decided_with(params, Consent::Once, None, None));
    let again = desk.call_with(outside()).await;
    assert_eq!(again.status, Status::Ok, "{}", text(&again));
}

/// A desk with a tool that stops the world until it is let on, and then fails.
fn desk(came: &Arc<Notify>, on: &Arc<Notify>) -> Arc<Desk> {
    let (came, on) = (Arc::clone(came), Arc::clone(on));
    // What was begun is not to be dropped half-way: it goes on in a task of its own, as blocking work does.
    let stubborn = FakeTool::new("stubborn", move |_, context| {
        let (came, on) = (Arc::clone(&came), Arc::clone(&on));
        async move {
            came.notify_one();
            on.notified().await;
            context.cancel.cancelled().await;
            Err(ToolError::new(ErrorKind::Failed, "it failed"))
        }
    });
    Arc::new(Desk::over(
        MemoryDisk::new(),
        [stubborn.ruled(Rule::Write), FakeTool::new("talks", |_, _| async { Ok(said("words")) }).ruled(Rule::Write)],
    ))
}

#[tokio::test]
async fn a_call_that_ends_after_its_session_leaves_nothing() {
    for anew in [SessionRequest::Close as fn(SessionRef) -> SessionRequest, SessionRequest::Reset] {
        let (came, on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let desk = desk(&came, &on);
        let call = CallParams {
            session_id: Some("pane".to_owned()),
            turn_id: Some("t".to_owned()),
            ..params("stubborn", json!({}))
        };
        let admitted = desk.dispatch.admit(call.clone());
        let dispatch = Arc::clone(&desk.dispatch);
        let running = tokio::spawn(async move { dispatch.run(admitted).await });
        came.notified().await;
        let pane = SessionRef { session_id: Some("pane".to_owned()) };
        // Before the call knows that it is cancelled its session is gone.
        let answer = desk.dispatch.ask_session(anew(pane.clone()));
        assert_eq!(answer.await.unwrap(), json!({ "cancelled": 1 }));
        on.notify_one();
        assert_eq!(running.await.unwrap().status, Status::Cancelled);
        let status = desk.dispatch.ask_session(SessionRequest::Status(pane)).await.unwrap();
        assert_eq!((&status["guards"], &status["openCalls"]), (&json!([]), &json!([])), "{status}");
    }
}

#[tokio::test]
async fn names_are_whatever_they_are() {
    let desk = Desk::new(MemoryDisk::new().with_file("/w/a.txt", "one\n"));
    let long = "/".repeat(256);
    for id in ["", "..", "../../x", "a/b", "a\0b\n\u{1b}[2J", "\u{202e}x", "x\ny", long.as_str()] {
        let call = CallParams {
            session_id: Some(id.to_owned()),
            turn_id: Some(id.to_owned()),
            call_id: Some(id.to_owned()),
            ..params("read", json!({ "file_path": "a.txt" }))
        };
        let result = desk.call_with(call).await;
        assert_eq!((result.status, result.call_id.as_str()), (Status::Ok, id), "{id:?}");
        let found = desk
            .dispatch
            .output(crate::dispatch::OutputParams {
                session_id: Some(id.to_owned()),
                call_id: id.to_owned(),
                ..Default::default()
            })
            .await;
        assert!(found.found && found.text.contains("one"), "{id:?} {found:?}");
    }
}
