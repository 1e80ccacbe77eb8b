//! The `lsp` tool over the wire: an editor with an unsaved document, and a fake server as a process of its own.

use std::path::PathBuf;

use ropewalk::ports::{Disk as _, Ports, SystemDisk};
use ropewalk::server::{self, ServeOptions};
use serde_json::{Value, json};

use crate::editor::{FakeEditor, Manner};

/// A language that no embedded check knows, so that only the fake server speaks.
const LANGUAGE: &str = "objective-c";

/// On the disk; `b.m` and `c.m` use what `a.m` defines.
const FILES: [(&str, &str); 3] =
    [("a.m", "def old()\nold() old()\n"), ("b.m", "old()\n"), ("c.m", "x = 1\nold() # old\n")];

/// What `a.m` is in the editor, unsaved.
const BUFFER: &str = "def new()\ndef old()\n    old() new()  \n";

struct Bench {
    editor: FakeEditor,
    root: PathBuf,
    folder: tempfile::TempDir,
}

impl Bench {
    /// With a server by this script, and what else the settings say; `a.m` is open.
    async fn new(script: Value, more: Value) -> Bench {
        let folder = tempfile::tempdir().unwrap();
        let root = SystemDisk.canonicalize(folder.path()).unwrap();
        for (name, text) in FILES {
            SystemDisk.create(&root.join(name), text.as_bytes()).unwrap();
        }
        let options = ServeOptions { repeatable: true, ..ServeOptions::default() };
        let serve = |input, output| tokio::spawn(server::serve(input, output, Ports::system(), options));
        let mut editor = FakeEditor::start(serve);
        let command = json!([env!("CARGO_BIN_EXE_ropewalk"), "fake-server", script.to_string()]);
        let mut settings = json!({
            "trusted": true,
            "diagnostics": { "servers": {
                "fake": { "command": command, "languages": [LANGUAGE] }, "clangd": { "enabled": false },
            } },
        });
        if let (Some(settings), Some(more)) = (settings.as_object_mut(), more.as_object()) {
            settings.extend(more.clone());
        }
        let workspace = url::Url::from_file_path(&root).unwrap().to_string();
        let params = json!({
            "processId": null,
            "workspaceFolders": [{ "uri": workspace, "name": "w" }],
            "initializationOptions": settings,
            "capabilities": {
                "general": { "positionEncodings": ["utf-8"] },
                "workspace": { "applyEdit": true },
                "experimental": { "ropewalk": { "approve": true } },
            },
        });
        editor.ask("initialize", params).await;
        let mut bench = Bench { editor, root, folder };
        bench.open("a.m", BUFFER);
        bench
    }

    fn uri(&self, name: &str) -> String {
        url::Url::from_file_path(self.root.join(name)).unwrap().to_string()
    }

    fn open(&mut self, name: &str, text: &str) {
        let uri = self.uri(name);
        let document = json!({ "uri": uri, "languageId": LANGUAGE, "version": 1, "text": text });
        self.editor.notify("textDocument/didOpen", json!({ "textDocument": document }));
        self.editor.buffers.insert(uri, crate::editor::Buffer { text: text.to_owned(), version: 1 });
    }

    fn buffer(&self) -> &str {
        &self.editor.buffers[&self.uri("a.m")].text
    }

    fn on_disk(&self, name: &str) -> String {
        String::from_utf8(SystemDisk.read(&self.root.join(name)).unwrap_or_default()).unwrap()
    }

    /// Begins a call about `a.m`; the id of its request.
    fn begin(&mut self, mut arguments: Value) -> i64 {
        if arguments.get("file_path").is_none() {
            arguments["file_path"] = json!("a.m");
        }
        let params =
            json!({ "name": "lsp", "arguments": arguments, "callId": "it", "diagnostics": { "wait": "none" } });
        self.editor.request("ropewalk/callTool", params)
    }

    async fn call(&mut self, arguments: Value) -> Value {
        let call = self.begin(arguments);
        self.editor.result(call).await
    }

