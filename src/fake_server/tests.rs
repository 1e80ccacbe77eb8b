//! What the server does, message by message.

use serde_json::{Value, json};

use super::act::{Act, What};
use super::server::Fake;
use super::shell::parse;

/// A server of a script, and a client that only talks.
struct Talk {
    fake: Fake,
    asked: i64,
}

impl Talk {
    /// One that was started.
    fn raw(script: &Value) -> Talk {
        Talk { fake: Fake::new(parse(&script.to_string()).unwrap()).unwrap(), asked: 0 }
    }

    /// One that is initialised too.
    fn new(script: &Value) -> Talk {
        let mut talk = Talk::raw(script);
        talk.ask("initialize", &json!({ "rootUri": "file:///w/" }));
        talk.notify("initialized", &json!({}));
        talk
    }

    fn hear(&mut self, message: &Value) -> Vec<String> {
        self.fake.hear(message).iter().map(told).collect()
    }

    fn notify(&mut self, method: &str, params: &Value) -> Vec<String> {
        self.hear(&json!({ "jsonrpc": "2.0", "method": method, "params": params }))
    }

    /// What follows from a request.
    fn follows(&mut self, method: &str, params: &Value) -> Vec<Act> {
        self.asked += 1;
        self.fake.hear(&json!({ "jsonrpc": "2.0", "id": self.asked, "method": method, "params": params }))
    }

    /// The answer to a request, result or error.
    fn ask(&mut self, method: &str, params: &Value) -> Value {
        let acts = self.follows(method, params);
        let [Act { what: What::Say { message, .. }, .. }] = acts.as_slice() else { panic!("{acts:?}") };
        assert_eq!(message["id"], self.asked);
        message.get("result").or_else(|| message.get("error")).unwrap().clone()
    }

    fn open(&mut self, uri: &str, text: &str) -> Vec<String> {
        let document = json!({ "uri": uri, "languageId": "fake", "version": 7, "text": text });
        self.notify("textDocument/didOpen", &json!({ "textDocument": document }))
    }

    /// The text becomes another, whole.
    fn change(&mut self, uri: &str, version: i64, text: &str) -> Vec<String> {
        let params =
            json!({ "textDocument": { "uri": uri, "version": version }, "contentChanges": [{ "text": text }] });
        self.notify("textDocument/didChange", &params)
    }
}

/// An act in a few words.
fn told(act: &Act) -> String {
    let what = match &act.what {
        What::Say { message, .. } if message["method"] == "textDocument/publishDiagnostics" => {
            let params = &message["params"];
            let all = params["diagnostics"].as_array().unwrap().iter();
            let all: Vec<String> =
                all.map(|one| one["message"].as_str().unwrap_or("?").chars().take(40).collect()).collect();
            let version = params.get("version").map_or("-".to_owned(), ToString::to_string);
            format!("publish {} v{version} {all:?}", params["uri"].as_str().unwrap())
        }
        What::Say { message, .. } if message["method"] == "$/progress" => {
            format!("progress {} {}", message["params"]["token"], message["params"]["value"]["kind"])
        }
        What::Say { message, .. } => match (message["method"].as_str(), message.get("error")) {
            (Some(method), _) => format!("say {method}"),
            (None, Some(error)) => format!("error {}", error["code"]),
            (None, None) => format!("answer {}", message["result"]),
        },
        What::TakeBack { .. } => "take back".to_owned(),
        What::Write(bytes) => format!("write {} bytes", bytes.len()),
        What::Complain(text) => format!("complain {text:?}"),
        What::Wedge => "wedge".to_owned(),
        What::End { end, mark } => format!("end {end:?}{}", if mark.is_some() { " once" } else { "" }),
    };
    if act.after_ms > 0 { format!("+{} {what}", act.after_ms) } else { what }
}

