//! `ropewalk fake-server` as a child process behind the real `Languages`: how a server behaves, what is edited, and
//! what the verdict is. Rows whose verdict is that something is not known have a short deadline; all others wait for
//! what they expect.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use expect_test::{Expect, expect};
use ropewalk::config::{ServerSettings, Settings};
use ropewalk::editor::{Absent, FileChangeKind, FileChanged, Origin};
use ropewalk::languages::verdict::{Baseline, DiagnosticsReport, Problem, SourceReport, Verdict};
use ropewalk::languages::{Edited, Languages, Wait, WaitMode};
use ropewalk::permissions::Trust;
use ropewalk::ports::{Disk as _, Ports, SystemDisk};
use ropewalk::text::{Splice, diff};
use ropewalk::workspace::documents::{ContentChange, Counting};
use ropewalk::workspace::{Documents, Key, Roots, Target};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// For what shall come: only so that a test that fails does so.
const LONG: u64 = 30_000;

/// For what shall not come (ms).
const SHORT: u64 = 400;

/// The name of the server.
const FAKE: &str = "fake";

/// An editor's documents in a folder that is trusted, and one fake server.
struct Stage {
    documents: Arc<Documents>,
    languages: Arc<Languages>,
    root: PathBuf,
    version: i32,
    folder: tempfile::TempDir,
}

impl Stage {
    /// `${here}` in the script is the folder.
    fn new(script: &Value) -> Stage {
        let folder = tempfile::tempdir().unwrap();
        let root = SystemDisk.canonicalize(folder.path()).unwrap();
        let trust = Arc::new(Trust::new());
        trust.set(&root, true);
        let documents = Arc::new(Documents::new());
        documents.count_as(Counting::default());
        let languages = Languages::new(Ports::system(), Arc::new(Absent), &documents, trust);
        let script = script.to_string().replace("${here}", &root.to_string_lossy());
        let command = vec![env!("CARGO_BIN_EXE_ropewalk").to_owned(), "fake-server".to_owned(), script];
        let server = ServerSettings { command, languages: vec![FAKE.to_owned()], ..ServerSettings::default() };
        let mut settings = Settings::default();
        settings.diagnostics.servers.insert(FAKE.to_owned(), server);
        languages.configure(Arc::new(settings), &Roots { folders: vec![root.clone()] }, false);
        Stage { documents, languages, root, version: 1, folder }
    }

    fn target(&self, name: &str) -> Target {
        let path = self.root.join(name);
        Target {
            key: Key::File(path.clone()),
            uri: url::Url::from_file_path(&path).unwrap().to_string(),
            shown: name.to_owned(),
            paths: vec![path],
            inside: true,
        }
    }

    /// Opens a document; on the disk it is the same.
    fn open(&self, name: &str, text: &str) {
        let target = self.target(name);
        SystemDisk.create(&self.root.join(name), text.as_bytes()).unwrap();
        self.documents.open(target.key.clone(), &target.uri, FAKE, 1, text);
        let text = self.documents.get(&target.key).unwrap().text;
        self.languages.look(&target, Some(FAKE), &text);
    }

    /// What is known of a document as it is.
    async fn report(&self, name: &str, deadline_ms: u64) -> DiagnosticsReport {
        let wait = Wait { wait: WaitMode::Fresh, deadline_ms: Some(deadline_ms), sources: None };
        self.languages.report(Some(&self.target(name)), None, &wait, &CancellationToken::new()).await
    }

    /// A document becomes another text by an edit; what is known then.
    async fn edit(&mut self, name: &str, new: &str, deadline_ms: u64) -> DiagnosticsReport {
        let target = self.target(name);
        let before = self.documents.get(&target.key).unwrap();
        let prepared = self.languages.prepare(&target, Some(FAKE), &before.text);
        let encoding = self.documents.counting().encoding;
        let splices: Vec<Splice> = diff::splices(&before.text.to_string(), new);
        let changes = splices.iter().rev().map(|splice| {
            let edit = before.text.edit_of(splice, encoding);
            ContentChange { range: Some(edit.range), text: edit.new_text }
        });
        self.version += 1;
        self.documents.change(&target.key, self.version, changes.collect());
        let after = self.documents.get(&target.key).unwrap().text;
        let edited = Edited { target, version: Some(self.version), splices, after };
        let wait = Wait { wait: WaitMode::Fresh, deadline_ms: Some(deadline_ms), sources: None };
        self.languages.settle(vec![(prepared, edited)], &wait, &CancellationToken::new()).await
    }

