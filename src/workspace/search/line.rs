//! Lines as they are found, cut to a bearable length round the place that matched. Pure.

use crate::workspace::codec;

/// A line is shown up to so many characters.
pub(super) const LINE_CHARS: usize = 400;

/// Of these, so many stand before what matched, where the line is cut.
const LEAD_CHARS: usize = 80;

/// What a line is shown for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It matches.
    Match,
    /// It stands near one that does.
    Context,
}

/// A line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// 1 is the first line of the file.
    pub number: u64,
    /// What it is shown for.
    pub kind: Kind,
    /// Where the first match in it begins, in characters, 1 being the first; `None` for context lines, and for whole lines
    /// until [`Found::locate`](super::Found::locate) has looked.
    pub column: Option<usize>,
    /// The text, without its line end; cut where it is too long.
    pub text: String,
    /// Whether something is missing before the text.
    pub cut_before: bool,
    /// Whether something is missing after the text.
    pub cut_after: bool,
}

impl Line {
    /// Whether a line is so short that it is shown whole, wherever it matches. In bytes.
    pub(super) fn short(bytes: &[u8]) -> bool {
        bytes.len() <= LINE_CHARS
    }

    /// `at`: where the first match begins, in bytes; `None` where that is not known, or there is none.
    pub(super) fn new(number: u64, kind: Kind, bytes: &[u8], at: Option<usize>) -> Line {
        let mut line = Line::cut(number, kind, bytes, at.unwrap_or_default());
        if at.is_none() {
            line.column = None;
        }
        line
    }

    fn cut(number: u64, kind: Kind, bytes: &[u8], at: usize) -> Line {
        let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        let at = at.min(bytes.len());
        if let Ok(text) = std::str::from_utf8(bytes) {
            let at = (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
            return excerpt(number, kind, text, at);
        }
        // As `read` shows such a file. A character takes up to four bytes, and none is cut here.
        let goes_on = |at: &usize| bytes[*at] & 0xc0 == 0x80;
        let begin = at.saturating_sub(4 * LINE_CHARS);
        let from = begin + (begin..at.min(begin + 3)).take_while(|at| begin > 0 && goes_on(at)).count();
        let piece = &bytes[from..bytes.len().min(at + 4 * (LINE_CHARS + 1))];
        let decoded = codec::patched(piece);
        let start = codec::patched(&bytes[from..at]).len().min(decoded.len());
        let start = (0..=start).rev().find(|at| decoded.is_char_boundary(*at)).unwrap_or_default();
        let mut line = excerpt(number, kind, &decoded, start);
        line.column = Some(codec::patched(&bytes[..at]).chars().count() + 1);
        line.cut_before |= from > 0;
        line.cut_after |= from + piece.len() < bytes.len();
        line
    }
}

fn excerpt(number: u64, kind: Kind, text: &str, at: usize) -> Line {
    let column = text[..at].chars().count() + 1;
    let whole = Line { number, kind, column: Some(column), text: text.to_owned(), cut_before: false, cut_after: false };
    if text.len() <= LINE_CHARS || text.chars().nth(LINE_CHARS).is_none() {
        return whole;
    }
    let end_of =
        |start: usize| text[start..].char_indices().nth(LINE_CHARS).map_or(text.len(), |(byte, _)| start + byte);
    // From the beginning, if the match is well in sight then.
    let mut start = 0;
    if column > LINE_CHARS / 2 {
        start = text[..at].char_indices().rev().nth(LEAD_CHARS - 1).map_or(0, |(byte, _)| byte);
        if text[start..].chars().nth(LINE_CHARS - 1).is_none() {
            start = text.char_indices().rev().nth(LINE_CHARS - 1).map_or(0, |(byte, _)| byte);
        }
    }
    let end = end_of(start);
    Line { text: text[start..end].to_owned(), cut_before: start > 0, cut_after: end < text.len(), ..whole }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn line(bytes: &[u8], at: usize) -> Line {
        Line::new(1, Kind::Match, bytes, Some(at))
    }

    #[test]
    fn lines_are_cut_round_the_match() {
        let short = line("  é needle\r\n".as_bytes(), 5);
        assert_eq!((short.text.as_str(), short.column), ("  é needle", Some(5)));
        assert_eq!((short.cut_before, short.cut_after), (false, false));
        let long = format!("{}needle{}", "ä".repeat(5000), "b".repeat(5000));
        let cut = line(long.as_bytes(), 10_000);
        assert_eq!((cut.column, cut.cut_before, cut.cut_after), (Some(5001), true, true));
        assert!(cut.text.starts_with(&format!("{}needle", "ä".repeat(80))), "{}", cut.text);
        assert_eq!(cut.text.chars().count(), LINE_CHARS);
        let end = line(format!("{}needle", "a".repeat(5000)).as_bytes(), 5000);
        assert!(end.text.ends_with("needle") && !end.cut_after && end.text.len() == LINE_CHARS, "{}", end.text);
        let start = line(format!("needle{}", "a".repeat(5000)).as_bytes(), 0);
        assert!(start.text.starts_with("needle") && !start.cut_before && start.cut_after);
        let legacy = line(b"caf\xe9 needle", 5);
        assert_eq!((legacy.text.as_str(), legacy.column), ("café needle", Some(6)));
    }

    proptest! {
        #[test]
        fn a_cut_line_is_part_of_the_line_and_shows_the_match(text in "[aé😀]{0,900}", at in 0usize..3000) {
            let at = (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap();
            let line = line(text.as_bytes(), at);
            prop_assert!(text.contains(&line.text));
            prop_assert_eq!(line.column, Some(text[..at].chars().count() + 1));
            prop_assert!(line.text.chars().count() <= LINE_CHARS);
            prop_assert_eq!(line.cut_before || line.cut_after, line.text != text);
            if let Some(c) = text[at..].chars().next() {
                prop_assert!(line.text.contains(c));
            }
        }
    }
}
