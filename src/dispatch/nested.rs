//! Calls within calls. In the same session they run within the turn of the call that makes them, in another one they wait
//! for their turn there; either way they live a whole life of their own, and end with the call that made them.
//!
//! Nobody can wait for himself: a call in the same session never takes a ticket of its session while its parent holds one,
//! and sessions that are called into form a tree, along whose branches waiting only goes down.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::info;

use crate::config::Mode;
use crate::permissions::Judgement;
use crate::ports::Clock;
use crate::sessions::Session;
use crate::sessions::policy::Apply;
use crate::tool::{Access, Closed, Content, Door, ErrorKind, Listed, NestedCall, NestedResult, Slot, ToolError};

use super::propose::further;
use super::schedule::Ticket;
use super::{Admitted, CallParams, CallResult, Dispatch};

/// So deep may calls be within calls.
pub(super) const MAX_DEPTH: u32 = 5;

/// A call as those it makes see it.
pub(super) struct Lineage {
    /// Its number among all calls.
    pub number: u64,
    pub call_id: String,
    pub session: Arc<Session>,
    pub turn: Option<String>,
    /// Whether it may run beside its neighbours; then it may only make calls that may do so too.
    pub shared: bool,
    /// How many calls it is within.
    pub depth: u32,
    pub cancel: CancellationToken,
    /// Its turn, for as long as it and those it made need it; and that of its parent, which it holds on to.
    ticket: Mutex<Option<Arc<Ticket>>>,
    parents: Mutex<Option<Arc<Ticket>>>,
    children: AtomicU64,
    /// What it changes is only proposed, and so is what those change that it makes.
    proposes: AtomicBool,
    within: Mutex<Within>,
    ended: Notify,
}

/// How long a call has waited for those it made; that is their time and not its own.
#[derive(Debug, Default)]
struct Within {
    open: usize,
    /// Of these, those that nobody waits for any more.
    orphans: usize,
    since: Option<Instant>,
    spent: Duration,
}

impl Lineage {
    pub(super) fn new(
        number: u64,
        call_id: &str,
        session: &Arc<Session>,
        (turn, shared, depth): (Option<String>, bool, u32),
        cancel: &CancellationToken,
        (ticket, parents): (Ticket, Option<Arc<Ticket>>),
    ) -> Arc<Lineage> {
        Arc::new(Lineage {
            number,
            call_id: call_id.to_owned(),
            session: Arc::clone(session),
            turn,
            shared,
            depth,
            cancel: cancel.clone(),
            ticket: Mutex::new(Some(Arc::new(ticket))),
            parents: Mutex::new(parents),
            children: AtomicU64::new(0),
            proposes: AtomicBool::new(false),
            within: Mutex::default(),
            ended: Notify::new(),
        })
    }

    /// What it changes is only proposed.
    pub(super) fn propose(&self) {
        self.proposes.store(true, Ordering::Relaxed);
    }

    /// Its place in its line; `None` once it was given up.
    pub(super) fn ticket(&self) -> Option<Arc<Ticket>> {
        lock(&self.ticket).clone()
    }

    /// Gives its turn up. The next call may start as soon as those it made have ended too.
    pub(super) fn release(&self) {
        let given = (lock(&self.ticket).take(), lock(&self.parents).take());
        // Without the lock: whoever is woken by it may come back here at once.
        drop(given);
    }

    /// How long it has waited for calls it made, until now.
    pub(super) fn excused(&self, now: Instant) -> Duration {
        let within = lock(&self.within);
        within.spent + within.since.map(|since| now - since).unwrap_or_default()
    }

    /// Waits until those calls it made have ended that nobody waits for any more, because it was cut short. They were
    /// cancelled, and their ends are told before its own.
    pub(super) async fn finished(&self) {
        loop {
            let ended = self.ended.notified();
            if lock(&self.within).orphans == 0 {
                return;
            }
            ended.await;
        }
    }

    fn enter(self: &Arc<Lineage>, clock: Arc<dyn Clock>, cancel: CancellationToken) -> (Entered, Waiter) {
        let mut within = lock(&self.within);
        within.open += 1;
        within.since.get_or_insert(clock.now());
        drop(within);
        let tie = Arc::new(Mutex::new(Tie::Tied));
        let entered = Entered { lineage: Arc::clone(self), clock, tie: Arc::clone(&tie) };
        (entered, Waiter { lineage: Arc::clone(self), cancel, tie })
    }
}

