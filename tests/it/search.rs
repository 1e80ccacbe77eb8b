//! Searches over the wire: files and buffers as one.

use std::fmt::Write as _;
use std::sync::Arc;

use expect_test::{Expect, expect};
use ropewalk::ports::{MemoryDisk, Ports};
use ropewalk::server::{self, ServeOptions};
use serde_json::{Value, json};

use crate::editor::{FakeEditor, Manner};

/// A folder whose open documents differ from the disk in every way.
async fn editor_with_tree() -> FakeEditor {
    let disk = MemoryDisk::new()
        .with_file("/w/src/plain.rs", "needle on the disk\n")
        .with_file("/w/src/gone.rs", "the needle was here\n")
        .with_file("/w/src/come.rs", "nothing\n")
        .with_file("/w/src/removed.rs", "needle\n")
        .with_file("/w/logs/a.log", "needle\n")
        .with_file("/w/.hidden", "needle\n")
        .with_file("/w/.git/HEAD", "needle\n")
        .with_file("/w/.gitignore", "*.log\n")
        .with_file("/w/picture", b"needle\n\0\n");
    let disk = Arc::new(disk);
    let ports = Ports { disk: disk.clone(), ..Ports::system() };
    let options = ServeOptions { repeatable: true, ..ServeOptions::default() };
    let mut editor = FakeEditor::start(|input, output| tokio::spawn(server::serve(input, output, ports, options)));
    editor.introduce(&[std::path::Path::new("/w")], json!({ "resync": true, "approve": true }), json!({})).await;
    editor.open("file:///w/src/gone.rs", "it is gone\n");
    editor.open("file:///w/src/come.rs", "nothing\nbut now a needle\n");
    editor.open("file:///w/src/removed.rs", "needle\n");
    editor.open("file:///w/src/new/made.rs", "a needle in a new file\n");
    editor.open("file:///w/logs/open.log", "an ignored needle\n");
    editor.open("untitled:Untitled-1", "an untitled needle\n");
    disk.take_away("/w/src/removed.rs");
    editor
}

async fn check(editor: &mut FakeEditor, name: &str, arguments: Value, expected: Expect) {
    let result = editor.ask("ropewalk/callTool", json!({ "name": name, "arguments": arguments })).await;
    assert_eq!(result["status"], "ok", "{result}");
    expected.assert_eq(result["content"][0]["text"].as_str().unwrap());
}

