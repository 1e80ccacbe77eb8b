//! Waiting for what sources say of edited texts: which of them, how long, and with what verdict.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::time::Duration;

use tokio::time::Instant;

use super::documents::{Doc, Place};
use super::servers::{Phase, Running};
use super::unmet::Gone;
use super::{Asked, Base, Effect, Hub, Request, SourceKey, WaitId};
use crate::languages::client::Command;
use crate::languages::settle::{Rev, Set, State, Track};
use crate::languages::verdict::Verdict;
use crate::languages::{Edited, WaitMode};
use crate::text::{Encoding, Splice};
use crate::workspace::Key;

/// One that has not said anything of any document since it started may take so long to begin.
const SLOW_START: Duration = Duration::from_secs(20);

/// A wait that is not over.
pub(super) struct Waiting {
    pub(super) encoding: Encoding,
    pub(super) started: Instant,
    pub(super) mode: WaitMode,
    pub(super) deadline: Option<Duration>,
    /// Only sources of these names are waited for; of the others it is told what is there.
    pub(super) only: Option<Vec<String>>,
    pub(super) docs: Vec<WaitDoc>,
    /// Nobody wants to wait any longer.
    pub(super) ended: bool,
}

impl Waiting {
    /// How much had been heard of other files before the first of its edits; `None` if it is about none.
    pub(super) fn since(&self) -> Option<u64> {
        self.docs.iter().filter_map(|doc| doc.base.as_ref().map(|base| base.news)).min()
    }
}

/// A document of a wait.
#[derive(Clone)]
pub(super) struct WaitDoc {
    pub(super) key: Key,
    pub(super) uri: String,
    /// The text after the edit.
    pub(super) want: Rev,
    /// The text that is waited for: `want`, or the next one if the user typed on and left the edit alone.
    pub(super) limit: Rev,
    /// The editor's version of `limit`, or of the newest text while that has not come.
    pub(super) version: Option<i32>,
    pub(super) base: Option<Base>,
    /// Where the edit is, in bytes of the text `limit`.
    spans: Vec<Range<usize>>,
    /// The user typed on more than once, or into the edit.
    superseded: bool,
    /// A version that was asked for and has not come: then `limit` is the text that will be the next one.
    pub(super) least: Option<i32>,
    /// It is not open, or not any more.
    pub(super) gone: Option<Gone>,
    budgets: BTreeMap<SourceKey, Duration>,
    pub(super) settled: BTreeMap<SourceKey, Settled>,
}

/// What is known of a source in the end.
#[derive(Debug, Clone)]
pub(super) struct Settled {
    pub(super) verdict: Verdict,
    /// What it said, if it is fresh.
    pub(super) set: Option<Set>,
    pub(super) at: Instant,
    pub(super) detail: Option<String>,
}

pub(super) enum Judged {
    Settled(Settled),
    /// Not yet; look again at this moment.
    Open(Instant),
}

impl Hub {
    /// Somebody waits for what is said of some documents.
    pub(super) fn wait(&mut self, id: WaitId, request: Request, now: Instant) {
        let Request { documents, wait, encoding } = request;
        let mut docs: Vec<WaitDoc> = Vec::new();
        let mut places = HashMap::with_capacity(documents.len());
        for asked in documents {
            let key = asked.target.key.clone();
            let doc = self.wait_doc(asked, now);
            let place = *places.entry(key.clone()).or_insert(docs.len());
            match docs.get_mut(place) {
                // Several edits of one document: the baseline of the first, the text of the last.
                Some(first) => {
                    let base = first.base.take().or(doc.base);
                    let mut spans = std::mem::take(&mut first.spans);
                    if let Some(known) = self.docs.get(&key) {
                        let steps: Vec<Splice> = known.steps_between(first.limit, doc.limit).cloned().collect();
                        for step in &steps {
                            shift(&mut spans, step);
                        }
                    }
                    spans.extend(doc.spans);
                    *first = WaitDoc { base, spans, ..doc };
                }
                None => docs.push(doc),
            }
        }
        self.supersede_late(&docs);
        let waiting = Waiting {
            encoding,
            started: now,
            mode: wait.wait,
            deadline: wait.deadline_ms.map(Duration::from_millis),
            only: wait.sources,
            docs,
            ended: false,
        };
        let keys: Vec<Key> = waiting.docs.iter().map(|doc| doc.key.clone()).collect();
        let edited: Vec<Key> =
            waiting.docs.iter().filter(|doc| doc.base.is_some()).map(|doc| doc.key.clone()).collect();
        self.waits.insert(id, waiting);
        // Before the documents themselves, so that it is known to be asked when they are answered.
        for key in &edited {
            self.ask_about_all(key, false);
        }
        for key in keys {
            self.ask(&key);
            // The user may have typed on before anybody waited.
            if let Some(newest) = self.docs.get(&key).map(|doc| doc.now().rev) {
                self.moved_on(&key, newest);
            }
        }
    }

