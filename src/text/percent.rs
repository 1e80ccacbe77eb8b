//! Percent encoding in URIs, read leniently. Pure.

/// The bytes of a percent-encoded text. A percent sign without two hex digits after it stands for itself, and so does
/// every other character, `?` and `#` too.
pub fn decoded(text: &str) -> Vec<u8> {
    let hex = |digit: u8| char::from(digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        if let (b'%', [high, low, ..]) = (first, after)
            && let (Some(high), Some(low)) = (hex(*high), hex(*low))
        {
            bytes.push(high << 4 | low);
            rest = &after[2..];
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    bytes
}

/// The text up to a query or a fragment that is not encoded.
pub fn without_query(text: &str) -> &str {
    text.split(['?', '#']).next().unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_is_decoded_once() {
        for (text, bytes) in [
            ("a%20b", &b"a b"[..]),
            ("%2Egit", b".git"),
            ("%252Egit", b"%2Egit"),
            ("100%/%zz%4", b"100%/%zz%4"),
            ("%ff%00", b"\xff\0"),
            ("a?b#c", b"a?b#c"),
            ("", b""),
        ] {
            assert_eq!(decoded(text), bytes, "{text}");
        }
        assert_eq!((without_query("/a?b#c"), without_query("/a#c?b"), without_query("/a")), ("/a", "/a", "/a"));
    }
}
