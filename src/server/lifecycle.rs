//! How a run ends: who says so first, and with which exit code.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::process::Pid;
use tokio::sync::watch;
use tracing::{debug, info};

use crate::ports::Clock;

/// How often the editor's process is looked for: nothing that we started shall outlive it by two seconds.
const WATCH_EVERY: Duration = Duration::from_millis(250);

/// How long calls that are being written, or have been sent to the editor, may take to end.
pub(super) const CALLS_GRACE: Duration = Duration::from_secs(1);

/// How long our own language servers may take to leave politely.
pub(super) const SERVERS_GRACE: Duration = Duration::from_millis(500);

/// How long what sessions remember may take to be written.
pub(super) const STORE_GRACE: Duration = Duration::from_millis(500);

/// How long the last bytes may take to leave.
pub(super) const FLUSH_GRACE: Duration = Duration::from_millis(500);

/// Why a run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    /// The editor sent `exit`.
    Exit,
    /// Our input ended.
    InputEnded,
    /// Nobody reads our output any more.
    OutputClosed,
    /// The editor's process is gone.
    ParentDied,
    /// We were told to end by a signal of this number.
    Signal(u8),
}

impl Reason {
    /// The exit code: 0 after a `shutdown`, 1 without one, and the shell's custom for a signal.
    pub(super) fn code(self, after_shutdown: bool) -> u8 {
        match self {
            Reason::Signal(number) => 128 + number,
            _ if after_shutdown => 0,
            _ => 1,
        }
    }
}

/// A bell that rings once, for the first reason to end. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Gone {
    reason: Arc<watch::Sender<Option<Reason>>>,
    after_shutdown: Arc<AtomicBool>,
}

impl Gone {
    /// Not gone.
    pub(super) fn new() -> Gone {
        Gone { reason: Arc::new(watch::Sender::new(None)), after_shutdown: Arc::default() }
    }

    /// Rings; only the first reason counts.
    pub(super) fn fire(&self, reason: Reason) {
        self.reason.send_if_modified(|now| {
            if now.is_some() {
                return false;
            }
            info!(?reason, "ending");
            *now = Some(reason);
            true
        });
    }

    /// The editor sent `shutdown`, so that the end is an orderly one.
    pub(super) fn shutdown(&self) {
        self.after_shutdown.store(true, Ordering::Release);
    }

    /// Waits for the bell; gives the exit code.
    pub(super) async fn wait(&self) -> u8 {
        let mut reason = self.reason.subscribe();
        // The sender lives as long as we do, so that this cannot fail.
        let reason = reason.wait_for(Option::is_some).await.ok().and_then(|reason| *reason);
        reason.unwrap_or(Reason::InputEnded).code(self.after_shutdown.load(Ordering::Acquire))
    }
}

impl Default for Gone {
    fn default() -> Gone {
        Gone::new()
    }
}

/// What can be seen of the editor's process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Sight {
    /// A process of that number exists.
    exists: bool,
    /// It is the one that started us.
    parent: bool,
}

/// Whether the process is gone, by what was seen of it at first and now. A parent that has died can stay visible as a
/// zombie, but we are somebody else's child then. One that was not visible at first (another container) tells nothing.
fn has_died(first: Sight, now: Sight) -> bool {
    first.exists && (!now.exists || (first.parent && !now.parent))
}

fn look(pid: Pid) -> Sight {
    use rustix::io::Errno;
    Sight {
        // Not permitted to signal it: then it is there.
        exists: !matches!(rustix::process::test_kill_process(pid), Err(Errno::SRCH)),
        parent: rustix::process::getppid() == Some(pid),
    }
}

/// The editor's process, as it was seen when the editor introduced itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct Parent {
    pid: Pid,
    first: Sight,
}

impl Parent {
    /// Looks for the process at once, so that its death right afterwards is noticed. `None`: there is none to watch,
    /// or it is not visible here (another container).
    pub(super) fn see(process_id: Option<u32>) -> Option<Parent> {
        let pid = process_id.and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw)?;
        let first = look(pid);
        if !first.exists {
            debug!(?pid, "the editor's process is not visible here");
        }
        first.exists.then_some(Parent { pid, first })
    }
}

/// Rings when the editor's process is gone.
pub(super) async fn watch_parent(parent: Parent, clock: Arc<dyn Clock>, gone: Gone) {
    let Parent { pid, first } = parent;
    while !has_died(first, look(pid)) {
        clock.sleep(WATCH_EVERY).await;
    }
    gone.fire(Reason::ParentDied);
}

/// Rings when we are told to end. Never ends by itself.
pub(super) async fn watch_signals(gone: Gone) {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut terminate), Ok(mut interrupt), Ok(mut hangup)) =
        (signal(SignalKind::terminate()), signal(SignalKind::interrupt()), signal(SignalKind::hangup()))
    else {
        return std::future::pending().await;
    };
    loop {
        let number = tokio::select! {
            _ = terminate.recv() => 15,
            _ = interrupt.recv() => 2,
            _ = hangup.recv() => 1,
        };
        gone.fire(Reason::Signal(number));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes() {
        for (reason, after_shutdown, code) in [
            (Reason::Exit, true, 0),
            (Reason::Exit, false, 1),
            (Reason::InputEnded, true, 0),
            (Reason::InputEnded, false, 1),
            (Reason::OutputClosed, false, 1),
            (Reason::ParentDied, false, 1),
            (Reason::Signal(15), true, 143),
        ] {
            assert_eq!(reason.code(after_shutdown), code, "{reason:?} {after_shutdown}");
        }
    }

    #[test]
    fn when_the_editor_counts_as_dead() {
        let sight = |exists, parent| Sight { exists, parent };
        for (first, now, died) in [
            (sight(true, true), sight(true, true), false),
            (sight(true, true), sight(true, false), true),
            (sight(true, true), sight(false, false), true),
            (sight(true, false), sight(true, false), false),
            (sight(true, false), sight(false, false), true),
            (sight(false, false), sight(false, false), false),
        ] {
            assert_eq!(has_died(first, now), died, "{first:?} {now:?}");
        }
    }

    #[tokio::test]
    async fn the_first_reason_counts() {
        let gone = Gone::new();
        gone.fire(Reason::Signal(2));
        gone.fire(Reason::Exit);
        gone.shutdown();
        assert_eq!(gone.wait().await, 130);
    }
}
