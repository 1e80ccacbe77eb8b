//! Files of every kind on a real disk, read and written over the wire: each gets a clear answer at once, nothing is lost.

use std::fmt::Write as _;
use std::os::unix::net::UnixListener;
use std::path::Path;

use ropewalk::ports::Ports;
use ropewalk::server::{self, ServeOptions};
use serde_json::{Value, json};

use crate::editor::{FakeEditor, Manner};

/// An editor with a real folder as its workspace, and the settings on top.
pub async fn editor_in(folder: &Path, settings: Value) -> FakeEditor {
    let abilities = json!({ "resync": true, "approve": true, "images": true });
    let options = ServeOptions { repeatable: true, ..ServeOptions::default() };
    editor_with(folder, options, abilities, settings).await
}

/// The same with these abilities and options.
pub async fn editor_with(folder: &Path, options: ServeOptions, abilities: Value, settings: Value) -> FakeEditor {
    let serve = |input, output| tokio::spawn(server::serve(input, output, Ports::system(), options));
    let mut editor = FakeEditor::start(serve);
    editor.introduce(&[folder], abilities, settings).await;
    editor
}

/// The result of a call.
pub async fn call(editor: &mut FakeEditor, name: &str, arguments: Value) -> Value {
    let id = editor.request("ropewalk/callTool", json!({ "name": name, "arguments": arguments }));
    editor.result(id).await
}

async fn read(editor: &mut FakeEditor, name: &str) -> Value {
    call(editor, "read", json!({ "file_path": name })).await
}

/// What a result says to the model.
pub fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_default()
}

/// The end of a run.
pub async fn end(mut editor: FakeEditor) {
    editor.accept_rest();
    assert_eq!(editor.leave().await, 0);
}

/// A new folder, by its real name.
pub fn folder() -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap();
    (folder, path)
}

/// Makes a file.
#[expect(clippy::disallowed_methods, reason = "the test makes the world that is read")]
pub fn put(folder: &Path, name: &str, bytes: impl AsRef<[u8]>) {
    std::fs::write(folder.join(name), bytes).unwrap();
}

/// The bytes of a file.
#[expect(clippy::disallowed_methods, reason = "the test looks at the world that was written")]
pub fn got(folder: &Path, name: impl AsRef<Path>) -> Vec<u8> {
    std::fs::read(folder.join(name)).unwrap()
}

