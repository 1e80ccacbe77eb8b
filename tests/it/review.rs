//! A person's review over the wire: agents and the user change the same texts, some of it is kept and some undone.

mod answers;
mod modes;
mod sets;
mod survives;

use std::path::Path;
use std::sync::Arc;

use ropewalk::ports::{Disk as _, MemoryDisk, Ports};
use ropewalk::server::{self, ServeOptions};
use serde_json::{Value, json};

use crate::editor::{Buffer, FakeEditor, Manner};

const URI: &str = "file:///w/notes.txt";
const TEXT: &str = "one\ntwo\nthree\nfour\nfive\n";

/// An editor over `/w`, with `notes.txt` on the disk.
struct Bench {
    editor: FakeEditor,
    disk: Arc<MemoryDisk>,
    state: Option<tempfile::TempDir>,
}

impl Bench {
    async fn new(abilities: Value) -> Bench {
        Bench::over(Arc::new(MemoryDisk::new().with_file("/w/notes.txt", TEXT)), abilities, None).await
    }

    async fn over(disk: Arc<MemoryDisk>, abilities: Value, state: Option<tempfile::TempDir>) -> Bench {
        let ports = Ports { disk: disk.clone(), ..Ports::system() };
        let state_dir = state.as_ref().map(|state| state.path().to_owned());
        let options = ServeOptions { repeatable: state.is_none(), state_dir, ..ServeOptions::default() };
        let mut editor = FakeEditor::start(|input, output| tokio::spawn(server::serve(input, output, ports, options)));
        let params = json!({
            "processId": null,
            "workspaceFolders": [{ "uri": "file:///w", "name": "w" }],
            "initializationOptions": { "diagnostics": { "ownServers": "off" } },
            "capabilities": {
                "general": { "positionEncodings": ["utf-8"] },
                "workspace": { "applyEdit": true, "codeLens": { "refreshSupport": true } },
                "experimental": { "ropewalk": abilities },
            },
        });
        editor.ask("initialize", params).await;
        Bench { editor, disk, state }
    }

    /// The same disk and state, and a new program.
    async fn again(mut self) -> Bench {
        let (disk, state) = (Arc::clone(&self.disk), self.state.take());
        assert_eq!(self.editor.leave().await, 0);
        Bench::over(disk, json!({}), state).await
    }

    fn buffer(&self) -> &str {
        &self.editor.buffers[URI].text
    }

    /// The user makes another text of the document.
    fn types(&mut self, text: &str) {
        let buffer = self.editor.buffers.get_mut(URI).unwrap();
        let common = buffer.text.bytes().zip(text.bytes()).take_while(|(a, b)| a == b).count();
        let line = buffer.text[..common].matches('\n').count();
        let start = buffer.text[..common].rfind('\n').map_or(0, |at| at + 1);
        let behind: usize = buffer.text.matches('\n').count();
        let change = json!({ "range": {
            "start": { "line": line, "character": 0 }, "end": { "line": behind + 1, "character": 0 },
        }, "text": text[start..] });
        text.clone_into(&mut buffer.text);
        buffer.version += 1;
        let document = json!({ "uri": URI, "version": buffer.version });
        let params = json!({ "textDocument": document, "contentChanges": [change] });
        self.editor.notify("textDocument/didChange", params);
    }

    fn call(&mut self, session: &str, call: &str, name: &str, arguments: Value) -> i64 {
        let params = json!({
            "sessionId": session, "turnId": "t1", "callId": call, "name": name, "arguments": arguments,
        });
        self.editor.request("ropewalk/callTool", params)
    }

    /// An edit in the open document.
    async fn edits(&mut self, session: &str, call: &str, old: &str, new: &str) -> Value {
        let arguments = json!({ "file_path": "notes.txt", "old_string": old, "new_string": new });
        let id = self.call(session, call, "edit", arguments);
        self.editor.serve_edit(Manner::Apply).await;
        let result = self.editor.result(id).await;
        assert_eq!(result["status"], "ok", "{result}");
        result
    }

