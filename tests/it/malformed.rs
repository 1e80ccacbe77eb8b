//! Params that are malformed are JSON-RPC errors, by one rule for every method; and reports say what is there, not what was
//! asked for.

use ropewalk::server::protocol;
use serde_json::{Value, json};

use crate::doubles::Bench;
use crate::files::text;
use crate::real::editor_with_notes;

/// The requests to us whose params have a field of this name, by the table.
fn requests_with(field: &str) -> Vec<String> {
    let schemas = protocol::schemas();
    let fields = |method: &Value| {
        let params = match method["params"]["$ref"].as_str().and_then(|place| place.strip_prefix('#')) {
            Some(place) => schemas.pointer(place).unwrap().clone(),
            None => method["params"].clone(),
        };
        params["properties"].get(field).is_some()
    };
    let methods = schemas["methods"].as_array().unwrap().iter();
    let ours = methods.filter(|method| method["direction"] == "toSidecar" && method["kind"] == "request");
    ours.filter(|method| fields(method)).map(|method| method["name"].as_str().unwrap().to_owned()).collect()
}

async fn error(bench: &mut Bench, method: &str, params: Value) -> (Value, String) {
    let id = bench.editor.request(method, params);
    let answer =
        bench.editor.next_where(|message| message["id"] == id && message.get("method").is_none()).await.unwrap();
    let error = &answer["error"];
    (error["code"].clone(), error["message"].as_str().unwrap_or_default().to_owned())
}

#[tokio::test(start_paused = true)]
async fn a_name_that_is_too_long_is_malformed_for_every_method() {
    let mut bench = Bench::ready("start").await;
    for (field, some) in
        [("sessionId", "ropewalk/listTools"), ("turnId", "ropewalk/endTurn"), ("callId", "ropewalk/cancel")]
    {
        let methods = requests_with(field);
        assert!(methods.iter().any(|method| method == some) && methods.len() > 3, "{field}: {methods:?}");
        for method in methods {
            let (code, message) = error(&mut bench, &method, json!({ field: "x".repeat(300) })).await;
            assert_eq!(code, -32602, "{method}");
            assert!(
                message.contains(&format!("`{field}` has 300 bytes; at most 256 are taken")),
                "{method}: {message}"
            );
        }
    }
    // A command carries the params of a method.
    let command =
        json!({ "command": "ropewalk.call", "arguments": [{ "name": "read", "sessionId": "x".repeat(300) }] });
    assert_eq!(error(&mut bench, "workspace/executeCommand", command).await.0, -32602);
    let calls = json!({ "calls": [{ "name": "read" }, { "name": "read", "callId": "x".repeat(300) }] });
    let (code, message) = error(&mut bench, "ropewalk/callTools", calls).await;
    assert!(code == -32602 && message.contains("`calls[1].callId` has 300 bytes"), "{message}");
    assert_eq!(bench.editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_says_no_tool_is_malformed() {
    let mut bench = Bench::ready("start").await;
    for method in ["ropewalk/callTool", "ropewalk/previewCall"] {
        for params in [Value::Null, json!({}), json!({ "arguments": {} }), json!({ "name": null }), json!(["read"])] {
            let (code, message) = error(&mut bench, method, params.clone()).await;
            assert_eq!(code, -32602, "{method} {params}");
            assert!(message.contains("`name` is missing") || params.is_array(), "{method} {params}: {message}");
        }
    }
    let calls = json!({ "calls": [{ "name": "look" }, { "arguments": {} }] });
    let (code, message) = error(&mut bench, "ropewalk/callTools", calls).await;
    assert!(code == -32602 && message.contains("`calls[1].name` is missing"), "{message}");
    let command = json!({ "command": "ropewalk.call", "arguments": [{}] });
    assert_eq!(error(&mut bench, "workspace/executeCommand", command).await.0, -32602);
    assert_eq!(bench.editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_model_that_names_no_tool_gets_a_result() {
    let (mut editor, _) = editor_with_notes().await;
    // The name is there and empty: that is what a model wrote. Nothing streamed in for the second.
    for params in [json!({ "name": "" }), json!({ "callId": "c9" })] {
        let result = editor.ask("ropewalk/callTool", params).await;
        assert_eq!(result["error"]["kind"], "unknownTool", "{result}");
        assert!(text(&result).starts_with("The call names no tool. The tools are: "), "{result}");
    }
    editor.accept_rest();
    assert_eq!(editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_report_names_the_version_that_is_there() {
    let (mut editor, _) = editor_with_notes().await;
    editor.open("untitled:a", "one");
    let params = json!({ "uri": "untitled:a", "minVersion": 9, "deadlineMs": 50 });
    let report = editor.ask("ropewalk/diagnostics", params).await;
    let document = &report["documents"][0];
    assert_eq!((&document["version"], document["sources"].as_array().unwrap().len()), (&json!(1), 1), "{report}");
    assert_eq!(document["sources"][0]["verdict"], "pending", "{report}");
    let words = "version 9 has not come: the document is at version 1";
    assert_eq!(document["sources"][0]["detail"], words, "{report}");
    editor.accept_rest();
    assert_eq!(editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_report_of_nothing_is_refused_in_words() {
    let (mut editor, _) = editor_with_notes().await;
    for (uri, words) in [
        ("file:///nope", "/nope is not open in the editor, and does not exist"),
        ("file:///w", "is not open in the editor, and is a directory, not a file"),
    ] {
        let id = editor.request("ropewalk/diagnostics", json!({ "uri": uri }));
        let answer = editor.next_where(|message| message["id"] == id).await.unwrap();
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains(words), "{answer}");
    }
    // A file is no document that was closed.
    editor.notify("textDocument/didClose", json!({ "textDocument": { "uri": crate::real::URI } }));
    let report = editor.ask("ropewalk/diagnostics", json!({ "uri": crate::real::URI })).await;
    assert_eq!(report["documents"][0]["sources"][0]["verdict"], "neverReported", "{report}");
    editor.accept_rest();
    assert_eq!(editor.leave().await, 0);
}
