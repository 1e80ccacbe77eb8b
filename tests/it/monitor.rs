//! Commands in the background over the wire, with real shells: they are followed line by line, written to, and end with
//! their session.

use std::io::Read as _;
use std::path::Path;

use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::editor::FakeEditor;
use crate::files::{editor_in, end, folder, put, text};

/// Longer than anything takes here; nothing waits so long unless a test fails.
const LONG: u64 = 120_000;

/// An editor in a folder of its own, with a person who has allowed it all.
async fn editor(folder: &Path) -> FakeEditor {
    put(folder, "notes.txt", "one\n");
    editor_in(folder, json!({ "trusted": true, "permissions": { "allow": ["monitor"] } })).await
}

async fn result(editor: &mut FakeEditor, session: &str, arguments: Value) -> Value {
    let id =
        editor.request("ropewalk/callTool", json!({ "sessionId": session, "name": "monitor", "arguments": arguments }));
    editor.result(id).await
}

async fn said(editor: &mut FakeEditor, arguments: Value) -> String {
    let result = result(editor, "default", arguments).await;
    assert_eq!(result["status"], "ok", "{result}");
    text(&result).to_owned()
}

/// Reads until there is a line that matches, be it one that was shown with the answer to the start already.
async fn until(editor: &mut FakeEditor, id: &str, pattern: &str) -> String {
    said(editor, json!({ "action": "read", "id": id, "since": 0, "pattern": pattern, "wait": LONG })).await
}

/// Comes back when a job has printed this; what the model is told is not touched.
async fn printed(editor: &mut FakeEditor, session: &str, id: &str, words: &str) -> String {
    loop {
        let output = editor.ask("ropewalk/jobOutput", json!({ "sessionId": session, "id": id })).await;
        let text = output["text"].as_str().unwrap();
        if text.contains(words) {
            return text.to_owned();
        }
        assert_eq!(output["state"], "running", "{output}");
    }
}

async fn read_notes(editor: &mut FakeEditor, session: &str) -> String {
    let call = json!({ "sessionId": session, "name": "read", "arguments": { "file_path": "notes.txt" } });
    let id = editor.request("ropewalk/callTool", call);
    text(&editor.result(id).await).to_owned()
}

/// A pipe that commands hold open: it is read to its end when nobody holds it any more.
fn held(folder: &Path, name: &str) -> JoinHandle<String> {
    let pipe = folder.join(name);
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR).unwrap();
    tokio::task::spawn_blocking(move || {
        let mut all = String::new();
        std::fs::File::open(pipe).unwrap().read_to_string(&mut all).unwrap();
        all
    })
}

#[tokio::test]
async fn lines_ride_the_next_result_once() {
    let (_gone, folder) = folder();
    let mut editor = editor(&folder).await;
    let started =
        said(&mut editor, json!({ "command": "echo one; printf '\\033[1mtw' >&2; echo o >&2; exec cat" })).await;
    assert!(started.starts_with("Started monitor j1 (echo one;"), "{started}");
    printed(&mut editor, "default", "j1", "two\n").await;
    let told = read_notes(&mut editor, "default").await;
    // The two streams are two pipes: each in order, one beside the other.
    let (head, lines) = told.split_once("has put out 2 lines:\n").unwrap();
    assert!(head.contains("Since then monitor j1"), "{told}");
    assert!(lines == "| one\n! two" || lines == "! two\n| one", "{told}");
    assert!(!read_notes(&mut editor, "default").await.contains("Since then"));
    let list = said(&mut editor, json!({ "action": "list" })).await;
    assert!(list.ends_with("runs; 2 lines, 0 unread"), "{list}");
    let again = said(&mut editor, json!({ "action": "read", "id": "j1", "since": 1 })).await;
    assert!(again.contains("Line 1 of 2:") && again.ends_with("(next: since 2)"), "{again}");
    end(editor).await;
}

