//! The peer: the files server of the MCP project, which reads and edits files for agents, on the disk.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::child::{Child, Framing};

/// Where npm puts it.
const PACKAGE: &str = "mcp/node_modules/@modelcontextprotocol/server-filesystem";

/// The server, initialised.
pub(crate) struct FilesServer {
    child: Child,
    last_id: u64,
    /// From its start to its answer to `initialize`.
    pub(crate) greeted: Duration,
}

impl FilesServer {
    /// Whether it is here: in the folder where `tests/run` puts tools.
    pub(crate) fn find() -> Option<PathBuf> {
        let package = PathBuf::from(std::env::var_os("ROPEWALK_TOOLS")?).join(PACKAGE);
        (which::which("node").is_ok() && package.join("dist/index.js").exists()).then_some(package)
    }

    /// What it calls itself.
    #[expect(clippy::disallowed_methods, reason = "a bench tells what it compares with")]
    pub(crate) fn version(package: &Path) -> String {
        let manifest = std::fs::read(package.join("package.json")).expect("a manifest");
        let manifest: Value = serde_json::from_slice(&manifest).expect("JSON");
        format!("server-filesystem {}", manifest["version"].as_str().unwrap_or_default())
    }

    /// Starts it, for the files of a folder.
    #[expect(clippy::disallowed_methods, reason = "a bench runs the programs that it compares")]
    pub(crate) fn start(package: &Path, folder: &Path) -> FilesServer {
        let mut command = Command::new("node");
        command.arg(package.join("dist/index.js")).arg(folder);
        let start = Instant::now();
        let child = Child::start(&mut command, Framing::Lines);
        let mut server = FilesServer { child, last_id: 0, greeted: Duration::ZERO };
        let client = json!({ "name": "bench", "version": "1" });
        let params = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
        server.timed("initialize", &params);
        server.greeted = start.elapsed();
        let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        let frame = server.child.frame(&initialized);
        server.child.write(&frame);
        server
    }

    /// Its process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    fn timed(&mut self, method: &str, params: &Value) -> (Duration, Value) {
        self.last_id += 1;
        let request = json!({ "jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params });
        let frame = self.child.frame(&request);
        let start = Instant::now();
        self.child.write(&frame);
        loop {
            let mut answer = self.child.next();
            let time = start.elapsed();
            if answer["id"] == self.last_id && answer.get("method").is_none() {
                assert!(answer["error"].is_null(), "{method}: {answer}");
                return (time, answer["result"].take());
            }
        }
    }

    /// A call of a tool that has to succeed; how long it took, and its result.
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> (Duration, Value) {
        let (time, result) = self.timed("tools/call", &json!({ "name": tool, "arguments": arguments }));
        assert!(result["isError"] != true, "{tool}: {result}");
        (time, result)
    }
}
