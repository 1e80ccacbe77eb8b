//! The life cycle of the real binary: how it ends, and that nothing it started outlives it.

#![expect(
    clippy::disallowed_methods,
    reason = "the binary is started as an editor starts it, not as our own children are"
)]

// These look for processes in /proc, and expect that those which left their group are ended too.
#[cfg(target_os = "linux")]
mod agents;
#[cfg(target_os = "linux")]
mod confined;
#[cfg(target_os = "linux")]
mod killed;
#[cfg(target_os = "linux")]
mod supervised;

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::editor::framed;

/// Only so that a test that fails does so; nothing below waits for it.
const NEVER: Duration = Duration::from_mins(1);

/// The real binary.
pub struct Binary {
    /// The process.
    pub child: Child,
    /// Its standard input; closed when it is taken away.
    pub input: Option<ChildStdin>,
    output: ChildStdout,
    read: Vec<u8>,
}

impl Binary {
    fn start() -> Binary {
        Binary::start_with(Stdio::null())
    }

    fn start_with(stderr: Stdio) -> Binary {
        // What it keeps is nobody's business outside the build.
        Binary::start_in(stderr, Path::new(env!("CARGO_TARGET_TMPDIR")))
    }

    fn start_in(stderr: Stdio, state: &Path) -> Binary {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ropewalk"));
        Binary::spawn(command.env("XDG_STATE_HOME", state).env("XDG_CONFIG_HOME", state), stderr)
    }

    /// Started by this command.
    pub fn of(command: &mut Command) -> Binary {
        Binary::spawn(command, Stdio::null())
    }

    fn spawn(command: &mut Command, stderr: Stdio) -> Binary {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(stderr).env("RUST_LOG", "warn");
        let mut child = command.kill_on_drop(true).spawn().unwrap();
        let (input, output) = (child.stdin.take(), child.stdout.take().unwrap());
        Binary { child, input, output, read: Vec::new() }
    }

    /// Sends a message.
    pub async fn send(&mut self, message: &Value) {
        let input = self.input.as_mut().expect("an open input");
        input.write_all(&framed(&message.to_string())).await.unwrap();
        input.flush().await.unwrap();
    }

    /// Sends a notification.
    pub async fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params })).await;
    }

    /// Sends a request and gives its answer; everything that comes before it is passed over.
    pub async fn ask(&mut self, id: i64, method: &str, params: Value) -> Value {
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await;
        self.next(|message| message["id"] == id && message.get("method").is_none()).await
    }

    /// The next message that fits; others are passed over.
    pub async fn next(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        let reading = async {
            loop {
                while let Some((message, len)) = crate::editor::first_message(&self.read) {
                    self.read.drain(..len);
                    if fits(&message) {
                        return message;
                    }
                }
                let len = self.output.read_buf(&mut self.read).await.unwrap();
                assert!(len > 0, "it ended");
            }
        };
        tokio::time::timeout(NEVER, reading).await.expect("a message")
    }

    async fn hello(&mut self, process_id: Option<u32>, options: Value) {
        self.hello_in(process_id, options, None).await;
    }

    /// Says hello as an editor with this folder does.
    pub async fn hello_in(&mut self, process_id: Option<u32>, options: Value, folder: Option<&str>) {
        let capabilities = json!({ "workspace": { "applyEdit": true } });
        let params = json!({
            "processId": process_id,
            "rootUri": folder,
            "capabilities": capabilities,
            "initializationOptions": options,
        });
        let answer = self.ask(0, "initialize", params).await;
        assert_eq!(answer["result"]["serverInfo"]["name"], "ropewalk");
        self.notify("initialized", json!({})).await;
    }

    /// Tells it to end.
    pub fn terminate(&self) {
        let id = i32::try_from(self.child.id().unwrap()).unwrap();
        let pid = rustix::process::Pid::from_raw(id).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    }

    /// Its exit code, when it has ended.
    pub async fn code(&mut self) -> Option<i32> {
        tokio::time::timeout(NEVER, self.child.wait()).await.expect("an end").unwrap().code()
    }
}

