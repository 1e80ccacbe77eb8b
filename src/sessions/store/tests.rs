//! The store on a real disk: what survives, and what is wrong with a database.

#![expect(clippy::disallowed_methods, reason = "the database is a real file")]

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use rusqlite::Connection;
use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::ports::SystemClock;

/// A clock that stands still, so many days after 1970.
struct Day(u64);

impl Clock for Day {
    fn now(&self) -> tokio::time::Instant {
        SystemClock.now()
    }

    fn wall(&self) -> std::time::SystemTime {
        UNIX_EPOCH + Duration::from_hours(24 * self.0)
    }

    fn sleep(&self, duration: Duration) -> std::pin::Pin<Box<dyn Future<Output = ()> + Send>> {
        SystemClock.sleep(duration)
    }
}

type Told = Arc<Mutex<Vec<String>>>;

fn start_on(folder: &Path, day: u64) -> (Store, Told) {
    let told = Told::default();
    let heard = Arc::clone(&told);
    (Store::start(folder, Arc::new(Day(day)), Box::new(move |words| heard.lock().unwrap().push(words))), told)
}

fn start(folder: &Path) -> (Store, Told) {
    start_on(folder, 20_000)
}

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o700)).unwrap();
    folder
}

fn owner(session: &str) -> Owner {
    Owner { session: session.to_owned(), root: "/w".to_owned() }
}

async fn load(store: &Store, owner: Owner) -> BTreeMap<String, Value> {
    let (sender, parts) = oneshot::channel();
    store.load(owner, Box::new(move |parts| drop(sender.send(parts))));
    parts.await.unwrap()
}

#[tokio::test]
async fn what_was_written_survives_a_kill() {
    let folder = folder();
    let place = folder.path().join("deep/state");
    let (store, told) = start(&place);
    for number in 0..5 {
        store.save(owner("a"), "todos", &json!([number]));
    }
    store.save(owner("b"), "todos", &json!("b"));
    // What was handed over is read, whether it has been written or not.
    assert_eq!(load(&store, owner("a")).await["todos"], json!([4]));
    store.flush().await;
    // Killed: nothing is closed, nothing flushed any more.
    std::mem::forget(store);
    let (again, _) = start(&place);
    assert_eq!(load(&again, owner("a")).await, BTreeMap::from([("todos".to_owned(), json!([4]))]));
    assert_eq!(load(&again, Owner { root: "/other".to_owned(), ..owner("a") }).await, BTreeMap::new());
    again.remove(owner("a"));
    again.save(owner("a"), "mode", &json!("plan"));
    assert_eq!(load(&again, owner("a")).await, BTreeMap::from([("mode".to_owned(), json!("plan"))]));
    assert_eq!(load(&again, owner("b")).await["todos"], json!("b"));
    assert!(again.state().kept && told.lock().unwrap().is_empty());
    let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!(mode(&place), 0o700);
    for entry in fs::read_dir(&place).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
}

#[tokio::test]
async fn several_sidecars_share_a_database() {
    let folder = folder();
    let (one, two) = (start(folder.path()).0, start(folder.path()).0);
    for number in 0..50 {
        one.save(owner("one"), &format!("p{number}"), &json!(number));
        two.save(owner("two"), &format!("p{number}"), &json!(number));
        if number % 10 == 0 {
            tokio::join!(one.flush(), two.flush());
        }
    }
    tokio::join!(one.flush(), two.flush());
    assert_eq!(load(&one, owner("two")).await.len(), 50);
    assert_eq!(load(&two, owner("one")).await.len(), 50);
}

#[tokio::test]
async fn old_sessions_are_pruned_as_a_whole() {
    let folder = folder();
    let (store, _) = start_on(folder.path(), 100);
    store.save(owner("old"), "todos", &json!(1));
    store.save(owner("used"), "todos", &json!(1));
    store.flush().await;
    drop(store);
    let (store, _) = start_on(folder.path(), 120);
    store.save(owner("used"), "mode", &json!("plan"));
    store.flush().await;
    drop(store);
    // Nothing is old by the clock alone: a person comes back to what they left.
    let (store, _) = start_on(folder.path(), 131);
    assert_eq!((load(&store, owner("old")).await.len(), load(&store, owner("used")).await.len()), (1, 2));
    store.save(owner("used"), "mode", &json!("build"));
    store.flush().await;
    drop(store);
    let (store, _) = start_on(folder.path(), 131);
    assert_eq!((load(&store, owner("old")).await.len(), load(&store, owner("used")).await.len()), (0, 2));
}

