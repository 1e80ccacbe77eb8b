//! The answer to everything a server asks or tells by itself. No request stays without one.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use tokio::sync::mpsc;
use tracing::{debug, warn};

use super::capabilities::{folder, of_workspace, placeholders};
use super::offers::Offers;
use super::report::{Published, published};
use super::unable::Unable;
use super::watchers::Watcher;
use super::window::Window;
use super::{Root, STATUS, ServerEvent, Sink};
use crate::languages::known::{Server, filled, section};
use crate::rpc::{Fault, Handler};

/// What the session must know of what the server said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Notice {
    /// What it can be asked changed, or its answers did: ask again.
    AskAgain,
    /// It wants to hear of files on the disk from now on.
    Watches,
    /// The connection is over.
    Closed(String),
}

/// One registration for diagnostics.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Registration {
    /// The identifier to ask with.
    pub(super) identifier: Option<String>,
    /// Only for these languages; empty: for all.
    pub(super) languages: Vec<String>,
    /// It can be asked about all files at once.
    pub(super) workspace: bool,
}

/// What a server registered after its start, by the id it gave.
#[derive(Debug, Default)]
pub(super) struct Registered {
    pulls: BTreeMap<String, Registration>,
    watches: BTreeMap<String, Vec<Watcher>>,
    /// The folders it serves, in the order in which it was told.
    folders: Vec<Root>,
}

impl Registered {
    /// Nothing yet, for a server that was started in this folder.
    pub(super) fn of(root: Option<&Root>) -> Registered {
        Registered { folders: root.cloned().into_iter().collect(), ..Registered::default() }
    }

    /// The server is told of more folders, or of fewer.
    pub(super) fn folders_changed(&mut self, added: &[Root], removed: &[Root]) {
        self.folders.retain(|folder| !removed.contains(folder));
        self.folders.extend_from_slice(added);
    }

