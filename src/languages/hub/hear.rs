//! What sources say: published, answered, forwarded; put to the text it is about.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;
use tokio::time::Instant;

use super::{EditorSource, Hub, ServerId, SourceKey, Work};
use crate::languages::problems::{self, Parsed, RawProblem};
use crate::languages::settle::{Content, Habits, PAIR, Rev, Stamp, Track};
use crate::languages::sources::{Delivery, Forwarded, StampedBy};
use crate::languages::verdict::Severity;
use crate::text::{Encoding, LineBreaks, Text};
use crate::workspace::Key;

/// So many changes of what is said of files are remembered.
const NEWS: usize = 512;

/// So many files with errors are remembered over all sources.
const FILES: usize = 4096;

/// The errors that a source told of a file.
pub(super) type Said = Arc<[RawProblem]>;

/// A source told other errors of a file than before.
#[derive(Debug, Clone)]
pub(super) struct News {
    /// Counts everything that was heard.
    pub(super) number: u64,
    pub(super) source: SourceKey,
    pub(super) uri: String,
    pub(super) before: Said,
    pub(super) now: Said,
    /// How the source counts.
    pub(super) encoding: Encoding,
}

/// A text with its lines ended as servers count them, whatever the editor counts.
fn as_servers_count(text: &Text) -> Text {
    let has_cr = text.rope().chunks().any(|chunk| memchr::memchr(b'\r', chunk.as_bytes()).is_some());
    // Without a CR both ways of counting are the same.
    if has_cr { text.with_breaks(LineBreaks::Lsp) } else { text.clone() }
}

fn located(parsed: &Parsed, text: &Text, encoding: Encoding) -> Content {
    let text = as_servers_count(text);
    let problems = parsed.problems.iter().map(|problem| problems::locate(problem, &text, encoding)).collect();
    Content { problems, unread: parsed.unread }
}

/// Reads a list of diagnostics. One of which nothing can be read is no report: it is not the same as an empty one.
pub(super) fn parsed(items: &[Value], uri: &str) -> Result<Parsed, String> {
    let parsed = problems::parse(items);
    for remark in &parsed.remarks {
        tracing::warn!(uri, remark, "an odd diagnostic");
    }
    match parsed.unread {
        unread @ 1.. if parsed.problems.is_empty() => Err(format!("none of its {unread} diagnostics is an object")),
        _ => Ok(parsed),
    }
}

/// In words for people and models, of which the source is "it".
fn unreadable(why: &str) -> String {
    format!("its report could not be read: {why}")
}

impl Hub {
    /// The document a URI means, if one is known by it.
    pub(super) fn key_of(&self, uri: &str) -> Option<Key> {
        let by_name = || self.docs.iter().find(|(_, doc)| doc.uri == uri).map(|(key, _)| key.clone());
        let path =
            url::Url::parse(uri).ok().filter(|url| url.scheme() == "file").and_then(|url| url.to_file_path().ok());
        match path.map(Key::File) {
            Some(key) if self.docs.contains_key(&key) => Some(key),
            file => by_name().or(file),
        }
    }

    pub(super) fn editor_source(&mut self, id: &str, name: &str) -> &mut EditorSource {
        let habits = Habits::new(self.quiet(), self.pinned);
        let source = self.editors.entry(id.to_owned()).or_insert_with(|| EditorSource {
            name: String::new(),
            on_save: habits.clone(),
            habits,
            work: Work::default(),
            pulls: false,
            pushes_too: false,
        });
        if source.name.is_empty() || (name != id && source.name != name) {
            name.clone_into(&mut source.name);
        }
        source
    }

