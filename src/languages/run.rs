//! Reads the queue of events, asks the hub what to do, and does it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::debug;

use super::client::{Client, Pipes, Root};
use super::hub::{Effect, Event, Finding, Hub, ServerId};
use super::known::Server;
use super::supervisor::Supervisor;
use super::{Shared, lock};
use crate::editor::{Editor, News};
use crate::ports::Clock;
use crate::rpc::{OnItsWay, Unsent};
use crate::workspace::Key;

/// How long the editor may take to say that it will send diagnostics.
const ASK_EDITOR: Duration = Duration::from_secs(5);

/// What finds and starts servers; the [`Supervisor`], or a test.
#[async_trait]
pub(super) trait Servers: Send + Sync + 'static {
    /// See [`Supervisor::find`].
    async fn find(&self, key: &Key, candidates: &[Arc<Server>], folder: Option<PathBuf>) -> Finding;
    /// See [`Supervisor::start`].
    async fn start(&self, server: &Server, command: &[String], root: Option<&Root>) -> Result<Pipes, String>;
    /// See [`Supervisor::read`].
    async fn read(&self, path: &Path) -> Option<String>;
    /// See [`Supervisor::trusted`].
    fn trusted(&self, roots: Vec<PathBuf>) -> Vec<PathBuf>;
    /// See [`Supervisor::locate`].
    async fn locate(&self, server: &Server) -> Result<PathBuf, String>;
}

#[async_trait]
impl Servers for Supervisor {
    async fn find(&self, key: &Key, candidates: &[Arc<Server>], folder: Option<PathBuf>) -> Finding {
        Supervisor::find(self, key, candidates, folder).await
    }

    async fn start(&self, server: &Server, command: &[String], root: Option<&Root>) -> Result<Pipes, String> {
        Supervisor::start(self, server, command, root).await
    }

    async fn read(&self, path: &Path) -> Option<String> {
        Supervisor::read(self, path).await
    }

    fn trusted(&self, roots: Vec<PathBuf>) -> Vec<PathBuf> {
        Supervisor::trusted(self, roots)
    }

    async fn locate(&self, server: &Server) -> Result<PathBuf, String> {
        Supervisor::locate(self, server).await
    }
}

/// The queue of events, as those see it who put something on it.
#[derive(Clone)]
pub(super) struct Queue {
    events: mpsc::UnboundedSender<(Event, OnItsWay)>,
    /// Events whose effects have not been seen to.
    pub(super) unsent: Unsent,
}

impl Queue {
    /// A queue, and its other end.
    pub(super) fn new() -> (Queue, mpsc::UnboundedReceiver<(Event, OnItsWay)>) {
        let (events, other) = mpsc::unbounded_channel();
        (Queue { events, unsent: Unsent::default() }, other)
    }

    /// Puts something on the queue; when nobody reads any more, nothing happens.
    pub(super) fn send(&self, event: Event) {
        let _ = self.events.send((event, self.unsent.add()));
    }
}

/// The reader of the queue.
pub(super) struct Runner {
    pub(super) hub: Hub,
    pub(super) events: mpsc::UnboundedReceiver<(Event, OnItsWay)>,
    pub(super) queue: Queue,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) editor: Arc<dyn Editor>,
    pub(super) servers: Arc<dyn Servers>,
    pub(super) shared: Arc<Shared>,
    pub(super) over: CancellationToken,
}

impl Runner {
    /// Reads until it is over; the servers that are still there end with it.
    pub(super) async fn run(mut self) {
        let mut clients: HashMap<ServerId, Client> = HashMap::new();
        loop {
            let next = self.hub.next_tick(self.clock.now());
            let next = next.map(|at| self.clock.sleep(at.saturating_duration_since(self.clock.now())));
            let next = async move {
                match next {
                    Some(sleep) => sleep.await,
                    None => std::future::pending().await,
                }
            };
            // Until its effects have been seen to, an event counts as under way.
            let (effects, _on_its_way) = tokio::select! {
                biased;
                () = self.over.cancelled() => return,
                event = self.events.recv() => match event {
                    None => return,
                    Some((Event::Trust { .. }, on_its_way)) => {
                        let trusted = self.servers.trusted(self.hub.roots());
                        (self.hub.handle(Event::Trust { trusted }, self.clock.now()), Some(on_its_way))
                    }
                    Some((event, on_its_way)) => (self.hub.handle(event, self.clock.now()), Some(on_its_way)),
                },
                () = next => (self.hub.tick(self.clock.now()), None),
            };
            *lock(&self.shared.census) = self.hub.census();
            for effect in effects {
                self.perform(effect, &mut clients);
            }
        }
    }

    fn perform(&self, effect: Effect, clients: &mut HashMap<ServerId, Client>) {
        match effect {
            Effect::Find { key, kind, candidates, folder } => {
                let (servers, queue) = (Arc::clone(&self.servers), self.queue.clone());
                // What a server shall be told waits until there is one.
                let on_its_way = queue.unsent.add();
                tokio::spawn(async move {
                    let finding = servers.find(&key, &candidates, folder).await;
                    queue.send(Event::Found { key, kind, finding });
                    drop(on_its_way);
                });
            }
            Effect::Reread { key } => {
                let (servers, queue) = (Arc::clone(&self.servers), self.queue.clone());
                let on_its_way = queue.unsent.add();
                tokio::spawn(async move {
                    if let Key::File(path) = &key
                        && let Some(text) = servers.read(path).await
                    {
                        queue.send(Event::Reread { key, text });
                    }
                    drop(on_its_way);
                });
            }
            Effect::Start { id, run, server, command, root } => {
                let queue = self.queue.clone();
                let sink = Arc::new(move |event| {
                    queue.send(Event::Server { id, run, event });
                });
                let (servers, clock) = (Arc::clone(&self.servers), Arc::clone(&self.clock));
                let name = server.name.clone();
                let (of, at) = (Arc::clone(&server), root.clone());
                // To start it can take a moment, and nobody else waits for that.
                let starting = async move { servers.start(&of, &command, at.as_ref()).await };
                let client = Client::start(starting, server, root, clock, sink, &self.shared.clients);
                lock(&self.shared.unsent).insert(id, (name, client.unsent()));
                clients.insert(id, client);
            }
            Effect::Tell { id, command } => {
                if let Some(client) = clients.get(&id) {
                    client.tell(command);
                }
            }
            Effect::Finish { id, report } => {
                if let Some(waiting) = lock(&self.shared.waits).remove(&id) {
                    let _ = waiting.send(report);
                }
            }
            Effect::Offer { id, offer } => {
                if let Some(asking) = lock(&self.shared.asks).remove(&id) {
                    let doors = offer.served.iter().filter_map(|served| clients.get(&served.id).cloned());
                    let doors = doors.collect();
                    let _ = asking.send((offer, doors));
                }
            }
            Effect::Late(mut report) => {
                self.shared.add_checks(&mut report);
                let told = serde_json::to_value(&report);
                lock(&self.shared.late).push(report);
                match told {
                    Ok(told) => self.editor.tell(News::LateDiagnostics(told)),
                    Err(error) => debug!(%error, "telling of late diagnostics"),
                }
            }
            Effect::AskEditor { uri } => {
                if self.editor.abilities().diagnostics {
                    let editor = Arc::clone(&self.editor);
                    tokio::spawn(async move {
                        if let Err(error) = editor.pull_diagnostics(&uri, ASK_EDITOR).await {
                            debug!(%error, uri, "asking the editor for diagnostics");
                        }
                    });
                }
            }
        }
    }
}
