//! Looking for files: all that fit, with the editor's over the disk's.

use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use crate::ports::{Fault, FileKind};

use super::sieve::{Hand, below, sift};
use super::{Ended, Job, Place};

/// A file, or with those that were asked for, a folder, a link, a pipe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Where.
    pub place: Place,
    /// What.
    pub kind: FileKind,
    /// Whether it is open, or otherwise lies over the disk.
    pub over: bool,
    /// When its content last changed, if that was asked and is known.
    pub modified: Option<SystemTime>,
}

/// All that fit.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Listing {
    /// Sorted by place.
    pub entries: Vec<Entry>,
    /// What could not be looked at, sorted.
    pub faults: Vec<Fault>,
    /// Whether it was stopped before it had seen everything.
    pub ended: Option<Ended>,
}

/// What is wanted of a listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Want {
    /// Whether only regular files are.
    files: bool,
    /// Whether the time of the last change is.
    times: bool,
}

impl Job {
    /// All files, sorted. Blocking; stops soon after [`super::Run::stop`]. `times`: whether the time of the last change is
    /// wanted.
    pub fn files(&self, times: bool) -> Listing {
        self.list(Want { files: true, times })
    }

    /// Everything that there is, folders too, sorted. Folders that are only in the editor so far are not among them.
    pub fn everything(&self) -> Listing {
        self.list(Want::default())
    }

    fn list(&self, want: Want) -> Listing {
        let out = Mutex::new(Listing::default());
        if let Some(place) = &self.scope.single {
            let name = std::path::Path::new(place.path.file_name().unwrap_or(place.path.as_os_str()));
            if !self.filter.fits(std::path::Path::new(""), name) {
                return Listing::default();
            }
            let over = self.layer(place).is_some();
            let entry = Entry { place: place.clone(), kind: FileKind::File, over, modified: None };
            return Listing { entries: vec![entry], ..Listing::default() };
        }
        sift(self, want.files, || Lister { job: self, want, own: Listing::default(), out: &out });
        let mut listing = out.into_inner().unwrap_or_else(PoisonError::into_inner);
        for (place, _) in self.layers() {
            let modified = if want.times { self.disk.modified(&place.path).ok() } else { None };
            listing.entries.push(Entry { place, kind: FileKind::File, over: true, modified });
        }
        // Each thread's are sorted, which makes this a merge.
        listing.entries.sort_by(|a, b| a.place.cmp(&b.place));
        listing.faults.sort();
        listing.ended = self.run.ended();
        listing
    }

    /// The path of a place relative to the folder that was searched; as it is for a document without a file.
    pub fn relative<'a>(&self, place: &'a Place) -> &'a std::path::Path {
        self.scope.bases.get(place.base).map_or(&place.path, |base| below(&base.folder, &place.path))
    }
}

/// One thread of it.
struct Lister<'s> {
    job: &'s Job,
    want: Want,
    own: Listing,
    out: &'s Mutex<Listing>,
}

impl Hand for Lister<'_> {
    fn take(&mut self, place: Place, kind: FileKind, _: usize) {
        let modified = if self.want.times { self.job.disk.modified(&place.path).ok() } else { None };
        self.own.entries.push(Entry { place, kind, over: false, modified });
    }

    fn fault(&mut self, fault: Fault) {
        self.own.faults.push(fault);
    }
}

impl Drop for Lister<'_> {
    fn drop(&mut self) {
        let mut own = std::mem::take(&mut self.own);
        own.entries.sort_by(|a, b| a.place.cmp(&b.place));
        self.job.run.count(own.entries.len() as u64);
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        out.entries.append(&mut own.entries);
        out.faults.append(&mut own.faults);
    }
}
