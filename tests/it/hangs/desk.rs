//! The real binary with a trusted folder and a person who allows what is not forbidden, and everything that it starts,
//! found by a mark in its environment.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::process::Command;

use super::NEVER;
use crate::process::Binary;

/// The sidecar, its editor and its folder.
pub struct Desk {
    pub binary: Binary,
    pub root: PathBuf,
    mark: String,
    next: i64,
    /// Messages that came while another was waited for.
    waiting: Vec<Value>,
    _folder: tempfile::TempDir,
}

impl Desk {
    /// With these settings besides.
    pub async fn new(name: &str, settings: Value) -> Desk {
        Desk::with(name, settings, |_| {}).await
    }

    /// The same; `change` changes how the binary is started.
    pub async fn with(name: &str, settings: Value, change: impl FnOnce(&mut Command)) -> Desk {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let at = folder.path().canonicalize().unwrap();
        let root = at.join("root");
        std::fs::create_dir(&root).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, root.join("fifo"), rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR)
            .unwrap();
        let value = format!("{name}-{}", std::process::id());
        let mut command = Command::new(env!("CARGO_BIN_EXE_ropewalk"));
        // The folder of the tests is below it, and would be a place that is written to in builds.
        command
            .env_remove("CARGO_TARGET_DIR")
            .env("XDG_STATE_HOME", at.join("state"))
            .env("XDG_CONFIG_HOME", at.join("config"))
            .env("ROPEWALK_TEST_MARK", &value);
        change(&mut command);
        let mut binary = Binary::of(&mut command);
        let mut options = settings;
        options["trusted"] = json!(true);
        options["diagnostics"] = json!({ "ownServers": "off" });
        let params = json!({
            "processId": null,
            "workspaceFolders": [{ "uri": format!("file://{}", root.display()), "name": "w" }],
            "initializationOptions": options,
            "capabilities": {
                "general": { "positionEncodings": ["utf-8"] },
                "workspace": { "applyEdit": true },
                "experimental": { "ropewalk": { "approve": true, "save": true, "events": true } },
            },
        });
        let answer = binary.ask(0, "initialize", params).await;
        assert_eq!(answer["result"]["serverInfo"]["name"], "ropewalk");
        binary.notify("initialized", json!({})).await;
        let mark = format!("ROPEWALK_TEST_MARK={value}");
        Desk { binary, root, mark, next: 1, waiting: Vec::new(), _folder: folder }
    }

    pub async fn notify(&mut self, method: &str, params: Value) {
        self.binary.notify(method, params).await;
    }

    /// Sends a request; its id.
    pub async fn request(&mut self, method: &str, params: Value) -> i64 {
        let id = self.next;
        self.next += 1;
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.binary.send(&request).await;
        id
    }

    /// The next message that fits. A question to the person is answered with yes.
    pub async fn next(&mut self, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.waiting.iter().position(&fits) {
            return self.waiting.remove(at);
        }
        let work = async {
            loop {
                let message = self.binary.next(|_| true).await;
                if message["method"] == "ropewalk/approve" {
                    let decision = json!({ "callId": message["params"]["calls"][0]["callId"], "decision": "once" });
                    let answer =
                        json!({ "jsonrpc": "2.0", "id": message["id"], "result": { "decisions": [decision] } });
                    self.binary.send(&answer).await;
                }
                if fits(&message) {
                    return message;
                }
                // Only answers are kept.
                if message.get("method").is_none() {
                    self.waiting.push(message);
                }
            }
        };
        tokio::time::timeout(NEVER, work).await.unwrap_or_else(|_| panic!("never: {what}"))
    }

    /// Says yes to the next question; the question.
    pub async fn approve(&mut self) -> Value {
        self.next("a question", |message| message["method"] == "ropewalk/approve").await
    }

    pub async fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params).await;
        self.answer(id).await
    }

    async fn answer(&mut self, id: i64) -> Value {
        self.next("an answer", |message| message["id"] == id && message.get("method").is_none()).await
    }

    /// Begins a call, and says yes to it.
    pub async fn begin(&mut self, session: &str, name: &str, arguments: Value) -> i64 {
        self.request("ropewalk/callTool", super::call(session, name, arguments)).await
    }

    /// The result of a call.
    pub async fn result(&mut self, id: i64) -> Value {
        let answer = self.answer(id).await;
        assert!(answer.get("error").is_none(), "{answer}");
        answer["result"].clone()
    }

    pub async fn tool(&mut self, name: &str, arguments: Value) -> Value {
        let id = self.begin("default", name, arguments).await;
        self.result(id).await
    }

    pub async fn bash(&mut self, arguments: Value) -> Value {
        self.tool("bash", arguments).await
    }

    /// Waits until a call that runs puts this out.
    pub async fn put_out(&mut self, words: &str) {
        let fits = |message: &Value| {
            message["params"]["kind"] == "output"
                && message["params"]["detail"]["text"].as_str().is_some_and(|text| text.contains(words))
        };
        self.next(words, fits).await;
    }

    /// Waits until a job has put this out.
    pub async fn job_put_out(&mut self, session: &str, id: &str, words: &str) -> String {
        let mut tick = tokio::time::interval(Duration::from_millis(5));
        loop {
            let output = self.ask("ropewalk/jobOutput", json!({ "sessionId": session, "id": id })).await;
            let text = output["result"]["text"].as_str().unwrap_or_default();
            if text.contains(words) {
                return text.to_owned();
            }
            assert_eq!(output["result"]["state"], "running", "{output}");
            tick.tick().await;
        }
    }

    /// The command lines of everything that it started and that lives. (It has the mark itself, and so have those of its
    /// supervisors that look like it only because they are it.)
    pub fn alive(&self) -> Vec<(i32, String)> {
        let own = self.pid();
        let mut found = Vec::new();
        for pid in processes() {
            let read = |what: &str| std::fs::read(format!("/proc/{pid}/{what}")).unwrap_or_default();
            let marked = read("environ").split(|byte| *byte == 0).any(|variable| variable == self.mark.as_bytes());
            if marked && Some(pid) != own {
                found.push((pid, String::from_utf8_lossy(&read("cmdline")).replace('\0', " ")));
            }
        }
        found
    }

    /// Waits until nothing of it is left.
    pub async fn nobody_left(&self) {
        until(&format!("nobody left: {:?}", self.alive()), || self.alive().is_empty()).await;
    }

    fn pid(&self) -> Option<i32> {
        self.binary.child.id().and_then(|pid| i32::try_from(pid).ok())
    }

    fn account(&self, what: &str) -> PathBuf {
        Path::new("/proc").join(self.pid().unwrap().to_string()).join(what)
    }

    /// The most memory that the sidecar ever took (bytes).
    pub fn most_memory(&self) -> u64 {
        let status = std::fs::read_to_string(self.account("status")).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
    }

    /// How many descriptors it has open.
    pub fn descriptors(&self) -> usize {
        std::fs::read_dir(self.account("fd")).unwrap().count()
    }

    /// Its children, zombies included.
    pub fn children(&self) -> Vec<i32> {
        let own = self.pid().unwrap().to_string();
        let parent = |pid: &i32| {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            let parent = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_ascii_whitespace().nth(1));
            parent == Some(own.as_str())
        };
        processes().into_iter().filter(parent).collect()
    }

    /// Ends it in good order.
    pub async fn leave(mut self) {
        self.ask("shutdown", Value::Null).await;
        self.notify("exit", Value::Null).await;
        assert_eq!(self.binary.code().await, Some(0));
        assert_eq!(self.alive(), []);
    }
}

fn processes() -> Vec<i32> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// Waits until this holds.
pub async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let mut tick = tokio::time::interval(Duration::from_millis(5));
    let wait = async {
        while !holds() {
            tick.tick().await;
        }
    };
    tokio::time::timeout(Duration::from_mins(1), wait).await.unwrap_or_else(|_| panic!("never: {what}"));
}

/// The status of a call and its text.
pub fn told(result: &Value) -> (&str, &str) {
    (result["status"].as_str().unwrap_or_default(), result["content"][0]["text"].as_str().unwrap_or_default())
}

/// What there is for front ends.
pub fn data(result: &Value) -> &Value {
    &result["structuredContent"]
}
