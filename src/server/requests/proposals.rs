//! A person's word on what is proposed; the same as commands, of which whoever clicks sees no result.

use std::sync::Arc;

use futures_util::FutureExt as _;
use serde_json::Value;
use tower_lsp::jsonrpc::Error;

use crate::dispatch::Refused;
use crate::editor::{Editor as _, Loudness, News};
use crate::server::front::Front;
use crate::tool::ToolError;

use super::review::answered;
use super::{Started, read_choice, uncancelled};

impl Front {
    pub(super) fn begin_accept(self: &Arc<Self>, params: &Value) -> Result<Started, Error> {
        let accepted = Arc::clone(&self.rooms.calls).accept(read_choice(params)?);
        Ok(uncancelled(accepted.map(|answer| answered(&answer)).boxed()))
    }

    pub(super) fn begin_reject(self: &Arc<Self>, params: &Value) -> Result<Started, Error> {
        let rejected = Arc::clone(&self.rooms.calls).reject(read_choice(params)?);
        Ok(uncancelled(rejected.map(|answer| answered(&answer)).boxed()))
    }

    /// The command that accepts: why nothing was applied is told in a message, and what is to be remarked.
    pub(super) fn begin_accept_command(self: &Arc<Self>, params: &Value) -> Result<Started, Error> {
        let accepted = Arc::clone(&self.rooms.calls).accept(read_choice(params)?);
        let front = Arc::clone(self);
        let told = async move {
            let answer = accepted.await;
            if let Ok(result) = &answer {
                front.remark(result.refused.as_ref(), &result.notes);
            }
            answered(&answer)
        };
        Ok(uncancelled(told.boxed()))
    }

    /// The command that rejects: why something stays is told in a message.
    pub(super) fn begin_reject_command(self: &Arc<Self>, params: &Value) -> Result<Started, Error> {
        let rejected = Arc::clone(&self.rooms.calls).reject(read_choice(params)?);
        let front = Arc::clone(self);
        let told = async move {
            let answer: Result<_, ToolError> = rejected.await;
            if let Ok(result) = &answer {
                let stay = result.rejected.iter().flat_map(|file| &file.stand_under).map(|call| {
                    format!(
                        "Some of it stays: the call {call} has changed the same lines once more; reject that first."
                    )
                });
                front.remark(result.refused.as_ref(), &stay.collect::<Vec<_>>());
            }
            answered(&answer)
        };
        Ok(uncancelled(told.boxed()))
    }

    fn remark(&self, refused: Option<&Refused>, notes: &[String]) {
        let refused = refused.map(|refused| &refused.message);
        for words in refused.into_iter().chain(notes) {
            self.outbox.tell(News::Show(Loudness::Info, format!("Ropewalk: {words}")));
        }
    }
}
