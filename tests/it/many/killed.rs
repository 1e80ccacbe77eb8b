//! The real program, killed at moments that a seed chooses while it patches forty files, of which half
//! are open and unsaved in an editor that lives on.

#![expect(clippy::disallowed_methods, reason = "the process is started as an editor starts it, and the test has files")]

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use ropewalk::ports::{Random as _, Seeded};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::editor::framed;

const FILES: usize = 40;
const OPEN: usize = 20;
const KILLS: usize = 200;

/// Only so that a test that fails does so; nothing below waits for it.
const NEVER: Duration = Duration::from_mins(1);

/// A connection to a process.
struct Sidecar {
    child: Child,
    input: ChildStdin,
    output: ChildStdout,
    read: Vec<u8>,
    last_id: i64,
}

/// What ends the wait for an answer.
enum Came {
    Answer(Value),
    Killed,
}

/// When the process is killed.
#[derive(Debug, Clone, Copy)]
enum Moment {
    /// When it has sent so many messages.
    Messages(usize),
    /// When so many bytes of an edit's echo and answers have been written to it.
    Bytes(usize),
    /// When so many closed files have no longer this text.
    Files(usize, char),
    Never,
}

struct Buffer {
    text: String,
    version: i32,
}

/// The editor and its files.
struct Desk {
    folder: PathBuf,
    state: PathBuf,
    buffers: Vec<Buffer>,
}

impl Desk {
    fn path(&self, number: usize) -> PathBuf {
        self.folder.join(format!("{number:02}.txt"))
    }

    fn uri(&self, number: usize) -> String {
        format!("file://{}", self.path(number).display())
    }

    fn file(&self, number: usize) -> String {
        std::fs::read_to_string(self.path(number)).unwrap()
    }

    /// Which of the two texts each file and document has; `None`: neither.
    fn states(&self) -> Vec<Option<char>> {
        let state = |text: &str| {
            let (_, state) = text.split_once("\nstate ")?;
            let (state, rest) = state.split_at(1);
            (rest == "\nend\n").then(|| state.chars().next()).flatten()
        };
        let open = self.buffers.iter().map(|buffer| state(&buffer.text));
        open.chain((OPEN..FILES).map(|number| state(&self.file(number)))).collect()
    }

    async fn start(&self) -> Sidecar {
        let mut child = Command::new(env!("CARGO_BIN_EXE_ropewalk"))
            .env("XDG_STATE_HOME", &self.state)
            .env("XDG_CONFIG_HOME", &self.state)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut sidecar = Sidecar { child, input, output, read: Vec::new(), last_id: 0 };
        let hello = super::hello(&format!("file://{}", self.folder.display()));
        sidecar.request("initialize", hello).await;
        sidecar
    }

    /// Says hello and opens all documents again.
    async fn connect(&mut self) -> Sidecar {
        let mut sidecar = self.start().await;
        let Came::Answer(_) = self.answer(&mut sidecar, Moment::Never).await else { panic!("killed") };
        sidecar.notify("initialized", json!({})).await;
        for (number, buffer) in self.buffers.iter().enumerate() {
            let document = json!({
                "uri": self.uri(number), "languageId": "text", "version": buffer.version, "text": buffer.text,
            });
            sidecar.notify("textDocument/didOpen", json!({ "textDocument": document })).await;
        }
        sidecar
    }

