//! What stands behind the front in these tests: calls that record what they saw and do what their arguments say.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use ropewalk::config::Settings;
use ropewalk::dispatch::call::{AccessInfo, ApprovalInfo, DecisionKind, Requirement, Timing};
use ropewalk::dispatch::{
    BatchParams, BatchResult, CallParams, CallResult, ListToolsParams, PreviewResult, Status, ToolInfo,
};
use ropewalk::editor::{ApplyEdit, Editor, FileChanged, News, Risk, ToolEvent, ToolEventKind};
use ropewalk::languages::{DiagnosticsReport, Forwarded, ProgressKind, SourceName, Wait};
use ropewalk::permissions::Trust;
use ropewalk::ports::Ports;
use ropewalk::server::{Begun, BegunBatch, Calls, Rooms, ServeOptions, Sources};
use ropewalk::text::{Position, Range, TextEdit};
use ropewalk::tool::Content;
use ropewalk::workspace::{Documents, Key, Roots, Target, Workspace};

use crate::editor::{FakeEditor, Pipe};

/// The one document of most tests.
pub const DOCUMENT: &str = "untitled:one";

/// What the doubles saw and do.
pub struct Double {
    editor: Arc<dyn Editor>,
    documents: Arc<Documents>,
    /// Gates that calls wait at, by name.
    gates: Mutex<BTreeMap<String, Arc<tokio::sync::Semaphore>>>,
    open: Mutex<HashMap<String, CancellationToken>>,
    /// In order: what the sources were told.
    pub told: Mutex<Vec<Value>>,
}

impl Double {
    fn gate(&self, name: &str) -> Arc<tokio::sync::Semaphore> {
        let mut gates = self.gates.lock().unwrap();
        Arc::clone(gates.entry(name.to_owned()).or_insert_with(|| Arc::new(tokio::sync::Semaphore::new(0))))
    }

    /// Lets every call through that waits, or will wait, at a gate.
    pub fn open_gate(&self, name: &str) {
        self.gate(name).add_permits(tokio::sync::Semaphore::MAX_PERMITS / 2);
    }

    fn version(&self) -> Option<i32> {
        self.documents.get(&Key::Unnamed(DOCUMENT.to_owned())).map(|document| document.version)
    }

    fn end(&self, params: &CallParams, status: Status, seen: &Value) -> CallResult {
        let call_id = params.call_id.clone().unwrap_or_default();
        self.open.lock().unwrap().remove(&call_id);
        CallResult {
            proposed: false,
            call_id,
            name: params.name.clone(),
            status,
            is_error: status != Status::Ok,
            content: vec![Content::text("done")],
            structured_content: Some(seen.clone()),
            error: None,
            applied: None,
            edits: None,
            diagnostics: None,
            output: None,
            timing: Timing::default(),
        }
    }

