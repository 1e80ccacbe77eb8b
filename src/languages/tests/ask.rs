//! Questions to servers beside diagnostics.

use super::*;
use crate::languages::ask::{Direction, Relation, Subject, Unanswered};
use crate::rpc::code;
use crate::text::Position;

const ASKED: fn() -> Value = || {
    json!({ "textDocumentSync": 2, "hoverProvider": true, "referencesProvider": {}, "renameProvider": true,
        "callHierarchyProvider": true, "codeActionProvider": { "resolveProvider": true },
        "executeCommandProvider": { "commands": ["x.run"] } })
};

fn range(line: u32) -> Value {
    json!({ "start": { "line": line, "character": 0 }, "end": { "line": line, "character": 1 } })
}

impl Bench {
    fn subject(&self, target: &Target) -> Subject {
        Subject { key: target.key.clone(), text: self.text(target) }
    }

    /// A document, its server, and the door to it.
    async fn door(&mut self, text: &str) -> (Target, Played, crate::languages::ask::Door) {
        let doc = self.open("a.py", text);
        let mut server = self.server().await;
        server.initialize(ASKED()).await;
        let servers = self.languages.servers_of(&doc, false, &CancellationToken::new()).await;
        assert_eq!((servers.language.as_str(), servers.doors.len()), ("python", 1));
        (doc, server, servers.doors.into_iter().next().unwrap())
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_comes_behind_the_text_it_is_about() {
    let mut bench = Bench::new();
    let (doc, mut server, door) = bench.door("a\n").await;
    bench.replace(&doc, 0..0, "é😀 ");
    let subject = bench.subject(&doc);
    let asking = tokio::spawn(async move { door.hover(&subject, 7).await });
    server.expect("textDocument/didChange").await;
    let ask = server.next().await.unwrap();
    assert_eq!(ask["method"], "textDocument/hover");
    // In UTF-16 units, for it has not agreed on others.
    assert_eq!(ask["params"]["position"], json!({ "line": 0, "character": 4 }));
    server.reply(&ask, json!({ "contents": "it is a" })).await;
    assert_eq!(asking.await.unwrap().unwrap().value, ["it is a"]);
}

#[tokio::test(start_paused = true)]
async fn a_text_that_moved_on_is_not_asked_about() {
    let mut bench = Bench::new();
    let (doc, _server, door) = bench.door("a\n").await;
    let subject = bench.subject(&doc);
    bench.replace(&doc, 0..0, "x");
    bench.quiesce().await;
    assert_eq!(door.hover(&subject, 0).await.unwrap_err(), Unanswered::Moved);
}

#[tokio::test(start_paused = true)]
async fn what_it_cannot_do_it_is_not_asked_and_what_it_can_is_told() {
    let mut bench = Bench::new();
    let (doc, _server, door) = bench.door("a\n").await;
    let subject = bench.subject(&doc);
    let unanswered = door.places(&subject, 0, Relation::Definition).await.unwrap_err();
    let can = vec!["hover", "references", "incoming_calls and outgoing_calls", "rename", "code_actions"];
    assert_eq!(unanswered, Unanswered::Cannot(can));
}

#[tokio::test(start_paused = true)]
async fn it_is_asked_again_with_patience_when_something_changed() {
    let mut bench = Bench::new();
    let (doc, mut server, door) = bench.door("a\n").await;
    let subject = bench.subject(&doc);
    let asking =
        tokio::spawn(async move { door.places(&subject, 0, Relation::References { declaration: true }).await });
    for _ in 0..2 {
        let ask = server.expect("textDocument/references").await;
        assert_eq!(ask["params"]["context"]["includeDeclaration"], true);
        server.fail(&ask, code::CONTENT_MODIFIED, Value::Null).await;
    }
    let ask = server.expect("textDocument/references").await;
    server.reply(&ask, json!([{ "uri": doc.uri, "range": range(0) }])).await;
    let answer = asking.await.unwrap().unwrap();
    assert_eq!(answer.value[0].range.start, Position::new(0, 0));
    assert_eq!(answer.seen.text(&doc.key).unwrap().to_string(), "a\n");
}

#[tokio::test(start_paused = true)]
async fn one_who_does_not_wait_any_more_cancels() {
    let mut bench = Bench::new();
    let (doc, mut server, door) = bench.door("a\n").await;
    let subject = bench.subject(&doc);
    let asking = tokio::spawn(async move { door.hover(&subject, 0).await });
    let ask = server.expect("textDocument/hover").await;
    asking.abort();
    assert_eq!(server.expect("$/cancelRequest").await["params"]["id"], ask["id"]);
}

#[tokio::test(start_paused = true)]
async fn silence_and_an_end_are_told_as_what_they_are() {
    let mut bench = Bench::new();
    let (doc, mut server, door) = bench.door("a\n").await;
    let subject = bench.subject(&doc);
    assert_eq!(door.hover(&subject, 0).await.unwrap_err(), Unanswered::Late);
    let asking = tokio::spawn({
        let (door, subject) = (door.clone(), subject.clone());
        async move { door.hover(&subject, 0).await }
    });
    server.expect("textDocument/hover").await;
    server.expect("textDocument/hover").await;
    drop(server);
    assert_eq!(asking.await.unwrap().unwrap_err(), Unanswered::Gone);
    assert_eq!(door.hover(&subject, 0).await.unwrap_err(), Unanswered::Gone);
}

#[tokio::test(start_paused = true)]
async fn calls_are_followed_by_what_the_server_gave() {
    let mut bench = Bench::new();
    let (doc, mut server, door) = bench.door("a\n").await;
    let subject = bench.subject(&doc);
    let asking = tokio::spawn(async move {
        let items = door.callables(&subject, 0).await.unwrap().value;
        door.calls(&items[0], Direction::Incoming).await
    });
    let item =
        json!({ "name": "f", "kind": 12, "uri": doc.uri, "range": range(0), "selectionRange": range(0), "data": 7 });
    let ask = server.expect("textDocument/prepareCallHierarchy").await;
    server.reply(&ask, json!([item])).await;
    let ask = server.expect("callHierarchy/incomingCalls").await;
    assert_eq!(ask["params"], json!({ "item": item }));
    server.reply(&ask, json!([{ "from": item, "fromRanges": [range(0)] }])).await;
    assert_eq!(asking.await.unwrap().unwrap().value[0].item.name, "f");
}

#[tokio::test(start_paused = true)]
async fn a_server_edits_only_while_a_command_of_ours_runs() {
    let mut bench = Bench::new();
    let (doc, mut server, door) = bench.door("a\n").await;
    let subject = bench.subject(&doc);
    let edit = json!({ "edit": { "changes": { doc.uri.clone(): [{ "range": range(0), "newText": "b" }] } } });
    assert_eq!(server.ask("workspace/applyEdit", edit.clone()).await["result"]["applied"], false);
    let asking = tokio::spawn(async move {
        let action = door.actions(&subject, 0..1).await.unwrap().value.remove(0);
        door.run(&action).await
    });
    let ask = server.expect("textDocument/codeAction").await;
    server.reply(&ask, json!([{ "title": "Do", "command": "x.run", "arguments": [1] }])).await;
    let ask = server.expect("workspace/executeCommand").await;
    assert_eq!(ask["params"], json!({ "command": "x.run", "arguments": [1] }));
    assert_eq!(server.ask("workspace/applyEdit", edit.clone()).await["result"]["applied"], true);
    server.reply(&ask, Value::Null).await;
    assert_eq!(asking.await.unwrap().unwrap().value.len(), 1);
    assert_eq!(server.ask("workspace/applyEdit", edit).await["result"]["applied"], false);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_tell_where_symbols_are_is_asked_once() {
    let mut bench = Bench::new();
    let doc = bench.open("a.py", "a\n");
    let mut server = bench.server().await;
    server.initialize(json!({ "workspaceSymbolProvider": { "resolveProvider": true } })).await;
    let servers = bench.languages.servers_of(&doc, false, &CancellationToken::new()).await;
    let door = servers.doors.into_iter().next().unwrap();
    let begun = tokio::time::Instant::now();
    let asking = tokio::spawn(async move {
        let found = door.workspace_symbols("a").await.unwrap().value;
        door.placed(found, 100).await
    });
    let ask = server.expect("workspace/symbol").await;
    let found = vec![json!({ "name": "a", "kind": 12, "location": { "uri": doc.uri } }); 50];
    server.reply(&ask, json!(found)).await;
    assert_eq!(asking.await.unwrap().len(), 50);
    assert!(begun.elapsed() <= Duration::from_secs(31), "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_command_is_run_once_whatever_comes_of_it() {
    let mut bench = Bench::new();
    let (doc, mut server, door) = bench.door("a\n").await;
    let subject = bench.subject(&doc);
    let asking = tokio::spawn(async move {
        let action = door.actions(&subject, 0..1).await.unwrap().value.remove(0);
        door.run(&action).await
    });
    let ask = server.expect("textDocument/codeAction").await;
    server.reply(&ask, json!([{ "title": "Do", "command": "x.run" }])).await;
    let ask = server.expect("workspace/executeCommand").await;
    server.fail(&ask, code::CONTENT_MODIFIED, Value::Null).await;
    let again = tokio::time::timeout(Duration::from_secs(10), server.expect("workspace/executeCommand"));
    assert!(again.await.is_err(), "it was run again");
    assert_eq!(asking.await.unwrap().unwrap_err(), Unanswered::Modified);
}

#[tokio::test(start_paused = true)]
async fn its_own_problems_are_named_when_it_is_asked_what_to_do() {
    let mut bench = Bench::new();
    let (doc, mut server, door) = bench.door("a\nb\n").await;
    server.publish(&doc.uri, None, json!([error(0, "here"), error(1, "there")])).await;
    bench.quiesce().await;
    let subject = bench.subject(&doc);
    let asking = tokio::spawn(async move { door.actions(&subject, 0..1).await });
    let ask = server.expect("textDocument/codeAction").await;
    assert_eq!(ask["params"]["context"]["diagnostics"], json!([error(0, "here")]));
    server.reply(&ask, json!([])).await;
    assert_eq!(asking.await.unwrap().unwrap().value, []);
}

#[tokio::test(start_paused = true)]
async fn other_open_documents_are_shown_to_it_and_a_project_that_is_read_is_waited_for() {
    let mut bench = Bench::new();
    let other = target("b.py");
    bench.documents.open(other.key.clone(), &other.uri, "python", 1, "unsaved\n");
    let doc = bench.open("a.py", "a\n");
    let mut server = bench.server().await;
    server.initialize(ASKED()).await;
    server.progress("index", "begin").await;
    bench.quiesce().await;
    let (languages, wanted) = (Arc::clone(&bench.languages), doc.clone());
    let asking = tokio::spawn(async move { languages.servers_of(&wanted, true, &CancellationToken::new()).await });
    let mut opened = Vec::new();
    for _ in 0..2 {
        let open = server.expect("textDocument/didOpen").await;
        opened.push(open["params"]["textDocument"]["uri"].as_str().unwrap().to_owned());
    }
    assert_eq!(opened, [doc.uri.clone(), other.uri.clone()]);
    bench.quiesce().await;
    assert!(!asking.is_finished());
    server.progress("index", "end").await;
    let servers = asking.await.unwrap();
    assert_eq!((servers.doors.len(), servers.doors[0].busy), (1, false));
}

#[tokio::test(start_paused = true)]
async fn where_there_is_nobody_to_ask_it_is_told_why() {
    let nobody = async |bench: &Bench, doc: &Target| {
        let servers = bench.languages.servers_of(doc, false, &CancellationToken::new()).await;
        assert!(servers.doors.is_empty());
        servers.unserved.join("; ")
    };
    let bench = Bench::without(&["ruff", "basedpyright", "pyright"]);
    let doc = bench.open("a.py", "a\n");
    assert_eq!(nobody(&bench, &doc).await, "ruff: not found; basedpyright: not found");
    bench.languages.editor_sources(&doc.uri, vec![SourceName { id: "1".into(), name: "pylsp".into() }]);
    assert_eq!(
        nobody(&bench, &doc).await,
        "the editor runs its own for this language (pylsp), and where it does Ropewalk starts none \
         (`diagnostics.ownServers` is `auto`)"
    );
}
