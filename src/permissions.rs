//! What may be done without asking: trust in folders, and the decision on a call. Pure, but for the list of trusted roots.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};

/// Which folders the person trusts: a repository is not the user, so nothing of an untrusted one is run or obeyed.
#[derive(Debug, Default)]
pub struct Trust {
    roots: RwLock<BTreeSet<PathBuf>>,
}

impl Trust {
    /// Trusts nothing.
    pub fn new() -> Trust {
        Trust::default()
    }

    /// Trusts a folder (canonical path) and what is below it, or no longer does.
    pub fn set(&self, root: &Path, trusted: bool) {
        let mut roots = self.roots.write().unwrap_or_else(PoisonError::into_inner);
        if trusted {
            roots.insert(root.to_owned());
        } else {
            roots.remove(root);
        }
    }

    /// Whether a canonical path lies in a trusted folder.
    pub fn covers(&self, path: &Path) -> bool {
        self.roots.read().unwrap_or_else(PoisonError::into_inner).iter().any(|root| path.starts_with(root))
    }
}
