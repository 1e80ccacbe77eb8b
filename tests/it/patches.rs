//! Patches over the wire: many files at once, open and closed, of every kind; refused whole where a part does not fit.

use std::path::Path;
use std::sync::Arc;

use ropewalk::ports::{Disk as _, MemoryDisk};
use serde_json::{Value, json};

use crate::editor::{FakeEditor, Manner};
use crate::real::{URI, editor_with_notes};

fn call(editor: &mut FakeEditor, arguments: Value) -> i64 {
    editor.request("ropewalk/callTool", json!({ "name": "apply_patch", "arguments": arguments }))
}

fn said(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_default()
}

fn got(disk: &MemoryDisk, name: &str) -> Vec<u8> {
    disk.read(Path::new(name)).unwrap()
}

/// An editor with an unsaved `notes.txt`, and closed files beside it.
async fn editor_with_files() -> (FakeEditor, Arc<MemoryDisk>) {
    let (editor, disk) = editor_with_notes().await;
    for (name, bytes) in [
        ("/w/dos.txt", &b"one\r\ntwo\r\n"[..]),
        ("/w/bom.txt", b"\xef\xbb\xbfone\ntwo\n"),
        ("/w/wide.txt", b"\xff\xfeo\0n\0e\0\n\0t\0w\0o\0"),
    ] {
        disk.create(Path::new(name), bytes).unwrap();
    }
    (editor, disk)
}

async fn end(mut editor: FakeEditor) {
    let text = editor.ask("ropewalk/documentText", json!({ "uri": URI })).await;
    assert_eq!(text["text"], editor.buffers[URI].text);
    editor.accept_rest();
    assert_eq!(editor.leave().await, 0);
}

const PATCH: &str = "*** Begin Patch\n\
    *** Update File: notes.txt\n one!\n-two\n+TWO\n\
    *** Update File: dos.txt\n one\n+between\n two\n\
    *** Update File: bom.txt\n-one\n+ONE\n\
    *** Update File: wide.txt\n one\n-two\n+zw\u{f6}lf\n\
    *** Add File: new/deep/file.txt\n+first\n+last\n\
    *** End Patch\n";

