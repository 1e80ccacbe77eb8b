//! A disk at which everything waits: nobody's typing does.

use std::sync::Arc;
use std::time::Duration;

use ropewalk::ports::{MemoryDisk, Ports};
use ropewalk::server::{self, Rooms, ServeOptions};
use serde_json::{Value, json};

use super::frail::Frail;
use crate::editor::FakeEditor;

const OPEN: &str = "file:///w/open.txt";

#[tokio::test]
async fn typing_does_not_wait_for_a_disk_that_answers_nothing() {
    let memory = Arc::new(MemoryDisk::new().with_file("/w/open.txt", "text").with_file("/w/closed.txt", "one\nold\n"));
    let disk = Frail::over(Arc::clone(&memory));
    let ports = Ports { disk: Arc::new(disk.clone()), ..Ports::system() };
    let options = ServeOptions { repeatable: true, ..ServeOptions::default() };
    let (sender, documents) = std::sync::mpsc::channel();
    // As in the program: the pipes on a thread of their own, and few others for the calls.
    let mut editor = FakeEditor::start(|input, output| {
        tokio::task::spawn_blocking(move || {
            let threads = tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build();
            let (inner, outer) = (ports.clone(), ports);
            threads.unwrap().block_on(server::serve_with(input, output, outer, options, move |editor| {
                let parts = server::assemble(inner, editor);
                sender.send(Arc::clone(&parts.documents)).unwrap();
                Rooms::of(&parts)
            }))
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
    let diagnostics = json!({ "uri": "file:///w/closed.txt", "deadlineMs": 50 });
    let diagnostics = editor.request("ropewalk/diagnostics", diagnostics);
    let stuck = async {
        while disk.waiting() == 0 {
            tokio::task::yield_now().await;
        }
    };
    stuck.await;
    for number in 0..500 {
        editor.splice(OPEN, 0..0, &(number % 10).to_string());
    }
    // Every key is applied while everything else waits.
    let documents = documents.recv().unwrap();
    let wanted = editor.buffers[OPEN].clone();
    let applied = async {
        loop {
            let now = documents.key_of(OPEN).and_then(|key| documents.get(&key)).expect("an open document");
            if now.version == wanted.version {
                return now.text.to_string();
            }
            tokio::task::yield_now().await;
        }
    };
    let text = tokio::time::timeout(Duration::from_mins(1), applied).await.expect("the typing is applied");
    assert_eq!(text, wanted.text);
    assert!(disk.waiting() > 0, "the disk still answers nothing");
    assert_eq!(memory.bytes("/w/new0.txt"), None);
    disk.open_gate();
    for id in calls {
        let result: Value = editor.result(id).await;
        assert_eq!(result["status"], "ok", "{result}");
    }
    let report: Value = editor.result(diagnostics).await;
    assert!(report["documents"].is_array(), "{report}");
    for number in 0..4 {
        assert_eq!(memory.bytes(format!("/w/new{number}.txt")).as_deref(), Some(&b"made\n"[..]));
    }
    editor.accept_rest();
    assert_eq!(editor.leave().await, 0);
}
