//! Diagnostics that came after the wait for them was over: they ride the next result of the session that made the edit.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::languages::DiagnosticsReport;
use crate::languages::verdict::DocumentReport;

/// Who waits for news of which document, and news that nobody was told yet.
#[derive(Default)]
pub(super) struct Late {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    /// Document to sessions.
    waiting: BTreeMap<String, BTreeSet<String>>,
    /// Document to the session that edited it last.
    edited: BTreeMap<String, String>,
    /// Session to news.
    news: BTreeMap<String, DiagnosticsReport>,
}

impl Late {
    /// A session got this report; what is not known in it is still owed to it, and what it says replaces older news.
    pub(super) fn reported(&self, session: &str, report: &DiagnosticsReport) {
        let mut inner = self.lock();
        for document in report.documents.iter().filter(|document| document.report_in.is_none()) {
            if let Some(news) = inner.news.get_mut(session) {
                news.documents.retain(|news| news.uri != document.uri);
                news.other_files.retain(|news| news.uri != document.uri);
            }
            inner.edited.insert(document.uri.clone(), session.to_owned());
            let sessions = inner.waiting.entry(document.uri.clone()).or_default();
            if owes(document) {
                sessions.insert(session.to_owned());
            } else {
                sessions.remove(session);
            }
        }
        inner.waiting.retain(|_, sessions| !sessions.is_empty());
    }

    /// News came: each session that waits for it is told with its next result. What is said of a document or of another
    /// file takes the place of what was said of it before.
    pub(super) fn came(&self, report: DiagnosticsReport) {
        let mut inner = self.lock();
        for document in report.documents {
            let sessions = if owes(&document) {
                inner.waiting.get(&document.uri).cloned()
            } else {
                inner.waiting.remove(&document.uri)
            };
            for session in sessions.unwrap_or_default() {
                let news = inner.news.entry(session).or_default();
                news.documents.retain(|news| news.uri != document.uri);
                news.documents.push(document.clone());
            }
        }
        for file in report.other_files {
            let sessions: BTreeSet<String> =
                file.edited.iter().filter_map(|edited| inner.edited.get(edited)).cloned().collect();
            for session in sessions {
                let news = inner.news.entry(session).or_default();
                news.other_files.retain(|news| (&news.uri, &news.source) != (&file.uri, &file.source));
                if !file.new.is_empty() {
                    news.other_files.push(file.clone());
                }
                news.other_files_cut = news.other_files_cut.max(report.other_files_cut);
            }
        }
    }

    /// What a session has not been told yet.
    pub(super) fn take(&self, session: &str) -> Option<DiagnosticsReport> {
        let news = self.lock().news.remove(session)?;
        (!news.documents.is_empty() || !news.other_files.is_empty()).then_some(news)
    }

    /// A session was dropped: nothing is owed to it any more.
    pub(super) fn forget(&self, session: &str) {
        let mut inner = self.lock();
        inner.news.remove(session);
        inner.edited.retain(|_, other| other != session);
        inner.waiting.retain(|_, sessions| {
            sessions.remove(session);
            !sessions.is_empty()
        });
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether something that is said later of a document is still told.
fn owes(document: &DocumentReport) -> bool {
    document.sources.iter().any(|source| source.verdict.owes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::languages::verdict::{FileReport, Problem, Severity, SourceReport, Verdict};

    fn report(uri: &str, verdict: Verdict) -> DiagnosticsReport {
        let sources = vec![SourceReport::new("ruff", verdict)];
        let document = DocumentReport { uri: uri.to_owned(), version: Some(2), sources, report_in: None };
        DiagnosticsReport { documents: vec![document], ..DiagnosticsReport::default() }
    }

    #[test]
    fn news_go_to_whom_they_are_owed() {
        let late = Late::default();
        late.reported("one", &report("a", Verdict::Pending));
        late.reported("two", &report("b", Verdict::Pending));
        late.reported("two", &report("b", Verdict::Fresh));
        late.came(report("a", Verdict::Fresh));
        late.came(report("b", Verdict::Fresh));
        late.came(report("c", Verdict::Fresh));
        assert_eq!(late.take("two"), None);
        assert_eq!(late.take("one"), Some(report("a", Verdict::Fresh)));
        assert_eq!(late.take("one"), None);
    }

    #[test]
    fn a_session_that_is_dropped_is_owed_nothing() {
        let late = Late::default();
        late.reported("one", &report("a", Verdict::Pending));
        late.reported("one", &report("b", Verdict::Pending));
        late.came(report("a", Verdict::Fresh));
        late.forget("one");
        late.came(report("b", Verdict::Fresh));
        assert_eq!(late.take("one"), None);
    }

    #[test]
    fn a_newer_report_replaces_news() {
        let late = Late::default();
        late.reported("one", &report("a", Verdict::Pending));
        late.came(report("a", Verdict::Fresh));
        late.reported("one", &report("a", Verdict::Pending));
        assert_eq!(late.take("one"), None);
    }

    #[test]
    fn what_is_not_owed_any_more_is_told_to_nobody_else() {
        let late = Late::default();
        late.reported("one", &report("a", Verdict::NeedsSave));
        late.came(report("a", Verdict::Pending));
        late.came(report("a", Verdict::Fresh));
        assert_eq!(late.take("one"), Some(report("a", Verdict::Fresh)), "the newer takes the place of the older");
        late.reported("two", &report("a", Verdict::Crashed));
        late.came(report("a", Verdict::Fresh));
        assert_eq!((late.take("one"), late.take("two")), (None, Some(report("a", Verdict::Fresh))));
    }

    fn files(uri: &str, edited: &str, errors: usize, cut: usize) -> DiagnosticsReport {
        let problem = Problem {
            range: crate::text::Range::default(),
            severity: Severity::Error,
            source: None,
            code: None,
            message: "no".to_owned(),
        };
        let file = FileReport {
            uri: uri.to_owned(),
            source: "ruff".to_owned(),
            new: vec![problem; errors],
            cut: 0,
            edited: vec![edited.to_owned()],
        };
        DiagnosticsReport { other_files: vec![file], other_files_cut: cut, ..DiagnosticsReport::default() }
    }

    #[test]
    fn what_broke_elsewhere_is_told_to_who_edited_and_can_be_taken_back() {
        let late = Late::default();
        late.reported("one", &report("a", Verdict::Fresh));
        late.came(files("b", "a", 1, 0));
        late.came(files("b", "a", 2, 3));
        late.came(files("c", "other", 1, 0));
        assert_eq!(late.take("one"), Some(files("b", "a", 2, 3)));
        late.came(files("b", "a", 2, 0));
        late.came(files("b", "a", 0, 0));
        assert_eq!(late.take("one"), None);
        // What a report says of the file itself is newer.
        late.came(files("b", "a", 1, 0));
        late.reported("one", &report("b", Verdict::Fresh));
        assert_eq!(late.take("one"), None);
    }
}
