//! An editor at its wire, with a sidecar behind it, and everything that is looked at while both work.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ropewalk::editor::Consent;
use ropewalk::fake_editor::step::{self, Answer, Behaviour, Step as Move};
use ropewalk::fake_editor::{Manner, Model};
use ropewalk::ports::{Disk as _, MemoryDisk, Ports, Seeded, SystemClock};
use ropewalk::server::{self, ServeOptions};
use ropewalk::text::Encoding;
use serde_json::{Value, json};

use super::ledger::{self, Fault, Ledger, fault};
use super::sabotage::{Sabotage, Saboteur};
use super::texts::{self, blanks};
use super::turns::{ROUNDS, by_turns};
use super::wire::Wire;

/// The workspace folder.
pub const ROOT: &str = "/w";

/// The files that everybody works on, and one document without a file.
pub const NAMES: [&str; 6] = ["a.txt", "crlf.txt", "bare.md", "lib.rs", "sub/b.txt", "untitled:one"];

/// The name of the editor's language server.
pub const LINT: &str = "lint";

/// The sessions: one that makes its changes at once, one that proposes, one that asks, one that saves.
pub const SESSIONS: [&str; 4] = ["now", "propose", "ask", "save"];

/// What is played with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Decides the script.
    pub seed: u64,
    /// Which editor it is.
    pub manner: Manner,
    /// Changes are told as whole texts.
    pub whole: bool,
    /// A fault that is made on purpose.
    pub sabotage: Option<Sabotage>,
}

/// What was counted.
pub type Counts = BTreeMap<&'static str, u64>;

/// What a request of ours is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    /// Calls, in their order.
    Calls(Vec<String>),
    /// What is proposed is accepted: of a session, by a call.
    Accept(String, Option<String>),
    /// It is rejected.
    Reject(Option<String>),
    /// What was done is undone.
    TakeBack,
    /// The answer is looked at by whoever asked.
    Own,
}

/// An editor at its wire.
pub struct Desk {
    /// What is played with.
    pub config: Config,
    /// The editor.
    pub model: Model,
    /// The disk.
    pub disk: Arc<MemoryDisk>,
    /// The calls.
    pub ledger: Ledger,
    /// What was counted.
    pub counts: Counts,
    /// Everything that was said, and when.
    pub transcript: String,
    /// Requests without an answer.
    pub asked: BTreeMap<i64, Asked>,
    /// The undo that can be undone.
    pub undone: Option<String>,
    /// What sessions read of files, as it was then.
    pub read: BTreeMap<(&'static str, &'static str), Vec<String>>,
    /// Diagnostics, saves and news of the disk are late.
    pub late: bool,
    /// Positions count bytes.
    pub utf8: bool,
    wire: Wire,
    saboteur: Saboteur,
    answers: BTreeMap<i64, Value>,
    last_id: i64,
    waiting: Vec<Value>,
    /// The texts as they were told, with their versions.
    told: BTreeMap<String, (i64, String)>,
    /// All of them.
    history: BTreeMap<(String, i64), Vec<String>>,
    files: BTreeMap<PathBuf, Vec<u8>>,
    /// What the sidecar knew to be open when it last had nothing to do.
    open: BTreeSet<String>,
}

/// The URI of a name.
pub fn uri(name: &str) -> String {
    if name.starts_with("untitled:") { name.to_owned() } else { format!("file://{ROOT}/{name}") }
}

impl Desk {
    /// An editor that has said hello, with nothing open.
    pub async fn start(config: Config) -> Result<Desk, Fault> {
        let disk = Arc::new(
            MemoryDisk::new()
                .with_file("/w/a.txt", "one\ntwo\nthree\n\nfive  \nsix\n")
                .with_file("/w/crlf.txt", "eins\r\nzwei\r\ndrei\r\nvier\r\n")
                .with_file("/w/bare.md", "# head\n\nun deux\ntrois é 𝄞 fin")
                .with_file("/w/lib.rs", "// first\nfn one() {}\n\n// second\nfn two() {}\n")
                .with_file("/w/sub/b.txt", "b one\nb two\n"),
        );
        let ports =
            Ports { disk: disk.clone(), clock: Arc::new(SystemClock), random: Arc::new(Seeded::new(config.seed)) };
        let options = ServeOptions { repeatable: true, ..ServeOptions::default() };
        let grain = [7, 1 << 20, 100, 1 << 20][usize::try_from(config.seed % 4).expect("a rest")];
        let wire = Wire::start(grain, |input, output| server::serve(input, output, ports, options));
        let mut desk = Desk {
            config,
            model: Model::new(config.manner, Path::new(ROOT), disk.clone()),
            disk,
            ledger: Ledger::default(),
            counts: Counts::new(),
            transcript: String::new(),
            asked: BTreeMap::new(),
            undone: None,
            read: BTreeMap::new(),
            late: false,
            utf8: false,
            wire,
            saboteur: Saboteur::new(config.sabotage),
            answers: BTreeMap::new(),
            last_id: 0,
            waiting: Vec::new(),
            told: BTreeMap::new(),
            history: BTreeMap::new(),
            files: BTreeMap::new(),
            open: BTreeSet::new(),
        };
        desk.files = desk.snapshot();
        desk.greet().await?;
        Ok(desk)
    }

