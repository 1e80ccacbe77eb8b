//! Plays the editor's side of a recording against a sidecar, up to the first difference.

use std::pin::pin;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::mpsc;

use super::compare::Terms;
use super::cut::{Cut, Cutter};
use super::line::{Content, Dir, Frame, Recording};
use super::plan::{Next, Plan, Wrong};
use crate::ports::Clock;

/// How long a frame is waited for, at least.
const PATIENCE: Duration = Duration::from_secs(10);

/// And so many times as long as it took when it was recorded.
const SLOWER: u32 = 3;

/// Nobody waits longer, whatever the recording says.
const LONGEST: Duration = Duration::from_hours(24);

/// Frames that are shown on each side of a difference.
const AROUND: usize = 3;

/// How a replay ended.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Replayed {
    /// Frames of the editor's that were sent.
    pub sent: usize,
    /// Frames of the sidecar's that came as they were recorded.
    pub came: usize,
    /// How it ended.
    pub outcome: Outcome,
}

/// How a replay ended.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Outcome {
    /// All came as it was recorded.
    Same,
    /// All up to here came as it was recorded; frames are missing behind this number, so that nothing can be said of the
    /// rest.
    SameUpTo(u64),
    /// Something came that was not recorded, or did not come that was.
    Differs(Box<Difference>),
}

/// The first difference.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Difference {
    /// The number of the recorded frame; none: all of them had come.
    pub frame: Option<u64>,
    /// What is wrong.
    pub why: String,
    /// Where in the frame: a JSON pointer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
    /// What was recorded there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<Value>,
    /// What came there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub got: Option<Value>,
    /// All that came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<Value>,
    /// The frames round it, as lines that may be cut short.
    pub around: Vec<String>,
}

/// Plays a recording against the sidecar that reads `input` and writes `output`.
pub async fn replay(
    recording: &Recording,
    mut input: impl AsyncWrite + Unpin,
    output: impl AsyncRead + Unpin,
    clock: &dyn Clock,
) -> Replayed {
    let (queue, mut batches) = mpsc::unbounded_channel::<Vec<u8>>();
    // Beside the reading, for a sidecar may stop reading while nobody reads what it writes. An error means that it is
    // gone, which is told by its output.
    let writing = async move {
        while let Some(batch) = batches.recv().await {
            if input.write_all(&batch).await.is_err() || input.flush().await.is_err() {
                return;
            }
        }
        let _ = input.shutdown().await;
    };
    let mut playing = pin!(play(recording, queue, output, clock));
    tokio::select! {
        replayed = &mut playing => replayed,
        () = writing => playing.await,
    }
}

async fn play(
    recording: &Recording,
    queue: mpsc::UnboundedSender<Vec<u8>>,
    output: impl AsyncRead + Unpin,
    clock: &dyn Clock,
) -> Replayed {
    let frames = &recording.frames;
    let mut plan = Plan::new(frames, Terms { redacted: recording.redacted });
    let mut messages = Messages { output, cutter: Cutter::default(), ready: Vec::new() };
    let mut queue = Some(queue);
    let mut sent = 0;
    let wrong = loop {
        let (mut batch, mut ends) = (Vec::new(), false);
        let next = loop {
            match plan.next() {
                Next::Send(at) => {
                    sent += 1;
                    match &frames[at].content {
                        Content::Message(message) => framed(&plan.now(message), &mut batch),
                        Content::Raw(bytes, _) => batch.extend_from_slice(bytes),
                        Content::End => ends = true,
                    }
                }
                other => break other,
            }
        };
        // Together, as far as nothing has to come in between: what was on its way at once then is so now.
        if let Some(queue) = queue.as_ref().filter(|_| !batch.is_empty()) {
            let _ = queue.send(batch);
        }
        if ends {
            queue = None;
        }
        let whole = recording.complete && !recording.gap;
        let (waited, patience) = match next {
            Next::Wait(at) => (Some(at), patience(frames, at)),
            // It may have been told to end by a signal; now it is by the end of its input. Then it says nothing more.
            Next::Done if whole => {
                queue = None;
                (None, PATIENCE)
            }
            Next::Done | Next::Send(_) => break None,
        };
        let came = tokio::select! {
            biased;
            came = messages.next() => came,
            // What it said when a signal had told it to end.
            () = clock.sleep(patience), if whole && plan.all_sent() && queue.is_some() => {
                queue = None;
                continue;
            }
            () = clock.sleep(patience) => {
                break waited.map(|at| (Wrong { at: Some(at), why: "it did not come", unequal: None }, None));
            }
        };
        match (came, waited) {
            (Some(Came::Message(message)), _) => {
                if let Err(wrong) = plan.take(&message) {
                    break Some((wrong, Some(message)));
                }
            }
            (Some(Came::Rubbish(why)), at) => break Some((Wrong { at, why, unequal: None }, None)),
            (None, Some(at)) => {
                let why = "the sidecar ended before it came";
                break Some((Wrong { at: Some(at), why, unequal: None }, None));
            }
            (None, None) => break None,
        }
    };
    let outcome = match wrong {
        Some((wrong, message)) => Outcome::Differs(Box::new(difference(frames, wrong, message))),
        None if recording.gap => Outcome::SameUpTo(frames.last().map_or(0, |frame| frame.n)),
        None => Outcome::Same,
    };
    Replayed { sent, came: plan.came(), outcome }
}

