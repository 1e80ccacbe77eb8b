//! What every tool reads: the open document if there is one, else the file on the disk.

use std::io;
use std::path::Path;

use serde_json::json;

use crate::ports::{DirEntry, Disk, FileKind};
use crate::text::{BOM, LineBreaks, LineEnds, Text, hash_bytes};

use super::codec::{self, Codec, CodecError, Decoded};
use super::documents::Snapshot;
use super::paths::{Key, Target, not_open, uri_of_path};
use super::proposals::layer;
use super::search::visible;
use super::{Refusal, RefusalKind, Workspace};

/// Files longer than this (bytes) are not read as text: editors do not open them either.
pub const MAX_FILE_BYTES: u64 = 50 * 1024 * 1024;

/// At most so many names are offered where one was not found.
const MAX_HINTS: usize = 3;

/// Names less alike than this (0 to 1, over characters, case aside) are no hint.
const MIN_LIKENESS: f32 = 0.7;

/// A text as the user sees it.
#[derive(Debug, Clone)]
pub struct View {
    /// What was asked for.
    pub target: Target,
    /// The text, without a byte order mark where it comes from the disk. (An open document that begins with one keeps it.)
    pub text: Text,
    /// Where it comes from.
    pub source: Source,
    /// What the reader should know of it, for the model: that its encoding was guessed, or
    /// that the editor's text is not known for certain.
    pub note: Option<String>,
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
        /// Whether there is no such file on the disk.
        missing: bool,
    },
    /// The disk.
    Disk {
        /// How the bytes were decoded.
        codec: Codec,
        /// SHA-256 of the bytes, hex: what a commit must still find there.
        bytes_hash: String,
    },
    /// What the session proposes, which is nowhere yet.
    Proposed {
        /// What is really there; `None`: no such file.
        real: Option<Box<View>>,
    },
}

impl View {
    /// The protocol's `hash` of the text.
    pub fn hash(&self) -> String {
        crate::text::hash(&self.text.to_string())
    }

    /// Whether the user has changes here that are not on the disk.
    pub fn unsaved(&self) -> bool {
        matches!(self.source, Source::Open { unsaved: true, .. } | Source::Proposed { .. })
    }

    /// Whether it is only proposed.
    pub fn proposed(&self) -> bool {
        matches!(self.source, Source::Proposed { .. })
    }

    /// What is really there, without what the session proposes; `None`: nothing.
    pub fn real(&self) -> Option<&View> {
        match &self.source {
            Source::Proposed { real } => real.as_deref(),
            Source::Open { .. } | Source::Disk { .. } => Some(self),
        }
    }

    /// The editor's name for its language, if it is open.
    pub fn language(&self) -> Option<&str> {
        match &self.source {
            Source::Open { snapshot, .. } => Some(&snapshot.language_id),
            Source::Disk { .. } => None,
            Source::Proposed { real } => real.as_ref()?.language(),
        }
    }

    /// How the bytes on the disk stand for the text; `None` for a document, which is text for the editor.
    pub fn encoding(&self) -> Option<&'static str> {
        match &self.source {
            Source::Open { .. } | Source::Proposed { .. } => None,
            Source::Disk { codec, .. } => Some(codec.name()),
        }
    }

    /// Which line ends the text has: `lf`, `crlf` or `mixed`; `None` for none.
    pub fn line_ends(&self) -> Option<&'static str> {
        match self.text.line_ends() {
            LineEnds { lf: 0, crlf: 0, .. } => None,
            LineEnds { crlf: 0, .. } => Some("lf"),
            LineEnds { lf: 0, .. } => Some("crlf"),
            LineEnds { .. } => Some("mixed"),
        }
    }

    /// The editor's version, if it is open.
    pub fn version(&self) -> Option<i32> {
        match &self.source {
            Source::Open { snapshot, .. } => Some(snapshot.version),
            Source::Disk { .. } | Source::Proposed { .. } => None,
        }
    }
}

/// See [`Workspace::view`].
pub(super) async fn view(workspace: &Workspace, target: &Target) -> Result<View, Refusal> {
    if matches!(target.key, Key::Unnamed(_)) && workspace.session().is_none_or(|name| !workspace.proposals.any(name)) {
        return now(workspace, target);
    }
    let shown = target.shown.clone();
    let (workspace, target) = (workspace.clone(), target.clone());
    let read = tokio::task::spawn_blocking(move || match workspace.session() {
        Some(session) => layer::view(&workspace, session, &target),
        None => now(&workspace, &target),
    });
    read.await
        .unwrap_or_else(|error| Err(Refusal::new(RefusalKind::Failed, format!("Reading {shown} failed: {error}."))))
}

