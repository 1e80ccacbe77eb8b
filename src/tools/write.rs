//! `write`: makes a file, or gives an existing one a new content.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::config::Freshness;
use crate::editor::Origin;
use crate::text::{self, BOM, LineEnd, LineEnds, Splice, Text, diff};
use crate::tool::{Access, Capability, Content, Context, ErrorKind, Outcome, Plan, Tool, ToolError, Traits};
use crate::workspace::commit::Rewrite;
use crate::workspace::{Fate, FileChange, Hunk, LineSpan, Refusal, RefusalKind, Rewritten, Target, View};

/// Writes a file: makes a new one, with the folders it needs, or replaces the whole content of an existing one. Where
/// the file is open in the editor its unsaved buffer is changed. An existing file must have been read before, as it is
/// now; to change a part of a file use `edit`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The file: an absolute path, one relative to the workspace folder, or the URI of an open document.
    #[schemars(example = "src/main.rs")]
    pub file_path: String,
    /// The whole new content. An existing file keeps its line ends, encoding and byte order mark; a new one gets the line
    /// ends that are in here. Empty content makes an empty file.
    #[schemars(example = "fn main() {}\n")]
    pub content: String,
}

/// The tool.
pub struct Write;

#[async_trait]
impl Tool for Write {
    type Arguments = Arguments;

    const TRAITS: Traits<'static> = Traits {
        name: "write",
        title: "Write a file",
        capabilities: &[Capability::ReadsFiles, Capability::WritesFiles],
        parallel: false,
        deferred: false,
        free_form: None,
        deadline: Duration::from_mins(1),
        aliases: &[
            ("path", "file_path"),
            ("file", "file_path"),
            ("filename", "file_path"),
            ("uri", "file_path"),
            ("text", "content"),
            ("contents", "content"),
            ("file_text", "content"),
        ],
        names: &["write_file", "create_file", "save_file"],
    };

    fn access(&self, arguments: &Arguments) -> Access {
        // The answer shows what was there before, as a diff: it is read too.
        let file = vec![arguments.file_path.clone()];
        Access { reads: file.clone(), writes: file, ..Access::default() }
    }

    fn validate(&self, arguments: &Arguments) -> Result<(), ToolError> {
        super::named(&arguments.file_path)
    }

    async fn plan(&self, arguments: &Arguments, context: &Context) -> Result<Plan, ToolError> {
        let target = context.workspace.resolve(&arguments.file_path)?;
        Ok(whole(context, target, &arguments.content).await?.map_or(Plan::Run, |change| Plan::Change(vec![change])))
    }

    async fn run(&self, arguments: Arguments, context: &Context) -> Result<Outcome, ToolError> {
        let target = context.workspace.resolve(&arguments.file_path)?;
        let hash = text::hash(&arguments.content);
        // The model wrote this very text, so it knows it.
        if let Some(view) = existing(context, &target).await? {
            context.session.saw(&target.key, &view.hash(), Some(&context.call));
        }
        Ok(Outcome {
            content: vec![Content::text(format!(
                "{} has exactly this content already; nothing was done.",
                target.shown
            ))],
            structured: Some(json!({ "uri": target.uri, "changed": false, "hash": hash })),
            ..Outcome::default()
        })
    }
}

/// The change that gives a file a whole new content, as far as the session knows what would be overwritten; `None` where
/// the file has just that content.
pub(super) async fn whole(context: &Context, target: Target, content: &str) -> Result<Option<FileChange>, ToolError> {
    let Some(view) = existing(context, &target).await? else {
        return Ok(Some(change(target, Replacement::new(content, Expected::Absent, Vec::new()))));
    };
    if content_for(&view.text, content) == view.text.to_string() {
        return Ok(None);
    }
    let (expected, notes) = known(context, &view, &Fate::Stays)?;
    Ok(Some(change(target, Replacement::new(content, expected, notes))))
}

