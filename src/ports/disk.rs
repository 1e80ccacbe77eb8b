//! Files as a port. Blocking: callers on the runtime wrap a call in `spawn_blocking`.

use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// What a path names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link (only from [`Disk::link_metadata`] and [`Disk::read_dir`]).
    Link,
    /// A socket, a pipe, a device.
    Other,
}

/// What is known of a path without reading it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metadata {
    /// What it is.
    pub kind: FileKind,
    /// Length in bytes.
    pub len: u64,
    /// Permission bits (`0o7777`).
    pub mode: u32,
    /// Number of names (hard links) of the file.
    pub links: u64,
    /// Whether the file belongs to the user we run as.
    pub owned: bool,
}

/// One name in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirEntry {
    /// The last component.
    pub name: String,
    /// What it is, links not followed.
    pub kind: FileKind,
}

/// Reads and writes files.
pub trait Disk: Send + Sync + 'static {
    /// The whole content.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;
    /// What the path names, links followed.
    fn metadata(&self, path: &Path) -> io::Result<Metadata>;
    /// What the path names, the last link not followed.
    fn link_metadata(&self, path: &Path) -> io::Result<Metadata>;
    /// The path with every link resolved; it must exist.
    fn canonicalize(&self, path: &Path) -> io::Result<PathBuf>;
    /// The names in a directory, sorted.
    fn read_dir(&self, path: &Path) -> io::Result<Vec<DirEntry>>;
    /// Makes a directory and its parents.
    fn create_dir_all(&self, path: &Path) -> io::Result<()>;
    /// Puts `bytes` in the place of the file as one step: a temporary file beside it, flushed to the disk, renamed over
    /// it, and the directory flushed. `mode` are the permission bits of the new file. `path` must not be a link.
    /// `still` is asked just before the rename; if it says no, nothing changes and the error kind is
    /// [`io::ErrorKind::Interrupted`].
    fn replace(&self, path: &Path, bytes: &[u8], mode: u32, still: &mut dyn FnMut() -> bool) -> io::Result<()>;
    /// Makes a new file with `bytes`; fails with [`io::ErrorKind::AlreadyExists`] when the name is taken.
    fn create(&self, path: &Path, bytes: &[u8]) -> io::Result<()>;
    /// Overwrites the content of an existing file, keeping its inode: owner, access lists and other names stay. Not
    /// atomic, so the caller has put a copy aside.
    fn overwrite(&self, path: &Path, bytes: &[u8]) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;
}

/// The real disk.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemDisk;

fn metadata_of(metadata: &std::fs::Metadata) -> Metadata {
    let kind = match metadata.file_type() {
        kind if kind.is_file() => FileKind::File,
        kind if kind.is_dir() => FileKind::Directory,
        kind if kind.is_symlink() => FileKind::Link,
        _ => FileKind::Other,
    };
    Metadata {
        kind,
        len: metadata.len(),
        mode: metadata.mode() & 0o7777,
        links: metadata.nlink(),
        owned: metadata.uid() == rustix::process::geteuid().as_raw(),
    }
}

fn parent(path: &Path) -> io::Result<&Path> {
    path.parent().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the path has no parent directory"))
}

/// Flushes a directory, so that a new or renamed name in it survives a power cut.
fn sync_dir(path: &Path) -> io::Result<()> {
    std::fs::File::open(path)?.sync_all()
}

#[expect(clippy::disallowed_methods, reason = "this is the port that the ban points to")]
impl Disk for SystemDisk {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        std::fs::read(path)
    }

    fn metadata(&self, path: &Path) -> io::Result<Metadata> {
        std::fs::metadata(path).map(|found| metadata_of(&found))
    }

    fn link_metadata(&self, path: &Path) -> io::Result<Metadata> {
        std::fs::symlink_metadata(path).map(|found| metadata_of(&found))
    }

    fn canonicalize(&self, path: &Path) -> io::Result<PathBuf> {
        std::fs::canonicalize(path)
    }

    fn read_dir(&self, path: &Path) -> io::Result<Vec<DirEntry>> {
        let mut entries = Vec::new();
        for entry in std::fs::read_dir(path)? {
            let entry = entry?;
            let kind = match entry.file_type()? {
                kind if kind.is_file() => FileKind::File,
                kind if kind.is_dir() => FileKind::Directory,
                kind if kind.is_symlink() => FileKind::Link,
                _ => FileKind::Other,
            };
            entries.push(DirEntry { name: entry.file_name().to_string_lossy().into_owned(), kind });
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        std::fs::create_dir_all(path)
    }

    fn replace(&self, path: &Path, bytes: &[u8], mode: u32, still: &mut dyn FnMut() -> bool) -> io::Result<()> {
        let folder = parent(path)?;
        let mut file = tempfile::Builder::new().prefix(".ropewalk-").tempfile_in(folder)?;
        file.write_all(bytes)?;
        file.as_file().set_permissions(std::fs::Permissions::from_mode(mode))?;
        file.as_file().sync_all()?;
        if !still() {
            return Err(io::Error::new(io::ErrorKind::Interrupted, "the file changed while it was being written"));
        }
        file.persist(path).map_err(|failed| failed.error)?;
        sync_dir(folder)
    }

    fn create(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let folder = parent(path)?;
        // The mode that an ordinary creation gives: what the umask leaves of 0666.
        let mode = std::fs::Permissions::from_mode(0o666);
        let mut file = tempfile::Builder::new().prefix(".ropewalk-").permissions(mode).tempfile_in(folder)?;
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        file.persist_noclobber(path).map_err(|failed| failed.error)?;
        sync_dir(folder)
    }

    fn overwrite(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut file = std::fs::OpenOptions::new()
            .write(true)
            .truncate(true)
            .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed())
            .open(path)?;
        file.write_all(bytes)?;
        file.sync_all()
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_file(path)
    }
}
