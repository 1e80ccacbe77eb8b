//! What servers are told of documents, open and on the disk; and users who type on.

use super::*;
use crate::editor::{FileChangeKind, Origin};

#[tokio::test(start_paused = true)]
async fn the_user_types_on_beside_the_edit() {
    let mut bench = Bench::new();
    let doc = bench.open("a.py", "a\nb\n");
    let mut server = bench.server().await;
    server.initialize(PUSHES()).await;
    server.publish(&doc.uri, Some(101), json!([])).await;
    bench.quiesce().await;
    let settle = bench.settle(vec![bench.edit(&doc, 0..0, "x\n")]);
    server.expect("textDocument/didChange").await;
    // One key beside the edit: the newer text has it still, and will do.
    bench.replace(&doc, 6..6, "u");
    server.expect("textDocument/didChange").await;
    server.publish(&doc.uri, Some(103), json!([error(0, "bad")])).await;
    assert_eq!(told(&settle.await.unwrap()), "ruff fresh@3 150ms new=[0:0 bad] resolved=0 unchanged=0");

    // A second key, before anything is known.
    let settle = bench.settle(vec![bench.edit(&doc, 0..0, "y\n")]);
    bench.quiesce().await;
    bench.replace(&doc, 8..8, "v");
    bench.replace(&doc, 8..8, "w");
    assert_eq!(told(&settle.await.unwrap()), "ruff superseded@5 1ms");
}

#[tokio::test(start_paused = true)]
async fn the_user_types_into_the_edit() {
    let mut bench = Bench::new();
    let doc = bench.open("a.py", "a\nb\n");
    let mut server = bench.server().await;
    server.initialize(PUSHES()).await;
    server.publish(&doc.uri, Some(101), json!([])).await;
    bench.quiesce().await;
    let settle = bench.settle(vec![bench.edit(&doc, 0..0, "xxx\n")]);
    bench.quiesce().await;
    bench.replace(&doc, 1..2, "");
    assert_eq!(told(&settle.await.unwrap()), "ruff superseded@2 1ms");
    // Nobody will say anything of a document that is closed.
    let settle = bench.settle(vec![bench.edit(&doc, 0..0, "yyy\n")]);
    bench.quiesce().await;
    bench.documents.close(&doc.key);
    assert_eq!(told(&settle.await.unwrap()), "ruff superseded@4 1ms (the document was closed)");
}

