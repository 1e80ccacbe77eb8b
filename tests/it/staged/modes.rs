//! The right to run a file is proposed like everything else: seen by its session, judged hunk by hunk, undone afterwards.

use ropewalk::ports::{Disk as _, SystemDisk};
use serde_json::{Value, json};

use super::{Desk, ONE};
use crate::files::{got, put, text};

/// That a file is to be one that can be run.
fn runs(name: &str) -> String {
    format!("diff --git a/{name} b/{name}\nold mode 100644\nnew mode 100755\n")
}

/// The same, and another name for the second of its functions.
fn changed(name: &str) -> String {
    format!("{}--- a/{name}\n+++ b/{name}\n@@\n-fn two() {{}}\n+fn zwei() {{}}\n", runs(name))
}

const MADE: &str = "diff --git a/run.sh b/run.sh\nnew file mode 100755\n--- /dev/null\n+++ b/run.sh\n@@ -0,0 +1 @@\n\
                    +echo\n";

impl Desk {
    async fn patch(&mut self, session: &str, id: &str, patch: &str) -> Value {
        self.call(session, id, "apply_patch", json!({ "patch": patch })).await
    }

    /// Whether a file can really be run.
    fn can_run(&self, name: &str) -> bool {
        SystemDisk.metadata(&self.folder.join(name)).unwrap().mode & 0o111 != 0
    }

    fn chmod(&self, name: &str, mode: u32) {
        SystemDisk.set_mode(&self.folder.join(name), mode).unwrap();
    }

    async fn asked(&mut self, method: &str, mut params: Value) -> Value {
        params["sessionId"] = json!("s");
        self.editor.ask(method, params).await
    }
}

