//! `file_search`: finds files by a part of their name, best first.

use std::time::Duration;

use async_trait::async_trait;
use nucleo_matcher::pattern::{AtomKind, CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::tool::{Access, Capability, Context, ErrorKind, Outcome, Tool, ToolError, Traits};
use crate::workspace::search::{Besides, Entry, Job, Wanted, visible};

use super::glob::page;
use super::grep::Globs;

/// Finds files whose path has the letters of the query in their order, best fit first: `mdvw` finds `src/model/view.rs`.
/// Several words must all fit. Open documents are found also if they are not on the disk or are ignored; of other files,
/// those are left out that are hidden or ignored by git.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// A part of a name or path, or just some of its letters. Case counts only where there is an upper case letter.
    #[schemars(example = &"confparse")]
    pub query: String,
    /// The folder to search. Absent: the workspace folders.
    pub path: Option<String>,
    /// Only files that one of these globs fits; one that begins with `!` leaves out what it fits.
    #[serde(default)]
    pub include: Globs,
    /// No files that one of these globs fits.
    #[serde(default)]
    pub exclude: Globs,
    /// Whether hidden files (names that begin with a dot) are found too.
    #[serde(default)]
    pub hidden: bool,
    /// Whether files that git ignores are found too.
    #[serde(default)]
    pub ignored: bool,
    /// At most so many are shown. The count is of all.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 1000))]
    pub limit: usize,
    /// The first one to show; 1 is the best.
    #[serde(default = "first")]
    #[schemars(range(min = 1))]
    pub offset: usize,
}

fn first() -> usize {
    1
}

fn default_limit() -> usize {
    20
}

/// The tool.
pub struct FileSearch;

#[async_trait]
impl Tool for FileSearch {
    type Arguments = Arguments;

    const TRAITS: Traits<'static> = Traits {
        name: "file_search",
        title: "Find files by name",
        capabilities: &[Capability::ReadsFiles],
        parallel: true,
        deferred: false,
        free_form: None,
        deadline: Duration::from_mins(1),
        aliases: &[
            ("name", "query"),
            ("pattern", "query"),
            ("dir", "path"),
            ("directory", "path"),
            ("cwd", "path"),
            ("glob", "include"),
            ("ignore", "exclude"),
            ("head_limit", "limit"),
            ("max_results", "limit"),
            ("no_ignore", "ignored"),
        ],
        names: &["find_file", "search_file", "fuzzy_find"],
    };

    fn access(&self, arguments: &Arguments) -> Access {
        Access { reads: super::searched(arguments.path.as_deref()), ..Access::default() }
    }

    fn validate(&self, arguments: &Arguments) -> Result<(), ToolError> {
        if arguments.query.trim().is_empty() {
            let message = "`query` is empty; give a part of a file's name, for example \"main.rs\".";
            return Err(ToolError::new(ErrorKind::InvalidArguments, message));
        }
        Ok(())
    }

    async fn run(&self, arguments: Arguments, context: &Context) -> Result<Outcome, ToolError> {
        let wanted = Wanted { include: arguments.include.0, exclude: arguments.exclude.0, kind: None, any_case: false };
        let besides = Besides { hidden: arguments.hidden, ignored: arguments.ignored };
        let job = super::job(context, arguments.path.clone(), wanted, besides).await?;
        let budget = context.budget;
        let page = super::go(job, context, move |job| {
            let mut listing = job.files(false);
            listing.entries = ranked(job, listing.entries, &arguments.query);
            let what = format!("No file fits {:?} in {}", arguments.query, job.scope.shown);
            page(job, &listing, arguments.offset, arguments.limit, budget, &what)
        });
        Ok(page.await?)
    }
}

/// Those that fit, best first, equals by path.
fn ranked(job: &Job, entries: Vec<Entry>, query: &str) -> Vec<Entry> {
    let mut rank = Rank::new(query);
    let mut scored: Vec<(u32, Entry)> = entries
        .into_iter()
        .filter_map(|entry| Some((rank.score(&visible(job.relative(&entry.place)))?, entry)))
        .collect();
    // Stable, and they are sorted by path.
    scored.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    scored.into_iter().map(|(_, entry)| entry).collect()
}

/// How well paths fit a query.
struct Rank {
    matcher: Matcher,
    pattern: Pattern,
    query: String,
    buffer: Vec<char>,
}

impl Rank {
    fn new(query: &str) -> Rank {
        let query = query.trim().trim_start_matches("./");
        Rank {
            matcher: Matcher::new(Config::DEFAULT.match_paths()),
            pattern: Pattern::new(query, CaseMatching::Smart, Normalization::Smart, AtomKind::Fuzzy),
            query: query.to_lowercase(),
            buffer: Vec::new(),
        }
    }

    /// `None` when it does not fit. A fit of the name counts beside that of the path, a name or path that is the query
    /// itself above all.
    fn score(&mut self, path: &str) -> Option<u32> {
        let whole = self.pattern.score(Utf32Str::new(path, &mut self.buffer), &mut self.matcher)?;
        let name = path.rsplit('/').next().unwrap_or(path);
        let named = self.pattern.score(Utf32Str::new(name, &mut self.buffer), &mut self.matcher).unwrap_or_default();
        let lower = name.to_lowercase();
        let exact = match () {
            () if lower == self.query || path.to_lowercase() == self.query => 100_000,
            () if lower.split('.').next() == Some(&self.query) => 50_000,
            () if lower.contains(&self.query) => 10_000,
            () => 0,
        };
        Some(exact + whole + named)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_come_first() {
        fn check(query: &str, paths: &[&str], best: &[&str]) {
            let mut rank = Rank::new(query);
            let mut scored: Vec<(u32, &str)> =
                paths.iter().filter_map(|path| Some((rank.score(path)?, *path))).collect();
            scored.sort_by_key(|(score, path)| (std::cmp::Reverse(*score), *path));
            let found: Vec<&str> = scored.into_iter().map(|(_, path)| path).collect();
            assert_eq!(found, best, "{query}");
        }
        check("view.rs", &["a/review.rs", "src/view.rs", "view/rs.txt", "b/x.py"], &["src/view.rs", "a/review.rs"]);
        check(
            "view",
            &["src/viewer.rs", "src/view.rs", "view/other.rs"],
            &["src/view.rs", "src/viewer.rs", "view/other.rs"],
        );
        check("mdvw", &["src/model/view.rs", "src/vwmd.rs"], &["src/model/view.rs"]);
        check("Main", &["src/main.rs", "src/Main.java"], &["src/Main.java"]);
        check("src tools", &["src/tools.rs", "tools/src.rs", "src/a.rs"], &["src/tools.rs", "tools/src.rs"]);
    }
}
