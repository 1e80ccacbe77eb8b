//! The editor itself: its documents, what a person does to them, and what it then tells. Pure but for the disk, which it
//! is handed: a step or a message in, acts out.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value, json};
use url::Url;

use super::answers::Answers;
use super::document::{Cause, Document};
use super::manner::Manner;
use super::step::{Behaviour, Change, Diagnostics, Echo, Open, Step, Trouble, Type, WriteDisk};
use crate::fake_server::Patterns;
use crate::languages::known::language_of;
use crate::ports::Disk;
use crate::text::{Clamp, Encoding, Splice, TextEdit};

/// Something to do.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Act {
    /// This message is sent.
    Send(Value),
    /// What is held back is told so much later (ms).
    ReleaseAfter(u64),
}

/// A language server of the editor's.
struct Source {
    /// The one document that it is for; `None`: every one.
    uri: Option<String>,
    patterns: Patterns,
}

/// An editor.
pub(super) struct Editor {
    pub(super) manner: Manner,
    /// What it declares of ours besides what its manner has.
    pub(super) abilities: Map<String, Value>,
    pub(super) encoding: Encoding,
    pub(super) documents: BTreeMap<String, Document>,
    pub(super) answers: Answers,
    pub(super) troubles: VecDeque<Trouble>,
    pub(super) echo: Option<Echo>,
    pub(super) delay_ms: u64,
    pub(super) split: Option<bool>,
    pub(super) disk: Arc<dyn Disk>,
    root: PathBuf,
    sources: BTreeMap<String, Source>,
    /// What is told later; as long as there is anything, all that is told of texts waits behind it.
    held: Vec<Value>,
    /// The edit that is being answered holds its echo back.
    holding: bool,
    acts: Vec<Act>,
}

impl Editor {
    /// An editor with nothing open. Paths are taken from `root`, an absolute path.
    pub(super) fn new(manner: Manner, root: &Path, disk: Arc<dyn Disk>) -> Editor {
        Editor {
            manner,
            abilities: Map::new(),
            encoding: Encoding::default(),
            documents: BTreeMap::new(),
            answers: Answers::default(),
            troubles: VecDeque::new(),
            echo: None,
            delay_ms: 0,
            split: None,
            disk,
            root: root.to_owned(),
            sources: BTreeMap::new(),
            held: Vec::new(),
            holding: false,
            acts: Vec::new(),
        }
    }

    /// The path that a step means. A script is not to read or write anything but the folder it is played in.
    pub(super) fn path_of(&self, path: &str) -> Result<PathBuf, String> {
        let named = if path.contains("://") {
            file_path(path).ok_or_else(|| format!("`{path}` is no file"))?
        } else {
            self.root.join(path)
        };
        let mut plain = PathBuf::new();
        for part in named.components() {
            match part {
                Component::ParentDir => drop(plain.pop()),
                Component::CurDir => {}
                part => plain.push(part),
            }
        }
        if plain.starts_with(&self.root) {
            return Ok(plain);
        }
        let root = self.root.display();
        Err(format!("`{path}` is outside of {root}, where this is played: --root names another folder"))
    }

    /// The URI that a step means: it may name one itself.
    pub(super) fn uri_of(&self, path: &str) -> Result<String, String> {
        if path.starts_with("untitled:") || path.contains("://") {
            if file_path(path).is_some() {
                self.path_of(path)?;
            }
            return Ok(path.to_owned());
        }
        let full = self.path_of(path)?;
        Url::from_file_path(&full).map(String::from).map_err(|()| format!("`{path}` is no path"))
    }

    /// The document that a step means.
    pub(super) fn document(&self, path: &str) -> Result<&Document, String> {
        let uri = self.uri_of(path)?;
        self.documents.get(&uri).ok_or_else(|| self.not_open(path))
    }

    fn not_open(&self, path: &str) -> String {
        let open: Vec<&str> = self.documents.keys().map(|uri| uri.rsplit('/').next().unwrap_or(uri)).collect();
        let open = if open.is_empty() { "nothing is".to_owned() } else { format!("open: {}", open.join(", ")) };
        format!("`{path}` is not open ({open}); open it by {{\"open\": {{\"path\": {path:?}}}}}")
    }

    /// What is to be done since this was last asked.
    pub(super) fn acts(&mut self) -> Vec<Act> {
        std::mem::take(&mut self.acts)
    }

    /// Whether changes are held back.
    pub(super) fn holds_back(&self) -> bool {
        !self.held.is_empty()
    }

    pub(super) fn send(&mut self, message: Value) {
        self.acts.push(Act::Send(message));
    }

