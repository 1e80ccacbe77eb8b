//! What is said after a wait is over: answers that it did not get, and errors that appear in other files.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::Instant;

use super::documents::Place;
use super::hear::{Said, surplus};
use super::report::OTHER_FILES;
use super::wait::{WaitDoc, Waiting};
use super::{Effect, Hub, SourceKey};
use crate::languages::problems::{RawProblem, same_words};
use crate::languages::settle::{PAIR, State};
use crate::languages::verdict::{DiagnosticsReport, FileReport, Verdict};
use crate::text::Encoding;
use crate::workspace::Key;

/// So long after the beginning of its wait an answer is still told.
const LATE: Duration = Duration::from_mins(5);

/// So long if it takes a save, which is up to a person.
const SAVE: Duration = Duration::from_hours(1);

/// A document of which more will be known. There is never more than one of each.
pub(super) struct Late {
    /// The wait as it ended, with this one document.
    waiting: Waiting,
    /// The sources whose answer is told when it comes.
    owed: BTreeSet<SourceKey>,
    /// The kinds of servers that were still being looked for.
    looking: BTreeSet<String>,
}

impl Late {
    fn doc(&self) -> &WaitDoc {
        &self.waiting.docs[0]
    }

    pub(super) fn is_of(&self, key: &Key) -> bool {
        self.doc().key == *key
    }

    fn is_of_interest(&self, now: Instant) -> bool {
        let verdict = |source| self.doc().settled.get(source).map(|settled| settled.verdict);
        let save = self.owed.iter().any(|source| verdict(source) == Some(Verdict::NeedsSave));
        let patience = if save { SAVE } else { LATE };
        !(self.owed.is_empty() && self.looking.is_empty()) && now - self.waiting.started < patience
    }
}

/// A source and the URI of a file.
type FileOf = (SourceKey, String);

/// An edit whose wait is over, and which may have broken other files.
pub(super) struct Aftermath {
    started: Instant,
    /// How much had been heard of other files before the edit.
    since: u64,
    docs: Vec<(Key, String)>,
    encoding: Encoding,
    /// Who had spoken of the documents before the edit, and whether what it says now can come of the edit: no more so
    /// when there is a newer text.
    sources: BTreeMap<SourceKey, bool>,
    /// What had appeared when the wait was over.
    told: BTreeMap<FileOf, Said>,
    /// What was told since, and how the source counts.
    late: BTreeMap<FileOf, (Vec<RawProblem>, Encoding)>,
    /// How much had been heard when it was last looked at.
    seen: u64,
    /// When what was heard since is told: it often comes in bursts.
    due: Option<Instant>,
}

impl Hub {
    /// A new wait tells of its documents whatever is to be told, if it is for a newer text.
    pub(super) fn supersede_late(&mut self, docs: &[WaitDoc]) {
        self.late.retain(|late| docs.iter().all(|doc| !late.is_of(&doc.key) || doc.limit <= late.doc().limit));
    }

    /// What a wait did not get is told when it comes.
    pub(super) fn remember_late(&mut self, waiting: Waiting, now: Instant) {
        self.remember_aftermath(&waiting, now);
        let Waiting { encoding, started, mode, deadline, docs, .. } = waiting;
        for doc in docs.into_iter().filter(|doc| doc.gone.is_none() && doc.least.is_none()) {
            let Some(known) = self.docs.get(&doc.key) else { continue };
            let owed = doc.settled.iter().filter(|(_, settled)| settled.verdict.owes());
            let owed: BTreeSet<SourceKey> = owed.map(|(source, _)| source.clone()).collect();
            let looking = known.places.iter().filter(|(_, place)| **place == Place::Looking);
            let looking: BTreeSet<String> = looking.map(|(kind, _)| kind.clone()).collect();
            let other = self.late.iter().position(|late| late.is_of(&doc.key));
            if let Some(other) = other {
                // One for the same text that has something to compare with stays, and waits for all.
                if self.late[other].doc().base.is_some() && doc.base.is_none() {
                    self.late[other].owed.extend(owed);
                    self.late[other].looking.extend(looking);
                    continue;
                }
                self.late.remove(other);
            }
            let waiting = Waiting { encoding, started, mode, deadline, only: None, docs: vec![doc], ended: true };
            self.late.push(Late { waiting, owed, looking });
        }
        self.late.retain(|late| late.is_of_interest(now));
    }

    fn late_state(&self, late: &Late, source: &SourceKey, now: Instant) -> State {
        let doc = late.doc();
        let track = self.docs.get(&doc.key).and_then(|known| known.tracks.get(source));
        match (track, self.habits(source)) {
            (Some(track), Some(habits)) => track.state(doc.limit..=doc.limit, habits, self.noise(source), now),
            _ => State::Silent,
        }
    }

    pub(super) fn judge_late(&mut self, now: Instant) {
        for mut late in std::mem::take(&mut self.late) {
            if self.came(&mut late, now) {
                let report = self.late_report(&mut late, now);
                self.effects.push(Effect::Late(report));
            }
            if late.is_of_interest(now) {
                self.late.push(late);
            }
        }
        for mut after in std::mem::take(&mut self.aftermaths) {
            let heard = self.news.back().map_or(0, |news| news.number);
            if heard > std::mem::replace(&mut after.seen, heard) {
                after.due.get_or_insert(now + PAIR);
            }
            if after.due.is_some_and(|due| now >= due) {
                self.tell_aftermath(&mut after);
            }
            if now - after.started < LATE {
                self.aftermaths.push(after);
            }
        }
    }

