//! Going through the files below a folder as the tools of the trade do: what git ignores and what is hidden is left out.
//!
//! [`super::Disk::walk`] hands everything to visitors, one a thread, which decide what to do with it. The real disk walks in
//! parallel; any other disk is walked [`plainly`], by the same rules.

mod plain;
mod system;

use std::path::PathBuf;

use super::disk::FileKind;

pub(super) use plain::plainly;
pub(super) use system::in_parallel;

/// How to go through a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own, as on the command line of such tools")]
pub struct WalkOptions {
    /// Whether names that begin with a dot are met too (`.git` never is).
    pub hidden: bool,
    /// Whether files are left out that `.gitignore` (of the folder, those in it and those above it), `.git/info/exclude`,
    /// git's global excludes, `.ignore` or `.rgignore` name.
    pub ignore: bool,
    /// Whether git's rules hold in git repositories only.
    pub require_git: bool,
    /// Whether symbolic links are followed. A link is met as what it leads to then, else as a link.
    pub follow: bool,
    /// What is directly in the folder has depth 1; deeper than this is not met.
    pub max_depth: Option<usize>,
    /// Folders that are not entered or met: absolute paths.
    pub prune: Vec<PathBuf>,
    /// At most so many threads; 0: as many as the machine runs at once, at most [`MAX_THREADS`].
    pub threads: usize,
}

/// No walk uses more threads than this.
pub const MAX_THREADS: usize = 8;

impl Default for WalkOptions {
    fn default() -> WalkOptions {
        WalkOptions {
            hidden: false,
            ignore: true,
            require_git: true,
            follow: false,
            max_depth: None,
            prune: Vec::new(),
            threads: 0,
        }
    }
}

/// Something below the folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Met {
    /// The folder's path and the way from there.
    pub path: PathBuf,
    /// What it is.
    pub kind: FileKind,
    /// 1 for what is directly in the folder.
    pub depth: usize,
}

/// Something that could not be looked at: a folder without permission, a circle of links. The rest is met all the same.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fault {
    /// Where, if that is known.
    pub path: PathBuf,
    /// Why, in words that follow the path and a colon.
    pub why: String,
}

/// What a visitor wants next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Whatever comes next.
    On,
    /// Not what is in this folder.
    Skip,
    /// Nothing more; all visitors are dismissed.
    Stop,
}

/// Is shown what is met, in no order. A visitor belongs to one thread and is dropped when there is no more for it.
pub trait Visitor: Send {
    /// Looks at one thing.
    fn visit(&mut self, met: Result<Met, Fault>) -> Step;
}

/// Makes the visitor of each thread.
pub type Visitors<'a, 's> = &'a mut dyn FnMut() -> Box<dyn Visitor + 's>;
