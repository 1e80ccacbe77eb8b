//! MCP over a pair of pipes: one JSON message a line. What a server writes is bounded here: a line that is none is told
//! and skipped, one that is too long is skipped to its end, and of messages that nobody takes only so many wait.

use std::borrow::Cow;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ErrorData, JsonRpcMessage, RequestId, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;
use tracing::warn;

use crate::rpc::{MOST_VALUES, more_values_than};

/// A line is at most so long (bytes).
pub(super) const LONGEST_LINE: usize = 16 * 1024 * 1024;

/// So much of a line that is too long is kept of its beginning, and of its end (bytes).
const EDGE: usize = 64;

/// So many bytes wait at most for a server that does not read.
const MOST_WAITING: usize = 64 * 1024 * 1024;

/// So many messages of a server wait at most to be looked at; it is not read any further meanwhile.
const MOST_UNREAD: usize = 64;

/// A server that wrote so many lines in a row that are no messages is none.
const MOST_MALFORMED: usize = 1000;

/// So much of a line that is no message is told (characters).
const SHOWN: usize = 120;

/// What is wrong with what a server writes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Faults {
    /// Lines that are no messages.
    pub malformed: usize,
    /// Of these, in a row up to now.
    in_row: usize,
    /// The beginning of the last one.
    pub last: String,
    /// Lines that were too long, or held too much.
    pub too_large: usize,
    /// Why it is not listened to any more.
    pub given_up: Option<String>,
}

/// [`Faults`], as they come.
#[derive(Debug, Clone, Default)]
pub(super) struct Health(Arc<Mutex<Faults>>);

