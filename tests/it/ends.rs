//! How a run ends, over the pipe in memory.

use serde_json::{Value, json};

use crate::doubles::{Bench, DOCUMENT};
use crate::order;

#[tokio::test(start_paused = true)]
async fn exit_after_shutdown_ends_with_0_though_the_input_stays_open() {
    let mut bench = Bench::ready("start").await;
    assert_eq!(bench.editor.ask("shutdown", Value::Null).await, Value::Null);
    let id = bench.call("look", json!({}));
    assert_eq!(bench.editor.error_code(id).await, -32600, "a request after shutdown");
    bench.editor.notify("exit", Value::Null);
    assert_eq!(bench.editor.exit_code().await, Some(0));
}

#[tokio::test(start_paused = true)]
async fn exit_without_shutdown_ends_with_1() {
    let mut bench = Bench::ready("start").await;
    bench.editor.notify("exit", Value::Null);
    assert_eq!(bench.editor.exit_code().await, Some(1));
}

#[tokio::test(start_paused = true)]
async fn exit_before_initialize_ends_with_1() {
    let mut bench = Bench::start().await;
    bench.editor.notify("exit", Value::Null);
    assert_eq!(bench.editor.exit_code().await, Some(1));
}

#[tokio::test(start_paused = true)]
async fn the_end_of_input_ends_it_though_a_handler_waits_for_the_editor() {
    let mut bench = Bench::ready("start").await;
    order::the_end_of_input_ends_it(&mut bench.editor).await.unwrap();
    let told = bench.double.told.lock().unwrap().clone();
    assert_eq!(told, [json!("shut down")], "the language servers were told to leave");
    bench.editor.accept_rest();
}

#[tokio::test(start_paused = true)]
async fn what_came_before_the_end_of_input_is_still_applied() {
    let mut bench = Bench::ready("start").await;
    bench.editor.splice(DOCUMENT, 0..5, "last words");
    bench.editor.close_their_input();
    assert_eq!(bench.editor.exit_code().await, Some(1));
    let key = ropewalk::workspace::Key::Unnamed(DOCUMENT.to_owned());
    let document = bench.rooms.workspace.documents.get(&key).unwrap();
    assert_eq!(document.text.to_string(), "last words");
}

#[tokio::test(start_paused = true)]
async fn an_output_that_is_closed_ends_it() {
    let mut bench = Bench::ready("start").await;
    bench.editor.close_their_output();
    for _ in 0..20 {
        bench.call("chatter", json!({ "words": 3 }));
    }
    assert_eq!(bench.editor.exit_code().await, Some(1));
    bench.editor.accept_rest();
}

#[tokio::test(start_paused = true)]
async fn calls_end_at_once_when_the_editor_is_gone() {
    let mut bench = Bench::ready("start").await;
    bench.call("wait", json!({}));
    bench.call("edit", json!({}));
    // Cannot be cancelled any more, but nobody will answer it either.
    bench.call("edit", json!({ "stubborn": true }));
    bench.editor.asked("workspace/applyEdit").await;
    bench.editor.asked("workspace/applyEdit").await;
    let before = tokio::time::Instant::now();
    bench.editor.close_their_input();
    assert_eq!(bench.editor.exit_code().await, Some(1));
    assert_eq!(before.elapsed(), std::time::Duration::ZERO, "on the paused clock: nothing was waited for");
    bench.editor.accept_rest();
}

#[tokio::test(start_paused = true)]
async fn an_editor_that_stopped_reading_does_not_keep_it() {
    let mut bench = Bench::ready("start").await;
    let ready = bench.call("look", json!({}));
    bench.editor.result(ready).await;
    bench.editor.read_on(false);
    for _ in 0..200 {
        bench.call("chatter", json!({ "words": 10 }));
    }
    bench.editor.notify("exit", Value::Null);
    assert_eq!(bench.editor.exit_code().await, Some(1));
    bench.editor.accept_rest();
}

#[tokio::test(start_paused = true)]
async fn a_result_that_is_ready_leaves_before_the_end() {
    let mut bench = Bench::ready("start").await;
    let big = "y".repeat(1 << 20);
    bench.editor.open(DOCUMENT, &big);
    let id = bench.editor.request("ropewalk/documentText", json!({ "uri": DOCUMENT }));
    let shutdown = bench.editor.request("shutdown", Value::Null);
    bench.editor.result(shutdown).await;
    bench.editor.notify("exit", Value::Null);
    assert_eq!(bench.editor.exit_code().await, Some(0));
    assert_eq!(bench.editor.result(id).await["text"].as_str().unwrap().len(), big.len());
}
