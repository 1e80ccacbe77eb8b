//! A server that behaves as it is told, on the clock of the test. What it knows is simple and true: every line that
//! begins with `bad` is an error, with the line as its message.

use tokio::time::Instant;

use super::*;
use crate::rpc::code;

/// The number a server puts on what it publishes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stamps {
    Honest,
    None,
    Always(i64),
    /// It counts what it publishes.
    Own,
}

/// When a server's process ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Crash {
    Never,
    BeforeInitialize,
    /// When it is asked to initialise, each time.
    InInitialize,
    /// When it gets a changed text.
    OnChange,
    /// When it should answer about a changed text.
    InCheck,
}

/// What a server does with a list it has found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Plain,
    /// Positions below zero, fractions, no severity, a code that is a list, and something that is no diagnostic.
    Odd,
    /// Nothing of it can be read.
    Unreadable,
}

/// How a server behaves.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "they are independent habits")]
pub(super) struct Behaviour {
    pub(super) name: &'static str,
    /// How long a check takes (ms); a change begins it anew.
    pub(super) check_ms: u64,
    pub(super) pushes: bool,
    pub(super) pulls: bool,
    /// It tells that it can be asked only after its start.
    pub(super) dynamic: bool,
    pub(super) stamps: Stamps,
    /// It publishes nothing if nothing changed.
    pub(super) only_changes: bool,
    /// It reports its work, and publishes an empty list in the middle of it.
    pub(super) progress: bool,
    /// It publishes an empty list at once and the true one with the same number 100 ms later.
    pub(super) twice: bool,
    /// What it finds it finds on the disk, and publishes; asked, it has nothing to say.
    pub(super) disk: bool,
    /// It takes no changes.
    pub(super) no_changes: bool,
    /// So many questions about a text are answered with "the content was modified".
    pub(super) modified: u32,
    /// It does not know the question that it says it answers.
    pub(super) unknown: bool,
    /// It answers nothing and publishes nothing from the first change on.
    pub(super) wedged: bool,
    /// It does not answer `initialize`.
    pub(super) deaf: bool,
    /// It publishes what it knows of the text before a hundred times over, with chatter.
    pub(super) floods: bool,
    pub(super) form: Form,
    pub(super) crash: Crash,
}

/// Publishes what is true of the text it has after 5 ms, with its version.
pub(super) const HONEST: Behaviour = Behaviour {
    name: "honest",
    check_ms: 5,
    pushes: true,
    pulls: false,
    dynamic: false,
    stamps: Stamps::Honest,
    only_changes: false,
    progress: false,
    twice: false,
    disk: false,
    no_changes: false,
    modified: 0,
    unknown: false,
    wedged: false,
    deaf: false,
    floods: false,
    form: Form::Plain,
    crash: Crash::Never,
};

/// What is true of a text: the numbers and texts of its bad lines.
pub(super) fn truth(text: &str) -> Vec<(usize, &str)> {
    text.lines().enumerate().filter(|(_, line)| line.starts_with("bad")).collect()
}

fn diagnostics(text: &str, form: Form) -> Value {
    let found: Vec<(u32, &str)> =
        truth(text).into_iter().map(|(line, message)| (u32::try_from(line).unwrap(), message)).collect();
    match form {
        Form::Plain => found.into_iter().map(|(line, message)| error(line, message)).collect(),
        Form::Odd => {
            let odd = |(line, message): (u32, &str)| {
                json!({ "range": { "start": { "line": f64::from(line) + 0.5, "character": -3 } },
                    "code": [1], "codeDescription": { "href": "" }, "message": message })
            };
            found.into_iter().map(odd).collect()
        }
        Form::Unreadable => json!([null, 5]),
    }
}

enum Due {
    Check,
    Publish(Value),
    EndWork,
    Answer(Value),
}

struct Server {
    played: Played,
    habits: Behaviour,
    uri: String,
    text: String,
    version: i64,
    /// The text on the disk.
    disk: String,
    /// What was saved since, of one that takes no changes.
    saved: Option<String>,
    changes: u32,
    due: Vec<(Instant, Due)>,
    published: i64,
    last: Option<Value>,
    refused: (i64, u32),
}

