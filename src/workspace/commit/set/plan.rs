//! Works out what changes that are made together would do, in memory: which texts become which, and in which steps that
//! comes about on the disk. Reads, and changes nothing.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};

use crate::ports::Disk;
use crate::text::{LineBreaks, Text};
use crate::workspace::commit::shape::{self, Shaped};
use crate::workspace::commit::{Desk, Fate, FileChange, closed, git_mode, words};
use crate::workspace::documents::Snapshot;
use crate::workspace::paths::{Key, Target};
use crate::workspace::view::same_on_disk;
use crate::workspace::{Refusal, RefusalKind};

use super::steps::{Step, runnable};

/// What a set would do.
pub(super) struct Plan {
    /// Its changes, in their order.
    pub(super) items: Vec<Item>,
    /// What is done on the disk, in order.
    pub(super) steps: Vec<Step>,
    /// The files that are moved or deleted though the editor has them open, with the text they have there.
    pub(super) open: BTreeMap<PathBuf, Text>,
}

/// One change of a set.
pub(super) struct Item {
    pub(super) change: FileChange,
    /// The text before; absent for a file that is made.
    pub(super) before: Option<Text>,
    pub(super) shaped: Shaped,
    /// The document, where the editor makes the change.
    pub(super) document: Option<Snapshot>,
    /// The editor has the file open that is moved or deleted.
    pub(super) left_open: bool,
    /// Whether the file could be run before, and can be afterwards, where that changes or goes with it.
    pub(super) executable: Option<(bool, bool)>,
    /// Remarks on what is done beside the text.
    pub(super) notes: Vec<String>,
}

/// The steps of each kind, which are put into an order at the end.
#[derive(Default)]
struct Parts {
    deletes: Vec<Step>,
    moves: Vec<(PathBuf, PathBuf, Vec<u8>)>,
    writes: Vec<Step>,
    creates: Vec<(PathBuf, Vec<u8>)>,
    modes: Vec<Step>,
}

/// Computes a composed set; an error names the change (0-based) that cannot be made. Blocking.
pub(super) fn plan(desk: &Desk, changes: Vec<FileChange>) -> Result<Plan, (usize, Refusal)> {
    let leaves = |change: &FileChange| match (&change.fate, &change.target.key) {
        (Fate::Stays, _) | (_, Key::Unnamed(_)) => None,
        (_, Key::File(path)) => Some(path.clone()),
    };
    let mut planner = Planner {
        desk,
        breaks: desk.documents.counting().breaks,
        emptied: changes.iter().filter_map(leaves).collect(),
        gone: HashSet::new(),
        items: Vec::with_capacity(changes.len()),
        parts: Parts::default(),
        open: BTreeMap::new(),
    };
    for (at, change) in changes.into_iter().enumerate() {
        planner.add(change).map_err(|refusal| (at, refusal))?;
    }
    let Planner { items, parts, open, .. } = planner;
    Ok(Plan { items, steps: parts.ordered(desk), open })
}

/// A set that is being worked out.
struct Planner<'a> {
    desk: &'a Desk,
    breaks: LineBreaks,
    /// The names that some change gives up.
    emptied: HashSet<PathBuf>,
    /// Those that one of `items` does.
    gone: HashSet<Key>,
    items: Vec<Item>,
    parts: Parts,
    open: BTreeMap<PathBuf, Text>,
}

