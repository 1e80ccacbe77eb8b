//! Whose a change is, where what the agent, the user and a formatter do comes close together: what is kept and undone
//! through the whole life of calls.

use std::path::Path;
use std::sync::Arc;

use serde_json::json;

use crate::config::Settings;
use crate::dispatch::review::{ChangesParams, ListChangesParams, Outcome, UndoParams};
use crate::dispatch::{CallParams, CallResult, Status};
use crate::editor::{EditReply, News};
use crate::ports::{Disk as _, MemoryDisk, Operation};
use crate::text::{Encoding, diff};
use crate::tool::ErrorKind;
use crate::workspace::Key;

use super::kit::{Desk, apply, params, types};

const TEXT: &str = "one\ntwo\nthree\nfour\n";

/// The document `/w/a.txt`, open.
fn open(text: &str) -> (Desk, Key) {
    let desk = Desk::new(MemoryDisk::new().with_file("/w/a.txt", text));
    let key = desk.open("/w/a.txt", text);
    (desk, key)
}

fn edit(call: &str, old: &str, new: &str) -> CallParams {
    let arguments = json!({ "file_path": "/w/a.txt", "old_string": old, "new_string": new });
    CallParams { call_id: Some(call.to_owned()), ..params("edit", arguments) }
}

async fn edits(desk: &Desk, call: &str, old: &str, new: &str) -> CallResult {
    let result = desk.call_with(edit(call, old, new)).await;
    assert_eq!(result.status, Status::Ok, "{result:?}");
    result
}

/// What is nobody's yet: by which call, what is there now, whether the user touched it.
async fn changes(desk: &Desk) -> Vec<(String, String, bool)> {
    let changes = desk.dispatch.changes(ListChangesParams::default()).await.unwrap();
    let hunks = changes.files.into_iter().flat_map(|file| file.hunks);
    hunks.map(|hunk| (hunk.call_id, hunk.now, hunk.touched)).collect()
}

async fn undo(desk: &Desk, call: &str) -> Vec<Outcome> {
    let choice = ChangesParams { call_id: Some(call.to_owned()), ..ChangesParams::default() };
    let result = desk.dispatch.undo_changes(UndoParams { choice, undo_id: None }).await.unwrap();
    result.hunks.into_iter().map(|hunk| hunk.outcome).collect()
}

fn hunk(call: &str, now: &str, touched: bool) -> (String, String, bool) {
    (call.to_owned(), now.to_owned(), touched)
}

#[tokio::test(start_paused = true)]
async fn what_the_user_typed_in_the_notification_of_an_edit_is_the_users() {
    let (desk, key) = open(TEXT);
    *desk.editor.applier.lock().unwrap() = Some(Box::new(|_, documents, edit| {
        Some(apply(documents, edit, &[("four\n", "four\nmine\n"), ("2a\n", "2a\nmine too\n")]))
    }));
    edits(&desk, "c1", "two\n", "2a\n2b\n").await;
    *desk.editor.applier.lock().unwrap() = None;
    assert_eq!(changes(&desk).await, [hunk("c1", "2a\nmine too\n2b\n", true)]);
    assert_eq!(undo(&desk, "c1").await, [Outcome::Undone]);
    assert_eq!(desk.text(&key), "one\ntwo\nmine too\nthree\nfour\nmine\n");
}

#[tokio::test(start_paused = true)]
async fn what_the_user_typed_just_before_an_edit_landed_is_the_users() {
    let (desk, key) = open(TEXT);
    // The first edit meets a text that has moved on by then, and is computed anew.
    *desk.editor.applier.lock().unwrap() = Some(Box::new(|before, documents, edit| {
        if before == 0 {
            types(documents, &documents.key_of(&edit.uri).unwrap(), "one\n", "zero\none\n");
        }
        Some(apply(documents, edit, &[]))
    }));
    edits(&desk, "c1", "two", "2").await;
    *desk.editor.applier.lock().unwrap() = None;
    assert_eq!(changes(&desk).await, [hunk("c1", "2\n", false)]);
    assert_eq!(undo(&desk, "c1").await, [Outcome::Undone]);
    assert_eq!(desk.text(&key), format!("zero\n{TEXT}"));
}

