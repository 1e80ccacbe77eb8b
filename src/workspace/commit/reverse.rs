//! Takes an edit back out of a text that others may have changed since. Pure.

use crate::text::{BOM, Splice, Text, diff};
use crate::workspace::{Refusal, RefusalKind};

use super::carry::{Carried, Change};
use super::evidence::{End, Evidence};
use super::sent::Sent;
use super::{Rewrite, Rewritten};

/// How much is known of an edit that is to be taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    /// It landed.
    Landed,
    /// It may have: the text has to prove it.
    Unknown,
    /// It counts only where the text is exactly the one with the edit.
    Exact,
}

/// Takes the edit from `before` to `after` back, wherever it is by now, and leaves everything else. Changes nothing in a
/// text that does not have it.
pub(super) struct Reverse {
    before: Text,
    after: Text,
    known: Known,
}

impl Reverse {
    /// For an edit of these texts; byte order marks aside.
    pub(super) fn new(before: &Text, after: &Text, known: Known) -> Reverse {
        let bare = |text: &Text| {
            let mark = if text.slice(0..BOM.len_utf8()).starts_with(BOM) { BOM.len_utf8() } else { 0 };
            text.spliced(&[Splice { range: 0..mark, text: String::new() }])
        };
        Reverse { before: bare(before), after: bare(after), known }
    }

    /// What the text at hand proves about the edit.
    fn judge(&self, now: &Text) -> End {
        let strict = self.before.same_lines(&self.after);
        let same = |text: &Text| if strict { text == now } else { text.same_lines(now) };
        match (same(&self.before), same(&self.after), self.known) {
            (true, _, _) | (false, false, Known::Exact) => return End::NotThere,
            (false, true, _) | (false, false, Known::Landed) => return End::Merged,
            (false, false, Known::Unknown) => {}
        }
        // What was changed since may have changed the edit's own text, so that its absence proves nothing: the text
        // either has the edit and others beside it, or the text before and others beside the edit's places.
        match (merged(&self.before, &self.after, now), merged(&self.after, &self.before, now)) {
            (true, false) => End::Merged,
            (false, true) => End::NotThere,
            _ => End::Unclear,
        }
    }

    fn splices(&self, now: &Text) -> Option<Vec<Splice>> {
        let (before, after, now) = (self.before.to_string(), self.after.to_string(), now.to_string());
        let back = diff::splices(&after, &before);
        let mut carried = Carried::new(&back, after.len());
        // From the end on, so that each is in terms of the text that it meets.
        let whole = diff::splices(&after, &now)
            .iter()
            .rev()
            .all(|since| carried.carry(&Change::of(since, &after[since.range.clone()])));
        whole.then(|| carried.apply(&back))
    }
}

/// Whether `now` provably is `from` with the edit to `to`, and other changes that do not touch it.
fn merged(from: &Text, to: &Text, now: &Text) -> bool {
    let sent = Sent {
        splices: diff::splices(&from.to_string(), &to.to_string()),
        before: from.clone(),
        expected: to.clone(),
        edits: Vec::new(),
        encoding: crate::text::Encoding::Utf8,
    };
    let old = from.to_string();
    let whole = Splice { range: 0..old.len(), text: now.to_string() };
    let mut evidence = Evidence::new(&sent);
    evidence.add(&whole, &old, &Change::of(&whole, &old));
    evidence.judge(&sent, now, false) == End::Merged
}

/// In the data of a refusal: others changed the very places of the edit.
pub(super) const ENTANGLED: &str = "entangled";

impl Rewrite for Reverse {
    fn rewrite(&self, now: Option<&Text>) -> Result<Rewritten, Refusal> {
        let Some(now) = now else {
            return Err(Refusal::new(RefusalKind::NotFound, "There is no such file any more."));
        };
        let splices = match self.judge(now) {
            End::NotThere => Some(Vec::new()),
            End::Merged => self.splices(now),
            End::Unclear => None,
        };
        let entangled = || {
            let words = "its text was changed at the same places since, and what is whose cannot be told";
            Refusal { data: Some(ENTANGLED.into()), ..Refusal::new(RefusalKind::Conflict, words) }
        };
        Ok(Rewritten { splices: splices.ok_or_else(entangled)?, ..Rewritten::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::LineBreaks;
    use proptest::prelude::*;

    fn text(text: &str) -> Text {
        Text::new(text, LineBreaks::Lf)
    }

    fn reversed(before: &str, after: &str, now: &str, known: Known) -> Option<String> {
        let now = text(now);
        let rewritten = Reverse::new(&text(before), &text(after), known).rewrite(Some(&now)).ok()?;
        Some(now.spliced(&rewritten.splices).to_string())
    }

    #[test]
    fn what_the_user_typed_stays() {
        let (before, after) = ("one\ntwo\nthree\n", "one\nTWO\nthree\n");
        for (now, known, expected) in [
            (after, Known::Unknown, Some(before)),
            (before, Known::Unknown, Some(before)),
            (before, Known::Landed, Some(before)),
            ("typed\none\nTWO\nthree\n", Known::Unknown, Some("typed\none\ntwo\nthree\n")),
            ("typed\none\nTWO\nthree!\n", Known::Landed, Some("typed\none\ntwo\nthree!\n")),
            ("typed\none\ntwo\nthree\n", Known::Unknown, Some("typed\none\ntwo\nthree\n")),
            ("one\nTxO\nthree\n", Known::Landed, None),
            ("one\nTWx\nthree\n", Known::Unknown, None),
            ("typed\none\nTWO\nthree\n", Known::Exact, Some("typed\none\nTWO\nthree\n")),
            (after, Known::Exact, Some(before)),
            // Without the final newline, which editors restore by themselves.
            ("one\nTWO\nthree", Known::Unknown, Some("one\ntwo\nthree")),
        ] {
            assert_eq!(reversed(before, after, now, known).as_deref(), expected, "{now:?} {known:?}");
        }
        assert!(Reverse::new(&text(before), &text(after), Known::Exact).rewrite(None).is_err());
    }

    proptest! {
        /// Lines typed at either end, apart from the edit, stay whatever the edit was, and the edit goes.
        #[test]
        fn an_edit_goes_and_nothing_else(
            lines in prop::collection::vec("[a-c]{1,2}\n", 3..8), old in 1usize..2, new in "[A-C\n]{1,4}",
            above in prop::option::of("[x-z]{1,3}\n"), below in prop::option::of("[x-z]{1,3}\n"),
        ) {
            let before = lines.concat();
            let mut changed = lines;
            changed[old] = new;
            let after = changed.concat();
            let typed = |text: &str| [above.as_deref().unwrap_or(""), text, below.as_deref().unwrap_or("")].concat();
            prop_assert_eq!(reversed(&before, &after, &typed(&after), Known::Landed), Some(typed(&before)));
            // Where it may have landed, the outcome is the text without it, or it is told that nobody knows.
            for now in [&before, &after] {
                let outcome = reversed(&before, &after, &typed(now), Known::Unknown);
                prop_assert!(outcome.is_none() || outcome == Some(typed(&before)), "{:?}", outcome);
            }
        }
    }
}
