//! Where the real tools are, and children that end in time.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// The sidecar under test.
pub(crate) const SIDECAR: &str = env!("CARGO_BIN_EXE_ropewalk");

/// The folder that `tests/run` set up, or `None` (with a line on why) where it was not used.
#[expect(clippy::print_stdout, reason = "a test that is skipped says why")]
pub(crate) fn folder() -> Option<PathBuf> {
    #[expect(clippy::disallowed_methods, reason = "tests learn from the environment what is set up")]
    let folder = std::env::var("ROPEWALK_TOOLS").ok().filter(|folder| !folder.is_empty());
    if folder.is_none() {
        println!("skipped: ROPEWALK_TOOLS is not set; `tests/run` sets up the real editors and servers");
    }
    folder.map(PathBuf::from)
}

/// A program in the folder of tools; missing is a failure.
pub(crate) fn program(folder: &Path, name: &str) -> PathBuf {
    let program = folder.join(name);
    assert!(program.is_file(), "{} is missing: run `tests/run` again, it mends its folder", program.display());
    program
}

/// What a child wrote and how it ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// Its exit status.
    pub(crate) status: ExitStatus,
    /// What it wrote to stdout.
    pub(crate) stdout: String,
    /// What it wrote to stderr.
    pub(crate) stderr: String,
}

/// Runs a program to its end in a process group of its own. At the deadline the group is killed and the test fails.
#[expect(clippy::expect_used, reason = "only a test's own thread or pipe could fail here, and then the test has")]
pub(crate) fn run(program: &Path, arguments: &[&str], environment: &[(&str, &str)], deadline: Duration) -> Ended {
    use std::os::unix::process::CommandExt as _;

    #[expect(clippy::disallowed_methods, reason = "the tests' own children are not the sidecar's")]
    let mut command = Command::new(program);
    command.args(arguments).envs(environment.iter().copied()).process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{}: {error}", program.display()));
    let group = rustix::process::Pid::from_child(&child);
    let (stdout, stderr) = (reader(child.stdout.take()), reader(child.stderr.take()));
    let (done, ended) = mpsc::channel();
    let waiter = std::thread::spawn(move || {
        let status = child.wait().expect("a child can be waited for");
        // Nobody listens any more once the deadline has passed.
        let _ = done.send(());
        status
    });
    let in_time = ended.recv_timeout(deadline).is_ok();
    // Also after a proper end: what the child left behind in its group must not outlive the test.
    let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    let status = waiter.join().expect("the waiting thread does not panic");
    let (stdout, stderr) = (stdout.join().expect("reads"), stderr.join().expect("reads"));
    assert!(in_time, "{} did not end within {deadline:?}\n{stdout}\n{stderr}", program.display());
    Ended { status, stdout, stderr }
}

fn reader(pipe: Option<impl std::io::Read + Send + 'static>) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            // A pipe that breaks has given all that it had.
            let _ = pipe.read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}