    fn read(&self, name: &str) -> String {
        String::from_utf8(SystemDisk.read(&self.root.join(name)).unwrap_or_default()).unwrap()
    }

    async fn leave(self) {
        self.languages.shutdown(Duration::from_secs(5)).await;
        self.folder.close().unwrap();
    }
}

/// What a report says of the fake server, in a line.
fn told(report: &DiagnosticsReport) -> String {
    let mut lines = Vec::new();
    for document in &report.documents {
        let source = document.sources.iter().find(|source| source.id.starts_with(FAKE));
        lines.extend(source.map(line).or_else(|| Some("nobody".to_owned())));
        let others = document.sources.iter().filter(|other| source.is_none_or(|source| source.id != other.id));
        lines.extend(others.filter(|other| other.id != "syntax").map(|other| format!("{}: {}", other.id, line(other))));
    }
    for file in &report.other_files {
        let name = file.uri.rsplit('/').next().unwrap_or_default();
        lines.push(format!("also in {name}: {}", list(&file.new)));
    }
    lines.join("; ")
}

fn list(problems: &[Problem]) -> String {
    let each = problems.iter().map(|problem| {
        let message: String = problem.message.chars().take(30).collect();
        format!("{}:{} {message}", problem.range.start.line, problem.range.start.character)
    });
    format!("{:?}", each.collect::<Vec<_>>())
}

fn line(source: &SourceReport) -> String {
    let verdict = serde_json::to_value(source.verdict).unwrap().as_str().unwrap().to_owned();
    let unread = if source.unread > 0 { format!(" unread={}", source.unread) } else { String::new() };
    match (source.verdict, source.baseline) {
        (Verdict::Fresh, Baseline::Known) => format!(
            "{verdict} new={} resolved={} unchanged={}{unread}",
            list(&source.new),
            source.resolved,
            source.unchanged
        ),
        (Verdict::Fresh, Baseline::None) => format!("{verdict} present={}{unread}", list(&source.present)),
        (Verdict::Crashed, _) => {
            let detail = source.detail.as_deref().unwrap_or_default();
            format!("{verdict} ({})", detail.lines().collect::<Vec<_>>().join(" | "))
        }
        _ => verdict,
    }
}

/// A script with one rule, and more.
fn with(more: &Value) -> Value {
    let mut script = json!({ "rules": [{ "pattern": "BAD", "message": "$0 is bad", "code": "B1" }] });
    for (key, value) in more.as_object().unwrap() {
        script[key] = value.clone();
    }
    script
}

/// One row: what is known of the opened text (nothing bad in it), of one with something bad, of one with a line above
/// that, and of one without it. `deadlines`: of each of the four (ms).
async fn row(more: Value, deadlines: [u64; 4], expected: Expect) {
    // What it publishes besides its answers is taken for what it finds at a save, and this text was not saved.
    let found = verdicts(&with(&more), deadlines).await.replace("; fake on save: needsSave", "");
    expected.assert_eq(&found);
}

async fn verdicts(script: &Value, deadlines: [u64; 4]) -> String {
    let mut stage = Stage::new(script);
    stage.open("a.fake", "one\ntwo\n");
    let mut lines = vec![format!("open: {}", told(&stage.report("a.fake", deadlines[0]).await))];
    let texts = ["one\nBAD\ntwo\n", "above\none\nBAD\ntwo\n", "above\none\ntwo\n"];
    for ((what, text), deadline) in ["bad", "above", "mended"].into_iter().zip(texts).zip(&deadlines[1..]) {
        lines.push(format!("{what}: {}", told(&stage.edit("a.fake", text, *deadline).await)));
    }
    stage.leave().await;
    lines.push(String::new());
    lines.join("\n")
}

const KNOWN: [u64; 4] = [LONG; 4];

