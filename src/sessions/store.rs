//! Where sessions are kept beyond a restart: a database of our own, behind a thread of its own.
//!
//! Nobody waits for it: what is to be kept is handed over in order, and written together with what else waits by then.
//! Whatever is wrong with the database costs only that nothing is kept: it is told once, and the sessions go on in memory.
//! Only this file and those below it touch the disk without the port: `SQLite` does so by itself.

mod database;
mod place;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, UNIX_EPOCH};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::oneshot;
use tracing::{debug, warn};

use crate::ports::Clock;

use database::{Database, Fault};

/// The name of the database in the state folder.
const FILE: &str = "sessions.sqlite";

/// Sessions that nothing has changed in for so long are not kept any longer, once others have been changed since.
const KEEP: Duration = Duration::from_hours(30 * 24);

/// A part of at most so many bytes of JSON is kept.
const MAX_PART: usize = 1 << 20;

/// Parts whose names begin so are no session's, and are kept until they are taken back.
pub(super) const STANDING: &str = "always:";

/// How long what could not be written because somebody else held the database waits for another attempt.
const AGAIN: Duration = Duration::from_secs(1);

/// Where sessions are kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StoreState {
    /// Whether what sessions remember outlives the sidecar.
    pub kept: bool,
    /// The database.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Why nothing is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Whose parts they are: the same name in another folder is another session.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Owner {
    pub session: String,
    /// The first workspace folder; empty without one.
    pub root: String,
}

/// What is told to a person when nothing can be kept.
pub type Complain = Box<dyn Fn(String) + Send>;

/// What is done with the parts of a session once they are here.
type Restore = Box<dyn FnOnce(BTreeMap<String, Value>) + Send>;

enum Order {
    Load(Owner, Restore),
    /// `None`: the part is not kept any more.
    Save(Owner, String, Option<String>),
    Remove(Owner),
    Flush(oneshot::Sender<()>),
}

/// The way to the thread. When the last of these goes, the thread writes what it has and ends.
#[derive(Clone)]
pub(super) struct Store {
    orders: Sender<Order>,
    state: Arc<Mutex<StoreState>>,
}

impl Store {
    /// Starts the thread for a state folder.
    pub(super) fn start(folder: &Path, clock: Arc<dyn Clock>, complain: Complain) -> Store {
        let path = folder.join(FILE);
        let state = Arc::new(Mutex::new(StoreState {
            kept: true,
            path: Some(path.to_string_lossy().into_owned()),
            reason: None,
        }));
        let (orders, receiver) = channel();
        let keeper =
            Keeper { folder: folder.to_owned(), path, clock, complain, state: Arc::clone(&state), told: false };
        let thread = std::thread::Builder::new().name("sessions".to_owned());
        if let Err(error) = thread.spawn(move || keeper.run(&receiver)) {
            // The receiver is gone, so that every order is dropped and every session waits its patience once.
            set(&state, format!("its thread cannot be started: {error}"));
        }
        Store { orders, state }
    }

    /// Brings the parts of a session back, after everything that was handed over before. Comes to `restore` on another
    /// thread, with nothing when nothing is kept.
    pub(super) fn load(&self, owner: Owner, restore: Restore) {
        if let Err(gone) = self.orders.send(Order::Load(owner, restore))
            && let Order::Load(_, restore) = gone.0
        {
            restore(BTreeMap::new());
        }
    }

    /// Keeps a part. One that is too long is not kept, and no older one of that name is any more.
    pub(super) fn save(&self, owner: Owner, part: &str, value: &Value) {
        let text = value.to_string();
        if text.len() > MAX_PART {
            warn!(part, bytes = text.len(), "a part of a session that is too long to be kept");
            self.remove_part(owner, part);
            return;
        }
        // Without a thread there is nothing to keep it; the state says so.
        let _ = self.orders.send(Order::Save(owner, part.to_owned(), Some(text)));
    }

    /// Keeps a part no longer.
    pub(super) fn remove_part(&self, owner: Owner, part: &str) {
        let _ = self.orders.send(Order::Save(owner, part.to_owned(), None));
    }

    /// Keeps nothing more of a session.
    pub(super) fn remove(&self, owner: Owner) {
        let _ = self.orders.send(Order::Remove(owner));
    }

    /// Comes back once everything that was handed over before has been written, or cannot be.
    pub(super) async fn flush(&self) {
        let (sender, written) = oneshot::channel();
        let _ = self.orders.send(Order::Flush(sender));
        let _ = written.await;
    }

