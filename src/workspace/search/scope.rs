//! Where a search looks.

use std::cmp::Ordering;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use crate::ports::FileKind;
use crate::workspace::paths::Key;
use crate::workspace::{Refusal, RefusalKind, Workspace, view};

use super::Overlay;

/// What all that is open is called in messages.
const HERE: &str = "the workspace";

/// Folders, or one file or document.
#[derive(Debug, Clone, PartialEq)]
pub struct Scope {
    /// The folders, in the editor's order.
    pub bases: Vec<Base>,
    /// The one file or document, when it is one.
    pub single: Option<Place>,
    /// Whether documents without a file belong to it.
    pub unnamed: bool,
    /// The name of where it looks, for messages.
    pub shown: String,
}

/// A folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Base {
    /// With all links resolved.
    pub folder: PathBuf,
    /// Folders in it that are bases of their own.
    pub prune: Vec<PathBuf>,
    /// Its path in the workspace folder that holds it; empty when it is one, or is in none.
    pub under: PathBuf,
}

/// A file or document in the order of all results: workspace folder by workspace folder, in each by the bytes of the
/// path, and last the documents without a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The number of its base; `usize::MAX` for a document without a file.
    pub base: usize,
    /// Its path; the URI of a document without a file.
    pub path: PathBuf,
}

impl Place {
    /// A document without a file.
    pub fn of_uri(uri: &str) -> Place {
        Place { base: usize::MAX, path: PathBuf::from(uri) }
    }

    /// Whether it is a document without a file.
    pub fn unnamed(&self) -> bool {
        self.base == usize::MAX
    }
}

impl Ord for Place {
    fn cmp(&self, other: &Place) -> Ordering {
        let paths = || self.path.as_os_str().as_bytes().cmp(other.path.as_os_str().as_bytes());
        self.base.cmp(&other.base).then_with(paths)
    }
}

impl PartialOrd for Place {
    fn partial_cmp(&self, other: &Place) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Scope {
    /// What `path` names; absent, empty or `.`: all workspace folders.
    pub(super) fn of(workspace: &Workspace, path: Option<&str>, overlay: &Overlay) -> Result<Scope, Refusal> {
        let path = path.filter(|path| !matches!(path.trim(), "" | "." | "./"));
        let Some(path) = path else { return Scope::everywhere(workspace) };
        let named = path.strip_suffix('/').filter(|path| !path.is_empty()).unwrap_or(path);
        let target = workspace.resolve(named)?;
        let shown = if target.shown == "." { HERE.to_owned() } else { target.shown.clone() };
        let single = |place| Scope { bases: Vec::new(), single: Some(place), unnamed: false, shown: shown.clone() };
        let path = match &target.key {
            Key::Unnamed(uri) => return Ok(single(Place::of_uri(uri))),
            Key::File(path) if overlay.hides(path) => {
                let words = format!("{shown} is not there for you: you proposed to delete it or to move it away.");
                return Err(Refusal::new(RefusalKind::NotFound, words));
            }
            Key::File(path) if overlay.covers(path) => return Ok(single(Place { base: 0, path: path.clone() })),
            Key::File(path) => path,
        };
        let roots = workspace.roots();
        let under = roots.holding(path).and_then(|root| path.strip_prefix(root).ok()).unwrap_or(Path::new(""));
        let folder = || Scope::folder(path, under, &shown);
        match workspace.ports.disk.metadata(path) {
            Ok(found) if found.kind == FileKind::Directory => Ok(folder()),
            Ok(found) if found.kind == FileKind::File => Ok(single(Place { base: 0, path: path.clone() })),
            Ok(_) => Err(Refusal::new(
                RefusalKind::InvalidArguments,
                format!("{shown} is neither a file nor a folder but a pipe, a socket or a device; it is not searched."),
            )),
            // A folder that is only in the editor so far.
            Err(_) if overlay.below(path).next().is_some() => Ok(folder()),
            Err(error) => Err(view::unreadable(&*workspace.ports.disk, path, &shown, &error)),
        }
    }

    fn folder(path: &Path, under: &Path, shown: &str) -> Scope {
        let base = Base { folder: path.to_owned(), prune: Vec::new(), under: under.to_owned() };
        Scope { bases: vec![base], single: None, unnamed: false, shown: shown.to_owned() }
    }

    fn everywhere(workspace: &Workspace) -> Result<Scope, Refusal> {
        let folders = workspace.roots().folders;
        let unnamed = workspace.documents.all().iter().any(|document| matches!(document.key, Key::Unnamed(_)));
        if folders.is_empty() && !unnamed {
            let message = "No workspace folder is open; give the absolute path of a folder as `path`.";
            return Err(Refusal::new(RefusalKind::InvalidArguments, message));
        }
        let bases = folders.iter().map(|folder| {
            let prune = folders.iter().filter(|other| *other != folder && other.starts_with(folder)).cloned().collect();
            Base { folder: folder.clone(), prune, under: PathBuf::new() }
        });
        Ok(Scope { bases: bases.collect(), single: None, unnamed: true, shown: HERE.to_owned() })
    }
}
