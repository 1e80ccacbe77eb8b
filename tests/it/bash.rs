//! `bash` over the wire, with the real shell: how commands end, what they read, what they leave, what they change.

use std::path::PathBuf;

use ropewalk::ports::{Disk as _, Ports, SystemDisk};
use ropewalk::server::{self, ServeOptions};
use serde_json::{Value, json};

use crate::editor::FakeEditor;

/// An editor with a folder on the disk that holds `a.txt`; and what goes on beside it.
struct Desk {
    editor: FakeEditor,
    root: PathBuf,
    /// So many calls of `bash` were begun; the last one has this number.
    calls: usize,
    _folders: [tempfile::TempDir; 2],
}

impl Desk {
    async fn new(settings: Value) -> Desk {
        let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let [root, state] = [&folders[0], &folders[1]].map(|folder| SystemDisk.canonicalize(folder.path()).unwrap());
        SystemDisk.create(&root.join("a.txt"), b"one\n").unwrap();
        let options = ServeOptions { repeatable: true, state_dir: Some(state), ..ServeOptions::default() };
        let serve = |input, output| tokio::spawn(server::serve(input, output, Ports::system(), options));
        let mut editor = FakeEditor::start(serve);
        let mut settings = settings;
        settings["trusted"] = json!(true);
        settings["diagnostics"] = json!({ "ownServers": "off" });
        let params = json!({
            "processId": null,
            "workspaceFolders": [{ "uri": format!("file://{}", root.display()), "name": "w" }],
            "initializationOptions": settings,
            "capabilities": {
                "general": { "positionEncodings": ["utf-8"] },
                "workspace": { "applyEdit": true },
                "experimental": { "ropewalk": { "approve": true, "save": true, "events": true } },
            },
        });
        editor.ask("initialize", params).await;
        Desk { editor, root, calls: 0, _folders: folders }
    }

    fn uri(&self, name: &str) -> String {
        format!("file://{}", self.root.join(name).display())
    }

    /// Calls `bash`; the person says yes where it is asked about, which not every command is.
    async fn begin(&mut self, arguments: Value) -> i64 {
        self.calls += 1;
        let call = format!("b{}", self.calls);
        let params = json!({ "name": "bash", "callId": call, "arguments": arguments });
        let id = self.editor.request("ropewalk/callTool", params);
        let goes_on = |message: &Value| {
            message["method"] == "ropewalk/approve"
                || message["method"] == "ropewalk/save"
                || message["params"]["kind"] == "output" && message["params"]["callId"] == call.as_str()
                || message["id"] == id && message.get("method").is_none()
        };
        let message = self.editor.next_where(goes_on).await.unwrap();
        if message["method"] == "ropewalk/approve" {
            let decision = json!({ "callId": message["params"]["calls"][0]["callId"], "decision": "once" });
            self.editor.respond(&message["id"], json!({ "decisions": [decision] }));
        } else {
            self.editor.put_back(message);
        }
        id
    }

    async fn bash(&mut self, arguments: Value) -> Value {
        let id = self.begin(arguments).await;
        self.editor.result(id).await
    }

    async fn call(&mut self, name: &str, arguments: Value) -> Value {
        self.editor.ask("ropewalk/callTool", json!({ "name": name, "arguments": arguments })).await
    }

    async fn end(mut self) {
        self.editor.accept_rest();
        let mut editor = self.editor;
        editor.ask("shutdown", Value::Null).await;
        editor.notify("exit", Value::Null);
        assert_eq!(editor.exit_code().await, Some(0));
        editor.accept_rest();
    }
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_default()
}

/// The status of a call and its text.
fn told(result: &Value) -> (&str, &str) {
    (result["status"].as_str().unwrap_or_default(), text(result))
}

