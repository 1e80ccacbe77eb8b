//! What the workspace folders' own settings (`.ropewalk/settings.json`) say of permissions: ask and deny rules, and nothing
//! that loosens anything. They are read for each decision, from the disk, whether the folder is trusted or not; a text that
//! was read before is not taken apart again.

use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use crate::config::{PermissionSettings, Settings, object};
use crate::permissions::{Policy, Rules};
use crate::ports::Disk;

/// The file, below a workspace folder.
const FILE: &str = ".ropewalk/settings.json";

/// A file with more bytes is not read; what it would have held back is not known then.
const MOST_BYTES: u64 = 1024 * 1024;

/// So many texts are remembered with what they say, and none with more bytes.
const REMEMBERED: usize = 16;
const MOST_REMEMBERED: usize = 64 * 1024;

/// What a file says of permissions, or why it cannot be read.
type Read = Result<PermissionSettings, String>;

/// Texts that were read, and what they say: the same text always says the same.
static KNOWN: Mutex<VecDeque<(Vec<u8>, Arc<Read>)>> = Mutex::new(VecDeque::new());

/// The rules of some folders.
#[derive(Debug, Clone, Default)]
pub(super) struct Project {
    rules: Rules,
    broken: Vec<String>,
}

impl Project {
    /// Reads them. Blocking.
    pub(super) fn of<'a>(disk: &dyn Disk, folders: impl IntoIterator<Item = &'a Path>) -> Project {
        let (mut ask, mut deny, mut broken) = (Vec::new(), Vec::new(), Vec::new());
        for folder in folders {
            match read(disk, &folder.join(FILE)) {
                Ok(None) => {}
                Ok(Some(said)) => match &*said {
                    Ok(permissions) => {
                        ask.extend(permissions.ask.iter().cloned());
                        deny.extend(permissions.deny.iter().cloned());
                        let told = permissions.broken.iter();
                        broken.extend(told.map(|why| format!("{FILE} in {}: {why}", folder.display())));
                    }
                    Err(why) => broken.push(format!("{FILE} in {}: {why}", folder.display())),
                },
                Err(why) => broken.push(format!("{FILE} in {}: {why}", folder.display())),
            }
        }
        Project { rules: Rules::read(&[], &ask, &deny), broken }
    }

    /// A policy with these rules besides.
    pub(super) fn within(&self, policy: Policy) -> Policy {
        let broken = policy.broken.into_iter().chain(self.broken.iter().cloned()).collect();
        Policy { project: self.rules.clone(), broken, ..policy }
    }
}

/// The settings in a file; `None`: there is none.
fn read(disk: &dyn Disk, path: &Path) -> Result<Option<Arc<Read>>, String> {
    let length = match disk.metadata(path) {
        Ok(file) => file.len,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(format!("it cannot be read: {error}")),
    };
    if length > MOST_BYTES {
        return Err(format!("it has {length} bytes; at most {MOST_BYTES} are read"));
    }
    let bytes = disk.read(path).map_err(|error| format!("it cannot be read: {error}"))?;
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, said)) = known().iter().find(|(text, _)| *text == bytes) {
        return Ok(Some(Arc::clone(said)));
    }
    let said = Arc::new(permissions(&bytes));
    if bytes.len() <= MOST_REMEMBERED {
        let mut known = known();
        known.push_back((bytes, Arc::clone(&said)));
        if known.len() > REMEMBERED {
            known.pop_front();
        }
    }
    Ok(Some(said))
}

/// What a text says of permissions.
fn permissions(text: &[u8]) -> Read {
    let Settings { mut permissions, web, .. } = Settings::parse(&object(text)?).0;
    permissions.ask.extend(web.ask_rules());
    permissions.deny.extend(web.deny_rules());
    Ok(permissions)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::MemoryDisk;

    fn project(text: &str) -> Project {
        let disk = MemoryDisk::new().with_file("/w/.ropewalk/settings.json", text);
        Project::of(&disk, [Path::new("/w"), Path::new("/v")])
    }

    #[test]
    fn only_what_holds_back_is_read() {
        let read = project(
            r#"{ "permissions": { "mode": "danger", "allow": ["*"], "ask": ["write"], "deny": ["read(a)"] }, "hooks": {} }"#,
        );
        assert_eq!(read.rules, Rules::read(&[], &["write".to_owned()], &["read(a)".to_owned()]));
        // A mode that nobody may set there is one more thing that could not be read as it was meant.
        assert_eq!(read.broken.len(), 1, "{:?}", read.broken);
        let read = project(r#"{ "web": { "allow": ["a.org"], "ask": ["b.org"], "deny": [], "proxy": "http://p" } }"#);
        let asks = ["bash", "webfetch", "websearch"].map(|tool| format!("{tool}(host:b.org)"));
        assert_eq!((read.rules, read.broken), (Rules::read(&[], &asks, &[]), vec![]));
        let none = Project::of(&MemoryDisk::new(), [Path::new("/w")]);
        assert_eq!((none.rules, none.broken), (Rules::default(), vec![]));
    }

    #[test]
    fn what_cannot_be_read_blocks_until_it_is_mended() {
        let deep = format!("{{ \"a\": {}{} }}", "[".repeat(10_000), "]".repeat(10_000));
        for text in [
            "{",
            "[]",
            r#"{ "permissions": { "deny": 7 } }"#,
            r#"{ "permissions": 1 }"#,
            // One of two would be lost.
            r#"{ "permissions": { "deny": ["read(a)"] }, "permissions": {} }"#,
            r#"{ "permissions": { "deny": ["read(a)"], "deny": [] } }"#,
            r#"{ "Permissions": { "deny": ["read(a)"] } }"#,
            "// why\n{}",
            &deep,
        ] {
            let policy = project(text).within(Policy::default());
            assert_eq!(policy.broken.len(), 1, "{text}: {:?}", policy.broken);
            assert_eq!(project(text).within(Policy::default()), policy, "known by now");
        }
    }

    #[test]
    fn what_the_file_says_now_counts() {
        let disk = MemoryDisk::new().with_file("/w/.ropewalk/settings.json", r#"{ "permissions": { "deny": ["a"] } }"#);
        let read = || Project::of(&disk, [Path::new("/w")]).rules;
        for rule in ["a", "b", "a"] {
            let text = format!(r#"{{ "permissions": {{ "deny": ["{rule}"] }} }}"#);
            disk.overwrite(Path::new("/w/.ropewalk/settings.json"), text.as_bytes()).unwrap();
            assert_eq!(read(), Rules::read(&[], &[], &[rule.to_owned()]));
        }
    }
}