#[tokio::test]
async fn a_read_waits_for_its_line() {
    let (_gone, folder) = folder();
    let mut editor = editor(&folder).await;
    let command = "echo building; read go < go; echo listening on 8080; exec cat";
    rustix::fs::mkfifoat(rustix::fs::CWD, folder.join("go"), rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR).unwrap();
    said(&mut editor, json!({ "command": command, "description": "the server" })).await;
    let waiting = json!({ "action": "read", "id": "j1", "pattern": "listening on \\d+", "wait": LONG });
    let waiting = editor.request("ropewalk/callTool", json!({ "name": "monitor", "arguments": waiting }));
    printed(&mut editor, "default", "j1", "building").await;
    // Opening the pipe waits for its reader.
    let go = folder.join("go");
    tokio::task::spawn_blocking(move || put(go.parent().unwrap(), "go", "now\n")).await.unwrap();
    let told = editor.result(waiting).await;
    let words = "Monitor j1 (the server) runs. 1 line of 2:\n1 | listening on 8080\n\
                 (1 line without a match left out; next: since 2)";
    assert_eq!(text(&told), words);
    let nothing = said(&mut editor, json!({ "action": "read", "id": "j1", "wait": 1 })).await;
    assert_eq!(nothing, "Monitor j1 (the server) runs. There are no lines from 2 on.\n(next: since 2)");
    end(editor).await;
}

#[tokio::test]
async fn what_is_written_is_read_by_the_command() {
    let (_gone, folder) = folder();
    let mut editor = editor(&folder).await;
    // What is written is asked about like a command otherwise, whatever is allowed.
    editor.ask("ropewalk/setMode", json!({ "mode": "danger" })).await;
    said(&mut editor, json!({ "command": "cat" })).await;
    let wrote = said(&mut editor, json!({ "action": "write", "id": "j1", "text": "hello" })).await;
    assert!(wrote.starts_with("Wrote 6 bytes to monitor j1."), "{wrote}");
    let told = until(&mut editor, "j1", "hello").await;
    assert!(told.contains("0 | hello"), "{told}");
    // What has no line end is seen too, and can be waited for.
    said(&mut editor, json!({ "action": "write", "id": "j1", "text": "name? ", "newline": false })).await;
    let told = until(&mut editor, "j1", "\\? $").await;
    assert!(told.contains("(not ended yet)\n| name? \n"), "{told}");
    said(&mut editor, json!({ "action": "write", "id": "j1", "text": "me", "newline": false, "close_stdin": true }))
        .await;
    let told = said(&mut editor, json!({ "action": "read", "id": "j1", "pattern": "nothing", "wait": LONG })).await;
    assert!(told.starts_with("Monitor j1 (cat) ended: exit code 0."), "{told}");
    assert!(printed(&mut editor, "default", "j1", "me").await.ends_with("hello\nname? me"));
    let late = result(&mut editor, "default", json!({ "action": "write", "id": "j1", "text": "x" })).await;
    assert_eq!(late["error"]["kind"], "unavailable", "{late}");
    assert!(text(&late).starts_with("Monitor j1 (cat) ended: exit code 0; nothing can be written"), "{late}");

    // One that closes its input says so, and one that reads nothing holds up nobody.
    said(&mut editor, json!({ "command": "exec <&-; echo closed; exec sleep 1000" })).await;
    until(&mut editor, "j2", "closed").await;
    let closed = result(&mut editor, "default", json!({ "action": "write", "id": "j2", "text": "x" })).await;
    assert!(text(&closed).starts_with("Monitor j2 could not be written to: "), "{closed}");
    said(&mut editor, json!({ "command": "exec sleep 1000" })).await;
    let long = "x".repeat(200_000);
    let full = said(&mut editor, json!({ "action": "write", "id": "j3", "text": long })).await;
    assert!(full.starts_with("Monitor j3 has not read all of the 200001 bytes yet"), "{full}");
    end(editor).await;
}

