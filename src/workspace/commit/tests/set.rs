//! Several changes as one, against an editor that makes it hard.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::fake::{Replace, change};
use super::machine::{Fault, Machine};
use crate::editor::{FileChangeKind, News};
use crate::ports::{Disk as _, MemoryDisk};
use crate::workspace::RefusalKind;
use crate::workspace::commit::journal::{Own, Record, orphans};
use crate::workspace::commit::set::Step;
use crate::workspace::commit::{Fate, FileChange};

fn two(path: &str) -> FileChange {
    change(path, Replace("2".into(), "two".into()))
}

fn moved(from: &str, to: &str) -> FileChange {
    FileChange { fate: Fate::Moved { to: two(to).target }, ..two(from) }
}

fn deleted(path: &str, text: &str) -> FileChange {
    FileChange { fate: Fate::Deleted, ..change(path, Replace(text.into(), String::new())) }
}

/// Three documents and two files, of which `set` changes all.
fn machine() -> Arc<Machine> {
    let files = ["/w/a", "/w/b", "/w/c", "/w/d", "/w/e"];
    let disk = files.iter().fold(MemoryDisk::new(), |disk, path| disk.with_file(path, "1\n2\n3\n"));
    let machine = Machine::new(disk);
    for path in ["/w/a", "/w/b", "/w/c"] {
        machine.open(path, "0\n2\n3\n");
    }
    machine
}

fn set() -> Vec<FileChange> {
    ["/w/a", "/w/d", "/w/b", "/w/e", "/w/c"].map(two).into()
}

#[tokio::test]
async fn an_editor_that_refuses_one_edit_gets_the_others_taken_back() {
    for refused in 0..3 {
        let machine = machine();
        let run = machine.start(Fault::Never, true, true).await;
        let before = machine.world();
        *machine.manner.lock().unwrap() = Some(Box::new(move |_, number, _| number != refused));
        let stopped = run.set(&set()).await.unwrap_err();
        assert_eq!((stopped.refusal.kind, stopped.left.len()), (RefusalKind::Conflict, 0));
        let message = stopped.refusal.message;
        assert!(message.ends_with("changed together or not at all: nothing was changed."), "{message}");
        assert_eq!((machine.world(), machine.journal()), (before, vec![]), "{refused}");
        // All queues are open again.
        assert_eq!(run.set(&set()).await.unwrap().len(), 5);
    }
}

#[tokio::test]
async fn what_the_user_types_meanwhile_stays() {
    let machine = machine();
    let run = machine.start(Fault::Never, true, true).await;
    *machine.manner.lock().unwrap() = Some(Box::new(|machine, number, _| {
        match number {
            // Into the document whose edit is under way, which is computed anew, and into the one before it.
            1 => machine.types("/w/b", " b"),
            2 => machine.types("/w/a", " a"),
            _ => {}
        }
        number != 3
    }));
    let stopped = run.set(&set()).await.unwrap_err();
    assert_eq!(stopped.left.len(), 0, "{}", stopped.refusal.message);
    let texts = ["/w/a", "/w/b", "/w/c"].map(|path| machine.text(path).unwrap());
    assert_eq!(texts, ["0 a\n2\n3\n", "0 b\n2\n3\n", "0\n2\n3\n"]);
}

#[tokio::test]
async fn what_cannot_be_taken_back_is_told_exactly() {
    let machine = machine();
    let run = machine.start(Fault::Never, true, true).await;
    *machine.manner.lock().unwrap() = Some(Box::new(|machine, number, edit| {
        if number == 2 {
            // The user rewrites the whole of the first document, right where the edit was.
            machine.close("/w/a");
            machine.open("/w/a", "0\ntxwyo\n3\n");
        }
        number < 2 || !edit.uri.ends_with('c')
    }));
    let stopped = run.set(&set()).await.unwrap_err();
    let left: Vec<&str> = stopped.left.iter().map(|left| left.target.shown.as_str()).collect();
    assert_eq!(left, ["a"]);
    let message = stopped.refusal.message;
    assert!(message.contains("\n- a: its text was changed at the same places since"), "{message}");
    assert!(message.contains("Former texts are in /home/state/journal/conflict-1.txt."), "{message}");
    let kept = machine.disk.bytes("/home/state/journal/conflict-1.txt").unwrap();
    assert_eq!(kept, b"==== a (6 bytes)\n0\n2\n3\n\n");
    assert_eq!(
        (machine.text("/w/a").unwrap(), machine.text("/w/b").unwrap()),
        ("0\ntxwyo\n3\n".into(), "0\n2\n3\n".into())
    );
    assert_eq!(machine.journal(), ["conflict-1.txt"]);
}

