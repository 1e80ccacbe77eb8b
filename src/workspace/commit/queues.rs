//! One queue for each document: commits take turns in the order in which they came. A queue whose last edit may still
//! be on its way stays shut until that is known.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::OwnedMutexGuard;
use tokio_util::sync::CancellationToken;

use crate::workspace::paths::Key;
use crate::workspace::{Refusal, RefusalKind};

/// At most so many pieces of late news are kept for a document.
const LATE_LIMIT: usize = 16;

/// All queues. Clones share them.
#[derive(Default, Clone)]
pub struct Queues {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Default)]
struct Inner {
    queues: HashMap<Key, Queue>,
    late: HashMap<Key, Vec<String>>,
    shuts: u64,
}

#[derive(Default)]
struct Queue {
    turn: Arc<tokio::sync::Mutex<()>>,
    /// How many hold or await a turn.
    users: usize,
    /// Why no turn may be used, and whose doing it is.
    shut: Option<(u64, String)>,
}

/// A place in a queue, waiting or served. Dropping it gives it up.
struct Seat {
    queues: Queues,
    key: Key,
}

/// The right to change one document.
pub(super) struct Turn {
    // In this order: the lock is free before the queue may be dropped.
    _guard: OwnedMutexGuard<()>,
    seat: Seat,
}

/// Names one shutting of a queue, to open it again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shut(u64);

impl Queues {
    /// Waits for a turn. [`RefusalKind::Cancelled`] when `cancel` fires first, [`RefusalKind::Unknown`] when the queue
    /// is shut.
    pub(super) async fn enter(&self, key: &Key, cancel: &CancellationToken) -> Result<Turn, Refusal> {
        let cancelled = || Refusal::new(RefusalKind::Cancelled, "Cancelled before anything was changed.");
        let wait = self.wait(key);
        let turn = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(cancelled()),
            turn = wait => turn,
        };
        match turn.shut_words() {
            Some(words) => Err(Refusal::new(RefusalKind::Unknown, words)),
            None => Ok(turn),
        }
    }

    /// Waits for a turn, whether or not the queue is shut.
    pub(super) async fn wait(&self, key: &Key) -> Turn {
        let lock = {
            let mut inner = self.lock();
            let queue = inner.queues.entry(key.clone()).or_default();
            queue.users += 1;
            Arc::clone(&queue.turn)
        };
        let seat = Seat { queues: self.clone(), key: key.clone() };
        Turn { _guard: lock.lock_owned().await, seat }
    }

    /// Opens a queue again, unless it was shut anew since.
    pub(super) fn reopen(&self, key: &Key, shut: Shut) {
        let mut inner = self.lock();
        if let Some(queue) = inner.queues.get_mut(key) {
            if queue.shut.as_ref().is_some_and(|&(number, _)| number == shut.0) {
                queue.shut = None;
            }
            inner.tidy(key);
        }
    }

    /// Remembers something that became known after the call it belongs to had its answer.
    pub(super) fn tell_late(&self, key: &Key, news: String) {
        let mut inner = self.lock();
        let late = inner.late.entry(key.clone()).or_default();
        if late.len() < LATE_LIMIT {
            late.push(news);
        }
    }

    /// Takes what [`Queues::tell_late`] has remembered of a document.
    pub(in crate::workspace) fn take_late(&self, key: &Key) -> Vec<String> {
        self.lock().late.remove(key).unwrap_or_default()
    }

    /// How many queues there are: of documents that somebody changes, waits for, or that are shut.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.lock().queues.len()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn tidy(&mut self, key: &Key) {
        if self.queues.get(key).is_some_and(|queue| queue.users == 0 && queue.shut.is_none()) {
            self.queues.remove(key);
        }
    }
}

impl Turn {
    /// Shuts the queue for everybody who comes after this turn.
    pub(super) fn shut(&self, words: &str) -> Shut {
        let mut inner = self.seat.queues.lock();
        inner.shuts += 1;
        let number = inner.shuts;
        if let Some(queue) = inner.queues.get_mut(&self.seat.key) {
            queue.shut = Some((number, words.to_owned()));
        }
        Shut(number)
    }

    fn shut_words(&self) -> Option<String> {
        let inner = self.seat.queues.lock();
        inner.queues.get(&self.seat.key).and_then(|queue| queue.shut.as_ref()).map(|(_, words)| words.clone())
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut inner = self.queues.lock();
        if let Some(queue) = inner.queues.get_mut(&self.key) {
            queue.users -= 1;
        }
        inner.tidy(&self.key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn key(name: &str) -> Key {
        Key::File(PathBuf::from(name))
    }

    #[tokio::test]
    async fn turns_are_taken_in_order_and_queues_do_not_stay() {
        let queues = Queues::default();
        let never = CancellationToken::new();
        let first = queues.enter(&key("/a"), &never).await.unwrap();
        let other = queues.enter(&key("/b"), &never).await.unwrap();
        let order = Arc::new(Mutex::new(Vec::new()));
        let tasks: Vec<_> = (0..5)
            .map(|number| {
                let (queues, order, never) = (queues.clone(), Arc::clone(&order), never.clone());
                tokio::spawn(async move {
                    let _turn = queues.enter(&key("/a"), &never).await.unwrap();
                    order.lock().unwrap().push(number);
                })
            })
            .collect();
        tokio::task::yield_now().await;
        assert_eq!(queues.len(), 2);
        drop((first, other));
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(*order.lock().unwrap(), [0, 1, 2, 3, 4]);
        assert_eq!(queues.len(), 0);
    }

    #[tokio::test]
    async fn a_wait_can_be_cancelled() {
        let queues = Queues::default();
        let (never, cancel) = (CancellationToken::new(), CancellationToken::new());
        let turn = queues.enter(&key("/a"), &never).await.unwrap();
        cancel.cancel();
        assert_eq!(queues.enter(&key("/a"), &cancel).await.err().unwrap().kind, RefusalKind::Cancelled);
        drop(turn);
        assert_eq!(queues.len(), 0);
    }

    #[tokio::test]
    async fn a_shut_queue_refuses_until_the_one_who_shut_it_opens_it() {
        let queues = Queues::default();
        let never = CancellationToken::new();
        let turn = queues.enter(&key("/a"), &never).await.unwrap();
        let (old, new) = (turn.shut("first"), turn.shut("second"));
        drop(turn);
        queues.reopen(&key("/a"), old);
        let refused = queues.enter(&key("/a"), &never).await.err().unwrap();
        assert_eq!((refused.kind, refused.message.as_str()), (RefusalKind::Unknown, "second"));
        queues.reopen(&key("/a"), new);
        drop(queues.enter(&key("/a"), &never).await.unwrap());
        assert_eq!(queues.len(), 0);
    }
}
