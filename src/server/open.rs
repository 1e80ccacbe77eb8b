//! What the front makes of bytes and of params, as plain data: for the fuzz targets, which see the crate from outside.
//! Pure.

use serde_json::{Value, json};
use tower_lsp::jsonrpc::Id;

use super::convert::{Client, DidChange, DidOpen, changed_folders, watched_files};
use super::frames::Splitter;
use super::messages::{Message, Question, Reading};
use crate::workspace::documents::ContentChange;

/// Bytes as they come in, cut into messages.
#[derive(Debug, Default)]
pub struct Stream(Splitter);

impl Stream {
    /// Takes some bytes and gives the messages that they complete.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Heard> {
        self.0.push(bytes).into_iter().map(heard).collect()
    }
}

/// A message as it was understood.
#[derive(Debug, Clone, PartialEq)]
pub enum Heard {
    /// A request (`id` in it) or a notification, as JSON.
    Call(Value),
    /// An answer, as JSON.
    Answer(Value),
    /// Something that cannot be read.
    Fault {
        /// Why.
        why: String,
        /// What it is answered with, as JSON.
        answer: Option<Value>,
        /// The method (null: any) and the URI (null: all) of text synchronisation that is lost with it.
        lost: Option<Value>,
        /// Whether it may have been the answer to a question of ours.
        answers: bool,
    },
    /// A call or an answer in which halves of surrogate pairs were mended.
    Mended(Value),
}

/// The body of one message.
pub fn message(body: &[u8]) -> Heard {
    heard(super::messages::read(body))
}

fn heard(message: Message) -> Heard {
    match message {
        Message::Call(call, Reading::Exact) => Heard::Call(json!(call)),
        Message::Answer(answer, Reading::Exact) => Heard::Answer(json!(answer)),
        Message::Call(call, Reading::Mended) => Heard::Mended(json!(call)),
        Message::Answer(answer, Reading::Mended) => Heard::Mended(json!(answer)),
        Message::Fault(fault) => Heard::Fault {
            answer: fault.answer().map(|answer| json!(answer)),
            lost: fault.sync().map(|lost| json!({ "method": lost.method, "uri": lost.uri })),
            answers: match fault.question() {
                Question::None => false,
                Question::This(id) | Question::Perhaps(id) => id != Id::Null,
                Question::Any => true,
            },
            why: fault.why,
        },
    }
}

/// The changes of the params of a `didChange`, with the version after them; the error says what is wrong.
pub fn changes(params: &Value) -> Result<(i32, Vec<ContentChange>), String> {
    DidChange::read(params).map(|read| (read.version, read.changes)).map_err(|wrong| wrong.why)
}

/// Reads params as each message of the standard that the front takes: URI and text of a `didOpen`, if it is one.
pub fn params(params: &Value) -> Option<(String, Option<String>)> {
    let _ = (Client::read(params), changed_folders(params), watched_files(params));
    DidOpen::read(params).map(|open| (open.uri, open.text))
}
