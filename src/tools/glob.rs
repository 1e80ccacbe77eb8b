//! `glob`: finds files by a pattern, newest first.

use std::cmp::Reverse;
use std::fmt::Write as _;
use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::tool::{Access, Capability, Content, Context, ErrorKind, Outcome, Tool, ToolError, Traits};
use crate::workspace::search::{Besides, Entry, Job, Listing, Wanted};

use super::grep::{Globs, counted, least, length};

/// Finds files whose path fits a pattern, those changed last first (unsaved ones before all others). Open documents are
/// found also if they are not on the disk or are ignored; of other files, those are left out that are hidden or ignored by
/// git.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// `*.rs` for names at any depth, `src/**/*.{ts,tsx}` for paths from `path`. `**` stands for any number of folders.
    /// `!*.rs` is all but those that `*.rs` fits.
    #[schemars(example = "src/**/*.rs")]
    pub pattern: String,
    /// The folder to search. Absent: the workspace folders.
    pub path: Option<String>,
    /// No files that one of these globs fits.
    #[serde(default)]
    pub exclude: Globs,
    /// Whether case makes no difference.
    #[serde(default)]
    pub ignore_case: bool,
    /// The order.
    #[serde(default)]
    pub sort: Sort,
    /// Whether hidden files (names that begin with a dot) are found too.
    #[serde(default)]
    pub hidden: bool,
    /// Whether files that git ignores are found too.
    #[serde(default)]
    pub ignored: bool,
    /// At most so many are shown. The count is of all.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 5000))]
    pub limit: usize,
    /// The first one to show; 1 is the first.
    #[serde(default = "first")]
    #[schemars(range(min = 1))]
    pub offset: usize,
}

/// The order of files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Sort {
    /// Newest first, then by path.
    #[default]
    Modified,
    /// By path.
    Path,
}

fn first() -> usize {
    1
}

fn default_limit() -> usize {
    200
}

impl Arguments {
    /// Where to search and for what: an absolute pattern names its folder itself.
    fn split(&self) -> (Option<String>, String) {
        let magic = |part: &str| part.contains(['*', '?', '[', '{']);
        let parts: Vec<&str> = self.pattern.split('/').collect();
        let plain = parts.iter().take(parts.len() - 1).take_while(|part| !magic(part)).count();
        // One folder below the root is more likely meant from `path`.
        if self.pattern.starts_with('/') && plain > 2 {
            return (Some(parts[..plain].join("/")), format!("/{}", parts[plain..].join("/")));
        }
        (self.path.clone(), self.pattern.clone())
    }
}

/// The tool.
pub struct Glob;

#[async_trait]
impl Tool for Glob {
    type Arguments = Arguments;

    const TRAITS: Traits<'static> = Traits {
        name: "glob",
        title: "Find files by pattern",
        capabilities: &[Capability::ReadsFiles],
        parallel: true,
        deferred: false,
        free_form: None,
        deadline: Duration::from_mins(1),
        aliases: &[
            ("glob", "pattern"),
            ("glob_pattern", "pattern"),
            ("dir", "path"),
            ("directory", "path"),
            ("cwd", "path"),
            ("ignore", "exclude"),
            ("case_insensitive", "ignore_case"),
            ("head_limit", "limit"),
            ("max_results", "limit"),
            ("no_ignore", "ignored"),
            ("order", "sort"),
        ],
        names: &["glob_files", "find_files", "list_files"],
    };

    fn access(&self, arguments: &Arguments) -> Access {
        Access { reads: super::searched(arguments.split().0.as_deref()), ..Access::default() }
    }

    fn validate(&self, arguments: &Arguments) -> Result<(), ToolError> {
        if arguments.pattern.trim().is_empty() {
            let message = "`pattern` is empty; give a glob, for example \"src/**/*.rs\".";
            return Err(ToolError::new(ErrorKind::InvalidArguments, message));
        }
        Ok(())
    }

    async fn run(&self, arguments: Arguments, context: &Context) -> Result<Outcome, ToolError> {
        let (path, pattern) = arguments.split();
        let wanted = Wanted {
            include: vec![pattern],
            exclude: arguments.exclude.0.clone(),
            kind: None,
            any_case: arguments.ignore_case,
        };
        let besides = Besides { hidden: arguments.hidden, ignored: arguments.ignored };
        let job = super::job(context, path, wanted, besides).await?;
        let budget = context.budget;
        let page = super::go(job, context, move |job| {
            let mut listing = job.files(arguments.sort == Sort::Modified);
            let what = format!("No file fits {:?} in {}", arguments.pattern, job.scope.shown);
            let need = arguments.offset.saturating_sub(1).saturating_add(arguments.limit);
            if arguments.sort == Sort::Modified {
                newest_first(job, &mut listing.entries, need);
            }
            page(job, &listing, arguments.offset, arguments.limit, budget, &what)
        });
        Ok(page.await?)
    }
}

/// Puts the first `need` in order; the others come after them in any.
fn newest_first(job: &Job, entries: &mut [Entry], need: usize) {
    let mut keyed: Vec<_> = entries
        .iter()
        .enumerate()
        .map(|(at, entry)| (!(entry.over && job.unsaved(&entry.place)), Reverse(entry.modified), at))
        .collect();
    // They are sorted by place, so that their number decides between equals.
    if need < keyed.len() {
        keyed.select_nth_unstable(need);
        keyed[..need].sort_unstable();
    } else {
        keyed.sort_unstable();
    }
    let order: Vec<Entry> = keyed.iter().map(|(_, _, at)| entries[*at].clone()).collect();
    entries.clone_from_slice(&order);
}

/// Some of the files that were found, one a line; how many there are, and how to go on.
pub(super) fn page(job: &Job, listing: &Listing, offset: usize, limit: usize, budget: usize, none: &str) -> Outcome {
    /// Kept free in the budget (bytes) for what is said of the results at the end, remarks on the search aside.
    const SUMMARY: usize = 300;
    let words = job.words(&listing.faults, listing.faults.len() as u64, listing.ended);
    let room = budget.saturating_sub(SUMMARY + length(&words));
    let total = listing.entries.len();
    let mut text = String::new();
    let mut files: Vec<Value> = Vec::new();
    let mut full = false;
    for entry in listing.entries.iter().skip(offset.saturating_sub(1)).take(limit) {
        let (shown, unsaved) = (job.shown(&entry.place), entry.over && job.unsaved(&entry.place));
        let line = format!("{shown}{}\n", if unsaved { " (unsaved)" } else { "" });
        if text.len() + line.len() > room && !files.is_empty() {
            full = true;
            break;
        }
        text.push_str(&line);
        files.push(json!({ "path": shown, "uri": job.uri(&entry.place), "unsaved": unsaved }));
    }
    let least = least(listing.ended);
    let end = offset.saturating_sub(1) + files.len();
    let next = (end < total && !files.is_empty()).then_some(end + 1);
    let _ = match next {
        _ if total == 0 => write!(text, "{none}."),
        _ if files.is_empty() => write!(text, "There are only {least}{total}; offset {offset} is past them."),
        None => write!(text, "\n({least}{})", counted(total as u64, "file")),
        Some(next) => {
            let why = if full { ", there is no room for more in one answer" } else { "" };
            write!(text, "\n({least}{total} files; shown: {offset}-{end}{why}; go on with offset {next})")
        }
    };
    for word in words {
        let _ = write!(text, "\n({word})");
    }
    let data = json!({ "files": files, "total": total, "atLeast": listing.ended.is_some(), "nextOffset": next });
    Outcome { content: vec![Content::text(text)], structured: Some(data), ..Outcome::default() }
}
