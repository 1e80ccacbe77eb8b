//! The order of messages. Each check is a function over any server that speaks our methods, so that [`crate::naive`] can
//! show that it fails without the seams.

use serde_json::{Value, json};

use crate::doubles::{Bench, DOCUMENT};
use crate::editor::{FakeEditor, Manner};

/// 1000 keystrokes with a request after each twentieth: what each request saw when it arrived and when it ran, against
/// the version that was sent before it; and the final text.
pub async fn requests_among_changes(editor: &mut FakeEditor) -> Result<(), String> {
    let mut sent = Vec::new();
    for n in 0..1000 {
        let at = n % 7;
        editor.splice(DOCUMENT, at..at + usize::from(n % 3 == 0), &format!("{}", n % 10));
        if n % 20 == 19 {
            let version = editor.buffers[DOCUMENT].version;
            sent.push((
                editor.request("ropewalk/callTool", json!({ "name": "look", "callId": format!("{n}") })),
                version,
            ));
        }
    }
    let mut older = 0;
    for (id, version) in sent {
        let answer = editor.maybe_answer(id).await.ok_or("a request without an answer")?;
        let seen = &answer["result"]["structuredContent"];
        // Never older than what was sent before; a request may run on newer text, but its ticket is exact.
        let ran = seen["ran"].as_i64().unwrap_or(-1);
        let ticket = seen["ticket"].as_i64().unwrap_or(ran);
        if ran < i64::from(version) || ticket < i64::from(version) {
            older += 1;
        }
    }
    if older > 0 {
        return Err(format!("{older} requests ran on text older than the change before them"));
    }
    same_text(editor).await
}

/// The mirror has exactly the editor's text and version.
pub async fn same_text(editor: &mut FakeEditor) -> Result<(), String> {
    let id = editor.request("ropewalk/documentText", json!({ "uri": DOCUMENT }));
    let answer = editor.maybe_answer(id).await.ok_or("no documentText")?;
    let (text, version) = (&answer["result"]["text"], &answer["result"]["version"]);
    let ours = &editor.buffers[DOCUMENT];
    if *text != ours.text.as_str() {
        return Err(format!("the mirror has {text}, the editor {:?}", ours.text));
    }
    if *version != ours.version {
        return Err(format!("the mirror has version {version}, the editor {}", ours.version));
    }
    Ok(())
}

/// `calls` handlers wait for the editor's answer to an edit, while 300 changes arrive, and only then are answered.
pub async fn edits_that_wait_among_changes(editor: &mut FakeEditor, calls: usize) -> Result<(), String> {
    let ids: Vec<i64> = (0..calls)
        .map(|n| editor.request("ropewalk/callTool", json!({ "name": "edit", "callId": format!("e{n}") })))
        .collect();
    let mut asked = Vec::new();
    for _ in &ids {
        asked.push(editor.maybe_asked("workspace/applyEdit").await.ok_or("a handler never asked for its edit")?);
    }
    for n in 0..300 {
        editor.splice(DOCUMENT, 0..0, &format!("{}", n % 10));
    }
    let ping = editor.request("ropewalk/callTool", json!({ "name": "look", "callId": "ping" }));
    editor.maybe_answer(ping).await.ok_or("no request passes the waiting handlers")?;
    for (id, _) in asked {
        editor.respond(&id, json!({ "applied": true }));
    }
    for id in ids {
        editor.maybe_answer(id).await.ok_or("a handler without an end")?;
    }
    same_text(editor).await
}

/// `calls` handlers are busy; the last is cancelled, and must answer as a cancelled call.
pub async fn cancel_among_busy_handlers(editor: &mut FakeEditor, calls: usize) -> Result<(), String> {
    let ids: Vec<i64> = (0..calls)
        .map(|n| editor.request("ropewalk/callTool", json!({ "name": "wait", "callId": format!("b{n}") })))
        .collect();
    let last = ids[calls - 1];
    editor.notify("$/cancelRequest", json!({ "id": last }));
    let answer = editor.maybe_answer(last).await.ok_or("a cancel without effect")?;
    if answer["result"]["status"] == "cancelled" { Ok(()) } else { Err(format!("answered with {answer}")) }
}

