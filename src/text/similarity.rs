//! How alike two lines are: the measure behind every "nearly", bounded in time and memory.

use std::collections::HashMap;

/// Above this many characters (of the differing middle, in both texts) the exact distance is not computed any more:
/// the middles then count as wholly different, which can only make texts look less alike than they are.
const EXACT_LIMIT: usize = 32_768;

/// 1 − Levenshtein distance over characters / length of the longer, white space collapsed first; 1 for two empty lines.
pub fn similarity(a: &str, b: &str) -> f64 {
    let cost = cost(a, b);
    ratio(cost.distance, cost.length)
}

/// What one pair of lines adds to the similarity of a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cost {
    /// Levenshtein distance in characters, white space collapsed.
    pub distance: usize,
    /// Length of the longer line in characters, white space collapsed.
    pub length: usize,
}

impl Cost {
    /// The cost of a line without a partner: all of it differs.
    pub fn alone(line: &str) -> Cost {
        let length = collapsed(line).count();
        Cost { distance: length, length }
    }

    /// 1 − distance / length; 1 for nothing at all.
    pub fn similarity(self) -> f64 {
        ratio(self.distance, self.length)
    }
}

impl std::ops::AddAssign for Cost {
    fn add_assign(&mut self, other: Cost) {
        self.distance += other.distance;
        self.length += other.length;
    }
}

/// Distance and length of a pair of lines. Adding those of several pairs gives the similarity of a region: the mean of
/// its lines' similarities, each weighted by its length.
pub fn cost(a: &str, b: &str) -> Cost {
    if a == b {
        return Cost { distance: 0, length: collapsed(a).count() };
    }
    let (a, b): (Vec<char>, Vec<char>) = (collapsed(a).collect(), collapsed(b).collect());
    Cost { distance: distance(&a, &b), length: a.len().max(b.len()) }
}

/// Whether a pair may reach a similarity of `floor` at all, judged by lengths and letters only: cheap, and never wrong
/// when it says no.
pub fn may_reach(a: &str, b: &str, floor: f64) -> bool {
    let mut balance = [0i64; 64];
    let (mut a_len, mut b_len) = (0usize, 0usize);
    for c in collapsed(a) {
        balance[c as usize % 64] += 1;
        a_len += 1;
    }
    for c in collapsed(b) {
        balance[c as usize % 64] -= 1;
        b_len += 1;
    }
    // Each edit changes the surplus on either side by one at most.
    let surplus = balance.iter().filter(|&&count| count > 0).sum::<i64>().unsigned_abs();
    let lack = balance.iter().filter(|&&count| count < 0).sum::<i64>().unsigned_abs();
    let least = usize::try_from(surplus.max(lack)).unwrap_or(usize::MAX);
    ratio(least, a_len.max(b_len)) >= floor
}

/// The characters of a line without white space at its ends, each inner run of it as one space.
pub fn collapsed(line: &str) -> impl Iterator<Item = char> + '_ {
    let mut space = false;
    line.trim().chars().filter_map(move |c| {
        let blank = c.is_whitespace();
        let repeated = blank && space;
        space = blank;
        if repeated { None } else { Some(if blank { ' ' } else { c }) }
    })
}

#[expect(clippy::cast_precision_loss, reason = "lengths of texts are far below 2^52")]
fn ratio(distance: usize, length: usize) -> f64 {
    if length == 0 { 1.0 } else { 1.0 - distance as f64 / length as f64 }
}

