//! Sessions over the wire: what they ask for, what they remember, and what survives a restart.

use std::path::Path;
use std::sync::Arc;

use ropewalk::ports::{MemoryDisk, Ports};
use ropewalk::server::{self, ServeOptions};
use rusqlite::Connection;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::editor::{FakeEditor, Manner};
use crate::real::{URI, editor_with_notes};

/// An editor with the folder `/w` in memory, and a sidecar that keeps sessions in a real folder.
async fn keeping(state: &Path, settings: Value) -> FakeEditor {
    let disk = MemoryDisk::new().with_file("/w/notes.txt", "one\ntwo\n");
    let ports = Ports { disk: Arc::new(disk), ..Ports::system() };
    let options = ServeOptions { state_dir: Some(state.to_owned()), ..ServeOptions::default() };
    let mut editor = FakeEditor::start(|input, output| tokio::spawn(server::serve(input, output, ports, options)));
    let params = json!({
        "processId": null,
        "workspaceFolders": [{ "uri": "file:///w", "name": "w" }],
        "initializationOptions": settings,
        "capabilities": { "workspace": { "applyEdit": true }, "experimental": { "ropewalk": { "approve": true } } },
    });
    editor.ask("initialize", params).await;
    editor
}

fn own_servers_off() -> Value {
    json!({ "diagnostics": { "ownServers": "off" } })
}

async fn call(editor: &mut FakeEditor, params: Value) -> Value {
    editor.ask("ropewalk/callTool", params).await
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_default()
}

fn todo(content: &str) -> Value {
    json!({ "content": content, "status": "in_progress" })
}

#[tokio::test]
async fn a_session_survives_a_restart() {
    let state = tempfile::tempdir().unwrap();
    let mut editor = keeping(state.path(), own_servers_off()).await;
    let opened = editor.ask("ropewalk/openSession", json!({ "sessionId": "pane", "label": "Pane" })).await;
    assert_eq!((&opened["restored"], &opened["mode"]), (&json!(false), &json!("build")), "{opened}");
    let list = json!({ "sessionId": "pane", "name": "todowrite", "arguments": { "todos": [todo("Tie the knot")] } });
    let result = call(&mut editor, list).await;
    assert_eq!(text(&result), "1 of 1 tasks are open.\n[~] 1. Tie the knot", "{result}");
    editor.ask("ropewalk/setMode", json!({ "sessionId": "pane", "mode": "review" })).await;
    let danger = editor.ask("ropewalk/setMode", json!({ "sessionId": "other", "mode": "danger" })).await;
    assert_eq!(danger["mode"], "danger");
    // A person's consent for the session.
    let outside = json!({ "sessionId": "pane", "callId": "r1", "name": "read", "arguments": { "file_path": "/x" } });
    let id = editor.request("ropewalk/callTool", outside.clone());
    let (question, _) = editor.asked("ropewalk/approve").await;
    editor.respond(&question, json!({ "decisions": [{ "callId": "r1", "decision": "session" }] }));
    editor.result(id).await;
    assert_eq!(editor.leave().await, 0);

    let mut editor = keeping(state.path(), own_servers_off()).await;
    // Sent without waiting for anything: each is done in its turn, once the session is back.
    let todos = editor.request("ropewalk/todos", json!({ "sessionId": "pane" }));
    let status = editor.request("ropewalk/status", json!({ "sessionId": "pane" }));
    let again = editor.request("ropewalk/callTool", outside);
    let todos = editor.result(todos).await;
    assert_eq!(todos["todos"][0]["content"], "Tie the knot", "{todos}");
    let status = editor.result(status).await;
    assert_eq!((&status["mode"], &status["store"]["kept"]), (&json!("review"), &json!(true)), "{status}");
    // Not asked again; there is no such file.
    assert_eq!(editor.result(again).await["error"]["kind"], "notFound");
    let opened = editor.ask("ropewalk/openSession", json!({ "sessionId": "pane" })).await;
    assert_eq!((&opened["restored"], &opened["label"]), (&json!(true), &json!("Pane")), "{opened}");
    let other = editor.ask("ropewalk/status", json!({ "sessionId": "other" })).await;
    assert_eq!(other["mode"], "build", "danger is never kept");
    // What is reset is gone for good.
    editor.ask("ropewalk/resetSession", json!({ "sessionId": "pane" })).await;
    assert_eq!(editor.leave().await, 0);
    let mut editor = keeping(state.path(), own_servers_off()).await;
    assert_eq!(editor.ask("ropewalk/todos", json!({ "sessionId": "pane" })).await, json!({ "todos": [] }));
    assert_eq!(editor.leave().await, 0);
}