    /// A call that changes the disk.
    async fn makes(&mut self, call: &str, name: &str, arguments: Value) {
        let id = self.call("s", call, name, arguments);
        let result = self.editor.result(id).await;
        assert_eq!(result["status"], "ok", "{result}");
    }

    async fn patches(&mut self, call: &str, body: &str) {
        let patch = format!("*** Begin Patch\n{body}\n*** End Patch\n");
        self.makes(call, "apply_patch", json!({ "patch": patch })).await;
    }

    async fn deletes(&mut self, call: &str, path: &str) {
        self.makes(&format!("{call}-read"), "read", json!({ "file_path": path })).await;
        self.patches(call, &format!("*** Delete File: {path}")).await;
    }

    async fn undo(&mut self, params: Value) -> Value {
        let id = self.editor.request("ropewalk/undo", params);
        self.editor.serve_edit(Manner::Apply).await;
        self.editor.result(id).await
    }

    async fn undo_on_disk(&mut self, params: Value) -> Value {
        self.editor.ask("ropewalk/undo", params).await
    }

    /// The changes, one line each.
    async fn changes(&mut self, params: Value) -> Vec<String> {
        let changes = self.editor.ask("ropewalk/changes", params).await;
        let files = changes["files"].as_array().unwrap();
        let hunks =
            files.iter().flat_map(|file| file["hunks"].as_array().unwrap().iter().map(move |hunk| (file, hunk)));
        hunks
            .map(|(file, hunk)| {
                let name = file["uri"].as_str().unwrap().rsplit('/').next().unwrap();
                let word = |field: &str| hunk[field].as_str().unwrap_or_default();
                let line = &hunk["lines"]["start"];
                format!("{} {} {name}:{line} {:?}", word("hunkId"), word("kind"), word("now"))
            })
            .collect()
    }

    fn on_disk(&self, path: &str) -> Option<String> {
        self.disk.read(Path::new(path)).ok().map(|bytes| String::from_utf8(bytes).unwrap())
    }

    async fn leave(self) {
        assert_eq!(self.editor.leave().await, 0);
    }
}

fn outcomes(result: &Value) -> Vec<&str> {
    result["hunks"].as_array().unwrap().iter().map(|hunk| hunk["outcome"].as_str().unwrap()).collect()
}

fn told(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap()
}

