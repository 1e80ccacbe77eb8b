//! A file system that is full, and one that may only be read: real ones, in memory, which only the program under test
//! sees. Where the system lets nobody mount one, these say so and show nothing; `once` has the same by the disk's twin.

#![expect(clippy::disallowed_methods, reason = "the process is started as an editor starts it, and the test has files")]

use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tokio::process::Command;

use crate::process::Binary;

/// Mounts a file system of so many KiB over a folder, makes a workspace `w` and a place `state` in it, and becomes the
/// program; `$4` is done before.
const SCRIPT: &str = "mount -t tmpfs -o size=\"$1\"k none \"$2\" && cd \"$2\" && mkdir w state w/sub && eval \"$4\" && \
                      cd w && exec \"$3\"";

/// The program with its own file system.
struct Mounted {
    binary: Binary,
    calls: i64,
    /// The mount point, as seen from here.
    seen: PathBuf,
    /// The workspace, as the program sees it.
    folder: PathBuf,
    _gone: tempfile::TempDir,
}

/// How to get mounts of our own, if the system lets us.
fn apart() -> Option<Vec<&'static str>> {
    let ways = [vec!["unshare", "-m"], vec!["unshare", "-r", "-m"]];
    ways.into_iter().find(|way| {
        let mut command = std::process::Command::new(way[0]);
        command.args(&way[1..]).args(["mount", "-t", "tmpfs", "none", "/mnt"]);
        command.stdin(std::process::Stdio::null()).output().is_ok_and(|output| output.status.success())
    })
}

impl Mounted {
    /// `None`: nothing can be mounted here.
    #[expect(clippy::print_stderr, reason = "whoever runs the tests is to know that this one shows nothing")]
    async fn new(kib: u32, first: &str) -> Option<Mounted> {
        let Some(way) = apart() else {
            eprintln!("nothing can be mounted here; this shows nothing");
            return None;
        };
        let gone = tempfile::tempdir().unwrap();
        let at = gone.path().canonicalize().unwrap();
        let mut command = Command::new(way[0]);
        command.args(&way[1..]).args(["sh", "-c", SCRIPT, "sh", &kib.to_string()]);
        command.arg(&at).arg(env!("CARGO_BIN_EXE_ropewalk")).arg(first);
        command.env("XDG_STATE_HOME", at.join("state")).env("XDG_CONFIG_HOME", at.join("state"));
        let mut binary = Binary::of(&mut command);
        let folder = at.join("w");
        let settings = json!({ "diagnostics": { "ownServers": "off" }, "freshness": "off" });
        binary.hello_in(None, settings, Some(&format!("file://{}", folder.display()))).await;
        let seen = PathBuf::from(format!("/proc/{}/root{}", binary.child.id().unwrap(), at.display()));
        Some(Mounted { binary, calls: 0, seen, folder, _gone: gone })
    }

    async fn ask(&mut self, method: &str, params: Value) -> Value {
        self.calls += 1;
        self.binary.ask(self.calls, method, params).await["result"].clone()
    }

    async fn call(&mut self, name: &str, arguments: Value) -> Value {
        self.ask("ropewalk/callTool", json!({ "name": name, "arguments": arguments })).await
    }

    async fn told(&mut self, name: &str, arguments: Value) -> String {
        let result = self.call(name, arguments).await;
        result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{result}")).to_owned()
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.seen.join("w").join(name)).unwrap()
    }

    /// The names in the workspace.
    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.seen.join("w")).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

/// Fills a file system to its last block.
fn fill(at: &Path) {
    let mut file = std::fs::File::create(at.join("ballast")).unwrap();
    let error = loop {
        if let Err(error) = file.write_all(&[b'x'; 4096]) {
            break error;
        }
    };
    assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
}

const FILES: &str = "printf 'one\\nold\\n' > w/a.txt; printf 'one\\nold\\n' > w/b.txt; ln w/b.txt w/other; \
                     printf 'one\\nold\\n' > w/sub/c.txt; seq 1 60000 > w/long.txt";

fn edit(file: &str, old: &str, new: &str) -> Value {
    json!({ "file_path": file, "old_string": old, "new_string": new })
}

const PATCH: &str = "*** Begin Patch\n*** Update File: a.txt\n@@\n-old\n+new\n*** Update File: b.txt\n@@\n-old\n+new\n\
                     *** Add File: made.txt\n+made\n*** End Patch\n";