#[tokio::test(start_paused = true)]
async fn every_tool_sees_what_the_user_sees() {
    let mut editor = editor_with_tree().await;
    let editor_ref = &mut editor;
    check(
        editor_ref,
        "grep",
        json!({ "pattern": "needle" }),
        expect![[r"
            logs/open.log (unsaved)
            1:an ignored needle

            src/come.rs (unsaved)
            2:but now a needle

            src/new/made.rs (unsaved)
            1:a needle in a new file

            src/plain.rs
            1:needle on the disk

            src/removed.rs (unsaved)
            1:needle

            untitled:Untitled-1 (unsaved)
            1:an untitled needle

            (6 matching lines in 6 files; 7 files searched)
            (left out: 1 binary file)"]],
    )
    .await;
    check(
        editor_ref,
        "grep",
        json!({ "pattern": "needle", "-C": 1, "path": "src" }),
        expect![[r"
        src/come.rs (unsaved)
        1-nothing
        2:but now a needle

        src/new/made.rs (unsaved)
        1:a needle in a new file

        src/plain.rs
        1:needle on the disk

        src/removed.rs (unsaved)
        1:needle

        (4 matching lines in 4 files; 5 files searched)"]],
    )
    .await;
    check(
        editor_ref,
        "grep",
        json!({ "pattern": "NEEDLE", "-i": true, "mode": "count" }),
        expect![[r"
            logs/open.log:1 (unsaved)
            src/come.rs:1 (unsaved)
            src/new/made.rs:1 (unsaved)
            src/plain.rs:1
            src/removed.rs:1 (unsaved)
            untitled:Untitled-1:1 (unsaved)

            (6 matching lines in 6 files; 7 files searched)
            (left out: 1 binary file)"]],
    )
    .await;
    check(
        editor_ref,
        "grep",
        json!({ "pattern": "needle", "output_mode": "files_with_matches", "head_limit": 2, "offset": 2 }),
        expect![[r"
            src/come.rs (unsaved)
            src/new/made.rs (unsaved)

            (6 files with a match; 7 files searched; shown: 2-3; go on with offset 4)
            (left out: 1 binary file)"]],
    )
    .await;
    check(
        editor_ref,
        "grep",
        json!({ "pattern": "-needle", "glob": "*.rs" }),
        expect![[r#"No match for "-needle" in the workspace; 5 files searched."#]],
    )
    .await;
    check(
        editor_ref,
        "grep",
        json!({ "pattern": "needle", "path": "untitled:Untitled-1" }),
        expect![[r"
        untitled:Untitled-1 (unsaved)
        1:an untitled needle

        (1 matching line in 1 file; 1 file searched)"]],
    )
    .await;
    check(
        editor_ref,
        "glob",
        json!({ "pattern": "*.rs" }),
        expect![[r"
        src/come.rs (unsaved)
        src/gone.rs (unsaved)
        src/new/made.rs (unsaved)
        src/removed.rs (unsaved)
        src/plain.rs

        (5 files)"]],
    )
    .await;
    check(
        editor_ref,
        "glob",
        json!({ "pattern": "*", "hidden": true, "exclude": ["*.log", "new/"] }),
        expect![[r"
        src/come.rs (unsaved)
        src/gone.rs (unsaved)
        src/removed.rs (unsaved)
        picture
        .gitignore
        .hidden
        src/plain.rs

        (7 files)"]],
    )
    .await;
    check(
        editor_ref,
        "glob",
        json!({ "pattern": "**/new/**", "sort": "path" }),
        expect![[r"
        src/new/made.rs (unsaved)

        (1 file)"]],
    )
    .await;
    check(
        editor_ref,
        "glob",
        json!({ "pattern": "/w/src/*.rs", "sort": "path", "limit": 2 }),
        expect![[r"
        src/come.rs (unsaved)
        src/gone.rs (unsaved)

        (4 files; shown: 1-2; go on with offset 3)"]],
    )
    .await;
    check(
        editor_ref,
        "ls",
        json!({}),
        expect![[r"
            ./
              logs/
                open.log (unsaved)
              src/
                new/
                come.rs (unsaved)
                gone.rs (unsaved)
                plain.rs
                removed.rs (unsaved)
              picture

            (3 folders, 6 files down to depth 2)
            (left out as hidden, ignored or excluded: 3)
            (open without a file: untitled:Untitled-1)"]],
    )
    .await;
    check(
        editor_ref,
        "ls",
        json!({ "path": "src/new" }),
        expect![[r"
            src/new/
              made.rs (unsaved)

            (0 folders, 1 file down to depth 2)"]],
    )
    .await;
    check(
        editor_ref,
        "file_search",
        json!({ "query": "mde" }),
        expect![[r"
        src/new/made.rs (unsaved)

        (1 file)"]],
    )
    .await;
    check(
        editor_ref,
        "file_search",
        json!({ "query": "src re" }),
        expect![[r"
        src/removed.rs (unsaved)
        src/new/made.rs (unsaved)
        src/come.rs (unsaved)
        src/gone.rs (unsaved)

        (4 files)"]],
    )
    .await;
    assert_eq!(editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn what_is_wrong_is_told() {
    let mut editor = editor_with_tree().await;
    let mut told = Vec::new();
    for (name, arguments) in [
        ("grep", json!({ "pattern": "fn (" })),
        ("grep", json!({ "pattern": "a\nb" })),
        ("grep", json!({ "pattern": "needle", "path": "source" })),
        ("grep", json!({ "pattern": "needle", "type": "rusty" })),
        ("glob", json!({ "pattern": "src/[a" })),
        ("ls", json!({ "path": "src/plain.rs" })),
        ("file_search", json!({ "query": " " })),
    ] {
        let result = editor.ask("ropewalk/callTool", json!({ "name": name, "arguments": arguments })).await;
        assert_eq!(result["status"], "error", "{result}");
        told.push(format!("{}: {}\n", result["error"]["kind"], result["content"][0]["text"].as_str().unwrap()));
    }
    expect![[r#"
        "invalidArguments": The pattern is not a regular expression:
        regex parse error:
            fn (
               ^
        error: unclosed group
        Mend it, or set `literal` to true to look for the text as it is.

        "invalidArguments": The pattern "a\nb" has a line end in it, but each line is searched by itself. Set `multiline` to true.

        "notFound": There is no file source.
        `grep` has failed 3 times in a row. Look at why before you try it again.

        "invalidArguments": There is no file type "rusty". Near it: rust, rst, ruby, smarty, stylus. Types are named like "rust", "py", "ts", "md"; or give a glob as `include`, for example "*.rs".

        "invalidArguments": "src/[a" is not a glob: unclosed character class; missing ']'. For example: "src/**/*.rs", "*.{ts,tsx}".

        "invalidArguments": src/plain.rs is a file, not a folder; show it with `read`.

        "invalidArguments": `query` is empty; give a part of a file's name, for example "main.rs".
    "#]].assert_eq(&told.join("\n"));
    assert_eq!(editor.leave().await, 0);
}

/// What the tools that name one file see of each kind of difference, and that the buffer is what they change.
#[tokio::test(start_paused = true)]
async fn one_file_is_read_and_changed_as_the_user_sees_it() {
    let mut editor = editor_with_tree().await;
    let editor_ref = &mut editor;
    let mut told = String::new();
    for name in
        ["src/come.rs", "src/gone.rs", "src/new/made.rs", "src/removed.rs", "logs/open.log", "untitled:Untitled-1"]
    {
        let read = editor_ref.ask("ropewalk/callTool", json!({ "name": "read", "arguments": { "path": name } })).await;
        assert_eq!(read["structuredContent"]["unsaved"], true, "{read}");
        writeln!(told, "--- {name}\n{}", read["content"][0]["text"].as_str().unwrap()).unwrap();
        // Then each is changed where it is: in the editor's buffer.
        let uri = if name.starts_with("untitled") { name.to_owned() } else { format!("file:///w/{name}") };
        let before = editor_ref.buffers[&uri].text.clone();
        for (tool, arguments, after) in [
            ("edit", json!({ "path": name, "old_string": before, "new_string": "edited\n" }), "edited\n"),
            (
                "multi_edit",
                json!({ "path": name, "edits": [{ "old_string": "edited", "new_string": "twice" }] }),
                "twice\n",
            ),
            ("write", json!({ "path": name, "content": "written\n" }), "written\n"),
        ] {
            let id = editor_ref.request("ropewalk/callTool", json!({ "name": tool, "arguments": arguments }));
            editor_ref.serve_edit(Manner::Apply).await;
            let result = editor_ref.result(id).await;
            assert_eq!((&result["status"], &result["edits"][0]["unsaved"]), (&json!("ok"), &json!(true)), "{result}");
            assert_eq!(editor_ref.buffers[&uri].text, after, "{tool} {name}");
        }
        // What it says now is what is searched at once.
        let grep = json!({ "name": "grep", "arguments": { "pattern": "needle|gone|written", "path": name } });
        let grep = editor_ref.ask("ropewalk/callTool", grep).await;
        assert_eq!(grep["structuredContent"]["matches"][0]["text"], "written", "{grep}");
    }
    expect![[r"
        --- src/come.rs
        1	nothing
        2	but now a needle

        (end of file, 2 lines)
        (unsaved: this is the editor's buffer, which differs from the file on the disk)
        --- src/gone.rs
        1	it is gone

        (end of file, 1 line)
        (unsaved: this is the editor's buffer, which differs from the file on the disk)
        --- src/new/made.rs
        1	a needle in a new file

        (end of file, 1 line)
        (unsaved: this is the editor's buffer, and there is no such file on the disk)
        --- src/removed.rs
        1	needle

        (end of file, 1 line)
        (unsaved: this is the editor's buffer, and there is no such file on the disk)
        --- logs/open.log
        1	an ignored needle

        (end of file, 1 line)
        (unsaved: this is the editor's buffer, and there is no such file on the disk)
        --- untitled:Untitled-1
        1	an untitled needle

        (end of file, 1 line)
        (unsaved: this is the editor's buffer, and there is no such file on the disk)
    "]]
    .assert_eq(&told);
    assert_eq!(editor.leave().await, 0);
}
