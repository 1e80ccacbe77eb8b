//! The order of messages: a service round the transport's own, called once for each message, in the order of arrival. What
//! the transport calls it with only stands for the message; the message itself is in the inbox.
//!
//! What changes state is applied here and now. Requests take their place here and now, and then run as tasks, so that
//! nothing they do, not even blocking or panicking, holds up the messages behind them.

use std::any::Any;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use futures_util::future::{BoxFuture, FutureExt as _, ready};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tower_lsp::jsonrpc::{Error, Id, Request, Response};
use tower_service::Service;
use tracing::{debug, error, warn};

use super::front::Front;
use super::lifecycle::Reason;
use super::messages::{Message, Reading};
use super::requests::Started;
use super::stdio::Inbox;

/// The service. `S` is the transport's, which keeps the rules of `initialize` and `shutdown`.
pub(super) struct Ordered<S> {
    inner: S,
    inbox: Inbox,
    front: Arc<Front>,
    running: Arc<Running>,
}

/// The requests that have no answer yet, so that they can be cancelled.
#[derive(Default)]
struct Running(Mutex<HashMap<Id, CancellationToken>>);

impl<S> Ordered<S> {
    /// Wraps a service.
    pub(super) fn new(inner: S, inbox: Inbox, front: Arc<Front>) -> Ordered<S> {
        Ordered { inner, inbox, front, running: Arc::default() }
    }
}

type Answer<E> = BoxFuture<'static, Result<Option<Response>, E>>;

impl<S, E> Service<Request> for Ordered<S>
where
    S: Service<Request, Response = Option<Response>, Error = E>,
    S::Future: Send + 'static,
    E: Send + 'static,
{
    type Response = Option<Response>;
    type Error = E;
    type Future = Answer<E>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), E>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, _: Request) -> Answer<E> {
        match self.inbox.take() {
            None => ready(Ok(None)).boxed(),
            Some(Message::Call(request, reading)) => match request.id().cloned() {
                None => self.notified(request, reading),
                Some(id) => self.requested(id, request),
            },
            Some(Message::Answer(answer, reading)) => {
                contained("an answer", || self.front.outbox.answered(answer, reading));
                ready(Ok(None)).boxed()
            }
            Some(Message::Fault(fault)) => {
                contained("what cannot be read", || self.front.unreadable(&fault));
                ready(Ok(fault.answer())).boxed()
            }
        }
    }
}

impl<S, E> Ordered<S>
where
    S: Service<Request, Response = Option<Response>, Error = E>,
    S::Future: Send + 'static,
    E: Send + 'static,
{
    fn notified(&mut self, request: Request, reading: Reading) -> Answer<E> {
        match request.method() {
            "exit" => {
                let answer = self.inner.call(request);
                self.front.gone.fire(Reason::Exit);
                answer.boxed()
            }
            "$/cancelRequest" => {
                self.running.cancel(request.params());
                ready(Ok(None)).boxed()
            }
            // Its meaning is the transport's own.
            "initialized" => self.inner.call(request).boxed(),
            _ => {
                let (method, _, params) = request.into_parts();
                contained(&method, || {
                    if !self.front.notified(&method, params.unwrap_or_default(), reading) {
                        debug!(%method, "an unknown notification");
                    }
                });
                ready(Ok(None)).boxed()
            }
        }
    }

    fn requested(&mut self, id: Id, request: Request) -> Answer<E> {
        if request.method() == "initialize" {
            return self.initialized(id, &request);
        }
        if request.method() == "shutdown" {
            self.front.shut_down();
            // Without its params: the transport refuses the null that some clients send.
            return self.passed_on(Request::build("shutdown").id(id).finish());
        }
        let begin = || self.front.begin(request.method(), request.params().unwrap_or(&Value::Null));
        let started = match catch_unwind(AssertUnwindSafe(begin)) {
            Ok(None) => return self.passed_on(request),
            Ok(Some(Ok(started))) => started,
            Ok(Some(Err(error))) => return ready(Ok(Some(Response::from_error(id, error)))).boxed(),
            Err(panic) => return ready(Ok(Some(Response::from_error(id, fault(&*panic))))).boxed(),
        };
        let Started { cancel, rest } = started;
        let Some(place) = self.running.enter(id.clone(), cancel) else {
            warn!(%id, "a request with the id of one that is running");
            return ready(Ok(Some(Response::from_error(id, Error::invalid_request())))).boxed();
        };
        let task = self.front.tasks.spawn(AssertUnwindSafe(rest).catch_unwind());
        let outbox = self.front.outbox.clone();
        async move {
            let body = match task.await {
                Ok(Ok(body)) => body,
                Ok(Err(panic)) => Err(fault(&*panic)),
                Err(_) => Err(Error::internal_error()),
            };
            // What the request told on its way leaves before its result.
            outbox.fence().await;
            drop(place);
            Ok(Some(Response::from_parts(id, body)))
        }
        .boxed()
    }

    /// `initialize` is read from its raw params, so that one odd field does not refuse the editor; the transport then gets
    /// only what its own rules need.
    fn initialized(&mut self, id: Id, request: &Request) -> Answer<E> {
        let initialize = || self.front.initialize(request.params().unwrap_or(&Value::Null));
        if let Err(panic) = catch_unwind(AssertUnwindSafe(initialize)) {
            return ready(Ok(Some(Response::from_error(id, fault(&*panic))))).boxed();
        }
        self.passed_on(Request::build("initialize").params(json!({ "capabilities": {} })).id(id).finish())
    }

    fn passed_on(&mut self, request: Request) -> Answer<E> {
        self.inner.call(request).boxed()
    }
}

impl Running {
    fn lock(&self) -> MutexGuard<'_, HashMap<Id, CancellationToken>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a place for a request, until the place is dropped; none when its id is taken.
    fn enter(self: &Arc<Running>, id: Id, cancel: CancellationToken) -> Option<Place> {
        let mut running = self.lock();
        if running.contains_key(&id) {
            return None;
        }
        running.insert(id.clone(), cancel);
        Some(Place { running: Arc::clone(self), id })
    }

    fn cancel(&self, params: Option<&Value>) {
        let id = params.and_then(|params| serde_json::from_value::<Id>(params["id"].clone()).ok());
        if let Some(cancel) = id.as_ref().and_then(|id| self.lock().get(id).cloned()) {
            cancel.cancel();
        } else {
            debug!(?id, "nothing to cancel");
        }
    }
}

struct Place {
    running: Arc<Running>,
    id: Id,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.running.lock().remove(&self.id);
    }
}

/// A panic costs only the message that it is about.
fn contained(what: &str, apply: impl FnOnce()) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(apply)) {
        error!(panic = words(&*panic), "{what} made us panic");
    }
}

fn fault(panic: &(dyn Any + Send)) -> Error {
    let words = words(panic);
    error!(words, "a request made us panic");
    Error { message: format!("Ropewalk failed inside: {words}").into(), ..Error::internal_error() }
}

fn words(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a panic without words")
}
