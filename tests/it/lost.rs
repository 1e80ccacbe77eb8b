//! Messages that are lost or cannot be read: nobody waits for an answer for ever, and no text is believed that may be wrong.

use ropewalk::workspace::Key;
use ropewalk::workspace::documents::{Snapshot, Sync};
use serde_json::{Value, json};

use crate::doubles::{Bench, DOCUMENT};
use crate::editor::framed;
use crate::order::same_text;

fn raw(body: &[u8]) -> Vec<u8> {
    [format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes(), body].concat()
}

fn document(bench: &Bench, uri: &str) -> Option<Snapshot> {
    let documents = &bench.rooms.workspace.documents;
    documents.key_of(uri).and_then(|key| documents.get(&key))
}

fn suspect(bench: &Bench, uri: &str) -> bool {
    matches!(document(bench, uri).unwrap().trust, Sync::Suspect(_))
}

/// Everything that was sent has been looked at when this returns.
async fn looked_at(bench: &mut Bench) {
    bench.editor.ask("ropewalk/listTools", json!({})).await;
}

async fn without_resync(uris: &[&str]) -> Bench {
    let mut bench = Bench::start().await;
    bench.editor.initialize(json!({})).await;
    for uri in uris {
        bench.editor.open(uri, "start");
    }
    bench
}

