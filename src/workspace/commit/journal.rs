//! The journal of a set: what every file and document of it held before and was to hold, on the disk before anything is
//! changed, and gone when all is done. So a crash in between can be made good by whoever comes next.
//!
//! A file of the journal is one line of JSON and then all contents, one after the other, as they are. It belongs to the
//! process that holds the lock beside it; the lock ends with the process, however that ends.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tracing::{error, warn};

use crate::ports::{Disk, DiskLock, FileKind, Random, temporary_prefix};
use crate::text::{hash_bytes, percent};
use crate::workspace::paths::{Key, uri_of_path};

use super::set::Step;

/// The first words of a file of the journal, with the version of its form.
const MAGIC: &str = "ropewalk journal 1";

/// The permission bits of a file of the journal.
const MODE: u32 = 0o600;

/// What a set does.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Record {
    /// The workspace folders at that time.
    pub(super) folders: Vec<PathBuf>,
    /// What is done on the disk, in order.
    pub(super) steps: Vec<Step>,
    /// What is done in the editor.
    pub(super) documents: Vec<Held>,
}

/// An open document of a set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Held {
    /// What it is to us.
    pub(super) key: Key,
    /// How the editor spelled it.
    pub(super) uri: String,
    /// Its name in messages.
    pub(super) shown: String,
    /// Its text before.
    pub(super) before: String,
    /// The text it was to have.
    pub(super) after: String,
}

#[derive(Serialize, Deserialize)]
struct Head {
    journal: String,
    /// For the operator only: the process that wrote it.
    process: u32,
    folders: Vec<String>,
    steps: Vec<StepHead>,
    documents: Vec<DocumentHead>,
    /// Lengths of the contents, in order.
    contents: Vec<usize>,
    /// SHA-256 of all of them.
    hash: String,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "step")]
enum StepHead {
    Folder {
        path: String,
    },
    Delete {
        path: String,
        old: usize,
        mode: u32,
    },
    Rename {
        from: String,
        to: String,
        old: usize,
    },
    #[serde(rename_all = "camelCase")]
    Write {
        path: String,
        old: usize,
        new: usize,
        mode: u32,
        in_place: bool,
    },
    Create {
        path: String,
        new: usize,
    },
    Mode {
        path: String,
        executable: bool,
        was: Option<u32>,
    },
}

#[derive(Serialize, Deserialize)]
struct DocumentHead {
    /// The URI of its file, if it has one.
    file: Option<String>,
    uri: String,
    shown: String,
    before: usize,
    after: usize,
}

impl Record {
    /// The bytes of its file.
    pub(super) fn encode(&self) -> io::Result<Vec<u8>> {
        let (mut contents, mut lengths) = (Vec::new(), Vec::new());
        let mut put = |content: &[u8]| {
            contents.extend_from_slice(content);
            lengths.push(content.len());
            lengths.len() - 1
        };
        let steps = self
            .steps
            .iter()
            .map(|step| match step {
                Step::Folder(path) => StepHead::Folder { path: uri_of_path(path) },
                Step::Delete { path, old, mode } => {
                    StepHead::Delete { path: uri_of_path(path), old: put(old), mode: *mode }
                }
                Step::Rename { from, to, old } => {
                    StepHead::Rename { from: uri_of_path(from), to: uri_of_path(to), old: put(old) }
                }
                Step::Write { path, old, new, mode, in_place } => StepHead::Write {
                    path: uri_of_path(path),
                    old: put(old),
                    new: put(new),
                    mode: *mode,
                    in_place: *in_place,
                },
                Step::Create { path, new } => StepHead::Create { path: uri_of_path(path), new: put(new) },
                Step::Mode { path, executable, was } => {
                    StepHead::Mode { path: uri_of_path(path), executable: *executable, was: *was }
                }
            })
            .collect();
        let documents = self
            .documents
            .iter()
            .map(|held| DocumentHead {
                file: match &held.key {
                    Key::File(path) => Some(uri_of_path(path)),
                    Key::Unnamed(_) => None,
                },
                uri: held.uri.clone(),
                shown: held.shown.clone(),
                before: put(held.before.as_bytes()),
                after: put(held.after.as_bytes()),
            })
            .collect();
        let head = Head {
            journal: MAGIC.to_owned(),
            process: std::process::id(),
            folders: self.folders.iter().map(|folder| uri_of_path(folder)).collect(),
            steps,
            documents,
            contents: lengths,
            hash: hash_bytes(&contents),
        };
        let mut bytes = serde_json::to_vec(&head)?;
        bytes.push(b'\n');
        bytes.append(&mut contents);
        Ok(bytes)
    }

