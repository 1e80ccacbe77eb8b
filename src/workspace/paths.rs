//! What a name means: URIs and paths to keys. One file has one key, however it is spelled.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Component, Path, PathBuf};

use serde_json::json;

use crate::ports::{Disk, FileKind};
use crate::text::percent;

use super::search::visible;
use super::{Documents, Refusal, RefusalKind, Snapshot};

/// What a document or file is to us, however it is spelled: percent encoding, drive letters and links are resolved.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
    /// A file on this machine, by its path with all links resolved (of a file that does not exist yet: those of its
    /// deepest existing folder).
    File(PathBuf),
    /// A document without a file of its own: `untitled:`, a notebook cell, a second buffer of a file that is open under
    /// another spelling. The URI as the editor spells it.
    Unnamed(String),
}

/// A file or document that a tool call names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Its key.
    pub key: Key,
    /// Its URI: the editor's spelling when it is open, else a `file:` URI of the path as it was named.
    pub uri: String,
    /// Its name in messages and diffs: relative to its workspace folder with `/`, else absolute, else the URI; in quotes
    /// and escaped where there is something in it that cannot be seen or is not UTF-8.
    pub shown: String,
    /// The files it stands for or would be saved to, with all links resolved: of a file that is not open, its path; of
    /// a document, the file it was when it was opened and whatever its spelling leads to now. They differ where a link
    /// has changed. Empty for a document that has no place in the file system yet.
    pub paths: Vec<PathBuf>,
    /// Whether all of `paths` lie in the workspace folders; so does a document without any.
    pub inside: bool,
}

/// The workspace folders, in the editor's order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Roots {
    /// Canonical paths.
    pub folders: Vec<PathBuf>,
}

impl Roots {
    /// The folders of these URIs, each once; those that are virtual to us are left out.
    pub fn from_uris<'a>(disk: &dyn Disk, uris: impl IntoIterator<Item = &'a str>) -> Roots {
        Roots::of(uris.into_iter().filter_map(|uri| match key_of_uri(disk, uri)? {
            Key::File(path) => Some(path),
            Key::Unnamed(_) => None,
        }))
    }

    /// The folders of these absolute paths, each once.
    pub fn from_paths<'a>(disk: &dyn Disk, paths: impl IntoIterator<Item = &'a Path>) -> Roots {
        Roots::of(paths.into_iter().map(|path| canonical(disk, path)))
    }

    fn of(paths: impl Iterator<Item = PathBuf>) -> Roots {
        let mut folders = Vec::new();
        for path in paths {
            if !folders.contains(&path) {
                folders.push(path);
            }
        }
        Roots { folders }
    }

    /// The innermost folder that holds a canonical path.
    pub fn holding(&self, path: &Path) -> Option<&Path> {
        let holding = self.folders.iter().filter(|folder| path.starts_with(folder));
        holding.max_by_key(|folder| folder.as_os_str().len()).map(PathBuf::as_path)
    }
}

/// The key of a URI; `None` for schemes that are virtual to us (anything but `file:`, `untitled:`, notebook cells) and
/// for files of other machines.
///
/// Asks the disk about links. For a document that may be open, [`Documents::key_of`] comes first: it costs nothing, and
/// it still knows the document when a link has changed since it was opened.
pub fn key_of_uri(disk: &dyn Disk, uri: &str) -> Option<Key> {
    let (scheme, rest) = scheme(uri)?;
    match scheme.to_ascii_lowercase().as_str() {
        "untitled" | "vscode-notebook-cell" => Some(Key::Unnamed(uri.to_owned())),
        // What Neovim calls a buffer without a name.
        "file" if rest.is_empty() || rest == "//" => Some(Key::Unnamed(uri.to_owned())),
        "file" => path_of_uri(uri).map(|path| Key::File(canonical(disk, &folded_drive(disk, path)))),
        _ => None,
    }
}

