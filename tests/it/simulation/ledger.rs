//! What every call is to have done, against what became of the texts: pure. An agent's edit puts in characters that stand
//! nowhere else, so that it can be counted; a person's characters go only with somebody who named them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::texts::{has_error, is_mark, keys};

/// Something that must never be, and was: which rule, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The rule, in a word.
    pub rule: &'static str,
    /// What was seen.
    pub why: String,
}

/// Says that a rule is broken.
pub fn fault<T>(rule: &'static str, why: impl Into<String>) -> Result<T, Fault> {
    Err(Fault { rule, why: why.into() })
}

/// How far a call is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It has no answer yet.
    Open,
    /// Its answer says that all of its change was made.
    Applied,
    /// Its answer says that some of it was made.
    Partly,
    /// Its answer says that nothing was made.
    Not,
    /// Its answer says that it is not known.
    Unknown,
    /// It is proposed.
    Proposed,
    /// It was proposed, and the person said no.
    Rejected,
}

/// What a call is to do.
#[derive(Debug, Clone)]
pub struct Intent {
    /// Its session.
    pub session: String,
    /// The characters that it puts in, each once.
    pub marks: Vec<char>,
    /// The characters that it names to be replaced.
    pub kills: BTreeSet<char>,
    /// The documents and files that it names.
    pub uris: Vec<String>,
    /// How far it is.
    pub state: State,
}

impl Intent {
    /// What it puts into a file: one each, where it names several.
    fn marks_in(&self, uri: &str) -> impl Iterator<Item = &char> {
        let several = self.uris.len() > 1;
        let at = self.uris.iter().position(|own| own == uri);
        let fits = move |index: usize| at.is_some_and(|at| !several || at == index);
        self.marks.iter().enumerate().filter(move |(index, _)| fits(*index)).map(|(_, mark)| mark)
    }
}

/// All calls, and what the sidecar did to the texts.
#[derive(Debug, Default)]
pub struct Ledger {
    /// By call id.
    pub intents: BTreeMap<String, Intent>,
    /// How often a character of an agent's was put in, less how often it was taken out, by the sidecar.
    net: BTreeMap<char, i64>,
    /// Typed characters that the sidecar put in: it may take them out again.
    given: BTreeSet<char>,
    /// Requests to take something back that are under way.
    pub taking: usize,
    /// What was taken out meanwhile: a call can be taken back before it is answered.
    taken: BTreeSet<char>,
    /// Requests to accept that are under way, by session.
    pub accepting: BTreeMap<String, usize>,
}

impl Ledger {
    /// A call is made.
    pub fn begin(&mut self, call: &str, intent: Intent) {
        self.intents.insert(call.to_owned(), intent);
    }

    fn owner(&self, mark: char) -> Option<(&String, &Intent)> {
        self.intents.iter().find(|(_, intent)| intent.marks.contains(&mark))
    }

    /// Whether a call that may have been made names a character to be replaced.
    fn may_go(&self, letter: char) -> bool {
        self.intents.values().any(|intent| intent.kills.contains(&letter))
    }

    fn net(&self, mark: char) -> i64 {
        self.net.get(&mark).copied().unwrap_or(0)
    }

    /// The sidecar made one text into another, in the editor or on the disk.
    pub fn placed(&mut self, uri: &str, before: &str, after: &str) -> Result<(), Fault> {
        let count = |text: &str| {
            let mut counts = BTreeMap::<char, i64>::new();
            text.chars().filter(|letter| is_mark(*letter)).for_each(|letter| *counts.entry(letter).or_default() += 1);
            counts
        };
        let (old, new) = (count(before), count(after));
        for mark in old.keys().chain(new.keys()).copied().collect::<BTreeSet<char>>() {
            let change = new.get(&mark).unwrap_or(&0) - old.get(&mark).unwrap_or(&0);
            if change == 0 {
                continue;
            }
            let Some((call, intent)) = self.owner(mark) else { return fault("edit", format!("nobody owns {mark}")) };
            let proposed = self.accepting.get(&intent.session).is_none_or(|count| *count == 0);
            let wrong = match intent.state {
                State::Not => Some("after it was said that it was not applied"),
                State::Rejected => Some("after it was rejected"),
                State::Proposed if proposed => Some("while it is only proposed"),
                _ => None,
            };
            if let Some(when) = wrong.filter(|_| change > 0) {
                return fault("edit", format!("the edit {mark} of {call} was made in {uri} {when}"));
            }
            let call = call.clone();
            if change < 0 && self.taking > 0 {
                self.taken.insert(mark);
            }
            let net = self.net.entry(mark).or_default();
            *net += change;
            if *net > 1 || change.abs() > 1 {
                return fault("edit", format!("the edit {mark} of {call} is in {uri} {net} times\n{after}"));
            }
        }
        let (old, new) = (keys(before), keys(after));
        if let Some(lost) = old.difference(&new).find(|key| !self.given.contains(*key) && !self.may_go(**key)) {
            return fault(
                "keystroke",
                format!("{lost} was typed in {uri} and is gone\nbefore: {before:?}\nafter:  {after:?}"),
            );
        }
        self.given.extend(new.difference(&old));
        Ok(())
    }