    /// Makes the edit that a call asks for; a result instead is a failure of the test.
    async fn served(&mut self, call: i64) {
        let early = |message: &Value| message["id"] == call && message["method"].is_null();
        let next = self.editor.next_where(|message| early(message) || message["method"] == "workspace/applyEdit").await;
        let message = next.unwrap();
        assert!(!early(&message), "{message}");
        self.editor.put_back(message);
        self.editor.serve_edit(Manner::Apply).await;
    }

    /// What a call says that changes nothing.
    async fn told(&mut self, arguments: Value) -> String {
        text(&self.call(arguments).await)
    }

    async fn leave(mut self) {
        self.editor.accept_rest();
        self.editor.leave().await;
        self.folder.close().unwrap();
    }
}

fn text(result: &Value) -> String {
    result["content"][0]["text"].as_str().unwrap_or_default().to_owned()
}

/// A server that knows names in all files, and answers everything else as it is written here.
fn script() -> Value {
    let range = |line: u32, from: u32, to: u32| json!({ "start": { "line": line, "character": from }, "end": { "line": line, "character": to } });
    let item = json!({ "name": "old", "kind": 12, "uri": "${root}/a.m", "range": range(1, 0, 9), "selectionRange": range(1, 4, 7) });
    json!({
        "rules": [{ "pattern": "BAD", "message": "$0 is bad" }],
        "names": { "defines": "def (\\w+)", "uses": "(\\w+)\\(\\)", "message": "`$1` is not defined" },
        "project": ["a.m", "b.m", "c.m"],
        "formatting": [{ "pattern": "[ \\t]+$", "with": "" }],
        "actions": [
            { "title": "Spell it out", "kind": "quickfix", "pattern": "new\\(\\)", "with": "brand_new()" },
            { "title": "Run it", "pattern": "new\\(\\)", "command": "fake.mend" },
        ],
        "commands": { "fake.mend": [{ "pattern": "new\\(\\)", "with": "newer()" }] },
        "answers": {
            "textDocument/declaration": { "uri": "${uri}", "range": range(1, 4, 7) },
            "textDocument/typeDefinition": [{
                "targetUri": "${root}/b.m", "targetRange": range(0, 0, 5), "targetSelectionRange": range(0, 0, 3),
            }],
            "textDocument/implementation": [
                { "uri": "${root}/c.m", "range": range(1, 0, 3) }, { "uri": "file:///etc/hostname", "range": range(0, 0, 1) },
            ],
            "textDocument/prepareCallHierarchy": [item],
            "callHierarchy/incomingCalls": [{ "from": item, "fromRanges": [range(2, 4, 7), range(2, 0, 1)] }],
            "callHierarchy/outgoingCalls": [],
        },
    })
}

