//! What the server answers about its names, and the edits it offers. Pure.

use serde_json::{Map, Value, json};

use super::rules::{self, Place, edits};
use super::script::{Failure, Sync};
use super::server::{Fake, range_of};
use crate::text::{Position, Text};

/// The error of a request that makes no sense.
pub(super) const INVALID: i64 = -32602;

/// The capability that says that a method is answered.
const CAPABILITIES: &[(&str, &str)] = &[
    ("textDocument/hover", "hoverProvider"),
    ("textDocument/definition", "definitionProvider"),
    ("textDocument/declaration", "declarationProvider"),
    ("textDocument/typeDefinition", "typeDefinitionProvider"),
    ("textDocument/implementation", "implementationProvider"),
    ("textDocument/references", "referencesProvider"),
    ("textDocument/documentSymbol", "documentSymbolProvider"),
    ("workspace/symbol", "workspaceSymbolProvider"),
    ("textDocument/rename", "renameProvider"),
    ("textDocument/codeAction", "codeActionProvider"),
    ("textDocument/formatting", "documentFormattingProvider"),
    ("textDocument/rangeFormatting", "documentRangeFormattingProvider"),
    ("textDocument/prepareCallHierarchy", "callHierarchyProvider"),
    ("textDocument/documentHighlight", "documentHighlightProvider"),
];

/// The methods that follow from `names`.
const BY_NAMES: &[&str] = &[
    "textDocument/hover",
    "textDocument/definition",
    "textDocument/references",
    "textDocument/documentSymbol",
    "workspace/symbol",
    "textDocument/rename",
    "textDocument/prepareRename",
];

/// The protocol's kind of symbol for a function.
const FUNCTION: u8 = 12;

impl Fake {
    /// What it says that it can do.
    pub(super) fn capabilities(&self) -> Value {
        let script = &self.script;
        let sync = match script.sync {
            Sync::None => 0,
            Sync::Full => 1,
            Sync::Incremental => 2,
        };
        let mut all = json!({
            "positionEncoding": self.encoding,
            "textDocumentSync": { "openClose": true, "change": sync, "save": { "includeText": false } },
        });
        if self.pulls() && !script.diagnostics.registers {
            all["diagnosticProvider"] = self.pull_options();
        }
        for (method, capability) in CAPABILITIES {
            let answered = script.answers.contains_key(*method) || script.errors.contains_key(*method);
            if answered || self.answers_by_itself(method) {
                all[*capability] = json!(true);
            }
        }
        if all["renameProvider"] == true {
            let prepares = script.names.is_some() || script.answers.contains_key("textDocument/prepareRename");
            all["renameProvider"] = json!({ "prepareProvider": prepares });
        }
        if script.actions.iter().any(|action| action.resolves) {
            all["codeActionProvider"] = json!({ "resolveProvider": true });
        }
        if !script.commands.is_empty() {
            all["executeCommandProvider"] = json!({ "commands": script.commands.keys().collect::<Vec<_>>() });
        }
        rules::merge(&mut all, &Value::Object(script.capabilities.clone()));
        all
    }

    fn answers_by_itself(&self, method: &str) -> bool {
        match method {
            "textDocument/formatting" => !self.script.formatting.is_empty(),
            "textDocument/codeAction" => !self.script.actions.is_empty(),
            "codeAction/resolve" => self.script.actions.iter().any(|action| action.resolves),
            "textDocument/diagnostic" => self.pulls(),
            "workspace/diagnostic" => self.pulls() && self.script.diagnostics.workspace,
            _ => self.script.names.is_some() && BY_NAMES.contains(&method),
        }
    }

