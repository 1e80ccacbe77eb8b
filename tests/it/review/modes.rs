//! The right to run a file: patches give and take it, with all else of their set, and it is undone with it.

use std::io;
use std::path::Path;

use ropewalk::ports::{Disk as _, Operation};
use serde_json::json;

use super::{Bench, TEXT, URI, outcomes, told};
use crate::editor::Manner;

/// The permission bits of files in `/w`; 0 where there is none.
fn modes<const N: usize>(bench: &Bench, names: [&str; N]) -> [u32; N] {
    names.map(|name| bench.disk.metadata(&Path::new("/w").join(name)).map_or(0, |found| found.mode))
}

async fn git(bench: &mut Bench, call: &str, patch: &str) -> serde_json::Value {
    let id = bench.call("s", call, "apply_patch", json!({ "patch": patch }));
    bench.editor.result(id).await
}

const MADE: &str = "diff --git a/run.sh b/run.sh\nnew file mode 100755\n--- /dev/null\n+++ b/run.sh\n@@ -0,0 +1 @@\n\
                    +echo\n";

fn only(name: &str, old: u32, new: u32) -> String {
    format!("diff --git a/{name} b/{name}\nold mode {old}\nnew mode {new}\n")
}

#[tokio::test(start_paused = true)]
async fn a_new_file_can_be_run_and_its_mode_is_changed_and_undone() {
    let mut bench = Bench::new(json!({})).await;
    let result = git(&mut bench, "c1", MADE).await;
    assert!(told(&result).starts_with("Created run.sh (1 line). It can be run now (mode 100755)."), "{result}");
    assert_eq!(modes(&bench, ["run.sh"]), [0o755]);
    // Nothing but the mode.
    let result = git(&mut bench, "c2", &only("run.sh", 100_755, 100_644)).await;
    assert!(told(&result).starts_with("Changed the mode of run.sh. It cannot be run any more"), "{result}");
    assert!(told(&result).contains("old mode 100755 of run.sh\nnew mode 100644"), "{result}");
    assert_eq!(modes(&bench, ["run.sh"]), [0o644]);
    assert_eq!(bench.changes(json!({ "callId": "c2" })).await, [r#"1.2 mode run.sh:1 """#]);
    let result = bench.undo_on_disk(json!({ "callId": "c2" })).await;
    assert_eq!((outcomes(&result), modes(&bench, ["run.sh"])), (vec!["undone"], [0o755]), "{result}");
    let result = bench.undo_on_disk(json!({ "undoId": "u1" })).await;
    assert_eq!((outcomes(&result), modes(&bench, ["run.sh"])), (vec!["restored"], [0o644]), "{result}");
    let result = bench.undo_on_disk(json!({ "callId": "c2" })).await;
    assert_eq!((outcomes(&result), modes(&bench, ["run.sh"])), (vec!["undone"], [0o755]), "{result}");
    // With the file goes its mode, and comes back with it.
    let result = bench.undo_on_disk(json!({ "callId": "c1" })).await;
    assert_eq!((outcomes(&result), modes(&bench, ["run.sh"])), (vec!["undone"], [0]), "{result}");
    let result = bench.undo_on_disk(json!({ "undoId": "u3" })).await;
    assert_eq!((outcomes(&result), modes(&bench, ["run.sh"])), (vec!["restored"], [0o755]), "{result}");
    // What is so already is told to be.
    let result = git(&mut bench, "c3", &only("run.sh", 100_644, 100_755)).await;
    assert!(told(&result).contains("already so"), "{result}");
    assert!(told(&result).contains("undid the mode of run.sh (100644)"), "{result}");
    bench.leave().await;
}

#[tokio::test(start_paused = true)]
async fn a_deleted_file_that_could_be_run_comes_back_as_one() {
    let mut bench = Bench::new(json!({})).await;
    git(&mut bench, "c1", MADE).await;
    bench.editor.ask("ropewalk/keep", json!({ "callId": "c1" })).await;
    bench.deletes("c2", "run.sh").await;
    assert_eq!(modes(&bench, ["run.sh"]), [0]);
    let result = bench.undo_on_disk(json!({ "callId": "c2" })).await;
    assert_eq!((outcomes(&result), modes(&bench, ["run.sh"])), (vec!["undone"], [0o755]), "{result}");
    bench.leave().await;
}

#[tokio::test(start_paused = true)]
async fn modes_go_with_their_set_open_documents_and_moves_included() {
    let mut bench = Bench::new(json!({})).await;
    bench.editor.open(URI, TEXT);
    bench.disk.put("/w/from.sh", "from\n");
    bench.disk.put("/w/last.txt", "last\n");
    let patch = format!(
        "diff --git a/notes.txt b/notes.txt\nold mode 100644\nnew mode 100755\n--- a/notes.txt\n+++ b/notes.txt\n@@\n-two\n+2\n\
         diff --git a/from.sh b/to.sh\nold mode 100644\nnew mode 100755\nrename from from.sh\nrename to to.sh\n{MADE}\
         diff --git a/last.txt b/last.txt\n--- a/last.txt\n+++ b/last.txt\n@@\n-last\n+LAST\n"
    );
    let names = ["notes.txt", "from.sh", "to.sh", "run.sh"];
    // One of them cannot be set: nothing is.
    bench.disk.fail(Operation::SetMode, "/w/run.sh", io::ErrorKind::PermissionDenied);
    let id = bench.call("s", "c1", "apply_patch", json!({ "patch": patch }));
    bench.editor.serve_edit(Manner::Apply).await;
    bench.editor.serve_edit(Manner::Apply).await;
    let result = bench.editor.result(id).await;
    assert!(told(&result).contains("run.sh could not be given another mode"), "{result}");
    assert!(told(&result).contains("nothing was changed"), "{result}");
    assert_eq!((modes(&bench, names), bench.buffer()), ([0o644, 0o644, 0, 0], TEXT));
    bench.disk.mend(Operation::SetMode, "/w/run.sh");
    let id = bench.call("s", "c2", "apply_patch", json!({ "patch": patch }));
    bench.editor.serve_edit(Manner::Apply).await;
    let result = bench.editor.result(id).await;
    assert_eq!(result["status"], "ok", "{result}");
    assert_eq!(modes(&bench, names), [0o755, 0, 0o755, 0o755]);
    let result = bench.undo(json!({ "callId": "c2" })).await;
    assert!(outcomes(&result).iter().all(|outcome| *outcome == "undone"), "{result}");
    assert_eq!((modes(&bench, names), bench.buffer()), ([0o644, 0o644, 0, 0], TEXT));
    let result = bench.undo(json!({ "undoId": "u1" })).await;
    assert!(outcomes(&result).iter().all(|outcome| *outcome == "restored"), "{result}");
    assert_eq!(modes(&bench, names), [0o755, 0, 0o755, 0o755]);
    bench.leave().await;
}

#[tokio::test]
async fn a_change_of_a_mode_survives_a_restart() {
    let disk = std::sync::Arc::new(ropewalk::ports::MemoryDisk::new().with_file("/w/notes.txt", TEXT));
    let mut bench = Bench::over(disk, json!({}), Some(tempfile::tempdir().unwrap())).await;
    git(&mut bench, "c1", &only("notes.txt", 100_644, 100_755)).await;
    assert_eq!(modes(&bench, ["notes.txt"]), [0o755]);
    let mut bench = bench.again().await;
    assert_eq!(bench.changes(json!({})).await, [r#"1.1 mode notes.txt:1 """#]);
    let result = bench.undo_on_disk(json!({ "callId": "c1" })).await;
    assert_eq!((outcomes(&result), modes(&bench, ["notes.txt"])), (vec!["undone"], [0o644]), "{result}");
    bench.leave().await;
}
