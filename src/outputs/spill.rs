//! Long outputs on the disk, through the disk port: where they are, how they get there whole, how they are opened again, and
//! when they go.
//!
//! Each process has a folder of its own, with a lock that ends with it: what a process that was killed left behind is known
//! by a lock that can be taken.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use tracing::{debug, warn};

use crate::ports::{Disk, DiskLock, FileKind, Ports, Random, ReadSeek};
use crate::text;

use super::Index;
use super::scan::{Scan, Sizes};
use super::spilled::{self, Spilled};
use super::store::{Found, Whole};

/// Outputs longer than this (bytes) are also written to the disk, where there is a place for them.
pub const SPILL_FROM: usize = 100 * 1024;

/// Files that are in no folder of a process and older than this are removed at the start.
const OLD: Duration = Duration::from_hours(7 * 24);

/// The permission bits of a file.
const MODE: u32 = 0o600;

/// How many hex digits of a session's hash name its files.
const SESSION_DIGITS: usize = 16;

/// The names of our folders: this, the process, and a number by chance, in hex digits.
const PREFIX: &str = "ropewalk-outputs-";

/// The lock in each of them.
const LOCK: &str = "lock";

/// So many names are tried for a folder.
const TRIES: usize = 8;

/// A folder for the long outputs of this process. It is made when there is one. It and its files are for nobody but the user
/// we run as.
#[derive(Clone)]
pub struct SpillPlace {
    shared: Arc<Shared>,
    most: u64,
}

struct Shared {
    disk: Arc<dyn Disk>,
    random: Arc<dyn Random>,
    parent: Parent,
    own: Mutex<Own>,
}

enum Parent {
    /// Ours alone.
    Ours(PathBuf),
    /// The system's, with things of others in it.
    Theirs(PathBuf),
}

enum Own {
    NotYet,
    There { folder: PathBuf, _lock: DiskLock },
    Closed,
}

impl SpillPlace {
    /// In the folder `outputs` of the directory for our state. Nothing is touched yet.
    pub fn in_state(ports: &Ports, state_dir: &Path) -> SpillPlace {
        SpillPlace::new(ports, Parent::Ours(state_dir.join("outputs")))
    }

    /// In a folder for what need not last. Nothing is touched yet.
    pub fn temporary(ports: &Ports, folder: &Path) -> SpillPlace {
        SpillPlace::new(ports, Parent::Theirs(folder.to_owned()))
    }

    fn new(ports: &Ports, parent: Parent) -> SpillPlace {
        let (disk, random) = (Arc::clone(&ports.disk), Arc::clone(&ports.random));
        SpillPlace { shared: Arc::new(Shared { disk, random, parent, own: Mutex::new(Own::NotYet) }), most: 0 }
    }

    /// The same place, where at most so many bytes of one output that comes bit by bit are kept.
    #[must_use]
    pub fn with_most(mut self, bytes: usize) -> SpillPlace {
        self.most = bytes as u64;
        self
    }

    pub(super) fn most(&self) -> u64 {
        self.most
    }

    fn parent(&self) -> &Path {
        let (Parent::Ours(folder) | Parent::Theirs(folder)) = &self.shared.parent;
        folder
    }

