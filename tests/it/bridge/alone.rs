//! Without an editor, over a pipe in memory.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rmcp::model::{ClientRequest, PaginatedRequestParams, Request, ServerResult};
use rmcp::service::PeerRequestOptions;
use ropewalk::bridge::{Alone, serve_alone};
use ropewalk::config::Settings;
use ropewalk::ports::{Disk as _, MemoryDisk, Ports};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::agent::{Heard, Manner, Running, call, result, start, status, text};

fn disk() -> Arc<MemoryDisk> {
    let disk = MemoryDisk::new().with_dir("/w").with_dir("/v").with_file("/out/plan.txt", "a plan\n");
    disk.create(Path::new("/w/notes.txt"), b"one\ntwo\n").unwrap();
    disk.create(Path::new("/v/other.txt"), b"other\n").unwrap();
    Arc::new(disk)
}

fn options(asks_roots: bool, allow: &[&str]) -> Alone {
    let (settings, _) = Settings::parse(&json!({
        "diagnostics": { "ownServers": "off" }, "permissions": { "allow": allow },
    }));
    Alone { root: PathBuf::from("/w"), asks_roots, settings, repeatable: true, ..Alone::default() }
}

async fn served(disk: &Arc<MemoryDisk>, options: Alone, manner: Manner) -> (Running, JoinHandle<()>) {
    let (theirs, ours) = tokio::io::duplex(1 << 16);
    let (input, output) = tokio::io::split(ours);
    let ports = Ports { disk: Arc::clone(disk) as Arc<_>, ..Ports::system() };
    let serving = tokio::spawn(serve_alone(input, output, ports, options, CancellationToken::new()));
    let (input, output) = tokio::io::split(theirs);
    (start(manner, input, output).await, serving)
}

/// A client that can ask its user, who answers so.
fn asking(answer: Option<Value>) -> Manner {
    Manner { capabilities: json!({ "elicitation": {} }), answer, ..Manner::default() }
}

#[tokio::test]
async fn tools_are_listed_and_a_file_is_changed_by_the_rules_of_all_calls() {
    let disk = disk();
    let (client, serving) = served(&disk, options(false, &[]), Manner::default()).await;
    let info = client.service.peer().peer_info().unwrap();
    let info = serde_json::to_value(&*info).unwrap();
    assert_eq!((&info["serverInfo"]["name"], &info["protocolVersion"]), (&json!("ropewalk"), &json!("2025-11-25")));
    assert!(info["instructions"].as_str().unwrap().contains("is not overwritten"));
    assert_eq!(info["capabilities"].get("resources"), None, "there is no editor that shows anything");
    let tools = client.service.peer().list_all_tools().await.unwrap();
    let tools = serde_json::to_value(tools).unwrap();
    let named = |name: &str| tools.as_array().unwrap().iter().find(|tool| tool["name"] == name).unwrap().clone();
    assert_eq!(named("read")["annotations"]["readOnlyHint"], true);
    assert_eq!(named("edit")["annotations"]["readOnlyHint"], false);
    assert_eq!(named("edit")["inputSchema"]["properties"]["file_path"]["type"], "string");

    let unread = client.call("write", json!({ "file_path": "notes.txt", "content": "x\n" })).await;
    assert_eq!((status(&unread), &unread["isError"]), ("error", &json!(true)), "it was not read: {unread}");
    let read = client.call("read", json!({ "file_path": "notes.txt" })).await;
    assert!(text(&read).contains("two") && read["isError"] == false, "{read}");
    let edit = json!({ "file_path": "notes.txt", "old_string": "two", "new_string": "2" });
    let edited = client.call("edit", edit).await;
    assert_eq!((status(&edited), &edited["_meta"]["ropewalk/applied"]), ("ok", &json!("all")), "{edited}");
    assert_eq!(disk.bytes("/w/notes.txt").unwrap(), b"one\n2\n");
    let unknown = client.call("frobnicate", json!({})).await;
    assert_eq!(unknown["_meta"]["ropewalk/error"], "unknownTool", "{unknown}");
    client.service.cancel().await.unwrap();
    serving.await.unwrap();
}

