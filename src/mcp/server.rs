//! The life of one server: started when it is needed, started again with back-off when it ends, and given up when it
//! does so too often. Whatever is wrong with it is its own.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::link::{Link, World};
use super::restarts::Restarts;
use super::specs::{Origin, Spec};
use super::tool::{Declared, McpTool};
use super::{clean, names};

/// A call waits at most so long for a server that starts.
const PATIENCE: Duration = Duration::from_secs(70);

/// After the server said that its tools are others, it may say so again for so long before they are fetched.
const GATHERING: Duration = Duration::from_millis(100);

/// A server's name is shown up to so many bytes.
const NAME: usize = 100;

/// How a server is doing.
#[derive(Clone)]
pub(super) enum State {
    /// Nobody has needed it yet, or it ended and nobody has since.
    Idle,
    /// A person is asked whether it may be started.
    Asked,
    /// A person said no, or there is nobody to ask.
    Refused(String),
    /// It starts.
    Starting,
    /// It is there.
    Ready(Arc<Link>),
    /// It is not, and why.
    Failed(String),
}

impl State {
    /// Whether there is nothing to wait for.
    pub(super) fn settled(&self) -> bool {
        !matches!(self, State::Starting)
    }
}

/// One server.
pub(super) struct Server {
    /// What it is.
    pub spec: Spec,
    world: World,
    state: watch::Sender<State>,
    wanted: Notify,
    tools: RwLock<Arc<Vec<Declared>>>,
    /// What is odd about its lists.
    cut: Mutex<Option<String>>,
    /// Hears of it when its tools are others.
    changed: Box<dyn Fn() + Send + Sync>,
    /// Nothing is done about it until it is wanted.
    resting: AtomicBool,
    /// It may be started.
    allowed: AtomicBool,
    /// When it began to start.
    since: Mutex<Instant>,
    end: CancellationToken,
}

impl Server {
    /// A server that nobody has needed yet. Must be called on the runtime.
    pub(super) fn new(spec: Spec, world: World, changed: Box<dyn Fn() + Send + Sync>) -> Arc<Server> {
        let allowed = AtomicBool::new(!spec.asks());
        let server = Arc::new(Server {
            spec,
            world,
            state: watch::Sender::new(State::Idle),
            wanted: Notify::new(),
            tools: RwLock::default(),
            cut: Mutex::default(),
            changed,
            resting: AtomicBool::new(true),
            allowed,
            since: Mutex::new(Instant::now()),
            end: CancellationToken::new(),
        });
        tokio::spawn(Arc::clone(&server).live());
        server
    }

    /// What it is called in front of a model.
    pub(super) fn source(&self) -> String {
        format!("MCP server {}", clean::line(&self.spec.name, NAME))
    }

    /// How it is doing.
    pub(super) fn state(&self) -> State {
        self.state.borrow().clone()
    }

    /// It is doing like this, which only those say who ask about it before it is started.
    pub(super) fn set(&self, state: State) {
        self.state.send_if_modified(|now| {
            let before = matches!(now, State::Idle | State::Asked | State::Refused(_));
            if before {
                *now = state;
            }
            before
        });
    }

    /// A person said whether it may be started.
    pub(super) fn allow(&self, yes: bool) {
        self.allowed.store(yes, Ordering::Release);
    }

    /// It is needed. One that may not be started is not.
    pub(super) fn want(&self) {
        if !self.allowed.load(Ordering::Acquire) {
            return;
        }
        let resting = self.resting.load(Ordering::Acquire);
        let start = self.state.send_if_modified(|now| {
            let start = match now {
                State::Idle | State::Asked | State::Refused(_) => true,
                State::Failed(_) => resting,
                State::Starting | State::Ready(_) => false,
            };
            if start {
                *now = State::Starting;
                *self.since.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
            }
            start
        });
        if start {
            self.wanted.notify_one();
        }
    }

