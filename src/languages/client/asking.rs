//! A request that somebody wants answered: sent when the server has exactly the text it is about, and not otherwise.

use std::collections::BTreeMap;
use std::ops::{Range, RangeInclusive};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::oneshot;

use super::window::Window;
use crate::languages::settle::Rev;
use crate::rpc::{CallError, Peer, code};
use crate::text::{Encoding, Text};
use crate::workspace::Key;

/// What a server is asked.
#[derive(Debug)]
pub(in crate::languages) struct Asking {
    /// The method.
    pub(in crate::languages) method: &'static str,
    /// The document it is about, if it is about one.
    pub(in crate::languages) about: Option<About>,
    /// The other parameters; an object.
    pub(in crate::languages) fields: Value,
    /// How long the answer may take.
    pub(in crate::languages) deadline: Duration,
    /// Who waits for the answer.
    reply: Mutex<Option<oneshot::Sender<Result<Reply, Unanswered>>>>,
}

impl PartialEq for Asking {
    fn eq(&self, other: &Asking) -> bool {
        std::ptr::eq(self, other)
    }
}

/// A place in a text that the server must have.
#[derive(Debug, Clone)]
pub(in crate::languages) struct About {
    /// The document.
    pub(in crate::languages) key: Key,
    /// Its text, as the one who asks sees it.
    pub(in crate::languages) text: Text,
    /// Where in it.
    pub(in crate::languages) spot: Spot,
}

/// Where in a text, in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::languages) enum Spot {
    /// All of it.
    Whole,
    /// `position`.
    At(usize),
    /// `range`.
    Within(Range<usize>),
}

/// The answer, and what it rests on.
#[derive(Debug, Clone)]
pub(in crate::languages) struct Reply {
    /// As it came.
    pub(in crate::languages) value: Value,
    /// How its positions count.
    pub(in crate::languages) encoding: Encoding,
    /// The texts that the server had when it was asked, and their numbers, which are the versions it knows.
    pub(in crate::languages) texts: Arc<BTreeMap<Key, (Rev, Text)>>,
    /// The edits it asked for meanwhile: only of a command.
    pub(in crate::languages) edits: Vec<Value>,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unanswered {
    /// The server cannot be asked this; what it can be asked, in words.
    Cannot(Vec<&'static str>),
    /// The server has another text than the one it was to be asked about.
    Moved,
    /// The server gave up because something changed; it may be asked again in a moment.
    Modified,
    /// The server takes no unsaved changes, and there are some.
    Unsaved,
    /// It answered with an error.
    Failed(String),
    /// It did not answer in time.
    Late,
    /// It is gone, or does not have the document.
    Gone,
}

impl Asking {
    /// A question, and where its answer will be.
    pub(in crate::languages) fn new(
        method: &'static str,
        about: Option<About>,
        fields: Value,
        deadline: Duration,
    ) -> (Arc<Asking>, oneshot::Receiver<Result<Reply, Unanswered>>) {
        let (sender, answer) = oneshot::channel();
        (Arc::new(Asking { method, about, fields, deadline, reply: Mutex::new(Some(sender)) }), answer)
    }

    fn taken(&self) -> Option<oneshot::Sender<Result<Reply, Unanswered>>> {
        self.reply.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// There is no answer.
    pub(super) fn fail(&self, why: Unanswered) {
        if let Some(reply) = self.taken() {
            let _ = reply.send(Err(why));
        }
    }

    /// The lines of the range it is about, 0-based.
    pub(super) fn lines(&self) -> Option<RangeInclusive<u32>> {
        let about = self.about.as_ref()?;
        let Spot::Within(bytes) = &about.spot else { return None };
        let line = |byte: usize| u32::try_from(about.text.line_of(byte)).unwrap_or(u32::MAX);
        Some(line(bytes.start)..=line(bytes.end))
    }

    /// The parameters, with the place as this server counts.
    pub(super) fn params(&self, uri: Option<&str>, text: Option<&Text>, encoding: Encoding) -> Value {
        let mut params = self.fields.clone();
        if let Some(uri) = uri {
            params["textDocument"] = serde_json::json!({ "uri": uri });
        }
        if let (Some(about), Some(text)) = (&self.about, text) {
            match &about.spot {
                Spot::Whole => {}
                Spot::At(byte) => params["position"] = serde_json::json!(text.position_of(*byte, encoding)),
                Spot::Within(bytes) => params["range"] = serde_json::json!(text.range_of(bytes.clone(), encoding)),
            }
        }
        params
    }

    /// Sends it, and answers from a task of its own. When nobody waits any more, the server is told so.
    pub(super) fn send(&self, peer: &Peer, params: Value, mut answer: Reply, window: Option<Arc<Window>>) {
        let Some(mut reply) = self.taken() else { return };
        let request = peer.request(self.method, params, self.deadline);
        tokio::spawn(async move {
            let ended = tokio::select! {
                ended = request => Some(ended),
                () = reply.closed() => None,
            };
            if let Some(window) = window {
                answer.edits = window.close();
            }
            let Some(ended) = ended else { return };
            let _ = reply.send(match ended {
                Ok(value) => {
                    answer.value = value;
                    Ok(answer)
                }
                Err(CallError::Fault(fault)) => Err(match fault.code {
                    code::CONTENT_MODIFIED | code::SERVER_CANCELLED => Unanswered::Modified,
                    _ => Unanswered::Failed(fault.message),
                }),
                Err(CallError::Timeout) => Err(Unanswered::Late),
                Err(CallError::Closed) => Err(Unanswered::Gone),
            });
        });
    }
}
