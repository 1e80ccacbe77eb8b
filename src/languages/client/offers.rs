//! What a server can be asked beside diagnostics: by its answer to `initialize`, and by what it registered since.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

/// Each request: where its capability is in the answer to `initialize`, the method under which it is registered later,
/// and what people call it.
const REQUESTS: &[(&str, &str, &str, &str)] = &[
    ("textDocument/hover", "hoverProvider", "textDocument/hover", "hover"),
    ("textDocument/definition", "definitionProvider", "textDocument/definition", "definition"),
    ("textDocument/declaration", "declarationProvider", "textDocument/declaration", "declaration"),
    ("textDocument/typeDefinition", "typeDefinitionProvider", "textDocument/typeDefinition", "type_definition"),
    ("textDocument/implementation", "implementationProvider", "textDocument/implementation", "implementation"),
    ("textDocument/references", "referencesProvider", "textDocument/references", "references"),
    ("textDocument/documentSymbol", "documentSymbolProvider", "textDocument/documentSymbol", "document_symbols"),
    ("workspace/symbol", "workspaceSymbolProvider", "workspace/symbol", "workspace_symbols"),
    (
        "textDocument/prepareCallHierarchy",
        "callHierarchyProvider",
        "textDocument/prepareCallHierarchy",
        "incoming_calls and outgoing_calls",
    ),
    ("textDocument/rename", "renameProvider", "textDocument/rename", "rename"),
    ("textDocument/codeAction", "codeActionProvider", "textDocument/codeAction", "code_actions"),
    ("textDocument/formatting", "documentFormattingProvider", "textDocument/formatting", "format"),
    (
        "textDocument/rangeFormatting",
        "documentRangeFormattingProvider",
        "textDocument/rangeFormatting",
        "format of a range",
    ),
    // Asked only about what another request gave.
    ("callHierarchy/incomingCalls", "callHierarchyProvider", "textDocument/prepareCallHierarchy", ""),
    ("callHierarchy/outgoingCalls", "callHierarchyProvider", "textDocument/prepareCallHierarchy", ""),
    ("workspaceSymbol/resolve", "workspaceSymbolProvider", "workspace/symbol", ""),
    ("codeAction/resolve", "codeActionProvider", "textDocument/codeAction", ""),
    ("workspace/executeCommand", "executeCommandProvider", "workspace/executeCommand", ""),
    ("textDocument/diagnostic", "diagnosticProvider", "textDocument/diagnostic", ""),
];

/// Adds to the capabilities of `initialize` what may be asked here.
pub(super) fn declare(initialize: &mut Value) {
    let capabilities = &mut initialize["capabilities"];
    let kinds: Vec<u32> = (1..=26).collect();
    let links = json!({ "dynamicRegistration": true, "linkSupport": true });
    let plain = json!({ "dynamicRegistration": true });
    for (name, value) in [
        ("hover", json!({ "dynamicRegistration": true, "contentFormat": ["markdown", "plaintext"] })),
        ("definition", links.clone()),
        ("declaration", links.clone()),
        ("typeDefinition", links.clone()),
        ("implementation", links),
        ("references", plain.clone()),
        (
            "documentSymbol",
            json!({
                "dynamicRegistration": true,
                "hierarchicalDocumentSymbolSupport": true,
                "symbolKind": { "valueSet": kinds },
            }),
        ),
        ("callHierarchy", plain.clone()),
        ("rename", json!({ "dynamicRegistration": true, "honorsChangeAnnotations": true })),
        (
            "codeAction",
            json!({
                "dynamicRegistration": true,
                "codeActionLiteralSupport": { "codeActionKind": { "valueSet": [
                    "", "quickfix", "refactor", "refactor.extract", "refactor.inline", "refactor.rewrite", "source",
                    "source.organizeImports", "source.fixAll",
                ] } },
                "isPreferredSupport": true,
                "disabledSupport": true,
                "dataSupport": true,
                "resolveSupport": { "properties": ["edit", "command"] },
                "honorsChangeAnnotations": true,
            }),
        ),
        // Said at the start or never: who formats is asked right after it, when nothing would be registered yet.
        ("formatting", json!({ "dynamicRegistration": false })),
        ("rangeFormatting", plain.clone()),
    ] {
        capabilities["textDocument"][name] = value;
    }
    for (name, value) in [
        ("applyEdit", json!(true)),
        (
            "workspaceEdit",
            json!({
                "documentChanges": true,
                "resourceOperations": ["create", "rename", "delete"],
                "failureHandling": "abort",
                "normalizesLineEndings": false,
                "changeAnnotationSupport": { "groupsOnLabel": false },
            }),
        ),
        (
            "symbol",
            json!({
                "dynamicRegistration": true,
                "symbolKind": { "valueSet": (1..=26).collect::<Vec<u32>>() },
                "resolveSupport": { "properties": ["location.range"] },
            }),
        ),
        ("executeCommand", plain),
    ] {
        capabilities["workspace"][name] = value;
    }
}