#[tokio::test]
async fn how_a_command_ends_is_told() {
    let mut desk = Desk::new(json!({})).await;
    for (command, status, words) in [
        ("echo out; cat a.txt", "ok", "out\none\nexit code 0"),
        ("echo no >&2; exit 3", "error", "no\nexit code 3"),
        ("kill -9 $$", "error", "(no output)\nended by signal 9 (KILL)"),
        ("printf '\\e[1mbold\\e[0m\\n 50%%\\r100%%'", "ok", "bold\n100%\nexit code 0"),
        ("printf '50%%\\r100%%\\n'", "ok", "100%\nexit code 0"),
        ("printf 'a\\0b\\xff\\n'", "ok", "a\u{2400}b\u{fffd}\nexit code 0"),
        ("exit 130", "error", "(no output)\nexit code 130 (as after signal 2, INT)"),
        // Nothing can be typed to it.
        ("cat; read x; echo \"<$x>\"", "ok", "<>\nexit code 0"),
        ("true --", "ok", "(no output)\nexit code 0"),
    ] {
        let result = desk.bash(json!({ "command": command })).await;
        assert_eq!(told(&result), (status, words), "{command}");
    }
    let result = desk.bash(json!({ "command": "tr a-z A-Z", "stdin": "text\n" })).await;
    assert_eq!(told(&result), ("ok", "TEXT\nexit code 0"));
    // Of what comes at the same time on two pipes nobody knows which was first.
    let result = desk.bash(json!({ "command": "echo out; echo err >&2" })).await;
    let mut lines: Vec<&str> = text(&result).lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["err", "exit code 0", "out"]);
    assert_eq!(
        (&result["structuredContent"]["stdoutBytes"], &result["structuredContent"]["stderrBytes"]),
        (&json!(4), &json!(4))
    );
    let result = desk.bash(json!({ "command": "exit 3" })).await;
    assert_eq!((&result["error"]["kind"], &result["error"]["data"]["exitCode"]), (&json!("failed"), &json!(3)));
    desk.end().await;
}

#[tokio::test]
async fn one_that_takes_too_long_is_stopped_with_what_it_put_out() {
    let mut desk = Desk::new(json!({})).await;
    let result = desk.bash(json!({ "command": "echo begun; sleep 1000", "timeout": 300 })).await;
    let words = "begun\ntimed out after 300 ms and was stopped (ended by signal 15 (TERM)); above";
    assert!(text(&result).starts_with(words), "{result}");
    assert_eq!((&result["error"]["kind"], &result["structuredContent"]["timedOut"]), (&json!("timeout"), &json!(true)));
    desk.end().await;
}

#[tokio::test]
async fn a_cancel_in_the_middle_of_output_keeps_it() {
    let mut desk = Desk::new(json!({})).await;
    let id = desk.begin(json!({ "command": "while echo going on; do :; done" })).await;
    let output = |message: &Value| message["params"]["kind"] == "output";
    let event = desk.editor.next_where(output).await.unwrap();
    assert!(event["params"]["detail"]["text"].as_str().unwrap().contains("going on\n"), "{event}");
    desk.editor.notify("$/cancelRequest", json!({ "id": id }));
    let result = desk.editor.result(id).await;
    assert_eq!((&result["status"], &result["error"]["kind"]), (&json!("cancelled"), &json!("cancelled")), "{result}");
    let (first, last) = (text(&result).lines().next().unwrap(), text(&result).lines().last().unwrap());
    assert_eq!(first, "going on");
    assert!(last.starts_with("cancelled and stopped (ended by signal "), "{last}");
    desk.end().await;
}

#[tokio::test]
async fn a_command_that_ends_is_answered_though_something_holds_its_pipe() {
    let mut desk = Desk::new(json!({})).await;
    for command in ["sleep 1000 & echo done", "(sleep 1000; echo late) & echo done"] {
        let result = desk.bash(json!({ "command": command })).await;
        let (status, words) = told(&result);
        let lines: Vec<&str> = words.lines().collect();
        assert_eq!((status, lines[0], lines[lines.len() - 1]), ("ok", "done", "exit code 0"), "{command}");
    }
    desk.end().await;
}

