//! The echo: judges, change by change, whether an edit that was sent has become part of the editor's text. Pure.
//!
//! The text at the version the edit was computed against is `T0`; every content change after it gives `T1`, `T2` ...,
//! however the editor bundles them into notifications. The edit has landed when some `Tn` is `T0` with the edit in it,
//! or (the user was faster) an earlier `Ti` with the edit at the place it has moved to. It has landed *elsewhere* when
//! `Tn` is a later `Ti` with the edit at the very line numbers that were sent, and those are no longer its place.
//!
//! Comparing whole texts at each keystroke would make typing in a large file slow, so each text has a weight, kept up
//! to date from the changes alone, and only texts of equal weight are compared.
//!
//! An edit may have thousands of places, and an editor may echo it as thousands of changes. So whatever costs as much
//! as the edit is long is done only where it may matter, and draws on a [`Budget`]; without it, less is recognised, and
//! the caller is told that it is not known.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crate::text::{Splice, Text};

use super::carry::{Carried, Change};
use super::evidence::{End, Evidence};
use super::sent::Sent;

/// What the changes so far show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Nothing yet.
    Waiting,
    /// The edit is in the text after this many changes; the editor's version is that of the notification they came in.
    Landed {
        /// How many changes it took; the text is [`Echo::text`] of this number.
        step: usize,
        /// The editor's version that completed it.
        version: i32,
    },
    /// The edit was applied to a later text by its old line numbers, at the wrong place.
    Elsewhere {
        /// It was applied to the text after this many changes.
        on: usize,
        /// It was complete after this many.
        step: usize,
    },
}

/// So many splices, at most, are looked at for guesses about later texts: 2000 guesses about an edit of 16 places.
const LOOKS: usize = 1 << 15;

/// So many bytes, at most, and as many times the text's own length, are compared in vain.
const COMPARED: usize = 1 << 22;
const COMPARED_TIMES: usize = 16;

/// When so many changes in a row were just what the edit does next, the edit is being applied, and it is not guessed
/// that it will be applied to the text in between.
const RUN: usize = 4;

/// Of many texts that could have become the one at hand, so many of the oldest and of the newest are compared.
const COMPARED_ENDS: usize = 16;

/// Of many texts on the way to the one at hand, so many of the first and of the last are explained.
const EXPLAINED_ENDS: usize = 12;

/// Of edits with more splices than this, only the first and the last text on the way are explained.
const LONG: usize = 64;

/// What may still be spent on following one edit.
#[derive(Debug)]
struct Budget {
    /// Splices looked at so far, of at most [`LOOKS`] for guesses.
    looked: usize,
    /// Bytes compared in vain that are left.
    bytes: usize,
}

impl Budget {
    /// Draws so many looks, if they are there.
    fn look(&mut self, splices: usize) -> bool {
        let granted = self.looked + splices <= LOOKS;
        if granted {
            self.looked += splices;
        }
        granted
    }
}

/// A text that may come to show the edit: the text after `on` changes, with the edit in it.
#[derive(Debug, Clone, Copy)]
struct Guess {
    /// The edit can be moved to its place: from the text after this many changes, which was that before all.
    origin: Option<usize>,
    /// The edit is expected at the line numbers that were sent, too.
    raw: bool,
}

/// A guess worked out.
#[derive(Debug)]
struct Hope {
    splices: Vec<Splice>,
    /// The text with them, if that is another one.
    text: Option<Text>,
}

/// Which splice a stream of changes that looks like our own edit does next.
#[derive(Debug, Default)]
struct Run {
    next: Option<usize>,
    upwards: bool,
    length: usize,
}

/// Follows one edit.
#[derive(Debug)]
pub(super) struct Echo {
    sent: Arc<Sent>,
    /// The edit changes nothing but line ends, so that only exact equality proves it.
    strict: bool,
    /// The text after n changes; those that cannot be of use any more are let go.
    texts: Vec<Option<Text>>,
    now: Text,
    version: i32,
    changes: Vec<Change>,
    /// Weight of the text now, less that of the text before.
    weight: u64,
    /// What the edit adds to the weight of a text at its place, and what its splices take from it and bring.
    gain: u64,
    weights: Vec<(u64, u64)>,
    /// The edit only inserts, so that it weighs the same everywhere.
    inserts: bool,
    /// The guesses by what they weigh, oldest first; those about the text before all are apart.
    guesses: HashMap<u64, VecDeque<usize>>,
    first: u64,
    made: Vec<Guess>,
    hopes: HashMap<(usize, bool), Hope>,
    /// The edit's place in the newest text, from the text after so many changes on; absent when it was touched.
    moved: Option<(usize, Carried)>,
    run: Run,
    evidence: Arc<Evidence>,
    verdict: Verdict,
    /// How many changes after its own text a guess stays alive: an editor applies an edit in one go, if in pieces.
    window: usize,
    budget: Budget,
}

