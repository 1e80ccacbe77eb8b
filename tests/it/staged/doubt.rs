//! Proposals of which it is not known for a while whether they are applied, and words that name none.

use serde_json::json;

use super::{Desk, ONE};
use crate::editor::Manner;

#[tokio::test]
async fn what_lands_late_is_accepted_once_and_not_proposed_again() {
    let two = "fn two() {}\n";
    for (old, new) in [(two, "fn zwei() {}\n"), (two, "fn two() {}\nfn more() {}\n"), (two, "")] {
        let mut desk = Desk::new(json!({ "events": true }), json!({ "commit": { "echoMs": 100 } })).await;
        let open = desk.open.clone();
        let arguments = json!({ "file_path": "open.rs", "old_string": old, "new_string": new });
        desk.call("s", "c1", "edit", arguments).await;
        let accepting = desk.editor.request("ropewalk/accept", json!({ "sessionId": "s", "uri": open }));
        desk.editor.serve_edit(Manner::Lie).await;
        let result = desk.editor.result(accepting).await;
        assert_eq!(result["refused"]["kind"], "unknown", "{result}");
        // The editor did it after all, and somewhat late.
        let now = ONE.replace(old, new);
        let buffer = desk.editor.buffers.get_mut(&open).unwrap();
        buffer.text.clone_from(&now);
        buffer.version += 1;
        let document = json!({ "uri": open, "version": buffer.version });
        let change = json!({ "textDocument": document, "contentChanges": [{ "text": now }] });
        desk.editor.notify("textDocument/didChange", change);
        assert_eq!(desk.proposals(json!({})).await, "");
        let told = desk.read("s", "open.rs").await;
        assert!(told.contains("a person accepted all that call c1 proposed for open.rs; it is applied now"), "{told}");
        assert!(!told.contains("stale"), "{told}");
        assert!(!desk.read("s", "open.rs").await.contains("Since then"));
        let again = desk.editor.ask("ropewalk/accept", json!({ "sessionId": "s", "uri": open })).await;
        assert_eq!(again["refused"]["kind"], "notFound", "{again}");
        assert_eq!(desk.buffer(), now);
        desk.end().await;
    }
}

#[tokio::test]
async fn a_name_is_a_name_only_as_it_was_given() {
    let mut desk = Desk::plain().await;
    desk.session("t").await;
    desk.rename("s", "c1", "closed.rs", "one", "eins").await;
    for hunk in ["p1.+1", "p1.01", "p01.1", "p+1.1", "p1.1.1", "P1.1", "p1.", "p1", "1", "1.1", ".1", "", " p1.1"] {
        for method in ["ropewalk/accept", "ropewalk/reject"] {
            let answer = desk.editor.ask(method, json!({ "sessionId": "s", "hunkId": hunk })).await;
            assert_eq!(answer["refused"]["kind"], "notFound", "{hunk}: {answer}");
        }
    }
    let other = desk.editor.ask("ropewalk/accept", json!({ "sessionId": "t", "hunkId": "p1.1" })).await;
    assert_eq!(other["refused"]["kind"], "notFound", "{other}");
    assert!(desk.proposals(json!({})).await.starts_with("s t1 c1 p1.1"));
    desk.end().await;
}

#[tokio::test]
async fn what_is_applied_is_named_also_where_its_session_ends_meanwhile() {
    let mut desk = Desk::plain().await;
    let open = desk.open.clone();
    desk.rename("s", "c1", "open.rs", "two", "zwei").await;
    let accepting = desk.editor.request("ropewalk/accept", json!({ "sessionId": "s", "uri": open }));
    let asked = desk.editor.next_where(|message| message["method"] == "workspace/applyEdit").await.unwrap();
    desk.editor.ask("ropewalk/closeSession", json!({ "sessionId": "s" })).await;
    desk.editor.put_back(asked);
    desk.editor.serve_edit(Manner::Apply).await;
    let result = desk.editor.result(accepting).await;
    assert_eq!(result["accepted"][0]["hunkIds"], json!(["p1.1"]), "{result}");
    assert_eq!(desk.buffer(), ONE.replace("two", "zwei"));
    assert!(!desk.read("s", "open.rs").await.contains("Since then"));
    desk.end().await;
}
