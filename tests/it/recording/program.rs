//! Recordings of the real program, and `ropewalk replay`.

#![expect(clippy::disallowed_methods, reason = "the program is started as a person and an editor start it")]

use std::path::{Path, PathBuf};

use ropewalk::recording::{Content, Dir, Recording};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::process::Binary;

/// A folder to work in, and a place for recordings.
struct Place {
    _gone: tempfile::TempDir,
    folder: PathBuf,
    file: PathBuf,
}

impl Place {
    fn new() -> Place {
        let gone = tempfile::tempdir().unwrap();
        let at = gone.path().canonicalize().unwrap();
        let folder = at.join("w");
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("a.txt"), "one\ntwo\n").unwrap();
        Place { _gone: gone, folder, file: at.join("a.recording") }
    }

    fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ropewalk"));
        let home = self.file.parent().unwrap();
        command.current_dir(home).env("HOME", home).env("XDG_CONFIG_HOME", home).env("XDG_STATE_HOME", home);
        command
    }

    fn recorded(&self) -> Command {
        let mut command = self.command();
        command.arg("--ephemeral").arg("--record").arg(&self.file);
        command
    }

    async fn start(&self, settings: Value) -> Binary {
        let mut binary = Binary::of(&mut self.recorded());
        let uri = format!("file://{}", self.folder.display());
        let mut all = json!({ "diagnostics": { "ownServers": "off" } });
        all.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
        binary.hello_in(None, all, Some(&uri)).await;
        binary
    }

    fn recording(&self) -> Recording {
        Recording::read(&std::fs::read_to_string(&self.file).unwrap()).unwrap()
    }

    /// Exit code, standard output, standard error.
    async fn run(&self, words: &[&str]) -> (i32, String, String) {
        let output = self.command().args(words).output().await.unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    }

    async fn replay(&self, words: &[&str]) -> (i32, String, String) {
        let mut all = vec!["replay", self.file.to_str().unwrap()];
        all.extend_from_slice(words);
        self.run(&all).await
    }
}

async fn call(binary: &mut Binary, id: i64, name: &str, arguments: Value) -> Value {
    binary.ask(id, "ropewalk/callTool", json!({ "name": name, "arguments": arguments })).await["result"].clone()
}

async fn leave(binary: &mut Binary) {
    binary.ask(99, "shutdown", Value::Null).await;
    binary.notify("exit", Value::Null).await;
    assert_eq!(binary.code().await, Some(0));
}

#[tokio::test]
async fn a_recording_is_played_again_and_changes_nothing() {
    let place = Place::new();
    let mut binary = place.start(json!({})).await;
    call(&mut binary, 1, "read", json!({ "file_path": "a.txt" })).await;
    let result = call(&mut binary, 2, "write", json!({ "file_path": "a.txt", "content": "changed\n" })).await;
    assert_eq!(result["status"], "ok", "{result}");
    leave(&mut binary).await;
    let recording = place.recording();
    assert!(recording.complete);
    let first = std::fs::metadata(&place.file).unwrap();
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&first.permissions()) & 0o777, 0o600);

    // The file is as it was at the end, not as at the start.
    let (code, out, _) = place.replay(&[]).await;
    assert_eq!(code, 1, "{out}");
    assert!(out.starts_with("a difference at frame ") && out.contains("changed"), "{out}");

    let before = place.file.with_file_name("before");
    std::fs::create_dir(&before).unwrap();
    std::fs::write(before.join("a.txt"), "one\ntwo\n").unwrap();
    let (code, out, err) = place.replay(&["--root", before.to_str().unwrap()]).await;
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert!(out.starts_with("the same: "), "{out}");
    // In memory only.
    assert_eq!(std::fs::read_to_string(before.join("a.txt")).unwrap(), "one\ntwo\n");
    assert_eq!(std::fs::read_to_string(place.folder.join("a.txt")).unwrap(), "changed\n");

    let (code, out, _) = place.replay(&["--json"]).await;
    let told: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(code, 1);
    let difference = &told["outcome"]["differs"];
    assert!(difference["frame"].is_u64() && difference["pointer"].is_string(), "{told}");

    // For real, and against another program.
    std::fs::write(place.folder.join("a.txt"), "one\ntwo\n").unwrap();
    let (code, out, _) = place.replay(&["--live"]).await;
    assert_eq!(code, 0, "{out}");
    assert_eq!(std::fs::read_to_string(place.folder.join("a.txt")).unwrap(), "changed\n");
    std::fs::write(place.folder.join("a.txt"), "one\ntwo\n").unwrap();
    let program = env!("CARGO_BIN_EXE_ropewalk");
    let (code, out, err) = place.replay(&["--live", "--against", program, "--ephemeral"]).await;
    assert_eq!(code, 0, "{out}{err}");
    let (code, _, err) = place.replay(&["--against", program]).await;
    assert_eq!(code, 2, "{err}");
}

