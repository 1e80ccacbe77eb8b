//! The supervisor of one child: a small process of our own between us and the program, without threads or a runtime.
//!
//! We hold one end of a socket, it holds the other. Over it comes what to run, with the three pipes of the program,
//! which go straight to the program: nothing that it reads or writes passes through here. Then the supervisor waits:
//! for orders, for the end of the program, and for the end of the socket, which comes also when we were killed.
//!
//! It is the *subreaper* of all that the program starts: what would otherwise be handed to init when its parent ends,
//! also with a session or a group of its own, becomes its child. So everything is below it, and it can end everything:
//! it asks (TERM), then it forces (KILL), and looks again until it has no child left. How long that takes at most,
//! `plan` decides; `table` knows which processes those are. Where there is no subreaper (macOS), it reaches the group
//! of the program and what still hangs below it.

mod plan;
mod table;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::{self, IoSliceMut, Read as _, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, getpid, wait};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};

use super::Exit;
use super::confine;
use super::wire::{Order, Report, Request, WORD};
use plan::{Plan, Step};

/// So many children are hit before time and orders are looked at again.
const MOST_AT_ONCE: usize = 1000;

/// The word of the command line that makes our binary a supervisor.
pub(super) const WORD_FOR_IT: &str = "supervise";

/// So long has the program when the supervisor itself is told to end.
const TOLD_GRACE: Duration = Duration::from_secs(1);

/// Between two looks while force is used.
const LOOK_AGAIN: Duration = Duration::from_millis(4);

/// Whether these words of a command line, without that for the program, ask for a supervisor; if so, call [`supervise`]
/// before anything else is set up.
pub fn is_supervisor(words: &[impl AsRef<OsStr>]) -> bool {
    matches!(words, [word] if word.as_ref() == WORD_FOR_IT)
}

/// Supervises one program, as asked over the socket that standard input is, to its end; the exit code.
pub fn supervise() -> u8 {
    close_inherited();
    let Some(mut control) = control() else {
        let _ = writeln!(
            io::stderr(),
            "ropewalk: `{WORD_FOR_IT}` is for Ropewalk itself: it reads what to run from a socket"
        );
        return 2;
    };
    let started = begin(&mut control);
    match started {
        Ok((supervised, pid)) => {
            let _ = control.write_all(&Report::Started(pid.as_raw_nonzero().get().cast_unsigned()).encode());
            watch(control, supervised, pid);
            0
        }
        Err(error) => {
            let words = if error.raw_os_error().is_some() { String::new() } else { error.to_string() };
            let len = u32::try_from(words.len()).unwrap_or_default();
            let report = Report::Failed(error.raw_os_error().unwrap_or_default(), len).encode();
            let _ = control.write_all(&[&report, words.as_bytes()].concat());
            1
        }
    }
}

/// What an editor did not close for its children would go on to every program.
#[expect(clippy::disallowed_methods, reason = "our own descriptors are no files of anybody's")]
fn close_inherited() {
    let Ok(entries) = std::fs::read_dir("/dev/fd") else { return };
    let numbers: Vec<i32> = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    // Nothing was opened yet but this list, which is closed again: none of these belongs to anybody in this process.
    for number in numbers.into_iter().filter(|number| *number > 2) {
        let _ = nix::unistd::close(number);
    }
}

/// Our end of the socket. Standard input is nothing from now on.
fn control() -> Option<UnixStream> {
    let control = io::stdin().as_fd().try_clone_to_owned().ok()?;
    rustix::net::getsockname(&control).ok()?;
    let nothing =
        rustix::fs::open("/dev/null", rustix::fs::OFlags::RDWR | rustix::fs::OFlags::CLOEXEC, 0.into()).ok()?;
    rustix::stdio::dup2_stdin(nothing).ok()?;
    Some(control.into())
}

/// What is needed to watch.
struct Supervised {
    /// A byte comes when a child has ended.
    ended: UnixStream,
    /// A byte comes when we are told to end.
    told: UnixStream,
    /// Whether what loses its parent becomes our child.
    subreaper: bool,
}

/// Reads the request and starts the program.
fn begin(control: &mut UnixStream) -> io::Result<(Supervised, Pid)> {
    // No terminal of anybody's: its Ctrl-C is not for us, and a program that would ask there is refused at once.
    let _ = rustix::process::setsid();
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::set_name(c"supervisor");
    let subreaper = become_subreaper();
    let (ended, hook) = UnixStream::pair()?;
    signal_hook::low_level::pipe::register(SIGCHLD, hook)?;
    let (told, hook) = UnixStream::pair()?;
    for signal in [SIGTERM, SIGINT, SIGHUP] {
        signal_hook::low_level::pipe::register(signal, hook.try_clone()?)?;
    }
    ended.set_nonblocking(true)?;
    told.set_nonblocking(true)?;
    let (request, pipes) = receive(control)?;
    let pid = start(request, pipes)?;
    Ok((Supervised { ended, told, subreaper }, pid))
}

