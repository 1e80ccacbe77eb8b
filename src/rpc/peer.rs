//! [`Peer`]: requests and notifications over a pair of pipes.

use std::collections::HashMap;
use std::future::Future;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tracing::{debug, trace, warn};

use super::codec::{Decoder, encode};
use super::{MAX_BACKLOG, code};
use crate::ports::Clock;

/// An error as it goes over the wire.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message} ({code})")]
pub struct Fault {
    /// The code, see [`code`].
    pub code: i64,
    /// The words.
    pub message: String,
    /// More of it.
    pub data: Option<Value>,
}

impl Fault {
    /// The answer to a method that is not known.
    pub fn unknown(method: &str) -> Fault {
        Fault { code: code::METHOD_NOT_FOUND, message: format!("the method `{method}` is not known"), data: None }
    }
}

/// Why a request of ours has no result.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CallError {
    /// The other side answered with an error.
    #[error("the server answered with an error: {0}")]
    Fault(#[from] Fault),
    /// It did not answer in time; it was told that the request is cancelled.
    #[error("the server did not answer in time")]
    Timeout,
    /// The connection is over.
    #[error("the connection to the server is closed")]
    Closed,
}

/// Takes what the other side sends by itself. Called on the reading task, in order: it must return soon.
pub trait Handler: Send + Sync + 'static {
    /// Answers a request.
    fn request(&self, method: &str, params: Value) -> Result<Value, Fault>;
    /// Takes a notification.
    fn notification(&self, method: &str, params: Value);
    /// The connection is over, for this reason; nothing comes after it.
    fn closed(&self, why: &str);
}

type Pending = HashMap<i64, oneshot::Sender<Result<Value, Fault>>>;

/// Counts messages that are on their way, from when each is put on a queue until it is written or given up. Clones count
/// together.
#[derive(Debug, Clone, Default)]
pub struct Unsent(Arc<AtomicUsize>);

/// A message that is on its way; dropped when it is not any more.
#[derive(Debug)]
pub struct OnItsWay(Unsent);

impl Unsent {
    /// One more.
    pub fn add(&self) -> OnItsWay {
        self.0.fetch_add(1, Ordering::Relaxed);
        OnItsWay(self.clone())
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

impl Drop for OnItsWay {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// One side of a connection. Clones are the same side; when the last is dropped, the connection is closed.
#[derive(Clone)]
pub struct Peer {
    shared: Arc<Shared>,
    clock: Arc<dyn Clock>,
    _end: Arc<tokio_util::sync::DropGuard>,
}

struct Shared {
    next: AtomicI64,
    /// `None` once the connection is over.
    pending: Mutex<Option<Pending>>,
    queue: mpsc::UnboundedSender<(Vec<u8>, OnItsWay)>,
    /// Bytes on the queue.
    backlog: AtomicUsize,
    unsent: Unsent,
    over: CancellationToken,
    /// Why it is over; the first reason counts.
    why: OnceLock<String>,
}

impl Peer {
    /// Starts reading and writing.
    pub fn start<R, W, H>(reader: R, writer: W, clock: Arc<dyn Clock>, handler: impl FnOnce(Peer) -> H) -> Peer
    where
        R: AsyncRead + Unpin + Send + 'static,
        W: AsyncWrite + Unpin + Send + 'static,
        H: Handler,
    {
        Peer::start_counted(reader, writer, clock, Unsent::default(), handler)
    }

    /// The same, with what is on its way to the other side counted in `unsent`.
    pub fn start_counted<R, W, H>(
        reader: R,
        writer: W,
        clock: Arc<dyn Clock>,
        unsent: Unsent,
        handler: impl FnOnce(Peer) -> H,
    ) -> Peer
    where
        R: AsyncRead + Unpin + Send + 'static,
        W: AsyncWrite + Unpin + Send + 'static,
        H: Handler,
    {
        let (queue, queued) = mpsc::unbounded_channel();
        let over = CancellationToken::new();
        let shared = Arc::new(Shared {
            next: AtomicI64::new(1),
            pending: Mutex::new(Some(HashMap::new())),
            queue,
            backlog: AtomicUsize::new(0),
            unsent,
            over: over.clone(),
            why: OnceLock::new(),
        });
        let peer = Peer { shared: Arc::clone(&shared), clock, _end: Arc::new(over.drop_guard()) };
        let handler = handler(peer.clone());
        tokio::spawn(write(writer, queued, Arc::clone(&shared)));
        tokio::spawn(async move {
            tokio::select! {
                why = read(reader, &shared, &handler) => shared.end(why),
                () = shared.over.cancelled() => {}
            }
            shared.end("closed by us");
            handler.closed(shared.why.get().map_or("", String::as_str));
        });
        peer
    }

    /// Sends a request and waits for its answer, at most `deadline`. It is on its way when this returns: what is sent
    /// afterwards arrives after it. A future that is dropped cancels the request.
    #[expect(clippy::needless_pass_by_value, reason = "callers build the parameters for the call")]
    pub fn request(
        &self,
        method: &str,
        params: Value,
        deadline: Duration,
    ) -> impl Future<Output = Result<Value, CallError>> + Send + use<> {
        let id = self.shared.next.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = oneshot::channel();
        let open = self.shared.pending().as_mut().map(|pending| pending.insert(id, sender)).is_some();
        let shared = Arc::clone(&self.shared);
        if open {
            shared.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        }
        let waiting = Waiting { shared, id };
        let clock = Arc::clone(&self.clock);
        async move {
            let _waiting = waiting;
            tokio::select! {
                answer = answer => match answer {
                    Ok(answer) => Ok(answer?),
                    Err(_) => Err(CallError::Closed),
                },
                () = clock.sleep(deadline) => Err(CallError::Timeout),
            }
        }
    }

    /// Sends a notification. When the connection is over, nothing happens.
    #[expect(clippy::needless_pass_by_value, reason = "callers build the parameters for the call")]
    pub fn notify(&self, method: &str, params: Value) {
        let message = if params.is_null() {
            json!({ "jsonrpc": "2.0", "method": method })
        } else {
            json!({ "jsonrpc": "2.0", "method": method, "params": params })
        };
        self.shared.send(&message);
    }

    /// Ends the connection; whatever waits for an answer gets [`CallError::Closed`].
    pub fn close(&self) {
        self.shared.end("closed by us");
    }

    /// Waits until the connection is over.
    pub async fn closed(&self) {
        self.shared.over.cancelled().await;
    }

    /// Whether the connection is over.
    pub fn is_closed(&self) -> bool {
        self.shared.over.is_cancelled()
    }
}

impl Shared {
    fn pending(&self) -> MutexGuard<'_, Option<Pending>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, message: &Value) {
        if self.over.is_cancelled() {
            return;
        }
        trace!(%message, "to the server");
        let frame = encode(message.to_string().as_bytes());
        let length = frame.len();
        if self.backlog.fetch_add(length, Ordering::Relaxed) + length > MAX_BACKLOG {
            self.end("the other side does not read what it is sent");
        } else if self.queue.send((frame, self.unsent.add())).is_err() {
            self.end("nothing can be sent any more");
        }
    }

    fn end(&self, why: impl Into<String>) {
        let _ = self.why.set(why.into());
        self.over.cancel();
        // Dropping the senders wakes every waiting request.
        self.pending().take();
    }
}

/// A request that may still be answered; one that is given up is cancelled on the other side.
struct Waiting {
    shared: Arc<Shared>,
    id: i64,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let unanswered = self.shared.pending().as_mut().is_some_and(|pending| pending.remove(&self.id).is_some());
        if unanswered {
            self.shared.send(&json!({
                "jsonrpc": "2.0", "method": "$/cancelRequest", "params": { "id": self.id }
            }));
        }
    }
}

async fn write<W: AsyncWrite + Unpin>(
    mut writer: W,
    mut queued: mpsc::UnboundedReceiver<(Vec<u8>, OnItsWay)>,
    shared: Arc<Shared>,
) {
    let work = async {
        while let Some((frame, _on_its_way)) = queued.recv().await {
            writer.write_all(&frame).await?;
            shared.backlog.fetch_sub(frame.len(), Ordering::Relaxed);
            if queued.is_empty() {
                writer.flush().await?;
            }
        }
        writer.shutdown().await
    };
    tokio::select! {
        result = work => match result {
            Ok(()) => shared.end("closed by us"),
            Err(error) => shared.end(format!("writing failed: {error}")),
        },
        () = shared.over.cancelled() => {}
    }
}

/// Reads until the connection is over; says why it is.
async fn read<R: AsyncRead + Unpin>(mut reader: R, shared: &Arc<Shared>, handler: &impl Handler) -> String {
    let mut decoder = Decoder::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match reader.read(&mut buffer).await {
            Ok(0) => return "the other side closed its output".into(),
            Ok(count) => decoder.push(&buffer[..count]),
            Err(error) => return format!("reading failed: {error}"),
        }
        loop {
            match decoder.next_frame() {
                Ok(Some(frame)) => take(&frame, shared, handler),
                Ok(None) => break,
                Err(error) => return error.to_string(),
            }
        }
    }
}

