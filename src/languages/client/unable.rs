//! What a server says, in messages of its own, of documents that it cannot check: what it then reports of them, nothing,
//! is no clean report.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

/// The `ESLint` server's number for "checked without trouble" in its `eslint/status`.
const STATUS_OK: i64 = 1;

/// The documents that the server cannot check, by URI, and why.
#[derive(Debug, Default)]
pub(super) struct Unable(Mutex<HashMap<String, &'static str>>);

impl Unable {
    /// Takes in a request or notification of the server's own.
    pub(super) fn hear(&self, method: &str, params: &Value) {
        let why = match method {
            "eslint/noLibrary" => "no ESLint was found for it: install the project's packages",
            "eslint/noConfig" => "ESLint found no configuration for it",
            "eslint/probeFailed" => "ESLint does not check this language here",
            "eslint/status" => "ESLint failed on it: its configuration, or a plug-in, may be broken",
            _ => return,
        };
        let places = ["/source/uri", "/document/uri", "/textDocument/uri", "/uri"];
        let Some(uri) = places.iter().find_map(|place| params.pointer(place)?.as_str()) else { return };
        let mut unable = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if method == "eslint/status" && params["state"] == STATUS_OK {
            unable.remove(uri);
        } else if method == "eslint/status" {
            // What it said before says more.
            unable.entry(uri.to_owned()).or_insert(why);
        } else {
            unable.insert(uri.to_owned(), why);
        }
    }

    /// Why a document is not checked, if it is not.
    pub(super) fn why(&self, uri: &str) -> Option<&'static str> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(uri).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_cannot_be_checked_is_remembered_until_it_can() {
        let unable = Unable::default();
        let status = |state: i64| unable.hear("eslint/status", &json!({ "uri": "file:///a.js", "state": state }));
        assert_eq!(unable.why("file:///a.js"), None);
        unable.hear("eslint/noLibrary", &json!({ "source": { "uri": "file:///a.js" } }));
        assert!(unable.why("file:///a.js").unwrap().starts_with("no ESLint was found"));
        assert_eq!(unable.why("file:///b.js"), None);
        status(3);
        assert!(unable.why("file:///a.js").unwrap().starts_with("no ESLint was found"), "the first reason stays");
        status(1);
        assert_eq!(unable.why("file:///a.js"), None);
        status(2);
        assert!(unable.why("file:///a.js").unwrap().starts_with("ESLint failed"));
        for odd in [json!(null), json!({ "uri": 7 }), json!({ "source": [] })] {
            unable.hear("eslint/noConfig", &odd);
        }
        unable.hear("eslint/openDoc", &json!({ "uri": "file:///b.js" }));
        assert_eq!(unable.why("file:///b.js"), None);
    }
}
