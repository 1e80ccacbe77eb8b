//! The cascade: finds the place an inexact edit means, or says why it cannot. Pure.
//!
//! Strategies are tried strictest first. One place is a match; two are an error that names both and ends the cascade,
//! for going on to a looser strategy would only hide that they are two. What then goes into the place is the three-way
//! merge of old, the place and new: see `merge`.

mod align;
mod block_anchor;
mod chunks;
mod context_aware;
mod doubt;
mod elision;
mod escape_normalized;
mod explain;
mod haystack;
mod indent;
mod indentation_flexible;
mod keys;
mod line_numbers;
mod line_rules;
mod line_trimmed;
mod lines;
mod merge;
mod multi_occurrence;
mod nearest;
mod present;
mod script;
mod search;
mod simple;
#[cfg(test)]
mod tests;
mod tokens;
mod trimmed_boundary;
mod typographic;
mod whitespace_normalized;
mod words;

use std::borrow::Cow;
use std::ops::Range;

use memchr::memmem;

use crate::text::{BOM, LineEnds, Splice, Text, similarity};
use chunks::Exact;
use haystack::{Flat, Haystack};
use merge::{Clash, Merge};

pub use line_rules::{KnownLines, LineRule, Region, depth};
pub use lines::Lines;

/// What to look for and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request<'a> {
    /// The text that should be there.
    pub old: &'a str,
    /// What should be there instead.
    pub new: &'a str,
    /// Every place of the first strategy that finds one.
    pub all: bool,
}

/// Where the edit goes.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The strategy that found it, by its name in [`STRATEGIES`].
    pub strategy: &'static str,
    /// How alike old and the place are (of several, the least alike); 1 is exact, white space aside.
    pub similarity: f64,
    /// The replacements, one a place, in bytes of the text, rising, not overlapping.
    pub splices: Vec<Splice>,
    /// With `all`: places that only a looser strategy would take, left alone.
    pub near: usize,
}

/// Why there is no edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Miss {
    /// What kind of reason.
    pub kind: MissKind,
    /// For the model: what is there instead, with line numbers, and what to do.
    pub explanation: String,
    /// The 1-based lines of the places found, or of the closest region.
    pub lines: Vec<usize>,
}

/// The kinds of [`Miss`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MissKind {
    /// Old and new are the same, or the place already reads as new.
    Identical,
    /// Old is empty and the text is not.
    EmptyOld,
    /// Old or new leaves something out ("... rest unchanged").
    Elision,
    /// No place.
    NotFound,
    /// Two or more.
    Ambiguous,
    /// A place, but the lines that new changes are not as old has them.
    Conflict,
}

/// One way of finding a place.
pub struct Strategy {
    /// Its name on the wire.
    pub name: &'static str,
    /// Whether it may replace several places at once.
    pub all: bool,
    find: for<'a> fn(&Haystack<'_>, &Pair<'a>, bool) -> Finding<'a>,
}

/// All strategies, strictest first.
pub const STRATEGIES: &[Strategy] = &[
    Strategy { name: "simple", all: true, find: simple::find },
    Strategy { name: "indentationFlexible", all: true, find: indentation_flexible::find },
    Strategy { name: "lineTrimmed", all: true, find: line_trimmed::find },
    Strategy { name: "blockAnchor", all: true, find: block_anchor::strict },
    Strategy { name: "whitespaceNormalized", all: true, find: whitespace_normalized::find },
    Strategy { name: "escapeNormalized", all: true, find: escape_normalized::find },
    Strategy { name: "typographic", all: true, find: typographic::find },
    Strategy { name: "lineNumbers", all: true, find: line_numbers::find },
    Strategy { name: "trimmedBoundary", all: true, find: trimmed_boundary::find },
    Strategy { name: "contextAware", all: true, find: context_aware::find },
    Strategy { name: "blockAnchorRelaxed", all: false, find: block_anchor::relaxed },
    Strategy { name: "multiOccurrence", all: false, find: multi_occurrence::find },
];

/// Old and new as a strategy takes them.
#[derive(Debug, Clone)]
struct Pair<'a> {
    old: Cow<'a, str>,
    new: Cow<'a, str>,
}

/// What a strategy found.
struct Finding<'a> {
    /// Old and new as it took them.
    pair: Pair<'a>,
    /// Distinct places, rising by their beginnings; they may overlap.
    places: Vec<Place>,
}

impl<'a> Finding<'a> {
    /// No place.
    fn none(pair: &Pair<'a>) -> Finding<'a> {
        Finding { pair: pair.clone(), places: Vec::new() }
    }
}

/// The strategies above one, for those that try them on a changed pair.
fn above(name: &str) -> &'static [Strategy] {
    let rank = STRATEGIES.iter().position(|strategy| strategy.name == name).unwrap_or(0);
    &STRATEGIES[..rank]
}

