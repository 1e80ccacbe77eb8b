//! A real formatter behind the whole life of a call: ruff, as a language server for an open document and as a command for
//! a closed file.
//!
//! Skipped, with the reason printed, unless `ROPEWALK_TOOLS` names the folder `tests/run` installs the servers into.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use ropewalk::config::Settings;
use ropewalk::dispatch::{CallParams, CallResult};
use ropewalk::editor::{ApplyEdit, AskError, EditReply, Editor, News};
use ropewalk::languages::known;
use ropewalk::languages::verdict::Verdict;
use ropewalk::ports::Ports;
use ropewalk::server::{Parts, assemble};
use ropewalk::tool::Content;
use ropewalk::workspace::documents::ContentChange;
use ropewalk::workspace::{Documents, Key, Roots};
use serde_json::json;

/// An editor that applies edits at once and echoes them, and can do nothing else.
#[derive(Default)]
struct Plain(std::sync::OnceLock<Arc<Documents>>);

#[async_trait]
impl Editor for Plain {
    async fn apply_edit(&self, edit: ApplyEdit, _: Duration) -> Result<EditReply, AskError> {
        let documents = self.0.get().unwrap();
        let document = documents.get(&documents.key_of(&edit.uri).unwrap()).unwrap();
        assert_eq!(document.version, edit.version);
        let change = |edit: ropewalk::text::TextEdit| ContentChange { range: Some(edit.range), text: edit.new_text };
        documents.change(&document.key, edit.version + 1, edit.edits.into_iter().rev().map(change).collect());
        Ok(EditReply { applied: true, reason: None })
    }

    fn tell(&self, _: News) {}
}

const TEXT: &str = "import os\n\n\ndef f( a,b ):\n    return os.path.join( a,b )\n";

/// All rooms, over a trusted folder with this file.
fn rooms(tools: &Path, folder: &Path, name: &str) -> (Parts, PathBuf) {
    let ports = Ports::system();
    let root = ports.disk.canonicalize(folder).unwrap();
    let path = root.join(name);
    ports.disk.create(&path, TEXT.as_bytes()).unwrap();
    let editor = Arc::new(Plain::default());
    let parts = assemble(ports, editor.clone());
    assert!(editor.0.set(Arc::clone(&parts.documents)).is_ok());
    let ruff = tools.join("py/bin/ruff").to_string_lossy().into_owned();
    let mut servers = serde_json::Map::new();
    for server in known::servers(&Settings::default().diagnostics) {
        servers.insert(server.name, json!({ "enabled": false }));
    }
    servers.insert("ruff".into(), json!({ "command": [ruff, "server"], "enabled": true }));
    let command = json!([ruff, "format", "--no-cache", "--stdin-filename", "${file}", "-"]);
    let (settings, remarks) = Settings::parse(&json!({
        "diagnostics": { "servers": servers },
        "formatter": { "mode": "onWrite", "commands": { "python": command }, "timeoutMs": 30_000 },
    }));
    assert_eq!(remarks, []);
    let (settings, roots) = (Arc::new(settings), Roots { folders: vec![root.clone()] });
    parts.trust.set(&root, true);
    parts.workspace.set_roots(roots.clone());
    parts.workspace.set_settings(Arc::clone(&settings));
    parts.languages.configure(settings, &roots, false);
    (parts, path)
}

async fn edit(parts: &Parts, path: &Path, old: &str, new: &str) -> (CallResult, String) {
    let params = CallParams {
        name: "edit".into(),
        arguments: Some(json!({ "file_path": path, "old_string": old, "new_string": new })),
        ..CallParams::default()
    };
    let result = parts.dispatch.run(parts.dispatch.admit(params)).await;
    let Some(Content::Text { text }) = result.content.first() else { panic!("{result:#?}") };
    let text = text.clone();
    (result, text)
}

const FORMATTED: &str = "import os\n\n\ndef f(a, b):\n    return os.path.join(b, a)\n";

#[tokio::test(flavor = "multi_thread")]
async fn ruff_formats_what_is_open_and_what_is_not() {
    let Some(tools) = ropewalk::ports::env("ROPEWALK_TOOLS").map(PathBuf::from) else {
        println!("skipped: ROPEWALK_TOOLS does not name the folder with the language servers");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let (parts, path) = rooms(&tools, folder.path(), "open.py");
    let key = Key::File(path.clone());
    let uri = url::Url::from_file_path(&path).unwrap().to_string();
    parts.documents.open(key.clone(), &uri, "python", 1, TEXT);
    let text = || parts.documents.get(&key).unwrap().text.to_string();
    let (result, told) = edit(&parts, &path, "join( a,b )", "join( b,a )").await;
    assert_eq!(text(), FORMATTED, "{told}");
    assert!(told.contains("Formatted open.py by ruff: "), "{told}");
    // Diagnostics are those of the text as it is now.
    let document = &result.diagnostics.unwrap().documents[0];
    assert_eq!(document.version, Some(3));
    let ruff = document.sources.iter().find(|source| source.id == "ruff").unwrap();
    assert_eq!(ruff.verdict, Verdict::Fresh, "{ruff:#?}");
    // What cannot be parsed is not formatted; that is a note at most, and the edit stays.
    let (result, told) = edit(&parts, &path, "def f(a, b):", "def f(a, b").await;
    assert!(text().contains("def f(a, b\n") && !result.is_error, "{told}");
    assert!(!told.contains("Formatted"), "{told}");
    // A file that nobody has open.
    parts.workspace.ports.disk.create(&path.with_file_name("closed.py"), TEXT.as_bytes()).unwrap();
    let path = path.with_file_name("closed.py");
    let (_, told) = edit(&parts, &path, "join( a,b )", "join( b,a )").await;
    assert!(told.contains("Formatted closed.py by `ruff`: "), "{told}");
    assert_eq!(parts.workspace.ports.disk.read(&path).unwrap(), FORMATTED.as_bytes());
    parts.languages.shutdown(Duration::from_secs(2)).await;
}
