//! Halves of surrogate pairs, which editors with UTF-16 strings can have in a text and nobody else: the mirror is not the
//! editor's text then, and nothing is written over it.

use std::path::Path;
use std::sync::Arc;

use ropewalk::ports::{Disk as _, MemoryDisk, Ports};
use ropewalk::server::{self, ServeOptions};
use serde_json::{Value, json};

use crate::editor::{Buffer, FakeEditor, Manner, framed};
use crate::files::text;
use crate::real::URI;

async fn start(encoding: &str, resync: bool) -> FakeEditor {
    let disk = Arc::new(MemoryDisk::new());
    disk.create_dir_all(Path::new("/w")).unwrap();
    let ports = Ports { disk, ..Ports::system() };
    let options = ServeOptions { repeatable: true, ..ServeOptions::default() };
    let mut editor = FakeEditor::start(|input, output| tokio::spawn(server::serve(input, output, ports, options)));
    let params = json!({
        "processId": null,
        "workspaceFolders": [{ "uri": "file:///w", "name": "w" }],
        "initializationOptions": { "diagnostics": { "ownServers": "off" } },
        "capabilities": {
            "general": { "positionEncodings": [encoding] },
            "workspace": { "applyEdit": true },
            "experimental": { "ropewalk": { "resync": resync } },
        },
    });
    let told = editor.ask("initialize", params).await;
    assert_eq!(told["capabilities"]["positionEncoding"], encoding);
    editor
}

