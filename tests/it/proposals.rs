//! Proposals over the wire: seen by their session and by nobody else, until a person accepts them.

use std::path::{Path, PathBuf};

use ropewalk::ports::{Disk as _, Ports, SystemDisk};
use ropewalk::server::{self, ServeOptions};
use serde_json::{Value, json};

use crate::editor::{FakeEditor, Manner};
use crate::files::{folder, got, put, text};

const ONE: &str = "fn one() {}\nfn two() {}\nfn three() {}\nfn four() {}\n";

async fn editor_in(folder: &Path) -> FakeEditor {
    let options = ServeOptions { repeatable: true, ..ServeOptions::default() };
    let serve = |input, output| tokio::spawn(server::serve(input, output, Ports::system(), options));
    let mut editor = FakeEditor::start(serve);
    editor.introduce(&[folder], json!({ "events": true }), json!({})).await;
    for session in ["s", "t"] {
        let params = json!({ "sessionId": session, "apply": "propose" });
        let effective = editor.ask("ropewalk/openSession", params).await;
        assert_eq!((&effective["apply"], &effective["notGranted"]), (&json!("propose"), &json!([])));
    }
    editor
}

/// A folder with an open, unsaved file and a closed one.
async fn desk() -> (tempfile::TempDir, PathBuf, FakeEditor, String) {
    let (gone, folder) = folder();
    put(&folder, "open.rs", "fn saved() {}\n");
    put(&folder, "closed.rs", ONE);
    let mut editor = editor_in(&folder).await;
    let open = uri(&folder, "open.rs");
    editor.open(&open, ONE);
    (gone, folder, editor, open)
}

fn uri(folder: &Path, name: &str) -> String {
    format!("file://{}/{name}", folder.display())
}

async fn call(editor: &mut FakeEditor, session: &str, id: &str, name: &str, arguments: Value) -> Value {
    let params = json!({ "sessionId": session, "callId": id, "name": name, "arguments": arguments });
    let id = editor.request("ropewalk/callTool", params);
    editor.result(id).await
}

async fn edit(editor: &mut FakeEditor, session: &str, id: &str, file: &str, old: &str, new: &str) -> Value {
    let arguments = json!({ "file_path": file, "old_string": old, "new_string": new });
    call(editor, session, id, "edit", arguments).await
}

async fn read(editor: &mut FakeEditor, session: &str, file: &str) -> String {
    text(&call(editor, session, "look", "read", json!({ "file_path": file })).await).to_owned()
}

/// Accepts while an editor does as it is asked.
async fn accept(editor: &mut FakeEditor, params: Value) -> Value {
    let id = editor.request("ropewalk/accept", params);
    editor.serve_edit(Manner::Apply).await;
    editor.result(id).await
}

async fn end(mut editor: FakeEditor) {
    editor.accept_rest();
    assert_eq!(editor.leave().await, 0);
}

