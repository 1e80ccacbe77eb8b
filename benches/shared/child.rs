//! A server as a child of the bench, spoken to over its pipes from one thread: what is measured is the server and the
//! pipes, not a runtime of ours.

use std::collections::VecDeque;
use std::io::{Read as _, Write as _};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};

use ropewalk::rpc::{Decoder, encode};
use serde_json::Value;

/// How messages are told from each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// `Content-Length` before each, as LSP has it.
    Headers,
    /// A line each, as MCP has it.
    Lines,
}

/// A running server. It ends when this is dropped.
pub(crate) struct Child {
    process: std::process::Child,
    input: Option<ChildStdin>,
    output: ChildStdout,
    framing: Framing,
    decoder: Decoder,
    /// What came of a line that is not whole yet.
    line: Vec<u8>,
    came: VecDeque<Vec<u8>>,
    chunk: Vec<u8>,
}

impl Child {
    /// Starts it. What it says on its standard error is nobody's.
    pub(crate) fn start(command: &mut Command, framing: Framing) -> Child {
        let mut process =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("a server");
        let (input, output) = (process.stdin.take(), process.stdout.take().expect("a pipe"));
        let (decoder, chunk) = (Decoder::new(), vec![0; 64 << 10]);
        Child { process, input, output, framing, decoder, line: Vec::new(), came: VecDeque::new(), chunk }
    }

    /// Its process id.
    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    /// A message as it goes over the pipe.
    pub(crate) fn frame(&self, message: &Value) -> Vec<u8> {
        match self.framing {
            Framing::Headers => encode(message.to_string().as_bytes()),
            Framing::Lines => format!("{message}\n").into_bytes(),
        }
    }

    /// Writes what [`Child::frame`] made, one or several.
    pub(crate) fn write(&mut self, frames: &[u8]) {
        self.input.as_mut().expect("an open pipe").write_all(frames).expect("a server that reads");
    }

    /// The next message.
    pub(crate) fn next(&mut self) -> Value {
        loop {
            if let Some(body) = self.came.pop_front() {
                return serde_json::from_slice(&body).expect("JSON");
            }
            let count = self.output.read(&mut self.chunk).expect("a pipe");
            assert!(count > 0, "the server has ended");
            let chunk = &self.chunk[..count];
            match self.framing {
                Framing::Headers => {
                    self.decoder.push(chunk);
                    while let Some(body) = self.decoder.next_frame().expect("a frame") {
                        self.came.push_back(body);
                    }
                }
                Framing::Lines => {
                    for piece in chunk.split_inclusive(|byte| *byte == b'\n') {
                        self.line.extend_from_slice(piece);
                        if piece.ends_with(b"\n") {
                            self.came.push_back(std::mem::take(&mut self.line));
                        }
                    }
                }
            }
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.input = None;
        // It may never end by itself: it may be busy, or not care that nobody writes any more.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
