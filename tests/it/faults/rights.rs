//! Rights that are lost in the middle of a session: the real program as another user, whose files, folder and state are
//! closed to it and opened again.

#![expect(clippy::disallowed_methods, reason = "the test makes the world that the binary is put into")]

use serde_json::{Value, json};

use crate::world::{World, as_another, mode_at};

#[tokio::test]
async fn rights_lost_in_mid_session_are_told_and_cost_nothing() {
    let world = World::new();
    for name in ["a.txt", "b.txt", "sub/c.txt"] {
        world.put(&format!("w/{name}"), "one\nold\n");
    }
    let mut command = as_another(&world);
    world.owned(&["w/a.txt", "w/b.txt", "w/sub", "w/sub/c.txt"]);
    let mut session = world.start(&mut command, json!({})).await;
    let edit = |file: &str, old: &str, new: &str| json!({ "file_path": file, "old_string": old, "new_string": new });
    let patch = "*** Begin Patch\n*** Update File: b.txt\n@@\n-old\n+new\n*** Update File: sub/c.txt\n@@\n-old\n+new\n\
                 *** End Patch\n";
    let todos = |word: &str| json!({ "todos": [{ "content": word, "status": "pending" }] });
    // All is well.
    assert!(session.told("read", json!({ "file_path": "a.txt" })).await.starts_with("1\tone"));
    assert_eq!(session.call("edit", edit("a.txt", "old", "mid")).await["status"], "ok");
    assert_eq!(session.call("todowrite", todos("first")).await["status"], "ok");
    // The file may neither be read nor written any more.
    world.mode("a.txt", 0);
    let told = session.told("edit", edit("a.txt", "mid", "new")).await;
    assert!(
        told.contains("a.txt could not be read: Permission denied") && told.contains("Nothing was changed"),
        "{told}"
    );
    let told = session.told("read", json!({ "file_path": "a.txt" })).await;
    assert!(told.contains("a.txt may not be read: the system denies access to it"), "{told}");
    let told = session.told("grep", json!({ "pattern": "one" })).await;
    assert!(told.contains("could not be looked at: a.txt: Permission denied"), "{told}");
    world.mode("a.txt", 0o644);
    // A folder in which nothing may be made, in the middle of several files: none is changed.
    world.mode("sub", 0o555);
    let told = session.told("apply_patch", json!({ "patch": patch })).await;
    assert!(told.contains("sub/c.txt could not be written: Permission denied"), "{told}");
    let read = |name: &str| std::fs::read_to_string(world.folder.join(name)).unwrap();
    assert_eq!((read("b.txt").as_str(), read("sub/c.txt").as_str()), ("one\nold\n", "one\nold\n"));
    world.mode("sub", 0o755);
    // The state: nothing more can be written down, which protects changes of several files; single ones go on.
    let state = world.at.join("state/ropewalk");
    mode_at(&state.join("journal"), 0o500);
    let told = session.told("apply_patch", json!({ "patch": patch })).await;
    assert!(told.contains("What protects a change of several files against a crash cannot be written"), "{told}");
    assert_eq!((read("b.txt").as_str(), read("sub/c.txt").as_str()), ("one\nold\n", "one\nold\n"));
    assert_eq!(session.call("edit", edit("a.txt", "mid", "new")).await["status"], "ok");
    mode_at(&state.join("journal"), 0o700);
    // The whole state is closed: what is remembered goes on in memory.
    mode_at(&state, 0);
    assert_eq!(session.call("todowrite", todos("second")).await["status"], "ok");
    mode_at(&state, 0o700);
    assert_eq!(session.call("apply_patch", json!({ "patch": patch })).await["status"], "ok");
    assert_eq!((read("a.txt").as_str(), read("b.txt").as_str()), ("one\nnew\n", "one\nnew\n"));
    assert_eq!(read("sub/c.txt"), "one\nnew\n");
    let left = std::fs::read_dir(&world.folder).unwrap().count();
    assert_eq!(left, 4, "no temporary file is left");
    let status: Value = session.status().await;
    assert!(status["store"].is_object(), "{status}");
}