#[tokio::test]
async fn every_kind_of_file_has_its_answer() {
    let (_gone, folder) = folder();
    put(&folder, "crlf.txt", "one\r\ntwo\r\n");
    put(&folder, "bom.txt", "\u{feff}one\n");
    put(&folder, "utf16.txt", b"\xff\xfeo\0n\0e\0\n\0");
    put(&folder, "latin1.txt", b"caf\xe9\n");
    put(&folder, "zeros.bin", b"a\0b");
    put(&folder, "controls.bin", [1, 2, 3, b'a']);
    put(&folder, "new\nline.txt", "odd\n");
    put(&folder, "pic", b"GIF89a\x02\0\x01\0");
    put(&folder, "empty.txt", "");
    let sparse = std::fs::File::create(folder.join("sparse.log")).unwrap();
    sparse.set_len(1 << 30).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, folder.join("fifo"), rustix::fs::Mode::RUSR).unwrap();
    let _socket = UnixListener::bind(folder.join("socket")).unwrap();
    let mut editor = editor_in(&folder, json!({})).await;
    for (name, status, words) in [
        ("crlf.txt", "ok", "1\tone\n2\ttwo\n\n(end of file, 2 lines)"),
        ("bom.txt", "ok", "1\tone\n\n(end of file, 1 line)"),
        ("utf16.txt", "ok", "1\tone\n\n(end of file, 1 line)"),
        ("latin1.txt", "ok", "1\tcaf\u{e9}\n\n(end of file, 1 line)\n(The encoding of this file is not known"),
        ("empty.txt", "ok", "empty.txt is empty."),
        ("zeros.bin", "error", "zeros.bin is binary: there is a NUL byte at offset 1; it has 3 bytes"),
        ("controls.bin", "error", "controls.bin is binary: 75 % of it are control characters"),
        ("sparse.log", "error", "sparse.log has 1073741824 bytes; files above"),
        ("new\nline.txt", "ok", "1\todd\n"),
        ("pic", "ok", "pic is an image (image/gif, 2 by 1 pixels, 10 bytes)."),
        ("fifo", "error", "fifo is neither a file nor a directory but a pipe, a socket or a device."),
        ("socket", "error", "socket is neither a file nor a directory but a pipe, a socket or a device."),
        ("crfl.txt", "error", "There is no file crfl.txt. Did you mean crlf.txt?"),
    ] {
        let result = read(&mut editor, name).await;
        assert_eq!(result["status"], status, "{name}: {result}");
        assert!(text(&result).starts_with(words), "{name}: {result}");
    }
    let (crlf, utf16) = (read(&mut editor, "crlf.txt").await, read(&mut editor, "utf16.txt").await);
    assert_eq!(
        (&crlf["structuredContent"]["lineEnds"], &crlf["structuredContent"]["encoding"]),
        (&json!("crlf"), &json!("utf-8"))
    );
    assert_eq!(utf16["structuredContent"]["encoding"], "utf-16le");
    assert_eq!(read(&mut editor, "pic").await["content"][1]["mimeType"], "image/gif");
    let listing = read(&mut editor, ".").await;
    for row in ["\nfifo|\n", "\nnew\\u{a}line.txt (name it by file://", "\nsocket|\n", "\nsparse.log\n"] {
        assert!(text(&listing).contains(row), "{listing}");
    }
    end(editor).await;
}

#[tokio::test]
async fn a_file_of_any_length_is_read_by_window() {
    let (_gone, folder) = folder();
    let wide = "x".repeat(100 << 20);
    put(&folder, "wide.txt", &wide);
    let mut rows = String::new();
    for row in 1..=6_000_000 {
        writeln!(rows, "row {row}").unwrap();
    }
    assert!(rows.len() > 50 << 20);
    put(&folder, "long.log", &rows);
    drop((wide, rows));
    let mut editor = editor_in(&folder, json!({})).await;
    let first = read(&mut editor, "wide.txt").await;
    assert!(text(&first).starts_with("1\txxxx"), "{}", text(&first).len());
    let told =
        "cut after character 2000: line 1 (of 104857600 characters); see the rest with offset 1, limit 1, column 2001";
    assert!(
        text(&first).contains(told) && text(&first).contains("the file has 104857600 bytes"),
        "{}",
        &text(&first)[2000..]
    );
    let last = json!({ "file_path": "wide.txt", "limit": 1, "column": 104_857_591 });
    let last = call(&mut editor, "read", last).await;
    assert!(
        text(&last)
            .starts_with("1\txxxxxxxxxx\n\n(line 1 of 1, characters 104857591-104857600 of 104857600; the line ends"),
        "{last}"
    );
    let some = call(&mut editor, "read", json!({ "file_path": "long.log", "offset": 5_000_000, "limit": 2 })).await;
    assert!(
        text(&some).starts_with(
            "5000000\trow 5000000\n5000001\trow 5000001\n\n(lines 5000000-5000001 of more; go on with offset 5000002)"
        ),
        "{some}"
    );
    let end_of = call(&mut editor, "read", json!({ "file_path": "long.log", "offset": 6_000_000 })).await;
    assert!(text(&end_of).contains("(line 6000000 of 6000000; end of file, 6000000 lines)"), "{end_of}");
    let write = call(&mut editor, "write", json!({ "file_path": "long.log", "content": "x" })).await;
    assert!(text(&write).starts_with("long.log has "), "{write}");
    assert!(got(&folder, "long.log").len() > 50 << 20);
    end(editor).await;
}

