//! Long outputs on the disk, through the disk port: where they are, how they get there whole, and when they go.

use std::io;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use tracing::{debug, warn};

use crate::ports::{Disk, FileKind};
use crate::text;

use super::store::{Found, Whole};

/// Outputs longer than this (bytes) are also written to the disk, where there is a place for them.
pub const SPILL_FROM: usize = 100 * 1024;

/// Files older than this are removed at the start.
const OLD: Duration = Duration::from_hours(7 * 24);

/// The permission bits of a file.
const MODE: u32 = 0o600;

/// How many hex digits of a session's hash name its files.
const SESSION_DIGITS: usize = 16;

/// The folder for long outputs. It and its files are for nobody but the user we run as.
#[derive(Clone)]
pub struct SpillPlace {
    disk: Arc<dyn Disk>,
    folder: PathBuf,
    process: u32,
}

impl SpillPlace {
    /// The folder `outputs` in the directory for our state. Nothing is touched yet. `process`: our own process id,
    /// which keeps the files of two processes apart.
    pub fn new(disk: Arc<dyn Disk>, state_dir: &Path, process: u32) -> SpillPlace {
        SpillPlace { disk, folder: state_dir.join("outputs"), process }
    }

    /// Removes what is old: files of ours, and what is left of files that were not finished. Blocking.
    pub fn prune(&self, now: SystemTime) {
        let Ok(folder) = self.disk.canonicalize(&self.folder) else { return };
        let entries = match self.disk.read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) => {
                warn!(%error, folder = %folder.display(), "the folder of old outputs cannot be read");
                return;
            }
        };
        for entry in entries.into_iter().filter(|entry| entry.kind == FileKind::File) {
            let path = folder.join(&entry.name);
            let old = self.disk.modified(&path).is_ok_and(|then| now.duration_since(then).is_ok_and(|age| age > OLD));
            if old {
                self.remove(&[path]);
            }
        }
    }

    /// Writes an output as one step, and answers where; `None`, after a warning to the operator, when that fails.
    /// `wanted` is asked just before the file appears; if it says no, none does. Blocking.
    pub fn write(&self, session: &str, id: &str, text: &str, mut wanted: impl FnMut() -> bool) -> Option<PathBuf> {
        let mut was_wanted = true;
        let mut still = || {
            was_wanted = wanted();
            was_wanted
        };
        let written = self.disk.create_private_dir(&self.folder).and_then(|()| {
            let path = self.disk.canonicalize(&self.folder)?.join(self.name(session, id));
            self.disk.replace(&path, text.as_bytes(), MODE, &mut still)?;
            Ok(path)
        });
        match written {
            Ok(path) => Some(path),
            Err(_) if !was_wanted => None,
            Err(error) => {
                warn!(
                    %error, folder = %self.folder.display(), session, id, bytes = text.len(),
                    "an output could not be written to the disk; it is kept in memory only"
                );
                None
            }
        }
    }

    /// A name for an output that is written while it comes; its folder is there. Blocking.
    pub(super) fn growing(&self, session: &str) -> io::Result<PathBuf> {
        static NUMBER: AtomicU64 = AtomicU64::new(1);
        self.disk.create_private_dir(&self.folder)?;
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        Ok(self.disk.canonicalize(&self.folder)?.join(self.name(session, &format!("g{number}"))))
    }

    /// The disk it is on.
    pub(super) fn disk(&self) -> &Arc<dyn Disk> {
        &self.disk
    }

    /// Removes files. Blocking.
    pub fn remove(&self, files: &[PathBuf]) {
        for file in files {
            if let Err(error) = self.disk.remove(file) {
                debug!(%error, file = %file.display(), "the file of an old output could not be removed");
            }
        }
    }

    /// Ids are ours and plain; the name of a session is anything, so that its hash stands for it.
    fn name(&self, session: &str, id: &str) -> String {
        let session = text::hash(session);
        let id: String = id.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        format!("{}-{id}-{}.txt", &session[..SESSION_DIGITS], self.process)
    }
}

/// The text of an output that was looked for.
#[derive(Debug)]
pub enum Loaded {
    /// It was in memory.
    Shared(Arc<str>),
    /// It was read for this.
    Read(String),
}

impl Deref for Loaded {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Loaded::Shared(text) => text,
            Loaded::Read(text) => text,
        }
    }
}

