//! Outputs over the wire: what is cut can be fetched, by the model and by a front end; what is kept, and for whom.

use std::sync::Arc;

use ropewalk::ports::MemoryDisk;
use serde_json::{Value, json};

use crate::editor::{FakeEditor, Manner};
use crate::real::{URI, editor_with_notes};

/// An editor whose folder has `long.txt`: lines of which one near the middle tells of a failure.
async fn editor_with_long() -> (FakeEditor, Arc<MemoryDisk>) {
    let (editor, disk) = editor_with_notes().await;
    disk.put("/w/long.txt", long());
    (editor, disk)
}

fn long() -> String {
    (1..=2000).fold(String::new(), |text, row| {
        let what = if row == 1000 { "error: it broke" } else { "all is well here" };
        text + &format!("{row} {what}\n")
    })
}

async fn call(editor: &mut FakeEditor, params: Value) -> Value {
    let id = editor.request("ropewalk/callTool", params);
    editor.result(id).await
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_default()
}

fn read(session: &str, call: &str, max: usize) -> Value {
    let arguments = json!({ "file_path": "long.txt" });
    json!({ "sessionId": session, "callId": call, "name": "read", "arguments": arguments, "maxBytes": max })
}

/// Ends the run; the news of calls are not what these tests look at.
async fn end(mut editor: FakeEditor) {
    editor.accept_rest();
    assert_eq!(editor.leave().await, 0);
}

/// A change of every line of `notes.txt`: its diff is longer than what the model is shown of it.
async fn rewritten(editor: &mut FakeEditor) -> (Value, String) {
    call(editor, json!({ "name": "read", "arguments": { "file_path": "notes.txt" } })).await;
    let content: String = (0..400).fold(String::new(), |text, row| text + &format!("new row {row}\n"));
    let write = json!({ "file_path": "notes.txt", "content": content });
    let params = json!({ "callId": "toolu_w", "name": "write", "arguments": write, "maxBytes": 2000 });
    let id = editor.request("ropewalk/callTool", params);
    editor.serve_edit(Manner::Apply).await;
    (editor.result(id).await, content)
}

#[tokio::test(start_paused = true)]
async fn what_was_cut_is_fetched_by_the_tool_and_by_the_method() {
    let (mut editor, _) = editor_with_long().await;
    let (result, content) = rewritten(&mut editor).await;
    assert_eq!((&result["output"]["id"], &result["output"]["truncated"]), (&json!("o2"), &json!(true)), "{result}");
    assert!(text(&result).len() <= 2000 && result["output"]["totalBytes"].as_u64() > Some(4000));
    // What is known of problems stands after the part of the diff that is shown.
    assert!(text(&result).lines().last().unwrap().contains("language server"), "{result}");
    let remark = text(&result).lines().find(|line| line.contains("the rest of the diff")).unwrap();
    assert!(remark.contains("the `output` tool shows them: id \"o2\", offset "), "{remark}");
    let offset: u64 = remark.rsplit(' ').next().unwrap().trim_end_matches(']').parse().unwrap();
    let before = text(&result).split("\n[lines ").next().unwrap().lines().last().unwrap();
    let row = |line: &str| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap();

    let arguments = json!({ "id": "o2", "offset": offset, "limit": 2 });
    let fetched = call(&mut editor, json!({ "name": "output", "arguments": arguments })).await;
    assert_eq!((&fetched["status"], &fetched["output"]["id"]), (&json!("ok"), &json!("o2")), "{fetched}");
    assert_eq!(row(text(&fetched).lines().next().unwrap()), row(before) + 1, "nothing is skipped: {fetched}");
    assert!(text(&fetched).contains(&format!("go on with offset {}", offset + 2)), "{fetched}");

    let shown = editor.ask("ropewalk/output", json!({ "callId": "toolu_w", "offset": offset, "limit": 2 })).await;
    assert!(text(&fetched).starts_with(shown["text"].as_str().unwrap()), "{shown}");
    let known = (&shown["found"], &shown["id"], &shown["nextOffset"]);
    assert_eq!(known, (&json!(true), &json!("o2"), &json!(offset + 2)));
    let lines = editor.ask("ropewalk/output", json!({ "callId": "o2", "pattern": "row 37$" })).await;
    assert!(lines["text"].as_str().unwrap().ends_with(": +new row 37\n"), "{lines}");
    assert_eq!(editor.buffers[URI].text, content);
    end(editor).await;
}

