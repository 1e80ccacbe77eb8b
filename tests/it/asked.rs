//! `question` over the wire: by `ropewalk/ask`, by messages with buttons, with nobody there, with bad input, and cancelled.

use std::sync::Arc;

use ropewalk::ports::{MemoryDisk, Ports};
use ropewalk::server::{self, ServeOptions};
use serde_json::{Value, json};

use crate::editor::FakeEditor;

/// An editor that can do this, with the folder `/w`.
async fn editor(abilities: Value, window: Value) -> FakeEditor {
    let disk = MemoryDisk::new().with_file("/w/notes.txt", "one\n");
    let ports = Ports { disk: Arc::new(disk), ..Ports::system() };
    let options = ServeOptions::default();
    let mut editor = FakeEditor::start(|input, output| tokio::spawn(server::serve(input, output, ports, options)));
    let params = json!({
        "processId": null,
        "workspaceFolders": [{ "uri": "file:///w", "name": "w" }],
        "initializationOptions": { "diagnostics": { "ownServers": "off" } },
        "capabilities": { "window": window, "experimental": { "ropewalk": abilities } },
    });
    editor.ask("initialize", params).await;
    editor
}

async fn asking() -> FakeEditor {
    editor(json!({ "ask": true, "events": true }), json!({})).await
}

fn buttons() -> Value {
    json!({ "showMessage": { "messageActionItem": { "additionalPropertiesSupport": false } } })
}

fn call(session: &str, id: &str, arguments: Value) -> Value {
    json!({ "sessionId": session, "callId": id, "name": "question", "arguments": arguments })
}

fn which() -> Value {
    json!({ "questions": [{ "question": "Which?", "header": "Pick", "options": ["Red", { "label": "Blue", "description": "Cold." }] }] })
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{result}"))
}

async fn waiting(editor: &mut FakeEditor) -> (Value, Value) {
    let told = editor.next_where(|message| message["method"] == "ropewalk/approvalsChanged").await.unwrap();
    (told["params"]["sessionId"].clone(), told["params"]["waiting"].clone())
}

