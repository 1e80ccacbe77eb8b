//! A session's task list: its bounds, and its counts. Pure.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::editor::{Todo, TodoStatus};

/// A list has at most so many entries.
pub const MAX_TODOS: usize = 200;

/// What is to be done is said in at most so many bytes.
pub const MAX_CONTENT: usize = 2000;

/// An entry's name has at most so many bytes.
pub const MAX_TODO_ID: usize = 64;

/// How many entries of a list are how far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TodoCounts {
    /// Not begun.
    pub pending: usize,
    /// Being done.
    pub in_progress: usize,
    /// Done.
    pub completed: usize,
    /// Given up.
    pub cancelled: usize,
}

impl TodoCounts {
    /// The counts of a list.
    pub fn of(todos: &[Todo]) -> TodoCounts {
        let count = |status| todos.iter().filter(|todo| todo.status == status).count();
        TodoCounts {
            pending: count(TodoStatus::Pending),
            in_progress: count(TodoStatus::InProgress),
            completed: count(TodoStatus::Completed),
            cancelled: count(TodoStatus::Cancelled),
        }
    }

    /// What is still to be done.
    pub fn open(self) -> usize {
        self.pending + self.in_progress
    }
}

/// Why a list cannot be kept: words that say which entry and what to do.
pub fn misfit(todos: &[Todo]) -> Option<String> {
    if todos.len() > MAX_TODOS {
        return Some(format!("the list has {} entries; at most {MAX_TODOS} are kept. Join some.", todos.len()));
    }
    let mut ids = BTreeSet::new();
    todos.iter().enumerate().find_map(|(index, todo)| {
        let number = index + 1;
        if todo.content.trim().is_empty() {
            Some(format!("entry {number} has no content; say what is to be done."))
        } else if todo.content.len() > MAX_CONTENT {
            let length = todo.content.len();
            Some(format!(
                "the content of entry {number} has {length} bytes; at most {MAX_CONTENT} are kept. Shorten it."
            ))
        } else if todo.id.is_empty() || todo.id.len() > MAX_TODO_ID {
            let length = todo.id.len();
            Some(format!("the id of entry {number} has {length} bytes; it needs 1 to {MAX_TODO_ID}."))
        } else if !ids.insert(todo.id.as_str()) {
            Some(format!("two entries have the id {:?}; give each its own, or leave them out.", todo.id))
        } else {
            None
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn todo(id: &str, content: &str, status: TodoStatus) -> Todo {
        Todo { id: id.to_owned(), content: content.to_owned(), status, priority: None }
    }

    #[test]
    fn lists_are_bounded() {
        let good = todo("1", "a", TodoStatus::Pending);
        let long = "x".repeat(MAX_CONTENT + 1);
        for (todos, word) in [
            (vec![], None),
            (vec![good.clone(), todo("2", "b", TodoStatus::Completed)], None),
            (vec![good.clone(), good], Some("two entries")),
            (vec![todo("1", " ", TodoStatus::Pending)], Some("no content")),
            (vec![todo("1", &long, TodoStatus::Pending)], Some("bytes")),
            (vec![todo("", "a", TodoStatus::Pending)], Some("the id")),
            ((0..=MAX_TODOS).map(|n| todo(&n.to_string(), "a", TodoStatus::Pending)).collect(), Some("at most")),
        ] {
            let misfit = misfit(&todos);
            assert_eq!(misfit.is_some(), word.is_some(), "{misfit:?}");
            assert!(misfit.is_none_or(|words| words.contains(word.unwrap())));
        }
    }

    #[test]
    fn counts() {
        use TodoStatus::{Cancelled, Completed, InProgress, Pending};
        let todos = [Pending, Completed, InProgress, Completed, Cancelled].map(|status| todo("x", "a", status));
        let counts = TodoCounts::of(&todos);
        assert_eq!((counts.pending, counts.in_progress, counts.completed, counts.cancelled), (1, 1, 2, 1));
        assert_eq!(counts.open(), 2);
    }
}
