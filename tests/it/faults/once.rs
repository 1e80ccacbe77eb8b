//! Each operation of the disk that a call needs fails once: the call is made wholly or not at all, says which, and is made
//! when it is asked for again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ropewalk::ports::{Disk as _, FileKind, MemoryDisk, Ports};
use ropewalk::server::{self, ServeOptions};
use rustix::io::Errno;
use serde_json::{Value, json};

use super::frail::Frail;
use crate::editor::{FakeEditor, Manner};

const OPEN: &str = "file:///w/open.txt";
const STATE: &str = "/state";

/// What there is: the files below `/w` with their modes and texts, and the buffers.
type World = BTreeMap<String, String>;

/// An editor over `/w`, on a disk that may fail.
struct Bench {
    editor: FakeEditor,
    memory: Arc<MemoryDisk>,
    disk: Frail,
}

impl Bench {
    async fn new(settings: Value) -> Bench {
        let memory = Arc::new(
            MemoryDisk::new()
                .with_file("/w/closed.txt", "one\nold\n")
                .with_mode("/w/closed.txt", 0o640)
                .with_file("/w/linked.txt", "one\nlong old line\n")
                .with_hard_link("/w/other name.txt", "/w/linked.txt")
                .with_file("/w/bye.txt", "bye\n")
                .with_file("/w/from.txt", "from\nold\n")
                .with_file("/w/long.txt", "a line of a long file\n".repeat(20_000))
                .with_file("/w/open.txt", "on the disk\n")
                .with_dir(STATE),
        );
        let disk = Frail::over(Arc::clone(&memory));
        let ports = Ports { disk: Arc::new(disk.clone()), ..Ports::system() };
        let options = ServeOptions { repeatable: true, state_dir: Some(STATE.into()), ..ServeOptions::default() };
        let mut editor = FakeEditor::start(|input, output| tokio::spawn(server::serve(input, output, ports, options)));
        let mut all = json!({ "freshness": "off" });
        all.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
        editor.introduce(&[Path::new("/w")], json!({ "resync": true, "save": true }), all).await;
        editor.open(OPEN, "unsaved\nold\n");
        Bench { editor, memory, disk }
    }

    /// Makes a request, with an editor that does as it is asked.
    async fn ask(&mut self, method: &str, params: &Value) -> Value {
        let id = self.editor.request(method, params.clone());
        loop {
            let message = self
                .editor
                .next_where(|message| {
                    message["id"] == id && message.get("method").is_none()
                        || message["method"] == "workspace/applyEdit"
                        || message["method"] == "ropewalk/save"
                        || message["method"] == "ropewalk/resync"
                })
                .await
                .unwrap_or_else(|| panic!("no answer to {method} {params}"));
            match message["method"].as_str() {
                None => return message["result"].clone(),
                Some("workspace/applyEdit") => {
                    self.editor.put_back(message);
                    self.editor.serve_edit(Manner::Apply).await;
                }
                Some("ropewalk/save") => {
                    self.memory.put("/w/open.txt", &self.editor.buffers[OPEN].text);
                    self.editor.notify("textDocument/didSave", json!({ "textDocument": { "uri": OPEN } }));
                    self.editor.respond(&message["id"], json!({ "failed": [] }));
                }
                Some(_) => {
                    let buffer = &self.editor.buffers[OPEN];
                    self.editor.respond(&message["id"], json!({ "version": buffer.version, "text": buffer.text }));
                }
            }
        }
    }

    async fn call(&mut self, call: &Value) -> Value {
        self.ask("ropewalk/callTool", call).await
    }

    fn world(&self) -> World {
        let mut world = World::new();
        let mut todo = vec![PathBuf::from("/w")];
        while let Some(folder) = todo.pop() {
            for entry in self.memory.read_dir(&folder).unwrap() {
                let path = folder.join(&entry.name);
                if entry.kind == FileKind::Directory {
                    todo.push(path);
                    continue;
                }
                let mode = self.memory.metadata(&path).unwrap().mode;
                let text = String::from_utf8(self.memory.bytes(&path).unwrap()).unwrap();
                world.insert(path.display().to_string(), format!("{mode:o} {text:?}"));
            }
        }
        world.insert("buffer".to_owned(), self.editor.buffers[OPEN].text.clone());
        world
    }