impl Health {
    /// What is wrong by now.
    pub(super) fn now(&self) -> Faults {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The same in words, if there is anything.
    pub(super) fn words(&self) -> Option<String> {
        let Faults { malformed, last, too_large, given_up, .. } = self.now();
        let mut said: Vec<String> = given_up.into_iter().collect();
        if malformed > 0 {
            said.push(format!("{malformed} lines were no messages, the last one {last:?}"));
        }
        if too_large > 0 {
            said.push(format!("{too_large} lines were longer than {LONGEST_LINE} bytes or held too many values"));
        }
        (!said.is_empty()).then(|| said.join("; "))
    }

    /// A line is no message; answers whether that is enough.
    fn malformed(&self, server: &str, line: &[u8]) -> bool {
        let shown: String = String::from_utf8_lossy(line).chars().take(SHOWN).collect();
        let mut faults = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if faults.malformed == 0 {
            warn!(server, line = shown, "an MCP server wrote a line that is no message");
        }
        faults.malformed += 1;
        faults.in_row += 1;
        faults.last = shown;
        let over = faults.in_row >= MOST_MALFORMED;
        if over {
            faults.given_up = Some(format!("it wrote {MOST_MALFORMED} lines in a row that are no messages"));
        }
        over
    }

    fn too_large(&self, server: &str) {
        warn!(server, "an MCP server wrote a line that is too large");
        self.note(|faults| faults.too_large += 1);
    }

    fn note(&self, change: impl FnOnce(&mut Faults)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// The transport over a pair of pipes.
pub(super) struct Pipes {
    out: mpsc::UnboundedSender<Vec<u8>>,
    waiting: Arc<AtomicUsize>,
    /// So many bytes wait at most.
    most: usize,
    inbox: mpsc::Receiver<ServerJsonRpcMessage>,
    _tasks: [AbortOnDropHandle<()>; 2],
}

impl Pipes {
    /// Over these pipes. Must be called on the runtime.
    pub(super) fn new(
        server: &str,
        reader: impl AsyncRead + Unpin + Send + 'static,
        writer: impl AsyncWrite + Unpin + Send + 'static,
    ) -> (Pipes, Health) {
        let health = Health::default();
        let (sender, inbox) = mpsc::channel(MOST_UNREAD);
        let (out, lines) = mpsc::unbounded_channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let reading = read(server.to_owned(), BufReader::new(reader), sender, health.clone());
        let writing = write(writer, lines, Arc::clone(&waiting));
        let tasks = [AbortOnDropHandle::new(tokio::spawn(reading)), AbortOnDropHandle::new(tokio::spawn(writing))];
        (Pipes { out, waiting, most: MOST_WAITING, inbox, _tasks: tasks }, health)
    }

    fn push(&self, message: &ClientJsonRpcMessage) -> io::Result<()> {
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        let len = line.len();
        if self.waiting.fetch_add(len, Ordering::AcqRel) + len > self.most {
            self.waiting.fetch_sub(len, Ordering::AcqRel);
            return Err(io::Error::other(format!("it does not read: {} bytes wait for it already", self.most)));
        }
        self.out.send(line).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

impl Transport<RoleClient> for Pipes {
    type Error = io::Error;

    fn name() -> Cow<'static, str> {
        "pipes".into()
    }

    fn send(&mut self, item: ClientJsonRpcMessage) -> impl Future<Output = io::Result<()>> + Send + 'static {
        // Never waits: a server that does not read keeps nobody but those who call it.
        std::future::ready(self.push(&item))
    }

    fn receive(&mut self) -> impl Future<Output = Option<ServerJsonRpcMessage>> + Send {
        self.inbox.recv()
    }

    async fn close(&mut self) -> io::Result<()> {
        self.inbox.close();
        Ok(())
    }
}

async fn write(
    mut writer: impl AsyncWrite + Unpin + Send,
    mut lines: mpsc::UnboundedReceiver<Vec<u8>>,
    waiting: Arc<AtomicUsize>,
) {
    while let Some(line) = lines.recv().await {
        // An error means that the server is gone, which is told by the end of what it writes.
        if writer.write_all(&line).await.is_err() || writer.flush().await.is_err() {
            return;
        }
        waiting.fetch_sub(line.len(), Ordering::AcqRel);
    }
}

async fn read(
    server: String,
    mut reader: impl AsyncBufRead + Unpin + Send,
    sender: mpsc::Sender<ServerJsonRpcMessage>,
    health: Health,
) {
    loop {
        // Told as soon as it is known: the end of such a line may never come.
        let read = next_line(&mut reader, LONGEST_LINE, || health.too_large(&server)).await;
        let (head, tail, why) = match &read {
            Ok(Some(Line::TooLong { head, tail })) => {
                (&head[..], &tail[..], format!("longer than {LONGEST_LINE} bytes, and was not read"))
            }
            Ok(Some(Line::Whole(line))) if more_values_than(line, MOST_VALUES) => {
                health.too_large(&server);
                let (head, tail) = edges(line);
                (head, tail, format!("one of more than {MOST_VALUES} values, and was not read"))
            }
            Ok(Some(Line::Whole(line))) => match messages(line) {
                Some(found) => {
                    health.note(|faults| faults.in_row = 0);
                    for message in found {
                        if sender.send(message).await.is_err() {
                            return;
                        }
                    }
                    continue;
                }
                None if health.malformed(&server, line) => return,
                None => {
                    let (head, tail) = edges(line);
                    (head, tail, "no message of MCP".to_owned())
                }
            },
            Ok(None) | Err(_) => return,
        };
        // Nobody waits for what will not come.
        if let Some(id) = answered(head, tail) {
            let instead = ErrorData::internal_error(format!("its answer was {why}"), None);
            if sender.send(JsonRpcMessage::error(instead, Some(id))).await.is_err() {
                return;
            }
        }
    }
}

/// The beginning and the end of a line.
fn edges(line: &[u8]) -> (&[u8], &[u8]) {
    let line = line.trim_ascii();
    (&line[..line.len().min(EDGE)], &line[line.len().saturating_sub(EDGE)..])
}

/// The messages of a line: one, or those of a batch; an empty line has none. `None`: it is no message.
fn messages(line: &[u8]) -> Option<Vec<ServerJsonRpcMessage>> {
    let line = line.trim_ascii();
    if line.is_empty() {
        return Some(Vec::new());
    }
    if line.starts_with(b"[") {
        return serde_json::from_slice(line).ok();
    }
    serde_json::from_slice(line).ok().map(|message| vec![message])
}

/// The request that a line answers, as far as that is told by its beginning and its end: servers write the id at the one
/// or at the other.
fn answered(head: &[u8], tail: &[u8]) -> Option<RequestId> {
    const ID: &str = "\"jsonrpc\":\"2.0\",\"id\":";
    let plain = |bytes: &[u8]| -> String {
        String::from_utf8_lossy(bytes).chars().filter(|character| !character.is_whitespace()).collect()
    };
    let (head, tail) = (plain(head), plain(tail));
    let answers = |text: &str| text.starts_with("\"result\":") || text.starts_with("\"error\":");
    let inner = head.strip_prefix('{')?;
    let number = match inner.strip_prefix(ID).and_then(|rest| rest.split_once(',')) {
        Some((number, rest)) => answers(rest).then_some(number)?,
        None => answers(inner).then(|| tail.rsplit_once(ID)?.1.strip_suffix('}'))??,
    };
    number.parse().ok().map(RequestId::Number)
}

#[derive(Debug, PartialEq, Eq)]
enum Line {
    Whole(Vec<u8>),
    /// Its beginning and its end are known.
    TooLong {
        head: Vec<u8>,
        tail: Vec<u8>,
    },
}

/// The next line without its end; `None`: there is none. The last one may have no end. `long` hears of one that is longer
/// than it may be, before it ends.
async fn next_line(
    reader: &mut (impl AsyncBufRead + Unpin),
    longest: usize,
    long: impl Fn(),
) -> io::Result<Option<Line>> {
    let (mut line, mut head, mut any) = (Vec::new(), None, false);
    let ended = |line: Vec<u8>, head: Option<Vec<u8>>| match head {
        Some(head) => Line::TooLong { head, tail: line[line.len().saturating_sub(EDGE)..].to_vec() },
        None => Line::Whole(line),
    };
    loop {
        let piece = reader.fill_buf().await?;
        if piece.is_empty() {
            return Ok(any.then(|| ended(line, head)));
        }
        any = true;
        let end = memchr::memchr(b'\n', piece);
        let taken = &piece[..end.unwrap_or(piece.len())];
        line.extend_from_slice(taken);
        if head.is_none() && line.len() > longest {
            head = Some(line[..line.len().min(EDGE)].to_vec());
            long();
        }
        if head.is_some() && line.len() > EDGE {
            // A new one: what was too long is not kept.
            line = line[line.len() - EDGE..].to_vec();
        }
        let used = taken.len() + usize::from(end.is_some());
        reader.consume(used);
        if end.is_some() {
            return Ok(Some(ended(line, head)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use tokio::io::duplex;

    #[tokio::test]
    async fn lines_are_bounded() {
        let mut reader = BufReader::with_capacity(3, &b"ab\n\r\n123456789\nxyz\n123456789"[..]);
        let mut lines = Vec::new();
        while let Some(line) = next_line(&mut reader, 5, || {}).await.unwrap() {
            lines.push(match line {
                Line::Whole(line) => String::from_utf8(line).unwrap(),
                Line::TooLong { head, tail } => {
                    assert!(head.starts_with(b"123456"), "{head:?}");
                    format!("too long {}", String::from_utf8_lossy(&tail))
                }
            });
        }
        assert_eq!(lines, ["ab", "\r", "too long 123456789", "xyz", "too long 123456789"]);
        let long = format!("a{}b", "-".repeat(10_000));
        let Ok(Some(Line::TooLong { head, tail })) = next_line(&mut long.as_bytes(), 5, || {}).await else {
            panic!("whole")
        };
        assert_eq!((head.len(), tail.len(), head[0], tail[EDGE - 1]), (EDGE, EDGE, b'a', b'b'));
    }

    #[test]
    fn what_a_long_line_answers() {
        for (head, tail, id) in [
            (r#"{"jsonrpc":"2.0","id":7,"result":{"con"#, "", Some(7)),
            (r#"{ "jsonrpc": "2.0", "id": 7, "error": {"#, "", Some(7)),
            (r#"{"result":{"content":[{"#, r#"AAA"}]},"jsonrpc":"2.0","id":12}"#, Some(12)),
            (r#"{"result":{"#, "\"}]}, \"jsonrpc\": \"2.0\", \"id\": 12}\r", Some(12)),
            // Its own requests have ids of its own.
            (r#"{"jsonrpc":"2.0","id":7,"method":"sampling/"#, "", None),
            (r#"{"method":"sampling/createMessage","#, r#"},"jsonrpc":"2.0","id":12}"#, None),
            (r#"{"result":{"id":5,"#, r#""id":12}}"#, None),
            (r#"{"jsonrpc":"2.0","id":"7","result":{"#, "", None),
            ("AAAA", "AAAA", None),
            ("", "", None),
        ] {
            assert_eq!(answered(head.as_bytes(), tail.as_bytes()), id.map(RequestId::Number), "{head} {tail}");
        }
    }

    #[tokio::test]
    async fn an_answer_that_is_too_long_is_an_error_at_once() {
        let (ours, mut theirs) = duplex(1 << 20);
        let (reader, writer) = tokio::io::split(ours);
        let (mut pipes, health) = Pipes::new("s", reader, writer);
        let writing = tokio::spawn(async move {
            theirs
                .write_all(br#"{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"image","data":""#)
                .await
                .unwrap();
            for _ in 0..LONGEST_LINE / 1024 {
                theirs.write_all(&[b'A'; 1024]).await.unwrap();
            }
            theirs.write_all(b"\"}]}}\n").await.unwrap();
        });
        let Some(JsonRpcMessage::Error(error)) = pipes.receive().await else { panic!("no error") };
        assert_eq!(error.id, Some(RequestId::Number(3)));
        assert!(error.error.message.contains("was not read") && health.now().too_large == 1);
        writing.await.unwrap();
    }

    #[tokio::test]
    async fn an_answer_that_cannot_be_read_is_an_error_at_once() {
        let (ours, mut theirs) = duplex(1 << 20);
        let (reader, writer) = tokio::io::split(ours);
        let (mut pipes, health) = Pipes::new("s", reader, writer);
        let deep = format!("{}1{}", "[".repeat(10_000), "]".repeat(10_000));
        let many = format!("[{}1]", "1,".repeat(MOST_VALUES));
        let writing = tokio::spawn(async move {
            for result in ["{},\"error\":{\"code\":1,\"message\":\"e\"}", &deep, &many] {
                let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{result}}}\n");
                theirs.write_all(line.as_bytes()).await.unwrap();
            }
            theirs
        });
        for why in ["was no message of MCP", "was no message of MCP", "of more than 500000 values"] {
            let Some(JsonRpcMessage::Error(error)) = pipes.receive().await else { panic!("no error") };
            assert_eq!(error.id, Some(RequestId::Number(3)));
            assert!(error.error.message.contains(why), "{why}: {error:?}");
        }
        let faults = health.now();
        assert_eq!((faults.malformed, faults.too_large), (2, 1));
        drop(writing.await.unwrap());
    }

    #[tokio::test]
    async fn a_line_that_never_ends_is_told() {
        let (ours, mut theirs) = duplex(1 << 20);
        let (reader, writer) = tokio::io::split(ours);
        let (_pipes, health) = Pipes::new("s", reader, writer);
        for _ in 0..LONGEST_LINE / 1024 + 2048 {
            theirs.write_all(&[b'x'; 1024]).await.unwrap();
        }
        assert!(health.words().unwrap().starts_with("1 lines were longer than"));
    }

    #[tokio::test]
    async fn what_is_no_message_is_told_and_skipped() {
        let (ours, mut theirs) = duplex(1 << 16);
        let (reader, writer) = tokio::io::split(ours);
        let (mut pipes, health) = Pipes::new("s", reader, writer);
        let note = |level: &str| {
            let params = json!({ "level": level, "data": 1 });
            json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": params })
        };
        let text = format!(
            "Listening on stdio\n{{\"jsonrpc\":\"1.0\"}}\n\n{}\nContent-Length: 3\n[{},{}]\n",
            note("info"),
            note("debug"),
            note("error")
        );
        theirs.write_all(text.as_bytes()).await.unwrap();
        for _ in 0..3 {
            assert!(matches!(pipes.receive().await, Some(ServerJsonRpcMessage::Notification(_))));
        }
        let faults = health.now();
        assert_eq!((faults.malformed, faults.last.as_str()), (3, "Content-Length: 3"));
        drop(theirs);
        assert!(pipes.receive().await.is_none());
    }

    #[tokio::test]
    async fn who_never_writes_a_message_is_given_up() {
        let (ours, mut theirs) = duplex(1 << 20);
        let (reader, writer) = tokio::io::split(ours);
        let (mut pipes, health) = Pipes::new("s", reader, writer);
        theirs.write_all("noise\n".repeat(MOST_MALFORMED + 1).as_bytes()).await.unwrap();
        assert!(pipes.receive().await.is_none());
        assert!(health.words().unwrap().starts_with("it wrote 1000 lines in a row"));
    }

    #[tokio::test]
    async fn who_does_not_read_keeps_only_so_much() {
        let (ours, _theirs) = duplex(16);
        let (reader, writer) = tokio::io::split(ours);
        let (mut pipes, _) = Pipes::new("s", reader, writer);
        pipes.most = 1000;
        let message: ClientJsonRpcMessage = serde_json::from_value(json!({
            "jsonrpc": "2.0", "method": "x", "params": { "text": "x".repeat(600) },
        }))
        .unwrap();
        assert!(pipes.send(message.clone()).await.is_ok());
        assert!(pipes.send(message).await.unwrap_err().to_string().contains("does not read"));
    }
}
