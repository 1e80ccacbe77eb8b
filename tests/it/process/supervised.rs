//! Children under their supervisors: whatever a command does, it ends when it shall, with everything it started.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ropewalk::ports::SystemClock;
use ropewalk::process::{
    self, Command, Ended, Exit, Input, Launch, Piece, Programs as _, Running, Stream, SystemPrograms,
};
use tokio::io::AsyncReadExt as _;

use super::NEVER;

/// The programs of this machine, supervised by the real binary.
pub(super) fn programs() -> SystemPrograms {
    SystemPrograms::new(Arc::new(SystemClock)).supervised_by(Path::new(env!("CARGO_BIN_EXE_ropewalk")))
}

/// In the environment of everything that a test starts, and of nothing else.
pub(super) fn mark(name: &str) -> String {
    format!("ROPEWALK_TEST_MARK={name}-{}", std::process::id())
}

/// A shell that runs this script, with the mark in its environment.
pub(super) fn shell(script: &str, mark: &str) -> Launch {
    let (name, value) = mark.split_once('=').unwrap();
    Launch {
        program: process::find("sh", &[]).unwrap(),
        args: vec!["-c".into(), script.into()],
        env: BTreeMap::from([(name.to_owned(), value.to_owned())]),
        ..Launch::default()
    }
}

pub(super) fn command(script: &str, mark: &str) -> Command {
    Command { launch: shell(script, mark), ..Command::default() }
}

/// The command lines of all living processes that carry the mark.
pub(super) fn alive(mark: &str) -> Vec<(i32, String)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        // One that has ended has neither.
        let read = |what: &str| std::fs::read(entry.path().join(what)).unwrap_or_default();
        if read("environ").split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes()) {
            found.push((pid, String::from_utf8_lossy(&read("cmdline")).replace('\0', " ")));
        }
    }
    found
}

/// Waits until this holds.
pub(super) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let mut tick = tokio::time::interval(Duration::from_millis(5));
    let wait = async {
        while !holds() {
            tick.tick().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), wait).await.unwrap_or_else(|_| panic!("never: {what}"));
}

pub(super) async fn nobody_left(mark: &str) {
    until(&format!("nobody left: {:?}", alive(mark)), || alive(mark).is_empty()).await;
}

/// Takes output until this line came.
pub(super) async fn line(running: &mut Running, wanted: &str) {
    let mut text = String::new();
    while !text.lines().any(|line| line == wanted) {
        let piece = tokio::time::timeout(NEVER, running.output.recv()).await.expect("output").expect("more output");
        text.push_str(&String::from_utf8_lossy(&piece.bytes));
    }
}

/// Takes all the output, and waits for the end.
pub(super) async fn finish(running: &mut Running) -> (String, String, Ended) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let wait = async {
        while let Some(Piece { stream, bytes }) = running.output.recv().await {
            match stream {
                Stream::Out => out.extend(bytes),
                Stream::Err => err.extend(bytes),
            }
        }
        running.process.ended().await
    };
    let ended = tokio::time::timeout(NEVER, wait).await.expect("an end");
    (String::from_utf8_lossy(&out).into_owned(), String::from_utf8_lossy(&err).into_owned(), ended)
}

/// What does not end by itself. Each says when it is there.
const HANGS: &[(&str, &str)] = &[
    ("cat", "echo ready; exec cat"),
    ("read", "echo ready; read x"),
    ("tail", "echo ready; exec tail -f /dev/null"),
    ("background", "sleep 1000 & echo ready; wait"),
    ("session", "setsid sleep 1000 & echo ready; wait"),
    ("waiting session", "echo ready; setsid -w sleep 1000"),
    ("yes", "echo ready; exec yes"),
    ("deaf", "trap '' TERM HUP INT; echo ready; while :; do sleep 1; done"),
    ("deaf child", "(trap '' TERM HUP; echo ready; while :; do sleep 1; done) & wait"),
    ("deaf session", "setsid sh -c 'trap \"\" TERM HUP; echo ready; while :; do sleep 1; done' & wait"),
    ("double fork", "(setsid sh -c 'sleep 1000 & sleep 1001 & exit' &); sleep 1002 & echo ready; wait"),
    ("stopped", "sleep 1000 & kill -STOP $!; echo ready; kill -STOP $$"),
];

