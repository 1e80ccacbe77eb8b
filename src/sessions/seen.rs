//! Which texts a model has seen, by which calls. What leaves its context is forgotten here, so that nothing rests on it.
//! Pure.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;

use crate::workspace::Key;

/// Of one text, so many showings are remembered. The oldest give way, which only means that lines are read again.
const MAX_SHOWN: usize = 256;

/// A showing rests on at most so many calls; what rests on more is not called seen any more.
const MAX_BASIS: usize = 1000;

/// The names of calls that something rests on.
type Basis = BTreeSet<Arc<str>>;

/// The texts that a model has seen.
#[derive(Debug, Clone, Default)]
pub(super) struct Seen(HashMap<Key, Sight>);

/// How much of a text the model has seen.
#[derive(Debug, Clone)]
struct Sight {
    hash: String,
    /// Lines of the text, as far as known.
    total: usize,
    shown: Vec<Shown>,
}

/// Some lines (0-based) that were shown.
#[derive(Debug, Clone)]
struct Shown {
    /// The model knows them only as long as it knows what all of these calls said.
    basis: Basis,
    lines: Range<usize>,
    /// They were shown as they are, and not just made or known.
    verbatim: bool,
}

impl Seen {
    /// The model was shown this text, or made it, from end to end.
    pub(super) fn whole(&mut self, key: &Key, hash: &str, by: Option<&Arc<str>>) {
        let mut sight = self.0.remove(key).filter(|sight| sight.hash == hash).unwrap_or_else(|| Sight::of(hash));
        sight.add(by.cloned().into_iter().collect(), 0..usize::MAX, false);
        self.0.insert(key.clone(), sight);
    }

    /// The model changed a text that it had seen from end to end, by a call: it knows the outcome for as long as it knows
    /// both.
    pub(super) fn changed(&mut self, key: &Key, hash: &str, by: Option<&Arc<str>>) {
        let Some(before) = self.0.remove(key) else { return };
        let mut basis: Basis = before.shown.into_iter().flat_map(|shown| shown.basis).collect();
        basis.extend(by.cloned());
        if basis.len() <= MAX_BASIS {
            let mut sight = Sight::of(hash);
            sight.add(basis, 0..usize::MAX, false);
            self.0.insert(key.clone(), sight);
        }
    }

    /// A file got another name, under which nothing was before.
    pub(super) fn moved(&mut self, from: &Key, to: &Key) {
        self.0.remove(to);
        if let Some(sight) = self.0.remove(from) {
            self.0.insert(to.clone(), sight);
        }
    }

    /// The model was shown some lines (0-based) of a text that has `total`.
    pub(super) fn lines(&mut self, key: &Key, hash: &str, lines: Range<usize>, total: usize, by: Option<&Arc<str>>) {
        let sight = self.0.entry(key.clone()).or_insert_with(|| Sight::of(hash));
        if sight.hash != hash {
            *sight = Sight::of(hash);
        }
        sight.total = total;
        sight.add(by.cloned().into_iter().collect(), lines, true);
    }

    /// The hash of the text last seen under this key, or parts of it.
    pub(super) fn hash(&self, key: &Key) -> Option<&str> {
        self.0.get(key).map(|sight| sight.hash.as_str())
    }

    /// All that was seen, or parts of it, sorted.
    pub(super) fn keys(&self) -> Vec<Key> {
        let mut keys: Vec<Key> = self.0.keys().cloned().collect();
        keys.sort_unstable();
        keys
    }

    /// The lines (0-based) of that text that were not shown; empty when all were, or the text was never seen.
    pub(super) fn unseen(&self, key: &Key) -> Vec<Range<usize>> {
        self.0.get(key).map(Sight::unseen).unwrap_or_default()
    }

