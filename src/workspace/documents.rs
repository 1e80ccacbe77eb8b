//! The mirror: every document the editor has open, as ropes. It changes only when the editor says so.
//!
//! All changes are applied synchronously, in the order in which they arrive, under one short lock. Readers take
//! snapshots, which cost nothing. Whoever must know what happens next to a document (a commit waiting for its echo)
//! watches it; whoever follows all documents (the language servers) listens.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use tokio::sync::mpsc;
use tracing::{debug, warn};

use crate::text::{Clamp, Encoding, LineBreaks, Range, Splice, Text, TextEdit};

use super::paths::{Key, same_spelled};

/// Room for so many open documents is never given back.
const ROOM: usize = 512;

/// How the two sides count; negotiated once, at `initialize`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counting {
    /// Units of characters in positions.
    pub encoding: Encoding,
    /// What ends a line.
    pub breaks: LineBreaks,
}

/// A document at one moment. Cheap to clone.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    /// What the document is to us, however it is spelled.
    pub key: Key,
    /// How the editor spells it.
    pub uri: String,
    /// The editor's name for its language.
    pub language_id: String,
    /// The editor's version.
    pub version: i32,
    /// Counts the times this document was opened in this run; versions of different epochs do not compare.
    pub epoch: u64,
    /// The text.
    pub text: Text,
    /// Whether the mirror is known to equal the editor's buffer.
    pub trust: Sync,
    /// The text when the editor last saved or opened it unchanged, as far as the editor has said.
    pub saved: Option<Text>,
}

/// Whether the mirror is known to equal the editor's buffer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Sync {
    /// Every change so far fitted.
    #[default]
    Good,
    /// A change did not fit: a reversed range, or one inside a character. Edits are refused until a resync.
    Suspect(String),
    /// Halves of surrogate pairs came, which cannot be held here: U+FFFD stands for each. Edits are refused until a resync
    /// brings a text without any.
    Halves(String),
}

impl Sync {
    /// Why the mirror may not be the editor's buffer; `None` where it is known to be.
    pub fn doubt(&self) -> Option<&str> {
        match self {
            Sync::Good => None,
            Sync::Suspect(why) | Sync::Halves(why) => Some(why),
        }
    }
}

/// One content change of a `didChange`. Without a range it is the whole text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContentChange {
    /// What is replaced, in the negotiated counting.
    pub range: Option<Range>,
    /// The new text.
    pub text: String,
}

/// One content change as it was applied.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// What was replaced by what, in bytes of the text before this step.
    pub splice: Splice,
    /// The text after it.
    pub after: Text,
}

/// What happened to a document.
#[derive(Debug, Clone, PartialEq)]
pub enum DocEvent {
    /// It was opened, or opened again.
    Opened(Snapshot),
    /// It changed, by these steps, from the text of `before` to that of `after`.
    Changed {
        /// The document before the first step.
        before: Snapshot,
        /// The content changes in order.
        steps: Arc<[Step]>,
        /// The document after the last step.
        after: Snapshot,
    },
    /// The editor was asked for its text, and the mirror now has it.
    Resynced(Snapshot),
    /// It was saved.
    Saved(Snapshot),
    /// It was closed; this is how it was.
    Closed(Snapshot),
}

impl DocEvent {
    /// The document after the event (for [`DocEvent::Closed`], before it).
    pub fn snapshot(&self) -> &Snapshot {
        match self {
            DocEvent::Opened(after)
            | DocEvent::Changed { after, .. }
            | DocEvent::Resynced(after)
            | DocEvent::Saved(after)
            | DocEvent::Closed(after) => after,
        }
    }
}

/// Follows all documents. Called under the mirror's lock, in order: it must only put things on a queue.
pub type Listener = Box<dyn Fn(&DocEvent) + Send + std::marker::Sync>;

/// What became of a change, for whoever applied it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Applied {
    /// The mirror is up to date.
    Yes,
    /// The document is not open; nothing was done.
    NotOpen,
    /// A range did not fit, or halves of surrogate pairs came; the document needs a resync, for the reason given.
    Suspect(String),
}

impl Applied {
    fn of(document: &Snapshot) -> Applied {
        document.trust.doubt().map_or(Applied::Yes, |why| Applied::Suspect(why.to_owned()))
    }
}

/// What is known of a text with halves of surrogate pairs in it.
fn halves(uri: &str, version: i32) -> Sync {
    Sync::Halves(format!(
        "version {version} of {uri} came with half of a UTF-16 surrogate pair, which is no character and is shown here as \
         U+FFFD"
    ))
}

