//! Every child process: under a supervisor, with a scrubbed environment, bounded output, and an end with everything it
//! started.
//!
//! Nothing else in the crate spawns. A child's standard streams are pipes; its error stream is kept as a short tail for
//! messages. A child ends by [`Child::stop`] (politely, then by force), and at once when its [`Child`] is dropped or
//! the runtime goes down; each time all that it started goes with it, also when the child ended by itself.
//!
//! Between us and each child stands a supervisor, a small process of our own binary (`supervise`; our side of it:
//! `supervised`, what passes between: `wire`). It reaches what left the child's process group (`setsid`), and it is
//! still there when we are killed ourselves (SIGKILL). Beyond it is only what another service starts at a child's
//! request (systemd, a container engine, a running tmux), what the user may not signal (setuid programs), and, when
//! the supervisor itself is killed, what had left the child's group by then. Without a supervisor (the library
//! alone, before [`supervise_with`]) a child has its process group and no more.
//!
//! `environment` decides what a child gets of our variables, `confine` where a command may write.

mod command;
mod confine;
mod environment;
mod memory;
mod others;
mod programs;
mod supervise;
mod supervised;
mod tail;
mod wire;

pub use command::{Command, Confine, Ended, Input, Piece, Process, Running, Stream};
pub use confine::confinement;
pub use environment::inherited;
pub use memory::resident;
pub use others::{Other, exists, other, parent};
pub use programs::{Played, PlayedPrograms, Programs, Started, SystemPrograms};
pub use supervise::{is_supervisor, supervise};
pub use supervised::{beyond_reach, supervise_with};

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use process_wrap::tokio::{ChildWrapper, CommandWrap, KillOnDrop, ProcessGroup};
use rustix::process::Signal;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::sync::{mpsc, watch};
use tracing::debug;

use crate::ports::{self, Clock};
use tail::Tail;
use wire::Request;

/// Bytes of a child's error stream that are kept.
const TAIL_BYTES: usize = 4096;

/// How long the error stream may go on after its process ended (a grandchild can hold it open), before the end is told.
const STDERR_GRACE: Duration = Duration::from_millis(200);

/// A program to start.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Launch {
    /// The program; a full path, see [`find`].
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// Where it runs; `None`: where we do.
    pub dir: Option<PathBuf>,
    /// Variables on top of the scrubbed environment.
    pub env: BTreeMap<String, String>,
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// Nobody could tell.
    Unknown,
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Exit::Code(code) => write!(f, "ended with exit code {code}"),
            Exit::Signal(signal) => write!(f, "was ended by signal {signal}"),
            Exit::Unknown => f.write_str("ended"),
        }
    }
}

/// How children are started and watched.
#[derive(Clone)]
struct By {
    /// Counts deadlines.
    clock: Arc<dyn Clock>,
    /// The program that supervises them.
    supervisor: Option<PathBuf>,
}

impl By {
    /// With the supervisor of the process, if there is one.
    fn new(clock: Arc<dyn Clock>) -> By {
        By { clock, supervisor: supervised::supervisor().map(Path::to_owned) }
    }
}

/// A running child. Dropping it kills it with all that it started.
#[derive(Debug)]
pub struct Child {
    id: u32,
    stderr: Arc<Mutex<Tail>>,
    /// The end of the program itself.
    own: watch::Receiver<Option<Exit>>,
    /// The end of it and of all that it started.
    end: watch::Receiver<Option<Ended>>,
    stop: mpsc::UnboundedSender<Duration>,
}

/// A child that was just started, and its pipes.
#[derive(Debug)]
struct Spawned {
    child: Child,
    /// What it reads.
    stdin: ChildStdin,
    /// What it writes.
    stdout: ChildStdout,
}

