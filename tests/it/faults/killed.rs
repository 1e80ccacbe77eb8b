//! The real program, killed while it writes one file after the other: a file that is replaced, one that is made, and one
//! with two names, which is written in place.

#![expect(clippy::disallowed_methods, reason = "the process is started as an editor starts it, and the test has files")]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use ropewalk::ports::{Random as _, Seeded};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::process::Binary;

/// Kills of each kind.
const KILLS: u64 = 8;
/// Bytes between the two ends of a file, which tell its state.
const MIDDLE: usize = 1 << 20;

struct Desk {
    _gone: tempfile::TempDir,
    folder: PathBuf,
    state: PathBuf,
}

impl Desk {
    fn new() -> Desk {
        let gone = tempfile::tempdir().unwrap();
        let at = gone.path().canonicalize().unwrap();
        let (folder, state) = (at.join("w"), at.join("state"));
        std::fs::create_dir(&folder).unwrap();
        Desk { _gone: gone, folder, state }
    }

    async fn start(&self) -> Binary {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ropewalk"));
        let mut binary = Binary::of(command.env("XDG_STATE_HOME", &self.state).env("XDG_CONFIG_HOME", &self.state));
        let settings = json!({ "diagnostics": { "ownServers": "off" }, "freshness": "off" });
        binary.hello_in(None, settings, Some(&format!("file://{}", self.folder.display()))).await;
        binary
    }

    /// Starts a call and kills the program as soon as `when` says so, or when the call has been answered; whether it was.
    async fn killed(&self, name: &str, arguments: Value, mut when: impl FnMut() -> bool) -> bool {
        let mut binary = self.start().await;
        let params = json!({ "name": name, "arguments": arguments });
        let answered = {
            let asking = binary.ask(1, "ropewalk/callTool", params);
            let watching = async {
                while !when() {
                    tokio::task::yield_now().await;
                }
            };
            tokio::select! {
                biased;
                answer = asking => {
                    assert_eq!(answer["result"]["status"], "ok", "{answer}");
                    true
                }
                () = watching => false,
            }
        };
        binary.child.kill().await.unwrap();
        answered
    }

    /// What the next run says first.
    async fn next(&self) -> String {
        let mut binary = self.start().await;
        let params = json!({ "name": "ls", "arguments": {} });
        let result = binary.ask(1, "ropewalk/callTool", params).await["result"].clone();
        assert_eq!(result["status"], "ok", "{result}");
        binary.terminate();
        binary.code().await;
        result["content"].to_string()
    }

    /// Looks whether there is a new temporary file of at least so many bytes.
    fn temporary(&self, bytes: u64) -> impl FnMut() -> bool + use<> {
        let folder = self.folder.clone();
        let names = |folder: &Path| -> BTreeMap<OsString, u64> {
            let entries = std::fs::read_dir(folder).unwrap().filter_map(|entry| {
                let entry = entry.ok()?;
                Some((entry.file_name(), entry.metadata().ok()?.len()))
            });
            entries.filter(|(name, _)| name.to_string_lossy().starts_with(".ropewalk-")).collect()
        };
        let before = names(&folder);
        move || names(&folder).iter().any(|(name, length)| *length >= bytes && !before.contains_key(name))
    }

    /// Names in the folder that are neither of these nor a temporary file of a process of ours, which goes with a later write.
    fn strangers(&self, known: &[&str]) -> Vec<String> {
        let names = std::fs::read_dir(&self.folder).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
        names.filter(|name| !known.contains(&name.as_str()) && !name.starts_with(".ropewalk-")).collect()
    }
}

/// The text of a file in a state; the lines between are long, so that they cost little.
fn text(state: char, middle: usize) -> String {
    let line = format!("{}\n", "x".repeat(16_383));
    format!("state {state}\n{}state {state}\n", line.repeat(middle / 16_384))
}

/// The state of a file that is whole.
fn state_of(path: &Path) -> Option<char> {
    let bytes = std::fs::read(path).unwrap();
    ['A', 'B'].into_iter().find(|state| bytes == text(*state, MIDDLE).as_bytes())
}

fn edit(path: &Path, old: char, new: char) -> Value {
    json!({
        "file_path": path, "old_string": format!("state {old}"), "new_string": format!("state {new}"), "replace_all": true,
    })
}

