//! The folder and the file of the database: ours alone, or not used.

use std::fs::{DirBuilder, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

/// Others of the file's group, or all others, may write.
const OTHERS_WRITE: u32 = 0o022;

/// Others may do anything at all.
const OTHERS: u32 = 0o077;

/// Makes the folder and the file where they are not there, for us alone. Why they cannot be used: words for a person.
pub(super) fn prepare(folder: &Path, file: &Path) -> Result<(), String> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(|error| format!("the folder {} cannot be made: {error}", folder.display()))?;
    ours(folder, false)?;
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(file) {
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(format!("it cannot be made: {error}")),
    }
    ours(file, true)?;
    for beside in ["-wal", "-shm", "-journal"] {
        let mut name = file.as_os_str().to_owned();
        name.push(beside);
        let there = || std::fs::exists(&name).unwrap_or(true);
        // Another sidecar may remove it while it is looked at.
        if there()
            && let Err(fault) = ours(Path::new(&name), true)
            && there()
        {
            return Err(fault);
        }
    }
    Ok(())
}

/// Which file is at a place, by device and number.
#[expect(clippy::disallowed_methods, reason = "SQLite opens this file by itself, so that the port has no part in it")]
pub(super) fn file(path: &Path) -> Option<(u64, u64)> {
    std::fs::symlink_metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

/// Whether a folder or file belongs to us and nobody else may write it. A file that others may read is closed to them.
#[expect(clippy::disallowed_methods, reason = "SQLite opens this file by itself, so that the port has no part in it")]
fn ours(path: &Path, file: bool) -> Result<(), String> {
    let shown = path.display();
    // A link to a folder is the user's own way of keeping state elsewhere; a link in the place of a file is a trap.
    let found = if file { std::fs::symlink_metadata(path) } else { std::fs::metadata(path) };
    let found = found.map_err(|error| format!("{shown} cannot be looked at: {error}"))?;
    if file && !found.is_file() {
        return Err(format!("{shown} is not a regular file"));
    }
    if !file && !found.is_dir() {
        return Err(format!("{shown} is not a folder"));
    }
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Err(format!("{shown} belongs to another user"));
    }
    if found.mode() & OTHERS_WRITE != 0 {
        return Err(format!("{shown} can be written by other users (mode {:o})", found.mode() & 0o777));
    }
    if file && found.nlink() > 1 {
        return Err(format!("{shown} has several names"));
    }
    if file && found.mode() & OTHERS != 0 {
        std::fs::set_permissions(path, Permissions::from_mode(0o600))
            .map_err(|error| format!("{shown} cannot be closed to others: {error}"))?;
    }
    Ok(())
}
