//! Settings: any JSON is read, and what a project says only makes the user's stricter.

use std::path::PathBuf;

use super::parts::texts;
use ropewalk::config::{OwnFile, OwnWatch, Settings, USER_ONLY, object};
use ropewalk::ports::MemoryDisk;
use serde_json::Value;

/// The user's settings, and a project's.
pub fn settings(data: &[u8]) {
    let [user, project] = texts::<2>(data);
    own_file(user.as_bytes());
    let read = |text: &str| serde_json::from_str::<Value>(text).unwrap_or(Value::Null);
    let user = Settings::parse(&read(&user)).0;
    let (alone, remarks) = Settings::parse(&read(&project));
    assert!(remarks.iter().all(|remark| !remark.message.is_empty()));
    within(alone, &user);
    // As an editor gives them that has merged the two.
    let (merged, _) = user.overlaid(&read(&project));
    assert!(holds_back(&merged, &user), "{merged:?}\n{user:?}");
    within(merged, &user);
    assert_eq!(user.clone().within(&user), user, "what is the user's own is within it");
}

fn within(project: Settings, user: &Settings) {
    let within = project.within(user);
    assert!(holds_back(&within, user), "{within:?}\n{user:?}");
    assert_eq!(within.permissions.allow, user.permissions.allow, "a project allows nothing");
    assert!(within.permissions.mode.strictness() >= user.permissions.mode.strictness());
    assert!(within.permissions.cascade_denials || !user.permissions.cascade_denials);
    let (ours, theirs) = (&within.guards, &user.guards);
    assert!(ours.repeats >= theirs.repeats && ours.failures >= theirs.failures && ours.undone >= theirs.undone);
    let (ours, theirs) = (&within.output, &user.output);
    assert!(ours.max_bytes <= theirs.max_bytes && ours.kept_bytes <= theirs.kept_bytes);
    assert!(within.search.time_limit_ms <= user.search.time_limit_ms && within.search.secrets <= user.search.secrets);
    assert!(within.parallel.per_session <= user.parallel.per_session);
    let servers = |settings: &Settings| settings.mcp.servers.keys().cloned().collect::<Vec<_>>();
    assert!(servers(&within).iter().all(|name| user.mcp.servers.contains_key(name)), "a project starts no server");
    let (ours, theirs) = (serde_json::to_value(&within), serde_json::to_value(user));
    let (ours, theirs) = (ours.expect("settings are JSON"), theirs.expect("settings are JSON"));
    for own in USER_ONLY {
        let at = format!("/{}", own.key.replace('.', "/"));
        assert_eq!(ours.pointer(&at), theirs.pointer(&at), "{} is the user's own", own.key);
    }
    assert_eq!(within.clone().within(user), within, "twice is once");
}

/// Whether some settings hold back all that others do.
fn holds_back(some: &Settings, others: &Settings) -> bool {
    let all = |some: &[String], others: &[String]| others.iter().all(|rule| some.contains(rule));
    let (some, others) = (&some.permissions, &others.permissions);
    all(&some.ask, &others.ask) && all(&some.deny, &others.deny) && all(&some.broken, &others.broken)
}

/// The user's own file: what cannot be read of it holds back, and trusts nothing.
fn own_file(text: &[u8]) {
    let path = PathBuf::from("/home/me/settings.json");
    let disk = MemoryDisk::new().with_file(&path, text).with_dir("/home/me/src");
    let file = OwnFile { path, named: true, home: Some("/home/me".into()) };
    let own = OwnWatch::new(file).look(&disk, &Settings::default()).expect("it was never looked at");
    assert_eq!(own.fault.is_none(), object(text).is_ok(), "{:?}", own.fault);
    if own.fault.is_some() {
        assert!(own.trusted.is_empty() && own.settings.permissions.allow.is_empty(), "{own:?}");
        assert!(!own.settings.permissions.broken.is_empty());
    }
    assert!(own.trusted.iter().all(|folder| folder.is_absolute()));
}