/// A notification whose text is given as it stands in JSON, between its quotes.
fn opened(editor: &mut FakeEditor, version: i32, text: &str) {
    let document = format!(r#"{{"uri":"{URI}","languageId":"text","version":{version},"text":"{text}"}}"#);
    notify(editor, "didOpen", &format!(r#"{{"textDocument":{document}}}"#));
}

/// Puts a text, as it stands in JSON, at the beginning of the document; without `inserts` it is the whole text from now on.
fn changed(editor: &mut FakeEditor, version: i32, inserts: bool, text: &str) {
    let place = r#"{"line":0,"character":0}"#;
    let range = if inserts { format!(r#""range":{{"start":{place},"end":{place}}},"#) } else { String::new() };
    notify(
        editor,
        "didChange",
        &format!(
            r#"{{"textDocument":{{"uri":"{URI}","version":{version}}},"contentChanges":[{{{range}"text":"{text}"}}]}}"#
        ),
    );
}

fn notify(editor: &mut FakeEditor, method: &str, params: &str) {
    let body = format!(r#"{{"jsonrpc":"2.0","method":"textDocument/{method}","params":{params}}}"#);
    editor.send_raw(framed(&body));
}

/// Answers the next `resync` with a text as it stands in JSON.
async fn told(editor: &mut FakeEditor, version: i32, text: &str) {
    let (id, _) = editor.asked("ropewalk/resync").await;
    let result = format!(r#"{{"version":{version},"text":"{text}"}}"#);
    editor.send_raw(framed(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)));
}

async fn read(editor: &mut FakeEditor) -> String {
    let call = json!({ "name": "read", "arguments": { "file_path": "/w/notes.txt" } });
    let result = editor.ask("ropewalk/callTool", call).await;
    result["content"].to_string()
}

fn edit(editor: &mut FakeEditor, old: &str, new: &str) -> i64 {
    let arguments = json!({ "file_path": "/w/notes.txt", "old_string": old, "new_string": new });
    editor.request("ropewalk/callTool", json!({ "name": "edit", "arguments": arguments }))
}

fn refused(result: &Value) {
    assert_eq!(result["error"]["kind"], "conflict", "{result}");
    assert!(text(result).contains("half of a UTF-16 surrogate pair"), "{result}");
}

/// The document is well: an edit of it lands.
async fn edited(editor: &mut FakeEditor, version: i32, text: &str) {
    editor.buffers.insert(URI.to_owned(), Buffer { text: text.to_owned(), version });
    let shown = read(editor).await;
    assert!(!shown.contains("may differ"), "{shown}");
    let call = edit(editor, "rest", "REST");
    editor.serve_edit(Manner::Apply).await;
    let result = editor.result(call).await;
    assert_eq!(result["status"], "ok", "{result}");
    assert_eq!(editor.buffers[URI].text, text.replace("rest", "REST"));
}

async fn leave(mut editor: FakeEditor) {
    editor.accept_rest();
    assert_eq!(editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn two_halves_in_two_changes_are_well_again_after_a_resync() {
    for encoding in ["utf-8", "utf-16", "utf-32"] {
        let mut editor = start(encoding, true).await;
        opened(&mut editor, 1, "\\nrest\\n");
        // The second half goes before the first one that was typed, so that both are a pair in the end.
        changed(&mut editor, 2, true, r"\ude0e");
        told(&mut editor, 2, r"\ude0e\nrest\n").await;
        // Its own text has the half: it stays in doubt, is not asked for again and again, and whoever reads it is told.
        let shown = read(&mut editor).await;
        assert!(shown.contains("may differ") && shown.contains("U+FFFD") && shown.contains("\u{fffd}"), "{shown}");
        let call = edit(&mut editor, "rest", "REST");
        told(&mut editor, 2, r"\ude0e\nrest\n").await;
        refused(&editor.result(call).await);
        changed(&mut editor, 3, true, r"\ud83d");
        told(&mut editor, 3, r"\ud83d\ude0e\nrest\n").await;
        edited(&mut editor, 3, "😎\nrest\n").await;
        leave(editor).await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_edit_asks_and_lands_once_the_half_is_gone() {
    let mut editor = start("utf-16", true).await;
    opened(&mut editor, 1, r"\ud83drest\n");
    told(&mut editor, 1, r"\ud83drest\n").await;
    read(&mut editor).await;
    // The half was replaced, and the editor is behind with its news: its answer overtakes them.
    editor.buffers.insert(URI.to_owned(), Buffer { text: "rest\n".to_owned(), version: 2 });
    let call = edit(&mut editor, "rest", "REST");
    told(&mut editor, 2, r"rest\n").await;
    editor.serve_edit(Manner::Apply).await;
    let result = editor.result(call).await;
    assert_eq!(result["status"], "ok", "{result}");
    leave(editor).await;
}

#[tokio::test(start_paused = true)]
async fn an_editor_that_cannot_tell_its_text_is_believed_again_with_a_whole_one() {
    for opens in [true, false] {
        let mut editor = start("utf-16", false).await;
        opened(&mut editor, 1, if opens { r"\ud83drest\n" } else { r"rest\n" });
        if !opens {
            changed(&mut editor, 2, true, r"\ud83d");
        }
        let shown = read(&mut editor).await;
        assert!(shown.contains("may differ") && shown.contains("U+FFFD"), "{shown}");
        let call = edit(&mut editor, "rest", "REST");
        refused(&editor.result(call).await);
        // A change without halves leaves the one that is there; so does a whole text that has one.
        changed(&mut editor, 3, true, "x");
        changed(&mut editor, 4, false, r"\ud83d again rest\n");
        let call = edit(&mut editor, "rest", "REST");
        refused(&editor.result(call).await);
        changed(&mut editor, 5, false, r"whole, the rest\n");
        edited(&mut editor, 5, "whole, the rest\n").await;
        leave(editor).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_replacement_character_of_the_users_is_a_character() {
    let mut editor = start("utf-16", true).await;
    opened(&mut editor, 1, "\u{fffd}\\nrest\\n");
    changed(&mut editor, 2, true, r"\ufffd");
    edited(&mut editor, 2, "\u{fffd}\u{fffd}\nrest\n").await;
    leave(editor).await;
}

#[tokio::test(start_paused = true)]
async fn a_text_that_is_saved_with_a_half_is_in_doubt() {
    let mut editor = start("utf-16", true).await;
    opened(&mut editor, 1, "\u{fffd}rest\\n");
    notify(&mut editor, "didSave", &format!(r#"{{"textDocument":{{"uri":"{URI}"}},"text":"\ud83drest\n"}}"#));
    told(&mut editor, 1, r"\ud83drest\n").await;
    let shown = read(&mut editor).await;
    assert!(shown.contains("may differ"), "{shown}");
    leave(editor).await;
}

#[tokio::test(start_paused = true)]
async fn a_half_in_anything_else_is_read_as_before() {
    let mut editor = start("utf-16", true).await;
    opened(&mut editor, 1, "\u{fffd}\\nrest\\n");
    let arguments = r#"{"pattern":"\ud83d","path":"/w"}"#;
    let call = format!(r#"{{"name":"grep","arguments":{arguments}}}"#);
    let body = format!(r#"{{"jsonrpc":"2.0","id":900,"method":"ropewalk/callTool","params":{call}}}"#);
    editor.send_raw(framed(&body));
    let result = editor.result(900).await;
    assert_eq!(result["status"], "ok", "{result}");
    assert!(text(&result).contains("\u{fffd}"), "{result}");
    edited(&mut editor, 1, "\u{fffd}\nrest\n").await;
    leave(editor).await;
}
