//! What a person makes of proposals, over the wire: they are listed, accepted by the usual path, undone, and they outlive a
//! restart.

mod doubt;
mod modes;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use ropewalk::ports::{Disk as _, Ports, SystemDisk};
use ropewalk::server::{self, ServeOptions};
use serde_json::{Value, json};

use crate::editor::{FakeEditor, Manner};
use crate::files::{folder, got, put, text};

const ONE: &str = "fn one() {}\nfn two() {}\nfn three() {}\nfn four() {}\n";

/// An editor in a folder with an open, unsaved file and closed ones; the session `s` proposes.
struct Desk {
    editor: FakeEditor,
    folder: PathBuf,
    gone: tempfile::TempDir,
    open: String,
    state: tempfile::TempDir,
    abilities: Value,
}

impl Desk {
    async fn new(abilities: Value, settings: Value) -> Desk {
        let (gone, folder) = folder();
        put(&folder, "open.rs", "fn saved() {}\n");
        put(&folder, "closed.rs", ONE);
        let state = tempfile::tempdir().unwrap();
        let editor = start(&[&folder], state.path(), &abilities, settings).await;
        let open = uri(&folder, "open.rs");
        let mut desk = Desk { editor, folder, gone, open, state, abilities };
        desk.editor.open(&desk.open, ONE);
        desk.session("s").await;
        desk
    }

    async fn plain() -> Desk {
        Desk::new(json!({ "events": true }), json!({})).await
    }

    /// The same folder and state, and a new program. Nothing is open.
    async fn again(mut self) -> Desk {
        self.editor.accept_rest();
        let Desk { editor, folder, gone, open, state, abilities } = self;
        assert_eq!(editor.leave().await, 0);
        let editor = start(&[&folder], state.path(), &abilities, json!({})).await;
        Desk { editor, folder, gone, open, state, abilities }
    }

    async fn session(&mut self, session: &str) {
        self.editor.ask("ropewalk/openSession", json!({ "sessionId": session, "apply": "propose" })).await;
    }

    fn uri(&self, name: &str) -> String {
        uri(&self.folder, name)
    }

    fn buffer(&self) -> &str {
        &self.editor.buffers[&self.open].text
    }

    async fn call(&mut self, session: &str, id: &str, name: &str, arguments: Value) -> Value {
        let params =
            json!({ "sessionId": session, "turnId": "t1", "callId": id, "name": name, "arguments": arguments });
        self.editor.ask("ropewalk/callTool", params).await
    }

    /// Proposes that a function has another name.
    async fn rename(&mut self, session: &str, id: &str, file: &str, old: &str, new: &str) -> Value {
        let (old, new) = (format!("fn {old}() {{}}"), format!("fn {new}() {{}}"));
        let arguments = json!({ "file_path": file, "old_string": old, "new_string": new });
        let result = self.call(session, id, "edit", arguments).await;
        assert_eq!((&result["status"], &result["proposed"]), (&json!("ok"), &json!(true)), "{result}");
        result
    }

    async fn read(&mut self, session: &str, file: &str) -> String {
        text(&self.call(session, "look", "read", json!({ "file_path": file })).await).to_owned()
    }

    /// Does what changes the open document, while the editor does as it is asked.
    async fn served(&mut self, method: &str, params: Value) -> Value {
        let id = self.editor.request(method, params);
        self.editor.serve_edit(Manner::Apply).await;
        self.editor.result(id).await
    }

    async fn accept(&mut self, params: Value) -> Value {
        let result = self.served("ropewalk/accept", params).await;
        assert!(result["refused"].is_null(), "{result}");
        result
    }

    async fn changes(&mut self, params: Value) -> Value {
        self.editor.ask("ropewalk/changes", params).await
    }