/// Whether a call within a call and whoever waits for it still have each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tie {
    Tied,
    Orphan,
    Ended,
}

/// A call within a call has not ended.
struct Entered {
    lineage: Arc<Lineage>,
    clock: Arc<dyn Clock>,
    tie: Arc<Mutex<Tie>>,
}

/// Somebody waits for a call within a call. When nobody does any more it is cancelled, and still comes to its own end, all
/// of its changes told.
struct Waiter {
    lineage: Arc<Lineage>,
    cancel: CancellationToken,
    tie: Arc<Mutex<Tie>>,
}

impl Drop for Waiter {
    fn drop(&mut self) {
        let mut tie = lock(&self.tie);
        if *tie == Tie::Tied {
            *tie = Tie::Orphan;
            lock(&self.lineage.within).orphans += 1;
            drop(tie);
            self.cancel.cancel();
        }
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        let tie = std::mem::replace(&mut *lock(&self.tie), Tie::Ended);
        let mut within = lock(&self.lineage.within);
        within.open -= 1;
        within.orphans -= usize::from(tie == Tie::Orphan);
        if within.open == 0
            && let Some(since) = within.since.take()
        {
            within.spent += self.clock.now() - since;
        }
        drop(within);
        self.lineage.ended.notify_waiters();
    }
}

/// Which session was called into from which: a forest.
#[derive(Default)]
pub(super) struct Kinship(Mutex<BTreeMap<String, String>>);

impl Kinship {
    /// Whether a call of `parent` may call into `child`. The first session that does becomes its parent.
    fn adopt(&self, parent: &str, child: &str) -> bool {
        let mut parents = lock(&self.0);
        if let Some(known) = parents.get(child) {
            return known == parent;
        }
        let mut above = Some(parent);
        while let Some(session) = above {
            if session == child {
                return false;
            }
            above = parents.get(session).map(String::as_str);
        }
        parents.insert(child.to_owned(), parent.to_owned());
        true
    }