    fn wait_doc(&mut self, asked: Asked, now: Instant) -> WaitDoc {
        let Asked { target, base, edited, min_version } = asked;
        let key = target.key.clone();
        let version = edited.as_ref().and_then(|edited| edited.version);
        if let Some(edited) = edited.as_ref().filter(|edited| edited.version.is_none()) {
            if !self.docs.contains_key(&key) {
                self.look(&target, None, &edited.after, now);
            }
            self.on_disk(&key, &edited.after, now);
            self.born(&key);
        }
        let known = self.docs.get(&key);
        let want = match (known, version) {
            (Some(doc), Some(version)) => doc.rev_of(version),
            (Some(doc), None) => Some(doc.now().rev),
            (None, _) => None,
        };
        let gone = Gone::of(known, edited.is_some(), version);
        // A version that has not come yet is waited for; one of a document that is gone never comes.
        let least = min_version.filter(|least| known.is_some_and(|doc| !doc.has(*least)));
        let want = want.unwrap_or_else(|| known.map_or(0, |doc| doc.now().rev)) + i32::from(least.is_some());
        WaitDoc {
            uri: known.map_or(target.uri, |doc| doc.uri.clone()),
            key,
            want,
            limit: want,
            // Without an edit, the report is about the document as it is.
            version: version.or_else(|| known.and_then(Doc::version)),
            base: base.and_then(|base| base.get().cloned()),
            spans: edited.as_ref().map(spans_of).unwrap_or_default(),
            superseded: false,
            least,
            gone,
            budgets: BTreeMap::new(),
            settled: BTreeMap::new(),
        }
    }

    /// Sees to it that everybody who can be asked about a document is.
    fn ask(&mut self, key: &Key) {
        let Some(doc) = self.docs.get(key) else { return };
        let uri = doc.uri.clone();
        let ids: Vec<_> = doc.servers().collect();
        if doc.tracks.keys().any(|source| matches!(source, SourceKey::Editor(_))) {
            self.effects.push(Effect::AskEditor { uri });
        }
        for id in ids {
            self.tell(id, Command::Pull(key.clone()));
        }
    }

    pub(super) fn end_wait(&mut self, id: WaitId, now: Instant) {
        if let Some(waiting) = self.waits.get_mut(&id) {
            waiting.ended = true;
        }
        self.judge_waits(now);
    }

    /// Whether a wait needs a document.
    pub(super) fn is_waited_for(&self, key: &Key) -> bool {
        self.waits.values().any(|waiting| waiting.docs.iter().any(|doc| doc.key == *key))
    }

    /// A document was closed: nobody will say anything of it any more.
    pub(super) fn gone(&mut self, key: &Key, now: Instant) {
        for doc in self.waits.values_mut().flat_map(|waiting| &mut waiting.docs).filter(|doc| doc.key == *key) {
            doc.gone = Some(Gone::Closed);
            let (verdict, words) = Gone::Closed.told();
            // What was said before went with its text: told without that, it would be no problems at all.
            for source in doc.budgets.keys() {
                let settled = Settled { verdict, set: None, at: now, detail: Some(words.to_owned()) };
                let said = doc.settled.entry(source.clone()).or_insert_with(|| settled.clone());
                if said.verdict == Verdict::Fresh {
                    *said = settled;
                }
            }
        }
    }

