//! Commands that an agent asked for: what they read, what they put out as it comes, and how they are ended.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{mpsc, watch};

use super::{By, Child, Exit, Launch, Spawned, environment};
use crate::ports::Clock;

/// So many pieces of output wait to be taken; then the command waits.
const WAITING_PIECES: usize = 16;

/// At most so many bytes of output in one piece.
const PIECE_BYTES: usize = 16 * 1024;

/// When a command has ended and something that it left behind holds the pipe open, its output is read until nothing has
/// come for so long.
const DRAIN_GRACE: Duration = Duration::from_millis(250);

/// Or until so much has come since: no pipe holds more unless a privileged program wants it.
const PIPE_BYTES: usize = 1 << 20;

/// A command to run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Command {
    /// Program, arguments, folder, and variables on top of what it gets.
    pub launch: Launch,
    /// What it reads.
    pub input: Input,
    /// Names of variables of our own environment that it gets although they look like secrets.
    pub keep: Vec<String>,
    /// Where it may write; `None`: wherever we may.
    pub confine: Option<Confine>,
}

/// What a command reads from its standard input.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Input {
    /// Nothing: its input ends at once.
    #[default]
    Closed,
    /// This text, and then the end.
    Text(String),
    /// What is written to [`Running::input`], until that is dropped.
    Open,
}

/// Where a confined command may write.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Confine {
    /// Folders, with all that is below them.
    pub writable: Vec<PathBuf>,
}

/// Which of its two streams a command wrote to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

/// Some output, as it came: not cut at ends of lines or of characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Where it was written to.
    pub stream: Stream,
    /// What was written; never empty.
    pub bytes: Vec<u8>,
}

/// A command that runs. Dropping [`Running::process`] ends it with all that it started.
pub struct Running {
    /// Its output, both streams in the order of arrival. It ends when both pipes are closed, or, where something that
    /// the command left behind holds one, when nothing has come for a quarter of a second since the command itself has
    /// ended, or more than a pipe holds. Whoever does not take makes the command wait, and loses nothing.
    pub output: mpsc::Receiver<Piece>,
    /// What it reads; there only with [`Input::Open`].
    pub input: Option<Box<dyn AsyncWrite + Unpin + Send>>,
    /// The process.
    pub process: Box<dyn Process>,
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running").finish_non_exhaustive()
    }
}

/// The process of a command, with all that it started.
#[async_trait]
pub trait Process: Send + Sync {
    /// Asks all of it to end (TERM), and ends it by force (KILL) after `grace`. Returns at once.
    fn stop(&self, grace: Duration);
    /// Waits until the command itself has ended and nothing that it started is left; answers at once afterwards.
    async fn ended(&self) -> Ended;
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// The command itself.
    pub exit: Exit,
    /// So many processes that it had started outlived it and were ended; those that went with it when it was stopped
    /// are not counted, and without a supervisor none is.
    pub left: usize,
}

#[async_trait]
impl Process for Child {
    fn stop(&self, grace: Duration) {
        Child::stop(self, grace);
    }

    async fn ended(&self) -> Ended {
        Child::ended(self).await
    }
}

/// Starts a command. Must be called on the runtime. One that shall be confined and cannot be is an error of the kind
/// [`io::ErrorKind::Unsupported`], and does not run.
pub(super) fn start(command: &Command, by: &By) -> io::Result<Running> {
    let env = environment::for_command(std::env::vars_os(), &command.keep);
    let started = super::spawn_with_stderr(&command.launch, env, command.confine.as_ref(), by)?;
    let (Spawned { child, stdin, stdout }, stderr) = started;
    let input: Option<Box<dyn AsyncWrite + Unpin + Send>> = match &command.input {
        Input::Closed => None,
        Input::Text(text) => {
            let text = text.clone();
            let mut stdin = stdin;
            tokio::spawn(async move {
                // An error means that the command does not want to know it.
                let _ = stdin.write_all(text.as_bytes()).await;
            });
            None
        }
        Input::Open => Some(Box::new(stdin)),
    };
    let child = Arc::new(child);
    let (pieces, output) = mpsc::channel(WAITING_PIECES);
    let (own, clock) = (child.own.clone(), Arc::clone(&by.clock));
    tokio::spawn(async move {
        tokio::join!(
            forward(stdout, Stream::Out, &pieces, own.clone(), &*clock),
            forward(stderr, Stream::Err, &pieces, own.clone(), &*clock),
        );
    });
    Ok(Running { output, input, process: Box::new(SharedChild(child)) })
}

struct SharedChild(Arc<Child>);

#[async_trait]
impl Process for SharedChild {
    fn stop(&self, grace: Duration) {
        self.0.stop(grace);
    }

    async fn ended(&self) -> Ended {
        Process::ended(&*self.0).await
    }
}

/// Takes what comes on a pipe until it is closed. When the command itself has ended, something may hold the pipe that
/// nobody can end: then no more is waited for than a pause, and no more taken than a pipe holds. What is in the pipe is
/// taken all the same, however long nobody came to take it.
async fn forward(
    mut from: impl AsyncRead + Unpin,
    stream: Stream,
    pieces: &mpsc::Sender<Piece>,
    mut own: watch::Receiver<Option<Exit>>,
    clock: &dyn Clock,
) {
    let mut buffer = vec![0; PIECE_BYTES];
    let mut left = PIPE_BYTES;
    while left > 0 {
        let over = async {
            // An error means that nobody watches it any more, which is an end too.
            let _ = own.wait_for(Option::is_some).await;
            clock.sleep(DRAIN_GRACE).await;
        };
        let count = tokio::select! {
            biased;
            read = from.read(&mut buffer) => match read {
                Ok(count @ 1..) => count,
                Ok(_) | Err(_) => return,
            },
            () = over => return,
        };
        if own.borrow().is_some() {
            left = left.saturating_sub(count);
        }
        if pieces.send(Piece { stream, bytes: buffer[..count].to_vec() }).await.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::SystemClock;

    /// What is taken of the output of a command that has ended, by somebody who comes an hour late. `held` goes on with
    /// the pipe.
    async fn taken_late(held: impl AsyncFn(tokio::io::DuplexStream)) -> usize {
        let (writer, reader) = tokio::io::duplex(1 << 20);
        let (_tell, own) = watch::channel(Some(Exit::Code(0)));
        let (pieces, mut output) = mpsc::channel(WAITING_PIECES);
        let read = async move { forward(reader, Stream::Out, &pieces, own, &SystemClock).await };
        let take = async {
            tokio::time::sleep(Duration::from_hours(1)).await;
            let mut taken = 0;
            while let Some(piece) = output.recv().await {
                taken += piece.bytes.len();
            }
            taken
        };
        tokio::select! {
            ((), taken) = async { tokio::join!(read, take) } => taken,
            () = async { held(writer).await; std::future::pending().await } => 0,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_in_the_pipe_is_taken_however_late_somebody_comes() {
        let much = WAITING_PIECES * PIECE_BYTES * 2;
        let taken = taken_late(async |mut pipe| {
            pipe.write_all(&vec![b'x'; much]).await.unwrap();
            std::future::pending::<()>().await;
        });
        assert_eq!(taken.await, much);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_left_behind_and_goes_on_is_not_heard_for_ever() {
        let taken = taken_late(async |mut pipe| while pipe.write_all(&[b'x'; 1000]).await.is_ok() {}).await;
        assert!((PIPE_BYTES..PIPE_BYTES + PIECE_BYTES).contains(&taken), "{taken}");
    }
}