/// Starts a program. Errors are the operating system's (not found, not executable).
fn spawn(launch: &Launch, by: &By) -> io::Result<Spawned> {
    let (held, pipes) = start(launch, environment::scrubbed(std::env::vars_os()), None, by)?;
    let stderr = Arc::new(Mutex::new(Tail::new(TAIL_BYTES)));
    let drain = drain(pipes.stderr, Arc::clone(&stderr));
    Ok(watched(held, pipes.stdin, pipes.stdout, stderr, drain, by))
}

/// The same with this environment, confined if that is asked for, and with its error stream to read.
fn spawn_with_stderr(
    launch: &Launch,
    env: Vec<(OsString, OsString)>,
    confine: Option<&Confine>,
    by: &By,
) -> io::Result<(Spawned, ChildStderr)> {
    let (held, pipes) = start(launch, env, confine, by)?;
    let stderr = Arc::new(Mutex::new(Tail::new(0)));
    let spawned = watched(held, pipes.stdin, pipes.stdout, stderr, std::future::ready(()), by);
    Ok((spawned, pipes.stderr))
}

/// The pipes of a child.
struct Pipes {
    stdin: ChildStdin,
    stdout: ChildStdout,
    stderr: ChildStderr,
}

fn start(
    launch: &Launch,
    env: Vec<(OsString, OsString)>,
    confine: Option<&Confine>,
    by: &By,
) -> io::Result<(Held, Pipes)> {
    ports::outside(|| format!("start {}", launch.program.display()))?;
    if let Some(supervisor) = &by.supervisor {
        let mut env: BTreeMap<OsString, OsString> = env.into_iter().collect();
        env.extend(launch.env.iter().map(|(name, value)| (name.into(), value.into())));
        let request = Request {
            program: launch.program.clone(),
            args: launch.args.iter().map(OsString::from).collect(),
            dir: launch.dir.clone(),
            env: env.into_iter().collect(),
            writable: confine.map(|confine| confine.writable.clone()),
        };
        let (child, pipes) = supervised::start(supervisor, &request)?;
        return Ok((Held::Supervised(child), pipes));
    }
    if confine.is_some() {
        let words = "a command is confined by its supervisor, and there is none here";
        return Err(io::Error::new(io::ErrorKind::Unsupported, words));
    }
    let mut command = CommandWrap::with_new(&launch.program, |command| {
        command
            .args(&launch.args)
            .env_clear()
            .envs(env)
            .envs(&launch.env)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if let Some(dir) = &launch.dir {
            command.current_dir(dir);
        }
    });
    let mut group = Group { child: command.wrap(ProcessGroup::leader()).wrap(KillOnDrop).spawn()?, over: false };
    let missing = || io::Error::other("the child has no pipe");
    let stdin = group.child.stdin().take().ok_or_else(missing)?;
    let stdout = group.child.stdout().take().ok_or_else(missing)?;
    let stderr = group.child.stderr().take().ok_or_else(missing)?;
    Ok((Held::Group(group), Pipes { stdin, stdout, stderr }))
}

fn watched(
    held: Held,
    stdin: ChildStdin,
    stdout: ChildStdout,
    stderr: Arc<Mutex<Tail>>,
    drain: impl Future<Output = ()> + Send + 'static,
    by: &By,
) -> Spawned {
    let id = match &held {
        Held::Group(group) => group.child.id().unwrap_or_default(),
        Held::Supervised(child) => child.pid,
    };
    let (tell_own, own) = watch::channel(None);
    let (tell, end) = watch::channel(None);
    let (stop, mut stops) = mpsc::unbounded_channel();
    let clock = Arc::clone(&by.clock);
    tokio::spawn(async move {
        let drain = tokio::spawn(drain);
        let ended = match held {
            Held::Group(group) => keep(group, &tell_own, &mut stops, &*clock).await,
            Held::Supervised(child) => supervised::keep(child, &tell_own, &mut stops).await,
        };
        tokio::select! {
            _ = drain => {}
            () = clock.sleep(STDERR_GRACE) => {}
        }
        let _ = tell.send(Some(ended));
    });
    Spawned { child: Child { id, stderr, own, end, stop }, stdin, stdout }
}

