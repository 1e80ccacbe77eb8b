//! Servers that publish: with honest versions, without any, with wrong ones.

use super::*;

#[tokio::test(start_paused = true)]
async fn published_for_exactly_the_text_after_the_edit() {
    let mut bench = Bench::new();
    let doc = bench.open("a.py", "a\nb\n");
    let mut server = bench.server().await;
    assert_eq!(server.name, "ruff");
    server.initialize(PUSHES()).await;
    let opened = server.expect("textDocument/didOpen").await["params"]["textDocument"].clone();
    assert_eq!(opened, json!({ "uri": doc.uri, "languageId": "python", "version": 101, "text": "a\nb\n" }));
    server.publish(&doc.uri, Some(101), json!([error(1, "old")])).await;
    bench.quiesce().await;

    // An edit that adds an error above the old one.
    let settle = bench.settle(vec![bench.edit(&doc, 0..0, "x\n")]);
    let changed = server.expect("textDocument/didChange").await["params"].clone();
    assert_eq!(changed["textDocument"]["version"], 102);
    let zero = json!({ "line": 0, "character": 0 });
    assert_eq!(changed["contentChanges"], json!([{ "range": { "start": zero, "end": zero }, "text": "x\n" }]));
    // What it says of the text before is a better baseline, and no answer.
    server.publish(&doc.uri, Some(101), json!([error(1, "old")])).await;
    server.publish(&doc.uri, Some(102), json!([error(2, "old"), error(0, "bad")])).await;
    assert_eq!(told(&settle.await.unwrap()), "ruff fresh@2 150ms new=[0:0 bad] resolved=0 unchanged=1");

    // An edit that takes both away; the baseline is what was fresh last.
    let settle = bench.settle(vec![bench.edit(&doc, 0..2, "")]);
    server.expect("textDocument/didChange").await;
    server.publish(&doc.uri, Some(103), json!([])).await;
    assert_eq!(told(&settle.await.unwrap()), "ruff fresh@3 150ms new=[] resolved=2 unchanged=0");

    // And the empty set is a baseline too.
    let settle = bench.settle(vec![bench.edit(&doc, 0..0, "y\n")]);
    server.expect("textDocument/didChange").await;
    server.publish(&doc.uri, Some(104), json!([error(0, "again")])).await;
    assert_eq!(told(&settle.await.unwrap()), "ruff fresh@4 150ms new=[0:0 again] resolved=0 unchanged=0");
}

#[tokio::test(start_paused = true)]
async fn without_versions_quiet_decides_and_work_going_on_vetoes_it() {
    let mut bench = Bench::new();
    let doc = bench.open("a.py", "a\n");
    let mut server = bench.server().await;
    server.initialize(PUSHES()).await;
    server.publish(&doc.uri, None, json!([error(0, "old")])).await;
    tokio::time::sleep(Duration::from_secs(1)).await;

    let settle = bench.settle(vec![bench.edit(&doc, 0..0, "x\n")]);
    server.expect("textDocument/didChange").await;
    server.publish(&doc.uri, None, json!([])).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    server.publish(&doc.uri, None, json!([error(1, "old")])).await;
    assert_eq!(told(&settle.await.unwrap()), "ruff fresh@2 350ms new=[] resolved=0 unchanged=1");
    tokio::time::sleep(Duration::from_secs(1)).await;

    let settle = bench.settle(vec![bench.edit(&doc, 0..0, "y\n")]);
    server.expect("textDocument/didChange").await;
    server.progress("check", "begin").await;
    server.publish(&doc.uri, None, json!([])).await;
    tokio::time::sleep(Duration::from_millis(400)).await;
    server.publish(&doc.uri, None, json!([error(2, "old"), error(0, "bad")])).await;
    server.progress("check", "end").await;
    assert_eq!(told(&settle.await.unwrap()), "ruff fresh@3 650ms new=[0:0 bad] resolved=0 unchanged=1");
}

