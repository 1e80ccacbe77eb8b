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
    // Options of commands.
    (
        r#"(?i)(?:^|[\s"'\[,])--?(?:[a-z0-9]+[-_])*(?:token|password|passwd|passphrase|secret|api[-_]?key|access[-_]key)=["']?([^\s"'$<{(,;][^\s"',;]{3,})"#,
        false,
    ),
    (
        r#"(?i)(?:^|[\s"'])--(?:[a-z0-9]+[-_])*(?:token|password|passwd|passphrase|secret|api[-_]?key|access[-_]key)\s+["']?([^\s"'$<{(,;-][^\s"',;]{3,})"#,
        true,
    ),
    (
        r#"\b(?:mysql|mysqldump|mysqladmin|mariadb|mariadb-dump)\s(?:[^\n|;]*?\s)?-p["']?([^\s"'$<{(-][^\s"']{3,})"#,
        false,
    ),
    (
        r#"\b(?:mysql|mysqldump|mysqladmin|mariadb|mariadb-dump)\s(?:[^\n|;]*?\s)?--password\s+["']?([^\s"'$<{(-][^\s"']{3,})"#,
        true,
    ),
    (r#"\bcurl\s(?:[^\n|;]*?\s)?(?:-u|--user)[ =]?["']?[^\s:"'$<{(]+:([^\s"'$<{(]+)"#, false),
    // The same as neighbours in a list, and the value of an object, in a text.
    (
        r#"["']--?(?:[a-z0-9]+[-_])*(?:token|password|passwd|passphrase|secret|api[-_]?key|access[-_]key)\s*["']\s*,\s*["']([^\s"'$<{(-][^\s"']{3,})\s*["']"#,
        false,
    ),
    (
        r#"(?i)\b(?:[a-z0-9]+[-_]?)*(?:token|password|secret|api[-_]?key)\s*["']?\s*[:=]\s*\{[^{}]*?\bvalue\s*["']?\s*[:=]\s*["']([^\s"'$<{(][^\s"']{3,})\s*["']"#,
        false,
    ),
    (r#"\bsshpass\s+-p\s*["']?([^\s"'$<{(]{4,})"#, false),
    // Of netrc.
    (r"\b(?:machine\s+\S+|default)\s+login\s+\S+\s+password\s+(\S+)", false),
    (r"(?m)^[ \t]*password[ \t]+(\S{4,})[ \t]*$", true),
    // A JSON web token.
    (r"\b(eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,})", false),
];

/// Several in a list, each of which is one.
static LISTS: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"(?i)(?:api|access)[-_]?keys\s*["']?\s*[:=]\s*\[([^\[\]]{4,4096})\]"#).ok());

/// What is quoted.
static QUOTED: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r#"["']([^\s"'$<{(][^\s"']{3,})\s*["']"#).ok());

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
    let numbered = COLUMN.as_ref().filter(|column| column.is_match(text));
    if let Some(column) = numbered {
        // The head of a private key shows what the lines below it are, whatever their numbers are.
        let plain =
            column.replace_all(text, |found: &regex::Captures<'_>| format!("\n{}", "\t".repeat(found[0].len() - 1)));
        spans.extend(looks(&plain));
        spans = spans.into_iter().flat_map(|span| between(column, text, span)).collect();
    }
    spans.retain(|span| !span.is_empty() && !is_mask(&text[span.clone()]));
    spans
}

/// Where a line of a numbered listing begins, with its number.
static COLUMN: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"(?:\r?\n|\\n) *\d+(?:\t|\\t|\u{2192})").ok());

/// The parts of a span between the numbers of lines.
fn between(column: &Regex, text: &str, span: Range<usize>) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let mut from = span.start;
    // The number of the last line may end behind the span.
    for found in column.find_iter(text).filter(|found| found.start() < span.end && found.end() > span.start) {
        if found.start() > from {
            parts.push(from..found.start());
        }
        from = found.end();
    }
    if from < span.end {
        parts.push(from..span.end);
    }
    parts
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
    if let (Some(lists), Some(quoted)) = (&*LISTS, &*QUOTED) {
        for list in lists.captures_iter(text).filter_map(|found| found.get(1)) {
            let items = quoted.captures_iter(list.as_str()).filter_map(|found| found.get(1));
            spans.extend(items.map(|item| list.start() + item.start()..list.start() + item.end()));
        }
    }
    spans
}

