//! The methods that need more than an editor with one document: a first conversation, saving and formatting, diagnostics
//! that are asked for and come late, background work, and what an MCP server asks.

use std::sync::Arc;

use ropewalk::ports::{MemoryDisk, Ports};
use ropewalk::server::{self, ServeOptions};
use serde_json::{Value, json};

use super::exchange::Examples;
use crate::editor::{FakeEditor, Manner};
use crate::mcp::kit;

const URI: &str = "file:///w/notes.txt";

/// An editor that has said nothing yet.
fn silent() -> FakeEditor {
    let disk = MemoryDisk::new().with_file("/w/notes.txt", "one\ntwo\n");
    let ports = Ports { disk: Arc::new(disk), ..Ports::system() };
    let options = ServeOptions { repeatable: true, ..ServeOptions::default() };
    FakeEditor::start(|input, output| tokio::spawn(server::serve(input, output, ports, options)))
}

fn hello(abilities: Value, settings: Value) -> Value {
    json!({
        "processId": null,
        "workspaceFolders": [{ "uri": "file:///w", "name": "w" }],
        "initializationOptions": settings,
        "capabilities": {
            "general": { "positionEncodings": ["utf-8"] },
            "workspace": { "applyEdit": true },
            "experimental": { "ropewalk": abilities },
        },
    })
}

/// An editor with these abilities, and a document with an unsaved change.
async fn editor(abilities: Value, settings: Value) -> FakeEditor {
    let mut editor = silent();
    editor.ask("initialize", hello(abilities, settings)).await;
    editor.open(URI, "one\ntwo\n");
    editor.splice(URI, 3..3, "!");
    editor
}

fn own_servers_off() -> Value {
    json!({ "diagnostics": { "ownServers": "off" } })
}

async fn end(mut editor: FakeEditor) {
    editor.accept_rest();
    editor.leave().await;
}

/// All of them.
pub async fn rest(all: &mut Examples) {
    first(all).await;
    texts(all).await;
    diagnostics(all).await;
    jobs(all).await;
    mcp(all).await;
}

/// `initialize`, an open document, a call, and its edit.
async fn first(all: &mut Examples) {
    const FIRST: &str = "first";
    let mut editor = silent();
    let params = hello(json!({ "approve": true, "resync": true, "events": false }), own_servers_off());
    let id = editor.request("initialize", params.clone());
    all.show(FIRST, json!({ "jsonrpc": "2.0", "id": id, "method": "initialize", "params": params }));
    let mut answer = editor.maybe_answer(id).await.expect("an answer");
    // Each release has another number, and the list of methods is the contents of the page.
    answer["result"]["capabilities"]["experimental"]["ropewalk"] = json!({ "version": "...", "methods": ["..."] });
    answer["result"]["serverInfo"]["version"] = json!("...");
    all.show(FIRST, answer);
    editor.notify("initialized", json!({}));
    all.show(FIRST, json!({ "jsonrpc": "2.0", "method": "initialized", "params": {} }));
    editor.open(URI, "one\ntwo, typed and not saved\n");
    let document = json!({ "uri": URI, "languageId": "text", "version": 1, "text": "one\ntwo, typed and not saved\n" });
    let open = json!({ "jsonrpc": "2.0", "method": "textDocument/didOpen", "params": { "textDocument": document } });
    all.show(FIRST, open);
    let arguments = json!({ "file_path": "notes.txt", "old_string": "one", "new_string": "eins" });
    let params = json!({ "sessionId": "pane-1", "callId": "toolu_1", "name": "edit", "arguments": arguments });
    let id = editor.request("ropewalk/callTool", params.clone());
    all.show(FIRST, json!({ "jsonrpc": "2.0", "id": id, "method": "ropewalk/callTool", "params": params }));
    let asked = editor.next_where(|message| message["method"] == "workspace/applyEdit").await.expect("an edit");
    all.show(FIRST, asked.clone());
    editor.put_back(asked.clone());
    editor.serve_edit(Manner::Apply).await;
    let edit = &asked["params"]["edit"]["documentChanges"][0]["edits"][0];
    let change = json!({ "range": edit["range"], "text": edit["newText"] });
    let told = json!({ "textDocument": { "uri": URI, "version": 2 }, "contentChanges": [change] });
    all.show(FIRST, json!({ "jsonrpc": "2.0", "method": "textDocument/didChange", "params": told }));
    all.show(FIRST, json!({ "jsonrpc": "2.0", "id": asked["id"], "result": { "applied": true } }));
    all.answer(&mut editor, FIRST, id).await;
    end(editor).await;
}

/// An editor that formats and saves what a call changed.
async fn texts(all: &mut Examples) {
    let mut settings = own_servers_off();
    settings["formatter"] = json!({ "mode": "onWrite" });
    let mut editor = editor(json!({ "format": true, "save": true }), settings).await;
    editor.ask("ropewalk/openSession", json!({ "sessionId": "pane-1", "save": "always" })).await;
    let arguments = json!({ "file_path": "notes.txt", "old_string": "two", "new_string": "two=2" });
    let id =
        editor.request("ropewalk/callTool", json!({ "sessionId": "pane-1", "name": "edit", "arguments": arguments }));
    editor.serve_edit(Manner::Apply).await;
    let range = json!({ "start": { "line": 1, "character": 3 }, "end": { "line": 1, "character": 4 } });
    let formatted = json!({ "edits": [{ "range": range, "newText": " = " }] });
    all.asked(&mut editor, "ropewalk/format", formatted).await;
    editor.serve_edit(Manner::Apply).await;
    let failed = json!({ "failed": [{ "uri": URI, "reason": "the disk is full" }] });
    all.asked(&mut editor, "ropewalk/save", failed).await;
    editor.result(id).await;
    end(editor).await;
}

