//! What a session remembers: which texts its model has seen, what its person consented to, its policy, its task list, its
//! outputs. What is to outlive a restart is kept as parts, in a store where there is one.

pub mod consents;
mod parts;
pub mod policy;
pub mod requests;
mod seen;
mod store;
pub mod todos;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::oneshot;
use tracing::warn;

pub use policy::ToolPolicy;
pub use store::{Complain, StoreState};

use crate::config::{Mode, Settings};
use crate::editor::Todo;
use crate::outputs;
use crate::permissions::Policy;
use crate::ports::{Clock, env};
use crate::workspace::Key;

use consents::Consents;
use parts::{Act, Parts};
use policy::{Around, Effective, Wanted};
use seen::Seen;
use store::{Owner, Store};

/// The session that calls belong to when they name none.
pub const DEFAULT_SESSION: &str = "default";

/// So many sessions without an open call are remembered, besides the default one; beyond that the longest idle is
/// dropped. Each may hold many megabytes of outputs.
pub const MAX_IDLE: usize = 64;

/// How long a session waits for what was kept of it; then it goes on without, and keeps nothing.
const PATIENCE: Duration = Duration::from_secs(5);

/// The parts that are kept here; other rooms keep theirs by other names.
const POLICY: &str = "policy";
const TODOS: &str = "todos";
const CONSENTS: &str = "consents";

/// The part for the deferred tools that were called.
const ACTIVATED: &str = "activated";

/// One conversation of a model with its tools.
pub struct Session {
    /// Its name.
    pub id: String,
    root: String,
    seen: Mutex<Seen>,
    outputs: Arc<Mutex<outputs::Store>>,
    consents: Mutex<Consents>,
    parts: Mutex<Parts>,
    store: Option<Store>,
    /// The person lets everything pass, in this run.
    danger: AtomicBool,
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

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Session {
    /// A session that has seen nothing and of which nothing is kept.
    pub fn new(id: &str) -> Session {
        Session::with(id, "", Parts::here(), None)
    }

    fn with(id: &str, root: &str, parts: Parts, store: Option<Store>) -> Session {
        Session {
            id: id.to_owned(),
            root: root.to_owned(),
            seen: Mutex::default(),
            outputs: Arc::default(),
            consents: Mutex::default(),
            parts: Mutex::new(parts),
            store,
            danger: AtomicBool::new(false),
            calls: AtomicU64::new(0),
            previews: AtomicU64::new(0),
            sightings: None,
        }
    }

    /// A copy that has seen the same and looks at the same outputs, for work that may come to nothing: what is shown there
    /// counts here only once it is adopted.
    #[must_use]
    pub fn fork(&self) -> Session {
        Session {
            seen: Mutex::new(lock(&self.seen).clone()),
            outputs: Arc::clone(&self.outputs),
            consents: Mutex::new(lock(&self.consents).clone()),
            danger: AtomicBool::new(self.danger.load(Ordering::Relaxed)),
            sightings: Some(Mutex::default()),
            ..Session::with(&self.id, &self.root, lock(&self.parts).copy(), None)
        }
    }

    /// What was shown in a fork was shown here, now, by a call where it was one.
    pub fn adopt(&self, fork: &Session, by: Option<&Arc<str>>) {
        let sightings = fork.sightings.as_ref().map(|sightings| lock(sightings).clone()).unwrap_or_default();
        for sighting in sightings {
            match sighting {
                Sighting::Whole(key, hash) => self.saw(&key, &hash, by),
                Sighting::Lines(key, hash, lines, total) => self.saw_lines(&key, &hash, lines, total, by),
            }
        }
    }

    fn note(&self, sighting: impl FnOnce() -> Sighting) {
        if let Some(sightings) = &self.sightings {
            lock(sightings).push(sighting());
        }
    }

    /// Which tools it may call.
    pub fn tools(&self) -> Arc<ToolPolicy> {
        Arc::new(self.wanted().tools())
    }

    /// The deferred tools that were called, in the order of their first calls.
    pub fn activated(&self) -> Vec<String> {
        self.part(ACTIVATED).unwrap_or_default()
    }

    /// A deferred tool was called. Answers whether for the first time.
    pub fn activate(&self, tool: &str) -> bool {
        self.change_part(ACTIVATED, |activated: &mut Vec<String>| {
            let first = !activated.iter().any(|known| known == tool);
            if first {
                activated.push(tool.to_owned());
            }
            first
        })
    }

    /// The model was shown this text, or made it, from end to end, by a call where it was one: its hash.
    pub fn saw(&self, key: &Key, hash: &str, by: Option<&Arc<str>>) {
        self.note(|| Sighting::Whole(key.clone(), hash.to_owned()));
        lock(&self.seen).whole(key, hash, by);
    }

    /// The model changed a text that it had seen from end to end: the new hash.
    pub fn changed(&self, key: &Key, hash: &str, by: Option<&Arc<str>>) {
        lock(&self.seen).changed(key, hash, by);
    }

    /// The model was shown some lines (0-based) of a text that has `total`. What it saw of the same text before counts.
    pub fn saw_lines(&self, key: &Key, hash: &str, lines: Range<usize>, total: usize, by: Option<&Arc<str>>) {
        self.note(|| Sighting::Lines(key.clone(), hash.to_owned(), lines.clone(), total));
        lock(&self.seen).lines(key, hash, lines, total, by);
    }

    /// The hash of the text the model last saw under this key, or parts of it.
    pub fn seen(&self, key: &Key) -> Option<String> {
        lock(&self.seen).hash(key).map(str::to_owned)
    }

    /// The lines (0-based) of that text that the model was not shown; empty when it saw all, or nothing of it.
    pub fn unseen(&self, key: &Key) -> Vec<Range<usize>> {
        lock(&self.seen).unseen(key)
    }

    /// The last call that showed all of these lines (0-based) of exactly this text, and is not forgotten.
    pub fn shown_by(&self, key: &Key, hash: &str, lines: &Range<usize>) -> Option<Arc<str>> {
        lock(&self.seen).shown_by(key, hash, lines)
    }

    /// A text left the model's context. Answers whether it was there.
    pub fn forget(&self, key: &Key) -> bool {
        lock(&self.seen).forget(key)
    }

    /// What some calls said left the model's context. Answers of how many texts less is known by that.
    pub fn forget_calls(&self, calls: &BTreeSet<&str>) -> usize {
        lock(&self.seen).forget_calls(calls)
    }

    /// Whole outputs, also of what was cut for the model; and which call made which.
    pub fn outputs(&self) -> MutexGuard<'_, outputs::Store> {
        lock(&self.outputs)
    }

