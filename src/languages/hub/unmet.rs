//! What a report was asked for and is not there: a version that has not come, a document that nobody has open.

use super::documents::Doc;
use super::wait::WaitDoc;
use crate::languages::settle::Rev;
use crate::languages::verdict::{SourceReport, Verdict};

/// Why nobody will say anything of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gone {
    /// It was closed in the middle.
    Closed,
    /// It was not open when it was asked about, and no call had looked at the file.
    NeverThere,
}

impl Gone {
    /// Why nobody speaks of a document that is `known` or not; the `version` of an edit of it, where one was made in the
    /// editor; `edited`: the question is about an edit.
    pub(super) fn of(known: Option<&Doc>, edited: bool, version: Option<i32>) -> Option<Gone> {
        match known {
            None if edited => Some(Gone::Closed),
            None => Some(Gone::NeverThere),
            Some(doc) => (version.is_some() && doc.open.is_none()).then_some(Gone::Closed),
        }
    }

    /// What is told of each source, and in which words.
    pub(super) fn told(self) -> (Verdict, &'static str) {
        match self {
            Gone::Closed => (Verdict::Superseded, "the document was closed"),
            Gone::NeverThere => (
                Verdict::NeverReported,
                "the file is not open in the editor, and no call has looked at it: nobody was asked about it",
            ),
        }
    }
}

impl Doc {
    /// The editor's version of the newest text; `None` for a file on the disk.
    pub(super) fn version(&self) -> Option<i32> {
        self.now().version.map(|(_, version)| version)
    }

    /// Whether the newest text is that of this version of the editor's, or a newer one.
    pub(super) fn has(&self, least: i32) -> bool {
        self.version().is_some_and(|version| version >= least)
    }
}

impl WaitDoc {
    /// Takes a newer text for the one that is waited for, if its version was asked for; answers whether it was.
    pub(super) fn comes(&mut self, doc: &Doc, newest: Rev, least: i32) -> bool {
        let there = doc.has(least);
        self.want = newest + i32::from(!there);
        self.limit = self.want;
        self.version = doc.version();
        self.settled.clear();
        self.least = Some(least).filter(|_| !there);
        there
    }

    /// Says of every source, and where there is none of `nobody`, that the version that was asked for is not there.
    pub(super) fn tell_unmet(&self, nobody: &str, sources: &mut Vec<SourceReport>) {
        let Some(least) = self.least else { return };
        let what = match self.version {
            Some(version) => format!("version {least} has not come: the document is at version {version}"),
            None => format!("version {least} has not come: the document is not open in the editor"),
        };
        if sources.is_empty() {
            sources.push(SourceReport::new(nobody, Verdict::Pending));
        }
        for source in sources {
            source.detail = Some(match source.detail.take() {
                Some(detail) => format!("{what}; {detail}"),
                None => what.clone(),
            });
        }
    }
}
