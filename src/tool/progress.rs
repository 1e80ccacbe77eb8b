//! What a running call says of itself before it ends: text it puts out, and how far it has come. Saying it costs nothing
//! but a copy; whoever tells it on takes what has come together since the last time.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// At most so many bytes of text wait to be told; of more, the oldest are dropped and counted.
const KEPT_BYTES: usize = 16 * 1024;

/// Where a running call says what it puts out. Cheap to clone; the default one hears nothing.
#[derive(Debug, Clone, Default)]
pub struct Progress(Option<Arc<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    pending: Mutex<Pending>,
    news: Notify,
}

#[derive(Debug, Default)]
struct Pending {
    text: VecDeque<u8>,
    dropped: u64,
    percentage: Option<u32>,
    message: Option<String>,
    closed: bool,
}

/// What was said since the last time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Told {
    /// The newest text.
    pub text: String,
    /// So many bytes before it are not told.
    pub dropped: u64,
    /// How far the call has come, from 0 to 100, if it said so.
    pub percentage: Option<u32>,
    /// What it does, if it said so.
    pub message: Option<String>,
}

impl Progress {
    /// One that is listened to.
    pub fn heard() -> Progress {
        Progress(Some(Arc::default()))
    }

    /// The call puts out text. Never waits.
    pub fn output(&self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.say(|pending| {
            pending.text.extend(text.as_bytes());
            let mut over = pending.text.len().saturating_sub(KEPT_BYTES);
            // Up to the end of a character: no half one is told.
            while pending.text.get(over).is_some_and(|byte| byte & 0xc0 == 0x80) {
                over += 1;
            }
            pending.text.drain(..over);
            pending.dropped += over as u64;
        });
    }

    /// The call says how far it is, from 0 to 100, and what it does. Never waits.
    pub fn report(&self, percentage: Option<u32>, message: Option<&str>) {
        self.say(|pending| {
            pending.percentage = percentage.map(|percentage| percentage.min(100)).or(pending.percentage);
            pending.message = message.map(str::to_owned).or(pending.message.take());
        });
    }

    /// Comes back when something was said that nobody has taken; never, when nobody listens.
    pub async fn news(&self) {
        match &self.0 {
            Some(inner) => inner.news.notified().await,
            None => std::future::pending().await,
        }
    }

    /// What was said since the last time, if anything.
    pub fn take(&self) -> Option<Told> {
        let mut pending = self.0.as_ref()?.lock();
        let closed = pending.closed;
        let taken = std::mem::replace(&mut *pending, Pending { closed, ..Pending::default() });
        drop(pending);
        let told = Told {
            text: String::from_utf8_lossy(&Vec::from(taken.text)).into_owned(),
            dropped: taken.dropped,
            percentage: taken.percentage,
            message: taken.message,
        };
        (told != Told::default()).then_some(told)
    }

    /// The call has ended: what is said from now on is not heard.
    pub fn close(&self) {
        if let Some(inner) = &self.0 {
            inner.lock().closed = true;
        }
    }

    fn say(&self, change: impl FnOnce(&mut Pending)) {
        let Some(inner) = &self.0 else { return };
        let mut pending = inner.lock();
        if !pending.closed {
            change(&mut pending);
            drop(pending);
            inner.news.notify_one();
        }
    }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_came_together_is_told_once() {
        let progress = Progress::heard();
        assert_eq!(progress.take(), None);
        progress.output("a");
        progress.report(Some(10), Some("first"));
        progress.output("b");
        progress.report(Some(250), None);
        let told = Told { text: "ab".into(), dropped: 0, percentage: Some(100), message: Some("first".into()) };
        assert_eq!(progress.take(), Some(told));
        assert_eq!(progress.take(), None);
        progress.output("");
        assert_eq!(progress.take(), None);
        progress.close();
        progress.output("late");
        assert_eq!((progress.take(), Progress::default().take()), (None, None));
    }

    proptest! {
        #[test]
        fn no_byte_is_lost_uncounted_and_no_character_split(
            pieces in proptest::collection::vec(("[aé€😀]", 0usize..9000), 0..5),
        ) {
            let progress = Progress::heard();
            let pieces: Vec<String> = pieces.iter().map(|(piece, count)| piece.repeat(*count)).collect();
            for piece in &pieces {
                progress.output(piece);
            }
            let whole = pieces.concat();
            let told = progress.take().unwrap_or_default();
            prop_assert_eq!(told.dropped + told.text.len() as u64, whole.len() as u64);
            prop_assert!(whole.ends_with(&told.text) && told.text.len() <= KEPT_BYTES);
        }
    }
}
