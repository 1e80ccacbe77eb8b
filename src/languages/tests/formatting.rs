//! Servers that are asked how they would format a document.

use super::*;

fn options() -> Value {
    json!({ "tabSize": 4, "insertSpaces": true })
}

const FORMATS: fn() -> Value = || json!({ "textDocumentSync": 2, "documentFormattingProvider": true });

fn replacing(text: &str) -> Value {
    json!([{ "range": { "start": { "line": 0, "character": 0 }, "end": { "line": 99, "character": 0 } }, "newText": text }])
}

/// Asks for a document to be formatted.
fn format(bench: &Bench, doc: &Target) -> JoinHandle<Result<Option<Formatted>, String>> {
    let (languages, key) = (Arc::clone(&bench.languages), doc.key.clone());
    tokio::spawn(async move { languages.format(&key, &options(), Duration::from_secs(5)).await })
}

#[tokio::test(start_paused = true)]
async fn a_server_formats_the_text_it_was_told() {
    let mut bench = Bench::new();
    let doc = bench.open("a.py", "a=1\n");
    // Nobody knows yet whether there is a server: it is waited for.
    let formatted = format(&bench, &doc);
    let mut server = bench.server().await;
    server.initialize(FORMATS()).await;
    let ask = server.expect("textDocument/formatting").await;
    assert_eq!(ask["params"], json!({ "textDocument": { "uri": doc.uri }, "options": options() }));
    server.reply(&ask, replacing("a = 1\n")).await;
    let expected = Formatted { server: "ruff".into(), before: "a=1\n".into(), after: "a = 1\n".into() };
    assert_eq!(formatted.await.unwrap(), Ok(Some(expected)));
    // A change arrives before the question, and the answer is about the text it was asked about.
    bench.replace(&doc, 0..1, "😀");
    let formatted = format(&bench, &doc);
    let change = server.expect("textDocument/didChange").await;
    assert_eq!(change["params"]["contentChanges"][0]["text"], "😀");
    let ask = server.expect("textDocument/formatting").await;
    bench.replace(&doc, 0..4, "b");
    server.expect("textDocument/didChange").await;
    server.reply(&ask, replacing("😀 = 1\n")).await;
    assert_eq!(formatted.await.unwrap().unwrap().unwrap().before, "😀=1\n");
}

#[tokio::test(start_paused = true)]
async fn the_first_server_that_formats_is_the_one() {
    let mut bench = Bench::without(&["pyright"]);
    let doc = bench.open("a.py", "a=1\n");
    let (mut one, mut other) = (bench.server().await, bench.server().await);
    let (formats, checks) = if one.name == "ruff" { (&mut one, &mut other) } else { (&mut other, &mut one) };
    checks.initialize(PUSHES()).await;
    formats.initialize(FORMATS()).await;
    let formatted = format(&bench, &doc);
    let ask = formats.expect("textDocument/formatting").await;
    formats.reply(&ask, json!(null)).await;
    assert_eq!(formatted.await.unwrap().unwrap().unwrap().after, "a=1\n");
}

#[tokio::test(start_paused = true)]
async fn what_is_no_formatted_text_is_said() {
    let mut bench = Bench::new();
    let unknown = target("never-seen.py");
    assert_eq!(format(&bench, &unknown).await.unwrap(), Ok(None));
    let doc = bench.open("a.py", "a=1\n");
    let mut server = bench.server().await;
    server.initialize(FORMATS()).await;
    let formatted = format(&bench, &doc);
    let ask = server.expect("textDocument/formatting").await;
    server.fail(&ask, -32603, json!(null)).await;
    assert!(formatted.await.unwrap().unwrap_err().starts_with("ruff: "));
    // It never answers.
    let formatted = format(&bench, &doc);
    server.expect("textDocument/formatting").await;
    assert!(formatted.await.unwrap().unwrap_err().starts_with("ruff: "));
    // It goes in the middle.
    let formatted = format(&bench, &doc);
    server.expect("textDocument/formatting").await;
    drop(server);
    assert!(formatted.await.unwrap().unwrap_err().starts_with("ruff: "));
}

#[tokio::test(start_paused = true)]
async fn one_that_cannot_format_or_lacks_the_text_is_not_asked() {
    for capabilities in [
        PUSHES(),
        json!({ "textDocumentSync": 2, "documentFormattingProvider": false }),
        // It knows only what is on the disk.
        json!({ "textDocumentSync": { "openClose": true, "save": true }, "documentFormattingProvider": true }),
    ] {
        let mut bench = Bench::new();
        let doc = bench.open("a.py", "a=1\n");
        let mut server = bench.server().await;
        server.initialize(capabilities.clone()).await;
        server.expect("textDocument/didOpen").await;
        bench.replace(&doc, 0..1, "b");
        assert_eq!(format(&bench, &doc).await.unwrap(), Ok(None), "{capabilities}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_text_that_is_formatted_after_an_edit_is_the_one_that_is_judged() {
    let mut bench = Bench::new();
    let doc = bench.open("a.py", "a\n");
    let mut server = bench.server().await;
    server.initialize(PUSHES()).await;
    let open = server.expect("textDocument/didOpen").await;
    let version = open["params"]["textDocument"]["version"].as_i64().unwrap();
    server.publish(&doc.uri, Some(version), json!([error(0, "old")])).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let (prepared, edited) = bench.edit(&doc, 0..0, "x=1\n");
    let before = edited.after.clone();
    let (_, formatted) = bench.edit(&doc, 0..3, "x = 1");
    let settle = bench.settle(vec![(prepared.clone(), edited), (prepared.then(before), formatted)]);
    server.expect("textDocument/didChange").await;
    // What is said of the text in between does not count.
    server.publish(&doc.uri, Some(version + 1), json!([error(0, "style"), error(1, "old")])).await;
    server.expect("textDocument/didChange").await;
    server.publish(&doc.uri, Some(version + 2), json!([error(1, "old")])).await;
    assert_eq!(told(&settle.await.unwrap()), "ruff fresh@3 150ms new=[] resolved=0 unchanged=1");
}
