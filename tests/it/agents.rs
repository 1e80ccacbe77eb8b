//! Agents over the wire: the editor runs them, refuses, says nothing and is gone; commands are real programs, and end with
//! the sidecar; what was at work is told of after a restart.

use std::path::Path;

use ropewalk::server::ServeOptions;
use serde_json::{Value, json};

use crate::editor::FakeEditor;
use crate::files::{editor_with, end, folder, put, text};

/// An editor in a folder; `runs`: it runs agents.
async fn editor(folder: &Path, state: Option<&Path>, runs: bool, settings: Value) -> FakeEditor {
    let state_dir = state.map(Path::to_owned);
    let options = ServeOptions { repeatable: state.is_none(), state_dir, ..ServeOptions::default() };
    editor_with(folder, options, json!({ "approve": true, "runAgent": runs }), settings).await
}

fn begin(editor: &mut FakeEditor, session: &str, name: &str, arguments: Value) -> i64 {
    editor.request("ropewalk/callTool", json!({ "sessionId": session, "name": name, "arguments": arguments }))
}

async fn call(editor: &mut FakeEditor, session: &str, name: &str, arguments: Value) -> Value {
    let id = begin(editor, session, name, arguments);
    editor.result(id).await
}

#[tokio::test]
async fn an_agent_works_in_its_session_and_answers() {
    let (_gone, folder) = folder();
    put(&folder, "a.txt", "one\n");
    let mut editor = editor(&folder, None, true, json!({})).await;
    let id = begin(&mut editor, "pane", "agent", json!({ "prompt": "Write it down." }));
    let (asked, params) = editor.asked("ropewalk/runAgent").await;
    assert_eq!((&params["sessionId"], &params["depth"]), (&json!("pane/a1"), &json!(1)), "{params}");
    let write = json!({ "file_path": "b.txt", "content": "two\n" });
    assert_eq!(call(&mut editor, "pane/a1", "write", write).await["status"], "ok");
    // It is the agent's change.
    let changes = editor.ask("ropewalk/changes", json!({ "sessionId": "pane/a1" })).await;
    assert!(changes.to_string().contains("b.txt"), "{changes}");
    let changes = editor.ask("ropewalk/changes", json!({ "sessionId": "pane" })).await;
    assert!(!changes.to_string().contains("b.txt"), "{changes}");
    // What is outside is asked about, for the agent's session.
    let outside = begin(&mut editor, "pane/a1", "read", json!({ "file_path": "/etc/hostname" }));
    let (question, asks) = editor.asked("ropewalk/approve").await;
    assert_eq!(asks["sessionId"], "pane/a1");
    editor.respond(&question, json!({ "decisions": [{ "callId": asks["calls"][0]["callId"], "decision": "deny" }] }));
    assert_eq!(editor.result(outside).await["status"], "denied");
    editor.ask("ropewalk/setMode", json!({ "sessionId": "pane", "mode": "plan" })).await;
    let write = json!({ "file_path": "c.txt", "content": "three\n" });
    assert_eq!(call(&mut editor, "pane/a1", "write", write).await["status"], "denied");
    editor.respond(&asked, json!({ "output": "Written." }));
    let result = editor.result(id).await;
    assert!(text(&result).starts_with("<external_content source=\"agent a1 (general)\">\nWritten.\n"), "{result}");
    end(editor).await;
}

async fn listed(editor: &mut FakeEditor) -> bool {
    let tools = editor.ask("ropewalk/listTools", json!({})).await;
    tools["tools"].as_array().unwrap().iter().any(|tool| tool["name"] == "agent")
}

#[tokio::test]
async fn the_tool_is_there_only_where_somebody_runs_agents() {
    let (_gone, folder) = folder();
    let mut runs = editor(&folder, None, true, json!({})).await;
    assert!(listed(&mut runs).await);
    end(runs).await;
    let mut editor = editor_with(&folder, ServeOptions::default(), json!({ "events": true }), json!({})).await;
    assert!(!listed(&mut editor).await);
    // What new settings make of it is told, both ways.
    for (agents, there) in [(json!({ "mine": { "command": ["mine"] } }), true), (json!({}), false)] {
        let settings = json!({ "settings": { "ropewalk": { "agents": agents } } });
        editor.notify("workspace/didChangeConfiguration", settings);
        editor.next_where(|message| message["method"] == "ropewalk/toolsChanged").await.expect("news");
        assert_eq!(listed(&mut editor).await, there);
    }
    end(editor).await;
}