impl Child {
    /// The process id, which is also that of its group.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// The last whole lines of its error stream, at most 4 KiB.
    pub fn stderr(&self) -> String {
        self.stderr.lock().unwrap_or_else(PoisonError::into_inner).text()
    }

    /// Asks all of it to end (TERM), and ends it by force (KILL) after `grace`. Returns at once.
    pub fn stop(&self, grace: Duration) {
        // An error means that the process is over already.
        let _ = self.stop.send(grace);
    }

    /// Waits until the process has ended, with all that it started; answers at once afterwards.
    pub async fn exited(&self) -> Exit {
        self.ended().await.exit
    }

    /// The same, with how many processes outlived it.
    async fn ended(&self) -> Ended {
        let mut end = self.end.clone();
        let found = end.wait_for(Option::is_some).await.map(|end| *end);
        found.ok().flatten().unwrap_or(Ended { exit: Exit::Unknown, left: 0 })
    }
}

/// What we have of a child.
enum Held {
    /// A process group.
    Group(Group),
    /// Its supervisor.
    Supervised(Box<supervised::Supervised>),
}

/// The operating system's side of a child; whatever is left of the group is killed when it goes.
struct Group {
    child: Box<dyn ChildWrapper>,
    over: bool,
}

impl Group {
    fn signal(&self, signal: Signal) {
        // The usual error is that no process of the group is left, which is what was wanted.
        if let Err(error) = self.child.signal(signal.as_raw()) {
            debug!(%error, ?signal, "signalling a process group");
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if !self.over {
            self.signal(Signal::KILL);
        }
    }
}

/// Watches one child that has only its group to its end.
async fn keep(
    mut group: Group,
    own: &watch::Sender<Option<Exit>>,
    stops: &mut mpsc::UnboundedReceiver<Duration>,
    clock: &dyn Clock,
) -> Ended {
    let mut kill_at = None;
    let status = loop {
        let force = async {
            match kill_at {
                Some(instant) => clock.sleep(instant - clock.now()).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            status = group.child.wait() => break status,
            stop = stops.recv(), if kill_at.is_none() => match stop {
                Some(grace) => {
                    group.signal(Signal::TERM);
                    kill_at = Some(clock.now() + grace);
                }
                // The handle is gone: nobody is interested in a polite end any more.
                None => kill_at = Some(clock.now()),
            },
            () = force => {
                group.signal(Signal::KILL);
                break group.child.wait().await;
            }
        }
    };
    // What the leader left behind in its group goes too.
    group.signal(Signal::KILL);
    group.over = true;
    let exit = match status {
        Ok(status) => status.code().map(Exit::Code).or(status.signal().map(Exit::Signal)).unwrap_or(Exit::Unknown),
        Err(error) => {
            debug!(%error, "waiting for a child");
            Exit::Unknown
        }
    };
    let _ = own.send(Some(exit));
    Ended { exit, left: 0 }
}

async fn drain(mut errors: ChildStderr, tail: Arc<Mutex<Tail>>) {
    let mut buffer = [0; 1024];
    while let Ok(count @ 1..) = errors.read(&mut buffer).await {
        tail.lock().unwrap_or_else(PoisonError::into_inner).push(&buffer[..count]);
    }
}

/// What a short program printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Printed {
    /// How it ended.
    pub exit: Exit,
    /// Its output, at most 64 KiB, invalid UTF-8 replaced.
    pub stdout: String,
    /// The end of its error stream.
    pub stderr: String,
}

/// Runs a program that is expected to end soon, with an empty standard input. One that does not end within `deadline`
/// is killed with all that it started; the error kind is then [`io::ErrorKind::TimedOut`].
pub async fn run(launch: &Launch, deadline: Duration, clock: &Arc<dyn Clock>) -> io::Result<Printed> {
    run_on(launch, "", deadline, &By::new(Arc::clone(clock))).await
}

/// The same with `input` as its standard input; see [`Programs::run_on`].
async fn run_on(launch: &Launch, input: &str, deadline: Duration, by: &By) -> io::Result<Printed> {
    const LIMIT: u64 = 64 * 1024;
    let (exit, out, _, stderr) = run_within(launch, input, LIMIT, deadline, by).await?;
    Ok(Printed { exit, stdout: String::from_utf8_lossy(&out).into_owned(), stderr })
}

/// The same for a program that turns one text into another; see [`Programs::filter`].
async fn filter(launch: &Launch, input: &str, limit: u64, deadline: Duration, by: &By) -> io::Result<Printed> {
    let (exit, out, cut, stderr) = run_within(launch, input, limit, deadline, by).await?;
    if cut {
        let words = format!("the program printed more than {limit} bytes");
        return Err(io::Error::new(io::ErrorKind::InvalidData, words));
    }
    let stdout = String::from_utf8(out)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "the program printed what is no UTF-8"))?;
    Ok(Printed { exit, stdout, stderr })
}

