//! Everything we send to the editor on our own account, over one queue and in one order; and its answers.
//!
//! The transport's own client is not used: it has no deadline, a queue of one, and falls over on a late answer.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::{Sink, Stream};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tower_lsp::Loopback;
use tower_lsp::jsonrpc::{Error, Id, Request, Response};
use tracing::{debug, warn};

use crate::editor::{
    Abilities, ApplyEdit, ApproveCall, ApproveDecision, ApproveParams, ApproveResult, AskError, Consent, EditReply,
    Editor, Loudness, News, Resync,
};
use crate::permissions::visible;
use crate::ports::Clock;

use super::convert::Client;
use super::protocol;

/// The sending side. Cheap to clone.
#[derive(Clone)]
pub(super) struct Outbox {
    inner: Arc<Inner>,
}

/// The other side of the queue, for the transport.
pub(super) struct Socket {
    queue: mpsc::UnboundedReceiver<Item>,
    inner: Arc<Inner>,
}

struct Inner {
    queue: mpsc::UnboundedSender<Item>,
    clock: Arc<dyn Clock>,
    client: OnceLock<Client>,
    next: AtomicI64,
    open: Mutex<Open>,
}

/// The questions without an answer; none any more once the connection is gone.
#[derive(Default)]
struct Open {
    gone: bool,
    questions: BTreeMap<i64, Question>,
}

struct Question {
    method: &'static str,
    answer: Answer,
}

enum Answer {
    /// Somebody waits.
    Waited(oneshot::Sender<Result<Value, AskError>>),
    /// Done at once, before the next message is looked at.
    Inline(Inline),
}

/// What is done with an answer in the moment it arrives.
type Inline = Box<dyn FnOnce(Result<Value, AskError>) + Send>;

enum Item {
    Message(Request),
    Fence(oneshot::Sender<()>),
}

/// A new outbox and the side that goes to the transport.
pub(super) fn outbox(clock: Arc<dyn Clock>) -> (Outbox, Socket) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let inner = Arc::new(Inner {
        queue: sender,
        clock,
        client: OnceLock::new(),
        next: AtomicI64::new(1),
        open: Mutex::default(),
    });
    (Outbox { inner: Arc::clone(&inner) }, Socket { queue: receiver, inner })
}

impl Outbox {
    /// Fixes what the editor declared. Only the first time counts.
    pub(super) fn met(&self, client: Client) {
        if self.inner.client.set(client).is_err() {
            debug!("the editor introduced itself twice");
        }
    }

    /// What the editor declared; a plain client until it has.
    pub(super) fn client(&self) -> Client {
        self.inner.client.get().cloned().unwrap_or_default()
    }

    /// Sends a notification. Never waits.
    pub(super) fn notify(&self, method: &'static str, params: Value) {
        self.inner.send(Item::Message(Request::build(method).params(params).finish()));
    }

    /// Sends a question and waits for its answer, for ever without a deadline. A question that nobody waits for any more
    /// is taken back, so that the editor can close its dialogue.
    pub(super) async fn ask(
        &self,
        method: &'static str,
        params: Value,
        deadline: Option<Duration>,
    ) -> Result<Value, AskError> {
        let (sender, receiver) = oneshot::channel();
        let id = self.inner.put(method, params, Answer::Waited(sender))?;
        let guard = TakeBack { inner: &self.inner, id };
        let answer = async { receiver.await.unwrap_or(Err(AskError::Gone)) };
        let answer = match deadline {
            None => answer.await,
            Some(deadline) => tokio::select! {
                biased;
                answer = answer => answer,
                () = self.inner.clock.sleep(deadline) => Err(AskError::Timeout),
            },
        };
        drop(guard);
        answer
    }

    /// Sends a question whose answer is dealt with in the moment it arrives, in order with the editor's other messages.
    pub(super) fn ask_inline(&self, method: &'static str, params: Value, then: Inline) {
        if let Err(gone) = self.inner.put(method, params, Answer::Inline(then)) {
            debug!(method, %gone, "not asked");
        }
    }

    /// Comes back once everything sent before has gone to the transport's output.
    pub(super) async fn fence(&self) {
        let (sender, receiver) = oneshot::channel();
        self.inner.send(Item::Fence(sender));
        // An error means that the transport has ended: then nothing can be overtaken any more.
        let _ = receiver.await;
    }

