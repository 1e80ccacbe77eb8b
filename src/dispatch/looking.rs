//! Descriptions of tools that tell of the world: looked at anew when folders, trust, settings or files have changed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::editor::{News, ToolsChanged};

use super::Dispatch;

/// Whether a look has been asked for and has not begun.
#[derive(Debug, Default)]
pub(super) struct Looking(AtomicBool);

impl Dispatch {
    /// Looks at the world anew, beside the reader, for what descriptions of tools tell of it: in the order in which tools
    /// join and leave, so that whatever comes later sees what was found. Must be called on the runtime.
    pub fn look_again(self: &Arc<Self>) {
        if self.looking.0.swap(true, Ordering::AcqRel) {
            // The look that has not begun will see this too.
            return;
        }
        // It goes on whether anybody waits for it or not.
        drop(self.in_turn(Dispatch::looked));
    }

    /// A file changed: a path or a URI.
    pub fn file_changed(self: &Arc<Self>, name: &str) {
        if self.tools.looks_at(name) {
            self.look_again();
        }
    }

    fn looked(&self) {
        self.looking.0.store(false, Ordering::Release);
        if self.tools.look_again(|tool| tool.look_again(&self.workspace, &self.trust)) {
            self.workspace.editor.tell(News::Tools(ToolsChanged::default()));
        }
    }
}
