//! Text synchronisation: the editor's documents into the mirror, and what is done when something of it is lost.
//!
//! The mirror is believed only while nothing can be missing. A message that is lost, or that cannot be read, puts the
//! document in doubt that it is about, or every one when that is not known; then the editor is asked for the text.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use tracing::{debug, info, warn};

use crate::editor::{Editor as _, Loudness, News, Resync};
use crate::workspace::documents::{Applied, Snapshot, Sync};
use crate::workspace::{Key, paths};

use super::convert::{self, DidChange, DidOpen, Unreadable};
use super::front::{Front, Phase};
use super::messages::{Fault, LostSync, Reading};
use super::outbox::Given;
use super::protocol;

/// The resyncs that have no answer yet, by document.
#[derive(Debug, Default)]
pub(super) struct Asked(BTreeMap<Key, Since>);

/// What has happened to a document since it was asked for. The answer may not know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Since {
    /// Nothing.
    Nothing,
    /// It changed.
    Changed,
    /// Something of it was lost.
    Lost,
}

impl Asked {
    /// Whether it has to be asked for; while a question is open, what happened is only noted.
    fn ask(&mut self, key: &Key, happened: Since) -> bool {
        if let Some(since) = self.0.get_mut(key) {
            *since = happened.max(*since);
            return false;
        }
        self.0.insert(key.clone(), Since::Nothing);
        true
    }
}

impl Front {
    /// `textDocument/didOpen`
    pub(super) fn opened(self: &Arc<Self>, params: &Value, reading: Reading) {
        let Some(document) = DidOpen::read(params) else {
            return self.lost_of_all("a didOpen came without a URI that can be read");
        };
        let DidOpen { uri, language_id, version, text, fault } = document;
        let workspace = &self.rooms.workspace;
        let Some(key) = paths::key_of_uri(&*workspace.ports.disk, &uri) else {
            info!(uri, "not mirrored: neither a file nor a new document");
            return;
        };
        match (text, fault) {
            (Some(text), None) if reading == Reading::Mended => {
                let key = workspace.documents.open_mended(key, &uri, &language_id, version, &text);
                self.resync_doubted(&key, Since::Lost);
            }
            (Some(text), None) => {
                workspace.documents.open(key, &uri, &language_id, version, &text);
            }
            (text, fault) => {
                let why = format!("{uri} was opened by a message that cannot be read: {}", fault.unwrap_or_default());
                self.open_in_doubt(key, &uri, &language_id, version, text.as_deref(), &why);
            }
        }
    }

    /// `textDocument/didChange`
    pub(super) fn changed(self: &Arc<Self>, params: &Value, reading: Reading) {
        let change = match DidChange::read(params) {
            Ok(change) => change,
            Err(Unreadable { uri, why }) => {
                let why = format!("a change cannot be read: {why}");
                let method = Some("textDocument/didChange".to_owned());
                return self.lost(&LostSync { method, uri }, &why);
            }
        };
        let documents = &self.rooms.workspace.documents;
        match self.meant(&change.uri).as_slice() {
            [] => self.appeared(&change.uri, change.version, "it changed before it was opened"),
            [key] => {
                let good = documents.get(key).is_some_and(|document| document.trust == Sync::Good);
                let DidChange { version, changes, .. } = change;
                let applied = match reading {
                    Reading::Exact => documents.change(key, version, changes),
                    Reading::Mended => documents.change_mended(key, version, changes),
                };
                if let Applied::Suspect(why) = applied {
                    self.resync(key, &why, if good { Since::Lost } else { Since::Changed });
                }
            }
            several => self.undecided(&change.uri, several, "a change"),
        }
    }

    /// `textDocument/didSave`
    pub(super) fn saved(self: &Arc<Self>, params: &Value, reading: Reading) {
        let Some(uri) = convert::document_uri(params) else {
            warn!("a save of a document that is not named");
            return;
        };
        let meant = self.meant(uri);
        let [key] = meant.as_slice() else {
            debug!(uri, "a save of a document that is not open, or of one of several");
            return;
        };
        let documents = &self.rooms.workspace.documents;
        let saved = params["text"].as_str();
        if saved.is_some() && reading == Reading::Mended {
            self.doubt(
                key,
                &format!("{uri} was saved with half of a UTF-16 surrogate pair in it, which is no character"),
            );
        } else if saved.zip(documents.get(key)).is_some_and(|(text, ours)| ours.text.to_string() != text) {
            self.doubt(key, &format!("{uri} was saved with another text than ours"));
        } else {
            documents.save(key);
        }
    }

