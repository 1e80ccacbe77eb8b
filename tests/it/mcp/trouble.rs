//! Servers that misbehave, each of which harms only its own calls.

use std::time::Duration;

use serde_json::{Value, json};

use super::kit::{Played, begin, editor, settings, text, tool};

fn trusted(more: Value) -> Value {
    let mut all = json!({ "trusted": true });
    for (key, value) in more.as_object().unwrap() {
        all[key] = value.clone();
    }
    settings(all)
}

async fn done(server: &mut Played, request: &Value, word: &str) {
    server.answer(request, json!({ "content": [{ "type": "text", "text": word }] })).await;
}

#[tokio::test(start_paused = true)]
async fn noise_duplicates_and_answers_to_nobody_are_skipped() {
    let (mut editor, mut servers) = editor(trusted(json!({})), json!({}), &[]).await;
    let call = begin(&mut editor, "mcp__s__a", json!({ "text": "x" }));
    let mut server = servers.next().await;
    server.line("Server listening on stdio").await;
    server.hello(json!([tool("a", false)])).await;
    let (request, _) = server.called().await;
    server.line("{\"jsonrpc\": \"2.0\", \"id\": ").await;
    server.send(json!({ "jsonrpc": "2.0", "id": 12345, "result": {} })).await;
    done(&mut server, &request, "first").await;
    done(&mut server, &request, "second").await;
    let said = text(&editor.result(call).await);
    assert!(said.contains("first") && !said.contains("second"), "{said}");
    let call = begin(&mut editor, "mcp__s__a", json!({ "text": "x" }));
    let (request, _) = server.called().await;
    done(&mut server, &request, "third").await;
    assert!(text(&editor.result(call).await).contains("third"));
    let status = editor.ask("ropewalk/status", json!({})).await;
    assert!(status["mcp"][0]["detail"].as_str().unwrap().starts_with("2 lines were no messages"), "{status}");
    editor.accept_rest();
    assert_eq!(editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_call_without_a_sign_of_life_is_given_up_and_its_server_told() {
    let (mut editor, mut servers) = editor(trusted(json!({ "timeoutMs": 5000 })), json!({}), &[]).await;
    let call = begin(&mut editor, "mcp__s__a", json!({ "text": "x" }));
    let mut server = servers.next().await;
    server.hello(json!([tool("a", false)])).await;
    let (request, _) = server.called().await;
    let token = request["params"]["_meta"]["progressToken"].clone();
    for step in 1..5 {
        tokio::time::sleep(Duration::from_secs(4)).await;
        let params = json!({ "progressToken": token, "progress": step, "total": 10 });
        server.note("notifications/progress", params).await;
    }
    let cancelled = server.asked("notifications/cancelled").await;
    assert_eq!(cancelled["params"]["requestId"], request["id"]);
    let result = editor.result(call).await;
    assert_eq!(result["error"]["kind"], "timeout", "{result}");
    // The server goes on, and so do its other calls.
    let call = begin(&mut editor, "mcp__s__a", json!({ "text": "x" }));
    let (request, _) = server.called().await;
    done(&mut server, &request, "here").await;
    assert!(text(&editor.result(call).await).contains("here"));
    editor.accept_rest();
    assert_eq!(editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_cancelled_is_taken_back_at_the_server() {
    let (mut editor, mut servers) = editor(trusted(json!({})), json!({}), &[]).await;
    let call = begin(&mut editor, "mcp__s__a", json!({ "text": "x" }));
    let mut server = servers.next().await;
    server.hello(json!([tool("a", false)])).await;
    let (request, _) = server.called().await;
    editor.notify("$/cancelRequest", json!({ "id": call }));
    let cancelled = server.asked("notifications/cancelled").await;
    assert_eq!(cancelled["params"]["requestId"], request["id"]);
    assert_eq!(editor.result(call).await["status"], "cancelled");
    editor.accept_rest();
    assert_eq!(editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn calls_run_side_by_side_and_a_wedged_server_harms_only_its_own() {
    let mut all = trusted(json!({}));
    all["mcp"]["servers"]["t"] = json!({ "command": "fake", "args": ["t"], "trusted": true });
    let (mut editor, mut servers) = editor(all, json!({}), &[]).await;
    let call = |editor: &mut crate::editor::FakeEditor, session: &str, name: &str| {
        let params = json!({ "sessionId": session, "name": name, "arguments": { "text": "x" } });
        editor.request("ropewalk/callTool", params)
    };
    let first = call(&mut editor, "one", "mcp__s__a");
    let (mut s, mut t) = (servers.next().await, servers.next().await);
    if s.launch.args == ["t"] {
        std::mem::swap(&mut s, &mut t);
    }
    s.hello(json!([tool("a", false)])).await;
    t.hello(json!([tool("a", false)])).await;
    let (stuck, _) = s.called().await;
    let second = call(&mut editor, "two", "mcp__s__a");
    let third = call(&mut editor, "three", "mcp__t__a");
    let (request, _) = s.called().await;
    done(&mut s, &request, "beside").await;
    assert!(text(&editor.result(second).await).contains("beside"));
    let (request, _) = t.called().await;
    done(&mut t, &request, "other").await;
    assert!(text(&editor.result(third).await).contains("other"));
    done(&mut s, &stuck, "at last").await;
    assert!(text(&editor.result(first).await).contains("at last"));
    editor.accept_rest();
    assert_eq!(editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_crashes_is_started_again() {
    let (mut editor, mut servers) = editor(trusted(json!({})), json!({}), &[]).await;
    let call = begin(&mut editor, "mcp__s__a", json!({ "text": "x" }));
    let mut server = servers.next().await;
    server.hello(json!([tool("a", false)])).await;
    server.called().await;
    drop(server);
    let result = editor.result(call).await;
    assert_eq!(result["error"]["kind"], "unavailable", "{result}");
    assert!(text(&result).contains("went away while `mcp__s__a` ran"), "{result}");
    let call = begin(&mut editor, "mcp__s__a", json!({ "text": "x" }));
    let mut server = servers.next().await;
    server.hello(json!([tool("a", false)])).await;
    let (request, _) = server.called().await;
    done(&mut server, &request, "again").await;
    assert!(text(&editor.result(call).await).contains("again"));
    editor.accept_rest();
    assert_eq!(editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_introduces_itself_is_told_and_the_rest_goes_on() {
    let (mut editor, mut servers) = editor(trusted(json!({})), json!({}), &[]).await;
    let call = begin(&mut editor, "mcp__s__a", json!({ "text": "x" }));
    let server = servers.next().await;
    // Another session is not kept waiting.
    let read = json!({ "sessionId": "two", "name": "read", "arguments": { "file_path": "/w/notes.txt" } });
    assert_eq!(editor.ask("ropewalk/callTool", read).await["status"], "ok");
    let result = editor.result(call).await;
    assert_eq!(result["error"]["kind"], "unknownTool", "{result}");
    tokio::time::sleep(Duration::from_mins(2)).await;
    let status = editor.ask("ropewalk/status", json!({})).await;
    assert_eq!(status["mcp"][0]["state"], "failed", "{status}");
    assert!(status["mcp"][0]["detail"].as_str().unwrap().contains("did not introduce itself within 60 s"), "{status}");
    drop(server);
    editor.accept_rest();
    assert_eq!(editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_program_that_is_not_there_is_told() {
    let (mut editor, _servers) = editor(trusted(json!({ "command": "nowhere" })), json!({}), &[]).await;
    let arguments = json!({ "action": "resources" });
    let result = editor.ask("ropewalk/callTool", json!({ "name": "mcp", "arguments": arguments })).await;
    assert!(text(&result).contains("there is no program \"nowhere\""), "{result}");
    editor.accept_rest();
    assert_eq!(editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn descriptions_are_bounded_and_cleaned_and_lists_cannot_go_on_for_ever() {
    let (mut editor, mut servers) = editor(trusted(json!({ "deferred": false })), json!({}), &[]).await;
    let list = editor.request("ropewalk/listTools", json!({}));
    let mut server = servers.next().await;
    let mut long = tool("a", false);
    long["description"] = json!(format!("\u{202e}{}", "x".repeat(1 << 20)));
    let hello = server.asked("initialize").await;
    let result = json!({
        "protocolVersion": "2025-06-18", "capabilities": { "tools": {} }, "serverInfo": { "name": "x", "version": "1" },
    });
    server.answer(&hello, result).await;
    for _ in 0..2 {
        let asked = server.asked("tools/list").await;
        server.answer(&asked, json!({ "tools": [long], "nextCursor": "again" })).await;
    }
    let list = editor.result(list).await;
    let found = list["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == "mcp__s__a").unwrap();
    let description = found["description"].as_str().unwrap();
    assert!(description.len() < 5000 && description.starts_with("xxx"), "{}", description.len());
    let status = editor.ask("ropewalk/status", json!({})).await;
    assert!(status["mcp"][0]["detail"].as_str().unwrap().contains("go round in a circle"), "{status}");
    editor.accept_rest();
    assert_eq!(editor.leave().await, 0);
}
