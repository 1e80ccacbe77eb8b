//! Finding programs and folders, and starting anew.

use super::*;
use crate::config::DiagnosticsSettings;
use crate::languages::known::servers;
use crate::ports::{MemoryDisk, SystemClock};
use crate::process::{PlayedPrograms, Printed};

fn known(name: &str) -> Server {
    servers(&DiagnosticsSettings::default()).into_iter().find(|server| server.name == name).unwrap()
}

#[test]
fn the_folder_of_a_document() {
    let disk = MemoryDisk::new()
        .with_file("/w/backend/Cargo.toml", "")
        .with_file("/w/backend/crates/x/Cargo.toml", "")
        .with_file("/w/backend/crates/x/src/lib.rs", "")
        .with_file("/w/front/a.rs", "")
        .with_file("/out/p/Cargo.toml", "")
        .with_file("/out/p/src/a.rs", "");
    let check = |path: &str, folder: Option<&str>, root: &str, marked: bool| {
        let found = place(&disk, &Key::File(path.into()), &["Cargo.toml".into()], folder.map(Path::new));
        assert_eq!(found, (Some(PathBuf::from(root)), marked), "{path}");
    };
    check("/w/backend/crates/x/src/lib.rs", Some("/w"), "/w/backend", true);
    check("/w/backend/crates/x/src/lib.rs", Some("/w/backend/crates"), "/w/backend/crates/x", true);
    check("/w/front/a.rs", Some("/w"), "/w", false);
    check("/out/p/src/a.rs", None, "/out/p", true);
    check("/out/q/a.rs", None, "/out/q", false);
    let unnamed = Key::Unnamed("untitled:1".into());
    assert_eq!(place(&disk, &unnamed, &[], Some(Path::new("/w"))), (Some("/w".into()), false));
    assert_eq!(place(&disk, &unnamed, &[], None), (None, false));
}

#[test]
fn restarts_take_longer_and_longer_and_end() {
    let mut restarts = Restarts::default();
    let begin = Instant::now();
    let delays: Vec<Option<u64>> =
        (0..7).map(|second| restarts.ended(begin + Duration::from_secs(second)).map(|delay| delay.as_secs())).collect();
    assert_eq!(delays, [Some(1), Some(2), Some(4), Some(8), Some(16), None, None]);
    assert!(!restarts.forgiven(begin + Duration::from_secs(100)));
    let later = begin + Duration::from_secs(200);
    assert!(restarts.forgiven(later));
    assert_eq!(restarts.ended(later), Some(Duration::from_secs(1)), "what is long ago is forgotten");
}

#[test]
fn versions_are_read_as_programs_print_them() {
    for (printed, expected) in [
        ("Version 7.0.2\n", Some(7)),
        ("rust-analyzer 1.95.0 (abc 2026)", Some(1)),
        ("v22", Some(22)),
        ("", None),
        ("unknown", None),
    ] {
        assert_eq!(major(printed), expected, "{printed:?}");
    }
}

/// A folder with programs that are shell scripts.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> PathBuf {
        self.0.path().canonicalize().unwrap()
    }

    fn program(&self, name: &str, script: &str) -> PathBuf {
        let path = self.path().join(name);
        let disk = crate::ports::SystemDisk;
        disk.create_dir_all(path.parent().unwrap()).unwrap();
        disk.replace(&path, format!("#!/bin/sh\n{script}\n").as_bytes(), 0o755, &mut || true).unwrap();
        path
    }
}

async fn find(server: Server, folder: &Folder, trusted: bool) -> String {
    let trust = Arc::new(Trust::new());
    trust.set(&folder.path(), trusted);
    let supervisor = Supervisor::new(Ports::system(), trust);
    let key = Key::File(folder.path().join("a.x"));
    match supervisor.find(&key, &[Arc::new(server)], Some(folder.path())).await {
        Finding::Found { command, root, .. } => {
            assert_eq!(root.unwrap().path, folder.path());
            command.join(" ").replace(&folder.path().to_string_lossy().into_owned(), "ROOT")
        }
        Finding::Untrusted { name, detail } => format!("untrusted {name}: {detail}"),
        Finding::Absent { detail, missing, .. } => {
            format!("absent {missing} {detail}").replace(&folder.path().to_string_lossy().into_owned(), "ROOT")
        }
    }
}

