//! Time as a port. Its twin in tests is tokio's paused clock, which [`SystemClock`] follows.

use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, SystemTime};

use tokio::time::Instant;

/// Tells the time and waits.
pub trait Clock: Send + Sync + 'static {
    /// A point on a clock that never goes back.
    fn now(&self) -> Instant;
    /// The time of day, for logs and file stamps only; it may jump.
    fn wall(&self) -> SystemTime;
    /// Waits.
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>>;
}

/// Tokio's clock: the real one, or the paused one of a test.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Instant {
        Instant::now()
    }

    fn wall(&self) -> SystemTime {
        SystemTime::now()
    }

    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(tokio::time::sleep(duration))
    }
}