    async fn greet(&mut self) -> Result<(), Fault> {
        let format = if self.config.seed.is_multiple_of(3) { "onWrite" } else { "off" };
        let params = json!({
            "processId": null,
            "workspaceFolders": [{ "uri": format!("file://{ROOT}"), "name": "w" }],
            "initializationOptions": { "diagnostics": { "ownServers": "off" }, "formatter": { "mode": format } },
            "capabilities": self.model.capabilities(),
        });
        let hello = self.ask("initialize", params).await?;
        let encoding: Encoding =
            serde_json::from_value(hello["capabilities"]["positionEncoding"].clone()).unwrap_or(Encoding::Utf16);
        self.model.agree(encoding);
        self.utf8 = encoding == Encoding::Utf8;
        self.send(json!({ "jsonrpc": "2.0", "method": "initialized", "params": {} }))?;
        let yes = Answer { approve: Some(Consent::Once), ..Answer::default() };
        self.person(&Move::Answer(yes))?;
        if matches!(self.config.manner, Manner::Vscode | Manner::NeovimAdapter) {
            let rules = json!([{ "pattern": texts::ERROR, "message": "a bad word" }]);
            let rules = serde_json::from_value(rules).expect("rules");
            let lint = step::Diagnostics { path: None, source: LINT.into(), rules, items: None, version: None };
            self.person(&Move::Diagnostics(lint))?;
        }
        let wishes =
            [json!({}), json!({ "apply": "propose" }), json!({ "mode": "review" }), json!({ "save": "always" })];
        for (session, mut wish) in SESSIONS.into_iter().zip(wishes) {
            wish["sessionId"] = json!(session);
            self.ask("ropewalk/openSession", wish).await?;
        }
        Ok(())
    }

    /// Counts something.
    pub fn count(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }

    /// Writes a line into the transcript.
    pub fn note(&mut self, line: &str) {
        let _ = writeln!(self.transcript, "{line}");
    }

    /// The text of a document, or of a file that is not open.
    pub fn text(&self, uri: &str) -> Option<String> {
        if let Some((_, text)) = self.model.document(uri) {
            return Some(text);
        }
        let bytes = self.disk.bytes(uri.strip_prefix("file://")?)?;
        String::from_utf8(bytes).ok()
    }

    /// The texts of all open documents.
    fn documents(&self) -> BTreeMap<String, String> {
        let open = self.model.open().into_iter();
        open.filter_map(|uri| Some((uri.clone(), self.model.document(&uri)?.1))).collect()
    }

    /// Something happens in the editor that is not the sidecar's doing; whether it could.
    pub fn person(&mut self, step: &Move) -> Result<bool, Fault> {
        let done = self.model.step(step);
        self.files = self.snapshot();
        if let Err(why) = &done {
            self.note(&format!("  ({why})"));
        }
        self.speak()?;
        Ok(done.is_ok())
    }

    /// How the editor behaves from now on.
    pub fn behave(&mut self, behaviour: Behaviour) -> Result<(), Fault> {
        self.person(&Move::Editor(behaviour)).map(|_| ())
    }

    /// What the editor has to say goes out.
    fn speak(&mut self) -> Result<(), Fault> {
        for message in self.model.said() {
            self.send(message)?;
        }
        Ok(())
    }