/// A question to the evidence, apart from the echo so that it can be answered where it may take its time.
#[derive(Debug, Clone)]
pub(super) struct Case {
    sent: Arc<Sent>,
    evidence: Arc<Evidence>,
    now: Text,
    refused: bool,
}

impl Case {
    /// The answer. Takes as long as comparing texts does.
    pub(super) fn judge(&self) -> End {
        self.evidence.judge(&self.sent, &self.now, self.refused)
    }

    /// The answer where it is plain: the edit never came.
    pub(super) fn plain(&self) -> Option<End> {
        self.evidence.never_came().then_some(End::NotThere)
    }

    /// Length of the texts to compare, in bytes.
    pub(super) fn size(&self) -> usize {
        self.now.len().max(self.sent.before.len()).max(self.sent.expected.len())
    }
}

impl Echo {
    /// Nothing has happened since the edit was computed against `version`.
    pub(super) fn new(sent: Sent, version: i32) -> Echo {
        let strict = sent.before.same_lines(&sent.expected);
        let weights: Vec<(u64, u64)> = sent
            .splices
            .iter()
            .map(|splice| (weigh(&sent.before.slice(splice.range.clone())), weigh(&splice.text)))
            .collect();
        let gain = weights.iter().fold(0u64, |sum, (old, new)| sum.wrapping_add(*new).wrapping_sub(*old));
        Echo {
            strict,
            texts: vec![Some(sent.before.clone())],
            now: sent.before.clone(),
            version,
            changes: Vec::new(),
            weight: 0,
            gain,
            weights,
            inserts: sent.splices.iter().all(|splice| splice.range.is_empty()),
            guesses: HashMap::new(),
            first: gain,
            made: vec![Guess { origin: Some(0), raw: false }],
            hopes: HashMap::from([(
                (0, false),
                Hope { splices: sent.splices.clone(), text: Some(sent.expected.clone()) },
            )]),
            moved: Some((0, Carried::new(&sent.splices, sent.before.len()))),
            run: Run::default(),
            evidence: Arc::new(Evidence::new(&sent)),
            verdict: Verdict::Waiting,
            window: 4 * sent.splices.len() + 16,
            budget: Budget { looked: 0, bytes: COMPARED + COMPARED_TIMES * sent.before.len().max(sent.expected.len()) },
            sent: Arc::new(sent),
        }
    }

    /// The edit.
    pub(super) fn sent(&self) -> &Arc<Sent> {
        &self.sent
    }

    /// What the changes so far show.
    pub(super) fn verdict(&self) -> Verdict {
        self.verdict
    }

    /// The newest text.
    pub(super) fn now(&self) -> &Text {
        &self.now
    }

    /// How many changes there were.
    pub(super) fn steps(&self) -> usize {
        self.changes.len()
    }

    /// The text after so many changes, where it is still known.
    pub(super) fn text(&self, step: usize) -> Option<&Text> {
        self.texts.get(step).and_then(Option::as_ref)
    }

    /// Whether the user typed on after the edit landed.
    pub(super) fn followed(&self) -> bool {
        match self.verdict {
            Verdict::Landed { step, .. } => self.text(step).is_some_and(|landed| !landed.same_lines(&self.now)),
            _ => false,
        }
    }

    /// The edit moved to where it belongs in the newest text; absent when the changes touched its place.
    pub(super) fn moved(&self) -> Option<Vec<Splice>> {
        self.moved.as_ref().map(|(_, carried)| carried.apply(&self.sent.splices))
    }

    /// One content change, of the newest text; `last`: the last one of its notification.
    pub(super) fn push(&mut self, splice: &Splice, after: Text, version: i32, last: bool) {
        let removed = self.now.slice(splice.range.clone());
        let change = Change::of(splice, &removed);
        let (old, new) = (weigh(&removed), weigh(&splice.text));
        self.weight = self.weight.wrapping_add(new).wrapping_sub(old);
        self.run.follow(&self.weights, (old, new));
        Arc::make_mut(&mut self.evidence).add(splice, &removed, &change);
        if let Some((_, carried)) = &mut self.moved {
            let looked = carried.looked();
            let whole = carried.carry(&change);
            self.budget.looked += carried.looked() - looked;
            if !whole {
                self.moved = None;
            }
        }
        self.changes.push(change);
        self.now = after;
        self.version = version;
        self.texts.push(Some(self.now.clone()));
        if self.weight == 0 && self.compare(last, |echo| echo.now == echo.sent.before) {
            // The user took back what had been typed: the edit is at its place again.
            let carried = Carried::new(&self.sent.splices, self.now.len());
            self.moved = Some((self.changes.len(), carried));
        }
        match self.verdict {
            Verdict::Waiting => self.verdict = self.look(last),
            Verdict::Landed { .. } => return,
            Verdict::Elsewhere { .. } => {}
        }
        self.guess();
        if self.verdict != Verdict::Waiting {
            return;
        }
        if let Some(old) = self.changes.len().checked_sub(self.window).filter(|&old| old > 0) {
            self.texts[old] = None;
            self.hopes.remove(&(old, false));
            self.hopes.remove(&(old, true));
        }
    }

