//! The bytes of a file as text and back, exactly: UTF-8, UTF-8 with a byte order mark, UTF-16 by its mark. Pure.

use crate::text::BOM;

/// How the bytes of a file stand for text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Codec {
    /// UTF-8 without a mark.
    Utf8,
    /// UTF-8 after the bytes EF BB BF.
    Utf8Bom,
    /// UTF-16, little end first, after FF FE.
    Utf16Le,
    /// UTF-16, big end first, after FE FF.
    Utf16Be,
    /// Bytes that are none of these, for showing only: never written. What is no UTF-8 in them is shown as Windows-1252.
    Legacy,
}

impl Codec {
    /// Its name, for people and front ends.
    pub fn name(self) -> &'static str {
        match self {
            Codec::Utf8 => "utf-8",
            Codec::Utf8Bom => "utf-8-bom",
            Codec::Utf16Le => "utf-16le",
            Codec::Utf16Be => "utf-16be",
            Codec::Legacy => "unknown",
        }
    }
}

/// Of text at most so many per cent are control characters; of bytes whose encoding is not known, of which few are text.
const MAX_CONTROLS: usize = 30;
const MAX_CONTROLS_UNKNOWN: usize = 5;

/// How many per cent of a decoded file are control characters other than those of text (tab, line ends, form feed and
/// the like), if that is more than text has.
pub fn binary_share(text: &str, codec: Codec) -> Option<usize> {
    let max = if codec == Codec::Legacy { MAX_CONTROLS_UNKNOWN } else { MAX_CONTROLS };
    let odd = |byte: &&u8| matches!(byte, 0..=8 | 14..=31);
    let controls = text.as_bytes().iter().filter(odd).count();
    (controls * 100 > text.len() * max).then(|| controls * 100 / text.len())
}

/// The bytes of a file as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decoded {
    /// The text, without the byte order mark. (A second mark right after the first is text.)
    pub text: String,
    /// How it was decoded, and is to be encoded again.
    pub codec: Codec,
    /// What the reader should know, for the model; only with [`Codec::Legacy`].
    pub note: Option<String>,
}

/// Why bytes are not text, or text cannot be made bytes: half sentences for the model, the file as their subject.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CodecError {
    /// There is a NUL and no UTF-16 mark.
    #[error("is binary: there is a NUL byte at offset {0}")]
    Binary(usize),
    /// Writing would have to guess what the bytes meant.
    #[error(
        "is encoded neither in UTF-8 nor in UTF-16 with a byte order mark, so that it can be read but not written without \
         damage; convert it to UTF-8 first"
    )]
    Legacy,
    /// The text begins with a mark, which a reader would take for the file's own.
    #[error("would begin with a byte order mark (U+FEFF) that the file does not have; leave it out of the new text")]
    StrayMark,
}

const UTF8_MARK: &[u8] = b"\xef\xbb\xbf";
const UTF16LE_MARK: &[u8] = b"\xff\xfe";
const UTF16BE_MARK: &[u8] = b"\xfe\xff";

/// The text that bytes stand for. `encode(&text, codec)` gives the same bytes again, unless the codec is
/// [`Codec::Legacy`].
pub fn decode(bytes: &[u8]) -> Result<Decoded, CodecError> {
    let (codec, text) = if let Some(rest) = bytes.strip_prefix(UTF8_MARK) {
        (Codec::Utf8Bom, utf8(rest)?)
    } else if let Some(rest) = bytes.strip_prefix(UTF16LE_MARK) {
        (Codec::Utf16Le, utf16(rest, u16::from_le_bytes))
    } else if let Some(rest) = bytes.strip_prefix(UTF16BE_MARK) {
        (Codec::Utf16Be, utf16(rest, u16::from_be_bytes))
    } else {
        (Codec::Utf8, utf8(bytes)?)
    };
    Ok(match text {
        Ok(text) => Decoded { text, codec, note: None },
        Err(why) => legacy(bytes, codec, &why),
    })
}

