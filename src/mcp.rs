//! Client of MCP servers: their tools join ours, each with its whole schema, and what consent to it is bound to.
//!
//! Which servers there are (`specs`) is worked out from the user's settings and the files of trusted folders. A server
//! is started when a list, a search or a call needs it (`server`), over pipes of our own (`frames`) or HTTP (`http`);
//! what is under way with it is on its `desk`, so that its calls run side by side. What it says is bounded and cleaned
//! (`clean`, `lists`, `content`) before anybody sees it. *Invariants:* nothing of a folder that is not trusted is read
//! or started; what a project names is started only once a person has seen the very command; one server's failure is
//! its own.

mod asks;
mod clean;
mod client;
mod content;
mod desk;
mod expand;
mod frames;
mod http;
mod link;
mod lists;
mod names;
mod restarts;
mod server;
mod specs;
mod tool;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use futures_util::future::join_all;
use tracing::{info, warn};

use crate::config::Settings;
use crate::editor::{ApproveCall, ApproveParams, Consent, Risk};
use crate::permissions::{Rule, Trust, visible};
use crate::process::Programs;
use crate::sessions::Session;
use crate::sessions::requests::McpStatus;
use crate::tool::AnyTool;
use crate::workspace::{Workspace, paths};

use asks::Asks;
use link::World;
use server::{Server, State};
use specs::{Broken, FILES, Found, LONGEST_FILE, Origin, Sources, Spec, specs};

pub use names::meant;

/// A list waits at most so long for servers whose tools are in it.
pub const LIST_PATIENCE: Duration = Duration::from_secs(2);

/// A search of tools waits at most so long for servers that start.
pub const SEARCH_PATIENCE: Duration = Duration::from_secs(8);

/// A call that may mean a tool which is not there yet waits at most so long for servers that start.
pub const CALL_PATIENCE: Duration = Duration::from_secs(20);

/// A program may take so long to end when it is asked to.
const GRACE: Duration = Duration::from_secs(1);

/// At most so many tools of all servers together join.
const MOST_TOOLS: usize = 2000;

/// Why a project's server is not started.
const NOBODY: &str = "a project names it, and there is nobody who could be asked whether it may be started";

/// The same, where somebody was asked.
const NO: &str = "a person said that it may not be started";

/// Who hears of it when the tools are others.
type Listener = Box<dyn Fn() + Send + Sync>;

/// A tool that joins, the rule for its calls, and what tells it from another of its name.
pub type Joining = (Arc<dyn AnyTool>, Rule, String);

#[derive(Default)]
struct Known {
    servers: BTreeMap<String, Arc<Server>>,
    broken: Vec<Broken>,
    /// What a person said of a project's server, by what they were shown.
    said: BTreeMap<String, bool>,
    folders: Vec<(String, String)>,
}

/// All servers.
pub struct Mcp {
    me: Weak<Mcp>,
    workspace: Arc<Workspace>,
    trust: Arc<Trust>,
    programs: Arc<dyn Programs>,
    variable: fn(&str) -> Option<String>,
    known: Arc<Mutex<Known>>,
    listener: OnceLock<Listener>,
    /// One look at the settings at a time.
    looking: tokio::sync::Mutex<()>,
}

impl Drop for Mcp {
    fn drop(&mut self) {
        self.lock().servers.values().for_each(|server| server.forget());
    }
}

impl Mcp {
    /// No servers yet. `variable`: the environment.
    pub fn new(
        workspace: Arc<Workspace>,
        trust: Arc<Trust>,
        programs: Arc<dyn Programs>,
        variable: fn(&str) -> Option<String>,
    ) -> Arc<Mcp> {
        Arc::new_cyclic(|me| Mcp {
            me: Weak::clone(me),
            workspace,
            trust,
            programs,
            variable,
            known: Arc::default(),
            listener: OnceLock::new(),
            looking: tokio::sync::Mutex::default(),
        })
    }

