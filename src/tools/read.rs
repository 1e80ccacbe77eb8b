//! `read`: shows a text as the user sees it, with line numbers; a picture; or what is in a folder.

mod again;
mod folder;
mod image;
mod window;

use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::outputs::OutputKind;
use crate::permissions::visible;
use crate::tool::{Access, Capability, Content, Context, ErrorKind, Outcome, Tool, ToolError, Traits};
use crate::workspace::view::MAX_FILE_BYTES;
use crate::workspace::{Key, Probe, Source, Target, View};

use image::Kind;
use window::{Ask, Window};

/// Reads a file or document, as the user sees it: with unsaved changes where it is open in the editor. Each line comes
/// as its number, a tab, and its text. What does not fit into one answer is told, with how to go on. Of a folder, its
/// entries are listed; pictures are shown where the client can show them. Lines that were shown before and are the same
/// may be said to be unchanged instead.
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
    /// The first character of each line to show; 1 is the first of the line. For lines too long to be shown whole: with
    /// limit 1, as much of the line is shown as fits.
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
        let Arguments { offset, limit, column, .. } = arguments;
        let ask = Ask { offset, limit, column, budget: context.budget };
        match context.workspace.probe(&target).await? {
            Probe::Folder(entries) => return Ok(folder::listing(&target, &entries, ask)),
            Probe::File { len, head } => match image::kind_of(&head) {
                Some(Kind::Image { mime, size }) => return picture(context, &target, mime, size, len).await,
                Some(Kind::Pdf) => return Err(pdf(&target, len)),
                None if len > MAX_FILE_BYTES && streamable(&head) => return large(context, &target, len, ask).await,
                None => {}
            },
            Probe::Other => {}
        }
        let view = context.workspace.view(&target).await?;
        super::show(context, &view);
        Ok(file(context, &view, ask))
    }
}

/// What stands behind the lines of a text.
fn notes(view: &View) -> String {
    let mut notes = String::new();
    if let Source::Open { unsaved: true, missing, .. } = &view.source {
        notes.push_str(if *missing {
            "\n(unsaved: this is the editor's buffer, and there is no such file on the disk)"
        } else {
            "\n(unsaved: this is the editor's buffer, which differs from the file on the disk)"
        });
    }
    if let Some(note) = &view.note {
        notes.push_str("\n(");
        notes.push_str(note);
        notes.push(')');
    }
    notes
}

fn file(context: &Context, view: &View, ask: Ask) -> Outcome {
    let notes = notes(view);
    let window = Window::of(&view.text, Ask { budget: ask.budget.saturating_sub(notes.len()), ..ask });
    let hash = view.hash();
    let lines = window.render(&visible(&view.target.shown));
    let again = again::unchanged(context, view, &hash, &window, &lines);
    let mut structured = json!({
        "uri": view.target.uri,
        "version": view.version(),
        "unsaved": view.unsaved(),
        "hash": hash,
        "encoding": view.encoding(),
        "lineEnds": view.line_ends(),
        "startLine": window.first + 1,
        "shownLines": window.shown.len(),
        "totalLines": window.total,
        "nextOffset": window.next_offset(),
        "cutLines": window.cut(),
    });
    if let Some(mut again) = again {
        if let (Some(fields), Some(more)) = (structured.as_object_mut(), again.structured.take()) {
            fields.extend(more.as_object().cloned().unwrap_or_default());
        }
        if let Some(Content::Text { text }) = again.content.first_mut() {
            text.push_str(&notes);
        }
        return Outcome { structured: Some(structured), kind: Some(OutputKind::Source), ..again };
    }
    let total = window.total.unwrap_or_default();
    for lines in window.whole_lines() {
        context.session.saw_lines(&view.target.key, &hash, lines, total, Some(&context.call));
    }
    if total == 0 {
        context.session.saw(&view.target.key, &hash, Some(&context.call));
    }
    Outcome {
        content: vec![Content::text(lines + &notes)],
        structured: Some(structured),
        kind: Some(OutputKind::Source),
        ..Outcome::default()
    }
}

/// Whether lines can be found in a file by their ends alone: it is neither binary nor UTF-16.
fn streamable(head: &[u8]) -> bool {
    !head.starts_with(b"\xff\xfe") && !head.starts_with(b"\xfe\xff") && !head.contains(&0)
}

/// Some lines of a file that is too long to be read whole.
async fn large(context: &Context, target: &Target, len: u64, ask: Ask) -> Result<Outcome, ToolError> {
    let about = format!(
        "\n(the file has {len} bytes, so that only these lines were read: no hash, and it can be neither edited nor \
         written here)"
    );
    let ask = Ask { budget: ask.budget.saturating_sub(about.len() + 100), ..ask };
    let stretch = context.workspace.lines_of_large(target, ask.wanted()).await?;
    let note = stretch.note.as_ref().map(|note| format!("\n({note})")).unwrap_or_default();
    let window = Window::of_stretch(stretch, ask);
    Ok(Outcome {
        content: vec![Content::text(window.render(&visible(&target.shown)) + &about + &note)],
        structured: Some(json!({
            "uri": target.uri,
            "version": null,
            "unsaved": false,
            "bytes": len,
            "startLine": window.first + 1,
            "shownLines": window.shown.len(),
            "totalLines": window.total,
            "nextOffset": window.next_offset(),
            "cutLines": window.cut(),
        })),
        kind: Some(OutputKind::Source),
        ..Outcome::default()
    })
}

/// A picture: itself where the client shows pictures, else in words.
async fn picture(
    context: &Context,
    target: &Target,
    mime: &'static str,
    size: Option<(u32, u32)>,
    len: u64,
) -> Result<Outcome, ToolError> {
    let failed = |why: String| ToolError::new(ErrorKind::Failed, why);
    let is = format!("{} is {}", visible(&target.shown), image::told(mime, size, len));
    let shows = context.workspace.editor.abilities().images;
    if shows && len > image::MAX_IMAGE_BYTES {
        let max = image::MAX_IMAGE_BYTES;
        return Err(failed(format!(
            "{is}; more than {max} bytes cannot be shown. Make a smaller copy of it and read that."
        )));
    }
    let structured = Some(json!({
        "uri": target.uri,
        "mimeType": mime,
        "bytes": len,
        "width": size.map(|size| size.0),
        "height": size.map(|size| size.1),
        "shown": shows,
    }));
    if !shows {
        let content = vec![Content::text(format!("{is}; this client does not show images to the model."))];
        return Ok(Outcome { content, structured, ..Outcome::default() });
    }
    let Key::File(path) = target.key.clone() else { return Err(failed(format!("{is}, but no file."))) };
    let disk = context.workspace.ports.disk.clone();
    let read = tokio::task::spawn_blocking(move || disk.read(&path).map(|bytes| image::base64(&bytes))).await;
    let data = read.map_err(|error| failed(format!("{is}; {error}.")))?;
    let data = data.map_err(|error| failed(format!("{is}; it could not be read: {error}.")))?;
    let content = vec![Content::text(format!("{is}.")), Content::Image { data, mime_type: mime.to_owned() }];
    Ok(Outcome { content, structured, ..Outcome::default() })
}

fn pdf(target: &Target, len: u64) -> ToolError {
    let message = format!(
        "{} is a PDF of {len} bytes, and no text is taken out of PDFs here. Where a command may be run, `pdftotext -layout \
         FILE -` shows its text.",
        visible(&target.shown)
    );
    ToolError::new(ErrorKind::Failed, message)
}
