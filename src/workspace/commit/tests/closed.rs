//! Files that are not open: in memory, where the disk can be told to fail, and on a real disk.

use std::io::ErrorKind;
use std::path::Path;

use crate::editor::{FileChangeKind, FileChanged, News, Origin};
use crate::ports::{Disk as _, MemoryDisk, Operation, SystemDisk};
use crate::workspace::RefusalKind;
use crate::workspace::documents::Counting;

use super::fake::{Bench, PATH, Replace, change};

fn bench(disk: MemoryDisk) -> Bench {
    Bench::over(disk, Counting::default())
}

fn files(bench: &Bench) -> Vec<FileChanged> {
    bench
        .editor
        .told()
        .into_iter()
        .filter_map(|news| if let News::Files(files) = news { Some(files) } else { None })
        .flatten()
        .collect()
}

#[tokio::test]
async fn a_file_is_replaced_as_one_step_and_told() {
    let bench = bench(MemoryDisk::new().with_file(PATH, "one\ntwo\n").with_mode(PATH, 0o750));
    let done = bench.replace("two", "2").await.unwrap();
    assert_eq!(bench.disk.bytes(PATH).unwrap(), b"one\n2\n");
    assert_eq!(bench.disk.changes(), [(Operation::Replace, PATH.into())]);
    assert_eq!(bench.disk.metadata(Path::new(PATH)).unwrap().mode, 0o750);
    assert_eq!((done.version_before, done.version_after, done.unsaved), (None, None, false));
    assert_eq!(done.before.clone().unwrap().spliced(&done.splices), done.after);
    let told = FileChanged { uri: format!("file://{PATH}"), kind: FileChangeKind::Changed, by: Origin::Agent };
    assert_eq!(files(&bench), [told]);
}

#[tokio::test]
async fn encodings_marks_and_line_ends_are_kept() {
    let utf16 = |text: &str, big: bool| -> Vec<u8> {
        let mark = '\u{feff}'.to_string() + text;
        mark.encode_utf16().flat_map(|unit| if big { unit.to_be_bytes() } else { unit.to_le_bytes() }).collect()
    };
    for (before, after) in [
        (b"a\ntwo\n".to_vec(), b"a\n2\n3\n".to_vec()),
        (b"a\r\ntwo\r\n".to_vec(), b"a\r\n2\r\n3\r\n".to_vec()),
        (b"a\ntwo\r\n".to_vec(), b"a\n2\n3\r\n".to_vec()),
        (b"\xef\xbb\xbftwo".to_vec(), b"\xef\xbb\xbf2\n3".to_vec()),
        (utf16("\u{1f600} two\r\n", false), utf16("\u{1f600} 2\r\n3\r\n", false)),
        (utf16("two", true), utf16("2\n3", true)),
    ] {
        let bench = bench(MemoryDisk::new().with_file(PATH, &before));
        bench.replace("two", "2\n3").await.unwrap();
        assert_eq!(bench.disk.bytes(PATH).unwrap(), after, "{before:?}");
    }
}

#[tokio::test]
async fn what_cannot_be_written_back_is_refused() {
    for (bytes, words) in [(&b"two \xe9\n"[..], "UTF-8"), (&b"two \0\n"[..], "binary")] {
        let bench = bench(MemoryDisk::new().with_file(PATH, bytes));
        let change = change(PATH, Replace("two".into(), "2".into()));
        for refused in
            [bench.workspace.preview(&change).await.err().unwrap(), bench.replace("two", "2").await.unwrap_err()]
        {
            assert_eq!(refused.kind, RefusalKind::Failed);
            assert!(refused.message.contains(words), "{}", refused.message);
        }
        assert_eq!(bench.disk.bytes(PATH).unwrap(), bytes);
    }
    let bench = bench(MemoryDisk::new().with_file(PATH, "two\n").with_mode(PATH, 0o444));
    assert!(bench.replace("two", "2").await.unwrap_err().message.contains("read-only"));
    assert!(bench.disk.changes().is_empty());
}

#[tokio::test]
async fn a_file_that_changed_in_between_is_left_alone() {
    let bench = bench(MemoryDisk::new().with_file(PATH, "one\ntwo\n"));
    bench.disk.before(Operation::Replace, |disk, path| disk.put(path, "one\ntwo\nby another\n"));
    let refused = bench.replace("two", "2").await.unwrap_err();
    assert_eq!(refused.kind, RefusalKind::Conflict);
    assert!(refused.message.contains("+by another"), "{}", refused.message);
    assert_eq!(bench.disk.bytes(PATH).unwrap(), b"one\ntwo\nby another\n");
    assert_eq!(files(&bench), []);
}

