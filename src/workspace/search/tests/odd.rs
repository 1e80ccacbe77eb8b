//! Files that are not plain text in plain places.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::kit::{grep, job, job as kit_job, lines, names, open, query, set, workspace};
use crate::ports::{Disk, FileKind, MemoryDisk, Operation, SystemDisk};
use crate::workspace::search::{Case, Query};

/// A folder on the real disk.
fn folder() -> (tempfile::TempDir, PathBuf) {
    let made = tempfile::tempdir().unwrap();
    let path = made.path().canonicalize().unwrap().join("w");
    SystemDisk.create_dir_all(&path).unwrap();
    (made, path)
}

fn put(root: &Path, name: &[u8], bytes: &[u8]) {
    SystemDisk.create(&root.join(OsStr::from_bytes(name)), bytes).unwrap();
}

fn utf16(text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
    format!("\u{feff}{text}").encode_utf16().flat_map(bytes).collect()
}

#[test]
fn encodings_and_line_ends() {
    let (_made, root) = folder();
    put(&root, b"bom", b"\xef\xbb\xbfneedle\n");
    put(&root, b"crlf", b"one\r\nneedle\r\n");
    put(&root, b"latin", b"caf\xe9 needle\n");
    put(&root, b"utf16be", &utf16("é needle\n", u16::to_be_bytes));
    put(&root, b"utf16le", &utf16("one\r\n\u{1f600} needle\r\n", u16::to_le_bytes));
    put(&root, b"binary", b"needle\n\0needle\n");
    put(&root, b"empty", b"");
    let workspace = workspace(Arc::new(SystemDisk), &[&root]);
    open(&workspace, &root.join("open"), "\u{feff}needle\r\nand\0more\r\nneedle");
    let job = job(&workspace, None);
    // The end of a line is before its CR.
    let found = grep(&job, &query("needle$"));
    let expected = [
        "bom:1:1:needle",
        "crlf:2:1:needle",
        "latin:1:6:café needle",
        "open:1:1:needle",
        "open:3:1:needle",
        "utf16be:1:3:é needle",
        "utf16le:2:3:\u{1f600} needle",
    ];
    assert_eq!(lines(&job, &found), expected);
    assert_eq!((found.binary, found.faulty, found.searched), (1, 0, 7));
    assert_eq!(grep(&job, &query("^needle")).matched, 4);
    let joined = Query { multiline: true, ..query("one.*needle") };
    assert_eq!(lines(&job, &grep(&job, &joined))[..2], ["crlf:1:1:one", "crlf:2:0:needle"]);
}

#[test]
fn huge_files_and_long_lines() {
    let (_made, root) = folder();
    put(&root, b"sparse", b"needle\n");
    let sparse = std::fs::OpenOptions::new().write(true).open(root.join("sparse")).unwrap();
    sparse.set_len(1 << 30).unwrap();
    let mut long = vec![b'x'; 8_000_000];
    long[5_000_000..5_000_006].copy_from_slice(b"needle");
    put(&root, b"long", &long);
    let workspace = workspace(Arc::new(SystemDisk), &[&root]);
    let job = job(&workspace, None);
    let found = grep(&job, &query("needle"));
    assert_eq!((found.files, found.binary, found.faulty), (1, 1, 0));
    let line = &found.parts[0].hits.lines[0];
    assert_eq!((line.column, line.cut_before, line.cut_after, line.text.len()), (Some(5_000_001), true, true, 400));
    assert!(line.text.contains("xneedlex"));
}

#[test]
fn pipes_sockets_and_links_are_not_opened() {
    let (_made, root) = folder();
    put(&root, b"a", b"needle\n");
    rustix::fs::mknodat(rustix::fs::CWD, root.join("fifo"), rustix::fs::FileType::Fifo, 0o644.into(), 0).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(root.join("socket")).unwrap();
    symlink("a", root.join("link")).unwrap();
    symlink("nowhere", root.join("dangling")).unwrap();
    symlink(".", root.join("loop")).unwrap();
    symlink("/dev/zero", root.join("zero")).unwrap();
    let outside = root.parent().unwrap().join("outside");
    SystemDisk.create_dir_all(&outside).unwrap();
    put(&outside, b"secret", b"needle\n");
    symlink("../outside", root.join("out")).unwrap();
    let workspace = workspace(Arc::new(SystemDisk), &[&root]);
    let first = job(&workspace, None);
    let found = grep(&first, &query("needle"));
    assert_eq!(lines(&first, &found), ["a:1:1:needle"]);
    assert_eq!((found.faulty, found.searched), (0, 1));
    let kinds: Vec<(String, FileKind)> =
        first.everything().entries.iter().map(|entry| (first.shown(&entry.place), entry.kind)).collect();
    assert!(kinds.contains(&("fifo".into(), FileKind::Other)) && kinds.contains(&("loop".into(), FileKind::Link)));
    // A file that was swapped for a pipe after it was met is not waited for.
    assert!(SystemDisk.open(&root.join("fifo")).is_err());
    let named = workspace.job(Some("fifo"), &super::super::Wanted::default(), super::super::Besides::default(), &[]);
    assert!(named.err().unwrap().message.contains("a pipe, a socket or a device"));

    // Followed: the circle is told, what is outside is not shown.
    set(&workspace, |settings| settings.search.follow_links = true);
    let second = job(&workspace, None);
    let found = grep(&second, &query("needle"));
    assert_eq!(lines(&second, &found), ["a:1:1:needle", "link:1:1:needle"]);
    let told = second.words(&found.faults, found.faulty, None).concat();
    assert!(told.contains("loop: a link that leads back to"), "{told}");
}

