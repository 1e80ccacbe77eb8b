//! `blockAnchor`: the first and the last line hold the block between them.
//!
//! Strict: as many lines as old, equal once white space is collapsed. Relaxed: the block may have changed a little.

use super::align::{compare, partners};
use super::haystack::Haystack;
use super::keys::{collapsed_key, trimmed_key};
use super::lines::{Lines, blank, trim};
use super::nearest::{deeper, elsewhere};
use super::search::{few, line_runs, runs_at};
use super::{Finding, Pair, Place};
use crate::text::similarity;

/// The interior of a relaxed block is at least this alike: fixtures 203 and 204 are on either side.
const INTERIOR: f64 = 0.7;

/// Each changed line of it is at least this alike: fixtures 205 and 206.
const LINE: f64 = 0.5;

/// The first and the last line of a relaxed block have at least so many letters or digits: a brace holds nothing
/// (fixtures 123 and 207).
const ANCHOR: usize = 3;

/// More candidates than this are too many to tell apart.
const CANDIDATES: usize = 64;

/// The first and last line equal once trimmed, the others once white space is collapsed.
pub(super) fn strict<'a>(haystack: &Haystack<'_>, pair: &Pair<'a>, all: bool) -> Finding<'a> {
    let old = Lines::of(&pair.old);
    let last = old.count().saturating_sub(1);
    if last < 2 || old.contents().all(blank) {
        return Finding::none(pair);
    }
    let equal = |line: usize, old: &str, here: &str| {
        if line == 0 || line == last {
            trim(old) == trim(here)
        } else {
            similarity::collapsed(old).eq(similarity::collapsed(here))
        }
    };
    let (first_key, last_key) = (trimmed_key(old.content(0)), trimmed_key(old.content(last)));
    let ends = haystack.trimmed().get(last..).unwrap_or_default();
    let candidates: Vec<usize> = haystack
        .trimmed()
        .iter()
        .zip(ends)
        .enumerate()
        .filter(|(_, (first, end))| **first == first_key && **end == last_key)
        .map(|(at, _)| at)
        .collect();
    if few(candidates.len(), old.count(), haystack.lines().count()) {
        runs_at(haystack, pair, all, candidates, equal)
    } else {
        line_runs(haystack, pair, all, haystack.collapsed(), collapsed_key, equal)
    }
}

/// The first and last line equal once trimmed, and what is between them alike.
pub(super) fn relaxed<'a>(haystack: &Haystack<'_>, pair: &Pair<'a>, _all: bool) -> Finding<'a> {
    let table = Lines::of(&pair.old);
    let old: Vec<&str> = table.contents().collect();
    let [first, .., last] = old[..] else { return Finding::none(pair) };
    if old.len() < 3 || !anchors(first) || !anchors(last) {
        return Finding::none(pair);
    }
    let slack = slack(old.len());
    let (first_key, last_key) = (trimmed_key(first), trimmed_key(last));
    let keys = haystack.trimmed();
    let mut candidates = Vec::new();
    for start in (0..keys.len()).filter(|&line| keys[line] == first_key) {
        let shortest = (start + old.len()).saturating_sub(slack).max(start + 2);
        for end in shortest..=(start + old.len() + slack).min(keys.len()) {
            if keys[end - 1] == last_key {
                candidates.push(start..end);
            }
        }
        if candidates.len() > CANDIDATES {
            return Finding::none(pair);
        }
    }
    // How much of old each block agrees with that has too many other lines.
    let mut others = Vec::new();
    let mut blocks = Vec::new();
    for lines in candidates {
        let here: Vec<&str> = lines.clone().map(|line| haystack.lines().content(line)).collect();
        if here[0].trim() != first.trim() || here[here.len() - 1].trim() != last.trim() {
            continue;
        }
        let (inside, inner) = (&old[1..old.len() - 1], &here[1..here.len() - 1]);
        let inside_partners = partners(inside, inner, LINE);
        let compared = compare(inside, inner, &inside_partners);
        let agrees = compared.agreement;
        if compared.cost.similarity() < INTERIOR {
            others.push(agrees);
            continue;
        }
        let mut all: Vec<Option<usize>> = vec![Some(0)];
        all.extend(inside_partners.into_iter().map(|partner| partner.map(|at| at + 1)));
        all.push(Some(here.len() - 1));
        blocks.push((agrees, lines, all));
    }
    // A block that agrees with as much of old, but has too many other lines, may be the one that is meant; and so may any
    // place that has, as it is, a line of old that the block has otherwise.
    if let [(agrees, lines, partners)] = &blocks[..]
        && (others.iter().any(|other| other >= agrees)
            || elsewhere(haystack, &old, lines, partners)
            || deeper(haystack, &old, lines, partners))
    {
        return Finding::none(pair);
    }
    let place = |(_, lines, partners)| Place::of_lines(haystack, lines, &table, Some(partners));
    Finding { pair: pair.clone(), places: blocks.into_iter().map(place).collect() }
}

/// Whether a line says enough to hold a block.
pub(super) fn anchors(line: &str) -> bool {
    line.chars().filter(|c| c.is_alphanumeric()).count() >= ANCHOR
}

/// How many lines a block may have more or fewer than old.
pub(super) fn slack(lines: usize) -> usize {
    (lines / 10).max(1)
}
