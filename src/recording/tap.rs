//! The two ends of a pipe, listened at.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::cut::Cutter;
use super::line::Dir;
use super::recorder::Recorder;

/// What the sidecar reads.
pub struct TapReader<R> {
    inner: R,
    heard: Heard,
}

/// What the sidecar writes.
pub struct TapWriter<W> {
    inner: W,
    heard: Heard,
}

struct Heard {
    recorder: Recorder,
    cutter: Cutter,
    dir: Dir,
    ended: bool,
}

impl Heard {
    fn bytes(&mut self, bytes: &[u8]) {
        self.cutter.push(bytes, |cut| self.recorder.put(self.dir, cut));
    }

    fn end(&mut self) {
        if !std::mem::replace(&mut self.ended, true) {
            self.cutter.end(|cut| self.recorder.put(self.dir, cut));
        }
    }
}

impl Recorder {
    /// Listens at the pipes of a sidecar. Neither ever waits for the recording.
    pub fn tap<R, W>(&self, reader: R, writer: W) -> (TapReader<R>, TapWriter<W>) {
        let heard = |dir| Heard { recorder: self.clone(), cutter: Cutter::default(), dir, ended: false };
        (TapReader { inner: reader, heard: heard(Dir::In) }, TapWriter { inner: writer, heard: heard(Dir::Out) })
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for TapReader<R> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, out: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let (before, room) = (out.filled().len(), out.remaining());
        let polled = Pin::new(&mut this.inner).poll_read(context, out);
        if matches!(polled, Poll::Ready(Ok(()))) {
            match &out.filled()[before..] {
                [] if room > 0 => this.heard.end(),
                bytes => this.heard.bytes(bytes),
            }
        }
        polled
    }
}

impl<W: AsyncWrite + Unpin> AsyncWrite for TapWriter<W> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.inner).poll_write(context, bytes);
        if let Poll::Ready(Ok(len)) = polled {
            this.heard.bytes(&bytes[..len]);
        }
        polled
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().inner).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().inner).poll_shutdown(context)
    }
}

impl<W> Drop for TapWriter<W> {
    fn drop(&mut self) {
        // What was cut off within a message is part of the story.
        self.heard.end();
    }
}
