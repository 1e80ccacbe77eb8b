//! Keys of lines: hashes that are equal where lines are equal in some sense, and maps by them.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::lines::trim;
use crate::text::similarity;

/// The key of a line for "equal once trimmed".
pub(super) fn trimmed_key(line: &str) -> u64 {
    key(trim(line))
}

/// The key of a line for "equal without its indentation".
pub(super) fn dedented_key(line: &str) -> u64 {
    key(&line[super::lines::indentation(line).len()..])
}

/// The key of a line for "equal once white space is collapsed".
pub(super) fn collapsed_key(line: &str) -> u64 {
    similarity::collapsed(line).fold(0, |hash, c| mix(hash, u64::from(c)))
}

fn key(text: &str) -> u64 {
    let (words, rest) = text.as_bytes().as_chunks::<8>();
    let hash = words.iter().fold(text.len() as u64, |hash, word| mix(hash, u64::from_le_bytes(*word)));
    mix(hash, rest.iter().fold(0, |word, &byte| word << 8 | u64::from(byte)))
}

/// One step of a hash. It need not withstand anybody: whatever has equal keys is compared in full before it counts.
fn mix(hash: u64, word: u64) -> u64 {
    (hash.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95)
}

/// A map by keys and other numbers, which are hashed by one multiplication.
pub(super) type KeyMap<K, V> = HashMap<K, V, BuildHasherDefault<KeyHasher>>;

/// The hasher of a [`KeyMap`].
#[derive(Default)]
pub(super) struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        // The map looks at the lowest and the highest bits; a product is best in the upper half.
        self.0 ^ (self.0 >> 32)
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = mix(self.0, word);
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }

    fn write_isize(&mut self, word: isize) {
        self.write_usize(word.cast_unsigned());
    }
}

/// A set of keys that may say yes to others too: most lines of a text are told apart from those wanted by one bit.
pub(super) struct Sieve {
    bits: Vec<u64>,
    shift: u32,
}

impl Sieve {
    /// A sieve of some keys; sixteen bits a key, so that few others pass.
    pub(super) fn of(keys: impl ExactSizeIterator<Item = u64>) -> Sieve {
        let size = (keys.len() * 16).next_power_of_two().max(4_096);
        let mut sieve = Sieve { bits: vec![0; size / 64], shift: 64 - size.trailing_zeros() };
        for key in keys {
            let (word, bit) = sieve.place(key);
            sieve.bits[word] |= bit;
        }
        sieve
    }

    /// Whether a key may be one of them.
    pub(super) fn passes(&self, key: u64) -> bool {
        let (word, bit) = self.place(key);
        self.bits[word] & bit != 0
    }

    fn place(&self, key: u64) -> (usize, u64) {
        let at = usize::try_from(key >> self.shift).unwrap_or(0);
        (at / 64, 1 << (at % 64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn keys_ignore_what_they_say() {
        assert_eq!(trimmed_key("  a b\t"), trimmed_key("a b"));
        assert_ne!(trimmed_key("a  b"), trimmed_key("a b"));
        assert_eq!(dedented_key("\t a "), dedented_key("a "));
        assert_ne!(dedented_key("a "), dedented_key("a"));
        assert_eq!(dedented_key("  "), dedented_key(""));
        assert_eq!(collapsed_key(" a \t b"), collapsed_key("a b "));
        assert_ne!(collapsed_key("ab"), collapsed_key("a b"));
    }

    proptest! {
        #[test]
        fn what_is_in_a_sieve_passes(keys in proptest::collection::vec(any::<u64>(), 0..2_000)) {
            let sieve = Sieve::of(keys.iter().copied());
            prop_assert!(keys.iter().all(|&key| sieve.passes(key)));
        }
    }
}
