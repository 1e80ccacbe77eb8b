//! A disk in memory, for tests: files, hard and symbolic links, failures to order, and hooks between two steps.

mod handles;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use rustix::io::Errno;

use super::disk::{DirEntry, Disk, DiskLock, FileKind, Metadata};
use handles::{Growing, Held};

/// How many links a path may lead through, as on Linux.
const MAX_LINKS: usize = 40;

/// The operations of a [`Disk`], to choose failures and hooks by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// [`Disk::read`]
    Read,
    /// [`Disk::metadata`], [`Disk::link_metadata`] and [`Disk::modified`]
    Metadata,
    /// [`Disk::canonicalize`] and [`Disk::read_link`]
    Canonicalize,
    /// [`Disk::read_dir`]
    ReadDir,
    /// [`Disk::create_dir_all`] and [`Disk::create_private_dir`]
    CreateDirAll,
    /// [`Disk::replace`]
    Replace,
    /// [`Disk::create`] and [`Disk::create_growing`]
    Create,
    /// Writing to what [`Disk::create_growing`] made
    Grow,
    /// [`Disk::overwrite`]; when ordered to fail it leaves half of the new bytes, as a full disk does.
    Overwrite,
    /// [`Disk::set_mode`]
    SetMode,
    /// [`Disk::remove`] and [`Disk::remove_dir`]
    Remove,
    /// [`Disk::rename`], by the old name
    Rename,
    /// [`Disk::lock`]
    Lock,
}

impl Operation {
    fn changes(self) -> bool {
        use Operation::{Create, CreateDirAll, Overwrite, Remove, Rename, Replace, SetMode};
        matches!(self, CreateDirAll | Replace | Create | Overwrite | SetMode | Remove | Rename)
    }
}

type Hook = Box<dyn FnMut(&MemoryDisk, &Path) + Send>;

/// Files in memory. Paths are absolute; folders appear with the files in them.
pub struct MemoryDisk {
    inner: Arc<Mutex<Inner>>,
    hooks: Mutex<BTreeMap<Operation, Hook>>,
}

struct Inner {
    nodes: BTreeMap<PathBuf, Node>,
    files: BTreeMap<usize, File>,
    /// Directories of mode 0700.
    private: BTreeSet<PathBuf>,
    next: usize,
    failures: BTreeMap<(Operation, PathBuf), io::ErrorKind>,
    changes: Vec<(Operation, PathBuf)>,
    locks: Locks,
}

/// The files that somebody has a lock on.
type Locks = Arc<Mutex<BTreeSet<PathBuf>>>;

#[derive(Debug, Clone, PartialEq, Eq)]
enum Node {
    Directory,
    Link(PathBuf),
    /// The number of a file; several names may have the same.
    File(usize),
}

#[derive(Debug)]
struct File {
    bytes: Vec<u8>,
    mode: u32,
    owned: bool,
    modified: SystemTime,
}

impl Default for MemoryDisk {
    fn default() -> MemoryDisk {
        let inner = Inner {
            nodes: BTreeMap::from([(PathBuf::from("/"), Node::Directory)]),
            files: BTreeMap::new(),
            private: BTreeSet::new(),
            next: 0,
            failures: BTreeMap::new(),
            changes: Vec::new(),
            locks: Locks::default(),
        };
        MemoryDisk { inner: Arc::new(Mutex::new(inner)), hooks: Mutex::default() }
    }
}

impl fmt::Debug for MemoryDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(&self.lock().nodes).finish()
    }
}

impl MemoryDisk {
    /// A disk with an empty `/`.
    pub fn new() -> MemoryDisk {
        MemoryDisk::default()
    }