    /// A server of ours published.
    pub(super) fn published(
        &mut self,
        id: ServerId,
        uri: &str,
        version: Option<i32>,
        items: Result<Vec<Value>, String>,
        now: Instant,
    ) {
        let raw = match items.and_then(|items| parsed(&items, uri)) {
            Ok(raw) => raw,
            Err(why) => return self.published_nothing(id, uri, version, &why),
        };
        let running = &mut self.running[id];
        let encoding = running.encoding;
        // A server that can be asked and publishes all the same speaks of what it checked by other means, on the disk.
        if running.pulls && !running.pushes_too {
            if raw.problems.is_empty() {
                return;
            }
            running.pushes_too = true;
        }
        let on_save = running.pulls;
        let source = if on_save { SourceKey::OnSave(id) } else { SourceKey::Own(id) };
        let news = self.note(&source, uri, &raw.problems, encoding, true);
        let running = &mut self.running[id];
        running.spoke = true;
        // One that goes on with what an edit broke elsewhere is waited for as one that publishes twice.
        let last = running.published.replace((uri.to_owned(), now));
        if news && last.is_some_and(|(last, at)| last != uri && now - at <= PAIR) {
            running.habits.paired();
        }
        let Some(key) = self.key_of(uri) else { return };
        let running = &mut self.running[id];
        let Some(doc) = self.docs.get_mut(&key) else { return };
        let saved = doc.saved;
        // Of one that is not known to check the disk it cannot be told which text it means once the user has typed on.
        if on_save && running.server.checks_on_save.is_none() && saved != Some(doc.now().rev) {
            return;
        }
        // What bears the number of an older text is not about the saved one.
        let older =
            version.is_some_and(|version| doc.at(version).is_some() && saved.is_some_and(|saved| version < saved));
        if on_save && older {
            return;
        }
        let noise = running.work.noise();
        let habits = if on_save { &mut running.on_save } else { &mut running.habits };
        if let (true, Some(saved)) = (on_save, saved) {
            let track = doc.tracks.entry(source.clone()).or_default();
            if track.newest().is_none() {
                track.sent(saved, now, habits, noise);
            }
        }
        let Some(newest) = doc.tracks.get(&source).and_then(Track::newest) else { return };
        let stamp = match version {
            _ if on_save => Stamp::None,
            None => Stamp::None,
            Some(version) if version <= newest && doc.at(version).is_some() => Stamp::Text(version),
            Some(_) => Stamp::Foreign,
        };
        let about = if let Stamp::Text(rev) = stamp { rev } else { newest };
        let Some(text) = doc.at(about).map(|version| version.text.clone()) else { return };
        let content = located(&raw, &text, encoding);
        if let Some(track) = doc.tracks.get_mut(&source) {
            track.heard(stamp, version.filter(|_| !on_save), content, now, habits);
        }
    }

    /// A server of ours published something that nobody can read.
    fn published_nothing(&mut self, id: ServerId, uri: &str, version: Option<i32>, why: &str) {
        let key = self.key_of(uri);
        let running = &mut self.running[id];
        tracing::warn!(server = running.server.name, uri, why, "a report that could not be read");
        // One that can be asked is asked.
        let source = match (running.pulls, running.pushes_too) {
            (true, false) => return,
            (true, true) => SourceKey::OnSave(id),
            (false, _) => SourceKey::Own(id),
        };
        running.spoke = true;
        let Some(doc) = key.and_then(|key| self.docs.get_mut(&key)) else { return };
        let Some(track) = doc.tracks.get_mut(&source) else { return };
        let known = |rev: &Rev| track.newest().is_some_and(|newest| *rev <= newest);
        track.unread(version.filter(known), &unreadable(why));
    }

    /// A server of ours did not answer.
    pub(super) fn pull_failed(&mut self, id: ServerId, key: &Key, rev: Rev, why: &str) {
        let server = &self.running[id].server.name;
        tracing::warn!(server, ?key, rev, why, "a server did not answer for a document");
        if let Some(doc) = self.docs.get_mut(key) {
            doc.tracks.entry(SourceKey::Own(id)).or_default().failed(rev, why);
        }
    }

