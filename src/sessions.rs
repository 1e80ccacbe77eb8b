//! What a session remembers: which texts its model has seen, what its person consented to, its policy, its task list, its
//! outputs. What is to outlive a restart is kept as parts, in a store where there is one.

pub mod agents;
mod all;
pub mod consents;
mod external;
pub mod kin;
pub mod memories;
mod modes;
mod parts;
pub mod policy;
pub mod requests;
mod seen;
mod shelf;
mod standing;
mod store;
pub mod todos;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::oneshot;
use tracing::warn;

pub use all::{MAX_IDLE, Sessions};
pub use policy::ToolPolicy;
pub use shelf::Shelf;
pub use store::{Complain, StoreState};

use crate::editor::Todo;
use crate::outputs;
use crate::ports::Clock;
use crate::workspace::Key;

use consents::{Consents, Remembered};
use external::External;
use memories::Memories;
use parts::{Act, Parts};
use policy::Switch;
use seen::Seen;
use standing::Standing;
use store::{Owner, Store};

/// The session that calls belong to when they name none.
pub const DEFAULT_SESSION: &str = "default";

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
    standing: Arc<Standing>,
    memories: Arc<Memories>,
    external: Mutex<External>,
    parts: Mutex<Parts>,
    store: Option<Store>,
    /// The person lets everything pass, in this run.
    danger: AtomicBool,
    /// The mode that a model asked for, until its round is over.
    switch: Mutex<Option<Switch>>,
    calls: AtomicU64,
    previews: AtomicU64,
    /// Counts how often it was closed or began anew: what was begun before is none of its business afterwards.
    epoch: AtomicU64,
    /// What was shown, for whoever may take it over: only in a fork.
    sightings: Option<Mutex<Vec<Sighting>>>,
    /// The session that it works for, if it is that of an agent: see [`kin`].
    above: Option<Arc<Session>>,
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
        Session::with(id, Arc::new(Standing::new("", None)), Parts::here(), None)
    }

    fn with(id: &str, standing: Arc<Standing>, parts: Parts, store: Option<Store>) -> Session {
        Session {
            id: id.to_owned(),
            root: standing.root().to_owned(),
            memories: Arc::new(Memories::new(standing.root(), None)),
            external: Mutex::default(),
            standing,
            seen: Mutex::default(),
            outputs: Arc::default(),
            consents: Mutex::default(),
            parts: Mutex::new(parts),
            store,
            danger: AtomicBool::new(false),
            switch: Mutex::default(),
            calls: AtomicU64::new(0),
            previews: AtomicU64::new(0),
            epoch: AtomicU64::new(0),
            sightings: None,
            above: None,
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
            memories: Arc::clone(&self.memories),
            external: Mutex::new(lock(&self.external).clone()),
            danger: AtomicBool::new(self.danger.load(Ordering::Relaxed)),
            sightings: Some(Mutex::default()),
            above: self.above.clone(),
            ..Session::with(&self.id, Arc::clone(&self.standing), lock(&self.parts).copy(), None)
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
        let within = self.above.as_ref().map(|above| above.tools());
        Arc::new(ToolPolicy { within, ..self.own().tools() })
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

    /// What the model has seen something of, sorted.
    pub fn seen_keys(&self) -> Vec<Key> {
        lock(&self.seen).keys()
    }

    /// The lines (0-based) of that text that the model was not shown; empty when it saw all, or nothing of it.
    pub fn unseen(&self, key: &Key) -> Vec<Range<usize>> {
        lock(&self.seen).unseen(key)
    }

    /// The last call that showed all of these lines (0-based) of exactly this text, and is not forgotten.
    pub fn shown_by(&self, key: &Key, hash: &str, lines: &Range<usize>) -> Option<Arc<str>> {
        lock(&self.seen).shown_by(key, hash, lines)
    }

    /// A file got another name: what the model has seen of it, it has seen under that one.
    pub fn moved(&self, from: &Key, to: &Key) {
        lock(&self.seen).moved(from, to);
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

    /// Whether a person said no to exactly this call, here or in a session that this one works for; and what they said
    /// with it.
    pub fn denied(&self, exact: &str) -> Option<Option<String>> {
        let here = self.consents().denied(exact).map(|denial| denial.feedback.map(str::to_owned));
        here.or_else(|| self.above.as_ref()?.denied(exact))
    }

    /// Whether a person said yes to calls like this one, in this session or for good.
    pub fn granted(&self, like: &str) -> bool {
        self.standing.granted(like) || self.consents().granted(like)
    }

    /// A person said yes to all calls that are `like` this one: in this session, or, for good, in every session of its
    /// workspace folder. Answers whether what is remembered changed for all of those.
    pub fn grant(&self, like: &str, always: bool, tool: &str, targets: &[String]) -> bool {
        if always {
            return self.standing.grant(like, tool, targets);
        }
        self.consent(|consents| consents.grant(like, tool, targets));
        false
    }

    /// What a person said that is remembered: first what counts for good, then what counts here; each the oldest first.
    pub fn remembered(&self) -> Vec<Remembered> {
        let mut all = self.standing.list();
        all.extend(self.consents().list());
        all
    }

    /// Takes back what is listed under these ids, or all of it. Answers whether there was any in this session, and any
    /// that counted for good.
    pub fn revoke(&self, ids: &[String], all: bool) -> (bool, bool) {
        let here = self.consent(|consents| {
            let before = consents.list().len();
            if all {
                consents.clear();
            }
            for id in ids {
                consents.revoke(id);
            }
            consents.list().len() < before
        });
        (here, self.standing.revoke(|id| all || ids.iter().any(|wanted| wanted == id)))
    }

    /// What models have noted of its workspace folder.
    pub fn memories(&self) -> &Arc<Memories> {
        &self.memories
    }

    /// A call of a turn showed the model a text from elsewhere.
    pub fn heard(&self, turn: Option<&str>, source: &str) {
        lock(&self.external).came(turn, source);
    }

    /// Where a text came from that a turn holds and that came from elsewhere; without a turn, that came since the last turn
    /// ended.
    pub fn heard_from(&self, turn: Option<&str>) -> Option<String> {
        lock(&self.external).of(turn).map(str::to_owned)
    }

    /// A turn is over: what its model was shown in it is behind it.
    pub fn end_turn(&self, turn: &str) {
        lock(&self.external).end_turn(turn);
    }

    /// How often it was closed or began anew.
    pub fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    /// It is closed, or begins anew: whatever was begun before is none of its business any more.
    pub fn turn_over(&self) {
        self.epoch.fetch_add(1, Ordering::AcqRel);
    }

    /// The task list.
    pub fn todos(&self) -> Vec<Todo> {
        self.part(TODOS).unwrap_or_default()
    }

    /// Replaces the task list.
    pub fn set_todos(&self, todos: &[Todo]) {
        self.save(TODOS, &todos);
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
        lock(&self.parts).ready() && self.above.as_ref().is_none_or(|above| above.is_ready())
    }

    /// Comes back once everything that it remembers is here, and everything that waited for that has been done.
    pub async fn ready(&self, clock: &dyn Clock) {
        for session in std::iter::successors(Some(self), |session| session.above.as_deref()) {
            session.restored(clock).await;
        }
    }

    async fn restored(&self, clock: &dyn Clock) {
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
        self.agents_lost();
        while let Some(act) = self.next_act() {
            act(self);
        }
    }

    fn next_act(&self) -> Option<Act> {
        lock(&self.parts).next()
    }

    /// Forgets everything, what was kept of it included; not what counts for good in its workspace folder. Answers the
    /// files of outputs that nobody wants any more.
    pub fn reset(&self) -> Vec<PathBuf> {
        lock(&self.seen).clear();
        // The same store goes on counting: what is still being written is of none of its outputs.
        let files = lock(&self.outputs).clear();
        *lock(&self.consents) = Consents::default();
        self.danger.store(false, Ordering::Relaxed);
        *lock(&self.switch) = None;
        *lock(&self.external) = External::default();
        let mut parts = lock(&self.parts);
        parts.values.clear();
        parts.restored = false;
        if let Some(store) = self.store.as_ref().filter(|_| parts.kept) {
            store.remove(self.owner());
        }
        files
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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing that panics runs under these locks; each holds one plain collection.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
