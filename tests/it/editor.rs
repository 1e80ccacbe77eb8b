//! A fake editor: speaks the base protocol over a pipe in memory, owns buffers, and answers as it is told to.

use std::collections::{BTreeMap, VecDeque};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

/// How an editor deals with `workspace/applyEdit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    /// Applies it, tells the change, answers.
    Apply,
    /// Applies it, answers, and tells the change afterwards.
    AnswerFirst,
    /// Applies it and tells each text edit as a change of its own.
    Split,
    /// Says no.
    Refuse,
    /// Says that it did, and does nothing.
    Lie,
}

/// A document of the editor's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Buffer {
    /// Its text.
    pub text: String,
    /// Its version.
    pub version: i32,
}

/// The editor.
pub struct FakeEditor {
    outgoing: Option<mpsc::UnboundedSender<Vec<u8>>>,
    incoming: mpsc::UnboundedReceiver<Value>,
    /// Messages that came while something else was waited for, in order.
    stashed: VecDeque<Value>,
    last_id: i64,
    /// The open documents.
    pub buffers: BTreeMap<String, Buffer>,
    serving: Option<JoinHandle<u8>>,
    reading: JoinHandle<()>,
    may_read: watch::Sender<bool>,
}

/// The end of a pipe that goes to whoever is tested.
pub type Pipe = tokio::io::DuplexStream;

/// How much a pipe holds (bytes), as little as a real one.
const PIPE: usize = 16 << 10;

impl FakeEditor {
    /// An editor whose partner is started by `serve` and gives its exit code.
    pub fn start(serve: impl FnOnce(Pipe, Pipe) -> JoinHandle<u8>) -> FakeEditor {
        let (ours_in, theirs_out) = tokio::io::duplex(PIPE);
        let (theirs_in, ours_out) = tokio::io::duplex(PIPE);
        let serving = serve(theirs_in, theirs_out);
        let (outgoing, queue) = mpsc::unbounded_channel();
        let (sender, incoming) = mpsc::unbounded_channel();
        let (may_read, paused) = watch::channel(true);
        tokio::spawn(write(ours_out, queue));
        FakeEditor {
            outgoing: Some(outgoing),
            incoming,
            stashed: VecDeque::new(),
            last_id: 0,
            buffers: BTreeMap::new(),
            serving: Some(serving),
            reading: tokio::spawn(read(ours_in, sender, paused)),
            may_read,
        }
    }

    /// Sends any message.
    pub fn send(&self, message: &Value) {
        self.send_raw(framed(&message.to_string()));
    }

    /// Sends bytes as they are.
    pub fn send_raw(&self, bytes: Vec<u8>) {
        if let Some(outgoing) = &self.outgoing {
            let _ = outgoing.send(bytes);
        }
    }