    /// What such bytes say; `None` when they are not whole.
    pub(super) fn decode(bytes: &[u8]) -> Option<Record> {
        let end = memchr::memchr(b'\n', bytes)?;
        let head: Head = serde_json::from_slice(&bytes[..end]).ok()?;
        let mut rest = &bytes[end + 1..];
        if head.journal != MAGIC || hash_bytes(rest) != head.hash {
            return None;
        }
        let mut contents = Vec::with_capacity(head.contents.len());
        for length in head.contents {
            let (content, more) = rest.split_at_checked(length)?;
            contents.push(content);
            rest = more;
        }
        let content = |at: usize| contents.get(at).map(|content| content.to_vec());
        let text = |at: usize| String::from_utf8(content(at)?).ok();
        let steps = head.steps.into_iter().map(|step| {
            Some(match step {
                StepHead::Folder { path } => Step::Folder(path_of(&path)?),
                StepHead::Delete { path, old, mode } => {
                    Step::Delete { path: path_of(&path)?, old: content(old)?, mode }
                }
                StepHead::Rename { from, to, old } => {
                    Step::Rename { from: path_of(&from)?, to: path_of(&to)?, old: content(old)? }
                }
                StepHead::Write { path, old, new, mode, in_place } => {
                    Step::Write { path: path_of(&path)?, old: content(old)?, new: content(new)?, mode, in_place }
                }
                StepHead::Create { path, new } => Step::Create { path: path_of(&path)?, new: content(new)? },
                StepHead::Mode { path, executable, was } => Step::Mode { path: path_of(&path)?, executable, was },
            })
        });
        let documents = head.documents.into_iter().map(|held| {
            Some(Held {
                key: match &held.file {
                    Some(file) => Key::File(path_of(file)?),
                    None => Key::Unnamed(held.uri.clone()),
                },
                uri: held.uri,
                shown: held.shown,
                before: text(held.before)?,
                after: text(held.after)?,
            })
        });
        Some(Record {
            folders: head.folders.iter().map(|folder| path_of(folder)).collect::<Option<_>>()?,
            steps: steps.collect::<Option<_>>()?,
            documents: documents.collect::<Option<_>>()?,
        })
    }

    /// Whether it is the business of a run with these workspace folders.
    pub(super) fn concerns(&self, folders: &[PathBuf]) -> bool {
        let inside = |path: &Path| folders.iter().any(|folder| path.starts_with(folder));
        self.folders == folders
            || self.folders.iter().any(|folder| folders.contains(folder))
            || self.steps.iter().flat_map(Step::paths).any(inside)
            || self.documents.iter().any(|held| matches!(&held.key, Key::File(path) if inside(path)))
    }

    /// The names of its files and documents, for people, sorted.
    pub(super) fn names(&self) -> Vec<String> {
        let shown = |path: &Path| {
            let inside = self.folders.iter().find_map(|folder| path.strip_prefix(folder).ok());
            inside.unwrap_or(path).display().to_string()
        };
        let aside =
            |path: &&Path| !path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(".ropewalk-"));
        let files = self.steps.iter().flat_map(Step::paths).filter(aside).map(shown);
        let mut names: Vec<String> = files.chain(self.documents.iter().map(|held| held.shown.clone())).collect();
        names.sort();
        names.dedup();
        names
    }
}

/// The path that a URI of [`uri_of_path`] stands for.
fn path_of(uri: &str) -> Option<PathBuf> {
    Some(PathBuf::from(OsString::from_vec(percent::decoded(uri.strip_prefix("file://")?))))
}

