//! Randomness as a port, so that a run can be repeated. Not for secrets.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

/// Gives numbers that differ from call to call.
pub trait Random: Send + Sync + 'static {
    /// The next number, uniform over all 64 bits.
    fn next(&self) -> u64;
}

/// A sequence that only its seed decides (`SplitMix64`).
#[derive(Debug)]
pub struct Seeded(AtomicU64);

impl Seeded {
    /// The sequence of a seed.
    pub fn new(seed: u64) -> Seeded {
        Seeded(AtomicU64::new(seed))
    }
}

impl Random for Seeded {
    fn next(&self) -> u64 {
        let state = self.0.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed).wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

/// A sequence seeded by the operating system.
#[derive(Debug)]
pub struct SystemRandom(Seeded);

impl SystemRandom {
    /// A fresh sequence.
    pub fn new() -> SystemRandom {
        // The standard library seeds its hash maps from the operating system; hashing nothing gives that seed.
        SystemRandom(Seeded::new(RandomState::new().hash_one(())))
    }
}

impl Default for SystemRandom {
    fn default() -> SystemRandom {
        SystemRandom::new()
    }
}

impl Random for SystemRandom {
    fn next(&self) -> u64 {
        self.0.next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_decides_the_sequence() {
        let (one, two, three) = (Seeded::new(7), Seeded::new(7), Seeded::new(8));
        let first: Vec<u64> = (0..4).map(|_| one.next()).collect();
        assert_eq!(first, (0..4).map(|_| two.next()).collect::<Vec<_>>());
        assert_ne!(first, (0..4).map(|_| three.next()).collect::<Vec<_>>());
    }
}
