//! ripgrep and fd as they are run from a shell.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ropewalk::workspace::search::Case;

/// Both programs.
pub(crate) struct Peers {
    rg: PathBuf,
    fd: PathBuf,
    output: tempfile::NamedTempFile,
}

#[expect(clippy::disallowed_methods, reason = "a bench runs the programs it compares with")]
impl Peers {
    /// In the folder where `tests/run` puts tools, else on the path.
    pub(crate) fn find() -> Option<Peers> {
        let tools = std::env::var_os("ROPEWALK_TOOLS").map(|tools| PathBuf::from(tools).join("peers/bin"));
        let find = |name: &str| {
            let own = tools.as_ref().map(|tools| tools.join(name)).filter(|own| own.exists());
            own.or_else(|| which::which(name).ok())
        };
        Some(Peers { rg: find("rg")?, fd: find("fd")?, output: tempfile::NamedTempFile::new().ok()? })
    }

    /// What they call themselves.
    pub(crate) fn versions(&self) -> String {
        let version = |program: &Path| {
            let output = Command::new(program).arg("--version").output().expect("a version");
            String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().to_owned()
        };
        format!("{}, {}", version(&self.rg), version(&self.fd))
    }

    /// How long a search takes.
    pub(crate) fn grep(&self, pattern: &str, case: Case, folder: &Path) -> Duration {
        let mut command = self.rg(case, folder);
        command.args(["--line-number", "--no-heading", "-e", pattern, "."]);
        self.timed(command)
    }

    /// How many lines and files match.
    pub(crate) fn count(&self, pattern: &str, case: Case, folder: &Path) -> (u64, u64) {
        let output =
            self.rg(case, folder).args(["--count", "--with-filename", "-e", pattern, "."]).output().expect("an answer");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let counts = text.lines().filter_map(|line| line.rsplit(':').next()?.parse::<u64>().ok());
        counts.fold((0, 0), |(lines, files), count| (lines + count, files + 1))
    }

    /// How long a list of all files takes.
    pub(crate) fn list(&self, folder: &Path) -> Duration {
        self.timed(self.fd(folder))
    }

    /// All files, sorted.
    pub(crate) fn files(&self, folder: &Path) -> Vec<String> {
        let output = self.fd(folder).output().expect("an answer");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut names: Vec<String> = text.lines().map(|line| line.trim_start_matches("./").to_owned()).collect();
        names.sort();
        names
    }

    fn rg(&self, case: Case, folder: &Path) -> Command {
        let mut command = Command::new(&self.rg);
        command.current_dir(folder).args(["--no-config", "--color=never"]);
        if case == Case::Insensitive {
            command.arg("--ignore-case");
        }
        command
    }

    fn fd(&self, folder: &Path) -> Command {
        let mut command = Command::new(&self.fd);
        command.current_dir(folder).args(["--type", "file", "--color=never", "."]);
        command
    }

    fn timed(&self, mut command: Command) -> Duration {
        let output = File::create(self.output.path()).expect("a file for output");
        let start = Instant::now();
        command.stdin(Stdio::null()).stdout(output).stderr(Stdio::null()).status().expect("a run");
        start.elapsed()
    }
}
