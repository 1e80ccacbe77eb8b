//! How the server tells its diagnostics: publications, answers, progress. Pure.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::act::{About, Act, What};
use super::script::{By, Progress, Stamps, Unchanged};
use super::server::{Awaited, Fake, Timing};

/// The notification that tells diagnostics.
const PUBLISH: &str = "textDocument/publishDiagnostics";

/// Why a document is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    Opened,
    Changed,
    Saved,
}

/// What the client was told, by URI.
#[derive(Debug, Default)]
pub(super) struct Told {
    published: BTreeMap<String, Vec<Value>>,
    /// How often.
    publications: BTreeMap<String, u64>,
    /// What was answered, and under which id.
    answered: BTreeMap<String, (String, Vec<Value>)>,
    checks: u64,
    results: u64,
}

impl Fake {
    /// Whether it can be asked for diagnostics.
    pub(super) fn pulls(&self) -> bool {
        matches!(self.script.diagnostics.by, By::Pull | By::Both)
    }

    fn pushes(&self) -> bool {
        matches!(self.script.diagnostics.by, By::Push | By::Both)
    }

    /// What it says of the ways to ask it.
    pub(super) fn pull_options(&self) -> Value {
        let mut options = json!({
            "interFileDependencies": self.script.names.is_some(),
            "workspaceDiagnostics": self.script.diagnostics.workspace,
        });
        if let Some(identifier) = &self.script.diagnostics.identifier {
            options["identifier"] = json!(identifier);
        }
        options
    }

    /// What a publication for a file holds.
    fn publication(&self, uri: &str) -> Vec<Value> {
        let mut items = if self.pushes() { self.patterns.memory(&self.files, uri, self.encoding) } else { Vec::new() };
        items.extend(self.patterns.disk(&self.files, uri, self.encoding));
        items
    }

    /// Checks a document, and those that it may have changed.
    pub(super) fn check(&mut self, uri: &str, cause: Cause, acts: &mut Vec<Act>) {
        let by_disk = self.patterns.checks_disk() && cause != Cause::Changed;
        let due = match self.script.diagnostics.by {
            By::Push | By::Both => by_disk || self.patterns.checks_memory(),
            By::Pull => by_disk,
            By::Never => false,
        };
        let token = (self.script.diagnostics.progress != Progress::None).then(|| self.begin(acts));
        let timing = self.timing(PUBLISH);
        if due && !(cause == Cause::Opened && self.script.diagnostics.silent_on_open) {
            self.publish(uri, &timing, acts);
        }
        self.check_others(uri, &timing, acts);
        if let Some(token) = token.filter(|_| self.script.diagnostics.progress == Progress::Checks) {
            let message = progress(&token, &json!({ "kind": "end" }));
            let pair = self.script.diagnostics.pair_ms.unwrap_or(0);
            self.put(&timing.later(pair), What::Say { message, about: None }, acts);
        }
    }

    fn publish(&mut self, uri: &str, timing: &Timing, acts: &mut Vec<Act>) {
        let items = self.publication(uri);
        if self.script.diagnostics.only_news && self.told.published.get(uri) == Some(&items) {
            return;
        }
        if !self.script.diagnostics.keeps_old {
            self.take_back(&About::Check(uri.to_owned()), None, acts);
        }
        let mut timing = timing.clone();
        if let Some(pair) = self.script.diagnostics.pair_ms {
            let first = self.message(uri, &[]);
            self.put(&timing, What::Say { message: first, about: Some(About::Check(uri.to_owned())) }, acts);
            timing = timing.later(pair);
        }
        let message = self.message(uri, &items);
        self.told.published.insert(uri.to_owned(), items);
        self.put(&timing, What::Say { message, about: Some(About::Check(uri.to_owned())) }, acts);
    }

    fn message(&mut self, uri: &str, items: &[Value]) -> Value {
        let count = self.told.publications.entry(uri.to_owned()).or_default();
        *count += 1;
        let open = self.files.get(uri).and_then(|known| known.open.as_ref());
        let version = match self.script.diagnostics.stamps {
            Stamps::Version => open.map(|(version, _)| *version),
            Stamps::None => None,
            Stamps::Zero => Some(0),
            Stamps::One => Some(1),
            Stamps::Counter => i64::try_from(*count).ok(),
        };
        let mut params = json!({ "uri": uri, "diagnostics": items });
        if let Some(version) = version {
            params["version"] = json!(version);
        }
        json!({ "jsonrpc": "2.0", "method": PUBLISH, "params": params })
    }

