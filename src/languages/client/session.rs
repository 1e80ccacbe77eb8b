//! The life of one server: initialise, feed, ask, end.

use std::collections::{BTreeMap, HashMap};
use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;
use tracing::{debug, warn};

use super::answers::{Answers, Notice, Registered};
use super::capabilities::folder;
use super::capabilities::{Abilities, abilities, initialize};
use super::documents::Document;
use super::offers::Offers;
use super::pull::{Memory, Outcome, pull};
use super::stall::Stalling;
use super::unable::Unable;
use super::window::Window;
use super::{Asking, Command, Pipes, Reply, Root, ServerEvent, Sink, Unanswered, Weigh, tsserver, workspace};
use crate::languages::format::{self, Ask, Said};
use crate::languages::known::Server;
use crate::languages::settle::Rev;
use crate::ports::Clock;
use crate::process::Child;
use crate::rpc::{OnItsWay, Peer, Unsent};
use crate::workspace::Key;

/// How long `initialize` may take.
const INITIALIZE: Duration = Duration::from_mins(1);

/// So long after the last change the diagnostics are asked for when nobody waits for them.
const IDLE: Duration = Duration::from_millis(150);

/// How long an ending process may take to tell how it ended.
const EXIT: Duration = Duration::from_millis(500);

/// How long a process may take to go when it is asked to.
const GRACE: Duration = Duration::from_secs(1);

/// How often it is looked how much memory it takes.
const WEIGH: Duration = Duration::from_secs(10);
/// So many changes of files are kept for a server that has not said yet that it wants to hear of them; the newest.
const MISSED: usize = 1024;

/// Talks to one server until it is gone.
pub(super) async fn run(
    starting: impl Future<Output = Result<Pipes, String>> + Send,
    server: Arc<Server>,
    root: Option<Root>,
    clock: Arc<dyn Clock>,
    sink: Sink,
    mut commands: mpsc::UnboundedReceiver<(Command, OnItsWay)>,
    unsent: Unsent,
) {
    let pipes = match starting.await {
        Ok(pipes) => pipes,
        Err(why) => return sink(ServerEvent::Ended { why, stderr: String::new() }),
    };
    let _weighing = pipes.memory.map(|weigh| weighing(weigh, Arc::clone(&clock), Arc::clone(&sink)));
    let (notices, mut noticed) = mpsc::unbounded_channel();
    let registered = Arc::new(Mutex::new(Registered::of(root.as_ref())));
    let muted = Arc::new(AtomicBool::new(false));
    let unable = Arc::new(Unable::default());
    let (offers, window) = (Arc::new(Offers::default()), Arc::new(Window::default()));
    let answers = Answers {
        server: Arc::clone(&server),
        registered: Arc::clone(&registered),
        sink: Arc::clone(&sink),
        muted: Arc::clone(&muted),
        unable: Arc::clone(&unable),
        offers: Arc::clone(&offers),
        window: Arc::clone(&window),
        notices,
    };
    let writer = Stalling::new(pipes.writer, Arc::clone(&clock));
    let peer = Peer::start_counted(pipes.reader, writer, Arc::clone(&clock), unsent, |_| answers);
    let mut queued = Vec::new();
    let greeting = greet(&peer, &server, root.as_ref(), Arc::clone(&offers));
    tokio::pin!(greeting);
    // Commands wait while the server starts, except the one to end it.
    let greeted = loop {
        tokio::select! {
            greeted = &mut greeting => break greeted,
            command = commands.recv() => match command {
                Some((Command::Shutdown(_), _)) | None => break Err("was ended while it started".to_owned()),
                Some(command) => queued.push(command),
            },
        }
    };
    let why = match greeted {
        Err(why) => why,
        Ok(abilities) => {
            if let Some(pull) = abilities.pull.clone() {
                lock(&registered).since_the_start(pull);
            }
            let (encoding, changes, folders) = (abilities.encoding, abilities.changes, abilities.folders);
            sink(ServerEvent::Ready { encoding, changes, folders });
            sink(ServerEvent::Pulls(lock(&registered).pulls()));
            let mut session = Session {
                peer: peer.clone(),
                clock: Arc::clone(&clock),
                sink: Arc::clone(&sink),
                abilities,
                tsserver: server.tsserver,
                muted,
                unable,
                offers,
                window,
                registered,
                documents: HashMap::new(),
                texts: 0,
                pulls: JoinSet::new(),
                workspace: JoinSet::new(),
                missed: Vec::new(),
            };
            for (command, _on_its_way) in queued {
                session.obey(command);
            }
            session.serve(&mut commands, &mut noticed).await
        }
    };
    let (exit, stderr) = end(&peer, pipes.child, &*clock).await;
    sink(ServerEvent::Ended { why: exit.unwrap_or(why), stderr });
}

