//! `edit`: replaces a text in a file, found by the cascade.

pub(super) mod compose;
pub(super) mod hunks;
pub(super) mod sequence;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::tool::{Access, Capability, Context, ErrorKind, Outcome, Plan, Tool, ToolError, Traits};
use crate::workspace::{Fate, FileChange};

use sequence::{Sequence, Step};

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
            rewrite: Arc::new(Sequence::one(&arguments.file_path, Step::from(arguments))),
            label: format!("edit {}", arguments.file_path),
            fate: Fate::Stays,
        }]))
    }

    async fn run(&self, _arguments: Arguments, _context: &Context) -> Result<Outcome, ToolError> {
        Err(ToolError::new(ErrorKind::Failed, "edit makes its change by its plan, and is never run on its own."))
    }
}

impl From<&Arguments> for Step {
    fn from(arguments: &Arguments) -> Step {
        Step { old: arguments.old_string.clone(), new: arguments.new_string.clone(), all: arguments.replace_all }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::text::{LineBreaks, Text};
    use crate::workspace::{LineSpan, Refusal, RefusalKind, Rewrite as _, Rewritten};

    fn edit(before: Option<&str>, old: &str, new: &str, all: bool) -> Result<Rewritten, Refusal> {
        let step = Step { old: old.into(), new: new.into(), all };
        Sequence::one("a.txt", step).rewrite(before.map(|text| Text::new(text, LineBreaks::Lf)).as_ref())
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
        check("ab\n", "b\n", "c", &[(span(1, 1), span(1, 1))]);
        check("ab\nc\n", "b\n", "", &[(span(1, 2), span(1, 1))]);
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
