//! Starting, ending, crashing, trust, and who serves what.

use super::*;
use crate::config::{OwnServers, ServerSettings};

#[tokio::test(start_paused = true)]
async fn a_crash_is_told_and_the_server_comes_back_with_its_documents() {
    let mut bench = Bench::new();
    let doc = bench.open("a.py", "a\n");
    let mut server = bench.server().await;
    server.initialize(PUSHES()).await;
    server.publish(&doc.uri, Some(101), json!([error(0, "old")])).await;
    bench.quiesce().await;
    let settle = bench.settle(vec![bench.edit(&doc, 0..0, "x\n")]);
    server.expect("textDocument/didChange").await;
    drop(server);
    assert_eq!(
        told(&settle.await.unwrap()),
        "ruff crashed@2 0ms (ruff lost its connection: the other side closed its output)"
    );
    // It is back after a second, with the text of now, and what it said before is still the baseline.
    let mut server = bench.server().await;
    server.initialize(PUSHES()).await;
    let opened = server.expect("textDocument/didOpen").await;
    assert_eq!(opened["params"]["textDocument"]["text"], "x\na\n");
    let settle = bench.settle(vec![bench.edit(&doc, 0..0, "y\n")]);
    server.expect("textDocument/didChange").await;
    server.publish(&doc.uri, Some(103), json!([error(2, "old"), error(0, "bad")])).await;
    assert_eq!(told(&settle.await.unwrap()), "ruff fresh@3 150ms new=[0:0 bad] resolved=0 unchanged=1");
}

#[tokio::test(start_paused = true)]
async fn one_that_always_crashes_is_given_up() {
    let mut bench = Bench::new();
    let doc = bench.open("a.py", "a\n");
    let begin = tokio::time::Instant::now();
    let mut starts = Vec::new();
    for _ in 0..6 {
        drop(bench.server().await);
        starts.push(begin.elapsed().as_secs());
    }
    assert_eq!(starts, [0, 1, 3, 7, 15, 31]);
    tokio::time::sleep(Duration::from_secs(100)).await;
    assert!(bench.started.try_recv().is_err(), "it is not started again");
    let settle = bench.settle(vec![bench.edit(&doc, 0..0, "x\n")]);
    assert!(told(&settle.await.unwrap()).starts_with("ruff crashed@2 0ms (ruff could not be initialised"));
    // Much later it gets another chance.
    tokio::time::sleep(Duration::from_secs(200)).await;
    bench.languages.look(&doc, None, &bench.text(&doc));
    bench.server().await;
}

#[tokio::test(start_paused = true)]
async fn a_wedged_server_holds_up_nobody() {
    let mut bench = Bench::without(&["pyright"]);
    let doc = bench.open("a.py", "a\n");
    let (one, two) = (bench.server().await, bench.server().await);
    let (mut ruff, _wedged) = if one.name == "ruff" { (one, two) } else { (two, one) };
    ruff.initialize(PUSHES()).await;
    ruff.publish(&doc.uri, Some(101), json!([])).await;
    bench.quiesce().await;
    let edit = bench.edit(&doc, 0..0, "x\n");
    let settle = bench.settle(vec![edit]);
    ruff.expect("textDocument/didChange").await;
    ruff.publish(&doc.uri, Some(102), json!([])).await;
    assert_eq!(
        told(&settle.await.unwrap()),
        "basedpyright pending@2 8000ms\nruff fresh@2 150ms new=[] resolved=0 unchanged=0"
    );
    // A call that wants only the other does not wait for it, and still hears that it has not answered.
    let wait = Wait { sources: Some(vec!["ruff".into()]), ..Wait::default() };
    let settle = bench.settle_with(vec![bench.edit(&doc, 0..0, "y\n")], wait);
    ruff.expect("textDocument/didChange").await;
    ruff.publish(&doc.uri, Some(103), json!([])).await;
    assert_eq!(
        told(&settle.await.unwrap()),
        "basedpyright pending@3 150ms\nruff fresh@3 150ms new=[] resolved=0 unchanged=0"
    );
}

