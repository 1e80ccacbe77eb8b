//! What is told to those who joined: how their calls get on, and that lists or texts are others now. Nobody waits for them:
//! what comes faster than it is taken comes together.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio::sync::{Notify, mpsc};

use crate::editor::{News, ToolsChanged, WorkDone};
use crate::workspace::documents::DocEvent;

/// What our own tokens of progress begin with. No client's token gets here: each has one of ours instead.
const TOKEN: &str = "ropewalk-bridge/";

/// So many reports of one call wait to be told; more are passed over.
const MOST_REPORTS: usize = 64;

/// So many resources may one client follow.
const MOST_FOLLOWED: usize = 256;

/// Everybody who joined, and the calls that report.
#[derive(Default)]
pub(super) struct Hub {
    clients: Mutex<BTreeMap<u64, Arc<Mailbox>>>,
    reports: Mutex<HashMap<String, mpsc::Sender<WorkDone>>>,
    next: AtomicU64,
}

/// What one client has to be told.
pub(super) struct Mailbox {
    session: String,
    state: Mutex<State>,
    more: Notify,
}

#[derive(Default)]
struct State {
    untold: Untold,
    followed: BTreeSet<String>,
}

/// What a client has not been told yet.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Untold {
    /// The list of tools is another one.
    pub tools: bool,
    /// The list of resources is.
    pub resources: bool,
    /// These resources are.
    pub updated: BTreeSet<String>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A client's place in the hub, until it is dropped.
pub(super) struct Place {
    hub: Arc<Hub>,
    number: u64,
    /// What it has to be told.
    pub mailbox: Arc<Mailbox>,
}

impl Drop for Place {
    fn drop(&mut self) {
        lock(&self.hub.clients).remove(&self.number);
    }
}

/// A call that reports, until it is dropped.
pub(super) struct Reports {
    hub: Arc<Hub>,
    /// The token that the call gets.
    pub token: Value,
    /// What it reports.
    pub come: mpsc::Receiver<WorkDone>,
}

impl Drop for Reports {
    fn drop(&mut self) {
        if let Some(token) = self.token.as_str() {
            lock(&self.hub.reports).remove(token);
        }
    }
}

impl Hub {
    /// A client comes, whose calls are of this session.
    pub(super) fn join(self: &Arc<Hub>, session: &str) -> Place {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let mailbox = Arc::new(Mailbox { session: session.to_owned(), state: Mutex::default(), more: Notify::new() });
        lock(&self.clients).insert(number, Arc::clone(&mailbox));
        Place { hub: Arc::clone(self), number, mailbox }
    }

    /// A call that reports comes.
    pub(super) fn reports(self: &Arc<Hub>) -> Reports {
        let token = format!("{TOKEN}{}", self.next.fetch_add(1, Ordering::Relaxed));
        let (sender, come) = mpsc::channel(MOST_REPORTS);
        lock(&self.reports).insert(token.clone(), sender);
        Reports { hub: Arc::clone(self), token: Value::String(token), come }
    }

    /// News. Answers whether it was for a client alone.
    pub(super) fn hears(&self, news: &News) -> bool {
        match news {
            News::Progress(Value::String(token), done) if token.starts_with(TOKEN) => {
                if let Some(reports) = lock(&self.reports).get(token) {
                    // A report more or less of many matters to nobody.
                    let _ = reports.try_send(done.clone());
                }
                true
            }
            News::Tools(ToolsChanged { session_id }) => {
                self.each(|mailbox| {
                    let of_it = session_id.as_ref().is_none_or(|session| *session == mailbox.session);
                    of_it.then(|| mailbox.tell(|state| state.untold.tools = true));
                });
                false
            }
            _ => false,
        }
    }

    /// Something happened to a document.
    pub(super) fn document(&self, event: &DocEvent) {
        let uri = &event.snapshot().uri;
        match event {
            DocEvent::Opened(_) | DocEvent::Closed(_) => {
                self.each(|mailbox| mailbox.tell(|state| state.untold.resources = true));
                self.updated(uri);
            }
            DocEvent::Changed { .. } | DocEvent::Resynced(_) => self.updated(uri),
            DocEvent::Saved(_) => {}
        }
    }

