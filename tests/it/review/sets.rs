//! Undoing what reaches several files: all of them or none, but for those in which the person has done something.

use std::io;
use std::path::Path;

use ropewalk::ports::{Disk as _, Operation};
use serde_json::json;

use super::{Bench, TEXT, URI, outcomes};
use crate::editor::Manner;

fn why(result: &serde_json::Value, hunk: usize) -> &str {
    result["hunks"][hunk]["why"].as_str().unwrap_or_default()
}

/// What the files of `/w` hold.
fn files<const N: usize>(bench: &Bench, names: [&str; N]) -> [Option<String>; N] {
    names.map(|name| bench.on_disk(&format!("/w/{name}")))
}

fn some<const N: usize>(texts: [&str; N]) -> [Option<String>; N] {
    texts.map(|text| (!text.is_empty()).then(|| text.to_owned()))
}

#[tokio::test(start_paused = true)]
async fn a_swap_of_names_is_undone_and_brought_back() {
    let mut bench = Bench::new(json!({})).await;
    bench.disk.put("/w/a.txt", "a\n");
    bench.disk.put("/w/b.txt", "b\n");
    bench
        .patches(
            "c1",
            "*** Update File: a.txt\n*** Move to: t.txt\n@@\n-a\n+A\n*** Update File: b.txt\n*** Move to: a.txt\n\
             *** Update File: t.txt\n*** Move to: b.txt",
        )
        .await;
    let names = ["a.txt", "b.txt", "t.txt"];
    assert_eq!(files(&bench, names), some(["b\n", "A\n", ""]));
    let result = bench.undo_on_disk(json!({ "callId": "c1" })).await;
    assert_eq!(outcomes(&result), ["undone"; 3], "{result}");
    assert_eq!(files(&bench, names), some(["a\n", "b\n", ""]));
    let result = bench.undo_on_disk(json!({ "undoId": "u1" })).await;
    assert_eq!(outcomes(&result), ["restored"; 3], "{result}");
    assert_eq!(files(&bench, names), some(["b\n", "A\n", ""]));
    // And so on, for as long as anybody likes.
    let result = bench.undo_on_disk(json!({ "sessionId": "s" })).await;
    assert_eq!(outcomes(&result), ["undone"; 3], "{result}");
    assert_eq!(files(&bench, names), some(["a\n", "b\n", ""]));
    // Only the names were in the way of one another: no third file is left.
    assert_eq!(bench.disk.read_dir(Path::new("/w")).unwrap().len(), 3);
    bench.leave().await;
}

#[tokio::test(start_paused = true)]
async fn a_file_comes_back_under_a_name_that_another_one_has_taken() {
    let mut bench = Bench::new(json!({})).await;
    bench.disk.put("/w/a.txt", "a\n");
    bench.disk.put("/w/b.txt", "b\n");
    for name in ["a.txt", "b.txt"] {
        bench.makes(&format!("read {name}"), "read", json!({ "file_path": name })).await;
    }
    let patch = "*** Delete File: b.txt\n*** Update File: a.txt\n*** Move to: b.txt\n*** Add File: a.txt\n+new";
    bench.patches("c1", patch).await;
    assert_eq!(files(&bench, ["a.txt", "b.txt"]), some(["new\n", "a\n"]));
    let result = bench.undo_on_disk(json!({ "callId": "c1" })).await;
    assert_eq!(outcomes(&result), ["undone"; 3], "{result}");
    assert_eq!(files(&bench, ["a.txt", "b.txt"]), some(["a\n", "b\n"]));
    let result = bench.undo_on_disk(json!({ "undoId": "u1" })).await;
    assert_eq!(outcomes(&result), ["restored"; 3], "{result}");
    assert_eq!(files(&bench, ["a.txt", "b.txt"]), some(["new\n", "a\n"]));
    bench.leave().await;
}

/// A call that changes an open document and a closed file, makes a file, deletes one and moves one.
async fn much(bench: &mut Bench) {
    bench.editor.open(URI, TEXT);
    for (name, text) in [("closed.txt", "c\n"), ("bye.txt", "bye\n"), ("from.txt", "from\n")] {
        bench.disk.put(format!("/w/{name}"), text);
    }
    bench.makes("read", "read", json!({ "file_path": "bye.txt" })).await;
    let patch = "*** Begin Patch\n*** Update File: notes.txt\n@@\n-two\n+2\n*** Update File: closed.txt\n@@\n-c\n+C\n\
                 *** Add File: made.txt\n+made\n*** Delete File: bye.txt\n*** Update File: from.txt\n\
                 *** Move to: to.txt\n*** End Patch\n";
    let id = bench.call("s", "c1", "apply_patch", json!({ "patch": patch }));
    bench.editor.serve_edit(Manner::Apply).await;
    let result = bench.editor.result(id).await;
    assert_eq!(result["status"], "ok", "{result}");
    assert_eq!(state(bench), some(AFTER));
}

const NAMES: [&str; 5] = ["closed.txt", "made.txt", "bye.txt", "from.txt", "to.txt"];
const BEFORE: [&str; 6] = [TEXT, "c\n", "", "bye\n", "from\n", ""];
const AFTER: [&str; 6] = ["one\n2\nthree\nfour\nfive\n", "C\n", "made\n", "", "", "from\n"];

