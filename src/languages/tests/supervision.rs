//! Servers that are idle, too many, too heavy, wedged or changed; several roots; files on the disk.

use std::sync::atomic::{AtomicU64, Ordering as Order};

use tokio::time::{Instant, sleep};

use super::*;
use crate::config::ServerSettings;
use crate::editor::{FileChangeKind, Origin};

const MINUTE: Duration = Duration::from_mins(1);

/// What a server says that takes further folders.
fn takes_folders() -> Value {
    let mut capabilities = PUSHES();
    capabilities["workspace"] = json!({ "workspaceFolders": { "supported": true, "changeNotifications": true } });
    capabilities
}

impl Bench {
    /// A tool looks at a document of another language or folder.
    fn look(&self, path: &str, language: &str) -> Target {
        let path = PathBuf::from(path);
        let uri = format!("file://{}", path.display());
        let target =
            Target { key: Key::File(path.clone()), uri, shown: String::new(), paths: vec![path], inside: true };
        self.documents.open(target.key.clone(), &target.uri, language, 1, "a\n");
        self.languages.look(&target, Some(language), &self.text(&target));
        target
    }

    fn folders(&self, folders: &[&str]) {
        let roots = Roots { folders: folders.iter().map(PathBuf::from).collect() };
        self.languages.configure(Arc::new(self.settings.clone()), &roots, false);
    }

    fn told_file(&self, path: &str, kind: FileChangeKind) {
        self.languages.file_changed(&FileChanged { uri: format!("file://{path}"), kind, by: Origin::Agent });
    }

    async fn states(&self) -> Vec<String> {
        let status = self.languages.status().await;
        let all = status.iter().flat_map(|server| {
            let of = |root: &Option<PathBuf>| root.as_ref().map(|root| root.display().to_string()).unwrap_or_default();
            server.running.iter().map(move |(root, state)| format!("{} {} {state}", server.name, of(root)))
        });
        all.collect()
    }
}

