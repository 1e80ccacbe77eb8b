//! Which files that somebody looks at a command changed: open documents and what the session has seen, by their hashes
//! before and after.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::editor::{FileChangeKind, FileChanged, News, Origin};
use crate::ports::{Disk, FileKind};
use crate::text::{Text, hash_bytes};
use crate::tool::Context;
use crate::workspace::Key;
use crate::workspace::paths::uri_of_path;

use super::Unseen;

/// So many files are looked at.
const FILES: usize = 2000;

/// A file of more bytes than this is judged by its length and the time of its last change, and so are those beyond
/// so many bytes in all.
const HASHED: u64 = 8 << 20;
const ALL_HASHED: u64 = 64 << 20;

/// What a file is.
#[derive(Debug, Clone, PartialEq, Eq)]
enum State {
    Missing,
    Hash(String),
    Stamp(u64, SystemTime),
    /// That cannot be found out.
    Unknown,
}

/// The files as they were before a command.
pub(super) struct Watch {
    before: BTreeMap<PathBuf, State>,
    /// The open documents then: their texts, and those that were saved last.
    texts: BTreeMap<PathBuf, (Text, Option<Text>)>,
}

/// A file that a command changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Changed {
    pub uri: String,
    pub shown: String,
    pub kind: FileChangeKind,
    /// The editor has unsaved text of it.
    pub conflicts: bool,
}

impl Changed {
    /// In words.
    pub(super) fn told(&self) -> String {
        let mut remarks = Vec::new();
        match self.kind {
            FileChangeKind::Created => remarks.push("new"),
            FileChangeKind::Deleted => remarks.push("deleted"),
            FileChangeKind::Changed => {}
        }
        if self.conflicts {
            remarks.push("it has unsaved text in the editor: the two will conflict");
        }
        if remarks.is_empty() { self.shown.clone() } else { format!("{} ({})", self.shown, remarks.join("; ")) }
    }
}

impl Watch {
    /// Looks at the files before the command runs.
    pub(super) async fn begin(context: &Context) -> Watch {
        let file = |key: Key| match key {
            Key::File(path) => Some(path),
            Key::Unnamed(_) => None,
        };
        let documents = context.workspace.documents.all().into_iter();
        let texts: BTreeMap<PathBuf, (Text, Option<Text>)> =
            documents.filter_map(|document| Some((file(document.key)?, (document.text, document.saved)))).collect();
        let seen = context.session.seen_keys().into_iter().filter_map(file);
        // Those that are open go first, where there are too many.
        let paths: Vec<PathBuf> =
            texts.keys().cloned().chain(seen.filter(|path| !texts.contains_key(path))).take(FILES).collect();
        Watch { before: look(context, paths).await.into_iter().collect(), texts }
    }

    /// Looks at them again, and tells the editor and our language servers of those that are others now. `unseen`: what
    /// was not saved before.
    pub(super) async fn end(self, context: &Context, unseen: &Unseen) -> Vec<Changed> {
        let workspace = &context.workspace;
        let after = look(context, self.before.keys().cloned().collect()).await;
        let mut found = Vec::new();
        for (path, now) in after {
            let Some(kind) = self.before.get(&path).and_then(|before| change(before, &now)) else { continue };
            let document = workspace.documents.get(&Key::File(path.clone()));
            let then = self.texts.get(&path);
            // What the editor itself saved meanwhile was not the command.
            let saved = document.as_ref().and_then(|document| document.saved.as_ref());
            if let (Some(saved), State::Hash(hash)) = (saved, &now)
                && then.is_none_or(|(_, before)| before.as_ref() != Some(saved))
                && hash_bytes(saved.to_string().as_bytes()) == *hash
            {
                continue;
            }
            let edited = document.as_ref().filter(|document| {
                unseen.uris().contains(&document.uri.as_str()) || then.is_none_or(|(text, _)| *text != document.text)
            });
            let conflicts = match edited {
                Some(document) => !workspace.on_disk(&document.key, &document.text).await,
                None => false,
            };
            found.push((path, kind, conflicts));
        }
        let told: Vec<FileChanged> = found
            .iter()
            .map(|(path, kind, _)| FileChanged { uri: uri_of_path(path), kind: *kind, by: Origin::Agent })
            .collect();
        for change in &told {
            context.languages.file_changed(change);
        }
        if !told.is_empty() {
            workspace.editor.tell(News::Files(told));
        }
        let workspace = workspace.clone();
        let shown = tokio::task::spawn_blocking(move || {
            let name = |(path, kind, conflicts): (PathBuf, FileChangeKind, bool)| {
                let uri = uri_of_path(&path);
                let target = workspace.resolve(&uri);
                let shown = target.map_or_else(|_| path.display().to_string(), |target| target.shown);
                Changed { uri, shown, kind, conflicts }
            };
            let mut changed: Vec<Changed> = found.into_iter().map(name).collect();
            changed.sort_by(|a, b| a.shown.cmp(&b.shown));
            changed
        });
        shown.await.unwrap_or_default()
    }
}