/// What an honest server leads to, whatever way it has of telling.
fn all_right() -> Expect {
    expect![[r#"
        open: fresh present=[]
        bad: fresh new=["1:0 BAD is bad"] resolved=0 unchanged=0
        above: fresh new=[] resolved=0 unchanged=1
        mended: fresh new=[] resolved=1 unchanged=0
    "#]]
}

#[tokio::test(flavor = "multi_thread")]
async fn honest_servers_lead_to_exact_verdicts_whatever_their_ways() {
    for more in [
        json!({}),
        json!({ "positionEncoding": "utf-8", "sync": "full" }),
        json!({ "diagnostics": { "stamps": "none" } }),
        json!({ "diagnostics": { "pairMs": 30 } }),
        json!({
            "diagnostics": { "progress": "checks", "stamps": "none" },
            "delays": { "textDocument/publishDiagnostics": 30 },
        }),
        json!({ "diagnostics": { "by": "pull" } }),
        json!({ "diagnostics": { "by": "pull", "identifier": "fake", "related": true, "workspace": true } }),
        json!({ "diagnostics": { "by": "pull", "registers": true } }),
        json!({ "diagnostics": { "by": "pull", "unchanged": "honest" } }),
        json!({ "diagnostics": { "by": "both" } }),
        json!({ "diagnostics": { "by": "pull" }, "delays": { "textDocument/diagnostic": 30 } }),
        json!({
            "diagnostics": { "by": "pull" },
            "errors": { "textDocument/diagnostic": { "code": -32801, "times": 1 } },
        }),
        json!({
            "diagnostics": { "by": "pull" },
            "errors": {
                "textDocument/diagnostic": { "code": -32802, "data": { "retriggerRequest": true }, "times": 1 },
            },
        }),
        json!({ "unknownMethods": "leave" }),
        json!({ "asks": ["all"], "watches": true }),
        json!({ "floods": [{ "on": "initialized", "publishes": 500, "logs": 500, "stderr": 5000, "length": 500 }] }),
        json!({ "garbage": [
            { "on": "initialize", "kind": "noise" },
            { "on": "initialized", "kind": "noMessage" },
            { "on": "initialized", "kind": "oddHeaders" },
            { "on": "textDocument/didOpen", "kind": "strayAnswer" },
            { "on": "textDocument/didChange", "kind": "noise" },
        ] }),
    ] {
        println!("{more}");
        row(more, KNOWN, all_right()).await;
    }
}

/// One row of a server of which nothing is known: `opened` tells whether it is known of the text as it was opened; of
/// each later one the verdict is one of these.
async fn not_known(more: Value, opened: bool, words: &[&str]) {
    // One that is dead is not waited for, however long the deadline.
    let later = if words.iter().any(|word| word.starts_with("crashed")) { LONG } else { SHORT };
    let deadlines = [if opened { LONG } else { later }, later, later, later];
    let found = verdicts(&with(&more), deadlines).await;
    for (at, line) in found.lines().enumerate() {
        let (_, told) = line.split_once(": ").unwrap();
        match (at, opened) {
            (0, true) => assert_eq!(told, "fresh present=[]", "{more}\n{found}"),
            _ => assert!(words.iter().any(|word| told.starts_with(word)), "{more}\n{found}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_known_is_not_called_clean() {
    let (silent, late) = (["pending", "neverReported"], ["pending"]);
    let never = json!({ "diagnostics": { "by": "never" } });
    let refused = json!({ "textDocument/diagnostic": { "code": -32601 } });
    let cancelled = json!({ "code": -32802, "data": { "retriggerRequest": false } });
    let cancelled = json!({ "textDocument/diagnostic": cancelled });
    tokio::join!(
        not_known(never, false, &silent),
        not_known(json!({ "wedges": ["initialize"] }), false, &late),
        not_known(json!({ "wedges": ["textDocument/didChange"] }), true, &late),
        not_known(json!({ "diagnostics": { "progress": "endless", "stamps": "none" } }), false, &late),
        not_known(json!({ "diagnostics": { "by": "pull" }, "errors": refused }), false, &silent),
        not_known(json!({ "diagnostics": { "by": "pull" }, "errors": cancelled }), false, &silent),
        not_known(json!({ "diagnostics": { "by": "pull" }, "ignores": ["textDocument/diagnostic"] }), false, &late),
        not_known(json!({ "diagnostics": { "by": "pull", "unchanged": "always" } }), false, &silent),
        not_known(json!({ "holds": { "textDocument/publishDiagnostics": "textDocument/didClose" } }), false, &silent),
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn stamps_that_lie_are_seen_through() {
    for stamps in ["zero", "one", "counter"] {
        let more = json!({ "diagnostics": { "stamps": stamps } });
        let mut stage = Stage::new(&with(&more));
        stage.open("a.fake", "one\n");
        stage.report("a.fake", SHORT).await;
        // What it says is never taken for an answer about the text before it is known for what it is.
        let mut verdicts = Vec::new();
        for number in 1..=8 {
            let text = format!("{}{number}\n", "BAD\n".repeat(number));
            let report = stage.edit("a.fake", &text, if number < 8 { 2 * SHORT } else { LONG }).await;
            let source = report.documents[0].sources.iter().find(|source| source.id == FAKE).unwrap();
            if source.verdict == Verdict::Fresh && source.baseline == Baseline::Known {
                assert_eq!(source.new.len() + source.unchanged, number, "{stamps} {source:#?}");
            }
            verdicts.push(source.verdict);
        }
        assert_eq!(verdicts.last(), Some(&Verdict::Fresh), "{stamps} {verdicts:?}");
        stage.leave().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_dies_is_told_with_its_last_words() {
    let crash = |on: &str, when: &str| json!({ "crashes": [{ "on": on, "when": when, "stderr": "last words" }] });
    let words = ["crashed (fake ended with exit code 3: last words)"];
    for when in ["before", "after", "midFrame"] {
        let mut asked = crash("textDocument/diagnostic", when);
        asked["diagnostics"] = json!({ "by": "pull" });
        // After it has answered, the text as it was opened is known; mostly it is gone before anybody asks.
        tokio::join!(
            not_known(crash("start", when), false, &words),
            not_known(crash("initialize", when), false, &words),
            not_known(crash("initialized", when), false, &words),
            not_known(crash("textDocument/didOpen", "before"), false, &words),
            not_known(crash("textDocument/didOpen", "midFrame"), false, &words),
            not_known(crash("textDocument/didChange", if when == "after" { "before" } else { when }), true, &words),
        );
        if when != "after" {
            not_known(asked, false, &words).await;
        }
    }
    let words = ["crashed (fake "];
    for kind in ["badLength", "hugeLength"] {
        not_known(json!({ "garbage": [{ "on": "textDocument/didChange", "kind": kind }] }), true, &words).await;
    }
    let killed = json!({ "crashes": [{ "on": "textDocument/didChange", "killed": true }] });
    not_known(killed, true, &words).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_died_once_is_started_again() {
    let crash = json!({ "on": "textDocument/didChange", "once": "${here}/mark", "killed": true });
    let mut stage = Stage::new(&with(&json!({ "crashes": [crash] })));
    stage.open("a.fake", "one\n");
    stage.report("a.fake", LONG).await;
    let dead = told(&stage.edit("a.fake", "BAD\n", LONG).await);
    assert!(dead.starts_with("crashed") || dead.starts_with("fresh new=[\"0:0 BAD"), "{dead}");
    let again = async {
        loop {
            let report = told(&stage.report("a.fake", LONG).await);
            if report.starts_with("fresh") {
                return report;
            }
            assert!(report.starts_with("crashed") || report.starts_with("pending"), "{report}");
            tokio::task::yield_now().await;
        }
    };
    let again = tokio::time::timeout(Duration::from_millis(LONG), again).await.expect("it is started again");
    assert_eq!(again, "fresh present=[\"0:0 BAD is bad\"]");
    stage.leave().await;
}

/// Whether any process has this in its command line.
#[cfg(target_os = "linux")]
fn runs(words: &str) -> bool {
    let processes = SystemDisk.read_dir("/proc".as_ref()).unwrap();
    processes.iter().any(|process| {
        let line = SystemDisk.read(&PathBuf::from("/proc").join(&process.name).join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(words)
    })
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_does_not_go_is_ended() {
    for more in [json!({ "wedges": ["shutdown"] }), json!({ "ignores": ["shutdown", "exit"] })] {
        let mut script = with(&more);
        script["transcript"] = json!("${here}/said");
        let mut stage = Stage::new(&script);
        stage.open("a.fake", "one\n");
        stage.report("a.fake", LONG).await;
        assert!(told(&stage.edit("a.fake", "BAD\n", LONG).await).starts_with("fresh"));
        let mark = stage.root.join("said").to_string_lossy().into_owned();
        assert!(runs(&mark));
        stage.languages.shutdown(Duration::from_millis(100)).await;
        let gone = async {
            while runs(&mark) {
                tokio::task::yield_now().await;
            }
        };
        assert!(tokio::time::timeout(Duration::from_millis(LONG), gone).await.is_ok(), "{more}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn odd_diagnostics_are_mended_and_what_is_none_is_counted() {
    let odd = [
        "emptyHref",
        "fractionalCode",
        "negativeLine",
        "farRange",
        "reversedRange",
        "onlyMessage",
        "noMessage",
        "hugeMessage",
        "controlCharacters",
        "wrongSeverity",
        "noObject",
    ];
    for by in ["push", "pull"] {
        let mut stage = Stage::new(&with(&json!({ "diagnostics": { "by": by, "odd": odd } })));
        stage.open("a.fake", "one\n");
        let opened = told(&stage.report("a.fake", LONG).await);
        let opened = opened.replace("\", \"", "\",\n\"") + "\n";
        expect![[r#"
            fresh present=["0:0 odd: OnlyMessage",
            "0:0 (no message)",
            "0:0 odd: ControlCharacters red",
            "0:0 odd: HugeMessage xxxxxxxxxxxxx",
            "0:0 odd: NegativeLine",
            "0:0 odd: WrongSeverity",
            "0:0 odd: FractionalCode",
            "0:0 odd: EmptyHref",
            "0:0 odd: FarRange",
            "0:1 odd: ReversedRange"] unread=1
        "#]]
        .assert_eq(&opened);
        let edited = told(&stage.edit("a.fake", "one\nBAD\n", LONG).await);
        // One of them reaches to the end of the text, wherever that is, so it counts as the same.
        expect![[r#"fresh new=["1:0 BAD is bad"] resolved=0 unchanged=10 unread=1"#]].assert_eq(&edited);
        stage.leave().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_needs_a_save_is_said_to_need_it() {
    let rules = json!([{ "pattern": "BAD", "message": "bad", "needsSave": true }]);
    for by in ["push", "pull"] {
        let mut stage = Stage::new(&json!({ "rules": rules, "diagnostics": { "by": by } }));
        stage.open("a.fake", "one\n");
        stage.report("a.fake", LONG).await;
        let edited = told(&stage.edit("a.fake", "BAD\n", SHORT).await);
        let known = edited.starts_with("fresh");
        assert_eq!(known, by == "pull", "what it is asked it checks in memory: {edited}");
        stage.leave().await;
    }
    let mut stage = Stage::new(&with(&json!({ "sync": "none" })));
    stage.open("a.fake", "one\n");
    stage.report("a.fake", LONG).await;
    assert_eq!(told(&stage.edit("a.fake", "BAD\n", SHORT).await), "needsSave");
    stage.leave().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn silence_where_nothing_changed_is_no_news() {
    let mut stage = Stage::new(&with(&json!({ "diagnostics": { "onlyNews": true } })));
    stage.open("a.fake", "BAD\n");
    assert_eq!(told(&stage.report("a.fake", LONG).await), "fresh present=[\"0:0 BAD is bad\"]");
    // Nobody can tell that from a server that is slow; what is never said is that the problem is gone.
    let silent = told(&stage.edit("a.fake", "BAD\nmore\n", SHORT).await);
    assert!(["pending", "fresh new=[] resolved=0 unchanged=1"].contains(&silent.as_str()), "{silent}");
    let more = told(&stage.edit("a.fake", "BAD\nmore\nBAD\n", LONG).await);
    assert_eq!(more, "fresh new=[\"2:0 BAD is bad\"] resolved=0 unchanged=1");
    stage.leave().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_that_appears_in_another_file_is_told() {
    let names = json!({ "defines": "def (\\w+)", "uses": "(\\w+)\\(\\)" });
    for diagnostics in [json!({}), json!({ "by": "pull", "related": true })] {
        let mut stage = Stage::new(&json!({ "names": names, "diagnostics": diagnostics }));
        stage.open("lib.fake", "def go\n");
        stage.open("app.fake", "go()\n");
        stage.report("lib.fake", LONG).await;
        stage.report("app.fake", LONG).await;
        let broken = told(&stage.edit("lib.fake", "def went\n", LONG).await);
        assert_eq!(
            broken, "fresh new=[] resolved=0 unchanged=0; also in app.fake: [\"0:0 `go` is not defined\"]",
            "{diagnostics}"
        );
        let mended = told(&stage.edit("lib.fake", "def go\n", LONG).await);
        assert_eq!(mended, "fresh new=[] resolved=0 unchanged=0", "{diagnostics}");
        assert_eq!(told(&stage.report("app.fake", LONG).await), "fresh present=[]", "{diagnostics}");
        stage.leave().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cold_start_that_takes_too_long_arrives_late() {
    // It answers only when it hears that a document was closed.
    let holds = json!({ "textDocument/publishDiagnostics": "textDocument/didClose" });
    let mut stage = Stage::new(&with(&json!({ "holds": holds })));
    stage.open("a.fake", "one\n");
    stage.open("closed.fake", "");
    let edited = told(&stage.edit("a.fake", "BAD\n", SHORT).await);
    assert_eq!(edited, "pending");
    assert!(stage.languages.late().is_none());
    stage.documents.close(&stage.target("closed.fake").key);
    stage.open("b.fake", "");
    // It says this after the other, and what was decided on that occasion is done when a second answer is there.
    for _ in 0..2 {
        assert_eq!(told(&stage.report("b.fake", LONG).await), "fresh present=[]");
    }
    let late = stage.languages.late().expect("a late report");
    assert_eq!(told(&late), "fresh present=[\"0:0 BAD is bad\"]");
    stage.leave().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_that_it_asks_is_answered_and_everything_it_wants_to_hear_is_told() {
    let more = json!({ "asks": ["all"], "watches": true, "transcript": "${here}/said.jsonl" });
    let mut stage = Stage::new(&with(&more));
    stage.open("a.fake", "one\n");
    stage.report("a.fake", LONG).await;
    let made = FileChanged { uri: stage.target("new.fake").uri, kind: FileChangeKind::Created, by: Origin::Agent };
    stage.languages.file_changed(&made);
    stage.edit("a.fake", "BAD\n", LONG).await;
    let said = stage.read("said.jsonl");
    let messages: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let asked: Vec<&Value> = messages
        .iter()
        .map(|one| &one["said"])
        .filter(|one| one.get("id").is_some() && one.get("method").is_some())
        .collect();
    assert!(asked.len() > 10, "{said}");
    for question in asked {
        let answers =
            messages.iter().filter(|one| one["heard"]["id"] == question["id"] && one["heard"].get("method").is_none());
        assert_eq!(answers.count(), 1, "{question}");
    }
    let heard: Vec<&str> = messages.iter().filter_map(|one| one["heard"]["method"].as_str()).collect();
    assert!(heard.contains(&"workspace/didChangeWatchedFiles"), "{heard:?}");
    stage.leave().await;
}

/// `docs/FAKE-SERVER.md`.
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/FAKE-SERVER.md");

/// The blocks of a page, with their languages.
fn blocks(page: &str) -> Vec<(&str, String)> {
    let mut blocks: Vec<(&str, String)> = Vec::new();
    let mut inside = false;
    for line in page.lines() {
        match line.strip_prefix("```") {
            Some(language) => {
                inside = !inside;
                if inside {
                    blocks.push((language, String::new()));
                }
            }
            None if inside => {
                let (_, block) = blocks.last_mut().unwrap();
                block.push_str(line);
                block.push('\n');
            }
            None => {}
        }
    }
    blocks
}

fn page() -> String {
    String::from_utf8(SystemDisk.read(PAGE.as_ref()).unwrap()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_example_of_the_page_does_what_the_page_says() {
    let page = page();
    let blocks = blocks(&page);
    let scripts = blocks.windows(2).filter(|pair| pair[0].0 == "json");
    let mut ran = 0;
    for pair in scripts {
        let (script, expected) = (&pair[0].1, &pair[1].1);
        assert_eq!(pair[1].0, "text", "what comes of it is told below: {script}");
        let found = verdicts(&serde_json::from_str(script).unwrap(), KNOWN).await;
        assert_eq!(&found, expected, "{script}");
        ran += 1;
    }
    assert!(ran > 5);
}

#[test]
fn every_key_of_a_script_is_on_the_page() {
    let page = page();
    let schema = ropewalk::fake_server::schema();
    let mut keys: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
    let parts = ["Diagnostics", "Crash"].map(|part| schema["$defs"][part]["properties"].as_object().unwrap());
    keys.extend(parts.iter().flat_map(|part| part.keys()));
    assert!(keys.len() > 30, "{keys:?}");
    let missing: Vec<_> = keys.iter().filter(|key| !page.contains(&format!("`{key}`"))).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the test is about the program")]
fn a_wrong_script_is_refused_by_name() {
    for (script, expected) in [
        (r#"{ "colour": 1 }"#, "ropewalk: the script is wrong: unknown field `colour`"),
        ("/nowhere/script.json", "ropewalk: cannot read `/nowhere/script.json`"),
    ] {
        let binary = env!("CARGO_BIN_EXE_ropewalk");
        let output = std::process::Command::new(binary).args(["fake-server", script]).output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(told.starts_with(expected), "{told}");
    }
}
