//! What becomes ours when a supervisor is killed: it is ended like what a command leaves behind, and no zombie stays.
//!
//! A command can kill its own supervisor (`kill -9 $PPID`). What it had moved out of its process group would belong to
//! init then, and to nobody's account. So we are a subreaper too ([`adopt_orphans`]): all that such a supervisor had
//! becomes our child. Which of our children those are needs no mark on them, which a program could take off (`env -i`):
//! all but the supervisors, since we start nothing else. That is so only where nothing else can become our child.
//! Where something can, orphans are nobody's, as without all this; [`adopt_orphans`] tells when.
//!
//! A process of ours that has ended is reaped by its id, and never "any": that would take the end of a supervisor away
//! from those who wait for it.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, WaitOptions, getpid, waitid, waitpid};
use tracing::{debug, warn};

use super::plan::{Plan, Step};
use super::supervise::{LOOK_AGAIN, become_subreaper};
use super::table::{self, Row};

/// Between two looks at what could not be ended.
const LINGER: Duration = Duration::from_millis(500);

/// Whether orphans come to us.
static ADOPTS: AtomicBool = AtomicBool::new(false);

/// Whether somebody looks at what could not be ended.
static LINGERS: AtomicBool = AtomicBool::new(false);

/// The ids of the supervisors that were started and not yet reaped. Normally each is there once; one may have the id of
/// another for the moment between the reaping of that and its removal.
static SUPERVISORS: Mutex<BTreeMap<u32, usize>> = Mutex::new(BTreeMap::new());

fn supervisors() -> MutexGuard<'static, BTreeMap<u32, usize>> {
    SUPERVISORS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From now on what a killed supervisor had comes to this process and is ended (Linux). For the whole process, before it
/// starts anything; from then on it starts children through this room only.
///
/// Nothing is changed where others could become our children too, which must not be ended: where we have children
/// already (the program that became us by `exec` had some), and where we are the first process of a container, to which
/// all orphans in it come.
pub fn adopt_orphans() {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    let childless = matches!(waitid(WaitId::All, look), Err(Errno::CHILD));
    if childless && !getpid().is_init() && become_subreaper() {
        ADOPTS.store(true, Ordering::Relaxed);
    } else {
        debug!("what a killed supervisor leaves is not ended here");
    }
}

/// A supervisor that is known to be one; until this is dropped, which must not be before it was reaped.
#[derive(Debug)]
pub(super) struct Known(u32);

impl Drop for Known {
    fn drop(&mut self) {
        let mut supervisors = supervisors();
        if let Some(count) = supervisors.get_mut(&self.0) {
            *count -= 1;
            if *count == 0 {
                supervisors.remove(&self.0);
            }
        }
    }
}

/// Starts a supervisor, so that there is no moment in which it could be taken for an orphan.
pub(super) fn known(
    start: impl FnOnce() -> io::Result<tokio::process::Child>,
) -> io::Result<(tokio::process::Child, Known)> {
    let mut supervisors = supervisors();
    let child = start()?;
    let id = child.id().ok_or(io::ErrorKind::NotFound)?;
    *supervisors.entry(id).or_default() += 1;
    Ok((child, Known(id)))
}

/// Ends what has come to us, after a supervisor was killed and reaped; whether we do that at all. When it is answered,
/// nothing is left that can be ended.
pub(super) async fn end() -> bool {
    if !ADOPTS.load(Ordering::Relaxed) {
        return false;
    }
    let left = tokio::task::spawn_blocking(end_now).await.unwrap_or(1);
    if left > 0 {
        warn!(left, "processes of a killed supervisor could not be ended");
        reap_later();
    }
    true
}

/// Looks after what has come to us and could not be ended, until it has ended by itself. Returns at once.
pub(super) fn reap_later() {
    if !ADOPTS.load(Ordering::Relaxed) || LINGERS.swap(true, Ordering::Relaxed) {
        return;
    }
    tokio::spawn(async {
        loop {
            tokio::time::sleep(LINGER).await;
            // It is said that nobody looks before the last look, so that what comes in between is seen by one or the other.
            LINGERS.store(false, Ordering::Relaxed);
            let left = tokio::task::spawn_blocking(|| !look().orphans.is_empty()).await;
            if !left.unwrap_or(false) || LINGERS.swap(true, Ordering::Relaxed) {
                break;
            }
        }
    });
}