    /// Tells of all files but one whose diagnostics are others now.
    pub(super) fn check_others(&mut self, but: &str, timing: &Timing, acts: &mut Vec<Act>) {
        if self.pushes() {
            // Files that are not known any more have none.
            let mut uris: Vec<String> = self.files.keys().chain(self.told.published.keys()).cloned().collect();
            uris.sort();
            uris.dedup();
            for uri in uris.iter().filter(|uri| *uri != but) {
                let now = self.publication(uri);
                let before = self.told.published.get(uri).map(Vec::as_slice).unwrap_or_default();
                if now != before {
                    self.publish(uri, timing, acts);
                }
            }
        }
        if self.pulls() && self.script.diagnostics.refreshes {
            let changed =
                self.told.answered.iter().any(|(uri, (_, items))| {
                    uri != but && self.patterns.memory(&self.files, uri, self.encoding) != *items
                });
            if changed {
                self.ask("workspace/diagnostic/refresh", &Value::Null, Awaited::Nothing, acts);
            }
        }
    }

    fn begin(&mut self, acts: &mut Vec<Act>) -> String {
        self.told.checks += 1;
        let token = format!("check-{}", self.told.checks);
        self.ask("window/workDoneProgress/create", &json!({ "token": token }), Awaited::Nothing, acts);
        acts.push(Act::say(progress(&token, &json!({ "kind": "begin", "title": "checking" }))));
        token
    }

    /// The answer to `textDocument/diagnostic`.
    pub(super) fn pulled(&mut self, params: &Value) -> Value {
        let uri = params["textDocument"]["uri"].as_str().unwrap_or_default();
        let mut report = self.report(uri, params["previousResultId"].as_str());
        if self.script.diagnostics.related {
            let others: Vec<String> = self.files.keys().filter(|other| *other != uri).cloned().collect();
            let mut related = serde_json::Map::new();
            for other in others {
                let items = self.patterns.memory(&self.files, &other, self.encoding);
                related.insert(other, json!({ "kind": "full", "items": items }));
            }
            report["relatedDocuments"] = Value::Object(related);
        }
        report
    }

    /// The answer to `workspace/diagnostic`.
    pub(super) fn pulled_all(&mut self, params: &Value) -> Value {
        let known = params["previousResultIds"].as_array().cloned().unwrap_or_default();
        let uris: Vec<String> = self.files.keys().cloned().collect();
        let reports = uris.iter().map(|uri| {
            let before = known.iter().find(|one| one["uri"] == uri.as_str()).and_then(|one| one["value"].as_str());
            let mut report = self.report(uri, before);
            report["uri"] = json!(uri);
            let open = self.files.get(uri).and_then(|known| known.open.as_ref());
            report["version"] = open.map_or(Value::Null, |(version, _)| json!(version));
            report
        });
        let reports: Vec<Value> = reports.collect();
        json!({ "items": reports })
    }

    fn report(&mut self, uri: &str, before: Option<&str>) -> Value {
        let items = self.patterns.memory(&self.files, uri, self.encoding);
        let last = self.told.answered.get(uri);
        let unchanged = match self.script.diagnostics.unchanged {
            Unchanged::Never => None,
            Unchanged::Honest => {
                last.filter(|(id, last)| before == Some(id) && *last == items).map(|(id, _)| id.clone())
            }
            Unchanged::Always => Some("lost".to_owned()),
        };
        if let Some(id) = unchanged {
            return json!({ "kind": "unchanged", "resultId": id });
        }
        self.told.results += 1;
        let id = format!("result-{}", self.told.results);
        self.told.answered.insert(uri.to_owned(), (id.clone(), items.clone()));
        let mut report = json!({ "kind": "full", "items": items });
        if self.script.diagnostics.unchanged != Unchanged::Never {
            report["resultId"] = json!(id);
        }
        report
    }
}

fn progress(token: &str, value: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "method": "$/progress", "params": { "token": token, "value": value } })
}
