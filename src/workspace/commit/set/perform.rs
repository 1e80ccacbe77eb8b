//! Does the steps of a set on the disk, each only if the file is still what it was, and takes them back. Blocking.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use crate::ports::{Disk, FileKind};
use crate::text::Text;
use crate::workspace::commit::{Desk, closed, words};
use crate::workspace::paths::Key;
use crate::workspace::{Refusal, RefusalKind, codec};

use super::plan::Plan;
use super::steps::{Back, Step, runnable, way_back};

/// Why a step was not done.
pub(super) enum Failed {
    /// The editor opened or changed the document meanwhile: the set has to be computed anew.
    Opened,
    /// Something else.
    Because(Refusal),
}

/// What became of taking steps back.
#[derive(Debug, Default)]
pub(in crate::workspace::commit) struct TakenBack {
    /// How many files were changed for it.
    pub(in crate::workspace::commit) changed: usize,
    /// Files that somebody else was at, and that were left alone.
    pub(in crate::workspace::commit) foreign: BTreeSet<PathBuf>,
    /// Files that could not be read or written, and why.
    pub(in crate::workspace::commit) failed: BTreeMap<PathBuf, String>,
}

/// Does all steps, or stops: how many were begun by then, and why.
pub(super) fn perform(desk: &Desk, plan: &Plan, journalled: bool) -> Result<(), (usize, Failed)> {
    for (at, step) in plan.steps.iter().enumerate() {
        one(desk, plan, step, journalled).map_err(|failed| (at + 1, failed))?;
    }
    Ok(())
}

fn one(desk: &Desk, plan: &Plan, step: &Step, journalled: bool) -> Result<(), Failed> {
    let disk = &*desk.ports.disk;
    let mut opened = false;
    let mut at_rest = |path: &Path| {
        let document = desk.documents.get(&Key::File(path.to_owned()));
        let known = document.is_none_or(|document| plan.open.get(path) == Some(&document.text));
        opened |= !known;
        known
    };
    let interrupted = || io::Error::from(io::ErrorKind::Interrupted);
    let sound = |path: &Path| path.parent().is_some_and(|folder| closed::canonical(disk, folder));
    let done = match step {
        Step::Folder(path) => disk.create_dir_all(path),
        Step::Delete { path, old, .. } => {
            if at_rest(path) && sound(path) && closed::holds(disk, path, old) {
                disk.remove(path)
            } else {
                Err(interrupted())
            }
        }
        Step::Rename { from, to, old } => {
            if at_rest(from) && at_rest(to) && sound(from) && sound(to) && closed::holds(disk, from, old) {
                disk.rename(from, to)
            } else {
                Err(interrupted())
            }
        }
        Step::Write { path, old, new, mode, in_place } => {
            let mut still = || at_rest(path) && closed::canonical(disk, path) && closed::holds(disk, path, old);
            match (in_place, journalled) {
                (false, _) => disk.replace(path, new, *mode, &mut still),
                (true, false) => closed::overwrite(desk, path, old, new, &mut still),
                // The journal has the copy.
                (true, true) if still() => disk.overwrite(path, new),
                (true, true) => Err(interrupted()),
            }
        }
        Step::Mode { path, executable, .. } => {
            let mode = disk.link_metadata(path).map(|found| runnable(found.mode, *executable));
            if sound(path) { mode.and_then(|mode| disk.set_mode(path, mode)) } else { Err(interrupted()) }
        }
        Step::Create { path, new } => {
            if at_rest(path) && sound(path) {
                disk.create(path, new)
            } else {
                Err(interrupted())
            }
        }
    };
    match done {
        Ok(()) => Ok(()),
        Err(_) if opened => Err(Failed::Opened),
        Err(error) => Err(Failed::Because(refusal(desk, plan, step, &error))),
    }
}

