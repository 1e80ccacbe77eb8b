//! Real MCP servers behind the real slot: `server-everything` by stdio and by streamable HTTP, and `server-filesystem`.
//!
//! Skipped, with the reason printed, unless `ROPEWALK_TOOLS` names the folder `tests/run` installs the servers into.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a test may panic, and says why it is skipped")]

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ropewalk::config::Settings;
use ropewalk::editor::Absent;
use ropewalk::ports::{Ports, SystemClock};
use ropewalk::process::{Launch, Programs as _, Started, SystemPrograms, find};
use ropewalk::server::{Parts, assemble};
use ropewalk::workspace::Roots;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};

fn script(server: &str) -> Option<PathBuf> {
    let Some(tools) = ropewalk::ports::env("ROPEWALK_TOOLS").map(PathBuf::from) else {
        println!("skipped: ROPEWALK_TOOLS does not name the folder with the MCP servers");
        return None;
    };
    let script = tools.join(format!("mcp/node_modules/@modelcontextprotocol/{server}/dist/index.js"));
    assert!(script.is_file(), "{} is missing; tests/run installs it", script.display());
    Some(script)
}

/// The slot with these servers, all of them trusted, in a folder that is too.
fn slot(folder: &Path, servers: &Value) -> Parts {
    let parts = assemble(Ports::system(), Arc::new(Absent));
    parts.workspace.set_roots(Roots { folders: vec![folder.to_owned()] });
    parts.trust.set(folder, true);
    let (settings, remarks) = Settings::parse(&json!({ "mcp": { "servers": servers } }));
    assert_eq!(remarks, []);
    parts.workspace.set_settings(Arc::new(settings));
    parts.dispatch.configured();
    parts
}

/// The result of a call, as it goes over the wire.
async fn called(parts: &Parts, name: &str, arguments: Value) -> Value {
    let params = serde_json::from_value(json!({ "name": name, "arguments": arguments })).unwrap();
    let admitted = parts.dispatch.admit(params);
    serde_json::to_value(parts.dispatch.run(admitted).await).unwrap()
}

fn text(result: &Value) -> String {
    let pieces = result["content"].as_array().unwrap().iter();
    pieces.filter_map(|piece| piece["text"].as_str()).collect::<Vec<_>>().join("\n")
}

async fn everything(parts: &Parts) {
    let found = called(parts, "tool_search", json!({ "query": "echo", "limit": 3 })).await;
    assert!(text(&found).contains("mcp__everything__echo"), "{found}");
    let echoed = called(parts, "mcp__everything__echo", json!({ "message": "one\u{200b} two" })).await;
    assert_eq!(echoed["status"], "ok", "{echoed}");
    assert!(text(&echoed).contains("Echo: one two"), "{echoed}");
    let sum = called(parts, "mcp__everything__get-sum", json!({ "a": "2", "b": 3 })).await;
    assert!(text(&sum).contains('5'), "{sum}");
    let wrong = called(parts, "mcp__everything__get-sum", json!({ "a": 2 })).await;
    assert_eq!(wrong["error"]["kind"], "invalidArguments", "{wrong}");
    let image = called(parts, "mcp__everything__get-tiny-image", json!({})).await;
    assert!(text(&image).contains("(a picture, image/png, "), "{image}");
    let links = called(parts, "mcp__everything__get-resource-links", json!({ "count": 2 })).await;
    assert!(text(&links).contains("(resource demo://resource/"), "{links}");
    let data = called(parts, "mcp__everything__get-structured-content", json!({ "location": "New York" })).await;
    assert!(data["structuredContent"]["temperature"].is_number(), "{data}");
    let arguments = json!({ "duration": 0.2, "steps": 2 });
    let long = called(parts, "mcp__everything__trigger-long-running-operation", arguments).await;
    assert_eq!(long["status"], "ok", "{long}");
    let resources = called(parts, "mcp", json!({ "action": "resources" })).await;
    assert!(text(&resources).contains("demo://resource/static/document/"), "{resources}");
    let read = json!({ "action": "read", "uri": "demo://resource/dynamic/text/1" });
    let read = called(parts, "mcp", read).await;
    assert!(text(&read).contains("[resource demo://resource/dynamic/text/1]"), "{read}");
    let missing = called(parts, "mcp", json!({ "action": "read", "uri": "demo://nothing" })).await;
    assert_eq!(missing["status"], "error", "{missing}");
    let prompts = called(parts, "mcp", json!({ "action": "prompts" })).await;
    assert!(text(&prompts).contains("simple-prompt"), "{prompts}");
    let prompt = called(parts, "mcp", json!({ "action": "prompt", "name": "simple-prompt" })).await;
    assert!(text(&prompt).contains("[user]"), "{prompt}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_by_stdio() {
    let Some(script) = script("server-everything") else { return };
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    let server = json!({ "command": "node", "args": [script, "stdio"], "trusted": true });
    let parts = slot(&folder, &json!({ "everything": server }));
    everything(&parts).await;
    let roots = called(&parts, "mcp__everything__get-roots-list", json!({})).await;
    assert!(text(&roots).contains(&*folder.to_string_lossy()), "{roots}");
    parts.dispatch.cancel_all();
    parts.dispatch.idle().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_by_http() {
    let Some(script) = script("server-everything") else { return };
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    let port = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
    let launch = Launch {
        // What it says when it listens goes to its error stream.
        program: find("sh", &[]).unwrap(),
        args: vec!["-c".to_owned(), format!("exec node '{}' streamableHttp 2>&1", script.display())],
        env: [("PORT".to_owned(), port.to_string())].into(),
        ..Launch::default()
    };
    let programs = SystemPrograms::new(Arc::new(SystemClock));
    let Started { reader, child, writer } = programs.start(&launch).unwrap();
    let mut lines = BufReader::new(reader).lines();
    while let Some(line) = lines.next_line().await.unwrap() {
        if line.contains("listening") {
            break;
        }
    }
    let url = format!("http://127.0.0.1:{port}/mcp");
    let parts = slot(&folder, &json!({ "everything": { "url": url, "trusted": true } }));
    everything(&parts).await;
    parts.dispatch.cancel_all();
    parts.dispatch.idle().await;
    drop((child, writer, lines));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files() {
    let Some(script) = script("server-filesystem") else { return };
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    let server = json!({ "command": "node", "args": [script, "${workspaceFolder}"], "trusted": true });
    let parts = slot(&folder, &json!({ "files": server }));
    let path = folder.join("a.txt");
    let arguments = json!({ "path": path, "content": "written by a server\n" });
    let wrote = called(&parts, "mcp__files__write_file", arguments).await;
    assert_eq!(wrote["status"], "ok", "{wrote}");
    let read = called(&parts, "read", json!({ "file_path": path })).await;
    assert!(text(&read).contains("written by a server"), "{read}");
    let list = called(&parts, "mcp__files__list_directory", json!({ "path": folder })).await;
    assert!(text(&list).contains("a.txt"), "{list}");
    let outside = called(&parts, "mcp__files__read_text_file", json!({ "path": "/etc/passwd" })).await;
    assert_eq!((&outside["status"], &outside["error"]["kind"]), (&json!("error"), &json!("failed")), "{outside}");
    parts.dispatch.cancel_all();
    parts.dispatch.idle().await;
}