#[tokio::test]
async fn a_proposal_is_seen_by_its_session_and_by_nobody_else() {
    let (_gone, folder, mut editor, open) = desk().await;
    for (id, file) in [("c1", "open.rs"), ("c2", "closed.rs")] {
        let result = edit(&mut editor, "s", id, file, "fn two() {}", "fn zwei() {}").await;
        assert_eq!(
            (&result["status"], &result["applied"], &result["proposed"]),
            (&json!("ok"), &json!("none"), &json!(true))
        );
        let edit = &result["edits"][0];
        assert_eq!((&edit["unsaved"], &edit["versionAfter"]), (&json!(false), &Value::Null), "{result}");
        assert!(edit["unifiedDiff"].as_str().unwrap().contains("+fn zwei() {}"), "{result}");
        assert!(text(&result).contains("Nothing is applied: until a person accepts it, only you see it."), "{result}");
        assert!(text(&result).contains("syntax ok (not type-checked)"), "{result}");
        let report = &result["diagnostics"]["documents"][0]["sources"];
        assert_eq!((report.as_array().unwrap().len(), &report[0]["id"]), (1, &json!("syntax")), "{report}");
    }
    let write = json!({ "file_path": "sub/new.rs", "content": "fn zwei() {}\n" });
    assert_eq!(call(&mut editor, "s", "c3", "write", write).await["proposed"], true);
    for (session, mine) in [("s", true), ("t", false), ("default", false)] {
        for file in ["open.rs", "closed.rs"] {
            let shown = read(&mut editor, session, file).await;
            assert_eq!((shown.contains("zwei"), shown.contains("fn two")), (mine, !mine), "{session}: {shown}");
            assert_eq!(shown.contains("which are not applied"), mine, "{shown}");
        }
        let found = call(&mut editor, session, "look", "grep", json!({ "pattern": "zwei" })).await;
        for name in ["open.rs", "closed.rs", "sub/new.rs"] {
            assert_eq!(text(&found).contains(name), mine, "{session}: {found}");
        }
        for (tool, arguments) in [
            ("glob", json!({ "pattern": "**/*.rs" })),
            ("ls", json!({})),
            ("ls", json!({ "path": "sub" })),
            ("file_search", json!({ "query": "subnew" })),
            ("read", json!({ "file_path": "." })),
            ("read", json!({ "file_path": "sub/new.rs" })),
        ] {
            let found = call(&mut editor, session, "look", tool, arguments).await;
            let sees =
                found["status"] == "ok" && ["new.rs", "sub/", "zwei"].iter().any(|word| text(&found).contains(word));
            assert_eq!(sees, mine, "{session} {tool}: {found}");
        }
        let params = json!({ "uri": open, "sessionId": session });
        let shown = editor.ask("ropewalk/documentText", params).await;
        assert_eq!(shown["text"].as_str().unwrap().contains("zwei"), mine, "{shown}");
    }
    // A further edit builds on it, also where it asks to be made at once.
    let params = json!({ "sessionId": "s", "callId": "c4", "name": "edit", "apply": "now",
        "arguments": { "file_path": "open.rs", "old_string": "zwei", "new_string": "deux" } });
    let id = editor.request("ropewalk/callTool", params);
    assert_eq!(editor.result(id).await["proposed"], true);
    assert!(read(&mut editor, "s", "open.rs").await.contains("deux"));
    assert_eq!(editor.buffers[&open].text, ONE);
    assert_eq!(got(&folder, "closed.rs"), ONE.as_bytes());
    assert!(!folder.join("sub").exists());
    end(editor).await;
}

#[tokio::test]
async fn it_is_accepted_after_typing_and_told_once() {
    let (_gone, folder, mut editor, open) = desk().await;
    edit(&mut editor, "s", "c1", "open.rs", "fn two() {}", "fn zwei() {}").await;
    edit(&mut editor, "s", "c2", "open.rs", "fn four() {}", "fn vier() {}").await;
    edit(&mut editor, "s", "c2", "closed.rs", "fn one() {}", "fn eins() {}").await;
    editor.splice(&open, 0..0, "// typed\n");
    let done = accept(&mut editor, json!({ "sessionId": "s", "hunkId": "p1.1" })).await;
    assert_eq!(done["accepted"][0]["hunkIds"], json!(["p1.1"]), "{done}");
    let now = ONE.replace("two", "zwei");
    assert_eq!(editor.buffers[&open].text, format!("// typed\n{now}"));
    assert!(read(&mut editor, "t", "open.rs").await.contains("zwei"));
    // The next call: both its files at once.
    editor.splice(&open, 0..0, "// more\n");
    let done = accept(&mut editor, json!({ "sessionId": "s", "callId": "c2" })).await;
    assert_eq!(done["accepted"].as_array().map(Vec::len), Some(2), "{done}");
    assert_eq!(editor.buffers[&open].text, format!("// more\n// typed\n{}", now.replace("four", "vier")));
    assert_eq!(got(&folder, "closed.rs"), ONE.replace("one", "eins").as_bytes());
    let told = read(&mut editor, "s", "open.rs").await;
    assert!(
        told.contains("a person accepted a part of what call c1 proposed for open.rs; it is applied now"),
        "{told}"
    );
    assert!(!told.contains("which are not applied"), "{told}");
    assert!(!read(&mut editor, "s", "closed.rs").await.contains("a person accepted"));
    let nothing = editor.ask("ropewalk/accept", json!({ "sessionId": "s", "callId": "c2" })).await;
    assert_eq!(nothing["refused"]["kind"], "notFound", "{nothing}");
    end(editor).await;
}