/// Names of parts of a secret that only tell about it.
const TELLING: &[&str] = &[
    "type",
    "kind",
    "name",
    "title",
    "description",
    "message",
    "scheme",
    "format",
    "env",
    "file",
    "path",
    "uri",
    "url",
    "command",
    "expires",
    "expiresAt",
    "expiry",
    "created",
    "createdAt",
    "$ref",
    "id",
];

/// Whether a field within one of a secret's only tells about it.
pub(super) fn is_telling(name: &str) -> bool {
    TELLING.contains(&name)
}

/// Whether a value can be no plain word or name, nor several.
pub(super) fn no_word(value: &str) -> bool {
    let sign = |c: char| !(c.is_alphabetic() || c.is_whitespace() || matches!(c, '-' | '_' | '.' | ',' | '/' | ':'));
    value.contains(sign)
}

/// The name of an option of a command that is given a secret: `token` of `--token`.
pub(super) fn flag(word: &str) -> Option<&str> {
    let name = word.strip_prefix("--").or_else(|| word.strip_prefix('-'))?;
    (names_one(name) && !name.contains(['=', ' '])).then_some(name)
}

/// Whether a field is one of a secret's by its name, or of several (`apiKeys`).
pub(super) fn names_secret(name: &str) -> bool {
    names_one(name) || name.strip_suffix('s').is_some_and(names_one)
}

/// Whether a field is the one of a secret by its name.
pub(super) fn names_one(name: &str) -> bool {
    let spelled: String = name.chars().fold(String::new(), |mut spelled, c| {
        if c.is_uppercase() && spelled.ends_with(char::is_lowercase) {
            spelled.push('_');
        }
        spelled.push(c);
        spelled
    });
    !HARMLESS.contains(&name) && (names_credential(name) || names_credential(&spelled))
}

/// Fields that end like names of secrets and hold none.
const HARMLESS: &[&str] = &["workDoneToken", "partialResultToken"];

/// Where the value of a field is a secret because of its name (a byte range), whatever it looks like; one that only says
/// where the secret is to be found (`${TOKEN}`) is none.
pub(super) fn secret_of(name: &str, value: &str) -> Option<Range<usize>> {
    // What is called tokens or secrets may be words.
    let words = || name.to_ascii_lowercase().ends_with("tokens") || name.to_ascii_lowercase().ends_with("secrets");
    let fits = || !words() || value.len() >= SHORTEST && no_word(value);
    if !(names_one(name) || names_secret(name) && fits()) {
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
        assert!(LISTS.is_some() && QUOTED.is_some() && COLUMN.is_some());
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
            ("x --token=hunter2 --password 'hunter3' --token-file a1", vec!["hunter2", "hunter3"]),
            ("use --token to pass one, or --password words", vec![]),
            ("mysql -h db -uroot -phunter2 x", vec!["hunter2"]),
            ("mysql -u root --password hunter2", vec!["hunter2"]),
            ("mkdir -phunter2", vec![]),
            (r#"args = ["--token", "hunter2", "--port", "8080"]"#, vec!["hunter2"]),
            (r#"{"a":"[\"--api-key\", \"hunter2\"]"}"#, vec!["hunter2"]),
            (r#"{ "apiKeys": ["hunter2", "hunter3"], "keys": ["hunter4"] }"#, vec!["hunter2", "hunter3"]),
            (r#"{ "authToken": { "type": "bearer", "value": "hunter2" }, "value": "hunter3" }"#, vec!["hunter2"]),
            ("sshpass -p hunter2 ssh h; sshpass -p $PASS ssh -p 22 h", vec!["hunter2"]),
            ("curl -s -u me:hunter2 https://e.org", vec!["hunter2"]),
            ("machine e.org login me password hunter", vec!["hunter"]),
            ("machine e.org\n  login me\n  password hunter2\n", vec!["hunter2"]),
            ("password required\npassword checks come later2", vec![]),
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
            ("apiKeys", "abc", Some("abc")),
            ("tokens", "abcdefghi", None),
            ("tokens", "abcdefgh1", Some("abcdefgh1")),
            ("name", "abc", None),
        ] {
            assert_eq!(secret_of(name, value).map(|at| &value[at]), secret, "{name}: {value}");
        }
    }
}