/// What one server can be asked.
#[derive(Debug, Default)]
pub(super) struct Offers(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    /// The `capabilities` of its answer to `initialize`.
    capabilities: Value,
    /// What it registered since, by its id: method and options.
    registered: BTreeMap<String, (String, Value)>,
    /// What it last published, by URI.
    published: BTreeMap<String, Vec<Value>>,
}

impl Offers {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in its answer to `initialize`.
    pub(super) fn since_the_start(&self, answer: &Value) {
        self.known().capabilities = answer["capabilities"].clone();
    }

    /// Takes in a request of the server's own.
    pub(super) fn hear(&self, method: &str, params: &Value) {
        match method {
            "client/registerCapability" => {
                for item in params["registrations"].as_array().into_iter().flatten() {
                    let (Some(id), Some(method)) = (item["id"].as_str(), item["method"].as_str()) else { continue };
                    if REQUESTS.iter().any(|request| request.2 == method) {
                        let options = (method.to_owned(), item["registerOptions"].clone());
                        self.known().registered.insert(id.to_owned(), options);
                    }
                }
            }
            "client/unregisterCapability" => {
                // The misspelling is the protocol's own.
                let list = params["unregisterations"].as_array().or_else(|| params["unregistrations"].as_array());
                for item in list.into_iter().flatten() {
                    self.known().registered.remove(item["id"].as_str().unwrap_or_default());
                }
            }
            _ => {}
        }
    }

    /// Takes in a notification of the server's own.
    pub(super) fn heed(&self, method: &str, params: &Value) {
        if method == "textDocument/publishDiagnostics"
            && let (Some(uri), Some(items)) = (params["uri"].as_str(), params["diagnostics"].as_array())
        {
            self.known().published.insert(uri.to_owned(), items.clone());
        }
    }

    /// What it last published of a document on these lines (0-based, as it counts): many of its actions are for one of
    /// these, and are offered only to one who names it.
    pub(super) fn published(&self, uri: &str, lines: RangeInclusive<u32>) -> Vec<Value> {
        let known = self.known();
        let on = |item: &&Value| {
            let line = |end: &str| item["range"][end]["line"].as_u64().and_then(|line| u32::try_from(line).ok());
            let (Some(start), Some(end)) = (line("start"), line("end")) else { return false };
            start <= *lines.end() && *lines.start() <= end
        };
        known.published.get(uri).into_iter().flatten().filter(on).cloned().collect()
    }

    /// Whether it can be asked this, with these parameters, about a document of this language and URI.
    pub(super) fn can(&self, method: &str, document: Option<(&str, &str)>, fields: &Value) -> bool {
        let Some((_, provider, registered, _)) = REQUESTS.iter().find(|request| request.0 == method) else {
            return false;
        };
        let known = self.known();
        let later = known.registered.values().filter(|(of, options)| of == registered && selects(options, document));
        // `null` is no capability there; a registration may come without options.
        let at_start = known.capabilities.get(provider).filter(|options| !options.is_null()).into_iter();
        at_start.chain(later.map(|(_, options)| options)).any(|options| allows(method, options, fields))
    }

    /// What it can be asked about a document, in people's words, in a fixed order.
    pub(super) fn all(&self, document: Option<(&str, &str)>) -> Vec<&'static str> {
        let named = REQUESTS.iter().filter(|request| !request.3.is_empty());
        named.filter(|request| self.can(request.0, document, &Value::Null)).map(|request| request.3).collect()
    }
}

