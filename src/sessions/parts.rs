//! What a session remembers beyond a restart, as named parts; and the order in which things happen to a session that is
//! still being brought back from the store.

use std::collections::{BTreeMap, VecDeque};

use serde_json::Value;

use super::Session;

/// Something that is done with a session.
pub(super) type Act = Box<dyn FnOnce(&Session) + Send>;

/// The parts, and how far they are here.
pub(super) struct Parts {
    pub values: BTreeMap<String, Value>,
    /// What waits for the parts, in order; `None`: they are here, and nothing waits.
    waiting: Option<VecDeque<Act>>,
    begun: bool,
    /// Whether the store had something of the session.
    pub restored: bool,
    /// Whether changes go to the store.
    pub kept: bool,
}

impl Parts {
    /// Those of a session that nothing is brought back for.
    pub(super) fn here() -> Parts {
        Parts { values: BTreeMap::new(), waiting: None, begun: true, restored: false, kept: false }
    }

    /// The same parts, which nothing is brought back for or kept of.
    pub(super) fn copy(&self) -> Parts {
        Parts { values: self.values.clone(), ..Parts::here() }
    }

    /// Those of a session that waits for the store.
    pub(super) fn awaited() -> Parts {
        Parts { waiting: Some(VecDeque::new()), begun: false, ..Parts::here() }
    }

    /// Whether the parts are here and nothing waits.
    pub(super) fn ready(&self) -> bool {
        self.waiting.is_none()
    }

    /// The parts are here: true the first time. What waits is then taken one by one.
    pub(super) fn begin(&mut self) -> bool {
        !std::mem::replace(&mut self.begun, true)
    }

    /// Lets something wait for its turn; gives it back when it need not.
    pub(super) fn wait(&mut self, act: Act) -> Option<Act> {
        match &mut self.waiting {
            None => Some(act),
            Some(waiting) => {
                waiting.push_back(act);
                None
            }
        }
    }

    /// What comes next; `None`: nothing waits any more.
    pub(super) fn next(&mut self) -> Option<Act> {
        let next = self.waiting.as_mut().and_then(VecDeque::pop_front);
        if next.is_none() {
            self.waiting = None;
        }
        next
    }
}
