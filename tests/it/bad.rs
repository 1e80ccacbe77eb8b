//! Arguments that make no sense, in every tool that takes files: each gets an answer that says what to do, at once.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use expect_test::expect;
use ropewalk::ports::{MemoryDisk, Ports};
use ropewalk::server::{self, ServeOptions};
use serde_json::{Value, json};

use crate::editor::FakeEditor;

async fn editor() -> (FakeEditor, Arc<MemoryDisk>) {
    let disk = MemoryDisk::new()
        .with_file("/w/src/a.rs", "fn a() {}\n")
        .with_file("/w/src/b.rs", "fn b() {}\n")
        .with_file("/w/note.txt", "one\ntwo\n");
    let disk = Arc::new(disk);
    let ports = Ports { disk: disk.clone(), ..Ports::system() };
    let options = ServeOptions { repeatable: true, ..ServeOptions::default() };
    let mut editor = FakeEditor::start(|input, output| tokio::spawn(server::serve(input, output, ports, options)));
    let params = json!({
        "processId": null,
        "workspaceFolders": [{ "uri": "file:///w", "name": "w" }],
        "initializationOptions": { "diagnostics": { "ownServers": "off" } },
        "capabilities": { "general": { "positionEncodings": ["utf-8"] } },
    });
    editor.ask("initialize", params).await;
    (editor, disk)
}

/// The answers to these calls of one tool, each in a session of its own, and long ones cut.
async fn told(name: &str, calls: &[Value]) -> String {
    let (mut editor, disk) = editor().await;
    let mut out = String::new();
    for (number, arguments) in calls.iter().enumerate() {
        let call = json!({ "name": name, "arguments": arguments, "session": format!("s{number}") });
        let result = editor.ask("ropewalk/callTool", call).await;
        let text = result["content"][0]["text"].as_str().unwrap_or_default();
        let shown = |text: &str| -> String { text.chars().take(400).collect() };
        writeln!(out, "--- {} {}\n{}", shown(&arguments.to_string()), result["status"], shown(text)).unwrap();
    }
    assert_eq!(disk.bytes("/w/note.txt").unwrap(), b"one\ntwo\n");
    assert_eq!(editor.leave().await, 0);
    out
}

