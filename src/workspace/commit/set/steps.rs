//! What a set does on the disk, step by step, and how those steps are taken back, judged by nothing but what the files
//! hold: so the same way serves a failure in the middle and a crash, and may itself be interrupted and begun anew. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// One step. Every file in it is named by its canonical path, and every content is whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::workspace::commit) enum Step {
    /// A folder that was not there, whose parent is.
    Folder(PathBuf),
    /// A file goes.
    Delete {
        /// Which one.
        path: PathBuf,
        /// What it holds.
        old: Vec<u8>,
        /// Its permission bits.
        mode: u32,
    },
    /// A file gets a name that nobody has.
    Rename {
        /// Its name.
        from: PathBuf,
        /// Its new name.
        to: PathBuf,
        /// What it holds.
        old: Vec<u8>,
    },
    /// A file gets another content.
    Write {
        /// Which one.
        path: PathBuf,
        /// What it holds.
        old: Vec<u8>,
        /// What it is to hold.
        new: Vec<u8>,
        /// Its permission bits.
        mode: u32,
        /// It keeps its inode (other names, another owner), so that a crash may leave it half written.
        in_place: bool,
    },
    /// A file is made.
    Create {
        /// Where.
        path: PathBuf,
        /// What it is to hold.
        new: Vec<u8>,
    },
    /// A file is given the right to be run, or loses it.
    Mode {
        /// Which one.
        path: PathBuf,
        /// Which of the two.
        executable: bool,
        /// Its permission bits before; absent for a file that the set makes.
        was: Option<u32>,
    },
}

/// Permission bits with the right to run the file for all who may read it, or without it for all.
pub(in crate::workspace::commit) fn runnable(mode: u32, executable: bool) -> u32 {
    if executable { mode | ((mode & 0o444) >> 2) } else { mode & !0o111 }
}

/// One step back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::workspace::commit) enum Back {
    /// Removes a folder, if it is empty.
    Folder(PathBuf),
    /// Puts a content into the place of what is there now (`None`: nothing is).
    Put {
        /// Where.
        path: PathBuf,
        /// What is there now.
        now: Option<Vec<u8>>,
        /// What is to be there.
        old: Vec<u8>,
        /// The permission bits.
        mode: u32,
        /// Into the file as it is.
        in_place: bool,
    },
    /// Gives a file its former name again.
    Rename {
        /// The name it has.
        from: PathBuf,
        /// The name it had.
        to: PathBuf,
        /// What it holds.
        old: Vec<u8>,
    },
    /// Gives a file its former permission bits again, if it has the new ones.
    Mode {
        /// Which one.
        path: PathBuf,
        /// The bits it was given.
        now: u32,
        /// The bits it had.
        was: u32,
    },
    /// Removes a file that was made.
    Remove {
        /// Which one.
        path: PathBuf,
        /// What it holds.
        new: Vec<u8>,
    },
}

/// How a set is taken back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::workspace::commit) struct Way {
    /// The steps, in order.
    pub(in crate::workspace::commit) back: Vec<Back>,
    /// Files that hold neither what they held before nor what they were to hold: somebody else was at them. They are
    /// left alone.
    pub(in crate::workspace::commit) foreign: BTreeSet<PathBuf>,
}

impl Step {
    /// The files it is about.
    pub(in crate::workspace::commit) fn paths(&self) -> Vec<&Path> {
        match self {
            // What a file holds is no matter to its mode.
            Step::Folder(_) | Step::Mode { .. } => Vec::new(),
            Step::Delete { path, .. } | Step::Write { path, .. } | Step::Create { path, .. } => vec![path],
            Step::Rename { from, to, .. } => vec![from, to],
        }
    }
}

/// Whether a content is that of a file that was being overwritten in place: the beginning of the new one, and then the
/// rest of the old one, or nothing.
fn half_written(now: &[u8], old: &[u8], new: &[u8]) -> bool {
    let written = now.iter().zip(new).take_while(|(a, b)| a == b).count();
    written == now.len() || old.get(written..) == Some(&now[written..])
}

/// What every file holds; `None`: there is no such file.
type Files = BTreeMap<PathBuf, Option<Vec<u8>>>;

