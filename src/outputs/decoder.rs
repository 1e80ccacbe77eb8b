//! Text out of bytes that come in pieces: a character whose end has not come yet waits for it. Pure.

/// Decodes one stream. What comes out, all in all, is what decoding all of its bytes at once would give.
#[derive(Debug, Default)]
pub struct Decoder {
    /// The beginning of a character: at most three bytes.
    begun: Vec<u8>,
}

impl Decoder {
    /// The text that some more bytes complete. Bytes that are no UTF-8 become U+FFFD.
    pub fn push(&mut self, bytes: &[u8]) -> String {
        let joined;
        let mut rest = bytes;
        if !self.begun.is_empty() {
            self.begun.extend_from_slice(bytes);
            joined = std::mem::take(&mut self.begun);
            rest = &joined;
        }
        let mut out = String::with_capacity(rest.len());
        loop {
            let fault = match std::str::from_utf8(rest) {
                Ok(text) => {
                    out.push_str(text);
                    return out;
                }
                Err(fault) => fault,
            };
            let (good, bad) = rest.split_at(fault.valid_up_to());
            out.push_str(&String::from_utf8_lossy(good));
            let Some(len) = fault.error_len() else {
                self.begun = bad.to_vec();
                return out;
            };
            out.push(char::REPLACEMENT_CHARACTER);
            rest = &bad[len..];
        }
    }

    /// The end of the stream: what was begun and never ended is U+FFFD.
    pub fn finish(&mut self) -> &'static str {
        if std::mem::take(&mut self.begun).is_empty() { "" } else { "\u{fffd}" }
    }
}

/// How many bytes at the end are the beginning of a character that may still be completed.
pub fn unfinished(bytes: &[u8]) -> usize {
    let tail = bytes.iter().rev().take(3).position(|byte| byte & 0xc0 != 0x80).map_or(0, |at| at + 1);
    let Some(lead) = bytes.len().checked_sub(tail).and_then(|at| bytes.get(at)) else { return 0 };
    let length = match lead {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => 1,
    };
    if tail < length { tail } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_character_waits_for_its_end() {
        let mut decoder = Decoder::default();
        let pieces: Vec<String> =
            [&b"a\xe2"[..], b"\x82", b"\xac\xff", b"\xc3", b"x"].iter().map(|piece| decoder.push(piece)).collect();
        assert_eq!(pieces, ["a", "", "€\u{fffd}", "", "\u{fffd}x"]);
        assert_eq!((decoder.push(b"\xf0\x9f"), decoder.finish(), decoder.finish()), (String::new(), "\u{fffd}", ""));
    }

    proptest! {
        #[test]
        fn in_pieces_it_is_what_it_is_at_once(
            parts in prop::collection::vec(prop_oneof![
                "[aé€😀]{1,4}".prop_map(String::into_bytes), prop::collection::vec(any::<u8>(), 1..4),
            ], 0..12),
            cuts in prop::collection::vec(1usize..4, 0..40),
        ) {
            let bytes = parts.concat();
            let (mut decoder, mut out, mut rest) = (Decoder::default(), String::new(), &bytes[..]);
            for cut in cuts.into_iter().chain([usize::MAX]) {
                let (piece, after) = rest.split_at(cut.min(rest.len()));
                out += &decoder.push(piece);
                rest = after;
            }
            out += decoder.finish();
            prop_assert_eq!(out, String::from_utf8_lossy(&bytes));
        }
    }
}
