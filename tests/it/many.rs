//! Changes of several files as one: over the wire, with an editor that makes it hard; and with a process that is killed.

mod killed;
mod leftovers;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use ropewalk::dispatch::Dispatch;
use ropewalk::permissions::Rule;
use ropewalk::ports::{MemoryDisk, Ports};
use ropewalk::server::{self, Parts, Rooms, ServeOptions};
use ropewalk::text::{Splice, Text};
use ropewalk::tool::{Access, AnyTool, Capability, Content, Context, Outcome, Plan, ToolError, Traits};
use ropewalk::workspace::{Fate, FileChange, Hunk, LineSpan, Refusal, RefusalKind, Rewrite, Rewritten};
use serde_json::{Value, json};

use crate::editor::{FakeEditor, Manner};

/// A tool that replaces a text in each of several files, moves and deletes them: `changes: [{ file_path, old, new, to,
/// delete }]`. Without changes it says what it is told.
struct Several;

struct Replace {
    old: String,
    new: String,
}

impl Rewrite for Replace {
    fn rewrite(&self, before: Option<&Text>) -> Result<Rewritten, Refusal> {
        let text = before.map(ToString::to_string).unwrap_or_default();
        let at = text.find(&self.old);
        let at = at.ok_or_else(|| Refusal::new(RefusalKind::NotFound, format!("There is no {:?}.", self.old)))?;
        let span = LineSpan { start: text[..at].matches('\n').count() + 1, count: 1 };
        let hunk = Hunk { strategy: "simple".into(), similarity: 1.0, before: span, after: span };
        let splices = vec![Splice { range: at..at + self.old.len(), text: self.new.clone() }];
        Ok(Rewritten { splices, hunks: vec![hunk], notes: Vec::new() })
    }
}

#[async_trait]
impl AnyTool for Several {
    fn traits(&self) -> Traits<'_> {
        Traits {
            name: "several",
            title: "Change several files",
            capabilities: &[Capability::WritesFiles],
            parallel: false,
            deferred: false,
            free_form: None,
            deadline: Duration::from_mins(1),
            aliases: &[],
            names: &[],
        }
    }

    fn description(&self) -> String {
        "Changes several files as one.".to_owned()
    }

    fn schema(&self) -> Value {
        json!({ "type": "object", "properties": { "changes": { "type": "array" } } })
    }

    fn access(&self, _: &Value) -> Access {
        Access::default()
    }

    fn validate(&self, _: &Value) -> Result<(), ToolError> {
        Ok(())
    }

    async fn plan(&self, arguments: &Value, context: &Context) -> Result<Plan, ToolError> {
        let Some(changes) = arguments["changes"].as_array() else { return Ok(Plan::Run) };
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let changes: Result<Vec<FileChange>, Refusal> = changes
            .iter()
            .map(|change| {
                let fate = match (&change["to"], &change["delete"]) {
                    (Value::String(to), _) => Fate::Moved { to: context.workspace.resolve(to)? },
                    (_, Value::Bool(true)) => Fate::Deleted,
                    _ => Fate::Stays,
                };
                Ok(FileChange {
                    target: context.workspace.resolve(&text(&change["file_path"]))?,
                    rewrite: Arc::new(Replace { old: text(&change["old"]), new: text(&change["new"]) }),
                    label: "Several".to_owned(),
                    fate,
                })
            })
            .collect();
        Ok(Plan::Change(changes?))
    }

    async fn run(&self, _: Value, _: &Context) -> Result<Outcome, ToolError> {
        Ok(Outcome { content: vec![Content::text("nothing to do")], ..Outcome::default() })
    }
}

/// The real rooms, with that tool in them.
fn rooms(parts: &Parts) -> Rooms {
    let tools: Vec<(Arc<dyn AnyTool>, Rule)> = vec![(Arc::new(Several), Rule::Write)];
    let (workspace, languages) = (parts.workspace.clone(), parts.languages.clone());
    let dispatch = Dispatch::over(tools, workspace, languages, parts.sessions.clone(), parts.trust.clone());
    Rooms { calls: dispatch, ..Rooms::of(parts) }
}

