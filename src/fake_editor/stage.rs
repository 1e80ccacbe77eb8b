//! An editor at work: steps go in, messages go out, and what comes back is kept for later steps. Nothing here waits for
//! longer than one message: [`Stage::begin`] does a step, [`Stage::ready`] says whether it is done, [`Stage::turn`] waits
//! for whatever comes next.

mod steps;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::answers::Unallowed;
use super::editor::{Act, Editor};
use super::expect::Miss;
use super::link::{Incoming, Link};
use super::manner::Manner;
use super::script::Line;
use super::step::Step;
use super::values::uri;
use crate::ports::Ports;
use crate::text::Encoding;

/// So long may the other side take to say hello.
const HELLO: Duration = Duration::from_secs(30);
/// And to get ready to leave.
const LEAVE: Duration = Duration::from_secs(10);

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
}
