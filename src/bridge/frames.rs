//! MCP's frames over a pair of pipes, one message a line, both ways bounded: a message that is too long, or too much that
//! nobody reads, costs only the connection.
//!
//! What arrives is looked at in its order, before anything of it runs side by side: that is where calls get their place
//! in the order of their session.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::model::{ClientJsonRpcMessage, ErrorData, JsonRpcMessage, RequestId, ServerJsonRpcMessage};
use rmcp::service::RoleServer;
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::Notify;
use tracing::{debug, warn};

use crate::ports::Clock;
use crate::rpc::{MOST_VALUES, more_values_than};

/// A message is at most so long (bytes).
const LONGEST_MESSAGE: usize = 16 << 20;

/// At most so much waits to be read by the other side (bytes).
const MOST_WAITING: usize = 32 << 20;

/// After so many lines that are no messages nothing good will come.
const MOST_GARBAGE: u32 = 32;

/// How long the other side may take to read anything at all of what waits for it.
const STALLED: Duration = Duration::from_mins(1);

/// How much is read at once (bytes).
const PIECE: usize = 64 << 10;

/// Looks at what arrives and leaves, in order.
pub(super) trait Order: Send + Sync + 'static {
    /// A message arrived. An error is the answer to it, and nobody else sees it.
    fn arrived(&self, message: &ClientJsonRpcMessage) -> Result<(), ErrorData>;
    /// A request is answered.
    fn answered(&self, id: &RequestId);
    /// Nothing arrives any more.
    fn hung_up(&self) {}
}

/// One connection.
pub(super) struct Lines<R> {
    input: R,
    /// What was read and is no whole line yet.
    read: Vec<u8>,
    /// Of that, so much is known to hold no line end.
    looked_at: usize,
    garbage: u32,
    order: Arc<dyn Order>,
    outgoing: Arc<Outgoing>,
}

/// What waits to be written.
#[derive(Default)]
struct Outgoing {
    state: Mutex<Waiting>,
    more: Notify,
    /// Told when it is closed.
    end: Notify,
}

#[derive(Default)]
struct Waiting {
    lines: VecDeque<Vec<u8>>,
    bytes: usize,
    closed: bool,
}

impl Outgoing {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, line: Vec<u8>) -> io::Result<()> {
        let mut waiting = self.lock();
        if waiting.closed {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        // One line alone may be longer: it is bounded by what makes it.
        if waiting.bytes > 0 && waiting.bytes + line.len() > MOST_WAITING {
            waiting.closed = true;
            drop(waiting);
            self.more.notify_one();
            self.end.notify_one();
            warn!("a client of MCP does not read what it is sent; its connection ends");
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        waiting.bytes += line.len();
        waiting.lines.push_back(line);
        drop(waiting);
        self.more.notify_one();
        Ok(())
    }

    /// No more is taken. What waits is still written.
    fn close(&self) {
        self.lock().closed = true;
        self.more.notify_one();
        self.end.notify_one();
    }

    /// The next line; `None` once it is closed and all is written.
    async fn next(&self) -> Option<Vec<u8>> {
        loop {
            {
                let mut waiting = self.lock();
                if let Some(line) = waiting.lines.pop_front() {
                    return Some(line);
                }
                if waiting.closed {
                    return None;
                }
            }
            self.more.notified().await;
        }
    }

    fn written(&self, bytes: usize) {
        self.lock().bytes -= bytes;
    }
}

/// A connection over pipes, and what writes its output, which has to be run beside it and ends with it.
pub(super) fn over<R, W>(
    input: R,
    output: W,
    clock: Arc<dyn Clock>,
    order: Arc<dyn Order>,
) -> (Lines<R>, impl Future<Output = ()> + Send + 'static)
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let outgoing = Arc::new(Outgoing::default());
    let writing = write(output, Arc::clone(&outgoing), clock);
    (Lines { input, read: Vec::new(), looked_at: 0, garbage: 0, order, outgoing }, writing)
}

async fn write<W: AsyncWrite + Unpin>(mut output: W, outgoing: Arc<Outgoing>, clock: Arc<dyn Clock>) {
    while let Some(line) = outgoing.next().await {
        let mut rest = line.as_slice();
        while !rest.is_empty() {
            let written = tokio::select! {
                written = output.write(rest) => written,
                () = clock.sleep(STALLED) => Err(io::ErrorKind::TimedOut.into()),
            };
            match written {
                Ok(bytes) if bytes > 0 => rest = &rest[bytes..],
                other => {
                    debug!(?other, "a client of MCP reads no more");
                    outgoing.close();
                    return;
                }
            }
        }
        outgoing.written(line.len());
        // What fails here fails at the next line.
        let _ = output.flush().await;
    }
    let _ = output.shutdown().await;
}

/// What a line is.
enum Line {
    Message(Box<ClientJsonRpcMessage>),
    /// Not one, and how the other side is told, if it is.
    Not(Option<Box<ServerJsonRpcMessage>>),
    Blank,
}

fn parse(line: &[u8]) -> Line {
    let line = line.trim_ascii();
    if line.is_empty() {
        return Line::Blank;
    }
    match serde_json::from_slice::<ClientJsonRpcMessage>(line) {
        Ok(message) => Line::Message(Box::new(message)),
        Err(fault) => {
            let value = serde_json::from_slice::<Value>(line).ok();
            let id = value.as_ref().and_then(|value| value.get("id"));
            let request = id.is_some() && value.as_ref().is_some_and(|value| value.get("method").is_some());
            // What has no id, or is an answer that cannot be read, is not answered: two sides that answer each other's
            // garbage never end.
            let answer = request.then(|| {
                let id = id.and_then(|id| serde_json::from_value(id.clone()).ok());
                let why = if id.is_some() {
                    format!("The request cannot be read: {fault}")
                } else {
                    "The id of a request has to be a whole number or a string.".to_owned()
                };
                Box::new(JsonRpcMessage::error(ErrorData::invalid_request(why, None), id))
            });
            Line::Not(answer)
        }
    }
}

impl<R: AsyncRead + Send + Unpin + 'static> Lines<R> {
    /// The next whole line, without its end. Nothing is lost when the wait for it is given up.
    async fn line(&mut self) -> Option<Vec<u8>> {
        loop {
            if let Some(at) = self.read[self.looked_at..].iter().position(|byte| *byte == b'\n') {
                let rest = self.read.split_off(self.looked_at + at + 1);
                self.looked_at = 0;
                return Some(std::mem::replace(&mut self.read, rest));
            }
            self.looked_at = self.read.len();
            if self.read.len() > LONGEST_MESSAGE {
                warn!("a client of MCP sent a message that is too long; its connection ends");
                return None;
            }
            self.read.reserve(PIECE);
            let read = tokio::select! {
                read = self.input.read_buf(&mut self.read) => read,
                () = self.outgoing.end.notified() => return None,
            };
            match read {
                Ok(bytes) if bytes > 0 => {}
                _ => return None,
            }
        }
    }

