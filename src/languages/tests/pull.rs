//! Servers that are asked.

use super::*;
use crate::rpc::code;

fn full(items: impl serde::Serialize) -> Value {
    json!({ "kind": "full", "items": items })
}

#[tokio::test(start_paused = true)]
async fn an_answer_counts_at_once() {
    let mut bench = Bench::new();
    let doc = bench.open("a.py", "a\n");
    let mut server = bench.server().await;
    server.initialize(PULLS()).await;
    let ask = server.expect("textDocument/diagnostic").await;
    assert_eq!(ask["params"], json!({ "textDocument": { "uri": doc.uri } }));
    server.reply(&ask, json!({ "kind": "full", "resultId": "r1", "items": [error(0, "old")] })).await;
    bench.quiesce().await;

    let settle = bench.settle(vec![bench.edit(&doc, 0..0, "x\n")]);
    server.expect("textDocument/didChange").await;
    let ask = server.expect("textDocument/diagnostic").await;
    assert_eq!(ask["params"]["previousResultId"], "r1");
    server.reply(&ask, json!({ "kind": "full", "resultId": "r2", "items": [error(1, "old"), error(0, "bad")] })).await;
    assert_eq!(told(&settle.await.unwrap()), "ruff fresh@2 0ms new=[0:0 bad] resolved=0 unchanged=1");

    // Nothing changed: what it said is still so, at the places it said.
    let settle = bench.settle(vec![bench.edit(&doc, 4..4, "tail")]);
    server.expect("textDocument/didChange").await;
    let ask = server.expect("textDocument/diagnostic").await;
    server.reply(&ask, json!({ "kind": "unchanged", "resultId": "r2" })).await;
    assert_eq!(told(&settle.await.unwrap()), "ruff fresh@3 0ms new=[] resolved=0 unchanged=2");
}

#[tokio::test(start_paused = true)]
async fn the_question_before_the_edit_gives_the_baseline_and_is_taken_back_when_it_comes_too_late() {
    let mut bench = Bench::new();
    let doc = bench.open("a.py", "a\n");
    let mut server = bench.server().await;
    server.initialize(PULLS()).await;
    let first = server.expect("textDocument/diagnostic").await;
    // It has not answered when the edit comes: the question is about a text that is gone.
    let settle = bench.settle(vec![bench.edit(&doc, 0..0, "x\n")]);
    let cancelled = server.expect("$/cancelRequest").await;
    assert_eq!(cancelled["params"]["id"], first["id"]);
    server.fail(&first, code::REQUEST_CANCELLED, Value::Null).await;
    let second = server.expect("textDocument/diagnostic").await;
    server.reply(&second, full(json!([error(0, "there")]))).await;
    assert_eq!(told(&settle.await.unwrap()), "ruff fresh@2 0ms present=[0:0 there]");
}

#[tokio::test(start_paused = true)]
async fn what_is_answered_while_the_project_is_loaded_does_not_count() {
    let mut bench = Bench::new();
    let doc = target("a.rs");
    bench.documents.open(doc.key.clone(), &doc.uri, "rust", 1, "a\n");
    bench.languages.look(&doc, Some("rust"), &bench.text(&doc));
    let mut server = bench.server().await;
    assert_eq!(server.name, "rust-analyzer");
    server.initialize(PULLS()).await;
    let ask = server.expect("textDocument/diagnostic").await;
    server.reply(&ask, full(json!([]))).await;
    bench.quiesce().await;
    let (languages, wanted) = (Arc::clone(&bench.languages), doc.clone());
    let report = tokio::spawn(async move {
        languages.report(Some(&wanted), None, &Wait::default(), &CancellationToken::new()).await
    });
    bench.quiesce().await;
    assert!(!report.is_finished(), "of a project that it does not know yet it knows no errors");
    server.notify("experimental/serverStatus", json!({ "health": "ok", "quiescent": true })).await;
    let ask = server.expect("textDocument/diagnostic").await;
    server.reply(&ask, full(json!([error(0, "bad")]))).await;
    let report = report.await.unwrap();
    let source = &report.documents[0].sources[0];
    assert_eq!((source.id.as_str(), source.verdict, source.present.len()), ("rust-analyzer", Verdict::Fresh, 1));
}