    /// A server of ours answered. `had`: the texts of all documents it had when it was asked.
    #[expect(clippy::too_many_arguments, reason = "they are the fields of one event")]
    pub(super) fn pulled(
        &mut self,
        id: ServerId,
        key: &Key,
        rev: Rev,
        items: &[Value],
        related: Vec<(String, Vec<Value>)>,
        had: &BTreeMap<Key, Rev>,
        now: Instant,
    ) {
        let Some(uri) = self.docs.get(key).map(|doc| doc.uri.clone()) else { return };
        let source = SourceKey::Own(id);
        let encoding = self.running[id].encoding;
        if self.running[id].work.loading() {
            self.running[id].again.insert(key.clone());
            if let Some(doc) = self.docs.get_mut(key) {
                doc.tracks.entry(source).or_default().failed(rev, "it is still loading the project");
            }
            return;
        }
        match parsed(items, &uri) {
            Ok(raw) => {
                self.note(&source, &uri, &raw.problems, encoding, true);
                self.running[id].spoke = true;
                self.answer(id, key, rev, &raw, now);
            }
            Err(why) => self.pull_failed(id, key, rev, &unreadable(&why)),
        }
        for (uri, items) in related {
            let raw = match parsed(&items, &uri) {
                Ok(raw) => raw,
                Err(why) => {
                    tracing::warn!(uri, why, "a report of another document was left out");
                    continue;
                }
            };
            self.note(&source, &uri, &raw.problems, encoding, true);
            let Some(key) = self.key_of(&uri) else { continue };
            let newest = self.docs.get(&key).and_then(|doc| doc.tracks.get(&source)).and_then(Track::newest);
            // Of a document that changed in the meantime nobody knows which text is meant.
            if let Some(rev) = newest.filter(|newest| had.get(&key) == Some(newest)) {
                self.answer(id, &key, rev, &raw, now);
            }
        }
    }

    fn answer(&mut self, id: ServerId, key: &Key, rev: Rev, raw: &Parsed, now: Instant) {
        let running = &mut self.running[id];
        let Some(doc) = self.docs.get_mut(key) else { return };
        let Some(text) = doc.at(rev).map(|version| version.text.clone()) else { return };
        let content = located(raw, &text, running.encoding);
        let track = doc.tracks.entry(SourceKey::Own(id)).or_default();
        track.heard(Stamp::Answer(rev), None, content, now, &mut running.habits);
    }

    /// The editor forwarded what a server of its own said.
    pub(super) fn forwarded(&mut self, forwarded: Forwarded, now: Instant) {
        let Forwarded { uri, version, stamp, source, position_encoding: encoding, kind, diagnostics } = forwarded;
        let raw = parsed(&diagnostics, &uri);
        let editor = self.editor_source(&source.id, &source.name);
        editor.pulls |= kind == Delivery::Pull;
        // As with servers of ours: one that can be asked and publishes all the same speaks of the disk.
        let on_save = editor.pulls && kind == Delivery::Push;
        if on_save && !editor.pushes_too {
            if raw.as_ref().is_ok_and(|raw| raw.problems.is_empty()) {
                return;
            }
            editor.pushes_too = true;
        }
        let id =
            if on_save { SourceKey::EditorOnSave(source.id.clone()) } else { SourceKey::Editor(source.id.clone()) };
        if let Ok(raw) = &raw {
            self.note(&id, &uri, &raw.problems, encoding, true);
        }
        let Some(key) = self.key_of(&uri) else { return };
        let Some(doc) = self.docs.get_mut(&key) else { return };
        let Some(editor) = self.editors.get_mut(&source.id) else { return };
        let noise = editor.work.noise();
        let habits = if on_save { &mut editor.on_save } else { &mut editor.habits };
        let has = if on_save { doc.saved } else { Some(doc.now().rev) };
        let told = version.filter(|_| stamp == StampedBy::Server).and_then(|version| doc.rev_of(version));
        let older = told.is_some_and(|told| has.is_some_and(|has| told < has));
        if on_save && (has != Some(doc.now().rev) || older) {
            return;
        }
        let track = doc.tracks.entry(id.clone()).or_default();
        if let Some(has) = has.filter(|_| track.newest().is_none()) {
            track.sent(has, now, habits, noise);
        }
        let Some(newest) = track.newest() else { return };
        let number = version.filter(|_| stamp == StampedBy::Server && !on_save);
        let known = number.and_then(|version| doc.rev_of(version));
        let raw = match raw {
            Ok(raw) => raw,
            Err(why) => {
                tracing::warn!(source = source.name, uri, why, "a report that could not be read");
                if let Some(track) = doc.tracks.get_mut(&id) {
                    track.unread(known, &unreadable(&why));
                }
                return;
            }
        };
        let stamp = match (number, known, kind) {
            (None, _, _) => Stamp::None,
            (Some(_), Some(rev), Delivery::Pull) => Stamp::Answer(rev),
            (Some(_), Some(rev), Delivery::Push) => Stamp::Text(rev),
            (Some(_), None, _) => Stamp::Foreign,
        };
        let about = known.unwrap_or(newest);
        let Some(text) = doc.at(about).map(|version| version.text.clone()) else { return };
        let content = located(&raw, &text, encoding);
        // Stamps rise with our own numbers of the texts, so they are compared as those.
        let number = number.filter(|_| kind == Delivery::Push).map(|number| known.unwrap_or(number));
        if let Some(track) = doc.tracks.get_mut(&id) {
            track.heard(stamp, number, content, now, habits);
        }
    }

