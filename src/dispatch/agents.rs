//! The sessions of agents: opened for them, and ended with them, or with the session that they work for.

use std::sync::{Arc, PoisonError, RwLock};

use crate::editor::{ModeChanged, News, ToolsChanged};
use crate::sessions::{Session, kin};
use crate::tool::{Closed, Door};

use super::Dispatch;

/// The way in for agents that are programs of their own.
pub(super) struct Way(RwLock<Arc<dyn Door>>);

impl Default for Way {
    fn default() -> Self {
        Way(RwLock::new(Arc::new(Closed)))
    }
}

impl Way {
    pub(super) fn get(&self) -> Arc<dyn Door> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Dispatch {
    /// By which way agents that are programs of their own join their sessions; by none until this is called.
    pub fn set_door(&self, door: Arc<dyn Door>) {
        *self.door.0.write().unwrap_or_else(PoisonError::into_inner) = door;
    }

    /// The session of an agent of a session; `anew`: nothing is left in it of one before it of the same name.
    pub(super) async fn agent_session(&self, session: &Session, number: u64, anew: bool) -> Arc<Session> {
        let child = self.session(Some(&kin::child(&session.id, number)));
        child.ready(&*self.workspace.ports.clock).await;
        if anew {
            self.drop_session(&child.id);
            self.drop_proposals(&child);
            self.keeper.remove(child.reset());
        }
        child
    }

    /// An agent has ended, and with it those it started itself: what its session has under way is stopped.
    pub(super) fn agent_ended(&self, session: &str) {
        let below = self.sessions.below(session);
        for id in below.iter().map(|session| session.id.as_str()).chain([session]) {
            self.cancel(Some(id), None, None);
            for job in self.jobs.list(id) {
                self.jobs.stop(id, &job.id);
            }
        }
    }

    /// A session ends, and with it those that work for it; `reset`: nothing is left of them.
    pub(super) fn end_agents(&self, session: &str, reset: bool) {
        for below in self.sessions.below(session) {
            below.turn_over();
            self.cancel(Some(&below.id), None, None);
            self.sessions.close(&below.id);
            self.drop_session(&below.id);
            self.drop_proposals(&below);
            if reset {
                self.keeper.remove(below.reset());
            }
        }
    }

    /// Does something to a session that may change what those have that work for it, and tells of each where it did.
    pub(super) fn with_agents(&self, session: &Session, act: impl FnOnce()) {
        let below = self.sessions.below(&session.id);
        let settings = self.workspace.settings();
        let look = |below: &Arc<Session>| (below.mode(&settings), below.tools());
        let before: Vec<_> = below.iter().map(look).collect();
        act();
        for (below, (mode, tools)) in below.iter().zip(before) {
            let (now, has) = look(below);
            let session_id = below.id.clone();
            if now != mode {
                self.workspace.editor.tell(News::Mode(ModeChanged { session_id: session_id.clone(), mode: now }));
            }
            if has != tools {
                self.workspace.editor.tell(News::Tools(ToolsChanged { session_id: Some(session_id) }));
            }
        }
    }
}
