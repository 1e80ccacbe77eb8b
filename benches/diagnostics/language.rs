//! The language server of the bench: played in the same program as what is measured, at the other end of a process that
//! only passes bytes on.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use ropewalk::rpc::{Decoder, encode};
use serde_json::{Value, json};
use tokio::sync::mpsc;

/// The word that makes this program the process of the server.
pub const PASSES_ON: &str = "passes-bytes-on";

/// How a server tells what it finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaks {
    /// It publishes, with versions.
    Publishes,
    /// It answers when it is asked.
    Answers,
}

/// Passes bytes on between our standard pipes and a port of this machine, until either ends.
pub fn pass_on(port: u16) {
    let mut outwards = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
    outwards.set_nodelay(true).unwrap();
    let mut inwards = outwards.try_clone().unwrap();
    std::thread::spawn(move || {
        pump(&mut std::io::stdin(), &mut outwards);
        let _ = outwards.shutdown(Shutdown::Both);
    });
    pump(&mut inwards, &mut std::io::stdout());
}

fn pump(from: &mut impl Read, to: &mut impl Write) {
    let mut buffer = vec![0; 64 << 10];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        if to.write_all(&buffer[..count]).and_then(|()| to.flush()).is_err() {
            return;
        }
    }
}

/// A port to listen at, and the command of the process that connects to it.
pub fn listen() -> (TcpListener, Vec<String>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let program = std::env::current_exe().unwrap().to_str().unwrap().to_owned();
    (listener, vec![program, PASSES_ON.to_owned(), port.to_string()])
}

/// A server that is initialised and has one document.
pub struct Language {
    stream: TcpStream,
    heard: mpsc::UnboundedReceiver<Value>,
    speaks: Speaks,
    uri: Value,
}

impl Language {
    /// Waits for the process, greets, and says that there is nothing wrong with the first document.
    pub async fn accept(listener: TcpListener, speaks: Speaks) -> Language {
        let accepting = tokio::task::spawn_blocking(move || listener.accept().unwrap());
        let (stream, _) = accepting.await.unwrap();
        stream.set_nodelay(true).unwrap();
        let (sender, heard) = mpsc::unbounded_channel();
        let mut reader = stream.try_clone().unwrap();
        std::thread::spawn(move || hear(&mut reader, &sender));
        let mut language = Language { stream, heard, speaks, uri: Value::Null };
        let hello = language.expect("initialize").await;
        let mut capabilities = json!({ "textDocumentSync": { "openClose": true, "change": 2, "save": false } });
        if speaks == Speaks::Answers {
            let provider = json!({ "interFileDependencies": false, "workspaceDiagnostics": false });
            capabilities["diagnosticProvider"] = provider;
        }
        language.send(json!({ "id": hello["id"], "result": { "capabilities": capabilities } }));
        let opened = language.expect("textDocument/didOpen").await;
        language.uri = opened["params"]["textDocument"]["uri"].clone();
        language.tell(&opened).await;
        language
    }

    /// Takes a change, works so long, and tells what it found; when it began to tell.
    pub async fn check(&mut self, work: Duration) -> Instant {
        let changed = self.expect("textDocument/didChange").await;
        let asked = match self.speaks {
            Speaks::Publishes => changed,
            Speaks::Answers => self.expect("textDocument/diagnostic").await,
        };
        tokio::time::sleep(work).await;
        let moment = Instant::now();
        self.say(&asked);
        moment
    }

    /// Tells what there is to tell of a document that was opened.
    async fn tell(&mut self, opened: &Value) {
        match self.speaks {
            Speaks::Publishes => self.say(opened),
            Speaks::Answers => {
                let asked = self.expect("textDocument/diagnostic").await;
                self.say(&asked);
            }
        }
    }

    /// A list with one warning: published for the text of a notification, or as the answer to a request.
    fn say(&mut self, about: &Value) {
        let place = json!({ "line": 1, "character": 0 });
        let warning = json!({ "range": { "start": place, "end": place }, "severity": 2, "message": "an old warning" });
        let message = match self.speaks {
            Speaks::Publishes => {
                let version = &about["params"]["textDocument"]["version"];
                let params = json!({ "uri": self.uri, "version": version, "diagnostics": [warning] });
                json!({ "method": "textDocument/publishDiagnostics", "params": params })
            }
            Speaks::Answers => json!({ "id": about["id"], "result": { "kind": "full", "items": [warning] } }),
        };
        self.send(message);
    }

    fn send(&mut self, mut message: Value) {
        message["jsonrpc"] = json!("2.0");
        self.stream.write_all(&encode(message.to_string().as_bytes())).unwrap();
    }

    /// The next message of a method; what comes before it is dropped.
    async fn expect(&mut self, method: &str) -> Value {
        loop {
            let message = self.heard.recv().await.unwrap_or_else(|| panic!("the process is gone before {method}"));
            if message["method"] == method {
                return message;
            }
        }
    }
}

/// Reads messages until there are no more.
fn hear(stream: &mut TcpStream, sender: &mpsc::UnboundedSender<Value>) {
    let mut decoder = Decoder::new();
    let mut buffer = vec![0; 64 << 10];
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        decoder.push(&buffer[..count]);
        while let Some(frame) = decoder.next_frame().unwrap() {
            if sender.send(serde_json::from_slice(&frame).unwrap()).is_err() {
                return;
            }
        }
    }
}
