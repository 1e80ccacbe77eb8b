//! Files as a port. Blocking: callers on the runtime wrap a call in `spawn_blocking`.
//!
//! Reading follows links, as everybody does. Changing does not: a path to change must be canonical, and a link anywhere
//! in it is refused with [`io::ErrorKind::InvalidInput`]. So what was looked at and approved is what is changed, even
//! when somebody swaps a folder for a link in between.

use std::any::Any;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::walk::{self, Visitors, WalkOptions};

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
    /// Whether a new file put in its place differs in nothing but its content: it belongs to the user we run as and a
    /// group of that user, and carries no access lists or extended attributes.
    pub owned: bool,
}

/// One name in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirEntry {
    /// The last component. Bytes that are not UTF-8 show as U+FFFD.
    pub name: String,
    /// The last component as it is, where it is not UTF-8.
    pub exact: Option<OsString>,
    /// What it is, links not followed.
    pub kind: FileKind,
}

impl DirEntry {
    /// An entry by its last component.
    pub fn new(name: &OsStr, kind: FileKind) -> DirEntry {
        let exact = name.to_str().is_none().then(|| name.to_owned());
        DirEntry { name: name.to_string_lossy().into_owned(), exact, kind }
    }

    /// The last component as it is.
    pub fn file_name(&self) -> &OsStr {
        self.exact.as_deref().unwrap_or(OsStr::new(&self.name))
    }
}

/// What can be read from any place on.
pub trait ReadSeek: io::Read + io::Seek + Send {}

impl<T: io::Read + io::Seek + Send> ReadSeek for T {}

/// Reads and writes files.
pub trait Disk: Send + Sync + 'static {
    /// The whole content of a regular file; anything else is an error at once, never a wait for a pipe's other end.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;
    /// A regular file to be read piece by piece; anything else is an error at once, as in [`Disk::read`].
    fn open(&self, path: &Path) -> io::Result<Box<dyn io::Read + Send>> {
        Ok(Box::new(io::Cursor::new(self.read(path)?)))
    }
    /// The same, to be read from any place on.
    fn open_seekable(&self, path: &Path) -> io::Result<Box<dyn ReadSeek>> {
        Ok(Box::new(io::Cursor::new(self.read(path)?)))
    }
    /// The content of a regular file of at most so many bytes (a longer one is [`io::ErrorKind::FileTooLarge`]) that nobody
    /// but the user we run as and the system's own can have written: it belongs to one of these, nobody else may write to it
    /// or put another file in its place, and it is no link. Else the error is of the kind
    /// [`io::ErrorKind::PermissionDenied`], and says what to do about it.
    fn read_own(&self, path: &Path, most: u64) -> io::Result<Vec<u8>> {
        let found = self.link_metadata(path)?;
        let folder = self.metadata(path.parent().unwrap_or(path))?;
        let seen = |of: &Metadata| Owned { kind: of.kind, ours: of.owned, mode: of.mode };
        own(path, &seen(&found), &seen(&folder))?;
        if found.len > most {
            return Err(too_long(found.len, most));
        }
        self.read(path)
    }
    /// When the content of what the path names last changed, links followed.
    fn modified(&self, path: &Path) -> io::Result<SystemTime>;
    /// Shows visitors all that is below a folder, the folder itself aside, in no order. Returns when all visitors are
    /// dropped. What cannot be looked at is shown as a fault, and the rest is met all the same.
    fn walk(&self, folder: &Path, options: &WalkOptions, visitors: Visitors<'_, '_>) {
        walk::plainly(self, folder, options, visitors);
    }
    /// What the path names, links followed.
    fn metadata(&self, path: &Path) -> io::Result<Metadata>;
    /// What the path names, the last link not followed.
    fn link_metadata(&self, path: &Path) -> io::Result<Metadata>;
    /// The path with every link resolved; it must exist.
    fn canonicalize(&self, path: &Path) -> io::Result<PathBuf>;
    /// What a symbolic link says, as it stands there; an error for anything else.
    fn read_link(&self, path: &Path) -> io::Result<PathBuf>;
    /// The names in a directory, sorted.
    fn read_dir(&self, path: &Path) -> io::Result<Vec<DirEntry>>;
    /// Makes a directory and its parents; content with one that is there.
    fn create_dir_all(&self, path: &Path) -> io::Result<()>;
    /// Makes a directory for nobody but the user we run as (mode 0700), and its parents as usual. Content with one that
    /// is there and belongs to that user, whose mode is then made so; anything else there (a link, too) is an error of the
    /// kind [`io::ErrorKind::PermissionDenied`] or [`io::ErrorKind::NotADirectory`].
    fn create_private_dir(&self, path: &Path) -> io::Result<()>;
    /// Puts `bytes` in the place of the file as one step: a temporary file beside it, flushed to the disk, renamed over
    /// it, and the directory flushed. `mode` are the permission bits of the new file; its group is the old file's.
    /// `still` is asked just before the rename; if it says no, nothing changes and the error kind is
    /// [`io::ErrorKind::Interrupted`]. After any error the old file is there, whole, and no temporary file is left.
    fn replace(&self, path: &Path, bytes: &[u8], mode: u32, still: &mut dyn FnMut() -> bool) -> io::Result<()>;
    /// Makes a new file with `bytes`, whole from its first moment, in a directory that exists; fails with
    /// [`io::ErrorKind::AlreadyExists`] when the name is taken, be it by a dangling link.
    fn create(&self, path: &Path, bytes: &[u8]) -> io::Result<()>;
    /// Makes a new, empty file for nobody but the user we run as (mode 0600), in a directory that exists, to be written to
    /// piece by piece; what was written may be read at any time. Nothing is flushed to the disk: after a power cut it may
    /// be short. Fails with [`io::ErrorKind::AlreadyExists`] when the name is taken, be it by a dangling link, and with
    /// [`io::ErrorKind::Unsupported`] where there is no such way.
    fn create_growing(&self, path: &Path) -> io::Result<Box<dyn io::Write + Send>> {
        let _ = path;
        Err(io::ErrorKind::Unsupported.into())
    }
    /// Overwrites the content of an existing file, keeping its inode: owner, access lists and other names stay. Not
    /// atomic, so the caller has put a copy aside.
    fn overwrite(&self, path: &Path, bytes: &[u8]) -> io::Result<()>;
    /// Gives a regular file other permission bits (`0o7777`), and changes nothing else of it.
    fn set_mode(&self, path: &Path, mode: u32) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Gives a regular file another name, in one step, and flushes both folders; the folder of `to` exists. Fails with
    /// [`io::ErrorKind::AlreadyExists`] when that name is taken, be it by a dangling link, and with
    /// [`io::ErrorKind::CrossesDevices`] when it is on another file system. After any error nothing has changed.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a folder that is empty.
    fn remove_dir(&self, path: &Path) -> io::Result<()>;
    /// Takes a lock on a file, which is made if it is not there; `None` when somebody else has it. It ends with the value,
    /// and with the process, however that ends.
    fn lock(&self, path: &Path) -> io::Result<Option<DiskLock>>;
}

