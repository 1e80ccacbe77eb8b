//! Reading again, pictures, and the syntax gate, through the whole slot.

use std::sync::Arc;

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::kit::{Desk, decided, params, text};
use crate::config::{Mode, ReadSettings, Settings, SyntaxGate};
use crate::dispatch::{CallParams, CallResult, Status};
use crate::editor::Consent;
use crate::languages::{Wait, WaitMode};
use crate::ports::{MemoryDisk, Operation};
use crate::sessions::requests::{ForgetParams, SessionRef, SessionRequest};
use crate::tool::{Content, ErrorKind};
use crate::workspace::documents::ContentChange;

fn rows(count: usize) -> String {
    (1..=count).fold(String::new(), |text, row| text + &format!("this is row {row}\n"))
}

fn desk() -> Desk {
    Desk::new(MemoryDisk::new().with_file("/w/rows.txt", rows(40)).with_file("/w/a.rs", "fn a() {\n    b();\n}\n"))
}

fn settled(desk: &Desk, change: impl FnOnce(&mut Settings)) {
    let mut settings = Settings::default();
    change(&mut settings);
    desk.workspace.set_settings(Arc::new(settings));
}

fn read_as(call: &str, arguments: Value) -> CallParams {
    CallParams { call_id: Some(call.to_owned()), ..params("read", arguments) }
}

async fn read(desk: &Desk, call: &str, arguments: Value) -> CallResult {
    let result = desk.call_with(read_as(call, arguments)).await;
    assert_eq!(result.status, Status::Ok, "{}", text(&result));
    result
}

fn unchanged(result: &CallResult) -> bool {
    result.structured_content.as_ref().unwrap()["unchanged"] == true
}

