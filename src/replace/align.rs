//! Lines of one text paired with lines of another, in order: exactly where they are equal, by similarity in between.

use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::lines::{blank, trim};
use crate::text::similarity::{self, Cost, Letters};

/// Similarity is computed for at most this many pairs of lines of one stretch; beyond, only equal lines are paired.
const PAIR_LIMIT: usize = 4_096;

/// So many pairs of characters are compared for one stretch at most, shared evenly between its pairs of lines: only
/// among many lines of many thousands of characters is a pair denied its exact distance by that.
const CELLS: usize = 1 << 31;

/// For each line of `a` its partner in `b`: rising, each taken once, at least `floor` alike, so that the whole is as
/// alike as can be. In long texts lines that are equal once trimmed are partners first, and the others between them.
pub(super) fn partners(a: &[&str], b: &[&str], floor: f64) -> Vec<Option<usize>> {
    if a.len() * b.len() <= PAIR_LIMIT {
        return by_similarity(a, b, floor);
    }
    let mut partners = vec![None; a.len()];
    let (left, right): (Vec<&str>, Vec<&str>) =
        (a.iter().map(|line| line.trim()).collect(), b.iter().map(|line| line.trim()).collect());
    let (mut a_from, mut b_from) = (0, 0);
    let mut between = |partners: &mut Vec<Option<usize>>, a_to: usize, b_to: usize, a_next: usize, b_next: usize| {
        for (i, partner) in by_similarity(&a[a_from..a_to], &b[b_from..b_to], floor).into_iter().enumerate() {
            partners[a_from + i] = partner.map(|j| b_from + j);
        }
        (a_from, b_from) = (a_next, b_next);
    };
    for op in capture_diff_slices(Algorithm::Myers, &left, &right) {
        if let DiffOp::Equal { old_index, new_index, len } = op {
            between(&mut partners, old_index, new_index, old_index + len, new_index + len);
            for at in 0..len {
                partners[old_index + at] = Some(new_index + at);
            }
        }
    }
    between(&mut partners, a.len(), b.len(), a.len(), b.len());
    partners
}

/// The pairing of greatest total likeness, by dynamic programming.
fn by_similarity<'t>(a: &[&'t str], b: &[&'t str], floor: f64) -> Vec<Option<usize>> {
    let mut partners = vec![None; a.len()];
    if a.is_empty() || b.is_empty() || a.len() * b.len() > PAIR_LIMIT {
        return partners;
    }
    let letters = |lines: &[&str]| -> Vec<Letters> { lines.iter().map(|line| Letters::of(line)).collect() };
    let trimmed = |lines: &[&'t str]| -> Vec<&'t str> { lines.iter().map(|line| trim(line)).collect() };
    let (a_letters, b_letters) = (letters(a), letters(b));
    let (a_trimmed, b_trimmed) = (trimmed(a), trimmed(b));
    let cells = CELLS / (a.len() * b.len());
    // Of pairings that are equally alike the one with more lines at the same depth; all of that is less than a character.
    let unit = a.len().min(b.len()) + 1;
    let gain = |i: usize, j: usize| -> usize {
        let (x, y) = (&a_letters[i], &b_letters[j]);
        let (short, long) = (x.length.min(y.length), x.length.max(y.length));
        // One more for the pair itself, so that blank lines find each other too.
        let gain = |distance: usize| {
            if (Cost { distance, length: long }).similarity() >= floor { long - distance + 1 } else { 0 }
        };
        if (short == 0) != (long == 0) || gain(long - short) == 0 {
            return 0;
        }
        if a_trimmed[i] == b_trimmed[j] {
            return gain(0);
        }
        if !x.may_reach(y, floor) {
            return 0;
        }
        gain(similarity::cost_of_lengths((a_trimmed[i], x.length), (b_trimmed[j], y.length), cells).distance)
    };
    let width = b.len() + 1;
    let mut best = vec![0usize; (a.len() + 1) * width];
    let mut gains = vec![0usize; a.len() * b.len()];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            let here = gain(i, j) * unit;
            let here = here + usize::from(here > 0 && a[i] == b[j]);
            gains[i * b.len() + j] = here;
            let skip = best[(i + 1) * width + j].max(best[i * width + j + 1]);
            let take = if here > 0 { best[(i + 1) * width + j + 1] + here } else { 0 };
            best[i * width + j] = skip.max(take);
        }
    }
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        let here = gains[i * b.len() + j];
        if here > 0 && best[i * width + j] == best[(i + 1) * width + j + 1] + here {
            partners[i] = Some(j);
            (i, j) = (i + 1, j + 1);
        } else if best[i * width + j] == best[(i + 1) * width + j] {
            i += 1;
        } else {
            j += 1;
        }
    }
    partners
}