    fn own(&self) -> MutexGuard<'_, Own> {
        self.shared.own.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Our folder, which is there. Blocking.
    fn folder(&self) -> io::Result<PathBuf> {
        let disk = self.disk();
        let mut own = self.own();
        match &*own {
            Own::Closed => return Err(io::Error::other("this run is at its end")),
            // Somebody may have cleared the system's folder.
            Own::There { folder, .. } if disk.metadata(&folder.join(LOCK)).is_ok() => return Ok(folder.clone()),
            Own::There { .. } | Own::NotYet => {}
        }
        match &self.shared.parent {
            Parent::Ours(parent) => disk.create_private_dir(parent)?,
            Parent::Theirs(parent) => disk.create_dir_all(parent)?,
        }
        let parent = disk.canonicalize(self.parent())?;
        for _ in 0..TRIES {
            let folder = parent.join(format!("{PREFIX}{:08x}-{:016x}", std::process::id(), self.shared.random.next()));
            disk.create_private_dir(&folder)?;
            let path = folder.join(LOCK);
            // Somebody who looks for what was left may have come between.
            match disk.lock(&path) {
                Ok(Some(lock)) if disk.metadata(&path).is_ok() => {
                    *own = Own::There { folder: folder.clone(), _lock: lock };
                    return Ok(folder);
                }
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Err(io::Error::other("no folder could be made for long outputs"))
    }

    /// Removes what processes left that are gone, and what is old there. Blocking.
    pub fn sweep(&self, now: SystemTime) {
        let disk = self.disk();
        let Ok(parent) = disk.canonicalize(self.parent()) else { return };
        let entries = match disk.read_dir(&parent) {
            Ok(entries) => entries,
            Err(error) => {
                warn!(%error, folder = %parent.display(), "the folder of old outputs cannot be read");
                return;
            }
        };
        let own = match &*self.own() {
            Own::There { folder, .. } => Some(folder.clone()),
            Own::NotYet | Own::Closed => None,
        };
        for entry in entries {
            let path = parent.join(&entry.name);
            match entry.kind {
                FileKind::Directory if is_name(&entry.name) && own.as_ref() != Some(&path) => {
                    if disk.link_metadata(&path).is_ok_and(|found| found.owned)
                        && let Ok(Some(_lock)) = disk.lock(&path.join(LOCK))
                    {
                        warn!(folder = %path.display(), "removed the outputs of a process that is gone");
                        self.clear(&path);
                    }
                }
                FileKind::File if matches!(self.shared.parent, Parent::Ours(_)) => {
                    let age = disk.modified(&path).ok().and_then(|then| now.duration_since(then).ok());
                    if age.is_some_and(|age| age > OLD) {
                        self.remove(&[path]);
                    }
                }
                _ => {}
            }
        }
    }

    /// Removes all that is here; nothing is kept here any more. Blocking.
    pub fn close(&self) {
        // The lock is held until all is gone.
        if let Own::There { folder, .. } = std::mem::replace(&mut *self.own(), Own::Closed) {
            self.clear(&folder);
        }
    }

    /// Removes a folder of ours, the lock last.
    fn clear(&self, folder: &Path) {
        let entries = self.disk().read_dir(folder).unwrap_or_default();
        let files = entries.into_iter().filter(|entry| entry.kind == FileKind::File && entry.name != LOCK);
        self.remove(&files.map(|entry| folder.join(entry.file_name())).collect::<Vec<_>>());
        self.remove(&[folder.join(LOCK)]);
        if let Err(error) = self.disk().remove_dir(folder) {
            debug!(%error, folder = %folder.display(), "the folder of old outputs could not be removed");
        }
    }

    /// Writes an output as one step, and answers where, with its index; `None`, after a warning to the operator, when that
    /// fails. `wanted` is asked just before the file appears; if it says no, none does. Blocking.
    pub fn write(&self, session: &str, id: &str, text: &str, mut wanted: impl FnMut() -> bool) -> Option<Spilled> {
        let mut was_wanted = true;
        let mut still = || {
            was_wanted = wanted();
            was_wanted
        };
        let written = self.name(session, id).and_then(|path| {
            self.disk().replace(&path, text.as_bytes(), MODE, &mut still)?;
            Ok(path)
        });
        match written {
            Ok(path) => Some(Spilled::in_file(path, Index::of(text))),
            Err(_) if !was_wanted => None,
            Err(error) => {
                warn!(
                    %error, folder = %self.parent().display(), session, id, bytes = text.len(),
                    "an output could not be written to the disk; it is kept in memory only"
                );
                None
            }
        }
    }

    /// A name for an output that is written while it comes; its folder is there. Blocking.
    pub(super) fn growing(&self, session: &str) -> io::Result<PathBuf> {
        self.name(session, "g")
    }

    /// The disk it is on.
    pub(super) fn disk(&self) -> &Arc<dyn Disk> {
        &self.shared.disk
    }

    /// Removes files. Blocking.
    pub fn remove(&self, files: &[PathBuf]) {
        for file in files {
            if let Err(error) = self.disk().remove(file) {
                debug!(%error, file = %file.display(), "the file of an old output could not be removed");
            }
        }
    }

    /// A name that no other output of this process has, be it of the same id. Ids are ours and plain; the name of a session is
    /// anything, so that its hash stands for it.
    fn name(&self, session: &str, id: &str) -> io::Result<PathBuf> {
        static NUMBER: AtomicU64 = AtomicU64::new(1);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let session = text::hash(session);
        let id: String = id.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        Ok(self.folder()?.join(format!("{}-{id}-{number}.txt", &session[..SESSION_DIGITS])))
    }
}

/// Whether a folder has a name that only ours have.
fn is_name(name: &str) -> bool {
    let hex = |text: &str, length: usize| text.len() == length && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let parts = name.strip_prefix(PREFIX).and_then(|rest| rest.split_once('-'));
    parts.is_some_and(|(process, number)| hex(process, 8) && hex(number, 16))
}

/// The text of an output that was looked for, to be looked at.
pub struct Source {
    from: Box<dyn ReadSeek>,
    index: Arc<Index>,
}

impl Source {
    /// A text in memory.
    pub fn of(text: Arc<str>) -> Source {
        let index = Arc::new(Index::of(&text));
        Source { from: Box::new(spilled::shared(text)), index }
    }

    /// A text that is kept there. Blocking.
    pub(super) fn at(disk: &dyn Disk, spilled: &Spilled) -> io::Result<Source> {
        Ok(Source { from: Box::new(spilled.open(disk)?), index: Arc::clone(spilled.index()) })
    }

    /// How long it is (bytes).
    pub fn bytes(&self) -> u64 {
        self.index.bytes()
    }

    pub(super) fn scan<'a>(&'a mut self, sizes: Sizes, stop: &'a dyn Fn() -> bool) -> Scan<'a> {
        Scan::new(&mut *self.from, &self.index, sizes, stop)
    }
}

/// The text of an output, wherever it is; an error when a file of it is gone or shorter than what was written. Blocking.
pub fn open(disk: &dyn Disk, found: &Found) -> io::Result<Source> {
    match &found.whole {
        Whole::Memory(text) => Ok(Source::of(Arc::clone(text))),
        Whole::Disk(spilled) => Source::at(disk, spilled),
    }
}

#[cfg(test)]
impl SpillPlace {
    /// In `/state` of a disk in memory.
    pub(crate) fn in_memory(disk: &Arc<crate::ports::MemoryDisk>) -> SpillPlace {
        let (clock, random) = (Arc::new(crate::ports::SystemClock), Arc::new(crate::ports::SystemRandom::new()));
        SpillPlace::in_state(&Ports { disk: disk.clone(), clock, random }, Path::new("/state"))
    }

    /// The files of outputs there.
    pub(crate) fn files(disk: &crate::ports::MemoryDisk) -> Vec<PathBuf> {
        let list = |folder: &Path| -> Vec<PathBuf> {
            let entries = disk.read_dir(folder).unwrap_or_default();
            entries.into_iter().map(|entry| folder.join(entry.name)).collect()
        };
        let folders = list(Path::new("/state/outputs"));
        folders.iter().flat_map(|folder| list(folder)).filter(|path| !path.ends_with(LOCK)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outputs::{Ask, Mode, NewOutput, Store, look};
    use crate::ports::{MemoryDisk, Operation};

    fn place(disk: &Arc<MemoryDisk>) -> SpillPlace {
        SpillPlace::in_memory(disk)
    }

    fn put(place: &SpillPlace, session: &str, text: &str) -> Option<PathBuf> {
        place.write(session, "o1", text, || true).and_then(|spilled| spilled.files().pop())
    }

    #[test]
    fn a_file_is_private_and_whole() {
        let disk = Arc::new(MemoryDisk::new());
        let here = place(&disk);
        let path = put(&here, "a/b", "text").unwrap();
        assert_eq!(disk.bytes(&path).unwrap(), b"text");
        assert_eq!(disk.metadata(&path).unwrap().mode, 0o600);
        for folder in path.ancestors().skip(1).take(2) {
            assert_eq!(disk.metadata(folder).unwrap().mode, 0o700, "{}", folder.display());
        }
        // Neither another process, nor a session whose name looks like it, nor another output writes to the same file.
        let others = [put(&place(&disk), "a/b", "text"), put(&here, "a_b", "text"), put(&here, "a/b", "text")];
        assert!(others.iter().all(|other| other.as_ref().is_some_and(|other| *other != path)), "{others:?}");
        assert_eq!(others[2].as_deref().and_then(Path::parent), path.parent());
    }

    #[test]
    fn what_nobody_wants_any_more_is_not_written() {
        let disk = Arc::new(MemoryDisk::new());
        assert_eq!(place(&disk).write("s", "o1", "text", || false), None);
        assert_eq!(SpillPlace::files(&disk), Vec::<PathBuf>::new());
    }

    #[test]
    fn a_failure_promises_nothing() {
        let folder = Path::new("/state/outputs");
        for (operation, kind) in [
            (Operation::CreateDirAll, io::ErrorKind::PermissionDenied),
            (Operation::Canonicalize, io::ErrorKind::Other),
        ] {
            let disk = Arc::new(MemoryDisk::new());
            disk.fail(operation, folder, kind);
            assert_eq!(put(&place(&disk), "s", "text"), None, "{operation:?}");
        }
        // A link in the place of the folder is not followed to somebody else's.
        let disk = Arc::new(MemoryDisk::new().with_dir("/tmp/theirs").with_link(folder, "/tmp/theirs"));
        assert_eq!(put(&place(&disk), "s", "text"), None);
    }

    #[test]
    fn what_a_process_left_goes_at_the_next_start_and_what_others_have_stays() {
        let day = Duration::from_hours(24);
        let now = SystemTime::UNIX_EPOCH + 100 * day;
        let disk = Arc::new(MemoryDisk::new());
        place(&disk).sweep(now);
        let (killed, alive, ours) = (place(&disk), place(&disk), place(&disk));
        put(&killed, "s", "left").unwrap();
        let grown = killed.growing("s").unwrap();
        disk.create_growing(&grown).unwrap();
        let kept = [put(&alive, "s", "kept").unwrap(), put(&ours, "s", "own").unwrap()];
        let folder = Path::new("/state/outputs");
        for (name, age) in [("a-o1-1.txt", 8), ("b-o2-2.txt", 6)] {
            disk.put(folder.join(name), "x");
            disk.touch(folder.join(name), now - age * day);
        }
        disk.put(folder.join("other/lock"), "");
        // The lock ends with the process.
        drop(killed);
        ours.sweep(now);
        let mut left = SpillPlace::files(&disk);
        left.retain(|path| !path.starts_with("other"));
        left.sort();
        let mut expected = kept.to_vec();
        expected.sort();
        assert_eq!(left, expected);
        assert!(disk.bytes(folder.join("b-o2-2.txt")).is_some() && disk.bytes(folder.join("a-o1-1.txt")).is_none());
        assert_eq!(disk.read_dir(folder).unwrap().len(), 4, "the empty folder is gone as well");
    }

    #[test]
    fn in_the_folder_of_the_system_nothing_of_others_is_touched() {
        let disk = Arc::new(MemoryDisk::new().with_dir("/tmp").with_file("/tmp/theirs", "x"));
        let mode = || disk.metadata(Path::new("/tmp")).unwrap().mode;
        let before = mode();
        disk.touch("/tmp/theirs", SystemTime::UNIX_EPOCH);
        let ports = Ports {
            disk: disk.clone(),
            clock: Arc::new(crate::ports::SystemClock),
            random: Arc::new(crate::ports::Seeded::new(1)),
        };
        let here = SpillPlace::temporary(&ports, Path::new("/tmp"));
        here.sweep(SystemTime::now());
        let path = put(&here, "s", "text").unwrap();
        assert!(path.starts_with("/tmp/"));
        assert_eq!(disk.metadata(path.parent().unwrap()).unwrap().mode, 0o700);
        assert_ne!(before, 0o700);
        assert_eq!(mode(), before);
        here.close();
        let names: Vec<String> =
            disk.read_dir(Path::new("/tmp")).unwrap().into_iter().map(|entry| entry.name).collect();
        assert_eq!(names, ["theirs"]);
        assert_eq!(put(&here, "s", "too late"), None);
    }

    #[test]
    fn a_folder_that_somebody_cleared_is_made_again() {
        let disk = Arc::new(MemoryDisk::new());
        let here = place(&disk);
        let first = put(&here, "s", "text").unwrap();
        let folder = first.parent().unwrap();
        disk.take_away(folder.join(LOCK));
        disk.take_away(&first);
        disk.remove_dir(folder).unwrap();
        assert_eq!(disk.bytes(put(&here, "s", "again").unwrap()).unwrap(), b"again");
    }

    #[test]
    fn only_our_folders_have_our_names() {
        for (name, ours) in [
            ("ropewalk-outputs-0000002a-0123456789abcdef", true),
            ("ropewalk-outputs-0000002a-0123456789abcde", false),
            ("ropewalk-outputs-2a-0123456789abcdef", false),
            ("ropewalk-outputs-0000002a-0123456789abcdef.d", false),
            ("ropewalk-outputs-", false),
            ("outputs", false),
        ] {
            assert_eq!(is_name(name), ours, "{name}");
        }
    }

    #[test]
    fn a_text_comes_back_as_it_was_or_not_at_all() {
        let disk = Arc::new(MemoryDisk::new());
        let text = "é".repeat(SPILL_FROM);
        let mut store = Store::default();
        let new = NewOutput {
            id: "o1".into(),
            call_id: "c1".into(),
            tool: "read".into(),
            text: Arc::from(text.as_str()),
            external: None,
            kind: None,
        };
        let put = store.put(new.clone(), 10, true).write.unwrap();
        let here = place(&disk);
        let spilled = here.write("s", "o1", &text, || store.wants(put)).unwrap();
        let path = spilled.files().pop().unwrap();
        store.written(put, Some(spilled), 1 << 20);
        store.put(NewOutput { id: "o2".into(), text: Arc::from("short"), ..new }, 10, true);
        let found = store.find("o1").unwrap();
        let ask = Ask { mode: Mode::Window, offset: 1, column: 1, limit: 1, pattern: None, context: 0 };
        let whole = |stop: bool| look(&mut open(&*disk, &found)?, &ask, 1 << 20, &|| stop).map(|looked| looked.text);
        assert_eq!(whole(false).unwrap(), text);
        assert_eq!(whole(true).unwrap_err().to_string(), "it was cancelled");
        disk.put(&path, vec![0xff; text.len()]);
        assert_eq!(whole(false).unwrap_err().kind(), io::ErrorKind::InvalidData);
        disk.put(&path, "shorter");
        assert_eq!(whole(false).unwrap_err().kind(), io::ErrorKind::InvalidData);
        disk.take_away(&path);
        assert_eq!(whole(false).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
