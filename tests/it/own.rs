//! The user's own settings file, with the real program: what it trusts and holds back, at the moment of each call; how it
//! stands to what the editor says; what becomes of it when it is broken; and which runs read it at all.

#![expect(clippy::disallowed_methods, reason = "the files are on the disk, and the program is the real one")]

use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::trust::{Desk, settings, words};

/// The next word of the log that has this in it.
async fn told(desk: &mut Desk, part: &str) -> String {
    let text = |message: &Value| message["params"]["message"].as_str().unwrap_or_default().to_owned();
    let fits = |message: &Value| message["method"] == "window/logMessage" && text(message).contains(part);
    text(&desk.editor.next_where(fits).await.unwrap())
}

/// What becomes of a read of `kept.txt`, a read of `open.txt` and a write of a new file; nobody is asked about any.
async fn statuses(desk: &mut Desk) -> [String; 3] {
    // Never the same text twice, so that no call is one that goes round in circles.
    let count = std::fs::read_dir(&desk.root).unwrap().count();
    desk.file("kept.txt", &format!("kept {count}\n"));
    desk.file("open.txt", &format!("open {count}\n"));
    let mut all = Vec::new();
    for (name, arguments) in [
        ("read", json!({ "file_path": "kept.txt" })),
        ("read", json!({ "file_path": "open.txt" })),
        ("write", json!({ "file_path": format!("new{count}.txt"), "content": "new\n" })),
    ] {
        let (result, asked) = desk.call(name, arguments, "once").await;
        assert!(!asked, "{name}: {result}");
        all.push(result["status"].as_str().unwrap().to_owned());
    }
    // The next time is another.
    desk.file(&format!("seen{count}.txt"), "");
    all.try_into().unwrap()
}

#[tokio::test]
async fn it_trusts_and_holds_back_as_it_says_at_the_moment_of_a_call() {
    let text = r#"{ "trusted": ["~/repo"], "permissions": { "deny": ["read(kept.txt)"] } }"#;
    let mut desk = Desk::with(json!({}), Some(text), &[]).await;
    assert_eq!(desk.bash("ls", "deny").await.0["status"], "ok", "trusted by it");
    assert_eq!(statuses(&mut desk).await, ["denied", "ok", "ok"]);
    let background = json!({ "command": "sleep 1000", "background": true });
    assert_eq!(desk.call("bash", background, "once").await.0["status"], "ok");

    // What it no longer says is so no more, with the next call.
    settings(&desk.own, "{}");
    let (denied, _) = desk.bash("ls", "once").await;
    assert!(words(&denied).contains("is not trusted"), "{denied}");
    assert_eq!(statuses(&mut desk).await, ["ok", "ok", "ok"]);
    loop {
        let jobs = desk.editor.ask("ropewalk/jobs", json!({})).await;
        if jobs["jobs"].as_array().unwrap().iter().all(|job| job["state"] == "stopped") {
            break;
        }
    }

    // Broken in one way or another: nothing is changed, its rules hold, and the person hears of it.
    settings(&desk.own, text);
    assert_eq!(statuses(&mut desk).await, ["denied", "ok", "ok"]);
    settings(&desk.own, "{ \"permissions\": ");
    assert_eq!(statuses(&mut desk).await, ["denied", "ok", "denied"]);
    assert_eq!(desk.bash("ls", "once").await.0["status"], "denied");
    let (denied, _) = desk.call("write", json!({ "file_path": "new.txt", "content": "x\n" }), "once").await;
    assert!(words(&denied).contains("config/ropewalk/settings.json: it is no JSON"), "{denied}");
    told(&mut desk, "do not count: it is no JSON").await;
    settings(&desk.own, "{}");
    assert_eq!(statuses(&mut desk).await, ["ok", "ok", "ok"]);
    settings(&desk.own, text);
    std::fs::set_permissions(&desk.own, std::fs::Permissions::from_mode(0o666)).unwrap();
    assert_eq!(statuses(&mut desk).await, ["denied", "ok", "denied"]);
    assert_eq!(desk.bash("ls", "once").await.0["status"], "denied", "what others may have written trusts nothing");
    let why = told(&mut desk, "may be written by others (mode 666)").await;
    assert!(why.contains("chmod go-w"), "{why}");
    settings(&desk.own, text);
    assert_eq!(desk.bash("ls", "once").await.0["status"], "ok");
    desk.end().await;
}

#[tokio::test]
async fn the_editor_goes_before_it_and_takes_away_nothing_that_holds_back() {
    let own = json!({
        "trusted": ["~/repo"],
        "freshness": "warn",
        "permissions": { "mode": "plan", "deny": ["read(kept.txt)"] },
    });
    let editor = json!({ "permissions": { "mode": "build", "deny": [] } });
    let mut desk = Desk::with(editor, Some(&own.to_string()), &[]).await;
    desk.file("unseen.txt", "one\n");
    assert_eq!(statuses(&mut desk).await, ["denied", "ok", "ok"], "the mode is the editor's");
    // What the editor says nothing of is as the file has it: a text that was never seen is written over.
    let (result, _) = desk.call("write", json!({ "file_path": "unseen.txt", "content": "other\n" }), "once").await;
    assert_eq!(result["status"], "ok", "{result}");
    // Where the editor says nothing any more, the file counts again.
    desk.editor.notify("workspace/didChangeConfiguration", json!({ "settings": { "ropewalk": {} } }));
    assert_eq!(statuses(&mut desk).await, ["denied", "ok", "denied"]);
    // The editor's word on trust is the later one, and the file does not give again what it took.
    desk.trust(false);
    settings(&desk.own, &json!({ "trusted": ["~/repo", "~/repo/sub"] }).to_string());
    assert_eq!(desk.bash("ls", "once").await.0["status"], "denied");
    desk.trust(true);
    assert_eq!(desk.bash("ls", "once").await.0["status"], "ok");
    desk.end().await;
}

