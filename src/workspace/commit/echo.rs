//! The echo: judges, change by change, whether an edit that was sent has become part of the editor's text. Pure.
//!
//! The text at the version the edit was computed against is `T0`; every content change after it gives `T1`, `T2` ...,
//! however the editor bundles them into notifications. The edit has landed when some `Tn` is `T0` with the edit in it,
//! or (the user was faster) an earlier `Ti` with the edit at the place it has moved to. It has landed *elsewhere* when
//! `Tn` is a later `Ti` with the edit at the very line numbers that were sent, and those are no longer its place.
//!
//! Comparing whole texts at each keystroke would make typing in a large file slow, so each text has a weight, kept up
//! to date from the changes alone, and only texts of equal weight are compared.

use std::collections::HashMap;

use crate::text::{Clamp, Encoding, Splice, Text, TextEdit, diff};

use super::evidence::{Change, End, Evidence};

/// An edit as it was sent.
#[derive(Debug, Clone)]
pub(super) struct Sent {
    /// The text it was computed against.
    pub(super) before: Text,
    /// The edit, in bytes of `before`, rising, not touching one another.
    pub(super) splices: Vec<Splice>,
    /// `before` with the edit.
    pub(super) expected: Text,
    /// The same edit as the editor gets it.
    pub(super) edits: Vec<TextEdit>,
    /// The units of its positions.
    pub(super) encoding: Encoding,
}

impl Sent {
    /// `None` when positions cannot say exactly what the splices say: then nothing may be sent.
    pub(super) fn new(before: &Text, splices: Vec<Splice>, encoding: Encoding) -> Option<Sent> {
        let edits: Vec<TextEdit> = splices.iter().map(|splice| before.edit_of(splice, encoding)).collect();
        let faithful = edits
            .iter()
            .zip(&splices)
            .all(|(edit, splice)| before.splice_of(edit, encoding) == (splice.clone(), Clamp::Exact));
        faithful.then(|| Sent { expected: before.spliced(&splices), before: before.clone(), splices, edits, encoding })
    }
}

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

/// A text that would show the edit: the text after `on` changes, with the edit in it.
#[derive(Debug)]
struct Guess {
    on: usize,
    /// The edit at the line numbers that were sent.
    raw: Vec<Splice>,
    /// The edit at its place, moved through the changes; absent when they touched it.
    moved: Option<Vec<Splice>>,
}

/// Follows one edit.
#[derive(Debug)]
pub(super) struct Echo {
    sent: Sent,
    /// The edit changes nothing but line ends, so that only exact equality proves it.
    strict: bool,
    /// The text after n changes; those that cannot be of use any more are let go.
    texts: Vec<Option<Text>>,
    now: Text,
    version: i32,
    changes: Vec<Change>,
    /// Weight of the text now, less that of the text before.
    weight: u64,
    guesses: HashMap<u64, Vec<usize>>,
    made: Vec<Guess>,
    moved: Option<Vec<Splice>>,
    evidence: Evidence,
    verdict: Verdict,
    /// How many changes after its own text a guess stays alive: an editor applies an edit in one go, if in pieces.
    window: usize,
}

impl Echo {
    /// Nothing has happened since the edit was computed against `version`.
    pub(super) fn new(sent: Sent, version: i32) -> Echo {
        let strict = sent.before.same_lines(&sent.expected);
        let mut echo = Echo {
            strict,
            texts: vec![Some(sent.before.clone())],
            now: sent.before.clone(),
            version,
            changes: Vec::new(),
            weight: 0,
            guesses: HashMap::new(),
            made: Vec::new(),
            moved: Some(sent.splices.clone()),
            evidence: Evidence::default(),
            verdict: Verdict::Waiting,
            window: 4 * sent.splices.len() + 16,
            sent,
        };
        echo.guess();
        echo
    }

