//! The socket of a sidecar, and those who come to it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use async_trait::async_trait;
use rmcp::model::InitializeRequestParams;
use rmcp::service::{Peer, RoleServer};
use tokio::io::{AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use crate::permissions::visible;
use crate::ports::{PrivateFolder, secret, user};
use crate::process;

use super::client::{Host, Served, serve};
use super::consent::{Who, who};
use super::entrance::{Doorkeeper, Entrance, entrance};
use super::hello::{Answer, Caller, Hello, line, read_line, same_secret};
use super::known::{Known, VERSION};
use super::{Bridge, Invited, MOST_CLIENTS, lock, meeting, place};

/// How long one at the door may take to say who it is.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long it is waited when no more connections can be taken.
const REST: Duration = Duration::from_millis(200);

/// An open socket; it is gone when this is dropped.
pub(super) struct Listening {
    folder: PrivateFolder,
    known: Known,
    told: bool,
    /// Ends with it.
    pub end: CancellationToken,
}

impl Listening {
    /// Opens the socket. Within a runtime.
    pub(super) fn open(folder: &Path) -> io::Result<(Listening, UnixListener)> {
        if !place::fits(folder) {
            let why = format!("the path of a socket in {} would be too long", folder.display());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        let folder = meeting::enter(folder)?;
        let process = std::process::id();
        let socket = folder.path().join(place::socket_of(process));
        let known = Known {
            ropewalk: VERSION,
            process,
            editor: String::new(),
            roots: Vec::new(),
            socket: socket.clone(),
            token: secret()?,
        };
        let listener = UnixListener::bind(&socket)?;
        info!(socket = %socket.display(), "other programs can ask to join");
        Ok((Listening { folder, known, told: false, end: CancellationToken::new() }, listener))
    }

    /// Makes it known, with what is open in the editor.
    pub(super) fn announce(&mut self, editor: &str, roots: Vec<PathBuf>) -> io::Result<()> {
        let known = Known { editor: editor.to_owned(), roots, ..self.known.clone() };
        if self.told && known == self.known {
            return Ok(());
        }
        meeting::tell(&self.folder, &known)?;
        self.known = known;
        self.told = true;
        Ok(())
    }

    /// Makes it known to nobody; the socket stays for those who are invited.
    pub(super) fn hide(&mut self) -> io::Result<()> {
        self.told = false;
        self.folder.remove(&place::known_of(self.known.process))
    }

    /// Where to join.
    pub(super) fn socket(&self) -> &Path {
        &self.known.socket
    }

    /// Whether this is the secret of those who have to be asked about, and they may come.
    fn is_token(&self, token: &str) -> bool {
        self.told && same_secret(&self.known.token, token)
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.end.cancel();
        for name in [place::known_of(self.known.process), place::socket_of(self.known.process)] {
            if let Err(error) = self.folder.remove(&name) {
                warn!(name, %error, "it stays in the folder");
            }
        }
    }
}

/// As whom somebody may come in.
enum Guest {
    /// As one who is asked about, with a session of its own.
    Asked,
    /// As the session it was invited to.
    Invited(Invited),
}

/// Whether a process of this user may come to the door of one of that user.
pub(super) fn same_user(theirs: u32, ours: u32) -> bool {
    theirs == ours
}

impl Bridge {
    /// Takes those who come, until the socket is closed.
    pub(super) async fn accept(bridge: Weak<Bridge>, listener: UnixListener, end: CancellationToken) {
        loop {
            let come = tokio::select! {
                () = end.cancelled() => return,
                come = listener.accept() => come,
            };
            let Some(bridge) = bridge.upgrade() else { return };
            match come {
                Ok((stream, _)) => {
                    let Ok(step) = Arc::clone(&bridge.doorstep).try_acquire_owned() else {
                        debug!("too many are at the door; one is sent away");
                        continue;
                    };
                    tokio::spawn(async move {
                        // Boxed, for it is as large as all that a client is.
                        Box::pin(bridge.meet(stream, step)).await;
                    });
                }
                Err(error) => {
                    warn!(%error, "nobody can come in for a moment");
                    let clock = Arc::clone(&bridge.rooms.workspace.ports.clock);
                    drop(bridge);
                    clock.sleep(REST).await;
                }
            }
        }
    }

    /// Hears who somebody at the door is, and lets it in or sends it away. `step`: its place at the door.
    async fn meet(self: Arc<Bridge>, stream: UnixStream, step: tokio::sync::OwnedSemaphorePermit) {
        let peer = match stream.peer_cred() {
            Ok(peer) if same_user(peer.uid(), user()) => peer.pid().and_then(|pid| u32::try_from(pid).ok()),
            Ok(peer) => return warn!(uid = peer.uid(), "another user's program was sent away"),
            Err(error) => return warn!(%error, "a program that cannot be told was sent away"),
        };
        let (input, mut output) = stream.into_split();
        let mut input = BufReader::new(input);
        let clock = Arc::clone(&self.rooms.workspace.ports.clock);
        let said = tokio::select! {
            said = read_line(&mut input) => said,
            () = clock.sleep(PATIENCE) => return debug!("somebody at the door said nothing"),
            () = self.end.cancelled() => return,
        };
        let Ok(said) = said else { return };
        let hello = Hello::read(&said).and_then(|hello| {
            let guest = self.guest(&hello.token);
            let wrong = "The secret is not the one of this sidecar (any more): start the connection again.";
            guest.map(|guest| (hello.client, guest)).ok_or_else(|| wrong.to_owned())
        });
        let seat = Arc::clone(&self.seats).try_acquire_owned();
        let full = || format!("{MOST_CLIENTS} programs have joined this editor already; end one of them.");
        let (caller, guest, _seat) = match (hello, seat) {
            (Ok((caller, guest)), Ok(seat)) => (caller, guest, seat),
            (Err(why), _) => return refuse(&mut output, &why).await,
            (Ok(_), Err(_)) => return refuse(&mut output, &full()).await,
        };
        let (own, end) = match &guest {
            Guest::Asked => (Some(self.new_session(&label(&caller))), self.end.child_token()),
            Guest::Invited(invited) => (None, invited.withdrawn.child_token()),
        };
        let session = match (&own, &guest) {
            (Some(own), _) => own.clone(),
            (None, Guest::Invited(invited)) => invited.session.clone(),
            (None, Guest::Asked) => return,
        };
        let welcome = line(&Answer::Welcome { ropewalk: VERSION, session: session.clone() }).unwrap_or_default();
        if output.write_all(&welcome).await.is_ok() {
            drop(step);
            info!(session, ?caller, "joined");
            let (door, entrance) = self.door(&guest, peer, caller, &session, &end);
            serve(self.served(&session, entrance, door), input, output, end).await;
            info!(session, "left");
        }
        if let Some(own) = own {
            self.close_session(&own);
        }
    }

    fn guest(&self, token: &str) -> Option<Guest> {
        let invited = lock(&self.invited);
        #[expect(clippy::iter_over_hash_type, reason = "at most one of them is the same")]
        for (secret, invited) in invited.iter() {
            if same_secret(secret, token) {
                return Some(Guest::Invited(invited.clone()));
            }
        }
        drop(invited);
        let asked = lock(&self.listening).as_ref().is_some_and(|listening| listening.is_token(token));
        asked.then_some(Guest::Asked)
    }

    /// What a guest stands before: open for one who is invited.
    fn door(
        self: &Arc<Bridge>,
        guest: &Guest,
        peer: Option<u32>,
        caller: Caller,
        session: &str,
        end: &CancellationToken,
    ) -> (Arc<dyn Host>, Entrance) {
        let (keeper, entrance) = entrance();
        let asks = matches!(guest, Guest::Asked);
        if !asks {
            keeper.decide(Ok(()));
        }
        let (bridge, session, end) = (Arc::clone(self), session.to_owned(), end.clone());
        (
            Arc::new(Doorway { bridge, peer, caller, session, asks: asks.into(), keeper: Arc::new(keeper), end }),
            entrance,
        )
    }

    fn served(&self, session: &str, entrance: Entrance, host: Arc<dyn Host>) -> Served {
        Served {
            rooms: self.rooms.clone(),
            hub: Arc::clone(&self.hub),
            session: session.to_owned(),
            editor: true,
            entrance,
            host,
        }
    }
}

/// The name of a session for people.
fn label(caller: &Caller) -> String {
    let name = visible(&caller.name);
    if name.is_empty() { "a program that joined".to_owned() } else { format!("{name} (joined)") }
}

async fn refuse(output: &mut (impl tokio::io::AsyncWrite + Unpin), why: &str) {
    debug!(why, "sent away");
    // Whoever does not wait for the answer does not need it. It is short, so that it fits into any socket.
    let _ = output.write_all(&line(&Answer::refused(why)).unwrap_or_default()).await;
}

/// Somebody stands there until the person at the editor has answered.
struct Doorway {
    bridge: Arc<Bridge>,
    peer: Option<u32>,
    caller: Caller,
    session: String,
    /// Whether the person is still to be asked about it.
    asks: AtomicBool,
    keeper: Arc<Doorkeeper>,
    /// When it goes, the question is taken back.
    end: CancellationToken,
}

#[async_trait]
impl Host for Doorway {
    fn met(&self, introduced: &InitializeRequestParams, _: &Peer<RoleServer>) {
        // Once, however often it introduces itself.
        if !self.asks.swap(false, Ordering::Relaxed) {
            return;
        }
        let client = &introduced.client_info;
        let mut caller = self.caller.clone();
        caller.name = client.title.clone().unwrap_or_else(|| client.name.clone()).chars().take(80).collect();
        let (bridge, session, peer) = (Arc::clone(&self.bridge), self.session.clone(), self.peer);
        let (keeper, end) = (Arc::clone(&self.keeper), self.end.clone());
        tokio::spawn(async move {
            let seen = tokio::task::spawn_blocking(move || see(peer, &caller)).await.unwrap_or_default();
            tokio::select! {
                answer = bridge.answers.ask(&bridge.editor, &seen, &session) => keeper.decide(answer),
                () = end.cancelled() => {}
            }
        });
    }

    async fn ready(&self, _: &Peer<RoleServer>) {}

    async fn moved(&self, _: &Peer<RoleServer>) {}
}

/// Who is at the other end.
fn see(peer: Option<u32>, caller: &Caller) -> Who {
    let own = process::other(std::process::id()).map(|own| own.program);
    who(peer, peer.and_then(process::other), own.as_deref(), process::other, caller)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_programs_of_the_same_user_come_in() {
        for (theirs, ours, may) in [(1000, 1000, true), (0, 1000, false), (1001, 1000, false), (0, 0, true)] {
            assert_eq!(same_user(theirs, ours), may, "{theirs} {ours}");
        }
    }

    #[test]
    fn sessions_have_names_for_people() {
        let named = |name: &str| label(&Caller { name: name.into(), process: None });
        assert_eq!((named("agent"), named("")), ("agent (joined)".into(), "a program that joined".into()));
        assert_eq!(named("a\u{202e}b"), "a\\u{202e}b (joined)");
    }
}