#[tokio::test]
async fn a_person_writes_it_otherwise() {
    let (_gone, folder, mut editor, open) = desk().await;
    edit(&mut editor, "s", "c1", "open.rs", "fn two() {}", "fn zwei() {}").await;
    let params = json!({ "sessionId": "s", "hunkId": "p1.1", "editedText": "fn deux() {}" });
    accept(&mut editor, params).await;
    assert_eq!(editor.buffers[&open].text, ONE.replace("two", "deux"));
    let told = read(&mut editor, "s", "open.rs").await;
    assert!(told.contains("with changes of the person's") && told.contains("+fn deux() {}"), "{told}");
    edit(&mut editor, "s", "c2", "closed.rs", "fn two() {}", "fn zwei() {}").await;
    let params = json!({ "sessionId": "s", "uri": uri(&folder, "closed.rs"), "editedText": "all else\n" });
    let done = editor.ask("ropewalk/accept", params).await;
    assert_eq!((done["refused"].is_null(), got(&folder, "closed.rs")), (true, b"all else\n".to_vec()), "{done}");
    assert!(!read(&mut editor, "s", "closed.rs").await.contains("which are not applied"));
    end(editor).await;
}

#[tokio::test]
async fn it_is_rejected_with_a_word() {
    let (_gone, _folder, mut editor, open) = desk().await;
    edit(&mut editor, "s", "c1", "open.rs", "fn two() {}", "fn zwei() {}").await;
    edit(&mut editor, "s", "c2", "open.rs", "fn four() {}", "fn vier() {}").await;
    let params = json!({ "sessionId": "s", "callId": "c1", "feedback": "English, please" });
    let done = editor.ask("ropewalk/reject", params).await;
    assert_eq!(done["rejected"][0]["hunkIds"], json!(["p1.1"]), "{done}");
    let shown = read(&mut editor, "s", "open.rs").await;
    assert!(shown.contains("fn two") && shown.contains("vier") && !shown.contains("zwei"), "{shown}");
    assert!(shown.contains("rejected a part of what call c1") && shown.contains("English, please"), "{shown}");
    assert!(!read(&mut editor, "s", "open.rs").await.contains("English"));
    editor.ask("ropewalk/reject", json!({ "sessionId": "s", "uri": open })).await;
    assert!(read(&mut editor, "s", "open.rs").await.contains("fn four"));
    assert_eq!(editor.buffers[&open].text, ONE);
    let fault = editor.request("ropewalk/reject", json!({ "sessionId": "s" }));
    assert_eq!(editor.error_code(fault).await, -32602);
    end(editor).await;
}

#[tokio::test]
async fn two_sessions_have_proposals_for_one_file() {
    let (_gone, _folder, mut editor, open) = desk().await;
    edit(&mut editor, "s", "c1", "open.rs", "fn two() {}", "fn zwei() {}").await;
    edit(&mut editor, "t", "d1", "open.rs", "fn two() {}", "fn deux() {}").await;
    edit(&mut editor, "t", "d2", "open.rs", "fn four() {}", "fn quatre() {}").await;
    accept(&mut editor, json!({ "sessionId": "s", "uri": open })).await;
    let other = read(&mut editor, "t", "open.rs").await;
    assert!(other.contains("zwei") && other.contains("quatre") && !other.contains("deux"), "{other}");
    assert!(other.contains("what call d1 proposed for open.rs went stale"), "{other}");
    accept(&mut editor, json!({ "sessionId": "t", "uri": open })).await;
    assert_eq!(editor.buffers[&open].text, ONE.replace("two", "zwei").replace("four", "quatre"));
    end(editor).await;
}

