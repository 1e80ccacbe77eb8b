//! Folders and files that are ours alone, for what processes of one user leave for each other; and secrets.
//!
//! The folder may be below one that everybody can write to, so that nothing is taken on trust: a link in its place is
//! refused, and so is one that is somebody else's or that others may enter.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

/// Bytes of randomness in a secret.
const SECRET_BYTES: usize = 32;

/// The user that this process acts as.
pub fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// A new secret, from the system's source of randomness: 64 hex digits.
pub fn secret() -> io::Result<String> {
    let mut bytes = [0u8; SECRET_BYTES];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    }))
}

/// A folder that is ours alone. It is held open, so that it stays the same one whatever becomes of its name.
#[derive(Debug)]
pub struct PrivateFolder {
    folder: OwnedFd,
    path: PathBuf,
}

impl PrivateFolder {
    /// Opens the folder of a path, making it (mode 0700) where it is not there; its parent has to be.
    pub fn make(path: &Path) -> io::Result<PrivateFolder> {
        match rustix::fs::mkdir(path, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => PrivateFolder::open(path),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens the folder of a path, which has to be there.
    pub fn open(path: &Path) -> io::Result<PrivateFolder> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = rustix::fs::open(path, flags, Mode::empty()).map_err(|error| match error {
            Errno::LOOP | Errno::NOTDIR => refused(path, "it is not a folder, or a link to one"),
            other => other.into(),
        })?;
        ours_alone(path, &rustix::fs::fstat(&folder)?, user())?;
        Ok(PrivateFolder { folder, path: path.to_owned() })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The names in it, sorted.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        use std::os::unix::ffi::OsStringExt as _;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let listing = Dir::read_from(rustix::fs::openat(&self.folder, ".", flags, Mode::empty())?)?;
        let mut names: Vec<OsString> = listing
            .filter_map(Result::ok)
            .map(|entry| OsString::from_vec(entry.file_name().to_bytes().to_vec()))
            .filter(|name| name != "." && name != "..")
            .collect();
        names.sort();
        Ok(names)
    }

    /// The content of a file in it that is ours alone and has at most so many bytes.
    pub fn read(&self, name: &str, most: u64) -> io::Result<Vec<u8>> {
        // Without waiting, for a pipe may be in its place.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::openat(&self.folder, name, flags, Mode::empty())?);
        let path = self.path.join(name);
        let stat = rustix::fs::fstat(&file)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(refused(&path, "it is not a file"));
        }
        ours_alone(&path, &stat, user())?;
        let mut bytes = Vec::new();
        file.take(most + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > most {
            return Err(refused(&path, "it is too long"));
        }
        Ok(bytes)
    }

    /// Puts a file (mode 0600) in the place of what is there, all of it or nothing.
    pub fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let aside = format!(".{name}-{}", secret()?);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(rustix::fs::openat(&self.folder, &aside, flags, Mode::RUSR | Mode::WUSR)?);
        let written =
            file.write_all(bytes).and_then(|()| Ok(rustix::fs::renameat(&self.folder, &aside, &self.folder, name)?));
        if written.is_err() {
            let _ = rustix::fs::unlinkat(&self.folder, &aside, AtFlags::empty());
        }
        written
    }

    /// Removes a file or socket; one that is not there is no error.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        match rustix::fs::unlinkat(&self.folder, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

fn ours_alone(path: &Path, stat: &Stat, user: u32) -> io::Result<()> {
    if stat.st_uid != user {
        return Err(refused(path, "it belongs to another user"));
    }
    let mode = Mode::from_raw_mode(stat.st_mode);
    if mode.intersects(Mode::RWXG | Mode::RWXO) {
        return Err(refused(path, &format!("others may use it (mode {:o})", mode.bits() & 0o777)));
    }
    Ok(())
}

fn refused(path: &Path, why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, format!("{} is not used: {why}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("own");
        (folder, path)
    }

    fn mode(path: &Path, mode: u32) {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_folder_that_is_not_ours_alone_is_refused() {
        let (_all, path) = folder();
        assert!(PrivateFolder::open(&path).is_err(), "not there");
        PrivateFolder::make(&path).unwrap();
        PrivateFolder::make(&path).unwrap();
        for (bits, fine) in [(0o700, true), (0o750, false), (0o701, false), (0o777, false)] {
            mode(&path, bits);
            assert_eq!(PrivateFolder::make(&path).is_ok(), fine, "{bits:o}");
        }
        mode(&path, 0o700);
        let link = path.with_file_name("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let refusal = PrivateFolder::make(&link).unwrap_err().to_string();
        assert!(refusal.ends_with("is not used: it is not a folder, or a link to one"), "{refusal}");
        let file = path.with_file_name("file");
        File::create(&file).unwrap();
        assert!(PrivateFolder::make(&file).is_err());
    }

    #[test]
    fn another_users_is_refused_whatever_its_mode() {
        let (_all, path) = folder();
        let own = PrivateFolder::make(&path).unwrap();
        let stat = rustix::fs::fstat(&own.folder).unwrap();
        assert!(ours_alone(&path, &stat, user()).is_ok());
        let refusal = ours_alone(&path, &stat, user() + 1).unwrap_err().to_string();
        assert!(refusal.ends_with("it belongs to another user"), "{refusal}");
    }

    #[test]
    fn files_are_whole_private_and_bounded() {
        let (_all, path) = folder();
        let own = PrivateFolder::make(&path).unwrap();
        own.write("a", b"one").unwrap();
        own.write("a", b"two").unwrap();
        assert_eq!(own.read("a", 3).unwrap(), b"two");
        assert!(own.read("a", 2).is_err(), "too long");
        assert_eq!(own.names().unwrap(), ["a"]);
        mode(&path.join("a"), 0o644);
        assert!(own.read("a", 3).is_err(), "others may read it");
        std::os::unix::fs::symlink(path.join("a"), path.join("b")).unwrap();
        assert!(own.read("b", 3).is_err(), "a link");
        assert!(own.read(".", 3).is_err(), "a folder");
        own.remove("a").unwrap();
        own.remove("a").unwrap();
        assert!(own.read("a", 3).is_err());
    }

    #[test]
    fn no_two_secrets_are_alike() {
        let (one, two) = (secret().unwrap(), secret().unwrap());
        assert!(one != two && one.len() == 64 && one.bytes().all(|byte| byte.is_ascii_hexdigit()));
    }
}
