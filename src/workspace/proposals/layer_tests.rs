//! What becomes of a proposal whose session ends while it is laid, and what names mean for whoever proposes.

use std::path::Path;
use std::sync::Arc;

use super::*;
use crate::editor::Absent;
use crate::ports::{MemoryDisk, Ports};
use crate::text::LineBreaks;
use crate::workspace::commit::{Rewrite, Rewritten};
use crate::workspace::{Documents, Roots};

/// A first line.
struct Line(&'static str);

impl Rewrite for Line {
    fn rewrite(&self, _: Option<&Text>) -> Result<Rewritten, Refusal> {
        Ok(Rewritten { splices: vec![Splice { range: 0..0, text: format!("{}\n", self.0) }], ..Rewritten::default() })
    }
}

fn workspace() -> Workspace {
    let disk = Arc::new(MemoryDisk::new().with_file("/one/a", "a\n").with_file("/two/b", "b\n"));
    let roots = Roots::from_paths(&*disk, [Path::new("/one"), Path::new("/two")]);
    let ports = Ports { disk, ..Ports::system() };
    let workspace = Workspace::new(ports, Arc::new(Absent), Arc::new(Documents::new()));
    workspace.set_roots(roots);
    workspace
}

fn change(workspace: &Workspace, name: &str, line: &'static str) -> FileChange {
    let target = workspace.resolve(name).unwrap();
    FileChange { target, rewrite: Arc::new(Line(line)), label: String::new(), fate: Fate::Stays }
}

fn by(call: &str) -> By {
    By { session: "s".into(), turn: None, call: call.into(), accepted: false }
}

fn proposed(workspace: &Workspace) -> Vec<String> {
    workspace.proposals.pending(Some("s"), None).into_iter().map(|file| file.shown).collect()
}

#[test]
fn a_session_that_ends_meanwhile_proposes_nothing() {
    let workspace = workspace();
    let lay = |call: &str, current: bool| {
        lay(&workspace, "s", &by(call), &[change(&workspace, "a", "x")], &move || current)
            .map(|laid| laid[0].ids.clone())
    };
    assert_eq!(lay("c1", true).unwrap(), ["p1.1"]);
    // It ended before: nothing of the call is there, not for a moment.
    assert_eq!(workspace.proposals.forget("s").len(), 1);
    assert_eq!(lay("c2", false).unwrap_err().kind, RefusalKind::Cancelled);
    assert!(proposed(&workspace).is_empty());
    // A new one of its name has new names for what it proposes.
    assert_eq!(lay("c3", true).unwrap(), ["p2.1"]);
    assert_eq!(proposed(&workspace), ["a"]);
}

#[test]
fn what_was_dropped_does_not_come_back_with_what_was_begun_before() {
    /// A rewrite while which the session ends, and begins anew.
    struct Ends(Workspace);
    impl Rewrite for Ends {
        fn rewrite(&self, before: Option<&Text>) -> Result<Rewritten, Refusal> {
            self.0.proposals.forget("s");
            Line("y").rewrite(before)
        }
    }
    let workspace = workspace();
    lay(&workspace, "s", &by("c1"), &[change(&workspace, "a", "x")], &|| true).unwrap();
    let ends = FileChange { rewrite: Arc::new(Ends(workspace.clone())), ..change(&workspace, "/two/b", "") };
    // Whoever asks only whether the session is the same one by its name sees no difference.
    let refused = lay(&workspace, "s", &by("c2"), &[ends], &|| true).unwrap_err();
    assert_eq!(refused.kind, RefusalKind::Cancelled, "{refused}");
    assert!(proposed(&workspace).is_empty());
    // Nor does what was kept.
    let kept = || Some(serde_json::from_str(r#"{"drafts": [], "last": 7}"#).unwrap());
    workspace.proposals.restore("s", kept, LineBreaks::Lf);
    assert_eq!(lay(&workspace, "s", &by("c3"), &[change(&workspace, "a", "x")], &|| true).unwrap()[0].ids, ["p2.1"]);
}

#[test]
fn a_new_file_is_there_for_whoever_proposes_it() {
    let workspace = workspace();
    lay(&workspace, "s", &by("c1"), &[change(&workspace, "/two/new", "x")], &|| true).unwrap();
    let mine = workspace.of_session("s", true);
    let path = |workspace: &Workspace, name: &str| match workspace.resolve(name) {
        Ok(target) => target.paths[0].display().to_string(),
        Err(refusal) => format!("{:?}", refusal.kind),
    };
    assert_eq!((path(&mine, "new").as_str(), path(&workspace, "new").as_str()), ("/two/new", "/one/new"));
    assert_eq!(path(&workspace.of_session("t", true), "new"), "/one/new");
    assert_eq!(path(&mine, "other"), "/one/other");
    lay(&workspace, "s", &by("c2"), &[change(&workspace, "/one/new", "x")], &|| true).unwrap();
    assert_eq!((path(&mine, "new").as_str(), path(&mine, "b").as_str()), ("Ambiguous", "/two/b"));
    // What would be moved there is there, too; and whoever proposes that a file goes away may still name it.
    let moved = FileChange {
        fate: Fate::Moved { to: workspace.resolve("/two/c").unwrap() },
        ..change(&workspace, "/two/b", "x")
    };
    lay(&workspace, "s", &by("c3"), &[moved], &|| true).unwrap();
    assert_eq!((path(&mine, "c").as_str(), path(&mine, "b").as_str()), ("/two/c", "/two/b"));
}

/// A mode, and a first line or none.
struct Mode(&'static str, bool);

impl Rewrite for Mode {
    fn rewrite(&self, before: Option<&Text>) -> Result<Rewritten, Refusal> {
        if self.0.is_empty() { Ok(Rewritten::default()) } else { Line(self.0).rewrite(before) }
    }

    fn executable(&self) -> Option<bool> {
        Some(self.1)
    }
}

#[test]
fn a_mode_is_part_of_a_proposal() {
    let workspace = workspace();
    let lay = |call: &str, line: &'static str, runs: bool| {
        let change = FileChange { rewrite: Arc::new(Mode(line, runs)), ..change(&workspace, "a", "") };
        let shown = preview(&workspace, "s", std::slice::from_ref(&change)).unwrap().remove(0).unified_diff;
        let laid = lay(&workspace, "s", &by(call), &[change], &|| true).unwrap().remove(0);
        assert_eq!(shown, laid.unified_diff);
        (laid.ids, laid.executable, shown.lines().filter(|line| line.contains("mode")).count())
    };
    let target = workspace.resolve("a").unwrap();
    let ids = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>();
    assert_eq!(lay("c1", "x", true), (ids(&["p1.mode", "p1.1"]), Some((false, true)), 2));
    assert!(runs(&workspace, "s", &target) && !runs(&workspace, "t", &target));
    // The session sees it so already.
    assert_eq!(lay("c2", "y", true), (ids(&["p1.2"]), None, 0));
    // As it really is: nothing of it is proposed any more.
    assert_eq!(lay("c3", "", false), (ids(&[]), Some((true, false)), 2));
    assert!(!runs(&workspace, "s", &target));
    // What the user has done by themselves is proposed no more.
    assert_eq!(lay("c4", "", true).0, ["p1.mode"]);
    workspace.ports.disk.set_mode(Path::new("/one/a"), 0o755).unwrap();
    refresh_all(&workspace, "s");
    let pending = workspace.proposals.pending(Some("s"), None).remove(0).hunks;
    assert_eq!(pending.into_iter().map(|hunk| hunk.id).collect::<Vec<_>>(), ["p1.2", "p1.1"]);
}

#[test]
fn a_document_without_a_file_gets_no_mode_and_that_is_said() {
    let workspace = workspace();
    let key = Key::Unnamed("untitled:u".to_owned());
    workspace.documents.open(key, "untitled:u", "text", 1, "u\n");
    let lay = |line: &'static str| {
        let change = FileChange { rewrite: Arc::new(Mode(line, true)), ..change(&workspace, "untitled:u", "") };
        lay(&workspace, "s", &by("c1"), &[change], &|| true).map(|mut all| all.remove(0))
    };
    let laid = lay("x").unwrap();
    assert_eq!((laid.ids, laid.executable), (vec!["p1.1".to_owned()], None));
    assert_eq!(laid.notes, ["The mode 100755 is not proposed: the document is not on the disk yet"]);
    let refused = lay("").unwrap_err();
    assert_eq!(refused.kind, RefusalKind::Unavailable);
    assert!(refused.message.contains("Nothing was proposed"), "{refused}");
}
