//! The user's own settings file, where there is no editor beside it: looked at again before each decision.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tracing::warn;

use crate::config::{OwnFile, OwnWatch, Settings};
use crate::dispatch::{Dispatch, OwnSettings};
use crate::permissions::Trust;
use crate::server::{Parts, Rooms};
use crate::workspace::Workspace;

/// What the file decides, and beside what.
struct Watched {
    /// Rules that count beside those of the file, and what else was asked for on the command line.
    besides: Settings,
    /// Folders that are trusted whatever it says.
    named: Vec<PathBuf>,
    workspace: Weak<Workspace>,
    trust: Arc<Trust>,
    rooms: Rooms,
    seen: Mutex<Seen>,
}

/// The file, and what it said when it was last looked at.
struct Seen {
    file: OwnWatch,
    settings: Settings,
    trusted: BTreeSet<PathBuf>,
}

/// Takes the settings and the trust of a file, now and whenever it is another. Blocking.
pub(super) fn heed(file: OwnFile, besides: Settings, named: Vec<PathBuf>, parts: &Parts, rooms: &Rooms) {
    let path = file.path.clone();
    let watched = Watched {
        besides,
        named,
        workspace: Arc::downgrade(&parts.workspace),
        trust: Arc::clone(&parts.trust),
        rooms: rooms.clone(),
        seen: Mutex::new(Seen { file: OwnWatch::new(file), settings: Settings::default(), trusted: BTreeSet::new() }),
    };
    watched.look();
    Dispatch::heed(&parts.dispatch, OwnSettings { file: path, look: Box::new(move || watched.look()) });
}

impl Watched {
    fn look(&self) {
        let Some(workspace) = self.workspace.upgrade() else { return };
        let disk = &*workspace.ports.disk;
        // Held while the file is read, so that what is read last is what is in force.
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let Seen { file, settings, trusted } = &mut *seen;
        let Some(says) = file.look(disk, settings) else { return };
        for remark in &says.remarks {
            warn!(key = remark.key, message = remark.message, "a setting that is not taken");
        }
        for folder in trusted.difference(&says.trusted).filter(|folder| !self.named.contains(*folder)) {
            self.trust.forget(folder);
            self.rooms.sources.trust_changed();
            self.rooms.calls.trust_ended(folder);
        }
        for folder in says.trusted.difference(trusted) {
            self.trust.set(folder, true);
        }
        let mut all = says.settings.clone();
        all.permissions.allow.extend(self.besides.permissions.allow.iter().cloned());
        workspace.set_settings(Arc::new(all));
        self.rooms.sources.trust_changed();
        Arc::clone(&self.rooms.calls).look_again();
        self.rooms.calls.configured();
        (*settings, *trusted) = (says.settings, says.trusted);
    }
}