    /// The folder that holds what the server asks about, else the first.
    fn folder_of(&self, uri: Option<&str>) -> Option<&Root> {
        let around = |folder: &&Root| {
            let rest = uri.and_then(|uri| uri.strip_prefix(folder.uri.trim_end_matches('/')));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let innermost = self.folders.iter().filter(around).max_by_key(|folder| folder.uri.len());
        innermost.or_else(|| self.folders.first())
    }

    /// The identifiers to ask with for a language, each once.
    pub(super) fn identifiers(&self, language_id: &str) -> Vec<Option<String>> {
        let mut found: Vec<Option<String>> = self
            .pulls
            .values()
            .filter(|pull| pull.languages.is_empty() || pull.languages.iter().any(|id| id == language_id))
            .map(|pull| pull.identifier.clone())
            .collect();
        found.sort();
        found.dedup();
        found
    }

    /// The identifiers to ask with about all files, each once.
    pub(super) fn of_workspace(&self) -> Vec<Option<String>> {
        let all = self.pulls.values().filter(|pull| pull.workspace);
        let mut found: Vec<Option<String>> = all.map(|pull| pull.identifier.clone()).collect();
        found.sort();
        found.dedup();
        found
    }

    /// Asking about all files turned out not to work.
    pub(super) fn never_about_all(&mut self, identifier: Option<&str>) {
        let same = self.pulls.values_mut().filter(|pull| pull.identifier.as_deref() == identifier);
        same.for_each(|pull| pull.workspace = false);
    }

    /// Whether it can be asked at all.
    pub(super) fn pulls(&self) -> bool {
        !self.pulls.is_empty()
    }

    /// Whether it wants to hear of any changes of files.
    pub(super) fn watches(&self) -> bool {
        !self.watches.is_empty()
    }

    /// Whether it wants to hear of a change of a file: `1` created, `2` changed, `3` deleted.
    pub(super) fn wants(&self, uri: &str, kind: u8) -> bool {
        self.watches.values().flatten().any(|watcher| watcher.covers(uri, kind, &self.folders))
    }

    /// It can be asked, as it said at its start.
    pub(super) fn since_the_start(&mut self, pull: Registration) {
        self.pulls.insert(String::new(), pull);
    }

    /// One way of asking turned out not to work.
    pub(super) fn never_again(&mut self, identifier: Option<&str>) {
        self.pulls.retain(|_, pull| pull.identifier.as_deref() != identifier);
    }

    /// Takes registrations; says whether what can be asked changed.
    fn register(&mut self, params: &Value) -> bool {
        let mut changed = false;
        for item in params["registrations"].as_array().into_iter().flatten() {
            let id = item["id"].as_str().unwrap_or_default().to_owned();
            let options = &item["registerOptions"];
            match item["method"].as_str() {
                Some("textDocument/diagnostic") => {
                    let filters = options["documentSelector"].as_array().into_iter().flatten();
                    let languages: Vec<Option<String>> =
                        filters.map(|filter| filter["language"].as_str().map(str::to_owned)).collect();
                    // A filter without a language fits them all.
                    let languages = languages.into_iter().collect::<Option<Vec<String>>>().unwrap_or_default();
                    let identifier = options["identifier"].as_str().map(str::to_owned);
                    let workspace = of_workspace(options.get("workspaceDiagnostics"));
                    self.pulls.insert(id, Registration { identifier, languages, workspace });
                    changed = true;
                }
                Some("workspace/didChangeWatchedFiles") => {
                    self.watches.insert(id, Watcher::all(options));
                }
                _ => {}
            }
        }
        changed
    }

    fn unregister(&mut self, params: &Value) -> bool {
        let mut changed = false;
        // The misspelling is the protocol's own.
        let list = params["unregisterations"].as_array().or_else(|| params["unregistrations"].as_array());
        for item in list.into_iter().flatten() {
            let id = item["id"].as_str().unwrap_or_default();
            changed |= self.pulls.remove(id).is_some();
            self.watches.remove(id);
        }
        changed
    }
}

/// Answers one server.
pub(super) struct Answers {
    pub(super) server: Arc<Server>,
    pub(super) registered: Arc<Mutex<Registered>>,
    pub(super) sink: Sink,
    /// It has answered in a way of its own, so that what it publishes besides, about nobody knows which text, is
    /// dropped.
    pub(super) muted: Arc<AtomicBool>,
    pub(super) unable: Arc<Unable>,
    pub(super) offers: Arc<Offers>,
    pub(super) window: Arc<Window>,
    pub(super) notices: mpsc::UnboundedSender<Notice>,
}

impl Answers {
    fn registered(&self) -> MutexGuard<'_, Registered> {
        self.registered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn configuration(&self, params: &Value) -> Value {
        let registered = self.registered();
        let items = params["items"].as_array().map(Vec::as_slice).unwrap_or_default();
        let answer = |item: &Value| {
            let (path, uri) = placeholders(registered.folder_of(item["scopeUri"].as_str()));
            section(&filled(&self.server.settings, &path, &uri), item["section"].as_str())
        };
        items.iter().map(answer).collect()
    }

    fn folders(&self) -> Value {
        match self.registered().folders.as_slice() {
            [] => Value::Null,
            folders => folders.iter().map(folder).collect(),
        }
    }

    fn ask_again(&self) {
        (self.sink)(ServerEvent::Pulls(self.registered().pulls()));
        let _ = self.notices.send(Notice::AskAgain);
    }
}

impl Handler for Answers {
    fn request(&self, method: &str, params: Value) -> Result<Value, Fault> {
        self.unable.hear(method, &params);
        self.offers.hear(method, &params);
        if let Some(answer) = self.server.answers.get(method) {
            return Ok(answer.clone());
        }
        match method {
            "workspace/configuration" => Ok(self.configuration(&params)),
            "workspace/workspaceFolders" => Ok(self.folders()),
            "client/registerCapability" => {
                let watched = self.registered().watches();
                let changed = self.registered().register(&params);
                if changed {
                    self.ask_again();
                }
                if !watched && self.registered().watches() {
                    let _ = self.notices.send(Notice::Watches);
                }
                Ok(Value::Null)
            }
            "client/unregisterCapability" => {
                let changed = self.registered().unregister(&params);
                if changed {
                    self.ask_again();
                }
                Ok(Value::Null)
            }
            "workspace/applyEdit" => Ok(self.window.apply(&params)),
            "workspace/diagnostic/refresh" => {
                let _ = self.notices.send(Notice::AskAgain);
                Ok(Value::Null)
            }
            "window/workDoneProgress/create"
            | "window/showMessageRequest"
            | "workspace/codeLens/refresh"
            | "workspace/semanticTokens/refresh"
            | "workspace/inlayHint/refresh"
            | "workspace/inlineValue/refresh"
            | "workspace/foldingRange/refresh" => Ok(Value::Null),
            "window/showDocument" => Ok(json!({ "success": false })),
            _ => Err(Fault::unknown(method)),
        }
    }