#[tokio::test]
async fn what_is_written_keeps_what_the_file_was() {
    use std::os::unix::fs::PermissionsExt as _;
    let (_gone, folder) = folder();
    put(&folder, "crlf.txt", "one\r\ntwo\r\n");
    put(&folder, "mixed.txt", "one\r\ntwo\r\nthree\n");
    put(&folder, "bom.txt", "\u{feff}one\n");
    put(&folder, "utf16.txt", b"\xff\xfeo\0n\0e\0\n\0");
    put(&folder, "latin1.txt", b"caf\xe9\n");
    put(&folder, "run.sh", "echo one\n");
    std::fs::set_permissions(folder.join("run.sh"), std::fs::Permissions::from_mode(0o750)).unwrap();
    let mut editor = editor_in(&folder, json!({})).await;
    for (name, content, status, bytes) in [
        ("crlf.txt", "one\n2\n", "ok", &b"one\r\n2\r\n"[..]),
        ("mixed.txt", "one\n2\n3\n", "ok", b"one\r\n2\r\n3\r\n"),
        ("bom.txt", "1\n", "ok", b"\xef\xbb\xbf1\n"),
        ("utf16.txt", "1\n", "ok", b"\xff\xfe1\0\n\0"),
        ("latin1.txt", "caf\u{e9}s\n", "error", b"caf\xe9\n"),
        ("run.sh", "echo two\n", "ok", b"echo two\n"),
        ("run.sh", "", "ok", b""),
        ("a/b/c/new.txt", "new\n", "ok", b"new\n"),
        ("a/empty.txt", "", "ok", b""),
        ("a/dos.txt", "x\r\ny\r\n", "ok", b"x\r\ny\r\n"),
    ] {
        read(&mut editor, name).await;
        let result = call(&mut editor, "write", json!({ "file_path": name, "content": content })).await;
        assert_eq!(result["status"], status, "{name}: {result}");
        assert_eq!(got(&folder, name), bytes, "{name}");
    }
    let script = std::fs::File::open(folder.join("run.sh")).unwrap();
    assert_eq!(script.metadata().unwrap().permissions().mode() & 0o777, 0o750);
    end(editor).await;
}

#[tokio::test]
async fn a_buffer_that_would_break_is_left_alone_where_the_gate_refuses() {
    let (_gone, folder) = folder();
    put(&folder, "a.json", "{\"a\": 1}\n");
    let mut editor = editor_in(&folder, json!({ "syntaxGate": "refuse" })).await;
    let uri = format!("file://{}/a.json", folder.display());
    editor.open(&uri, "{\"a\": 2}\n");
    let edit = |new: &str| json!({ "file_path": "a.json", "old_string": "2", "new_string": new });
    let refused = call(&mut editor, "edit", edit("2,, ")).await;
    assert_eq!(
        (&refused["status"], &refused["error"]["data"]["reason"]),
        (&json!("error"), &json!("syntax")),
        "{refused}"
    );
    assert_eq!(editor.buffers[&uri].text, "{\"a\": 2}\n");
    let id = editor.request("ropewalk/callTool", json!({ "name": "edit", "arguments": edit("3") }));
    editor.serve_edit(Manner::Apply).await;
    assert_eq!(editor.result(id).await["status"], "ok");
    assert_eq!(editor.buffers[&uri].text, "{\"a\": 3}\n");
    end(editor).await;
}

