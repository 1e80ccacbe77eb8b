//! The server: what it knows, and what follows from each message. Pure: files that it has to look at are handed in.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::act::{About, Act, End, What};
use super::rules::{Files, Patterns, text_of};
use super::script::{Failure, Method, Script, Sync, Unknown, When};
use super::{checks::Told, trouble};
use crate::rpc::code;
use crate::text::{Encoding, Position, Range, TextEdit};

/// The error of a request that comes before `initialize`.
const NOT_INITIALIZED: i64 = -32002;

/// Where the server is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Started,
    Initialized,
    Down,
}

/// What an answer of the client's leads to.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Awaited {
    /// Nothing.
    Nothing,
    /// The answer to the command of this request id.
    Command(Value),
}

/// When something is said.
#[derive(Debug, Clone, Default)]
pub(super) struct Timing {
    after_ms: u64,
    until: Option<Method>,
}

impl Timing {
    /// So much later (ms).
    pub(super) fn later(mut self, ms: u64) -> Timing {
        self.after_ms += ms;
        self
    }
}

/// A fake language server.
pub(super) struct Fake {
    pub(super) script: Script,
    pub(super) patterns: Patterns,
    pub(super) files: Files,
    pub(super) encoding: Encoding,
    /// The URI of the root, without a slash at its end; empty: there is none.
    pub(super) root: String,
    pub(super) told: Told,
    phase: Phase,
    /// How often each method was heard, and said.
    heard: BTreeMap<Method, u32>,
    said: BTreeMap<Method, u32>,
    /// How often each method has failed.
    failed: BTreeMap<Method, u32>,
    held: Vec<(Method, Act)>,
    asked: u64,
    awaited: BTreeMap<String, Awaited>,
}

impl Fake {
    /// A server that has just started; the error names what is wrong with the script.
    pub(super) fn new(script: Script) -> Result<Fake, String> {
        Ok(Fake {
            patterns: Patterns::of(&script)?,
            encoding: script.position_encoding.unwrap_or_default(),
            script,
            files: Files::new(),
            root: String::new(),
            told: Told::default(),
            phase: Phase::Started,
            heard: BTreeMap::new(),
            said: BTreeMap::new(),
            failed: BTreeMap::new(),
            held: Vec::new(),
            asked: 0,
            awaited: BTreeMap::new(),
        })
    }

