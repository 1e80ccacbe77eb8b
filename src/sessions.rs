//! What a session remembers: which texts its model has seen, what its person consented to, its outputs. In memory; a
//! store comes beside it.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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
    outputs: Mutex<Store>,
    grants: Mutex<BTreeSet<String>>,
    calls: AtomicU64,
    previews: AtomicU64,
    /// What was shown, for whoever may take it over: only in a fork.
    sightings: Option<Mutex<Vec<Sighting>>>,
}

/// Something that was shown.
#[derive(Debug, Clone)]
enum Sighting {
    Whole(Key, String),
    Lines(Key, String, Range<usize>, usize),
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
            outputs: Mutex::default(),
            grants: Mutex::default(),
            calls: AtomicU64::new(0),
            previews: AtomicU64::new(0),
            sightings: None,
        }
    }

    /// A copy that has seen the same and has no outputs, for work that may come to nothing: what is shown there counts
    /// here only once it is adopted.
    #[must_use]
    pub fn fork(&self) -> Session {
        let seen = Mutex::new(lock(&self.seen).clone());
        Session { seen, sightings: Some(Mutex::default()), ..Session::new(&self.id) }
    }

    /// What was shown in a fork was shown here, now.
    pub fn adopt(&self, fork: &Session) {
        let sightings = fork.sightings.as_ref().map(|sightings| lock(sightings).clone()).unwrap_or_default();
        for sighting in sightings {
            match sighting {
                Sighting::Whole(key, hash) => self.saw(&key, hash),
                Sighting::Lines(key, hash, lines, total) => self.saw_lines(&key, &hash, lines, total),
            }
        }
    }

    fn note(&self, sighting: impl FnOnce() -> Sighting) {
        if let Some(sightings) = &self.sightings {
            lock(sightings).push(sighting());
        }
    }

    /// The model was shown this text, or made it, from end to end: its hash.
    pub fn saw(&self, key: &Key, hash: String) {
        self.note(|| Sighting::Whole(key.clone(), hash.clone()));
        lock(&self.seen).insert(key.clone(), Sight { hash, unseen: Vec::new() });
    }

    /// The model was shown some lines (0-based) of a text that has `total`. What it saw of the same text before counts.
    pub fn saw_lines(&self, key: &Key, hash: &str, lines: Range<usize>, total: usize) {
        self.note(|| Sighting::Lines(key.clone(), hash.to_owned(), lines.clone(), total));
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

    /// Whole outputs, also of what was cut for the model.
    pub fn outputs(&self) -> MutexGuard<'_, Store> {
        lock(&self.outputs)
    }

    /// The person consented to calls like this one for the rest of the session.
    pub fn grant(&self, like: String) {
        lock(&self.grants).insert(like);
    }

    /// Whether the person consented to calls like this one.
    pub fn granted(&self, like: &str) -> bool {
        lock(&self.grants).contains(like)
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
    fn what_a_fork_was_shown_counts_once_it_is_adopted() {
        let (session, key) = (Session::new("s"), Key::Unnamed("untitled:1".into()));
        session.saw_lines(&key, "h", 0..2, 10);
        let fork = session.fork();
        fork.saw_lines(&key, "h", 2..10, 10);
        assert_eq!((fork.unseen(&key), session.unseen(&key).len()), (vec![], 1));
        let other = Key::Unnamed("untitled:2".into());
        fork.saw(&other, "o".into());
        assert_eq!(session.seen(&other), None);
        session.adopt(&fork);
        assert_eq!((session.unseen(&key), session.seen(&other).as_deref()), (vec![], Some("o")));
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
