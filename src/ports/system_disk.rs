//! The real disk. What changes a file walks to its folder without following a link and works relative to that folder.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Component, Path, PathBuf};
use std::sync::LazyLock;
use std::time::SystemTime;

use rustix::fs::{AtFlags, CWD, FileType, FlockOperation, Gid, Mode, OFlags, RenameFlags, Stat};
use rustix::io::Errno;
use tracing::warn;

use super::disk::{self, DirEntry, Disk, DiskLock, FileKind, Metadata, Owned, ReadSeek};
use super::leftovers;
use super::random::{Random as _, SystemRandom};
use super::walk::{self, Visitors, WalkOptions};

/// The real disk.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemDisk;

/// How a folder is opened on the way to a file: on Linux leave to pass through it is enough, elsewhere it must also be
/// readable.
#[cfg(target_os = "linux")]
const PASS: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const PASS: OFlags = OFlags::RDONLY;

/// Extended attributes that the system puts on any new file by itself.
const AUTOMATIC_ATTRIBUTES: &[&str] = &["security.selinux", "com.apple.provenance", "com.apple.lastuseddate#PS"];

static NAMES: LazyLock<SystemRandom> = LazyLock::new(SystemRandom::new);

#[expect(clippy::disallowed_methods, reason = "this is the port that the ban points to")]
impl Disk for SystemDisk {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let (mut file, metadata) = open_regular(path)?;
        let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or_default());
        file.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn io::Read + Send>> {
        Ok(Box::new(open_regular(path)?.0))
    }

    fn open_seekable(&self, path: &Path) -> io::Result<Box<dyn ReadSeek>> {
        Ok(Box::new(open_regular(path)?.0))
    }

    fn read_own(&self, path: &Path, most: u64) -> io::Result<Vec<u8>> {
        let (Some(parent), Some(name), true) = (path.parent(), path.file_name(), path.is_absolute()) else {
            return Err(invalid(path, "is no absolute path of a file"));
        };
        // What is looked at is what is read: the folder first, and the file in that very folder.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let folder = rustix::fs::openat(CWD, parent, PASS | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let waits = OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = match rustix::fs::openat(&folder, name, flags | waits | OFlags::NOFOLLOW, Mode::empty()) {
            Ok(file) => file,
            Err(error) => {
                // A link says so itself, by one error or another; anything else is what it is.
                let stat = rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW);
                if stat.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink) {
                    let link = Owned { kind: FileKind::Link, ours: true, mode: 0o777 };
                    disk::own(path, &link, &link)?;
                }
                return Err(error.into());
            }
        };
        let found = rustix::fs::fstat(&file)?;
        disk::own(path, &owned(&found), &owned(&rustix::fs::fstat(&folder)?))?;
        let mut bytes = Vec::new();
        File::from(file).take(most.saturating_add(1)).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > most {
            return Err(disk::too_long(u64::try_from(found.st_size).unwrap_or(u64::MAX), most));
        }
        Ok(bytes)
    }

    fn modified(&self, path: &Path) -> io::Result<SystemTime> {
        std::fs::metadata(path)?.modified()
    }

    fn walk(&self, folder: &Path, options: &WalkOptions, visitors: Visitors<'_, '_>) {
        walk::in_parallel(folder, options, visitors);
    }

    fn metadata(&self, path: &Path) -> io::Result<Metadata> {
        std::fs::metadata(path).map(|found| metadata_of(path, &found))
    }

    fn link_metadata(&self, path: &Path) -> io::Result<Metadata> {
        std::fs::symlink_metadata(path).map(|found| metadata_of(path, &found))
    }

    fn canonicalize(&self, path: &Path) -> io::Result<PathBuf> {
        std::fs::canonicalize(path)
    }

    fn read_link(&self, path: &Path) -> io::Result<PathBuf> {
        std::fs::read_link(path)
    }

    fn read_dir(&self, path: &Path) -> io::Result<Vec<DirEntry>> {
        let mut entries = Vec::new();
        for entry in std::fs::read_dir(path)? {
            let entry = entry?;
            entries.push(DirEntry::new(&entry.file_name(), kind_of(entry.file_type()?)));
        }
        entries.sort_by(|a, b| a.file_name().cmp(b.file_name()));
        Ok(entries)
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        match std::fs::create_dir(path) {
            Ok(()) => path.parent().map_or(Ok(()), |parent| flush(&File::open(parent)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.create_dir_all(path.parent().ok_or(error)?)?;
                self.create_dir_all(path)
            }
            Err(error) => match std::fs::metadata(path) {
                Ok(found) if found.is_dir() => Ok(()),
                _ => Err(error),
            },
        }
    }

    fn create_private_dir(&self, path: &Path) -> io::Result<()> {
        if let Some(parent) = path.parent() {
            self.create_dir_all(parent)?;
        }
        match std::fs::DirBuilder::new().mode(0o700).create(path) {
            Ok(()) => path.parent().map_or(Ok(()), |parent| flush(&File::open(parent)?)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let found = std::fs::symlink_metadata(path)?;
                if !found.is_dir() {
                    return Err(Errno::NOTDIR.into());
                }
                if found.uid() != rustix::process::geteuid().as_raw() {
                    return Err(io::Error::new(io::ErrorKind::PermissionDenied, "the directory is somebody else's"));
                }
                if found.mode() & 0o777 != 0o700 {
                    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700))?;
                }
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    fn replace(&self, path: &Path, bytes: &[u8], mode: u32, still: &mut dyn FnMut() -> bool) -> io::Result<()> {
        let place = Place::of(path)?;
        let old = place.occupant()?;
        let mut temporary = Temporary::new(&place, Mode::RUSR | Mode::WUSR)?;
        temporary.file.write_all(bytes)?;
        if let Some(old) = old
            && old.st_gid != temporary.file.metadata()?.gid()
        {
            rustix::fs::fchown(&temporary.file, None, Some(Gid::from_raw(old.st_gid)))?;
        }
        // After the change of group, which takes special bits away.
        rustix::fs::fchmod(&temporary.file, permissions(mode))?;
        flush(&temporary.file)?;
        let flush = place.folder_to_flush()?;
        if !still() {
            return Err(io::Error::new(io::ErrorKind::Interrupted, "the file changed while it was being written"));
        }
        place.occupant()?;
        temporary
            .move_to(&place.name, |place, from, to| rustix::fs::renameat(&place.folder, from, &place.folder, to))?;
        flush_folder(flush, path);
        Ok(())
    }

    fn create(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let place = Place::of(path)?;
        // The umask takes from this mode what it takes from any new file's.
        let mut temporary = Temporary::new(&place, Mode::from_raw_mode(0o666))?;
        temporary.file.write_all(bytes)?;
        flush(&temporary.file)?;
        let flush = place.folder_to_flush()?;
        temporary.move_to(&place.name, |place, from, to| {
            rename_new((&place.folder, OsStr::new(from)), (&place.folder, to))
        })?;
        flush_folder(flush, path);
        Ok(())
    }

    fn create_growing(&self, path: &Path) -> io::Result<Box<dyn io::Write + Send>> {
        let place = Place::of(path)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&place.folder, &place.name, flags, Mode::RUSR | Mode::WUSR)?;
        Ok(Box::new(File::from(file)))
    }

    fn overwrite(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let place = Place::of(path)?;
        let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        place.occupant()?;
        let mut file = File::from(rustix::fs::openat(&place.folder, &place.name, flags, Mode::empty())?);
        if !file.metadata()?.is_file() {
            return Err(invalid(path, "is not a regular file"));
        }
        file.write_all(bytes)?;
        file.set_len(bytes.len() as u64)?;
        flush(&file)
    }

    fn set_mode(&self, path: &Path, mode: u32) -> io::Result<()> {
        let place = Place::of(path)?;
        place.occupant()?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::openat(&place.folder, &place.name, flags, Mode::empty())?);
        if !file.metadata()?.is_file() {
            return Err(invalid(path, "is not a regular file"));
        }
        rustix::fs::fchmod(&file, permissions(mode))?;
        flush(&file)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let place = Place::of(path)?;
        let flush = place.folder_to_flush()?;
        rustix::fs::unlinkat(&place.folder, &place.name, AtFlags::empty())?;
        flush_folder(flush, path);
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let (old, new) = (Place::of(from)?, Place::of(to)?);
        if old.occupant()?.is_none() {
            return Err(io::ErrorKind::NotFound.into());
        }
        let flush = (old.folder_to_flush()?, new.folder_to_flush()?);
        rename_new((&old.folder, &old.name), (&new.folder, &new.name))?;
        // The new name first: after a power cut a file with two names is better than one with none.
        flush_folder(flush.1, to);
        flush_folder(flush.0, from);
        Ok(())
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        let place = Place::of(path)?;
        let flush = place.folder_to_flush()?;
        rustix::fs::unlinkat(&place.folder, &place.name, AtFlags::REMOVEDIR)?;
        flush_folder(flush, path);
        Ok(())
    }

    fn lock(&self, path: &Path) -> io::Result<Option<DiskLock>> {
        let place = Place::of(path)?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        let file = File::from(rustix::fs::openat(&place.folder, &place.name, flags, mode)?);
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(DiskLock::new(file))),
            Err(Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// Gives a file another name that nobody has yet.
fn rename_new((from, old): (&OwnedFd, &OsStr), (to, new): (&OwnedFd, &OsStr)) -> rustix::io::Result<()> {
    match rustix::fs::renameat_with(from, old, to, new, RenameFlags::NOREPLACE) {
        // File systems that cannot do this can give the file a second name, which also never replaces.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            rustix::fs::linkat(from, old, to, new, AtFlags::empty())?;
            rustix::fs::unlinkat(from, old, AtFlags::empty())
        }
        result => result,
    }
}

