//! Documents and files as their sources know them: a row of numbered texts each.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use tokio::time::Instant;

use super::{Base, Hub, ServerId, SourceKey, habits_mut};
use crate::languages::client::Command;
use crate::languages::known;
use crate::languages::problems::{self, Located};
use crate::languages::settle::{FIRST_REV, Rev, Track};
use crate::languages::sources::SourceName;
use crate::text::{Splice, Text, diff};
use crate::workspace::documents::{DocEvent, Snapshot};
use crate::workspace::{Key, Target};

/// So many texts of a document are remembered.
const TEXTS: usize = 64;

/// So many files that no editor has open are kept open at servers.
const FILES: usize = 64;

/// A text of a document.
#[derive(Debug, Clone)]
pub(super) struct Revision {
    pub(super) rev: Rev,
    /// The editor's epoch and version.
    pub(super) version: Option<(u64, i32)>,
    pub(super) text: Text,
    /// What turned the text before into this one, one after the other.
    steps: Arc<[Splice]>,
}

/// Where a document is served, for one kind of server.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Place {
    /// It is being looked for.
    Looking,
    /// At this server.
    At(ServerId),
    /// Nowhere, since that server must not run here.
    Untrusted { name: String, detail: String },
    /// Nowhere, for this reason; found out at this time.
    Absent { name: String, detail: String, missing: bool, since: Instant },
}

/// A document or file.
#[derive(Debug)]
pub(super) struct Doc {
    /// Its URI as the editor spells it.
    pub(super) uri: String,
    /// Its language, by the protocol's name; empty when nobody knows.
    pub(super) language: String,
    /// The editor has it open, in this epoch.
    pub(super) open: Option<u64>,
    /// Its texts, oldest first; never empty.
    versions: VecDeque<Revision>,
    /// The text that is on the disk.
    pub(super) saved: Option<Rev>,
    /// Where it is served, by kind of server.
    pub(super) places: BTreeMap<String, Place>,
    pub(super) tracks: BTreeMap<SourceKey, Track>,
    /// The sources the editor named for it.
    pub(super) named: Vec<SourceName>,
    /// A tool has looked at it, so that servers shall know it.
    pub(super) wanted: bool,
    /// It is about to be made, and no server knows it until it is there and has been announced.
    pub(super) unborn: bool,
    /// Whether it lies in one of the folders.
    inside: bool,
    /// When it was last looked at, in looks.
    used: u64,
}

impl Doc {
    fn new(uri: &str, language: &str, text: &Text, version: Option<(u64, i32)>) -> Doc {
        let first = Revision { rev: FIRST_REV, version, text: text.clone(), steps: Arc::new([]) };
        Doc {
            uri: uri.to_owned(),
            language: known::language(language).to_owned(),
            open: version.map(|(epoch, _)| epoch),
            versions: VecDeque::from([first]),
            saved: None,
            places: BTreeMap::new(),
            tracks: BTreeMap::new(),
            named: Vec::new(),
            wanted: false,
            unborn: false,
            inside: true,
            used: 0,
        }
    }

    /// The newest text.
    pub(super) fn now(&self) -> &Revision {
        &self.versions[self.versions.len() - 1]
    }

    /// A text by our number.
    pub(super) fn at(&self, rev: Rev) -> Option<&Revision> {
        self.versions.iter().rev().find(|version| version.rev == rev)
    }

    /// Our number of a version of the editor's, in the epoch that is open.
    pub(super) fn rev_of(&self, version: i32) -> Option<Rev> {
        let wanted = self.open.map(|epoch| (epoch, version));
        self.versions
            .iter()
            .rev()
            .find(|known| known.version.is_some() && known.version == wanted)
            .map(|known| known.rev)
    }

    /// Adds a text; its number.
    fn push(&mut self, text: Text, version: Option<(u64, i32)>, steps: Arc<[Splice]>) -> Rev {
        let rev = self.now().rev + 1;
        self.versions.push_back(Revision { rev, version, text, steps });
        if self.versions.len() > TEXTS {
            self.versions.pop_front();
        }
        rev
    }

