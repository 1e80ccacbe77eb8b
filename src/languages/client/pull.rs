//! Asking a server for the diagnostics of one document: each identifier, with patience where the protocol asks for it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tracing::warn;

use super::report::{self, Answer, Report};
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

/// What was said of other documents, by URI.
type Related = Vec<(String, Vec<Value>)>;

/// What became of asking.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Outcome {
    /// What to remember for the next time.
    pub(super) memory: Memory,
    /// What was said of other documents, by URI.
    pub(super) related: Related,
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
        let mut last = before.get(&identifier);
        let mut second = false;
        loop {
            let why = match ask(&peer, &*clock, &uri, identifier.as_deref(), last).await {
                Ok(answer) => match read(answer, last) {
                    Ok((remembered, mut related)) => {
                        outcome.memory.insert(identifier, remembered);
                        outcome.related.append(&mut related);
                        break;
                    }
                    Err(why) => why,
                },
                Err(CallError::Fault(fault)) if fault.code == code::METHOD_NOT_FOUND => {
                    outcome.never.push(identifier);
                    break;
                }
                Err(error) => {
                    outcome.failed = Some(format!("it did not answer: {error}"));
                    break;
                }
            };
            if second {
                outcome.failed = Some(format!("its answer could not be read: {why}"));
                break;
            }
            // Once more, and without reference to what it said before: a slip, or a memory that is not ours, is mended
            // by that. Where there was no such reference, nothing is different but the time.
            if last.and_then(|last| last.result_id.as_ref()).is_none() {
                clock.sleep(BACK_OFF[0]).await;
            }
            (last, second) = (None, true);
        }
    }
    outcome
}

/// An answer as what to remember, and what it says of other documents; the error says why it is none.
fn read(answer: Value, last: Option<&Remembered>) -> Result<(Remembered, Related), String> {
    let Answer { report, related, remarks } = report::answer(answer)?;
    for remark in remarks {
        warn!(remark, "a report of another document was left out");
    }
    let remembered = match report {
        Report::Full { result_id, items } => Remembered { result_id, items },
        Report::Unchanged { result_id } => {
            let Some((last, asked)) = last.and_then(|last| Some((last, last.result_id.as_ref()?))) else {
                return Err("it says `unchanged`, and there is no earlier answer that it was given".to_owned());
            };
            // It may be about another answer than the one that is remembered here.
            if result_id.is_some_and(|id| id != *asked) {
                return Err("it says `unchanged` of another answer than the one it was given".to_owned());
            }
            last.clone()
        }
    };
    Ok((remembered, related))
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
