//! What models have noted for later sessions, of one workspace folder: by its whole path, so that two folders of one name
//! share nothing.
//!
//! Each memory is a part of its own in the store, which keeps it until it is deleted. Another sidecar may have written
//! since: whoever looks brings what is kept up to date before.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tracing::warn;

use crate::ports::Clock;

use super::store::{Owner, STANDING, Store};

/// At most so many memories are kept of one folder.
pub const MAX_MEMORIES: usize = 500;

/// How long a look waits for the store; then it goes by what is known here.
const PATIENCE: Duration = Duration::from_secs(2);

/// What sort of thing is remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MemoryKind {
    /// Who the user is, and how they like to work.
    User,
    /// What the user said of how work was done, to be heeded.
    Feedback,
    /// What is so in this project and cannot be read from its files.
    Project,
    /// Where something is to be found.
    Reference,
}

impl MemoryKind {
    /// Its name, as calls write it.
    pub fn name(self) -> &'static str {
        match self {
            MemoryKind::User => "user",
            MemoryKind::Feedback => "feedback",
            MemoryKind::Project => "project",
            MemoryKind::Reference => "reference",
        }
    }
}

/// Something that was noted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// What sort of thing it is.
    #[serde(rename = "type")]
    pub kind: MemoryKind,
    /// Its name, unique among those of its sort.
    pub name: String,
    /// What it is about, in a sentence.
    pub description: String,
    /// All of it.
    pub content: String,
    /// Words it is found by.
    #[serde(default)]
    pub tags: Vec<String>,
}

impl Memory {
    /// What it is called: `type/name`.
    pub fn id(&self) -> String {
        id(self.kind, &self.name)
    }
}

/// What the memory of a sort and name is called.
pub fn id(kind: MemoryKind, name: &str) -> String {
    format!("{}/{name}", kind.name())
}

/// The memories of one workspace folder.
pub struct Memories {
    root: String,
    store: Option<Store>,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    all: BTreeMap<String, Memory>,
    /// Counts what was changed here: what the store says of before is not newer.
    changes: u64,
}

impl Memories {
    /// Those of a folder, of which nothing is known yet.
    pub(super) fn new(root: &str, store: Option<Store>) -> Memories {
        Memories { root: root.to_owned(), store, known: Mutex::default() }
    }

    /// The folder (canonical path); empty without one.
    pub fn root(&self) -> &str {
        &self.root
    }

    /// Whose parts these are: no session's, for a workspace folder is an absolute path, or nothing.
    fn owner(&self) -> Owner {
        Owner { session: String::new(), root: format!("memories of {}", self.root) }
    }

    /// Brings what is known here up to date with what is kept.
    pub async fn refresh(self: &Arc<Memories>, clock: &dyn Clock) {
        let Some(store) = &self.store else { return };
        let (sender, here) = oneshot::channel();
        let (me, before) = (Arc::clone(self), self.lock().changes);
        store.load(
            self.owner(),
            Box::new(move |parts| {
                me.restore(parts, before);
                // Whoever waited may have gone.
                let _ = sender.send(());
            }),
        );
        tokio::select! {
            biased;
            _ = here => {}
            () = clock.sleep(PATIENCE) => warn!("what is remembered did not come in time"),
        }
    }

    /// What is kept is here. It does not count where it is older than what was done here, or where nothing is kept.
    fn restore(&self, parts: BTreeMap<String, Value>, before: u64) {
        if self.store.as_ref().is_some_and(|store| !store.state().kept) {
            return;
        }
        let mut all = BTreeMap::new();
        for (part, value) in parts {
            match serde_json::from_value::<Memory>(value) {
                Ok(memory) if part == part_name(&memory.id()) => drop(all.insert(memory.id(), memory)),
                Ok(_) => warn!(part, "a memory that is not the one it is kept as"),
                Err(error) => warn!(part, %error, "a memory that cannot be read"),
            }
        }
        let mut known = self.lock();
        if known.changes == before {
            known.all = all;
        }
    }