/// Opens a regular file for reading; nothing else, and never waiting.
fn open_regular(path: &Path) -> io::Result<(File, std::fs::Metadata)> {
    // Without NONBLOCK opening a pipe would wait for its other end.
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    let file = std::fs::OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        return Err(Errno::ISDIR.into());
    }
    if !metadata.is_file() {
        return Err(invalid(path, "is not a regular file"));
    }
    Ok((file, metadata))
}

fn kind_of(kind: std::fs::FileType) -> FileKind {
    match kind {
        kind if kind.is_file() => FileKind::File,
        kind if kind.is_dir() => FileKind::Directory,
        kind if kind.is_symlink() => FileKind::Link,
        _ => FileKind::Other,
    }
}

fn metadata_of(path: &Path, metadata: &std::fs::Metadata) -> Metadata {
    let kind = kind_of(metadata.file_type());
    Metadata {
        kind,
        len: metadata.len(),
        mode: metadata.mode() & 0o7777,
        links: metadata.nlink(),
        owned: metadata.uid() == rustix::process::geteuid().as_raw()
            && in_group(metadata.gid())
            && (kind != FileKind::File || plain(path)),
    }
}

/// Whose something is, as it was found.
#[cfg_attr(target_os = "linux", expect(clippy::useless_conversion, reason = "modes are shorter on other systems"))]
fn owned(found: &Stat) -> Owned {
    let kind = match FileType::from_raw_mode(found.st_mode) {
        FileType::RegularFile => FileKind::File,
        FileType::Directory => FileKind::Directory,
        FileType::Symlink => FileKind::Link,
        _ => FileKind::Other,
    };
    // What is root's is the system's.
    let ours = found.st_uid == rustix::process::geteuid().as_raw() || found.st_uid == 0;
    Owned { kind, ours, mode: u32::from(Mode::from_raw_mode(found.st_mode).bits()) }
}

