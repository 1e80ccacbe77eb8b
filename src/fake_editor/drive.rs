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
/// So long for the hello, when there are no more steps.
const LAST_HELLO: Duration = Duration::from_secs(10);

/// How it went.
#[derive(Debug)]
pub struct Driven {
    /// What the other side did first that broke the protocol, in words that follow its name.
    pub fault: Option<String>,
    /// Whether the events could be written.
    pub told: std::io::Result<()>,
}

/// Plays an editor over a pair of pipes to a sidecar, or to any language server, until `steps` end; then it leaves in good
/// order. Bad steps are answered with an error event and change nothing. `give_up` is called once, as soon as nothing good
/// can come from the other side any more: it cannot be read, or does not answer.
pub async fn drive<S, E, R, W, G>(steps: S, events: E, pipes: (R, W), ports: &Ports, setup: Setup, give_up: G) -> Driven
where
    S: AsyncBufRead + Unpin,
    E: AsyncWrite + Unpin,
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
    G: FnOnce(),
{
    let (reader, writer) = pipes;
    let mut stage = Stage::new(Link::start(reader, writer), ports.clone(), setup);
    stage.news = Some(Vec::new());
    let mut driver = Driver { stage, events, queue: VecDeque::new(), current: None, give_up: Some(give_up) };
    let driven = driver.run(steps, ports).await;
    driver.stage.leave().await;
    let told = driver.news().await;
    Driven { fault: driver.stage.first_fault().map(str::to_owned), told: driven.and(told) }
}

struct Driver<E, G> {
    stage: Stage,
    events: E,
    queue: VecDeque<Line>,
    /// The step that is under way, and what it waits for; `None`: for the hello.
    current: Option<(Line, Option<Wait>)>,
    /// What is called when the other side is of no more use.
    give_up: Option<G>,
}

impl<E: AsyncWrite + Unpin, G: FnOnce()> Driver<E, G> {
    async fn run<S: AsyncBufRead + Unpin>(&mut self, steps: S, ports: &Ports) -> std::io::Result<()> {
        let mut lines = steps.split(b'\n');
        let mut number = 0;
        let mut over = None;
        loop {
            self.news().await?;
            if self.current.is_none() {
                match self.queue.pop_front() {
                    Some(line) if Stage::needs_hello(&line) => {
                        self.stage.hail();
                        self.current = Some((line, None));
                    }
                    Some(line) => {
                        self.begin(line).await?;
                        continue;
                    }
                    None if over.is_some() => return Ok(()),
                    None => {}
                }
            }
            if let Some(over) = over {
                self.stage.hurry(over + LAST_HELLO);
            }
            let greeted = self.stage.greeted().is_some();
            if greeted && let Some((line, None)) = self.current.take_if(|(_, wait)| wait.is_none()) {
                self.begin(line).await?;
                continue;
            }
            if self.reply().await? {
                continue;
            }
            if over.is_some() && !self.queue.iter().any(|line| matches!(line.step, Step::Reply(_))) {
                self.stage.editor.deny_what_is_open();
            }
            let done = |wait: &Wait| self.stage.ready(wait) || self.stage.is_gone();
            if self.current.as_ref().and_then(|(_, wait)| wait.as_ref()).is_some_and(done) {
                self.finish().await?;
                continue;
            }
            let late = over.map(|over| over + LAST_WAIT);
            if late.is_some_and(|late| ports.clock.now() >= late) {
                return self.not_waited_for().await;
            }
            let due = self.stage.hello_due().into_iter().chain(late).min();
            tokio::select! {
                read = lines.next_segment(), if over.is_none() => match read? {
                    Some(bytes) => {
                        number += 1;
                        self.take(&bytes, number).await?;
                    }
                    None => over = Some(ports.clock.now()),
                },
                () = self.stage.turn_until(due) => {}
            }
        }
    }