    /// Sends a notification.
    pub fn notify(&self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// Sends a request; gives its id.
    pub fn request(&mut self, method: &str, params: Value) -> i64 {
        self.last_id += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params }));
        self.last_id
    }

    /// The id that the next request will have.
    pub fn next_id(&self) -> i64 {
        self.last_id + 1
    }

    /// Answers a request of the partner's.
    pub fn respond(&self, id: &Value, result: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "result": result }));
    }

    /// The next message, if one ever comes. With the clock paused, "never" is when nothing can happen any more.
    pub async fn maybe_next(&mut self) -> Option<Value> {
        if let Some(stashed) = self.stashed.pop_front() {
            return Some(stashed);
        }
        self.maybe_receive().await
    }

    /// The next message.
    pub async fn next(&mut self) -> Value {
        self.maybe_next().await.expect("a message")
    }

    /// The next message that fits; those before it stay for later.
    pub async fn next_where(&mut self, fits: impl Fn(&Value) -> bool) -> Option<Value> {
        if let Some(at) = self.stashed.iter().position(&fits) {
            return self.stashed.remove(at);
        }
        loop {
            let message = self.maybe_receive().await?;
            if fits(&message) {
                return Some(message);
            }
            self.stashed.push_back(message);
        }
    }

    /// Puts a message back, to be the next one.
    pub fn put_back(&mut self, message: Value) {
        self.stashed.push_front(message);
    }

    /// A message that came while another was waited for.
    pub fn stashed(&mut self, fits: impl Fn(&Value) -> bool) -> Option<Value> {
        let at = self.stashed.iter().position(fits)?;
        self.stashed.remove(at)
    }

    async fn maybe_receive(&mut self) -> Option<Value> {
        let never = std::time::Duration::from_hours(1);
        tokio::time::timeout(never, self.incoming.recv()).await.ok().flatten()
    }

    /// The whole answer to a request, if one ever comes.
    pub async fn maybe_answer(&mut self, id: i64) -> Option<Value> {
        self.next_where(|message| message["id"] == id && message.get("method").is_none()).await
    }

    /// The answer to something that the partner could not read.
    pub async fn maybe_answer_to_nobody(&mut self) -> Option<Value> {
        self.next_where(|message| message["id"].is_null() && message.get("method").is_none()).await
    }

    /// The result of a request.
    pub async fn result(&mut self, id: i64) -> Value {
        let answer = self.maybe_answer(id).await.unwrap_or_else(|| panic!("no answer to {id}"));
        answer.get("result").cloned().unwrap_or_else(|| panic!("an error: {answer}"))
    }

    /// The code of the error that a request is answered with.
    pub async fn error_code(&mut self, id: i64) -> i64 {
        let answer = self.maybe_answer(id).await.unwrap_or_else(|| panic!("no answer to {id}"));
        answer["error"]["code"].as_i64().unwrap_or_else(|| panic!("no error: {answer}"))
    }

    /// Sends a request and waits for its result.
    pub async fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        self.result(id).await
    }

    /// The next request of the partner's for a method: its id and params.
    pub async fn asked(&mut self, method: &str) -> (Value, Value) {
        let asked = self.maybe_asked(method).await;
        asked.unwrap_or_else(|| panic!("never asked for {method}"))
    }

    /// The same, if one ever comes.
    pub async fn maybe_asked(&mut self, method: &str) -> Option<(Value, Value)> {
        let message = self.next_where(|message| message["method"] == method && message.get("id").is_some()).await?;
        Some((message["id"].clone(), message["params"].clone()))
    }

    /// Says hello with these capabilities of ours, and everything else that a good client has.
    pub async fn initialize(&mut self, ropewalk: Value) -> Value {
        let capabilities = json!({
            "general": { "positionEncodings": ["utf-8", "utf-16"] },
            "workspace": { "applyEdit": true, "configuration": true },
            "experimental": { "ropewalk": ropewalk },
        });
        let params = json!({ "processId": null, "rootUri": null, "capabilities": capabilities });
        let answer = self.ask("initialize", params).await;
        self.notify("initialized", json!({}));
        answer
    }

    /// Says hello in these workspace folders, with these abilities of ours and these settings besides those that start no
    /// language server.
    pub async fn introduce(&mut self, folders: &[&std::path::Path], abilities: Value, settings: Value) {
        let mut all = json!({ "diagnostics": { "ownServers": "off" } });
        all.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
        let folders: Vec<Value> = folders
            .iter()
            .map(|folder| json!({ "uri": format!("file://{}", folder.display()), "name": "w" }))
            .collect();
        let params = json!({
            "processId": null,
            "workspaceFolders": folders,
            "initializationOptions": all,
            "capabilities": {
                "general": { "positionEncodings": ["utf-8"] },
                "workspace": { "applyEdit": true },
                "experimental": { "ropewalk": abilities },
            },
        });
        self.ask("initialize", params).await;
    }

    /// Opens a document at version 1.
    pub fn open(&mut self, uri: &str, text: &str) {
        let document = json!({ "uri": uri, "languageId": "text", "version": 1, "text": text });
        self.notify("textDocument/didOpen", json!({ "textDocument": document }));
        self.buffers.insert(uri.to_owned(), Buffer { text: text.to_owned(), version: 1 });
    }

    /// Replaces some characters of the first line of an ASCII document, and tells it.
    pub fn splice(&mut self, uri: &str, range: std::ops::Range<usize>, text: &str) {
        let buffer = self.buffers.get_mut(uri).expect("an open document");
        buffer.text.replace_range(range.clone(), text);
        buffer.version += 1;
        let version = buffer.version;
        let (start, end) =
            (json!({ "line": 0, "character": range.start }), json!({ "line": 0, "character": range.end }));
        let change = json!({ "range": { "start": start, "end": end }, "text": text });
        self.notify(
            "textDocument/didChange",
            json!({ "textDocument": { "uri": uri, "version": version }, "contentChanges": [change] }),
        );
    }

    /// Deals with the next `workspace/applyEdit`. Positions must be in ASCII text.
    pub async fn serve_edit(&mut self, manner: Manner) {
        let (id, params) = self.asked("workspace/applyEdit").await;
        let change = &params["edit"]["documentChanges"][0];
        let uri = change["textDocument"]["uri"].as_str().expect("a URI").to_owned();
        let version = change["textDocument"]["version"].as_i64().expect("a version");
        let edits = change["edits"].as_array().expect("edits").clone();
        let buffer = self.buffers.get_mut(&uri).expect("an open document");
        if manner == Manner::Lie {
            return self.respond(&id, json!({ "applied": true }));
        }
        if manner == Manner::Refuse || i64::from(buffer.version) != version {
            return self.respond(&id, json!({ "applied": false, "failureReason": "not now" }));
        }
        let mut changes = Vec::new();
        for edit in edits.iter().rev() {
            let offset = |position: &Value| {
                let line = usize::try_from(position["line"].as_u64().unwrap()).unwrap();
                let character = usize::try_from(position["character"].as_u64().unwrap()).unwrap();
                buffer.text.split_inclusive('\n').take(line).map(str::len).sum::<usize>() + character
            };
            let range = offset(&edit["range"]["start"])..offset(&edit["range"]["end"]);
            let text = edit["newText"].as_str().unwrap();
            buffer.text.replace_range(range, text);
            changes.push(json!({ "range": edit["range"], "text": text }));
        }
        let mut told = Vec::new();
        let pieces = if manner == Manner::Split { changes.chunks(1) } else { changes.chunks(changes.len().max(1)) };
        for piece in pieces {
            buffer.version += 1;
            let document = json!({ "uri": uri, "version": buffer.version });
            told.push(json!({ "textDocument": document, "contentChanges": piece }));
        }
        let answer = json!({ "applied": true });
        if manner == Manner::AnswerFirst {
            self.respond(&id, answer.clone());
        }
        for change in told {
            self.notify("textDocument/didChange", change);
        }
        if manner != Manner::AnswerFirst {
            self.respond(&id, answer);
        }
    }

    /// Leaves in good order; gives the partner's exit code.
    pub async fn leave(mut self) -> u8 {
        self.ask("shutdown", Value::Null).await;
        self.notify("exit", Value::Null);
        self.exit_code().await.expect("an end")
    }

    /// The partner's exit code, if it ever ends.
    pub async fn exit_code(&mut self) -> Option<u8> {
        let serving = self.serving.take()?;
        let never = std::time::Duration::from_hours(1);
        tokio::time::timeout(never, serving).await.ok()?.ok()
    }

    /// Closes the pipe that the partner reads, after everything that was sent.
    pub fn close_their_input(&mut self) {
        self.outgoing = None;
    }

    /// Closes the pipe that the partner writes to.
    pub fn close_their_output(&mut self) {
        self.reading.abort();
    }

    /// Stops reading what the partner sends, or goes on. Its output stays open, and fills up.
    pub fn read_on(&self, reading: bool) {
        self.may_read.send_replace(reading);
    }

    /// Whatever was not read is meant to be so.
    pub fn accept_rest(&mut self) {
        self.stashed.clear();
        while self.incoming.try_recv().is_ok() {}
    }
}

