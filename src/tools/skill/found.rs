//! The skills that there are, as they are on the disk at this moment. Blocking.

use std::io;
use std::path::{Path, PathBuf};

use crate::permissions::visible;
use crate::ports::{Disk, FileKind};

use super::front::{self, Front};
use super::places::{Place, Scope};

/// The file that makes a folder a skill.
const FILE: &str = "SKILL.md";

/// A skill's text with more bytes is not read.
const MOST_BYTES: u64 = 128 * 1024;

/// Of one place so many names are looked at.
const MOST_NAMES: usize = 500;

/// The longest name of a skill (characters).
const NAME: usize = 64;

/// Files of a skill are looked for in folders that are so deep in its own.
const DEPTH: usize = 4;

/// So many files of a skill are counted.
const MOST_FILES: usize = 1000;

/// A skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Skill {
    /// What it is called: its own name, with `project:` before it where the user has one of that name.
    pub name: String,
    pub scope: Scope,
    /// Its text, by the name under which it was found.
    pub file: PathBuf,
    /// Where it is (canonical path): relative paths in it begin there.
    pub base: PathBuf,
    pub front: Front,
    pub body: String,
    /// Whether it is a single file.
    pub command: bool,
    /// Others of its name, which are not used.
    pub others: Vec<PathBuf>,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Found {
    /// By name.
    pub skills: Vec<Skill>,
    /// What is there and no skill, with why, in words; in the order of the places.
    pub faults: Vec<String>,
}