    /// What is proposed, a line each.
    async fn proposals(&mut self, params: Value) -> String {
        let listed = self.changes(params).await;
        let mut told = String::new();
        for file in listed["proposals"].as_array().unwrap() {
            let name = file["uri"].as_str().unwrap().rsplit('/').next().unwrap();
            for hunk in file["hunks"].as_array().unwrap() {
                let word = |name: &str| hunk[name].as_str().unwrap();
                writeln!(
                    told,
                    "{} {} {} {}: {} {name} {} -> {} {:?} -> {:?}",
                    file["sessionId"].as_str().unwrap(),
                    word("turnId"),
                    word("callId"),
                    word("hunkId"),
                    word("kind"),
                    hunk["lines"]["start"],
                    hunk["proposedLines"]["start"],
                    word("before"),
                    word("after"),
                )
                .unwrap();
            }
        }
        told
    }

    async fn end(mut self) {
        self.editor.accept_rest();
        assert_eq!(self.editor.leave().await, 0);
    }
}

async fn start(folders: &[&Path], state: &Path, abilities: &Value, settings: Value) -> FakeEditor {
    let options = ServeOptions { state_dir: Some(state.to_owned()), ..ServeOptions::default() };
    let serve = |input, output| tokio::spawn(server::serve(input, output, Ports::system(), options));
    let mut editor = FakeEditor::start(serve);
    editor.introduce(folders, abilities.clone(), settings).await;
    editor
}

fn uri(folder: &Path, name: &str) -> String {
    format!("file://{}/{name}", folder.display())
}

