//! A folder as it is on the disk, into memory: there a replay can do no harm, and what it changes is gone with it.

use std::io;
use std::path::{Path, PathBuf};

use crate::ports::{Disk, FileKind, MemoryDisk};

/// So much is taken in (bytes).
const MOST_BYTES: u64 = 512 << 20;

/// So many files, links and folders are taken in.
const MOST_NAMES: usize = 200_000;

/// Why a folder cannot be taken in.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// It cannot be read.
    #[error("{0} cannot be read: {1}")]
    Disk(PathBuf, io::Error),
    /// There is too much in it.
    #[error("{0} has more than {MOST_NAMES} files or {MOST_BYTES} bytes: name a copy that has less by --root")]
    TooMuch(PathBuf),
}

/// Puts what is in the folder `from` of `disk` in the place `to` of `memory`, links as they are. What git keeps of other
/// versions (`.git/objects`) is left out. A file that cannot be read is left out, too, as it would be for a sidecar.
pub fn load(disk: &dyn Disk, from: &Path, memory: &MemoryDisk, to: &Path) -> Result<(), LoadError> {
    let broken = |path: &Path, error| LoadError::Disk(path.to_owned(), error);
    let (mut bytes, mut names) = (0u64, 0usize);
    let mut todo = vec![(from.to_owned(), to.to_owned())];
    memory.create_dir_all(to).map_err(|error| broken(to, error))?;
    while let Some((folder, place)) = todo.pop() {
        let entries = match disk.read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if folder == from => return Err(broken(&folder, error)),
            Err(_) => continue,
        };
        for entry in entries {
            names += 1;
            let (path, place) = (folder.join(entry.file_name()), place.join(entry.file_name()));
            match entry.kind {
                FileKind::Directory if path.ends_with(".git/objects") => {}
                FileKind::Directory => {
                    memory.create_dir_all(&place).map_err(|error| broken(&place, error))?;
                    todo.push((path, place));
                }
                FileKind::Link => {
                    if let Ok(to) = disk.read_link(&path) {
                        memory.link(&place, to);
                    }
                }
                FileKind::File => {
                    let Ok(metadata) = disk.metadata(&path) else { continue };
                    bytes += metadata.len;
                    if bytes > MOST_BYTES {
                        break;
                    }
                    // What says that it is empty is not read: below `/proc`, it may have no end.
                    let content = if metadata.len == 0 { Ok(Vec::new()) } else { disk.read(&path) };
                    let Ok(content) = content else { continue };
                    memory.put(&place, content);
                    let _ = memory.set_mode(&place, metadata.mode);
                    if let Ok(modified) = disk.modified(&path) {
                        memory.touch(&place, modified);
                    }
                }
                FileKind::Other => {}
            }
        }
        if bytes > MOST_BYTES || names > MOST_NAMES {
            return Err(LoadError::TooMuch(from.to_owned()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_taken_in_as_it_is() {
        let disk = MemoryDisk::new()
            .with_file("/real/a.txt", "a")
            .with_file("/real/sub/b.sh", "b")
            .with_mode("/real/sub/b.sh", 0o755)
            .with_file("/real/.git/HEAD", "ref")
            .with_file("/real/.git/objects/aa/bb", "old")
            .with_dir("/real/empty")
            .with_link("/real/link", "sub/b.sh")
            .with_file("/elsewhere/secret", "x");
        let memory = MemoryDisk::new();
        load(&disk, Path::new("/real"), &memory, Path::new("/w")).unwrap();
        assert_eq!(memory.bytes("/w/a.txt").unwrap(), b"a");
        assert_eq!(memory.read(Path::new("/w/link")).unwrap(), b"b");
        assert_eq!(memory.metadata(Path::new("/w/sub/b.sh")).unwrap().mode & 0o777, 0o755);
        assert_eq!(memory.metadata(Path::new("/w/empty")).unwrap().kind, FileKind::Directory);
        assert!(memory.metadata(Path::new("/w/.git/HEAD")).is_ok());
        assert!(memory.metadata(Path::new("/w/.git/objects")).is_err());
        assert!(memory.metadata(Path::new("/elsewhere")).is_err());
        assert!(load(&disk, Path::new("/none"), &memory, Path::new("/w")).is_err());
    }
}
