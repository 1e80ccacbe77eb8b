//! Asking a server for the diagnostics of the whole workspace: what an edit broke in files that nobody has open.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::report::{Report, report};
use crate::rpc::{Peer, code};

/// How long one answer may take. A server may hold an answer back until something changes; nobody waits so long.
const DEADLINE: Duration = Duration::from_secs(10);

/// So many reports of one answer are taken.
const REPORTS: usize = 4096;

/// What came of asking.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Found {
    /// What was said of each document, by URI.
    pub(super) reports: BTreeMap<String, Vec<Value>>,
    /// Identifiers that must never be asked again: the server does not know the request.
    pub(super) never: Vec<Option<String>>,
    /// Whether everything was answered.
    pub(super) whole: bool,
}

/// Asks under each identifier, without reference to earlier answers: with one, a server may stay silent until something
/// changes. Dropping the future cancels the request that is open.
pub(super) async fn ask(peer: Peer, identifiers: Vec<Option<String>>) -> Found {
    let mut found = Found { whole: true, ..Found::default() };
    for identifier in identifiers {
        let mut params = json!({ "previousResultIds": [] });
        if let Some(identifier) = &identifier {
            params["identifier"] = json!(identifier);
        }
        match peer.request("workspace/diagnostic", params, DEADLINE).await {
            Ok(answer) => take(answer, &mut found),
            Err(crate::rpc::CallError::Fault(fault)) if fault.code == code::METHOD_NOT_FOUND => {
                found.never.push(identifier);
            }
            Err(_) => found.whole = false,
        }
    }
    found
}

/// Takes the full reports of an answer; what cannot be read says nothing.
fn take(mut answer: Value, found: &mut Found) {
    let Some(Value::Array(items)) = answer.get_mut("items").map(Value::take) else {
        found.whole = false;
        return;
    };
    found.whole &= items.len() <= REPORTS;
    for item in items.into_iter().take(REPORTS) {
        let Some(uri) = item["uri"].as_str().map(str::to_owned) else {
            found.whole = false;
            continue;
        };
        match report(item) {
            Ok(Report::Full { mut items, .. }) => found.reports.entry(uri).or_default().append(&mut items),
            // Of what was said before nothing is remembered here, so it cannot be "unchanged".
            Ok(Report::Unchanged { .. }) | Err(_) => found.whole = false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_read_is_taken() {
        fn check(answer: &Value, whole: bool, reports: &[(&str, usize)]) {
            let mut found = Found { whole: true, ..Found::default() };
            take(answer.clone(), &mut found);
            let read: Vec<(&str, usize)> =
                found.reports.iter().map(|(uri, items)| (uri.as_str(), items.len())).collect();
            assert_eq!((found.whole, read.as_slice()), (whole, reports), "{answer}");
        }
        let full =
            |uri: &str, count: usize| json!({ "kind": "full", "uri": uri, "version": null, "items": vec![1; count] });
        check(&json!({ "items": [] }), true, &[]);
        check(&json!({ "items": [full("b", 0), full("a", 2)] }), true, &[("a", 2), ("b", 0)]);
        // Several tools may speak of one file.
        check(&json!({ "items": [full("a", 1), full("a", 2)] }), true, &[("a", 3)]);
        check(
            &json!({ "items": [{ "kind": "unchanged", "uri": "a", "resultId": "1" }, full("b", 1)] }),
            false,
            &[("b", 1)],
        );
        check(&json!({ "items": [{ "kind": "full", "items": [] }, 5, null] }), false, &[]);
        check(&json!({ "items": [{ "kind": "full", "uri": "a" }] }), false, &[]);
        check(&json!({ "items": null }), false, &[]);
        check(&json!(null), false, &[]);
        check(&json!([]), false, &[]);
    }
}