/// What is really there, whoever asks. Blocking.
pub(super) fn now(workspace: &Workspace, target: &Target) -> Result<View, Refusal> {
    let (disk, target) = (&*workspace.ports.disk, target.clone());
    match (&target.key, workspace.documents.get(&target.key)) {
        (Key::Unnamed(_), Some(snapshot)) => Ok(of_document(target, snapshot, true, true)),
        (Key::Unnamed(uri), None) => Err(not_open(&workspace.documents, uri)),
        (Key::File(path), Some(snapshot)) => {
            let unsaved = !same_on_disk(disk, path, &snapshot.text);
            let gone = || disk.metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
            let missing = unsaved && gone();
            Ok(of_document(target, snapshot, unsaved, missing))
        }
        (Key::File(path), None) => of_file(disk, &path.clone(), target, workspace.documents.counting().breaks),
    }
}

fn of_document(target: Target, snapshot: Snapshot, unsaved: bool, missing: bool) -> View {
    let doubt = snapshot.trust.doubt();
    let note =
        doubt.map(|why| format!("The editor's text of {} may differ from what is shown here: {why}.", target.shown));
    View { target, text: snapshot.text.clone(), source: Source::Open { snapshot, unsaved, missing }, note }
}

/// Whether the file holds this text, byte order marks aside. What cannot be read does not.
pub(super) fn same_on_disk(disk: &dyn Disk, path: &Path, text: &Text) -> bool {
    // No codec takes more than twice the bytes of UTF-8 and a mark, so that a huge file need not be read.
    let plausible = |len: u64| len <= text.len() as u64 * 2 + 3;
    if !disk.metadata(path).is_ok_and(|found| found.kind == FileKind::File && plausible(found.len)) {
        return false;
    }
    let Ok(bytes) = disk.read(path) else { return false };
    let saved = match codec::decode(&bytes) {
        Ok(decoded) => decoded.text,
        // An editor shows a file with a NUL in it all the same.
        Err(_) => String::from_utf8_lossy(&bytes).into_owned(),
    };
    let rope = text.rope();
    let rope = if rope.chars().next() == Some(BOM) { rope.slice(1..) } else { rope.slice(..) };
    rope == saved.strip_prefix(BOM).unwrap_or(&saved)
}

/// Refuses a file that is too long (bytes) to be read as text, before it is read.
pub(super) fn check_size(shown: &str, len: u64) -> Result<(), Refusal> {
    if len <= MAX_FILE_BYTES {
        return Ok(());
    }
    let message = format!(
        "{shown} has {len} bytes; files above {MAX_FILE_BYTES} bytes are not read as text. Search it, or cut out the \
         part you need with a command."
    );
    Err(Refusal::new(RefusalKind::Failed, message))
}

/// The text of a file.
fn of_file(disk: &dyn Disk, path: &Path, target: Target, breaks: LineBreaks) -> Result<View, Refusal> {
    let shown = target.shown.as_str();
    let found = disk.metadata(path).map_err(|error| unreadable(disk, path, shown, &error))?;
    let refuse = |kind, message| Err(Refusal::new(kind, message));
    match found.kind {
        FileKind::File => {}
        FileKind::Directory => {
            return refuse(RefusalKind::InvalidArguments, format!("{shown} is a directory; name a file in it."));
        }
        FileKind::Link | FileKind::Other => {
            let message = format!("{shown} is neither a file nor a directory but a pipe, a socket or a device.");
            return refuse(RefusalKind::InvalidArguments, message);
        }
    }
    check_size(shown, found.len)?;
    let bytes = disk.read(path).map_err(|error| unreadable(disk, path, shown, &error))?;
    let Decoded { text, codec, note } = codec::decode(&bytes).map_err(|error| {
        let size = if matches!(error, CodecError::Binary(_)) {
            format!("; it has {} bytes and cannot be read as text", bytes.len())
        } else {
            String::new()
        };
        Refusal::new(RefusalKind::Failed, format!("{shown} {error}{size}."))
    })?;
    if let Some(percent) = codec::binary_share(&text, codec) {
        let message = format!(
            "{shown} is binary: {percent} % of it are control characters; it has {} bytes and cannot be read as text.",
            bytes.len()
        );
        return refuse(RefusalKind::Failed, message);
    }
    let source = Source::Disk { codec, bytes_hash: hash_bytes(&bytes) };
    Ok(View { target, text: Text::new(&text, breaks), source, note })
}