    /// Tells that the steps that are left are over: there was time enough for them.
    async fn not_waited_for(&mut self) -> std::io::Result<()> {
        let left = self.current.take().map(|(line, _)| line).into_iter().chain(std::mem::take(&mut self.queue));
        for line in left.collect::<Vec<_>>() {
            let why = format!("the steps ended {} s ago, and it is not waited for any longer", LAST_WAIT.as_secs());
            self.tell_step(&line, Err(why)).await?;
        }
        Ok(())
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
            Ok(wait) => self.current = Some((line, Some(wait))),
            Err(why) => self.tell_step(&line, Err(why)).await?,
        }
        Ok(())
    }

    async fn finish(&mut self) -> std::io::Result<()> {
        let Some((line, Some(wait))) = self.current.take() else { return Ok(()) };
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
        if self.stage.is_broken()
            && let Some(give_up) = self.give_up.take()
        {
            give_up();
        }
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
                Heard::Fault(why) => json!({ "event": "fault", "error": format!("the program {why}") }),
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

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use expect_test::{Expect, expect};
    use tokio::io::{AsyncReadExt as _, DuplexStream};

    use super::*;
    use crate::fake_editor::Manner;
    use crate::rpc::{Decoder, encode};

    /// Says this at once, answers requests of these methods, and goes away at once or stays until we are gone. The method
    /// that it heard last.
    async fn other_side(mut pipe: DuplexStream, says: &str, answers: &[&str], stays: bool) -> String {
        let (mut decoder, mut chunk, mut last) = (Decoder::new(), [0; 4096], String::new());
        pipe.write_all(says.as_bytes()).await.unwrap();
        if !stays {
            return last;
        }
        loop {
            while let Ok(Some(frame)) = decoder.next_frame() {
                let asked: Value = serde_json::from_slice(&frame).unwrap();
                asked["method"].as_str().unwrap_or_default().clone_into(&mut last);
                if asked["method"].as_str().is_some_and(|method| answers.contains(&method)) {
                    let answer = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": {} });
                    pipe.write_all(&encode(answer.to_string().as_bytes())).await.unwrap();
                }
            }
            match pipe.read(&mut chunk).await {
                Ok(0) | Err(_) => return last,
                Ok(count) => decoder.push(&chunk[..count]),
            }
        }
    }

    async fn check(steps: &str, says: &'static str, answers: &'static [&str], stays: bool, expected: &Expect) {
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let other = tokio::spawn(other_side(theirs, says, answers, stays));
        let setup = Setup {
            root: "/w".into(),
            manner: Manner::default(),
            settings: serde_json::Map::new(),
            abilities: serde_json::Map::new(),
            waits: false,
            open_questions: true,
            repeatable: false,
        };
        let (mut events, gave_up) = (Vec::new(), Cell::new(false));
        let give_up = || gave_up.set(true);
        let pipes = tokio::io::split(ours);
        let driven = drive(steps.as_bytes(), &mut events, pipes, &Ports::system(), setup, give_up).await;
        let last = other.await.unwrap();
        assert!(driven.told.is_ok());
        // Who keeps to the protocol hears the end of it.
        assert!(driven.fault.is_some() || last == "exit", "{last}");
        let fault = driven.fault.unwrap_or_else(|| "none".to_owned());
        let events = String::from_utf8(events).unwrap();
        expected.assert_eq(&format!("{events}fault: {fault}; gave up: {}\n", gave_up.get()));
    }

    const OPEN: &str = r#"{"open": {"path": "a.txt", "text": "x\n"}}"#;
    const WELL: &[&str] = &["initialize", "shutdown"];

    #[tokio::test(start_paused = true)]
    async fn the_other_side_that_keeps_to_the_protocol() {
        check("", "", WELL, true, &expect![["fault: none; gave up: false\n"]]).await;
        check(
            OPEN,
            "",
            WELL,
            true,
            &expect![[r#"
                {"event":"step","line":1,"step":"open a.txt","ok":true}
                fault: none; gave up: false
            "#]],
        )
        .await;
        check(
            r#"{"answer": {"approve": "once"}}"#,
            "noise\n",
            WELL,
            true,
            &expect![[r#"
                {"event":"step","line":1,"step":"answer approvals with once","ok":true}
                fault: none; gave up: false
            "#]],
        )
        .await;
    }

    #[tokio::test(start_paused = true)]
    async fn the_other_side_that_does_not() {
        // It never answers.
        check(OPEN, "", &[], true, &expect![[r#"
            {"event":"fault","error":"the program did not answer `initialize` in time"}
            {"event":"step","line":1,"step":"open a.txt","ok":false,"error":"the other side did not answer `initialize` in time"}
            fault: did not answer `initialize` in time; gave up: true
        "#]]).await;
        check(
            "",
            "",
            &[],
            true,
            &expect![[r#"
            {"event":"fault","error":"the program did not answer `initialize` in time"}
            fault: did not answer `initialize` in time; gave up: true
        "#]],
        )
        .await;
        check(
            OPEN,
            "",
            &["initialize"],
            true,
            &expect![[r#"
            {"event":"step","line":1,"step":"open a.txt","ok":true}
            {"event":"fault","error":"the program did not answer `shutdown` in time"}
            fault: did not answer `shutdown` in time; gave up: true
        "#]],
        )
        .await;
        let waits = r#"{"request": {"method": "x", "wait": true}}
            {"settle": {}}"#;
        check(waits, "", WELL, true, &expect![[r#"
            {"event":"step","line":1,"step":"request x","ok":false,"error":"the steps ended 60 s ago, and it is not waited for any longer"}
            {"event":"step","line":2,"step":"settle","ok":false,"error":"the steps ended 60 s ago, and it is not waited for any longer"}
            fault: none; gave up: false
        "#]]).await;
        // Its frames are broken, or are no messages.
        check(OPEN, "Content-Length: x\r\n\r\n", WELL, true, &expect![[r#"
            {"event":"fault","error":"the program sent a frame that cannot be read: `x` is not a frame length"}
            {"event":"gone"}
            {"event":"fault","error":"the program is gone, and did not answer `initialize`"}
            {"event":"step","line":1,"step":"open a.txt","ok":false,"error":"the other side is gone, and did not answer `initialize`"}
            fault: sent a frame that cannot be read: `x` is not a frame length; gave up: true
        "#]]).await;
        check(OPEN, "Content-Length: 2\r\n\r\n{]", WELL, true, &expect![[r#"
            {"event":"fault","error":"the program sent a frame that is no JSON: key must be a string at line 1 column 2"}
            {"event":"step","line":1,"step":"open a.txt","ok":true}
            fault: sent a frame that is no JSON: key must be a string at line 1 column 2; gave up: false
        "#]]).await;
        check(
            OPEN,
            "Content-Length: 2\r\n\r\n[]",
            WELL,
            true,
            &expect![[r#"
            {"event":"fault","error":"the program sent a frame that holds no object"}
            {"event":"step","line":1,"step":"open a.txt","ok":true}
            fault: sent a frame that holds no object; gave up: false
        "#]],
        )
        .await;
        check(OPEN, "Content-Length: 9\r\n\r\n{", WELL, false, &expect![[r#"
            {"event":"fault","error":"the program ended its output inside a frame"}
            {"event":"gone"}
            {"event":"fault","error":"the program is gone, and did not answer `initialize`"}
            {"event":"step","line":1,"step":"open a.txt","ok":false,"error":"the other side is gone, and did not answer `initialize`"}
            fault: ended its output inside a frame; gave up: true
        "#]]).await;
        check(OPEN, "Content-Len", WELL, false, &expect![[r#"
            {"event":"gone"}
            {"event":"fault","error":"the program is gone, and did not answer `initialize`"}
            {"event":"step","line":1,"step":"open a.txt","ok":false,"error":"the other side is gone, and did not answer `initialize`"}
            fault: is gone, and did not answer `initialize`; gave up: true
        "#]]).await;
        // It goes.
        check(OPEN, "", WELL, false, &expect![[r#"
            {"event":"gone"}
            {"event":"fault","error":"the program is gone, and did not answer `initialize`"}
            {"event":"step","line":1,"step":"open a.txt","ok":false,"error":"the other side is gone, and did not answer `initialize`"}
            fault: is gone, and did not answer `initialize`; gave up: true
        "#]]).await;
        check(
            "",
            "",
            WELL,
            false,
            &expect![[r#"
            {"event":"gone"}
            {"event":"fault","error":"the program is gone, and did not answer `initialize`"}
            fault: is gone, and did not answer `initialize`; gave up: true
        "#]],
        )
        .await;
    }
}
