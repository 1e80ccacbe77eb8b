//! The recorder: a queue that never makes anybody wait, and the thread that makes lines of what is in it.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;
use tracing::error;

use super::cut::{Cut, MAX_FRAME};
use super::line::{Content, Dir, End, Frame, Gap, Head, Line};
use super::redact::Redactor;
use super::typed::Typed;
use crate::ports::{Clock, LineFile};

/// What may wait to be written (bytes); frames beyond it are dropped, and counted.
const WAITING: usize = MAX_FRAME;

/// How long the end of a process may be put off until the last lines are written.
const FINISH: Duration = Duration::from_secs(3);

/// Where lines go.
pub trait Sink: Send + 'static {
    /// Adds lines, each with its end.
    fn append(&mut self, lines: &[u8]) -> io::Result<()>;
    /// Puts other lines in the place of those that are there, all or none.
    fn rewrite(&mut self, edit: &mut dyn FnMut(&str) -> Option<String>) -> io::Result<()>;
}

impl Sink for LineFile {
    fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        LineFile::append(self, lines)
    }

    fn rewrite(&mut self, edit: &mut dyn FnMut(&str) -> Option<String>) -> io::Result<()> {
        LineFile::rewrite(self, edit)
    }
}

/// Takes what crosses the wire. Cheap to clone.
#[derive(Clone)]
pub struct Recorder {
    shared: Arc<Shared>,
    clock: Arc<dyn Clock>,
    start: Instant,
}

#[derive(Default)]
struct Shared {
    /// What may wait (bytes).
    room: usize,
    queue: Mutex<Queue>,
    /// Rings for the thread when there is something to do, and for whoever waits for its end.
    bell: Condvar,
}

#[derive(Default)]
struct Queue {
    items: VecDeque<Item>,
    bytes: usize,
    /// The number of the last frame.
    n: u64,
    /// What was dropped since the last one that was not.
    dropped: Gap,
    /// The exit code, once there is nothing more to come.
    code: Option<u8>,
    /// Whether the thread has ended.
    done: bool,
}

struct Item {
    n: u64,
    dir: Dir,
    ms: u64,
    /// What was dropped before it.
    gap: Gap,
    cut: Cut,
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Recorder {
    /// Starts the thread that writes to `sink`. `complain` is told once, when that fails: then nothing more is recorded.
    pub fn start(
        head: Head,
        sink: impl Sink,
        clock: Arc<dyn Clock>,
        complain: impl FnOnce(String) + Send + 'static,
    ) -> io::Result<Recorder> {
        Recorder::start_with_room(WAITING, head, sink, clock, complain)
    }

    fn start_with_room(
        room: usize,
        head: Head,
        sink: impl Sink,
        clock: Arc<dyn Clock>,
        complain: impl FnOnce(String) + Send + 'static,
    ) -> io::Result<Recorder> {
        let shared = Arc::new(Shared { room, ..Shared::default() });
        let start = clock.now();
        let theirs = Arc::clone(&shared);
        std::thread::Builder::new().name("recording".to_owned()).spawn(move || {
            // Whoever waits for the end must hear of it, also when we panic.
            let ended = Ended(theirs);
            let mut scribe = Scribe::new(head);
            if let Err(fault) = scribe.write_all(&ended.0, sink) {
                error!(%fault, "the recording failed");
                complain(format!("the recording cannot be written, and ends here: {fault}"));
            }
        })?;
        Ok(Recorder { shared, clock, start })
    }

    /// Takes a piece of one direction. Never waits: what has no room is dropped.
    pub(super) fn put(&self, dir: Dir, cut: Cut) {
        let ms = u64::try_from(self.clock.now().duration_since(self.start).as_millis()).unwrap_or(u64::MAX);
        let mut queue = self.shared.queue();
        if queue.done {
            return;
        }
        queue.n += 1;
        if cut == Cut::TooLong || queue.bytes + cut.len() > self.shared.room {
            match dir {
                Dir::In => queue.dropped.input += 1,
                Dir::Out => queue.dropped.out += 1,
            }
            return;
        }
        queue.bytes += cut.len();
        let (n, gap) = (queue.n, std::mem::take(&mut queue.dropped));
        queue.items.push_back(Item { n, dir, ms, gap, cut });
        drop(queue);
        self.shared.bell.notify_all();
    }

    /// Nothing more comes: waits, for a moment at most, until all is written, and gives whether it is. `code`: the exit
    /// code. Blocks.
    pub fn finish(&self, code: u8) -> bool {
        let mut queue = self.shared.queue();
        queue.code.get_or_insert(code);
        self.shared.bell.notify_all();
        let waited = self.shared.bell.wait_timeout_while(queue, FINISH, |queue| !queue.done);
        let (queue, _) = waited.unwrap_or_else(PoisonError::into_inner);
        queue.done
    }
}

struct Ended(Arc<Shared>);

impl Drop for Ended {
    fn drop(&mut self) {
        let mut queue = self.0.queue();
        queue.done = true;
        queue.items.clear();
        queue.bytes = 0;
        drop(queue);
        self.0.bell.notify_all();
    }
}

/// Makes lines of frames. All of it but [`Scribe::write_all`] is pure.
pub(super) struct Scribe {
    /// Until it is written, with the first frame, which may tell the workspace folders.
    head: Option<Head>,
    redactor: Redactor,
    typed: Typed,
    /// What had become known when the first message was written.
    known_first: Option<usize>,
    frames: u64,
    dropped: Gap,
}

impl Scribe {
    pub(super) fn new(head: Head) -> Scribe {
        let (redactor, typed) = (Redactor::default(), Typed::default());
        Scribe { head: Some(head), redactor, typed, known_first: None, frames: 0, dropped: Gap::default() }
    }

