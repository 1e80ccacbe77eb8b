//! Reading and writing through the whole slot: what is told is what happened.

use std::sync::Arc;

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::kit::{Desk, params, text};
use crate::config::{Freshness, Settings};
use crate::dispatch::call::AppliedPart;
use crate::dispatch::{CallParams, CallResult, Status};
use crate::languages::sources::SourceName;
use crate::languages::verdict::{Verdict, render};
use crate::languages::{Wait, WaitMode};
use crate::ports::MemoryDisk;
use crate::tool::ErrorKind;
use crate::workspace::Key;

fn desk() -> Desk {
    Desk::new(
        MemoryDisk::new()
            .with_file("/w/src/a.txt", "one\ntwo\nthree\n")
            .with_file("/w/crlf.txt", "one\r\ntwo\r\n")
            .with_file("/w/big.txt", (1..=3000).map(|line| format!("line {line}")).collect::<Vec<_>>().join("\n"))
            .with_dir("/w/empty"),
    )
}

#[track_caller]
fn check(result: &CallResult, expected: &Expect) {
    // How diagnostics are told is tested where they are told.
    let told = result.diagnostics.as_ref().map(render).unwrap_or_default();
    expected.assert_eq(text(result).trim_end_matches(&told).trim_end_matches('\n'));
}

fn read(path: &str) -> Value {
    json!({ "file_path": path })
}

fn write(path: &str, content: &str) -> Value {
    json!({ "file_path": path, "content": content })
}

fn kind(result: &CallResult) -> Option<ErrorKind> {
    result.error.as_ref().map(|error| error.kind)
}

