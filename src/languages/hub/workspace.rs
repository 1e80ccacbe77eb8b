//! What servers say of all files at once: where an edit broke files that nobody has open.

use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::hear::parsed;
use super::wait::Waiting;
use super::{Hub, ServerId, SourceKey};
use crate::languages::WaitMode;
use crate::languages::client::Command;
use crate::workspace::Key;

/// What is known of how a server speaks of all files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct AllFiles {
    /// When the question that is open was asked.
    asked: Option<Instant>,
    /// It has answered in full before, so that what it says now can be compared.
    known: bool,
    /// How often it was asked without that.
    tries: u8,
}

/// One that has not answered in full so often is not asked any more before an edit.
const TRIES: u8 = 3;

impl Hub {
    /// Asks the servers of a document about all files. `first`: only those that have not answered yet.
    pub(super) fn ask_about_all(&mut self, key: &Key, first: bool) {
        let ids: Vec<ServerId> = self.docs.get(key).map(|doc| doc.servers().collect()).unwrap_or_default();
        for id in ids {
            let all = self.running[id].all_files;
            if !first || !(all.known || all.asked.is_some() || all.tries >= TRIES) {
                self.tell(id, Command::PullWorkspace);
            }
        }
    }

    pub(super) fn asked_about_all(&mut self, id: ServerId, now: Instant) {
        let all = &mut self.running[id].all_files;
        all.asked = Some(now);
        all.tries += u8::from(!all.known && all.tries < TRIES);
    }

    /// A server answered about all files.
    pub(super) fn said_of_all(&mut self, id: ServerId, reports: &[(String, Vec<Value>)], whole: bool) {
        let running = &mut self.running[id];
        running.all_files.asked = None;
        // Of a project that it does not know yet it says nothing of worth.
        if running.work.loading() {
            running.all_files.tries = 0;
            return;
        }
        let (known, encoding) = (running.all_files.known, running.encoding);
        let source = SourceKey::Own(id);
        for (uri, items) in reports {
            let Ok(raw) = parsed(items, uri) else { continue };
            // What it says for the first time was so before.
            self.note(&source, uri, &raw.problems, encoding, known);
        }
        self.running[id].all_files.known |= whole;
    }

    /// Until when a wait that has all it needs of its own documents stays for what is said of the others: servers that
    /// have answered that question before were asked after the edit, and have not answered.
    pub(super) fn stays_for_all(&self, waiting: &Waiting, now: Instant) -> Option<Instant> {
        if waiting.ended || waiting.mode == WaitMode::None || waiting.only.is_some() {
            return None;
        }
        let most = Duration::from_millis(self.settings.diagnostics.known_ms);
        let until = waiting.started + waiting.deadline.map_or(most, |deadline| deadline.min(most));
        let edited = waiting.docs.iter().filter(|doc| doc.base.is_some());
        let mut servers = edited.filter_map(|doc| self.docs.get(&doc.key)).flat_map(super::documents::Doc::servers);
        let open = servers.any(|id| {
            let all = self.running[id].all_files;
            all.known && all.asked.is_some_and(|asked| asked >= waiting.started)
        });
        (open && now < until).then_some(until)
    }
}
