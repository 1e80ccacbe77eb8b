//! What is kept of a workspace folder beside its sessions, as named parts.

use std::collections::BTreeMap;

use serde_json::Value;

use super::store::{Owner, Store};

/// The parts of one kind in one workspace folder.
#[derive(Clone)]
pub struct Shelf {
    owner: Owner,
    store: Store,
}

impl Shelf {
    /// Those of this name in this folder.
    pub(super) fn new(name: &str, root: &str, store: Store) -> Shelf {
        // No session's, for a workspace folder is an absolute path, or nothing.
        Shelf { owner: Owner { session: String::new(), root: format!("{name} in {root}") }, store }
    }

    pub(super) fn load(&self, restore: Box<dyn FnOnce(BTreeMap<String, Value>) + Send>) {
        self.store.load(self.owner.clone(), restore);
    }

    /// Keeps a part. One that is longer than a mebibyte of JSON is not kept, and no older one of that name is any more.
    pub fn save(&self, part: &str, value: &Value) {
        self.store.save(self.owner.clone(), part, value);
    }

    /// Keeps a part no longer.
    pub fn remove(&self, part: &str) {
        self.store.remove_part(self.owner.clone(), part);
    }
}
