//! What front ends show of an output: its end. Pure.

use super::cut::tail_start;

/// The words before the end of an output that is not shown whole, up to the first number.
pub const DISPLAY_HEADER: &str = "[showing the last ";

/// The header is never longer (bytes).
const HEADER: usize = 120;

/// An output for a front end: all of it, or its last lines with a header that says so; at most `max` bytes.
pub fn display(text: &str, max: usize) -> String {
    display_end(text, text.len(), max)
}

/// The same for an output of `total` bytes of which only this end is at hand.
pub fn display_end(text: &str, total: usize, max: usize) -> String {
    if total <= max && text.len() >= total {
        return text.to_owned();
    }
    let start = tail_start(text, max.saturating_sub(HEADER));
    let header = format!("{DISPLAY_HEADER}{} of {total} bytes; the whole is kept]\n", text.len() - start);
    let mut out = header + &text[start..];
    if out.len() > max {
        out.truncate(out.floor_char_boundary(max));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_end_is_shown_and_that_is_said() {
        assert_eq!(display("a\nb\n", 4), "a\nb\n");
        let text: String = (0..100).fold(String::new(), |text, row| text + &format!("row {row}\n"));
        assert_eq!(display(&text, 140), "[showing the last 14 of 690 bytes; the whole is kept]\nrow 98\nrow 99\n");
    }

    proptest! {
        #[test]
        fn it_keeps_to_its_bound(text in "([a-zé😀]{0,30}\n?){0,40}", max in 0usize..600) {
            let shown = display(&text, max);
            prop_assert!(shown.len() <= max);
            if text.len() > max && max > 200 {
                let (header, rest) = shown.split_once('\n').unwrap();
                prop_assert!(header.starts_with(DISPLAY_HEADER) && text.ends_with(rest));
            }
        }
    }
}
