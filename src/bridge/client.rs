//! One client of MCP: what it asks for, answered from the rooms that every call goes through.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ConstString as _, CustomRequest, CustomResult, ErrorCode, ErrorData,
    Implementation, InitializeRequestParams, InitializeResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, ProgressNotificationParam, ProgressToken, ProtocolVersion,
    ReadResourceRequestParams, ReadResourceResponse, ResourceUpdatedNotificationParam, ServerCapabilities,
    ServerConfig, SubscribeRequestParams, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, Peer, RequestContext, RoleServer};
use rmcp::{ServerHandler, ServiceExt as _};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;
use tracing::{debug, error};

use crate::dispatch::ListToolsParams;
use crate::dispatch::dialects::Dialect;
use crate::ports::Clock;
use crate::server::Rooms;

use super::answers::{Step, Steps, answer, not_begun, tool};
use super::entrance::Entrance;
use super::frames;
use super::news::{Hub, Mailbox};
use super::requests::{Admitted, Requests};
use super::resources::Shown;
use super::{pages, words};

/// How long a client may take to introduce itself.
const INTRODUCTION: Duration = Duration::from_mins(1);

/// How often a client that wants to hear of a call hears that it is still under way.
const BEAT: Duration = Duration::from_secs(10);

/// How long calls may take to end whose client has hung up.
const LAST_ANSWERS: Duration = Duration::from_secs(1);

/// How long the last words may take to leave.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// News that comes within this time comes together.
const TOGETHER: Duration = Duration::from_millis(100);

/// Who has a client, and hears what it says of itself.
#[async_trait]
pub(super) trait Host: Send + Sync + 'static {
    /// It introduced itself.
    fn met(&self, who: &InitializeRequestParams, peer: &Peer<RoleServer>);
    /// It is ready to be asked.
    async fn ready(&self, peer: &Peer<RoleServer>);
    /// Its folders are others now.
    async fn moved(&self, peer: &Peer<RoleServer>);
}

/// What a client is served from.
pub(super) struct Served {
    /// The rooms.
    pub rooms: Rooms,
    /// Where news comes from.
    pub hub: Arc<Hub>,
    /// The session of its calls.
    pub session: String,
    /// Whether there is an editor, whose documents are resources.
    pub editor: bool,
    /// Whether it is in.
    pub entrance: Entrance,
    /// Who has it.
    pub host: Arc<dyn Host>,
}

/// Serves a client until it goes, or it is told to (`end`). Its calls are cancelled then.
pub(super) async fn serve<R, W>(served: Served, input: R, output: W, end: CancellationToken)
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let clock = Arc::clone(&served.rooms.workspace.ports.clock);
    let requests = Arc::new(Requests::new(Arc::clone(&served.rooms.calls), Arc::clone(&served.hub), &served.session));
    let place = served.hub.join(&served.session);
    let (lines, writing) = frames::over(input, output, Arc::clone(&clock), Arc::clone(&requests) as Arc<_>);
    let writing = tokio::spawn(writing);
    let client = Client {
        shown: Shown { rooms: served.rooms.clone(), session: served.session.clone() },
        served,
        requests: Arc::clone(&requests),
        mailbox: Arc::clone(&place.mailbox),
        clock: Arc::clone(&clock),
    };
    let starting = async {
        tokio::select! {
            started = client.serve_with_ct(lines, end.clone()) => match started {
                Ok(running) => Some(running),
                Err(fault) => {
                    debug!(%fault, "a client of MCP that did not introduce itself");
                    None
                }
            },
            () = clock.sleep(INTRODUCTION) => None,
        }
    };
    if let Some(running) = Box::pin(starting).await {
        let peer = running.peer().clone();
        // What it asked for before it hung up is still answered, if that does not take long.
        let hung_up = async {
            requests.hung_up.cancelled().await;
            clock.sleep(LAST_ANSWERS).await;
            requests.end();
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = hung_up => {}
            _ = running.waiting() => {}
            () = tell(&peer, &place.mailbox, &*clock) => {}
        }
    }
    end.cancel();
    requests.end();
    drop(place);
    // What was said before the end is still written, if somebody reads it.
    let stop = writing.abort_handle();
    tokio::select! {
        _ = writing => {}
        () = clock.sleep(LAST_WORDS) => stop.abort(),
    }
}

/// Tells a client what is new. Never ends while the client is there.
async fn tell(peer: &Peer<RoleServer>, mailbox: &Mailbox, clock: &dyn Clock) {
    loop {
        let untold = mailbox.next().await;
        let mut told = Ok(());
        if untold.tools {
            told = told.and(peer.notify_tool_list_changed().await);
        }
        if untold.resources {
            told = told.and(peer.notify_resource_list_changed().await);
        }
        for uri in untold.updated {
            told = told.and(peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri)).await);
        }
        if let Err(fault) = told {
            debug!(%fault, "a client of MCP hears nothing any more");
        }
        clock.sleep(TOGETHER).await;
    }
}

struct Client {
    served: Served,
    shown: Shown,
    requests: Arc<Requests>,
    mailbox: Arc<Mailbox>,
    clock: Arc<dyn Clock>,
}

/// Where a call's progress is told.
struct Telling {
    token: ProgressToken,
    peer: Peer<RoleServer>,
    steps: Steps,
}

impl Telling {
    async fn tell(&self, step: Step) {
        let mut told = ProgressNotificationParam::new(self.token.clone(), step.progress);
        told.total = step.total;
        told.message = step.message;
        // A client that is gone needs no progress.
        let _ = self.peer.notify_progress(told).await;
    }
}

