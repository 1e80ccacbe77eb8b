//! One connection to a server, from its start to its end. Calls run side by side, and none holds anything that another
//! waits for.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CancelledNotificationParam, ClientRequest, GetPromptRequest,
    GetPromptRequestParams, ListPromptsRequest, ListResourceTemplatesRequest, ListResourcesRequest, ListToolsRequest,
    PaginatedRequestParams, ReadResourceRequest, ReadResourceRequestParams, RequestId, ServerPeerInfo,
};
use rmcp::service::{ClientInitializeError, PeerRequestOptions, ServiceError};
use rmcp::{Peer, RoleClient};
use serde_json::{Map, Value};
use tokio::sync::watch;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::client::{Client, Folders};
use super::desk::{Caller, Desk};
use super::frames::{Health, Pipes};
use super::lists::{self, List};
use super::specs::{Spec, Way};
use super::{clean, http};
use crate::editor::Editor;
use crate::process::{Child, Launch, Programs};

/// A server may take so long to start and to introduce itself: a runner may have to fetch it first.
const START: Duration = Duration::from_mins(1);

/// However often a call gives a sign of life, it takes no longer than this.
const LONGEST_CALL: Duration = Duration::from_hours(1);

/// A list has at most so many items.
const MOST_ITEMS: usize = 1000;

/// So much of what a server wrote to its error stream is told (bytes).
const STDERR: usize = 600;

/// What a server's words in an error are shown up to (bytes).
const WORDS: usize = 2000;

/// What is needed to reach a server.
#[derive(Clone)]
pub(super) struct World {
    /// Starts programs.
    pub programs: Arc<dyn Programs>,
    /// Answers what servers ask.
    pub editor: Arc<dyn Editor>,
    /// The folders that servers are told of.
    pub folders: Folders,
}

/// Why a request has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Trouble {
    /// The server answered with an error.
    #[error("{0}")]
    Refused(String),
    /// No sign of life for so long.
    #[error("no sign of life for {} ms", .0.as_millis())]
    Late(Duration),
    /// It did not get through, or its answer did not; the connection may be there all the same.
    #[error("{0}")]
    Lost(String),
    /// The connection is over.
    #[error("{0}")]
    Gone(String),
}

/// A connection. Ends, with the program, when it is dropped.
pub(super) struct Link {
    peer: Peer<RoleClient>,
    desk: Arc<Desk>,
    timeout: Duration,
    child: Option<Child>,
    health: Option<Health>,
    ended: watch::Receiver<bool>,
    end: CancellationToken,
}

impl Drop for Link {
    fn drop(&mut self) {
        self.end.cancel();
    }
}

/// Tells the server that nobody waits for an answer any more, unless there is one.
struct Unanswered {
    peer: Peer<RoleClient>,
    id: Option<RequestId>,
    why: &'static str,
}

impl Drop for Unanswered {
    fn drop(&mut self) {
        let (Some(id), Ok(runtime)) = (self.id.take(), tokio::runtime::Handle::try_current()) else { return };
        let (peer, why) = (self.peer.clone(), self.why.to_owned());
        runtime.spawn(async move {
            // An error means that the server is gone.
            let _ = peer.notify_cancelled(CancelledNotificationParam::new(Some(id), Some(why))).await;
        });
    }
}

