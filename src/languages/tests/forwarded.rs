//! The editor's own servers, as the editor forwards what they say.

use super::*;
use crate::text::Encoding;

fn forwarded(doc: &Target, version: Option<i32>, stamp: StampedBy, diagnostics: Value) -> Forwarded {
    let Value::Array(diagnostics) = diagnostics else { panic!("no list") };
    Forwarded {
        uri: doc.uri.clone(),
        version,
        stamp,
        source: SourceName { id: "7".into(), name: "pylsp".into() },
        position_encoding: Encoding::Utf16,
        kind: Delivery::Push,
        diagnostics,
    }
}

/// A bench on which the editor has a server for Python, and a document it has spoken of.
fn bench() -> (Bench, Target) {
    let bench = Bench::new();
    let doc = target("a.py");
    bench.documents.open(doc.key.clone(), &doc.uri, "python", 5, "a\n");
    bench.languages.editor_sources(&doc.uri, vec![SourceName { id: "7".into(), name: "pylsp".into() }]);
    bench.languages.forwarded(forwarded(&doc, Some(5), StampedBy::Server, json!([error(0, "old")])));
    bench.languages.look(&doc, None, &bench.text(&doc));
    (bench, doc)
}

#[tokio::test(start_paused = true)]
async fn a_stamp_of_the_servers_own_counts() {
    let (bench, doc) = bench();
    let settle = bench.settle(vec![bench.edit(&doc, 0..0, "x\n")]);
    bench.quiesce().await;
    bench.languages.forwarded(forwarded(&doc, Some(5), StampedBy::Server, json!([error(0, "old")])));
    bench.languages.forwarded(forwarded(&doc, Some(6), StampedBy::Server, json!([error(1, "old"), error(0, "bad")])));
    assert_eq!(told(&settle.await.unwrap()), "pylsp fresh@6 151ms new=[0:0 bad] resolved=0 unchanged=1");
}

#[tokio::test(start_paused = true)]
async fn a_stamp_of_the_editors_counts_as_none() {
    let (bench, doc) = bench();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let settle = bench.settle(vec![bench.edit(&doc, 0..0, "x\n")]);
    bench.quiesce().await;
    bench.languages.forwarded(forwarded(&doc, Some(6), StampedBy::Receipt, json!([error(1, "old")])));
    assert_eq!(told(&settle.await.unwrap()), "pylsp fresh@6 251ms new=[] resolved=0 unchanged=1");
}

#[tokio::test(start_paused = true)]
async fn what_was_asked_for_counts_at_once() {
    let (bench, doc) = bench();
    let settle = bench.settle(vec![bench.edit(&doc, 0..0, "x\n")]);
    bench.quiesce().await;
    assert_eq!(lock(&bench.editor.0).join(" "), doc.uri);
    let pulled = forwarded(&doc, Some(6), StampedBy::Server, json!([]));
    bench.languages.forwarded(Forwarded { kind: Delivery::Pull, ..pulled });
    assert_eq!(told(&settle.await.unwrap()), "pylsp fresh@6 1ms new=[] resolved=1 unchanged=0");
}

