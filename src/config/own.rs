//! The user's own settings file: the same settings as an editor gives, and the folders that the user trusts. What cannot be
//! read of it holds back until it is mended, and no rule of it that holds back is lost where it can be read at all.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;

use serde_json::Value;
use tracing::info;

use super::json::object;
use super::{Remark, Settings};
use crate::ports::{Disk, FileKind};

/// A file with more bytes is not read.
const MOST_BYTES: u64 = 1024 * 1024;

/// The key of the folders that are trusted.
const TRUSTED: &str = "trusted";

/// At most so many folders are trusted by it.
const MOST_FOLDERS: usize = 1000;

/// Which file it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnFile {
    /// Its absolute path.
    pub path: PathBuf,
    /// The person named it: then it has to be there.
    pub named: bool,
    /// What `~/` stands for in it.
    pub home: Option<PathBuf>,
}

/// What it held when it was looked at. Without a text and a fault there is none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Text {
    bytes: Option<Vec<u8>>,
    fault: Option<String>,
}

impl Text {
    /// Whether there is no such file, and need be none.
    pub fn is_absent(&self) -> bool {
        *self == Text::default()
    }
}

/// The file as it was looked at last.
#[derive(Debug)]
pub struct OwnWatch {
    file: OwnFile,
    seen: Option<Text>,
}

impl OwnWatch {
    /// It was never looked at yet.
    pub fn new(file: OwnFile) -> OwnWatch {
        OwnWatch { file, seen: None }
    }

    /// What it says, where it is another text than when it was looked at last. `before`: the settings that it made then.
    /// Blocking.
    pub fn look(&mut self, disk: &dyn Disk, before: &Settings) -> Option<Own> {
        let text = self.file.text(disk);
        if self.seen.as_ref() == Some(&text) {
            return None;
        }
        let says = self.file.says(&text, disk).after(before);
        info!(file = %self.file.path.display(), fault = says.fault, "the user's own settings");
        self.seen = Some(text);
        Some(says)
    }
}

/// What it says.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Own {
    /// The settings that it makes of the defaults.
    pub settings: Settings,
    /// The folders (canonical) that it trusts.
    pub trusted: BTreeSet<PathBuf>,
    /// What was not taken of it, for the person who wrote it.
    pub remarks: Vec<Remark>,
    /// Why nothing of it counts, its ask and deny rules aside where these could be read.
    pub fault: Option<String>,
}

impl Own {
    /// Rules that held back before are not lost by a fault: they hold until it is mended.
    #[must_use]
    fn after(mut self, before: &Settings) -> Own {
        if self.fault.is_some() {
            self.settings.permissions.keep_rules(&before.permissions);
        }
        self
    }
}

