//! Asking a server for the diagnostics of one document: each identifier, with patience where the protocol asks for it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::ports::Clock;
use crate::rpc::{CallError, Peer, code};

/// How long one answer may take. A cold server loads its project first.
const DEADLINE: Duration = Duration::from_mins(1);

/// How long to wait before asking again when the server says that the text changed under it.
const BACK_OFF: [Duration; 3] = [Duration::from_millis(500), Duration::from_secs(1), Duration::from_secs(2)];

/// What one identifier last answered for a document.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Remembered {
    result_id: Option<String>,
    items: Vec<Value>,
}

/// The last answers for a document, by identifier.
pub(super) type Memory = BTreeMap<Option<String>, Remembered>;

/// What became of asking.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Outcome {
    /// What to remember for the next time.
    pub(super) memory: Memory,
    /// What was said of other documents, by URI.
    pub(super) related: Vec<(String, Vec<Value>)>,
    /// Identifiers that must never be asked again: the server does not know the request.
    pub(super) never: Vec<Option<String>>,
    /// Why there is no answer, if there is none.
    pub(super) failed: Option<String>,
}

impl Outcome {
    /// One answer, complete and without a memory of its own.
    pub(super) fn of(items: Vec<Value>) -> Outcome {
        let memory = Memory::from([(None, Remembered { result_id: None, items })]);
        Outcome { memory, related: Vec::new(), never: Vec::new(), failed: None }
    }

    /// No answer, for this reason.
    pub(super) fn failed(why: String) -> Outcome {
        Outcome { memory: Memory::new(), related: Vec::new(), never: Vec::new(), failed: Some(why) }
    }

    /// All diagnostics of all identifiers.
    pub(super) fn items(&self) -> Vec<Value> {
        self.memory.values().flat_map(|remembered| remembered.items.iter().cloned()).collect()
    }
}

/// Asks for one document under each identifier. Dropping the future cancels the request that is open.
pub(super) async fn pull(
    peer: Peer,
    clock: Arc<dyn Clock>,
    uri: String,
    identifiers: Vec<Option<String>>,
    before: Memory,
) -> Outcome {
    let mut outcome = Outcome { memory: Memory::new(), related: Vec::new(), never: Vec::new(), failed: None };
    for identifier in identifiers {
        let last = before.get(&identifier);
        match ask(&peer, &*clock, &uri, identifier.as_deref(), last).await {
            Ok(answer) => {
                let (remembered, mut related) = read(answer, last);
                outcome.memory.insert(identifier, remembered);
                outcome.related.append(&mut related);
            }
            Err(CallError::Fault(fault)) if fault.code == code::METHOD_NOT_FOUND => outcome.never.push(identifier),
            Err(error) => outcome.failed = Some(error.to_string()),
        }
    }
    outcome
}

async fn ask(
    peer: &Peer,
    clock: &dyn Clock,
    uri: &str,
    identifier: Option<&str>,
    last: Option<&Remembered>,
) -> Result<Value, CallError> {
    let mut params = json!({ "textDocument": { "uri": uri } });
    if let Some(identifier) = identifier {
        params["identifier"] = json!(identifier);
    }
    if let Some(result_id) = last.and_then(|last| last.result_id.as_deref()) {
        params["previousResultId"] = json!(result_id);
    }
    let mut waits = BACK_OFF.iter();
    loop {
        let error = match peer.request("textDocument/diagnostic", params.clone(), DEADLINE).await {
            Err(CallError::Fault(fault)) => fault,
            other => return other,
        };
        let again = match error.code {
            code::CONTENT_MODIFIED => true,
            code::SERVER_CANCELLED => {
                // Without the field the protocol's default is to ask again.
                let retrigger = error.data.as_ref().and_then(|data| data["retriggerRequest"].as_bool());
                retrigger.unwrap_or(true)
            }
            _ => false,
        };
        match waits.next().filter(|_| again) {
            Some(wait) => clock.sleep(*wait).await,
            None => return Err(CallError::Fault(error)),
        }
    }
}

/// An answer as what to remember, and what it says of other documents.
fn read(mut answer: Value, last: Option<&Remembered>) -> (Remembered, Vec<(String, Vec<Value>)>) {
    let related = match answer["relatedDocuments"].take() {
        Value::Object(related) => related
            .into_iter()
            .filter(|(_, report)| report["kind"] == "full")
            .map(|(uri, mut report)| (uri, list(report["items"].take())))
            .collect(),
        _ => Vec::new(),
    };
    let result_id = answer["resultId"].as_str().map(str::to_owned);
    let items = match answer["kind"].as_str() {
        Some("unchanged") => last.map(|last| last.items.clone()).unwrap_or_default(),
        _ => list(answer["items"].take()),
    };
    (Remembered { result_id, items }, related)
}

fn list(items: Value) -> Vec<Value> {
    match items {
        Value::Array(items) => items,
        _ => Vec::new(),
    }
}
