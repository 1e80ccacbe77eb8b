//! What changed between two sets of diagnostics of one document, both at places of the same text.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::message::collapse;
use super::{Located, order_of, place};
use crate::languages::verdict::Severity;

/// The difference between a baseline and what is there now. Each list in the order of places.
///
/// Every problem of the baseline is either resolved or unchanged, every one of now new or unchanged; without a baseline
/// every one of now is present.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Delta {
    /// There now, and not in the baseline.
    pub new: Vec<Located>,
    /// There now, and there was no baseline to compare with.
    pub present: Vec<Located>,
    /// In the baseline, and not there now; at their moved places.
    pub resolved: Vec<Located>,
    /// In both; as they are now.
    pub unchanged: Vec<Located>,
}

/// Compares what is there `now` with the `baseline`, moved into the same text (see [`super::moved`]).
///
/// Two problems are the same if source, code, severity and message (runs of white space count as one space) are. Among
/// several that are the same, the nearest are paired first, so that of two equal messages the one that stayed in its
/// place is the old one.
///
/// A message may itself name a place ("already declared on line 12"), which shifts with the edit. So of those left over,
/// two are also the same if their messages are equal but for the numbers of places, **and** they begin at the same
/// place or overlap. Numbers of places are only those after a word like `line` or `column` and those of `name.ext:12:5`;
/// any other number is part of what is said: "expected 2 arguments, found 3" is not "... found 4".
pub fn delta(baseline: Option<&[Located]>, now: &[Located]) -> Delta {
    let now = in_order(now);
    let Some(baseline) = baseline else {
        return Delta { present: now.into_iter().cloned().collect(), ..Delta::default() };
    };
    let baseline = in_order(baseline);
    let mut pairs = Pairs { old: vec![false; baseline.len()], new: vec![false; now.len()] };
    pairs.pair(&baseline, &now, collapse, |_, _| true);
    pairs.pair(&baseline, &now, |message| without_places(&collapse(message)), same_place);
    let (unchanged, new) = split(&now, &pairs.new);
    let (_, resolved) = split(&baseline, &pairs.old);
    Delta { new, present: Vec::new(), resolved, unchanged }
}

fn in_order(problems: &[Located]) -> Vec<&Located> {
    let mut order: Vec<&Located> = problems.iter().collect();
    order.sort_by(|a, b| order_of(a).cmp(&order_of(b)));
    order
}

/// Those whose flag is set, and the others.
fn split(problems: &[&Located], flags: &[bool]) -> (Vec<Located>, Vec<Located>) {
    let pick = |set: bool| {
        problems.iter().zip(flags).filter(|&(_, &flag)| flag == set).map(|(&problem, _)| problem.clone()).collect()
    };
    (pick(true), pick(false))
}

fn same_place(a: &Located, b: &Located) -> bool {
    a.bytes.start == b.bytes.start || (a.bytes.start < b.bytes.end && b.bytes.start < a.bytes.end)
}

/// Which problems, by their index in the order of places, have found their partner.
struct Pairs {
    old: Vec<bool>,
    new: Vec<bool>,
}

/// What makes two problems the same, but for their place.
type Key<'a> = (Option<&'a str>, Option<&'a str>, Severity, String);

impl Pairs {
    /// Pairs what has no partner yet and agrees in all but the place, its message taken through `words`, nearest first;
    /// a pair that is not `allowed` is left.
    fn pair(
        &mut self,
        baseline: &[&Located],
        now: &[&Located],
        words: impl Fn(&str) -> String,
        allowed: impl Fn(&Located, &Located) -> bool,
    ) {
        let mut groups: BTreeMap<Key<'_>, (Vec<usize>, Vec<usize>)> = BTreeMap::new();
        let key = |problem: &&'_ Located| words(&problem.message);
        for (index, problem) in baseline.iter().enumerate().filter(|&(index, _)| !self.old[index]) {
            let key = (problem.source.as_deref(), problem.code.as_deref(), problem.severity, key(problem));
            groups.entry(key).or_default().0.push(index);
        }
        for (index, problem) in now.iter().enumerate().filter(|&(index, _)| !self.new[index]) {
            let key = (problem.source.as_deref(), problem.code.as_deref(), problem.severity, key(problem));
            if let Some(group) = groups.get_mut(&key) {
                group.1.push(index);
            }
        }
        for (olds, news) in groups.into_values() {
            for (old, new) in nearest(&olds, &news, |index| place(baseline[index]), |index| place(now[index])) {
                if allowed(baseline[old], now[new]) {
                    (self.old[old], self.new[new]) = (true, true);
                }
            }
        }
    }
}