/// The open documents.
#[derive(Default)]
pub struct Documents {
    inner: Mutex<Inner>,
    listeners: RwLock<Vec<Listener>>,
}

#[derive(Default)]
struct Inner {
    counting: Counting,
    open: HashMap<Key, Snapshot>,
    /// The key of every open document by the editor's spelling.
    keys: HashMap<String, Key>,
    /// Second buffers of a file that is open under another spelling, by their own: the key of that file.
    doubles: BTreeMap<String, Key>,
    /// Documents that a resync took further than the changes received: from which version to which.
    ahead: HashMap<Key, (i32, i32)>,
    watchers: HashMap<Key, Vec<mpsc::UnboundedSender<DocEvent>>>,
    epochs: u64,
}

impl Inner {
    /// Gives room back that was made for many documents, once most of them are closed.
    fn give_back(&mut self) {
        if self.open.capacity() > ROOM && self.open.len() < self.open.capacity() / 8 {
            let room = self.open.len() * 2;
            self.open.shrink_to(room);
            self.keys.shrink_to(room);
        }
    }
}

impl Documents {
    /// No documents, counted the default way until [`Documents::count_as`].
    pub fn new() -> Documents {
        Documents::default()
    }

    /// Fixes how positions count. Called once, before the first document.
    pub fn count_as(&self, counting: Counting) {
        self.lock().counting = counting;
    }

    /// How positions count.
    pub fn counting(&self) -> Counting {
        self.lock().counting
    }

    /// Adds someone who hears of every event of every document.
    pub fn listen(&self, listener: Listener) {
        self.listeners.write().unwrap_or_else(PoisonError::into_inner).push(listener);
    }

    /// `didOpen`. A document that is open already is thereby resynchronised, whatever its version. Returns the key it
    /// has from now on.
    ///
    /// An editor may hold one file in two buffers, by two spellings of its path; each is a text of its own. The first
    /// is the file to us; a second one gets a key of its own, [`Key::Unnamed`], until the first is closed.
    pub fn open(&self, key: Key, uri: &str, language_id: &str, version: i32, text: &str) -> Key {
        self.enter(key, uri, language_id, version, Some(text), Sync::Good)
    }

    /// `didOpen` of which a part could not be read. The document is open all the same, so that nobody takes the file
    /// behind it for what the user sees; but it is [`Sync::Suspect`] until a resync. Without a text it has the one that it
    /// had, or none.
    pub fn open_in_doubt(
        &self,
        key: Key,
        uri: &str,
        language_id: &str,
        version: i32,
        text: Option<&str>,
        why: &str,
    ) -> Key {
        self.enter(key, uri, language_id, version, text, Sync::Suspect(why.to_owned()))
    }

    /// `didOpen` with halves of surrogate pairs in it, for each of which U+FFFD stands in this text.
    pub fn open_mended(&self, key: Key, uri: &str, language_id: &str, version: i32, text: &str) -> Key {
        self.enter(key, uri, language_id, version, Some(text), halves(uri, version))
    }

    fn enter(&self, key: Key, uri: &str, language_id: &str, version: i32, text: Option<&str>, trust: Sync) -> Key {
        let mut inner = self.lock();
        let key = match (inner.keys.get(uri), inner.open.get(&key)) {
            (Some(known), _) => known.clone(),
            (None, Some(first)) => {
                warn!(uri, first = first.uri, "one file is open in two buffers");
                inner.doubles.insert(uri.to_owned(), key);
                Key::Unnamed(uri.to_owned())
            }
            (None, None) => key,
        };
        // Neovim calls every buffer without a name `file://`: two of them cannot be told apart, unless its adapter
        // names them.
        let shared = matches!(uri, "file:" | "file://") && inner.keys.contains_key(uri);
        let trust = if shared {
            Sync::Suspect(format!("two buffers without a name share the URI {uri}; give the one you mean a name"))
        } else {
            trust
        };
        let text = match (text, inner.open.get(&key)) {
            (None, Some(before)) => before.text.clone(),
            (text, _) => Text::new(text.unwrap_or_default(), inner.counting.breaks),
        };
        inner.epochs += 1;
        let snapshot = Snapshot {
            key: key.clone(),
            uri: uri.to_owned(),
            language_id: language_id.to_owned(),
            version,
            epoch: inner.epochs,
            text,
            trust,
            saved: None,
        };
        inner.ahead.remove(&key);
        inner.keys.insert(uri.to_owned(), key.clone());
        inner.open.insert(key.clone(), snapshot.clone());
        self.publish(&mut inner, &DocEvent::Opened(snapshot));
        key
    }

