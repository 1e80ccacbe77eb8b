//! A machine whose program can die between any two things it does, or at which any one of them fails: a disk, and an
//! editor with many documents, which both outlive the program.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use crate::config::Settings;
use crate::editor::{ApplyEdit, AskError, EditReply, Editor, News};
use crate::ports::{DirEntry, Disk, DiskLock, FileKind, MemoryDisk, Metadata, Ports, Seeded, SystemClock};
use crate::text::{LineBreaks, Splice, Text};
use crate::workspace::Workspace;
use crate::workspace::commit::{Committed, FileChange, SetRefused};
use crate::workspace::documents::{ContentChange, Documents};
use crate::workspace::paths::{Key, Roots};

/// Where the program keeps its state.
pub(super) const STATE: &str = "/home/state";

/// What happens when so many things have been done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// Nothing.
    Never,
    /// The program dies: nothing more is done.
    Death(usize),
    /// This one thing fails.
    Error(usize),
}

/// Counts what a program does to the world.
pub(super) struct Fuse {
    fault: Fault,
    done: AtomicUsize,
}

/// What becomes of one thing that is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lot {
    Done,
    Fails,
    /// The last one before death: it may be half done.
    Dies,
    Dead,
}

impl Fuse {
    fn draw(&self) -> Lot {
        let number = self.done.fetch_add(1, Ordering::SeqCst);
        match self.fault {
            Fault::Death(at) if number == at => Lot::Dies,
            Fault::Death(at) if number > at => Lot::Dead,
            Fault::Error(at) if number == at => Lot::Fails,
            _ => Lot::Done,
        }
    }

    /// Whether the fault has come.
    pub(super) fn blown(&self) -> bool {
        let done = self.done.load(Ordering::SeqCst);
        matches!(self.fault, Fault::Death(at) | Fault::Error(at) if done > at)
    }

    fn dead(&self) -> bool {
        matches!(self.fault, Fault::Death(at) if self.done.load(Ordering::SeqCst) > at)
    }
}

/// The disk as one run of the program sees it.
struct MortalDisk {
    disk: Arc<MemoryDisk>,
    fuse: Arc<Fuse>,
    locks: Arc<MemoryDisk>,
}

impl MortalDisk {
    fn read<T>(&self, read: impl FnOnce(&MemoryDisk) -> io::Result<T>) -> io::Result<T> {
        if self.fuse.dead() { Err(io::Error::other("dead")) } else { read(&self.disk) }
    }

    fn change(&self, change: impl FnOnce(&MemoryDisk) -> io::Result<()>) -> io::Result<()> {
        match self.fuse.draw() {
            Lot::Done => change(&self.disk),
            Lot::Fails => Err(io::ErrorKind::StorageFull.into()),
            Lot::Dies | Lot::Dead => Err(io::Error::other("dead")),
        }
    }
}

impl Disk for MortalDisk {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.read(|disk| disk.read(path))
    }
    fn modified(&self, path: &Path) -> io::Result<SystemTime> {
        self.read(|disk| disk.modified(path))
    }
    fn metadata(&self, path: &Path) -> io::Result<Metadata> {
        self.read(|disk| disk.metadata(path))
    }
    fn link_metadata(&self, path: &Path) -> io::Result<Metadata> {
        self.read(|disk| disk.link_metadata(path))
    }
    fn canonicalize(&self, path: &Path) -> io::Result<PathBuf> {
        self.read(|disk| disk.canonicalize(path))
    }
    fn read_link(&self, path: &Path) -> io::Result<PathBuf> {
        self.read(|disk| disk.read_link(path))
    }
    fn read_dir(&self, path: &Path) -> io::Result<Vec<DirEntry>> {
        self.read(|disk| disk.read_dir(path))
    }
    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        self.change(|disk| disk.create_dir_all(path))
    }
    fn create_private_dir(&self, path: &Path) -> io::Result<()> {
        self.change(|disk| disk.create_private_dir(path))
    }
    fn replace(&self, path: &Path, bytes: &[u8], mode: u32, still: &mut dyn FnMut() -> bool) -> io::Result<()> {
        self.change(|disk| disk.replace(path, bytes, mode, still))
    }
    fn create(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.change(|disk| disk.create(path, bytes))
    }
    fn overwrite(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        match self.fuse.draw() {
            Lot::Done => self.disk.overwrite(path, bytes),
            Lot::Dead => Err(io::Error::other("dead")),
            Lot::Dies | Lot::Fails => {
                // The beginning of the new bytes over the old ones.
                let mut half = self.disk.bytes(path).unwrap_or_default();
                let written = bytes.len() / 2;
                half.resize(half.len().max(written), 0);
                half[..written].copy_from_slice(&bytes[..written]);
                self.disk.put(path, half);
                Err(io::ErrorKind::StorageFull.into())
            }
        }
    }
    fn set_mode(&self, path: &Path, mode: u32) -> io::Result<()> {
        self.change(|disk| disk.set_mode(path, mode))
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        self.change(|disk| disk.remove(path))
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.change(|disk| disk.rename(from, to))
    }
    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.change(|disk| disk.remove_dir(path))
    }
    fn lock(&self, path: &Path) -> io::Result<Option<DiskLock>> {
        // The locks of a program end with it.
        self.read(|_| self.locks.with_folder_of(path).lock(path))
    }
}

