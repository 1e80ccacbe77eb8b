//! What an editor does with `workspace/applyEdit`, in its manner, or as it was told to. Pure.

use serde::Deserialize;
use serde_json::{Value, json};

use super::document::Cause;
use super::editor::Editor;
use super::manner::Manner;
use super::step::{Echo, Trouble, Type};
use super::wanted::{ApplyEdit, DocumentEdit, Versioned, splices_of};
use crate::text::{Splice, TextEdit};

/// How an edit is answered.
enum Reply {
    Applied,
    Refused(Option<String>),
    Error(String),
}

impl Reply {
    fn message(self, id: &Value) -> Value {
        match self {
            Reply::Applied => json!({ "jsonrpc": "2.0", "id": id, "result": { "applied": true } }),
            Reply::Refused(None) => json!({ "jsonrpc": "2.0", "id": id, "result": { "applied": false } }),
            Reply::Refused(Some(why)) => {
                json!({ "jsonrpc": "2.0", "id": id, "result": { "applied": false, "failureReason": why } })
            }
            Reply::Error(why) => json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32603, "message": why } }),
        }
    }
}

/// What is to be changed, by URI; all of it fits.
type Planned = Vec<(String, Vec<Splice>)>;

impl Editor {
    /// Deals with `workspace/applyEdit`.
    pub(super) fn apply_edit(&mut self, id: &Value, params: &Value) {
        let trouble = self.troubles.pop_front().unwrap_or(Trouble::Apply);
        let ApplyEdit { edit } = match ApplyEdit::deserialize(params) {
            Ok(edit) => edit,
            Err(error) => return self.send(Reply::Error(format!("the edit cannot be read: {error}")).message(id)),
        };
        let documents = edit.document_changes;
        let (mut with, mut answered) = (None, true);
        match trouble {
            Trouble::Refuse => return self.send(self.refusal().message(id)),
            Trouble::Lie => return self.send(Reply::Applied.message(id)),
            Trouble::Silent => return,
            Trouble::Unanswered => answered = false,
            Trouble::Close => {
                for document in &documents {
                    self.close(&document.text_document.uri);
                }
            }
            Trouble::Type(typed) => {
                // Where the text is not there any more, nobody types.
                if let Ok((uri, changes)) = self.typed(&typed) {
                    self.told(&uri, vec![changes]);
                }
            }
            Trouble::TypeWith(typed) => with = Some(typed),
            Trouble::Apply => {}
        }
        let (planned, reply) = match self.plan(&documents) {
            Ok(planned) => (planned, Reply::Applied),
            Err(refused) => (Planned::new(), refused),
        };
        let reply = answered.then(|| reply.message(id));
        let echo = self.echo.unwrap_or(if self.manner == Manner::Eglot { Echo::After } else { Echo::Before });
        let (first, last) = if echo == Echo::After { (reply, None) } else { (None, reply) };
        if let Some(reply) = first {
            self.send(reply);
        }
        let late = echo == Echo::Held || self.delay_ms > 0;
        if late {
            self.hold();
        }
        for (uri, splices) in planned {
            self.change_by(&uri, &splices, with.as_ref());
        }
        if late {
            self.held_for((echo != Echo::Held).then_some(self.delay_ms));
        }
        if let Some(reply) = last {
            self.send(reply);
        }
    }

    /// How it says no when it is asked to.
    fn refusal(&self) -> Reply {
        match self.manner {
            Manner::Vscode => Reply::Refused(None),
            Manner::Neovim | Manner::NeovimAdapter => Reply::Refused(Some("not now".to_owned())),
            Manner::Eglot => Reply::Error("User cancelled server edit".to_owned()),
        }
    }

    /// What an edit comes to, or why it is refused; closed files are opened on that occasion where the editor does so.
    fn plan(&mut self, documents: &[DocumentEdit]) -> Result<Planned, Reply> {
        if self.manner == Manner::Vscode {
            // Only what is open has a version to look at; all are looked at before any changes.
            let stale = documents.iter().any(|DocumentEdit { text_document, .. }| {
                let open = self.documents.get(&text_document.uri);
                open.is_some_and(|open| text_document.version.is_some_and(|named| named >= 0 && named != open.version))
            });
            if stale {
                return Err(Reply::Refused(None));
            }
        }
        let mut planned = Planned::new();
        for (index, document) in documents.iter().enumerate() {
            let DocumentEdit { text_document: Versioned { uri, version }, edits } = document;
            if !self.documents.contains_key(uri) {
                self.open_for_edit(uri)?;
            }
            let Some(open) = self.documents.get(uri) else { continue };
            let has = open.version;
            match self.manner {
                // Only the first document is looked at, and only for being newer than the edit.
                Manner::Neovim if index == 0 && version.is_some_and(|named| named > 0 && has > named) => continue,
                Manner::Vscode | Manner::Neovim => {}
                Manner::NeovimAdapter if *version == Some(has) => {}
                Manner::NeovimAdapter => return Err(Reply::Refused(Some(format!("the buffer is at version {has}")))),
                Manner::Eglot => {
                    if let Some(named) = version.filter(|named| *named != has) {
                        let file = uri.strip_prefix("file://").unwrap_or(uri);
                        let words = format!("Edits on `{file}' require version {named}, you have {has}");
                        return Err(Reply::Error(words));
                    }
                }
            }
            planned.push((uri.clone(), self.splices_of(uri, edits)?));
        }
        Ok(planned)
    }

    fn open_for_edit(&mut self, uri: &str) -> Result<(), Reply> {
        match self.manner {
            Manner::NeovimAdapter => Err(Reply::Refused(Some(format!("`{uri}` is not open")))),
            Manner::Vscode => self.open_file(uri).map_err(|_| Reply::Refused(None)),
            Manner::Neovim => self.open_file(uri).map_err(|why| Reply::Refused(Some(why))),
            Manner::Eglot => self.open_file(uri).map_err(Reply::Error),
        }
    }

    /// The edits of a document as splices.
    fn splices_of(&self, uri: &str, edits: &[TextEdit]) -> Result<Vec<Splice>, Reply> {
        let Some(document) = self.documents.get(uri) else { return Ok(Vec::new()) };
        splices_of(document.text(), edits, self.encoding).ok_or_else(|| self.refusal())
    }

    /// Makes the changes of an edit, and tells them.
    fn change_by(&mut self, uri: &str, splices: &[Splice], with: Option<&Type>) {
        let encoding = self.encoding;
        let Some(document) = self.documents.get_mut(uri) else { return };
        let changes = document.change(splices, Cause::Edit, encoding);
        let split = self.split.unwrap_or(self.manner.is_neovim());
        let mut versions: Vec<Vec<Value>> =
            if split { changes.into_iter().map(|change| vec![change]).collect() } else { vec![changes] };
        let typed = with.and_then(|typed| self.typed(typed).ok());
        if let Some((typed_in, more)) = typed {
            if typed_in == uri {
                match versions.last_mut() {
                    Some(last) => last.extend(more),
                    None => versions.push(more),
                }
            } else {
                self.told(&typed_in, vec![more]);
            }
        }
        self.told(uri, versions);
    }
}
