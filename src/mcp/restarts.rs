//! When a server that ended is started again, and how soon one is heard whose tools change. Pure.

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

/// After a server said that its tools are others, it may say so again for so long before they are fetched.
const GATHERING: Duration = Duration::from_millis(100);

/// The same for one that says so all the time.
const LONGEST_GATHERING: Duration = Duration::from_secs(30);

/// One that was quiet for so long is listened to as if it had never said anything.
const QUIET: Duration = Duration::from_secs(10);

/// How soon it is looked at what a server says of its tools: later and later, the more often it says that they are others.
#[derive(Debug, Clone, Default)]
pub(super) struct Heed {
    pause: Option<Duration>,
    fetched: Option<Instant>,
}

impl Heed {
    /// It says that they are others; after how long they are to be fetched.
    pub(super) fn told(&mut self, now: Instant) -> Duration {
        let again = self.fetched.is_some_and(|fetched| now - fetched < QUIET);
        let pause = self.pause.filter(|_| again).map_or(GATHERING, |pause| (pause * 2).min(LONGEST_GATHERING));
        self.pause = Some(pause);
        pause
    }

    /// They were fetched.
    pub(super) fn fetched(&mut self, now: Instant) {
        self.fetched = Some(now);
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

    #[tokio::test(start_paused = true)]
    async fn who_never_rests_is_heard_less_and_less() {
        let mut heed = Heed::default();
        let mut pauses = Vec::new();
        for quiet in [0, 0, 1, 9, 0, 0, 0, 0, 0, 0, 0, 10, 0] {
            tokio::time::advance(Duration::from_secs(quiet)).await;
            let pause = heed.told(Instant::now());
            tokio::time::advance(pause).await;
            heed.fetched(Instant::now());
            pauses.push(pause.as_millis());
        }
        assert_eq!(pauses, [100, 200, 400, 800, 1600, 3200, 6400, 12800, 25600, 30000, 30000, 100, 200]);
    }
}
