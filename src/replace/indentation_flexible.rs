//! `indentationFlexible`: lines equal once the common indentation is gone, tabs and spaces reconciled by column.

use super::haystack::Haystack;
use super::keys::{dedented_key, trimmed_key};
use super::lines::{Lines, blank, indentation};
use super::search::{confirmed, few, occurrences};
use super::{Finding, Pair, Place};

/// What a tab may be worth. Each is tried; a text without tabs is the same under all.
const TABS: [usize; 4] = [4, 8, 2, 3];

/// Runs of as many lines as old has, each as much deeper than the one before as in old.
pub(super) fn find<'a>(haystack: &Haystack<'_>, pair: &Pair<'a>, all: bool) -> Finding<'a> {
    let old = Lines::of(&pair.old);
    let Some(first) = old.contents().position(|line| !blank(line)) else { return Finding::none(pair) };
    let lines = haystack.lines();
    let rest = |line: &str| -> usize { line.len() - indentation(line).len() };
    let equal = |line: usize, at: usize| {
        let (a, b) = (old.content(line), lines.content(at));
        a[a.len() - rest(a)..] == b[b.len() - rest(b)..]
    };
    // Such lines are equal once trimmed, and of those runs there mostly is none, or a few.
    let run: Vec<u64> = old.contents().map(trimmed_key).collect();
    let candidates = occurrences(haystack.trimmed(), &run);
    let few = few(candidates.len(), old.count(), lines.count());
    let starts = if few { candidates } else { by_steps(haystack, &old, first) };
    let fits = |at: usize| {
        (0..old.count()).all(|line| equal(line, at + line))
            && (!few || TABS.iter().any(|&tab| level(&old, lines, at, tab)))
    };
    let places = confirmed(starts, old.count(), all, fits)
        .into_iter()
        .map(|at| Place::of_lines(haystack, at..at + old.count(), &old, None))
        .collect();
    Finding { pair: pair.clone(), places }
}

/// Whether the lines from `at`, blank where those of old are, are all as much deeper than those.
fn level(old: &Lines<'_>, lines: &Lines<'_>, at: usize, tab: usize) -> bool {
    let depth = |line: &str| columns(indentation(line), tab);
    let mut deeper = old
        .contents()
        .enumerate()
        .filter(|(_, line)| !blank(line))
        .map(|(number, line)| depth(lines.content(at + number)).wrapping_sub(depth(line)));
    let first = deeper.next();
    deeper.all(|other| Some(other) == first)
}

/// Where lines like those of old begin, each as much deeper than the one before as in old; judged by keys. `first` is
/// the first line of old that is not blank.
fn by_steps(haystack: &Haystack<'_>, old: &Lines<'_>, first: usize) -> Vec<usize> {
    let lines = haystack.lines();
    let head: Vec<u64> = old.contents().take(first + 1).map(dedented_key).collect();
    let mut starts: Vec<usize> = Vec::new();
    for tab in TABS {
        // Equal steps from line to line are an equal shape whatever the depth of the whole; and a run of keys is found
        // in linear time. What the first line steps from is outside the run, so it is looked at apart.
        let run: Vec<u64> = steps(old, tab, old.contents().map(dedented_key)).skip(first + 1).collect();
        let text: Vec<u64> = steps(lines, tab, haystack.dedented().iter().copied()).collect();
        let candidates = if run.is_empty() {
            occurrences(haystack.dedented(), &head)
        } else {
            let fits = |at: &usize| haystack.dedented()[at - first - 1..*at] == head[..];
            occurrences(&text, &run)
                .into_iter()
                .filter(|&at| at > first)
                .filter(fits)
                .map(|at| at - first - 1)
                .collect()
        };
        starts.extend(candidates);
        let has_tabs = |line: &str| indentation(line).contains('\t');
        if !old.contents().any(has_tabs) && !lines.contents().any(has_tabs) {
            break;
        }
    }
    starts.sort_unstable();
    starts.dedup();
    starts
}

/// For each line a key of what it says and how much deeper it is than the last line before it that is not blank. Blank
/// lines have no depth.
fn steps<'t>(lines: &'t Lines<'_>, tab: usize, keys: impl Iterator<Item = u64> + 't) -> impl Iterator<Item = u64> + 't {
    let mut before = 0usize;
    lines.contents().zip(keys).map(move |(line, key)| {
        if blank(line) {
            return key;
        }
        let depth = columns(indentation(line), tab);
        let step = depth.wrapping_sub(before) as u64;
        before = depth;
        // An odd factor keeps different steps of one line apart, and mixes them with the line.
        key.rotate_left(17) ^ step.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    })
}

/// The column an indentation ends at.
fn columns(indentation: &str, tab: usize) -> usize {
    indentation.chars().fold(0, |at, c| if c == '\t' { at / tab * tab + tab } else { at + 1 })
}
