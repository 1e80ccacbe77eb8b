//! Trust and consent over the pipes of the real program, with the real `bash` and `monitor`: what runs in which folder, what
//! consent to a command is bound to, and what becomes of it all when trust is taken away.

#![expect(clippy::disallowed_methods, reason = "the folder is on the disk, and the program is the real one")]

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::{Value, json};
use tokio::process::Command;

use crate::editor::FakeEditor;
use crate::hostile::piped;

/// The real program in a folder with settings of its user's own.
pub struct Desk {
    pub editor: FakeEditor,
    pub root: PathBuf,
    pub own: PathBuf,
    _held: tempfile::TempDir,
}

impl Desk {
    async fn new(trusted: bool) -> Desk {
        Desk::with(json!({ "trusted": trusted }), None, &[]).await
    }

    /// With what the editor says, the text of the user's own settings file, and words on the command line. The home folder
    /// is the one that the folder lies in.
    pub async fn with(mut options: Value, own: Option<&str>, words: &[&str]) -> Desk {
        let held = tempfile::tempdir().unwrap();
        let top = held.path().canonicalize().unwrap();
        let (root, state) = (top.join("repo"), top.join("state"));
        std::fs::create_dir_all(&root).unwrap();
        std::fs::create_dir_all(&state).unwrap();
        let file = top.join("config/ropewalk/settings.json");
        if let Some(text) = own {
            settings(&file, text);
        }
        options["diagnostics"] = json!({ "ownServers": "off" });
        let mut command = Command::new(env!("CARGO_BIN_EXE_ropewalk"));
        command.args(words).current_dir(&root).env("XDG_STATE_HOME", &state).env("RUST_LOG", "warn");
        command.env("XDG_CONFIG_HOME", top.join("config")).env("HOME", &top);
        command.env("PATH", "/usr/bin:/bin").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut editor = FakeEditor::start(move |input, output| tokio::spawn(piped(command, input, output)));
        let params = json!({
            "processId": null,
            "workspaceFolders": [{ "uri": format!("file://{}", root.display()), "name": "repo" }],
            "initializationOptions": options,
            "capabilities": {
                "general": { "positionEncodings": ["utf-8"] },
                "workspace": { "applyEdit": true },
                "experimental": { "ropewalk": { "approve": true } },
            },
        });
        editor.ask("initialize", params).await;
        editor.notify("initialized", json!({}));
        Desk { editor, root, own: file, _held: held }
    }

    pub fn file(&self, name: &str, text: &str) {
        let path = self.root.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    pub fn trust(&self, trusted: bool) {
        let root = format!("file://{}", self.root.display());
        self.editor.notify("ropewalk/didChangeTrust", json!({ "root": root, "trusted": trusted }));
    }

    /// Calls a tool; who is asked about it answers so. The result, and whether somebody was asked.
    pub async fn call(&mut self, name: &str, arguments: Value, decision: &str) -> (Value, bool) {
        let id = self.editor.request("ropewalk/callTool", json!({ "name": name, "arguments": arguments }));
        let next = |message: &Value| {
            message["method"] == "ropewalk/approve" || message["id"] == id && message.get("method").is_none()
        };
        let message = self.editor.next_where(next).await.unwrap();
        if message["method"] != "ropewalk/approve" {
            return (message["result"].clone(), false);
        }
        let decision = json!({ "callId": message["params"]["calls"][0]["callId"], "decision": decision });
        self.editor.respond(&message["id"], json!({ "decisions": [decision] }));
        (self.editor.result(id).await, true)
    }

    pub async fn bash(&mut self, line: &str, decision: &str) -> (Value, bool) {
        self.call("bash", json!({ "command": line }), decision).await
    }

    pub async fn end(mut self) {
        self.editor.accept_rest();
        assert_eq!(self.editor.leave().await, 0);
    }
}

/// Writes a settings file as a person's editor does, so that nobody else may.
pub fn settings(file: &Path, text: &str) {
    let folder = file.parent().unwrap();
    std::fs::create_dir_all(folder).unwrap();
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::write(file, text).unwrap();
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o644)).unwrap();
}

pub fn words(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_default()
}

