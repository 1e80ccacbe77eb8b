//! What a person is asked, when, and what their answers cover.

use serde_json::{Value, json};

use super::drop_rest;
use super::kit::{Gates, batch, call, decide, editor, events, statuses, text};
use crate::editor::{FakeEditor, Manner};

const OUTSIDE: &str = "file:///out/b.txt";

fn edit(path: &str, old: &str, new: &str) -> Value {
    call("edit", json!({ "file_path": path, "old_string": old, "new_string": new }))
}

fn ids(asked: &Value) -> Vec<&str> {
    asked["calls"].as_array().unwrap().iter().map(|call| call["callId"].as_str().unwrap()).collect()
}

/// How many calls waited for a person, as it was told.
fn waiting(editor: &mut FakeEditor) -> Vec<u64> {
    let mut told = Vec::new();
    while let Some(message) = editor.stashed(|message| message["method"] == "ropewalk/approvalsChanged") {
        told.push(message["params"]["waiting"].as_u64().unwrap());
    }
    told
}

#[tokio::test(start_paused = true)]
async fn an_edit_that_depends_on_another_is_asked_about_with_the_diff_of_its_moment() {
    let (mut editor, disk) = editor(&Gates::default()).await;
    disk.put("/out/b.txt", "one\ntwo\n");
    disk.put("/out/c.txt", "three\n");
    let calls = [
        edit("/out/b.txt", "two", "TWO"),
        edit("/out/b.txt", "TWO", "2"),
        edit("/out/c.txt", "three", "THREE"),
        edit("/out/c.txt", "one", "1"),
    ];
    let id = batch(&mut editor, &calls);
    let (question, asked) = editor.asked("ropewalk/approve").await;
    assert_eq!(ids(&asked), ["c1"], "the second changes the same file");
    assert!(asked["calls"][0]["diff"].as_str().unwrap().contains("\n-two\n+TWO\n"), "{asked}");
    editor.respond(&question, decide(&asked, &["once"]));
    let (question, asked) = editor.asked("ropewalk/approve").await;
    assert_eq!(ids(&asked), ["c2", "c3"], "the third is another file, the fourth cannot be done yet");
    assert!(asked["calls"][0]["diff"].as_str().unwrap().contains("\n-TWO\n+2\n"), "{asked}");
    assert!(asked["calls"][1]["diff"].as_str().unwrap().contains("\n-three\n+THREE\n"), "{asked}");
    editor.respond(&question, decide(&asked, &["once", "deny"]));
    // The fourth waited with the third, and is set aside with it.
    let result = editor.result(id).await;
    assert_eq!(statuses(&result), ["ok", "ok", "denied", "denied"], "{result}");
    assert_eq!(disk.bytes("/out/b.txt").unwrap(), b"one\n2\n");
    assert_eq!(disk.bytes("/out/c.txt").unwrap(), b"three\n");
    assert_eq!(waiting(&mut editor), [1, 0, 2, 0, 0]);
    events(&mut editor, |_| false).await;
    assert_eq!(editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn reads_side_by_side_are_asked_about_together_each_with_its_own_decision() {
    let (mut editor, disk) = editor(&Gates::default()).await;
    for name in ["a", "b", "c"] {
        disk.put(format!("/out/{name}.txt"), "text\n");
    }
    let read = |name: &str| call("read", json!({ "file_path": format!("/out/{name}.txt") }));
    let id = batch(&mut editor, &[read("a"), read("b"), read("c")]);
    let (question, asked) = editor.asked("ropewalk/approve").await;
    assert_eq!(ids(&asked), ["c1", "c2", "c3"]);
    let decisions = json!([
        { "callId": "c3", "decision": "session", "feedback": "carefully" },
        { "callId": "stale", "decision": "always" },
        { "callId": "c1", "decision": "deny", "feedback": "private" },
    ]);
    editor.respond(&question, json!({ "decisions": decisions }));
    let result = editor.result(id).await;
    assert_eq!(statuses(&result), ["denied", "denied", "ok"], "{result}");
    assert!(text(&result["results"][0]).contains("They said: private. "), "{result}");
    assert!(text(&result["results"][1]).contains("no decision came"), "{result}");
    assert!(text(&result["results"][2]).contains("said: carefully"), "{result}");

    // A no is remembered for exactly the same, a yes for the like; what was not decided is asked about again.
    let id = batch(&mut editor, &[read("a"), read("b"), read("c")]);
    let (question, asked) = editor.asked("ropewalk/approve").await;
    assert_eq!(ids(&asked), ["c5"]);
    editor.respond(&question, decide(&asked, &["once"]));
    let result = editor.result(id).await;
    assert_eq!(statuses(&result), ["denied", "ok", "ok"], "{result}");
    assert!(text(&result["results"][0]).contains("said no to exactly this before"), "{result}");
    let whole = call("read", json!({ "file_path": "/out/a.txt", "limit": 1 }));
    let id = editor.request("ropewalk/callTool", whole);
    let (question, asked) = editor.asked("ropewalk/approve").await;
    editor.respond(&question, decide(&asked, &["once"]));
    assert_eq!(editor.result(id).await["status"], "ok");
    drop_rest(&mut editor).await;
    assert_eq!(editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn consent_to_a_command_covers_those_that_begin_like_it_and_no_dangerous_one() {
    let (mut editor, _) = editor(&Gates::default()).await;
    editor.notify("ropewalk/didChangeTrust", json!({ "root": "file:///w", "trusted": true }));
    let shell = |line: &str| call("shell", json!({ "word": line }));
    for (line, asks) in [
        ("cargo build", true),
        ("cargo build --release", false),
        ("cargo build && curl x | sh", true),
        ("cargo test", true),
        ("git push origin main", true),
        ("git push origin other", false),
        ("git push --force origin main", true),
        ("git push --force origin main", true),
        ("python a.py", true),
        ("python a.py", false),
        ("python b.py", true),
    ] {
        let id = editor.request("ropewalk/callTool", shell(line));
        if asks {
            let (question, asked) = editor.asked("ropewalk/approve").await;
            let targets = asked["calls"][0]["targets"].as_array().unwrap();
            assert!(targets.contains(&json!("/w")) && targets.contains(&json!(line)), "{asked}");
            editor.respond(&question, decide(&asked, &["session"]));
        }
        assert_eq!(editor.result(id).await["status"], "ok", "{line}");
    }
    drop_rest(&mut editor).await;
    assert_eq!(editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_command_that_a_person_rewrote_into_a_grave_one_is_asked_about_for_what_it_is() {
    let (mut editor, _) = editor(&Gates::default()).await;
    editor.notify("ropewalk/didChangeTrust", json!({ "root": "file:///w", "trusted": true }));
    let id = editor.request("ropewalk/callTool", call("shell", json!({ "word": "cargo build" })));
    let (question, asked) = editor.asked("ropewalk/approve").await;
    let mut answer = decide(&asked, &["always"]);
    answer["decisions"][0]["arguments"] = json!({ "word": "git push --force" });
    editor.respond(&question, answer);
    let (question, asked) = editor.asked("ropewalk/approve").await;
    assert!(asked["calls"][0]["targets"].as_array().unwrap().contains(&json!("git push --force")), "{asked}");
    assert!(asked["calls"][0].get("suggestedRule").is_none(), "{asked}");
    editor.respond(&question, decide(&asked, &["always"]));
    assert_eq!(editor.result(id).await["status"], "ok");
    // Nothing of that was for good.
    for line in ["cargo build", "git push --force"] {
        let id = editor.request("ropewalk/callTool", call("shell", json!({ "word": line })));
        let (question, asked) = editor.asked("ropewalk/approve").await;
        editor.respond(&question, decide(&asked, &["deny"]));
        assert_eq!(editor.result(id).await["status"], "denied", "{line}");
    }
    drop_rest(&mut editor).await;
    assert_eq!(editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn typing_while_a_question_is_open_is_applied_at_once_and_the_edit_lands_where_its_place_is_by_then() {
    let (mut editor, disk) = editor(&Gates::default()).await;
    disk.put("/out/b.txt", "one\ntwo\n");
    editor.open(OUTSIDE, "one\ntwo\n");
    let id = batch(&mut editor, &[edit("/out/b.txt", "two", "TWO"), edit("/out/b.txt", "one", "ONE")]);
    let (question, asked) = editor.asked("ropewalk/approve").await;
    editor.splice(OUTSIDE, 0..0, "zero\n");
    let now = editor.ask("ropewalk/documentText", json!({ "uri": OUTSIDE })).await;
    assert_eq!(now["text"], "zero\none\ntwo\n");
    editor.respond(&question, decide(&asked, &["once"]));
    editor.serve_edit(Manner::Apply).await;
    let (question, asked) = editor.asked("ropewalk/approve").await;
    assert!(asked["calls"][0]["diff"].as_str().unwrap().contains(" zero\n-one\n+ONE\n TWO\n"), "{asked}");
    editor.respond(&question, decide(&asked, &["once"]));
    editor.serve_edit(Manner::Apply).await;
    assert_eq!(statuses(&editor.result(id).await), ["ok", "ok"]);
    assert_eq!(editor.buffers[OUTSIDE].text, "zero\nONE\nTWO\n");
    drop_rest(&mut editor).await;
    assert_eq!(editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_question_is_taken_back_and_its_neighbours_are_asked_about_anew() {
    let (mut editor, disk) = editor(&Gates::default()).await;
    for name in ["a", "b", "c"] {
        disk.put(format!("/out/{name}.txt"), "text\n");
    }
    let change = |name: &str| edit(&format!("/out/{name}.txt"), "text", "TEXT");
    let id = batch(&mut editor, &[change("a"), change("b"), change("c")]);
    let (first, asked) = editor.asked("ropewalk/approve").await;
    assert_eq!(ids(&asked), ["c1", "c2", "c3"]);
    assert_eq!(editor.ask("ropewalk/cancel", json!({ "callId": "c1" })).await, json!({ "cancelled": 1 }));
    let (question, asked) = editor.asked("ropewalk/approve").await;
    assert_eq!(ids(&asked), ["c2", "c3"]);
    let taken_back = editor.next_where(|message| message["method"] == "$/cancelRequest").await.unwrap();
    assert_eq!(taken_back["params"]["id"], first);
    // A late answer changes nothing.
    editor.respond(&first, json!({ "decisions": [{ "callId": "c2", "decision": "always" }] }));
    // One that is cancelled while it is asked about with another stays cancelled, whatever is answered.
    editor.ask("ropewalk/cancel", json!({ "callId": "c3" })).await;
    editor.respond(&question, decide(&asked, &["once", "once"]));
    let result = editor.result(id).await;
    assert_eq!(statuses(&result), ["cancelled", "ok", "cancelled"], "{result}");
    assert_eq!(disk.bytes("/out/a.txt").unwrap(), b"text\n");
    assert_eq!(disk.bytes("/out/b.txt").unwrap(), b"TEXT\n");
    assert_eq!(disk.bytes("/out/c.txt").unwrap(), b"text\n");
    assert_eq!(waiting(&mut editor), [3, 0, 2, 0]);
    drop_rest(&mut editor).await;
    assert_eq!(editor.leave().await, 0);
}
