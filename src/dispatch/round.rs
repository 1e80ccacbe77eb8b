//! Rounds: the calls that a model made before it heard of any of them. What one of them says of the others counts for the
//! whole round: a person's no sets aside those that still wait to be asked about, and a mode that was asked for holds from
//! the next round on.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::sessions::Session;
use crate::sessions::policy::Switch;
use crate::tool::ToolError;

use super::approve::denied;
use super::{Call, Dispatch};

/// At most so many noes are remembered for their rounds; the oldest give way.
const KEPT: usize = 64;

/// What is pending of the rounds of all sessions.
#[derive(Default)]
pub(super) struct Rounds(Mutex<State>);

#[derive(Default)]
struct State {
    noes: VecDeque<No>,
    /// By session: the change of its mode, and the last call that came before it was asked for.
    switches: BTreeMap<String, (Switch, u64)>,
}

/// A person's no.
struct No {
    session: String,
    turn: Option<String>,
    batch: Option<usize>,
    /// The last call that had come by then.
    last: u64,
    tool: String,
    id: String,
}

impl Rounds {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The person chose a mode: what a model asked for before that does not count any more.
    pub(super) fn chosen(&self, session: &str) {
        self.lock().switches.remove(session);
    }

    /// A session was dropped.
    pub(super) fn forget(&self, session: &str) {
        let mut state = self.lock();
        state.noes.retain(|no| no.session != session);
        state.switches.remove(session);
    }
}

impl Dispatch {
    /// A person said no to a call.
    pub(super) fn rejected(&self, call: &Call<'_>) {
        if !self.workspace.settings().permissions.cascade_denials {
            return;
        }
        let no = No {
            session: call.context.session.id.clone(),
            turn: call.params.turn_id.clone(),
            batch: call.member.map(super::batch::Member::batch_id),
            last: self.calls.last(),
            tool: call.entry.traits().name.to_owned(),
            id: call.id.to_owned(),
        };
        let mut state = self.rounds.lock();
        state.noes.push_back(no);
        if state.noes.len() > KEPT {
            state.noes.pop_front();
        }
    }

    /// Why a call is not asked about: a person said no to another one of its round while it waited.
    pub(super) fn set_aside(&self, call: &Call<'_>) -> Option<ToolError> {
        let number = call.lineage?.number;
        let state = self.rounds.lock();
        let no = state.noes.iter().rev().find(|no| {
            let turn = no.turn.is_some() && no.turn == call.params.turn_id;
            let batch = no.batch.is_some() && no.batch == call.member.map(super::batch::Member::batch_id);
            no.session == call.context.session.id && number <= no.last && (turn || batch)
        })?;
        Some(denied(format!(
            "A person said no to `{}` (call {}) while this call waited for their consent too, so it was set aside with it; \
             nobody was asked about it. Look at what they said, and send it again only if it is still wanted.",
            no.tool, no.id
        )))
    }

    /// A call ends: if it asked for another mode, the round that is over then is everything that has come by now.
    pub(super) fn round_seen(&self, session: &Arc<Session>) {
        if let Some(switch) = session.take_switch() {
            self.rounds.lock().switches.insert(session.id.clone(), (switch, self.calls.last()));
        }
    }

    /// A call has ended: once its round is over, the mode changes that was asked for.
    pub(super) fn round_over(&self, session: &Arc<Session>) {
        let switch = {
            let mut state = self.rounds.lock();
            match state.switches.get(&session.id) {
                Some((_, last)) if !self.calls.open_until(&session.id, *last) => state.switches.remove(&session.id),
                _ => None,
            }
        };
        if let Some((switch, _)) = switch {
            self.moded(session, |session| session.want(|wanted| wanted.switch(switch)));
        }
    }
}