    /// The tools of the double: `look` (which version is there), `wait` (at the gate `arguments.gate`), `edit` (asks for
    /// an edit and waits for the answer, `arguments.stubborn`: also when it is cancelled), `panic`, `block` (its thread, until the gate), `chatter` (tells news).
    async fn run(&self, params: CallParams, ticket: Option<i32>, cancel: CancellationToken) -> CallResult {
        let argument = |name: &str| params.arguments.as_ref().map_or(Value::Null, |all| all[name].clone());
        let gate = argument("gate").as_str().unwrap_or("gate").to_owned();
        match params.name.as_str() {
            "wait" => {
                let gate = self.gate(&gate);
                tokio::select! {
                    _ = gate.acquire() => {}
                    () = cancel.cancelled() => return self.end(&params, Status::Cancelled, &json!({ "ticket": ticket })),
                }
            }
            "edit" => {
                let at = Position::new(0, 0);
                let edit = ApplyEdit {
                    uri: DOCUMENT.to_owned(),
                    version: ticket.unwrap_or_default(),
                    edits: vec![TextEdit { range: Range { start: at, end: at }, new_text: "x".into() }],
                    label: "edit".into(),
                };
                // By itself longer than these tests wait for anything.
                let seconds = argument("seconds").as_u64().unwrap_or(100_000);
                let asking = self.editor.apply_edit(edit, Duration::from_secs(seconds));
                let cancel = if argument("stubborn") == true { CancellationToken::new() } else { cancel };
                tokio::select! {
                    reply = asking => {
                        let reply = reply.map_or_else(|error| error.to_string(), |reply| format!("{}", reply.applied));
                        return self.end(&params, Status::Ok, &json!({ "ticket": ticket, "reply": reply }));
                    }
                    () = cancel.cancelled() => return self.end(&params, Status::Cancelled, &json!({ "ticket": ticket })),
                }
            }
            "panic" => panic!("the double was told to"),
            "block" => {
                // Its thread, not only its task.
                let gate = self.gate(&gate);
                while gate.available_permits() == 0 {
                    std::thread::yield_now();
                }
            }
            "chatter" => {
                for _ in 0..argument("words").as_u64().unwrap_or(1) {
                    self.editor.tell(News::Tool(ToolEvent {
                        session_id: "default".into(),
                        call_id: params.call_id.clone().unwrap_or_default(),
                        kind: ToolEventKind::Output,
                        name: None,
                        detail: None,
                    }));
                }
            }
            _ => {}
        }
        let seen = json!({ "ticket": ticket, "ran": self.version() });
        self.end(&params, Status::Ok, &seen)
    }
}

impl Calls for Double {
    fn list_tools(&self, _: &ListToolsParams) -> Vec<ToolInfo> {
        Vec::new()
    }

    fn begin(self: Arc<Self>, params: CallParams) -> Begun {
        assert!(params.name != "panicAtOnce", "the double was told to");
        let cancel = CancellationToken::new();
        let id = params.call_id.clone().unwrap_or_default();
        self.open.lock().unwrap().insert(id, cancel.clone());
        let ticket = self.version();
        let token = cancel.clone();
        Begun { cancel, result: async move { self.run(params, ticket, token).await }.boxed() }
    }

    fn begin_batch(self: Arc<Self>, params: BatchParams) -> BegunBatch {
        let cancel = CancellationToken::new();
        let calls: Vec<_> = params.calls.into_iter().map(|call| Arc::clone(&self).begin(call).result).collect();
        let result = async move { BatchResult { results: futures_util::future::join_all(calls).await } };
        BegunBatch { cancel, result: result.boxed() }
    }

    fn preview(self: Arc<Self>, params: CallParams) -> BoxFuture<'static, PreviewResult> {
        let preview = PreviewResult {
            preview_id: "p1".into(),
            name: params.name,
            arguments: json!({}),
            repairs: Vec::new(),
            synthesized: false,
            valid: true,
            problems: Vec::new(),
            access: AccessInfo::default(),
            diff: None,
            approval: ApprovalInfo {
                requirement: Requirement::Auto,
                decision: DecisionKind::Allow,
                reason: "it reads".into(),
                risk: Risk::Low,
            },
        };
        std::future::ready(preview).boxed()
    }

    fn cancel(&self, _: Option<&str>, call_id: Option<&str>, _: Option<&str>) -> usize {
        let open = self.open.lock().unwrap();
        let fits: Vec<_> = open.iter().filter(|(id, _)| call_id.is_none_or(|wanted| wanted == *id)).collect();
        for (_, cancel) in &fits {
            cancel.cancel();
        }
        fits.len()
    }

    fn cancel_all(&self) {
        self.cancel(None, None, None);
    }

    fn open_calls(&self) -> Vec<String> {
        let mut open: Vec<String> = self.open.lock().unwrap().keys().cloned().collect();
        open.sort();
        open
    }
}

#[async_trait]
impl Sources for Double {
    fn forwarded(&self, said: Forwarded) {
        self.told.lock().unwrap().push(json!({ "forwarded": said.uri, "at": self.version() }));
    }

