//! The database: one generic table of parts. It is written only when it is ours, whole, and of a shape we know.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags, params};
use serde_json::Value;
use tracing::{debug, warn};

use super::{Owner, STANDING, place};

/// The shape of the tables, in `user_version`.
const SCHEMA: i64 = 1;

/// Several sidecars share one database: how long one waits for another that writes.
pub(super) const BUSY: Duration = Duration::from_secs(1);

/// A clock that shows a time before this one, when this was written, is wrong (seconds since 1970: the beginning of 2026).
const WRITTEN: i64 = 1_767_225_600;

const CREATE: &str = "
    CREATE TABLE session_parts (
        session TEXT NOT NULL,
        root TEXT NOT NULL,
        part TEXT NOT NULL,
        value TEXT NOT NULL,
        updated INTEGER NOT NULL,
        PRIMARY KEY (session, root, part)
    ) WITHOUT ROWID;
    CREATE INDEX session_parts_updated ON session_parts (updated);
    PRAGMA user_version = 1;";

/// Why the database cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum Fault {
    /// Where it is.
    #[error("{0}")]
    Place(String),
    /// Somebody else holds it.
    #[error("another program holds it ({0})")]
    Busy(String),
    /// It is no database, or damaged. It is left as it is.
    #[error("it is damaged, or no database of ours ({0}); it was left as it is: move it away to begin a new one")]
    Damaged(String),
    /// Another file is in its place, or none.
    #[error("it was moved away or replaced; start Ropewalk anew to keep sessions again")]
    Gone,
    /// It may not be written.
    #[error("it cannot be written")]
    ReadOnly,
    /// A newer version of this program made it.
    #[error("a newer version of Ropewalk made it (schema {0}, this version knows {SCHEMA}); it was left as it is")]
    Newer(i64),
    /// Anything else.
    #[error("{0}")]
    Other(String),
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Fault {
        let words = error.to_string();
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Fault::Busy(words),
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Fault::Damaged(words),
            Some(ErrorCode::ReadOnly) => Fault::ReadOnly,
            _ => Fault::Other(words),
        }
    }
}

/// An open database.
pub(super) struct Database {
    connection: Connection,
    path: PathBuf,
    /// The file that was opened, by device and number.
    file: (u64, u64),
}