#[tokio::test(start_paused = true)]
async fn a_constant_stamp_is_found_out() {
    let (bench, doc) = bench();
    let mut verdicts = Vec::new();
    for text in ["b\n", "c\n", "d\n", "e\n"] {
        let settle = bench.settle(vec![bench.edit(&doc, 0..0, text)]);
        bench.quiesce().await;
        bench.languages.forwarded(forwarded(&doc, Some(5), StampedBy::Server, json!([error(0, "bad")])));
        verdicts.push(told(&settle.await.unwrap()).split(' ').take(2).collect::<Vec<_>>().join(" "));
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    assert_eq!(verdicts, ["pylsp pending@6", "pylsp pending@7", "pylsp fresh@8", "pylsp fresh@9"]);
}

#[tokio::test(start_paused = true)]
async fn work_that_the_editor_reports_vetoes_quiet() {
    let (bench, doc) = bench();
    let settle = bench.settle(vec![bench.edit(&doc, 0..0, "x\n")]);
    bench.quiesce().await;
    bench.languages.progress("7", "check", ProgressKind::Begin);
    bench.languages.forwarded(forwarded(&doc, None, StampedBy::Server, json!([])));
    assert_eq!(told(&settle.await.unwrap()), "pylsp pending@6 700ms");
    bench.languages.progress("7", "check", ProgressKind::End);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(told(&bench.languages.late().unwrap()), "pylsp fresh@6 950ms new=[] resolved=1 unchanged=0");
}

#[tokio::test(start_paused = true)]
async fn positions_count_as_the_source_counts() {
    let (bench, doc) = bench();
    let settle = bench.settle(vec![bench.edit(&doc, 0..2, "é😀x\n")]);
    bench.quiesce().await;
    let at = |character: u32| json!({ "line": 0, "character": character });
    let problem = json!({ "range": { "start": at(6), "end": at(7) }, "severity": 1, "message": "x" });
    let bytes = forwarded(&doc, Some(6), StampedBy::Server, json!([problem]));
    bench.languages.forwarded(Forwarded { position_encoding: Encoding::Utf8, ..bytes });
    assert_eq!(told(&settle.await.unwrap()), "pylsp fresh@6 151ms new=[0:3 x] resolved=1 unchanged=0");
}

#[tokio::test(start_paused = true)]
async fn a_list_of_which_nothing_can_be_read_is_not_an_empty_one() {
    let (bench, doc) = bench();
    let settle = bench.settle(vec![bench.edit(&doc, 0..0, "x\n")]);
    bench.quiesce().await;
    bench.languages.forwarded(forwarded(&doc, Some(6), StampedBy::Server, json!([null])));
    assert_eq!(
        told(&settle.await.unwrap()),
        "pylsp pending@6 700ms (its report could not be read: none of its 1 diagnostics is an object)"
    );
}

#[test]
fn the_wire_form_is_lenient_about_what_may_be_missing() {
    let least = json!({ "uri": "file:///a", "source": { "id": "1", "name": "x" }, "diagnostics": [] });
    let read: Forwarded = serde_json::from_value(least).unwrap();
    assert_eq!((read.stamp, read.kind, read.version), (StampedBy::Receipt, Delivery::Push, None));
    let all = json!({ "uri": "file:///a", "version": 3, "stamp": "server", "source": { "id": "1", "name": "x" },
        "positionEncoding": "utf-8", "kind": "pull", "diagnostics": [{}] });
    let read: Forwarded = serde_json::from_value(all.clone()).unwrap();
    assert_eq!(serde_json::to_value(read).unwrap(), all);
}

#[tokio::test(start_paused = true)]
async fn what_the_editors_server_and_ours_report_is_told_once() {
    let mut bench = Bench::new();
    bench.settings.diagnostics.own_servers = crate::config::OwnServers::On;
    bench.configure();
    let doc = bench.open("a.py", "a\n");
    let pulled = |version: i32, items: Value| Forwarded {
        kind: Delivery::Pull,
        ..forwarded(&doc, Some(version), StampedBy::Server, items)
    };
    bench.languages.editor_sources(&doc.uri, vec![SourceName { id: "7".into(), name: "pylsp".into() }]);
    let named = |line: u32, message: &str| {
        let mut error = error(line, message);
        error["source"] = json!("flake8");
        error
    };
    bench.languages.forwarded(pulled(1, json!([named(0, "old")])));
    let mut server = bench.server().await;
    server.initialize(PUSHES()).await;
    server.publish(&doc.uri, Some(101), json!([error(0, "old")])).await;
    bench.quiesce().await;
    let settle = bench.settle(vec![bench.edit(&doc, 0..0, "x\n")]);
    server.expect("textDocument/didChange").await;
    server.publish(&doc.uri, Some(102), json!([error(0, "bad"), error(1, "old")])).await;
    bench.languages.forwarded(pulled(2, json!([named(0, "bad"), named(1, "old"), named(1, "only here")])));
    assert_eq!(
        told(&settle.await.unwrap()),
        "pylsp fresh@2 0ms new=[1:0 only here] resolved=0 unchanged=0\n\
         ruff fresh@2 150ms new=[0:0 bad] resolved=0 unchanged=1"
    );
}

#[tokio::test(start_paused = true)]
async fn what_is_published_besides_answers_does_not_replace_them() {
    let (bench, doc) = bench();
    let pulled = |version: i32, items: Value| Forwarded {
        kind: Delivery::Pull,
        ..forwarded(&doc, Some(version), StampedBy::Server, items)
    };
    bench.languages.forwarded(pulled(5, json!([])));
    bench.documents.save(&doc.key);
    bench.languages.forwarded(forwarded(&doc, Some(5), StampedBy::Server, json!([error(0, "compiler")])));
    bench.quiesce().await;
    let settle = bench.settle(vec![bench.edit(&doc, 0..0, "x\n")]);
    bench.quiesce().await;
    bench.languages.forwarded(pulled(6, json!([error(0, "bad")])));
    bench.languages.forwarded(forwarded(&doc, Some(6), StampedBy::Server, json!([])));
    assert_eq!(
        told(&settle.await.unwrap()),
        "pylsp fresh@6 1ms new=[0:0 bad] resolved=0 unchanged=0\n\
         pylsp on save needsSave@6 0ms (it checks the file on the disk)"
    );
}

#[tokio::test(start_paused = true)]
async fn a_source_that_the_editor_names_no_more_is_not_waited_for() {
    let (bench, doc) = bench();
    let pylsp = SourceName { id: "7".into(), name: "pylsp".into() };
    let mypy = SourceName { id: "8".into(), name: "mypy".into() };
    bench.languages.editor_sources(&doc.uri, vec![pylsp, mypy.clone()]);
    let settle = bench.settle(vec![bench.edit(&doc, 0..0, "x\n")]);
    assert_eq!(told(&settle.await.unwrap()), "mypy pending@6 3000ms\npylsp pending@6 700ms");
    // In the middle of a wait one of them leaves: the other is still waited for, and what the first said is gone.
    let settle = bench.settle(vec![bench.edit(&doc, 0..0, "y\n")]);
    bench.quiesce().await;
    bench.languages.editor_sources(&doc.uri, vec![mypy]);
    let said = forwarded(&doc, Some(7), StampedBy::Server, json!([error(0, "bad")]));
    bench.languages.forwarded(Forwarded { source: SourceName { id: "8".into(), name: "mypy".into() }, ..said });
    assert_eq!(told(&settle.await.unwrap()), "mypy fresh@7 151ms present=[0:0 bad]");
    // All leave: there is nobody, and that is not the same as nothing to tell.
    bench.languages.editor_sources(&doc.uri, Vec::new());
    bench.languages.look(&doc, Some("python"), &bench.text(&doc));
    let settle = bench.settle(vec![bench.edit(&doc, 0..0, "z\n")]);
    assert!(!told(&settle.await.unwrap()).contains("fresh"));
}
