//! Where sidecars and those who join them meet: one folder of the user's, the same for both sides. Pure.

use std::path::{Path, PathBuf};

/// The longest path that a socket may have on every system we run on (bytes).
const LONGEST_SOCKET: usize = 103;

/// The longest name that a socket of ours has: a process number with ten digits.
const LONGEST_NAME: &str = "4294967295.sock";

/// What a file that makes a sidecar known ends with.
const KNOWN: &str = ".json";

/// What a socket ends with.
const SOCKET: &str = ".sock";

/// The folder. `runtime`: the user's runtime folder (`XDG_RUNTIME_DIR`), which is used where it is absolute and short
/// enough for a socket in it; `temporary`: the system's folder for temporary files; `user`: the user's number.
pub(super) fn folder(runtime: Option<&str>, temporary: &Path, user: u32) -> PathBuf {
    let runtime = runtime.map(Path::new).filter(|folder| folder.is_absolute()).map(|folder| folder.join("ropewalk"));
    runtime.filter(|folder| fits(folder)).unwrap_or_else(|| temporary.join(format!("ropewalk-{user}")))
}

/// Whether a socket of ours in this folder has a path that the system takes.
pub(super) fn fits(folder: &Path) -> bool {
    folder.join(LONGEST_NAME).as_os_str().len() <= LONGEST_SOCKET
}

/// The name of the socket of a process.
pub(super) fn socket_of(process: u32) -> String {
    format!("{process}{SOCKET}")
}

/// The name of the file that makes a process known.
pub(super) fn known_of(process: u32) -> String {
    format!("{process}{KNOWN}")
}

/// The process that a name in the folder belongs to, if it is one of ours.
pub(super) fn process_of(name: &str) -> Option<u32> {
    let digits = name.strip_suffix(KNOWN).or_else(|| name.strip_suffix(SOCKET))?;
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| digits.parse().ok()).flatten()
}

/// Whether a name in the folder is that of a file that makes a sidecar known.
pub(super) fn makes_known(name: &str) -> bool {
    name.ends_with(KNOWN) && process_of(name).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_find_the_same_folder() {
        let long = format!("/run/{}", "x".repeat(100));
        for (runtime, expected) in [
            (Some("/run/user/1000"), "/run/user/1000/ropewalk"),
            (Some("run/user/1000"), "/tmp/ropewalk-1000"),
            (Some(""), "/tmp/ropewalk-1000"),
            (Some(long.as_str()), "/tmp/ropewalk-1000"),
            (None, "/tmp/ropewalk-1000"),
        ] {
            assert_eq!(folder(runtime, Path::new("/tmp"), 1000), Path::new(expected), "{runtime:?}");
        }
    }

    #[test]
    fn a_socket_of_the_longest_name_fits_exactly() {
        let longest = LONGEST_SOCKET - LONGEST_NAME.len() - 1;
        assert!(fits(Path::new(&format!("/{}", "x".repeat(longest - 1)))));
        assert!(!fits(Path::new(&format!("/{}", "x".repeat(longest)))));
    }

    #[test]
    fn only_a_whole_name_of_ours_is_one() {
        for (name, process, known) in [
            ("12.json", Some(12), true),
            ("12.sock", Some(12), false),
            ("4294967295.json", Some(u32::MAX), true),
            ("4294967296.json", None, false),
            (".12.json-ab", None, false),
            ("+12.json", None, false),
            (".json", None, false),
            ("notes.json", None, false),
        ] {
            assert_eq!((process_of(name), makes_known(name)), (process, known), "{name}");
        }
        assert_eq!((process_of(&socket_of(7)), process_of(&known_of(7))), (Some(7), Some(7)));
    }
}