impl Link {
    /// Starts the server, or connects to it. The error says why there is no connection, for people and models.
    pub(super) async fn open(spec: &Spec, world: &World) -> Result<Link, String> {
        let desk = Arc::new(Desk::default());
        let client = Client {
            server: spec.name.clone(),
            editor: Arc::clone(&world.editor),
            folders: Arc::clone(&world.folders),
            desk: Arc::clone(&desk),
        };
        let end = CancellationToken::new();
        let (child, health, started) = match &spec.way {
            Way::Program { program, args, env, dir } => {
                let path = world.programs.find(program, &[]);
                let path = path.ok_or_else(|| format!("there is no program {program:?} (looked for on PATH)"))?;
                let launch = Launch { program: path, args: args.clone(), dir: dir.clone(), env: env.clone() };
                let started = world.programs.start(&launch).map_err(|error| format!("{program:?}: {error}"))?;
                let (pipes, health) = Pipes::new(&spec.name, started.reader, started.writer);
                let serving = rmcp::service::serve_client_with_ct(client, pipes, end.clone());
                let serving = timeout(START, Box::pin(serving)).await;
                (started.child, Some(health), serving)
            }
            Way::Http { url, headers } => {
                let transport = http::transport(url, headers, spec.reaches_local())?;
                let serving = rmcp::service::serve_client_with_ct(client, transport, end.clone());
                (None, None, timeout(START, Box::pin(serving)).await)
            }
        };
        let why = match started {
            Ok(Ok(running)) => {
                let peer = running.peer().clone();
                let (over, ended) = watch::channel(false);
                tokio::spawn(async move {
                    // However it ended, it has ended.
                    let _ = running.waiting().await;
                    over.send_replace(true);
                });
                return Ok(Link { peer, desk, timeout: spec.timeout, child, health, ended, end });
            }
            Ok(Err(error)) => {
                let words = match &error {
                    ClientInitializeError::TransportError { error, .. } => http::words(error),
                    ClientInitializeError::JsonRpcError(error) => error.message.to_string(),
                    other => other.to_string(),
                };
                format!("it did not introduce itself: {}", clean::line(&words, WORDS))
            }
            Err(_) => format!("it did not introduce itself within {} s", START.as_secs()),
        };
        let said = epilogue(child.as_ref(), health.as_ref()).await;
        Err(format!("{why}{said}"))
    }

    /// What the server said of itself.
    pub(super) fn info(&self) -> Option<Arc<ServerPeerInfo>> {
        self.peer.peer_info()
    }

    /// What it says that it has.
    pub(super) fn capabilities(&self) -> Value {
        let info = self.info();
        let mut all = info.as_deref().and_then(|info| serde_json::to_value(info).ok()).unwrap_or_default();
        all["capabilities"].take()
    }

    /// What it says that it is to be used for, cleaned, at most so many bytes.
    pub(super) fn instructions(&self, most: usize) -> Option<String> {
        let all = serde_json::to_value(self.info().as_deref()?).ok()?;
        all["instructions"].as_str().map(|text| clean::words(text, most)).filter(|text| !text.is_empty())
    }

    /// Hears of it when the tools are others.
    pub(super) fn tools_changed(&self) -> watch::Receiver<u64> {
        self.desk.tools()
    }

    /// Whether it is over.
    pub(super) fn over(&self) -> bool {
        *self.ended.borrow()
    }

    /// Comes back when it is over.
    pub(super) async fn ended(&self) {
        let mut ended = self.ended.clone();
        // An error means the same.
        let _ = ended.wait_for(|ended| *ended).await;
    }

    /// Why it is over, in words.
    pub(super) async fn why(&self) -> String {
        format!("the connection ended{}", epilogue(self.child.as_ref(), self.health.as_ref()).await)
    }

    /// What is odd about what it writes, in words.
    pub(super) fn oddities(&self) -> Option<String> {
        self.health.as_ref().and_then(Health::words)
    }

    /// Ends it. The program is asked to, and ended by force after `grace`; comes back when it has ended.
    pub(super) async fn close(&self, grace: Duration) {
        self.end.cancel();
        if let Some(child) = &self.child {
            child.stop(grace);
            child.exited().await;
        }
    }

    /// The folders are others.
    pub(super) async fn folders_changed(&self) {
        // An error means that the server is gone.
        let _ = self.peer.notify_roots_list_changed().await;
    }

    /// Its tools.
    pub(super) async fn tools(&self) -> Result<List, Trouble> {
        self.list("tools", |params| ClientRequest::ListToolsRequest(ListToolsRequest::with_param(params))).await
    }

    /// Its resources.
    pub(super) async fn resources(&self) -> Result<List, Trouble> {
        let request = |params| ClientRequest::ListResourcesRequest(ListResourcesRequest::with_param(params));
        self.list("resources", request).await
    }

    /// Its templates of resources.
    pub(super) async fn templates(&self) -> Result<List, Trouble> {
        let request =
            |params| ClientRequest::ListResourceTemplatesRequest(ListResourceTemplatesRequest::with_param(params));
        self.list("resourceTemplates", request).await
    }

    /// Its prompts.
    pub(super) async fn prompts(&self) -> Result<List, Trouble> {
        let request = |params| ClientRequest::ListPromptsRequest(ListPromptsRequest::with_param(params));
        self.list("prompts", request).await
    }

