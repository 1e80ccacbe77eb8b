//! The port to programs: finding and starting them; the real one, and a twin in memory whose programs a test plays.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, duplex, split};
use tokio::sync::{mpsc, watch};

use super::{By, Child, Command, Ended, Exit, Launch, Piece, Printed, Process, Running};
use crate::ports::Clock;

/// Finds and starts programs.
#[async_trait]
pub trait Programs: Send + Sync + 'static {
    /// See [`super::find`].
    fn find(&self, program: &str, folders: &[PathBuf]) -> Option<PathBuf>;
    /// Starts a program. Must be called on the runtime. Errors are the operating system's (not found, not executable).
    fn start(&self, launch: &Launch) -> io::Result<Started>;
    /// See [`super::run`].
    async fn run(&self, launch: &Launch, deadline: Duration) -> io::Result<Printed> {
        self.run_on(launch, "", deadline).await
    }
    /// The same with `input` as its standard input, whether it reads that or not. Dropped, it kills the program with
    /// all that it started.
    async fn run_on(&self, launch: &Launch, input: &str, deadline: Duration) -> io::Result<Printed>;
    /// The same for a program that turns one text into another: its output is given whole and as it is. One of more
    /// than `limit` bytes, or that is no UTF-8, is an error of the kind [`io::ErrorKind::InvalidData`].
    async fn filter(&self, launch: &Launch, input: &str, limit: u64, deadline: Duration) -> io::Result<Printed> {
        let printed = self.run_on(launch, input, deadline).await?;
        if printed.stdout.len() as u64 > limit {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the program printed too much"));
        }
        Ok(printed)
    }
    /// Starts a command that an agent asked for. Must be called on the runtime. Errors are the operating system's; one
    /// of the kind [`io::ErrorKind::Unsupported`] says why a command that shall be confined cannot be, and did not run.
    fn command(&self, command: &Command) -> io::Result<Running>;
}

/// A program that was just started.
pub struct Started {
    /// What it writes.
    pub reader: Box<dyn AsyncRead + Unpin + Send>,
    /// What it reads.
    pub writer: Box<dyn AsyncWrite + Unpin + Send>,
    /// The process; one that is played has none.
    pub child: Option<Child>,
}

/// The programs of this machine.
pub struct SystemPrograms {
    by: By,
}

impl SystemPrograms {
    /// Deadlines are counted by this clock. Children come under the supervisor of the process, if
    /// [`super::supervise_with`] was called before; else each has a process group and no more.
    pub fn new(clock: Arc<dyn Clock>) -> SystemPrograms {
        SystemPrograms { by: By::new(clock) }
    }

    /// Every child comes under a supervisor of its own, which is this program; see [`super::supervise_with`].
    #[must_use]
    pub fn supervised_by(mut self, program: &Path) -> SystemPrograms {
        self.by.supervisor = Some(program.to_owned());
        self
    }
}

#[async_trait]
impl Programs for SystemPrograms {
    fn find(&self, program: &str, folders: &[PathBuf]) -> Option<PathBuf> {
        super::find(program, folders)
    }

    fn start(&self, launch: &Launch) -> io::Result<Started> {
        let spawned = super::spawn(launch, &self.by)?;
        Ok(Started { reader: Box::new(spawned.stdout), writer: Box::new(spawned.stdin), child: Some(spawned.child) })
    }

    async fn run_on(&self, launch: &Launch, input: &str, deadline: Duration) -> io::Result<Printed> {
        super::run_on(launch, input, deadline, &self.by).await
    }

    async fn filter(&self, launch: &Launch, input: &str, limit: u64, deadline: Duration) -> io::Result<Printed> {
        super::filter(launch, input, limit, deadline, &self.by).await
    }

    fn command(&self, command: &Command) -> io::Result<Running> {
        super::command::start(command, &self.by)
    }
}

/// What a played program prints for its input; `None`: it does not end by itself.
type Answer = Box<dyn Fn(&Launch, &str) -> Option<Printed> + Send + Sync>;

/// What a played command does.
type Play = Box<dyn Fn(&Command) -> Played + Send + Sync>;

/// What a played program does when it is run.
enum Part {
    Prints(Printed),
    Answers(Answer),
    Plays(Play),
}

/// A played command: it puts this out at once, and then ends like this; `None`: only when it is stopped, by TERM.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Played {
    /// Its output.
    pub output: Vec<Piece>,
    /// Its end.
    pub ended: Option<Ended>,
}

