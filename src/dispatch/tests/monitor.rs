//! Monitors in the life of calls, with commands that are played: what is started, asked about, told and stopped.

use std::path::Path;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::kit::{Desk, decided, text};
use crate::config::Settings;
use crate::editor::Consent;
use crate::ports::MemoryDisk;
use crate::process::{Command, Ended, Exit, Input, Piece, Played, PlayedPrograms, Stream};
use crate::tool::ErrorKind;

type Started = Arc<Mutex<Vec<Command>>>;

/// A desk with a shell whose commands print this and then end so; `None`: only when they are stopped.
fn desk(shell: &str, output: &[(Stream, &str)], ended: Option<Ended>) -> (Desk, Started) {
    let piece = |(stream, text): &(Stream, &str)| Piece { stream: *stream, bytes: text.as_bytes().to_vec() };
    let output: Vec<Piece> = output.iter().map(piece).collect();
    let started = Started::default();
    let log = Arc::clone(&started);
    let (programs, _) = PlayedPrograms::new("/bin");
    let programs = programs.playing(shell, move |command| {
        log.lock().unwrap().push(command.clone());
        Played { output: output.clone(), ended }
    });
    let desk = Desk::new(MemoryDisk::new().with_file("/w/a.txt", "one\n").with_file("/w/sub/b.txt", "two\n"));
    desk.dispatch.trust.set(Path::new("/w"), true);
    desk.dispatch.set_programs(Arc::new(programs));
    (desk, started)
}

fn allowed(desk: &Desk) {
    let (settings, remarks) = Settings::parse(&json!({ "permissions": { "allow": ["monitor"] } }));
    assert_eq!(remarks, []);
    desk.workspace.set_settings(Arc::new(settings));
}

async fn call(desk: &Desk, arguments: Value) -> String {
    let result = desk.call("monitor", arguments).await;
    assert_eq!(result.error, None, "{}", text(&result));
    text(&result)
}

#[tokio::test(start_paused = true)]
async fn a_command_is_started_followed_and_its_end_told_once() {
    let output = [(Stream::Out, "rea"), (Stream::Err, "\u{1b}[33mwarning\u{1b}[0m\n"), (Stream::Out, "dy\n")];
    let (desk, started) = desk("/bin/sh", &output, Some(Ended { exit: Exit::Code(3), left: 1 }));
    allowed(&desk);
    let told = call(&desk, json!({ "command": "npm run dev", "workdir": "sub" })).await;
    let words = "Started monitor j1 (npm run dev). It is stopped after 300000 ms. What it prints comes with your next results.\n\
         There is no bash here; sh runs it.";
    assert_eq!(told, words);
    let command = started.lock().unwrap().pop().unwrap();
    assert_eq!((command.launch.program.to_str(), command.input), (Some("/bin/sh"), Input::Open));
    assert_eq!(
        (command.launch.args, command.launch.dir),
        (vec!["-c".into(), "--".into(), "npm run dev".into()], Some("/w/sub".into()))
    );
    assert_eq!((command.keep, command.confine), (vec![], None));
    desk.dispatch.jobs.over("default", "j1", std::time::Duration::from_secs(9)).await.unwrap();
    let read = text(&desk.call("read", json!({ "file_path": "a.txt" })).await);
    let words = "Since then monitor j1 (npm run dev) has put out 2 lines:\n! warning\n| ready\n\
                 Since then: job j1 (npm run dev) failed: exit code 3; a process that it had left running was ended too.";
    assert!(read.ends_with(words), "{read}");
    let list = call(&desk, json!({ "action": "list" })).await;
    let how = "exit code 3; a process that it had left running was ended too";
    assert_eq!(list, format!("j1 (npm run dev) failed: {how}; 2 lines, 0 unread"));
    let again = desk.call("monitor", json!({ "action": "stop", "id": "j1" })).await;
    assert!(text(&again).starts_with("Monitor j1 (npm run dev) failed: exit code 3"), "{}", text(&again));
}

#[tokio::test(start_paused = true)]
async fn time_runs_out_and_stops_it_but_not_without_a_timeout() {
    let (desk, _) = desk("/bin/bash", &[], None);
    allowed(&desk);
    let asked = json!({ "command": "sleep", "timeout": 9_000_000 });
    let told = call(&desk, asked).await;
    assert!(
        told.ends_with("A timeout of 9000000 ms was asked for; the longest is 1800000, and it has that."),
        "{told}"
    );
    let told = call(&desk, json!({ "command": "serve", "timeout": 0 })).await;
    assert!(told.contains("It runs until it is stopped."), "{told}");
    let begun = tokio::time::Instant::now();
    tokio::time::sleep(std::time::Duration::from_hours(10)).await;
    let list = call(&desk, json!({ "action": "list" })).await;
    let words = "j1 (sleep) failed: its timeout of 1800000 ms was over, and it was stopped (by signal 15); 0 lines, 0 unread\n\
                 j2 (serve) runs; 0 lines, 0 unread";
    assert!(list.starts_with(words), "{list}");
    assert!(begun.elapsed() >= std::time::Duration::from_hours(10));
    let stopped = call(&desk, json!({ "action": "stop", "id": "j2" })).await;
    assert_eq!(stopped, "Monitor j2 (serve) was stopped: by signal 15. It has put out no line yet.\n(next: since 0)");
    // The stop told it.
    let list = call(&desk, json!({ "action": "list" })).await;
    assert!(!list.contains("Since then"), "{list}");
}