    /// The same store, for what goes on when the session may be gone.
    pub fn shared_outputs(&self) -> Arc<Mutex<outputs::Store>> {
        Arc::clone(&self.outputs)
    }

    /// What the person said to calls.
    pub fn consents(&self) -> MutexGuard<'_, Consents> {
        lock(&self.consents)
    }

    /// The person said something to calls, or takes it back. It outlives a restart.
    pub fn consent<R>(&self, change: impl FnOnce(&mut Consents) -> R) -> R {
        let mut consents = lock(&self.consents);
        let before = consents.clone();
        let answer = change(&mut consents);
        if *consents != before {
            self.save(CONSENTS, &*consents);
        }
        answer
    }

    /// The task list.
    pub fn todos(&self) -> Vec<Todo> {
        self.part(TODOS).unwrap_or_default()
    }

    /// Replaces the task list.
    pub fn set_todos(&self, todos: &[Todo]) {
        self.save(TODOS, &todos);
    }

    /// What it asks for.
    pub fn wanted(&self) -> Wanted {
        self.part(POLICY).unwrap_or_default()
    }

    /// Changes what it asks for.
    pub fn want(&self, change: impl FnOnce(&mut Wanted)) {
        self.change_part(POLICY, change);
    }

    /// The person chose a mode. Danger counts for as long as this session is open in this run.
    pub fn set_mode(&self, mode: Mode) {
        self.danger.store(mode == Mode::Danger, Ordering::Relaxed);
        self.want(|wanted| {
            wanted.person = Some(mode).filter(|mode| *mode != Mode::Danger);
            wanted.asked.mode = None;
        });
    }

    /// Its mode.
    pub fn mode(&self, settings: &Settings) -> Mode {
        self.wanted().mode(self.danger.load(Ordering::Relaxed), settings)
    }

    /// What its calls are judged by.
    pub fn policy(&self, settings: &Settings, folders: &[PathBuf]) -> Policy {
        let home = home();
        let around = Around { settings, folders, home: home.as_deref() };
        self.wanted().policy(self.danger.load(Ordering::Relaxed), around)
    }

    /// What holds for it, and what it asked for in vain.
    pub fn effective(&self, settings: &Settings, folders: &[PathBuf]) -> Effective {
        let home = home();
        let around = Around { settings, folders, home: home.as_deref() };
        let restored = lock(&self.parts).restored;
        let effective = self.wanted().effective(&self.id, self.danger.load(Ordering::Relaxed), around);
        Effective { restored, ..effective }
    }

    /// A part of what it remembers; `None` when there is none, or it cannot be read any more.
    pub fn part<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        let value = lock(&self.parts).values.get(name).cloned()?;
        self.read(name, value)
    }

    /// Replaces a part. It outlives a restart where there is a store.
    pub fn save<T: Serialize>(&self, name: &str, value: &T) {
        self.put(&mut lock(&self.parts), name, value);
    }

    /// Changes a part in one step.
    pub fn change_part<T, R>(&self, name: &str, change: impl FnOnce(&mut T) -> R) -> R
    where
        T: Serialize + DeserializeOwned + Default,
    {
        let mut parts = lock(&self.parts);
        let before = parts.values.get(name).cloned();
        let mut value: T = before.and_then(|value| self.read(name, value)).unwrap_or_default();
        let answer = change(&mut value);
        self.put(&mut parts, name, &value);
        answer
    }

    fn read<T: DeserializeOwned>(&self, name: &str, value: Value) -> Option<T> {
        serde_json::from_value(value)
            .inspect_err(|error| warn!(session = self.id, part = name, %error, "a part that cannot be read"))
            .ok()
    }

    fn put<T: Serialize>(&self, parts: &mut Parts, name: &str, value: &T) {
        let value = match serde_json::to_value(value) {
            Ok(value) => value,
            Err(error) => {
                warn!(session = self.id, part = name, %error, "a part that cannot be written");
                return;
            }
        };
        if parts.values.get(name) == Some(&value) {
            return;
        }
        if let Some(store) = self.store.as_ref().filter(|_| parts.kept) {
            store.save(self.owner(), name, &value);
        }
        parts.values.insert(name.to_owned(), value);
    }

    fn owner(&self) -> Owner {
        Owner { session: self.id.clone(), root: self.root.clone() }
    }

    /// Does something with the session: at once, or, while what was kept of it is still being brought back, in its turn
    /// after that.
    pub fn then(&self, act: impl FnOnce(&Session) + Send + 'static) {
        let at_once = lock(&self.parts).wait(Box::new(act));
        if let Some(act) = at_once {
            act(self);
        }
    }

    /// Whether everything that it remembers is here.
    pub fn is_ready(&self) -> bool {
        lock(&self.parts).ready()
    }

    /// Comes back once everything that it remembers is here, and everything that waited for that has been done.
    pub async fn ready(&self, clock: &dyn Clock) {
        if lock(&self.parts).ready() {
            return;
        }
        let (sender, ready) = oneshot::channel();
        self.then(move |_| {
            // Whoever waited may have gone.
            let _ = sender.send(());
        });
        tokio::select! {
            biased;
            _ = ready => {}
            () = clock.sleep(PATIENCE) => {
                warn!(session = self.id, "what was kept of a session did not come");
                self.restore(None);
            }
        }
    }

    /// What was kept of it is here; `None`: it never came. Only the first time counts.
    fn restore(&self, kept: Option<BTreeMap<String, Value>>) {
        {
            let mut parts = lock(&self.parts);
            if !parts.begin() {
                return;
            }
            parts.kept = kept.is_some();
            for (name, value) in kept.into_iter().flatten() {
                parts.restored = true;
                parts.values.entry(name).or_insert(value);
            }
        }
        if let Some(consents) = self.part(CONSENTS) {
            *lock(&self.consents) = consents;
        }
        while let Some(act) = self.next_act() {
            act(self);
        }
    }

    fn next_act(&self) -> Option<Act> {
        lock(&self.parts).next()
    }

    /// Forgets everything, what was kept of it included.
    pub fn reset(&self) {
        lock(&self.seen).clear();
        *lock(&self.outputs) = outputs::Store::default();
        *lock(&self.consents) = Consents::default();
        self.danger.store(false, Ordering::Relaxed);
        let mut parts = lock(&self.parts);
        parts.values.clear();
        parts.restored = false;
        if let Some(store) = self.store.as_ref().filter(|_| parts.kept) {
            store.remove(self.owner());
        }
    }

    /// Where it is kept.
    pub fn kept(&self) -> StoreState {
        let nothing = |reason: &str| StoreState { kept: false, path: None, reason: Some(reason.to_owned()) };
        match &self.store {
            None => nothing("this run keeps nothing"),
            Some(_) if !lock(&self.parts).kept => nothing("the database did not answer in time"),
            Some(store) => store.state(),
        }
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

fn home() -> Option<PathBuf> {
    env("HOME").filter(|home| !home.is_empty()).map(PathBuf::from)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing that panics runs under these locks; each holds one plain collection.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where sessions are kept.
#[derive(Default)]
enum Keeping {
    /// Nowhere.
    #[default]
    Nowhere,
    /// In a folder, once there is a session.
    Later(PathBuf, Arc<dyn Clock>, Complain),
    /// There.
    Started(Store),
}

impl Keeping {
    fn store(&mut self) -> Option<Store> {
        match std::mem::take(self) {
            Keeping::Nowhere => {}
            Keeping::Later(folder, clock, complain) => {
                *self = Keeping::Started(Store::start(&folder, clock, complain));
            }
            started @ Keeping::Started(_) => *self = started,
        }
        match self {
            Keeping::Started(store) => Some(store.clone()),
            Keeping::Nowhere | Keeping::Later(..) => None,
        }
    }
}

/// All sessions, by name.
#[derive(Default)]
pub struct Sessions {
    all: Mutex<All>,
}

#[derive(Default)]
struct All {
    open: HashMap<String, Known>,
    keeping: Keeping,
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
    /// Keeps the sessions that are opened from now on in a database in this folder. It is opened with the first of them;
    /// `complain` is told once when that fails.
    pub fn keep_in(&self, folder: &Path, clock: Arc<dyn Clock>, complain: Complain) {
        lock(&self.all).keeping = Keeping::Later(folder.to_owned(), clock, complain);
    }

    /// Comes back once everything that is to be kept has been written, or cannot be.
    pub async fn flush(&self) {
        let store = match &lock(&self.all).keeping {
            Keeping::Started(store) => Some(store.clone()),
            Keeping::Nowhere | Keeping::Later(..) => None,
        };
        if let Some(store) = store {
            store.flush().await;
        }
    }

    /// The session of a name; one that is unknown yet is opened, with what was kept of it under this folder (`root`, the
    /// first of the workspace, or nothing). It counts as busy for as long as what is returned is held. Also the names of
    /// the sessions that were dropped to make room: the longest idle ones.
    pub fn open(&self, id: Option<&str>, root: impl FnOnce() -> String) -> (Arc<Session>, Vec<String>) {
        let id = id.unwrap_or(DEFAULT_SESSION);
        let mut all = lock(&self.all);
        all.uses += 1;
        let used = all.uses;
        if let Some(known) = all.open.get_mut(id) {
            known.used = used;
            return (Arc::clone(&known.session), Vec::new());
        }
        let session = match all.keeping.store() {
            None => Arc::new(Session::new(id)),
            Some(store) => {
                let session = Arc::new(Session::with(id, &root(), Parts::awaited(), Some(store.clone())));
                let restored = Arc::downgrade(&session);
                store.load(
                    session.owner(),
                    Box::new(move |parts| {
                        if let Some(session) = restored.upgrade() {
                            session.restore(Some(parts));
                        }
                    }),
                );
                session
            }
        };
        all.open.insert(id.to_owned(), Known { session: Arc::clone(&session), used });
        (session, all.dropped())
    }

    /// Closes a session: what is kept of it stays, and comes back when it is opened again. Answers whether it was open.
    pub fn close(&self, id: &str) -> bool {
        lock(&self.all).open.remove(id).is_some()
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
mod tests;
