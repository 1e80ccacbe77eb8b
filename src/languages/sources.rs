//! What the editor forwards of its own language servers: diagnostics as they came, with how they count.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::text::Encoding;

/// `ropewalk/didChangeDiagnostics`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Forwarded {
    /// The document.
    pub uri: String,
    /// The version they are about, as `stamp` says.
    #[serde(default)]
    pub version: Option<i32>,
    /// Who put the version there.
    #[serde(default)]
    pub stamp: StampedBy,
    /// Whose diagnostics they are.
    pub source: SourceName,
    /// How their positions count.
    #[serde(default)]
    pub position_encoding: Encoding,
    /// Whether they were asked for.
    #[serde(default)]
    pub kind: Delivery,
    /// The diagnostics as the server sent them.
    pub diagnostics: Vec<Value>,
}

/// Who put a version on forwarded diagnostics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum StampedBy {
    /// The language server.
    Server,
    /// The editor, when it received them: says nothing about the text they are about.
    #[default]
    Receipt,
}

/// How diagnostics came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Delivery {
    /// Published by the server.
    #[default]
    Push,
    /// Asked for by the editor.
    Pull,
}

/// A source of the editor's.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SourceName {
    /// Names it in every message; unique in the editor.
    pub id: String,
    /// Its name for people.
    pub name: String,
}

/// A stage of a server's work, as `$/progress` tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ProgressKind {
    /// It began.
    Begin,
    /// It goes on.
    Report,
    /// It is done.
    End,
}