fn hello(folder: &str) -> Value {
    json!({
        "processId": null,
        "workspaceFolders": [{ "uri": folder, "name": "w" }],
        "initializationOptions": { "diagnostics": { "ownServers": "off" } },
        "capabilities": {
            "general": { "positionEncodings": ["utf-8"] },
            "workspace": { "applyEdit": true },
            "experimental": { "ropewalk": { "approve": true, "events": true } },
        },
    })
}

const OPEN: usize = 4;
const FILES: usize = 8;

fn uri(number: usize) -> String {
    format!("file:///w/{number}.txt")
}

/// An editor with eight files, the first half of them open and unsaved.
async fn editor() -> (FakeEditor, Arc<MemoryDisk>) {
    let disk =
        (0..FILES).fold(MemoryDisk::new(), |disk, number| disk.with_file(format!("/w/{number}.txt"), "one\nold\n"));
    let disk = Arc::new(disk);
    let ports = Ports { disk: disk.clone(), ..Ports::system() };
    let options = ServeOptions { repeatable: true, ..ServeOptions::default() };
    let mut editor = FakeEditor::start(|input, output| {
        let inner = ports.clone();
        let rooms = move |editor| rooms(&server::assemble(inner, editor));
        tokio::spawn(server::serve_with(input, output, ports, options, rooms))
    });
    editor.ask("initialize", hello("file:///w")).await;
    for number in 0..OPEN {
        editor.open(&uri(number), "one\nold\n");
        editor.splice(&uri(number), 3..3, "!");
    }
    (editor, disk)
}

fn all() -> Value {
    // Open and closed ones by turns.
    let order = [0, 4, 1, 5, 2, 6, 3, 7];
    let changes = order.map(|number| json!({ "file_path": format!("{number}.txt"), "old": "old", "new": "new" }));
    json!({ "changes": changes })
}

fn call(editor: &mut FakeEditor, arguments: Value) -> i64 {
    editor.request("ropewalk/callTool", json!({ "name": "several", "arguments": arguments }))
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_default()
}

fn closed(disk: &MemoryDisk, expected: &str) {
    for number in OPEN..FILES {
        let bytes = disk.bytes(format!("/w/{number}.txt")).unwrap();
        assert_eq!(String::from_utf8(bytes).unwrap(), format!("one\n{expected}\n"), "{number}");
    }
}

