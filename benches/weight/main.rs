//! What the real binary weighs: how soon it answers `initialize`, what it takes when nothing is asked of it, and what an
//! open document takes against its text.
//!
//! Memory is what the kernel says of the process: *anonymous* is what belongs to nobody else and cannot be given back
//! (heap, stacks, what the loader has changed); *files* is what is mapped of the program and its libraries, which are on
//! the disk, are dropped when memory is short, and are there once for however many sidecars run.

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a bench prints its table, and ends where it cannot go on"
)]

#[path = "../shared/child.rs"]
mod child;
#[path = "../shared/echo.rs"]
mod echo;
#[path = "../shared/figures.rs"]
mod figures;
#[expect(dead_code, reason = "another bench uses more of it")]
#[path = "../shared/files_server.rs"]
mod files_server;
#[path = "../shared/sidecar.rs"]
mod sidecar;

use std::time::Duration;

use serde_json::json;

use echo::Echo;
use figures::{plain, quantile, ratio, size};
use files_server::FilesServer;
use sidecar::Sidecar;

/// So often each program is started.
const STARTS: usize = 15;

/// The peer is slow to start.
const PEER_STARTS: usize = 5;

/// What comes to rest after a message does so within this.
const REST: Duration = Duration::from_millis(500);

/// The documents: how long each is (bytes), and how many are opened.
const DOCUMENTS: &[(usize, usize)] = &[(1_000, 2_000), (10_000, 500), (100_000, 100), (1_000_000, 20), (10_000_000, 5)];

/// So often each of them is changed.
const CHANGES: usize = 20;

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some(echo::ECHOES) => echo::serve(),
        Some("starts") => starts(),
        Some("idle") => idle(),
        Some("documents") => documents(),
        _ => {
            starts();
            idle();
            documents();
        }
    }
}

/// What the kernel says of a process, in bytes.
#[derive(Debug, Clone, Copy)]
struct Memory {
    resident: f64,
    anonymous: f64,
    /// Its share of all, where what is mapped by several counts for each in part.
    share: f64,
}

impl Memory {
    #[expect(clippy::disallowed_methods, reason = "a bench looks at what it measures")]
    fn of(process: u32) -> Memory {
        let said = std::fs::read_to_string(format!("/proc/{process}/smaps_rollup")).expect("what the kernel says");
        let field = |name: &str| {
            let line = said.lines().find_map(|line| line.strip_prefix(name)).expect("a field");
            line.trim_end_matches("kB").trim().parse::<f64>().expect("a number") * 1024.0
        };
        Memory { resident: field("Rss:"), anonymous: field("Anonymous:"), share: field("Pss:") }
    }
}

fn starts() {
    let folder = tempfile::tempdir().expect("a folder");
    let package = FilesServer::find();
    let (mut ours, mut nothing, mut peer) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..=STARTS {
        let sidecar = Sidecar::start(&json!({})).greeted;
        let echo = Echo::start().greeted;
        // The first one finds nothing in the page cache.
        if round > 0 {
            ours.push(sidecar);
            nothing.push(echo);
        }
        if let Some(package) = package.as_deref().filter(|_| round < PEER_STARTS) {
            peer.push(FilesServer::start(package, folder.path()).greeted);
        }
    }
    let median = quantile(&mut ours, 50);
    println!("from the start of a process to its first answer, medians\n");
    println!("| program | ms | 95 % | against ours |");
    println!("|---|---:|---:|---:|");
    let peers = [("ours", Some(ours)), ("nothing but the answer", Some(nothing)), ("the peer", Some(peer))];
    for (name, times) in peers {
        let Some(mut times) = times.filter(|times| !times.is_empty()) else { continue };
        let time = quantile(&mut times, 50);
        let shown = |time: Duration| plain(time.as_secs_f64() * 1e3);
        println!("| {name} | {} | {} | {} |", shown(time), shown(quantile(&mut times, 95)), ratio(time, median));
    }
}