#[tokio::test]
async fn one_that_is_stopped_gives_its_last_words() {
    let (_gone, folder) = folder();
    let pipe = held(&folder, "held");
    let mut editor = editor(&folder).await;
    let command = "exec 3> held; trap 'echo bye; exit 3' TERM; echo ready; while :; do sleep 0.02; done";
    said(&mut editor, json!({ "command": command, "description": "polite" })).await;
    until(&mut editor, "j1", "ready").await;
    let told = said(&mut editor, json!({ "action": "stop", "id": "j1" })).await;
    // The shell may have a word of its own about what else was ended.
    let (head, lines) = told.split_once('\n').unwrap();
    assert!(head.starts_with("Monitor j1 (polite) was stopped: exit code 3.") && lines.contains("| bye\n"), "{told}");
    assert_eq!(pipe.await.unwrap(), "", "nobody is left");
    let told = said(&mut editor, json!({ "action": "list" })).await;
    assert!(told.starts_with("j1 (polite) was stopped: exit code 3; ") && told.ends_with("0 unread"), "{told}");

    // By force, when it does not listen.
    let pipe = held(&folder, "deaf");
    let command = "exec 3> deaf; trap '' TERM; echo ready; while :; do sleep 1; done";
    said(&mut editor, json!({ "command": command, "description": "deaf" })).await;
    until(&mut editor, "j2", "ready").await;
    let told = said(&mut editor, json!({ "action": "stop", "id": "j2" })).await;
    assert!(told.starts_with("Monitor j2 (deaf) was stopped: by signal 9."), "{told}");
    assert_eq!(pipe.await.unwrap(), "");
    // Its time runs out.
    said(&mut editor, json!({ "command": "sleep 1000", "timeout": 1 })).await;
    let told = said(&mut editor, json!({ "action": "read", "id": "j3", "pattern": "x", "wait": LONG })).await;
    let words = "Monitor j3 (sleep 1000) failed: its timeout of 1 ms was over, and it was stopped (by signal 15).";
    assert!(told.starts_with(words), "{told}");
    end(editor).await;
}

#[tokio::test]
async fn five_run_at_a_time_in_a_session() {
    let (_gone, folder) = folder();
    let mut editor = editor(&folder).await;
    for number in 1..=5 {
        said(&mut editor, json!({ "command": "cat", "description": format!("number {number}") })).await;
    }
    let full = result(&mut editor, "default", json!({ "command": "cat" })).await;
    assert_eq!(full["error"]["kind"], "unavailable", "{full}");
    let words = "5 monitors run in this session, and no more than 5 may: j1 (number 1), j2 (number 2), j3 (number 3), \
                 j4 (number 4), j5 (number 5). Nothing was started; stop one of them first.";
    assert_eq!(text(&full), words);
    assert_eq!(result(&mut editor, "other", json!({ "command": "cat" })).await["status"], "ok");
    said(&mut editor, json!({ "action": "stop", "id": "j2" })).await;
    let told = said(&mut editor, json!({ "command": "cat" })).await;
    assert!(told.starts_with("Started monitor j6 (cat)."), "{told}");
    end(editor).await;
}

#[tokio::test]
async fn they_belong_to_their_session_and_end_with_it() {
    let (_gone, folder) = folder();
    let mut editor = editor(&folder).await;
    for (session, method) in [("one", "ropewalk/closeSession"), ("two", "ropewalk/resetSession")] {
        let pipe = held(&folder, session);
        let command = format!("exec 3> {session}; sleep 1000 & echo of {session}; exec cat");
        let started = result(&mut editor, session, json!({ "command": command, "description": session })).await;
        assert!(text(&started).starts_with("Started monitor j1"), "{started}");
        printed(&mut editor, session, "j1", "of ").await;
        // Nobody else sees it, hears of it or stops it.
        let none = result(&mut editor, "else", json!({ "action": "list" })).await;
        assert_eq!(text(&none), "There are no monitors in this session.");
        let none = result(&mut editor, "else", json!({ "action": "stop", "id": "j1" })).await;
        assert_eq!(none["error"]["kind"], "notFound", "{none}");
        assert!(read_notes(&mut editor, session).await.ends_with(&format!("| of {session}")));
        // The end of a turn is none of it.
        editor.ask("ropewalk/endTurn", json!({ "sessionId": session, "turnId": "t1" })).await;
        assert_eq!(editor.ask("ropewalk/jobs", json!({ "sessionId": session })).await["jobs"][0]["state"], "running");
        editor.ask(method, json!({ "sessionId": session })).await;
        assert_eq!(pipe.await.unwrap(), "", "nobody is left");
        let none = result(&mut editor, session, json!({ "action": "list" })).await;
        assert_eq!(text(&none), "There are no monitors in this session.");
    }
    // And with us.
    let pipe = held(&folder, "three");
    said(&mut editor, json!({ "command": "exec 3> three; echo ready; exec sleep 1000", "timeout": 0 })).await;
    until(&mut editor, "j1", "ready").await;
    end(editor).await;
    assert_eq!(pipe.await.unwrap(), "");
}

