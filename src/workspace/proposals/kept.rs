//! Proposals over a restart. Pure.

use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::text::{LineBreaks, Text};
use crate::workspace::checkpoints::{By, KeptLedger, Ledger};
use crate::workspace::commit::Fate;
use crate::workspace::paths::{Key, Target};

use super::draft::Draft;
use super::stack::Stack;

/// Of a session's proposals so many bytes of text are kept over a restart: the oldest that fit.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// What is kept of a session's proposals.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Kept {
    drafts: Vec<KeptDraft>,
    last: u64,
    /// What its model has not been told yet.
    #[serde(default)]
    news: Vec<String>,
    /// So much news gave way.
    #[serde(default)]
    lost: usize,
    /// The names of the files whose proposals were too much.
    #[serde(default)]
    too_much: Vec<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct KeptDraft {
    number: u64,
    real: KeptTarget,
    base: Option<String>,
    fate: KeptFate,
    fated: Option<By>,
    ledger: KeptLedger,
    #[serde(default)]
    unsaved: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
enum KeptFate {
    Stays,
    Deleted,
    Moved(KeptTarget),
}

/// A target.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct KeptTarget {
    file: Option<KeptPath>,
    uri: String,
    shown: String,
    paths: Vec<KeptPath>,
    inside: bool,
}

/// A path: as text, or, where it is no UTF-8, as its bytes. All that a session proposes is written with each change of it,
/// and bytes are a number each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
enum KeptPath {
    Text(String),
    Bytes(Vec<u8>),
}

impl From<&PathBuf> for KeptPath {
    fn from(path: &PathBuf) -> KeptPath {
        match path.to_str() {
            Some(text) => KeptPath::Text(text.to_owned()),
            None => KeptPath::Bytes(path.as_os_str().as_bytes().to_vec()),
        }
    }
}

impl From<KeptPath> for PathBuf {
    fn from(path: KeptPath) -> PathBuf {
        match path {
            KeptPath::Text(text) => PathBuf::from(text),
            KeptPath::Bytes(bytes) => PathBuf::from(std::ffi::OsString::from_vec(bytes)),
        }
    }
}

impl From<&Target> for KeptTarget {
    fn from(target: &Target) -> KeptTarget {
        KeptTarget {
            file: match &target.key {
                Key::File(path) => Some(KeptPath::from(path)),
                Key::Unnamed(_) => None,
            },
            uri: target.uri.clone(),
            shown: target.shown.clone(),
            paths: target.paths.iter().map(KeptPath::from).collect(),
            inside: target.inside,
        }
    }
}

impl KeptTarget {
    fn target(self) -> Target {
        Target {
            key: self.file.map_or_else(|| Key::Unnamed(self.uri.clone()), |file| Key::File(file.into())),
            uri: self.uri,
            shown: self.shown,
            paths: self.paths.into_iter().map(PathBuf::from).collect(),
            inside: self.inside,
        }
    }
}

impl Kept {
    /// What is kept of a stack.
    pub(super) fn of(stack: &Stack) -> Kept {
        let (mut bytes, mut too_much) = (0, Vec::new());
        let fits = |draft: &&Draft| {
            let fits = bytes + draft.bytes() <= MAX_BYTES;
            if fits {
                bytes += draft.bytes();
            } else {
                tracing::warn!(uri = draft.real.uri, "a proposal is too much to be kept over a restart");
                too_much.push(draft.place().shown.clone());
            }
            fits
        };
        let fitting: Vec<&Draft> = stack.drafts.iter().filter(fits).collect();
        let drafts = fitting.into_iter().map(|draft| KeptDraft {
            number: draft.number,
            real: KeptTarget::from(&draft.real),
            base: draft.base.as_ref().map(Text::to_string),
            fate: match &draft.fate {
                Fate::Stays => KeptFate::Stays,
                Fate::Deleted => KeptFate::Deleted,
                Fate::Moved { to } => KeptFate::Moved(KeptTarget::from(to)),
            },
            fated: draft.fated.clone(),
            ledger: draft.ledger.kept(),
            unsaved: draft.unsaved,
        });
        let (news, lost) = stack.untold();
        Kept { drafts: drafts.collect(), last: stack.last, news, lost, too_much }
    }

    /// The stack that was kept; what does not fit together is left out.
    pub(super) fn stack(self, breaks: LineBreaks) -> Stack {
        let draft = |kept: KeptDraft| {
            Some(Draft {
                number: kept.number,
                real: kept.real.target(),
                base: kept.base.map(|base| Text::new(&base, breaks)),
                fate: match kept.fate {
                    KeptFate::Stays => Fate::Stays,
                    KeptFate::Deleted => Fate::Deleted,
                    KeptFate::Moved(to) => Fate::Moved { to: to.target() },
                },
                fated: kept.fated,
                ledger: Ledger::of(kept.ledger, breaks)?,
                unsaved: kept.unsaved,
                awaits: kept.unsaved,
            })
        };
        let mut stack = Stack::default();
        stack.drafts = self.drafts.into_iter().filter_map(draft).collect();
        (stack.last, stack.known) = (self.last, true);
        stack.lose(self.lost);
        for news in self.news {
            stack.tell(news);
        }
        for shown in self.too_much {
            stack.tell(format!("what you proposed for {shown} was too much to be kept over a restart, and is gone"));
        }
        stack
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_come_back_as_they_were_also_from_before() {
        for (bytes, kept) in [(&b"/w/\xc3\xa9"[..], "\"/w/\u{e9}\""), (b"/\xff", "[47,255]")] {
            let path = PathBuf::from(std::ffi::OsString::from_vec(bytes.to_vec()));
            assert_eq!(serde_json::to_string(&KeptPath::from(&path)).unwrap(), kept);
            for kept in [kept.to_owned(), serde_json::to_string(bytes).unwrap()] {
                assert_eq!(PathBuf::from(serde_json::from_str::<KeptPath>(&kept).unwrap()), path);
            }
        }
    }
}
