//! What the new text does to the old one, line by line.

use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::align;

/// Lines less alike than this are one that went and one that came, not one that changed: fixtures 219 and 220.
const CHANGED: f64 = 0.5;

/// What happens to a line. Indices are lines of the old and of the new text, 0-based.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// It stays (old line).
    Keep(usize, usize),
    /// It becomes another.
    Change(usize, usize),
    /// It goes (old line).
    Drop(usize),
    /// It comes (new line).
    Add(usize),
}

/// The steps in order; every line of either text is in exactly one.
pub(super) fn script(old: &[&str], new: &[&str]) -> Vec<Step> {
    let mut steps = Vec::with_capacity(new.len());
    let (mut old_from, mut new_from) = (0, 0);
    for op in capture_diff_slices(Algorithm::Myers, old, new) {
        if let DiffOp::Equal { old_index, new_index, len } = op {
            differing(old, new, (old_from, old_index), (new_from, new_index), &mut steps);
            steps.extend((0..len).map(|at| Step::Keep(old_index + at, new_index + at)));
            (old_from, new_from) = (old_index + len, new_index + len);
        }
    }
    differing(old, new, (old_from, old.len()), (new_from, new.len()), &mut steps);
    steps
}

/// The steps of a stretch without equal lines.
fn differing(old: &[&str], new: &[&str], olds: (usize, usize), news: (usize, usize), steps: &mut Vec<Step>) {
    let partners = align::partners(&old[olds.0..olds.1], &new[news.0..news.1], CHANGED);
    let mut next = news.0;
    for (at, partner) in partners.into_iter().enumerate() {
        match partner {
            None => steps.push(Step::Drop(olds.0 + at)),
            Some(partner) => {
                let partner = news.0 + partner;
                steps.extend((next..partner).map(Step::Add));
                steps.push(Step::Change(olds.0 + at, partner));
                next = partner + 1;
            }
        }
    }
    steps.extend((next..news.1).map(Step::Add));
}

#[cfg(test)]
mod tests {
    use super::*;
    use Step::{Add, Change, Drop, Keep};
    use proptest::prelude::*;

    #[test]
    fn what_happens_to_each_line() {
        fn check(old: &[&str], new: &[&str], expected: &[Step]) {
            assert_eq!(script(old, new), expected, "{old:?} {new:?}");
        }
        check(&["a"], &["a"], &[Keep(0, 0)]);
        check(&["call(1)"], &["if x:", "    call(1)"], &[Add(0), Change(0, 1)]);
        check(&["a", "let x = 1;", "b"], &["a", "let x = 2;", "b"], &[Keep(0, 0), Change(1, 1), Keep(2, 2)]);
        check(&["a", "b"], &[], &[Drop(0), Drop(1)]);
        check(&["one"], &["quite another"], &[Drop(0), Add(0)]);
    }

    proptest! {
        #[test]
        fn every_line_has_its_step(
            old in proptest::collection::vec("[ab]{0,3}", 0..8), new in proptest::collection::vec("[ab]{0,3}", 0..8),
        ) {
            let (old, new): (Vec<&str>, Vec<&str>) =
                (old.iter().map(String::as_str).collect(), new.iter().map(String::as_str).collect());
            let (mut olds, mut news) = (Vec::new(), Vec::new());
            for step in script(&old, &new) {
                match step {
                    Keep(o, n) => { prop_assert_eq!(old[o], new[n]); olds.push(o); news.push(n); }
                    Change(o, n) => { olds.push(o); news.push(n); }
                    Drop(o) => olds.push(o),
                    Add(n) => news.push(n),
                }
            }
            prop_assert_eq!(olds, (0..old.len()).collect::<Vec<_>>());
            prop_assert_eq!(news, (0..new.len()).collect::<Vec<_>>());
        }
    }
}
