//! A JSON-RPC 2.0 peer over any pair of pipes: framing, pending requests, deadlines, cancel.
//!
//! A [`Peer`] never blocks its caller: what it sends goes on a queue. What the other side asks is answered by a
//! [`Handler`] whose return type leaves no request unanswered. When the other side dies, everything that waits for it
//! ends with an error.

mod codec;
mod peer;
mod values;

pub use codec::{Decoder, FrameError, encode};
pub use peer::{CallError, Fault, Handler, OnItsWay, Peer, Unsent};
pub use values::more_values_than;

/// A message of MCP holds at most so many values: what is made of one takes a hundred bytes and more.
pub const MOST_VALUES: usize = 500_000;

/// The largest frame that is read, in bytes; a longer one ends the connection.
pub const MAX_FRAME: usize = 64 * 1024 * 1024;

/// At most so many bytes may wait to be written; a peer that reads so slowly is given up.
pub const MAX_BACKLOG: usize = 64 * 1024 * 1024;

/// Error codes of JSON-RPC and the protocol that decisions depend on.
pub mod code {
    /// The method is not known.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// The text changed while the request ran.
    pub const CONTENT_MODIFIED: i64 = -32801;
    /// The server gave the request up by itself.
    pub const SERVER_CANCELLED: i64 = -32802;
    /// The request was cancelled by us.
    pub const REQUEST_CANCELLED: i64 = -32800;
}