#[tokio::test]
async fn one_file_is_wholly_old_or_wholly_new_after_a_kill_at_any_moment() {
    let desk = Desk::new();
    let path = desk.folder.join("closed.txt");
    std::fs::write(&path, text('A', MIDDLE)).unwrap();
    let random = Seeded::new(11);
    let (mut old, mut seen) = ('A', BTreeMap::new());
    for round in 0..KILLS {
        let new = if old == 'A' { 'B' } else { 'A' };
        let (before, path_then) = (std::fs::metadata(&path).unwrap().ino(), path.clone());
        // When there is a temporary file that has so many bytes, or when the file is another one.
        let mut temporary = desk.temporary(random.next() % (MIDDLE as u64 * 5 / 4));
        let when = move || temporary() || std::fs::metadata(&path_then).unwrap().ino() != before;
        let answered = desk.killed("edit", edit(&path, old, new), when).await;
        let state = state_of(&path).unwrap_or_else(|| panic!("{round}: torn"));
        assert!(!answered || state == new, "{round}: it was answered");
        *seen.entry(state == new).or_insert(0) += 1;
        old = state;
    }
    println!("new after the kill: {seen:?}");
    assert_eq!(desk.strangers(&["closed.txt"]), [""; 0]);
}

#[tokio::test]
async fn a_new_file_is_whole_or_not_there_after_a_kill_at_any_moment() {
    let desk = Desk::new();
    let random = Seeded::new(12);
    let content = text('A', 1 << 20);
    let mut made = 0;
    for round in 0..KILLS {
        let path = desk.folder.join(format!("new{round}.txt"));
        let there = path.clone();
        let arguments = json!({ "file_path": path, "content": content });
        let mut temporary = desk.temporary(random.next() % (1 << 20));
        let answered = desk.killed("write", arguments, move || temporary() || there.exists()).await;
        match std::fs::read(&path) {
            Ok(bytes) => {
                assert_eq!(bytes, content.as_bytes(), "{round}");
                made += 1;
            }
            Err(_) => assert!(!answered, "{round}"),
        }
    }
    println!("{made} of {KILLS} were made");
    assert!(!desk.next().await.contains("taken back"), "nothing of it was half done");
}

#[tokio::test]
async fn a_file_with_two_names_is_whole_at_the_next_start_after_a_kill_at_any_moment() {
    let desk = Desk::new();
    let (path, other) = (desk.folder.join("linked.txt"), desk.folder.join("other name.txt"));
    std::fs::write(&path, text('A', MIDDLE)).unwrap();
    std::fs::hard_link(&path, &other).unwrap();
    let random = Seeded::new(13);
    let (mut old, mut torn, mut told) = ('A', 0, 0);
    for round in 0..KILLS {
        let new = if old == 'A' { 'B' } else { 'A' };
        let file = std::fs::File::open(&path).unwrap();
        // When the first bytes are new ones, and a few looks later.
        let mut looks = random.next() % 20;
        let answered = desk.killed("edit", edit(&path, old, new), move || {
            let mut begin = [0; 7];
            file.read_exact_at(&mut begin, 0).unwrap();
            let begun = begin[6] == new as u8;
            looks = looks.saturating_sub(u64::from(begun));
            begun && looks == 0
        });
        let answered = answered.await;
        let after = state_of(&path);
        torn += usize::from(after.is_none());
        let said = desk.next().await;
        let state = state_of(&path).unwrap_or_else(|| panic!("{round}: torn, and not made good: {said}"));
        assert!(!answered || state == new, "{round}: it was answered");
        let taken_back = after != Some(state);
        assert_eq!(taken_back, said.contains("was taken back as a whole"), "{round}: {said}");
        told += usize::from(taken_back);
        assert_eq!(std::fs::metadata(&path).unwrap().ino(), std::fs::metadata(&other).unwrap().ino(), "{round}");
        old = state;
    }
    println!("{torn} of {KILLS} kills left a half, {told} were taken back");
    assert_eq!(desk.strangers(&["linked.txt", "other name.txt"]), [""; 0]);
    let left = std::fs::read_dir(desk.state.join("ropewalk/journal")).unwrap();
    let left: Vec<_> = left.map(|entry| entry.unwrap().path()).collect();
    assert!(left.iter().all(|path| path.extension().is_some_and(|ending| ending == "lock")), "{left:?}");
}
