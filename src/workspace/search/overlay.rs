//! What lies over the disk: the text of the editor's buffers (and of whatever else is laid on top), as it was when a
//! search began. One overlay serves every tool that looks for files or text.

use std::collections::{BTreeMap, HashSet};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use crate::text::Text;
use crate::workspace::documents::{Snapshot, Sync};
use crate::workspace::paths::Key;

/// A text that takes the place of a file's.
#[derive(Debug, Clone, PartialEq)]
pub struct Layer {
    /// The URI it is known by, if it is an open document.
    pub uri: Option<String>,
    /// The text.
    pub text: Text,
    /// Whether it is known to differ from the file. What is not known is found out when it matters.
    pub unsaved: Option<bool>,
    /// Whether it may differ from what the editor shows.
    pub doubt: bool,
}

/// All of them. Files that do not exist on the disk are among them, and so are ignored ones: the user has opened them.
#[derive(Debug, Clone, Default)]
pub struct Overlay {
    files: BTreeMap<PathBuf, Layer>,
    unnamed: BTreeMap<String, Layer>,
    /// The paths of `files`, for the many questions that are answered with no.
    known: HashSet<Vec<u8>>,
}

impl Overlay {
    /// The documents that are open, and over them `proposals`: texts that a session sees and nobody else.
    pub fn new(documents: &[Snapshot], proposals: &[(Key, Text)]) -> Overlay {
        let mut overlay = Overlay::default();
        let open = documents.iter().map(|document| {
            let doubt = document.trust != Sync::Good;
            let layer = Layer { uri: Some(document.uri.clone()), text: document.text.clone(), unsaved: None, doubt };
            (document.key.clone(), layer)
        });
        let proposed = proposals.iter().map(|(key, text)| {
            let uri = documents.iter().find(|document| document.key == *key).map(|document| document.uri.clone());
            (key.clone(), Layer { uri, text: text.clone(), unsaved: Some(true), doubt: false })
        });
        for (key, layer) in open.chain(proposed) {
            match key {
                Key::File(path) => {
                    overlay.known.insert(path.as_os_str().as_bytes().to_vec());
                    overlay.files.insert(path, layer);
                }
                Key::Unnamed(uri) => {
                    overlay.unnamed.insert(uri, Layer { unsaved: Some(true), ..layer });
                }
            }
        }
        overlay
    }

    /// Takes a file or document out of what is seen: it is proposed to be deleted or moved away.
    pub fn hide(&mut self, key: &Key) {
        match key {
            Key::File(path) => {
                self.known.insert(path.as_os_str().as_bytes().to_vec());
                self.files.remove(path);
            }
            Key::Unnamed(uri) => drop(self.unnamed.remove(uri)),
        }
    }

    /// Whether a file is not to be seen at all.
    pub fn hides(&self, path: &Path) -> bool {
        self.covers(path) && !self.files.contains_key(path)
    }

    /// Whether a file has a text here, or is not to be seen. Paths with all links resolved.
    pub fn covers(&self, path: &Path) -> bool {
        !self.known.is_empty() && self.known.contains(path.as_os_str().as_bytes())
    }

    /// The text of a file.
    pub fn file(&self, path: &Path) -> Option<&Layer> {
        self.files.get(path)
    }

    /// The text of a document without a file.
    pub fn unnamed(&self, uri: &str) -> Option<&Layer> {
        self.unnamed.get(uri)
    }

    /// The files below a folder, sorted.
    pub fn below<'a>(&'a self, folder: &'a Path) -> impl Iterator<Item = (&'a PathBuf, &'a Layer)> + 'a {
        self.files.iter().filter(move |(path, _)| path.starts_with(folder) && path.as_path() != folder)
    }

    /// The documents without a file, sorted by URI.
    pub fn all_unnamed(&self) -> impl Iterator<Item = (&String, &Layer)> {
        self.unnamed.iter()
    }
}
