//! Real processes: `ropewalk mcp` by itself, and joined to `ropewalk serve` under a fake editor.

#![expect(clippy::disallowed_methods, reason = "the binary is started as an agent starts it")]

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};

use super::agent::{Manner, Running, start, status, text};
use crate::process::Binary;

/// Only so that a test that fails does so; nothing waits for it.
const NEVER: Duration = Duration::from_mins(1);

/// A place of its own for folders, state and sockets.
struct Place {
    _folder: tempfile::TempDir,
    at: PathBuf,
}

impl Place {
    fn new() -> Place {
        // Short, for the path of a socket may not be long.
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().canonicalize().unwrap();
        for name in ["w", "run"] {
            std::fs::create_dir(at.join(name)).unwrap();
        }
        std::fs::write(at.join("w/notes.txt"), "one\ntwo\n").unwrap();
        Place { _folder: folder, at }
    }

    fn root(&self) -> PathBuf {
        self.at.join("w")
    }

    fn uri(&self) -> String {
        format!("file://{}", self.root().join("notes.txt").display())
    }

    fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ropewalk"));
        command.env("XDG_STATE_HOME", self.at.join("state")).env("XDG_RUNTIME_DIR", self.at.join("run"));
        command.env_remove("ROPEWALK_SOCKET").env_remove("ROPEWALK_TOKEN").current_dir(self.root());
        command
    }

    /// A sidecar with the folder, and the file open in its editor with an unsaved change.
    async fn sidecar(&self, name: &str) -> Binary {
        let mut editor = Binary::of(&mut self.command());
        let params = json!({
            "processId": null,
            "clientInfo": { "name": name },
            "workspaceFolders": [{ "uri": format!("file://{}", self.root().display()), "name": "w" }],
            "initializationOptions": { "diagnostics": { "ownServers": "off" } },
            "capabilities": {
                "general": { "positionEncodings": ["utf-8"] },
                "workspace": { "applyEdit": true },
                "experimental": { "ropewalk": { "approve": true } },
            },
        });
        editor.ask(0, "initialize", params).await;
        editor.notify("initialized", json!({})).await;
        let document = json!({ "uri": self.uri(), "languageId": "text", "version": 1, "text": "one!\ntwo\n" });
        editor.notify("textDocument/didOpen", json!({ "textDocument": document })).await;
        self.known(editor.child.id().unwrap()).await;
        editor
    }

    /// Waits until a sidecar has made itself known.
    async fn known(&self, process: u32) {
        let file = self.at.join(format!("run/ropewalk/{process}.json"));
        let known = async {
            while !file.exists() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(NEVER, known).await.expect("it makes itself known");
    }

    fn agent(&self, words: &[&str]) -> Child {
        let mut command = self.command();
        command.arg("mcp").args(words).kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    async fn joined(&self, words: &[&str]) -> (Child, Running) {
        let mut child = self.agent(words);
        let (input, output) = (child.stdout.take().unwrap(), child.stdin.take().unwrap());
        let running = tokio::time::timeout(NEVER, start(Manner::default(), input, output)).await.expect("it is served");
        (child, running)
    }
}

async fn ended(child: &mut Child) -> Option<i32> {
    tokio::time::timeout(NEVER, child.wait()).await.expect("an end").unwrap().code()
}

async fn stderr(mut child: Child) -> String {
    let mut words = String::new();
    child.stderr.take().unwrap().read_to_string(&mut words).await.unwrap();
    words
}

async fn lets_in(editor: &mut Binary, decision: &str) -> Value {
    let question = editor.next(|message| message["method"] == "ropewalk/approve").await;
    let call = &question["params"]["calls"][0]["callId"];
    let result = json!({ "decisions": [{ "callId": call, "decision": decision }] });
    editor.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": result })).await;
    question["params"].clone()
}

#[tokio::test]
async fn by_itself_it_works_on_the_disk_and_ends_with_its_client() {
    let place = Place::new();
    let (mut child, client) = place.joined(&["--root", ".", "--ephemeral"]).await;
    let edit = json!({ "file_path": "notes.txt", "old_string": "two", "new_string": "2" });
    assert_eq!(status(&client.call("edit", edit).await), "ok");
    assert_eq!(std::fs::read_to_string(place.root().join("notes.txt")).unwrap(), "one\n2\n");
    client.service.cancel().await.unwrap();
    assert_eq!(ended(&mut child).await, Some(0));
    let mut wrong = place.agent(&["--allow", "read(", "--ephemeral"]);
    assert_eq!(ended(&mut wrong).await, Some(2));
    assert!(stderr(wrong).await.contains("read("));
}

#[tokio::test]
async fn joined_it_changes_the_editors_buffer() {
    let place = Place::new();
    let mut editor = place.sidecar("Fake").await;
    let (mut child, client) = place.joined(&["--connect"]).await;
    let peer = client.service.peer().clone();
    let edit = json!({ "file_path": "notes.txt", "old_string": "one!", "new_string": "ONE" });
    let editing = tokio::spawn(async move { peer.call_tool(super::agent::call("edit", edit)).await });
    let question = lets_in(&mut editor, "once").await;
    let shown = question["calls"][0]["targets"][0].as_str().unwrap().to_owned();
    // Not the pipe, but who started it.
    let own = std::env::current_exe().unwrap();
    assert!(shown.starts_with(&own.display().to_string()), "{shown}");
    let asked = editor.next(|message| message["method"] == "workspace/applyEdit").await;
    let change = &asked["params"]["edit"]["documentChanges"][0];
    let changes = json!([{ "text": "ONE\ntwo\n" }]);
    let document = json!({ "uri": change["textDocument"]["uri"], "version": 2 });
    editor.notify("textDocument/didChange", json!({ "textDocument": document, "contentChanges": changes })).await;
    editor.send(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": { "applied": true } })).await;
    let edited = super::agent::result(editing.await.unwrap().unwrap());
    assert_eq!(status(&edited), "ok", "{edited}");
    assert_eq!(std::fs::read_to_string(place.root().join("notes.txt")).unwrap(), "one\ntwo\n");
    // The editor is killed: the client sees the end of it.
    editor.child.start_kill().unwrap();
    client.service.waiting().await.unwrap();
    assert_eq!(ended(&mut child).await, Some(0));
    // What it left is swept by the next one.
    let _ = editor.child.wait().await;
    let left = || place.at.join("run/ropewalk").read_dir().unwrap().count();
    assert_eq!(left(), 2, "it had no time to clean up");
    let next = place.sidecar("Next").await;
    assert_eq!(left(), 2, "and these are its own");
    drop(next);
}

#[tokio::test]
async fn a_client_that_is_killed_leaves_nothing_behind() {
    let place = Place::new();
    let mut editor = place.sidecar("Fake").await;
    let (mut child, client) = place.joined(&["--connect"]).await;
    let peer = client.service.peer().clone();
    let call = super::agent::call("read", json!({ "file_path": "/etc/hostname" }));
    let reading = tokio::spawn(async move { peer.call_tool(call).await });
    lets_in(&mut editor, "once").await;
    let question = editor.next(|message| message["method"] == "ropewalk/approve").await;
    child.start_kill().unwrap();
    let taken_back = editor.next(|message| message["method"] == "$/cancelRequest").await;
    assert_eq!(taken_back["params"]["id"], question["id"]);
    assert!(reading.await.unwrap().is_err());
    assert_eq!(editor.ask(5, "ropewalk/settle", json!({})).await["result"]["settled"], true);
}

#[tokio::test]
async fn which_editor_is_told_and_chosen() {
    let place = Place::new();
    let mut none = place.agent(&["--connect"]);
    drop(none.stdin.take());
    assert_eq!(ended(&mut none).await, Some(1));
    assert!(stderr(none).await.contains("No editor with Ropewalk has "));
    let _one = place.sidecar("One").await;
    let mut two = place.sidecar("Two").await;
    let mut both = place.agent(&["--connect"]);
    // The client is told as well.
    let asked = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {} });
    both.stdin.take().unwrap().write_all(format!("{asked}\n").as_bytes()).await.unwrap();
    let mut answer = String::new();
    both.stdout.take().unwrap().read_to_string(&mut answer).await.unwrap();
    let answer: Value = serde_json::from_str(&answer).unwrap();
    let words = answer["error"]["message"].as_str().unwrap();
    assert!(words.contains("Several editors") && words.contains("One") && words.contains("Two"), "{words}");
    assert_eq!(ended(&mut both).await, Some(1));
    let (_child, client) = place.joined(&["--connect", "--editor", "two"]).await;
    let peer = client.service.peer().clone();
    let call = super::agent::call("read", json!({ "file_path": "notes.txt" }));
    let reading = tokio::spawn(async move { peer.call_tool(call).await });
    lets_in(&mut two, "deny").await;
    let read = super::agent::result(reading.await.unwrap().unwrap());
    assert!(text(&read).contains("did not let you in"), "{read}");
    let socket = place.at.join(format!("run/ropewalk/{}.sock", two.child.id().unwrap()));
    let (_child, _client) = place.joined(&["--connect", "--socket", &socket.display().to_string()]).await;
    let mut loose = place.agent(&["--connect"]);
    drop(loose.stdin.take());
    assert_eq!(ended(&mut loose).await, Some(1));
}

#[tokio::test]
async fn a_folder_that_others_may_enter_is_not_used() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::new();
    let folder = place.at.join("run/ropewalk");
    std::fs::create_dir(&folder).unwrap();
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut child = place.agent(&["--connect"]);
    drop(child.stdin.take());
    assert_eq!(ended(&mut child).await, Some(1));
    assert!(stderr(child).await.contains("others may use it"));
    assert_eq!(Path::new(&folder).read_dir().unwrap().count(), 0);
}
