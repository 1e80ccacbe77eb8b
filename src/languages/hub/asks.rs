//! Who can be asked about a document: its servers of ours, once they are found and have read the project; or why there
//! are none.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::time::Instant;

use super::documents::Place;
use super::servers::Phase;
use super::{Effect, Hub, ServerId};
use crate::config::OwnServers;
use crate::workspace::Key;

/// Names a question for servers.
pub(in crate::languages) type AskId = u64;

/// After so long, answers are taken from servers that still read the project.
const PATIENCE: Duration = Duration::from_secs(25);

/// So long a server that has said nothing since it started may take to begin to say what it does. It is waited for where
/// the answer is about more than one file.
const FIRST_WORD: Duration = Duration::from_secs(3);

/// A question that waits.
#[derive(Debug)]
pub(super) struct Pending {
    id: AskId,
    key: Key,
    thorough: bool,
    since: Instant,
}

/// A server that can be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::languages) struct Served {
    pub(in crate::languages) id: ServerId,
    pub(in crate::languages) name: String,
    /// It still works on something, so that it may not know everything yet.
    pub(in crate::languages) busy: bool,
}

/// Who can be asked about a document.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::languages) struct Offer {
    /// The document's language; empty when nobody knows.
    pub(in crate::languages) language: String,
    /// In a fixed order.
    pub(in crate::languages) served: Vec<Served>,
    /// Why others cannot: a sentence each, in a fixed order.
    pub(in crate::languages) unserved: Vec<String>,
    /// The sources that the editor has for this language.
    pub(in crate::languages) editor: Vec<String>,
}

impl Hub {
    /// Somebody wants to ask the servers of a document; `thorough`: about more than that document. So that they know what
    /// the user sees, they get every open document of the languages they know.
    pub(super) fn wants_servers(&mut self, id: AskId, key: Key, thorough: bool, now: Instant) {
        if let Some(doc) = self.docs.get(&key) {
            let knowing = self.table.iter().filter(|server| server.languages.contains(&doc.language));
            let languages: BTreeSet<&String> = knowing.flat_map(|server| &server.languages).collect();
            let others = self.docs.iter().filter(|(_, doc)| doc.open.is_some() && !doc.wanted);
            let others: Vec<Key> =
                others.filter(|(_, doc)| languages.contains(&doc.language)).map(|(key, _)| key.clone()).collect();
            for other in others {
                if let Some(doc) = self.docs.get_mut(&other) {
                    doc.wanted = true;
                }
                self.serve(&other, now);
            }
        }
        self.asks.push(Pending { id, key, thorough, since: now });
    }

    pub(super) fn judge_asks(&mut self, now: Instant) {
        let (ready, waiting) = std::mem::take(&mut self.asks).into_iter().partition(|ask| self.may_ask(ask, now));
        self.asks = waiting;
        for Pending { id, key, .. } in ready {
            let offer = self.offer(&key);
            self.effects.push(Effect::Offer { id, offer });
        }
    }

    pub(super) fn next_ask(&self, now: Instant) -> Option<Instant> {
        let moments = self.asks.iter().flat_map(|ask| [ask.since + FIRST_WORD, ask.since + PATIENCE]);
        moments.filter(|at| *at > now).min()
    }

    fn may_ask(&self, ask: &Pending, now: Instant) -> bool {
        if self.over || now >= ask.since + PATIENCE {
            return true;
        }
        let Some(doc) = self.docs.get(&ask.key) else { return true };
        let mut places = self.docs.iter().filter(|(key, other)| **key == ask.key || other.language == doc.language);
        if places.any(|(_, doc)| doc.places.values().any(|place| *place == Place::Looking)) {
            return false;
        }
        doc.servers().all(|id| {
            let Some(running) = self.running.get(id) else { return true };
            match running.phase {
                Phase::Starting => false,
                Phase::Ready if running.work.loading() => false,
                Phase::Ready if ask.thorough && running.work.noise().open_since.is_some() => false,
                Phase::Ready if ask.thorough => running.spoke || now >= ask.since + FIRST_WORD,
                Phase::Ready | Phase::Down { .. } | Phase::Stopped => true,
            }
        })
    }

    fn offer(&self, key: &Key) -> Offer {
        let Some(doc) = self.docs.get(key) else { return Offer::default() };
        let mut offer = Offer { language: doc.language.clone(), ..Offer::default() };
        let named = self.docs.values().filter(|other| other.language == doc.language).flat_map(|other| &other.named);
        let named: BTreeSet<String> = named.map(|source| source.name.clone()).collect();
        offer.editor = named.into_iter().collect();
        if !self.serves(key) {
            let outside = doc.open.is_none() && self.settings.diagnostics.own_servers == OwnServers::On;
            offer.unserved.push(match self.settings.diagnostics.own_servers {
                OwnServers::Off => "servers of Ropewalk's own are turned off (`diagnostics.ownServers`)".to_owned(),
                OwnServers::Auto if !offer.editor.is_empty() => format!(
                    "the editor runs its own for this language ({}), and where it does Ropewalk starts none \
                     (`diagnostics.ownServers` is `auto`)",
                    offer.editor.join(", ")
                ),
                _ if outside || doc.open.is_none() => "the file is outside of the workspace folders".to_owned(),
                _ => "none is started for it".to_owned(),
            });
            return offer;
        }
        for (kind, place) in &doc.places {
            match place {
                Place::Looking => offer.unserved.push(format!("a server ({kind}) is still being looked for")),
                Place::Untrusted { name, detail } => {
                    offer.unserved.push(format!("{name} is not started: {detail}"));
                }
                Place::Absent { name, detail, missing: true, .. } => offer.unserved.push(format!("{name}: {detail}")),
                Place::Absent { .. } => {}
                Place::At(id) => {
                    let Some(running) = self.running.get(*id) else { continue };
                    let name = running.server.name.clone();
                    match &running.phase {
                        Phase::Starting | Phase::Ready => {
                            let starting = running.phase == Phase::Starting;
                            let busy = starting || running.work.noise().open_since.is_some();
                            offer.served.push(Served { id: *id, name, busy });
                        }
                        Phase::Down { why, .. } => offer.unserved.push(format!("{name} {why}")),
                        Phase::Stopped => offer.unserved.push(format!("{name} was ended")),
                    }
                }
            }
        }
        offer
    }
}