#[tokio::test(start_paused = true)]
async fn typing_and_edits_interleave_and_only_the_agents_part_is_undone() {
    let mut bench = Bench::new(json!({})).await;
    bench.editor.open(URI, TEXT);
    bench.edits("s", "c1", "two", "2").await;
    bench.types("zero\none\n2\nthree\nfour\nfive\n");
    bench.edits("s", "c2", "four", "4").await;
    bench.types("zero\none\n2\nthree\n4\nfive\nsix\n");
    assert_eq!(
        bench.changes(json!({})).await,
        [r#"1.1 changed notes.txt:3 "2\n""#, r#"1.2 changed notes.txt:5 "4\n""#,]
    );
    let result = bench.undo(json!({ "callId": "c1" })).await;
    assert_eq!(
        (outcomes(&result), bench.buffer()),
        (vec!["undone"], "zero\none\ntwo\nthree\n4\nfive\nsix\n"),
        "{result}"
    );
    assert_eq!(result["undoId"], "u1");
    let kept = bench.editor.ask("ropewalk/keep", json!({ "hunkId": "1.2" })).await;
    assert_eq!(kept, json!({ "kept": ["1.2"] }));
    assert_eq!(bench.changes(json!({})).await, Vec::<String>::new());
    // The undo is undone, round what was typed since.
    bench.types("zero\none\ntwo\nthree\n4\nfive\nsix\nseven\n");
    let result = bench.undo(json!({ "undoId": "u1" })).await;
    assert_eq!((outcomes(&result), bench.buffer()), (vec!["restored"], "zero\none\n2\nthree\n4\nfive\nsix\nseven\n"));
    assert_eq!(bench.changes(json!({})).await, [r#"1.1 changed notes.txt:3 "2\n""#]);
    // The model is told once, and only the last word.
    let read = bench.call("s", "c3", "read", json!({ "file_path": "notes.txt" }));
    let result = bench.editor.result(read).await;
    let words = "Since then, of your changes the user kept notes.txt line 5; brought back notes.txt line 3.";
    assert!(told(&result).contains(words), "{result}");
    let read = bench.call("s", "c4", "read", json!({ "file_path": "notes.txt" }));
    assert!(!told(&bench.editor.result(read).await).contains("Since then"));
    bench.leave().await;
}

#[tokio::test(start_paused = true)]
async fn what_the_user_changed_of_it_stays_and_is_told() {
    let mut bench = Bench::new(json!({})).await;
    bench.editor.open(URI, TEXT);
    bench.edits("s", "c1", "two\nthree\n", "2\n3\n3b\n").await;
    bench.types("one\n2\nmine\n3\n3b\nfour\nfive\n");
    let result = bench.undo(json!({ "sessionId": "s" })).await;
    assert_eq!(
        (outcomes(&result), bench.buffer()),
        (vec!["undone"], "one\ntwo\nthree\nmine\nfour\nfive\n"),
        "{result}"
    );
    bench.edits("s", "c2", "four", "4").await;
    bench.types("one\ntwo\nthree\nmine\n4 and more\nfive\n");
    // Nothing can be undone, so that the editor is asked for nothing.
    let result = bench.undo_on_disk(json!({ "callId": "c2" })).await;
    assert_eq!((outcomes(&result), &result["edits"]), (vec!["left"], &json!([])), "{result}");
    assert!(result["hunks"][0]["why"].as_str().unwrap().contains("You have changed the same lines"), "{result}");
    assert_eq!(result.get("undoId"), None);
    bench.leave().await;
}

#[tokio::test(start_paused = true)]
async fn several_sessions_in_one_file_are_undone_apart() {
    let mut bench = Bench::new(json!({})).await;
    bench.editor.open(URI, TEXT);
    bench.edits("a", "c1", "two", "2").await;
    bench.edits("b", "c1", "four", "4").await;
    bench.edits("b", "c2", "2", "second").await;
    let result = bench.undo_on_disk(json!({ "sessionId": "a" })).await;
    assert_eq!(outcomes(&result), ["left"], "{result}");
    assert!(result["hunks"][0]["why"].as_str().unwrap().contains("The call c2 of session b"), "{result}");
    let result = bench.undo(json!({ "sessionId": "b" })).await;
    assert_eq!((outcomes(&result), bench.buffer()), (vec!["undone", "undone"], "one\n2\nthree\nfour\nfive\n"));
    let result = bench.undo(json!({ "sessionId": "a", "turnId": "t1", "uri": URI })).await;
    assert_eq!((outcomes(&result), bench.buffer()), (vec!["undone"], TEXT));
    bench.leave().await;
}

#[tokio::test(start_paused = true)]
async fn an_undo_is_computed_anew_when_the_user_types_meanwhile_and_refused_in_doubt() {
    let mut bench = Bench::new(json!({ "resync": true })).await;
    bench.editor.open(URI, TEXT);
    bench.edits("s", "c1", "two", "2").await;
    let id = bench.editor.request("ropewalk/undo", json!({}));
    let (edit, _) = bench.editor.asked("workspace/applyEdit").await;
    bench.types("zero\none\n2\nthree\nfour\nfive\n");
    bench.editor.respond(&edit, json!({ "applied": false }));
    bench.editor.serve_edit(Manner::Apply).await;
    let result = bench.editor.result(id).await;
    assert_eq!(
        (outcomes(&result), bench.buffer()),
        (vec!["undone"], "zero\none\ntwo\nthree\nfour\nfive\n"),
        "{result}"
    );
    // A change that makes no sense: the text is not known until the editor has told it.
    bench.edits("s", "c2", "two", "2").await;
    let version = bench.editor.buffers[URI].version + 1;
    let range = json!({ "start": { "line": 1, "character": 2 }, "end": { "line": 0, "character": 0 } });
    bench.editor.notify(
        "textDocument/didChange",
        json!({
            "textDocument": { "uri": URI, "version": version }, "contentChanges": [{ "range": range, "text": "" }],
        }),
    );
    let id = bench.editor.request("ropewalk/undo", json!({}));
    for _ in 0..8 {
        let asked = bench.editor.next_where(|message| message["id"] == id || message["method"] == "ropewalk/resync");
        let message = asked.await.unwrap();
        if message.get("method").is_some() {
            bench.editor.send(&json!({
                "jsonrpc": "2.0", "id": message["id"], "error": { "code": -32603, "message": "no" },
            }));
            continue;
        }
        assert_eq!(outcomes(&message["result"]), ["left"], "{message}");
        break;
    }
    bench.editor.accept_rest();
    bench.leave().await;
}

#[tokio::test(start_paused = true)]
async fn closed_files_are_looked_at_and_undone_on_the_disk() {
    let mut bench = Bench::new(json!({})).await;
    let edit = json!({ "file_path": "notes.txt", "old_string": "two", "new_string": "2" });
    bench.makes("c1", "edit", edit).await;
    bench.disk.put("/w/notes.txt", "zero\none\n2\nthree\nfour\nfive\n");
    assert_eq!(bench.changes(json!({ "uri": URI })).await, [r#"1.1 changed notes.txt:3 "2\n""#]);
    let result = bench.undo_on_disk(json!({ "hunkId": "1.1" })).await;
    assert_eq!((outcomes(&result), &result["edits"][0]["versionAfter"]), (vec!["undone"], &json!(null)));
    assert_eq!(bench.on_disk("/w/notes.txt").unwrap(), format!("zero\n{TEXT}"));
    // Opened, it is the same file, with the same undo.
    bench.editor.open(URI, &format!("zero\n{TEXT}"));
    let result = bench.undo(json!({ "undoId": "u1" })).await;
    assert_eq!((outcomes(&result), bench.buffer()), (vec!["restored"], "zero\none\n2\nthree\nfour\nfive\n"));
    bench.leave().await;
}

#[tokio::test(start_paused = true)]
async fn creations_deletions_and_moves_are_undone_and_brought_back() {
    let mut bench = Bench::new(json!({})).await;
    bench.makes("c1", "write", json!({ "file_path": "new.txt", "content": "new\n" })).await;
    bench.disk.put("/w/old.txt", "a\nb\n");
    bench.disk.put("/w/bye.txt", "bye\n");
    bench.patches("c2", "*** Update File: old.txt\n*** Move to: sub/to.txt\n@@\n a\n-b\n+B").await;
    bench.deletes("c3", "bye.txt").await;
    let all = [
        "3.1 deleted bye.txt:1 \"\"",
        "1.1 created new.txt:1 \"new\\n\"",
        "2.2 moved to.txt:1 \"\"",
        "2.1 changed to.txt:2 \"B\\n\"",
    ];
    assert_eq!(bench.changes(json!({})).await, all);
    let result = bench.undo_on_disk(json!({})).await;
    assert_eq!(outcomes(&result), ["undone", "undone", "undone", "undone"], "{result}");
    let now = ["new.txt", "old.txt", "sub/to.txt", "bye.txt"].map(|name| bench.on_disk(&format!("/w/{name}")));
    assert_eq!(now, [None, Some("a\nb\n".into()), None, Some("bye\n".into())]);
    let listed = bench.editor.ask("ropewalk/changes", json!({})).await;
    assert_eq!((&listed["files"], &listed["undos"][0]["undoId"]), (&json!([]), &json!("u1")), "{listed}");
    let result = bench.undo_on_disk(json!({ "undoId": "u1" })).await;
    assert_eq!(outcomes(&result), ["restored", "restored", "restored", "restored"], "{result}");
    let now = ["new.txt", "old.txt", "sub/to.txt", "bye.txt"].map(|name| bench.on_disk(&format!("/w/{name}")));
    assert_eq!(now, [Some("new\n".into()), None, Some("a\nB\n".into()), None]);
    assert_eq!(bench.changes(json!({})).await, all);
    bench.leave().await;
}

#[tokio::test(start_paused = true)]
async fn what_was_changed_goes_along_to_a_name_that_another_file_gives_up() {
    let mut bench = Bench::new(json!({})).await;
    bench.disk.put("/w/a.txt", "a\n");
    bench.disk.put("/w/b.txt", "b\n");
    bench.patches("c1", "*** Update File: a.txt\n-a\n+A\n*** Update File: b.txt\n-b\n+B").await;
    bench
        .patches(
            "c2",
            "*** Update File: a.txt\n*** Move to: t.txt\n*** Update File: b.txt\n*** Move to: c.txt\n\
             *** Update File: t.txt\n*** Move to: b.txt",
        )
        .await;
    let now = |bench: &Bench| ["a.txt", "b.txt", "c.txt"].map(|name| bench.on_disk(&format!("/w/{name}")));
    assert_eq!(now(&bench), [None, Some("A\n".into()), Some("B\n".into())]);
    let result = bench.undo_on_disk(json!({ "callId": "c1" })).await;
    assert_eq!(outcomes(&result), ["undone", "undone"], "{result}");
    assert_eq!(now(&bench), [None, Some("a\n".into()), Some("b\n".into())]);
    bench.leave().await;
}

#[tokio::test(start_paused = true)]
async fn nothing_of_the_users_is_deleted_or_overwritten() {
    let mut bench = Bench::new(json!({})).await;
    bench.makes("c1", "write", json!({ "file_path": "new.txt", "content": "new\n" })).await;
    bench.deletes("c2", "notes.txt").await;
    bench.disk.put("/w/new.txt", "new\nmine\n");
    bench.disk.put("/w/notes.txt", "other\n");
    let result = bench.undo_on_disk(json!({ "callId": "c1" })).await;
    assert_eq!(outcomes(&result), ["partly"], "{result}");
    assert!(result["hunks"][0]["why"].as_str().unwrap().contains("The file stays"), "{result}");
    assert_eq!(bench.on_disk("/w/new.txt").as_deref(), Some("mine\n"));
    let result = bench.undo_on_disk(json!({ "callId": "c2" })).await;
    assert_eq!(outcomes(&result), ["left"], "{result}");
    assert!(result["hunks"][0]["why"].as_str().unwrap().contains("another notes.txt"), "{result}");
    assert_eq!(bench.on_disk("/w/notes.txt").as_deref(), Some("other\n"));
    // Once it is out of the way, the deleted text comes back.
    bench.disk.remove(Path::new("/w/notes.txt")).unwrap();
    let result = bench.undo_on_disk(json!({ "callId": "c2" })).await;
    assert_eq!((outcomes(&result), bench.on_disk("/w/notes.txt").as_deref()), (vec!["undone"], Some(TEXT)));
    bench.leave().await;
}

#[tokio::test]
async fn changes_survive_save_reopening_and_a_restart() {
    let disk = Arc::new(MemoryDisk::new().with_file("/w/notes.txt", TEXT));
    let mut bench = Bench::over(disk, json!({}), Some(tempfile::tempdir().unwrap())).await;
    bench.editor.open(URI, TEXT);
    bench.edits("s", "c1", "two", "2").await;
    bench.edits("s", "c2", "four", "4").await;
    bench.undo(json!({ "callId": "c2" })).await;
    bench.makes("c3", "write", json!({ "file_path": "new.txt", "content": "new\n" })).await;
    // Saved, closed, changed by somebody else, and opened again.
    bench.disk.put("/w/notes.txt", "one\n2\nthree\nfour\nfive\n");
    bench.editor.notify("textDocument/didSave", json!({ "textDocument": { "uri": URI } }));
    bench.editor.notify("textDocument/didClose", json!({ "textDocument": { "uri": URI } }));
    bench.editor.buffers.remove(URI);
    bench.disk.put("/w/notes.txt", "zero\none\n2\nthree\nfour\nfive\n");
    let all = [r#"2.1 created new.txt:1 "new\n""#, r#"1.1 changed notes.txt:3 "2\n""#];
    assert_eq!(bench.changes(json!({})).await, all[..]);
    bench.editor.open(URI, "zero\none\n2\nthree\nfour\nfive\n");
    assert_eq!(bench.changes(json!({})).await, all[..]);
    let mut bench = bench.again().await;
    bench.disk.put("/w/notes.txt", "-1\nzero\none\n2\nthree\nfour\nfive\n");
    let text = "-1\nzero\none\n2\nthree\nfour\nfive\n".to_owned();
    bench.editor.open(URI, &text);
    let later = [r#"2.1 created new.txt:1 "new\n""#, r#"1.1 changed notes.txt:4 "2\n""#];
    assert_eq!(bench.changes(json!({})).await, later[..]);
    // An undo of the run before is undone, and a hunk of the run before is undone.
    let result = bench.undo(json!({ "undoId": "u1" })).await;
    assert_eq!(
        (outcomes(&result), bench.buffer()),
        (vec!["restored"], "-1\nzero\none\n2\nthree\n4\nfive\n"),
        "{result}"
    );
    let result = bench.undo(json!({ "callId": "c1" })).await;
    assert_eq!(
        (outcomes(&result), bench.buffer()),
        (vec!["undone"], "-1\nzero\none\ntwo\nthree\n4\nfive\n"),
        "{result}"
    );
    // New names are none of the old ones.
    assert_eq!(result["undoId"], "u2");
    bench.makes("c4", "write", json!({ "file_path": "other.txt", "content": "x\n" })).await;
    assert!(bench.changes(json!({ "callId": "c4" })).await[0].starts_with("3.1 created"));
    bench.leave().await;
}

#[tokio::test(start_paused = true)]
async fn lenses_actions_and_commands_where_they_are_wanted() {
    let mut bench = Bench::new(json!({ "review": "lens", "events": true })).await;
    bench.editor.open(URI, TEXT);
    bench.edits("s", "c1", "two", "2").await;
    bench.edits("s", "c2", "four", "4").await;
    // Once a call, and never for typing.
    for _ in 0..2 {
        let (refresh, _) = bench.editor.asked("workspace/codeLens/refresh").await;
        bench.editor.respond(&refresh, json!(null));
        let news = bench.editor.next_where(|message| message["method"] == "ropewalk/changesChanged").await.unwrap();
        assert_eq!(news["params"], json!({ "uris": [URI] }));
    }
    bench.editor.accept_rest();
    bench.types("zero\none\n2\nthree\n4\nfive\n");
    let document = json!({ "textDocument": { "uri": URI } });
    let lenses = bench.editor.ask("textDocument/codeLens", document.clone()).await;
    let shown: Vec<String> = lenses
        .as_array()
        .unwrap()
        .iter()
        .map(|lens| format!("{} {}", lens["range"]["start"]["line"], lens["command"]["title"].as_str().unwrap()))
        .collect();
    assert_eq!(shown, ["0 Keep file (2)", "0 Undo file (2)", "2 Keep", "2 Undo", "4 Keep", "4 Undo"]);
    let range = json!({ "start": { "line": 4, "character": 0 }, "end": { "line": 4, "character": 1 } });
    let params = json!({ "textDocument": { "uri": URI }, "range": range, "context": { "diagnostics": [] } });
    let actions = bench.editor.ask("textDocument/codeAction", params).await;
    assert_eq!(actions.as_array().unwrap().len(), 4, "{actions}");
    // One is kept through its lens, the other undone.
    let keep = lenses[4]["command"].clone();
    bench.editor.ask("workspace/executeCommand", keep).await;
    let undo = lenses[3]["command"].clone();
    let id = bench.editor.request("workspace/executeCommand", undo.clone());
    bench.editor.serve_edit(Manner::Apply).await;
    assert_eq!(outcomes(&bench.editor.result(id).await), ["undone"]);
    assert_eq!(bench.buffer(), "zero\none\ntwo\nthree\n4\nfive\n");
    assert_eq!(bench.editor.ask("textDocument/codeLens", document).await, json!([]));
    // A lens of yesterday does nothing.
    let result = bench.editor.ask("workspace/executeCommand", undo).await;
    assert_eq!(result["hunks"], json!([]));
    for wrong in [json!([]), json!([1]), json!([{}, {}])] {
        let params = json!({ "command": "ropewalk.undo", "arguments": wrong });
        let id = bench.editor.request("workspace/executeCommand", params);
        assert_eq!(bench.editor.error_code(id).await, -32602);
    }
    // What stays is told to whoever clicked.
    bench.edits("s", "c3", "five", "5").await;
    bench.types("zero\none\ntwo\nthree\n4\n5 mine\n");
    let params = json!({ "command": "ropewalk.undo", "arguments": [{ "callId": "c3" }] });
    bench.editor.ask("workspace/executeCommand", params).await;
    let shown = bench.editor.next_where(|message| message["method"] == "window/showMessage").await.unwrap();
    assert!(shown["params"]["message"].as_str().unwrap().contains("You have changed the same lines"), "{shown}");
    bench.editor.accept_rest();
    bench.leave().await;
}

#[tokio::test(start_paused = true)]
async fn odd_questions_are_answered() {
    let mut bench = Bench::new(json!({})).await;
    assert_eq!(
        bench.editor.ask("ropewalk/changes", json!({})).await,
        json!({ "files": [], "proposals": [], "undos": [] })
    );
    assert_eq!(
        bench.editor.ask("ropewalk/undo", json!({ "hunkId": "9.9" })).await,
        json!({ "hunks": [], "edits": [] })
    );
    assert_eq!(bench.editor.ask("ropewalk/keep", json!({ "callId": "none" })).await, json!({ "kept": [] }));
    let document = json!({ "textDocument": { "uri": URI } });
    assert_eq!(bench.editor.ask("textDocument/codeLens", document).await, json!([]), "not declared");
    for (method, params) in [
        ("ropewalk/undo", json!({ "undoId": "u7" })),
        ("ropewalk/undo", json!({ "undoId": "seven" })),
        ("ropewalk/undo", json!({ "undoId": "u1", "callId": "c" })),
        ("ropewalk/changes", json!({ "uri": "git:/x" })),
        ("ropewalk/keep", json!({ "hunkId": 7 })),
        // What is misspelt does not mean everything.
        ("ropewalk/keep", json!({ "hunk_id": "1.1" })),
        ("ropewalk/undo", json!({ "hunk": "1.1" })),
        ("ropewalk/undo", json!({ "undo": "u1" })),
        ("ropewalk/changes", json!({ "URI": URI })),
        ("ropewalk/keep", json!([])),
        ("ropewalk/keep", json!(["s"])),
        ("ropewalk/undo", json!([])),
        ("ropewalk/undo", json!("1.1")),
        ("ropewalk/accept", json!({ "hunkId": "p1.1", "edited_text": "x" })),
        ("ropewalk/accept", json!(["s", "p1.1"])),
        ("ropewalk/reject", json!({ "callId": "c1", "hunk": "p1.1" })),
    ] {
        let id = bench.editor.request(method, params.clone());
        assert_eq!(bench.editor.error_code(id).await, -32602, "{method} {params}");
    }
    // An editor that loses its buffers loses nothing else.
    bench.editor.open(URI, TEXT);
    bench.edits("s", "c1", "two", "2").await;
    bench.editor.notify("textDocument/didClose", json!({ "textDocument": { "uri": URI } }));
    bench.editor.buffers.insert(URI.to_owned(), Buffer { text: TEXT.to_owned(), version: 1 });
    // Never saved: the file has no such change.
    assert_eq!(bench.changes(json!({})).await, Vec::<String>::new());
    bench.leave().await;
}
