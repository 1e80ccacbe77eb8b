//! `--fail-on`: what no call of a run may come to. Pure.

use std::fmt;

use serde_json::{Value, json};

use crate::dispatch::Status;
use crate::languages::verdict::Verdict;
use crate::tool::ErrorKind;

/// What no call may come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FailOn {
    /// A call that ends in an error, whichever.
    Error,
    /// A question that nothing answers.
    Ask,
    /// Errors that are new.
    NewErrors,
    /// A source with this verdict, a call with this status, or an error of this kind.
    Word(String),
}

impl FailOn {
    /// Reads a word: `error`, `ask`, `newErrors`, a verdict, a status, or the kind of an error.
    pub fn read(word: &str) -> Result<FailOn, String> {
        let is_word = |value: Value| {
            serde_json::from_value::<Verdict>(value.clone()).is_ok_and(|verdict| verdict != Verdict::Fresh)
                || serde_json::from_value::<Status>(value.clone()).is_ok_and(|status| status != Status::Ok)
                || serde_json::from_value::<ErrorKind>(value).is_ok()
        };
        match word {
            "error" => Ok(FailOn::Error),
            "ask" => Ok(FailOn::Ask),
            "newErrors" => Ok(FailOn::NewErrors),
            word if is_word(json!(word)) => Ok(FailOn::Word(word.to_owned())),
            word => Err(format!(
                "`{word}` is nothing that a call can come to; there are `error`, `ask`, `newErrors`, the verdicts (`pending`, \
                 `stale`, `needsSave`, `neverReported`, `crashed`, `noServer`, `untrusted`, `superseded`), `denied`, \
                 `cancelled`, and the kinds of errors, such as `conflict`"
            )),
        }
    }

    /// Why a result is what no call may come to, if it is.
    pub(super) fn met(&self, result: &Value) -> Option<String> {
        match self {
            FailOn::Ask => None,
            FailOn::Error => (result["isError"] == true || result["error"]["code"].is_number())
                .then(|| "it ended in an error".to_owned()),
            FailOn::NewErrors => {
                let new = new_errors(&result["diagnostics"]);
                (!new.is_empty()).then(|| format!("new errors: {}", new.join("; ")))
            }
            FailOn::Word(word) => {
                if result["status"] == word.as_str() || result["error"]["kind"] == word.as_str() {
                    return Some(format!("it ended as {word}"));
                }
                let documents = result["diagnostics"]["documents"].as_array().into_iter().flatten();
                let mut sources = documents.flat_map(|document| document["sources"].as_array().into_iter().flatten());
                let source = sources.find(|source| source["verdict"] == word.as_str())?;
                Some(format!("{} is {word}", source["id"].as_str().unwrap_or_default()))
            }
        }
    }
}

impl fmt::Display for FailOn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FailOn::Error => "error",
            FailOn::Ask => "ask",
            FailOn::NewErrors => "newErrors",
            FailOn::Word(word) => word,
        })
    }
}

fn new_errors(report: &Value) -> Vec<String> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let here = list(&report["documents"]).into_iter().flat_map(|document| list(&document["sources"]));
    let all = here.chain(list(&report["otherFiles"])).flat_map(|source| list(&source["new"]));
    let errors = all.filter(|problem| problem["severity"] == "error");
    errors.map(|problem| problem["message"].as_str().unwrap_or_default().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_met() {
        fn check(word: &str, result: &Value, expected: Option<&str>) {
            assert_eq!(FailOn::read(word).unwrap().met(result).as_deref(), expected, "{word} {result}");
        }
        let ok = json!({ "status": "ok", "isError": false, "diagnostics": { "documents": [{ "sources": [
            { "id": "lint", "verdict": "pending", "new": [] },
            { "id": "syntax", "verdict": "fresh", "new": [{ "severity": "error", "message": "no" }] },
        ] }] } });
        check("error", &ok, None);
        check("pending", &ok, Some("lint is pending"));
        check("stale", &ok, None);
        check("newErrors", &ok, Some("new errors: no"));
        let conflict = json!({ "status": "error", "isError": true, "error": { "kind": "conflict" } });
        check("error", &conflict, Some("it ended in an error"));
        check("conflict", &conflict, Some("it ended as conflict"));
        check("denied", &conflict, None);
        for wrong in ["fresh", "ok", "pend", ""] {
            assert!(FailOn::read(wrong).is_err(), "{wrong}");
        }
    }
}
