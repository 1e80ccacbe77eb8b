//! What a tool sees of open and closed files.

use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use async_trait::async_trait;
use expect_test::expect;

use super::*;
use crate::editor::{Abilities, ApplyEdit, ApproveParams, ApproveResult, AskError, EditReply, Editor, News, Resync};
use crate::ports::{MemoryDisk, Operation, Ports, Seeded, SystemClock};
use crate::workspace::{Documents, Roots};

/// An editor that nobody may ask anything: a view reads only.
struct Silent;

#[async_trait]
impl Editor for Silent {
    fn abilities(&self) -> Abilities {
        Abilities::default()
    }

    async fn apply_edit(&self, _: ApplyEdit, _: Duration) -> Result<EditReply, AskError> {
        unreachable!("a view edits nothing")
    }

    async fn resync(&self, _: &str, _: Duration) -> Result<Resync, AskError> {
        unreachable!("a view resyncs nothing")
    }

    async fn approve(&self, _: ApproveParams) -> Result<ApproveResult, AskError> {
        unreachable!("a view asks nobody")
    }

    async fn pull_diagnostics(&self, _: &str, _: Duration) -> Result<(), AskError> {
        unreachable!("a view pulls nothing")
    }

    fn tell(&self, _: News) {}
}

fn workspace(disk: MemoryDisk) -> (Workspace, Arc<MemoryDisk>) {
    let disk = Arc::new(disk);
    let ports = Ports { disk: disk.clone(), clock: Arc::new(SystemClock), random: Arc::new(Seeded::new(1)) };
    let workspace = Workspace::new(ports, Arc::new(Silent), Arc::new(Documents::new()));
    workspace.set_roots(Roots::from_paths(&*disk, [Path::new("/w")]));
    (workspace, disk)
}

fn open(workspace: &Workspace, uri: &str, text: &str) {
    let key = workspace.key_of(uri).unwrap();
    workspace.documents.open(key, uri, "plaintext", 7, text);
}

async fn view_of(workspace: &Workspace, name: &str) -> Result<View, Refusal> {
    workspace.view(&workspace.resolve(name)?).await
}

#[tokio::test]
async fn an_open_document_comes_before_the_disk() {
    let (workspace, _) = workspace(MemoryDisk::new().with_file("/w/f", "on disk\n").with_link("/w/link", "f"));
    open(&workspace, "file:///w/link", "in the buffer\n");
    let view = view_of(&workspace, "f").await.unwrap();
    assert_eq!((view.text.to_string().as_str(), view.version(), view.unsaved()), ("in the buffer\n", Some(7), true));
    assert_eq!(view.target.uri, "file:///w/link");
    assert_eq!(view.hash(), crate::text::hash("in the buffer\n"));
}

#[tokio::test]
async fn unsaved_is_what_differs_from_the_disk() {
    async fn check(on_disk: Option<&[u8]>, text: &str, unsaved: bool) {
        let disk = MemoryDisk::new().with_dir("/w");
        if let Some(bytes) = on_disk {
            disk.put("/w/f", bytes);
        }
        let (workspace, _) = workspace(disk);
        open(&workspace, "file:///w/f", text);
        let view = view_of(&workspace, "f").await.unwrap();
        assert_eq!(view.unsaved(), unsaved, "{on_disk:x?} {text:?}");
        assert_eq!(view.text.to_string(), text);
    }
    check(Some(b"a\r\nb"), "a\r\nb", false).await;
    check(Some(b"a\r\nb"), "a\nb", true).await;
    check(Some(b"a"), "a\n", true).await;
    check(Some(b""), "", false).await;
    // Byte order marks are no difference, on either side; nor is the encoding.
    check(Some(b"\xef\xbb\xbfa"), "a", false).await;
    check(Some(b"\xef\xbb\xbfa"), "\u{feff}a", false).await;
    check(Some(b"a"), "\u{feff}a", false).await;
    check(Some(b"\xff\xfea\0b\0"), "ab", false).await;
    check(Some(b"\xff\xfea\0b\0"), "ac", true).await;
    check(Some(b"caf\xe9"), "café", false).await;
    check(Some(b"a\0b"), "a\0b", false).await;
    check(Some(&[b'x'; 100]), "x", true).await;
    check(None, "", true).await;
}

#[tokio::test]
async fn unsaved_is_said_when_the_disk_cannot_be_asked() {
    let (workspace, disk) = workspace(MemoryDisk::new().with_file("/w/f", "same"));
    open(&workspace, "file:///w/f", "same");
    assert!(!view_of(&workspace, "f").await.unwrap().unsaved());
    disk.fail(Operation::Read, "/w/f", io::ErrorKind::PermissionDenied);
    assert!(view_of(&workspace, "f").await.unwrap().unsaved());
    disk.mend(Operation::Read, "/w/f");
    disk.fail(Operation::Metadata, "/w/f", io::ErrorKind::TimedOut);
    assert!(view_of(&workspace, "f").await.unwrap().unsaved());
}

