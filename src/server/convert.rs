//! The editor's messages as our data, read tolerantly: one odd field never loses the rest. Pure.

use serde::Deserialize;
use serde_json::{Map, Value};
use tracing::warn;

use crate::editor::Abilities;
use crate::text::{Encoding, Range};
use crate::workspace::documents::ContentChange;

/// What an editor said of itself in `initialize`.
#[derive(Debug, Clone, PartialEq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "the protocol has them as independent booleans")]
pub(super) struct Client {
    /// Its name, for the log.
    pub name: Option<String>,
    /// Its process, which we do not outlive.
    pub process_id: Option<u32>,
    /// The unit of positions that we chose among those it offers.
    pub encoding: Encoding,
    /// What it can do for us beyond the standard.
    pub abilities: Abilities,
    /// Whether it applies edits (`workspace.applyEdit`).
    pub apply_edit: bool,
    /// Whether it shows messages with buttons (`window.showMessage.messageActionItem`).
    pub message_actions: bool,
    /// Whether it answers `workspace/configuration`.
    pub configuration: bool,
    /// Whether it asks for code lenses anew when told to (`workspace.codeLens.refreshSupport`).
    pub refreshes_lenses: bool,
    /// URIs of its folders, in order.
    pub folders: Vec<String>,
    /// The settings it starts with: `initializationOptions`.
    pub options: Value,
    /// Which folders it says are trusted.
    pub trusted: TrustedFolders,
}

/// Which folders an editor says are trusted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) enum TrustedFolders {
    /// These, by URI.
    Listed(Vec<String>),
    /// All that are open, and will be.
    All,
    /// None.
    #[default]
    None,
}

impl Client {
    /// Reads the params of `initialize`.
    pub(super) fn read(params: &Value) -> Client {
        let capabilities = &params["capabilities"];
        let flag = |pointer: &str| capabilities.pointer(pointer).and_then(Value::as_bool).unwrap_or(false);
        let options = params["initializationOptions"].clone();
        Client {
            name: params.pointer("/clientInfo/name").and_then(Value::as_str).map(str::to_owned),
            process_id: params["processId"].as_u64().and_then(|id| u32::try_from(id).ok()),
            encoding: choose_encoding(&capabilities["general"]["positionEncodings"]),
            abilities: read_abilities(&capabilities["experimental"]["ropewalk"]),
            apply_edit: flag("/workspace/applyEdit"),
            message_actions: capabilities
                .pointer("/window/showMessage/messageActionItem")
                .is_some_and(Value::is_object),
            configuration: flag("/workspace/configuration"),
            refreshes_lenses: flag("/workspace/codeLens/refreshSupport"),
            folders: read_folders(params),
            trusted: read_trusted(&options["trusted"]),
            options,
        }
    }
}

/// The unit of positions: UTF-8 when it is offered, else UTF-16, which every client must understand, unless it only
/// offers UTF-32.
fn choose_encoding(offered: &Value) -> Encoding {
    let offers = |name: &str| offered.as_array().is_some_and(|all| all.iter().any(|one| one.as_str() == Some(name)));
    if offers("utf-8") {
        Encoding::Utf8
    } else if offers("utf-32") && !offers("utf-16") {
        Encoding::Utf32
    } else {
        Encoding::Utf16
    }
}

/// Each ability by itself, so that one of an odd type leaves the others.
fn read_abilities(declared: &Value) -> Abilities {
    let mut fields = Map::new();
    for (name, value) in declared.as_object().into_iter().flatten() {
        let alone = Value::Object(Map::from_iter([(name.clone(), value.clone())]));
        match serde_json::from_value::<Abilities>(alone) {
            Ok(_) => drop(fields.insert(name.clone(), value.clone())),
            Err(fault) => warn!(name, %fault, "an ability that cannot be read counts as absent"),
        }
    }
    serde_json::from_value(Value::Object(fields)).unwrap_or_default()
}

fn read_folders(params: &Value) -> Vec<String> {
    if let Some(folders) = params["workspaceFolders"].as_array() {
        return folders.iter().filter_map(|folder| folder["uri"].as_str()).map(str::to_owned).collect();
    }
    if let Some(uri) = params["rootUri"].as_str() {
        return vec![uri.to_owned()];
    }
    let path = params["rootPath"].as_str();
    path.and_then(|path| url::Url::from_file_path(path).ok()).map(|uri| vec![uri.into()]).unwrap_or_default()
}

fn read_trusted(trusted: &Value) -> TrustedFolders {
    match trusted {
        Value::Bool(true) => TrustedFolders::All,
        Value::Array(roots) => {
            TrustedFolders::Listed(roots.iter().filter_map(Value::as_str).map(str::to_owned).collect())
        }
        _ => TrustedFolders::None,
    }
}

/// The document that a message of text synchronisation is about. The URI stays spelled as it is.
pub(super) fn document_uri(params: &Value) -> Option<&str> {
    params.pointer("/textDocument/uri").and_then(Value::as_str)
}

