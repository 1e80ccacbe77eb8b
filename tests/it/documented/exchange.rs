//! Exchanges as they go over the wire, kept for the pages.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::editor::FakeEditor;

/// Messages of one run, by the label of the example that shows them.
#[derive(Default)]
pub struct Examples(pub BTreeMap<&'static str, Vec<Value>>);

impl Examples {
    /// Keeps a message for the example of this name.
    pub fn show(&mut self, label: &'static str, message: Value) {
        self.0.entry(label).or_default().push(message);
    }

    /// Sends a request and shows it with its answer.
    pub async fn ask(&mut self, editor: &mut FakeEditor, method: &'static str, params: Value) -> Value {
        let id = self.send(editor, method, params);
        self.answer(editor, method, id).await
    }

    /// Sends a request and shows it.
    pub fn send(&mut self, editor: &mut FakeEditor, method: &'static str, params: Value) -> i64 {
        let id = editor.request(method, params.clone());
        self.show(method, json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    /// Waits for an answer and shows it.
    pub async fn answer(&mut self, editor: &mut FakeEditor, label: &'static str, id: i64) -> Value {
        let answer = editor.maybe_answer(id).await.expect("an answer");
        self.show(label, answer.clone());
        answer["result"].clone()
    }

    /// Sends a notification and shows it.
    pub fn notify(&mut self, editor: &FakeEditor, method: &'static str, params: Value) {
        editor.notify(method, params.clone());
        self.show(method, json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// Waits for a request of the sidecar's, answers it, and shows both.
    pub async fn asked(&mut self, editor: &mut FakeEditor, method: &'static str, result: Value) {
        let (id, params) = editor.asked(method).await;
        self.show(method, json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        editor.respond(&id, result.clone());
        self.show(method, json!({ "jsonrpc": "2.0", "id": id, "result": result }));
    }
}