/// What a text must be so that it may be overwritten, and what is to be told of that; the refusal where the session does
/// not know it.
fn known(context: &Context, view: &View, fate: &Fate) -> Result<(Expected, Vec<String>), ToolError> {
    let hash = view.hash();
    let stale = stale(context, view, &hash);
    Ok(match (context.workspace.settings().freshness, stale) {
        (Freshness::Refuse, Some(stale)) => return Err(stale.refusal(view, &hash, fate)),
        (Freshness::Refuse, None) => (Expected::Hash(hash), Vec::new()),
        (Freshness::Warn, Some(stale)) => {
            (Expected::Anything, vec![format!("it was written although {}", stale.why())])
        }
        (Freshness::Warn, None) | (Freshness::Off, _) => (Expected::Anything, Vec::new()),
    })
}

/// A change that may only be made where the text that is lost by it is one that the session knows, also by the time at
/// which it is made; the refusal where the session does not know it now.
pub(super) fn guarded(context: &Context, view: &View, change: FileChange) -> Result<FileChange, ToolError> {
    let (expected, _) = known(context, view, &change.fate)?;
    let rewrite = Arc::new(Guarded { expected, then: Arc::clone(&change.rewrite) });
    Ok(FileChange { rewrite, ..change })
}

/// A content for what an earlier part of the same call makes of a file, whatever that is; `there`: it leaves a file.
pub(super) fn after_all(target: Target, content: &str, there: bool) -> FileChange {
    let expected = if there { Expected::Anything } else { Expected::Absent };
    change(target, Replacement::new(content, expected, Vec::new()))
}

fn change(target: Target, content: Replacement) -> FileChange {
    let label = format!("write {}", target.shown);
    FileChange { target, rewrite: Arc::new(content), label, fate: Fate::Stays }
}

/// What is there now; `None` when there is nothing.
pub(super) async fn existing(context: &Context, target: &Target) -> Result<Option<View>, ToolError> {
    match context.workspace.view(target).await {
        Ok(view) => Ok(Some(view)),
        Err(refusal) if refusal.kind == RefusalKind::NotFound => Ok(None),
        Err(refusal) => Err(refusal.into()),
    }
}

/// Why the model does not know the text that it would overwrite.
enum Stale {
    /// It read nothing of it.
    NeverRead,
    /// It read an older text.
    Changed,
    /// It read some lines of it; these (0-based) it did not.
    Partly(Vec<Range<usize>>),
}

/// `None` when the model knows the text. An empty text is known.
fn stale(context: &Context, view: &View, hash: &str) -> Option<Stale> {
    let (session, key) = (&context.session, &view.target.key);
    if view.text.is_empty() {
        return None;
    }
    match session.seen(key) {
        None => Some(Stale::NeverRead),
        Some(seen) if seen != hash => Some(Stale::Changed),
        Some(_) => Some(session.unseen(key)).filter(|unseen| !unseen.is_empty()).map(Stale::Partly),
    }
}

impl Stale {
    fn why(&self) -> String {
        match self {
            Stale::NeverRead => "it was there already and was not read in this session".to_owned(),
            Stale::Changed => "it had changed since it was last read in this session".to_owned(),
            Stale::Partly(unseen) => {
                let lines: Vec<String> =
                    unseen.iter().take(5).map(|gap| format!("{}-{}", gap.start + 1, gap.end)).collect();
                format!("only a part of it was read in this session, and lines {} were not", lines.join(", "))
            }
        }
    }

    fn refusal(&self, view: &View, hash: &str, fate: &Fate) -> ToolError {
        let (shown, why) = (&view.target.shown, self.why());
        let (done, then) = match fate {
            Fate::Deleted => ("deleted", "delete it"),
            Fate::Stays | Fate::Moved { .. } => ("written", "write it; or change a part of it with `edit`"),
        };
        let message = format!(
            "{shown} was not {done}, because {why}: what is there would be lost unseen. Read it (all of it), then {then}."
        );
        let mut error = ToolError::new(ErrorKind::Stale, message);
        error.data = Some(json!({ "uri": view.target.uri, "hash": hash }));
        error
    }
}

/// What the text must be when the content gets in.
enum Expected {
    /// There must be no file.
    Absent,
    /// The text with this hash.
    Hash(String),
    /// Whatever it is.
    Anything,
}