/// The text of an output, from wherever it is; an error when its file is gone or not what was written. Blocking.
pub fn load(disk: &dyn Disk, found: &Found) -> io::Result<Loaded> {
    match &found.whole {
        Whole::Memory(text) => Ok(Loaded::Shared(Arc::clone(text))),
        Whole::Disk(path) => {
            let text = String::from_utf8(disk.read(path)?)
                .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "its file was changed"))?;
            if text.len() != found.kept.bytes {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "its file was changed"));
            }
            Ok(Loaded::Read(text))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outputs::{NewOutput, Store};
    use crate::ports::{MemoryDisk, Operation};

    const STATE: &str = "/home/me/state";

    fn place(disk: &Arc<MemoryDisk>, process: u32) -> SpillPlace {
        SpillPlace::new(disk.clone(), Path::new(STATE), process)
    }

    #[test]
    fn a_file_is_private_and_whole() {
        let disk = Arc::new(MemoryDisk::new());
        let path = place(&disk, 42).write("a/b", "o1", "text", || true).unwrap();
        assert_eq!(disk.bytes(&path).unwrap(), b"text");
        assert_eq!(disk.metadata(&path).unwrap().mode, 0o600);
        assert_eq!(disk.metadata(path.parent().unwrap()).unwrap().mode, 0o700);
        assert!(path.to_string_lossy().ends_with("-o1-42.txt"), "{}", path.display());
        // Neither another process nor a session whose name looks like it writes to the same file.
        let other = place(&disk, 43).write("a/b", "o1", "text", || true).unwrap();
        let alike = place(&disk, 42).write("a_b", "o1", "text", || true).unwrap();
        assert!(other != path && alike != path);
    }

    #[test]
    fn what_nobody_wants_any_more_is_not_written() {
        let disk = Arc::new(MemoryDisk::new());
        assert_eq!(place(&disk, 42).write("s", "o1", "text", || false), None);
        assert!(disk.changes().iter().all(|(operation, _)| *operation == Operation::CreateDirAll));
    }

    #[test]
    fn a_failure_promises_nothing() {
        let folder = Path::new(STATE).join("outputs");
        for (operation, kind) in [
            (Operation::CreateDirAll, io::ErrorKind::PermissionDenied),
            (Operation::Canonicalize, io::ErrorKind::Other),
        ] {
            let disk = Arc::new(MemoryDisk::new());
            disk.fail(operation, &folder, kind);
            assert_eq!(place(&disk, 42).write("s", "o1", "text", || true), None, "{operation:?}");
        }
        let disk = Arc::new(MemoryDisk::new());
        let path = place(&disk, 42).write("s", "o1", "text", || true).unwrap();
        disk.fail(Operation::Replace, &path, io::ErrorKind::StorageFull);
        assert_eq!(place(&disk, 42).write("s", "o1", "newer", || true), None);
        assert_eq!(disk.bytes(&path).unwrap(), b"text");
        // A link in the place of the folder is not followed to somebody else's.
        let disk = Arc::new(MemoryDisk::new().with_dir("/tmp/theirs").with_link(&folder, "/tmp/theirs"));
        assert_eq!(place(&disk, 42).write("s", "o1", "text", || true), None);
    }

    #[test]
    fn what_is_old_goes_at_the_start() {
        let day = Duration::from_hours(24);
        let now = SystemTime::UNIX_EPOCH + 100 * day;
        let disk = Arc::new(MemoryDisk::new());
        place(&disk, 1).prune(now);
        let folder = Path::new(STATE).join("outputs");
        for (name, age) in [("a-o1-1.txt", 8), ("b-o2-2.txt", 6), (".ropewalk-left", 9), ("c-o3-3.txt", 0)] {
            disk.put(folder.join(name), "x");
            disk.touch(folder.join(name), now - age * day);
        }
        // From a clock that was ahead.
        disk.put(folder.join("d-o4-4.txt"), "x");
        disk.touch(folder.join("d-o4-4.txt"), now + day);
        place(&disk, 1).prune(now);
        let left: Vec<String> = disk.read_dir(&folder).unwrap().into_iter().map(|entry| entry.name).collect();
        assert_eq!(left, ["b-o2-2.txt", "c-o3-3.txt", "d-o4-4.txt"]);
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
        let path = place(&disk, 1).write("s", "o1", &text, || store.wants(put)).unwrap();
        store.written(put, Some(path.clone()));
        store.put(NewOutput { id: "o2".into(), text: Arc::from("short"), ..new }, 10, true);
        let found = store.find("o1").unwrap();
        assert_eq!(&*load(&*disk, &found).unwrap(), text);
        disk.put(&path, "shorter");
        assert_eq!(load(&*disk, &found).unwrap_err().kind(), io::ErrorKind::InvalidData);
        disk.take_away(&path);
        assert_eq!(load(&*disk, &found).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