#[tokio::test(start_paused = true)]
async fn a_person_is_asked_and_takes_their_time() {
    let mut editor = asking().await;
    let id = editor.request("ropewalk/callTool", call("a", "q1", which()));
    let (question, params) = editor.asked("ropewalk/ask").await;
    assert_eq!(
        params,
        json!({ "sessionId": "a", "callId": "q1", "questions": [{
            "question": "Which?", "header": "Pick", "multiple": false, "custom": true,
            "options": [{ "label": "Red" }, { "label": "Blue", "description": "Cold." }],
        }] })
    );
    assert_eq!(waiting(&mut editor).await, (json!("a"), json!(1)));
    // A week is nothing to a person; other sessions go on meanwhile.
    tokio::time::advance(std::time::Duration::from_hours(7 * 24)).await;
    let read = json!({ "sessionId": "b", "name": "read", "arguments": { "file_path": "/w/notes.txt" } });
    assert_eq!(editor.ask("ropewalk/callTool", read).await["status"], "ok");
    editor.respond(&question, json!({ "answers": [{ "selected": [1], "text": "but dark" }] }));
    let result = editor.result(id).await;
    assert_eq!(text(&result), "The person answered.\n1. Which?\n   - Blue\n   In their own words: but dark");
    let answers = json!([{ "question": "Which?", "answered": true, "selected": ["Blue"], "text": "but dark" }]);
    assert_eq!(result["structuredContent"], json!({ "answers": answers, "cancelled": false }));
    assert_eq!(waiting(&mut editor).await, (json!("a"), json!(0)));
    editor.accept_rest();
    assert_eq!(editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn sessions_ask_at_once_and_each_gets_its_own_answer() {
    let mut editor = asking().await;
    let ids: Vec<i64> =
        ["a", "b", "c"].iter().map(|name| editor.request("ropewalk/callTool", call(name, "q", which()))).collect();
    let mut questions = Vec::new();
    for _ in 0..3 {
        questions.push(editor.asked("ropewalk/ask").await);
    }
    for (question, params) in questions.iter().rev() {
        editor.respond(question, json!({ "answers": [{ "text": params["sessionId"] }] }));
    }
    for (id, name) in ids.iter().zip(["a", "b", "c"]) {
        let result = editor.result(*id).await;
        assert!(text(&result).ends_with(&format!("In their own words: {name}")), "{result}");
    }
    editor.accept_rest();
    assert_eq!(editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_question_is_taken_back_at_once() {
    let mut editor = asking().await;
    for how in ["ropewalk/cancel", "$/cancelRequest"] {
        let id = editor.request("ropewalk/callTool", call("a", "q1", which()));
        let (question, _) = editor.asked("ropewalk/ask").await;
        if how == "ropewalk/cancel" {
            editor.ask(how, json!({ "sessionId": "a", "callId": "q1" })).await;
        } else {
            editor.notify(how, json!({ "id": id }));
        }
        let back = editor.next_where(|message| message["method"] == "$/cancelRequest").await.unwrap();
        assert_eq!(back["params"]["id"], question);
        assert_eq!(editor.result(id).await["status"], "cancelled");
        // An answer that is on its way by then harms nobody.
        editor.respond(&question, json!({ "answers": ["Red"] }));
    }
    editor.accept_rest();
    assert_eq!(editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn whatever_comes_back_is_told() {
    let mut editor = asking().await;
    for (answer, said) in [
        (json!({ "answers": [{ "selected": ["Red"] }] }), "   - Red"),
        (json!("blue"), "   - Blue"),
        (json!({ "answers": ["Something else"] }), "In their own words: Something else"),
        (json!({ "answers": [{ "selected": [7] }] }), "(option 7 was chosen, counted from 0, and there are 2)"),
        (json!({ "answers": [] }), "The person gave no answer."),
        (json!({ "cancelled": true }), "The person closed the question without an answer."),
        (Value::Null, "The person closed the question without an answer."),
        (json!({ "reply": "Red, please" }), "{\"reply\":\"Red, please\"}"),
    ] {
        let id = editor.request("ropewalk/callTool", call("a", "q1", which()));
        let (question, _) = editor.asked("ropewalk/ask").await;
        editor.respond(&question, answer.clone());
        let result = editor.result(id).await;
        assert!(text(&result).contains(said), "{answer}: {result}");
        let failed = answer.get("reply").is_some();
        assert_eq!(result["isError"], failed, "{result}");
    }
    let id = editor.request("ropewalk/callTool", call("a", "q1", which()));
    let (question, _) = editor.asked("ropewalk/ask").await;
    editor.send(&json!({ "jsonrpc": "2.0", "id": question, "error": { "code": -32603, "message": "no window" } }));
    let result = editor.result(id).await;
    assert_eq!(result["error"]["kind"], "failed");
    assert!(text(&result).contains("no window"), "{result}");
    editor.accept_rest();
    assert_eq!(editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn buttons_ask_one_question_after_the_other() {
    let mut editor = editor(json!({}), buttons()).await;
    let arguments = json!({ "questions": [
        { "question": "Which\none?", "header": "Pick", "options": ["Red", { "label": "Blue", "description": "Cold." }] },
        { "question": "Why?" },
        { "question": "How many?", "options": ["1", "2"] },
    ] });
    let id = editor.request("ropewalk/callTool", call("a", "q1", arguments.clone()));
    let (first, params) = editor.asked("window/showMessageRequest").await;
    let actions = json!([{ "title": "Red" }, { "title": "Blue" }]);
    assert_eq!(params, json!({ "type": 3, "message": "Pick\nWhich\none?\n  Blue: Cold.", "actions": actions }));
    editor.respond(&first, json!({ "title": "Blue" }));
    let (second, params) = editor.asked("window/showMessageRequest").await;
    assert_eq!(params["message"], "How many?");
    editor.respond(&second, Value::Null);
    let result = editor.result(id).await;
    let expected = "The person answered.\n1. Which\n   one?\n   - Blue\n2. Why?\n   (no answer: it wants a text, and this \
                    editor can only show buttons)\n3. How many?\n   (no answer)\nGo on without what was not answered, or \
                    ask anew where it cannot be done without.";
    assert_eq!(text(&result), expected);
    // What was answered stays answered, whatever becomes of the rest.
    let id = editor.request("ropewalk/callTool", call("a", "q2", arguments));
    let (first, _) = editor.asked("window/showMessageRequest").await;
    editor.respond(&first, json!({ "title": "Red" }));
    let (second, _) = editor.asked("window/showMessageRequest").await;
    editor.send(&json!({ "jsonrpc": "2.0", "id": second, "error": { "code": -32603, "message": "no window" } }));
    let result = editor.result(id).await;
    assert!(text(&result).contains("   - Red\n") && text(&result).contains("no window"), "{result}");
    // Nothing to press: told at once.
    let result = editor.ask("ropewalk/callTool", call("a", "q3", json!({ "question": "Why?" }))).await;
    assert!(result["isError"] == true && text(&result).contains("can only show buttons"), "{result}");
    // Cancelled between two messages, the one that is open is taken back.
    let id = editor.request("ropewalk/callTool", call("a", "q4", json!({ "question": "?", "options": ["A", "B"] })));
    let (open, _) = editor.asked("window/showMessageRequest").await;
    editor.notify("$/cancelRequest", json!({ "id": id }));
    let back = editor.next_where(|message| message["method"] == "$/cancelRequest").await.unwrap();
    assert_eq!((&back["params"]["id"], &editor.result(id).await["status"]), (&open, &json!("cancelled")));
    editor.accept_rest();
    assert_eq!(editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn where_nobody_can_answer_that_is_told_at_once() {
    let mut editor = editor(json!({ "events": true }), json!({})).await;
    let result = editor.ask("ropewalk/callTool", call("a", "q1", which())).await;
    assert_eq!(result["error"]["kind"], "unavailable");
    assert!(
        text(&result).contains("nobody can be asked here") && text(&result).contains("easiest to undo"),
        "{result}"
    );
    for bad in [json!({}), json!({ "questions": "what?" }), json!({ "questions": [{ "options": ["A"] }] }), json!(7)] {
        let result = editor.ask("ropewalk/callTool", call("a", "q2", bad)).await;
        assert_eq!(result["error"]["kind"], "invalidArguments", "{result}");
    }
    // Nobody waited for a person.
    let told = editor.stashed(|message| message["method"] == "ropewalk/approvalsChanged");
    assert_eq!(told, None);
    editor.accept_rest();
    assert_eq!(editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_list_in_a_string_is_a_list_and_plan_mode_may_ask() {
    let mut editor = asking().await;
    editor.ask("ropewalk/setMode", json!({ "sessionId": "a", "mode": "plan" })).await;
    let questions = which()["questions"].to_string();
    let id = editor.request("ropewalk/callTool", call("a", "q1", json!({ "questions": questions })));
    let (question, _) = editor.asked("ropewalk/ask").await;
    editor.respond(&question, json!({ "answers": [{ "selected": [0] }] }));
    assert!(text(&editor.result(id).await).ends_with("- Red"));
    editor.accept_rest();
    assert_eq!(editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn what_waits_behind_a_question_can_be_cancelled_and_so_can_all_by_leaving() {
    let mut editor = asking().await;
    let open = editor.request("ropewalk/callTool", call("a", "q1", which()));
    let (question, _) = editor.asked("ropewalk/ask").await;
    for (name, arguments) in
        [("skill", json!({ "name": "x" })), ("memory", json!({ "action": "list" })), ("question", which())]
    {
        let params = json!({ "sessionId": "a", "callId": name, "name": name, "arguments": arguments });
        let id = editor.request("ropewalk/callTool", params);
        editor.notify("$/cancelRequest", json!({ "id": id }));
        assert_eq!(editor.result(id).await["status"], "cancelled", "{name}");
    }
    // None of that touched the question.
    editor.respond(&question, json!({ "answers": ["Blue"] }));
    assert!(text(&editor.result(open).await).ends_with("- Blue"));
    // An editor that closes over an open question keeps nobody waiting.
    editor.request("ropewalk/callTool", call("a", "q2", which()));
    editor.asked("ropewalk/ask").await;
    editor.ask("shutdown", Value::Null).await;
    editor.notify("exit", Value::Null);
    assert_eq!(editor.exit_code().await, Some(0));
    editor.accept_rest();
}
