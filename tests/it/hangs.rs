//! Commands that do not end by themselves, through the real binary: whatever is done about them, the answer is true and
//! nothing is left of them.

#![expect(
    clippy::disallowed_methods,
    reason = "the binary is started as an editor starts it, and looked at in the system's own account of processes"
)]

mod attacks;
mod desk;
mod kept;

use std::time::Duration;

use serde_json::{Value, json};

use desk::{Desk, data, told};

/// What does not end by itself. Each puts out `ready` when it is there; of what goes on and on, the beginning may be gone
/// by the time that somebody looks, so that all but its last letter is not waited for.
const HANGS: &[(&str, &str)] = &[
    ("cat", "echo ready; cat < fifo"),
    ("read", "echo ready; read x < fifo"),
    ("background", "sleep 1000 & echo ready; wait"),
    ("session", "echo ready; setsid -w sleep 1000"),
    ("yes", "echo ready; exec yes"),
    ("tail", "echo ready; exec tail -f /dev/null"),
    ("deaf", "trap '' TERM HUP INT; echo ready; while :; do sleep 1; done"),
    ("deaf session", "setsid sh -c 'trap \"\" TERM HUP INT; echo ready; while :; do sleep 1; done' & wait"),
    ("stopped", "sleep 1000 & kill -STOP $!; echo ready; kill -STOP $$"),
    ("double fork", "(setsid sh -c 'sleep 1000 & sleep 1001 & exit' &); sleep 1002 & echo ready; wait"),
    ("closed", "echo ready; exec <&- >&- 2>&-; sleep 1000"),
];

/// How a call is ended from outside.
#[derive(Debug, Clone, Copy)]
enum End {
    CancelRequest,
    Cancel,
    CloseSession,
}

#[tokio::test]
async fn a_timeout_is_told_with_what_there_was() {
    let mut desk = Desk::new("timeout", json!({})).await;
    for (name, command) in HANGS {
        let result = desk.bash(json!({ "command": command, "timeout": 400 })).await;
        let (status, text) = told(&result);
        assert!(status == "error" && text.starts_with("ready\n"), "{name}: {result}");
        assert!(text.contains("\ntimed out after 400 ms and was stopped ("), "{name}: {text}");
        assert_eq!(result["error"]["kind"], "timeout", "{name}");
        assert_eq!(desk.alive(), [], "{name}: when it is answered, all has ended");
    }
    desk.leave().await;
}

#[tokio::test]
async fn a_cancel_is_told_with_what_there_was() {
    let mut desk = Desk::new("cancel", json!({})).await;
    for (at, (name, command)) in HANGS.iter().enumerate() {
        for end in [End::CancelRequest, End::Cancel, End::CloseSession] {
            // Each command in one of the ways; the one that hears nothing in all.
            if *name != "deaf" && at % 3 != end as usize {
                continue;
            }
            let id = desk.begin("pane", "bash", json!({ "command": command })).await;
            desk.put_out("y").await;
            match end {
                End::CancelRequest => desk.notify("$/cancelRequest", json!({ "id": id })).await,
                End::Cancel => drop(desk.ask("ropewalk/cancel", json!({ "sessionId": "pane" })).await),
                End::CloseSession => drop(desk.ask("ropewalk/closeSession", json!({ "sessionId": "pane" })).await),
            }
            let result = desk.result(id).await;
            let (status, text) = told(&result);
            assert!(status == "cancelled" && text.starts_with("ready\n"), "{name} {end:?}: {result}");
            assert!(text.contains("cancelled and stopped ("), "{name} {end:?}: {text}");
            desk.nobody_left().await;
        }
    }
    desk.leave().await;
}

#[tokio::test]
async fn what_a_command_leaves_ends_with_it_and_is_told() {
    let mut desk = Desk::new("left", json!({})).await;
    for (name, command) in [
        ("background", "sleep 1000 & echo done"),
        ("holds the pipe", "(sleep 1000; echo late) & echo done"),
        ("session", "setsid sleep 1000 & until pgrep -f 'sleep 1000' -s 0 -v > /dev/null; do :; done; echo done"),
        ("grandchild", "(setsid sleep 1000 &) ; echo done"),
        ("deaf", "(trap '' TERM HUP INT; sleep 1000; sleep 1000) & echo done"),
        ("many", "for i in 1 2 3 4 5 6 7 8; do setsid sleep 1000 & done; echo done"),
    ] {
        let result = desk.bash(json!({ "command": command })).await;
        let (status, text) = told(&result);
        assert!(status == "ok" && text.starts_with("done\n") && text.ends_with("exit code 0"), "{name}: {result}");
        assert!(data(&result)["processesEnded"].as_u64() >= Some(1), "{name}: {result}");
        assert!(text.contains(" that it had left "), "{name}: {text}");
        assert_eq!(desk.alive(), [], "{name}");
    }
    desk.leave().await;
}

