//! What the editor does to its own texts when we ask: it formats a document, and it saves documents.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::text::TextEdit;

/// Asks how the editor's formatter would change a document: `ropewalk/format`. Nothing is changed by it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FormatParams {
    /// The document, spelled as the editor spells it.
    pub uri: String,
    /// The version that is meant. An editor that has another one by now answers with an error.
    pub version: i32,
}

/// The answer to [`FormatParams`]; null means that the editor has no formatter for the document.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct FormatResult {
    /// Edits of the version that was asked about, in the negotiated encoding; they do not overlap. Absent or null where
    /// the editor has no formatter for the document: then a language server of ours, or a command, is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edits: Option<Vec<TextEdit>>,
}

/// Asks the editor to save documents: `ropewalk/save`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SaveParams {
    /// The documents, spelled as the editor spells them.
    pub uris: Vec<String>,
}

/// The answer to [`SaveParams`]; null means that none failed. It is not believed: the disk is looked at.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SaveResult {
    /// The documents that were not saved.
    pub failed: Vec<SaveFailure>,
}

/// A document that was not saved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SaveFailure {
    /// The document.
    pub uri: String,
    /// Why not, in words for a person.
    pub reason: String,
}