    /// Problems of the text `from` in bytes of the text `to`, a later one. `before` is the text `from`, for the case
    /// that it is forgotten.
    pub(super) fn moved(&self, list: &[Located], from: Rev, to: Rev, before: Option<&Text>) -> Vec<Located> {
        if from == to {
            return list.to_vec();
        }
        let steps = self.versions.iter().filter(|version| version.rev > from && version.rev <= to);
        if self.versions.front().is_some_and(|oldest| oldest.rev <= from + 1) {
            return steps
                .flat_map(|version| version.steps.iter())
                .fold(list.to_vec(), |list, step| problems::moved(&list, std::slice::from_ref(step)));
        }
        match (before, self.at(to)) {
            (Some(before), Some(after)) => {
                problems::moved(list, &diff::splices(&before.to_string(), &after.text.to_string()))
            }
            _ => list.to_vec(),
        }
    }

    /// The steps from the text `from` (not included) on.
    pub(super) fn steps_after(&self, from: Rev) -> impl Iterator<Item = &Splice> {
        self.versions.iter().filter(move |version| version.rev > from).flat_map(|version| version.steps.iter())
    }

    /// The steps from the text `from` (not included) to the text `to`.
    pub(super) fn steps_between(&self, from: Rev, to: Rev) -> impl Iterator<Item = &Splice> {
        let between = self.versions.iter().filter(move |version| version.rev > from && version.rev <= to);
        between.flat_map(|version| version.steps.iter())
    }

    /// What was not found is looked for again.
    pub(super) fn look_again(&mut self) {
        self.places.retain(|_, place| matches!(place, Place::At(_) | Place::Looking));
    }

    /// The servers of ours that have it.
    pub(super) fn servers(&self) -> impl Iterator<Item = ServerId> {
        self.places.values().filter_map(|place| match place {
            Place::At(id) => Some(*id),
            _ => None,
        })
    }
}

/// Steps as they were applied; one that replaces the whole text is narrowed to what really changed, so that problems
/// elsewhere keep their places.
fn narrowed(before: &Text, steps: impl Iterator<Item = (Splice, Text)>) -> Arc<[Splice]> {
    let mut out = Vec::new();
    let mut before = before.clone();
    for (step, after) in steps {
        if step.range == (0..before.len()) && !before.is_empty() {
            // Several splices of one text, applied from the last to the first, are a row of single steps.
            out.extend(diff::splices(&before.to_string(), &step.text).into_iter().rev());
        } else {
            out.push(step);
        }
        before = after;
    }
    out.into()
}

impl Hub {
    /// The editor said something of a document.
    pub(super) fn document(&mut self, event: DocEvent, now: Instant) {
        match event {
            DocEvent::Opened(after) => self.opened(&after, now),
            DocEvent::Changed { before, steps, after } => {
                if !self.docs.contains_key(&after.key) {
                    self.opened(&after, now);
                    return;
                }
                let steps = steps.iter().map(|step| (step.splice.clone(), step.after.clone()));
                let steps = narrowed(&before.text, steps);
                self.changed(&after.key, after.text.clone(), Some((after.epoch, after.version)), &steps, now);
            }
            DocEvent::Resynced(after) => self.replaced(&after, now),
            DocEvent::Saved(after) => {
                if let Some(doc) = self.docs.get_mut(&after.key) {
                    doc.saved = Some(doc.now().rev);
                }
                self.saved(&after.key, now);
            }
            DocEvent::Closed(before) => self.closed(&before.key, now),
        }
    }

    fn opened(&mut self, after: &Snapshot, now: Instant) {
        if self.docs.contains_key(&after.key) {
            // A file that a tool had looked at, or one that is opened again: the servers that have it keep it.
            self.replaced(after, now);
            return;
        }
        let doc = Doc::new(&after.uri, &after.language_id, &after.text, Some((after.epoch, after.version)));
        self.docs.insert(after.key.clone(), doc);
    }