#[tokio::test]
async fn a_document_that_is_opened_or_closed_midway_is_computed_anew() {
    let machine = machine();
    let run = machine.start(Fault::Never, true, true).await;
    *machine.manner.lock().unwrap() = Some(Box::new(|machine, number, _| {
        if number == 0 {
            machine.close("/w/c");
            machine.open("/w/d", "new\n2\n");
        }
        true
    }));
    let done = run.set(&set()).await.unwrap();
    let unsaved: Vec<bool> = done.iter().map(|done| done.version_after.is_some()).collect();
    assert_eq!(unsaved, [true, true, true, false, false]);
    assert_eq!(machine.text("/w/d").unwrap(), "new\ntwo\n");
    assert_eq!(machine.disk.bytes("/w/c").unwrap(), b"1\ntwo\n3\n");
    assert_eq!(machine.text("/w/a").unwrap(), "0\ntwo\n3\n");
}

#[tokio::test]
async fn a_cancel_counts_until_the_first_edit_is_sent() {
    let machine = machine();
    let run = machine.start(Fault::Never, true, true).await;
    let cancel = CancellationToken::new();
    cancel.cancel();
    let stopped = run.workspace.commit_set(&set(), &cancel).await.unwrap_err();
    assert_eq!(stopped.refusal.kind, RefusalKind::Cancelled);
    assert!(machine.journal().is_empty() && machine.text("/w/a").unwrap() == "0\n2\n3\n");
    let cancel = CancellationToken::new();
    let canceller = cancel.clone();
    *machine.manner.lock().unwrap() = Some(Box::new(move |_, _, _| {
        canceller.cancel();
        true
    }));
    assert_eq!(run.workspace.commit_set(&set(), &cancel).await.unwrap().len(), 5);
}

