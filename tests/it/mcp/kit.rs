//! An editor with real rooms, and MCP servers that do as a test says.

use std::sync::Arc;

use ropewalk::ports::{MemoryDisk, Ports};
use ropewalk::process::{Launch, PlayedPrograms};
use ropewalk::server::{self, Rooms, ServeOptions};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf, split};
use tokio::sync::mpsc;

use crate::editor::FakeEditor;

/// The server's side of one connection.
pub struct Played {
    /// How it was started.
    pub launch: Launch,
    reader: BufReader<ReadHalf<DuplexStream>>,
    writer: WriteHalf<DuplexStream>,
}

impl Played {
    /// The next message of the client's; `None`: it is gone.
    pub async fn next(&mut self) -> Option<Value> {
        let mut line = String::new();
        match self.reader.read_line(&mut line).await {
            Ok(0) | Err(_) => None,
            Ok(_) => Some(serde_json::from_str(&line).expect("JSON")),
        }
    }

    /// The next message with this method; others before it are left unanswered.
    pub async fn asked(&mut self, method: &str) -> Value {
        loop {
            let message = self.next().await.unwrap_or_else(|| panic!("never asked for {method}"));
            if message["method"] == method {
                return message;
            }
        }
    }

    /// Writes a line as it is.
    pub async fn line(&mut self, line: &str) {
        self.writer.write_all(format!("{line}\n").as_bytes()).await.expect("a client");
    }

    /// Sends a message.
    pub async fn send(&mut self, message: Value) {
        self.line(&message.to_string()).await;
    }

    /// Answers a request.
    pub async fn answer(&mut self, request: &Value, result: Value) {
        self.send(json!({ "jsonrpc": "2.0", "id": request["id"], "result": result })).await;
    }

    /// Sends a notification.
    pub async fn note(&mut self, method: &str, params: Value) {
        self.send(json!({ "jsonrpc": "2.0", "method": method, "params": params })).await;
    }

    /// Introduces itself, with these tools.
    pub async fn hello(&mut self, tools: Value) -> Value {
        let hello = self.asked("initialize").await;
        let result = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": { "tools": { "listChanged": true }, "resources": {}, "prompts": {} },
            "serverInfo": { "name": "played", "version": "1" },
            "instructions": "Use me well.",
        });
        self.answer(&hello, result).await;
        self.tools(tools).await;
        hello
    }

    /// Answers the next question for its tools.
    pub async fn tools(&mut self, tools: Value) {
        let list = self.asked("tools/list").await;
        self.answer(&list, json!({ "tools": tools })).await;
    }

    /// The next call, and its arguments.
    pub async fn called(&mut self) -> (Value, Value) {
        let call = self.asked("tools/call").await;
        let arguments = call["params"]["arguments"].clone();
        (call, arguments)
    }
}

/// The servers that are started, as they are.
pub struct Servers(mpsc::UnboundedReceiver<(Launch, DuplexStream)>);

impl Servers {
    /// The next one that is started.
    pub async fn next(&mut self) -> Played {
        let (launch, stream) = self.0.recv().await.expect("a server that is started");
        let (reader, writer) = split(stream);
        Played { launch, reader: BufReader::new(reader), writer }
    }

    /// Whether none was started.
    pub fn none(&mut self) -> bool {
        self.0.try_recv().is_err()
    }
}

/// A tool that takes a text.
pub fn tool(name: &str, read_only: bool) -> Value {
    json!({
        "name": name, "description": format!("Does {name}."),
        "inputSchema": { "type": "object", "properties": { "text": { "type": "string" } }, "required": ["text"] },
        "annotations": { "readOnlyHint": read_only },
    })
}

/// One server, `s`, with these settings more.
pub fn settings(more: Value) -> Value {
    let mut server = json!({ "command": "fake", "args": ["--stdio"], "env": { "KEY": "v" } });
    for (key, value) in more.as_object().expect("fields") {
        server[key] = value.clone();
    }
    json!({ "diagnostics": { "ownServers": "off" }, "mcp": { "servers": { "s": server } } })
}

/// An editor, and the servers it has started; files of the folder `/w` in memory.
pub async fn editor(settings: Value, abilities: Value, files: &[(&str, &str)]) -> (FakeEditor, Servers) {
    let mut disk = MemoryDisk::new().with_file("/w/notes.txt", "one\n");
    for (path, text) in files {
        disk = disk.with_file(path, text);
    }
    let (programs, servers) = PlayedPrograms::new("/bin");
    let programs = Arc::new(programs.answering("/bin/fake", |_, _| None));
    let mut editor = FakeEditor::start(|input, output| {
        let ports = Ports { disk: Arc::new(disk), ..Ports::system() };
        let rooms = {
            let ports = ports.clone();
            move |editor| Rooms::of(&server::assemble_over(ports, editor, programs))
        };
        tokio::spawn(server::serve_with(input, output, ports, ServeOptions::default(), rooms))
    });
    let mut ours = json!({ "approve": true });
    for (key, value) in abilities.as_object().expect("fields") {
        ours[key] = value.clone();
    }
    let params = json!({
        "processId": null,
        "workspaceFolders": [{ "uri": "file:///w", "name": "w" }],
        "initializationOptions": settings,
        "capabilities": {
            "general": { "positionEncodings": ["utf-8"] }, "workspace": { "applyEdit": true },
            "experimental": { "ropewalk": ours },
        },
    });
    editor.ask("initialize", params).await;
    editor.notify("initialized", json!({}));
    (editor, Servers(servers))
}

/// Begins a call; gives its request id.
pub fn begin(editor: &mut FakeEditor, name: &str, arguments: Value) -> i64 {
    editor.request("ropewalk/callTool", json!({ "name": name, "arguments": arguments }))
}

/// Waits until the list of tools was said to be another so often, for every session.
pub async fn changed(editor: &mut FakeEditor, times: usize) {
    for _ in 0..times {
        let every = |message: &Value| {
            message["method"] == "ropewalk/toolsChanged" && message["params"].get("sessionId").is_none()
        };
        editor.next_where(every).await.expect("another list");
    }
}

/// Answers the next question for consent; gives the call it was about.
pub async fn consent(editor: &mut FakeEditor, decision: &str) -> Value {
    let (id, params) = editor.asked("ropewalk/approve").await;
    let call = params["calls"][0].clone();
    editor.respond(&id, json!({ "decisions": [{ "callId": call["callId"], "decision": decision }] }));
    call
}

/// The text of a result.
pub fn text(result: &Value) -> String {
    let pieces = result["content"].as_array().expect("content").iter();
    pieces.filter_map(|piece| piece["text"].as_str()).collect::<Vec<_>>().join("\n")
}

/// The names of the tools in the list that are a server's.
pub async fn listed(editor: &mut FakeEditor, include_deferred: bool) -> Vec<String> {
    let list = editor.ask("ropewalk/listTools", json!({ "includeDeferred": include_deferred })).await;
    let names = list["tools"].as_array().expect("tools").iter().filter_map(|tool| tool["name"].as_str());
    names.filter(|name| name.starts_with("mcp")).map(str::to_owned).collect()
}
