//! Messages: JSON-RPC as calls, answers and faults; the params of the standard's messages and of our own.

use ropewalk::dispatch::{
    AcceptParams, BatchParams, CallParams, ListToolsParams, OutputParams, RegisterToolsParams, RejectParams,
    ToolInputParams, UnregisterToolsParams,
};
use ropewalk::server::open::{Heard, changes, message, params};
use ropewalk::server::protocol as own;
use serde_json::Value;

/// The messages that carry a text: losing one means that the text is not known.
const SYNC: [&str; 3] = ["textDocument/didOpen", "textDocument/didChange", "textDocument/didClose"];

/// The transport's own, which are heeded whatever else is in them.
const BARE: [&str; 3] = ["shutdown", "exit", "initialized"];

/// The bytes are the body of one message.
pub fn messages(data: &[u8]) {
    let strict: Option<Value> = serde_json::from_slice(data).ok();
    match message(data) {
        Heard::Call(call) => called(&call, strict.as_ref()),
        Heard::Answer(answer) => {
            let Some(strict) = &strict else { return };
            assert!(strict.get("method").is_none(), "a call is no answer: {strict}");
            assert_eq!(answer["id"], strict["id"]);
            assert_eq!((&answer["result"], &answer["error"]["code"]), (&strict["result"], &strict["error"]["code"]));
        }
        Heard::Mended(_) => assert_eq!(strict, None, "what is sound needs no mending"),
        Heard::Fault { why, answer, lost, answers } => {
            assert!(!why.is_empty());
            faulty(strict.as_ref(), answer.as_ref(), lost.as_ref(), answers);
        }
    }
    if let Some(value) = &strict {
        standard(value);
        ours(value);
    }
}

fn called(call: &Value, strict: Option<&Value>) {
    // A field that nobody looks at may hold bytes that are no text.
    let Some(strict) = strict else { return };
    assert_eq!(call["method"], strict["method"]);
    assert_eq!(call["id"], strict["id"]);
    if BARE.iter().all(|name| strict["method"] != *name) {
        assert_eq!(call["params"], strict["params"]);
    }
    standard(&strict["params"]);
    ours(&strict["params"]);
}

/// Every request gets one answer, and no text is lost without a word.
fn faulty(strict: Option<&Value>, answer: Option<&Value>, lost: Option<&Value>, answers: bool) {
    if let Some(answer) = answer {
        assert_eq!(answer["jsonrpc"], "2.0");
        assert!(answer["error"]["code"].is_i64() && answer.get("result").is_none(), "{answer}");
    }
    let Some(Value::Object(fields)) = strict else { return };
    let method = fields.get("method");
    if let Some(name) = method.and_then(Value::as_str) {
        assert!(!SYNC.contains(&name) || lost.is_some(), "{name} is lost without a word");
        assert!(!answers, "a call is no answer");
    }
    if method.is_some() && fields.contains_key("id") {
        let answer = answer.expect("a request gets an answer");
        // A key may be there twice: then it is answered as one whose id is not known.
        assert!(answer["id"].is_null() || answer["id"] == fields["id"], "{answer}");
    }
}

fn standard(value: &Value) {
    if let Some((uri, text)) = params(value) {
        assert_eq!(value["textDocument"]["uri"], uri.as_str());
        assert_eq!(value["textDocument"]["text"].as_str(), text.as_deref());
    }
    match changes(value) {
        Ok((_, read)) => {
            let given = value["contentChanges"].as_array().expect("changes are a list");
            assert_eq!(given.len(), read.len(), "all of it or nothing");
            for (given, read) in given.iter().zip(read) {
                assert_eq!(given["text"], read.text.as_str());
                assert_eq!(given["range"].is_null(), read.range.is_none());
            }
        }
        Err(why) => assert!(!why.is_empty()),
    }
}

/// What can be read of our own params is written and read again as the same.
fn ours(value: &Value) {
    macro_rules! stable {
        ($($params:ty),+ $(,)?) => {
            $(if let Ok(read) = serde_json::from_value::<$params>(value.clone()) {
                let written = serde_json::to_value(&read).expect("params can be written");
                let again = serde_json::from_value::<$params>(written).expect("what is written can be read");
                assert_eq!(read, again);
            })+
        };
    }
    stable!(
        AcceptParams,
        BatchParams,
        CallParams,
        ListToolsParams,
        OutputParams,
        RegisterToolsParams,
        RejectParams,
        ToolInputParams,
        UnregisterToolsParams,
        own::CancelParams,
        own::DiagnosticProgressParams,
        own::DiagnosticsParams,
        own::DidChangeContextParams,
        own::DidChangeDiagnosticSourcesParams,
        own::DidChangeTrustParams,
        own::DocumentParams,
        own::DocumentTextParams,
        own::FilesChangedParams,
        own::JobOutputParams,
        own::JobsParams,
        own::SettleParams,
        own::StopJobParams,
    );
}
