//! The formatter and saving over the wire: an editor that formats and saves, and commands that really run.

#![expect(clippy::disallowed_methods, reason = "the test has files of its own")]

use std::path::{Path, PathBuf};

use ropewalk::ports::Ports;
use ropewalk::server::{self, ServeOptions};
use serde_json::{Value, json};

use crate::editor::{FakeEditor, Manner};

/// An editor with a folder on the disk, which holds `a.txt`, and what it can do.
struct Bench {
    editor: FakeEditor,
    folder: tempfile::TempDir,
}

const TEXT: &str = "a=1\nb\n";

impl Bench {
    async fn new(abilities: Value, formatter: Value, trusted: bool) -> Bench {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.txt"), TEXT).unwrap();
        let options = ServeOptions { repeatable: true, ..ServeOptions::default() };
        let serve = |input, output| tokio::spawn(server::serve(input, output, Ports::system(), options));
        let mut editor = FakeEditor::start(serve);
        let params = json!({
            "processId": null,
            "workspaceFolders": [{ "uri": uri(&root(&folder)), "name": "w" }],
            "initializationOptions": {
                "diagnostics": { "ownServers": "off" }, "formatter": formatter, "trusted": trusted,
            },
            "capabilities": {
                "general": { "positionEncodings": ["utf-8"] },
                "workspace": { "applyEdit": true, "configuration": true },
                "experimental": { "ropewalk": abilities },
            },
        });
        editor.ask("initialize", params).await;
        Bench { editor, folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        root(&self.folder).join(name)
    }

    fn on_disk(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    fn open(&mut self) -> String {
        let uri = uri(&self.path("a.txt"));
        self.editor.open(&uri, TEXT);
        uri
    }

    fn edit(&mut self, name: &str, old: &str, new: &str) -> i64 {
        let arguments = json!({ "file_path": name, "old_string": old, "new_string": new });
        self.editor.request("ropewalk/callTool", json!({ "name": "edit", "arguments": arguments }))
    }

    fn buffer(&self, uri: &str) -> &str {
        &self.editor.buffers[uri].text
    }

    /// Writes the buffer to the disk and tells it.
    fn write(&mut self, uri: &str) {
        std::fs::write(self.path("a.txt"), &self.editor.buffers[uri].text).unwrap();
        self.editor.notify("textDocument/didSave", json!({ "textDocument": { "uri": uri } }));
    }
}

fn root(folder: &tempfile::TempDir) -> PathBuf {
    folder.path().canonicalize().unwrap()
}

fn uri(path: &Path) -> String {
    url::Url::from_file_path(path).unwrap().to_string()
}

/// An edit within the first line.
fn within(from: u32, to: u32, text: &str) -> Value {
    let (start, end) = (json!({ "line": 0, "character": from }), json!({ "line": 0, "character": to }));
    json!({ "edits": [{ "range": { "start": start, "end": end }, "newText": text }] })
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap()
}

#[tokio::test]
async fn the_editor_formats_and_saves() {
    let mut bench = Bench::new(json!({ "format": true, "save": true }), json!({ "mode": "onWrite" }), false).await;
    let uri = bench.open();
    let opened = bench.editor.ask("ropewalk/openSession", json!({ "sessionId": "default", "save": "ifClean" })).await;
    assert_eq!((&opened["save"], &opened["notGranted"]), (&json!("ifClean"), &json!([])));
    let read = json!({ "name": "read", "arguments": { "file_path": "a.txt" } });
    bench.editor.ask("ropewalk/callTool", read).await;
    let call = bench.edit("a.txt", "a=1", "a=2");
    bench.editor.serve_edit(Manner::Apply).await;
    let (id, params) = bench.editor.asked("ropewalk/format").await;
    assert_eq!(params, json!({ "uri": uri, "version": 2 }));
    bench.editor.respond(&id, within(1, 2, " = "));
    bench.editor.serve_edit(Manner::Split).await;
    let (id, params) = bench.editor.asked("ropewalk/save").await;
    assert_eq!(params, json!({ "uris": [uri] }));
    // Its own formatter has a say when it saves.
    bench.editor.splice(&uri, 5..5, ";");
    bench.write(&uri);
    bench.editor.respond(&id, json!(null));
    let result = bench.editor.result(call).await;
    assert_eq!(bench.on_disk("a.txt"), b"a = 2;\nb\n");
    let edits: Vec<_> = result["edits"]
        .as_array()
        .unwrap()
        .iter()
        .map(|edit| {
            (edit["hunks"][0]["strategy"].as_str().unwrap(), edit["versionAfter"].as_i64().unwrap(), &edit["unsaved"])
        })
        .collect();
    let last = i64::from(bench.editor.buffers[&uri].version);
    assert_eq!(
        edits,
        [("simple", 2, &json!(false)), ("format", last - 1, &json!(false)), ("save", last, &json!(false))]
    );
    assert_eq!(result["diagnostics"]["documents"][0]["version"], last, "{result}");
    for words in ["is saved to the disk.", "Formatted a.txt by the editor: line 1", "when it saved it: line 1 became"] {
        assert!(text(&result).contains(words), "{words}: {result}");
    }
    // The model knows what came of it.
    let write = json!({ "name": "write", "arguments": { "file_path": "a.txt", "content": "c\n" } });
    let call = bench.editor.request("ropewalk/callTool", write);
    bench.editor.serve_edit(Manner::Apply).await;
    let (id, _) = bench.editor.asked("ropewalk/format").await;
    bench.editor.respond(&id, json!({ "edits": [] }));
    let (id, _) = bench.editor.asked("ropewalk/save").await;
    bench.write(&uri);
    bench.editor.respond(&id, json!({}));
    let result = bench.editor.result(call).await;
    assert_eq!((bench.buffer(&uri), bench.on_disk("a.txt").as_slice()), ("c\n", &b"c\n"[..]), "{result}");
    assert_eq!(result["edits"].as_array().map(Vec::len), Some(1), "{result}");
    bench.editor.leave().await;
}

#[tokio::test]
async fn a_user_who_types_while_the_editor_formats_is_left_alone() {
    let mut bench = Bench::new(json!({ "format": true }), json!({ "mode": "onWrite" }), false).await;
    let uri = bench.open();
    let call = bench.edit("a.txt", "a=1", "a=2");
    bench.editor.serve_edit(Manner::Apply).await;
    let (id, _) = bench.editor.asked("ropewalk/format").await;
    bench.editor.splice(&uri, 0..0, "x");
    bench.editor.respond(&id, within(1, 2, " = "));
    let result = bench.editor.result(call).await;
    assert_eq!((bench.buffer(&uri), &result["status"]), ("xa=2\nb\n", &json!("ok")));
    assert!(text(&result).contains("Note: it was not formatted: it changed meanwhile."), "{result}");
    // While the formatting is on its way, too.
    let call = bench.edit("a.txt", "a=2", "a=3");
    bench.editor.serve_edit(Manner::Apply).await;
    let (id, _) = bench.editor.asked("ropewalk/format").await;
    bench.editor.respond(&id, within(2, 3, " = "));
    let (id, _) = bench.editor.asked("workspace/applyEdit").await;
    bench.editor.splice(&uri, 0..0, "y");
    bench.editor.respond(&id, json!({ "applied": false }));
    let result = bench.editor.result(call).await;
    assert_eq!((bench.buffer(&uri), &result["status"]), ("yxa=3\nb\n", &json!("ok")));
    assert!(text(&result).contains("Note: it was not formatted: it changed meanwhile."), "{result}");
    bench.editor.leave().await;
}

#[tokio::test]
async fn an_editor_that_fails_to_format_or_save_undoes_nothing() {
    let mut bench = Bench::new(json!({ "format": true, "save": true }), json!({ "mode": "onWrite" }), false).await;
    let uri = bench.open();
    bench.editor.ask("ropewalk/openSession", json!({ "sessionId": "default", "save": "always" })).await;
    let call = bench.edit("a.txt", "a=1", "a=2");
    bench.editor.serve_edit(Manner::Apply).await;
    let (id, _) = bench.editor.asked("ropewalk/format").await;
    let error = json!({ "code": -32803, "message": "no parser" });
    bench.editor.send(&json!({ "jsonrpc": "2.0", "id": id, "error": error }));
    let (id, _) = bench.editor.asked("ropewalk/save").await;
    bench.editor.respond(&id, json!({ "failed": [{ "uri": uri, "reason": "it is read-only" }] }));
    let result = bench.editor.result(call).await;
    assert_eq!((bench.buffer(&uri), bench.on_disk("a.txt").as_slice()), ("a=2\nb\n", TEXT.as_bytes()));
    assert_eq!((&result["status"], &result["edits"][0]["unsaved"]), (&json!("ok"), &json!(true)));
    for note in [
        "it was not formatted: the editor answered with an error: no parser",
        "it could not be saved: it is read-only.",
    ] {
        assert!(text(&result).contains(note), "{note}: {result}");
    }
    bench.editor.leave().await;
}

#[tokio::test]
async fn a_real_command_formats_what_is_not_open() {
    // It sees plain text, whatever the bytes on the disk are, and its own line ends do not matter.
    let tidy = json!({ "mode": "onWrite", "commands": { "python": ["sed", "-e", "s/\\r$//", "-e", "s/ *= */ = /"] } });
    let utf16 =
        |text: &str| std::iter::once(0xFEFF).chain(text.encode_utf16()).flat_map(u16::to_be_bytes).collect::<Vec<u8>>();
    for (before, after) in [
        (b"a=1\nb=1\n".to_vec(), b"a = 2\nb = 1\n".to_vec()),
        (b"a=1\r\nb=1\r\n".to_vec(), b"a = 2\r\nb = 1\r\n".to_vec()),
        (b"\xEF\xBB\xBFa=1\n".to_vec(), b"\xEF\xBB\xBFa = 2\n".to_vec()),
        (utf16("a=1\r\n\u{e9}=1\r\n"), utf16("a = 2\r\n\u{e9} = 1\r\n")),
    ] {
        let mut bench = Bench::new(json!({}), tidy.clone(), true).await;
        std::fs::write(bench.path("b.py"), &before).unwrap();
        let call = bench.edit("b.py", "a=1", "a=2");
        let result = bench.editor.result(call).await;
        assert_eq!(bench.on_disk("b.py"), after, "{result}");
        assert!(text(&result).contains("Formatted b.py by `sed`: line"), "{result}");
        bench.editor.leave().await;
    }
}

#[tokio::test]
async fn a_command_that_must_not_run_or_hangs_changes_nothing() {
    let marks = json!(["sh", "-c", "touch ran; cat"]);
    for (command, trusted, note, ran) in [
        (marks.clone(), false, "`sh` runs in trusted folders only", false),
        (marks, true, "", true),
        (json!(["sh", "-c", "touch ran; sleep 100"]), true, "the formatter took longer than 300 ms", true),
        (json!(["sh", "-c", "touch ran; echo a; exit 3"]), true, "`sh` ended with exit code 3", true),
        (
            json!(["sh", "-c", "touch ran; printf '\\377'"]),
            true,
            "`sh` could not be used: the program printed what is no",
            true,
        ),
        // Nothing is taken for shell.
        (json!(["cat", "; touch ran"]), true, "`cat` ended with exit code 1", false),
    ] {
        let settings = json!({ "mode": "onWrite", "commands": { "python": command }, "timeoutMs": 300 });
        let timeout = if note.contains("longer") { 300 } else { 20_000 };
        let settings = json!({ "mode": settings["mode"], "commands": settings["commands"], "timeoutMs": timeout });
        let mut bench = Bench::new(json!({}), settings, trusted).await;
        std::fs::write(bench.path("b.py"), "a=1\n").unwrap();
        let call = bench.edit("b.py", "a=1", "a=2");
        let result = bench.editor.result(call).await;
        assert_eq!((bench.on_disk("b.py").as_slice(), &result["status"]), (&b"a=2\n"[..], &json!("ok")), "{result}");
        assert_eq!(text(&result).contains("it was not formatted"), !note.is_empty(), "{result}");
        assert!(text(&result).contains(note), "{result}");
        // Its folder is that of the workspace.
        assert_eq!(bench.path("ran").exists(), ran, "{result}");
        bench.editor.leave().await;
    }
}

#[tokio::test]
async fn what_an_editor_merges_from_a_project_turns_nothing_on() {
    let mut bench = Bench::new(json!({}), json!({ "mode": "off" }), true).await;
    std::fs::write(bench.path("b.py"), "a=1\n").unwrap();
    let evil = json!({ "mode": "onWrite", "commands": { "python": ["sed", "s/=/ := /"] } });
    bench.editor.notify("workspace/didChangeConfiguration", json!({ "settings": null }));
    let (id, _) = bench.editor.asked("workspace/configuration").await;
    bench.editor.respond(&id, json!([{ "formatter": evil, "diagnostics": { "ownServers": "off" } }]));
    let call = bench.edit("b.py", "a=1", "a=1 ");
    bench.editor.result(call).await;
    assert_eq!(bench.on_disk("b.py"), b"a=1 \n");
    // What carries settings is the user's.
    let formatter = json!({ "mode": "onWrite", "commands": { "python": ["sed", "s/=/ = /"] } });
    let settings =
        json!({ "settings": { "ropewalk": { "formatter": formatter, "diagnostics": { "ownServers": "off" } } } });
    bench.editor.notify("workspace/didChangeConfiguration", settings);
    let call = bench.edit("b.py", "a=1 ", "a=2");
    bench.editor.result(call).await;
    assert_eq!(bench.on_disk("b.py"), b"a = 2\n");
    bench.editor.leave().await;
}
