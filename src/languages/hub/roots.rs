//! Several roots: one process for all of them where a server can do that, else one for each.

use std::sync::Arc;

use tokio::time::Instant;

use super::documents::Place;
use super::servers::{GRACE, Phase, Running};
use super::{Hub, ServerId, SourceKey};
use crate::languages::client::{Command, Root};
use crate::languages::known::Server;
use crate::workspace::Key;

impl Hub {
    /// A server that runs for another root and takes this one too, if there is one; it has been told of it.
    pub(super) fn joined(&mut self, server: &Arc<Server>, command: &[String], root: Option<&Root>) -> Option<ServerId> {
        let root = root.filter(|_| server.shares_process)?;
        let takes = |running: &&Running| {
            running.up()
                && running.takes_folders
                && running.root.is_some()
                && running.server == *server
                && running.command == command
        };
        let id = self.running.iter().find(takes)?.id;
        self.running[id].more.push(root.clone());
        self.tell(id, Command::Folders { added: vec![root.clone()], removed: Vec::new() });
        Some(id)
    }

    /// A server turned out not to take further folders: their documents get servers of their own.
    pub(super) fn split(&mut self, id: ServerId, now: Instant) {
        let more = std::mem::take(&mut self.running[id].more);
        let elsewhere: Vec<Key> = self.running[id].docs.iter().filter(|key| within(key, &more)).cloned().collect();
        for key in elsewhere {
            self.tell(id, Command::Close(key.clone()));
            self.let_go(id, &key);
            if let Some(doc) = self.docs.get_mut(&key) {
                doc.places.retain(|_, place| *place != Place::At(id));
                doc.tracks
                    .retain(|source, _| !matches!(source, SourceKey::Own(of) | SourceKey::OnSave(of) if *of == id));
            }
            self.serve(&key, now);
        }
    }

    /// The folders changed: servers leave those that are none any more, unless they have documents there.
    pub(super) fn leave_folders(&mut self) {
        for id in 0..self.running.len() {
            let running = &self.running[id];
            let left = |root: &Root| {
                let folder = self.folders.iter().any(|folder| root.path.starts_with(folder));
                !folder && running.docs.iter().all(|key| !within(key, std::slice::from_ref(root)))
            };
            let gone: Vec<Root> = running.roots().filter(|root| left(root)).cloned().collect();
            if gone.is_empty() || running.phase == Phase::Stopped {
                continue;
            }
            let mut stay = running.roots().filter(|root| !gone.contains(root)).cloned().collect::<Vec<Root>>();
            if stay.is_empty() {
                // Without a folder of its own it is of use only to documents outside of all of them.
                if running.docs.is_empty() {
                    self.stop(id, GRACE);
                }
                continue;
            }
            let running = &mut self.running[id];
            running.root = Some(stay.remove(0));
            running.more = stay;
            self.tell(id, Command::Folders { added: Vec::new(), removed: gone });
        }
    }
}

/// Whether a document lies in one of these folders.
fn within(key: &Key, roots: &[Root]) -> bool {
    match key {
        Key::File(path) => roots.iter().any(|root| path.starts_with(&root.path)),
        Key::Unnamed(_) => false,
    }
}