    fn write_all(&mut self, shared: &Shared, mut sink: impl Sink) -> io::Result<()> {
        loop {
            let mut queue = shared.queue();
            while queue.items.is_empty() && queue.code.is_none() {
                queue = shared.bell.wait(queue).unwrap_or_else(PoisonError::into_inner);
            }
            let items = std::mem::take(&mut queue.items);
            let (code, dropped) = (queue.code, queue.dropped);
            drop(queue);
            // Their bytes count until they are written.
            for item in &items {
                let lines = self.lines(item);
                sink.append(lines.as_bytes())?;
                shared.queue().bytes -= item.cut.len();
            }
            if let Some(code) = code.filter(|_| items.is_empty()) {
                return self.close(&mut sink, dropped, code);
            }
        }
    }

    fn close(&mut self, sink: &mut impl Sink, dropped: Gap, code: u8) -> io::Result<()> {
        let mut last = self.headed(None);
        self.gap(dropped, &mut last);
        sink.append(last.as_bytes())?;
        let late = self.known_first.is_some_and(|known| known < self.redactor.learned());
        if late || self.typed.is_late() {
            sink.rewrite(&mut |line| self.again(line))?;
        }
        let (frames, dropped, redacted) = (self.frames, self.dropped, self.redactor.placed);
        sink.append(Line::End(End { frames, dropped, redacted, code }).write().as_bytes())
    }

    fn headed(&mut self, first: Option<&Value>) -> String {
        let Some(mut head) = self.head.take() else { return String::new() };
        head.folders = first.map(folders).unwrap_or_default();
        if let Some(own) = &mut head.own_settings {
            self.redactor.message(own);
        }
        for text in head.folders.iter_mut().chain(&mut head.trusted) {
            if let Some(without) = self.redactor.text(text) {
                *text = without;
            }
        }
        Line::Head(Box::new(head)).write()
    }

    fn gap(&mut self, gap: Gap, lines: &mut String) {
        if !gap.is_empty() {
            self.dropped.input += gap.input;
            self.dropped.out += gap.out;
            lines.push_str(&Line::Gap(gap).write());
        }
    }