fn outcomes(undone: &Value) -> Vec<&str> {
    undone["hunks"].as_array().unwrap().iter().map(|hunk| hunk["outcome"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_mode_is_listed_accepted_and_undone() {
    let mut desk = Desk::plain().await;
    let only = desk.patch("s", "c1", &runs("closed.rs")).await;
    let words = "Proposed to change the mode of closed.rs. It could be run then (mode 100755). Nothing is applied";
    assert!(text(&only).starts_with(words), "{only}");
    assert_eq!((&only["proposed"], &only["edits"][0]["hunkIds"]), (&json!(true), &json!(["p1.mode"])), "{only}");
    let diff = only["edits"][0]["unifiedDiff"].as_str().unwrap();
    assert_eq!(diff, "old mode 100644 of closed.rs\nnew mode 100755\n");
    let both = desk.patch("s", "c2", &format!("{}{MADE}", changed("open.rs"))).await;
    assert_eq!(both["edits"][0]["hunkIds"], json!(["p2.mode", "p2.1"]), "{both}");
    assert!(text(&both).contains("Proposed a new file run.sh (1 line). It could be run then"), "{both}");
    expect_test::expect![[r#"
        s t1 c1 p1.mode: mode closed.rs 1 -> 1 "100644" -> "100755"
        s t1 c2 p2.mode: mode open.rs 1 -> 1 "100644" -> "100755"
        s t1 c2 p2.1: changed open.rs 2 -> 2 "fn two() {}\n" -> "fn zwei() {}\n"
        s t1 c2 p3.0: created run.sh 1 -> 1 "" -> ""
        s t1 c2 p3.mode: mode run.sh 1 -> 1 "100644" -> "100755"
        s t1 c2 p3.1: changed run.sh 1 -> 1 "" -> "echo\n"
    "#]]
    .assert_eq(&desk.proposals(json!({})).await);
    assert!(!desk.can_run("closed.rs") && !desk.can_run("open.rs"));
    // By hunk, and nothing else of the file with it.
    let done = desk.asked("ropewalk/accept", json!({ "hunkId": "p2.mode" })).await;
    assert_eq!(done["accepted"][0]["hunkIds"], json!(["p2.mode"]), "{done}");
    assert!(desk.can_run("open.rs") && desk.buffer() == ONE && got(&desk.folder, "open.rs") == b"fn saved() {}\n");
    assert_eq!(desk.proposals(json!({ "uri": desk.open })).await.lines().count(), 1);
    // By call, and by file.
    let name = done["accepted"][0]["changeIds"][0].clone();
    let done = desk.asked("ropewalk/accept", json!({ "callId": "c1" })).await;
    assert_eq!((done["accepted"][0]["hunkIds"].clone(), desk.can_run("closed.rs")), (json!(["p1.mode"]), true));
    let made = desk.uri("run.sh");
    let done = desk.asked("ropewalk/accept", json!({ "uri": made })).await;
    assert_eq!(done["accepted"][0]["hunkIds"].as_array().map(Vec::len), Some(3), "{done}");
    assert!(desk.can_run("run.sh") && got(&desk.folder, "run.sh") == b"echo\n");
    // The model is told; each call has its own.
    let told = desk.read("s", "closed.rs").await;
    for file in ["call c2 proposed for open.rs", "call c1 proposed for closed.rs"] {
        let words = format!("a person accepted the mode 100755 that {file}; it is applied now");
        assert!(told.contains(&words), "{words}: {told}");
    }
    let listed = desk.changes(json!({ "includeAccepted": true, "callId": "c1" })).await;
    let hunk = &listed["files"][0]["hunks"][0];
    assert_eq!((&hunk["kind"], &hunk["accepted"]), (&json!("mode"), &json!(true)), "{listed}");
    // And it goes back: by the name that was given, by call, and that in its turn.
    let undone = desk.editor.ask("ropewalk/undo", json!({ "hunkId": name })).await;
    assert_eq!((outcomes(&undone), desk.can_run("open.rs")), (vec!["undone"], false), "{undone}");
    let undone = desk.asked("ropewalk/undo", json!({ "callId": "c1" })).await;
    assert_eq!((outcomes(&undone), desk.can_run("closed.rs")), (vec!["undone"], false), "{undone}");
    let again = desk.editor.ask("ropewalk/undo", json!({ "undoId": undone["undoId"] })).await;
    assert_eq!((outcomes(&again), desk.can_run("closed.rs")), (vec!["restored"], true), "{again}");
    desk.asked("ropewalk/undo", json!({ "callId": "c2" })).await;
    assert!(SystemDisk.metadata(&desk.folder.join("run.sh")).is_err());
    desk.end().await;
}

#[tokio::test]
async fn lines_and_mode_of_one_file_are_accepted_together_and_undone_call_by_call() {
    let mut desk = Desk::plain().await;
    desk.rename("s", "c1", "open.rs", "four", "vier").await;
    desk.patch("s", "c2", &changed("open.rs")).await;
    desk.patch(
        "s",
        "c3",
        "diff --git a/closed.rs b/moved.rs\nold mode 100644\nnew mode 100755\nrename from closed.rs\n\
                           rename to moved.rs\n",
    )
    .await;
    let open = desk.open.clone();
    let done = desk.accept(json!({ "sessionId": "s", "uri": open })).await;
    assert_eq!(done["accepted"][0]["hunkIds"].as_array().map(Vec::len), Some(3), "{done}");
    assert!(desk.can_run("open.rs") && desk.buffer() == ONE.replace("two", "zwei").replace("four", "vier"));
    let done = desk.asked("ropewalk/accept", json!({ "callId": "c3" })).await;
    assert!(done["refused"].is_null() && desk.can_run("moved.rs"), "{done}");
    // What the others did stays.
    desk.served("ropewalk/undo", json!({ "sessionId": "s", "callId": "c1" })).await;
    assert!(desk.can_run("open.rs") && desk.buffer() == ONE.replace("two", "zwei"));
    desk.served("ropewalk/undo", json!({ "sessionId": "s", "callId": "c2" })).await;
    assert!(!desk.can_run("open.rs") && desk.buffer() == ONE);
    desk.asked("ropewalk/undo", json!({ "callId": "c3" })).await;
    assert!(!desk.can_run("closed.rs"));
    desk.end().await;
}

#[tokio::test]
async fn only_its_session_sees_a_proposed_mode() {
    let mut desk = Desk::plain().await;
    desk.session("t").await;
    desk.patch("s", "c1", &runs("closed.rs")).await;
    // A copy can be run where its original can.
    let copy = "diff --git a/closed.rs b/copy.rs\nsimilarity index 100%\ncopy from closed.rs\ncopy to copy.rs\n";
    for (session, modes) in [("s", 1), ("t", 0)] {
        let copied = desk.patch(session, "c2", copy).await;
        assert_eq!(copied["proposed"], true, "{copied}");
        let told = desk.proposals(json!({ "sessionId": session, "callId": "c2" })).await;
        assert_eq!(told.lines().filter(|line| line.contains(": mode copy.rs")).count(), modes, "{told}");
    }
    // As the session sees it, it is so already; taken back, nothing of it is proposed.
    let again = desk.patch("s", "c3", &runs("closed.rs")).await;
    assert!(text(&again).contains("closed.rs is already so"), "{again}");
    let back = "diff --git a/closed.rs b/closed.rs\nold mode 100755\nnew mode 100644\n";
    let result = desk.patch("s", "c4", back).await;
    assert!(text(&result).contains("It could not be run any more then (mode 100644)."), "{result}");
    assert_eq!(desk.proposals(json!({ "uri": desk.uri("closed.rs") })).await, "");
    desk.end().await;
}

#[tokio::test]
async fn a_mode_is_rejected_outlives_a_restart_and_ends_when_it_is_so() {
    let mut desk = Desk::plain().await;
    put(&desk.folder, "other.rs", ONE);
    let patch = format!("{}{}", changed("closed.rs"), runs("other.rs"));
    desk.patch("s", "c1", &patch).await;
    let listed = desk.proposals(json!({})).await;
    assert_eq!(listed.lines().count(), 3, "{listed}");
    let mut desk = desk.again().await;
    desk.session("s").await;
    assert_eq!(desk.proposals(json!({})).await, listed);
    // The user has done it by themselves.
    desk.chmod("other.rs", 0o755);
    assert!(!desk.proposals(json!({})).await.contains("other.rs"));
    let rejected = desk.asked("ropewalk/reject", json!({ "hunkId": "p1.mode", "feedback": "a library" })).await;
    assert_eq!(rejected["rejected"][0]["hunkIds"], json!(["p1.mode"]), "{rejected}");
    let told = desk.proposals(json!({})).await;
    assert_eq!(told, "s t1 c1 p1.1: changed closed.rs 2 -> 2 \"fn two() {}\\n\" -> \"fn zwei() {}\\n\"\n");
    let told = desk.read("s", "closed.rs").await;
    for words in ["a person rejected the mode 100755 that call c1 proposed for closed.rs", "a library"] {
        assert!(told.contains(words), "{words}: {told}");
    }
    let done = desk.asked("ropewalk/accept", json!({ "callId": "c1" })).await;
    assert_eq!(done["accepted"][0]["hunkIds"], json!(["p1.1"]), "{done}");
    assert!(!desk.can_run("closed.rs") && desk.can_run("other.rs"));
    desk.end().await;
}

#[tokio::test]
async fn a_document_without_a_file_gets_no_mode() {
    let mut desk = Desk::plain().await;
    let bare = desk.uri("bare.rs");
    desk.editor.open(&bare, ONE);
    let refused = desk.patch("s", "c1", &runs("bare.rs")).await;
    assert_eq!(refused["status"], "error", "{refused}");
    assert!(text(&refused).contains("The mode 100755 of bare.rs cannot be proposed"), "{refused}");
    let noted = desk.patch("s", "c2", &changed("bare.rs")).await;
    assert!(text(&noted).contains("The mode 100755 is not proposed: the document is not on the disk yet"), "{noted}");
    assert_eq!(noted["edits"][0]["hunkIds"], json!(["p1.1"]), "{noted}");
    // One that was there when it was proposed, and is not when it is accepted.
    let closed = desk.uri("closed.rs");
    desk.editor.open(&closed, ONE);
    desk.patch("s", "c3", &runs("closed.rs")).await;
    let at = desk.folder.join("closed.rs");
    SystemDisk.remove(&at).unwrap();
    let refused = desk.asked("ropewalk/accept", json!({ "callId": "c3" })).await;
    assert_eq!(refused["refused"]["kind"], "unavailable", "{refused}");
    let why = refused["refused"]["message"].as_str().unwrap();
    assert!(why.contains("The mode 100755 of closed.rs cannot be set") && why.contains("p2.mode"), "{why}");
    put(&desk.folder, "closed.rs", ONE);
    let done = desk.asked("ropewalk/accept", json!({ "callId": "c3" })).await;
    assert_eq!((done["accepted"][0]["hunkIds"].clone(), desk.can_run("closed.rs")), (json!(["p2.mode"]), true));
    desk.end().await;
}
