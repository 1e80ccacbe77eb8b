//! What a review answers, and what the model is told of it, is what happened.

use std::path::Path;
use std::sync::Arc;

use ropewalk::ports::{Disk as _, MemoryDisk};
use serde_json::json;

use super::{Bench, TEXT, URI, outcomes, told};

async fn bench() -> Bench {
    let names = ["/w/notes.txt", "/w/a.txt", "/w/b.txt", "/w/other.txt"];
    let disk = names.iter().fold(MemoryDisk::new(), |disk, name| disk.with_file(name, TEXT));
    Bench::over(Arc::new(disk), json!({}), None).await
}

async fn heard(bench: &mut Bench) -> Option<String> {
    let read = bench.call("s", "look", "read", json!({ "file_path": "other.txt" }));
    let result = bench.editor.result(read).await;
    told(&result).split_once("Since then, of your changes the user ").map(|(_, words)| words.to_owned())
}

#[tokio::test(start_paused = true)]
async fn a_word_is_of_its_change_wherever_that_has_moved_to() {
    let mut bench = bench().await;
    bench.editor.open(URI, TEXT);
    bench.edits("s", "c1", "two", "2").await;
    bench.edits("s", "c2", "four", "4").await;
    bench.undo(json!({ "callId": "c1" })).await;
    bench.types("zero\none\ntwo\nthree\n4\nfive\n");
    bench.undo(json!({ "undoId": "u1" })).await;
    // It was undone in line 2 and brought back in line 3: it is there.
    assert_eq!(heard(&mut bench).await.as_deref(), Some("brought back notes.txt line 3."));
    bench.undo(json!({ "callId": "c1" })).await;
    bench.types("two\nthree\n4\nfive\n");
    bench.types("a\ntwo\n4\nfive\n");
    bench.editor.ask("ropewalk/keep", json!({ "callId": "c2" })).await;
    // Another one that came to stand in its place takes nothing of that back.
    let words =
        "kept notes.txt line 3; undid notes.txt line 3. Do not make what was undone again unless you are asked to.";
    assert_eq!(heard(&mut bench).await.as_deref(), Some(words));
    bench.leave().await;
}

#[tokio::test(start_paused = true)]
async fn what_an_undone_undo_cannot_bring_back_is_not_said_to_be_back() {
    let mut bench = bench().await;
    bench.editor.open(URI, TEXT);
    bench.edits("s", "c1", "two\nthree\nfour\n", "2\nthree\n4\n").await;
    bench.undo(json!({ "callId": "c1" })).await;
    bench.types("one\ntwo\nthree\nmine\nfive\n");
    let result = bench.undo(json!({ "undoId": "u1" })).await;
    assert_eq!(
        (outcomes(&result), bench.buffer()),
        (vec!["restored", "left"], "one\n2\nthree\nmine\nfive\n"),
        "{result}"
    );
    assert_eq!(result["hunks"][1]["why"], "You have changed the same lines: 1 place of it stays as you left it.");
    assert_eq!(bench.changes(json!({})).await, [r#"1.1 changed notes.txt:2 "2\n""#]);
    let words = "undid notes.txt line 4; brought back notes.txt line 2. Do not make what was undone again unless you are \
                 asked to.";
    assert_eq!(heard(&mut bench).await.as_deref(), Some(words));
    // Nothing of one can come back: it can be done once that is possible.
    bench.edits("s", "c2", "one", "1").await;
    let undo = bench.undo(json!({ "callId": "c2" })).await["undoId"].clone();
    bench.types("my own\n2\nthree\nmine\nfive\n");
    let result = bench.undo_on_disk(json!({ "undoId": undo })).await;
    assert_eq!((outcomes(&result), &result["edits"]), (vec!["left"], &json!([])), "{result}");
    assert_eq!(bench.buffer(), "my own\n2\nthree\nmine\nfive\n");
    bench.types("one\n2\nthree\nmine\nfive\n");
    let result = bench.undo(json!({ "undoId": undo })).await;
    assert_eq!((outcomes(&result), bench.buffer()), (vec!["restored"], "1\n2\nthree\nmine\nfive\n"), "{result}");
    bench.leave().await;
}

#[tokio::test(start_paused = true)]
async fn what_is_gone_is_told_beside_what_is_undone() {
    let mut bench = bench().await;
    bench.patches("c1", "*** Update File: a.txt\n@@\n-two\n+2\n*** Update File: b.txt\n@@\n-two\n+2").await;
    bench.disk.rename(Path::new("/w/b.txt"), Path::new("/w/moved.txt")).unwrap();
    let result = bench.undo_on_disk(json!({ "callId": "c1" })).await;
    let told: Vec<(&str, &str)> = result["hunks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hunk| (hunk["hunkId"].as_str().unwrap(), hunk["outcome"].as_str().unwrap()))
        .collect();
    assert_eq!(told, [("2.1", "left"), ("1.1", "undone")], "{result}");
    assert_eq!(result["hunks"][0]["why"], "b.txt is not there any more; nothing was changed.");
    assert_eq!(bench.on_disk("/w/a.txt").as_deref(), Some(TEXT));
    assert_eq!(bench.on_disk("/w/moved.txt").as_deref(), Some("one\n2\nthree\nfour\nfive\n"));
    // Where the file comes back, its change is there to be undone.
    bench.disk.rename(Path::new("/w/moved.txt"), Path::new("/w/b.txt")).unwrap();
    assert_eq!(outcomes(&bench.undo_on_disk(json!({ "callId": "c1" })).await), ["undone"]);
    assert_eq!(bench.on_disk("/w/b.txt").as_deref(), Some(TEXT));
    bench.leave().await;
}