fn refusal(desk: &Desk, plan: &Plan, step: &Step, error: &io::Error) -> Refusal {
    let (path, old, doing) = match step {
        Step::Delete { path, old, .. } => (path, Some(old), "deleted"),
        Step::Rename { from, old, .. } => (from, Some(old), "moved"),
        Step::Write { path, old, .. } => (path, Some(old), "written"),
        Step::Folder(path) | Step::Create { path, .. } => (path, None, "made"),
        Step::Mode { path, .. } => (path, None, "given another mode"),
    };
    let shown = shown(plan, path);
    match (error.kind(), old) {
        (io::ErrorKind::Interrupted, Some(old)) => {
            let breaks = desk.documents.counting().breaks;
            let was = codec::decode(old).map(|decoded| decoded.text).unwrap_or_default();
            closed::changed(&*desk.ports.disk, path, &shown, &Text::new(&was, breaks))
        }
        (io::ErrorKind::Interrupted | io::ErrorKind::AlreadyExists, _) => closed::conflict(format!(
            "The place of {shown} was changed on the disk by somebody else while the change was computed. Nothing was \
             changed; look at it again."
        )),
        (io::ErrorKind::CrossesDevices, _) => Refusal::new(
            RefusalKind::Failed,
            format!(
                "{shown} cannot be moved to another file system in one step. Nothing was changed; make the new file and \
                 delete the old one instead."
            ),
        ),
        _ => words::system(&shown, doing, error),
    }
}

/// The name of a path in messages.
pub(super) fn shown(plan: &Plan, path: &Path) -> String {
    let own = plan.items.iter().find_map(|item| {
        let to = match &item.change.fate {
            super::super::Fate::Moved { to } => Some(to),
            _ => None,
        };
        [Some(&item.change.target), to].into_iter().flatten().find(|target| target.key == Key::File(path.to_owned()))
    });
    own.map_or_else(|| path.display().to_string(), |target| target.shown.clone())
}

/// Takes steps back, of which any number, from the first on, may have been done.
pub(in crate::workspace::commit) fn take_back(disk: &dyn Disk, steps: &[Step]) -> TakenBack {
    let mut taken = TakenBack::default();
    let mut now = BTreeMap::new();
    for path in steps.iter().flat_map(Step::paths) {
        match content(disk, path) {
            Ok(content) => drop(now.insert(path.to_owned(), content)),
            Err(error) => drop(taken.failed.insert(path.to_owned(), error.to_string())),
        }
    }
    if !taken.failed.is_empty() {
        return taken;
    }
    let way = way_back(steps, &now);
    taken.foreign = way.foreign;
    for back in &way.back {
        match step_back(disk, back) {
            Ok(()) => taken.changed += usize::from(!matches!(back, Back::Folder(_))),
            Err(error) => {
                let (Back::Folder(path)
                | Back::Put { path, .. }
                | Back::Rename { from: path, .. }
                | Back::Mode { path, .. }
                | Back::Remove { path, .. }) = back;
                taken.failed.insert(path.clone(), error.to_string());
            }
        }
    }
    taken
}

/// What stands for the content of what is no regular file: no file of ours holds it.
const NO_FILE: &[u8] = b"\0not a regular file\0\xff";

fn content(disk: &dyn Disk, path: &Path) -> io::Result<Option<Vec<u8>>> {
    match disk.link_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
        Ok(found) if found.kind != FileKind::File => Ok(Some(NO_FILE.to_vec())),
        Ok(_) => disk.read(path).map(Some),
    }
}

fn step_back(disk: &dyn Disk, back: &Back) -> io::Result<()> {
    let changed = || Err(io::Error::other("it was changed in this moment"));
    let absent = |path: &Path| disk.link_metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
    match back {
        Back::Folder(path) => {
            // Somebody may have put something into it, which is theirs.
            if let Err(error) = disk.remove_dir(path) {
                tracing::debug!(%error, path = %path.display(), "a folder that was made stays");
            }
            Ok(())
        }
        Back::Put { path, now: None, old, mode, .. } => disk.replace(path, old, *mode, &mut || absent(path)),
        Back::Put { path, now: Some(now), old, mode, in_place } => {
            if !in_place {
                return disk.replace(path, old, *mode, &mut || closed::holds(disk, path, now));
            }
            if closed::holds(disk, path, now) { disk.overwrite(path, old) } else { changed() }
        }
        Back::Rename { from, to, old } => {
            if closed::holds(disk, from, old) {
                disk.rename(from, to)
            } else {
                changed()
            }
        }
        Back::Mode { path, now, was } => match disk.link_metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
            Ok(found) if found.mode == *now => disk.set_mode(path, *was),
            // Somebody else has set it since.
            Ok(_) => Ok(()),
        },
        Back::Remove { path, new } => {
            if closed::holds(disk, path, new) {
                disk.remove(path)
            } else {
                changed()
            }
        }
    }
}
