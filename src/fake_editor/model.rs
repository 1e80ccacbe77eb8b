//! The editor alone, for whoever plays it over a wire of their own: a step or a message in, messages out. Pure but for the
//! disk.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::editor::{Act, Editor};
use super::manner::Manner;
use super::step::Step;
use crate::ports::Disk;
use crate::text::Encoding;

/// An editor without a wire.
pub struct Model(Editor);

impl Model {
    /// An editor with nothing open. Paths of steps are taken from `root`, an absolute path.
    pub fn new(manner: Manner, root: &Path, disk: Arc<dyn Disk>) -> Model {
        Model(Editor::new(manner, root, disk))
    }

    /// What it declares when it says hello.
    pub fn capabilities(&self) -> Value {
        self.0.manner.capabilities(&Map::new())
    }

    /// From now on positions count in this encoding, as the other side's hello has it.
    pub fn agree(&mut self, encoding: Encoding) {
        self.0.encoding = encoding;
    }

    /// Does what the editor does by itself, or a person in it; of steps that need a wire nothing. The error says why it
    /// cannot be done; nothing has changed then.
    pub fn step(&mut self, step: &Step) -> Result<(), String> {
        self.0.step(step)
    }

    /// Hears a request or a notification of the other side.
    pub fn hear(&mut self, message: &Value) {
        self.0.hear(message);
    }

    /// What it has to say since this was last asked, in its order. What is held back waits for a `release` step.
    pub fn said(&mut self) -> Vec<Value> {
        let acts = self.0.acts().into_iter();
        let sent = acts.filter_map(|act| match act {
            Act::Send(message) => Some(message),
            Act::ReleaseAfter(_) => None,
        });
        sent.collect()
    }

    /// Whether changes are held back.
    pub fn holds_back(&self) -> bool {
        self.0.holds_back()
    }

    /// The URIs of the open documents, sorted.
    pub fn open(&self) -> Vec<String> {
        self.0.documents.keys().cloned().collect()
    }

    /// The version and the text of an open document.
    pub fn document(&self, uri: &str) -> Option<(i32, String)> {
        let document = self.0.documents.get(uri)?;
        Some((document.version, document.text().to_string()))
    }
}
