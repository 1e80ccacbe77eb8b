//! The edits that a server asks for while a command of ours runs in it: taken in then, and refused at any other time.

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

/// Open while a command runs.
#[derive(Debug, Default)]
pub(super) struct Window(Mutex<Option<Vec<Value>>>);

impl Window {
    fn edits(&self) -> MutexGuard<'_, Option<Vec<Value>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens it; false if it is open already, for another command.
    pub(super) fn open(&self) -> bool {
        let mut edits = self.edits();
        let closed = edits.is_none();
        edits.get_or_insert_default();
        closed
    }

    /// Closes it; the edits that were asked for meanwhile, in that order.
    pub(super) fn close(&self) -> Vec<Value> {
        self.edits().take().unwrap_or_default()
    }

    /// The answer to `workspace/applyEdit`. What is taken in is made, or refused, by the call whose command runs; the
    /// server learns of it as of every other change.
    pub(super) fn apply(&self, params: &Value) -> Value {
        match self.edits().as_mut() {
            Some(edits) => {
                edits.push(params["edit"].clone());
                json!({ "applied": true })
            }
            None => json!({
                "applied": false,
                "failureReason": "this client lets a server edit only while a command runs that was allowed here",
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_taken_in_only_while_it_is_open() {
        let window = Window::default();
        let edit = json!({ "label": "x", "edit": { "changes": {} } });
        assert_eq!(window.apply(&edit)["applied"], false);
        assert!(window.open());
        assert!(!window.open());
        assert_eq!(window.apply(&edit), json!({ "applied": true }));
        assert_eq!(window.close(), [json!({ "changes": {} })]);
        assert_eq!(window.apply(&edit)["applied"], false);
        assert_eq!(window.close(), Vec::<Value>::new());
    }
}
