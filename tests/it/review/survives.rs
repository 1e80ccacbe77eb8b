//! What outlives a save, a re-open and a restart: what became of files, undos, and what a model was not told yet.

use std::sync::Arc;

use ropewalk::ports::MemoryDisk;
use serde_json::json;

use super::{Bench, TEXT, URI, outcomes, told};

/// An editor whose sidecar keeps what it knows.
async fn kept() -> Bench {
    let disk = Arc::new(MemoryDisk::new().with_file("/w/notes.txt", TEXT));
    Bench::over(disk, json!({}), Some(tempfile::tempdir().unwrap())).await
}

fn files<const N: usize>(bench: &Bench, names: [&str; N]) -> [Option<String>; N] {
    names.map(|name| bench.on_disk(&format!("/w/{name}")))
}

fn some<const N: usize>(texts: [&str; N]) -> [Option<String>; N] {
    texts.map(|text| (!text.is_empty()).then(|| text.to_owned()))
}

const NAMES: [&str; 6] = ["a.txt", "b.txt", "new.txt", "bye.txt", "from.txt", "sub/to.txt"];
const BEFORE: [&str; 6] = ["a\n", "b\n", "", "bye\n", "from\n", ""];
const AFTER: [&str; 6] = ["b\n", "A\n", "new\n", "", "", "FROM\n"];

#[tokio::test]
async fn creations_deletions_moves_and_swaps_are_undone_after_a_restart_and_brought_back_after_another() {
    let mut bench = kept().await;
    for (name, text) in NAMES.iter().zip(BEFORE).filter(|(_, text)| !text.is_empty()) {
        bench.disk.put(format!("/w/{name}"), text);
    }
    bench.makes("read", "read", json!({ "file_path": "bye.txt" })).await;
    bench
        .patches(
            "c1",
            "*** Update File: a.txt\n*** Move to: t.txt\n@@\n-a\n+A\n*** Update File: b.txt\n*** Move to: a.txt\n\
             *** Update File: t.txt\n*** Move to: b.txt\n*** Add File: new.txt\n+new\n*** Delete File: bye.txt\n\
             *** Update File: from.txt\n*** Move to: sub/to.txt\n@@\n-from\n+FROM",
        )
        .await;
    assert_eq!(files(&bench, NAMES), some(AFTER));
    let all = bench.changes(json!({})).await;
    let mut bench = bench.again().await;
    assert_eq!(bench.changes(json!({})).await, all);
    let result = bench.undo_on_disk(json!({ "callId": "c1" })).await;
    assert_eq!(outcomes(&result), vec!["undone"; all.len()], "{result}");
    assert_eq!(files(&bench, NAMES), some(BEFORE));
    let undo = result["undoId"].clone();
    let mut bench = bench.again().await;
    assert_eq!(bench.changes(json!({})).await, [""; 0]);
    let result = bench.undo_on_disk(json!({ "undoId": undo })).await;
    assert_eq!(outcomes(&result), vec!["restored"; all.len()], "{result}");
    assert_eq!((files(&bench, NAMES), bench.changes(json!({})).await), (some(AFTER), all));
    bench.leave().await;
}

#[tokio::test]
async fn what_a_person_said_before_a_restart_is_told_once_after_it() {
    let mut bench = kept().await;
    bench.editor.open(URI, TEXT);
    for (call, old, new) in [("c1", "one", "1"), ("c2", "two", "2"), ("c3", "three", "3"), ("c4", "four", "4")] {
        bench.edits("s", call, old, new).await;
    }
    bench.edits("s", "c5", "five", "5\nfive and a half").await;
    bench.types("1\n2\nmine\n4\n5\nmine too\n");
    // Kept as it was made, kept as the person has changed it, undone, and undone in part.
    bench.editor.ask("ropewalk/keep", json!({ "callId": "c1" })).await;
    bench.editor.ask("ropewalk/keep", json!({ "callId": "c5" })).await;
    bench.undo(json!({ "callId": "c2" })).await;
    let left = bench.editor.ask("ropewalk/undo", json!({ "callId": "c3" })).await;
    assert_eq!(outcomes(&left), ["left"], "{left}");
    let mut bench = bench.again().await;
    let id = bench.call("s", "c6", "ls", json!({}));
    let result = bench.editor.result(id).await;
    let words = "Since then, of your changes the user kept notes.txt line 1; changed and kept notes.txt lines 5-6; undid \
                 notes.txt line 2. Do not make what was undone again unless you are asked to.";
    assert!(told(&result).contains(words), "{result}");
    let mut bench = bench.again().await;
    let id = bench.call("s", "c7", "ls", json!({}));
    assert!(!told(&bench.editor.result(id).await).contains("Since then"));
    bench.leave().await;
}