#[tokio::test]
async fn a_command_is_not_run_again() {
    let place = Place::new();
    let mut binary = place.start(json!({ "trusted": true, "permissions": { "allow": ["bash"] } })).await;
    let result = call(&mut binary, 1, "bash", json!({ "command": "echo x >> ran.txt", "description": "x" })).await;
    assert_eq!(result["status"], "ok", "{result}");
    leave(&mut binary).await;
    let ran = place.folder.join("ran.txt");
    assert_eq!(std::fs::read_to_string(&ran).unwrap(), "x\n");
    let (code, out, _) = place.replay(&[]).await;
    assert_eq!(code, 2, "{out}");
    assert!(out.contains("The sidecar wanted to start ") && out.contains("--live"), "{out}");
    assert_eq!(std::fs::read_to_string(&ran).unwrap(), "x\n");
}

#[tokio::test]
async fn secrets_of_settings_and_documents_are_not_in_the_file() {
    let place = Place::new();
    std::fs::write(place.folder.join("b.txt"), "password = hunter2closed\n").unwrap();
    let settings = json!({ "web": { "search": { "engine": "exa", "key": "hunter2key" } } });
    let mut binary = place.start(settings).await;
    let document = json!({ "uri": "untitled:x", "languageId": "text", "version": 1, "text": "api_key: hunter2open\n" });
    binary.notify("textDocument/didOpen", json!({ "textDocument": document })).await;
    call(&mut binary, 1, "read", json!({ "file_path": "b.txt" })).await;
    leave(&mut binary).await;
    let text = std::fs::read_to_string(&place.file).unwrap();
    assert!(!text.contains("hunter2"), "{text}");
    // What was cut out of the recording is still on the disk.
    let (code, out, err) = place.replay(&[]).await;
    assert_eq!(code, 0, "{out}{err}");
}

#[tokio::test]
async fn a_recording_of_one_that_was_killed_has_whole_lines() {
    let place = Place::new();
    let mut binary = place.start(json!({})).await;
    let document = json!({ "uri": "untitled:x", "languageId": "text", "version": 1, "text": "" });
    binary.notify("textDocument/didOpen", json!({ "textDocument": document })).await;
    for version in 2..300 {
        let changes = json!([{ "text": "long ".repeat(version) }]);
        let document = json!({ "uri": "untitled:x", "version": version });
        binary.notify("textDocument/didChange", json!({ "textDocument": document, "contentChanges": changes })).await;
    }
    // Until some of it is there: the recording comes a moment behind.
    let mut id = 1;
    while std::fs::read_to_string(&place.file).unwrap().lines().count() < 100 {
        call(&mut binary, id, "read", json!({ "file_path": "a.txt" })).await;
        id += 1;
    }
    binary.child.kill().await.unwrap();
    let recording = place.recording();
    assert!(!recording.complete);
    for (number, frame) in (1..).zip(&recording.frames) {
        assert_eq!(frame.n, number);
    }
    let (code, out, _) = place.replay(&[]).await;
    assert_eq!(code, 0, "{out}");
    assert!(out.starts_with("the same up to the end of the recording, which was cut off: "), "{out}");
}