    fn answer(&self, message: &ServerJsonRpcMessage) {
        // A connection that takes no more is at its end.
        let _ = serde_json::to_vec(message).map_err(io::Error::from).and_then(|line| self.outgoing.put(ended(line)));
    }
}

fn ended(mut line: Vec<u8>) -> Vec<u8> {
    line.push(b'\n');
    line
}

impl<R: AsyncRead + Send + Unpin + 'static> Transport<RoleServer> for Lines<R> {
    type Error = io::Error;

    fn send(&mut self, message: ServerJsonRpcMessage) -> impl Future<Output = io::Result<()>> + Send + 'static {
        if let JsonRpcMessage::Response(response) = &message {
            self.order.answered(&response.id);
        } else if let JsonRpcMessage::Error(error) = &message
            && let Some(id) = &error.id
        {
            self.order.answered(id);
        }
        let sent = serde_json::to_vec(&message).map_err(io::Error::from);
        std::future::ready(sent.and_then(|line| self.outgoing.put(ended(line))))
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            let Some(line) = self.line().await else {
                self.order.hung_up();
                return None;
            };
            if more_values_than(&line, MOST_VALUES) {
                warn!("a client of MCP sent a message that holds too much; its connection ends");
                self.order.hung_up();
                return None;
            }
            match parse(&line) {
                Line::Blank => {}
                Line::Not(answer) => {
                    self.garbage += 1;
                    if self.garbage > MOST_GARBAGE {
                        warn!("a client of MCP sends what is no MCP; its connection ends");
                        self.order.hung_up();
                        return None;
                    }
                    if let Some(answer) = answer {
                        self.answer(&answer);
                    }
                }
                Line::Message(message) => match self.order.arrived(&message) {
                    Ok(()) => return Some(*message),
                    Err(error) => {
                        if let JsonRpcMessage::Request(request) = &*message {
                            self.answer(&JsonRpcMessage::error(error, Some(request.id.clone())));
                        }
                    }
                },
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.outgoing.close();
        Ok(())
    }
}

