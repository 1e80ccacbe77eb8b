//! The user's own settings file, where there is no editor beside it: looked at again before each decision.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tracing::{info, warn};

use crate::config::{OwnFile, OwnText, Settings};
use crate::dispatch::{Dispatch, OwnSettings};
use crate::permissions::Trust;
use crate::server::{Parts, Rooms};
use crate::workspace::Workspace;

/// The file, and what it said when it was last looked at.
struct Watched {
    file: OwnFile,
    /// Rules that count beside those of the file, and what else was asked for on the command line.
    besides: Settings,
    /// Folders that are trusted whatever it says.
    named: Vec<PathBuf>,
    workspace: Weak<Workspace>,
    trust: Arc<Trust>,
    rooms: Rooms,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    text: Option<OwnText>,
    settings: Settings,
    trusted: BTreeSet<PathBuf>,
}

/// Takes the settings and the trust of a file, now and whenever it is another. Blocking.
pub(super) fn heed(file: OwnFile, besides: Settings, named: Vec<PathBuf>, parts: &Parts, rooms: &Rooms) {
    let watched = Watched {
        file: file.clone(),
        besides,
        named,
        workspace: Arc::downgrade(&parts.workspace),
        trust: Arc::clone(&parts.trust),
        rooms: rooms.clone(),
        seen: Mutex::default(),
    };
    watched.look();
    Dispatch::heed(&parts.dispatch, OwnSettings { file: file.path, look: Box::new(move || watched.look()) });
}

impl Watched {
    fn look(&self) {
        let Some(workspace) = self.workspace.upgrade() else { return };
        let disk = &*workspace.ports.disk;
        // Held while the file is read, so that what is read last is what is in force.
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let text = self.file.text(disk);
        if seen.text.as_ref() == Some(&text) {
            return;
        }
        let says = self.file.says(&text, disk).after(&seen.settings);
        info!(file = %self.file.path.display(), fault = says.fault, "the user's own settings");
        for remark in &says.remarks {
            warn!(key = remark.key, message = remark.message, "a setting that is not taken");
        }
        for folder in seen.trusted.difference(&says.trusted).filter(|folder| !self.named.contains(*folder)) {
            self.trust.forget(folder);
            self.rooms.sources.trust_changed();
            self.rooms.calls.trust_ended(folder);
        }
        for folder in says.trusted.difference(&seen.trusted) {
            self.trust.set(folder, true);
        }
        let mut settings = says.settings.clone();
        settings.permissions.allow.extend(self.besides.permissions.allow.iter().cloned());
        workspace.set_settings(Arc::new(settings));
        self.rooms.sources.trust_changed();
        Arc::clone(&self.rooms.calls).look_again();
        self.rooms.calls.configured();
        *seen = Seen { text: Some(text), settings: says.settings, trusted: says.trusted };
    }
}
