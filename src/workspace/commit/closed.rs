//! The commit of a file that is not open: read, computed, and put in place as one step if it is still what was read.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::editor::{FileChangeKind, FileChanged, News};
use crate::ports::{Disk, FileKind, Metadata};
use crate::text::{LineBreaks, Text};
use crate::workspace::codec::{self, Codec};
use crate::workspace::paths::Key;
use crate::workspace::view::{MAX_FILE_BYTES, check_size};
use crate::workspace::{Refusal, RefusalKind};

use super::journal::{self, Record};
use super::set::Step;
use super::shape::{self, Shaped};
use super::{Committed, Desk, Fate, FileChange, Rewrite, apart, words};

/// A copy has so many bytes of the file's name in its own, at most.
const COPY_NAME: usize = 64;

/// A file as it was read.
pub(super) struct Found {
    pub(super) metadata: Metadata,
    pub(super) bytes: Vec<u8>,
    pub(super) text: Text,
    pub(super) codec: Codec,
}

/// What was written.
struct Written {
    before: Option<Text>,
    shaped: Shaped,
    kind: Option<FileChangeKind>,
    unified_diff: String,
    /// What else is to be told.
    note: Option<String>,
}

impl Written {
    fn of(shown: &str, before: Option<Text>, shaped: Shaped, kind: Option<FileChangeKind>) -> Written {
        let empty = Text::new("", shaped.after.breaks());
        let unified_diff = shape::unified(shown, before.as_ref().unwrap_or(&empty), &shaped.after);
        Written { before, shaped, kind, unified_diff, note: None }
    }
}

/// Makes a change on the disk; `None` when the file was opened meanwhile and nothing was written.
pub(super) async fn commit(desk: &Desk, change: &FileChange) -> Result<Option<Committed>, Refusal> {
    let path = path_of(change)?;
    let (worker, rewrite, shown) = (desk.clone(), Arc::clone(&change.rewrite), change.target.shown.clone());
    let Some(written) = apart(move || write(&worker, &path, &shown, &*rewrite)).await? else { return Ok(None) };
    let Written { before, shaped, kind, unified_diff, note } = written;
    let mut notes = shaped.rewritten.notes;
    notes.extend(note);
    match kind {
        Some(kind) => {
            let told = FileChanged { uri: change.target.uri.clone(), kind, by: change.rewrite.origin() };
            desk.editor.tell(News::Files(vec![told]));
        }
        None => notes.push("The file was already so; nothing was changed.".to_owned()),
    }
    Ok(Some(Committed {
        target: change.target.clone(),
        fate: Fate::Stays,
        unified_diff,
        before,
        after: shaped.after,
        splices: shaped.rewritten.splices,
        version_before: None,
        version_after: None,
        unsaved: false,
        late: false,
        executable: None,
        hunks: shaped.rewritten.hunks,
        notes,
    }))
}

/// What a change would do on the disk.
pub(super) async fn preview(desk: &Desk, change: &FileChange) -> Result<(Option<Text>, Shaped), Refusal> {
    let path = path_of(change)?;
    let (desk, rewrite, shown) = (desk.clone(), Arc::clone(&change.rewrite), change.target.shown.clone());
    apart(move || {
        let breaks = desk.documents.counting().breaks;
        match find(&*desk.ports.disk, &path, &shown, breaks)? {
            Some(found) => {
                let shaped = shape::shape(&found.text, &*rewrite)?;
                encoded(&shown, &shaped.after, found.codec)?;
                Ok((Some(found.text), shaped))
            }
            None => Ok((None, shape::shape_new(&*rewrite, breaks)?)),
        }
    })
    .await
}

pub(super) fn path_of(change: &FileChange) -> Result<PathBuf, Refusal> {
    match &change.target.key {
        Key::File(path) => Ok(path.clone()),
        Key::Unnamed(uri) => Err(Refusal::new(
            RefusalKind::NotFound,
            format!("{uri} is not open in the editor any more, and it has no file. Nothing was changed."),
        )),
    }
}

pub(super) fn conflict(words: String) -> Refusal {
    Refusal::new(RefusalKind::Conflict, words)
}

