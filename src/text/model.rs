//! Positions over a plain string, written a second time and as simply as possible: what the rope is tested against.

use proptest::prelude::*;

use super::{Clamp, Encoding, LineBreaks, Position, Range};

pub(crate) const ENCODINGS: [Encoding; 3] = [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32];
pub(crate) const BREAKS: [LineBreaks; 2] = [LineBreaks::Lf, LineBreaks::Lsp];

/// Each line of a text: where it starts and where its line end starts, in bytes.
pub(crate) fn lines(text: &str, breaks: LineBreaks) -> Vec<(usize, usize)> {
    let mut lines = Vec::new();
    let mut start = 0;
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let end = if rest.starts_with("\r\n") {
            2
        } else if rest.starts_with('\n') || (breaks == LineBreaks::Lsp && rest.starts_with('\r')) {
            1
        } else {
            at += rest.chars().next().unwrap().len_utf8();
            continue;
        };
        lines.push((start, at));
        at += end;
        start = at;
    }
    lines.push((start, text.len()));
    lines
}

fn units(c: char, encoding: Encoding) -> u32 {
    let units = match encoding {
        Encoding::Utf8 => c.len_utf8(),
        Encoding::Utf16 => c.len_utf16(),
        Encoding::Utf32 => 1,
    };
    u32::try_from(units).unwrap()
}

/// The byte a position means, and whether it fits.
pub(crate) fn byte_of(text: &str, breaks: LineBreaks, encoding: Encoding, position: Position) -> (usize, Clamp) {
    let lines = lines(text, breaks);
    let Some(&(start, end)) = lines.get(position.line as usize) else { return (text.len(), Clamp::PastEnd) };
    let mut left = position.character;
    for (at, c) in text[start..end].char_indices() {
        if left == 0 {
            return (start + at, Clamp::Exact);
        }
        if left < units(c, encoding) {
            return (start + at, Clamp::MidCharacter);
        }
        left -= units(c, encoding);
    }
    match left {
        0 => (end, Clamp::Exact),
        1 if breaks == LineBreaks::Lf && text[end..].starts_with("\r\n") => (end + 1, Clamp::Exact),
        _ => (end, Clamp::PastEnd),
    }
}

/// The position of a byte; inside a CRLF that of its start.
pub(crate) fn position_of(text: &str, breaks: LineBreaks, encoding: Encoding, byte: usize) -> Position {
    let lines = lines(text, breaks);
    let line = lines.iter().rposition(|&(start, _)| start <= byte).unwrap();
    let (start, end) = lines[line];
    let character = text[start..byte.min(end)].chars().map(|c| units(c, encoding)).sum();
    Position { line: u32::try_from(line).unwrap(), character }
}

/// What a change of a range makes of a text, and whether the range fits.
pub(crate) fn change(text: &str, breaks: LineBreaks, encoding: Encoding, range: Range, new: &str) -> (String, Clamp) {
    let (start, first) = byte_of(text, breaks, encoding, range.start);
    let (end, second) = byte_of(text, breaks, encoding, range.end);
    let reversed = (range.end.line, range.end.character) < (range.start.line, range.start.character);
    let clamp = if reversed { Clamp::MidCharacter } else { first.max(second) };
    let (low, high) = if start <= end { (start, end) } else { (end, start) };
    (format!("{}{new}{}", &text[..low], &text[high..]), clamp)
}

/// Texts of everything that a line or a character may be mistaken for: CRLF, lone CR, LF, VT, FF, NEL, LS, PS, NUL,
/// emoji (two UTF-16 units, joined ones too), a combining mark, a byte order mark, with and without a final newline.
pub(crate) fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        6 => prop::sample::select(vec!["\r\n", "\n", "\r", "a", "bc", " ", "\t"]),
        4 => prop::sample::select(vec!["é", "e\u{301}", "😀", "👩\u{200d}🚀", "漢", "\u{10ffff}"]),
        2 => prop::sample::select(vec!["\u{b}", "\u{c}", "\u{85}", "\u{2028}", "\u{2029}", "\0", "\u{feff}", "\u{7f}"]),
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

/// A text long enough that the rope has several leaves, with the odd pieces between long stretches.
pub(crate) fn long_text() -> impl Strategy<Value = String> {
    let stretch = prop_oneof![Just("x".repeat(700)), Just("é😀\r\n".repeat(150)), Just("\r".repeat(300))];
    prop::collection::vec((stretch, text()), 1..5)
        .prop_map(|parts| parts.into_iter().map(|(stretch, text)| stretch + &text).collect())
}

/// A position near a text: most fit, some lie past the end or inside a character.
pub(crate) fn position() -> impl Strategy<Value = Position> {
    (0u32..12, prop_oneof![9 => 0u32..10, 1 => Just(u32::MAX)])
        .prop_map(|(line, character)| Position { line, character })
}

/// A range of two such positions, in either order, often empty.
pub(crate) fn range() -> impl Strategy<Value = Range> {
    prop_oneof![
        1 => position().prop_map(|at| Range { start: at, end: at }),
        4 => (position(), position()).prop_map(|(a, b)| Range { start: a.min(b), end: a.max(b) }),
        1 => (position(), position()).prop_map(|(a, b)| Range { start: a.max(b), end: a.min(b) }),
    ]
}