/// What the first of some strategies finds that finds anything. Of an old that is blank once it is changed nothing is
/// left to look for.
fn first_of<'a>(strategies: &[Strategy], haystack: &Haystack<'_>, pair: &Pair<'a>, all: bool) -> Finding<'a> {
    if lines::blank(&pair.old) {
        return Finding::none(pair);
    }
    strategies
        .iter()
        .map(|strategy| (strategy.find)(haystack, pair, all))
        .find(|finding| !finding.places.is_empty())
        .unwrap_or_else(|| Finding::none(pair))
}

/// A place in the body of the text.
#[derive(Debug, Clone)]
struct Place {
    /// Its bytes.
    range: Range<usize>,
    /// How old fits it.
    fit: Fit,
}

/// How old fits a place.
#[derive(Debug, Clone)]
enum Fit {
    /// Byte for byte, line ends aside.
    Exact,
    /// Line by line.
    Lines {
        /// The lines, 0-based.
        lines: Range<usize>,
        /// For each line of old its line in the place, counted from the place's first; `None`: one to one.
        partners: Option<Vec<Option<usize>>>,
    },
    /// Word by word; the lines may be others.
    Woven {
        /// Whether the place is whole lines.
        whole: bool,
    },
}

impl Place {
    /// A place of whole lines. It includes the last one's end exactly when old ends with a line end.
    fn of_lines(
        haystack: &Haystack<'_>,
        lines: Range<usize>,
        old: &Lines<'_>,
        partners: Option<Vec<Option<usize>>>,
    ) -> Place {
        let table = haystack.lines();
        let mut range = table.span(&lines);
        if !old.ended() {
            range.end = table.range(lines.end - 1).start + table.content(lines.end - 1).len();
        }
        Place { range, fit: Fit::Lines { lines, partners } }
    }
}

/// Finds the place of an edit in a text (a byte order mark at its beginning is in no place).
pub fn find(text: &str, request: &Request<'_>) -> Result<Found, Miss> {
    let haystack = Haystack::new(text);
    let has = |line: &str| memmem::find(haystack.body.as_bytes(), line.as_bytes()).is_some();
    if let Some(found) = plain_cases(request, haystack.base, haystack.body.is_empty(), has)? {
        return Ok(found);
    }
    cascade(&haystack, request)
}

/// The same for a text that is a rope. A text that is there exactly, and once, is found without making one piece of
/// the rope; only where that fails is the whole of it copied.
pub fn find_in(text: &Text, request: &Request<'_>) -> Result<Found, Miss> {
    let base = if text.rope().chunks().next().is_some_and(|first| first.starts_with(BOM)) { BOM.len_utf8() } else { 0 };
    let body = text.rope().byte_slice(base..);
    let has = |line: &str| chunks::contains(body.chunks(), line);
    if let Some(found) = plain_cases(request, base, body.len_bytes() == 0, has)? {
        return Ok(found);
    }
    if !request.all
        && let Exact::One(range) = chunks::exact(body.chunks(), request.old)
    {
        let old = Cow::from(body.byte_slice(range.clone()));
        let ends = || LineEnds::of_chunks(body.chunks());
        let end = || chunks::line_end(body, range.start);
        let new = simple::replacement(request.old, request.new, &old, ends, end);
        if new != old {
            let splice = Splice { range: base + range.start..base + range.end, text: new };
            return Ok(Found { strategy: STRATEGIES[0].name, similarity: 1.0, splices: vec![splice], near: 0 });
        }
    }
    cascade(&Haystack::new(&text.to_string()), request)
}

/// What needs no search: an empty text that is filled, and requests that ask for nothing or leave something out. `has`
/// says whether a line is anywhere in the text.
fn plain_cases(
    request: &Request<'_>,
    base: usize,
    empty: bool,
    has: impl Fn(&str) -> bool,
) -> Result<Option<Found>, Miss> {
    if request.old.is_empty() && empty && !request.new.is_empty() {
        let splice = Splice { range: base..base, text: request.new.to_owned() };
        return Ok(Some(Found { strategy: STRATEGIES[0].name, similarity: 1.0, splices: vec![splice], near: 0 }));
    }
    if Flat::of(request.old).text == Flat::of(request.new).text {
        return Err(explain::identical());
    }
    if request.old.is_empty() {
        return Err(explain::empty_old());
    }
    for (name, side) in [("old_string", request.old), ("new_string", request.new)] {
        if let Some(line) = elision::elided(side, &has) {
            return Err(explain::elision(name, line));
        }
    }
    Ok(None)
}

