//! What commands show that talk to other machines.

use serde_json::json;

use super::bash::{EXITED, bash, desk, out};
use super::kit::params;
use crate::permissions::DecisionKind;

#[tokio::test]
async fn what_a_command_fetched_may_be_what_wants_a_memory() {
    let desk = desk(vec![out("x\n")], EXITED);
    let note = json!({ "action": "save", "type": "project", "name": "a", "description": "b", "content": "c" });
    let judged = async || desk.dispatch.preview(params("memory", note.clone())).await.approval;
    bash(&desk, json!({ "command": "ls" })).await;
    assert_eq!(judged().await.decision, DecisionKind::Allow);
    bash(&desk, json!({ "command": "curl https://example.org/" })).await;
    let (approval, source) = (judged().await, "a command that talks to other machines");
    assert!(approval.decision == DecisionKind::Ask && approval.reason.contains(source), "{}", approval.reason);
}
