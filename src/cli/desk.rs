//! An editor without a screen: it keeps buffers, talks to a sidecar in this process over the wire that every editor
//! uses, and applies the edits it is asked for as a careful editor does.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ropewalk::config::OwnFile;
use ropewalk::dispatch::CallResult;
use ropewalk::fake_editor::{ApplyEdit, splices_of};
use ropewalk::languages::DiagnosticsReport;
use ropewalk::ports::{Disk as _, Ports, SystemDisk};
use ropewalk::recording::Recorder;
use ropewalk::rpc::{CallError, Fault, Handler, Peer};
use ropewalk::server::protocol::ListToolsResult;
use ropewalk::server::{self, ServeOptions};
use ropewalk::text::{Encoding, LineBreaks, Position, Range, Splice, Text, TextEdit};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::task::JoinHandle;
use url::Url;

/// A call may wait for a person or a slow server; the sidecar has the real deadlines.
const CALL_DEADLINE: Duration = Duration::from_hours(1);
/// Everything else is answered at once.
const QUICK_DEADLINE: Duration = Duration::from_secs(30);
/// Bytes that the pipe between the two sides holds.
const PIPE: usize = 1 << 20;

/// What can go wrong at the desk.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DeskError {
    /// A file cannot be read or made.
    #[error("{0}")]
    Disk(std::io::Error),
    /// A file is not text.
    #[error("it is not UTF-8 text")]
    NotText,
    /// A path cannot be written as a URI.
    #[error("`{0}` is not an absolute path")]
    NotAbsolute(PathBuf),
    /// The sidecar did not answer as it should.
    #[error("the sidecar did not answer: {0}")]
    Wire(#[from] CallError),
    /// The sidecar's answer makes no sense.
    #[error("the sidecar's answer makes no sense: {0}")]
    Answer(#[from] serde_json::Error),
    /// We were told to end, for this exit code.
    #[error("told to end")]
    Signalled(u8),
    /// No such document.
    #[error("`{0}` is not open")]
    NotOpen(String),
}

/// A desk with a running sidecar.
pub(crate) struct Desk {
    peer: Peer,
    buffers: Arc<Buffers>,
    sidecar: JoinHandle<u8>,
    calls: AtomicU64,
}

impl Desk {
    /// Starts a sidecar for one folder. `trust` are folders to trust from the start, `own` is the person's own settings
    /// file, `settings` are those of the editor, `recorder` listens.
    pub(crate) async fn start(
        root: &Path,
        trust: &[PathBuf],
        own: Option<OwnFile>,
        settings: Map<String, Value>,
        recorder: Option<&Recorder>,
    ) -> Result<Desk, DeskError> {
        let root = SystemDisk.canonicalize(root).map_err(DeskError::Disk)?;
        let trusted = trust.iter().filter_map(|folder| SystemDisk.canonicalize(folder).ok()).collect();
        let (ours, theirs) = tokio::io::duplex(PIPE);
        let (their_input, their_output) = tokio::io::split(theirs);
        let ports = Ports::system();
        let clock = Arc::clone(&ports.clock);
        let options = ServeOptions { trusted, repeatable: true, own_file: own, ..ServeOptions::default() };
        let sidecar = match recorder {
            Some(recorder) => {
                let (input, output) = recorder.tap(their_input, their_output);
                tokio::spawn(server::serve(input, output, ports, options))
            }
            None => tokio::spawn(server::serve(their_input, their_output, ports, options)),
        };
        let buffers = Arc::new(Buffers::default());
        let (input, output) = tokio::io::split(ours);
        let held = Arc::clone(&buffers);
        let peer = Peer::start(input, output, clock, |peer| Hands { peer, buffers: held });
        let desk = Desk { peer, buffers, sidecar, calls: AtomicU64::new(1) };
        desk.introduce(&root, settings).await?;
        Ok(desk)
    }

    async fn introduce(&self, root: &Path, settings: Map<String, Value>) -> Result<(), DeskError> {
        let name = root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let params = json!({
            "processId": null,
            "clientInfo": { "name": "ropewalk", "version": env!("CARGO_PKG_VERSION") },
            "rootUri": null,
            "workspaceFolders": [{ "uri": uri_of(root)?, "name": name }],
            "initializationOptions": settings,
            "capabilities": {
                "general": { "positionEncodings": ["utf-8", "utf-16"] },
                "workspace": { "applyEdit": true, "workspaceEdit": { "documentChanges": true } },
                "experimental": { "ropewalk": { "resync": true, "lineBreaks": "lf", "ownsCommands": true } },
            },
        });
        let answer = self.peer.request("initialize", params, QUICK_DEADLINE).await?;
        let encoding = answer.pointer("/capabilities/positionEncoding").cloned().unwrap_or(json!("utf-16"));
        self.buffers.lock().encoding = serde_json::from_value(encoding)?;
        self.peer.notify("initialized", json!({}));
        Ok(())
    }

    /// The units in which positions count on this wire.
    pub(crate) fn encoding(&self) -> Encoding {
        self.buffers.lock().encoding
    }

    /// Opens a file with its text on the disk.
    pub(crate) fn open_file(&self, path: &Path) -> Result<String, DeskError> {
        let path = SystemDisk.canonicalize(path).map_err(DeskError::Disk)?;
        let bytes = SystemDisk.read(&path).map_err(DeskError::Disk)?;
        let text = String::from_utf8(bytes).map_err(|_| DeskError::NotText)?;
        self.open(&path, text.strip_prefix('\u{feff}').unwrap_or(&text))
    }

    /// Opens a document, as an editor does; gives its URI.
    pub(crate) fn open(&self, path: &Path, text: &str) -> Result<String, DeskError> {
        let uri = uri_of(path)?;
        let language = ropewalk::languages::known::language_of(&path.to_string_lossy()).unwrap_or("plaintext");
        let mut buffers = self.buffers.lock();
        buffers.open.insert(uri.clone(), Buffer { version: 1, text: Text::new(text, LineBreaks::Lf) });
        self.peer.notify(
            "textDocument/didOpen",
            json!({ "textDocument": { "uri": uri, "languageId": language, "version": 1, "text": text } }),
        );
        Ok(uri)
    }

    /// Types into a document without saving it.
    pub(crate) fn type_at(&self, uri: &str, position: Position, text: &str) -> Result<(), DeskError> {
        let mut buffers = self.buffers.lock();
        let edit = TextEdit { range: Range { start: position, end: position }, new_text: text.to_owned() };
        let encoding = buffers.encoding;
        let buffer = buffers.open.get_mut(uri).ok_or_else(|| DeskError::NotOpen(uri.to_owned()))?;
        let (splice, _) = buffer.text.splice_of(&edit, encoding);
        buffer.change(&self.peer, uri, &[splice], encoding);
        Ok(())
    }

    /// A document's text and version here at the desk.
    pub(crate) fn text(&self, uri: &str) -> Result<(String, i32), DeskError> {
        let buffers = self.buffers.lock();
        let buffer = buffers.open.get(uri).ok_or_else(|| DeskError::NotOpen(uri.to_owned()))?;
        Ok((buffer.text.to_string(), buffer.version))
    }

    /// A document's text and version as the sidecar's mirror has them.
    pub(crate) async fn mirrored(&self, uri: &str) -> Result<(String, i32), DeskError> {
        let answer = self.peer.request("ropewalk/documentText", json!({ "uri": uri }), QUICK_DEADLINE).await?;
        let Mirrored { text, version } = serde_json::from_value(answer)?;
        Ok((text, version))
    }

    /// What is known of a document's problems, once it is known or the deadline has passed.
    pub(crate) async fn diagnostics(&self, uri: &str) -> Result<DiagnosticsReport, DeskError> {
        let params = json!({ "uri": uri });
        Ok(serde_json::from_value(self.peer.request("ropewalk/diagnostics", params, QUICK_DEADLINE).await?)?)
    }

    /// Runs one tool call.
    pub(crate) async fn call(&self, name: &str, arguments: Value) -> Result<CallResult, DeskError> {
        let call_id = format!("call-{}", self.calls.fetch_add(1, Ordering::Relaxed));
        let params = json!({ "callId": call_id, "name": name, "arguments": arguments });
        Ok(serde_json::from_value(self.peer.request("ropewalk/callTool", params, CALL_DEADLINE).await?)?)
    }

    /// The tools.
    pub(crate) async fn tools(&self) -> Result<ListToolsResult, DeskError> {
        Ok(serde_json::from_value(self.peer.request("ropewalk/listTools", json!({}), QUICK_DEADLINE).await?)?)
    }

    /// Cancels all calls; each still answers.
    pub(crate) fn cancel_all(&self) {
        let answer = self.peer.request("ropewalk/cancel", json!({}), QUICK_DEADLINE);
        tokio::spawn(answer);
    }

    /// Ends the sidecar, politely, and waits until its children are gone.
    pub(crate) async fn close(self) {
        if self.peer.request("shutdown", Value::Null, QUICK_DEADLINE).await.is_ok() {
            self.peer.notify("exit", Value::Null);
        } else {
            self.peer.close();
        }
        if let Err(error) = self.sidecar.await {
            tracing::error!(%error, "the sidecar did not end well");
        }
    }
}

/// A document as the sidecar has it.
#[derive(Deserialize)]
struct Mirrored {
    text: String,
    version: i32,
}

/// The `file:` URI of an absolute path.
fn uri_of(path: &Path) -> Result<String, DeskError> {
    Url::from_file_path(path).map(String::from).map_err(|()| DeskError::NotAbsolute(path.to_owned()))
}

/// The open documents, behind the lock that keeps versions and messages in one order.
#[derive(Default)]
struct Buffers(Mutex<Open>);

#[derive(Default)]
struct Open {
    encoding: Encoding,
    open: BTreeMap<String, Buffer>,
}

impl Buffers {
    fn lock(&self) -> MutexGuard<'_, Open> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Buffer {
    version: i32,
    text: Text,
}

impl Buffer {
    /// Changes the text and tells the sidecar, as one version. The splices refer to the text as it is, and do not overlap.
    fn change(&mut self, peer: &Peer, uri: &str, splices: &[Splice], encoding: Encoding) {
        let mut ordered: Vec<&Splice> = splices.iter().collect();
        ordered.sort_by_key(|splice| (splice.range.start, splice.range.end));
        let mut changes = Vec::new();
        // From the end, so that the positions of those before stay right.
        for splice in ordered.into_iter().rev() {
            changes.push(json!({ "range": self.text.range_of(splice.range.clone(), encoding), "text": splice.text }));
            self.text.splice(splice);
        }
        self.version += 1;
        peer.notify(
            "textDocument/didChange",
            json!({ "textDocument": { "uri": uri, "version": self.version }, "contentChanges": changes }),
        );
    }
}

/// What the sidecar may ask of the desk.
struct Hands {
    peer: Peer,
    buffers: Arc<Buffers>,
}

impl Handler for Hands {
    fn request(&self, method: &str, params: Value) -> Result<Value, Fault> {
        match method {
            "workspace/applyEdit" => Ok(match self.apply(params) {
                Ok(()) => json!({ "applied": true }),
                Err(why) => json!({ "applied": false, "failureReason": why }),
            }),
            "ropewalk/resync" => {
                let uri = params.get("uri").and_then(Value::as_str).unwrap_or_default();
                let buffers = self.buffers.lock();
                match buffers.open.get(uri) {
                    Some(buffer) => Ok(json!({ "version": buffer.version, "text": buffer.text.to_string() })),
                    None => Err(Fault { code: -32602, message: format!("`{uri}` is not open"), data: None }),
                }
            }
            "workspace/configuration" => {
                let items = params.get("items").and_then(Value::as_array).map_or(0, Vec::len);
                Ok(Value::Array(vec![Value::Null; items]))
            }
            "client/registerCapability" | "client/unregisterCapability" | "window/workDoneProgress/create" => {
                Ok(Value::Null)
            }
            _ => Err(Fault::unknown(method)),
        }
    }

    fn notification(&self, method: &str, params: Value) {
        let warns = method == "window/logMessage" && params["type"].as_u64().is_some_and(|loudness| loudness <= 2);
        if warns {
            tracing::warn!("{}", params["message"].as_str().unwrap_or_default());
        } else {
            tracing::debug!(method, %params, "from the sidecar");
        }
    }

    fn closed(&self, why: &str) {
        tracing::debug!(why, "the sidecar is gone");
    }
}

impl Hands {
    /// Applies an edit to exactly the version it names, or says why not. All documents are checked before any changes.
    fn apply(&self, params: Value) -> Result<(), String> {
        let ApplyEdit { edit } = serde_json::from_value(params).map_err(|error| error.to_string())?;
        let mut buffers = self.buffers.lock();
        let encoding = buffers.encoding;
        let mut checked = Vec::new();
        for document in edit.document_changes {
            let uri = document.text_document.uri;
            let buffer = buffers.open.get(&uri).ok_or_else(|| format!("`{uri}` is not open"))?;
            if document.text_document.version != Some(buffer.version) {
                return Err(format!("`{uri}` is at version {}", buffer.version));
            }
            let splices = splices_of(&buffer.text, &document.edits, encoding)
                .ok_or_else(|| format!("an edit of `{uri}` is inside a character, or two are of one place"))?;
            checked.push((uri, splices));
        }
        for (uri, splices) in checked {
            if let Some(buffer) = buffers.open.get_mut(&uri) {
                buffer.change(&self.peer, &uri, &splices, encoding);
            }
        }
        Ok(())
    }
}
