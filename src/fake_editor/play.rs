//! A script from its first step to its last, and why it ended: everything in one process.

use std::future::Future;
use std::pin::pin;

use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::expect::{Miss, content_of, shown};
use super::fail_on::FailOn;
use super::link::Link;
use super::script::Line;
use super::stage::{Done, Setup, Stage};
use super::step::Step;
use crate::ports::Ports;
use crate::server::{self, ServeOptions};

/// Bytes that the pipe between the editor and the sidecar holds.
const PIPE: usize = 1 << 20;

/// Why a script was cut short from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// It took too long.
    Deadline,
    /// We were told to end, for this exit code.
    Signal(u8),
}

/// What is wrong with a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// These expectations are not so.
    Missed(Vec<Miss>),
    /// What `--fail-on` names happened.
    FailOn(String),
    /// A call was asked about, and nothing allowed it: the words, and what would help.
    Unallowed(String),
    /// It could not be done; those after it are not tried.
    Broken(String),
    /// The time was over, or we were told to end.
    Cut(Cut),
}

/// What became of a step.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Its line, 1-based.
    pub line: usize,
    /// Its name.
    pub name: Option<String>,
    /// What it does, in a few words.
    pub what: String,
    /// How it went, in a few words.
    pub summary: String,
    /// The calls and requests that ended with it, each with its label.
    pub results: Vec<(String, Value)>,
    /// What is wrong with it.
    pub troubles: Vec<Trouble>,
}

/// What became of a script.
#[derive(Debug, Clone, PartialEq)]
pub struct Played {
    /// The steps that were done, or tried.
    pub outcomes: Vec<Outcome>,
    /// The steps that were not.
    pub skipped: usize,
    /// The exit code: that of the first trouble; 0: there is none.
    pub code: u8,
}

/// Exit codes.
pub mod code {
    /// All is as it should be.
    pub const OK: u8 = 0;
    /// An expectation is not so, or a step could not be done.
    pub const FAILED: u8 = 1;
    /// The words or the script cannot be read.
    pub const USAGE: u8 = 2;
    /// A call was asked about and nothing allowed it.
    pub const ASKED: u8 = 3;
    /// It took too long.
    pub const DEADLINE: u8 = 124;
}

impl Trouble {
    /// The exit code that says so.
    pub fn code(&self) -> u8 {
        match self {
            Trouble::Missed(_) | Trouble::FailOn(_) | Trouble::Broken(_) => code::FAILED,
            Trouble::Unallowed(_) => code::ASKED,
            Trouble::Cut(Cut::Deadline) => code::DEADLINE,
            Trouble::Cut(Cut::Signal(code)) => *code,
        }
    }
}

/// Starts a sidecar in this process, and an editor with it.
fn start(ports: &Ports, setup: Setup, options: ServeOptions) -> (Stage, JoinHandle<u8>) {
    let (ours, theirs) = tokio::io::duplex(PIPE);
    let (their_input, their_output) = tokio::io::split(theirs);
    let serving = tokio::spawn(server::serve(their_input, their_output, ports.clone(), options));
    let (input, output) = tokio::io::split(ours);
    (Stage::new(Link::start(input, output), ports.clone(), setup), serving)
}

/// Plays a script with a sidecar in this process, and tells each outcome as it comes. `cut` ends it early. Everything that
/// was started has ended when this returns.
pub async fn play<C, T>(
    ports: &Ports,
    setup: Setup,
    options: ServeOptions,
    lines: &[Line],
    fail_on: &[FailOn],
    cut: C,
    mut tell: T,
) -> Played
where
    C: Future<Output = Cut>,
    T: FnMut(&Outcome),
{
    let (mut stage, serving) = start(ports, setup, options);
    let mut cut = pin!(cut);
    let mut played = Played { outcomes: Vec::new(), skipped: 0, code: code::OK };
    for (at, line) in lines.iter().enumerate() {
        let done = tokio::select! {
            done = step(&mut stage, line) => done,
            cut = &mut cut => Err(Trouble::Cut(cut)),
        };
        let stops = done.is_err();
        let outcome = outcome(line, done, fail_on);
        if let (code::OK, Some(first)) = (played.code, outcome.troubles.first()) {
            played.code = first.code();
        }
        tell(&outcome);
        played.outcomes.push(outcome);
        if stops {
            played.skipped = lines.len() - at - 1;
            break;
        }
    }
    stage.leave().await;
    drop(stage);
    if let Err(error) = serving.await {
        tracing::error!(%error, "the sidecar did not end well");
    }
    played
}

async fn step(stage: &mut Stage, line: &Line) -> Result<Done, Trouble> {
    let wait = stage.begin(line).await.map_err(|why| Trouble::Broken(stage.shown_text(&why)))?;
    while !stage.ready(&wait) {
        if stage.is_gone() {
            return Err(Trouble::Broken("the sidecar is gone".to_owned()));
        }
        stage.turn().await;
    }
    stage.finish(line, wait).map_err(|why| Trouble::Broken(stage.shown_text(&why)))
}