    /// The methods of the questions without an answer, sorted.
    pub(super) fn open(&self) -> Vec<String> {
        let mut open: Vec<String> =
            self.inner.open().questions.values().map(|question| format!("editor {}", question.method)).collect();
        open.sort();
        open
    }

    /// Ends every question, and refuses new ones: the editor is gone.
    pub(super) fn hang_up(&self) {
        self.inner.hang_up();
    }

    async fn ask_as<T: DeserializeOwned>(
        &self,
        method: &'static str,
        params: Value,
        deadline: Option<Duration>,
    ) -> Result<T, AskError> {
        let answer = self.ask(method, params, deadline).await?;
        serde_json::from_value(answer)
            .map_err(|fault| AskError::Refused(format!("its answer to {method} cannot be read: {fault}")))
    }

    /// Consent by a message with buttons, one call after the other.
    async fn approve_by_message(&self, params: ApproveParams) -> Result<ApproveResult, AskError> {
        let mut decisions = Vec::with_capacity(params.calls.len());
        for call in &params.calls {
            let question = json!({
                "type": 2,
                "message": question(call),
                "actions": [{ "title": ALLOW_ONCE }, { "title": ALLOW_SESSION }, { "title": DENY }],
            });
            let answer = self.ask("window/showMessageRequest", question, None).await?;
            decisions.push(ApproveDecision {
                call_id: call.call_id.clone(),
                decision: consent(&answer),
                arguments: None,
                feedback: None,
            });
        }
        Ok(ApproveResult { decisions })
    }
}

const ALLOW_ONCE: &str = "Allow once";
const ALLOW_SESSION: &str = "Allow in this session";
const DENY: &str = "Deny";

/// A call in words for a person; everything it reaches is named, and what cannot be seen is shown escaped.
fn question(call: &ApproveCall) -> String {
    let mut lines = vec![format!("Allow {}? {}", visible(&call.name), visible(&call.reason))];
    lines.extend(call.targets.iter().map(|target| format!("  {}", visible(target))));
    lines.extend(call.diff.iter().flat_map(|diff| diff.lines()).map(visible));
    lines.join("\n")
}

/// The decision that a button means; a message that was closed is a no.
fn consent(answer: &Value) -> Consent {
    match answer.get("title").and_then(Value::as_str) {
        Some(ALLOW_ONCE) => Consent::Once,
        Some(ALLOW_SESSION) => Consent::Session,
        _ => Consent::Deny,
    }
}

#[async_trait]
impl Editor for Outbox {
    fn abilities(&self) -> Abilities {
        self.client().abilities
    }

    async fn apply_edit(&self, edit: ApplyEdit, deadline: Duration) -> Result<EditReply, AskError> {
        if !self.client().apply_edit {
            return Err(AskError::Unsupported);
        }
        // Versioned also where `documentChanges` is not declared: Neovim does not declare it and honours it, and an edit
        // without a version must never leave.
        let params = json!({
            "label": edit.label,
            "edit": { "documentChanges": [{
                "textDocument": { "uri": edit.uri, "version": edit.version },
                "edits": edit.edits,
            }] },
        });
        let answer = self.ask("workspace/applyEdit", params, Some(deadline)).await?;
        Ok(EditReply {
            applied: answer.get("applied").and_then(Value::as_bool).unwrap_or(false),
            reason: answer.get("failureReason").and_then(Value::as_str).map(str::to_owned),
        })
    }

    async fn resync(&self, uri: &str, deadline: Duration) -> Result<Resync, AskError> {
        if !self.abilities().resync {
            return Err(AskError::Unsupported);
        }
        self.ask_as(protocol::RESYNC, json!({ "uri": uri }), Some(deadline)).await
    }

    fn can_approve(&self) -> bool {
        let client = self.client();
        client.abilities.approve || client.message_actions
    }

    async fn approve(&self, params: ApproveParams) -> Result<ApproveResult, AskError> {
        let client = self.client();
        if client.abilities.approve {
            self.ask_as(protocol::APPROVE, json!(params), None).await
        } else if client.message_actions {
            self.approve_by_message(params).await
        } else {
            Err(AskError::Unsupported)
        }
    }

