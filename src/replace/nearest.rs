//! The region of a text that a missing old text most likely meant.
//!
//! Lines of old that are in the text, and rare words of it, vote for where old would begin; similarity is computed only
//! where the votes are most. The scans are linear, and the rest is bounded whatever the text.

use std::collections::HashMap;
use std::ops::Range;

use memchr::memmem;

use super::align;
use super::haystack::Haystack;
use super::keys::{KeyMap, Sieve, trimmed_key};
use super::lines::{Lines, blank, trim};

/// A line or word that is in the text more often than this says nothing.
const COMMON: usize = 100;

/// So many words of old are looked for at most.
const WORDS: usize = 24;

/// A word shorter than this (bytes) is in too many lines, and only looked for where old has no longer one.
const WORD: usize = 4;

/// So many words of old are gone through to find the longest: a line of a hundred million bytes has some among its first.
const LOOKED_AT: usize = 100_000;

/// So many places are compared at most.
const CANDIDATES: usize = 8;

/// So many lines of old are compared at most.
const LINES: usize = 400;

/// Less alike than this is not worth showing: fixtures 221 and 222 are on either side.
const SHOWN: f64 = 0.4;

/// Lines paired in a comparison are at least this alike: fixture 221.
const PAIRED: f64 = 0.4;

/// A region of the text and how old compares with it.
pub(super) struct Nearest<'a> {
    /// Its lines, 0-based.
    pub(super) lines: Range<usize>,
    /// How alike.
    pub(super) similarity: f64,
    /// The lines of old that were compared.
    pub(super) old: Vec<&'a str>,
    /// For each of them its line in the region, counted from its first.
    pub(super) partners: Vec<Option<usize>>,
}

/// The closest region, if there is one worth showing. Of equals the first.
pub(super) fn nearest<'a>(haystack: &Haystack<'_>, old: &'a str) -> Option<Nearest<'a>> {
    let lines = haystack.lines();
    let old: Vec<&str> = Lines::of(old).contents().skip_while(|line| blank(line)).take(LINES).collect();
    let last = old.iter().rposition(|line| !blank(line))?;
    let old = &old[..=last];
    let mut best: Option<Nearest<'a>> = None;
    // At the ends of a text several starts are the same region.
    let mut seen: Vec<Range<usize>> = Vec::new();
    for (_, start) in starts(haystack, old).into_iter().take(CANDIDATES) {
        // A few lines more on both sides, for old may lack some.
        let slack = old.len() / 10 + 2;
        let from = usize::try_from(start.saturating_sub_unsigned(slack).max(0)).unwrap_or(0);
        let to =
            usize::try_from(start.saturating_add_unsigned(old.len() + slack).max(0)).unwrap_or(0).min(lines.count());
        if from >= to || seen.contains(&(from..to)) {
            continue;
        }
        seen.push(from..to);
        let region: Vec<&str> = (from..to).map(|line| lines.content(line)).collect();
        let partners = align::partners(old, &region, PAIRED);
        let Some(first) = partners.iter().flatten().min().copied() else { continue };
        let Some(end) = partners.iter().flatten().max().map(|last| last + 1) else { continue };
        let partners: Vec<Option<usize>> = partners.iter().map(|partner| partner.map(|at| at - first)).collect();
        let similarity = align::compare(old, &region[first..end], &partners).cost.similarity();
        let better = best.as_ref().is_none_or(|best| {
            similarity > best.similarity || (similarity >= best.similarity && from + first < best.lines.start)
        });
        if similarity >= SHOWN && better {
            best = Some(Nearest { lines: from + first..from + end, similarity, old: old.to_vec(), partners });
        }
    }
    best
}

/// Lines of old that a region has otherwise are looked for at so many places each, and so many of them.
const ELSEWHERE: (usize, usize) = (8, 64);

/// So many lines that are like one of old are looked at when old is looked for as it is.
const VOTES: usize = 10_000;

/// Whether a line of old that a region has otherwise is, as old has it, part of a line outside of the region, next to
/// one that old has next to it too: the region may then be the wrong one, however alike it is (fixture 223).
pub(super) fn elsewhere(
    haystack: &Haystack<'_>,
    old: &[&str],
    region: &Range<usize>,
    partners: &[Option<usize>],
) -> bool {
    let lines = haystack.lines();
    let otherwise = |&line: &usize| match partners[line] {
        _ if blank(old[line]) => false,
        Some(at) => trim(lines.content(region.start + at)) != trim(old[line]),
        None => true,
    };
    (0..old.len()).filter(otherwise).take(ELSEWHERE.0).any(|line| {
        let found = memmem::find_iter(haystack.body.as_bytes(), trim(old[line]).as_bytes()).take(ELSEWHERE.1);
        found.map(|byte| lines.at(byte)).filter(|at| !region.contains(at)).any(|at| {
            let beside = |old_beside: Option<&&str>, beside: Option<usize>| {
                old_beside
                    .zip(beside.filter(|&beside| beside < lines.count() && !region.contains(&beside)))
                    .is_some_and(|(old, beside)| !blank(old) && trim(old) == trim(lines.content(beside)))
            };
            beside(line.checked_sub(1).and_then(|before| old.get(before)), at.checked_sub(1))
                || beside(old.get(line + 1), Some(at + 1))
        })
    })
}

