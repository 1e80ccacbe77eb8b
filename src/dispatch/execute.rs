//! Runs what belongs to a tool: with a deadline, until it is cancelled, its panics contained.

use std::any::Any;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio_util::sync::CancellationToken;
use tracing::error;

use crate::ports::Clock;
use crate::tool::{ErrorKind, ToolError};

/// Whose work it is and how long it may take.
pub(super) struct Limits<'a> {
    pub tool: &'a str,
    pub deadline: Duration,
    pub clock: &'a dyn Clock,
    pub cancel: &'a CancellationToken,
}

impl Limits<'_> {
    /// The work's result, or why it has none. Work that is cancelled or too late is dropped where it waits.
    pub(super) async fn bound<T>(&self, work: impl Future<Output = Result<T, ToolError>>) -> Result<T, ToolError> {
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(cancelled("while it ran")),
            done = contained(self.tool, work) => done.unwrap_or_else(Err),
            () = self.clock.sleep(self.deadline) => Err(late(self.tool, self.deadline)),
        }
    }
}

/// The work's result, or its panic as a failure of this call alone.
pub(super) async fn contained<T>(tool: &str, work: impl Future<Output = T>) -> Result<T, ToolError> {
    AssertUnwindSafe(work).catch_unwind().await.map_err(|panic| {
        let what = told(&*panic);
        error!(tool, what, "a tool panicked");
        ToolError::new(
            ErrorKind::Failed,
            format!("`{tool}` broke down ({what}). This is a defect of the tool; other calls are not affected."),
        )
    })
}

pub(super) fn cancelled(when: &str) -> ToolError {
    ToolError::new(ErrorKind::Cancelled, format!("The call was cancelled {when}; nothing was changed."))
}

pub(super) fn late(tool: &str, deadline: Duration) -> ToolError {
    ToolError::new(
        ErrorKind::Timeout,
        format!("`{tool}` took longer than {} s and was stopped. Try a narrower scope.", deadline.as_secs()),
    )
}

fn told(panic: &(dyn Any + Send)) -> String {
    if let Some(text) = panic.downcast_ref::<&str>() {
        (*text).to_owned()
    } else if let Some(text) = panic.downcast_ref::<String>() {
        text.clone()
    } else {
        "a panic without words".to_owned()
    }
}
