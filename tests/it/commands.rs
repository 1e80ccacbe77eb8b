//! The command line as a person or a script uses it: what it prints, how it ends, and that the disk is left alone.

use std::path::Path;
use std::process::{Command, Output};

use ropewalk::ports::{Disk as _, SystemDisk};
use serde_json::{Value, json};

const SOURCE: &str = "def total(items):\n    if items:\n        return sum(items)\n    return 0\n";

/// Runs the real binary in a folder, with no program on its path.
fn ropewalk(folder: &Path, words: &[&str]) -> Output {
    ropewalk_with("/nonexistent", folder, words)
}

/// The same with what lies on this path.
#[expect(clippy::disallowed_methods, reason = "the test is about the program")]
fn ropewalk_with(path: &str, folder: &Path, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ropewalk"))
        .args(words)
        .current_dir(folder)
        .env("PATH", path)
        .env_remove("RUST_LOG")
        .output()
        .unwrap()
}

fn printed(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn result(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    SystemDisk.create(&folder.path().canonicalize().unwrap().join("total.py"), SOURCE.as_bytes()).unwrap();
    folder
}

fn on_disk(folder: &Path) -> String {
    String::from_utf8(SystemDisk.read(&folder.join("total.py")).unwrap()).unwrap()
}

#[test]
fn a_call_edits_a_file_or_with_open_its_buffer_only() {
    let edit = json!({ "file_path": "total.py", "old_string": "if items:\n    return sum(items)",
        "new_string": "if items:\n    return sum(items) + 1" })
    .to_string();
    let folder = folder();

    let open = ropewalk(folder.path(), &["call", "edit", &edit, "--open", "total.py"]);
    let told = result(&open);
    assert_eq!((open.status.code(), &told["status"], &told["applied"]), (Some(0), &json!("ok"), &json!("all")));
    let made = &told["edits"][0];
    assert_eq!((&made["versionBefore"], &made["versionAfter"], &made["unsaved"]), (&json!(1), &json!(2), &json!(true)));
    assert_eq!(made["hunks"][0]["strategy"], "indentationFlexible");
    assert!(made["unifiedDiff"].as_str().unwrap().contains("+        return sum(items) + 1\n"), "{made}");
    assert_eq!(on_disk(folder.path()), SOURCE);

    let closed = ropewalk(folder.path(), &["call", "edit", &edit]);
    let told = result(&closed);
    assert_eq!((closed.status.code(), &told["edits"][0]["unsaved"]), (Some(0), &json!(false)));
    assert_eq!(on_disk(folder.path()), SOURCE.replace("sum(items)", "sum(items) + 1"));
}

#[track_caller]
fn ends(folder: &Path, tool: &str, arguments: &str, code: i32, kind: &str) {
    let output = ropewalk(folder, &["call", tool, arguments]);
    let told = result(&output);
    assert_eq!((output.status.code(), told["error"]["kind"].as_str()), (Some(code), Some(kind)), "{told:#}");
    assert_eq!(told["isError"], true);
}

#[test]
fn how_a_call_ended_is_its_exit_code() {
    let folder = folder();
    let folder = folder.path();
    ends(folder, "read", r#"{"file_path": "absent.py"}"#, 1, "notFound");
    ends(folder, "edit", r#"{"file_path": "total.py", "old_string": "items", "new_string": "x"}"#, 1, "ambiguous");
    ends(folder, "raed_it", "{}", 2, "unknownTool");
    ends(folder, "read", r#"{"file_path": {"a": 1}}"#, 2, "invalidArguments");
    ends(folder, "read", "{not json", 2, "invalidArguments");
    ends(folder, "read", r#"{"file_path": "/etc/passwd"}"#, 3, "denied");
    // This session never saw the file.
    ends(folder, "write", r#"{"file_path": "total.py", "content": "x"}"#, 6, "stale");
    assert_eq!(on_disk(folder), SOURCE);
    for words in [&["call"][..], &["call", "read", "{}", "--open", "absent.py"], &["what"], &["try", "absent.py"]] {
        assert_eq!(ropewalk(folder, words).status.code(), Some(2), "{words:?}");
    }
}

#[test]
fn what_the_person_allows_passes() {
    let folder = folder();
    let folder = folder.path();
    let call = |rules: &[&str]| {
        let mut words = vec!["call", "bash", r#"{"command": "touch made"}"#, "--trust", "."];
        words.extend(rules.iter().flat_map(|rule| ["--allow", rule]));
        ropewalk_with("/usr/bin:/bin", folder, &words)
    };
    let asked = call(&[]);
    assert_eq!(asked.status.code(), Some(3));
    let told = result(&asked)["content"][0]["text"].as_str().unwrap().to_owned();
    assert!(told.contains("nobody could be asked: no editor that shows such questions is here."), "{told}");
    assert!(told.contains("by the rule `bash(touch made)`"), "{told}");
    assert_eq!(call(&["bash(("]).status.code(), Some(2));
    assert!(!folder.join("made").exists());
    assert_eq!(call(&["bash(ls)", "bash(touch made)"]).status.code(), Some(0));
    assert!(folder.join("made").exists());
}

#[test]
fn the_showing_goes_as_it_should() {
    let folder = folder();
    let shown = ropewalk(folder.path(), &["try"]);
    let text = printed(&shown);
    assert_eq!(shown.status.code(), Some(0), "{text}");
    for words in [
        "found by lineTrimmed (similarity 1.00), line 16 on; version 2 -> 3",
        "+        return sum(self.items.values()\n",
        "19:19 error [syntax] unclosed `(`",
        "syntax ok",
        "unchanged, byte for byte",
        "the sidecar's mirror is equal to it",
    ] {
        assert!(text.contains(words), "{words:?} in\n{text}");
    }
}

#[test]
fn the_showing_on_a_persons_file_does_not_touch_it() {
    let folder = folder();
    let shown = ropewalk(folder.path(), &["try", "total.py"]);
    let text = printed(&shown);
    assert_eq!(shown.status.code(), Some(0), "{text}");
    assert!(text.contains("unchanged, byte for byte") && text.contains("found by"), "{text}");
    assert_eq!(on_disk(folder.path()), SOURCE);
    let names: Vec<String> = SystemDisk.read_dir(folder.path()).unwrap().into_iter().map(|entry| entry.name).collect();
    assert_eq!(names, ["total.py"], "nothing is left behind");
}

#[test]
fn the_small_commands() {
    let folder = folder();
    let tools = printed(&ropewalk(folder.path(), &["tools"]));
    let names: Vec<&str> = tools.lines().filter_map(|line| line.split_whitespace().next()).collect();
    let (tools, settings) = (ropewalk::tools::table(), ropewalk::config::Settings::default());
    // Nobody runs agents for a command line.
    let editor = ropewalk::editor::Abilities::default();
    let of_use = tools.iter().filter(|tool| !tool.hidden() && tool.lacks(&settings, &editor).is_none());
    let table: Vec<&str> = of_use.map(|tool| tool.traits().name).collect();
    assert_eq!(names, table);
    let listed = result(&ropewalk(folder.path(), &["tools", "--json"]));
    assert_eq!(listed["tools"].as_array().unwrap().len(), table.len());
    let mut schemas = ropewalk::server::protocol::schemas();
    schemas["runLine"] = ropewalk::fake_editor::schema();
    schemas["fakeServerScript"] = ropewalk::fake_server::schema();
    assert_eq!(result(&ropewalk(folder.path(), &["schema"])), schemas);
    let version = printed(&ropewalk(folder.path(), &["--version"]));
    assert_eq!(version, format!("ropewalk {}\n", env!("CARGO_PKG_VERSION")));
    let doctor = printed(&ropewalk(folder.path(), &["doctor", "--trust", "."]));
    assert!(doctor.contains("missing   ruff") && doctor.contains("pip install ruff"), "{doctor}");
    assert!(doctor.find("missing").unwrap() > doctor.find("Trust\n").unwrap(), "what is here is told first: {doctor}");
    let root = folder.path().canonicalize().unwrap();
    assert!(doctor.contains(&format!("{}: trusted", root.display())), "{doctor}");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the test is about the program")]
fn each_decision_is_logged_with_its_reason() {
    let folder = folder();
    for (tool, arguments, decision, reason) in [
        ("read", json!({ "file_path": "total.py" }), "allow", "workspace"),
        ("read", json!({ "file_path": "/etc/hostname" }), "deny", "outside"),
        ("bash", json!({ "command": "ls" }), "deny", "is not trusted"),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_ropewalk"))
            .args(["call", tool, &arguments.to_string()])
            .current_dir(folder.path())
            .env("RUST_LOG", "ropewalk::permissions=info")
            .output()
            .unwrap();
        let log = String::from_utf8(output.stderr).unwrap();
        let lines: Vec<&str> = log.lines().filter(|line| line.contains("ropewalk::permissions")).collect();
        let [line] = lines.as_slice() else { panic!("one line for {tool} {arguments}: {log}") };
        for part in [&format!("tool=\"{tool}\""), &format!("decision=\"{decision}\""), "reaches=", "by=", reason] {
            assert!(line.contains(part), "{part}: {line}");
        }
    }
}

#[test]
fn the_log_goes_to_the_file_that_is_named() {
    let folder = folder();
    let words = ["--log", "ropewalk.log", "call", "read", r#"{"file_path": "total.py"}"#];
    let output = ropewalk(folder.path(), &words);
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
    assert!(SystemDisk.metadata(&folder.path().join("ropewalk.log")).is_ok());
    let nowhere = ropewalk(folder.path(), &["--log", "no/such/folder/log", "tools"]);
    assert_eq!(nowhere.status.code(), Some(2));
}
