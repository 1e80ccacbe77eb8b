//! What a command line would run, and what that may do: every simple command in it, wherever it stands, is found and
//! judged. Pure; what cannot be understood is never taken for harmless.

mod consent;
mod effects;
mod paths;
mod programs;
mod walk;
mod words;
mod wrappers;

use std::path::PathBuf;

pub use consent::shared;
pub use effects::{Verdict, Word};

/// Where a line would run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Scene {
    /// The folder it begins in, absolute.
    pub workdir: PathBuf,
    /// The workspace folders, canonical.
    pub roots: Vec<PathBuf>,
    /// The user's home folder, where it is known.
    pub home: Option<PathBuf>,
}

/// What a line would run, and what that may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Analysis {
    /// The worst of it.
    pub verdict: Verdict,
    /// Why it is not read-only, in words for a person; the worst first, none twice.
    pub reasons: Vec<String>,
    /// Every simple command, in the order of the line; what a wrapper runs comes behind the wrapper.
    pub commands: Vec<Simple>,
    /// Files and folders it reads by name.
    pub reads: Vec<Touched>,
    /// Files and folders it writes, makes, moves or deletes by name.
    pub writes: Vec<Touched>,
    /// Those of them that may hold secrets, as written.
    pub secrets: Vec<String>,
    /// Whether it may talk to other machines.
    pub network: bool,
    /// The machines it names.
    pub hosts: Vec<String>,
    /// Why it could not be understood, if so; it is then asked about, whatever the rest says.
    pub unclear: Option<String>,
}

/// A command: the program and its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Simple {
    /// The words, the program's first.
    pub words: Vec<Word>,
}

/// A place in the file system that a line names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Touched {
    /// As written.
    pub asked: String,
    /// Its absolute path, by the words alone (no link is followed); `None`: it depends on what only running it shows.
    pub path: Option<PathBuf>,
}

/// Looks into a command line as `bash -c` would get it, in the folder and for the user of the scene.
///
/// Takes a few milliseconds at most for what people write, and a second or so for anything; the same line always gives the
/// same answer. What is not understood is `unclear`, and its verdict never better than [`Verdict::NeedsApproval`].
pub fn analyse(line: &str, scene: &Scene) -> Analysis {
    walk::analyse(line, scene, programs::effects)
}

#[cfg(test)]
mod tests;
