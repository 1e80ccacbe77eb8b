//! Reads that start before their call has come: their arguments are there, and later ones of the same message still
//! stream in.
//!
//! What such a read gives is used only if the call asks for exactly it and nothing that it may have seen has changed
//! since; else the call runs as any other. It leaves no trace in its session before that.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::oneshot;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::config::Settings;
use crate::outputs::Budget;
use crate::permissions::DecisionKind;
use crate::sessions::Session;
use crate::tool::{Capability, Context, Outcome, Plan, ToolError};
use crate::workspace::Roots;

use super::catalog::Entry;
use super::execute::{Limits, contained};
use super::own::Own;
use super::propose::outline;
use super::world::Moment;
use super::{Call, Dispatch, execute};

/// A read that no call has claimed is dropped after so long.
const KEPT: Duration = Duration::from_secs(30);

/// The state of everything that a read may have seen.
#[derive(Clone)]
struct Stamp {
    world: Moment,
    settings: Arc<Settings>,
    roots: Roots,
}

impl Stamp {
    fn same(&self, other: &Stamp) -> bool {
        self.world == other.world && Arc::ptr_eq(&self.settings, &other.settings) && self.roots == other.roots
    }
}

/// A read that was started. Dropped, it ends.
pub(super) struct Early {
    name: String,
    arguments: Value,
    budget: usize,
    stamp: Stamp,
    /// A copy of the session, which keeps what the read would have left in it.
    session: Arc<Session>,
    outcome: oneshot::Receiver<Option<Outcome>>,
    _cancel: DropGuard,
}

/// Whether calls of a tool may start early: they read files and documents here and do nothing else. (A tool without any
/// capability reads or changes its session, which is not copied whole. One that runs elsewhere is only said to read.)
pub(super) fn may(entry: &Entry) -> bool {
    let local = entry.traits().capabilities.iter().all(|capability| *capability == Capability::ReadsFiles);
    entry.shared() && local && !entry.traits().capabilities.is_empty() && !entry.tool.elsewhere()
}

impl Dispatch {
    fn stamp(&self) -> Stamp {
        Stamp { world: self.world.now(), settings: self.workspace.settings(), roots: self.workspace.roots() }
    }

    /// Starts a read whose arguments are there, if it may run without anybody being asked. `lost` is called when no
    /// call has claimed it for long. Does not wait; has to be called on the runtime.
    pub(super) fn start_early(
        &self,
        entry: &Arc<Entry>,
        session: &Session,
        given: &Value,
        lost: impl FnOnce() + Send + 'static,
    ) -> Option<Early> {
        let name = entry.traits().name.to_owned();
        if !may(entry) || self.hooked(&name) || !session.is_ready() {
            return None;
        }
        let arguments = entry.ready(Some(given)).ok().filter(|ready| !ready.synthesized)?.arguments;
        let stamp = self.stamp();
        let budget = Budget::new(&stamp.settings.output, session.wanted().max_bytes(None)).max;
        let session = Arc::new(session.fork());
        let cancel = CancellationToken::new();
        let context = self.context(&session, None, cancel.clone(), budget);
        let (sender, outcome) = oneshot::channel();
        let (entry, given) = (Arc::clone(entry), arguments.clone());
        let clock = Arc::clone(&self.workspace.ports.clock);
        let token = cancel.clone();
        tokio::spawn(async move {
            let traits = entry.traits();
            let limits = Limits::plain(&traits, &*clock, &token);
            let work = limits.bound(async { Ok(read(&entry, given, &context).await) });
            let outcome = contained(traits.name, work).await.and_then(|done| done).ok().flatten();
            // An error means that nobody wants it any more.
            if sender.send(outcome).is_err() {
                return;
            }
            tokio::select! {
                () = token.cancelled() => {}
                () = clock.sleep(KEPT) => lost(),
            }
        });
        Some(Early { name, arguments, budget, stamp, session, outcome, _cancel: cancel.drop_guard() })
    }

    /// Runs a call whose plan is to run, or takes what was read for it before.
    pub(super) async fn ran(&self, early: Option<Early>, call: &Call<'_>) -> Result<Outcome, ToolError> {
        if let Some(early) = early
            && let Some(outcome) = call.limits().bound(async { Ok(self.taken(early, call).await) }).await?
        {
            return Ok(outcome);
        }
        execute::ran(call).await
    }

    async fn taken(&self, early: Early, call: &Call<'_>) -> Option<Outcome> {
        let Early { name, arguments, budget, stamp, session, outcome, _cancel } = early;
        let asked = name == call.entry.traits().name && arguments == call.arguments && budget == call.context.budget;
        if !asked || !stamp.same(&self.stamp()) {
            return None;
        }
        let outcome = outcome.await.ok()??;
        if !stamp.same(&self.stamp()) {
            return None;
        }
        call.context.session.adopt(&session, Some(&call.context.call));
        Some(outcome)
    }
}

/// What the read gives; `None` when somebody would have to be asked, or when it fails: then the call itself shall.
async fn read(entry: &Entry, arguments: Value, context: &Context) -> Option<Outcome> {
    let outline = outline(entry, &arguments, context, &Own::default(), None).await.ok()?;
    if outline.judgement.decision != DecisionKind::Allow {
        return None;
    }
    match entry.tool.plan(&arguments, context).await {
        Ok(Plan::Run) => entry.tool.run(arguments, context).await.ok(),
        _ => None,
    }
}