impl Expected {
    /// Refuses any other text.
    fn check(&self, before: Option<&Text>) -> Result<(), Refusal> {
        let fresh = match (self, before) {
            (Expected::Anything, _) | (Expected::Absent, None) => true,
            (Expected::Absent, Some(before)) => before.is_empty(),
            (Expected::Hash(_), None) => false,
            (Expected::Hash(hash), Some(before)) => text::hash(&before.to_string()) == *hash,
        };
        if fresh {
            return Ok(());
        }
        Err(Refusal::new(
            RefusalKind::Stale,
            "The text changed at the very moment it was to be lost, and was left as it is. Read it again, then do this \
             again.",
        ))
    }
}

/// A change that is made of an expected text only.
struct Guarded {
    expected: Expected,
    then: Arc<dyn Rewrite>,
}

impl Rewrite for Guarded {
    fn executable(&self) -> Option<bool> {
        self.then.executable()
    }

    fn rewrite(&self, before: Option<&Text>) -> Result<Rewritten, Refusal> {
        self.expected.check(before)?;
        self.then.rewrite(before)
    }

    fn origin(&self) -> Origin {
        self.then.origin()
    }
}

/// A whole content as a change of whatever is there.
struct Replacement {
    content: String,
    expected: Expected,
    notes: Vec<String>,
}

impl Replacement {
    fn new(content: &str, expected: Expected, notes: Vec<String>) -> Replacement {
        Replacement { content: content.to_owned(), expected, notes }
    }
}

impl Rewrite for Replacement {
    fn rewrite(&self, before: Option<&Text>) -> Result<Rewritten, Refusal> {
        self.expected.check(before)?;
        let old = before.map(Text::to_string).unwrap_or_default();
        let new = before.map_or_else(|| self.content.clone(), |before| content_for(before, &self.content));
        let mut splices = diff::splices(&old, &new);
        if before.is_none() && splices.is_empty() {
            splices.push(Splice { range: 0..0, text: String::new() });
        }
        let mut notes = self.notes.clone();
        if before.is_some_and(|before| before.line_ends().mixed()) && !LineEnds::of(&new).mixed() {
            notes.push("the file's line ends were mixed, and are all of one kind now".to_owned());
        } else if new.len() > self.content.len() && new.contains("\r\n") && !self.content.contains("\r\n") {
            notes.push("the file's CRLF line ends were kept".to_owned());
        }
        Ok(Rewritten { hunks: hunk(&old, &new, &splices).into_iter().collect(), splices, notes })
    }
}

/// The content as this text would hold it: with its byte order mark, and its line ends where the content has but LF.
fn content_for(before: &Text, content: &str) -> String {
    let mut out = String::new();
    let content = content.strip_prefix(BOM).unwrap_or(content);
    if before.rope().chars().next() == Some(BOM) {
        out.push(BOM);
    }
    if before.line_ends().prevailing() == LineEnd::Crlf && !content.contains("\r\n") {
        out.push_str(&LineEnd::Crlf.apply(content));
    } else {
        out.push_str(content);
    }
    out
}

/// All changed lines as one place.
pub(super) fn hunk(old: &str, new: &str, splices: &[Splice]) -> Option<Hunk> {
    let (first, last) = (splices.first()?, splices.last()?);
    let grown: usize = splices.iter().map(|splice| splice.text.len()).sum();
    let gone: usize = splices.iter().map(|splice| splice.range.len()).sum();
    let end = last.range.end + grown - gone;
    Some(Hunk {
        strategy: "write".to_owned(),
        similarity: 1.0,
        before: span(old, first.range.start, last.range.end),
        after: span(new, first.range.start, end),
    })
}

