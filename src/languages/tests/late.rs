//! What is told after a wait was over: answers of all kinds of sources that had not answered, and what broke elsewhere.

use super::verdict::{Conclusion, conclusion};
use super::*;

/// A bench with a server that has spoken of a document.
async fn spoken() -> (Bench, Target, Played) {
    let mut bench = Bench::new();
    let doc = bench.open("a.py", "a\n");
    let mut server = bench.server().await;
    server.initialize(PUSHES()).await;
    server.publish(&doc.uri, Some(101), json!([])).await;
    bench.quiesce().await;
    (bench, doc, server)
}

async fn late(bench: &Bench) -> String {
    tokio::time::sleep(Duration::from_secs(1)).await;
    bench.languages.late().map_or_else(|| "nothing".to_owned(), |late| told(&late))
}

#[tokio::test(start_paused = true)]
async fn one_that_is_found_after_the_wait_answers_late() {
    let mut bench = Bench::new();
    let held = Arc::clone(&bench.stage.held).lock_owned().await;
    let doc = bench.open("a.py", "a\n");
    let settle = bench.settle(vec![bench.edit(&doc, 0..0, "x\n")]);
    let looking = "(it is being looked for)";
    assert_eq!(
        told(&settle.await.unwrap()),
        format!("python-lint pending@2 0ms {looking}\npython-types pending@2 0ms {looking}")
    );
    drop(held);
    let mut server = bench.server().await;
    tokio::time::sleep(Duration::from_secs(40)).await;
    server.initialize(PUSHES()).await;
    server.expect("textDocument/didOpen").await;
    assert_eq!(late(&bench).await, "nothing");
    server.publish(&doc.uri, Some(102), json!([error(0, "bad")])).await;
    assert_eq!(late(&bench).await, "ruff fresh@2 49150ms present=[0:0 bad]");
    assert_eq!(late(&bench).await, "nothing");
}

#[tokio::test(start_paused = true)]
async fn one_that_is_wanted_is_waited_for_while_it_is_looked_for() {
    let mut bench = Bench::new();
    let held = Arc::clone(&bench.stage.held).lock_owned().await;
    let doc = bench.open("a.py", "a\n");
    let wait = |name: &str| Wait { sources: Some(vec![name.into()]), ..Wait::default() };
    let others = bench.settle_with(vec![bench.edit(&doc, 0..0, "x\n")], wait("another"));
    tokio::time::timeout(Duration::from_millis(1), others).await.expect("nothing to wait for").unwrap();
    let settle = bench.settle_with(vec![bench.edit(&doc, 0..0, "x\n")], wait("ruff"));
    tokio::time::sleep(Duration::from_secs(2)).await;
    drop(held);
    let mut server = bench.server().await;
    server.initialize(PUSHES()).await;
    server.publish(&doc.uri, Some(103), json!([error(0, "bad")])).await;
    assert_eq!(told(&settle.await.unwrap()), "ruff fresh@3 2150ms present=[0:0 bad]");
}

#[tokio::test(start_paused = true)]
async fn a_late_answer_alone_does_not_make_a_text_clean() {
    let mut bench = Bench::without(&["pyright"]);
    let doc = bench.open("a.py", "a\n");
    let (one, two) = (bench.server().await, bench.server().await);
    let (mut ruff, mut types) = if one.name == "ruff" { (one, two) } else { (two, one) };
    for server in [&mut ruff, &mut types] {
        server.initialize(PUSHES()).await;
        server.publish(&doc.uri, Some(101), json!([])).await;
    }
    bench.quiesce().await;
    let concluded = |bench: &Bench| conclusion(&bench.languages.late().unwrap().documents[0]);
    // One is late, and the other has not answered at all.
    let settle = bench.settle(vec![bench.edit(&doc, 0..0, "x\n")]);
    settle.await.unwrap();
    ruff.publish(&doc.uri, Some(102), json!([])).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(concluded(&bench), Conclusion::Unknown);
    types.publish(&doc.uri, Some(102), json!([])).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(concluded(&bench), Conclusion::NoErrors);
    // One is late, and the other had found something in time.
    let settle = bench.settle(vec![bench.edit(&doc, 0..0, "x\n")]);
    bench.quiesce().await;
    types.publish(&doc.uri, Some(103), json!([error(0, "bad")])).await;
    settle.await.unwrap();
    ruff.publish(&doc.uri, Some(103), json!([])).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(concluded(&bench), Conclusion::Errors { new: 1, present: 0 });
}

