//! Pictures and other files that are no text, told by how they begin and not by their name. Pure.

use std::fmt::Write as _;

/// A picture is handed over up to so many bytes: as base64 that is 5 MB, the most that models' interfaces take.
pub(super) const MAX_IMAGE_BYTES: u64 = 3_750_000;

/// What a file is that is no text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    /// A picture that models can see.
    Image {
        /// Its MIME type.
        mime: &'static str,
        /// Width and height in pixels, where the beginning of the file tells.
        size: Option<(u32, u32)>,
    },
    /// A PDF.
    Pdf,
}

/// What a file is, by its first bytes; `None` for anything else.
pub(super) fn kind_of(head: &[u8]) -> Option<Kind> {
    let image = |mime, size| Some(Kind::Image { mime, size });
    if head.starts_with(b"\x89PNG\r\n\x1a\n") {
        let size = head.get(16..24).filter(|_| head[12..16] == *b"IHDR");
        return image("image/png", size.and_then(|at| Some((be32(at)?, be32(at.get(4..)?)?))));
    }
    if head.starts_with(b"\xff\xd8\xff") {
        return image("image/jpeg", jpeg_size(head));
    }
    if head.starts_with(b"GIF87a") || head.starts_with(b"GIF89a") {
        return image("image/gif", le16(head, 6).zip(le16(head, 8)));
    }
    if head.starts_with(b"RIFF") && head.get(8..12) == Some(b"WEBP") {
        return image("image/webp", webp_size(head));
    }
    head.starts_with(b"%PDF-").then_some(Kind::Pdf)
}

fn be32(bytes: &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(..4)?.try_into().ok()?))
}

fn be16(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?).into())
}

fn le16(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?).into())
}

/// The size stands in the frame header, behind segments of any length.
fn jpeg_size(bytes: &[u8]) -> Option<(u32, u32)> {
    let mut at = 2;
    loop {
        let marker = *bytes.get(at + 1).filter(|_| bytes[at] == 0xff)?;
        match marker {
            0xff => at += 1,
            0xc0..=0xcf if !matches!(marker, 0xc4 | 0xc8 | 0xcc) => {
                return Some((be16(bytes, at + 7)?, be16(bytes, at + 5)?));
            }
            0x01 | 0xd0..=0xd8 => at += 2,
            _ => at += 2 + usize::try_from(be16(bytes, at + 2)?).ok()?.max(2),
        }
    }
}

fn webp_size(bytes: &[u8]) -> Option<(u32, u32)> {
    match bytes.get(12..16)? {
        b"VP8 " => Some((le16(bytes, 26)? & 0x3fff, le16(bytes, 28)? & 0x3fff)),
        b"VP8L" => {
            let bits = le16(bytes, 21)? | le16(bytes, 23)? << 16;
            Some(((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1))
        }
        b"VP8X" => {
            let three = |at: usize| Some(le16(bytes, at)? | u32::from(*bytes.get(at + 2)?) << 16);
            Some((three(24)? + 1, three(27)? + 1))
        }
        _ => None,
    }
}

/// What a picture is, in words: `an image (image/png, 640 by 480 pixels, 1234 bytes)`.
pub(super) fn told(mime: &str, size: Option<(u32, u32)>, bytes: u64) -> String {
    let mut out = format!("an image ({mime}");
    if let Some((width, height)) = size {
        let _ = write!(out, ", {width} by {height} pixels");
    }
    let _ = write!(out, ", {bytes} bytes)");
    out
}

/// Base64 with padding, as content takes it.
pub(super) fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or_default());
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4 {
            if digit <= three.len() {
                out.push(char::from(ALPHABET[(bits >> (18 - 6 * digit) & 63) as usize]));
            } else {
                out.push('=');
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_by_their_content() {
        let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x02\x80\0\0\x01\xe0";
        let jpeg = b"\xff\xd8\xff\xe0\0\x04ab\xff\xc0\0\x0b\x08\x01\xe0\x02\x80\x03";
        let gif = b"GIF89a\x80\x02\xe0\x01";
        let lossy = b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9d\x01\x2a\x80\x02\xe0\x01";
        let bits: u32 = 0x27f | 0x1df << 14;
        let lossless = [&b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f"[..], &bits.to_le_bytes()].concat();
        let extended = b"RIFF\0\0\0\0WEBPVP8X\0\0\0\0\0\0\0\0\x7f\x02\0\xdf\x01\0";
        for (bytes, mime) in [
            (&png[..], "image/png"),
            (jpeg, "image/jpeg"),
            (gif, "image/gif"),
            (lossy, "image/webp"),
            (&lossless, "image/webp"),
            (extended, "image/webp"),
        ] {
            assert_eq!(kind_of(bytes), Some(Kind::Image { mime, size: Some((640, 480)) }), "{bytes:x?}");
            // However little of it is there: never a panic, and the type as soon as it can be known.
            for len in 0..bytes.len() {
                kind_of(&bytes[..len]);
            }
        }
        assert_eq!(kind_of(b"%PDF-1.7\n"), Some(Kind::Pdf));
        for text in [&b"<svg xmlns"[..], b"GIF stands for", b"RIFF", b"", b"PNG"] {
            assert_eq!(kind_of(text), None, "{text:?}");
        }
    }

    #[test]
    fn base64_as_in_rfc_4648() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
        assert_eq!(base64(&[0xfb, 0xff, 0xfe]), "+//+");
    }
}
