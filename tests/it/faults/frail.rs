//! A disk in memory at which one operation fails, whichever it is, or all of them wait.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use ropewalk::ports::{DirEntry, Disk, DiskLock, MemoryDisk, Metadata};

/// The disk; clones share it.
#[derive(Clone)]
pub struct Frail(Arc<Inner>);

struct Inner {
    disk: Arc<MemoryDisk>,
    state: Mutex<State>,
    opened: Condvar,
}

#[derive(Default)]
struct State {
    /// Which operation from now on fails (0-based), and with which error of the system.
    fault: Option<(usize, i32)>,
    done: usize,
    /// The one that failed.
    struck: Option<String>,
    /// Operations wait.
    shut: bool,
    waiting: usize,
}

/// The half of what is written to a file piece by piece that may fail.
struct Growing {
    frail: Frail,
    path: PathBuf,
    inner: Box<dyn io::Write + Send>,
}

impl Frail {
    /// Over this disk; nothing fails yet.
    pub fn over(disk: Arc<MemoryDisk>) -> Frail {
        Frail(Arc::new(Inner { disk, state: Mutex::default(), opened: Condvar::new() }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The operation with this number (0-based) fails, counted from now on.
    pub fn fail_at(&self, number: usize, error: i32) {
        let mut state = self.state();
        (state.fault, state.done, state.struck) = (Some((number, error)), 0, None);
    }

    /// Nothing fails any more; which one has failed, if any.
    pub fn mend(&self) -> Option<String> {
        let mut state = self.state();
        state.fault = None;
        state.struck.take()
    }

    /// From now on every operation waits until [`Frail::open_gate`].
    pub fn shut_gate(&self) {
        self.state().shut = true;
    }

    /// Everything goes on.
    pub fn open_gate(&self) {
        self.state().shut = false;
        self.0.opened.notify_all();
    }

    /// How many operations wait.
    pub fn waiting(&self) -> usize {
        self.state().waiting
    }

    /// An operation begins: it waits, and may fail.
    fn pass(&self, what: &str, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.waiting += 1;
        while state.shut {
            state = self.0.opened.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.waiting -= 1;
        let number = state.done;
        state.done += 1;
        match state.fault {
            Some((at, error)) if at == number => {
                state.struck = Some(format!("{what} {}", path.display()));
                Err(io::Error::from_raw_os_error(error))
            }
            _ => Ok(()),
        }
    }
}

impl Disk for Frail {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.pass("read", path)?;
        self.0.disk.read(path)
    }
    fn modified(&self, path: &Path) -> io::Result<SystemTime> {
        self.pass("modified", path)?;
        self.0.disk.modified(path)
    }
    fn metadata(&self, path: &Path) -> io::Result<Metadata> {
        self.pass("metadata", path)?;
        self.0.disk.metadata(path)
    }
    fn link_metadata(&self, path: &Path) -> io::Result<Metadata> {
        self.pass("link_metadata", path)?;
        self.0.disk.link_metadata(path)
    }
    fn canonicalize(&self, path: &Path) -> io::Result<PathBuf> {
        self.pass("canonicalize", path)?;
        self.0.disk.canonicalize(path)
    }
    fn read_link(&self, path: &Path) -> io::Result<PathBuf> {
        self.pass("read_link", path)?;
        self.0.disk.read_link(path)
    }
    fn read_dir(&self, path: &Path) -> io::Result<Vec<DirEntry>> {
        self.pass("read_dir", path)?;
        self.0.disk.read_dir(path)
    }
    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        self.pass("create_dir_all", path)?;
        self.0.disk.create_dir_all(path)
    }
    fn create_private_dir(&self, path: &Path) -> io::Result<()> {
        self.pass("create_private_dir", path)?;
        self.0.disk.create_private_dir(path)
    }
    fn replace(&self, path: &Path, bytes: &[u8], mode: u32, still: &mut dyn FnMut() -> bool) -> io::Result<()> {
        self.pass("replace", path)?;
        self.0.disk.replace(path, bytes, mode, still)
    }
    fn create(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.pass("create", path)?;
        self.0.disk.create(path, bytes)
    }
    fn create_growing(&self, path: &Path) -> io::Result<Box<dyn io::Write + Send>> {
        self.pass("create_growing", path)?;
        let inner = self.0.disk.create_growing(path)?;
        Ok(Box::new(Growing { frail: self.clone(), path: path.to_owned(), inner }))
    }
    fn overwrite(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        if let Err(error) = self.pass("overwrite", path) {
            // The beginning of the new bytes over the old ones, as a disk that gets full leaves it.
            let mut half = self.0.disk.bytes(path).unwrap_or_default();
            let written = bytes.len() / 2;
            half.resize(half.len().max(written), 0);
            half[..written].copy_from_slice(&bytes[..written]);
            self.0.disk.put(path, half);
            return Err(error);
        }
        self.0.disk.overwrite(path, bytes)
    }
    fn set_mode(&self, path: &Path, mode: u32) -> io::Result<()> {
        self.pass("set_mode", path)?;
        self.0.disk.set_mode(path, mode)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        self.pass("remove", path)?;
        self.0.disk.remove(path)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.pass("rename", from)?;
        self.0.disk.rename(from, to)
    }
    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.pass("remove_dir", path)?;
        self.0.disk.remove_dir(path)
    }
    fn lock(&self, path: &Path) -> io::Result<Option<DiskLock>> {
        self.pass("lock", path)?;
        self.0.disk.lock(path)
    }
}

impl io::Write for Growing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.frail.pass("write", &self.path)?;
        self.inner.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