fn idle() {
    println!("\nmemory, MB of 1,000,000 bytes\n");
    println!("| state | anonymous | files | together | share of all |");
    println!("|---|---:|---:|---:|---:|");
    let mut sidecar = Sidecar::start(&json!({}));
    row("idle after `initialize`", sidecar.id());
    sidecar.ask("ropewalk/listTools", &json!({}));
    row("the tools were listed", sidecar.id());
    sidecar.open("a.txt", &format!("{}count = 0;\n", text(10_000)));
    for turn in 0..1_000 {
        sidecar.call("read", &json!({ "file_path": "a.txt", "limit": 50 }));
        let (old, new) = (format!("count = {turn};"), format!("count = {};", turn + 1));
        sidecar.call("edit", &json!({ "file_path": "a.txt", "old_string": old, "new_string": new }));
        if turn == 0 {
            row("the first read and the first edit", sidecar.id());
        }
    }
    row("1,000 reads and edits", sidecar.id());
    sidecar.call("grep", &json!({ "pattern": "count" }));
    row("a search", sidecar.id());
    drop(sidecar);
    let echo = Echo::start();
    row("nothing but the answer", echo.id());
    if let Some(package) = FilesServer::find() {
        let folder = tempfile::tempdir().expect("a folder");
        row("the peer, idle", FilesServer::start(&package, folder.path()).id());
    }
}

/// Lets what a message began come to its end, of which nobody tells.
#[expect(clippy::disallowed_methods, reason = "what is waited for has no event")]
fn rest() {
    std::thread::sleep(REST);
}

fn row(state: &str, process: u32) {
    rest();
    let Memory { resident, anonymous, share } = Memory::of(process);
    let shown = |bytes: f64| plain(bytes / 1e6);
    let files = shown(resident - anonymous);
    println!("| {state} | {} | {files} | {} | {} |", shown(anonymous), shown(resident), shown(share));
}

fn documents() {
    println!("\nmemory of an open document, in bytes for each byte of its text\n");
    println!("| text | documents | opened | a document | after {CHANGES} changes each | closed again |");
    println!("|---:|---:|---:|---:|---:|---:|");
    for &(bytes, count) in DOCUMENTS {
        let mut sidecar = Sidecar::start(&json!({}));
        let text = text(bytes);
        // What the first document brings along is not the weight of a document.
        sidecar.open("first.txt", "first\n");
        let weigh = |sidecar: &mut Sidecar| {
            sidecar.ask("ropewalk/status", &json!({}));
            rest();
            Memory::of(sidecar.id()).anonymous
        };
        let names: Vec<String> = (0..count).map(|number| format!("{number}.txt")).collect();
        let before = weigh(&mut sidecar);
        for name in &names {
            sidecar.open(name, &text);
        }
        let opened = weigh(&mut sidecar);
        for change in 0..CHANGES {
            for name in &names {
                let line = change * 7_919 % text.len().div_ceil(50);
                let frame = sidecar.change(name, Some(((line, 3), (line, 4))), "X");
                sidecar.write(&frame);
            }
        }
        let changed = weigh(&mut sidecar);
        for name in &names {
            let document = json!({ "uri": sidecar.uri(name) });
            sidecar.tell("textDocument/didClose", &json!({ "textDocument": document }));
        }
        let closed = weigh(&mut sidecar);
        #[expect(clippy::cast_precision_loss, reason = "counts of a bench")]
        let (all, each) = ((bytes * count) as f64, count as f64);
        let of = |now: f64| plain((now - before) / all);
        let document = plain((opened - before) / each / 1e3);
        println!("| {} | {count} | {} | {document} KB | {} | {} |", size(bytes), of(opened), of(changed), of(closed));
    }
}

/// A text of so many bytes in lines of 50.
fn text(bytes: usize) -> String {
    let line = |number: usize| format!("{:<49}\n", format!("line {number} of a text with some words"));
    let mut text: String = (0..bytes.div_ceil(50)).map(line).collect();
    text.truncate(bytes);
    text
}