    /// How it is.
    pub(super) fn state(&self) -> StoreState {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn set(state: &Mutex<StoreState>, reason: String) {
    let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
    state.kept = false;
    state.reason = Some(reason);
}

/// What is to be written: all parts of some owners go first, then these come.
#[derive(Default)]
struct Batch {
    cleared: Vec<Owner>,
    saved: BTreeMap<(Owner, String), Option<String>>,
}

impl Batch {
    fn save(&mut self, owner: Owner, part: String, value: Option<String>) {
        self.saved.insert((owner, part), value);
    }

    fn clear(&mut self, owner: Owner) {
        self.saved.retain(|(other, _), _| *other != owner);
        self.cleared.push(owner);
    }

    /// The parts of an owner as they will be once this is written.
    fn over(&self, mut parts: BTreeMap<String, Value>, owner: &Owner) -> BTreeMap<String, Value> {
        if self.cleared.contains(owner) {
            parts.clear();
        }
        for ((_, part), text) in self.saved.iter().filter(|((other, _), _)| other == owner) {
            match text.as_ref().and_then(|text| serde_json::from_str(text).ok()) {
                Some(value) => drop(parts.insert(part.clone(), value)),
                None => drop(parts.remove(part)),
            }
        }
        parts
    }

    fn is_empty(&self) -> bool {
        self.cleared.is_empty() && self.saved.is_empty()
    }
}

/// What the thread has.
struct Keeper {
    folder: PathBuf,
    path: PathBuf,
    clock: Arc<dyn Clock>,
    complain: Complain,
    state: Arc<Mutex<StoreState>>,
    told: bool,
}

impl Keeper {
    fn run(mut self, orders: &Receiver<Order>) {
        let mut database = match self.open() {
            Ok(database) => Some(database),
            Err(fault) => {
                self.fails(&fault);
                None
            }
        };
        let mut batch = Batch::default();
        loop {
            let order = match orders.try_recv() {
                Ok(order) => order,
                Err(TryRecvError::Disconnected) => break,
                Err(TryRecvError::Empty) => {
                    self.write(&mut database, &mut batch);
                    // What still waits, because somebody else holds the database, is not left to the next order.
                    let wait = if batch.is_empty() { Duration::MAX } else { AGAIN };
                    match orders.recv_timeout(wait) {
                        Ok(order) => order,
                        Err(RecvTimeoutError::Timeout) => continue,
                        Err(RecvTimeoutError::Disconnected) => break,
                    }
                }
            };
            match order {
                Order::Save(owner, part, value) => batch.save(owner, part, value),
                Order::Remove(owner) => batch.clear(owner),
                Order::Flush(written) => {
                    self.write(&mut database, &mut batch);
                    let _ = written.send(());
                }
                Order::Load(owner, restore) => {
                    self.write(&mut database, &mut batch);
                    restore(self.load(&mut database, &batch, &owner));
                }
            }
        }
        self.write(&mut database, &mut batch);
    }

    fn open(&self) -> Result<Database, Fault> {
        place::prepare(&self.folder, &self.path).map_err(Fault::Place)?;
        // Where another sidecar turns the write-ahead log on just now, some steps fail at once instead of waiting.
        let end = self.clock.now() + database::BUSY;
        let mut database = loop {
            match Database::open(&self.path) {
                Err(Fault::Busy(_)) if self.clock.now() < end => std::thread::yield_now(),
                opened => break opened?,
            }
        };
        if let Err(fault) = database.prune(self.now(), KEEP.as_secs()) {
            debug!(%fault, "old sessions were not pruned");
        }
        Ok(database)
    }

    /// Seconds since 1970, by the clock on the wall.
    fn now(&self) -> u64 {
        self.clock.wall().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
    }

    fn load(&mut self, database: &mut Option<Database>, batch: &Batch, owner: &Owner) -> BTreeMap<String, Value> {
        let Some(open) = database else { return BTreeMap::new() };
        match open.load(owner) {
            Ok(parts) => batch.over(parts, owner),
            Err(fault) => {
                // What is there is not known, so that nothing may be written over it.
                self.fails(&fault);
                *database = None;
                BTreeMap::new()
            }
        }
    }

    /// Writes what waits. While somebody else holds the database it goes on waiting; after any other failure nothing is
    /// written any more.
    fn write(&mut self, database: &mut Option<Database>, batch: &mut Batch) {
        if batch.is_empty() {
            return;
        }
        let now = self.now();
        let Some(open) = database else {
            *batch = Batch::default();
            return;
        };
        match open.write(&batch.cleared, &batch.saved, now) {
            Ok(()) => {
                *batch = Batch::default();
                self.works();
            }
            Err(fault @ Fault::Busy(_)) => self.fails(&fault),
            Err(fault) => {
                self.fails(&fault);
                *database = None;
                *batch = Batch::default();
            }
        }
    }

    fn works(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.kept = true;
        state.reason = None;
    }

    /// Says once that nothing is kept.
    fn fails(&mut self, fault: &Fault) {
        let reason = fault.to_string();
        let known = self.state.lock().unwrap_or_else(PoisonError::into_inner).reason.as_ref() == Some(&reason);
        if !known {
            warn!(%fault, path = %self.path.display(), "sessions are not kept");
        }
        set(&self.state, reason);
        if !std::mem::replace(&mut self.told, true) {
            (self.complain)(format!(
                "Ropewalk: sessions are kept in memory only and are lost when it ends: {}: {fault}",
                self.path.display()
            ));
        }
    }
}

#[cfg(test)]
mod tests;