/// A handler panics; the server answers, and lives.
pub async fn a_panic_costs_only_its_call(editor: &mut FakeEditor) -> Result<(), String> {
    let id = editor.request("ropewalk/callTool", json!({ "name": "panic", "callId": "p" }));
    let answer = editor.maybe_answer(id).await.ok_or("no answer to the request that panicked")?;
    if answer["error"]["code"] != -32603 {
        return Err(format!("answered with {answer}"));
    }
    same_text(editor).await
}

/// The editor closes its end while a handler waits for it: whether the server ends.
pub async fn the_end_of_input_ends_it(editor: &mut FakeEditor) -> Result<(), String> {
    editor.request("ropewalk/callTool", json!({ "name": "edit", "callId": "e" }));
    editor.maybe_asked("workspace/applyEdit").await.ok_or("a handler never asked for its edit")?;
    editor.close_their_input();
    editor.exit_code().await.map(drop).ok_or_else(|| "an orphan".to_owned())
}

#[tokio::test(start_paused = true)]
async fn requests_see_every_change_before_them() {
    let mut bench = Bench::ready("start").await;
    requests_among_changes(&mut bench.editor).await.unwrap();
    assert_eq!(bench.editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_thousand_changes_of_a_document_of_five_megabytes() {
    let mut bench = Bench::ready(&format!("start\n{}", "line after line\n".repeat(330_000))).await;
    requests_among_changes(&mut bench.editor).await.unwrap();
    assert_eq!(bench.editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_ticket_is_taken_at_the_moment_of_arrival() {
    let mut bench = Bench::ready("start").await;
    let mut sent = Vec::new();
    for _ in 0..200 {
        bench.editor.splice(DOCUMENT, 0..0, "x");
        sent.push((bench.call("look", json!({})), bench.editor.buffers[DOCUMENT].version));
    }
    for (id, version) in sent {
        assert_eq!(bench.editor.result(id).await["structuredContent"]["ticket"], version);
    }
    assert_eq!(bench.editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_document_text_is_of_the_moment_of_arrival() {
    let mut bench = Bench::ready("").await;
    let mut sent = Vec::new();
    for n in 0..200 {
        bench.editor.splice(DOCUMENT, 0..0, &format!("{}", n % 10));
        let buffer = bench.editor.buffers[DOCUMENT].clone();
        sent.push((bench.editor.request("ropewalk/documentText", json!({ "uri": DOCUMENT })), buffer));
    }
    for (id, buffer) in sent {
        let text = bench.editor.result(id).await;
        assert_eq!((&text["text"], &text["version"]), (&json!(buffer.text), &json!(buffer.version)));
        assert_eq!(text["hash"], ropewalk::text::hash(&buffer.text));
    }
    assert_eq!(bench.editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn five_hundred_waiting_calls_hold_up_no_change() {
    let mut bench = Bench::ready("start").await;
    let calls: Vec<i64> = (0..500).map(|_| bench.call("wait", json!({}))).collect();
    for n in 0..1000 {
        bench.editor.splice(DOCUMENT, 0..0, &format!("{}", n % 10));
    }
    // All 1000 are applied although not one of the 500 has ended.
    same_text(&mut bench.editor).await.unwrap();
    let settled = bench.editor.ask("ropewalk/settle", json!({ "deadlineMs": 0 })).await;
    assert_eq!((&settled["settled"], settled["open"].as_array().unwrap().len()), (&json!(false), 500));
    bench.double.open_gate("gate");
    for (n, id) in calls.into_iter().enumerate() {
        let result = bench.editor.result(id).await;
        assert_eq!((&result["status"], &result["structuredContent"]["ticket"]), (&json!("ok"), &json!(1)), "{n}");
        assert_eq!(result["structuredContent"]["ran"], 1001);
    }
    let settled = bench.editor.ask("ropewalk/settle", json!({})).await;
    assert_eq!(settled, json!({ "settled": true, "open": [] }));
    assert_eq!(bench.editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn handlers_that_wait_for_edits_do_not_stop_the_reader() {
    let mut bench = Bench::ready("start").await;
    edits_that_wait_among_changes(&mut bench.editor, 500).await.unwrap();
    assert_eq!(bench.editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_call_answers_with_its_result() {
    let mut bench = Bench::ready("start").await;
    cancel_among_busy_handlers(&mut bench.editor, 300).await.unwrap();
    bench.double.open_gate("gate");
    for _ in 0..299 {
        assert_eq!(bench.editor.next().await["result"]["status"], "ok");
    }
    assert_eq!(bench.editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn requests_can_be_cancelled_by_a_string_id_too_and_an_id_is_taken_until_its_answer() {
    let mut bench = Bench::ready("start").await;
    let call = |name: &str| {
        json!({ "jsonrpc": "2.0", "id": "one", "method": "ropewalk/callTool",
        "params": { "name": name, "callId": name } })
    };
    bench.editor.send(&call("wait"));
    bench.editor.send(&call("look"));
    let refused = bench.editor.next().await;
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!("one"), &json!(-32600)));
    bench.editor.notify("$/cancelRequest", json!({ "id": "another" }));
    bench.editor.notify("$/cancelRequest", json!({ "id": {} }));
    bench.editor.notify("$/cancelRequest", json!(null));
    bench.editor.notify("$/cancelRequest", json!({ "id": "one" }));
    let cancelled = bench.editor.next().await;
    assert_eq!((&cancelled["id"], &cancelled["result"]["status"]), (&json!("one"), &json!("cancelled")));
    bench.editor.send(&call("look"));
    assert_eq!(bench.editor.next().await["result"]["status"], "ok");
    assert_eq!(bench.editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn cancelling_the_outer_request_leaves_the_inner_answer_harmless() {
    let mut bench = Bench::ready("start").await;
    let id = bench.call("edit", json!({}));
    let (inner, _) = bench.editor.asked("workspace/applyEdit").await;
    bench.editor.notify("$/cancelRequest", json!({ "id": id }));
    assert_eq!(bench.editor.result(id).await["status"], "cancelled");
    bench.editor.respond(&inner, json!({ "applied": true }));
    bench.editor.respond(&json!("never asked"), json!(null));
    same_text(&mut bench.editor).await.unwrap();
    // And a whole round still works.
    let id = bench.call("edit", json!({}));
    bench.editor.serve_edit(Manner::Apply).await;
    assert_eq!(bench.editor.result(id).await["structuredContent"]["reply"], "true");
    same_text(&mut bench.editor).await.unwrap();
    assert_eq!(bench.editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_panic_costs_only_its_own_call() {
    let mut bench = Bench::ready("start").await;
    a_panic_costs_only_its_call(&mut bench.editor).await.unwrap();
    let id = bench.call("panicAtOnce", json!({}));
    assert_eq!(bench.editor.error_code(id).await, -32603);
    same_text(&mut bench.editor).await.unwrap();
    assert_eq!(bench.editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn news_of_a_call_leave_before_its_result() {
    let mut bench = Bench::ready("start").await;
    let ids: Vec<i64> = (0..200).map(|_| bench.call("chatter", json!({ "words": 3 }))).collect();
    let mut heard = std::collections::HashMap::<String, usize>::new();
    let mut results = 0;
    while results < ids.len() {
        let message = bench.editor.next().await;
        if message["method"] == "ropewalk/toolEvent" {
            *heard.entry(message["params"]["callId"].as_str().unwrap().to_owned()).or_default() += 1;
        } else {
            let call = message["result"]["callId"].as_str().unwrap();
            assert_eq!(heard.get(call), Some(&3), "the result of {call} overtook its news");
            results += 1;
        }
    }
    assert_eq!(bench.editor.leave().await, 0);
}

/// Without the fence this fails by chance only; the one in `server::outbox` fails for certain.
#[tokio::test]
async fn news_leave_before_results_on_other_threads_too() {
    let mut bench = Bench::start_apart().await.made_ready("start").await;
    let total = 5000;
    for _ in 0..total {
        bench.call("chatter", json!({ "words": 2 }));
    }
    let mut heard = std::collections::HashMap::<String, usize>::new();
    let mut results = 0;
    while results < total {
        let message = bench.editor.next().await;
        if message["method"] == "ropewalk/toolEvent" {
            *heard.entry(message["params"]["callId"].as_str().unwrap().to_owned()).or_default() += 1;
        } else {
            let call = message["result"]["callId"].as_str().unwrap();
            assert_eq!(heard.get(call), Some(&2), "the result of {call} overtook its news");
            results += 1;
        }
    }
    assert_eq!(bench.editor.leave().await, 0);
}

#[tokio::test]
async fn a_handler_that_blocks_its_thread_stops_nobody_else() {
    let mut bench = Bench::start_apart().await.made_ready("start").await;
    let id = bench.call("block", json!({}));
    for _ in 0..100 {
        bench.editor.splice(DOCUMENT, 0..0, "x");
    }
    same_text(&mut bench.editor).await.unwrap();
    let ping = bench.call("look", json!({}));
    assert_eq!(bench.editor.result(ping).await["structuredContent"]["ran"], 101);
    bench.double.open_gate("gate");
    assert_eq!(bench.editor.result(id).await["status"], "ok");
    assert_eq!(bench.editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn an_editor_that_does_not_read_is_still_listened_to() {
    let mut bench = Bench::ready("start").await;
    let ready = bench.call("look", json!({}));
    bench.editor.result(ready).await;
    bench.editor.read_on(false);
    // Far more than the pipe holds.
    let chatter: Vec<i64> = (0..200).map(|_| bench.call("chatter", json!({ "words": 10 }))).collect();
    for n in 0..1000 {
        bench.editor.splice(DOCUMENT, 0..0, &format!("{}", n % 10));
    }
    let wanted = bench.editor.buffers[DOCUMENT].clone();
    let key = ropewalk::workspace::Key::Unnamed(DOCUMENT.to_owned());
    let documents = std::sync::Arc::clone(&bench.rooms.workspace.documents);
    let (mut now, mut events) = documents.watch(&key).unwrap();
    let applied = async {
        while now.version < wanted.version {
            now = events.recv().await.unwrap().snapshot().clone();
        }
    };
    tokio::time::timeout(std::time::Duration::from_mins(1), applied).await.expect("changes that were never applied");
    assert_eq!(now.text.to_string(), wanted.text);
    bench.editor.read_on(true);
    for id in chatter {
        assert_eq!(bench.editor.result(id).await["status"], "ok");
    }
    bench.editor.accept_rest();
    assert_eq!(bench.editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn our_notifications_keep_their_order_among_changes() {
    let mut bench = Bench::ready("start").await;
    for n in 0..50 {
        bench.editor.splice(DOCUMENT, 0..0, "x");
        let said = json!({ "uri": DOCUMENT, "source": { "id": format!("s{n}"), "name": "s" }, "diagnostics": [] });
        bench.editor.notify("ropewalk/didChangeDiagnostics", said);
    }
    same_text(&mut bench.editor).await.unwrap();
    let told = std::mem::take(&mut *bench.double.told.lock().unwrap());
    let expected: Vec<Value> = (0..50).map(|n| json!({ "forwarded": DOCUMENT, "at": 2 + n })).collect();
    assert_eq!(told, expected);
    assert_eq!(bench.editor.leave().await, 0);
}