/// Whether options that stand for a capability cover this request.
fn allows(method: &str, options: &Value, fields: &Value) -> bool {
    match method {
        "codeAction/resolve" | "workspaceSymbol/resolve" => options["resolveProvider"] == true,
        "workspace/executeCommand" => {
            let known = options["commands"].as_array();
            known.is_some_and(|known| known.iter().any(|command| *command == fields["command"]))
        }
        _ => *options != Value::Bool(false),
    }
}

/// Whether a registration is for a document; a pattern is not looked at, for the server knows best.
fn selects(options: &Value, document: Option<(&str, &str)>) -> bool {
    let (Some(filters), Some((language, uri))) = (options["documentSelector"].as_array(), document) else {
        return true;
    };
    filters.iter().any(|filter| {
        let language = filter["language"].as_str().is_none_or(|wanted| wanted == "*" || wanted == language);
        let scheme = filter["scheme"].as_str().is_none_or(|scheme| uri.split(':').next() == Some(scheme));
        language && scheme
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PYTHON: Option<(&str, &str)> = Some(("python", "file:///w/a.py"));

    #[test]
    fn who_formats_is_said_at_the_start() {
        let mut params = json!({ "capabilities": { "textDocument": {}, "workspace": {} } });
        declare(&mut params);
        assert_eq!(params["capabilities"]["textDocument"]["formatting"]["dynamicRegistration"], false);
    }

    #[test]
    fn capabilities_of_every_form() {
        fn check(capabilities: &Value, method: &str, expected: bool) {
            let offers = Offers::default();
            offers.since_the_start(&json!({ "capabilities": capabilities }));
            assert_eq!(offers.can(method, PYTHON, &Value::Null), expected, "{capabilities} {method}");
        }
        check(&json!({ "hoverProvider": true }), "textDocument/hover", true);
        check(&json!({ "hoverProvider": {} }), "textDocument/hover", true);
        check(&json!({ "hoverProvider": false }), "textDocument/hover", false);
        check(&json!({ "hoverProvider": null }), "textDocument/hover", false);
        check(&json!({}), "textDocument/hover", false);
        check(&Value::Null, "textDocument/hover", false);
        check(&json!({ "codeActionProvider": true }), "codeAction/resolve", false);
        check(&json!({ "codeActionProvider": { "resolveProvider": true } }), "codeAction/resolve", true);
        check(&json!({ "callHierarchyProvider": true }), "callHierarchy/incomingCalls", true);
        check(&json!({ "hoverProvider": true }), "their/own", false);
    }

    #[test]
    fn registrations_come_and_go_and_have_their_documents() {
        let offers = Offers::default();
        let register = |id: &str, method: &str, options: Value| {
            let item = json!({ "id": id, "method": method, "registerOptions": options });
            offers.hear("client/registerCapability", &json!({ "registrations": [item] }));
        };
        register("1", "textDocument/hover", json!({ "documentSelector": [{ "language": "python" }] }));
        register("2", "textDocument/rename", json!({ "documentSelector": [{ "scheme": "untitled" }] }));
        register("3", "textDocument/references", Value::Null);
        register("4", "textDocument/formatting", json!({ "documentSelector": null }));
        register("5", "workspace/executeCommand", json!({ "commands": ["a"] }));
        register("6", "workspace/didChangeWatchedFiles", json!({}));
        assert!(offers.can("textDocument/hover", PYTHON, &Value::Null));
        assert!(!offers.can("textDocument/hover", Some(("rust", "file:///w/a.rs")), &Value::Null));
        assert!(!offers.can("textDocument/rename", PYTHON, &Value::Null));
        assert!(offers.can("workspace/executeCommand", None, &json!({ "command": "a" })));
        assert!(!offers.can("workspace/executeCommand", None, &json!({ "command": "b" })));
        assert_eq!(offers.all(PYTHON), ["hover", "references", "format"]);
        offers.hear("client/unregisterCapability", &json!({ "unregisterations": [{ "id": "1" }, { "id": "3" }] }));
        assert_eq!(offers.all(PYTHON), ["format"]);
    }
}