    /// Waits for the answer to the last request, and applies edits meanwhile, or kills the process when the time has come.
    async fn answer(&mut self, sidecar: &mut Sidecar, moment: Moment) -> Came {
        let (mut messages, mut bytes) = (0, 0);
        let waiting = async {
            loop {
                if let Moment::Files(wanted, old) = moment {
                    let texts: Vec<String> = (OPEN..FILES).map(|number| self.file(number)).collect();
                    let in_b = texts.iter().filter(|text| text.contains("state B")).count();
                    if (if old == 'A' { in_b } else { texts.len() - in_b }) >= wanted {
                        return Came::Killed;
                    }
                }
                while let Some((message, len)) = crate::editor::first_message(&sidecar.read) {
                    sidecar.read.drain(..len);
                    messages += 1;
                    if matches!(moment, Moment::Messages(at) if messages >= at) {
                        return Came::Killed;
                    }
                    if message.get("method").is_none() && message["id"] == sidecar.last_id {
                        return Came::Answer(message["result"].clone());
                    }
                    if message["method"] == "workspace/applyEdit" {
                        for sent in self.apply(&message) {
                            let left = match moment {
                                Moment::Bytes(at) => at.saturating_sub(bytes).min(sent.len()),
                                _ => sent.len(),
                            };
                            sidecar.input.write_all(&sent[..left]).await.unwrap();
                            sidecar.input.flush().await.unwrap();
                            bytes += left;
                            if left < sent.len() {
                                return Came::Killed;
                            }
                        }
                    }
                }
                if let Moment::Files(..) = moment {
                    // Looks at the files all the time, and takes what has come.
                    tokio::select! {
                        biased;
                        read = sidecar.output.read_buf(&mut sidecar.read) => assert!(read.unwrap() > 0, "it ended"),
                        () = tokio::task::yield_now() => {}
                    }
                } else {
                    assert!(sidecar.output.read_buf(&mut sidecar.read).await.unwrap() > 0, "it ended");
                }
            }
        };
        tokio::time::timeout(NEVER, waiting).await.expect("an answer")
    }

    /// Applies an edit; what is to be sent for it.
    fn apply(&mut self, message: &Value) -> [Vec<u8>; 2] {
        let change = &message["params"]["edit"]["documentChanges"][0];
        let uri = change["textDocument"]["uri"].as_str().unwrap();
        let number = (0..OPEN).find(|number| self.uri(*number) == uri).unwrap();
        let buffer = &mut self.buffers[number];
        assert_eq!(change["textDocument"]["version"], buffer.version);
        let mut changes = Vec::new();
        for edit in change["edits"].as_array().unwrap().iter().rev() {
            let offset = |position: &Value| {
                let line = usize::try_from(position["line"].as_u64().unwrap()).unwrap();
                let character = usize::try_from(position["character"].as_u64().unwrap()).unwrap();
                buffer.text.split_inclusive('\n').take(line).map(str::len).sum::<usize>() + character
            };
            let range = offset(&edit["range"]["start"])..offset(&edit["range"]["end"]);
            buffer.text.replace_range(range, edit["newText"].as_str().unwrap());
            changes.push(json!({ "range": edit["range"], "text": edit["newText"] }));
        }
        buffer.version += 1;
        let document = json!({ "uri": uri, "version": buffer.version });
        let changed = json!({
            "jsonrpc": "2.0", "method": "textDocument/didChange",
            "params": { "textDocument": document, "contentChanges": changes },
        });
        let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": { "applied": true } });
        [framed(&changed.to_string()), framed(&answer.to_string())]
    }
}

impl Sidecar {
    async fn send(&mut self, message: Value) {
        self.input.write_all(&framed(&message.to_string())).await.unwrap();
        self.input.flush().await.unwrap();
    }

    async fn notify(&mut self, method: &str, params: Value) {
        self.send(json!({ "jsonrpc": "2.0", "method": method, "params": params })).await;
    }

