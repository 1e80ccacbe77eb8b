//! What a session remembers: which texts its model has seen, what its person consented to, its outputs. In memory; a
//! store comes beside it.

pub mod consents;

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use self::consents::Consents;
use crate::outputs::Store;
use crate::workspace::Key;

/// The session that calls belong to when they name none.
pub const DEFAULT_SESSION: &str = "default";

/// So many sessions without an open call are remembered, besides the default one; beyond that the longest idle is
/// dropped. Each may hold many megabytes of outputs.
pub const MAX_IDLE: usize = 64;

/// One conversation of a model with its tools.
#[derive(Debug)]
pub struct Session {
    /// Its name.
    pub id: String,
    seen: Mutex<HashMap<Key, Sight>>,
    outputs: Arc<Mutex<Store>>,
    consents: Mutex<Consents>,
    calls: AtomicU64,
    previews: AtomicU64,
    tools: Mutex<Arc<ToolPolicy>>,
    activated: Mutex<Vec<String>>,
}

/// Which tools a session may call. It narrows what there is, and never widens it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct ToolPolicy {
    /// Only these, by any of their names; absent: all.
    pub enable: Option<BTreeSet<String>>,
    /// Not these, by any of their names.
    pub disable: BTreeSet<String>,
}

impl ToolPolicy {
    /// Whether a tool of these names, which all are its own, may be called.
    pub fn allows<'a>(&self, mut names: impl Iterator<Item = &'a str> + Clone) -> bool {
        let disabled = names.clone().any(|name| self.disable.contains(name));
        !disabled && self.enable.as_ref().is_none_or(|enabled| names.any(|name| enabled.contains(name)))
    }
}

/// How much of a text the model has seen.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Sight {
    hash: String,
    /// The lines that were not shown: 0-based, rising, apart from one another.
    unseen: Vec<Range<usize>>,
}

impl Session {
    /// A session that has seen nothing.
    pub fn new(id: &str) -> Session {
        Session {
            id: id.to_owned(),
            seen: Mutex::default(),
            outputs: Arc::default(),
            consents: Mutex::default(),
            calls: AtomicU64::new(0),
            previews: AtomicU64::new(0),
            tools: Mutex::default(),
            activated: Mutex::default(),
        }
    }

    /// Which tools it may call.
    pub fn tools(&self) -> Arc<ToolPolicy> {
        Arc::clone(&lock(&self.tools))
    }

    /// Narrows which tools it may call, in place of what was said before.
    pub fn set_tools(&self, policy: ToolPolicy) {
        *lock(&self.tools) = Arc::new(policy);
    }

    /// The deferred tools that were called, in the order of their first calls.
    pub fn activated(&self) -> Vec<String> {
        lock(&self.activated).clone()
    }

    /// A deferred tool was called. Answers whether for the first time.
    pub fn activate(&self, tool: &str) -> bool {
        let mut activated = lock(&self.activated);
        let first = !activated.iter().any(|known| known == tool);
        if first {
            activated.push(tool.to_owned());
        }
        first
    }

    /// The model was shown this text, or made it, from end to end: its hash.
    pub fn saw(&self, key: &Key, hash: String) {
        lock(&self.seen).insert(key.clone(), Sight { hash, unseen: Vec::new() });
    }

    /// The model was shown some lines (0-based) of a text that has `total`. What it saw of the same text before counts.
    pub fn saw_lines(&self, key: &Key, hash: &str, lines: Range<usize>, total: usize) {
        let mut seen = lock(&self.seen);
        let sight = seen.entry(key.clone()).or_insert_with(|| Sight { hash: String::new(), unseen: Vec::new() });
        if sight.hash != hash {
            *sight = Sight { hash: hash.to_owned(), unseen: std::iter::once(0..total).collect() };
        }
        sight.unseen = sight
            .unseen
            .iter()
            .flat_map(|gap| [gap.start..gap.end.min(lines.start), gap.start.max(lines.end)..gap.end])
            .filter(|gap| !gap.is_empty())
            .collect();
    }

    /// The hash of the text the model last saw under this key, or parts of it.
    pub fn seen(&self, key: &Key) -> Option<String> {
        lock(&self.seen).get(key).map(|sight| sight.hash.clone())
    }

    /// The lines (0-based) of that text that the model was not shown; empty when it saw all, or nothing of it.
    pub fn unseen(&self, key: &Key) -> Vec<Range<usize>> {
        lock(&self.seen).get(key).map(|sight| sight.unseen.clone()).unwrap_or_default()
    }