impl Drop for FakeEditor {
    fn drop(&mut self) {
        let mut unread: Vec<Value> = self.stashed.drain(..).collect();
        while let Ok(message) = self.incoming.try_recv() {
            unread.push(message);
        }
        // Every call that changes something is followed by this; the tests of the review look at it.
        unread.retain(|message| message["method"] != "ropewalk/changesChanged");
        if !std::thread::panicking() {
            assert!(unread.is_empty(), "messages that nobody looked at: {unread:#?}");
        }
    }
}

/// A message with its header.
pub fn framed(body: &str) -> Vec<u8> {
    format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// Reads messages for as long as it may.
async fn read(mut pipe: DuplexStream, sender: mpsc::UnboundedSender<Value>, mut may_read: watch::Receiver<bool>) {
    let mut buffer = Vec::new();
    loop {
        if may_read.wait_for(|may| *may).await.is_err() {
            return;
        }
        let mut chunk = [0; 4096];
        match pipe.read(&mut chunk).await {
            Ok(0) | Err(_) => return,
            Ok(len) => buffer.extend_from_slice(&chunk[..len]),
        }
        while let Some((message, len)) = first_message(&buffer) {
            buffer.drain(..len);
            let _ = sender.send(message);
        }
    }
}

pub fn first_message(buffer: &[u8]) -> Option<(Value, usize)> {
    let header_end = buffer.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let header = std::str::from_utf8(&buffer[..header_end]).expect("a header in ASCII");
    let len: usize = header.trim().strip_prefix("Content-Length: ").expect("a length").parse().expect("a number");
    let body = buffer.get(header_end..header_end + len)?;
    Some((serde_json::from_slice(body).expect("JSON"), header_end + len))
}

async fn write(mut pipe: DuplexStream, mut queue: mpsc::UnboundedReceiver<Vec<u8>>) {
    while let Some(bytes) = queue.recv().await {
        if pipe.write_all(&bytes).await.is_err() {
            return;
        }
    }
}
