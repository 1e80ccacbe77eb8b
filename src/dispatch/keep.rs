//! Keeps whole outputs: in their session's store at once, and what is long also on the disk, beside the call.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tokio_util::task::TaskTracker;
use tracing::warn;

use crate::config::OutputSettings;
use crate::outputs::{NewOutput, SpillPlace, Spilled, Store};
use crate::ports::{self, Ports};
use crate::sessions::Session;

use super::Dispatch;

/// So many sessions have outputs; beyond that those of the one that made none for the longest go.
const SESSIONS: usize = 50;

/// Keeps outputs.
#[derive(Default)]
pub(super) struct Keeper {
    place: OnceLock<SpillPlace>,
    /// The sessions with outputs, the one that made none for the longest first.
    recent: Mutex<VecDeque<(String, Arc<Mutex<Store>>)>>,
    /// What is being written or removed.
    pub(super) tasks: TaskTracker,
}

impl Keeper {
    /// Keeps an output in memory, where it is when this returns; what is long is then written to the disk. The limits say how
    /// much of both is a session's.
    pub(super) fn keep(&self, session: &Session, new: NewOutput, limits: &OutputSettings) {
        let (id, text) = (new.id.clone(), Arc::clone(&new.text));
        let store = session.shared_outputs();
        let put = lock(&store).put(new, limits.kept_bytes, self.place.get().is_some());
        let mut remove = put.remove;
        remove.extend(self.used(&session.id, &store));
        self.remove(remove);
        if let (Some(number), Some(place)) = (put.write, self.place.get().cloned()) {
            let (session, disk_bytes) = (session.id.clone(), limits.disk_bytes);
            self.tasks.spawn_blocking(move || {
                let file = place.write(&session, &id, &text, || lock(&store).wants(number));
                let unwanted = lock(&store).written(number, file, disk_bytes);
                place.remove(&unwanted);
            });
        }
    }

    /// Where long outputs go, if they go anywhere, and how much of one.
    pub(super) fn place(&self, limits: &OutputSettings) -> Option<SpillPlace> {
        self.place.get().cloned().map(|place| place.with_most(limits.spill_bytes))
    }

    /// Keeps an output that is on the disk already.
    pub(super) fn keep_file(&self, session: &Session, new: NewOutput, spilled: Spilled, limits: &OutputSettings) {
        let store = session.shared_outputs();
        let mut remove = lock(&store).put_file(new, spilled, limits.kept_bytes, limits.disk_bytes);
        remove.extend(self.used(&session.id, &store));
        self.remove(remove);
    }

    /// A session is gone, and with it its outputs.
    pub(super) fn forget(&self, session: &str) {
        let mut recent = lock(&self.recent);
        let Some(at) = recent.iter().position(|(id, _)| id == session) else { return };
        let gone = recent.remove(at);
        drop(recent);
        self.remove(gone.map(|(_, store)| lock(&store).clear()).unwrap_or_default());
    }

    /// A session made an output. Answers the files of the outputs that go for it.
    fn used(&self, session: &str, store: &Arc<Mutex<Store>>) -> Vec<PathBuf> {
        let mut recent = lock(&self.recent);
        let mut gone = Vec::new();
        if let Some(at) = recent.iter().position(|(id, _)| id == session)
            && let Some((_, before)) = recent.remove(at)
            && !Arc::ptr_eq(&before, store)
        {
            // Another session had this name before.
            gone.push(before);
        }
        recent.push_back((session.to_owned(), Arc::clone(store)));
        if recent.len() > SESSIONS {
            gone.extend(recent.pop_front().map(|(_, store)| store));
        }
        drop(recent);
        gone.iter().flat_map(|store| lock(store).clear()).collect()
    }

    /// Removes files, beside the caller.
    pub(super) fn remove(&self, files: Vec<PathBuf>) {
        if let Some(place) = self.place.get().cloned()
            && !files.is_empty()
        {
            self.tasks.spawn_blocking(move || place.remove(&files));
        }
    }
}

impl Dispatch {
    /// Long outputs also go to the disk from now on: to a folder in the directory for our state, or without one to the
    /// system's folder for what need not last. What processes of ours left there that are gone is removed. Without this
    /// nothing leaves the memory. Only the first call counts.
    pub fn spill_to(&self, state_dir: Option<&Path>, ports: &Ports) {
        let place = match state_dir {
            Some(state_dir) => SpillPlace::in_state(ports, state_dir),
            None => SpillPlace::temporary(ports, &ports::temporary_folder()),
        };
        let now = ports.clock.wall();
        if self.keeper.place.set(place.clone()).is_ok() {
            self.keeper.tasks.spawn_blocking(move || place.sweep(now));
        }
    }

