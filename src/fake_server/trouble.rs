//! The trouble that a server can make: dying, flooding, writing what is no message, asking for everything. Pure.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::act::{Act, End, What};
use super::script::{Crash, GarbageKind, Method, Script};
use crate::rpc::encode;

/// Every request that the protocol lets a server send, and one that it does not, with parameters that fit.
const QUESTIONS: &[(&str, &str)] = &[
    ("workspace/configuration", r#"{"items": [{"section": "fake"}, {}]}"#),
    ("workspace/workspaceFolders", "null"),
    ("client/registerCapability", r#"{"registrations": []}"#),
    ("client/unregisterCapability", r#"{"unregisterations": []}"#),
    ("workspace/applyEdit", r#"{"label": "unasked", "edit": {"changes": {}}}"#),
    ("window/workDoneProgress/create", r#"{"token": "asked"}"#),
    ("window/showMessageRequest", r#"{"type": 3, "message": "Shall I?", "actions": [{"title": "Yes"}]}"#),
    ("window/showDocument", r#"{"uri": "https://example.com/", "external": true}"#),
    ("workspace/codeLens/refresh", "null"),
    ("workspace/diagnostic/refresh", "null"),
    ("workspace/foldingRange/refresh", "null"),
    ("workspace/inlayHint/refresh", "null"),
    ("workspace/inlineValue/refresh", "null"),
    ("workspace/semanticTokens/refresh", "null"),
    ("fake/unheardOf", "{}"),
];

/// What is asked for these methods, `all` being all of them.
pub(super) fn questions(asks: &[Method]) -> Vec<(Method, Value)> {
    let params = |text: &str| serde_json::from_str(text).unwrap_or_default();
    let known = |wanted: &str| QUESTIONS.iter().find(|(method, _)| *method == wanted);
    let mut questions = Vec::new();
    for ask in asks {
        if ask == "all" {
            questions.extend(QUESTIONS.iter().map(|(method, text)| ((*method).to_owned(), params(text))));
        } else {
            let text = known(ask).map_or("{}", |(_, text)| text);
            questions.push((ask.clone(), params(text)));
        }
    }
    questions
}

/// Dies, after as much of what follows as the crash allows.
pub(super) fn die(follows: Vec<Act>, crash: &Crash) -> Vec<Act> {
    use super::script::When;
    let mut acts: Vec<Act> = match crash.when {
        When::Before => Vec::new(),
        When::After => follows.into_iter().filter(|act| act.after_ms == 0).collect(),
        When::MidFrame => {
            let first = follows.into_iter().find_map(|act| match act.what {
                What::Say { message, .. } if act.after_ms == 0 => Some(message),
                _ => None,
            });
            let frame = encode(first.unwrap_or_else(|| json!({ "jsonrpc": "2.0" })).to_string().as_bytes());
            vec![Act::now(What::Write(frame[..frame.len() - frame.len() / 3].to_vec()))]
        }
    };
    if !crash.stderr.is_empty() {
        let newline = if crash.stderr.ends_with('\n') { "" } else { "\n" };
        acts.push(Act::now(What::Complain(format!("{}{newline}", crash.stderr))));
    }
    let end = if crash.killed { End::Killed } else { End::Code(crash.exit_code) };
    acts.push(Act::now(What::End { end, mark: crash.once.clone() }));
    acts
}

/// The floods of a moment.
pub(super) fn floods(script: &Script, method: &str, root: &str) -> Vec<Act> {
    let mut acts = Vec::new();
    for flood in script.floods.iter().filter(|flood| flood.on == method) {
        let water = "~".repeat(usize::try_from(flood.length).unwrap_or_default());
        let range = json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 0, "character": 1 } });
        for number in 0..flood.publishes {
            let diagnostic = json!({ "range": range, "severity": 1, "message": format!("flood {number} {water}") });
            let params = json!({ "uri": format!("{root}/flood-{number}"), "diagnostics": [diagnostic] });
            acts.push(notify("textDocument/publishDiagnostics", &params));
        }
        for number in 0..flood.logs {
            let params = json!({ "type": 4, "message": format!("flood {number} {water}") });
            acts.push(notify("window/logMessage", &params));
        }
        if flood.stderr > 0 {
            let lines = (0..flood.stderr).fold(String::new(), |mut lines, number| {
                let _ = writeln!(lines, "flood {number} {water}");
                lines
            });
            acts.push(Act::now(What::Complain(lines)));
        }
    }
    acts
}

/// The garbage of a moment.
pub(super) fn garbage(script: &Script, method: &str) -> Vec<Act> {
    let of_now = script.garbage.iter().filter(|garbage| garbage.on == method);
    of_now.map(|garbage| Act::now(What::Write(bytes(garbage.kind)))).collect()
}

fn bytes(kind: GarbageKind) -> Vec<u8> {
    match kind {
        GarbageKind::Noise => b"starting up: 1 of 2\nstarting up: 2 of 2\n\n".to_vec(),
        GarbageKind::NoJson => encode(b"{\"jsonrpc\": \"2.0\", "),
        GarbageKind::NoMessage => encode(b"[1, null, \"what\"]"),
        GarbageKind::OddHeaders => {
            let body =
                json!({ "jsonrpc": "2.0", "method": "window/logMessage", "params": { "type": 4, "message": "é" } });
            let body = body.to_string();
            format!("content-type: application/vscode-jsonrpc; charset=utf-8\ncontent-length:{}\n\n{body}", body.len())
                .into_bytes()
        }
        GarbageKind::StrayAnswer => encode(br#"{"jsonrpc": "2.0", "id": 987654321, "result": []}"#),
        GarbageKind::BadLength => b"Content-Length: some\r\n\r\n{}".to_vec(),
        GarbageKind::HugeLength => b"Content-Length: 1099511627776\r\n\r\n{}".to_vec(),
    }
}

fn notify(method: &str, params: &Value) -> Act {
    Act::say(json!({ "jsonrpc": "2.0", "method": method, "params": params }))
}
