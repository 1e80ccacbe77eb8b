//! The life of a call, in one straight line; one file a stage.

mod arguments;
pub mod call;
mod coerce;
mod names;
mod schedule;
mod validate;

use std::sync::Arc;

pub use call::{CallParams, CallResult, ListToolsParams, PreviewResult, Status, ToolInfo};

use crate::languages::Languages;
use crate::permissions::Trust;
use crate::sessions::Sessions;
use crate::workspace::Workspace;

/// Takes calls and answers each exactly once.
pub struct Dispatch {}

/// A call that has its place in its session's order and has not run yet.
pub struct Admitted {}

impl Dispatch {
    /// A dispatch over the built-in tools.
    pub fn new(
        workspace: Arc<Workspace>,
        languages: Arc<Languages>,
        sessions: Arc<Sessions>,
        trust: Arc<Trust>,
    ) -> Arc<Dispatch> {
        let _ = (workspace, languages, sessions, trust);
        todo!()
    }

    /// The tools, sorted, byte for byte the same each time.
    pub fn list_tools(&self, params: &ListToolsParams) -> Vec<ToolInfo> {
        let _ = params;
        todo!()
    }

    /// Gives a call its ticket. Synchronous, so that the order of arrival is the order of tickets; never blocks.
    pub fn admit(&self, params: CallParams) -> Admitted {
        let _ = params;
        todo!()
    }

    /// Runs an admitted call to its one result, whatever happens: cancel, panic, deadline.
    pub async fn run(&self, admitted: Admitted) -> CallResult {
        let _ = admitted;
        todo!()
    }

    /// What a call would do. Neither asks nor runs.
    pub async fn preview(&self, params: CallParams) -> PreviewResult {
        let _ = params;
        todo!()
    }

    /// Cancels calls of a session: one, those of a turn, or all. Answers how many were cancelled.
    pub fn cancel(&self, session_id: Option<&str>, call_id: Option<&str>, turn_id: Option<&str>) -> usize {
        let _ = (session_id, call_id, turn_id);
        todo!()
    }

    /// Cancels everything, for the end of the process.
    pub fn cancel_all(&self) {
        todo!()
    }

    /// The calls that have not ended, as `session/call tool`, sorted.
    pub fn open_calls(&self) -> Vec<String> {
        todo!()
    }
}