#[tokio::test(start_paused = true)]
async fn never_two_of_a_kind_and_one_for_all_documents_of_a_root() {
    let mut bench = Bench::without(&["ruff"]);
    bench.open("a.py", "a\n");
    bench.open("b.py", "b\n");
    let mut server = bench.server().await;
    assert_eq!(server.name, "basedpyright", "pyright is there too");
    server.initialize(PUSHES()).await;
    server.expect("textDocument/didOpen").await;
    server.expect("textDocument/didOpen").await;
    bench.quiesce().await;
    assert!(bench.started.try_recv().is_err());
}

#[tokio::test(start_paused = true)]
async fn what_is_not_there_or_not_allowed_is_told() {
    let bench = Bench::without(&["ruff", "basedpyright", "pyright"]);
    let doc = bench.open("a.py", "a\n");
    let settle = bench.settle(vec![bench.edit(&doc, 0..0, "x\n")]);
    assert_eq!(
        told(&settle.await.unwrap()),
        "basedpyright noServer@2 0ms (not found)\nruff noServer@2 0ms (not found)"
    );

    let mut bench = Bench::new();
    bench.settings.diagnostics.own_servers = OwnServers::Off;
    bench.configure();
    let doc = bench.open("a.py", "a\n");
    let settle = bench.settle(vec![bench.edit(&doc, 0..0, "x\n")]);
    assert_eq!(told(&settle.await.unwrap()), "language server noServer@2 0ms (own language servers are turned off)");
}

#[tokio::test(start_paused = true)]
async fn trust_decides_what_runs() {
    let mut bench = Bench::without(&["tsc", "eslint"]);
    *lock(&bench.stage.trusted) = false;
    let doc = target("a.ts");
    bench.documents.open(doc.key.clone(), &doc.uri, "typescript", 1, "a\n");
    let settle = bench.settle(vec![bench.edit(&doc, 0..0, "x\n")]);
    let report = told(&settle.await.unwrap());
    assert_eq!(
        report,
        "typescript-language-server untrusted@2 0ms \
         (it is not trusted)"
    );
    assert!(bench.started.try_recv().is_err());
    // Trust is given: it starts. Trust is taken: it ends.
    *lock(&bench.stage.trusted) = true;
    bench.languages.trust_changed();
    let mut server = bench.server().await;
    server.initialize(PUSHES()).await;
    server.expect("textDocument/didOpen").await;
    *lock(&bench.stage.trusted) = false;
    bench.languages.trust_changed();
    let asked = server.expect("shutdown").await;
    server.reply(&asked, Value::Null).await;
    server.expect("exit").await;
}