#[tokio::test(start_paused = true)]
async fn open_and_closed_files_of_every_kind_are_patched() {
    for manner in [Manner::Apply, Manner::Split] {
        let (mut editor, disk) = editor_with_files().await;
        // As a model writes it that was told of a free text: not in an object at all.
        let id = call(&mut editor, json!(format!("apply_patch <<'EOF'\n{PATCH}EOF\n")));
        editor.serve_edit(manner).await;
        let result = editor.result(id).await;
        assert_eq!((&result["status"], &result["applied"]), (&json!("ok"), &json!("all")), "{result}");
        assert_eq!(editor.buffers[URI].text, "one!\nTWO\n");
        assert_eq!(got(&disk, "/w/notes.txt"), b"one\ntwo\n");
        assert_eq!(got(&disk, "/w/dos.txt"), b"one\r\nbetween\r\ntwo\r\n");
        assert_eq!(got(&disk, "/w/bom.txt"), b"\xef\xbb\xbfONE\ntwo\n");
        assert_eq!(got(&disk, "/w/wide.txt"), b"\xff\xfeo\0n\0e\0\n\0z\0w\0\xf6\0l\0f\0");
        assert_eq!(got(&disk, "/w/new/deep/file.txt"), b"first\nlast\n");
        let edits = result["edits"].as_array().unwrap();
        assert_eq!(edits.len(), 5, "{result}");
        let span = json!({ "start": 2, "count": 1 });
        assert_eq!(
            edits[0]["hunks"],
            json!([{ "strategy": "patch", "similarity": 1.0, "before": span, "after": span }]),
            "{result}"
        );
        end(editor).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_unified_diff_by_another_name_finds_an_unsaved_line() {
    let (mut editor, _) = editor_with_files().await;
    let diff = "--- a/notes.txt\n+++ b/notes.txt\n@@ -40,2 +40,2 @@\n one!\n-two\n+TWO\n";
    let params = json!({ "name": "patch", "arguments": { "diff": diff } });
    let id = editor.request("ropewalk/callTool", params);
    editor.serve_edit(Manner::Apply).await;
    let result = editor.result(id).await;
    assert_eq!((&result["status"], &result["name"]), (&json!("ok"), &json!("apply_patch")), "{result}");
    assert_eq!(editor.buffers[URI].text, "one!\nTWO\n");
    end(editor).await;
}

#[tokio::test(start_paused = true)]
async fn one_part_that_does_not_fit_stops_all() {
    let (mut editor, disk) = editor_with_files().await;
    let before = got(&disk, "/w/dos.txt");
    for (patch, kind, words) in [
        (PATCH.replace("-two\n+zw", "-twelve\n+zw"), "notFound", "wide.txt: its hunk (line 14 of the patch) is not in"),
        (PATCH.replace("*** End Patch\n", ""), "invalidArguments", "no `*** End Patch` had come"),
        (PATCH.replace("bom.txt", "gone.txt"), "notFound", "gone.txt"),
        (format!("Here it is:\n{PATCH}"), "invalidArguments", "Send only the patch, without words before it."),
    ] {
        let id = call(&mut editor, json!({ "patch": patch }));
        let result = editor.result(id).await;
        assert_eq!((&result["status"], &result["error"]["kind"]), (&json!("error"), &json!(kind)), "{result}");
        assert!(said(&result).contains(words), "{result}");
        assert_eq!(editor.buffers[URI].text, "one!\ntwo\n");
        assert_eq!(got(&disk, "/w/dos.txt"), before);
        assert!(disk.read(Path::new("/w/new/deep/file.txt")).is_err());
    }
    end(editor).await;
}

#[tokio::test(start_paused = true)]
async fn what_was_never_read_is_neither_replaced_nor_deleted() {
    let (mut editor, disk) = editor_with_files().await;
    for arguments in [
        json!({ "patch": "*** Begin Patch\n*** Add File: dos.txt\n+new\n*** End Patch\n" }),
        json!({ "patch": "*** Begin Patch\n*** Delete File: dos.txt\n*** End Patch\n" }),
        json!({ "changes": [{ "path": "dos.txt", "content": "new\n" }] }),
    ] {
        let id = call(&mut editor, arguments);
        let result = editor.result(id).await;
        assert_eq!(result["error"]["kind"], "stale", "{result}");
        assert_eq!(got(&disk, "/w/dos.txt"), b"one\r\ntwo\r\n");
    }
    // Once it has been read, its whole content may go.
    let read = json!({ "name": "read", "arguments": { "file_path": "dos.txt" } });
    let id = editor.request("ropewalk/callTool", read);
    editor.result(id).await;
    let id = call(&mut editor, json!({ "files": [{ "file_path": "dos.txt", "text": "new\n" }] }));
    let result = editor.result(id).await;
    assert_eq!(result["status"], "ok", "{result}");
    assert_eq!(got(&disk, "/w/dos.txt"), b"new\r\n");
    end(editor).await;
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_shows_and_changes_nothing() {
    let (mut editor, disk) = editor_with_files().await;
    let patch = "*** Begin Patch\n\
        *** Update File: notes.txt\n-two\n+TWO\n\
        *** Update File: dos.txt\n*** Move to: sub/dos.txt\n-two\n+TWO\n\
        *** Add File: new.txt\n+new\n*** End Patch\n";
    let preview = json!({ "name": "apply_patch", "arguments": { "patch": patch } });
    let preview = editor.ask("ropewalk/previewCall", preview).await;
    assert_eq!(
        preview["access"]["writes"],
        json!([URI, "file:///w/dos.txt", "file:///w/sub/dos.txt", "file:///w/new.txt"]),
        "{preview}"
    );
    let id = call(&mut editor, json!({ "patch": patch, "dry_run": true }));
    let result = editor.result(id).await;
    assert_eq!((&result["status"], &result["edits"]), (&json!("ok"), &Value::Null), "{result}");
    for words in [
        "notes.txt would be changed.",
        "dos.txt would be moved to sub/dos.txt.",
        "new.txt would be made.",
        "Nothing was changed (dry_run).",
        "+++ b/notes.txt\n@@ -1,2 +1,2 @@\n one!\n-two\n+TWO\n",
    ] {
        assert!(said(&result).contains(words), "{words}: {result}");
    }
    assert_eq!(editor.buffers[URI].text, "one!\ntwo\n");
    assert_eq!(got(&disk, "/w/dos.txt"), b"one\r\ntwo\r\n");
    // A move to where a file is.
    let onto = "*** Begin Patch\n*** Update File: dos.txt\n*** Move to: bom.txt\n*** End Patch\n";
    let id = call(&mut editor, json!({ "patch": onto, "dry_run": true }));
    let result = editor.result(id).await;
    assert_eq!(result["error"]["kind"], "conflict", "{result}");
    end(editor).await;
}

#[tokio::test(start_paused = true)]
async fn a_file_named_twice_is_changed_once() {
    let (mut editor, _) = editor_with_files().await;
    let patch = "*** Begin Patch\n*** Update File: notes.txt\n-two\n+three\n*** Update File: ./notes.txt\n-three\n+four\n\
                 *** End Patch\n";
    let id = call(&mut editor, json!({ "patch": patch }));
    editor.serve_edit(Manner::Apply).await;
    let result = editor.result(id).await;
    assert_eq!(result["edits"].as_array().map(Vec::len), Some(1), "{result}");
    assert_eq!(editor.buffers[URI].text, "one!\nfour\n");
    end(editor).await;
}

/// Whatever a part of a call says of a file counts, also where that is what the file held before the call.
#[tokio::test(start_paused = true)]
async fn a_file_named_twice_becomes_what_was_said_last() {
    const OLD: &str = "one\r\ntwo\r\n";
    const BACK: &str = "*** Add File: dos.txt\n+one\n+two";
    let patch = |body: &str| json!({ "patch": format!("*** Begin Patch\n{body}\n{BACK}\n*** End Patch\n") });
    let item = |content: &str| json!({ "path": "dos.txt", "content": content });
    let change = "*** Update File: dos.txt\n-one\n+ONE";
    for (arguments, moved) in [
        (patch("*** Delete File: dos.txt"), None),
        (patch(change), None),
        (patch("*** Update File: dos.txt\n*** Move to: moved.txt"), Some(OLD)),
        (patch(&format!("*** Delete File: dos.txt\n{BACK}\n*** Delete File: dos.txt")), None),
        (json!({ "changes": [item("other\n"), item("one\ntwo\n")] }), None),
    ] {
        let (mut editor, disk) = editor_with_files().await;
        let read = json!({ "name": "read", "arguments": { "file_path": "dos.txt" } });
        let id = editor.request("ropewalk/callTool", read);
        editor.result(id).await;
        let id = call(&mut editor, arguments.clone());
        let result = editor.result(id).await;
        assert_eq!(result["status"], "ok", "{arguments} {result}");
        let now = disk.read(Path::new("/w/dos.txt")).map(|bytes| String::from_utf8(bytes).unwrap().replace('\r', ""));
        assert_eq!(now.ok().as_deref(), Some("one\ntwo\n"), "{arguments} {result}");
        let there = disk.read(Path::new("/w/moved.txt")).ok();
        assert_eq!(there.as_deref(), moved.map(str::as_bytes), "{arguments}");
        end(editor).await;
    }
}

#[tokio::test(start_paused = true)]
async fn one_of_patch_and_changes_is_needed() {
    let (mut editor, _) = editor_with_files().await;
    let items = json!([{ "path": "a", "content": "" }]);
    for arguments in [json!({}), json!({ "patch": PATCH, "changes": items }), json!({ "dry_run": true })] {
        let id = call(&mut editor, arguments);
        let result = editor.result(id).await;
        assert_eq!(result["error"]["kind"], "invalidArguments", "{result}");
        assert!(said(&result).contains("exactly one of them was expected"), "{result}");
    }
    end(editor).await;
}

#[tokio::test(start_paused = true)]
async fn typing_between_places_the_hunks_anew() {
    let (mut editor, _) = editor_with_files().await;
    let patch = "*** Begin Patch\n*** Update File: notes.txt\n one!\n-two\n+TWO\n*** End Patch\n";
    let id = call(&mut editor, json!({ "patch": patch }));
    let (asked, _) = editor.asked("workspace/applyEdit").await;
    editor.splice(URI, 0..0, "typed\n");
    editor.respond(&asked, json!({ "applied": false }));
    editor.serve_edit(Manner::Apply).await;
    let result = editor.result(id).await;
    assert_eq!(editor.buffers[URI].text, "typed\none!\nTWO\n", "{result}");
    end(editor).await;
}

#[tokio::test(start_paused = true)]
async fn what_is_typed_before_a_file_is_made_anew_is_not_lost() {
    for before in ["*** Delete File: notes.txt", "*** Update File: notes.txt\n-two\n+TWO"] {
        let (mut editor, _) = editor_with_files().await;
        let read = json!({ "name": "read", "arguments": { "file_path": "notes.txt" } });
        let id = editor.request("ropewalk/callTool", read);
        editor.result(id).await;
        let patch = format!("*** Begin Patch\n{before}\n*** Add File: notes.txt\n+new\n*** End Patch\n");
        let id = call(&mut editor, json!({ "patch": patch }));
        let (asked, _) = editor.asked("workspace/applyEdit").await;
        editor.splice(URI, 0..0, "typed\n");
        editor.respond(&asked, json!({ "applied": false }));
        let result = editor.result(id).await;
        assert_eq!(result["error"]["kind"], "conflict", "{result}");
        assert_eq!(editor.buffers[URI].text, "typed\none!\ntwo\n");
        end(editor).await;
    }
}

#[tokio::test(start_paused = true)]
async fn files_are_moved_deleted_and_made_together() {
    let (mut editor, disk) = editor_with_files().await;
    let read = json!({ "name": "read", "arguments": { "file_path": "bom.txt" } });
    let id = editor.request("ropewalk/callTool", read);
    editor.result(id).await;
    let patch = "*** Begin Patch\n\
        *** Update File: notes.txt\n-two\n+TWO\n\
        *** Update File: dos.txt\n*** Move to: sub/dos.txt\n-two\n+TWO\n\
        *** Delete File: bom.txt\n\
        *** Add File: new.txt\n+new\n*** End Patch\n";
    let id = call(&mut editor, json!({ "patch": patch }));
    editor.serve_edit(Manner::Apply).await;
    let result = editor.result(id).await;
    assert_eq!((&result["status"], &result["applied"]), (&json!("ok"), &json!("all")), "{result}");
    assert_eq!(editor.buffers[URI].text, "one!\nTWO\n");
    assert_eq!(got(&disk, "/w/sub/dos.txt"), b"one\r\nTWO\r\n");
    assert_eq!(got(&disk, "/w/new.txt"), b"new\n");
    for gone in ["/w/dos.txt", "/w/bom.txt"] {
        assert!(disk.read(Path::new(gone)).is_err(), "{gone}");
    }
    let edits = result["edits"].as_array().unwrap();
    assert_eq!((&edits[1]["movedTo"], &edits[2]["deleted"]), (&json!("file:///w/sub/dos.txt"), &json!(true)));
    for words in ["Moved dos.txt to sub/dos.txt and changed it", "Deleted bom.txt", "Created new.txt"] {
        assert!(said(&result).contains(words), "{words}: {result}");
    }
    end(editor).await;
}

/// Names change hands by way of one that is there for the call only.
#[tokio::test(start_paused = true)]
async fn files_take_the_names_of_others() {
    let (one, two) = (Some("dos"), Some("bom"));
    for (between, [dos, bom, new]) in [
        ("*** Update File: bom.txt\n*** Move to: dos.txt", [two, one, None]),
        ("*** Update File: bom.txt\n*** Move to: new.txt", [None, one, two]),
        ("*** Delete File: bom.txt\n-bom", [None, one, None]),
        ("*** Update File: bom.txt\n*** Move to: new.txt\n*** Add File: dos.txt\n+own", [Some("own"), one, two]),
    ] {
        let (mut editor, disk) = editor_with_files().await;
        disk.put("/w/dos.txt", "dos\n");
        disk.put("/w/bom.txt", "bom\n");
        let (aside, back) = ("dos.txt\n*** Move to: aside.txt", "aside.txt\n*** Move to: bom.txt");
        let patch =
            format!("*** Begin Patch\n*** Update File: {aside}\n{between}\n*** Update File: {back}\n*** End Patch\n");
        let id = call(&mut editor, json!({ "patch": patch }));
        let result = editor.result(id).await;
        assert_eq!(result["status"], "ok", "{result}");
        let now = ["dos.txt", "bom.txt", "new.txt", "aside.txt"].map(|name| {
            let bytes = disk.read(Path::new(&format!("/w/{name}"))).ok()?;
            Some(String::from_utf8(bytes).unwrap().trim_end().to_owned())
        });
        assert_eq!(now.each_ref().map(Option::as_deref), [dos, bom, new, None], "{patch}{result}");
        end(editor).await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_editor_that_refuses_its_part_keeps_all_files_as_they_were() {
    let (mut editor, disk) = editor_with_files().await;
    let before = ["/w/dos.txt", "/w/bom.txt", "/w/wide.txt"].map(|name| got(&disk, name));
    let id = call(&mut editor, json!({ "patch": PATCH }));
    editor.serve_edit(Manner::Refuse).await;
    let result = editor.result(id).await;
    assert_eq!((&result["status"], &result["applied"]), (&json!("error"), &json!("none")), "{result}");
    assert_eq!(["/w/dos.txt", "/w/bom.txt", "/w/wide.txt"].map(|name| got(&disk, name)), before);
    assert!(disk.read(Path::new("/w/new/deep/file.txt")).is_err());
    assert_eq!(editor.buffers[URI].text, "one!\ntwo\n");
    end(editor).await;
}