    /// Whether a source answered that was to.
    fn came(&self, late: &mut Late, now: Instant) -> bool {
        let Some(known) = self.docs.get(&late.doc().key) else { return false };
        for kind in std::mem::take(&mut late.looking) {
            match known.places.get(&kind) {
                Some(Place::Looking) => drop(late.looking.insert(kind)),
                Some(Place::At(id)) => drop(late.owed.insert(SourceKey::Own(*id))),
                _ => {}
            }
        }
        let fresh = |source: &&SourceKey| matches!(self.late_state(late, source, now), State::Fresh(_));
        let fresh: Vec<SourceKey> = late.owed.iter().filter(fresh).cloned().collect();
        late.owed.retain(|source| !fresh.contains(source));
        !fresh.is_empty()
    }

    /// The document as it is known now: also what was told before, for one source alone would call clean what another
    /// has found errors in, or has not checked yet.
    fn late_report(&self, late: &mut Late, now: Instant) -> DiagnosticsReport {
        for source in self.sources(&late.doc().key) {
            self.settle(&mut late.waiting, 0, &source, Duration::ZERO, now);
        }
        let document = self.document_report(&late.waiting, late.doc());
        DiagnosticsReport { documents: vec![document], ..DiagnosticsReport::default() }
    }

    pub(super) fn next_late(&self, now: Instant) -> Option<Instant> {
        let late = self.late.iter().flat_map(|late| late.owed.iter().map(move |source| (late, source)));
        let at = late.filter_map(|(late, source)| match self.late_state(late, source, now) {
            State::At(at) => Some(at),
            _ => None,
        });
        at.chain(self.aftermaths.iter().filter_map(|after| after.due)).min()
    }

    /// From now on errors that appear in other files come of the edits of this wait.
    fn remember_aftermath(&mut self, waiting: &Waiting, now: Instant) {
        let Some(since) = waiting.since() else { return };
        let sources = self.speakers(waiting);
        if sources.is_empty() {
            return;
        }
        let appeared = self.appeared(since).into_iter();
        let told = appeared.map(|(place, (new, _))| (place, Said::from(new))).collect();
        self.aftermaths.push(Aftermath {
            started: now,
            since,
            docs: waiting.docs.iter().map(|doc| (doc.key.clone(), doc.uri.clone())).collect(),
            encoding: waiting.encoding,
            sources: sources.into_iter().map(|source| (source, true)).collect(),
            told,
            late: BTreeMap::new(),
            seen: self.news.back().map_or(0, |news| news.number),
            due: None,
        });
    }

    /// A document has another text: what its sources say of other files from now on may come of that. Only what was told
    /// already is still taken back when it goes away.
    pub(super) fn aftermath_ends(&mut self, key: &Key, now: Instant) {
        if self.aftermaths.is_empty() {
            return;
        }
        let sources = self.sources(key);
        for mut after in std::mem::take(&mut self.aftermaths) {
            let ends = |(source, open): (&SourceKey, &bool)| *open && sources.contains(source);
            if after.sources.iter().any(ends) {
                if after.due.is_some() {
                    self.tell_aftermath(&mut after);
                }
                for (source, open) in &mut after.sources {
                    *open &= !sources.contains(source);
                }
            }
            if after.sources.values().any(|open| *open) || !after.late.is_empty() && now - after.started < LATE {
                self.aftermaths.push(after);
            }
        }
    }

    /// Tells how the errors that appeared in other files differ from what was told of them.
    fn tell_aftermath(&mut self, after: &mut Aftermath) {
        after.due = None;
        let appeared = self.appeared(after.since);
        let places: BTreeSet<&FileOf> = appeared.keys().chain(after.late.keys()).collect();
        let mut changed: Vec<(FileOf, Vec<RawProblem>, Encoding)> = Vec::new();
        for place in places {
            let Some(open) = after.sources.get(&place.0).filter(|_| self.is_another(&place.1, &after.docs)) else {
                continue;
            };
            let before = after.late.get(place);
            let list = match (open, before, appeared.get(place)) {
                (true, _, Some((new, _))) => surplus(after.told.get(place).map_or(&[], |told| &told[..]), new),
                (false, Some((before, _)), _) => self.still_there(place, before),
                _ => Vec::new(),
            };
            let counting = before.map(|(_, counting)| *counting).or(appeared.get(place).map(|(_, counting)| *counting));
            if before.map_or(!list.is_empty(), |(before, _)| *before != list) {
                changed.push((place.clone(), list, counting.unwrap_or_default()));
            }
        }
        let mut report = DiagnosticsReport::default();
        for ((source, uri), list, counting) in changed {
            let file = self.file_report(&source, &uri, list.clone(), counting, after.encoding);
            let edited = after.docs.iter().map(|(_, uri)| uri.clone()).collect();
            report.other_files.push(FileReport { edited, ..file });
            after.late.insert((source, uri), (list, counting));
        }
        report.bound_other_files(OTHER_FILES);
        if !report.other_files.is_empty() {
            self.effects.push(Effect::Late(report));
        }
    }

    /// What is left of these problems.
    fn still_there(&self, place: &FileOf, problems: &[RawProblem]) -> Vec<RawProblem> {
        let mut there: Vec<&RawProblem> = self.said.get(place).map(|said| said.iter().collect()).unwrap_or_default();
        let same = |a: &RawProblem, b: &RawProblem| {
            (&a.source, &a.code, same_words(&a.message)) == (&b.source, &b.code, same_words(&b.message))
        };
        let mut left = problems.to_vec();
        left.retain(|problem| {
            let at = there.iter().position(|other| same(other, problem));
            at.map(|at| there.swap_remove(at)).is_some()
        });
        left
    }
}
