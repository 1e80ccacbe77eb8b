//! A disk at which everything waits: nobody's typing does.

use std::path::Path;
use std::sync::Arc;

use ropewalk::ports::{MemoryDisk, Ports};
use ropewalk::server::{self, ServeOptions};
use serde_json::{Value, json};

use super::frail::Frail;
use crate::editor::FakeEditor;

const OPEN: &str = "file:///w/open.txt";

#[tokio::test]
async fn typing_does_not_wait_for_a_disk_that_answers_nothing() {
    let memory = Arc::new(
        MemoryDisk::new().with_file("/w/open.txt", "text").with_file("/w/closed.txt", "one\nold\n").with_dir("/state"),
    );
    let disk = Frail::over(Arc::clone(&memory));
    let ports = Ports { disk: Arc::new(disk.clone()), ..Ports::system() };
    let options =
        ServeOptions { repeatable: true, state_dir: Some(Path::new("/state").to_owned()), ..ServeOptions::default() };
    // As in the program: the pipes on a thread of their own, and few others for the calls.
    let mut editor = FakeEditor::start(|input, output| {
        tokio::task::spawn_blocking(move || {
            let threads = tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build();
            threads.unwrap().block_on(server::serve(input, output, ports, options))
        })
    });
    let params = json!({
        "processId": null,
        "workspaceFolders": [{ "uri": "file:///w", "name": "w" }],
        "initializationOptions": { "diagnostics": { "ownServers": "off" }, "freshness": "off" },
        "capabilities": {
            "general": { "positionEncodings": ["utf-8"] },
            "workspace": { "applyEdit": true },
        },
    });
    editor.ask("initialize", params).await;
    editor.notify("initialized", json!({}));
    editor.open(OPEN, "text");
    editor.ask("ropewalk/settle", json!({ "deadlineMs": 60_000 })).await;
    disk.shut_gate();
    let mut calls = Vec::new();
    for number in 0..4 {
        for (name, arguments) in [
            ("read", json!({ "file_path": "closed.txt" })),
            ("grep", json!({ "pattern": "old" })),
            ("glob", json!({ "pattern": "*" })),
            ("write", json!({ "file_path": format!("new{number}.txt"), "content": "made\n" })),
        ] {
            let params = json!({ "sessionId": format!("{name}{number}"), "name": name, "arguments": arguments });
            calls.push(editor.request("ropewalk/callTool", params));
        }
    }
    let stuck = async {
        while disk.waiting() == 0 {
            tokio::task::yield_now().await;
        }
    };
    stuck.await;
    for number in 0..500 {
        editor.splice(OPEN, 0..0, &(number % 10).to_string());
    }
    // It is answered while everything else waits.
    let told = editor.ask("ropewalk/documentText", json!({ "uri": OPEN })).await;
    let buffer = &editor.buffers[OPEN];
    assert_eq!((&told["version"], &told["text"]), (&json!(buffer.version), &json!(buffer.text)));
    assert!(disk.waiting() > 0, "the disk still answers nothing");
    assert_eq!(memory.bytes("/w/new0.txt"), None);
    disk.open_gate();
    for id in calls {
        let result: Value = editor.result(id).await;
        assert_eq!(result["status"], "ok", "{result}");
    }
    for number in 0..4 {
        assert_eq!(memory.bytes(format!("/w/new{number}.txt")).as_deref(), Some(&b"made\n"[..]));
    }
    editor.accept_rest();
    assert_eq!(editor.leave().await, 0);
}
