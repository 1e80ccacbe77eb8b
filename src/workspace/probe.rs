//! What a name leads to, before it is read as text: a folder, or how a file begins and how long it is.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use crate::ports::{DirEntry, Disk, FileKind};

use super::paths::{Key, Target, uri_of_path};
use super::proposals::layer;
use super::search::visible;
use super::{Refusal, RefusalKind, Workspace};

/// So many bytes of a file's beginning tell what it is.
pub const HEAD_BYTES: usize = 8 * 1024;

/// What a name leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Probe {
    /// A folder, with what is in it, sorted by name; documents that are open there and not on the disk included.
    Folder(Vec<Entry>),
    /// A regular file that is not open in the editor.
    File {
        /// Its length in bytes.
        len: u64,
        /// How it begins: at most [`HEAD_BYTES`].
        head: Vec<u8>,
    },
    /// An open document, or something that [`Workspace::view`] will refuse and say why.
    Other,
}

/// One name in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The name; bytes that are not UTF-8 as U+FFFD.
    pub name: String,
    /// The `file:` URI of it, where the name is not UTF-8 or has something in it that cannot be seen: by that it can be
    /// named.
    pub uri: Option<String>,
    /// What it is, links not followed.
    pub kind: FileKind,
    /// Whether it is open in the editor and not on the disk.
    pub unsaved: bool,
}

impl Entry {
    fn new(folder: &Path, found: DirEntry) -> Entry {
        let name = Path::new(found.file_name());
        let uri = (name.to_str() != Some(&visible(name))).then(|| uri_of_path(&folder.join(name)));
        Entry { name: found.name, uri, kind: found.kind, unsaved: false }
    }
}

/// See [`Workspace::probe`].
pub(super) async fn probe(workspace: &Workspace, target: &Target) -> Result<Probe, Refusal> {
    let Key::File(path) = &target.key else { return Ok(Probe::Other) };
    let names = proposed(workspace, path).await;
    if names.iter().any(|(below, _)| below.as_os_str().is_empty()) {
        return Ok(Probe::Other);
    }
    if workspace.documents.get(&target.key).is_some() {
        return Ok(Probe::Other);
    }
    let (disk, folder) = (workspace.ports.disk.clone(), path.clone());
    let failed =
        |what: String| Refusal::new(RefusalKind::Failed, format!("Looking at {} failed: {what}.", target.shown));
    let looked = tokio::task::spawn_blocking(move || look(&*disk, &folder)).await;
    match looked.map_err(|error| failed(error.to_string()))?.map_err(|error| failed(error.to_string()))? {
        Probe::Folder(entries) => Ok(Probe::Folder(with_proposed(path, &names, with_open(workspace, path, entries)))),
        Probe::Other => {
            // A folder may be there only by what is open in it.
            let entries = with_proposed(path, &names, with_open(workspace, path, Vec::new()));
            Ok(if entries.is_empty() { Probe::Other } else { Probe::Folder(entries) })
        }
        file @ Probe::File { .. } => Ok(file),
    }
}

/// The names at or below a path, from there, under which the session of this handle sees a text that it proposes, or
/// (false) does not see what is there.
async fn proposed(workspace: &Workspace, folder: &Path) -> Vec<(PathBuf, bool)> {
    let session = workspace.session().filter(|session| workspace.proposals.any(session));
    let Some(session) = session.map(str::to_owned) else { return Vec::new() };
    let workspace = workspace.clone();
    let searched = tokio::task::spawn_blocking(move || layer::searched(&workspace, &session)).await;
    let (texts, hidden) = searched.unwrap_or_default();
    let keys = texts.into_iter().map(|(key, _)| (key, true)).chain(hidden.into_iter().map(|key| (key, false)));
    let below = keys.filter_map(|(key, there)| match key {
        Key::File(path) => Some((path.strip_prefix(folder).ok()?.to_owned(), there)),
        Key::Unnamed(_) => None,
    });
    below.collect()
}

/// The entries of a folder as they are with what is proposed below it.
fn with_proposed(folder: &Path, names: &[(PathBuf, bool)], mut entries: Vec<Entry>) -> Vec<Entry> {
    for (below, there) in names {
        let mut parts = below.components();
        let Some(first) = parts.next() else { continue };
        let kind = if parts.next().is_some() { FileKind::Directory } else { FileKind::File };
        let entry = Entry::new(folder, DirEntry::new(first.as_os_str(), kind));
        let known = entries.iter().position(|other| (&other.name, &other.uri) == (&entry.name, &entry.uri));
        match known {
            Some(at) if !there && kind == FileKind::File => drop(entries.remove(at)),
            None if *there => entries.push(Entry { unsaved: true, ..entry }),
            _ => {}
        }
    }
    entries.sort_by(|a, b| (&a.name, &a.uri).cmp(&(&b.name, &b.uri)));
    entries
}

/// The entries of a folder, with those that are there only by documents open in it or below it; sorted by name.
fn with_open(workspace: &Workspace, folder: &Path, mut entries: Vec<Entry>) -> Vec<Entry> {
    for document in workspace.documents.all() {
        let Key::File(open) = &document.key else { continue };
        let Ok(below) = open.strip_prefix(folder) else { continue };
        let mut parts = below.components();
        let Some(first) = parts.next() else { continue };
        let kind = if parts.next().is_some() { FileKind::Directory } else { FileKind::File };
        let entry = Entry::new(folder, DirEntry::new(first.as_os_str(), kind));
        if !entries.iter().any(|other| (&other.name, &other.uri) == (&entry.name, &entry.uri)) {
            entries.push(Entry { unsaved: true, ..entry });
        }
    }
    entries.sort_by(|a, b| (&a.name, &a.uri).cmp(&(&b.name, &b.uri)));
    entries
}

fn look(disk: &dyn Disk, path: &Path) -> io::Result<Probe> {
    let Ok(found) = disk.metadata(path) else { return Ok(Probe::Other) };
    match found.kind {
        FileKind::Directory => {
            Ok(Probe::Folder(disk.read_dir(path)?.into_iter().map(|found| Entry::new(path, found)).collect()))
        }
        FileKind::File => {
            let mut head = Vec::new();
            let read = disk.open(path).and_then(|file| file.take(HEAD_BYTES as u64).read_to_end(&mut head));
            // A file that cannot be read is refused by whoever reads it, in better words.
            Ok(read.map_or(Probe::Other, |_| Probe::File { len: found.len, head }))
        }
        FileKind::Link | FileKind::Other => Ok(Probe::Other),
    }
}