    /// The answer to a request that is answered from what the server knows; `None`: it does not know the method.
    pub(super) fn asked_for(&mut self, method: &str, params: &Value) -> Option<Result<Value, Failure>> {
        if !self.answers_by_itself(method) {
            return None;
        }
        let uri = params["textDocument"]["uri"].as_str().unwrap_or_default();
        Some(Ok(match method {
            "textDocument/diagnostic" => self.pulled(params),
            "workspace/diagnostic" => self.pulled_all(params),
            "textDocument/formatting" => self.formatted(uri),
            "textDocument/codeAction" => self.actions(uri, params),
            "codeAction/resolve" => self.resolved(params),
            "textDocument/documentSymbol" => self.symbols(uri),
            "workspace/symbol" => self.all_symbols(params["query"].as_str().unwrap_or_default()),
            _ => {
                let found = self.place_at(uri, &params["position"]);
                match (method, found) {
                    ("textDocument/rename", None) => {
                        let message = "there is no name at this position".to_owned();
                        return Some(Err(Failure { code: INVALID, message, data: None, times: None }));
                    }
                    ("textDocument/rename", Some(place)) => {
                        self.renamed(&place.name, params["newName"].as_str().unwrap_or_default())
                    }
                    (_, None) => Value::Null,
                    ("textDocument/prepareRename", Some(place)) => self.location(&place)["range"].clone(),
                    ("textDocument/hover", Some(place)) => self.hovered(&place),
                    (_, Some(place)) => {
                        let definition = method == "textDocument/definition";
                        let with_definition = params["context"]["includeDeclaration"] != false;
                        let places = self.places_of(&place.name).into_iter();
                        let wanted = places
                            .filter(|place| if definition { place.defines } else { with_definition || !place.defines });
                        wanted.map(|place| self.location(&place)).collect()
                    }
                }
            }
        }))
    }

    fn text(&self, uri: &str) -> Option<&Text> {
        self.files.get(uri)?.text()
    }

    fn places_of(&self, name: &str) -> Vec<Place> {
        let places = self.patterns.places(&self.files).into_iter();
        places.filter(|place| place.name == name).collect()
    }

    fn place_at(&self, uri: &str, position: &Value) -> Option<Place> {
        let number = |name: &str| u32::try_from(position[name].as_u64()?).ok();
        let position = Position { line: number("line")?, character: number("character")? };
        let (byte, _) = self.text(uri)?.byte_of(position, self.encoding);
        let mut places = self.patterns.places(&self.files).into_iter();
        // A cursor behind a name is on it, as editors have it.
        places.find(|place| place.uri == uri && place.bytes.start <= byte && byte <= place.bytes.end)
    }

    fn location(&self, place: &Place) -> Value {
        let range = self.text(&place.uri).map(|text| text.range_of(place.bytes.clone(), self.encoding));
        json!({ "uri": place.uri, "range": range })
    }

    fn hovered(&self, place: &Place) -> Value {
        let places = self.places_of(&place.name);
        let defined = places.iter().filter(|place| place.defines).count();
        let value = format!("`{}`: {defined} definitions, {} uses", place.name, places.len() - defined);
        json!({ "contents": { "kind": "markdown", "value": value }, "range": self.location(place)["range"] })
    }

    fn symbols(&self, uri: &str) -> Value {
        let Some(text) = self.text(uri) else { return Value::Null };
        let places = self.patterns.places(&self.files).into_iter().filter(|place| place.uri == uri && place.defines);
        places
            .map(|place| {
                let line = text.line_of(place.bytes.start);
                let whole = text.range_of(text.line_start(line)..text.line_end(line), self.encoding);
                let name = self.location(&place)["range"].clone();
                json!({ "name": place.name, "kind": FUNCTION, "range": whole, "selectionRange": name })
            })
            .collect()
    }

    fn all_symbols(&self, query: &str) -> Value {
        let places = self.patterns.places(&self.files).into_iter();
        let wanted = places.filter(|place| place.defines && place.name.contains(query));
        wanted.map(|place| json!({ "name": place.name, "kind": FUNCTION, "location": self.location(&place) })).collect()
    }

    /// The changes of one document as a workspace edit, for exactly the version that is known.
    fn change_of(&self, uri: &str, edits: &[Value]) -> Value {
        let open = self.files.get(uri).and_then(|known| known.open.as_ref());
        let version = open.map(|(version, _)| *version);
        json!({ "textDocument": { "uri": uri, "version": version }, "edits": edits })
    }