    /// The last call that showed all of these lines (0-based) of exactly this text, and is not forgotten.
    pub(super) fn shown_by(&self, key: &Key, hash: &str, lines: &Range<usize>) -> Option<Arc<str>> {
        let sight = self.0.get(key).filter(|sight| sight.hash == hash)?;
        let holds = |shown: &&Shown| {
            shown.verbatim && shown.lines.start <= lines.start && lines.end <= shown.lines.end && shown.basis.len() == 1
        };
        sight.shown.iter().rev().find(holds).and_then(|shown| shown.basis.first().cloned())
    }

    /// A text left the model's context. Answers whether it was there.
    pub(super) fn forget(&mut self, key: &Key) -> bool {
        self.0.remove(key).is_some()
    }

    /// What some calls said left the model's context. Answers how many texts are known less well by that.
    pub(super) fn forget_calls(&mut self, calls: &BTreeSet<&str>) -> usize {
        let mut touched = 0;
        self.0.retain(|_, sight| {
            let before = sight.shown.len();
            sight.shown.retain(|shown| !shown.basis.iter().any(|call| calls.contains(&**call)));
            touched += usize::from(sight.shown.len() < before);
            !sight.shown.is_empty()
        });
        touched
    }

    /// Everything left it.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

impl Sight {
    fn of(hash: &str) -> Sight {
        Sight { hash: hash.to_owned(), total: 0, shown: Vec::new() }
    }

    fn add(&mut self, basis: Basis, lines: Range<usize>, verbatim: bool) {
        // One call that shows neighbouring pieces is one showing.
        if let Some(last) = self.shown.last_mut()
            && last.basis == basis
            && last.verbatim == verbatim
            && lines.start <= last.lines.end
            && last.lines.start <= lines.end
        {
            last.lines = last.lines.start.min(lines.start)..last.lines.end.max(lines.end);
            return;
        }
        self.shown.push(Shown { basis, lines, verbatim });
        if self.shown.len() > MAX_SHOWN {
            self.shown.remove(0);
        }
    }