    /// The edit.
    pub(super) fn sent(&self) -> &Sent {
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
    pub(super) fn moved(&self) -> Option<&[Splice]> {
        self.moved.as_deref()
    }

    /// One content change, of the newest text.
    pub(super) fn push(&mut self, splice: &Splice, after: Text, version: i32) {
        let removed = self.now.slice(splice.range.clone());
        let change = Change::of(splice, &removed);
        self.weight = self.weight.wrapping_add(weigh(&splice.text)).wrapping_sub(weigh(&removed));
        self.evidence.add(splice, &removed, &change);
        if self.moved.as_mut().is_some_and(|moved| !change.carry(moved)) {
            self.moved = None;
        }
        self.changes.push(change);
        if self.weight == 0 && after == self.sent.before {
            // The user took back what had been typed: the edit is at its place again.
            self.moved = Some(self.sent.splices.clone());
        }
        self.now = after;
        self.version = version;
        self.texts.push(Some(self.now.clone()));
        match self.verdict {
            Verdict::Waiting => self.verdict = self.look(),
            Verdict::Landed { .. } => return,
            Verdict::Elsewhere { .. } => {}
        }
        self.guess();
        if self.verdict != Verdict::Waiting {
            return;
        }
        if let Some(old) = self.changes.len().checked_sub(self.window).filter(|&old| old > 0) {
            self.texts[old] = None;
            self.made[old].raw = Vec::new();
            self.made[old].moved = None;
        }
    }

    /// A text that came as a whole: a resync, or a re-open.
    pub(super) fn jump(&mut self, text: &Text, version: i32) {
        self.version = version;
        if *text != self.now {
            let splice = Splice { range: 0..self.now.len(), text: text.to_string() };
            self.push(&splice, text.clone(), version);
        }
    }

    /// The edit was refused, so that what looked like it at the wrong place was the user's.
    pub(super) fn forgive(&mut self) {
        if matches!(self.verdict, Verdict::Elsewhere { .. }) {
            self.verdict = Verdict::Waiting;
        }
    }

    /// What can be shown of the newest text when no text so far is exactly the one hoped for.
    pub(super) fn end(&self, refused: bool) -> End {
        self.evidence.judge(&self.sent, &self.now, refused)
    }

    /// The edit of the newest text that undoes what landed at the wrong place; absent when it was typed into since.
    pub(super) fn take_back(&self, on: usize, step: usize) -> Option<Vec<Splice>> {
        let (landed, before) = (self.text(step)?, self.text(on)?);
        let mut splices = diff::splices(&landed.to_string(), &before.to_string());
        self.changes[step..].iter().all(|change| change.carry(&mut splices)).then_some(splices)
    }

    fn same(&self, a: &Text, b: &Text) -> bool {
        if self.strict { a == b } else { a.same_lines(b) }
    }

    /// Whether the newest text is one of those hoped for, or feared. When it is several at once (an edit applied over
    /// what the user had just typed can leave exactly the text hoped for), the first one counts that explains every
    /// text on the way to it.
    fn look(&self) -> Verdict {
        let step = self.changes.len();
        let mut matches: Vec<(Verdict, usize, &[Splice])> = Vec::new();
        for &guess in self.guesses.get(&self.weight).into_iter().flatten() {
            let guess = &self.made[guess];
            let Some(on) = self.text(guess.on) else { continue };
            let matching = |splices: &[Splice]| {
                let text = on.spliced(splices);
                self.same(&self.now, &text) && !self.same(on, &text)
            };
            match &guess.moved {
                Some(moved) if matching(moved) => {
                    matches.push((Verdict::Landed { step, version: self.version }, guess.on, moved));
                }
                moved if moved.as_ref() != Some(&guess.raw) && matching(&guess.raw) => {
                    matches.push((Verdict::Elsewhere { on: guess.on, step }, guess.on, &guess.raw));
                }
                _ => {}
            }
        }
        let explained = || {
            matches.iter().find(|(_, on, splices)| (on + 1..step).all(|between| self.on_the_way(*on, splices, between)))
        };
        match &matches[..] {
            [] => Verdict::Waiting,
            [(verdict, ..)] => *verdict,
            [(first, ..), ..] => explained().map_or(*first, |(verdict, ..)| *verdict),
        }
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
        let number = self.made.len();
        let raw: Vec<Splice> =
            self.sent.edits.iter().map(|edit| self.now.splice_of(edit, self.sent.encoding).0).collect();
        let weights = [Some(&raw), self.moved.as_ref()].map(|splices| splices.map(|splices| self.weight_with(splices)));
        let [raw_weight, moved_weight] = weights;
        for weight in raw_weight.into_iter().chain(moved_weight.filter(|&moved| Some(moved) != raw_weight)) {
            self.guesses.entry(weight).or_default().push(number);
        }
        self.made.push(Guess { on: self.changes.len(), raw, moved: self.moved.clone() });
    }

    fn weight_with(&self, splices: &[Splice]) -> u64 {
        splices.iter().fold(self.weight, |weight, splice| {
            let removed = self.now.slice(splice.range.clone());
            weight.wrapping_add(weigh(&splice.text)).wrapping_sub(weigh(&removed))
        })
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
mod tests {
    use super::*;
    use crate::text::LineBreaks;

    /// Follows an edit (replacements of strings that are in the text once) through the texts that come after it.
    fn follow(before: &str, edit: &[(&str, &str)], texts: &[&str]) -> Echo {
        let text = Text::new(before, LineBreaks::Lf);
        let splices = edit
            .iter()
            .map(|(old, new)| {
                let at = before.find(old).unwrap();
                Splice { range: at..at + old.len(), text: (*new).to_owned() }
            })
            .collect();
        let mut echo = Echo::new(Sent::new(&text, splices, Encoding::Utf16).unwrap(), 1);
        for (number, next) in texts.iter().enumerate() {
            let now = echo.now().to_string();
            let (prefix, suffix) = diff::common_ends(&now, next);
            let text = next[prefix..next.len() - suffix].to_owned();
            let splice = Splice { range: prefix..now.len() - suffix, text };
            echo.push(&splice, Text::new(next, LineBreaks::Lf), 2 + i32::try_from(number).unwrap());
        }
        echo
    }

    #[test]
    fn verdicts() {
        fn check(before: &str, edit: &[(&str, &str)], texts: &[&str], expected: Verdict) {
            assert_eq!(follow(before, edit, texts).verdict(), expected, "{before:?} {edit:?} {texts:?}");
        }
        let landed = |step, version| Verdict::Landed { step, version };
        let elsewhere = |on, step| Verdict::Elsewhere { on, step };
        check("a\nb\n", &[("b", "c")], &[], Verdict::Waiting);
        check("a\nb\n", &[("b", "c")], &["a\nc\n"], landed(1, 2));
        check("a\nb\n", &[("b", "c")], &["a\r\nc"], landed(1, 2));
        // In pieces, last or first one first; what goes and what comes apart.
        check("a\nb\n", &[("a", "A"), ("b", "B")], &["a\nB\n", "A\nB\n", "A\nB\n!"], landed(2, 3));
        check("a\nb\n", &[("a", "A"), ("b", "B")], &["A\nb\n", "A\nB\n"], landed(2, 3));
        check("a\nb\n", &[("a", "A"), ("b", "B")], &["a\n\n", "a\nB\n", "\nB\n", "A\nB\n"], landed(4, 5));
        // On a later text: at its place, and by its old line number.
        check("a\nb\n", &[("b", "c")], &["a\nb\nd\n", "a\nc\nd\n"], landed(2, 3));
        check("a\nb\n", &[("b", "c")], &["d\na\nb\n", "d\na\nc\n"], landed(2, 3));
        check("a\nb\n", &[("b", "c")], &["d\na\nb\n", "d\nc\nb\n"], elsewhere(1, 2));
        // Over what was typed there a moment before, so that nothing of it is left; but not when the user took it back.
        check("a\nb\n", &[("b\n", "c\n")], &["a\nxb\n", "a\nc\n"], elsewhere(1, 2));
        check("a\nbbb\n", &[("bbb", "c")], &["a\nbxbb\n", "a\ncb\n"], elsewhere(1, 2));
        check("a\nb\n", &[("a\nb\n", "c\n")], &["a\nxb\n", "c\n"], elsewhere(1, 2));
        check("a\nb\n", &[("a\nb\n", "c\n")], &["a\nxb\n", "a\nb\n", "c\n"], landed(3, 4));
        // An edit of line ends alone is not shown by a text that merely has the same lines.
        check("a\nb", &[("b", "b\n")], &["a\nbx", "a\nb"], Verdict::Waiting);
        check("a\nb", &[("b", "b\n")], &["a\nb\n"], landed(1, 2));
    }

    #[test]
    fn what_landed_elsewhere_is_taken_back_past_later_typing() {
        let echo = follow("a\nb\n", &[("b", "c")], &["d\na\nb\n", "d\nc\nb\n", "dd\nc\nb\n", "dd\nc\nb\ne\n"]);
        let undo = echo.take_back(1, 2).unwrap();
        assert_eq!(echo.now().spliced(&undo).to_string(), "dd\na\nb\ne\n");
        let echo = follow("a\nb\n", &[("b", "ccc")], &["d\na\nb\n", "d\nccc\nb\n", "d\ncxcc\nb\n"]);
        assert_eq!(echo.take_back(1, 2), None);
    }

    /// Each keystroke must cost little, however large the file: no text but the two or three that could match is built.
    #[test]
    fn a_stream_of_typing_keeps_few_texts() {
        let mut echo = follow("a\nb\n", &[("b", "c")], &[]);
        for number in 1..500 {
            let mut text = echo.now().clone();
            let splice = Splice { range: 0..0, text: "x".into() };
            text.splice(&splice);
            echo.push(&splice, text, number);
        }
        assert!(echo.texts.iter().flatten().count() <= echo.window + 2);
        let mut text = echo.now().clone();
        let splice = echo.moved().unwrap()[0].clone();
        text.splice(&splice);
        echo.push(&splice, text, 500);
        assert_eq!(echo.verdict(), Verdict::Landed { step: 500, version: 500 });
    }
}