    /// `didChange`. Ranges past the end are clamped, as editors do; ranges that cannot be right are repaired as well as
    /// they can be and make the document [`Sync::Suspect`].
    pub fn change(&self, key: &Key, version: i32, changes: Vec<ContentChange>) -> Applied {
        self.apply(key, version, changes, false)
    }

    /// `didChange` with halves of surrogate pairs in it, for each of which U+FFFD stands in these changes. Two that make a
    /// pair may have come one after the other, so that the text here is not the editor's from now on, whatever it looks like.
    pub fn change_mended(&self, key: &Key, version: i32, changes: Vec<ContentChange>) -> Applied {
        self.apply(key, version, changes, true)
    }

    fn apply(&self, key: &Key, version: i32, changes: Vec<ContentChange>, mended: bool) -> Applied {
        let mut guard = self.lock();
        let inner = &mut *guard;
        let encoding = inner.counting.encoding;
        let Some(document) = inner.open.get_mut(key) else {
            debug!(?key, "a change of a document that is not open");
            return Applied::NotOpen;
        };
        let before = document.clone();
        if let Some((from, to)) = inner.ahead.get(key).copied() {
            if version >= to || version <= from {
                inner.ahead.remove(key);
            }
            if from < version && version <= to {
                debug!(uri = document.uri, version, "a change that a resync has brought already");
                return Applied::of(document);
            }
        }
        let mut steps = Vec::with_capacity(changes.len());
        for change in changes {
            let splice = match change.range {
                None => {
                    document.trust = Sync::Good;
                    Splice { range: 0..document.text.len(), text: change.text }
                }
                Some(range) => {
                    let edit = TextEdit { range, new_text: change.text };
                    let (splice, clamp) = document.text.splice_of(&edit, encoding);
                    match clamp {
                        Clamp::Exact => {}
                        Clamp::PastEnd => debug!(uri = document.uri, ?range, "clamped a range past the end"),
                        Clamp::MidCharacter => {
                            warn!(uri = document.uri, ?range, version, "a change that does not fit the text");
                            document.trust = Sync::Suspect(format!(
                                "version {version} of {} came with a range that does not fit its text ({}:{} to {}:{})",
                                document.uri,
                                range.start.line,
                                range.start.character,
                                range.end.line,
                                range.end.character
                            ));
                        }
                    }
                    splice
                }
            };
            document.text.splice(&splice);
            steps.push(Step { splice, after: document.text.clone() });
        }
        if mended {
            document.trust = halves(&document.uri, version);
        }
        document.version = version;
        let after = document.clone();
        let applied = Applied::of(&after);
        self.publish(inner, &DocEvent::Changed { before, steps: steps.into(), after });
        applied
    }

    /// The editor's answer to a resync: the mirror takes it over, unless it is older than what we have.
    ///
    /// An answer may overtake the changes it includes. Those, up to its version, are then passed over when they come.
    pub fn resynced(&self, key: &Key, version: i32, text: &str) {
        self.replace(key, version, text, false);
    }

    /// The editor's answer to a resync with halves of surrogate pairs in it, for each of which U+FFFD stands in this text:
    /// it is the nearest to the editor's that can be held, and stays in doubt.
    pub fn resynced_mended(&self, key: &Key, version: i32, text: &str) {
        self.replace(key, version, text, true);
    }

    fn replace(&self, key: &Key, version: i32, text: &str, mended: bool) {
        let mut guard = self.lock();
        let inner = &mut *guard;
        let breaks = inner.counting.breaks;
        let Some(document) = inner.open.get_mut(key) else { return };
        if version < document.version {
            return;
        }
        if version > document.version {
            let from = inner.ahead.get(key).map_or(document.version, |&(from, _)| from);
            inner.ahead.insert(key.clone(), (from, version));
        }
        document.version = version;
        document.text = Text::new(text, breaks);
        document.trust = if mended { halves(&document.uri, version) } else { Sync::Good };
        let snapshot = document.clone();
        self.publish(inner, &DocEvent::Resynced(snapshot));
    }

    /// The mirror of a document is known to be wrong: a change was lost. Edits are refused until a resync.
    pub fn doubt(&self, key: &Key, why: &str) {
        if let Some(document) = self.lock().open.get_mut(key) {
            document.trust = Sync::Suspect(why.to_owned());
        }
    }