    /// The editor gave the whole text of a document that is known.
    fn replaced(&mut self, after: &Snapshot, now: Instant) {
        let Some(doc) = self.docs.get_mut(&after.key) else { return };
        doc.uri.clone_from(&after.uri);
        known::language(&after.language_id).clone_into(&mut doc.language);
        if doc.open != Some(after.epoch) {
            doc.open = Some(after.epoch);
            doc.saved = None;
            // The editor's servers got it anew.
            let editors = doc.tracks.iter_mut().filter(|(source, _)| source.is_the_editors());
            editors.for_each(|(_, track)| track.closed());
        }
        let before = doc.now().text.to_string();
        let steps: Arc<[Splice]> = diff::splices(&before, &after.text.to_string()).into_iter().rev().collect();
        self.changed(&after.key, after.text.clone(), Some((after.epoch, after.version)), &steps, now);
        self.born(&after.key);
    }

    /// A file that was about to be made is there, and has been announced: the servers get it.
    pub(super) fn born(&mut self, key: &Key) {
        let Some(doc) = self.docs.get_mut(key).filter(|doc| doc.unborn) else { return };
        doc.unborn = false;
        for id in doc.servers().collect::<Vec<_>>() {
            self.open_at(id, key);
        }
    }

    /// A known document has a new text.
    fn changed(&mut self, key: &Key, text: Text, version: Option<(u64, i32)>, steps: &Arc<[Splice]>, now: Instant) {
        let Some(doc) = self.docs.get_mut(key) else { return };
        let rev = doc.push(text, version, Arc::clone(steps));
        self.aftermath_ends(key, now);
        let Some(doc) = self.docs.get(key) else { return };
        let servers: Vec<ServerId> = doc.servers().collect();
        for id in servers {
            let command = Command::Change { key: key.clone(), rev, steps: Arc::clone(steps) };
            self.tell(id, command);
        }
        self.sent_by_editor(key, rev, now);
        self.moved_on(key, rev);
    }

    /// The editor's own servers get a text when we do.
    pub(super) fn sent_by_editor(&mut self, key: &Key, rev: Rev, now: Instant) {
        let Some(doc) = self.docs.get_mut(key) else { return };
        for (source, track) in &mut doc.tracks {
            let SourceKey::Editor(id) = source else { continue };
            let Some(source) = self.editors.get_mut(id) else { continue };
            track.sent(rev, now, &mut source.habits, source.work.noise());
        }
    }

    /// What is on the disk is the newest text.
    fn saved(&mut self, key: &Key, now: Instant) {
        let Some(doc) = self.docs.get(key) else { return };
        let rev = doc.now().rev;
        let servers: Vec<ServerId> = doc.servers().collect();
        for source in self.sources(key).into_iter().filter(SourceKey::reads_the_disk) {
            let noise = self.noise(&source);
            let habits = habits_mut(&mut self.running, &mut self.editors, &source);
            let (Some(doc), Some(habits)) = (self.docs.get_mut(key), habits) else { continue };
            doc.tracks.entry(source).or_default().sent(rev, now, habits, noise);
        }
        for id in servers {
            self.tell(id, Command::Save(key.clone()));
        }
    }

    pub(super) fn closed(&mut self, key: &Key, now: Instant) {
        let Some(doc) = self.docs.remove(key) else { return };
        for id in doc.servers() {
            self.tell(id, Command::Close(key.clone()));
            self.let_go(id, key);
        }
        self.late.retain(|late| !late.is_of(key));
        self.gone(key, now);
    }

