//! The formatter after changes: the editor's, and commands that are played.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::kit::{Desk, text};
use crate::config::Settings;
use crate::dispatch::Status;
use crate::editor::{AskError, FileChanged, News, Origin};
use crate::ports::MemoryDisk;
use crate::process::{Exit, Launch, PlayedPrograms, Printed};
use crate::text::{Encoding, TextEdit, diff};
use crate::workspace::documents::ContentChange;
use crate::workspace::{Key, Snapshot};

/// Settings with the formatter on.
#[expect(clippy::needless_pass_by_value, reason = "JSON is made where it is passed")]
fn set(desk: &Desk, more: Value) {
    let mut formatter = json!({ "mode": "onWrite", "timeoutMs": 500 });
    for (key, value) in more.as_object().unwrap() {
        formatter[key] = value.clone();
    }
    let (settings, remarks) = Settings::parse(&json!({ "formatter": formatter }));
    assert_eq!(remarks, []);
    desk.workspace.set_settings(Arc::new(settings));
}

/// A text with spaces round each `=`.
fn spaced(text: &str) -> String {
    text.replace(" = ", "=").replace('=', " = ")
}

fn edits(document: &Snapshot, after: &str) -> Vec<TextEdit> {
    let splices = diff::splices(&document.text.to_string(), after);
    splices.iter().map(|splice| document.text.edit_of(splice, Encoding::Utf16)).collect()
}

type Answer = Option<Result<Option<Vec<TextEdit>>, AskError>>;

/// A desk whose editor has `/w/a.txt` open and formats so.
fn open(before: &str, formatter: impl Fn(&Snapshot) -> Answer + Send + Sync + 'static) -> (Desk, Key) {
    let desk = Desk::new(MemoryDisk::new().with_file("/w/a.txt", before));
    desk.editor.abilities.lock().unwrap().format = true;
    *desk.editor.formatter.lock().unwrap() = Some(Box::new(formatter));
    set(&desk, json!({}));
    let key = desk.open("/w/a.txt", before);
    (desk, key)
}

fn edit(old: &str, new: &str) -> Value {
    json!({ "file_path": "a.txt", "old_string": old, "new_string": new })
}