    /// A session was dropped.
    pub(super) fn forget(&self, session: &str) {
        // Those that were called into from it are free for others.
        lock(&self.0).retain(|child, parent| child != session && parent != session);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The slot as the tool of one call sees it; `lineage` is missing where nothing may be called.
pub(super) struct Inside {
    pub dispatch: Weak<Dispatch>,
    pub lineage: Option<Arc<Lineage>>,
}

#[async_trait]
impl Slot for Inside {
    fn catalog(&self, session: &Session) -> Vec<Listed> {
        let Some(dispatch) = self.dispatch.upgrade() else { return Vec::new() };
        dispatch.tools.catalog(session)
    }

    async fn judge(&self, tool: &str, access: Access) -> Result<Judgement, ToolError> {
        let gone = || refused("The call has ended.".to_owned());
        let dispatch = self.dispatch.upgrade().ok_or_else(gone)?;
        let (Some(entry), Some(parent)) = (dispatch.tools.named(tool), &self.lineage) else { return Err(gone()) };
        let reaches = [access.commands.as_slice(), &access.hosts].concat();
        let judged = further(&entry, access, &parent.session, (&dispatch.workspace, &dispatch.own)).await?;
        info!(
            target: "ropewalk::permissions",
            session = parent.session.id,
            call = parent.call_id,
            tool,
            ?reaches,
            decision = ?judged.decision,
            by = judged.by.name(),
            reason = judged.reason,
        );
        Ok(judged)
    }

    async fn call(&self, call: NestedCall) -> NestedResult {
        let (Some(dispatch), Some(parent)) = (self.dispatch.upgrade(), &self.lineage) else {
            return NestedResult {
                name: call.name,
                failed: Some(ErrorKind::Unavailable),
                content: vec![Content::text("No tool can be called now: this is only a preview, or the end.")],
                ..NestedResult::default()
            };
        };
        let admitted = dispatch.admit_within(parent, call);
        let (entered, waiter) = parent.enter(Arc::clone(&dispatch.workspace.ports.clock), admitted.canceller());
        let tasks = dispatch.nested.clone();
        let running = tasks.spawn(async move {
            let result = dispatch.run(admitted).await;
            drop(entered);
            result
        });
        let result = running.await;
        drop(waiter);
        result.map_or_else(|_| broken(), told)
    }

    async fn agent_session(&self, session: &Session, number: u64, anew: bool) -> Option<Arc<Session>> {
        Some(self.dispatch.upgrade()?.agent_session(session, number, anew).await)
    }

    fn agent_ended(&self, session: &str) {
        if let Some(dispatch) = self.dispatch.upgrade() {
            dispatch.agent_ended(session);
        }
    }

    fn door(&self) -> Arc<dyn Door> {
        self.dispatch.upgrade().map_or_else(|| Arc::new(Closed) as Arc<dyn Door>, |dispatch| dispatch.door.get())
    }
}

fn told(result: CallResult) -> NestedResult {
    NestedResult {
        call_id: result.call_id,
        name: result.name,
        failed: result.error.map(|error| error.kind),
        content: result.content,
        structured: result.structured_content,
    }
}

fn broken() -> NestedResult {
    NestedResult {
        failed: Some(ErrorKind::Failed),
        content: vec![Content::text("The call broke down.")],
        ..NestedResult::default()
    }
}

impl Dispatch {
    /// The mode of a call's session, if another session may do more than that.
    fn stricter(&self, parent: &Lineage, session: &str) -> Option<Mode> {
        if session == parent.session.id {
            return None;
        }
        let settings = self.workspace.settings();
        let own = parent.session.mode(&settings);
        let other = self.session(Some(session)).mode(&settings);
        (other.strictness() < own.strictness()).then_some(own)
    }

    /// Takes a call that a call makes.
    fn admit_within(&self, parent: &Arc<Lineage>, call: NestedCall) -> Admitted {
        let own = parent.session.id.clone();
        let session = call.session.unwrap_or_else(|| own.clone());
        let child = parent.children.fetch_add(1, Ordering::Relaxed) + 1;
        let apply = parent.proposes.load(Ordering::Relaxed).then_some(Apply::Propose);
        let params = CallParams {
            apply,
            session_id: Some(session.clone()),
            turn_id: parent.turn.clone().filter(|_| session == own),
            call_id: Some(format!("{}.{child}", parent.call_id)),
            name: call.name,
            arguments: Some(call.arguments),
            diagnostics: call.wait,
            ..CallParams::default()
        };
        let misfit = if parent.depth >= MAX_DEPTH {
            Some(refused(format!(
                "Calls are within calls {MAX_DEPTH} deep already; this one was not made. Do it without another tool."
            )))
        } else if session != own && !self.kin.adopt(&own, &session) {
            Some(refused(format!(
                "Session `{own}` cannot call into session `{session}`: that one belongs to another session, or waits for \
                 this very call. Use a new session."
            )))
        } else {
            self.stricter(parent, &session).map(|mode| {
                refused(format!(
                    "Session `{own}` is in {} mode, and session `{session}` may do more: nothing is done there for it.",
                    mode.name()
                ))
            })
        };
        // Within its parent's turn, for as long as its parent has one.
        let turn = (session == own && misfit.is_none()).then(|| parent.ticket()).flatten();
        self.admit_as(params, Some((parent, turn)), misfit, parent.cancel.child_token())
    }
}

/// Why a call that may run beside others cannot make this one: it would run beside them too, and may not.
pub(super) fn beside(parent: &Lineage, tool: &str) -> ToolError {
    refused(format!(
        "`{tool}` changes something or runs alone, and call {} runs beside others because it only reads: it cannot make \
         this call. Make it on its own.",
        parent.call_id
    ))
}

fn refused(message: String) -> ToolError {
    ToolError::new(ErrorKind::Unavailable, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_that_are_called_into_form_a_tree() {
        let kin = Kinship::default();
        assert!(kin.adopt("a", "b") && kin.adopt("a", "b") && kin.adopt("b", "c") && kin.adopt("a", "d"));
        assert!(!kin.adopt("d", "b"), "it has another parent");
        assert!(!kin.adopt("c", "a") && !kin.adopt("a", "a"), "it waits for this one");
        kin.forget("b");
        assert!(kin.adopt("d", "b"));
        kin.forget("d");
        assert!(kin.adopt("a", "b"));
    }
}