    /// The files (by URI) that are to be looked at, and handed to [`Fake::learn`], before a message is heard.
    pub(super) fn wants(&self, message: &Value) -> Vec<String> {
        let params = &message["params"];
        let one = || params["textDocument"]["uri"].as_str().map(str::to_owned).into_iter().collect();
        match message["method"].as_str() {
            Some("initialize") => {
                let root = root_of(params);
                self.script.project.iter().map(|path| format!("{root}/{}", path.display())).collect()
            }
            Some("textDocument/didOpen" | "textDocument/didSave")
                if self.patterns.checks_disk() || self.script.sync == Sync::None =>
            {
                one()
            }
            Some("workspace/didChangeWatchedFiles") => {
                let changes = params["changes"].as_array().into_iter().flatten();
                changes.filter_map(|change| change["uri"].as_str().map(str::to_owned)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Takes what a file holds on the disk; `None`: it is not there.
    pub(super) fn learn(&mut self, uri: &str, text: Option<&str>) {
        let known = self.files.entry(uri.to_owned()).or_default();
        known.disk = text.map(text_of);
        if known.disk.is_none() && known.open.is_none() {
            self.files.remove(uri);
        }
    }

    /// What is done before anything is heard.
    pub(super) fn start(&mut self) -> Vec<Act> {
        self.moment("start", |_| Vec::new())
    }

    /// Takes a message.
    pub(super) fn hear(&mut self, message: &Value) -> Vec<Act> {
        match message["method"].as_str() {
            Some(method) => {
                let method = method.to_owned();
                self.moment(&method, |fake| fake.follow(&method, message))
            }
            None => self.answered(message),
        }
    }

    /// What follows from a method, with the trouble that the script makes of that.
    fn moment(&mut self, method: &str, follow: impl FnOnce(&mut Fake) -> Vec<Act>) -> Vec<Act> {
        let count = self.heard.entry(method.to_owned()).or_default();
        *count += 1;
        let nth = *count;
        if self.script.wedges.iter().any(|wedge| wedge == method) {
            return vec![Act::now(What::Wedge)];
        }
        let crash = self.script.crashes.iter().find(|crash| crash.on == method && crash.nth == nth).cloned();
        if let Some(crash) = crash.as_ref().filter(|crash| crash.when == When::Before) {
            return trouble::die(Vec::new(), crash);
        }
        let mut acts = trouble::garbage(&self.script, method);
        acts.extend(trouble::floods(&self.script, method, &self.root));
        let (released, held) = std::mem::take(&mut self.held).into_iter().partition(|(until, _)| until == method);
        self.held = held;
        let released: Vec<(Method, Act)> = released;
        acts.extend(released.into_iter().map(|(_, act)| act));
        acts.extend(follow(self));
        match crash {
            Some(crash) => trouble::die(acts, &crash),
            None => acts,
        }
    }

    fn follow(&mut self, method: &str, message: &Value) -> Vec<Act> {
        let mut acts = Vec::new();
        if self.script.ignores.iter().any(|ignored| ignored == method) {
            return acts;
        }
        let null = Value::Null;
        let params = message.get("params").unwrap_or(&null);
        match message.get("id") {
            Some(id) => self.request(method, id, params, &mut acts),
            None => self.notification(method, params, &mut acts),
        }
        acts
    }

    fn request(&mut self, method: &str, id: &Value, params: &Value, acts: &mut Vec<Act>) {
        if method == "initialize" {
            self.root = root_of(params);
            self.phase = Phase::Initialized;
        } else if self.phase == Phase::Started {
            let failure = json!({ "code": NOT_INITIALIZED, "message": "the server is not initialized" });
            acts.push(Act::say(json!({ "jsonrpc": "2.0", "id": id, "error": failure })));
            return;
        }
        if let Some(failure) = self.failure(method) {
            self.fail(method, id, &failure, acts);
            return;
        }
        if let Some(answer) = self.script.answers.get(method) {
            let uri = params["textDocument"]["uri"].as_str().unwrap_or_default();
            let answer = filled(answer, uri, &self.root);
            self.answer(method, id, answer, acts);
            return;
        }
        match method {
            "initialize" => {
                let answer =
                    json!({ "capabilities": self.capabilities(), "serverInfo": { "name": "ropewalk fake-server" } });
                self.answer(method, id, answer, acts);
            }
            "shutdown" => {
                self.phase = Phase::Down;
                self.answer(method, id, Value::Null, acts);
            }
            "workspace/executeCommand" => self.command(id, params, acts),
            _ => match self.asked_for(method, params) {
                Some(Ok(answer)) => self.answer(method, id, answer, acts),
                Some(Err(failure)) => self.fail(method, id, &failure, acts),
                None => self.unknown(method, Some(id), acts),
            },
        }
    }

    fn notification(&mut self, method: &str, params: &Value, acts: &mut Vec<Act>) {
        match method {
            "exit" => {
                let end = End::Code(u8::from(self.phase != Phase::Down));
                acts.push(Act::now(What::End { end, mark: None }));
            }
            "initialized" => self.greet(acts),
            "$/cancelRequest" => self.cancel(&params["id"], acts),
            "textDocument/didOpen" => self.opened(params, acts),
            "textDocument/didChange" => self.changed(params, acts),
            "textDocument/didSave" => self.saved(params, acts),
            "textDocument/didClose" => self.closed(params, acts),
            "workspace/didChangeWatchedFiles" => self.check_others("", &Timing::default(), acts),
            "$/setTrace"
            | "workspace/didChangeConfiguration"
            | "workspace/didChangeWorkspaceFolders"
            | "window/workDoneProgress/cancel"
            | "textDocument/willSave" => {}
            _ => self.unknown(method, None, acts),
        }
    }

    fn unknown(&self, method: &str, id: Option<&Value>, acts: &mut Vec<Act>) {
        match (self.script.unknown_methods, id) {
            (Unknown::Leave, _) => {
                acts.push(Act::now(What::Complain(format!("the method {method} is not known\n"))));
                acts.push(Act::now(What::End { end: End::Code(1), mark: None }));
            }
            (Unknown::Error, Some(id)) => {
                let failure =
                    json!({ "code": code::METHOD_NOT_FOUND, "message": format!("the method `{method}` is not known") });
                acts.push(Act::say(json!({ "jsonrpc": "2.0", "id": id, "error": failure })));
            }
            (Unknown::Error | Unknown::Ignore, _) => {}
        }
    }

    /// The error that a method is answered with this time.
    fn failure(&mut self, method: &str) -> Option<Failure> {
        let failure = self.script.errors.get(method)?;
        let failed = self.failed.entry(method.to_owned()).or_default();
        if failure.times.is_some_and(|times| *failed >= times) {
            return None;
        }
        *failed += 1;
        Some(failure.clone())
    }

    /// When the next message of a method is said.
    pub(super) fn timing(&mut self, method: &str) -> Timing {
        let said = self.said.entry(method.to_owned()).or_default();
        *said += 1;
        let first = (*said == 1).then(|| self.script.first_delays.get(method)).flatten();
        let after_ms = first.or_else(|| self.script.delays.get(method)).copied().unwrap_or(0);
        let until = self.script.holds.get(method).filter(|until| !self.heard.contains_key(*until));
        Timing { after_ms, until: until.cloned() }
    }

    /// Does something at its time.
    pub(super) fn put(&mut self, timing: &Timing, what: What, acts: &mut Vec<Act>) {
        let act = Act { after_ms: timing.after_ms, what };
        match &timing.until {
            Some(until) => self.held.push((until.clone(), act)),
            None => acts.push(act),
        }
    }

    fn answer(&mut self, method: &str, id: &Value, result: Value, acts: &mut Vec<Act>) {
        let mut message = json!({ "jsonrpc": "2.0", "id": id });
        message["result"] = result;
        let timing = self.timing(method);
        self.put(&timing, What::Say { message, about: Some(About::Request(id.clone())) }, acts);
    }

    fn fail(&mut self, method: &str, id: &Value, failure: &Failure, acts: &mut Vec<Act>) {
        let mut error = json!({ "code": failure.code, "message": failure.message });
        if let Some(data) = &failure.data {
            error["data"] = data.clone();
        }
        let message = json!({ "jsonrpc": "2.0", "id": id, "error": error });
        let timing = self.timing(method);
        self.put(&timing, What::Say { message, about: Some(About::Request(id.clone())) }, acts);
    }

    fn cancel(&mut self, id: &Value, acts: &mut Vec<Act>) {
        let error = json!({ "code": code::REQUEST_CANCELLED, "message": "the request was cancelled" });
        let instead = json!({ "jsonrpc": "2.0", "id": id, "error": error });
        self.take_back(&About::Request(id.clone()), Some(instead), acts);
    }

    /// Takes back what is about this and was not said yet.
    pub(super) fn take_back(&mut self, about: &About, instead: Option<Value>, acts: &mut Vec<Act>) {
        let before = self.held.len();
        self.held.retain(|(_, act)| !matches!(&act.what, What::Say { about: Some(other), .. } if other == about));
        if self.held.len() == before {
            acts.push(Act::now(What::TakeBack { about: about.clone(), instead }));
        } else if let Some(instead) = instead {
            acts.push(Act::say(instead));
        }
    }

    /// Asks the client something.
    pub(super) fn ask(&mut self, method: &str, params: &Value, awaited: Awaited, acts: &mut Vec<Act>) {
        self.asked += 1;
        let id = format!("fake-{}", self.asked);
        self.awaited.insert(id.clone(), awaited);
        let mut message = json!({ "jsonrpc": "2.0", "id": id, "method": method });
        if !params.is_null() {
            message["params"] = params.clone();
        }
        let timing = self.timing(method);
        self.put(&timing, What::Say { message, about: None }, acts);
    }

    /// Takes an answer of the client's.
    fn answered(&mut self, message: &Value) -> Vec<Act> {
        let mut acts = Vec::new();
        let awaited = message["id"].as_str().and_then(|id| self.awaited.remove(id));
        if let Some(Awaited::Command(id)) = awaited {
            let applied = message["result"]["applied"] == true;
            self.answer("workspace/executeCommand", &id, json!({ "applied": applied }), &mut acts);
        }
        acts
    }

    fn greet(&mut self, acts: &mut Vec<Act>) {
        let mut registrations = Vec::new();
        if self.script.diagnostics.registers && self.pulls() {
            registrations.push(json!({
                "id": "diagnostics", "method": "textDocument/diagnostic", "registerOptions": self.pull_options(),
            }));
        }
        if self.script.watches {
            let options = json!({ "watchers": [{ "globPattern": "**/*" }] });
            registrations.push(json!({
                "id": "watched", "method": "workspace/didChangeWatchedFiles", "registerOptions": options,
            }));
        }
        if !registrations.is_empty() {
            let params = json!({ "registrations": registrations });
            self.ask("client/registerCapability", &params, Awaited::Nothing, acts);
        }
        for (method, params) in trouble::questions(&self.script.asks) {
            self.ask(&method, &params, Awaited::Nothing, acts);
        }
    }

    fn opened(&mut self, params: &Value, acts: &mut Vec<Act>) {
        let document = &params["textDocument"];
        let Some(uri) = document["uri"].as_str() else { return };
        let known = self.files.entry(uri.to_owned()).or_default();
        let text = text_of(document["text"].as_str().unwrap_or_default());
        // One that takes no changes goes by the disk.
        let text = if self.script.sync == Sync::None { known.disk.clone().unwrap_or(text) } else { text };
        known.open = Some((document["version"].as_i64().unwrap_or_default(), text));
        self.check(uri, super::checks::Cause::Opened, acts);
    }

    fn changed(&mut self, params: &Value, acts: &mut Vec<Act>) {
        let document = &params["textDocument"];
        let Some(uri) = document["uri"].as_str() else { return };
        let Some((version, text)) = self.files.get_mut(uri).and_then(|known| known.open.as_mut()) else { return };
        *version = document["version"].as_i64().unwrap_or(*version + 1);
        for change in params["contentChanges"].as_array().into_iter().flatten() {
            let new_text = change["text"].as_str().unwrap_or_default();
            match range_of(&change["range"]) {
                Some(range) => {
                    let edit = TextEdit { range, new_text: new_text.to_owned() };
                    let (splice, _) = text.splice_of(&edit, self.encoding);
                    text.splice(&splice);
                }
                None => *text = text_of(new_text),
            }
        }
        self.check(uri, super::checks::Cause::Changed, acts);
    }

    fn saved(&mut self, params: &Value, acts: &mut Vec<Act>) {
        let Some(uri) = params["textDocument"]["uri"].as_str() else { return };
        let Some(known) = self.files.get_mut(uri) else { return };
        if let Some(text) = params["text"].as_str() {
            known.disk = Some(text_of(text));
        }
        if let (Sync::None, Some(disk), Some((_, text))) = (self.script.sync, &known.disk, &mut known.open) {
            *text = disk.clone();
        }
        self.check(uri, super::checks::Cause::Saved, acts);
    }

    fn closed(&mut self, params: &Value, acts: &mut Vec<Act>) {
        let Some(uri) = params["textDocument"]["uri"].as_str() else { return };
        if let Some(known) = self.files.get_mut(uri) {
            known.open = None;
            if known.disk.is_none() {
                self.files.remove(uri);
            }
        }
        self.take_back(&About::Check(uri.to_owned()), None, acts);
        self.check_others("", &Timing::default(), acts);
    }

    /// A command: the client is asked for its changes, and the command is answered when the client has answered.
    fn command(&mut self, id: &Value, params: &Value, acts: &mut Vec<Act>) {
        let name = params["command"].as_str().unwrap_or_default();
        let uri = params["arguments"][0].as_str().unwrap_or_default();
        match self.command_edit(name, uri) {
            Some(Value::Null) => self.answer("workspace/executeCommand", id, Value::Null, acts),
            Some(edit) => {
                let params = json!({ "label": name, "edit": edit });
                self.ask("workspace/applyEdit", &params, Awaited::Command(id.clone()), acts);
            }
            None => {
                let message = format!("there is no command `{name}`");
                let failure = Failure { code: super::answers::INVALID, message, data: None, times: None };
                self.fail("workspace/executeCommand", id, &failure, acts);
            }
        }
    }
}

fn root_of(params: &Value) -> String {
    let root = params["rootUri"].as_str().or_else(|| params["workspaceFolders"][0]["uri"].as_str());
    root.unwrap_or_default().trim_end_matches('/').to_owned()
}

/// A range as the client sent it; `None`: there is none.
pub(super) fn range_of(value: &Value) -> Option<Range> {
    let at = |value: &Value| {
        let number = |name: &str| u32::try_from(value[name].as_u64()?).ok();
        Some(Position { line: number("line")?, character: number("character")? })
    };
    Some(Range { start: at(&value["start"])?, end: at(&value["end"])? })
}

/// An answer of the script with what stands for URIs filled in, in keys as well.
fn filled(value: &Value, uri: &str, root: &str) -> Value {
    let text = |text: &str| text.replace("${uri}", uri).replace("${root}", root);
    match value {
        Value::String(string) => Value::String(text(string)),
        Value::Array(items) => items.iter().map(|item| filled(item, uri, root)).collect(),
        Value::Object(fields) => Value::Object(
            fields.iter().map(|(key, value)| (text(key), filled(value, uri, root))).collect::<Map<_, _>>(),
        ),
        other => other.clone(),
    }
}
