//! Saving after changes, by an editor that does as it is told, or not.

use std::sync::Arc;

use serde_json::{Value, json};

use super::kit::{Desk, text};
use crate::dispatch::CallResult;
use crate::editor::{AskError, SaveFailure, SaveResult};
use crate::ports::MemoryDisk;
use crate::sessions::policy::Save;
use crate::workspace::documents::ContentChange;
use crate::workspace::{Key, Snapshot};

type Answer = Option<Result<SaveResult, AskError>>;

/// A desk with `/w/a.txt`, which holds `one\n`, open with this text, in a session that saves so.
fn desk(
    shown: &str,
    policy: Save,
    saver: impl Fn(&Desk, &Snapshot) -> Answer + Send + Sync + 'static,
) -> (Arc<Desk>, Key) {
    let desk = Arc::new(Desk::new(MemoryDisk::new().with_file("/w/a.txt", "one\n")));
    desk.editor.abilities.lock().unwrap().save = true;
    let weak = Arc::downgrade(&desk);
    *desk.editor.saver.lock().unwrap() = Some(Box::new(move |document| saver(&weak.upgrade().unwrap(), document)));
    desk.dispatch.session(None).want(|wanted| wanted.asked.save = Some(policy));
    let key = desk.open("/w/a.txt", shown);
    (desk, key)
}

/// Writes a text to the disk and says that it was saved.
#[expect(clippy::unnecessary_wraps, reason = "it is what an editor may answer, and others answer nothing")]
fn saves(desk: &Desk, document: &Snapshot) -> Answer {
    let now = desk.documents.get(&document.key).unwrap();
    desk.disk.put("/w/a.txt", now.text.to_string());
    desk.documents.save(&document.key);
    Some(Ok(SaveResult::default()))
}

fn types(desk: &Desk, document: &Snapshot, text: &str) {
    let version = desk.documents.get(&document.key).unwrap().version;
    let change = ContentChange { range: None, text: text.to_owned() };
    desk.documents.change(&document.key, version + 1, vec![change]);
}

async fn edit(desk: &Desk) -> CallResult {
    let arguments: Value = json!({ "file_path": "a.txt", "old_string": "one", "new_string": "two" });
    desk.call("edit", arguments).await
}

/// Whether the first edit counts as unsaved, and the note about it.
fn told(result: &CallResult) -> (bool, String) {
    let text = text(result);
    let note = text.lines().find_map(|line| line.strip_prefix("Note: ")).unwrap_or_default();
    let unsaved = result.edits.as_ref().unwrap()[0].unsaved;
    assert_eq!(text.contains("not saved to the disk"), unsaved, "{text}");
    assert_eq!(text.contains("The change is saved to the disk."), !unsaved, "{text}");
    (unsaved, note.to_owned())
}

