//! The real rooms behind the front: calls that change an unsaved buffer, and editors that make it hard.

use std::path::Path;
use std::sync::Arc;

use ropewalk::ports::{Disk as _, MemoryDisk, Ports};
use ropewalk::server::{self, ServeOptions};
use serde_json::{Value, json};

use crate::editor::{FakeEditor, Manner};

/// The one document of these tests.
pub const URI: &str = "file:///w/notes.txt";

/// An editor with the folder `/w`, which holds `notes.txt`, and the file open with an unsaved change.
pub async fn editor_with_notes() -> (FakeEditor, Arc<MemoryDisk>) {
    let disk = Arc::new(MemoryDisk::new());
    disk.create_dir_all(Path::new("/w")).unwrap();
    disk.create(Path::new("/w/notes.txt"), b"one\ntwo\n").unwrap();
    let ports = Ports { disk: disk.clone(), ..Ports::system() };
    let options = ServeOptions { repeatable: true, ..ServeOptions::default() };
    let mut editor = FakeEditor::start(|input, output| tokio::spawn(server::serve(input, output, ports, options)));
    editor
        .introduce(
            &[Path::new("/w")],
            json!({
                "resync": true, "approve": true, "ask": true, "events": true, "runAgent": true, "runTool": true,
            }),
            json!({}),
        )
        .await;
    editor.open(URI, "one\ntwo\n");
    editor.splice(URI, 3..3, "!");
    (editor, disk)
}

/// A call, without the news of it.
fn call(editor: &mut FakeEditor, name: &str, arguments: Value) -> i64 {
    editor.request("ropewalk/callTool", json!({ "name": name, "arguments": arguments }))
}

/// The news that came so far are as they should be; these tests look at results.
async fn drop_news(editor: &mut FakeEditor) {
    // What comes before the answer to this has come.
    editor.ask("ropewalk/settle", json!({})).await;
    let news = ["ropewalk/toolEvent", "ropewalk/approvalsChanged"];
    while editor.stashed(|message| news.iter().any(|method| message["method"] == *method)).is_some() {}
}

#[tokio::test(start_paused = true)]
async fn an_unsaved_buffer_is_changed_and_the_disk_is_not() {
    for manner in [Manner::Apply, Manner::AnswerFirst, Manner::Split] {
        let (mut editor, disk) = editor_with_notes().await;
        let read = call(&mut editor, "read", json!({ "file_path": "notes.txt" }));
        let result = editor.result(read).await;
        assert_eq!(result["status"], "ok", "{result}");
        assert!(result["content"][0]["text"].as_str().unwrap().contains("one!"), "{result}");

        let write = call(&mut editor, "write", json!({ "file_path": "notes.txt", "content": "ONE!\ntwo\nTHREE\n" }));
        editor.serve_edit(manner).await;
        let result = editor.result(write).await;
        assert_eq!((&result["status"], &result["applied"]), (&json!("ok"), &json!("all")), "{manner:?} {result}");
        assert_eq!(editor.buffers[URI].text, "ONE!\ntwo\nTHREE\n");
        assert_eq!(result["edits"][0]["versionAfter"], editor.buffers[URI].version, "{manner:?}");
        same_text_of(&mut editor).await;
        assert_eq!(disk.read(Path::new("/w/notes.txt")).unwrap(), b"one\ntwo\n");
        drop_news(&mut editor).await;
        assert_eq!(editor.leave().await, 0);
    }
}

#[tokio::test(start_paused = true)]
async fn an_edit_that_does_not_land_is_never_called_done() {
    for (manner, kind) in [(Manner::Refuse, "conflict"), (Manner::Lie, "unknown")] {
        let (mut editor, _) = editor_with_notes().await;
        let read = call(&mut editor, "read", json!({ "file_path": "notes.txt" }));
        editor.result(read).await;
        let write = call(&mut editor, "write", json!({ "file_path": "notes.txt", "content": "x\n" }));
        editor.serve_edit(manner).await;
        let result = editor.result(write).await;
        assert_eq!(result["error"]["kind"], kind, "{manner:?} {result}");
        assert_eq!(editor.buffers[URI].text, "one!\ntwo\n");
        same_text_of(&mut editor).await;
        editor.accept_rest();
        assert_eq!(editor.leave().await, 0);
    }
}