/// The Levenshtein distance: Myers' bit-parallel algorithm, 64 rows at a time. Memory is linear in the lengths, time is
/// their product divided by 64.
fn distance(a: &[char], b: &[char]) -> usize {
    let prefix = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let (a, b) = (&a[prefix..], &b[prefix..]);
    let suffix = a.iter().rev().zip(b.iter().rev()).take_while(|(x, y)| x == y).count();
    let (a, b) = (&a[..a.len() - suffix], &b[..b.len() - suffix]);
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    if short.is_empty() || long.len() > EXACT_LIMIT {
        return long.len();
    }
    // The horizontal differences (−1, 0, 1) along the bottom row of the block above; +1 along the top of the matrix.
    let mut above = vec![1i8; long.len()];
    let mut distance = short.len();
    for block in short.chunks(64) {
        let mut masks: HashMap<char, u64> = HashMap::with_capacity(block.len());
        for (bit, &c) in block.iter().enumerate() {
            *masks.entry(c).or_default() |= 1 << bit;
        }
        let bottom = 1u64 << (block.len() - 1);
        let (mut plus, mut minus) = (u64::MAX, 0u64);
        for (&c, carry) in long.iter().zip(above.iter_mut()) {
            let mut equal = masks.get(&c).copied().unwrap_or(0);
            let (rises, falls) = (u64::from(*carry > 0), u64::from(*carry < 0));
            let vertical = equal | minus;
            equal |= falls;
            let horizontal = ((equal & plus).wrapping_add(plus) ^ plus) | equal;
            let mut up = minus | !(horizontal | plus);
            let mut down = plus & horizontal;
            *carry = i8::from(up & bottom != 0) - i8::from(down & bottom != 0);
            up = (up << 1) | rises;
            down = (down << 1) | falls;
            plus = down | !(vertical | up);
            minus = up & vertical;
        }
    }
    for carry in above {
        distance = distance.saturating_add_signed(isize::from(carry));
    }
    distance
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The definition, two rows at a time.
    fn plain(a: &[char], b: &[char]) -> usize {
        let mut row: Vec<usize> = (0..=b.len()).collect();
        for (i, x) in a.iter().enumerate() {
            let mut next = vec![i + 1];
            for (j, y) in b.iter().enumerate() {
                next.push((row[j] + usize::from(x != y)).min(row[j + 1] + 1).min(next[j] + 1));
            }
            row = next;
        }
        row[b.len()]
    }

    #[test]
    fn known_distances() {
        fn check(a: &str, b: &str, expected: usize) {
            let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
            assert_eq!(distance(&a, &b), expected, "{a:?} {b:?}");
        }
        check("", "", 0);
        check("abc", "", 3);
        check("kitten", "sitting", 3);
        check("sunday", "saturday", 3);
        check("abc", "axc", 1);
        check("naïve 日本", "naive 日本", 1);
    }

    #[test]
    fn white_space_is_collapsed() {
        fn check(a: &str, b: &str, expected: f64) {
            assert!((similarity(a, b) - expected).abs() < 1e-9, "{a:?} {b:?}: {}", similarity(a, b));
        }
        check("", "", 1.0);
        check("  ", "\t", 1.0);
        check("", "x", 0.0);
        check("  let x  =\t1;", "let x = 1;  ", 1.0);
        check("abc", "axc", 2.0 / 3.0);
        check("hello", "world", 0.2);
    }

    #[test]
    fn a_line_without_a_partner_counts_nothing() {
        let mut region = cost("abcd", "abcd");
        region += Cost::alone("wxyz");
        assert!((region.similarity() - 0.5).abs() < 1e-9);
    }

    #[test]
    fn long_lines_are_measured_in_bounded_memory() {
        let a = "abcdefghij".repeat(2_000);
        let b = a.replace("jab", "jxb");
        assert_eq!(cost(&a, &b), Cost { distance: 1_999, length: 20_000 });
        // Past the limit only the common ends count.
        let (a, b) = (format!("head{}tail", "x".repeat(70_000)), format!("head{}tail", "yx".repeat(35_000)));
        assert_eq!(cost(&a, &b).distance, 69_999);
    }

    proptest! {
        #[test]
        fn the_distance_is_the_plain_one(a in "[abc ]{0,200}", b in "[abcé ]{0,200}") {
            let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
            prop_assert_eq!(distance(&a, &b), plain(&a, &b));
        }

        #[test]
        fn the_cheap_bound_never_excludes_a_pair(a in "[a-e ]{0,30}", b in "[a-e ]{0,30}", floor in 0.0f64..1.0) {
            if similarity(&a, &b) >= floor {
                prop_assert!(may_reach(&a, &b, floor));
            }
        }

        #[test]
        fn symmetric_and_between_0_and_1(a in "\\PC{0,40}", b in "\\PC{0,40}") {
            let s = similarity(&a, &b);
            prop_assert!((0.0..=1.0).contains(&s));
            prop_assert!((s - similarity(&b, &a)).abs() < 1e-12);
        }
    }
}
