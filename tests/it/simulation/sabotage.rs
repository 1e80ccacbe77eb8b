//! Faults that are made on purpose, one of each kind that is looked for: what finds none of these finds nothing.

use std::sync::Arc;

use ropewalk::fake_editor::Model;
use ropewalk::fake_editor::step::{Change, Step as Move};
use ropewalk::ports::MemoryDisk;
use serde_json::{Value, json};

use super::texts::{is_key, is_mark, range};

/// A fault that is made once, at the first occasion after some others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sabotage {
    /// A change is not told to the sidecar.
    LoseChange,
    /// An answer to a call is lost.
    LoseAnswer,
    /// An answer to a call comes twice.
    DoubleAnswer,
    /// An edit takes a typed character with it.
    EatKey,
    /// An edit is made twice.
    Twice,
    /// An edit is not made, and its call says that it was.
    Forget,
    /// The sidecar writes an unsaved text to the disk.
    WriteDisk,
    /// A report has no errors where there are some.
    CallClean,
}

/// All of them, with the rule that each breaks.
pub const ALL: [(Sabotage, &str); 8] = [
    (Sabotage::LoseChange, "mirror"),
    (Sabotage::LoseAnswer, "answer"),
    (Sabotage::DoubleAnswer, "answer"),
    (Sabotage::EatKey, "keystroke"),
    (Sabotage::Twice, "edit"),
    (Sabotage::Forget, "edit"),
    (Sabotage::WriteDisk, "disk"),
    (Sabotage::CallClean, "verdict"),
];

/// So many occasions pass before the fault is made.
const PASSED: u32 = 1;

/// Makes a fault, or none.
pub struct Saboteur {
    what: Option<Sabotage>,
    passed: u32,
}

impl Saboteur {
    /// One that makes this fault.
    pub fn new(what: Option<Sabotage>) -> Saboteur {
        Saboteur { what, passed: 0 }
    }

    /// Whether now is the time for a fault.
    fn strikes(&mut self, what: Sabotage) -> bool {
        if self.what != Some(what) {
            return false;
        }
        self.passed += 1;
        let now = self.passed > PASSED;
        if now {
            self.what = None;
        }
        now
    }

    /// Whether a message to the sidecar is lost.
    pub fn drops(&mut self, message: &Value) -> bool {
        message["method"] == "textDocument/didChange" && self.strikes(Sabotage::LoseChange)
    }

    /// What is heard of a message of the sidecar's.
    pub fn hears(&mut self, message: Value) -> Vec<Value> {
        let call = !message["result"]["callId"].is_null();
        if call && self.strikes(Sabotage::LoseAnswer) {
            return Vec::new();
        }
        if call && self.strikes(Sabotage::DoubleAnswer) {
            return vec![message.clone(), message];
        }
        if message["result"]["applied"] == "none"
            && message["result"]["proposed"] != true
            && self.strikes(Sabotage::Forget)
        {
            let mut message = message;
            message["result"]["applied"] = json!("all");
            message["result"]["error"] = Value::Null;
            return vec![message];
        }
        vec![message]
    }

    /// What goes wrong while an edit is made.
    pub fn applies(&mut self, model: &mut Model, utf8: bool) {
        for uri in model.open() {
            let Some((_, text)) = model.document(&uri) else { continue };
            let of = |wanted: fn(char) -> bool| text.char_indices().find(|(_, letter)| wanted(*letter));
            let (bytes, new) = if let Some((at, letter)) = of(is_key).filter(|_| self.strikes(Sabotage::EatKey)) {
                (at..at + letter.len_utf8(), String::new())
            } else if let Some((at, letter)) = of(is_mark).filter(|_| self.strikes(Sabotage::Twice)) {
                (at..at, letter.to_string())
            } else {
                continue;
            };
            let change = Change { path: uri.clone(), range: range(&text, bytes, utf8), text: new };
            model.step(&Move::Change(change)).expect("a change");
        }
    }

    /// What is written by whom nobody asked.
    pub fn writes(&mut self, disk: &Arc<MemoryDisk>) {
        if self.strikes(Sabotage::WriteDisk) {
            disk.put("/w/a.txt", "nobody saved this\n");
        }
    }

    /// What a report becomes.
    pub fn reports(&mut self, mut report: Value) -> Value {
        if self.what != Some(Sabotage::CallClean) {
            return report;
        }
        for document in report["documents"].as_array_mut().into_iter().flatten() {
            for source in document["sources"].as_array_mut().into_iter().flatten() {
                source["new"] = json!([]);
                source["present"] = json!([]);
                source["unchangedErrors"] = json!(0);
                source["cut"] = json!(0);
            }
        }
        report
    }
}