/// Why a path cannot be read, with names that are nearly the one that was given.
pub(super) fn unreadable(disk: &dyn Disk, path: &Path, shown: &str, error: &io::Error) -> Refusal {
    match error.kind() {
        io::ErrorKind::NotFound => {}
        io::ErrorKind::NotADirectory => {
            let message = format!("There is no file {shown}: a part of its path is a file, not a directory.");
            return Refusal::new(RefusalKind::NotFound, message);
        }
        io::ErrorKind::PermissionDenied => {
            let message = format!("{shown} may not be read: the system denies access to it.");
            return Refusal::new(RefusalKind::Failed, message);
        }
        _ => return Refusal::new(RefusalKind::Failed, format!("{shown} could not be read: {error}.")),
    }
    let mut missing = path;
    let folder = path.ancestors().skip(1).find(|folder| {
        let found = disk.metadata(folder).is_ok_and(|found| found.kind == FileKind::Directory);
        if !found {
            missing = folder;
        }
        found
    });
    let entries: Vec<DirEntry> = folder
        .and_then(|folder| disk.read_dir(folder).ok())
        .unwrap_or_default()
        .into_iter()
        // On the way to a file only folders can be meant.
        .filter(|entry| missing == path || entry.kind != FileKind::File)
        .collect();
    let wanted = missing.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    // Of a name that is not UTF-8 a call can give the URI only, and the one that was given may be how it was shown.
    let (odd, plain): (Vec<DirEntry>, Vec<DirEntry>) = entries.into_iter().partition(|entry| entry.exact.is_some());
    let names: Vec<String> = plain.into_iter().map(|entry| entry.name).collect();
    let near = near_names(&wanted, &names);
    // The name as it was shown, as far as it exists, and then the other name.
    let depth = path.components().count() - missing.components().count();
    let named = if path.to_str() == Some(&visible(path)) { Path::new(shown) } else { path };
    let above = named.ancestors().nth(depth + 1).unwrap_or(Path::new(""));
    let odd = odd.iter().filter(|entry| entry.name == wanted);
    let odd = odd.filter_map(|entry| Some(uri_of_path(&folder?.join(entry.file_name()))));
    let near = near.iter().map(|name| above.join(name).to_string_lossy().into_owned());
    let candidates: Vec<String> = odd.chain(near).take(MAX_HINTS).collect();
    let mut message = format!("There is no file {shown}.");
    if depth > 0 {
        let there = visible(named.ancestors().nth(depth).unwrap_or(named));
        message = format!("There is no file {shown}: its folder {there} does not exist.");
    }
    if shown.contains(char::REPLACEMENT_CHARACTER) {
        message.push_str(" A name whose bytes are not UTF-8 is given by its `file:` URI, each such byte as %XX.");
    }
    if !candidates.is_empty() {
        message = format!("{message} Did you mean {}?", candidates.join(", "));
    }
    Refusal { kind: RefusalKind::NotFound, message, data: Some(json!({ "candidates": candidates })) }
}

/// The names most like the wanted one, best first, at most [`MAX_HINTS`].
fn near_names<'a>(wanted: &str, names: &'a [String]) -> Vec<&'a str> {
    let letters = |name: &str| {
        let mut letters: Vec<char> = name.chars().collect();
        letters.sort_unstable();
        letters
    };
    let wanted = wanted.to_lowercase();
    let mut near: Vec<(f32, &str)> = names
        .iter()
        .map(|name| {
            let lower = name.to_lowercase();
            // In a short name two swapped letters weigh much, and yet they are the commonest slip.
            let swapped = if letters(&lower) == letters(&wanted) { MIN_LIKENESS } else { 0.0 };
            (similar::TextDiff::from_chars(wanted.as_str(), lower.as_str()).ratio().max(swapped), name.as_str())
        })
        .filter(|(likeness, _)| *likeness >= MIN_LIKENESS)
        .collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    near.into_iter().take(MAX_HINTS).map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests;
