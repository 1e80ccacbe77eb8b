//! The cascade's rules for lines, for who knows already which lines belong together: patches.

use std::ops::Range;

use super::haystack::Haystack;
use super::indent;
use super::keys::trimmed_key;
use super::lines::{Lines, blank};
use super::merge::Merge;
use super::nearest::nearest;
use super::typographic::Plain;
use crate::text::{Splice, similarity};

/// When two lines count as equal, strictest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LineRule {
    /// Byte for byte, line ends aside.
    Exact,
    /// White space at their ends aside.
    TrailingSpace,
    /// Once every run of white space is one space, and none is at their ends.
    WhiteSpace,
    /// As for white space, once curly quotes, dashes, no-break spaces and the like are plain.
    LookAlikes,
}

impl LineRule {
    /// All of them, strictest first.
    pub const ALL: [LineRule; 4] =
        [LineRule::Exact, LineRule::TrailingSpace, LineRule::WhiteSpace, LineRule::LookAlikes];

    /// The strategy of the cascade that takes lines by this rule; `None` where nothing has to be forgiven.
    pub fn strategy(self) -> Option<&'static str> {
        match self {
            LineRule::Exact => None,
            LineRule::TrailingSpace => Some("lineTrimmed"),
            LineRule::WhiteSpace => Some("whitespaceNormalized"),
            LineRule::LookAlikes => Some("typographic"),
        }
    }

    /// A hash of a line (without its end) that is the same for all lines that are equal to it.
    pub fn key(self, line: &str) -> u64 {
        trimmed_key(&self.form(line)) ^ self.lead(line)
    }

    /// Whether two lines (without their ends) are equal.
    pub fn equal(self, a: &str, b: &str) -> bool {
        match self {
            LineRule::Exact => a == b,
            LineRule::TrailingSpace => a.trim_end() == b.trim_end(),
            LineRule::WhiteSpace | LineRule::LookAlikes => a == b || self.form(a) == self.form(b),
        }
    }

    /// What of a line counts.
    fn form(self, line: &str) -> std::borrow::Cow<'_, str> {
        let squeezed = |line: &str| similarity::collapsed(line).collect::<String>().into();
        match self {
            LineRule::Exact => line.into(),
            LineRule::TrailingSpace => line.trim_end().into(),
            LineRule::WhiteSpace => squeezed(line),
            LineRule::LookAlikes => squeezed(Plain::of(line).as_ref().map_or(line, Plain::text)),
        }
    }

    /// Tells lines apart that differ only in white space the hash does not see.
    fn lead(self, line: &str) -> u64 {
        match self {
            LineRule::Exact => (line.len() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15),
            _ => 0,
        }
    }
}

/// A text whose lines are known to stand for lines of somebody's old text.
pub struct KnownLines<'a>(Haystack<'a>);

/// The region of a text that some lines most likely mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Region {
    /// Its lines, 0-based.
    pub lines: Range<usize>,
    /// For each line that was looked for, its line in the region, counted from the region's first. The lines begin at the
    /// first that is not blank.
    pub partners: Vec<Option<usize>>,
}

impl<'a> KnownLines<'a> {
    /// Takes a text; what is needed of it is computed when it is asked for, once.
    pub fn of(text: &'a str) -> KnownLines<'a> {
        KnownLines(Haystack::new(text))
    }

    /// Replaces `lines` (0-based), which stand for those of `old` one by one, by `new`, by the merge of the cascade: what
    /// old and new have in common keeps the text's bytes, what is new takes its indentation, look-alikes and line ends.
    /// `None` where the two cannot be brought together without a guess. In bytes of the text.
    pub fn merged(&self, lines: &Range<usize>, old: &str, new: &str) -> Option<Splice> {
        let table = self.0.lines();
        let (old, new) = (Lines::of(old), Lines::of(new));
        let partners: Vec<Option<usize>> = (0..old.count()).map(Some).collect();
        let place = table.span(lines);
        let merge = Merge {
            whole: table,
            ends: self.0.ends(),
            style: self.0.style(),
            place: lines.clone(),
            old: &old,
            new: &new,
            partners: &partners,
        };
        let text = merge.run(self.0.body[place.clone()].ends_with('\n')).ok()?;
        Some(Splice { range: self.0.base + place.start..self.0.base + place.end, text })
    }

    /// The region that lines (without their ends) most likely mean, if there is one worth showing.
    pub fn nearest(&self, lines: &[&str]) -> Option<Region> {
        let old = lines.join("\n");
        let near = nearest(&self.0, &old)?;
        Some(Region { lines: near.lines, partners: near.partners })
    }
}

/// How deep a line is indented, in columns with tabs of eight; `None` for a blank one.
pub fn depth(line: &str) -> Option<usize> {
    (!blank(line)).then(|| indent::columns(super::lines::indentation(line), 8))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_rule_forgives_what_it_says() {
        for (a, b, strictest) in [
            ("a b", "a b", Some(LineRule::Exact)),
            ("a b", "a b \t", Some(LineRule::TrailingSpace)),
            ("a b", "  a  b", Some(LineRule::WhiteSpace)),
            ("“a”\u{a0}b", "\"a\" b", Some(LineRule::LookAlikes)),
            ("ab", "a b", None),
            ("é", "e", None),
        ] {
            let found = LineRule::ALL.into_iter().find(|rule| rule.equal(a, b));
            assert_eq!(found, strictest, "{a:?} {b:?}");
        }
    }

    #[test]
    fn new_lines_take_the_depth_of_the_place() {
        let text = KnownLines::of("x\n    if a:\n        b()\n");
        let merged = text.merged(&(1..3), "if a:\n    b()\n", "if a:\n    c()\n    b()\n");
        assert_eq!(merged, Some(Splice { range: 2..24, text: "    if a:\n        c()\n        b()\n".to_owned() }));
    }

    proptest! {
        #[test]
        fn equal_lines_have_equal_keys(a in "[ab “\"\t]{0,6}", b in "[ab “\"\t]{0,6}") {
            let mut before = false;
            for rule in LineRule::ALL {
                let equal = rule.equal(&a, &b);
                prop_assert!(!equal || rule.key(&a) == rule.key(&b));
                prop_assert!(equal || !before, "a looser rule takes what a stricter one does");
                before = equal;
            }
        }
    }
}