/// The clock on the wall jumps between runs, and each run writes a session: none is lost for it, and time goes on.
#[tokio::test]
async fn a_clock_that_jumps_makes_no_session_old() {
    let folder = folder();
    // Never set, far behind, right, years ahead for once, right again.
    for (number, day) in [21_000, 0, 19_600, 21_001, 40_000, 21_002, 21_003].into_iter().enumerate() {
        let (store, told) = start_on(folder.path(), day);
        for before in 0..number {
            assert_eq!(load(&store, owner(&before.to_string())).await.len(), 1, "{before} on day {day}");
        }
        store.save(owner(&number.to_string()), "todos", &json!(number));
        store.flush().await;
        assert!(store.state().kept && told.lock().unwrap().is_empty());
    }
    let (store, _) = start_on(folder.path(), 21_100);
    for number in 0..7 {
        // The one that seems to be of the future stays.
        let kept = load(&store, owner(&number.to_string())).await.len();
        assert_eq!(kept, usize::from(number == 4), "{number}");
    }
}

/// A broken place: nothing is kept, it is told once, and the file is left as it is.
async fn is_off(folder: &Path, words: &str) {
    let file = folder.join(FILE);
    let before = fs::read(&file).ok();
    let (store, told) = start(folder);
    store.save(owner("a"), "todos", &json!(1));
    assert_eq!(load(&store, owner("a")).await, BTreeMap::new(), "{words}");
    store.save(owner("a"), "todos", &json!(2));
    store.flush().await;
    let told = told.lock().unwrap().clone();
    assert_eq!(told.len(), 1, "{told:?}");
    let state = store.state();
    assert!(!state.kept && told[0].contains(words), "{told:?}");
    assert_eq!(state.reason.map(|reason| told[0].ends_with(&reason)), Some(true));
    assert_eq!(fs::read(&file).ok(), before, "{words}");
}

#[tokio::test]
async fn what_is_wrong_costs_only_the_store() {
    // No database.
    let damaged = folder();
    fs::write(
        damaged.path().join(FILE),
        "this is no database, but it is long enough to be looked at as one: ".repeat(99),
    )
    .unwrap();
    is_off(damaged.path(), "damaged").await;
    // A database whose pages are broken.
    let torn = folder();
    let (store, _) = start(torn.path());
    for number in 0..200 {
        store.save(owner("a"), &format!("part{number}"), &json!("x".repeat(500)));
    }
    store.flush().await;
    drop(store);
    let file = torn.path().join(FILE);
    {
        // Everything is in the file itself once nobody has it open any more.
        let connection = Connection::open(&file).unwrap();
        connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    }
    let mut bytes = fs::read(&file).unwrap();
    bytes[4096..40_000].fill(0xa5);
    fs::write(&file, bytes).unwrap();
    is_off(torn.path(), "damaged").await;
    // A newer one.
    let newer = folder();
    Connection::open(newer.path().join(FILE))
        .unwrap()
        .execute_batch("CREATE TABLE t (a); PRAGMA user_version = 7")
        .unwrap();
    is_off(newer.path(), "newer version").await;
    // Somebody else's.
    let foreign = folder();
    Connection::open(foreign.path().join(FILE)).unwrap().execute_batch("CREATE TABLE t (a)").unwrap();
    is_off(foreign.path(), "no database of ours").await;
    // A file in the place of the folder.
    let blocked = folder();
    fs::write(blocked.path().join("state"), "").unwrap();
    is_off(&blocked.path().join("state/below"), "cannot be made").await;
    // Others may write.
    let shared = folder();
    fs::set_permissions(shared.path(), Permissions::from_mode(0o777)).unwrap();
    is_off(shared.path(), "other users").await;
    let open = folder();
    fs::write(open.path().join(FILE), "").unwrap();
    fs::set_permissions(open.path().join(FILE), Permissions::from_mode(0o666)).unwrap();
    is_off(open.path(), "other users").await;
    // A link in the place of the file, and a file with two names.
    let linked = folder();
    fs::write(linked.path().join("other"), "").unwrap();
    std::os::unix::fs::symlink(linked.path().join("other"), linked.path().join(FILE)).unwrap();
    is_off(linked.path(), "not a regular file").await;
    let twice = folder();
    fs::write(twice.path().join(FILE), "").unwrap();
    fs::hard_link(twice.path().join(FILE), twice.path().join("other")).unwrap();
    is_off(twice.path(), "several names").await;
}

