//! A call comes in: its names, its session, its place in the session's order. Synchronous, and it never waits.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use tracing::debug;

use crate::sessions::Session;
use crate::tool::ToolError;

use super::catalog::undiscovered;
use super::input::Claimed;
use super::nested::Lineage;
use super::schedule::{Lane, Ticket};
use super::{Admitted, CallParams, Dispatch, calls, ids, nested};

impl Dispatch {
    /// Gives a call its ticket. Synchronous, so that the order of arrival is the order of tickets; never blocks.
    pub fn admit(&self, params: CallParams) -> Admitted {
        self.admit_as(params, None, None, CancellationToken::new())
    }

    /// The same of a call that another one makes, within its turn if that is given.
    pub(super) fn admit_as(
        &self,
        mut params: CallParams,
        within: Option<(&Arc<Lineage>, Option<Arc<Ticket>>)>,
        misfit: Option<ToolError>,
        cancel: CancellationToken,
    ) -> Admitted {
        let after = self.joining.mark();
        let Claimed { early, misfit: unstreamed } = self.claim(&mut params);
        let mut misfit = misfit.or(unstreamed).or_else(|| ids::misfit(&params));
        let session = self.session(params.session_id.as_deref());
        let number = session.next_call();
        let call_id = params.call_id.as_deref().map_or_else(|| format!("c{number}"), |id| ids::told(id).into_owned());
        let (tool, shared) = match self.tools.find(&session, &params.name) {
            // The first calls of deferred tools run one by one: they are listed in that order.
            Ok(entry) => (entry.traits().name.to_owned(), entry.shared() && !undiscovered(&session, &entry)),
            Err(_) => (params.name.clone(), false),
        };
        let turn = params.turn_id.as_deref().map(|id| ids::told(id).into_owned());
        let (depth, lane, parents) = match within {
            None => (0, Lane::Session(session.id.clone()), None),
            Some((parent, None)) => (parent.depth + 1, Lane::Session(session.id.clone()), None),
            Some((parent, held)) => {
                if parent.shared && !shared {
                    misfit = misfit.or_else(|| Some(nested::beside(parent, &tool)));
                }
                (parent.depth + 1, Lane::Under(parent.number), held)
            }
        };
        let open = self.calls.open(calls::Call {
            session: session.id.clone(),
            id: call_id.clone(),
            turn: turn.clone(),
            tool,
            cancel: cancel.clone(),
        });
        let ticket = self.schedule.take(lane, shared, &self.workspace.settings().parallel);
        let since = self.workspace.ports.clock.now();
        let kind = (turn, shared, depth);
        let lineage = Lineage::new(open.number, &call_id, &session, kind, &cancel, (ticket, parents));
        let epoch = session.epoch();
        Admitted {
            params,
            session,
            epoch,
            number,
            call_id,
            cancel,
            lineage,
            _open: open,
            since,
            misfit,
            member: None,
            early,
            after,
        }
    }

    /// The session of a name. One whose name is not taken lives only for what is asked of it.
    pub(super) fn session(&self, id: Option<&str>) -> Arc<Session> {
        if let Some(long) = id.filter(|id| id.len() > ids::MAX_ID_BYTES) {
            return Arc::new(Session::new(&ids::told(long)));
        }
        let root = || {
            let folders = self.workspace.roots().folders;
            folders.first().map(|folder| folder.to_string_lossy().into_owned()).unwrap_or_default()
        };
        let (session, dropped) = self.sessions.open(id, root);
        for gone in dropped {
            debug!(session = gone, "dropped a session that was idle for long");
            self.drop_session(&gone);
            // What it proposes is kept, and comes back with it.
            self.workspace.proposals.forget(&gone);
        }
        session
    }
}