fn in_group(group: u32) -> bool {
    rustix::process::getegid().as_raw() == group
        || rustix::process::getgroups().is_ok_and(|groups| groups.iter().any(|own| own.as_raw() == group))
}

/// Whether a file has no attributes but those that every file gets. A list too long for the buffer is not plain; a file
/// system without attributes is.
fn plain(path: &Path) -> bool {
    let mut names = [0u8; 4096];
    match rustix::fs::listxattr(path, &mut names) {
        Ok(len) => names[..len]
            .split(|&byte| byte == 0)
            .filter(|name| !name.is_empty())
            .all(|name| AUTOMATIC_ATTRIBUTES.iter().any(|automatic| automatic.as_bytes() == name)),
        Err(error) => error == Errno::NOTSUP,
    }
}

fn invalid(path: &Path, what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("{} {what}", path.display()))
}

/// A name in an opened folder, reached without a link.
struct Place {
    folder: OwnedFd,
    name: OsString,
    path: PathBuf,
}

impl Place {
    fn of(path: &Path) -> io::Result<Place> {
        let (Some(parent), Some(name), true) = (path.parent(), path.file_name(), path.is_absolute()) else {
            return Err(invalid(path, "is not a canonical path of a file"));
        };
        let flags = PASS | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut folder = rustix::fs::openat(CWD, "/", flags, Mode::empty())?;
        for component in parent.components() {
            let step: &OsStr = match component {
                Component::RootDir => continue,
                Component::Normal(step) => step,
                _ => return Err(invalid(path, "is not a canonical path of a file")),
            };
            folder = rustix::fs::openat(&folder, step, flags, Mode::empty()).map_err(|error| match error {
                Errno::NOTDIR | Errno::LOOP => {
                    invalid(path, &format!("leads through {}, a link or no directory", step.display()))
                }
                error => error.into(),
            })?;
        }
        Ok(Place { folder, name: name.to_owned(), path: path.to_owned() })
    }