/// The partners of lines that differ in their blank lines only: the others are partners in order, and blank lines
/// between them as far as both have some. `None` when the others are not as many.
pub(super) fn blanks_aside(a: &[&str], b: &[&str]) -> Option<Vec<Option<usize>>> {
    let text = |lines: &[&str]| -> Vec<usize> { (0..lines.len()).filter(|&at| !blank(lines[at])).collect() };
    let (a_text, b_text) = (text(a), text(b));
    if a_text.len() != b_text.len() {
        return None;
    }
    let mut partners = vec![None; a.len()];
    for (at, (&i, &j)) in a_text.iter().zip(&b_text).enumerate() {
        partners[i] = Some(j);
        if let (Some(&i_next), Some(&j_next)) = (a_text.get(at + 1), b_text.get(at + 1)) {
            for more in 1..(i_next - i).min(j_next - j) {
                partners[i + more] = Some(j + more);
            }
        }
    }
    Some(partners)
}

/// How two stretches compare under a pairing.
pub(super) struct Comparison {
    /// How alike they are: lines without partners count 0, blank ones nothing.
    pub(super) cost: Cost,
    /// How many characters of `a` its partners agree with. Unlike the similarity this does not suffer from a line that
    /// one side lacks, so it tells a region that lost a line from another that merely resembles it.
    pub(super) agreement: usize,
}

/// Compares the lines of two stretches.
pub(super) fn compare(a: &[&str], b: &[&str], partners: &[Option<usize>]) -> Comparison {
    let (mut cost, mut agreement) = (Cost::default(), 0);
    let mut taken = vec![false; b.len()];
    let cells = CELLS / a.len().max(1);
    for (line, partner) in a.iter().zip(partners) {
        cost += match partner {
            Some(j) => {
                taken[*j] = true;
                let pair = similarity::cost_within(line, b[*j], cells);
                agreement += pair.length - pair.distance;
                pair
            }
            None => Cost::alone(line),
        };
    }
    for (line, _) in b.iter().zip(taken).filter(|(_, taken)| !taken) {
        cost += Cost::alone(line);
    }
    Comparison { cost, agreement }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(a: &[&str], b: &[&str], expected: &[Option<usize>]) {
        assert_eq!(partners(a, b, 0.5), expected, "{a:?} {b:?}");
    }

    #[test]
    fn equal_lines_first_then_the_most_alike() {
        check(&["a", "b"], &["a", "b"], &[Some(0), Some(1)]);
        check(&["  if x:", "call(one)"], &["if x:", "log()", "call(two)"], &[Some(0), Some(2)]);
        check(&["alpha", "gamma"], &["beta!"], &[None, None]);
        check(&["let total = 1;"], &["", "let total = 2;"], &[Some(1)]);
        check(&[], &["x"], &[]);
    }

    #[test]
    fn blank_lines_pair_off_as_far_as_they_go() {
        let check = |a: &[&str], b: &[&str], expected: Option<&[Option<usize>]>| {
            assert_eq!(blanks_aside(a, b).as_deref(), expected, "{a:?} {b:?}");
        };
        check(&["a", "", "b"], &["a", "b"], Some(&[Some(0), None, Some(1)]));
        check(&["a", "", "b"], &["a", "", "", "b"], Some(&[Some(0), Some(1), Some(3)]));
        check(&["", "a", ""], &["a"], Some(&[None, Some(0), None]));
        check(&["a"], &["a", "b"], None);
    }

    #[test]
    fn a_region_is_as_alike_as_its_lines_by_length() {
        let (a, b) = (["abcd", "efgh"], ["abcd", "efgx", "zzzz"]);
        let cost = compare(&a, &b, &partners(&a, &b, 0.5)).cost;
        assert_eq!(cost, Cost { distance: 5, length: 12 });
    }
}
