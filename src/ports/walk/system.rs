//! The walk on the real disk, in parallel.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::{DirEntry, Error, ParallelVisitor, ParallelVisitorBuilder, WalkBuilder, WalkState};

use super::{Fault, MAX_THREADS, Met, Step, Visitor, Visitors, WalkOptions};
use crate::ports::FileKind;

/// Walks with threads of its own; the calling thread waits.
pub(in crate::ports) fn in_parallel(folder: &Path, options: &WalkOptions, visitors: Visitors<'_, '_>) {
    let available = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let threads = if options.threads == 0 { available } else { options.threads }.clamp(1, MAX_THREADS);
    let mut builder = WalkBuilder::new(folder);
    builder
        .hidden(!options.hidden)
        .ignore(options.ignore)
        .git_ignore(options.ignore)
        .git_global(options.ignore)
        .git_exclude(options.ignore)
        .parents(options.ignore)
        .require_git(options.require_git)
        .follow_links(options.follow)
        .max_depth(options.max_depth)
        .threads(threads);
    if options.ignore {
        builder.add_custom_ignore_filename(".rgignore");
    }
    if options.hidden || !options.prune.is_empty() {
        let prune = options.prune.clone();
        builder.filter_entry(move |entry| {
            entry.file_name() != ".git" && (prune.is_empty() || !prune.iter().any(|path| path == entry.path()))
        });
    }
    builder.build_parallel().visit(&mut Threads { folder: folder.into(), visitors });
}

struct Threads<'a, 's> {
    folder: Arc<Path>,
    visitors: Visitors<'a, 's>,
}

impl<'s> ParallelVisitorBuilder<'s> for Threads<'_, 's> {
    fn build(&mut self) -> Box<dyn ParallelVisitor + 's> {
        Box::new(Thread { folder: Arc::clone(&self.folder), visitor: (self.visitors)() })
    }
}

struct Thread<'s> {
    folder: Arc<Path>,
    visitor: Box<dyn Visitor + 's>,
}

impl ParallelVisitor for Thread<'_> {
    fn visit(&mut self, entry: Result<DirEntry, Error>) -> WalkState {
        let met = match entry {
            // The folder itself.
            Ok(entry) if entry.depth() == 0 => return WalkState::Continue,
            Ok(entry) => {
                let (kind, depth) = (kind_of(&entry), entry.depth());
                Ok(Met { path: entry.into_path(), kind, depth })
            }
            Err(error) => Err(fault(&self.folder, &error)),
        };
        match self.visitor.visit(met) {
            Step::On => WalkState::Continue,
            Step::Skip => WalkState::Skip,
            Step::Stop => WalkState::Quit,
        }
    }
}

fn kind_of(entry: &DirEntry) -> FileKind {
    match entry.file_type() {
        Some(kind) if kind.is_file() => FileKind::File,
        Some(kind) if kind.is_dir() => FileKind::Directory,
        Some(kind) if kind.is_symlink() => FileKind::Link,
        _ => FileKind::Other,
    }
}

fn fault(folder: &Path, error: &Error) -> Fault {
    fn place(error: &Error) -> Option<PathBuf> {
        match error {
            Error::WithPath { path, .. } => Some(path.clone()),
            Error::Loop { child, .. } => Some(child.clone()),
            Error::WithDepth { err, .. } | Error::WithLineNumber { err, .. } => place(err),
            Error::Partial(errors) => errors.iter().find_map(place),
            _ => None,
        }
    }
    fn why(error: &Error) -> String {
        match error {
            Error::WithPath { err, .. } | Error::WithDepth { err, .. } | Error::WithLineNumber { err, .. } => why(err),
            Error::Loop { ancestor, .. } => looped(ancestor),
            Error::Io(error) => error.to_string(),
            error => error.to_string(),
        }
    }
    Fault { path: place(error).unwrap_or_else(|| folder.to_owned()), why: why(error) }
}

/// What is said of a link that leads back to a folder it is in.
pub(super) fn looped(ancestor: &Path) -> String {
    format!("a link that leads back to {}, a folder it is in", ancestor.display())
}