/// Plays every server that is started, until the bench is gone.
pub(super) fn play(mut started: mpsc::UnboundedReceiver<(String, DuplexStream)>, habits: Vec<Behaviour>) {
    tokio::spawn(async move {
        let mut names: Vec<String> = Vec::new();
        while let Some((name, pipe)) = started.recv().await {
            let at = names.iter().position(|known| *known == name).unwrap_or_else(|| {
                names.push(name.clone());
                names.len() - 1
            });
            let played = Played { name, pipe, decoder: Decoder::new(), asked: 0 };
            tokio::spawn(run(played, habits[at % habits.len()]));
        }
    });
}

async fn run(mut played: Played, habits: Behaviour) {
    if habits.crash == Crash::BeforeInitialize {
        return;
    }
    let Some(request) = played.next().await else { return };
    if habits.deaf {
        while played.next().await.is_some() {}
        return;
    }
    if habits.crash == Crash::InInitialize {
        return;
    }
    let sync = json!({ "openClose": true, "change": u8::from(!habits.no_changes),
        "save": { "includeText": habits.no_changes } });
    let mut capabilities = json!({ "textDocumentSync": sync });
    if habits.pulls && !habits.dynamic {
        capabilities["diagnosticProvider"] = json!({});
    }
    played.reply(&request, json!({ "capabilities": capabilities })).await;
    if habits.dynamic {
        let registration = json!({ "id": "1", "method": "textDocument/diagnostic", "registerOptions": {} });
        let params = json!({ "registrations": [registration] });
        let request = json!({ "jsonrpc": "2.0", "id": "r", "method": "client/registerCapability", "params": params });
        played.send(request).await;
    }
    let server = Server {
        played,
        habits,
        uri: String::new(),
        text: String::new(),
        version: 0,
        disk: String::new(),
        saved: None,
        changes: 0,
        due: Vec::new(),
        published: 0,
        last: None,
        refused: (0, 0),
    };
    server.serve().await;
}