    /// A tool looks at a document or file.
    pub(super) fn look(&mut self, target: &Target, language_id: Option<&str>, text: &Text, now: Instant) {
        if self.over {
            return;
        }
        self.looks += 1;
        let language = language_id.or_else(|| known::language_of(&target.uri)).unwrap_or_default();
        let doc = self.docs.entry(target.key.clone()).or_insert_with(|| {
            let mut doc = Doc::new(&target.uri, language, text, None);
            doc.saved = Some(FIRST_REV);
            doc
        });
        doc.used = self.looks;
        doc.wanted = true;
        doc.inside = target.inside;
        if doc.language.is_empty() {
            known::language(language).clone_into(&mut doc.language);
        }
        self.on_disk(&target.key, text, now);
        if !text.is_empty() {
            self.born(&target.key);
        }
        self.serve(&target.key, now);
        self.ask_about_all(&target.key, true);
        self.forget_files(&target.key, now);
    }

    /// A file that no editor has open holds this text.
    pub(super) fn on_disk(&mut self, key: &Key, text: &Text, now: Instant) {
        let Some(doc) = self.docs.get_mut(key).filter(|doc| doc.open.is_none()) else { return };
        if doc.now().text != *text {
            let before = doc.now().text.to_string();
            let steps: Arc<[Splice]> = diff::splices(&before, &text.to_string()).into_iter().rev().collect();
            self.changed(key, text.clone(), None, &steps, now);
            if let Some(doc) = self.docs.get_mut(key) {
                doc.saved = Some(doc.now().rev);
            }
            self.saved(key, now);
        }
    }

    /// A file that others changed holds this text: servers that have it hear of it at once, and not when a tool looks.
    pub(super) fn reread(&mut self, key: &Key, text: &str, now: Instant) {
        let Some(breaks) = self.docs.get(key).map(|doc| doc.now().text.breaks()) else { return };
        self.on_disk(key, &Text::new(text, breaks), now);
    }

    /// Closes the files that nobody looked at for longest.
    fn forget_files(&mut self, keep: &Key, now: Instant) {
        let idle = |(key, doc): &(&Key, &Doc)| doc.open.is_none() && *key != keep && !self.is_waited_for(key);
        let mut files: Vec<(u64, Key)> =
            self.docs.iter().filter(idle).map(|(key, doc)| (doc.used, key.clone())).collect();
        files.sort();
        let surplus = files.len().saturating_sub(FILES);
        for (_, key) in files.into_iter().take(surplus) {
            self.closed(&key, now);
        }
    }

    /// What each source last said of a document, as the baseline of an edit.
    pub(super) fn base(&mut self, key: &Key, now: Instant) -> Option<Base> {
        let sources = self.sources(key);
        let doc = self.docs.get_mut(key)?;
        let (rev, text) = (doc.now().rev, doc.now().text.clone());
        let mut sets = BTreeMap::new();
        for source in sources {
            let noise = self.noise(&source);
            let doc = self.docs.get_mut(key)?;
            let habits = habits_mut(&mut self.running, &mut self.editors, &source);
            let (Some(track), Some(habits)) = (doc.tracks.get_mut(&source), habits) else { continue };
            track.look_back(now, habits, noise);
            if let Some(set) = track.known(rev).cloned() {
                let moved = doc.moved(&set.content.problems, set.rev, rev, None);
                sets.insert(source, (set.rev, moved.into()));
            }
        }
        for id in self.docs.get(key)?.servers().collect::<Vec<_>>() {
            // What the server says of the text before the edit makes the better baseline.
            self.tell(id, Command::Pull(key.clone()));
        }
        self.ask_about_all(key, true);
        Some(Base { rev, text, sets, news: self.heard })
    }

    /// Whether servers of ours shall serve a document.
    pub(super) fn serves(&self, key: &Key) -> bool {
        use crate::config::OwnServers;
        let Some(doc) = self.docs.get(key) else { return false };
        let outside = !doc.inside && !self.folders.is_empty() && doc.open.is_none();
        if self.over || !doc.wanted || outside {
            return false;
        }
        match self.settings.diagnostics.own_servers {
            OwnServers::Off => false,
            OwnServers::On => true,
            OwnServers::Auto => {
                !self.docs.values().any(|other| other.language == doc.language && !other.named.is_empty())
            }
        }
    }
}