#[tokio::test(start_paused = true)]
async fn what_is_told_without_waiting_is_told_anew_when_it_is_known() {
    let (bench, doc, mut server) = spoken().await;
    let wait = Wait { wait: WaitMode::None, ..Wait::default() };
    let settle = bench.settle_with(vec![bench.edit(&doc, 0..0, "x\n")], wait);
    assert_eq!(told(&settle.await.unwrap()), "ruff stale@2 0ms");
    server.publish(&doc.uri, Some(102), json!([error(0, "bad")])).await;
    assert_eq!(late(&bench).await, "ruff fresh@2 150ms new=[0:0 bad] resolved=0 unchanged=0");
}

#[tokio::test(start_paused = true)]
async fn what_needs_a_save_is_told_after_it() {
    let mut bench = Bench::new();
    let doc = bench.open("a.py", "a\n");
    let mut server = bench.server().await;
    server.initialize(json!({ "textDocumentSync": { "openClose": true, "change": 0, "save": true } })).await;
    server.publish(&doc.uri, Some(101), json!([])).await;
    bench.quiesce().await;
    let settle = bench.settle(vec![bench.edit(&doc, 0..0, "x\n")]);
    assert_eq!(told(&settle.await.unwrap()), "ruff needsSave@2 0ms (it checks the file on the disk)");
    // The user saves after a while.
    tokio::time::sleep(Duration::from_mins(20)).await;
    bench.documents.save(&doc.key);
    server.expect("textDocument/didSave").await;
    server.publish(&doc.uri, Some(102), json!([error(0, "bad")])).await;
    assert_eq!(late(&bench).await, "ruff fresh@2 1200150ms new=[0:0 bad] resolved=0 unchanged=0");
}

#[tokio::test(start_paused = true)]
async fn one_that_was_taken_for_silent_or_died_and_speaks_after_all_is_heard() {
    let mut bench = Bench::new();
    let doc = bench.open("a.py", "a\n");
    let mut server = bench.server().await;
    server.initialize(PUSHES()).await;
    tokio::time::sleep(Duration::from_secs(30)).await;
    let settle = bench.settle(vec![bench.edit(&doc, 0..0, "x\n")]);
    assert_eq!(told(&settle.await.unwrap()), "ruff neverReported@2 700ms");
    server.publish(&doc.uri, Some(102), json!([error(0, "bad")])).await;
    assert_eq!(late(&bench).await, "ruff fresh@2 850ms present=[0:0 bad]");
    let settle = bench.settle(vec![bench.edit(&doc, 0..0, "y\n")]);
    drop(server);
    assert!(told(&settle.await.unwrap()).starts_with("ruff crashed@3"));
    let mut server = bench.server().await;
    server.initialize(PUSHES()).await;
    server.publish(&doc.uri, Some(103), json!([error(1, "bad")])).await;
    assert_eq!(late(&bench).await, "ruff fresh@3 1150ms new=[] resolved=0 unchanged=1");
}