#[tokio::test]
async fn the_editor_formats_what_it_has_open_and_the_model_knows_it() {
    let (desk, key) = open("a=1\nb\n", |document| Some(Ok(Some(edits(document, &spaced(&document.text.to_string()))))));
    desk.call("read", json!({ "file_path": "a.txt" })).await;
    let result = desk.call("edit", edit("a=1", "a=2")).await;
    assert_eq!(desk.text(&key), "a = 2\nb\n");
    expect![[r"
        Changed a.txt: line 1 became line 1 (simple). The change is in the editor's buffer and not saved to the disk.
        --- a/a.txt
        +++ b/a.txt
        @@ -1,2 +1,2 @@
        -a=1
        +a=2
         b
        Formatted a.txt by the editor: line 1 became line 1.
        --- a/a.txt
        +++ b/a.txt
        @@ -1,2 +1,2 @@
        -a=2
        +a = 2
         b
        a.txt: not checked
          language server: not running (no language server for `plaintext` is known or of use here)"]]
    .assert_eq(&text(&result));
    let told = result.edits.unwrap();
    let versions: Vec<_> = told.iter().map(|edit| (edit.version_before, edit.version_after)).collect();
    assert_eq!(versions, [(Some(1), Some(2)), (Some(2), Some(3))]);
    assert_eq!((told[1].hunks[0].strategy.as_str(), told[1].unsaved), ("format", true));
    // The text as it is now is known: it may be written, and an edit of it has not "changed since".
    let result = desk.call("edit", edit("a = 2", "a = 3")).await;
    assert!(!text(&result).contains("Note") && !text(&result).contains("Formatted"), "{}", text(&result));
    assert_eq!(result.edits.unwrap().len(), 1);
    let result = desk.call("write", json!({ "file_path": "a.txt", "content": "c=1\n" })).await;
    assert_eq!((result.status, desk.text(&key).as_str()), (Status::Ok, "c = 1\n"), "{}", text(&result));
    let result = desk.call("write", json!({ "file_path": "a.txt", "content": "d\n" })).await;
    assert_eq!(result.status, Status::Ok, "{}", text(&result));
}

#[tokio::test]
async fn an_edit_that_formatting_takes_back_is_told_with_it() {
    let (desk, key) = open("a = 1\n", |document| Some(Ok(Some(edits(document, &spaced(&document.text.to_string()))))));
    let result = desk.call("edit", edit("a = 1", "a=1")).await;
    assert_eq!((result.status, desk.text(&key).as_str()), (Status::Ok, "a = 1\n"));
    assert!(text(&result).contains("Formatted a.txt by the editor"), "{}", text(&result));
}

#[tokio::test]
async fn off_asks_nobody() {
    let (desk, key) = open("a=1\n", |_| panic!("nobody asked for it"));
    set(&desk, json!({ "mode": "off" }));
    desk.call("edit", edit("a=1", "a=2")).await;
    assert_eq!(desk.text(&key), "a=2\n");
}

#[tokio::test(start_paused = true)]
async fn a_formatter_that_fails_is_a_note_and_undoes_nothing() {
    fn check(answer: impl Fn(&Snapshot) -> Answer + Send + Sync + 'static) -> impl Future<Output = String> {
        let (desk, key) = open("a=1\n", answer);
        async move {
            let result = desk.call("edit", edit("a=1", "a=2")).await;
            assert_eq!((result.status, desk.text(&key).as_str()), (Status::Ok, "a=2\n"), "{}", text(&result));
            assert_eq!(result.edits.unwrap().len(), 1);
            let content = desk_note(&result.content);
            content.unwrap_or_default()
        }
    }
    fn desk_note(content: &[crate::tool::Content]) -> Option<String> {
        let crate::tool::Content::Text { text } = &content[0] else { return None };
        text.lines().find_map(|line| line.strip_prefix("Note: it was not formatted: ")).map(str::to_owned)
    }
    let at = |line: u32, character: u32, to: u32| {
        let range =
            json!({ "start": { "line": line, "character": character }, "end": { "line": line, "character": to } });
        serde_json::from_value::<TextEdit>(json!({ "range": range, "newText": "x" })).unwrap()
    };
    let refused = |_: &Snapshot| Some(Err(AskError::Refused("no parser".into())));
    assert_eq!(check(refused).await, "the editor answered with an error: no parser.");
    assert_eq!(check(|_| Some(Err(AskError::Timeout))).await, "the formatter took longer than 500 ms.");
    assert_eq!(check(|_| None).await, "the formatter took longer than 500 ms.");
    assert_eq!(check(|document| Some(Ok(Some(edits(document, ""))))).await, "the editor left nothing of it.");
    let overlapping = move |_: &Snapshot| Some(Ok(Some(vec![at(0, 0, 2), at(0, 1, 3)])));
    assert_eq!(check(overlapping).await, "the editor gave edits that overlap.");
    let reversed = move |_: &Snapshot| Some(Ok(Some(vec![at(0, 2, 1)])));
    let told = "the editor gave an edit from 0:2 to 0:1, which is no place in the text.";
    assert_eq!(check(reversed).await, told);
    // It has nothing to say, or nothing to change: that is no news.
    for answer in [None, Some(Vec::new())] {
        assert_eq!(check(move |_| Some(Ok(answer.clone()))).await, "");
    }
}

#[tokio::test]
async fn a_user_who_types_on_is_left_alone() {
    let typed = Arc::new(Mutex::new(None::<Arc<crate::workspace::Documents>>));
    let documents = Arc::clone(&typed);
    let (desk, key) = open("a=1\n", move |document| {
        let change = ContentChange { range: None, text: document.text.to_string() + "b=1\n" };
        documents.lock().unwrap().as_ref().unwrap().change(&document.key, document.version + 1, vec![change]);
        Some(Ok(Some(edits(document, &spaced(&document.text.to_string())))))
    });
    *typed.lock().unwrap() = Some(Arc::clone(&desk.documents));
    let result = desk.call("edit", edit("a=1", "a=2")).await;
    assert_eq!((result.status, desk.text(&key).as_str()), (Status::Ok, "a=2\nb=1\n"), "{}", text(&result));
    assert!(text(&result).contains("Note: it was not formatted: it changed meanwhile."), "{}", text(&result));
}

/// What a formatter was started with: the launch and its input.
type Started = Arc<Mutex<Vec<(Launch, String)>>>;

/// A desk with a file that no editor has open, and a command for its language that does this.
fn closed(
    path: &str,
    bytes: &[u8],
    answer: impl Fn(&Desk, &str) -> Option<(i32, String)> + Send + Sync + 'static,
) -> (Arc<Desk>, Started) {
    let desk = Arc::new(Desk::new(MemoryDisk::new().with_file(path, bytes)));
    let started = Started::default();
    let (log, weak) = (Arc::clone(&started), Arc::downgrade(&desk));
    let (programs, _) = PlayedPrograms::new("/bin");
    let programs = programs.answering("/bin/neat", move |launch, input| {
        log.lock().unwrap().push((launch.clone(), input.to_owned()));
        let answer = answer(&weak.upgrade().unwrap(), input);
        answer.map(|(code, stdout)| Printed { exit: Exit::Code(code), stdout, stderr: "secret".into() })
    });
    desk.dispatch.set_programs(Arc::new(programs));
    desk.dispatch.trust.set(Path::new("/w"), true);
    set(&desk, json!({ "commands": { "python": ["neat", "--stdin", "${file}"] } }));
    (desk, started)
}

async fn write(desk: &Desk, path: &str, old: &str, new: &str) -> String {
    let result = desk.call("edit", json!({ "file_path": path, "old_string": old, "new_string": new })).await;
    assert_eq!(result.status, Status::Ok, "{}", text(&result));
    text(&result)
}

#[tokio::test]
async fn a_command_formats_what_is_not_open() {
    let (desk, started) = closed("/w/a.py", b"a=1\n", |_, input| Some((0, spaced(input))));
    let told = write(&desk, "a.py", "a=1", "a=2").await;
    assert!(told.contains("Formatted a.py by `neat`: line 1 became line 1."), "{told}");
    assert_eq!(desk.disk.bytes("/w/a.py").as_deref(), Some(&b"a = 2\n"[..]));
    let (launch, input) = started.lock().unwrap().remove(0);
    assert_eq!((launch.dir, input.as_str()), (Some(PathBuf::from("/w")), "a=2\n"));
    assert_eq!(launch.args, ["--stdin", "/w/a.py"]);
    let told = desk.editor.told.lock().unwrap();
    let files = told.iter().filter_map(|news| match news {
        News::Files(files) => Some(files.iter().map(|FileChanged { by, .. }| *by).collect::<Vec<_>>()),
        _ => None,
    });
    assert_eq!(files.flatten().collect::<Vec<_>>(), [Origin::Agent, Origin::Editor]);
}

#[tokio::test]
async fn a_command_keeps_encodings_marks_and_line_ends() {
    let utf16 = |text: &str| {
        let units = std::iter::once(0xFEFF).chain(text.encode_utf16());
        units.flat_map(u16::to_le_bytes).collect::<Vec<u8>>()
    };
    for (before, after, input) in [
        (b"a=1\r\nb=1\r\n".to_vec(), b"a = 2\r\nb = 1\r\n".to_vec(), "a=2\r\nb=1\r\n"),
        (b"\xEF\xBB\xBFa=1\n".to_vec(), b"\xEF\xBB\xBFa = 2\n".to_vec(), "a=2\n"),
        (utf16("a=1\r\n😀=1\r\n"), utf16("a = 2\r\n😀 = 1\r\n"), "a=2\r\n😀=1\r\n"),
        (b"a=1".to_vec(), b"a = 2\n".to_vec(), "a=2"),
    ] {
        // It knows LF only, and ends its output with one.
        let (desk, started) = closed("/w/a.py", &before, |_, input| {
            let plain = spaced(&input.replace("\r\n", "\n"));
            Some((0, format!("{}\n", plain.trim_end())))
        });
        write(&desk, "a.py", "a=1", "a=2").await;
        assert_eq!(desk.disk.bytes("/w/a.py"), Some(after), "{input:?}");
        assert_eq!(started.lock().unwrap()[0].1, input);
    }
}

#[tokio::test(start_paused = true)]
async fn a_command_that_fails_or_must_not_run_changes_nothing() {
    async fn check(
        answer: impl Fn(&Desk, &str) -> Option<(i32, String)> + Send + Sync + 'static,
        prepare: impl Fn(&Desk),
        runs: usize,
        expected: Expect,
    ) {
        let (desk, started) = closed("/w/a.py", b"a=1\n", answer);
        prepare(&desk);
        let told = write(&desk, "a.py", "a=1", "a=2").await;
        let note = told.lines().find_map(|line| line.strip_prefix("Note: it was not formatted: "));
        expected.assert_eq(note.unwrap_or("-"));
        assert_eq!(started.lock().unwrap().len(), runs, "{told}");
        let bytes = desk.disk.bytes("/w/a.py").unwrap();
        assert!(bytes == b"a=2\n" || bytes == b"by others\n", "{told}");
    }
    let fine = |_: &Desk, input: &str| Some((0, spaced(input)));
    let nothing = |_: &Desk| {};
    check(|_, _| Some((2, "a = 2\n".into())), nothing, 1, expect!["`neat` ended with exit code 2."]).await;
    check(|_, _| Some((0, " \n".into())), nothing, 1, expect!["`neat` left nothing of it."]).await;
    check(|_, _| None, nothing, 1, expect!["the formatter took longer than 500 ms."]).await;
    check(|_, input| Some((0, input.to_owned())), nothing, 1, expect!["-"]).await;
    let elsewhere = |desk: &Desk, input: &str| {
        desk.disk.put("/w/a.py", "by others\n");
        Some((0, spaced(input)))
    };
    check(elsewhere, nothing, 1, expect!["it changed meanwhile."]).await;
    let distrust = |desk: &Desk| desk.dispatch.trust.set(Path::new("/w"), false);
    let told = expect!["`neat` runs in trusted folders only, and this one is not trusted."];
    check(fine, distrust, 0, told).await;
    let missing = |desk: &Desk| set(desk, json!({ "commands": { "python": ["untidy"] } }));
    check(fine, missing, 0, expect!["there is no program `untidy`."]).await;
    for commands in [json!({}), json!({ "python": [] }), json!({ "rust": ["neat"] })] {
        check(fine, |desk| set(desk, json!({ "commands": commands })), 0, expect!["-"]).await;
    }
    let folders = |desk: &Desk| desk.workspace.set_roots(crate::workspace::Roots { folders: vec!["/w/part".into()] });
    let (desk, started) = closed("/w/a.py", b"a=1\n", fine);
    folders(&desk);
    desk.answer(|params| super::kit::decided(params, crate::editor::Consent::Once));
    write(&desk, "/w/a.py", "a=1", "a=2").await;
    assert_eq!(started.lock().unwrap().len(), 0);
}

#[tokio::test]
async fn a_command_is_the_last_resort_of_an_open_document() {
    let (desk, started) = closed("/w/a.py", b"a=1\n", |_, input| Some((0, spaced(input))));
    let key = desk.open("/w/a.py", "a=1\n");
    let told = write(&desk, "a.py", "a=1", "a=2").await;
    assert!(told.contains("Formatted a.py by `neat`"), "{told}");
    assert_eq!(desk.text(&key), "a = 2\n");
    assert_eq!(desk.disk.bytes("/w/a.py").as_deref(), Some(&b"a=1\n"[..]));
    // Where the editor has a formatter, that one is asked, and no other.
    desk.editor.abilities.lock().unwrap().format = true;
    *desk.editor.formatter.lock().unwrap() = Some(Box::new(|_| Some(Ok(Some(Vec::new())))));
    write(&desk, "a.py", "a = 2", "a=3").await;
    assert_eq!((desk.text(&key).as_str(), started.lock().unwrap().len()), ("a=3\n", 1));
}

#[tokio::test]
async fn a_new_file_is_formatted_too() {
    let (desk, _) = closed("/w/other.py", b"", |_, input| Some((0, spaced(input))));
    let result = desk.call("write", json!({ "file_path": "new.py", "content": "a=1\n" })).await;
    assert!(text(&result).starts_with("Created new.py (1 line).\nFormatted new.py by `neat`"), "{}", text(&result));
    assert_eq!(desk.disk.bytes("/w/new.py").as_deref(), Some(&b"a = 1\n"[..]));
    let result = desk.call("write", json!({ "file_path": "new.py", "content": "b\n" })).await;
    assert_eq!(result.status, Status::Ok, "{}", text(&result));
}