/// Tells now and then how much memory the server takes, until it is dropped.
fn weighing(weigh: Weigh, clock: Arc<dyn Clock>, sink: Sink) -> AbortOnDropHandle<()> {
    AbortOnDropHandle::new(tokio::spawn(async move {
        loop {
            clock.sleep(WEIGH).await;
            let weigh = Arc::clone(&weigh);
            if let Ok(Some(bytes)) = tokio::task::spawn_blocking(move || weigh()).await {
                sink(ServerEvent::Memory(bytes));
            }
        }
    }))
}

/// `initialize` and `initialized`; the error says why the server is of no use.
fn greet(
    peer: &Peer,
    server: &Server,
    root: Option<&Root>,
    offers: Arc<Offers>,
) -> impl Future<Output = Result<Abilities, String>> + Send + use<> {
    let answer = peer.request("initialize", initialize(server, root), INITIALIZE);
    let peer = peer.clone();
    let settings = server.settings.clone();
    async move {
        let answer = answer.await.map_err(|error| format!("could not be initialised: {error}"))?;
        offers.since_the_start(&answer);
        peer.notify("initialized", json!({}));
        // Some servers wait for this one before they look at their configuration.
        peer.notify("workspace/didChangeConfiguration", json!({ "settings": settings }));
        Ok(abilities(&answer))
    }
}

/// Ends what is left of the server. How its process ended, and the end of its error stream.
async fn end(peer: &Peer, child: Option<Child>, clock: &dyn Clock) -> (Option<String>, String) {
    peer.close();
    let Some(child) = child else { return (None, String::new()) };
    let by_itself = tokio::select! {
        exit = child.exited() => Some(exit),
        () = clock.sleep(EXIT) => None,
    };
    if by_itself.is_none() {
        child.stop(GRACE);
        child.exited().await;
    }
    (by_itself.map(|exit| exit.to_string()), child.stderr())
}

fn lock(registered: &Mutex<Registered>) -> MutexGuard<'_, Registered> {
    registered.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Open {
    document: Document,
    /// The text the server can know of: the newest, unless it takes no changes and has not been told of a save.
    told: Rev,
    memory: Memory,
    /// The question that is open.
    asking: Option<AbortHandle>,
    /// How many texts of all documents had been sent when it was put.
    asked: u64,
    /// When to ask, if nobody wants to know before.
    ask_at: Option<Instant>,
}

/// What came of asking about a document: its text, and the texts of all documents when it was asked.
type Asked = (Key, Rev, BTreeMap<Key, Rev>, Outcome);

struct Session {
    peer: Peer,
    clock: Arc<dyn Clock>,
    sink: Sink,
    abilities: Abilities,
    /// See [`Server::tsserver`].
    tsserver: bool,
    muted: Arc<AtomicBool>,
    unable: Arc<Unable>,
    offers: Arc<Offers>,
    window: Arc<Window>,
    registered: Arc<Mutex<Registered>>,
    documents: HashMap<Key, Open>,
    /// How many texts of all documents it was sent.
    texts: u64,
    pulls: JoinSet<Asked>,
    /// The question about all files that is open; never more than one.
    workspace: JoinSet<workspace::Found>,
    /// Changes of files from before it wanted to hear of them.
    missed: Vec<(String, u8)>,
}