#[tokio::test]
async fn no_call_changes_it_unasked_and_no_project_has_one() {
    // A folder of the user's that holds their settings, opened and trusted; and a rule that allows all.
    let own = json!({ "permissions": { "allow": ["*", "write(//**)"] } });
    let mut desk = Desk::with(json!({ "trusted": true }), Some(&own.to_string()), &[]).await;
    let path = desk.own.display().to_string();
    std::os::unix::fs::symlink(&desk.own, desk.root.join("link.json")).unwrap();
    for name in [path.as_str(), "link.json"] {
        let (result, asked) = desk.call("write", json!({ "file_path": name, "content": "{}\n" }), "deny").await;
        assert!(asked && result["status"] == "denied", "{name}: {result}");
    }
    let (result, asked) = desk.bash("echo '{}' > link.json", "deny").await;
    assert!(asked && result["status"] == "denied", "{result}");
    assert_eq!(std::fs::read_to_string(&desk.own).unwrap(), own.to_string());
    desk.end().await;

    // The same words in a project's file trust nothing and allow nothing.
    let mut desk = Desk::with(json!({}), None, &[]).await;
    let words = json!({ "trusted": ["~/repo", "."], "permissions": { "allow": ["*", "read(//**)"] } });
    desk.file(".ropewalk/settings.json", &words.to_string());
    assert_eq!(desk.bash("ls", "once").await.0["status"], "denied");
    let (result, asked) = desk.call("read", json!({ "file_path": "/etc/hostname" }), "deny").await;
    assert!(asked && result["status"] == "denied", "{result}");
    desk.end().await;
}

#[tokio::test]
async fn it_is_read_where_it_is_named_and_not_where_runs_are_to_be_alike() {
    let text = r#"{ "trusted": ["~/repo"], "permissions": { "deny": ["read(kept.txt)"] } }"#;
    for (words, expected, command) in [
        (&["--ephemeral"][..], ["ok", "ok", "ok"], "denied"),
        (&["--settings", "../config/ropewalk/settings.json", "--ephemeral"], ["denied", "ok", "ok"], "ok"),
        (&["--settings", "none.json"], ["ok", "ok", "denied"], "denied"),
    ] {
        let mut desk = Desk::with(json!({}), Some(text), words).await;
        assert_eq!(statuses(&mut desk).await, expected, "{words:?}");
        assert_eq!(desk.bash("ls", "once").await.0["status"], command, "{words:?}");
        desk.end().await;
    }
}

fn ropewalk(words: &[&str]) -> (tempfile::TempDir, Output) {
    let held = tempfile::tempdir().unwrap();
    let top = held.path().canonicalize().unwrap();
    let own = json!({ "trusted": ["~/repo"], "typo": 1, "permissions": { "deny": ["read(kept.txt)", "x("] } });
    settings(&top.join("config/ropewalk/settings.json"), &own.to_string());
    std::fs::create_dir(top.join("repo")).unwrap();
    std::fs::write(top.join("repo/kept.txt"), "kept\n").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_ropewalk"));
    command.args(words).current_dir(top.join("repo")).env("HOME", &top).env("XDG_CONFIG_HOME", top.join("config"));
    let output = command.env("PATH", "/nonexistent").env_remove("RUST_LOG").output().unwrap();
    (held, output)
}

#[test]
fn a_call_from_the_command_line_reads_it_where_it_is_named() {
    for (words, code) in [(&[][..], 0), (&["--settings", "../config/ropewalk/settings.json"], 3)] {
        let all: Vec<&str> = [&["call", "read", r#"{ "file_path": "kept.txt" }"#], words].concat();
        let (_held, output) = ropewalk(&all);
        assert_eq!(output.status.code(), Some(code), "{words:?}: {output:?}");
        let warned = String::from_utf8_lossy(&output.stderr).contains("setting typo in ");
        assert_eq!(warned, code == 3, "{output:?}");
    }
}

#[test]
fn the_doctor_tells_what_it_says_and_what_of_it_cannot_be_read() {
    let (held, output) = ropewalk(&["doctor"]);
    let top = held.path().canonicalize().unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    let told = &told[told.find("Your settings").unwrap()..];
    for part in [
        format!("  {}: read\n", top.join("config/ropewalk/settings.json").display()),
        "  setting typo: there is no such setting".to_owned(),
        "  the rule \"x(\" cannot be read: ".to_owned(),
        "  until that is mended nothing is changed or run\n".to_owned(),
        format!("  {}: trusted\n", top.join("repo").display()),
    ] {
        assert!(told.contains(&part), "{part}: {told}");
    }
    let (_held, output) = ropewalk(&["doctor", "--ephemeral"]);
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(told.contains("none are read (--ephemeral)") && told.contains("not trusted"), "{told}");
}
