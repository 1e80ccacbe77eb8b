//! What is told of running calls, what is run twice, and work in the background.

use serde_json::{Value, json};

use super::drop_rest;
use super::kit::{Gates, call, editor, events, text};

#[tokio::test(start_paused = true)]
async fn a_running_call_says_what_it_puts_out_and_how_far_it_is() {
    let gates = Gates::default();
    let (mut editor, _) = editor(&gates).await;
    let mut talk = call("talk", json!({ "word": "a" }));
    talk["workDoneToken"] = json!("t1");
    let id = editor.request("ropewalk/callTool", talk.clone());
    gates.arrived(1).await;
    let output = |message: &Value| message["params"]["kind"] == "output";
    let first = editor.next_where(output).await.unwrap();
    assert_eq!(first["params"]["detail"], json!({ "text": "hello", "percentage": 40, "message": "half-way" }));
    gates.open("a");
    assert_eq!(text(&editor.result(id).await), "a");
    let last = editor.stashed(output).unwrap();
    assert_eq!(last["params"]["detail"], json!({ "text": "!" }));
    let mut progress = Vec::new();
    while let Some(message) = editor.stashed(|message| message["method"] == "$/progress") {
        assert_eq!(message["params"]["token"], "t1");
        progress.push(message["params"]["value"].clone());
    }
    let title = "A tool of a test";
    assert_eq!(
        progress,
        [
            json!({ "kind": "begin", "title": title, "cancellable": false }),
            json!({ "kind": "report", "message": "half-way", "percentage": 40 }),
            json!({ "kind": "end", "message": "done" }),
        ]
    );

    // A cancelled call ends its progress too; one that never began has none.
    talk["arguments"]["word"] = json!("never");
    talk["workDoneToken"] = json!(2);
    let id = editor.request("ropewalk/callTool", talk.clone());
    talk["workDoneToken"] = json!(3);
    let behind = editor.request("ropewalk/callTool", talk);
    gates.arrived(2).await;
    editor.notify("$/cancelRequest", json!({ "id": behind }));
    editor.notify("$/cancelRequest", json!({ "id": id }));
    assert_eq!(editor.result(id).await["status"], "cancelled");
    assert_eq!(editor.result(behind).await["status"], "cancelled");
    let mut kinds = Vec::new();
    while let Some(message) = editor.stashed(|message| message["method"] == "$/progress") {
        kinds.push((message["params"]["token"].clone(), message["params"]["value"]["kind"].clone()));
    }
    assert_eq!(kinds, [(json!(2), json!("begin")), (json!(2), json!("report")), (json!(2), json!("end"))]);
    drop_rest(&mut editor).await;
    assert_eq!(editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn only_what_reads_is_run_again_after_a_failure_of_a_moment() {
    let (mut editor, _) = editor(&Gates::default()).await;
    let read = editor.ask("ropewalk/callTool", call("shaky", json!({ "word": "there" }))).await;
    assert_eq!((read["status"].as_str(), text(&read)), (Some("ok"), "there"));
    let change = editor.ask("ropewalk/callTool", call("shaky_change", json!({ "word": "there" }))).await;
    assert_eq!((change["error"]["kind"].as_str(), text(&change)), (Some("unavailable"), "not at the moment"));
    events(&mut editor, |_| false).await;
    assert_eq!(editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_job_goes_on_is_read_and_stopped_and_its_end_is_told_once() {
    let gates = Gates::default();
    let (mut editor, _) = editor(&gates).await;
    for (word, id) in [("a", "j1"), ("never", "j2")] {
        let started = editor.ask("ropewalk/callTool", call("background", json!({ "word": word }))).await;
        assert_eq!(text(&started), format!("started {id}"));
    }
    gates.arrived(2).await;
    let jobs = editor.ask("ropewalk/jobs", json!({})).await;
    let running =
        json!({ "id": "j1", "label": "count to two", "state": "running", "outputBytes": 4, "droppedBytes": 0 });
    assert_eq!((&jobs["jobs"][0], jobs["jobs"].as_array().unwrap().len()), (&running, 2));
    let output = editor.ask("ropewalk/jobOutput", json!({ "id": "j1" })).await;
    assert_eq!(output, json!({ "text": "one\n", "cursor": 4, "dropped": 0, "state": "running" }));
    gates.open("a");
    let ended = editor.next_where(|message| message["params"]["jobs"][0]["state"] == "exited").await.unwrap();
    assert_eq!(ended["method"], "ropewalk/jobsChanged");
    let output = editor.ask("ropewalk/jobOutput", json!({ "id": "j1", "cursor": 4 })).await;
    assert_eq!(output, json!({ "text": "two\n", "cursor": 8, "dropped": 0, "state": "exited" }));
    assert_eq!(editor.ask("ropewalk/stopJob", json!({ "id": "j2" })).await, json!({ "stopped": true }));
    editor.next_where(|message| message["params"]["jobs"][1]["state"] == "stopped").await.unwrap();

    let read = || call("read", json!({ "file_path": "notes.txt" }));
    let told = editor.ask("ropewalk/callTool", read()).await;
    let words = "Since then: job j1 (count to two) ended: exit code 0; job j2 (count to two) was stopped.";
    assert!(text(&told).ends_with(words), "{told}");
    assert!(!text(&editor.ask("ropewalk/callTool", read()).await).contains("Since then"));
    let unknown = editor.request("ropewalk/jobOutput", json!({ "id": "j9" }));
    assert_eq!(editor.error_code(unknown).await, -32602);
    drop_rest(&mut editor).await;
    // One that still runs ends with us.
    editor.ask("ropewalk/callTool", call("background", json!({ "word": "never" }))).await;
    gates.arrived(4).await;
    editor.ask("shutdown", Value::Null).await;
    editor.notify("exit", Value::Null);
    assert_eq!(editor.exit_code().await, Some(0));
    assert_eq!(gates.count(), 5, "the third job began and was told to stop");
    editor.accept_rest();
}
