//! How pages outlive a restart: one part a file, with a bound for each and one for all of them. Pure.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tracing::warn;

use super::book::Book;
use super::page::{Became, Did, Fated, Page, Undone};
use super::{By, Ledger, MarkId, ledger};
use crate::text::LineBreaks;
use crate::workspace::paths::uri_of_path;
use crate::workspace::{Key, Target};

/// A page of at most so many bytes of JSON is kept; without its undos where it is longer with them.
const MAX_PAGE: usize = 1 << 20;

/// All pages together, in bytes of JSON.
const MAX_ALL: usize = 16 << 20;

/// A page as it is kept.
#[derive(Debug, Serialize, Deserialize)]
struct KeptPage {
    number: u64,
    uri: String,
    stamp: u64,
    gone: bool,
    #[serde(default)]
    executable: bool,
    breaks: LineBreaks,
    fates: Vec<KeptFate>,
    undos: Vec<KeptUndo>,
    ledger: ledger::Kept,
}

#[derive(Debug, Serialize, Deserialize)]
struct KeptFate {
    id: MarkId,
    by: By,
    became: KeptBecame,
}

#[derive(Debug, Serialize, Deserialize)]
enum KeptBecame {
    Created,
    Deleted,
    Moved(String),
    Executable(bool),
}