    /// The end: nothing of outputs is left on the disk.
    pub async fn forget_outputs(&self) {
        if let Some(place) = self.keeper.place.get().cloned() {
            // Whatever is still being written fails, and leaves nothing.
            let closing = tokio::task::spawn_blocking(move || place.close());
            if let Err(error) = closing.await {
                warn!(%error, "removing the outputs broke down");
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing that panics runs under these locks.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outputs::{SPILL_FROM, Whole, open};
    use crate::ports::{MemoryDisk, Operation};

    fn keeper(disk: &Arc<MemoryDisk>) -> Keeper {
        let keeper = Keeper::default();
        assert!(keeper.place.set(SpillPlace::in_memory(disk)).is_ok());
        keeper
    }

    fn new(id: &str, bytes: usize) -> NewOutput {
        NewOutput {
            id: id.into(),
            call_id: format!("call-{id}"),
            tool: "read".into(),
            text: "x".repeat(bytes).into(),
            external: None,
            kind: None,
        }
    }

    async fn done(keeper: &Keeper) {
        keeper.tasks.close();
        keeper.tasks.wait().await;
    }

    fn files(disk: &MemoryDisk) -> usize {
        SpillPlace::files(disk).len()
    }

    fn limits(kept_bytes: usize) -> OutputSettings {
        OutputSettings { kept_bytes, ..OutputSettings::default() }
    }

    #[tokio::test]
    async fn what_is_long_survives_its_place_in_memory() {
        let disk = Arc::new(MemoryDisk::new());
        let (keeper, session) = (keeper(&disk), Session::new("s"));
        for id in ["o1", "o2", "o3"] {
            keeper.keep(&session, new(id, SPILL_FROM + 1), &limits(SPILL_FROM));
        }
        done(&keeper).await;
        let found = session.outputs().find("call-o1").unwrap();
        assert!(matches!(found.whole, Whole::Disk(..)));
        assert_eq!(open(&*disk, &found).unwrap().bytes(), SPILL_FROM as u64 + 1);
        assert_eq!(files(&disk), 3);
        let writes = disk.changes().iter().filter(|(operation, _)| *operation == Operation::Replace).count();
        assert_eq!(writes, 3, "each was written once");
        // Gone with its session.
        keeper.forget("s");
        done(&keeper).await;
        assert_eq!((files(&disk), session.outputs().find("o1")), (0, None));
    }

    #[tokio::test]
    async fn what_cannot_be_written_is_not_promised() {
        let disk = Arc::new(MemoryDisk::new());
        disk.fail(Operation::CreateDirAll, "/state/outputs", std::io::ErrorKind::PermissionDenied);
        let (keeper, session) = (keeper(&disk), Session::new("s"));
        keeper.keep(&session, new("o1", SPILL_FROM + 1), &limits(SPILL_FROM));
        done(&keeper).await;
        assert!(matches!(session.outputs().find("o1").unwrap().whole, Whole::Memory(_)));
        keeper.keep(&session, new("o2", 10), &limits(SPILL_FROM));
        assert_eq!(session.outputs().find("o1"), None);
    }

    #[tokio::test]
    async fn the_outputs_of_fifty_sessions_are_kept() {
        let disk = Arc::new(MemoryDisk::new());
        let keeper = keeper(&disk);
        let sessions: Vec<Session> = (0..=SESSIONS).map(|number| Session::new(&number.to_string())).collect();
        for session in &sessions[..SESSIONS] {
            keeper.keep(session, new("o1", SPILL_FROM + 1), &limits(1 << 20));
        }
        keeper.keep(&sessions[0], new("o2", 1), &limits(1 << 20));
        keeper.keep(&sessions[SESSIONS], new("o1", 1), &limits(1 << 20));
        done(&keeper).await;
        let kept: Vec<usize> = (0..=SESSIONS).filter(|&at| sessions[at].outputs().find("o1").is_some()).collect();
        assert_eq!(kept, (0..=SESSIONS).filter(|&at| at != 1).collect::<Vec<_>>());
        assert_eq!(files(&disk), SESSIONS - 1);
        // A session that has the name of one before it begins with nothing, and leaves nothing of that.
        let again = Session::new("0");
        keeper.keep(&again, new("o1", 1), &limits(1 << 20));
        done(&keeper).await;
        assert_eq!((files(&disk), sessions[0].outputs().find("o2")), (SESSIONS - 2, None));
    }
}