#[tokio::test]
async fn nothing_to_read_is_an_end() {
    let mut desk = Desk::new("input", json!({})).await;
    for command in ["cat", "read x", "cat; read x; tail -f --pid=$$ /dev/stdin < /dev/null & kill $!"] {
        let result = desk.bash(json!({ "command": command })).await;
        assert!(told(&result).1.contains("exit code "), "{command}: {result}");
    }
    desk.leave().await;
}

#[tokio::test]
async fn the_death_of_the_editor_or_of_the_sidecar_ends_them() {
    for kill in [false, true] {
        let mut desk = Desk::new(if kill { "killed" } else { "closed" }, json!({})).await;
        for (at, (_, command)) in HANGS.iter().enumerate() {
            // Each in a session of its own, so that none waits for another.
            let session = format!("s{at}");
            desk.begin(&session, "bash", json!({ "command": command })).await;
            desk.put_out("y").await;
        }
        let arguments = json!({ "command": HANGS[7].1, "background": true });
        let id = desk.begin("job", "bash", arguments).await;
        assert_eq!(desk.result(id).await["status"], "ok");
        let id = desk.begin("monitor", "monitor", json!({ "command": HANGS[9].1, "timeout": 0 })).await;
        assert_eq!(desk.result(id).await["status"], "ok");
        assert!(desk.alive().len() >= HANGS.len());
        if kill {
            desk.binary.child.kill().await.unwrap();
        } else {
            desk.binary.input = None;
            desk.binary.code().await;
        }
        desk.nobody_left().await;
    }
}

#[tokio::test]
async fn jobs_and_monitors_end_when_they_are_told_to() {
    let mut desk = Desk::new("jobs", json!({})).await;
    for (at, (name, command)) in HANGS.iter().enumerate() {
        let tool = if at % 2 == 0 { "monitor" } else { "bash" };
        let mut arguments = json!({ "command": command });
        if tool == "bash" {
            arguments["background"] = json!(true);
        }
        let id = desk.begin("pane", tool, arguments).await;
        assert_eq!(desk.result(id).await["status"], "ok", "{name}");
        let job = format!("j{}", at + 1);
        desk.job_put_out("pane", &job, "y").await;
        let stopped = desk.ask("ropewalk/stopJob", json!({ "sessionId": "pane", "id": job })).await;
        assert_eq!(stopped["result"]["stopped"], true, "{name}");
        desk.nobody_left().await;
    }
    // What puts out without end is bounded, and ends too.
    for tool in ["bash", "monitor"] {
        let id = desk.begin("endless", tool, json!({ "command": "exec yes", "background": true })).await;
        let _ = desk.result(id).await;
    }
    let most = desk.most_memory();
    assert!(most < 250 << 20, "{most}");
    drop(desk.ask("ropewalk/closeSession", json!({ "sessionId": "endless" })).await);
    desk.nobody_left().await;
    desk.leave().await;
}

#[tokio::test]
async fn much_output_is_bounded() {
    // A debug build takes its time.
    let much = if cfg!(debug_assertions) { 1 << 27 } else { 1 << 30 };
    let mut desk = Desk::new("much", json!({})).await;
    let before = desk.most_memory();
    let line = "0123456789".repeat(7);
    for command in
        [format!("head -c {much} /dev/zero | tr '\\0' 'x'; exit 3"), format!("yes {line} | head -c {much}; exit 3")]
    {
        let result = desk.bash(json!({ "command": command, "timeout": 600_000 })).await;
        let (status, text) = told(&result);
        assert!(status == "error" && text.ends_with("exit code 3") && text.len() < 40_000, "{command}");
        assert_eq!(data(&result)["stdoutBytes"], much, "{command}");
        let grown = desk.most_memory().saturating_sub(before);
        assert!(grown < 96 << 20, "{command}: {grown}");
    }
    desk.leave().await;
}

#[tokio::test]
async fn two_hundred_starts_leave_nothing_open() {
    let mut desk = Desk::new("cycles", json!({})).await;
    drop(desk.bash(json!({ "command": "true" })).await);
    let before = desk.descriptors();
    for round in 0..200 {
        let arguments = match round % 4 {
            0 => json!({ "command": "sleep 1000", "timeout": 1 }),
            1 => json!({ "command": "sleep 1000 & echo x" }),
            2 => json!({ "command": "setsid sleep 1000 & exit 1", "stdin": "x" }),
            _ => json!({ "command": "true", "background": true }),
        };
        drop(desk.bash(arguments).await);
    }
    desk.nobody_left().await;
    desk::until("nothing more is open, and no zombie is there", || {
        desk.descriptors() <= before && desk.children().is_empty()
    })
    .await;
    desk.leave().await;
}

/// Only so that a test that fails does so.
const NEVER: Duration = Duration::from_mins(2);

/// The parameters of a call.
fn call(session: &str, name: &str, arguments: Value) -> Value {
    json!({ "sessionId": session, "name": name, "arguments": arguments })
}
