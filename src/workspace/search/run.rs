//! A search while it runs: on a thread of its own, stopped at once when nobody waits for it any more.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::Job;
use crate::workspace::{Refusal, RefusalKind};

/// So many searches run at once; more wait. Each has up to [`crate::ports::MAX_THREADS`] threads.
const MAX_SEARCHES: usize = 4;

static SEARCHES: Semaphore = Semaphore::const_new(MAX_SEARCHES);

/// What a search and those who wait for it share.
#[derive(Debug, Default)]
pub struct Run {
    ended: AtomicU8,
    files: AtomicU64,
}

/// Why a search was stopped before it had seen everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// Nobody waits for it.
    Cancelled,
    /// Its time was up.
    TimeLimit,
}

impl Run {
    /// Stops it. The first reason stays.
    pub fn stop(&self, why: Ended) {
        let code = match why {
            Ended::Cancelled => 1,
            Ended::TimeLimit => 2,
        };
        let _ = self.ended.compare_exchange(0, code, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Whether it was stopped, and why.
    pub fn ended(&self) -> Option<Ended> {
        match self.ended.load(Ordering::Relaxed) {
            0 => None,
            1 => Some(Ended::Cancelled),
            _ => Some(Ended::TimeLimit),
        }
    }

    /// How many files it has looked at so far, for whoever shows progress.
    pub fn files(&self) -> u64 {
        self.files.load(Ordering::Relaxed)
    }

    pub(super) fn count(&self, files: u64) {
        self.files.fetch_add(files, Ordering::Relaxed);
    }
}

/// Stops the search when whoever waited for it went away.
struct Leash(Arc<Run>);

impl Drop for Leash {
    fn drop(&mut self) {
        self.0.stop(Ended::Cancelled);
    }
}

impl Job {
    /// Runs a part of the search off the runtime's threads, until it is done, cancelled or out of time. When it was
    /// cancelled, the refusal says so; when its time was up, the result is what there was by then.
    pub async fn go<T, F>(self, cancel: &CancellationToken, work: F) -> Result<T, Refusal>
    where
        T: Send + 'static,
        F: FnOnce(&Job) -> T + Send + 'static,
    {
        let cancelled = || Refusal::new(RefusalKind::Cancelled, "The search was cancelled.");
        let run = Arc::clone(&self.run);
        let limit = Duration::from_millis(self.limit_ms);
        let _leash = Leash(Arc::clone(&run));
        let _turn = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(cancelled()),
            turn = SEARCHES.acquire() => turn,
        };
        let mut task = tokio::task::spawn_blocking(move || work(&self));
        let done = tokio::select! {
            biased;
            () = cancel.cancelled() => {
                run.stop(Ended::Cancelled);
                return Err(cancelled());
            }
            done = &mut task => done,
            () = tokio::time::sleep(limit) => {
                run.stop(Ended::TimeLimit);
                tokio::select! {
                    biased;
                    () = cancel.cancelled() => return Err(cancelled()),
                    done = &mut task => done,
                }
            }
        };
        done.map_err(|error| Refusal::new(RefusalKind::Failed, format!("The search failed: {error}.")))
    }
}