#[tokio::test(start_paused = true)]
async fn a_document_is_saved_as_its_session_wants() {
    for (shown, policy, unsaved, note, disk) in [
        ("one\n", Save::Never, true, "", "one\n"),
        ("one\n", Save::Always, false, "", "two\n"),
        ("one\n", Save::IfClean, false, "", "two\n"),
        ("one\nmine\n", Save::Always, false, "", "two\nmine\n"),
        ("one\nmine\n", Save::IfClean, true, "it was not saved: it had unsaved changes before.", "one\n"),
    ] {
        let (desk, _) = desk(shown, policy, saves);
        let result = edit(&desk).await;
        assert_eq!(told(&result), (unsaved, note.to_owned()), "{shown:?} {policy:?}");
        assert_eq!(desk.disk.bytes("/w/a.txt").unwrap(), disk.as_bytes(), "{shown:?} {policy:?}");
        assert_eq!(result.edits.unwrap().len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_not_seen_on_the_disk_is_not_saved() {
    async fn check(saver: impl Fn(&Desk, &Snapshot) -> Answer + Send + Sync + 'static, why: &str) {
        let (desk, key) = desk("one\n", Save::Always, saver);
        let result = edit(&desk).await;
        assert_eq!(told(&result), (true, format!("it could not be saved: {why}.")));
        assert_eq!((result.is_error, desk.text(&key).as_str()), (false, "two\n"));
    }
    let refused = |_: &Desk, _: &Snapshot| Some(Err(AskError::Refused("read-only".into())));
    let failed = |_: &Desk, document: &Snapshot| {
        let failure = SaveFailure { uri: document.uri.clone(), reason: "the disk is full".into() };
        Some(Ok(SaveResult { failed: vec![failure] }))
    };
    let lies = |_: &Desk, _: &Snapshot| Some(Ok(SaveResult::default()));
    let believes = |desk: &Desk, document: &Snapshot| {
        desk.documents.save(&document.key);
        Some(Ok(SaveResult::default()))
    };
    check(refused, "the editor answered with an error: read-only").await;
    check(failed, "the disk is full").await;
    check(|_, _| Some(Err(AskError::Timeout)), "the editor did not answer in time").await;
    check(lies, "the editor said so, but the file on the disk has another text").await;
    check(believes, "the editor said so, but the file on the disk has another text").await;
    // An editor may write other line ends than it syncs: CRs too, but not where the text has CRs of its own.
    let cr = |desk: &Desk, document: &Snapshot, end: &str| {
        desk.disk.put("/w/a.txt", desk.documents.get(&document.key).unwrap().text.to_string().replace('\n', end));
        desk.documents.save(&document.key);
        Some(Ok(SaveResult::default()))
    };
    for (shown, end, unsaved) in
        [("one\nb\n", "\r", false), ("one\nb\n", "\r\n", false), ("one\nb\n", " ", true), ("one\r\nb\r", "\r", true)]
    {
        let (desk, _) = desk(shown, Save::Always, move |desk, document| cr(desk, document, end));
        assert_eq!(told(&edit(&desk).await).0, unsaved, "{shown:?} {end:?}");
    }
    // An answer is not needed where the disk shows it.
    let mute = |desk: &Desk, document: &Snapshot| {
        saves(desk, document);
        Some(Err(AskError::Timeout))
    };
    let (desk, _) = desk("one\n", Save::Always, mute);
    assert_eq!(told(&edit(&desk).await), (false, String::new()));
}

#[tokio::test(start_paused = true)]
async fn a_disk_that_has_it_a_little_later_is_waited_for() {
    let (desk, key) = desk("one\n", Save::Always, |desk, document| {
        let (documents, disk) = (Arc::clone(&desk.documents), Arc::clone(&desk.disk));
        let key = document.key.clone();
        tokio::spawn(async move {
            tokio::time::sleep(std::time::Duration::from_millis(300)).await;
            disk.put("/w/a.txt", "two\n");
            documents.save(&key);
        });
        Some(Ok(SaveResult::default()))
    });
    assert_eq!(told(&edit(&desk).await), (false, String::new()));
    assert_eq!(desk.text(&key), "two\n");
}

#[tokio::test(start_paused = true)]
async fn what_the_editor_changes_on_saving_is_told_and_known() {
    let (desk, key) = desk("one\n", Save::Always, |desk, document| {
        types(desk, document, "two;\n");
        saves(desk, document);
        // The user goes on after that.
        types(desk, document, "two;\nmine\n");
        Some(Ok(SaveResult::default()))
    });
    desk.call("read", json!({ "file_path": "a.txt" })).await;
    let result = edit(&desk).await;
    assert_eq!(told(&result), (false, String::new()));
    expect_test::expect![[r"
        Changed a.txt: line 1 became line 1 (simple). The change is saved to the disk.
        --- a/a.txt
        +++ b/a.txt
        @@ -1 +1 @@
        -one
        +two
        The editor changed a.txt when it saved it: line 1 became line 1.
        --- a/a.txt
        +++ b/a.txt
        @@ -1 +1 @@
        -two
        +two;
        a.txt: not checked
          language server: not running (no language server for `plaintext` is known or of use here)"]]
    .assert_eq(&text(&result));
    let edits = result.edits.unwrap();
    assert_eq!((edits[1].version_before, edits[1].version_after, edits[1].unsaved), (Some(2), Some(3), false));
    assert_eq!(edits[1].hunks[0].strategy, "save");
    let seen = desk.dispatch.session(None).seen(&key);
    assert_eq!(seen.as_deref(), Some(crate::text::hash("two;\n").as_str()));
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_call_saves_nothing_and_waits_for_nothing() {
    let (desk, key) = desk("one\n", Save::Always, |desk, _| {
        desk.dispatch.cancel(None, None, None);
        None
    });
    let result = edit(&desk).await;
    let (unsaved, note) = told(&result);
    assert_eq!((unsaved, desk.text(&key).as_str()), (true, "two\n"));
    assert_eq!(note, "it could not be saved: the call was cancelled meanwhile, and the disk does not have it yet.");
}

#[tokio::test(start_paused = true)]
async fn a_formatted_text_is_saved_formatted() {
    let (desk, key) = desk("one\n", Save::IfClean, saves);
    desk.editor.abilities.lock().unwrap().format = true;
    *desk.editor.formatter.lock().unwrap() = Some(Box::new(|document| {
        let text = document.text.to_string();
        let splices = crate::text::diff::splices(&text, &text.replace("two", "TWO"));
        let edit = |splice| document.text.edit_of(splice, crate::text::Encoding::Utf16);
        Some(Ok(Some(splices.iter().map(edit).collect())))
    }));
    let (settings, _) = crate::config::Settings::parse(&json!({ "formatter": { "mode": "onWrite" } }));
    desk.workspace.set_settings(Arc::new(settings));
    let result = edit(&desk).await;
    assert_eq!(told(&result), (false, String::new()));
    assert_eq!(desk.disk.bytes("/w/a.txt").unwrap(), b"TWO\n");
    assert_eq!(desk.text(&key), "TWO\n");
    let edits = result.edits.unwrap();
    assert_eq!(edits.iter().map(|edit| edit.unsaved).collect::<Vec<_>>(), [false, false]);
}

#[tokio::test]
async fn an_editor_that_does_not_save_is_told_of() {
    for (saves, save, refused) in [(true, "always", 0), (false, "never", 1)] {
        let (desk, _) = desk("one\n", Save::Always, |_, _| None);
        desk.editor.abilities.lock().unwrap().save = saves;
        let request = crate::sessions::requests::SessionRequest::Open(
            serde_json::from_value(json!({ "sessionId": "s", "save": "always" })).unwrap(),
        );
        let effective = desk.dispatch.ask_session(request).await.unwrap();
        assert_eq!(effective["save"], save);
        assert_eq!(effective["notGranted"].as_array().map_or(0, Vec::len), refused, "{effective}");
    }
}
