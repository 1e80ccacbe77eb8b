//! What the editor shows, as MCP's resources: what the user looks at, and the open documents with their text, saved or not.
//! A text is shown only where `read` would show it without asking.

use std::sync::Arc;

use rmcp::model::{ErrorData, ReadResourceResult, Resource, ResourceContents};
use serde_json::{Value, json};

use crate::dispatch::CallParams;
use crate::dispatch::call::DecisionKind;
use crate::server::Rooms;
use crate::server::protocol::DidChangeContextParams;
use crate::text::{Encoding, Range, Text};
use crate::workspace::documents::Snapshot;

use super::words::word;

/// What is selected.
pub(super) const SELECTION: &str = "ropewalk://context/selection";

/// Which documents have a window.
pub(super) const EDITORS: &str = "ropewalk://context/editors";

/// A document longer than this is read in parts, by `read` (bytes).
const LONGEST_TEXT: usize = 4 << 20;

/// So much of one selection is told (bytes).
const LONGEST_SELECTION: usize = 64 << 10;

/// At most so many selections are told.
const MOST_SELECTIONS: usize = 100;

const JSON: &str = "application/json";

/// What one session may see of what the editor shows.
pub(super) struct Shown {
    /// The rooms.
    pub rooms: Rooms,
    /// The session.
    pub session: String,
}

fn not_found(uri: &str) -> ErrorData {
    let uri = word(uri);
    let why = format!("`{uri}` is no document that is open in the editor; other files are read by the tool `read`.");
    ErrorData::resource_not_found(why, Some(json!({ "uri": uri })))
}

fn contents(uri: &str, kind: &str, text: String) -> ReadResourceResult {
    ReadResourceResult::new(vec![ResourceContents::text(text, uri).with_mime_type(kind)])
}

impl Shown {
    /// All there is: what the user looks at, then the open documents by their URIs.
    pub(super) fn list(&self) -> Vec<Resource> {
        let mut all = vec![
            Resource::new(SELECTION, "selection")
                .with_title("Selection")
                .with_description("What is selected in the editor, and which lines are on the screen")
                .with_mime_type(JSON),
            Resource::new(EDITORS, "editors")
                .with_title("Open editors")
                .with_description("Which documents have a window in the editor, and which one has the focus")
                .with_mime_type(JSON),
        ];
        let mut open = self.rooms.workspace.documents.all();
        open.sort_by(|a, b| a.uri.cmp(&b.uri));
        all.extend(open.iter().map(|document| {
            let name = document.uri.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or(&document.uri);
            Resource::new(&document.uri, name)
                .with_description("Open in the editor: its text as it is there, saved or not")
                .with_mime_type("text/plain")
                .with_size(document.text.len() as u64)
        }));
        all
    }

    /// The name under which changes of a resource are told.
    pub(super) fn named(&self, uri: &str) -> Result<String, ErrorData> {
        if uri == SELECTION || uri == EDITORS {
            return Ok(uri.to_owned());
        }
        Ok(self.open(uri).ok_or_else(|| not_found(uri))?.uri)
    }

    /// Reads a resource.
    pub(super) async fn read(&self, uri: &str) -> Result<ReadResourceResult, ErrorData> {
        let context = self.rooms.context.now();
        match uri {
            SELECTION => Ok(contents(uri, JSON, self.selection(&context).await.to_string())),
            EDITORS => {
                let mut open: Vec<String> =
                    self.rooms.workspace.documents.all().into_iter().map(|document| document.uri).collect();
                open.sort();
                let told = json!({ "focused": context.uri, "editors": context.open_editors, "documents": open });
                Ok(contents(uri, JSON, told.to_string()))
            }
            _ => self.document(uri).await,
        }
    }

    async fn document(&self, uri: &str) -> Result<ReadResourceResult, ErrorData> {
        let document = self.open(uri).ok_or_else(|| not_found(uri))?;
        if let Err(why) = self.may_read(&document.uri).await {
            let why = format!("{why} The tool `read` asks the person.");
            return Err(ErrorData::invalid_request(why, None));
        }
        // With what the session proposes, as its other calls see it.
        let seen = Arc::clone(&self.rooms.calls).seen_by(self.session.clone()).await;
        let workspace = seen.unwrap_or_else(|| Arc::clone(&self.rooms.workspace));
        let text = match workspace.resolve(&document.uri) {
            Ok(target) => workspace.view(&target).await.map(|view| view.text),
            Err(refusal) => Err(refusal),
        };
        let text = text.map_err(|refusal| ErrorData::invalid_request(refusal.message, None))?;
        if text.len() > LONGEST_TEXT {
            let why = format!("It has {} bytes; read it in parts, by the tool `read`.", text.len());
            return Err(ErrorData::invalid_request(why, None));
        }
        Ok(contents(uri, "text/plain", text.to_string()))
    }

    fn open(&self, uri: &str) -> Option<Snapshot> {
        let documents = &self.rooms.workspace.documents;
        documents.get(&documents.key_of(uri)?)
    }