/// Reads a file; `None` when there is none. The path is the one that links were resolved to when the file was named;
/// if it leads elsewhere by now, it is not the file that was meant.
pub(super) fn find(disk: &dyn Disk, path: &Path, shown: &str, breaks: LineBreaks) -> Result<Option<Found>, Refusal> {
    let metadata = match disk.link_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        metadata => metadata.map_err(|error| words::system(shown, "read", &error))?,
    };
    match metadata.kind {
        FileKind::File => {}
        FileKind::Link => {
            return Err(match disk.canonicalize(path) {
                // Whatever it leads to, it led to nothing when the file was named, or was none.
                Ok(_) => conflict(format!(
                    "{shown} was replaced by a symbolic link meanwhile. Nothing was changed; name it again."
                )),
                Err(error) => Refusal::new(
                    RefusalKind::Failed,
                    format!(
                        "{shown} is a symbolic link that leads to no file ({error}). Nothing was changed; name the \
                         file that is meant."
                    ),
                ),
            });
        }
        FileKind::Directory => {
            return Err(Refusal::new(RefusalKind::InvalidArguments, format!("{shown} is a directory, not a file.")));
        }
        FileKind::Other => {
            return Err(Refusal::new(
                RefusalKind::InvalidArguments,
                format!("{shown} is not a regular file (a socket, a pipe or a device)."),
            ));
        }
    }
    if !led_there(disk, path).map_err(|error| words::system(shown, "read", &error))? {
        return Err(conflict(format!(
            "A directory on the way to {shown} was replaced by a symbolic link meanwhile. Nothing was changed; \
             name it again."
        )));
    }
    check_size(shown, metadata.len)?;
    let bytes = disk.read(path).map_err(|error| words::system(shown, "read", &error))?;
    let decoded = codec::decode(&bytes).map_err(|error| unwritable(shown, &error))?;
    if decoded.codec == Codec::Legacy {
        return Err(unwritable(shown, &codec::CodecError::Legacy));
    }
    Ok(Some(Found { metadata, text: Text::new(&decoded.text, breaks), codec: decoded.codec, bytes }))
}

pub(super) fn canonical(disk: &dyn Disk, path: &Path) -> bool {
    led_there(disk, path).unwrap_or(false)
}

/// Whether a path leads to itself, without a link; an error where the disk does not say.
fn led_there(disk: &dyn Disk, path: &Path) -> io::Result<bool> {
    match disk.canonicalize(path) {
        Ok(real) => Ok(real == path),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(false),
        Err(error) => Err(error),
    }
}

fn unwritable(shown: &str, error: &codec::CodecError) -> Refusal {
    Refusal::new(RefusalKind::Failed, format!("{shown} {error}. Nothing was changed."))
}

pub(super) fn encoded(shown: &str, text: &Text, codec: Codec) -> Result<Vec<u8>, Refusal> {
    codec::encode(&text.to_string(), codec).map_err(|error| unwritable(shown, &error))
}

fn write(desk: &Desk, path: &Path, shown: &str, rewrite: &dyn Rewrite) -> Result<Option<Written>, Refusal> {
    let disk = &*desk.ports.disk;
    let breaks = desk.documents.counting().breaks;
    let Some(found) = find(disk, path, shown, breaks)? else { return make(desk, path, shown, rewrite, breaks) };
    let shaped = shape::shape(&found.text, rewrite)?;
    let before = Some(found.text.clone());
    if shaped.rewritten.splices.is_empty() {
        return Ok(Some(Written::of(shown, before, shaped, None)));
    }
    let bytes = encoded(shown, &shaped.after, found.codec)?;
    if found.metadata.mode & 0o222 == 0 {
        return Err(read_only(shown));
    }
    let key = Key::File(path.to_owned());
    let mut opened = false;
    let mut still = || {
        opened = desk.documents.get(&key).is_some();
        !opened && canonical(disk, path) && holds(disk, path, &found.bytes)
    };
    let done = if found.metadata.links > 1 || !found.metadata.owned {
        in_place(desk, path, &found, &bytes, &mut still)
    } else {
        disk.replace(path, &bytes, found.metadata.mode, &mut still).map(|()| None)
    };
    match done {
        Ok(note) => Ok(Some(Written { note, ..Written::of(shown, before, shaped, Some(FileChangeKind::Changed)) })),
        Err(_) if opened => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(changed(disk, path, shown, &found.text)),
        Err(error) => Err(words::system(shown, "written", &error)),
    }
}

pub(super) fn read_only(shown: &str) -> Refusal {
    Refusal::new(
        RefusalKind::Failed,
        format!("{shown} is read-only. Nothing was changed; ask the user whether it may be written."),
    )
}

/// Whether these are the bytes of a file; one of another length is not read.
pub(super) fn holds(disk: &dyn Disk, path: &Path, bytes: &[u8]) -> bool {
    disk.metadata(path).is_ok_and(|now| now.len == bytes.len() as u64) && disk.read(path).is_ok_and(|now| now == bytes)
}

/// Somebody else was at the file.
pub(super) fn changed(disk: &dyn Disk, path: &Path, shown: &str, was: &Text) -> Refusal {
    let words = format!(
        "{shown} was changed on the disk by somebody else while the edit was computed. Nothing was changed; read \
         it again."
    );
    let small = disk.metadata(path).is_ok_and(|now| now.len <= MAX_FILE_BYTES);
    let now = if small { disk.read(path).ok() } else { None };
    let now = now.and_then(|bytes| codec::decode(&bytes).ok());
    let now = now.map_or_else(|| was.clone(), |now| Text::new(&now.text, was.breaks()));
    words::moved_on(RefusalKind::Conflict, shown, &words, was, &now)
}