    /// Whoever hears of it when the tools are others; the first one stays.
    pub fn listen(&self, listener: Listener) {
        let _ = self.listener.set(listener);
    }

    /// Whether a look would find nothing, as the last one did: no settings, and no folder that is trusted.
    pub fn unused(&self) -> bool {
        let (settings, roots) = (self.workspace.settings(), self.workspace.roots());
        let nothing = {
            let known = self.lock();
            known.servers.is_empty() && known.broken.is_empty()
        };
        let trusted = || roots.folders.iter().any(|folder| self.trust.covers(folder));
        nothing && settings.mcp.servers.is_empty() && !(settings.mcp.project && trusted())
    }

    /// Looks at the settings, the folders and their files anew: servers that are new, or others, or gone. Comes back
    /// when it has looked, and answers whether the tools are others; starts nothing.
    pub async fn look(&self) -> bool {
        let _looking = self.looking.lock().await;
        let (settings, roots) = (self.workspace.settings(), self.workspace.roots());
        let trusted: Vec<PathBuf> = roots.folders.iter().filter(|folder| self.trust.covers(folder)).cloned().collect();
        let files =
            if settings.mcp.project && !trusted.is_empty() { self.files(trusted.clone()).await } else { Vec::new() };
        let (specs, broken) = self.worked_out(&settings, roots.folders.first().map(PathBuf::as_path), &files);
        let told: Vec<(String, String)> = trusted.iter().map(|folder| told(folder)).collect();
        let (gone, new) = self.take(specs, broken, told);
        let others = new || !gone.is_empty();
        for server in gone {
            tokio::spawn(async move { server.end(GRACE).await });
        }
        others
    }

    /// The files of these folders that name servers.
    async fn files(&self, folders: Vec<PathBuf>) -> Vec<Found> {
        let disk = Arc::clone(&self.workspace.ports.disk);
        let read = tokio::task::spawn_blocking(move || {
            let mut found = Vec::new();
            for folder in folders {
                for file in FILES {
                    let path = folder.join(file);
                    let Ok(metadata) = disk.metadata(&path) else { continue };
                    let text = if metadata.len > LONGEST_FILE {
                        Err(format!("it is longer than {LONGEST_FILE} bytes"))
                    } else {
                        // A link that leads out of the folder is a file of nobody knows whom.
                        match disk.canonicalize(&path) {
                            Ok(real) if !real.starts_with(&folder) => Err("it leads out of the folder".to_owned()),
                            Ok(real) => disk
                                .read(&real)
                                .map_err(|error| error.to_string())
                                .and_then(|bytes| String::from_utf8(bytes).map_err(|_| "it is no UTF-8".to_owned())),
                            Err(error) => Err(error.to_string()),
                        }
                    };
                    found.push(Found { folder: folder.clone(), file, text });
                }
            }
            found
        });
        read.await.unwrap_or_default()
    }

    fn worked_out(&self, settings: &Settings, folder: Option<&Path>, files: &[Found]) -> (Vec<Spec>, Vec<Broken>) {
        let user = |name: &str| Ok((self.variable)(name));
        let project = |name: &str| {
            let allowed = crate::process::inherited(name) || settings.mcp.environment.iter().any(|one| one == name);
            if allowed {
                Ok((self.variable)(name))
            } else {
                Err(format!(
                    "it uses the variable {name}, which projects may use only where the user's setting \
                     `mcp.environment` names it"
                ))
            }
        };
        specs(&Sources { settings: &settings.mcp, files, folder, user: &user, project: &project })
    }