#[tokio::test]
async fn a_pane_sees_reads_and_stops_it() {
    let (_gone, folder) = folder();
    let mut editor = editor(&folder).await;
    said(&mut editor, json!({ "command": "printf '\\033[1mbold\\033[0m\\n'; exec cat", "description": "bold" })).await;
    assert_eq!(printed(&mut editor, "default", "j1", "\n").await, "\u{1b}[1mbold\u{1b}[0m\n", "as it was printed");
    let jobs = editor.ask("ropewalk/jobs", json!({})).await;
    let row = json!({ "id": "j1", "label": "bold", "state": "running", "outputBytes": 13, "droppedBytes": 0 });
    assert_eq!(jobs["jobs"], json!([row]));
    assert_eq!(editor.ask("ropewalk/stopJob", json!({ "id": "j1" })).await, json!({ "stopped": true }));
    let row = loop {
        let jobs = editor.ask("ropewalk/jobs", json!({})).await;
        if jobs["jobs"][0]["state"] != "running" {
            break jobs["jobs"][0].clone();
        }
    };
    assert_eq!((&row["state"], &row["detail"]), (&json!("stopped"), &json!("by signal 15")), "{row}");
    let told = read_notes(&mut editor, "default").await;
    let words = "has put out 1 line:\n| bold\nSince then: job j1 (bold) was stopped: by signal 15.";
    assert!(told.ends_with(words), "{told}");
    end(editor).await;
}

#[tokio::test]
async fn a_million_lines_are_bounded_and_counted() {
    let (_gone, folder) = folder();
    let mut editor = editor(&folder).await;
    said(&mut editor, json!({ "command": "seq 1000000", "description": "count" })).await;
    let told = until(&mut editor, "j1", "^1000000$").await;
    assert!(
        told.contains(" 1 line of 1000000:\n999999 | 1000000\n(999000 lines from 0 on not kept any more;"),
        "{told}"
    );
    let told = said(&mut editor, json!({ "action": "read", "id": "j1", "pattern": "never", "wait": LONG })).await;
    assert!(told.starts_with("Monitor j1 (count) ended: exit code 0."), "{told}");
    let all =
        result(&mut editor, "default", json!({ "action": "read", "id": "j1", "since": 0, "limit": 1_000_000 })).await;
    let data = &all["structuredContent"];
    assert_eq!((&data["total"], &data["next"]), (&json!(1_000_000), &json!(1_000_000)), "{all}");
    let (dropped, lines) = (data["dropped"].as_u64().unwrap(), data["lines"].as_array().unwrap());
    assert_eq!((dropped + lines.len() as u64, lines.len()), (1_000_000, 1000));
    assert_eq!(lines[999], json!({ "number": 999_999, "stream": "stdout", "text": "1000000" }));
    assert!(text(&all).contains("(999000 lines from 0 on not kept any more; next: since 1000000)"), "{all}");
    let output = editor.ask("ropewalk/jobOutput", json!({ "id": "j1" })).await;
    assert!(output["text"].as_str().unwrap().len() <= 256 * 1024 && output["dropped"].as_u64() > Some(6_000_000));
    end(editor).await;
}