impl<R> Drop for Lines<R> {
    fn drop(&mut self) {
        self.outgoing.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::SystemClock;
    use serde_json::json;
    use tokio::io::{AsyncBufReadExt as _, BufReader};

    /// Lets everything through but what asks for a tool called `no`.
    #[derive(Default)]
    struct Seen(Mutex<Vec<String>>);

    impl Order for Seen {
        fn arrived(&self, message: &ClientJsonRpcMessage) -> Result<(), ErrorData> {
            let text = serde_json::to_string(message).unwrap();
            if text.contains("\"no\"") {
                return Err(ErrorData::invalid_request("not this", None));
            }
            self.0.lock().unwrap().push(text);
            Ok(())
        }

        fn answered(&self, id: &RequestId) {
            self.0.lock().unwrap().push(format!("answered {id}"));
        }
    }

    fn ping(id: u32) -> String {
        format!("{}\n", json!({ "jsonrpc": "2.0", "id": id, "method": "ping" }))
    }

    fn call(id: u32, name: &str) -> String {
        let params = json!({ "name": name, "arguments": {} });
        format!("{}\n", json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }))
    }

    #[tokio::test]
    async fn lines_become_messages_and_garbage_is_survived() {
        let (mut client, server) = tokio::io::duplex(1 << 20);
        let (input, output) = tokio::io::split(server);
        let (mut lines, writing) = over(input, output, Arc::new(SystemClock), Arc::new(Seen::default()));
        let writing = tokio::spawn(writing);
        let odd = json!({ "jsonrpc": "2.0", "id": 9, "method": 7 });
        let half = json!({ "jsonrpc": "2.0", "id": 2.5, "method": "ping" });
        let sent = format!("{}\r\n\n{{garbage\n{odd}\n{half}\n{}{}", ping(1).trim_end(), call(2, "no"), ping(3));
        client.write_all(sent.as_bytes()).await.unwrap();
        for expected in [1, 3] {
            let message = lines.receive().await.unwrap();
            let JsonRpcMessage::Request(request) = message else { panic!("{message:?}") };
            assert_eq!(request.id, RequestId::Number(expected));
        }
        drop(lines);
        writing.await.unwrap();
        let mut answers = Vec::new();
        let mut reader = BufReader::new(client).lines();
        while let Some(line) = reader.next_line().await.unwrap() {
            let answer: Value = serde_json::from_str(&line).unwrap();
            answers.push((answer["id"].as_i64(), answer["error"]["code"].as_i64().unwrap()));
        }
        assert_eq!(answers, [(Some(9), -32600), (None, -32600), (Some(2), -32600)]);
    }

    #[tokio::test]
    async fn a_wait_that_is_given_up_loses_nothing() {
        let (mut client, server) = tokio::io::duplex(1 << 20);
        let (input, output) = tokio::io::split(server);
        let (mut lines, _writing) = over(input, output, Arc::new(SystemClock), Arc::new(Seen::default()));
        let whole = ping(5);
        for half in [&whole[..7], &whole[7..20]] {
            client.write_all(half.as_bytes()).await.unwrap();
            tokio::select! {
                biased;
                message = lines.receive() => panic!("{message:?}"),
                () = tokio::task::yield_now() => {}
            }
        }
        client.write_all(&whole.as_bytes()[20..]).await.unwrap();
        assert!(
            matches!(lines.receive().await, Some(JsonRpcMessage::Request(request)) if request.id == RequestId::Number(5))
        );
        drop(client);
        assert!(lines.receive().await.is_none());
    }

    #[tokio::test]
    async fn much_garbage_and_endless_lines_end_it() {
        let values = format!("[{}1]\n", "1,".repeat(MOST_VALUES));
        for sent in ["x\n".repeat(40), "x".repeat(LONGEST_MESSAGE + 2 * PIECE), values] {
            let (mut client, server) = tokio::io::duplex(1 << 20);
            let (input, output) = tokio::io::split(server);
            let (mut lines, _writing) = over(input, output, Arc::new(SystemClock), Arc::new(Seen::default()));
            let sending = tokio::spawn(async move {
                // It may not get rid of all of it.
                let _ = client.write_all(sent.as_bytes()).await;
                client
            });
            assert!(lines.receive().await.is_none());
            drop(lines);
            sending.abort();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn who_does_not_read_is_sent_away_and_holds_up_nobody() {
        let (_client, server) = tokio::io::duplex(64);
        let (input, output) = tokio::io::split(server);
        let (mut lines, writing) = over(input, output, Arc::new(SystemClock), Arc::new(Seen::default()));
        let writing = tokio::spawn(writing);
        let message = || {
            let words = "x".repeat(1 << 20);
            JsonRpcMessage::error(ErrorData::invalid_request(words, None), Some(RequestId::Number(1)))
        };
        let mut fine = 0;
        for _ in 0..100 {
            fine += usize::from(lines.send(message()).await.is_ok());
        }
        assert!((20..40).contains(&fine), "{fine}");
        assert!(lines.receive().await.is_none());
        // The writer gives up by itself.
        writing.await.unwrap();
    }

    #[tokio::test]
    async fn an_answer_is_noticed() {
        let (_client, server) = tokio::io::duplex(1 << 16);
        let (input, output) = tokio::io::split(server);
        let seen = Arc::new(Seen::default());
        let (mut lines, _writing) = over(input, output, Arc::new(SystemClock), Arc::clone(&seen) as Arc<dyn Order>);
        let answer = JsonRpcMessage::error(ErrorData::invalid_request("no", None), Some(RequestId::Number(4)));
        lines.send(answer).await.unwrap();
        assert_eq!(*seen.0.lock().unwrap(), ["answered 4"]);
    }
}
