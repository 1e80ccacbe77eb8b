//! Commands that kill or stop those above them: what they had started goes all the same, and the sidecar is as before.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use tokio::process::Command;

use super::desk::{Desk, told, until};

/// What is started before the supervisor is killed. Each writes its process id to the file `left` when it is ready.
const LEFT: &[(&str, &str)] = &[
    ("group", "sh -c 'echo $$ > left; exec sleep 1000' &"),
    ("session", "setsid sh -c 'echo $$ > left; exec sleep 1000' &"),
    ("double fork", "(setsid sh -c 'sleep 1000 & echo $! > left' &)"),
    ("no environment", "env -i setsid sh -c 'echo $$ > left; exec sleep 1000' &"),
    (
        "nothing of it",
        "(env -i setsid sh -c '(setsid sh -c \"echo \\$\\$ > left; exec sleep 1000\" &)' <&- >&- 2>&- &)",
    ),
    ("deaf", "env -i setsid sh -c 'trap \"\" TERM HUP INT; echo $$ > left; while :; do sleep 1; done' &"),
    ("stopped", "env -i setsid sh -c 'echo $$ > left; kill -STOP $$; sleep 1000' &"),
    ("tree", "setsid sh -c 'env -i setsid sleep 1000 & setsid sh -c \"sleep 1001 & wait\" & echo $$ > left; wait' &"),
];

const WHEN_READY: &str = "until [ -s left ]; do :; done;";

#[tokio::test]
async fn what_a_command_that_kills_its_supervisor_had_started_goes_too() {
    let mut desk = Desk::new("above", json!({})).await;
    for (name, start) in LEFT {
        let command = format!("{start} {WHEN_READY} kill -KILL $PPID; sleep 1000");
        let result = desk.bash(json!({ "command": command })).await;
        let (status, text) = told(&result);
        assert!(status == "error" && text.ends_with("it ended, and how is not known"), "{name}: {result}");
        let file = desk.root.join("left");
        let left = std::fs::read_to_string(&file).unwrap();
        assert!(!Path::new("/proc").join(left.trim()).exists(), "{name}: neither it nor a zombie of it");
        assert_eq!((desk.alive(), desk.children()), (vec![], vec![]), "{name}");
        std::fs::remove_file(&file).unwrap();
    }
    let result = desk.bash(json!({ "command": "echo still here" })).await;
    assert_eq!(told(&result), ("ok", "still here\nexit code 0"));
    desk.leave().await;
}

#[tokio::test]
async fn nothing_else_goes_with_it() {
    let mut desk = Desk::new("beside", json!({})).await;
    let other = desk.begin("other", "bash", json!({ "command": "echo ready; setsid -w cat fifo" })).await;
    desk.put_out("ready").await;
    for (name, start) in LEFT {
        let command = format!("{start} {WHEN_READY} rm left; kill -KILL $PPID");
        let result = desk.bash(json!({ "command": command })).await;
        assert!(told(&result).1.contains("it ended, and how is not known"), "{name}: {result}");
    }
    let result = desk.bash(json!({ "command": "echo through > fifo" })).await;
    assert_eq!(result["status"], "ok", "{result}");
    assert_eq!(told(&desk.result(other).await), ("ok", "ready\nthrough\nexit code 0"));
    desk.leave().await;
}

#[tokio::test]
async fn one_that_hands_itself_on_without_a_supervisor_is_caught() {
    let mut desk = Desk::new("hop", json!({})).await;
    // Without its folder it ends by itself, so that a test that fails leaves nothing.
    let script = desk.root.join("hop");
    std::fs::write(&script, "#!/bin/sh\ntrap '' TERM HUP\necho > left\nsetsid \"$0\" &\n").unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    for round in 0..5 {
        let command = format!("setsid {} & {WHEN_READY} kill -KILL $PPID", script.display());
        let result = desk.bash(json!({ "command": command })).await;
        assert!(told(&result).1.contains("it ended, and how is not known"), "{round}: {result}");
        assert_eq!((desk.alive(), desk.children()), (vec![], vec![]), "{round}");
        std::fs::remove_file(desk.root.join("left")).unwrap();
    }
    desk.leave().await;
}

#[tokio::test]
async fn one_that_stops_its_supervisor_again_and_again_is_ended() {
    let mut desk = Desk::new("again", json!({})).await;
    let command = "trap '' TERM HUP INT; echo ready; env -i setsid sleep 1000 & while :; do kill -STOP $PPID; done";
    let result = desk.bash(json!({ "command": command, "timeout": 400 })).await;
    assert!(told(&result).1.contains("timed out after 400 ms"), "{result}");
    until("nothing is left", || desk.alive().is_empty() && desk.children().is_empty()).await;
    // A job is told to stop, and waited for to its end.
    let id = desk.begin("pane", "monitor", json!({ "command": command })).await;
    assert_eq!(desk.result(id).await["status"], "ok");
    desk.job_put_out("pane", "j1", "ready").await;
    let stopped = desk.ask("ropewalk/stopJob", json!({ "sessionId": "pane", "id": "j1" })).await;
    assert_eq!(stopped["result"]["stopped"], true);
    until("nothing is left", || desk.alive().is_empty() && desk.children().is_empty()).await;
    desk.leave().await;
}

#[tokio::test]
async fn one_that_kills_the_sidecar_goes_too() {
    let mut desk = Desk::new("sidecar", json!({})).await;
    let command =
        "setsid sleep 1000 & read -r pid name state parent rest < /proc/$PPID/stat; kill -KILL $parent; sleep 1000";
    desk.begin("default", "bash", json!({ "command": command })).await;
    desk.approve().await;
    desk.binary.code().await;
    desk.nobody_left().await;
}

#[tokio::test]
async fn children_of_the_shell_that_became_the_sidecar_are_left_alone() {
    let mut desk = Desk::with("before", json!({}), |command| {
        let mut shell = Command::new("sh");
        shell.args(["-c", "sleep 1000 & exec \"$0\"", env!("CARGO_BIN_EXE_ropewalk")]);
        for (name, value) in command.as_std().get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        *command = shell;
    })
    .await;
    let result = desk.bash(json!({ "command": "sleep 1001 & kill -KILL $PPID; sleep 1000" })).await;
    assert!(told(&result).1.ends_with("it ended, and how is not known"), "{result}");
    until("it alone is left", || desk.alive().len() == 1).await;
    let (pid, line) = desk.alive().remove(0);
    assert_eq!(line, "sleep 1000 ");
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
    desk.nobody_left().await;
    desk.leave().await;
}