#[tokio::test]
async fn a_file_that_vanished_in_between_stays_away() {
    let bench = bench(MemoryDisk::new().with_file(PATH, "one\ntwo\n"));
    bench.disk.before(Operation::Replace, |disk, path| disk.take_away(path));
    assert_eq!(bench.replace("two", "2").await.unwrap_err().kind, RefusalKind::Conflict);
    assert_eq!(bench.disk.bytes(PATH), None);
}

#[tokio::test(start_paused = true)]
async fn a_file_that_is_opened_in_between_is_changed_in_the_editor() {
    let bench = bench(MemoryDisk::new().with_file(PATH, "one\ntwo\n"));
    let editor = std::sync::Arc::clone(&bench.editor);
    bench.disk.before(Operation::Replace, move |_, _| editor.open("one\ntwo\nunsaved\n", 1));
    let done = bench.replace("two", "2").await.unwrap();
    assert_eq!(done.version_after, Some(2));
    assert_eq!(bench.editor.text(), "one\n2\nunsaved\n");
    assert_eq!(bench.disk.bytes(PATH).unwrap(), b"one\ntwo\n");
}

#[tokio::test]
async fn a_link_that_appeared_in_between_is_not_followed() {
    let disk = MemoryDisk::new().with_file(PATH, "two\n").with_file("/etc/secret", "two\n");
    disk.link(PATH, "/etc/secret");
    let bench = bench(disk);
    assert_eq!(bench.replace("two", "2").await.unwrap_err().kind, RefusalKind::Conflict);
    assert_eq!(bench.disk.bytes("/etc/secret").unwrap(), b"two\n");

    let disk = MemoryDisk::new().with_file("/etc/a.txt", "two\n").with_link("/w", "/etc");
    let bench = super::closed::bench(disk);
    assert_eq!(bench.replace("two", "2").await.unwrap_err().kind, RefusalKind::Conflict);
    assert_eq!(bench.disk.bytes("/etc/a.txt").unwrap(), b"two\n");
}

/// A circle of links has no file at its end, and never had.
#[tokio::test]
async fn a_link_that_leads_nowhere_is_told_as_that() {
    let bench = bench(MemoryDisk::new().with_dir("/w").with_link(PATH, "a.txt"));
    let refused = bench.replace("two", "2").await.unwrap_err();
    assert_eq!(refused.kind, RefusalKind::Failed);
    assert!(refused.message.starts_with("a.txt is a symbolic link that leads to no file ("), "{}", refused.message);
}

/// A file that is too long is refused before it is read, in the words in which `read` refuses it.
#[tokio::test]
async fn a_file_that_is_too_long_is_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = SystemDisk.canonicalize(folder.path()).unwrap().join("sparse.bin");
    SystemDisk.create(&path, b"").unwrap();
    let file = rustix::fs::open(&path, rustix::fs::OFlags::WRONLY, rustix::fs::Mode::empty()).unwrap();
    rustix::fs::ftruncate(&file, crate::workspace::view::MAX_FILE_BYTES + 1).unwrap();
    let bench = Bench::over(SystemDisk, Counting::default());
    let change = change(&path, Replace("a".into(), "b".into()));
    let preview = bench.workspace.preview(&change).await.err().unwrap();
    let view = bench.workspace.view(&change.target).await.unwrap_err();
    let refused = bench.replace_in(&path, "a", "b").await.unwrap_err();
    for other in [preview, view] {
        assert_eq!((other.kind, &other.message), (refused.kind, &refused.message));
    }
    assert!(refused.message.starts_with("sparse.bin has 52428801 bytes"), "{}", refused.message);
}

#[tokio::test]
async fn files_with_two_names_or_another_owner_are_overwritten_in_place() {
    let linked = || MemoryDisk::new().with_file(PATH, "one\ntwo\n").with_hard_link("/w/b.txt", PATH);
    for state in [None, Some("/state")] {
        for disk in [linked(), MemoryDisk::new().with_file(PATH, "one\ntwo\n").with_foreign(PATH)] {
            let bench = bench(disk);
            bench.workspace.set_state_dir(state.map(Into::into));
            bench.replace("two", "2").await.unwrap();
            assert_eq!(bench.disk.bytes(PATH).unwrap(), b"one\n2\n");
            let changes: Vec<_> =
                bench.disk.changes().into_iter().filter(|(done, _)| *done != Operation::CreateDirAll).collect();
            let [(Operation::Replace, copy), (Operation::Overwrite, _), (Operation::Remove, removed)] = &changes[..]
            else {
                panic!("{changes:?}")
            };
            assert_eq!(copy, removed);
            assert!(copy.starts_with(state.unwrap_or("/w")), "{copy:?}");
        }
    }
    // Somebody else was faster: nothing is overwritten, and no copy stays.
    let bench = bench(linked());
    bench.disk.before(Operation::Replace, |disk, _| disk.put(PATH, "other\n"));
    assert_eq!(bench.replace("two", "2").await.unwrap_err().kind, RefusalKind::Conflict);
    assert_eq!(bench.disk.bytes("/w/b.txt").unwrap(), b"other\n");
    assert_eq!(bench.disk.read_dir(Path::new("/w")).unwrap().len(), 2);
}

