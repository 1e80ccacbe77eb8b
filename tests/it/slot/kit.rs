//! An editor with the real rooms and tools of these tests behind it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use ropewalk::dispatch::Dispatch;
use ropewalk::permissions::Rule;
use ropewalk::ports::{Disk as _, MemoryDisk, Ports};
use ropewalk::server::{self, Rooms, ServeOptions};
use ropewalk::tool::{Access, AnyTool, Capability, Content, Context, NestedCall, Outcome, Plan, ToolError, Traits};
use serde_json::{Value, json};
use tokio::sync::{Notify, Semaphore};

use crate::editor::FakeEditor;

/// The one open document.
pub const URI: &str = "file:///w/notes.txt";

/// Where calls wait until a test lets them on.
#[derive(Clone, Default)]
pub struct Gates {
    all: Arc<Mutex<BTreeMap<String, Arc<Semaphore>>>>,
    count: Arc<Mutex<usize>>,
    came: Arc<Notify>,
}

impl Gates {
    fn gate(&self, name: &str) -> Arc<Semaphore> {
        let mut all = self.all.lock().unwrap();
        Arc::clone(all.entry(name.to_owned()).or_insert_with(|| Arc::new(Semaphore::new(0))))
    }

    /// Lets everybody through.
    pub fn open(&self, name: &str) {
        self.gate(name).add_permits(1000);
    }

    /// Waits until so many calls have come to any gate.
    pub async fn arrived(&self, count: usize) {
        loop {
            let came = self.came.notified();
            if *self.count.lock().unwrap() >= count {
                return;
            }
            came.await;
        }
    }

    /// How many have come, jobs that were told to stop counted once more.
    pub fn count(&self) -> usize {
        *self.count.lock().unwrap()
    }

    fn came(&self) {
        *self.count.lock().unwrap() += 1;
        self.came.notify_waiters();
    }

    async fn pass(&self, name: &str) {
        self.came();
        let gate = self.gate(name);
        gate.acquire().await.unwrap().forget();
    }
}

/// A tool of these tests.
struct Fake {
    name: &'static str,
    gates: Gates,
    shared: bool,
    /// How often it has run.
    runs: Mutex<usize>,
}

#[async_trait]
impl AnyTool for Fake {
    fn traits(&self) -> Traits<'_> {
        Traits {
            name: self.name,
            title: "A tool of a test",
            capabilities: if self.shared { &[Capability::ReadsFiles] } else { &[Capability::WritesFiles] },
            parallel: self.shared,
            deferred: false,
            free_form: None,
            deadline: Duration::from_secs(10),
            aliases: &[],
            names: &[],
        }
    }

    fn description(&self) -> String {
        "Does what a test wants.".to_owned()
    }

    fn schema(&self) -> Value {
        let properties = json!({ "word": { "type": "string" }, "calls": { "type": "array" } });
        json!({ "type": "object", "properties": properties })
    }

    fn access(&self, arguments: &Value) -> Access {
        let commands = if self.name == "shell" { vec![word(arguments)] } else { Vec::new() };
        Access { commands, ..Access::default() }
    }

    fn validate(&self, _: &Value) -> Result<(), ToolError> {
        Ok(())
    }

    async fn plan(&self, _: &Value, _: &Context) -> Result<Plan, ToolError> {
        Ok(Plan::Run)
    }

    async fn run(&self, arguments: Value, context: &Context) -> Result<Outcome, ToolError> {
        *self.runs.lock().unwrap() += 1;
        let runs = *self.runs.lock().unwrap();
        let word = word(&arguments);
        match self.name {
            "look" | "change" => self.gates.pass(&word).await,
            "nest" | "nest_beside" => return Ok(self.nest(&arguments, context).await),
            "shaky" | "shaky_change" if runs == 1 => return Err(ToolError::transient("not at the moment")),
            "talk" => {
                context.progress.output("hel");
                context.progress.output("lo");
                context.progress.report(Some(40), Some("half-way"));
                self.gates.pass(&word).await;
                context.progress.output("!");
            }
            "background" => {
                let gates = self.gates.clone();
                let id = context.jobs.start(&context.session, "count to two", move |running| async move {
                    running.output(b"one\n");
                    let stopped = running.stop.clone();
                    tokio::select! {
                        () = gates.pass(&word) => {}
                        () = stopped.cancelled() => {
                            gates.came();
                            return Err("interrupted".to_owned());
                        }
                    }
                    running.output(b"two\n");
                    Ok("exit code 0".to_owned())
                });
                return Ok(said(&format!("started {id}")));
            }
            _ => {}
        }
        Ok(said(&word))
    }
}

impl Fake {
    async fn nest(&self, arguments: &Value, context: &Context) -> Outcome {
        let mut lines = Vec::new();
        for call in arguments["calls"].as_array().into_iter().flatten() {
            let nested = context
                .slot
                .call(NestedCall {
                    name: call["name"].as_str().unwrap().to_owned(),
                    arguments: call["arguments"].clone(),
                    session: call["session"].as_str().map(str::to_owned),
                    ..NestedCall::default()
                })
                .await;
            let how = nested.failed.map_or(json!("ok"), |kind| json!(kind));
            lines.push(format!("{} {} {}", nested.call_id, nested.name, how.as_str().unwrap()));
        }
        said(&lines.join("\n"))
    }
}