    /// A document has a text newer than those that are waited for.
    pub(super) fn moved_on(&mut self, key: &Key, newest: Rev) {
        let Some(doc) = self.docs.get(key) else { return };
        let mut ask = false;
        for wanted in self.waits.values_mut().flat_map(|waiting| &mut waiting.docs) {
            // Names last: there may be thousands.
            if newest <= wanted.limit && wanted.least.is_none() || wanted.superseded || wanted.key != *key {
                continue;
            }
            if let Some(least) = wanted.least {
                ask |= wanted.comes(doc, newest, least);
                continue;
            }
            let mut spans = wanted.spans.clone();
            let mut touched = false;
            for step in doc.steps_after(wanted.limit) {
                touched |= spans.iter().any(|span| touches(span, step));
                shift(&mut spans, step);
            }
            // The edit is still there: the newer text is waited for instead, once.
            if touched || wanted.limit > wanted.want {
                wanted.superseded = true;
            } else {
                (wanted.limit, wanted.spans) = (newest, spans);
                // What was said of the text before is not about this one.
                wanted.settled.clear();
                wanted.version = doc.version();
                ask = true;
            }
        }
        if ask {
            self.ask(key);
        }
    }

    /// Who speaks of a document.
    pub(super) fn sources(&self, key: &Key) -> Vec<SourceKey> {
        let Some(doc) = self.docs.get(key) else { return Vec::new() };
        let mut sources = Vec::new();
        for id in doc.servers() {
            sources.push(SourceKey::Own(id));
            if self.speaks_on_save(id, doc) {
                sources.push(SourceKey::OnSave(id));
            }
        }
        for source in doc.tracks.keys() {
            let SourceKey::Editor(id) = source else { continue };
            sources.push(source.clone());
            if self.editor_speaks_on_save(id, doc) {
                sources.push(SourceKey::EditorOnSave(id.clone()));
            }
        }
        sources
    }

    /// Judges what can be judged, and answers the waits that are over.
    pub(super) fn judge_waits(&mut self, now: Instant) {
        let ids: Vec<WaitId> = self.waits.keys().copied().collect();
        for id in ids {
            let Some(mut waiting) = self.waits.remove(&id) else { continue };
            if self.judge_wait(&mut waiting, now).is_none() {
                let report = self.report(&waiting);
                self.remember_late(waiting, now);
                self.effects.push(Effect::Finish { id, report });
            } else {
                self.waits.insert(id, waiting);
            }
        }
    }

    /// When the next of the waits has to be looked at.
    pub(super) fn next_judgement(&self, now: Instant) -> Option<Instant> {
        let wakes = self.waits.values().filter_map(|waiting| self.next_of(waiting, now));
        wakes.min()
    }

    fn next_of(&self, waiting: &Waiting, now: Instant) -> Option<Instant> {
        let mut next: Option<Instant> = None;
        for doc in &waiting.docs {
            let opens = self.open_sources(waiting, doc).into_iter().map(|source| {
                match self.judge(waiting, doc, &source, doc.budgets.get(&source).copied().unwrap_or_default(), now) {
                    Judged::Open(at) => at,
                    Judged::Settled(_) => now,
                }
            });
            let looking = self.is_to_come(waiting, doc).then(|| waiting.started + self.budget_of_looking(waiting));
            next = next.into_iter().chain(opens).chain(looking).min();
        }
        next.or_else(|| self.stays_for_all(waiting, now))
    }

    /// The sources of a document that are waited for and have not been settled.
    fn open_sources(&self, waiting: &Waiting, doc: &WaitDoc) -> Vec<SourceKey> {
        let sources = self.sources(&doc.key).into_iter();
        sources.filter(|source| self.wants(waiting, source) && !doc.settled.contains_key(source)).collect()
    }