#[tokio::test(start_paused = true)]
async fn a_late_answer_is_pending_and_told_later() {
    let mut bench = Bench::new();
    let doc = bench.open("a.py", "a\n");
    let mut server = bench.server().await;
    server.initialize(PUSHES()).await;
    server.publish(&doc.uri, Some(101), json!([])).await;
    bench.quiesce().await;

    let settle = bench.settle(vec![bench.edit(&doc, 0..0, "x\n")]);
    server.expect("textDocument/didChange").await;
    server.publish(&doc.uri, Some(101), json!([error(0, "stale")])).await;
    assert_eq!(told(&settle.await.unwrap()), "ruff pending@2 700ms");
    assert_eq!(bench.languages.late(), None);

    server.publish(&doc.uri, Some(102), json!([error(0, "bad")])).await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    let late = bench.languages.late().unwrap();
    assert_eq!(*lock(&bench.editor.1), [serde_json::to_value(&late).unwrap()], "the editor hears of it at once");
    // The set for the text before the edit came after the edit left, and is its baseline all the same.
    assert_eq!(told(&late), "ruff fresh@2 850ms new=[0:0 bad] resolved=1 unchanged=0");
    assert_eq!(bench.languages.late(), None, "it is told once");
}

#[tokio::test(start_paused = true)]
async fn budgets_depend_on_what_the_server_has_shown() {
    let mut bench = Bench::new();
    let doc = bench.open("a.py", "a\n");
    // It starts for ever: cold.
    let settle = bench.settle(vec![bench.edit(&doc, 0..0, "x\n")]);
    assert_eq!(told(&settle.await.unwrap()), "ruff pending@2 8000ms");
    let mut server = bench.server().await;
    server.initialize(PUSHES()).await;
    server.expect("textDocument/didOpen").await;
    server.publish(&doc.uri, Some(102), json!([])).await;
    bench.quiesce().await;
    // It has answered for this document: known. It has not for the other: new.
    let settle = bench.settle(vec![bench.edit(&doc, 0..0, "y\n")]);
    assert_eq!(told(&settle.await.unwrap()), "ruff pending@3 700ms");
    let other = bench.open("b.py", "b\n");
    let settle = bench.settle(vec![bench.edit(&other, 0..0, "y\n")]);
    assert_eq!(told(&settle.await.unwrap()), "ruff pending@2 3000ms");
    // The call decides.
    let wait = Wait { deadline_ms: Some(40), ..Wait::default() };
    let settle = bench.settle_with(vec![bench.edit(&doc, 0..0, "z\n")], wait);
    assert_eq!(told(&settle.await.unwrap()), "ruff pending@4 40ms");
    let wait = Wait { wait: WaitMode::None, ..Wait::default() };
    let settle = bench.settle_with(vec![bench.edit(&doc, 0..0, "z\n")], wait);
    assert_eq!(told(&settle.await.unwrap()), "ruff stale@5 0ms");
    // One that has had a document for long without a word about it is not waited for as if it would, unless it is at work.
    server.progress("check", "begin").await;
    tokio::time::sleep(Duration::from_secs(10)).await;
    let settle = bench.settle(vec![bench.edit(&other, 0..0, "y\n")]);
    assert_eq!(told(&settle.await.unwrap()), "ruff pending@3 700ms");
    server.progress("check", "end").await;
    let settle = bench.settle(vec![bench.edit(&other, 0..0, "y\n")]);
    assert_eq!(told(&settle.await.unwrap()), "ruff neverReported@4 700ms");
}