#[tokio::test(start_paused = true)]
async fn keeping_is_of_what_the_call_made_and_not_of_what_comes_behind_it() {
    let (desk, key) = open(TEXT);
    edits(&desk, "c1", "two", "2").await;
    types(&desk.documents, &key, "2\n", "2 mine\n");
    let all = ChangesParams { call_id: Some("c1".into()), ..ChangesParams::default() };
    assert_eq!(desk.dispatch.keep_changes(all).await.unwrap().kept, ["1.1"]);
    edits(&desk, "c2", "2 mine", "2 yours").await;
    assert_eq!(changes(&desk).await, [hunk("c2", "2 yours\n", false)]);
    assert_eq!(undo(&desk, "c2").await, [Outcome::Undone]);
    assert_eq!(desk.text(&key), "one\n2 mine\nthree\nfour\n");
    // What was kept is the user's from then on.
    assert_eq!(undo(&desk, "c1").await, []);
}

#[tokio::test(start_paused = true)]
async fn what_a_formatter_makes_of_an_edit_is_the_calls_and_what_the_user_types_meanwhile_is_not() {
    let (desk, key) = open("a=1\nb=1\nc=1\nd=1\n");
    let (settings, remarks) = Settings::parse(&json!({ "formatter": { "mode": "onWrite", "timeoutMs": 500 } }));
    assert_eq!(remarks, []);
    desk.workspace.set_settings(Arc::new(settings));
    desk.editor.abilities.lock().unwrap().format = true;
    *desk.editor.formatter.lock().unwrap() = Some(Box::new(|document| {
        let text = document.text.to_string();
        let splices = diff::splices(&text, &text.replace("b=2", "b = 2"));
        let edits = splices.iter().map(|splice| document.text.edit_of(splice, Encoding::Utf16));
        Some(Ok(Some(edits.collect())))
    }));
    // The second edit is the formatter's; what the user types comes with it.
    *desk.editor.applier.lock().unwrap() = Some(Box::new(|before, documents, edit| {
        Some(apply(documents, edit, if before == 1 { &[("d=1", "d=mine")] } else { &[] }))
    }));
    edits(&desk, "c1", "b=1", "b=2").await;
    *desk.editor.applier.lock().unwrap() = None;
    assert_eq!(desk.text(&key), "a=1\nb = 2\nc=1\nd=mine\n");
    assert_eq!(changes(&desk).await, [hunk("c1", "b = 2\n", false)]);
    assert_eq!(undo(&desk, "c1").await, [Outcome::Undone]);
    assert_eq!(desk.text(&key), "a=1\nb=1\nc=1\nd=mine\n");
}

#[tokio::test(start_paused = true)]
async fn an_edit_that_shows_up_late_is_the_calls() {
    let (desk, key) = open(TEXT);
    *desk.editor.applier.lock().unwrap() = Some(Box::new(|_, _, _| None));
    let result = desk.call_with(edit("c1", "two", "2")).await;
    assert_eq!(result.error.map(|error| error.kind), Some(ErrorKind::Unknown));
    *desk.editor.applier.lock().unwrap() = None;
    assert_eq!(changes(&desk).await, []);
    desk.editor.told.lock().unwrap().clear();
    let late = desk.editor.edits.lock().unwrap()[0].clone();
    apply(&desk.documents, &late, &[("four", "4 mine")]);
    settled().await;
    assert_eq!(changes(&desk).await, [hunk("c1", "2\n", false)]);
    let told = desk.editor.told.lock().unwrap().iter().filter(|news| matches!(news, News::Changes(_))).count();
    assert_eq!(told, 1);
    assert_eq!(undo(&desk, "c1").await, [Outcome::Undone]);
    assert_eq!(desk.text(&key), "one\ntwo\nthree\n4 mine\n");
}