#[tokio::test(start_paused = true)]
async fn a_report_for_somebody_else_takes_nothing_from_whom_it_is_owed_to() {
    let (bench, doc, mut server) = spoken().await;
    let settle = bench.settle(vec![bench.edit(&doc, 0..0, "x\n")]);
    assert_eq!(told(&settle.await.unwrap()), "ruff pending@2 700ms");
    let wait = Wait { wait: WaitMode::None, ..Wait::default() };
    bench.languages.report(Some(&doc), None, &wait, &CancellationToken::new()).await;
    server.publish(&doc.uri, Some(102), json!([error(0, "bad")])).await;
    // With what it is compared to, and once.
    assert_eq!(late(&bench).await, "ruff fresh@2 850ms new=[0:0 bad] resolved=0 unchanged=0");
}

#[tokio::test(start_paused = true)]
async fn what_breaks_elsewhere_after_the_wait_is_told_late() {
    let (bench, doc, mut server) = spoken().await;
    let edit = |text: &'static str| bench.settle(vec![bench.edit(&doc, 0..0, text)]);
    let settle = edit("x\n");
    bench.quiesce().await;
    server.publish(&doc.uri, Some(102), json!([])).await;
    server.publish("file:///w/b.py", None, json!([error(0, "in time")])).await;
    let report = told(&settle.await.unwrap());
    assert_eq!(report, "ruff fresh@2 151ms new=[] resolved=0 unchanged=0\nalso file:///w/b.py ruff [\"in time\"]");
    assert_eq!(late(&bench).await, "nothing");
    server.publish("file:///w/b.py", None, json!([error(0, "in time"), error(3, "late")])).await;
    server.publish("file:///elsewhere/c.py", None, json!([error(0, "not ours")])).await;
    server.publish(&doc.uri, Some(102), json!([])).await;
    assert_eq!(late(&bench).await, "also file:///w/b.py ruff [\"late\"]");
    assert_eq!(late(&bench).await, "nothing");
    // It is taken back when it goes away, also when the text has gone on.
    bench.replace(&doc, 0..0, "y");
    server.publish("file:///w/d.py", None, json!([error(0, "of the typing")])).await;
    server.publish("file:///w/b.py", None, json!([error(0, "in time")])).await;
    assert_eq!(late(&bench).await, "also file:///w/b.py ruff []");
}