/// The disk fails in the middle, and for good: where the former content is must be told, and it must be there.
#[tokio::test]
async fn half_written_files_are_not_lost() {
    let bench = bench(MemoryDisk::new().with_file(PATH, "one\ntwo\n").with_foreign(PATH));
    bench.disk.fail(Operation::Overwrite, PATH, ErrorKind::StorageFull);
    let refused = bench.replace("two", "2").await.unwrap_err();
    assert_eq!(refused.kind, RefusalKind::Failed);
    let (_, copy) = bench.disk.changes().into_iter().next().unwrap();
    assert!(refused.message.contains(&copy.display().to_string()), "{}", refused.message);
    assert_eq!(bench.disk.bytes(&copy).unwrap(), b"one\ntwo\n");
}

#[tokio::test]
async fn new_files_get_their_directories_and_never_clobber() {
    let bench = bench(MemoryDisk::new().with_dir("/w"));
    let path = "/w/new/deep/a.txt";
    let done = bench.replace_in(path, "", "one\r\ntwo\n").await.unwrap();
    assert_eq!(bench.disk.bytes(path).unwrap(), b"one\r\ntwo\n");
    assert!(done.before.is_none() && done.after.to_string() == "one\r\ntwo\n");
    assert_eq!(files(&bench)[0].kind, FileChangeKind::Created);
    assert!(done.unified_diff.contains("+one\n+two\n"), "{}", done.unified_diff);

    bench.disk.before(Operation::Create, |disk, path| disk.put(path, "by another\n"));
    let refused = bench.replace_in("/w/other.txt", "", "mine\n").await.unwrap_err();
    assert_eq!(refused.kind, RefusalKind::Conflict);
    assert_eq!(bench.disk.bytes("/w/other.txt").unwrap(), b"by another\n");
}

#[tokio::test]
async fn directories_are_not_files() {
    let bench = bench(MemoryDisk::new().with_dir("/w/sub"));
    assert_eq!(bench.replace_in("/w/sub", "a", "b").await.unwrap_err().kind, RefusalKind::InvalidArguments);
}

#[tokio::test]
async fn a_file_that_is_already_so_is_not_written() {
    let bench = bench(MemoryDisk::new().with_file(PATH, "one\ntwo\n"));
    let done = bench.replace("two", "two").await.unwrap();
    assert_eq!(done.notes, ["The file was already so; nothing was changed."]);
    assert!(bench.disk.changes().is_empty() && files(&bench).is_empty());
}

#[tokio::test]
async fn on_a_real_disk() {
    let folder = tempfile::tempdir().unwrap();
    let root = SystemDisk.canonicalize(folder.path()).unwrap();
    let (path, twin, fresh) = (root.join("a.sh"), root.join("b.sh"), root.join("new/c.txt"));
    SystemDisk.replace(&path, b"one\r\ntwo\r\n", 0o755, &mut || true).unwrap();
    let bench = Bench::over(SystemDisk, Counting::default());
    bench.replace_in(&path, "two", "2\n3").await.unwrap();
    assert_eq!(SystemDisk.read(&path).unwrap(), b"one\r\n2\r\n3\r\n");
    assert_eq!(SystemDisk.metadata(&path).unwrap().mode, 0o755);

    rustix::fs::link(&path, &twin).unwrap();
    bench.replace_in(&path, "one", "1").await.unwrap();
    assert_eq!(SystemDisk.read(&twin).unwrap(), b"1\r\n2\r\n3\r\n");

    // As long a name as most file systems take, of characters that a copy's name must not be cut within.
    let (long, second) = (root.join("é".repeat(127)), root.join("second"));
    SystemDisk.create(&long, b"two\n").unwrap();
    rustix::fs::link(&long, &second).unwrap();
    bench.replace_in(&long, "two", "2").await.unwrap();
    assert_eq!(SystemDisk.read(&second).unwrap(), b"2\n");
    SystemDisk.remove(&long).unwrap();
    SystemDisk.remove(&second).unwrap();

    bench.replace_in(&fresh, "", "new\n").await.unwrap();
    assert_eq!(SystemDisk.read(&fresh).unwrap(), b"new\n");
    let names: Vec<_> = SystemDisk.read_dir(&root).unwrap().into_iter().map(|entry| entry.name).collect();
    assert_eq!(names, ["a.sh", "b.sh", "new"], "no temporary file stays");
}
