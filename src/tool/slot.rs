//! The port back into the slot: what a tool may know and ask of the others. Dispatch implements it.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;

use crate::languages::Wait;
use crate::permissions::Judgement;
use crate::sessions::Session;

use super::door::{Closed, Door};
use super::{Access, Content, ErrorKind, ToolError};

/// A tool as another tool sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed {
    /// Its name on the wire.
    pub name: String,
    /// Its name for people.
    pub title: String,
    /// What it is for.
    pub description: String,
    /// JSON Schema of its arguments.
    pub schema: Value,
    /// Whether it is left out of the list until the session calls it.
    pub deferred: bool,
}

/// A call that a tool makes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NestedCall {
    /// The tool.
    pub name: String,
    /// Its arguments, as a model would write them.
    pub arguments: Value,
    /// The session it belongs to; absent: that of the call that makes it.
    pub session: Option<String>,
    /// How long it waits for diagnostics.
    pub wait: Wait,
}

/// How a call that a tool made ended.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NestedResult {
    /// Names the call: that of the call that made it, a dot, and a number.
    pub call_id: String,
    /// The tool that ran, by its real name.
    pub name: String,
    /// Why it failed; `None`: it did what it should.
    pub failed: Option<ErrorKind>,
    /// The complete answer, as a model would get it.
    pub content: Vec<Content>,
    /// The same as data.
    pub structured: Option<Value>,
}

/// The slot as tools see it.
#[async_trait]
pub trait Slot: Send + Sync + 'static {
    /// Every tool that a session may call, sorted by name.
    fn catalog(&self, session: &Session) -> Vec<Listed>;

    /// What the rules say of machines (and of what would be sent there) that a call comes to while it runs: nobody is
    /// asked. Where that cannot be said, it fails.
    async fn judge(&self, tool: &str, access: Access) -> Result<Judgement, ToolError> {
        let _ = access;
        Err(ToolError::new(ErrorKind::Unavailable, format!("Nothing is known here of what `{tool}` may reach.")))
    }

    /// Calls a tool, through the whole life of a call, and waits for its result. A call in the same session runs within
    /// the turn of the call that makes it; one in another session waits for its turn there. It is cancelled with the
    /// call that made it, and when nobody waits for it any more. Where no calls can be made, it fails as unavailable.
    async fn call(&self, call: NestedCall) -> NestedResult {
        NestedResult {
            name: call.name,
            failed: Some(ErrorKind::Unavailable),
            content: vec![Content::text("No tool can be called from here.")],
            ..NestedResult::default()
        }
    }

    /// The session of an agent of a session, opened for as long as it is held; `anew`: nothing is left of one before it of
    /// the same name. `None`: there are no sessions here.
    async fn agent_session(&self, session: &Session, number: u64, anew: bool) -> Option<Arc<Session>> {
        let _ = (session, number, anew);
        None
    }

    /// An agent has ended: the calls of its session are cancelled, and its jobs are stopped; so are those of the agents it
    /// started itself. What they changed or proposed stays.
    fn agent_ended(&self, session: &str) {
        let _ = session;
    }

    /// The way in for agents that are programs of their own.
    fn door(&self) -> Arc<dyn Door> {
        Arc::new(Closed)
    }
}