    /// The lines for a frame.
    fn lines(&mut self, item: &Item) -> String {
        let content = match &item.cut {
            Cut::Body(body) => match serde_json::from_slice::<Value>(body) {
                Ok(message) => Content::Message(message),
                Err(fault) => {
                    let mut raw = format!("Content-Length: {}\r\n\r\n", body.len()).into_bytes();
                    raw.extend_from_slice(body);
                    Content::Raw(raw, format!("no JSON: {fault}"))
                }
            },
            Cut::Stray(bytes, why) => Content::Raw(bytes.clone(), (*why).to_owned()),
            Cut::TooLong | Cut::End => Content::End,
        };
        let first = match &content {
            Content::Message(message) => Some(message),
            _ => None,
        };
        let mut lines = self.headed(first);
        self.gap(item.gap, &mut lines);
        let content = match content {
            Content::Message(mut message) => {
                self.typed.follow(item.n, item.dir, &message, &mut self.redactor);
                self.typed.mend(item.n, &mut message);
                self.redactor.message(&mut message);
                Content::Message(message)
            }
            Content::Raw(bytes, why) => {
                // What only looks like text is looked at as if it were.
                let shown: String = bytes.iter().map(|byte| char::from(*byte)).collect();
                let without = self.redactor.text(&shown);
                let bytes =
                    without.map_or(bytes, |text| text.chars().map(|c| u8::try_from(c).unwrap_or(b'_')).collect());
                Content::Raw(bytes, why)
            }
            Content::End => Content::End,
        };
        self.known_first.get_or_insert(self.redactor.learned());
        self.frames += 1;
        lines.push_str(&Line::Frame(Frame { n: item.n, dir: item.dir, ms: item.ms, content }).write());
        lines
    }

