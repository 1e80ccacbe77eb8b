//! `Languages` against scripted servers in memory, on a clock that stands still unless everybody waits.

mod ask;
mod behaviours;
mod documents;
mod formatting;
mod forwarded;
mod late;
mod life;
mod never_clean;
mod pull;
mod push;
mod simulated;
mod supervision;

use std::path::Path;

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex, split};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::client::{Pipes, Root, Weigh};
use super::hub::Finding;
use super::known::Server;
use super::verdict::Verdict;
use super::*;
use crate::editor::{Abilities, AskError, News};
use crate::rpc::{Decoder, encode};
use crate::text::LineBreaks;
use crate::workspace::Key;
use crate::workspace::documents::{ContentChange, Counting};

/// An editor that writes down for which documents it is asked for diagnostics.
#[derive(Default)]
struct Notebook(Mutex<Vec<String>>, Mutex<Vec<Value>>);

#[async_trait]
impl Editor for Notebook {
    fn abilities(&self) -> Abilities {
        Abilities { diagnostics: true, ..Abilities::default() }
    }

    async fn pull_diagnostics(&self, uri: &str, _: Duration) -> Result<(), AskError> {
        lock(&self.0).push(uri.to_owned());
        Ok(())
    }

    fn tell(&self, news: News) {
        if let News::LateDiagnostics(report) = news {
            lock(&self.1).push(report);
        }
    }
}

/// Servers of the table that the tests do not use, so that each language has the same ones throughout.
const ELSEWHERE: &[&str] = &["ty", "deno", "biome", "oxlint", "tailwindcss"];

/// Finds what it is told to find, and starts servers that the test plays.
struct Stage {
    /// Names that are not found.
    missing: Vec<&'static str>,
    trusted: Mutex<bool>,
    /// The files that can be read again.
    disk: Mutex<HashMap<PathBuf, String>>,
    /// What the servers that start from now on weigh.
    memory: Mutex<Option<Weigh>>,
    /// Whoever holds it keeps everything from being found.
    held: Arc<tokio::sync::Mutex<()>>,
    started: mpsc::UnboundedSender<(String, DuplexStream)>,
}

#[async_trait]
impl Servers for Stage {
    async fn find(&self, _: &Key, candidates: &[Arc<Server>], folder: Option<PathBuf>) -> Finding {
        drop(self.held.lock().await);
        let there = |server: &&Arc<Server>| {
            let name = server.name.as_str();
            !self.missing.contains(&name) && !ELSEWHERE.contains(&name)
        };
        let found = candidates.iter().find(there);
        let root = folder.map(|path| Root { uri: format!("file://{}", path.display()), path });
        match found {
            None => Finding::Absent { name: candidates[0].name.clone(), detail: "not found".into(), missing: true },
            Some(server) if server.runs_project_code && !*lock(&self.trusted) => {
                Finding::Untrusted { name: server.name.clone(), detail: "it is not trusted".into() }
            }
            Some(server) => Finding::Found { server: Arc::clone(server), command: Vec::new(), root },
        }
    }

    async fn start(&self, server: &Server, _: &[String], _: Option<&Root>) -> Result<Pipes, String> {
        let (ours, theirs) = duplex(1 << 20);
        let (reader, writer) = split(ours);
        self.started.send((server.name.clone(), theirs)).map_err(|_| "nobody plays it".to_owned())?;
        Ok(Pipes {
            reader: Box::new(reader),
            writer: Box::new(writer),
            child: None,
            memory: lock(&self.memory).clone(),
        })
    }

    async fn read(&self, path: &Path) -> Option<String> {
        lock(&self.disk).get(path).cloned()
    }

    fn trusted(&self, roots: Vec<PathBuf>) -> Vec<PathBuf> {
        if *lock(&self.trusted) { roots } else { Vec::new() }
    }

    async fn locate(&self, server: &Server) -> Result<PathBuf, String> {
        Err(format!("no {}", server.name))
    }
}

/// A server that the test plays.
struct Played {
    name: String,
    pipe: DuplexStream,
    decoder: Decoder,
    asked: i64,
}

impl Played {
    async fn send(&mut self, message: Value) {
        self.pipe.write_all(&encode(message.to_string().as_bytes())).await.unwrap();
    }