    fn editor_sources(&self, uri: &str, sources: Vec<SourceName>) {
        self.told.lock().unwrap().push(json!({ "sources": sources, "of": uri }));
    }

    fn progress(&self, source_id: &str, token: &str, kind: ProgressKind) {
        self.told.lock().unwrap().push(json!({ "progress": source_id, "token": token, "kind": kind }));
    }

    fn file_changed(&self, change: &FileChanged) {
        self.told.lock().unwrap().push(json!({ "file": change }));
    }

    fn configure(&self, settings: Arc<Settings>, roots: &Roots, _: bool) {
        let told = json!({ "maxBytes": settings.output.max_bytes, "folders": roots.folders });
        self.told.lock().unwrap().push(told);
    }

    fn trust_changed(&self) {
        self.told.lock().unwrap().push(json!("trust"));
    }

    async fn report(&self, _: Option<&Target>, _: Option<i32>, _: &Wait, _: &CancellationToken) -> DiagnosticsReport {
        DiagnosticsReport::default()
    }

    fn open_work(&self) -> Vec<String> {
        Vec::new()
    }

    async fn shutdown(&self, _: Duration) {
        self.told.lock().unwrap().push(json!("shut down"));
    }
}

/// A front with doubles behind it, and the editor in front of it.
pub struct Bench {
    /// The editor.
    pub editor: FakeEditor,
    /// What stands behind.
    pub double: Arc<Double>,
    /// The rooms.
    pub rooms: Rooms,
}

impl Bench {
    /// Starts one; the editor has not said anything yet.
    pub async fn start() -> Bench {
        Bench::start_on(tokio::spawn).await
    }

    /// Starts one whose serving is driven by a thread of its own and whose calls run on two others, as in the binary.
    pub async fn start_apart() -> Bench {
        Bench::start_on(|serving| {
            tokio::task::spawn_blocking(move || {
                let threads = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
                threads.unwrap().block_on(serving)
            })
        })
        .await
    }

    async fn start_on(run: impl FnOnce(BoxFuture<'static, u8>) -> tokio::task::JoinHandle<u8>) -> Bench {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let make = move |editor: Arc<dyn Editor>| {
            let documents = Arc::new(Documents::new());
            let double = Arc::new(Double {
                editor: Arc::clone(&editor),
                documents: Arc::clone(&documents),
                gates: Mutex::default(),
                open: Mutex::default(),
                told: Mutex::default(),
            });
            let rooms = Rooms {
                workspace: Arc::new(Workspace::new(Ports::system(), editor, documents)),
                trust: Arc::new(Trust::new()),
                calls: double.clone(),
                sources: double.clone(),
                context: Arc::default(),
            };
            assert!(sender.send((double, rooms.clone())).is_ok());
            rooms
        };
        let editor = FakeEditor::start(|input: Pipe, output: Pipe| {
            run(ropewalk::server::serve_with(input, output, Ports::system(), ServeOptions::default(), make).boxed())
        });
        // The rooms are made in the first step of `serve`, which waits for nothing.
        let (double, rooms) = receiver.await.unwrap();
        Bench { editor, double, rooms }
    }

    /// Starts one whose editor has said hello, with all abilities that matter here, and opened [`DOCUMENT`].
    pub async fn ready(text: &str) -> Bench {
        Bench::start().await.made_ready(text).await
    }

    /// The same, of one that was started.
    pub async fn made_ready(self, text: &str) -> Bench {
        let mut bench = self;
        bench.editor.initialize(json!({ "events": true, "resync": true, "approve": true })).await;
        bench.double.told.lock().unwrap().clear();
        bench.editor.open(DOCUMENT, text);
        bench
    }

    /// Sends a call; gives its request id.
    pub fn call(&mut self, name: &str, arguments: Value) -> i64 {
        let call_id = format!("c{}", self.editor.next_id());
        self.editor.request("ropewalk/callTool", json!({ "name": name, "callId": call_id, "arguments": arguments }))
    }
}