#[tokio::test]
async fn every_question_is_about_the_unsaved_text() {
    let mut bench = Bench::new(script(), json!({})).await;
    let by_text = json!({ "line": 3, "text": "new" });
    for (operation, more, expected) in [
        ("hover", by_text.clone(), "`new`: 1 definitions, 1 uses"),
        ("hover", json!({ "line": 3, "column": 11 }), "`new`: 1 definitions, 1 uses"),
        ("hover", json!({ "symbol": "new" }), "`new`: 1 definitions, 1 uses"),
        ("hover", json!({ "line": 3, "column": 1 }), "The server has nothing to say of this place."),
        ("definition", by_text.clone(), "a.m:1:5: def new()\n(1 definition in 1 file)"),
        ("references", by_text.clone(), "a.m:1:5: def new()\na.m:3:11: old() new()\n(2 references in 1 file)"),
        (
            "references",
            json!({ "line": 3, "text": "new", "include_declaration": false }),
            "a.m:3:11: old() new()\n(1 reference in 1 file)",
        ),
        (
            "references",
            json!({ "symbol": "old" , "limit": 2 }),
            "a.m:2:5: def old()\na.m:3:5: old() new()\n(4 references in 3 files; the first 2 are shown, a larger `limit` \
             shows more)",
        ),
        ("declaration", by_text.clone(), "a.m:2:5: def old()\n(1 declaration in 1 file)"),
        ("type_definition", by_text.clone(), "b.m:1:1: old()\n(1 type definition in 1 file)"),
        (
            "implementation",
            by_text.clone(),
            "c.m:2:1: old() # old\n/etc/hostname:1 (outside of the workspace folders)\n(2 implementations in 2 files)",
        ),
        ("document_symbols", json!({}), "function new (line 1)\nfunction old (line 2)\n(2 symbols in a.m)"),
        ("workspace_symbols", json!({ "query": "ol" }), "a.m:2:5 function old: def old()\n(1 symbol in 1 file)"),
        ("workspace_symbols", json!({ "query": "zz" }), "No symbol was found."),
        (
            "incoming_calls",
            by_text.clone(),
            "a.m:2:5 function old (calls it on line 3): def old()\n(1 caller in 1 file)",
        ),
        ("outgoing_calls", by_text.clone(), "No callee was found."),
    ] {
        let mut arguments = more;
        arguments["operation"] = json!(operation);
        let result = bench.call(arguments.clone()).await;
        assert_eq!((text(&result).as_str(), &result["status"]), (expected, &json!("ok")), "{arguments}");
        assert_eq!(result["structuredContent"]["operation"], json!(operation), "{result}");
    }
    let told = bench.told(json!({ "operation": "diagnostics" })).await;
    assert!(told.contains("fake"), "{told}");
    bench.leave().await;
}

#[tokio::test]
async fn symbols_flat_and_nested() {
    let range =
        |line: u32| json!({ "start": { "line": line, "character": 4 }, "end": { "line": line, "character": 7 } });
    let nested = json!([{ "name": "N", "kind": 5, "range": range(0), "selectionRange": range(0), "children": [
        { "name": "m", "kind": 6, "range": range(1), "selectionRange": range(1) }] }]);
    let flat = json!([
        { "name": "m", "kind": 6, "location": { "uri": "${uri}", "range": range(1) }, "containerName": "N" },
        { "name": "N", "kind": 5, "location": { "uri": "${uri}", "range": range(0) } },
    ]);
    for (answer, expected) in [
        (nested, "class N (line 1)\n  method m (line 2)\n(2 symbols in a.m)"),
        (flat, "class N (line 1)\nmethod m (line 2)\n(2 symbols in a.m)"),
        (json!(null), "a.m defines nothing that the server knows of."),
        (
            json!([7, { "name": "x" }]),
            "a.m defines nothing that the server knows of.\n(fake gave 2 more that could not be read, so that this may not be \
             all)",
        ),
    ] {
        let mut bench = Bench::new(json!({ "answers": { "textDocument/documentSymbol": answer } }), json!({})).await;
        assert_eq!(bench.told(json!({ "operation": "document_symbols" })).await, expected, "{answer}");
        bench.leave().await;
    }
}

#[tokio::test]
async fn a_name_is_renamed_in_an_open_document_and_in_closed_files() {
    let mut bench = Bench::new(script(), json!({})).await;
    let call = bench.begin(json!({ "operation": "rename", "symbol": "old", "new_name": "renamed" }));
    bench.editor.serve_edit(Manner::Apply).await;
    let result = bench.editor.result(call).await;
    assert_eq!(result["status"], "ok", "{result}");
    assert_eq!(bench.buffer(), BUFFER.replace("old", "renamed"));
    assert_eq!(bench.on_disk("a.m"), FILES[0].1, "{result}");
    assert_eq!(
        (bench.on_disk("b.m").as_str(), bench.on_disk("c.m").as_str()),
        ("renamed()\n", "x = 1\nrenamed() # old\n")
    );
    bench.leave().await;
}

