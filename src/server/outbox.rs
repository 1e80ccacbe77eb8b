//! Everything we send to the editor on our own account, over one queue and in one order; and its answers.
//!
//! The transport's own client is not used: it has no deadline, a queue of one, and falls over on a late answer.

mod by_message;
mod editor;
mod news;

pub(crate) use by_message::question;

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::Stream;
use futures_util::sink::{Drain, drain};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tower_lsp::Loopback;
use tower_lsp::jsonrpc::{Error, ErrorCode, Id, Request, Response};
use tracing::{debug, warn};

use crate::editor::{AskError, Ear};
use crate::ports::Clock;

use super::convert::Client;
use super::messages::{Question as Unreadable, Reading};
use super::stdio::Backlog;

/// The sending side. Cheap to clone.
#[derive(Clone)]
pub(super) struct Outbox {
    inner: Arc<Inner>,
}

/// The other side of the queue, for the transport.
pub(super) struct Socket {
    queue: mpsc::UnboundedReceiver<Item>,
}

struct Inner {
    queue: mpsc::UnboundedSender<Item>,
    clock: Arc<dyn Clock>,
    backlog: Backlog,
    client: OnceLock<Client>,
    ear: OnceLock<Ear>,
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
    /// Whether it ends by itself when no answer comes.
    bounded: bool,
}

/// What an answer brought.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Given {
    /// The result.
    pub value: Value,
    /// How it was read, which matters to whoever keeps a text that is in it.
    pub reading: Reading,
}

enum Answer {
    /// Somebody waits.
    Waited(oneshot::Sender<Result<Given, AskError>>),
    /// Done at once, before the next message is looked at.
    Inline(Inline),
}

impl Answer {
    fn give(self, answer: Result<Given, AskError>) {
        match self {
            // Whoever asked may have gone in this moment.
            Answer::Waited(sender) => drop(sender.send(answer)),
            Answer::Inline(then) => then(answer),
        }
    }
}

/// An editor that has not read so much (bytes) of what it was sent is told only what it has to know.
const BEHIND: usize = 1 << 20;

/// Why a question ends whose answer was lost.
const LOST: &str = "an answer of the editor's could not be read";

/// The number of a question. All ours are numbers; a client that sends one back as a string means the same.
fn number(id: &Id) -> Option<i64> {
    match id {
        Id::Number(number) => Some(*number),
        Id::String(text) => text.parse().ok(),
        Id::Null => None,
    }
}

/// What is done with an answer in the moment it arrives.
type Inline = Box<dyn FnOnce(Result<Given, AskError>) + Send>;

enum Item {
    Message(Request),
    Fence(oneshot::Sender<()>),
}