/// The bytes of a text, the mark of the codec included.
pub fn encode(text: &str, codec: Codec) -> Result<Vec<u8>, CodecError> {
    match codec {
        Codec::Utf8 if text.starts_with(BOM) => Err(CodecError::StrayMark),
        Codec::Utf8 => Ok(text.as_bytes().to_vec()),
        Codec::Utf8Bom => Ok([UTF8_MARK, text.as_bytes()].concat()),
        Codec::Utf16Le => {
            Ok(UTF16LE_MARK.iter().copied().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect())
        }
        Codec::Utf16Be => {
            Ok(UTF16BE_MARK.iter().copied().chain(text.encode_utf16().flat_map(u16::to_be_bytes)).collect())
        }
        Codec::Legacy => Err(CodecError::Legacy),
    }
}

/// UTF-8, or why it is not; bytes with a NUL are no text at all.
fn utf8(bytes: &[u8]) -> Result<Result<String, String>, CodecError> {
    if let Some(at) = memchr::memchr(0, bytes) {
        return Err(CodecError::Binary(at));
    }
    Ok(match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.to_owned()),
        Err(error) => Err(format!("its byte {} is not UTF-8", error.valid_up_to())),
    })
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<String, String> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    if !rest.is_empty() {
        return Err("its UTF-16 ends in half a unit".to_owned());
    }
    char::decode_utf16(pairs.iter().copied().map(unit))
        .collect::<Result<String, _>>()
        .map_err(|lone| format!("its UTF-16 has a lone surrogate (U+{:04X})", lone.unpaired_surrogate()))
}

/// The text of bytes of which some are not UTF-8: those as Windows-1252, one character each, and the others as they are.
/// So one broken byte does not spoil the rest of a text.
pub(super) fn patched(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() + bytes.len() / 8);
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.push_str(&encoding_rs::WINDOWS_1252.decode_without_bom_handling(chunk.invalid()).0);
    }
    text
}

