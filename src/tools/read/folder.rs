//! The listing of a folder. Pure.

use serde_json::json;

use crate::permissions::visible;
use crate::ports::FileKind;
use crate::text::{LineBreaks, Text};
use crate::tool::{Content, Outcome};
use crate::workspace::Target;
use crate::workspace::probe::Entry;

use super::window::{Ask, Window};

/// What is in a folder, one name a line, with marks for what is no file.
pub(super) fn listing(target: &Target, entries: &[Entry], ask: Ask) -> Outcome {
    let names: Vec<String> = entries.iter().map(row).collect();
    let count = |kind: FileKind| entries.iter().filter(|entry| entry.kind == kind).count();
    let listing = Text::new(&names.join("\n"), LineBreaks::Lf);
    let window = Window::of(&listing, Ask { column: 1, ..ask });
    let name = visible(&target.shown);
    let text = if names.is_empty() {
        format!("{name} is an empty folder.")
    } else {
        format!(
            "{name} is a folder; `/` marks folders, `@` links, `|` pipes, sockets and devices. `ls` and `glob` look \
             deeper.\n{}",
            window.render_plain("entries")
        )
    };
    Outcome {
        content: vec![Content::text(text)],
        structured: Some(json!({
            "uri": target.uri,
            "entries": names.len(),
            "folders": count(FileKind::Directory),
            "files": count(FileKind::File),
            "links": count(FileKind::Link),
            "nextOffset": window.next_offset(),
        })),
        ..Outcome::default()
    }
}

fn row(entry: &Entry) -> String {
    let mark = match entry.kind {
        FileKind::Directory => "/",
        FileKind::Link => "@",
        FileKind::Other => "|",
        FileKind::File => "",
    };
    let note = if entry.unsaved { " (open and unsaved, not on the disk)" } else { "" };
    let uri = entry.uri.as_ref().map(|uri| format!(" (name it by {uri})")).unwrap_or_default();
    format!("{}{mark}{note}{uri}", visible(&entry.name))
}
