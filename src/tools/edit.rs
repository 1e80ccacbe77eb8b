//! `edit`: replaces a text in a file, found by the cascade.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::replace::{self, Found, Miss, MissKind, Request};
use crate::text::{LineBreaks, Splice, Text};
use crate::tool::{Access, Capability, Context, ErrorKind, Outcome, Plan, Tool, ToolError, Traits};
use crate::workspace::{FileChange, Hunk, LineSpan, Refusal, RefusalKind, Rewrite, Rewritten};

/// Replaces a text in a file, in the editor's unsaved buffer where the file is open. `old_string` must be in the file
/// once: include enough lines around the change to make it so, or set `replace_all`. Differences in indentation and in
/// white space at the ends of lines are forgiven, and the result keeps the file's own. Only what differs between
/// `old_string` and `new_string` is changed. An empty `old_string` makes a new file, or fills an empty one.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The file: an absolute path, one relative to the workspace folder, or the URI of an open document.
    #[schemars(example = "src/main.rs")]
    pub file_path: String,
    /// The text to replace, as it is in the file, without line numbers.
    #[schemars(example = "fn main() {}")]
    pub old_string: String,
    /// What to put in its place. Must differ from `old_string`.
    #[schemars(example = "fn main() { run() }")]
    pub new_string: String,
    /// Whether to replace every place that fits, not just one.
    #[serde(default)]
    pub replace_all: bool,
}

/// The tool.
pub struct Edit;

#[async_trait]
impl Tool for Edit {
    type Arguments = Arguments;

    const TRAITS: Traits<'static> = Traits {
        name: "edit",
        title: "Edit a file",
        capabilities: &[Capability::ReadsFiles, Capability::WritesFiles],
        parallel: false,
        deferred: false,
        free_form: None,
        deadline: Duration::from_mins(1),
        aliases: &[
            ("filePath", "file_path"),
            ("path", "file_path"),
            ("file", "file_path"),
            ("filename", "file_path"),
            ("uri", "file_path"),
            ("oldString", "old_string"),
            ("search", "old_string"),
            ("newString", "new_string"),
            ("replace", "new_string"),
            ("replaceAll", "replace_all"),
        ],
        names: &["edit_file", "str_replace"],
    };

    fn access(&self, arguments: &Arguments) -> Access {
        let file = vec![arguments.file_path.clone()];
        Access { reads: file.clone(), writes: file, ..Access::default() }
    }

    fn validate(&self, arguments: &Arguments) -> Result<(), ToolError> {
        super::named(&arguments.file_path)
    }

    async fn plan(&self, arguments: &Arguments, context: &Context) -> Result<Plan, ToolError> {
        let target = context.workspace.resolve(&arguments.file_path)?;
        Ok(Plan::Change(vec![FileChange {
            target,
            rewrite: Arc::new(Replacement::from(arguments)),
            label: format!("edit {}", arguments.file_path),
        }]))
    }

    async fn run(&self, _arguments: Arguments, _context: &Context) -> Result<Outcome, ToolError> {
        Err(ToolError::new(ErrorKind::Failed, "edit makes its change by its plan, and is never run on its own."))
    }
}

/// The change that an edit asks for, whatever the text is by then.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Replacement {
    path: String,
    old: String,
    new: String,
    all: bool,
}

impl From<&Arguments> for Replacement {
    fn from(arguments: &Arguments) -> Replacement {
        Replacement {
            path: arguments.file_path.clone(),
            old: arguments.old_string.clone(),
            new: arguments.new_string.clone(),
            all: arguments.replace_all,
        }
    }
}

impl Rewrite for Replacement {
    fn rewrite(&self, before: Option<&Text>) -> Result<Rewritten, Refusal> {
        let Some(before) = before else { return self.create() };
        let request = Request { old: &self.old, new: &self.new, all: self.all };
        let found = replace::find_in(before, &request).map_err(|miss| self.refuse(&miss))?;
        Ok(Rewritten { hunks: hunks(before, &found), notes: self.notes(&found), splices: found.splices })
    }
}