    /// Comes back when there is nothing to wait for any more, or this time is over since it began to start.
    pub(super) async fn settled(&self, patience: Duration) {
        let until = *self.since.lock().unwrap_or_else(PoisonError::into_inner) + patience;
        let mut state = self.state.subscribe();
        // What is not there by then comes later.
        let _ = timeout_at(until, state.wait_for(State::settled)).await;
    }

    /// The connection, for which it is started where it has to be. The error says why there is none.
    pub(super) async fn link(&self) -> Result<Arc<Link>, String> {
        match self.state() {
            State::Ready(link) if !link.over() => return Ok(link),
            State::Asked => return Err("a person has yet to say whether it may be started".to_owned()),
            State::Refused(why) => return Err(why),
            _ if !self.allowed.load(Ordering::Acquire) => {
                return Err("a project names it, and nobody has said yet that it may be started".to_owned());
            }
            State::Ready(_) | State::Idle | State::Starting | State::Failed(_) => self.want(),
        }
        let mut state = self.state.subscribe();
        let found = state.wait_for(|state| match state {
            State::Ready(link) => !link.over(),
            State::Failed(_) | State::Refused(_) => true,
            State::Idle | State::Asked | State::Starting => false,
        });
        match timeout(PATIENCE, found).await {
            Ok(Ok(state)) => match &*state {
                State::Ready(link) => Ok(Arc::clone(link)),
                State::Failed(why) | State::Refused(why) => Err(why.clone()),
                State::Idle | State::Asked | State::Starting => Err("it is not there yet".to_owned()),
            },
            Ok(Err(_)) => Err("it is gone".to_owned()),
            Err(_) => Err(format!("it did not start within {} s", PATIENCE.as_secs())),
        }
    }

    /// How it is doing, in a word, and what there is to say of that.
    pub(super) fn told(&self) -> (&'static str, Option<String>) {
        match self.state() {
            State::Idle => ("idle", None),
            State::Asked => ("asked", Some("a person has yet to say whether it may be started".to_owned())),
            State::Refused(why) => ("refused", Some(why)),
            State::Starting => ("starting", None),
            State::Ready(_) => ("ready", self.oddities()),
            State::Failed(why) => ("failed", Some(why)),
        }
    }