async fn look(context: &Context, paths: Vec<PathBuf>) -> Vec<(PathBuf, State)> {
    let disk = context.workspace.ports.disk.clone();
    let states = tokio::task::spawn_blocking(move || {
        let mut left = ALL_HASHED;
        let state = |path: PathBuf| {
            let state = state(&*disk, &path, &mut left);
            (path, state)
        };
        paths.into_iter().map(state).collect()
    });
    states.await.unwrap_or_default()
}

fn state(disk: &dyn Disk, path: &Path, left: &mut u64) -> State {
    let look = |left: &mut u64| {
        let found = disk.metadata(path)?;
        if found.kind != FileKind::File {
            // A folder or a pipe by the name of a file: the file is gone.
            return Ok(State::Missing);
        }
        if found.len > HASHED.min(*left) {
            return Ok(State::Stamp(found.len, disk.modified(path)?));
        }
        *left -= found.len;
        Ok(State::Hash(hash_bytes(&disk.read(path)?)))
    };
    look(left).unwrap_or_else(|error: io::Error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => State::Missing,
        _ => State::Unknown,
    })
}

/// What became of a file; `None`: nothing, as far as is known.
fn change(before: &State, now: &State) -> Option<FileChangeKind> {
    match (before, now) {
        (State::Unknown, _) | (_, State::Unknown) => None,
        (before, now) if before == now => None,
        (State::Missing, _) => Some(FileChangeKind::Created),
        (_, State::Missing) => Some(FileChangeKind::Deleted),
        // One was hashed and the other not: its length has changed, or that of others has.
        (State::Hash(_), State::Stamp(len, _)) | (State::Stamp(len, _), State::Hash(_)) if *len <= HASHED => None,
        _ => Some(FileChangeKind::Changed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::MemoryDisk;

    #[test]
    fn what_became_of_a_file() {
        let (hash, other) = (State::Hash("a".into()), State::Hash("b".into()));
        let stamp = |len| State::Stamp(len, SystemTime::UNIX_EPOCH);
        for (before, now, kind) in [
            (&hash, &hash, None),
            (&hash, &other, Some(FileChangeKind::Changed)),
            (&State::Missing, &hash, Some(FileChangeKind::Created)),
            (&hash, &State::Missing, Some(FileChangeKind::Deleted)),
            (&State::Missing, &State::Missing, None),
            (&State::Unknown, &hash, None),
            (&hash, &State::Unknown, None),
            (&stamp(HASHED + 1), &stamp(HASHED + 2), Some(FileChangeKind::Changed)),
            (&stamp(HASHED + 1), &stamp(HASHED + 1), None),
            (&hash, &stamp(HASHED + 1), Some(FileChangeKind::Changed)),
            // There was no room for its hash.
            (&hash, &stamp(5), None),
        ] {
            assert_eq!(change(before, now), kind, "{before:?} {now:?}");
        }
    }

    #[test]
    fn what_is_long_is_judged_by_its_stamp_and_what_is_no_file_is_missing() {
        let disk = MemoryDisk::new().with_file("/w/a", "1234").with_dir("/w/d").with_file("/w/b", "12345");
        let mut left = 8;
        let mut look = |path: &str| state(&disk, Path::new(path), &mut left);
        assert!(matches!(look("/w/a"), State::Hash(_)));
        assert!(matches!(look("/w/b"), State::Stamp(5, _)));
        for path in ["/w/d", "/w/none", "/w/a/x"] {
            assert_eq!(look(path), State::Missing, "{path}");
        }
    }
}