/// A new outbox, whose messages end in what `backlog` counts, and the side that goes to the transport.
pub(super) fn outbox(clock: Arc<dyn Clock>, backlog: Backlog) -> (Outbox, Socket) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let inner = Arc::new(Inner {
        queue: sender,
        clock,
        backlog,
        client: OnceLock::new(),
        ear: OnceLock::new(),
        next: AtomicI64::new(1),
        open: Mutex::default(),
    });
    (Outbox { inner }, Socket { queue: receiver })
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
        self.ask_for(method, params, deadline).await.map(|given| given.value)
    }

    /// [`Outbox::ask`], for an answer whose reading matters.
    async fn ask_for(
        &self,
        method: &'static str,
        params: Value,
        deadline: Option<Duration>,
    ) -> Result<Given, AskError> {
        let (sender, receiver) = oneshot::channel();
        let id = self.inner.put(method, params, Answer::Waited(sender), deadline.is_some())?;
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
        if let Err(gone) = self.inner.put(method, params, Answer::Inline(then), false) {
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

    /// Takes an answer to whoever waits for it.
    pub(super) fn answered(&self, response: Response, reading: Reading) {
        self.inner.answered(response, reading);
    }

    /// An answer came that cannot be read. The question that it is about, or may be about, ends with an error; where that
    /// is not sure, only a question that would wait for ever otherwise, and the editor is told that nobody waits for it.
    pub(super) fn unreadable(&self, question: &Unreadable) {
        let error = || Error { code: ErrorCode::ParseError, message: LOST.into(), data: None };
        match question {
            Unreadable::None => {}
            Unreadable::This(id) => {
                self.inner.answered(Response::from_error(id.clone(), error()), Reading::Exact);
            }
            Unreadable::Perhaps(id) => {
                let number = number(id);
                self.inner.give_up(|id, question| Some(id) == number && !question.bounded);
            }
            Unreadable::Any => self.inner.give_up(|_, question| !question.bounded),
        }
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
        read_as(method, self.ask(method, params, deadline).await?)
    }
}

fn read_as<T: DeserializeOwned>(method: &str, answer: Value) -> Result<T, AskError> {
    serde_json::from_value(answer)
        .map_err(|fault| AskError::Refused(format!("its answer to {method} cannot be read: {fault}")))
}

impl Inner {
    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, item: Item) {
        // The queue only fails when the transport has ended; then there is nobody to tell.
        let _ = self.queue.send(item);
    }

    fn put(&self, method: &'static str, params: Value, answer: Answer, bounded: bool) -> Result<i64, AskError> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let mut open = self.open();
        if open.gone {
            return Err(AskError::Gone);
        }
        open.questions.insert(id, Question { method, answer, bounded });
        drop(open);
        self.send(Item::Message(Request::build(method).params(params).id(id).finish()));
        Ok(id)
    }

    /// Takes an answer to whoever waits for it.
    fn answered(&self, response: Response, reading: Reading) {
        let (id, body) = response.into_parts();
        if id == Id::Null {
            // The editor could not make out what it was asked.
            warn!(?body, "an answer to a question that is not named");
            self.give_up(|_, question| !question.bounded);
            return;
        }
        let Some(number) = number(&id) else {
            warn!(%id, "an answer to a question that was never asked");
            return;
        };
        let Some(question) = self.open().questions.remove(&number) else {
            debug!(number, "a late answer");
            return;
        };
        let answer = match body {
            Ok(value) => Ok(Given { value, reading }),
            Err(Error { code, message, .. }) => Err(AskError::Refused(format!("{message} ({code})"))),
        };
        question.answer.give(answer);
    }

    /// Ends these questions, whose answers may have been lost, and takes them back.
    fn give_up(&self, ends: impl Fn(i64, &Question) -> bool) {
        let lost: Vec<(i64, Question)> =
            self.open().questions.extract_if(.., |id, question| ends(*id, question)).collect();
        for (id, Question { method, answer, .. }) in lost {
            warn!(id, method, "given up: its answer may have been lost");
            self.send(Item::Message(Request::build("$/cancelRequest").params(json!({ "id": id })).finish()));
            answer.give(Err(AskError::Refused(LOST.to_owned())));
        }
    }

    fn hang_up(&self) {
        let questions = {
            let mut open = self.open();
            open.gone = true;
            std::mem::take(&mut open.questions)
        };
        for question in questions.into_values() {
            question.answer.give(Err(AskError::Gone));
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
    type ResponseSink = Drain<Response>;

    /// Answers come by the inbox, so that the transport has none to give.
    fn split(self) -> (Outgoing, Drain<Response>) {
        (Outgoing { queue: self.queue }, drain())
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

#[cfg(test)]
mod tests {
    use futures_util::{FutureExt as _, StreamExt as _};

    use super::*;
    use crate::editor::{ApplyEdit, Editor as _};
    use crate::ports::SystemClock;

    fn pair() -> (Outbox, Outgoing) {
        let (outbox, socket) = outbox(Arc::new(SystemClock), Backlog::default());
        (outbox, socket.split().0)
    }

    #[tokio::test]
    async fn a_fence_is_passed_only_after_everything_before_it() {
        let (outbox, mut outgoing) = pair();
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
        let (outbox, outgoing) = pair();
        let fence = outbox.fence();
        drop(outgoing);
        fence.await;
        outbox.fence().await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_question_ends_once() {
        let (outbox, mut outgoing) = pair();
        let asking = outbox.ask("ask", json!({}), Some(Duration::from_secs(1)));
        assert_eq!(asking.await, Err(AskError::Timeout));
        let methods: Vec<_> = [outgoing.next().await, outgoing.next().await].into_iter().flatten().collect();
        assert_eq!(methods[1].method(), "$/cancelRequest");
        assert_eq!(methods[1].params(), Some(&json!({ "id": 1 })));
        // Late, for a question that was never asked, and with an id that is not ours.
        for id in [Id::Number(1), Id::Number(99), Id::Null, Id::String("one".into())] {
            outbox.answered(Response::from_ok(id, json!({})), Reading::Exact);
        }
        assert_eq!(outbox.open(), Vec::<String>::new());

        let mut asking = Box::pin(outbox.ask("ask", json!({}), None));
        assert_eq!(asking.as_mut().now_or_never(), None);
        assert_eq!(outbox.open(), ["editor ask"]);
        outbox.answered(Response::from_ok(Id::String("2".into()), json!(7)), Reading::Exact);
        assert_eq!(asking.await, Ok(json!(7)));
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_is_there_before_anybody_waits_for_it_is_not_lost() {
        for deadline in [None, Some(Duration::from_secs(1))] {
            let (outbox, mut outgoing) = pair();
            let mut asking = Box::pin(outbox.ask("ask", json!({}), deadline));
            assert_eq!(asking.as_mut().now_or_never(), None);
            assert_eq!(outgoing.next().await.unwrap().method(), "ask");
            // The editor answers, and then more time passes than there was, before the one who asks is looked after again.
            outbox.answered(Response::from_ok(Id::Number(1), json!("blue")), Reading::Exact);
            tokio::time::advance(Duration::from_mins(1)).await;
            assert_eq!(asking.as_mut().now_or_never(), Some(Ok(json!("blue"))), "{deadline:?}");
            drop(asking);
            // And nothing is taken back that was answered.
            assert!(outgoing.next().now_or_never().is_none());
        }
    }

    #[tokio::test]
    async fn the_end_answers_every_question_and_refuses_new_ones() {
        let (outbox, _outgoing) = pair();
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
    async fn an_answer_that_cannot_be_read_leaves_nobody_waiting_for_ever() {
        let this = |id: i64| Unreadable::This(Id::Number(id));
        let perhaps = |id: i64| Unreadable::Perhaps(Id::Number(id));
        // Question 1 has a deadline, question 2 is a person's, question 3 is dealt with inline.
        for (lost, left, taken_back) in [
            (Unreadable::None, vec!["editor bounded", "editor inline", "editor person"], vec![]),
            (this(1), vec!["editor inline", "editor person"], vec![]),
            (this(2), vec!["editor bounded", "editor inline"], vec![]),
            (
                Unreadable::This(Id::String("x".into())),
                vec!["editor bounded", "editor inline", "editor person"],
                vec![],
            ),
            (perhaps(1), vec!["editor bounded", "editor inline", "editor person"], vec![]),
            (perhaps(2), vec!["editor bounded", "editor inline"], vec![2]),
            (Unreadable::Any, vec!["editor bounded"], vec![2, 3]),
        ] {
            let (outbox, mut outgoing) = pair();
            let mut bounded = Box::pin(outbox.ask("bounded", json!({}), Some(Duration::from_mins(1))));
            let mut person = Box::pin(outbox.ask("person", json!({}), None));
            assert_eq!(bounded.as_mut().now_or_never().or(person.as_mut().now_or_never()), None);
            let (sender, mut inline) = oneshot::channel();
            outbox.ask_inline("inline", json!({}), Box::new(move |answer| drop(sender.send(answer))));
            outbox.unreadable(&lost);
            assert_eq!(outbox.open(), left, "{lost:?}");
            let ended = |method: &str| !left.contains(&format!("editor {method}").as_str());
            let refused = |answer: Option<Result<Value, AskError>>| matches!(answer, Some(Err(AskError::Refused(_))));
            assert_eq!(refused(bounded.as_mut().now_or_never()), ended("bounded"), "{lost:?}");
            assert_eq!(refused(person.as_mut().now_or_never()), ended("person"), "{lost:?}");
            assert_eq!(
                refused(inline.try_recv().ok().map(|answer| answer.map(|given: Given| given.value))),
                ended("inline"),
                "{lost:?}"
            );
            let mut told = Vec::new();
            while let Some(Some(message)) = outgoing.next().now_or_never() {
                told.extend((message.method() == "$/cancelRequest").then(|| message.params().unwrap()["id"].clone()));
            }
            assert_eq!(told, taken_back, "{lost:?}");
        }
    }

    #[tokio::test]
    async fn an_editor_that_could_not_read_a_question_is_not_waited_for() {
        let (outbox, _outgoing) = pair();
        let mut asking = Box::pin(outbox.ask("ask", json!({}), None));
        assert_eq!(asking.as_mut().now_or_never(), None);
        outbox.answered(Response::from_error(Id::Null, Error::parse_error()), Reading::Exact);
        assert!(matches!(asking.await, Err(AskError::Refused(_))));
    }

    #[tokio::test]
    async fn an_edit_that_was_sent_is_not_taken_back() {
        let (outbox, mut outgoing) = pair();
        outbox.met(Client { apply_edit: true, ..Client::default() });
        let edit = ApplyEdit { uri: "untitled:a".into(), version: 3, edits: Vec::new(), label: "edit".into() };
        drop(outbox.apply_edit(edit, Duration::from_mins(1)).now_or_never());
        assert_eq!(outgoing.next().await.unwrap().method(), "workspace/applyEdit");
        assert!(outgoing.next().now_or_never().is_none());
        assert_eq!(outbox.open(), Vec::<String>::new());
    }
}
