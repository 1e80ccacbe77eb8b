//! The real binary as an editor starts it, and as much of an editor as it takes: documents with versions, and edits that
//! are applied and told at once.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::child::{Child, Framing};

/// The sidecar, initialised, and its editor.
pub(crate) struct Sidecar {
    child: Child,
    last_id: u64,
    versions: BTreeMap<String, i64>,
    /// The workspace folder.
    root: PathBuf,
    /// From its start to its answer to `initialize`.
    pub(crate) greeted: Duration,
    /// Its home and its workspace folder are in it.
    _folder: tempfile::TempDir,
}

/// Where something stands: line and character, 0-based.
pub(crate) type Place = (usize, usize);

impl Sidecar {
    /// Starts it with these settings, as an editor would: with its state on the disk, in a home of its own.
    pub(crate) fn start(settings: &Value) -> Sidecar {
        let folder = tempfile::tempdir().expect("a folder");
        let base = folder.path().canonicalize().expect("a folder");
        let (home, root) = (base.join("home"), base.join("work"));
        for new in [&home, &root] {
            make(new);
        }
        let mut command = command();
        command.arg("--trust").arg(&root).env("HOME", &home).env_remove("RUST_LOG");
        for name in ["XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"] {
            command.env(name, &home);
        }
        let params = json!({
            "processId": null,
            "workspaceFolders": [{ "uri": uri(&root), "name": "work" }],
            "initializationOptions": settings,
            "capabilities": {
                "general": { "positionEncodings": ["utf-16"] },
                "workspace": { "applyEdit": true, "configuration": true },
            },
        });
        let start = Instant::now();
        let child = Child::start(&mut command, Framing::Headers);
        let (last_id, versions) = (0, BTreeMap::new());
        let mut sidecar = Sidecar { child, last_id, versions, root, greeted: Duration::ZERO, _folder: folder };
        let answer = sidecar.ask("initialize", &params);
        sidecar.greeted = start.elapsed();
        assert!(answer["capabilities"].is_object(), "{answer}");
        sidecar.tell("initialized", &json!({}));
        sidecar
    }

    /// Its process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// A file of its workspace folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// The URI of a file of its workspace folder.
    pub(crate) fn uri(&self, name: &str) -> String {
        uri(&self.path(name))
    }

    /// Tells it something.
    pub(crate) fn tell(&mut self, method: &str, params: &Value) {
        let frame = self.notification(method, params);
        self.write(&frame);
    }

    /// A notification as it goes over the pipe.
    pub(crate) fn notification(&self, method: &str, params: &Value) -> Vec<u8> {
        self.child.frame(&json!({ "jsonrpc": "2.0", "method": method, "params": params }))
    }

    /// Writes what was made before.
    pub(crate) fn write(&mut self, frames: &[u8]) {
        self.child.write(frames);
    }

    /// Opens a document.
    pub(crate) fn open(&mut self, name: &str, text: &str) {
        let uri = self.uri(name);
        let document = json!({ "uri": uri, "languageId": "plaintext", "version": 1, "text": text });
        self.tell("textDocument/didOpen", &json!({ "textDocument": document }));
        self.versions.insert(uri, 1);
    }

    /// A change of a document as it goes over the pipe; its version counts on. Without a range it is the whole text.
    pub(crate) fn change(&mut self, name: &str, range: Option<(Place, Place)>, text: &str) -> Vec<u8> {
        let place = |(line, character): Place| json!({ "line": line, "character": character });
        let mut change = json!({ "text": text });
        if let Some((start, end)) = range {
            change["range"] = json!({ "start": place(start), "end": place(end) });
        }
        let uri = self.uri(name);
        let changed = self.changed(&uri, &json!([change]));
        self.notification("textDocument/didChange", &changed)
    }

    fn changed(&mut self, uri: &str, changes: &Value) -> Value {
        let version = self.versions.get_mut(uri).expect("an open document");
        *version += 1;
        json!({ "textDocument": { "uri": uri, "version": *version }, "contentChanges": changes })
    }

    /// Asks it, and answers what it asks meanwhile; the result.
    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.timed(method, params).1
    }

    /// The same, and how long it took, from the first byte that is written to the last of the answer, read.
    pub(crate) fn timed(&mut self, method: &str, params: &Value) -> (Duration, Value) {
        self.timed_behind(&[], method, params)
    }

    /// The same, where these frames go before the question.
    pub(crate) fn timed_behind(&mut self, before: &[u8], method: &str, params: &Value) -> (Duration, Value) {
        let (id, frame) = self.request(method, params);
        let frames = [before, &frame].concat();
        let start = Instant::now();
        self.write(&frames);
        let mut answer = self.answer(id);
        let time = start.elapsed();
        assert!(answer["error"].is_null(), "{method}: {answer}");
        (time, answer["result"].take())
    }

    /// A request as it goes over the pipe, and its id.
    pub(crate) fn request(&mut self, method: &str, params: &Value) -> (u64, Vec<u8>) {
        self.last_id += 1;
        let request = json!({ "jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params });
        (self.last_id, self.child.frame(&request))
    }

    /// The next message, whatever it is.
    pub(crate) fn next(&mut self) -> Value {
        self.child.next()
    }

    fn answer(&mut self, id: u64) -> Value {
        loop {
            let message = self.next();
            match (message["method"].as_str(), &message["id"]) {
                (None, answered) if *answered == id => return message,
                (None, _) | (Some(_), Value::Null) => {}
                (Some(_), _) => self.serve(&message),
            }
        }
    }

    /// Does what it asks of an editor: edits are applied, told, and answered in one breath.
    pub(crate) fn serve(&mut self, request: &Value) {
        let mut frames = Vec::new();
        let mut result = Value::Null;
        if request["method"] == "workspace/applyEdit" {
            for edited in request["params"]["edit"]["documentChanges"].as_array().expect("edits of documents") {
                let uri = edited["textDocument"]["uri"].as_str().expect("a URI");
                let edits = edited["edits"].as_array().expect("edits");
                // From the last to the first, so that none moves the place of another.
                let change = |edit: &Value| json!({ "range": edit["range"], "text": edit["newText"] });
                let changes: Vec<Value> = edits.iter().rev().map(change).collect();
                let changed = self.changed(uri, &json!(changes));
                frames.extend(self.notification("textDocument/didChange", &changed));
            }
            result = json!({ "applied": true });
        }
        let answer = json!({ "jsonrpc": "2.0", "id": request["id"], "result": result });
        frames.extend(self.child.frame(&answer));
        self.write(&frames);
    }

    /// A call of a tool that has to succeed; how long it took, and its result.
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> (Duration, Value) {
        let (time, result) = self.timed("ropewalk/callTool", &json!({ "name": tool, "arguments": arguments }));
        assert!(result["status"] == "ok", "{result}");
        (time, result)
    }
}

/// Makes a folder.
fn make(folder: &Path) {
    std::fs::create_dir(folder).expect("a folder");
}

/// The binary that was built with the bench, or another one: `ROPEWALK_BIN`.
#[expect(clippy::disallowed_methods, reason = "a bench runs the program that it measures")]
fn command() -> Command {
    Command::new(std::env::var_os("ROPEWALK_BIN").unwrap_or_else(|| env!("CARGO_BIN_EXE_ropewalk").into()))
}

fn uri(path: &Path) -> String {
    url::Url::from_file_path(path).expect("an absolute path").to_string()
}
