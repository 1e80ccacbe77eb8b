//! `simple`: the text is there, line ends aside, wherever in a line.

use memchr::memmem::Finder;

use super::haystack::{Flat, Haystack};
use super::lines::Lines;
use super::script::{Step, script};
use super::search::COUNTED;
use super::{Finding, Fit, Pair, Place};
use crate::text::LineEnd;

/// Exact places. With `all` the leftmost ones that do not overlap, else overlapping ones too.
pub(super) fn find<'a>(haystack: &Haystack<'_>, pair: &Pair<'a>, all: bool) -> Finding<'a> {
    let flat = haystack.flat();
    let old = Flat::of(&pair.old);
    let finder = Finder::new(old.text.as_bytes());
    let (text, mut from, mut places) = (flat.text.as_bytes(), 0, Vec::new());
    while let Some(found) = text.get(from..).and_then(|rest| finder.find(rest)) {
        let range = from + found..from + found + old.text.len();
        from = if all { range.end } else { range.start + 1 };
        places.push(Place { range: flat.original(range), fit: Fit::Exact });
        if !all && places.len() >= COUNTED {
            break;
        }
    }
    Finding { pair: pair.clone(), places }
}

/// New as it goes into an exact place: verbatim, with the line ends of the place. In a text of both kinds each line
/// takes the end of the line of old that it is, else the first one of the place.
pub(super) fn replacement(haystack: &Haystack<'_>, pair: &Pair<'_>, place: &Place) -> String {
    let ends = haystack.ends();
    if !pair.new.contains('\n') || (ends.lf == 0 && ends.crlf == 0) {
        return pair.new.to_string();
    }
    if !ends.mixed() {
        return ends.prevailing().apply(&pair.new);
    }
    let found = Lines::of(&haystack.body[place.range.clone()]);
    let (old, new) = (Lines::of(&pair.old), Lines::of(&pair.new));
    let own = |line: usize| (line < found.count()).then(|| found.end(line)).flatten();
    let usual = own(0)
        .or_else(|| haystack.lines().end(haystack.lines().at(place.range.start)))
        .unwrap_or_else(|| ends.prevailing());
    let mut kept: Vec<Option<LineEnd>> = vec![None; new.count()];
    let (olds, news): (Vec<&str>, Vec<&str>) = (old.contents().collect(), new.contents().collect());
    for step in script(&olds, &news) {
        if let Step::Keep(old, new) | Step::Change(old, new) = step {
            kept[new] = own(old);
        }
    }
    let mut text = String::with_capacity(pair.new.len());
    for (line, kept) in kept.into_iter().enumerate() {
        text.push_str(new.content(line));
        if new.end(line).is_some() {
            text.push_str(kept.unwrap_or(usual).as_str());
        }
    }
    text
}