    /// A text that came as a whole: a resync, or a re-open.
    pub(super) fn jump(&mut self, text: &Text, version: i32) {
        self.version = version;
        if *text != self.now {
            let splice = Splice { range: 0..self.now.len(), text: text.to_string() };
            self.push(&splice, text.clone(), version, true);
        }
    }

    /// The edit was refused, so that what looked like it at the wrong place was the user's.
    pub(super) fn forgive(&mut self) {
        if matches!(self.verdict, Verdict::Elsewhere { .. }) {
            self.verdict = Verdict::Waiting;
        }
    }

    /// What can be shown of the newest text when no text so far is exactly the one hoped for.
    pub(super) fn case(&self, refused: bool) -> Case {
        let (sent, evidence) = (Arc::clone(&self.sent), Arc::clone(&self.evidence));
        Case { sent, evidence, now: self.now.clone(), refused }
    }

    /// The splices of the text after `step` changes, in the newest text; absent when they were typed into since.
    pub(super) fn carried(&self, step: usize, splices: &[Splice]) -> Option<Vec<Splice>> {
        let mut carried = Carried::new(splices, self.text(step)?.len());
        self.changes[step..].iter().all(|change| carried.carry(change)).then(|| carried.apply(splices))
    }

    fn same(&self, a: &Text, b: &Text) -> bool {
        if self.strict { a == b } else { a.same_lines(b) }
    }

    /// Compares texts, as long as there was not too much of that in vain, or if it must be.
    fn compare(&mut self, forced: bool, equal: impl FnOnce(&Echo) -> bool) -> bool {
        let size = self.now.len();
        if !forced && self.budget.bytes < size {
            return false;
        }
        let equal = equal(self);
        if !equal {
            self.budget.bytes = self.budget.bytes.saturating_sub(size);
        }
        equal
    }

    /// Whether the newest text is one of those hoped for, or feared. When it is several at once (an edit applied over
    /// what the user had just typed can leave exactly the text hoped for), the first one counts that explains every
    /// text on the way to it.
    fn look(&mut self, last: bool) -> Verdict {
        let step = self.changes.len();
        let mut matches: Vec<(Verdict, usize, bool)> = Vec::new();
        for (index, on) in self.candidates().into_iter().enumerate() {
            let Guess { origin, raw } = self.made[on];
            // The oldest of them is the one that an edit is applied to, when the others are but steps of it.
            let forced = last && index == 0;
            if origin.is_some() && self.is_hoped((on, false), forced) {
                matches.push((Verdict::Landed { step, version: self.version }, on, false));
            } else if raw && self.is_hoped((on, true), forced) {
                matches.push((Verdict::Elsewhere { on, step }, on, true));
            }
        }
        let explained = || {
            matches.iter().find(|&&(_, on, raw)| {
                let splices = self.hopes.get(&(on, raw)).map_or(&[][..], |hope| &hope.splices);
                let between = on + 1..step;
                let ends = if splices.len() > LONG { 1 } else { EXPLAINED_ENDS };
                let early = between.clone().take(ends);
                let late = between.skip(ends).rev().take(ends);
                early.chain(late).all(|between| self.on_the_way(on, splices, between))
            })
        };
        match &matches[..] {
            [] => Verdict::Waiting,
            [(verdict, ..)] => *verdict,
            [(first, ..), ..] => explained().map_or(*first, |(verdict, ..)| *verdict),
        }
    }

    /// The texts that, with the edit, weigh what the newest one does: of very many, the oldest and the newest.
    fn candidates(&mut self) -> Vec<usize> {
        let mut found: Vec<usize> = (self.first == self.weight).then_some(0).into_iter().collect();
        if let Some(alike) = self.guesses.get_mut(&self.weight) {
            while alike.front().is_some_and(|&oldest| self.texts[oldest].is_none()) {
                alike.pop_front();
            }
            found.extend(alike.iter().take(COMPARED_ENDS));
            found.extend(alike.range(COMPARED_ENDS.max(alike.len().saturating_sub(COMPARED_ENDS)).min(alike.len())..));
        }
        found
    }

