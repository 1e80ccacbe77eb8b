//! Secrets by where they stand, besides those that the crate's detector knows: after `Bearer`, in a URL, as a JWT. Pure.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::mask::is_mask;
use crate::permissions::{credential_spans, names_credential};

/// The first group is the secret. `bool`: whether it has to have a digit or a sign, for words stand there too.
const SHAPES: &[(&str, bool)] = &[
    // A header with its scheme.
    (r#"(?i)\b(?:proxy-)?authorization["']?\s*[:=]\s*["']?(?:bearer|basic|digest|token)\s+([^\s"',;]+)"#, false),
    (r"(?i)\b(?:bearer|basic)\s+([A-Za-z0-9._~+/=-]{8,})", true),
    (r#"(?im)\b(?:x-api-key|x-auth-token|set-cookie|cookie)["']?\s*:\s*["']?([^\r\n"']{8,})"#, true),
    // A user's password in a URL, and a token in the place of the user.
    (r#"://[^\s/:@"'<>]*:([^\s/@"'<>]+)@"#, false),
    (r#"://([^\s/:@"'<>]{16,})@"#, true),
    (r#"(?i)[?&](?:sig|signature|key|auth|code|x-amz-signature|x-amz-security-token)=([^&\s"'<>]{8,})"#, true),
    // A JSON web token.
    (r"\b(eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,})", false),
];

static COMPILED: LazyLock<Vec<(Regex, bool)>> = LazyLock::new(|| {
    SHAPES.iter().filter_map(|(shape, strict)| Regex::new(shape).ok().map(|regex| (regex, *strict))).collect()
});

/// A text shorter than this (bytes) holds no secret that could be told by its looks.
const SHORTEST: usize = 8;

/// Where a text has secrets, by their looks (byte ranges, in no order, which may overlap).
pub(super) fn secrets(text: &str) -> Vec<Range<usize>> {
    if text.len() < SHORTEST {
        return Vec::new();
    }
    let mut spans = looks(text);
    // A text of JSON within the text, or of source code: its quotes and line ends have another spelling.
    if text.contains('\\') {
        spans.extend(looks(&unescaped(text)));
    }
    spans.retain(|span| !span.is_empty() && !is_mask(&text[span.clone()]));
    spans
}

/// The text with escaped quotes and line ends as they are meant, every byte in its place.
fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('\\', Some('n' | 'r')) => {
                chars.next();
                plain.push_str(" \n");
            }
            ('\\', Some('"' | '\'' | '\\')) => plain.push(' '),
            (c, _) => plain.push(c),
        }
    }
    plain
}

fn looks(text: &str) -> Vec<Range<usize>> {
    let mut spans = credential_spans(text);
    for (shape, strict) in COMPILED.iter() {
        let groups = shape.captures_iter(text).filter_map(|found| found.get(1));
        let fits = |secret: &str| {
            !strict || secret.bytes().any(|byte| byte.is_ascii_digit() || matches!(byte, b'=' | b'+' | b'/'))
        };
        spans.extend(groups.filter(|secret| fits(secret.as_str())).map(|secret| secret.range()));
    }
    spans
}

/// Fields that end like names of secrets and hold none.
const HARMLESS: &[&str] = &["workDoneToken", "partialResultToken"];

/// Where the value of a field is a secret because of its name (a byte range), whatever it looks like; one that only says
/// where the secret is to be found (`${TOKEN}`) is none.
pub(super) fn secret_of(name: &str, value: &str) -> Option<Range<usize>> {
    let spelled: String = name.chars().fold(String::new(), |mut spelled, c| {
        if c.is_uppercase() && spelled.ends_with(char::is_lowercase) {
            spelled.push('_');
        }
        spelled.push(c);
        spelled
    });
    if HARMLESS.contains(&name) || !(names_credential(name) || names_credential(&spelled)) {
        return None;
    }
    let trimmed = value.trim();
    if trimmed.is_empty() || trimmed.starts_with('$') || is_mask(trimmed) {
        return None;
    }
    // The scheme of a header is none, and shows what it was.
    let schemes = ["bearer ", "basic ", "digest ", "token "];
    let scheme = schemes
        .iter()
        .find(|scheme| trimmed.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)));
    let from = value.len() - value.trim_start().len() + scheme.map_or(0, |scheme| scheme.len());
    let to = value.trim_end().len();
    (from < to && !is_mask(&value[from..to])).then_some(from..to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_is_one() {
        assert_eq!(COMPILED.len(), SHAPES.len());
    }

    #[test]
    fn secrets_by_where_they_stand() {
        for (text, expected) in [
            ("curl -H 'Authorization: Basic eDp5' x", vec!["eDp5"]),
            ("a Bearer abcdef123456", vec!["abcdef123456"]),
            ("basic authentication is used", vec![]),
            ("the bearer certificates", vec![]),
            ("Cookie: sid=abc123; a=b", vec!["sid=abc123; a=b"]),
            ("postgres://me:hunter@db/x", vec!["hunter"]),
            ("https://user@example.org/a", vec![]),
            ("https://0123456789abcdef01@example.org/a", vec!["0123456789abcdef01"]),
            ("https://e.org/?a=1&sig=abcDEF123%3D&b", vec!["abcDEF123%3D"]),
            (
                "x eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl y",
                vec!["eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl"],
            ),
            ("file:///home/me/a.rs:12:5 and user@host", vec![]),
            ("Bearer redacted1____", vec![]),
            (r#"{"a":"\"password\": \"hunter2secret\",\nb"}"#, vec!["hunter2secret"]),
        ] {
            let mut found: Vec<&str> = secrets(text).into_iter().map(|at| &text[at]).collect();
            found.sort_unstable();
            found.dedup();
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn secrets_by_the_name_of_their_field() {
        for (name, value, secret) in [
            ("password", "hunter", Some("hunter")),
            ("apiKey", " k ", Some("k")),
            ("clientSecret", "abc", Some("abc")),
            ("accessKey", "abc", Some("abc")),
            ("API_TOKEN", "${API_TOKEN}", None),
            ("API_TOKEN", "abc", Some("abc")),
            ("Authorization", "Bearer abc", Some("abc")),
            ("Authorization", "Bearer", Some("Bearer")),
            ("workDoneToken", "abc", None),
            ("name", "abc", None),
        ] {
            assert_eq!(secret_of(name, value).map(|at| &value[at]), secret, "{name}: {value}");
        }
    }
}
