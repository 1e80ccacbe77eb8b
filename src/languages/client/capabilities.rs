//! What we tell a server that we can do, and what it answers that it can. Pure.

use serde_json::{Value, json};

use super::answers::Registration;
use super::offers;
use crate::languages::client::Root;
use crate::languages::known::{Server, filled};
use crate::text::Encoding;

/// The parameters of `initialize`.
pub(super) fn initialize(server: &Server, root: Option<&Root>) -> Value {
    let (path, uri) = placeholders(root);
    let folders = root.map(folder).map_or(Value::Null, |folder| json!([folder]));
    let mut params = json!({
        "processId": std::process::id(),
        "clientInfo": { "name": "ropewalk", "version": env!("CARGO_PKG_VERSION") },
        "rootPath": root.map(|root| root.path.to_string_lossy()),
        "rootUri": root.map(|root| &root.uri),
        "workspaceFolders": folders,
        "initializationOptions": filled(&server.options, &path, &uri),
        "capabilities": {
            "general": { "positionEncodings": ["utf-8", "utf-16", "utf-32"] },
            "experimental": { "serverStatusNotification": true },
            "textDocument": {
                "synchronization": { "didSave": true, "dynamicRegistration": false },
                "publishDiagnostics": {
                    "relatedInformation": true,
                    "versionSupport": true,
                    "tagSupport": { "valueSet": [1, 2] },
                    "codeDescriptionSupport": true,
                    "dataSupport": true,
                },
                "diagnostic": { "dynamicRegistration": true, "relatedDocumentSupport": true },
            },
            "workspace": {
                "configuration": true,
                "workspaceFolders": true,
                "didChangeConfiguration": { "dynamicRegistration": true },
                "didChangeWatchedFiles": { "dynamicRegistration": true, "relativePatternSupport": true },
                "diagnostics": { "refreshSupport": true },
            },
            "window": { "workDoneProgress": true },
        },
    });
    offers::declare(&mut params);
    params
}

/// What stands for `${root}` and `${rootUri}`.
pub(super) fn placeholders(root: Option<&Root>) -> (String, String) {
    root.map(|root| (root.path.to_string_lossy().into_owned(), root.uri.clone())).unwrap_or_default()
}

/// A root as the protocol's workspace folder.
pub(super) fn folder(root: &Root) -> Value {
    let name = root.path.file_name().map_or_else(|| "root".into(), |name| name.to_string_lossy());
    json!({ "uri": root.uri, "name": name })
}

/// What a server can do, as far as it matters here.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "they are independent facts")]
pub(super) struct Abilities {
    /// How its positions count.
    pub(super) encoding: Encoding,
    /// Whether it takes changes instead of whole texts.
    pub(super) incremental: bool,
    /// Whether it wants to hear of changes at all.
    pub(super) changes: bool,
    /// Whether it wants to hear of saves, and if so whether with the text.
    pub(super) save: Option<bool>,
    /// It takes more folders while it runs.
    pub(super) folders: bool,
    /// It formats documents.
    pub(super) formats: bool,
    /// It can be asked for diagnostics.
    pub(super) pull: Option<Registration>,
}

/// Reads the answer to `initialize`; what is missing or odd counts as the protocol's default.
pub(super) fn abilities(answer: &Value) -> Abilities {
    let of = &answer["capabilities"];
    // clangd had this field before the protocol had its own.
    let encoding = of["positionEncoding"].as_str().or_else(|| answer["offsetEncoding"].as_str());
    let sync = &of["textDocumentSync"];
    let change = sync.as_u64().or_else(|| sync["change"].as_u64()).unwrap_or(0);
    let save = match &sync["save"] {
        Value::Bool(true) => Some(false),
        Value::Object(options) => Some(options.get("includeText").and_then(Value::as_bool).unwrap_or(false)),
        // A bare number speaks for everything that the protocol had before there were options.
        _ if sync.is_number() && change > 0 => Some(false),
        _ => None,
    };
    let pull = match &of["diagnosticProvider"] {
        Value::Object(options) => {
            let identifier = options.get("identifier").and_then(Value::as_str).map(str::to_owned);
            Some(Registration {
                identifier,
                languages: Vec::new(),
                workspace: of_workspace(options.get("workspaceDiagnostics")),
            })
        }
        Value::Bool(true) => Some(Registration::default()),
        _ => None,
    };
    let folders = &of["workspace"]["workspaceFolders"];
    // A text is the id under which the server may take the notifications back.
    let told = folders["changeNotifications"].as_bool().unwrap_or(folders["changeNotifications"].is_string());
    Abilities {
        folders: told && folders["supported"] == true,
        encoding: match encoding {
            Some("utf-8") => Encoding::Utf8,
            Some("utf-32") => Encoding::Utf32,
            _ => Encoding::Utf16,
        },
        incremental: change == 2,
        changes: change > 0,
        save,
        formats: matches!(of["documentFormattingProvider"], Value::Bool(true) | Value::Object(_)),
        pull,
    }
}

/// Whether an option is set.
pub(super) fn of_workspace(option: Option<&Value>) -> bool {
    option.and_then(Value::as_bool).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_leniently() {
        fn check(capabilities: &Value, expected: &str) {
            let found = abilities(&json!({ "capabilities": capabilities }));
            let text = format!(
                "{:?} incremental={} changes={} save={:?} pull={:?}",
                found.encoding,
                found.incremental,
                found.changes,
                found.save,
                found.pull.map(|pull| pull.identifier)
            );
            assert_eq!(text, expected, "{capabilities}");
        }
        check(&json!(null), "Utf16 incremental=false changes=false save=None pull=None");
        check(&json!({ "textDocumentSync": 1 }), "Utf16 incremental=false changes=true save=Some(false) pull=None");
        check(
            &json!({ "positionEncoding": "utf-8", "textDocumentSync": { "change": 2, "save": { "includeText": true } } }),
            "Utf8 incremental=true changes=true save=Some(true) pull=None",
        );
        check(
            &json!({ "positionEncoding": "utf-32", "diagnosticProvider": { "identifier": "ty" } }),
            "Utf32 incremental=false changes=false save=None pull=Some(Some(\"ty\"))",
        );
        check(
            &json!({ "textDocumentSync": { "change": 2, "save": true }, "diagnosticProvider": { "identifier": null } }),
            "Utf16 incremental=true changes=true save=Some(false) pull=Some(None)",
        );
        let folders = |folders: Value| {
            abilities(&json!({ "capabilities": { "workspace": { "workspaceFolders": folders } } })).folders
        };
        assert!(folders(json!({ "supported": true, "changeNotifications": "id" })));
        assert!(folders(json!({ "supported": true, "changeNotifications": true })));
        assert!(!folders(json!({ "supported": true })) && !folders(json!({ "changeNotifications": true })));
        let old = abilities(&json!({ "offsetEncoding": "utf-8", "capabilities": {} }));
        assert_eq!(old.encoding, Encoding::Utf8);
    }
}