/// A start and an end in bytes; or how far two such are apart.
type Place = (usize, usize);

/// Pairs as many as possible of two lists that are in the order of their places, always the two nearest of those that
/// are left. O(n log n): the two nearest are always neighbours once both lists are merged.
fn nearest(
    olds: &[usize],
    news: &[usize],
    old_place: impl Fn(usize) -> Place,
    new_place: impl Fn(usize) -> Place,
) -> Vec<(usize, usize)> {
    if olds.is_empty() || news.is_empty() {
        return Vec::new();
    }
    // Each with whether it is an old one, and its index.
    let mut points: Vec<(Place, bool, usize)> = olds.iter().map(|&old| (old_place(old), true, old)).collect();
    points.extend(news.iter().map(|&new| (new_place(new), false, new)));
    points.sort_unstable();
    let distance = |a: usize, b: usize| {
        let ((left, left_end), (right, right_end)) = (points[a].0, points[b].0);
        (left.abs_diff(right), left_end.abs_diff(right_end))
    };
    let opposite = |a: usize, b: usize| points[a].1 != points[b].1;
    let mut next: Vec<usize> = (1..=points.len()).collect();
    let mut previous: Vec<Option<usize>> = (0..points.len()).map(|index| index.checked_sub(1)).collect();
    let mut gone = vec![false; points.len()];
    let mut heap: BinaryHeap<Reverse<(Place, usize, usize)>> = (1..points.len())
        .filter(|&index| opposite(index - 1, index))
        .map(|index| Reverse((distance(index - 1, index), index - 1, index)))
        .collect();
    let mut pairs = Vec::new();
    while let Some(Reverse((_, left, right))) = heap.pop() {
        if gone[left] || gone[right] {
            continue;
        }
        (gone[left], gone[right]) = (true, true);
        pairs.push(if points[left].1 { (points[left].2, points[right].2) } else { (points[right].2, points[left].2) });
        let (before, after) = (previous[left], next[right]);
        if let Some(before) = before {
            next[before] = after;
        }
        if after < points.len() {
            previous[after] = before;
            if let Some(before) = before.filter(|&before| opposite(before, after)) {
                heap.push(Reverse((distance(before, after), before, after)));
            }
        }
    }
    pairs
}

/// The words after which a number is a place.
const PLACE_WORDS: [&str; 9] = ["line", "lines", "ln", "column", "columns", "col", "row", "rows", "char"];

/// A message of single spaces with `#` for the numbers of places.
fn without_places(message: &str) -> String {
    let mut out = String::with_capacity(message.len());
    let mut rest = message;
    // Whether the next number names a place, for what was read so far.
    let mut named = false;
    while let Some(first) = rest.chars().next() {
        let alphabetic = |char: char| char.is_alphabetic() || char == '_';
        let length = if first.is_ascii_digit() {
            rest.find(|char: char| !char.is_ascii_digit())
        } else if alphabetic(first) {
            rest.find(|char: char| !alphabetic(char) && !char.is_ascii_digit())
        } else {
            Some(first.len_utf8())
        }
        .unwrap_or(rest.len());
        let (token, after) = rest.split_at(length);
        if first.is_ascii_digit() {
            let decimal = after.starts_with(|char: char| char.is_alphanumeric() || char == '_');
            let place = !decimal && (named || follows_a_file_name(&out));
            out.push_str(if place { "#" } else { token });
            named = place;
        } else {
            out.push_str(token);
            // "lines 3 and 4", "line 3, column 4", "line: 3", "3-4", "3:4" go on being about places.
            let goes_on = matches!(token, " " | ":" | "," | "-" | "–" | "#" | "=" | "(" | "and" | "to");
            named = PLACE_WORDS.iter().any(|word| token.eq_ignore_ascii_case(word)) || (named && goes_on);
        }
        rest = after;
    }
    out
}

/// Whether a text ends like `name.ext:`, behind which a compiler writes the line.
fn follows_a_file_name(text: &str) -> bool {
    let Some(path) = text.strip_suffix(':') else { return false };
    let extension = path.len() - path.trim_end_matches(|char: char| char.is_ascii_alphanumeric()).len();
    let stem = &path[..path.len() - extension];
    extension > 0
        && stem.strip_suffix('.').is_some_and(|name| name.ends_with(|char: char| char.is_alphanumeric() || char == '_'))
        && path[stem.len()..].starts_with(|char: char| char.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests;
