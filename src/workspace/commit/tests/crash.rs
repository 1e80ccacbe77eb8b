//! The program dies after each thing that a set does to the world, or each of them fails: the set is there wholly, or not
//! at all.

use std::path::Path;

use super::fake::{Replace, change};
use super::machine::{Fault, Machine, Run, STATE};
use crate::ports::MemoryDisk;
use crate::text::Text;
use crate::workspace::Refusal;
use crate::workspace::commit::{Fate, FileChange, Rewrite, Rewritten};

use std::sync::Arc;

/// Files and documents for everything that a set can do.
fn machine() -> Arc<Machine> {
    let disk = MemoryDisk::new()
        .with_file("/w/edited", "1\n2\n3\n")
        .with_mode("/w/edited", 0o600)
        .with_file("/w/linked", "1\nlong old line\n3\n")
        .with_hard_link("/w/other name", "/w/linked")
        .with_file("/w/deleted", "1\n2\n3\n")
        .with_mode("/w/deleted", 0o755)
        .with_file("/w/to deleted", "1\n2\n4\n")
        .with_file("/w/moved", "1\n2\n5\n")
        .with_mode("/w/moved", 0o640)
        .with_file("/w/ring 1", "1\n2\n6\n")
        .with_file("/w/ring 2", "1\n2\n7\n")
        .with_file("/w/left", "1\n2\n8\n")
        .with_file("/w/open saved", "1\n2\n3\n")
        .with_file("/w/open", "on the disk\n")
        .with_file("/w/untouched", "x\n");
    let machine = Machine::new(disk);
    machine.open("/w/open saved", "1\n2\n3\n");
    machine.open("/w/open", "1\n2\n3\n");
    machine.open("/w/new in buffer", "0\n2\n3\n");
    machine
}

/// A change that also gives the right to run the file.
struct Runs(Arc<dyn Rewrite>);

impl Rewrite for Runs {
    fn rewrite(&self, before: Option<&Text>) -> Result<Rewritten, Refusal> {
        self.0.rewrite(before)
    }

    fn executable(&self) -> Option<bool> {
        Some(true)
    }
}

fn runs(change: FileChange) -> FileChange {
    FileChange { rewrite: Arc::new(Runs(change.rewrite)), ..change }
}

fn set() -> Vec<FileChange> {
    let two = |path: &str| change(path, Replace("2".into(), "two".into()));
    let nothing = |path: &str| change(path, Replace(String::new(), String::new()));
    let moved = |from: &str, to: &str| FileChange { fate: Fate::Moved { to: nothing(to).target }, ..two(from) };
    let delete = |path: &str, text: &str| FileChange {
        fate: Fate::Deleted,
        ..change(path, Replace(text.into(), String::new()))
    };
    vec![
        two("/w/open"),
        runs(two("/w/edited")),
        change("/w/linked", Replace("long old".into(), "new".into())),
        delete("/w/deleted", "1\n2\n3\n"),
        moved("/w/to deleted", "/w/deleted"),
        runs(moved("/w/moved", "/w/sub/folder/moved")),
        moved("/w/ring 1", "/w/aside"),
        runs(two("/w/open saved")),
        moved("/w/ring 2", "/w/ring 1"),
        FileChange {
            fate: Fate::Moved { to: nothing("/w/ring 2").target },
            ..change("/w/aside", Replace("1".into(), "one".into()))
        },
        delete("/w/left", "1\n2\n8\n"),
        change("/w/moved", Replace(String::new(), "made\n".into())),
        runs(change("/w/sub/made", Replace(String::new(), "made\n".into()))),
        two("/w/new in buffer"),
    ]
}

async fn run(machine: &Arc<Machine>, fault: Fault, state: bool, early: bool) -> (Run, bool) {
    let run = machine.start(fault, state, early).await;
    let done = run.set(&set()).await;
    if let Err(refused) = &done {
        assert!(run.fuse.blown(), "{}", refused.refusal.message);
    }
    (run, done.is_ok())
}

#[tokio::test]
async fn a_ring_of_names_and_all_the_rest_is_made() {
    for state in [false, true] {
        let machine = machine();
        let (run, done) = run(&machine, Fault::Never, state, true).await;
        assert!(done);
        let world = machine.world();
        let told = |path: &str| world.get(path).map_or("-", String::as_str);
        assert_eq!(told("/w/edited"), "700 \"1\\ntwo\\n3\\n\"");
        assert_eq!(told("/w/linked"), "644 \"1\\nnew line\\n3\\n\"");
        assert_eq!(told("/w/other name"), told("/w/linked"), "it is one file still");
        assert_eq!(told("/w/deleted"), "644 \"1\\ntwo\\n4\\n\"");
        assert_eq!((told("/w/to deleted"), told("/w/left")), ("-", "-"));
        assert_eq!(told("/w/sub/folder/moved"), "750 \"1\\ntwo\\n5\\n\"");
        assert_eq!((told("/w/moved"), told("/w/sub/made")), ("644 \"made\\n\"", "755 \"made\\n\""));
        assert_eq!(told("/w/open saved"), "755 \"1\\n2\\n3\\n\"", "its text is in the buffer");
        assert_eq!((told("/w/ring 1"), told("/w/ring 2")), ("644 \"1\\ntwo\\n7\\n\"", "644 \"one\\ntwo\\n6\\n\""));
        assert_eq!((told("file:///w/open"), told("/w/open")), ("1\ntwo\n3\n", "644 \"on the disk\\n\""));
        assert_eq!((told("file:///w/new in buffer"), told("file:///w/open saved")), ("0\ntwo\n3\n", "1\ntwo\n3\n"));
        assert_eq!(world.keys().filter(|name| name.contains("ropewalk")).count(), 0, "{world:?}");
        assert_eq!(machine.journal(), [""; 0]);
        run.workspace.rest().await;
        assert_eq!(machine.disk.bytes(Path::new(STATE).join("journal/x")), None);
    }
}

