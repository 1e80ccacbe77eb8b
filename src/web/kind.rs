//! What a body is and which text it holds: by its first bytes, by what the machine says of it, and by its charset. Pure.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

/// A page's own word on its charset stands within so many bytes.
const META: usize = 1024;

/// So many bytes decide whether something is text.
const LOOKED_AT: usize = 4096;

/// What a body is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A page.
    Html,
    /// JSON.
    Json,
    /// Any other text.
    Text,
    /// A picture that models can see, with its MIME type.
    Image(&'static str),
    /// A PDF.
    Pdf,
    /// Anything else.
    Binary,
}

/// The media type in lower case, without its parameters.
pub fn media_type(content_type: Option<&str>) -> String {
    let whole = content_type.unwrap_or_default();
    whole.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// What a body is that is said to be of this type. Its own first bytes go before what is said.
pub fn kind(content_type: Option<&str>, body: &[u8]) -> Kind {
    let begins = |magic: &[u8]| body.starts_with(magic);
    if begins(b"\x89PNG\r\n\x1a\n") {
        return Kind::Image("image/png");
    }
    if begins(b"\xff\xd8\xff") {
        return Kind::Image("image/jpeg");
    }
    if begins(b"GIF87a") || begins(b"GIF89a") {
        return Kind::Image("image/gif");
    }
    if begins(b"RIFF") && body.get(8..12) == Some(b"WEBP") {
        return Kind::Image("image/webp");
    }
    if begins(b"%PDF-") {
        return Kind::Pdf;
    }
    let media = media_type(content_type);
    let (group, name) = media.split_once('/').unwrap_or((&media, ""));
    let wide = declared(content_type).is_some_and(|charset| [UTF_16LE, UTF_16BE].contains(&charset));
    match (group, name) {
        ("text", "html") | ("application", "xhtml+xml") => Kind::Html,
        ("application" | "text", "json") => Kind::Json,
        (_, name) if name.ends_with("+json") => Kind::Json,
        ("text", _) if wide || Encoding::for_bom(body).is_some() => Kind::Text,
        _ if !looks_like_text(body) => Kind::Binary,
        ("" | "text" | "application", "" | "plain" | "octet-stream") if is_page(body) && name != "plain" => Kind::Html,
        ("image" | "audio" | "video" | "font", name) if !name.ends_with("xml") => Kind::Binary,
        _ => Kind::Text,
    }
}

fn is_page(body: &[u8]) -> bool {
    let head = String::from_utf8_lossy(&body[..body.len().min(LOOKED_AT)]).trim_start().to_ascii_lowercase();
    ["<!doctype html", "<html", "<head", "<body"].iter().any(|begin| head.starts_with(begin))
}

fn looks_like_text(body: &[u8]) -> bool {
    let head = &body[..body.len().min(LOOKED_AT)];
    let odd = |byte: &&u8| **byte < 0x20 && !matches!(**byte, b'\t' | b'\n' | b'\r' | 0x0c | 0x1b);
    Encoding::for_bom(head).is_some() || head.iter().filter(odd).count() == 0
}

/// The charset that the machine says.
fn declared(content_type: Option<&str>) -> Option<&'static Encoding> {
    let parameters = content_type?.split(';').skip(1);
    let value =
        parameters.filter_map(|one| one.split_once('=')).find(|(name, _)| name.trim().eq_ignore_ascii_case("charset"));
    Encoding::for_label(value?.1.trim().trim_matches(['"', '\'']).as_bytes())
}