    /// Sends a message, as late as it has to be.
    pub fn send(&mut self, mut message: Value) -> Result<(), Fault> {
        let method = message["method"].as_str().unwrap_or_default().to_owned();
        let late = ["ropewalk/didChangeDiagnostics", "textDocument/didSave", "workspace/didChangeWatchedFiles"];
        if self.late && late.contains(&method.as_str()) {
            self.count("late messages");
            self.waiting.push(message);
            return Ok(());
        }
        // Nothing is said of a document that is closed; and an answer says that all is told.
        let answer = method.is_empty();
        if answer || ["textDocument/didClose", "textDocument/didOpen"].contains(&method.as_str()) {
            self.tell_late();
        }
        self.follow(&method, &mut message)?;
        if self.saboteur.drops(&message) {
            return Ok(());
        }
        self.put(&message);
        Ok(())
    }

    /// Tells what was late.
    pub fn tell_late(&mut self) {
        for message in std::mem::take(&mut self.waiting) {
            self.put(&message);
        }
    }

    fn put(&mut self, message: &Value) {
        self.note(&format!("> {message}"));
        self.wire.send(message);
    }

    /// Follows what the sidecar is told of texts.
    fn follow(&mut self, method: &str, message: &mut Value) -> Result<(), Fault> {
        let document = &message["params"]["textDocument"];
        let uri = document["uri"].as_str().unwrap_or_default().to_owned();
        let version = document["version"].as_i64().unwrap_or_default();
        let text = match method {
            "textDocument/didOpen" => document["text"].as_str().unwrap_or_default().to_owned(),
            "textDocument/didChange" => {
                let Some((_, mut text)) = self.told.get(&uri).cloned() else {
                    return fault("editor", format!("{uri} changes and is not open"));
                };
                if let Err(why) = texts::change(&mut text, &message["params"]["contentChanges"], self.utf8) {
                    return fault("editor", format!("{why}: {message} in {text:?}"));
                }
                if self.config.whole {
                    message["params"]["contentChanges"] = json!([{ "text": text }]);
                }
                text
            }
            "textDocument/didClose" => {
                self.told.remove(&uri);
                return Ok(());
            }
            _ => return Ok(()),
        };
        self.history.entry((uri.clone(), version)).or_default().push(text.clone());
        self.told.insert(uri, (version, text));
        Ok(())
    }

