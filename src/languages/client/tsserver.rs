//! Asking typescript-language-server, which only publishes, without versions and after a pause of its own: the TypeScript
//! server behind it can be asked for the diagnostics of a file, and then answers about the text it has.

use std::time::Duration;

use serde_json::{Value, json};

use super::pull::Outcome;
use crate::rpc::{CallError, Peer};

/// How long one answer may take. A cold server loads its project first.
const DEADLINE: Duration = Duration::from_mins(1);

/// What it is asked; together they are what it publishes.
const QUESTIONS: [&str; 3] = ["syntacticDiagnosticsSync", "semanticDiagnosticsSync", "suggestionDiagnosticsSync"];

/// Asks for all diagnostics of a document. Dropping the future cancels the request that is open.
pub(super) async fn ask(peer: Peer, uri: String) -> Outcome {
    let mut items = Vec::new();
    // All are on their way before the first is answered, so that no change comes between them.
    let answers = QUESTIONS.map(|question| {
        let arguments = json!([question, { "file": uri }]);
        let params = json!({ "command": "typescript.tsserverRequest", "arguments": arguments });
        peer.request("workspace/executeCommand", params, DEADLINE)
    });
    for answer in answers {
        match read(answer.await) {
            Ok(mut found) => items.append(&mut found),
            Err(why) => return Outcome::failed(format!("it did not answer: {why}")),
        }
    }
    Outcome::of(items)
}

fn read(answer: Result<Value, CallError>) -> Result<Vec<Value>, String> {
    let answer = answer.map_err(|error| error.to_string())?;
    match answer["body"].as_array() {
        Some(body) => Ok(body.iter().map(diagnostic).collect()),
        None => Err("the TypeScript server gave no answer".to_owned()),
    }
}

/// A diagnostic of the TypeScript server (lines and offsets from 1, in UTF-16 units) as the protocol has it.
fn diagnostic(found: &Value) -> Value {
    let at = |place: &Value| {
        let number = |name: &str| place[name].as_u64().unwrap_or(1).saturating_sub(1);
        json!({ "line": number("line"), "character": number("offset") })
    };
    let severity = match found["category"].as_str() {
        Some("warning") => 2,
        Some("suggestion") => 4,
        Some("message") => 3,
        _ => 1,
    };
    json!({
        "range": { "start": at(&found["start"]), "end": at(&found["end"]) },
        "severity": severity,
        "code": found["code"],
        "source": found["source"].as_str().unwrap_or("typescript"),
        "message": found["text"],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_diagnostics_become_the_protocols() {
        let found = json!({ "start": { "line": 2, "offset": 7 }, "end": { "line": 2, "offset": 9 },
            "text": "no", "code": 2322, "category": "error" });
        let expected = json!([{
            "range": { "start": { "line": 1, "character": 6 }, "end": { "line": 1, "character": 8 } },
            "severity": 1, "code": 2322, "source": "typescript", "message": "no",
        }]);
        assert_eq!(read(Ok(json!({ "type": "response", "body": [found] }))), Ok(expected.as_array().unwrap().clone()));
        assert!(read(Ok(json!({ "type": "cancelled" }))).is_err(), "silence is no answer");
        assert!(read(Err(CallError::Timeout)).is_err());
    }
}
