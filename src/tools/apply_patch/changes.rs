//! The changes of a call, in its order, and what they leave under each name. Pure.

use std::collections::{HashMap, HashSet};

use crate::workspace::{Fate, FileChange, Key};

/// What the earlier parts of a call leave under a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Left {
    /// What is there; they do not speak of it.
    Untouched,
    /// Nothing.
    Nothing,
    /// A file that is the call's own.
    Own,
    /// The file that is changed first by this one of them.
    Of(usize),
}

/// The changes that a call asks for.
#[derive(Default)]
pub(super) struct Changes {
    all: Vec<FileChange>,
    names: HashMap<Key, Left>,
    /// Names that some change gave up.
    gone: HashSet<Key>,
}

impl Changes {
    /// Adds one behind the others.
    pub(super) fn push(&mut self, change: FileChange) {
        let key = &change.target.key;
        let changed = match self.left(key) {
            Left::Untouched => Left::Of(self.all.len()),
            Left::Nothing => Left::Own,
            known @ (Left::Own | Left::Of(_)) => known,
        };
        match &change.fate {
            Fate::Moved { to } if to.key != *key => {
                self.names.insert(key.clone(), Left::Nothing);
                self.names.insert(to.key.clone(), changed);
                self.gone.insert(key.clone());
            }
            Fate::Deleted => {
                self.names.insert(key.clone(), Left::Nothing);
                self.gone.insert(key.clone());
            }
            Fate::Stays | Fate::Moved { .. } => drop(self.names.insert(key.clone(), changed)),
        }
        self.all.push(change);
    }

    /// What they leave under a name.
    pub(super) fn left(&self, key: &Key) -> Left {
        self.names.get(key).copied().unwrap_or(Left::Untouched)
    }

    /// Whether one of them deletes what has this name, or moves it away.
    pub(super) fn give_up(&self, key: &Key) -> bool {
        self.gone.contains(key)
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// One of them, for its rewrite to be another one; what becomes of which file must stay the same.
    pub(super) fn get_mut(&mut self, at: usize) -> Option<&mut FileChange> {
        self.all.get_mut(at)
    }

    /// All of them.
    pub(super) fn into_all(self) -> Vec<FileChange> {
        self.all
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::tools::apply_patch::patched::Moded;
    use crate::workspace::Target;

    fn target(name: u8) -> Target {
        let uri = format!("untitled:{name}");
        Target { key: Key::Unnamed(uri.clone()), shown: uri.clone(), uri, paths: Vec::new(), inside: true }
    }

    /// The same by going back over all of them.
    fn plainly(key: &Key, before: &[FileChange]) -> Left {
        let (mut name, mut first) = (key, None);
        for (at, change) in before.iter().enumerate().rev() {
            let named = change.target.key == *name;
            match &change.fate {
                Fate::Moved { to } if to.key == *name => (name, first) = (&change.target.key, Some(at)),
                Fate::Stays if named => first = Some(at),
                Fate::Deleted | Fate::Moved { .. } if named && first.is_some() => return Left::Own,
                Fate::Deleted | Fate::Moved { .. } if named => return Left::Nothing,
                Fate::Stays | Fate::Deleted | Fate::Moved { .. } => {}
            }
        }
        first.map_or(Left::Untouched, Left::Of)
    }

    proptest! {
        /// Whatever is changed, deleted, made anew and moved in whichever order.
        #[test]
        fn what_is_left_is_what_going_back_finds(parts in prop::collection::vec((0u8..5, 0u8..3, 0u8..5), 0..12)) {
            let mut changes = Changes::default();
            for (name, what, to) in parts {
                let fate = match what {
                    0 => Fate::Stays,
                    1 => Fate::Deleted,
                    _ => Fate::Moved { to: target(to) },
                };
                let rewrite = Arc::new(Moded { then: None, executable: true });
                changes.push(FileChange { target: target(name), rewrite, label: String::new(), fate });
                for name in 0..5 {
                    let key = &target(name).key;
                    prop_assert_eq!(changes.left(key), plainly(key, &changes.all));
                }
            }
        }
    }
}
