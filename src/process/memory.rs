//! How much memory a child takes with all of its group.

use std::path::Path;

/// The resident memory of a process group (bytes): of each process in it, pages that they share counted for each.
/// `None` when the group is gone or nothing can be found out. Blocking, for some milliseconds.
pub fn resident(group: u32) -> Option<u64> {
    let kib = if Path::new("/proc/self/stat").exists() { in_proc(group) } else { by_ps(group) };
    kib.map(|kib| kib.saturating_mul(1024))
}

/// From `/proc`, where there is one (KiB).
#[expect(clippy::disallowed_methods, reason = "the system's own account of processes is no file of anybody's")]
fn in_proc(group: u32) -> Option<u64> {
    let mut sum = None;
    for entry in std::fs::read_dir("/proc").ok()?.flatten() {
        let name = entry.file_name();
        if !name.to_str().is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_digit())) {
            continue;
        }
        // A process that ended in the meantime takes nothing.
        let read = |what: &str| std::fs::read_to_string(entry.path().join(what)).unwrap_or_default();
        if group_of(&read("stat")) == Some(group) {
            *sum.get_or_insert(0) += resident_of(&read("status"));
        }
    }
    sum
}

/// From what `ps` tells, elsewhere: macOS (KiB).
#[expect(clippy::disallowed_methods, reason = "this is the room that starts programs")]
fn by_ps(group: u32) -> Option<u64> {
    let told = std::process::Command::new("/bin/ps").args(["-ax", "-o", "pgid=", "-o", "rss="]).output().ok()?;
    sum_of(&String::from_utf8_lossy(&told.stdout), group)
}

/// The group in a line of `/proc/PID/stat`. The name of the program is in parentheses, and anything may be in it.
fn group_of(stat: &str) -> Option<u32> {
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_ascii_whitespace().nth(2)?.parse().ok()
}

/// `VmRSS` of `/proc/PID/status` (KiB).
fn resident_of(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_ascii_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// The sum of a group in lines of group and KiB.
fn sum_of(told: &str, group: u32) -> Option<u64> {
    let rows = told.lines().filter_map(|line| {
        let mut fields = line.split_ascii_whitespace();
        Some((fields.next()?.parse::<u32>().ok()?, fields.next()?.parse::<u64>().ok()?))
    });
    rows.filter(|(of, _)| *of == group).map(|(_, kib)| kib).reduce(u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::SystemClock;
    use crate::process::{By, Launch, find, spawn};
    use std::sync::Arc;
    use tokio::io::{AsyncBufReadExt as _, BufReader};

    #[test]
    fn accounts_are_read() {
        assert_eq!(group_of("17 (a) b (c)) S 1 42 42 0 -1"), Some(42));
        assert_eq!(group_of("17 (a) S"), None);
        assert_eq!(group_of(""), None);
        assert_eq!(resident_of("Name:\tx\nVmRSS:\t    1234 kB\nThreads: 1\n"), 1234);
        assert_eq!(resident_of("Name:\tkernel thread\n"), 0);
        assert_eq!(sum_of("  1   10\n 42  100\n 42 23\nodd\n", 42), Some(123));
        assert_eq!(sum_of("  1   10\n", 42), None);
    }

    #[tokio::test]
    async fn a_group_is_weighed_with_all_that_is_in_it() {
        let launch = Launch {
            program: find("sh", &[]).unwrap(),
            args: vec!["-c".into(), "sleep 1000 & sleep 1000 & echo ready; wait".into()],
            ..Launch::default()
        };
        let spawned = spawn(&launch, &By::new(Arc::new(SystemClock))).unwrap();
        let mut stdout = BufReader::new(spawned.stdout);
        let mut line = String::new();
        stdout.read_line(&mut line).await.unwrap();
        assert!(resident(spawned.child.id()).is_some_and(|bytes| bytes > 64 * 1024));
    }
}