/// A source that says nothing until it is asked, and then too late.
async fn diagnostics(all: &mut Examples) {
    let mut editor = editor(json!({ "diagnostics": true, "events": true }), own_servers_off()).await;
    let source = json!({ "id": "7", "name": "vale" });
    editor.notify("ropewalk/didChangeDiagnosticSources", json!({ "uri": URI, "sources": [source] }));
    let said = |version: i32, kind: &str, message: Option<&str>| {
        let range = json!({ "start": { "line": 1, "character": 0 }, "end": { "line": 1, "character": 4 } });
        let one = message.map(|message| json!({ "range": range, "severity": 1, "message": message }));
        let list: Vec<Value> = one.into_iter().collect();
        json!({ "uri": URI, "version": version, "stamp": "server", "source": source, "positionEncoding": "utf-8",
            "kind": kind, "diagnostics": list })
    };
    editor.notify("ropewalk/didChangeDiagnostics", said(2, "pull", None));
    let arguments = json!({ "file_path": "notes.txt", "old_string": "two", "new_string": "zwei" });
    let wait = json!({ "deadlineMs": 50 });
    let params = json!({ "callId": "toolu_1", "name": "edit", "arguments": arguments, "diagnostics": wait });
    let id = editor.request("ropewalk/callTool", params);
    editor.serve_edit(Manner::Apply).await;
    all.asked(&mut editor, "ropewalk/pullDiagnostics", Value::Null).await;
    editor.result(id).await;
    editor.notify("ropewalk/didChangeDiagnostics", said(3, "pull", Some("zwei is not a word")));
    let late = editor.next_where(|message| message["method"] == "ropewalk/lateDiagnostics").await;
    all.show("ropewalk/lateDiagnostics", late.expect("late diagnostics"));
    end(editor).await;
}

/// An agent in the background, which is looked at and stopped.
async fn jobs(all: &mut Examples) {
    let mut editor = editor(json!({ "runAgent": true, "events": true }), own_servers_off()).await;
    let task = json!({ "description": "Count the lines", "prompt": "How many lines are there?", "background": true });
    let id = editor.request("ropewalk/callTool", json!({ "sessionId": "pane-1", "name": "agent", "arguments": task }));
    let (agent, _) = editor.asked("ropewalk/runAgent").await;
    editor.result(id).await;
    all.ask(&mut editor, "ropewalk/jobs", json!({ "sessionId": "pane-1" })).await;
    let job = json!({ "sessionId": "pane-1", "id": "j1" });
    all.ask(&mut editor, "ropewalk/jobOutput", job.clone()).await;
    all.ask(&mut editor, "ropewalk/stopJob", job).await;
    let taken_back = editor.next_where(|message| message["method"] == "$/cancelRequest").await.expect("no agent");
    assert_eq!(taken_back["params"]["id"], agent);
    let ended = editor.next_where(|message| {
        message["method"] == "ropewalk/jobsChanged" && message["params"]["jobs"][0]["state"] != "running"
    });
    all.show("ropewalk/jobsChanged", ended.await.expect("the end of the job"));
    end(editor).await;
}

/// An MCP server that asks a person and a model.
async fn mcp(all: &mut Examples) {
    let abilities = json!({ "elicit": true, "sample": true });
    let trusted = kit::settings(json!({ "trusted": true }));
    let (mut editor, mut servers) = kit::editor(trusted, abilities, &[]).await;
    let params = json!({ "callId": "toolu_1", "name": "mcp__s__book", "arguments": { "text": "a table" } });
    let id = editor.request("ropewalk/callTool", params);
    let mut server = servers.next().await;
    server.hello(json!([kit::tool("book", false)])).await;
    let (call, _) = server.called().await;
    let schema = json!({ "type": "object", "properties": { "name": { "type": "string" } } });
    let params = json!({ "mode": "form", "message": "In whose name?", "requestedSchema": schema });
    server.send(json!({ "jsonrpc": "2.0", "id": 1, "method": "elicitation/create", "params": params })).await;
    let answer = json!({ "action": "accept", "content": { "name": "Ada" } });
    all.asked(&mut editor, "ropewalk/elicit", answer).await;
    server.next().await.expect("the answer");
    let message = json!({ "role": "user", "content": { "type": "text", "text": "Is Friday free?" } });
    let params = json!({ "messages": [message], "maxTokens": 20 });
    server.send(json!({ "jsonrpc": "2.0", "id": 2, "method": "sampling/createMessage", "params": params })).await;
    let said = json!({ "role": "assistant", "content": { "type": "text", "text": "It is." }, "model": "small" });
    all.asked(&mut editor, "ropewalk/sample", json!({ "result": said })).await;
    server.next().await.expect("the answer");
    server.answer(&call, json!({ "content": [] })).await;
    editor.result(id).await;
    end(editor).await;
}
