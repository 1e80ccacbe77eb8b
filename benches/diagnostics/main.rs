//! What the wait for diagnostics adds to a call: the time from the last message of a language server that is needed to
//! the result of the call, and what a call costs that has nothing to wait for.
//!
//! The front, the rooms and the tools are the real ones, with an editor over a pipe in memory. The language server is
//! played here: its process is this program once more, which only passes bytes on (`passes bytes on PORT`), so that both
//! moments are read from one clock; that way through another process is in the times. Each round makes the same edit of
//! every kind in turn, so that a busy machine is busy for all of them.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench prints its table, and ends where it cannot go on"
)]
#![expect(clippy::expect_used, reason = "so does the editor of the tests")]
#![expect(unreachable_pub, clippy::needless_pass_by_value, reason = "the editor of the tests is shared")]

#[expect(dead_code, reason = "the tests use more of it")]
#[path = "../../tests/it/editor.rs"]
mod editor;
mod language;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use ropewalk::ports::Ports;
use ropewalk::server::{self, ServeOptions};
use serde_json::{Value, json};

use editor::{FakeEditor, Manner};
use language::{Language, Speaks};

/// So many edits of each kind count, after the first that do not.
const ROUNDS: usize = 200;

/// So many edits come before those that count: until the server is known not to publish twice.
const BEFORE: usize = 10;

/// So long the server takes for a check, so that the call has nothing else to do when it answers.
const CHECK: Duration = Duration::from_millis(50);

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [word, port] = words.as_slice()
        && word == language::PASSES_ON
    {
        return language::pass_on(port.parse().unwrap());
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(measure());
}

/// An editor with one document.
struct Bench {
    editor: FakeEditor,
    language: Option<Language>,
    edits: u64,
    _folder: tempfile::TempDir,
}

/// The times of one edit: the whole call, and from the server's last needed message.
struct Times {
    call: Duration,
    tail: Option<Duration>,
}

impl Bench {
    async fn new(speaks: Option<Speaks>) -> Bench {
        let folder = tempfile::tempdir().unwrap();
        let root: PathBuf = folder.path().canonicalize().unwrap();
        let options = ServeOptions { trusted: vec![root.clone()], ..ServeOptions::default() };
        let serve = |input, output| tokio::spawn(server::serve(input, output, Ports::system(), options));
        let mut editor = FakeEditor::start(serve);
        let listening = speaks.map(|_| language::listen());
        let servers = match &listening {
            Some((_, command)) => json!({ "played": { "command": command, "languages": ["text"] } }),
            None => json!({}),
        };
        let uri = |path: &std::path::Path| url::Url::from_file_path(path).unwrap().to_string();
        let params = json!({
            "processId": null,
            "workspaceFolders": [{ "uri": uri(&root), "name": "w" }],
            "initializationOptions": { "diagnostics": { "servers": servers } },
            "capabilities": {
                "general": { "positionEncodings": ["utf-8"] },
                "workspace": { "applyEdit": true, "configuration": true },
            },
        });
        editor.ask("initialize", params).await;
        editor.notify("initialized", json!({}));
        let filler: String =
            (0..500).flat_map(|line| ["line ".into(), line.to_string(), " of a text\n".into()]).collect();
        editor.open(&uri(&root.join("a.txt")), &format!("{filler}count = 0;\n{filler}"));
        let read = json!({ "name": "read", "arguments": { "file_path": "a.txt" } });
        editor.ask("ropewalk/callTool", read).await;
        let language = match (listening, speaks) {
            (Some((listener, _)), Some(speaks)) => Some(Language::accept(listener, speaks).await),
            _ => None,
        };
        Bench { editor, language, edits: 0, _folder: folder }
    }

    /// One edit, with this wait; it is only seen to be right.
    async fn edit(&mut self, wait: &str) -> Times {
        let (old, new) = (format!("count = {};", self.edits), format!("count = {};", self.edits + 1));
        self.edits += 1;
        let arguments = json!({ "file_path": "a.txt", "old_string": old, "new_string": new });
        let call = json!({ "name": "edit", "arguments": arguments, "diagnostics": { "wait": wait } });
        let start = Instant::now();
        let id = self.editor.request("ropewalk/callTool", call);
        self.editor.serve_edit(Manner::Apply).await;
        let answering = async {
            match &mut self.language {
                Some(language) => Some(language.check(CHECK).await),
                None => None,
            }
        };
        let ending = async {
            let result = self.editor.result(id).await;
            (result, Instant::now())
        };
        let (answered, (result, end)) = tokio::join!(answering, ending);
        let verdict = &result["diagnostics"]["documents"][0]["sources"][0]["verdict"];
        // Where nobody waits, a machine that is busy may be so slow that the server has spoken all the same.
        let expected: &[&str] = match (&self.language, wait) {
            (None, _) => &["noServer"],
            (Some(_), "auto") => &["fresh"],
            (Some(_), _) => &["stale", "fresh"],
        };
        let right = verdict.as_str().is_some_and(|verdict| expected.contains(&verdict));
        assert!(right || self.edits < 3, "{wait}: {result}");
        let tail = answered.filter(|_| wait == "auto").map(|answered| end.saturating_duration_since(answered));
        Times { call: end - start, tail }
    }

    /// Lets everything come to rest, and takes what was late out of the way.
    async fn rest(&mut self) {
        tokio::time::sleep(Duration::from_millis(5)).await;
        let read = json!({ "name": "read", "arguments": { "file_path": "a.txt", "limit": 1 } });
        let _: Value = self.editor.ask("ropewalk/callTool", read).await;
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.editor.accept_rest();
    }
}

async fn measure() {
    let kinds = [("publishes", Some(Speaks::Publishes)), ("is asked", Some(Speaks::Answers)), ("no server", None)];
    let mut benches = Vec::new();
    for (name, speaks) in kinds {
        benches.push((name, Bench::new(speaks).await, Vec::new(), Vec::new(), Vec::new()));
    }
    for round in 0..ROUNDS + BEFORE {
        for (_, bench, waited, plain, tails) in &mut benches {
            let times = bench.edit("auto").await;
            bench.rest().await;
            let peer = bench.edit("none").await;
            bench.rest().await;
            if round >= BEFORE {
                waited.push(times.call);
                plain.push(peer.call);
                tails.extend(times.tail);
            }
        }
    }
    println!("medians of {ROUNDS} edits of each kind, ms; a check takes {} ms", CHECK.as_millis());
    println!(
        "| server | last message to result | 95 % | whole call | the same, `wait: none` | ratio | less the check |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|");
    for (name, _, mut waited, mut plain, mut tails) in benches {
        let (tail, most) = if tails.is_empty() {
            (String::new(), String::new())
        } else {
            (shown(quantile(&mut tails, 50)), shown(quantile(&mut tails, 95)))
        };
        let check = if tail.is_empty() { Duration::ZERO } else { CHECK };
        let (call, peer) = (quantile(&mut waited, 50), quantile(&mut plain, 50));
        let ratio = call.as_secs_f64() / peer.as_secs_f64();
        let less = call.saturating_sub(check).as_secs_f64() / peer.as_secs_f64();
        println!("| {name} | {tail} | {most} | {} | {} | {ratio:.2} | {less:.2} |", shown(call), shown(peer));
    }
}

fn quantile(times: &mut [Duration], percent: usize) -> Duration {
    times.sort_unstable();
    times[times.len() * percent / 100]
}

fn shown(time: Duration) -> String {
    format!("{:.2}", time.as_secs_f64() * 1000.0)
}
