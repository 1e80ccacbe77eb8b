//! The wire to the other side: frames in and out, and the numbers of our requests.

use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::rpc::{Decoder, encode};

/// How much is read at once (bytes).
const CHUNK: usize = 64 << 10;
/// So many messages wait to be heard; more stay in the pipe, so that a flood does not fill our memory.
const WAITING: usize = 256;

/// What comes in.
#[derive(Debug, PartialEq)]
pub(super) enum Incoming {
    /// A message.
    Message(Value),
    /// A frame that is no message; it is passed over, as editors do. What the other side did, in words that follow its name.
    Odd(String),
    /// What cannot be read on; nothing comes afterwards. In the same words.
    Broken(String),
}

/// A connection. Dropping it closes both pipes.
pub(super) struct Link {
    outgoing: Option<mpsc::UnboundedSender<Vec<u8>>>,
    incoming: mpsc::Receiver<Incoming>,
    last_id: i64,
    reading: JoinHandle<()>,
    writing: JoinHandle<()>,
}

impl Link {
    /// Starts reading and writing.
    pub(super) fn start<R, W>(reader: R, writer: W) -> Link
    where
        R: AsyncRead + Unpin + Send + 'static,
        W: AsyncWrite + Unpin + Send + 'static,
    {
        let (outgoing, queue) = mpsc::unbounded_channel();
        let (sender, incoming) = mpsc::channel(WAITING);
        let (reading, writing) = (tokio::spawn(read(reader, sender)), tokio::spawn(write(writer, queue)));
        Link { outgoing: Some(outgoing), incoming, last_id: 0, reading, writing }
    }

    /// Sends a message. When the other side is gone, nothing happens.
    pub(super) fn send(&self, message: &Value) {
        if let Some(outgoing) = &self.outgoing {
            let _ = outgoing.send(encode(message.to_string().as_bytes()));
        }
    }

    /// Sends a request; its id.
    pub(super) fn request(&mut self, method: &str, params: &Value) -> i64 {
        self.last_id += 1;
        let mut message = json!({ "jsonrpc": "2.0", "id": self.last_id, "method": method });
        if !params.is_null() {
            message["params"] = params.clone();
        }
        self.send(&message);
        self.last_id
    }

    /// Sends a notification.
    pub(super) fn notify(&self, method: &str, params: &Value) {
        let mut message = json!({ "jsonrpc": "2.0", "method": method });
        if !params.is_null() {
            message["params"] = params.clone();
        }
        self.send(&message);
    }

    /// What comes next; `None`: the other side is gone.
    pub(super) async fn next(&mut self) -> Option<Incoming> {
        self.incoming.recv().await
    }

    /// Closes the pipe that the other side reads, once everything is written; waits for that. Without it what was sent
    /// last can be lost when this is dropped.
    pub(super) async fn close(&mut self) {
        if self.outgoing.take().is_some() {
            // A task that panicked wrote what it could.
            let _ = (&mut self.writing).await;
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.reading.abort();
        self.writing.abort();
    }
}

async fn read<R: AsyncRead + Unpin>(mut reader: R, sender: mpsc::Sender<Incoming>) {
    let mut decoder = Decoder::new();
    let mut chunk = vec![0; CHUNK];
    loop {
        let came = match decoder.next_frame() {
            Ok(Some(frame)) => match serde_json::from_slice::<Value>(&frame) {
                Ok(message) if message.is_object() => Incoming::Message(message),
                Ok(_) => Incoming::Odd("sent a frame that holds no object".to_owned()),
                Err(error) => Incoming::Odd(format!("sent a frame that is no JSON: {error}")),
            },
            Ok(None) => match reader.read(&mut chunk).await {
                Ok(0) | Err(_) if decoder.is_within_frame() => {
                    Incoming::Broken("ended its output inside a frame".to_owned())
                }
                Ok(0) | Err(_) => return,
                Ok(count) => {
                    decoder.push(&chunk[..count]);
                    continue;
                }
            },
            Err(error) => Incoming::Broken(format!("sent a frame that cannot be read: {error}")),
        };
        let last = matches!(came, Incoming::Broken(_));
        if sender.send(came).await.is_err() || last {
            return;
        }
    }
}

async fn write<W: AsyncWrite + Unpin>(mut writer: W, mut queue: mpsc::UnboundedReceiver<Vec<u8>>) {
    while let Some(bytes) = queue.recv().await {
        if writer.write_all(&bytes).await.is_err() || writer.flush().await.is_err() {
            return;
        }
    }
    let _ = writer.shutdown().await;
}