    fn notification(&self, method: &str, params: Value) {
        self.unable.hear(method, &params);
        self.offers.heed(method, &params);
        match method {
            "textDocument/publishDiagnostics" => {
                if self.muted.load(Ordering::Relaxed) {
                    return;
                }
                match published(params) {
                    Ok(Published { uri, version, items }) => {
                        (self.sink)(ServerEvent::Published { uri, version, items });
                    }
                    Err(why) => warn!(server = self.server.name, why, "published diagnostics were skipped"),
                }
            }
            "$/progress" => {
                let begin = match params["value"]["kind"].as_str() {
                    Some("begin") => true,
                    Some("end") => false,
                    _ => return,
                };
                (self.sink)(ServerEvent::Progress { token: params["token"].to_string(), begin });
            }
            STATUS => {
                if let Some(quiescent) = params["quiescent"].as_bool() {
                    (self.sink)(ServerEvent::Progress { token: STATUS.to_owned(), begin: !quiescent });
                }
            }
            "window/logMessage" | "window/showMessage" => {
                debug!(server = self.server.name, message = params["message"].as_str().unwrap_or_default());
            }
            _ => {}
        }
    }

    fn closed(&self, why: &str) {
        let _ = self.notices.send(Notice::Closed(why.to_owned()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::DiagnosticsSettings;
    use crate::languages::client::report::tests::any_json;
    use crate::languages::known::servers;
    use crate::rpc::code;

    fn answers(name: &str) -> (Answers, mpsc::UnboundedReceiver<Notice>) {
        let server = servers(&DiagnosticsSettings::default()).into_iter().find(|server| server.name == name).unwrap();
        let (notices, queue) = mpsc::unbounded_channel();
        let root = Root { path: "/w/app".into(), uri: "file:///w/app".into() };
        let registered = Arc::new(Mutex::new(Registered::of(Some(&root))));
        (
            Answers {
                server: Arc::new(server),
                registered,
                sink: Arc::new(|_| {}),
                muted: Arc::default(),
                unable: Arc::default(),
                offers: Arc::default(),
                window: Arc::default(),
                notices,
            },
            queue,
        )
    }

    #[test]
    fn every_request_gets_an_answer_of_its_kind() {
        let (answers, _) = answers("eslint");
        let check = |method: &str, params: Value, expected: Value| {
            assert_eq!(answers.request(method, params).unwrap(), expected, "{method}");
        };
        check("workspace/configuration", json!({ "items": [] }), json!([]));
        check("workspace/workspaceFolders", Value::Null, json!([{ "uri": "file:///w/app", "name": "app" }]));
        check("client/registerCapability", json!({ "registrations": [] }), Value::Null);
        check("window/workDoneProgress/create", json!({ "token": 1 }), Value::Null);
        check("window/showMessageRequest", json!({ "message": "?" }), Value::Null);
        check("window/showDocument", json!({ "uri": "x:" }), json!({ "success": false }));
        check("eslint/confirmESLintExecution", json!({}), json!(4));
        assert_eq!(answers.request("workspace/applyEdit", json!({})).unwrap()["applied"], false);
        let folder = &answers.request("workspace/configuration", json!({ "items": [{ "section": "" }] })).unwrap()[0];
        assert_eq!(folder["workspaceFolder"]["uri"], "file:///w/app");
        let many = json!({ "items": [{ "section": "a" }, {}, { "section": "b" }] });
        assert_eq!(answers.request("workspace/configuration", many).unwrap().as_array().unwrap().len(), 3);
        let Err(fault) = answers.request("their/own", Value::Null) else { panic!("answered") };
        assert_eq!(fault.code, code::METHOD_NOT_FOUND);
    }

    proptest::proptest! {
        #[test]
        fn messages_of_any_shape_are_read_without_a_panic(params in any_json()) {
            let (answers, _) = answers("ruff");
            for method in [
                "textDocument/publishDiagnostics", "$/progress", "window/logMessage", "workspace/configuration",
                "client/registerCapability", "client/unregisterCapability", "workspace/applyEdit", "their/own",
            ] {
                answers.notification(method, params.clone());
                let _ = answers.request(method, params.clone());
            }
        }
    }

    #[test]
    fn what_is_asked_about_a_folder_is_answered_for_that_folder() {
        let (answers, _) = answers("eslint");
        let other = Root { path: "/w/other".into(), uri: "file:///w/other".into() };
        answers.registered().folders_changed(std::slice::from_ref(&other), &[]);
        let folders = answers.request("workspace/workspaceFolders", Value::Null).unwrap();
        assert_eq!(folders.as_array().unwrap().len(), 2);
        let of = |scope: Value| {
            let items = json!({ "items": [{ "section": "", "scopeUri": scope }] });
            answers.request("workspace/configuration", items).unwrap()[0]["workspaceFolder"]["uri"].clone()
        };
        assert_eq!(of(json!("file:///w/other/a.js")), "file:///w/other");
        assert_eq!(of(json!("file:///w/other")), "file:///w/other");
        assert_eq!(of(json!("file:///w/otherwise/a.js")), "file:///w/app");
        assert_eq!(of(json!(7)), "file:///w/app");
        let first = answers.registered().folders[0].clone();
        answers.registered().folders_changed(&[], &[first, other]);
        assert_eq!(answers.request("workspace/workspaceFolders", Value::Null).unwrap(), Value::Null);
    }

    #[test]
    fn registrations_come_and_go() {
        let (answers, mut notices) = answers("ruff");
        let register = |id: &str, method: &str, options: Value| {
            let item = json!({ "id": id, "method": method, "registerOptions": options });
            answers.request("client/registerCapability", json!({ "registrations": [item] })).unwrap();
        };
        let wants = |path: &str, kind: u8| answers.registered().wants(path, kind);
        assert!(!wants("file:///w/app/a.py", 1) && !answers.registered().watches(), "nothing was registered");
        let watchers = json!({ "watchers": [{ "globPattern": "**/*.py", "kind": 5 }] });
        register("w", "workspace/didChangeWatchedFiles", watchers);
        assert!(wants("file:///w/app/a.py", 1) && !wants("file:///w/app/a.py", 2) && !wants("file:///w/app/a.rs", 1));
        assert!(answers.registered().watches() && !answers.registered().pulls());
        assert_eq!(notices.try_recv().ok(), Some(Notice::Watches));
        register(
            "1",
            "textDocument/diagnostic",
            json!({ "identifier": "a", "documentSelector": [{ "language": "python" }] }),
        );
        register("2", "textDocument/diagnostic", json!({ "documentSelector": null }));
        register("3", "textDocument/diagnostic", json!({ "documentSelector": [{ "scheme": "file" }] }));
        assert_eq!(notices.try_recv(), Ok(Notice::AskAgain));
        assert_eq!(answers.registered().identifiers("python"), [None, Some("a".to_owned())]);
        assert_eq!(answers.registered().identifiers("toml"), [None]);
        let gone = json!({ "unregisterations": [{ "id": "2" }, { "id": "3" }, { "id": "w" }] });
        answers.request("client/unregisterCapability", gone).unwrap();
        assert_eq!(answers.registered().identifiers("python"), [Some("a".to_owned())]);
        assert!(!wants("file:///w/app/a.py", 1));
        answers.registered().never_again(Some("a"));
        assert!(!answers.registered().pulls());
    }
}
