//! One language server: a connection that is initialised, fed documents, asked for diagnostics and answered whatever it
//! asks, on a task of its own. What it says goes out as [`ServerEvent`]s; nothing here judges it.

mod answers;
mod asking;
mod capabilities;
mod documents;
mod offers;
mod pull;
mod report;
mod session;
mod stall;
mod tsserver;
mod unable;
mod watchers;
mod window;
mod workspace;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio_util::task::TaskTracker;

use super::format::Ask;
pub use asking::Unanswered;
pub(super) use asking::{About, Asking, Reply, Spot};

use super::known::Server;
use super::settle::Rev;
use crate::ports::Clock;
use crate::process::Child;
use crate::rpc::{OnItsWay, Unsent};
use crate::text::{Encoding, Splice, Text};
use crate::workspace::Key;

/// What a server is told. It takes effect in order, and not before the server is initialised.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Command {
    /// A document is open.
    Open {
        /// Which.
        key: Key,
        /// How the server will know it.
        uri: String,
        /// Its language.
        language_id: String,
        /// Our number of its text.
        rev: Rev,
        /// The text.
        text: Text,
    },
    /// It changed.
    Change {
        /// Which.
        key: Key,
        /// Our number of the new text.
        rev: Rev,
        /// The changes, one after the other, each in bytes of the text before it.
        steps: Arc<[Splice]>,
    },
    /// It was saved as it is.
    Save(Key),
    /// It is of no interest any more.
    Close(Key),
    /// Its diagnostics are wanted now.
    Pull(Key),
    /// The diagnostics of all files are wanted now, if it can tell; then [`ServerEvent::WorkspaceAsked`] comes before
    /// anything that it says later.
    PullWorkspace,
    /// Files changed on the disk: URI and `1` created, `2` changed, `3` deleted.
    Watched(Vec<(String, u8)>),
    /// The folders it serves, beside those that it knows of, and such that it serves no longer.
    Folders { added: Vec<Root>, removed: Vec<Root> },
    /// It shall be formatted; the answer says how.
    Format {
        /// Which.
        key: Key,
        /// How, and who wants to know.
        ask: Ask,
    },
    /// Somebody wants to know something.
    Ask(Arc<Asking>),
    /// Be gone, politely, within this time.
    Shutdown(Duration),
}

/// The notification by which a server says whether it has loaded the project; it counts as a progress token of this
/// name, open from the start.
pub(super) const STATUS: &str = "experimental/serverStatus";

/// What a server does or says.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ServerEvent {
    /// It is initialised.
    Ready {
        /// How its positions count.
        encoding: Encoding,
        /// Whether it takes changes of open documents; one that does not checks what is on the disk.
        changes: bool,
        /// Whether it takes more folders while it runs.
        folders: bool,
    },
    /// The resident memory that it takes with all that it started (bytes); told now and then.
    Memory(u64),
    /// Whether it can be asked for diagnostics (known after the start, and when it registers it later).
    Pulls(bool),
    /// A text of a document is on its way to it.
    Sent {
        /// Which document.
        key: Key,
        /// Which text.
        rev: Rev,
    },
    /// It published diagnostics.
    Published {
        /// The document as the server spells it.
        uri: String,
        /// The version it put on them.
        version: Option<i32>,
        /// As they came; or why they are none, in words that go behind "its report could not be read: ".
        items: Result<Vec<Value>, String>,
    },
    /// It answered for a document.
    Pulled {
        /// Which document.
        key: Key,
        /// The text that was asked about.
        rev: Rev,
        /// As they came, of all its identifiers.
        items: Vec<Value>,
        /// What it said of other documents on that occasion, by URI.
        related: Vec<(String, Vec<Value>)>,
        /// The texts of all documents it had when it was asked: what it says of others is about these, or newer ones.
        had: BTreeMap<Key, Rev>,
    },
    /// It did not answer for a document.
    PullFailed {
        /// Which document.
        key: Key,
        /// The text that was asked about.
        rev: Rev,
        /// Why, in a sentence of which it is "it".
        why: String,
    },
    /// It was asked about all files.
    WorkspaceAsked,
    /// It answered about all files, or not.
    Workspace {
        /// What it said of each, by URI.
        reports: Vec<(String, Vec<Value>)>,
        /// Whether that is all there is to say.
        whole: bool,
    },
    /// It reports on its work.
    Progress {
        /// Names the work.
        token: String,
        /// Whether it begins (or ends).
        begin: bool,
    },
    /// It is gone.
    Ended {
        /// How, in words that go behind its name.
        why: String,
        /// The end of its error stream.
        stderr: String,
    },
}

/// Takes what a server does or says; must return at once.
pub(super) type Sink = Arc<dyn Fn(ServerEvent) + Send + Sync>;

/// A folder as a server gets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Root {
    /// Its path.
    pub path: PathBuf,
    /// Its `file:` URI.
    pub uri: String,
}

/// Tells how much resident memory a process and all of its group take (bytes), if that can be found out. Blocking.
pub(super) type Weigh = Arc<dyn Fn() -> Option<u64> + Send + Sync>;

/// The pipes of a server, and its process if it has one (a test's has none).
pub(super) struct Pipes {
    /// What it writes.
    pub reader: Box<dyn AsyncRead + Unpin + Send>,
    /// What it reads.
    pub writer: Box<dyn AsyncWrite + Unpin + Send>,
    /// The process.
    pub child: Option<Child>,
    /// What it weighs.
    pub memory: Option<Weigh>,
}

/// A server's task; it ends with the server, and the server with it.
#[derive(Debug, Clone)]
pub(super) struct Client {
    commands: mpsc::UnboundedSender<(Command, OnItsWay)>,
    unsent: Unsent,
}

impl Client {
    /// Starts to talk to a server that is being started, on a task that `tasks` keeps count of. Its last event is
    /// [`ServerEvent::Ended`], also when it could not be started.
    pub(super) fn start(
        starting: impl Future<Output = Result<Pipes, String>> + Send + 'static,
        server: Arc<Server>,
        root: Option<Root>,
        clock: Arc<dyn Clock>,
        sink: Sink,
        tasks: &TaskTracker,
    ) -> Client {
        let (commands, queue) = mpsc::unbounded_channel();
        let unsent = Unsent::default();
        tasks.spawn(session::run(starting, server, root, clock, sink, queue, unsent.clone()));
        Client { commands, unsent }
    }

    /// What is on its way to the server: what it shall be told, and what is not written yet.
    pub(super) fn unsent(&self) -> Unsent {
        self.unsent.clone()
    }

    /// Tells the server something. Never blocks; when it is gone, nothing happens.
    pub(super) fn tell(&self, command: Command) {
        let _ = self.commands.send((command, self.unsent.add()));
    }
}
