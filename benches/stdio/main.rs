//! What one call costs from the editor's side of the pipe: a read and an edit, asked of the real binary over stdio, of the
//! files server of the MCP project, and of a server that does nothing, in turn, so that a busy machine is busy for all.
//!
//! The bench plays the editor: it applies an edit, tells the change and answers. `tests/run peers` installs the peer;
//! without it the columns are empty.

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a bench prints its table, and ends where it cannot go on"
)]

#[path = "../shared/child.rs"]
mod child;
#[expect(dead_code, reason = "another bench uses more of it")]
#[path = "../shared/echo.rs"]
mod echo;
#[path = "../shared/figures.rs"]
mod figures;
#[expect(dead_code, reason = "another bench uses more of it")]
#[path = "../shared/files_server.rs"]
mod files_server;
#[expect(dead_code, reason = "another bench uses more of it")]
#[path = "../shared/sidecar.rs"]
mod sidecar;

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use echo::Echo;
use figures::{plain, quantile, ratio, size};
use files_server::FilesServer;
use sidecar::Sidecar;

/// The texts: how long (bytes), and how often each call is made of one.
const TEXTS: &[(usize, usize)] = &[(1_000, 300), (100_000, 200), (1_000_000, 40)];

/// So many rounds come first that do not count.
const BEFORE: usize = 20;

fn main() {
    if std::env::args().nth(1).is_some_and(|word| word == echo::ECHOES) {
        return echo::serve();
    }
    let peer = FilesServer::find();
    match &peer {
        Some(package) => println!("medians and 95 % in microseconds; the peer is {}", FilesServer::version(package)),
        None => println!("medians and 95 % in microseconds; the peer is not here: `tests/run peers` installs it"),
    }
    println!(
        "| call | text | ours | 95 % | answer, bytes | peer | 95 % | answer, bytes | peer / ours | nothing | ours / nothing |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    for &(bytes, rounds) in TEXTS {
        Bench::new(bytes, peer.as_deref()).run(rounds);
    }
}

/// Everybody, with one text each, twice: for reads, and for edits.
struct Bench {
    bytes: usize,
    /// With the settings that everybody has.
    sidecar: Sidecar,
    /// With answers as long as they get.
    ample: Sidecar,
    peer: Option<FilesServer>,
    echo: Echo,
    /// The folder of the peer's files.
    folder: tempfile::TempDir,
    /// So many edits were made.
    edits: usize,
}

/// One kind of call: the times of everybody, and how long the answers were.
#[derive(Default)]
struct Row {
    ours: Vec<Duration>,
    peer: Vec<Duration>,
    nothing: Vec<Duration>,
    answer: usize,
    peer_answer: usize,
}

impl Bench {
    fn new(bytes: usize, package: Option<&Path>) -> Bench {
        let folder = tempfile::tempdir().expect("a folder");
        let text = text(bytes);
        // What was shown already would only be referred to.
        let read = json!({ "unchanged": false });
        let mut sidecar = Sidecar::start(&json!({ "read": read }));
        let mut ample = Sidecar::start(&json!({ "read": read, "output": {
            "maxBytes": 8_000_000, "headBytes": 6_000_000, "tailBytes": 2_000_000, "displayBytes": 16_000_000,
        } }));
        for sidecar in [&mut sidecar, &mut ample] {
            for name in ["closed.txt", "open.txt"] {
                write(&sidecar.path(name), &text);
            }
            sidecar.open("open.txt", &text);
        }
        for name in ["read.txt", "edit.txt"] {
            write(&folder.path().join(name), &text);
        }
        let root = folder.path().canonicalize().expect("a folder");
        let peer = package.map(|package| FilesServer::start(package, &root));
        Bench { bytes, sidecar, ample, peer, echo: Echo::start(), folder, edits: 0 }
    }