#[derive(Debug, Serialize, Deserialize)]
struct KeptUndo {
    undo: u64,
    ledger: Option<u64>,
    fates: Vec<KeptFate>,
    did: KeptDid,
    made: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
enum KeptDid {
    Text,
    Deleted,
    Created,
    Moved(String),
    Nothing,
}

/// The URI that a file is found by again; `None` for what is no file: nobody knows it after a restart.
fn uri(target: &Target) -> Option<String> {
    match &target.key {
        Key::File(path) => Some(uri_of_path(path)),
        Key::Unnamed(_) => None,
    }
}

fn keep_fate(fate: &Fated) -> Option<KeptFate> {
    let became = match &fate.became {
        Became::Created => KeptBecame::Created,
        Became::Deleted => KeptBecame::Deleted,
        Became::Moved { from } => KeptBecame::Moved(uri(from)?),
        Became::Executable { now } => KeptBecame::Executable(*now),
    };
    Some(KeptFate { id: fate.id, by: fate.by.clone(), became })
}

fn keep_undo(undone: &Undone) -> Option<KeptUndo> {
    let did = match &undone.did {
        Did::Text => KeptDid::Text,
        Did::Deleted => KeptDid::Deleted,
        Did::Created => KeptDid::Created,
        Did::Nothing => KeptDid::Nothing,
        Did::Moved { from } => KeptDid::Moved(uri(from)?),
    };
    let fates = undone.fates.iter().filter_map(keep_fate).collect();
    Some(KeptUndo { undo: undone.undo, ledger: undone.ledger, fates, did, made: undone.made.clone() })
}

/// The JSON of a page, with its length in bytes; `None` when it cannot be kept.
fn page_value(page: &Page) -> Option<(String, Value, usize)> {
    let uri = uri(&page.target)?;
    let part = crate::text::hash(&uri);
    let mut kept = KeptPage {
        number: page.number,
        uri,
        stamp: page.stamp,
        gone: page.gone,
        executable: page.executable,
        breaks: page.ledger.text().breaks(),
        fates: page.fates.iter().filter_map(keep_fate).collect(),
        undos: page.undos.iter().filter_map(keep_undo).collect(),
        ledger: page.ledger.kept(),
    };
    let mut value = serde_json::to_value(&kept).ok()?;
    let mut len = value.to_string().len();
    if len > MAX_PAGE {
        kept.undos.clear();
        kept.ledger.without_undos();
        value = serde_json::to_value(&kept).ok()?;
        len = value.to_string().len();
        warn!(uri = kept.uri, "the undos in a file are too much to be kept over a restart");
    }
    if len > MAX_PAGE {
        warn!(uri = kept.uri, bytes = len, "the changes of a file are too much to be kept over a restart");
        return None;
    }
    Some((if page.gone { format!("{part}-{}", page.number) } else { part }, value, len))
}

/// What is to be kept and what no longer.
pub(super) fn to_keep(book: &mut Book) -> Vec<(String, Option<Value>)> {
    let mut out: BTreeMap<String, Option<Value>> = BTreeMap::new();
    let lost: Vec<u64> = book.kept.keys().filter(|number| !book.pages.contains_key(number)).copied().collect();
    for number in lost {
        if let Some((part, _)) = book.kept.remove(&number) {
            out.insert(part, None);
        }
    }
    for (number, page) in book.pages.iter_mut().filter(|(_, page)| page.dirty) {
        page.dirty = false;
        if let Some((part, _)) = book.kept.remove(number) {
            out.entry(part).or_insert(None);
        }
        if let Some((part, value, len)) = page_value(page) {
            book.kept.insert(*number, (part.clone(), len));
            out.insert(part, Some(value));
        }
    }
    let mut all: usize = book.kept.values().map(|(_, len)| len).sum();
    while all > MAX_ALL {
        let stamp = |number: &u64| book.pages.get(number).map_or(0, |page| page.stamp);
        let Some(oldest) = book.kept.keys().min_by_key(|number| stamp(number)).copied() else { break };
        if let Some((part, len)) = book.kept.remove(&oldest) {
            let uri = book.pages.get(&oldest).map_or("", |page| page.target.uri.as_str());
            warn!(uri, "the oldest changes are not kept over a restart any more: there are too many");
            out.insert(part, None);
            all -= len;
        }
    }
    out.into_iter().collect()
}

/// Takes in what was kept. What is there already is newer, and stays.
pub(super) fn restore(book: &mut Book, parts: BTreeMap<String, Value>, resolve: impl Fn(&str) -> Option<Target>) {
    for (part, value) in parts {
        let len = value.to_string().len();
        let kept = match serde_json::from_value::<KeptPage>(value) {
            Ok(kept) => kept,
            Err(error) => {
                warn!(part, %error, "kept changes that cannot be read");
                continue;
            }
        };
        let uri = kept.uri.clone();
        let Some(mut page) = page_of(kept, &resolve) else {
            warn!(uri, "kept changes that do not fit together");
            continue;
        };
        let here = |other: &Page| other.target.key == page.target.key && other.gone == page.gone;
        if book.pages.values().any(here) {
            continue;
        }
        // Two sidecars may have used one number.
        if book.pages.contains_key(&page.number) {
            page.number = book.pages.keys().max().copied().unwrap_or_default().max(book.last) + 1;
        }
        book.last = book.last.max(page.number);
        book.stamp = book.stamp.max(page.stamp);
        book.undos = page.undos.iter().map(|undone| undone.undo).fold(book.undos, u64::max);
        book.kept.insert(page.number, (part, len));
        book.pages.insert(page.number, page);
    }
}

fn page_of(kept: KeptPage, resolve: &impl Fn(&str) -> Option<Target>) -> Option<Page> {
    let KeptPage { number, uri, stamp, gone, executable, breaks, fates, undos, ledger } = kept;
    let fate = |kept: KeptFate| {
        let KeptFate { id, by, became } = kept;
        let became = match became {
            KeptBecame::Created => Became::Created,
            KeptBecame::Deleted => Became::Deleted,
            KeptBecame::Moved(from) => Became::Moved { from: resolve(&from)? },
            KeptBecame::Executable(now) => Became::Executable { now },
        };
        Some(Fated { id, by, became })
    };
    let undone = |kept: KeptUndo| {
        let KeptUndo { undo, ledger, fates, did, made } = kept;
        let did = match did {
            KeptDid::Text => Did::Text,
            KeptDid::Deleted => Did::Deleted,
            KeptDid::Created => Did::Created,
            KeptDid::Nothing => Did::Nothing,
            KeptDid::Moved(from) => Did::Moved { from: resolve(&from)? },
        };
        Some(Undone { undo, ledger, fates: fates.into_iter().filter_map(fate).collect(), did, made })
    };
    let ledger = Ledger::of(ledger, breaks)?;
    let mut page = Page::new(number, resolve(&uri)?, ledger, false);
    page.stamp = stamp;
    page.gone = gone;
    page.executable = executable;
    page.fates = fates.into_iter().filter_map(fate).collect();
    page.undos = undos.into_iter().filter_map(undone).collect();
    Some(page)
}
