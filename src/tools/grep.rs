//! `grep`: looks for text in the files and open documents.

mod globs;
mod render;

use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::tool::{Access, Capability, Content, Context, ErrorKind, Outcome, Tool, ToolError, Traits};
use crate::workspace::search::{Besides, Case, Mode, Query, Wanted};

pub(super) use globs::Globs;
use render::{File, Report};
pub(super) use render::{counted, least, length};

/// Searches the text of files for a regular expression, line by line, in the order of paths. Open documents are searched as
/// the user sees them, unsaved changes included, whether ignored or not; of other files, those are left out that are
/// hidden, binary or ignored by git. Regular expressions are those of ripgrep: no look-around, no back-references.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is a parameter of its own")]
pub struct Arguments {
    /// What to look for.
    #[schemars(example = "fn \\w+_test")]
    pub pattern: String,
    /// Where: a folder, a file, or the URI of an open document. Absent: the workspace folders and untitled documents.
    pub path: Option<String>,
    /// Only files that one of these globs fits: `*.rs` at any depth, `src/**/*.ts` from `path`. One that begins with `!`
    /// leaves out what it fits.
    #[serde(default)]
    pub include: Globs,
    /// No files that one of these globs fits.
    #[serde(default)]
    pub exclude: Globs,
    /// Only files of this type: `rust`, `py`, `ts`, `md`.
    pub r#type: Option<String>,
    /// Whether the pattern is the text itself and no regular expression.
    #[serde(default)]
    pub literal: bool,
    /// Whether only whole words match.
    #[serde(default)]
    pub word: bool,
    /// What case means: `smart` is insensitive unless the pattern has an upper case letter.
    #[serde(default)]
    pub case: CaseArgument,
    /// The same as `case: insensitive`.
    #[serde(default)]
    pub ignore_case: bool,
    /// Whether a match may go over line ends (and `.` matches them).
    #[serde(default)]
    pub multiline: bool,
    /// So many lines before and after each match are shown too.
    #[serde(default)]
    #[schemars(range(max = 50))]
    pub context: usize,
    /// So many lines before each match.
    #[serde(default)]
    #[schemars(range(max = 50))]
    pub before: usize,
    /// So many lines after each match.
    #[serde(default)]
    #[schemars(range(max = 50))]
    pub after: usize,
    /// The matching lines, the files with a match, or how many lines match in each.
    #[serde(default)]
    pub output_mode: OutputMode,
    /// Whether lines bear their numbers.
    #[serde(default = "yes")]
    pub line_numbers: bool,
    /// At most so many matching lines of one file are shown.
    #[serde(default = "default_per_file")]
    #[schemars(range(min = 1))]
    pub max_per_file: usize,
    /// At most so many results (matching lines; files, in the other modes) are shown. The counts are of all.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 5000))]
    pub head_limit: usize,
    /// The first result to show; 1 is the first.
    #[serde(default = "first")]
    #[schemars(range(min = 1))]
    pub offset: usize,
    /// Whether hidden files (names that begin with a dot) are searched too.
    #[serde(default)]
    pub hidden: bool,
    /// Whether files that git ignores are searched too.
    #[serde(default)]
    pub ignored: bool,
}

/// What case means.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CaseArgument {
    /// Upper and lower case differ.
    #[default]
    Sensitive,
    /// They do not.
    Insensitive,
    /// They differ if the pattern has an upper case letter.
    Smart,
}

/// What is shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OutputMode {
    /// The matching lines.
    #[default]
    Content,
    /// The files with a match.
    FilesWithMatches,
    /// How many lines match, file by file.
    Count,
}

fn yes() -> bool {
    true
}

fn first() -> usize {
    1
}

fn default_limit() -> usize {
    200
}

fn default_per_file() -> usize {
    100
}

