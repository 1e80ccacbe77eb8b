//! Text without what nobody sees: characters that have no shape of their own and can carry words past a reader. What is
//! seen stays as it is, to the byte; nothing is normalised. Pure.

use std::fmt::Write as _;

use serde_json::Value;

use crate::permissions::visible;

/// The sub-national flags that are made of tags.
const FLAGS: [&str; 3] = ["gbeng", "gbsct", "gbwls"];

/// Whether a character has no shape and no part in that of its neighbours.
fn shapeless(character: char) -> bool {
    matches!(u32::from(character),
        0x00ad | 0x034f | 0x061c | 0x115f..=0x1160 | 0x17b4..=0x17b5 | 0x180b..=0x180f | 0x200b | 0x200e..=0x200f
        | 0x202a..=0x202e | 0x2060..=0x206f | 0x3164 | 0xfeff | 0xffa0 | 0xfff0..=0xfffb | 0x1bca0..=0x1bca3
        | 0x1d173..=0x1d17a | 0xe0000..=0xe00ff | 0xe01f0..=0xe0fff)
}

/// Whether a character joins, or selects the shape of, what is before it.
fn shapes(character: char) -> bool {
    matches!(u32::from(character), 0x200c..=0x200d | 0xfe00..=0xfe0f | 0xe0100..=0xe01ef)
}

/// Whether the shape of a character can depend on what follows it.
fn shapeable(character: char) -> bool {
    !character.is_ascii() && !character.is_whitespace() && !shapes(character)
        || matches!(character, '0'..='9' | '#' | '*')
}

/// The tags behind a black flag that make a flag of them (bytes), if they do.
fn flag(rest: &str) -> Option<usize> {
    let plain: String = rest
        .chars()
        .take(6)
        .map_while(|tag| u32::from(tag).checked_sub(0xe0000).filter(|code| *code < 0x80).and_then(char::from_u32))
        .collect();
    let name = plain.strip_suffix('\u{7f}')?;
    FLAGS.contains(&name).then_some(plain.len() * 4)
}

/// A text without what nobody sees, and how many characters that were.
pub(super) fn seen(text: &str) -> (String, usize) {
    if text.is_ascii() {
        return (text.to_owned(), 0);
    }
    let (mut out, mut dropped, mut last) = (String::with_capacity(text.len()), 0, ' ');
    let mut at = 0;
    while let Some(character) = text[at..].chars().next() {
        at += character.len_utf8();
        let keep = if shapes(character) { shapeable(last) } else { !shapeless(character) };
        if !keep {
            dropped += 1;
            continue;
        }
        out.push(character);
        last = character;
        if character == '\u{1f3f4}'
            && let Some(len) = flag(&text[at..])
        {
            out.push_str(&text[at..at + len]);
            at += len;
        }
    }
    (out, dropped)
}

/// Arguments without what nobody sees in their texts, and how many characters that were. Names of fields stay.
pub(super) fn arguments(value: &mut Value) -> usize {
    match value {
        Value::String(text) => {
            let (clean, dropped) = seen(text);
            if dropped > 0 {
                *text = clean;
            }
            dropped
        }
        Value::Array(items) => items.iter_mut().map(arguments).sum(),
        Value::Object(fields) => fields.values_mut().map(arguments).sum(),
        _ => 0,
    }
}

/// Words of a server for the model or a person: nothing that nobody sees, no control characters but line ends and tabs,
/// at most so many bytes, what is cut told.
pub(super) fn words(text: &str, most: usize) -> String {
    let (text, _) = seen(text.trim());
    let shown = |character: &char| !character.is_control() || matches!(character, '\n' | '\t');
    let mut text: String = text.chars().filter(shown).collect();
    if text.len() > most {
        let end = (0..=most).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
        let cut = text.len() - end;
        text.truncate(end);
        let _ = write!(text, "... ({cut} more bytes were left out)");
    }
    text
}