#[tokio::test]
async fn a_full_disk_changes_no_file_and_is_told() {
    let Some(mut program) = Mounted::new(4096, FILES).await else { return };
    let open = format!("file://{}/open.txt", program.folder.display());
    let document = json!({ "uri": open, "languageId": "text", "version": 1, "text": "unsaved\n" });
    program.binary.notify("textDocument/didOpen", json!({ "textDocument": document })).await;
    // The session is there before the disk is full.
    let todos = |word: &str| json!({ "todos": [{ "content": word.repeat(200), "status": "pending" }] });
    assert_eq!(program.call("todowrite", todos("first")).await["status"], "ok");
    let before = program.names();
    fill(&program.seen);

    let told = program.told("edit", edit("a.txt", "old", "new")).await;
    assert!(told.contains("a.txt could not be written: No space left on device"), "{told}");
    assert!(told.contains("Nothing was changed"), "{told}");
    let told = program.told("write", json!({ "file_path": "made.txt", "content": "made\n" })).await;
    assert!(told.contains("made.txt could not be made: No space left on device"), "{told}");
    let told = program.told("write", json!({ "file_path": "b.txt", "content": "long\n".repeat(9999) })).await;
    assert!(told.contains("b.txt could not be written: No space left on device"), "{told}");
    let told = program.told("apply_patch", json!({ "patch": PATCH })).await;
    assert!(told.contains("cannot be written (No space left on device (os error 28))"), "{told}");
    assert!(told.contains("Nothing was changed"), "{told}");
    // What needs no disk goes on: reading, typing, and what a session remembers.
    assert_eq!(program.call("grep", json!({ "pattern": "old" })).await["status"], "ok");
    let change = json!({ "textDocument": { "uri": open, "version": 2 }, "contentChanges": [{ "text": "typed\n" }] });
    program.binary.notify("textDocument/didChange", change).await;
    assert_eq!(program.ask("ropewalk/documentText", json!({ "uri": open })).await["text"], "typed\n");
    for word in ["second", "third"] {
        assert_eq!(program.call("todowrite", todos(word)).await["status"], "ok");
    }
    let kept = program.ask("ropewalk/todos", json!({})).await;
    assert!(kept["todos"][0]["content"].as_str().unwrap().starts_with("third"), "{kept}");
    // Nothing of the files is another, and nothing was left beside them.
    for name in ["a.txt", "b.txt", "other", "sub/c.txt"] {
        assert_eq!(program.read(name), "one\nold\n", "{name}");
    }
    assert_eq!(program.names(), before);
    // Once there is room, everything is done.
    std::fs::remove_file(program.seen.join("ballast")).unwrap();
    let result = program.call("apply_patch", json!({ "patch": PATCH })).await;
    assert_eq!(result["status"], "ok", "{result}");
    assert_eq!((program.read("a.txt"), program.read("other")), ("one\nnew\n".into(), "one\nnew\n".into()));
}

#[tokio::test]
async fn a_disk_that_is_full_from_the_start_keeps_nobody_from_starting() {
    let first = format!("{FILES}; head -c 9999999 /dev/zero > ballast; true");
    let Some(mut program) = Mounted::new(1024, &first).await else { return };
    let status = program.ask("ropewalk/status", json!({})).await;
    assert_eq!(status["store"]["kept"], false, "{status}");
    assert!(!status["store"]["reason"].as_str().unwrap().is_empty(), "{status}");
    assert!(program.told("read", json!({ "file_path": "a.txt" })).await.starts_with("1\tone"));
    let told = program.told("edit", edit("a.txt", "old", "new")).await;
    assert!(told.contains("No space left on device") && told.contains("Nothing was changed"), "{told}");
    assert_eq!(program.read("a.txt"), "one\nold\n");
}

#[tokio::test]
async fn a_file_system_that_may_only_be_read_is_told_and_read() {
    let first = format!("{FILES}; mount -o remount,ro \"$2\"");
    let Some(mut program) = Mounted::new(4096, &first).await else { return };
    let status = program.ask("ropewalk/status", json!({})).await;
    assert_eq!(status["store"]["kept"], false, "{status}");
    assert!(status["store"]["reason"].as_str().unwrap().contains("Read-only file system"), "{status}");
    for (name, arguments) in [
        ("edit", edit("a.txt", "old", "new")),
        ("edit", edit("b.txt", "old", "new")),
        ("write", json!({ "file_path": "made.txt", "content": "made\n" })),
        ("write", json!({ "file_path": "new/made.txt", "content": "made\n" })),
        ("apply_patch", json!({ "patch": PATCH })),
        ("apply_patch", json!({ "patch": "*** Begin Patch\n*** Delete File: sub/c.txt\n*** End Patch\n" })),
    ] {
        let told = program.told(name, arguments.clone()).await;
        assert!(told.contains("Read-only file system") && told.contains("Nothing was changed"), "{arguments}: {told}");
    }
    assert!(program.told("read", json!({ "file_path": "a.txt" })).await.starts_with("1\tone"));
    let told = program.told("grep", json!({ "pattern": "old" })).await;
    assert!(told.contains("4 matching lines in 4 files"), "{told}");
    let todos = json!({ "todos": [{ "content": "work", "status": "pending" }] });
    assert_eq!(program.call("todowrite", todos).await["status"], "ok");
    assert_eq!(program.names(), ["a.txt", "b.txt", "long.txt", "other", "sub"]);
}
