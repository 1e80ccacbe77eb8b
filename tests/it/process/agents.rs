//! Agents that are commands, and the end of the sidecar that started them.

use super::supervised::{alive, mark, nobody_left, until};
use super::*;

/// An agent that leaves its group and does not hear, and one in the background that waits.
const AGENT: &str = "trap '' TERM HUP INT; printf '%s\\n' \"$ROPEWALK_SOCKET\" > joins; setsid sleep 1000 & \
                     setsid sh -c 'sleep 1001 & sleep 1002 & exit' & while :; do sleep 1003; done";

/// A sidecar whose session has an agent at work, which has been let in.
async fn with_agent(mark: &str, background: bool) -> (Binary, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_ropewalk"));
    for variable in ["XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"] {
        command.env(variable, &root);
    }
    let mut binary = Binary::of(&mut command);
    let (name, value) = mark.split_once('=').unwrap();
    let agent = json!({ "command": ["sh", "-c", AGENT, "agent", "{prompt}"], "env": { name: value } });
    let options = json!({ "trusted": true, "diagnostics": { "ownServers": "off" }, "agents": { "script": agent } });
    let editor = binary.child.id();
    binary.hello_in(editor, options, Some(&format!("file://{}", root.display()))).await;
    let task = json!({ "agent_type": "script", "prompt": "Look.", "background": background });
    let call = json!({ "name": "agent", "arguments": task });
    if background {
        let result = binary.ask(1, "ropewalk/callTool", call).await;
        assert_eq!(result["result"]["status"], "ok", "{result}");
    } else {
        binary.send(&json!({ "jsonrpc": "2.0", "id": 1, "method": "ropewalk/callTool", "params": call })).await;
    }
    until("the agent and all that it starts", || {
        let lines: Vec<String> = alive(mark).into_iter().map(|(_, line)| line).collect();
        (1000..=1003).all(|number| lines.contains(&format!("sleep {number} ")))
    })
    .await;
    let joins = std::fs::read_to_string(root.join("joins")).unwrap();
    assert!(Path::new(joins.trim()).starts_with(&root), "it was let in: {joins}");
    (binary, folder)
}

#[tokio::test]
async fn no_agent_survives_a_killed_sidecar() {
    for (name, background) in [("agent", false), ("agent-behind", true)] {
        let mark = mark(name);
        let (mut binary, _folder) = with_agent(&mark, background).await;
        binary.child.kill().await.unwrap();
        nobody_left(&mark).await;
    }
}

#[tokio::test]
async fn no_agent_survives_a_sidecar_whose_editor_hangs_up() {
    let mark = mark("agent-left");
    let (mut binary, _folder) = with_agent(&mark, true).await;
    drop(binary.input.take());
    binary.child.wait().await.unwrap();
    // Those that do not hear are ended by what watches over them, which stays for as long as that takes.
    nobody_left(&mark).await;
}