    /// The files of the journal that would be taken back by the next start.
    fn journal(&self) -> Vec<String> {
        let folder = Path::new(STATE).join("journal");
        let entries = self.memory.read_dir(&folder).unwrap_or_default().into_iter().map(|entry| entry.name);
        entries.filter(|name| self.memory.bytes(folder.join(name)).is_some_and(|bytes| !bytes.is_empty())).collect()
    }

    async fn end(mut self) {
        self.editor.accept_rest();
        assert_eq!(self.editor.leave().await, 0);
    }
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_default()
}

const ERRORS: [Errno; 3] = [Errno::IO, Errno::NOSPC, Errno::ACCESS];

/// A call that changes something, with each of its operations failing once; gives how many did, and how many times that
/// was an error.
async fn each(settings: Value, call: Value) -> (usize, usize) {
    let (operations, errors) = each_told(settings, call).await;
    (operations, errors.len())
}

/// The same with what those errors said.
async fn each_told(settings: Value, call: Value) -> (usize, Vec<String>) {
    let mut bench = Bench::new(settings.clone()).await;
    let before = bench.world();
    let result = bench.call(&call).await;
    assert_eq!(result["status"], "ok", "{result}");
    let after = bench.world();
    assert_ne!(before, after, "{call}");
    bench.end().await;
    let (mut at, mut errors) = (0, Vec::new());
    loop {
        let mut bench = Bench::new(settings.clone()).await;
        bench.disk.fail_at(at, ERRORS[at % ERRORS.len()].raw_os_error());
        let result = bench.call(&call).await;
        let Some(struck) = bench.disk.mend() else {
            assert_eq!(bench.world(), after);
            bench.end().await;
            return (at, errors);
        };
        match result["status"].as_str() {
            Some("ok") => assert_eq!(bench.world(), after, "{at} {struck}: {result}"),
            Some("error" | "denied") => {
                let told = text(&result);
                errors.push(told.to_owned());
                assert_eq!(bench.world(), before, "{at} {struck}: {told}");
                assert!(!told.is_empty() && result["applied"] != "all", "{at} {struck}: {result}");
                let again = bench.call(&call).await;
                assert_eq!(again["status"], "ok", "{at} {struck}: {told}\n{again}");
                assert_eq!(bench.world(), after, "{at} {struck}: {told}");
            }
            _ => panic!("{at} {struck}: {result}"),
        }
        assert_eq!(bench.journal(), [""; 0], "{at} {struck}");
        bench.end().await;
        at += 1;
    }
}

fn edit(file: &str, old: &str) -> Value {
    json!({ "name": "edit", "arguments": { "file_path": file, "old_string": old, "new_string": "new" } })
}