#[tokio::test]
async fn a_database_that_somebody_holds_is_written_later() {
    let folder = folder();
    let (store, told) = start(folder.path());
    store.save(owner("a"), "todos", &json!(1));
    store.flush().await;
    let other = Connection::open(folder.path().join(FILE)).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    store.save(owner("a"), "todos", &json!(2));
    store.flush().await;
    assert_eq!(told.lock().unwrap().len(), 1);
    assert!(store.state().reason.is_some_and(|reason| reason.contains("another program holds it")));
    // What could not be written yet is there all the same, in this run.
    assert_eq!(load(&store, owner("a")).await["todos"], json!(2));
    other.execute_batch("COMMIT").unwrap();
    store.flush().await;
    assert!(store.state().kept);
    let kept: String = other.query_row("SELECT value FROM session_parts", [], |row| row.get(0)).unwrap();
    assert_eq!(kept, "2");
    assert_eq!(told.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn one_that_is_held_from_the_start_is_off_for_this_run() {
    let folder = folder();
    let other = Connection::open(folder.path().join(FILE)).unwrap();
    fs::set_permissions(folder.path().join(FILE), Permissions::from_mode(0o600)).unwrap();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    is_off(folder.path(), "another program holds it").await;
}

#[tokio::test]
async fn what_could_not_be_written_is_written_as_soon_as_it_can_be() {
    let folder = folder();
    let (store, told) = start(folder.path());
    store.save(owner("a"), "todos", &json!(1));
    store.flush().await;
    let other = Connection::open(folder.path().join(FILE)).unwrap();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    store.save(owner("a"), "todos", &json!(2));
    store.flush().await;
    assert!(!store.state().kept && told.lock().unwrap()[0].contains("another program holds it"));
    other.execute_batch("COMMIT").unwrap();
    // Nothing more is handed over.
    let written = || other.query_row("SELECT value FROM session_parts", [], |row| row.get::<_, String>(0)).unwrap();
    while written() != "2" {
        tokio::task::yield_now().await;
    }
    while !store.state().kept {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_database_that_was_moved_or_replaced_is_written_no_more() {
    for replaced in [None, Some(&b"something else"[..])] {
        let folder = folder();
        let (store, told) = start(folder.path());
        store.save(owner("a"), "todos", &json!(1));
        store.flush().await;
        let (file, away) = (folder.path().join(FILE), folder.path().join("away"));
        fs::rename(&file, &away).unwrap();
        if let Some(bytes) = replaced {
            fs::write(&file, bytes).unwrap();
        }
        store.save(owner("a"), "todos", &json!(2));
        store.flush().await;
        let reason = store.state().reason.unwrap();
        assert!(reason.contains("moved away or replaced"), "{reason}");
        assert_eq!((told.lock().unwrap().len(), fs::read(&file).ok().as_deref()), (1, replaced));
        assert_eq!(load(&store, owner("a")).await, BTreeMap::new());
    }
}

#[tokio::test]
async fn what_is_too_long_takes_the_place_of_nothing_older() {
    let folder = folder();
    let (store, _) = start(folder.path());
    store.save(owner("a"), "consents", &json!("granted"));
    store.save(owner("a"), "consents", &json!("x".repeat(MAX_PART)));
    assert_eq!(load(&store, owner("a")).await, BTreeMap::new());
    store.save(owner("a"), "consents", &json!("granted"));
    store.remove_part(owner("a"), "consents");
    assert_eq!(load(&store, owner("a")).await, BTreeMap::new());
    drop(store);
    assert_eq!(load(&start(folder.path()).0, owner("a")).await, BTreeMap::new());
}

#[tokio::test]
async fn what_is_kept_for_good_is_not_pruned() {
    let folder = folder();
    let (store, _) = start_on(folder.path(), 100);
    store.save(owner(""), &format!("{STANDING}1"), &json!(1));
    store.save(owner("old"), "todos", &json!(1));
    store.flush().await;
    drop(store);
    let (store, _) = start_on(folder.path(), 1000);
    store.save(owner("new"), "todos", &json!(1));
    store.flush().await;
    drop(store);
    let (store, _) = start_on(folder.path(), 1000);
    assert_eq!((load(&store, owner("")).await.len(), load(&store, owner("old")).await.len()), (1, 0));
}

#[tokio::test]
async fn a_database_that_is_overwritten_while_it_is_open_costs_only_itself() {
    for bytes in [Vec::new(), vec![0xa5; 40_000]] {
        let folder = folder();
        let (store, told) = start(folder.path());
        store.save(owner("a"), "todos", &json!(1));
        store.flush().await;
        for name in [FILE.to_owned(), format!("{FILE}-wal")] {
            // The same file with another content.
            fs::write(folder.path().join(name), &bytes).unwrap();
        }
        for number in 0..5 {
            store.save(owner("a"), "todos", &json!(number));
            store.save(owner(&number.to_string()), "todos", &json!("x".repeat(10_000)));
            store.flush().await;
        }
        load(&store, owner("a")).await;
        // Kept or not, it is said, once.
        assert_eq!(told.lock().unwrap().len(), usize::from(!store.state().kept));
        drop(store);
        // The next one says so too, or has what was kept.
        let (next, told) = start(folder.path());
        load(&next, owner("a")).await;
        assert_eq!(told.lock().unwrap().len(), usize::from(!next.state().kept));
    }
}