    async fn pull_diagnostics(&self, uri: &str, deadline: Duration) -> Result<(), AskError> {
        if !self.abilities().diagnostics {
            return Err(AskError::Unsupported);
        }
        self.ask(protocol::PULL_DIAGNOSTICS, json!({ "uri": uri }), Some(deadline)).await.map(|_| ())
    }

    fn tell(&self, news: News) {
        match news {
            News::Tool(event) if self.abilities().events => self.notify(protocol::TOOL_EVENT, json!(event)),
            News::Files(changes) if self.abilities().events => {
                self.notify(protocol::FILES_CHANGED, json!(protocol::FilesChangedParams { changes }));
            }
            News::Tool(_) | News::Files(_) => {}
            News::Log(loudness, message) => {
                let kind = match loudness {
                    Loudness::Error => 1,
                    Loudness::Warning => 2,
                    Loudness::Info => 3,
                };
                self.notify("window/logMessage", json!({ "type": kind, "message": message }));
            }
        }
    }
}

impl Inner {
    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, item: Item) {
        // The queue only fails when the transport has ended; then there is nobody to tell.
        let _ = self.queue.send(item);
    }

    fn put(&self, method: &'static str, params: Value, answer: Answer) -> Result<i64, AskError> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let mut open = self.open();
        if open.gone {
            return Err(AskError::Gone);
        }
        open.questions.insert(id, Question { method, answer });
        drop(open);
        self.send(Item::Message(Request::build(method).params(params).id(id).finish()));
        Ok(id)
    }

    /// Takes an answer to whoever waits for it.
    fn answered(&self, response: Response) {
        let (id, body) = response.into_parts();
        let Id::Number(number) = id else {
            warn!(%id, "an answer to a question that was never asked");
            return;
        };
        let Some(question) = self.open().questions.remove(&number) else {
            debug!(number, "a late answer");
            return;
        };
        let answer = body.map_err(|Error { code, message, .. }| AskError::Refused(format!("{message} ({code})")));
        match question.answer {
            // Whoever asked may have gone in this moment.
            Answer::Waited(sender) => drop(sender.send(answer)),
            Answer::Inline(then) => then(answer),
        }
    }

    fn hang_up(&self) {
        let questions = {
            let mut open = self.open();
            open.gone = true;
            std::mem::take(&mut open.questions)
        };
        for question in questions.into_values() {
            match question.answer {
                Answer::Waited(sender) => drop(sender.send(Err(AskError::Gone))),
                Answer::Inline(then) => then(Err(AskError::Gone)),
            }
        }
    }
}

/// Forgets a question when its asker stops waiting, and tells the editor so if there was no answer yet.
struct TakeBack<'a> {
    inner: &'a Inner,
    id: i64,
}

impl Drop for TakeBack<'_> {
    fn drop(&mut self) {
        let Some(question) = self.inner.open().questions.remove(&self.id) else { return };
        // An edit that was sent may have landed; only its echo tells, so it is not taken back.
        if question.method != "workspace/applyEdit" {
            let params = json!({ "id": self.id });
            self.inner.send(Item::Message(Request::build("$/cancelRequest").params(params).finish()));
        }
    }
}

impl Loopback for Socket {
    type RequestStream = Outgoing;
    type ResponseSink = Answers;

    fn split(self) -> (Outgoing, Answers) {
        (Outgoing { queue: self.queue }, Answers { inner: self.inner })
    }
}

/// The messages on their way to the transport.
pub(super) struct Outgoing {
    queue: mpsc::UnboundedReceiver<Item>,
}

