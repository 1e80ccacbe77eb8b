//! Places as they are shown: one line each, in a total order, with the line of the text they are in.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::languages::ask::Seen;
use crate::languages::ask::places::Location;
use crate::permissions::{secret, visible};
use crate::text::{Encoding, LineBreaks, Text};
use crate::tool::{Content, Outcome};
use crate::workspace::Target;

use super::desk::Desk;

/// Of a line of the text at most so many characters are shown.
const LONGEST: usize = 200;

/// One place.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Row {
    /// It is outside of the folders: those come last.
    pub(super) outside: bool,
    /// The file's name.
    pub(super) shown: String,
    /// 1-based.
    pub(super) line: usize,
    /// 1-based, in characters; 0 where the text is not known.
    pub(super) column: usize,
    /// What stands before the line of the text.
    pub(super) label: String,
    /// The line of the text.
    pub(super) content: Option<String>,
    uri: String,
}

/// A file that places are in.
struct File {
    shown: String,
    outside: bool,
    text: Option<Text>,
}

/// The files that places are in, looked up once each.
pub(super) struct Files<'a> {
    desk: &'a Desk<'a>,
    known: BTreeMap<String, File>,
}

impl<'a> Files<'a> {
    pub(super) fn new(desk: &'a Desk<'a>) -> Files<'a> {
        Files { desk, known: BTreeMap::new() }
    }

    /// A place as a row. Of a file outside of the folders, or one that may hold secrets, the text is not shown: reading it
    /// is asked about.
    pub(super) async fn row(&mut self, place: &Location, seen: &Seen, label: String) -> Row {
        if !self.known.contains_key(&place.uri) {
            let file = self.file(&place.uri, seen).await;
            self.known.insert(place.uri.clone(), file);
        }
        let file = &self.known[&place.uri];
        let (line, column, content) = match &file.text {
            Some(text) => {
                let (line, column) = place_of(text, place, seen.encoding);
                (line + 1, column + 1, Some(text.line(line)))
            }
            None => (place.range.start.line as usize + 1, 0, None),
        };
        Row { outside: file.outside, shown: file.shown.clone(), line, column, label, content, uri: place.uri.clone() }
    }

    async fn file(&self, uri: &str, seen: &Seen) -> File {
        let workspace = &self.desk.context.workspace;
        let target = workspace.key_of(uri).and_then(|_| workspace.resolve(uri).ok());
        let Some(target) = target else { return File { shown: visible(uri), outside: true, text: None } };
        let outside = !inside(self.desk, &target);
        let shown = visible(&target.shown);
        if outside || target.paths.iter().any(|path| secret(path).is_some()) {
            return File { shown, outside, text: None };
        }
        let text = match seen.text(&target.key) {
            Some(text) => Some(text.clone()),
            // What the server was not told of, it reads from the disk: an unsaved buffer would be another text.
            None => workspace.view(&target).await.ok().filter(|view| !view.unsaved()).map(|view| view.text),
        };
        File { shown, outside, text: text.map(|text| text.with_breaks(workspace.documents.counting().breaks)) }
    }
}

/// Whether a file lies in the folders of the session.
fn inside(desk: &Desk<'_>, target: &Target) -> bool {
    let context = desk.context;
    let policy = context.session.policy(&context.workspace.settings(), &context.workspace.roots().folders);
    let within = |roots: &Vec<std::path::PathBuf>| {
        target.paths.iter().all(|path| roots.iter().any(|root| path.starts_with(root)))
    };
    target.inside && policy.roots.as_ref().is_none_or(within)
}

/// The 0-based line and character of a place, as the user counts.
fn place_of(text: &Text, place: &Location, encoding: Encoding) -> (usize, usize) {
    let byte = text.with_breaks(LineBreaks::Lsp).byte_of(place.range.start, encoding).0;
    let line = text.line_of(byte);
    (line, text.slice(text.line_start(line)..byte).chars().count())
}

/// Rows as an answer: each once, in order, at most `limit` of them. `what` names one of them.
pub(super) fn outcome(desk: &Desk<'_>, mut rows: Vec<Row>, what: &str, notes: &[String]) -> Outcome {
    rows.sort();
    rows.dedup();
    let (total, limit) = (rows.len(), desk.arguments.limit);
    let operation = desk.arguments.operation.name();
    let files = {
        let mut files: Vec<&str> = rows.iter().map(|row| row.shown.as_str()).collect();
        files.dedup();
        files.len()
    };
    rows.truncate(limit);
    let mut text = String::new();
    for row in &rows {
        let _ = writeln!(text, "{}", row.told());
    }
    let counted = |count: usize, what: &str| {
        if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
    };
    let _ = match total {
        0 => write!(text, "No {what} was found."),
        _ => write!(text, "({} in {}", counted(total, what), counted(files, "file")),
    };
    if total > rows.len() {
        let _ = write!(text, "; the first {} are shown, a larger `limit` shows more", rows.len());
    }
    if total > 0 {
        text.push(')');
    }
    noted(&mut text, notes);
    let data: Vec<Value> = rows.iter().map(Row::data).collect();
    Outcome {
        content: vec![Content::text(text)],
        structured: Some(json!({ "operation": operation, "results": data, "total": total, "notes": notes })),
        ..Outcome::default()
    }
}

/// Adds notes behind an answer.
pub(super) fn noted(text: &mut String, notes: &[String]) {
    for note in notes {
        let _ = write!(text, "\n({note})");
    }
}

impl Row {
    fn told(&self) -> String {
        let mut out = format!("{}:{}", self.shown, self.line);
        if self.column > 0 {
            let _ = write!(out, ":{}", self.column);
        }
        if !self.label.is_empty() {
            let _ = write!(out, " {}", self.label);
        }
        if let Some(content) = &self.content {
            let _ = write!(out, ": {}", cut(content.trim()));
        }
        if self.outside {
            out.push_str(" (outside of the workspace folders)");
        }
        out
    }

    fn data(&self) -> Value {
        let column = (self.column > 0).then_some(self.column);
        let label = Some(&self.label).filter(|label| !label.is_empty());
        json!({
            "uri": self.uri,
            "path": self.shown,
            "line": self.line,
            "column": column,
            "label": label,
            "text": self.content.as_deref().map(|content| cut(content.trim())),
            "outside": self.outside,
        })
    }
}

fn cut(line: &str) -> String {
    if line.chars().count() <= LONGEST {
        return line.to_owned();
    }
    line.chars().take(LONGEST).chain(['…']).collect()
}