#[tokio::test]
async fn a_job_goes_on_and_its_end_is_told_with_a_later_result() {
    let mut desk = Desk::new(json!({})).await;
    let command = "echo begun; while [ ! -e go ]; do sleep 0.05; done; echo failed >&2; exit 7";
    let started = desk.bash(json!({ "command": command, "background": true, "description": "wait for it" })).await;
    assert_eq!((&started["status"], &started["structuredContent"]["jobId"]), (&json!("ok"), &json!("j1")), "{started}");
    loop {
        let output = desk.editor.ask("ropewalk/jobOutput", json!({ "id": "j1" })).await;
        if output["text"] == "begun\n" {
            break;
        }
        tokio::task::yield_now().await;
    }
    SystemDisk.create(&desk.root.join("go"), b"").unwrap();
    let ended = |message: &Value| message["params"]["jobs"][0]["state"] == "failed";
    desk.editor.next_where(ended).await.unwrap();
    let looked = desk.call("output", json!({ "id": "j1" })).await;
    assert!(text(&looked).starts_with("begun\nfailed\nexit code 7\n(output j1: "), "{looked}");
    let news = "Since then: job j1 (wait for it) failed: exit code 7; its output is kept: id \"j1\".";
    assert!(text(&looked).ends_with(news), "{looked}");
    desk.end().await;
}

#[tokio::test]
async fn unsaved_documents_are_named() {
    let mut desk = Desk::new(json!({})).await;
    let uri = desk.uri("a.txt");
    desk.editor.open(&uri, "one\n");
    let result = desk.bash(json!({ "command": "cat a.txt" })).await;
    assert_eq!(told(&result), ("ok", "one\nexit code 0"));
    desk.editor.splice(&uri, 0..3, "two");
    let result = desk.bash(json!({ "command": "cat a.txt" })).await;
    let words = "one\n[it read the disk, and did not see the unsaved text of a.txt]\nexit code 0";
    assert_eq!(told(&result), ("ok", words));
    desk.end().await;
}

#[tokio::test]
async fn where_that_is_wanted_they_are_saved_first() {
    let mut desk = Desk::new(json!({ "saveBeforeBash": true })).await;
    let uri = desk.uri("a.txt");
    desk.editor.open(&uri, "one\n");
    desk.editor.splice(&uri, 0..3, "two");
    let id = desk.begin(json!({ "command": "cat a.txt" })).await;
    let (save, params) = desk.editor.asked("ropewalk/save").await;
    assert_eq!(params["uris"], json!([uri]));
    SystemDisk.overwrite(&desk.root.join("a.txt"), b"two\n").unwrap();
    desk.editor.notify("textDocument/didSave", json!({ "textDocument": { "uri": uri } }));
    desk.editor.respond(&save, json!({ "failed": [] }));
    assert_eq!(told(&desk.editor.result(id).await), ("ok", "two\nexit code 0"));

    desk.editor.splice(&uri, 0..3, "six");
    let id = desk.begin(json!({ "command": "cat a.txt" })).await;
    let (save, _) = desk.editor.asked("ropewalk/save").await;
    desk.editor.respond(&save, json!({ "failed": [{ "uri": uri, "reason": "the disk is full" }] }));
    let words = "two\n[could not be saved before it ran: a.txt: the disk is full]\n\
                 [it read the disk, and did not see the unsaved text of a.txt]\nexit code 0";
    assert_eq!(told(&desk.editor.result(id).await), ("ok", words));
    desk.end().await;
}

