//! `$'...'`: what its escapes stand for.

/// The text between the quotes, decoded. A NUL ends it, as it does in the shell; bytes that are no text become U+FFFD.
pub(super) fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.chars().peekable();
    let take = |rest: &mut std::iter::Peekable<std::str::Chars<'_>>, radix: u32, most: usize| {
        let mut value = None;
        for _ in 0..most {
            let Some(digit) = rest.peek().and_then(|c| c.to_digit(radix)) else { break };
            rest.next();
            value = Some(value.unwrap_or(0_u32) * radix + digit);
        }
        value
    };
    while let Some(c) = rest.next() {
        let mut plain = |c: char| bytes.extend(c.encode_utf8(&mut [0; 4]).as_bytes());
        if c != '\\' {
            plain(c);
            continue;
        }
        let Some(kind) = rest.peek().copied() else {
            plain('\\');
            break;
        };
        let simple = match kind {
            'a' => Some('\x07'),
            'b' => Some('\x08'),
            'e' | 'E' => Some('\x1b'),
            'f' => Some('\x0c'),
            'n' => Some('\n'),
            'r' => Some('\r'),
            't' => Some('\t'),
            'v' => Some('\x0b'),
            '\\' | '\'' | '"' | '?' => Some(kind),
            _ => None,
        };
        if let Some(c) = simple {
            rest.next();
            plain(c);
            continue;
        }
        if kind.is_digit(8) {
            let value = take(&mut rest, 8, 3).unwrap_or(0) & 0xff;
            bytes.push(u8::try_from(value).unwrap_or(b'?'));
            continue;
        }
        rest.next();
        match kind {
            'x' => match take(&mut rest, 16, 2) {
                Some(value) => bytes.push(u8::try_from(value).unwrap_or(b'?')),
                None => bytes.extend(b"\\x"),
            },
            'u' | 'U' => match take(&mut rest, 16, if kind == 'u' { 4 } else { 8 }) {
                Some(value) => plain(char::from_u32(value).unwrap_or('\u{fffd}')),
                None => bytes.extend([b'\\', kind as u8]),
            },
            'c' => {
                let control = rest.next().and_then(|c| u8::try_from(c).ok()).map_or(b'?', |c| c & 0x1f);
                bytes.push(control);
            }
            c => {
                plain('\\');
                plain(c);
            }
        }
    }
    if let Some(end) = bytes.iter().position(|b| *b == 0) {
        bytes.truncate(end);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes() {
        #[track_caller]
        fn check(text: &str, expected: &str) {
            assert_eq!(decoded(text), expected, "{text}");
        }
        check("rm", "rm");
        check(r"\x72m", "rm");
        check(r"\162\155", "rm");
        check(r"\u0072\U0000006d", "rm");
        check(r"a\nb\tc\\d\'e", "a\nb\tc\\d'e");
        check(r"rm\0hidden", "rm");
        check(r"\q\xzz\", r"\q\xzz\");
        check(r"\xc3\xa9", "é");
        check(r"\xff", "\u{fffd}");
        check(r"\cA\e", "\x01\x1b");
        check(r"\uffffffff", "\u{ffff}ffff");
        check(r"\UFFFFFFFF", "\u{fffd}");
    }
}