#[tokio::test]
async fn what_needs_consent_is_asked_through_the_client_or_denied() {
    let outside = || json!({ "file_path": "/out/plan.txt" });
    let accept = |decision: &str| Some(json!({ "action": "accept", "content": { "decision": decision } }));
    for (answer, statuses) in [
        (accept("once"), ["ok", "ok"]),
        (accept("deny"), ["denied", "denied"]),
        (Some(json!({ "action": "decline" })), ["denied", "denied"]),
        (Some(json!({ "action": "cancel" })), ["denied", "denied"]),
    ] {
        let (mut client, _serving) = served(&disk(), options(false, &[]), asking(answer.clone())).await;
        for expected in statuses {
            let read = client.call("read", outside()).await;
            assert_eq!(status(&read), expected, "{answer:?}: {read}");
        }
        let Heard::Asked(question) = client.hears(|heard| matches!(heard, Heard::Asked(_))).await else { panic!() };
        assert!(question.starts_with("Allow read?") && question.contains("/out/plan.txt"), "{question}");
    }
    let (client, _serving) = served(&disk(), options(false, &[]), Manner::default()).await;
    let read = client.call("read", outside()).await;
    assert_eq!(status(&read), "denied");
    assert!(text(&read).contains("nobody could be asked") && text(&read).contains("permissions.allow"), "{read}");
    let (client, _serving) = served(&disk(), options(false, &["read(/out/**)"]), Manner::default()).await;
    assert_eq!(status(&client.call("read", outside()).await), "ok");
}

