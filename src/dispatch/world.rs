//! Counts what may change what tools see, by whomever: typing, files, and calls that change something. One room for all
//! who have to know whether the world is still the one they looked at.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::catalog::Entry;

/// The counts.
#[derive(Debug, Default)]
pub(super) struct World {
    /// Changes that were made, or may have been.
    changes: AtomicU64,
    /// Calls that may change something and have begun, and those of them that have ended.
    crossings: AtomicU64,
}

/// The world at a moment. Two that are equal have nothing between them that may have changed anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Moment {
    changes: u64,
    crossings: u64,
}

impl World {
    /// Something changed, or may have.
    pub(super) fn changed(&self) {
        self.changes.fetch_add(1, Ordering::AcqRel);
    }

    /// How many changes there were. A call that was refused before it did anything is none.
    pub(super) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// The world as it is now, stricter: also a call that has only begun makes another one of it.
    pub(super) fn now(&self) -> Moment {
        Moment { changes: self.changes(), crossings: self.crossings.load(Ordering::Acquire) }
    }

    /// A call of a tool begins. Unless it can change nothing, it may change something for as long as the guard lives.
    pub(super) fn during(self: &Arc<World>, entry: &Entry) -> Option<Changing> {
        (!entry.shared()).then(|| {
            self.cross();
            Changing(Arc::clone(self))
        })
    }

    fn cross(&self) {
        self.crossings.fetch_add(1, Ordering::AcqRel);
    }
}

/// A call that may change something.
pub(super) struct Changing(Arc<World>);

impl Drop for Changing {
    fn drop(&mut self) {
        self.0.cross();
    }
}
