//! The walk over any disk, with its own operations: one thread, in the order of names. The twin of the real one.

use std::path::{Path, PathBuf};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::system::looped;
use super::{Fault, Met, Step, Visitor, Visitors, WalkOptions};
use crate::ports::{Disk, FileKind};

/// Walks by [`Disk::read_dir`].
pub(in crate::ports) fn plainly<D: Disk + ?Sized>(
    disk: &D,
    folder: &Path,
    options: &WalkOptions,
    visitors: Visitors<'_, '_>,
) {
    let mut walk = Walk { disk, options, visitor: visitors(), rules: Vec::new(), above: Vec::new() };
    if options.ignore {
        let repository = folder.ancestors().find(|above| disk.link_metadata(&above.join(".git")).is_ok());
        let mut above: Vec<&Path> = folder.ancestors().skip(1).collect();
        above.reverse();
        for above in above {
            let git = repository.is_some_and(|repository| above.starts_with(repository)) || !options.require_git;
            walk.rules.push(walk.rules_of(above, git));
        }
        let git = repository.is_some() || !options.require_git;
        walk.folder(folder, 1, git);
    } else {
        walk.folder(folder, 1, false);
    }
}

/// What one folder says is to be left out: by its `.ignore` and `.rgignore`, and by git's rules.
struct Rules {
    plain: Gitignore,
    git: Gitignore,
}

struct Walk<'a, 's, D: ?Sized> {
    disk: &'a D,
    options: &'a WalkOptions,
    visitor: Box<dyn Visitor + 's>,
    /// Of all folders down to the present one.
    rules: Vec<Rules>,
    /// The folders we are in, links resolved.
    above: Vec<PathBuf>,
}

impl<D: Disk + ?Sized> Walk<'_, '_, D> {
    fn rules_of(&self, folder: &Path, git: bool) -> Rules {
        let read = |names: &[&str]| {
            let mut builder = GitignoreBuilder::new(folder);
            for name in names {
                let Ok(bytes) = self.disk.read(&folder.join(name)) else { continue };
                for line in String::from_utf8_lossy(&bytes).lines() {
                    // A line that is no pattern is passed over, as git does.
                    let _ = builder.add_line(None, line);
                }
            }
            builder.build().unwrap_or_else(|_| Gitignore::empty())
        };
        let git = if git { read(&[".git/info/exclude", ".gitignore"]) } else { Gitignore::empty() };
        Rules { plain: read(&[".ignore", ".rgignore"]), git }
    }

    /// Whether it is to be left out.
    fn ignored(&self, path: &Path, name: &str, folder: bool) -> bool {
        let said = |of: fn(&Rules) -> &Gitignore| {
            self.rules.iter().rev().map(|rules| of(rules).matched(path, folder)).find(|said| !said.is_none())
        };
        match said(|rules| &rules.plain).or_else(|| said(|rules| &rules.git)) {
            Some(Match::Ignore(_)) => true,
            Some(Match::Whitelist(_)) => false,
            _ => name.starts_with('.') && !self.options.hidden,
        }
    }

    /// Gives false when no more is wanted.
    fn folder(&mut self, folder: &Path, depth: usize, git: bool) -> bool {
        if self.options.max_depth.is_some_and(|max| depth > max) {
            return true;
        }
        let entries = match self.disk.read_dir(folder) {
            Ok(entries) => entries,
            Err(error) => {
                let fault = Fault { path: folder.to_owned(), why: error.to_string() };
                return self.visitor.visit(Err(fault)) != Step::Stop;
            }
        };
        let git = git || self.options.ignore && self.disk.link_metadata(&folder.join(".git")).is_ok();
        if self.options.ignore {
            self.rules.push(self.rules_of(folder, git));
        }
        self.above.push(self.disk.canonicalize(folder).unwrap_or_else(|_| folder.to_owned()));
        let mut on = true;
        for entry in entries {
            let path = folder.join(entry.file_name());
            let mut kind = entry.kind;
            if kind == FileKind::Link && self.options.follow {
                kind = self.disk.metadata(&path).map_or(kind, |found| found.kind);
            }
            let is_folder = kind == FileKind::Directory;
            if entry.name == ".git" || self.options.prune.contains(&path) || self.ignored(&path, &entry.name, is_folder)
            {
                continue;
            }
            let circle = (is_folder && entry.kind == FileKind::Link)
                .then(|| self.disk.canonicalize(&path).ok())
                .flatten()
                .and_then(|real| self.above.iter().find(|above| **above == real));
            let met = match circle {
                Some(above) => Err(Fault { path: path.clone(), why: looped(above) }),
                None => Ok(Met { path: path.clone(), kind, depth }),
            };
            let enter = is_folder && met.is_ok();
            on = match self.visitor.visit(met) {
                Step::Stop => false,
                Step::Skip => true,
                Step::On => !enter || self.folder(&path, depth + 1, git),
            };
            if !on {
                break;
            }
        }
        self.above.pop();
        if self.options.ignore {
            self.rules.pop();
        }
        on
    }
}