    /// Tells something of a text, in its turn.
    pub(super) fn tell(&mut self, method: &str, params: &Value) {
        let message = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        if self.holding || self.holds_back() {
            self.held.push(message);
        } else {
            self.send(message);
        }
    }

    /// From now on what is told of texts is held back.
    pub(super) fn hold(&mut self) {
        self.holding = true;
    }

    /// The edit is dealt with; its echo, if it was held back, comes so much later, or when it is released.
    pub(super) fn held_for(&mut self, ms: Option<u64>) {
        self.holding = false;
        if let Some(ms) = ms
            && self.holds_back()
        {
            self.acts.push(Act::ReleaseAfter(ms));
        }
    }

    /// Tells what was held back.
    pub(super) fn release(&mut self) {
        for message in std::mem::take(&mut self.held) {
            self.send(message);
        }
    }

    /// Tells changes of a document, each list as a version of its own, and what its language servers then say.
    pub(super) fn told(&mut self, uri: &str, versions: Vec<Vec<Value>>) {
        for changes in versions.into_iter().filter(|changes| !changes.is_empty()) {
            let Some(document) = self.documents.get_mut(uri) else { return };
            document.version += 1;
            let params =
                json!({ "textDocument": { "uri": uri, "version": document.version }, "contentChanges": changes });
            self.tell("textDocument/didChange", &params);
        }
        self.check(uri);
    }

    /// Lets the language servers look at a document.
    pub(super) fn check(&mut self, uri: &str) {
        let Some(document) = self.documents.get(uri) else { return };
        let meant = self.sources.iter().filter(|(_, source)| source.uri.as_deref().is_none_or(|own| own == uri));
        let said: Vec<Value> = meant
            .map(|(name, source)| {
                let found = source.patterns.found(document.text(), self.encoding);
                self.report(name, uri, document.version, &found)
            })
            .collect();
        for params in said {
            self.tell("ropewalk/didChangeDiagnostics", &params);
        }
    }

    fn report(&self, source: &str, uri: &str, version: i32, items: &[Value]) -> Value {
        json!({
            "uri": uri, "version": version, "stamp": "server", "source": { "id": source, "name": source },
            "positionEncoding": self.encoding, "kind": "push", "diagnostics": items,
        })
    }

    /// Which language servers a document has.
    fn tell_sources(&mut self, uri: &str) {
        let meant = self.sources.iter().filter(|(_, source)| source.uri.as_deref().is_none_or(|own| own == uri));
        let sources: Vec<Value> = meant.map(|(name, _)| json!({ "id": name, "name": name })).collect();
        if !sources.is_empty() {
            self.tell("ropewalk/didChangeDiagnosticSources", &json!({ "uri": uri, "sources": sources }));
        }
    }

    /// Does what the editor does by itself, or a person in it; of other steps nothing.
    pub(super) fn step(&mut self, step: &Step) -> Result<(), String> {
        match step {
            Step::Open(open) => self.open(open)?,
            Step::Type(typed) => {
                let (uri, changes) = self.typed(typed)?;
                self.told(&uri, vec![changes]);
            }
            Step::Change(change) => self.change(change)?,
            Step::Undo(named) => self.step_back(&named.path, false)?,
            Step::Redo(named) => self.step_back(&named.path, true)?,
            Step::Save(named) => {
                self.document(&named.path)?;
                self.save(&self.uri_of(&named.path)?)?;
            }
            Step::Close(named) => {
                self.document(&named.path)?;
                self.close(&self.uri_of(&named.path)?);
            }
            Step::WriteDisk(written) => self.write_disk(written)?,
            Step::Answer(answer) => self.answers.learn(answer),
            Step::Reply(reply) => self.reply(reply)?,
            Step::Editor(behaviour) => self.behave(behaviour),
            Step::Release(_) => self.release(),
            Step::Diagnostics(said) => self.diagnostics(said)?,
            _ => {}
        }
        Ok(())
    }

    /// Opens a document.
    fn open(&mut self, open: &Open) -> Result<(), String> {
        let uri = self.uri_of(&open.path)?;
        if self.documents.contains_key(&uri) {
            return Err(format!("`{}` is open already; close it first", open.path));
        }
        let disk = self.file_of(&uri);
        let text = match (&open.text, &disk) {
            (Some(text), _) | (None, Some(Ok(text))) => text.clone(),
            (None, Some(Err(why))) => return Err(format!("`{}` cannot be opened: {why}", open.path)),
            (None, None) => return Err(format!("`{}` is no file; give it a `text`", open.path)),
        };
        let on_disk = open.text.is_none();
        let by_name = || language_of(&uri).unwrap_or("plaintext").to_owned();
        let language = open.language_id.clone().unwrap_or_else(by_name);
        let mut document = Document::new(self.manner, &language, &text, on_disk);
        if let (Some(_), Some(Ok(file))) = (&open.text, &disk) {
            document.was_saved_as(file);
        }
        self.put(&uri, document);
        Ok(())
    }