/// A page's or document's own word on its charset, before it can be read. JSON and plain text have none: whatever stands in
/// them about it speaks of something else.
fn own(content_type: Option<&str>, body: &[u8]) -> Option<&'static Encoding> {
    let media = media_type(content_type);
    let page = matches!(kind(content_type, body), Kind::Html);
    let xml = media.ends_with("xml") || media.is_empty() && body.starts_with(b"<?xml");
    if !page && !xml {
        return None;
    }
    let head = String::from_utf8_lossy(&body[..body.len().min(META)]).to_ascii_lowercase();
    let label = |text: &str| {
        let text = text.trim_start().strip_prefix('=')?.trim_start().trim_start_matches(['"', '\'']);
        let end = text.find(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ';' | '>' | '/' | '?'))?;
        let found = Encoding::for_label(&text.as_bytes()[..end])?;
        // Who can read this reads bytes: it cannot be one of these.
        Some(if [UTF_16LE, UTF_16BE].contains(&found) { UTF_8 } else { found })
    };
    let in_meta = || {
        let shown = without_comments(&head);
        shown.match_indices("<meta").find_map(|(at, _)| {
            let tag = &shown[at..at + shown[at..].find('>')?];
            let mut places = tag.match_indices("charset").map(|(from, word)| (from, from + word.len()));
            // An attribute of its own, or within the one that stands for the machine's own word.
            let of_machine = tag.contains("http-equiv");
            let (_, from) = places.find(|(from, _)| of_machine || is_outside_quotes(&tag[..*from]))?;
            label(&shown[at + from..])
        })
    };
    let in_xml = || {
        let rest = head.strip_prefix("<?xml")?;
        let from = rest.split("?>").next()?.find("encoding")?;
        label(&rest[from + "encoding".len()..])
    };
    page.then(in_meta).flatten().or_else(in_xml)
}

/// A page's text without its comments; one that is not closed takes the rest with it.
fn without_comments(html: &str) -> String {
    let mut out = String::with_capacity(html.len());
    let mut rest = html;
    while let Some((before, comment)) = rest.split_once("<!--") {
        out.push_str(before);
        rest = comment.split_once("-->").map_or("", |(_, after)| after);
    }
    out + rest
}

/// Whether what comes after this beginning of a tag stands in no quotes.
fn is_outside_quotes(tag: &str) -> bool {
    let quote = tag.chars().fold(None, |open, c| match (open, c) {
        (None, '"' | '\'') => Some(c),
        (Some(quote), c) if c == quote => None,
        (open, _) => open,
    });
    quote.is_none()
}

