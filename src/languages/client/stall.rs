//! A server that does not read what it is sent is given up after a while: a full pipe holds up nobody.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::AsyncWrite;

use crate::ports::Clock;

/// So long a pipe may stay full. A busy server takes long to read; one that takes this long does not read at all.
pub(super) const STALL: Duration = Duration::from_mins(2);

/// A writer whose write fails when nothing of it was taken for [`STALL`].
pub(super) struct Stalling<W> {
    writer: W,
    clock: Arc<dyn Clock>,
    /// The end of the time for the write that is held up.
    over: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl<W> Stalling<W> {
    pub(super) fn new(writer: W, clock: Arc<dyn Clock>) -> Stalling<W> {
        Stalling { writer, clock, over: None }
    }

    /// What became of an attempt, once it has been held up for too long.
    fn bounded<T>(&mut self, attempt: Poll<io::Result<T>>, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        if attempt.is_ready() {
            self.over = None;
            return attempt;
        }
        let clock = &self.clock;
        let over = self.over.get_or_insert_with(|| clock.sleep(STALL));
        match over.as_mut().poll(context) {
            Poll::Ready(()) => {
                self.over = None;
                let why = "it does not read what it is sent";
                Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, why)))
            }
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<W: AsyncWrite + Unpin> AsyncWrite for Stalling<W> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let attempt = Pin::new(&mut this.writer).poll_write(context, bytes);
        this.bounded(attempt, context)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let attempt = Pin::new(&mut this.writer).poll_flush(context);
        this.bounded(attempt, context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let attempt = Pin::new(&mut this.writer).poll_shutdown(context);
        this.bounded(attempt, context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::SystemClock;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};
    use tokio::time::Instant;

    #[tokio::test(start_paused = true)]
    async fn a_full_pipe_fails_and_a_slow_one_does_not() {
        let (ours, mut theirs) = duplex(4);
        let mut writer = Stalling::new(ours, Arc::new(SystemClock));
        // It reads now and then: each bit that is taken starts the time anew.
        let reading = tokio::spawn(async move {
            for _ in 0..4 {
                tokio::time::sleep(STALL / 2).await;
                let mut bytes = [0; 4];
                theirs.read_exact(&mut bytes).await.unwrap();
            }
            theirs
        });
        writer.write_all(b"0123456789abcdef0123").await.unwrap();
        let _open = reading.await.unwrap();
        let begin = Instant::now();
        let error = writer.write_all(b"more").await.unwrap_err();
        assert_eq!((error.kind(), begin.elapsed()), (io::ErrorKind::TimedOut, STALL));
    }
}
