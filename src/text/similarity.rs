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
    cost_within(a, b, usize::MAX)
}

/// The same, but where more than `cells` pairs of characters (of the differing middles) would have to be compared, the
/// middles count as wholly different: a bound on the work of many pairs of long lines.
pub fn cost_within(a: &str, b: &str, cells: usize) -> Cost {
    let a_length = collapsed(a).count();
    if a == b {
        return Cost { distance: 0, length: a_length };
    }
    cost_of_lengths((a, a_length), (b, collapsed(b).count()), cells)
}

/// The same for lines whose lengths in characters, white space collapsed, are known: where two long lines differ at both
/// ends they are not gone through then.
pub fn cost_of_lengths((a, a_length): (&str, usize), (b, b_length): (&str, usize), cells: usize) -> Cost {
    let equal = |(x, y): &(char, char)| x == y;
    let prefix = collapsed(a).zip(collapsed(b)).take_while(equal).count();
    let rest = a_length.min(b_length) - prefix;
    let suffix = backwards(a).zip(backwards(b)).take(rest).take_while(equal).count();
    let (a_middle, b_middle) = (a_length - prefix - suffix, b_length - prefix - suffix);
    let (short, long) = (a_middle.min(b_middle), a_middle.max(b_middle));
    let distance = if short == 0 || long > EXACT_LIMIT || short.saturating_mul(long) > cells {
        long
    } else {
        let middle = |line, length| -> Vec<char> { collapsed(line).skip(prefix).take(length).collect() };
        distance(&middle(a, a_middle), &middle(b, b_middle))
    };
    Cost { distance, length: a_length.max(b_length) }
}

/// How often each letter is in a line, and its length, both with white space collapsed.
#[derive(Debug, Clone)]
pub struct Letters {
    /// By the lowest six bits of the character.
    counts: [u32; 64],
    /// In characters.
    pub length: usize,
}

impl Letters {
    /// Counts them.
    pub fn of(line: &str) -> Letters {
        let mut letters = Letters { counts: [0; 64], length: 0 };
        for c in collapsed(line) {
            letters.counts[c as usize % 64] += 1;
            letters.length += 1;
        }
        letters
    }

    /// Whether a pair may reach a similarity of `floor` at all: cheap, and never wrong when it says no.
    pub fn may_reach(&self, other: &Letters, floor: f64) -> bool {
        // Each edit changes the surplus on either side by one at most.
        let (mut surplus, mut lack) = (0usize, 0usize);
        for (&a, &b) in self.counts.iter().zip(&other.counts) {
            surplus += a.saturating_sub(b) as usize;
            lack += b.saturating_sub(a) as usize;
        }
        ratio(surplus.max(lack), self.length.max(other.length)) >= floor
    }
}

/// The characters of a line without white space at its ends, each inner run of it as one space.
pub fn collapsed(line: &str) -> impl Iterator<Item = char> + '_ {
    squeezed(line.trim().chars())
}

/// The same characters from the last to the first.
fn backwards(line: &str) -> impl Iterator<Item = char> + '_ {
    squeezed(line.trim().chars().rev())
}

fn squeezed(chars: impl Iterator<Item = char>) -> impl Iterator<Item = char> {
    let mut space = false;
    chars.filter_map(move |c| {
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
        // Where each character is in the block; those of ASCII in a table, for they are nearly all.
        let (mut ascii, mut others) = ([0u64; 128], HashMap::<char, u64>::new());
        for (bit, &c) in block.iter().enumerate() {
            match ascii.get_mut(c as usize) {
                Some(mask) => *mask |= 1 << bit,
                None => *others.entry(c).or_default() |= 1 << bit,
            }
        }
        let mask = |c: char| match ascii.get(c as usize) {
            Some(&mask) => mask,
            None if others.is_empty() => 0,
            None => others.get(&c).copied().unwrap_or(0),
        };
        let bottom = 1u64 << (block.len() - 1);
        let (mut plus, mut minus) = (u64::MAX, 0u64);
        for (&c, carry) in long.iter().zip(above.iter_mut()) {
            let mut equal = mask(c);
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
                prop_assert!(Letters::of(&a).may_reach(&Letters::of(&b), floor));
            }
        }

        #[test]
        fn the_cost_is_the_distance_of_the_collapsed_lines(a in "[abé \t]{0,30}", b in "[abé \t]{0,30}") {
            let (x, y): (Vec<char>, Vec<char>) = (collapsed(&a).collect(), collapsed(&b).collect());
            prop_assert_eq!(cost(&a, &b), Cost { distance: plain(&x, &y), length: x.len().max(y.len()) });
            let bounded = cost_within(&a, &b, 9);
            prop_assert!(bounded.distance >= plain(&x, &y) && bounded.distance <= bounded.length);
        }

        #[test]
        fn symmetric_and_between_0_and_1(a in "\\PC{0,40}", b in "\\PC{0,40}") {
            let s = similarity(&a, &b);
            prop_assert!((0.0..=1.0).contains(&s));
            prop_assert!((s - similarity(&b, &a)).abs() < 1e-12);
        }
    }
}