/// The best that can be shown of bytes that do not fit: broken UTF-16 with U+FFFD in the gaps, all else as [`patched`]
/// has it.
fn legacy(bytes: &[u8], codec: Codec, why: &str) -> Decoded {
    let (shown, text) = match codec {
        Codec::Utf16Le => {
            ("UTF-16 with U+FFFD for what is broken", encoding_rs::UTF_16LE.decode_with_bom_removal(bytes).0)
        }
        Codec::Utf16Be => {
            ("UTF-16 with U+FFFD for what is broken", encoding_rs::UTF_16BE.decode_with_bom_removal(bytes).0)
        }
        Codec::Utf8Bom | Codec::Utf8 | Codec::Legacy => {
            ("Windows-1252", patched(bytes.strip_prefix(UTF8_MARK).unwrap_or(bytes)).into())
        }
    };
    let note = format!("The encoding of this file is not known ({why}); it is shown as {shown} and cannot be edited.");
    Decoded { text: text.into_owned(), codec: Codec::Legacy, note: Some(note) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn bytes_are_told_apart() {
        fn check(bytes: &[u8], text: &str, codec: Codec) {
            let found = decode(bytes).unwrap();
            assert_eq!((found.text.as_str(), found.codec), (text, codec), "{bytes:x?}");
        }
        check(b"", "", Codec::Utf8);
        check("h\u{e9}\r\n".as_bytes(), "h\u{e9}\r\n", Codec::Utf8);
        check(b"\xef\xbb\xbf", "", Codec::Utf8Bom);
        check(b"\xef\xbb\xbfa", "a", Codec::Utf8Bom);
        check(b"\xef\xbb\xbf\xef\xbb\xbfa", "\u{feff}a", Codec::Utf8Bom);
        check(b"a\xef\xbb\xbf", "a\u{feff}", Codec::Utf8);
        check(b"\xff\xfe", "", Codec::Utf16Le);
        check(b"\xff\xfea\0\n\0", "a\n", Codec::Utf16Le);
        check(b"\xfe\xff\0a\0\n", "a\n", Codec::Utf16Be);
        check(b"\xff\xfe\0\0", "\0", Codec::Utf16Le);
        check(b"\xfe\xff\xd8\x3d\xde\x00", "\u{1f600}", Codec::Utf16Be);
        // Half a unit, a lone high surrogate, a lone low one: shown, never written.
        check(b"\xff\xfea\0b", "a\u{fffd}", Codec::Legacy);
        check(b"\xfe\xff\xd8\x3d\0a", "\u{fffd}a", Codec::Legacy);
        check(b"\xff\xfe\x00\xde", "\u{fffd}", Codec::Legacy);
        check(b"caf\xe9 \x80", "caf\u{e9} \u{20ac}", Codec::Legacy);
        // Not UTF-8, though it looks like it: an overlong NUL, a surrogate, a cut character.
        check(b"\xc0\x80", "\u{c0}\u{20ac}", Codec::Legacy);
        check(b"\xed\xa0\x80", "\u{ed}\u{a0}\u{20ac}", Codec::Legacy);
        check(b"\xf0\x9f\x98", "\u{f0}\u{178}\u{2dc}", Codec::Legacy);
        // One bad byte does not spoil the others.
        check(b"na\xc3\xafve caf\xe9", "na\u{ef}ve caf\u{e9}", Codec::Legacy);
        check(b"\xef\xbb\xbfcaf\xe9", "caf\u{e9}", Codec::Legacy);
        assert_eq!(decode(b"\x7fELF\0"), Err(CodecError::Binary(4)));
        assert_eq!(decode(b"a\0\0\0"), Err(CodecError::Binary(1)));
    }

    #[test]
    fn what_is_mostly_control_characters_is_no_text() {
        for (text, codec, share) in [
            ("", Codec::Utf8, None),
            ("a\tb\r\n\u{c}", Codec::Utf8, None),
            ("\u{1b}[31mred\u{1b}[0m", Codec::Utf8, None),
            ("\u{1}\u{2}a", Codec::Utf8, Some(66)),
            ("\u{1}aaaaaaaaa", Codec::Utf16Le, None),
            ("\u{1}aaaaaaaaa", Codec::Legacy, Some(10)),
        ] {
            assert_eq!(binary_share(text, codec), share, "{text:?}");
        }
    }

    #[test]
    fn a_legacy_file_has_a_note_and_is_not_written() {
        let found = decode(b"caf\xe9").unwrap();
        expect_test::expect![[
            "The encoding of this file is not known (its byte 3 is not UTF-8); it is shown as Windows-1252 and cannot be edited."
        ]]
        .assert_eq(&found.note.unwrap());
        assert_eq!(encode(&found.text, found.codec), Err(CodecError::Legacy));
    }

    #[test]
    fn no_mark_is_smuggled_into_a_file_without_one() {
        assert_eq!(encode("\u{feff}a", Codec::Utf8), Err(CodecError::StrayMark));
        assert_eq!(encode("a", Codec::Utf8Bom).unwrap(), b"\xef\xbb\xbfa");
    }

    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            Just(UTF8_MARK.to_vec()),
            Just(UTF16LE_MARK.to_vec()),
            Just(UTF16BE_MARK.to_vec()),
            "[a\r\n\u{e9}\u{1f600}\u{2028}]{0,4}".prop_map(String::into_bytes),
            "[a\r\n\u{e9}\u{1f600}\u{2028}]{0,4}"
                .prop_map(|text| text.encode_utf16().flat_map(u16::to_le_bytes).collect()),
            prop::collection::vec(any::<u8>(), 0..4),
        ];
        prop::collection::vec(piece, 0..4).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn what_is_not_legacy_comes_back_byte_for_byte(bytes in bytes()) {
            if let Ok(Decoded { text, codec, note }) = decode(&bytes) {
                prop_assert_eq!(note.is_some(), codec == Codec::Legacy);
                if codec != Codec::Legacy {
                    prop_assert_eq!(encode(&text, codec).unwrap(), bytes);
                }
            }
        }

        #[test]
        fn any_text_survives_any_codec(text in any::<String>()) {
            for codec in [Codec::Utf8, Codec::Utf8Bom, Codec::Utf16Le, Codec::Utf16Be] {
                // A NUL is text in UTF-16 only.
                let binary = text.contains('\0') && matches!(codec, Codec::Utf8 | Codec::Utf8Bom);
                if let Ok(bytes) = encode(&text, codec) && !binary {
                    prop_assert_eq!(decode(&bytes).unwrap(), Decoded { text: text.clone(), codec, note: None });
                }
            }
        }
    }
}