/// The absolute path that a `file:` URI of this machine spells, links and `..` as they stand there.
pub fn path_of_uri(uri: &str) -> Option<PathBuf> {
    let (scheme, rest) = scheme(uri)?;
    let path = match rest.strip_prefix("//") {
        None => rest,
        Some(rest) => {
            let (host, path) = rest.split_at(rest.find('/')?);
            (host.is_empty() || host.eq_ignore_ascii_case("localhost")).then_some(path)?
        }
    };
    let path = PathBuf::from(OsString::from_vec(percent::decoded(path)));
    let fits = path.is_absolute() && !path.as_os_str().as_bytes().contains(&0);
    (fits && scheme.eq_ignore_ascii_case("file")).then_some(path)
}

/// Whether two URIs differ in nothing but what is percent-encoded.
pub(super) fn same_spelled(one: &str, other: &str) -> bool {
    one == other || percent::decoded(one) == percent::decoded(other)
}

/// The `file:` URI of an absolute path.
pub fn uri_of_path(path: &Path) -> String {
    let mut uri = String::from("file://");
    for &byte in path.as_os_str().as_bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'~' => uri.push(byte.into()),
            // RFC 3986 lets these stand for themselves in a path.
            b'!' | b'$' | b'&' | b'\'' | b'(' | b')' | b'*' | b'+' | b',' | b';' | b'=' | b':' | b'@' => {
                uri.push(byte.into());
            }
            byte if byte.is_ascii_alphanumeric() => uri.push(byte.into()),
            byte => {
                let _ = write!(uri, "%{byte:02X}");
            }
        }
    }
    uri
}

/// The target that `file_path` names: an absolute path; a path relative to the folder that has it (two folders that
/// have it: an error that names both; none: the first folder); or the URI of an open document or a file.
pub fn resolve(disk: &dyn Disk, roots: &Roots, documents: &Documents, file_path: &str) -> Result<Target, Refusal> {
    resolve_with(disk, roots, documents, &|_| false, file_path)
}

/// The same where more files count as being there than those on the disk and the open documents.
pub(super) fn resolve_with(
    disk: &dyn Disk,
    roots: &Roots,
    documents: &Documents,
    there: &dyn Fn(&Key) -> bool,
    file_path: &str,
) -> Result<Target, Refusal> {
    let invalid = |message: String| Err(Refusal::new(RefusalKind::InvalidArguments, message));
    if file_path.is_empty() {
        return invalid("The path is empty; give the absolute path of a file.".to_owned());
    }
    if file_path.contains('\0') {
        return invalid(format!("{file_path:?} is not a path: it has a NUL character in it."));
    }
    if let Some(document) = documents.key_of(file_path).and_then(|key| documents.get(&key)) {
        return Ok(target_of_document(disk, roots, documents, &document));
    }
    if let Some((scheme, rest)) = scheme(file_path) {
        match key_of_uri(disk, file_path) {
            Some(Key::File(path)) => {
                // The URI was given, so it is as good a spelling as any.
                return Ok(target_of_path(disk, roots, documents, path, || file_path.to_owned()));
            }
            Some(Key::Unnamed(_)) => return Err(not_open(documents, file_path)),
            None if rest.starts_with("//") => {
                return invalid(format!(
                    "{file_path} is virtual: `{scheme}:` documents and files of other machines cannot be read or changed here. \
                     Give the absolute path of a file, or the URI of an open document."
                ));
            }
            // A file name may have a colon in it.
            None => {}
        }
    }
    if file_path == "~" || file_path.starts_with("~/") {
        return invalid(format!(
            "{file_path} begins with ~, which is not expanded here; give the absolute path, or one relative to a workspace \
             folder."
        ));
    }
    if let [drive, b':', b'\\' | b'/', ..] = file_path.as_bytes()
        && drive.is_ascii_alphabetic()
    {
        return invalid(format!("{file_path} is a path of Windows; this machine's paths begin with /."));
    }
    let named = Path::new(file_path);
    let found = if named.is_absolute() { named.to_owned() } else { in_folders(disk, roots, documents, there, named)? };
    let path = canonical(disk, &found);
    Ok(target_of_path(disk, roots, documents, path.clone(), || {
        let dots = found.components().any(|part| part == Component::ParentDir);
        uri_of_path(&if dots { path } else { found.components().collect() })
    }))
}

