//! `skill` over the wire: what is listed, what is loaded, of which folders, and how a change of it is told.

use std::sync::Arc;

use ropewalk::ports::{MemoryDisk, Ports};
use ropewalk::server::{self, ServeOptions};
use serde_json::{Value, json};

use crate::editor::FakeEditor;

const REVIEW: &str = "---\nname: review\ndescription: Reviews a change.\nargument-hint: \"[file]\"\n---\n\n# Review\n\nRead \
                      $1 of $ARGUMENTS, then run scripts/check.sh.\n";

fn disk() -> MemoryDisk {
    let mut disk = MemoryDisk::new()
        .with_file("/w/notes.txt", "one\n")
        .with_file("/w/.claude/skills/review/SKILL.md", REVIEW)
        .with_file("/w/.claude/skills/review/scripts/check.sh", "")
        .with_file("/w/.claude/commands/fix.md", "Fix it.\n");
    for number in 0..12 {
        disk = disk.with_file(format!("/w/.claude/skills/review/ref/{number:02}.md"), "");
    }
    disk
}

async fn editor(disk: Arc<MemoryDisk>, trusted: bool, settings: Value) -> FakeEditor {
    let ports = Ports { disk, ..Ports::system() };
    let options = ServeOptions::default();
    let mut editor = FakeEditor::start(|input, output| tokio::spawn(server::serve(input, output, ports, options)));
    let mut all = json!({ "trusted": trusted, "diagnostics": { "ownServers": "off" } });
    all.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
    let params = json!({
        "processId": null,
        "workspaceFolders": [{ "uri": "file:///w", "name": "w" }],
        "initializationOptions": all,
        "capabilities": { "experimental": { "ropewalk": { "events": true } } },
    });
    editor.ask("initialize", params).await;
    editor
}

async fn skill(editor: &mut FakeEditor, arguments: Value) -> Value {
    editor.ask("ropewalk/callTool", json!({ "name": "skill", "arguments": arguments })).await
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{result}"))
}

/// What the description of the tool says of skills.
async fn listed(editor: &mut FakeEditor) -> String {
    let list = editor.ask("ropewalk/listTools", json!({})).await;
    let tools = list["tools"].as_array().unwrap();
    let tool = tools.iter().find(|tool| tool["name"] == "skill").unwrap();
    let description = tool["description"].as_str().unwrap();
    description.split_once("The skills:\n").map(|(_, skills)| skills.to_owned()).unwrap_or_default()
}

