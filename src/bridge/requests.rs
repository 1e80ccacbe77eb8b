//! The requests of one client that have no answer yet. Calls get their ticket in the moment they arrive, so that their
//! order is that of the client's messages, whatever runs side by side afterwards.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::{
    CallToolRequestParams, ClientJsonRpcMessage, ClientNotification, ClientRequest, ErrorCode, ErrorData, GetMeta as _,
    JsonRpcMessage, RequestId,
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::dispatch::CallParams;
use crate::server::{Begun, Calls};

use super::frames::Order;
use super::news::{Hub, Reports};

/// At most so many requests of one client at once.
const MOST_OPEN: usize = 64;

/// What JSON-RPC leaves to servers: too much at once.
const BUSY: ErrorCode = ErrorCode(-32000);

/// A call that has its place in the order.
pub(super) struct Admitted {
    /// The call.
    pub begun: Begun,
    /// What it reports, where the client wants to hear of it.
    pub reports: Option<Reports>,
}

/// The open requests of one client.
pub(super) struct Requests {
    calls: Arc<dyn Calls>,
    hub: Arc<Hub>,
    session: String,
    state: Mutex<State>,
    /// Fired when nothing arrives any more.
    pub hung_up: CancellationToken,
}

#[derive(Default)]
struct State {
    introduced: bool,
    gone: bool,
    open: BTreeSet<String>,
    admitted: HashMap<String, Admitted>,
    cancels: HashMap<String, CancellationToken>,
}

/// A number and a string that look alike are different ids.
fn key(id: &RequestId) -> String {
    match id {
        RequestId::Number(number) => format!("n{number}"),
        RequestId::String(text) => format!("s{text}"),
    }
}

impl Requests {
    /// None yet. The calls will be of this session.
    pub(super) fn new(calls: Arc<dyn Calls>, hub: Arc<Hub>, session: &str) -> Requests {
        Requests { calls, hub, session: session.to_owned(), state: Mutex::default(), hung_up: CancellationToken::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The call that this request made, once.
    pub(super) fn claim(&self, id: &RequestId) -> Option<Admitted> {
        self.lock().admitted.remove(&key(id))
    }

    /// The client is gone: its calls end.
    pub(super) fn end(&self) {
        let (admitted, cancels) = {
            let mut state = self.lock();
            state.gone = true;
            (std::mem::take(&mut state.admitted), std::mem::take(&mut state.cancels))
        };
        drop(admitted);
        for cancel in cancels.into_values() {
            cancel.cancel();
        }
    }

    /// `told`: whether the client wants to hear how it gets on.
    fn begin(&self, params: &CallToolRequestParams, told: bool) -> Admitted {
        let reports = told.then(|| self.hub.reports());
        let begun = Arc::clone(&self.calls).begin(CallParams {
            session_id: Some(self.session.clone()),
            name: params.name.to_string(),
            arguments: params.arguments.clone().map(Value::Object),
            work_done_token: reports.as_ref().map(|reports| reports.token.clone()),
            ..CallParams::default()
        });
        Admitted { begun, reports }
    }
}

impl Order for Requests {
    fn arrived(&self, message: &ClientJsonRpcMessage) -> Result<(), ErrorData> {
        match message {
            JsonRpcMessage::Request(request) => {
                let id = key(&request.id);
                let begins = {
                    let mut state = self.lock();
                    if state.gone {
                        return Err(ErrorData::new(BUSY, "The connection ends.", None));
                    }
                    if state.open.len() >= MOST_OPEN {
                        let why = format!("{MOST_OPEN} requests are open; wait for the answer to one of them.");
                        return Err(ErrorData::new(BUSY, why, None));
                    }
                    if !state.open.insert(id.clone()) || state.cancels.contains_key(&id) {
                        let why = "A request with this id has no answer yet.";
                        return Err(ErrorData::invalid_request(why, None));
                    }
                    state.introduced |= matches!(request.request, ClientRequest::InitializeRequest(_));
                    state.introduced
                };
                if let ClientRequest::CallToolRequest(call) = &request.request
                    && begins
                {
                    let told = request.request.get_meta().get_progress_token().is_some();
                    let admitted = self.begin(&call.params, told);
                    let mut state = self.lock();
                    state.cancels.insert(id.clone(), admitted.begun.cancel.clone());
                    state.admitted.insert(id, admitted);
                }
            }
            JsonRpcMessage::Notification(told) => {
                if let ClientNotification::CancelledNotification(cancelled) = &told.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    // It gets no answer any more.
                    let id = key(id);
                    let mut state = self.lock();
                    state.open.remove(&id);
                    if let Some(cancel) = state.cancels.remove(&id) {
                        cancel.cancel();
                    }
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
        Ok(())
    }

    fn hung_up(&self) {
        self.hung_up.cancel();
    }

    fn answered(&self, id: &RequestId) {
        let id = key(id);
        let unclaimed = {
            let mut state = self.lock();
            state.open.remove(&id);
            state.cancels.remove(&id);
            state.admitted.remove(&id)
        };
        // Answered by others than the one who runs calls: it was refused.
        drop(unclaimed);
    }
}
