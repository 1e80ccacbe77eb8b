//! A small generator of numbers (splitmix64): the same cases for the same seed, on every machine and in every release.

/// The state of the generator.
#[derive(Debug, Clone)]
pub(super) struct Random(u64);

impl Random {
    /// A generator that always draws the same for the same seed and name.
    pub(super) fn new(seed: u64, name: &str) -> Random {
        let mut random = Random(seed);
        for byte in name.bytes() {
            random.0 = random.next() ^ u64::from(byte);
        }
        random
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`; 0 if that is 0.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        let bound = bound.max(1) as u64;
        usize::try_from(self.next() % bound).unwrap_or(0)
    }

    /// A number of `from..=to`.
    pub(super) fn within(&mut self, from: usize, to: usize) -> usize {
        from + self.below(to.saturating_sub(from) + 1)
    }

    /// True so many times of a hundred.
    pub(super) fn percent(&mut self, chance: usize) -> bool {
        self.below(100) < chance
    }

    /// One of some; `None` of none.
    pub(super) fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        let at = self.below(from.len());
        from.get(at)
    }
}