fn outcome(line: &Line, done: Result<Done, Trouble>, fail_on: &[FailOn]) -> Outcome {
    let mut outcome = Outcome {
        line: line.number,
        name: line.name.clone(),
        what: in_words(&line.step),
        summary: String::new(),
        results: Vec::new(),
        troubles: Vec::new(),
    };
    let done = match done {
        Ok(done) => done,
        Err(trouble) => {
            outcome.troubles.push(trouble);
            return outcome;
        }
    };
    let asks = fail_on.contains(&FailOn::Ask);
    for asked in &done.unallowed {
        let answer = "{\"answer\": {\"approve\": \"once\"}} before it";
        let help = match &asked.rule {
            Some(rule) => format!("`--allow '{rule}'` would let it pass, and so would {answer}"),
            None => format!("{answer} would let it pass"),
        };
        let words = format!("nothing allowed {}: {}; {help}", asked.call, asked.reason);
        outcome.troubles.push(if asks { Trouble::FailOn(words) } else { Trouble::Unallowed(words) });
    }
    for (label, result) in &done.ended {
        let met = fail_on.iter().filter_map(|on| on.met(result).map(|why| (on, why)));
        outcome.troubles.extend(met.map(|(on, why)| Trouble::FailOn(format!("{label}: {why} (--fail-on {on})"))));
    }
    if !done.misses.is_empty() {
        outcome.troubles.push(Trouble::Missed(done.misses));
    }
    let ends: Vec<String> = done.ended.iter().map(|(label, result)| how(label, result)).collect();
    outcome.summary = if ends.is_empty() { done.summary } else { ends.join("; ") };
    outcome.results = done.ended;
    outcome
}

/// How a call ended, in a few words.
fn how(label: &str, result: &Value) -> String {
    let mut words = Vec::new();
    if let Some(status) = result["status"].as_str() {
        words.push(status.to_owned());
    }
    if let Some(kind) = result["error"]["kind"].as_str() {
        words.push(kind.to_owned());
    }
    if let Some(applied) = result["applied"].as_str() {
        words.push(format!("applied {applied}"));
    }
    if result["proposed"] == true {
        words.push("proposed".to_owned());
    }
    if let Some(error) = result["error"].as_object().filter(|error| error.contains_key("code")) {
        words.push(format!("error {}: {}", error["code"], error.get("message").unwrap_or(&Value::Null)));
    }
    if words.is_empty() { format!("{label}: answered") } else { format!("{label}: {}", words.join(", ")) }
}

/// What a step does, in a few words.
pub(super) fn in_words(step: &Step) -> String {
    match step {
        Step::Open(open) => format!("open {}", open.path),
        Step::Type(typed) => format!("type {} in {}", shown(&typed.text), typed.path),
        Step::Change(change) => format!("change {}", change.path),
        Step::Undo(named) => format!("undo in {}", named.path),
        Step::Redo(named) => format!("redo in {}", named.path),
        Step::Save(named) => format!("save {}", named.path),
        Step::Close(named) => format!("close {}", named.path),
        Step::WriteDisk(written) if written.text.is_none() => format!("remove {} from the disk", written.path),
        Step::WriteDisk(written) => format!("write {} on the disk", written.path),
        Step::Settings(_) => "settings".to_owned(),
        Step::Trust(trust) if trust.trusted => format!("trust {}", trust.path.as_deref().unwrap_or("the root")),
        Step::Trust(trust) => format!("trust {} no longer", trust.path.as_deref().unwrap_or("the root")),
        Step::Session(session) => format!("session {}", session.id),
        Step::Call(call) => format!("call {}", call.name),
        Step::Calls(calls) => {
            let names: Vec<&str> = calls.calls.iter().map(|call| call.name.as_str()).collect();
            format!("calls {}", names.join(", "))
        }
        Step::Await(awaited) => format!("await {}", awaited.call),
        Step::Cancel(cancel) => format!("cancel {}", cancel.call.as_deref().unwrap_or("all calls")),
        Step::Answer(answer) => {
            let method = answer.method.as_deref().unwrap_or("approvals");
            match answer.approve {
                Some(said) => format!("answer {method} with {}", json!(said).as_str().unwrap_or_default()),
                None => format!("answer {method}"),
            }
        }
        Step::Reply(reply) => format!("reply to {}", reply.method.as_deref().unwrap_or("a question")),
        Step::Editor(behaviour) => match behaviour.manner {
            Some(manner) => format!("editor {}", manner.name()),
            None => "editor".to_owned(),
        },
        Step::Release(_) => "release".to_owned(),
        Step::Diagnostics(said) => format!("diagnostics of {}", said.source),
        Step::Request(request) => format!("request {}", request.method),
        Step::Notify(notify) => format!("notify {}", notify.method),
        Step::Until(until) => format!("until {}", until.method),
        Step::Settle(_) => "settle".to_owned(),
        Step::Expect(_) => "expect".to_owned(),
    }
}

impl Outcome {
    /// Whether all is as it should be.
    pub fn is_ok(&self) -> bool {
        self.troubles.is_empty()
    }

    /// The answer of the last call that ended with it, for the model.
    pub fn content(&self) -> Option<String> {
        self.results.last().map(|(_, result)| content_of(result)).filter(|content| !content.is_empty())
    }
}