/// Without a store the sessions go on in memory, which is told once.
async fn goes_on_in_memory(state: &Path, why: &str) {
    let mut editor = keeping(state, own_servers_off()).await;
    for number in 0..3 {
        let params =
            json!({ "sessionId": "pane", "name": "todowrite", "arguments": { "todos": [todo(&number.to_string())] } });
        assert_eq!(call(&mut editor, params).await["status"], "ok");
    }
    let todos = editor.ask("ropewalk/todos", json!({ "sessionId": "pane" })).await;
    assert_eq!(todos["todos"][0]["content"], "2");
    let status = editor.ask("ropewalk/status", json!({ "sessionId": "pane" })).await;
    assert_eq!(status["store"]["kept"], false, "{status}");
    assert!(status["store"]["reason"].as_str().unwrap().contains(why), "{status}");
    let told = editor.next_where(|message| message["method"] == "window/logMessage").await.unwrap();
    assert!(told["params"]["message"].as_str().unwrap().contains(why), "{told}");
    // Whatever else was told would be found unread when the editor is dropped.
    assert_eq!(editor.leave().await, 0);
}

#[tokio::test]
async fn a_broken_database_costs_only_itself() {
    let file = |state: &TempDir| state.path().join("sessions.sqlite");
    let damaged = tempfile::tempdir().unwrap();
    let bytes = b"no database at all ".repeat(500);
    put(&file(&damaged), &bytes);
    goes_on_in_memory(damaged.path(), "damaged").await;
    assert_eq!(get(&file(&damaged)), bytes);
    let newer = tempfile::tempdir().unwrap();
    put(&file(&newer), b"");
    Connection::open(file(&newer)).unwrap().execute_batch("CREATE TABLE t (a); PRAGMA user_version = 9").unwrap();
    goes_on_in_memory(newer.path(), "newer version").await;
    let locked = tempfile::tempdir().unwrap();
    put(&file(&locked), b"");
    let holder = Connection::open(file(&locked)).unwrap();
    holder.execute_batch("BEGIN EXCLUSIVE").unwrap();
    goes_on_in_memory(locked.path(), "another program holds it").await;
}

#[expect(clippy::disallowed_methods, reason = "the database is a real file")]
fn put(path: &Path, bytes: &[u8]) {
    std::fs::write(path, bytes).unwrap();
}

#[expect(clippy::disallowed_methods, reason = "the database is a real file")]
fn get(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap()
}

