//! Diagnostics that came after the wait for them was over: they ride the next result of the session that made the edit.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::languages::DiagnosticsReport;
use crate::languages::verdict::{DocumentReport, Verdict};

/// Who waits for news of which document, and news that nobody was told yet.
#[derive(Default)]
pub(super) struct Late {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    /// Document to sessions.
    waiting: BTreeMap<String, BTreeSet<String>>,
    /// Session to news.
    news: BTreeMap<String, Vec<DocumentReport>>,
}

impl Late {
    /// A session got this report; what is pending in it is still owed to it, and what it says replaces older news.
    pub(super) fn reported(&self, session: &str, report: &DiagnosticsReport) {
        let mut inner = self.lock();
        for document in report.documents.iter().filter(|document| document.report_in.is_none()) {
            if let Some(news) = inner.news.get_mut(session) {
                news.retain(|news| news.uri != document.uri);
            }
            let sessions = inner.waiting.entry(document.uri.clone()).or_default();
            if document.sources.iter().any(|source| matches!(source.verdict, Verdict::Pending | Verdict::Stale)) {
                sessions.insert(session.to_owned());
            } else {
                sessions.remove(session);
            }
        }
        inner.waiting.retain(|_, sessions| !sessions.is_empty());
    }

    /// News came: each session that waits for it is told with its next result.
    pub(super) fn came(&self, report: DiagnosticsReport) {
        let mut inner = self.lock();
        for document in report.documents {
            for session in inner.waiting.get(&document.uri).cloned().unwrap_or_default() {
                inner.news.entry(session).or_default().push(document.clone());
            }
        }
    }

    /// What a session has not been told yet.
    pub(super) fn take(&self, session: &str) -> Option<DiagnosticsReport> {
        let documents = self.lock().news.remove(session).filter(|news| !news.is_empty())?;
        Some(DiagnosticsReport { documents, ..DiagnosticsReport::default() })
    }

    /// A session was dropped: nothing is owed to it any more.
    pub(super) fn forget(&self, session: &str) {
        let mut inner = self.lock();
        inner.news.remove(session);
        inner.waiting.retain(|_, sessions| {
            sessions.remove(session);
            !sessions.is_empty()
        });
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::languages::verdict::SourceReport;

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
}
