//! `read`: shows a text as the user sees it, with line numbers; or what is in a folder.

mod window;

use std::fmt::Write as _;
use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::outputs::OutputKind;
use crate::ports::{DirEntry, FileKind};
use crate::text::Text;
use crate::tool::{Access, Capability, Content, Context, ErrorKind, Outcome, Tool, ToolError, Traits};
use crate::workspace::{Key, Source, Target, View};

use window::Window;

/// Reads a file or document, as the user sees it: with unsaved changes where it is open in the editor. Each line comes
/// as its number, a tab, and its text. Of a folder, its entries are listed.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The file or folder: an absolute path, one relative to the workspace folder, or the URI of an open document.
    #[schemars(example = "src/main.rs")]
    pub file_path: String,
    /// The first line to show; 1 is the first line of the file.
    #[serde(default = "first")]
    #[schemars(range(min = 1))]
    pub offset: usize,
    /// At most so many lines.
    #[serde(default = "window::default_limit")]
    #[schemars(range(min = 1))]
    pub limit: usize,
    /// The first character of each line to show; 1 is the first of the line. For lines too long to be shown whole.
    #[serde(default = "first")]
    #[schemars(range(min = 1))]
    pub column: usize,
}

fn first() -> usize {
    1
}

/// The tool.
pub struct Read;

#[async_trait]
impl Tool for Read {
    type Arguments = Arguments;

    const TRAITS: Traits<'static> = Traits {
        name: "read",
        title: "Read a file",
        capabilities: &[Capability::ReadsFiles],
        parallel: true,
        deferred: false,
        free_form: None,
        deadline: Duration::from_secs(30),
        aliases: &[
            ("path", "file_path"),
            ("file", "file_path"),
            ("filename", "file_path"),
            ("uri", "file_path"),
            ("start_line", "offset"),
            ("max_lines", "limit"),
            ("lines", "limit"),
        ],
        names: &["read_file", "view", "view_file", "cat", "open_file"],
    };

    fn access(&self, arguments: &Arguments) -> Access {
        Access { reads: vec![arguments.file_path.clone()], ..Access::default() }
    }

    fn validate(&self, arguments: &Arguments) -> Result<(), ToolError> {
        super::named(&arguments.file_path)
    }

    async fn run(&self, arguments: Arguments, context: &Context) -> Result<Outcome, ToolError> {
        let target = context.workspace.resolve(&arguments.file_path)?;
        if let Some(entries) = entries(context, &target).await? {
            return Ok(folder(context, &target, &entries, &arguments));
        }
        let view = context.workspace.view(&target).await?;
        let language = match &view.source {
            Source::Open { snapshot, .. } => Some(snapshot.language_id.as_str()),
            Source::Disk { .. } => None,
        };
        context.languages.look(&view.target, language, &view.text);
        Ok(file(context, &view, &arguments))
    }
}

fn file(context: &Context, view: &View, arguments: &Arguments) -> Outcome {
    let window = Window::of(&view.text, arguments.offset, arguments.limit, arguments.column, context.budget);
    let hash = view.hash();
    for lines in window.whole_lines() {
        context.session.saw_lines(&view.target.key, &hash, lines, window.total, Some(&context.call));
    }
    if window.total == 0 {
        context.session.saw(&view.target.key, &hash, Some(&context.call));
    }
    let mut text = window.render(&view.target.shown);
    if view.unsaved() {
        text.push_str("\n(unsaved: this is the editor's buffer, which differs from the file on the disk)");
    }
    if let Some(note) = &view.note {
        let _ = write!(text, "\n({note})");
    }
    Outcome {
        content: vec![Content::text(text)],
        structured: Some(json!({
            "uri": view.target.uri,
            "version": view.version(),
            "unsaved": view.unsaved(),
            "hash": hash,
            "startLine": window.first + 1,
            "shownLines": window.shown.len(),
            "totalLines": window.total,
            "nextOffset": window.next_offset(),
        })),
        kind: Some(OutputKind::Source),
        ..Outcome::default()
    }
}

/// The entries of a folder, sorted; `None` when the target is none. A document that is open and not on the disk is an
/// entry of its folder.
async fn entries(context: &Context, target: &Target) -> Result<Option<Vec<DirEntry>>, ToolError> {
    let Key::File(path) = &target.key else { return Ok(None) };
    if context.workspace.documents.get(&target.key).is_some() {
        return Ok(None);
    }
    let (disk, path) = (context.workspace.ports.disk.clone(), path.clone());
    let folder = path.clone();
    let listed = tokio::task::spawn_blocking(move || {
        let is_folder = disk.metadata(&path).is_ok_and(|found| found.kind == FileKind::Directory);
        is_folder.then(|| disk.read_dir(&path))
    });
    let failed = |what: String| ToolError::new(ErrorKind::Failed, format!("Listing {} failed: {what}.", target.shown));
    let Some(listed) = listed.await.map_err(|error| failed(error.to_string()))? else { return Ok(None) };
    let mut listed = listed.map_err(|error| failed(error.to_string()))?;
    for document in context.workspace.documents.all() {
        if let Key::File(path) = &document.key
            && path.parent() == Some(&folder)
            && let Some(name) = path.file_name().map(|name| name.to_string_lossy().into_owned())
            && !listed.iter().any(|entry| entry.name == name)
        {
            listed.push(DirEntry { name: format!("{name} (open and unsaved, not on the disk)"), kind: FileKind::File });
        }
    }
    listed.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(Some(listed))
}

fn folder(context: &Context, target: &Target, entries: &[DirEntry], arguments: &Arguments) -> Outcome {
    let names: Vec<String> = entries
        .iter()
        .map(|entry| match entry.kind {
            FileKind::Directory => format!("{}/", entry.name),
            FileKind::Link => format!("{}@", entry.name),
            FileKind::File | FileKind::Other => entry.name.clone(),
        })
        .collect();
    let listing = Text::new(&names.join("\n"), crate::text::LineBreaks::Lf);
    let window = Window::of(&listing, arguments.offset, arguments.limit, 1, context.budget);
    let text = if names.is_empty() {
        format!("{} is an empty folder.", target.shown)
    } else {
        format!("{} is a folder; `/` marks folders, `@` links.\n{}", target.shown, window.render_plain("entries"))
    };
    Outcome {
        content: vec![Content::text(text)],
        structured: Some(json!({ "uri": target.uri, "entries": names.len(), "nextOffset": window.next_offset() })),
        ..Outcome::default()
    }
}