#[test]
fn odd_names_are_shown_and_found() {
    let (_made, root) = folder();
    for name in [&b"two\nlines"[..], b"bad\xff", b"-dash", "\u{202e}rtl".as_bytes(), b" space "] {
        put(&root, name, b"needle\n");
    }
    let workspace = workspace(Arc::new(SystemDisk), &[&root]);
    let job = kit_job(&workspace, None);
    let root = root.display();
    let expected = [
        " space ".to_owned(),
        "-dash".to_owned(),
        format!("\"bad\\xff\" (file://{root}/bad%FF)"),
        format!("\"two\\nlines\" (file://{root}/two%0Alines)"),
        format!("\"\\u{{202e}}rtl\" (file://{root}/%E2%80%AErtl)"),
    ];
    assert_eq!(names(&job), expected);
    let found = grep(&job, &query("needle"));
    let with_match: Vec<String> = found.parts.iter().map(|part| job.shown(&part.hits.place)).collect();
    assert_eq!(with_match, expected);
    // By what is shown, each can be searched by itself.
    for place in found.parts.iter().map(|part| &part.hits.place) {
        let again = kit_job(&workspace, Some(&job.uri(place)));
        assert_eq!(grep(&again, &query("needle")).matched, 1);
    }
}

#[test]
fn what_cannot_be_read_is_told_and_costs_only_itself() {
    let disk = MemoryDisk::new()
        .with_file("/w/a", "needle\n")
        .with_file("/w/closed", "needle\n")
        .with_file("/w/shut/b", "needle\n")
        .with_file("/w/vanished", "needle\n")
        .with_file("/w/z", "needle\n");
    disk.fail(Operation::Read, "/w/closed", io::ErrorKind::PermissionDenied);
    disk.fail(Operation::ReadDir, "/w/shut", io::ErrorKind::PermissionDenied);
    disk.fail(Operation::Read, "/w/vanished", io::ErrorKind::NotFound);
    let workspace = workspace(Arc::new(disk), &[Path::new("/w")]);
    let job = job(&workspace, None);
    let found = grep(&job, &query("needle"));
    assert_eq!(lines(&job, &found), ["a:1:1:needle", "z:1:1:needle"]);
    expect_test::expect![[
        "could not be looked at: closed: Read of /w/closed fails as ordered; shut: ReadDir of /w/shut fails as ordered"
    ]]
    .assert_eq(&job.words(&found.faults, found.faulty, found.ended).concat());
}

#[test]
fn files_that_may_hold_secrets_are_counted_and_not_shown() {
    let disk =
        MemoryDisk::new().with_file("/w/a", "KEY=1\n").with_file("/w/server.pem", "KEY=2\n").with_file("/w/x.pem", "");
    let workspace = workspace(Arc::new(disk), &[Path::new("/w")]);
    open(&workspace, Path::new("/w/.env"), "KEY=3\n");
    let everywhere = job(&workspace, None);
    let found = grep(&everywhere, &query("KEY"));
    assert_eq!((lines(&everywhere, &found), found.secret, found.files), (vec!["a:1:1:KEY=1".to_owned()], 2, 1));
    // Named, it has been asked for.
    let named = job(&workspace, Some("server.pem"));
    assert_eq!(lines(&named, &grep(&named, &query("KEY"))), ["server.pem:1:1:KEY=2"]);
    set(&workspace, |settings| settings.search.secrets = true);
    assert_eq!(grep(&job(&workspace, None), &query("KEY")).files, 3);
}

#[test]
fn patterns_mean_what_they_say() {
    let disk = MemoryDisk::new().with_file("/w/a", "-v Foo\nfoo.bar\nfoobar foo\nÄther\n");
    let workspace = workspace(Arc::new(disk), &[Path::new("/w")]);
    let job = job(&workspace, None);
    let matched = |query: Query| -> Vec<u64> {
        grep(&job, &query).parts.iter().flat_map(|part| part.hits.lines.iter().map(|line| line.number)).collect()
    };
    let foo = || query("foo");
    for (query, expected) in [
        (query("-v"), vec![1]),
        (query("--"), vec![]),
        (foo(), vec![2, 3]),
        (Query { word: true, ..foo() }, vec![2, 3]),
        (Query { word: true, ..query("foob") }, vec![]),
        (Query { case: Case::Insensitive, ..foo() }, vec![1, 2, 3]),
        (Query { case: Case::Smart, ..foo() }, vec![1, 2, 3]),
        (Query { case: Case::Smart, ..query("Foo") }, vec![1]),
        (Query { case: Case::Insensitive, ..query("äther") }, vec![4]),
        (Query { literal: true, ..query("o.b") }, vec![2]),
        (query("o.b"), vec![2, 3]),
        (Query { literal: true, ..query("(") }, vec![]),
        (Query { multiline: true, ..query("Foo\nfoo") }, vec![1, 2]),
        (query(r"\s$"), vec![]),
        (Query { per_file: 1, ..foo() }, vec![2]),
        (Query { before: 1, after: 1, ..query("bar f") }, vec![2, 3, 4]),
    ] {
        assert_eq!(matched(query.clone()), expected, "{query:?}");
    }
    let found = grep(&job, &Query { per_file: 1, ..foo() });
    assert_eq!((found.matched, found.showable), (2, 1));
}
