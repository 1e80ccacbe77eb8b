//! The walk through a scope, with what lies over the disk or does not fit taken out.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use crate::ports::{Fault, FileKind, Met, Step, Visitor, WalkOptions};

use super::{Base, Ended, Job, Place};

/// Takes what comes through the sieve; one a thread.
pub(super) trait Hand: Send {
    /// A file that fits and has no text over it, or (for those who want them) a folder, a link, anything.
    fn take(&mut self, place: Place, kind: FileKind, depth: usize);
    /// Something that could not be looked at.
    fn fault(&mut self, fault: Fault);
}

struct Sieve<'s, H> {
    job: &'s Job,
    base: usize,
    folder: &'s Path,
    /// Where that is in its workspace folder.
    under: &'s Path,
    /// Whether only regular files are wanted.
    files: bool,
    hand: H,
}

/// Goes through all folders of the job's scope. `make` makes the hand of each thread.
pub(super) fn sift<'s, H: Hand + 's>(job: &'s Job, files: bool, make: impl Fn() -> H) {
    for (number, base) in job.scope.bases.iter().enumerate() {
        if job.run.ended().is_some() {
            return;
        }
        sift_base(job, number, base, files, &make);
    }
}

fn sift_base<'s, H: Hand + 's>(job: &'s Job, number: usize, base: &'s Base, files: bool, make: &impl Fn() -> H) {
    match job.disk.metadata(&base.folder) {
        Ok(found) if found.kind == FileKind::Directory => {}
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            make().fault(Fault { path: base.folder.clone(), why: error.to_string() });
            return;
        }
        // A folder that is only in the editor so far has nothing on the disk.
        Ok(_) | Err(_) => return,
    }
    let options = WalkOptions { prune: base.prune.clone(), ..job.walk.clone() };
    job.disk.walk(&base.folder, &options, &mut || {
        Box::new(Sieve { job, base: number, folder: &base.folder, under: &base.under, files, hand: make() })
    });
}

impl<H: Hand> Visitor for Sieve<'_, H> {
    fn visit(&mut self, met: Result<Met, Fault>) -> Step {
        match self.job.run.ended() {
            Some(Ended::Cancelled | Ended::TimeLimit) => return Step::Stop,
            None => {}
        }
        let met = match met {
            Ok(met) => met,
            Err(fault) => {
                self.hand.fault(fault);
                return Step::On;
            }
        };
        let folder = met.kind == FileKind::Directory;
        if (folder || met.kind != FileKind::File) && self.files && self.job.filter.is_all() && !self.job.walk.follow {
            return Step::On;
        }
        let relative = below(self.folder, &met.path);
        if folder && self.job.filter.leaves_out(self.under, relative) {
            return Step::Skip;
        }
        if self.job.walk.follow && self.leads_out(&met.path) {
            return if folder { Step::Skip } else { Step::On };
        }
        if !folder && self.job.overlay.covers(&met.path) {
            return Step::On;
        }
        if self.files && met.kind != FileKind::File || !folder && !self.job.filter.fits(self.under, relative) {
            return Step::On;
        }
        self.hand.take(Place { base: self.base, path: met.path }, met.kind, met.depth);
        Step::On
    }
}

impl<H: Hand> Sieve<'_, H> {
    /// Whether links lead from there out of all that may be looked at, or to a file that has a text over it.
    fn leads_out(&self, path: &Path) -> bool {
        let Ok(real) = self.job.disk.canonicalize(path) else { return true };
        if real == path {
            return false;
        }
        let inside = real.starts_with(self.folder) || self.job.roots.holding(&real).is_some();
        !inside || self.job.overlay.covers(&real)
    }
}

/// The rest of a path that is known to begin with a folder's.
pub(super) fn below<'a>(folder: &Path, path: &'a Path) -> &'a Path {
    let (folder, bytes) = (folder.as_os_str().as_bytes(), path.as_os_str().as_bytes());
    match bytes.strip_prefix(folder) {
        Some(rest) => Path::new(OsStr::from_bytes(rest.strip_prefix(b"/").unwrap_or(rest))),
        None => path,
    }
}