#[tokio::test]
async fn a_recording_is_whole_when_we_are_told_to_end() {
    let place = Place::new();
    let mut binary = place.start(json!({})).await;
    call(&mut binary, 1, "read", json!({ "file_path": "a.txt" })).await;
    binary.terminate();
    assert_eq!(binary.code().await, Some(143));
    let recording = place.recording();
    assert!(recording.complete);
    let last = recording.frames.iter().rev().find(|frame| matches!(frame.content, Content::Message(_))).unwrap();
    assert_eq!(last.dir, Dir::Out);
}

#[tokio::test]
async fn what_is_there_is_not_recorded_over() {
    let place = Place::new();
    std::fs::write(&place.file, "mine").unwrap();
    let file = place.file.to_str().unwrap();
    let read = ["call", "read", "{\"file_path\":\"a.txt\"}", "--root", place.folder.to_str().unwrap()];
    let (code, _, err) = place.run(&[&["--record", file], &read[..]].concat()).await;
    assert_eq!(code, 2);
    assert!(err.contains("is there already; --record-force records over it"), "{err}");
    assert_eq!(std::fs::read_to_string(&place.file).unwrap(), "mine");
    let (code, _, err) = place.run(&[&["--record", file, "--record-force"], &read[..]].concat()).await;
    assert_eq!(code, 0, "{err}");
    assert_eq!(place.recording().head.command, "call");
    let (code, out, err) = place.replay(&[]).await;
    assert_eq!(code, 0, "{out}{err}");
    // What is no regular file is not, whatever is said.
    let link = place.file.with_file_name("link");
    std::os::unix::fs::symlink("a.recording", &link).unwrap();
    let device = Path::new("/dev/null").to_owned();
    for (file, words) in [
        (link, "is a link, which"),
        (place.folder.clone(), "is a folder, which"),
        (device, "is no regular file, which"),
    ] {
        for force in [&["--record-force"][..], &[]] {
            let record = ["--record", file.to_str().unwrap()];
            let (code, _, err) = place.run(&[&record, force, &read[..]].concat()).await;
            assert_eq!(code, 2);
            assert!(err.contains(words) && !err.contains("--record-force"), "{err}");
        }
    }
}

#[tokio::test]
async fn only_what_has_a_sidecar_for_an_editor_is_recorded() {
    let place = Place::new();
    let new = place.file.to_str().unwrap();
    let read = ["call", "read", "{\"file_path\":\"a.txt\"}", "--root", place.folder.to_str().unwrap()];
    let (code, out, err) = place.run(&[&read[..], &["--record", new]].concat()).await;
    assert_eq!((code, place.recording().head.command.as_str()), (0, "call"), "{out}{err}");
    std::fs::remove_file(new).unwrap();
    for (words, why) in [
        (&["--record", new, "tools"][..], "--record is for serve, try and call"),
        (&["--record", new, "mcp"], "--record is for serve, try and call"),
        (&["mcp", "--record", new], "unexpected argument '--record'"),
        (&["--record", new, "serve", "--record", new], "--record is given twice"),
        (&["serve", "--record-force"], "--record <FILE>"),
    ] {
        let (code, _, err) = place.run(words).await;
        assert!(code == 2 && err.contains(why), "{words:?}: {err}");
    }
    assert!(!place.file.exists());
    for (command, counts) in [
        (&[][..], true),
        (&["serve"], true),
        (&["try"], true),
        (&["call"], true),
        (&["mcp"], false),
        (&["run"], false),
        (&["replay"], false),
        (&["tools"], false),
        (&["doctor"], false),
    ] {
        let (code, out, err) = place.run(&[command, &["--help"]].concat()).await;
        assert_eq!((code, out.contains("--record <FILE>")), (0, counts), "{command:?}: {out}{err}");
        assert!(!out.starts_with("What "), "{out}");
    }
}