#[tokio::test]
async fn whatever_hangs_is_stopped_and_nothing_is_left() {
    for (name, script) in HANGS {
        let mark = mark(name);
        let mut running = programs().command(&Command { input: Input::Open, ..command(script, &mark) }).unwrap();
        line(&mut running, "ready").await;
        until("it can be found", || !alive(&mark).is_empty()).await;
        running.process.stop(Duration::from_millis(300));
        let (_, _, ended) = finish(&mut running).await;
        assert!(matches!(ended.exit, Exit::Signal(9 | 15)), "{name}: {ended:?}");
        assert_eq!(alive(&mark), [], "{name}: when it is told that all has ended, it has");
    }
}

#[tokio::test]
async fn whatever_hangs_goes_when_it_is_dropped() {
    for (name, script) in HANGS {
        let mark = mark(name);
        let mut running = programs().command(&Command { input: Input::Open, ..command(script, &mark) }).unwrap();
        line(&mut running, "ready").await;
        drop(running);
        nobody_left(&mark).await;
    }
}

#[tokio::test]
async fn what_is_left_behind_ends_with_the_command_and_is_counted() {
    for (name, script, left) in [
        ("nothing", "exit 3", 0),
        ("waited", "sleep 0 & wait; exit 3", 0),
        ("background", "sleep 1000 & exit 3", 1),
        ("session", "setsid sleep 1000 & exec 1>&- 2>&-; until [ -n \"$(pgrep -P $$ sleep)\" ]; do :; done; exit 3", 1),
        ("holding", "sh -c 'sleep 1000 & sleep 1000 &'; exit 3", 2),
        ("deaf", "(trap '' TERM HUP; echo ready >&2; sleep 1000; sleep 1001) & read x; exit 3", 2),
    ] {
        let mark = mark(name);
        let mut running = programs().command(&Command { input: Input::Open, ..command(script, &mark) }).unwrap();
        if name == "deaf" {
            line(&mut running, "ready").await;
            until("both", || alive(&mark).len() == 3).await;
            running.input = None;
        }
        let (_, _, ended) = finish(&mut running).await;
        assert_eq!(ended, Ended { exit: Exit::Code(3), left }, "{name}");
        assert_eq!(alive(&mark), [], "{name}");
    }
}

#[tokio::test]
async fn one_that_hands_itself_on_without_end_is_caught() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("hop");
    // Without its folder it ends by itself, so that a test that fails leaves nothing.
    std::fs::write(&script, "#!/bin/sh\ntrap '' TERM HUP\nsetsid \"$0\" &\n").unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    for round in 0..5 {
        let mark = mark(&format!("hop{round}"));
        let mut running = programs().command(&command(&format!("exec {}", script.display()), &mark)).unwrap();
        let (_, _, ended) = finish(&mut running).await;
        assert_eq!(ended.exit, Exit::Code(0));
        assert!(ended.left > 0, "{ended:?}");
        assert_eq!(alive(&mark), []);
    }
}

#[tokio::test]
async fn input_ends_where_nobody_writes() {
    for (input, expected) in [(Input::Closed, ""), (Input::Text("one\ntwo\n".into()), "one\ntwo\n")] {
        let mut running = programs().command(&Command { input, ..command("cat; echo x >&2", &mark("input")) }).unwrap();
        let (out, err, ended) = finish(&mut running).await;
        assert_eq!((out.as_str(), err.as_str()), (expected, "x\n"));
        assert_eq!(ended, Ended { exit: Exit::Code(0), left: 0 });
    }
}

#[tokio::test]
async fn ends_are_told_as_they_are() {
    for (script, exit) in [
        ("exit 0", Exit::Code(0)),
        ("exit 255", Exit::Code(255)),
        ("kill -KILL $$", Exit::Signal(9)),
        ("kill -SEGV $$", Exit::Signal(11)),
        ("kill -PIPE $$", Exit::Signal(13)),
    ] {
        let mut running = programs().command(&command(script, &mark("ends"))).unwrap();
        assert_eq!(finish(&mut running).await.2.exit, exit, "{script}");
    }
}

#[tokio::test]
async fn a_gigabyte_passes_in_bounded_memory() {
    fn peak() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.split_ascii_whitespace().next().unwrap().parse().unwrap()
    }
    let before = peak();
    let mut running = programs().command(&command("head -c 1073741824 /dev/zero", &mark("much"))).unwrap();
    let mut count = 0;
    while let Some(piece) = running.output.recv().await {
        count += piece.bytes.len();
    }
    assert_eq!(count, 1 << 30);
    assert_eq!(running.process.ended().await.exit, Exit::Code(0));
    assert!(peak() - before < 32 * 1024, "{} KiB", peak() - before);
}

