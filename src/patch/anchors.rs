//! `@@ class A`: lines of the text that are above a hunk, and narrow down where it is looked for.
//!
//! What is in the block that the line opens comes first: the lines that are deeper than it. Only where nothing fits there
//! is the rest of the text below it looked at.

use std::ops::Range;

use super::explain;
use super::file::File;
use super::{Fault, Hunk};
use crate::replace::{LineRule, depth};

/// An anchor that is in the text more often than this says nothing.
const MOST: usize = 1_000;

/// Where a hunk may begin.
pub(super) struct Scope {
    /// Lines (0-based) in the blocks of its anchors.
    pub(super) inner: Vec<Range<usize>>,
    /// Lines below its anchors.
    pub(super) outer: Range<usize>,
    /// Places directly below the last of its anchors, in the blocks of the others.
    pub(super) below: Vec<usize>,
}

/// Where a hunk may begin by its anchors. The error is an anchor that is not in the text.
pub(super) fn scope(file: &File<'_>, hunk: &Hunk) -> Result<Scope, Fault> {
    let whole = 0..file.count();
    let any = 0..file.count() + 1;
    let mut scope = Scope { inner: vec![any.clone()], outer: any, below: Vec::new() };
    let mut from = 0;
    for (line, text) in &hunk.anchors {
        let Some(&first) = lines_of(file, text, &(from..whole.end)).first() else {
            return Err(explain::no_anchor(file, *line, text, from));
        };
        from = first + 1;
        let found: Vec<usize> = scope.inner.iter().flat_map(|range| lines_of(file, text, range)).collect();
        scope.below = found.iter().map(|at| at + 1).collect();
        scope.below.dedup();
        scope.inner = found.into_iter().map(|at| block(file, at)).collect();
        scope.outer = first..file.count() + 1;
    }
    if !hunk.anchors.is_empty() && scope.below.is_empty() {
        scope.below = vec![from];
    }
    Ok(scope)
}

/// The lines that an anchor means, by the strictest rule that finds one; at last those that begin with it.
pub(super) fn lines_of(file: &File<'_>, text: &str, within: &Range<usize>) -> Vec<usize> {
    let within = within.start..within.end.min(file.count());
    for rule in LineRule::ALL {
        let found = file.all(text, rule, &within, MOST);
        if !found.is_empty() {
            return found;
        }
    }
    let text = text.trim();
    if text.is_empty() || !file.spend(within.len()) {
        return Vec::new();
    }
    let ends_word = text.ends_with(|c: char| c.is_alphanumeric() || c == '_');
    let begins = |line: &str| {
        let rest = line.trim_start().strip_prefix(text);
        rest.is_some_and(|rest| !ends_word || !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
    };
    within.filter(|&at| begins(file.lines.content(at))).take(MOST).collect()
}

/// A line and the block below it: what is deeper, and brackets of its own depth.
pub(super) fn block(file: &File<'_>, at: usize) -> Range<usize> {
    let Some(own) = depth(file.lines.content(at)) else { return at..at + 1 };
    let inside = |&line: &usize| {
        let text = file.lines.content(line);
        let bracket = text.trim_start().starts_with(['{', '}', '(', ')', '[', ']']);
        file.spend(1) && depth(text).is_none_or(|depth| depth > own || depth == own && bracket)
    };
    at..(at + 1..file.count()).take_while(inside).last().unwrap_or(at) + 1
}
