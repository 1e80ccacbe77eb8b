//! `trimmedBoundary`: old without its blank first and last lines, or without the code fence round it.

use std::borrow::Cow;

use super::haystack::Haystack;
use super::lines::{Lines, blank};
use super::{Finding, Pair, Place, above, first_of};

/// The strategies above, on the pair without its blank boundary lines.
pub(super) fn find<'a>(haystack: &Haystack<'_>, pair: &Pair<'a>, all: bool) -> Finding<'a> {
    if let Some(trimmed) = trimmed(pair) {
        let mut finding = first_of(above("trimmedBoundary"), haystack, &trimmed, all);
        // A blank line before the others says that they begin on a line of their own. A place within a line is not good
        // enough then, though it makes another one ambiguous.
        let led = blank(pair.old.split('\n').next().unwrap_or_default()) && pair.old.contains('\n');
        if led && (all || finding.places.len() == 1) {
            finding.places.retain(|place| {
                let head = &haystack.body[..place.range.start];
                blank(&head[head.rfind('\n').map_or(0, |at| at + 1)..])
            });
        }
        if !finding.places.is_empty() {
            return finding;
        }
    }
    let Some(bare) = unfenced(pair) else { return Finding::none(pair) };
    let mut finding = first_of(above("trimmedBoundary"), haystack, &bare, all);
    // Next to a fence of the text's own, the model's may be that one.
    finding.places.retain(|place| !fenced(haystack, place));
    finding
}

/// What a line that opens or closes a fenced block begins with.
const FENCE: &str = "```";

/// Old and new without the code fence that is round each of them. `None` when one has none.
fn unfenced<'a>(pair: &Pair<'_>) -> Option<Pair<'a>> {
    fn inside(text: &str) -> Option<&str> {
        let lines = Lines::of(text.trim());
        let last = lines.count().checked_sub(1).filter(|&last| last > 1)?;
        let opens = lines.content(0).strip_prefix(FENCE)?.trim();
        let word = opens.chars().all(|c| c.is_alphanumeric() || "+-_#.".contains(c));
        let inner = (1..last).all(|line| !lines.content(line).trim_start().starts_with(FENCE));
        (word && inner && lines.content(last).trim() == FENCE).then(|| &text.trim()[lines.span(&(1..last))])
    }
    Some(Pair { old: Cow::Owned(inside(&pair.old)?.to_owned()), new: Cow::Owned(inside(&pair.new)?.to_owned()) })
}

/// Whether a fence of the text's own is next to a place.
fn fenced(haystack: &Haystack<'_>, place: &Place) -> bool {
    let lines = haystack.lines();
    let fence = |line: Option<usize>| {
        line.filter(|&line| line < lines.count())
            .is_some_and(|line| lines.content(line).trim_start().starts_with(FENCE))
    };
    let (first, last) = (lines.at(place.range.start), lines.at(place.range.end.saturating_sub(1)));
    fence(first.checked_sub(1)) || fence(Some(last + 1))
}

/// Old without its blank boundary lines, and new without as many of its own. `None` when old has none, or nothing else.
pub(super) fn trimmed<'a>(pair: &Pair<'_>) -> Option<Pair<'a>> {
    let old = Lines::of(&pair.old);
    let lead = old.contents().take_while(|line| blank(line)).count();
    let tail = (0..old.count()).rev().take_while(|&line| blank(old.content(line))).count();
    if lead == old.count() || lead + tail == 0 {
        return None;
    }
    let new = Lines::of(&pair.new);
    let new_lead = new.contents().take(lead).take_while(|line| blank(line)).count();
    let new_tail = (new_lead..new.count()).rev().take(tail).take_while(|&line| blank(new.content(line))).count();
    let cut = |text: &str, lines: &Lines<'_>, lead: usize, tail: usize| {
        text[lines.span(&(lead..lines.count() - tail))].to_owned()
    };
    Some(Pair {
        old: Cow::Owned(cut(&pair.old, &old, lead, tail)),
        new: Cow::Owned(cut(&pair.new, &new, new_lead, new_tail)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_loses_the_same_lines() {
        fn check(old: &str, new: &str, expected: Option<(&str, &str)>) {
            let found = trimmed(&Pair { old: Cow::Borrowed(old), new: Cow::Borrowed(new) });
            let found = found.as_ref().map(|pair| (&*pair.old, &*pair.new));
            assert_eq!(found, expected, "{old:?} {new:?}");
        }
        check("\n\na\n\n", "\n\nb\n\n", Some(("a\n", "b\n")));
        check("\na\n", "b\n", Some(("a\n", "b\n")));
        check("\na\n", "\n\nb\n", Some(("a\n", "\nb\n")));
        check("a\n  ", "b\n  ", Some(("a\n", "b\n")));
        check("\na\n", "", Some(("a\n", "")));
        check("a\n", "\nb\n", None);
        check("\n\n", "b", None);
    }

    #[test]
    fn a_fence_round_both_goes() {
        fn check(old: &str, new: &str, expected: Option<(&str, &str)>) {
            let found = unfenced(&Pair { old: Cow::Borrowed(old), new: Cow::Borrowed(new) });
            let found = found.as_ref().map(|pair| (&*pair.old, &*pair.new));
            assert_eq!(found, expected, "{old:?} {new:?}");
        }
        check("```rust\na\n```", "```rust\nb\n```\n", Some(("a\n", "b\n")));
        check("```\n  a\n```\n", "```\n  b\nc\n```", Some(("  a\n", "  b\nc\n")));
        check("```\na\n```", "b", None);
        check("```\na\n```\n```\nb\n```", "```\nb\n```", None);
        check("```\n```", "```\nb\n```", None);
    }
}
