//! The slot over the wire: batches, sessions beside each other, calls within calls, consent, progress and jobs, with the
//! real dispatch and tools that do as they are told.

mod consent;
mod kit;
mod work;

use serde_json::{Value, json};

use crate::editor::{FakeEditor, Manner};
use kit::{Gates, URI, batch, call, editor, events, statuses, text};

/// `look` waits at a gate, beside others; `change` does alone.
fn waits(tool: &str, gate: &str) -> Value {
    call(tool, json!({ "word": gate }))
}

fn read() -> Value {
    call("read", json!({ "file_path": "notes.txt" }))
}

fn write(content: &str) -> Value {
    call("write", json!({ "file_path": "notes.txt", "content": content }))
}

#[tokio::test(start_paused = true)]
async fn reads_run_beside_each_other_and_a_slow_write_alone_and_results_keep_their_order() {
    let gates = Gates::default();
    let (mut editor, _) = editor(&gates).await;
    let calls = [
        waits("look", "a"),
        waits("look", "b"),
        read(),
        write("x\ntwo\n"),
        call("nothing", json!({})),
        read(),
        waits("look", "c"),
    ];
    let id = batch(&mut editor, &calls);
    gates.arrived(2).await;
    // The second may end first; the write waits for both.
    gates.open("b");
    gates.open("a");
    editor.serve_edit(Manner::Apply).await;
    gates.arrived(3).await;
    gates.open("c");
    let results = editor.result(id).await["results"].clone();
    let expected = ["ok a", "ok b", "ok", "ok", "error", "ok", "ok c"];
    let told: Vec<String> = results
        .as_array()
        .unwrap()
        .iter()
        .map(|result| {
            let word = text(result);
            format!("{} {}", result["status"].as_str().unwrap(), if word.len() == 1 { word } else { "" })
                .trim()
                .to_owned()
        })
        .collect();
    assert_eq!(told, expected, "{results}");
    assert!(text(&results[2]).contains("one!") && text(&results[5]).starts_with("1\tx\n"), "{results}");
    // Those that ran side by side began in their order and ended in reverse; the others each at their time.
    let told = events(&mut editor, |kind| kind != "output").await;
    let expected = [
        "start c1",
        "start c2",
        "start c3",
        "complete c3",
        "complete c2",
        "complete c1",
        "start c4",
        "complete c5",
        "start c6",
        "start c7",
        "complete c7",
        "complete c6",
        "complete c4",
    ];
    let mut sorted = (told.clone(), expected.map(str::to_owned).to_vec());
    sorted.0.sort();
    sorted.1.sort();
    assert_eq!(sorted.0, sorted.1, "each began and ended once");
    let at = |event: &str| told.iter().position(|told| told == event).unwrap();
    for pair in [
        ["start c1", "start c2"],
        ["start c2", "start c3"],
        ["complete c3", "complete c2"],
        ["complete c2", "complete c1"],
        ["complete c1", "start c6"],
        ["start c6", "start c7"],
        ["complete c7", "complete c6"],
    ] {
        assert!(at(pair[0]) < at(pair[1]), "{pair:?} in {told:?}");
    }
    assert_eq!(editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn two_sessions_do_not_wait_for_each_other() {
    let gates = Gates::default();
    let (mut editor, _) = editor(&gates).await;
    let mut held = waits("change", "a");
    held["sessionId"] = json!("one");
    let first = editor.request("ropewalk/callTool", held);
    gates.arrived(1).await;
    let mut other = read();
    other["sessionId"] = json!("two");
    assert_eq!(editor.ask("ropewalk/callTool", other.clone()).await["status"], "ok");
    // In the same session it would wait.
    other["sessionId"] = json!("one");
    let behind = editor.request("ropewalk/callTool", other);
    let open = editor.ask("ropewalk/settle", json!({ "deadlineMs": 0 })).await;
    assert_eq!(open["open"], json!(["call one/c1 change", "call one/c2 read"]));
    gates.open("a");
    assert_eq!((editor.result(first).await["status"].clone(), editor.result(behind).await["status"].clone()), {
        (json!("ok"), json!("ok"))
    });
    events(&mut editor, |_| false).await;
    assert_eq!(editor.leave().await, 0);
}

/// A call of `nest` (or `nest_beside`, which runs beside others) that makes these calls, one after the other.
fn nest(tool: &str, calls: &[Value]) -> Value {
    call(tool, json!({ "calls": calls }))
}

fn edit(old: &str, new: &str) -> Value {
    call("edit", json!({ "file_path": "notes.txt", "old_string": old, "new_string": new }))
}

#[tokio::test(start_paused = true)]
async fn a_child_session_edits_while_its_parent_waits() {
    let gates = Gates::default();
    let (mut editor, _) = editor(&gates).await;
    let mut child = edit("two", "TWO");
    child["session"] = json!("child");
    let parent = editor.request("ropewalk/callTool", nest("nest", &[child, edit("one", "ONE")]));
    // Behind the parent in its session, and so behind all it does there.
    let behind = editor.request("ropewalk/callTool", read());
    editor.serve_edit(Manner::Apply).await;
    editor.serve_edit(Manner::Apply).await;
    let result = editor.result(parent).await;
    assert_eq!(text(&result), "c1.1 edit ok\nc1.2 edit ok", "{result}");
    assert!(text(&editor.result(behind).await).starts_with("1\tONE!\n2\tTWO\n"));
    assert_eq!(editor.buffers[URI].text, "ONE!\nTWO\n");
    let told = events(&mut editor, |kind| kind == "complete").await;
    assert_eq!(told, ["complete c1.1", "complete c1.2", "complete c1", "complete c2"]);
    assert_eq!(editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_runs_beside_others_makes_only_such_calls() {
    let gates = Gates::default();
    let (mut editor, _) = editor(&gates).await;
    let nested = [call("read", json!({ "file_path": "notes.txt" })), edit("one", "ONE")];
    let result = editor.ask("ropewalk/callTool", nest("nest_beside", &nested)).await;
    assert_eq!(text(&result), "c1.1 read ok\nc1.2 edit unavailable", "{result}");
    // Nor is it deep without end, nor does a session wait for itself.
    let mut deep = json!({ "name": "read", "arguments": { "file_path": "notes.txt" } });
    for _ in 0..6 {
        deep = nest("nest", &[deep]);
    }
    deep["callId"] = json!("deep");
    let result = editor.ask("ropewalk/callTool", deep).await;
    assert_eq!(text(&result), "deep.1 nest ok", "{result}");
    let refused = editor.next_where(|message| message["params"]["callId"] == "deep.1.1.1.1.1.1").await.unwrap();
    assert_eq!(refused["params"]["detail"]["error"]["kind"], "unavailable", "{refused}");
    let mut back = read();
    back["session"] = json!("default");
    let mut down = nest("nest", &[back]);
    down["session"] = json!("child");
    let mut round = nest("nest", &[down]);
    round["callId"] = json!("round");
    let result = editor.ask("ropewalk/callTool", round).await;
    assert_eq!(text(&result), "round.1 nest ok", "{result}");
    let refused = editor.next_where(|message| message["params"]["callId"] == "round.1.1").await.unwrap();
    assert!(text(&refused["params"]["detail"]).contains("cannot call into session `default`"), "{refused}");
    events(&mut editor, |_| false).await;
    assert_eq!(editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn in_plan_mode_nothing_is_changed_by_a_batch_or_a_call_within_a_call() {
    let (mut editor, _) = editor(&Gates::default()).await;
    editor.ask("ropewalk/setMode", json!({ "mode": "plan" })).await;
    let mut child = edit("two", "TWO");
    child["session"] = json!("child");
    // A tool that only looks may run, and what it calls is judged for itself.
    let id = batch(&mut editor, &[edit("one", "1"), read(), nest("nest_beside", &[child, read(), edit("one", "1")])]);
    let result = editor.result(id).await;
    assert_eq!(statuses(&result), ["denied", "ok", "ok"], "{result}");
    assert_eq!(text(&result["results"][2]), "c3.1 edit unavailable\nc3.2 read ok\nc3.3 edit unavailable", "{result}");
    assert_eq!(editor.buffers[URI].text, "one!\ntwo\n");
    editor.accept_rest();
    assert_eq!(editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn no_session_gets_round_its_review_by_another() {
    let (mut editor, _) = editor(&Gates::default()).await;
    editor.ask("ropewalk/setMode", json!({ "mode": "review" })).await;
    let mut child = edit("two", "TWO");
    child["session"] = json!("child");
    let result = editor.ask("ropewalk/callTool", nest("nest_beside", &[child.clone(), read()])).await;
    assert_eq!(text(&result), "c1.1 edit unavailable\nc1.2 read ok", "{result}");
    // In one that is as strict it is asked about like its own.
    editor.ask("ropewalk/setMode", json!({ "sessionId": "child", "mode": "review" })).await;
    let id = editor.request("ropewalk/callTool", nest("nest", &[child]));
    for _ in 0..2 {
        let (question, asked) = editor.asked("ropewalk/approve").await;
        let yes = if asked["calls"][0]["name"] == "nest" { "once" } else { "deny" };
        editor.respond(&question, kit::decide(&asked, &[yes]));
    }
    assert_eq!(text(&editor.result(id).await), "c3.1 edit denied");
    assert_eq!(editor.buffers[URI].text, "one!\ntwo\n");
    drop_rest(&mut editor).await;
    assert_eq!(editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_person_asked_about_a_call_within_a_call_has_all_the_time() {
    let (mut editor, _) = editor(&Gates::default()).await;
    editor.notify("ropewalk/didChangeTrust", json!({ "root": "file:///w", "trusted": true }));
    let shell = call("shell", json!({ "word": "cargo build" }));
    let parent = editor.request("ropewalk/callTool", nest("nest", &[shell]));
    let (question, asked) = editor.asked("ropewalk/approve").await;
    // The call that made it may run for ten seconds.
    tokio::time::sleep(std::time::Duration::from_hours(1)).await;
    editor.respond(&question, kit::decide(&asked, &["once"]));
    assert_eq!(text(&editor.result(parent).await), "c1.1 shell ok");
    events(&mut editor, |_| false).await;
    assert_eq!(editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn calls_within_a_cancelled_call_end_before_it() {
    let gates = Gates::default();
    let (mut editor, _) = editor(&gates).await;
    let parent = editor.request("ropewalk/callTool", nest("nest", &[waits("change", "never")]));
    gates.arrived(1).await;
    editor.notify("$/cancelRequest", json!({ "id": parent }));
    assert_eq!(editor.result(parent).await["status"], "cancelled");
    assert_eq!(events(&mut editor, |kind| kind == "complete").await, ["complete c1.1", "complete c1"]);
    assert_eq!(editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_batch_is_cancelled_as_one_and_still_answers_for_each() {
    let gates = Gates::default();
    let (mut editor, _) = editor(&gates).await;
    let id = batch(&mut editor, &[waits("change", "never"), read(), write("x\n")]);
    gates.arrived(1).await;
    editor.notify("$/cancelRequest", json!({ "id": id }));
    let result = editor.result(id).await;
    assert_eq!(statuses(&result), ["cancelled", "cancelled", "cancelled"]);
    assert_eq!(editor.ask("ropewalk/callTools", json!({})).await, json!({ "results": [] }));
    events(&mut editor, |_| false).await;
    assert_eq!(editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn one_wait_for_diagnostics_serves_a_batch() {
    let gates = Gates::default();
    let (mut editor, _) = editor(&gates).await;
    let calls = [edit("one", "ONE"), read(), edit("two", "TWO"), edit("missing", "x")];
    let id = batch(&mut editor, &calls);
    editor.serve_edit(Manner::Apply).await;
    editor.serve_edit(Manner::Apply).await;
    let result = editor.result(id).await;
    let results = &result["results"];
    assert_eq!(statuses(&result), ["ok", "ok", "ok", "error"], "{result}");
    assert_eq!(results[0]["diagnostics"]["documents"][0]["reportIn"], "c3", "{result}");
    assert_eq!(results[0]["diagnostics"]["documents"][0]["sources"], json!([]));
    assert!(
        text(&results[0]).ends_with("notes.txt: its diagnostics are in the result of the later call c3"),
        "{result}"
    );
    let last = &results[2]["diagnostics"]["documents"][0];
    assert!(last.get("reportIn").is_none() && !last["sources"].as_array().unwrap().is_empty(), "{last}");
    assert_eq!(last["version"], editor.buffers[URI].version);
    assert_eq!(results[3].get("diagnostics"), None);
    events(&mut editor, |_| false).await;
    assert_eq!(editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_thousand_calls_at_once() {
    let gates = Gates::default();
    let (mut editor, _) = editor(&gates).await;
    let held = editor.request("ropewalk/callTool", waits("change", "a"));
    gates.arrived(1).await;
    let ids: Vec<i64> = (0..500).map(|_| editor.request("ropewalk/callTool", read())).collect();
    let many = batch(&mut editor, &vec![read(); 500]);
    // A change is applied while they all wait.
    editor.splice(URI, 0..0, "typed ");
    let now = editor.ask("ropewalk/documentText", json!({ "uri": URI })).await;
    assert_eq!(now["text"], editor.buffers[URI].text);
    gates.open("a");
    editor.result(held).await;
    for id in ids {
        assert!(text(&editor.result(id).await).starts_with("1\ttyped one!\n"));
    }
    let results = editor.result(many).await["results"].clone();
    let ids: Vec<&str> = results.as_array().unwrap().iter().map(|result| result["callId"].as_str().unwrap()).collect();
    assert_eq!(ids, (502..1002).map(|number| format!("c{number}")).collect::<Vec<_>>());
    assert!(results.as_array().unwrap().iter().all(|result| text(result).starts_with("1\ttyped one!\n")));
    let told = events(&mut editor, |kind| kind == "complete").await;
    assert_eq!(told.len(), 1001);
    assert_eq!(editor.leave().await, 0);
}

/// A whole session as a script: everything that came back, timing aside.
async fn script() -> String {
    let gates = Gates::default();
    let (mut editor, disk) = editor(&gates).await;
    disk.put("/out/b.txt", "one\ntwo\n");
    let mut said = Vec::new();
    let outside =
        |old: &str, new: &str| call("edit", json!({ "file_path": "/out/b.txt", "old_string": old, "new_string": new }));
    let calls = [
        read(),
        read(),
        edit("one", "ONE"),
        outside("two", "TWO"),
        outside("TWO", "3"),
        read(),
        call("no", json!({})),
        edit("two", "Two"),
    ];
    let id = batch(&mut editor, &calls);
    editor.serve_edit(Manner::Apply).await;
    for decision in ["once", "deny"] {
        let (question, asked) = editor.asked("ropewalk/approve").await;
        said.push(asked.clone());
        editor.respond(&question, kit::decide(&asked, &[decision]));
    }
    editor.serve_edit(Manner::Apply).await;
    said.push(editor.result(id).await);
    let parent = editor.request("ropewalk/callTool", nest("nest", &[edit("Two", "TWO"), read()]));
    editor.serve_edit(Manner::Apply).await;
    said.push(editor.result(parent).await);
    said.push(editor.ask("ropewalk/settle", json!({})).await);
    editor.accept_rest();
    editor.leave().await;
    let mut said = json!(said);
    forget_times(&mut said);
    said.to_string()
}

fn forget_times(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|key, _| key != "timing" && key != "waitedMs");
            fields.values_mut().for_each(forget_times);
        }
        Value::Array(items) => items.iter_mut().for_each(forget_times),
        _ => {}
    }
}

#[tokio::test(start_paused = true)]
async fn the_same_session_twice_is_the_same_byte_for_byte() {
    let first = script().await;
    assert!(first.contains("\"denied\"") && first.contains("reportIn"), "{first}");
    for _ in 0..20 {
        assert_eq!(script().await, first);
    }
}

/// Silences what is not looked at.
async fn drop_rest(editor: &mut FakeEditor) {
    events(editor, |_| false).await;
    editor.accept_rest();
}
