//! What is told of a call while it lives: `toolEvent`, and `$/progress` where the client gave a token. All of it leaves in
//! order and before the result.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::editor::{Editor, News, ToolEvent, ToolEventKind, WorkDone};
use crate::ports::Clock;
use crate::tool::{Progress, Told};

use super::call::Status;

/// What a running call says is told at most so often.
const EVERY: Duration = Duration::from_millis(50);

/// Tells of one call.
pub(super) struct Reporter {
    editor: Arc<dyn Editor>,
    session_id: String,
    call_id: String,
    /// Where the client wants to hear of progress, by its own token.
    token: Option<Value>,
    /// What the call says while it runs.
    pub progress: Progress,
    begun: AtomicBool,
}

impl Reporter {
    pub(super) fn new(editor: &Arc<dyn Editor>, session_id: &str, call_id: &str, token: Option<&Value>) -> Reporter {
        // A token is a number or a string; whatever else came would not be understood when it comes back.
        let token = token.filter(|token| token.is_string() || token.is_number()).cloned();
        let heard = token.is_some() || editor.abilities().events;
        Reporter {
            editor: Arc::clone(editor),
            session_id: session_id.to_owned(),
            call_id: call_id.to_owned(),
            token,
            progress: if heard { Progress::heard() } else { Progress::default() },
            begun: AtomicBool::new(false),
        }
    }

    /// The call has its turn.
    pub(super) fn start(&self, name: &str, title: &str) {
        self.event(ToolEventKind::Start, Some(name), || None);
        if let Some(token) = &self.token {
            self.begun.store(true, Ordering::Relaxed);
            let begin = WorkDone::Begin { title: title.to_owned(), cancellable: false };
            self.editor.tell(News::Progress(token.clone(), begin));
        }
    }

    /// Tells on what the call says, together what comes together. Never ends.
    pub(super) async fn tell_on(&self, clock: &dyn Clock) -> Infallible {
        loop {
            self.progress.news().await;
            // What nobody reads would pile up: here the oldest gives way, and is counted.
            while self.editor.is_behind() {
                clock.sleep(EVERY).await;
            }
            self.flush();
            clock.sleep(EVERY).await;
        }
    }

    fn flush(&self) {
        let Some(told) = self.progress.take() else { return };
        if let Some(token) = &self.token
            && (told.message.is_some() || told.percentage.is_some())
        {
            let report = WorkDone::Report { message: told.message.clone(), percentage: told.percentage };
            self.editor.tell(News::Progress(token.clone(), report));
        }
        self.event(ToolEventKind::Output, None, || Some(detail(&told)));
    }

    /// The call has ended: tells the rest. Gives the last event, for whoever keeps the order of ends.
    pub(super) fn end(&self, status: Status, detail: impl FnOnce() -> Option<Value>) -> Option<ToolEvent> {
        self.progress.close();
        self.flush();
        if let Some(token) = self.token.as_ref().filter(|_| self.begun.swap(false, Ordering::Relaxed)) {
            let message = match status {
                Status::Ok => "done",
                Status::Error => "failed",
                Status::Denied => "denied",
                Status::Cancelled => "cancelled",
                Status::Superseded => "superseded",
            };
            self.editor.tell(News::Progress(token.clone(), WorkDone::End { message: message.to_owned() }));
        }
        self.made(ToolEventKind::Complete, None, detail)
    }

    fn event(&self, kind: ToolEventKind, name: Option<&str>, detail: impl FnOnce() -> Option<Value>) {
        if let Some(event) = self.made(kind, name, detail) {
            self.editor.tell(News::Tool(event));
        }
    }

    fn made(
        &self,
        kind: ToolEventKind,
        name: Option<&str>,
        detail: impl FnOnce() -> Option<Value>,
    ) -> Option<ToolEvent> {
        self.editor.abilities().events.then(|| ToolEvent {
            session_id: self.session_id.clone(),
            call_id: self.call_id.clone(),
            kind,
            name: name.map(str::to_owned),
            detail: detail(),
        })
    }
}

fn detail(told: &Told) -> Value {
    let mut fields = Map::new();
    if !told.text.is_empty() {
        fields.insert("text".to_owned(), json!(told.text));
    }
    if told.dropped > 0 {
        fields.insert("droppedBytes".to_owned(), json!(told.dropped));
    }
    if let Some(percentage) = told.percentage {
        fields.insert("percentage".to_owned(), json!(percentage));
    }
    if let Some(message) = &told.message {
        fields.insert("message".to_owned(), json!(message));
    }
    Value::Object(fields)
}

#[cfg(test)]
mod tests {
    use std::sync::{Mutex, PoisonError};

    use super::*;
    use crate::editor::Abilities;
    use crate::ports::SystemClock;

    /// An editor that only listens, and may have much that it has not read.
    #[derive(Default)]
    struct Listener {
        behind: AtomicBool,
        heard: Mutex<Vec<Value>>,
    }

    impl Listener {
        fn heard(&self) -> Vec<Value> {
            std::mem::take(&mut *self.heard.lock().unwrap_or_else(PoisonError::into_inner))
        }
    }

    impl Editor for Listener {
        fn abilities(&self) -> Abilities {
            Abilities { events: true, ..Abilities::default() }
        }

        fn tell(&self, news: News) {
            let News::Tool(event) = news else { return };
            let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
            heard.push(event.detail.unwrap_or_default());
        }

        fn is_behind(&self) -> bool {
            self.behind.load(Ordering::Relaxed)
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_editor_that_is_behind_is_told_together_later_and_always_in_the_end() {
        let listener = Arc::new(Listener::default());
        let editor: Arc<dyn Editor> = listener.clone();
        let reporter = Reporter::new(&editor, "s", "c", None);
        let play = async {
            let line = "x".repeat(10_000);
            let say = async |times: u32| {
                for _ in 0..times {
                    reporter.progress.output(&line);
                    tokio::time::sleep(EVERY * 2).await;
                }
            };
            say(2).await;
            assert_eq!(listener.heard().len(), 2);
            listener.behind.store(true, Ordering::Relaxed);
            say(100).await;
            assert_eq!(listener.heard(), Vec::<Value>::new());
            listener.behind.store(false, Ordering::Relaxed);
            tokio::time::sleep(EVERY * 2).await;
            let told = listener.heard();
            assert_eq!(told.len(), 1);
            assert_eq!(
                told[0]["text"].as_str().map_or(0, str::len) as u64 + told[0]["droppedBytes"].as_u64().unwrap(),
                1_000_000
            );
            listener.behind.store(true, Ordering::Relaxed);
            say(1).await;
            reporter.end(Status::Ok, || None);
            assert_eq!(listener.heard(), [json!({ "text": line })]);
        };
        tokio::select! {
            never = reporter.tell_on(&SystemClock) => match never {},
            () = play => {}
        }
    }
}