/// The open document, and the files.
fn state(bench: &Bench) -> [Option<String>; 6] {
    let [closed, made, bye, from, to] = files(bench, NAMES);
    [Some(bench.buffer().to_owned()), closed, made, bye, from, to]
}

#[tokio::test(start_paused = true)]
async fn where_one_file_cannot_be_written_all_stay() {
    let failures = [
        (Operation::Replace, "/w/closed.txt"),
        (Operation::Remove, "/w/made.txt"),
        (Operation::Create, "/w/bye.txt"),
        (Operation::Rename, "/w/to.txt"),
    ];
    for (operation, path) in failures {
        let mut bench = Bench::new(json!({})).await;
        much(&mut bench).await;
        bench.disk.fail(operation, path, io::ErrorKind::PermissionDenied);
        let id = bench.editor.request("ropewalk/undo", json!({ "callId": "c1" }));
        // The open document first; and then it is put back.
        bench.editor.serve_edit(Manner::Apply).await;
        bench.editor.serve_edit(Manner::Apply).await;
        let result = bench.editor.result(id).await;
        assert_eq!(outcomes(&result), ["left"; 5], "{path}: {result}");
        assert_eq!(result.get("undoId"), None, "{path}: {result}");
        assert!(why(&result, 0).contains("together or not at all: nothing was changed"), "{path}: {result}");
        assert_eq!(state(&bench), some(AFTER), "{path}");
        // Nothing is lost of what could be undone, and nothing of it counts as the user's.
        bench.disk.mend(operation, path);
        let result = bench.undo(json!({ "callId": "c1" })).await;
        assert_eq!(outcomes(&result), ["undone"; 5], "{path}: {result}");
        assert_eq!(state(&bench), some(BEFORE), "{path}");
        // An undo of an undo is made in the same way.
        bench.disk.fail(Operation::Replace, "/w/closed.txt", io::ErrorKind::PermissionDenied);
        let id = bench.editor.request("ropewalk/undo", json!({ "undoId": result["undoId"] }));
        bench.editor.serve_edit(Manner::Apply).await;
        bench.editor.serve_edit(Manner::Apply).await;
        let left = bench.editor.result(id).await;
        assert_eq!((outcomes(&left), state(&bench)), (vec!["left"; 5], some(BEFORE)), "{left}");
        bench.disk.mend(Operation::Replace, "/w/closed.txt");
        let result = bench.undo(json!({ "undoId": result["undoId"] })).await;
        assert_eq!((outcomes(&result), state(&bench)), (vec!["restored"; 5], some(AFTER)), "{result}");
        bench.leave().await;
    }
}

#[tokio::test(start_paused = true)]
async fn where_the_editor_or_the_files_rights_refuse_all_stay() {
    let mut bench = Bench::new(json!({})).await;
    much(&mut bench).await;
    let id = bench.editor.request("ropewalk/undo", json!({ "callId": "c1" }));
    bench.editor.serve_edit(Manner::Refuse).await;
    let result = bench.editor.result(id).await;
    assert_eq!((outcomes(&result), state(&bench)), (vec!["left"; 5], some(AFTER)), "{result}");
    assert!(why(&result, 0).contains("The editor refused the edit of notes.txt"), "{result}");
    // A file that may not be written is seen before anything is begun.
    bench.disk.set_mode(Path::new("/w/closed.txt"), 0o444).unwrap();
    let result = bench.undo_on_disk(json!({ "callId": "c1" })).await;
    assert_eq!((outcomes(&result), state(&bench)), (vec!["left"; 5], some(AFTER)), "{result}");
    assert!(why(&result, 0).contains("closed.txt is read-only"), "{result}");
    bench.leave().await;
}

#[tokio::test(start_paused = true)]
async fn what_the_person_did_in_one_file_keeps_no_other_from_being_undone() {
    let mut bench = Bench::new(json!({})).await;
    much(&mut bench).await;
    // Typed over, moved away, there once more, and changed without being saved.
    bench.types("one\nmine\nthree\nfour\nfive\n");
    bench.disk.put("/w/bye.txt", "another\n");
    bench.editor.open("file:///w/to.txt", "from\nand mine\n");
    let result = bench.undo_on_disk(json!({ "callId": "c1" })).await;
    let told: Vec<(&str, &str)> = result["hunks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hunk| (hunk["uri"].as_str().unwrap().rsplit('/').next().unwrap(), hunk["outcome"].as_str().unwrap()))
        .collect();
    let expected = [
        ("notes.txt", "left"),
        ("closed.txt", "undone"),
        ("made.txt", "undone"),
        ("bye.txt", "left"),
        ("to.txt", "left"),
    ];
    let mut sorted = told.clone();
    sorted.sort_unstable();
    let mut wanted = expected.to_vec();
    wanted.sort_unstable();
    assert_eq!(sorted, wanted, "{result}");
    let now = some(["one\nmine\nthree\nfour\nfive\n", "c\n", "", "another\n", "", "from\n"]);
    assert_eq!(state(&bench), now);
    // The undo brings back what it took, and no more.
    let result = bench.undo_on_disk(json!({ "undoId": result["undoId"] })).await;
    assert_eq!(outcomes(&result), ["restored"; 2], "{result}");
    let now = some(["one\nmine\nthree\nfour\nfive\n", "C\n", "made\n", "another\n", "", "from\n"]);
    assert_eq!(state(&bench), now);
    bench.leave().await;
}