#[tokio::test(start_paused = true)]
async fn typing_between_the_edit_and_its_echo_wins() {
    let (mut editor, _) = editor_with_notes().await;
    let read = call(&mut editor, "read", json!({ "file_path": "notes.txt" }));
    editor.result(read).await;
    let write = call(&mut editor, "write", json!({ "file_path": "notes.txt", "content": "one!\ntwo\nthree\n" }));
    // The user types before the editor gets to the edit, whose version is old then.
    let (id, _) = editor.asked("workspace/applyEdit").await;
    editor.splice(URI, 0..0, "typed ");
    editor.respond(&id, json!({ "applied": false }));
    let result = editor.result(write).await;
    // What the model read is not what it would overwrite.
    assert_eq!((&result["status"], &result["error"]["kind"]), (&json!("error"), &json!("conflict")), "{result}");
    assert_eq!(editor.buffers[URI].text, "typed one!\ntwo\n");
    same_text_of(&mut editor).await;
    editor.accept_rest();
    assert_eq!(editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_waiting_call_is_cancelled_and_settles() {
    let (mut editor, _) = editor_with_notes().await;
    let read = call(&mut editor, "read", json!({ "file_path": "notes.txt" }));
    editor.result(read).await;
    let first = call(&mut editor, "write", json!({ "file_path": "notes.txt", "content": "x\n" }));
    let second = call(&mut editor, "write", json!({ "file_path": "notes.txt", "content": "y\n" }));
    let (edit, _) = editor.asked("workspace/applyEdit").await;
    let open = editor.ask("ropewalk/settle", json!({ "deadlineMs": 0 })).await;
    assert_eq!(open["settled"], false, "{open}");
    editor.notify("$/cancelRequest", json!({ "id": second }));
    assert_eq!(editor.result(second).await["status"], "cancelled");
    editor.respond(&edit, json!({ "applied": false }));
    editor.result(first).await;
    assert_eq!(editor.ask("ropewalk/settle", json!({})).await, json!({ "settled": true, "open": [] }));
    editor.accept_rest();
    assert_eq!(editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_preview_neither_asks_nor_runs() {
    let (mut editor, disk) = editor_with_notes().await;
    let read = call(&mut editor, "read", json!({ "file_path": "notes.txt" }));
    editor.result(read).await;
    let arguments = json!({ "file_path": "notes.txt", "content": "one!\ntwo\nthree\n" });
    let preview = editor.ask("ropewalk/previewCall", json!({ "name": "write", "arguments": arguments })).await;
    assert_eq!(preview["valid"], true, "{preview}");
    assert!(preview["diff"].as_str().unwrap().contains("+three"), "{preview}");
    same_text_of(&mut editor).await;
    assert_eq!(disk.read(Path::new("/w/notes.txt")).unwrap(), b"one\ntwo\n");
    drop_news(&mut editor).await;
    assert_eq!(editor.leave().await, 0);
}

async fn same_text_of(editor: &mut FakeEditor) {
    let text = editor.ask("ropewalk/documentText", json!({ "uri": URI })).await;
    let ours = &editor.buffers[URI];
    assert_eq!((&text["text"], &text["version"]), (&json!(ours.text), &json!(ours.version)));
    assert_eq!(text["unsaved"], true);
}

#[tokio::test(start_paused = true)]
async fn a_question_is_taken_back_when_its_call_is_cancelled() {
    let (mut editor, disk) = editor_with_notes().await;
    disk.put("/elsewhere/plan.txt", "a plan\n");
    let read = call(&mut editor, "read", json!({ "file_path": "/elsewhere/plan.txt" }));
    let (question, _) = editor.asked("ropewalk/approve").await;
    editor.notify("$/cancelRequest", json!({ "id": read }));
    assert_eq!(editor.result(read).await["status"], "cancelled");
    let taken_back = editor.next_where(|message| message["method"] == "$/cancelRequest").await.unwrap();
    assert_eq!(taken_back["params"]["id"], question);
    // A late yes changes nothing.
    editor.respond(&question, json!({ "decisions": [{ "callId": "c1", "decision": "always" }] }));
    drop_news(&mut editor).await;
    assert_eq!(editor.leave().await, 0);
}

/// An editor that knows nothing of ours; `message_actions`: it shows messages with buttons.
async fn plain_editor(message_actions: bool) -> FakeEditor {
    let disk = MemoryDisk::new().with_file("/elsewhere/plan\u{202e}.txt", "a plan\n").with_dir("/w");
    let ports = Ports { disk: Arc::new(disk), ..Ports::system() };
    let options = ServeOptions { repeatable: true, ..ServeOptions::default() };
    let mut editor = FakeEditor::start(|input, output| tokio::spawn(server::serve(input, output, ports, options)));
    let window = if message_actions { json!({ "showMessage": { "messageActionItem": {} } }) } else { json!({}) };
    let params = json!({ "rootUri": "file:///w", "capabilities": { "window": window } });
    editor.ask("initialize", params).await;
    editor
}

#[tokio::test(start_paused = true)]
async fn a_plain_editor_asks_by_a_message_with_buttons() {
    let answers = [
        (json!({ "title": "Allow once" }), "ok"),
        (json!({ "title": "Deny" }), "denied"),
        (json!({ "title": "allow once" }), "denied"),
        (Value::Null, "denied"),
    ];
    for (answer, status) in answers {
        let mut editor = plain_editor(true).await;
        let read = call(&mut editor, "read", json!({ "file_path": "/elsewhere/plan\u{202e}.txt" }));
        let (question, params) = editor.asked("window/showMessageRequest").await;
        let message = params["message"].as_str().unwrap();
        assert!(message.contains("/elsewhere/plan\\u{202e}.txt"), "{message}");
        let titles: Vec<&str> =
            params["actions"].as_array().unwrap().iter().map(|action| action["title"].as_str().unwrap()).collect();
        assert_eq!(titles, ["Allow once", "Allow in this session", "Deny"]);
        editor.respond(&question, answer);
        assert_eq!(editor.result(read).await["status"], status);
        assert_eq!(editor.leave().await, 0);
    }
}

#[tokio::test(start_paused = true)]
async fn an_editor_that_cannot_ask_means_no() {
    let mut editor = plain_editor(false).await;
    let read = call(&mut editor, "read", json!({ "file_path": "/elsewhere/plan\u{202e}.txt" }));
    let result = editor.result(read).await;
    assert_eq!(result["status"], "denied", "{result}");
    assert_eq!(editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn an_edit_is_put_on_top_of_what_the_user_typed_elsewhere() {
    let (mut editor, disk) = editor_with_notes().await;
    let arguments = json!({ "file_path": "notes.txt", "old_string": "  two", "new_string": "  2" });
    let edit = call(&mut editor, "edit", arguments);
    let (id, _) = editor.asked("workspace/applyEdit").await;
    editor.splice(URI, 0..0, "typed ");
    editor.respond(&id, json!({ "applied": false }));
    editor.serve_edit(Manner::Apply).await;
    // And typed on, before the call knows.
    editor.splice(URI, 0..0, "and ");
    let result = editor.result(edit).await;
    assert_eq!((&result["status"], &result["applied"]), (&json!("ok"), &json!("all")), "{result}");
    assert_eq!(editor.buffers[URI].text, "and typed one!\n2\n");
    assert_ne!(result["edits"][0]["hunks"][0]["strategy"], "simple", "{result}");
    same_text_of(&mut editor).await;
    assert_eq!(disk.bytes("/w/notes.txt").unwrap(), b"one\ntwo\n");
    drop_news(&mut editor).await;
    assert_eq!(editor.leave().await, 0);
}