/// Asks all of it to end, then uses force, as a supervisor does with what a command left; how many are left.
fn end_now() -> usize {
    let mut plan = Plan::new();
    plan.over(Instant::now());
    loop {
        let found = look();
        match plan.step(!found.orphans.is_empty(), Instant::now()) {
            Step::Done => return found.orphans.len(),
            Step::Ask => {
                for row in found.all() {
                    table::send(row, Signal::TERM);
                    // One that was stopped hears nothing before it goes on.
                    table::send(row, Signal::CONT);
                }
            }
            Step::Force => {
                table::hit_children(|row| !is_known(&supervisors(), row), kill);
                kill(&look().all());
            }
            Step::Wait(_) => {}
        }
        #[expect(
            clippy::disallowed_methods,
            reason = "it runs beside the runtime, and nobody tells of a process that ends"
        )]
        std::thread::sleep(LOOK_AGAIN);
    }
}

fn kill(rows: &[Row]) {
    for row in rows {
        table::send(*row, Signal::KILL);
    }
}

/// The processes of the system at one moment.
struct Found {
    rows: Vec<Row>,
    /// Our children that are no supervisors and have not been reaped.
    orphans: BTreeSet<i32>,
}

impl Found {
    /// The orphans and all that descends from them.
    fn all(&self) -> Vec<Row> {
        table::with_descendants(&self.rows, self.orphans.clone())
    }
}

/// Looks who is there, and reaps orphans that have ended.
fn look() -> Found {
    // As long as this is held, no supervisor is started, and none that was reaped is forgotten.
    let supervisors = supervisors();
    let rows = table::all();
    let mut orphans = orphans(&rows, getpid().as_raw_nonzero().get(), |row| is_known(&supervisors, row));
    orphans.retain(|row| !(row.zombie && reaped(row.pid)));
    let orphans = orphans.iter().map(|row| row.pid).collect();
    Found { rows, orphans }
}

/// The children of `me` that are no supervisors.
fn orphans(rows: &[Row], me: i32, is_known: impl Fn(&Row) -> bool) -> Vec<Row> {
    rows.iter().filter(|row| row.parent == me && !is_known(row)).copied().collect()
}

fn is_known(supervisors: &BTreeMap<u32, usize>, row: &Row) -> bool {
    u32::try_from(row.pid).is_ok_and(|pid| supervisors.contains_key(&pid))
}

/// Whether a child that has ended is gone now. One is not whose first thread alone has ended.
fn reaped(pid: i32) -> bool {
    let pid = Pid::from_raw(pid);
    pid.is_some_and(|pid| !matches!(waitpid(Some(pid), WaitOptions::NOHANG), Ok(None)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(pid: i32, parent: i32) -> Row {
        Row { pid, parent, group: pid, zombie: false, began: 0 }
    }

    #[test]
    fn orphans_are_the_children_that_are_no_supervisors() {
        let rows = [row(7, 1), row(20, 10), row(21, 10), row(22, 10), row(30, 20), row(31, 21), row(32, 31)];
        let supervisors = BTreeMap::from([(20, 1), (99, 1)]);
        let orphans: Vec<i32> =
            orphans(&rows, 10, |row| is_known(&supervisors, row)).iter().map(|row| row.pid).collect();
        assert_eq!(orphans, [21, 22]);
        let found = Found { rows: rows.to_vec(), orphans: orphans.into_iter().collect() };
        assert_eq!(found.all().iter().map(|row| row.pid).collect::<Vec<_>>(), [21, 22, 31, 32]);
    }

    #[test]
    fn an_id_is_known_as_long_as_anybody_has_it() {
        // An id that the system gives to nobody.
        let (id, row) = (u32::MAX, row(-1, 0));
        let knows = || supervisors().contains_key(&id);
        *supervisors().entry(id).or_default() += 2;
        let (first, second) = (Known(id), Known(id));
        drop(first);
        assert!(knows());
        drop(second);
        assert!(!knows() && !is_known(&supervisors(), &row));
    }
}