/// The text of a body, and the name of its charset. `cut`: more came, so that its last character may be half there.
pub fn text(content_type: Option<&str>, body: &[u8], cut: bool) -> (String, &'static str) {
    let utf_8 = || match std::str::from_utf8(body) {
        Ok(_) => true,
        Err(error) => cut && error.error_len().is_none(),
    };
    let encoding = Encoding::for_bom(body)
        .map(|(encoding, _)| encoding)
        .or_else(|| declared(content_type))
        .or_else(|| own(content_type, body))
        .unwrap_or_else(|| if utf_8() { UTF_8 } else { WINDOWS_1252 });
    let mut decoder = encoding.new_decoder_with_bom_removal();
    let room = decoder.max_utf8_buffer_length(body.len()).unwrap_or(body.len());
    let mut out = String::with_capacity(room.min(body.len().saturating_mul(3) + 16));
    let _ = decoder.decode_to_string(body, &mut out, !cut);
    out.shrink_to_fit();
    (out, encoding.name())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn kinds() {
        for (said, body, expected) in [
            (Some("text/html; charset=utf-8"), &b"hi"[..], Kind::Html),
            (Some("application/xhtml+xml"), b"<html/>", Kind::Html),
            (None, b"  <!DOCTYPE html><p>", Kind::Html),
            (Some("application/octet-stream"), b"<html>", Kind::Html),
            (Some("text/plain"), b"<html>", Kind::Text),
            (Some("Application/JSON"), b"{}", Kind::Json),
            (Some("application/ld+json"), b"{}", Kind::Json),
            (Some("image/svg+xml"), b"<svg/>", Kind::Text),
            (Some("application/javascript"), b"x()", Kind::Text),
            (Some("application/zip"), b"PK\x03\x04", Kind::Binary),
            (Some("text/plain"), b"a\0b", Kind::Binary),
            (Some("text/plain; charset=utf-16le"), b"a\0b\0", Kind::Text),
            (Some("text/plain"), b"\xff\xfea\0", Kind::Text),
            (Some("video/mp4"), b"abc", Kind::Binary),
            // What it is goes before what it is said to be.
            (Some("text/html"), b"\x89PNG\r\n\x1a\n..", Kind::Image("image/png")),
            (Some("text/plain"), b"%PDF-1.7", Kind::Pdf),
            (Some("image/png"), b"\xff\xd8\xff\xe0", Kind::Image("image/jpeg")),
            (Some("image/png"), b"<html>", Kind::Binary),
            (None, b"", Kind::Text),
        ] {
            assert_eq!(kind(said, body), expected, "{said:?} {body:?}");
        }
    }

    #[test]
    fn charsets() {
        for (said, body, expected) in [
            (None, &b"\xef\xbb\xbfb\xc3\xbccher"[..], ("bücher", "UTF-8")),
            (Some("text/html; charset=iso-8859-1"), b"b\xfccher", ("bücher", "windows-1252")),
            (Some("text/html; Charset=\"Shift_JIS\""), b"\x82\xa0", ("あ", "Shift_JIS")),
            (Some("text/html"), b"<meta charset=koi8-r>\xc1", ("<meta charset=koi8-r>а", "KOI8-R")),
            (
                Some("text/html"),
                b"<META http-equiv=x content=\"text/html; charset=gbk\">\xc4\xe3",
                ("<META http-equiv=x content=\"text/html; charset=gbk\">你", "GBK"),
            ),
            (
                None,
                b"<?xml version='1.0' encoding='iso-8859-2'?>\xb1",
                ("<?xml version='1.0' encoding='iso-8859-2'?>ą", "ISO-8859-2"),
            ),
            (None, b"b\xc3\xbccher", ("bücher", "UTF-8")),
            (None, b"b\xfccher", ("bücher", "windows-1252")),
            // The mark at the beginning goes before what is said; the machine before the page.
            (Some("text/plain; charset=utf-8"), b"\xff\xfea\0", ("a", "UTF-16LE")),
            (Some("text/html; charset=utf-8"), b"<meta charset=koi8-r>\xc3\xbc", ("<meta charset=koi8-r>ü", "UTF-8")),
            (Some("text/html; charset=nonsense"), b"a", ("a", "UTF-8")),
            (Some("text/html"), b"<meta charset=utf-16>\xc3\xbc", ("<meta charset=utf-16>ü", "UTF-8")),
            // Only a page has such a word of its own, and not everything in it is one.
            (Some("application/json"), b"\"<meta charset=koi8-r>\xc3\xbc\"", ("\"<meta charset=koi8-r>ü\"", "UTF-8")),
            (Some("text/plain"), b"<meta charset=koi8-r>\xc3\xbc", ("<meta charset=koi8-r>ü", "UTF-8")),
            (Some("text/css"), b"/*<?xml encoding='koi8-r'?>*/\xc3\xbc", ("/*<?xml encoding='koi8-r'?>*/ü", "UTF-8")),
            (Some("text/html"), b"<!--<meta charset=koi8-r>-->\xc3\xbc", ("<!--<meta charset=koi8-r>-->ü", "UTF-8")),
            (
                Some("text/html"),
                b"<meta name=description content='the charset=koi8-r of old'>\xc3\xbc",
                ("<meta name=description content='the charset=koi8-r of old'>ü", "UTF-8"),
            ),
            (
                Some("text/html"),
                b"<meta name=\"charset\" content=\"x\"><meta charset = 'koi8-r'>\xc1",
                ("<meta name=\"charset\" content=\"x\"><meta charset = 'koi8-r'>а", "KOI8-R"),
            ),
        ] {
            let (decoded, name) = text(said, body, false);
            assert_eq!((decoded.as_str(), name), expected, "{said:?} {body:?}");
        }
        // A character that was cut in two is not shown as a broken one.
        assert_eq!(text(None, b"b\xc3", true), ("b".to_owned(), "UTF-8"));
        assert_eq!(text(Some("text/plain; charset=utf-8"), b"b\xc3", false).0, "b\u{fffd}");
    }

    proptest! {
        #[test]
        fn any_bytes_have_a_text(body in proptest::collection::vec(any::<u8>(), 0..200), cut in any::<bool>()) {
            for said in [None, Some("text/html"), Some("text/plain; charset=gb18030"), Some("a/b; charset=utf-16be")] {
                let _ = kind(said, &body);
                let _ = text(said, &body, cut);
            }
        }
    }
}