#[tokio::test]
async fn files_are_moved_and_deleted_where_that_loses_nothing() {
    let machine = machine();
    machine.disk.link("/w/dangling", "/nowhere");
    machine.open("/w/open", "1\n2\n3\n");
    machine.disk.put("/w/open", "1\n2\n3\n");
    machine.disk.put("/w/read only", "1\n2\n3\n");
    let run = machine.start(Fault::Never, false, true).await;
    let before = machine.world();
    for (set, kind, words) in [
        (vec![moved("/w/d", "/w/e")], RefusalKind::Conflict, "something of that name already"),
        (vec![moved("/w/d", "/w/a")], RefusalKind::Conflict, "a document of that name is open"),
        (vec![moved("/w/d", "/w/dangling")], RefusalKind::Conflict, "something of that name already"),
        (vec![moved("/w/a", "/w/x")], RefusalKind::Conflict, "changes that are not saved, so it cannot be moved"),
        (vec![deleted("/w/a", "0\n2\n3\n")], RefusalKind::Conflict, "not saved, so it cannot be deleted"),
        (vec![deleted("/w/none", "")], RefusalKind::NotFound, "There is no file none"),
        (vec![deleted("/w/d", "2")], RefusalKind::Failed, "leaves text in it"),
        (vec![two("/w/d"), two("/w/none")], RefusalKind::NotFound, "There is no \"2\""),
        (vec![moved("/w/d", "/w/x"), moved("/w/e", "/w/x")], RefusalKind::InvalidArguments, "another file there"),
    ] {
        let stopped = run.set(&set).await.unwrap_err();
        assert_eq!(stopped.refusal.kind, kind, "{}", stopped.refusal.message);
        assert!(stopped.refusal.message.contains(words), "{}", stopped.refusal.message);
        assert_eq!(machine.world(), before);
    }
    // A document without unsaved changes: the file goes, the buffer stays, and that is told.
    let done = run.set(&[moved("/w/open", "/w/new/place")]).await.unwrap();
    assert!(done[0].notes[0].starts_with("The editor still has open open;"), "{:?}", done[0].notes);
    assert!(done[0].unified_diff.starts_with("rename from open\nrename to place\n---"), "{}", done[0].unified_diff);
    assert_eq!(machine.disk.bytes("/w/new/place").unwrap(), b"1\ntwo\n3\n");
    assert_eq!((machine.disk.bytes("/w/open"), machine.text("/w/open").unwrap()), (None, "1\n2\n3\n".into()));
    let told = machine.told.lock().unwrap().pop().unwrap();
    let News::Files(files) = told else { panic!("{told:?}") };
    let files: Vec<(&str, FileChangeKind)> = files.iter().map(|file| (file.uri.as_str(), file.kind)).collect();
    let expected = [("file:///w/open", FileChangeKind::Deleted), ("file:///w/new/place", FileChangeKind::Created)];
    assert_eq!(files, expected);
    // By the way of a single change, too.
    let done = run.workspace.commit(&deleted("/w/e", "1\n2\n3\n"), &CancellationToken::new()).await.unwrap();
    assert_eq!((done.fate, machine.disk.bytes("/w/e")), (Fate::Deleted, None));
}

#[tokio::test]
async fn sets_of_the_same_files_do_not_wait_for_each_other_for_ever() {
    let machine = machine();
    let run = machine.start(Fault::Never, true, true).await;
    let paths = ["/w/a", "/w/b", "/w/c", "/w/d", "/w/e"];
    let sets = (0..24).map(|number| {
        let mut set: Vec<FileChange> =
            paths.iter().map(|path| change(path, Replace("3".into(), format!("{number}\n3")))).collect();
        set.rotate_left(number % 5);
        if number % 2 == 0 {
            set.reverse();
        }
        set.truncate(2 + number % 4);
        let workspace = Arc::clone(&run.workspace);
        tokio::spawn(async move { workspace.commit_set(&set, &CancellationToken::new()).await.map(|done| done.len()) })
    });
    let sets: Vec<_> = sets.collect();
    let mut made = 0;
    for set in sets {
        // A number with a 3 in it makes the next one ambiguous, which is a refusal and no wait.
        made += usize::from(set.await.unwrap().is_ok());
    }
    assert!(made >= 3, "{made}");
    assert_eq!(machine.journal(), [""; 0]);
}

/// A program that runs does not touch what another one that runs has under way.
#[tokio::test]
async fn a_running_program_keeps_its_journal() {
    let disk = Arc::new(MemoryDisk::new().with_dir("/s"));
    let port: Arc<dyn crate::ports::Disk> = disk.clone();
    let random = crate::ports::Seeded::new(7);
    let mut own = Own::take(&port, &random, "/s".as_ref()).unwrap();
    let steps = vec![Step::Create { path: "/w/x".into(), new: b"x".to_vec() }];
    own.begin(&Record { folders: vec!["/w".into()], steps, documents: Vec::new() }).unwrap();
    let found = |folder: &str| orphans(&*disk, "/s".as_ref(), &[folder.into()]).unwrap().len();
    assert_eq!(found("/w"), 0);
    drop(own);
    // Nor is it the business of somebody in another folder.
    assert_eq!((found("/elsewhere"), found("/w")), (0, 1));
    let first = orphans(&*disk, "/s".as_ref(), &["/w".into()]).unwrap();
    assert_eq!((first.len(), found("/w")), (1, 0), "the first one to come has it");
    assert!(disk.read_dir("/s/journal".as_ref()).unwrap().len() >= 2);
}