    /// Whole outputs, also of what was cut for the model; and which call made which.
    pub fn outputs(&self) -> MutexGuard<'_, Store> {
        lock(&self.outputs)
    }

    /// The same store, for what goes on when the session may be gone.
    pub fn shared_outputs(&self) -> Arc<Mutex<Store>> {
        Arc::clone(&self.outputs)
    }

    /// What the person said to calls.
    pub fn consents(&self) -> MutexGuard<'_, Consents> {
        lock(&self.consents)
    }

    /// The number of the next call: 1, 2, 3 ...
    pub fn next_call(&self) -> u64 {
        self.calls.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// The number of the next preview: 1, 2, 3 ...
    pub fn next_preview(&self) -> u64 {
        self.previews.fetch_add(1, Ordering::Relaxed) + 1
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing that panics runs under these locks; each holds one plain collection.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// All sessions, by name.
#[derive(Debug, Default)]
pub struct Sessions {
    all: Mutex<All>,
}

#[derive(Debug, Default)]
struct All {
    open: HashMap<String, Known>,
    /// Counts what is done with sessions: a clock that orders them.
    uses: u64,
}

#[derive(Debug)]
struct Known {
    session: Arc<Session>,
    /// When a call of it last began or ended, by [`All::uses`].
    used: u64,
}

impl Known {
    /// Whether a call holds it. Nobody can take hold of it but through [`Sessions`], whose lock is held.
    fn busy(&self) -> bool {
        Arc::strong_count(&self.session) > 1
    }
}

impl Sessions {
    /// The session of a name; one that is unknown yet is opened. It counts as busy for as long as what is returned is
    /// held. Also the names of the sessions that were dropped to make room: the longest idle ones.
    pub fn open(&self, id: Option<&str>) -> (Arc<Session>, Vec<String>) {
        let id = id.unwrap_or(DEFAULT_SESSION);
        let mut all = lock(&self.all);
        all.uses += 1;
        let used = all.uses;
        if let Some(known) = all.open.get_mut(id) {
            known.used = used;
            return (Arc::clone(&known.session), Vec::new());
        }
        let session = Arc::new(Session::new(id));
        all.open.insert(id.to_owned(), Known { session: Arc::clone(&session), used });
        (session, all.dropped())
    }

    /// A call of a session ended: it is idle from now on, if no other holds it.
    pub fn rest(&self, id: &str) {
        let mut all = lock(&self.all);
        all.uses += 1;
        let used = all.uses;
        if let Some(known) = all.open.get_mut(id) {
            known.used = used;
        }
    }
}

impl All {
    /// Drops the longest idle sessions beyond [`MAX_IDLE`], and names them.
    fn dropped(&mut self) -> Vec<String> {
        let idle = self.open.iter().filter(|(id, known)| *id != DEFAULT_SESSION && !known.busy());
        let mut idle: Vec<(u64, String)> = idle.map(|(id, known)| (known.used, id.clone())).collect();
        idle.sort_unstable();
        idle.truncate(idle.len().saturating_sub(MAX_IDLE));
        for (_, id) in &idle {
            self.open.remove(id);
        }
        idle.into_iter().map(|(_, id)| id).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_add_up_to_the_whole() {
        let (session, key) = (Session::new("s"), Key::Unnamed("untitled:1".into()));
        assert_eq!(session.seen(&key), None);
        session.saw_lines(&key, "h", 3..6, 10);
        assert_eq!(session.unseen(&key), [0..3, 6..10]);
        session.saw_lines(&key, "h", 0..4, 10);
        assert_eq!(session.unseen(&key), std::iter::once(6..10).collect::<Vec<_>>());
        session.saw_lines(&key, "h", 6..10, 10);
        assert_eq!((session.seen(&key).as_deref(), session.unseen(&key)), (Some("h"), vec![]));
        session.saw_lines(&key, "other", 0..1, 2);
        assert_eq!(session.unseen(&key), std::iter::once(1..2).collect::<Vec<_>>());
        session.saw(&key, "whole".into());
        assert_eq!((session.seen(&key).as_deref(), session.unseen(&key)), (Some("whole"), vec![]));
    }

    #[test]
    fn tools_are_narrowed() {
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
        for (enable, disable, allowed) in [
            (None, &[][..], true),
            (Some(&["read"][..]), &[][..], true),
            (Some(&["read_file"][..]), &[][..], true),
            (Some(&["edit"][..]), &[][..], false),
            (Some(&[][..]), &[][..], false),
            (None, &["read_file"][..], false),
            (Some(&["read"][..]), &["read"][..], false),
            (None, &["edit"][..], true),
        ] {
            let policy = ToolPolicy { enable: enable.map(set), disable: set(disable) };
            assert_eq!(policy.allows(["read", "read_file"].into_iter()), allowed, "{policy:?}");
        }
    }

    #[test]
    fn a_tool_is_activated_once() {
        let session = Session::new("s");
        let first: Vec<bool> = ["b", "a", "b"].iter().map(|name| session.activate(name)).collect();
        assert_eq!((first, session.activated()), (vec![true, true, false], vec!["b".to_owned(), "a".to_owned()]));
    }

    #[test]
    fn a_session_is_opened_once() {
        let sessions = Sessions::default();
        let (first, _) = sessions.open(None);
        assert_eq!((first.next_call(), first.next_call(), first.next_preview()), (1, 2, 1));
        assert_eq!(sessions.open(Some(DEFAULT_SESSION)).0.next_call(), 3);
        assert_eq!(sessions.open(Some("other")).0.next_call(), 1);
    }

    #[test]
    fn the_longest_idle_sessions_are_dropped_and_never_a_busy_one() {
        let sessions = Sessions::default();
        sessions.open(None);
        let (busy, _) = sessions.open(Some("busy"));
        for number in 0..MAX_IDLE {
            assert_eq!(sessions.open(Some(&format!("s{number}"))).1, Vec::<String>::new());
        }
        // One more is opened and held: there are as many idle ones as may be.
        let (held, dropped) = sessions.open(Some("held"));
        assert_eq!(dropped, Vec::<String>::new());
        // Used again, or ended after a long call, is not idle for long.
        sessions.open(Some("s0"));
        drop(busy);
        sessions.rest("busy");
        assert_eq!(sessions.open(Some("next")).1, ["s1"]);
        drop(held);
        assert_eq!(sessions.open(Some("more")).1, ["s2", "s3"]);
        // The default one is older than all of them.
        assert!(lock(&sessions.all).open.contains_key(DEFAULT_SESSION));
        assert_eq!(lock(&sessions.all).open.len(), MAX_IDLE + 2);
    }
}
