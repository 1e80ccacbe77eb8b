//! Tools over the wire: the client's own, deferred ones, the list in its dialects.

use ropewalk::ports::{MemoryDisk, Ports};
use ropewalk::server::{self, ServeOptions};
use serde_json::{Value, json};
use std::sync::Arc;

use crate::editor::FakeEditor;

/// An editor that can do these things.
async fn editor_with(ropewalk: Value) -> FakeEditor {
    let disk = MemoryDisk::new().with_file("/w/notes.txt", "one\n");
    let ports = Ports { disk: Arc::new(disk), ..Ports::system() };
    let options = ServeOptions { repeatable: true, ..ServeOptions::default() };
    let mut editor = FakeEditor::start(|input, output| tokio::spawn(server::serve(input, output, ports, options)));
    let params = json!({
        "processId": null, "workspaceFolders": [{ "uri": "file:///w", "name": "w" }],
        "capabilities": { "experimental": { "ropewalk": ropewalk } },
    });
    editor.ask("initialize", params).await;
    editor
}

async fn editor() -> FakeEditor {
    editor_with(json!({ "runTool": true, "events": true, "approve": true })).await
}

fn lookup(name: &str, more: Value) -> Value {
    let mut tool = json!({
        "name": name, "description": format!("Looks up a word in {name}."),
        "inputSchema": {
            "type": "object", "properties": { "word": { "type": "string" }, "limit": { "type": "integer" } },
            "required": ["word"], "additionalProperties": false,
        },
        "annotations": { "readOnlyHint": true },
    });
    for (key, value) in more.as_object().unwrap() {
        tool[key] = value.clone();
    }
    tool
}

async fn register(editor: &mut FakeEditor, tools: Value) -> Value {
    editor.ask("ropewalk/registerTools", json!({ "tools": tools })).await["tools"].clone()
}

