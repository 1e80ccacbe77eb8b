//! Searches of ours against ripgrep and fd: the same trees, the same answers, ratios of medians in one run.
//!
//! `tests/run peers` installs both and runs this. Arguments choose: names of trees (`crates`, `node`, `small`, or the path
//! of any folder). Runs of the two are interleaved, so that a busy machine is busy for both; the peers' time has the start
//! of a process in it, as an agent that runs them would pay it, and their output goes to a file. Ours has everything up to
//! the text of the answer. Order: theirs none, ours by path.

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a bench prints its table, and ends where it cannot go on"
)]

mod peers;
mod trees;

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ropewalk::config::Settings;
use ropewalk::editor::Absent;
use ropewalk::ports::{Disk as _, Ports, SystemDisk};
use ropewalk::workspace::search::{Besides, Case, Job, Mode, Query, Wanted};
use ropewalk::workspace::{Documents, Key, Roots, Workspace};
use tokio_util::sync::CancellationToken;

use peers::Peers;
use trees::Tree;

/// Each time is the median of so many runs, after one that is not counted.
const RUNS: usize = 7;

/// So many documents are open, with unsaved changes.
const OPEN: usize = 50;

/// What is looked for: a name, the pattern, and what case means.
const PATTERNS: &[(&str, &str, Case)] = &[
    ("rare word", "deserialize_any", Case::Sensitive),
    ("absent", "zqxjkvbpw", Case::Sensitive),
    ("common word", "return", Case::Sensitive),
    ("regex", r"\w+_test\(", Case::Sensitive),
    ("any case", "todo|fixme", Case::Insensitive),
];

fn main() {
    let chosen: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let Some(peers) = Peers::find() else {
        println!("search: neither ripgrep nor fd is here; `tests/run peers` installs them");
        return;
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    println!("ratios are ours / theirs; medians of {RUNS} interleaved runs; {}", peers.versions());
    println!("| tree | what | answer | theirs ms | ours ms | ratio | ours, {OPEN} unsaved, ms | ratio |");
    println!("|---|---|---|---:|---:|---:|---:|---:|");
    for tree in trees::trees(&chosen) {
        runtime.block_on(bench(&peers, &tree));
    }
}

async fn bench(peers: &Peers, tree: &Tree) {
    let plain = workspace(&tree.path, &[]);
    let mut files = names(&plain).await;
    files.sort();
    let step = (files.len() / OPEN).max(1);
    let open: Vec<String> = files.iter().step_by(step).take(OPEN).cloned().collect();
    let overlaid = workspace(&tree.path, &open);
    for (what, pattern, case) in PATTERNS {
        let query = Query {
            pattern: (*pattern).to_owned(),
            literal: false,
            word: false,
            case: *case,
            multiline: false,
            before: 0,
            after: 0,
            per_file: usize::MAX / 4,
            mode: Mode::Lines,
            skip: 0,
            limit: usize::MAX / 4,
        };
        let theirs = peers.count(pattern, *case, &tree.path);
        let counted = |(lines, files): (u64, u64)| format!("{lines} lines in {files} files");
        for workspace in [&plain, &overlaid] {
            let (_, ours) = grep(workspace, &query).await;
            assert!(ours == theirs, "{what}: {} theirs, {} ours", counted(theirs), counted(ours));
        }
        let mut times = [Vec::new(), Vec::new(), Vec::new()];
        for _ in 0..RUNS {
            times[0].push(peers.grep(pattern, *case, &tree.path));
            for (at, workspace) in [(1, &plain), (2, &overlaid)] {
                let start = Instant::now();
                let (text, _) = grep(workspace, &query).await;
                times[at].push(start.elapsed());
                std::hint::black_box(text);
            }
        }
        row(&tree.name, &format!("grep: {what}"), &counted(theirs), times);
    }
    let theirs = peers.files(&tree.path);
    for workspace in [&plain, &overlaid] {
        let mut ours = names(workspace).await;
        ours.sort();
        assert!(ours == theirs, "files: {} theirs, {} ours", theirs.len(), ours.len());
    }
    let mut times = [Vec::new(), Vec::new(), Vec::new()];
    for _ in 0..RUNS {
        times[0].push(peers.list(&tree.path));
        for (at, workspace) in [(1, &plain), (2, &overlaid)] {
            let start = Instant::now();
            let names = names(workspace).await;
            times[at].push(start.elapsed());
            std::hint::black_box(names);
        }
    }
    row(&tree.name, "files", &format!("{} files", theirs.len()), times);
}

fn row(tree: &str, what: &str, answer: &str, times: [Vec<Duration>; 3]) {
    let [theirs, ours, overlaid] = times.map(|mut times| {
        times.sort();
        times[times.len() / 2].as_secs_f64() * 1e3
    });
    println!(
        "| {tree} | {what} | {answer} | {theirs:.1} | {ours:.1} | {:.2} | {overlaid:.1} | {:.2} |",
        ours / theirs,
        overlaid / theirs
    );
}

/// A workspace with one folder, and files of it open with a line more than on the disk.
fn workspace(folder: &Path, open: &[String]) -> Workspace {
    let documents = Arc::new(Documents::new());
    let workspace = Workspace::new(Ports::system(), Arc::new(Absent), Arc::clone(&documents));
    workspace.set_roots(Roots::from_paths(&SystemDisk, [folder]));
    let mut settings = Settings::default();
    // So that the answers are the same.
    settings.search.secrets = true;
    settings.search.time_limit_ms = 600_000;
    workspace.set_settings(Arc::new(settings));
    let root = workspace.roots().folders[0].clone();
    for name in open {
        let path = root.join(name);
        let Ok(text) = String::from_utf8(SystemDisk.read(&path).unwrap_or_default()) else { continue };
        if text.contains('\0') {
            continue;
        }
        let uri = ropewalk::workspace::paths::uri_of_path(&path);
        documents.open(Key::File(path), &uri, "text", 1, &format!("{text}\nchanged and not saved\n"));
    }
    workspace
}

fn job(workspace: &Workspace) -> Job {
    workspace.job(None, &Wanted::default(), Besides::default(), &[]).expect("a job")
}

/// The whole answer as text, and how many lines and files match.
async fn grep(workspace: &Workspace, query: &Query) -> (String, (u64, u64)) {
    let query = query.clone();
    let matcher = query.matcher().expect("a pattern");
    let work = move |job: &Job| {
        let found = job.grep(&query, &matcher);
        let mut text = String::new();
        for part in &found.parts {
            let _ = writeln!(text, "{}", job.shown(&part.hits.place));
            for line in &part.hits.lines {
                let _ = writeln!(text, "{}:{}", line.number, line.text);
            }
        }
        (text, (found.matched, found.files))
    };
    job(workspace).go(&CancellationToken::new(), work).await.expect("an answer")
}

/// The names of all files, by path.
async fn names(workspace: &Workspace) -> Vec<String> {
    let work = |job: &Job| job.files(false).entries.iter().map(|entry| job.shown(&entry.place)).collect();
    job(workspace).go(&CancellationToken::new(), work).await.expect("an answer")
}
