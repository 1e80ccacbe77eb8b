//! The pipes between the editor and the sidecar: frames in pieces, and answers as they come.

use std::future::Future;

use ropewalk::rpc::{Decoder, encode};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// How much a pipe holds (bytes).
const PIPE: usize = 16 << 10;

/// The editor's end.
pub struct Wire {
    outgoing: mpsc::UnboundedSender<Vec<u8>>,
    incoming: mpsc::UnboundedReceiver<Value>,
    serving: JoinHandle<u8>,
    /// The last message, which waits for the next one or for a flush.
    last: Vec<u8>,
    /// The longest piece in which bytes are written.
    grain: usize,
    /// How many messages went in pieces.
    pub splits: u64,
}

impl Wire {
    /// Starts whoever serves at the other end. Nothing is written in longer pieces than `grain` (bytes).
    pub fn start<F>(grain: usize, serve: impl FnOnce(DuplexStream, DuplexStream) -> F) -> Wire
    where
        F: Future<Output = u8> + Send + 'static,
    {
        let (ours_in, theirs_out) = duplex(PIPE);
        let (theirs_in, ours_out) = duplex(PIPE);
        let (outgoing, queue) = mpsc::unbounded_channel();
        let (sender, incoming) = mpsc::unbounded_channel();
        tokio::spawn(write(ours_out, queue));
        tokio::spawn(read(ours_in, sender));
        let serving = tokio::spawn(serve(theirs_in, theirs_out));
        Wire { outgoing, incoming, serving, last: Vec::new(), grain, splits: 0 }
    }

    /// Sends a message, with the next one or the next flush.
    pub fn send(&mut self, message: &Value) {
        self.flush();
        self.last = encode(message.to_string().as_bytes());
    }

    /// Sends all that was not sent.
    pub fn flush(&mut self) {
        let bytes = std::mem::take(&mut self.last);
        self.splits += u64::from(bytes.len() > self.grain);
        for piece in bytes.chunks(self.grain) {
            let _ = self.outgoing.send(piece.to_vec());
        }
    }

    /// Sends half of the last message.
    pub fn halve(&mut self) {
        let rest = self.last.split_off(self.last.len() / 2);
        self.flush();
        self.splits += u64::from(!rest.is_empty());
        self.last = rest;
    }

    /// Whether everything was sent.
    pub fn is_flushed(&self) -> bool {
        self.last.is_empty()
    }

    /// A message that came.
    pub fn came(&mut self) -> Option<Value> {
        self.incoming.try_recv().ok()
    }

    /// Whether the other side has ended.
    pub fn is_over(&self) -> bool {
        self.serving.is_finished()
    }
}

async fn read(mut pipe: DuplexStream, sender: mpsc::UnboundedSender<Value>) {
    let (mut decoder, mut chunk) = (Decoder::new(), vec![0; PIPE]);
    loop {
        while let Some(frame) = decoder.next_frame().expect("frames") {
            let _ = sender.send(serde_json::from_slice(&frame).expect("JSON"));
        }
        match pipe.read(&mut chunk).await {
            Ok(0) | Err(_) => return,
            Ok(count) => decoder.push(&chunk[..count]),
        }
    }
}

async fn write(mut pipe: DuplexStream, mut queue: mpsc::UnboundedReceiver<Vec<u8>>) {
    while let Some(bytes) = queue.recv().await {
        if pipe.write_all(&bytes).await.is_err() {
            return;
        }
        // Whoever reads finds this piece and no more.
        tokio::task::yield_now().await;
    }
}