    /// What the file of a document holds; `None`: it has none.
    pub(super) fn file_of(&self, uri: &str) -> Option<Result<String, String>> {
        let path = file_path(uri)?;
        let read = self.disk.read(&path).map_err(|error| error.to_string());
        Some(read.and_then(|bytes| String::from_utf8(bytes).map_err(|_| "it is no UTF-8 text".to_owned())))
    }

    /// A document is open from now on.
    pub(super) fn put(&mut self, uri: &str, document: Document) {
        self.tell_sources(uri);
        let params = json!({ "textDocument": {
            "uri": uri, "languageId": document.language, "version": document.version, "text": document.text().to_string(),
        }});
        self.documents.insert(uri.to_owned(), document);
        self.tell("textDocument/didOpen", &params);
        self.check(uri);
    }

    /// Opens the file of a document that an edit names.
    pub(super) fn open_file(&mut self, uri: &str) -> Result<(), String> {
        match self.file_of(uri) {
            Some(Ok(text)) => {
                let language = language_of(uri).unwrap_or("plaintext");
                self.put(uri, Document::new(self.manner, language, &text, true));
                Ok(())
            }
            Some(Err(why)) => Err(why),
            None => Err(format!("`{uri}` is no file")),
        }
    }

    /// Closes a document, saved or not.
    pub(super) fn close(&mut self, uri: &str) -> bool {
        let closed = self.documents.remove(uri).is_some();
        if closed {
            self.tell("textDocument/didClose", &json!({ "textDocument": { "uri": uri } }));
        }
        closed
    }

    /// The bytes that typing goes to.
    pub(super) fn place_of(&self, typed: &Type) -> Result<usize, String> {
        let document = self.document(&typed.path)?;
        let text = document.text();
        if let Some(position) = typed.at {
            let (byte, clamp) = text.byte_of(position, self.encoding);
            return match clamp {
                Clamp::Exact => Ok(byte),
                _ => Err(format!("{}:{} is no place in `{}`", position.line, position.character, typed.path)),
            };
        }
        let whole = text.to_string();
        let once = |part: &str| {
            let found: Vec<usize> = whole.match_indices(part).map(|(at, _)| at).collect();
            match found.as_slice() {
                [at] => Ok(*at),
                [] => Err(format!("{part:?} does not stand in `{}`", typed.path)),
                all => Err(format!("{part:?} stands in `{}` {} times; use more of the text", typed.path, all.len())),
            }
        };
        match (&typed.after, &typed.before) {
            (Some(after), _) => Ok(once(after)? + after.len()),
            (None, Some(before)) => once(before),
            (None, None) => Ok(whole.len()),
        }
    }

    /// A person types; the content changes that tell it.
    pub(super) fn typed(&mut self, typed: &Type) -> Result<(String, Vec<Value>), String> {
        let at = self.place_of(typed)?;
        let uri = self.uri_of(&typed.path)?;
        let encoding = self.encoding;
        let Some(document) = self.documents.get_mut(&uri) else { return Err(self.not_open(&typed.path)) };
        let splice = Splice { range: at..at, text: typed.text.clone() };
        let changes = document.change(&[splice], Cause::Typing { stays: typed.stays }, encoding);
        Ok((uri, changes))
    }

    /// A change of the text by its range.
    fn change(&mut self, change: &Change) -> Result<(), String> {
        let uri = self.uri_of(&change.path)?;
        let encoding = self.encoding;
        let Some(document) = self.documents.get_mut(&uri) else { return Err(self.not_open(&change.path)) };
        let edit = TextEdit { range: change.range, new_text: change.text.clone() };
        let (splice, clamp) = document.text().splice_of(&edit, encoding);
        if clamp != Clamp::Exact {
            return Err(format!("the range is no place in `{}`, which has {} lines", change.path, lines_of(document)));
        }
        document.leave_insert_mode();
        let changes = document.change(&[splice], Cause::Edit, encoding);
        self.told(&uri, vec![changes]);
        Ok(())
    }

    /// Takes the last step of a document back, or makes it again.
    fn step_back(&mut self, path: &str, again: bool) -> Result<(), String> {
        let uri = self.uri_of(path)?;
        let encoding = self.encoding;
        let Some(document) = self.documents.get_mut(&uri) else { return Err(self.not_open(path)) };
        let changes = if again { document.redo(encoding) } else { document.undo(encoding) };
        let Some(changes) = changes else {
            return Err(format!("there is nothing to {} in `{path}`", if again { "redo" } else { "undo" }));
        };
        self.told(&uri, vec![changes]);
        Ok(())
    }