#[tokio::test]
async fn a_folder_that_only_the_recording_names_is_not_read() {
    let place = Place::new();
    let mut binary = place.start(json!({})).await;
    call(&mut binary, 1, "read", json!({ "file_path": "a.txt" })).await;
    leave(&mut binary).await;
    let elsewhere = tempfile::tempdir().unwrap();
    let folder = place.folder.to_str().unwrap();
    let mut command = place.command();
    command.current_dir(elsewhere.path()).args(["replay", place.file.to_str().unwrap()]);
    let output = command.output().await.unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{err}");
    assert!(err.contains(&format!("the folder {folder}, which is not below")) && err.contains("--root"), "{err}");
    let output = command.args(["--root", folder]).output().await.unwrap();
    assert_eq!(output.status.code(), Some(0));
    // A link that is here and leads elsewhere is no folder that is here.
    std::fs::rename(&place.folder, elsewhere.path().join("w")).unwrap();
    std::os::unix::fs::symlink(elsewhere.path().join("w"), &place.folder).unwrap();
    let (code, _, err) = place.replay(&[]).await;
    assert_eq!(code, 2);
    assert!(err.contains("which is not below"), "{err}");

    let text = std::fs::read_to_string(&place.file).unwrap();
    let (head, frames) = text.split_once('\n').unwrap();
    let mut head: Value = serde_json::from_str(head).unwrap();
    for other in ["ssh://host/w", "file://host/w", "w", ""] {
        head["folders"] = json!([other]);
        std::fs::write(&place.file, format!("{head}\n{frames}")).unwrap();
        let (code, _, err) = place.replay(&[]).await;
        assert_eq!(code, 2);
        assert!(err.contains(&format!("the folder {other:?}, which is no file: URI")), "{err}");
    }
}

#[tokio::test]
async fn a_recording_with_a_private_key_comes_again() {
    let place = Place::new();
    let key = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nBKcwggSjAgEAAoIBAQC7Zx0123456789\nab0=\n";
    let key = format!("-----BEGIN {0} KEY-----\n{key}-----END {0} KEY-----\n", "PRIVATE");
    std::fs::write(place.folder.join("b.txt"), format!("x\n{key}y\n")).unwrap();
    let mut binary = place.start(json!({})).await;
    // From the disk, and from a document that is masked in the recording.
    call(&mut binary, 1, "read", json!({ "file_path": "b.txt" })).await;
    let uri = format!("file://{}/c.txt", place.folder.display());
    let document = json!({ "uri": uri, "languageId": "text", "version": 1, "text": format!("z\n{key}") });
    binary.notify("textDocument/didOpen", json!({ "textDocument": document })).await;
    call(&mut binary, 2, "read", json!({ "file_path": "c.txt" })).await;
    call(&mut binary, 3, "read", json!({ "file_path": "b.txt", "limit": 4 })).await;
    leave(&mut binary).await;
    let text = std::fs::read_to_string(&place.file).unwrap();
    assert!(!text.contains("MIIEvQIB") && !text.contains("BKcwggSj"), "{text}");
    assert!(text.contains("\\n3\\tredacted") || text.contains("\\n3\\trd"), "{text}");
    let (code, out, err) = place.replay(&[]).await;
    assert_eq!(code, 0, "{out}{err}");
}

#[tokio::test]
async fn what_is_no_recording_is_refused() {
    let place = Place::new();
    for (text, words) in
        [("", "it is no recording"), ("{\"recording\":9}\n", "it has the format 9, and this program knows 1")]
    {
        std::fs::write(&place.file, text).unwrap();
        let (code, _, err) = place.replay(&[]).await;
        assert_eq!(code, 2);
        assert!(err.contains(words), "{err}");
    }
    std::fs::remove_file(&place.file).unwrap();
    assert_eq!(place.replay(&[]).await.0, 2);
}