impl Replacement {
    /// A file that does not exist yet is as empty as an empty one.
    fn create(&self) -> Result<Rewritten, Refusal> {
        if !self.old.is_empty() {
            return Err(Refusal::new(
                RefusalKind::NotFound,
                format!(
                    "There is no file {}, so old_string cannot be in it. Check the path; to make a new file, send an \
                     empty old_string or use the write tool.",
                    self.path
                ),
            ));
        }
        let request = Request { old: "", new: &self.new, all: self.all };
        let empty = Text::new("", LineBreaks::Lf);
        let found = replace::find_in(&empty, &request).map_err(|miss| self.refuse(&miss))?;
        Ok(Rewritten { hunks: hunks(&empty, &found), notes: vec![], splices: found.splices })
    }

    fn refuse(&self, miss: &Miss) -> Refusal {
        let kind = match miss.kind {
            MissKind::Identical | MissKind::EmptyOld | MissKind::Elision => RefusalKind::InvalidArguments,
            MissKind::NotFound => RefusalKind::NotFound,
            MissKind::Ambiguous => RefusalKind::Ambiguous,
            MissKind::Conflict => RefusalKind::Conflict,
        };
        Refusal {
            kind,
            message: format!("{}: {}", self.path, miss.explanation),
            data: (!miss.lines.is_empty()).then(|| json!({ "lines": miss.lines })),
        }
    }

    fn notes(&self, found: &Found) -> Vec<String> {
        let mut notes = Vec::new();
        if self.all {
            let count = found.splices.len();
            notes.push(format!("Replaced {count} place{}.", if count == 1 { "" } else { "s" }));
        }
        if found.strategy != "simple" {
            notes.push(format!(
                "old_string was not there exactly; it was found by {} ({:.0} % alike, white space aside), and only \
                 what new_string changes of it was changed.",
                found.strategy,
                (found.similarity * 100.0).floor()
            ));
        }
        if found.near > 0 {
            let (places, they) = if found.near == 1 { ("place", "differs") } else { ("places", "differ") };
            notes.push(format!(
                "{} more {places} {they} from old_string in white space or the like and stayed as before.",
                found.near
            ));
        }
        notes
    }
}

/// Where the splices are, in lines before and after. Lines end at LF here, whatever the editor counts.
pub(super) fn hunks(before: &Text, found: &Found) -> Vec<Hunk> {
    let mut shift = 0isize;
    found
        .splices
        .iter()
        .map(|splice| {
            let start = before.rope().byte_to_line(splice.range.start) + 1;
            let (old, new) = extents(before, splice);
            let moved = start.saturating_add_signed(shift);
            shift += new.cast_signed() - old.cast_signed();
            Hunk {
                strategy: found.strategy.to_owned(),
                similarity: found.similarity,
                before: LineSpan { start, count: old },
                after: LineSpan { start: moved, count: new },
            }
        })
        .collect()
}