#[tokio::test(start_paused = true)]
async fn of_many_files_that_break_five_are_told_and_the_others_counted() {
    let (bench, doc, mut server) = spoken().await;
    for in_time in [true, false] {
        let settle = bench.settle(vec![bench.edit(&doc, 0..0, "x\n")]);
        bench.quiesce().await;
        let version = bench.documents.get(&doc.key).unwrap().version + 100;
        if !in_time {
            server.publish(&doc.uri, Some(version.into()), json!([])).await;
            settle.await.unwrap();
            for name in ["a", "b", "c", "d", "e", "f", "g"] {
                server.publish(&format!("file:///w/late/{name}.py"), None, json!([error(0, "broken")])).await;
            }
            assert!(late(&bench).await.ends_with("also file:///w/late/e.py ruff [\"broken\"]\nalso 2 more files"));
            break;
        }
        for name in ["a", "b", "c", "d", "e", "f", "g"] {
            server.publish(&format!("file:///w/{name}/x.py"), None, json!([error(0, "broken")])).await;
        }
        server.publish(&doc.uri, Some(version.into()), json!([])).await;
        let report = told(&settle.await.unwrap());
        assert!(report.ends_with("also file:///w/e/x.py ruff [\"broken\"]\nalso 2 more files"), "{report}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_comes_in_a_burst_is_waited_for_once_it_has_been_seen() {
    let (bench, doc, mut server) = spoken().await;
    let mut told_in_time = Vec::new();
    tokio::time::sleep(Duration::from_secs(1)).await;
    for round in 0..6 {
        let settle = bench.settle(vec![bench.edit(&doc, 0..0, "x\n")]);
        server.expect("textDocument/didChange").await;
        server.publish(&doc.uri, Some(102 + round), json!([])).await;
        if round >= 2 {
            tokio::time::sleep(Duration::from_millis(100)).await;
            server.publish("file:///w/b.py", None, json!([error(0, &format!("broken {round}"))])).await;
        }
        let report = settle.await.unwrap();
        let late = late(&bench).await.contains("broken");
        told_in_time.push((report.documents[0].sources[0].waited_ms, report.other_files.len(), late));
    }
    let (alone, missed, heard) = ((150, 0, false), (0, 0, true), (150, 1, false));
    assert_eq!(told_in_time, [alone, alone, missed, heard, heard, heard]);
}

#[tokio::test(start_paused = true)]
async fn what_is_said_of_one_document_of_a_batch_holds_when_the_others_have_been_read() {
    let (mut bench, a, mut server) = spoken().await;
    let b = bench.open("b.py", "b\n");
    server.expect("textDocument/didOpen").await;
    server.expect("textDocument/didOpen").await;
    server.publish(&b.uri, Some(101), json!([])).await;
    bench.quiesce().await;
    let one = bench.edit(&a, 0..0, "x\n");
    server.expect("textDocument/didChange").await;
    // It answers for the first before the second is changed, which breaks the first.
    server.publish(&a.uri, Some(102), json!([])).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let two = bench.edit(&b, 0..0, "y\n");
    let settle = bench.settle(vec![one, two]);
    bench.quiesce().await;
    server.publish(&a.uri, Some(102), json!([error(0, "broken by the other")])).await;
    server.publish(&b.uri, Some(102), json!([])).await;
    assert_eq!(
        told(&settle.await.unwrap()),
        "ruff fresh@2 0ms new=[0:0 broken by the other] resolved=0 unchanged=0\n\
         ruff fresh@2 151ms new=[] resolved=0 unchanged=0"
    );
    assert!(bench.started.try_recv().is_err());
}

#[tokio::test(start_paused = true)]
async fn a_late_answer_does_not_hide_what_the_embedded_check_found() {
    let (bench, doc, mut server) = spoken().await;
    let settle = bench.settle(vec![bench.edit(&doc, 0..0, "def (:\n")]);
    let report = settle.await.unwrap();
    assert!(matches!(conclusion(&report.documents[0]), Conclusion::Errors { .. }), "{report:?}");
    server.publish(&doc.uri, Some(102), json!([])).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let late = bench.languages.late().unwrap();
    assert!(matches!(conclusion(&late.documents[0]), Conclusion::Errors { .. }), "{late:?}");
}

#[tokio::test(start_paused = true)]
async fn a_question_that_is_open_is_put_anew_when_another_document_has_changed() {
    let mut bench = Bench::new();
    let (a, b) = (bench.open("a.py", "a\n"), bench.open("b.py", "b\n"));
    let mut server = bench.server().await;
    server.initialize(PULLS()).await;
    let full = |items: Value| json!({ "kind": "full", "items": items });
    for _ in 0..2 {
        let asked = server.expect("textDocument/diagnostic").await;
        server.reply(&asked, full(json!([]))).await;
    }
    bench.quiesce().await;
    let one = bench.edit(&a, 0..0, "x\n");
    tokio::time::sleep(Duration::from_secs(1)).await;
    let open = server.expect("textDocument/diagnostic").await;
    assert_eq!(open["params"]["textDocument"]["uri"], a.uri);
    let settle = bench.settle(vec![one, bench.edit(&b, 0..0, "y\n")]);
    let cancelled = server.expect("$/cancelRequest").await;
    assert_eq!(cancelled["params"]["id"], open["id"]);
    server.fail(&open, crate::rpc::code::REQUEST_CANCELLED, Value::Null).await;
    for uri in [&a.uri, &b.uri] {
        let asked = server.expect("textDocument/diagnostic").await;
        assert_eq!(asked["params"]["textDocument"]["uri"], **uri);
        let broken = if *uri == a.uri { json!([error(0, "broken by the other")]) } else { json!([]) };
        server.reply(&asked, full(broken)).await;
    }
    let report = told(&settle.await.unwrap());
    assert!(report.contains("broken by the other") && !report.contains("pending"), "{report}");
}