    /// What has the name now; a link or a directory is an error.
    fn occupant(&self) -> io::Result<Option<Stat>> {
        match rustix::fs::statat(&self.folder, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
            Ok(stat) => match FileType::from_raw_mode(stat.st_mode) {
                FileType::RegularFile => Ok(Some(stat)),
                FileType::Symlink => Err(invalid(&self.path, "is a link")),
                FileType::Directory => Err(Errno::ISDIR.into()),
                _ => Err(invalid(&self.path, "is not a regular file")),
            },
        }
    }

    /// The folder once more, opened so that it can be flushed. Opened before the change is made, because after it an
    /// error would claim that nothing happened.
    fn folder_to_flush(&self) -> io::Result<Option<File>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match rustix::fs::openat(&self.folder, ".", flags, Mode::empty()) {
            Ok(folder) => Ok(Some(folder.into())),
            // One may write in this folder but not list it, nor therefore flush it.
            Err(Errno::ACCESS) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// Flushes a file or a folder. macOS is asked for more than that by the standard library (down to the medium), which not
/// every file system there can do; then it is a flush as elsewhere.
fn flush(file: &File) -> io::Result<()> {
    match file.sync_all() {
        Err(error) if !cfg!(target_os = "linux") && is_unsupported(&error) => Ok(rustix::fs::fsync(file)?),
        result => result,
    }
}

fn is_unsupported(error: &io::Error) -> bool {
    let errors = [Errno::NOTSUP, Errno::OPNOTSUPP, Errno::NOTTY, Errno::INVAL];
    Errno::from_io_error(error).is_some_and(|error| errors.contains(&error))
}

/// The permission bits of a mode.
fn permissions(mode: u32) -> Mode {
    // Narrower elsewhere than here, and nowhere too narrow for these.
    Mode::from_raw_mode((mode & 0o7777) as rustix::fs::RawMode)
}

/// Flushes a folder, so that a new name in it survives a power cut. The change itself is made, so a failure is told to
/// the operator only.
fn flush_folder(folder: Option<File>, path: &Path) {
    if let Some(Err(error)) = folder.map(|folder| flush(&folder)) {
        warn!(path = %path.display(), %error, "the folder of a changed file could not be flushed");
    }
}

/// A new file under a name of its own, gone again unless it is moved.
struct Temporary<'a> {
    place: &'a Place,
    name: Option<String>,
    file: File,
}

impl Temporary<'_> {
    fn new(place: &Place, mode: Mode) -> io::Result<Temporary<'_>> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        if let Some(folder) = place.path.parent() {
            leftovers::sweep(&place.folder, folder);
        }
        loop {
            let name = format!("{}{:016x}", super::temporary_prefix(std::process::id()), NAMES.next());
            match rustix::fs::openat(&place.folder, &name, flags, mode) {
                Ok(file) => return Ok(Temporary { place, name: Some(name), file: file.into() }),
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn move_to(
        mut self,
        name: &OsStr,
        rename: impl FnOnce(&Place, &str, &OsStr) -> rustix::io::Result<()>,
    ) -> io::Result<()> {
        if let Some(own) = &self.name {
            rename(self.place, own, name)?;
        }
        self.name = None;
        Ok(())
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if let Some(name) = &self.name
            && let Err(error) = rustix::fs::unlinkat(&self.place.folder, name, AtFlags::empty())
        {
            warn!(name, folder = %self.place.path.display(), %error, "a temporary file could not be removed");
        }
    }
}
