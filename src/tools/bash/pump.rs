//! Takes what a command puts out as it comes, and ends the command in time.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::outputs::{Decoder, Gather, Plain};
use crate::ports::Clock;
use crate::process::{Ended, Exit, Running, Stream};
use crate::tool::{ErrorKind, ToolError};

use super::likeness::Likeness;

/// So long after a command should be gone it is waited for all the same; then it is given up.
const PATIENCE: Duration = Duration::from_millis(800);

/// So many changes from one stream to the other are told one by one.
const STRETCHES: usize = 500;

/// How long a command may go on.
pub(super) struct Limits<'a> {
    /// `None`: until it ends.
    pub timeout: Option<Duration>,
    /// One that is stopped has so long to end by itself.
    pub grace: Duration,
    /// Stops it.
    pub cancel: &'a CancellationToken,
}

/// Why a command was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stopped {
    /// Its time was up.
    Timeout,
    /// The call was cancelled.
    Cancelled,
}

/// A command that has ended.
pub(super) struct Pumped {
    pub ended: Ended,
    pub stopped: Option<Stopped>,
    /// What it put out, as a terminal would show it.
    pub gather: Gather,
    pub shares: Shares,
    /// Some of it looks like words of ours.
    pub alike: bool,
}

/// Which parts of an output came from which stream: 0 is standard output, 1 standard error.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Shares {
    pub bytes: [u64; 2],
    /// From the beginning of the output on, each right behind the one before.
    pub stretches: Vec<Stretch>,
    /// So many more there were.
    pub left_out: usize,
    last: Option<usize>,
}

/// Some bytes of an output that came from one stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stretch {
    pub stream: usize,
    pub bytes: u64,
}

impl Shares {
    pub(super) fn add(&mut self, stream: usize, bytes: usize) {
        let bytes = bytes as u64;
        if let Some(all) = self.bytes.get_mut(stream) {
            *all += bytes;
        }
        let goes_on = self.last.replace(stream) == Some(stream);
        if !goes_on {
            if self.stretches.len() < STRETCHES {
                self.stretches.push(Stretch { stream, bytes });
            } else {
                self.left_out += 1;
            }
        } else if let Some(stretch) = self.stretches.last_mut().filter(|_| self.left_out == 0) {
            stretch.bytes += bytes;
        }
    }
}

/// What turns bytes of both streams into what is kept.
struct Taking {
    decoders: [Decoder; 2],
    plain: Plain,
    gather: Gather,
    shares: Shares,
    likeness: Likeness,
}

impl Taking {
    fn text(&mut self, stream: usize, text: &str) {
        let (gather, shares, likeness) = (&mut self.gather, &mut self.shares, &mut self.likeness);
        self.plain.push(stream, text, &mut |stream, text| {
            shares.add(stream, text.len());
            likeness.push(text);
            gather.push(text);
        });
    }

    fn finish(&mut self, heard: &mut impl FnMut(&[u8], &str)) {
        for stream in 0..2 {
            let rest = self.decoders[stream].finish();
            heard(&[], rest);
            self.text(stream, rest);
        }
        let (gather, shares, likeness) = (&mut self.gather, &mut self.shares, &mut self.likeness);
        self.plain.finish(&mut |stream, text| {
            shares.add(stream, text.len());
            likeness.push(text);
            gather.push(text);
        });
    }
}

/// Takes all that a command puts out, until it has ended. `heard` is given it as it comes: the bytes, and the text that they
/// complete.
pub(super) async fn pump(
    running: Running,
    gather: Gather,
    limits: Limits<'_>,
    clock: &dyn Clock,
    mut heard: impl FnMut(&[u8], &str),
) -> Result<Pumped, ToolError> {
    let Running { mut output, process, .. } = running;
    let mut taking = Taking {
        decoders: Default::default(),
        plain: Plain::default(),
        gather,
        shares: Shares::default(),
        likeness: Likeness::default(),
    };
    let mut until = limits.timeout.map(|timeout| clock.now() + timeout);
    let (mut ended, mut open, mut stopped) = (None, true, None);
    {
        let mut end = std::pin::pin!(process.ended());
        while open || ended.is_none() {
            let time = async {
                match until {
                    Some(until) => clock.sleep(until.saturating_duration_since(clock.now())).await,
                    None => std::future::pending().await,
                }
            };
            // One that has ended is not stopped any more: there is only the rest of its output to come.
            let may_stop = stopped.is_none() && ended.is_none();
            let stop = tokio::select! {
                biased;
                () = limits.cancel.cancelled(), if may_stop => Stopped::Cancelled,
                // What has ended is not given up: the rest of its output comes to an end by itself.
                () = time, if ended.is_none() => {
                    if stopped.is_some() {
                        break;
                    }
                    Stopped::Timeout
                }
                piece = output.recv(), if open => {
                    let Some(piece) = piece else {
                        open = false;
                        continue;
                    };
                    let stream = usize::from(piece.stream == Stream::Err);
                    let text = taking.decoders[stream].push(&piece.bytes);
                    heard(&piece.bytes, &text);
                    taking.text(stream, &text);
                    taking.gather = taking.gather.written().await.map_err(|error| broke_down(&error))?;
                    continue;
                }
                how = &mut end, if ended.is_none() => {
                    ended = Some(how);
                    continue;
                }
            };
            stopped = Some(stop);
            process.stop(limits.grace);
            until = Some(clock.now() + limits.grace + PATIENCE);
        }
    }
    taking.finish(&mut heard);
    let ended = ended.unwrap_or(Ended { exit: Exit::Unknown, left: 0 });
    let alike = taking.likeness.found();
    Ok(Pumped { ended, stopped, gather: taking.gather, shares: taking.shares, alike })
}

/// The failure of what keeps an output.
pub(super) fn broke_down(error: &tokio::task::JoinError) -> ToolError {
    let words = format!(
        "Keeping the output broke down ({error}), and the command was ended. It may have done a part of what it does: look \
         before you run it again."
    );
    ToolError::new(ErrorKind::Failed, words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_told_in_their_order_and_bounded() {
        let mut shares = Shares::default();
        for (stream, bytes) in [(0, 3), (0, 2), (1, 4), (0, 1)] {
            shares.add(stream, bytes);
        }
        let stretch = |stream, bytes| Stretch { stream, bytes };
        assert_eq!(shares.stretches, [stretch(0, 5), stretch(1, 4), stretch(0, 1)]);
        for at in 0..2 * STRETCHES {
            shares.add(1 - at % 2, 1);
        }
        shares.add(0, 7);
        let all: u64 = shares.bytes.iter().sum();
        assert_eq!((shares.stretches.len(), shares.left_out, all), (STRETCHES, STRETCHES + 3, 10 + 1000 + 7));
    }
}
