//! Edits of servers over files in memory, and the changes that come of them.

use std::path::PathBuf;

use super::*;
use crate::editor::Absent;
use crate::ports::{MemoryDisk, Ports, Seeded, SystemClock};
use crate::text::{Encoding, Position, Range, TextEdit};
use crate::workspace::{Documents, Roots};

/// A workspace with `/w/a.txt` (told to the server), `/w/b.txt` (read by it) and `/w/open.txt` (an unsaved buffer that it
/// was told of), and `/etc/far.txt` outside of it.
struct Bench {
    workspace: Workspace,
    seen: Seen,
}

const A: &str = "one two\nthree\n";
const B: &str = "two\n";
const BUFFER: &str = "é😀 two\n";

impl Bench {
    fn new() -> Bench {
        let disk = MemoryDisk::new()
            .with_file("/w/a.txt", A)
            .with_file("/w/b.txt", B)
            .with_file("/w/mark.txt", "\u{feff}two\n")
            .with_file("/w/open.txt", "saved\n")
            .with_file("/w/unknown.txt", "saved\n")
            .with_file("/w/sub/deep.txt", "deep\n")
            .with_file("/etc/far.txt", "two\n");
        let ports = Ports { disk: Arc::new(disk), clock: Arc::new(SystemClock), random: Arc::new(Seeded::new(1)) };
        let documents = Arc::new(Documents::new());
        let file = |path: &str| Key::File(PathBuf::from(path));
        documents.open(file("/w/open.txt"), "file:///w/open.txt", "plaintext", 7, BUFFER);
        documents.open(file("/w/unknown.txt"), "file:///w/unknown.txt", "plaintext", 1, "unsaved\n");
        let workspace = Workspace::new(ports, Arc::new(Absent), documents);
        workspace.set_roots(Roots { folders: vec![PathBuf::from("/w")] });
        let known = [("/w/a.txt", 101, A), ("/w/open.txt", 105, BUFFER), ("/w/mark.txt", 101, "two\n")];
        let texts = known.map(|(path, rev, text)| (file(path), (rev, Text::new(text, LineBreaks::Lf))));
        Bench { workspace, seen: Seen::of(Encoding::Utf16, texts) }
    }

    /// What comes of an edit: each change as its file, what becomes of it, and its text after; or why there is none.
    async fn told(&self, operations: Vec<Operation>, names: Option<(&str, &str)>) -> Vec<String> {
        let purpose = Purpose { label: "test".into(), strategy: "rename", notes: Vec::new(), names };
        let edits = Edits { operations, confirm: Vec::new() };
        let made = match changes(&edits, &self.seen, &self.workspace, &purpose).await {
            Ok(made) => made,
            Err(Stop::Moved) => return vec!["ask anew".to_owned()],
            Err(Stop::Failed(error)) => return vec![error.message],
        };
        let mut told = Vec::new();
        for change in &made {
            let after = match self.workspace.preview(change).await {
                Ok(preview) => format!("{:?}", preview.after.to_string()),
                Err(refusal) => refusal.message,
            };
            let fate = match &change.fate {
                Fate::Stays => String::new(),
                Fate::Deleted => " deleted".to_owned(),
                Fate::Moved { to } => format!(" to {}", to.shown),
            };
            told.push(format!("{}{fate}: {after}", change.target.shown));
        }
        told
    }
}

fn uri(name: &str) -> String {
    if name.contains(':') { name.to_owned() } else { format!("file:///w/{name}") }
}

/// Edits of one line each: line, from, to (UTF-16 units), new text.
fn edit(name: &str, version: Option<i64>, edits: &[(u32, u32, u32, &str)]) -> Operation {
    let edit = |&(line, from, to, text): &(u32, u32, u32, &str)| TextEdit {
        range: Range { start: Position::new(line, from), end: Position::new(line, to) },
        new_text: text.to_owned(),
    };
    Operation::Edit { uri: uri(name), version, edits: edits.iter().map(edit).collect() }
}