#[cfg(target_os = "linux")]
fn become_subreaper() -> bool {
    rustix::process::set_child_subreaper(Some(getpid())).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn become_subreaper() -> bool {
    false
}

/// The request, and the standard input, output and error of the program.
fn receive(control: &mut UnixStream) -> io::Result<(Request, [OwnedFd; 3])> {
    let odd = || io::Error::new(io::ErrorKind::InvalidData, "the supervisor was sent no request");
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut beside = RecvAncillaryBuffer::new(&mut space);
    let mut length = [0; 4];
    #[cfg(target_os = "linux")]
    let flags = RecvFlags::CMSG_CLOEXEC;
    #[cfg(not(target_os = "linux"))]
    let flags = RecvFlags::empty();
    let came = recvmsg(&*control, &mut [IoSliceMut::new(&mut length)], &mut beside, flags)?;
    let mut pipes: Vec<OwnedFd> = Vec::new();
    for message in beside.drain() {
        if let RecvAncillaryMessage::ScmRights(descriptors) = message {
            pipes.extend(descriptors);
        }
    }
    for pipe in &pipes {
        rustix::io::fcntl_setfd(pipe, rustix::io::FdFlags::CLOEXEC)?;
    }
    control.read_exact(length.get_mut(came.bytes..).unwrap_or_default())?;
    let mut bytes = vec![0; usize::try_from(u32::from_le_bytes(length)).map_err(|_| odd())?];
    control.read_exact(&mut bytes)?;
    let request = Request::decode(&bytes).ok_or_else(odd)?;
    Ok((request, pipes.try_into().map_err(|_| odd())?))
}

/// Starts the program in a group of its own.
fn start(request: Request, pipes: [OwnedFd; 3]) -> io::Result<Pid> {
    let (mut failure, mut fail) = io::pipe()?;
    let me = getpid();
    // There is one thread in this process, so that the child is a whole copy of it and may do whatever it likes.
    if let fork::Fork::Parent(pid) = fork::fork()? {
        drop((fail, pipes));
        let mut told = Vec::new();
        // Ends with the program in place: the other end is not passed on to it.
        failure.read_to_end(&mut told)?;
        let pid = Pid::from_raw(pid).ok_or(io::ErrorKind::InvalidData)?;
        let Some((errno, words)) = told.split_first_chunk() else { return Ok(pid) };
        let _ = rustix::process::waitpid(Some(pid), WaitOptions::empty());
        return Err(match i32::from_le_bytes(*errno) {
            0 => io::Error::new(io::ErrorKind::Unsupported, String::from_utf8_lossy(words).into_owned()),
            errno => io::Error::from_raw_os_error(errno),
        });
    }
    let error = become_program(request, pipes, me);
    let words = if error.raw_os_error().is_some() { String::new() } else { error.to_string() };
    let _ = fail.write_all(&[&error.raw_os_error().unwrap_or_default().to_le_bytes(), words.as_bytes()].concat());
    end_copy()
}

/// The copy of us that could not become the program has nothing more to do.
#[expect(clippy::exit, reason = "it must not go on as a second supervisor")]
fn end_copy() -> ! {
    std::process::exit(127)
}

/// In the child: becomes the program; comes back only with the reason why not.
#[expect(clippy::disallowed_methods, reason = "this is the room that starts programs")]
fn become_program(request: Request, pipes: [OwnedFd; 3], parent: Pid) -> io::Error {
    if let Err(error) = end_with(parent) {
        return error;
    }
    if let Some(writable) = &request.writable
        && let Err(why) = confine::enforce(writable)
    {
        return io::Error::new(io::ErrorKind::Unsupported, why);
    }
    let [stdin, stdout, stderr] = pipes;
    let mut command = std::process::Command::new(&request.program);
    command
        .args(&request.args)
        .env_clear()
        .envs(request.env)
        .stdin(Stdio::from(stdin))
        .stdout(Stdio::from(stdout))
        .stderr(Stdio::from(stderr))
        .process_group(0);
    if let Some(dir) = &request.dir {
        command.current_dir(dir);
    }
    command.exec()
}

/// The program itself ends also when the supervisor is killed together with us. (A supervisor has one thread, so that
/// "the thread that started it has ended", which is what the system means, is the same.)
#[cfg(target_os = "linux")]
fn end_with(parent: Pid) -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    // It may have ended before that.
    if rustix::process::getppid() == Some(parent) { Ok(()) } else { Err(io::ErrorKind::BrokenPipe.into()) }
}

#[cfg(not(target_os = "linux"))]
#[expect(clippy::unnecessary_wraps, reason = "elsewhere it can fail")]
fn end_with(_: Pid) -> io::Result<()> {
    Ok(())
}

/// Watches to the end.
fn watch(control: UnixStream, supervised: Supervised, pid: Pid) {
    let mut watcher =
        Watcher { control: Some(control), supervised, pid, exit: Exit::Unknown, children: true, seen: Seen::default() };
    let mut plan = Plan::new();
    loop {
        watcher.reap(&mut plan);
        let now = Instant::now();
        let left = watcher.left(&plan);
        match plan.step(left, now) {
            Step::Wait(limit) => watcher.sleep(limit, &mut plan),
            Step::Ask => watcher.ask(plan.is_over()),
            Step::Force => {
                watcher.force(plan.is_over());
                watcher.sleep(Some(LOOK_AGAIN), &mut plan);
            }
            Step::Done => break,
        }
    }
    let lasting = if watcher.children { watcher.all().iter().filter(|row| !row.zombie).count() } else { 0 };
    let count = |many: usize| u32::try_from(many).unwrap_or(u32::MAX);
    let over = Report::Over(count(watcher.seen.left.len()), count(lasting));
    watcher.tell(over);
}

