//! Requests about sessions.

use std::sync::Arc;

use futures_util::FutureExt as _;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tower_lsp::jsonrpc::Error;

use crate::sessions::requests::SessionRequest;
use crate::tool::{ErrorKind, ToolError};

use super::{Front, Started, protocol, read, uncancelled};

impl Front {
    /// Begins a request about a session; `None` when the method is none of these.
    pub(super) fn begin_session(self: &Arc<Self>, method: &str, params: &Value) -> Option<Result<Started, Error>> {
        let request = match method {
            protocol::OPEN_SESSION | protocol::UPDATE_SESSION => as_request(params, SessionRequest::Open),
            protocol::CLOSE_SESSION => as_request(params, SessionRequest::Close),
            protocol::END_TURN => as_request(params, SessionRequest::EndTurn),
            protocol::SET_MODE => as_request(params, SessionRequest::SetMode),
            protocol::FORGET => as_request(params, SessionRequest::Forget),
            protocol::DID_SHOW => as_request(params, SessionRequest::DidShow),
            protocol::GRANTS => as_request(params, SessionRequest::Grants),
            protocol::TODOS => as_request(params, SessionRequest::Todos),
            protocol::STATUS => as_request(params, SessionRequest::Status),
            protocol::RESET_SESSION => as_request(params, SessionRequest::Reset),
            _ => return None,
        };
        Some(self.in_phase().and(request).map(|request| {
            let answer = Arc::clone(&self.rooms.calls).session(request);
            uncancelled(answer.map(|answer| answer.map_err(|error| refused(&error))).boxed())
        }))
    }
}

fn as_request<T: DeserializeOwned>(params: &Value, request: fn(T) -> SessionRequest) -> Result<SessionRequest, Error> {
    read(params).map(request)
}

pub(super) fn refused(error: &ToolError) -> Error {
    match error.kind {
        ErrorKind::InvalidArguments => Error::invalid_params(error.message.clone()),
        _ => Error { message: error.message.clone().into(), ..Error::internal_error() },
    }
}