    /// With a file of mode 0644 that is ours; its folders are made.
    #[must_use]
    pub fn with_file(self, path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> MemoryDisk {
        self.put(path, bytes);
        self
    }

    /// With a folder.
    #[must_use]
    pub fn with_dir(self, path: impl AsRef<Path>) -> MemoryDisk {
        self.lock().make_folders(path.as_ref());
        self
    }

    /// With a symbolic link at `path` that says `to`, which may be relative and need not exist.
    #[must_use]
    pub fn with_link(self, path: impl AsRef<Path>, to: impl AsRef<Path>) -> MemoryDisk {
        self.link(path, to);
        self
    }

    /// With a second name for an existing file.
    #[must_use]
    pub fn with_hard_link(self, path: impl AsRef<Path>, existing: impl AsRef<Path>) -> MemoryDisk {
        {
            let mut inner = self.lock();
            if let Some(node @ Node::File(_)) = inner.nodes.get(existing.as_ref()).cloned() {
                inner.make_folders(path.as_ref().parent().unwrap_or(Path::new("/")));
                inner.nodes.insert(path.as_ref().to_owned(), node);
            }
        }
        self
    }

    /// With other permission bits for an existing file.
    #[must_use]
    pub fn with_mode(self, path: impl AsRef<Path>, mode: u32) -> MemoryDisk {
        if let Some(file) = self.lock().file_mut(path.as_ref()) {
            file.mode = mode;
        }
        self
    }

    /// With an existing file made somebody else's, or one with access lists ([`Metadata::owned`] is false).
    #[must_use]
    pub fn with_foreign(self, path: impl AsRef<Path>) -> MemoryDisk {
        if let Some(file) = self.lock().file_mut(path.as_ref()) {
            file.owned = false;
        }
        self
    }

    /// Somebody else writes a file: its content if it exists (mode, owner and names stay), else a new file. Neither
    /// failures nor hooks apply, and [`MemoryDisk::changes`] does not list it.
    pub fn put(&self, path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) {
        let (path, bytes) = (path.as_ref(), bytes.as_ref().to_vec());
        let mut inner = self.lock();
        match inner.file_mut(path) {
            Some(file) => file.bytes = bytes,
            None => inner.insert(path, bytes, 0o644),
        }
    }

    /// Gives an existing file another time of its last change.
    pub fn touch(&self, path: impl AsRef<Path>, modified: SystemTime) {
        if let Some(file) = self.lock().file_mut(path.as_ref()) {
            file.modified = modified;
        }
    }

    /// Somebody else makes a symbolic link, in the place of whatever is there.
    pub fn link(&self, path: impl AsRef<Path>, to: impl AsRef<Path>) {
        let mut inner = self.lock();
        inner.make_folders(path.as_ref().parent().unwrap_or(Path::new("/")));
        inner.nodes.insert(path.as_ref().to_owned(), Node::Link(to.as_ref().to_owned()));
    }

    /// Somebody else removes a name and all below it.
    pub fn take_away(&self, path: impl AsRef<Path>) {
        self.lock().nodes.retain(|name, _| !name.starts_with(path.as_ref()));
    }

    /// The content under a name, links not followed; `None` when no file has it.
    pub fn bytes(&self, path: impl AsRef<Path>) -> Option<Vec<u8>> {
        self.lock().file_mut(path.as_ref()).map(|file| file.bytes.clone())
    }

    /// From now on an operation on exactly this path (as it is passed in) fails.
    pub fn fail(&self, operation: Operation, path: impl AsRef<Path>, kind: io::ErrorKind) {
        self.lock().failures.insert((operation, path.as_ref().to_owned()), kind);
    }

    /// Takes [`MemoryDisk::fail`] back.
    pub fn mend(&self, operation: Operation, path: impl AsRef<Path>) {
        self.lock().failures.remove(&(operation, path.as_ref().to_owned()));
    }

    /// Calls `hook` with the path at each such operation, just before it takes effect; in [`Disk::replace`] that is
    /// before `still` is asked, so that what a hook changes is what `still` can find. Operations of the hook itself
    /// call no hook of the same kind.
    pub fn before(&self, operation: Operation, hook: impl FnMut(&MemoryDisk, &Path) + Send + 'static) {
        self.hooks.lock().unwrap_or_else(PoisonError::into_inner).insert(operation, Box::new(hook));
    }

    /// The changes that succeeded through the [`Disk`] trait so far, in order.
    pub fn changes(&self) -> Vec<(Operation, PathBuf)> {
        self.lock().changes.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs the hook of an operation, if there is one, with no lock held.
    fn pause(&self, operation: Operation, path: &Path) {
        let hooks = || self.hooks.lock().unwrap_or_else(PoisonError::into_inner);
        let hook = hooks().remove(&operation);
        if let Some(mut hook) = hook {
            hook(self, path);
            hooks().entry(operation).or_insert(hook);
        }
    }

    /// Runs an operation: the hook, the ordered failure, the thing itself, the record.
    fn perform<T>(
        &self,
        operation: Operation,
        path: &Path,
        act: impl FnOnce(&mut Inner) -> io::Result<T>,
    ) -> io::Result<T> {
        if operation != Operation::Replace {
            self.pause(operation, path);
        }
        let mut inner = self.lock();
        inner.allowed(operation, path)?;
        let done = act(&mut inner)?;
        if operation.changes() {
            inner.changes.push((operation, path.to_owned()));
        }
        Ok(done)
    }
}

impl Inner {
    fn allowed(&self, operation: Operation, path: &Path) -> io::Result<()> {
        match self.failures.get(&(operation, path.to_owned())) {
            Some(&kind) => Err(io::Error::new(kind, format!("{operation:?} of {} fails as ordered", path.display()))),
            None => Ok(()),
        }
    }

    fn make_folders(&mut self, path: &Path) {
        for folder in path.ancestors() {
            self.nodes.entry(folder.to_owned()).or_insert(Node::Directory);
        }
    }

    fn insert(&mut self, path: &Path, bytes: Vec<u8>, mode: u32) {
        self.make_folders(path.parent().unwrap_or(Path::new("/")));
        self.files.insert(self.next, File { bytes, mode, owned: true, modified: SystemTime::now() });
        self.nodes.insert(path.to_owned(), Node::File(self.next));
        self.next += 1;
    }

    fn file_mut(&mut self, path: &Path) -> Option<&mut File> {
        match self.nodes.get(path)? {
            Node::File(number) => self.files.get_mut(number),
            _ => None,
        }
    }

    /// The path with its links resolved (the last one if `follow`); it must exist.
    fn find(&self, path: &Path, follow: bool) -> io::Result<(PathBuf, &Node)> {
        let mut rest: Vec<PathBuf> = parts(path)?;
        let mut at = PathBuf::from("/");
        let mut links = 0;
        while let Some(part) = rest.pop() {
            if self.nodes.get(&at) != Some(&Node::Directory) {
                return Err(Errno::NOTDIR.into());
            }
            if part == Path::new("..") {
                at.pop();
                continue;
            }
            let next = at.join(part);
            match self.nodes.get(&next) {
                None => return Err(io::ErrorKind::NotFound.into()),
                Some(Node::Link(to)) if follow || !rest.is_empty() => {
                    links += 1;
                    if links > MAX_LINKS {
                        return Err(Errno::LOOP.into());
                    }
                    rest.extend(parts(&at.join(to))?);
                    at = PathBuf::from("/");
                }
                Some(_) => at = next,
            }
        }
        let node = self.nodes.get(&at).ok_or(io::ErrorKind::NotFound)?;
        Ok((at, node))
    }

    /// Checks that the path is canonical down to its folder and that the name in it is not a link or a directory.
    /// Whether there is a file of that name.
    fn strict(&self, path: &Path) -> io::Result<bool> {
        let invalid = |what: &str| io::Error::new(io::ErrorKind::InvalidInput, format!("{} {what}", path.display()));
        let dots = path.components().any(|part| part == Component::ParentDir);
        let (Some(parent), Some(_), true, false) = (path.parent(), path.file_name(), path.is_absolute(), dots) else {
            return Err(invalid("is not a canonical path of a file"));
        };
        for folder in parent.ancestors() {
            match self.nodes.get(folder) {
                // Of a folder that is not there a parent may be the link.
                Some(Node::Directory) | None => {}
                Some(_) => return Err(invalid("leads through a link or no directory")),
            }
        }
        if !self.nodes.contains_key(parent) {
            return Err(io::ErrorKind::NotFound.into());
        }
        match self.nodes.get(path) {
            None => Ok(false),
            Some(Node::File(_)) => Ok(true),
            Some(Node::Link(_)) => Err(invalid("is a link")),
            Some(Node::Directory) => Err(Errno::ISDIR.into()),
        }
    }

    fn metadata(&self, path: &Path, follow: bool) -> io::Result<Metadata> {
        let (found, node) = self.find(path, follow)?;
        Ok(match node {
            Node::Directory => {
                let mode = if self.private.contains(&found) { 0o700 } else { 0o755 };
                Metadata { kind: FileKind::Directory, len: 0, mode, links: 1, owned: true }
            }
            Node::Link(_) => Metadata { kind: FileKind::Link, len: 0, mode: 0o777, links: 1, owned: true },
            Node::File(number) => {
                let file = self.files.get(number).ok_or(io::ErrorKind::NotFound)?;
                Metadata {
                    kind: FileKind::File,
                    len: file.bytes.len() as u64,
                    mode: file.mode,
                    links: self.nodes.values().filter(|other| *other == node).count() as u64,
                    owned: file.owned,
                }
            }
        })
    }
}

/// The components of an absolute path, last first.
fn parts(path: &Path) -> io::Result<Vec<PathBuf>> {
    if !path.is_absolute() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{} is not absolute", path.display())));
    }
    let parts = path.components().filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir));
    Ok(parts.map(|part| PathBuf::from(part.as_os_str())).rev().collect())
}