    /// `textDocument/didClose`
    pub(super) fn closed(self: &Arc<Self>, params: &Value) {
        let Some(uri) = convert::document_uri(params) else {
            return self.lost_of_all("a didClose came without a URI that can be read");
        };
        match self.meant(uri).as_slice() {
            [] => debug!(uri, "a document that is not open was closed"),
            [key] => self.rooms.workspace.documents.close(key),
            several => self.undecided(uri, several, "the end"),
        }
    }

    /// Something came that cannot be read: whoever may wait for it is told, and what it may have changed is in doubt.
    pub(super) fn unreadable(self: &Arc<Self>, fault: &Fault) {
        warn!(why = fault.why, "the editor sent what cannot be read");
        // What it may have been the answer to must not be asked again because of it: an editor whose answers can never be
        // read would be asked for ever. The next change, or the next edit, asks.
        let open: Vec<Key> = self.state().asked.0.keys().cloned().collect();
        self.outbox.unreadable(&fault.question());
        let Some(lost) = fault.sync().filter(|_| self.phase() == Phase::Open) else { return };
        let why = format!("a message was lost: {}", fault.why);
        if lost.uri.is_some() {
            return self.lost(&lost, &why);
        }
        let mut doubted = self.rooms.workspace.documents.doubt_all(&why);
        doubted.retain(|document| !open.contains(&document.key));
        self.resync_all(&doubted, &why);
    }

    /// The open documents that a URI of the editor's means. Usually it is spelled as it was when the document was opened.
    fn meant(&self, uri: &str) -> Vec<Key> {
        let workspace = &self.rooms.workspace;
        if let Some(key) = workspace.documents.key_of(uri) {
            return vec![key];
        }
        let key = paths::key_of_uri(&*workspace.ports.disk, uri);
        key.map(|key| workspace.documents.meant_by(&key)).unwrap_or_default()
    }

    /// Text synchronisation was lost.
    fn lost(self: &Arc<Self>, LostSync { method, uri }: &LostSync, why: &str) {
        let Some(uri) = uri else { return self.lost_of_all(why) };
        let meant = self.meant(uri);
        match (method.as_deref(), meant.as_slice()) {
            (Some("textDocument/didOpen"), [] | [_]) => {
                // Its versions may begin anew.
                let documents = &self.rooms.workspace.documents;
                let before = meant.first().and_then(|key| documents.get(key));
                let (uri, language_id) =
                    before.map_or((uri.clone(), String::new()), |before| (before.uri, before.language_id));
                if let Some(key) = paths::key_of_uri(&*self.rooms.workspace.ports.disk, &uri) {
                    self.open_in_doubt(key, &uri, &language_id, 0, None, why);
                }
            }
            (Some("textDocument/didChange"), []) => self.appeared(uri, 0, why),
            (_, keys) => {
                for key in keys {
                    self.doubt(key, why);
                }
            }
        }
    }

    fn lost_of_all(self: &Arc<Self>, why: &str) {
        let doubted = self.rooms.workspace.documents.doubt_all(why);
        self.resync_all(&doubted, why);
    }

    /// A document that is not open to us is open to the editor, so that we have missed its beginning.
    fn appeared(self: &Arc<Self>, uri: &str, version: i32, why: &str) {
        let Some(key) = paths::key_of_uri(&*self.rooms.workspace.ports.disk, uri) else {
            debug!(uri, "a change of a document that is not mirrored");
            return;
        };
        let why = format!("the text of {uri} is not known: {why}");
        self.open_in_doubt(key, uri, "", version, None, &why);
    }

