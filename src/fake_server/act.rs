//! What the server decided to do: plain data, done by the shell.

use std::path::PathBuf;

use serde_json::Value;

/// One thing to do.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Act {
    /// How long from now (ms); those of one moment are done in their order.
    pub(super) after_ms: u64,
    /// What.
    pub(super) what: What,
}

/// What to do.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum What {
    /// Write a message.
    Say {
        /// The message.
        message: Value,
        /// By what it can be taken back until it is written.
        about: Option<About>,
    },
    /// Take back what is about this and not written yet; if there was any, write something else instead.
    TakeBack {
        /// About what.
        about: About,
        /// What is written instead.
        instead: Option<Value>,
    },
    /// Write bytes as they are.
    Write(Vec<u8>),
    /// Write to the error stream.
    Complain(String),
    /// Neither read nor write any more.
    Wedge,
    /// Die.
    End {
        /// How.
        end: End,
        /// A file to make before.
        mark: Option<PathBuf>,
    },
}

/// What a message is about that can be taken back.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum About {
    /// The answer to the request of this id.
    Request(Value),
    /// The check of the document of this URI.
    Check(String),
}

/// How the server ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// With an exit code.
    Code(u8),
    /// By the signal KILL, which the process is to send itself.
    Killed,
}

impl Act {
    /// Something to do at once.
    pub(super) fn now(what: What) -> Act {
        Act { after_ms: 0, what }
    }

    /// A message to write at once.
    pub(super) fn say(message: Value) -> Act {
        Act::now(What::Say { message, about: None })
    }
}
