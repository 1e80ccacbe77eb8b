//! The user's hooks round calls, with programs that are played; and, for their end, with real ones.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::kit::{Desk, text};
use crate::config::Settings;
use crate::dispatch::Status;
use crate::editor::News;
use crate::ports::{Clock, MemoryDisk, SystemClock};
use crate::process::{self, Exit, Launch, PlayedPrograms, Printed, SystemPrograms};
use crate::tool::{Content, ErrorKind};

/// What the hook was asked, in order.
type Asked = Arc<Mutex<Vec<Value>>>;

/// A desk with one hook `/opt/guard` before or after calls that gives this answer; `None`: it never ends.
#[expect(clippy::needless_pass_by_value, reason = "JSON is made where it is passed")]
fn desk(hooks: Value, answer: impl Fn(&Value) -> Option<(i32, String)> + Send + Sync + 'static) -> (Desk, Asked) {
    let asked = Asked::default();
    let log = Arc::clone(&asked);
    let (programs, _) = PlayedPrograms::new("/bin");
    let programs = programs.answering("/opt/guard", move |_, input| {
        let input: Value = serde_json::from_str(input).unwrap();
        let answer = answer(&input);
        log.lock().unwrap().push(input);
        answer.map(|(code, stdout)| Printed { exit: Exit::Code(code), stdout, stderr: "secret".into() })
    });
    let desk = Desk::new(MemoryDisk::new().with_file("/w/a.txt", "one\n").with_file("/out/b.txt", "far\n"));
    desk.dispatch.set_programs(Arc::new(programs));
    let (settings, remarks) = Settings::parse(&json!({ "hooks": hooks }));
    assert_eq!(remarks, []);
    desk.workspace.set_settings(Arc::new(settings));
    (desk, asked)
}

#[expect(clippy::needless_pass_by_value, reason = "JSON is made where it is passed")]
fn before(more: Value) -> Value {
    let mut hook = json!({ "tool": "*", "command": ["/opt/guard", "--strict"], "timeoutMs": 500 });
    for (key, value) in more.as_object().unwrap() {
        hook[key] = value.clone();
    }
    json!({ "before": [hook] })
}

fn says(answer: Value) -> impl Fn(&Value) -> Option<(i32, String)> + Send + Sync + 'static {
    move |_| Some((0, answer.to_string()))
}

fn read() -> Value {
    json!({ "file_path": "a.txt" })
}

