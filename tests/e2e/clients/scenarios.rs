//! What the clients are put to, and what has to come of it: the same in every language.

#![expect(clippy::needless_pass_by_value, reason = "JSON is made where it is passed")]

use serde_json::{Value, json};

/// Steps of a client, and what they have to say.
pub(super) struct Scenario {
    /// What it is about.
    pub(super) name: &'static str,
    /// What each handler answers, by its name.
    pub(super) handlers: Value,
    /// The steps, each its name and its words.
    pub(super) steps: Value,
    /// Looks at what came of each step.
    pub(super) check: fn(&[Value]),
}

const URI: &str = "untitled:one";

fn scenario(name: &'static str, steps: Value, check: fn(&[Value])) -> Scenario {
    Scenario { name, handlers: json!({}), steps, check }
}

/// A call that has the double do this.
fn play(acts: Value) -> Value {
    json!(["call", "play", { "acts": acts }])
}

fn text() -> Value {
    json!(["text", URI])
}

fn edit(start: (u32, u32), end: (u32, u32), new_text: &str) -> Value {
    let position = |(line, character): (u32, u32)| json!({ "line": line, "character": character });
    json!({ "range": { "start": position(start), "end": position(end) }, "newText": new_text })
}

/// The request of edits of this version.
fn apply(version: i32, edits: Value) -> Value {
    let change = json!({ "textDocument": { "uri": URI, "version": version }, "edits": edits });
    json!({ "ask": { "method": "workspace/applyEdit", "params": { "edit": { "documentChanges": [change] } } } })
}

/// What the double received of a method, in order.
fn received(result: &Value, method: &str) -> Vec<Value> {
    let all = result["received"].as_array().unwrap_or_else(|| panic!("no result: {result}"));
    all.iter().filter(|message| message["method"] == method).map(|message| message["params"].clone()).collect()
}

/// All of them.
pub(super) fn all() -> Vec<Scenario> {
    let mut all = wire();
    all.extend(edits());
    all.extend(ends());
    all
}

/// How messages are cut, and who answers what.
fn wire() -> Vec<Scenario> {
    let news = |n: u32| json!({ "method": "news", "params": { "n": n, "text": "é😀" } });
    // A frame is 22 bytes of header (its length has two digits) and the body.
    let cut_everywhere = json!([{ "send": [news(1)], "cut": "everywhere" }]);
    let joined = json!([{ "send": [news(1), news(2)] }, { "send": [news(3), news(4)], "cut": [150] }]);
    let unknown = json!([{ "ask": { "method": "ropewalk/neverHeardOf", "params": {} } }]);
    let questions = json!([
        { "ask": { "method": "ropewalk/approve", "params": { "calls": [] } } },
        { "ask": { "method": "ropewalk/ask", "params": { "questions": [] } } },
        { "ask": { "method": "ropewalk/resync", "params": { "uri": URI } } },
    ]);
    vec![
        scenario("a frame comes byte by byte", json!([play(cut_everywhere), ["events"]]), |said| {
            assert_eq!(said[1], json!([["news", { "n": 1, "text": "é😀" }]]));
        }),
        scenario("frames come together", json!([play(joined), ["events"]]), |said| {
            let numbers: Vec<&Value> = said[1].as_array().into_iter().flatten().map(|event| &event[1]["n"]).collect();
            assert_eq!(numbers, [1, 2, 3, 4], "{}", said[1]);
        }),
        scenario(
            "a frame is huge",
            json!([play(json!([{ "huge": 9_000_000 }, { "send": [news(1)] }])), ["events"]]),
            |said| {
                assert_eq!((&said[1][0], &said[1][1][0]), (&json!(["huge", 9_000_000]), &json!("news")));
            },
        ),
        scenario("what is not known is answered as such", json!([play(unknown)]), |said| {
            assert_eq!(said[0]["answers"][0]["error"]["code"], -32601, "{}", said[0]);
        }),
        scenario("nobody consents", json!([["open", URI, "é"], play(questions.clone())]), |said| {
            assert_eq!(said[1]["answers"][0]["result"]["decisions"], json!([]), "{}", said[1]);
            assert_eq!(said[1]["answers"][1]["result"]["cancelled"], true);
            assert_eq!(said[1]["answers"][2]["result"], json!({ "version": 1, "text": "é" }));
            let hello = &received(&said[1], "initialize")[0]["capabilities"];
            let ours = json!({ "resync": true, "events": true });
            assert_eq!(hello["experimental"]["ropewalk"], ours);
            assert_eq!(hello["general"]["positionEncodings"], json!(["utf-8"]));
        }),
        Scenario {
            name: "handlers are declared, and answer",
            handlers: json!({ "approve": { "decisions": [{ "callId": "c", "decision": "once" }] }, "pullDiagnostics": null }),
            steps: json!([play(questions)]),
            check: |said| {
                assert_eq!(said[0]["answers"][0]["result"]["decisions"][0]["decision"], "once", "{}", said[0]);
                let hello = &received(&said[0], "initialize")[0]["capabilities"]["experimental"]["ropewalk"];
                let ours = json!({ "resync": true, "events": true, "approve": true, "diagnostics": true });
                assert_eq!(*hello, ours);
            },
        },
    ]
}