async fn names(editor: &mut FakeEditor, params: Value) -> Vec<String> {
    let listed = editor.ask("ropewalk/listTools", params).await;
    listed["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

fn call(editor: &mut FakeEditor, name: &str, arguments: Value) -> i64 {
    editor.request("ropewalk/callTool", json!({ "callId": "call", "name": name, "arguments": arguments }))
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap()
}

/// How often the list was said to have changed, and for which sessions.
async fn changes(editor: &mut FakeEditor) -> Vec<Value> {
    editor.ask("ropewalk/settle", json!({})).await;
    let mut changes = Vec::new();
    while let Some(news) = editor.stashed(|message| message.get("id").is_none()) {
        if news["method"] == "ropewalk/toolsChanged" {
            changes.push(news["params"].clone());
        }
    }
    changes
}

#[tokio::test(start_paused = true)]
async fn a_tool_of_the_clients_own_runs_in_the_editor() {
    let mut editor = editor().await;
    let before = names(&mut editor, json!({})).await;
    let told = register(&mut editor, json!([lookup("dictionary", json!({ "title": "Dictionary" }))])).await;
    assert_eq!(told, json!([{ "name": "dictionary", "status": "registered" }]));
    assert_eq!(changes(&mut editor).await, [json!({})]);
    let mut after = before.clone();
    after.push("dictionary".to_owned());
    assert_eq!(names(&mut editor, json!({})).await, after);

    // Arguments are mended and checked before the editor hears of the call.
    let calling = call(&mut editor, "Dictionary", json!({ "word": "ship", "limit": "3" }));
    let (id, params) = editor.asked("ropewalk/runTool").await;
    let arguments = json!({ "word": "ship", "limit": 3 });
    let expected = json!({ "sessionId": "default", "callId": "call", "name": "dictionary", "arguments": arguments });
    assert_eq!(params, expected);
    let image = json!({ "type": "image", "data": "AAAA", "mimeType": "image/png" });
    let content = json!([{ "type": "text", "text": "a vessel" }, { "type": "audio", "data": "" }, image]);
    editor.respond(&id, json!({ "content": content, "structuredContent": { "n": 1 } }));
    let result = editor.result(calling).await;
    let words = "a vessel\n(a piece of type \"audio\" that cannot be shown)";
    assert_eq!((&result["status"], text(&result)), (&json!("ok"), words), "{result}");
    assert_eq!((&result["structuredContent"], &result["content"][1]), (&json!({ "n": 1 }), &image), "{result}");

    let wrong = call(&mut editor, "dictionary", json!({ "limit": 3 }));
    let result = editor.result(wrong).await;
    assert_eq!(result["error"]["kind"], "invalidArguments", "{result}");

    let failing = call(&mut editor, "dictionary", json!({ "word": "x" }));
    let (id, _) = editor.asked("ropewalk/runTool").await;
    editor.respond(&id, json!({ "content": [{ "type": "text", "text": "no such word" }], "isError": true }));
    let result = editor.result(failing).await;
    assert_eq!((&result["error"]["kind"], text(&result)), (&json!("failed"), "no such word"), "{result}");

    let gone = editor.ask("ropewalk/unregisterTools", json!({ "names": ["dictionary", "read"] })).await;
    assert_eq!(gone, json!({ "removed": ["dictionary"], "unknown": ["read"] }));
    assert_eq!(names(&mut editor, json!({})).await, before);
    let missing = call(&mut editor, "dictionary", json!({ "word": "x" }));
    assert_eq!(editor.result(missing).await["error"]["kind"], "unknownTool");
    changes(&mut editor).await;
    assert_eq!(editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn what_is_not_declared_to_be_harmless_is_asked_about() {
    for (more, asked) in [
        (json!({}), false),
        (json!({ "annotations": {} }), true),
        (json!({ "annotations": { "destructiveHint": false } }), true),
        (json!({ "annotations": {}, "capabilities": ["readsFiles"] }), true),
        (json!({ "annotations": { "readOnlyHint": true, "openWorldHint": true } }), true),
        (json!({ "capabilities": ["executesCode"] }), true),
    ] {
        let mut editor = editor().await;
        register(&mut editor, json!([lookup("dictionary", more.clone())])).await;
        let listed = editor.ask("ropewalk/listTools", json!({})).await;
        let tool = listed["tools"].as_array().unwrap().last().unwrap().clone();
        assert_eq!(tool["approval"], if asked { "required" } else { "auto" }, "{more} {tool}");
        assert_eq!(tool["parallel"], false, "{tool}");
        let calling = call(&mut editor, "dictionary", json!({ "word": "x" }));
        if asked {
            let (question, _) = editor.asked("ropewalk/approve").await;
            editor.respond(&question, json!({ "decisions": [{ "callId": "call", "decision": "once" }] }));
        }
        let (id, _) = editor.asked("ropewalk/runTool").await;
        editor.respond(&id, json!({ "content": [] }));
        assert_eq!(editor.result(calling).await["status"], "ok", "{more}");
        changes(&mut editor).await;
        assert_eq!(editor.leave().await, 0);
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_refused_is_told_for_each_tool_alone() {
    let mut editor = editor().await;
    let told = register(
        &mut editor,
        json!([
            lookup("read", json!({})),
            lookup("readFile", json!({})),
            lookup("good", json!({})),
            lookup("good", json!({})),
            lookup("no spaces", json!({})),
            lookup("numbers", json!({ "inputSchema": { "type": "number" } })),
            { "name": "half" },
            7,
        ]),
    )
    .await;
    let told: Vec<String> = told
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| {
            let word = |key: &str| tool[key].as_str().unwrap_or("-").to_owned();
            format!("{} {} {}: {}", word("name"), word("status"), word("listedAs"), word("reason"))
        })
        .collect();
    let expected = [
        "read refused -: `read` is a built-in tool, which nothing replaces",
        "readFile refused -: `read_file` is another name of the built-in tool `read`, which nothing replaces",
        "good registered -: -",
        "good refused -: there is a tool `good` already; unregister it first",
        "no spaces unavailable no_spaces: its name \"no spaces\" is not 1 to 64 of a-z, A-Z, 0-9, _ and -",
        "numbers unavailable numbers: its schema is of type \"number\" at its root; expected \"object\"",
        "half refused -: its definition cannot be read: missing field `description`",
        " refused -: its definition cannot be read: invalid type: integer `7`, expected struct ToolDefinition",
    ];
    assert_eq!(told, expected);
    let calling = call(&mut editor, "no spaces", json!({}));
    let result = editor.result(calling).await;
    assert_eq!(result["error"]["kind"], "unavailable", "{result}");
    assert!(text(&result).starts_with("`no_spaces` cannot be used: its name"), "{result}");
    let malformed = editor.request("ropewalk/registerTools", json!({ "tools": 3 }));
    assert_eq!(editor.error_code(malformed).await, -32602);
    changes(&mut editor).await;
    assert_eq!(editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn an_editor_that_runs_no_tools_has_none() {
    let mut editor = editor_with(json!({ "events": true })).await;
    let told = register(&mut editor, json!([lookup("dictionary", json!({}))])).await;
    assert_eq!(told[0]["status"], "refused");
    assert!(told[0]["reason"].as_str().unwrap().contains("`runTool`"), "{told}");
    assert_eq!(changes(&mut editor).await, Vec::<Value>::new());
    assert_eq!(editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_call_of_the_editors_is_taken_back_when_it_is_cancelled_or_late() {
    let mut editor = editor().await;
    register(&mut editor, json!([lookup("dictionary", json!({ "deadlineMs": 5000 }))])).await;
    let calling = call(&mut editor, "dictionary", json!({ "word": "x" }));
    let (id, _) = editor.asked("ropewalk/runTool").await;
    editor.notify("$/cancelRequest", json!({ "id": calling }));
    assert_eq!(editor.result(calling).await["status"], "cancelled");
    let taken_back = editor.next_where(|message| message["method"] == "$/cancelRequest").await.unwrap();
    assert_eq!(taken_back["params"]["id"], id);

    let calling = call(&mut editor, "dictionary", json!({ "word": "x" }));
    let (id, _) = editor.asked("ropewalk/runTool").await;
    let result = editor.result(calling).await;
    assert_eq!(result["error"]["kind"], "timeout", "{result}");
    assert!(text(&result).contains("longer than 5 s"), "{result}");
    let taken_back = editor.next_where(|message| message["method"] == "$/cancelRequest").await.unwrap();
    assert_eq!(taken_back["params"]["id"], id);

    let calling = call(&mut editor, "dictionary", json!({ "word": "x" }));
    let (id, _) = editor.asked("ropewalk/runTool").await;
    editor.send(&json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32601, "message": "what tool?" } }));
    let result = editor.result(calling).await;
    assert_eq!(result["error"]["kind"], "failed", "{result}");
    assert!(text(&result).contains("what tool?"), "{result}");
    changes(&mut editor).await;
    assert_eq!(editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_deferred_tool_is_found_and_its_first_valid_call_runs() {
    let mut editor = editor().await;
    let tools = json!([
        lookup("thesaurus", json!({ "deferred": true })),
        lookup("dictionary", json!({ "deferred": true, "description": "Says what a word means." })),
        lookup("atlas", json!({})),
    ]);
    register(&mut editor, tools).await;
    assert_eq!(changes(&mut editor).await, [json!({})]);
    let before = editor.ask("ropewalk/listTools", json!({})).await.to_string();
    let listed = names(&mut editor, json!({})).await;
    assert!(listed.ends_with(&["atlas".to_owned()]) && !listed.contains(&"dictionary".to_owned()), "{listed:?}");
    let everything = names(&mut editor, json!({ "includeDeferred": true })).await;
    assert_eq!(everything[listed.len()..], ["dictionary".to_owned(), "thesaurus".to_owned()]);

    let search = call(&mut editor, "tool_search", json!({ "query": "meaning of a word" }));
    let result = editor.result(search).await;
    assert!(text(&result).contains("dictionary (deferred)") && text(&result).contains("\"word\""), "{result}");
    let unknown = call(&mut editor, "lexicon", json!({}));
    let told = editor.result(unknown).await;
    assert!(text(&told).ends_with("There are 2 more: find them with `tool_search`."), "{told}");
    assert_eq!(changes(&mut editor).await, Vec::<Value>::new(), "searching activates nothing");

    // A guess runs nothing and gets the schema.
    let guess = call(&mut editor, "dictionary", json!({ "words": "ship" }));
    let result = editor.result(guess).await;
    assert_eq!(result["error"]["kind"], "invalidArguments", "{result}");
    for part in [
        "Expected: word (string, required), limit (integer)",
        "Received: words",
        "Missing: word",
        "Unexpected: words",
        "Likely corrections: words -> word",
        "Its schema: {",
    ] {
        assert!(text(&result).contains(part), "{part}: {result}");
    }
    assert_eq!(changes(&mut editor).await, Vec::<Value>::new());

    for name in ["thesaurus", "dictionary", "dictionary"] {
        let calling = call(&mut editor, name, json!({ "word": "ship" }));
        let (id, _) = editor.asked("ropewalk/runTool").await;
        editor.respond(&id, json!({ "content": [{ "type": "text", "text": "a vessel" }] }));
        assert_eq!(editor.result(calling).await["status"], "ok");
    }
    let of_session = json!({ "sessionId": "default" });
    assert_eq!(changes(&mut editor).await, [of_session.clone(), of_session], "once for each tool");
    let after = editor.ask("ropewalk/listTools", json!({})).await.to_string();
    assert!(
        after.starts_with(before.strip_suffix("]}").unwrap()),
        "what was listed stays in its place\n{before}\n{after}"
    );
    let now = names(&mut editor, json!({})).await;
    assert_eq!(now[listed.len()..], ["thesaurus".to_owned(), "dictionary".to_owned()]);
    assert_eq!(names(&mut editor, json!({ "sessionId": "another" })).await, listed);
    assert_eq!(after, editor.ask("ropewalk/listTools", json!({})).await.to_string());
    assert_eq!(editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn every_dialect_is_listed() {
    let mut editor = editor().await;
    for (dialect, at) in [
        ("plain", "/name"),
        ("anthropic", "/input_schema/type"),
        ("openai", "/function/parameters/type"),
        ("openaiStrict", "/function/strict"),
        ("gemini", "/parameters/type"),
        ("vscode", "/tags"),
        ("mcp", "/annotations/readOnlyHint"),
    ] {
        let listed = editor.ask("ropewalk/listTools", json!({ "dialect": dialect })).await;
        let again = editor.ask("ropewalk/listTools", json!({ "dialect": dialect })).await;
        assert_eq!(listed.to_string(), again.to_string());
        assert!(listed["tools"].as_array().unwrap().iter().all(|tool| tool.pointer(at).is_some()), "{listed}");
    }
    let unknown = editor.request("ropewalk/listTools", json!({ "dialect": "latin" }));
    assert_eq!(editor.error_code(unknown).await, -32602);
    assert_eq!(editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn what_comes_after_tools_that_join_sees_them_without_waiting_for_the_answer() {
    let mut editor = editor().await;
    let many: Vec<Value> = (0..1200).map(|number| lookup(&format!("tool_{number}"), json!({}))).collect();
    let joining = editor.request("ropewalk/registerTools", json!({ "tools": many }));
    let calling = call(&mut editor, "tool_999", json!({ "word": "x" }));
    let listing = editor.request("ropewalk/listTools", json!({}));
    let previewing = editor.request("ropewalk/previewCall", json!({ "name": "tool_3", "arguments": { "word": "x" } }));
    let (id, params) = editor.asked("ropewalk/runTool").await;
    assert_eq!(params["name"], "tool_999");
    editor.respond(&id, json!({ "content": [] }));
    assert_eq!(editor.result(calling).await["status"], "ok");
    let told = editor.result(joining).await;
    let count = |status: &str| told["tools"].as_array().unwrap().iter().filter(|tool| tool["status"] == status).count();
    assert_eq!((count("registered"), count("refused")), (1000, 200));
    assert!(
        told["tools"][1199]["reason"].as_str().unwrap().starts_with("there are 1000 tools"),
        "{}",
        told["tools"][1199]
    );
    assert!(editor.result(listing).await["tools"].as_array().unwrap().len() >= 1000);
    assert_eq!(editor.result(previewing).await["valid"], true);
    assert_eq!(changes(&mut editor).await, [json!({})], "the list changed once");
    let all: Vec<String> = (0..1200).map(|number| format!("tool_{number}")).collect();
    let leaving = editor.request("ropewalk/unregisterTools", json!({ "names": all }));
    let calling = call(&mut editor, "tool_999", json!({ "word": "x" }));
    assert_eq!(editor.result(calling).await["error"]["kind"], "unknownTool");
    let gone = editor.result(leaving).await;
    assert_eq!((gone["removed"].as_array().unwrap().len(), gone["unknown"].as_array().unwrap().len()), (1000, 200));
    assert_eq!(changes(&mut editor).await, [json!({})]);
    assert_eq!(editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_runs_only_the_tool_it_was_admitted_for() {
    let mut editor = editor().await;
    let tools = json!([lookup("first", json!({})), lookup("second", json!({ "parallel": true }))]);
    register(&mut editor, tools).await;
    for (again, kind) in [(false, "unknownTool"), (true, "unavailable")] {
        let running = call(&mut editor, "first", json!({ "word": "x" }));
        let (id, _) = editor.asked("ropewalk/runTool").await;
        let waiting = editor
            .request("ropewalk/callTool", json!({ "callId": "waits", "name": "second", "arguments": { "word": "x" } }));
        editor.ask("ropewalk/unregisterTools", json!({ "names": ["second"] })).await;
        if again {
            // Of the same name, and not harmless any more.
            register(&mut editor, json!([lookup("second", json!({ "annotations": {} }))])).await;
        }
        editor.respond(&id, json!({ "content": [] }));
        assert_eq!(editor.result(running).await["status"], "ok");
        let result = editor.result(waiting).await;
        assert_eq!(result["error"]["kind"], kind, "{result}");
        register(&mut editor, json!([lookup("second", json!({ "parallel": true }))])).await;
    }
    // A tool that the session turns off while its call waits does not run either.
    editor.ask("ropewalk/unregisterTools", json!({ "names": ["second"] })).await;
    register(&mut editor, json!([lookup("second", json!({ "parallel": true }))])).await;
    let running = call(&mut editor, "first", json!({ "word": "x" }));
    let (id, _) = editor.asked("ropewalk/runTool").await;
    let waiting = editor
        .request("ropewalk/callTool", json!({ "callId": "waits", "name": "second", "arguments": { "word": "x" } }));
    editor.ask("ropewalk/updateSession", json!({ "sessionId": "default", "tools": { "disable": ["second"] } })).await;
    editor.respond(&id, json!({ "content": [] }));
    assert_eq!(editor.result(running).await["status"], "ok");
    let result = editor.result(waiting).await;
    assert_eq!(result["error"]["kind"], "unavailable", "{result}");
    changes(&mut editor).await;
    assert_eq!(editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_session_whose_tools_change_is_told_so() {
    let mut editor = editor().await;
    register(&mut editor, json!([lookup("dictionary", json!({ "deferred": true }))])).await;
    changes(&mut editor).await;
    let of = json!({ "sessionId": "s" });
    for (method, params, told) in [
        ("openSession", json!({ "sessionId": "s" }), 0),
        ("openSession", json!({ "sessionId": "s", "tools": { "disable": ["write"] } }), 1),
        ("updateSession", json!({ "sessionId": "s", "tools": { "disable": ["write"] } }), 0),
        ("updateSession", json!({ "sessionId": "s", "label": "pane" }), 0),
        ("setMode", json!({ "sessionId": "s", "mode": "plan" }), 0),
        ("updateSession", json!({ "sessionId": "s", "tools": { "disable": [] } }), 1),
        ("updateSession", json!({ "sessionId": "s", "tools": { "enable": ["read"] } }), 1),
        ("resetSession", json!({ "sessionId": "s" }), 1),
        ("resetSession", json!({ "sessionId": "s" }), 0),
    ] {
        editor.ask(&format!("ropewalk/{method}"), params.clone()).await;
        let heard = changes(&mut editor).await;
        assert_eq!(heard, vec![of.clone(); told], "{method} {params}");
    }
    assert_eq!(editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn nothing_runs_in_the_editor_before_its_call_has_come() {
    let mut editor = editor().await;
    register(&mut editor, json!([lookup("dictionary", json!({ "parallel": true }))])).await;
    let piece = json!({
        "callId": "c", "messageId": "m", "index": 0, "name": "dictionary", "delta": "{\"word\": \"x\"}", "done": true,
    });
    editor.notify("ropewalk/toolInput", piece);
    changes(&mut editor).await;
    assert!(editor.stashed(|message| message["method"] == "ropewalk/runTool").is_none());
    let calling = editor.request("ropewalk/callTool", json!({ "callId": "c", "name": "dictionary" }));
    let (id, params) = editor.asked("ropewalk/runTool").await;
    assert_eq!((&params["callId"], &params["arguments"]), (&json!("c"), &json!({ "word": "x" })));
    editor.respond(&id, json!({ "content": [] }));
    assert_eq!(editor.result(calling).await["status"], "ok");
    changes(&mut editor).await;
    assert_eq!(editor.leave().await, 0);
}
