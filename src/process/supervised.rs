//! Our side of a supervised child: it is started through its supervisor, watched, and told to end.

use std::io::{self, IoSlice, Read as _, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Stdio;
use std::sync::OnceLock;
use std::time::Duration;

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::{mpsc, watch};
use tracing::{debug, warn};

use super::supervise::WORD_FOR_IT;
use super::wire::{Order, Report, Request, WORD};
use super::{Ended, Exit, Pipes, environment};

/// So long has a supervisor to answer that the program runs, or why it does not.
const ANSWER: Duration = Duration::from_secs(10);

static OWN: OnceLock<std::path::PathBuf> = OnceLock::new();

/// From now on [`super::SystemPrograms`] put every child under a supervisor: this program, called with the word
/// `supervise`, which must be a binary that does what [`super::supervise()`] does. For the whole process; only the
/// first call counts.
pub fn supervise_with(program: &Path) {
    if OWN.set(program.to_owned()).is_ok() && !cfg!(target_os = "linux") {
        warn!("{BEYOND_REACH}");
    }
}

/// What a supervisor cannot reach on this system; `None`: it reaches everything that a child starts.
pub fn beyond_reach() -> Option<&'static str> {
    (!cfg!(target_os = "linux")).then_some(BEYOND_REACH)
}

const BEYOND_REACH: &str = "on this system a process that a command starts, and that leaves its process group and \
     outlives its parent, is not ended with the command";

/// The program that supervises, if there is one.
pub(super) fn supervisor() -> Option<&'static Path> {
    OWN.get().map(std::path::PathBuf::as_path)
}

/// A child under its supervisor.
pub(super) struct Supervised {
    supervisor: Child,
    control: tokio::net::UnixStream,
    /// The program, and its group.
    pub(super) pid: u32,
}

