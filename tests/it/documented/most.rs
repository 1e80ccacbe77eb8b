//! One long conversation, in which most methods have their turn.

use serde_json::{Value, json};

use super::exchange::Examples;
use crate::editor::{FakeEditor, Manner};
use crate::real::{URI, editor_with_notes};

/// Most of it.
pub async fn most(all: &mut Examples) {
    let (mut editor, disk) = editor_with_notes().await;
    disk.put("/elsewhere/plan.txt", "a plan\n");

    let mut tools = all.ask(&mut editor, "ropewalk/listTools", json!({})).await;
    let shown = all.0.get_mut("ropewalk/listTools").unwrap();
    let list = tools["tools"].as_array_mut().unwrap();
    list.retain(|tool| tool["name"] == "write");
    shown[1]["result"] = tools;

    let read = json!({ "name": "read", "arguments": { "file_path": "notes.txt" } });
    editor.ask("ropewalk/callTool", read).await;
    let arguments = json!({ "file_path": "notes.txt", "content": "one!\ntwo\nthree\n" });
    let preview =
        all.ask(&mut editor, "ropewalk/previewCall", json!({ "name": "write", "arguments": arguments })).await;
    let params = json!({ "sessionId": "pane-1", "callId": "toolu_2", "name": "read", "arguments": { "file_path": "notes.txt" } });
    editor.ask("ropewalk/callTool", params).await;
    drop(preview);
    let params = json!({ "sessionId": "pane-1", "callId": "toolu_3", "name": "write", "arguments": arguments });
    let id = all.send(&mut editor, "ropewalk/callTool", params);
    editor.serve_edit(Manner::Apply).await;
    all.answer(&mut editor, "ropewalk/callTool", id).await;

    all.ask(&mut editor, "ropewalk/changes", json!({ "uri": URI })).await;

    let part = json!({ "sessionId": "pane-1", "callId": "toolu_3", "pattern": "^[-+]" });
    all.ask(&mut editor, "ropewalk/output", part).await;

    let source = json!({ "id": "7", "name": "vale" });
    all.notify(&editor, "ropewalk/didChangeDiagnosticSources", json!({ "uri": URI, "sources": [source] }));
    let begin = json!({ "sourceId": "7", "token": "check-1", "kind": "begin" });
    all.notify(&editor, "ropewalk/diagnosticProgress", begin);
    editor.notify("ropewalk/diagnosticProgress", json!({ "sourceId": "7", "token": "check-1", "kind": "end" }));
    let range = json!({ "start": { "line": 2, "character": 0 }, "end": { "line": 2, "character": 5 } });
    let version = editor.buffers[URI].version;
    let said = json!({
        "uri": URI, "version": version, "stamp": "server", "source": source, "positionEncoding": "utf-16",
        "kind": "push", "diagnostics": [{ "range": range, "severity": 1, "message": "three is not a word" }],
    });
    all.notify(&editor, "ropewalk/didChangeDiagnostics", said);
    all.ask(&mut editor, "ropewalk/diagnostics", json!({ "uri": URI, "deadlineMs": 1000 })).await;

    let piece = json!({ "callId": "toolu_9", "messageId": "msg_1", "index": 0, "name": "read", "delta": "{\"file_pa" });
    all.notify(&editor, "ropewalk/toolInput", piece);
    let piece =
        json!({ "callId": "toolu_9", "messageId": "msg_1", "index": 0, "delta": "th\": \"notes.txt\"}", "done": true });
    all.notify(&editor, "ropewalk/toolInput", piece);

    let context = json!({ "uri": URI, "selections": [range], "visibleRange": range, "openEditors": [URI] });
    all.notify(&editor, "ropewalk/didChangeContext", context);
    all.notify(&editor, "ropewalk/didChangeTrust", json!({ "root": "file:///w", "trusted": true }));
    all.ask(&mut editor, "ropewalk/documentText", json!({ "uri": URI })).await;

    let outside = json!({ "callId": "toolu_4", "name": "read", "arguments": { "file_path": "/elsewhere/plan.txt" } });
    let id = editor.request("ropewalk/callTool", outside.clone());
    let once = json!({ "decisions": [{ "callId": "toolu_4", "decision": "once" }] });
    all.asked(&mut editor, "ropewalk/approve", once).await;
    editor.result(id).await;
    let id = editor.request("ropewalk/callTool", outside);
    let (approve, _) = editor.asked("ropewalk/approve").await;
    all.ask(&mut editor, "ropewalk/cancel", json!({ "callId": "toolu_4" })).await;
    assert_eq!(editor.result(id).await["status"], "cancelled");
    editor.respond(&approve, json!({ "decisions": [] }));

    let change = json!({ "textDocument": { "uri": URI, "version": version + 1 }, "contentChanges": [{
        "range": { "start": { "line": 1, "character": 1 }, "end": { "line": 1, "character": 0 } }, "text": "" }] });
    editor.notify("textDocument/didChange", change);
    all.asked(&mut editor, "ropewalk/resync", json!({ "version": version + 1, "text": "one!\ntwo\nthree\n" })).await;

    let new =
        json!({ "callId": "toolu_5", "name": "write", "arguments": { "file_path": "new.txt", "content": "new\n" } });
    let id = editor.request("ropewalk/callTool", new);
    editor.result(id).await;
    all.ask(&mut editor, "ropewalk/settle", json!({ "deadlineMs": 5000 })).await;
    about_sessions(all, &mut editor).await;
    while let Some(news) = editor.stashed(|message| message.get("id").is_none()) {
        let label = match news["method"].as_str() {
            Some("ropewalk/modeChanged") => "ropewalk/modeChanged",
            Some("ropewalk/todosChanged") => "ropewalk/todosChanged",
            Some("ropewalk/changesChanged") if !all.0.contains_key("ropewalk/changesChanged") => {
                "ropewalk/changesChanged"
            }
            Some("ropewalk/filesChanged") if !all.0.contains_key("ropewalk/filesChanged") => "ropewalk/filesChanged",
            Some("ropewalk/approvalsChanged") if !all.0.contains_key("ropewalk/approvalsChanged") => {
                "ropewalk/approvalsChanged"
            }
            Some("ropewalk/toolEvent") if news["params"]["callId"] == "toolu_5" => "ropewalk/toolEvent",
            _ => continue,
        };
        all.show(label, news);
    }
    let list = json!({ "file_path": "list.txt", "content": "one\ntwo\n" });
    let change = json!({ "file_path": "list.txt", "old_string": "two", "new_string": "2" });
    let calls = json!([
        { "callId": "toolu_6", "name": "write", "arguments": list },
        { "callId": "toolu_7", "name": "edit", "arguments": change },
    ]);
    all.ask(&mut editor, "ropewalk/callTools", json!({ "sessionId": "pane-1", "calls": calls })).await;
    all.ask(&mut editor, "ropewalk/undo", json!({ "callId": "toolu_6" })).await;
    all.ask(&mut editor, "ropewalk/keep", json!({ "sessionId": "pane-1", "uri": URI })).await;

    let own = json!({
        "name": "open_tickets",
        "description": "Lists the open tickets of a project.",
        "inputSchema": {
            "type": "object", "properties": { "project": { "type": "string" } }, "required": ["project"],
        },
        "annotations": { "readOnlyHint": true },
        "deferred": true,
    });
    all.ask(&mut editor, "ropewalk/registerTools", json!({ "tools": [own] })).await;
    let params = json!({ "callId": "toolu_8", "name": "open_tickets", "arguments": { "project": "rope" } });
    let id = editor.request("ropewalk/callTool", params);
    let answer = json!({ "content": [{ "type": "text", "text": "#7 The rope is too short" }] });
    all.asked(&mut editor, "ropewalk/runTool", answer).await;
    editor.result(id).await;
    all.ask(&mut editor, "ropewalk/unregisterTools", json!({ "names": ["open_tickets"] })).await;
    let task = json!({ "description": "Count the lines", "prompt": "How many lines does notes.txt have?" });
    let id = editor.request("ropewalk/callTool", json!({ "sessionId": "pane-1", "name": "agent", "arguments": task }));
    all.asked(&mut editor, "ropewalk/runAgent", json!({ "output": "It has two lines.", "status": "completed" })).await;
    editor.result(id).await;
    let options = json!([
        { "label": "PostgreSQL (recommended)", "description": "What the other services have." },
        { "label": "SQLite", "description": "Nothing to run." },
    ]);
    let question =
        json!({ "question": "Which database shall the service use?", "header": "Database", "options": options });
    let params = json!({ "callId": "toolu_14", "name": "question", "arguments": { "questions": [question] } });
    let id = editor.request("ropewalk/callTool", params);
    let answer = json!({ "answers": [{ "selected": [0], "text": "version 18" }] });
    all.asked(&mut editor, "ropewalk/ask", answer).await;
    editor.result(id).await;
    while let Some(news) = editor.stashed(|message| message["method"] == "ropewalk/toolsChanged") {
        if news["params"].get("sessionId").is_some() {
            all.show("ropewalk/toolsChanged", news);
        }
    }
    editor.accept_rest();
    editor.leave().await;
}

