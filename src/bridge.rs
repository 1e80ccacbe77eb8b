//! Our tools for clients of MCP: alone, on the files of a folder ([`serve_alone`]), or in the editor, whose sidecar others
//! join by a socket ([`Bridge`] on the sidecar's side, [`join`] on theirs).
//!
//! The socket is in a folder that is the user's alone. Whoever joins shows a secret that only that user can read, and the
//! person at the editor is asked about it; a program that the sidecar itself invites ([`Door`]) has a secret of its own and
//! is the session it was invited to. After one line each way the connection carries MCP, and calls go the way that all
//! calls go.

mod alone;
mod answers;
mod client;
mod consent;
mod door;
mod entrance;
mod frames;
mod hello;
pub mod join;
mod known;
mod listen;
mod meeting;
mod news;
mod pages;
mod place;
mod requests;
mod resources;
mod words;

pub use alone::{Alone, serve_alone};
pub use hello::Caller;
pub use known::{Known, choose};
pub use meeting::{known_beside, known_in, own_folder};

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use futures_util::future::BoxFuture;
use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::editor::Editor;
use crate::server::protocol::DidChangeContextParams;
use crate::server::{Parts, Rooms};
use crate::sessions::Sessions;
use crate::sessions::policy::Asked;
use crate::sessions::requests::{SessionParams, SessionRef, SessionRequest};

use consent::Answers;
use listen::Listening;
use news::Hub;

/// At most so many programs have joined at once.
const MOST_CLIENTS: usize = 8;

/// At most so many are at the door and have not said who they are.
const MOST_AT_THE_DOOR: usize = 16;

/// The door of a sidecar. It costs nothing until the editor has introduced itself, and a socket from then on.
pub struct Bridge {
    me: Weak<Bridge>,
    rooms: Rooms,
    editor: Arc<dyn Editor>,
    sessions: Arc<Sessions>,
    hub: Arc<Hub>,
    /// Where sidecars make themselves known.
    folder: PathBuf,
    /// Whether it makes itself known there.
    announces: bool,
    listening: Mutex<Option<Listening>>,
    invited: Mutex<HashMap<String, Invited>>,
    answers: Answers,
    numbers: AtomicU64,
    seats: Arc<Semaphore>,
    doorstep: Arc<Semaphore>,
    end: CancellationToken,
}

/// An invitation that was not withdrawn.
#[derive(Clone)]
struct Invited {
    session: String,
    withdrawn: CancellationToken,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Bridge {
    /// The door to these rooms, which sidecars and those who join them look for in this folder. `announces`: whoever the
    /// user lets in may join, not only who is invited. Within a runtime.
    pub fn open(rooms: &Rooms, parts: &Parts, folder: PathBuf, announces: bool) -> Arc<Bridge> {
        let editor = Arc::clone(&parts.workspace.editor);
        let hub = Arc::<Hub>::default();
        let heard = Arc::clone(&hub);
        editor.overhear(Box::new(move |news| heard.hears(news)));
        let heard = Arc::clone(&hub);
        parts.documents.listen(Box::new(move |event| heard.document(event)));
        let bridge = Arc::new_cyclic(|me| Bridge {
            me: Weak::clone(me),
            rooms: rooms.clone(),
            editor,
            sessions: Arc::clone(&parts.sessions),
            hub,
            folder,
            announces,
            listening: Mutex::default(),
            invited: Mutex::default(),
            answers: Answers::default(),
            numbers: AtomicU64::new(0),
            seats: Arc::new(Semaphore::new(MOST_CLIENTS)),
            doorstep: Arc::new(Semaphore::new(MOST_AT_THE_DOOR)),
            end: CancellationToken::new(),
        });
        // From this moment on, so that nothing is missed that the editor says before the task has begun.
        let (editor, looks) = (rooms.context.editor(), rooms.context.looks());
        tokio::spawn(Bridge::follow(Arc::downgrade(&bridge), editor, looks, bridge.end.clone()));
        bridge
    }

    /// Shuts the door: who joined is sent away, and nothing is left in the folder.
    pub fn close(&self) {
        self.end.cancel();
        drop(lock(&self.listening).take());
    }

    /// Follows what the editor says of itself, until the door is shut.
    async fn follow(
        bridge: Weak<Bridge>,
        mut editor: watch::Receiver<Option<String>>,
        mut looks: watch::Receiver<DidChangeContextParams>,
        end: CancellationToken,
    ) {
        loop {
            tokio::select! {
                () = end.cancelled() => return,
                changed = editor.changed() => {
                    let name = editor.borrow_and_update().clone();
                    let (Ok(()), Some(bridge)) = (changed, bridge.upgrade()) else { return };
                    let Some(name) = name else { continue };
                    let keeping = tokio::task::spawn_blocking(move || bridge.keep_known(&name));
                    if let Err(fault) = keeping.await {
                        warn!(%fault, "the door is not kept up to date");
                    }
                }
                changed = looks.changed() => {
                    let (Ok(()), Some(bridge)) = (changed, bridge.upgrade()) else { return };
                    bridge.hub.updated(resources::SELECTION);
                    bridge.hub.updated(resources::EDITORS);
                }
            }
        }
    }

    /// The door is open, known or not, as folders and settings want it.
    fn keep_known(&self, editor: &str) {
        let roots = self.rooms.workspace.roots().folders;
        let wanted = self.announces && self.rooms.workspace.settings().bridge.listen && !roots.is_empty();
        let mut listening = lock(&self.listening);
        if self.end.is_cancelled() {
            return;
        }
        let kept = if wanted {
            self.listen(&mut listening).and_then(|listening| listening.announce(editor, roots))
        } else if lock(&self.invited).is_empty() {
            drop(listening.take());
            Ok(())
        } else {
            listening.as_mut().map_or(Ok(()), Listening::hide)
        };
        if let Err(error) = kept {
            warn!(%error, folder = %self.folder.display(), "no other program can join");
        }
    }

    /// The socket, made where there is none yet.
    fn listen<'a>(&self, listening: &'a mut Option<Listening>) -> std::io::Result<&'a mut Listening> {
        if listening.is_none() {
            let (open, listener) = Listening::open(&self.folder)?;
            tokio::spawn(Bridge::accept(Weak::clone(&self.me), listener, open.end.clone()));
            return Ok(listening.insert(open));
        }
        listening.as_mut().ok_or_else(|| std::io::ErrorKind::NotConnected.into())
    }

    /// Opens a session that no pane has, under a name for people.
    fn new_session(&self, label: &str) -> String {
        let name = loop {
            let number = self.numbers.fetch_add(1, Ordering::Relaxed) + 1;
            let name = format!("mcp-{number}");
            if !self.sessions.knows(&name) {
                break name;
            }
        };
        let of = |session: &str| SessionRef { session_id: Some(session.to_owned()) };
        // What was kept of a session of this name is another client's.
        self.ask(SessionRequest::Reset(of(&name)));
        let asked = Asked { label: Some(label.to_owned()), ..Asked::default() };
        self.ask(SessionRequest::Open(SessionParams { session_id: Some(name.clone()), asked }));
        name
    }

    fn close_session(&self, session: &str) {
        self.ask(SessionRequest::Close(SessionRef { session_id: Some(session.to_owned()) }));
    }

    /// It takes effect in this moment; its answer tells nothing new.
    fn ask(&self, request: SessionRequest) {
        let answer: BoxFuture<'static, _> = Arc::clone(&self.rooms.calls).session(request);
        drop(answer);
    }
}