/// The absolute path that a relative one means.
fn in_folders(
    disk: &dyn Disk,
    roots: &Roots,
    documents: &Documents,
    there: &dyn Fn(&Key) -> bool,
    named: &Path,
) -> Result<PathBuf, Refusal> {
    let Some(first) = roots.folders.first() else {
        return Err(Refusal::new(
            RefusalKind::InvalidArguments,
            format!("{} is a relative path and no workspace folder is open; give an absolute path.", named.display()),
        ));
    };
    // By key, because two folders may lead to one file.
    let mut having = BTreeMap::new();
    for folder in &roots.folders {
        let candidate = folder.join(named);
        let path = canonical(disk, &candidate);
        let key = Key::File(path.clone());
        if documents.get(&key).is_some() || exists(disk, &path) || there(&key) {
            having.entry(path).or_insert(candidate);
        }
    }
    match having.len() {
        0 => Ok(first.join(named)),
        1 => Ok(having.into_values().next().unwrap_or_default()),
        _ => {
            let candidates: Vec<String> = having.keys().map(|path| path.display().to_string()).collect();
            let message = format!(
                "{} is in {} workspace folders: {}. Give the absolute path of the one you mean.",
                named.display(),
                candidates.len(),
                candidates.join(", ")
            );
            let data = Some(json!({ "candidates": candidates }));
            Err(Refusal { kind: RefusalKind::Ambiguous, message, data })
        }
    }
}

/// Whether there is anything; what cannot be looked at may be there.
fn exists(disk: &dyn Disk, path: &Path) -> bool {
    use std::io::ErrorKind::{NotADirectory, NotFound};
    !matches!(disk.metadata(path), Err(error) if matches!(error.kind(), NotFound | NotADirectory))
}

fn target_of_document(disk: &dyn Disk, roots: &Roots, documents: &Documents, document: &Snapshot) -> Target {
    let shown = match &document.key {
        Key::File(path) => shown(roots, path),
        Key::Unnamed(uri) => visible(Path::new(uri)),
    };
    let paths = paths_of_document(disk, documents, document);
    let inside = paths.iter().all(|path| roots.holding(path).is_some());
    Target { key: document.key.clone(), uri: document.uri.clone(), shown, paths, inside }
}

fn target_of_path(
    disk: &dyn Disk,
    roots: &Roots,
    documents: &Documents,
    path: PathBuf,
    spelled: impl FnOnce() -> String,
) -> Target {
    let key = Key::File(path.clone());
    if let Some(document) = documents.get(&key) {
        return target_of_document(disk, roots, documents, &document);
    }
    let inside = roots.holding(&path).is_some();
    Target { key, uri: spelled(), shown: shown(roots, &path), paths: vec![path], inside }
}