#[tokio::test(start_paused = true)]
async fn stamps_that_never_fit_count_as_none() {
    let mut bench = Bench::new();
    let doc = bench.open("a.py", "a\n");
    let mut server = bench.server().await;
    server.initialize(PUSHES()).await;
    server.expect("textDocument/didOpen").await;
    let mut verdicts = Vec::new();
    for text in ["b\n", "c\n", "d\n", "e\n"] {
        let settle = bench.settle(vec![bench.edit(&doc, 0..0, text)]);
        server.expect("textDocument/didChange").await;
        server.publish(&doc.uri, Some(0), json!([error(0, "bad")])).await;
        verdicts.push(told(&settle.await.unwrap()));
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    assert_eq!(
        verdicts,
        [
            "ruff pending@2 8000ms",
            "ruff pending@3 700ms",
            "ruff fresh@4 250ms present=[0:0 bad]",
            "ruff fresh@5 250ms new=[] resolved=0 unchanged=1",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn errors_that_appear_in_other_files_are_told() {
    let mut bench = Bench::new();
    let doc = bench.open("a.py", "a\n");
    let mut server = bench.server().await;
    server.initialize(PUSHES()).await;
    server.publish("file:///w/old.py", None, json!([error(0, "always there")])).await;
    server.publish(&doc.uri, Some(101), json!([])).await;
    bench.quiesce().await;
    let settle = bench.settle(vec![bench.edit(&doc, 0..0, "x\n")]);
    server.expect("textDocument/didChange").await;
    let moved = error(7, "always there");
    server.publish("file:///w/old.py", None, json!([moved])).await;
    server.publish("file:///elsewhere/c.py", None, json!([error(0, "not ours")])).await;
    for name in ["f", "e", "d", "c", "b", "a2"] {
        server.publish(&format!("file:///w/{name}.py"), None, json!([error(0, "broken by it")])).await;
    }
    server.publish("file:///w/b.py", None, json!([])).await;
    server.publish(&doc.uri, Some(102), json!([])).await;
    let other = |name: &str| format!("also file:///w/{name}.py ruff [\"broken by it\"]\n");
    let expected: String = ["a2", "c", "d", "e", "f"].map(other).concat();
    let expected = format!("ruff fresh@2 150ms new=[] resolved=0 unchanged=0\n{expected}");
    assert_eq!(told(&settle.await.unwrap()), expected.trim_end());
}

#[tokio::test(start_paused = true)]
async fn one_wait_serves_a_batch() {
    let mut bench = Bench::new();
    let (one, two) = (bench.open("a.py", "a\n"), bench.open("b.py", "b\n"));
    let mut server = bench.server().await;
    server.initialize(PUSHES()).await;
    server.publish(&one.uri, Some(101), json!([error(0, "old")])).await;
    server.publish(&two.uri, Some(101), json!([])).await;
    bench.quiesce().await;
    let edits = vec![bench.edit(&one, 0..0, "x\n"), bench.edit(&two, 0..0, "y\n"), bench.edit(&one, 0..0, "z\n")];
    let settle = bench.settle(edits);
    server.expect("textDocument/didChange").await;
    server.publish(&one.uri, Some(102), json!([error(1, "old"), error(0, "in between")])).await;
    server.publish(&one.uri, Some(103), json!([error(2, "old"), error(1, "bad")])).await;
    server.publish(&two.uri, Some(102), json!([error(0, "worse")])).await;
    assert_eq!(
        told(&settle.await.unwrap()),
        "ruff fresh@3 150ms new=[1:0 bad] resolved=0 unchanged=1\n\
         ruff fresh@2 150ms new=[0:0 worse] resolved=0 unchanged=0"
    );
}

#[tokio::test(start_paused = true)]
async fn odd_diagnostics_do_not_cost_the_others() {
    let mut bench = Bench::new();
    let doc = bench.open("a.py", "a\n");
    let mut server = bench.server().await;
    server.initialize(PUSHES()).await;
    server.expect("textDocument/didOpen").await;
    let settle = bench.settle(vec![bench.edit(&doc, 0..0, "x\n")]);
    server.expect("textDocument/didChange").await;
    let mut far = error(900, "far away");
    far["codeDescription"] = json!({ "href": "" });
    far["code"] = json!(1.5);
    server.publish(&doc.uri, Some(102), json!([far, "nonsense", error(0, "bad")])).await;
    let report = told(&settle.await.unwrap());
    assert!(report.contains("0:0 bad") && report.contains("2:0 far away"), "{report}");
}

#[tokio::test(start_paused = true)]
async fn what_is_no_list_of_diagnostics_is_not_an_empty_one() {
    let nothing = |why: &str| format!("ruff pending@2 700ms (its report could not be read: {why})");
    for (diagnostics, expected) in [
        (Value::Null, nothing("its `diagnostics` is null, not a list")),
        (json!({ "a": 1 }), nothing("its `diagnostics` is an object, not a list")),
        (json!([5, "x"]), nothing("none of its 2 diagnostics is an object")),
    ] {
        let mut bench = Bench::new();
        let doc = bench.open("a.py", "a\n");
        let mut server = bench.server().await;
        server.initialize(PUSHES()).await;
        server.publish(&doc.uri, Some(101), json!([])).await;
        bench.quiesce().await;
        let settle = bench.settle(vec![bench.edit(&doc, 0..0, "x\n")]);
        server.expect("textDocument/didChange").await;
        // What it says afterwards takes back what it said before.
        server.publish(&doc.uri, Some(102), json!([])).await;
        server.publish(&doc.uri, Some(102), diagnostics.clone()).await;
        let report = settle.await.unwrap();
        assert_eq!(told(&report), expected, "{diagnostics}");
        assert_eq!(verdict::conclusion(&report.documents[0]), verdict::Conclusion::Unknown);
        // A report that can be read still comes in time.
        server.publish(&doc.uri, Some(102), json!([error(0, "bad")])).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(told(&bench.languages.late().unwrap()), "ruff fresh@2 850ms new=[0:0 bad] resolved=0 unchanged=0");
    }
}

#[tokio::test(start_paused = true)]
async fn messages_of_the_wrong_shape_are_skipped() {
    let mut bench = Bench::new();
    let doc = bench.open("a.py", "a\n");
    let mut server = bench.server().await;
    server.initialize(PUSHES()).await;
    server.expect("textDocument/didOpen").await;
    let settle = bench.settle(vec![bench.edit(&doc, 0..0, "x\n")]);
    server.expect("textDocument/didChange").await;
    for params in [json!([doc.uri, 102]), json!(7), Value::Null, json!({ "uri": 1, "diagnostics": [] })] {
        for method in ["textDocument/publishDiagnostics", "$/progress", "window/logMessage"] {
            server.notify(method, params.clone()).await;
        }
        server.ask("workspace/configuration", params.clone()).await;
        server.ask("client/registerCapability", params).await;
    }
    server.publish(&doc.uri, Some(102), json!([error(0, "bad")])).await;
    assert_eq!(told(&settle.await.unwrap()), "ruff fresh@2 150ms present=[0:0 bad]");
}

#[tokio::test(start_paused = true)]
async fn a_report_that_can_be_read_in_part_is_not_clean() {
    let mut bench = Bench::new();
    let doc = bench.open("a.py", "a\n");
    let mut server = bench.server().await;
    server.initialize(PUSHES()).await;
    server.expect("textDocument/didOpen").await;
    let settle = bench.settle(vec![bench.edit(&doc, 0..0, "x\n")]);
    server.expect("textDocument/didChange").await;
    let mut warning = error(0, "odd");
    warning["severity"] = json!(2);
    server.publish(&doc.uri, Some(102), json!([warning, 5])).await;
    let mut report = settle.await.unwrap();
    assert_eq!(told(&report), "ruff fresh@2 150ms present=[0:0 odd]");
    report.documents[0].sources.retain(|source| source.id != SYNTAX);
    assert_eq!(
        verdict::render(&report),
        "/w/a.py: not fully checked; 1 warning present (no baseline: may be old) [ruff]\n  \
         1:1 warning [ruff] odd\n  1 more from ruff could not be read"
    );
}

#[tokio::test(start_paused = true)]
async fn a_server_that_publishes_once_is_not_waited_for_twice() {
    let mut bench = Bench::new();
    let doc = bench.open("a.py", "a\n");
    let mut server = bench.server().await;
    server.initialize(PUSHES()).await;
    server.expect("textDocument/didOpen").await;
    let mut waited = Vec::new();
    for (version, pair) in (102..).zip([false, false, false, false, true, false, false, false, false]) {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let settle = bench.settle(vec![bench.edit(&doc, 0..0, "x\n")]);
        server.expect("textDocument/didChange").await;
        server.publish(&doc.uri, Some(version), json!([])).await;
        if pair {
            tokio::time::sleep(Duration::from_millis(100)).await;
            server.publish(&doc.uri, Some(version), json!([])).await;
        }
        waited.push(settle.await.unwrap().documents[0].sources[0].waited_ms);
    }
    assert_eq!(waited, [150, 150, 150, 0, 0, 150, 150, 150, 0]);
}
