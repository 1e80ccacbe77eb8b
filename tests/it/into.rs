//! Into a call, over the wire: what is cut off, what streams in, and the user's hooks.

use std::sync::Arc;

use ropewalk::ports::{MemoryDisk, Ports};
use ropewalk::process::{Exit, PlayedPrograms, Printed};
use ropewalk::server::{self, Rooms, ServeOptions};
use serde_json::{Value, json};

use crate::editor::{FakeEditor, Manner};
use crate::real::{URI, editor_with_notes};

async fn drop_news(editor: &mut FakeEditor) {
    editor.ask("ropewalk/settle", json!({})).await;
    while editor.stashed(|message| message["method"] == "ropewalk/toolEvent").is_some() {}
}

fn piece(editor: &FakeEditor, call: &str, name: &str, index: u64, delta: &str, done: bool) {
    let mut params = json!({ "callId": call, "messageId": "m1", "index": index, "delta": delta, "done": done });
    if !name.is_empty() {
        params["name"] = json!(name);
    }
    editor.notify("ropewalk/toolInput", params);
}

fn said(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap()
}

#[tokio::test(start_paused = true)]
async fn what_was_cut_off_is_refused_and_changes_nothing() {
    let (mut editor, disk) = editor_with_notes().await;
    let whole = json!({ "file_path": "new.txt", "content": "one\ntwo\n" });
    for (params, kind) in [
        (json!({ "name": "write", "arguments": whole, "truncated": true }), "truncated"),
        (
            json!({ "name": "write", "arguments": r#"{"file_path": "new.txt", "content": "on"#, "truncated": true }),
            "truncated",
        ),
        (json!({ "name": "write", "arguments": r#"{"file_path": "new.txt", "content": "on"# }), "invalidArguments"),
        (json!({ "name": "write", "arguments": r#"{"file_path": "new.txt", "content": "on"}}"# }), "invalidArguments"),
    ] {
        let result = editor.ask("ropewalk/callTool", params.clone()).await;
        assert_eq!(result["error"]["kind"], kind, "{params} {result}");
        assert!(disk.bytes("/w/new.txt").is_none());
    }
    // A read is harmless, and says what was made of its arguments.
    let cut = json!({ "name": "read", "arguments": r#"{"file_path": "notes.txt"# });
    let result = editor.ask("ropewalk/callTool", cut).await;
    assert_eq!(result["status"], "ok", "{result}");
    assert!(result["content"].to_string().contains("not whole JSON"), "{result}");
    // A stream that nobody finished.
    piece(&editor, "c1", "write", 0, r#"{"file_path": "new.txt", "content": "all of it"}"#, false);
    let result = editor.ask("ropewalk/callTool", json!({ "name": "write", "callId": "c1" })).await;
    assert_eq!(result["error"]["kind"], "truncated", "{result}");
    assert!(disk.bytes("/w/new.txt").is_none());
    drop_news(&mut editor).await;
    assert_eq!(editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_read_that_starts_early_never_overtakes_a_write() {
    let (mut editor, _) = editor_with_notes().await;
    // Alone, it gives what any read gives.
    for (delta, done) in [("{\"file_", false), ("path\": \"notes.t", false), ("xt\"}", true)] {
        piece(&editor, "r1", "read", 0, delta, done);
    }
    let early = editor.ask("ropewalk/callTool", json!({ "name": "read", "callId": "r1" })).await;
    let plain = json!({ "name": "read", "arguments": { "file_path": "notes.txt" } });
    let plain = editor.ask("ropewalk/callTool", plain).await;
    assert_eq!(early["content"], plain["content"]);
    assert_eq!(early["structuredContent"], plain["structuredContent"]);

    // A write and a read of what it wrote, in one message.
    let write = json!({ "file_path": "notes.txt", "content": "ONE!\ntwo\n" }).to_string();
    piece(&editor, "w", "write", 0, &write[..30], false);
    piece(&editor, "r2", "read", 1, "{\"file_path\": \"notes.txt\"}", true);
    piece(&editor, "w", "", 0, &write[30..], true);
    // Whatever can start has started when this is answered.
    editor.ask("ropewalk/settle", json!({})).await;
    let first = editor.request("ropewalk/callTool", json!({ "name": "write", "callId": "w" }));
    let second = editor.request("ropewalk/callTool", json!({ "name": "read", "callId": "r2" }));
    editor.serve_edit(Manner::Apply).await;
    assert_eq!(editor.result(first).await["status"], "ok");
    let read = editor.result(second).await;
    assert!(said(&read).contains("ONE!"), "{read}");
    assert_eq!(editor.buffers[URI].text, "ONE!\ntwo\n");

    // Typing after a read began early is in what the call gives.
    piece(&editor, "r3", "read", 0, "{\"file_path\": \"notes.txt\"}", true);
    editor.ask("ropewalk/settle", json!({})).await;
    editor.splice(URI, 0..0, "typed ");
    let read = editor.ask("ropewalk/callTool", json!({ "name": "read", "callId": "r3" })).await;
    assert!(said(&read).contains("typed ONE!"), "{read}");
    editor.ask("ropewalk/settle", json!({})).await;
    let preview = editor.stashed(|message| message["params"]["kind"] == "preview").expect("a preview");
    assert_eq!((&preview["params"]["callId"], &preview["params"]["name"]), (&json!("w"), &json!("write")));
    assert_eq!(preview["params"]["detail"]["arguments"]["file_path"], "notes.txt", "{preview}");
    drop_news(&mut editor).await;
    assert_eq!(editor.leave().await, 0);
}

/// An editor whose user has these hooks; the program `/opt/guard` answers with what its second argument holds.
async fn editor_with_hooks(hooks: Value) -> (FakeEditor, Arc<MemoryDisk>) {
    let disk = Arc::new(MemoryDisk::new().with_file("/w/a.txt", "one\n").with_file("/w/b.txt", "two\n"));
    let ports = Ports { disk: disk.clone(), ..Ports::system() };
    let options = ServeOptions { repeatable: true, ..ServeOptions::default() };
    let mut editor = FakeEditor::start(|input, output| {
        let rooms = {
            let ports = ports.clone();
            move |editor| {
                let parts = server::assemble(ports, editor);
                let (programs, _) = PlayedPrograms::new("/bin");
                let programs = programs.answering("/opt/guard", |launch, _| {
                    Some(Printed { exit: Exit::Code(0), stdout: launch.args[0].clone(), stderr: String::new() })
                });
                parts.dispatch.set_programs(Arc::new(programs));
                Rooms::of(&parts)
            }
        };
        tokio::spawn(server::serve_with(input, output, ports, options, rooms))
    });
    let params = json!({
        "processId": null,
        "workspaceFolders": [{ "uri": "file:///w", "name": "w" }],
        "initializationOptions": { "diagnostics": { "ownServers": "off" }, "hooks": hooks },
        "capabilities": { "workspace": { "applyEdit": true, "configuration": true } },
    });
    editor.ask("initialize", params).await;
    (editor, disk)
}

fn guard(answer: Value) -> Value {
    json!({ "command": ["/opt/guard", answer.to_string()] })
}

#[tokio::test(start_paused = true)]
async fn hooks_block_rewrite_and_add_words() {
    let mut blocks = guard(json!({ "block": "no writing on Mondays" }));
    blocks["tool"] = json!("write");
    let mut rewrites = guard(json!({ "arguments": { "path": "b.txt" }, "context": "a.txt is old" }));
    rewrites["tool"] = json!("read");
    let mut adds = guard(json!({ "context": "read it twice" }));
    adds["name"] = json!("teacher");
    let (mut editor, disk) = editor_with_hooks(json!({ "before": [blocks, rewrites], "after": [adds] })).await;

    let write = json!({ "name": "write", "arguments": { "file_path": "n.txt", "content": "x" } });
    let blocked = editor.ask("ropewalk/callTool", write.clone()).await;
    assert_eq!(blocked["status"], "denied", "{blocked}");
    assert_eq!(said(&blocked), "The hook `guard` blocked this call: no writing on Mondays");
    assert!(disk.bytes("/w/n.txt").is_none());

    let read = json!({ "name": "read", "arguments": { "file_path": "a.txt" } });
    let result = editor.ask("ropewalk/callTool", read.clone()).await;
    assert!(said(&result).contains("two"), "{result}");
    let added: Vec<&str> =
        result["content"].as_array().unwrap()[1..].iter().map(|content| content["text"].as_str().unwrap()).collect();
    assert_eq!(added, ["[hook guard] a.txt is old", "[hook teacher] read it twice"]);

    // What comes of the editor's merged configuration, where a project has its say, neither takes hooks away nor adds any.
    editor.notify("workspace/didChangeConfiguration", json!({ "settings": null }));
    let (id, _) = editor.asked("workspace/configuration").await;
    editor.respond(&id, json!([{ "hooks": { "before": [guard(json!({ "block": "by the project" }))] } }]));
    let result = editor.ask("ropewalk/callTool", read.clone()).await;
    assert!(said(&result).contains("two"), "{result}");
    // The user's own settings do.
    editor.notify("workspace/didChangeConfiguration", json!({ "settings": { "ropewalk": { "freshness": "warn" } } }));
    let result = editor.ask("ropewalk/callTool", read).await;
    assert!(said(&result).contains("one") && result["content"].as_array().unwrap().len() == 1, "{result}");
    assert_eq!(editor.ask("ropewalk/callTool", write).await["status"], "ok");
    editor.accept_rest();
    assert_eq!(editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_pieces_mixes_nothing_up_and_typing_goes_on() {
    let (mut editor, disk) = editor_with_notes().await;
    let whole = r#"{"file_path": "notes.txt", "note": "caf\u00e9 \ud83d\ude00"}"#;
    // Of more calls than are kept.
    for number in 0..10_000 {
        piece(&editor, &format!("d{}", number % 700), ["", "nobody", "write", "bash"][number % 4], 99, "{\"x", false);
    }
    // Then those of 40 calls, interleaved and cut everywhere, within escapes and pairs of them too.
    for at in 0..whole.len() {
        let delta = &whole[at..=at];
        for call in 0..40 {
            piece(&editor, &format!("c{call}"), if at == 0 { "read" } else { "" }, call, delta, at + 1 == whole.len());
        }
    }
    // Malformed ones, and some for nobody.
    for params in [
        json!({}),
        json!({ "callId": "" }),
        json!({ "callId": 7 }),
        json!({ "callId": "e", "delta": 7 }),
        json!([1]),
        json!(null),
        json!({ "callId": "x".repeat(1000), "delta": "{" }),
        json!({ "callId": "e", "index": -1 }),
        json!({ "callId": "c0", "messageId": "m1", "index": 0, "delta": "late", "done": true }),
    ] {
        editor.notify("ropewalk/toolInput", params);
    }
    editor.splice(URI, 0..0, "typed ");
    let text = editor.ask("ropewalk/documentText", json!({ "uri": URI })).await;
    assert!(text["text"].as_str().unwrap().starts_with("typed "), "{text}");
    // The field `note` is none of `read`: each call is told of its own, and of no other's.
    for call in [0, 17, 39] {
        let result = editor.ask("ropewalk/callTool", json!({ "callId": format!("c{call}"), "name": "read" })).await;
        assert_eq!(result["error"]["kind"], "invalidArguments", "{result}");
        assert!(said(&result).contains("`note` is not a parameter"), "{result}");
    }
    let fragment = editor.ask("ropewalk/callTool", json!({ "callId": "d699", "name": "write" })).await;
    assert_eq!(fragment["error"]["kind"], "truncated", "{fragment}");
    // One that gave way to later ones is no call without arguments.
    let given_way = editor.ask("ropewalk/callTool", json!({ "callId": "d0", "name": "write" })).await;
    assert_eq!(given_way["error"]["kind"], "invalidArguments", "{given_way}");
    assert!(said(&given_way).contains("too many calls streamed in"), "{given_way}");
    assert!(disk.bytes("/w/new.txt").is_none());
    drop_news(&mut editor).await;
    editor.accept_rest();
    assert_eq!(editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn previews_do_not_pile_up_before_an_editor_that_does_not_read() {
    let (mut editor, disk) = editor_with_notes().await;
    editor.read_on(false);
    piece(&editor, "w", "write", 0, "{\"file_path\": \"new.txt\", \"content\": \"", false);
    let line = "x".repeat(1000);
    for _ in 0..200 {
        piece(&editor, "w", "", 0, &line, false);
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    piece(&editor, "w", "", 0, "\"}", true);
    editor.read_on(true);
    let result = editor.ask("ropewalk/callTool", json!({ "name": "write", "callId": "w" })).await;
    assert_eq!(result["status"], "ok", "{result}");
    assert_eq!(disk.bytes("/w/new.txt").map(|bytes| bytes.len()), Some(200_000));
    // Each shows all that has come so far: were every one of them sent, that would be 20 MB.
    let mut bytes = 0;
    while let Some(preview) = editor.stashed(|message| message["params"]["kind"] == "preview") {
        bytes += preview.to_string().len();
    }
    assert!((1..2 << 20).contains(&bytes), "{bytes}");
    editor.ask("ropewalk/settle", json!({})).await;
    editor.accept_rest();
    assert_eq!(editor.leave().await, 0);
}