/// Runs a program to its end: how it ended, at most `limit` bytes of its output and whether there were more, and the
/// end of its error stream.
async fn run_within(
    launch: &Launch,
    input: &str,
    limit: u64,
    deadline: Duration,
    by: &By,
) -> io::Result<(Exit, Vec<u8>, bool, String)> {
    let Spawned { child, mut stdin, stdout } = spawn(launch, by)?;
    let write = async move {
        // An error means that the program does not want to know it; its end shows what it makes of that.
        if let Err(error) = stdin.write_all(input.as_bytes()).await {
            debug!(%error, "a program did not read its input");
        }
    };
    let read = async {
        let mut out = Vec::new();
        let mut stdout = BufReader::new(stdout).take(limit);
        let _ = stdout.read_to_end(&mut out).await;
        // Whatever is beyond the limit is read and dropped, so that the program is not stopped by a full pipe.
        let mut rest = stdout.into_inner();
        let dropped = tokio::io::copy(&mut rest, &mut tokio::io::sink()).await.unwrap_or_default();
        let exit = child.exited().await;
        (exit, out, dropped > 0, child.stderr())
    };
    let work = async {
        let mut write = pin!(write);
        let mut read = pin!(read);
        tokio::select! {
            printed = &mut read => printed,
            () = &mut write => read.await,
        }
    };
    tokio::select! {
        printed = work => Ok(printed),
        () = by.clock.sleep(deadline) => {
            Err(io::Error::new(io::ErrorKind::TimedOut, "the program did not end in time"))
        }
    }
}

/// The program that we are, for others to start: by its path, which may by now lead to another version of it.
pub fn own_program() -> Option<PathBuf> {
    std::env::current_exe().ok()
}