impl Disk for MemoryDisk {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.perform(Operation::Read, path, |inner| match inner.find(path, true)?.1 {
            Node::File(number) => Ok(inner.files.get(number).ok_or(io::ErrorKind::NotFound)?.bytes.clone()),
            _ => Err(Errno::ISDIR.into()),
        })
    }

    /// Files get older in the order of their making: the first is of the first second.
    fn metadata(&self, path: &Path) -> io::Result<Metadata> {
        self.perform(Operation::Metadata, path, |inner| inner.metadata(path, true))
    }

    fn link_metadata(&self, path: &Path) -> io::Result<Metadata> {
        self.perform(Operation::Metadata, path, |inner| inner.metadata(path, false))
    }

    fn canonicalize(&self, path: &Path) -> io::Result<PathBuf> {
        self.perform(Operation::Canonicalize, path, |inner| Ok(inner.find(path, true)?.0))
    }

    fn read_link(&self, path: &Path) -> io::Result<PathBuf> {
        self.perform(Operation::Canonicalize, path, |inner| match inner.find(path, false)?.1 {
            Node::Link(to) => Ok(to.clone()),
            _ => Err(io::ErrorKind::InvalidInput.into()),
        })
    }

    fn read_dir(&self, path: &Path) -> io::Result<Vec<DirEntry>> {
        self.perform(Operation::ReadDir, path, |inner| {
            let (folder, node) = inner.find(path, true)?;
            if *node != Node::Directory {
                return Err(Errno::NOTDIR.into());
            }
            let inside = inner.nodes.iter().filter(|(name, _)| name.parent() == Some(&folder));
            let mut entries: Vec<DirEntry> = inside
                .filter_map(|(name, node)| {
                    let kind = match node {
                        Node::Directory => FileKind::Directory,
                        Node::Link(_) => FileKind::Link,
                        Node::File(_) => FileKind::File,
                    };
                    Some(DirEntry::new(name.file_name()?, kind))
                })
                .collect();
            entries.sort_by(|a, b| a.file_name().cmp(b.file_name()));
            Ok(entries)
        })
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        self.perform(Operation::CreateDirAll, path, |inner| {
            for folder in path.ancestors() {
                match inner.find(folder, true) {
                    Ok((found, Node::Directory)) => {
                        let wanted = found.join(path.strip_prefix(folder).unwrap_or(Path::new("")));
                        // Below an existing folder and yet not found: only a dangling link is both.
                        let mut made = wanted.ancestors().take_while(|made| *made != found);
                        if made.any(|made| inner.nodes.contains_key(made)) {
                            return Err(io::ErrorKind::AlreadyExists.into());
                        }
                        inner.make_folders(&wanted);
                        return Ok(());
                    }
                    Ok(_) if folder == path => return Err(io::ErrorKind::AlreadyExists.into()),
                    Ok(_) => return Err(Errno::NOTDIR.into()),
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    Err(error) => return Err(error),
                }
            }
            Err(io::ErrorKind::NotFound.into())
        })
    }

    fn create_private_dir(&self, path: &Path) -> io::Result<()> {
        self.perform(Operation::CreateDirAll, path, |inner| {
            match inner.nodes.get(path) {
                None => inner.make_folders(path),
                Some(Node::Directory) => {}
                Some(_) => return Err(Errno::NOTDIR.into()),
            }
            inner.private.insert(path.to_owned());
            Ok(())
        })
    }

    fn modified(&self, path: &Path) -> io::Result<SystemTime> {
        self.perform(Operation::Metadata, path, |inner| match inner.find(path, true)?.1 {
            Node::File(number) => Ok(inner.files.get(number).ok_or(io::ErrorKind::NotFound)?.modified),
            _ => Ok(SystemTime::UNIX_EPOCH),
        })
    }

    fn replace(&self, path: &Path, bytes: &[u8], mode: u32, still: &mut dyn FnMut() -> bool) -> io::Result<()> {
        self.lock().strict(path)?;
        self.pause(Operation::Replace, path);
        if !still() {
            return Err(io::Error::new(io::ErrorKind::Interrupted, "the file changed while it was being written"));
        }
        self.perform(Operation::Replace, path, |inner| {
            inner.strict(path)?;
            inner.insert(path, bytes.to_vec(), mode);
            Ok(())
        })
    }

    fn create(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.perform(Operation::Create, path, |inner| {
            if inner.nodes.contains_key(path) || inner.strict(path)? {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            inner.insert(path, bytes.to_vec(), 0o644);
            Ok(())
        })
    }

    fn create_growing(&self, path: &Path) -> io::Result<Box<dyn io::Write + Send>> {
        self.create(path, &[])?;
        let mut inner = self.lock();
        inner.file_mut(path).ok_or(io::ErrorKind::NotFound)?.mode = 0o600;
        Ok(Box::new(Growing { inner: Arc::clone(&self.inner), path: path.to_owned() }))
    }

    fn overwrite(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.pause(Operation::Overwrite, path);
        let mut inner = self.lock();
        if !inner.strict(path)? {
            return Err(io::ErrorKind::NotFound.into());
        }
        let allowed = inner.allowed(Operation::Overwrite, path);
        let written = if allowed.is_ok() { bytes } else { &bytes[..bytes.len() / 2] };
        if let Some(file) = inner.file_mut(path) {
            file.bytes = written.to_vec();
        }
        allowed?;
        inner.changes.push((Operation::Overwrite, path.to_owned()));
        Ok(())
    }

    fn set_mode(&self, path: &Path, mode: u32) -> io::Result<()> {
        self.perform(Operation::SetMode, path, |inner| {
            let file = if inner.strict(path)? { inner.file_mut(path) } else { None };
            file.ok_or(io::ErrorKind::NotFound)?.mode = mode;
            Ok(())
        })
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.perform(Operation::Remove, path, |inner| {
            match inner.nodes.get(path) {
                Some(Node::Link(_)) => {}
                _ if inner.strict(path)? => {}
                _ => return Err(io::ErrorKind::NotFound.into()),
            }
            inner.nodes.remove(path);
            Ok(())
        })
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.perform(Operation::Rename, from, |inner| {
            if !inner.strict(from)? {
                return Err(io::ErrorKind::NotFound.into());
            }
            if inner.nodes.contains_key(to) || inner.strict(to)? {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            if let Some(node) = inner.nodes.remove(from) {
                inner.nodes.insert(to.to_owned(), node);
            }
            Ok(())
        })
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.perform(Operation::Remove, path, |inner| {
            match inner.nodes.get(path) {
                None => return Err(io::ErrorKind::NotFound.into()),
                Some(Node::Directory) => {}
                Some(_) => return Err(Errno::NOTDIR.into()),
            }
            if inner.nodes.keys().any(|name| name != path && name.starts_with(path)) {
                return Err(Errno::NOTEMPTY.into());
            }
            inner.nodes.remove(path);
            Ok(())
        })
    }

    fn lock(&self, path: &Path) -> io::Result<Option<DiskLock>> {
        self.perform(Operation::Lock, path, |inner| {
            if !inner.strict(path)? {
                inner.insert(path, Vec::new(), 0o600);
            }
            let new = inner.locks.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned());
            Ok(new.then(|| DiskLock::new(Held { locks: Arc::clone(&inner.locks), path: path.to_owned() })))
        })
    }
}

#[cfg(test)]
#[path = "memory_disk_tests.rs"]
mod tests;