/// Looks into places.
pub(super) fn find(disk: &dyn Disk, places: &[Place]) -> Found {
    let mut found = Found::default();
    for place in places {
        let names = match disk.read_dir(&place.folder) {
            Ok(names) => names,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => continue,
            Err(error) => {
                found.faults.push(format!("{} cannot be read: {error}", place.folder.display()));
                continue;
            }
        };
        for entry in names.iter().filter(|entry| !entry.name.starts_with('.')).take(MOST_NAMES) {
            let path = place.folder.join(entry.file_name());
            let file = if place.commands { path.clone() } else { path.join(FILE) };
            let stem = if place.commands { entry.name.strip_suffix(".md") } else { Some(entry.name.as_str()) };
            let Some(stem) = stem else { continue };
            match load(disk, place, &file) {
                Ok(None) => {}
                Ok(Some((base, text))) => found.take_in(place, stem, &file, base, &text),
                Err(why) => found.faults.push(format!("{} is no skill: {why}", file.display())),
            }
        }
    }
    found.skills.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

/// The folder and the text of a skill; `None`: there is none.
fn load(disk: &dyn Disk, place: &Place, file: &Path) -> Result<Option<(PathBuf, String)>, String> {
    let real = match disk.canonicalize(file) {
        Ok(real) => real,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(error.to_string()),
    };
    // The user may link to whatever they like; a project's links may not lead out of it.
    if let Scope::Project(root) = &place.scope
        && !real.starts_with(root)
    {
        return Err(format!("it leads out of its workspace folder, to {}", real.display()));
    }
    let known = disk.metadata(&real).map_err(|error| error.to_string())?;
    if known.kind != FileKind::File {
        // A folder among commands; anything else is no text.
        return if known.kind == FileKind::Directory { Ok(None) } else { Err("it is no file".to_owned()) };
    }
    if known.len > MOST_BYTES {
        return Err(format!("it has {} bytes, and at most {MOST_BYTES} are read", known.len));
    }
    let bytes = disk.read(&real).map_err(|error| error.to_string())?;
    let text = String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
    let base = real.parent().map(Path::to_owned).unwrap_or_default();
    Ok(Some((base, text)))
}

impl Found {
    /// One more skill, unless another one has its name for good.
    fn take_in(&mut self, place: &Place, stem: &str, file: &Path, base: PathBuf, text: &str) {
        let (front, body) = front::read(text);
        let own = match &front.name {
            Some(name) if proper(name) => name.clone(),
            _ if proper(stem) => stem.to_owned(),
            _ => {
                let shown = visible(front.name.as_deref().unwrap_or(stem));
                let why = format!("its name {shown:?} is not 1 to {NAME} visible characters without white space");
                self.faults.push(format!("{} is no skill: {why}", file.display()));
                return;
            }
        };
        let holder = |name: &str| self.skills.iter().find(|skill| skill.name == name);
        let name = match (holder(&own), &place.scope) {
            // The user's own word comes first, and the project's stays within reach.
            (Some(Skill { scope: Scope::User, .. }), Scope::Project(_)) => format!("project:{own}"),
            _ => own,
        };
        if let Some(first) = self.skills.iter_mut().find(|skill| skill.name == name) {
            first.others.push(file.to_owned());
            return;
        }
        self.skills.push(Skill {
            name,
            scope: place.scope.clone(),
            file: file.to_owned(),
            base,
            front,
            body: body.to_owned(),
            command: place.commands,
            others: Vec::new(),
        });
    }
}

/// Whether a model can write a name down and mean it.
fn proper(name: &str) -> bool {
    let chars = name.chars().count();
    (1..=NAME).contains(&chars) && visible(name) == name && !name.contains(char::is_whitespace)
}

/// The files of a skill beside its text, relative to its folder, sorted. Links are not followed. The second: whether there
/// are more than were counted.
pub(super) fn files(disk: &dyn Disk, skill: &Skill) -> (Vec<String>, bool) {
    let (mut files, mut more) = (Vec::new(), false);
    if !skill.command {
        below(disk, &skill.base, "", DEPTH, &mut files, &mut more);
        files.retain(|file| file != FILE);
        files.sort();
    }
    (files, more)
}

fn below(disk: &dyn Disk, folder: &Path, prefix: &str, depth: usize, files: &mut Vec<String>, more: &mut bool) {
    for entry in disk.read_dir(folder).unwrap_or_default() {
        let shown = format!("{prefix}{}", visible(&entry.name));
        match entry.kind {
            FileKind::Directory if depth > 0 && entry.name != ".git" => {
                below(disk, &folder.join(entry.file_name()), &format!("{shown}/"), depth - 1, files, more);
            }
            FileKind::File if files.len() < MOST_FILES => files.push(shown),
            FileKind::File => *more = true,
            FileKind::Directory | FileKind::Link | FileKind::Other => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::SkillSettings;
    use crate::ports::MemoryDisk;
    use crate::tools::skill::places::{Own, places};

    fn skill(name: &str, description: &str) -> String {
        format!("---\nname: {name}\ndescription: {description}\n---\nThe text of {name}.\n")
    }

    fn look(disk: &MemoryDisk, trusted: &[&str]) -> Found {
        let own = Own { home: Some("/home/me".into()), config: None };
        let trusted: Vec<PathBuf> = trusted.iter().map(PathBuf::from).collect();
        find(disk, &places(&SkillSettings::default(), &own, &trusted))
    }

    fn names(found: &Found) -> Vec<&str> {
        found.skills.iter().map(|skill| skill.name.as_str()).collect()
    }

    #[test]
    fn every_convention_is_known() {
        let disk = MemoryDisk::new()
            .with_file("/home/me/.config/ropewalk/skills/one/SKILL.md", skill("one", "d"))
            .with_file("/home/me/.claude/skills/two/SKILL.md", skill("two", "d"))
            .with_file("/home/me/.claude/commands/three.md", "Do $1.")
            .with_file("/home/me/.claude/commands/notes.txt", "no command")
            .with_file("/w/.agents/skills/four/SKILL.md", "No front matter at all.")
            .with_file("/w/.claude/skills/five/SKILL.md", skill("Five", "d"))
            .with_file("/w/.claude/skills/empty/readme.md", "no skill")
            .with_file("/w/.claude/skills/.hidden/SKILL.md", skill("hidden", "d"))
            .with_file("/v/.ropewalk/skills/six/SKILL.md", skill("six", "d"));
        let found = look(&disk, &["/w"]);
        assert_eq!((names(&found), &found.faults), (vec!["Five", "four", "one", "three", "two"], &vec![]));
        let four = &found.skills[1];
        assert_eq!((four.base.as_path(), four.command), (Path::new("/w/.agents/skills/four"), false));
        assert_eq!(names(&look(&disk, &[])), ["one", "three", "two"], "nothing of a folder that is not trusted");
    }

    #[test]
    fn on_a_clash_the_users_own_wins_and_the_projects_is_within_reach() {
        let disk = MemoryDisk::new()
            .with_file("/home/me/.agents/skills/a/SKILL.md", skill("a", "mine"))
            .with_file("/home/me/.claude/skills/a/SKILL.md", skill("a", "mine too"))
            .with_file("/v/.claude/skills/a/SKILL.md", skill("a", "theirs"))
            .with_file("/w/.claude/skills/a/SKILL.md", skill("a", "others'"))
            .with_file("/w/.claude/skills/x/SKILL.md", skill("project:b", "named so"))
            .with_file("/w/.claude/commands/x.md", "A command.");
        let found = look(&disk, &["/v", "/w"]);
        assert_eq!(names(&found), ["a", "project:a", "project:b", "x"]);
        assert_eq!(found.skills[0].front.description.as_deref(), Some("mine"));
        assert_eq!(found.skills[1].front.description.as_deref(), Some("theirs"));
        let others: Vec<&Path> = found.skills.iter().flat_map(|skill| &skill.others).map(PathBuf::as_path).collect();
        let expected = ["/home/me/.claude/skills/a/SKILL.md", "/w/.claude/skills/a/SKILL.md"].map(Path::new);
        assert_eq!((others.as_slice(), &found.faults), (expected.as_slice(), &vec![]));
    }

    #[test]
    fn a_projects_links_lead_nowhere_else() {
        let disk = MemoryDisk::new()
            .with_file("/secret/SKILL.md", skill("secret", "d"))
            .with_file("/w/shared/in/SKILL.md", skill("in", "d"))
            .with_dir("/w/.claude/skills/sub")
            .with_link("/w/.claude/skills/out", "/secret")
            .with_link("/w/.claude/skills/in", "/w/shared/in")
            .with_link("/w/.claude/skills/sub/SKILL.md", "/secret/SKILL.md")
            .with_link("/w/.claude/commands", "/secret")
            .with_link("/home/me/.claude/skills/mine", "/secret");
        let found = look(&disk, &["/w"]);
        assert_eq!(names(&found), ["in", "secret"]);
        assert_eq!(found.skills[1].scope, Scope::User, "the user links to what they like");
        assert_eq!(found.faults.len(), 3, "{:?}", found.faults);
        assert!(
            found.faults.iter().all(|fault| fault.contains("leads out of its workspace folder, to /secret/SKILL.md"))
        );
    }

    #[test]
    fn what_cannot_be_read_costs_only_itself() {
        let long = "x".repeat(usize::try_from(MOST_BYTES).unwrap() + 1);
        let disk = MemoryDisk::new()
            .with_file("/w/.claude/skills/a/SKILL.md", "---\nname: a\ndescription: [\n---\nBody")
            .with_file("/w/.claude/skills/b/SKILL.md", [0xff, 0xfe])
            .with_file("/w/.claude/skills/c/SKILL.md", long)
            .with_file("/w/.claude/skills/d/SKILL.md", skill("two words", "d"))
            .with_file("/w/.claude/skills/e e/SKILL.md", "No name.")
            .with_dir("/w/.claude/skills/f/SKILL.md");
        let found = look(&disk, &["/w"]);
        assert_eq!(names(&found), ["a", "d"]);
        assert!(found.skills[0].front.fault.as_deref().unwrap().contains("no valid YAML"));
        let said = ["is not UTF-8", "131073 bytes", "without white space"];
        assert!(found.faults.len() == 3 && found.faults.iter().zip(said).all(|(fault, said)| fault.contains(said)));
    }

    #[test]
    fn files_are_listed_in_order_and_links_are_not_followed() {
        let disk = MemoryDisk::new()
            .with_file("/w/.claude/skills/a/SKILL.md", skill("a", "d"))
            .with_file("/w/.claude/skills/a/z.md", "")
            .with_file("/w/.claude/skills/a/scripts/run.sh", "")
            .with_file("/w/.claude/skills/a/.git/config", "")
            .with_file("/secret/key", "")
            .with_link("/w/.claude/skills/a/out", "/secret");
        let found = look(&disk, &["/w"]);
        assert_eq!(files(&disk, &found.skills[0]), (vec!["scripts/run.sh".to_owned(), "z.md".to_owned()], false));
    }
}