    /// Whether the newest text is that of a guess, worked out if it has not been yet.
    fn is_hoped(&mut self, name: (usize, bool), forced: bool) -> bool {
        if !self.hopes.contains_key(&name) {
            let Some(hope) = self.work_out(name) else { return false };
            self.hopes.insert(name, hope);
        }
        let Some(hoped) = self.hopes.get(&name).and_then(|hope| hope.text.clone()) else { return false };
        self.compare(forced, |echo| echo.same(&echo.now, &hoped))
    }

    fn work_out(&mut self, (on, raw): (usize, bool)) -> Option<Hope> {
        let base = self.text(on)?.clone();
        let (splices, all) = (&self.sent.splices, self.sent.splices.len());
        if !self.budget.look(all) {
            return None;
        }
        let splices = if raw {
            self.sent.at_its_lines(&base)
        } else {
            let mut carried = Carried::new(splices, self.sent.before.len());
            let whole = self.changes[self.made[on].origin?..on].iter().all(|change| carried.carry(change));
            self.budget.looked += carried.looked();
            debug_assert!(whole, "what was carried once can be carried again");
            carried.apply(splices)
        };
        let same_place = raw && self.hopes.get(&(on, false)).is_some_and(|moved| moved.splices == splices);
        let text = base.spliced(&splices);
        let text = (!same_place && !self.same(&base, &text)).then_some(text);
        Some(Hope { splices, text })
    }

    /// Whether the text after `between` changes is the one after `on` with a part of the edit in it: some of the
    /// splices, first or last ones first, each in one change, or in two for what goes and what comes.
    fn on_the_way(&self, on: usize, splices: &[Splice], between: usize) -> bool {
        let (Some(base), Some(text)) = (self.text(on), self.text(between)) else { return false };
        let (all, done) = (splices.len(), between - on);
        let is = |part: &[Splice]| self.same(text, &base.spliced(part));
        if done <= all && (is(&splices[..done]) || is(&splices[all - done..])) {
            return true;
        }
        let (whole, half) = (done / 2, done % 2 == 1);
        if whole + usize::from(half) > all {
            return false;
        }
        if !half {
            return is(&splices[..whole]) || is(&splices[all - whole..]);
        }
        let (forward, backward) = (&splices[..=whole], &splices[all - whole - 1..]);
        let halves = |splice: &Splice| {
            let Splice { range, text } = splice.clone();
            [
                Splice { range: range.clone(), text: String::new() },
                Splice { range: range.start..range.start, text: text.clone() },
                Splice { range: range.end..range.end, text },
            ]
        };
        let with_half = |part: &[Splice], at: usize| {
            halves(&part[at]).into_iter().any(|half| {
                let mut part = part.to_vec();
                part[at] = half;
                is(&part)
            })
        };
        with_half(forward, whole) || with_half(backward, 0)
    }

    /// Notes what the newest text would become if the edit were applied to it.
    fn guess(&mut self) {
        let on = self.changes.len();
        let moved = self.weight.wrapping_add(self.gain);
        let origin = self.moved.as_ref().map(|(origin, _)| *origin);
        let raw = if self.inserts {
            Some(moved)
        } else if self.run.length <= RUN && self.budget.look(self.sent.edits.len()) {
            Some(self.sent.at_its_lines(&self.now).iter().fold(self.weight, |weight, splice| {
                let removed = self.now.slice(splice.range.clone());
                weight.wrapping_add(weigh(&splice.text)).wrapping_sub(weigh(&removed))
            }))
        } else {
            None
        };
        for weight in raw.into_iter().chain(origin.map(|_| moved).filter(|&moved| Some(moved) != raw)) {
            self.guesses.entry(weight).or_default().push_back(on);
        }
        self.made.push(Guess { origin, raw: raw.is_some() });
    }
}

impl Run {
    /// One change more, which took away and brought so much weight; `splices`: what ours do.
    fn follow(&mut self, splices: &[(u64, u64)], change: (u64, u64)) {
        let is = |index: usize| splices.get(index) == Some(&change);
        if let Some(next) = self.next.filter(|&next| is(next)) {
            self.length += 1;
            self.next = if self.upwards { next.checked_sub(1) } else { Some(next + 1) };
            return;
        }
        let (last, upwards) = (splices.len().saturating_sub(1), is(splices.len().saturating_sub(1)));
        *self = if upwards {
            Run { next: last.checked_sub(1), upwards, length: 1 }
        } else if is(0) {
            Run { next: Some(1), upwards, length: 1 }
        } else {
            Run::default()
        };
    }
}

/// A number that texts alike but for their line ends share, and that splices add to and take from.
fn weigh(text: &str) -> u64 {
    text.bytes().filter(|byte| !matches!(byte, b'\r' | b'\n')).fold(0, |sum, byte| {
        let spread = u64::from(byte).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        sum.wrapping_add(spread ^ (spread >> 29))
    })
}

#[cfg(test)]
mod tests;
