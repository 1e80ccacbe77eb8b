//! What the front understands, and what it makes of messages that nobody should send.

use expect_test::expect;
use ropewalk::config::{Freshness, Mode, SyntaxGate};
use ropewalk::ports::{Disk as _, SystemDisk};
use serde_json::{Value, json};

use crate::doubles::{Bench, DOCUMENT};
use crate::editor::{Manner, framed};
use crate::order::same_text;

#[tokio::test(start_paused = true)]
async fn an_editor_is_welcomed() {
    let mut bench = Bench::start().await;
    let answer = bench.editor.initialize(json!({ "lineBreaks": "lsp" })).await;
    expect![[r#"
        {
          "capabilities": {
            "positionEncoding": "utf-8",
            "textDocumentSync": {
              "openClose": true,
              "change": 2,
              "save": {
                "includeText": false
              }
            },
            "executeCommandProvider": {
              "commands": [
                "ropewalk.accept",
                "ropewalk.call",
                "ropewalk.keep",
                "ropewalk.reject",
                "ropewalk.undo"
              ]
            },
            "workspace": {
              "workspaceFolders": {
                "supported": true,
                "changeNotifications": true
              }
            },
            "experimental": {
              "ropewalk": {
                "version": "0.1.0",
                "methods": [
                  "ropewalk/accept",
                  "ropewalk/callTool",
                  "ropewalk/callTools",
                  "ropewalk/cancel",
                  "ropewalk/changes",
                  "ropewalk/closeSession",
                  "ropewalk/diagnosticProgress",
                  "ropewalk/diagnostics",
                  "ropewalk/didChangeContext",
                  "ropewalk/didChangeDiagnosticSources",
                  "ropewalk/didChangeDiagnostics",
                  "ropewalk/didChangeTrust",
                  "ropewalk/didShow",
                  "ropewalk/documentText",
                  "ropewalk/endTurn",
                  "ropewalk/forget",
                  "ropewalk/grants",
                  "ropewalk/jobOutput",
                  "ropewalk/jobs",
                  "ropewalk/keep",
                  "ropewalk/listTools",
                  "ropewalk/openSession",
                  "ropewalk/output",
                  "ropewalk/previewCall",
                  "ropewalk/registerTools",
                  "ropewalk/reject",
                  "ropewalk/resetSession",
                  "ropewalk/setMode",
                  "ropewalk/settle",
                  "ropewalk/status",
                  "ropewalk/stopJob",
                  "ropewalk/todos",
                  "ropewalk/toolInput",
                  "ropewalk/undo",
                  "ropewalk/unregisterTools",
                  "ropewalk/updateSession"
                ]
              }
            }
          },
          "serverInfo": {
            "name": "ropewalk",
            "version": "0.1.0"
          }
        }"#]]
    .assert_eq(&serde_json::to_string_pretty(&answer).unwrap());
    let counting = bench.rooms.workspace.documents.counting();
    assert_eq!(format!("{counting:?}"), "Counting { encoding: Utf8, breaks: Lsp }");
    assert_eq!(bench.editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn one_odd_field_does_not_refuse_an_editor() {
    let mut bench = Bench::start().await;
    let odd = json!({
        "processId": "none", "capabilities": {
            "textDocument": { "completion": { "completionItem": { "snippetSupport": "maybe" } } },
            "general": { "positionEncodings": ["utf-16"] },
            "experimental": { "ropewalk": { "events": true, "lineBreaks": 7 } },
        },
        "trace": "loud",
    });
    let answer = bench.editor.ask("initialize", odd).await;
    assert_eq!(answer["capabilities"]["positionEncoding"], "utf-16");
    assert_eq!(bench.editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_done_before_initialize_and_it_is_done_once() {
    let mut bench = Bench::start().await;
    bench.editor.open(DOCUMENT, "too early");
    let id = bench.call("look", json!({}));
    assert_eq!(bench.editor.error_code(id).await, -32002);
    let id = bench.editor.request("textDocument/hover", json!({}));
    assert_eq!(bench.editor.error_code(id).await, -32002);
    bench.editor.initialize(json!({})).await;
    let id = bench.editor.request("initialize", json!({ "capabilities": {} }));
    assert_eq!(bench.editor.error_code(id).await, -32600);
    bench.editor.open(DOCUMENT, "in time");
    same_text(&mut bench.editor).await.unwrap();
    assert_eq!(bench.editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn messages_that_make_no_sense_are_survived() {
    let mut bench = Bench::ready("start").await;
    for raw in [
        framed("{"),
        framed(r#"{"jsonrpc":"2.0","id":1.5,"method":"x"}"#),
        framed(r#"{"jsonrpc":"1.0","method":"exit"}"#),
        framed("[]"),
        framed(""),
        b"Content-Length: seven\r\n\r\n".to_vec(),
        b"X-Header: 1\r\nY-Header: 2\r\nZ-Header: 3\r\n\r\n".to_vec(),
        framed(&format!(r#"{{"jsonrpc":"2.0","method":"x","params":{}{}}}"#, "[".repeat(3000), "]".repeat(3000))),
    ] {
        bench.editor.send_raw(raw);
    }
    // All depths round the one at which the transport's parser gives up.
    for depth in 110..140 {
        let deep = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        bench.editor.send_raw(framed(&format!(r#"{{"jsonrpc":"2.0","method":"x","params":{deep}}}"#)));
    }
    bench.editor.send_raw(framed(r#"{"jsonrpc":"2.0","method":"x","params":[1e999]}"#));
    for (method, params) in [
        ("textDocument/didOpen", json!({ "textDocument": { "uri": 5 } })),
        ("textDocument/didOpen", Value::Null),
        ("textDocument/didClose", json!([])),
        ("textDocument/didChange", json!({ "textDocument": { "uri": "untitled:other", "version": 3 } })),
        ("workspace/didChangeConfiguration", json!(3)),
        ("workspace/didChangeWorkspaceFolders", json!({ "event": { "added": [{ "uri": 3 }], "removed": 1 } })),
        ("workspace/didChangeWatchedFiles", json!({ "changes": [{ "uri": "file:///a", "type": 9 }, 4] })),
        ("ropewalk/didChangeDiagnostics", json!({ "uri": DOCUMENT })),
        ("ropewalk/didChangeTrust", json!({ "root": 1, "trusted": "yes" })),
        ("ropewalk/unheardOf", json!({})),
        ("$/setTrace", json!({ "value": "off" })),
        ("", json!({})),
    ] {
        bench.editor.notify(method, params);
    }
    // Some are answered, and some may have been changes: see `lost`.
    let mut told = Vec::new();
    while let Some(message) = bench.editor.maybe_next().await {
        told.push(message);
    }
    let id = bench.editor.request("ropewalk/callTool", json!({ "name": 5 }));
    assert_eq!(bench.editor.error_code(id).await, -32602);
    let id = bench.editor.request("ropewalk/unheardOf", json!({}));
    assert_eq!(bench.editor.error_code(id).await, -32601);
    let id = bench.editor.request("ropewalk/documentText", json!({ "uri": "untitled:unknown" }));
    assert_eq!(bench.editor.error_code(id).await, -32602);
    same_text(&mut bench.editor).await.unwrap();
    // `didChangeConfiguration` without settings of ours asks for them.
    let asked = told.iter().find(|message| message["method"] == "workspace/configuration").unwrap();
    assert_eq!(asked["params"], json!({ "items": [{ "section": "ropewalk" }] }));
    bench.editor.respond(&asked["id"], json!([{ "output": { "maxBytes": 77 } }]));
    same_text(&mut bench.editor).await.unwrap();
    assert_eq!(bench.rooms.workspace.settings().output.max_bytes, 77);
    assert_eq!(bench.editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn half_an_emoji_keeps_the_positions_in_step() {
    let mut bench = Bench::start().await;
    let capabilities = json!({ "general": { "positionEncodings": ["utf-16"] } });
    bench.editor.ask("initialize", json!({ "capabilities": capabilities })).await;
    bench.editor.open(DOCUMENT, "ab");
    let change = |version: i32, from: usize, to: usize, text: &str| {
        let range = format!(r#"{{"start":{{"line":0,"character":{from}}},"end":{{"line":0,"character":{to}}}}}"#);
        let changes = format!(r#"[{{"range":{range},"text":"{text}"}}]"#);
        let document = format!(r#"{{"uri":"{DOCUMENT}","version":{version}}}"#);
        let params = format!(r#"{{"textDocument":{document},"contentChanges":{changes}}}"#);
        framed(&format!(r#"{{"jsonrpc":"2.0","method":"textDocument/didChange","params":{params}}}"#))
    };
    bench.editor.send_raw(change(2, 1, 1, r"\ud83d"));
    bench.editor.send_raw(change(3, 1, 2, r"\ud83d\ude00"));
    let text = bench.editor.ask("ropewalk/documentText", json!({ "uri": DOCUMENT })).await;
    assert_eq!((&text["text"], &text["version"]), (&json!("a😀b"), &json!(3)));
    // Nobody can tell here that both sides agree again.
    let told = bench.editor.next_where(|message| message["method"] == "window/logMessage").await.unwrap();
    assert!(told["params"]["message"].as_str().unwrap().contains("half of a UTF-16 surrogate pair"), "{told}");
    assert_eq!(bench.editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_change_that_does_not_fit_is_repaired_in_its_place_among_the_changes() {
    let mut bench = Bench::ready("start").await;
    let broken = [
        json!({ "textDocument": { "uri": DOCUMENT, "version": 2 }, "contentChanges": [{ "range": {
            "start": { "line": 0, "character": 3 }, "end": { "line": 0, "character": 1 } }, "text": "x" }] }),
        json!({ "textDocument": { "uri": DOCUMENT, "version": 4 }, "contentChanges": [{ "text": 7 }] }),
    ];
    for change in broken {
        bench.editor.notify("textDocument/didChange", change);
        // The editor's own idea of what it did.
        let buffer = bench.editor.buffers.get_mut(DOCUMENT).unwrap();
        buffer.text.push('!');
        buffer.version += 1;
        let (id, params) = bench.editor.asked("ropewalk/resync").await;
        assert_eq!(params, json!({ "uri": DOCUMENT }));
        let buffer = bench.editor.buffers[DOCUMENT].clone();
        bench.editor.respond(&id, json!({ "version": buffer.version, "text": buffer.text }));
        // Right behind the answer, before anybody could have woken up to take it.
        bench.editor.splice(DOCUMENT, 0..1, "S");
        same_text(&mut bench.editor).await.unwrap();
    }
    let key = ropewalk::workspace::Key::Unnamed(DOCUMENT.to_owned());
    let document = bench.rooms.workspace.documents.get(&key).unwrap();
    assert_eq!(document.trust, ropewalk::workspace::documents::Sync::Good);
    assert_eq!(bench.editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn an_editor_without_resync_is_told_what_is_lost() {
    let mut bench = Bench::start().await;
    bench.editor.initialize(json!({})).await;
    bench.editor.open(DOCUMENT, "start");
    bench.editor.notify("textDocument/didChange", json!({ "textDocument": { "uri": DOCUMENT }, "contentChanges": [] }));
    let told = bench.editor.next().await;
    assert_eq!((&told["method"], &told["params"]["type"]), (&json!("window/logMessage"), &json!(2)));
    let key = ropewalk::workspace::Key::Unnamed(DOCUMENT.to_owned());
    assert_ne!(bench.rooms.workspace.documents.get(&key).unwrap().trust, ropewalk::workspace::documents::Sync::Good);
    bench.editor.open(DOCUMENT, "opened again");
    same_text(&mut bench.editor).await.unwrap();
    assert_eq!(bench.rooms.workspace.documents.get(&key).unwrap().trust, ropewalk::workspace::documents::Sync::Good);
    assert_eq!(bench.editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn commands_run_calls() {
    let mut bench = Bench::ready("start").await;
    for (arguments, status) in [
        (json!([{ "name": "look", "callId": "a" }]), Some("ok")),
        (json!(["look", {}]), Some("ok")),
        (json!(["look"]), Some("ok")),
        (json!([]), None),
        (json!([1, 2]), None),
    ] {
        let params = json!({ "command": "ropewalk.call", "arguments": arguments });
        let id = bench.editor.request("workspace/executeCommand", params);
        let answer = bench.editor.maybe_answer(id).await.unwrap();
        match status {
            Some(status) => assert_eq!(answer["result"]["status"], status, "{arguments}"),
            None => assert_eq!(answer["error"]["code"], -32602, "{arguments}"),
        }
    }
    let id = bench.editor.request("workspace/executeCommand", json!({ "command": "other.call", "arguments": [] }));
    assert_eq!(bench.editor.error_code(id).await, -32602);
    assert_eq!(bench.editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn an_editor_answers_edits_in_its_manner() {
    for (manner, reply) in [
        (Manner::Apply, "true"),
        (Manner::AnswerFirst, "true"),
        (Manner::Split, "true"),
        (Manner::Refuse, "false"),
        (Manner::Lie, "true"),
    ] {
        let mut bench = Bench::ready("start").await;
        let id = bench.call("edit", json!({}));
        bench.editor.serve_edit(manner).await;
        assert_eq!(bench.editor.result(id).await["structuredContent"]["reply"], reply, "{manner:?}");
        same_text(&mut bench.editor).await.unwrap();
        assert_eq!(bench.editor.leave().await, 0);
    }
}

#[tokio::test(start_paused = true)]
async fn an_edit_that_is_never_answered_ends_at_its_deadline() {
    let mut bench = Bench::ready("start").await;
    let id = bench.call("edit", json!({ "seconds": 60 }));
    let (asked, params) = bench.editor.asked("workspace/applyEdit").await;
    expect![[r#"{"label":"edit","edit":{"documentChanges":[{"textDocument":{"uri":"untitled:one","version":1},"edits":[{"range":{"start":{"line":0,"character":0},"end":{"line":0,"character":0}},"newText":"x"}]}]}}"#]]
        .assert_eq(&params.to_string());
    let settled = bench.editor.ask("ropewalk/settle", json!({ "deadlineMs": 0 })).await;
    assert_eq!(settled["open"], json!(["call c2", "editor workspace/applyEdit"]));
    assert_eq!(bench.editor.result(id).await["structuredContent"]["reply"], "the editor did not answer in time");
    bench.editor.respond(&asked, json!({ "applied": true }));
    same_text(&mut bench.editor).await.unwrap();
    assert_eq!(bench.editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn an_editor_that_applies_no_edits_is_not_asked() {
    let mut bench = Bench::start().await;
    bench.editor.ask("initialize", json!({ "capabilities": {} })).await;
    bench.editor.open(DOCUMENT, "start");
    let id = bench.call("edit", json!({}));
    assert_eq!(bench.editor.result(id).await["structuredContent"]["reply"], "the editor does not support this");
    assert_eq!(bench.editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn an_answer_without_a_result_is_an_answer() {
    let mut bench = Bench::ready("start").await;
    let id = bench.call("edit", json!({}));
    let (asked, _) = bench.editor.asked("workspace/applyEdit").await;
    bench.editor.send(&json!({ "jsonrpc": "2.0", "id": asked }));
    assert_eq!(bench.editor.result(id).await["structuredContent"]["reply"], "false");
    let id = bench.call("edit", json!({}));
    let (asked, _) = bench.editor.asked("workspace/applyEdit").await;
    bench.editor.send(&json!({ "jsonrpc": "2.0", "id": asked, "error": { "code": -32601, "message": "what?" } }));
    let reply = bench.editor.result(id).await["structuredContent"]["reply"].clone();
    assert_eq!(reply, "the editor answered with an error: what? (-32601)");
    assert_eq!(bench.editor.leave().await, 0);
}

/// What the double was told since the last time.
fn told(bench: &Bench) -> Vec<Value> {
    std::mem::take(&mut *bench.double.told.lock().unwrap())
}

#[tokio::test(start_paused = true)]
async fn folders_trust_and_settings_reach_the_rooms_in_order() {
    let place = tempfile::tempdir().unwrap();
    // Some temporary folders are behind a link.
    let place = SystemDisk.canonicalize(place.path()).unwrap();
    let (one, two) = (place.join("one"), place.join("two"));
    let uri = |path: &std::path::Path| url::Url::from_file_path(path).unwrap().to_string();
    let mut bench = Bench::start().await;
    let params = json!({
        "capabilities": {},
        "workspaceFolders": [{ "uri": uri(&one), "name": "one" }],
        "initializationOptions": { "trusted": true, "output": { "maxBytes": 5000 } },
    });
    bench.editor.ask("initialize", params).await;
    assert!(bench.rooms.trust.covers(&one) && !bench.rooms.trust.covers(&two));
    assert_eq!(
        told(&bench),
        [
            json!("trust"),
            json!({ "maxBytes": 30_000, "folders": [one] }),
            json!({ "maxBytes": 5000, "folders": [one] }),
        ]
    );

    let event = json!({ "added": [{ "uri": uri(&two) }], "removed": [{ "uri": uri(&one) }] });
    bench.editor.notify("workspace/didChangeWorkspaceFolders", json!({ "event": event }));
    let settings = json!({ "ropewalk": { "output": { "maxBytes": 6000 }, "typo": 1 } });
    bench.editor.notify("workspace/didChangeConfiguration", json!({ "settings": settings }));
    bench.editor.notify("ropewalk/didChangeTrust", json!({ "root": uri(&one), "trusted": true }));
    let changes = json!([{ "uri": uri(&two.join("a")), "type": 1 }, { "uri": uri(&two.join("b")), "type": 3 }]);
    bench.editor.notify("workspace/didChangeWatchedFiles", json!({ "changes": changes }));
    let context = json!({ "uri": "file:///x", "openEditors": ["file:///x"] });
    bench.editor.notify("ropewalk/didChangeContext", context);
    bench.editor.ask("ropewalk/settle", json!({})).await;
    assert!(bench.rooms.trust.covers(&one), "by name now");
    assert!(bench.rooms.trust.covers(&two), "because every open folder is");
    assert_eq!(bench.rooms.workspace.roots().folders, std::slice::from_ref(&two));
    assert_eq!(bench.rooms.context.now().open_editors, ["file:///x"]);
    assert_eq!(
        told(&bench),
        [
            json!("trust"),
            json!("trust"),
            json!({ "maxBytes": 5000, "folders": [two] }),
            json!({ "maxBytes": 6000, "folders": [two] }),
            json!("trust"),
            json!({ "file": { "uri": uri(&two.join("a")), "type": "created", "by": "user" } }),
            json!({ "file": { "uri": uri(&two.join("b")), "type": "deleted", "by": "user" } }),
        ]
    );
    let remark = bench.editor.next().await;
    assert_eq!(remark["method"], "window/logMessage");
    assert!(remark["params"]["message"].as_str().unwrap().starts_with("Ropewalk: setting typo: "), "{remark}");
    assert_eq!(bench.editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn what_a_project_says_over_the_users_settings_only_holds_back_and_ends_with_it() {
    let mut bench = Bench::start().await;
    let params = json!({
        "capabilities": { "workspace": { "configuration": true } },
        "initializationOptions": { "permissions": { "deny": ["read(a)"] }, "freshness": "warn", "guards": { "undone": false } },
    });
    bench.editor.ask("initialize", params).await;
    let loose = json!({
        "permissions": { "mode": "plan", "allow": ["*"], "deny": ["read(b)"] },
        "search": { "secrets": true },
        "freshness": "off",
        "syntaxGate": "off",
        "guards": { "repeats": false, "failures": false, "undone": true },
        "diagnostics": { "servers": { "evil": { "command": ["evil"] } } },
        "bash": { "keepEnvironment": ["A_TOKEN"] },
        "saveBeforeBash": true,
    });
    for (answer, denies, mode) in
        [(loose, &["read(a)", "read(b)"][..], Mode::Plan), (json!({}), &["read(a)"], Mode::Build)]
    {
        bench.editor.notify("workspace/didChangeConfiguration", json!({ "settings": null }));
        let (question, _) = bench.editor.asked("workspace/configuration").await;
        bench.editor.respond(&question, json!([answer]));
        bench.editor.ask("ropewalk/settle", json!({})).await;
        let settings = bench.rooms.workspace.settings();
        assert_eq!((settings.permissions.deny.as_slice(), settings.permissions.mode), (rules(denies).as_slice(), mode));
        assert!(settings.permissions.allow.is_empty() && settings.diagnostics.servers.is_empty());
        assert!(!settings.search.secrets && !settings.save_before_bash && settings.bash.keep_environment.is_empty());
        assert!(settings.freshness != Freshness::Off && settings.syntax_gate == SyntaxGate::Warn);
        assert!(settings.guards.repeats && settings.guards.failures);
    }
    bench.editor.accept_rest();
    assert_eq!(bench.editor.leave().await, 0);
}

fn rules(rules: &[&str]) -> Vec<String> {
    rules.iter().map(|&rule| rule.to_owned()).collect()
}

#[tokio::test(start_paused = true)]
async fn trust_can_be_a_list_and_is_nothing_else() {
    for (trusted, covered) in [
        (json!(["file:///listed"]), vec!["/listed", "/listed/below"]),
        (json!("file:///listed"), vec![]),
        (json!(1), vec![]),
        (json!(false), vec![]),
        (Value::Null, vec![]),
    ] {
        let mut bench = Bench::start().await;
        let options = json!({ "trusted": trusted });
        bench.editor.ask("initialize", json!({ "capabilities": {}, "initializationOptions": options })).await;
        for path in ["/listed", "/listed/below", "/", "/other"] {
            let trust = bench.rooms.trust.covers(std::path::Path::new(path));
            assert_eq!(trust, covered.contains(&path), "{options} {path}");
        }
        bench.editor.accept_rest();
        assert_eq!(bench.editor.leave().await, 0);
    }
}
