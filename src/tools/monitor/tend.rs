//! A monitor's command from its start to its end: what it prints goes to its job, what is written to it comes from there.

use std::fmt::Write as _;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::mpsc;

use crate::jobs::{self, Note};
use crate::ports::Clock;
use crate::process::{self, Ended, Exit};

/// Told to stop, a command has so long before it is ended by force.
pub(super) const GRACE: Duration = Duration::from_secs(2);

/// Follows a command to its end: how it ended, good or bad.
pub(super) async fn tend(
    job: jobs::Running,
    command: process::Running,
    notes: mpsc::Receiver<Note>,
    timeout: Option<Duration>,
    clock: Arc<dyn Clock>,
) -> Result<String, String> {
    let process::Running { mut output, input, process } = command;
    let overdue = async {
        match timeout {
            Some(timeout) => clock.sleep(timeout).await,
            None => std::future::pending().await,
        }
    };
    let (mut overdue, mut feeding, mut ending) = (pin!(overdue), pin!(feed(input, notes)), pin!(process.ended()));
    let (mut printing, mut feeds, mut stopped, mut late, mut ended) = (true, true, false, false, None);
    while printing || ended.is_none() {
        tokio::select! {
            piece = output.recv(), if printing => match piece {
                Some(piece) => job.printed(piece.stream, &piece.bytes),
                None => printing = false,
            },
            end = &mut ending, if ended.is_none() => ended = Some(end),
            () = &mut feeding, if feeds => feeds = false,
            () = job.stop.cancelled(), if !stopped => {
                stopped = true;
                process.stop(GRACE);
            }
            () = &mut overdue, if !late => {
                late = true;
                process.stop(GRACE);
            }
        }
    }
    let timeout = timeout.filter(|_| late && !stopped);
    let how = told(ended, timeout);
    let (Ok(words) | Err(words)) = &how;
    job.ended(words);
    how
}

/// How a command ended, in words; good is only the exit code 0.
fn told(ended: Option<Ended>, timeout: Option<Duration>) -> Result<String, String> {
    let Ended { exit, left } = ended.unwrap_or(Ended { exit: Exit::Unknown, left: 0 });
    let mut words = match exit {
        Exit::Code(code) => format!("exit code {code}"),
        Exit::Signal(signal) => format!("by signal {signal}"),
        Exit::Unknown => "nobody could tell how".to_owned(),
    };
    if let Some(timeout) = timeout {
        words = format!("its timeout of {} ms was over, and it was stopped ({words})", timeout.as_millis());
    }
    match left {
        0 => {}
        1 => words.push_str("; a process that it had left running was ended too"),
        left => {
            let _ = write!(words, "; {left} processes that it had left running were ended too");
        }
    }
    if exit == Exit::Code(0) && timeout.is_none() { Ok(words) } else { Err(words) }
}

/// Writes what comes to the input of a command, until that is closed.
async fn feed(input: Option<Box<dyn AsyncWrite + Unpin + Send>>, mut notes: mpsc::Receiver<Note>) {
    let Some(mut input) = input else { return };
    while let Some(Note { text, close, taken }) = notes.recv().await {
        let wrote = write(&mut input, &text).await;
        let over = close || wrote.is_err();
        // Whoever wrote may have stopped waiting.
        let _ = taken.send(wrote);
        if over {
            return;
        }
    }
}

async fn write(input: &mut (impl AsyncWrite + Unpin), text: &str) -> io::Result<()> {
    input.write_all(text.as_bytes()).await?;
    input.flush().await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_told() {
        for (exit, left, timeout, words) in [
            (Exit::Code(0), 0, None, Ok("exit code 0")),
            (Exit::Code(3), 0, None, Err("exit code 3")),
            (Exit::Signal(9), 1, None, Err("by signal 9; a process that it had left running was ended too")),
            (Exit::Unknown, 0, None, Err("nobody could tell how")),
            (Exit::Code(0), 2, None, Ok("exit code 0; 2 processes that it had left running were ended too")),
            (Exit::Code(0), 0, Some(5000), Err("its timeout of 5000 ms was over, and it was stopped (exit code 0)")),
        ] {
            let told = told(Some(Ended { exit, left }), timeout.map(Duration::from_millis));
            assert_eq!(told, words.map(str::to_owned).map_err(str::to_owned));
        }
    }
}