/// Edits land exactly, or not at all.
fn edits() -> Vec<Scenario> {
    let open = |text: &str| json!(["open", URI, text]);
    // In UTF-8 an emoji is four columns.
    let emoji = apply(1, json!([edit((0, 0), (0, 1), "A"), edit((0, 5), (0, 6), "é"), edit((1, 2), (2, 0), "")]));
    let refused = json!([
        apply(2, json!([edit((0, 0), (0, 0), "old")])),
        apply(1, json!([edit((0, 1), (0, 3), "inside a character")])),
        apply(1, json!([edit((1, 4), (1, 4), "between CR and LF")])),
        apply(1, json!([edit((0, 0), (0, 5), "x"), edit((0, 0), (0, 1), "overlapping")])),
        apply(1, json!([edit((9, 0), (9, 0), "beyond the end")])),
        { "ask": { "method": "workspace/applyEdit", "params": { "edit": { "documentChanges": [{ "kind": "create", "uri": URI }] } } } },
        apply(1, json!([edit((0, 0), (0, 0), "fits")])),
    ]);
    vec![
        scenario(
            "an edit after an emoji, over a CRLF",
            json!([open("a😀b\r\nzw\r\nend"), play(json!([emoji])), text()]),
            |said| {
                assert_eq!(said[2], json!({ "version": 2, "text": "A😀é\r\nzwend" }));
                assert_eq!(said[1]["answers"][0]["result"]["applied"], true);
                let echo = &received(&said[1], "textDocument/didChange")[0];
                assert_eq!(echo["textDocument"], json!({ "uri": URI, "version": 2 }));
                // From the last to the first, so that each position is of the text as it is by then.
                let texts: Vec<&Value> =
                    echo["contentChanges"].as_array().into_iter().flatten().map(|one| &one["text"]).collect();
                assert_eq!(texts, ["", "é", "A"]);
            },
        ),
        scenario("edits that do not fit", json!([open("a😀b\r\ntwo\r\n"), play(refused), text()]), |said| {
            let answers = said[1]["answers"].as_array().map(Vec::as_slice).unwrap_or_default();
            let applied: Vec<bool> = answers.iter().map(|answer| answer["result"]["applied"] == true).collect();
            assert_eq!(applied, [false, false, false, false, false, false, true], "{answers:?}");
            assert!(
                answers[0]["result"]["failureReason"].as_str().is_some_and(|why| why.contains("version 1")),
                "{answers:?}"
            );
            assert_eq!(received(&said[1], "textDocument/didChange").len(), 1);
            assert_eq!(said[2], json!({ "version": 2, "text": "fitsa😀b\r\ntwo\r\n" }));
        }),
        scenario(
            "typing, and what does not fit the text",
            json!([
                open("a😀b\r\n"),
                ["change", URI, [edit((0, 5), (0, 6), ""), edit((1, 0), (1, 0), "z\n")]],
                ["change", URI, [edit((0, 9), (0, 9), "x")]],
                text(),
                ["closeDocument", URI],
                play(json!([])),
            ]),
            |said| {
                assert!(said[2]["error"].is_string(), "{}", said[2]);
                assert_eq!(said[3], json!({ "version": 2, "text": "a😀\r\nz\n" }));
                assert_eq!(received(&said[5], "textDocument/didOpen")[0]["textDocument"]["text"], "a😀b\r\n");
                assert_eq!(received(&said[5], "textDocument/didChange").len(), 1);
                assert_eq!(received(&said[5], "textDocument/didClose").len(), 1);
            },
        ),
    ]
}

/// How it ends.
fn ends() -> Vec<Scenario> {
    let die = json!({ "die": 3, "say": format!("{}\nthe end of it", "x".repeat(100_000)) });
    let dying =
        json!([["start", "silent", {}], play(json!([die])), ["result"], ["request", "ropewalk/status", {}], ["close"]]);
    vec![
        scenario("it dies in mid-call", dying, |said| {
            for failed in &said[1..4] {
                let words = failed["error"].as_str().unwrap_or_default();
                assert!(words.contains("code 3") && words.ends_with("the end of it"), "{failed}");
                assert!(words.len() < 5000 && failed["code"].is_null(), "{failed}");
            }
            assert_eq!(said[4], 3);
        }),
        scenario(
            "what it writes is no message",
            json!([play(json!([{ "raw": "Content-Length: 3\r\n\r\n{,}" }])), ["close"]]),
            |said| {
                assert!(said[0]["error"].as_str().is_some_and(|words| words.contains("has ended")), "{}", said[0]);
            },
        ),
        scenario(
            "errors have their code, and cancelling its number",
            json!([["request", "odd", {}], ["cancel", "c1"]]),
            |said| {
                assert_eq!(said[0], json!({ "error": "no odd", "code": -32601 }));
                assert_eq!(said[1], 7);
            },
        ),
        scenario("it ends in good order", json!([["close"]]), |said| assert_eq!(said, [json!(0)])),
    ]
}
