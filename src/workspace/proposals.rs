//! Changes that are proposed and not made: each session sees its own over everything else, and nobody else does.
//!
//! [`Draft`] is the pure middle: what is proposed for one file, over the text that the file held when this was last
//! looked at. What the user types in the meantime is found out when somebody looks again, so that typing costs nothing
//! here; then the proposal moves along, or goes stale where the user has changed the very lines. [`layer`] is what a
//! session sees, [`judge`] what a person makes of it.

mod draft;
pub(super) mod judge;
mod kept;
pub(super) mod layer;
mod shares;
mod stack;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use draft::{Becomes, Draft, Hunk, Pick};
pub use judge::{Accepting, Rejected, accepted};
pub use kept::Kept;
pub use layer::Laid;
pub use shares::Shares;
pub use stack::{Over, Selector, Stack, Standing};

use crate::text::LineBreaks;
use crate::workspace::commit::Fate;
use crate::workspace::paths::Key;

/// What all sessions propose.
#[derive(Debug, Default)]
pub struct Proposals {
    stacks: Mutex<BTreeMap<String, Stack>>,
    /// By session: held while a real text is read and a proposal moved to it, for what was read last counts last.
    turns: Mutex<BTreeMap<String, Arc<Mutex<()>>>>,
    /// So many stacks came to be.
    births: AtomicU64,
}

/// The proposals for one file, for a person to judge.
#[derive(Debug, Clone, PartialEq)]
pub struct PendingFile {
    /// The session.
    pub session: String,
    /// The file that would be changed, as a URI.
    pub uri: String,
    /// Its name in messages.
    pub shown: String,
    /// Where it would be moved to.
    pub moved_to: Option<String>,
    /// What is proposed, in the order of the text.
    pub hunks: Vec<Hunk>,
}

impl Proposals {
    /// Whether a session proposes something under one of these names.
    pub fn touch<'a>(&self, session: &str, mut keys: impl Iterator<Item = &'a Key>) -> bool {
        let stacks = self.lock();
        let Some(stack) = stacks.get(session) else { return false };
        keys.any(|key| stack.concerning(key).is_some())
    }

    /// Whether a session proposes a file under this name, to be made or moved there.
    pub(super) fn make(&self, session: &str, key: &Key) -> bool {
        self.lock().get(session).is_some_and(|stack| matches!(stack.over(key), Over::Text(_)))
    }

    /// The sessions of which something is known here, sorted.
    pub(super) fn sessions(&self) -> Vec<String> {
        self.lock().keys().cloned().collect()
    }

    /// Whether a session proposes anything.
    pub fn any(&self, session: &str) -> bool {
        self.lock().get(session).is_some_and(|stack| !stack.drafts.is_empty())
    }

    /// What sessions propose (all of them: `None`), for one file or all of them. As of the last look.
    pub(super) fn pending(&self, session: Option<&str>, key: Option<&Key>) -> Vec<PendingFile> {
        let stacks = self.lock();
        let mut pending = Vec::new();
        for (name, stack) in stacks.iter().filter(|(name, _)| session.is_none_or(|session| session == *name)) {
            for (draft, hunks) in stack.pending() {
                if key.is_some_and(|key| draft.real.key != *key && draft.place().key != *key) {
                    continue;
                }
                let moved_to = match &draft.fate {
                    Fate::Moved { to } => Some(to.uri.clone()),
                    Fate::Stays | Fate::Deleted => None,
                };
                pending.push(PendingFile {
                    session: name.clone(),
                    uri: draft.real.uri.clone(),
                    shown: draft.real.shown.clone(),
                    moved_to,
                    hunks,
                });
            }
        }
        pending
    }

    /// Something that a session's model has to be told of its proposals, as a phrase.
    pub fn tell(&self, session: &str, news: String) {
        self.with(session, |stack| stack.tell(news));
    }

    /// What a session's model has not been told of its proposals yet, once: phrases.
    pub fn take_news(&self, session: &str) -> Vec<String> {
        self.lock().get_mut(session).map(Stack::take_news).unwrap_or_default()
    }

    /// Drops all that a session proposes; the URIs of the files it was about. Its numbers go on, so that the name of a
    /// hunk that a person still has before them never comes to mean another one; and what is kept of it counts no more.
    pub fn forget(&self, session: &str) -> Vec<String> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner).remove(session);
        let mut stacks = self.lock();
        let stack = stacks.remove(session).unwrap_or_default();
        if stack.last > 0 {
            let mut empty = self.born(stack.last);
            empty.known = true;
            stacks.insert(session.to_owned(), empty);
        }
        stack.files().into_iter().map(|target| target.uri).collect()
    }

    fn born(&self, last: u64) -> Stack {
        Stack::newborn(self.births.fetch_add(1, Ordering::Relaxed) + 1, last)
    }

    /// What is kept of a session's proposals over a restart; an empty thing where they are too much for that.
    pub fn kept(&self, session: &str) -> Kept {
        self.lock().get(session).map(Kept::of).unwrap_or_default()
    }

    /// Brings back what was kept of a session, if nothing is known of it yet. The URIs of the files that it is about.
    pub fn restore(&self, session: &str, kept: impl FnOnce() -> Option<Kept>, breaks: LineBreaks) -> Vec<String> {
        let mut stacks = self.lock();
        let stack = stacks.entry(session.to_owned()).or_insert_with(|| self.born(0));
        if !std::mem::replace(&mut stack.known, true)
            && let Some(kept) = kept()
        {
            let born = stack.born;
            *stack = kept.stack(breaks);
            stack.born = born;
            return stack.files().into_iter().map(|target| target.uri).collect();
        }
        Vec::new()
    }

    /// Does something with what a session proposes.
    fn with<R>(&self, session: &str, act: impl FnOnce(&mut Stack) -> R) -> R {
        act(self.lock().entry(session.to_owned()).or_insert_with(|| self.born(0)))
    }

    /// The same, if it is this stack still, and not one that came after it.
    fn with_same<R>(&self, session: &str, born: u64, act: impl FnOnce(&mut Stack) -> R) -> Option<R> {
        self.lock().get_mut(session).filter(|stack| stack.born == born).map(act)
    }

    /// Does something in a session's turn. Blocking.
    fn in_turn<R>(&self, session: &str, act: impl FnOnce() -> R) -> R {
        let turn = self.turn(session);
        let _turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
        act()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Stack>> {
        self.stacks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The turn of a session's proposals. Whoever has it may read files.
    fn turn(&self, session: &str) -> Arc<Mutex<()>> {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(turns.entry(session.to_owned()).or_default())
    }
}
