//! An editor at work: steps go in, messages go out, and what comes back is kept for later steps. Nothing here waits for
//! longer than one message: [`Stage::begin`] does a step, [`Stage::ready`] says whether it is done, [`Stage::turn`] waits
//! for whatever comes next.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::answers::Unallowed;
use super::editor::{Act, Editor};
use super::expect::{self, Facts, Miss, content_of};
use super::link::{Incoming, Link};
use super::manner::Manner;
use super::script::Line;
use super::step::{Call, Expect, Step};
use super::values::{map_texts, merge, uri, without_times};
use crate::ports::Ports;
use crate::text::Encoding;

/// So long may the other side take to say hello.
const HELLO: Duration = Duration::from_secs(30);
/// And to get ready to leave.
const LEAVE: Duration = Duration::from_secs(10);

/// What the sidecar says of a call that needs consent where nobody can give it.
const NOBODY: &str = "nobody could be asked";

/// How an editor is set up.
#[derive(Debug, Clone, PartialEq)]
pub struct Setup {
    /// The workspace folder: a canonical path, from which paths of steps are taken.
    pub root: PathBuf,
    /// Which editor it is, unless the steps say so.
    pub manner: Manner,
    /// The settings to begin with.
    pub settings: Map<String, Value>,
    /// What it declares of ours besides.
    pub abilities: Map<String, Value>,
    /// Calls and requests that do not say so are waited for.
    pub waits: bool,
    /// Questions that nothing answers are left open, for a `reply` step; else they are denied.
    pub open_questions: bool,
    /// Results are shown without times, and with `${root}` for the folder, so that they are the same each time.
    pub repeatable: bool,
}

/// How a call or request ended.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Ended {
    /// With this result.
    Result(Value),
    /// With an error of JSON-RPC.
    Error(Value),
}

impl Ended {
    /// As one value: the result, or an object with the error.
    pub(super) fn value(&self) -> Value {
        match self {
            Ended::Result(result) => result.clone(),
            Ended::Error(error) => json!({ "error": error }),
        }
    }
}

/// What a request of ours is.
enum Pending {
    /// A call, or a request of a step, by its label.
    Labelled(String),
    /// Several calls.
    Calls(Vec<String>),
    /// A question of our own.
    Own,
}

/// How far the hello is.
enum Hello {
    /// Nothing is said yet.
    Unsaid,
    /// `initialize` is sent, by this id, and to be answered until then.
    Said(i64, Instant),
    /// It is answered.
    Heard,
    /// It will not be; why, in words that follow the name of the other side.
    Failed(String),
}

/// What a step waits for.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Wait {
    labels: Vec<String>,
    own: Vec<(Asked, i64)>,
    until: Option<(String, usize)>,
}

/// Questions of our own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    Mirror,
    Changes,
    Settle,
    Other,
}

/// What became of a step.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Done {
    /// In a few words.
    pub(super) summary: String,
    /// The calls and requests that ended with it, as results are shown: see [`Stage::shown`].
    pub(super) ended: Vec<(String, Value)>,
    /// What was expected and is not so.
    pub(super) misses: Vec<Miss>,
    /// Calls that nothing allowed.
    pub(super) unallowed: Vec<Unallowed>,
}

/// Something that came from the other side.
pub(super) enum Heard {
    /// A request or notification.
    Message(Value),
    /// A call or request of a step ended.
    Ended(String, Value),
    /// It broke the protocol: what it did, in words that follow its name.
    Fault(String),
    /// It is gone.
    Gone,
}

/// An editor at work.
pub(super) struct Stage {
    pub(super) editor: Editor,
    link: Link,
    ports: Ports,
    setup: Setup,
    hello: Hello,
    gone: bool,
    /// Nothing good can come from the other side any more.
    broken: bool,
    /// What it did first that broke the protocol.
    fault: Option<String>,
    session: Option<String>,
    calls: usize,
    pending: BTreeMap<i64, Pending>,
    answers: BTreeMap<i64, Ended>,
    ended: BTreeMap<String, Ended>,
    last: Option<String>,
    releases: Vec<Instant>,
    waited_for: BTreeMap<String, usize>,
    told_unallowed: usize,
    /// What came since somebody looked, if anybody does.
    pub(super) news: Option<Vec<Heard>>,
}