#[tokio::test(start_paused = true)]
async fn what_shows_up_late_and_is_another_change_or_too_late_is_the_users() {
    for (minutes, old, new) in [(0, "two", "22"), (0, "three", "2"), (11, "two", "2")] {
        let (desk, key) = open(TEXT);
        *desk.editor.applier.lock().unwrap() = Some(Box::new(|_, _, _| None));
        let result = desk.call_with(edit("c1", "two", "2")).await;
        assert_eq!(result.error.map(|error| error.kind), Some(ErrorKind::Unknown));
        tokio::time::sleep(std::time::Duration::from_mins(minutes)).await;
        types(&desk.documents, &key, old, new);
        settled().await;
        assert_eq!(changes(&desk).await, [], "{minutes} {old} {new}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_set_that_came_to_nothing_takes_no_earlier_change_with_it() {
    let (desk, a) = open(TEXT);
    desk.open("/w/b.txt", TEXT);
    edits(&desk, "c1", "two", "2").await;
    *desk.editor.applier.lock().unwrap() = Some(Box::new(|_, documents, edit| {
        Some(match edit.uri.as_str() {
            "file:///w/b.txt" => EditReply { applied: false, reason: Some("read-only".into()) },
            _ => apply(documents, edit, &[]),
        })
    }));
    let patch = "*** Begin Patch\n*** Update File: /w/a.txt\n@@\n-2\n+22\n*** Update File: /w/b.txt\n@@\n-two\n+2\n\
                 *** End Patch\n";
    let result = desk.call("apply_patch", json!({ "patch": patch })).await;
    assert_eq!(result.status, Status::Error, "{result:?}");
    *desk.editor.applier.lock().unwrap() = None;
    assert_eq!(desk.text(&a), "one\n2\nthree\nfour\n");
    assert_eq!(changes(&desk).await, [hunk("c1", "2\n", false)]);
    assert_eq!(undo(&desk, "c1").await, [Outcome::Undone]);
    assert_eq!(desk.text(&a), TEXT);
}

async fn writes(desk: &Desk, call: &str) {
    let arguments = json!({ "file_path": "/w/new.txt", "content": "new\n" });
    let result = desk.call_with(CallParams { call_id: Some(call.to_owned()), ..params("write", arguments) }).await;
    assert_eq!(result.status, Status::Ok, "{result:?}");
}

#[tokio::test(start_paused = true)]
async fn a_new_file_that_cannot_be_deleted_stays_as_it_is() {
    let (desk, _) = open(TEXT);
    writes(&desk, "c1").await;
    desk.disk.fail(Operation::Remove, "/w/new.txt", std::io::ErrorKind::PermissionDenied);
    let result = desk.dispatch.undo_changes(UndoParams::default()).await.unwrap();
    assert!(result.hunks.iter().all(|hunk| hunk.outcome == Outcome::Left), "{result:?}");
    assert!(result.hunks[0].why.as_ref().unwrap().contains("new.txt could not be deleted"), "{result:?}");
    assert_eq!((result.undo_id, result.edits.len()), (None, 0));
    assert_eq!(desk.disk.bytes("/w/new.txt").as_deref(), Some(&b"new\n"[..]));
    desk.disk.mend(Operation::Remove, "/w/new.txt");
    assert_eq!(undo(&desk, "c1").await, [Outcome::Undone]);
    assert_eq!(desk.disk.bytes("/w/new.txt"), None);
}

#[tokio::test(start_paused = true)]
async fn a_new_file_that_is_open_with_unsaved_changes_is_emptied_in_its_buffer_and_that_is_said() {
    let (desk, _) = open(TEXT);
    writes(&desk, "c1").await;
    let key = desk.open("/w/new.txt", "new\n");
    let arguments = json!({ "file_path": "/w/new.txt", "old_string": "new", "new_string": "newer" });
    let second = CallParams { call_id: Some("c2".into()), ..params("edit", arguments) };
    assert_eq!(desk.call_with(second).await.status, Status::Ok);
    let result = desk.dispatch.undo_changes(UndoParams::default()).await.unwrap();
    let partly = result.hunks.iter().find(|hunk| hunk.outcome == Outcome::Partly).unwrap();
    assert!(partly.why.as_ref().unwrap().contains("gone from the buffer"), "{result:?}");
    assert_eq!(desk.text(&key), "");
    assert_eq!(desk.disk.bytes("/w/new.txt").as_deref(), Some(&b"new\n"[..]));
}

#[tokio::test(start_paused = true)]
async fn a_copy_can_be_run_if_what_it_is_a_copy_of_can_and_nothing_else_is_said() {
    for (mode, said, copied) in
        [(0o755, "", true), (0o644, "", false), (0o755, "new mode 100644\n", false), (0o644, "new mode 100755\n", true)]
    {
        let disk = MemoryDisk::new().with_file("/w/run.sh", "echo\n").with_mode("/w/run.sh", mode);
        let desk = Desk::new(disk);
        let patch =
            format!("diff --git a/run.sh b/copy.sh\n{said}similarity index 100%\ncopy from run.sh\ncopy to copy.sh\n");
        let result = desk.call("apply_patch", json!({ "patch": patch })).await;
        assert_eq!(result.status, Status::Ok, "{mode:o} {said} {result:?}");
        assert_eq!(desk.disk.bytes("/w/copy.sh").as_deref(), Some(&b"echo\n"[..]));
        let found = desk.disk.metadata(Path::new("/w/copy.sh")).unwrap();
        assert_eq!(found.mode & 0o111 != 0, copied, "{mode:o} {said}");
    }
}

/// Until all that is under way has come to rest.
async fn settled() {
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
}
