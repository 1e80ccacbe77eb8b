//! The world behind traits: [`Disk`], [`Clock`], [`Random`]. Only this room, `process` and the store touch it.
//!
//! Each port has the real thing and a twin in memory whose failures a test can choose.

mod clock;
mod disk;
mod leftovers;
mod line_file;
mod memory_disk;
mod outside;
mod private;
mod random;
mod system_disk;
#[cfg(test)]
mod twins;
mod walk;

pub use clock::{Clock, SystemClock};
pub use disk::{DirEntry, Disk, DiskLock, FileKind, Metadata, ReadSeek};
pub use line_file::LineFile;
pub use memory_disk::{MemoryDisk, Operation};
pub use outside::{kept_inside, outside, stay_inside};
pub use private::{PrivateFolder, secret, user};
pub use random::{Random, Seeded, SystemRandom};
pub use system_disk::SystemDisk;
pub use walk::{Fault, MAX_THREADS, Met, Step, Visitor, Visitors, WalkOptions};

use std::path::PathBuf;
use std::sync::Arc;

/// The ports that most rooms need, as one value to hand around.
#[derive(Clone)]
pub struct Ports {
    /// Files.
    pub disk: Arc<dyn Disk>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub random: Arc<dyn Random>,
}

impl Ports {
    /// The real world.
    pub fn system() -> Ports {
        Ports { disk: Arc::new(SystemDisk), clock: Arc::new(SystemClock), random: Arc::new(SystemRandom::new()) }
    }
}

/// An environment variable of our own process, if it is set and UTF-8.
#[expect(clippy::disallowed_methods, reason = "the one place that reads the environment")]
pub fn env(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// A file of the operator's (a log), made if it is not there, to be written to at its end.
pub fn append_to(path: &std::path::Path) -> std::io::Result<std::fs::File> {
    std::fs::OpenOptions::new().create(true).append(true).open(path)
}

/// What the names of the temporary files of a process begin with, so that those of one that was killed can be told.
pub fn temporary_prefix(process: u32) -> String {
    format!(".ropewalk-{process:08x}-")
}

/// A new, empty folder for what need not last; it is removed with the value.
pub fn scratch_folder(prefix: &str) -> std::io::Result<tempfile::TempDir> {
    tempfile::Builder::new().prefix(prefix).tempdir()
}

/// The system's folder for what need not last, as the environment names it.
pub fn temporary_folder() -> PathBuf {
    std::env::temp_dir()
}

/// The directory we were started in.
#[expect(clippy::disallowed_methods, reason = "the one place that reads the working directory")]
pub fn current_dir() -> std::io::Result<PathBuf> {
    std::env::current_dir()
}
