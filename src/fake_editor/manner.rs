//! How editors differ: what they make of a file's text, of an edit, and what they declare. Pure, one place for each
//! difference; what was observed of the real ones is behind every line of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::text::{BOM, LineBreaks, LineEnd, LineEnds};

/// Which editor is played.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Manner {
    /// VS Code with our extension: versions are checked exactly, of all documents before any of them changes; one undo step
    /// and one change a document; one kind of line end in a document.
    #[default]
    Vscode,
    /// Neovim's own client, without our plugin: only an edit that is older than the buffer is noticed, only of the first
    /// document and only above version 0; it is skipped then, and the answer is `applied: true` all the same.
    Neovim,
    /// Neovim with our plugin: versions are checked exactly, and an edit is an undo step of its own also in insert mode.
    NeovimAdapter,
    /// Emacs with eglot: a version that is not exactly that of the buffer is an error; what changed is told after the answer.
    Eglot,
}

/// All of them.
pub const MANNERS: [Manner; 4] = [Manner::Vscode, Manner::Neovim, Manner::NeovimAdapter, Manner::Eglot];

/// What an editor makes of the bytes of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Loaded {
    /// The text as it goes over the wire.
    pub(super) text: String,
    /// The line end of the document.
    pub(super) line_end: LineEnd,
    /// The file began with a byte order mark, which is no part of the text.
    pub(super) bom: bool,
    /// The last line of the text is ended by a line end.
    pub(super) ended: bool,
}

impl Manner {
    /// Its name in scripts and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Manner::Vscode => "vscode",
            Manner::Neovim => "neovim",
            Manner::NeovimAdapter => "neovim-adapter",
            Manner::Eglot => "eglot",
        }
    }

    /// The manner of this name.
    pub fn of(name: &str) -> Option<Manner> {
        MANNERS.into_iter().find(|manner| manner.name() == name)
    }

    pub(super) fn is_neovim(self) -> bool {
        matches!(self, Manner::Neovim | Manner::NeovimAdapter)
    }

    /// Whether our own methods are known, and not only the standard ones.
    pub(super) fn has_adapter(self) -> bool {
        matches!(self, Manner::Vscode | Manner::NeovimAdapter)
    }

    /// Which characters end a line. In VS Code a lone CR does, though none outlives the opening of a document.
    pub(super) fn breaks(self) -> LineBreaks {
        if self == Manner::Vscode { LineBreaks::Lsp } else { LineBreaks::Lf }
    }

    /// The version of a document that was just opened.
    pub(super) fn first_version(self) -> i32 {
        i32::from(self == Manner::Vscode)
    }

    /// What it makes of the text of a file.
    pub(super) fn load(self, text: &str) -> Loaded {
        let bom = text.starts_with(BOM);
        let text = text.strip_prefix(BOM).unwrap_or(text);
        let ends = LineEnds::of(text);
        let all_crlf = ends.crlf > 0 && ends.lf == 0;
        let line_end = match self {
            Manner::Vscode => {
                let with_cr = text.matches('\r').count();
                if with_cr * 2 > ends.lf + with_cr { LineEnd::Crlf } else { LineEnd::Lf }
            }
            Manner::Neovim | Manner::NeovimAdapter | Manner::Eglot if all_crlf => LineEnd::Crlf,
            Manner::Neovim | Manner::NeovimAdapter | Manner::Eglot => LineEnd::Lf,
        };
        let text = match self {
            Manner::Vscode => uniform(text, line_end),
            // Emacs keeps LF in its buffers and knows how the file is written.
            Manner::Eglot if all_crlf => LineEnd::Lf.apply(text),
            Manner::Neovim | Manner::NeovimAdapter | Manner::Eglot => text.to_owned(),
        };
        let ended = text.is_empty() || text.ends_with('\n');
        Loaded { text, line_end, bom, ended }
    }

    /// What becomes of a text that is put into a document with these line ends.
    pub(super) fn inserted(self, text: &str, line_end: LineEnd) -> String {
        match self {
            Manner::Vscode | Manner::Neovim | Manner::NeovimAdapter => uniform(text, line_end),
            Manner::Eglot => text.to_owned(),
        }
    }

    /// The whole text after a change: Neovim's buffers are lines, so that whether the last one is ended does not change.
    pub(super) fn settled(self, mut text: String, line_end: LineEnd, ended: bool) -> String {
        if !self.is_neovim() {
            return text;
        }
        if ended && !text.ends_with('\n') {
            text.push_str(line_end.as_str());
        } else if !ended && let Some(rest) = text.strip_suffix(line_end.as_str()) {
            text.truncate(rest.len());
        }
        text
    }

    /// What is written to the disk for a text.
    pub(super) fn saved(self, text: &str, line_end: LineEnd, bom: bool) -> String {
        let coded = self == Manner::Eglot && line_end == LineEnd::Crlf;
        let text = if coded { line_end.apply(text) } else { text.to_owned() };
        if bom { format!("{BOM}{text}") } else { text }
    }

    /// What it declares when it says hello; `abilities` go over what it has of ours.
    pub(super) fn capabilities(self, abilities: &serde_json::Map<String, Value>) -> Value {
        let encodings = match self {
            Manner::Neovim | Manner::NeovimAdapter => json!(["utf-8", "utf-16", "utf-32"]),
            Manner::Vscode | Manner::Eglot => json!(["utf-16"]),
        };
        let mut ours = serde_json::Map::new();
        if self.has_adapter() {
            for name in ["approve", "ask", "save", "format", "resync", "diagnostics", "events", "ownsCommands"] {
                ours.insert(name.to_owned(), true.into());
            }
            ours.insert("lineBreaks".into(), json!(self.breaks()));
        }
        ours.extend(abilities.clone());
        let mut workspace = json!({ "applyEdit": true, "workspaceEdit": {}, "configuration": true });
        if self != Manner::Neovim {
            workspace["workspaceEdit"] = json!({ "documentChanges": true });
        }
        let mut window = json!({ "workDoneProgress": true });
        if self != Manner::Eglot {
            window["showMessage"] = json!({ "messageActionItem": { "additionalPropertiesSupport": false } });
        }
        json!({
            "general": { "positionEncodings": encodings },
            "workspace": workspace,
            "window": window,
            "textDocument": { "synchronization": { "didSave": true } },
            "experimental": { "ropewalk": ours },
        })
    }
}