/// A lock on a file, held until this is dropped.
pub struct DiskLock {
    _held: Box<dyn Any + Send + Sync>,
}

impl DiskLock {
    /// A lock that ends when `held` is dropped.
    pub fn new(held: impl Any + Send + Sync) -> DiskLock {
        DiskLock { _held: Box::new(held) }
    }
}

/// Whose a file or folder is.
pub(super) struct Owned {
    pub kind: FileKind,
    /// It belongs to the user we run as, or to the system.
    pub ours: bool,
    /// Permission bits (`0o7777`).
    pub mode: u32,
}

/// Whether nobody else can have written a file, nor put another in its place; see [`Disk::read_own`].
pub(super) fn own(path: &Path, file: &Owned, folder: &Owned) -> io::Result<()> {
    let why = match file.kind {
        FileKind::Link => "is a link; put the file itself in its place".to_owned(),
        FileKind::Directory | FileKind::Other => "is no regular file".to_owned(),
        FileKind::File if !file.ours => "belongs to another user".to_owned(),
        FileKind::File if file.mode & 0o022 != 0 => {
            format!("may be written by others (mode {:o}); run `chmod go-w` on it", file.mode)
        }
        FileKind::File if !folder.ours => "is in a folder of another user".to_owned(),
        // In a sticky folder nobody takes away what is another's.
        FileKind::File if folder.mode & 0o022 != 0 && folder.mode & 0o1000 == 0 => {
            format!("is in a folder that may be written by others (mode {:o}); run `chmod go-w` on it", folder.mode)
        }
        FileKind::File => return Ok(()),
    };
    Err(io::Error::new(io::ErrorKind::PermissionDenied, format!("{} {why}", path.display())))
}

/// The error for a file that is too long to be read.
pub(super) fn too_long(bytes: u64, most: u64) -> io::Error {
    io::Error::new(io::ErrorKind::FileTooLarge, format!("it has {bytes} bytes; at most {most} are read"))
}
