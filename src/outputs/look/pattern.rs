//! What lines are searched for: a regular expression that cannot take long, or a plain text. Pure.

use std::ops::Range;

use regex::{Regex, RegexBuilder};

/// The compiled expression, and what it needs while it searches, take at most so many bytes each.
const SIZE: usize = 1024 * 1024;

/// What lines are searched for.
#[derive(Debug, Clone)]
pub struct Pattern {
    search: Search,
    /// It was meant as a regular expression, is none, and is searched for literally.
    pub fell_back: bool,
}

#[derive(Debug, Clone)]
enum Search {
    Regex(Regex),
    Literal(String),
}

impl Pattern {
    /// A regular expression, or with `literal`, or when it is none that can be used, a plain text.
    pub fn new(pattern: &str, literal: bool) -> Pattern {
        let regex =
            (!literal).then(|| RegexBuilder::new(pattern).size_limit(SIZE).dfa_size_limit(SIZE).build().ok()).flatten();
        let fell_back = !literal && regex.is_none();
        let search = regex.map_or_else(|| Search::Literal(pattern.to_owned()), Search::Regex);
        Pattern { search, fell_back }
    }

    /// Where a text first matches from a byte on, the beginning of a character (byte offsets). What is before that is looked
    /// back at.
    pub(super) fn find(&self, text: &str, from: usize) -> Option<Range<usize>> {
        match &self.search {
            Search::Regex(regex) => regex.find_at(text, from).map(|found| found.range()),
            Search::Literal(wanted) => text[from..].find(wanted.as_str()).map(|at| from + at..from + at + wanted.len()),
        }
    }
}