#[tokio::test]
async fn the_syntax_gate_stands_before_patches_too() {
    for (gate, status, after) in
        [("refuse", "error", "{\"a\": 1}\n"), ("warn", "ok", "{\"a\": 1,, }\n"), ("off", "ok", "{\"a\": 1,, }\n")]
    {
        let (_gone, folder) = folder();
        put(&folder, "a.json", "{\"a\": 1}\n");
        put(&folder, "b.txt", "one\n");
        let mut editor = editor_in(&folder, json!({ "syntaxGate": gate })).await;
        let patch = "*** Begin Patch\n*** Update File: b.txt\n-one\n+two\n\
            *** Update File: a.json\n-{\"a\": 1}\n+{\"a\": 1,, }\n*** End Patch\n";
        let result = call(&mut editor, "apply_patch", json!({ "patch": patch })).await;
        assert_eq!(result["status"], status, "{gate}: {result}");
        assert_eq!(got(&folder, "a.json"), after.as_bytes(), "{gate}");
        let other = if gate == "refuse" { "one\n" } else { "two\n" };
        assert_eq!(got(&folder, "b.txt"), other.as_bytes(), "{gate}");
        // Where it is made all the same, the check that follows every change tells what broke.
        let words =
            if gate == "refuse" { "was not changed: it is whole JSON now" } else { "introduced 1 error [syntax" };
        assert!(text(&result).contains(words), "{gate}: {result}");
        end(editor).await;
    }
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "somebody else renames the file")]
async fn a_file_that_is_renamed_under_an_open_buffer_leaves_the_buffer() {
    let (_gone, folder) = folder();
    put(&folder, "a.txt", "saved WORD\n");
    let mut editor = editor_in(&folder, json!({})).await;
    editor.open(&format!("file://{}/a.txt", folder.display()), "unsaved WORD\n");
    std::fs::rename(folder.join("a.txt"), folder.join("b.txt")).unwrap();
    let grep = json!({ "pattern": "WORD", "output_mode": "content" });
    let found = call(&mut editor, "grep", grep).await;
    for words in ["a.txt (unsaved)\n1:unsaved WORD", "b.txt\n1:saved WORD"] {
        assert!(text(&found).contains(words), "{found}");
    }
    for (name, words) in [("a.txt", "unsaved WORD"), ("b.txt", "\tsaved WORD")] {
        let result = read(&mut editor, name).await;
        assert!(text(&result).contains(words), "{name}: {result}");
    }
    for (tool, arguments) in
        [("glob", json!({ "pattern": "*.txt" })), ("ls", json!({})), ("file_search", json!({ "query": "txt" }))]
    {
        let listed = call(&mut editor, tool, arguments).await;
        assert!(text(&listed).contains("a.txt") && text(&listed).contains("b.txt"), "{tool}: {listed}");
    }
    end(editor).await;
}

#[tokio::test]
async fn a_folder_that_only_open_documents_make_is_read_as_one() {
    let (_gone, folder) = folder();
    let mut editor = editor_in(&folder, json!({})).await;
    editor.open(&format!("file://{}/nd/deep/new.txt", folder.display()), "new\n");
    for (name, row) in [("nd", "\ndeep/ (open"), ("nd/deep", "\nnew.txt (open")] {
        let result = read(&mut editor, name).await;
        assert_eq!(result["status"], "ok", "{name}: {result}");
        assert!(text(&result).contains(row), "{name}: {result}");
    }
    assert_eq!(read(&mut editor, "n").await["error"]["kind"], "notFound");
    end(editor).await;
}

#[tokio::test]
async fn what_rgignore_names_is_left_out_and_what_it_takes_back_is_not() {
    let (_gone, folder) = folder();
    put(&folder, ".ignore", "back.txt\n");
    put(&folder, ".rgignore", "out.txt\n!back.txt\n");
    for name in ["back.txt", "in.txt", "out.txt"] {
        put(&folder, name, "WORD\n");
    }
    let mut editor = editor_in(&folder, json!({})).await;
    let asked = |ignored: bool| json!({ "pattern": "WORD", "output_mode": "files_with_matches", "ignored": ignored });
    let result = call(&mut editor, "grep", asked(false)).await;
    assert!(text(&result).starts_with("back.txt\nin.txt\n\n"), "{result}");
    let result = call(&mut editor, "grep", asked(true)).await;
    assert!(text(&result).starts_with("back.txt\nin.txt\nout.txt\n\n"), "{result}");
    end(editor).await;
}