/// The folder of the journal, and what this process has in it.
pub(super) struct Own {
    disk: Arc<dyn Disk>,
    folder: PathBuf,
    name: String,
    sets: u64,
    _lock: DiskLock,
}

/// The folder of the journal in the directory for our state.
pub(super) fn folder_in(state_dir: &Path) -> PathBuf {
    state_dir.join("journal")
}

impl Own {
    /// Takes a place in the journal. Blocking.
    pub(super) fn take(disk: &Arc<dyn Disk>, random: &dyn Random, state_dir: &Path) -> io::Result<Own> {
        let folder = folder_in(state_dir);
        disk.create_private_dir(&folder)?;
        let folder = disk.canonicalize(&folder)?;
        loop {
            let name = format!("{:08x}{:016x}", std::process::id(), random.next());
            if let Some(lock) = disk.lock(&folder.join(format!("{name}.lock")))? {
                return Ok(Own { disk: Arc::clone(disk), folder, name, sets: 0, _lock: lock });
            }
        }
    }

    /// Writes down what a set is about to do; gives the file. Blocking.
    pub(super) fn begin(&mut self, record: &Record) -> io::Result<PathBuf> {
        self.sets += 1;
        let path = self.folder.join(format!("{}-{}.set", self.name, self.sets));
        self.disk.replace(&path, &record.encode()?, MODE, &mut || true)?;
        Ok(path)
    }

    /// Leaves, when nothing is under way any more. Blocking.
    pub(super) fn leave(&self) {
        let _ = self.disk.remove(&self.folder.join(format!("{}.lock", self.name)));
    }
}

/// Removes a file of the journal: its set is complete, or taken back. Where that fails it is at least emptied, so that
/// nobody takes back what is complete; the error says that even this failed. Blocking.
pub(super) fn end(disk: &dyn Disk, path: &Path) -> io::Result<()> {
    let Err(why) = disk.remove(path) else { return Ok(()) };
    warn!(error = %why, path = %path.display(), "a file of the journal could not be removed");
    disk.overwrite(path, &[])
}

/// A set of a process that is gone.
pub(super) struct Orphan {
    /// Its file.
    pub(super) path: PathBuf,
    /// What it says.
    pub(super) record: Record,
    /// Keeps others away from it.
    pub(super) _lock: Arc<DiskLock>,
}

/// The sets of processes that are gone, which are the business of a run with these folders. Blocking.
pub(super) fn orphans(disk: &dyn Disk, state_dir: &Path, folders: &[PathBuf]) -> io::Result<Vec<Orphan>> {
    let folder = match disk.canonicalize(&folder_in(state_dir)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        folder => folder?,
    };
    let entries = disk.read_dir(&folder)?;
    let names = |ending: &str| -> Vec<String> {
        let files = entries.iter().filter(|entry| entry.kind == FileKind::File);
        files.filter_map(|entry| entry.name.strip_suffix(ending)).map(str::to_owned).collect()
    };
    let sets = names(".set");
    let owner = |set: &str| set.split('-').next().unwrap_or_default().to_owned();
    let mut found: Vec<Orphan> = Vec::new();
    let mut owners: Vec<String> = sets.iter().map(|set| owner(set)).chain(names(".lock")).collect();
    owners.sort();
    owners.dedup();
    for name in owners {
        let lock_file = folder.join(format!("{name}.lock"));
        let Some(lock) = disk.lock(&lock_file)? else { continue };
        let lock = Arc::new(lock);
        let mut left = false;
        sweep(disk, &folder, &name);
        for set in sets.iter().filter(|set| owner(set) == name) {
            let path = folder.join(format!("{set}.set"));
            // Whoever had the lock until now may have dealt with it.
            let bytes = match disk.read(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                bytes => bytes?,
            };
            left = true;
            match Record::decode(&bytes) {
                Some(record) if record.concerns(folders) => {
                    let within: BTreeSet<&Path> =
                        record.steps.iter().flat_map(Step::paths).filter_map(Path::parent).collect();
                    for folder in within {
                        sweep(disk, folder, &name);
                    }
                    found.push(Orphan { path, record, _lock: Arc::clone(&lock) });
                }
                Some(_) => {}
                // Emptied when it was complete.
                None if bytes.is_empty() => drop(disk.remove(&path)),
                None => error!(path = %path.display(), "a file of the journal is not whole; it is left alone"),
            }
        }
        if !left {
            let _ = disk.remove(&lock_file);
        }
    }
    Ok(found)
}