/// What a server with one rule, told in its own way, says of two texts of one document.
#[track_caller]
fn publishes(diagnostics: &Value, opened: &[&str], changed: &[&str]) {
    let mut talk = Talk::new(&json!({ "rules": [{ "pattern": "BAD", "message": "bad" }], "diagnostics": diagnostics }));
    assert_eq!(talk.open("u:a", "BAD"), opened, "{diagnostics}");
    assert_eq!(talk.change("u:a", 8, "BAD BAD"), changed, "{diagnostics}");
}

#[test]
fn diagnostics_are_told_as_the_script_says() {
    let both = ["take back", r#"publish u:a v7 ["bad"]"#];
    publishes(&json!({}), &both, &["take back", r#"publish u:a v8 ["bad", "bad"]"#]);
    publishes(
        &json!({ "stamps": "none", "keepsOld": true }),
        &[r#"publish u:a v- ["bad"]"#],
        &[r#"publish u:a v- ["bad", "bad"]"#],
    );
    publishes(
        &json!({ "stamps": "zero", "keepsOld": true }),
        &[r#"publish u:a v0 ["bad"]"#],
        &[r#"publish u:a v0 ["bad", "bad"]"#],
    );
    publishes(
        &json!({ "stamps": "one", "keepsOld": true }),
        &[r#"publish u:a v1 ["bad"]"#],
        &[r#"publish u:a v1 ["bad", "bad"]"#],
    );
    publishes(
        &json!({ "stamps": "counter", "keepsOld": true }),
        &[r#"publish u:a v1 ["bad"]"#],
        &[r#"publish u:a v2 ["bad", "bad"]"#],
    );
    publishes(&json!({ "silentOnOpen": true, "keepsOld": true }), &[], &[r#"publish u:a v8 ["bad", "bad"]"#]);
    publishes(&json!({ "by": "never" }), &[], &[]);
    publishes(&json!({ "by": "pull" }), &[], &[]);
    publishes(
        &json!({ "pairMs": 20, "keepsOld": true }),
        &["publish u:a v7 []", r#"+20 publish u:a v7 ["bad"]"#],
        &["publish u:a v8 []", r#"+20 publish u:a v8 ["bad", "bad"]"#],
    );
    let begin = "say window/workDoneProgress/create";
    publishes(
        &json!({ "progress": "checks", "keepsOld": true }),
        &[begin, r#"progress "check-1" "begin""#, r#"publish u:a v7 ["bad"]"#, r#"progress "check-1" "end""#],
        &[begin, r#"progress "check-2" "begin""#, r#"publish u:a v8 ["bad", "bad"]"#, r#"progress "check-2" "end""#],
    );
    publishes(
        &json!({ "progress": "endless", "by": "never" }),
        &[begin, r#"progress "check-1" "begin""#],
        &[begin, r#"progress "check-2" "begin""#],
    );
}

#[test]
fn only_news_are_published_where_the_script_says_so() {
    let mut talk = Talk::new(&json!({
        "rules": [{ "pattern": "BAD", "message": "bad" }], "diagnostics": { "onlyNews": true, "keepsOld": true },
    }));
    assert_eq!(talk.open("u:a", "BAD"), [r#"publish u:a v7 ["bad"]"#]);
    assert!(talk.change("u:a", 8, "BAD and more").is_empty());
    assert_eq!(talk.change("u:a", 9, "good"), ["publish u:a v9 []"]);
}

#[test]
fn what_needs_a_save_is_told_of_the_disk_at_a_save() {
    let mut talk = Talk::new(&json!({
        "rules": [{ "pattern": "BAD", "message": "bad", "needsSave": true }], "diagnostics": { "keepsOld": true },
    }));
    let open = json!({ "method": "textDocument/didOpen", "params": { "textDocument": { "uri": "u:a" } } });
    assert_eq!(talk.fake.wants(&open), ["u:a"]);
    talk.fake.learn("u:a", Some("good"));
    assert_eq!(talk.open("u:a", "BAD"), ["publish u:a v7 []"]);
    assert!(talk.change("u:a", 8, "BAD BAD").is_empty(), "the disk did not change");
    talk.fake.learn("u:a", Some("BAD BAD"));
    let saved = talk.notify("textDocument/didSave", &json!({ "textDocument": { "uri": "u:a" } }));
    assert_eq!(saved, [r#"publish u:a v8 ["bad", "bad"]"#]);
}

#[test]
fn a_change_in_one_file_is_told_of_another() {
    let names = json!({ "defines": "def (\\w+)", "uses": "(\\w+)\\(\\)" });
    let mut talk = Talk::new(&json!({ "names": names, "diagnostics": { "keepsOld": true }, "project": ["lib"] }));
    let initialize = json!({ "method": "initialize", "params": { "rootUri": "file:///w/" } });
    assert_eq!(talk.fake.wants(&initialize), ["file:///w/lib"]);
    talk.fake.learn("file:///w/lib", Some("def f\n"));
    assert_eq!(talk.open("u:app", "f()\n"), ["publish u:app v7 []"]);
    talk.fake.learn("file:///w/lib", None);
    let watched = talk.notify("workspace/didChangeWatchedFiles", &json!({ "changes": [] }));
    assert_eq!(watched, [r#"publish u:app v7 ["`f` is not defined"]"#]);
    assert_eq!(talk.open("u:lib", "def f\n"), ["publish u:lib v7 []", "publish u:app v7 []"]);
    let closed = talk.notify("textDocument/didClose", &json!({ "textDocument": { "uri": "u:lib" } }));
    assert_eq!(closed, ["take back", r#"publish u:app v7 ["`f` is not defined"]"#]);
}

#[test]
fn questions_about_diagnostics_are_answered() {
    let names = json!({ "defines": "def (\\w+)", "uses": "(\\w+)\\(\\)" });
    let script = json!({
        "names": names,
        "diagnostics": { "by": "pull", "unchanged": "honest", "related": true, "refreshes": true, "workspace": true },
    });
    let mut talk = Talk::new(&script);
    talk.open("u:lib", "def f\n");
    talk.open("u:app", "f()\n");
    let of = |uri: &str, previous: Value| json!({ "textDocument": { "uri": uri }, "previousResultId": previous });
    let app = talk.ask("textDocument/diagnostic", &of("u:app", Value::Null));
    assert_eq!(
        app,
        json!({
            "kind": "full", "items": [], "resultId": "result-1",
            "relatedDocuments": { "u:lib": { "kind": "full", "items": [] } },
        })
    );
    assert_eq!(talk.change("u:lib", 8, "nothing"), ["say workspace/diagnostic/refresh"]);
    let app = talk.ask("textDocument/diagnostic", &of("u:app", json!("result-1")));
    assert_eq!(app["items"][0]["message"], "`f` is not defined");
    let app = talk.ask("textDocument/diagnostic", &of("u:app", app["resultId"].clone()));
    assert_eq!(app["kind"], "unchanged");
    let all =
        talk.ask("workspace/diagnostic", &json!({ "previousResultIds": [{ "uri": "u:app", "value": "result-2" }] }));
    let kinds: Vec<String> =
        all["items"].as_array().unwrap().iter().map(|one| format!("{} {}", one["uri"], one["kind"])).collect();
    assert_eq!(kinds, [r#""u:app" "unchanged""#, r#""u:lib" "full""#]);
}

#[test]
fn errors_come_as_often_as_the_script_says() {
    let errors = json!({
        "textDocument/diagnostic": { "code": -32801, "times": 2 },
        "textDocument/hover": { "code": -32802, "message": "no", "data": { "retriggerRequest": false } },
    });
    let mut talk = Talk::new(&json!({ "diagnostics": { "by": "pull" }, "errors": errors }));
    talk.open("u:a", "");
    let params = json!({ "textDocument": { "uri": "u:a" } });
    let codes = [(); 3].map(|()| talk.ask("textDocument/diagnostic", &params)["code"].clone());
    assert_eq!(codes, [json!(-32801), json!(-32801), Value::Null]);
    for _ in 0..3 {
        let hover = talk.ask("textDocument/hover", &params);
        assert_eq!(hover, json!({ "code": -32802, "message": "no", "data": { "retriggerRequest": false } }));
    }
}

/// What follows from a method under a script, in a server that has just been started.
#[track_caller]
fn meets(script: &Value, method: &str, expected: &[&str]) {
    let mut talk = Talk::raw(script);
    let acts = if method == "start" {
        talk.fake.start()
    } else {
        assert!(talk.fake.start().is_empty());
        talk.follows(method, &json!({}))
    };
    assert_eq!(acts.iter().map(told).collect::<Vec<_>>(), expected, "{script}");
}

#[test]
fn trouble_comes_at_its_moment() {
    let crash = |more: Value| {
        let mut crash = json!({ "on": "initialize" });
        super::rules::merge(&mut crash, &more);
        json!({ "crashes": [crash], "answers": { "initialize": 1 } })
    };
    meets(&crash(json!({})), "initialize", &["end Code(3)"]);
    meets(&crash(json!({ "stderr": "oh", "exitCode": 9 })), "initialize", &[r#"complain "oh\n""#, "end Code(9)"]);
    meets(&crash(json!({ "when": "after", "killed": true })), "initialize", &["answer 1", "end Killed"]);
    meets(&crash(json!({ "when": "midFrame", "once": "m" })), "initialize", &["write 38 bytes", "end Code(3) once"]);
    meets(&crash(json!({ "on": "start" })), "start", &["end Code(3)"]);
    meets(&crash(json!({ "nth": 2 })), "initialize", &["answer 1"]);
    meets(&json!({ "wedges": ["initialize"] }), "initialize", &["wedge"]);
    meets(&json!({ "ignores": ["initialize"] }), "initialize", &[]);
    meets(&json!({}), "textDocument/hover", &["error -32002"]);
    let flood = json!({ "on": "start", "publishes": 1, "logs": 2, "stderr": 2, "length": 3 });
    meets(
        &json!({ "floods": [flood] }),
        "start",
        &[
            r#"publish /flood-0 v- ["flood 0 ~~~"]"#,
            "say window/logMessage",
            "say window/logMessage",
            r#"complain "flood 0 ~~~\nflood 1 ~~~\n""#,
        ],
    );
    for kind in ["noise", "noJson", "noMessage", "oddHeaders", "strayAnswer", "badLength", "hugeLength"] {
        let mut talk = Talk::raw(&json!({ "garbage": [{ "on": "start", "kind": kind }] }));
        let acts = talk.fake.start();
        assert!(matches!(&acts[..], [Act { what: What::Write(bytes), .. }] if !bytes.is_empty()), "{kind}");
    }
    for (manner, request, notification) in [
        ("error", vec!["error -32601"], vec![]),
        ("ignore", vec![], vec![]),
        (
            "leave",
            vec!["complain \"the method their/own is not known\\n\"", "end Code(1)"],
            vec!["complain \"the method their/own is not known\\n\"", "end Code(1)"],
        ),
    ] {
        let mut talk = Talk::new(&json!({ "unknownMethods": manner }));
        let acts = talk.follows("their/own", &json!({}));
        assert_eq!(acts.iter().map(told).collect::<Vec<_>>(), request, "{manner}");
        assert_eq!(talk.notify("their/own", &json!({})), notification, "{manner}");
    }
}

#[test]
fn it_can_be_late_or_held_back_and_takes_back_what_is_not_wanted() {
    let mut talk = Talk::new(&json!({
        "answers": { "textDocument/hover": "${uri} in ${root}", "textDocument/definition": null },
        "delays": { "textDocument/hover": 30 },
        "firstDelays": { "textDocument/hover": 900 },
        "holds": { "textDocument/definition": "their/go" },
    }));
    let params = json!({ "textDocument": { "uri": "u:a" } });
    let mut follow = |method: &str| talk.follows(method, &params).iter().map(told).collect::<Vec<_>>();
    assert_eq!(follow("textDocument/hover"), [r#"+900 answer "u:a in file:///w""#]);
    assert_eq!(follow("textDocument/hover"), [r#"+30 answer "u:a in file:///w""#]);
    assert!(follow("textDocument/definition").is_empty());
    assert!(follow("textDocument/definition").is_empty());
    let held = talk.asked;
    assert_eq!(talk.notify("$/cancelRequest", &json!({ "id": held })), ["error -32800"]);
    assert_eq!(talk.notify("$/cancelRequest", &json!({ "id": 1 })), ["take back"]);
    assert_eq!(talk.notify("their/go", &json!({})), ["answer null"]);
    let open = talk.follows("textDocument/definition", &params);
    assert_eq!(open.iter().map(told).collect::<Vec<_>>(), ["answer null"], "nothing is held any more");
}

#[test]
fn everything_can_be_asked_and_registered() {
    let mut talk = Talk::raw(&json!({
        "asks": ["all", "their/own"], "watches": true, "diagnostics": { "by": "pull", "registers": true },
    }));
    talk.ask("initialize", &json!({}));
    let asked = talk.notify("initialized", &json!({}));
    assert_eq!(asked.len(), 1 + super::trouble::questions(&["all".to_owned()]).len() + 1);
    assert!(asked.iter().all(|one| one.starts_with("say ")), "{asked:?}");
    assert_eq!(asked.last().unwrap(), "say their/own");
}

#[test]
fn names_are_found_and_renamed_in_all_files() {
    let mut talk = Talk::new(&json!({ "names": { "defines": "def (\\w+)", "uses": "\\b(\\w+)\\(\\)" } }));
    talk.open("u:a", "def 😀\ndef run\n");
    talk.open("u:b", "x\n  run() run()\n");
    let at = |uri: &str, line: u32, character: u32| {
        let position = json!({ "line": line, "character": character });
        json!({ "textDocument": { "uri": uri }, "position": position, "newName": "go" })
    };
    let hover = talk.ask("textDocument/hover", &at("u:b", 1, 4));
    assert_eq!(hover["contents"]["value"], "`run`: 1 definitions, 2 uses");
    let definition = talk.ask("textDocument/definition", &at("u:b", 1, 2));
    let range = |line: u32, from: u32, to: u32| {
        let at = |character: u32| json!({ "line": line, "character": character });
        json!({ "start": at(from), "end": at(to) })
    };
    assert_eq!(definition, json!([{ "uri": "u:a", "range": range(1, 4, 7) }]));
    let references = talk.ask("textDocument/references", &at("u:a", 1, 7));
    assert_eq!(references.as_array().unwrap().len(), 3);
    let renamed = talk.ask("textDocument/rename", &at("u:a", 1, 5));
    let edit = |line: u32, from: u32, to: u32| json!({ "range": range(line, from, to), "newText": "go" });
    assert_eq!(
        renamed["documentChanges"],
        json!([
            { "textDocument": { "uri": "u:a", "version": 7 }, "edits": [edit(1, 4, 7)] },
            { "textDocument": { "uri": "u:b", "version": 7 }, "edits": [edit(1, 2, 5), edit(1, 8, 11)] },
        ])
    );
    assert_eq!(talk.ask("textDocument/rename", &at("u:b", 0, 0))["code"], -32602);
    assert_eq!(talk.ask("textDocument/prepareRename", &at("u:b", 0, 0)), Value::Null);
    assert_eq!(talk.ask("textDocument/documentSymbol", &at("u:a", 0, 0))[0]["name"], "run");
    assert_eq!(talk.ask("workspace/symbol", &json!({ "query": "ru" }))[0]["location"]["uri"], "u:a");
}

#[test]
fn edits_are_offered_made_and_asked_for() {
    let mut talk = Talk::new(&json!({
        "formatting": [{ "pattern": "[ \\t]+$", "with": "" }],
        "actions": [
            { "title": "mend", "kind": "quickfix.mend", "pattern": "BAD", "with": "good" },
            { "title": "mend later", "kind": "refactor", "pattern": "BAD", "with": "good", "resolves": true },
            { "title": "ask", "pattern": "BAD", "command": "fake.mend" },
        ],
        "commands": { "fake.mend": [{ "pattern": "BAD", "with": "good" }] },
    }));
    talk.open("u:a", "BAD \nBAD\n");
    let document = json!({ "uri": "u:a" });
    let formatted = talk.ask("textDocument/formatting", &json!({ "textDocument": document, "options": {} }));
    assert_eq!(formatted.as_array().unwrap().len(), 1);
    let at = json!({ "line": 1, "character": 1 });
    let mut params = json!({ "textDocument": document, "range": { "start": at, "end": at }, "context": {} });
    let all = talk.ask("textDocument/codeAction", &params);
    assert_eq!(all.as_array().unwrap().len(), 3);
    let edit = &all[0]["edit"]["documentChanges"][0]["edits"];
    assert_eq!((edit.as_array().unwrap().len(), &edit[0]["range"]["start"]["line"]), (1, &json!(1)));
    assert!(all[1].get("edit").is_none());
    assert_eq!(&talk.ask("codeAction/resolve", &all[1])["edit"], &all[0]["edit"]);
    params["context"] = json!({ "only": ["quickfix"] });
    assert_eq!(talk.ask("textDocument/codeAction", &params).as_array().unwrap().len(), 1);

    let command = json!({ "command": "fake.mend", "arguments": ["u:a"] });
    let asked = talk.follows("workspace/executeCommand", &command);
    let [Act { what: What::Say { message, .. }, .. }] = &asked[..] else { panic!("{asked:?}") };
    assert_eq!(message["params"]["edit"]["documentChanges"][0]["textDocument"]["version"], 7);
    let reply = json!({ "jsonrpc": "2.0", "id": message["id"], "result": { "applied": true } });
    assert_eq!(talk.hear(&reply), [r#"answer {"applied":true}"#]);
    talk.change("u:a", 8, "good");
    assert_eq!(talk.ask("workspace/executeCommand", &command), Value::Null);
    assert_eq!(talk.ask("workspace/executeCommand", &json!({ "command": "other" }))["code"], -32602);
}

#[test]
fn changes_are_applied_as_they_count() {
    for (encoding, at) in [("utf-8", 4), ("utf-16", 2), ("utf-32", 1)] {
        let rules = json!([{ "pattern": ".+", "message": "$0" }]);
        let mut talk =
            Talk::new(&json!({ "positionEncoding": encoding, "rules": rules, "diagnostics": { "keepsOld": true } }));
        talk.open("u:a", "😀b\rc\r\nd");
        let at = json!({ "line": 0, "character": at });
        let end = json!({ "line": 1, "character": 0 });
        let change = json!({ "range": { "start": at, "end": end }, "text": "x" });
        let params = json!({ "textDocument": { "uri": "u:a", "version": 8 }, "contentChanges": [change] });
        let told = talk.notify("textDocument/didChange", &params);
        assert_eq!(told, [r#"publish u:a v8 ["😀xc\r", "d"]"#], "{encoding}");
    }
}

#[test]
fn a_wrong_script_says_what_is_wrong() {
    for (script, expected) in [
        (r#"{ "colour": 1 }"#, "unknown field `colour`"),
        (r#"{ "diagnostics": { "stamp": "zero" } }"#, "unknown field `stamp`"),
        (r#"{ "diagnostics": { "stamps": "two" } }"#, "unknown variant `two`"),
        (r#"{ "crashes": [{ "when": "before" }] }"#, "missing field `on`"),
        (r#"{ "rules": [{ "pattern": "(", "message": "" }] }"#, "`rules[0].pattern`"),
    ] {
        let why = parse(script).unwrap_err();
        assert!(why.contains(expected), "{script}: {why}");
    }
}