impl OwnFile {
    /// What it holds now. Blocking.
    pub fn text(&self, disk: &dyn Disk) -> Text {
        match disk.read_own(&self.path, MOST_BYTES) {
            Ok(bytes) => Text { bytes: Some(bytes), fault: None },
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                Text { bytes: None, fault: self.named.then(|| "there is no such file".to_owned()) }
            }
            Err(error) => {
                let short = disk.metadata(&self.path).is_ok_and(|found| found.len <= MOST_BYTES);
                let bytes = if short { disk.read(&self.path).ok() } else { None };
                Text { bytes, fault: Some(format!("it cannot be read: {error}")) }
            }
        }
    }

    /// What a text of it says. Blocking: the folders that it names are looked up.
    pub fn says(&self, text: &Text, disk: &dyn Disk) -> Own {
        if text.is_absent() {
            return Own::default();
        }
        let value = text.bytes.as_deref().map_or(Ok(Value::Null), object);
        let value = match (&text.fault, value) {
            (None, Ok(value)) => value,
            (Some(why), value) => return self.faulty(why, &value.unwrap_or_default()),
            (None, Err(why)) => return self.faulty(&why, &Value::Null),
        };
        let (mut settings, mut remarks) = Settings::parse(&value);
        for why in &mut settings.permissions.broken {
            *why = self.told(why);
        }
        let trusted = self.folders(&value[TRUSTED], disk, &mut remarks);
        Own { settings, trusted, remarks, fault: None }
    }

    /// What is left where nothing of it counts: the rules of `value` that hold back.
    fn faulty(&self, why: &str, value: &Value) -> Own {
        let mut own = Own { fault: Some(why.to_owned()), ..Own::default() };
        own.settings.permissions.keep_rules(&Settings::parse(value).0.permissions);
        own.settings.permissions.broken.push(self.told(why));
        own
    }

    fn told(&self, why: &str) -> String {
        format!("{}: {why}", self.path.display())
    }

    /// The folders of a list that are there, canonical.
    fn folders(&self, list: &Value, disk: &dyn Disk, remarks: &mut Vec<Remark>) -> BTreeSet<PathBuf> {
        let mut remark = |message: String| remarks.push(Remark { key: TRUSTED.to_owned(), message });
        let named = match list {
            Value::Null => return BTreeSet::new(),
            Value::Array(named) => named,
            other => {
                remark(format!("expected a list of folders, got {other}; none is trusted by it"));
                return BTreeSet::new();
            }
        };
        if named.len() > MOST_FOLDERS {
            remark(format!("it has {} folders; only the first {MOST_FOLDERS} count", named.len()));
        }
        let mut folders = BTreeSet::new();
        for name in named.iter().take(MOST_FOLDERS) {
            match name.as_str().ok_or("expected a text").and_then(|name| self.folder(name, disk)) {
                Ok(folder) => {
                    folders.insert(folder);
                }
                Err(why) => remark(format!("{name} is not trusted: {why}")),
            }
        }
        folders
    }

    fn folder(&self, name: &str, disk: &dyn Disk) -> Result<PathBuf, &'static str> {
        let path = match (name.strip_prefix("~/"), &self.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => PathBuf::from(name),
        };
        if !path.is_absolute() {
            return Err("expected an absolute path, or one that begins with ~/");
        }
        let found = disk.canonicalize(&path).map_err(|_| "there is no such folder")?;
        match disk.metadata(&found) {
            Ok(of) if of.kind == FileKind::Directory => Ok(found),
            Ok(_) => Err("it is no folder"),
            Err(_) => Err("it cannot be looked at"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Freshness, Mode, PermissionSettings};
    use crate::ports::MemoryDisk;
    use serde_json::json;

    const FILE: &str = "/home/me/.config/ropewalk/settings.json";

    fn file(named: bool) -> OwnFile {
        OwnFile { path: FILE.into(), named, home: Some("/home/me".into()) }
    }

    fn read(disk: &MemoryDisk) -> Own {
        file(false).says(&file(false).text(disk), disk)
    }

    fn holding(text: &str) -> MemoryDisk {
        MemoryDisk::new().with_file(FILE, text).with_dir("/home/me/src/one").with_dir("/real").with_file("/file", "")
    }

    #[test]
    fn it_is_the_settings_object_and_the_folders_that_are_trusted() {
        let text = json!({
            "freshness": "warn",
            "permissions": { "mode": "review", "deny": ["read(a)"], "allow": ["write"] },
            "trusted": ["~/src/one", "/home/me/link", "/none", "src", "/file", 7],
        });
        let disk = holding(&text.to_string()).with_link("/home/me/link", "/real");
        let own = read(&disk);
        assert_eq!((own.settings.freshness, own.settings.permissions.mode), (Freshness::Warn, Mode::Review));
        assert_eq!(own.settings.permissions.deny, ["read(a)"]);
        assert_eq!(
            own.trusted.iter().map(|folder| folder.to_str().unwrap()).collect::<Vec<_>>(),
            ["/home/me/src/one", "/real"]
        );
        let told: Vec<&str> = own.remarks.iter().map(|remark| remark.message.as_str()).collect();
        assert_eq!(
            told,
            [
                r#""/none" is not trusted: there is no such folder"#,
                r#""src" is not trusted: expected an absolute path, or one that begins with ~/"#,
                r#""/file" is not trusted: it is no folder"#,
                "7 is not trusted: expected a text",
            ]
        );
        assert_eq!((own.fault, own.settings.permissions.broken), (None, vec![]));
        // Every folder that anybody opens is not trusted by one word.
        let own = read(&holding(r#"{ "trusted": true }"#));
        assert_eq!((own.trusted.len(), own.remarks.len(), own.settings), (0, 1, Settings::default()));
    }

    #[test]
    fn where_there_is_none_nothing_is_said_unless_it_was_named() {
        for disk in [MemoryDisk::new(), MemoryDisk::new().with_file("/home/me/.config", "a file")] {
            assert_eq!(read(&disk), Own::default());
            let named = file(true).says(&file(true).text(&disk), &disk);
            assert_eq!(named.fault.as_deref(), Some("there is no such file"));
            assert_eq!(named.settings.permissions.broken, [format!("{FILE}: there is no such file")]);
        }
    }

    #[test]
    fn what_cannot_be_read_holds_back_and_trusts_nothing() {
        let good =
            r#"{ "trusted": ["/real"], "permissions": { "allow": ["write"], "deny": ["read(a)"], "ask": ["ls"] } }"#;
        for (disk, why, rules) in [
            (holding("{"), "it is no JSON", false),
            (holding("[]"), "no JSON object", false),
            (holding(r#"{ "trusted": ["/real"], "trusted": ["/real"] }"#), "there twice", false),
            (holding(good).with_mode(FILE, 0o664), "may be written by others (mode 664)", true),
            (holding(good).with_mode(FILE, 0o646), "may be written by others", true),
            (holding("{").with_mode(FILE, 0o646), "may be written by others", false),
            (holding(good).with_foreign(FILE), "belongs to another user", true),
            (MemoryDisk::new().with_dir("/real").with_file("/x", good).with_link(FILE, "/x"), "is a link", true),
            (MemoryDisk::new().with_link(FILE, "/nowhere"), "is a link", false),
            (MemoryDisk::new().with_dir(FILE), "no regular file", false),
            (holding(&format!("{good}{}", " ".repeat(1024 * 1024))), "at most 1048576 are read", false),
        ] {
            let own = read(&disk);
            let fault = own.fault.clone().unwrap_or_default();
            assert!(fault.contains(why), "{why}: {fault}");
            assert!(own.trusted.is_empty(), "{why}");
            let PermissionSettings { allow, ask, deny, broken, .. } = own.settings.permissions;
            assert_eq!((allow.len(), broken), (0, vec![format!("{FILE}: {fault}")]), "{why}");
            assert_eq!((ask == ["ls"], deny == ["read(a)"]), (rules, rules), "{why}: what holds back does");
        }
    }

    #[test]
    fn rules_that_held_back_do_until_a_fault_is_mended() {
        let before = read(&holding(r#"{ "permissions": { "deny": ["read(a)"], "ask": ["ls"], "allow": ["write"] } }"#));
        let broken = read(&holding("{")).after(&before.settings);
        let PermissionSettings { allow, ask, deny, broken: why, .. } = &broken.settings.permissions;
        assert_eq!(
            (allow.len(), ask.as_slice(), deny.as_slice()),
            (0, &["ls".to_owned()][..], &["read(a)".to_owned()][..])
        );
        // One fault after another does not pile up.
        let worse = read(&holding("[]")).after(&broken.settings);
        assert_eq!((worse.settings.permissions.broken.len(), why.len()), (1, 1));
        assert_eq!(worse.settings.permissions.deny, *deny);
        let mended = read(&holding(r#"{ "permissions": { "ask": ["glob"] } }"#)).after(&worse.settings);
        let PermissionSettings { ask, deny, broken, .. } = mended.settings.permissions;
        assert_eq!((ask, deny, broken), (vec!["glob".to_owned()], vec![], vec![]));
    }

    #[test]
    fn a_slip_in_the_rules_is_told_with_its_place() {
        for text in [json!({ "permissions": { "deni": ["x"] } }), json!({ "deny": ["read(a)"] })] {
            let own = read(&holding(&text.to_string()));
            let [why] = own.settings.permissions.broken.as_slice() else { panic!("{own:?}") };
            assert!(why.starts_with(&format!("{FILE}: setting ")), "{why}");
        }
    }
}