/// The lines that the bytes from `start` to `end` touch.
fn span(text: &str, start: usize, end: usize) -> LineSpan {
    let line = |at: usize| text.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count() + 1;
    let first = line(start);
    if start == end && (start == text.len() || text.is_empty()) {
        return LineSpan { start: first, count: 0 };
    }
    let ends_a_line = end > start && text.as_bytes().get(end - 1) == Some(&b'\n');
    LineSpan { start: first, count: line(end) - usize::from(ends_a_line) + 1 - first }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::LineBreaks;
    use proptest::prelude::*;

    fn text(text: &str) -> Text {
        Text::new(text, LineBreaks::Lf)
    }

    fn rewritten(before: Option<&str>, content: &str) -> Rewritten {
        let content = Replacement { content: content.to_owned(), expected: Expected::Anything, notes: vec![] };
        content.rewrite(before.map(text).as_ref()).unwrap()
    }

    #[test]
    fn the_texts_own_mark_and_line_ends_are_kept() {
        for (before, content, after) in [
            ("a\r\nb\r\n", "a\nc\n", "a\r\nc\r\n"),
            ("a\r\nb\r\n", "a\r\nc\n", "a\r\nc\n"),
            ("a\nb\n", "a\r\nc\r\n", "a\r\nc\r\n"),
            ("\u{feff}a\n", "b\n", "\u{feff}b\n"),
            ("\u{feff}a\n", "\u{feff}b\n", "\u{feff}b\n"),
            ("a\n", "", ""),
            ("", "a\n", "a\n"),
        ] {
            let change = rewritten(Some(before), content);
            assert_eq!(text(before).spliced(&change.splices).to_string(), after, "{before:?} {content:?}");
        }
    }

    #[test]
    fn what_becomes_of_line_ends_is_told() {
        for (before, content, note) in [
            ("a\r\nb\r\nc\n", "a\nd\n", Some("mixed")),
            ("a\nb\nc\r\n", "a\nd\n", Some("mixed")),
            ("a\nb\r\n", "a\nd\r\n", None),
            ("a\r\nb\r\n", "a\nd\n", Some("CRLF")),
            ("a\nb\n", "a\nd\n", None),
        ] {
            let notes = rewritten(Some(before), content).notes.join("; ");
            assert_eq!(notes.is_empty(), note.is_none(), "{before:?} {notes}");
            assert!(note.is_none_or(|note| notes.contains(note)), "{before:?} {notes}");
        }
    }

    #[test]
    fn only_what_differs_moves() {
        let change = rewritten(Some("a\nb\nc\nd\n"), "a\nB\nc\nd\ne\n");
        assert_eq!(change.splices.len(), 2);
        let spans = |hunk: &Hunk| (hunk.before.start, hunk.before.count, hunk.after.start, hunk.after.count);
        assert_eq!(change.hunks.iter().map(spans).collect::<Vec<_>>(), [(2, 3, 2, 4)]);
        let new = rewritten(None, "a\nb\n");
        assert_eq!(new.hunks.iter().map(spans).collect::<Vec<_>>(), [(1, 0, 1, 2)]);
        let empty = rewritten(None, "");
        assert_eq!(empty.splices, [Splice { range: 0..0, text: String::new() }]);
    }

    #[test]
    fn a_text_that_moved_on_is_left_alone() {
        let hash = text::hash("a\n");
        for (expected, before, fits) in [
            (Expected::Hash(hash.clone()), Some("a\n"), true),
            (Expected::Hash(hash.clone()), Some("\u{feff}a\n"), true),
            (Expected::Hash(hash.clone()), Some("b\n"), false),
            (Expected::Hash(hash), None, false),
            (Expected::Absent, None, true),
            (Expected::Absent, Some(""), true),
            (Expected::Absent, Some("a"), false),
            (Expected::Anything, Some("a"), true),
        ] {
            let content = Replacement { content: "new".to_owned(), expected, notes: vec![] };
            let result = content.rewrite(before.map(text).as_ref());
            assert_eq!(result.as_ref().err().map(|refusal| refusal.kind), (!fits).then_some(RefusalKind::Stale));
        }
    }

    proptest! {
        #[test]
        fn the_content_is_what_is_there_afterwards(old in "[ab\né]{0,20}", new in "[ab\né]{0,20}") {
            let change = rewritten(Some(&old), &new);
            prop_assert_eq!(text(&old).spliced(&change.splices).to_string(), new.as_str());
            prop_assert_eq!(change.hunks.is_empty(), old == new);
            for hunk in &change.hunks {
                prop_assert!(hunk.before.start >= 1 && hunk.before.start + hunk.before.count <= old.lines().count() + 2);
                prop_assert!(hunk.after.start >= 1 && hunk.after.start + hunk.after.count <= new.lines().count() + 2);
            }
        }
    }
}