    fn wants(&self, waiting: &Waiting, source: &SourceKey) -> bool {
        waiting.only.as_ref().is_none_or(|only| only.contains(&self.id_of(source)))
    }

    /// Whether a document that is waited for has yet to get its version, or a server of it is still being looked for.
    fn is_to_come(&self, waiting: &Waiting, doc: &WaitDoc) -> bool {
        let Some(known) = self.docs.get(&doc.key).filter(|_| doc.gone.is_none()) else { return false };
        if doc.least.is_some() {
            return true;
        }
        let could_be = |kind: &String| match &waiting.only {
            None => true,
            Some(only) => {
                let mut servers = self.table.iter().filter(|server| server.kind == *kind);
                only.contains(kind) || servers.any(|server| only.contains(&server.name))
            }
        };
        known.places.iter().any(|(kind, place)| *place == Place::Looking && could_be(kind))
    }

    fn budget_of_looking(&self, waiting: &Waiting) -> Duration {
        waiting.deadline.unwrap_or(self.cold())
    }

    fn cold(&self) -> Duration {
        Duration::from_millis(self.settings.diagnostics.cold_ms)
    }

    /// Judges every source of a wait; when to look again, or `None` if it is over.
    ///
    /// A source that has answered for one document of several may say more of it when it has read the others, so what is
    /// fresh is looked at anew as long as the wait goes on.
    fn judge_wait(&mut self, waiting: &mut Waiting, now: Instant) -> Option<Instant> {
        let mut next: Option<Instant> = None;
        let looking_until = waiting.started + self.budget_of_looking(waiting);
        for index in 0..waiting.docs.len() {
            let mut sources = self.sources(&waiting.docs[index].key);
            sources.retain(|source| {
                let settled = waiting.docs[index].settled.get(source);
                self.wants(waiting, source) && settled.is_none_or(|settled| settled.verdict == Verdict::Fresh)
            });
            for source in sources {
                let budget = if let Some(budget) = waiting.docs[index].budgets.get(&source) {
                    *budget
                } else {
                    let budget = self.budget(waiting, &waiting.docs[index], &source);
                    waiting.docs[index].budgets.insert(source.clone(), budget);
                    budget
                };
                if let Some(at) = self.settle(waiting, index, &source, budget, now) {
                    next = Some(next.map_or(at, |next| next.min(at)));
                }
            }
            let patient = waiting.mode != WaitMode::None && !waiting.ended;
            if self.is_to_come(waiting, &waiting.docs[index]) && patient && now < looking_until {
                next = Some(next.map_or(looking_until, |next| next.min(looking_until)));
            }
        }
        let next = next.or_else(|| self.stays_for_all(waiting, now));
        if next.is_none() {
            // Those that nobody waited for are told as they are, for they can still find errors.
            for index in 0..waiting.docs.len() {
                for source in self.sources(&waiting.docs[index].key) {
                    if !self.wants(waiting, &source) {
                        self.settle(waiting, index, &source, Duration::ZERO, now);
                    }
                }
            }
        }
        next
    }

    /// Judges one source of one document of a wait, and notes what came of it; when to look again if nothing has.
    pub(super) fn settle(
        &self,
        waiting: &mut Waiting,
        index: usize,
        source: &SourceKey,
        budget: Duration,
        now: Instant,
    ) -> Option<Instant> {
        match self.judge(waiting, &waiting.docs[index], source, budget, now) {
            Judged::Settled(mut settled) => {
                let before = waiting.docs[index].settled.get(source);
                if let Some(before) = before.filter(|before| before.verdict == settled.verdict) {
                    settled.at = before.at;
                }
                waiting.docs[index].settled.insert(source.clone(), settled);
                None
            }
            Judged::Open(at) => {
                waiting.docs[index].settled.remove(source);
                Some(at)
            }
        }
    }