    fn renamed(&self, name: &str, new_name: &str) -> Value {
        let mut by_file: Map<String, Value> = Map::new();
        for place in self.places_of(name) {
            let edit = json!({ "range": self.location(&place)["range"], "newText": new_name });
            let edits = by_file.entry(place.uri).or_insert_with(|| json!([]));
            if let Some(edits) = edits.as_array_mut() {
                edits.push(edit);
            }
        }
        let changes = by_file
            .iter()
            .map(|(uri, edits)| self.change_of(uri, edits.as_array().map(Vec::as_slice).unwrap_or_default()));
        json!({ "documentChanges": changes.collect::<Vec<_>>() })
    }

    fn formatted(&self, uri: &str) -> Value {
        let Some(text) = self.text(uri) else { return Value::Null };
        Value::Array(edits(&self.patterns.formatting, text, 0..text.len(), self.encoding))
    }

    /// What a command changes; null: nothing, `None`: there is no such command.
    pub(super) fn command_edit(&self, name: &str, uri: &str) -> Option<Value> {
        let list = self.patterns.commands.get(name)?;
        let Some(text) = self.text(uri) else { return Some(Value::Null) };
        let edits = edits(list, text, 0..text.len(), self.encoding);
        if edits.is_empty() {
            return Some(Value::Null);
        }
        Some(json!({ "documentChanges": [self.change_of(uri, &edits)] }))
    }

    fn actions(&self, uri: &str, params: &Value) -> Value {
        let (Some(text), Some(range)) = (self.text(uri), range_of(&params["range"])) else { return json!([]) };
        let line_of = |position| text.line_of(text.byte_of(position, self.encoding).0);
        let lines = text.line_start(line_of(range.start))..text.line_end(line_of(range.end));
        let whole = text.to_string();
        let only = params["context"]["only"].as_array();
        let mut offered = Vec::new();
        for (index, (action, pattern)) in self.script.actions.iter().zip(&self.patterns.actions).enumerate() {
            let kind = action.kind.as_deref().unwrap_or_default();
            let fits = |wanted: &Value| wanted.as_str().is_some_and(|wanted| of_kind(kind, wanted));
            let hit = pattern.find_iter(&whole).any(|hit| lines.start <= hit.start() && hit.end() <= lines.end);
            if !hit || only.is_some_and(|only| !only.iter().any(fits)) {
                continue;
            }
            let mut offer = json!({ "title": action.title });
            if let Some(kind) = &action.kind {
                offer["kind"] = json!(kind);
            }
            if let Some(command) = &action.command {
                offer["command"] = json!({ "title": action.title, "command": command, "arguments": [uri] });
            }
            if action.resolves {
                offer["data"] = json!({ "action": index, "uri": uri, "from": lines.start, "to": lines.end });
            } else if let Some(edit) = self.action_edit(index, uri, lines.clone()) {
                offer["edit"] = edit;
            }
            offered.push(offer);
        }
        Value::Array(offered)
    }

    fn resolved(&self, action: &Value) -> Value {
        let data = &action["data"];
        let number = |name: &str| data[name].as_u64().and_then(|number| usize::try_from(number).ok());
        let mut action = action.clone();
        if let (Some(index), Some(from), Some(to)) = (number("action"), number("from"), number("to"))
            && let Some(edit) = self.action_edit(index, data["uri"].as_str().unwrap_or_default(), from..to)
        {
            action["edit"] = edit;
        }
        action
    }

    fn action_edit(&self, index: usize, uri: &str, within: std::ops::Range<usize>) -> Option<Value> {
        let with = self.script.actions.get(index)?.with.clone()?;
        let pattern = self.patterns.actions.get(index)?.clone();
        let edits = edits(&[(pattern, with)], self.text(uri)?, within, self.encoding);
        Some(json!({ "documentChanges": [self.change_of(uri, &edits)] }))
    }
}

/// Whether a kind is another or a part of it: `refactor.inline` is of the kind `refactor`.
fn of_kind(kind: &str, wanted: &str) -> bool {
    wanted.is_empty() || kind == wanted || kind.strip_prefix(wanted).is_some_and(|rest| rest.starts_with('.'))
}