impl Session {
    /// Serves until the server is gone or shall go; why.
    async fn serve(
        &mut self,
        commands: &mut mpsc::UnboundedReceiver<(Command, OnItsWay)>,
        noticed: &mut mpsc::UnboundedReceiver<Notice>,
    ) -> String {
        loop {
            let idle = self.documents.values().filter_map(|open| open.ask_at).min();
            let idle = idle.map(|at| self.clock.sleep(at.saturating_duration_since(self.clock.now())));
            let idle = async move {
                match idle {
                    Some(sleep) => sleep.await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                command = commands.recv() => match command {
                    Some((Command::Shutdown(grace), _)) => {
                        self.shut_down(grace).await;
                        return "was ended".into();
                    }
                    Some((command, _on_its_way)) => self.obey(command),
                    None => return "was dropped".into(),
                },
                notice = noticed.recv() => match notice {
                    Some(Notice::AskAgain) => self.ask_all(),
                    Some(Notice::Watches) => {
                        let missed = std::mem::take(&mut self.missed);
                        self.obey(Command::Watched(missed));
                    }
                    Some(Notice::Closed(why)) => return format!("lost its connection: {why}"),
                    None => return "its connection is over".into(),
                },
                Some(done) = self.pulls.join_next() => match done {
                    Ok((key, rev, had, outcome)) => self.answered(key, rev, had, outcome),
                    Err(error) if error.is_cancelled() => {}
                    Err(error) => warn!(%error, "asking for diagnostics"),
                },
                Some(Ok(found)) = self.workspace.join_next() => self.found(found),
                () = idle => {
                    let now = self.clock.now();
                    let due = |open: &Open| open.ask_at.is_some_and(|at| at <= now);
                    let due: Vec<Key> =
                        self.documents.iter().filter(|(_, open)| due(open)).map(|(key, _)| key.clone()).collect();
                    for key in &due {
                        self.ask(key);
                    }
                }
            }
        }
    }

    /// `shutdown`, `exit`; the process is looked after by the caller.
    async fn shut_down(&mut self, grace: Duration) {
        self.pulls.abort_all();
        self.workspace.abort_all();
        if let Err(error) = self.peer.request("shutdown", Value::Null, grace).await {
            debug!(%error, "shutting a server down");
        }
        self.peer.notify("exit", Value::Null);
        // The notification is on the queue; the server closes its side when it has read it.
        let clock = Arc::clone(&self.clock);
        tokio::select! {
            () = self.peer.closed() => {}
            () = clock.sleep(grace) => {}
        }
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Open { key, uri, language_id, rev, text } => {
                let (document, params) = Document::open(uri, language_id, rev, &text);
                (self.sink)(ServerEvent::Sent { key: key.clone(), rev });
                self.peer.notify("textDocument/didOpen", params);
                self.texts += 1;
                let open = Open { document, told: rev, memory: Memory::new(), asking: None, asked: 0, ask_at: None };
                self.documents.insert(key.clone(), open);
                self.ask(&key);
            }
            Command::Change { key, rev, steps } => {
                let Some(open) = self.documents.get_mut(&key) else { return };
                if let Some(asking) = open.asking.take() {
                    asking.abort();
                }
                let params = open.document.change(rev, &steps, &self.abilities);
                // A server that takes no changes knows nothing of this text until it is on the disk, and what it says
                // in the meantime is not about it.
                if self.abilities.changes {
                    open.told = rev;
                    open.ask_at = Some(self.clock.now() + IDLE);
                    (self.sink)(ServerEvent::Sent { key, rev });
                    self.peer.notify("textDocument/didChange", params);
                    self.texts += 1;
                }
            }
            Command::Save(key) => {
                let Some(open) = self.documents.get_mut(&key) else { return };
                let rev = open.document.rev;
                let news = open.told != rev;
                open.told = rev;
                if news {
                    (self.sink)(ServerEvent::Sent { key: key.clone(), rev });
                }
                if let Some(with_text) = self.abilities.save {
                    self.peer.notify("textDocument/didSave", open.document.save(with_text));
                }
                if news {
                    self.ask(&key);
                }
            }
            Command::Close(key) => {
                let Some(open) = self.documents.remove(&key) else { return };
                if let Some(asking) = open.asking {
                    asking.abort();
                }
                self.peer.notify("textDocument/didClose", json!({ "textDocument": open.document.name() }));
            }
            Command::Pull(key) => {
                // One that is under way is for the text it has, since every change ends it; but what it says may depend
                // on another document that has changed meanwhile.
                if self.documents.get(&key).is_some_and(|open| open.asking.is_none() || open.asked < self.texts) {
                    self.ask(&key);
                }
            }
            Command::PullWorkspace => {
                let identifiers = lock(&self.registered).of_workspace();
                if !identifiers.is_empty() {
                    // One that is open was asked before what there is to ask about now.
                    self.workspace.abort_all();
                    self.workspace.detach_all();
                    self.workspace.spawn(workspace::ask(self.peer.clone(), identifiers));
                    (self.sink)(ServerEvent::WorkspaceAsked);
                }
            }
            Command::Watched(files) if !lock(&self.registered).watches() => {
                // A server that registers only after it has looked round would never hear of these.
                self.missed.extend(files);
                let surplus = self.missed.len().saturating_sub(MISSED);
                self.missed.drain(..surplus);
            }
            Command::Watched(files) => {
                let wanted = {
                    let registered = lock(&self.registered);
                    let wanted = files.iter().filter(|(uri, kind)| registered.wants(uri, *kind));
                    wanted.map(|(uri, kind)| json!({ "uri": uri, "type": kind })).collect::<Vec<Value>>()
                };
                if !wanted.is_empty() {
                    self.peer.notify("workspace/didChangeWatchedFiles", json!({ "changes": wanted }));
                }
            }
            Command::Folders { added, removed } => {
                lock(&self.registered).folders_changed(&added, &removed);
                let list = |roots: &[Root]| roots.iter().map(folder).collect::<Vec<Value>>();
                let event = json!({ "added": list(&added), "removed": list(&removed) });
                self.peer.notify("workspace/didChangeWorkspaceFolders", json!({ "event": event }));
            }
            Command::Format { key, ask } => self.format(&key, &ask),
            Command::Ask(asking) => self.put(&asking),
            Command::Shutdown(_) => {}
        }
    }