async fn leave(mut editor: FakeEditor) {
    editor.accept_rest();
    assert_eq!(editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn open_and_closed_files_are_changed_as_one() {
    let (mut editor, disk) = editor().await;
    let id = call(&mut editor, all());
    for manner in [Manner::Apply, Manner::AnswerFirst, Manner::Split, Manner::Apply] {
        editor.serve_edit(manner).await;
    }
    let result = editor.result(id).await;
    assert_eq!((&result["status"], &result["applied"]), (&json!("ok"), &json!("all")), "{result}");
    let edits: Vec<&str> =
        result["edits"].as_array().unwrap().iter().map(|edit| edit["uri"].as_str().unwrap()).collect();
    assert_eq!(edits, [0, 4, 1, 5, 2, 6, 3, 7].map(uri), "in the order of the changes");
    closed(&disk, "new");
    for number in 0..OPEN {
        assert_eq!(editor.buffers[&uri(number)].text, "one!\nnew\n");
    }
    let told = editor.next_where(|message| message["method"] == "ropewalk/filesChanged").await.unwrap();
    assert_eq!(told["params"]["changes"].as_array().unwrap().len(), FILES - OPEN);
    leave(editor).await;
}

#[tokio::test(start_paused = true)]
async fn a_refused_edit_leaves_nothing_changed_and_the_users_typing_in_place() {
    for refused in 0..OPEN {
        let (mut editor, disk) = editor().await;
        let id = call(&mut editor, all());
        for number in 0..OPEN {
            if number == refused {
                editor.serve_edit(Manner::Refuse).await;
                break;
            }
            editor.serve_edit(Manner::Apply).await;
            editor.splice(&uri(number), 0..0, "typed ");
        }
        // The edits that landed are taken back, the last one first.
        for _ in 0..refused {
            editor.serve_edit(Manner::Apply).await;
        }
        let result = editor.result(id).await;
        assert_eq!((&result["status"], &result["applied"]), (&json!("error"), &json!("none")), "{result}");
        assert!(text(&result).contains("together or not at all: nothing was changed"), "{result}");
        closed(&disk, "old");
        for number in 0..OPEN {
            let typed = if number < refused { "typed " } else { "" };
            assert_eq!(editor.buffers[&uri(number)].text, format!("{typed}one!\nold\n"), "{refused} {number}");
        }
        leave(editor).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_document_that_is_closed_midway_is_a_file() {
    let (mut editor, disk) = editor().await;
    let id = call(&mut editor, all());
    editor.serve_edit(Manner::Apply).await;
    let (edit, _) = editor.asked("workspace/applyEdit").await;
    // The user closes the last document while the second one is asked for, which then is refused as stale.
    editor.notify("textDocument/didClose", json!({ "textDocument": { "uri": uri(3) } }));
    editor.splice(&uri(1), 0..0, "typed ");
    editor.respond(&edit, json!({ "applied": false }));
    editor.serve_edit(Manner::Apply).await;
    editor.serve_edit(Manner::Apply).await;
    // Three edits are there, and the fourth has no document: they are taken back, and all is computed anew.
    for _ in 0..6 {
        editor.serve_edit(Manner::Apply).await;
    }
    let result = editor.result(id).await;
    assert_eq!((&result["status"], &result["applied"]), (&json!("ok"), &json!("all")), "{result}");
    closed(&disk, "new");
    assert_eq!(disk.bytes("/w/3.txt").unwrap(), b"one\nnew\n");
    assert_eq!(editor.buffers[&uri(1)].text, "typed one!\nnew\n");
    leave(editor).await;
}

#[tokio::test(start_paused = true)]
async fn moves_and_deletions_are_told_and_both_ends_are_asked_about() {
    let (mut editor, disk) = editor().await;
    let changes = json!({ "changes": [
        { "file_path": "4.txt", "old": "old", "new": "new", "to": "sub/moved.txt" },
        { "file_path": "5.txt", "old": "one\nold\n", "new": "", "delete": true },
        { "file_path": "6.txt", "old": "old", "new": "new", "to": "/elsewhere/6.txt" },
    ] });
    let id = call(&mut editor, changes);
    let (question, params) = editor.asked("ropewalk/approve").await;
    let asked = &params["calls"][0];
    let targets: Vec<&str> =
        asked["targets"].as_array().unwrap().iter().map(|target| target.as_str().unwrap()).collect();
    assert_eq!(targets, ["/w/4.txt", "/w/sub/moved.txt", "/w/5.txt", "/w/6.txt", "/elsewhere/6.txt"]);
    let diff = asked["diff"].as_str().unwrap();
    assert!(diff.starts_with("rename from 4.txt\nrename to sub/moved.txt\n--- "), "{diff}");
    assert!(diff.contains("\ndeleted file 5.txt\n"), "{diff}");
    editor.respond(&question, json!({ "decisions": [{ "callId": asked["callId"], "decision": "once" }] }));
    let result = editor.result(id).await;
    assert_eq!((&result["status"], &result["applied"]), (&json!("ok"), &json!("all")), "{result}");
    assert!(text(&result).starts_with("Moved 4.txt to sub/moved.txt and changed it: line 2 became line 2"), "{result}");
    assert!(text(&result).contains("\nDeleted 5.txt (2 lines)."), "{result}");
    assert_eq!(result["edits"][0]["movedTo"], "file:///w/sub/moved.txt");
    assert_eq!((&result["edits"][1]["deleted"], &result["edits"][0]["deleted"]), (&json!(true), &Value::Null));
    assert_eq!(disk.bytes("/elsewhere/6.txt").unwrap(), b"one\nnew\n");
    let told = editor.next_where(|message| message["method"] == "ropewalk/filesChanged").await.unwrap();
    let told: Vec<String> = told["params"]["changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|change| {
            format!("{} {}", change["type"].as_str().unwrap(), Path::new(change["uri"].as_str().unwrap()).display())
        })
        .collect();
    let expected = [
        "deleted file:///w/4.txt",
        "created file:///w/sub/moved.txt",
        "deleted file:///w/5.txt",
        "deleted file:///w/6.txt",
        "created file:///elsewhere/6.txt",
    ];
    assert_eq!(told, expected);
    leave(editor).await;
}