#[tokio::test(start_paused = true)]
async fn a_write_is_made_or_not_whichever_operation_fails() {
    for (what, call) in [
        ("new", json!({ "name": "write", "arguments": { "file_path": "new/deep/a.txt", "content": "made\n" } })),
        ("over", json!({ "name": "write", "arguments": { "file_path": "closed.txt", "content": "other\n" } })),
        ("edit", edit("closed.txt", "old")),
        ("in place", edit("linked.txt", "long old")),
    ] {
        let (operations, errors) = each(json!({}), call).await;
        println!("{what}: {operations} operations failed, {errors} of them the call");
        assert!(operations > 5 && errors > 2, "{what}: {operations} {errors}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_edit_of_an_open_document_needs_no_disk() {
    let (operations, errors) = each_told(json!({}), edit("open.txt", "old")).await;
    println!("{operations} operations failed, {} of them the call", errors.len());
    // While the folder's settings cannot be read, nobody knows what they forbid; nothing else is needed of the disk.
    let others: Vec<&String> =
        errors.iter().filter(|told| !told.contains(".ropewalk/settings.json in /w: it cannot be read")).collect();
    assert_eq!(others, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_patch_of_many_files_is_made_or_not_whichever_operation_fails() {
    let patch = "*** Begin Patch\n*** Update File: open.txt\n@@\n-old\n+new\n*** Update File: closed.txt\n@@\n-old\n+new\n\
                 *** Update File: linked.txt\n@@\n-long old line\n+new\n*** Add File: sub/made.txt\n+made\n\
                 *** Delete File: bye.txt\n*** Update File: from.txt\n*** Move to: sub/to.txt\n@@\n-old\n+new\n\
                 *** End Patch\n";
    let call = json!({ "name": "apply_patch", "arguments": { "patch": patch } });
    let (operations, errors) = each(json!({}), call).await;
    println!("{operations} operations failed, {errors} of them the call");
    assert!(operations > 30 && errors > 10, "{operations} {errors}");
}

/// The edit is in the buffer whatever the disk says, and it is not called saved unless it was seen on the disk.
#[tokio::test(start_paused = true)]
async fn a_save_is_believed_only_when_it_was_seen_whichever_operation_fails() {
    let (mut at, mut unseen) = (0, 0);
    loop {
        let mut bench = Bench::new(json!({})).await;
        bench.ask("ropewalk/openSession", &json!({ "sessionId": "s", "save": "always" })).await;
        bench.disk.fail_at(at, ERRORS[at % ERRORS.len()].raw_os_error());
        let mut call = edit("open.txt", "old");
        call["sessionId"] = json!("s");
        let result = bench.call(&call).await;
        let struck = bench.disk.mend();
        if result["status"] == "denied" {
            // What a project's own rules hold back is not known while they cannot be read.
            assert!(text(&result).contains("settings.json in /w: it cannot be read"), "{at} {struck:?}: {result}");
            assert_eq!(bench.world()["buffer"], "unsaved\nold\n", "{at} {struck:?}: {result}");
            bench.end().await;
            at += 1;
            continue;
        }
        assert_eq!(result["status"], "ok", "{at} {struck:?}: {result}");
        let world = bench.world();
        assert_eq!(world["buffer"], "unsaved\nnew\n", "{at} {struck:?}: {result}");
        let saved = world["/w/open.txt"] == "644 \"unsaved\\nnew\\n\"";
        let said = result["edits"][0]["unsaved"] == false;
        assert!(saved || !said, "{at} {struck:?}: {result}");
        unseen += usize::from(!said);
        bench.end().await;
        if struck.is_none() {
            assert!(said, "{result}");
            println!("{at} operations failed, and {unseen} times it was not called saved");
            return;
        }
        at += 1;
    }
}

#[tokio::test(start_paused = true)]
async fn an_undo_is_made_or_not_whichever_operation_fails() {
    let patch = "*** Begin Patch\n*** Update File: open.txt\n@@\n-old\n+new\n*** Update File: closed.txt\n@@\n-old\n+new\n\
                 *** Add File: made.txt\n+made\n*** Update File: from.txt\n*** Move to: to.txt\n*** End Patch\n";
    let call = json!({ "callId": "c1", "name": "apply_patch", "arguments": { "patch": patch } });
    let (mut at, mut left) = (0, 0);
    loop {
        let mut bench = Bench::new(json!({})).await;
        let before = bench.world();
        assert_eq!(bench.call(&call).await["status"], "ok");
        let after = bench.world();
        bench.disk.fail_at(at, ERRORS[at % ERRORS.len()].raw_os_error());
        let undo = json!({ "callId": "c1" });
        let result = bench.ask("ropewalk/undo", &undo).await;
        let struck = bench.disk.mend();
        let outcomes = |result: &Value| -> Vec<String> {
            let hunks = result["hunks"].as_array().unwrap().iter();
            hunks.map(|hunk| hunk["outcome"].as_str().unwrap().to_owned()).collect()
        };
        let told = outcomes(&result);
        // One that cannot even be looked at is left alone, as one in which the person has typed is; else it is all or none.
        let world = bench.world();
        for (hunk, outcome) in result["hunks"].as_array().unwrap().iter().zip(&told) {
            let (name, mut expected) = (hunk["uri"].as_str().unwrap().trim_start_matches("file://"), &after);
            if outcome == "undone" {
                expected = &before;
            } else {
                assert_eq!(outcome, "left", "{at} {struck:?}: {result}");
                assert!(hunk["why"].as_str().is_some_and(|why| !why.is_empty()), "{result}");
            }
            let key = if name == "/w/open.txt" { "buffer" } else { name };
            assert_eq!(world.get(key), expected.get(key), "{at} {struck:?}: {key} {result}");
        }
        if told.iter().any(|outcome| outcome == "left") {
            left += 1;
            let again = bench.ask("ropewalk/undo", &undo).await;
            assert!(outcomes(&again).iter().all(|outcome| outcome == "undone"), "{at} {struck:?}: {result} {again}");
        }
        assert_eq!(bench.world(), before, "{at} {struck:?}: {result}");
        assert_eq!(bench.journal(), [""; 0], "{at} {struck:?}");
        bench.end().await;
        if struck.is_none() {
            println!("{at} operations failed, and {left} times something was left");
            assert!(left > 5, "{left}");
            return;
        }
        at += 1;
    }
}

/// What is long is stored on the disk: whichever operation of that fails, the whole output is there, or it is said that it
/// is not.
#[tokio::test(start_paused = true)]
async fn a_long_output_is_kept_or_said_to_be_lost_whichever_operation_fails() {
    let write = |call: &str, file: &str, word: &str| {
        let rows: Vec<String> = (0..3000).map(|row| format!("{word} {row} of many that make it long enough")).collect();
        let content = rows.join("\n");
        let arguments = json!({ "file_path": file, "content": content });
        json!({ "callId": call, "name": "write", "maxBytes": 2000, "arguments": arguments })
    };
    let (mut at, mut lost, mut read) = (0, 0, 0);
    loop {
        let mut bench = Bench::new(json!({ "output": { "keptBytes": 1000 } })).await;
        bench.disk.fail_at(at, ERRORS[at % ERRORS.len()].raw_os_error());
        let first = bench.call(&write("c1", "closed.txt", "alpha")).await;
        // Everything about it is done, and then it gives way in memory to another.
        let settled = bench.ask("ropewalk/settle", &json!({ "deadlineMs": 60_000 })).await;
        assert_eq!(settled["settled"], true, "{settled}");
        bench.call(&write("c2", "from.txt", "beta")).await;
        let output = json!({ "name": "output", "arguments": { "id": "o1", "offset": 2000, "limit": 2 } });
        let told = bench.call(&output).await;
        let struck = bench.disk.mend();
        if first["status"] == "ok" {
            let there = told["status"] == "ok" && text(&told).contains("alpha ");
            assert!(there || told["status"] == "error" && !text(&told).is_empty(), "{at} {struck:?}: {told}");
            (read, lost) = (read + usize::from(there), lost + usize::from(!there));
        }
        bench.end().await;
        if struck.is_none() {
            assert!(text(&told).contains("alpha "), "{told}");
            println!("{at} operations failed: it was there {read} times, and lost {lost} times");
            return;
        }
        at += 1;
    }
}

/// What reads says what it could not look at: no file is said not to be there, and none is left out in silence.
#[tokio::test(start_paused = true)]
async fn what_reads_says_what_it_could_not_look_at_whichever_operation_fails() {
    for (call, wanted) in [
        (json!({ "name": "read", "arguments": { "file_path": "closed.txt" } }), "2\told"),
        (json!({ "name": "grep", "arguments": { "pattern": "old", "glob": "closed.*" } }), "2:old"),
        (json!({ "name": "glob", "arguments": { "pattern": "closed.*" } }), "closed.txt"),
        (json!({ "name": "ls", "arguments": {} }), "closed.txt"),
    ] {
        let mut at = 0;
        loop {
            let mut bench = Bench::new(json!({})).await;
            let error = ERRORS[at % ERRORS.len()];
            bench.disk.fail_at(at, error.raw_os_error());
            let result = bench.call(&call).await;
            let struck = bench.disk.mend();
            let told = text(&result);
            let honest = told.contains(wanted)
                || told.contains(&std::io::Error::from(error).to_string())
                || told.contains("denies access");
            assert!(honest, "{at} {struck:?}: {call}\n{told}");
            bench.end().await;
            if struck.is_none() {
                assert!(at > 0 && told.contains(wanted), "{told}");
                break;
            }
            at += 1;
        }
    }
}
