//! Long outputs in files of the real binary: whole while it runs, gone with it, and gone with the next one when it was killed.

use std::path::Path;

use serde_json::json;

use super::desk::{Desk, told, until};

/// A desk whose binary leaves no state, and has this folder for temporary files.
async fn desk(name: &str, temporary: &Path) -> Desk {
    let change = |command: &mut tokio::process::Command| {
        command.arg("--ephemeral").env("TMPDIR", temporary);
    };
    Desk::with(name, json!({}), change).await
}

/// Puts out so many rows, about 56 bytes each, and looks at them.
async fn rows(desk: &mut Desk, rows: usize) {
    let row = "is as it should be, all of it, as far as it goes";
    let result = desk.bash(json!({ "command": format!("seq -f '%.0f {row}' {rows}"), "timeout": 600_000 })).await;
    let (status, text) = told(&result);
    assert!(status == "ok" && text.ends_with("exit code 0") && !text.contains("kept nowhere"), "{status}");
    let id = result["output"]["id"].clone();
    for offset in [1, rows / 2, rows - 1] {
        let asked = json!({ "callId": id, "offset": offset, "limit": 1 });
        let there = desk.ask("ropewalk/output", asked).await["result"].take();
        assert_eq!((&there["text"], &there["totalLines"]), (&json!(format!("{offset} {row}\n")), &json!(rows + 1)));
    }
    let asked = json!({ "callId": id, "pattern": format!("^{} ", rows / 3) });
    let found = desk.ask("ropewalk/output", asked).await;
    assert_eq!(found["result"]["text"], format!("{0}: {0} {row}\n", rows / 3));
}

/// The folders of outputs there.
fn folders(temporary: &Path) -> Vec<String> {
    let names = std::fs::read_dir(temporary).unwrap();
    let mut names: Vec<String> = names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| name.starts_with("ropewalk-outputs-"));
    names.sort();
    names
}

#[tokio::test]
async fn a_run_without_state_keeps_outputs_whole_and_leaves_nothing() {
    let temporary = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mut desk = desk("whole", temporary.path()).await;
    // More than 40 MiB.
    rows(&mut desk, 800_000).await;
    let there = folders(temporary.path());
    assert_eq!(there.len(), 1);
    let mode = std::os::unix::fs::MetadataExt::mode(&temporary.path().join(&there[0]).metadata().unwrap());
    assert_eq!(mode & 0o777, 0o700);
    desk.leave().await;
    assert_eq!(folders(temporary.path()), Vec::<String>::new());
}

#[tokio::test]
async fn what_a_killed_run_left_goes_and_what_a_living_one_has_stays() {
    let temporary = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let [mut killed, mut alive] = [desk("killed", temporary.path()).await, desk("alive", temporary.path()).await];
    rows(&mut alive, 60_000).await;
    let living = folders(temporary.path());
    rows(&mut killed, 60_000).await;
    assert_eq!(folders(temporary.path()).len(), 2);
    killed.binary.child.kill().await.unwrap();
    let next = desk("next", temporary.path()).await;
    until("the folder of the killed run gone", || folders(temporary.path()).len() < 2).await;
    assert_eq!(folders(temporary.path()), living);
    next.leave().await;
    assert_eq!(folders(temporary.path()), living);
    alive.leave().await;
    assert_eq!(folders(temporary.path()), Vec::<String>::new());
}
