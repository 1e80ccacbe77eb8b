//! A server that does nothing: this program once more, which reads a message, and answers a request at once. What it
//! takes is what no server can go below that speaks over pipes.

use std::io::{Read as _, Write as _};
use std::process::Command;
use std::time::{Duration, Instant};

use ropewalk::rpc::{Decoder, encode};
use serde_json::{Value, json};

use crate::child::{Child, Framing};

/// The word that makes this program the server.
pub(crate) const ECHOES: &str = "echoes";

/// Serves until the input ends. A request says in `params.answer` how many bytes of text to answer with.
pub(crate) fn serve() {
    let (mut input, mut output) = (std::io::stdin().lock(), std::io::stdout().lock());
    let mut decoder = Decoder::new();
    let mut buffer = vec![0; 64 << 10];
    while let Ok(count @ 1..) = input.read(&mut buffer) {
        decoder.push(&buffer[..count]);
        while let Some(frame) = decoder.next_frame().expect("a frame") {
            let message: Value = serde_json::from_slice(&frame).expect("JSON");
            if message["id"].is_null() {
                continue;
            }
            let bytes = message["params"]["answer"].as_u64().unwrap_or_default();
            let text = "x".repeat(usize::try_from(bytes).expect("a length"));
            let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": { "text": text } });
            let written = output.write_all(&encode(answer.to_string().as_bytes())).and_then(|()| output.flush());
            if written.is_err() {
                return;
            }
        }
    }
}

/// The client of such a server.
pub(crate) struct Echo {
    child: Child,
    last_id: u64,
    /// From its start to its first answer.
    pub(crate) greeted: Duration,
}

impl Echo {
    /// Starts it.
    #[expect(clippy::disallowed_methods, reason = "a bench runs the programs that it compares")]
    pub(crate) fn start() -> Echo {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.arg(ECHOES);
        let start = Instant::now();
        let child = Child::start(&mut command, Framing::Headers);
        let mut echo = Echo { child, last_id: 0, greeted: Duration::ZERO };
        echo.timed(&[], &json!({ "answer": 0 }));
        echo.greeted = start.elapsed();
        echo
    }

    /// Its process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// How long an answer takes to a request with these params, with these frames before it.
    pub(crate) fn timed(&mut self, before: &[u8], params: &Value) -> Duration {
        self.last_id += 1;
        let request = json!({ "jsonrpc": "2.0", "id": self.last_id, "method": "echo", "params": params });
        let frames = [before, &self.child.frame(&request)].concat();
        let start = Instant::now();
        self.child.write(&frames);
        let answer = self.child.next();
        let time = start.elapsed();
        assert!(answer["id"] == self.last_id, "{answer}");
        time
    }
}
