//! Every odd kind of file in every tool, over the wire and on a real disk: a clear answer each, nothing lost or hung.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::editor::{FakeEditor, Manner};
use crate::files::{call, editor_in, end, folder, got, put, text};

/// A folder with one file of each odd kind.
struct Odd {
    _gone: tempfile::TempDir,
    folder: PathBuf,
    _socket: UnixListener,
}

/// A name that is not UTF-8, where the file system takes one.
const STRANGE: &[u8] = b"caf\xe9.txt";

impl Odd {
    fn new() -> Odd {
        let (gone, folder) = folder();
        put(&folder, "bom.txt", "\u{feff}needle \u{e9}\n");
        put(&folder, "crlf.txt", "one\r\nneedle \u{e9}\r\n");
        put(&folder, "latin1.txt", b"needle \xe9\n");
        put(&folder, "new\nline.txt", "needle \u{e9}\n");
        put(&folder, "utf16be.txt", utf16("needle \u{e9}\n", u16::to_be_bytes));
        put(&folder, "utf16le.txt", utf16("needle \u{e9}\n", u16::to_le_bytes));
        put(&folder, "zeros.bin", b"needle \xc3\xa9\n\0");
        put(&folder, "empty.txt", "");
        put(&folder, "sparse.log", "needle \u{e9}\n");
        let sparse = std::fs::File::options().write(true).open(folder.join("sparse.log")).unwrap();
        sparse.set_len(1 << 30).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, folder.join("fifo"), rustix::fs::FileType::Fifo, 0o644.into(), 0).unwrap();
        let socket = UnixListener::bind(folder.join("socket")).unwrap();
        std::fs::create_dir(folder.join("dir")).unwrap();
        put(&folder.join("dir"), "in.txt", "needle \u{e9}\n");
        symlink("..", folder.join("dir/loop")).unwrap();
        symlink("self", folder.join("self")).unwrap();
        symlink("dir/target.txt", folder.join("dangling")).unwrap();
        symlink("crlf.txt", folder.join("link")).unwrap();
        Odd { _gone: gone, folder, _socket: socket }
    }

    /// How a call names the file whose name is not UTF-8.
    fn strange(&self) -> String {
        format!("file://{}/caf%E9.txt", self.folder.display())
    }

    fn check(&self, told: &str, expected: &Expect) {
        // What macOS and Linux number differently is the same.
        let told = told.replace("(os error 62)", "(os error 40)");
        expected.assert_eq(&told.replace(&self.folder.display().to_string(), "AT"));
    }
}

fn utf16(text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
    format!("\u{feff}{text}").encode_utf16().flat_map(bytes).collect()
}

#[expect(clippy::disallowed_methods, reason = "the test makes the world that is read")]
fn put_os(folder: &Path, name: &[u8], bytes: impl AsRef<[u8]>) {
    std::fs::write(folder.join(OsStr::from_bytes(name)), bytes).unwrap();
}

/// The answers to these calls of one tool, one after another.
async fn told(editor: &mut FakeEditor, name: &str, calls: &[Value]) -> String {
    let mut out = String::new();
    for arguments in calls {
        let result = call(editor, name, arguments.clone()).await;
        let status = result["status"].as_str().unwrap();
        writeln!(out, "--- {arguments} {status}\n{}", text(&result)).unwrap();
    }
    out
}