#[tokio::test]
async fn what_was_shown_is_said_to_be_unchanged_and_can_be_had_again() {
    let desk = desk();
    read(&desk, "one", json!({ "file_path": "rows.txt", "offset": 3, "limit": 30 })).await;
    let again = read(&desk, "two", json!({ "file_path": "/w/rows.txt", "offset": 11, "limit": 20 })).await;
    expect![[r#"Unchanged: lines 11-30 of 40 of rows.txt are exactly as call one showed them in this conversation, and are not repeated. To see them once more, call `output` with id "o1", offset 9, limit 20."#]]
    .assert_eq(&text(&again));
    let told = again.structured_content.unwrap();
    assert_eq!((&told["shownBy"], &told["output"], &told["totalLines"]), (&json!("one"), &json!("o1"), &json!(40)));
    let output = desk.call("output", json!({ "id": "o1", "offset": 9, "limit": 20 })).await;
    assert!(text(&output).starts_with("11\tthis is row 11\n12\t"), "{}", text(&output));
    // The whole file is another window, a line before it too.
    for arguments in [json!({ "file_path": "rows.txt" }), json!({ "file_path": "rows.txt", "offset": 2, "limit": 31 })]
    {
        let desk = self::desk();
        read(&desk, "one", json!({ "file_path": "rows.txt", "offset": 3, "limit": 30 })).await;
        assert!(!unchanged(&read(&desk, "two", arguments).await));
    }
}

#[tokio::test]
async fn nothing_is_called_unchanged_that_the_model_may_not_have() {
    let whole = || json!({ "file_path": "rows.txt" });
    // The file changed; the buffer did; the setting says so; it was but written.
    let desk = desk();
    read(&desk, "one", whole()).await;
    assert!(unchanged(&read(&desk, "two", whole()).await));
    desk.disk.put("/w/rows.txt", rows(41));
    assert!(!unchanged(&read(&desk, "three", whole()).await));
    let key = desk.open("/w/rows.txt", &rows(42));
    assert!(!unchanged(&read(&desk, "four", whole()).await));
    desk.documents.change(&key, 2, vec![ContentChange { range: None, text: rows(40) }]);
    assert!(!unchanged(&read(&desk, "five", whole()).await), "only the last text counts");
    settled(&desk, |settings| settings.read = ReadSettings { unchanged: false });
    assert!(!unchanged(&read(&desk, "six", whole()).await));
    settled(&desk, |_| {});
    let write = json!({ "file_path": "rows.txt", "content": rows(50) });
    assert_eq!(desk.call("write", write).await.status, Status::Ok);
    assert!(!unchanged(&read(&desk, "seven", whole()).await));
    assert!(unchanged(&read(&desk, "eight", whole()).await));
}

#[tokio::test]
async fn what_left_the_context_is_shown_again() {
    let uris = |uris: &[&str]| ForgetParams {
        uris: uris.iter().map(|uri| (*uri).to_owned()).collect(),
        ..ForgetParams::default()
    };
    let calls = ForgetParams { call_ids: vec!["one".to_owned()], ..ForgetParams::default() };
    for request in [
        SessionRequest::Forget(uris(&["rows.txt"])),
        SessionRequest::Forget(uris(&["/w/rows.txt"])),
        SessionRequest::Forget(uris(&["file:///w/rows.txt"])),
        SessionRequest::Forget(calls),
        SessionRequest::Reset(SessionRef::default()),
    ] {
        let desk = desk();
        read(&desk, "one", json!({ "file_path": "rows.txt" })).await;
        let told = format!("{request:?}");
        desk.dispatch.ask_session(request).await.unwrap();
        assert!(!unchanged(&read(&desk, "two", json!({ "file_path": "rows.txt" })).await), "{told}");
    }
}

#[tokio::test]
async fn an_answer_that_was_cut_showed_nothing() {
    let desk = desk();
    let arguments = json!({ "file_path": "rows.txt" });
    // The budget of the tool is kept; what is then cut out of the answer was not shown.
    let narrow = CallParams { max_bytes: Some(700), ..read_as("one", arguments.clone()) };
    let first = desk.call_with(narrow).await;
    assert!(text(&first).contains("there is no room for more in one answer; go on with offset "), "{}", text(&first));
    assert!(!unchanged(&read(&desk, "two", arguments.clone()).await));
    assert!(unchanged(&read(&desk, "three", arguments.clone()).await));
    // Long after, when nobody keeps it any more.
    settled(&desk, |settings| settings.output.kept_bytes = 10);
    desk.call("read", json!({ "file_path": "a.rs" })).await;
    assert!(!unchanged(&read(&desk, "four", arguments).await));
}

#[tokio::test]
async fn typing_while_a_read_runs_does_not_mix_texts() {
    let desk = desk();
    let key = desk.open("/w/rows.txt", "before\n");
    let (documents, typed) = (Arc::clone(&desk.documents), key.clone());
    desk.disk.before(Operation::Metadata, move |_, _| {
        documents.change(&typed, 2, vec![ContentChange { range: None, text: "after\n".to_owned() }]);
    });
    let result = read(&desk, "one", json!({ "file_path": "rows.txt" })).await;
    let told = result.structured_content.as_ref().unwrap();
    let (version, shown) = (told["version"].as_i64(), text(&result));
    let expected = if version == Some(1) { "1\tbefore\n" } else { "1\tafter\n" };
    assert!(shown.starts_with(expected), "{version:?} {shown}");
    assert_eq!(told["hash"], crate::text::hash(&expected[2..]));
    assert_eq!(desk.text(&key), "after\n");
}

#[tokio::test]
async fn a_document_whose_file_is_gone_is_read_and_said_to_be() {
    let desk = desk();
    desk.open("/w/rows.txt", "kept\n");
    desk.open("/w/new.txt", "new\n");
    desk.disk.take_away("/w/rows.txt");
    for (name, row) in [("rows.txt", "1\tkept"), ("new.txt", "1\tnew")] {
        let result = read(&desk, "one", json!({ "file_path": name })).await;
        let shown = text(&result);
        assert!(shown.starts_with(row), "{shown}");
        let note = "(unsaved: this is the editor's buffer, and there is no such file on the disk)";
        assert!(shown.ends_with(note), "{shown}");
        assert_eq!(result.structured_content.unwrap()["unsaved"], true);
    }
}

#[tokio::test]
async fn what_may_not_be_read_is_said_not_to_be() {
    let desk = desk();
    desk.disk.fail(Operation::Read, "/w/rows.txt", std::io::ErrorKind::PermissionDenied);
    desk.disk.fail(Operation::ReadDir, "/w", std::io::ErrorKind::PermissionDenied);
    for (name, words) in [
        ("rows.txt", "rows.txt may not be read: the system denies access to it."),
        ("absent.txt", "There is no file absent.txt."),
        (".", "Looking at . failed: "),
    ] {
        let result = desk.call("read", json!({ "file_path": name })).await;
        assert!(text(&result).starts_with(words) && result.is_error, "{}", text(&result));
    }
}

#[tokio::test]
async fn what_was_read_early_is_unchanged_for_the_call_too() {
    let desk = desk();
    read(&desk, "one", json!({ "file_path": "rows.txt" })).await;
    // A fork looks at the same outputs, and leaves nothing behind.
    let session = desk.dispatch.session(None);
    let fork = session.fork();
    assert_eq!(fork.outputs().of_call("one"), Some("o1"));
    let key = crate::workspace::Key::File("/w/rows.txt".into());
    let hash = session.seen(&key).unwrap();
    assert_eq!(fork.shown_by(&key, &hash, &(0..40)).as_deref(), Some("one"));
    fork.forget(&key);
    assert_eq!(session.shown_by(&key, &hash, &(0..40)).as_deref(), Some("one"));
}

#[tokio::test]
async fn a_picture_is_shown_where_it_can_be() {
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x02\0\0\0\x01rest";
    let desk = Desk::new(MemoryDisk::new().with_file("/w/logo.txt", png).with_file("/w/doc.pdf", "%PDF-1.7\n"));
    let words = read(&desk, "one", json!({ "file_path": "logo.txt" })).await;
    expect![
        "logo.txt is an image (image/png, 2 by 1 pixels, 28 bytes); this client does not show images to the model."
    ]
    .assert_eq(&text(&words));
    desk.editor.abilities.lock().unwrap().images = true;
    let shown = read(&desk, "two", json!({ "file_path": "logo.txt" })).await;
    let image = Content::Image {
        data: "iVBORw0KGgoAAAANSUhEUgAAAAIAAAABcmVzdA==".to_owned(),
        mime_type: "image/png".to_owned(),
    };
    assert_eq!(shown.content, [Content::text("logo.txt is an image (image/png, 2 by 1 pixels, 28 bytes)."), image]);
    let large = [&png[..], &vec![0; 4_000_000]].concat();
    desk.disk.put("/w/logo.txt", large);
    let refused = desk.call("read", json!({ "file_path": "logo.txt" })).await;
    assert!(text(&refused).contains("more than 3750000 bytes cannot be shown"), "{}", text(&refused));
    let pdf = desk.call("read", json!({ "file_path": "doc.pdf" })).await;
    assert!(
        text(&pdf).starts_with("doc.pdf is a PDF of 9 bytes, and no text is taken out of PDFs here."),
        "{}",
        text(&pdf)
    );
}

fn edit(old: &str, new: &str) -> Value {
    json!({ "file_path": "a.rs", "old_string": old, "new_string": new })
}

#[track_caller]
fn check(result: &CallResult, expected: &Expect) {
    expected.assert_eq(&text(result));
}

#[tokio::test]
async fn the_gate_refuses_before_anything_is_changed() {
    for open in [false, true] {
        let desk = desk();
        settled(&desk, |settings| settings.syntax_gate = SyntaxGate::Refuse);
        if open {
            let key = desk.open("/w/a.rs", "fn a() {\n    b();\n}\n");
            assert!(desk.documents.get(&key).is_some());
        }
        let broken = desk.call("edit", edit("b();", "b(;")).await;
        assert_eq!(broken.error.as_ref().unwrap().kind, ErrorKind::Failed);
        check(
            &broken,
            &expect![[r"
            a.rs was not changed: it is whole Rust now and would not be after this change. There would be an error in line 2, column 6: unclosed `(`
            2	    b(;
            Mend the new text and make the change again; changes that only fit together go into one call."]],
        );
        assert_eq!(broken.error.unwrap().data["line"], 2);
        desk.call("read", json!({ "file_path": "a.rs" })).await;
        let write = desk.call("write", json!({ "file_path": "a.rs", "content": "fn a() {\n" })).await;
        let multi = json!({ "file_path": "a.rs", "edits": [{ "old_string": "b();\n}", "new_string": "c();\n" }] });
        let multi = desk.call("multi_edit", multi).await;
        for refused in [write, multi] {
            assert!(text(&refused).contains("was not changed: it is whole Rust now"), "{}", text(&refused));
        }
        assert!(desk.disk.changes().is_empty());
        // What is new, or fits together, passes.
        let new = desk.call("write", json!({ "file_path": "new.rs", "content": "fn (" })).await;
        let good = desk.call("edit", edit("b();", "b(c);")).await;
        let worse =
            desk.call("edit", json!({ "file_path": "new.rs", "old_string": "fn (", "new_string": "fn ((" })).await;
        for passed in [new, good, worse] {
            assert_eq!(passed.status, Status::Ok, "{}", text(&passed));
        }
    }
}

#[tokio::test]
async fn the_gate_looks_again_when_the_text_moved_on_before_the_consent() {
    let desk = desk();
    settled(&desk, |settings| {
        settings.syntax_gate = SyntaxGate::Refuse;
        settings.permissions.mode = Mode::Review;
    });
    let key = desk.open("/w/a.rs", "fn a() {\n    // x\n}\n");
    let moved = "fn a() {\n    d( // x\n    );\n}\n";
    let (documents, typed) = (Arc::clone(&desk.documents), key.clone());
    desk.answer(move |question| {
        documents.change(&typed, 2, vec![ContentChange { range: None, text: moved.to_owned() }]);
        decided(question, Consent::Once)
    });
    desk.answer(|question| decided(question, Consent::Once));
    let refused = desk.call("edit", edit("// x", "c();")).await;
    assert!(refused.is_error && text(&refused).contains("would not be after this change"), "{}", text(&refused));
    assert_eq!(desk.text(&key), moved);
}

#[tokio::test]
async fn the_gate_warns_once() {
    let broken = |desk: &Desk, sources: Option<Vec<String>>| {
        let wait = Wait { wait: WaitMode::None, sources, ..Wait::default() };
        let desk = Arc::clone(&desk.dispatch);
        async move {
            let admitted = desk.admit(CallParams { diagnostics: wait, ..params("edit", edit("b();", "b(;")) });
            desk.run(admitted).await
        }
    };
    // The diagnostics tell it: then the gate does not.
    let desk = desk();
    let told = broken(&desk, None).await;
    assert!(!text(&told).contains("whole Rust") && text(&told).contains("[syntax]"), "{}", text(&told));
    // The caller wanted those of others only.
    let desk = self::desk();
    let noted = broken(&desk, Some(vec!["vale".to_owned()])).await;
    let words = text(&noted);
    let note = "Note: it was whole Rust before and is not any more. There is an error in line 2, column ";
    assert!(words.contains(note) && words.contains("\n2\t    b(;") && !words.contains("[syntax]"), "{words}");
    assert_eq!(noted.status, Status::Ok);
    // Nobody wants to know.
    let desk = self::desk();
    settled(&desk, |settings| settings.syntax_gate = SyntaxGate::Off);
    let silent = broken(&desk, Some(vec!["vale".to_owned()])).await;
    assert!(!text(&silent).contains("whole Rust"), "{}", text(&silent));
}
