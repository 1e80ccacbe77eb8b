//! Lines as they are shown: bounded, cut where they differ, and with what is not seen made visible. Pure.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::replace::tokens::plain;

/// So many characters of a line are shown at most.
const WIDTH: usize = 160;

/// Of what is the same before a difference so many characters are shown at least, where there are as many.
const BEFORE: usize = 40;

/// What is said of the marks, where there are any.
pub(super) const MARKS: &str = "Names such as <tab>, <space> and <U+00A0> stand for characters that are not seen.";

/// A line, cut where it is too long.
pub(super) fn shown(line: &str) -> String {
    from(line, 0, false)
}

/// A line round one of its bytes, cut where it is too long.
pub(super) fn shown_at(line: &str, byte: usize) -> String {
    from(line, lead(&line[..byte]), false)
}

/// Two lines that differ, from a little before the first difference on. Where they only differ in what is not seen,
/// that is marked.
pub(super) fn shown_apart(a: &str, b: &str) -> (String, String) {
    let same = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    let same = (0..=same).rev().find(|&at| a.is_char_boundary(at) && b.is_char_boundary(at)).unwrap_or(0);
    let (at, blank) = (lead(&a[..same]), same_but_for_blanks(a, b));
    (from(a, at, blank), from(b, at, blank))
}

/// Whether anything in a shown line is a mark.
pub(super) fn marked(shown: &str) -> bool {
    ["<tab>", "<space>", "<cr>", "<U+"].iter().any(|mark| shown.contains(mark))
}

/// Whether two lines are the same but for what is not seen: white space, and characters without a shape.
pub(super) fn same_but_for_blanks(a: &str, b: &str) -> bool {
    let seen = |text: &str| -> Vec<char> { text.chars().filter(|&c| !c.is_whitespace() && !shapeless(c)).collect() };
    // Lines too long to be read are not worth the memory.
    a.len().max(b.len()) <= 100 * WIDTH && seen(a) == seen(b)
}

/// Whether two lines are the same but for upper and lower case or look-alikes.
pub(super) fn same_but_for_shape(a: &str, b: &str) -> bool {
    let plain = |text: &str| -> String {
        text.trim()
            .chars()
            .flat_map(char::to_lowercase)
            .map(|c| plain(c).map_or(Cow::Owned(c.to_string()), Cow::Borrowed))
            .collect()
    };
    a.len().max(b.len()) <= 100 * WIDTH && plain(a) == plain(b)
}

/// How much of a text before a place is left out: nothing of what fits.
fn lead(head: &str) -> usize {
    if head.chars().nth(WIDTH / 2).is_none() {
        return 0;
    }
    head.char_indices().rev().nth(BEFORE - 1).map_or(0, |(at, _)| at)
}

/// A line from a byte on. With `blanks` tabs and spaces at its end are marked too.
fn from(line: &str, at: usize, blanks: bool) -> String {
    let at = (0..=at.min(line.len())).rev().find(|&at| line.is_char_boundary(at)).unwrap_or(0);
    let mut out = if at > 0 { "…".to_owned() } else { String::new() };
    let (rest, bare) = (&line[at..], line.trim_end().len());
    for (count, (offset, c)) in rest.char_indices().enumerate() {
        if count == WIDTH {
            out.push('…');
            break;
        }
        match c {
            '\t' if blanks => out.push_str("<tab>"),
            ' ' if blanks && at + offset >= bare => out.push_str("<space>"),
            '\r' => out.push_str("<cr>"),
            '\t' | ' ' => out.push(c),
            c if shapeless(c) || c.is_whitespace() => drop(write!(out, "<U+{:04X}>", u32::from(c))),
            c => out.push(c),
        }
    }
    out
}

/// Whether nothing is drawn for a character, or it changes how others are drawn.
fn shapeless(c: char) -> bool {
    c.is_control() && c != '\t'
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_seen_is_made_visible() {
        fn check(a: &str, b: &str, expected: (&str, &str)) {
            let (a_shown, b_shown) = shown_apart(a, b);
            assert_eq!((a_shown.as_str(), b_shown.as_str()), expected, "{a:?} {b:?}");
        }
        check("\tx = 1", "    x = 1  ", ("<tab>x = 1", "    x = 1<space><space>"));
        check("x = 1", "x =\u{a0}1", ("x = 1", "x =<U+00A0>1"));
        check("ab", "a\u{200b}b\r", ("ab", "a<U+200B>b<cr>"));
        check("\tx = 1  ", "\tx = 2", ("\tx = 1  ", "\tx = 2"));
        check("a\0", "é", ("a<U+0000>", "é"));
    }

    #[test]
    fn a_long_line_is_shown_where_it_differs() {
        let long = "x".repeat(1_000);
        let (a, b) = shown_apart(&format!("{long}one{long}"), &format!("{long}two{long}"));
        assert!(a.starts_with("…xxx") && a.contains("one") && a.ends_with('…'), "{a}");
        assert!(b.contains("two"), "{b}");
        assert_eq!((a.chars().count(), b.chars().count()), (WIDTH + 2, WIDTH + 2));
        let here = shown_at(&format!("{long}here{long}"), 1_000);
        assert!(here.contains("here"), "{here}");
        // What fits is not cut at its beginning.
        assert_eq!(shown_apart("let a = 1;", "let a = 2;"), ("let a = 1;".to_owned(), "let a = 2;".to_owned()));
        assert_eq!(shown(&"é".repeat(161)), format!("{}…", "é".repeat(160)));
    }

    #[test]
    fn a_line_of_any_length_is_shown_briefly() {
        for line in ["\u{200b}".repeat(100_000), " ".repeat(100_000), "😀".repeat(100_000)] {
            let (a, b) = shown_apart(&line, &format!("{line}x"));
            assert!(a.len() < 9 * WIDTH && b.len() < 9 * WIDTH, "{} {}", a.len(), b.len());
        }
    }
}