    /// How long a source is waited for, by what it has shown so far.
    fn budget(&self, waiting: &Waiting, doc: &WaitDoc, source: &SourceKey) -> Duration {
        let settings = &self.settings.diagnostics;
        if let Some(deadline) = waiting.deadline {
            return deadline;
        }
        if waiting.mode == WaitMode::Fresh {
            return Duration::from_millis(settings.cold_ms);
        }
        let track = self.docs.get(&doc.key).and_then(|known| known.tracks.get(source));
        let spoke_here = track.is_some_and(Track::spoke);
        let (cold, own) = match source {
            SourceKey::Own(id) | SourceKey::OnSave(id) => {
                let running = &self.running[*id];
                (running.phase != Phase::Ready || !running.spoke, running.server.deadline_ms)
            }
            SourceKey::Editor(_) | SourceKey::EditorOnSave(_) => (false, None),
        };
        let silent = silent_for(track, waiting.started) >= Some(self.cold());
        Duration::from_millis(own.unwrap_or(match (cold, spoke_here) {
            _ if silent => settings.known_ms,
            (true, _) => settings.cold_ms,
            (false, true) => settings.known_ms,
            (false, false) if self.noise(source).open_since.is_some() => settings.cold_ms,
            (false, false) => settings.new_ms,
        }))
    }

    /// Whether a source has had a document for so long, and never said anything of it, that nothing will come: it does not
    /// work on anything, and either speaks of other documents or has had the time of a slow start.
    fn never_reports(&self, source: &SourceKey, track: Option<&Track>, now: Instant) -> bool {
        let spoke = match source {
            SourceKey::Own(id) | SourceKey::OnSave(id) => self.running.get(*id).is_some_and(|running| running.spoke),
            SourceKey::Editor(_) | SourceKey::EditorOnSave(_) => {
                self.docs.values().filter_map(|doc| doc.tracks.get(source)).any(Track::spoke)
            }
        };
        let enough = if spoke { self.cold() } else { self.cold().max(SLOW_START) };
        silent_for(track, now) >= Some(enough) && self.noise(source).open_since.is_none()
    }

    fn judge(&self, waiting: &Waiting, doc: &WaitDoc, source: &SourceKey, budget: Duration, now: Instant) -> Judged {
        let settled = |verdict: Verdict, set: Option<Set>, detail: Option<String>| {
            Judged::Settled(Settled { verdict, set, at: now, detail })
        };
        // One of that name that was opened since is another document, whose texts are numbered anew.
        if let Some(gone) = doc.gone {
            let (verdict, words) = gone.told();
            return settled(verdict, None, Some(words.into()));
        }
        let track = self.docs.get(&doc.key).and_then(|known| known.tracks.get(source));
        let state = track.map_or(State::Silent, |track| {
            self.habits(source)
                .map_or(State::Silent, |habits| track.state(doc.limit..=doc.limit, habits, self.noise(source), now))
        });
        if let State::Fresh(set) = state {
            return settled(Verdict::Fresh, Some(set), None);
        }
        if let Some(running) = self.own(source)
            && let Phase::Down { why, stderr, .. } = &running.phase
        {
            return settled(Verdict::Crashed, None, Some(obituary(&running.server.name, why, stderr)));
        }
        let reads_the_disk = match source {
            SourceKey::Own(id) => !self.running[*id].changes,
            SourceKey::OnSave(_) | SourceKey::EditorOnSave(_) => true,
            SourceKey::Editor(_) => false,
        };
        if reads_the_disk && track.and_then(Track::newest).is_none_or(|rev| rev < doc.limit) {
            return settled(Verdict::NeedsSave, None, Some("it checks the file on the disk".into()));
        }
        if doc.superseded {
            return settled(Verdict::Superseded, None, None);
        }
        let deadline = waiting.started + budget;
        let expired = waiting.ended || now >= deadline || waiting.mode == WaitMode::None;
        if !expired {
            return Judged::Open(if let State::At(at) = state { at.min(deadline) } else { deadline });
        }
        // One that tried to say something of this very text may well have found errors in it.
        if let Some(why) = track.and_then(|track| track.fault(doc.limit..=doc.limit)) {
            return settled(Verdict::Pending, None, Some(why.to_owned()));
        }
        // A check of the disk that was begun has an end, and it has not come.
        let begun = matches!(source, SourceKey::OnSave(_) | SourceKey::EditorOnSave(_));
        if !begun && silent_for(track, waiting.started) >= Some(self.cold()) {
            // One that has only ever failed so far is not one that has nothing to say.
            if let Some(why) = track.and_then(|track| track.fault(Rev::MIN..=doc.limit)) {
                return settled(Verdict::Pending, None, Some(why.to_owned()));
            }
            if self.never_reports(source, track, waiting.started) {
                return settled(Verdict::NeverReported, None, None);
            }
        }
        if waiting.mode == WaitMode::None && track.is_some_and(Track::spoke) {
            return settled(Verdict::Stale, None, None);
        }
        settled(Verdict::Pending, None, None)
    }