#[tokio::test]
async fn what_is_typed_between_the_plan_and_the_commit_is_asked_about_again() {
    let mut bench = Bench::new(script(), json!({})).await;
    let uri = bench.uri("a.m");
    let call = bench.begin(json!({ "operation": "rename", "symbol": "old", "new_name": "renamed" }));
    let (id, _) = bench.editor.asked("workspace/applyEdit").await;
    bench.editor.splice(&uri, 0..0, "old() ");
    bench.editor.respond(&id, json!({ "applied": false }));
    // The server is asked about the text as it is.
    bench.served(call).await;
    let result = bench.editor.result(call).await;
    assert_eq!(bench.buffer(), format!("old() {BUFFER}").replace("old", "renamed"), "{result}");
    assert_eq!(bench.on_disk("b.m"), "renamed()\n", "{result}");
    // Somebody who types each time wins.
    let call = bench.begin(json!({ "operation": "rename", "line": 1, "text": "new", "new_name": "newer" }));
    let mut typed = 0;
    let result = loop {
        let next =
            bench.editor.next_where(|message| message["id"] == call || message["method"] == "workspace/applyEdit");
        let message = next.await.unwrap();
        if message["method"].is_null() {
            break message["result"].clone();
        }
        typed += 1;
        bench.editor.splice(&uri, 0..0, " ");
        bench.editor.respond(&message["id"], json!({ "applied": false }));
    };
    assert_eq!((&result["error"]["kind"], typed), (&json!("conflict"), 4), "{result}");
    assert!(!bench.buffer().contains("newer"), "{result}");
    bench.leave().await;
}

#[tokio::test]
async fn what_was_consented_to_is_made_and_nothing_else() {
    let mut bench = Bench::new(script(), json!({ "permissions": { "mode": "review" } })).await;
    let uri = bench.uri("a.m");
    let decide = |params: &Value, decision: &str| json!({ "decisions": [{ "callId": params["calls"][0]["callId"], "decision": decision }] });
    // Reading needs nobody.
    assert!(bench.told(json!({ "operation": "hover", "symbol": "new" })).await.starts_with("`new`"));
    let rename = json!({ "operation": "rename", "symbol": "old", "new_name": "renamed" });
    let call = bench.begin(rename.clone());
    let (id, params) = bench.editor.asked("ropewalk/approve").await;
    let shown = params["calls"][0].to_string();
    for name in ["a.m", "b.m", "c.m"] {
        assert!(shown.contains(name), "{name}: {shown}");
    }
    // Above it something is typed that changes nothing of it: no second question.
    bench.editor.splice(&uri, 0..0, "x\n");
    bench.editor.respond(&id, decide(&params, "once"));
    bench.editor.serve_edit(Manner::Apply).await;
    let result = bench.editor.result(call).await;
    assert_eq!(bench.buffer(), format!("x\n{BUFFER}").replace("old", "renamed"), "{result}");
    // One more place: asked again, and no is no.
    let call = bench.begin(json!({ "operation": "rename", "symbol": "renamed", "new_name": "old" }));
    let (id, params) = bench.editor.asked("ropewalk/approve").await;
    bench.editor.splice(&uri, 0..0, "renamed() ");
    bench.editor.respond(&id, decide(&params, "once"));
    let (id, params) = bench.editor.asked("ropewalk/approve").await;
    bench.editor.respond(&id, decide(&params, "deny"));
    let result = bench.editor.result(call).await;
    assert_eq!(
        (&result["error"]["kind"], bench.on_disk("b.m").as_str()),
        (&json!("denied"), "renamed()\n"),
        "{result}"
    );
    bench.leave().await;
}

