//! A day at an editor, round after round: documents, calls, outputs, proposals, reviews, diagnostics, agents, sessions.

use std::path::{Path, PathBuf};
use std::time::Duration;

use ropewalk::ports::Ports;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::editor::{FakeEditor, Manner};

/// Documents that are open in a round.
const DOCUMENTS: usize = 4;

/// A folder, in memory where there is one: what is written is flushed each time.
pub(super) fn folder() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// An editor at work.
pub(super) struct Day {
    editor: FakeEditor,
    folder: PathBuf,
    round: usize,
}

impl Day {
    /// The morning.
    #[expect(clippy::disallowed_methods, reason = "the test has files")]
    pub(super) async fn begin(folder: &Path) -> Day {
        let folder = folder.canonicalize().unwrap();
        std::fs::write(folder.join("long.txt"), "a line of a long file\n".repeat(1000)).unwrap();
        let abilities = json!({ "approve": true, "runAgent": true, "events": true, "resync": true });
        let settings =
            json!({ "output": { "keptBytes": 30_000, "diskBytes": 30_000 }, "read": { "unchanged": false } });
        let editor = super::editor_over(Ports::system(), &folder, abilities, settings).await;
        Day { editor, folder, round: 0 }
    }

    /// Some rounds of a few minutes each.
    pub(super) async fn rounds(&mut self, count: usize) {
        for _ in 0..count {
            self.round += 1;
            // What came in the round before and was not looked at is gone by then.
            self.round().await;
            super::settle(&mut self.editor).await;
            tokio::time::sleep(Duration::from_mins(11)).await;
        }
        self.editor.buffers.clear();
        super::settle(&mut self.editor).await;
    }

    fn uri(&self, number: usize) -> String {
        format!("file://{}/{number}.txt", self.folder.display())
    }

    async fn call(&mut self, session: &str, name: &str, arguments: Value) -> Value {
        let params = json!({ "sessionId": session, "turnId": format!("t{}", self.round), "name": name,
            "arguments": arguments, "maxBytes": 4000 });
        let result = self.editor.ask("ropewalk/callTool", params).await;
        assert_eq!(result["status"], "ok", "{name}: {result}");
        result
    }

    /// An edit in an open document.
    async fn edit(&mut self, session: &str, number: usize, old: &str, new: &str) {
        let arguments = json!({ "file_path": format!("{number}.txt"), "old_string": old, "new_string": new });
        let params = json!({ "sessionId": session, "turnId": format!("t{}", self.round), "name": "edit",
            "arguments": arguments, "diagnostics": { "deadlineMs": 50 } });
        let id = self.editor.request("ropewalk/callTool", params);
        self.editor.serve_edit(Manner::Apply).await;
        let result = self.editor.result(id).await;
        assert_eq!(result["status"], "ok", "{result}");
    }

    fn diagnose(&self, number: usize) {
        let uri = self.uri(number);
        let version = self.editor.buffers[&uri].version;
        let source = json!({ "id": "7", "name": "vale" });
        let range = json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 0, "character": 3 } });
        let list: Vec<Value> = (0..20)
            .map(|at| json!({ "range": range, "severity": 1, "message": format!("problem {at} of round {}", self.round) }))
            .collect();
        self.editor.notify("ropewalk/didChangeDiagnosticSources", json!({ "uri": uri, "sources": [source] }));
        let said = json!({ "uri": uri, "version": version, "stamp": "server", "source": source,
            "positionEncoding": "utf-8", "kind": "push", "diagnostics": list });
        self.editor.notify("ropewalk/didChangeDiagnostics", said);
    }

    async fn round(&mut self) {
        let round = self.round;
        // A pane that stays all day, and one for this round.
        let own = format!("pane {round}");
        for session in ["all day", &own] {
            self.call(session, "read", json!({ "file_path": "long.txt", "limit": 1000 })).await;
            self.call(session, "grep", json!({ "pattern": "line" })).await;
            let todos: Vec<Value> =
                (0..9).map(|at| json!({ "content": format!("{at} of {round}"), "status": "pending" })).collect();
            self.call(session, "todowrite", json!({ "todos": todos })).await;
            let file = format!("{}.txt", if session == own { 8 } else { 9 });
            self.call(session, "write", json!({ "file_path": file, "content": format!("round {round}\n") })).await;
        }
        for number in 0..DOCUMENTS {
            let text = format!("one\ntwo\nthree {round}\n{}", "more\n".repeat(60));
            self.editor.open(&self.uri(number), &text);
            self.diagnose(number);
            self.edit("all day", number, "two", "2").await;
            self.edit(&own, number, "three", "3").await;
            self.diagnose(number);
            for typed in 0..5 {
                let uri = self.uri(number);
                self.editor.splice(&uri, 0..0, &(typed % 10).to_string());
            }
        }
        // Of some of it the person says what is to become of it.
        self.editor.ask("ropewalk/keep", json!({ "sessionId": "all day" })).await;
        let uri = self.uri(round % DOCUMENTS);
        let id = self.editor.request("ropewalk/undo", json!({ "sessionId": own, "uri": uri }));
        self.editor.serve_edit(Manner::Apply).await;
        self.editor.result(id).await;
        self.editor.ask("ropewalk/keep", json!({})).await;
        // Proposals, one of which is accepted, one rejected, and one left.
        self.editor.ask("ropewalk/openSession", json!({ "sessionId": "proposes", "apply": "propose" })).await;
        for (number, word) in [(0, "accept"), (1, "reject"), (2, "leave")] {
            let arguments = json!({ "file_path": format!("{number}.txt"), "old_string": "more\nmore\nmore\nmore\nmore\n",
                "new_string": format!("{word} {round}\n"), "replace_all": true });
            self.call("proposes", "edit", arguments).await;
            let uri = self.uri(number);
            if word == "accept" {
                let id = self.editor.request("ropewalk/accept", json!({ "sessionId": "proposes", "uri": uri }));
                self.editor.serve_edit(Manner::Apply).await;
                self.editor.result(id).await;
            } else if word == "reject" {
                self.editor.ask("ropewalk/reject", json!({ "sessionId": "proposes", "uri": uri })).await;
            }
        }
        self.editor.ask("ropewalk/closeSession", json!({ "sessionId": "proposes" })).await;
        // An agent in the background, which answers at length.
        self.call("all day", "agent", json!({ "prompt": "count", "background": true })).await;
        let (asked, _) = self.editor.asked("ropewalk/runAgent").await;
        self.editor.respond(&asked, json!({ "output": format!("{round}\n").repeat(500), "status": "completed" }));
        self.editor.ask("ropewalk/keep", json!({})).await;
        for number in 0..DOCUMENTS {
            let uri = self.uri(number);
            self.editor.notify("textDocument/didClose", json!({ "textDocument": { "uri": uri } }));
        }
        self.editor.ask("ropewalk/endTurn", json!({ "sessionId": "all day", "turnId": format!("t{round}") })).await;
        self.editor.ask("ropewalk/closeSession", json!({ "sessionId": own })).await;
    }

    /// The evening.
    pub(super) async fn end(mut self) {
        self.editor.accept_rest();
        assert_eq!(self.editor.leave().await, 0);
    }
}
