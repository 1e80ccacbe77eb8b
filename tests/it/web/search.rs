//! `websearch`: listed only when an engine can be asked, and asked where the user says it is.

use serde_json::{Value, json};

use super::server::{Answer, Server, moved, ok, whole};
use super::{Desk, ended, text};

fn brave() -> Answer {
    let results: Vec<Value> = (1..=25)
        .map(|at| json!({ "title": format!("Page <b>{at}</b>"), "url": format!("https://example.org/{at}"), "description": "d" }))
        .collect();
    ok("application/json", json!({ "web": { "results": results } }).to_string())
}

async fn desk(server: &Server, engine: &str) -> Desk {
    let search = json!({ "engine": engine, "key": "k", "url": server.origin() });
    Desk::new(json!({ "search": search, "allow": ["127.0.0.1"] }), true).await
}

async fn listed(desk: &mut Desk) -> bool {
    let tools = desk.editor.ask("ropewalk/listTools", json!({})).await;
    tools["tools"].as_array().unwrap().iter().any(|tool| tool["name"] == "websearch")
}

#[tokio::test]
async fn it_is_there_only_where_an_engine_can_be_asked() {
    let mut none = Desk::new(json!({ "search": { "engine": "off" } }), true).await;
    assert!(!listed(&mut none).await);
    let result = none.call("websearch", json!({ "query": "x" })).await;
    assert_eq!(ended(&result), "unavailable", "{result}");
    assert!(text(&result).contains("the user's settings name no search engine"), "{result}");
    // New settings are what counts.
    let settings = json!({ "settings": { "ropewalk": { "web": { "search": { "engine": "duckduckgo" } } } } });
    none.editor.notify("workspace/didChangeConfiguration", settings);
    assert!(listed(&mut none).await);
    none.end().await;
}

#[tokio::test]
async fn each_engine_is_asked_in_its_way() {
    let exa = json!({ "results": [{ "title": "One", "url": "https://a.org/", "text": "lines of it" }] });
    let duck = "<a class=result__a href='//duckduckgo.com/l/?uddg=https%3A%2F%2Fb.org%2F'>Two</a><a class=result__snippet>said</a>";
    let server = Server::start(vec![
        ("/res/v1/web/search", brave()),
        ("/search", ok("application/json", exa.to_string())),
        ("/html/", ok("text/html", duck)),
    ])
    .await;
    for (engine, arguments, results, first, sent) in [
        ("brave", json!({ "query": "a b" }), 8, "Page 1", "GET /res/v1/web/search?q=a+b&count=8 "),
        ("brave", json!({ "q": "a b", "max_results": "20" }), 20, "Page 1", "GET /res/v1/web/search?q=a+b&count=20 "),
        ("exa", json!({ "query": "x" }), 1, "One", "POST /search "),
        ("duckduckgo", json!({ "query": "x" }), 1, "Two", "GET /html/?q=x "),
    ] {
        let mut desk = desk(&server, engine).await;
        let result = desk.call("web_search", arguments).await;
        assert_eq!(ended(&result), "ok", "{engine}: {result}");
        let found = result["structuredContent"]["results"].as_array().unwrap();
        assert_eq!((found.len(), found[0]["title"].as_str().unwrap()), (results, first), "{engine}");
        assert!(text(&result).starts_with("<external_content source=\"127.0.0.1\">"), "{}", text(&result));
        let asked = server.asked();
        assert!(asked.last().unwrap().starts_with(sent), "{engine}: {asked:?}");
        let key = asked.last().unwrap().to_ascii_lowercase();
        assert_eq!(
            key.contains("x-subscription-token: k") || key.contains("x-api-key: k"),
            engine != "duckduckgo",
            "{key}"
        );
        desk.end().await;
    }
}

#[tokio::test]
async fn what_goes_wrong_is_told() {
    let server = Server::start(vec![
        ("/search", whole("401 Unauthorized", &[], "no")),
        ("/html/", moved("https://example.org/")),
    ])
    .await;
    for (engine, kind, words) in [
        ("exa", "unavailable", "does not take the key"),
        ("duckduckgo", "denied", "another one then"),
        ("brave", "failed", "HTTP 404"),
    ] {
        let mut desk = desk(&server, engine).await;
        let result = desk.call("websearch", json!({ "query": "x" })).await;
        assert_eq!(ended(&result), kind, "{engine}: {result}");
        assert!(text(&result).contains(words), "{engine}: {}", text(&result));
        assert!(!result.to_string().contains("\"k\""), "no key is told");
        for bad in [json!({}), json!({ "query": " " }), json!({ "query": "x", "count": 21 })] {
            assert_eq!(ended(&desk.call("websearch", bad.clone()).await), "invalidArguments", "{bad}");
        }
        desk.end().await;
    }
    // Who is asked about is the engine; nobody there to ask is a no, and who waits for it can be cancelled.
    let silent = Server::start(vec![("/search", Answer::Hangs(Vec::new()))]).await;
    let search = json!({ "engine": "exa", "key": "k", "url": silent.origin() });
    let mut alone = Desk::new(json!({ "search": search }), false).await;
    let result = alone.call("websearch", json!({ "query": "x" })).await;
    assert_eq!(ended(&result), "denied", "{result}");
    assert!(text(&result).contains("it talks to another machine: 127.0.0.1"), "{result}");
    alone.end().await;
    let mut desk = desk(&silent, "exa").await;
    let id = desk.begin("websearch", json!({ "query": "x" }));
    while silent.asked().is_empty() {
        tokio::task::yield_now().await;
    }
    desk.editor.notify("$/cancelRequest", json!({ "id": id }));
    let result = desk.editor.result(id).await;
    assert_eq!(ended(&result), "cancelled");
    silent.left(1).await;
    desk.end().await;
}
