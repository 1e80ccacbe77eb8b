//! The front: LSP and our own methods, over any pair of pipes.
//!
//! The transport is `tower-lsp`, which runs handlers side by side and in no certain order, stops reading when it cannot
//! write, and waits for ever for a client that is gone. Three seams round it take that away: [`ordered`] applies what
//! changes state at once and in order, [`outbox`] is our own way to the editor, and [`stdio`] never blocks and knows when
//! the editor is gone. Nothing else in the crate knows the transport.

mod backend;
mod context;
mod convert;
mod frames;
mod front;
mod lifecycle;
mod messages;
#[doc(hidden)]
pub mod open;
mod ordered;
mod outbox;
mod outline;
pub mod protocol;
mod requests;
mod rooms;
mod run;
mod settings;
mod stdio;
mod sync;

use std::path::PathBuf;
use std::sync::Arc;

pub use context::Context;
pub(crate) use outbox::question;
pub use rooms::{Begun, BegunBatch, Calls, Reviewed, Rooms, Sources};
pub use run::{serve, serve_with};

use crate::config::OwnFile;
use crate::dispatch::Dispatch;
use crate::editor::Editor;
use crate::languages::Languages;
use crate::mcp::Mcp;
use crate::permissions::Trust;
use crate::ports::Ports;
use crate::process::{Programs, SystemPrograms};
use crate::sessions::Sessions;
use crate::workspace::{Documents, Workspace};

/// How to serve.
#[derive(Debug, Clone)]
pub struct ServeOptions {
    /// Folders to trust from the start (canonical paths), whatever the editor says.
    pub trusted: Vec<PathBuf>,
    /// Comes before the names of our commands.
    pub command_prefix: String,
    /// Whether to end on SIGTERM, SIGINT and SIGHUP: these belong to the whole process.
    pub signals: bool,
    /// Nothing is learned from this run, so that the same run gives the same results.
    pub repeatable: bool,
    /// Where sessions are kept, unless the run is repeatable, where copies are put aside while files are overwritten in
    /// place, and where the journal of changes of several files is; absent: nothing is kept, copies are beside those
    /// files, and no crash is made good.
    pub state_dir: Option<PathBuf>,
    /// The user's own settings file; absent: none is read.
    pub own_file: Option<OwnFile>,
    /// The folder where other programs find the sidecar to join it; absent: they cannot.
    pub meeting: Option<PathBuf>,
}

impl Default for ServeOptions {
    fn default() -> ServeOptions {
        ServeOptions {
            trusted: Vec::new(),
            command_prefix: "ropewalk".to_owned(),
            signals: false,
            repeatable: false,
            state_dir: None,
            own_file: None,
            meeting: None,
        }
    }
}

/// Everything behind the front, put together.
pub struct Parts {
    /// The world.
    pub ports: Ports,
    /// The mirror.
    pub documents: Arc<Documents>,
    /// Files and documents.
    pub workspace: Arc<Workspace>,
    /// Diagnostics.
    pub languages: Arc<Languages>,
    /// Which folders are trusted.
    pub trust: Arc<Trust>,
    /// What sessions remember.
    pub sessions: Arc<Sessions>,
    /// The life of calls.
    pub dispatch: Arc<Dispatch>,
}

/// Puts everything together round an editor, real or not.
pub fn assemble(ports: Ports, editor: Arc<dyn Editor>) -> Parts {
    let programs = Arc::new(SystemPrograms::new(Arc::clone(&ports.clock)));
    assemble_over(ports, editor, programs)
}

/// The same over any programs: MCP servers are started among these.
pub fn assemble_over(ports: Ports, editor: Arc<dyn Editor>, programs: Arc<dyn Programs>) -> Parts {
    let documents = Arc::new(Documents::new());
    let trust = Arc::new(Trust::new());
    let sessions = Arc::new(Sessions::default());
    let workspace = Arc::new(Workspace::new(ports.clone(), Arc::clone(&editor), Arc::clone(&documents)));
    let languages = Languages::new(ports.clone(), editor, &documents, Arc::clone(&trust));
    let dispatch =
        Dispatch::new(Arc::clone(&workspace), Arc::clone(&languages), Arc::clone(&sessions), Arc::clone(&trust));
    dispatch.serve_mcp(Mcp::new(Arc::clone(&workspace), Arc::clone(&trust), programs, crate::ports::env));
    Parts { ports, documents, workspace, languages, trust, sessions, dispatch }
}