#[tokio::test]
async fn actions_are_listed_and_done() {
    let mut bench = Bench::new(script(), json!({})).await;
    let at = |more: Value| {
        let mut arguments = json!({ "operation": "code_actions", "line": 3 });
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        arguments
    };
    assert_eq!(
        bench.told(at(json!({}))).await,
        "1. Spell it out (quickfix, fake)\n2. Run it (fake) (runs the server's command `fake.mend`)\n(2 actions; give the \
         title of one as `apply` to do it)"
    );
    assert_eq!(bench.told(json!({ "operation": "code_actions", "line": 2 })).await, "No server offers anything here.");
    let call = bench.begin(at(json!({ "apply": "Spell it out" })));
    bench.editor.serve_edit(Manner::Apply).await;
    let result = bench.editor.result(call).await;
    assert_eq!(bench.buffer(), BUFFER.replace("old() new()", "old() brand_new()"), "{result}");
    for (more, kind, words) in [
        (json!({ "apply": "No such" }), "notFound", "No action here is called \"No such\""),
        (json!({ "apply": "Run it" }), "invalidArguments", "`fake.mend`, which counts as running code"),
    ] {
        let result = bench.call(at(more)).await;
        assert_eq!(result["error"]["kind"], json!(kind), "{result}");
        assert!(text(&result).contains(words), "{result}");
    }
    // A command is asked about, by its name; what it wants to edit is an edit like every other.
    let call = bench.begin(at(json!({ "apply": "Run it", "command": "fake.mend" })));
    let (id, params) = bench.editor.asked("ropewalk/approve").await;
    assert!(params["calls"][0].to_string().contains("fake.mend"), "{params}");
    let decisions = json!({ "decisions": [{ "callId": params["calls"][0]["callId"], "decision": "once" }] });
    bench.editor.respond(&id, decisions);
    bench.editor.serve_edit(Manner::Apply).await;
    let result = bench.editor.result(call).await;
    assert!(text(&result).starts_with("fake ran `fake.mend`."), "{result}");
    assert!(bench.buffer().contains("brand_newer()"), "{}", bench.buffer());
    // Where that edit is not made, it is told all the same that the command ran.
    bench.open("b.m", "new()\n");
    let mut arguments = json!({ "operation": "code_actions", "line": 1, "file_path": "b.m" });
    arguments["apply"] = json!("Run it");
    arguments["command"] = json!("fake.mend");
    let call = bench.begin(arguments);
    let (id, params) = bench.editor.asked("ropewalk/approve").await;
    let decisions = json!({ "decisions": [{ "callId": params["calls"][0]["callId"], "decision": "once" }] });
    bench.editor.respond(&id, decisions);
    bench.editor.serve_edit(Manner::Refuse).await;
    let result = bench.editor.result(call).await;
    let told = text(&result);
    assert!(result["error"]["kind"].is_string() && told.contains("fake ran `fake.mend`."), "{result}");
    assert!(told.contains("1 of the edits that it asked for then were not made: "), "{result}");
    bench.leave().await;
}

#[tokio::test]
async fn a_text_is_formatted_as_a_whole() {
    let mut bench = Bench::new(script(), json!({})).await;
    let call = bench.begin(json!({ "operation": "format" }));
    bench.editor.serve_edit(Manner::Apply).await;
    let result = bench.editor.result(call).await;
    assert_eq!(bench.buffer(), BUFFER.replace("  \n", "\n"), "{result}");
    let told = bench.told(json!({ "operation": "format" })).await;
    assert_eq!(told, "There is nothing to change: the text is as the server wants it.");
    let ranged = bench.call(json!({ "operation": "format", "line": 1 })).await;
    assert_eq!(ranged["error"]["kind"], "unavailable", "{ranged}");
    bench.leave().await;
}

