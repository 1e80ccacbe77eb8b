//! The calls that have not ended: what can be cancelled, and what a harness waits for.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

use crate::sessions::DEFAULT_SESSION;

use super::Dispatch;

impl Dispatch {
    /// Cancels calls of a session: one, those of a turn, or all. Answers how many were cancelled.
    pub fn cancel(&self, session_id: Option<&str>, call_id: Option<&str>, turn_id: Option<&str>) -> usize {
        let session = session_id.unwrap_or(DEFAULT_SESSION);
        self.inputs.cancel(session, call_id, turn_id);
        self.calls.cancel(|call| {
            call.session == session
                && call_id.is_none_or(|id| call.id == id)
                && turn_id.is_none_or(|id| call.turn.as_deref() == Some(id))
        })
    }

    /// Cancels everything for good, calls that still come included, for the end of the process; background work too.
    pub fn cancel_all(&self) {
        self.inputs.forget_all();
        self.calls.end();
        self.jobs.stop_all();
    }

    /// Waits until no call within a call and no background work runs any more.
    pub async fn idle(&self) {
        self.nested.close();
        tokio::join!(self.nested.wait(), self.jobs.idle(), self.servers_ended());
    }

    /// The calls that have not ended, as `session/call tool`, sorted.
    pub fn open_calls(&self) -> Vec<String> {
        let mut open = self.calls.told();
        open.extend(self.joining.pending().map(str::to_owned));
        open
    }
}

/// All open calls, in the order in which they came.
#[derive(Default)]
pub(super) struct Calls {
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    calls: BTreeMap<u64, Call>,
    last: u64,
    /// Everything was cancelled for good.
    over: bool,
}

/// What is known of a call from outside.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub session: String,
    pub id: String,
    pub turn: Option<String>,
    pub tool: String,
    pub cancel: CancellationToken,
}

/// A call is open for as long as this lives.
pub(super) struct OpenCall {
    calls: Arc<Calls>,
    /// Its number among all calls.
    pub number: u64,
}

impl Calls {
    /// A call came in. When everything has been cancelled for good, it is cancelled from the start.
    pub(super) fn open(self: &Arc<Calls>, call: Call) -> OpenCall {
        let mut open = self.lock();
        open.last += 1;
        let number = open.last;
        if open.over {
            call.cancel.cancel();
        }
        open.calls.insert(number, call);
        OpenCall { calls: Arc::clone(self), number }
    }

    /// Cancels the calls that fit and answers how many were not cancelled before.
    pub(super) fn cancel(&self, fits: impl Fn(&Call) -> bool) -> usize {
        // Collected first: whoever is woken by a cancel may come back here at once.
        let tokens: Vec<CancellationToken> = self
            .lock()
            .calls
            .values()
            .filter(|call| fits(call) && !call.cancel.is_cancelled())
            .map(|call| call.cancel.clone())
            .collect();
        for token in &tokens {
            token.cancel();
        }
        tokens.len()
    }

    /// Cancels all calls, also those to come.
    pub(super) fn end(&self) {
        self.lock().over = true;
        self.cancel(|_| true);
    }

    /// Whether a call is open.
    pub(super) fn has(&self, session: &str, id: &str) -> bool {
        self.lock().calls.values().any(|call| call.session == session && call.id == id)
    }

    /// The number of the last call that came.
    pub(super) fn last(&self) -> u64 {
        self.lock().last
    }

    /// Whether a call of a session is open that came no later than the one of this number.
    pub(super) fn open_until(&self, session: &str, number: u64) -> bool {
        self.lock().calls.range(..=number).any(|(_, call)| call.session == session)
    }

    /// `session/call tool`, sorted.
    pub(super) fn told(&self) -> Vec<String> {
        let mut told: Vec<String> =
            self.lock().calls.values().map(|call| format!("{}/{} {}", call.session, call.id, call.tool)).collect();
        told.sort_unstable();
        told
    }

    /// The calls of a session, as `call tool`, sorted.
    pub(super) fn of(&self, session: &str) -> Vec<String> {
        let open = self.lock();
        let calls = open.calls.values().filter(|call| call.session == session);
        let mut told: Vec<String> = calls.map(|call| format!("{} {}", call.id, call.tool)).collect();
        told.sort_unstable();
        told
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for OpenCall {
    fn drop(&mut self) {
        self.calls.lock().calls.remove(&self.number);
    }
}
