//! A text as a table of lines in which runs of lines are found, by each of the cascade's rules, in bounded time.

use std::cell::{Cell, OnceCell};
use std::collections::HashMap;
use std::ops::Range;

use crate::replace::{KnownLines, LineRule, Lines};
use crate::text::LineEnds;

/// A text that is patched.
pub(super) struct File<'a> {
    /// The text.
    pub(super) text: &'a str,
    /// Its lines.
    pub(super) lines: Lines<'a>,
    indexes: [OnceCell<Index>; LineRule::ALL.len()],
    known: OnceCell<KnownLines<'a>>,
    ends: OnceCell<LineEnds>,
    /// So many lines may still be compared.
    work: Cell<usize>,
}

/// Where each line is, by its key.
struct Index {
    keys: Vec<u64>,
    at: HashMap<u64, Vec<usize>>,
}

/// Lines that are looked for by a rule.
pub(super) struct Run<'p> {
    rule: LineRule,
    lines: Vec<&'p str>,
    keys: Vec<u64>,
    /// The line of it that is least often in the text.
    rare: usize,
}

/// So many lines may be compared for each line of the text and of the patch, and so many in any case.
const WORK: (usize, usize) = (64, 2_000_000);

impl Run<'_> {
    /// How many lines it has.
    pub(super) fn count(&self) -> usize {
        self.keys.len()
    }
}

impl<'a> File<'a> {
    /// Takes a text, and how many lines the patch has.
    pub(super) fn of(text: &'a str, patch_lines: usize) -> File<'a> {
        let lines = Lines::of(text);
        let work = (lines.count() + patch_lines).saturating_mul(WORK.0).saturating_add(WORK.1);
        File {
            text,
            lines,
            indexes: Default::default(),
            known: OnceCell::new(),
            ends: OnceCell::new(),
            work: Cell::new(work),
        }
    }

    /// How many lines it has.
    pub(super) fn count(&self) -> usize {
        self.lines.count()
    }

    /// Which line ends it has.
    pub(super) fn ends(&self) -> LineEnds {
        *self.ends.get_or_init(|| LineEnds::of(self.text))
    }

    /// The text for merges.
    pub(super) fn known(&self) -> &KnownLines<'a> {
        self.known.get_or_init(|| KnownLines::of(self.text))
    }

    /// Whether the text repeats itself so much that searches gave up.
    pub(super) fn tired(&self) -> bool {
        self.work.get() == 0
    }

    /// Takes so much work off; whether it may be done.
    pub(super) fn spend(&self, lines: usize) -> bool {
        self.work.set(self.work.get().saturating_sub(lines));
        !self.tired()
    }

    fn index(&self, rule: LineRule) -> &Index {
        self.indexes[rule as usize].get_or_init(|| {
            let keys: Vec<u64> = self.lines.contents().map(|line| rule.key(line)).collect();
            let mut at: HashMap<u64, Vec<usize>> = HashMap::with_capacity(keys.len());
            for (line, &key) in keys.iter().enumerate() {
                at.entry(key).or_default().push(line);
            }
            Index { keys, at }
        })
    }

    /// Prepares lines (without their ends) to be looked for; `None` where one of them is nowhere in the text, or where they
    /// are blank and the rule forgives white space.
    pub(super) fn run<'p>(&self, lines: &[&'p str], rule: LineRule) -> Option<Run<'p>> {
        if rule != LineRule::Exact && lines.iter().all(|line| line.trim().is_empty()) {
            return None;
        }
        let index = self.index(rule);
        let keys: Vec<u64> = lines.iter().map(|line| rule.key(line)).collect();
        let often = |key: &u64| index.at.get(key).map_or(0, Vec::len);
        let (least, rare) = keys.iter().enumerate().map(|(line, key)| (often(key), line)).min()?;
        (least > 0).then(|| Run { rule, lines: lines.to_vec(), keys, rare })
    }

    /// Where a run begins first, of the lines (0-based) in `starts`.
    pub(super) fn first(&self, run: &Run<'_>, starts: &Range<usize>) -> Option<usize> {
        self.candidates(run, starts).iter().map(|at| at - run.rare).find(|&start| self.fits(run, start))
    }

    /// Where a run begins last, of the lines in `starts`.
    pub(super) fn last(&self, run: &Run<'_>, starts: &Range<usize>) -> Option<usize> {
        self.candidates(run, starts).iter().rev().map(|at| at - run.rare).find(|&start| self.fits(run, start))
    }

    /// Where in the text the rarest line is so that the run would begin in `starts` and end in the text.
    fn candidates(&self, run: &Run<'_>, starts: &Range<usize>) -> &[usize] {
        let end = starts.end.min((self.count() + 1).saturating_sub(run.keys.len()));
        let Some(at) = self.index(run.rule).at.get(&run.keys[run.rare]).filter(|_| starts.start < end) else {
            return &[];
        };
        let from = at.partition_point(|&line| line < starts.start + run.rare);
        let to = at.partition_point(|&line| line < end + run.rare);
        &at[from..to]
    }

    fn fits(&self, run: &Run<'_>, start: usize) -> bool {
        let keys = &self.index(run.rule).keys[start..start + run.keys.len()];
        let same = keys.iter().zip(&run.keys).take_while(|(a, b)| a == b).count();
        if !self.spend(same + 1) || same < keys.len() {
            return false;
        }
        run.lines.iter().enumerate().all(|(at, line)| run.rule.equal(line, self.lines.content(start + at)))
    }

    /// Whether lines are, to the byte, where they are said to begin.
    pub(super) fn has(&self, lines: &[&str], start: usize) -> bool {
        start.checked_add(lines.len()).is_some_and(|end| end <= self.count())
            && lines.iter().enumerate().all(|(at, line)| self.lines.content(start + at) == *line)
    }

    /// All lines of `within` that are equal to one, at most `most`.
    pub(super) fn all(&self, line: &str, rule: LineRule, within: &Range<usize>, most: usize) -> Vec<usize> {
        let Some(run) = self.run(&[line], rule) else { return Vec::new() };
        let found = self.candidates(&run, within).iter().copied();
        found.filter(|&at| self.fits(&run, at)).take(most).collect()
    }
}
