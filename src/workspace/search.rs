//! Looking for files and for text, over the editor's buffers and the disk as one.
//!
//! A [`Job`] is all that a search needs, taken at the moment of the call: where, which files, and the texts that lie over
//! the disk. It runs on threads of its own. What is below a folder is what ripgrep would search there, less the files
//! that have a text in the [`Overlay`], plus all of those, ignored or not: what the user has opened is always seen.

mod filter;
mod foreign;
mod grep;
mod kept;
mod line;
mod list;
mod names;
mod overlay;
mod run;
mod scope;
mod sieve;
mod watched;
mod words;

use std::sync::Arc;

pub use filter::{Filter, Wanted};
pub use grep::{Case, Found, Mode, Query};
pub use kept::{Hits, Part};
pub use line::{Kind, Line};
pub use list::{Entry, Listing};
pub use names::visible;
pub use overlay::{Layer, Overlay};
pub use run::{Ended, Run};
pub use scope::{Base, Place, Scope};

use crate::ports::{Disk, Fault, WalkOptions};
use crate::text::Text;

use super::paths::{Key, Roots};
use super::{Refusal, Workspace};

/// Which files a call wants to see that are left out by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Besides {
    /// Hidden ones.
    pub hidden: bool,
    /// Those that ignore files name.
    pub ignored: bool,
}

/// A search, ready to run.
pub struct Job {
    pub(super) disk: Arc<dyn Disk>,
    /// Where.
    pub scope: Scope,
    /// What lies over the disk.
    pub overlay: Overlay,
    /// Which files.
    pub filter: Filter,
    /// How folders are gone through.
    pub walk: WalkOptions,
    roots: Roots,
    secrets: bool,
    limit_ms: u64,
    /// Longer lines (bytes) are not searched, nor longer files where matches go over line ends.
    longest: usize,
    /// What others can tell it, and see of it, while it runs.
    pub run: Arc<Run>,
}

impl Workspace {
    /// Prepares a search below `path` (a folder, a file, an open document; absent: all workspace folders and the
    /// documents without a file). `proposals` lie over the open documents, and over these what the session of this handle
    /// proposes.
    pub fn job(
        &self,
        path: Option<&str>,
        wanted: &Wanted,
        besides: Besides,
        proposals: &[(Key, Text)],
    ) -> Result<Job, Refusal> {
        let settings = self.settings();
        let (mut proposals, mut hidden) = (proposals.to_vec(), Vec::new());
        if let Some(session) = self.session() {
            let own = super::proposals::layer::searched(self, session);
            proposals.extend(own.0);
            hidden = own.1;
        }
        let mut overlay = Overlay::new(&self.documents.all(), &proposals);
        for key in &hidden {
            overlay.hide(key);
        }
        let (scope, roots) = (Scope::of(self, path, &overlay)?, self.roots());
        let folders = scope.bases.iter().map(|base| base.folder.as_path());
        let wanted = Wanted {
            include: filter::relative(&wanted.include, &folders),
            exclude: filter::relative(&wanted.exclude, &folders),
            ..wanted.clone()
        };
        let walk = WalkOptions {
            hidden: settings.search.hidden || besides.hidden,
            ignore: settings.search.respect_ignore_files && !besides.ignored,
            require_git: settings.search.require_git,
            follow: settings.search.follow_links,
            threads: settings.search.threads,
            ..WalkOptions::default()
        };
        Ok(Job {
            disk: self.ports.disk.clone(),
            overlay,
            filter: Filter::new(&wanted)?.without(&settings.search.exclude)?,
            walk,
            secrets: settings.search.secrets,
            limit_ms: settings.search.time_limit_ms,
            longest: grep::LONGEST,
            scope,
            roots,
            run: Arc::default(),
        })
    }
}

impl Job {
    /// How a place is named to the model: relative to the workspace folder where there is one of these, else absolute;
    /// with its URI where the name is not one that can be given back.
    pub fn shown(&self, place: &Place) -> String {
        names::shown(&self.roots, place)
    }

    /// What a model is told besides of a search: what it could not see, and whether it saw everything.
    pub fn words(&self, faults: &[Fault], faulty: u64, ended: Option<Ended>) -> Vec<String> {
        let mut words = words::words(&self.roots, faults, faulty, ended);
        let layers = self.layers().into_iter().filter(|(_, layer)| layer.doubt);
        let doubtful: Vec<String> = layers.map(|(place, _)| self.shown(&place)).collect();
        if !doubtful.is_empty() {
            words.push(format!("may differ from what the editor shows: {}", doubtful.join(", ")));
        }
        words
    }

    /// The URI of the place: the editor's spelling where it is open.
    pub fn uri(&self, place: &Place) -> String {
        match self.layer(place) {
            Some(Layer { uri: Some(uri), .. }) => uri.clone(),
            _ => super::paths::uri_of_path(&place.path),
        }
    }

    /// The text that lies over a place.
    pub fn layer(&self, place: &Place) -> Option<&Layer> {
        if place.unnamed() {
            self.overlay.unnamed(&place.path.to_string_lossy())
        } else {
            self.overlay.file(&place.path)
        }
    }

    /// Whether what is shown of a place is not what is on the disk. Reads the file.
    pub fn unsaved(&self, place: &Place) -> bool {
        let Some(layer) = self.layer(place) else { return false };
        layer.unsaved.unwrap_or_else(|| !super::view::same_on_disk(&*self.disk, &place.path, &layer.text))
    }

    /// The texts over the disk that the search is about, in order, however deep.
    fn layers(&self) -> Vec<(Place, &Layer)> {
        let mut found: Vec<(Place, &Layer)> = Vec::new();
        if let Some(place) = &self.scope.single {
            found.extend(self.layer(place).map(|layer| (place.clone(), layer)));
        }
        for (number, base) in self.scope.bases.iter().enumerate() {
            for (path, layer) in self.overlay.below(&base.folder) {
                let relative = path.strip_prefix(&base.folder).unwrap_or(path);
                let elsewhere = base.prune.iter().any(|prune| path.starts_with(prune));
                if elsewhere || !self.filter.fits(&base.under, relative) {
                    continue;
                }
                found.push((Place { base: number, path: path.clone() }, layer));
            }
        }
        if self.scope.unnamed && self.filter.fits_unnamed() {
            found.extend(self.overlay.all_unnamed().map(|(uri, layer)| (Place::of_uri(uri), layer)));
        }
        found
    }

    /// The names of what is directly in a folder on the disk, whether the search sees it or not; `.git` aside.
    pub fn names_in(&self, folder: &std::path::Path) -> Vec<String> {
        let entries = self.disk.read_dir(folder).unwrap_or_default();
        entries.into_iter().map(|entry| entry.name).filter(|name| name != ".git").collect()
    }
}

#[cfg(test)]
mod tests;