    /// Its tools, by the names that it gives them, as they were listed last.
    pub(super) fn declared(&self) -> Arc<Vec<Declared>> {
        Arc::clone(&self.tools.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether it has this very tool.
    pub(super) fn declares(&self, tool: &Declared) -> bool {
        self.declared().iter().any(|declared| declared.own == tool.own && declared.identity == tool.identity)
    }

    /// Its tools as ours, sorted by name.
    pub(super) fn tools(self: &Arc<Self>) -> Vec<McpTool> {
        let declared = self.declared();
        let named = names::of_all(&self.spec.name, declared.iter().map(|tool| tool.own.as_str()));
        let mut tools: Vec<(String, Declared)> =
            named.into_iter().zip(declared.iter()).filter_map(|(name, tool)| Some((name?, tool.clone()))).collect();
        tools.sort_by(|a, b| a.0.cmp(&b.0));
        tools.into_iter().map(|(name, tool)| McpTool::new(name, tool, self)).collect()
    }

    /// What is odd about it, in words.
    pub(super) fn oddities(&self) -> Option<String> {
        let cut = self.cut.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let link = match self.state() {
            State::Ready(link) => link.oddities(),
            _ => None,
        };
        let all: Vec<String> = cut.into_iter().chain(link).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }

    /// Nobody will need it any more. Comes back at once; its program ends with what is under way with it.
    pub(super) fn forget(&self) {
        self.end.cancel();
    }

    /// It is not among the servers any more. Its program is asked to end, and ended by force after `grace`.
    pub(super) async fn end(&self, grace: Duration) {
        self.end.cancel();
        let last = self.state.send_replace(State::Refused("it is not among the settings any more".to_owned()));
        if let State::Ready(link) = last {
            link.close(grace).await;
        }
    }

    async fn live(self: Arc<Self>) {
        let (mut restarts, mut last) = (Restarts::default(), String::new());
        loop {
            self.resting.store(true, Ordering::Release);
            tokio::select! {
                () = self.end.cancelled() => return,
                () = self.wanted.notified() => {}
            }
            self.resting.store(false, Ordering::Release);
            if restarts.exhausted(Instant::now()) {
                self.become_(State::Failed(last.clone()));
                continue;
            }
            tokio::select! {
                () = self.end.cancelled() => return,
                why = self.tried(&mut restarts) => last = why,
            }
        }
    }

    /// Starts it, again and again for as long as it was there each time; answers why it is not there any more.
    async fn tried(&self, restarts: &mut Restarts) -> String {
        let name = &self.spec.name;
        loop {
            self.become_(State::Starting);
            let (why, was_there) = match self.open().await {
                Ok(link) => {
                    info!(server = name, "an MCP server is there");
                    (self.serve(&link).await, true)
                }
                Err(why) => (why, false),
            };
            warn!(server = name, why, "an MCP server is not there");
            match restarts.ended(Instant::now()) {
                None => {
                    let why = format!("{why}; it ended too often and is not started again for now");
                    self.become_(State::Failed(why.clone()));
                    return why;
                }
                // Those who call it meanwhile wait for it.
                Some(after) if was_there => {
                    self.become_(State::Starting);
                    sleep(after).await;
                }
                // One that was never there is tried again when it is needed, and not at once.
                Some(after) => {
                    self.become_(State::Failed(why.clone()));
                    sleep(after).await;
                    return why;
                }
            }
        }
    }

    fn become_(&self, state: State) {
        if !self.end.is_cancelled() {
            self.state.send_replace(state);
        }
    }

    async fn open(&self) -> Result<Arc<Link>, String> {
        let link = Arc::new(Link::open(&self.spec, &self.world).await?);
        self.list(&link).await?;
        self.become_(State::Ready(Arc::clone(&link)));
        Ok(link)
    }

    /// Looks after a connection to its end; answers why it ended.
    async fn serve(&self, link: &Link) -> String {
        let mut changed = link.tools_changed();
        loop {
            tokio::select! {
                biased;
                () = link.ended() => return link.why().await,
                heard = changed.changed() => if heard.is_err() {
                    return link.why().await;
                },
            }
            sleep(GATHERING).await;
            changed.mark_unchanged();
            if let Err(why) = self.list(link).await {
                warn!(server = self.spec.name, why, "the tools of an MCP server could not be listed again");
            }
        }
    }

    /// Fetches the tools.
    async fn list(&self, link: &Link) -> Result<(), String> {
        let has = link.capabilities();
        let list = if has["tools"].is_object() {
            link.tools().await.map_err(|trouble| format!("its tools could not be listed: {trouble}"))?
        } else {
            super::lists::List::default()
        };
        let mut odd: Vec<String> = list.cut.iter().map(|cut| format!("its tools are not all here: {cut}")).collect();
        let mut tools = Vec::new();
        for item in &list.items {
            match Declared::read(item) {
                Ok(tool) if self.spec.tools.allows(&tool.own) => tools.push(tool),
                Ok(_) => {}
                Err(why) => odd.push(format!("a tool was left out: {why}")),
            }
        }
        odd.truncate(5);
        *self.cut.lock().unwrap_or_else(PoisonError::into_inner) = (!odd.is_empty()).then(|| odd.join("; "));
        let new = {
            let mut known = self.tools.write().unwrap_or_else(PoisonError::into_inner);
            let new = **known != tools;
            *known = Arc::new(tools);
            new
        };
        if new {
            (self.changed)();
        }
        Ok(())
    }
}

impl Spec {
    /// What a person's consent to it is bound to.
    pub(super) fn identity(&self) -> String {
        format!("MCP server {}: {}", self.name, self.shown)
    }

    /// Whether it is one that a person has to allow before it is first started.
    pub(super) fn asks(&self) -> bool {
        self.origin != Origin::User
    }
}