/// Starts a program under a supervisor. Errors are those of starting the program itself; besides, of the kind `Other`,
/// that there is no supervisor to be had, of the kind `Unsupported`, that the program cannot be confined, and of the kind
/// `ConnectionAborted`, that the supervisor ended before it said whether the program runs: it may have run.
pub(super) fn start(supervisor: &Path, request: &Request) -> io::Result<(Box<Supervised>, Pipes)> {
    // It takes some milliseconds until the supervisor has answered. Elsewhere than on a runtime of several threads
    // nobody could take over what this thread has to do.
    match Handle::current().runtime_flavor() {
        RuntimeFlavor::MultiThread => tokio::task::block_in_place(|| start_now(supervisor, request)),
        _ => start_now(supervisor, request),
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the room that starts programs")]
fn start_now(supervisor: &Path, request: &Request) -> io::Result<(Box<Supervised>, Pipes)> {
    let (their_stdin, stdin) = io::pipe()?;
    let (stdout, their_stdout) = io::pipe()?;
    let (stderr, their_stderr) = io::pipe()?;
    let (mut control, theirs) = UnixStream::pair()?;
    let child = tokio::process::Command::new(supervisor)
        .arg(WORD_FOR_IT)
        .env_clear()
        // The program gets its own; any that it shall not see must not stand beside it either, where it could look.
        .envs(environment::scrubbed(std::env::vars_os()))
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let mut child = child.map_err(|error| io::Error::other(format!("the supervisor cannot be started: {error}")))?;
    control.set_read_timeout(Some(ANSWER))?;
    control.set_write_timeout(Some(ANSWER))?;
    let pipes = [their_stdin.as_fd(), their_stdout.as_fd(), their_stderr.as_fd()];
    let sent = send(&mut control, request, &pipes);
    let asked = sent.is_ok();
    let pid = match sent.and_then(|()| answer(&mut control)) {
        Ok(Ok(pid)) => pid,
        Ok(Err(error)) => return Err(error),
        Err(error) => {
            let _ = child.start_kill();
            // Once it knows what to run, the program can be quicker than its word, and be what ended it.
            let kind = if asked { io::ErrorKind::ConnectionAborted } else { io::ErrorKind::Other };
            return Err(io::Error::new(kind, format!("the supervisor does not answer: {error}")));
        }
    };
    control.set_nonblocking(true)?;
    let supervised = Supervised { supervisor: child, control: tokio::net::UnixStream::from_std(control)?, pid };
    let pipes = Pipes {
        stdin: ChildStdin::from_std(OwnedFd::from(stdin).into())?,
        stdout: ChildStdout::from_std(OwnedFd::from(stdout).into())?,
        stderr: ChildStderr::from_std(OwnedFd::from(stderr).into())?,
    };
    Ok((Box::new(supervised), pipes))
}

fn send(control: &mut UnixStream, request: &Request, pipes: &[std::os::fd::BorrowedFd<'_>; 3]) -> io::Result<()> {
    let bytes = request.encode();
    let length = u32::try_from(bytes.len()).map_err(|_| io::ErrorKind::InvalidInput)?.to_le_bytes();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut beside = SendAncillaryBuffer::new(&mut space);
    beside.push(SendAncillaryMessage::ScmRights(pipes));
    let sent = sendmsg(&*control, &[IoSlice::new(&length)], &mut beside, SendFlags::empty())?;
    control.write_all(length.get(sent..).unwrap_or_default())?;
    control.write_all(&bytes)
}

/// The id of the program, or why it was not started. The outer error is the supervisor's.
fn answer(control: &mut UnixStream) -> io::Result<io::Result<u32>> {
    let mut word = [0; WORD];
    control.read_exact(&mut word)?;
    match Report::decode(word) {
        Some(Report::Started(pid)) => Ok(Ok(pid)),
        Some(Report::Failed(0, len)) => {
            let mut words = String::new();
            control.take(len.into()).read_to_string(&mut words)?;
            Ok(Err(io::Error::new(io::ErrorKind::Unsupported, words)))
        }
        Some(Report::Failed(errno, _)) => Ok(Err(io::Error::from_raw_os_error(errno))),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// Watches a supervised child to its end: tells that of the program as soon as it is known, and gives it with what had
/// outlived the program when all is over.
pub(super) async fn keep(
    mut child: Box<Supervised>,
    own: &watch::Sender<Option<Exit>>,
    stops: &mut mpsc::UnboundedReceiver<Duration>,
) -> Ended {
    let (mut reader, mut writer) = child.control.split();
    let mut came = Vec::with_capacity(2 * WORD);
    let mut handle = true;
    let mut exit = None;
    let left = loop {
        let order = tokio::select! {
            read = reader.read_buf(&mut came) => {
                let mut over = None;
                while let Some((word, _)) = came.split_first_chunk::<WORD>() {
                    match Report::decode(*word) {
                        Some(Report::Ended(how)) => {
                            exit = Some(how);
                            let _ = own.send(exit);
                        }
                        Some(Report::Over(left, lasting)) => {
                            if lasting > 0 {
                                warn!(pid = child.pid, lasting, "processes of a child could not be ended");
                            }
                            over = Some(left);
                        }
                        odd => debug!(?odd, "an odd word of a supervisor"),
                    }
                    came.drain(..WORD);
                }
                if let Some(left) = over {
                    break left;
                }
                if !matches!(read, Ok(1..)) {
                    // It was killed, and cannot tell any more. Its program went with it; the rest of the group is ours.
                    warn!(pid = child.pid, "a supervisor is gone before its program");
                    if let Some(group) = i32::try_from(child.pid).ok().and_then(Pid::from_raw) {
                        let _ = kill_process_group(group, Signal::KILL);
                    }
                    break 0;
                }
                continue;
            }
            stop = stops.recv(), if handle => stop,
        };
        // Without one the handle is gone: nobody is interested in a polite end any more.
        handle = order.is_some();
        let order = order.map_or(Order::Kill, Order::Stop);
        // An error means that it is over; the reader hears it.
        let _ = writer.write_all(&order.encode()).await;
    };
    let exit = exit.unwrap_or(Exit::Unknown);
    let _ = own.send(Some(exit));
    // It ends at once after its last word.
    tokio::spawn(async move { child.supervisor.wait().await });
    Ended { exit, left: usize::try_from(left).unwrap_or(usize::MAX) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[tokio::test(flavor = "multi_thread")]
    #[expect(clippy::disallowed_methods, reason = "a test makes the program that it runs")]
    async fn a_supervisor_that_ends_without_a_word_may_have_run_the_program() {
        let folder = tempfile::tempdir().unwrap();
        let supervisor = folder.path().join("supervisor");
        // It takes all that it is told, and is gone.
        std::fs::write(&supervisor, "#!/bin/sh\nhead -c 64 >/dev/null\n").unwrap();
        std::fs::set_permissions(&supervisor, std::fs::Permissions::from_mode(0o755)).unwrap();
        let request = Request { program: "x".repeat(256).into(), ..Request::default() };
        let error = start(&supervisor, &request).err().unwrap();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionAborted, "{error}");
    }
}
