//! When a server that ended is started again. Pure.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

/// A server that ends so often within [`WINDOW`] is not started again.
const MOST: usize = 5;

/// See [`MOST`].
const WINDOW: Duration = Duration::from_mins(3);

/// The ends of a server, as far as they count.
#[derive(Debug, Clone, Default)]
pub(super) struct Restarts {
    ends: VecDeque<Instant>,
}

impl Restarts {
    /// The server ended; after how long it may be started again (1, 2, 4, 8 s), or `None` if it ends too often.
    pub(super) fn ended(&mut self, now: Instant) -> Option<Duration> {
        self.forget(now);
        self.ends.push_back(now);
        let before = self.ends.len() - 1;
        (before < MOST - 1).then(|| Duration::from_secs(1 << before))
    }

    /// Whether it ended too often to be tried now.
    pub(super) fn exhausted(&mut self, now: Instant) -> bool {
        self.forget(now);
        self.ends.len() >= MOST
    }

    fn forget(&mut self, now: Instant) {
        while self.ends.front().is_some_and(|end| now - *end > WINDOW) {
            self.ends.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn later_each_time_and_then_not_at_all_for_a_while() {
        let mut restarts = Restarts::default();
        let waits: Vec<Option<u64>> =
            (0..5).map(|_| restarts.ended(Instant::now()).map(|after| after.as_secs())).collect();
        assert_eq!(waits, [Some(1), Some(2), Some(4), Some(8), None]);
        assert!(restarts.exhausted(Instant::now()));
        tokio::time::advance(WINDOW + Duration::from_secs(1)).await;
        assert!(!restarts.exhausted(Instant::now()));
        assert_eq!(restarts.ended(Instant::now()), Some(Duration::from_secs(1)));
    }
}