/// A text with all its line ends, lone CRs too, as this one.
fn uniform(text: &str, line_end: LineEnd) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['\r', '\n']) {
        out.push_str(&rest[..at]);
        out.push_str(line_end.as_str());
        let len = if rest[at..].starts_with("\r\n") { 2 } else { 1 };
        rest = &rest[at + len..];
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back() {
        for manner in MANNERS {
            assert_eq!(Manner::of(manner.name()), Some(manner));
            assert_eq!(json!(manner), manner.name());
        }
        assert_eq!(Manner::of("vim"), None);
    }

    #[test]
    fn what_is_made_of_a_file() {
        fn check(manner: Manner, bytes: &str, text: &str, line_end: LineEnd, saved: &str) {
            let loaded = manner.load(bytes);
            assert_eq!((loaded.text.as_str(), loaded.line_end), (text, line_end), "{manner:?} {bytes:?}");
            assert_eq!(manner.saved(&loaded.text, loaded.line_end, loaded.bom), saved, "{manner:?} {bytes:?}");
        }
        for manner in MANNERS {
            check(manner, "\u{feff}a\nb", "a\nb", LineEnd::Lf, "\u{feff}a\nb");
            check(manner, "", "", LineEnd::Lf, "");
        }
        check(Manner::Vscode, "a\r\nb\r\n", "a\r\nb\r\n", LineEnd::Crlf, "a\r\nb\r\n");
        check(Manner::Vscode, "a\r\nb\nc\r\n", "a\r\nb\r\nc\r\n", LineEnd::Crlf, "a\r\nb\r\nc\r\n");
        check(Manner::Vscode, "a\rb\nc\n", "a\nb\nc\n", LineEnd::Lf, "a\nb\nc\n");
        check(Manner::Neovim, "a\r\nb\nc\r\n", "a\r\nb\nc\r\n", LineEnd::Lf, "a\r\nb\nc\r\n");
        check(Manner::NeovimAdapter, "a\r\nb\r\n", "a\r\nb\r\n", LineEnd::Crlf, "a\r\nb\r\n");
        check(Manner::Eglot, "a\r\nb\r\n", "a\nb\n", LineEnd::Crlf, "a\r\nb\r\n");
        check(Manner::Eglot, "a\r\nb\n", "a\r\nb\n", LineEnd::Lf, "a\r\nb\n");
    }

    #[test]
    fn the_last_line_end_in_neovim_stays_as_it_was() {
        fn check(manner: Manner, ended: bool, text: &str, expected: &str) {
            assert_eq!(manner.settled(text.to_owned(), LineEnd::Lf, ended), expected, "{manner:?} {text:?}");
        }
        check(Manner::Neovim, true, "a", "a\n");
        check(Manner::Neovim, true, "a\n", "a\n");
        check(Manner::NeovimAdapter, false, "a\n", "a");
        check(Manner::NeovimAdapter, false, "a\n\n", "a\n");
        check(Manner::Vscode, true, "a", "a");
        check(Manner::Eglot, false, "a\n", "a\n");
    }
}