#[tokio::test]
async fn a_hook_blocks_and_says_why() {
    let (desk, asked) =
        desk(before(json!({ "tool": "re*" })), says(json!({ "block": "not today", "context": "ask Ann" })));
    let result = desk.call("read", read()).await;
    assert_eq!((result.status, result.error.as_ref().unwrap().kind), (Status::Denied, ErrorKind::Denied));
    assert_eq!(text(&result), "The hook `guard` blocked this call: not today\n[hook guard] ask Ann");
    let expected =
        json!({ "sessionId": "default", "callId": "c1", "name": "read", "arguments": { "file_path": "a.txt" } });
    assert_eq!(*asked.lock().unwrap(), [expected]);
    // It is not asked about other tools, nor about what never gets to run.
    assert_eq!(desk.call("write", json!({ "file_path": "n.txt", "content": "" })).await.status, Status::Ok);
    desk.call("read", json!({ "nothing": 1 })).await;
    assert_eq!(asked.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn rewritten_arguments_are_read_and_judged_anew() {
    let (desk, _) = desk(before(json!({ "name": "router" })), |input| {
        let to = if input["name"] == "read" { "/out/b.txt" } else { "n.txt" };
        let mut arguments = input["arguments"].clone();
        arguments["path"] = json!(to);
        arguments.as_object_mut().unwrap().remove("file_path");
        Some((0, json!({ "arguments": arguments, "context": "rerouted" }).to_string()))
    });
    // Where it goes now needs consent, and shows where.
    desk.answer(|params| {
        assert_eq!(params.calls[0].arguments["file_path"], "/out/b.txt");
        super::kit::decided(params, crate::editor::Consent::Once)
    });
    let result = desk.call("read", read()).await;
    assert_eq!((result.status, desk.questions()), (Status::Ok, 1), "{}", text(&result));
    assert!(text(&result).contains("far") && text(&result).ends_with("[hook router] rerouted"), "{}", text(&result));
    let result = desk.call("write", json!({ "file_path": "m.txt", "content": "x" })).await;
    assert_eq!(desk.disk.bytes("/w/n.txt").as_deref(), Some(&b"x"[..]), "{}", text(&result));
    assert_eq!(desk.disk.bytes("/w/m.txt"), None);
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_fails_refuses_unless_it_may_not() {
    let answers: [(&str, Option<(i32, String)>); 6] = [
        ("exit code 2", Some((2, "{}".into()))),
        ("cannot be read", Some((0, "fine by me".into()))),
        ("cannot be read", Some((0, json!({ "blok": "no" }).to_string()))),
        ("cannot be read", Some((0, json!({ "arguments": "raw" }).to_string()))),
        ("do not fit", Some((0, json!({ "arguments": { "colour": 1 } }).to_string()))),
        ("longer than 500 ms", None),
    ];
    for (words, answer) in answers {
        for (setting, status) in [("refuse", Status::Error), ("allow", Status::Ok)] {
            let answer = answer.clone();
            let (desk, _) = desk(before(json!({ "onFailure": setting })), move |_| answer.clone());
            let result = desk.call("read", read()).await;
            assert_eq!(result.status, status, "{words} {setting} {}", text(&result));
            let told = text(&result);
            assert_eq!(told.contains(words), status == Status::Error, "{told}");
            assert!(!told.contains("secret"), "{told}");
            let logged = desk
                .editor
                .told
                .lock()
                .unwrap()
                .iter()
                .any(|news| matches!(news, News::Log(_, line) if line.contains(words)));
            assert!(logged, "{words}");
        }
    }
    // What a hook says in error is bounded like what it says on purpose.
    let (desk, _) = desk(before(json!({})), says(json!({ "x".repeat(60_000): 1 })));
    let told = text(&desk.call("read", read()).await);
    assert!(told.contains("cannot be read") && told.len() < 5_000, "{}", told.len());
    let (desk, _) = self::desk(json!({ "before": [{ "command": ["no-such-program"] }] }), says(json!({})));
    assert!(text(&desk.call("read", read()).await).contains("no program"));
}

#[tokio::test]
async fn a_hook_after_a_call_only_adds_words() {
    let hooks = json!({ "after": [
        { "command": ["/opt/guard"], "name": "first" },
        { "command": ["/opt/guard"], "tool": "write" },
    ] });
    let (desk, asked) = desk(hooks, says(json!({ "context": "well done" })));
    let result = desk.call("read", read()).await;
    assert_eq!(result.content.last(), Some(&Content::text("[hook first] well done")));
    assert!(asked.lock().unwrap()[0]["result"]["content"][0]["text"].as_str().unwrap().contains("one"));
    let (desk, _) =
        self::desk(json!({ "after": [{ "command": ["/opt/guard"] }] }), says(json!({ "block": "too late" })));
    let result = desk.call("read", read()).await;
    assert_eq!((result.status, result.content.len()), (Status::Ok, 1), "{}", text(&result));
}

#[tokio::test(start_paused = true)]
async fn cancelling_ends_the_hook() {
    let notice = Arc::new(Notify::new());
    let came = Arc::clone(&notice);
    let (desk, _) = desk(before(json!({ "timeoutMs": 600_000 })), move |_| {
        came.notify_one();
        None
    });
    let desk = Arc::new(desk);
    let other = Arc::clone(&desk);
    let call = tokio::spawn(async move { other.call("read", read()).await });
    notice.notified().await;
    assert_eq!(desk.dispatch.cancel(None, None, None), 1);
    let result = call.await.unwrap();
    assert_eq!(result.status, Status::Cancelled);
}

#[tokio::test]
async fn broken_hooks_block_what_may_change_something() {
    let desk = Desk::new(MemoryDisk::new().with_file("/w/a.txt", "one\n"));
    let (settings, _) = Settings::parse(&json!({ "hooks": { "before": [{ "tool": "write" }] } }));
    desk.workspace.set_settings(Arc::new(settings));
    assert_eq!(desk.call("read", read()).await.status, Status::Ok);
    let result = desk.call("write", json!({ "file_path": "n.txt", "content": "" })).await;
    assert_eq!(result.error.unwrap().kind, ErrorKind::Unavailable);
    assert_eq!(desk.disk.bytes("/w/n.txt"), None);
}

/// The real clock, but the time of a hook is up when the test says so.
#[derive(Default)]
struct Stopped(Arc<Notify>);

/// How long the hooks below may take by their settings; nobody waits for that.
const HOOK: Duration = Duration::from_secs(599);

impl Clock for Stopped {
    fn now(&self) -> Instant {
        SystemClock.now()
    }

    fn wall(&self) -> SystemTime {
        SystemClock.wall()
    }

    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        if duration != HOOK {
            return SystemClock.sleep(duration);
        }
        let up = Arc::clone(&self.0);
        Box::pin(async move { up.notified().await })
    }
}

async fn pipe(folder: &Path) -> PathBuf {
    let path = folder.join("alive");
    let launch = Launch {
        program: process::find("mkfifo", &[]).unwrap(),
        args: vec![path.to_str().unwrap().to_owned()],
        ..Launch::default()
    };
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let made = process::run(&launch, Duration::from_mins(1), &clock).await.unwrap();
    assert_eq!(made.exit, Exit::Code(0), "{}", made.stderr);
    path
}

/// What becomes of a hook that runs.
#[derive(Debug, Clone, Copy)]
enum Fate {
    Cancelled,
    TooLate,
    Dies,
}

#[tokio::test]
async fn no_process_of_a_hook_outlives_its_call() {
    // The hook and all that it starts hold the pipe: its end means that nobody is left.
    let hang = "sleep 1000 & echo up >&9; wait";
    let flood = "echo up >&9; sleep 1000 & while :; do echo flood; echo flood >&2; done";
    let deaf = "trap '' TERM; echo up >&9; while :; do sleep 1; done";
    let die = "sleep 1000 & echo up >&9; kill -9 $$";
    for (when, script, fate, status, words) in [
        ("before", hang, Fate::Cancelled, Status::Cancelled, "cancelled while a hook looked at it"),
        ("before", deaf, Fate::Cancelled, Status::Cancelled, "cancelled while a hook looked at it"),
        ("before", flood, Fate::Cancelled, Status::Cancelled, "cancelled while a hook looked at it"),
        ("before", hang, Fate::TooLate, Status::Error, "longer than 599000 ms"),
        ("before", flood, Fate::TooLate, Status::Error, "longer than 599000 ms"),
        ("before", die, Fate::Dies, Status::Error, "was ended by signal 9"),
        // The call has done what it does: only what the hook would have said of it is missing.
        ("after", hang, Fate::Cancelled, Status::Ok, "one"),
        ("after", flood, Fate::TooLate, Status::Ok, "one"),
        ("after", die, Fate::Dies, Status::Ok, "one"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let pipe = pipe(folder.path()).await;
        let command = json!(["sh", "-c", format!("exec 9>\"$0\"; {script}"), pipe]);
        let millis = u64::try_from(HOOK.as_millis()).unwrap();
        let hook = json!({ "command": command, "timeoutMs": millis });
        let (desk, _) = desk(json!({ when: [hook] }), says(json!({})));
        let up = Arc::new(Notify::new());
        desk.dispatch.set_programs(Arc::new(SystemPrograms::new(Arc::new(Stopped(Arc::clone(&up))))));
        let desk = Arc::new(desk);
        let other = Arc::clone(&desk);
        let call = tokio::spawn(async move { other.call("read", read()).await });
        let opened = tokio::task::spawn_blocking(move || {
            let mut pipe = BufReader::new(File::open(pipe).unwrap());
            let mut line = String::new();
            pipe.read_line(&mut line).unwrap();
            (pipe, line)
        });
        let (mut pipe, line) = opened.await.unwrap();
        assert_eq!(line, "up\n", "{when} {fate:?} {script}");
        match fate {
            Fate::Cancelled => assert_eq!(desk.dispatch.cancel(None, None, None), 1),
            Fate::TooLate => up.notify_one(),
            Fate::Dies => {}
        }
        let result = call.await.unwrap();
        assert_eq!(result.status, status, "{when} {fate:?} {script}: {}", text(&result));
        assert!(text(&result).contains(words), "{when} {fate:?} {script}: {}", text(&result));
        let nobody_left = tokio::task::spawn_blocking(move || pipe.read_to_end(&mut Vec::new()).unwrap());
        nobody_left.await.unwrap();
    }
}
