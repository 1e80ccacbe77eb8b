//! Several words looked for in a text in one scan.

use memchr::memmem;

/// Bytes a shift is told by.
const BLOCK: usize = 3;

/// Entries of the table of shifts.
const TABLE: usize = 1 << 14;

/// Words shorter than this (bytes) are looked for one by one.
const SHORTEST: usize = 5;

/// For each word the first places it is at that do not overlap one another (byte offsets, rising), at most `most`.
///
/// Wu and Manber's algorithm: the last bytes of a window as long as the shortest word tell how far no word can begin.
/// Where a text and the words defeat it, each word is looked for alone, in linear time.
pub(super) fn places(text: &str, words: &[&str], most: usize) -> Vec<Vec<usize>> {
    let alone = |word: &&str| memmem::find_iter(text.as_bytes(), word.as_bytes()).take(most).collect();
    let window = words.iter().map(|word| word.len()).min().unwrap_or(0).min(usize::from(u8::MAX));
    if words.len() < 3 || window < SHORTEST {
        return words.iter().map(alone).collect();
    }
    together(text.as_bytes(), words, most, window).unwrap_or_else(|| words.iter().map(alone).collect())
}

/// The slot of the table for the block that ends before `end`.
fn slot(text: &[u8], end: usize) -> usize {
    let block = (u32::from(text[end - 3]) << 16) | (u32::from(text[end - 2]) << 8) | u32::from(text[end - 1]);
    (block.wrapping_mul(0x9e37_79b1) >> 18) as usize
}

/// All at once; `None` where too much is compared in vain.
fn together(text: &[u8], words: &[&str], most: usize, window: usize) -> Option<Vec<Vec<usize>>> {
    let far = u8::try_from(window - BLOCK + 1).ok()?;
    let mut shifts = vec![far; TABLE];
    for word in words {
        for end in BLOCK..=window {
            let shift = u8::try_from(window - end).ok()?;
            let slot = &mut shifts[slot(word.as_bytes(), end)];
            *slot = shift.min(*slot);
        }
    }
    // The words whose window ends with the block of a slot.
    let mut ending: Vec<(usize, usize)> =
        words.iter().enumerate().map(|(at, word)| (slot(word.as_bytes(), window), at)).collect();
    ending.sort_unstable();
    let mut found: Vec<Vec<usize>> = vec![Vec::new(); words.len()];
    let mut free = vec![0; words.len()];
    let mut open = words.len();
    let mut patience = text.len() / 2 + 4_096;
    let mut end = window;
    while end <= text.len() {
        let slot = slot(text, end);
        let shift = usize::from(shifts[slot]);
        if shift > 0 {
            end += shift;
            continue;
        }
        let start = end - window;
        let first = ending.partition_point(|&(other, _)| other < slot);
        for &(_, at) in ending[first..].iter().take_while(|&&(other, _)| other == slot) {
            let word = words[at].as_bytes();
            if found[at].len() == most || start < free[at] {
                continue;
            }
            patience = patience.checked_sub(word.len().div_ceil(8))?;
            if text[start..].starts_with(word) {
                found[at].push(start);
                free[at] = start + word.len();
                open -= usize::from(found[at].len() == most);
            }
        }
        if open == 0 {
            break;
        }
        end += 1;
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn as_each_word_alone(
            text in "[abc]{0,200}", words in proptest::collection::vec("[abc]{1,9}", 1..8), most in 1usize..6,
        ) {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let of = |word: &&str| memmem::find_iter(text.as_bytes(), word.as_bytes()).take(most).collect();
            let alone: Vec<Vec<usize>> = words.iter().map(of).collect();
            prop_assert_eq!(&places(&text, &words, most), &alone);
            let window = words.iter().map(|word| word.len()).min().unwrap();
            if window >= BLOCK {
                let found = together(text.as_bytes(), &words, most, window);
                prop_assert!(found.is_none_or(|found| found == alone));
            }
        }
    }

    #[test]
    fn texts_that_defeat_it_are_searched_word_by_word() {
        let text = "a".repeat(100_000);
        let words =
            [format!("{}b", "a".repeat(5_000)), format!("{}c", "a".repeat(5_000)), format!("{}d", "a".repeat(9))];
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        assert_eq!(together(text.as_bytes(), &words, 10, 10), None);
        assert_eq!(places(&text, &words, 10), vec![Vec::<usize>::new(); 3]);
    }
}