    /// Takes over what was worked out; answers the servers that are gone, and whether there are others.
    fn take(&self, specs: Vec<Spec>, broken: Vec<Broken>, folders: Vec<(String, String)>) -> (Vec<Arc<Server>>, bool) {
        let mut known = self.lock();
        for Broken { name, origin, why } in broken.iter().filter(|broken| !known.broken.contains(broken)) {
            warn!(server = name.as_deref().unwrap_or("-"), %origin, why, "an MCP server that cannot be used");
        }
        known.broken = broken;
        let moved = known.folders != folders;
        known.folders = folders;
        let mut before = std::mem::take(&mut known.servers);
        let mut new = false;
        for spec in specs {
            let server = match before.remove(&spec.name) {
                Some(server) if server.spec == spec => server,
                other => {
                    new = true;
                    if let Some(other) = other {
                        before.insert(spec.name.clone(), other);
                    }
                    self.made(spec.clone())
                }
            };
            known.servers.insert(spec.name, server);
        }
        if moved {
            let ready = known.servers.values().filter_map(|server| match server.state() {
                State::Ready(link) => Some(link),
                _ => None,
            });
            for link in ready {
                tokio::spawn(async move { link.folders_changed().await });
            }
        }
        (before.into_values().collect(), new)
    }

    fn made(&self, spec: Spec) -> Arc<Server> {
        let known = Arc::downgrade(&self.known);
        let world = World {
            programs: Arc::clone(&self.programs),
            editor: Arc::clone(&self.workspace.editor),
            folders: Arc::new(move || known.upgrade().map(|known| lock(&known).folders.clone()).unwrap_or_default()),
        };
        let me = Weak::clone(&self.me);
        let changed = Box::new(move || {
            if let Some(me) = me.upgrade() {
                me.tell();
            }
        });
        Server::new(spec, world, changed)
    }

    fn tell(&self) {
        if let Some(listener) = self.listener.get() {
            listener();
        }
    }

    /// The servers, sorted by name.
    fn servers(&self) -> Vec<Arc<Server>> {
        self.lock().servers.values().cloned().collect()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.lock().servers.is_empty()
    }

    /// Whether a list has tools of servers that are not known to be there, or not to be.
    pub fn in_list(&self, include_deferred: bool) -> bool {
        let open = |server: &Arc<Server>| matches!(server.state(), State::Idle | State::Starting);
        self.servers().iter().any(|server| (include_deferred || !server.spec.deferred) && open(server))
    }

    /// A session needs the servers: all, or (`listed`) those whose tools are in every list. They start beside whoever
    /// says so; a person is asked about those that a project names.
    pub fn want(&self, session: &Arc<Session>, listed: bool) {
        for server in self.servers().into_iter().filter(|server| !listed || !server.spec.deferred) {
            if !server.spec.asks() || self.allowed(&server, session) {
                server.want();
            }
        }
    }

    /// Whether a project's server may be started. Where nobody has said, a person is asked beside this.
    fn allowed(&self, server: &Arc<Server>, session: &Arc<Session>) -> bool {
        let like = consent(&server.spec);
        if let Some(said) = self.lock().said.get(&like).copied() {
            server.allow(said);
            if !said {
                server.set(State::Refused(NO.to_owned()));
            }
            return said;
        }
        if session.granted(&like) {
            self.lock().said.insert(like, true);
            server.allow(true);
            return true;
        }
        match server.state() {
            State::Idle => {}
            State::Refused(why) if why == NOBODY => {}
            _ => return false,
        }
        if !self.workspace.editor.can_approve() {
            server.set(State::Refused(NOBODY.to_owned()));
            return false;
        }
        server.set(State::Asked);
        let (me, server, session) = (Weak::clone(&self.me), Arc::clone(server), Arc::clone(session));
        tokio::spawn(async move {
            if let Some(me) = me.upgrade() {
                me.ask(&server, &session, like).await;
            }
        });
        false
    }

