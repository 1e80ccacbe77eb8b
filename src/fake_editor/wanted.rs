//! `workspace/applyEdit` as a sidecar asks for it, and its edits as splices of a text. Pure.

use serde::Deserialize;

use crate::text::{Clamp, Encoding, Splice, Text, TextEdit};

/// The params of `workspace/applyEdit`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ApplyEdit {
    /// What is to be changed.
    pub edit: WorkspaceEdit,
}

/// Changes of documents.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceEdit {
    /// In their order.
    pub document_changes: Vec<DocumentEdit>,
}

/// Changes of one document.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DocumentEdit {
    /// Which, and at which version.
    pub text_document: Versioned,
    /// The edits, whose places are those of that version.
    pub edits: Vec<TextEdit>,
}

/// A document with its version.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Versioned {
    /// Its URI.
    pub uri: String,
    /// The version that the edits are for; `None`: whichever is there.
    pub version: Option<i32>,
}

/// The edits of a text as splices: clamped to the text, as editors do, but never inside a character, and never two of one
/// place; `None` where one would be.
pub fn splices_of(text: &Text, edits: &[TextEdit], encoding: Encoding) -> Option<Vec<Splice>> {
    let splices = edits.iter().map(|edit| {
        let (splice, clamp) = text.splice_of(edit, encoding);
        (clamp != Clamp::MidCharacter).then_some(splice)
    });
    let splices: Vec<Splice> = splices.collect::<Option<_>>()?;
    let mut ranges: Vec<_> = splices.iter().map(|splice| (splice.range.start, splice.range.end)).collect();
    ranges.sort_unstable();
    let apart = ranges.windows(2).all(|pair| pair[0].1 <= pair[1].0);
    apart.then_some(splices)
}