#[tokio::test]
async fn a_program_that_cannot_be_started_says_why_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let plain = folder.path().join("plain");
    std::fs::write(&plain, "no program").unwrap();
    let there = shell("true", &mark("none")).program;
    for (program, dir, kind) in [
        (Path::new("/no/such/program"), None, io::ErrorKind::NotFound),
        (plain.as_path(), None, io::ErrorKind::PermissionDenied),
        (folder.path(), None, io::ErrorKind::PermissionDenied),
        (there.as_path(), Some("/no/such/folder".into()), io::ErrorKind::NotFound),
    ] {
        let launch = Launch { program: program.to_owned(), dir, ..Launch::default() };
        let error = programs().command(&Command { launch: launch.clone(), ..Command::default() }).unwrap_err();
        assert_eq!(error.kind(), kind, "{launch:?}");
        assert_eq!(programs().run(&launch, NEVER).await.unwrap_err().kind(), kind, "{launch:?}");
        assert_eq!(programs().start(&launch).err().map(|error| error.kind()), Some(kind), "{launch:?}");
    }
    let lost = SystemPrograms::new(Arc::new(SystemClock)).supervised_by(Path::new("/no/such/supervisor"));
    let error = lost.command(&command("true", &mark("none"))).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::Other, "it is not the program that is missing");
}

#[tokio::test]
async fn a_child_has_three_descriptors_and_no_terminal() {
    let script = "ls /proc/self/fd; (: < /dev/tty) && echo terminal; \
                  read -r stat < /proc/$$/stat; set -- $stat; [ $5 = $$ ] && echo leader";
    let mut running = programs().command(&command(script, &mark("descriptors"))).unwrap();
    let (out, _, _) = finish(&mut running).await;
    // The fourth is the folder that `ls` itself reads.
    assert_eq!(out, "0\n1\n2\n3\nleader\n");
}

#[tokio::test]
async fn nothing_of_one_child_is_held_by_another() {
    let mut first =
        programs().command(&Command { input: Input::Open, ..command("cat; echo end", &mark("first")) }).unwrap();
    let mut second = programs().command(&Command { input: Input::Open, ..command("cat", &mark("second")) }).unwrap();
    // Its input ends only if nobody else has the other end.
    first.input = None;
    assert_eq!(finish(&mut first).await.0, "end\n");
    second.input = None;
    assert_eq!(finish(&mut second).await.2, Ended { exit: Exit::Code(0), left: 0 });
}

#[tokio::test]
async fn all_ways_to_start_are_supervised() {
    let gone = async |name: &str, work: &dyn Fn(Launch) -> futures_util::future::BoxFuture<'static, ()>| {
        let mark = mark(name);
        work(shell("setsid sh -c 'sleep 1000 & sleep 1001 & exit' <&- >&- 2>&-; echo out", &mark)).await;
        nobody_left(&mark).await;
    };
    gone("run", &|launch| {
        Box::pin(async move {
            assert_eq!(programs().run(&launch, NEVER).await.unwrap().stdout, "out\n");
        })
    })
    .await;
    gone("filter", &|launch| {
        Box::pin(async move {
            assert_eq!(programs().filter(&launch, "in", 100, NEVER).await.unwrap().stdout, "out\n");
        })
    })
    .await;
    gone("start", &|launch| {
        Box::pin(async move {
            let mut started = programs().start(&launch).unwrap();
            let mut text = String::new();
            started.reader.read_to_string(&mut text).await.unwrap();
            assert_eq!((text.as_str(), started.child.unwrap().exited().await), ("out\n", Exit::Code(0)));
        })
    })
    .await;
    let mark = mark("late");
    let launch = shell("setsid sleep 1000 & trap '' TERM; while :; do sleep 1; done", &mark);
    let error = programs().run(&launch, Duration::from_millis(50)).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    nobody_left(&mark).await;
}

#[tokio::test]
async fn a_command_has_the_environment_of_a_command() {
    let mut command =
        command("echo \"$PAGER,$EXTRA,$(git config --get core.fsmonitor),$CARGO_PKG_NAME\"", &mark("env"));
    command.launch.env.insert("EXTRA".into(), "yes".into());
    let mut running = programs().command(&command).unwrap();
    assert_eq!(finish(&mut running).await.0, "cat,yes,false,ropewalk\n");
    let printed = programs().run(&command.launch, NEVER).await.unwrap();
    assert_eq!(printed.stdout, ",yes,,\n", "what we run ourselves has the short list");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_at_once_on_few_threads() {
    let tasks: Vec<_> = (0..20)
        .map(|number| {
            tokio::spawn(async move {
                let mut running = programs().command(&command(&format!("echo {number}"), &mark("many"))).unwrap();
                assert_eq!(finish(&mut running).await.0, format!("{number}\n"));
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
}