/// How long a frame is waited for: it took some time when it was recorded.
fn patience(frames: &[Frame], at: usize) -> Duration {
    let before = frames[..at].iter().rev().find(|frame| frame.dir == Dir::In).map_or(0, |frame| frame.ms);
    (PATIENCE + Duration::from_millis(frames[at].ms.saturating_sub(before)) * SLOWER).min(LONGEST)
}

fn framed(message: &Value, out: &mut Vec<u8>) {
    let body = message.to_string();
    out.extend_from_slice(format!("Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes());
}

fn difference(frames: &[Frame], wrong: Wrong, message: Option<Value>) -> Difference {
    let at = wrong.at.unwrap_or(frames.len());
    let near = at.saturating_sub(AROUND)..(at + AROUND + 1).min(frames.len());
    let (pointer, expected, got) = match wrong.unequal {
        Some(unequal) => (Some(unequal.pointer), unequal.expected, unequal.got),
        None => (None, None, None),
    };
    Difference {
        frame: wrong.at.map(|at| frames[at].n),
        why: wrong.why.to_owned(),
        pointer,
        expected,
        got,
        message,
        around: frames[near].iter().map(shown).collect(),
    }
}

/// A frame as a line, cut short.
fn shown(frame: &Frame) -> String {
    let content = match &frame.content {
        Content::Message(message) => message.to_string(),
        Content::Raw(bytes, why) => format!("{} bytes: {why}", bytes.len()),
        Content::End => "the end".to_owned(),
    };
    let way = if frame.dir == Dir::In { "in" } else { "out" };
    let mut line = format!("{} {way} {content}", frame.n);
    if let Some((cut, _)) = line.char_indices().nth(240) {
        line.truncate(cut);
        line.push('…');
    }
    line
}

/// What came from the sidecar.
enum Came {
    Message(Value),
    Rubbish(&'static str),
}

struct Messages<R> {
    output: R,
    cutter: Cutter,
    /// The last first.
    ready: Vec<Came>,
}

impl<R: AsyncRead + Unpin> Messages<R> {
    /// The next one; none: the output has ended. Dropped while it waits, it has lost nothing.
    async fn next(&mut self) -> Option<Came> {
        loop {
            if let Some(came) = self.ready.pop() {
                return Some(came);
            }
            let mut chunk = vec![0; 64 << 10];
            let len = self.output.read(&mut chunk).await.ok().filter(|len| *len > 0)?;
            let ready = &mut self.ready;
            self.cutter.push(&chunk[..len], |cut| {
                ready.push(match cut {
                    Cut::Body(body) => match serde_json::from_slice(&body) {
                        Ok(message) => Came::Message(message),
                        Err(_) => Came::Rubbish("a message that is no JSON came"),
                    },
                    Cut::Stray(..) | Cut::TooLong | Cut::End => Came::Rubbish("bytes that are no message came"),
                });
            });
            self.ready.reverse();
        }
    }
}