fn take(frame: &[u8], shared: &Arc<Shared>, handler: &impl Handler) {
    let message: Value = match serde_json::from_slice(frame) {
        Ok(message) => message,
        Err(error) => {
            warn!(%error, "a frame that is no JSON");
            return;
        }
    };
    trace!(%message, "from the server");
    match message {
        Value::Array(batch) => batch.into_iter().for_each(|message| take_one(message, shared, handler)),
        message => take_one(message, shared, handler),
    }
}

fn take_one(mut message: Value, shared: &Arc<Shared>, handler: &impl Handler) {
    let id = message.get("id").cloned().filter(|id| !id.is_null());
    let params = message.get_mut("params").map(Value::take).unwrap_or_default();
    match (message.get("method").and_then(Value::as_str), id) {
        (Some(method), Some(id)) => {
            let answer = match handler.request(method, params) {
                Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
                Err(fault) => {
                    let mut error = json!({ "code": fault.code, "message": fault.message });
                    if let Some(data) = fault.data {
                        error["data"] = data;
                    }
                    json!({ "jsonrpc": "2.0", "id": id, "error": error })
                }
            };
            shared.send(&answer);
        }
        (Some(method), None) => handler.notification(method, params),
        (None, Some(id)) => {
            // Some servers answer with the number as text.
            let number = id.as_i64().or_else(|| id.as_str().and_then(|id| id.parse().ok()));
            let waiting = number.and_then(|number| shared.pending().as_mut()?.remove(&number));
            let Some(waiting) = waiting else {
                debug!(%id, "an answer that nobody waits for");
                return;
            };
            let _ = waiting.send(answer_of(message));
        }
        (None, None) => debug!("a message that is neither a request nor an answer"),
    }
}

fn answer_of(mut message: Value) -> Result<Value, Fault> {
    match message.get_mut("error").map(Value::take) {
        None | Some(Value::Null) => Ok(message.get_mut("result").map(Value::take).unwrap_or_default()),
        Some(mut error) => Err(Fault {
            code: error.get("code").and_then(Value::as_i64).unwrap_or_default(),
            message: error.get("message").and_then(Value::as_str).unwrap_or("an error without words").to_owned(),
            data: error.get_mut("data").map(Value::take),
        }),
    }
}

#[cfg(test)]
#[path = "peer_tests.rs"]
mod tests;