/// Whether lines of old stand elsewhere as old has them, indentation too, and more of them than in the region: where all
/// that is near is indented otherwise, what is far and lacks a line may be what is meant (fixture 227).
pub(super) fn deeper(haystack: &Haystack<'_>, old: &[&str], region: &Range<usize>, partners: &[Option<usize>]) -> bool {
    let lines = haystack.lines();
    let as_it_is = |line: usize, at: usize| lines.content(at).trim_end() == old[line].trim_end();
    let here = (0..old.len())
        .filter(|&line| !blank(old[line]) && partners[line].is_some_and(|at| as_it_is(line, region.start + at)))
        .count();
    let mut wanted: KeyMap<u64, Vec<usize>> = KeyMap::default();
    for line in (0..old.len()).filter(|&line| !blank(old[line])) {
        wanted.entry(trimmed_key(old[line])).or_default().push(line);
    }
    let sieve = Sieve::of(wanted.keys().copied());
    let mut votes: KeyMap<isize, usize> = KeyMap::default();
    let mut looked = 0;
    for (at, key) in haystack.trimmed().iter().enumerate().filter(|&(_, &key)| sieve.passes(key)) {
        if region.contains(&at) || looked >= VOTES {
            continue;
        }
        for &line in wanted.get(key).into_iter().flatten() {
            looked += 1;
            if as_it_is(line, at) {
                *votes.entry(at.cast_signed() - line.cast_signed()).or_default() += 1;
            }
        }
    }
    votes.values().any(|&votes| votes >= 2 && votes > here && votes * 2 > old.len())
}

/// Votes for lines (0-based, perhaps before the first) at which old may begin, the most first.
pub(super) fn starts(haystack: &Haystack<'_>, old: &[&str]) -> Vec<(usize, isize)> {
    let mut votes: KeyMap<isize, usize> = KeyMap::default();
    // Where in the text each line of old is, by its key; one line more than counts.
    let mut hits: KeyMap<u64, Vec<usize>> = KeyMap::default();
    let keys: Vec<Option<u64>> = old.iter().map(|text| (!blank(text)).then(|| trimmed_key(text))).collect();
    hits.extend(keys.iter().flatten().map(|&key| (key, Vec::new())));
    let sieve = Sieve::of(hits.keys().copied());
    for (line, key) in haystack.trimmed().iter().enumerate().filter(|&(_, &key)| sieve.passes(key)) {
        if let Some(hits) = hits.get_mut(key).filter(|hits| hits.len() <= COMMON) {
            hits.push(line);
        }
    }
    let mut vote = |line: usize, of: usize, weight: usize| {
        *votes.entry(line.cast_signed() - of.cast_signed()).or_default() += weight;
    };
    for (of, (text, key)) in old.iter().zip(&keys).enumerate() {
        let found = key.and_then(|key| hits.get(&key)).filter(|found| found.len() <= COMMON);
        for &line in found.into_iter().flatten() {
            vote(line, of, trim(text).len());
        }
    }
    let words = words(old);
    let texts: Vec<&str> = words.iter().map(|&(_, word)| word).collect();
    for (&(of, word), found) in words.iter().zip(haystack.places_of(&texts, COMMON + 1)) {
        if found.len() <= COMMON {
            let weight = word.len() / (1 + found.len() / 4);
            for &at in &*found {
                vote(haystack.lines().at(at), of, weight);
            }
        }
    }
    // Lines that old lacks or has too many shift the votes, so that those nearby count too.
    let mut ranked: Vec<(usize, isize)> = votes
        .keys()
        .map(|&start| {
            ((start - 2..=start + 2).filter_map(|near| votes.get(&near)).sum::<usize>() + votes[&start], start)
        })
        .collect();
    ranked.sort_unstable_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    ranked
}

/// The longest of the first words of old, each with the line it is first on.
fn words<'a>(old: &[&'a str]) -> Vec<(usize, &'a str)> {
    let mut seen: HashMap<&str, usize> = HashMap::new();
    for least in [WORD, 1] {
        if !seen.is_empty() {
            break;
        }
        let words = old.iter().enumerate().flat_map(|(line, text)| {
            let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
            words.filter(|word| word.len() >= least).map(move |word| (line, word))
        });
        for (line, word) in words.take(LOOKED_AT) {
            seen.entry(word).or_insert(line);
        }
    }
    let mut words: Vec<(usize, &str)> = seen.into_iter().map(|(word, line)| (line, word)).collect();
    words.sort_unstable_by(|a, b| b.1.len().cmp(&a.1.len()).then(a.cmp(b)));
    words.truncate(WORDS);
    words
}