    /// Remembers how the errors of a file changed, for the files that nobody edits.
    /// Whether they did. Without `news` it is taken for what was so before.
    pub(super) fn note(
        &mut self,
        source: &SourceKey,
        uri: &str,
        raw: &[RawProblem],
        encoding: Encoding,
        news: bool,
    ) -> bool {
        let errors: Said = raw.iter().filter(|problem| problem.severity == Severity::Error).cloned().collect();
        self.heard += 1;
        let place = (source.clone(), uri.to_owned());
        let before = self.said.get(&place).cloned().unwrap_or_default();
        if *before == *errors {
            return false;
        }
        if errors.is_empty() {
            self.said.remove(&place);
        } else if self.said.len() < FILES || self.said.contains_key(&place) {
            self.said.insert(place, Arc::clone(&errors));
        }
        if !news {
            return false;
        }
        let news =
            News { number: self.heard, source: source.clone(), uri: uri.to_owned(), before, now: errors, encoding };
        self.news.push_back(news);
        if self.news.len() > NEWS {
            self.news.pop_front();
        }
        true
    }

    /// The errors that appeared in other files since `since`: by source and URI, with how the source counts.
    pub(super) fn appeared(&self, since: u64) -> BTreeMap<(SourceKey, String), (Vec<RawProblem>, Encoding)> {
        let mut spans: BTreeMap<(SourceKey, String), (Said, Said, Encoding)> = BTreeMap::new();
        for news in self.news.iter().filter(|news| news.number > since) {
            let span = spans
                .entry((news.source.clone(), news.uri.clone()))
                .or_insert_with(|| (Arc::clone(&news.before), Arc::clone(&news.now), news.encoding));
            span.1 = Arc::clone(&news.now);
        }
        let new = spans.into_iter().map(|(place, (before, now, encoding))| (place, (surplus(&before, &now), encoding)));
        new.filter(|(_, (new, _))| !new.is_empty()).collect()
    }

    /// The path of a `file:` URI.
    pub(super) fn path_of(uri: &str) -> Option<PathBuf> {
        url::Url::parse(uri).ok().filter(|url| url.scheme() == "file").and_then(|url| url.to_file_path().ok())
    }
}

/// What is in `now` more often than in `before`, places aside: they move with edits that nobody told us of.
pub(super) fn surplus(before: &[RawProblem], now: &[RawProblem]) -> Vec<RawProblem> {
    let same = |a: &RawProblem, b: &RawProblem| (&a.source, &a.code, &a.message) == (&b.source, &b.code, &b.message);
    let mut left: Vec<&RawProblem> = before.iter().collect();
    let mut new = Vec::new();
    for problem in now {
        match left.iter().position(|old| same(old, problem)) {
            Some(at) => drop(left.swap_remove(at)),
            None => new.push(problem.clone()),
        }
    }
    new
}