#[tokio::test]
async fn exit_codes() {
    for (shutdown, code) in [(true, 0), (false, 1)] {
        let mut binary = Binary::start();
        binary.hello(None, json!({})).await;
        if shutdown {
            assert_eq!(binary.ask(1, "shutdown", Value::Null).await["result"], Value::Null);
        }
        binary.notify("exit", Value::Null).await;
        assert_eq!(binary.code().await, Some(code), "its input is still open");
    }
}

#[tokio::test]
async fn the_end_of_input_ends_it() {
    let mut binary = Binary::start();
    binary.hello(None, json!({})).await;
    binary.input = None;
    assert_eq!(binary.code().await, Some(1));
}

#[tokio::test]
async fn a_signal_ends_it_in_good_order() {
    let mut binary = Binary::start();
    binary.hello(None, json!({})).await;
    binary.terminate();
    assert_eq!(binary.code().await, Some(143));
}

#[tokio::test]
async fn it_does_not_outlive_the_editor_though_its_pipes_stay_open() {
    let mut editor = Command::new("sleep").arg("1000").kill_on_drop(true).spawn().unwrap();
    let mut binary = Binary::start();
    binary.hello(editor.id(), json!({})).await;
    editor.kill().await.unwrap();
    assert_eq!(binary.code().await, Some(1));
}

#[tokio::test]
async fn the_end_of_input_in_the_middle_of_a_call_leaves_no_process_behind() {
    leaves_no_process_behind(|binary| binary.input = None, 1).await;
}

#[tokio::test]
async fn a_signal_in_the_middle_of_a_call_leaves_no_process_behind() {
    leaves_no_process_behind(|binary| binary.terminate(), 143).await;
}

/// A language server with a child of its own is gone, and its child too, when the binary has been ended this way.
async fn leaves_no_process_behind(end: impl FnOnce(&mut Binary), code: i32) {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().await.unwrap();
    assert!(made.success());
    // A language server that says it has started and then never answers. The pipe is open for as long as it, or the
    // child it has, lives.
    let script = format!("exec 9>'{}'; echo started >&9; sleep 1000 & exec sleep 1000", pipe.display());
    let options = json!({
        "trusted": true,
        "diagnostics": {
            "ownServers": "on",
            "servers": { "wedged": { "command": ["sh", "-c", script], "languages": ["wedged"] } },
        },
    });
    let mut binary = Binary::start();
    let root = folder.path().display().to_string();
    binary.hello_in(None, options, Some(&format!("file://{root}"))).await;
    let document =
        json!({ "uri": format!("file://{root}/one.wedged"), "languageId": "wedged", "version": 1, "text": "one\n" });
    binary.notify("textDocument/didOpen", json!({ "textDocument": document })).await;
    let listening = tokio::task::spawn_blocking(move || listen(&pipe));
    let read = json!({ "name": "read", "arguments": { "file_path": "one.wedged" } });
    assert_eq!(binary.ask(1, "ropewalk/callTool", read).await["result"]["status"], "ok");
    let (heard, rest) = tokio::time::timeout(NEVER, listening).await.expect("a server that starts").unwrap();
    assert_eq!(heard, "started\n");
    // A call that waits for the editor's answer.
    let write = json!({ "name": "write", "arguments": { "file_path": "one.wedged", "content": "two\n" } });
    binary.send(&json!({ "jsonrpc": "2.0", "id": 2, "method": "ropewalk/callTool", "params": write })).await;
    binary.next(|message| message["method"] == "workspace/applyEdit").await;
    end(&mut binary);
    assert_eq!(binary.code().await, Some(code));
    // Ends only when nobody has the other end of the pipe any more.
    let rest = tokio::task::spawn_blocking(move || std::io::read_to_string(rest).unwrap());
    assert_eq!(tokio::time::timeout(NEVER, rest).await.expect("all processes to end").unwrap(), "");
}