#[tokio::test(start_paused = true)]
async fn skills_are_listed_loaded_and_given_arguments() {
    let mut editor = editor(Arc::new(disk()), true, json!({})).await;
    let list = "- fix: Fix it.\n- review: Reviews a change. (arguments: [file])";
    assert_eq!(listed(&mut editor).await, list);
    assert_eq!(listed(&mut editor).await, list, "the same each time");
    let loaded = skill(&mut editor, json!({ "name": "review", "arguments": "\"a b.rs\" $1" })).await;
    assert_eq!(
        text(&loaded),
        "The skill review (this project's). Its folder, where relative paths in it begin: /w/.claude/skills/review\n\n# \
         Review\n\nRead a b.rs of \"a b.rs\" $1, then run scripts/check.sh.\n\nFiles of the skill:\n- ref/00.md\n- \
         ref/01.md\n- ref/02.md\n- ref/03.md\n- ref/04.md\n- ref/05.md\n- ref/06.md\n- ref/07.md\n- ref/08.md\n- \
         ref/09.md\n(3 more)"
    );
    assert_eq!(loaded["structuredContent"]["fileCount"], 13);
    let command = skill(&mut editor, json!({ "id": "/FIX", "args": "the build" })).await;
    assert_eq!(
        text(&command),
        "The skill fix (this project's). Its folder, where relative paths in it begin: /w/.claude/commands\n(The skill has \
         no place for arguments; those given stand at its end.)\n\nFix it.\n\nArguments: the build"
    );
    let missed = skill(&mut editor, json!({ "name": "reviews" })).await;
    assert_eq!(missed["error"]["kind"], "notFound");
    assert_eq!(text(&missed), "There is no skill \"reviews\". Did you mean review? The skills are: fix, review.");
    for bad in [json!({}), json!({ "name": " " }), json!({ "name": ["a"] }), json!({ "name": "a", "what": 1 })] {
        let result = skill(&mut editor, bad).await;
        assert_eq!(result["error"]["kind"], "invalidArguments", "{result}");
    }
    editor.accept_rest();
    assert_eq!(editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_folder_that_is_not_trusted_has_none() {
    let mut editor = editor(Arc::new(disk()), false, json!({})).await;
    assert_eq!(listed(&mut editor).await, "");
    let refused = skill(&mut editor, json!({ "name": "review" })).await;
    assert_eq!(
        text(&refused),
        "There is no skill \"review\". There are no skills here. Skills of workspace folders that the person does not trust \
         do not count."
    );
    let told = |message: &Value| message["method"] == "ropewalk/toolsChanged";
    assert_eq!(editor.stashed(told), None);
    let trust = |trusted| json!({ "root": "file:///w", "trusted": trusted });
    editor.notify("ropewalk/didChangeTrust", trust(true));
    // What comes after it sees it, without waiting for anything.
    assert!(listed(&mut editor).await.contains("review"));
    assert!(editor.next_where(told).await.is_some());
    editor.notify("ropewalk/didChangeTrust", trust(false));
    assert_eq!(listed(&mut editor).await, "");
    assert!(editor.next_where(told).await.is_some());
    editor.accept_rest();
    assert_eq!(editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_skill_that_changes_is_told_and_loaded_as_it_is() {
    let disk = Arc::new(disk());
    let mut editor = editor(Arc::clone(&disk), true, json!({})).await;
    assert!(listed(&mut editor).await.contains("Reviews a change."));
    disk.put("/w/.claude/skills/review/SKILL.md", REVIEW.replace("a change", "with: care").replace('"', ""));
    let loaded = skill(&mut editor, json!({ "name": "review", "arguments": "x" })).await;
    assert!(text(&loaded).contains("(Its front matter is no valid YAML"), "{loaded}");
    let changed = json!({ "changes": [{ "uri": "file:///w/.claude/skills/review/SKILL.md", "type": 2 }] });
    editor.notify("workspace/didChangeWatchedFiles", changed);
    assert!(listed(&mut editor).await.contains("Reviews with: care."));
    let told = editor.next_where(|message| message["method"] == "ropewalk/toolsChanged").await;
    assert_eq!(told.unwrap()["params"], json!({}));
    editor.accept_rest();
    assert_eq!(editor.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn settings_turn_them_off_or_name_more() {
    let disk = || {
        let more = "---\nname: review\ndescription: Mine.\n---\nMy way.";
        Arc::new(disk().with_file("/mine/review/SKILL.md", more).with_link("/w/.claude/skills/out", "/mine/review"))
    };
    let mut own = editor(disk(), true, json!({ "skills": { "folders": ["/mine"] } })).await;
    let list = "- fix: Fix it.\n- project:review: Reviews a change. (arguments: [file])\n- review: Mine.";
    assert_eq!(listed(&mut own).await, list);
    assert!(text(&skill(&mut own, json!({ "name": "review" })).await).ends_with("My way."));
    let out = skill(&mut own, json!({ "name": "out" })).await;
    assert!(text(&out).contains("leads out of its workspace folder"), "{out}");
    own.accept_rest();
    assert_eq!(own.leave().await, 0);

    let mut off = editor(disk(), true, json!({ "skills": { "enabled": false } })).await;
    assert_eq!(listed(&mut off).await, "");
    assert_eq!(skill(&mut off, json!({ "name": "fix" })).await["error"]["kind"], "unavailable");
    off.notify("workspace/didChangeConfiguration", json!({ "settings": { "ropewalk": {} } }));
    assert!(listed(&mut off).await.starts_with("- fix"));
    off.accept_rest();
    assert_eq!(off.leave().await, 0);
}

#[tokio::test(start_paused = true)]
async fn loading_is_no_more_than_reading() {
    let mut editor = editor(Arc::new(disk()), true, json!({})).await;
    editor.ask("ropewalk/setMode", json!({ "mode": "explore" })).await;
    assert_eq!(skill(&mut editor, json!({ "name": "fix" })).await["status"], "ok");
    // Cancelled before its turn: behind a question that nobody answers there is none here, so the turn is never waited for.
    let id =
        editor.request("ropewalk/callTool", json!({ "callId": "s", "name": "skill", "arguments": { "name": "fix" } }));
    editor.notify("$/cancelRequest", json!({ "id": id }));
    let status = editor.result(id).await["status"].clone();
    assert!(status == "cancelled" || status == "ok", "{status}");
    editor.accept_rest();
    assert_eq!(editor.leave().await, 0);
}
