//! `simple`: the text is there, line ends aside, wherever in a line.

use memchr::memmem;

use super::haystack::{Flat, Haystack};
use super::lines::Lines;
use super::script::{Step, script};
use super::search::{COUNTED, overlapping};
use super::{Finding, Fit, Pair, Place};
use crate::text::{LineEnd, LineEnds};

/// Exact places. With `all` the leftmost ones that do not overlap, else overlapping ones too.
pub(super) fn find<'a>(haystack: &Haystack<'_>, pair: &Pair<'a>, all: bool) -> Finding<'a> {
    let flat = haystack.flat();
    let old = Flat::of(&pair.old);
    let (text, wanted) = (flat.text.as_bytes(), old.text.as_bytes());
    let place = |at: usize| Place { range: flat.original(at..at + wanted.len()), fit: Fit::Exact };
    let places = if all {
        memmem::find_iter(text, wanted).map(place).collect()
    } else {
        overlapping(text, wanted).take(COUNTED).map(place).collect()
    };
    Finding { pair: pair.clone(), places }
}

/// New as it goes into an exact place, which reads `here`: verbatim, with the line ends of the place. In a text of both
/// kinds (`ends`) each line takes the end of the line of old that it is, else the first one of the place, else that of
/// the line the place begins on (`end`).
pub(super) fn replacement(
    old: &str,
    new: &str,
    here: &str,
    ends: impl FnOnce() -> LineEnds,
    end: impl FnOnce() -> Option<LineEnd>,
) -> String {
    if !new.contains('\n') {
        return new.to_owned();
    }
    let ends = ends();
    if ends.lf == 0 && ends.crlf == 0 {
        return new.to_owned();
    }
    if !ends.mixed() {
        return ends.prevailing().apply(new);
    }
    let found = Lines::of(here);
    let (old, new) = (Lines::of(old), Lines::of(new));
    let own = |line: usize| (line < found.count()).then(|| found.end(line)).flatten();
    let usual = own(0).or_else(end).unwrap_or_else(|| ends.prevailing());
    let mut kept: Vec<Option<LineEnd>> = vec![None; new.count()];
    let (olds, news): (Vec<&str>, Vec<&str>) = (old.contents().collect(), new.contents().collect());
    for step in script(&olds, &news) {
        if let Step::Keep(old, new) | Step::Change(old, new) = step {
            kept[new] = own(old);
        }
    }
    let mut text = String::new();
    for (line, kept) in kept.into_iter().enumerate() {
        text.push_str(new.content(line));
        if new.end(line).is_some() {
            text.push_str(kept.unwrap_or(usual).as_str());
        }
    }
    text
}