    pub(super) fn own(&self, source: &SourceKey) -> Option<&Running> {
        match source {
            SourceKey::Own(id) | SourceKey::OnSave(id) => self.running.get(*id),
            SourceKey::Editor(_) | SourceKey::EditorOnSave(_) => None,
        }
    }
}

/// How long a source has had a document and never said anything of it; `None` if it has, or has not got it.
fn silent_for(track: Option<&Track>, now: Instant) -> Option<Duration> {
    let opened = track.filter(|track| !track.spoke()).and_then(Track::opened_at)?;
    Some(now.saturating_duration_since(opened))
}

/// Where the text that an edit put in lies, in bytes of the text after it.
fn spans_of(edited: &Edited) -> Vec<Range<usize>> {
    let mut order: Vec<&Splice> = edited.splices.iter().collect();
    order.sort_by_key(|splice| (splice.range.start, splice.range.end));
    let (mut old, mut new) = (0, 0);
    order
        .into_iter()
        .map(|splice| {
            let start = new + splice.range.start.saturating_sub(old);
            (old, new) = (splice.range.end, start + splice.text.len());
            start..new
        })
        .collect()
}

/// Whether a change goes into what an edit put in.
fn touches(span: &Range<usize>, step: &Splice) -> bool {
    let range = &step.range;
    if range.is_empty() {
        span.start < range.start && range.start < span.end
    } else {
        range.start < span.end && span.start < range.end
            || (span.is_empty() && range.start < span.start && span.start < range.end)
    }
}

/// Moves places through a change that touches none of them.
fn shift(spans: &mut [Range<usize>], step: &Splice) {
    for span in spans {
        if step.range.end <= span.start {
            let shift = |at: usize| at - step.range.len() + step.text.len();
            *span = shift(span.start)..shift(span.end);
        }
    }
}

/// How a server ended, for people and models.
fn obituary(name: &str, why: &str, stderr: &str) -> String {
    const LINES: usize = 6;
    let lines: Vec<&str> = stderr.lines().filter(|line| !line.trim().is_empty()).collect();
    let end = lines[lines.len().saturating_sub(LINES)..].join("\n");
    if end.is_empty() { format!("{name} {why}") } else { format!("{name} {why}: {end}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_touches_an_edit() {
        for (span, range, expected) in [
            (3..6, 0..3, false),
            (3..6, 0..4, true),
            (3..6, 6..9, false),
            (3..6, 5..9, true),
            (3..6, 3..3, false),
            (3..6, 4..4, true),
            (3..6, 6..6, false),
            (3..3, 2..4, true),
            (3..3, 3..4, false),
            (3..3, 3..3, false),
        ] {
            let step = Splice { range: range.clone(), text: "x".into() };
            assert_eq!(touches(&span, &step), expected, "{span:?} {range:?}");
        }
    }

    #[test]
    fn the_end_of_the_error_stream_is_told() {
        assert_eq!(obituary("x", "ended with exit code 1", ""), "x ended with exit code 1");
        let long = (0..9).map(|line| format!("line {line}\n\n")).collect::<Vec<_>>().concat();
        assert_eq!(obituary("x", "ended", &long), "x ended: line 3\nline 4\nline 5\nline 6\nline 7\nline 8");
    }
}