#[tokio::test]
async fn a_projects_own_programs_run_only_where_it_is_trusted() {
    let folder = Folder::new();
    folder.program("node_modules/.bin/nowhere-else", "");
    let mut server = known("ruff");
    server.command[0] = "nowhere-else".into();
    assert_eq!(find(server.clone(), &folder, true).await, "ROOT/node_modules/.bin/nowhere-else server");
    let get = "absent true `nowhere-else` was not found; to get it: pip install ruff";
    assert_eq!(find(server.clone(), &folder, false).await, get);
    // A program that is in the folder by another way is the project's own all the same.
    server.command[0] = folder.path().join("node_modules/.bin/nowhere-else").to_string_lossy().into_owned();
    assert_eq!(find(server.clone(), &folder, false).await, format!("untrusted ruff: {UNTRUSTED}"));
    // And one that runs the project's code needs trust wherever it is.
    server.command[0] = "sh".into();
    server.runs_project_code = true;
    assert_eq!(find(server.clone(), &folder, false).await, format!("untrusted ruff: {UNTRUSTED}"));
    assert!(find(server, &folder, true).await.ends_with("/sh server"));
}

#[tokio::test]
async fn a_stand_in_without_the_real_thing_counts_as_not_found() {
    let folder = Folder::new();
    let words = "echo \"error: Unknown binary 'rust-analyzer'\" >&2; exit 1";
    let proxy = folder.program("bin/rustup", words);
    std::os::unix::fs::symlink(&proxy, folder.path().join("bin/rust-analyzer")).unwrap();
    let mut server = known("rust-analyzer");
    server.only_with_marker = false;
    server.command[0] = folder.path().join("bin/rust-analyzer").to_string_lossy().into_owned();
    assert_eq!(
        find(server, &folder, true).await,
        "absent true `ROOT/bin/rust-analyzer` does not run (Unknown binary 'rust-analyzer'); \
         to get it: rustup component add rust-analyzer"
    );
}

#[tokio::test]
async fn programs_in_memory_are_found_asked_and_started_like_real_ones() {
    let printed = |stdout: &str| Printed { exit: Exit::Code(0), stdout: stdout.into(), stderr: String::new() };
    let (programs, mut started) = PlayedPrograms::new("/bin");
    let programs = programs.with("/bin/tsc", printed("Version 7.0.2\n")).with("/bin/ruff", printed(""));
    let disk = Arc::new(MemoryDisk::new().with_file("/w/a.ts", ""));
    let ports = Ports { disk, ..Ports::system() };
    let supervisor = Supervisor::with(ports, Arc::new(Trust::new()), Arc::new(programs));
    let find = async |name: &str| {
        let candidates = [Arc::new(known(name))];
        supervisor.find(&Key::File("/w/a.ts".into()), &candidates, Some("/w".into())).await
    };
    let Finding::Found { server, command, root } = find("tsc").await else { panic!("not found") };
    assert_eq!(command, ["/bin/tsc", "--lsp", "--stdio"]);
    assert!(supervisor.start(&server, &command, root.as_ref()).await.unwrap().child.is_none());
    let (launch, _pipes) = started.recv().await.unwrap();
    assert_eq!((launch.program.to_str(), launch.dir.as_deref()), (Some("/bin/tsc"), Some(Path::new("/w"))));
    assert!(matches!(find("clangd").await, Finding::Absent { missing: true, .. }));
    let gone = supervisor.start(&server, &["/bin/gone".to_owned()], None).await;
    assert!(gone.is_err_and(|why| why.starts_with("could not be started")));
}

#[tokio::test]
async fn one_that_cannot_check_alone_is_not_taken_for_a_checker() {
    let folder = Folder::new();
    folder.program("node_modules/.bin/wrapper", "");
    let mut server = known("bash-language-server");
    server.command[0] = "wrapper".into();
    server.needs = vec!["the-real-checker".into()];
    assert_eq!(
        find(server.clone(), &folder, true).await,
        "absent true `wrapper` checks nothing without `the-real-checker`, which was not found"
    );
    // On the path that the server is given it is found.
    folder.program("extra/the-real-checker", "");
    server.env.insert("PATH".into(), folder.path().join("extra").to_string_lossy().into_owned());
    assert_eq!(find(server, &folder, true).await, "ROOT/node_modules/.bin/wrapper start");
}

