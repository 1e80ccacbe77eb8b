//! What a session remembers: which texts its model has seen. In memory; a store comes beside it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::workspace::Key;

/// The session that calls belong to when they name none.
pub const DEFAULT_SESSION: &str = "default";

/// One conversation of a model with its tools.
#[derive(Debug)]
pub struct Session {
    /// Its name.
    pub id: String,
    seen: Mutex<HashMap<Key, String>>,
}

impl Session {
    /// A session that has seen nothing.
    pub fn new(id: &str) -> Session {
        Session { id: id.to_owned(), seen: Mutex::default() }
    }

    /// The model was shown this text, or made it: its hash.
    pub fn saw(&self, key: &Key, hash: String) {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).insert(key.clone(), hash);
    }

    /// The hash of the text the model last saw under this key.
    pub fn seen(&self, key: &Key) -> Option<String> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }
}

/// All sessions, by name.
#[derive(Debug, Default)]
pub struct Sessions {
    open: Mutex<HashMap<String, Arc<Session>>>,
}

impl Sessions {
    /// The session of a name; one that is unknown yet is opened.
    pub fn get(&self, id: Option<&str>) -> Arc<Session> {
        let id = id.unwrap_or(DEFAULT_SESSION);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(open.entry(id.to_owned()).or_insert_with(|| Arc::new(Session::new(id))))
    }
}