/// Whatever fails, the set is made or it is not, in this very run.
#[tokio::test]
async fn whatever_fails_nothing_is_changed() {
    for state in [false, true] {
        let (mut at, mut refused) = (0, 0);
        loop {
            let machine = machine();
            let before = machine.world();
            let (run, done) = run(&machine, Fault::Error(at), state, true).await;
            if !run.fuse.blown() {
                break;
            }
            if !done {
                refused += 1;
                assert_eq!(machine.world(), before, "thing {at}, state {state}");
            }
            assert_eq!(machine.journal(), [""; 0], "thing {at}");
            at += 1;
        }
        assert!(refused > 15, "{refused} of {at}");
    }
}

/// Wherever it dies, and wherever it dies once more while it takes the set back: with the next start, and with the
/// documents opened again, the set is there wholly or not at all.
#[tokio::test]
async fn wherever_it_dies_the_set_is_there_wholly_or_not_at_all() {
    let whole = machine();
    let before = whole.world();
    run(&whole, Fault::Never, true, true).await;
    let after = whole.world();
    let (mut at, mut olds) = (0, 0);
    loop {
        let mut again = 0;
        loop {
            let machine = machine();
            let early = at % 2 == 0;
            let (first, done) = run(&machine, Fault::Death(at), true, true).await;
            if done && !first.fuse.blown() {
                assert!(olds > 20, "{olds} of {at}");
                return;
            }
            let second = machine.start(Fault::Death(again), true, early).await;
            let third = machine.start(Fault::Never, true, !early).await;
            let world = machine.world();
            assert!(world == before || world == after, "died at {at} and {again}: {world:#?}");
            assert_eq!(machine.journal(), [""; 0], "{at} {again}");
            olds += usize::from(world == before);
            let news = third.workspace.recovery_news();
            assert!(news.iter().all(|news| news.contains("was taken back as a whole")), "{news:?}");
            if !second.fuse.blown() {
                break;
            }
            again += 1;
        }
        at += 1;
    }
}

/// A single file that is written into as it is, since it has another name: wherever the program dies, the next start has it
/// whole, and says so if anything of it was taken back; whatever fails, it is whole at once.
#[tokio::test]
async fn a_file_that_was_being_written_in_place_is_whole_at_the_next_start() {
    let one = [change("/w/linked", Replace("long old".into(), "new".into()))];
    let (before, after) = ("644 \"1\\nlong old line\\n3\\n\"", "644 \"1\\nnew line\\n3\\n\"");
    let (mut at, mut torn) = (0, 0);
    loop {
        let machine = machine();
        let first = machine.start(Fault::Death(at), true, true).await;
        let done = first.set(&one).await;
        if !first.fuse.blown() {
            assert!(done.is_ok() && at > 3 && torn == 1, "{at} {torn}");
            break;
        }
        let left = machine.world()["/w/linked"].clone();
        torn += usize::from(left != before && left != after);
        let next = machine.start(Fault::Never, true, true).await;
        let world = machine.world();
        let now = &world["/w/linked"];
        assert!(now == before || now == after, "died at {at}: {left} {now}");
        assert_eq!(&world["/w/other name"], now);
        let news = next.workspace.recovery_news();
        assert_eq!(news.len(), usize::from(left != *now), "{at}: {news:?}");
        assert!(news.iter().all(|news| news.contains("A change of one file that was interrupted")), "{news:?}");
        assert_eq!(machine.journal(), [""; 0], "{at}");
        at += 1;
    }
    let mut at = 0;
    loop {
        let machine = machine();
        let run = machine.start(Fault::Error(at), true, true).await;
        let done = run.set(&one).await;
        if !run.fuse.blown() {
            return;
        }
        assert_eq!(machine.world()["/w/linked"], if done.is_ok() { after } else { before }, "thing {at}");
        assert_eq!(machine.journal(), [""; 0], "thing {at}");
        at += 1;
    }
}

/// What the user types before the editor opens the documents again stays.
#[tokio::test]
async fn what_is_typed_before_the_next_start_stays() {
    let mut at = 0;
    loop {
        let machine = machine();
        let before = machine.world();
        let (first, done) = run(&machine, Fault::Death(at), true, true).await;
        if done && !first.fuse.blown() {
            assert!(at > 20);
            return;
        }
        let had = machine.text("/w/open").unwrap().contains("two");
        machine.types("/w/open", " typed");
        machine.types("/w/new in buffer", " typed");
        let second = machine.start(Fault::Never, true, true).await;
        let mut world = machine.world();
        let whole = world["file:///w/open saved"].contains("two");
        if !whole {
            assert_eq!(world.insert("file:///w/open".into(), "1\n2\n3\n".into()).unwrap(), "1 typed\n2\n3\n", "{at}");
            assert_eq!(world.insert("file:///w/new in buffer".into(), "0\n2\n3\n".into()).unwrap(), "0 typed\n2\n3\n");
            assert_eq!(world, before, "{at}");
        }
        assert!(had || !whole);
        assert_eq!(second.workspace.recovery_news().len(), usize::from(had && !whole), "{at}");
        at += 1;
    }
}