/// The full path of a program: first in `folders`, then on `PATH`. A name with a `/` is a path itself.
pub fn find(program: &str, folders: &[PathBuf]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = folders.iter().cloned().chain(std::env::split_paths(&path).filter(|folder| folder.is_absolute()));
    let joined = std::env::join_paths(folders).ok()?;
    which::which_in(program, Some(joined), Path::new("/")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::SystemClock;
    use tokio::io::AsyncBufReadExt as _;

    fn shell(script: &str) -> Launch {
        let program = find("sh", &[]).unwrap();
        Launch { program, args: vec!["-c".into(), script.into()], ..Launch::default() }
    }

    fn by() -> By {
        By::new(Arc::new(SystemClock))
    }

    async fn first_line(stdout: &mut BufReader<ChildStdout>) -> String {
        let mut line = String::new();
        stdout.read_line(&mut line).await.unwrap();
        line.trim().to_owned()
    }

    /// Everybody in the group holds the pipe: its end means that nobody is left.
    async fn nobody_left(mut stdout: BufReader<ChildStdout>) {
        let mut rest = Vec::new();
        stdout.read_to_end(&mut rest).await.unwrap();
    }

    #[tokio::test]
    async fn a_filter_gives_all_or_nothing() {
        let filter = async |script: &str, input: &str, limit| {
            filter(&shell(script), input, limit, Duration::from_secs(30), &by()).await
        };
        let long = "long line\n".repeat(20_000);
        let printed = filter("cat", &long, 1 << 20).await.unwrap();
        assert_eq!((printed.exit, printed.stdout == long), (Exit::Code(0), true));
        for (script, limit) in [("cat", 100), ("printf '\\377'", 100), ("cat; printf '\\377'", 1 << 20)] {
            assert_eq!(filter(script, &long, limit).await.unwrap_err().kind(), io::ErrorKind::InvalidData, "{script}");
        }
        let failed = filter("cat; echo wrong >&2; exit 2", "a", 1).await.unwrap();
        assert_eq!((failed.exit, failed.stdout.as_str(), failed.stderr.as_str()), (Exit::Code(2), "a", "wrong\n"));
    }

    #[tokio::test]
    async fn output_exit_and_errors_are_seen() {
        let printed =
            run_on(&shell("echo out; echo err >&2; exit 3"), "", Duration::from_secs(30), &by()).await.unwrap();
        assert_eq!(printed, Printed { exit: Exit::Code(3), stdout: "out\n".into(), stderr: "err\n".into() });
    }

    #[tokio::test]
    async fn input_reaches_the_program_and_need_not() {
        let long = "x".repeat(1 << 20);
        for (script, expected) in [("wc -c | tr -d ' '", "1048576\n"), ("exec <&-; echo done", "done\n")] {
            let printed = run_on(&shell(script), &long, Duration::from_secs(30), &by()).await.unwrap();
            assert_eq!((printed.exit, printed.stdout.as_str()), (Exit::Code(0), expected), "{script}");
        }
    }

    #[tokio::test]
    async fn a_program_that_does_not_end_is_killed() {
        let error = run_on(&shell("sleep 1000"), "", Duration::from_millis(20), &by()).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test]
    async fn secrets_stay_out_and_additions_come_in() {
        let mut launch = shell("echo \"$EXTRA,${PATH:+path},${CARGO_PKG_NAME-none}\"");
        launch.env.insert("EXTRA".into(), "yes".into());
        let printed = run_on(&launch, "", Duration::from_secs(30), &by()).await.unwrap();
        assert_eq!(printed.stdout, "yes,path,none\n");
    }

    #[tokio::test]
    async fn a_dropped_child_takes_its_group_with_it() {
        let spawned = spawn(&shell("sleep 1000 & echo ready; wait"), &by()).unwrap();
        let mut stdout = BufReader::new(spawned.stdout);
        assert_eq!(first_line(&mut stdout).await, "ready");
        drop(spawned.child);
        nobody_left(stdout).await;
    }

    #[tokio::test]
    async fn one_that_ignores_the_polite_signal_is_killed() {
        let spawned = spawn(&shell("trap '' TERM; echo ready; while :; do sleep 1; done"), &by()).unwrap();
        let mut stdout = BufReader::new(spawned.stdout);
        assert_eq!(first_line(&mut stdout).await, "ready");
        spawned.child.stop(Duration::from_millis(10));
        assert_eq!(spawned.child.exited().await, Exit::Signal(9));
        nobody_left(stdout).await;
    }

    #[tokio::test]
    async fn what_the_leader_leaves_behind_is_killed() {
        let spawned = spawn(&shell("sleep 1000 2>/dev/null & echo ready"), &by()).unwrap();
        assert_eq!(spawned.child.exited().await, Exit::Code(0));
        nobody_left(BufReader::new(spawned.stdout)).await;
    }

    #[test]
    fn programs_are_found_in_the_given_folders_and_on_the_path() {
        assert!(find("sh", &[]).is_some());
        assert_eq!(find("sh", &[PathBuf::from("/bin")]), Some(PathBuf::from("/bin/sh")));
        assert_eq!(find("no-such-program-anywhere", &[]), None);
    }
}