#[tokio::test(start_paused = true)]
async fn a_person_is_asked_about_commands_and_about_nothing_else() {
    let (desk, started) = desk("/bin/bash", &[(Stream::Out, "one\n")], None);
    let denied = desk.call("monitor", json!({ "command": "make watch" })).await;
    assert_eq!((denied.error.unwrap().kind, started.lock().unwrap().len()), (ErrorKind::Denied, 0));
    desk.answer(|params| decided(params, Consent::Session));
    call(&desk, json!({ "command": "make serve" })).await;
    assert_eq!(desk.questions(), 2);
    for action in ["read", "list"] {
        call(&desk, json!({ "action": action, "id": "j1" })).await;
    }
    assert_eq!(desk.questions(), 2);
    // Consent to what begins so covers another start; a text for a command is asked about whatever it says.
    call(&desk, json!({ "command": "make serve" })).await;
    assert_eq!(desk.questions(), 2);
    let denied = desk.call("monitor", json!({ "action": "write", "id": "j1", "text": "make serve" })).await;
    assert_eq!((denied.error.unwrap().kind, desk.questions()), (ErrorKind::Denied, 3));
    call(&desk, json!({ "action": "stop", "id": "j1" })).await;
    assert_eq!(desk.questions(), 3);
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_is_said() {
    let (desk, started) = desk("/bin/bash", &[], Some(Ended { exit: Exit::Code(0), left: 0 }));
    allowed(&desk);
    for (arguments, kind, words) in [
        (json!({ "command": "x", "workdir": "none" }), ErrorKind::NotFound, "`workdir` none does not exist"),
        (json!({ "command": "x", "workdir": "a.txt" }), ErrorKind::InvalidArguments, "`workdir` a.txt is a file"),
        (json!({ "action": "read", "id": "j7" }), ErrorKind::NotFound, "There is no monitor \"j7\"; there are none"),
        (json!({ "action": "stop", "id": "j7" }), ErrorKind::NotFound, "There is no monitor \"j7\""),
        (json!({ "action": "write", "id": "j7", "text": "x" }), ErrorKind::NotFound, "There is no monitor \"j7\""),
    ] {
        let result = desk.call("monitor", arguments.clone()).await;
        assert_eq!(result.error.as_ref().map(|error| error.kind), Some(kind), "{arguments}");
        assert!(text(&result).starts_with(words), "{arguments} {}", text(&result));
    }
    assert_eq!(started.lock().unwrap().len(), 0);
    call(&desk, json!({ "command": "x" })).await;
    desk.dispatch.jobs.over("default", "j1", std::time::Duration::from_secs(9)).await.unwrap();
    let late = desk.call("monitor", json!({ "action": "write", "id": "j1", "text": "x" })).await;
    let words =
        "Monitor j1 (x) ended: exit code 0; nothing can be written to it any more. Start it again if you need it.";
    assert!(text(&late).starts_with(words), "{}", text(&late));
    let (none, _) = PlayedPrograms::new("/bin");
    desk.dispatch.set_programs(Arc::new(none));
    let result = desk.call("monitor", json!({ "command": "x" })).await;
    assert!(text(&result).starts_with("There is neither bash nor sh on the PATH"), "{}", text(&result));
}

#[tokio::test]
async fn it_is_held_to_the_settings_of_commands() {
    let (desk, started) = desk("/bin/bash", &[], Some(Ended { exit: Exit::Code(0), left: 0 }));
    let bash = json!({ "keepEnvironment": ["MY_TOKEN"], "sandbox": true });
    let (settings, remarks) = Settings::parse(&json!({ "permissions": { "allow": ["monitor"] }, "bash": bash }));
    assert_eq!(remarks, []);
    desk.workspace.set_settings(Arc::new(settings));
    let nul = desk.call("monitor", json!({ "command": "a\0b" })).await;
    assert_eq!(nul.error.unwrap().kind, ErrorKind::InvalidArguments);
    call(&desk, json!({ "command": "-x" })).await;
    let command = started.lock().unwrap().pop().unwrap();
    assert_eq!(command.launch.args, ["--noprofile", "--norc", "-c", "--", "-x"]);
    assert_eq!(command.keep, ["MY_TOKEN"]);
    assert_eq!(command.confine.unwrap().writable.first().map(std::path::PathBuf::as_path), Some(Path::new("/w")));
}
