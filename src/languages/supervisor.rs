//! Finds, starts and restarts language servers: the only part of this room that touches processes and folders.

mod bound;

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tracing::{debug, warn};

use self::bound::{Bound, Judgement};
use super::client::{Pipes, Root, Weigh};
use super::hub::Finding;
use super::known::Server;
use crate::permissions::Trust;
use crate::ports::{Disk, Ports};
use crate::process::{Exit, Launch, Programs, SystemPrograms};
use crate::workspace::{Key, codec};

/// A server that ends so often within [`WINDOW`] is not started again.
const MOST_ENDS: usize = 5;

/// See [`MOST_ENDS`].
const WINDOW: Duration = Duration::from_mins(3);

/// How long a program may take to tell its version.
const PROBE: Duration = Duration::from_secs(10);

/// Folders above a file that are searched for a marker, when it is in no workspace folder.
const CLIMB: usize = 8;

/// Files with more bytes are not read again when others change them.
const LONGEST: u64 = 8 * 1024 * 1024;

/// Folders of a root in which projects keep programs of their own, in the order of preference.
const LOCAL: &[&str] = &["node_modules/.bin", ".venv/bin", "venv/bin"];

/// When a server that ended is started again. Pure.
#[derive(Debug, Clone, Default)]
pub(super) struct Restarts {
    ends: VecDeque<Instant>,
}

impl Restarts {
    /// The server ended; after how long it is started again (1, 2, 4 ... s), or `None` if it ends too often.
    pub(super) fn ended(&mut self, now: Instant) -> Option<Duration> {
        while self.ends.front().is_some_and(|end| now - *end > WINDOW) {
            self.ends.pop_front();
        }
        self.ends.push_back(now);
        let before = self.ends.len() - 1;
        (before < MOST_ENDS).then(|| Duration::from_secs(1 << before))
    }

    /// Whether one that was given up may be tried once more.
    pub(super) fn forgiven(&self, now: Instant) -> bool {
        self.ends.back().is_none_or(|end| now - *end > WINDOW)
    }
}

/// What a program said of itself when it was asked for its version.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Version {
    major: Option<u32>,
    /// Why it is of no use, if it is not.
    broken: Option<String>,
}

/// Finds and starts.
pub(super) struct Supervisor {
    ports: Ports,
    trust: Arc<Trust>,
    programs: Arc<dyn Programs>,
    /// By program and what is asked of it.
    versions: Mutex<HashMap<PathBuf, Version>>,
    /// What the projects' own programs held when they were first run.
    bound: Arc<Bound>,
}

/// Why a server that runs the project's code does not start without trust.
const UNTRUSTED: &str = "it would run the project's code, and the folder is not trusted";

/// Where a program was found, or why none is of use.
enum Program {
    Found(PathBuf),
    /// It must not run, for this reason.
    Untrusted(String),
    Absent(String),
}

impl Supervisor {
    pub(super) fn new(ports: Ports, trust: Arc<Trust>) -> Supervisor {
        let programs = Arc::new(SystemPrograms::new(Arc::clone(&ports.clock)));
        Supervisor::with(ports, trust, programs)
    }

    /// The same with other programs than those of this machine.
    pub(super) fn with(ports: Ports, trust: Arc<Trust>, programs: Arc<dyn Programs>) -> Supervisor {
        Supervisor { ports, trust, programs, versions: Mutex::default(), bound: Arc::default() }
    }

    /// The first of the candidates that there is for a document, and the folder it serves. `folder` is the workspace
    /// folder the document is in.
    pub(super) async fn find(&self, key: &Key, candidates: &[Arc<Server>], folder: Option<PathBuf>) -> Finding {
        let mut untrusted = None;
        let mut absent = None;
        for server in candidates {
            let disk = Arc::clone(&self.ports.disk);
            let (of, markers, top) = (key.clone(), server.markers.clone(), folder.clone());
            let place = tokio::task::spawn_blocking(move || place(&*disk, &of, &markers, top.as_deref())).await;
            let (root, marked) = place.unwrap_or((None, false));
            let name = server.name.clone();
            if server.only_with_marker && !marked {
                let detail = format!("the folder has none of {}", server.markers.join(", "));
                absent.get_or_insert(Finding::Absent { name, detail, missing: false });
                continue;
            }
            let trusted = root.as_deref().is_some_and(|root| self.trust.covers(root));
            match self.program(server, root.as_deref(), trusted).await {
                Program::Found(program) => {
                    let mut command = vec![program.to_string_lossy().into_owned()];
                    command.extend(server.command.iter().skip(1).cloned());
                    let server = if trusted {
                        Some(Arc::clone(server))
                    } else {
                        self.restricted(server, root.as_deref()).await.map(Arc::new)
                    };
                    let Some(server) = server else {
                        untrusted.get_or_insert(Finding::Untrusted { name, detail: UNTRUSTED.to_owned() });
                        continue;
                    };
                    let root = root.and_then(|path| Some(Root { uri: uri_of(&path)?, path }));
                    return Finding::Found { server, command, root };
                }
                Program::Untrusted(detail) => {
                    untrusted.get_or_insert(Finding::Untrusted { name, detail });
                }
                Program::Absent(detail) => {
                    absent.get_or_insert(Finding::Absent { name, detail, missing: true });
                }
            }
        }
        let nothing = || Finding::Absent { name: String::new(), detail: String::new(), missing: false };
        untrusted.or(absent).unwrap_or_else(nothing)
    }