    /// Calls a tool.
    pub(super) async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        caller: Caller,
    ) -> Result<Value, Trouble> {
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        self.request(ClientRequest::CallToolRequest(CallToolRequest::new(params)), Some(caller)).await
    }

    /// Reads a resource.
    pub(super) async fn read(&self, uri: &str, caller: Caller) -> Result<Value, Trouble> {
        let params = ReadResourceRequestParams::new(uri);
        self.request(ClientRequest::ReadResourceRequest(ReadResourceRequest::new(params)), Some(caller)).await
    }

    /// Fills in a prompt.
    pub(super) async fn prompt(
        &self,
        name: &str,
        arguments: Map<String, Value>,
        caller: Caller,
    ) -> Result<Value, Trouble> {
        let params = GetPromptRequestParams::new(name).with_arguments(arguments);
        self.request(ClientRequest::GetPromptRequest(GetPromptRequest::new(params)), Some(caller)).await
    }

    async fn list(
        &self,
        key: &str,
        request: impl Fn(PaginatedRequestParams) -> ClientRequest,
    ) -> Result<List, Trouble> {
        lists::all(key, MOST_ITEMS, |cursor| {
            self.request(request(PaginatedRequestParams::default().with_cursor(cursor)), None)
        })
        .await
    }

    /// Asks, and waits for as long as there are signs of life. Dropped, it tells the server that nobody waits any more.
    async fn request(&self, request: ClientRequest, caller: Option<Caller>) -> Result<Value, Trouble> {
        let sent = self.peer.send_request_with_option(request, PeerRequestOptions::no_options()).await;
        let mut handle = match sent {
            Ok(handle) => handle,
            Err(error) => return Err(self.trouble(error).await),
        };
        let claim = self.desk.claim(&handle.progress_token, caller);
        let mut unanswered =
            Unanswered { peer: self.peer.clone(), id: Some(handle.id.clone()), why: "nobody waits any more" };
        let last = Instant::now() + LONGEST_CALL;
        let mut until = Instant::now() + self.timeout;
        loop {
            tokio::select! {
                biased;
                answer = &mut handle.rx => {
                    unanswered.id = None;
                    return match answer {
                        Ok(Ok(answer)) => Ok(serde_json::to_value(answer).unwrap_or_default()),
                        Ok(Err(error)) => Err(self.trouble(error).await),
                        Err(_) => Err(self.trouble(ServiceError::TransportClosed).await),
                    };
                }
                () = claim.alive() => until = last.min(Instant::now() + self.timeout),
                () = self.desk.silent(until, self.timeout) => {
                    unanswered.why = "it took too long";
                    return Err(Trouble::Late(self.timeout));
                }
            }
        }
    }

    async fn trouble(&self, error: ServiceError) -> Trouble {
        match error {
            ServiceError::McpError(error) => {
                let data = error.data.map(|data| format!(" {}", clean::line(&data.to_string(), WORDS)));
                let words = clean::words(&error.message, WORDS);
                Trouble::Refused(format!("{words} (error {}){}", error.code.0, data.unwrap_or_default()))
            }
            // By HTTP each request has a stream of its own.
            ServiceError::TransportClosed if self.health.is_none() && !self.over() => {
                Trouble::Lost("the connection ended before its answer".to_owned())
            }
            ServiceError::TransportClosed | ServiceError::Cancelled { .. } => Trouble::Gone(self.why().await),
            ServiceError::TransportSend(fault) => Trouble::Lost(clean::line(&http::words(&fault), WORDS)),
            other => Trouble::Gone(clean::line(&other.to_string(), WORDS)),
        }
    }
}

/// How a program ended that does not answer any more, and what it wrote last, to be put behind what is said of it.
async fn epilogue(child: Option<&Child>, health: Option<&Health>) -> String {
    /// A program that closed its pipes is about to end.
    const ENDING: Duration = Duration::from_millis(500);
    let mut said = String::new();
    if let Some(child) = child {
        if let Ok(exit) = timeout(ENDING, child.exited()).await {
            let _ = write!(said, "; it {exit}");
        }
        let stderr = child.stderr();
        let from = stderr.len().saturating_sub(STDERR);
        let from = (from..=stderr.len()).find(|at| stderr.is_char_boundary(*at)).unwrap_or_default();
        let tail = clean::line(&stderr[from..], STDERR);
        if !tail.is_empty() {
            let _ = write!(said, "; the end of its error stream: {tail}");
        }
    }
    if let Some(words) = health.and_then(Health::words) {
        let _ = write!(said, "; {words}");
    }
    said
}