#[tokio::test(start_paused = true)]
async fn it_is_asked_again_with_patience_where_the_protocol_says_so() {
    let mut bench = Bench::new();
    let doc = bench.open("a.py", "a\n");
    let mut server = bench.server().await;
    server.initialize(PULLS()).await;
    let ask = server.expect("textDocument/diagnostic").await;
    server.reply(&ask, full(json!([]))).await;
    bench.quiesce().await;
    let wait = Wait { deadline_ms: Some(20_000), ..Wait::default() };
    let settle = bench.settle_with(vec![bench.edit(&doc, 0..0, "x\n")], wait.clone());
    for (code, data) in [
        (code::CONTENT_MODIFIED, Value::Null),
        (code::SERVER_CANCELLED, json!({ "retriggerRequest": true })),
        (code::CONTENT_MODIFIED, Value::Null),
    ] {
        let ask = server.expect("textDocument/diagnostic").await;
        server.fail(&ask, code, data).await;
    }
    let ask = server.expect("textDocument/diagnostic").await;
    server.reply(&ask, full(json!([error(0, "bad")]))).await;
    assert_eq!(told(&settle.await.unwrap()), "ruff fresh@2 3500ms new=[0:0 bad] resolved=0 unchanged=0");

    let settle = bench.settle_with(vec![bench.edit(&doc, 0..0, "y\n")], wait);
    let ask = server.expect("textDocument/diagnostic").await;
    server.fail(&ask, code::SERVER_CANCELLED, json!({ "retriggerRequest": false })).await;
    assert_eq!(
        told(&settle.await.unwrap()),
        "ruff pending@3 20000ms (it did not answer: the server answered with an error: no (-32802))"
    );
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_know_the_question_is_never_asked_again() {
    let mut bench = Bench::new();
    let doc = bench.open("a.py", "a\n");
    let mut server = bench.server().await;
    server.initialize(PULLS()).await;
    let ask = server.expect("textDocument/diagnostic").await;
    server.fail(&ask, code::METHOD_NOT_FOUND, Value::Null).await;
    bench.quiesce().await;
    let settle = bench.settle(vec![bench.edit(&doc, 0..0, "x\n")]);
    assert_eq!(server.next().await.unwrap()["method"], "textDocument/didChange");
    server.publish(&doc.uri, Some(102), json!([error(0, "bad")])).await;
    assert_eq!(told(&settle.await.unwrap()), "ruff fresh@2 150ms present=[0:0 bad]");
    bench.languages.shutdown(Duration::from_secs(1)).await;
    while let Some(message) = server.next().await {
        assert_ne!(message["method"], "textDocument/diagnostic");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_registered_later_is_asked_under_each_identifier() {
    let mut bench = Bench::new();
    let doc = bench.open("a.py", "a\n");
    let mut server = bench.server().await;
    server.initialize(json!({ "textDocumentSync": 1 })).await;
    server.expect("textDocument/didOpen").await;
    let register = |id: &str, identifier: &str| {
        let options = json!({ "identifier": identifier, "documentSelector": [{ "language": "python" }] });
        json!({ "registrations": [{ "id": id, "method": "textDocument/diagnostic", "registerOptions": options }] })
    };
    server.ask("client/registerCapability", register("1", "types")).await;
    let ask = server.expect("textDocument/diagnostic").await;
    server.reply(&ask, full(json!([]))).await;
    server.ask("client/registerCapability", register("2", "lint")).await;
    for _ in 0..2 {
        let ask = server.expect("textDocument/diagnostic").await;
        server.reply(&ask, full(json!([]))).await;
    }
    bench.quiesce().await;
    let settle = bench.settle(vec![bench.edit(&doc, 0..0, "x\n")]);
    // It takes whole texts only.
    let changed = server.expect("textDocument/didChange").await;
    assert_eq!(changed["params"]["contentChanges"], json!([{ "text": "x\na\n" }]));
    for identifier in ["lint", "types"] {
        let ask = server.expect("textDocument/diagnostic").await;
        assert_eq!(ask["params"]["identifier"], identifier);
        server.reply(&ask, full(json!([error(0, identifier)]))).await;
    }
    assert_eq!(told(&settle.await.unwrap()), "ruff fresh@2 0ms new=[0:0 lint; 0:0 types] resolved=0 unchanged=0");
    // A refresh asks again.
    server.ask("workspace/diagnostic/refresh", Value::Null).await;
    server.expect("textDocument/diagnostic").await;
}

#[tokio::test(start_paused = true)]
async fn an_answer_can_speak_of_other_documents() {
    let mut bench = Bench::new();
    let (doc, other) = (bench.open("a.py", "a\n"), bench.open("b.py", "é\nb\n"));
    let mut server = bench.server().await;
    server.initialize(PULLS()).await;
    for _ in 0..2 {
        let ask = server.expect("textDocument/diagnostic").await;
        server.reply(&ask, full(json!([]))).await;
    }
    bench.quiesce().await;
    let settle = bench.settle(vec![bench.edit(&doc, 0..0, "x\n")]);
    server.expect("textDocument/didChange").await;
    let ask = server.expect("textDocument/diagnostic").await;
    let related =
        json!({ &other.uri: full(json!([error(1, "broken by it")])), "file:///w/c.py": { "kind": "unchanged" } });
    server.reply(&ask, json!({ "kind": "full", "items": [], "relatedDocuments": related })).await;
    assert_eq!(
        told(&settle.await.unwrap()),
        "ruff fresh@2 0ms new=[] resolved=0 unchanged=0\nalso file:///w/b.py ruff [\"broken by it\"]"
    );
}

#[tokio::test(start_paused = true)]
async fn what_is_only_checked_on_save_says_so() {
    let mut bench = Bench::new();
    let doc = bench.open("a.py", "a\n");
    let mut server = bench.server().await;
    server.initialize(json!({ "textDocumentSync": { "change": 2, "save": {} }, "diagnosticProvider": {} })).await;
    let ask = server.expect("textDocument/diagnostic").await;
    server.reply(&ask, full(json!([]))).await;
    // Nobody types: the text is saved, and the compiler speaks up besides.
    bench.documents.save(&doc.key);
    server.expect("textDocument/didSave").await;
    server.publish(&doc.uri, Some(101), json!([error(0, "compiler")])).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let settle = bench.settle(vec![bench.edit(&doc, 0..0, "x\n")]);
    server.expect("textDocument/didChange").await;
    let ask = server.expect("textDocument/diagnostic").await;
    server.publish(&doc.uri, Some(102), json!([error(1, "compiler")])).await;
    server.reply(&ask, full(json!([]))).await;
    assert_eq!(
        told(&settle.await.unwrap()),
        "ruff fresh@2 0ms new=[] resolved=0 unchanged=0\n\
         ruff on save needsSave@2 0ms (it checks the file on the disk)"
    );
}

#[tokio::test(start_paused = true)]
async fn the_typescript_server_is_asked_in_its_own_way() {
    let mut bench = Bench::without(&["tsc", "eslint"]);
    let doc = target("a.ts");
    bench.documents.open(doc.key.clone(), &doc.uri, "typescript", 1, "a\n");
    let edit = bench.edit(&doc, 0..0, "x\n");
    let settle = bench.settle(vec![edit]);
    let mut server = bench.server().await;
    server.initialize(PUSHES()).await;
    for question in ["syntacticDiagnosticsSync", "semanticDiagnosticsSync", "suggestionDiagnosticsSync"] {
        let ask = server.expect("workspace/executeCommand").await;
        assert_eq!(ask["params"]["arguments"], json!([question, { "file": doc.uri }]));
        let place = json!({ "line": 1, "offset": 1 });
        let found = json!({ "start": place, "end": place, "text": question, "code": 1, "category": "error" });
        server.reply(&ask, json!({ "body": [found] })).await;
    }
    let report = told(&settle.await.unwrap());
    assert_eq!(
        report,
        "typescript-language-server fresh@2 0ms \
         present=[0:0 semanticDiagnosticsSync; 0:0 suggestionDiagnosticsSync; 0:0 syntacticDiagnosticsSync]"
    );
    // What it publishes besides says nothing any more; where asking fails, it is only pending.
    let settle = bench.settle(vec![bench.edit(&doc, 0..0, "y\n")]);
    server.publish(&doc.uri, None, json!([])).await;
    let ask = server.expect("workspace/executeCommand").await;
    server.reply(&ask, json!({ "type": "cancelled" })).await;
    assert_eq!(
        told(&settle.await.unwrap()),
        "typescript-language-server pending@3 700ms (it did not answer: the TypeScript server gave no answer)"
    );
}

#[tokio::test(start_paused = true)]
async fn what_is_no_report_is_asked_for_once_more_and_never_clean() {
    let nothing = |why: &str| format!("ruff pending@2 3000ms (its answer could not be read: {why})");
    for (answer, times, expected) in [
        (Value::Null, 2, nothing("it is null, not an object")),
        (json!([]), 2, nothing("it is a list, not an object")),
        (json!("x"), 2, nothing("it is a text, not an object")),
        (json!({ "kind": "full" }), 2, nothing("it has no `items`")),
        (json!({ "kind": "full", "items": "none" }), 2, nothing("its `items` is a text, not a list")),
        (json!({ "items": [] }), 2, nothing("it has no `kind`")),
        (json!({ "kind": "some", "items": [] }), 2, nothing("its `kind` is neither `full` nor `unchanged`")),
        (
            json!({ "kind": "unchanged", "resultId": "z" }),
            2,
            nothing("it says `unchanged`, and there is no earlier answer that it was given"),
        ),
        // A list of which nothing can be read is no empty one either; asking again would not help.
        (
            full(json!([5, null])),
            1,
            "ruff pending@2 3000ms (its report could not be read: none of its 2 diagnostics is an object)".to_owned(),
        ),
    ] {
        let mut bench = Bench::new();
        let doc = bench.open("a.py", "a\n");
        let mut server = bench.server().await;
        server.initialize(PULLS()).await;
        let ask = server.expect("textDocument/diagnostic").await;
        server.reply(&ask, full(json!([]))).await;
        bench.quiesce().await;
        let wait = Wait { deadline_ms: Some(3000), ..Wait::default() };
        let settle = bench.settle_with(vec![bench.edit(&doc, 0..0, "x\n")], wait);
        server.expect("textDocument/didChange").await;
        for _ in 0..times {
            let ask = server.expect("textDocument/diagnostic").await;
            assert_eq!(ask["params"].get("previousResultId"), None);
            server.reply(&ask, answer.clone()).await;
        }
        let report = settle.await.unwrap();
        assert_eq!(told(&report), expected, "{answer}");
        assert_eq!(verdict::conclusion(&report.documents[0]), verdict::Conclusion::Unknown, "{answer}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_slip_is_mended_by_asking_again() {
    let mut bench = Bench::new();
    let doc = bench.open("a.py", "a\n");
    let mut server = bench.server().await;
    server.initialize(PULLS()).await;
    let ask = server.expect("textDocument/diagnostic").await;
    server.reply(&ask, json!({ "kind": "full", "resultId": "r1", "items": [error(0, "old")] })).await;
    bench.quiesce().await;
    // Unchanged since an answer that nobody here knows: at once, and in full.
    let settle = bench.settle(vec![bench.edit(&doc, 0..0, "x\n")]);
    server.expect("textDocument/didChange").await;
    let ask = server.expect("textDocument/diagnostic").await;
    assert_eq!(ask["params"]["previousResultId"], "r1");
    server.reply(&ask, json!({ "kind": "unchanged", "resultId": "r7" })).await;
    let ask = server.expect("textDocument/diagnostic").await;
    assert_eq!(ask["params"].get("previousResultId"), None);
    server.reply(&ask, full(json!([error(1, "old"), error(0, "bad")]))).await;
    assert_eq!(told(&settle.await.unwrap()), "ruff fresh@2 0ms new=[0:0 bad] resolved=0 unchanged=1");
    // Nothing at all: a moment later.
    let settle = bench.settle(vec![bench.edit(&doc, 0..0, "y\n")]);
    for answer in [Value::Null, full(json!([error(1, "bad")]))] {
        let ask = server.expect("textDocument/diagnostic").await;
        server.reply(&ask, answer).await;
    }
    assert_eq!(told(&settle.await.unwrap()), "ruff fresh@3 500ms new=[] resolved=1 unchanged=1");
}

#[tokio::test(start_paused = true)]
async fn what_is_said_of_another_document_counts_only_for_the_text_it_had() {
    let mut bench = Bench::new();
    let (doc, other) = (bench.open("a.py", "a\n"), bench.open("b.py", "b\n"));
    let mut server = bench.server().await;
    server.initialize(PULLS()).await;
    for _ in 0..2 {
        let ask = server.expect("textDocument/diagnostic").await;
        server.reply(&ask, full(json!([]))).await;
    }
    bench.quiesce().await;
    let first = bench.edit(&doc, 0..0, "x\n");
    let one = bench.settle(vec![first]);
    let about_doc = server.expect("textDocument/diagnostic").await;
    let two = bench.settle(vec![bench.edit(&other, 0..0, "y\n")]);
    let about_other = server.expect("textDocument/diagnostic").await;
    // When it was asked about the one, it had an older text of the other.
    let related = json!({ &other.uri: full(json!([])) });
    server.reply(&about_doc, json!({ "kind": "full", "items": [], "relatedDocuments": related })).await;
    assert_eq!(told(&one.await.unwrap()), "ruff fresh@2 0ms new=[] resolved=0 unchanged=0");
    bench.quiesce().await;
    server.reply(&about_other, full(json!([error(0, "bad")]))).await;
    assert_eq!(told(&two.await.unwrap()), "ruff fresh@2 1ms new=[0:0 bad] resolved=0 unchanged=0");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_takes_no_changes_knows_only_what_is_saved() {
    let mut bench = Bench::new();
    let doc = bench.open("a.py", "a\n");
    let mut server = bench.server().await;
    server.initialize(json!({ "textDocumentSync": [1, 2], "diagnosticProvider": {} })).await;
    let ask = server.expect("textDocument/diagnostic").await;
    server.reply(&ask, full(json!([]))).await;
    bench.quiesce().await;
    let settle = bench.settle(vec![bench.edit(&doc, 0..0, "x\n")]);
    assert_eq!(told(&settle.await.unwrap()), "ruff needsSave@2 0ms (it checks the file on the disk)");
    bench.documents.save(&doc.key);
    let ask = server.expect("textDocument/diagnostic").await;
    server.reply(&ask, full(json!([error(0, "bad")]))).await;
    bench.quiesce().await;
    let report = bench.languages.report(Some(&doc), None, &Wait::default(), &CancellationToken::new()).await;
    assert_eq!(told(&report), "ruff fresh@2 0ms present=[0:0 bad]");
}

#[tokio::test(start_paused = true)]
async fn one_that_has_only_ever_failed_is_not_one_with_nothing_to_say() {
    let mut bench = Bench::new();
    let doc = bench.open("a.py", "a\n");
    let mut server = bench.server().await;
    server.initialize(PULLS()).await;
    for _ in 0..2 {
        let ask = server.expect("textDocument/diagnostic").await;
        server.reply(&ask, Value::Null).await;
    }
    tokio::time::sleep(Duration::from_secs(10)).await;
    let settle = bench.settle(vec![bench.edit(&doc, 0..0, "x\n")]);
    assert_eq!(
        told(&settle.await.unwrap()),
        "ruff pending@2 700ms (its answer could not be read: it is null, not an object)"
    );
}

#[tokio::test(start_paused = true)]
async fn an_answer_about_all_files_tells_what_broke_elsewhere() {
    let mut bench = Bench::new();
    let doc = bench.open("a.py", "a\n");
    let mut server = bench.server().await;
    server.initialize(json!({ "textDocumentSync": 2, "diagnosticProvider": { "workspaceDiagnostics": true } })).await;
    let all = |file: &str, items: Value| json!({ "items": [{ "kind": "full", "uri": file, "version": null, "items": items }] });
    // What is wrong before the edit is old, and files outside of the folders are nobody's business.
    let ask = server.expect("textDocument/diagnostic").await;
    server.reply(&ask, full(json!([]))).await;
    let ask = server.expect("workspace/diagnostic").await;
    assert_eq!(ask["params"], json!({ "previousResultIds": [] }));
    server.reply(&ask, all("file:///w/c.py", json!([error(0, "old")]))).await;
    bench.quiesce().await;
    let settle = bench.settle(vec![bench.edit(&doc, 0..0, "x\n")]);
    server.expect("textDocument/didChange").await;
    let about_all = server.expect("workspace/diagnostic").await;
    let ask = server.expect("textDocument/diagnostic").await;
    server.reply(&ask, full(json!([]))).await;
    tokio::time::sleep(Duration::from_millis(40)).await;
    let file = |uri: &str, items: Value| json!({ "kind": "full", "uri": uri, "version": null, "items": items });
    let items = json!([
        file("file:///w/c.py", json!([error(0, "old"), error(3, "broken by it")])),
        file("file:///elsewhere/d.py", json!([error(0, "not ours")])),
    ]);
    server.reply(&about_all, json!({ "items": items })).await;
    assert_eq!(
        told(&settle.await.unwrap()),
        "ruff fresh@2 0ms new=[] resolved=0 unchanged=0\nalso file:///w/c.py ruff [\"broken by it\"]"
    );
    // One that does not answer about all files holds up a wait no longer than one that is known.
    let settle = bench.settle(vec![bench.edit(&doc, 0..0, "y\n")]);
    server.expect("workspace/diagnostic").await;
    let ask = server.expect("textDocument/diagnostic").await;
    server.reply(&ask, full(json!([]))).await;
    let before = tokio::time::Instant::now();
    assert_eq!(told(&settle.await.unwrap()), "ruff fresh@3 0ms new=[] resolved=0 unchanged=0");
    assert_eq!(before.elapsed().as_millis(), 700);
}

#[tokio::test(start_paused = true)]
async fn a_server_known_to_check_the_disk_is_not_clean_before_it_has() {
    let mut bench = Bench::new();
    let doc = target("a.rs");
    bench.documents.open(doc.key.clone(), &doc.uri, "rust", 1, "a\n");
    bench.languages.look(&doc, Some("rust"), &bench.text(&doc));
    let mut server = bench.server().await;
    server.initialize(json!({ "textDocumentSync": { "change": 2, "save": {} }, "diagnosticProvider": {} })).await;
    server.notify("experimental/serverStatus", json!({ "health": "ok", "quiescent": true })).await;
    let ask = server.expect("textDocument/diagnostic").await;
    server.reply(&ask, full(json!([]))).await;
    bench.quiesce().await;
    let settle = bench.settle(vec![bench.edit(&doc, 0..0, "x\n")]);
    server.expect("textDocument/didChange").await;
    let ask = server.expect("textDocument/diagnostic").await;
    server.reply(&ask, full(json!([]))).await;
    let report = settle.await.unwrap();
    assert_eq!(
        told(&report),
        "rust-analyzer fresh@2 0ms new=[] resolved=0 unchanged=0\n\
         rust-analyzer on save needsSave@2 0ms (it checks the file on the disk)"
    );
    assert_eq!(verdict::conclusion(&report.documents[0]), verdict::Conclusion::Unknown);
    // Saved, its check begins and ends; that nothing is published then means that nothing changed.
    bench.documents.save(&doc.key);
    server.expect("textDocument/didSave").await;
    let languages = Arc::clone(&bench.languages);
    let report =
        tokio::spawn(
            async move { languages.report(Some(&doc), None, &Wait::default(), &CancellationToken::new()).await },
        );
    bench.quiesce().await;
    server.progress("rust-analyzer/flycheck/0", "begin").await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    server.progress("rust-analyzer/flycheck/0", "end").await;
    let report = report.await.unwrap();
    assert_eq!(told(&report), "rust-analyzer fresh@2 0ms present=[]\nrust-analyzer on save fresh@2 551ms present=[]");
    assert_eq!(verdict::conclusion(&report.documents[0]), verdict::Conclusion::NoErrors);
}
