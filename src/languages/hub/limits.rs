//! How many servers of ours there are at once, for how long, and how much memory each may take.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tracing::{info, warn};

use super::documents::Place;
use super::servers::{GRACE, Phase, Running};
use super::{Hub, ServerId};
use crate::languages::client::Command;
use crate::languages::known::Server;
use crate::workspace::Key;

/// After one that took too much memory was told to go, so long passes at least before the next is started.
const GONE: Duration = Duration::from_secs(5);

impl Hub {
    /// Sees to it that one more server may start for a document; the error says that none may.
    pub(super) fn make_room(&mut self, name: &str, key: &Key, now: Instant) -> Result<(), Place> {
        let most = self.settings.diagnostics.max_servers;
        let there: Vec<&Running> = self.running.iter().filter(|running| counts(running)).collect();
        if most == 0 || there.len() < most {
            return Ok(());
        }
        // The one that serves this very document is in use, whatever its last use was.
        let idle = there.iter().filter(|running| !running.docs.contains(key) && !self.is_busy(running));
        match idle.min_by_key(|running| (running.used, running.id)).map(|running| running.id) {
            Some(id) => {
                info!(server = self.running[id].server.name, most, "a language server makes room for another");
                self.stop(id, GRACE);
                Ok(())
            }
            None => Err(Place::Absent {
                name: name.to_owned(),
                detail: format!(
                    "{most} language servers run, which is the most (`diagnostics.maxServers`), all in use"
                ),
                missing: true,
                since: now,
            }),
        }
    }

    /// Whether somebody waits for a document of a server's.
    fn is_busy(&self, running: &Running) -> bool {
        running.docs.iter().any(|key| self.is_waited_for(key))
    }

    fn idle(&self) -> Option<Duration> {
        let limit = self.settings.diagnostics.server_idle_ms;
        (limit > 0).then(|| Duration::from_millis(limit))
    }

    /// When the next server will have been idle for too long.
    pub(super) fn next_idle(&self) -> Option<Instant> {
        let limit = self.idle()?;
        self.running.iter().filter(|running| running.up()).map(|running| running.used + limit).min()
    }

    /// Ends the servers that nobody used for too long. Their documents get them back when they are looked at again.
    pub(super) fn end_idle(&mut self, now: Instant) {
        let Some(limit) = self.idle() else { return };
        let due = |running: &&Running| running.up() && running.used + limit <= now;
        let due: Vec<ServerId> = self.running.iter().filter(due).map(|running| running.id).collect();
        for id in due {
            if self.is_busy(&self.running[id]) {
                self.running[id].used = now;
            } else {
                info!(server = self.running[id].server.name, "a language server was idle for long");
                self.stop(id, GRACE);
            }
        }
    }

    /// It was looked how much memory a server takes; one that takes too much is ended, and started anew like one that
    /// crashed.
    pub(super) fn weighed(&mut self, id: ServerId, bytes: u64, now: Instant) {
        let running = &mut self.running[id];
        let Some(limit) = running.server.max_memory.filter(|limit| bytes > *limit && running.up()) else { return };
        let mib = limit / (1024 * 1024);
        warn!(server = running.server.name, bytes, limit, "a language server takes too much memory");
        self.tell(id, Command::Shutdown(GRACE));
        let running = &mut self.running[id];
        // What the process that goes still says is not heard any more.
        running.run += 1;
        running.gone_at = now + GONE;
        let retry = running.restarts.ended(now).map(|delay| running.gone_at.max(now + delay));
        let why = format!("took more than {mib} MiB of memory and was ended (see `diagnostics.serverMemoryMib`)");
        running.phase = Phase::Down { why, stderr: String::new(), retry };
        self.lost(id);
    }

    /// The table changed: servers that are in it no more, or in another way, end.
    pub(super) fn end_changed(&mut self, before: &[Arc<Server>]) {
        let of = |table: &[Arc<Server>], name: &str| table.iter().find(|server| server.name == name).cloned();
        let changed = |running: &&Running| {
            let name = running.server.name.as_str();
            running.phase != Phase::Stopped && of(before, name) != of(&self.table, name)
        };
        let ids: Vec<ServerId> = self.running.iter().filter(changed).map(|running| running.id).collect();
        for id in ids {
            self.stop(id, GRACE);
        }
    }
}

/// Whether a server counts as one that runs.
fn counts(running: &Running) -> bool {
    running.up() || matches!(running.phase, Phase::Down { retry: Some(_), .. })
}