#[tokio::test]
async fn servers_that_cannot_or_do_not_answer() {
    let silent = json!({ "answers": { "textDocument/hover": null }, "ignores": ["textDocument/hover"] });
    let mut bench = Bench::new(silent, json!({})).await;
    let result = bench.call(json!({ "operation": "rename", "line": 1, "text": "new", "new_name": "x" })).await;
    assert_eq!(result["error"]["kind"], "unavailable", "{result}");
    assert!(text(&result).starts_with("No language server answers `rename` for a.m (objective-c): fake offers hover"));
    // One that is cancelled ends at once.
    let call = bench.begin(json!({ "operation": "hover", "line": 1, "text": "new" }));
    bench.editor.ask("ropewalk/cancel", json!({ "callId": "it" })).await;
    let result = bench.editor.result(call).await;
    assert_eq!(result["error"]["kind"], "cancelled", "{result}");
    bench.leave().await;

    let failing = json!({ "errors": {
        "textDocument/hover": { "code": -32603, "message": "broken \u{7} inside" },
        "textDocument/rename": { "code": -32602, "message": "no name here" },
        "textDocument/definition": { "code": -32801, "message": "later", "times": 1 },
    } });
    let mut bench = Bench::new(failing, json!({})).await;
    for (operation, expected) in [
        ("hover", "`hover` got no answer for a.m: fake says: broken"),
        ("rename", "`rename` got no answer for a.m: fake says: no name here"),
    ] {
        let result = bench.call(json!({ "operation": operation, "line": 1, "text": "new", "new_name": "x" })).await;
        assert_eq!(result["error"]["kind"], "failed", "{result}");
        assert!(text(&result).starts_with(expected) && !text(&result).contains('\u{7}'), "{result}");
    }
    bench.leave().await;
}

#[tokio::test]
async fn nonsense_is_told_what_it_lacks() {
    let mut bench = Bench::new(script(), json!({})).await;
    for (arguments, kind, words) in [
        (json!({ "operation": "hover" }), "invalidArguments", "give `line` with `text`"),
        (json!({ "operation": "hovr", "symbol": "new" }), "invalidArguments", "hover"),
        (json!({ "operation": "hover", "symbol": "nowhere" }), "notFound", "a.m does not have \"nowhere\""),
        (json!({ "operation": "hover", "line": 99, "column": 1 }), "invalidArguments", "there is no line 99"),
        (json!({ "operation": "hover", "line": 1, "column": 99 }), "invalidArguments", "there is no column 99"),
        (json!({ "operation": "hover", "line": 0, "column": 1 }), "invalidArguments", "line"),
        (json!({ "operation": "hover", "line": u64::MAX, "column": 1 }), "invalidArguments", "line"),
        (json!({ "operation": "hover", "line": 3, "text": "()" }), "ambiguous", "columns 8, 14"),
        (
            json!({ "operation": "hover", "line": 3, "text": "()", "occurrence": 9 }),
            "invalidArguments",
            "no occurrence 9",
        ),
        (json!({ "operation": "rename", "symbol": "old" }), "invalidArguments", "new_name"),
        (json!({ "operation": "rename", "symbol": "old", "new_name": "  " }), "invalidArguments", "new_name"),
        (json!({ "operation": "workspace_symbols" }), "invalidArguments", "query"),
        (json!({ "operation": "code_actions", "command": "rm -rf /" }), "invalidArguments", "apply"),
        (json!({ "operation": "format", "line": 3, "end_line": 1 }), "invalidArguments", "is before"),
        (json!({ "operation": "code_actions", "line": 1, "end_line": 77 }), "invalidArguments", "77"),
        (json!({ "operation": "hover", "file_path": "none.m", "symbol": "x" }), "notFound", "none.m"),
        (json!({ "operation": "document_symbols", "file_path": "." }), "invalidArguments", "is a directory"),
        (json!({ "operation": "hover", "symbol": "new", "limit": 0 }), "invalidArguments", "limit"),
    ] {
        let result = bench.call(arguments.clone()).await;
        assert_eq!(result["error"]["kind"], json!(kind), "{arguments}: {result}");
        assert!(text(&result).contains(words), "{arguments}: {}", text(&result));
    }
    bench.leave().await;
}