    /// A call was answered.
    pub fn ended(&mut self, call: &str, result: &Value) -> Result<State, Fault> {
        let Some(intent) = self.intents.get(call) else { return fault("answer", format!("nobody made {call}")) };
        if intent.state != State::Open {
            return fault("answer", format!("{call} has two answers, the second is {result}"));
        }
        let nets: Vec<i64> = intent.marks.iter().map(|mark| self.net(*mark)).collect();
        // Another call that was made meanwhile may have replaced what this one put in.
        let others =
            |mark: &char| self.intents.iter().any(|(other, intent)| other != call && intent.kills.contains(mark));
        let gone = |mark: &char| self.taken.contains(mark) || others(mark);
        let all = intent.marks.iter().all(|mark| self.net(*mark) == 1 || gone(mark));
        let none = nets.iter().all(|net| *net == 0);
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (kind, applied) = (word(&result["error"]["kind"]), word(&result["applied"]));
        let (state, right) = if result["proposed"] == true {
            (State::Proposed, none)
        } else if kind == "unknown" {
            (State::Unknown, true)
        } else {
            match applied.as_str() {
                "all" => (State::Applied, all),
                "some" => (State::Partly, true),
                _ => (State::Not, none),
            }
        };
        if !right {
            let why = format!("{call} says {state:?}, and its edits are there {nets:?} times: {result}");
            return fault("edit", why);
        }
        if let Some(intent) = self.intents.get_mut(call) {
            intent.state = state;
            if state == State::Not {
                intent.kills.clear();
            }
        }
        Ok(state)
    }

    /// An accept was answered: by a call's name, or of a file.
    pub fn accepted(&mut self, session: &str, call: Option<&str>, result: &Value) -> Result<bool, Fault> {
        *self.accepting.entry(session.to_owned()).or_insert(1) -= 1;
        let taken = result["refused"].is_null();
        let meant: Vec<String> = self
            .intents
            .iter()
            .filter(|(id, intent)| intent.session == session && call.is_none_or(|call| call == id.as_str()))
            .filter(|(_, intent)| intent.state == State::Proposed)
            .map(|(id, _)| id.clone())
            .collect();
        let files = result["accepted"].as_array().into_iter().flatten();
        let files: Vec<&str> = files.filter_map(|file| file["edit"]["uri"].as_str()).collect();
        for id in meant.iter().filter(|_| taken) {
            let intent = &self.intents[id];
            // A hunk whose lines somebody changed is proposed no more, and the others are accepted without it.
            let there = |mark: &char| self.net(*mark) == 1;
            let right = files.iter().all(|uri| {
                let mut marks = intent.marks_in(uri).peekable();
                marks.peek().is_none()
                    || marks.any(|mark| there(mark) || self.may_go(*mark) || self.taken.contains(mark))
            });
            if call.is_some() && !right {
                return fault("edit", format!("{id} was accepted and is not there: {result}"));
            }
            let state = match intent.marks.iter().filter(|mark| there(mark)).count() {
                0 => continue,
                count if count == intent.marks.len() => State::Applied,
                _ => State::Partly,
            };
            if let Some(intent) = self.intents.get_mut(id) {
                intent.state = state;
            }
        }
        Ok(taken)
    }

    /// A reject by a call's name was answered.
    pub fn rejected(&mut self, call: &str, result: &Value) {
        let stays = result["rejected"].as_array().into_iter().flatten();
        let under = stays.clone().any(|file| file["standUnder"].as_array().is_some_and(|list| !list.is_empty()));
        let net = self.intents[call].marks.iter().map(|mark| self.net(*mark)).sum::<i64>();
        if stays.count() > 0
            && !under
            && net == 0
            && let Some(intent) = self.intents.get_mut(call)
        {
            intent.state = State::Rejected;
        }
    }

    /// The calls in one of these states.
    pub fn calls(&self, states: &[State]) -> Vec<String> {
        let fits = self.intents.iter().filter(|(_, intent)| states.contains(&intent.state) && !intent.marks.is_empty());
        fits.map(|(call, _)| call.clone()).collect()
    }

    /// Whether some call may change a file.
    pub fn may_write(&self, uri: &str) -> bool {
        let mut named = self.intents.values().filter(|intent| intent.uris.iter().any(|own| own == uri));
        named.any(|intent| intent.state != State::Not && !intent.marks.is_empty())
    }
}

/// What is told of the problems of documents must be true of their texts: `texts` are those that had a version. Gives how
/// many sources said that they had checked one.
pub fn told(
    report: &Value,
    content: &str,
    texts: &BTreeMap<(String, i64), Vec<String>>,
    source: &str,
) -> Result<usize, Fault> {
    let mut checked = 0;
    for document in report["documents"].as_array().into_iter().flatten() {
        let uri = document["uri"].as_str().unwrap_or_default();
        let Some(version) = document["version"].as_i64() else { continue };
        let Some(texts) = texts.get(&(uri.to_owned(), version)) else {
            return fault("verdict", format!("{uri} never had version {version}: {document}"));
        };
        let bad = texts.iter().all(|text| has_error(text));
        let good = texts.iter().all(|text| !has_error(text));
        let name = uri.strip_prefix("file:///w/").unwrap_or(uri);
        if bad && content.lines().any(|line| line.starts_with(&format!("{name}: no errors"))) {
            return fault("verdict", format!("{uri} has an error, and the words are: {content}\n{texts:?}"));
        }
        for said in document["sources"].as_array().into_iter().flatten() {
            if said["id"] != source || said["verdict"] != "fresh" {
                continue;
            }
            checked += 1;
            let list = |name: &str| said[name].as_array().map_or(0, Vec::len) as u64;
            let number = |name: &str| said[name].as_u64().unwrap_or(0);
            let errors = list("new") + list("present") + number("unchangedErrors") + number("cut");
            if bad && errors == 0 || good && errors > 0 {
                return fault("verdict", format!("{errors} errors in version {version} of {uri}? {said}\n{texts:?}"));
            }
        }
    }
    Ok(checked)
}