    /// Saves a document.
    pub(super) fn save(&mut self, uri: &str) -> Result<(), String> {
        let Some(document) = self.documents.get_mut(uri) else { return Err(self.not_open(uri)) };
        let path = file_path(uri).ok_or_else(|| format!("`{uri}` has no file"))?;
        let text = document.save();
        write(&*self.disk, &path, text.as_bytes())?;
        self.tell("textDocument/didSave", &json!({ "textDocument": { "uri": uri } }));
        Ok(())
    }

    /// Another program writes, or removes, a file.
    fn write_disk(&mut self, written: &WriteDisk) -> Result<(), String> {
        let path = self.path_of(&written.path)?;
        let there = self.disk.metadata(&path).is_ok();
        match &written.text {
            Some(text) => write(&*self.disk, &path, text.as_bytes())?,
            None => self.disk.remove(&path).map_err(|error| format!("`{}`: {error}", written.path))?,
        }
        if !written.noticed {
            return Ok(());
        }
        let uri = self.uri_of(&written.path)?;
        // 1: made, 2: changed, 3: removed.
        let kind = if written.text.is_none() { 3 } else { i32::from(there) + 1 };
        let params = json!({ "changes": [{ "uri": uri, "type": kind }] });
        self.tell("workspace/didChangeWatchedFiles", &params);
        if let Some(text) = &written.text
            && self.documents.get(&uri).is_some_and(|document| !document.unsaved())
        {
            self.reload(&uri, text);
        }
        Ok(())
    }

    /// Reads a document's file anew: Neovim closes it and opens it again.
    fn reload(&mut self, uri: &str, file: &str) {
        let encoding = self.encoding;
        let Some(document) = self.documents.get_mut(uri) else { return };
        if self.manner.is_neovim() {
            let language = document.language.clone();
            self.close(uri);
            self.put(uri, Document::new(self.manner, &language, file, true));
        } else {
            let changes = document.reload(file, encoding);
            self.told(uri, vec![changes]);
        }
    }

    /// A language server says something, or is there from now on.
    fn diagnostics(&mut self, said: &Diagnostics) -> Result<(), String> {
        let uri = said.path.as_deref().map(|path| self.uri_of(path)).transpose()?;
        if let Some(rules) = &said.rules {
            let patterns = Patterns::of_rules(rules)?;
            self.sources.insert(said.source.clone(), Source { uri: uri.clone(), patterns });
            let open: Vec<String> = self.documents.keys().cloned().collect();
            for open in open.iter().filter(|open| uri.as_ref().is_none_or(|uri| uri == *open)) {
                self.tell_sources(open);
                self.check(open);
            }
        }
        if let (Some(items), Some(uri)) = (&said.items, uri) {
            let path = said.path.as_deref().unwrap_or_default();
            let version = said.version.map_or_else(|| self.document(path).map(|document| document.version), Ok)?;
            let params = self.report(&said.source, &uri, version, items);
            self.tell("ropewalk/didChangeDiagnostics", &params);
        }
        Ok(())
    }

    /// How it behaves from now on.
    fn behave(&mut self, behaviour: &Behaviour) {
        self.manner = behaviour.manner.unwrap_or(self.manner);
        self.abilities.extend(behaviour.abilities.clone());
        self.troubles.extend(behaviour.next.iter().cloned());
        self.echo = behaviour.echo.or(self.echo);
        self.delay_ms = behaviour.delay_ms.unwrap_or(self.delay_ms);
        self.split = behaviour.split.or(self.split);
    }
}

fn lines_of(document: &Document) -> usize {
    document.text().line_count()
}

/// The path of a `file:` URI.
pub(super) fn file_path(uri: &str) -> Option<PathBuf> {
    Url::parse(uri).ok().filter(|url| url.scheme() == "file")?.to_file_path().ok()
}

/// Writes a file, with the folders that it needs.
fn write(disk: &dyn Disk, path: &Path, bytes: &[u8]) -> Result<(), String> {
    let shown = path.display();
    if disk.metadata(path).is_ok() {
        return disk.overwrite(path, bytes).map_err(|error| format!("`{shown}`: {error}"));
    }
    let folder = path.parent().unwrap_or(path);
    let made = disk.create_dir_all(folder).and_then(|()| disk.create(path, bytes));
    made.map_err(|error| format!("`{shown}`: {error}"))
}