/// Tries one strategy after the other.
fn cascade(haystack: &Haystack<'_>, request: &Request<'_>) -> Result<Found, Miss> {
    let pair = Pair { old: Cow::Borrowed(request.old), new: Cow::Borrowed(request.new) };
    for (rank, strategy) in STRATEGIES.iter().enumerate() {
        if request.all && !strategy.all {
            continue;
        }
        let finding = (strategy.find)(haystack, &pair, request.all);
        if finding.places.is_empty() {
            continue;
        }
        if rank > 0 && !request.all {
            let done = present::places(haystack, &pair);
            if !done.is_empty() {
                return Err(explain::present(haystack, &done));
            }
        }
        if request.all {
            let finding = Finding { places: leftmost(finding.places), pair: finding.pair };
            let near = near(haystack, &pair, rank + 1, &finding.places);
            return settle(haystack, strategy, &finding, near);
        }
        if finding.places.len() > 1 {
            return Err(explain::ambiguous(haystack, strategy, &finding.places));
        }
        return settle(haystack, strategy, &finding, 0);
    }
    Err(explain::not_found(haystack, request))
}

/// Makes the replacements of the places.
fn settle(haystack: &Haystack<'_>, strategy: &Strategy, finding: &Finding<'_>, near: usize) -> Result<Found, Miss> {
    let mut splices = Vec::with_capacity(finding.places.len());
    let mut least = 1.0f64;
    for place in &finding.places {
        let new = replacement(haystack, &finding.pair, place)
            .map_err(|clash| explain::conflict(haystack, strategy, &finding.pair, place, &clash))?;
        least = least.min(alike(haystack, &finding.pair, place));
        if haystack.body[place.range.clone()] != new {
            let range = haystack.base + place.range.start..haystack.base + place.range.end;
            splices.push(Splice { range, text: new });
        }
    }
    if splices.is_empty() {
        return Err(explain::done(haystack, &finding.places));
    }
    Ok(Found { strategy: strategy.name, similarity: least, splices, near })
}

/// What goes into a place.
fn replacement(haystack: &Haystack<'_>, pair: &Pair<'_>, place: &Place) -> Result<String, Clash> {
    match &place.fit {
        Fit::Exact => {
            let table = || haystack.lines().end(haystack.lines().at(place.range.start));
            let here = &haystack.body[place.range.clone()];
            Ok(simple::replacement(&pair.old, &pair.new, here, || haystack.ends(), table))
        }
        Fit::Woven { whole } => merge::woven(haystack, pair, &place.range, *whole),
        Fit::Lines { lines, partners } => {
            let (old, new) = (Lines::of(&pair.old), Lines::of(&pair.new));
            let one_to_one: Vec<Option<usize>> = (0..old.count()).map(Some).collect();
            let merge = Merge {
                whole: haystack.lines(),
                ends: haystack.ends(),
                style: haystack.style(),
                place: lines.clone(),
                old: &old,
                new: &new,
                partners: partners.as_ref().unwrap_or(&one_to_one),
            };
            merge.run(haystack.body[place.range.clone()].ends_with('\n'))
        }
    }
}

/// How alike old and a place are.
fn alike(haystack: &Haystack<'_>, pair: &Pair<'_>, place: &Place) -> f64 {
    match &place.fit {
        Fit::Exact => 1.0,
        Fit::Woven { .. } => similarity::similarity(&pair.old, &haystack.body[place.range.clone()]),
        Fit::Lines { lines, partners } => {
            let old: Vec<&str> = Lines::of(&pair.old).contents().collect();
            let found: Vec<&str> = lines.clone().map(|line| haystack.lines().content(line)).collect();
            if let Some(partners) = partners {
                return align::compare(&old, &found, partners).cost.similarity();
            }
            let mut total = similarity::Cost::default();
            for (a, b) in old.iter().zip(found) {
                total += similarity::cost(a, b);
            }
            total.similarity()
        }
    }
}

/// The leftmost places that do not overlap.
fn leftmost(places: Vec<Place>) -> Vec<Place> {
    let mut end = 0;
    places
        .into_iter()
        .filter(|place| {
            let free = place.range.start >= end;
            if free {
                end = place.range.end;
            }
            free
        })
        .collect()
}

/// How many places of the looser strategies overlap none of those taken.
fn near(haystack: &Haystack<'_>, pair: &Pair<'_>, from: usize, taken: &[Place]) -> usize {
    let mut ranges: Vec<Range<usize>> = taken.iter().map(|place| place.range.clone()).collect();
    let before = ranges.len();
    for strategy in STRATEGIES[from..].iter().filter(|strategy| strategy.all) {
        let finding = (strategy.find)(haystack, pair, true);
        let mut free: Vec<Range<usize>> = leftmost(finding.places)
            .into_iter()
            .map(|place| place.range)
            .filter(|range| {
                let after = ranges.partition_point(|taken| taken.end <= range.start);
                ranges.get(after).is_none_or(|taken| taken.start >= range.end)
            })
            .collect();
        ranges.append(&mut free);
        ranges.sort_by_key(|range| range.start);
    }
    ranges.len() - before
}