/// How to get from what the files hold now to what they held before the steps, of which any number, from the first on,
/// may have been done. `now` has every file that a step names.
pub(in crate::workspace::commit) fn way_back(steps: &[Step], now: &Files) -> Way {
    let done = done(steps, now);
    let mut at = now.clone();
    let mut way = Way::default();
    for (number, step) in steps[..done].iter().enumerate().rev() {
        let held = |path: &Path| at.get(path).cloned().flatten();
        match step {
            Step::Folder(path) => way.back.push(Back::Folder(path.clone())),
            Step::Mode { path, executable, was: Some(was) } => {
                way.back.push(Back::Mode { path: path.clone(), now: runnable(*was, *executable), was: *was });
            }
            Step::Mode { was: None, .. } => {}
            Step::Delete { path, old, mode } => match held(path) {
                None => {
                    at.insert(path.clone(), Some(old.clone()));
                    let (path, old) = (path.clone(), old.clone());
                    way.back.push(Back::Put { path, now: None, old, mode: *mode, in_place: false });
                }
                Some(now) if now == *old => {}
                Some(_) => drop(way.foreign.insert(path.clone())),
            },
            Step::Rename { from, to, old } => match (held(from), held(to)) {
                (None, Some(now)) if now == *old => {
                    at.insert(from.clone(), Some(now));
                    at.insert(to.clone(), None);
                    way.back.push(Back::Rename { from: to.clone(), to: from.clone(), old: old.clone() });
                }
                (Some(_), Some(now)) if now == *old => drop(way.foreign.insert(from.clone())),
                _ => drop(way.foreign.insert(to.clone())),
            },
            Step::Write { path, old, new, mode, in_place } => match held(path) {
                Some(now) if now == *old => {}
                Some(now) if now == *new || (number + 1 == done && torn(step, &now)) => {
                    at.insert(path.clone(), Some(old.clone()));
                    let (path, old) = (path.clone(), old.clone());
                    way.back.push(Back::Put { path, now: Some(now), old, mode: *mode, in_place: *in_place });
                }
                _ => drop(way.foreign.insert(path.clone())),
            },
            Step::Create { path, new } => match held(path) {
                None => {}
                Some(now) if now == *new => {
                    at.insert(path.clone(), None);
                    way.back.push(Back::Remove { path: path.clone(), new: now });
                }
                Some(_) => drop(way.foreign.insert(path.clone())),
            },
        }
    }
    way
}

/// Whether a file is one that the step, or taking it back, was overwriting.
fn torn(step: &Step, now: &[u8]) -> bool {
    matches!(step, Step::Write { old, new, in_place: true, .. }
        if half_written(now, old, new) || half_written(now, new, old))
}

/// How many of the steps were done: the number after which the most files hold what they would hold then. Of several
/// such numbers the last, so that nothing counts as never done that may have been done and changed since.
fn done(steps: &[Step], now: &Files) -> usize {
    let mut state = Files::new();
    for step in steps {
        let mut first = |path: &PathBuf, held: Option<&Vec<u8>>| {
            state.entry(path.clone()).or_insert_with(|| held.cloned());
        };
        match step {
            Step::Folder(_) | Step::Mode { .. } => {}
            Step::Delete { path, old, .. } | Step::Write { path, old, .. } => first(path, Some(old)),
            Step::Rename { from, to, old } => {
                first(from, Some(old));
                first(to, None);
            }
            Step::Create { path, .. } => first(path, None),
        }
    }
    let is = |state: &Files, path: &Path| now.get(path) == state.get(path);
    let mut right = state.keys().filter(|path| is(&state, path)).count();
    let (mut most, mut done) = (right, 0);
    for (number, step) in (1..).zip(steps) {
        right -= step.paths().into_iter().filter(|path| is(&state, path)).count();
        apply(&mut state, step);
        right += step.paths().into_iter().filter(|path| is(&state, path)).count();
        let half = match step {
            Step::Write { path, .. } => {
                !is(&state, path) && now.get(path).and_then(Option::as_ref).is_some_and(|now| torn(step, now))
            }
            _ => false,
        };
        if right + usize::from(half) >= most {
            (most, done) = (right + usize::from(half), number);
        }
    }
    done
}

