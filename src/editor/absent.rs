//! An editor that is not there: what needs one is told so. For `doctor` and for tests that need no answers.

use super::{Editor, News};

/// Nobody to ask: every question is [`AskError::Unsupported`](super::AskError::Unsupported), and news is lost.
#[derive(Debug, Clone, Copy, Default)]
pub struct Absent;

impl Editor for Absent {
    fn tell(&self, _: News) {}
}
