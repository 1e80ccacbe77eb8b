//! `ls`: shows what is in a folder, some levels deep.

mod tree;

use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ports::FileKind;
use crate::tool::{Access, Capability, Content, Context, ErrorKind, Outcome, Tool, ToolError, Traits};
use crate::workspace::search::{Besides, Job, Place, Wanted, visible};

use super::grep::Globs;
use tree::{Folder, Item, Tree};

/// Lists a folder and the folders in it: folders first, then files, each by name; `/` marks folders, `@` links, `|` pipes
/// and the like. If there is not room for all, every level is shown before the next, and every folder of a level gets its
/// share. Open documents are listed also if they are not on the disk or are ignored; what is hidden or ignored by git is
/// only counted.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The folder. Absent: the workspace folders.
    pub path: Option<String>,
    /// So many levels.
    #[serde(default = "default_depth")]
    #[schemars(range(min = 1, max = 20))]
    pub depth: usize,
    /// Nothing that one of these globs fits.
    #[serde(default)]
    pub exclude: Globs,
    /// Whether what is hidden (names that begin with a dot) is listed too.
    #[serde(default)]
    pub hidden: bool,
    /// Whether what git ignores is listed too.
    #[serde(default)]
    pub ignored: bool,
    /// At most so many entries are shown. The count is of all.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 5000))]
    pub limit: usize,
}

fn default_depth() -> usize {
    2
}

fn default_limit() -> usize {
    200
}

/// The tool.
pub struct Ls;

#[async_trait]
impl Tool for Ls {
    type Arguments = Arguments;

    const TRAITS: Traits<'static> = Traits {
        name: "ls",
        title: "List a folder",
        capabilities: &[Capability::ReadsFiles],
        parallel: true,
        deferred: false,
        free_form: None,
        deadline: Duration::from_mins(1),
        aliases: &[
            ("dir", "path"),
            ("directory", "path"),
            ("dir_path", "path"),
            ("file_path", "path"),
            ("cwd", "path"),
            ("max_depth", "depth"),
            ("levels", "depth"),
            ("ignore", "exclude"),
            ("head_limit", "limit"),
            ("max_results", "limit"),
            ("all", "hidden"),
            ("no_ignore", "ignored"),
        ],
        names: &["list_dir", "list_directory", "dir", "tree"],
    };

    fn access(&self, arguments: &Arguments) -> Access {
        Access { reads: super::searched(arguments.path.as_deref()), ..Access::default() }
    }

    async fn run(&self, arguments: Arguments, context: &Context) -> Result<Outcome, ToolError> {
        let wanted = Wanted { exclude: arguments.exclude.0.clone(), ..Wanted::default() };
        let besides = Besides { hidden: arguments.hidden, ignored: arguments.ignored };
        let mut job = super::job(context, arguments.path.clone(), wanted, besides).await?;
        if job.scope.single.is_some() {
            let message = format!("{} is a file, not a folder; show it with `read`.", job.scope.shown);
            return Err(ToolError::new(ErrorKind::InvalidArguments, message));
        }
        job.walk.max_depth = Some(arguments.depth);
        let budget = context.budget;
        let outcome = super::go(job, context, move |job| list(job, arguments.depth, arguments.limit, budget));
        outcome.await?
    }
}

fn list(job: &Job, depth: usize, limit: usize, budget: usize) -> Result<Outcome, ToolError> {
    let listing = job.everything();
    if let ([base], [fault], []) = (&job.scope.bases[..], &listing.faults[..], &listing.entries[..])
        && fault.path == base.folder
    {
        let message = format!("{} could not be listed: {}.", job.scope.shown, fault.why.trim_end_matches('.'));
        return Err(ToolError::new(ErrorKind::Failed, message));
    }
    let mut tree = Tree::default();
    for base in &job.scope.bases {
        let shown = job.shown(&Place { base: 0, path: base.folder.clone() });
        tree.folders.push(Folder::new(shown, base.folder.clone()));
    }
    let mut unnamed = Vec::new();
    for entry in &listing.entries {
        let relative = job.relative(&entry.place);
        match tree.folders.get_mut(entry.place.base) {
            Some(folder) => {
                let item = Item { kind: entry.kind, over: entry.over };
                folder.put(relative, item, depth);
            }
            None => unnamed.push(visible(&entry.place.path)),
        }
    }
    let pick = tree.pick(limit);
    let place = |base: usize, path: &std::path::Path| Place { base, path: job.scope.bases[base].folder.join(path) };
    let unsaved = |base: usize, path: &std::path::Path| job.unsaved(&place(base, path));
    let left_out = |base: usize, path: &std::path::Path, seen: &dyn Fn(&str) -> bool| {
        job.names_in(&place(base, path).path).iter().filter(|name| !seen(name)).count()
    };
    let mut words = job.words(&listing.faults, listing.faults.len() as u64, listing.ended);
    if !unnamed.is_empty() {
        words.insert(0, format!("open without a file: {}", unnamed.join(", ")));
    }
    let (text, data) = tree.render(&pick, depth, budget, &unsaved, &left_out, &words);
    Ok(Outcome { content: vec![Content::text(text)], structured: Some(data), ..Outcome::default() })
}

/// What marks an entry of a kind.
fn mark(kind: FileKind) -> &'static str {
    match kind {
        FileKind::Directory => "/",
        FileKind::Link => "@",
        FileKind::Other => "|",
        FileKind::File => "",
    }
}