/// A version of a document. An integer that is written as a fraction, as some languages do, is one.
fn version_of(version: &Value) -> Option<i32> {
    if let Some(version) = version.as_i64() {
        return i32::try_from(version).ok();
    }
    let version = version.as_f64().filter(|version| version.fract() == 0.0)?;
    // Through the text of the number, for there is no exact conversion that can fail.
    version.to_string().parse().ok()
}

/// `textDocument/didOpen`
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DidOpen {
    /// The URI.
    pub uri: String,
    /// The editor's name for its language; empty where it is not given as a text.
    pub language_id: String,
    /// The editor's version; 0 where it cannot be read.
    pub version: i32,
    /// The whole text, if it can be read.
    pub text: Option<String>,
    /// What could not be read of it that matters: then the document is open, but its text or version is not known.
    pub fault: Option<&'static str>,
}

impl DidOpen {
    /// Reads the params of `textDocument/didOpen`, each field by itself. None without a URI.
    pub(super) fn read(params: &Value) -> Option<DidOpen> {
        let uri = document_uri(params)?.to_owned();
        let document = &params["textDocument"];
        let version = version_of(&document["version"]);
        let text = document["text"].as_str().map(str::to_owned);
        let fault = match (&text, version) {
            (None, _) => Some("textDocument.text is not a string"),
            (Some(_), None) => Some("textDocument.version is not a 32-bit integer"),
            (Some(_), Some(_)) => None,
        };
        let language_id = document["languageId"].as_str().unwrap_or_default().to_owned();
        Some(DidOpen { uri, language_id, version: version.unwrap_or_default(), text, fault })
    }
}

/// `textDocument/didChange`
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DidChange {
    /// The document.
    pub uri: String,
    /// The version after the changes.
    pub version: i32,
    /// The changes in order.
    pub changes: Vec<ContentChange>,
}

/// Why a `didChange` could not be applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unreadable {
    /// The document, if at least that could be read: its text is not known any more.
    pub uri: Option<String>,
    /// What is wrong.
    pub why: String,
}

impl DidChange {
    /// Reads the params of `textDocument/didChange`: all of it or nothing, for half a change would be a wrong text.
    pub(super) fn read(params: &Value) -> Result<DidChange, Unreadable> {
        let uri = document_uri(params).map(str::to_owned);
        let read = || {
            let uri = uri.clone().ok_or("no textDocument.uri")?;
            let version = version_of(&params["textDocument"]["version"]);
            let version = version.ok_or("textDocument.version is not a 32-bit integer")?;
            let changes = params["contentChanges"].as_array().ok_or("contentChanges is not a list")?;
            let changes = changes.iter().enumerate().map(|(index, change)| {
                let fault = |what: &str| format!("contentChanges[{index}].{what}");
                let range = match &change["range"] {
                    Value::Null => None,
                    range => Some(Range::deserialize(range).map_err(|why| fault(&format!("range: {why}")))?),
                };
                let text = change["text"].as_str().ok_or_else(|| fault("text is not a string"))?;
                Ok(ContentChange { range, text: text.to_owned() })
            });
            Ok(DidChange { uri, version, changes: changes.collect::<Result<_, String>>()? })
        };
        read().map_err(|why: String| Unreadable { uri: uri.clone(), why })
    }
}

/// The folders of `workspace/didChangeWorkspaceFolders`: (added, removed), by URI.
pub(super) fn changed_folders(params: &Value) -> (Vec<String>, Vec<String>) {
    let uris = |name: &str| {
        let folders = params["event"][name].as_array().into_iter().flatten();
        folders.filter_map(|folder| folder["uri"].as_str()).map(str::to_owned).collect()
    };
    (uris("added"), uris("removed"))
}