    /// Something was lost, and nobody knows of which document: every one is in doubt. Gives them, sorted by URI.
    pub fn doubt_all(&self, why: &str) -> Vec<Snapshot> {
        self.lock().open.values_mut().for_each(|document| document.trust = Sync::Suspect(why.to_owned()));
        self.all()
    }

    /// `didSave`.
    pub fn save(&self, key: &Key) {
        let mut inner = self.lock();
        let Some(document) = inner.open.get_mut(key) else { return };
        document.saved = Some(document.text.clone());
        let snapshot = document.clone();
        self.publish(&mut inner, &DocEvent::Saved(snapshot));
    }

    /// `didClose`.
    pub fn close(&self, key: &Key) {
        let mut inner = self.lock();
        let Some(snapshot) = inner.open.remove(key) else { return };
        inner.keys.remove(&snapshot.uri);
        inner.doubles.remove(&snapshot.uri);
        inner.ahead.remove(key);
        inner.give_back();
        self.publish(&mut inner, &DocEvent::Closed(snapshot));
        // Another buffer of the same file becomes the file to us.
        let heir = inner.doubles.iter().find(|(_, file)| *file == key).map(|(uri, _)| uri.clone());
        if let Some(uri) = heir
            && let Some(double) = inner.open.remove(&Key::Unnamed(uri.clone()))
        {
            inner.doubles.remove(&uri);
            if let Some(ahead) = inner.ahead.remove(&double.key) {
                inner.ahead.insert(key.clone(), ahead);
            }
            inner.epochs += 1;
            let heir = Snapshot { key: key.clone(), epoch: inner.epochs, ..double.clone() };
            inner.keys.insert(uri, key.clone());
            inner.open.insert(key.clone(), heir.clone());
            self.publish(&mut inner, &DocEvent::Closed(double));
            self.publish(&mut inner, &DocEvent::Opened(heir));
        }
    }

    /// The key of an open document, by the editor's spelling of it.
    pub fn key_of(&self, uri: &str) -> Option<Key> {
        self.lock().keys.get(uri).cloned()
    }

    /// The file that a second buffer is of, by the editor's spelling of the buffer: what it was when that was opened.
    pub fn file_of_double(&self, uri: &str) -> Option<Key> {
        self.lock().doubles.get(uri).cloned()
    }

    /// The open documents that another spelling of a URI may mean, by the key that it leads to, sorted: all the buffers of
    /// that file; of a document without a file, those whose URI is the same once percent encoding is resolved.
    pub fn meant_by(&self, key: &Key) -> Vec<Key> {
        let inner = self.lock();
        let mut meant: Vec<Key> = match key {
            Key::File(_) => {
                let doubles = inner.doubles.iter().filter(|(_, file)| *file == key);
                let doubles = doubles.map(|(uri, _)| Key::Unnamed(uri.clone()));
                inner.open.contains_key(key).then(|| key.clone()).into_iter().chain(doubles).collect()
            }
            Key::Unnamed(uri) => {
                let same = |known: &&Key| matches!(known, Key::Unnamed(known) if same_spelled(known, uri));
                inner.open.keys().filter(same).cloned().collect()
            }
        };
        meant.sort();
        meant
    }

    /// A document as it is now.
    pub fn get(&self, key: &Key) -> Option<Snapshot> {
        self.lock().open.get(key).cloned()
    }

    /// All documents, sorted by URI.
    pub fn all(&self) -> Vec<Snapshot> {
        let mut all: Vec<Snapshot> = self.lock().open.values().cloned().collect();
        all.sort_by(|a, b| a.uri.cmp(&b.uri));
        all
    }

    /// The document as it is now, and everything that happens to it afterwards: nothing can fall between the two.
    /// `None` when it is not open (watching it then is of no use to anybody).
    pub fn watch(&self, key: &Key) -> Option<(Snapshot, mpsc::UnboundedReceiver<DocEvent>)> {
        let mut inner = self.lock();
        let snapshot = inner.open.get(key)?.clone();
        let (sender, receiver) = mpsc::unbounded_channel();
        inner.watchers.entry(key.clone()).or_default().push(sender);
        Some((snapshot, receiver))
    }

    fn publish(&self, inner: &mut Inner, event: &DocEvent) {
        for listener in self.listeners.read().unwrap_or_else(PoisonError::into_inner).iter() {
            listener(event);
        }
        let key = &event.snapshot().key;
        if let Some(watchers) = inner.watchers.get_mut(key) {
            watchers.retain(|watcher| watcher.send(event.clone()).is_ok());
            if watchers.is_empty() {
                inner.watchers.remove(key);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A panic while the lock is held can only come from a listener; the documents themselves are whole.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