#[tokio::test(start_paused = true)]
async fn grep_takes_no_nonsense() {
    let calls = [
        json!({ "pattern": "" }),
        json!({ "pattern": "(a{1000}){1000}" }),
        json!({ "pattern": "(?=x)" }),
        json!({ "pattern": "(a)\\1" }),
        json!({ "pattern": "fn", "path": "src/a.rs/" }),
        json!({ "pattern": "fn", "path": "note.txt/deeper" }),
        json!({ "pattern": "fn", "path": "../../w/./src/../src" }),
        json!({ "pattern": "fn", "path": "a\u{0}b" }),
        json!({ "pattern": "fn", "path": "~/x" }),
        json!({ "pattern": "fn", "path": "https://example.org/x" }),
        json!({ "pattern": "fn", "path": "n".repeat(5000) }),
        json!({ "pattern": "fn", "include": "!" }),
        json!({ "pattern": "fn", "include": ["*.rs", "!b.rs"] }),
        json!({ "pattern": "fn", "include": "[\"*.rs\", \"!a.rs\"]" }),
        json!({ "pattern": "fn", "include": "{a,b" }),
        json!({ "pattern": "fn", "include": "/w/src/*.rs" }),
        json!({ "pattern": "fn", "include": "a.rs,b.rs" }),
        json!({ "pattern": "fn", "exclude": "**" }),
        json!({ "pattern": "fn", "head_limit": 0 }),
        json!({ "pattern": "fn", "offset": 99 }),
        json!({ "pattern": "fn", "context": 5000 }),
        json!({ "pattern": "fn", "offset": -1 }),
        json!({ "pattern": "fn", "output_mode": "lines" }),
        json!({ "pattern": ["fn"] }),
        json!({ "pattern": "$^", "multiline": true, "path": "note.txt" }),
        json!({ "pattern": "\n", "literal": true, "multiline": true, "path": "note.txt" }),
    ];
    expect![[r#"
        --- {"pattern":""} "error"
        `pattern` is empty; give a regular expression, for example "fn main".
        --- {"pattern":"(a{1000}){1000}"} "ok"
        No match for "(a{1000}){1000}" in the workspace; 3 files searched.
        --- {"pattern":"(?=x)"} "error"
        The pattern is not a regular expression:
        regex parse error:
            (?=x)
            ^^^
        error: look-around, including look-ahead and look-behind, is not supported
        Mend it, or set `literal` to true to look for the text as it is.
        --- {"pattern":"(a)\\1"} "error"
        The pattern is not a regular expression:
        regex parse error:
            (a)\1
               ^^
        error: backreferences are not supported
        Mend it, or set `literal` to true to look for the text as it is.
        --- {"pattern":"fn","path":"src/a.rs/"} "ok"
        src/a.rs
        1:fn a() {}

        (1 matching line in 1 file; 1 file searched)
        --- {"pattern":"fn","path":"note.txt/deeper"} "error"
        There is no file note.txt/deeper: a part of its path is a file, not a directory.
        --- {"pattern":"fn","path":"../../w/./src/../src"} "ok"
        src/a.rs
        1:fn a() {}

        src/b.rs
        1:fn b() {}

        (2 matching lines in 2 files; 2 files searched)
        --- {"pattern":"fn","path":"a\u0000b"} "error"
        "a\0b" is not a path: it has a NUL character in it.
        --- {"pattern":"fn","path":"~/x"} "error"
        ~/x begins with ~, which is not expanded here; give the absolute path, or one relative to a workspace folder.
        --- {"pattern":"fn","path":"https://example.org/x"} "error"
        https://example.org/x is virtual: `https:` documents and files of other machines cannot be read or changed here. Give the absolute path of a file, or the URI of an open document.
        `grep` has failed 3 times in a row. Look at why before you try it again.
        --- {"pattern":"fn","path":"nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn "error"
        There is no file nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn
        --- {"pattern":"fn","include":"!"} "error"
        "" is not a glob: it is empty. For example: "src/**/*.rs", "*.{ts,tsx}".
        --- {"pattern":"fn","include":["*.rs","!b.rs"]} "ok"
        src/a.rs
        1:fn a() {}

        (1 matching line in 1 file; 1 file searched)
        --- {"pattern":"fn","include":"[\"*.rs\", \"!a.rs\"]"} "ok"
        src/b.rs
        1:fn b() {}

        (1 matching line in 1 file; 1 file searched)
        --- {"pattern":"fn","include":"{a,b"} "error"
        "{a,b" is not a glob: unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?). For example: "src/**/*.rs", "*.{ts,tsx}".
        --- {"pattern":"fn","include":"/w/src/*.rs"} "ok"
        src/a.rs
        1:fn a() {}

        src/b.rs
        1:fn b() {}

        (2 matching lines in 2 files; 2 files searched)
        --- {"pattern":"fn","include":"a.rs,b.rs"} "ok"
        No match for "fn" in the workspace; 0 files searched.
        --- {"pattern":"fn","exclude":"**"} "ok"
        No match for "fn" in the workspace; 0 files searched.
        --- {"pattern":"fn","head_limit":0} "error"
        The arguments of `grep` do not fit:
        - `head_limit`: expected an integer of at least 1 of at most 5000, got 0 (a number); for example 200
        A call that fits: {"pattern":"fn \\w+_test"}
        --- {"pattern":"fn","offset":99} "ok"
        There are only 2 results; offset 99 is past them.
        --- {"pattern":"fn","context":5000} "error"
        The arguments of `grep` do not fit:
        - `context`: expected an integer of at least 0 of at most 50, got 5000 (a number); for example 0
        A call that fits: {"pattern":"fn \\w+_test"}
        --- {"pattern":"fn","offset":-1} "error"
        The arguments of `grep` do not fit:
        - `offset`: expected an integer of at least 1, got -1 (a number); for example 1
        A call that fits: {"pattern":"fn \\w+_test"}
        --- {"pattern":"fn","output_mode":"lines"} "error"
        The arguments of `grep` do not fit:
        - `output_mode`: expected "content" or "files_with_matches" or "count", got "lines" (a string); for example "content"
        A call that fits: {"pattern":"fn \\w+_test"}
        `grep` has failed 3 times in a row. Look at why before you try it again.
        --- {"pattern":["fn"]} "error"
        The arguments of `grep` do not fit:
        - `pattern`: expected a string, got ["fn"] (an array); for example "fn \\w+_test"
        A call that fits: {"pattern":"fn \\w+_test"}
        --- {"pattern":"$^","multiline":true,"path":"note.txt"} "ok"
        No match for "$^" in note.txt; 1 file searched.
        --- {"pattern":"\n","literal":true,"multiline":true,"path":"note.txt"} "ok"
        note.txt
        1:one
        2:two

        (2 matching lines in 1 file; 1 file searched)
    "#]].assert_eq(&told("grep", &calls).await);
}

#[tokio::test(start_paused = true)]
async fn lists_take_no_nonsense() {
    let globs = [
        json!({ "pattern": "/" }),
        json!({ "pattern": ".." }),
        json!({ "pattern": "../*.rs" }),
        json!({ "pattern": "src/../*.txt" }),
        json!({ "pattern": "/w/src/*.rs", "sort": "path" }),
        json!({ "pattern": "/w/src/a.rs" }),
        json!({ "pattern": "/w/note.txt" }),
        json!({ "pattern": "!*.rs" }),
        json!({ "pattern": "src/a.rs", "path": "src" }),
        json!({ "pattern": "*.rs", "path": "note.txt" }),
        json!({ "pattern": "*.rs", "path": "nope" }),
        json!({ "pattern": "{" }),
        json!({ "pattern": "*.rs", "limit": 0 }),
        json!({ "pattern": "a".repeat(70_000) }),
    ];
    let searches = [
        json!({ "query": "!a" }),
        json!({ "query": "^src .rs$" }),
        json!({ "query": "\u{1f600}" }),
        json!({ "query": "x".repeat(70_000) }),
        json!({ "query": "a", "limit": 1_000_000 }),
        json!({ "query": "a.rs", "include": "!a.rs" }),
        json!({ "query": "/w/src/a.rs" }),
        json!({ "query": "src\\a.rs" }),
    ];
    let ls = [
        json!({ "depth": 0 }),
        json!({ "depth": 500 }),
        json!({ "path": "nope" }),
        json!({ "path": "src/a.rs/x" }),
        json!({ "path": "src", "exclude": "!*.rs" }),
        json!({ "path": "/w/src/" }),
        json!({ "path": "file:///w/src" }),
    ];
    let all = format!(
        "glob\n{}file_search\n{}ls\n{}",
        told("glob", &globs).await,
        told("file_search", &searches).await,
        told("ls", &ls).await
    );
    expect![[r#"
        glob
        --- {"pattern":"/"} "ok"
        No file fits "/" in the workspace.
        --- {"pattern":".."} "error"
        ".." has `..` in it, which no glob fits; give the folder as `path`.
        --- {"pattern":"../*.rs"} "error"
        "../*.rs" has `..` in it, which no glob fits; give the folder as `path`.
        --- {"pattern":"src/../*.txt"} "error"
        "src/../*.txt" has `..` in it, which no glob fits; give the folder as `path`.
        `glob` has failed 3 times in a row. Look at why before you try it again.
        --- {"pattern":"/w/src/*.rs","sort":"path"} "ok"
        src/a.rs
        src/b.rs

        (2 files)
        --- {"pattern":"/w/src/a.rs"} "ok"
        src/a.rs

        (1 file)
        --- {"pattern":"/w/note.txt"} "ok"
        note.txt

        (1 file)
        --- {"pattern":"!*.rs"} "ok"
        note.txt

        (1 file)
        --- {"pattern":"src/a.rs","path":"src"} "ok"
        No file fits "src/a.rs" in src.
        --- {"pattern":"*.rs","path":"note.txt"} "ok"
        No file fits "*.rs" in note.txt.
        --- {"pattern":"*.rs","path":"nope"} "error"
        There is no file nope.
        --- {"pattern":"{"} "error"
        "{" is not a glob: unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?). For example: "src/**/*.rs", "*.{ts,tsx}".
        --- {"pattern":"*.rs","limit":0} "error"
        The arguments of `glob` do not fit:
        - `limit`: expected an integer of at least 1 of at most 5000, got 0 (a number); for example 200
        A call that fits: {"pattern":"src/**/*.rs"}
        `glob` has failed 3 times in a row. Look at why before you try it again.
        --- {"pattern":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa "ok"
        No file fits "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
        file_search
        --- {"query":"!a"} "ok"
        No file fits "!a" in the workspace.
        --- {"query":"^src .rs$"} "ok"
        No file fits "^src .rs$" in the workspace.
        --- {"query":"😀"} "ok"
        No file fits "😀" in the workspace.
        --- {"query":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx "ok"
        No file fits "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
        --- {"query":"a","limit":1000000} "error"
        The arguments of `file_search` do not fit:
        - `limit`: expected an integer of at least 1 of at most 1000, got 1000000 (a number); for example 20
        A call that fits: {"query":"confparse"}
        --- {"query":"a.rs","include":"!a.rs"} "ok"
        No file fits "a.rs" in the workspace.
        --- {"query":"/w/src/a.rs"} "ok"
        No file fits "/w/src/a.rs" in the workspace.
        --- {"query":"src\\a.rs"} "ok"
        No file fits "src\\a.rs" in the workspace.
        ls
        --- {"depth":0} "error"
        The arguments of `ls` do not fit:
        - `depth`: expected an integer of at least 1 of at most 20, got 0 (a number); for example 2
        A call that fits: {}
        --- {"depth":500} "error"
        The arguments of `ls` do not fit:
        - `depth`: expected an integer of at least 1 of at most 20, got 500 (a number); for example 2
        A call that fits: {}
        --- {"path":"nope"} "error"
        There is no file nope.
        `ls` has failed 3 times in a row. Look at why before you try it again.
        --- {"path":"src/a.rs/x"} "error"
        There is no file src/a.rs/x: a part of its path is a file, not a directory.
        --- {"path":"src","exclude":"!*.rs"} "ok"
        src/
          a.rs
          b.rs

        (0 folders, 2 files down to depth 2)
        --- {"path":"/w/src/"} "ok"
        src/
          a.rs
          b.rs

        (0 folders, 2 files down to depth 2)
        --- {"path":"file:///w/src"} "ok"
        src/
          a.rs
          b.rs

        (0 folders, 2 files down to depth 2)
    "#]].assert_eq(&all);
}

#[tokio::test(start_paused = true)]
async fn reading_and_writing_take_no_nonsense() {
    let reads = [
        json!({ "file_path": "" }),
        json!({ "file_path": " " }),
        json!({ "file_path": "note.txt", "offset": 0 }),
        json!({ "file_path": "note.txt", "offset": 9 }),
        json!({ "file_path": "note.txt", "limit": 0 }),
        json!({ "file_path": "note.txt", "column": 50 }),
        json!({ "file_path": "note.txt", "offset": u64::MAX }),
        json!({ "file_path": "note.txt/x" }),
        json!({ "file_path": "note.txt/" }),
        json!({ "file_path": "n".repeat(5000) }),
        json!({ "file_path": "file:///w/no%00te.txt" }),
        json!({ "file_path": "file://elsewhere/w/note.txt" }),
        json!({ "file_path": "C:\\w\\note.txt" }),
        json!({ "file_path": "untitled:none" }),
        json!({ "file_path": "note.txt\n" }),
    ];
    let writes = [
        json!({ "file_path": "note.txt" }),
        json!({ "file_path": "note.txt", "content": 5 }),
        json!({ "file_path": "note.txt", "content": "unread\n" }),
        json!({ "file_path": "note.txt/x", "content": "x" }),
        json!({ "file_path": "src", "content": "x" }),
        json!({ "file_path": "new/", "content": "x" }),
        json!({ "file_path": ".", "content": "x" }),
        json!({ "file_path": "a\u{0}b", "content": "x" }),
        json!({ "file_path": "bell\u{7}.txt", "content": "x\n" }),
    ];
    let all = format!("read\n{}write\n{}", told("read", &reads).await, told("write", &writes).await);
    expect![[r#"
        read
        --- {"file_path":""} "error"
        `file_path` is empty; give the path of a file, for example "src/main.rs".
        --- {"file_path":" "} "error"
        `file_path` is empty; give the path of a file, for example "src/main.rs".
        --- {"file_path":"note.txt","offset":0} "error"
        The arguments of `read` do not fit:
        - `offset`: expected an integer of at least 1, got 0 (a number); for example 1
        A call that fits: {"file_path":"src/main.rs"}
        `read` has failed 3 times in a row. Look at why before you try it again.
        --- {"file_path":"note.txt","offset":9} "ok"
        Line 9 is past the end of note.txt, which has 2 lines.
        --- {"file_path":"note.txt","limit":0} "error"
        The arguments of `read` do not fit:
        - `limit`: expected an integer of at least 1, got 0 (a number); for example 2000
        A call that fits: {"file_path":"src/main.rs"}
        --- {"file_path":"note.txt","column":50} "ok"
        1	
        2	

        (end of file, 2 lines)
        (each line from its character 50)
        --- {"file_path":"note.txt","offset":18446744073709551615} "ok"
        Line 18446744073709551615 is past the end of note.txt, which has 2 lines.
        --- {"file_path":"note.txt/x"} "error"
        There is no file note.txt/x: a part of its path is a file, not a directory.
        --- {"file_path":"note.txt/"} "ok"
        1	one
        2	two

        (end of file, 2 lines)
        --- {"file_path":"nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn "error"
        There is no file nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn
        --- {"file_path":"file:///w/no%00te.txt"} "error"
        file:///w/no%00te.txt is virtual: `file:` documents and files of other machines cannot be read or changed here. Give the absolute path of a file, or the URI of an open document.
        --- {"file_path":"file://elsewhere/w/note.txt"} "error"
        file://elsewhere/w/note.txt is virtual: `file:` documents and files of other machines cannot be read or changed here. Give the absolute path of a file, or the URI of an open document.
        `read` has failed 3 times in a row. Look at why before you try it again.
        --- {"file_path":"C:\\w\\note.txt"} "error"
        C:\w\note.txt is a path of Windows; this machine's paths begin with /.
        --- {"file_path":"untitled:none"} "error"
        untitled:none is not open in the editor; no document without a file is open.
        --- {"file_path":"note.txt\n"} "error"
        There is no file "note.txt\n". Did you mean /w/note.txt?
        write
        --- {"file_path":"note.txt"} "error"
        The arguments of `write` do not fit:
        - `content` is missing: a string; for example "fn main() {}\n"
        A call that fits: {"file_path":"src/main.rs","content":"fn main() {}\n"}
        --- {"file_path":"note.txt","content":5} "error"
        note.txt was not written, because it was there already and was not read in this session: what is there would be lost unseen. Read it (all of it), then write it; or change a part of it with `edit`.
        --- {"file_path":"note.txt","content":"unread\n"} "error"
        note.txt was not written, because it was there already and was not read in this session: what is there would be lost unseen. Read it (all of it), then write it; or change a part of it with `edit`.
        `write` has failed 3 times in a row. Look at why before you try it again.
        --- {"file_path":"note.txt/x","content":"x"} "error"
        note.txt/x could not be read: Not a directory (os error 20). Nothing was changed.
        --- {"file_path":"src","content":"x"} "error"
        src is a directory; name a file in it.
        --- {"file_path":"new/","content":"x"} "ok"
        Created new (1 line).
        new: not checked
          language server: not running (own language servers are turned off)
        --- {"file_path":".","content":"x"} "error"
        . is a directory; name a file in it.
        --- {"file_path":"a\u0000b","content":"x"} "error"
        "a\0b" is not a path: it has a NUL character in it.
        --- {"file_path":"bell\u0007.txt","content":"x\n"} "ok"
        Created "bell\u{7}.txt" (1 line).
        file:///w/bell%07.txt: not checked
          language server: not running (own language servers are turned off)
    "#]].assert_eq(&all);
}

/// A name as long as the system takes none: refused by the real disk, in words.
#[tokio::test]
async fn a_name_too_long_for_the_disk_is_refused() {
    let (_gone, folder): (_, PathBuf) = crate::files::folder();
    let mut editor = crate::files::editor_in(&folder, json!({})).await;
    let long = "n".repeat(300);
    for (name, arguments) in [
        ("read", json!({ "file_path": long })),
        ("write", json!({ "file_path": long, "content": "x" })),
        ("write", json!({ "file_path": format!("a/{long}/b"), "content": "x" })),
        ("ls", json!({ "path": long })),
        ("grep", json!({ "pattern": "x", "path": long })),
        ("glob", json!({ "pattern": "*", "path": long })),
        ("file_search", json!({ "query": "x", "path": long })),
    ] {
        let result = crate::files::call(&mut editor, name, arguments).await;
        assert_eq!(result["status"], "error", "{name}: {result}");
        assert!(crate::files::text(&result).contains("File name too long"), "{name}: {result}");
    }
    // The folders on the way may have been made.
    assert!(folder.read_dir().unwrap().all(|entry| entry.unwrap().path().is_dir()));
    crate::files::end(editor).await;
}