    fn unseen(&self) -> Vec<Range<usize>> {
        let mut gaps: Vec<Range<usize>> = std::iter::once(0..self.total).collect();
        for Shown { lines, .. } in &self.shown {
            gaps = gaps
                .into_iter()
                .flat_map(|gap| [gap.start..gap.end.min(lines.start), gap.start.max(lines.end)..gap.end])
                .filter(|gap| !gap.is_empty())
                .collect();
        }
        gaps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> Key {
        Key::Unnamed("untitled:1".to_owned())
    }

    fn call(name: &str) -> Arc<str> {
        Arc::from(name)
    }

    fn state(seen: &Seen) -> (Option<&str>, Vec<Range<usize>>) {
        (seen.hash(&key()), seen.unseen(&key()))
    }

    #[test]
    fn parts_add_up_to_the_whole() {
        let (mut seen, a) = (Seen::default(), call("a"));
        assert_eq!(state(&seen), (None, vec![]));
        seen.lines(&key(), "h", 3..6, 10, Some(&a));
        assert_eq!(state(&seen), (Some("h"), vec![0..3, 6..10]));
        seen.lines(&key(), "h", 0..4, 10, Some(&a));
        assert_eq!(seen.unseen(&key()), std::iter::once(6..10).collect::<Vec<_>>());
        seen.lines(&key(), "h", 6..10, 10, None);
        assert_eq!(state(&seen), (Some("h"), vec![]));
        seen.lines(&key(), "other", 0..1, 2, Some(&a));
        assert_eq!(state(&seen), (Some("other"), std::iter::once(1..2).collect()));
        seen.whole(&key(), "whole", Some(&a));
        assert_eq!(state(&seen), (Some("whole"), vec![]));
    }

    #[test]
    fn what_a_call_showed_is_forgotten_with_it() {
        let (mut seen, a, b) = (Seen::default(), call("a"), call("b"));
        seen.lines(&key(), "h", 0..6, 10, Some(&a));
        seen.lines(&key(), "h", 4..10, 10, Some(&b));
        assert_eq!(seen.forget_calls(&BTreeSet::from(["c"])), 0);
        assert_eq!(seen.forget_calls(&BTreeSet::from(["a"])), 1);
        assert_eq!(state(&seen), (Some("h"), std::iter::once(0..4).collect()));
        assert_eq!(seen.forget_calls(&BTreeSet::from(["b", "c"])), 1);
        assert_eq!(state(&seen), (None, vec![]));
    }

    #[test]
    fn an_outcome_is_known_for_as_long_as_what_it_rests_on() {
        for (forgotten, known) in [("read", false), ("edit", false), ("other", true)] {
            let mut seen = Seen::default();
            seen.lines(&key(), "one", 0..3, 3, Some(&call("read")));
            seen.changed(&key(), "two", Some(&call("edit")));
            seen.forget_calls(&BTreeSet::from([forgotten]));
            assert_eq!(seen.hash(&key()).is_some(), known, "{forgotten}");
        }
        // Read once more afterwards, it rests on that alone.
        let mut seen = Seen::default();
        seen.whole(&key(), "one", Some(&call("read")));
        seen.changed(&key(), "two", Some(&call("edit")));
        seen.lines(&key(), "two", 0..3, 3, Some(&call("again")));
        seen.forget_calls(&BTreeSet::from(["read", "edit"]));
        assert_eq!(state(&seen), (Some("two"), vec![]));
    }

    #[test]
    fn what_was_seen_moves_with_its_file() {
        let (mut seen, other) = (Seen::default(), Key::Unnamed("untitled:2".to_owned()));
        seen.lines(&other, "old", 0..3, 3, Some(&call("a")));
        seen.lines(&key(), "h", 0..2, 3, Some(&call("b")));
        seen.moved(&key(), &other);
        assert_eq!((seen.hash(&key()), seen.hash(&other)), (None, Some("h")));
        assert_eq!(seen.unseen(&other), std::iter::once(2..3).collect::<Vec<_>>());
        seen.moved(&key(), &other);
        assert_eq!(seen.hash(&other), None, "what was moved there was never seen");
    }

    #[test]
    fn only_what_one_call_showed_of_this_very_text_was_shown() {
        let (mut seen, a, b) = (Seen::default(), call("a"), call("b"));
        seen.whole(&key(), "h", Some(&call("write")));
        seen.lines(&key(), "h", 0..5, 10, Some(&a));
        seen.lines(&key(), "h", 5..8, 10, Some(&b));
        seen.lines(&key(), "h", 8..10, 10, None);
        let by = |seen: &Seen, hash: &str, lines| seen.shown_by(&key(), hash, &lines).map(|call| call.to_string());
        for (hash, lines, call) in [
            ("h", 0..5, Some("a")),
            ("h", 1..3, Some("a")),
            ("h", 5..8, Some("b")),
            // By two calls, by the pane, by none, of another text.
            ("h", 4..6, None),
            ("h", 8..10, None),
            ("h", 0..11, None),
            ("other", 0..5, None),
        ] {
            assert_eq!(by(&seen, hash, lines.clone()).as_deref(), call, "{hash} {lines:?}");
        }
        seen.forget_calls(&BTreeSet::from(["a"]));
        assert_eq!((by(&seen, "h", 0..5), by(&seen, "h", 5..8).as_deref()), (None, Some("b")));
        // What a change of it made was never shown.
        seen.changed(&key(), "new", Some(&call("edit")));
        assert_eq!(by(&seen, "new", 5..8), None);
    }

    #[test]
    fn many_showings_are_bounded_and_never_called_seen_by_that() {
        let mut seen = Seen::default();
        for line in 0..MAX_SHOWN + 10 {
            // Every second line, so that no two are neighbours.
            seen.lines(&key(), "h", 2 * line..2 * line + 1, 10_000, Some(&call("a")));
        }
        assert_eq!(seen.0[&key()].shown.len(), MAX_SHOWN);
        assert!(seen.unseen(&key())[0].contains(&0));
        for number in 0..=MAX_BASIS {
            seen.changed(&key(), &number.to_string(), Some(&call(&format!("edit{number}"))));
        }
        assert_eq!(seen.hash(&key()), None);
    }
}
