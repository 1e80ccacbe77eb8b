//! What can be seen of processes that we did not start: whether they are there, and what they run.

use std::path::PathBuf;

use rustix::io::Errno;
use rustix::process::Pid;

/// Bytes of a command line that are looked at.
const COMMAND_LINE: usize = 4096;

/// A process that we did not start, as far as it can be seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Other {
    /// The file of its program.
    pub program: PathBuf,
    /// Its arguments, the program's name first.
    pub arguments: Vec<String>,
    /// The process that started it.
    pub parent: Option<u32>,
}

/// Whether there is a process of this number. One that we may not ask is there.
pub fn exists(process: u32) -> bool {
    let pid = i32::try_from(process).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid) != Err(Errno::SRCH))
}

/// The process that started us, if it is still there.
pub fn parent() -> Option<u32> {
    rustix::process::getppid().and_then(|pid| u32::try_from(pid.as_raw_nonzero().get()).ok())
}

/// What a process runs; `None` where the system does not show it.
pub fn other(process: u32) -> Option<Other> {
    let folder = PathBuf::from(format!("/proc/{process}"));
    let program = std::fs::read_link(folder.join("exe")).ok()?;
    Some(Other {
        program,
        arguments: arguments_of(&start_of(folder.join("cmdline"))),
        parent: parent_in(&String::from_utf8_lossy(&start_of(folder.join("status")))),
    })
}

fn start_of(file: PathBuf) -> Vec<u8> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    if let Ok(file) = std::fs::File::open(file) {
        // What cannot be read is not seen.
        let _ = file.take(COMMAND_LINE as u64).read_to_end(&mut bytes);
    }
    bytes
}

fn arguments_of(line: &[u8]) -> Vec<String> {
    let line = line.strip_suffix(b"\0").unwrap_or(line);
    if line.is_empty() {
        return Vec::new();
    }
    line.split(|byte| *byte == 0).map(|part| String::from_utf8_lossy(part).into_owned()).collect()
}

fn parent_in(status: &str) -> Option<u32> {
    let number = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
    number.trim().parse().ok().filter(|parent| *parent != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_shows_is_read() {
        assert_eq!(arguments_of(b"node\0agent.js\0\0--x\0"), ["node", "agent.js", "", "--x"]);
        assert_eq!(arguments_of(b""), Vec::<String>::new());
        assert_eq!(parent_in("Name:\tx\nPPid:\t42\nUid:\t0\n"), Some(42));
        assert_eq!(parent_in("PPid:\t0\n"), None);
        assert_eq!(parent_in("Name:\tx\n"), None);
    }

    #[test]
    fn we_are_there_and_nobody_has_an_impossible_number() {
        assert!(exists(std::process::id()) && !exists(0) && !exists(u32::MAX));
        assert!(parent().is_some());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn we_can_be_seen() {
        let own = other(std::process::id()).unwrap();
        assert_eq!(own.program, std::env::current_exe().unwrap());
        assert_eq!((own.parent, own.arguments.is_empty()), (parent(), false));
        assert_eq!(other(u32::MAX), None);
    }
}
