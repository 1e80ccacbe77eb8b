//! Without an editor: the tools on the files of a folder, for one client of MCP that started us. Whoever has to consent is
//! asked through the client, where it can ask.

mod own;
mod person;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rmcp::model::InitializeRequestParams;
use rmcp::service::{Peer, RoleServer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::config::{OwnFile, Settings};
use crate::editor::Editor;
use crate::ports::{FileKind, Ports};
use crate::server::{Parts, Rooms, assemble};
use crate::sessions::policy::Asked;
use crate::sessions::requests::{SessionParams, SessionRequest};
use crate::workspace::{Key, Roots};

use super::client::{Host, Served, serve};
use super::entrance::{Doorkeeper, entrance};
use super::news::Hub;

use person::Person;

/// The session of all calls.
const SESSION: &str = "mcp-1";

/// How long the client may take to say which folders it works in.
const ROOTS_WAIT: Duration = Duration::from_secs(5);

/// How long calls that are being written may take to end.
const CALLS_GRACE: Duration = Duration::from_secs(1);

/// How long our language servers may take to leave politely.
const SERVERS_GRACE: Duration = Duration::from_millis(500);

/// At most so many folders are taken from a client.
const MOST_ROOTS: usize = 64;

/// How to work without an editor.
#[derive(Debug, Clone, Default)]
pub struct Alone {
    /// The workspace folder, canonical.
    pub root: PathBuf,
    /// Whether the client's own folders take its place, where it names some.
    pub asks_roots: bool,
    /// Folders to trust, canonical.
    pub trusted: Vec<PathBuf>,
    /// The user's settings; of these only the allow rules count, beside its own, where there is a file.
    pub settings: Settings,
    /// The user's own settings file; absent: none is read.
    pub own_file: Option<OwnFile>,
    /// Where the journal of changes of several files and long outputs are; absent: nowhere.
    pub state_dir: Option<PathBuf>,
    /// Nothing is learned from this run, so that the same run gives the same results.
    pub repeatable: bool,
}

/// Serves one client of MCP until it hangs up or `end` is cancelled. Everything that was started has ended when it returns.
pub async fn serve_alone<R, W>(input: R, output: W, ports: Ports, alone: Alone, end: CancellationToken)
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let clock = Arc::clone(&ports.clock);
    let hub = Arc::<Hub>::default();
    let person = Arc::new(Person::new(Arc::clone(&hub)));
    let parts = assemble(ports, Arc::clone(&person) as Arc<dyn Editor>);
    for folder in &alone.trusted {
        parts.trust.set(folder, true);
    }
    parts.dispatch.spill_to(alone.state_dir.as_deref(), &parts.ports);
    parts.workspace.set_state_dir(alone.state_dir.clone());
    parts.workspace.set_settings(Arc::new(alone.settings.clone()));
    let rooms = Rooms::of(&parts);
    if let Some(file) = &alone.own_file {
        own::heed(file.clone(), alone.settings.clone(), alone.trusted.clone(), &parts, &rooms);
    }
    let dispatch = Arc::clone(&parts.dispatch);
    let (keeper, entrance) = entrance();
    let host = Desk { parts, rooms: rooms.clone(), alone, person, keeper };
    host.work_in(vec![host.alone.root.clone()]);
    let served = Served {
        rooms: rooms.clone(),
        hub,
        session: SESSION.to_owned(),
        editor: false,
        entrance,
        host: Arc::new(host),
    };
    serve(served, input, output, end).await;
    rooms.calls.cancel_all();
    let idle = Arc::clone(&rooms.calls).idle();
    let resting = async {
        tokio::select! {
            _ = async { tokio::join!(idle, rooms.workspace.rest()) } => {}
            () = clock.sleep(CALLS_GRACE) => warn!(open = ?rooms.calls.open_calls(), "calls did not end"),
        }
    };
    tokio::join!(resting, rooms.sources.shutdown(SERVERS_GRACE));
    dispatch.forget_outputs().await;
}

/// What stands in the place of an editor.
struct Desk {
    parts: Parts,
    rooms: Rooms,
    alone: Alone,
    person: Arc<Person>,
    keeper: Doorkeeper,
}

impl Desk {
    fn work_in(&self, folders: Vec<PathBuf>) {
        info!(?folders, "works in");
        let workspace = &self.parts.workspace;
        workspace.set_roots(Roots { folders });
        workspace.recover();
        self.rooms.sources.configure(workspace.settings(), &workspace.roots(), self.alone.repeatable);
        Arc::clone(&self.rooms.calls).look_again();
        self.rooms.calls.configured();
    }

    /// Works in the folders that the client names, if it can and does name some.
    #[expect(deprecated, reason = "the revisions of MCP that we speak have folders; the newest one has not")]
    async fn ask_roots(&self, peer: &Peer<RoleServer>) {
        let declared = peer.peer_info().is_some_and(|who| who.capabilities.roots.is_some());
        if !self.alone.asks_roots || !declared {
            return;
        }
        let clock = Arc::clone(&self.parts.ports.clock);
        let asked = peer.list_roots();
        let named = tokio::select! {
            named = asked => named,
            () = clock.sleep(ROOTS_WAIT) => return warn!("the client does not say which folders it works in"),
        };
        match named {
            Ok(named) => {
                let uris: Vec<String> = named.roots.into_iter().take(MOST_ROOTS).map(|root| root.uri).collect();
                let folders = self.folders(&uris);
                if !folders.is_empty() {
                    self.work_in(folders);
                }
            }
            Err(error) => warn!(%error, "the client does not say which folders it works in"),
        }
    }

    /// The folders of URIs, canonical, each once, in their order.
    fn folders(&self, uris: &[String]) -> Vec<PathBuf> {
        let mut folders = Vec::new();
        for uri in uris {
            let Some(Key::File(path)) = self.parts.workspace.key_of(uri) else {
                warn!(uri, "a folder of the client's that is none here");
                continue;
            };
            let is_folder = self.parts.ports.disk.metadata(&path).is_ok_and(|found| found.kind == FileKind::Directory);
            if is_folder && !folders.contains(&path) {
                folders.push(path);
            }
        }
        folders
    }
}

#[async_trait]
impl Host for Desk {
    fn met(&self, who: &InitializeRequestParams, peer: &Peer<RoleServer>) {
        self.person.met(who, peer);
        let asked = Asked { label: Some(who.client_info.name.chars().take(80).collect()), ..Asked::default() };
        let open = SessionRequest::Open(SessionParams { session_id: Some(SESSION.to_owned()), asked });
        // It takes effect in this moment; its answer tells nothing new.
        drop(Arc::clone(&self.rooms.calls).session(open));
        let asks = self.alone.asks_roots && who.capabilities.roots.is_some();
        if !asks {
            self.keeper.decide(Ok(()));
        }
    }

    async fn ready(&self, peer: &Peer<RoleServer>) {
        self.ask_roots(peer).await;
        self.keeper.decide(Ok(()));
    }

    async fn moved(&self, peer: &Peer<RoleServer>) {
        self.ask_roots(peer).await;
    }
}