#[tokio::test]
async fn proposals_are_listed_beside_changes() {
    let mut desk = Desk::plain().await;
    desk.session("t").await;
    let write = json!({ "file_path": "made.rs", "content": "fn made() {}\n" });
    let made = desk.call("default", "d1", "write", write).await;
    assert_eq!(made["applied"], "all", "{made}");
    desk.rename("s", "c1", "open.rs", "two", "zwei").await;
    desk.rename("s", "c2", "open.rs", "four", "vier").await;
    desk.rename("t", "c1", "open.rs", "two", "deux").await;
    let patch = "*** Begin Patch\n*** Add File: new.rs\n+fn new() {}\n*** Update File: closed.rs\n*** Move to: \
                 moved.rs\n@@\n-fn one() {}\n+fn eins() {}\n*** End Patch\n";
    desk.call("s", "c3", "apply_patch", json!({ "patch": patch })).await;
    // Each for itself: what was made, and what is proposed.
    let listed = desk.changes(json!({})).await;
    let made: Vec<&Value> = listed["files"].as_array().unwrap().iter().map(|file| &file["uri"]).collect();
    assert_eq!(made, [&json!(desk.uri("made.rs"))], "{listed}");
    assert_eq!(listed["proposals"][0]["movedTo"], desk.uri("moved.rs"), "{listed}");
    assert_eq!((&listed["proposals"][0]["version"], &listed["proposals"][2]["version"]), (&Value::Null, &json!(1)));
    expect_test::expect![[r#"
        s t1 c3 p3.0: moved closed.rs 1 -> 1 "" -> ""
        s t1 c3 p3.1: changed closed.rs 1 -> 1 "fn one() {}\n" -> "fn eins() {}\n"
        s t1 c3 p2.0: created new.rs 1 -> 1 "" -> ""
        s t1 c3 p2.1: changed new.rs 1 -> 1 "" -> "fn new() {}\n"
        s t1 c1 p1.1: changed open.rs 2 -> 2 "fn two() {}\n" -> "fn zwei() {}\n"
        s t1 c2 p1.2: changed open.rs 4 -> 4 "fn four() {}\n" -> "fn vier() {}\n"
        t t1 c1 p1.1: changed open.rs 2 -> 2 "fn two() {}\n" -> "fn deux() {}\n"
    "#]]
    .assert_eq(&desk.proposals(json!({})).await);
    for (params, lines) in [
        (json!({ "sessionId": "t" }), 1),
        (json!({ "sessionId": "s", "uri": desk.open }), 2),
        (json!({ "callId": "c1" }), 2),
        (json!({ "callId": "c1", "sessionId": "s" }), 1),
        (json!({ "hunkId": "p1.2" }), 1),
        (json!({ "turnId": "t2" }), 0),
        (json!({ "uri": desk.uri("moved.rs") }), 2),
        (json!({ "sessionId": "nobody" }), 0),
        (json!({ "hunkId": "1.1" }), 0),
    ] {
        let told = desk.proposals(params.clone()).await;
        assert_eq!(told.lines().count(), lines, "{params}: {told}");
    }
    // They move with what the user types.
    desk.editor.splice(&desk.open.clone(), 0..0, "// typed\n");
    let told = desk.proposals(json!({ "hunkId": "p1.2" })).await;
    assert_eq!(told, "s t1 c2 p1.2: changed open.rs 5 -> 5 \"fn four() {}\\n\" -> \"fn vier() {}\\n\"\n");
    desk.end().await;
}

#[tokio::test]
async fn lenses_and_actions_accept_and_reject() {
    let mut desk = Desk::new(json!({ "review": "lens" }), json!({})).await;
    desk.rename("s", "c1", "open.rs", "two", "zwei").await;
    desk.rename("s", "c2", "open.rs", "four", "vier").await;
    let document = json!({ "textDocument": { "uri": desk.open } });
    let lenses = desk.editor.ask("textDocument/codeLens", document.clone()).await;
    let titles: Vec<(u64, &str)> = lenses
        .as_array()
        .unwrap()
        .iter()
        .map(|lens| (lens["range"]["start"]["line"].as_u64().unwrap(), lens["command"]["title"].as_str().unwrap()))
        .collect();
    let expected = [
        (0, "Accept all proposals (2)"),
        (0, "Reject all proposals (2)"),
        (1, "Accept proposal"),
        (1, "Reject proposal"),
        (3, "Accept proposal"),
        (3, "Reject proposal"),
    ];
    assert_eq!(titles, expected);
    let mut asked = document.clone();
    let line = json!({ "line": 3, "character": 0 });
    asked["range"] = json!({ "start": line, "end": line });
    asked["context"] = json!({ "diagnostics": [], "only": ["ropewalk"] });
    let actions = desk.editor.ask("textDocument/codeAction", asked).await;
    assert_eq!(actions[0]["title"], "Accept this proposal", "{actions}");
    assert_eq!(actions[0]["command"]["arguments"], json!([{ "sessionId": "s", "hunkId": "p1.2" }]));
    // As an editor runs them.
    let run = |command: &Value| json!({ "command": command["command"], "arguments": command["arguments"] });
    let done = desk.served("workspace/executeCommand", run(&lenses[2]["command"])).await;
    assert_eq!((done["accepted"].as_array().map(Vec::len), desk.buffer()), (Some(1), &*ONE.replace("two", "zwei")));
    desk.editor.ask("workspace/executeCommand", run(&lenses[5]["command"])).await;
    assert_eq!(desk.editor.ask("textDocument/codeLens", document).await, json!([]));
    // What was clicked too late is told.
    let none = desk.editor.ask("workspace/executeCommand", run(&lenses[4]["command"])).await;
    assert_eq!(none["refused"]["kind"], "notFound");
    let shown = desk.editor.next_where(|message| message["method"] == "window/showMessage").await.unwrap();
    assert!(shown["params"]["message"].as_str().unwrap().starts_with("Ropewalk: Nothing is proposed"), "{shown}");
    desk.end().await;
}

#[tokio::test]
async fn what_is_accepted_is_formatted_saved_and_looked_at() {
    let settings = json!({ "formatter": { "mode": "onWrite" } });
    let mut desk = Desk::new(json!({ "format": true, "save": true, "diagnostics": true }), settings).await;
    let opened = desk.editor.ask("ropewalk/openSession", json!({ "sessionId": "s", "save": "always" })).await;
    assert_eq!(opened["save"], "always", "{opened}");
    let (open, source) = (desk.open.clone(), json!({ "id": "7", "name": "checker" }));
    desk.editor.notify("ropewalk/didChangeDiagnosticSources", json!({ "uri": open, "sources": [source] }));
    desk.rename("s", "c1", "open.rs", "one", "eins").await;
    let accepting = desk.editor.request("ropewalk/accept", json!({ "sessionId": "s", "callId": "c1" }));
    desk.editor.serve_edit(Manner::Apply).await;
    let (id, params) = desk.editor.asked("ropewalk/format").await;
    assert_eq!(params["version"], 2);
    let place = |character: u32| json!({ "line": 0, "character": character });
    let edit = json!({ "range": { "start": place(8), "end": place(8) }, "newText": " " });
    desk.editor.respond(&id, json!({ "edits": [edit] }));
    desk.editor.serve_edit(Manner::Apply).await;
    let (id, params) = desk.editor.asked("ropewalk/save").await;
    assert_eq!(params, json!({ "uris": [open] }));
    put(&desk.folder, "open.rs", &desk.editor.buffers[&open].text);
    desk.editor.notify("textDocument/didSave", json!({ "textDocument": { "uri": open } }));
    desk.editor.respond(&id, json!(null));
    let fault = json!({ "range": { "start": place(3), "end": place(7) }, "severity": 1, "message": "no German" });
    let said = json!({
        "uri": open, "version": desk.editor.buffers[&open].version, "stamp": "server", "source": source,
        "positionEncoding": "utf-8", "kind": "push", "diagnostics": [fault],
    });
    desk.editor.notify("ropewalk/didChangeDiagnostics", said);
    let result = desk.editor.result(accepting).await;
    let now = ONE.replace("fn one() {}", "fn eins( ) {}");
    assert_eq!((desk.buffer(), got(&desk.folder, "open.rs")), (&*now, now.as_bytes().to_vec()), "{result}");
    assert_eq!(result["accepted"][0]["edit"]["unsaved"], false, "{result}");
    assert_eq!(result["followed"][0]["hunks"][0]["strategy"], "format", "{result}");
    assert!(result["notes"][0].as_str().unwrap().starts_with("Formatted open.rs by the editor"), "{result}");
    let sources = result["diagnostics"]["documents"][0]["sources"].as_array().unwrap();
    let checker = sources.iter().find(|source| source["id"] == "checker").unwrap();
    assert_eq!((&checker["verdict"], sources.len()), (&json!("fresh"), 2), "{result}");
    // The model is told, once.
    let told = desk.read("s", "open.rs").await;
    for words in ["call c1 proposed for open.rs; it is applied now", "Formatted open.rs by the editor", "no German"] {
        assert!(told.contains(words), "{words}: {told}");
    }
    assert!(!desk.read("s", "open.rs").await.contains("Since then"));
    desk.end().await;
}

#[tokio::test]
async fn what_cannot_be_saved_is_noted_and_waiting_can_be_left_out() {
    let mut desk = Desk::new(json!({ "save": true, "diagnostics": true, "events": true }), json!({})).await;
    desk.editor.ask("ropewalk/openSession", json!({ "sessionId": "s", "save": "ifClean" })).await;
    let source = json!({ "id": "7", "name": "checker" });
    let params = json!({ "uri": desk.open, "sources": [source] });
    desk.editor.notify("ropewalk/didChangeDiagnosticSources", params);
    desk.rename("s", "c1", "open.rs", "one", "eins").await;
    let params = json!({ "sessionId": "s", "callId": "c1", "diagnostics": { "wait": "none" } });
    let result = desk.accept(params).await;
    assert_eq!(result["notes"], json!(["open.rs: it was not saved: it had unsaved changes before."]), "{result}");
    assert_eq!(result["accepted"][0]["edit"]["unsaved"], true, "{result}");
    let sources = result["diagnostics"]["documents"][0]["sources"].as_array().unwrap();
    let checker = sources.iter().find(|source| source["id"] == "checker").unwrap();
    assert_ne!(checker["verdict"], "fresh", "{result}");
    // What comes later is told late.
    let version = desk.editor.buffers[&desk.open].version;
    let said = json!({
        "uri": desk.open, "version": version, "stamp": "server", "source": source, "positionEncoding": "utf-8",
        "kind": "push", "diagnostics": [{
            "range": { "start": { "line": 0, "character": 3 }, "end": { "line": 0, "character": 7 } },
            "severity": 1, "message": "no German",
        }],
    });
    desk.editor.notify("ropewalk/didChangeDiagnostics", said);
    desk.editor.next_where(|message| message["method"] == "ropewalk/lateDiagnostics").await.unwrap();
    let told = desk.read("s", "open.rs").await;
    assert!(told.contains("Since then, about earlier edits:") && told.contains("no German"), "{told}");
    desk.end().await;
}

#[tokio::test]
async fn what_was_accepted_is_judged_and_can_be_undone() {
    let mut desk = Desk::plain().await;
    desk.rename("s", "c1", "open.rs", "one", "eins").await;
    desk.rename("s", "c2", "open.rs", "three", "drei").await;
    let write = json!({ "file_path": "new.rs", "content": "fn new() {}\n" });
    desk.call("s", "c3", "write", write).await;
    let open = desk.open.clone();
    let done = desk.accept(json!({ "sessionId": "s", "uri": open })).await;
    let ids = done["accepted"][0]["changeIds"].as_array().unwrap().clone();
    assert_eq!(ids.len(), 2, "{done}");
    desk.editor.ask("ropewalk/accept", json!({ "sessionId": "s", "callId": "c3" })).await;
    assert_eq!(got(&desk.folder, "new.rs"), b"fn new() {}\n");
    // Nobody has to judge it once more.
    assert_eq!(desk.changes(json!({})).await["files"], json!([]));
    let listed = desk.changes(json!({ "includeAccepted": true })).await;
    let hunks: Vec<(&str, bool)> = listed["files"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|file| file["hunks"].as_array().unwrap())
        .map(|hunk| (hunk["callId"].as_str().unwrap(), hunk["accepted"] == true))
        .collect();
    assert_eq!(hunks, [("c3", true), ("c1", true), ("c2", true)], "{listed}");
    // And it goes back: by call, by the name that was given, by session, and that in its turn.
    desk.editor.splice(&open, 0..0, "// typed\n");
    desk.served("ropewalk/undo", json!({ "sessionId": "s", "callId": "c1" })).await;
    assert_eq!(desk.buffer(), format!("// typed\n{}", ONE.replace("three", "drei")));
    let undone = desk.served("ropewalk/undo", json!({ "hunkId": ids[1] })).await;
    assert_eq!(desk.buffer(), format!("// typed\n{ONE}"));
    desk.served("ropewalk/undo", json!({ "undoId": undone["undoId"] })).await;
    assert_eq!(desk.buffer(), format!("// typed\n{}", ONE.replace("three", "drei")));
    desk.served("ropewalk/undo", json!({ "sessionId": "s" })).await;
    assert_eq!(desk.buffer(), format!("// typed\n{ONE}"));
    assert!(SystemDisk.metadata(&desk.folder.join("new.rs")).is_err());
    desk.end().await;
}

#[tokio::test]
async fn what_the_person_wrote_instead_is_theirs() {
    let mut desk = Desk::plain().await;
    desk.rename("s", "c1", "open.rs", "one", "eins").await;
    let edited = "fn uno() {}\n";
    let params = json!({ "sessionId": "s", "hunkId": "p1.1", "editedText": edited });
    desk.accept(params).await;
    let undone = desk.editor.ask("ropewalk/undo", json!({ "sessionId": "s" })).await;
    assert_eq!((&undone["hunks"][0]["outcome"], &undone["edits"]), (&json!("left"), &json!([])), "{undone}");
    assert_eq!(desk.buffer(), ONE.replace("one", "uno"));
    // Of a closed file, too; what is the call's alone goes.
    desk.rename("s", "c2", "closed.rs", "one", "eins").await;
    let text = format!("// mine\n{}", ONE.replace("one", "eins"));
    let params = json!({ "sessionId": "s", "uri": desk.uri("closed.rs"), "editedText": text });
    desk.editor.ask("ropewalk/accept", params).await;
    desk.editor.ask("ropewalk/undo", json!({ "callId": "c2" })).await;
    assert_eq!(got(&desk.folder, "closed.rs"), format!("// mine\n{ONE}").as_bytes());
    desk.end().await;
}

#[tokio::test]
async fn a_choice_that_is_null_is_not_a_choice_of_everything() {
    let mut desk = Desk::plain().await;
    let write = json!({ "file_path": "made.rs", "content": "fn made() {}\n" });
    desk.call("default", "d1", "write", write).await;
    desk.rename("s", "c1", "closed.rs", "one", "eins").await;
    let review = ["sessionId", "turnId", "callId", "uri", "hunkId"];
    let judge = ["sessionId", "callId", "uri", "hunkId"];
    for (method, fields) in [
        ("ropewalk/changes", &review[..]),
        ("ropewalk/keep", &review[..]),
        ("ropewalk/undo", &[&review[..], &["undoId"]].concat()),
        ("ropewalk/accept", &judge[..]),
        ("ropewalk/reject", &judge[..]),
    ] {
        for field in fields {
            let mut params = json!({ "uri": desk.uri("closed.rs"), "sessionId": "s" });
            params[*field] = Value::Null;
            let id = desk.editor.request(method, params);
            let answer = desk.editor.maybe_answer(id).await.unwrap();
            assert_eq!(answer["error"]["code"], -32602, "{method} {field}: {answer}");
            let words = answer["error"]["message"].as_str().unwrap();
            assert!(words.starts_with(&format!("`{field}` is null; expected a string")), "{words}");
        }
    }
    let command = json!({ "command": "ropewalk.undo", "arguments": [{ "hunkId": null }] });
    let id = desk.editor.request("workspace/executeCommand", command);
    assert_eq!(desk.editor.error_code(id).await, -32602);
    // Nothing has happened, and what does not choose may be null.
    let listed = desk.changes(json!({})).await;
    assert_eq!((listed["files"].as_array().unwrap().len(), listed["proposals"].as_array().unwrap().len()), (1, 1));
    let params = json!({ "sessionId": "s", "callId": "c1", "feedback": null });
    assert_eq!(desk.editor.ask("ropewalk/reject", params).await["rejected"].as_array().map(Vec::len), Some(1));
    desk.end().await;
}

#[tokio::test]
async fn a_file_proposed_in_the_second_folder_is_there_for_its_session() {
    let ((_one, first), (_two, second)) = (folder(), folder());
    let state = tempfile::tempdir().unwrap();
    let mut editor = start(&[&first, &second], state.path(), &json!({}), json!({})).await;
    editor.ask("ropewalk/openSession", json!({ "sessionId": "s", "apply": "propose" })).await;
    let call = |id: &str, name: &str, arguments: Value| json!({ "sessionId": "s", "callId": id, "name": name, "arguments": arguments });
    let path = second.join("new.rs").display().to_string();
    let write = call("c1", "write", json!({ "file_path": path, "content": "fn new() {}\n" }));
    assert_eq!(editor.ask("ropewalk/callTool", write).await["proposed"], true);
    let edit = json!({ "file_path": "new.rs", "old_string": "new()", "new_string": "neu()" });
    let result = editor.ask("ropewalk/callTool", call("c2", "edit", edit)).await;
    assert_eq!((&result["proposed"], &result["edits"][0]["uri"]), (&json!(true), &json!(uri(&second, "new.rs"))));
    let read = json!({ "name": "read", "arguments": { "file_path": "new.rs" } });
    assert_eq!(editor.ask("ropewalk/callTool", read).await["error"]["kind"], "notFound");
    editor.ask("ropewalk/accept", json!({ "sessionId": "s", "uri": uri(&second, "new.rs") })).await;
    assert_eq!(got(&second, "new.rs"), b"fn neu() {}\n");
    editor.accept_rest();
    assert_eq!(editor.leave().await, 0);
}

#[tokio::test]
async fn proposals_outlive_a_restart() {
    let mut desk = Desk::plain().await;
    put(&desk.folder, "other.rs", ONE);
    desk.rename("s", "c1", "open.rs", "two", "zwei").await;
    desk.rename("s", "c2", "closed.rs", "two", "zwei").await;
    desk.rename("s", "c3", "other.rs", "two", "zwei").await;
    desk.call("s", "c4", "write", json!({ "file_path": "new.rs", "content": "fn new() {}\n" })).await;
    desk.rename("s", "c5", "closed.rs", "four", "vier").await;
    let no = json!({ "sessionId": "s", "callId": "c5", "feedback": "English, please" });
    desk.editor.ask("ropewalk/reject", no).await;
    let listed = desk.proposals(json!({})).await;
    let mut desk = desk.again().await;
    // Somebody changed one of the files meanwhile in the very lines, another one elsewhere.
    put(&desk.folder, "other.rs", ONE.replace("two", "mine"));
    put(&desk.folder, "closed.rs", format!("// mine\n{ONE}"));
    desk.session("s").await;
    let told = desk.editor.next_where(|message| message["method"] == "ropewalk/changesChanged").await.unwrap();
    assert_eq!(told["params"]["uris"].as_array().map(Vec::len), Some(4), "{told}");
    // What was proposed for the unsaved text waits for the editor to open it again; the file never had that.
    let now = desk.proposals(json!({})).await;
    let expected: String = listed
        .lines()
        .filter(|line| !line.contains("other.rs"))
        .map(|line| line.replace("closed.rs 2 -> 2", "closed.rs 3 -> 3") + "\n")
        .collect();
    assert_eq!(now, expected);
    let shown = desk.read("s", "closed.rs").await;
    for words in ["zwei", "// mine", "English, please", "what call c3 proposed for other.rs went stale"] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    let shown = desk.read("s", "other.rs").await;
    assert!(shown.contains("fn mine") && !shown.contains("Since then"), "{shown}");
    let open = desk.open.clone();
    // Not yet: nothing is written into what it was not proposed for.
    let early = desk.editor.ask("ropewalk/accept", json!({ "sessionId": "s", "callId": "c1" })).await;
    assert_eq!(early["refused"]["kind"], "stale", "{early}");
    desk.editor.open(&open, ONE);
    desk.accept(json!({ "sessionId": "s", "callId": "c1" })).await;
    assert_eq!(desk.buffer(), ONE.replace("two", "zwei"));
    desk.editor.ask("ropewalk/accept", json!({ "sessionId": "s", "uri": desk.uri("closed.rs") })).await;
    assert_eq!(got(&desk.folder, "closed.rs"), format!("// mine\n{}", ONE.replace("two", "zwei")).as_bytes());
    // What was told and accepted stays so; what was accepted before can be undone still.
    let mut desk = desk.again().await;
    desk.session("s").await;
    assert_eq!(desk.proposals(json!({ "sessionId": "s" })).await.lines().count(), 2, "the new file");
    let told = desk.read("s", "new.rs").await;
    assert!(told.contains("call c1 proposed for open.rs; it is applied now") && !told.contains("went stale"), "{told}");
    assert!(!desk.read("s", "new.rs").await.contains("Since then"));
    assert_eq!(desk.changes(json!({})).await["files"], json!([]));
    desk.editor.ask("ropewalk/undo", json!({ "callId": "c2" })).await;
    assert_eq!(got(&desk.folder, "closed.rs"), format!("// mine\n{ONE}").as_bytes());
    // A session that is closed proposes nothing any more, also after a restart.
    desk.editor.ask("ropewalk/closeSession", json!({ "sessionId": "s" })).await;
    let mut desk = desk.again().await;
    desk.session("s").await;
    assert_eq!(desk.proposals(json!({ "sessionId": "s" })).await, "");
    assert!(desk.read("s", "new.rs").await.contains("There is no file"));
    desk.end().await;
}

#[tokio::test]
async fn closing_a_session_before_it_is_back_drops_what_is_kept_of_it() {
    let mut desk = Desk::plain().await;
    desk.rename("s", "c1", "closed.rs", "two", "zwei").await;
    let mut desk = desk.again().await;
    let close = desk.editor.request("ropewalk/closeSession", json!({ "sessionId": "s" }));
    let open = desk.editor.request("ropewalk/openSession", json!({ "sessionId": "s", "apply": "propose" }));
    desk.editor.result(close).await;
    desk.editor.result(open).await;
    assert!(desk.read("s", "closed.rs").await.contains("fn two"));
    assert_eq!(desk.proposals(json!({ "sessionId": "s" })).await, "");
    desk.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_are_never_said_to_have_checked_what_is_proposed() {
    let script = json!({ "rules": [{ "pattern": "BAD", "message": "$0 is bad" }] });
    let command = [env!("CARGO_BIN_EXE_ropewalk").to_owned(), "fake-server".to_owned(), script.to_string()];
    let servers = json!({ "fake": { "command": command, "languages": ["text"] } });
    let settings = json!({ "trusted": true, "diagnostics": { "servers": servers } });
    let mut desk = Desk::new(json!({}), settings).await;
    desk.read("s", "open.rs").await;
    let known = desk.editor.ask("ropewalk/diagnostics", json!({ "uri": desk.open, "deadlineMs": 30_000 })).await;
    assert_eq!(known["documents"][0]["sources"][0]["verdict"], "fresh", "{known}");
    let result = desk.rename("s", "c1", "open.rs", "two", "BAD").await;
    let sources = result["diagnostics"]["documents"][0]["sources"].as_array().unwrap();
    let fake = sources.iter().find(|source| source["id"] == "fake").unwrap();
    assert_eq!((&fake["verdict"], sources.len()), (&json!("stale"), 2), "{result}");
    assert!(text(&result).contains("it sees the text as it is, without what you propose"), "{result}");
    assert!(!text(&result).contains("no errors"), "{result}");
    // It was shown nothing of it: what it says is of the text as it is.
    let known = desk.editor.ask("ropewalk/diagnostics", json!({ "uri": desk.open, "deadlineMs": 30_000 })).await;
    let source = &known["documents"][0]["sources"][0];
    assert_eq!((&source["verdict"], &source["present"]), (&json!("fresh"), &Value::Null), "{known}");
    // Once it is applied, it is.
    let params = json!({ "sessionId": "s", "callId": "c1", "diagnostics": { "deadlineMs": 30_000 } });
    let done = desk.accept(params).await;
    let sources = done["diagnostics"]["documents"][0]["sources"].as_array().unwrap();
    let fake = sources.iter().find(|source| source["id"] == "fake").unwrap();
    assert_eq!((&fake["verdict"], &fake["new"][0]["message"]), (&json!("fresh"), &json!("BAD is bad")), "{done}");
    assert!(desk.read("s", "open.rs").await.contains("BAD is bad"));
    desk.end().await;
}