#[tokio::test]
async fn what_was_saved_is_seen_on_the_disk_whatever_the_editor_answers() {
    let mut desk = Desk::new(json!({ "saveBeforeBash": true })).await;
    let (uri, file) = (desk.uri("a.txt"), desk.root.join("a.txt"));
    desk.editor.open(&uri, "one\n");
    // It was saved, and the user typed on before the editor said so: the command saw what it was to see.
    desk.editor.splice(&uri, 0..3, "two");
    let id = desk.begin(json!({ "command": "cat a.txt" })).await;
    let (save, _) = desk.editor.asked("ropewalk/save").await;
    SystemDisk.overwrite(&file, b"two\n").unwrap();
    desk.editor.notify("textDocument/didSave", json!({ "textDocument": { "uri": uri } }));
    desk.editor.splice(&uri, 0..3, "six");
    desk.editor.respond(&save, json!({ "failed": [] }));
    let words = "two\n[it read the disk, and did not see the unsaved text of a.txt]\nexit code 0";
    assert_eq!(told(&desk.editor.result(id).await), ("ok", words));
    // It was saved, and the editor broke down over the answer.
    let id = desk.begin(json!({ "command": "cat a.txt" })).await;
    let (save, _) = desk.editor.asked("ropewalk/save").await;
    SystemDisk.overwrite(&file, b"six\n").unwrap();
    desk.editor.send(&json!({ "jsonrpc": "2.0", "id": save, "error": { "code": -32603, "message": "broke" } }));
    assert_eq!(told(&desk.editor.result(id).await), ("ok", "six\nexit code 0"));
    // It was closed instead.
    desk.editor.splice(&uri, 0..3, "ten");
    let id = desk.begin(json!({ "command": "cat a.txt" })).await;
    let (save, _) = desk.editor.asked("ropewalk/save").await;
    desk.editor.notify("textDocument/didClose", json!({ "textDocument": { "uri": uri } }));
    desk.editor.respond(&save, json!({ "failed": [] }));
    let words = "six\n[could not be saved before it ran: a.txt: it was closed meanwhile]\nexit code 0";
    assert_eq!(told(&desk.editor.result(id).await), ("ok", words));
    desk.end().await;
}

#[tokio::test]
async fn an_editor_that_never_saves_is_not_waited_for_once_the_call_is_cancelled() {
    let mut desk = Desk::new(json!({ "saveBeforeBash": true })).await;
    let uri = desk.uri("a.txt");
    desk.editor.open(&uri, "two\n");
    let id = desk.begin(json!({ "command": "cat a.txt" })).await;
    let (save, _) = desk.editor.asked("ropewalk/save").await;
    // Another session goes on meanwhile.
    let params = json!({ "sessionId": "other", "name": "read", "arguments": { "file_path": "a.txt" } });
    assert_eq!(desk.editor.ask("ropewalk/callTool", params).await["status"], "ok");
    desk.editor.notify("$/cancelRequest", json!({ "id": id }));
    let words = "The call was cancelled before the command was run.";
    assert_eq!(told(&desk.editor.result(id).await), ("cancelled", words));
    let taken_back = |message: &Value| message["method"] == "$/cancelRequest" && message["params"]["id"] == save;
    desk.editor.next_where(taken_back).await.unwrap();
    let looked = desk.call("read", json!({ "file_path": "a.txt" })).await;
    assert_eq!(looked["status"], "ok", "{looked}");
    desk.end().await;
}

#[tokio::test]
async fn an_editor_that_does_not_read_gets_every_result_and_hears_how_much_it_missed() {
    let mut desk = Desk::new(json!({})).await;
    let command = "yes going on | head -c 900000; echo > done; exit 3";
    let id = desk.begin(json!({ "command": command })).await;
    desk.editor.read_on(false);
    let call = |session: usize| {
        let arguments = json!({ "file_path": "a.txt" });
        json!({ "sessionId": format!("s{session}"), "name": "read", "arguments": arguments })
    };
    let others: Vec<i64> = (0..100).map(|other| desk.editor.request("ropewalk/callTool", call(other))).collect();
    let done = desk.root.join("done");
    while SystemDisk.metadata(&done).is_err() {
        tokio::task::yield_now().await;
    }
    desk.editor.read_on(true);
    for other in others {
        assert_eq!(desk.editor.result(other).await["status"], "ok");
    }
    let result = desk.editor.result(id).await;
    assert!(text(&result).ends_with("going on\nexit code 3"), "{}", result["structuredContent"]);
    let (mut told, mut missed) = (0, 0);
    while let Some(event) = desk.editor.stashed(|message| message["params"]["kind"] == "output") {
        let detail = &event["params"]["detail"];
        told += detail["text"].as_str().unwrap().len() as u64;
        missed += detail["droppedBytes"].as_u64().unwrap_or(0);
    }
    assert_eq!(told + missed, 900_000);
    desk.end().await;
}