    fn run(mut self, rounds: usize) {
        let kinds = ["read, open", "read, closed", "read, open, all of it", "edit, open", "edit, closed"];
        let mut rows: Vec<Row> = kinds.iter().map(|_| Row::default()).collect();
        for round in 0..rounds + BEFORE {
            if round == BEFORE {
                rows = kinds.iter().map(|_| Row::default()).collect();
            }
            let [open, closed, all, edit, edit_closed] = rows.as_mut_slice() else { return };
            let (time, answer) = read(&mut self.sidecar, "open.txt", None);
            open.ours(time, answer);
            open.nothing.push(self.echo.timed(&[], &json!({ "answer": answer })));
            let (time, answer) = read(&mut self.sidecar, "closed.txt", None);
            closed.ours(time, answer);
            closed.nothing.push(self.echo.timed(&[], &json!({ "answer": answer })));
            let (time, answer) = read(&mut self.ample, "open.txt", Some(self.bytes));
            all.ours(time, answer);
            all.nothing.push(self.echo.timed(&[], &json!({ "answer": answer })));
            self.edits += 1;
            for (name, row, exchanges) in [("open.txt", &mut *edit, 2), ("closed.txt", &mut *edit_closed, 1)] {
                let (time, result) = self.sidecar.call("edit", &edit_of(name, self.edits));
                row.ours(time, answered(&result["content"]));
                // An edit in the editor is two questions: ours of the call, and the one to the editor that it has in it.
                let nothing =
                    (0..exchanges).map(|_| self.echo.timed(&[], &json!({ "answer": row.answer / exchanges })));
                let nothing = nothing.sum();
                row.nothing.push(nothing);
            }
            if let Some(peer) = &mut self.peer {
                let path = self.folder.path().join("read.txt");
                let (time, result) = peer.call("read_text_file", &json!({ "path": path }));
                for row in [&mut *open, &mut *closed, &mut *all] {
                    row.peer.push(time);
                    row.peer_answer = answered(&result["content"]);
                }
                let path = self.folder.path().join("edit.txt");
                let (old, new) = count(self.edits);
                let edits = json!([{ "oldText": old, "newText": new }]);
                let (time, result) = peer.call("edit_file", &json!({ "path": path, "edits": edits }));
                for row in [&mut *edit, &mut *edit_closed] {
                    row.peer.push(time);
                    row.peer_answer = answered(&result["content"]);
                }
            }
        }
        for (kind, row) in kinds.iter().zip(rows) {
            row.print(kind, self.bytes);
        }
    }
}

impl Row {
    fn ours(&mut self, time: Duration, answer: usize) {
        self.ours.push(time);
        self.answer = answer;
    }

    fn print(mut self, kind: &str, bytes: usize) {
        let shown = |time: Duration| plain(time.as_secs_f64() * 1e6);
        let (ours, late) = (quantile(&mut self.ours, 50), quantile(&mut self.ours, 95));
        let nothing = quantile(&mut self.nothing, 50);
        let peer = if self.peer.is_empty() {
            "| | | |".to_owned()
        } else {
            let (peer, late) = (quantile(&mut self.peer, 50), quantile(&mut self.peer, 95));
            format!("| {} | {} | {} | {}", shown(peer), shown(late), self.peer_answer, ratio(peer, ours))
        };
        println!(
            "| {kind} | {} | {} | {} | {} {peer} | {} | {} |",
            size(bytes),
            shown(ours),
            shown(late),
            self.answer,
            shown(nothing),
            ratio(ours, nothing)
        );
    }
}

/// How long a read takes, and how long its answer is. `whole`: the answer has to have a text of so many bytes.
fn read(sidecar: &mut Sidecar, name: &str, whole: Option<usize>) -> (Duration, usize) {
    let mut arguments = json!({ "file_path": name });
    if whole.is_some() {
        arguments["limit"] = json!(10_000_000);
    }
    let (time, result) = sidecar.call("read", &arguments);
    let answer = answered(&result["content"]);
    assert!(whole.is_none_or(|bytes| answer > bytes), "{answer} bytes are not all of it");
    (time, answer)
}

/// How many bytes of text are in the content of an answer.
fn answered(content: &Value) -> usize {
    content.as_array().into_iter().flatten().filter_map(|part| part["text"].as_str()).map(str::len).sum()
}

fn edit_of(name: &str, edits: usize) -> Value {
    let (old, new) = count(edits);
    json!({ "file_path": name, "old_string": old, "new_string": new })
}

/// What the edit with this number replaces, and by what.
fn count(edits: usize) -> (String, String) {
    (format!("count = {};", edits - 1), format!("count = {edits};"))
}

/// A text of about so many bytes with a line in its middle for the edits.
fn text(bytes: usize) -> String {
    let line = |number: usize| format!("line {number} of a text with some words in it\n");
    let half: String = (0..)
        .map(line)
        .scan(0, |sum, line| {
            *sum += line.len();
            (*sum <= bytes / 2).then_some(line)
        })
        .collect();
    format!("{half}count = 0;\n{half}")
}

/// Writes a file.
#[expect(clippy::disallowed_methods, reason = "a bench prepares what it measures")]
fn write(path: &Path, text: &str) {
    std::fs::write(path, text).expect("a file");
}
