//! Where skills are looked for. Pure.
//!
//! The user's own folders come before those of workspace folders, and of each kind ours before those of other agents.

use std::path::{Path, PathBuf};

use crate::config::SkillSettings;

/// Folders of skills (`NAME/SKILL.md`) below a workspace folder, and below the user's home folder.
const SKILLS: &[&str] = &[".ropewalk/skills", ".agents/skills", ".claude/skills"];

/// Folders of commands (`NAME.md`) below a workspace folder, and below the user's home folder.
const COMMANDS: &[&str] = &[".ropewalk/commands", ".claude/commands"];

/// Whose skills they are.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Scope {
    /// The user's.
    User,
    /// Those of a trusted workspace folder (canonical path), which none of them may lie outside of.
    Project(PathBuf),
}

/// A folder to look into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub folder: PathBuf,
    pub scope: Scope,
    /// Whether it holds commands (single files) and not skills (folders).
    pub commands: bool,
}

/// Where the user keeps things.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Own {
    pub home: Option<PathBuf>,
    /// The folder for configuration, where it is not `.config` in the home folder.
    pub config: Option<PathBuf>,
}

impl Own {
    /// A path that the user wrote: absolute, or below the home folder.
    fn path(&self, written: &str) -> Option<PathBuf> {
        match written.strip_prefix("~/") {
            Some(inside) => self.home.as_ref().map(|home| home.join(inside)),
            None => Some(PathBuf::from(written)).filter(|path| path.is_absolute()),
        }
    }
}

/// The folders to look into, in the order in which names are given away. `trusted`: the workspace folders that are, in
/// their order.
pub(super) fn places(settings: &SkillSettings, own: &Own, trusted: &[PathBuf]) -> Vec<Place> {
    if !settings.enabled {
        return Vec::new();
    }
    let user = |folder: PathBuf, commands| Place { folder, scope: Scope::User, commands };
    let mut all: Vec<Place> =
        settings.folders.iter().filter_map(|written| own.path(written)).map(|folder| user(folder, false)).collect();
    let config = own.config.clone().or_else(|| own.home.as_ref().map(|home| home.join(".config")));
    if let Some(config) = config.filter(|config| config.is_absolute()) {
        all.push(user(config.join("ropewalk/skills"), false));
        all.push(user(config.join("ropewalk/commands"), true));
    }
    let below = |top: &Path, scope: &Scope| {
        let skills = SKILLS.iter().map(|name| (name, false));
        let each = |(name, commands): (&&str, bool)| Place { folder: top.join(name), scope: scope.clone(), commands };
        skills.chain(COMMANDS.iter().map(|name| (name, true))).map(each).collect::<Vec<Place>>()
    };
    all.extend(own.home.iter().flat_map(|home| below(home, &Scope::User)));
    if settings.project {
        all.extend(trusted.iter().flat_map(|folder| below(folder, &Scope::Project(folder.clone()))));
    }
    let mut known: Vec<PathBuf> = Vec::new();
    all.retain(|place| {
        let new = !known.contains(&place.folder);
        known.push(place.folder.clone());
        new
    });
    all
}

/// Whether a file of this name may be, or belong to, a skill: then what is known of them may be old once it changes.
pub(super) fn may_be_skill(name: &str) -> bool {
    name.contains("/skills/") || name.contains("/commands/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(settings: &SkillSettings, own: &Own, trusted: &[&str]) -> Vec<String> {
        let trusted: Vec<PathBuf> = trusted.iter().map(PathBuf::from).collect();
        places(settings, own, &trusted).iter().map(|place| place.folder.display().to_string()).collect()
    }

    #[test]
    fn the_users_own_come_first() {
        let own = Own { home: Some("/home/me".into()), config: None };
        let settings = SkillSettings {
            folders: vec!["/shared".to_owned(), "~/mine".to_owned(), "relative".to_owned()],
            ..SkillSettings::default()
        };
        assert_eq!(
            shown(&settings, &own, &["/w"]),
            [
                "/shared",
                "/home/me/mine",
                "/home/me/.config/ropewalk/skills",
                "/home/me/.config/ropewalk/commands",
                "/home/me/.ropewalk/skills",
                "/home/me/.agents/skills",
                "/home/me/.claude/skills",
                "/home/me/.ropewalk/commands",
                "/home/me/.claude/commands",
                "/w/.ropewalk/skills",
                "/w/.agents/skills",
                "/w/.claude/skills",
                "/w/.ropewalk/commands",
                "/w/.claude/commands",
            ]
        );
        let elsewhere = Own { home: None, config: Some("/etc/me".into()) };
        assert_eq!(
            shown(&SkillSettings::default(), &elsewhere, &[]),
            ["/etc/me/ropewalk/skills", "/etc/me/ropewalk/commands"]
        );
        // Where the home folder itself is open, its skills are the user's.
        let both = places(&SkillSettings::default(), &own, &["/home/me".into()]);
        assert!(both.iter().all(|place| place.scope == Scope::User), "{both:?}");
    }

    #[test]
    fn what_is_turned_off_is_not_looked_into() {
        let own = Own { home: Some("/home/me".into()), config: None };
        let off = SkillSettings { enabled: false, ..SkillSettings::default() };
        assert!(shown(&off, &own, &["/w"]).is_empty());
        let only_own = SkillSettings { project: false, ..SkillSettings::default() };
        assert!(shown(&only_own, &own, &["/w"]).iter().all(|folder| folder.starts_with("/home/me")));
    }
}