    /// Asks how the server would format a document, if it does that and has its newest text.
    fn format(&self, key: &Key, ask: &Ask) {
        let known = self.documents.get(key).filter(|open| open.told == open.document.rev);
        let Some(open) = known.filter(|_| self.abilities.formats) else { return ask.give(Said::No) };
        let params = json!({ "textDocument": open.document.name(), "options": ask.options });
        let answer = self.peer.request("textDocument/formatting", params, ask.deadline);
        let (text, encoding, server) = (open.document.text().clone(), self.abilities.encoding, ask.server.clone());
        ask.give_later(async move {
            match answer.await {
                Ok(answer) => format::read(answer, server, &text, encoding),
                Err(error) => Said::Failed(format!("{server}: {error}")),
            }
        });
    }

    /// Puts a question to the server, if it can be asked and has the text that it is about.
    fn put(&self, asking: &Asking) {
        let open = match &asking.about {
            None => None,
            Some(about) => match self.documents.get(&about.key) {
                None => return asking.fail(Unanswered::Gone),
                Some(open) if open.told != open.document.rev => return asking.fail(Unanswered::Unsaved),
                Some(open) if open.document.text().rope() != about.text.rope() => {
                    return asking.fail(Unanswered::Moved);
                }
                Some(open) => Some(&open.document),
            },
        };
        let named = open.map(|document| (document.language_id.as_str(), document.uri.as_str()));
        if !self.offers.can(asking.method, named, &asking.fields) {
            return asking.fail(Unanswered::Cannot(self.offers.all(named)));
        }
        let window = (asking.method == "workspace/executeCommand").then(|| Arc::clone(&self.window));
        if window.as_ref().is_some_and(|window| !window.open()) {
            return asking.fail(Unanswered::Failed("it runs another command at the moment".to_owned()));
        }
        let texts = self.documents.iter().map(|(key, open)| {
            let text = (open.document.rev, open.document.text().clone());
            (key.clone(), text)
        });
        let encoding = self.abilities.encoding;
        let answer = Reply { value: Value::Null, encoding, texts: Arc::new(texts.collect()), edits: Vec::new() };
        let mut params = asking.params(named.map(|(_, uri)| uri), open.map(Document::text), encoding);
        if let (Some((_, uri)), Some(lines)) = (named, asking.lines())
            && params["context"]["diagnostics"].as_array().is_some_and(Vec::is_empty)
        {
            params["context"]["diagnostics"] = self.offers.published(uri, lines).into();
        }
        asking.send(&self.peer, params, answer, window);
    }

