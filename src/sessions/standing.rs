//! What a person consented to for good: yes to all calls that are alike, in every session of one workspace folder.
//!
//! Each yes is a part of its own in the store, so that of two sidecars neither brings back what the other took back. A sidecar
//! reads them once, when the first session of the folder is opened.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tracing::warn;

use super::consents::{Remembered, Scope};
use super::store::{Owner, STANDING, Store};

/// At most so many are kept; the oldest give way.
const KEPT: usize = 1000;

/// So many hex digits name one.
const ID_DIGITS: usize = 16;

/// The grants of one workspace folder that count always.
pub(super) struct Standing {
    root: String,
    store: Option<Store>,
    granted: Mutex<BTreeMap<String, Yes>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Yes {
    /// What the calls have in common.
    like: String,
    /// Counts them, for their order.
    number: u64,
    tool: String,
    targets: Vec<String>,
}

impl Standing {
    /// Those of a folder, of which nothing is known yet.
    pub(super) fn new(root: &str, store: Option<Store>) -> Standing {
        Standing { root: root.to_owned(), store, granted: Mutex::default() }
    }

    /// The folder.
    pub(super) fn root(&self) -> &str {
        &self.root
    }

    /// Whose parts these are: no session's, for a workspace folder is an absolute path, or nothing.
    pub(super) fn owner(&self) -> Owner {
        Owner { session: String::new(), root: format!("always in {}", self.root) }
    }

    /// What was kept is here. What was said meanwhile is newer.
    pub(super) fn restore(&self, parts: BTreeMap<String, Value>) {
        let mut granted = self.lock();
        for (part, value) in parts {
            match serde_json::from_value::<Yes>(value) {
                Ok(yes) if part == name(&yes.like) => drop(granted.entry(yes.like.clone()).or_insert(yes)),
                Ok(_) => warn!(part, "a kept consent that is not the one it is kept as"),
                Err(error) => warn!(part, %error, "a kept consent that cannot be read"),
            }
        }
    }

    /// Yes to all calls that are `like` this one. Answers whether that is new.
    pub(super) fn grant(&self, like: &str, tool: &str, targets: &[String]) -> bool {
        let mut granted = self.lock();
        let number = granted.values().map(|yes| yes.number).max().unwrap_or_default() + 1;
        let yes = Yes { like: like.to_owned(), number, tool: tool.to_owned(), targets: targets.to_vec() };
        if let Some(store) = &self.store {
            store.save(self.owner(), &name(like), &json!(yes));
        }
        let new = granted.insert(like.to_owned(), yes).is_none();
        if granted.len() > KEPT
            && let Some(oldest) = granted.values().min_by_key(|yes| yes.number).map(|yes| yes.like.clone())
        {
            self.drop_one(&mut granted, &oldest);
        }
        new
    }

    /// Whether a person said yes to calls like this one.
    pub(super) fn granted(&self, like: &str) -> bool {
        self.lock().contains_key(like)
    }

    /// All of them, the oldest first.
    pub(super) fn list(&self) -> Vec<Remembered> {
        let granted = self.lock();
        let mut all: Vec<&Yes> = granted.values().collect();
        all.sort_by(|a, b| (a.number, &a.like).cmp(&(b.number, &b.like)));
        all.into_iter()
            .map(|yes| Remembered {
                id: id(&yes.like),
                scope: Scope::Always,
                tool: yes.tool.clone(),
                targets: yes.targets.clone(),
            })
            .collect()
    }

    /// Takes those back whose ids fit; answers whether there were any.
    pub(super) fn revoke(&self, fits: impl Fn(&str) -> bool) -> bool {
        let mut granted = self.lock();
        let gone: Vec<String> = granted.keys().filter(|like| fits(&id(like))).cloned().collect();
        for like in &gone {
            self.drop_one(&mut granted, like);
        }
        !gone.is_empty()
    }

    fn drop_one(&self, granted: &mut BTreeMap<String, Yes>, like: &str) {
        granted.remove(like);
        if let Some(store) = &self.store {
            store.remove_part(self.owner(), &name(like));
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Yes>> {
        // Nothing that panics runs under it.
        self.granted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The part that one is kept as.
fn name(like: &str) -> String {
    format!("{STANDING}{}", crate::text::hash(like))
}

/// What one is listed as, the same in every run.
fn id(like: &str) -> String {
    format!("a{}", &crate::text::hash(like)[..ID_DIGITS])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_listed_taken_back_and_bounded() {
        let standing = Standing::new("/w", None);
        assert!(standing.grant("one", "bash", &["ls".to_owned()]) && standing.grant("two", "write", &[]));
        assert!(!standing.grant("one", "bash", &["ls".to_owned()]), "it is known");
        let listed = standing.list();
        assert_eq!(listed.iter().map(|one| one.tool.as_str()).collect::<Vec<_>>(), ["write", "bash"]);
        assert!(listed.iter().all(|one| one.scope == Scope::Always && one.id.len() == ID_DIGITS + 1));
        assert!(standing.revoke(|id| id == listed[0].id) && !standing.revoke(|id| id == listed[0].id));
        assert!(standing.granted("one") && !standing.granted("two"));
        for number in 0..KEPT {
            standing.grant(&number.to_string(), "t", &[]);
        }
        assert!(!standing.granted("one") && standing.granted("0"));
    }

    #[test]
    fn what_is_kept_comes_back_and_nothing_else() {
        let yes = |like: &str| json!({ "like": like, "number": 1, "tool": "t", "targets": [] });
        let standing = Standing::new("/w", None);
        standing.restore(BTreeMap::from([
            (name("one"), yes("one")),
            (name("two"), yes("another")),
            (name("three"), json!({ "like": "three" })),
        ]));
        assert_eq!(["one", "two", "another", "three"].map(|like| standing.granted(like)), [true, false, false, false]);
    }
}