    /// All of them, by type and name.
    pub fn list(&self) -> Vec<Memory> {
        let mut all: Vec<Memory> = self.lock().all.values().cloned().collect();
        all.sort_by(|a, b| (a.kind, &a.name).cmp(&(b.kind, &b.name)));
        all
    }

    /// Keeps a memory in the place of those that it supersedes (by their ids) and of the one that had its name; gives these
    /// back. The error: there are too many already.
    pub fn save(&self, memory: &Memory, supersedes: &[String]) -> Result<Vec<Memory>, usize> {
        let mut known = self.lock();
        let id = memory.id();
        let gone = || supersedes.iter().filter(|other| **other != id && known.all.contains_key(*other));
        let left = known.all.len() - gone().count();
        if left >= MAX_MEMORIES && !known.all.contains_key(&id) {
            return Err(left);
        }
        let gone: Vec<String> = gone().cloned().collect();
        known.changes += 1;
        let mut before: Vec<Memory> = known.all.insert(id.clone(), memory.clone()).into_iter().collect();
        if let Some(store) = &self.store {
            store.save(self.owner(), &part_name(&id), &json!(memory));
        }
        for other in gone {
            before.extend(self.drop_one(&mut known, &other));
        }
        Ok(before)
    }

    /// Forgets a memory (by its id), and gives it back.
    pub fn remove(&self, id: &str) -> Option<Memory> {
        let mut known = self.lock();
        known.changes += 1;
        self.drop_one(&mut known, id)
    }

    fn drop_one(&self, known: &mut Known, id: &str) -> Option<Memory> {
        let gone = known.all.remove(id);
        if let Some(store) = self.store.as_ref().filter(|_| gone.is_some()) {
            store.remove_part(self.owner(), &part_name(id));
        }
        gone
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        // Nothing that panics runs under it.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The part that one is kept as: kept until it is deleted, whatever its age.
fn part_name(id: &str) -> String {
    format!("{STANDING}{id}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(name: &str, content: &str) -> Memory {
        Memory {
            kind: MemoryKind::Project,
            name: name.to_owned(),
            description: "d".to_owned(),
            content: content.to_owned(),
            tags: Vec::new(),
        }
    }

    #[test]
    fn they_are_replaced_superseded_and_bounded() {
        let memories = Memories::new("/w", None);
        assert_eq!(memories.save(&memory("a", "1"), &[]), Ok(vec![]));
        assert_eq!(memories.save(&memory("a", "2"), &["project/a".to_owned()]), Ok(vec![memory("a", "1")]));
        let gone = memories.save(&memory("b", "3"), &["project/a".to_owned(), "user/none".to_owned()]);
        assert_eq!(gone, Ok(vec![memory("a", "2")]));
        assert_eq!(memories.list(), [memory("b", "3")]);
        assert_eq!((memories.remove("project/b"), memories.remove("project/b")), (Some(memory("b", "3")), None));
        for number in 0..MAX_MEMORIES {
            assert!(memories.save(&memory(&number.to_string(), ""), &[]).is_ok());
        }
        assert_eq!(memories.save(&memory("more", ""), &[]), Err(MAX_MEMORIES));
        assert!(memories.save(&memory("7", "again"), &[]).is_ok(), "one that is there may change");
        assert!(memories.save(&memory("more", ""), &["project/7".to_owned()]).is_ok(), "one goes for it");
        assert_eq!(memories.list().len(), MAX_MEMORIES);
    }

    #[test]
    fn what_is_kept_comes_back_and_nothing_else() {
        let memories = Memories::new("/w", None);
        let kept = BTreeMap::from([
            (part_name("project/a"), json!(memory("a", "1"))),
            (part_name("project/b"), json!(memory("c", "2"))),
            (part_name("project/d"), json!({ "name": "d" })),
        ]);
        memories.restore(kept.clone(), 0);
        assert_eq!(memories.list(), [memory("a", "1")]);
        // What was asked for before something was changed here is older than that.
        memories.remove("project/a");
        memories.restore(kept, 0);
        assert_eq!(memories.list(), []);
    }
}
