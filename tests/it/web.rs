//! The web over the wire, with machines of our own on this one, which only the user's settings make reachable.

mod fetch;
mod search;
mod server;

use ropewalk::ports::{Disk as _, MemoryDisk, Ports};
use ropewalk::server::{self as front, ServeOptions};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

use crate::editor::FakeEditor;

/// An editor with the folder `/w` in memory, and what the tools are asked through it.
pub struct Desk {
    pub editor: FakeEditor,
    pub disk: Arc<MemoryDisk>,
}

impl Desk {
    /// With these settings of the user's for the web. `approves`: somebody is there who can be asked.
    pub async fn new(web: Value, approves: bool) -> Desk {
        let disk = Arc::new(MemoryDisk::new());
        disk.create_dir_all(Path::new("/w/.ropewalk")).unwrap();
        let ports = Ports { disk: disk.clone(), ..Ports::system() };
        let options = ServeOptions { repeatable: true, ..ServeOptions::default() };
        let mut editor = FakeEditor::start(|input, output| tokio::spawn(front::serve(input, output, ports, options)));
        let params = json!({
            "processId": null,
            "workspaceFolders": [{ "uri": "file:///w", "name": "w" }],
            "initializationOptions": { "diagnostics": { "ownServers": "off" }, "web": web },
            "capabilities": {
                "general": { "positionEncodings": ["utf-8"] },
                "experimental": { "ropewalk": { "approve": approves, "images": true } },
            },
        });
        editor.ask("initialize", params).await;
        Desk { editor, disk }
    }

    pub fn begin(&mut self, name: &str, arguments: Value) -> i64 {
        self.editor.request("ropewalk/callTool", json!({ "name": name, "arguments": arguments }))
    }

    /// A call that nobody is asked about.
    pub async fn call(&mut self, name: &str, arguments: Value) -> Value {
        let id = self.begin(name, arguments);
        self.editor.result(id).await
    }

    pub async fn fetch(&mut self, arguments: Value) -> Value {
        self.call("webfetch", arguments).await
    }

    /// A call that the person is asked about: the question, and the result after this answer.
    pub async fn asked(&mut self, name: &str, arguments: Value, decision: &str) -> (Value, Value) {
        let id = self.begin(name, arguments);
        let (question, params) = self.editor.asked("ropewalk/approve").await;
        let call = &params["calls"][0];
        self.editor.respond(&question, json!({ "decisions": [{ "callId": call["callId"], "decision": decision }] }));
        (call.clone(), self.editor.result(id).await)
    }

    pub async fn end(mut self) {
        self.editor.accept_rest();
        self.editor.ask("shutdown", Value::Null).await;
        self.editor.notify("exit", Value::Null);
        assert_eq!(self.editor.exit_code().await, Some(0));
        self.editor.accept_rest();
    }
}

pub fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_default()
}

/// How a call ended: its status, or the kind of its error.
pub fn ended(result: &Value) -> &str {
    result["error"]["kind"].as_str().or(result["status"].as_str()).unwrap_or_default()
}
