//! What came of all cases, as a table.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::report::Ran;
use super::score::Verdict;

/// Of a hundred cases, how many must be right.
const MUST: f64 = 95.0;

/// The counts of one kind.
#[derive(Debug, Default, Clone, Copy)]
struct Counts {
    cases: u32,
    right: u32,
    placed: u32,
    refused: u32,
    wrong: u32,
}

impl Counts {
    fn add(&mut self, verdict: Verdict) {
        self.cases += 1;
        *match verdict {
            Verdict::Right => &mut self.right,
            Verdict::Placed => &mut self.placed,
            Verdict::Refused => &mut self.refused,
            Verdict::Wrong => &mut self.wrong,
        } += 1;
    }

    /// Of a hundred.
    fn right(self) -> f64 {
        f64::from(self.right) * 100.0 / f64::from(self.cases.max(1))
    }

    fn row(self, name: &str) -> String {
        let Counts { cases, placed, refused, wrong, .. } = self;
        format!("{name:<28}{cases:>6}{:>8.1}{placed:>8}{refused:>9}{wrong:>7}", self.right())
    }
}

/// The counts of all kinds.
#[derive(Debug, Default)]
pub(super) struct Tally {
    kinds: BTreeMap<&'static str, Counts>,
    total: Counts,
    by: BTreeMap<String, u32>,
    lacking: BTreeMap<&'static str, u32>,
}

impl Tally {
    /// Counts a case.
    pub(super) fn add(&mut self, ran: &Ran) {
        self.kinds.entry(ran.kind).or_default().add(ran.outcome.verdict);
        self.total.add(ran.outcome.verdict);
        *self.by.entry(ran.outcome.by.clone()).or_default() += 1;
    }

    /// Counts a case that could not be made.
    pub(super) fn lacks(&mut self, kind: &'static str) {
        *self.lacking.entry(kind).or_default() += 1;
    }

    /// Whether nothing is wrong and enough is right.
    pub(super) fn passes(&self) -> bool {
        self.total.cases > 0 && self.total.wrong == 0 && self.total.right() >= MUST
    }

    /// The table, the kinds in the order given.
    pub(super) fn table(&self, kinds: &[&str]) -> String {
        let mut out = String::new();
        let _ =
            writeln!(out, "{:<28}{:>6}{:>8}{:>8}{:>9}{:>7}", "kind", "cases", "right%", "placed", "refused", "wrong");
        for kind in kinds {
            if let Some(counts) = self.kinds.get(kind) {
                let _ = writeln!(out, "{}", counts.row(kind));
            }
        }
        let _ = writeln!(out, "{}", self.total.row("all"));
        let by: Vec<String> = self.by.iter().map(|(name, count)| format!("{name} {count}")).collect();
        let _ = writeln!(out, "decided by: {}", by.join(", "));
        for (kind, count) in &self.lacking {
            let _ = writeln!(out, "{kind}: {count} cases could not be made of this corpus");
        }
        out
    }
}