/// Removes the temporary files that a process which is gone has left in a folder. Blocking.
fn sweep(disk: &dyn Disk, folder: &Path, owner: &str) {
    let process = owner.get(..8).and_then(|process| u32::from_str_radix(process, 16).ok());
    let Some(process) = process.filter(|process| *process != std::process::id()) else { return };
    let prefix = temporary_prefix(process);
    for entry in disk.read_dir(folder).unwrap_or_default() {
        if entry.kind == FileKind::File && entry.name.starts_with(&prefix) {
            let _ = disk.remove(&folder.join(&entry.name));
        }
    }
}

/// Removes the lock of a process that is gone and has nothing left in the journal. Blocking.
pub(super) fn tidy(disk: &dyn Disk, set: &Path) {
    let (Some(folder), Some(name)) = (set.parent(), set.file_name()) else { return };
    let name = name.to_string_lossy();
    let owner = name.split('-').next().unwrap_or_default();
    let entries = disk.read_dir(folder).unwrap_or_default();
    if !entries.iter().any(|entry| entry.name.starts_with(&format!("{owner}-"))) {
        let _ = disk.remove(&folder.join(format!("{owner}.lock")));
    }
}

/// Puts texts where a person finds them that could not be brought back; gives the file. Blocking.
pub(super) fn keep(disk: &dyn Disk, state_dir: &Path, texts: &[(String, Vec<u8>)]) -> io::Result<PathBuf> {
    let folder = folder_in(state_dir);
    disk.create_private_dir(&folder)?;
    let folder = disk.canonicalize(&folder)?;
    let mut bytes = Vec::new();
    for (name, text) in texts {
        bytes.extend_from_slice(format!("==== {name} ({} bytes)\n", text.len()).as_bytes());
        bytes.extend_from_slice(text);
        bytes.extend_from_slice(b"\n");
    }
    for number in 1u64.. {
        let path = folder.join(format!("conflict-{number}.txt"));
        match disk.create(&path, &bytes) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            created => return created.map(|()| path),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_comes_back_as_it_was_or_not_at_all() {
        let path = |name: &str| PathBuf::from("/w").join(name);
        let record = Record {
            folders: vec![path("")],
            steps: vec![
                Step::Folder(path("new dir")),
                Step::Delete { path: path("a"), old: vec![0xff, 0xfe, 0], mode: 0o640 },
                Step::Rename { from: path("b"), to: path("new dir/\u{e9}"), old: b"b\n".to_vec() },
                Step::Write { path: path("c"), old: vec![], new: b"n".to_vec(), mode: 0o644, in_place: true },
                Step::Create { path: path("d"), new: b"\n\n".to_vec() },
            ],
            documents: vec![
                Held {
                    key: Key::File(path("e")),
                    uri: "file:///w/./e".into(),
                    shown: "e".into(),
                    before: "1".into(),
                    after: "2\r\n".into(),
                },
                Held {
                    key: Key::Unnamed("untitled:1".into()),
                    uri: "untitled:1".into(),
                    shown: "untitled:1".into(),
                    before: String::new(),
                    after: "x".into(),
                },
            ],
        };
        let bytes = record.encode().unwrap();
        assert_eq!(Record::decode(&bytes), Some(record.clone()));
        for end in 0..bytes.len() {
            assert_eq!(Record::decode(&bytes[..end]), None, "{end}");
        }
        assert_eq!(record.names(), ["a", "b", "c", "d", "e", "new dir/\u{e9}", "untitled:1"]);
        assert!(record.concerns(&[path("")]) && record.concerns(&[path(""), "/x".into()]));
        assert!(record.concerns(&[path("new dir")]) && !record.concerns(&["/x".into()]) && !record.concerns(&[]));
    }
}