#[tokio::test]
async fn what_is_too_old_or_of_no_use_here_is_not_taken() {
    let folder = Folder::new();
    let mut tsc = known("tsc");
    for (printed, expected) in [
        (
            "Version 5.9.3",
            "absent true `ROOT/tsc-5.9.3` is older than version 7; to get it: npm install -g typescript@7",
        ),
        ("Version 7.0.2", "ROOT/tsc-7.0.2 --lsp --stdio"),
    ] {
        let name = printed.replace("Version ", "tsc-");
        tsc.command[0] = folder.program(&name, &format!("echo {printed}")).to_string_lossy().into_owned();
        assert_eq!(find(tsc.clone(), &folder, true).await, expected);
    }
    let eslint = find(known("eslint"), &folder, true).await;
    assert!(eslint.starts_with("absent false the folder has none of eslint.config.js"), "{eslint}");
}

#[tokio::test]
async fn a_server_that_dies_tells_how() {
    let folder = Folder::new();
    let program = folder.program("dies", "echo 'no licence' >&2; exit 3");
    let supervisor = Supervisor::new(Ports::system(), Arc::new(Trust::new()));
    let server = known("ruff");
    let pipes = supervisor.start(&server, &[program.to_string_lossy().into_owned()], None).await;
    let (sender, mut events) = tokio::sync::mpsc::unbounded_channel();
    let sink = Arc::new(move |event| {
        let _ = sender.send(event);
    });
    let tasks = tokio_util::task::TaskTracker::new();
    let clock = Arc::new(SystemClock);
    let _client = crate::languages::client::Client::start(async { pipes }, Arc::new(server), None, clock, sink, &tasks);
    let ended = events.recv().await.unwrap();
    assert_eq!(
        ended,
        crate::languages::client::ServerEvent::Ended {
            why: "ended with exit code 3".into(),
            stderr: "no licence\n".into()
        }
    );
    assert!(supervisor.start(&known("ruff"), &["/no/such/program".into()], None).await.is_err());
}

#[tokio::test]
async fn a_projects_own_program_runs_only_as_it_was_when_it_was_trusted() {
    let folder = Folder::new();
    let trust = Arc::new(Trust::new());
    trust.set(&folder.path(), true);
    let supervisor = Supervisor::new(Ports::system(), Arc::clone(&trust));
    let mut server = known("ruff");
    server.command[0] = "of-the-project".into();
    let server = Arc::new(server);
    let key = Key::File(folder.path().join("a.py"));
    let root = Root { uri: uri_of(&folder.path()).unwrap(), path: folder.path() };
    let find = async || match supervisor.find(&key, &[Arc::clone(&server)], Some(folder.path())).await {
        Finding::Found { command, .. } => Ok(command),
        Finding::Untrusted { detail, .. } | Finding::Absent { detail, .. } => Err(detail),
    };
    folder.program("node_modules/.bin/of-the-project", "sleep 1000");
    let command = find().await.unwrap();
    assert!(supervisor.start(&server, &command, Some(&root)).await.is_ok());
    // Another program has its name: it is neither found nor, after a crash, started.
    folder.program("node_modules/.bin/of-the-project", "sleep 1001");
    let why = "`node_modules/.bin/of-the-project` of the project is not the program that was first run here; it does not run \
               until the folder is trusted anew";
    assert_eq!(find().await, Err(why.to_owned()));
    let refused = supervisor.start(&server, &command, Some(&root)).await;
    assert_eq!(refused.err(), Some(format!("was not started: {why}")));
    // The first one may run, and after a new grant the other may instead.
    folder.program("node_modules/.bin/of-the-project", "sleep 1000");
    assert!(find().await.is_ok());
    folder.program("node_modules/.bin/of-the-project", "sleep 1001");
    trust.set(&folder.path(), true);
    assert!(find().await.is_ok());
    assert!(supervisor.start(&server, &command, Some(&root)).await.is_ok());
    trust.set(&folder.path(), false);
    assert!(find().await.is_err());
    let refused = supervisor.start(&server, &command, Some(&root)).await;
    assert_eq!(refused.err(), Some(format!("was not started: {UNTRUSTED}")));
}

#[tokio::test]
async fn what_a_server_weighs_is_told() {
    let folder = Folder::new();
    let program = folder.program("stays", "cat");
    let supervisor = Supervisor::new(Ports::system(), Arc::new(Trust::new()));
    let pipes = supervisor.start(&known("ruff"), &[program.to_string_lossy().into_owned()], None).await.unwrap();
    let weigh = pipes.memory.clone().unwrap();
    assert!(weigh().is_some_and(|bytes| bytes > 0));
}
