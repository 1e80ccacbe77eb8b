//! Which processes there are below the supervisor, and signals to exactly those.

use std::collections::BTreeSet;

use rustix::process::{Pid, Signal};

/// One process, as the system's table has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) pid: i32,
    pub(super) parent: i32,
    pub(super) group: i32,
    /// It has ended, and only nobody has asked how.
    pub(super) zombie: bool,
    /// When it began, in the system's own count; tells it from a later one with the same id.
    pub(super) began: u64,
}

/// What descends from `top`, and what is in the group `group`, without `top` itself.
pub(super) fn below(rows: &[Row], top: i32, group: Option<i32>) -> Vec<Row> {
    let mut found: BTreeSet<i32> =
        rows.iter().filter(|row| row.parent == top || Some(row.group) == group).map(|row| row.pid).collect();
    // The table is in no order, so that it takes as many rounds as the tree is deep.
    loop {
        let more = rows.iter().filter(|row| found.contains(&row.parent) && !found.contains(&row.pid));
        let more: Vec<i32> = more.map(|row| row.pid).collect();
        if more.is_empty() {
            break;
        }
        found.extend(more);
    }
    rows.iter().filter(|row| row.pid != top && found.contains(&row.pid)).copied().collect()
}

/// The row in the text of `/proc/PID/stat`. The name of the program is in parentheses, and anything may be in it.
#[cfg(any(target_os = "linux", test))]
pub(super) fn row_of_stat(stat: &str) -> Option<Row> {
    let (pid, rest) = stat.split_once(' ')?;
    let (_, fields) = rest.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    // Field 22 of the line, the fifth being the one that comes next.
    let began = fields.nth(16)?.parse().ok()?;
    Some(Row { pid: pid.parse().ok()?, parent, group, zombie: matches!(state, "Z" | "X"), began })
}

/// The row in a line of `ps -o pid= -o ppid= -o pgid= -o state=`.
#[cfg(any(not(target_os = "linux"), test))]
pub(super) fn row_of_ps(line: &str) -> Option<Row> {
    let mut fields = line.split_ascii_whitespace();
    let mut number = || fields.next()?.parse().ok();
    let (pid, parent, group) = (number()?, number()?, number()?);
    Some(Row { pid, parent, group, zombie: fields.next()?.starts_with('Z'), began: 0 })
}

/// All processes.
#[cfg(target_os = "linux")]
#[expect(clippy::disallowed_methods, reason = "the system's own account of processes is no file of anybody's")]
pub(super) fn all() -> Vec<Row> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter(|entry| entry.file_name().as_encoded_bytes()[0].is_ascii_digit());
    // One that has ended in the meantime has no account any more.
    pids.filter_map(|entry| row_of_stat(&lossy(std::fs::read(entry.path().join("stat")).ok()?))).collect()
}

/// The children of the one thread that we are, at once: no table is walked for them. Where the kernel does not tell,
/// none.
#[cfg(target_os = "linux")]
#[expect(clippy::disallowed_methods, reason = "the system's own account of processes is no file of anybody's")]
pub(super) fn children() -> Vec<Row> {
    let told = std::fs::read("/proc/thread-self/children").map(lossy).unwrap_or_default();
    let row = |pid: &str| row_of_stat(&lossy(std::fs::read(format!("/proc/{pid}/stat")).ok()?));
    told.split_ascii_whitespace().filter_map(row).collect()
}

#[cfg(not(target_os = "linux"))]
pub(super) fn children() -> Vec<Row> {
    Vec::new()
}

#[cfg(target_os = "linux")]
fn lossy(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// All processes but the one that tells.
#[cfg(not(target_os = "linux"))]
#[expect(clippy::disallowed_methods, reason = "this is the room that starts programs")]
pub(super) fn all() -> Vec<Row> {
    use std::process::{Command, Stdio};
    let mut command = Command::new("/bin/ps");
    let columns = ["-ax", "-o", "pid=", "-o", "ppid=", "-o", "pgid=", "-o", "state="];
    command.args(columns).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let Ok(child) = command.spawn() else { return Vec::new() };
    let teller = i32::try_from(child.id()).unwrap_or_default();
    let Ok(told) = child.wait_with_output() else { return Vec::new() };
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    told.lines().filter_map(row_of_ps).filter(|row| row.pid != teller).collect()
}

/// Sends a signal to this process, and to none that has its id by now.
#[cfg(target_os = "linux")]
#[expect(clippy::disallowed_methods, reason = "the system's own account of processes is no file of anybody's")]
pub(super) fn send(row: Row, signal: Signal) {
    use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};
    let Some(pid) = Pid::from_raw(row.pid) else { return };
    match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(handle) => {
            let stat = std::fs::read(format!("/proc/{}/stat", row.pid)).map(lossy).unwrap_or_default();
            if row_of_stat(&stat).is_some_and(|now| now.began == row.began) {
                let _ = pidfd_send_signal(handle, signal);
            }
        }
        // It is gone.
        Err(rustix::io::Errno::SRCH) => {}
        // A system without such handles, or one out of descriptors.
        Err(_) => {
            let _ = rustix::process::kill_process(pid, signal);
        }
    }
}

/// Sends a signal to this process.
#[cfg(not(target_os = "linux"))]
pub(super) fn send(row: Row, signal: Signal) {
    if let Some(pid) = Pid::from_raw(row.pid) {
        let _ = rustix::process::kill_process(pid, signal);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(pid: i32, parent: i32, group: i32) -> Row {
        Row { pid, parent, group, zombie: false, began: 0 }
    }

    #[test]
    fn descendants_are_found_in_any_order_and_with_their_group() {
        let rows = [row(40, 30, 40), row(30, 20, 30), row(10, 1, 10), row(20, 10, 20), row(50, 1, 50), row(60, 1, 20)];
        let pids = |top, group| below(&rows, top, group).iter().map(|row| row.pid).collect::<Vec<_>>();
        assert_eq!(pids(10, None), [40, 30, 20]);
        assert_eq!(pids(10, Some(20)), [40, 30, 20, 60]);
        assert_eq!(pids(50, None), [0; 0]);
        // Its own group is that of its parent, and it is not its own descendant.
        assert_eq!(pids(10, Some(10)), [40, 30, 20]);
    }

    #[test]
    fn accounts_are_read() {
        let fields = "1 42 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 98765 4 5";
        let stat = format!("17 (a) b (c)) S {fields}");
        assert_eq!(row_of_stat(&stat), Some(Row { pid: 17, parent: 1, group: 42, zombie: false, began: 98765 }));
        assert!(row_of_stat(&format!("17 (x) Z {fields}")).is_some_and(|row| row.zombie));
        assert_eq!(row_of_stat("17 (a) S 1"), None);
        assert_eq!(row_of_stat(""), None);
        let told = Row { pid: 5, parent: 4, group: 3, zombie: true, began: 0 };
        assert_eq!(row_of_ps("   5  4   3 Z+"), Some(told));
        assert_eq!(row_of_ps("odd"), None);
    }

    #[test]
    fn we_are_in_the_table() {
        let me = rustix::process::getpid().as_raw_nonzero().get();
        assert!(all().iter().any(|row| row.pid == me && !row.zombie));
    }
}