impl MemoryDisk {
    fn with_folder_of(&self, path: &Path) -> &MemoryDisk {
        self.create_dir_all(path.parent().unwrap()).unwrap();
        self
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Buffer {
    text: String,
    version: i32,
}

/// How the editor treats an edit: gives whether to apply it; called with the number of the edit, the first is 0.
pub(super) type Manner = Box<dyn FnMut(&Machine, usize, &ApplyEdit) -> bool + Send>;

/// The editor and the disk.
pub(super) struct Machine {
    pub(super) disk: Arc<MemoryDisk>,
    buffers: Mutex<BTreeMap<String, Buffer>>,
    /// The mirror of the program that runs now.
    mirror: Mutex<Arc<Documents>>,
    edits: AtomicUsize,
    pub(super) manner: Mutex<Option<Manner>>,
    pub(super) told: Mutex<Vec<News>>,
}

/// The editor as one run of the program sees it.
struct Connection {
    machine: Arc<Machine>,
    fuse: Arc<Fuse>,
}

/// One run of the program.
pub(super) struct Run {
    pub(super) workspace: Arc<Workspace>,
    pub(super) fuse: Arc<Fuse>,
}

pub(super) fn uri(path: &str) -> String {
    format!("file://{path}")
}

impl Machine {
    pub(super) fn new(disk: MemoryDisk) -> Arc<Machine> {
        Arc::new(Machine {
            disk: Arc::new(disk.with_dir(STATE)),
            buffers: Mutex::default(),
            mirror: Mutex::default(),
            edits: AtomicUsize::new(0),
            manner: Mutex::default(),
            told: Mutex::default(),
        })
    }

    /// Starts the program; the editor opens its documents again, before (`early`) or after it looks for what is left.
    pub(super) async fn start(self: &Arc<Machine>, fault: Fault, state: bool, early: bool) -> Run {
        let fuse = Arc::new(Fuse { fault, done: AtomicUsize::new(0) });
        let documents = Arc::new(Documents::new());
        *self.mirror.lock().unwrap() = Arc::clone(&documents);
        let disk = MortalDisk { disk: Arc::clone(&self.disk), fuse: Arc::clone(&fuse), locks: Arc::default() };
        let ports = Ports { disk: Arc::new(disk), clock: Arc::new(SystemClock), random: Arc::new(Seeded::new(1)) };
        let editor = Arc::new(Connection { machine: Arc::clone(self), fuse: Arc::clone(&fuse) });
        let workspace = Arc::new(Workspace::new(ports, editor, documents));
        let mut settings = Settings::default();
        // A refusal is believed when so long nothing has come.
        settings.commit.echo_ms = 50;
        workspace.set_settings(Arc::new(settings));
        workspace.set_roots(Roots { folders: vec!["/w".into()] });
        if state {
            workspace.set_state_dir(Some(STATE.into()));
        }
        let open = || {
            for (uri, buffer) in self.buffers.lock().unwrap().iter() {
                let key = Key::File(uri.strip_prefix("file://").unwrap().into());
                workspace.documents.open(key, uri, "plaintext", buffer.version, &buffer.text);
            }
        };
        if early {
            open();
            workspace.recover();
        } else {
            workspace.recover();
            workspace.recovered().await;
            open();
        }
        workspace.recovered().await;
        Run { workspace, fuse }
    }

    /// The user opens a document, with a text that may not be that of its file.
    pub(super) fn open(&self, path: &str, text: &str) {
        self.buffers.lock().unwrap().insert(uri(path), Buffer { text: text.to_owned(), version: 1 });
        let mirror = self.mirror.lock().unwrap().clone();
        mirror.open(Key::File(path.into()), &uri(path), "plaintext", 1, text);
    }

    pub(super) fn close(&self, path: &str) {
        self.buffers.lock().unwrap().remove(&uri(path));
        let mirror = self.mirror.lock().unwrap().clone();
        mirror.close(&Key::File(path.into()));
    }

    /// The user types at the end of the first line.
    pub(super) fn types(&self, path: &str, typed: &str) {
        let mut buffers = self.buffers.lock().unwrap();
        let buffer = buffers.get_mut(&uri(path)).unwrap();
        let at = buffer.text.find('\n').unwrap_or(buffer.text.len());
        self.change(&uri(path), buffer, &[Splice { range: at..at, text: typed.to_owned() }]);
    }

    fn change(&self, uri: &str, buffer: &mut Buffer, splices: &[Splice]) {
        let mut text = Text::new(&buffer.text, LineBreaks::Lf);
        let mirror = self.mirror.lock().unwrap().clone();
        let encoding = mirror.counting().encoding;
        let mut changes = Vec::new();
        for splice in splices.iter().rev() {
            let edit = text.edit_of(splice, encoding);
            text.splice(splice);
            changes.push(ContentChange { range: Some(edit.range), text: edit.new_text });
        }
        (buffer.text, buffer.version) = (text.to_string(), buffer.version + 1);
        if let Some(key) = mirror.key_of(uri) {
            mirror.change(&key, buffer.version, changes);
        }
    }

    pub(super) fn text(&self, path: &str) -> Option<String> {
        self.buffers.lock().unwrap().get(&uri(path)).map(|buffer| buffer.text.clone())
    }

    /// Everything there is: files with their modes, folders, and buffers.
    pub(super) fn world(&self) -> BTreeMap<String, String> {
        let mut world = BTreeMap::new();
        let mut todo = vec![PathBuf::from("/w")];
        while let Some(folder) = todo.pop() {
            for DirEntry { name, kind, .. } in self.disk.read_dir(&folder).unwrap() {
                let path = folder.join(name);
                let told = if kind == FileKind::File {
                    let mode = self.disk.metadata(&path).unwrap().mode;
                    format!("{mode:o} {:?}", String::from_utf8(self.disk.bytes(&path).unwrap()).unwrap())
                } else if kind == FileKind::Directory {
                    todo.push(path.clone());
                    "folder".to_owned()
                } else {
                    "link".to_owned()
                };
                world.insert(path.display().to_string(), told);
            }
        }
        for (uri, buffer) in self.buffers.lock().unwrap().iter() {
            world.insert(uri.clone(), buffer.text.clone());
        }
        world
    }

    /// The files of the journal that say something.
    pub(super) fn journal(&self) -> Vec<String> {
        let folder = Path::new(STATE).join("journal");
        let names = self.disk.read_dir(&folder).unwrap_or_default().into_iter().map(|entry| entry.name);
        names.filter(|name| self.disk.bytes(folder.join(name)).is_some_and(|bytes| !bytes.is_empty())).collect()
    }
}

impl Run {
    pub(super) async fn set(&self, changes: &[FileChange]) -> Result<Vec<Committed>, SetRefused> {
        self.workspace.commit_set(&self.workspace.compose(changes)?, &CancellationToken::new()).await
    }
}

#[async_trait]
impl Editor for Connection {
    async fn apply_edit(&self, edit: ApplyEdit, _: Duration) -> Result<EditReply, AskError> {
        let no = || Ok(EditReply { applied: false, reason: Some("not now".to_owned()) });
        match self.fuse.draw() {
            Lot::Done => {}
            Lot::Fails => return no(),
            Lot::Dies | Lot::Dead => return Err(AskError::Gone),
        }
        let machine = &self.machine;
        let number = machine.edits.fetch_add(1, Ordering::SeqCst);
        let manner = machine.manner.lock().unwrap().take();
        if let Some(mut manner) = manner {
            let applies = manner(machine, number, &edit);
            machine.manner.lock().unwrap().get_or_insert(manner);
            if !applies {
                return no();
            }
        }
        let mut buffers = machine.buffers.lock().unwrap();
        let Some(buffer) = buffers.get_mut(&edit.uri).filter(|buffer| buffer.version == edit.version) else {
            return no();
        };
        let text = Text::new(&buffer.text, LineBreaks::Lf);
        let encoding = machine.mirror.lock().unwrap().counting().encoding;
        let splices: Vec<Splice> = edit.edits.iter().map(|edit| text.splice_of(edit, encoding).0).collect();
        machine.change(&edit.uri, buffer, &splices);
        Ok(EditReply { applied: true, reason: None })
    }

    fn tell(&self, news: News) {
        self.machine.told.lock().unwrap().push(news);
    }
}