#[tokio::test]
async fn an_answer_that_cannot_be_read_is_not_taken_for_nothing() {
    for (answer, readable, unread) in [
        (json!(null), "No reference was found.", None),
        (json!([]), "No reference was found.", None),
        (json!(7), "No reference was found.", Some("fake gave 1 more that could not be read")),
        (json!([{ "uri": 1 }, null]), "No reference was found.", Some("fake gave 2 more that could not be read")),
    ] {
        let script = json!({ "answers": { "textDocument/references": answer } });
        let mut bench = Bench::new(script, json!({})).await;
        let told = bench.told(json!({ "operation": "references", "line": 2, "text": "old" })).await;
        assert!(told.starts_with(readable), "{answer}: {told}");
        assert_eq!(told.contains("could not be read"), unread.is_some(), "{answer}: {told}");
        assert!(told.contains(unread.unwrap_or_default()), "{answer}: {told}");
        bench.leave().await;
    }
}

#[tokio::test]
async fn edits_of_servers_that_are_not_trusted_blindly() {
    let edit = |uri: &str, line: u32, to: u32, text: &str| {
        let range = json!({ "start": { "line": line, "character": 0 }, "end": { "line": line, "character": to } });
        json!({ "changes": { uri: [{ "range": range, "newText": text }] } })
    };
    for (answer, kind, words) in [
        (json!(7), "failed", "its edit could not be read (it is no object)"),
        (json!(null), "notFound", "Nothing was renamed: \"old\" in a.m"),
        (edit("${root}/gone.m", 0, 1, "x"), "failed", "gone.m, which does not exist"),
        (edit("${root}/b.m", 9, 1, "x"), "failed", "does not fit the text as it is"),
        (edit("https://example.org/b.m", 0, 1, "x"), "failed", "no file that can be changed here"),
        // What it reaches beyond the call is judged like every other file: nobody is there to ask.
        (
            json!({ "documentChanges": [{ "kind": "create", "uri": "${root}/.git/hooks/pre-commit" }] }),
            "denied",
            "protected",
        ),
        (
            json!({ "documentChanges": [
                { "kind": "rename", "oldUri": "${root}/b.m", "newUri": "${root}/.vscode/tasks.json" }] }),
            "denied",
            "protected",
        ),
    ] {
        let script = json!({ "answers": { "textDocument/rename": answer } });
        let mut bench = Bench::new(script, json!({})).await;
        let call = bench.begin(json!({ "operation": "rename", "line": 2, "text": "old", "new_name": "renamed" }));
        if kind == "denied" {
            let (id, params) = bench.editor.asked("ropewalk/approve").await;
            assert!(params["calls"][0].to_string().contains("protected"), "{params}");
            let decision = json!({ "callId": params["calls"][0]["callId"], "decision": "deny" });
            bench.editor.respond(&id, json!({ "decisions": [decision] }));
        }
        let result = bench.editor.result(call).await;
        assert_eq!(result["error"]["kind"], json!(kind), "{answer}: {result}");
        assert!(kind == "denied" || text(&result).contains(words), "{answer}: {result}");
        assert_eq!(FILES.map(|(name, _)| bench.on_disk(name)), FILES.map(|(_, text)| text.to_owned()), "{answer}");
        bench.leave().await;
    }
}

#[tokio::test]
async fn a_server_formats_after_an_edit() {
    let mut bench = Bench::new(script(), json!({ "formatter": { "mode": "onWrite" } })).await;
    let arguments = json!({ "file_path": "a.m", "old_string": "def new()", "new_string": "def anew()" });
    let call = bench.editor.request("ropewalk/callTool", json!({ "name": "edit", "arguments": arguments }));
    bench.editor.serve_edit(Manner::Apply).await;
    bench.editor.serve_edit(Manner::Apply).await;
    let result = bench.editor.result(call).await;
    assert_eq!(bench.buffer(), BUFFER.replace("def new()", "def anew()").replace("  \n", "\n"), "{result}");
    assert!(text(&result).contains("Formatted a.m by fake: line 3 became line 3"), "{}", text(&result));
    bench.leave().await;
}