#[tokio::test(start_paused = true)]
async fn whoever_waits_is_answered() {
    let mut bench = without_resync(&[]).await;
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    let call = |id: u32, params: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ropewalk/callTool","params":{params}}}"#).into_bytes()
    };
    for (body, id, code) in [
        (b"{\"jsonrpc\":\"2.0\",\"id\":904,\"method\":\"x\",\"params\":\"\xff\"}".to_vec(), json!(904), -32700),
        (call(903, "{]"), json!(903), -32700),
        (b"{".to_vec(), Value::Null, -32700),
        (br#"{"jsonrpc":"2.0","id":1.5,"method":"ropewalk/listTools"}"#.to_vec(), Value::Null, -32600),
        (br#"[{"jsonrpc":"2.0","id":900,"method":"ropewalk/listTools"}]"#.to_vec(), Value::Null, -32600),
        (br#"{"jsonrpc":"2.0","id":908,"method":""}"#.to_vec(), json!(908), -32601),
        (call(905, &format!(r#"{{"name":"look","arguments":{deep}}}"#)), json!(905), -32602),
        (call(906, r#"{"name":"look","arguments":1e999}"#), json!(906), -32602),
    ] {
        bench.editor.send_raw(raw(&body));
        let answer = bench.editor.next().await;
        assert_eq!(
            (&answer["id"], &answer["error"]["code"]),
            (&id, &json!(code)),
            "{}",
            String::from_utf8_lossy(&body)
        );
    }
    bench.editor.send_raw(b"Content-Length: seven\r\n\r\n".to_vec());
    assert_eq!(bench.editor.next().await["error"]["code"], -32700);
    assert_eq!(bench.editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_lost_change_puts_in_doubt_what_it_may_be_about() {
    let other = "untitled:two";
    let change = |uri: &str, text: &[u8]| {
        let head = format!(
            r#"{{"jsonrpc":"2.0","method":"textDocument/didChange","params":{{"textDocument":{{"uri":"{uri}","version":2}},"contentChanges":[{{"text":"#
        );
        [head.as_bytes(), text, b"}]}}"].concat()
    };
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    for (lost, both) in [
        (raw(&change(DOCUMENT, b"\"\xff\"")), false),
        (raw(&change(DOCUMENT, deep.as_bytes())), false),
        (raw(&change(DOCUMENT, b"\"say \"hi\"\"")), false),
        (raw(&change("untitled:\\uzzzz", b"\"\"")), true),
        (raw(br#"{"jsonrpc":"2.0","method":"textDocument/didChange","params":{"textDocument":{"uri":7}}}"#), true),
        (raw(br#"{"jsonrpc":"2.0","method":"textDocument/didClose","params":{}}"#), true),
        (raw(b"{\"jsonrpc\":\"2.0\",\"method\":\"textDocument/did\xff\",\"params\":{}}"), true),
        (raw(br#"[{"jsonrpc":"2.0","method":"textDocument/didClose"}]"#), true),
        (b"Content-Length: seven\r\n\r\n".to_vec(), true),
        // Its length is that of its characters, so that its end is cut off.
        ("Content-Length: 44\r\n\r\n{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":[\"é\"]}".into(), true),
    ] {
        let shown = String::from_utf8_lossy(&lost).into_owned();
        let mut bench = without_resync(&[DOCUMENT, other]).await;
        bench.editor.send_raw(lost);
        looked_at(&mut bench).await;
        assert_eq!((suspect(&bench, DOCUMENT), suspect(&bench, other)), (true, both), "{shown}");
        // Opened again, it is known again.
        bench.editor.open(DOCUMENT, "opened again");
        looked_at(&mut bench).await;
        assert!(!suspect(&bench, DOCUMENT), "{shown}");
        bench.editor.accept_rest();
        assert_eq!(bench.editor.leave().await, 0);
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_no_change_puts_nothing_in_doubt() {
    let mut bench = without_resync(&[DOCUMENT]).await;
    for body in [
        r#"{"jsonrpc":"2.0","method":"x","params":1e999}"#,
        r#"{"jsonrpc":"2.0","method":"textDocument/didSave","params":1e999}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":1e999}"#,
        r#"{"jsonrpc":"1.0"}"#,
    ] {
        bench.editor.send_raw(framed(body));
    }
    looked_at(&mut bench).await;
    assert!(!suspect(&bench, DOCUMENT));
    bench.editor.accept_rest();
    assert_eq!(bench.editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_loss_while_the_text_is_asked_for_is_not_forgotten() {
    let mut bench = Bench::ready("start").await;
    let lost = || {
        framed(&format!(
            r#"{{"jsonrpc":"2.0","method":"textDocument/didChange","params":{{"textDocument":{{"uri":"{DOCUMENT}"}},"x":1e999}}}}"#
        ))
    };
    bench.editor.send_raw(lost());
    let (first, _) = bench.editor.asked("ropewalk/resync").await;
    bench.editor.send_raw(lost());
    bench.editor.respond(&first, json!({ "version": 2, "text": "between" }));
    let (second, _) = bench.editor.asked("ropewalk/resync").await;
    assert!(suspect(&bench, DOCUMENT));
    let buffer = bench.editor.buffers.get_mut(DOCUMENT).unwrap();
    (buffer.text, buffer.version) = ("after both".to_owned(), 3);
    bench.editor.respond(&second, json!({ "version": 3, "text": "after both" }));
    same_text(&mut bench.editor).await.unwrap();
    assert!(!suspect(&bench, DOCUMENT));
    assert_eq!(bench.editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn an_editor_whose_answers_are_never_readable_is_not_asked_for_ever() {
    let mut bench = Bench::ready("start").await;
    bench.editor.send_raw(framed("{"));
    let mut asked = 0;
    while let Some(message) = bench.editor.maybe_next().await {
        if message["method"] == "ropewalk/resync" {
            asked += 1;
            bench.editor.send_raw(framed("{"));
        }
    }
    assert_eq!(asked, 1);
    assert!(suspect(&bench, DOCUMENT));
    assert_eq!(bench.editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn an_odd_didopen_opens_all_the_same() {
    for (field, value, trusted) in [
        ("languageId", Value::Null, true),
        ("version", json!(1.0), true),
        ("version", Value::Null, false),
        ("version", json!(1u64 << 31), false),
        ("text", Value::Null, false),
    ] {
        let mut bench = Bench::ready("old").await;
        let mut opened = json!({ "uri": DOCUMENT, "languageId": "text", "version": 1, "text": "new" });
        opened[field] = value.clone();
        bench.editor.notify("textDocument/didOpen", json!({ "textDocument": opened }));
        bench.editor.buffers.get_mut(DOCUMENT).unwrap().text = "new".to_owned();
        if !trusted {
            let (id, _) = bench.editor.asked("ropewalk/resync").await;
            assert!(suspect(&bench, DOCUMENT), "{field} {value}");
            bench.editor.respond(&id, json!({ "version": 1, "text": "new" }));
        }
        same_text(&mut bench.editor).await.unwrap();
        assert!(!suspect(&bench, DOCUMENT), "{field} {value}");
        assert_eq!(bench.editor.leave().await, 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_document_whose_opening_was_lost_is_open() {
    let (one, two) = ("file:///nowhere/one.txt", "file:///nowhere/two.txt");
    let mut bench = without_resync(&[]).await;
    bench.editor.send_raw(framed(&format!(
        r#"{{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{{"textDocument":{{"uri":"{one}","text":1e999}}}}}}"#
    )));
    let change = json!({ "textDocument": { "uri": two, "version": 7 }, "contentChanges": [{ "text": "x" }] });
    bench.editor.notify("textDocument/didChange", change);
    looked_at(&mut bench).await;
    assert!(suspect(&bench, one) && suspect(&bench, two));
    // Whoever reads it is told.
    let target = bench.rooms.workspace.resolve("/nowhere/one.txt").unwrap();
    let note = bench.rooms.workspace.view(&target).await.unwrap().note.unwrap();
    assert!(note.starts_with("The editor's text of /nowhere/one.txt may differ from what is shown here"), "{note}");
    bench.editor.accept_rest();
    assert_eq!(bench.editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn another_spelling_means_the_open_document() {
    let (spelled, encoded) = ("file:///nowhere/a b.txt", "file:///nowhere/a%20b.txt");
    let mut bench = without_resync(&[spelled]).await;
    let change = |uri: &str| {
        let start = json!({ "line": 0, "character": 0 });
        let change = json!({ "range": { "start": start, "end": start }, "text": "NEW " });
        json!({ "textDocument": { "uri": uri, "version": 2 }, "contentChanges": [change] })
    };
    bench.editor.notify("textDocument/didChange", change(encoded));
    looked_at(&mut bench).await;
    let now = document(&bench, spelled).unwrap();
    assert_eq!((now.text.to_string().as_str(), now.version, now.trust), ("NEW start", 2, Sync::Good));

    // Two buffers of one file, and a third spelling: nobody knows which is meant.
    bench.editor.open(encoded, "other");
    bench.editor.notify("textDocument/didChange", change("file:///nowhere/%61%20b.txt"));
    looked_at(&mut bench).await;
    assert!(suspect(&bench, spelled) && suspect(&bench, encoded));
    assert_eq!(document(&bench, encoded).unwrap().text.to_string(), "other");

    bench.editor.notify("textDocument/didClose", json!({ "textDocument": { "uri": spelled } }));
    bench.editor.notify("textDocument/didClose", json!({ "textDocument": { "uri": "file:///nowhere/%61%20b.txt" } }));
    looked_at(&mut bench).await;
    assert_eq!(bench.rooms.workspace.documents.get(&Key::File("/nowhere/a b.txt".into())), None);
    assert!(bench.rooms.workspace.documents.all().is_empty());
    bench.editor.accept_rest();
    assert_eq!(bench.editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_cannot_be_read_ends_its_question() {
    let mut bench = Bench::ready("start").await;
    let id = bench.call("edit", json!({}));
    let (asked, _) = bench.editor.asked("workspace/applyEdit").await;
    bench
        .editor
        .send_raw(raw(&[format!(r#"{{"jsonrpc":"2.0","id":{asked},"result":"#).as_bytes(), b"\"caf\xe9\"}"].concat()));
    let reply = bench.editor.result(id).await["structuredContent"]["reply"].clone();
    assert_eq!(reply, "the editor answered with an error: an answer of the editor's could not be read (-32700)");
    assert_eq!(bench.editor.leave().await, 0);
}