#[tokio::test]
async fn odd_files_are_read() {
    let odd = Odd::new();
    let mut editor = editor_in(&odd.folder, json!({})).await;
    let mut calls: Vec<Value> = Vec::new();
    for name in ["bom.txt", "crlf.txt", "latin1.txt", "new\nline.txt", "utf16be.txt", "utf16le.txt", "zeros.bin"] {
        calls.push(json!({ "file_path": name }));
    }
    for name in ["sparse.log", "fifo", "socket", "dir/loop/dir/loop/dir/in.txt", "self", "dangling", "link", "dir/loop"]
    {
        calls.push(json!({ "file_path": name }));
    }
    odd.check(&told(&mut editor, "read", &calls).await, &expect![[r#"
        --- {"file_path":"bom.txt"} ok
        1	needle é

        (end of file, 1 line)
        --- {"file_path":"crlf.txt"} ok
        1	one
        2	needle é

        (end of file, 2 lines)
        --- {"file_path":"latin1.txt"} ok
        1	needle é

        (end of file, 1 line)
        (The encoding of this file is not known (its byte 7 is not UTF-8); it is shown as Windows-1252 and cannot be edited.)
        --- {"file_path":"new\nline.txt"} ok
        1	needle é

        (end of file, 1 line)
        --- {"file_path":"utf16be.txt"} ok
        1	needle é

        (end of file, 1 line)
        --- {"file_path":"utf16le.txt"} ok
        1	needle é

        (end of file, 1 line)
        --- {"file_path":"zeros.bin"} error
        zeros.bin is binary: there is a NUL byte at offset 10; it has 11 bytes and cannot be read as text.
        --- {"file_path":"sparse.log"} error
        sparse.log has 1073741824 bytes; files above 52428800 bytes are not read as text. Search it, or cut out the part you need with a command.
        --- {"file_path":"fifo"} error
        fifo is neither a file nor a directory but a pipe, a socket or a device.
        `read` has failed 3 times in a row. Look at why before you try it again.
        --- {"file_path":"socket"} error
        socket is neither a file nor a directory but a pipe, a socket or a device.
        --- {"file_path":"dir/loop/dir/loop/dir/in.txt"} ok
        1	needle é

        (end of file, 1 line)
        --- {"file_path":"self"} error
        self could not be read: Too many levels of symbolic links (os error 40).
        --- {"file_path":"dangling"} error
        There is no file dir/target.txt.
        --- {"file_path":"link"} ok
        1	one
        2	needle é

        (end of file, 2 lines)
        --- {"file_path":"dir/loop"} ok
        . is a folder; `/` marks folders, `@` links, `|` pipes, sockets and devices. `ls` and `glob` look deeper.
        bom.txt
        crlf.txt
        dangling@
        dir/
        empty.txt
        fifo|
        latin1.txt
        link@
        new\u{a}line.txt (name it by file://AT/new%0Aline.txt)
        self@
        socket|
        sparse.log
        utf16be.txt
        utf16le.txt
        zeros.bin

        (entries: 15)
    "#]]);
    end(editor).await;
}

#[tokio::test]
async fn odd_files_are_written_as_they_are_or_left_alone() {
    let odd = Odd::new();
    let mut editor = editor_in(&odd.folder, json!({ "freshness": "off" })).await;
    let names = ["bom.txt", "crlf.txt", "latin1.txt", "new\nline.txt", "utf16be.txt", "utf16le.txt", "zeros.bin"];
    let others = ["sparse.log", "fifo", "socket", "dir", "dir/loop/dir/in.txt", "self", "dangling", "link"];
    let calls: Vec<Value> =
        names.iter().chain(&others).map(|name| json!({ "file_path": name, "content": "x\n" })).collect();
    odd.check(&told(&mut editor, "write", &calls).await, &expect![[r#"
        --- {"file_path":"bom.txt","content":"x\n"} ok
        Changed bom.txt: line 1 became line 1 (write).
        --- a/bom.txt
        +++ b/bom.txt
        @@ -1 +1 @@
        -needle é
        +x
        bom.txt: not checked
          language server: not running (own language servers are turned off)
        --- {"file_path":"crlf.txt","content":"x\n"} ok
        Changed crlf.txt: lines 1-2 became line 1 (write).
        Note: the file's CRLF line ends were kept.
        --- a/crlf.txt
        +++ b/crlf.txt
        @@ -1,2 +1 @@
        -one
        -needle é
        +x
        crlf.txt: not checked
          language server: not running (own language servers are turned off)
        --- {"file_path":"latin1.txt","content":"x\n"} error
        latin1.txt is encoded neither in UTF-8 nor in UTF-16 with a byte order mark, so that it can be read but not written without damage; convert it to UTF-8 first. Nothing was changed.
        --- {"file_path":"new\nline.txt","content":"x\n"} ok
        Changed "new\nline.txt": line 1 became line 1 (write).
        --- a/"new\nline.txt"
        +++ b/"new\nline.txt"
        @@ -1 +1 @@
        -needle é
        +x
        file://AT/new%0Aline.txt: not checked
          language server: not running (own language servers are turned off)
        --- {"file_path":"utf16be.txt","content":"x\n"} ok
        Changed utf16be.txt: line 1 became line 1 (write).
        --- a/utf16be.txt
        +++ b/utf16be.txt
        @@ -1 +1 @@
        -needle é
        +x
        utf16be.txt: not checked
          language server: not running (own language servers are turned off)
        --- {"file_path":"utf16le.txt","content":"x\n"} ok
        Changed utf16le.txt: line 1 became line 1 (write).
        --- a/utf16le.txt
        +++ b/utf16le.txt
        @@ -1 +1 @@
        -needle é
        +x
        utf16le.txt: not checked
          language server: not running (own language servers are turned off)
        --- {"file_path":"zeros.bin","content":"x\n"} error
        zeros.bin is binary: there is a NUL byte at offset 10; it has 11 bytes and cannot be read as text.
        --- {"file_path":"sparse.log","content":"x\n"} error
        sparse.log has 1073741824 bytes; files above 52428800 bytes are not read as text. Search it, or cut out the part you need with a command.
        --- {"file_path":"fifo","content":"x\n"} error
        fifo is neither a file nor a directory but a pipe, a socket or a device.
        `write` has failed 3 times in a row. Look at why before you try it again.
        --- {"file_path":"socket","content":"x\n"} error
        socket is neither a file nor a directory but a pipe, a socket or a device.
        --- {"file_path":"dir","content":"x\n"} error
        dir is a directory; name a file in it.
        --- {"file_path":"dir/loop/dir/in.txt","content":"x\n"} ok
        Changed dir/in.txt: line 1 became line 1 (write).
        --- a/dir/in.txt
        +++ b/dir/in.txt
        @@ -1 +1 @@
        -needle é
        +x
        dir/loop/dir/in.txt: not checked
          language server: not running (own language servers are turned off)
        --- {"file_path":"self","content":"x\n"} error
        self could not be read: Too many levels of symbolic links (os error 40).
        --- {"file_path":"dangling","content":"x\n"} ok
        Created AT/dir/target.txt (1 line), where AT/dangling leads.
        dangling: not checked
          language server: not running (own language servers are turned off)
        --- {"file_path":"link","content":"x\n"} ok
        crlf.txt has exactly this content already; nothing was done.
    "#]]);
    for (name, bytes) in [
        ("bom.txt", &b"\xef\xbb\xbfx\n"[..]),
        ("crlf.txt", b"x\r\n"),
        ("latin1.txt", b"needle \xe9\n"),
        ("new\nline.txt", b"x\n"),
        ("utf16be.txt", b"\xfe\xff\0x\0\n"),
        ("utf16le.txt", b"\xff\xfex\0\n\0"),
        ("zeros.bin", b"needle \xc3\xa9\n\0"),
        ("dir/in.txt", b"x\n"),
        ("dir/target.txt", b"x\n"),
    ] {
        assert_eq!(got(&odd.folder, name), bytes, "{name}");
    }
    assert_eq!(odd.folder.join("sparse.log").metadata().unwrap().len(), 1 << 30);
    for link in ["self", "dangling", "link", "dir/loop"] {
        assert!(odd.folder.join(link).symlink_metadata().unwrap().is_symlink(), "{link}");
    }
    end(editor).await;
}

#[tokio::test]
async fn odd_files_are_listed() {
    let odd = Odd::new();
    let mut editor = editor_in(&odd.folder, json!({})).await;
    let calls = ["dir", "fifo", "dir/loop", "self", "zeros.bin"].map(|name| json!({ "path": name }));
    odd.check(
        &told(&mut editor, "ls", &[&[json!({})], &calls[..]].concat()).await,
        &expect![[r#"
        --- {} ok
        ./
          dir/
            in.txt
            loop@
          bom.txt
          crlf.txt
          dangling@
          empty.txt
          fifo|
          latin1.txt
          link@
          "new\nline.txt" (file://AT/new%0Aline.txt)
          self@
          socket|
          sparse.log
          utf16be.txt
          utf16le.txt
          zeros.bin

        (1 folder, 16 files down to depth 2)
        --- {"path":"dir"} ok
        dir/
          in.txt
          loop@

        (0 folders, 2 files down to depth 2)
        --- {"path":"fifo"} error
        fifo is neither a file nor a folder but a pipe, a socket or a device; it is not searched.
        --- {"path":"dir/loop"} ok
        ./
          dir/
            in.txt
            loop@
          bom.txt
          crlf.txt
          dangling@
          empty.txt
          fifo|
          latin1.txt
          link@
          "new\nline.txt" (file://AT/new%0Aline.txt)
          self@
          socket|
          sparse.log
          utf16be.txt
          utf16le.txt
          zeros.bin

        (1 folder, 16 files down to depth 2)
        --- {"path":"self"} error
        self could not be read: Too many levels of symbolic links (os error 40).
        --- {"path":"zeros.bin"} error
        zeros.bin is a file, not a folder; show it with `read`.
    "#]],
    );
    end(editor).await;
    let mut editor = editor_in(&odd.folder, json!({ "search": { "followLinks": true } })).await;
    odd.check(&told(&mut editor, "ls", &[json!({ "depth": 9 })]).await, &expect![[r#"
        --- {"depth":9} ok
        ./
          dir/
            in.txt
          bom.txt
          crlf.txt
          empty.txt
          fifo|
          latin1.txt
          link
          "new\nline.txt" (file://AT/new%0Aline.txt)
          socket|
          sparse.log
          utf16be.txt
          utf16le.txt
          zeros.bin

        (1 folder, 13 files down to depth 9)
        (left out as hidden, ignored or excluded: 3)
        (could not be looked at: dangling: No such file or directory (os error 2); dir/loop: a link that leads back to AT, a folder it is in; self: Too many levels of symbolic links (os error 40))
    "#]]);
    end(editor).await;
}

#[tokio::test]
async fn odd_files_are_found() {
    let odd = Odd::new();
    for links in [false, true] {
        let mut editor = editor_in(&odd.folder, json!({ "search": { "followLinks": links } })).await;
        let glob = [json!({ "pattern": "*", "sort": "path" }), json!({ "pattern": "*", "path": "fifo" })];
        let found = told(&mut editor, "glob", &glob).await;
        let search = [json!({ "query": "txt" }), json!({ "query": "new line" }), json!({ "query": "caf" })];
        let searched = told(&mut editor, "file_search", &search).await;
        let expected = if links {
            expect![[r#"
            --- {"pattern":"*","sort":"path"} ok
            bom.txt
            crlf.txt
            dir/in.txt
            empty.txt
            latin1.txt
            link
            "new\nline.txt" (file://AT/new%0Aline.txt)
            sparse.log
            utf16be.txt
            utf16le.txt
            zeros.bin

            (11 files)
            (could not be looked at: dangling: No such file or directory (os error 2); dir/loop: a link that leads back to AT, a folder it is in; self: Too many levels of symbolic links (os error 40))
            --- {"pattern":"*","path":"fifo"} error
            fifo is neither a file nor a folder but a pipe, a socket or a device; it is not searched.
            --- {"query":"txt"} ok
            bom.txt
            crlf.txt
            dir/in.txt
            empty.txt
            latin1.txt
            "new\nline.txt" (file://AT/new%0Aline.txt)
            utf16be.txt
            utf16le.txt

            (8 files)
            (could not be looked at: dangling: No such file or directory (os error 2); dir/loop: a link that leads back to AT, a folder it is in; self: Too many levels of symbolic links (os error 40))
            --- {"query":"new line"} ok
            "new\nline.txt" (file://AT/new%0Aline.txt)

            (1 file)
            (could not be looked at: dangling: No such file or directory (os error 2); dir/loop: a link that leads back to AT, a folder it is in; self: Too many levels of symbolic links (os error 40))
            --- {"query":"caf"} ok
            No file fits "caf" in the workspace.
            (could not be looked at: dangling: No such file or directory (os error 2); dir/loop: a link that leads back to AT, a folder it is in; self: Too many levels of symbolic links (os error 40))
        "#]]
        } else {
            expect![[r#"
            --- {"pattern":"*","sort":"path"} ok
            bom.txt
            crlf.txt
            dir/in.txt
            empty.txt
            latin1.txt
            "new\nline.txt" (file://AT/new%0Aline.txt)
            sparse.log
            utf16be.txt
            utf16le.txt
            zeros.bin

            (10 files)
            --- {"pattern":"*","path":"fifo"} error
            fifo is neither a file nor a folder but a pipe, a socket or a device; it is not searched.
            --- {"query":"txt"} ok
            bom.txt
            crlf.txt
            dir/in.txt
            empty.txt
            latin1.txt
            "new\nline.txt" (file://AT/new%0Aline.txt)
            utf16be.txt
            utf16le.txt

            (8 files)
            --- {"query":"new line"} ok
            "new\nline.txt" (file://AT/new%0Aline.txt)

            (1 file)
            --- {"query":"caf"} ok
            No file fits "caf" in the workspace.
        "#]]
        };
        odd.check(&format!("{found}{searched}"), &expected);
        end(editor).await;
    }
}

#[tokio::test]
async fn odd_files_are_searched() {
    let odd = Odd::new();
    let mut editor = editor_in(&odd.folder, json!({})).await;
    let calls = [
        json!({ "pattern": "needle é$" }),
        json!({ "pattern": "needle", "path": "zeros.bin" }),
        json!({ "pattern": "needle", "path": "sparse.log", "output_mode": "files_with_matches" }),
        json!({ "pattern": "e\nneedle", "multiline": true }),
        json!({ "pattern": "é", "path": "latin1.txt", "output_mode": "count" }),
        json!({ "pattern": "needle", "path": "fifo" }),
        json!({ "pattern": "needle", "path": "socket" }),
        json!({ "pattern": "needle", "path": "self" }),
        json!({ "pattern": "needle", "path": "dangling" }),
        json!({ "pattern": "needle", "path": "dir/loop/dir" }),
        json!({ "pattern": "needle", "path": "empty.txt" }),
    ];
    odd.check(
        &told(&mut editor, "grep", &calls).await,
        &expect![[r#"
        --- {"pattern":"needle é$"} ok
        bom.txt
        1:needle é

        crlf.txt
        2:needle é

        dir/in.txt
        1:needle é

        latin1.txt
        1:needle é

        "new\nline.txt" (file://AT/new%0Aline.txt)
        1:needle é

        utf16be.txt
        1:needle é

        utf16le.txt
        1:needle é

        (7 matching lines in 7 files; 8 files searched)
        (left out: 2 binary files)
        --- {"pattern":"needle","path":"zeros.bin"} ok
        zeros.bin was not searched: it is binary, there is a NUL byte at offset 10.
        --- {"pattern":"needle","path":"sparse.log","output_mode":"files_with_matches"} ok
        sparse.log was not searched: it is binary, there is a NUL byte at offset 10.
        --- {"pattern":"e\nneedle","multiline":true} ok
        No match for "e\nneedle" in the workspace; 8 files searched.
        (left out: 2 binary files)
        --- {"pattern":"é","path":"latin1.txt","output_mode":"count"} ok
        latin1.txt:1

        (1 matching line in 1 file; 1 file searched)
        --- {"pattern":"needle","path":"fifo"} error
        fifo is neither a file nor a folder but a pipe, a socket or a device; it is not searched.
        --- {"pattern":"needle","path":"socket"} error
        socket is neither a file nor a folder but a pipe, a socket or a device; it is not searched.
        --- {"pattern":"needle","path":"self"} error
        self could not be read: Too many levels of symbolic links (os error 40).
        `grep` has failed 3 times in a row. Look at why before you try it again.
        --- {"pattern":"needle","path":"dangling"} error
        There is no file dir/target.txt.
        --- {"pattern":"needle","path":"dir/loop/dir"} ok
        dir/in.txt
        1:needle é

        (1 matching line in 1 file; 1 file searched)
        --- {"pattern":"needle","path":"empty.txt"} ok
        No match for "needle" in empty.txt; 1 file searched.
    "#]],
    );
    end(editor).await;
}

#[tokio::test]
async fn a_line_of_a_hundred_megabytes_is_searched_and_not_written() {
    let (_gone, folder) = folder();
    let mut wide = vec![b'x'; 100 << 20];
    wide[80 << 20..(80 << 20) + 6].copy_from_slice(b"needle");
    put(&folder, "wide.txt", &wide);
    put(&folder, "z.txt", "needle\n");
    let mut editor = editor_in(&folder, json!({ "freshness": "off" })).await;
    let result = call(&mut editor, "grep", json!({ "pattern": "needle" })).await;
    assert!(text(&result).contains("(cut; the match is at column 83886081)\n\nz.txt\n1:needle\n"), "{result}");
    let result = call(&mut editor, "grep", json!({ "pattern": "x\\n?needle", "multiline": true })).await;
    assert!(text(&result).contains("(cut; the match is at column 83886080)"), "{result}");
    for (name, arguments) in [
        ("write", json!({ "file_path": "wide.txt", "content": "x\n" })),
        ("edit", json!({ "file_path": "wide.txt", "old_string": "needle", "new_string": "x" })),
    ] {
        let result = call(&mut editor, name, arguments).await;
        assert_eq!(result["status"], "error", "{result}");
        assert!(text(&result).starts_with("wide.txt has 104857600 bytes; files above"), "{result}");
    }
    assert_eq!(folder.join("wide.txt").metadata().unwrap().len(), 100 << 20);
    end(editor).await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_name_that_is_not_utf8_is_given_by_its_uri() {
    let odd = Odd::new();
    put_os(&odd.folder, STRANGE, "needle \u{e9}\n");
    let uri = odd.strange();
    let mut editor = editor_in(&odd.folder, json!({})).await;
    // What lists it says how to name it.
    for (name, arguments) in [
        ("read", json!({ "file_path": "." })),
        ("read", json!({ "file_path": "caf\u{fffd}.txt" })),
        ("ls", json!({})),
        ("glob", json!({ "pattern": "caf*" })),
        ("file_search", json!({ "query": "caf" })),
        ("grep", json!({ "pattern": "needle", "include": "caf*" })),
    ] {
        let result = call(&mut editor, name, arguments).await;
        assert!(text(&result).contains(&uri), "{name}: {result}");
    }
    let read = call(&mut editor, "read", json!({ "file_path": uri })).await;
    assert!(text(&read).starts_with("1\tneedle \u{e9}\n"), "{read}");
    let arguments = json!({ "file_path": uri, "old_string": "needle", "new_string": "pin" });
    assert_eq!(call(&mut editor, "edit", arguments).await["status"], "ok");
    assert_eq!(got(&odd.folder, OsStr::from_bytes(STRANGE)), "pin \u{e9}\n".as_bytes());
    let grep = call(&mut editor, "grep", json!({ "pattern": "pin", "path": uri })).await;
    assert!(text(&grep).contains("1:pin \u{e9}\n"), "{grep}");
    let arguments = json!({ "file_path": uri, "content": "written\n" });
    assert_eq!(call(&mut editor, "write", arguments).await["status"], "ok");
    assert_eq!(got(&odd.folder, OsStr::from_bytes(STRANGE)), b"written\n");
    // A new one too; and one that is open.
    let new = uri.replace("caf", "new");
    let made = call(&mut editor, "write", json!({ "file_path": new, "content": "made\n" })).await;
    assert_eq!(made["status"], "ok", "{made}");
    assert_eq!(got(&odd.folder, OsStr::from_bytes(b"new\xe9.txt")), b"made\n");
    editor.open(&uri, "buffer\n");
    let id = editor.request(
        "ropewalk/callTool",
        json!({ "name": "edit", "arguments": { "file_path": uri, "old_string": "buffer", "new_string": "BUFFER" } }),
    );
    editor.serve_edit(Manner::Apply).await;
    assert_eq!(editor.result(id).await["status"], "ok");
    assert_eq!(editor.buffers[&uri].text, "BUFFER\n");
    let grep = call(&mut editor, "grep", json!({ "pattern": "BUFFER|written", "path": uri })).await;
    assert!(text(&grep).contains("1:BUFFER\n") && !text(&grep).contains("written\n"), "{grep}");
    end(editor).await;
}
