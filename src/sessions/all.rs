//! All sessions by name: opened once, closed, dropped when idle for long; and what they share.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use crate::ports::Clock;

use super::memories::Memories;
use super::parts::Parts;
use super::shelf::Shelf;
use super::standing::Standing;
use super::store::{Complain, Store};
use super::{DEFAULT_SESSION, Session, kin, lock};

/// So many sessions without an open call are remembered, besides the default one; beyond that the longest idle is
/// dropped. Each may hold many megabytes of outputs.
pub const MAX_IDLE: usize = 64;

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
    pub(super) all: Mutex<All>,
}

#[derive(Default)]
pub(super) struct All {
    pub(super) open: HashMap<String, Known>,
    keeping: Keeping,
    /// What counts for good, by workspace folder.
    standing: BTreeMap<String, Arc<Standing>>,
    /// What is noted for later, by workspace folder.
    memories: BTreeMap<String, Arc<Memories>>,
    /// Counts what is done with sessions: a clock that orders them.
    uses: u64,
}

#[derive(Debug)]
pub(super) struct Known {
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
        let mut all = lock(&self.all);
        all.keeping = Keeping::Later(folder.to_owned(), clock, complain);
        all.standing.clear();
        all.memories.clear();
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

    /// What is kept of a workspace folder (`root`, or nothing) beside its sessions, under a name of its own; `restore` gets
    /// what is there, once, perhaps on another thread. `None` where nothing is kept: then `restore` is dropped.
    pub fn shelf(
        &self,
        name: &str,
        root: &str,
        restore: impl FnOnce(BTreeMap<String, serde_json::Value>) + Send + 'static,
    ) -> Option<Shelf> {
        let store = lock(&self.all).keeping.store()?;
        let shelf = Shelf::new(name, root, store);
        shelf.load(Box::new(restore));
        Some(shelf)
    }

    /// The session of a name; one that is unknown yet is opened, with what was kept of it under this folder (`root`, the
    /// first of the workspace, or nothing). It counts as busy for as long as what is returned is held. Also the names of
    /// the sessions that were dropped to make room: the longest idle ones.
    pub fn open(&self, id: Option<&str>, root: impl FnOnce() -> String) -> (Arc<Session>, Vec<String>) {
        let mut all = lock(&self.all);
        let mut found = None;
        let mut root = Some(root);
        let mut place = || found.get_or_insert_with(|| root.take().map(|root| root()).unwrap_or_default()).clone();
        let before = all.open.len();
        let session = all.opened(id.unwrap_or(DEFAULT_SESSION), &mut place);
        let dropped = if all.open.len() > before { all.dropped() } else { Vec::new() };
        (session, dropped)
    }

    /// Closes a session: what is kept of it stays, and comes back when it is opened again. Answers whether it was open.
    pub fn close(&self, id: &str) -> bool {
        lock(&self.all).open.remove(id).is_some()
    }

    /// Whether a session of this name is open.
    pub fn knows(&self, id: &str) -> bool {
        lock(&self.all).open.contains_key(id)
    }

    /// Whether this very session is the open one of its name.
    pub fn is_open(&self, session: &Arc<Session>) -> bool {
        lock(&self.all).open.get(&session.id).is_some_and(|known| Arc::ptr_eq(&known.session, session))
    }

    /// The open sessions that work for one, perhaps through others; sorted, each behind those that work for it.
    pub fn below(&self, id: &str) -> Vec<Arc<Session>> {
        let all = lock(&self.all);
        let below = all.open.values().filter(|known| kin::is_below(&known.session.id, id));
        let mut below: Vec<Arc<Session>> = below.map(|known| Arc::clone(&known.session)).collect();
        below.sort_by(|a, b| (kin::depth(&b.id), &a.id).cmp(&(kin::depth(&a.id), &b.id)));
        below
    }

    /// The names of the open sessions that share what counts for good with this one, sorted; it is one of them.
    pub fn beside(&self, session: &Session) -> Vec<String> {
        let all = lock(&self.all);
        let beside = all.open.values().filter(|known| Arc::ptr_eq(&known.session.standing, &session.standing));
        let mut names: Vec<String> = beside.map(|known| known.session.id.clone()).collect();
        names.push(session.id.clone());
        names.sort_unstable();
        names.dedup();
        names
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
    /// The session of a name, opened if it is not; and before it those that it works for, so that what was kept of them is
    /// here before. `root` is asked only for one that is not open.
    fn opened(&mut self, id: &str, root: &mut dyn FnMut() -> String) -> Arc<Session> {
        let above = kin::parent(id).map(|above| self.opened(above, root));
        self.uses += 1;
        let used = self.uses;
        if let Some(known) = self.open.get_mut(id) {
            known.used = used;
            return Arc::clone(&known.session);
        }
        let store = self.keeping.store();
        // Asked for before the session, so that it is here before.
        let root = root();
        let standing = self.standing(&root, store.as_ref());
        let memories = self.memories(&root, store.as_ref());
        let session = match store {
            None => Arc::new(Session { memories, above, ..Session::with(id, standing, Parts::here(), None) }),
            Some(store) => {
                let session = Session::with(id, standing, Parts::awaited(), Some(store.clone()));
                let session = Arc::new(Session { memories, above, ..session });
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
        self.open.insert(id.to_owned(), Known { session: Arc::clone(&session), used });
        session
    }

    /// What counts for good in a workspace folder.
    fn standing(&mut self, root: &str, store: Option<&Store>) -> Arc<Standing> {
        if let Some(known) = self.standing.get(root) {
            return Arc::clone(known);
        }
        let standing = Arc::new(Standing::new(root, store.cloned()));
        if let Some(store) = store {
            let restored = Arc::clone(&standing);
            store.load(standing.owner(), Box::new(move |parts| restored.restore(parts)));
        }
        self.standing.insert(root.to_owned(), Arc::clone(&standing));
        standing
    }

    /// What is noted for later of a workspace folder. What is kept of it comes with the first look.
    fn memories(&mut self, root: &str, store: Option<&Store>) -> Arc<Memories> {
        let new = || Arc::new(Memories::new(root, store.cloned()));
        Arc::clone(self.memories.entry(root.to_owned()).or_insert_with(new))
    }

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