impl Planner<'_> {
    fn add(&mut self, change: FileChange) -> Result<(), Refusal> {
        let Planner { desk, breaks, emptied, gone, items, parts, open } = self;
        let (disk, breaks) = (&*desk.ports.disk, *breaks);
        let document = desk.documents.get(&change.target.key);
        let shown = &change.target.shown;
        if let (Fate::Stays, Some(document), false) = (&change.fate, &document, gone.contains(&change.target.key)) {
            let shaped = shape::shape(&document.text, &*change.rewrite)?;
            let (before, document) = (Some(document.text.clone()), Some(document.clone()));
            let mut notes = Vec::new();
            let executable = match (change.rewrite.executable(), &change.target.key) {
                (None, _) => None,
                (Some(executable), key) => {
                    let found =
                        if let Key::File(path) = key { disk.link_metadata(path).ok().zip(Some(path)) } else { None };
                    if found.is_none() {
                        let mode = git_mode(executable);
                        notes.push(format!("The mode {mode} was not set: the document is not on the disk yet"));
                    }
                    found.and_then(|(found, path)| moded(parts, path, Some(found.mode), Some(executable)))
                }
            };
            items.push(Item { change, before, shaped, document, left_open: false, executable, notes });
            return Ok(());
        }
        let path = closed::path_of(&change)?;
        if let Some(document) = &document {
            if change.fate == Fate::Stays || !same_on_disk(disk, &path, &document.text) {
                return Err(unsaved(shown, &change.fate));
            }
            open.insert(path.clone(), document.text.clone());
        }
        let runs = change.rewrite.executable();
        let (before, shaped, executable) = match &change.fate {
            Fate::Stays if gone.contains(&change.target.key) => {
                (None, made(parts, &change, &path, breaks)?, moded(parts, &path, None, runs))
            }
            Fate::Stays => match closed::find(disk, &path, shown, breaks)? {
                None => (None, made(parts, &change, &path, breaks)?, moded(parts, &path, None, runs)),
                Some(found) => {
                    let shaped = shape::shape(&found.text, &*change.rewrite)?;
                    written(parts, &found, shown, &path, &shaped)?;
                    let executable = moded(parts, &path, Some(found.metadata.mode), runs);
                    (Some(found.text), shaped, executable)
                }
            },
            Fate::Deleted => {
                let found = there(disk, &path, shown, breaks)?;
                let shaped = shape::shape(&found.text, &*change.rewrite)?;
                if !shaped.after.to_string().trim_start_matches(crate::text::BOM).is_empty() {
                    let words =
                        format!("{shown} is to be deleted, and the change leaves text in it. Nothing was changed.");
                    return Err(Refusal::new(RefusalKind::Failed, words));
                }
                parts.deletes.push(Step::Delete { path: path.clone(), old: found.bytes, mode: found.metadata.mode });
                (Some(found.text), shaped, (found.metadata.mode & 0o111 != 0).then_some((true, false)))
            }
            Fate::Moved { to } => {
                let found = there(disk, &path, shown, breaks)?;
                let shaped = shape::shape(&found.text, &*change.rewrite)?;
                let new = destination(desk, shown, to, emptied)?;
                written(parts, &found, shown, &new, &shaped)?;
                let executable = moded(parts, &new, Some(found.metadata.mode), runs);
                parts.moves.push((path.clone(), new, found.bytes));
                (Some(found.text), shaped, executable)
            }
        };
        if change.fate != Fate::Stays {
            gone.insert(change.target.key.clone());
        }
        let left_open = document.is_some();
        items.push(Item { change, before, shaped, document: None, left_open, executable, notes: Vec::new() });
        Ok(())
    }
}

fn unsaved(shown: &str, fate: &Fate) -> Refusal {
    let doing = match fate {
        Fate::Stays => "made anew",
        Fate::Deleted => "deleted",
        Fate::Moved { .. } => "moved",
    };
    Refusal::new(
        RefusalKind::Conflict,
        format!(
            "{shown} is open in the editor with changes that are not saved, so it cannot be {doing}: they would be lost. \
             Nothing was changed. Ask the user to save the document or to discard its changes."
        ),
    )
}

fn there(disk: &dyn Disk, path: &Path, shown: &str, breaks: LineBreaks) -> Result<closed::Found, Refusal> {
    closed::find(disk, path, shown, breaks)?.ok_or_else(|| {
        Refusal::new(RefusalKind::NotFound, format!("There is no file {shown} on the disk. Nothing was changed."))
    })
}

