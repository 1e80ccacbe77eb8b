//! What was settled, as a report.

use std::collections::{BTreeMap, BTreeSet};

use super::documents::{Doc, Place};
use super::once::once;
use super::wait::{WaitDoc, Waiting};
use super::{Base, Hub, SourceKey};
use crate::config::OwnServers;
use crate::languages::problems::{self, Delta, Located, RawProblem};
use crate::languages::settle::{Rev, Set};
use crate::languages::verdict::{
    Baseline, DiagnosticsReport, DocumentReport, FileReport, Problem, SourceReport, Verdict,
};
use crate::text::{Encoding, LineBreaks, Text};
use crate::workspace::Key;

/// The id under which it is told that no source speaks of a document.
const NOBODY: &str = "language server";

/// Errors in so many other files are told.
pub(super) const OTHER_FILES: usize = 5;

impl Hub {
    /// What came of a wait.
    pub(super) fn report(&self, waiting: &Waiting) -> DiagnosticsReport {
        let documents: Vec<DocumentReport> =
            waiting.docs.iter().map(|doc| self.document_report(waiting, doc)).collect();
        let mut report = DiagnosticsReport { documents, ..DiagnosticsReport::default() };
        report.other_files = self.other_files(waiting);
        report.bound_other_files(OTHER_FILES);
        report
    }

    pub(super) fn document_report(&self, waiting: &Waiting, wanted: &WaitDoc) -> DocumentReport {
        let mut compared: BTreeMap<&SourceKey, Compared> = BTreeMap::new();
        if let Some(doc) = self.docs.get(&wanted.key) {
            for (source, settled) in &wanted.settled {
                let set = settled.set.as_ref();
                if let Some(found) = set.and_then(|set| compare(doc, source, set, wanted.base.as_ref())) {
                    compared.insert(source, found);
                }
            }
        }
        once(&mut compared.values_mut().map(|found| (found.rev, &mut found.delta)).collect::<Vec<_>>());
        let mut sources: Vec<SourceReport> = wanted
            .settled
            .iter()
            .map(|(source, settled)| {
                let waited = u64::try_from((settled.at - waiting.started).as_millis()).unwrap_or(u64::MAX);
                let report = SourceReport::new(self.id_of(source), settled.verdict).with_waited(waited);
                let report = match compared.get(source) {
                    Some(found) => self.with_compared(report, found, waiting.encoding),
                    None => report,
                };
                match &settled.detail {
                    Some(detail) => report.with_detail(detail),
                    None => report,
                }
            })
            .collect();
        match wanted.gone {
            None if wanted.least.is_some() => wanted.tell_unmet(NOBODY, &mut sources),
            None => self.add_absent(wanted, &mut sources),
            Some(gone) if sources.is_empty() => {
                let (verdict, words) = gone.told();
                sources.push(SourceReport::new(NOBODY, verdict).with_detail(words));
            }
            Some(_) => {}
        }
        sources.sort_by(|a, b| a.id.cmp(&b.id));
        DocumentReport { uri: wanted.uri.clone(), version: wanted.version, sources, report_in: None }
    }

    /// A report with what a source said, held against what it had said before the edit.
    fn with_compared(&self, report: SourceReport, found: &Compared, encoding: Encoding) -> SourceReport {
        let max = self.settings.diagnostics.max_per_file;
        let report = report.with_delta(found.baseline, &found.delta, &found.text, encoding, max);
        SourceReport { unread: found.unread, ..report }
    }

    /// Why servers that would serve the document do not.
    fn add_absent(&self, wanted: &WaitDoc, sources: &mut Vec<SourceReport>) {
        let Some(doc) = self.docs.get(&wanted.key) else { return };
        let untrusted = doc.places.values().any(|place| matches!(place, Place::Untrusted { .. }));
        let nobody = sources.is_empty() && !untrusted;
        for (kind, place) in &doc.places {
            let report = match place {
                Place::Untrusted { name, detail } => SourceReport::new(name, Verdict::Untrusted).with_detail(detail),
                Place::Absent { name, detail, missing: true, .. } if nobody => {
                    SourceReport::new(name, Verdict::NoServer).with_detail(detail)
                }
                Place::Looking => SourceReport::new(kind, Verdict::Pending).with_detail("it is being looked for"),
                _ => continue,
            };
            sources.push(report);
        }
        if sources.is_empty() {
            let detail = match self.settings.diagnostics.own_servers {
                OwnServers::Off => "own language servers are turned off".to_owned(),
                _ if doc.language.is_empty() => "the language of the document is not known".to_owned(),
                _ => format!("no language server for `{}` is known or of use here", doc.language),
            };
            sources.push(SourceReport::new(NOBODY, Verdict::NoServer).with_detail(&detail));
        }
    }