/// Processes, by id and beginning.
#[derive(Default)]
struct Seen {
    /// The polite signal was sent to them.
    asked: BTreeSet<(i32, u64)>,
    /// They outlived the command.
    left: BTreeSet<(i32, u64)>,
}

struct Watcher {
    /// The socket, until its other end is gone.
    control: Option<UnixStream>,
    supervised: Supervised,
    /// The command itself.
    pid: Pid,
    exit: Exit,
    /// Whether there is any child of ours.
    children: bool,
    seen: Seen,
}

impl Watcher {
    fn tell(&mut self, report: Report) {
        // An error means that nobody listens any more; the end of the socket tells that too.
        if let Some(control) = &mut self.control {
            let _ = control.write_all(&report.encode());
        }
    }

    /// Takes notice of all children that have ended.
    fn reap(&mut self, plan: &mut Plan) {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) => {
                    if pid == self.pid {
                        self.exit = exit_of(status);
                        self.tell(Report::Ended(self.exit));
                        plan.over(Instant::now());
                    }
                }
                Ok(None) => return self.children = true,
                Err(Errno::INTR) => {}
                Err(_) => return self.children = false,
            }
        }
    }

    /// Whether there is still anything of the command.
    fn left(&self, plan: &Plan) -> bool {
        self.children || !self.supervised.subreaper && plan.is_over() && self.all().iter().any(|row| !row.zombie)
    }

    fn all(&self) -> Vec<table::Row> {
        let group = self.pid.as_raw_nonzero().get();
        table::below(&table::all(), getpid().as_raw_nonzero().get(), Some(group))
    }

    fn ask(&mut self, over: bool) {
        for row in self.all() {
            let id = (row.pid, row.began);
            if self.seen.asked.insert(id) {
                if over && !row.zombie {
                    self.seen.left.insert(id);
                }
                table::send(row, Signal::TERM);
                // One that was stopped hears nothing before it goes on.
                table::send(row, Signal::CONT);
            }
        }
    }

    fn force(&mut self, over: bool) {
        // One that hands itself on (it starts the next and ends) is another by the time the whole table is read. But
        // each of those becomes our child, and is hit at once here.
        let mut hit = BTreeSet::new();
        loop {
            let mut children = table::children();
            children.retain(|row| !row.zombie && hit.insert((row.pid, row.began)));
            if children.is_empty() || hit.len() > MOST_AT_ONCE {
                break;
            }
            self.kill(&children, over);
        }
        let all = self.all();
        self.kill(&all, over);
    }

    fn kill(&mut self, rows: &[table::Row], over: bool) {
        for row in rows {
            if over && !row.zombie {
                self.seen.left.insert((row.pid, row.began));
            }
            table::send(*row, Signal::KILL);
        }
    }

    /// Waits for news, at most so long.
    fn sleep(&mut self, limit: Option<Duration>, plan: &mut Plan) {
        let limit = limit.and_then(|limit| Timespec::try_from(limit).ok());
        let mut watched =
            vec![PollFd::new(&self.supervised.ended, PollFlags::IN), PollFd::new(&self.supervised.told, PollFlags::IN)];
        if let Some(control) = &self.control {
            watched.push(PollFd::new(control, PollFlags::IN));
        }
        // An error is an interruption: whatever it was, the pipes tell it.
        let _ = poll(&mut watched, limit.as_ref());
        let orders = watched.get(2).is_some_and(|control| !control.revents().is_empty());
        drop(watched);
        drained(&self.supervised.ended);
        if drained(&self.supervised.told) {
            plan.stop(TOLD_GRACE, Instant::now());
        }
        if orders {
            self.obey(plan);
        }
    }

    /// Reads an order.
    fn obey(&mut self, plan: &mut Plan) {
        let Some(control) = &mut self.control else { return };
        let mut word = [0; WORD];
        // An order is written in one piece.
        let order = control.read_exact(&mut word).ok().and_then(|()| Order::decode(word));
        let now = Instant::now();
        match order {
            Some(Order::Stop(grace)) => plan.stop(grace, now),
            Some(Order::Kill) => plan.kill(now),
            None => {
                self.control = None;
                plan.alone(now);
            }
        }
    }
}

/// Takes all bytes; whether there were any.
fn drained(mut from: &UnixStream) -> bool {
    let mut buffer = [0; 64];
    let mut any = false;
    while let Ok(1..) = from.read(&mut buffer) {
        any = true;
    }
    any
}

fn exit_of(status: WaitStatus) -> Exit {
    let signal = || status.terminating_signal().map(Exit::Signal);
    status.exit_status().map(Exit::Code).or_else(signal).unwrap_or(Exit::Unknown)
}