#[tokio::test]
async fn what_the_user_changed_is_never_overwritten() {
    let (_gone, folder, mut editor, open) = desk().await;
    edit(&mut editor, "s", "c1", "open.rs", "fn one() {}", "fn eins() {}").await;
    editor.splice(&open, 3..6, "mine");
    let done = editor.ask("ropewalk/accept", json!({ "sessionId": "s", "uri": open })).await;
    assert_eq!((&done["accepted"], &done["refused"]["kind"]), (&json!([]), &json!("notFound")), "{done}");
    assert_eq!(editor.buffers[&open].text, ONE.replace("one", "mine"));
    assert!(read(&mut editor, "s", "open.rs").await.contains("went stale: these very lines were changed"));
    // A new file that the user made meanwhile.
    let write = json!({ "file_path": "new.rs", "content": "fn zwei() {}\n" });
    call(&mut editor, "s", "c2", "write", write).await;
    put(&folder, "new.rs", "mine\n");
    let shown = read(&mut editor, "s", "new.rs").await;
    assert!(shown.contains("mine") && shown.contains("there is a file of that name by now"), "{shown}");
    end(editor).await;
}

#[tokio::test]
async fn files_are_made_moved_and_deleted_when_that_is_accepted() {
    let (_gone, folder, mut editor, _) = desk().await;
    put(&folder, "old.rs", ONE);
    put(&folder, "gone.rs", ONE);
    let patch = "*** Begin Patch\n*** Add File: sub/new.rs\n+fn new() {}\n*** Delete File: gone.rs\n*** Update File: \
                 old.rs\n*** Move to: moved.rs\n@@\n-fn two() {}\n+fn zwei() {}\n*** End Patch\n";
    call(&mut editor, "s", "look", "read", json!({ "file_path": "gone.rs" })).await;
    let result = call(&mut editor, "s", "c1", "apply_patch", json!({ "patch": patch })).await;
    assert_eq!((&result["status"], &result["proposed"]), (&json!("ok"), &json!(true)), "{result}");
    assert!(read(&mut editor, "s", "moved.rs").await.contains("zwei"));
    let refused = read(&mut editor, "s", "old.rs").await;
    assert!(refused.contains("you proposed to move it to moved.rs"), "{refused}");
    assert!(read(&mut editor, "s", "gone.rs").await.contains("you proposed to delete it"));
    let listed = call(&mut editor, "s", "look", "glob", json!({ "pattern": "**/*.rs" })).await;
    let files = listed["structuredContent"]["files"].as_array().unwrap();
    let mut names: Vec<&str> = files.iter().map(|file| file["path"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, ["closed.rs", "moved.rs", "open.rs", "sub/new.rs"], "{listed}");
    let found = call(&mut editor, "s", "look", "grep", json!({ "pattern": "fn one", "path": "gone.rs" })).await;
    assert_eq!(found["status"], "error", "{found}");
    let exists = |name: &str| folder.join(name).exists();
    assert!(exists("old.rs") && exists("gone.rs") && !exists("moved.rs") && !exists("sub"));
    let done = editor.ask("ropewalk/accept", json!({ "sessionId": "s", "callId": "c1" })).await;
    assert_eq!((done["accepted"].as_array().map(Vec::len), done["refused"].is_null()), (Some(3), true), "{done}");
    assert!(!exists("old.rs") && !exists("gone.rs"));
    assert_eq!(got(&folder, "moved.rs"), ONE.replace("two", "zwei").as_bytes());
    assert_eq!(got(&folder, "sub/new.rs"), b"fn new() {}\n");
    end(editor).await;
}

#[tokio::test]
async fn closing_and_resetting_a_session_drops_what_it_proposes() {
    let (_gone, _folder, mut editor, open) = desk().await;
    for method in ["ropewalk/closeSession", "ropewalk/resetSession"] {
        editor.ask("ropewalk/openSession", json!({ "sessionId": "s", "apply": "propose" })).await;
        edit(&mut editor, "s", "c1", "open.rs", "fn two() {}", "fn zwei() {}").await;
        while editor.stashed(|message| message["method"] == "ropewalk/changesChanged").is_some() {}
        editor.ask(method, json!({ "sessionId": "s" })).await;
        let told = editor.next_where(|message| message["method"] == "ropewalk/changesChanged").await.unwrap();
        assert_eq!(told["params"], json!({ "uris": [open] }));
        assert!(read(&mut editor, "s", "open.rs").await.contains("fn two"), "{method}");
    }
    end(editor).await;
}

#[tokio::test]
async fn a_call_may_propose_and_protected_places_are_accepted_singly() {
    let (_gone, folder, mut editor, _) = desk().await;
    let change = json!({ "file_path": "closed.rs", "old_string": "fn two() {}", "new_string": "fn zwei() {}" });
    let params = json!({ "name": "edit", "callId": "c1", "apply": "propose", "arguments": change });
    let id = editor.request("ropewalk/callTool", params);
    assert_eq!(editor.result(id).await["proposed"], true);
    let write = json!({ "file_path": ".vscode/tasks.json", "content": "{}\n" });
    // Nobody can be asked here, and nothing needs to be: a proposal changes nothing.
    let params = json!({ "name": "write", "callId": "c1", "apply": "propose", "arguments": write });
    let id = editor.request("ropewalk/callTool", params);
    let result = editor.result(id).await;
    assert_eq!(result["proposed"], true, "{result}");
    let done = editor.ask("ropewalk/accept", json!({ "callId": "c1" })).await;
    assert_eq!((&done["accepted"], &done["refused"]["kind"]), (&json!([]), &json!("denied")), "{done}");
    assert_eq!(got(&folder, "closed.rs"), ONE.as_bytes());
    let done = editor.ask("ropewalk/accept", json!({ "uri": uri(&folder, ".vscode/tasks.json") })).await;
    assert_eq!((done["refused"].is_null(), got(&folder, ".vscode/tasks.json")), (true, b"{}\n".to_vec()), "{done}");
    end(editor).await;
}

#[tokio::test]
async fn hunks_of_one_file_are_accepted_one_after_the_other() {
    let (_gone, folder, mut editor, open) = desk().await;
    for (id, file, old, new) in [
        ("c1", "open.rs", "fn one() {}", "fn eins() {}\nfn more() {}"),
        ("c2", "open.rs", "fn three() {}", "fn drei() {}"),
        ("c3", "closed.rs", "fn one() {}", "fn eins() {}\nfn more() {}"),
        ("c4", "closed.rs", "fn three() {}", "fn drei() {}"),
    ] {
        edit(&mut editor, "s", id, file, old, new).await;
    }
    let first = ONE.replace("fn one() {}", "fn eins() {}\nfn more() {}");
    for (hunk, expected) in [("p1.1", first.clone()), ("p1.2", first.replace("three", "drei"))] {
        let done = accept(&mut editor, json!({ "sessionId": "s", "hunkId": hunk })).await;
        assert_eq!(
            (&done["accepted"][0]["hunkIds"], &editor.buffers[&open].text),
            (&json!([hunk]), &expected),
            "{done}"
        );
    }
    // The second before the first, on the disk.
    for (hunk, expected) in [("p2.2", ONE.replace("three", "drei")), ("p2.1", first.replace("three", "drei"))] {
        let done = editor.ask("ropewalk/accept", json!({ "sessionId": "s", "hunkId": hunk })).await;
        assert_eq!(done["accepted"][0]["hunkIds"], json!([hunk]), "{done}");
        assert_eq!(got(&folder, "closed.rs"), expected.as_bytes());
    }
    let told = read(&mut editor, "s", "open.rs").await;
    assert_eq!(told.matches("a person accepted").count(), 4, "{told}");
    assert!(!told.contains("not applied"), "{told}");
    end(editor).await;
}

#[tokio::test]
async fn what_is_proposed_for_a_file_that_goes_away_is_told_as_stale() {
    let (_gone, folder, mut editor, open) = desk().await;
    put(&folder, "third.rs", ONE);
    for (id, file) in [("c1", "closed.rs"), ("c2", "third.rs"), ("c3", "open.rs")] {
        edit(&mut editor, "s", id, file, "fn two() {}", "fn zwei() {}").await;
        edit(&mut editor, "t", id, file, "fn two() {}", "fn deux() {}").await;
    }
    // Deleted, renamed by somebody else, and closed with its changes thrown away.
    SystemDisk.remove(&folder.join("closed.rs")).unwrap();
    SystemDisk.rename(&folder.join("third.rs"), &folder.join("renamed.rs")).unwrap();
    editor.notify("textDocument/didClose", json!({ "textDocument": { "uri": open } }));
    editor.buffers.remove(&open);
    for session in ["s", "t"] {
        for name in ["closed.rs", "third.rs", "open.rs"] {
            let params = json!({ "sessionId": session, "uri": uri(&folder, name) });
            let done = editor.ask("ropewalk/accept", params).await;
            assert_eq!((&done["accepted"], &done["refused"]["kind"]), (&json!([]), &json!("notFound")), "{done}");
        }
        let told = read(&mut editor, session, "renamed.rs").await;
        for words in [
            "call c1 proposed for closed.rs went stale: the file is gone",
            "call c2 proposed for third.rs went stale: the file is gone",
            "call c3 proposed for open.rs went stale: these very lines were changed",
        ] {
            assert_eq!(told.matches(words).count(), 1, "{words}: {told}");
        }
        assert!(told.contains("fn two"), "{told}");
        assert!(!read(&mut editor, session, "renamed.rs").await.contains("went stale"));
    }
    assert_eq!(got(&folder, "open.rs"), b"fn saved() {}\n");
    assert!(SystemDisk.metadata(&folder.join("closed.rs")).is_err());
    end(editor).await;
}

#[tokio::test]
async fn what_one_session_accepts_moves_or_ends_what_another_proposes() {
    let (_gone, folder, mut editor, open) = desk().await;
    edit(&mut editor, "t", "d1", "open.rs", "fn three() {}", "fn trois() {}").await;
    let write = json!({ "file_path": "new.rs", "content": "fn new() {}\n" });
    call(&mut editor, "s", "c1", "write", write.clone()).await;
    call(&mut editor, "t", "d2", "write", json!({ "file_path": "new.rs", "content": "fn other() {}\n" })).await;
    edit(&mut editor, "s", "c2", "open.rs", "fn one() {}", "fn eins() {}\nfn more() {}").await;
    let patch = "*** Begin Patch\n*** Delete File: closed.rs\n*** End Patch\n";
    call(&mut editor, "s", "look", "read", json!({ "file_path": "closed.rs" })).await;
    edit(&mut editor, "t", "d3", "closed.rs", "fn one() {}", "fn un() {}").await;
    call(&mut editor, "s", "c3", "apply_patch", json!({ "patch": patch })).await;
    accept(&mut editor, json!({ "sessionId": "s", "callId": "c2" })).await;
    for call in ["c1", "c3"] {
        let done = editor.ask("ropewalk/accept", json!({ "sessionId": "s", "callId": call })).await;
        assert!(done["refused"].is_null(), "{done}");
    }
    // The place moved along, and is where it belongs when it is accepted in its turn.
    let listed = editor.ask("ropewalk/changes", json!({ "sessionId": "t" })).await;
    let hunks = listed["proposals"][0]["hunks"].as_array().unwrap();
    assert_eq!((listed["proposals"].as_array().map(Vec::len), &hunks[0]["lines"]["start"]), (Some(1), &json!(4)));
    let told = read(&mut editor, "t", "new.rs").await;
    for words in [
        "call d2 proposed for new.rs went stale: there is a file of that name by now",
        "call d3 proposed for closed.rs went stale: the file is gone",
    ] {
        assert_eq!(told.matches(words).count(), 1, "{words}: {told}");
    }
    assert!(!read(&mut editor, "t", "new.rs").await.contains("went stale"));
    accept(&mut editor, json!({ "sessionId": "t", "uri": open })).await;
    let expected = ONE.replace("fn one() {}", "fn eins() {}\nfn more() {}").replace("three", "trois");
    assert_eq!(editor.buffers[&open].text, expected);
    assert_eq!(got(&folder, "new.rs"), b"fn new() {}\n");
    end(editor).await;
}
