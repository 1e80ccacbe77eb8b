//! Checks that read the disk: what a server says of them is about a text that was saved, and nothing else.

use tokio::time::Instant;

use super::documents::Doc;
use super::{Hub, ServerId, SourceKey, habits_mut};
use crate::languages::settle::{Content, Stamp};

impl Hub {
    /// Whether a server checks a document when it is saved as well, so that nothing it says before is the whole truth.
    pub(super) fn speaks_on_save(&self, id: ServerId, doc: &Doc) -> bool {
        let running = &self.running[id];
        // One that cannot be asked publishes everything in one list: once the text is saved there is nothing besides.
        let unsaved = doc.saved != Some(doc.now().rev);
        running.pushes_too || running.server.checks_on_save.is_some() && (running.pulls || unsaved)
    }

    /// The same of a source of the editor's.
    pub(super) fn editor_speaks_on_save(&self, id: &str, doc: &Doc) -> bool {
        let Some(source) = self.editors.get(id) else { return false };
        let unsaved = doc.saved != Some(doc.now().rev);
        source.pushes_too || self.check_on_save_of(id).is_some() && (source.pulls || unsaved)
    }

    /// What the progress of the check of the disk is called, if a source of the editor's is a server that has one.
    pub(super) fn check_on_save_of(&self, id: &str) -> Option<&str> {
        let name = self.editors.get(id)?.name.to_lowercase().replace(' ', "-");
        let server = self.table.iter().find(|server| server.checks_on_save.is_some() && name.contains(&server.name))?;
        server.checks_on_save.as_deref()
    }

    /// A check of the disk that began at `begun` has ended. Of the files that were saved before it began, and of which
    /// it published nothing, the server would say what it had said: it publishes what changed only.
    pub(super) fn checked_the_disk(&mut self, source: &SourceKey, begun: Instant, now: Instant) {
        let Some(habits) = habits_mut(&mut self.running, &mut self.editors, source) else { return };
        for doc in self.docs.values_mut() {
            let Some(track) = doc.tracks.get(source) else { continue };
            let Some(rev) = track.newest().filter(|_| track.unheard_since(begun)) else { continue };
            let content = match track.last() {
                Some(set) => Content {
                    problems: doc.moved(&set.content.problems, set.rev, rev, None).into(),
                    unread: set.content.unread,
                },
                None => Content::default(),
            };
            if let Some(track) = doc.tracks.get_mut(source) {
                track.heard(Stamp::None, None, content, now, habits);
            }
        }
    }
}