#[tokio::test]
async fn a_call_that_is_cancelled_takes_its_question_back() {
    let (mut client, _serving) = served(&disk(), options(false, &[]), asking(None)).await;
    let request = ClientRequest::CallToolRequest(Request::new(call("read", json!({ "file_path": "/out/plan.txt" }))));
    let asked =
        client.service.peer().send_cancellable_request(request, PeerRequestOptions::no_options()).await.unwrap();
    client.hears(|heard| matches!(heard, Heard::Asked(_))).await;
    asked.cancel(Some("enough".into())).await.unwrap();
    // The next call of the session has its turn once the cancelled one has ended.
    let read = client.call("read", json!({ "file_path": "notes.txt" })).await;
    assert_eq!(status(&read), "ok");
    while *client.taken_back.lock().unwrap() == 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn the_clients_folders_count_where_none_is_given() {
    let manner = |roots: &[&str]| Manner {
        capabilities: json!({ "roots": {} }),
        roots: roots.iter().map(|root| (*root).to_owned()).collect(),
        ..Manner::default()
    };
    for (asks, roots, found, lost) in [
        (true, &["file:///v", "file:///nowhere", "untitled:x"][..], "other.txt", "notes.txt"),
        (true, &[][..], "notes.txt", "other.txt"),
        (false, &["file:///v"][..], "notes.txt", "other.txt"),
    ] {
        let (client, _serving) = served(&disk(), options(asks, &[]), manner(roots)).await;
        // Sent at once: it waits until the folders are known.
        let listed = client.call("glob", json!({ "pattern": "**/*.txt" })).await;
        assert!(text(&listed).contains(found) && !text(&listed).contains(lost), "{roots:?}: {listed}");
    }
}

#[tokio::test]
async fn pages_progress_and_calls_that_do_not_fit() {
    let (mut client, _serving) = served(&disk(), options(false, &[]), Manner::default()).await;
    let peer = client.service.peer().clone();
    let nowhere = PaginatedRequestParams::default().with_cursor(Some("nowhere".into()));
    assert!(peer.list_tools(Some(nowhere)).await.unwrap_err().to_string().contains("leads nowhere"));
    // This client always gives a token.
    let read = client.call("read", json!({ "file_path": "notes.txt" })).await;
    assert_eq!(status(&read), "ok");
    let heard = client.hears(|heard| matches!(heard, Heard::Progress(..))).await;
    assert!(matches!(heard, Heard::Progress(progress, Some(_)) if progress == 0.0), "{heard:?}");
    let misfit = client.call("read", json!({ "file_path": 7, "offset": "x" })).await;
    assert_eq!(misfit["_meta"]["ropewalk/error"], "invalidArguments", "{misfit}");
    let ping: ClientRequest = serde_json::from_value(json!({ "method": "ping" })).unwrap();
    let pinged = peer.send_request(ping).await;
    assert!(matches!(pinged, Ok(ServerResult::EmptyResult(_))), "{pinged:?}");
}

/// A client that is not careful: raw lines over the pipe.
struct Raw {
    output: tokio::io::WriteHalf<tokio::io::DuplexStream>,
    lines: tokio::io::Lines<BufReader<tokio::io::ReadHalf<tokio::io::DuplexStream>>>,
}

impl Raw {
    fn start() -> Raw {
        let (theirs, ours) = tokio::io::duplex(1 << 20);
        let (input, output) = tokio::io::split(ours);
        let ports = Ports { disk: disk() as Arc<_>, ..Ports::system() };
        tokio::spawn(serve_alone(input, output, ports, options(false, &[]), CancellationToken::new()));
        let (input, output) = tokio::io::split(theirs);
        Raw { output, lines: BufReader::new(input).lines() }
    }

    async fn say(&mut self, message: Value) {
        self.output.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    async fn request(&mut self, id: u32, method: &str, params: Value) {
        self.say(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await;
    }

    async fn hear(&mut self) -> Option<Value> {
        self.lines.next_line().await.unwrap().map(|line| serde_json::from_str(&line).unwrap())
    }

    async fn introduce(&mut self, version: &str) -> Value {
        let client = json!({ "name": "raw", "version": "0" });
        let params = json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": client });
        self.request(1, "initialize", params).await;
        let answer = self.hear().await.unwrap();
        self.say(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
        answer
    }
}

#[tokio::test]
async fn versions_are_negotiated() {
    for (asked, agreed) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ] {
        let mut raw = Raw::start();
        assert_eq!(raw.introduce(asked).await["result"]["protocolVersion"], agreed, "{asked}");
    }
}

#[tokio::test]
async fn odd_clients_are_answered_and_survived() {
    let mut raw = Raw::start();
    raw.request(7, "tools/call", json!({ "name": "read", "arguments": { "file_path": "notes.txt" } })).await;
    assert!(raw.hear().await.unwrap()["error"].is_object(), "not introduced yet");
    raw.introduce("2025-11-25").await;
    raw.request(2, "tools/call", json!({ "name": "read", "arguments": "notes.txt" })).await;
    let answer = raw.hear().await.unwrap();
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(2), &json!(-32602)), "{answer}");
    raw.request(3, "resources/list", json!({})).await;
    assert_eq!(raw.hear().await.unwrap()["error"]["code"], -32601);
    raw.request(4, "no/such", json!({})).await;
    assert_eq!(raw.hear().await.unwrap()["error"]["code"], -32601);
    raw.output.write_all(b"\n{\"half\n").await.unwrap();
    raw.request(5, "tools/call", json!({ "name": "read", "arguments": { "file_path": "notes.txt" } })).await;
    let answer = raw.hear().await.unwrap();
    assert_eq!((&answer["id"], &answer["result"]["isError"]), (&json!(5), &json!(false)), "{answer}");
}

#[tokio::test]
async fn calls_take_effect_in_the_order_of_their_messages() {
    let mut raw = Raw::start();
    raw.introduce("2025-11-25").await;
    raw.request(2, "tools/call", json!({ "name": "read", "arguments": { "file_path": "notes.txt" } })).await;
    let mut last = "two".to_owned();
    for id in 3..23 {
        let next = format!("line{id}");
        let edit = json!({ "file_path": "notes.txt", "old_string": last, "new_string": next });
        raw.request(id, "tools/call", json!({ "name": "edit", "arguments": edit })).await;
        last = next;
    }
    for _ in 2..23 {
        let answer = raw.hear().await.unwrap();
        assert_eq!(answer["result"]["isError"], false, "each finds what the one before it wrote: {answer}");
    }
}

#[tokio::test]
async fn too_much_at_once_is_refused_and_the_rest_goes_on() {
    let mut raw = Raw::start();
    raw.introduce("2025-11-25").await;
    let mut open = 0;
    let mut refused = 0;
    for id in 10..210 {
        raw.request(id, "tools/call", json!({ "name": "read", "arguments": { "file_path": "notes.txt" } })).await;
    }
    for _ in 10..210 {
        let answer = raw.hear().await.unwrap();
        if answer["error"]["code"] == -32000 {
            refused += 1;
        } else {
            assert_eq!(answer["result"]["isError"], false, "{answer}");
            open += 1;
        }
    }
    assert!(open >= 64 && open + refused == 200, "{open} {refused}");
    raw.request(500, "ping", json!({})).await;
    assert_eq!(raw.hear().await.unwrap()["id"], 500);
    let same = json!({ "name": "read", "arguments": { "file_path": "/out/plan.txt" } });
    raw.request(600, "tools/call", same.clone()).await;
    raw.request(600, "tools/call", same).await;
    let answers = [raw.hear().await.unwrap(), raw.hear().await.unwrap()];
    assert!(answers.iter().any(|answer| answer["result"]["isError"] == true), "{answers:?}");
}

#[tokio::test]
async fn a_result_of_the_client_library_is_a_plain_one() {
    let (client, _serving) = served(&disk(), options(false, &[]), Manner::default()).await;
    let read = client.service.peer().call_tool(call("ls", json!({ "path": "/w" }))).await.unwrap();
    assert!(text(&result(read)).contains("notes.txt"));
}