impl Database {
    /// Opens the database of an existing file; makes the tables in an empty one.
    pub(super) fn open(path: &Path) -> Result<Database, Fault> {
        let file = place::file(path).ok_or(Fault::Gone)?;
        let flags =
            OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let mut connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(BUSY)?;
        if connection.is_readonly("main")? {
            return Err(Fault::ReadOnly);
        }
        // Looked at before anything is changed, the way of its journal included.
        // In one view: another sidecar may make the tables between two looks.
        let look = connection.transaction()?;
        let (shape, bare) = (version(&look)?, empty(&look)?);
        look.finish()?;
        match shape {
            0 if bare => {}
            SCHEMA => {}
            newer if newer > SCHEMA => return Err(Fault::Newer(newer)),
            other => return Err(Fault::Damaged(format!("schema {other}"))),
        }
        let check: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
        if check != "ok" {
            return Err(Fault::Damaged(check));
        }
        // With a write-ahead log, readers and a writer do not hold up each other, and a kill loses nothing that was
        // committed. Where the file system has no shared memory for it, SQLite stays with its journal, which is as safe.
        // Turning it on takes the database alone for a moment; whoever comes second finds it on.
        if let Err(error) = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get::<_, String>(0)) {
            debug!(%error, "the journal stays as it is");
        }
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        // Another sidecar may have been quicker.
        if version(&transaction)? == 0 {
            transaction.execute_batch(CREATE)?;
        }
        transaction.commit()?;
        let database = Database { connection, path: path.to_owned(), file };
        database.there()?;
        Ok(database)
    }

    /// Whether the file that was opened is still the one at its place. What is written into another is lost, and its log
    /// could harm whatever has taken the place.
    fn there(&self) -> Result<(), Fault> {
        if place::file(&self.path) == Some(self.file) { Ok(()) } else { Err(Fault::Gone) }
    }

    /// All parts of a session. One that cannot be read is told to the log and left out.
    pub(super) fn load(&mut self, owner: &Owner) -> Result<BTreeMap<String, Value>, Fault> {
        self.there()?;
        let mut statement =
            self.connection.prepare("SELECT part, value FROM session_parts WHERE session = ?1 AND root = ?2")?;
        let rows = statement.query_map(params![owner.session, owner.root], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
        })?;
        let mut parts = BTreeMap::new();
        for row in rows {
            let (part, text) = row?;
            match serde_json::from_str(&text) {
                Ok(value) => drop(parts.insert(part, value)),
                Err(error) => warn!(part, %error, "a kept part of a session cannot be read"),
            }
        }
        Ok(parts)
    }

    /// Removes the parts of some sessions, then writes some, in one transaction. `now`: seconds since 1970; by a clock
    /// that is surely wrong, what is written is as old as the newest that is there.
    pub(super) fn write(
        &mut self,
        cleared: &[Owner],
        saved: &BTreeMap<(Owner, String), Option<String>>,
        now: u64,
    ) -> Result<(), Fault> {
        self.there()?;
        let now = i64::try_from(now).unwrap_or(i64::MAX);
        let transaction = self.connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        // By a clock that has not been set yet, what is written now would be the oldest there is.
        let now = if now < WRITTEN { newest(&transaction)?.map_or(now, |newest| now.max(newest)) } else { now };
        {
            let mut clear = transaction.prepare("DELETE FROM session_parts WHERE session = ?1 AND root = ?2")?;
            for owner in cleared {
                clear.execute(params![owner.session, owner.root])?;
            }
            let mut save = transaction.prepare(
                "INSERT INTO session_parts (session, root, part, value, updated) VALUES (?1, ?2, ?3, ?4, ?5)
                 ON CONFLICT (session, root, part) DO UPDATE SET value = excluded.value, updated = excluded.updated",
            )?;
            let mut remove =
                transaction.prepare("DELETE FROM session_parts WHERE session = ?1 AND root = ?2 AND part = ?3")?;
            for ((owner, part), value) in saved {
                match value {
                    Some(value) => save.execute(params![owner.session, owner.root, part, value, now])?,
                    None => remove.execute(params![owner.session, owner.root, part])?,
                };
            }
        }
        transaction.commit()?;
        Ok(())
    }

    /// Removes the sessions (and nothing that is kept for good) of which no part was written in the last `keep` seconds
    /// before `now` (seconds since 1970), or before the newest part of all, if that is older: a clock that is far ahead
    /// makes nothing old.
    pub(super) fn prune(&mut self, now: u64, keep: u64) -> Result<(), Fault> {
        let now = i64::try_from(now).unwrap_or(i64::MAX);
        let Some(newest) = newest(&self.connection)? else { return Ok(()) };
        let before = now.min(newest).saturating_sub(i64::try_from(keep).unwrap_or(i64::MAX));
        let old = "DELETE FROM session_parts WHERE updated < ?1 AND substr(part, 1, length(?2)) <> ?2 AND NOT EXISTS (
            SELECT 1 FROM session_parts AS newer
            WHERE newer.session = session_parts.session AND newer.root = session_parts.root AND newer.updated >= ?1)";
        self.connection.execute(old, params![before, STANDING])?;
        Ok(())
    }
}

/// When the newest part was written; seconds since 1970.
fn newest(connection: &Connection) -> Result<Option<i64>, rusqlite::Error> {
    connection.query_row("SELECT max(updated) FROM session_parts", [], |row| row.get(0))
}

fn version(connection: &Connection) -> Result<i64, rusqlite::Error> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}

fn empty(connection: &Connection) -> Result<bool, rusqlite::Error> {
    connection.query_row("SELECT NOT EXISTS (SELECT 1 FROM sqlite_schema)", [], |row| row.get(0))
}