    /// Errors that appeared since the edits in files that were not edited. Only from sources that had spoken of the
    /// edited documents before: what one says while it starts is old news.
    fn other_files(&self, waiting: &Waiting) -> Vec<FileReport> {
        let Some(since) = waiting.since() else { return Vec::new() };
        let speakers = self.speakers(waiting);
        let docs: Vec<(Key, String)> = waiting.docs.iter().map(|doc| (doc.key.clone(), doc.uri.clone())).collect();
        let appeared = self.appeared(since).into_iter();
        let others = appeared.filter(|((source, uri), _)| speakers.contains(source) && self.is_another(uri, &docs));
        others
            .map(|((source, uri), (new, counting))| self.file_report(&source, &uri, new, counting, waiting.encoding))
            .collect()
    }

    /// The sources that had spoken of the edited documents before the edits.
    pub(super) fn speakers(&self, waiting: &Waiting) -> BTreeSet<SourceKey> {
        let mut speakers = BTreeSet::new();
        for doc in &waiting.docs {
            let (Some(base), Some(known)) = (&doc.base, self.docs.get(&doc.key)) else { continue };
            speakers.extend(base.sets.keys().cloned());
            let tracks = known.tracks.iter().filter(|(_, track)| track.known(base.rev).is_some());
            speakers.extend(tracks.map(|(source, _)| source.clone()));
        }
        speakers
    }

    /// Whether a file is none of these documents, and lies in one of the folders.
    pub(super) fn is_another(&self, uri: &str, docs: &[(Key, String)]) -> bool {
        let key = self.key_of(uri);
        self.is_ours(uri) && !docs.iter().any(|doc| Some(&doc.0) == key.as_ref() || doc.1 == uri)
    }

    /// New errors of a file that was not edited, whose source counts like `counting`.
    pub(super) fn file_report(
        &self,
        source: &SourceKey,
        uri: &str,
        new: Vec<RawProblem>,
        counting: Encoding,
        encoding: Encoding,
    ) -> FileReport {
        let max = self.settings.diagnostics.max_per_file;
        let all = new.len();
        let new = match self.key_of(uri).and_then(|key| self.docs.get(&key)) {
            Some(doc) => {
                let text = &doc.now().text;
                let lines = text.with_breaks(LineBreaks::Lsp);
                let list: Vec<Located> =
                    new.iter().map(|problem| problems::locate(problem, &lines, counting)).collect();
                problems::told(&list, text, encoding, max).0
            }
            // Nobody has its text here, so its places stay as the server counts them.
            None => new.into_iter().take(max).map(as_it_came).collect(),
        };
        let cut = all - new.len();
        FileReport { uri: uri.to_owned(), source: self.id_of(source), new, cut, edited: Vec::new() }
    }

    /// Whether a file lies in one of the folders (every file does when there are none).
    fn is_ours(&self, uri: &str) -> bool {
        self.folders.is_empty()
            || Hub::path_of(uri).is_none_or(|path| self.folders.iter().any(|folder| path.starts_with(folder)))
    }
}

/// What a source said, held against what it had said before the edit.
struct Compared {
    /// The text it is about.
    rev: Rev,
    text: Text,
    baseline: Baseline,
    delta: Delta,
    /// How many more problems there were that nobody could read.
    unread: usize,
}

fn compare(doc: &Doc, source: &SourceKey, set: &Set, base: Option<&Base>) -> Option<Compared> {
    let text = doc.at(set.rev)?.text.clone();
    let known = base.and_then(|base| baseline(doc, source, set, base));
    let delta = problems::delta(known.as_deref(), &set.content.problems);
    let baseline = if known.is_some() { Baseline::Known } else { Baseline::None };
    Some(Compared { rev: set.rev, text, baseline, delta, unread: set.content.unread })
}

/// What a source had said before the edit, at places of the text of `set`; the newer of what was known when the edit
/// left and what it said afterwards of the text before the edit.
fn baseline(doc: &Doc, source: &SourceKey, set: &Set, base: &Base) -> Option<Vec<Located>> {
    let snapshot = base.sets.get(source);
    let later = doc.tracks.get(source).and_then(|track| track.known(base.rev));
    // Of the same text the track may have heard more since.
    let newer = later.filter(|later| snapshot.is_none_or(|(rev, _)| later.rev >= *rev));
    match (newer, snapshot) {
        (Some(later), _) => Some(doc.moved(&later.content.problems, later.rev, set.rev, None)),
        (None, Some((_, problems))) => Some(doc.moved(problems, base.rev, set.rev, Some(&base.text))),
        (None, None) => None,
    }
}

fn as_it_came(problem: RawProblem) -> Problem {
    Problem {
        range: problem.range,
        severity: problem.severity,
        source: problem.source,
        code: problem.code,
        message: problem.message,
    }
}