/// The files of `workspace/didChangeWatchedFiles`: each URI with the protocol's number for what happened.
pub(super) fn watched_files(params: &Value) -> Vec<(String, u64)> {
    let changes = params["changes"].as_array().into_iter().flatten();
    changes.filter_map(|change| Some((change["uri"].as_str()?.to_owned(), change["type"].as_u64()?))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::text::{LineBreaks, Position};

    #[test]
    fn the_encoding_is_the_best_that_is_offered() {
        for (offered, chosen) in [
            (json!(null), Encoding::Utf16),
            (json!([]), Encoding::Utf16),
            (json!(["utf-16"]), Encoding::Utf16),
            (json!(["utf-16", "utf-8"]), Encoding::Utf8),
            (json!(["utf-32", "utf-16"]), Encoding::Utf16),
            (json!(["utf-32"]), Encoding::Utf32),
            (json!(["utf-7"]), Encoding::Utf16),
            (json!("utf-8"), Encoding::Utf16),
        ] {
            assert_eq!(choose_encoding(&offered), chosen, "{offered}");
        }
    }

    #[test]
    fn one_odd_ability_does_not_lose_the_rest() {
        let abilities = read_abilities(&json!({
            "approve": true, "ask": "yes", "lineBreaks": "lsp", "review": 3, "ownsCommands": true, "later": {},
        }));
        let expected =
            Abilities { approve: true, line_breaks: LineBreaks::Lsp, owns_commands: true, ..Abilities::default() };
        assert_eq!(abilities, expected);
    }

    #[test]
    fn a_client_is_read_whatever_else_it_says() {
        let client = Client::read(&json!({
            "processId": 12, "clientInfo": { "name": "ed", "version": 1 },
            "rootUri": "file:///old", "workspaceFolders": [{ "uri": "file:///a" }, { "name": "b" }],
            "initializationOptions": { "trusted": ["file:///a", 3], "output": {} },
            "capabilities": {
                "textDocument": { "synchronization": { "didSave": "perhaps" } },
                "workspace": { "applyEdit": true, "configuration": 1 },
                "window": { "showMessage": { "messageActionItem": {} } },
                "experimental": { "ropewalk": { "resync": true } },
            },
        }));
        let expected = Client {
            name: Some("ed".into()),
            process_id: Some(12),
            encoding: Encoding::Utf16,
            abilities: Abilities { resync: true, ..Abilities::default() },
            apply_edit: true,
            message_actions: true,
            configuration: false,
            refreshes_lenses: false,
            folders: vec!["file:///a".into()],
            options: json!({ "trusted": ["file:///a", 3], "output": {} }),
            trusted: TrustedFolders::Listed(vec!["file:///a".into()]),
        };
        assert_eq!(client, expected);
        assert_eq!(Client::read(&json!(null)), Client::default());
    }

    #[test]
    fn the_folders_come_from_the_newest_field() {
        for (params, folders) in [
            (json!({ "rootUri": "file:///r", "rootPath": "/p" }), vec!["file:///r"]),
            (json!({ "rootUri": null, "rootPath": "/p q" }), vec!["file:///p%20q"]),
            (json!({ "rootUri": "file:///r", "workspaceFolders": [] }), vec![]),
            (json!({}), vec![]),
        ] {
            assert_eq!(read_folders(&params), folders, "{params}");
        }
    }

    #[test]
    fn an_odd_field_does_not_keep_a_document_shut() {
        for (field, value, language_id, version, text, fault) in [
            ("version", json!(7), "rust", 7, Some("t"), None),
            ("languageId", json!(null), "", 3, Some("t"), None),
            ("version", json!(7.0), "rust", 7, Some("t"), None),
            ("version", json!(7.5), "rust", 0, Some("t"), Some("textDocument.version is not a 32-bit integer")),
            ("version", json!(null), "rust", 0, Some("t"), Some("textDocument.version is not a 32-bit integer")),
            ("version", json!(1u64 << 31), "rust", 0, Some("t"), Some("textDocument.version is not a 32-bit integer")),
            ("version", json!(1e20), "rust", 0, Some("t"), Some("textDocument.version is not a 32-bit integer")),
            ("text", json!([]), "rust", 3, None, Some("textDocument.text is not a string")),
        ] {
            let mut document = json!({ "uri": "u", "languageId": "rust", "version": 3, "text": "t" });
            document[field] = value.clone();
            let expected = DidOpen {
                uri: "u".into(),
                language_id: language_id.into(),
                version,
                text: text.map(str::to_owned),
                fault,
            };
            assert_eq!(DidOpen::read(&json!({ "textDocument": document })), Some(expected), "{field} {value}");
        }
        for params in [json!(null), json!({ "textDocument": { "uri": 7, "text": "t" } })] {
            assert_eq!(DidOpen::read(&params), None);
        }
    }

    #[test]
    fn a_change_is_read_whole_or_not_at_all() {
        let range = json!({ "start": { "line": 0, "character": 1 }, "end": { "line": 2, "character": 3 } });
        let document = json!({ "uri": "file:///a", "version": 4 });
        let good = json!({ "textDocument": document, "contentChanges": [
            { "range": range, "rangeLength": -1, "text": "x" }, { "text": "y" },
        ] });
        let read = DidChange::read(&good).unwrap();
        let range = Range { start: Position::new(0, 1), end: Position::new(2, 3) };
        assert_eq!((read.uri.as_str(), read.version), ("file:///a", 4));
        assert_eq!(
            read.changes,
            [ContentChange { range: Some(range), text: "x".into() }, ContentChange { range: None, text: "y".into() },]
        );
        for (change, why) in [
            (json!({ "range": { "start": { "line": -1, "character": 0 } }, "text": "x" }), "contentChanges[0].range: "),
            (json!({ "text": 3 }), "contentChanges[0].text is not a string"),
        ] {
            let fault = DidChange::read(&json!({ "textDocument": document, "contentChanges": [change] })).unwrap_err();
            assert!(fault.why.starts_with(why), "{fault:?}");
            assert_eq!(fault.uri.as_deref(), Some("file:///a"));
        }
        let fault = DidChange::read(&json!({ "textDocument": { "uri": "u" }, "contentChanges": [] })).unwrap_err();
        assert_eq!(
            (fault.uri.as_deref(), fault.why.as_str()),
            (Some("u"), "textDocument.version is not a 32-bit integer")
        );
        assert_eq!(DidChange::read(&json!(null)).unwrap_err().uri, None);
    }
}