impl Arguments {
    fn query(&self) -> Query {
        Query {
            pattern: self.pattern.clone(),
            literal: self.literal,
            word: self.word,
            case: match self.case {
                _ if self.ignore_case => Case::Insensitive,
                CaseArgument::Sensitive => Case::Sensitive,
                CaseArgument::Insensitive => Case::Insensitive,
                CaseArgument::Smart => Case::Smart,
            },
            multiline: self.multiline,
            before: self.context.max(self.before),
            after: self.context.max(self.after),
            per_file: self.max_per_file,
            mode: match self.output_mode {
                OutputMode::Content => Mode::Lines,
                OutputMode::FilesWithMatches => Mode::Files,
                OutputMode::Count => Mode::Count,
            },
            skip: self.offset.saturating_sub(1),
            limit: self.head_limit,
        }
    }
}

/// The tool.
pub struct Grep;

#[async_trait]
impl Tool for Grep {
    type Arguments = Arguments;

    const TRAITS: Traits<'static> = Traits {
        name: "grep",
        title: "Search text",
        capabilities: &[Capability::ReadsFiles],
        parallel: true,
        deferred: false,
        free_form: None,
        deadline: Duration::from_mins(1),
        aliases: &[
            ("regex", "pattern"),
            ("query", "pattern"),
            ("search", "pattern"),
            ("dir", "path"),
            ("directory", "path"),
            ("cwd", "path"),
            ("file_path", "path"),
            ("glob", "include"),
            ("globs", "include"),
            ("file_pattern", "include"),
            ("-t", "type"),
            ("file_type", "type"),
            ("fixed_strings", "literal"),
            ("-F", "literal"),
            ("-w", "word"),
            ("-i", "ignore_case"),
            ("case_insensitive", "ignore_case"),
            ("-U", "multiline"),
            ("-n", "line_numbers"),
            ("-C", "context"),
            ("context_lines", "context"),
            ("-B", "before"),
            ("before_context", "before"),
            ("-A", "after"),
            ("after_context", "after"),
            ("mode", "output_mode"),
            ("-m", "max_per_file"),
            ("max_count", "max_per_file"),
            ("limit", "head_limit"),
            ("max_results", "head_limit"),
            ("no_ignore", "ignored"),
        ],
        names: &["grep_files", "search_files", "ripgrep", "rg", "search_text", "search"],
    };

    fn access(&self, arguments: &Arguments) -> Access {
        Access { reads: super::searched(arguments.path.as_deref()), ..Access::default() }
    }

    fn validate(&self, arguments: &Arguments) -> Result<(), ToolError> {
        if arguments.pattern.is_empty() {
            let message = "`pattern` is empty; give a regular expression, for example \"fn main\".";
            return Err(ToolError::new(ErrorKind::InvalidArguments, message));
        }
        arguments.query().matcher().map(drop).map_err(ToolError::from)
    }

    async fn run(&self, arguments: Arguments, context: &Context) -> Result<Outcome, ToolError> {
        let query = arguments.query();
        let matcher = query.matcher()?;
        let wanted = Wanted {
            include: arguments.include.0.clone(),
            exclude: arguments.exclude.0.clone(),
            kind: arguments.r#type.clone(),
            any_case: false,
        };
        let besides = Besides { hidden: arguments.hidden, ignored: arguments.ignored };
        let job = super::job(context, arguments.path.clone(), wanted, besides).await?;
        let budget = context.budget;
        let rendered = super::go(job, context, move |job| {
            let mut found = job.grep(&query, &matcher);
            found.locate(&matcher);
            let file = |part: &crate::workspace::search::Part| {
                let place = &part.hits.place;
                File { shown: job.shown(place), uri: job.uri(place), unsaved: job.unsaved(place) }
            };
            let files: Vec<File> = found.parts.iter().map(file).collect();
            let report = Report {
                files: &files,
                mode: query.mode,
                skip: query.skip,
                numbers: arguments.line_numbers,
                pattern: &query.pattern,
                place: &job.scope.shown,
                single: job.scope.single.is_some(),
                words: job.words(&found.faults, found.faulty, found.ended),
                found: &found,
            };
            report.render(budget)
        });
        let rendered = rendered.await?;
        Ok(Outcome {
            content: vec![Content::text(rendered.text)],
            structured: Some(rendered.data),
            ..Outcome::default()
        })
    }
}
