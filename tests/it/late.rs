//! Diagnostics that come after the result of their edit, over the wire: the next result has them, and an event.

use ropewalk::ports::Ports;
use ropewalk::server::{self, ServeOptions};
use serde_json::{Value, json};

use crate::editor::{FakeEditor, Manner};

/// An editor in a trusted folder, whose text files have a fake language server that behaves as `script` says.
struct Bench {
    editor: FakeEditor,
    _folder: tempfile::TempDir,
    uri: String,
}

impl Bench {
    async fn new(script: Value) -> Bench {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let options = ServeOptions { trusted: vec![root.clone()], ..ServeOptions::default() };
        let serve = |input, output| tokio::spawn(server::serve(input, output, Ports::system(), options));
        let mut editor = FakeEditor::start(serve);
        let command = [env!("CARGO_BIN_EXE_ropewalk").to_owned(), "fake-server".to_owned(), script.to_string()];
        let uri = |path: &std::path::Path| url::Url::from_file_path(path).unwrap().to_string();
        let params = json!({
            "processId": null,
            "workspaceFolders": [{ "uri": uri(&root), "name": "w" }],
            "initializationOptions": {
                "diagnostics": { "servers": { "fake": { "command": command, "languages": ["text"] } } },
            },
            "capabilities": {
                "general": { "positionEncodings": ["utf-8"] },
                "workspace": { "applyEdit": true, "configuration": true },
                "experimental": { "ropewalk": { "events": true } },
            },
        });
        editor.ask("initialize", params).await;
        editor.notify("initialized", json!({}));
        let uri = uri(&root.join("a.txt"));
        editor.open(&uri, "one\ntwo\n");
        let mut bench = Bench { editor, _folder: folder, uri };
        bench.call("read", json!({ "file_path": "a.txt" })).await;
        bench
    }

    async fn call(&mut self, name: &str, arguments: Value) -> Value {
        self.editor.ask("ropewalk/callTool", json!({ "name": name, "arguments": arguments })).await
    }

    /// An edit that waits no longer than so long (ms).
    async fn edit(&mut self, old: &str, new: &str, deadline_ms: u64) -> Value {
        let arguments = json!({ "file_path": "a.txt", "old_string": old, "new_string": new });
        let call = json!({ "name": "edit", "arguments": arguments, "diagnostics": { "deadlineMs": deadline_ms } });
        let id = self.editor.request("ropewalk/callTool", call);
        self.editor.serve_edit(Manner::Apply).await;
        self.editor.result(id).await
    }

    /// What the editor is told when something comes late.
    async fn late(&mut self) -> Value {
        let event = self.editor.next_where(|message| message["method"] == "ropewalk/lateDiagnostics").await;
        event.expect("late diagnostics")["params"].clone()
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        // Of the calls themselves others have tests.
        self.editor.accept_rest();
    }
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap()
}

fn verdict(report: &Value) -> &Value {
    &report["documents"][0]["sources"][0]["verdict"]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cold_start_that_exceeds_its_budget_arrives_with_the_next_result() {
    // It starts slowly, and says nothing before the file is saved.
    let mut bench = Bench::new(json!({
        "rules": [{ "pattern": "BAD", "message": "$0 is bad" }],
        "firstDelays": { "initialize": 300 },
        "holds": { "textDocument/publishDiagnostics": "textDocument/didSave" },
    }))
    .await;
    let result = bench.edit("one", "BAD", 100).await;
    assert_eq!(verdict(&result["diagnostics"]), "pending", "{result}");
    assert!(text(&result).contains("not checked yet") && !text(&result).contains("no errors"), "{result}");
    bench.editor.notify("textDocument/didSave", json!({ "textDocument": { "uri": bench.uri } }));
    let event = bench.late().await;
    assert_eq!((verdict(&event), &event["documents"][0]["version"]), (&json!("fresh"), &json!(2)), "{event}");
    let next = bench.call("read", json!({ "file_path": "a.txt" })).await;
    assert_eq!(next["diagnostics"]["documents"], event["documents"], "{next}");
    let words = "Since then, about earlier edits:";
    assert!(text(&next).contains(words) && text(&next).contains("BAD is bad"), "{next}");
    // Once.
    let last = bench.call("read", json!({ "file_path": "a.txt" })).await;
    assert!(last["diagnostics"].is_null() && !text(&last).contains(words), "{last}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_to_a_newer_edit_takes_the_place_of_one_that_is_late() {
    let mut bench = Bench::new(json!({
        "rules": [{ "pattern": "BAD", "message": "$0 is bad" }],
        "holds": { "textDocument/publishDiagnostics": "textDocument/didSave" },
    }))
    .await;
    let result = bench.edit("one", "BAD", 100).await;
    assert_eq!(verdict(&result["diagnostics"]), "pending", "{result}");
    bench.editor.notify("textDocument/didSave", json!({ "textDocument": { "uri": bench.uri } }));
    assert_eq!(verdict(&bench.late().await), "fresh");
    // The news are of a text that this edit changes; its own report says what is true now.
    let result = bench.edit("BAD", "one", 30_000).await;
    assert_eq!(verdict(&result["diagnostics"]), "fresh", "{result}");
    assert!(text(&result).contains("no errors") && !text(&result).contains("BAD is bad"), "{result}");
}