    /// The next message; `None` when we closed the pipe.
    async fn next(&mut self) -> Option<Value> {
        let mut buffer = vec![0; 4096];
        loop {
            if let Some(frame) = self.decoder.next_frame().unwrap() {
                return Some(serde_json::from_slice(&frame).unwrap());
            }
            match self.pipe.read(&mut buffer).await {
                Ok(0) | Err(_) => return None,
                Ok(count) => self.decoder.push(&buffer[..count]),
            }
        }
    }

    /// The next message of a method; what comes before it is dropped.
    async fn expect(&mut self, method: &str) -> Value {
        loop {
            let message = self.next().await.unwrap_or_else(|| panic!("no {method}"));
            if message["method"] == method {
                return message;
            }
        }
    }

    async fn reply(&mut self, request: &Value, result: Value) {
        self.send(json!({ "jsonrpc": "2.0", "id": request["id"], "result": result })).await;
    }

    async fn fail(&mut self, request: &Value, code: i64, data: Value) {
        let error = json!({ "code": code, "message": "no", "data": data });
        self.send(json!({ "jsonrpc": "2.0", "id": request["id"], "error": error })).await;
    }

    async fn notify(&mut self, method: &str, params: Value) {
        self.send(json!({ "jsonrpc": "2.0", "method": method, "params": params })).await;
    }