impl Played {
    /// Ends like a server that was asked to.
    async fn leave(mut self) {
        let asked = self.expect("shutdown").await;
        self.reply(&asked, Value::Null).await;
        self.expect("exit").await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_nobody_uses_ends_and_is_back_when_it_is_used() {
    let mut bench = Bench::new();
    let doc = bench.open("a.py", "a\n");
    let mut server = bench.server().await;
    server.initialize(PUSHES()).await;
    server.expect("textDocument/didOpen").await;
    // Each use counts, and what the user types is none.
    sleep(29 * MINUTE).await;
    let used = Instant::now();
    bench.languages.look(&doc, None, &bench.text(&doc));
    sleep(20 * MINUTE).await;
    bench.replace(&doc, 0..0, "typed\n");
    server.leave().await;
    assert_eq!(used.elapsed().as_secs() / 60, 30);
    bench.quiesce().await;
    assert_eq!(bench.states().await, ["ruff /w stopped"]);
    bench.languages.look(&doc, None, &bench.text(&doc));
    let mut server = bench.server().await;
    server.initialize(PUSHES()).await;
    let opened = server.expect("textDocument/didOpen").await;
    assert_eq!(opened["params"]["textDocument"]["text"], "typed\na\n");
    assert_eq!(bench.states().await, ["ruff /w running"], "it has its place again");
}

#[tokio::test(start_paused = true)]
async fn without_a_limit_it_stays_and_one_that_is_waited_for_stays_too() {
    let mut bench = Bench::new();
    bench.settings.diagnostics.server_idle_ms = 0;
    bench.configure();
    bench.open("a.py", "a\n");
    let mut server = bench.server().await;
    server.initialize(PUSHES()).await;
    sleep(1000 * MINUTE).await;
    assert_eq!(bench.states().await, ["ruff /w running"]);

    let mut bench = Bench::new();
    bench.settings.diagnostics.server_idle_ms = 1000;
    bench.configure();
    let doc = bench.open("a.py", "a\n");
    let mut server = bench.server().await;
    server.initialize(PUSHES()).await;
    let wait = Wait { deadline_ms: Some(60_000), ..Wait::default() };
    let settle = bench.settle_with(vec![bench.edit(&doc, 0..0, "x\n")], wait);
    sleep(30 * Duration::from_secs(1)).await;
    server.publish(&doc.uri, Some(102), json!([])).await;
    assert!(told(&settle.await.unwrap()).starts_with("ruff fresh@2"));
}

#[tokio::test(start_paused = true)]
async fn never_two_at_once_also_while_the_first_leaves() {
    let mut bench = Bench::new();
    let doc = bench.open("a.py", "a\n");
    let mut first = bench.server().await;
    first.initialize(PUSHES()).await;
    let asked = first.expect("shutdown").await;
    bench.languages.look(&doc, None, &bench.text(&doc));
    bench.quiesce().await;
    assert!(bench.started.try_recv().is_err(), "the first is still there");
    first.reply(&asked, Value::Null).await;
    drop(first);
    let mut second = bench.server().await;
    second.initialize(PUSHES()).await;
    second.expect("textDocument/didOpen").await;
}

#[tokio::test(start_paused = true)]
async fn one_that_takes_too_much_memory_is_ended_told_and_started_anew() {
    let mut bench = Bench::new();
    let weight = Arc::new(AtomicU64::new(4 << 30));
    let weighed = Arc::clone(&weight);
    *lock(&bench.stage.memory) = Some(Arc::new(move || Some(weighed.load(Order::Relaxed))));
    let doc = bench.open("a.py", "a\n");
    let mut server = bench.server().await;
    server.initialize(PUSHES()).await;
    server.publish(&doc.uri, Some(101), json!([])).await;
    sleep(MINUTE).await;
    assert_eq!(bench.states().await, ["ruff /w running"], "as much as it may");
    weight.store((4 << 30) + 1, Order::Relaxed);
    *lock(&bench.stage.memory) = None;
    server.leave().await;
    let settle = bench.settle(vec![bench.edit(&doc, 0..0, "x\n")]);
    assert_eq!(
        told(&settle.await.unwrap()),
        "ruff crashed@2 0ms (ruff took more than 4096 MiB of memory and was ended (see `diagnostics.serverMemoryMib`))"
    );
    let mut server = bench.server().await;
    server.initialize(PUSHES()).await;
    server.expect("textDocument/didOpen").await;
    assert_eq!(bench.states().await, ["ruff /w running"]);
}

#[tokio::test(start_paused = true)]
async fn for_one_too_many_the_one_that_was_not_used_for_longest_ends() {
    let mut bench = Bench::new();
    bench.settings.diagnostics.max_servers = 2;
    bench.configure();
    let python = bench.open("a.py", "a\n");
    let mut ruff = bench.server().await;
    ruff.initialize(PUSHES()).await;
    bench.look("/w/a.go", "go");
    let mut gopls = bench.server().await;
    gopls.initialize(PUSHES()).await;
    sleep(MINUTE).await;
    bench.languages.look(&python, None, &bench.text(&python));
    bench.quiesce().await;
    bench.look("/w/a.sh", "shellscript");
    gopls.leave().await;
    let mut shell = bench.server().await;
    assert_eq!(shell.name, "bash-language-server");
    shell.initialize(PUSHES()).await;
    // One that is waited for does not have to go; when all are, there is no room.
    let wait = Wait { deadline_ms: Some(60_000), ..Wait::default() };
    let script = target("a.sh");
    let edits = vec![bench.edit(&python, 0..0, "x\n"), bench.edit(&script, 0..0, "x\n")];
    let settle = bench.settle_with(edits, wait);
    bench.quiesce().await;
    let go = target("b.go");
    bench.documents.open(go.key.clone(), &go.uri, "go", 1, "a\n");
    let told_go = bench.settle(vec![bench.edit(&go, 0..0, "x\n")]).await.unwrap();
    assert_eq!(
        told(&told_go),
        "gopls noServer@2 0ms (2 language servers run, which is the most (`diagnostics.maxServers`), all in use)"
    );
    drop(settle);
}

#[tokio::test(start_paused = true)]
async fn one_process_serves_several_roots_where_it_can() {
    let mut bench = Bench::new();
    bench.folders(&["/w", "/v"]);
    bench.open("a.py", "a\n");
    let mut server = bench.server().await;
    server.initialize(takes_folders()).await;
    server.expect("textDocument/didOpen").await;
    bench.look("/v/b.py", "python");
    let told = server.expect("workspace/didChangeWorkspaceFolders").await;
    let folder = json!({ "uri": "file:///v", "name": "v" });
    assert_eq!(told["params"]["event"], json!({ "added": [folder], "removed": [] }));
    let opened = server.expect("textDocument/didOpen").await;
    assert_eq!(opened["params"]["textDocument"]["uri"], "file:///v/b.py");
    let folders = server.ask("workspace/workspaceFolders", Value::Null).await;
    assert_eq!(folders["result"], json!([{ "uri": "file:///w", "name": "w" }, folder]));
    assert_eq!(bench.states().await, ["ruff /w running", "ruff /v running"]);
    // After a crash it serves both again.
    drop(server);
    let mut server = bench.server().await;
    server.initialize(takes_folders()).await;
    let told = server.expect("workspace/didChangeWorkspaceFolders").await;
    assert_eq!(told["params"]["event"]["added"], json!([folder]));
    for uri in ["file:///v/b.py", "file:///w/a.py"] {
        assert_eq!(server.expect("textDocument/didOpen").await["params"]["textDocument"]["uri"], uri);
    }
    // A folder that is none any more is left, once nothing of it is open.
    bench.documents.close(&Key::File("/v/b.py".into()));
    bench.folders(&["/w"]);
    let told = server.expect("workspace/didChangeWorkspaceFolders").await;
    assert_eq!(told["params"]["event"], json!({ "added": [], "removed": [folder] }));
    assert_eq!(bench.states().await, ["ruff /w running"]);
    assert!(bench.started.try_recv().is_err());
}

#[tokio::test(start_paused = true)]
async fn where_it_cannot_each_root_has_its_own() {
    let mut bench = Bench::new();
    bench.folders(&["/w", "/v"]);
    bench.open("a.py", "a\n");
    let mut first = bench.server().await;
    // It has not said yet what it can; when it does, the document goes to one of its own.
    bench.look("/v/b.py", "python");
    bench.quiesce().await;
    assert!(bench.started.try_recv().is_err());
    first.initialize(PUSHES()).await;
    let mut second = bench.server().await;
    second.initialize(PUSHES()).await;
    assert_eq!(second.expect("textDocument/didOpen").await["params"]["textDocument"]["uri"], "file:///v/b.py");
    let closed = first.expect("textDocument/didClose").await;
    assert_eq!(closed["params"]["textDocument"]["uri"], "file:///v/b.py");
    assert_eq!(bench.states().await, ["ruff /w running", "ruff /v running"]);
    // One that may not share a process by the table never does.
    let mut bench = Bench::without(&["tsc", "eslint"]);
    bench.folders(&["/w", "/v"]);
    bench.look("/w/a.ts", "typescript");
    bench.server().await.initialize(takes_folders()).await;
    bench.look("/v/b.ts", "typescript");
    assert_eq!(bench.server().await.name, "typescript-language-server");
}

#[tokio::test(start_paused = true)]
async fn one_that_is_wedged_while_it_starts_is_given_up_and_tried_again() {
    let mut bench = Bench::new();
    let doc = bench.open("a.py", "a\n");
    let begin = Instant::now();
    let mut wedged = bench.server().await;
    wedged.expect("initialize").await;
    let mut next = bench.server().await;
    assert_eq!(begin.elapsed().as_secs(), 61, "a minute, and the pause before a restart");
    next.initialize(PUSHES()).await;
    next.expect("textDocument/didOpen").await;
    drop((wedged, doc));
}

#[tokio::test(start_paused = true)]
async fn one_that_does_not_end_holds_up_nobody() {
    let mut bench = Bench::new();
    bench.open("a.py", "a\n");
    let mut server = bench.server().await;
    server.initialize(PUSHES()).await;
    let begin = Instant::now();
    // It neither answers nor closes its pipe.
    bench.languages.shutdown(Duration::from_secs(2)).await;
    assert!(begin.elapsed() <= Duration::from_secs(6), "{:?}", begin.elapsed());
    drop(server);
}

#[tokio::test(start_paused = true)]
async fn one_that_does_not_read_is_started_anew() {
    let mut bench = Bench::new();
    let doc = bench.open("a.py", "a\n");
    let mut server = bench.server().await;
    server.initialize(PUSHES()).await;
    server.expect("textDocument/didOpen").await;
    bench.replace(&doc, 0..0, &"x".repeat(2 << 20));
    // Nobody is held up meanwhile: an edit is told to be pending when its time is over.
    let settle = bench.settle(vec![bench.edit(&doc, 0..0, "y\n")]);
    assert!(told(&settle.await.unwrap()).starts_with("ruff pending@3"));
    let mut next = bench.server().await;
    next.initialize(PUSHES()).await;
    let opened = next.expect("textDocument/didOpen").await;
    assert!(opened["params"]["textDocument"]["text"].as_str().unwrap().starts_with("y\nxxx"));
    drop(server);
}

#[tokio::test(start_paused = true)]
async fn what_is_no_message_is_passed_over_and_what_is_too_large_ends_the_server() {
    let mut bench = Bench::new();
    let doc = bench.open("a.py", "a\n");
    let mut server = bench.server().await;
    server.initialize(PUSHES()).await;
    server.expect("textDocument/didOpen").await;
    let settle = bench.settle(vec![bench.edit(&doc, 0..0, "x\n")]);
    server.expect("textDocument/didChange").await;
    // A frame that is no JSON, or words of somebody who takes the pipe for a terminal, say nothing; what comes behind
    // them is read all the same.
    server.pipe.write_all(b"Content-Length: 4\r\n\r\noops").await.unwrap();
    server.pipe.write_all(b"Hello, is anybody there?\r\n\r\n").await.unwrap();
    server.publish(&doc.uri, Some(102), json!([])).await;
    assert!(told(&settle.await.unwrap()).starts_with("ruff fresh@2"));
    // One that is larger than any may be ends it, before it is read.
    let settle = bench.settle(vec![bench.edit(&doc, 0..0, "y\n")]);
    server.expect("textDocument/didChange").await;
    server.pipe.write_all(b"Content-Length: 99999999999\r\n\r\n").await.unwrap();
    let report = told(&settle.await.unwrap());
    assert!(report.starts_with("ruff crashed@3 0ms (ruff lost its connection: "), "{report}");
    let mut next = bench.server().await;
    next.initialize(PUSHES()).await;
    next.expect("textDocument/didOpen").await;
}

#[tokio::test(start_paused = true)]
async fn a_new_file_is_announced_before_it_is_opened() {
    let mut bench = Bench::new();
    bench.open("a.py", "a\n");
    let mut server = bench.server().await;
    server.initialize(PUSHES()).await;
    let watchers = json!({ "watchers": [{ "globPattern": "**/*.py" }] });
    let registration = json!({ "id": "w", "method": "workspace/didChangeWatchedFiles", "registerOptions": watchers });
    server.ask("client/registerCapability", json!({ "registrations": [registration] })).await;
    // A tool makes a file that no editor has open.
    let new = target("new.py");
    let empty = Text::new("", LineBreaks::Lf);
    let prepared = bench.languages.prepare(&new, Some("python"), &empty);
    bench.quiesce().await;
    let after = Text::new("x\n", LineBreaks::Lf);
    bench.told_file("/w/new.py", FileChangeKind::Created);
    let splices = vec![Splice { range: 0..0, text: "x\n".into() }];
    let edited = Edited { target: new.clone(), version: None, splices, after };
    let settle = bench.settle(vec![(prepared, edited)]);
    let announced = server.next().await.unwrap();
    assert_eq!(announced["method"], "workspace/didChangeWatchedFiles");
    assert_eq!(announced["params"]["changes"], json!([{ "uri": "file:///w/new.py", "type": 1 }]));
    let opened = server.next().await.unwrap();
    assert_eq!(opened["method"], "textDocument/didOpen");
    let document = &opened["params"]["textDocument"];
    assert_eq!((&document["uri"], &document["text"]), (&json!("file:///w/new.py"), &json!("x\n")));
    server.publish(&new.uri, document["version"].as_i64(), json!([error(0, "bad")])).await;
    assert_eq!(told(&settle.await.unwrap()), "ruff fresh 150ms present=[0:0 bad]");
}

#[tokio::test(start_paused = true)]
async fn only_what_was_registered_is_told_of_files() {
    let mut bench = Bench::new();
    bench.open("a.py", "a\n");
    let mut server = bench.server().await;
    server.initialize(PUSHES()).await;
    server.expect("textDocument/didOpen").await;
    bench.told_file("/w/before.py", FileChangeKind::Created);
    bench.quiesce().await;
    let watchers = json!({ "watchers": [
        { "globPattern": { "baseUri": "file:///w", "pattern": "*.toml" }, "kind": 2 },
        { "globPattern": "**/*.py", "kind": 4 },
    ] });
    let registration = json!({ "id": "w", "method": "workspace/didChangeWatchedFiles", "registerOptions": watchers });
    server.ask("client/registerCapability", json!({ "registrations": [registration] })).await;
    for (path, kind) in [
        ("/w/pyproject.toml", FileChangeKind::Created),
        ("/w/sub/pyproject.toml", FileChangeKind::Changed),
        ("/w/pyproject.toml", FileChangeKind::Changed),
        ("/w/b.py", FileChangeKind::Created),
        ("/w/sub/b.py", FileChangeKind::Deleted),
    ] {
        bench.told_file(path, kind);
    }
    for expected in
        [json!({ "uri": "file:///w/pyproject.toml", "type": 2 }), json!({ "uri": "file:///w/sub/b.py", "type": 3 })]
    {
        let told = server.next().await.unwrap();
        assert_eq!(
            (&told["method"], &told["params"]["changes"][0]),
            (&json!("workspace/didChangeWatchedFiles"), &expected)
        );
    }
}

#[tokio::test(start_paused = true)]
async fn another_definition_ends_the_server_that_runs_by_the_old_one() {
    let mut bench = Bench::new();
    let doc = bench.open("a.py", "a\n");
    let mut server = bench.server().await;
    server.initialize(PUSHES()).await;
    bench.settings.diagnostics.known_ms = 900;
    bench.configure();
    bench.quiesce().await;
    assert_eq!(bench.states().await, ["ruff /w running"], "nothing of it changed");
    let given = ServerSettings { settings: Some(json!({ "lint": false })), ..ServerSettings::default() };
    bench.settings.diagnostics.servers.insert("ruff".into(), given);
    bench.configure();
    server.leave().await;
    bench.languages.look(&doc, None, &bench.text(&doc));
    let mut server = bench.server().await;
    server.initialize(PUSHES()).await;
    let asked = server.ask("workspace/configuration", json!({ "items": [{ "section": "lint" }] })).await;
    assert_eq!(asked["result"], json!([false]));
}

#[tokio::test(start_paused = true)]
async fn several_servers_check_one_language() {
    let mut bench = Bench::without(&["pyright"]);
    let doc = bench.open("a.py", "a\n");
    let mut servers = vec![bench.server().await, bench.server().await];
    servers.sort_by(|a, b| a.name.cmp(&b.name));
    for server in &mut servers {
        server.initialize(PUSHES()).await;
        server.publish(&doc.uri, Some(101), json!([])).await;
    }
    bench.quiesce().await;
    let settle = bench.settle(vec![bench.edit(&doc, 0..0, "x\n")]);
    for server in &mut servers {
        server.expect("textDocument/didChange").await;
        let name = server.name.clone();
        server.publish(&doc.uri, Some(102), json!([error(0, &name)])).await;
    }
    assert_eq!(
        told(&settle.await.unwrap()),
        "basedpyright fresh@2 150ms new=[0:0 basedpyright] resolved=0 unchanged=0\n\
         ruff fresh@2 150ms new=[0:0 ruff] resolved=0 unchanged=0"
    );
}

#[tokio::test(start_paused = true)]
async fn a_file_that_others_changed_is_read_again() {
    let mut bench = Bench::new();
    let file = target("a.py");
    bench.languages.look(&file, Some("python"), &Text::new("a\n", LineBreaks::Lf));
    let mut server = bench.server().await;
    server.initialize(PUSHES()).await;
    server.expect("textDocument/didOpen").await;
    let change = |by: Origin| {
        let uri = file.uri.clone();
        bench.languages.file_changed(&FileChanged { uri, kind: FileChangeKind::Changed, by });
    };
    // The branch was changed, say.
    lock(&bench.stage.disk).insert("/w/a.py".into(), "b\n".into());
    change(Origin::User);
    let told = server.expect("textDocument/didChange").await;
    assert_eq!(told["params"]["textDocument"]["version"], 102);
    server.expect("textDocument/didSave").await;
    // The same once more is no news; what we write ourselves is known.
    change(Origin::User);
    lock(&bench.stage.disk).insert("/w/a.py".into(), "c\n".into());
    change(Origin::Agent);
    bench.quiesce().await;
    lock(&bench.stage.disk).insert("/w/a.py".into(), "d\n".into());
    change(Origin::User);
    let told = server.expect("textDocument/didChange").await;
    assert_eq!(told["params"]["textDocument"]["version"], 103);
}

#[tokio::test(start_paused = true)]
async fn one_that_took_too_much_memory_has_time_to_go_whatever_happens_to_trust() {
    let mut bench = Bench::new();
    *lock(&bench.stage.memory) = Some(Arc::new(|| Some(u64::MAX)));
    bench.open("a.py", "a\n");
    let mut server = bench.server().await;
    server.initialize(PUSHES()).await;
    *lock(&bench.stage.memory) = None;
    let asked = server.expect("shutdown").await;
    bench.languages.trust_changed();
    bench.quiesce().await;
    assert!(bench.started.try_recv().is_err(), "the first is still there");
    server.reply(&asked, Value::Null).await;
    drop(server);
    bench.server().await.initialize(PUSHES()).await;
}