#[tokio::test(start_paused = true)]
async fn in_plan_mode_nothing_is_changed() {
    let (mut editor, _) = editor_with_notes().await;
    let effective = editor.ask("ropewalk/setMode", json!({ "mode": "plan" })).await;
    assert_eq!(effective["mode"], "plan");
    let told = editor.stashed(|message| message["method"] == "ropewalk/modeChanged").unwrap();
    assert_eq!(told["params"], json!({ "sessionId": "default", "mode": "plan" }));
    let edit = json!({ "file_path": "notes.txt", "old_string": "two", "new_string": "2" });
    let denied = call(&mut editor, json!({ "name": "edit", "arguments": edit })).await;
    assert_eq!(denied["status"], "denied", "{denied}");
    assert!(text(&denied).contains("plan"), "{denied}");
    assert_eq!(
        call(&mut editor, json!({ "name": "read", "arguments": { "file_path": "notes.txt" } })).await["status"],
        "ok"
    );
    // A pane cannot undo what the person chose; the person can.
    let asked = editor.ask("ropewalk/updateSession", json!({ "mode": "build" })).await;
    assert_eq!((&asked["mode"], &asked["notGranted"][0]["field"]), (&json!("plan"), &json!("mode")), "{asked}");
    editor.ask("ropewalk/setMode", json!({ "mode": "build" })).await;
    let edit = editor.request("ropewalk/callTool", json!({ "name": "edit", "arguments": edit }));
    editor.serve_edit(Manner::Apply).await;
    assert_eq!(editor.result(edit).await["status"], "ok");
    editor.accept_rest();
    assert_eq!(editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn in_review_mode_a_change_is_asked_about() {
    let (mut editor, _) = editor_with_notes().await;
    let rules = json!({ "allow": ["edit(notes.txt)"], "deny": ["read(secret/**)"] });
    let opened = editor.ask("ropewalk/openSession", json!({ "mode": "review", "rules": rules, "apply": "now" })).await;
    assert_eq!((&opened["mode"], &opened["apply"]), (&json!("review"), &json!("now")), "{opened}");
    let new = json!({ "callId": "w", "name": "write", "arguments": { "file_path": "new.txt", "content": "new\n" } });
    let write = editor.request("ropewalk/callTool", new);
    let (question, asked) = editor.asked("ropewalk/approve").await;
    assert!(asked["calls"][0]["reason"].as_str().unwrap().contains("review"), "{asked}");
    editor.respond(&question, json!({ "decisions": [{ "callId": "w", "decision": "once" }] }));
    assert_eq!(editor.result(write).await["status"], "ok");
    // Its own rule lets this pass, for the user's settings would.
    let edit = json!({ "file_path": "notes.txt", "old_string": "two", "new_string": "2" });
    let edit = editor.request("ropewalk/callTool", json!({ "name": "edit", "arguments": edit }));
    editor.serve_edit(Manner::Apply).await;
    assert_eq!(editor.result(edit).await["status"], "ok");
    let secret = call(&mut editor, json!({ "name": "read", "arguments": { "file_path": "secret/a" } })).await;
    assert_eq!(secret["status"], "denied", "{secret}");
    editor.accept_rest();
    assert_eq!(editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn what_left_the_context_is_read_again_before_it_is_overwritten() {
    let forgets = [
        json!({ "callIds": ["r"] }),
        json!({ "uris": ["notes.txt"] }),
        json!({ "uris": ["/w/notes.txt"] }),
        json!({ "uris": [URI] }),
        json!({ "uris": ["file:///w/%6Eotes.txt"] }),
    ];
    for forget in forgets {
        let (mut editor, _) = editor_with_notes().await;
        call(&mut editor, json!({ "callId": "r", "name": "read", "arguments": { "file_path": "notes.txt" } })).await;
        let forgotten = editor.ask("ropewalk/forget", forget.clone()).await;
        assert_eq!(forgotten, json!({ "forgotten": 1 }), "{forget}");
        let write = json!({ "name": "write", "arguments": { "file_path": "notes.txt", "content": "x\n" } });
        let refused = call(&mut editor, write.clone()).await;
        assert_eq!(refused["error"]["kind"], "stale", "{forget} {refused}");
        // The pane shows it itself: an old version does not count, a part is a part, and the whole is enough.
        let version = editor.buffers[URI].version;
        let old = editor.ask("ropewalk/didShow", json!({ "uri": URI, "version": version - 1 })).await;
        assert_eq!(old["seen"], false, "{old}");
        let line = json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 1, "character": 0 } });
        editor.ask("ropewalk/didShow", json!({ "uri": URI, "version": version, "range": line })).await;
        let refused = call(&mut editor, write.clone()).await;
        assert!(text(&refused).contains("lines 2-2 were not"), "{refused}");
        let shown = editor.ask("ropewalk/didShow", json!({ "uri": URI, "version": version })).await;
        assert_eq!(shown, json!({ "seen": true }));
        let write = editor.request("ropewalk/callTool", write);
        editor.serve_edit(Manner::Apply).await;
        assert_eq!(editor.result(write).await["status"], "ok");
        editor.accept_rest();
        assert_eq!(editor.leave().await, 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_model_that_goes_in_circles_is_stopped_for_its_turn() {
    let (mut editor, _) = editor_with_notes().await;
    let read = json!({ "turnId": "t", "name": "read", "arguments": { "file_path": "notes.txt" } });
    for status in ["ok", "ok", "denied"] {
        assert_eq!(call(&mut editor, read.clone()).await["status"], status);
    }
    // Somebody typed: there is something to see again.
    editor.splice(URI, 0..0, "more ");
    assert_eq!(call(&mut editor, read.clone()).await["status"], "ok");
    let mut unnamed = read.clone();
    unnamed.as_object_mut().unwrap().remove("turnId");
    for note in [false, false, true] {
        let result = call(&mut editor, unnamed.clone()).await;
        assert_eq!((&result["status"], text(&result).contains("2 times already")), (&json!("ok"), note), "{result}");
    }
    // The same edit, on the same text.
    let edit = json!({ "turnId": "t", "name": "edit",
        "arguments": { "file_path": "notes.txt", "old_string": "not here at all", "new_string": "x" } });
    assert_eq!(call(&mut editor, edit.clone()).await["error"]["kind"], "notFound");
    let refused = call(&mut editor, edit.clone()).await;
    assert_eq!((&refused["status"], &refused["error"]["data"]["guard"]), (&json!("denied"), &json!("repeats")));
    editor.splice(URI, 0..0, "and ");
    assert_eq!(call(&mut editor, edit).await["error"]["kind"], "notFound");
    // A tool that fails and fails.
    for number in 3..=8 {
        let edit = json!({ "turnId": "t", "name": "edit",
            "arguments": { "file_path": "notes.txt", "old_string": format!("nowhere {number}"), "new_string": "x" } });
        let failed = call(&mut editor, edit).await;
        assert_eq!(failed["error"]["kind"], "notFound", "{failed}");
        assert_eq!(text(&failed).contains("times in a row"), number == 3 || number == 8, "{failed}");
    }
    let status = editor.ask("ropewalk/status", json!({})).await;
    assert_eq!(status["guards"][1]["failures"][0], json!({ "name": "edit", "inARow": 8, "halted": true }), "{status}");
    let good = json!({ "turnId": "t", "name": "edit",
        "arguments": { "file_path": "notes.txt", "old_string": "two", "new_string": "2" } });
    assert_eq!(call(&mut editor, good.clone()).await["status"], "denied");
    editor.ask("ropewalk/endTurn", json!({ "turnId": "t" })).await;
    let edit = editor.request("ropewalk/callTool", good);
    editor.serve_edit(Manner::Apply).await;
    assert_eq!(editor.result(edit).await["status"], "ok");
    let back = json!({ "turnId": "t", "name": "edit",
        "arguments": { "file_path": "notes.txt", "old_string": "2", "new_string": "two" } });
    let back = editor.request("ropewalk/callTool", back);
    editor.serve_edit(Manner::Apply).await;
    let result = editor.result(back).await;
    assert!(text(&result).contains("it undoes that edit"), "{result}");
    editor.accept_rest();
    assert_eq!(editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_session_is_closed_with_its_calls() {
    let (mut editor, disk) = editor_with_notes().await;
    disk.put("/elsewhere/plan.txt", "a plan\n");
    let outside = json!({ "sessionId": "pane", "name": "read", "arguments": { "file_path": "/elsewhere/plan.txt" } });
    let read = editor.request("ropewalk/callTool", outside);
    editor.asked("ropewalk/approve").await;
    assert_eq!(editor.ask("ropewalk/closeSession", json!({ "sessionId": "pane" })).await, json!({ "cancelled": 1 }));
    assert_eq!(editor.result(read).await["status"], "cancelled");
    let tools = json!({ "sessionId": "pane", "tools": { "disable": ["edit"] } });
    editor.ask("ropewalk/openSession", tools).await;
    let listed = editor.ask("ropewalk/listTools", json!({ "sessionId": "pane" })).await;
    let names: Vec<&str> =
        listed["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"write") && !names.contains(&"edit"), "{names:?}");
    // What cannot be taken is told as such.
    let long = "x".repeat(300);
    for (method, params) in [
        ("ropewalk/openSession", json!({ "sessionId": long })),
        ("ropewalk/endTurn", json!({ "turnId": long })),
        ("ropewalk/endTurn", json!({})),
        ("ropewalk/setMode", json!({ "mode": "reckless" })),
        ("ropewalk/openSession", json!({ "label": "x".repeat(5000) })),
        ("ropewalk/todos", json!({ "todos": [{ "id": "1", "content": " ", "status": "pending" }] })),
    ] {
        let id = editor.request(method, params);
        assert_eq!(editor.error_code(id).await, -32602, "{method}");
    }
    editor.accept_rest();
    assert_eq!(editor.leave().await, 0);
}

#[tokio::test]
async fn consent_for_good_survives_a_restart_and_holds_in_every_session() {
    let state = tempfile::tempdir().unwrap();
    let outside = |session: &str, call: &str| json!({ "sessionId": session, "callId": call, "name": "read", "arguments": { "file_path": "/x" } });
    let mut editor = keeping(state.path(), own_servers_off()).await;
    let id = editor.request("ropewalk/callTool", outside("one", "r1"));
    let (question, asked) = editor.asked("ropewalk/approve").await;
    assert_eq!(asked["calls"][0]["suggestedRule"], "read(//x)", "{asked}");
    editor.respond(&question, json!({ "decisions": [{ "callId": "r1", "decision": "always" }] }));
    editor.result(id).await;
    editor.ask("ropewalk/resetSession", json!({ "sessionId": "one" })).await;
    assert_eq!(editor.leave().await, 0);

    let mut editor = keeping(state.path(), own_servers_off()).await;
    // Not asked: there is no such file.
    assert_eq!(call(&mut editor, outside("two", "r1")).await["error"]["kind"], "notFound");
    let grants = editor.ask("ropewalk/grants", json!({ "sessionId": "three" })).await;
    assert_eq!((&grants["grants"][0]["scope"], &grants["grants"][0]["targets"]), (&json!("always"), &json!(["/x"])));
    let revoke = json!({ "sessionId": "three", "revoke": [grants["grants"][0]["id"]] });
    assert_eq!(editor.ask("ropewalk/grants", revoke).await, json!({ "grants": [] }));
    assert_eq!(editor.leave().await, 0);

    let mut editor = keeping(state.path(), own_servers_off()).await;
    let id = editor.request("ropewalk/callTool", outside("two", "r1"));
    let (question, _) = editor.asked("ropewalk/approve").await;
    editor.respond(&question, json!({ "decisions": [{ "callId": "r1", "decision": "deny" }] }));
    assert_eq!(editor.result(id).await["status"], "denied");
    assert_eq!(editor.leave().await, 0);
}