#[tokio::test]
async fn a_document_without_a_file_is_unsaved() {
    let (workspace, _) = workspace(MemoryDisk::new());
    open(&workspace, "untitled:Untitled-1", "x");
    assert!(view_of(&workspace, "untitled:Untitled-1").await.unwrap().unsaved());
    let target = workspace.resolve("untitled:Untitled-1").unwrap();
    workspace.documents.close(&target.key);
    let refusal = workspace.view(&target).await.unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::NotFound);
}

#[tokio::test]
async fn a_closed_file_is_decoded() {
    async fn check(bytes: &[u8], text: &str, expected: Codec) {
        let (workspace, _) = workspace(MemoryDisk::new().with_file("/w/f", bytes));
        let view = view_of(&workspace, "f").await.unwrap();
        assert_eq!(view.text.to_string(), text);
        let Source::Disk { codec, bytes_hash } = &view.source else { panic!("{:?}", view.source) };
        assert_eq!((*codec, bytes_hash), (expected, &hash_bytes(bytes)));
        assert_eq!((view.unsaved(), view.version()), (false, None));
        assert_eq!(view.note.is_some(), expected == Codec::Legacy);
    }
    check(b"a\r\n", "a\r\n", Codec::Utf8).await;
    check(b"\xef\xbb\xbfa", "a", Codec::Utf8Bom).await;
    check(b"\xfe\xff\0a", "a", Codec::Utf16Be).await;
    check(b"caf\xe9", "café", Codec::Legacy).await;
}

#[tokio::test]
async fn what_cannot_be_read_is_refused_with_words() {
    let disk = MemoryDisk::new()
        .with_file("/w/src/parser.rs", "")
        .with_file("/w/src/parse.rs", "")
        .with_file("/w/src/lexer.rs", "")
        .with_file("/w/README.md", "")
        .with_file("/w/image.png", b"\x89PNG\0\0")
        .with_file("/w/secret", "")
        .with_file("/w/odd", "")
        .with_file("/w/big", vec![b'x'; usize::try_from(MAX_FILE_BYTES).unwrap() + 1])
        .with_file("/other/f", "");
    disk.fail(Operation::Read, "/w/secret", io::ErrorKind::PermissionDenied);
    disk.fail(Operation::Read, "/w/odd", io::ErrorKind::TimedOut);
    let (workspace, _) = workspace(disk);
    let names = [
        "src/parsr.rs",
        "src/zzz",
        "readme.md",
        "scr/parser.rs",
        "scr/deep/parser.rs",
        "/other/g",
        "/nowhere/at/all",
        "README.md/x",
        "src",
        "image.png",
        "secret",
        "odd",
        "big",
    ];
    let mut lines = Vec::new();
    for name in names {
        let refusal = view_of(&workspace, name).await.unwrap_err();
        lines.push(format!("{:?}: {refusal}\n", refusal.kind));
    }
    expect![[r"
            NotFound: There is no file src/parsr.rs. Did you mean src/parser.rs, src/parse.rs?
            NotFound: There is no file src/zzz.
            NotFound: There is no file readme.md. Did you mean README.md?
            NotFound: There is no file scr/parser.rs: its folder scr does not exist. Did you mean src?
            NotFound: There is no file scr/deep/parser.rs: its folder scr does not exist. Did you mean src?
            NotFound: There is no file /other/g.
            NotFound: There is no file /nowhere/at/all: its folder /nowhere does not exist.
            NotFound: There is no file README.md/x: a part of its path is a file, not a directory.
            InvalidArguments: src is a directory; name a file in it.
            Failed: image.png is binary: there is a NUL byte at offset 4; it has 6 bytes and cannot be read as text.
            Failed: secret may not be read: the system denies access to it.
            Failed: odd could not be read: Read of /w/odd fails as ordered.
            Failed: big has 52428801 bytes; files above 52428800 bytes are not read as text. Search it, or cut out the part you need with a command.
        "]]
    .assert_eq(&lines.concat());
    let refusal = view_of(&workspace, "src/parsr.rs").await.unwrap_err();
    assert_eq!(refusal.data, Some(json!({ "candidates": ["src/parser.rs", "src/parse.rs"] })));
}

/// On a runtime with one thread: the disk waits for a task that could not run if the wait held that thread.
#[tokio::test]
async fn a_slow_disk_holds_nobody_up() {
    for document in [true, false] {
        let (go, wait) = mpsc::channel::<()>();
        let disk = MemoryDisk::new().with_file("/w/f", "text");
        disk.before(Operation::Read, move |_, _| {
            wait.recv_timeout(Duration::from_mins(1)).expect("another task runs meanwhile");
        });
        let (workspace, _) = workspace(disk);
        if document {
            open(&workspace, "file:///w/f", "text");
        }
        let (view, ()) = tokio::join!(view_of(&workspace, "f"), async { go.send(()).unwrap() });
        assert_eq!(view.unwrap().text.to_string(), "text");
    }
}