#[tokio::test(start_paused = true)]
async fn where_the_editor_has_a_server_ours_keep_away() {
    let mut bench = Bench::new();
    let doc = bench.open("a.py", "a\n");
    let mut server = bench.server().await;
    server.initialize(PUSHES()).await;
    server.expect("textDocument/didOpen").await;
    let pylsp = SourceName { id: "7".into(), name: "pylsp".into() };
    bench.languages.editor_sources(&doc.uri, vec![pylsp]);
    server.expect("textDocument/didClose").await;
    let asked = server.expect("shutdown").await;
    server.reply(&asked, Value::Null).await;
    let settle = bench.settle(vec![bench.edit(&doc, 0..0, "x\n")]);
    assert_eq!(told(&settle.await.unwrap()), "pylsp pending@2 3000ms");
    assert_eq!(lock(&bench.editor.0).join(" "), doc.uri, "the editor was asked");
    // The same holds for every document of the language, unless the settings say otherwise.
    bench.open("b.py", "b\n");
    bench.quiesce().await;
    assert!(bench.started.try_recv().is_err());
    bench.settings.diagnostics.own_servers = OwnServers::On;
    bench.configure();
    bench.languages.look(&doc, None, &bench.text(&doc));
    assert_eq!(bench.server().await.name, "ruff");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_cancelled_gets_what_is_there() {
    let mut bench = Bench::new();
    let doc = bench.open("a.py", "a\n");
    let mut server = bench.server().await;
    server.initialize(PUSHES()).await;
    let cancel = CancellationToken::new();
    let edit = bench.edit(&doc, 0..0, "x\n");
    let languages = Arc::clone(&bench.languages);
    let token = cancel.clone();
    let settle = tokio::spawn(async move { languages.settle(vec![edit], &Wait::default(), &token).await });
    tokio::time::sleep(Duration::from_millis(20)).await;
    cancel.cancel();
    assert_eq!(told(&settle.await.unwrap()), "ruff pending@2 20ms");
}

#[tokio::test(start_paused = true)]
async fn the_end_is_polite_and_final() {
    let mut bench = Bench::new();
    let doc = bench.open("a.py", "a\n");
    let mut server = bench.server().await;
    server.initialize(PUSHES()).await;
    server.expect("textDocument/didOpen").await;
    let languages = Arc::clone(&bench.languages);
    let end = tokio::spawn(async move { languages.shutdown(Duration::from_secs(2)).await });
    let asked = server.expect("shutdown").await;
    server.reply(&asked, Value::Null).await;
    server.expect("exit").await;
    drop(server);
    end.await.unwrap();
    bench.languages.look(&doc, None, &bench.text(&doc));
    bench.quiesce().await;
    assert!(bench.started.try_recv().is_err());
    // Nobody waits for ever on what is over.
    let settle = bench.settle(vec![bench.edit(&doc, 0..0, "x\n")]);
    assert_eq!(told(&settle.await.unwrap()), "");
}

#[tokio::test(start_paused = true)]
async fn doctor_hears_of_every_server() {
    let mut bench = Bench::new();
    bench.settings.diagnostics.servers.insert(
        "mine".into(),
        ServerSettings { command: vec!["mine".into()], languages: vec!["toml".into()], ..Default::default() },
    );
    bench.configure();
    bench.open("a.py", "a\n");
    let _server = bench.server().await;
    let status = bench.languages.status().await;
    let ruff = status.iter().find(|server| server.name == "ruff").unwrap();
    assert_eq!(ruff.program, Err("no ruff".into()));
    assert_eq!(ruff.running, [(Some(PathBuf::from(ROOT)), "starting".to_owned())]);
    let mine = status.iter().find(|server| server.name == "mine").unwrap();
    assert!(mine.runs_project_code && mine.running.is_empty() && mine.languages == ["toml"]);
}

#[tokio::test(start_paused = true)]
async fn what_is_on_its_way_to_servers_is_open_work() {
    let mut bench = Bench::new();
    assert_eq!(bench.languages.open_work(), ["news for language servers"], "the settings, from the start");
    bench.quiesce().await;
    assert!(bench.languages.open_work().is_empty());
    let doc = bench.open("a.py", "a\n");
    assert_eq!(bench.languages.open_work(), ["news for language servers"]);
    let mut server = bench.server().await;
    bench.quiesce().await;
    assert_eq!(bench.languages.open_work(), ["messages to ruff"], "it has not started yet");
    server.initialize(PUSHES()).await;
    server.expect("textDocument/didOpen").await;
    bench.quiesce().await;
    assert!(bench.languages.open_work().is_empty());
    // It does not read: more than the pipe holds stays on the queue.
    bench.replace(&doc, 0..0, &"x".repeat(2 << 20));
    bench.quiesce().await;
    assert_eq!(bench.languages.open_work(), ["messages to ruff"]);
    server.expect("textDocument/didChange").await;
    bench.quiesce().await;
    assert!(bench.languages.open_work().is_empty());
    // What was for a server that is gone is on its way no more.
    bench.replace(&doc, 0..0, &"x".repeat(2 << 20));
    bench.quiesce().await;
    drop(server);
    bench.quiesce().await;
    assert!(bench.languages.open_work().is_empty());
}

#[tokio::test(start_paused = true)]
async fn trust_that_is_given_anew_is_another_chance_at_once() {
    let mut bench = Bench::new();
    bench.open("a.py", "a\n");
    for _ in 0..6 {
        drop(bench.server().await);
    }
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert!(bench.started.try_recv().is_err(), "it was given up");
    bench.languages.trust_changed();
    let mut server = bench.server().await;
    server.initialize(PUSHES()).await;
    server.expect("textDocument/didOpen").await;
}

#[tokio::test(start_paused = true)]
async fn trust_that_changes_starts_nothing_that_nobody_needs() {
    let mut bench = Bench::new();
    let doc = bench.open("a.py", "a\n");
    let mut server = bench.server().await;
    server.initialize(PUSHES()).await;
    drop(server);
    bench.quiesce().await;
    bench.documents.close(&doc.key);
    bench.languages.trust_changed();
    bench.quiesce().await;
    assert!(bench.started.try_recv().is_err(), "it has no document");
}