    /// Sends a request; its id.
    pub fn request(&mut self, method: &str, params: Value, asked: Asked) -> Result<i64, Fault> {
        self.last_id += 1;
        self.asked.insert(self.last_id, asked);
        self.send(json!({ "jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params }))?;
        Ok(self.last_id)
    }

    /// Sends a request and waits for its result.
    pub async fn ask(&mut self, method: &str, params: Value) -> Result<Value, Fault> {
        let id = self.request(method, params, Asked::Own)?;
        self.meet().await?;
        self.answer(id).map_or_else(|| fault("answer", format!("none to {method}")), Ok)
    }

    /// The answer to a request, if it came.
    pub fn answer(&mut self, id: i64) -> Option<Value> {
        self.answers.remove(&id)
    }

    /// Sends everything, and lets the sidecar work, whose words wait.
    pub async fn rest_unread(&mut self) -> Result<(), Fault> {
        self.wire.flush();
        self.rest(1).await
    }

    /// Sends half of the last message, and lets the sidecar work.
    pub async fn halve(&mut self) -> Result<(), Fault> {
        self.wire.halve();
        self.rest(1).await
    }

    /// Lets the sidecar work until it has nothing to do, and so long (ms) go by.
    pub async fn rest(&mut self, ms: u64) -> Result<(), Fault> {
        // Without anything under way there is little to do.
        let rounds = if self.asked.is_empty() { 1 } else { ROUNDS };
        for _ in 0..rounds {
            by_turns().await;
        }
        tokio::time::sleep(Duration::from_millis(ms)).await;
        for _ in 0..rounds / 3 {
            by_turns().await;
        }
        self.look_at_the_disk()?;
        if self.wire.is_flushed() {
            self.open = self.told.keys().cloned().collect();
        }
        Ok(())
    }

    /// Lets both work until neither has anything to do.
    pub async fn meet(&mut self) -> Result<(), Fault> {
        for _ in 0..1000 {
            self.wire.flush();
            self.rest(1).await?;
            // What came while nobody looked is looked at in an order that no machine decides; what takes something back
            // comes last.
            let mut came: Vec<Value> = std::iter::from_fn(|| self.wire.came()).collect();
            came.sort_by_cached_key(|it| (it["method"] == "$/cancelRequest", it["id"].is_null(), it.to_string()));
            let nothing = came.is_empty();
            for message in came {
                for message in self.saboteur.hears(message) {
                    self.take(&message)?;
                }
            }
            if nothing {
                if self.wire.is_over() {
                    return fault("end", "the sidecar is gone");
                }
                return self.told_right();
            }
        }
        fault("settle", "they never have nothing to say")
    }

    /// What was told makes the texts that the editor has.
    fn told_right(&self) -> Result<(), Fault> {
        if self.model.holds_back() {
            return Ok(());
        }
        for uri in self.model.open() {
            let has = self.model.document(&uri).map(|(version, text)| (i64::from(version), text));
            if has.as_ref() != self.told.get(&uri) {
                return fault("editor", format!("{uri} is {has:?}, and was told as {:?}", self.told.get(&uri)));
            }
        }
        Ok(())
    }

    /// A message came.
    fn take(&mut self, message: &Value) -> Result<(), Fault> {
        self.note(&format!("< {message}"));
        if message.get("method").is_none() {
            return self.answered(message);
        }
        let params = &message["params"];
        let known = ledger::told(params, "", &self.history, LINT)?;
        *self.counts.entry("verdicts").or_default() += known as u64;
        match message["method"].as_str().unwrap_or_default() {
            "workspace/applyEdit" => self.apply(message)?,
            "ropewalk/format" => self.format(message)?,
            _ => {
                self.model.hear(message);
                self.files = self.snapshot();
            }
        }
        self.speak()
    }

    fn apply(&mut self, message: &Value) -> Result<(), Fault> {
        self.count("edits asked for");
        let before = self.documents();
        let disk = self.snapshot();
        self.model.hear(message);
        self.saboteur.applies(&mut self.model, self.utf8);
        let said = self.model.said();
        let closed: Vec<&Value> = said.iter().filter(|said| said["method"] == "textDocument/didClose").collect();
        let closed: Vec<&str> = closed.iter().filter_map(|it| it["params"]["textDocument"]["uri"].as_str()).collect();
        for (uri, after) in self.documents() {
            let file = || {
                let bytes = disk.get(Path::new(uri.strip_prefix("file://")?))?;
                String::from_utf8(bytes.clone()).ok()
            };
            // What the person closed is opened anew from its file.
            let kept = before.get(&uri).filter(|_| !closed.contains(&uri.as_str()));
            let Some(before) = kept.cloned().or_else(file) else { continue };
            if before != after {
                self.count("edits made");
                self.ledger.placed(&uri, &before, &after)?;
            }
        }
        said.into_iter().try_for_each(|message| self.send(message))
    }

    /// The editor's formatter removes blanks at the ends of lines.
    fn format(&mut self, message: &Value) -> Result<(), Fault> {
        self.count("formatted");
        let uri = message["params"]["uri"].as_str().unwrap_or_default();
        let mut answer = json!({ "jsonrpc": "2.0", "id": message["id"] });
        match self.model.document(uri) {
            Some((version, text)) if message["params"]["version"] == version => {
                let edits: Vec<Value> = blanks(&text)
                    .into_iter()
                    .map(|bytes| json!({ "range": texts::range(&text, bytes, self.utf8), "newText": "" }))
                    .collect();
                answer["result"] = json!({ "edits": edits });
            }
            _ => answer["error"] = json!({ "code": -32801, "message": "it is another text by now" }),
        }
        self.send(answer)
    }

    fn answered(&mut self, message: &Value) -> Result<(), Fault> {
        let Some(id) = message["id"].as_i64() else { return fault("answer", format!("to nobody: {message}")) };
        let Some(asked) = self.asked.remove(&id) else {
            return fault("answer", format!("a second one to {id}: {message}"));
        };
        let Some(result) = message.get("result") else {
            if asked == Asked::TakeBack {
                self.ledger.taking -= 1;
            }
            if let Asked::Accept(session, None) = &asked {
                *self.ledger.accepting.entry(session.clone()).or_insert(1) -= 1;
            }
            // A document without a file that is closed by now cannot be named.
            if matches!(asked, Asked::TakeBack | Asked::Own | Asked::Accept(_, None) | Asked::Reject(None)) {
                self.answers.insert(id, Value::Null);
                return Ok(());
            }
            return fault("answer", format!("{asked:?} is answered by an error: {message}"));
        };
        match &asked {
            Asked::Calls(calls) => {
                let one = [result.clone()];
                let results = result["results"].as_array().map_or(&one[..], Vec::as_slice);
                if results.len() != calls.len() {
                    return fault("answer", format!("{} answers to {calls:?}", results.len()));
                }
                for (call, result) in calls.iter().zip(results) {
                    self.ended(call, result)?;
                }
            }
            Asked::Accept(session, call) => {
                let taken = self.ledger.accepted(session, call.as_deref(), result)?;
                self.count(if taken { "accepted" } else { "accepts refused" });
                self.verdict(&result["diagnostics"], "")?;
            }
            Asked::Reject(call) => {
                self.count("rejected");
                if let Some(call) = call {
                    self.ledger.rejected(call, result);
                }
            }
            Asked::TakeBack => {
                self.ledger.taking -= 1;
                self.undone = result["undoId"].as_str().map(str::to_owned);
                self.count(if self.undone.is_some() { "taken back" } else { "not taken back" });
            }
            Asked::Own => drop(self.answers.insert(id, result.clone())),
        }
        Ok(())
    }

    fn ended(&mut self, call: &str, result: &Value) -> Result<(), Fault> {
        if result["callId"] != call {
            return fault("answer", format!("{call} is answered as {}", result["callId"]));
        }
        let state = self.ledger.ended(call, result)?;
        let changes = self.ledger.intents.get(call).is_some_and(|intent| !intent.marks.is_empty());
        let what = match (state, result["status"].as_str()) {
            _ if !changes => "calls that change nothing",
            (ledger::State::Applied, _) => "changes applied",
            (ledger::State::Partly, _) => "changes applied in part",
            (ledger::State::Unknown, _) => "changes unknown",
            (ledger::State::Proposed, _) => "changes proposed",
            (_, Some("cancelled")) => "changes cancelled",
            (_, Some("denied")) => "changes denied",
            _ => "changes refused",
        };
        self.count(what);
        let content = result["content"][0]["text"].as_str().unwrap_or_default().to_owned();
        self.verdict(&result["diagnostics"], &content)
    }

    fn verdict(&mut self, report: &Value, content: &str) -> Result<(), Fault> {
        let report = self.saboteur.reports(report.clone());
        let known = ledger::told(&report, content, &self.history, LINT)?;
        *self.counts.entry("verdicts").or_default() += known as u64;
        Ok(())
    }

    /// All files.
    fn snapshot(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        fn walk(disk: &MemoryDisk, folder: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
            for entry in disk.read_dir(folder).unwrap_or_default() {
                let path = folder.join(entry.name);
                match disk.bytes(&path) {
                    Some(bytes) => drop(files.insert(path, bytes)),
                    None => walk(disk, &path, files),
                }
            }
        }
        let mut files = BTreeMap::new();
        walk(&self.disk, Path::new("/"), &mut files);
        files
    }

    /// Whatever the sidecar wrote must be what a call may write: a file that is not open.
    fn look_at_the_disk(&mut self) -> Result<(), Fault> {
        self.saboteur.writes(&self.disk);
        let now = self.snapshot();
        let all: BTreeSet<PathBuf> = now.keys().chain(self.files.keys()).cloned().collect();
        for path in all {
            let (old, new) = (self.files.get(&path), now.get(&path));
            if old == new {
                continue;
            }
            let uri = format!("file://{}", path.display());
            let text = |bytes: Option<&Vec<u8>>| {
                bytes.map(|bytes| String::from_utf8_lossy(bytes).into_owned()).unwrap_or_default()
            };
            let (old, new) = (text(old), text(new));
            let open = self.told.contains_key(&uri) && self.open.contains(&uri);
            if open || !self.ledger.may_write(&uri) {
                return fault(
                    "disk",
                    format!("{uri} was written, and nobody saved it\nbefore: {old:?}\nafter:  {new:?}"),
                );
            }
            self.count("files written");
            self.ledger.placed(&uri, &old, &new)?;
        }
        self.files = now;
        Ok(())
    }

    /// Leaves, and is left in good order.
    pub async fn leave(mut self) -> (Self, Result<(), Fault>) {
        let asked = self.ask("shutdown", Value::Null).await.and_then(|_| {
            self.send(json!({ "jsonrpc": "2.0", "method": "exit" }))?;
            self.wire.flush();
            Ok(())
        });
        if asked.is_err() {
            return (self, asked);
        }
        for _ in 0..60 {
            tokio::time::sleep(Duration::from_secs(1)).await;
            if self.wire.is_over() {
                break;
            }
        }
        self.counts.insert("messages split", self.wire.splits);
        let over = self.wire.is_over();
        let ended = if over { Ok(()) } else { fault("end", "the sidecar does not end") };
        (self, ended)
    }
}