    /// A resource is another one now.
    pub(super) fn updated(&self, uri: &str) {
        self.each(|mailbox| {
            if lock(&mailbox.state).followed.contains(uri) {
                mailbox.tell(|state| state.untold.updated.extend([uri.to_owned()]));
            }
        });
    }

    fn each<R>(&self, act: impl Fn(&Mailbox) -> R) {
        for mailbox in lock(&self.clients).values() {
            act(mailbox);
        }
    }
}

impl Mailbox {
    fn tell(&self, change: impl FnOnce(&mut State)) {
        change(&mut lock(&self.state));
        self.more.notify_one();
    }

    /// Follows a resource, or no longer. Answers whether it does now; too many are not followed.
    pub(super) fn follow(&self, uri: &str, on: bool) -> bool {
        let followed = &mut lock(&self.state).followed;
        if !on {
            followed.remove(uri);
            return false;
        }
        if followed.len() >= MOST_FOLLOWED && !followed.contains(uri) {
            return false;
        }
        followed.insert(uri.to_owned());
        true
    }

    /// Waits for something to tell, and takes it.
    pub(super) async fn next(&self) -> Untold {
        loop {
            let untold = std::mem::take(&mut lock(&self.state).untold);
            if untold != Untold::default() {
                return untold;
            }
            self.more.notified().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;

    fn tools(session: Option<&str>) -> News {
        News::Tools(ToolsChanged { session_id: session.map(str::to_owned) })
    }

    #[test]
    fn each_is_told_what_is_its_own_and_all_at_once() {
        let hub = Arc::<Hub>::default();
        let (one, two) = (hub.join("mcp-1"), hub.join("mcp-2"));
        assert!(!hub.hears(&tools(Some("mcp-1"))), "the editor hears of it too");
        hub.hears(&tools(Some("default")));
        assert!(one.mailbox.follow("file:///a", true));
        hub.updated("file:///a");
        hub.updated("file:///a");
        hub.updated("file:///b");
        let expected = Untold { tools: true, resources: false, updated: ["file:///a".to_owned()].into() };
        assert_eq!(one.mailbox.next().now_or_never(), Some(expected));
        assert_eq!(one.mailbox.next().now_or_never(), None);
        assert_eq!(two.mailbox.next().now_or_never(), None);
        hub.hears(&tools(None));
        assert_eq!(two.mailbox.next().now_or_never().map(|untold| untold.tools), Some(true));
        one.mailbox.follow("file:///a", false);
        hub.updated("file:///a");
        assert_eq!(one.mailbox.next().now_or_never().map(|untold| untold.updated.len()), Some(0));
        drop(two);
        assert_eq!(lock(&hub.clients).len(), 1);
    }

    #[test]
    fn nobody_follows_without_end() {
        let hub = Arc::<Hub>::default();
        let place = hub.join("mcp-1");
        for number in 0..MOST_FOLLOWED {
            assert!(place.mailbox.follow(&number.to_string(), true));
        }
        assert!(!place.mailbox.follow("one more", true));
        assert!(place.mailbox.follow("0", true), "this one is followed already");
    }

    #[test]
    fn reports_reach_their_call_alone_and_never_wait() {
        let hub = Arc::<Hub>::default();
        let (mut one, two) = (hub.reports(), hub.reports());
        assert_ne!(one.token, two.token);
        let report =
            |token: &Value| News::Progress(token.clone(), WorkDone::Report { message: None, percentage: Some(5) });
        for _ in 0..MOST_REPORTS * 2 {
            assert!(hub.hears(&report(&one.token)), "not for the editor");
        }
        let mut come = 0;
        while one.come.try_recv().is_ok() {
            come += 1;
        }
        assert_eq!((come, two.come.len()), (MOST_REPORTS, 0));
        assert!(!hub.hears(&report(&Value::from("the editor's own"))));
        assert!(!hub.hears(&report(&Value::from(7))));
        let late = one.token.clone();
        drop(one);
        assert!(hub.hears(&report(&late)), "late, but still not for the editor");
        assert_eq!(lock(&hub.reports).len(), 1);
    }
}
