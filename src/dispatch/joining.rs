//! The order in which tools join and leave. What is costly about it (their schemas) is worked out beside the reader, one
//! request after the other; whatever comes after a request sees what became of it.

use std::future::Future;
use std::sync::Mutex;

use tokio::sync::watch;

use super::catalog::lock;

/// Requests of tools to join or leave, numbered as they come.
pub(super) struct Joining {
    came: Mutex<u64>,
    done: watch::Sender<u64>,
}

/// All the requests that had come at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark(u64);

/// A place in the order, which ends with it.
pub(super) struct Turn {
    number: u64,
    done: watch::Sender<u64>,
}

impl Default for Joining {
    fn default() -> Joining {
        Joining { came: Mutex::default(), done: watch::Sender::new(0) }
    }
}

impl Joining {
    /// The next place in the order.
    pub(super) fn turn(&self) -> Turn {
        let mut came = lock(&self.came);
        *came += 1;
        Turn { number: *came, done: self.done.clone() }
    }

    /// What has come so far.
    pub(super) fn mark(&self) -> Mark {
        Mark(*lock(&self.came))
    }

    /// Whether all that had come by then is done.
    pub(super) fn past(&self, mark: Mark) -> bool {
        *self.done.borrow() >= mark.0
    }

    /// Comes back when all that had come by then is done.
    pub(super) fn after(&self, mark: Mark) -> impl Future<Output = ()> + Send + use<> {
        reached(&self.done, mark.0)
    }

    /// What there is to wait for, in words.
    pub(super) fn pending(&self) -> Option<&'static str> {
        (!self.past(self.mark())).then_some("tools that join or leave")
    }
}

impl Turn {
    /// Comes back when all before it are done.
    pub(super) fn comes(&self) -> impl Future<Output = ()> + Send + use<> {
        reached(&self.done, self.number - 1)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        // Dropped before it came, it still keeps its place: nobody is done before those in front of it are.
        let (number, done) = (self.number, self.done.clone());
        if *done.borrow() + 1 >= number {
            done.send_replace(number);
            return;
        }
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                reached(&done, number - 1).await;
                done.send_replace(number);
            });
        }
    }
}

fn reached(done: &watch::Sender<u64>, number: u64) -> impl Future<Output = ()> + Send + use<> {
    let mut done = done.subscribe();
    async move {
        // An error would mean that nobody counts any more.
        let _ = done.wait_for(|done| *done >= number).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;

    #[tokio::test]
    async fn all_that_came_before_is_waited_for_and_nothing_that_came_after() {
        let joining = Joining::default();
        assert!(joining.past(joining.mark()) && joining.pending().is_none());
        let first = joining.turn();
        let mark = joining.mark();
        let (second, third) = (joining.turn(), joining.turn());
        assert!(!joining.past(mark) && joining.pending().is_some());
        assert!(first.comes().now_or_never().is_some() && second.comes().now_or_never().is_none());
        // One that is given up keeps its place.
        drop(third);
        assert!(joining.after(mark).now_or_never().is_none());
        drop(first);
        assert!(joining.past(mark) && joining.after(mark).now_or_never().is_some());
        assert!(second.comes().now_or_never().is_some() && joining.pending().is_some());
        drop(second);
        joining.after(joining.mark()).await;
        assert!(joining.pending().is_none());
    }
}