    /// A line, once all secrets are known: another, if it holds one of them.
    fn again(&mut self, line: &str) -> Option<String> {
        match Line::read(line).ok()? {
            Line::Frame(mut frame) => {
                let before = frame.content.clone();
                match &mut frame.content {
                    Content::Message(message) => {
                        self.typed.mend(frame.n, message);
                        self.redactor.message(message);
                    }
                    Content::Raw(bytes, _) => {
                        let shown: String = bytes.iter().map(|byte| char::from(*byte)).collect();
                        if let Some(without) = self.redactor.text(&shown) {
                            *bytes = without.chars().map(|c| u8::try_from(c).unwrap_or(b'_')).collect();
                        }
                    }
                    Content::End => {}
                }
                (frame.content != before).then(|| Line::Frame(frame).write().trim_end().to_owned())
            }
            Line::Head(mut head) => {
                let mut value = serde_json::to_value(&head).ok()?;
                self.redactor.message(&mut value);
                *head = serde_json::from_value(value).ok()?;
                Some(Line::Head(head).write().trim_end().to_owned())
            }
            Line::Gap(_) | Line::End(_) => None,
        }
    }
}

/// The folders (URIs) that an `initialize` names.
fn folders(message: &Value) -> Vec<String> {
    let params = &message["params"];
    let named = params["workspaceFolders"].as_array().map(|folders| {
        folders.iter().filter_map(|folder| folder["uri"].as_str()).map(str::to_owned).collect::<Vec<_>>()
    });
    let root = || params["rootUri"].as_str().map(str::to_owned).into_iter().collect();
    named.filter(|folders| !folders.is_empty()).unwrap_or_else(root)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use serde_json::json;

    use super::*;
    use crate::ports::SystemClock;
    use crate::recording::Recording;
    use crate::recording::line::tests::head;

    /// Lines in memory, which wait for the gate, and fail after so many.
    struct Gated {
        lines: Arc<Mutex<String>>,
        gate: mpsc::Receiver<()>,
        most: usize,
    }

    impl Sink for Gated {
        fn append(&mut self, lines: &[u8]) -> io::Result<()> {
            // Open for good once the other side is gone.
            let _ = self.gate.recv();
            let mut text = self.lines.lock().unwrap();
            if text.lines().count() >= self.most {
                return Err(io::ErrorKind::StorageFull.into());
            }
            text.push_str(std::str::from_utf8(lines).unwrap());
            Ok(())
        }

        fn rewrite(&mut self, edit: &mut dyn FnMut(&str) -> Option<String>) -> io::Result<()> {
            let mut text = self.lines.lock().unwrap();
            *text = text.lines().map(|line| edit(line).unwrap_or_else(|| line.to_owned()) + "\n").collect();
            Ok(())
        }
    }

    type Made = (Recorder, Arc<Mutex<String>>, mpsc::Sender<()>, mpsc::Receiver<String>);

    /// What may wait in these tests (bytes).
    const ROOM: usize = 3000;

    fn recorder(most: usize) -> Made {
        let (opens, gate) = mpsc::channel();
        let (complains, complaints) = mpsc::channel();
        let lines = Arc::new(Mutex::default());
        let sink = Gated { lines: Arc::clone(&lines), gate, most };
        let complain = move |why| complains.send(why).unwrap();
        let recorder = Recorder::start_with_room(ROOM, head(), sink, Arc::new(SystemClock), complain).unwrap();
        (recorder, lines, opens, complaints)
    }

    fn body(text: &str) -> Cut {
        Cut::Body(json!({ "method": "m", "params": text }).to_string().into())
    }

    #[test]
    fn what_has_no_room_is_dropped_and_counted() {
        let (recorder, lines, gate, _complaints) = recorder(usize::MAX);
        // Nothing is written yet, and nobody waits.
        let big = "x".repeat(ROOM / 3);
        for n in 0..4 {
            recorder.put(Dir::In, body(&format!("{n}{big}")));
        }
        recorder.put(Dir::Out, Cut::TooLong);
        recorder.put(Dir::Out, body("small"));
        drop(gate);
        assert!(recorder.finish(0));
        let text = lines.lock().unwrap().clone();
        let recording = Recording::read(&text).unwrap();
        assert!(recording.gap && recording.complete);
        assert_eq!(recording.frames.iter().map(|frame| frame.n).collect::<Vec<_>>(), [1, 2]);
        assert!(text.contains("{\"gap\":{\"in\":2,\"out\":1}}\n"));
        assert!(
            text.ends_with("{\"end\":{\"frames\":3,\"dropped\":{\"in\":2,\"out\":1},\"redacted\":0,\"code\":0}}\n")
        );
    }

    #[test]
    fn a_full_disk_costs_the_recording_and_is_told_once() {
        let (recorder, lines, gate, complaints) = recorder(2);
        drop(gate);
        for n in 0..5 {
            recorder.put(Dir::In, body(&n.to_string()));
        }
        assert!(recorder.finish(0));
        recorder.put(Dir::In, body("late"));
        assert!(recorder.finish(0));
        let told: Vec<String> = complaints.iter().collect();
        assert_eq!(told.len(), 1, "{told:?}");
        let recording = Recording::read(&lines.lock().unwrap()).unwrap();
        assert!(!recording.complete && recording.frames.len() < 5);
    }

    #[test]
    fn what_came_before_a_secret_was_known_is_mended_at_the_end() {
        let (recorder, lines, gate, _complaints) = recorder(usize::MAX);
        drop(gate);
        recorder.put(Dir::In, body("hunter2secret"));
        recorder.put(Dir::In, body("password = hunter2secret"));
        recorder.put(Dir::In, Cut::Stray(b"rubbish\xff hunter2secret".to_vec(), "rubbish"));
        recorder.put(Dir::In, Cut::End);
        assert!(recorder.finish(3));
        let recording = Recording::read(&lines.lock().unwrap()).unwrap();
        let contents: Vec<_> = recording.frames.into_iter().map(|frame| frame.content).collect();
        assert_eq!(
            contents,
            [
                Content::Message(json!({ "method": "m", "params": "redacted1____" })),
                Content::Message(json!({ "method": "m", "params": "password = redacted1____" })),
                Content::Raw(b"rubbish\xff redacted1____".to_vec(), "rubbish".to_owned()),
                Content::End,
            ]
        );
        assert!(recording.redacted);
    }

    #[test]
    fn an_end_without_a_frame_has_a_head() {
        let (recorder, lines, gate, _complaints) = recorder(usize::MAX);
        drop(gate);
        assert!(recorder.finish(1));
        let recording = Recording::read(&lines.lock().unwrap()).unwrap();
        assert_eq!((recording.frames.len(), recording.complete, recording.redacted), (0, true, false));
    }
}