    fn open_in_doubt(
        self: &Arc<Self>,
        key: Key,
        uri: &str,
        language_id: &str,
        version: i32,
        text: Option<&str>,
        why: &str,
    ) {
        warn!(uri, why, "open, and in doubt");
        let key = self.rooms.workspace.documents.open_in_doubt(key, uri, language_id, version, text, why);
        self.resync(&key, why, Since::Lost);
    }

    /// It is about one of these documents, and nobody can tell which.
    fn undecided(self: &Arc<Self>, uri: &str, several: &[Key], what: &str) {
        let why = format!("{what} of {uri} came, which is open in {} buffers by other spellings", several.len());
        for key in several {
            self.doubt(key, &why);
        }
    }

    fn doubt(self: &Arc<Self>, key: &Key, why: &str) {
        self.rooms.workspace.documents.doubt(key, why);
        self.resync(key, why, Since::Lost);
    }

    fn resync_all(self: &Arc<Self>, doubted: &[Snapshot], why: &str) {
        if self.outbox.abilities().resync {
            for document in doubted {
                self.resync(&document.key, why, Since::Lost);
            }
        } else if let [one] = doubted {
            self.tell_lost(&one.uri, why);
        } else if !doubted.is_empty() {
            self.tell_lost(&format!("{} documents", doubted.len()), why);
        }
    }

    /// Asks for the text of a document that is in doubt. The answer is taken over in its place among the editor's other
    /// messages, so that the changes after it fit.
    fn resync(self: &Arc<Self>, key: &Key, why: &str, happened: Since) {
        let Some(Snapshot { uri, epoch, .. }) = self.rooms.workspace.documents.get(key) else { return };
        if !self.outbox.abilities().resync {
            // Once, not with every change that follows.
            if happened == Since::Lost {
                self.tell_lost(&uri, why);
            }
            return;
        }
        if !self.state().asked.ask(key, happened) {
            return;
        }
        let (front, key) = (Arc::clone(self), key.clone());
        let params = json!(protocol::DocumentParams { uri });
        let then = move |answer: Result<Given, _>| {
            let read = |given: Given| {
                let answer = serde_json::from_value::<Resync>(given.value)?;
                Ok::<Resync, serde_json::Error>(Resync { mended: given.reading == Reading::Mended, ..answer })
            };
            let answer = match answer.map(read) {
                Ok(Ok(answer)) => Some(answer),
                Ok(Err(fault)) => {
                    warn!(%fault, "an answer to resync that cannot be read");
                    None
                }
                Err(error) => {
                    warn!(%error, "no answer to resync");
                    None
                }
            };
            front.resynced(&key, epoch, answer);
        };
        self.outbox.ask_inline(protocol::RESYNC, params, Box::new(then));
    }

    fn resynced(self: &Arc<Self>, key: &Key, epoch: u64, answer: Option<Resync>) {
        let since = self.state().asked.0.remove(key).unwrap_or(Since::Nothing);
        let documents = &self.rooms.workspace.documents;
        // The text of a document that was closed since is nobody's.
        let current = documents.get(key).filter(|document| document.epoch == epoch);
        if let (Some(Resync { version, text, mended }), true) = (answer, current.is_some()) {
            if mended {
                documents.resynced_mended(key, version, &text);
            } else {
                documents.resynced(key, version, &text);
            }
            if since == Since::Lost {
                documents.doubt(key, "something was lost while the editor was asked for its text");
            }
        }
        let suspect = |document: Snapshot| document.trust.doubt().is_some();
        if since != Since::Nothing && documents.get(key).is_some_and(suspect) {
            self.resync(key, "it changed while the editor was asked for its text", Since::Changed);
        }
    }

    /// [`Front::resync`] of a document, for the reason that it is in doubt for.
    fn resync_doubted(self: &Arc<Self>, key: &Key, happened: Since) {
        let now = self.rooms.workspace.documents.get(key);
        if let Some(why) = now.as_ref().and_then(|now| now.trust.doubt()) {
            self.resync(key, why, happened);
        }
    }

    fn tell_lost(&self, what: &str, why: &str) {
        let words =
            format!("Ropewalk has lost track of {what} and makes no more edits there until opened again: {why}");
        self.outbox.tell(News::Log(Loudness::Warning, words));
    }
}
