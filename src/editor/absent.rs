//! An editor that is not there: what needs one is told so. For `doctor` and for tests that need no answers.

use std::time::Duration;

use async_trait::async_trait;

use super::{Abilities, ApplyEdit, ApproveParams, ApproveResult, AskError, EditReply, Editor, News, Resync};

/// Nobody to ask: every question is [`AskError::Unsupported`], and news is lost.
#[derive(Debug, Clone, Copy, Default)]
pub struct Absent;

#[async_trait]
impl Editor for Absent {
    fn abilities(&self) -> Abilities {
        Abilities::default()
    }

    async fn apply_edit(&self, _: ApplyEdit, _: Duration) -> Result<EditReply, AskError> {
        Err(AskError::Unsupported)
    }

    async fn resync(&self, _: &str, _: Duration) -> Result<Resync, AskError> {
        Err(AskError::Unsupported)
    }

    async fn approve(&self, _: ApproveParams) -> Result<ApproveResult, AskError> {
        Err(AskError::Unsupported)
    }

    async fn pull_diagnostics(&self, _: &str, _: Duration) -> Result<(), AskError> {
        Err(AskError::Unsupported)
    }

    fn tell(&self, _: News) {}
}