/// Programs in memory: which there are, what they print, and the pipes of those that are started.
pub struct PlayedPrograms {
    path: PathBuf,
    parts: BTreeMap<PathBuf, Part>,
    started: mpsc::UnboundedSender<(Launch, DuplexStream)>,
}

impl PlayedPrograms {
    /// No programs yet; `path` is the one folder that is searched besides those that are named. What is started comes
    /// out of the receiver, with the other end of its pipes.
    pub fn new(path: &str) -> (PlayedPrograms, mpsc::UnboundedReceiver<(Launch, DuplexStream)>) {
        let (started, receiver) = mpsc::unbounded_channel();
        (PlayedPrograms { path: path.into(), parts: BTreeMap::new(), started }, receiver)
    }

    /// There is this program, by its full path, and it prints this when it is run.
    #[must_use]
    pub fn with(mut self, program: &str, printed: Printed) -> PlayedPrograms {
        self.parts.insert(program.into(), Part::Prints(printed));
        self
    }

    /// There is this program, by its full path, and what it prints depends on its input. `None`: it does not end, and
    /// is killed at its deadline by tokio's clock.
    #[must_use]
    pub fn answering<F>(mut self, program: &str, answer: F) -> PlayedPrograms
    where
        F: Fn(&Launch, &str) -> Option<Printed> + Send + Sync + 'static,
    {
        self.parts.insert(program.into(), Part::Answers(Box::new(answer)));
        self
    }

    /// There is this program, by its full path, for commands, and what one does depends on the command.
    #[must_use]
    pub fn playing<F>(mut self, program: &str, play: F) -> PlayedPrograms
    where
        F: Fn(&Command) -> Played + Send + Sync + 'static,
    {
        self.parts.insert(program.into(), Part::Plays(Box::new(play)));
        self
    }

    fn known(&self, program: &Path) -> io::Result<&Part> {
        self.parts.get(program).ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

#[async_trait]
impl Programs for PlayedPrograms {
    fn find(&self, program: &str, folders: &[PathBuf]) -> Option<PathBuf> {
        let places = folders.iter().chain(std::iter::once(&self.path)).map(|folder| folder.join(program));
        places.into_iter().find(|place| self.parts.contains_key(place))
    }

    fn start(&self, launch: &Launch) -> io::Result<Started> {
        self.known(&launch.program)?;
        let (ours, theirs) = duplex(1 << 16);
        let (reader, writer) = split(ours);
        self.started.send((launch.clone(), theirs)).map_err(|_| io::Error::other("nobody plays it"))?;
        Ok(Started { reader: Box::new(reader), writer: Box::new(writer), child: None })
    }

    async fn run_on(&self, launch: &Launch, input: &str, deadline: Duration) -> io::Result<Printed> {
        match self.known(&launch.program)? {
            Part::Prints(printed) => Ok(printed.clone()),
            Part::Answers(answer) => {
                if let Some(printed) = answer(launch, input) {
                    return Ok(printed);
                }
                tokio::time::sleep(deadline).await;
                Err(io::ErrorKind::TimedOut.into())
            }
            Part::Plays(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    fn command(&self, command: &Command) -> io::Result<Running> {
        let Part::Plays(play) = self.known(&command.launch.program)? else {
            return Err(io::ErrorKind::Unsupported.into());
        };
        let Played { output, ended } = play(command);
        let (pieces, receiver) = mpsc::channel(output.len().max(1));
        for piece in output {
            pieces.try_send(piece).map_err(io::Error::other)?;
        }
        let (tell, end) = watch::channel(ended);
        // What reads a command's output hears its end only when the command has ended.
        let mut over = end.clone();
        tokio::spawn(async move {
            let _ = over.wait_for(Option::is_some).await;
            drop(pieces);
        });
        Ok(Running { output: receiver, input: None, process: Box::new(PlayedProcess { tell, end }) })
    }
}

/// The process of a played command.
struct PlayedProcess {
    tell: watch::Sender<Option<Ended>>,
    end: watch::Receiver<Option<Ended>>,
}

#[async_trait]
impl Process for PlayedProcess {
    fn stop(&self, _: Duration) {
        self.tell.send_modify(|end| {
            end.get_or_insert(Ended { exit: Exit::Signal(15), left: 0 });
        });
    }

    async fn ended(&self) -> Ended {
        let mut end = self.end.clone();
        let found = end.wait_for(Option::is_some).await.map(|end| *end);
        found.ok().flatten().unwrap_or(Ended { exit: Exit::Unknown, left: 0 })
    }
}
