//! The thin part: pipes, the clock, files.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::time::Instant;

use super::act::{About, Act, End, What};
use super::script::Script;
use super::server::Fake;
use crate::ports::{Ports, append_to};
use crate::rpc::{Decoder, encode};

/// How long a wedged server stays, if nobody ends it.
const WEDGED: Duration = Duration::from_mins(10);

/// How much is read at once (bytes).
const CHUNK: usize = 64 << 10;

/// Something to do later; ordered by when, then by when it was decided.
struct Planned {
    due: Instant,
    number: u64,
    what: What,
}

impl Planned {
    fn key(&self) -> (Instant, u64) {
        (self.due, self.number)
    }
}

impl PartialEq for Planned {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Planned {}

impl PartialOrd for Planned {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Planned {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

/// The output of a server, and what it plans to write.
struct Shell<W, E> {
    writer: W,
    errors: E,
    ports: Ports,
    agenda: BinaryHeap<Reverse<Planned>>,
    decided: u64,
    transcript: Option<Box<dyn io::Write + Send>>,
}

/// Plays a server over pipes until it ends; how.
pub(super) async fn run<R, W, E>(
    mut reader: R,
    writer: W,
    errors: E,
    ports: Ports,
    script: Script,
) -> Result<End, String>
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send,
    E: AsyncWrite + Unpin + Send,
{
    let script = without_what_happened(script, &ports);
    let transcript = match &script.transcript {
        Some(path) => {
            let file = append_to(path).map_err(|error| format!("cannot write to `{}`: {error}", path.display()))?;
            Some(Box::new(file) as Box<dyn io::Write + Send>)
        }
        None => None,
    };
    let mut fake = Fake::new(script)?;
    let mut shell = Shell { writer, errors, ports, agenda: BinaryHeap::new(), decided: 0, transcript };
    let ended = play(&mut fake, &mut shell, &mut reader).await;
    // Whoever does not read any more does not mind.
    let _ = shell.writer.flush().await;
    let _ = shell.errors.flush().await;
    Ok(ended.unwrap_or(End::Code(1)))
}

/// The script less the crashes that were to happen once and did.
fn without_what_happened(mut script: Script, ports: &Ports) -> Script {
    script.crashes.retain(|crash| crash.once.as_ref().is_none_or(|mark| ports.disk.metadata(mark).is_err()));
    script
}

async fn play<R, W, E>(fake: &mut Fake, shell: &mut Shell<W, E>, reader: &mut R) -> io::Result<End>
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send,
    E: AsyncWrite + Unpin + Send,
{
    let mut decoder = Decoder::new();
    let mut chunk = vec![0; CHUNK];
    shell.plan(fake.start());
    loop {
        if let Some(end) = shell.do_what_is_due().await? {
            return Ok(end);
        }
        let next = decoder.next_frame().map_err(io::Error::other)?;
        if let Some(frame) = next {
            let message: Value = serde_json::from_slice(&frame)?;
            shell.note("heard", &message);
            for uri in fake.wants(&message) {
                let text = shell.file(&uri);
                fake.learn(&uri, text.as_deref());
            }
            shell.plan(fake.hear(&message));
            continue;
        }
        let wait = shell.wait();
        tokio::select! {
            read = reader.read(&mut chunk) => match read? {
                0 => return Ok(End::Code(1)),
                count => decoder.push(&chunk[..count]),
            },
            () = wait => {}
        }
    }
}

impl<W, E> Shell<W, E>
where
    W: AsyncWrite + Unpin + Send,
    E: AsyncWrite + Unpin + Send,
{
    fn plan(&mut self, acts: Vec<Act>) {
        let now = self.ports.clock.now();
        for act in acts {
            self.decided += 1;
            let due = now + Duration::from_millis(act.after_ms);
            self.agenda.push(Reverse(Planned { due, number: self.decided, what: act.what }));
        }
    }

    /// Until the next thing is due.
    fn wait(&self) -> impl Future<Output = ()> + Send + use<W, E> {
        let sleep = self
            .agenda
            .peek()
            .map(|Reverse(next)| self.ports.clock.sleep(next.due.saturating_duration_since(self.ports.clock.now())));
        async move {
            match sleep {
                Some(sleep) => sleep.await,
                None => std::future::pending().await,
            }
        }
    }

    async fn do_what_is_due(&mut self) -> io::Result<Option<End>> {
        loop {
            let now = self.ports.clock.now();
            match self.agenda.peek() {
                Some(Reverse(next)) if next.due <= now => {}
                _ => break,
            }
            let Some(Reverse(Planned { what, number, .. })) = self.agenda.pop() else { break };
            match what {
                What::Say { message, .. } => self.say(&message).await?,
                What::TakeBack { about, instead } => {
                    let taken = self.take_back(&about, number);
                    if let Some(instead) = instead.filter(|_| taken) {
                        self.say(&instead).await?;
                    }
                }
                What::Write(bytes) => self.writer.write_all(&bytes).await?,
                What::Complain(text) => self.errors.write_all(text.as_bytes()).await?,
                What::Wedge => {
                    self.writer.flush().await?;
                    self.ports.clock.sleep(WEDGED).await;
                    return Ok(Some(End::Code(1)));
                }
                What::End { end, mark } => {
                    if let Some(mark) = mark {
                        self.ports.disk.create(&mark, b"")?;
                    }
                    return Ok(Some(end));
                }
            }
        }
        self.writer.flush().await?;
        Ok(None)
    }

    async fn say(&mut self, message: &Value) -> io::Result<()> {
        self.note("said", message);
        self.writer.write_all(&encode(message.to_string().as_bytes())).await
    }

    /// Takes what was decided on before this number off the agenda; whether there was any.
    fn take_back(&mut self, about: &About, number: u64) -> bool {
        let before = self.agenda.len();
        let meant = |what: &What| matches!(what, What::Say { about: Some(other), .. } if other == about);
        self.agenda.retain(|Reverse(planned)| planned.number > number || !meant(&planned.what));
        self.agenda.len() < before
    }

    fn note(&mut self, way: &str, message: &Value) {
        if let Some(transcript) = &mut self.transcript {
            // A transcript that cannot be written is missed by whoever reads it.
            let _ = writeln!(transcript, "{}", json!({ way: message }));
        }
    }

    /// What a file holds; `None`: it is not there, or no text.
    fn file(&self, uri: &str) -> Option<String> {
        let path = url::Url::parse(uri).ok()?.to_file_path().ok()?;
        String::from_utf8(self.ports.disk.read(&path).ok()?).ok()
    }
}

/// Reads a script: JSON itself, or the path of a file that holds it. The error says what is wrong, and where.
pub(super) fn read_script(words: &str, ports: &Ports) -> Result<Script, String> {
    if words.trim_start().starts_with('{') {
        return parse(words).map_err(|why| format!("the script is wrong: {why}"));
    }
    let path = PathBuf::from(words);
    let bytes = ports.disk.read(Path::new(&path)).map_err(|error| format!("cannot read `{words}`: {error}"))?;
    let text = String::from_utf8(bytes).map_err(|_| format!("`{words}` is not UTF-8 text"))?;
    parse(&text).map_err(|why| format!("`{words}` is wrong: {why}"))
}

/// A script from JSON, its patterns looked at.
pub(super) fn parse(text: &str) -> Result<Script, String> {
    let script: Script = serde_json::from_str(text).map_err(|error| error.to_string())?;
    Fake::new(script.clone())?;
    Ok(script)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::io::{DuplexStream, duplex, split};

    use super::*;
    use crate::ports::{Disk as _, MemoryDisk};

    struct Line {
        pipe: DuplexStream,
        decoder: Decoder,
    }

    impl Line {
        async fn send(&mut self, message: Value) {
            self.pipe.write_all(&encode(message.to_string().as_bytes())).await.unwrap();
        }

        /// The next message, without what all have; `None` at the end.
        async fn next(&mut self) -> Option<Value> {
            let mut chunk = vec![0; 1000];
            loop {
                if let Some(frame) = self.decoder.next_frame().unwrap() {
                    let mut message: Value = serde_json::from_slice(&frame).unwrap();
                    message.as_object_mut().unwrap().shift_remove("jsonrpc");
                    return Some(message);
                }
                match self.pipe.read(&mut chunk).await.unwrap() {
                    0 => return None,
                    count => self.decoder.push(&chunk[..count]),
                }
            }
        }
    }

    /// How it ended, and what it wrote to its error stream.
    type Ended = (Result<End, String>, Vec<u8>);

    fn start(script: &Value, disk: &Arc<MemoryDisk>) -> (Line, tokio::task::JoinHandle<Ended>) {
        let (ours, theirs) = duplex(1 << 20);
        let (reader, writer) = split(theirs);
        let ports = Ports { disk: disk.clone(), ..Ports::system() };
        let script = parse(&script.to_string()).unwrap();
        let server = tokio::spawn(async move {
            let mut errors = Vec::new();
            let end = run(reader, writer, &mut errors, ports, script).await;
            (end, errors)
        });
        (Line { pipe: ours, decoder: Decoder::new() }, server)
    }

    fn request(id: i64, method: &str) -> Value {
        json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": {} })
    }

    fn notification(method: &str, params: &Value) -> Value {
        json!({ "jsonrpc": "2.0", "method": method, "params": params })
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_late_is_overtaken_and_a_newer_check_takes_the_place_of_an_older() {
        let disk = Arc::new(MemoryDisk::new());
        let script = json!({
            "answers": { "initialize": {}, "their/slow": 1, "their/quick": 2 },
            "delays": { "their/slow": 1000, "textDocument/publishDiagnostics": 100 },
        });
        let (mut line, server) = start(&script, &disk);
        line.send(request(1, "initialize")).await;
        assert_eq!(line.next().await.unwrap(), json!({ "id": 1, "result": {} }));
        line.send(request(2, "their/slow")).await;
        line.send(request(3, "their/slow")).await;
        line.send(request(4, "their/quick")).await;
        assert_eq!(line.next().await.unwrap(), json!({ "id": 4, "result": 2 }));
        line.send(notification("$/cancelRequest", &json!({ "id": 3 }))).await;
        assert_eq!(line.next().await.unwrap()["error"]["code"], -32800);
        let document = json!({ "uri": "u:a", "version": 1, "text": "" });
        line.send(notification("textDocument/didOpen", &json!({ "textDocument": document }))).await;
        let document = json!({ "uri": "u:a", "version": 2 });
        let change = json!({ "textDocument": document, "contentChanges": [{ "text": "x" }] });
        line.send(notification("textDocument/didChange", &change)).await;
        assert_eq!(line.next().await.unwrap()["params"]["version"], 2);
        assert_eq!(line.next().await.unwrap(), json!({ "id": 2, "result": 1 }));
        line.send(request(5, "shutdown")).await;
        assert_eq!(line.next().await.unwrap(), json!({ "id": 5, "result": null }));
        line.send(notification("exit", &Value::Null)).await;
        assert_eq!(line.next().await, None);
        assert_eq!(server.await.unwrap(), (Ok(End::Code(0)), Vec::new()));
    }

    #[tokio::test(start_paused = true)]
    async fn it_ends_as_it_should() {
        let disk = Arc::new(MemoryDisk::new());
        let polite = start(&json!({}), &disk);
        drop(polite.0);
        assert_eq!(polite.1.await.unwrap().0, Ok(End::Code(1)), "its input ended without an exit");

        disk.create_dir_all(Path::new("/w")).unwrap();
        let crash = json!({ "crashes": [{ "on": "start", "once": "/w/mark", "stderr": "oh", "killed": true }] });
        let (mut line, server) = start(&crash, &disk);
        assert_eq!(line.next().await, None);
        assert_eq!(server.await.unwrap(), (Ok(End::Killed), b"oh\n".to_vec()));
        let (mut line, _server) = start(&crash, &disk);
        line.send(request(1, "initialize")).await;
        assert_eq!(line.next().await.unwrap()["id"], 1, "not a second time");

        let (mut line, server) = start(&json!({ "wedges": ["initialize"] }), &disk);
        line.send(request(1, "initialize")).await;
        drop(line);
        let before = tokio::time::Instant::now();
        assert_eq!(server.await.unwrap().0, Ok(End::Code(1)));
        assert_eq!(before.elapsed(), WEDGED);
    }

    #[tokio::test(start_paused = true)]
    async fn files_are_read_when_they_are_named() {
        let disk = Arc::new(MemoryDisk::new().with_file("/w/lib", "def f\n"));
        let names = json!({ "defines": "def (\\w+)", "uses": "(\\w+)\\(\\)" });
        let (mut line, _server) = start(&json!({ "names": names, "project": ["lib"] }), &disk);
        let mut initialize = request(1, "initialize");
        initialize["params"] = json!({ "rootUri": "file:///w" });
        line.send(initialize).await;
        line.next().await;
        let document = json!({ "uri": "file:///w/app", "version": 1, "text": "f()" });
        line.send(notification("textDocument/didOpen", &json!({ "textDocument": document }))).await;
        assert_eq!(line.next().await.unwrap()["params"]["diagnostics"], json!([]));
        disk.remove(Path::new("/w/lib")).unwrap();
        let changes = json!({ "changes": [{ "uri": "file:///w/lib", "type": 3 }] });
        line.send(notification("workspace/didChangeWatchedFiles", &changes)).await;
        assert_eq!(line.next().await.unwrap()["params"]["diagnostics"][0]["message"], "`f` is not defined");
    }
}