#[tokio::test]
async fn a_read_shows_what_the_user_sees() {
    let desk = desk();
    check(
        &desk.call("read", read("src/a.txt")).await,
        &expect![[r"
        1	one
        2	two
        3	three

        (end of file, 3 lines)"]],
    );
    let key = desk.open("/w/src/a.txt", "one\n2\nthree");
    let result = desk.call("read", read("src/a.txt")).await;
    check(
        &result,
        &expect![[r"
        1	one
        2	2
        3	three

        (end of file, 3 lines, without a line end after the last)
        (unsaved: this is the editor's buffer, which differs from the file on the disk)"]],
    );
    assert_eq!(
        result.structured_content,
        Some(json!({
            "uri": "file:///w/src/a.txt", "version": 1, "unsaved": true, "hash": crate::text::hash("one\n2\nthree"),
            "encoding": null, "lineEnds": "lf",
            "startLine": 1, "shownLines": 3, "totalLines": 3, "nextOffset": null, "cutLines": [],
        }))
    );
    drop(key);
    check(
        &desk.call("read", read("src")).await,
        &expect![[r"
        src is a folder; `/` marks folders, `@` links, `|` pipes, sockets and devices. `ls` and `glob` look deeper.
        a.txt

        (entries: 1)"]],
    );
    check(
        &desk.call("read", read(".")).await,
        &expect![[r"
        . is a folder; `/` marks folders, `@` links, `|` pipes, sockets and devices. `ls` and `glob` look deeper.
        big.txt
        crlf.txt
        empty/
        src/

        (entries: 4)"]],
    );
    check(&desk.call("read", read("empty")).await, &expect!["empty is an empty folder."]);
    let missing = desk.call("read", read("src/b.txt")).await;
    assert_eq!(kind(&missing), Some(ErrorKind::NotFound));
}

#[tokio::test]
async fn an_open_document_without_a_file_is_listed_and_read() {
    let desk = desk();
    desk.open("/w/src/new.txt", "x\n");
    check(
        &desk.call("read", read("src")).await,
        &expect![[r"
        src is a folder; `/` marks folders, `@` links, `|` pipes, sockets and devices. `ls` and `glob` look deeper.
        a.txt
        new.txt (open and unsaved, not on the disk)

        (entries: 2)"]],
    );
    assert_eq!(desk.call("read", read("src/new.txt")).await.status, Status::Ok);
    desk.documents.open(Key::Unnamed("untitled:1".into()), "untitled:1", "plaintext", 1, "y\n");
    assert!(text(&desk.call("read", read("untitled:1")).await).starts_with("1\ty\n"));
}

#[tokio::test]
async fn a_small_budget_is_kept_and_told() {
    let desk = desk();
    let call = CallParams { max_bytes: Some(1500), ..params("read", read("big.txt")) };
    let result = desk.call_with(call).await;
    assert!(!result.output.as_ref().unwrap().truncated && text(&result).len() <= 1500);
    let next = result.structured_content.unwrap()["nextOffset"].as_u64().unwrap();
    assert!(
        text(&desk.call("read", json!({ "path": "big.txt", "offset": next.to_string() })).await)
            .starts_with(&format!("{next}\tline {next}\n"))
    );
}

#[tokio::test]
async fn a_new_file_is_made_with_its_folders() {
    let desk = desk();
    let result = desk.call("write", write("deep/er/new.txt", "a\nb\n")).await;
    check(
        &result,
        &expect![[r"
        Created deep/er/new.txt (2 lines).
        deep/er/new.txt: not checked
          language server: not running (the language of the document is not known)"]],
    );
    assert_eq!(desk.disk.bytes("/w/deep/er/new.txt").unwrap(), b"a\nb\n");
    assert_eq!(result.applied, Some(AppliedPart::All));
    // What it wrote it knows.
    assert_eq!(desk.call("write", write("deep/er/new.txt", "")).await.status, Status::Ok);
    assert_eq!(desk.disk.bytes("/w/deep/er/new.txt").unwrap(), b"");
    assert_eq!(desk.call("write", write("empty.txt", "")).await.status, Status::Ok);
    assert_eq!(desk.disk.bytes("/w/empty.txt").unwrap(), b"");
}

#[tokio::test]
async fn a_text_that_was_not_seen_is_not_overwritten() {
    let desk = desk();
    let result = desk.call("write", write("src/a.txt", "new\n")).await;
    assert_eq!((kind(&result), result.applied), (Some(ErrorKind::Stale), None));
    check(
        &result,
        &expect![
            "src/a.txt was not written, because it was there already and was not read in this session: what is there would be lost unseen. Read it (all of it), then write it; or change a part of it with `edit`."
        ],
    );
    desk.call("read", json!({ "file_path": "src/a.txt", "limit": 1 })).await;
    check(
        &desk.call("write", write("src/a.txt", "new\n")).await,
        &expect![
            "src/a.txt was not written, because only a part of it was read in this session, and lines 2-3 were not: what is there would be lost unseen. Read it (all of it), then write it; or change a part of it with `edit`."
        ],
    );
    desk.call("read", json!({ "file_path": "src/a.txt", "offset": 2 })).await;
    desk.disk.put("/w/src/a.txt", "changed\n");
    check(
        &desk.call("write", write("src/a.txt", "new\n")).await,
        &expect![[r"
            src/a.txt was not written, because it had changed since it was last read in this session: what is there would be lost unseen. Read it (all of it), then write it; or change a part of it with `edit`.
            `write` has failed 3 times in a row. Look at why before you try it again."]],
    );
    desk.call("read", read("src/a.txt")).await;
    assert_eq!(desk.call("write", write("src/a.txt", "new\n")).await.status, Status::Ok);
    // Another session has seen nothing.
    let other = CallParams { session_id: Some("other".into()), ..params("write", write("src/a.txt", "x\n")) };
    assert_eq!(kind(&desk.call_with(other).await), Some(ErrorKind::Stale));
}

#[tokio::test]
async fn the_setting_can_loosen_it() {
    let desk = desk();
    desk.workspace.set_settings(Arc::new(Settings { freshness: Freshness::Warn, ..Settings::default() }));
    check(
        &desk.call("write", write("src/a.txt", "one\ntwo\n3\n")).await,
        &expect![[r"
            Changed src/a.txt: line 3 became line 3 (write).
            Note: it was written although it was there already and was not read in this session.
            --- a/src/a.txt
            +++ b/src/a.txt
            @@ -1,3 +1,3 @@
             one
             two
            -three
            +3
            src/a.txt: not checked
              language server: not running (the language of the document is not known)"]],
    );
    desk.workspace.set_settings(Arc::new(Settings { freshness: Freshness::Off, ..Settings::default() }));
    assert!(!text(&desk.call("write", write("crlf.txt", "x\n")).await).contains("not read"));
}

#[tokio::test]
async fn the_same_content_is_said_and_not_written() {
    let desk = desk();
    let result = desk.call("write", write("src/a.txt", "one\ntwo\nthree\n")).await;
    check(&result, &expect!["src/a.txt has exactly this content already; nothing was done."]);
    assert_eq!((result.status, result.edits), (Status::Ok, None));
    assert_eq!(desk.call("write", write("crlf.txt", "one\ntwo\n")).await.edits, None);
    assert_eq!(desk.disk.changes(), []);
}

#[tokio::test]
async fn an_open_document_is_changed_in_its_buffer() {
    let desk = desk();
    let key = desk.open("/w/crlf.txt", "one\r\ntwo\r\nunsaved\r\n");
    desk.call("read", read("crlf.txt")).await;
    let result = desk.call("write", write("crlf.txt", "one\nTWO\nunsaved\n")).await;
    check(
        &result,
        &expect![[r"
            Changed crlf.txt: line 2 became line 2 (write). The change is in the editor's buffer and not saved to the disk.
            Note: the file's CRLF line ends were kept.
            --- a/crlf.txt
            +++ b/crlf.txt
            @@ -1,3 +1,3 @@
             one
            -two
            +TWO
             unsaved
            crlf.txt: not checked
              language server: not running (no language server for `plaintext` is known or of use here)"]],
    );
    assert_eq!(desk.text(&key), "one\r\nTWO\r\nunsaved\r\n");
    assert_eq!(desk.disk.bytes("/w/crlf.txt").unwrap(), b"one\r\ntwo\r\n");
    let edit = &result.edits.unwrap()[0];
    assert_eq!((edit.version_before, edit.version_after, edit.unsaved), (Some(1), Some(2), true));
}

#[tokio::test]
async fn a_folder_is_not_written() {
    let desk = desk();
    assert_eq!(kind(&desk.call("write", write("src", "x")).await), Some(ErrorKind::InvalidArguments));
}

#[tokio::test(start_paused = true)]
async fn a_wait_for_diagnostics_holds_nobody_up_and_can_be_cancelled() {
    let desk = Arc::new(desk());
    let key = desk.open("/w/src/a.txt", "one\ntwo\nthree\n");
    desk.editor.abilities.lock().unwrap().diagnostics = true;
    let source = SourceName { id: "slow".into(), name: "Slow".into() };
    desk.languages.editor_sources("file:///w/src/a.txt", vec![source]);
    desk.call("read", read("src/a.txt")).await;

    let wait = Wait { wait: WaitMode::Fresh, deadline_ms: Some(3_600_000), sources: None };
    let call = CallParams { diagnostics: wait, ..params("write", write("src/a.txt", "one\n2\nthree\n")) };
    let admitted = desk.dispatch.admit(call);
    let waiting = tokio::spawn({
        let desk = Arc::clone(&desk);
        async move { desk.dispatch.run(admitted).await }
    });
    // The next call of the same session sees the edit, while the first still waits.
    assert!(text(&desk.call("read", read("src/a.txt")).await).contains("2\t2\n"));
    assert_eq!(desk.dispatch.open_calls(), ["default/c2 write"]);
    assert_eq!(desk.dispatch.cancel(None, Some("c2"), None), 1);
    let result = waiting.await.unwrap();
    assert_eq!((result.status, result.applied), (Status::Ok, Some(AppliedPart::All)));
    assert_eq!(result.diagnostics.unwrap().documents[0].sources[0].verdict, Verdict::Pending);
    assert_eq!(desk.text(&key), "one\n2\nthree\n");
}
