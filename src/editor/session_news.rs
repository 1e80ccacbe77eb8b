//! What front ends hear of sessions: their task lists, modes and approvals.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::Mode;

/// One entry of a session's task list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Todo {
    /// Its name within the list.
    pub id: String,
    /// What is to be done.
    pub content: String,
    /// How far it is.
    pub status: TodoStatus,
    /// How much it matters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<TodoPriority>,
}

/// How far an entry of a task list is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    /// Not begun.
    #[default]
    Pending,
    /// Being done.
    InProgress,
    /// Done.
    Completed,
    /// Given up.
    Cancelled,
}

/// How much an entry of a task list matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TodoPriority {
    /// First.
    High,
    /// Then.
    Medium,
    /// Last.
    Low,
}

/// `ropewalk/todosChanged`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TodosChanged {
    /// The session.
    pub session_id: String,
    /// The whole list.
    pub todos: Vec<Todo>,
}

/// `ropewalk/modeChanged`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModeChanged {
    /// The session.
    pub session_id: String,
    /// The mode that holds from now on.
    pub mode: Mode,
}