#[tokio::test(start_paused = true)]
async fn a_document_that_closes_in_the_middle_is_clean_to_nobody() {
    for again in [None, Some("a\n"), Some("b\n")] {
        let mut bench = Bench::without(&["pyright"]);
        let doc = bench.open("a.py", "a\n");
        let mut servers = vec![bench.server().await, bench.server().await];
        servers.sort_by(|a, b| b.name.cmp(&a.name));
        for server in &mut servers {
            server.initialize(PUSHES()).await;
            server.publish(&doc.uri, Some(101), json!([])).await;
        }
        bench.quiesce().await;
        let settle = bench.settle(vec![bench.edit(&doc, 0..0, "x\n")]);
        // One has found an error when the document goes, the other has not answered.
        for server in &mut servers {
            server.expect("textDocument/didChange").await;
        }
        servers[0].publish(&doc.uri, Some(102), json!([error(0, "bad")])).await;
        tokio::time::sleep(Duration::from_millis(300)).await;
        bench.documents.close(&doc.key);
        if let Some(text) = again {
            bench.open("a.py", text);
            bench.replace(&doc, 0..0, "y\n");
            for server in &mut servers {
                server.publish(&doc.uri, Some(102), json!([])).await;
            }
        }
        let report = settle.await.unwrap();
        for source in report.documents[0].sources.iter().filter(|source| source.id != SYNTAX) {
            assert_eq!(source.verdict, Verdict::Superseded, "{again:?}: {}", told(&report));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_document_that_closes_is_closed_and_one_that_opens_again_is_new() {
    let mut bench = Bench::new();
    let doc = bench.open("a.py", "a\n");
    let mut server = bench.server().await;
    server.initialize(PUSHES()).await;
    server.expect("textDocument/didOpen").await;
    bench.documents.close(&doc.key);
    assert_eq!(server.expect("textDocument/didClose").await["params"]["textDocument"]["uri"], doc.uri);
    bench.open("a.py", "b\n");
    let opened = server.expect("textDocument/didOpen").await;
    assert_eq!(opened["params"]["textDocument"]["text"], "b\n");
    // A re-open without a close is a change to the server, whatever the version.
    bench.documents.open(doc.key.clone(), &doc.uri, "python", 1, "b\nc\n");
    let changed = server.expect("textDocument/didChange").await["params"].clone();
    assert_eq!(changed["contentChanges"][0]["text"], "c\n");
}

#[tokio::test(start_paused = true)]
async fn a_file_on_the_disk_is_opened_changed_and_saved() {
    let mut bench = Bench::new();
    let file = target("d.py");
    let text = |text: &str| Text::new(text, LineBreaks::Lf);
    bench.languages.look(&file, None, &text("a\n"));
    let mut server = bench.server().await;
    server.initialize(PUSHES()).await;
    let opened = server.expect("textDocument/didOpen").await;
    assert_eq!(opened["params"]["textDocument"]["languageId"], "python");
    server.publish(&file.uri, Some(101), json!([error(0, "old")])).await;
    bench.quiesce().await;
    let prepared = bench.languages.prepare(&file, None, &text("a\n"));
    let splices = vec![Splice { range: 0..0, text: "x\n".into() }];
    let edited = Edited { target: file.clone(), version: None, splices, after: text("x\na\n") };
    let settle = bench.settle(vec![(prepared, edited)]);
    server.expect("textDocument/didChange").await;
    server.expect("textDocument/didSave").await;
    server.publish(&file.uri, Some(102), json!([error(1, "old"), error(0, "bad")])).await;
    assert_eq!(told(&settle.await.unwrap()), "ruff fresh 150ms new=[0:0 bad] resolved=0 unchanged=1");
    // A look finds that somebody else changed it.
    bench.languages.look(&file, None, &text("x\na\nmore\n"));
    server.expect("textDocument/didChange").await;
    server.expect("textDocument/didSave").await;
    // It is gone.
    let gone = FileChanged { uri: file.uri.clone(), kind: FileChangeKind::Deleted, by: Origin::Agent };
    bench.languages.file_changed(&gone);
    server.expect("textDocument/didClose").await;
}

#[tokio::test(start_paused = true)]
async fn files_we_make_are_told_to_those_who_watch() {
    let mut bench = Bench::new();
    bench.open("a.py", "a\n");
    let mut server = bench.server().await;
    server.initialize(PUSHES()).await;
    let watchers = json!({ "watchers": [{ "globPattern": "**/*.py" }] });
    let item = json!({ "id": "w", "method": "workspace/didChangeWatchedFiles", "registerOptions": watchers });
    server.ask("client/registerCapability", json!({ "registrations": [item] })).await;
    let made = FileChanged { uri: "file:///w/new.py".into(), kind: FileChangeKind::Created, by: Origin::Agent };
    bench.languages.file_changed(&made);
    let told = server.expect("workspace/didChangeWatchedFiles").await;
    assert_eq!(told["params"]["changes"], json!([{ "uri": "file:///w/new.py", "type": 1 }]));
}

#[tokio::test(start_paused = true)]
async fn what_changed_before_it_wanted_to_hear_of_it_is_told_to_a_server_once_it_does() {
    let mut bench = Bench::new();
    bench.open("a.py", "a\n");
    let mut server = bench.server().await;
    let file = |name: &str| format!("file:///w/{name}.py");
    let change = |name: &str, kind| FileChanged { uri: file(name), kind, by: Origin::Agent };
    // While it starts, and after that.
    bench.languages.file_changed(&change("one", FileChangeKind::Created));
    bench.quiesce().await;
    server.initialize(PUSHES()).await;
    bench.languages.file_changed(&change("two", FileChangeKind::Deleted));
    bench.quiesce().await;
    let item = json!({ "id": "w", "method": "workspace/didChangeWatchedFiles",
        "registerOptions": { "watchers": [{ "globPattern": "**/*.py" }] } });
    server.ask("client/registerCapability", json!({ "registrations": [item] })).await;
    let told = server.expect("workspace/didChangeWatchedFiles").await;
    assert_eq!(
        told["params"]["changes"],
        json!([{ "uri": file("one"), "type": 1 }, { "uri": file("two"), "type": 3 }])
    );
    // Once.
    bench.languages.file_changed(&change("three", FileChangeKind::Changed));
    let told = server.expect("workspace/didChangeWatchedFiles").await;
    assert_eq!(told["params"]["changes"], json!([{ "uri": file("three"), "type": 2 }]));
}

#[tokio::test(start_paused = true)]
async fn a_problem_on_an_empty_line_is_kept() {
    let mut bench = Bench::new();
    let doc = bench.open("a.py", "a\n\nb\n");
    let mut server = bench.server().await;
    server.initialize(PUSHES()).await;
    let empty = |line: u32, message: &str| {
        let at = json!({ "line": line, "character": 0 });
        json!({ "range": { "start": at, "end": at }, "severity": 1, "message": message })
    };
    server.publish(&doc.uri, Some(101), json!([empty(1, "old")])).await;
    bench.quiesce().await;
    let settle = bench.settle(vec![bench.edit(&doc, 0..0, "\n\n")]);
    server.expect("textDocument/didChange").await;
    // On the empty lines that were put in, on the old one, and behind the last line end.
    let list = json!([empty(0, "bad"), empty(1, "bad"), empty(3, "old"), empty(5, "no end")]);
    server.publish(&doc.uri, Some(102), list).await;
    assert_eq!(
        told(&settle.await.unwrap()),
        "ruff fresh@2 150ms new=[0:0 bad; 1:0 bad; 5:0 no end] resolved=0 unchanged=1"
    );
}

#[tokio::test(start_paused = true)]
async fn a_whole_text_that_replaces_another_keeps_problems_in_their_places() {
    let mut bench = Bench::new();
    let doc = bench.open("a.py", "a\nb\nc\n");
    let mut server = bench.server().await;
    server.initialize(PUSHES()).await;
    server.publish(&doc.uri, Some(101), json!([error(0, "same"), error(2, "same")])).await;
    bench.quiesce().await;
    let prepared = bench.languages.prepare(&doc, None, &bench.text(&doc));
    let new = "new\na\nb\nc\n";
    bench.documents.change(&doc.key, 2, vec![ContentChange { range: None, text: new.into() }]);
    let splices = vec![Splice { range: 0..0, text: "new\n".into() }];
    let edited = Edited { target: doc.clone(), version: Some(2), splices, after: bench.text(&doc) };
    let settle = bench.settle(vec![(prepared, edited)]);
    server.expect("textDocument/didChange").await;
    server.publish(&doc.uri, Some(102), json!([error(0, "same"), error(1, "same"), error(3, "same")])).await;
    // Of three equal messages the one on the new line is the new one.
    assert_eq!(told(&settle.await.unwrap()), "ruff fresh@2 150ms new=[0:0 same] resolved=0 unchanged=2");
}

#[tokio::test(start_paused = true)]
async fn places_are_told_as_the_editor_counts_them() {
    let mut bench = Bench::new();
    // To the server the lone CR ends a line; to the editor it does not. And the server counts bytes.
    let doc = bench.open("a.py", "é\rbé!\n");
    let mut server = bench.server().await;
    let mut capabilities = PUSHES();
    capabilities["positionEncoding"] = json!("utf-8");
    server.initialize(capabilities).await;
    server.expect("textDocument/didOpen").await;
    let settle = bench.settle(vec![bench.edit(&doc, 0..0, "x\n")]);
    server.expect("textDocument/didChange").await;
    let at = |character: u32| json!({ "line": 2, "character": character });
    let problem = json!({ "range": { "start": at(3), "end": at(4) }, "severity": 1, "message": "bang" });
    server.publish(&doc.uri, Some(102), json!([problem])).await;
    assert_eq!(told(&settle.await.unwrap()), "ruff fresh@2 150ms present=[1:4 bang]");
}

#[tokio::test(start_paused = true)]
async fn the_embedded_check_always_answers() {
    let bench = Bench::without(&["ruff", "basedpyright", "pyright"]);
    let doc = bench.open("a.py", "a\n");
    let report = bench.settle(vec![bench.edit(&doc, 0..0, "x\n")]).await.unwrap();
    assert!(report.documents[0].sources.iter().any(|source| source.id == SYNTAX), "{report:#?}");
    let wait = Wait { sources: Some(vec!["ruff".into()]), ..Wait::default() };
    let report = bench.settle_with(vec![bench.edit(&doc, 0..0, "x\n")], wait).await.unwrap();
    assert!(report.documents[0].sources.iter().all(|source| source.id != SYNTAX), "{report:#?}");
}

#[tokio::test(start_paused = true)]
async fn a_report_without_an_edit_tells_what_is_present() {
    let mut bench = Bench::new();
    let doc = bench.open("a.py", "a\n");
    let mut server = bench.server().await;
    server.initialize(PUSHES()).await;
    server.expect("textDocument/didOpen").await;
    let languages = Arc::clone(&bench.languages);
    let asked = doc.clone();
    let report = tokio::spawn(async move {
        languages.report(Some(&asked), Some(2), &Wait::default(), &CancellationToken::new()).await
    });
    bench.quiesce().await;
    // The version that was asked for comes only now.
    bench.replace(&doc, 0..0, "x\n");
    server.expect("textDocument/didChange").await;
    server.publish(&doc.uri, Some(102), json!([error(0, "there")])).await;
    assert_eq!(told(&report.await.unwrap()), "ruff fresh@2 151ms present=[0:0 there]");
    // A version that is there already is not waited for, however long ago it came.
    for least in [1, 2] {
        let report = bench.languages.report(Some(&doc), Some(least), &Wait::default(), &CancellationToken::new()).await;
        assert_eq!(told(&report), "ruff fresh@2 0ms present=[0:0 there]", "{least}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_version_that_does_not_come_is_not_reported_as_if_it_had() {
    let mut bench = Bench::new();
    let doc = bench.open("a.py", "a\n");
    let mut server = bench.server().await;
    server.initialize(PUSHES()).await;
    server.publish(&doc.uri, Some(101), json!([])).await;
    bench.quiesce().await;
    let wait = Wait { deadline_ms: Some(1000), ..Wait::default() };
    let languages = Arc::clone(&bench.languages);
    let asked = doc.clone();
    let report =
        tokio::spawn(async move { languages.report(Some(&asked), Some(9), &wait, &CancellationToken::new()).await });
    bench.quiesce().await;
    // One that comes is not yet the one that was asked for, though it is checked.
    bench.replace(&doc, 0..0, "x\n");
    server.expect("textDocument/didChange").await;
    server.publish(&doc.uri, Some(102), json!([error(0, "bad")])).await;
    let words = "version 9 has not come: the document is at version 2";
    assert_eq!(told(&report.await.unwrap()), format!("ruff pending@2 1000ms ({words})"));

    // Nor where nobody speaks of it.
    let bench = Bench::without(&["ruff", "basedpyright", "pyright"]);
    let doc = bench.open("a.py", "a\n");
    let wait = Wait { deadline_ms: Some(50), ..Wait::default() };
    let report = bench.languages.report(Some(&doc), Some(9), &wait, &CancellationToken::new()).await;
    let words = "version 9 has not come: the document is at version 1";
    assert_eq!(told(&report), format!("language server pending@1 0ms ({words})"));
}

#[tokio::test(start_paused = true)]
async fn a_file_that_nobody_has_open_was_not_closed() {
    let bench = Bench::new();
    let doc = bench.open("a.py", "a\n");
    bench.documents.close(&doc.key);
    bench.quiesce().await;
    for least in [None, Some(1)] {
        let report = bench.languages.report(Some(&doc), least, &Wait::default(), &CancellationToken::new()).await;
        let words = "the file is not open in the editor, and no call has looked at it: nobody was asked about it";
        assert_eq!(told(&report), format!("language server neverReported 0ms ({words})"), "{least:?}");
    }
}