#[tokio::test]
async fn consent_ends_when_what_would_run_is_another() {
    let mut desk = Desk::new(true).await;
    for (line, file, before, after) in [
        ("./x.sh", "x.sh", "#!/bin/sh\necho one\n", "#!/bin/sh\necho two\n"),
        ("npm run x", "package.json", r#"{ "scripts": { "x": "echo one" } }"#, r#"{ "scripts": { "x": "echo two" } }"#),
        ("make", "Makefile", "all:\n\t@echo one\n", "all:\n\t@echo two\n"),
        ("make -C sub -f rules.mk", "sub/rules.mk", "all:\n\t@echo one\n", "all:\n\t@echo two\n"),
        ("node_modules/.bin/foo --fix", "node_modules/.bin/foo", "#!/bin/sh\necho one\n", "#!/bin/sh\necho two\n"),
        ("sh ./y.sh", "y.sh", "echo one\n", "echo two\n"),
    ] {
        desk.file(file, before);
        assert!(desk.bash(line, "session").await.1, "{line}");
        assert!(!desk.bash(line, "deny").await.1, "{line}: it was consented to");
        desk.file("unrelated.txt", line);
        assert!(!desk.bash(line, "deny").await.1, "{line}: nothing of it changed");
        desk.file(file, after);
        let (result, asked) = desk.bash(line, "deny").await;
        assert!(asked && result["status"] == "denied", "{line}: {result}");
    }
    // Where a link leads counts, wherever that is.
    std::os::unix::fs::symlink("/bin/true", desk.root.join("tool")).unwrap();
    assert!(desk.bash("./tool", "session").await.1 && !desk.bash("./tool", "deny").await.1);
    std::fs::remove_file(desk.root.join("tool")).unwrap();
    std::os::unix::fs::symlink("/bin/echo", desk.root.join("tool")).unwrap();
    assert!(desk.bash("./tool", "deny").await.1);
    desk.end().await;
}

#[tokio::test]
async fn trust_begins_and_ends_with_a_word() {
    let mut desk = Desk::new(false).await;
    let follow = json!({ "command": "sleep 1000" });
    for (tool, arguments) in [("bash", json!({ "command": "ls" })), ("monitor", follow.clone())] {
        let (result, asked) = desk.call(tool, arguments, "once").await;
        assert!(!asked && result["status"] == "denied", "{result}");
        assert!(words(&result).contains("is not trusted; the person can trust it"), "{result}");
    }
    desk.trust(true);
    assert_eq!(desk.bash("ls", "deny").await.0["status"], "ok");
    let background = json!({ "command": "sleep 1000", "background": true });
    for (tool, arguments) in [("bash", background), ("monitor", follow.clone())] {
        let result = desk.call(tool, arguments, "session").await.0;
        assert_eq!(result["status"], "ok", "{result}");
    }
    // A call that runs comes to its end, and what runs in the background ends now.
    let (owner, go) = (rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR, desk.root.join("go"));
    rustix::fs::mkfifoat(rustix::fs::CWD, &go, owner).unwrap();
    let running = json!({ "name": "bash", "arguments": { "command": "echo > begun; cat go" } });
    let running = desk.editor.request("ropewalk/callTool", running);
    let (question, asked) = desk.editor.asked("ropewalk/approve").await;
    let decision = json!({ "callId": asked["calls"][0]["callId"], "decision": "once" });
    desk.editor.respond(&question, json!({ "decisions": [decision] }));
    while !desk.root.join("begun").exists() {
        desk.editor.ask("ropewalk/jobs", json!({})).await;
    }
    desk.trust(false);
    loop {
        let jobs = desk.editor.ask("ropewalk/jobs", json!({})).await;
        if jobs["jobs"].as_array().unwrap().iter().all(|job| job["state"] == "stopped") {
            break;
        }
    }
    tokio::task::spawn_blocking(move || std::fs::write(go, "done\n").unwrap()).await.unwrap();
    let result = desk.editor.result(running).await;
    assert!(words(&result).starts_with("done"), "{result}");
    let (denied, asked) = desk.call("monitor", follow, "once").await;
    assert!(!asked && denied["status"] == "denied", "consent is no trust: {denied}");
    let told = format!("{result}{denied}");
    let why = format!("was stopped, because {} is not trusted any more", desk.root.display());
    assert_eq!(told.matches(&why).count(), 2, "{told}");
    desk.end().await;
}
