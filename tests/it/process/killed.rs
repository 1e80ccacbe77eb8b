//! What becomes of children when those above them are killed, so that nobody can clean up.

use ropewalk::process::Programs as _;
use rustix::process::{Pid, Signal, kill_process};

use super::supervised::{alive, command, finish, line, mark, nobody_left, programs, until};
use super::*;

/// A sidecar, and whatever started it, with a language server that leaves its group and does not hear.
async fn with_server(command: &mut Command, mark: &str) -> (Binary, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let script = format!(
        "export {mark}; trap '' TERM HUP INT; setsid sleep 1000 & \
         setsid sh -c 'sleep 1001 & sleep 1002 & exit' & while :; do sleep 1003; done"
    );
    let options = json!({
        "trusted": true,
        "diagnostics": {
            "ownServers": "on",
            "servers": { "wedged": { "command": ["sh", "-c", script], "languages": ["wedged"] } },
        },
    });
    let mut binary = Binary::of(command.env("XDG_STATE_HOME", folder.path()).env("XDG_CONFIG_HOME", folder.path()));
    let root = folder.path().canonicalize().unwrap().display().to_string();
    let editor = binary.child.id();
    binary.hello_in(editor, options, Some(&format!("file://{root}"))).await;
    let document =
        json!({ "uri": format!("file://{root}/one.wedged"), "languageId": "wedged", "version": 1, "text": "one\n" });
    binary.notify("textDocument/didOpen", json!({ "textDocument": document })).await;
    let read = json!({ "name": "read", "arguments": { "file_path": "one.wedged" } });
    assert_eq!(binary.ask(1, "ropewalk/callTool", read).await["result"]["status"], "ok");
    until("the server and all that it starts", || {
        let lines: Vec<String> = alive(mark).into_iter().map(|(_, line)| line).collect();
        (1000..=1003).all(|number| lines.contains(&format!("sleep {number} ")))
    })
    .await;
    (binary, folder)
}

#[tokio::test]
async fn no_child_survives_a_killed_sidecar() {
    let mark = mark("sidecar");
    let (mut binary, _folder) = with_server(&mut Command::new(env!("CARGO_BIN_EXE_ropewalk")), &mark).await;
    binary.child.kill().await.unwrap();
    nobody_left(&mark).await;
}

#[tokio::test]
async fn no_child_survives_a_killed_editor() {
    let mark = mark("editor");
    let mut editor = Command::new("sh");
    // It is killed while the pipes of the sidecar stay open: we have them.
    editor.args(["-c", "\"$0\"; echo over", env!("CARGO_BIN_EXE_ropewalk")]);
    let (mut binary, _folder) = with_server(&mut editor, &mark).await;
    binary.child.kill().await.unwrap();
    nobody_left(&mark).await;
}

/// The parent of a process.
fn parent(pid: i32) -> i32 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    stat.rsplit_once(')').unwrap().1.split_ascii_whitespace().nth(1).unwrap().parse().unwrap()
}

fn kill(pid: i32) {
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
}

#[tokio::test]
async fn a_command_that_kills_its_supervisor_goes_with_it() {
    let mark = mark("supervisor");
    let script = "sleep 1000 & echo ready; read x; kill -KILL $PPID; while :; do sleep 1001; done";
    let input = ropewalk::process::Input::Open;
    let mut running = programs().command(&ropewalk::process::Command { input, ..command(script, &mark) }).unwrap();
    line(&mut running, "ready").await;
    running.input = None;
    let (_, _, ended) = finish(&mut running).await;
    assert_eq!(ended.exit, ropewalk::process::Exit::Unknown, "nobody saw how");
    nobody_left(&mark).await;
}

#[tokio::test]
async fn a_program_goes_though_sidecar_and_supervisor_are_killed_at_once() {
    let mark = mark("both");
    let (mut binary, _folder) = with_server(&mut Command::new(env!("CARGO_BIN_EXE_ropewalk")), &mark).await;
    let server = parent(alive(&mark).into_iter().find(|(_, line)| line == "sleep 1003 ").unwrap().0);
    let supervisor = parent(server);
    binary.child.start_kill().unwrap();
    kill(supervisor);
    binary.child.wait().await.unwrap();
    let line_of = format!("/proc/{server}/cmdline");
    until("the program itself gone", || std::fs::read(&line_of).map_or(true, |line| line.is_empty())).await;
    // What it had started is beyond everybody's reach then.
    for (pid, _) in alive(&mark) {
        kill(pid);
    }
}

#[tokio::test]
async fn a_supervisor_that_is_told_to_end_takes_everything_with_it() {
    let mark = mark("told");
    let mut running = programs().command(&command("setsid sleep 1000 & echo ready; wait", &mark)).unwrap();
    line(&mut running, "ready").await;
    let shell = alive(&mark).into_iter().find(|(_, line)| line.contains("ready")).unwrap().0;
    kill_process(Pid::from_raw(parent(shell)).unwrap(), Signal::TERM).unwrap();
    assert_eq!(finish(&mut running).await.2.exit, ropewalk::process::Exit::Signal(15));
    assert_eq!(alive(&mark), []);
}

#[tokio::test]
async fn a_person_who_calls_it_is_told() {
    let output = Command::new(env!("CARGO_BIN_EXE_ropewalk")).arg("supervise").stdin(Stdio::null()).output();
    let output = output.await.unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("is for Ropewalk itself"));
}