/// See [`Target::paths`].
fn paths_of_document(disk: &dyn Disk, documents: &Documents, document: &Snapshot) -> Vec<PathBuf> {
    let opened = match &document.key {
        Key::Unnamed(uri) => documents.file_of_double(uri),
        key @ Key::File(_) => Some(key.clone()),
    };
    let mut paths: Vec<PathBuf> = match opened {
        Some(Key::File(path)) => vec![path],
        _ => Vec::new(),
    };
    for path in paths_of_uri(disk, &document.uri) {
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    paths
}

/// Where a document that is spelled so may be saved. Editors take the path of any URI for the file's, `untitled:` and
/// notebook cells included, and a path without a slash before it for one from the root; a bare name has no place yet.
/// Some take an unencoded `?` or `#` for a part of the name and others end the path there, so both count.
fn paths_of_uri(disk: &dyn Disk, uri: &str) -> Vec<PathBuf> {
    let Some((_, rest)) = scheme(uri) else { return Vec::new() };
    let path = match rest.strip_prefix("//") {
        None => rest,
        Some(rest) => rest.find('/').map_or("", |at| &rest[at..]),
    };
    let ended = percent::decoded(percent::without_query(path));
    if !ended.contains(&b'/') {
        return Vec::new();
    }
    let mut paths = Vec::new();
    for mut bytes in [percent::decoded(path), ended] {
        if bytes.contains(&0) {
            continue;
        }
        if !bytes.starts_with(b"/") {
            bytes.insert(0, b'/');
        }
        let path = canonical(disk, &folded_drive(disk, PathBuf::from(OsString::from_vec(bytes))));
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    paths
}

/// A canonical path as it is shown: nothing in it can pass for something else.
fn shown(roots: &Roots, path: &Path) -> String {
    match roots.holding(path).and_then(|folder| path.strip_prefix(folder).ok()) {
        Some(rest) if rest.as_os_str().is_empty() => ".".to_owned(),
        Some(rest) => visible(rest),
        None => visible(path),
    }
}

/// The refusal for a document without a file that is not open.
pub(super) fn not_open(documents: &Documents, uri: &str) -> Refusal {
    let open: Vec<String> = documents
        .all()
        .into_iter()
        .filter(|document| matches!(document.key, Key::Unnamed(_)))
        .map(|document| document.uri)
        .collect();
    let known = if open.is_empty() {
        "no document without a file is open.".to_owned()
    } else {
        format!("open without a file: {}.", open.join(", "))
    };
    let data = Some(json!({ "candidates": open }));
    Refusal { kind: RefusalKind::NotFound, message: format!("{uri} is not open in the editor; {known}"), data }
}

/// The path with links and `..` resolved as far as it exists; what does not exist is appended as it is named. A link
/// that leads nowhere stands for the file that writing through it would make.
fn canonical(disk: &dyn Disk, path: &Path) -> PathBuf {
    /// As many links as Linux follows; a circle of them is left as it is named.
    const MAX_LINKS: usize = 40;
    if let Ok(found) = disk.canonicalize(path) {
        return found;
    }
    let parts = |path: &Path| -> Vec<OsString> {
        let parts = path.components().filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir));
        parts.rev().map(|part| part.as_os_str().to_owned()).collect()
    };
    let mut rest = parts(path);
    let mut at = PathBuf::from("/");
    let mut absent: Vec<OsString> = Vec::new();
    let mut links = 0;
    while let Some(part) = rest.pop() {
        if part == ".." {
            if absent.pop().is_none() {
                at.pop();
            }
            continue;
        }
        if !absent.is_empty() {
            absent.push(part);
            continue;
        }
        let next = at.join(&part);
        match disk.link_metadata(&next) {
            Err(_) => absent.push(part),
            Ok(found) if found.kind == FileKind::Link && links < MAX_LINKS => {
                links += 1;
                match disk.read_link(&next) {
                    Err(_) => at = next,
                    Ok(to) => {
                        if to.is_absolute() {
                            at = PathBuf::from("/");
                        }
                        rest.extend(parts(&to));
                    }
                }
            }
            Ok(_) => at = next,
        }
    }
    // Once more as the system spells it: a file system that folds case has one right spelling.
    let mut path = disk.canonicalize(&at).unwrap_or(at);
    path.extend(absent);
    path
}

/// Editors disagree on the case of a drive letter. Where it comes to us it is no drive; without a folder of that very
/// name the small letter stands for both.
fn folded_drive(disk: &dyn Disk, path: PathBuf) -> PathBuf {
    let [b'/', drive @ b'A'..=b'Z', b':', rest @ ..] = path.as_os_str().as_bytes() else { return path };
    if !(rest.is_empty() || rest[0] == b'/') || exists(disk, Path::new(OsStr::from_bytes(&[b'/', *drive, b':']))) {
        return path;
    }
    let folded = [&[b'/', drive.to_ascii_lowercase(), b':'], rest].concat();
    PathBuf::from(OsString::from_vec(folded))
}

/// The scheme of a URI and what follows the colon. One letter is a drive, not a scheme.
fn scheme(uri: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = uri.split_once(':')?;
    let fits = scheme.len() > 1
        && scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'));
    fits.then_some((scheme, rest))
}

#[cfg(test)]
mod tests;