    fn ask_all(&mut self) {
        let mut keys: Vec<Key> = self.documents.keys().cloned().collect();
        keys.sort();
        for key in &keys {
            self.ask(key);
        }
    }

    /// Asks for the diagnostics of a document as the server has it; a question that is open is taken back.
    fn ask(&mut self, key: &Key) {
        let had = self.documents.iter().map(|(key, open)| (key.clone(), open.told)).collect();
        let Some(open) = self.documents.get_mut(key).filter(|open| open.told == open.document.rev) else { return };
        (open.ask_at, open.asked) = (None, self.texts);
        let identifiers = lock(&self.registered).identifiers(&open.document.language_id);
        if identifiers.is_empty() && !self.tsserver {
            return;
        }
        if let Some(asking) = open.asking.take() {
            asking.abort();
        }
        let (rev, key) = (open.document.rev, key.clone());
        if self.tsserver {
            let work = tsserver::ask(self.peer.clone(), open.document.uri.clone());
            open.asking = Some(self.pulls.spawn(async move { (key, rev, had, work.await) }));
            return;
        }
        let work = pull(
            self.peer.clone(),
            Arc::clone(&self.clock),
            open.document.uri.clone(),
            identifiers,
            open.memory.clone(),
        );
        open.asking = Some(self.pulls.spawn(async move { (key, rev, had, work.await) }));
    }

    fn found(&mut self, found: workspace::Found) {
        for identifier in &found.never {
            lock(&self.registered).never_about_all(identifier.as_deref());
        }
        let reports = found.reports.into_iter().collect();
        (self.sink)(ServerEvent::Workspace { reports, whole: found.whole && found.never.is_empty() });
    }

    fn answered(&mut self, key: Key, rev: Rev, had: BTreeMap<Key, Rev>, outcome: Outcome) {
        for identifier in &outcome.never {
            lock(&self.registered).never_again(identifier.as_deref());
            (self.sink)(ServerEvent::Pulls(lock(&self.registered).pulls()));
        }
        // An answer that crossed with a change, or with the end of the document, is about a text nobody has any more.
        let Some(open) = self.documents.get_mut(&key).filter(|open| open.document.rev == rev) else { return };
        open.asking = None;
        let unable = self.unable.why(&open.document.uri).map(str::to_owned);
        match outcome.failed.clone().or(unable) {
            Some(why) => (self.sink)(ServerEvent::PullFailed { key, rev, why }),
            None if outcome.memory.is_empty() => {}
            None => {
                self.muted.store(self.tsserver, Ordering::Relaxed);
                let items = outcome.items();
                open.memory = outcome.memory;
                (self.sink)(ServerEvent::Pulled { key, rev, items, related: outcome.related, had });
            }
        }
    }
}