#[tokio::test(start_paused = true)]
async fn an_output_is_read_piece_by_piece_within_what_a_call_allows() {
    let (mut editor, _) = editor_with_long().await;
    let (result, _) = rewritten(&mut editor).await;
    let (mut offset, mut pieces, mut rounds) = (1, String::new(), 0);
    loop {
        let arguments = json!({ "id": "toolu_w", "offset": offset, "limit": 2000 });
        let piece = call(&mut editor, json!({ "name": "output", "arguments": arguments, "maxBytes": 1000 })).await;
        assert!(text(&piece).len() <= 1000 && piece["status"] == "ok", "{piece}");
        let (lines, remark) = text(&piece).rsplit_once("\n(output o2: ").unwrap();
        pieces += lines;
        pieces.push('\n');
        rounds += 1;
        let Some(next) = piece["structuredContent"]["nextOffset"].as_u64() else {
            assert!(remark.ends_with("the end)"), "{remark}");
            break;
        };
        offset = next;
    }
    assert!(rounds > 5, "{rounds}");
    let whole = editor.ask("ropewalk/output", json!({ "callId": "toolu_w" })).await;
    assert_eq!(pieces.trim_end(), whole["text"].as_str().unwrap().trim_end());
    assert_eq!(whole["totalBytes"], result["output"]["totalBytes"]);
    // Reading made no outputs, and took none away.
    let known = call(&mut editor, json!({ "name": "output", "arguments": { "id": "o99" } })).await;
    assert_eq!((&known["status"], &known["error"]["kind"]), (&json!("error"), &json!("notFound")));
    let rows: Vec<&str> = text(&known).lines().skip(1).map(|row| row.split(',').next().unwrap()).collect();
    assert_eq!(rows, ["o2 (call toolu_w", "o1 (call c1"], "{known}");
    end(editor).await;
}

#[tokio::test(start_paused = true)]
async fn sessions_do_not_see_the_outputs_of_one_another() {
    let (mut editor, _) = editor_with_long().await;
    call(&mut editor, read("one", "toolu_1", 1000)).await;
    let other = call(&mut editor, json!({ "sessionId": "two", "name": "output", "arguments": { "id": "o1" } })).await;
    assert_eq!(other["error"]["kind"], "notFound", "{other}");
    assert!(!text(&other).contains("toolu_1"));
    let other = editor.ask("ropewalk/output", json!({ "sessionId": "two", "callId": "toolu_1" })).await;
    assert_eq!((&other["found"], &other["text"]), (&json!(false), &json!("")), "{other}");
    let own = editor.ask("ropewalk/output", json!({ "sessionId": "one", "callId": "toolu_1" })).await;
    assert_eq!(own["found"], true);
    end(editor).await;
}

#[tokio::test(start_paused = true)]
async fn the_oldest_output_goes_and_that_is_told() {
    let (mut editor, _) = editor_with_long().await;
    let settings = json!({ "settings": { "ropewalk": { "output": { "keptBytes": 60_000 }, "diagnostics.ownServers": "off", "read.unchanged": false } } });
    editor.notify("workspace/didChangeConfiguration", settings);
    let read = |call: &str| json!({ "callId": call, "name": "read", "arguments": { "file_path": "long.txt" } });
    for id in ["toolu_1", "toolu_2"] {
        let result = call(&mut editor, read(id)).await;
        assert!(result["output"]["totalBytes"].as_u64() > Some(25_000), "{result}");
    }
    call(&mut editor, json!({ "name": "output", "arguments": { "id": "toolu_1", "mode": "summary" } })).await;
    call(&mut editor, read("toolu_3")).await;
    let gone = call(&mut editor, json!({ "name": "output", "arguments": { "id": "toolu_2" } })).await;
    assert_eq!(gone["error"]["kind"], "notFound", "{gone}");
    assert!(text(&gone).contains("o1 (call toolu_1, read, ") && !text(&gone).contains("o2 ("), "{gone}");
    let there =
        call(&mut editor, json!({ "name": "output", "arguments": { "id": "toolu_1", "pattern": "broke" } })).await;
    assert!(text(&there).contains("1000: 1000\t1000 error: it broke"), "{there}");
    end(editor).await;
}

#[tokio::test(start_paused = true)]
async fn a_front_end_hears_the_end_of_what_was_cut() {
    let (mut editor, _) = editor_with_long().await;
    let complete =
        |message: &Value| message["method"] == "ropewalk/toolEvent" && message["params"]["kind"] == "complete";
    let (result, _) = rewritten(&mut editor).await;
    let whole = editor.ask("ropewalk/output", json!({ "callId": "toolu_w" })).await;
    let read = editor.stashed(complete).unwrap();
    let event = editor.stashed(complete).unwrap();
    let detail = &event["params"]["detail"];
    assert_eq!((&detail["content"], &detail["output"]), (&result["content"], &result["output"]));
    assert_eq!(detail["display"], whole["text"]);
    // What was not cut is there once.
    assert_eq!(read["params"]["detail"]["display"], Value::Null);
    end(editor).await;
}