    async fn program(&self, server: &Server, root: Option<&Path>, trusted: bool) -> Program {
        let name = server.command.first().cloned().unwrap_or_default();
        let folders: Vec<PathBuf> = match root.filter(|_| trusted && !server.configured) {
            Some(root) => LOCAL.iter().map(|local| root.join(local)).collect(),
            None => Vec::new(),
        };
        let disk = Arc::clone(&self.ports.disk);
        let (wanted, needs) = (name.clone(), server.needs.clone());
        // It looks for them on the path it is given.
        let path: Vec<PathBuf> = server.env.get("PATH").map(std::env::split_paths).into_iter().flatten().collect();
        let programs = Arc::clone(&self.programs);
        let found = tokio::task::spawn_blocking(move || {
            let program = programs.find(&wanted, &folders)?;
            let real = disk.canonicalize(&program).unwrap_or_else(|_| program.clone());
            Some((program, real, needs.into_iter().find(|need| programs.find(need, &path).is_none())))
        });
        let Ok(Some((program, real, lacking))) = found.await else {
            return Program::Absent(format!("`{name}` was not found; to get it: {}", server.get));
        };
        if let Some(need) = lacking {
            return Program::Absent(format!("`{name}` checks nothing without `{need}`, which was not found"));
        }
        // A program of the project's own, or one that runs the project's code, needs trust.
        let own = root.is_some_and(|root| real.starts_with(root) || program.starts_with(root));
        if !trusted && (server.runs_project_code || (own && !server.configured)) {
            return Program::Untrusted(UNTRUSTED.to_owned());
        }
        if let Some(root) = root.filter(|_| own && trusted) {
            match self.judged(root, &program).await {
                Ok(new) if new => {
                    self.versions.lock().unwrap_or_else(PoisonError::into_inner).remove(&program);
                }
                Ok(_) => {}
                Err(why) => return Program::Untrusted(why),
            }
        }
        let proxy = is_proxy(&real);
        if proxy || server.least_major.is_some() {
            let version = self.version(&program).await;
            if let Some(why) = version.broken {
                return Program::Absent(format!("`{name}` does not run ({why}); to get it: {}", server.get));
            }
            if let Some(least) = server.least_major.filter(|least| version.major.is_none_or(|major| major < *least)) {
                return Program::Absent(format!("`{name}` is older than version {least}; to get it: {}", server.get));
            }
        }
        Program::Found(program)
    }

    /// A server as it may run in a folder that is not trusted.
    async fn restricted(&self, server: &Server, root: Option<&Path>) -> Option<Server> {
        let root = root.map(Path::to_owned);
        let disk = Arc::clone(&self.ports.disk);
        let programs = Arc::clone(&self.programs);
        let python = tokio::task::spawn_blocking(move || {
            let found = ["python3", "python"].iter().filter_map(|name| programs.find(name, &[]));
            let outside = |path: &Path| root.as_deref().is_none_or(|root| !path.starts_with(root));
            found
                .filter(|path| outside(path) && disk.canonicalize(path).is_ok_and(|real| outside(&real)))
                .find_map(|path| path.to_str().map(str::to_owned))
        });
        server.restricted(python.await.ok().flatten().as_deref())
    }

    /// Asks a program for its version, once.
    async fn version(&self, program: &Path) -> Version {
        let known = || self.versions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(version) = known().get(program) {
            return version.clone();
        }
        let launch = Launch { program: program.to_owned(), args: vec!["--version".into()], ..Launch::default() };
        let version = match self.programs.run(&launch, PROBE).await {
            Ok(printed) if printed.exit == Exit::Code(0) => Version { major: major(&printed.stdout), broken: None },
            Ok(printed) => {
                let words = printed.stderr.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
                let words = words.trim_start_matches("error: ");
                let broken = if words.is_empty() { printed.exit.to_string() } else { words.to_owned() };
                Version { major: None, broken: Some(broken) }
            }
            Err(error) => Version { major: None, broken: Some(error.to_string()) },
        };
        // What did not run may be mended at any time.
        if version.broken.is_none() {
            known().insert(program.to_owned(), version.clone());
        }
        version
    }

    /// Whether a program of the project's own may run: the first time, and as long as it holds what it held then. `true`:
    /// it was not known before, or is another one by a new grant.
    async fn judged(&self, root: &Path, program: &Path) -> Result<bool, String> {
        let Some(grant) = self.trust.grant(root) else { return Err(UNTRUSTED.to_owned()) };
        let (bound, disk, path) = (Arc::clone(&self.bound), Arc::clone(&self.ports.disk), program.to_owned());
        let judged = tokio::task::spawn_blocking(move || bound.judge(&*disk, &path, grant)).await;
        let shown = program.strip_prefix(root).unwrap_or(program).display();
        match judged.map_err(|error| error.to_string()).and_then(|judged| judged.map_err(|error| error.to_string())) {
            Ok(judgement) => match judgement {
                Judgement::New => Ok(true),
                Judgement::Same => Ok(false),
                Judgement::Changed => {
                    warn!(program = %program.display(), "a program of the project is not the one that was trusted");
                    Err(format!(
                        "`{shown}` of the project is not the program that was first run here; it does not run until the \
                         folder is trusted anew"
                    ))
                }
            },
            Err(error) => Err(format!("`{shown}` of the project could not be read: {error}")),
        }
    }