/// Opens the pipe and reads the first line.
fn listen(pipe: &Path) -> (String, std::fs::File) {
    use std::io::Read as _;
    let mut file = std::fs::File::open(pipe).unwrap();
    let mut heard = Vec::new();
    while heard.last() != Some(&b'\n') {
        let mut byte = [0];
        file.read_exact(&mut byte).unwrap();
        heard.push(byte[0]);
    }
    (String::from_utf8(heard).unwrap(), file)
}

/// Each of these makes a line of the log.
fn warning(number: usize) -> Vec<u8> {
    framed(&format!("{{ no json {number} {}", "x".repeat(300)))
}

#[tokio::test]
async fn a_log_that_nobody_reads_stops_nothing() {
    let mut binary = Binary::start_with(Stdio::piped());
    binary.hello(None, json!({})).await;
    // More than the pipe of its standard error holds, which stays open and unread.
    for number in 0..1000 {
        binary.input.as_mut().unwrap().write_all(&warning(number)).await.unwrap();
    }
    assert_eq!(binary.ask(1, "shutdown", Value::Null).await["result"], Value::Null);
    binary.notify("exit", Value::Null).await;
    assert_eq!(binary.code().await, Some(0));
}

#[tokio::test]
async fn a_log_that_is_closed_ends_nothing() {
    let mut binary = Binary::start_with(Stdio::piped());
    drop(binary.child.stderr.take());
    binary.hello(None, json!({})).await;
    for number in 0..3 {
        binary.input.as_mut().unwrap().write_all(&warning(number)).await.unwrap();
    }
    assert_eq!(binary.ask(1, "shutdown", Value::Null).await["result"], Value::Null);
    binary.notify("exit", Value::Null).await;
    assert_eq!(binary.code().await, Some(0));
}

/// Opens the session `pane` in the folder and gives its task list, as text.
async fn kept(state: &Path, folder: &str) -> (Binary, Vec<String>) {
    let mut binary = Binary::start_in(Stdio::null(), state);
    binary.hello_in(None, json!({}), Some(folder)).await;
    let todos = binary.ask(1, "ropewalk/todos", json!({ "sessionId": "pane" })).await;
    let todos = todos["result"]["todos"].as_array().unwrap();
    (binary, todos.iter().map(|todo| todo["content"].as_str().unwrap().to_owned()).collect())
}

#[tokio::test]
async fn killed_in_the_middle_of_writing_it_finds_a_whole_list_again() {
    let (state, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let folder = format!("file://{}", folder.path().canonicalize().unwrap().display());
    let mut last = 0;
    for round in 1..=5 {
        let (mut binary, before) = kept(state.path(), &folder).await;
        // Two at a time on one database.
        let (mut beside, _) = kept(state.path(), &folder).await;
        let numbers: std::collections::BTreeSet<&String> = before.iter().collect();
        assert!(before.is_empty() || before.len() == 150 && numbers.len() == 1, "half a list: {before:?}");
        let found: usize = before.first().map_or(0, |word| word[..8].parse().unwrap());
        assert!(found >= last, "{found} after {last} was answered for and waited on");
        for number in 0..40 * round {
            let word = format!("{:08} {}", round * 1000 + number, "x".repeat(1000));
            let todo = |id: usize| json!({ "id": id.to_string(), "content": word, "status": "pending" });
            let todos: Vec<Value> = (0..150).map(todo).collect();
            let params = json!({ "sessionId": "pane", "todos": todos });
            binary.ask(2 + i64::try_from(number).unwrap(), "ropewalk/todos", params).await;
            if number == 20 {
                let other =
                    json!({ "sessionId": "other", "todos": [{ "id": "1", "content": "o", "status": "pending" }] });
                assert!(beside.ask(2, "ropewalk/todos", other).await.get("error").is_none());
            }
        }
        if round == 3 {
            // Ended in good order, everything is there.
            binary.terminate();
            binary.code().await;
            last = round * 1000 + 40 * round - 1;
        } else {
            binary.child.kill().await.unwrap();
        }
        beside.child.kill().await.unwrap();
    }
}