impl Stage {
    /// An editor over a connection; nothing is said yet.
    pub(super) fn new(link: Link, ports: Ports, setup: Setup) -> Stage {
        let mut editor = Editor::new(setup.manner, &setup.root, Arc::clone(&ports.disk));
        editor.answers.open = setup.open_questions;
        editor.abilities.clone_from(&setup.abilities);
        Stage {
            editor,
            link,
            ports,
            setup,
            hello: Hello::Unsaid,
            gone: false,
            broken: false,
            fault: None,
            session: None,
            calls: 0,
            pending: BTreeMap::new(),
            answers: BTreeMap::new(),
            ended: BTreeMap::new(),
            last: None,
            releases: Vec::new(),
            waited_for: BTreeMap::new(),
            told_unallowed: 0,
            news: None,
        }
    }

    /// Whether a step is one for which the other side has to be there.
    pub(super) fn needs_hello(line: &Line) -> bool {
        !matches!(line.step, Step::Editor(_) | Step::Answer(_))
    }

    /// Sends the hello, unless that is done.
    pub(super) fn hail(&mut self) {
        if !matches!(self.hello, Hello::Unsaid) {
            return;
        }
        let root = uri(&self.setup.root);
        let name = self.setup.root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let params = json!({
            "processId": null,
            "clientInfo": { "name": format!("ropewalk fake-editor ({})", self.editor.manner.name()) },
            "rootUri": root,
            "workspaceFolders": [{ "uri": root, "name": name }],
            "initializationOptions": self.setup.settings,
            "capabilities": self.editor.manner.capabilities(&self.editor.abilities),
        });
        let id = self.ask("initialize", &params);
        self.hello = Hello::Said(id, self.ports.clock.now() + HELLO);
    }

    /// What became of the hello by now; `None`: its answer is still waited for. The error says why there is none.
    pub(super) fn greeted(&mut self) -> Option<Result<(), String>> {
        if let Hello::Said(id, due) = self.hello {
            let late = self.ports.clock.now() >= due;
            self.hello = match self.answers.remove(&id) {
                Some(Ended::Result(result)) => {
                    let encoding = result.pointer("/capabilities/positionEncoding").cloned();
                    let encoding = serde_json::from_value(encoding.unwrap_or(json!("utf-16")));
                    self.editor.encoding = encoding.unwrap_or(Encoding::Utf16);
                    self.link.notify("initialized", &json!({}));
                    Hello::Heard
                }
                Some(Ended::Error(error)) => Hello::Failed(format!("did not take our `initialize`: {error}")),
                None if self.gone => Hello::Failed("is gone, and did not answer `initialize`".to_owned()),
                None if late => Hello::Failed("did not answer `initialize` in time".to_owned()),
                None => return None,
            };
            if let Hello::Failed(why) = &self.hello {
                let why = why.clone();
                self.fault(why);
                self.broken = true;
            }
        }
        match &self.hello {
            Hello::Unsaid | Hello::Said(..) => None,
            Hello::Heard => Some(Ok(())),
            Hello::Failed(why) => Some(Err(format!("the other side {why}"))),
        }
    }

    /// When the hello has to be answered, if that is waited for.
    pub(super) fn hello_due(&self) -> Option<Instant> {
        if let Hello::Said(_, due) = self.hello { Some(due) } else { None }
    }

    /// From now on the hello has to be answered by then.
    pub(super) fn hurry(&mut self, by: Instant) {
        if let Hello::Said(_, due) = &mut self.hello {
            *due = by.min(*due);
        }
    }

    /// Says hello, unless that is done, and waits for the answer.
    async fn greet(&mut self) -> Result<(), String> {
        self.hail();
        loop {
            if let Some(greeted) = self.greeted() {
                return greeted;
            }
            self.turn_until(self.hello_due()).await;
        }
    }

