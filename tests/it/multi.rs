//! Several edits of one file over the wire: one change, one undo, one question; and users who type between.

use serde_json::{Value, json};

use crate::editor::{FakeEditor, Manner};
use crate::real::{URI, editor_with_notes};

fn call(editor: &mut FakeEditor, name: &str, arguments: Value) -> i64 {
    editor.request("ropewalk/callTool", json!({ "name": name, "arguments": arguments }))
}

async fn end(mut editor: FakeEditor) {
    let text = editor.ask("ropewalk/documentText", json!({ "uri": URI })).await;
    assert_eq!(text["text"], editor.buffers[URI].text);
    editor.accept_rest();
    assert_eq!(editor.leave().await, 0);
}

/// In the words of models: another name of the tool, other names of the parameters inside the items.
fn three_edits() -> Value {
    json!({ "path": "notes.txt", "edits": [
        { "oldString": "one!", "newString": "zero\none!" },
        { "old_string": "two", "new_string": "TWO", "replaceAll": "true" },
        { "search": "  one!\n  TWO\n", "replace": "  one!\n  TWO\n  three\n" },
    ] })
}

#[tokio::test(start_paused = true)]
async fn several_edits_are_one_change() {
    for manner in [Manner::Apply, Manner::AnswerFirst, Manner::Split] {
        let (mut editor, _) = editor_with_notes().await;
        let id = call(&mut editor, "MultiEdit", three_edits());
        editor.serve_edit(manner).await;
        let result = editor.result(id).await;
        assert_eq!(editor.buffers[URI].text, "zero\none!\nTWO\nthree\n", "{result}");
        assert_eq!((&result["status"], &result["applied"]), (&json!("ok"), &json!("all")), "{result}");
        assert_eq!(result["name"], "multi_edit");
        let edits = result["edits"].as_array().unwrap();
        assert_eq!(edits.len(), 1, "{result}");
        assert_eq!(
            edits[0]["hunks"],
            json!([{ "strategy": "indentationFlexible", "similarity": 1.0,
                "before": { "start": 1, "count": 2 }, "after": { "start": 1, "count": 4 } }])
        );
        let said = result["content"][0]["text"].as_str().unwrap();
        for part in ["edit 1: by simple", "edit 2: by simple", "edit 3: by indentationFlexible", "+three"] {
            assert!(said.contains(part), "{part}: {said}");
        }
        // One edit of one version was all that the editor was asked for.
        assert!(editor.stashed(|message| message["method"] == "workspace/applyEdit").is_none());
        end(editor).await;
    }
}

#[tokio::test(start_paused = true)]
async fn one_that_does_not_fit_stops_them_all() {
    let (mut editor, _) = editor_with_notes().await;
    let edits = json!([
        { "old_string": "one!", "new_string": "ONE" },
        { "old_string": "one!\ntwo\n", "new_string": "2\n" },
    ]);
    let id = call(&mut editor, "multi_edit", json!({ "file_path": "notes.txt", "edits": edits }));
    let result = editor.result(id).await;
    assert_eq!((&result["status"], &result["error"]["kind"]), (&json!("error"), &json!("notFound")), "{result}");
    assert_eq!(result["error"]["data"]["edit"], 2);
    assert_eq!(result["applied"], Value::Null);
    let said = result["content"][0]["text"].as_str().unwrap();
    assert!(said.contains("edit 2 of 2") && said.contains("edit 1 changes that text"), "{said}");
    assert_eq!(editor.buffers[URI].text, "one!\ntwo\n");
    end(editor).await;
}

#[tokio::test(start_paused = true)]
async fn no_edits_are_no_call() {
    let (mut editor, _) = editor_with_notes().await;
    for edits in [json!([]), json!("none"), json!([{ "old_string": "a" }])] {
        let id = call(&mut editor, "multi_edit", json!({ "file_path": "notes.txt", "edits": edits }));
        let result = editor.result(id).await;
        assert_eq!(result["error"]["kind"], "invalidArguments", "{result}");
    }
    end(editor).await;
}

#[tokio::test(start_paused = true)]
async fn typing_between_makes_all_edits_anew() {
    let (mut editor, _) = editor_with_notes().await;
    let id = call(&mut editor, "multi_edit", three_edits());
    // The user types before the editor gets to the edit, whose version is old then.
    let (asked, _) = editor.asked("workspace/applyEdit").await;
    editor.splice(URI, 0..0, "typed\n");
    editor.respond(&asked, json!({ "applied": false }));
    editor.serve_edit(Manner::Apply).await;
    let result = editor.result(id).await;
    assert_eq!(editor.buffers[URI].text, "typed\nzero\none!\nTWO\nthree\n", "{result}");
    assert_eq!(result["edits"][0]["hunks"][0]["before"], json!({ "start": 2, "count": 2 }), "{result}");
    end(editor).await;

    // Typed so that one of them fits no more, none is made.
    let (mut editor, _) = editor_with_notes().await;
    let id = call(&mut editor, "multi_edit", three_edits());
    let (asked, _) = editor.asked("workspace/applyEdit").await;
    editor.splice(URI, 3..4, "?");
    editor.respond(&asked, json!({ "applied": false }));
    let result = editor.result(id).await;
    assert_eq!(result["error"]["kind"], "conflict", "{result}");
    assert_eq!(editor.buffers[URI].text, "one?\ntwo\n");
    end(editor).await;
}

#[tokio::test(start_paused = true)]
async fn a_preview_shows_one_diff_of_all() {
    let (mut editor, _) = editor_with_notes().await;
    let preview = editor.ask("ropewalk/previewCall", json!({ "name": "multi_edit", "arguments": three_edits() })).await;
    assert_eq!(preview["valid"], true, "{preview}");
    assert_eq!(
        preview["diff"],
        "--- a/notes.txt\n+++ b/notes.txt\n@@ -1,2 +1,4 @@\n+zero\n one!\n-two\n+TWO\n+three\n"
    );
    assert_eq!(preview["access"]["writes"], json!([URI]));
    end(editor).await;
}
