//! Texts as these tests see them: characters that are typed or put in only once, places, and what notifications make of a
//! text. Nothing here is taken from what is tested.

use std::collections::BTreeSet;

use ropewalk::text::{Position, Range};
use serde_json::Value;

/// What a person types: each number has a character of its own; every third takes two units of UTF-16.
pub fn key(number: u32) -> char {
    let base = if number.is_multiple_of(3) { 0x2_0000 } else { 0x4e00 };
    char::from_u32(base + number).expect("a character")
}

/// Whether a character is one that a person typed.
pub fn is_key(letter: char) -> bool {
    matches!(letter, '\u{4e00}'..='\u{9fff}' | '\u{20000}'..='\u{2a6df}')
}

/// What an agent puts in: each number has a character of its own.
pub fn mark(number: u32) -> char {
    char::from_u32(0xac00 + number).expect("a character")
}

/// Whether a character is one that an agent put in.
pub fn is_mark(letter: char) -> bool {
    matches!(letter, '\u{ac00}'..='\u{d7a3}')
}

/// The typed characters of a text.
pub fn keys(text: &str) -> BTreeSet<char> {
    text.chars().filter(|letter| is_key(*letter)).collect()
}

/// The typed and the agents' characters of a text.
pub fn signs(text: &str) -> BTreeSet<char> {
    text.chars().filter(|letter| is_key(*letter) || is_mark(*letter)).collect()
}

/// The word that the played language server calls an error.
pub const ERROR: &str = "BAD";

/// Whether that language server knows an error in a text.
pub fn has_error(text: &str) -> bool {
    text.contains(ERROR)
}

/// A place in a text by any number: bytes, at a character and not inside of a line end.
pub fn place(text: &str, pick: u32) -> usize {
    let mut places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    places.push(text.len());
    places.retain(|at| !(text[..*at].ends_with('\r') && text[*at..].starts_with('\n')));
    places[pick as usize % places.len()]
}

/// Where a byte of a text is, in the units of UTF-8 or UTF-16.
pub fn position(text: &str, byte: usize, utf8: bool) -> Position {
    let before = &text[..byte];
    let line = before.rfind('\n').map_or(before, |at| &before[at + 1..]);
    let units = if utf8 { line.len() } else { line.encode_utf16().count() };
    let lines = before.matches('\n').count();
    Position::new(u32::try_from(lines).expect("few lines"), u32::try_from(units).expect("short lines"))
}

/// The range of some bytes of a text.
pub fn range(text: &str, bytes: std::ops::Range<usize>, utf8: bool) -> Range {
    Range { start: position(text, bytes.start, utf8), end: position(text, bytes.end, utf8) }
}

fn byte(text: &str, position: &Value, utf8: bool) -> Result<usize, String> {
    let number = |name: &str| usize::try_from(position[name].as_u64().unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
    let (line, units) = (number("line"), number("character"));
    let mut start = 0;
    for _ in 0..line {
        start += text[start..].find('\n').ok_or_else(|| format!("there is no line {line}"))? + 1;
    }
    let rest = text[start..].split('\n').next().unwrap_or_default();
    let mut count = 0;
    for (at, letter) in rest.char_indices().chain(std::iter::once((rest.len(), ' '))) {
        if count == units {
            return Ok(start + at);
        }
        count += if utf8 { letter.len_utf8() } else { letter.len_utf16() };
    }
    Err(format!("there is no place {line}:{units}"))
}

/// Makes the content changes of a notification. The error says which place is none.
pub fn change(text: &mut String, changes: &Value, utf8: bool) -> Result<(), String> {
    for change in changes.as_array().into_iter().flatten() {
        let new = change["text"].as_str().ok_or("a change without a text")?;
        if change["range"].is_null() {
            new.clone_into(text);
            continue;
        }
        let start = byte(text, &change["range"]["start"], utf8)?;
        let end = byte(text, &change["range"]["end"], utf8)?;
        text.replace_range(start..end, new);
    }
    Ok(())
}

/// The lines of a text with their ends, as a model sees them: ended by LF.
pub fn lines(text: &str) -> Vec<String> {
    text.replace("\r\n", "\n").split_inclusive('\n').map(str::to_owned).collect()
}

/// The blanks at the ends of lines, from the last to the first.
pub fn blanks(text: &str) -> Vec<std::ops::Range<usize>> {
    let mut found = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let body = line.trim_end_matches(['\r', '\n']);
        let kept = body.trim_end_matches(' ').len();
        if kept < body.len() {
            found.push(start + kept..start + body.len());
        }
        start += line.len();
    }
    found.reverse();
    found
}

#[test]
fn places_are_those_of_the_protocol() {
    let text = "a\r\n\u{20003}b\n";
    for pick in 0..20 {
        let at = place(text, pick);
        assert!(at != 2, "inside of a line end");
        for utf8 in [true, false] {
            let json = serde_json::to_value(position(text, at, utf8)).unwrap();
            assert_eq!(byte(text, &json, utf8), Ok(at));
        }
    }
    assert_eq!(position(text, 7, false), Position::new(1, 2));
    let mut text = text.to_owned();
    let middle = serde_json::json!([{ "range": { "start": { "line": 1, "character": 1 }, "end": { "line": 1, "character": 2 } }, "text": "" }]);
    assert!(change(&mut text, &middle, false).is_err(), "half of a pair");
}
