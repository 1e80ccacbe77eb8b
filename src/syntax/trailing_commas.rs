//! JSON as editors and compilers read it allows a comma before a closing bracket; the grammar does not.

use std::borrow::Cow;

/// The text with a space for each trailing comma, so that every byte keeps its place. Comments and strings are left
/// alone.
pub(super) fn blanked(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let mut commas = Vec::new();
    let mut comma = None;
    // What stands before, comments and white space aside.
    let mut last = b'[';
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => {
                (comma, last) = (None, byte);
                at = string_end(bytes, at);
                continue;
            }
            b'/' if bytes.get(at + 1) == Some(&b'/') => {
                at = memchr::memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |length| at + length);
                continue;
            }
            b'/' if bytes.get(at + 1) == Some(&b'*') => {
                at = memchr::memmem::find(&bytes[at + 2..], b"*/").map_or(bytes.len(), |length| at + length + 4);
                continue;
            }
            byte if byte.is_ascii_whitespace() => {
                at += 1;
                continue;
            }
            b',' if !matches!(last, b'[' | b'{' | b',') => comma = Some(at),
            b']' | b'}' => commas.extend(comma.take()),
            _ => comma = None,
        }
        last = byte;
        at += 1;
    }
    if commas.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for comma in commas {
        out.push_str(&text[from..comma]);
        out.push(' ');
        from = comma + 1;
    }
    out.push_str(&text[from..]);
    Cow::Owned(out)
}

/// Behind the string that begins at `at`; one that is not closed ends with its line.
fn string_end(bytes: &[u8], at: usize) -> usize {
    let mut at = at + 1;
    loop {
        match bytes.get(at) {
            Some(b'\\') => at += 2,
            Some(b'"') => return at + 1,
            Some(b'\n') | None => return at.min(bytes.len()),
            Some(_) => at += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_trailing_commas_go() {
        for (text, expected) in [
            ("[1, 2,]", "[1, 2 ]"),
            ("{\"a\": [1,\n],\n}", "{\"a\": [1 \n] \n}"),
            ("[1, // , ]\n]", "[1  // , ]\n]"),
            ("[1, /* , ] */ ]", "[1  /* , ] */ ]"),
            ("[\",]\", \"\\\",]\"]", "[\",]\", \"\\\",]\"]"),
            ("[1,,]", "[1,,]"),
            ("[,]", "[,]"),
            ("{ // c\n,}", "{ // c\n,}"),
            ("[1 2]", "[1 2]"),
            ("[\"a,]", "[\"a,]"),
            ("[1, /", "[1, /"),
            ("[1, /*", "[1, /*"),
            ("\"\\", "\"\\"),
            ("[é,]", "[é ]"),
            ("", ""),
        ] {
            assert_eq!(blanked(text), expected);
            assert_eq!(blanked(text).len(), text.len());
        }
    }
}
