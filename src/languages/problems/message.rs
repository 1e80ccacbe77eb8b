//! What a diagnostic says, made fit to be shown: bounded, without control characters, its white space readable.

/// At most so many characters of a message are kept: room for any diagnostic a person would read to its end.
pub const MESSAGE_LIMIT: usize = 1000;

/// At most so many characters of a source or a code are kept.
pub const NAME_LIMIT: usize = 100;

/// Of a message that is too long, so many characters of its end are kept: in the long "is not assignable because ..."
/// messages of type checkers the end is what names the cause.
const TAIL: usize = 300;

/// What stands for the part that was left out.
const CUT: &str = " […] ";

/// A text of at most `limit` characters, its lines ended by LF, without other control characters.
///
/// Escape sequences of terminals vanish whole. Every kind of line end becomes LF, a tab or an odd space a space; other
/// control characters, and the invisible ones that turn the reading direction or hide text, are dropped. Blank lines at
/// the ends and white space at the ends of lines go. A longer text loses its middle, and says so.
pub fn clean(text: &str, limit: usize) -> String {
    let mut out = String::with_capacity(text.len().min(limit.saturating_mul(4)));
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '\u{1b}' => skip_escape(&mut chars),
            '\r' => {
                if chars.peek() != Some(&'\n') {
                    end_line(&mut out);
                }
            }
            '\n' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => end_line(&mut out),
            '\t' => out.push_str("  "),
            char if char.is_control() || invisible(char) => {}
            char if char.is_whitespace() => out.push(' '),
            char => out.push(char),
        }
    }
    out.truncate(out.trim_end().len());
    shorten(&out, limit)
}

/// Like [`clean`], on one line, runs of white space as one space; `None` if nothing is left.
pub(super) fn clean_name(text: &str) -> Option<String> {
    let cleaned = clean(&collapse(&clean(text, usize::MAX)), NAME_LIMIT);
    (!cleaned.is_empty()).then_some(cleaned)
}

/// Every run of white space as one space, none at the ends.
pub(super) fn collapse(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Ends the line in `out`, unless it would be a blank one at the beginning or a second blank one in a row.
fn end_line(out: &mut String) {
    out.truncate(out.trim_end_matches(' ').len());
    if !out.is_empty() && !out.ends_with("\n\n") {
        out.push('\n');
    }
}

/// Skips what follows an ESC: a control sequence up to its final letter, a string up to its terminator, or one
/// character.
fn skip_escape(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match chars.peek() {
        Some('[') => {
            chars.next();
            while let Some(' '..='?') = chars.peek() {
                chars.next();
            }
            if let Some('@'..='~') = chars.peek() {
                chars.next();
            }
        }
        Some(']') => {
            // A terminal's title or link. Without a terminator on its line it is taken for text.
            let mut rest = chars.clone();
            rest.next();
            while let Some(char) = rest.next() {
                match char {
                    '\u{7}' => {
                        *chars = rest;
                        return;
                    }
                    '\u{1b}' if rest.peek() == Some(&'\\') => {
                        rest.next();
                        *chars = rest;
                        return;
                    }
                    '\n' => return,
                    _ => {}
                }
            }
        }
        Some('@'..='Z' | '\\' | '^' | '_' | '`'..='~') => {
            chars.next();
        }
        _ => {}
    }
}

/// Characters that nobody sees and that change what is read: direction marks, zero-width ones, tags, the BOM.
fn invisible(char: char) -> bool {
    matches!(
        char,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'
    )
}

/// The beginning and the end of a text that has more than `limit` characters.
fn shorten(text: &str, limit: usize) -> String {
    if text.len() <= limit || text.chars().count() <= limit {
        return text.to_owned();
    }
    let mark = CUT.chars().count();
    let tail = TAIL.min(limit / 3);
    let Some(head) = limit.checked_sub(tail + mark) else {
        return text.chars().take(limit).collect();
    };
    let head_end = text.char_indices().nth(head).map_or(text.len(), |(at, _)| at);
    let tail_start =
        if tail == 0 { text.len() } else { text.char_indices().rev().nth(tail - 1).map_or(0, |(at, _)| at) };
    format!("{}{CUT}{}", text[..head_end].trim_end(), text[tail_start..].trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, cleaned: &str) {
        assert_eq!(clean(text, MESSAGE_LIMIT), cleaned);
    }

    #[test]
    fn white_space_stays_readable() {
        check("a\r\nb\rc\u{2028}d\u{b}e", "a\nb\nc\nd\ne");
        check("\n\n  a \t \n\n\n\n b\u{a0}c\n\n", "  a\n\n b c");
        check("a\tb", "a  b");
        check("", "");
        check(" \n\t\r\n", "");
    }

    #[test]
    fn control_characters_and_escape_sequences_go() {
        check("a\0b\u{7}c\u{7f}\u{9b}d", "abcd");
        check("\u{1b}[1;31merror\u{1b}[0m: x", "error: x");
        check("\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{7} y", "link y");
        check("\u{1b}]never ended", "]never ended");
        check("a\u{202e}b\u{200b}c\u{feff}d\u{e0041}e", "abcde");
        // Joiners are part of emoji and of some scripts.
        check("👩\u{200d}💻", "👩\u{200d}💻");
    }

    #[test]
    fn a_long_text_keeps_its_beginning_and_its_end() {
        let long = format!("begin {} end", "é".repeat(5000));
        let short = clean(&long, 30);
        assert_eq!(short, "begin ééééééééé […] éééééé end");
        assert_eq!(short.chars().count(), 30);
        assert_eq!(clean(&long, 4), "begi", "too little room for the mark");
        assert_eq!(clean(&"é".repeat(30), 30), "é".repeat(30));
    }

    #[test]
    fn a_name_is_one_line() {
        assert_eq!(clean_name(" a\n  b\t"), Some("a b".to_owned()));
        assert_eq!(clean_name("\u{1b}[0m "), None);
        assert_eq!(clean_name(&"x".repeat(5000)).map(|name| name.chars().count()), Some(NAME_LIMIT));
    }
}
