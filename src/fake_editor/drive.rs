//! An editor driven from outside: steps as lines of JSON in, events as lines of JSON out.

use std::collections::VecDeque;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _};

use super::link::Link;
use super::play::in_words;
use super::script::{Line, line};
use super::stage::{Done, Heard, Setup, Stage, Wait};
use super::step::Step;
use crate::ports::Ports;

/// So long is waited for what the last steps wait for, when there are no more.
const LAST_WAIT: Duration = Duration::from_mins(1);

/// Plays an editor over a pair of pipes to a sidecar, or to any language server, until `steps` end; then it leaves in good
/// order. Bad steps are answered with an error event and change nothing. The error is that of writing the events.
pub async fn drive<S, E, R, W>(
    steps: S,
    events: E,
    reader: R,
    writer: W,
    ports: &Ports,
    setup: Setup,
) -> std::io::Result<()>
where
    S: AsyncBufRead + Unpin,
    E: AsyncWrite + Unpin,
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let mut stage = Stage::new(Link::start(reader, writer), ports.clone(), setup);
    stage.news = Some(Vec::new());
    let mut driver = Driver { stage, events, queue: VecDeque::new(), current: None };
    let driven = driver.run(steps, ports).await;
    driver.stage.leave().await;
    let told = driver.news().await;
    driven.and(told)
}

struct Driver<E> {
    stage: Stage,
    events: E,
    queue: VecDeque<Line>,
    /// The step that is waited for.
    current: Option<(Line, Wait)>,
}

impl<E: AsyncWrite + Unpin> Driver<E> {
    async fn run<S: AsyncBufRead + Unpin>(&mut self, steps: S, ports: &Ports) -> std::io::Result<()> {
        let mut lines = steps.split(b'\n');
        let mut number = 0;
        let mut over = None;
        loop {
            self.news().await?;
            if self.current.is_none() {
                match self.queue.pop_front() {
                    Some(line) => {
                        self.begin(line).await?;
                        continue;
                    }
                    None if over.is_some() => return Ok(()),
                    None => {}
                }
            }
            if self.reply().await? {
                continue;
            }
            if over.is_some() && !self.queue.iter().any(|line| matches!(line.step, Step::Reply(_))) {
                self.stage.editor.deny_what_is_open();
            }
            if self.current.as_ref().is_some_and(|(_, wait)| self.stage.ready(wait) || self.stage.is_gone()) {
                self.finish().await?;
                continue;
            }
            let late = async {
                match over {
                    Some(due) => ports.clock.sleep(due - ports.clock.now()).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                read = lines.next_segment(), if over.is_none() => match read? {
                    Some(bytes) => {
                        number += 1;
                        self.take(&bytes, number).await?;
                    }
                    None => over = Some(ports.clock.now() + LAST_WAIT),
                },
                () = self.stage.turn() => {}
                () = late => return Ok(()),
            }
        }
    }

    async fn take(&mut self, bytes: &[u8], number: usize) -> std::io::Result<()> {
        let text = String::from_utf8_lossy(bytes);
        let text = text.trim();
        if text.is_empty() || text.starts_with("//") {
            return Ok(());
        }
        match line(text, number) {
            Ok(line) => {
                self.queue.push_back(line);
                Ok(())
            }
            Err(why) => self.tell(&json!({ "event": "step", "line": number, "ok": false, "error": why })).await,
        }
    }

    /// A question can be answered while a step waits, which may wait for just that: a `reply` overtakes it, once its
    /// question is there. Whether one did.
    async fn reply(&mut self) -> std::io::Result<bool> {
        let editor = &self.stage.editor;
        let fits = |line: &Line| matches!(&line.step, Step::Reply(reply) if editor.can_reply(reply));
        let Some(line) = self.queue.iter().position(fits).and_then(|at| self.queue.remove(at)) else {
            return Ok(false);
        };
        let done = match self.stage.begin(&line).await {
            Ok(wait) => self.stage.finish(&line, wait),
            Err(why) => Err(why),
        };
        self.tell_step(&line, done).await?;
        Ok(true)
    }

    async fn begin(&mut self, line: Line) -> std::io::Result<()> {
        match self.stage.begin(&line).await {
            Ok(wait) => self.current = Some((line, wait)),
            Err(why) => self.tell_step(&line, Err(why)).await?,
        }
        Ok(())
    }

    async fn finish(&mut self) -> std::io::Result<()> {
        let Some((line, wait)) = self.current.take() else { return Ok(()) };
        let done = if self.stage.ready(&wait) {
            self.stage.finish(&line, wait)
        } else {
            Err("the other side is gone".to_owned())
        };
        self.tell_step(&line, done).await
    }

    async fn tell_step(&mut self, line: &Line, done: Result<Done, String>) -> std::io::Result<()> {
        // What came before it was done is told before.
        self.news().await?;
        let mut event = json!({ "event": "step", "line": line.number, "step": in_words(&line.step) });
        if let Some(id) = &line.id {
            event["id"] = id.clone();
        }
        match done {
            Ok(done) => {
                event["ok"] = json!(done.misses.is_empty());
                if !done.ended.is_empty() {
                    event["results"] = done.ended.into_iter().collect::<serde_json::Map<_, _>>().into();
                }
                if !done.misses.is_empty() {
                    let misses = done.misses.iter().map(|miss| {
                        json!({ "what": miss.what, "expected": miss.expected, "found": miss.found, "fix": miss.fix })
                    });
                    event["misses"] = misses.collect();
                }
            }
            Err(why) => {
                event["ok"] = json!(false);
                event["error"] = json!(why);
            }
        }
        self.tell(&event).await
    }

    /// Tells what came from the other side.
    async fn news(&mut self) -> std::io::Result<()> {
        let news = self.stage.news.as_mut().map(std::mem::take).unwrap_or_default();
        for heard in news {
            let event = match heard {
                Heard::Message(message) => {
                    let kind = if message.get("id").is_some() { "request" } else { "notification" };
                    let mut event = json!({ "event": kind, "method": message["method"], "params": message["params"] });
                    if let Some(id) = message.get("id") {
                        event["id"] = id.clone();
                        event["open"] = json!(self.stage.editor.answers.is_open(id));
                    }
                    event
                }
                Heard::Ended(call, result) => json!({ "event": "ended", "call": call, "result": result }),
                Heard::Gone => json!({ "event": "gone" }),
            };
            self.tell(&event).await?;
        }
        Ok(())
    }

    async fn tell(&mut self, event: &Value) -> std::io::Result<()> {
        self.events.write_all(format!("{event}\n").as_bytes()).await?;
        self.events.flush().await
    }
}