    /// Waits for the next thing that happens, or for this moment.
    pub(super) async fn turn_until(&mut self, due: Option<Instant>) {
        let clock = Arc::clone(&self.ports.clock);
        let late = async {
            match due {
                Some(due) => clock.sleep(due.saturating_duration_since(clock.now())).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = self.turn() => {}
            () = late => {}
        }
    }

    fn ask(&mut self, method: &str, params: &Value) -> i64 {
        let id = self.link.request(method, params);
        self.pending.insert(id, Pending::Own);
        id
    }

    /// Leaves in good order: a hello that was not said is said before. The pipe to the other side is closed afterwards in
    /// any case.
    pub(super) async fn leave(&mut self) {
        let due = self.ports.clock.now() + LEAVE;
        self.hail();
        self.hurry(due);
        if self.greet().await.is_ok() && !self.gone {
            let id = self.ask("shutdown", &Value::Null);
            loop {
                if self.answers.remove(&id).is_some() {
                    self.link.notify("exit", &Value::Null);
                    break;
                }
                if self.gone {
                    break;
                }
                if self.ports.clock.now() >= due {
                    self.fault("did not answer `shutdown` in time".to_owned());
                    self.broken = true;
                    break;
                }
                self.turn_until(Some(due)).await;
            }
        }
        let left = due.saturating_duration_since(self.ports.clock.now());
        tokio::select! {
            () = self.link.close() => {}
            () = self.ports.clock.sleep(left) => {}
        }
    }

    /// Whether nothing good can come from the other side any more: it cannot be read, or does not answer.
    pub(super) fn is_broken(&self) -> bool {
        self.broken
    }

    /// What the other side did first that broke the protocol, in words that follow its name.
    pub(super) fn first_fault(&self) -> Option<&str> {
        self.fault.as_deref()
    }

    fn fault(&mut self, why: String) {
        self.fault.get_or_insert_with(|| why.clone());
        self.tell(Heard::Fault(why));
    }

    fn lose(&mut self) {
        self.gone = true;
        self.tell(Heard::Gone);
    }

    /// Whether the other side is gone.
    pub(super) fn is_gone(&self) -> bool {
        self.gone
    }

    /// Sends what the editor has to say.
    pub(super) fn act(&mut self) {
        for act in self.editor.acts() {
            match act {
                Act::Send(message) => self.link.send(&message),
                Act::ReleaseAfter(ms) => self.releases.push(self.ports.clock.now() + Duration::from_millis(ms)),
            }
        }
    }

    /// Waits for the next thing that happens, and deals with it. Nothing is lost when this is dropped.
    pub(super) async fn turn(&mut self) {
        self.act();
        if self.gone {
            return std::future::pending().await;
        }
        let now = self.ports.clock.now();
        let next = self.releases.iter().min().copied();
        let due = next.map(|due| self.ports.clock.sleep(due.saturating_duration_since(now)));
        let release = async {
            match due {
                Some(due) => due.await,
                None => std::future::pending().await,
            }
        };
        let message = tokio::select! {
            message = self.link.next() => message,
            () = release => {
                self.releases.retain(|due| Some(*due) != next);
                self.editor.release();
                self.act();
                return;
            }
        };
        match message {
            Some(Incoming::Message(message)) => self.heard(message),
            Some(Incoming::Odd(why)) => self.fault(why),
            Some(Incoming::Broken(why)) => {
                self.fault(why);
                self.broken = true;
                self.lose();
            }
            None => self.lose(),
        }
        self.act();
    }

    fn tell(&mut self, heard: Heard) {
        if let Some(news) = &mut self.news {
            news.push(heard);
        }
    }

    fn heard(&mut self, message: Value) {
        if message.get("method").is_some() {
            self.editor.hear(&message);
            return self.tell(Heard::Message(message));
        }
        let Some(pending) = message["id"].as_i64().and_then(|id| self.pending.remove(&id)) else { return };
        let ended = match message.get("error") {
            Some(error) => Ended::Error(error.clone()),
            None => Ended::Result(message["result"].clone()),
        };
        match pending {
            Pending::Own => {
                self.answers.insert(message["id"].as_i64().unwrap_or_default(), ended);
            }
            Pending::Labelled(label) => self.end(label, ended),
            Pending::Calls(labels) => {
                for (at, label) in labels.iter().enumerate() {
                    let own = match &ended {
                        Ended::Result(result) => Ended::Result(result["results"][at].clone()),
                        Ended::Error(_) => ended.clone(),
                    };
                    self.end(label.clone(), own);
                }
            }
        }
    }

    fn end(&mut self, label: String, ended: Ended) {
        let value = self.shown(&ended.value());
        self.tell(Heard::Ended(label.clone(), value));
        self.last = Some(label.clone());
        self.ended.insert(label, ended);
    }

    /// The step with the places of this run in it: `${root}` and `${rootUri}`.
    fn here(&self, step: &Step) -> Result<Step, String> {
        let (root, root_uri) = (self.setup.root.to_string_lossy().into_owned(), uri(&self.setup.root));
        let value = serde_json::to_value(step).map_err(|error| error.to_string())?;
        let value = map_texts(value, &|text| text.replace("${rootUri}", &root_uri).replace("${root}", &root));
        serde_json::from_value(value).map_err(|error| error.to_string())
    }

    /// A result as it is shown and compared: without times, and with `${root}` for the folder of this run.
    pub(super) fn shown(&self, value: &Value) -> Value {
        if !self.setup.repeatable {
            return value.clone();
        }
        let mut value = map_texts(value.clone(), &|text| self.shown_text(text));
        without_times(&mut value);
        value
    }

    /// A text as it is shown.
    pub(super) fn shown_text(&self, text: &str) -> String {
        if !self.setup.repeatable {
            return text.to_owned();
        }
        let root = self.setup.root.to_string_lossy().into_owned();
        text.replace(&uri(&self.setup.root), "${rootUri}").replace(&root, "${root}")
    }

    /// Does a step; what it waits for. The error says why it cannot be done.
    pub(super) async fn begin(&mut self, line: &Line) -> Result<Wait, String> {
        if Stage::needs_hello(line) {
            self.greet().await?;
        }
        let step = self.here(&line.step)?;
        let begun = self.begin_step(&step);
        self.act();
        begun
    }

    fn begin_step(&mut self, step: &Step) -> Result<Wait, String> {
        if let Step::Editor(behaviour) = step
            && (behaviour.manner.is_some() || !behaviour.abilities.is_empty())
            && !matches!(self.hello, Hello::Unsaid)
        {
            return Err("which editor it is, and what it can do, is said before everything else".to_owned());
        }
        let mut wait = Wait::default();
        match step {
            Step::Settings(settings) => {
                let mut all = Value::Object(self.setup.settings.clone());
                merge(&mut all, &Value::Object(settings.settings.clone()));
                self.link.notify("workspace/didChangeConfiguration", &json!({ "settings": { "ropewalk": all } }));
            }
            Step::Trust(trust) => {
                let named = trust.path.as_deref().map(|path| self.editor.path_of(path)).transpose()?;
                let folder = named.unwrap_or_else(|| self.setup.root.clone());
                self.link.notify("ropewalk/didChangeTrust", &json!({ "root": uri(&folder), "trusted": trust.trusted }));
            }
            Step::Session(session) => {
                let mut params = Value::Object(session.wishes.clone());
                params["sessionId"] = json!(session.id);
                self.session = Some(session.id.clone());
                wait.own.push((Asked::Other, self.ask("ropewalk/openSession", &params)));
            }
            Step::Call(call) => {
                let (label, mut params) = self.params_of(call);
                if let Some(session) = call.session_id.as_ref().or(self.session.as_ref()) {
                    params["sessionId"] = json!(session);
                }
                self.ended.remove(&label);
                let id = self.link.request("ropewalk/callTool", &params);
                self.pending.insert(id, Pending::Labelled(label.clone()));
                if call.wait.unwrap_or(self.setup.waits) {
                    wait.labels.push(label);
                }
            }
            Step::Calls(calls) => {
                let (labels, each): (Vec<String>, Vec<Value>) =
                    calls.calls.iter().map(|call| self.params_of(call)).unzip();
                let mut params = json!({ "calls": each });
                if let Some(session) = calls.session_id.as_ref().or(self.session.as_ref()) {
                    params["sessionId"] = json!(session);
                }
                self.ended.retain(|label, _| !labels.contains(label));
                let id = self.link.request("ropewalk/callTools", &params);
                self.pending.insert(id, Pending::Calls(labels.clone()));
                if calls.wait.unwrap_or(self.setup.waits) {
                    wait.labels = labels;
                }
            }
            Step::Await(awaited) => {
                self.known(&awaited.call)?;
                wait.labels.push(awaited.call.clone());
            }
            Step::Cancel(cancel) => {
                let mut params = json!({});
                if let Some(call) = &cancel.call {
                    self.known(call)?;
                    params["callId"] = json!(call);
                }
                if let Some(session) = &self.session {
                    params["sessionId"] = json!(session);
                }
                wait.own.push((Asked::Other, self.ask("ropewalk/cancel", &params)));
            }
            Step::Request(request) => {
                let id = self.link.request(&request.method, &request.params);
                let label = request.label.clone().unwrap_or_else(|| request.method.clone());
                self.ended.remove(&label);
                self.pending.insert(id, Pending::Labelled(label.clone()));
                if request.wait.unwrap_or(self.setup.waits) {
                    wait.labels.push(label);
                }
            }
            Step::Notify(notify) => self.link.notify(&notify.method, &notify.params),
            Step::Until(until) => {
                let before = self.waited_for.get(&until.method).copied().unwrap_or(0);
                let nth = until.nth.unwrap_or(before + 1);
                self.waited_for.insert(until.method.clone(), nth.max(before));
                wait.until = Some((until.method.clone(), nth));
            }
            Step::Settle(settle) => {
                let params = json!({ "deadlineMs": settle.deadline_ms });
                wait.own.push((Asked::Settle, self.ask("ropewalk/settle", &params)));
            }
            Step::Expect(expect) => self.ask_for(expect, &mut wait)?,
            of_the_editor => self.editor.step(of_the_editor)?,
        }
        Ok(wait)
    }

    /// A call's label and its params, but for the session.
    fn params_of(&mut self, call: &Call) -> (String, Value) {
        self.calls += 1;
        let label = call.label.clone().unwrap_or_else(|| format!("c{}", self.calls));
        let mut params = Value::Object(call.params.clone());
        params["callId"] = json!(label);
        params["name"] = json!(call.name);
        // Without arguments the sidecar takes those that streamed in before.
        if !call.arguments.is_null() {
            params["arguments"] = call.arguments.clone();
        }
        (label, params)
    }

    /// The error: there is no such call.
    fn known(&self, label: &str) -> Result<(), String> {
        let pending: BTreeSet<&str> = self
            .pending
            .values()
            .flat_map(|pending| match pending {
                Pending::Labelled(label) => std::slice::from_ref(label),
                Pending::Calls(labels) => labels.as_slice(),
                Pending::Own => &[],
            })
            .map(String::as_str)
            .collect();
        let known = self.ended.contains_key(label) || pending.contains(label);
        if known { Ok(()) } else { Err(format!("there is no call `{label}`")) }
    }

    /// Asks what an expectation has to know.
    fn ask_for(&mut self, expect: &Expect, wait: &mut Wait) -> Result<(), String> {
        let uri = expect.path.as_deref().map(|path| self.editor.uri_of(path)).transpose()?;
        if let Some(uri) = &uri
            && expect.looks_at_the_mirror(self.editor.holds_back())
            && self.editor.documents.contains_key(uri)
        {
            wait.own.push((Asked::Mirror, self.ask("ropewalk/documentText", &json!({ "uri": uri }))));
        }
        if expect.changes.is_some() || expect.proposals.is_some() {
            let mut params = json!({});
            if let Some(uri) = &uri {
                params["uri"] = json!(uri);
            }
            wait.own.push((Asked::Changes, self.ask("ropewalk/changes", &params)));
        }
        if let Some(call) = &expect.call {
            self.known(call)?;
            wait.labels.push(call.clone());
        }
        Ok(())
    }

    /// Whether what a step waits for is there.
    pub(super) fn ready(&self, wait: &Wait) -> bool {
        wait.labels.iter().all(|label| self.ended.contains_key(label))
            && wait.own.iter().all(|(_, id)| self.answers.contains_key(id))
            && wait
                .until
                .as_ref()
                .is_none_or(|(method, nth)| self.editor.answers.received.get(method).is_some_and(|count| count >= nth))
    }

    /// What became of a step, once it is ready. The error says why it went wrong.
    pub(super) fn finish(&mut self, line: &Line, wait: Wait) -> Result<Done, String> {
        let mut own = Vec::new();
        for (asked, id) in wait.own {
            match self.answers.remove(&id) {
                Some(Ended::Result(result)) => own.push((asked, result)),
                Some(Ended::Error(error)) => {
                    return Err(format!("it was answered with an error: {}", error["message"]));
                }
                None => {}
            }
        }
        let mut done = Done::default();
        match &line.step {
            Step::Expect(_) => {
                let Step::Expect(expect) = self.here(&line.step)? else { return Ok(done) };
                done.misses = self.judge(&expect, &own);
                done.summary = expect::in_words(&expect);
            }
            Step::Settle(_) => {
                if let Some((_, settled)) =
                    own.first().filter(|(asked, answer)| *asked == Asked::Settle && answer["settled"] != true)
                {
                    return Err(format!("this is still under way: {}", settled["open"]));
                }
            }
            _ => {
                done.ended = wait
                    .labels
                    .iter()
                    .filter_map(|label| Some((label.clone(), self.shown(&self.ended.get(label)?.value()))))
                    .collect();
            }
        }
        let nobody = done.ended.iter().filter_map(|(label, result)| {
            let reason = content_of(result);
            // An editor that cannot show a question is not asked one.
            let unasked = result["status"] == "denied" && reason.contains(NOBODY);
            unasked.then(|| Unallowed { call: label.clone(), reason, rule: None })
        });
        self.editor.answers.unallowed.extend(nobody);
        let all = &self.editor.answers.unallowed;
        done.unallowed = all.get(self.told_unallowed..).unwrap_or_default().to_vec();
        self.told_unallowed = all.len();
        Ok(done)
    }

    fn judge(&self, expect: &Expect, own: &[(Asked, Value)]) -> Vec<Miss> {
        let answer = |wanted: Asked| own.iter().find(|(asked, _)| *asked == wanted).map(|(_, answer)| answer);
        let uri = expect.path.as_deref().and_then(|path| self.editor.uri_of(path).ok());
        let label = expect.call.as_ref().or(self.last.as_ref());
        let result = label.and_then(|label| Some((label.as_str(), self.ended.get(label)?.value())));
        let facts = Facts {
            document: uri.as_ref().and_then(|uri| self.editor.documents.get(uri)),
            file: uri.as_ref().and_then(|uri| self.editor.file_of(uri)),
            mirror: answer(Asked::Mirror),
            changes: answer(Asked::Changes),
            result: result.as_ref().map(|(label, result)| (*label, result)),
            asked: self.editor.answers.asked(),
            received: &self.editor.answers.received,
            unallowed: &self.editor.answers.unallowed,
        };
        let mut misses = expect::judge(expect, &facts);
        for miss in &mut misses {
            for text in [&mut miss.what, &mut miss.expected, &mut miss.found].into_iter().chain(&mut miss.fix) {
                *text = self.shown_text(text);
            }
        }
        misses
    }
}