/// Where a file is moved to: a name that is free, or will be by then.
fn destination(desk: &Desk, shown: &str, to: &Target, emptied: &HashSet<PathBuf>) -> Result<PathBuf, Refusal> {
    let Key::File(path) = &to.key else {
        let words = format!("{shown} cannot be moved to {}, which is no place on the disk.", to.shown);
        return Err(Refusal::new(RefusalKind::InvalidArguments, words));
    };
    let taken = |what: &str| {
        let words = format!(
            "{shown} cannot be moved to {}: {what}. Nothing was changed. Choose another name, or move or delete that one \
             first.",
            to.shown
        );
        Err(Refusal::new(RefusalKind::Conflict, words))
    };
    if desk.documents.get(&to.key).is_some() {
        return taken("a document of that name is open in the editor");
    }
    match desk.ports.disk.link_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(path.clone()),
        Err(error) => Err(words::system(&to.shown, "looked at", &error)),
        Ok(_) if emptied.contains(path) => Ok(path.clone()),
        Ok(_) => taken("there is something of that name already"),
    }
}

fn made(parts: &mut Parts, change: &FileChange, path: &Path, breaks: LineBreaks) -> Result<Shaped, Refusal> {
    let shaped = shape::shape_new(&*change.rewrite, breaks)?;
    parts.creates.push((path.to_owned(), shaped.after.to_string().into_bytes()));
    Ok(shaped)
}

/// A file that is at `path` by then gets its new content, if that is another one.
fn written(parts: &mut Parts, found: &closed::Found, shown: &str, path: &Path, shaped: &Shaped) -> Result<(), Refusal> {
    if shaped.rewritten.splices.is_empty() {
        return Ok(());
    }
    if found.metadata.mode & 0o222 == 0 {
        return Err(closed::read_only(shown));
    }
    parts.writes.push(Step::Write {
        path: path.to_owned(),
        old: found.bytes.clone(),
        new: closed::encoded(shown, &shaped.after, found.codec)?,
        mode: found.metadata.mode,
        in_place: found.metadata.links > 1 || !found.metadata.owned,
    });
    Ok(())
}

/// A file that is at `path` by then, and had the permission bits `was` if it is there now, is to be one that can be
/// run, or none; whether it could be before and can be then, where that is another thing.
fn moded(parts: &mut Parts, path: &Path, was: Option<u32>, executable: Option<bool>) -> Option<(bool, bool)> {
    let executable = executable?;
    match was {
        Some(mode) if runnable(mode, executable) == mode => return None,
        None if !executable => return None,
        _ => {}
    }
    parts.modes.push(Step::Mode { path: path.to_owned(), executable, was });
    Some((was.is_some_and(|mode| mode & 0o111 != 0), executable))
}

impl Parts {
    /// Names are emptied before they are taken; what is deleted for its own sake goes last, when all else is done.
    fn ordered(self, desk: &Desk) -> Vec<Step> {
        let Parts { deletes, moves, writes, creates, modes } = self;
        let (mut steps, mut folders) = (Vec::new(), BTreeSet::new());
        let homes = moves.iter().map(|(_, to, _)| to).chain(creates.iter().map(|(path, _)| path));
        let homes: BTreeSet<&Path> = homes.filter_map(|path| path.parent()).collect();
        for home in homes {
            // What is above a folder that was looked at was looked at with it.
            let unknown = home.ancestors().take_while(|folder| !folders.contains(*folder));
            let missing = unknown.take_while(|folder| {
                desk.ports.disk.metadata(folder).is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
            });
            let missing: Vec<PathBuf> = missing.map(Path::to_owned).collect();
            folders.extend(missing);
        }
        steps.extend(folders.into_iter().map(Step::Folder));
        let taken: HashSet<PathBuf> = moves.iter().map(|(_, to, _)| to.clone()).collect();
        let (first, last): (Vec<Step>, Vec<Step>) =
            deletes.into_iter().partition(|step| step.paths().into_iter().any(|path| taken.contains(path)));
        steps.extend(first);
        let aside = |from: &Path| from.with_file_name(format!(".ropewalk-{:016x}", desk.ports.random.next()));
        steps.extend(renames(moves, aside));
        steps.extend(writes);
        steps.extend(creates.into_iter().map(|(path, new)| Step::Create { path, new }));
        steps.extend(modes);
        steps.extend(last);
        steps
    }
}

