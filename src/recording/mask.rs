//! What stands in the place of a secret: a text of the same shape, so that every position beside it stays right in every
//! encoding. Pure.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

/// From so many characters on a mask has the long label, which says what it is.
const LABELLED: usize = 10;

/// From so many on it has a short one, with its number at least.
const NUMBERED: usize = 4;

/// The mask of a secret: as many bytes, characters, UTF-16 units and lines in the same places. The same number for the
/// same secret. White space stays, and so do line ends that are written as `\n`.
pub(super) fn mask(secret: &str, number: usize) -> String {
    let letters = secret.chars().filter(|c| c.len_utf8() == 1 && !c.is_whitespace()).count();
    let label = match letters {
        LABELLED.. => format!("redacted{number}"),
        NUMBERED.. => format!("rd{number}"),
        _ => String::new(),
    };
    let mut label = label.chars();
    let mut escaped = false;
    secret
        .chars()
        .map(|c| match (c, c.len_utf8()) {
            (c, _) if c.is_whitespace() => c,
            ('\\', _) => {
                escaped = !escaped;
                if escaped { c } else { '_' }
            }
            ('n' | 'r' | 't', _) if std::mem::take(&mut escaped) => c,
            (_, 1) => {
                escaped = false;
                label.next().unwrap_or('_')
            }
            // One character for each length, all of the same units.
            (_, 2) => '\u{af}',
            (_, 3) => '\u{2026}',
            _ => '\u{1d7ce}',
        })
        .collect()
}

/// What masks look like, whole ones and what is left of one in the place of a part of its secret.
static MASKS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"redacted\d*_*|\brd\d{1,5}_*|[_\u{af}\u{2026}\u{1d7ce}]{8,}|(?m:(?:^|\t)_+\r?$)").ok()
});

/// Where a text may have masks (byte ranges, in order).
pub(super) fn masks(text: &str) -> Vec<Range<usize>> {
    let found = |found: regex::Match<'_>| {
        // The last line of a private key in a numbered listing.
        let column = found.len() - found.as_str().trim_start_matches('\t').len();
        found.start() + column..found.start() + found.as_str().trim_end_matches('\r').len()
    };
    MASKS.as_ref().map(|masks| masks.find_iter(text).map(found).collect()).unwrap_or_default()
}

/// Whether a text is nothing but a mask.
pub(super) fn is_mask(text: &str) -> bool {
    let masks = masks(text);
    let masked: usize = masks.iter().map(Range::len).sum();
    !masks.is_empty() && masked == text.chars().filter(|c| !c.is_whitespace()).map(char::len_utf8).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn masks_say_what_they_are() {
        for (secret, expected) in [
            ("hunter2secret", "redacted1____"),
            ("hunter2", "rd1____"),
            ("abc", "___"),
            ("line one\nline2\tx", "reda cte\nd1___\t_"),
            (r"AAAAAAAA\nBBBBBBBB\n", r"redacted\n1_______\n"),
            ("päß", "_\u{af}\u{af}"),
        ] {
            assert_eq!(mask(secret, 1), expected, "{secret}");
        }
        assert_eq!(masks("1\tMIIE redacted1_\n2\t___\na_\n__"), [7..17, 20..23, 27..29]);
        for (text, expected) in
            [("redacted12__", true), ("redacted", true), ("rd1___", true), ("hunter2", false), ("a rd1__", false)]
        {
            assert_eq!(is_mask(text), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_mask_has_the_shape_of_its_secret(secret in "[a-zA-Z0-9é…😀 \n\\\\]{0,60}", number in 1usize..2000) {
            let masked = mask(&secret, number);
            let shape = |text: &str| -> Vec<(usize, usize, bool)> {
                text.chars().map(|c| (c.len_utf8(), c.len_utf16(), c == '\n')).collect()
            };
            prop_assert_eq!(shape(&masked), shape(&secret));
        }
    }
}