    async fn ask(&self, server: &Server, session: &Session, like: String) {
        let spec = &server.spec;
        let id = format!("mcp {}", spec.name);
        let targets = vec![visible(&spec.identity()), visible(&spec.origin.to_string())];
        let known = session
            .remembered()
            .into_iter()
            .any(|one| one.tool == id && !targets.iter().all(|line| one.targets.contains(line)));
        let reason = if known {
            "the project names an MCP server that is not what was allowed before; it would be started"
        } else {
            "the project names an MCP server, which would be started"
        };
        let question = ApproveParams {
            session_id: session.id.clone(),
            calls: vec![ApproveCall {
                call_id: id.clone(),
                name: asks::NAME.to_owned(),
                arguments: serde_json::json!({ "action": "start", "server": spec.name }),
                targets: targets.clone(),
                diff: None,
                reason: reason.to_owned(),
                risk: Risk::High,
                suggested_rule: None,
            }],
        };
        let answer = self.workspace.editor.approve(question).await;
        let decision = answer.ok().and_then(|answer| answer.decisions.into_iter().find(|one| one.call_id == id));
        let Some(decision) = decision.map(|decision| decision.decision) else {
            server.set(State::Refused("nobody said whether it may be started".to_owned()));
            return;
        };
        let yes = decision != Consent::Deny;
        info!(server = spec.name, yes, "a person was asked about a project's MCP server");
        if matches!(decision, Consent::Session | Consent::Always) {
            session.grant(&like, decision == Consent::Always, &id, &targets);
        }
        self.lock().said.insert(like, yes);
        server.allow(yes);
        if yes {
            server.want();
        } else {
            server.set(State::Refused(NO.to_owned()));
        }
    }

    /// Comes back when no server starts any more that began to less than this time ago.
    pub async fn settled(&self, patience: Duration) {
        let servers = self.servers();
        join_all(servers.iter().map(|server| server.settled(patience))).await;
    }

    /// The tools of all servers, sorted by server and name, and ours about servers.
    pub fn tools(&self) -> Vec<Joining> {
        let servers = self.servers();
        if servers.is_empty() {
            return Vec::new();
        }
        let names = servers.iter().map(|server| server.spec.name.clone()).collect();
        let asks = Asks::new(Weak::clone(&self.me), names, servers.iter().all(|server| server.spec.deferred));
        let identity = asks.identity();
        let mut tools: Vec<Joining> = vec![(Arc::new(asks), Asks::RULE, identity)];
        let mut taken = BTreeSet::new();
        for tool in servers.iter().flat_map(Server::tools) {
            if tools.len() >= MOST_TOOLS {
                warn!(MOST_TOOLS, "MCP servers have more tools than are taken");
                break;
            }
            if taken.insert(tool.traits().name.to_owned()) {
                let (rule, identity) = (tool.rule(), tool.identity());
                tools.push((Arc::new(tool), rule, identity));
            }
        }
        tools
    }

    /// How the servers do, sorted by name; then what cannot be used.
    pub fn status(&self) -> Vec<McpStatus> {
        let mut all: Vec<McpStatus> = self
            .servers()
            .iter()
            .map(|server| {
                let (state, detail) = server.told();
                McpStatus {
                    name: Some(server.spec.name.clone()),
                    from: server.spec.origin.to_string(),
                    state: state.to_owned(),
                    detail,
                    tools: server.declared().len(),
                }
            })
            .collect();
        all.extend(self.lock().broken.iter().map(|Broken { name, origin, why }| McpStatus {
            name: name.clone(),
            from: origin.to_string(),
            state: "broken".to_owned(),
            detail: Some(why.clone()),
            tools: 0,
        }));
        all
    }

    /// Ends all servers; comes back when they have ended.
    pub async fn end(&self) {
        let servers = std::mem::take(&mut self.lock().servers);
        join_all(servers.values().map(|server| server.end(GRACE))).await;
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        lock(&self.known)
    }
}

/// What consent to start a project's server is bound to.
fn consent(spec: &Spec) -> String {
    format!(
        "start {} from {:?}",
        spec.identity(),
        match &spec.origin {
            Origin::User => None,
            Origin::Project { folder, .. } => Some(folder),
        }
    )
}

/// A folder as servers are told of it.
fn told(folder: &Path) -> (String, String) {
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    (paths::uri_of_path(folder), name)
}

fn lock(known: &Mutex<Known>) -> MutexGuard<'_, Known> {
    // Nothing that panics runs under it.
    known.lock().unwrap_or_else(PoisonError::into_inner)
}