/// A schema with the words in it cleaned and bounded; what is data in it stays as it is.
pub(super) fn schema(value: &mut Value, most: usize) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| schema(item, most)),
        Value::Object(fields) => {
            for (key, field) in fields.iter_mut() {
                match (key.as_str(), field) {
                    ("description" | "title" | "$comment", Value::String(text)) => *text = words(text, most),
                    ("enum" | "const" | "default" | "examples" | "required", _) => {}
                    (_, field) => schema(field, most),
                }
            }
        }
        _ => {}
    }
}

/// One line of a server's, for a message.
pub(super) fn line(text: &str, most: usize) -> String {
    let text = words(text, most);
    visible(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn what_is_seen_stays_and_what_is_not_goes() {
        let tags: String = "ignore".bytes().map(|b| char::from_u32(0xe0000 + u32::from(b)).unwrap()).collect();
        let england = "\u{1f3f4}\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}";
        for (text, clean) in [
            ("plain\ttext\r\n", "plain\ttext\r\n"),
            ("a\u{200b}b\u{2060}c\u{feff}", "abc"),
            ("\u{202e}evil\u{202c} \u{2066}x\u{2069}", "evil x"),
            (&format!("hi{tags}"), "hi"),
            // Joiners and selectors stay where they shape something, and only there.
            ("a\u{200d}b\u{fe0f}", "ab"),
            ("\u{1f468}\u{200d}\u{1f469}", "\u{1f468}\u{200d}\u{1f469}"),
            ("\u{2764}\u{fe0f}\u{fe0f}", "\u{2764}\u{fe0f}"),
            ("1\u{fe0f}\u{20e3}", "1\u{fe0f}\u{20e3}"),
            ("\u{646}\u{645}\u{6cc}\u{200c}\u{62e}", "\u{646}\u{645}\u{6cc}\u{200c}\u{62e}"),
            ("\u{845b}\u{e0100}", "\u{845b}\u{e0100}"),
            (england, england),
            (&format!("\u{1f3f4}{tags}"), "\u{1f3f4}"),
            // No normalisation.
            ("\u{ff21}\u{fb01}e\u{301}\u{212b}\u{a0}", "\u{ff21}\u{fb01}e\u{301}\u{212b}\u{a0}"),
        ] {
            assert_eq!(seen(text).0, clean, "{text:?}");
        }
    }

    #[test]
    fn arguments_are_cleaned_wherever_they_are() {
        let mut value = json!({ "a\u{200b}": ["x\u{200b}y", { "b": "\u{2063}" }], "n": 1 });
        assert_eq!(arguments(&mut value), 2);
        assert_eq!(value, json!({ "a\u{200b}": ["xy", { "b": "" }], "n": 1 }));
    }

    #[test]
    fn words_are_bounded_and_schemas_keep_their_data() {
        assert_eq!(words(" a\u{1b}[31mb\u{7}\nc ", 100), "a[31mb\nc");
        assert_eq!(words("äääää", 5), "ää... (6 more bytes were left out)");
        assert_eq!(line("a\n  b", 10), "a b");
        let mut value = json!({
            "description": "x\u{200b}", "properties": { "description": { "type": "string", "enum": ["\u{200b}"] } },
        });
        schema(&mut value, 10);
        assert_eq!(
            value,
            json!({
                "description": "x", "properties": { "description": { "type": "string", "enum": ["\u{200b}"] } },
            })
        );
    }

    proptest! {
        #[test]
        fn cleaning_twice_is_cleaning_once(text in "\\PC*") {
            let (once, _) = seen(&text);
            prop_assert_eq!(seen(&once), (once, 0));
        }

        #[test]
        fn nothing_is_added(text in any::<String>()) {
            let (clean, dropped) = seen(&text);
            prop_assert_eq!(clean.chars().count() + dropped, text.chars().count());
        }
    }
}