/// Writes into the file as it is, and writes that down before, so that the next start makes good what a crash leaves half
/// written. Where there is no place for that, a copy has to do. What is to be told besides.
fn in_place(
    desk: &Desk,
    path: &Path,
    found: &Found,
    bytes: &[u8],
    still: &mut dyn FnMut() -> bool,
) -> io::Result<Option<String>> {
    let disk = &*desk.ports.disk;
    let step = Step::Write {
        path: path.to_owned(),
        old: found.bytes.clone(),
        new: bytes.to_vec(),
        mode: found.metadata.mode,
        in_place: true,
    };
    let record = Record { folders: desk.folders.clone(), steps: vec![step], documents: Vec::new() };
    let noted = desk.state_dir.as_ref().and_then(|state_dir| {
        let noted = desk.recovery.begin(desk, state_dir, &record);
        noted.inspect_err(|error| tracing::warn!(%error, "a write in place cannot be written down")).ok()
    });
    let Some(noted) = noted else { return overwrite(desk, path, &found.bytes, bytes, still).map(|()| None) };
    let forget = || journal::end(disk, &noted).map_err(|error| words::journal_stays(&noted, &error)).err();
    if !still() {
        forget();
        return Err(io::ErrorKind::Interrupted.into());
    }
    let Err(error) = disk.overwrite(path, bytes) else { return Ok(forget()) };
    if holds(disk, path, &found.bytes) || disk.overwrite(path, &found.bytes).is_ok() {
        forget();
        return Err(error);
    }
    tracing::error!(%error, journal = %noted.display(), path = %path.display(), "a file was left half written");
    Err(io::Error::other(format!(
        "{error}; the file may be damaged, and gets its former content back when Ropewalk is started again"
    )))
}

/// Writes into the file as it is, since it has other names, or an owner that a new file would not have; a copy is put
/// aside first, and stays there if writing fails in the middle and cannot be made good.
pub(super) fn overwrite(
    desk: &Desk,
    path: &Path,
    old: &[u8],
    bytes: &[u8],
    still: &mut dyn FnMut() -> bool,
) -> io::Result<()> {
    let disk = &*desk.ports.disk;
    let copy = copy_path(desk, path);
    disk.replace(&copy, old, 0o600, &mut || true)?;
    let forget = |copy: &Path| {
        if let Err(error) = disk.remove(copy) {
            tracing::warn!(%error, copy = %copy.display(), "a copy that is not needed any more stays behind");
        }
    };
    if !still() {
        forget(&copy);
        return Err(io::ErrorKind::Interrupted.into());
    }
    let Err(error) = disk.overwrite(path, bytes) else {
        forget(&copy);
        return Ok(());
    };
    // Half of the new bytes may be there: the old ones are put back, or it is told where they are.
    if holds(disk, path, old) || disk.overwrite(path, old).is_ok() {
        forget(&copy);
        return Err(error);
    }
    tracing::error!(%error, copy = %copy.display(), path = %path.display(), "a file was left half written");
    Err(io::Error::other(format!("{error}; the file may be damaged, and its former content is in {}", copy.display())))
}

/// Where the copy of a file goes: among our state, or beside the file where there is no such place.
fn copy_path(desk: &Desk, path: &Path) -> PathBuf {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    // The file's own name may be as long as names can be.
    let name = &name[..name.floor_char_boundary(COPY_NAME)];
    let name = format!(".{name}.{:016x}.ropewalk-copy", desk.ports.random.next());
    let kept = desk.state_dir.as_ref().and_then(|folder| {
        let folder = folder.join("copies");
        desk.ports.disk.create_dir_all(&folder).and_then(|()| desk.ports.disk.canonicalize(&folder)).ok()
    });
    kept.map_or_else(|| path.with_file_name(&name), |folder| folder.join(&name))
}

/// Makes a file that is not there yet, and the directories it needs.
fn make(
    desk: &Desk,
    path: &Path,
    shown: &str,
    rewrite: &dyn Rewrite,
    breaks: LineBreaks,
) -> Result<Option<Written>, Refusal> {
    let disk = &*desk.ports.disk;
    let shaped = shape::shape_new(rewrite, breaks)?;
    // The text decides the encoding: a mark at its beginning is the mark of UTF-8.
    let bytes = shaped.after.to_string().into_bytes();
    if let Some(folder) = path.parent() {
        disk.create_dir_all(folder).map_err(|error| words::system(shown, "made", &error))?;
        if !led_there(disk, folder).map_err(|error| words::system(shown, "made", &error))? {
            return Err(conflict(format!(
                "A directory on the way to {shown} was replaced by a symbolic link meanwhile. Nothing was \
                 written; name it again."
            )));
        }
    }
    if desk.documents.get(&Key::File(path.to_owned())).is_some() {
        return Ok(None);
    }
    match disk.create(path, &bytes) {
        Ok(()) => Ok(Some(Written::of(shown, None, shaped, Some(FileChangeKind::Created)))),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(conflict(format!(
            "{shown} was made by somebody else while the new file was computed. Nothing was changed; read it first."
        ))),
        Err(error) => Err(words::system(shown, "made", &error)),
    }
}
