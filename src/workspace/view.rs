//! What every tool reads: the open document if there is one, else the file on the disk.

use crate::text::Text;

use super::codec::Codec;
use super::documents::Snapshot;
use super::paths::Target;

/// A text as the user sees it.
#[derive(Debug, Clone)]
pub struct View {
    /// What was asked for.
    pub target: Target,
    /// The text, without a byte order mark where it comes from the disk. (An open document that begins with one keeps it.)
    pub text: Text,
    /// Where it comes from.
    pub source: Source,
}

/// Where a text comes from.
#[derive(Debug, Clone)]
pub enum Source {
    /// The editor's buffer.
    Open {
        /// The document at that moment.
        snapshot: Snapshot,
        /// Whether it differs from the file on the disk (always true without a file).
        unsaved: bool,
    },
    /// The disk.
    Disk {
        /// How the bytes were decoded.
        codec: Codec,
        /// SHA-256 of the bytes, hex: what a commit must still find there.
        bytes_hash: String,
    },
}

impl View {
    /// The protocol's `hash` of the text.
    pub fn hash(&self) -> String {
        crate::text::hash(&self.text.to_string())
    }

    /// Whether the user has changes here that are not on the disk.
    pub fn unsaved(&self) -> bool {
        matches!(self.source, Source::Open { unsaved: true, .. })
    }

    /// The editor's version, if it is open.
    pub fn version(&self) -> Option<i32> {
        match &self.source {
            Source::Open { snapshot, .. } => Some(snapshot.version),
            Source::Disk { .. } => None,
        }
    }
}