/// Everything that is asked about sessions, of one session.
async fn about_sessions(all: &mut Examples, editor: &mut FakeEditor) {
    let pane = |mut params: Value| {
        params["sessionId"] = json!("pane-1");
        params
    };
    editor.ask("ropewalk/openSession", json!({ "sessionId": "pane-2", "apply": "propose" })).await;
    for (call, old, new) in [("toolu_10", "one", "eins"), ("toolu_11", "two", "zwei")] {
        let change = json!({ "file_path": "new2.txt", "old_string": old, "new_string": new });
        if call == "toolu_10" {
            let content = json!({ "file_path": "new2.txt", "content": "one\ntwo\n" });
            editor.ask("ropewalk/callTool", json!({ "name": "write", "arguments": content })).await;
        }
        let params = json!({ "sessionId": "pane-2", "callId": call, "name": "edit", "arguments": change });
        editor.ask("ropewalk/callTool", params).await;
    }
    all.ask(editor, "ropewalk/accept", json!({ "sessionId": "pane-2", "callId": "toolu_10" })).await;
    let no = json!({ "sessionId": "pane-2", "hunkId": "p1.2", "feedback": "Keep the numbers English." });
    all.ask(editor, "ropewalk/reject", no).await;
    let open = json!({
        "label": "Chat", "mode": "build", "tools": { "disable": ["write"] },
        "rules": { "deny": ["edit(generated/**)"] }, "apply": "propose", "save": "ifClean",
    });
    all.ask(editor, "ropewalk/openSession", pane(open)).await;
    all.ask(editor, "ropewalk/updateSession", pane(json!({ "budgets": { "maxBytes": 10_000 } }))).await;
    all.ask(editor, "ropewalk/setMode", pane(json!({ "mode": "review" }))).await;
    let todos = json!([{ "id": "1", "content": "Write the third line", "status": "completed" }]);
    all.ask(editor, "ropewalk/todos", pane(json!({ "todos": todos }))).await;
    let version = editor.buffers[URI].version + 1;
    all.ask(editor, "ropewalk/didShow", pane(json!({ "uri": URI, "version": version }))).await;
    all.ask(editor, "ropewalk/forget", pane(json!({ "callIds": ["toolu_2"], "uris": [URI] }))).await;
    all.ask(editor, "ropewalk/grants", pane(json!({ "revokeAll": true }))).await;
    all.ask(editor, "ropewalk/status", pane(json!({}))).await;
    all.ask(editor, "ropewalk/endTurn", pane(json!({ "turnId": "turn-1" }))).await;
    all.ask(editor, "ropewalk/closeSession", pane(json!({}))).await;
    all.ask(editor, "ropewalk/resetSession", pane(json!({}))).await;
}