fn word(arguments: &Value) -> String {
    arguments["word"].as_str().unwrap_or_default().to_owned()
}

fn said(text: &str) -> Outcome {
    Outcome { content: vec![Content::text(text)], ..Outcome::default() }
}

fn tools(gates: &Gates) -> Vec<(Arc<dyn AnyTool>, Rule)> {
    let fake = |name: &'static str, shared: bool| -> (Arc<dyn AnyTool>, Rule) {
        let rule = match (name, shared) {
            ("shell", _) => Rule::Shell,
            (_, true) => Rule::Read,
            (_, false) => Rule::Write,
        };
        (Arc::new(Fake { name, gates: gates.clone(), shared, runs: Mutex::new(0) }), rule)
    };
    let mut all: Vec<_> = ropewalk::tools::table()
        .into_iter()
        .map(|tool| {
            let rule = Rule::of(tool.traits().name);
            (tool, rule)
        })
        .collect();
    for (name, shared) in [
        ("look", true),
        ("change", false),
        ("nest", false),
        ("nest_beside", true),
        ("shaky", true),
        ("shaky_change", false),
        ("shell", false),
        ("talk", false),
        ("background", false),
    ] {
        all.push(fake(name, shared));
    }
    all
}

/// An editor with the folder `/w`, which holds `notes.txt`, and the file open with an unsaved change.
pub async fn editor(gates: &Gates) -> (FakeEditor, Arc<MemoryDisk>) {
    let disk = Arc::new(MemoryDisk::new());
    disk.create_dir_all(Path::new("/w")).unwrap();
    disk.create_dir_all(Path::new("/out")).unwrap();
    disk.create(Path::new("/w/notes.txt"), b"one\ntwo\n").unwrap();
    let ports = Ports { disk: disk.clone(), ..Ports::system() };
    let options = ServeOptions { repeatable: true, ..ServeOptions::default() };
    let tools = tools(gates);
    let mut editor = FakeEditor::start(|input, output| {
        let rooms = {
            let ports = ports.clone();
            move |editor| {
                let parts = server::assemble(ports, editor);
                let (workspace, languages) = (parts.workspace.clone(), parts.languages.clone());
                let dispatch = Dispatch::over(tools, workspace, languages, parts.sessions.clone(), parts.trust.clone());
                Rooms { calls: dispatch, ..Rooms::of(&parts) }
            }
        };
        tokio::spawn(server::serve_with(input, output, ports, options, rooms))
    });
    editor.introduce(&[Path::new("/w")], json!({ "resync": true, "approve": true, "events": true }), json!({})).await;
    editor.open(URI, "one\ntwo\n");
    editor.splice(URI, 3..3, "!");
    (editor, disk)
}

/// The params of a call.
pub fn call(name: &str, arguments: Value) -> Value {
    json!({ "name": name, "arguments": arguments })
}

/// Sends a batch; gives its request id.
pub fn batch(editor: &mut FakeEditor, calls: &[Value]) -> i64 {
    editor.request("ropewalk/callTools", json!({ "calls": calls }))
}

/// The first text of a result.
pub fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_default()
}

/// The statuses of the results of a batch.
pub fn statuses(result: &Value) -> Vec<&str> {
    result["results"].as_array().unwrap().iter().map(|result| result["status"].as_str().unwrap()).collect()
}

/// Everything that came so far about calls and is of these kinds, as `kind callId`; the rest of it is dropped.
pub async fn events(editor: &mut FakeEditor, wanted: impl Fn(&str) -> bool) -> Vec<String> {
    // What comes before the answer to this has come.
    editor.ask("ropewalk/settle", json!({})).await;
    let mut told = Vec::new();
    let of_calls = |message: &Value| {
        ["ropewalk/toolEvent", "ropewalk/approvalsChanged", "ropewalk/filesChanged"]
            .contains(&message["method"].as_str().unwrap_or_default())
    };
    while let Some(message) = editor.stashed(of_calls) {
        let kind = message["params"]["kind"].as_str().unwrap_or_default().to_owned();
        if message["method"] == "ropewalk/toolEvent" && wanted(&kind) {
            told.push(format!("{kind} {}", message["params"]["callId"].as_str().unwrap()));
        }
    }
    told
}

/// An answer to `ropewalk/approve`: a decision for each of its calls.
pub fn decide(asked: &Value, decisions: &[&str]) -> Value {
    let calls = asked["calls"].as_array().unwrap();
    assert_eq!(calls.len(), decisions.len(), "{asked}");
    let decisions: Vec<Value> = calls
        .iter()
        .zip(decisions)
        .map(|(call, decision)| json!({ "callId": call["callId"], "decision": decision }))
        .collect();
    json!({ "decisions": decisions })
}