    /// Asks the client something; its answer.
    async fn ask(&mut self, method: &str, params: Value) -> Value {
        self.asked += 1;
        let id = format!("ask-{}", self.asked);
        self.send(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await;
        loop {
            let message = self.next().await.unwrap();
            if message["id"] == id.as_str() {
                return message;
            }
        }
    }

    async fn initialize(&mut self, capabilities: Value) {
        let request = self.expect("initialize").await;
        self.reply(&request, json!({ "capabilities": capabilities })).await;
        self.expect("initialized").await;
    }

    async fn publish(&mut self, uri: &str, version: Option<i64>, diagnostics: Value) {
        let mut params = json!({ "uri": uri, "diagnostics": diagnostics });
        if let Some(version) = version {
            params["version"] = json!(version);
        }
        self.notify("textDocument/publishDiagnostics", params).await;
    }

    async fn progress(&mut self, token: &str, kind: &str) {
        self.notify("$/progress", json!({ "token": token, "value": { "kind": kind } })).await;
    }
}

const PUSHES: fn() -> Value = || json!({ "textDocumentSync": { "openClose": true, "change": 2, "save": true } });
const PULLS: fn() -> Value = || json!({ "textDocumentSync": 2, "diagnosticProvider": {} });

/// An error on a line.
fn error(line: u32, message: &str) -> Value {
    json!({ "range": { "start": { "line": line, "character": 0 }, "end": { "line": line, "character": 1 } },
        "severity": 1, "message": message })
}

struct Bench {
    documents: Arc<Documents>,
    languages: Arc<Languages>,
    editor: Arc<Notebook>,
    stage: Arc<Stage>,
    started: mpsc::UnboundedReceiver<(String, DuplexStream)>,
    settings: Settings,
}

const ROOT: &str = "/w";

fn target(name: &str) -> Target {
    let path = Path::new(ROOT).join(name);
    let uri = format!("file://{}", path.display());
    Target { key: Key::File(path.clone()), uri, shown: name.to_owned(), paths: vec![path], inside: true }
}

impl Bench {
    /// A bench on which these servers of the table are not found.
    fn without(missing: &[&'static str]) -> Bench {
        let (started, queue) = mpsc::unbounded_channel();
        let stage = Arc::new(Stage {
            missing: missing.to_vec(),
            trusted: Mutex::new(true),
            disk: Mutex::default(),
            memory: Mutex::default(),
            held: Arc::default(),
            started,
        });
        let documents = Arc::new(Documents::new());
        documents.count_as(Counting { breaks: LineBreaks::Lf, ..Counting::default() });
        let editor = Arc::new(Notebook::default());
        let languages = Languages::with(
            Ports::system(),
            Arc::clone(&editor) as Arc<dyn Editor>,
            &documents,
            Arc::clone(&stage) as Arc<dyn Servers>,
        );
        let bench = Bench { documents, languages, editor, stage, started: queue, settings: Settings::default() };
        bench.configure();
        bench
    }

    /// A bench with one server for Python: `ruff`.
    fn new() -> Bench {
        Bench::without(&["basedpyright", "pyright"])
    }

    fn configure(&self) {
        let roots = Roots { folders: vec![ROOT.into()] };
        self.languages.configure(Arc::new(self.settings.clone()), &roots, false);
    }

    /// The next server that is started.
    async fn server(&mut self) -> Played {
        let (name, pipe) = self.started.recv().await.unwrap();
        Played { name, pipe, decoder: Decoder::new(), asked: 0 }
    }

    fn text(&self, target: &Target) -> Text {
        self.documents.get(&target.key).unwrap().text
    }

    /// The editor opens a Python document, and a tool reads it.
    fn open(&self, name: &str, text: &str) -> Target {
        let target = target(name);
        self.documents.open(target.key.clone(), &target.uri, "python", 1, text);
        self.languages.look(&target, Some("python"), &self.text(&target));
        target
    }

    /// The editor replaces bytes of a document.
    fn replace(&self, target: &Target, range: std::ops::Range<usize>, text: &str) -> i32 {
        let before = self.documents.get(&target.key).unwrap();
        let range = before.text.range_of(range, self.documents.counting().encoding);
        let change = ContentChange { range: Some(range), text: text.to_owned() };
        self.documents.change(&target.key, before.version + 1, vec![change]);
        before.version + 1
    }

    /// A tool's edit that lands: what to wait for.
    fn edit(&self, target: &Target, range: std::ops::Range<usize>, text: &str) -> (Prepared, Edited) {
        let prepared = self.languages.prepare(target, Some("python"), &self.text(target));
        let version = self.replace(target, range.clone(), text);
        let splices = vec![Splice { range, text: text.to_owned() }];
        (prepared, Edited { target: target.clone(), version: Some(version), splices, after: self.text(target) })
    }

    fn settle_with(&self, edits: Vec<(Prepared, Edited)>, wait: Wait) -> JoinHandle<DiagnosticsReport> {
        let languages = Arc::clone(&self.languages);
        tokio::spawn(async move { languages.settle(edits, &wait, &CancellationToken::new()).await })
    }

    fn settle(&self, edits: Vec<(Prepared, Edited)>) -> JoinHandle<DiagnosticsReport> {
        self.settle_with(edits, Wait::default())
    }

    /// Waits until the hub has taken everything that was sent before.
    async fn quiesce(&self) {
        // One moment is enough for everything that does not wait for a later one.
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// A report in one line a source, the embedded check aside: `ruff fresh@2 1ms new=[..] resolved=0 unchanged=1`.
fn told(report: &DiagnosticsReport) -> String {
    let mut lines = Vec::new();
    for document in &report.documents {
        for source in document.sources.iter().filter(|source| source.id != SYNTAX) {
            let version = document.version.map(|version| format!("@{version}")).unwrap_or_default();
            let verdict = serde_json::to_value(source.verdict).unwrap();
            let mut line = vec![format!("{} {}{version} {}ms", source.id, verdict.as_str().unwrap(), source.waited_ms)];
            let list = |problems: &[verdict::Problem]| {
                let each = problems.iter().map(|problem| {
                    let start = problem.range.start;
                    format!("{}:{} {}", start.line, start.character, problem.message)
                });
                each.collect::<Vec<_>>().join("; ")
            };
            if source.verdict == Verdict::Fresh {
                line.push(match source.baseline {
                    Baseline::Known => {
                        let (new, resolved, unchanged) = (list(&source.new), source.resolved, source.unchanged);
                        format!("new=[{new}] resolved={resolved} unchanged={unchanged}")
                    }
                    Baseline::None => format!("present=[{}]", list(&source.present)),
                });
            }
            if let Some(detail) = &source.detail {
                line.push(format!("({detail})"));
            }
            lines.push(line.join(" "));
        }
    }
    for file in &report.other_files {
        let new: Vec<&str> = file.new.iter().map(|problem| problem.message.as_str()).collect();
        lines.push(format!("also {} {} {new:?}", file.uri, file.source));
    }
    if report.other_files_cut > 0 {
        lines.push(format!("also {} more files", report.other_files_cut));
    }
    lines.join("\n")
}