    /// Whether `read` would show a document without asking; why not, in words.
    async fn may_read(&self, uri: &str) -> Result<(), String> {
        let preview = Arc::clone(&self.rooms.calls).preview(CallParams {
            session_id: Some(self.session.clone()),
            name: "read".to_owned(),
            arguments: Some(json!({ "file_path": uri })),
            ..CallParams::default()
        });
        let preview = preview.await;
        if !preview.valid {
            return Err(format!("It cannot be read here: {}.", preview.problems.join("; ")));
        }
        match preview.approval.decision {
            DecisionKind::Allow => Ok(()),
            DecisionKind::Ask | DecisionKind::Deny => {
                Err(format!("It is not shown without asking: {}.", preview.approval.reason))
            }
        }
    }

    async fn selection(&self, context: &DidChangeContextParams) -> Value {
        let Some(uri) = &context.uri else { return json!({ "document": null, "selections": [] }) };
        let document = self.open(uri);
        let withheld = match &document {
            Some(document) => self.may_read(&document.uri).await.err(),
            None => Some("It is no text document of the editor.".to_owned()),
        };
        let encoding = self.rooms.workspace.documents.counting().encoding;
        let text = document.as_ref().filter(|_| withheld.is_none()).map(|document| &document.text);
        told(context, text, encoding, withheld.as_deref())
    }
}

/// What is selected, in lines and characters from 1. `text`: the document's, if it may be shown.
fn told(context: &DidChangeContextParams, text: Option<&Text>, encoding: Encoding, withheld: Option<&str>) -> Value {
    let selections: Vec<Value> =
        context.selections.iter().take(MOST_SELECTIONS).map(|range| selected(*range, text, encoding)).collect();
    let mut told = json!({ "document": context.uri, "selections": selections });
    if context.selections.len() > MOST_SELECTIONS {
        told["moreSelections"] = json!(context.selections.len() - MOST_SELECTIONS);
    }
    if let Some(range) = context.visible_range {
        told["visibleLines"] = json!({ "first": range.start.line + 1, "last": range.end.line + 1 });
    }
    if let Some(why) = withheld {
        told["withheld"] = json!(why);
    }
    told
}

fn selected(range: Range, text: Option<&Text>, encoding: Encoding) -> Value {
    let mut told = json!({ "firstLine": range.start.line + 1, "lastLine": range.end.line + 1 });
    let Some(text) = text else { return told };
    let (start, _) = text.byte_of(range.start, encoding);
    let (end, _) = text.byte_of(range.end, encoding);
    let (start, end) = (start.min(end), start.max(end));
    let column = |byte: usize| text.slice(text.line_start(text.line_of(byte))..byte).chars().count() + 1;
    told["firstColumn"] = json!(column(start));
    told["lastColumn"] = json!(column(end));
    let cut = text.floor(end.min(start + LONGEST_SELECTION));
    told["text"] = json!(text.slice(start..cut));
    if cut < end {
        told["bytesLeftOut"] = json!(end - cut);
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{LineBreaks, Position};

    fn at(line: u32, character: u32) -> Position {
        Position { line, character }
    }

    fn context(selections: Vec<Range>) -> DidChangeContextParams {
        DidChangeContextParams {
            uri: Some("file:///w/a.rs".into()),
            selections,
            visible_range: Some(Range { start: at(0, 0), end: at(9, 0) }),
            open_editors: vec![],
        }
    }

    #[test]
    fn a_selection_is_told_in_characters_with_its_text() {
        let text = Text::new("fn main() {\n    let 😀x = 1;\n}\n", LineBreaks::Lf);
        let selection = Range { start: at(1, 8), end: at(1, 11) };
        let said = told(&context(vec![selection]), Some(&text), Encoding::Utf16, None);
        let expected = json!({
            "document": "file:///w/a.rs",
            "selections": [{
                "firstLine": 2, "lastLine": 2, "firstColumn": 9, "lastColumn": 11, "text": "😀x",
            }],
            "visibleLines": { "first": 1, "last": 10 },
        });
        assert_eq!(said, expected);
        // A range from an older text is clamped.
        let beyond = Range { start: at(70, 0), end: at(90, 5) };
        let said = told(&context(vec![beyond]), Some(&text), Encoding::Utf16, None);
        assert_eq!(said["selections"][0]["text"], "");
    }

    #[test]
    fn what_may_not_be_read_is_not_in_it() {
        let selection = Range { start: at(0, 0), end: at(0, 5) };
        let said = told(&context(vec![selection]), None, Encoding::Utf8, Some("a secret"));
        assert_eq!(said["selections"], json!([{ "firstLine": 1, "lastLine": 1 }]));
        assert_eq!(said["withheld"], "a secret");
    }

    #[test]
    fn much_is_cut_and_said_to_be() {
        let text = Text::new(&"é".repeat(LONGEST_SELECTION), LineBreaks::Lf);
        let all = Range { start: at(0, 0), end: at(1, 0) };
        let said = told(&context(vec![all; MOST_SELECTIONS + 3]), Some(&text), Encoding::Utf8, None);
        assert_eq!(
            (said["selections"].as_array().unwrap().len(), &said["moreSelections"]),
            (MOST_SELECTIONS, &json!(3))
        );
        let first = &said["selections"][0];
        assert_eq!(first["text"].as_str().unwrap().len(), LONGEST_SELECTION);
        assert_eq!(first["bytesLeftOut"], LONGEST_SELECTION);
    }
}