/// Moves (from, to, content) in an order in which every name is free when it is taken: of those that may go the first each
/// time. Where names go round in a ring, one of the files steps aside first, to where `aside` says.
fn renames(moves: Vec<(PathBuf, PathBuf, Vec<u8>)>, aside: impl Fn(&Path) -> PathBuf) -> Vec<Step> {
    let froms: HashSet<PathBuf> = moves.iter().map(|(from, ..)| from.clone()).collect();
    let mut waiting: HashMap<PathBuf, Vec<usize>> = HashMap::new();
    let mut free = BTreeSet::new();
    for (at, (_, to, _)) in moves.iter().enumerate() {
        if froms.contains(to) {
            waiting.entry(to.clone()).or_default().push(at);
        } else {
            free.insert(at);
        }
    }
    let mut left: BTreeMap<usize, (PathBuf, PathBuf, Vec<u8>)> = moves.into_iter().enumerate().collect();
    let mut steps = Vec::with_capacity(left.len());
    loop {
        let given_up = if let Some((from, to, old)) = free.pop_first().and_then(|at| left.remove(&at)) {
            steps.push(Step::Rename { from: from.clone(), to, old });
            from
        } else if let Some(mut first) = left.first_entry() {
            let (from, _, old) = first.get_mut();
            let place = aside(from);
            steps.push(Step::Rename { from: from.clone(), to: place.clone(), old: old.clone() });
            std::mem::replace(from, place)
        } else {
            return steps;
        };
        free.extend(waiting.remove(&given_up).unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The same by looking at all of them each time.
    fn plainly(mut moves: Vec<(PathBuf, PathBuf, Vec<u8>)>, aside: impl Fn(&Path) -> PathBuf) -> Vec<Step> {
        let mut steps = Vec::new();
        while !moves.is_empty() {
            let free = moves.iter().position(|(_, to, _)| moves.iter().all(|(from, ..)| from != to));
            if let Some(at) = free {
                let (from, to, old) = moves.remove(at);
                steps.push(Step::Rename { from, to, old });
            } else {
                let (from, _, old) = &mut moves[0];
                let place = aside(from);
                steps.push(Step::Rename { from: from.clone(), to: place.clone(), old: old.clone() });
                *from = place;
            }
        }
        steps
    }

    proptest! {
        /// Chains, rings and free names in any order.
        #[test]
        fn names_are_free_when_they_are_taken(
            froms in Just((0..12).collect::<Vec<usize>>()).prop_shuffle(),
            tos in Just((0..16).collect::<Vec<usize>>()).prop_shuffle(),
            count in 0usize..12,
        ) {
            let path = |number: usize| PathBuf::from(format!("/w/{number}"));
            let moves: Vec<_> = froms.into_iter().zip(tos).take(count).filter(|(from, to)| from != to)
                .map(|(from, to)| (path(from), path(to), vec![u8::try_from(from).unwrap()])).collect();
            let aside = |from: &Path| from.with_extension("aside");
            let steps = renames(moves.clone(), aside);
            prop_assert_eq!(&steps, &plainly(moves.clone(), aside));
            let mut there: HashMap<PathBuf, Vec<u8>> =
                moves.iter().map(|(from, _, old)| (from.clone(), old.clone())).collect();
            for step in steps {
                let Step::Rename { from, to, old } = step else { panic!("another step") };
                prop_assert_eq!(there.remove(&from), Some(old.clone()));
                prop_assert_eq!(there.insert(to, old), None);
            }
            let wanted: HashMap<PathBuf, Vec<u8>> = moves.into_iter().map(|(_, to, old)| (to, old)).collect();
            prop_assert_eq!(there, wanted);
        }
    }
}