impl Stream for Outgoing {
    type Item = Request;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Request>> {
        loop {
            match self.queue.poll_recv(context) {
                Poll::Ready(Some(Item::Message(message))) => return Poll::Ready(Some(message)),
                // The transport asks for the next message only once it has encoded the one before.
                Poll::Ready(Some(Item::Fence(reached))) => drop(reached.send(())),
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}

/// The editor's answers, from the transport. Also knows answers that came without a result.
pub(super) struct Answers {
    inner: Arc<Inner>,
}

impl Sink<Response> for Answers {
    type Error = Infallible;

    fn poll_ready(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn start_send(self: Pin<&mut Self>, response: Response) -> Result<(), Infallible> {
        self.inner.answered(response);
        Ok(())
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }
}

impl Outbox {
    /// An answer that came without result and error, as some clients send for null.
    pub(super) fn answered_null(&self, id: Id) {
        self.inner.answered(Response::from_ok(id, Value::Null));
    }
}

#[cfg(test)]
mod tests {
    use futures_util::{FutureExt as _, SinkExt as _, StreamExt as _};

    use super::*;
    use crate::ports::SystemClock;

    fn pair() -> (Outbox, Outgoing, Answers) {
        let (outbox, socket) = outbox(Arc::new(SystemClock));
        let (outgoing, answers) = socket.split();
        (outbox, outgoing, answers)
    }

    #[tokio::test]
    async fn a_fence_is_passed_only_after_everything_before_it() {
        let (outbox, mut outgoing, _answers) = pair();
        outbox.notify("one", json!({}));
        outbox.notify("two", json!({}));
        let mut fence = Box::pin(outbox.fence());
        assert_eq!(fence.as_mut().now_or_never(), None);
        outbox.notify("three", json!({}));
        for method in ["one", "two"] {
            assert_eq!(outgoing.next().await.unwrap().method(), method);
            assert_eq!(fence.as_mut().now_or_never(), None, "{method} has been taken, but not been encoded");
        }
        assert_eq!(outgoing.next().await.unwrap().method(), "three");
        assert_eq!(fence.as_mut().now_or_never(), Some(()));
    }

    #[tokio::test]
    async fn a_fence_stops_nobody_when_the_transport_has_ended() {
        let (outbox, outgoing, _answers) = pair();
        let fence = outbox.fence();
        drop(outgoing);
        fence.await;
        outbox.fence().await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_question_ends_once() {
        let (outbox, mut outgoing, mut answers) = pair();
        let asking = outbox.ask("ask", json!({}), Some(Duration::from_secs(1)));
        assert_eq!(asking.await, Err(AskError::Timeout));
        let methods: Vec<_> = [outgoing.next().await, outgoing.next().await].into_iter().flatten().collect();
        assert_eq!(methods[1].method(), "$/cancelRequest");
        assert_eq!(methods[1].params(), Some(&json!({ "id": 1 })));
        // Late, for a question that was never asked, and with an id that is not ours.
        for id in [Id::Number(1), Id::Number(99), Id::Null, Id::String("1".into())] {
            answers.send(Response::from_ok(id, json!({}))).await.unwrap();
        }
        assert_eq!(outbox.open(), Vec::<String>::new());

        let mut asking = Box::pin(outbox.ask("ask", json!({}), None));
        assert_eq!(asking.as_mut().now_or_never(), None);
        assert_eq!(outbox.open(), ["editor ask"]);
        answers.send(Response::from_ok(Id::Number(2), json!(7))).await.unwrap();
        assert_eq!(asking.await, Ok(json!(7)));
    }

    #[tokio::test]
    async fn the_end_answers_every_question_and_refuses_new_ones() {
        let (outbox, _outgoing, _answers) = pair();
        let mut asking = Box::pin(outbox.ask("ask", json!({}), None));
        assert_eq!(asking.as_mut().now_or_never(), None);
        let (sender, told) = oneshot::channel();
        outbox.ask_inline("ask", json!({}), Box::new(move |answer| drop(sender.send(answer))));
        outbox.hang_up();
        assert_eq!(asking.await, Err(AskError::Gone));
        assert_eq!(told.await, Ok(Err(AskError::Gone)));
        assert_eq!(outbox.ask("ask", json!({}), None).await, Err(AskError::Gone));
    }

    #[tokio::test]
    async fn an_edit_that_was_sent_is_not_taken_back() {
        let (outbox, mut outgoing, _answers) = pair();
        outbox.met(Client { apply_edit: true, ..Client::default() });
        let edit = ApplyEdit { uri: "untitled:a".into(), version: 3, edits: Vec::new(), label: "edit".into() };
        drop(outbox.apply_edit(edit, Duration::from_mins(1)).now_or_never());
        assert_eq!(outgoing.next().await.unwrap().method(), "workspace/applyEdit");
        assert!(outgoing.next().now_or_never().is_none());
        assert_eq!(outbox.open(), Vec::<String>::new());
    }
}
