//! What a name means: URIs and paths to keys. One file has one key, however it is spelled.

use std::path::PathBuf;

use crate::ports::Disk;

use super::{Documents, Refusal};

/// What a document or file is to us, however it is spelled: percent encoding, drive letters and links are resolved.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
    /// A file on this machine, by its path with all links resolved (of a file that does not exist yet: those of its
    /// deepest existing folder).
    File(PathBuf),
    /// A document without a file: `untitled:`, a notebook cell. The URI as the editor spells it.
    Unnamed(String),
}

/// A file or document that a tool call names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Its key.
    pub key: Key,
    /// Its URI: the editor's spelling when it is open, else a `file:` URI of the path as it was named.
    pub uri: String,
    /// Its name in messages and diffs: relative to its workspace folder with `/`, else absolute, else the URI.
    pub shown: String,
    /// Whether it lies in one of the workspace folders (or is an open document without a file).
    pub inside: bool,
}

/// The workspace folders, in the editor's order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Roots {
    /// Canonical paths.
    pub folders: Vec<PathBuf>,
}

/// The key of a URI; `None` for schemes that are virtual to us (anything but `file:`, `untitled:`, notebook cells).
pub fn key_of_uri(disk: &dyn Disk, uri: &str) -> Option<Key> {
    let _ = (disk, uri);
    todo!()
}

/// The target that `file_path` names: an absolute path; a path relative to the folder that has it (two folders that
/// have it: an error that names both; none: the first folder); or the URI of an open document.
pub fn resolve(disk: &dyn Disk, roots: &Roots, documents: &Documents, file_path: &str) -> Result<Target, Refusal> {
    let _ = (disk, roots, documents, file_path);
    todo!()
}