    /// Starts a server; the error says why it could not be.
    pub(super) async fn start(
        &self,
        server: &Server,
        command: &[String],
        root: Option<&Root>,
    ) -> Result<Pipes, String> {
        let (program, args) = command.split_first().ok_or("has no command")?;
        if let Some(root) = root {
            let trusted = self.trust.covers(&root.path);
            let own = Path::new(program).starts_with(&root.path) || self.bound.knows(Path::new(program));
            // Trust may have gone since it was found, and the program may be another one by now: also on a restart.
            if !trusted && (server.runs_project_code || (own && !server.configured)) {
                return Err(format!("was not started: {UNTRUSTED}"));
            }
            if trusted && own {
                self.judged(&root.path, Path::new(program)).await.map_err(|why| format!("was not started: {why}"))?;
            }
        }
        let launch = Launch {
            program: program.into(),
            args: args.to_vec(),
            dir: root.map(|root| root.path.clone()),
            env: server.env.clone(),
        };
        debug!(?launch, "starting a language server");
        let started = self.programs.start(&launch).map_err(|error| format!("could not be started: {error}"))?;
        let memory = started.child.as_ref().map(|child| {
            let group = child.id();
            Arc::new(move || crate::process::resident(group)) as Weigh
        });
        Ok(Pipes { reader: started.reader, writer: started.writer, child: started.child, memory })
    }

    /// The text of a file; `None` when it cannot be read, is no text, or is too long for a server.
    pub(super) async fn read(&self, path: &Path) -> Option<String> {
        let (disk, path) = (Arc::clone(&self.ports.disk), path.to_owned());
        let read = tokio::task::spawn_blocking(move || {
            let short = disk.metadata(&path).is_ok_and(|found| found.len <= LONGEST);
            let bytes = short.then(|| disk.read(&path).ok()).flatten()?;
            Some(codec::decode(&bytes).ok()?.text)
        });
        read.await.ok().flatten()
    }

    /// Which of these roots are trusted.
    pub(super) fn trusted(&self, roots: Vec<PathBuf>) -> Vec<PathBuf> {
        roots.into_iter().filter(|root| self.trust.covers(root)).collect()
    }

    /// Where a server's program is outside of any project, or why there is none; for `doctor`.
    pub(super) async fn locate(&self, server: &Server) -> Result<PathBuf, String> {
        match self.program(server, None, true).await {
            Program::Found(program) => Ok(program),
            Program::Untrusted(_) => Err("it needs a trusted folder".to_owned()),
            Program::Absent(why) => Err(why),
        }
    }
}

/// The `file:` URI of a path.
pub(super) fn uri_of(path: &Path) -> Option<String> {
    url::Url::from_file_path(path).ok().map(String::from)
}

/// Whether a program (links resolved) is the one that stands in for the components of a Rust toolchain, and may have
/// nothing to stand in for.
fn is_proxy(real: &Path) -> bool {
    real.file_name().is_some_and(|name| name == "rustup")
}

/// The first number of a version as programs print it: `Version 7.0.2`, `tool 1.2`.
fn major(printed: &str) -> Option<u32> {
    let start = printed.find(|c: char| c.is_ascii_digit())?;
    let digits: String = printed[start..].chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

/// The folder a server serves a document in, and whether a marker was found on the way to the document.
///
/// A workspace folder that bears a marker is the root; else the outermost folder below it, on the way to the document,
/// that does; else the workspace folder. A document outside of all of them: the nearest folder with a marker, else its
/// own.
fn place(disk: &dyn Disk, key: &Key, markers: &[String], folder: Option<&Path>) -> (Option<PathBuf>, bool) {
    let bears = |at: &Path| markers.iter().any(|marker| disk.metadata(&at.join(marker)).is_ok());
    let Key::File(path) = key else {
        return (folder.map(Path::to_owned), folder.is_some_and(bears));
    };
    let Some(parent) = path.parent() else { return (None, false) };
    let Some(folder) = folder else {
        let nearest = parent.ancestors().take(CLIMB).find(|at| bears(at));
        return (Some(nearest.unwrap_or(parent).to_owned()), nearest.is_some());
    };
    let mut way: Vec<&Path> = parent.ancestors().take_while(|at| at.starts_with(folder)).collect();
    way.reverse();
    match way.into_iter().find(|at| bears(at)) {
        Some(root) => (Some(root.to_owned()), true),
        None => (Some(folder.to_owned()), false),
    }
}

#[cfg(test)]
#[path = "supervisor_tests.rs"]
mod tests;