fn cancelled() -> ErrorData {
    ErrorData::internal_error("The request was cancelled.", None)
}

impl Client {
    /// Waits until the client is in; `None` when the request is cancelled before.
    async fn entered(&self, cancel: &CancellationToken) -> Option<Result<(), String>> {
        tokio::select! {
            biased;
            () = cancel.cancelled() => None,
            entered = self.served.entrance.passed() => Some(entered),
        }
    }

    async fn run(
        &self,
        admitted: Admitted,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Admitted { begun, mut reports } = admitted;
        let mut telling = context.meta.get_progress_token().map(|token| Telling {
            token,
            peer: context.peer.clone(),
            steps: Steps::default(),
        });
        // In a task of its own: a client that does not read its progress holds up nobody's call.
        let mut running = tokio::spawn(begun.result);
        let mut told_to_end = false;
        let result = loop {
            let news = async {
                match &mut reports {
                    Some(reports) => reports.come.recv().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                Some(done) = news => {
                    if let Some(telling) = &mut telling
                        && let Some(step) = telling.steps.step(done)
                    {
                        telling.tell(step).await;
                    }
                }
                result = &mut running => break result,
                () = context.ct.cancelled(), if !told_to_end => {
                    told_to_end = true;
                    begun.cancel.cancel();
                }
                () = self.clock.sleep(BEAT), if telling.is_some() => {
                    if let Some(telling) = &mut telling {
                        let step = telling.steps.beat();
                        telling.tell(step).await;
                    }
                }
            }
        };
        match result {
            Ok(result) => Ok(answer(result).into()),
            Err(fault) => {
                error!(%fault, "a call ended without a result");
                Err(ErrorData::internal_error("Ropewalk failed inside; what the call did is not known.", None))
            }
        }
    }
}

impl ServerHandler for Client {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_tool_list_changed();
        let capabilities = if self.served.editor {
            capabilities.enable_resources().enable_resources_list_changed().enable_resources_subscribe().build()
        } else {
            capabilities.build()
        };
        ServerConfig::new(capabilities)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
            .with_server_info(Implementation::new("ropewalk", env!("CARGO_PKG_VERSION")).with_title("Ropewalk"))
            .with_instructions(words::instructions(self.served.editor))
    }

    /// Those in which a server may ask its client, as consent and folders need it.
    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(ProtocolVersion::known_up_to(&ProtocolVersion::LATEST_WITH_INITIALIZE))
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        context.peer.set_peer_info(request.clone());
        let answer = self.negotiate_initialize(&request)?;
        self.served.host.met(&request, &context.peer);
        Ok(answer)
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.served.host.ready(&context.peer).await;
    }

    async fn on_roots_list_changed(&self, context: NotificationContext<RoleServer>) {
        self.served.host.moved(&context.peer).await;
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let params = ListToolsParams {
            session_id: Some(self.served.session.clone()),
            include_deferred: false,
            dialect: Dialect::Mcp,
        };
        let listed = Arc::clone(&self.served.rooms.calls).list(params).await;
        let tools: Vec<_> = listed.iter().filter_map(tool).collect();
        let cursor = request.and_then(|request| request.cursor);
        let (tools, next) = pages::page(&tools, cursor.as_deref(), |tool| tool.name.to_string())?;
        let mut page = ListToolsResult::with_all_items(tools);
        page.next_cursor = next;
        Ok(page)
    }

    async fn call_tool(
        &self,
        _: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let admitted = self.requests.claim(&context.id).ok_or_else(cancelled)?;
        match self.entered(&context.ct).await {
            None => Err(cancelled()),
            Some(Err(why)) => Ok(not_begun(&why).into()),
            Some(Ok(())) => Box::pin(self.run(admitted, context)).await,
        }
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        self.resources(&context).await?;
        let cursor = request.and_then(|request| request.cursor);
        let (resources, next) = pages::page(&self.shown.list(), cursor.as_deref(), |one| one.uri.clone())?;
        let mut page = ListResourcesResult::with_all_items(resources);
        page.next_cursor = next;
        Ok(page)
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::default())
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        self.resources(&context).await?;
        Ok(self.shown.read(&request.uri).await?.into())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.resources(&context).await?;
        let uri = self.shown.named(&request.uri)?;
        if self.mailbox.follow(&uri, true) {
            return Ok(());
        }
        Err(ErrorData::invalid_request("Too many resources are followed; unsubscribe from some.", None))
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.mailbox.follow(&request.uri, false);
        Ok(())
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        // A request that a method of MCP's has, and whose params do not fit it, comes here.
        if request.method == rmcp::model::CallToolRequestMethod::VALUE {
            let why = "`tools/call` needs `name`, a string, and `arguments`, an object (or none).";
            return Err(ErrorData::invalid_params(why, None));
        }
        let why = format!("There is no method `{}` here.", words::word(&request.method));
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, why, None))
    }
}

impl Client {
    /// Whether what the editor shows may be looked at.
    async fn resources(&self, context: &RequestContext<RoleServer>) -> Result<(), ErrorData> {
        if !self.served.editor {
            return Err(ErrorData::new(
                ErrorCode::METHOD_NOT_FOUND,
                "There is no editor here that shows anything.",
                None,
            ));
        }
        match self.entered(&context.ct).await {
            None => Err(cancelled()),
            Some(Err(why)) => Err(ErrorData::invalid_request(why, None)),
            Some(Ok(())) => Ok(()),
        }
    }
}
