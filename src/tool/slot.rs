//! The port back into the slot: what a tool may know and ask of the others. Dispatch implements it.

use serde_json::Value;

use crate::sessions::Session;

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

/// The slot as tools see it.
pub trait Slot: Send + Sync + 'static {
    /// Every tool that a session may call, sorted by name.
    fn catalog(&self, session: &Session) -> Vec<Listed>;
}
