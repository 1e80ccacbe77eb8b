//! Temporary files that processes of ours left behind when they were killed in the middle of a write.
//!
//! They are removed where the next write comes by, and only where nothing speaks against it: the whole name is one of
//! ours, its process is gone, the file is the user's own, and it has not been written to for long. The last is for
//! processes that cannot be seen from here, in another container or on another machine with the same folder.

use std::collections::HashMap;
use std::ffi::CStr;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;
use rustix::process::Pid;
use tracing::{debug, warn};

/// What was written to within this time stays.
const OLD: Duration = Duration::from_mins(15);

/// So many folders are remembered as swept.
const FOLDERS: usize = 1024;

/// When which folder was swept last.
static SWEPT: LazyLock<Mutex<HashMap<PathBuf, SystemTime>>> = LazyLock::new(Mutex::default);

/// What is known of a file whose name may be one of ours.
#[derive(Debug, Clone, Copy)]
struct Found {
    /// A regular file.
    regular: bool,
    /// Of the user we run as.
    own: bool,
    /// How long ago it was written to.
    age: Duration,
    /// Whether its process is there, as far as can be told.
    alive: bool,
}

impl Found {
    fn left_over(self) -> bool {
        self.regular && self.own && !self.alive && self.age >= OLD
    }
}

/// The process whose temporary file has this name, if it is the name of one.
fn process_of(name: &[u8]) -> Option<u32> {
    let name = std::str::from_utf8(name).ok()?;
    let hex = |text: &str, length: usize| {
        text.len() == length && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
    };
    let (process, number) = name.strip_prefix(".ropewalk-")?.split_once('-')?;
    (hex(process, 8) && hex(number, 16)).then(|| u32::from_str_radix(process, 16).ok()).flatten()
}

fn alive(process: u32) -> bool {
    let pid = i32::try_from(process).ok().and_then(Pid::from_raw);
    // One that may not be asked is there all the same; and no process has an impossible number.
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid) != Err(Errno::SRCH))
}

/// Removes what dead processes left in a folder, of this path, unless that was done a short while ago.
/// Whatever goes wrong leaves the file, and never keeps a write from being made.
pub(super) fn sweep(folder: &OwnedFd, path: &Path) {
    let now = SystemTime::now();
    if !due(path, now) {
        return;
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let listing = rustix::fs::openat(folder, ".", flags, Mode::empty()).and_then(Dir::read_from);
    let Ok(listing) = listing else { return };
    for entry in listing.flatten() {
        let name = entry.file_name();
        let Some(process) = process_of(name.to_bytes()).filter(|process| *process != std::process::id()) else {
            continue;
        };
        if found(folder, name, process, now).is_some_and(Found::left_over) {
            match rustix::fs::unlinkat(folder, name, AtFlags::empty()) {
                Ok(()) => warn!(?name, folder = %path.display(), "removed what a killed process had left"),
                Err(error) => debug!(?name, folder = %path.display(), %error, "a leftover stays"),
            }
        }
    }
}

/// Whether a folder is to be swept; it counts as swept then.
fn due(folder: &Path, now: SystemTime) -> bool {
    let mut swept = SWEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let recent = |last: &SystemTime| now.duration_since(*last).is_ok_and(|ago| ago < OLD);
    if swept.get(folder).is_some_and(recent) {
        return false;
    }
    if swept.len() >= FOLDERS {
        swept.clear();
    }
    swept.insert(folder.to_owned(), now);
    true
}

fn found(folder: &OwnedFd, name: &CStr, process: u32, now: SystemTime) -> Option<Found> {
    let stat = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    let written = UNIX_EPOCH + Duration::from_secs(u64::try_from(stat.st_mtime).ok()?);
    Some(Found {
        regular: FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile,
        own: stat.st_uid == rustix::process::geteuid().as_raw(),
        // A time to come is none that has passed.
        age: now.duration_since(written).unwrap_or_default(),
        alive: alive(process),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_name_of_ours_is_one() {
        for (name, process) in [
            (".ropewalk-0000002a-0123456789abcdef", Some(42)),
            (".ropewalk-ffffffff-0123456789abcdef", Some(u32::MAX)),
            // A file that stepped aside while names were swapped is a person's file.
            (".ropewalk-0123456789abcdef", None),
            (".ropewalk-0000002a-0123456789abcdef.txt", None),
            (".ropewalk-0000002a-0123456789abcde", None),
            (".ropewalk-0000002A-0123456789abcdef", None),
            (".ropewalk-+000002a-0123456789abcdef", None),
            (".ropewalk-2a-0123456789abcdef", None),
            ("x.ropewalk-0000002a-0123456789abcdef", None),
            (".ropewalk-", None),
            ("", None),
        ] {
            assert_eq!(process_of(name.as_bytes()), process, "{name}");
        }
        assert_eq!(process_of(b".ropewalk-0000002a-0123456789abcde\xff"), None);
        let prefix = super::super::temporary_prefix(std::process::id());
        assert_eq!(process_of(format!("{prefix}0123456789abcdef").as_bytes()), Some(std::process::id()));
    }

    #[test]
    fn everything_must_speak_for_it() {
        let left = Found { regular: true, own: true, age: OLD, alive: false };
        assert!(left.left_over());
        for other in [
            Found { regular: false, ..left },
            Found { own: false, ..left },
            Found { age: OLD.saturating_sub(Duration::from_secs(1)), ..left },
            Found { alive: true, ..left },
        ] {
            assert!(!other.left_over(), "{other:?}");
        }
        assert!(alive(std::process::id()) && alive(1));
        assert!(!alive(0) && !alive(u32::MAX));
    }
}