#[tokio::test]
async fn an_editor_that_refuses_errs_or_says_nothing() {
    let (_gone, folder) = folder();
    let mut none = editor(&folder, None, false, json!({})).await;
    let result = call(&mut none, "pane", "agent", json!({ "prompt": "look" })).await;
    assert_eq!(result["error"]["kind"], "unavailable", "{result}");
    assert!(text(&result).contains("this editor runs no agents, and the user's settings name none"), "{result}");
    end(none).await;
    let mut editor = editor(&folder, None, true, json!({})).await;
    let id = begin(&mut editor, "pane", "agent", json!({ "prompt": "look" }));
    let (asked, _) = editor.asked("ropewalk/runAgent").await;
    editor.send(&json!({ "jsonrpc": "2.0", "id": asked, "error": { "code": -32000, "message": "no such model" } }));
    let result = editor.result(id).await;
    assert!(result["error"]["kind"] == "failed" && text(&result).contains("no such model"), "{result}");
    let id = begin(&mut editor, "pane", "agent", json!({ "prompt": "look" }));
    let (asked, _) = editor.asked("ropewalk/runAgent").await;
    editor.respond(&asked, json!({ "output": 7 }));
    let result = editor.result(id).await;
    assert!(text(&result).contains("cannot be read"), "{result}");
    // It never answers, and the call is cancelled: the request is taken back.
    let id = begin(&mut editor, "pane", "agent", json!({ "prompt": "look" }));
    let (asked, _) = editor.asked("ropewalk/runAgent").await;
    editor.notify("$/cancelRequest", json!({ "id": id }));
    assert_eq!(editor.result(id).await["status"], "cancelled");
    let taken = editor.next_where(|message| message["method"] == "$/cancelRequest").await.unwrap();
    assert_eq!(taken["params"]["id"], asked);
    // It never answers, and its session is closed.
    let background = json!({ "prompt": "look", "background": true });
    assert_eq!(call(&mut editor, "pane", "agent", background).await["status"], "ok");
    let (asked, _) = editor.asked("ropewalk/runAgent").await;
    editor.ask("ropewalk/closeSession", json!({ "sessionId": "pane" })).await;
    let taken = editor.next_where(|message| message["method"] == "$/cancelRequest").await.unwrap();
    assert_eq!(taken["params"]["id"], asked);
    for (arguments, kind) in [
        (json!({}), "invalidArguments"),
        (json!({ "prompt": ["look"], "more": 1 }), "invalidArguments"),
        (json!({ "action": "status", "task_id": "a9" }), "notFound"),
    ] {
        let result = call(&mut editor, "pane", "agent", arguments.clone()).await;
        assert_eq!(result["error"]["kind"], kind, "{arguments} {result}");
    }
    end(editor).await;
}

#[tokio::test]
async fn what_was_at_work_is_told_of_after_a_restart() {
    let ((_gone, folder), (_state, state)) = (folder(), folder());
    let mut first = editor(&folder, Some(&state), true, json!({})).await;
    let started = call(&mut first, "pane", "agent", json!({ "prompt": "look", "background": true })).await;
    assert_eq!(started["status"], "ok", "{started}");
    first.asked("ropewalk/runAgent").await;
    end(first).await;
    let mut second = editor(&folder, Some(&state), true, json!({})).await;
    let list = call(&mut second, "pane", "agent", json!({ "action": "list" })).await;
    assert!(text(&list).starts_with("a1 [general] lost"), "{list}");
    assert!(text(&list).contains("agent a1 (look) was lost"), "{list}");
    assert!(!text(&call(&mut second, "pane", "ls", json!({})).await).contains("was lost"));
    let resume = json!({ "action": "resume", "task_id": "a1", "prompt": "go on" });
    let id = begin(&mut second, "pane", "agent", resume);
    let (asked, params) = second.asked("ropewalk/runAgent").await;
    assert_eq!((&params["sessionId"], &params["resume"]), (&json!("pane/a1"), &json!(true)), "{params}");
    second.respond(&asked, json!({ "output": "done" }));
    assert_eq!(second.result(id).await["status"], "ok");
    end(second).await;
}

#[tokio::test]
async fn a_command_that_is_a_script() {
    let (_gone, folder) = folder();
    let script = "printf 'in %s\\n' \"$PWD\"; printf 'asked: %s\\n' \"$1\"; echo thinking >&2; echo \"${SECRET_TOKEN-none}\"; cat";
    let command = json!(["sh", "-c", script, "agent", "{prompt}"]);
    let settings = json!({ "trusted": true, "agents": { "script": { "command": command, "joins": false } } });
    let mut editor = editor(&folder, None, false, settings).await;
    let task = json!({ "agent_type": "script", "prompt": "$(id) `id` 'x' {socket}" });
    let result = call(&mut editor, "default", "agent", task.clone()).await;
    let said = format!("\nin {}\nasked: $(id) `id` 'x' {{socket}}\nnone\n</external_content>\n", folder.display());
    assert!(text(&result).contains(&said), "{result}");
    editor
        .notify("ropewalk/didChangeTrust", json!({ "root": format!("file://{}", folder.display()), "trusted": false }));
    let result = call(&mut editor, "default", "agent", task).await;
    assert!(result["status"] == "denied" && text(&result).contains("is not trusted"), "{result}");
    end(editor).await;
}