    async fn request(&mut self, method: &str, params: Value) {
        self.last_id += 1;
        let id = self.last_id;
        self.send(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await;
    }

    async fn call(&mut self, name: &str, arguments: Value) {
        self.request("ropewalk/callTool", json!({ "name": name, "arguments": arguments })).await;
    }
}

fn create(folder: &Path) -> Desk {
    let folder = folder.canonicalize().unwrap();
    let (files, state) = (folder.join("files"), folder.join("state"));
    std::fs::create_dir(&files).unwrap();
    let buffer = || Buffer { text: "unsaved\nstate A\nend\n".to_owned(), version: 1 };
    let desk = Desk { folder: files, state, buffers: (0..OPEN).map(|_| buffer()).collect() };
    for number in 0..FILES {
        let text = if number < OPEN { "saved\n" } else { "closed\nstate A\nend\n" };
        std::fs::write(desk.path(number), text).unwrap();
    }
    desk
}

#[tokio::test]
async fn forty_files_are_wholly_old_or_wholly_new_after_a_kill_at_any_moment() {
    let folder = tempfile::tempdir().unwrap();
    let mut desk = create(folder.path());
    let random = Seeded::new(7);
    let below = |limit: usize| usize::try_from(random.next() % limit as u64).unwrap();
    let (mut old, mut mixed, mut typed) = ('A', 0, vec![String::new(); OPEN]);
    let mut outcomes = std::collections::BTreeMap::new();
    let mut sidecar = desk.connect().await;
    for round in 0..KILLS {
        let new = if old == 'A' { 'B' } else { 'A' };
        let changes = (0..FILES).map(|number| {
            // Open and closed ones by turns.
            let number = number / 2 + number % 2 * OPEN;
            format!("*** Update File: {}\n@@\n-state {old}\n+state {new}\n", desk.path(number).display())
        });
        let patch = format!("*** Begin Patch\n{}*** End Patch\n", changes.collect::<String>());
        sidecar.call("apply_patch", json!({ "patch": patch })).await;
        let moment = match below(8) {
            0..3 => Moment::Messages(1 + below(OPEN + 3)),
            3..5 => Moment::Bytes(below(6000)),
            _ => Moment::Files(below(FILES - OPEN), old),
        };
        let came = desk.answer(&mut sidecar, moment).await;
        sidecar.child.kill().await.unwrap();
        let states = desk.states();
        assert!(states.iter().all(Option::is_some), "{round}: {states:?}");
        mixed += usize::from(states.iter().any(|state| *state != states[0]));
        if matches!(came, Came::Answer(_)) {
            assert!(states.iter().all(|state| *state == Some(new)), "{round}: it was answered, {states:?}");
        }
        // The user types on while nobody listens.
        let at = below(OPEN);
        if typed[at].len() < 40 {
            typed[at].insert(0, 'x');
            desk.buffers[at].text.insert(0, 'x');
            desk.buffers[at].version += 1;
        }
        sidecar = desk.connect().await;
        sidecar.call("ls", json!({ "path": desk.folder })).await;
        let Came::Answer(result) = desk.answer(&mut sidecar, Moment::Never).await else { panic!("killed") };
        let states = desk.states();
        assert!(states.iter().all(|state| *state == states[0]), "{round} {moment:?}: {states:?} {result}");
        let told = result["content"][0]["text"].as_str().unwrap();
        assert!(!told.contains("could not be taken back"), "{told}");
        for (number, typed) in typed.iter().enumerate() {
            let state = states[0].unwrap();
            assert_eq!(desk.buffers[number].text, format!("{typed}unsaved\nstate {state}\nend\n"), "{round}");
            assert_eq!(desk.file(number), "saved\n", "{round}");
        }
        *outcomes.entry(states[0] == Some(new)).or_insert(0) += 1;
        old = states[0].unwrap();
    }
    assert!(mixed > KILLS / 4, "{mixed} kills in the middle, {outcomes:?}");
    assert_eq!(outcomes.len(), 2, "both were seen: {outcomes:?}");
    // Nothing is left, beside the lock of the last one.
    let journal = std::fs::read_dir(desk.state.join("ropewalk/journal")).unwrap();
    let left: Vec<String> = journal.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    assert!(left.iter().all(|name| Path::new(name).extension().is_some_and(|ending| ending == "lock")), "{left:?}");
    assert_eq!(std::fs::read_dir(&desk.folder).unwrap().count(), FILES, "no temporary file is left");
}
