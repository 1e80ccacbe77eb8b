//! What the workspace folders' own settings (`.ropewalk/settings.json`) say of permissions: ask and deny rules, and nothing
//! that loosens anything. They are read for each decision, from the disk, whether the folder is trusted or not.

use std::io;
use std::path::Path;

use serde_json::Value;

use crate::config::Settings;
use crate::permissions::{Policy, Rules};
use crate::ports::Disk;

/// The file, below a workspace folder.
const FILE: &str = ".ropewalk/settings.json";

/// A file with more bytes is not read; what it would have held back is not known then.
const MOST_BYTES: u64 = 1024 * 1024;

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
                Ok(Some(settings)) => {
                    ask.extend(settings.permissions.ask);
                    deny.extend(settings.permissions.deny);
                    let told = settings.permissions.broken.into_iter();
                    broken.extend(told.map(|why| format!("{FILE} in {}: {why}", folder.display())));
                }
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
fn read(disk: &dyn Disk, path: &Path) -> Result<Option<Settings>, String> {
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
    let value: Value = serde_json::from_slice(&bytes).map_err(|error| format!("it is no JSON: {error}"))?;
    if !value.is_object() {
        return Err("it is no JSON object".to_owned());
    }
    Ok(Some(Settings::parse(&value).0))
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
        let none = Project::of(&MemoryDisk::new(), [Path::new("/w")]);
        assert_eq!((none.rules, none.broken), (Rules::default(), vec![]));
    }

    #[test]
    fn what_cannot_be_read_blocks_until_it_is_mended() {
        for text in ["{", "[]", r#"{ "permissions": { "deny": 7 } }"#, r#"{ "permissions": 1 }"#] {
            let policy = project(text).within(Policy::default());
            assert_eq!(policy.broken.len(), 1, "{text}: {:?}", policy.broken);
        }
    }
}