impl Server {
    async fn serve(mut self) {
        loop {
            let next = self.due.iter().map(|(at, _)| *at).min();
            let due = async move {
                match next {
                    Some(at) => tokio::time::sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                message = self.played.next() => match message {
                    Some(message) => if !self.hear(&message).await { return },
                    None => return,
                },
                () = due => {
                    let at = self.due.iter().position(|(at, _)| Some(*at) == next).unwrap();
                    let (_, what) = self.due.remove(at);
                    if !self.perform(what).await {
                        return;
                    }
                }
            }
        }
    }

    fn soon(&mut self, ms: u64, what: Due) {
        self.due.push((Instant::now() + Duration::from_millis(ms), what));
    }

    /// Takes a message; `false`: it ends.
    async fn hear(&mut self, message: &Value) -> bool {
        let params = &message["params"];
        match message["method"].as_str().unwrap_or_default() {
            "textDocument/didOpen" => {
                let document = &params["textDocument"];
                self.uri = document["uri"].as_str().unwrap().to_owned();
                self.take(document["text"].as_str().unwrap(), document["version"].as_i64().unwrap()).await;
                self.disk = self.text.clone();
            }
            "textDocument/didChange" => {
                if self.habits.crash == Crash::OnChange {
                    return false;
                }
                self.changes += 1;
                let text = params["contentChanges"][0]["text"].as_str().unwrap();
                self.take(text, params["textDocument"]["version"].as_i64().unwrap()).await;
            }
            "textDocument/didSave" => {
                // One that takes no changes reads the disk when it is asked.
                self.saved = params["text"].as_str().map(str::to_owned);
                self.disk = self.text.clone();
                if self.habits.disk {
                    let list = diagnostics(&self.disk, Form::Plain);
                    self.soon(self.habits.check_ms, Due::Publish(list));
                }
            }
            "textDocument/didClose" => self.due.clear(),
            "textDocument/diagnostic" if !self.mute() => {
                self.soon(if self.habits.disk { 5 } else { self.habits.check_ms }, Due::Answer(message.clone()));
            }
            "$/cancelRequest" => {
                let open = |(_, due): &(Instant, Due)| matches!(due, Due::Answer(ask) if ask["id"] == params["id"]);
                if let Some(at) = self.due.iter().position(open)
                    && let (_, Due::Answer(ask)) = self.due.remove(at)
                {
                    self.played.fail(&ask, code::REQUEST_CANCELLED, Value::Null).await;
                }
            }
            "shutdown" => self.played.reply(message, Value::Null).await,
            "exit" => return false,
            _ => {}
        }
        true
    }

    /// It says nothing any more.
    fn mute(&self) -> bool {
        self.habits.wedged && self.changes > 0
    }

    async fn take(&mut self, text: &str, version: i64) {
        let before = diagnostics(&self.text, Form::Plain);
        (self.text, self.version, self.saved) = (text.to_owned(), version, None);
        self.due.retain(|(_, due)| matches!(due, Due::Answer(_)));
        if self.habits.floods && self.changes > 0 {
            for _ in 0..100 {
                let chatter = json!({ "type": 3, "message": "still here" });
                self.played.notify("window/logMessage", chatter).await;
                self.played.publish(&self.uri, Some(version - 1), before.clone()).await;
            }
        }
        if self.habits.pushes && !self.habits.disk && !self.mute() {
            if self.habits.progress {
                self.played.progress("work", "begin").await;
                self.soon(self.habits.check_ms / 2, Due::Publish(json!([])));
            }
            if self.habits.twice {
                self.soon(1, Due::Publish(json!([])));
                self.soon(101, Due::Check);
            } else {
                self.soon(self.habits.check_ms, Due::Check);
            }
            if self.habits.progress {
                self.soon(self.habits.check_ms, Due::EndWork);
            }
        }
    }

    async fn publish(&mut self, list: Value) {
        if self.habits.only_changes && self.last.as_ref() == Some(&list) {
            return;
        }
        self.last = Some(list.clone());
        self.published += 1;
        let stamp = match self.habits.stamps {
            Stamps::Honest => Some(self.version),
            Stamps::None => None,
            Stamps::Always(number) => Some(number),
            Stamps::Own => Some(self.published),
        };
        self.played.publish(&self.uri, stamp, list).await;
    }

    /// Does what is due; `false`: it ends.
    async fn perform(&mut self, what: Due) -> bool {
        if self.habits.crash == Crash::InCheck && self.changes > 0 {
            return false;
        }
        match what {
            Due::Check => {
                let list = diagnostics(&self.text, self.habits.form);
                self.publish(list).await;
            }
            Due::Publish(list) => self.publish(list).await,
            Due::EndWork => self.played.progress("work", "end").await,
            Due::Answer(ask) if self.habits.unknown => {
                self.played.fail(&ask, code::METHOD_NOT_FOUND, Value::Null).await;
            }
            Due::Answer(ask) => {
                if self.refused.0 != self.version {
                    self.refused = (self.version, 0);
                }
                if self.changes > 0 && self.refused.1 < self.habits.modified {
                    self.refused.1 += 1;
                    self.played.fail(&ask, code::CONTENT_MODIFIED, Value::Null).await;
                    return true;
                }
                let found = if self.habits.disk {
                    json!([])
                } else {
                    diagnostics(self.saved.as_ref().unwrap_or(&self.text), self.habits.form)
                };
                self.played.reply(&ask, json!({ "kind": "full", "items": found })).await;
            }
        }
        true
    }
}

/// What is told of a text must be true of it: `texts` has the text of each version, `before` is the one that the edit
/// went into. Says "no errors" only of a text that has none; new ones are there, and were not before.
#[track_caller]
pub(super) fn assert_true(document: &DocumentReport, texts: &HashMap<i32, String>, context: &str) {
    use super::verdict::{Conclusion, conclusion};
    let Some(text) = document.version.and_then(|version| texts.get(&version)) else { return };
    let found = truth(text);
    match conclusion(document) {
        Conclusion::NoErrors => assert!(found.is_empty(), "{context}: no errors in {text:?}?\n{document:#?}"),
        Conclusion::OldErrors { unchanged } => {
            // The embedded check may see more.
            assert!(unchanged >= found.len(), "{context}: {text:?}\n{document:#?}");
        }
        Conclusion::Errors { .. } | Conclusion::Unknown => {}
    }
    for source in document.sources.iter().filter(|source| source.id != SYNTAX) {
        for problem in source.new.iter().chain(&source.present) {
            let line = problem.range.start.line as usize;
            assert!(
                found.contains(&(line, problem.message.as_str())),
                "{context}: {} in {text:?}\n{document:#?}",
                problem.message
            );
        }
    }
}
