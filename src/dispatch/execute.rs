//! Runs what belongs to a tool: with a deadline, until it is cancelled, its panics contained.

use std::any::Any;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio_util::sync::CancellationToken;
use tracing::{debug, error};

use crate::ports::Clock;
use crate::tool::{Capability, ErrorKind, NO_DEADLINE, Outcome, ToolError, Traits};

use super::Call;
use super::nested::Lineage;

/// So long after a failure that may well be over a moment later a call is made again.
const RETRY_AFTER: Duration = Duration::from_millis(200);

/// Whose work it is and how long it may take.
pub(super) struct Limits<'a> {
    pub tool: &'a str,
    pub deadline: Duration,
    /// Cancelled, it may go on for so long.
    pub winds_down: Duration,
    pub clock: &'a dyn Clock,
    pub cancel: &'a CancellationToken,
    /// The call, whose time does not run while it waits for calls it made.
    pub lineage: Option<&'a Lineage>,
}

/// Whether a call is made again when it failed for a moment: it changes nothing, and nobody else hears of it.
fn repeatable(traits: &Traits<'_>) -> bool {
    traits.read_only() && !traits.capabilities.contains(&Capability::Network)
}

/// Runs the tool of a call, and tells on what it says meanwhile. Nothing is run twice but what only reads, on this
/// machine, and failed for a moment; and that once.
pub(super) async fn ran(call: &Call<'_>) -> Result<Outcome, ToolError> {
    let limits = call.limits();
    let traits = call.entry.traits();
    let running = async {
        let once = || call.entry.tool.run(call.arguments.clone(), &call.context);
        match once().await {
            Err(error) if error.kind == ErrorKind::Unavailable && error.transient && repeatable(&traits) => {
                debug!(tool = traits.name, %error, "failed for a moment; once more");
                limits.clock.sleep(RETRY_AFTER).await;
                once().await
            }
            ended => ended,
        }
    };
    let telling = async {
        match call.reporter {
            Some(reporter) => reporter.tell_on(limits.clock).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        ended = limits.bound(running) => ended,
        never = telling => match never {},
    }
}

impl<'a> Limits<'a> {
    /// Those of work that is no call of its own.
    pub(super) fn plain(traits: &Traits<'a>, clock: &'a dyn Clock, cancel: &'a CancellationToken) -> Limits<'a> {
        let winds_down = Duration::ZERO;
        Limits { tool: traits.name, deadline: traits.deadline, winds_down, clock, cancel, lineage: None }
    }

    /// The work's result, or why it has none. Work that is cancelled or too late is dropped where it waits, once the time
    /// is over that it may take to end by itself.
    pub(super) async fn bound<T>(&self, work: impl Future<Output = Result<T, ToolError>>) -> Result<T, ToolError> {
        let cancel = async {
            self.cancel.cancelled().await;
            if !self.winds_down.is_zero() {
                self.clock.sleep(self.winds_down).await;
            }
        };
        tokio::select! {
            biased;
            () = cancel => Err(cancelled("while it ran")),
            done = contained(self.tool, work) => done.unwrap_or_else(Err),
            () = self.overdue() => Err(late(self.tool, self.deadline)),
        }
    }

    /// Comes back when the time of the work is up, not counting what calls within it took, which have deadlines of their
    /// own (and a person, who may be asked about them, has none).
    async fn overdue(&self) {
        if self.deadline == NO_DEADLINE {
            return std::future::pending().await;
        }
        let (mut left, mut counted) = (self.deadline, self.excused());
        loop {
            self.clock.sleep(left).await;
            let excused = self.excused();
            left = excused.saturating_sub(counted);
            counted = excused;
            if left.is_zero() {
                return;
            }
        }
    }

    fn excused(&self) -> Duration {
        self.lineage.map(|lineage| lineage.excused(self.clock.now())).unwrap_or_default()
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