fn create(name: &str, overwrite: bool, ignore_if_exists: bool) -> Operation {
    Operation::Create { uri: uri(name), overwrite, ignore_if_exists }
}

fn rename(from: &str, to: &str) -> Operation {
    Operation::Rename { from: uri(from), to: uri(to), overwrite: false, ignore_if_exists: false }
}

fn delete(name: &str) -> Operation {
    Operation::Delete { uri: uri(name), ignore_if_not_exists: false }
}

#[track_caller]
fn same(told: &[String], expected: &[&str]) {
    assert_eq!(told, expected);
}

#[tokio::test]
async fn edits_of_several_files() {
    let bench = Bench::new();
    let check =
        async |operations: Vec<Operation>, expected: &[&str]| same(&bench.told(operations, None).await, expected);
    check(vec![], &[]).await;
    check(
        vec![edit("open.txt", Some(105), &[(0, 4, 7, "2")]), edit("a.txt", None, &[(1, 0, 5, "3"), (0, 0, 3, "1")])],
        &[r#"a.txt: "1 two\n3\n""#, r#"open.txt: "é😀 2\n""#],
    )
    .await;
    // What would change nothing is no change.
    check(vec![edit("a.txt", None, &[(0, 0, 3, "one")]), edit("b.txt", None, &[(0, 0, 3, "2")])], &[r#"b.txt: "2\n""#])
        .await;
    // Behind the end of a line, or of the text, is the end, if the server has exactly this text.
    check(vec![edit("a.txt", None, &[(1, 5, 99, "!"), (3, 0, 0, "last\n")])], &[r#"a.txt: "one two\nthree!\nlast\n""#])
        .await;
    check(
        vec![edit("b.txt", None, &[(0, 3, 99, "!")])],
        &["The server's edit of b.txt was not made: a place at line 1 does not fit the text as it is. Nothing was changed."],
    )
    .await;
    check(
        vec![edit("open.txt", None, &[(0, 2, 3, "x")])],
        &["The server's edit of open.txt was not made: a place at line 1 does not fit the text as it is. Nothing was \
           changed."],
    )
    .await;
    check(
        vec![edit("a.txt", None, &[(9, 0, 0, "!")])],
        &["The server's edit of a.txt was not made: a place at line 10 does not fit the text as it is. Nothing was changed."],
    )
    .await;
    check(vec![edit("mark.txt", None, &[(0, 0, 3, "2")])], &[r#"mark.txt: "2\n""#]).await;
    check(vec![edit("file:///etc/far.txt", None, &[(0, 0, 3, "2")])], &[r#"/etc/far.txt: "2\n""#]).await;
}

#[tokio::test]
async fn edits_that_overlap_or_can_be_read_in_two_ways() {
    let bench = Bench::new();
    let check =
        async |operations: Vec<Operation>, expected: &[&str]| same(&bench.told(operations, None).await, expected);
    check(
        vec![edit("a.txt", None, &[(0, 0, 5, "x"), (0, 4, 7, "y")])],
        &["The server's edit of a.txt was not made: two of its changes overlap at line 1. Nothing was changed."],
    )
    .await;
    check(vec![edit("a.txt", None, &[(0, 3, 3, "x"), (0, 3, 3, "y"), (0, 3, 7, "")])], &[r#"a.txt: "onexy\nthree\n""#])
        .await;
    check(
        vec![edit("a.txt", None, &[(1, 0, 5, "3")]), edit("a.txt", None, &[(0, 0, 3, "1")])],
        &[r#"a.txt: "1 two\n3\n""#],
    )
    .await;
    check(
        vec![edit("a.txt", None, &[(0, 0, 3, "eleven")]), edit("a.txt", None, &[(0, 4, 7, "2")])],
        &["The server's edit of a.txt was not made: it has several lists of edits of this file, which can be understood in \
           two ways. Nothing was changed."],
    )
    .await;
}

#[tokio::test]
async fn versions_and_texts_that_disagree() {
    let mut bench = Bench::new();
    for (version, expected) in [
        (Some(105), r#"open.txt: "é😀 2\n""#),
        (None, r#"open.txt: "é😀 2\n""#),
        // Its own way of counting says nothing.
        (Some(0), r#"open.txt: "é😀 2\n""#),
        (Some(104), "ask anew"),
        (Some(106), "ask anew"),
    ] {
        let told = bench.told(vec![edit("open.txt", version, &[(0, 4, 7, "2")])], None).await;
        assert_eq!(told, [expected], "{version:?}");
    }
    let unknown = bench.told(vec![edit("unknown.txt", None, &[(0, 0, 1, "x")])], None).await;
    assert!(
        unknown[0].contains("unknown.txt, which has unsaved changes that the server was not told of"),
        "{unknown:?}"
    );
    // It was told another text than there is by now.
    let key = Key::File(PathBuf::from("/w/a.txt"));
    bench.seen = Seen::of(Encoding::Utf16, [(key, (101, Text::new("one\n", LineBreaks::Lf)))]);
    assert_eq!(bench.told(vec![edit("a.txt", None, &[(0, 0, 3, "1")])], None).await, ["ask anew"]);
}

#[tokio::test]
async fn a_name_that_the_server_read_from_the_disk_is_looked_at_before_it_is_replaced() {
    let bench = Bench::new();
    let names = Some(("two", "2"));
    assert_eq!(bench.told(vec![edit("b.txt", None, &[(0, 0, 3, "2")])], names).await, [r#"b.txt: "2\n""#]);
    let told = bench.told(vec![edit("b.txt", None, &[(0, 0, 2, "2")])], names).await;
    assert!(told[0].contains("at line 1 there is \"tw\", not \"two\""), "{told:?}");
    // Imports and the like may come with it.
    let told = bench.told(vec![edit("b.txt", None, &[(0, 0, 0, "use x;")])], names).await;
    assert_eq!(told, [r#"b.txt: "use x;two\n""#]);
    // Where it was told the text, it is believed.
    assert_eq!(bench.told(vec![edit("a.txt", None, &[(0, 4, 6, "2")])], names).await, [r#"a.txt: "one 2o\nthree\n""#]);
}

#[tokio::test]
async fn files_are_made_moved_and_deleted() {
    let bench = Bench::new();
    let check =
        async |operations: Vec<Operation>, expected: &[&str]| same(&bench.told(operations, None).await, expected);
    check(vec![create("new.txt", false, false)], &[r#"new.txt: """#]).await;
    check(vec![create("new.txt", false, false), edit("new.txt", None, &[(0, 0, 0, "x\n")])], &[r#"new.txt: "x\n""#])
        .await;
    check(vec![create("a.txt", false, true)], &[]).await;
    check(vec![create("a.txt", true, false)], &[r#"a.txt: """#]).await;
    check(vec![delete("a.txt"), create("a.txt", false, false)], &[r#"a.txt: """#]).await;
    check(vec![rename("a.txt", "c.txt")], &[r#"a.txt to c.txt: "one two\nthree\n""#]).await;
    // The edit comes before the move, or is of the file where it is then.
    for edited in [
        vec![edit("a.txt", None, &[(0, 0, 3, "1")]), rename("a.txt", "c.txt")],
        vec![rename("a.txt", "c.txt"), edit("c.txt", None, &[(0, 0, 3, "1")])],
        vec![rename("a.txt", "d.txt"), edit("d.txt", None, &[(0, 0, 3, "1")]), rename("d.txt", "c.txt")],
    ] {
        check(edited, &[r#"a.txt to c.txt: "1 two\nthree\n""#]).await;
    }
    check(vec![rename("a.txt", "c.txt"), rename("c.txt", "a.txt")], &[]).await;
    check(vec![create("n.txt", false, false), rename("n.txt", "m.txt")], &[r#"m.txt: """#]).await;
    check(vec![delete("a.txt")], &[r#"a.txt deleted: """#]).await;
    check(vec![create("n.txt", false, false), delete("n.txt")], &[]).await;
    check(vec![Operation::Delete { uri: uri("gone.txt"), ignore_if_not_exists: true }], &[]).await;
    check(
        vec![Operation::Rename { from: uri("a.txt"), to: uri("b.txt"), overwrite: false, ignore_if_exists: true }],
        &[],
    )
    .await;
}

#[tokio::test]
async fn what_cannot_be_done_is_refused_as_a_whole() {
    let bench = Bench::new();
    let good = || edit("a.txt", None, &[(0, 0, 3, "1")]);
    for (operation, expected) in [
        (edit("gone.txt", None, &[(0, 0, 0, "x")]), "The server's edit is of gone.txt, which does not exist"),
        (create("b.txt", false, false), "The server's edit makes b.txt, which exists already"),
        (rename("b.txt", "open.txt"), "The server's edit moves b.txt to open.txt, where something is already"),
        (rename("b.txt", "sub"), "The server's edit moves b.txt to sub, where something is already"),
        (rename("gone.txt", "c.txt"), "The server's edit moves gone.txt, which does not exist"),
        (delete("gone.txt"), "The server's edit deletes gone.txt, which does not exist"),
        (edit("jdt://x/Y.class", None, &[(0, 0, 0, "x")]), "The server's edit is of jdt://x/Y.class, which is no file"),
        (delete("sub"), "sub is a directory"),
    ] {
        let told = bench.told(vec![good(), operation.clone()], None).await;
        assert!(told.len() == 1 && told[0].contains(expected), "{operation:?}: {told:?}");
    }
    for (operations, expected) in [
        (vec![delete("a.txt"), edit("a.txt", None, &[(0, 0, 3, "1")])], "of a.txt, which does not exist"),
        (vec![delete("a.txt"), delete("a.txt")], "deletes a.txt, which does not exist"),
        (vec![rename("a.txt", "c.txt"), good()], "is of a.txt after it is moved away"),
        (vec![delete("b.txt"), rename("a.txt", "b.txt")], "moves a.txt to b.txt after what is there now is gone"),
        (
            vec![rename("b.txt", "c.txt"), rename("a.txt", "b.txt")],
            "moves a.txt to b.txt after what is there now is gone",
        ),
    ] {
        let told = bench.told(operations.clone(), None).await;
        assert!(told.len() == 1 && told[0].contains(expected), "{operations:?}: {told:?}");
    }
}

#[tokio::test]
async fn a_change_fits_one_text_alone() {
    let bench = Bench::new();
    let purpose = Purpose { label: "test".into(), strategy: "rename", notes: vec!["n".into()], names: None };
    let operations = vec![edit("open.txt", None, &[(0, 4, 7, "2")])];
    let edits = Edits { operations, confirm: vec!["In comments".to_owned()] };
    let Ok(made) = changes(&edits, &bench.seen, &bench.workspace, &purpose).await else { panic!("refused") };
    let rewritten = made[0].rewrite.rewrite(Some(&Text::new(BUFFER, LineBreaks::Lf))).unwrap();
    assert_eq!(rewritten.notes, ["n", "the server wants this looked at: In comments"]);
    for other in [Some(Text::new("é😀 two", LineBreaks::Lf)), None] {
        let refusal = made[0].rewrite.rewrite(other.as_ref()).unwrap_err();
        assert!(refusal.is_outdated(), "{refusal:?}");
    }
}

#[tokio::test]
async fn what_the_server_was_not_told_of_is_known() {
    let bench = Bench::new();
    let operations = vec![
        edit("a.txt", None, &[(0, 0, 0, "")]),
        edit("b.txt", None, &[(0, 0, 0, "")]),
        edit("jdt://x/Y.class", None, &[(0, 0, 0, "")]),
        delete("open.txt"),
    ];
    let edits = Edits { operations, confirm: Vec::new() };
    let unknown = unknown(&edits, &bench.seen, &bench.workspace);
    assert_eq!(unknown.into_iter().collect::<Vec<_>>(), ["file:///w/b.txt"]);
}
