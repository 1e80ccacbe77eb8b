//! The two pipes to the editor as the transport needs them: input that tells when it has ended, output that never makes
//! anybody wait.
//!
//! The messages themselves do not go through the transport's reader: it takes a message with a method and a result for an
//! answer, gives up on what it cannot read, and keeps the room that its longest message took for good. It gets a stand-in
//! for each of them, of always the same bytes, and [`super::ordered`] takes the message itself from [`Inbox`].

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio::sync::mpsc;
use tracing::debug;

use super::frames::Splitter;
use super::lifecycle::{Gone, Reason};
use super::messages::Message;

/// How much is read at once (bytes).
const CHUNK: usize = 64 << 10;

/// What stands for a message in the transport's eyes.
const STAND_IN: &[u8] = b"Content-Length: 33\r\n\r\n{\"jsonrpc\":\"2.0\",\"method\":\"next\"}";

/// The messages that have come in and were not looked at, in order. Cheap to clone.
#[derive(Clone, Default)]
pub(super) struct Inbox(Arc<Mutex<VecDeque<Message>>>);

impl Inbox {
    /// The next one: one for each stand-in.
    pub(super) fn take(&self) -> Option<Message> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }

    fn put(&self, messages: Vec<Message>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(messages);
    }
}

/// The editor's messages, into the inbox, and `gone` at their end.
pub(super) struct Input<R> {
    reader: R,
    splitter: Splitter,
    inbox: Inbox,
    /// Bytes of stand-ins that the transport has not taken yet.
    ready: usize,
    chunk: Box<[u8]>,
    ended: bool,
    gone: Gone,
}

impl<R> Input<R> {
    /// Reads from `reader`.
    pub(super) fn new(reader: R, inbox: Inbox, gone: Gone) -> Input<R> {
        Input {
            reader,
            splitter: Splitter::default(),
            inbox,
            ready: 0,
            chunk: vec![0; CHUNK].into(),
            ended: false,
            gone,
        }
    }

    fn give(&mut self, out: &mut ReadBuf<'_>) -> bool {
        let mut gave = false;
        while self.ready > 0 && out.remaining() > 0 {
            let rest = &STAND_IN[STAND_IN.len() - 1 - (self.ready - 1) % STAND_IN.len()..];
            let len = out.remaining().min(rest.len());
            out.put_slice(&rest[..len]);
            self.ready -= len;
            gave = true;
        }
        gave
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Input<R> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, out: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        loop {
            if this.give(out) {
                return Poll::Ready(Ok(()));
            }
            if this.ended {
                // Every message before the end has been looked at by now: the transport reads on only after that.
                this.gone.fire(Reason::InputEnded);
                return Poll::Ready(Ok(()));
            }
            let mut chunk = ReadBuf::new(&mut this.chunk);
            match Pin::new(&mut this.reader).poll_read(context, &mut chunk) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(())) if chunk.filled().is_empty() => this.ended = true,
                Poll::Ready(Ok(())) => {
                    let messages = this.splitter.push(chunk.filled());
                    this.ready += messages.len() * STAND_IN.len();
                    this.inbox.put(messages);
                }
                Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Poll::Ready(Err(error)) => {
                    debug!(%error, "the input failed");
                    this.ended = true;
                }
            }
        }
    }
}

/// What was written to the editor and it has not read. Cheap to clone.
#[derive(Clone, Default)]
pub(super) struct Backlog(Arc<AtomicUsize>);

impl Backlog {
    /// So many bytes.
    pub(super) fn bytes(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    fn grows(&self, bytes: usize) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }

    fn shrinks(&self, bytes: usize) {
        self.0.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// What the transport writes to: a queue without a bound, so that an editor that does not read never stops the reading
/// of what it sends.
pub(super) struct Output {
    queue: Option<mpsc::UnboundedSender<Vec<u8>>>,
    closed: Arc<Mutex<bool>>,
    backlog: Backlog,
}

/// The other end of [`Output`].
pub(super) struct Drain {
    queue: mpsc::UnboundedReceiver<Vec<u8>>,
    closed: Arc<Mutex<bool>>,
    backlog: Backlog,
    gone: Gone,
}

/// A queue for the output; `backlog` counts what is in it.
pub(super) fn output(gone: Gone, backlog: Backlog) -> (Output, Drain) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let closed = Arc::new(Mutex::new(false));
    let output = Output { queue: Some(sender), closed: Arc::clone(&closed), backlog: backlog.clone() };
    (output, Drain { queue: receiver, closed, backlog, gone })
}

impl AsyncWrite for Output {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let closed = *self.closed.lock().unwrap_or_else(PoisonError::into_inner);
        if let (false, Some(queue)) = (closed, &self.queue) {
            self.backlog.grows(bytes.len());
            // An error means that the drain has ended, so that nobody reads any more.
            let _ = queue.send(bytes.to_vec());
        }
        // Never an error: the transport ends badly on one, and `gone` has been told already.
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.queue = None;
        Poll::Ready(Ok(()))
    }
}

impl Drain {
    /// Writes what is queued until the queue is closed and empty, or the writer fails.
    pub(super) async fn run(mut self, mut writer: impl AsyncWrite + Unpin) {
        let mut batch = Vec::new();
        while self.queue.recv_many(&mut batch, 64).await > 0 {
            let bytes = batch.concat();
            batch.clear();
            let written = async {
                writer.write_all(&bytes).await?;
                writer.flush().await
            };
            if let Err(error) = written.await {
                debug!(%error, "the output failed");
                *self.closed.lock().unwrap_or_else(PoisonError::into_inner) = true;
                self.gone.fire(Reason::OutputClosed);
                return;
            }
            self.backlog.shrinks(bytes.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::*;

    #[tokio::test]
    async fn what_the_editor_has_not_read_is_counted() {
        let backlog = Backlog::default();
        let (mut output, drain) = output(Gone::new(), backlog.clone());
        output.write_all(&[b'x'; 1000]).await.unwrap();
        assert_eq!(backlog.bytes(), 1000);
        let (writer, mut reader) = tokio::io::duplex(10);
        drop(output);
        let mut read = Vec::new();
        let ((), count) = tokio::join!(drain.run(writer), reader.read_to_end(&mut read));
        assert_eq!((count.unwrap(), backlog.bytes()), (1000, 0));
    }
}
