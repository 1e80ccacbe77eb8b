//! What is held of files in memory: locks, and files that grow.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use super::{Inner, Locks, Operation};

/// A lock of the twin's.
pub(super) struct Held {
    pub locks: Locks,
    pub path: PathBuf,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.locks.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.path);
    }
}

/// A file that is written to piece by piece. Where its name is gone, what is written goes nowhere.
pub(super) struct Growing {
    pub inner: Arc<Mutex<Inner>>,
    pub path: PathBuf,
}

impl io::Write for Growing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.allowed(Operation::Grow, &self.path)?;
        if let Some(file) = inner.file_mut(&self.path) {
            file.bytes.extend_from_slice(bytes);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