/// How many lines a splice touches, before and after it. One of whole lines touches those; one that begins or ends
/// inside a line touches that line too.
fn extents(before: &Text, splice: &Splice) -> (usize, usize) {
    let rope = before.rope();
    let (start, end) = (splice.range.start, splice.range.end);
    // Whether a line ends just before an offset.
    let ended = |byte: usize| byte > 0 && rope.byte(byte - 1) == b'\n';
    let (old_ended, new_ended) = (start == end || ended(end), splice.text.is_empty() || splice.text.ends_with('\n'));
    let whole = (start == 0 || ended(start)) && (end == before.len() || (old_ended && new_ended));
    let count = |ends: usize, ended: bool| ends + usize::from(!whole || !ended);
    let old = rope.byte_to_line(end) - rope.byte_to_line(start);
    let new = memchr::memchr_iter(b'\n', splice.text.as_bytes()).count();
    (count(old, old_ended), count(new, new_ended))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(before: Option<&str>, old: &str, new: &str, all: bool) -> Result<Rewritten, Refusal> {
        let replacement = Replacement { path: "a.txt".into(), old: old.into(), new: new.into(), all };
        replacement.rewrite(before.map(|text| Text::new(text, LineBreaks::Lf)).as_ref())
    }

    fn span(start: usize, count: usize) -> LineSpan {
        LineSpan { start, count }
    }

    #[test]
    fn the_lines_of_each_hunk() {
        fn check(before: &str, old: &str, new: &str, expected: &[(LineSpan, LineSpan)]) {
            let done = edit(Some(before), old, new, true).unwrap();
            let found: Vec<_> = done.hunks.iter().map(|hunk| (hunk.before, hunk.after)).collect();
            assert_eq!(found, expected, "{before:?} {old:?} {new:?}");
        }
        check("a\nb\nc\n", "b", "B", &[(span(2, 1), span(2, 1))]);
        check("a\nb\nc\n", "b\n", "x\ny\n", &[(span(2, 1), span(2, 2))]);
        check("a\nb\nc\n", "b\n", "", &[(span(2, 1), span(2, 0))]);
        check("a\nb\nc", "c", "c\nd", &[(span(3, 1), span(3, 2))]);
        check("x\na\nx\n", "x", "y\nz", &[(span(1, 1), span(1, 2)), (span(3, 1), span(4, 2))]);
        check("foo(a, b)\n", "a,", "a,\n   ", &[(span(1, 1), span(1, 2))]);
        check("", "", "a\nb\n", &[(span(1, 0), span(1, 2))]);
    }

    #[test]
    fn an_inexact_edit_tells_how_it_was_found() {
        let done = edit(Some("    a = 1\n    b = 2\n"), "a = 1\nb = 2\n", "a = 1\nb = 3\n", false).unwrap();
        assert_eq!(done.hunks[0].strategy, "indentationFlexible");
        assert_eq!(done.splices[0].text, "    a = 1\n    b = 3\n");
        assert!(done.notes[0].contains("indentationFlexible"), "{:?}", done.notes);
    }

    #[test]
    fn near_variants_that_stayed_are_told() {
        let done = edit(Some("x = 1;\n x = 1; \nx = 1;\n"), "\nx = 1;\n", "\ny;\n", true).unwrap();
        assert_eq!(done.splices.len(), 1);
        assert_eq!(done.notes[0], "Replaced 1 place.");
    }

    #[test]
    fn each_miss_is_a_refusal_of_its_kind() {
        fn check(before: Option<&str>, old: &str, new: &str, kind: RefusalKind, says: &str) {
            let refusal = edit(before, old, new, false).unwrap_err();
            assert_eq!(refusal.kind, kind, "{refusal:?}");
            assert!(refusal.message.contains(says), "{refusal:?}");
            assert!(refusal.message.contains("a.txt"), "{refusal:?}");
        }
        check(Some("a\n"), "a", "a", RefusalKind::InvalidArguments, "the same");
        check(Some("a\n"), "", "b", RefusalKind::InvalidArguments, "write tool");
        check(Some("a\n"), "a", "// ... rest unchanged", RefusalKind::InvalidArguments, "leaves something out");
        check(Some("a b\nc\n"), "quite another thing", "b", RefusalKind::NotFound, "Read the file");
        check(Some("a\na\n"), "a", "b", RefusalKind::Ambiguous, "2 places");
        check(None, "a", "b", RefusalKind::NotFound, "no file");
    }

    #[test]
    fn an_empty_old_makes_or_fills_a_file() {
        for before in [None, Some(""), Some("\u{feff}")] {
            let done = edit(before, "", "hello\r\n", false).unwrap();
            let mut text = before.unwrap_or_default().to_owned();
            text.replace_range(done.splices[0].range.clone(), &done.splices[0].text);
            assert_eq!(text, format!("{}hello\r\n", before.unwrap_or_default()), "{before:?}");
        }
        assert_eq!(edit(None, "", "", false).unwrap_err().kind, RefusalKind::InvalidArguments);
    }

    #[test]
    fn ambiguity_carries_its_lines() {
        let refusal = edit(Some("a\nb\na\n"), "a", "x", false).unwrap_err();
        assert_eq!(refusal.data, Some(json!({ "lines": [1, 3] })));
    }
}
