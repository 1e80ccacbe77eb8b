//! What we are to a server: what it may ask of us, and what it tells.

#![expect(deprecated, reason = "what the next version of MCP drops is what today's servers ask for")]

use std::sync::Arc;

use rmcp::ClientHandler;
use rmcp::RoleClient;
use rmcp::model::{
    ClientCapabilities, ClientConfig, CreateMessageRequestParams, CreateMessageResult, CustomRequest, CustomResult,
    ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationCapability, ErrorCode, ErrorData,
    FormElicitationCapability, Implementation, ListRootsResult, ProgressNotificationParam, Root, RootsCapabilities,
    SamplingCapability, UrlElicitationCapability,
};
use rmcp::service::{NotificationContext, RequestContext};
use serde_json::{Value, json};
use tracing::debug;

use super::clean;
use super::desk::Desk;
use crate::editor::{AskError, Editor, ElicitAction, ElicitAnswer, ElicitMode, ElicitParams, SampleParams};

/// What a server asks a person is shown up to so many bytes.
const MESSAGE: usize = 8 * 1024;

/// The folders that servers are told of: URI and name.
pub(super) type Folders = Arc<dyn Fn() -> Vec<(String, String)> + Send + Sync>;

/// What we are to one server.
pub(super) struct Client {
    /// The server's name.
    pub server: String,
    /// Who can answer its questions.
    pub editor: Arc<dyn Editor>,
    /// The folders that it is told of.
    pub folders: Folders,
    /// What is under way with it.
    pub desk: Arc<Desk>,
}

impl Client {
    async fn elicited(&self, mode: ElicitMode, mut params: ElicitParams) -> ElicitAnswer {
        let declined = ElicitAnswer { action: ElicitAction::Decline, content: None };
        if !self.editor.abilities().elicit {
            return declined;
        }
        (params.session_id, params.call_id) = self.desk.only();
        params.server.clone_from(&self.server);
        params.mode = mode;
        params.message = clean::words(&params.message, MESSAGE);
        let Some(waiting) = self.desk.waits() else { return declined };
        let answer = self.editor.elicit(params).await;
        drop(waiting);
        match answer {
            Ok(answer) if answer.action == ElicitAction::Accept => answer,
            Ok(answer) => ElicitAnswer { content: None, ..answer },
            Err(error) => {
                debug!(server = self.server, %error, "a question of an MCP server was not answered");
                let action = if error == AskError::Gone { ElicitAction::Cancel } else { ElicitAction::Decline };
                ElicitAnswer { action, content: None }
            }
        }
    }

    async fn sampled(&self, request: Value) -> Result<Value, ErrorData> {
        let refused = |words: String| ErrorData::new(ErrorCode::INVALID_REQUEST, words, None);
        if !self.editor.abilities().sample {
            return Err(refused("there is no model here that could be asked".to_owned()));
        }
        let (session_id, call_id) = self.desk.only();
        let params = SampleParams { server: self.server.clone(), session_id, call_id, request };
        let Some(waiting) = self.desk.waits() else {
            return Err(refused("too many questions are open already".to_owned()));
        };
        let answer = self.editor.sample(params).await;
        drop(waiting);
        answer.map(|answer| answer.result).map_err(|error| refused(format!("no model answered: {error}")))
    }
}

/// A question as it came on the wire, without whose it is.
fn asked(message: &str, schema: Option<Value>, url: Option<String>) -> ElicitParams {
    ElicitParams {
        server: String::new(),
        session_id: None,
        call_id: None,
        message: message.to_owned(),
        mode: ElicitMode::Form,
        requested_schema: schema,
        url,
    }
}

impl ClientHandler for Client {
    fn get_info(&self) -> ClientConfig {
        let abilities = self.editor.abilities();
        let mut capabilities = ClientCapabilities::default();
        let mut roots = RootsCapabilities::default();
        roots.list_changed = Some(true);
        capabilities.roots = Some(roots);
        if abilities.sample {
            capabilities.sampling = Some(SamplingCapability::default());
        }
        if abilities.elicit {
            let mut elicitation = ElicitationCapability::new().with_form(FormElicitationCapability::new());
            elicitation.url = Some(UrlElicitationCapability::new());
            capabilities.elicitation = Some(elicitation);
        }
        ClientConfig::new(capabilities, Implementation::new("ropewalk", env!("CARGO_PKG_VERSION")))
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        let roots = (self.folders)().into_iter().map(|(uri, name)| Root::new(uri).with_name(name));
        Ok(ListRootsResult::new(roots.collect()))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let question = match request {
            ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } => {
                self.elicited(ElicitMode::Form, asked(&message, serde_json::to_value(requested_schema).ok(), None))
            }
            ElicitRequestParams::UrlElicitationParams { message, url, .. } => {
                self.elicited(ElicitMode::Url, asked(&message, None, Some(url)))
            }
            _ => return Ok(ElicitResult::new(ElicitationAction::Decline)),
        };
        // Dropped when the server does not wait any more, the question is taken back.
        let answer = tokio::select! {
            biased;
            () = context.ct.cancelled() => return Ok(ElicitResult::new(ElicitationAction::Cancel)),
            answer = question => answer,
        };
        let result = ElicitResult::new(match answer.action {
            ElicitAction::Accept => ElicitationAction::Accept,
            ElicitAction::Decline => ElicitationAction::Decline,
            ElicitAction::Cancel => ElicitationAction::Cancel,
        });
        Ok(match answer.content {
            Some(content) => result.with_content(content),
            None => result,
        })
    }

    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        let request = serde_json::to_value(params).unwrap_or_default();
        let answer = tokio::select! {
            biased;
            () = context.ct.cancelled() => {
                return Err(ErrorData::new(ErrorCode::INVALID_REQUEST, "the question was taken back", None));
            }
            answer = self.sampled(request) => answer?,
        };
        serde_json::from_value(answer)
            .map_err(|error| ErrorData::internal_error(format!("the answer cannot be read: {error}"), None))
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleClient>,
    ) -> Result<CustomResult, ErrorData> {
        // What the library cannot read of a question is passed on as it came.
        let params = request.params.unwrap_or_default();
        let answer = async {
            match request.method.as_str() {
                "elicitation/create" => {
                    let message = params["message"].as_str().unwrap_or_default();
                    let url = params["url"].as_str().map(str::to_owned);
                    let mode = if url.is_some() { ElicitMode::Url } else { ElicitMode::Form };
                    let schema = params.get("requestedSchema").cloned();
                    Ok(json!(self.elicited(mode, asked(message, schema, url)).await))
                }
                "sampling/createMessage" => self.sampled(params.clone()).await,
                other => Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, other.to_owned(), None)),
            }
        };
        tokio::select! {
            biased;
            () = context.ct.cancelled() => {
                Err(ErrorData::new(ErrorCode::INVALID_REQUEST, "the question was taken back", None))
            }
            answer = answer => answer.map(CustomResult::new),
        }
    }

    async fn on_progress(&self, params: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.desk.progress(&params);
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.desk.tools_changed();
    }
}