#[tokio::test]
async fn files_that_are_known_and_changed_are_told() {
    let mut desk = Desk::new(json!({})).await;
    let uri = desk.uri("a.txt");
    SystemDisk.create(&desk.root.join("b.txt"), b"one\n").unwrap();
    SystemDisk.create(&desk.root.join("c.txt"), b"one\n").unwrap();
    desk.editor.open(&uri, "one\n");
    desk.call("read", json!({ "file_path": "b.txt" })).await;
    let result = desk.bash(json!({ "command": "sed -i s/one/two/ a.txt b.txt c.txt" })).await;
    let words = "(no output)\n[changed on the disk by this command: a.txt, b.txt]\nexit code 0";
    assert_eq!(told(&result), ("ok", words));
    let news = desk.editor.next_where(|message| message["method"] == "ropewalk/filesChanged").await.unwrap();
    let changed = |name: &str| json!({ "uri": desk.uri(name), "type": "changed", "by": "agent" });
    assert_eq!(news["params"]["changes"], json!([changed("a.txt"), changed("b.txt")]));
    // Told once.
    let result = desk.bash(json!({ "command": "cat b.txt" })).await;
    assert!(
        text(&result).starts_with("two\n[it read the disk, and did not see the unsaved text of a.txt]"),
        "{result}"
    );
    let stale = desk.call("write", json!({ "file_path": "b.txt", "content": "three\n" })).await;
    assert_eq!(stale["error"]["kind"], "stale", "{stale}");
    desk.end().await;
}

/// The most memory that this process ever took (bytes), where that is known.
#[expect(clippy::disallowed_methods, reason = "the system's own account of a process is no file of anybody's")]
fn most_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().trim_end_matches(" kB").parse::<u64>().ok()? << 10)
}

#[tokio::test]
async fn two_hundred_megabytes_are_bounded_and_looked_at() {
    // Of so much a part gives way.
    let mut desk = Desk::new(json!({ "output": { "spillBytes": 32 << 20 } })).await;
    let before = most_memory();
    let line = "x".repeat(999);
    let command = format!("yes {line} | head -n 100000; seq 1 100; yes {line} | head -n 100000; exit 4");
    let result = desk.bash(json!({ "command": command })).await;
    assert_eq!((&result["status"], &result["error"]["data"]["exitCode"]), (&json!("error"), &json!(4)));
    let (shown, lost) = text(&result).rsplit_once('\n').unwrap();
    assert!(shown.starts_with(&line) && shown.ends_with("x\nexit code 4"));
    assert!(lost.ends_with(" lines, are kept nowhere: the output is too long]"), "{lost}");
    assert!(text(&result).len() <= 30_000);
    let output = &result["output"];
    let bytes = output["totalBytes"].as_u64().unwrap();
    assert!((32 << 20..44 << 20).contains(&bytes), "{output}");
    assert_eq!(result["structuredContent"]["stdoutBytes"], 200_000_292);
    if let (Some(before), Some(after)) = (before, most_memory()) {
        assert!(after - before < 48 << 20, "{before} {after}");
    }
    let id = output["id"].as_str().unwrap();
    let arguments = json!({ "id": id, "pattern": "kept nowhere", "context": 1 });
    let found = desk.call("output", arguments).await;
    let remark = text(&found).lines().nth(1).unwrap();
    assert!(remark.contains(" bytes, ") && remark.contains(" lines, are kept nowhere"), "{remark}");
    let row: u64 = remark.split(':').next().unwrap().parse().unwrap();
    let middle = desk.call("output", json!({ "id": id, "offset": row - 1, "limit": 3 })).await;
    let lines: Vec<&str> = text(&middle).lines().collect();
    assert_eq!((lines[0], lines[2]), (line.as_str(), line.as_str()));
    desk.end().await;
}