fn apply(files: &mut Files, step: &Step) {
    match step {
        Step::Folder(_) | Step::Mode { .. } => {}
        Step::Delete { path, .. } => drop(files.insert(path.clone(), None)),
        Step::Rename { from, to, .. } => {
            let held = files.insert(from.clone(), None).flatten();
            files.insert(to.clone(), held);
        }
        Step::Write { path, new, .. } | Step::Create { path, new } => {
            files.insert(path.clone(), Some(new.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn path(name: &str) -> PathBuf {
        PathBuf::from("/w").join(name)
    }

    fn files(files: &[(&str, Option<&str>)]) -> Files {
        files.iter().map(|(name, text)| (path(name), text.map(|text| text.as_bytes().to_vec()))).collect()
    }

    fn undo(files: &mut Files, back: &Back) {
        match back {
            Back::Folder(_) | Back::Mode { .. } => {}
            Back::Put { path, now, old, .. } => {
                assert_eq!(files.get(path).cloned().flatten(), *now);
                files.insert(path.clone(), Some(old.clone()));
            }
            Back::Rename { from, to, old } => {
                assert_eq!(files.get(from).cloned().flatten().as_ref(), Some(old));
                assert_eq!(files.get(to).cloned().flatten(), None);
                files.insert(from.clone(), None);
                files.insert(to.clone(), Some(old.clone()));
            }
            Back::Remove { path, new } => {
                assert_eq!(files.get(path).cloned().flatten().as_ref(), Some(new));
                files.insert(path.clone(), None);
            }
        }
    }

    fn bytes(text: &str) -> Vec<u8> {
        text.as_bytes().to_vec()
    }

    /// Everything a set can do, names that change hands included: a is written, b is deleted, c takes b's name and is
    /// written, d is made under c's name, e and f change names by way of t, g is overwritten in place.
    fn set([edited, gone, moved, one, two, linked]: &[String; 6]) -> (Files, Vec<Step>) {
        let rename = |from: &str, to: &str, old: &str| Step::Rename { from: path(from), to: path(to), old: bytes(old) };
        let write = |name: &str, old: &str, new: &str, in_place| Step::Write {
            path: path(name),
            old: bytes(old),
            new: bytes(new),
            mode: 0o644,
            in_place,
        };
        let steps = vec![
            Step::Delete { path: path("b"), old: bytes(gone), mode: 0o600 },
            rename("c", "b", moved),
            rename("e", "t", one),
            rename("f", "e", two),
            rename("t", "f", one),
            write("a", edited, "new a", false),
            write("b", moved, "new c", false),
            write("g", linked, "new g", true),
            Step::Create { path: path("c"), new: bytes("new d") },
        ];
        let before: Files = [("a", edited), ("b", gone), ("c", moved), ("e", one), ("f", two), ("g", linked)]
            .into_iter()
            .map(|(name, text)| (path(name), Some(bytes(text))))
            .chain([(path("t"), None)])
            .collect();
        (before, steps)
    }

    proptest! {
        /// However far it came, also when contents are equal, and however far taking it back came at the first try.
        #[test]
        fn a_set_is_taken_back_from_anywhere(
            texts in prop::array::uniform6("[ab]{0,2}|new [acdg]|long old text"),
            done in 0usize..=9, again in 0usize..12, torn in prop::option::of(0usize..6),
        ) {
            let (before, steps) = set(&texts);
            let mut now = before.clone();
            steps[..done].iter().for_each(|step| apply(&mut now, step));
            if let (Some(torn), 7) = (torn, done) {
                let old = &bytes(&texts[5]);
                let new = &b"new g"[..torn.min(5)];
                let half = if torn % 2 == 0 { new.to_vec() } else { [new, old.get(new.len()..).unwrap_or_default()].concat() };
                now.insert(path("g"), Some(half));
            }
            let way = way_back(&steps, &now);
            prop_assert_eq!(&way.foreign, &BTreeSet::new());
            way.back.iter().take(again).for_each(|back| undo(&mut now, back));
            let way = way_back(&steps, &now);
            prop_assert_eq!(&way.foreign, &BTreeSet::new());
            way.back.iter().for_each(|back| undo(&mut now, back));
            prop_assert_eq!(now, before);
        }
    }

    #[test]
    fn modes_are_taken_back_first_and_only_of_files_that_were_there() {
        let steps = [
            Step::Rename { from: path("a"), to: path("b"), old: bytes("1") },
            Step::Create { path: path("c"), new: bytes("2") },
            Step::Mode { path: path("b"), executable: true, was: Some(0o640) },
            Step::Mode { path: path("c"), executable: true, was: None },
        ];
        let way = way_back(&steps, &files(&[("a", None), ("b", Some("1")), ("c", Some("2"))]));
        let expected = [
            Back::Mode { path: path("b"), now: 0o750, was: 0o640 },
            Back::Remove { path: path("c"), new: bytes("2") },
            Back::Rename { from: path("b"), to: path("a"), old: bytes("1") },
        ];
        assert_eq!((way.back, way.foreign), (expected.to_vec(), BTreeSet::new()));
        for (mode, yes, no) in
            [(0o644, 0o755, 0o644), (0o600, 0o700, 0o600), (0o444, 0o555, 0o444), (0o755, 0o755, 0o644)]
        {
            assert_eq!((runnable(mode, true), runnable(mode, false)), (yes, no), "{mode:o}");
        }
    }

    #[test]
    fn what_somebody_else_changed_is_left_alone() {
        let steps = [
            Step::Write { path: path("a"), old: bytes("1"), new: bytes("2"), mode: 0o644, in_place: false },
            Step::Delete { path: path("b"), old: bytes("1"), mode: 0o644 },
            Step::Create { path: path("c"), new: bytes("2") },
            Step::Rename { from: path("d"), to: path("e"), old: bytes("1") },
        ];
        let foreign = |now: &[(&str, Option<&str>)]| {
            let way = way_back(&steps, &files(now));
            let foreign: Vec<String> = way.foreign.iter().map(|path| path.display().to_string()).collect();
            (foreign, way.back.len())
        };
        let done = [("a", Some("2")), ("b", None), ("c", Some("2")), ("d", None), ("e", Some("1"))];
        assert_eq!(foreign(&done), (vec![], 4));
        let theirs = [("a", Some("x")), ("b", Some("x")), ("c", Some("x")), ("d", None), ("e", Some("x"))];
        assert_eq!(foreign(&theirs), (["/w/a", "/w/b", "/w/c", "/w/e"].map(str::to_owned).to_vec(), 0));
        let one = [("a", Some("x")), ("b", None), ("c", Some("2")), ("d", Some("1")), ("e", None)];
        assert_eq!(foreign(&one), (vec!["/w/a".to_owned()], 2));
        // What was not begun is nobody's business.
        let none = [("a", Some("2")), ("b", Some("1")), ("c", None), ("d", Some("x")), ("e", None)];
        assert_eq!(foreign(&none), (vec![], 1));
    }
}
